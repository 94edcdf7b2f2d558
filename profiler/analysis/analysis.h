/* SPDX-License-Identifier: Apache-2.0
 *
 * Judging a profile: FLOPs, intensity, ceilings, side, bound with reason, time lost, summary. Pure
 * functions: no file is read, nothing is printed. The rules and their evidence are in the manual's
 * section on verdicts.
 */
#ifndef RP_ANALYSIS_ANALYSIS_H
#define RP_ANALYSIS_ANALYSIS_H

#include "analysis/report.h"

typedef struct rp_work_rule { /* --work: what the user knows of a kernel */
    char *kernel_glob;
    char *flops_precision_path; /* "fp32_vector"; NULL: fp32_vector */
    char *flops, *bytes;        /* expressions of gx gy gz bx by bz; NULL absent */
    int line;
} rp_work_rule;

typedef struct rp_analysis_options {
    const char *device_name;    /* --device: overrides what the capture says; NULL */
    bool sparse;                /* hold against 2:4 ceilings */
    const rp_work_rule *work;
    size_t work_count;
    double model_flops;         /* useful FLOPs of the whole run; NaN */
} rp_analysis_options;

rp_code rp_analyse(const rp_profile *profile, const rp_hwdb *hwdb,
                   const rp_analysis_options *options, rp_report *report, rp_error *error);

/* What the kernels of a report would take on another device. */
typedef struct rp_projection {
    const rp_device *device;
    double low_s, likely_s; /* roof-limited; the same roof fraction. NaN: cannot be known */
    rp_side side;
    bool changes_side;
    bool scaled_by_clock;   /* latency bound: carried over by clock and SM count */
} rp_projection;
void rp_project(const rp_report *report, const rp_report_kernel *kernel, const rp_hwdb *hwdb,
                const rp_device *device, rp_projection *projection);

#endif
