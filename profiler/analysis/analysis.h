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
    int line, flops_line, bytes_line;
} rp_work_rule;

/* Parses the text of a --work file (docs/report.md has the format). FILE is its name, for messages.
 * Every expression is checked. RP_INPUT with file and line on failure; *RULES is the caller's to
 * free with rp_work_free. */
rp_code rp_work_parse(const char *file, const char *text, rp_work_rule **rules, size_t *count,
                      rp_error *error);
void rp_work_free(rp_work_rule *rules, size_t count);
/* True if any expression uses the launch shape: groups must then be by config. */
bool rp_work_needs_shape(const rp_work_rule *rules, size_t count);

/* The value of an expression: numbers, gx gy gz bx by bz, + - * / ( ) min max ceil floor. SHAPE is
 * gx gy gz bx by bz, or NULL where it is not known. RP_INPUT with the reason and the place if the
 * text cannot be understood, uses a shape that is not known, or its value is negative, NaN or
 * infinite. */
rp_code rp_expression(const char *text, const double shape[6], double *value, rp_error *error);

typedef struct rp_analysis_options {
    const char *device_name; /* --device: overrides what the capture says; NULL */
    bool sparse;             /* hold against 2:4 ceilings */
    const rp_work_rule *work;
    size_t work_count;
    const char *work_file; /* its name, for messages; NULL */
    bool merge_configs;    /* the profile is by config, the report is by kernel */
    double model_flops;    /* useful FLOPs of the whole run; NaN */
} rp_analysis_options;
#define RP_ANALYSIS_OPTIONS_INIT                                                                   \
    (rp_analysis_options) {                                                                        \
        .model_flops = __builtin_nan("")                                                           \
    }

/* Kernels shorter than this are ruled by launch and ramp, and their observed clock reads low. */
#define RP_SHORT_KERNEL_S 12e-6
/* Roof fraction from which a kernel counts as bound by its roof. */
#define RP_BOUND_FRACTION 0.6
/* Compute and memory time nearer than this: balanced. */
#define RP_BALANCE 0.1
/* Above the roof by more than rounding. */
#define RP_ABOVE_FRACTION 1.01

/* Judges PROFILE into REPORT (filled from scratch; rp_report_free). PROFILE and HWDB must outlive
 * it. RP_INPUT if --device names nothing or a --work expression fails; RP_INTERNAL without memory.
 * A device that is not known is no failure: its kernels are `unknown` and a note says what to do.
 */
rp_code rp_analyse(const rp_profile *profile, const rp_hwdb *hwdb,
                   const rp_analysis_options *options, rp_report *report, rp_error *error);

/* Sorts the kernels by "lost" (as made), "time", "launches", "intensity", "rate", "roof" or "name";
 * their numbers stay. RP_USAGE for another word. */
rp_code rp_report_sort(rp_report *report, const char *order, rp_error *error);

/* Puts another file's profile beside INTO's: its devices are further devices. FROM is left empty,
 * still to be freed. */
rp_code rp_profile_join(rp_profile *into, rp_profile *from, rp_error *error);

/* The limit behind an evidence key, as `bound_by` says it: "l1 access path" of "lsu_requests". */
const char *rp_evidence_limit(const char *key);

/* What the kernels of a report would take on another device: low_s is the largest ceiling time
 * there (nominal clock); likely_s keeps the roof fraction. Latency-bound kernels are carried over
 * by clock and SM count (by clock alone, if their grid is under one wave). A precision that DEVICE
 * does not have leaves both NaN. Modelled kernels keep the ratio of modelled to roof time. */
typedef struct rp_projection {
    const rp_device *device;
    double low_s, likely_s; /* roof-limited; the same roof fraction. NaN: cannot be known */
    rp_side side;
    bool changes_side;
    bool scaled_by_clock; /* latency bound: carried over by clock and SM count */
} rp_projection;
void rp_project(const rp_report *report, const rp_report_kernel *kernel, const rp_hwdb *hwdb,
                const rp_device *device, rp_projection *projection);

#endif
