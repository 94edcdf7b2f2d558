/* SPDX-License-Identifier: Apache-2.0
 *
 * The report model: everything that is shown of a profile, judged. Analysis makes it, output and
 * plots read it; nobody computes behind it. Unknown numbers are NaN. Names are as captured (any
 * bytes); who prints them makes them printable.
 */
#ifndef RP_ANALYSIS_REPORT_H
#define RP_ANALYSIS_REPORT_H

#include "capture/profile.h"
#include "hwdb/hwdb.h"
#include "support/error.h"

typedef enum rp_side { RP_SIDE_UNKNOWN, RP_SIDE_MEMORY, RP_SIDE_COMPUTE } rp_side;
typedef enum rp_bound {
    RP_BOUND_UNKNOWN,
    RP_BOUND_MEMORY,
    RP_BOUND_COMPUTE,
    RP_BOUND_BALANCED,
    RP_BOUND_LATENCY,
    RP_BOUNDS
} rp_bound;
const char *rp_side_name(rp_side side);
const char *rp_bound_name(rp_bound bound);

/* One limit that a kernel's time was held against. */
typedef struct rp_evidence {
    char key[32];     /* "dram", "l2", "fp32_vector", "issue", "lsu_requests", "wavefronts" ... */
    bool compute;     /* counts as compute time; else memory time */
    bool upper_bound; /* the true time may be less: it forbids "latency", but is no roof */
    bool imported;    /* a percentage that the exporter itself gave; no peak of ours */
    double work;      /* in work_unit, all launches */
    const char *work_unit; /* "byte", "flop", "inst" ... */
    double peak;           /* work_unit per second, theoretical at the kernel's clock */
    double drawn_peak;     /* calibrated if there is one, else the same; NaN unknown */
    double time_s;         /* work / peak; NaN when not counted, or no peak is known */
    rp_provenance work_provenance, peak_provenance;
    const char *source; /* of the peak, or of an imported percentage */
} rp_evidence;

#define RP_REPORT_EVIDENCE 40
#define RP_REPORT_NOTES    8

typedef struct rp_report_kernel {
    int number;                            /* 1.. in order of the report; the number on the plot */
    const char *name, *short_name, *range; /* the profile's: it must outlive the report */
    size_t device;                         /* index in rp_report.devices */
    bool has_shape;
    uint32_t grid[3], block[3];
    uint64_t launches, launches_counted;
    double time_s, time_mean_s, time_min_s, time_max_s, time_deviation_s; /* total; per launch */
    uint64_t time_samples; /* launches behind mean, min, max and deviation */
    double time_noise_s;   /* deviation of a launch from the mean of its own config; NaN unknown */
    uint64_t time_noise_degrees; /* of freedom behind it */
    double time_share;           /* of the union of kernel intervals on its device */
    rp_provenance time_provenance;
    double flops[RP_PRECISIONS][RP_PATHS]; /* totals; NaN unknown */
    double flops_fp16_acc16_tensor;        /* part of neither: own ceiling; NaN */
    double flops_total;                    /* floating point only; NaN if nothing is known */
    bool flops_lower_bound;                /* some arithmetic is known to be missing from them */
    bool half_moves;         /* half instructions under a tenth of all: likely register moves */
    bool tensor_not_counted; /* tensor pipe busy, operations not counted */
    double int_ops;
    rp_provenance flops_provenance;
    double bytes[RP_LEVELS]; /* NaN unknown */
    rp_provenance bytes_provenance;
    double intensity[RP_LEVELS]; /* FLOP/B; NaN unknown */
    double flops_per_s;
    rp_side side;
    rp_bound bound;
    char bound_by[32];          /* "dram", "l1 access path", "fp32_vector", "issue"; "" none */
    char reason[160];           /* of latency or unknown */
    bool modelled;              /* times are modelled: fractions and time lost are NaN */
    double roof_time_s;         /* total; the larger ceiling time */
    double roof_fraction;       /* against theoretical peaks at the observed clock */
    double nominal_fraction;    /* at the nominal clock */
    double calibrated_fraction; /* against the ceilings that are drawn; NaN if none of those that
                                   hold it is calibrated (it would say nothing new) */
    double drawn_roof_time_s;
    double attainable_flops_per_s; /* what the drawn roof allows at this mix of work; NaN */
    double ridge;        /* FLOP/B where its precisions, in their mix, meet DRAM bandwidth; NaN */
    double time_lost_s;  /* measured minus drawn-roof time; below 0 above the roof; NaN */
    double clock_hz;     /* SM clock that its peaks are taken at; NaN */
    double waves, lanes; /* waves per multiprocessor; mean active lanes of 32, as a fraction */
    double occupancy, occupancy_limit, warps_eligible; /* achieved, theoretical; NaN unknown */
    bool collective;
    bool above_roof;
    char above_reason[200]; /* likely causes */
    rp_cache_state cache;
    rp_evidence evidence[RP_REPORT_EVIDENCE];
    size_t evidence_count;
    char *notes[RP_REPORT_NOTES];
    size_t note_count;
} rp_report_kernel;

