/* SPDX-License-Identifier: Apache-2.0
 *
 * Progress of long work: one line on standard error, redrawn, only if that is a terminal and only
 * after half a second. In a pipe nothing is ever printed.
 */
#ifndef RP_SUPPORT_PROGRESS_H
#define RP_SUPPORT_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct rp_progress {
    const char *what; /* "importing big.csv"; must live as long */
    double total;     /* 0: not known */
    int64_t started_ns, drawn_ns;
    bool visible, drawn;
} rp_progress;

void rp_progress_start(rp_progress *progress, const char *what, double total);
/* DONE out of total; cheap enough for each thousandth item. */
void rp_progress_update(rp_progress *progress, double done);
/* Clears the line. */
void rp_progress_stop(rp_progress *progress);

#endif
