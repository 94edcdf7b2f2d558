/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of the analysis share. A kernel goes through them in this order: flops.c and
 * bytes.c say what it did, ceilings.c what its device could do, evidence.c holds the one against
 * the other, classify.c judges, reason.c and above.c explain, summary.c adds up.
 */
#ifndef RP_ANALYSIS_INTERNAL_H
#define RP_ANALYSIS_INTERNAL_H

#include "analysis/analysis.h"

/* One peak of a device in the versions that are needed. NaN: not known. */
typedef struct rp_roof {
    double nominal;    /* theoretical at the nominal clock, else the datasheet's */
    double observed;   /* theoretical at the device's observed clock */
    double calibrated; /* measured on this very device, or the user's word */
    double clock_hz;   /* nominal clock behind it; NaN: does not follow the SM clock */
    rp_provenance provenance, calibrated_provenance;
    const char *source, *calibrated_source;
    bool sparse; /* of 2:4 sparse operations */
} rp_roof;

typedef struct rp_roofs {
    rp_roof compute[RP_PRECISIONS][RP_PATHS], fp16_acc16_tensor;
    rp_roof level[RP_LEVELS];
    rp_roof issue, lsu, wavefront; /* warp instructions, requests, wavefronts per second */
    rp_roof alu, xu;               /* warp instructions per second */
    double sm_count, nominal_clock, observed_clock;
    double max_warps, max_threads, max_blocks, registers, shared_bytes; /* per SM */
    bool certain; /* the device was identified, not guessed */
    bool tensor;  /* it has tensor cores */
} rp_roofs;

/* Mean over counted launches x launches; NaN if the quantity is absent. */
double rp_group_total(const rp_group *group, rp_quantity quantity);
double rp_group_mean(const rp_group *group, rp_quantity quantity);
/* The group's own, estimated if only some launches were counted. */
rp_provenance rp_group_provenance(const rp_group *group, rp_quantity quantity);

/* Adds a note; beyond RP_REPORT_NOTES the last one says how many more there were. */
void rp_kernel_note(rp_report_kernel *kernel, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
rp_code rp_report_note(rp_report *report, rp_error *error, const char *severity, const char *format,
                       ...) __attribute__((format(printf, 4, 5)));

/* work.c: the profile's groups with --work applied and, if asked, configs merged: *COPY is the
 * caller's to free (its strings stay the profile's), or NULL if the profile's own will do. */
rp_code rp_groups_prepare(const rp_profile *profile, const rp_analysis_options *options,
                          rp_group **copy, size_t *count, rp_error *error);

/* A note for each section of --work that no kernel of PROFILE matches: most likely misspelt. */
rp_code rp_work_note_unused(const rp_profile *profile, const rp_analysis_options *options,
                            rp_report *report, rp_error *error);

void rp_count_flops(const rp_group *group, rp_report_kernel *kernel);
void rp_count_bytes(const rp_group *group, rp_report_kernel *kernel);

/* Fills DEVICE (report) and ROOFS. */
rp_code rp_roofs_make(const rp_profile_device *seen, const rp_hwdb *hwdb,
                      const rp_analysis_options *options, rp_report_device *device, rp_roofs *roofs,
                      rp_error *error);
/* The peaks of a database row at its nominal clock, for projection. */
void rp_roofs_of_device(const rp_hwdb *hwdb, const rp_device *device, bool sparse, rp_roofs *roofs);
/* Theoretical peak at CLOCK (NaN: the observed one of the device). */
double rp_roof_at(const rp_roof *roof, const rp_roofs *roofs, double clock);
const rp_roof *rp_roofs_find(const rp_roofs *roofs, const char *key);

/* The roof that work of an evidence key is held against, and by what its rate is divided: an FP64
 * instruction takes the place of 2 FLOPs, so "fp64_insts" is fp64_vector / 2. NULL: none is known.
 */
const rp_roof *rp_evidence_roof(const rp_roofs *roofs, const char *key, double *divisor);
/* Ceiling times of KERNEL at the nominal clock: the larger of all; NaN if none is known. */
double rp_nominal_roof_time(const rp_report_kernel *kernel, const rp_roofs *roofs);

void rp_evidence_make(const rp_group *group, const rp_roofs *roofs, rp_report_kernel *kernel);
const rp_evidence *rp_evidence_find(const rp_report_kernel *kernel, const char *key);

void rp_classify(const rp_roofs *roofs, rp_report_kernel *kernel);
/* Time of all arithmetic at its peaks at CLOCK, integer included; NaN not known. */
double rp_arithmetic_time(const rp_report_kernel *kernel, const rp_roofs *roofs, double clock);

/* Occupancy, waves and lanes, as far as they can be known. */
void rp_occupancy(const rp_group *group, const rp_roofs *roofs, rp_report_kernel *kernel);
void rp_explain_latency(const rp_report_kernel *kernel, char *reason, size_t size);
/* What is missing before latency could be said; "" if nothing is. */
void rp_missing_evidence(const rp_report_kernel *kernel, char *missing, size_t size);
void rp_explain_above(const rp_group *group, const rp_roofs *roofs, rp_report_kernel *kernel);

void rp_summarise(const rp_profile *profile, const rp_roofs *roofs,
                  const rp_analysis_options *options, rp_report *report);

#endif
