/* SPDX-License-Identifier: Apache-2.0
 *
 * Two reports of the same program, kernel by kernel: what got slower, what does other work, what
 * came and went; and gates on it. Changes are relative, (new - base) / base; NaN: cannot be known.
 * A change of time carries an interval of 95 % where both sides have a spread (three launches or
 * more: the first is left out), after Welch; docs/diff.md has the rule and its limits.
 */
#ifndef RP_ANALYSIS_DIFF_H
#define RP_ANALYSIS_DIFF_H

#include "analysis/report.h"

typedef struct rp_diff_kernel {
    const rp_report_kernel *base, *now; /* NULL: not there */
    bool renamed;                       /* matched by likeness, not by name */
    double time, mean;                  /* change of total time, of the mean of a launch */
    double time_low, time_high;    /* interval of the change of total time; NaN without spread */
    double mean_low, mean_high;    /* of the change of the mean */
    double flops, bytes, launches; /* of totals; bytes: DRAM */
    double time_delta_s;           /* now - base, one that is not there counting 0; NaN */
    double share;                  /* larger of the two shares of kernel time */
    bool bound_changed;
} rp_diff_kernel;

typedef struct rp_diff_suggestion { /* one that went and one that came, much alike */
    const rp_report_kernel *base, *now;
    double likeness; /* of their names, 0 to 1 */
} rp_diff_suggestion;

typedef struct rp_diff {
    const rp_report *base, *now; /* must outlive it */
    rp_diff_kernel *kernels;     /* largest change of time first */
    size_t kernel_count;
    rp_diff_suggestion *suggestions;
    size_t suggestion_count;
    size_t matched, appeared, vanished;
    double total;                 /* change of GPU time */
    double total_low, total_high; /* from the spreads that are known; NaN if none is */
    bool devices_differ;
} rp_diff;

/* FOLLOW: suggestions become matches. RP_INTERNAL without memory. */
rp_code rp_diff_make(const rp_report *base, const rp_report *now, bool follow, rp_diff *diff,
                     rp_error *error);
void rp_diff_free(rp_diff *diff);

/* ---- Gates ----------------------------------------------------------------------------------- */

typedef enum rp_gate_metric {
    RP_GATE_TIME,
    RP_GATE_MEAN,
    RP_GATE_FLOPS,
    RP_GATE_BYTES,
    RP_GATE_LAUNCHES,
    RP_GATE_TOTAL, /* GPU time of the whole program */
    RP_GATE_NEW,
    RP_GATE_GONE,
    RP_GATE_BOUND /* no threshold */
} rp_gate_metric;

typedef struct rp_gate {
    const char *text; /* as given */
    rp_gate_metric metric;
    bool less;        /* "<": fails below the threshold */
    double threshold; /* relative change: 0.05 of "5%" */
} rp_gate;

/* "time>5%", "bytes > 0.1", "mean<-20%", "total>3%", "new", "gone", "bound". RP_USAGE otherwise. */
rp_code rp_gate_parse(const char *text, rp_gate *gate, rp_error *error);

/* Does KERNEL fail GATE? MIN_SHARE: kernels with less of the time on both sides do not count. A
 * change of time fails only if its interval does not hold 0. Not for RP_GATE_TOTAL. */
bool rp_gate_fails(const rp_gate *gate, const rp_diff_kernel *kernel, double min_share);
bool rp_gate_fails_total(const rp_gate *gate, const rp_diff *diff);
/* Is what GATE asks known at all, for any kernel? A gate that compared nothing must not pass. */
bool rp_gate_can_judge(const rp_gate *gate, const rp_diff *diff);

#endif