typedef struct rp_report_device {
    char *name, *chip, *compute_capability; /* "" unknown */
    char *source;                           /* how it was matched, which ceilings, from where */
    rp_device_match *match; /* the row of the hardware database, or what was derived; never NULL */
    const rp_device *hardware; /* row, derived, or NULL: not known */
    double sm_count;           /* NaN unknown */
    bool emulated;
    double observed_clock_hz, nominal_clock_hz; /* NaN unknown */
    rp_ceiling *ceilings; /* those that are drawn: one per precision and path, one per level */
    size_t ceiling_count;
    double busy_s, sum_s, span_s, idle_s, copy_s;
    double capacity, bandwidth, compute; /* the three utilisations, fractions of 1; NaN unknown */
    double utilisation_time_s;           /* that they are taken over: span, else kernel time */
    double peak_allocated_bytes, memory_bytes;
} rp_report_device;

/* --model: what ran, as the user knows it (analysis/model_run.h). */
typedef struct rp_report_model {
    char name[48]; /* "" no model: only FLOPs, or nothing */
    double params, tokens;
    double flops; /* useful ones of the whole run; NaN not known */
    bool training;
    rp_hw_precision dtype;
    char peak[32];           /* key of the ceiling that they are held against; "" none */
    double peak_flops_per_s; /* of one device; NaN */
    double bytes;            /* that the model needs, all devices; NaN */
    char missing[256];       /* why a figure is not there; "" */
} rp_report_model;

typedef struct rp_report_copy {
    size_t device;
    char kind[16];
    uint64_t count;
    double bytes, time_s, bytes_per_s;
    rp_provenance time_provenance;
} rp_report_copy;

typedef struct rp_report {
    char *source, *tool;
    rp_report_device *devices;
    size_t device_count;
    rp_report_kernel *kernels; /* worst time loss first; where the loss is not known, the whole time
                                  stands for it: that is the most it can be */
    size_t kernel_count;
    rp_report_copy *copies;
    size_t copy_count;
    double gpu_time_s; /* union, all devices summed */
    double gpu_sum_s;  /* sum of kernel times */
    double wall_s;
    double time_share_by_bound[RP_BOUNDS]; /* of the sum of kernel times: they add up to 1 */
    double time_lost_by_bound[RP_BOUNDS];  /* s; kernels whose loss is not known are left out; NaN
                                              where it is known of none of those with the bound */
    double capacity, bandwidth, compute;   /* utilisations over all devices; NaN unknown */
    double utilisation_time_s;             /* that they are taken over: span, else kernel time */
    double counted_share;                  /* of kernel time: how much of it has FLOPs and bytes */
    double model_flops_utilisation;        /* --model, --model-flops; NaN */
    double capacity_effective;             /* U_eff: model.bytes / peak allocated; NaN */
    rp_report_model model;
    uint64_t launches, launches_kept, launches_invalid;
    bool modelled;
    rp_profile_note *notes;
    size_t note_count;
} rp_report;

void rp_report_free(rp_report *report);

#endif
