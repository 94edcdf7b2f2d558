/* SPDX-License-Identifier: Apache-2.0
 *
 * Launches from tables that give only sums or means over all calls of a kernel. A capture holds
 * launches, so such a row becomes as many launches as it counts, each with the mean: totals are
 * exact, what differed between the calls is not known. Private to importers.
 */
#ifndef RP_IMPORTERS_EXPAND_H
#define RP_IMPORTERS_EXPAND_H

#include "capture/capture.h"

/* The most launches one file may expand to; more is RP_INPUT, not a full disk. A variable, so that
 * fuzzing can lower it. */
extern int64_t rp_expand_limit;

typedef struct rp_expand_counter {
    int64_t metric; /* the capture's id */
    double value;
    rp_provenance provenance;
} rp_expand_counter;

/* Adds CALLS launches like LAUNCH, each with the N counters. *TOTAL counts them over the file PATH.
 */
rp_code rp_expand(rp_capture *capture, const char *path, int64_t calls,
                  const rp_launch_record *launch, const rp_expand_counter *counters, size_t n,
                  int64_t *total, rp_error *error);

#endif
