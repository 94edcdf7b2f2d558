/* SPDX-License-Identifier: Apache-2.0
 *
 * metric_sets.csv: the configurations of counters that are collected on each chip, and how many
 * passes each takes. A test holds every name and every count of passes against CUPTI's own host
 * interface, which needs no GPU.
 */
#ifndef RP_HWDB_METRIC_SETS_H
#define RP_HWDB_METRIC_SETS_H

#include "support/error.h"
#include <stddef.h>

/* Profiles: HW (hardware counters), SASS (instrumented instructions), FULL2 (both, all clocks and
 * peaks), TENSOR0... (operations of the tensor cores by precision), WHY (why it is slow). */
typedef struct rp_metric_set {
    const char *chips; /* ';'-separated, as CUPTI names them */
    const char *profile;
    int passes;
    const char *const *metrics;
    size_t metric_count;
} rp_metric_set;

typedef struct rp_metric_sets rp_metric_sets;

/* Reads the shipped file. Errors name file and line. */
rp_code rp_metric_sets_load(rp_metric_sets **sets, rp_error *error);
void rp_metric_sets_free(rp_metric_sets *sets);

size_t rp_metric_sets_count(const rp_metric_sets *sets);
const rp_metric_set *rp_metric_sets_at(const rp_metric_sets *sets, size_t i);

/* Does SET apply to CHIP ("GH100", any case)? */
int rp_metric_set_is_for(const rp_metric_set *set, const char *chip);

#endif
