/* SPDX-License-Identifier: Apache-2.0
 *
 * A profile: what a capture holds, grouped and filtered, in memory. The capture module fills it
 * (from summaries where it can, from launches where a filter asks), analysis judges it. Plain data:
 * this header is all that analysis knows of captures.
 */
#ifndef RP_CAPTURE_PROFILE_H
#define RP_CAPTURE_PROFILE_H

#include "capture/quantity.h"
#include <stddef.h>

/* Sample of a value over launches. n = 0: absent (the rest is NaN). */
typedef struct rp_stat {
    uint64_t n;
    double sum, min, max, sum_squares;
} rp_stat;
void rp_stat_add(rp_stat *stat, double value); /* NaN is ignored */
void rp_stat_merge(rp_stat *into, const rp_stat *from);
double rp_stat_mean(const rp_stat *stat);      /* NaN if n = 0 */
double rp_stat_deviation(const rp_stat *stat); /* sample standard deviation; NaN if n < 2 */

typedef enum rp_cache_state {
    RP_CACHE_UNKNOWN,
    RP_CACHE_NATURAL,
    RP_CACHE_COLD,
    RP_CACHE_WARM
} rp_cache_state;

/* One row: all launches of a kernel, of a config, or of a kernel inside a range, on one device. */
typedef struct rp_group {
    char *name;       /* full, demangled if possible; raw bytes as captured */
    char *short_name; /* template arguments and parameters folded; printable UTF-8 */
    char *range;      /* --by range; else NULL */
    size_t device;    /* index in rp_profile.devices */
    /* launch shape; zero where launches differ or it is not known (has_shape) */
    bool has_shape;
    uint32_t grid[3], block[3];
    int64_t registers, shared_static, shared_dynamic; /* bytes; -1 not known */
    uint64_t launches;
    rp_stat time;      /* s, of launches with a valid time */
    rp_stat time_warm; /* the same without each kernel's first launch (lazy loading) */
    /* How launches of one config differ, which is noise; that configs differ is not. Of the configs
       with two such launches or more: sum of launches x variance (s2), launches, degrees of
       freedom. configs 0 or 1: it is the deviation of time_warm. */
    uint64_t configs, noise_launches, noise_degrees;
    double noise;
    rp_provenance time_provenance;
    rp_cache_state cache;
    bool collective;          /* nccl*, nvshmem* */
    rp_stat q[RP_QUANTITIES]; /* over the launches where it is known: n tells how many. A total is
                                 mean x launches, estimated if n < launches. The mean of what is
                                 averaged is over time, where times are known */
    uint8_t provenance[RP_QUANTITIES]; /* rp_provenance */
} rp_group;

typedef struct rp_capture_ceiling { /* collected with the capture: peaks x clock, or foreign roofs
                                     */
    bool compute;
    char precision[16], path[8], level[8]; /* level where !compute */
    double rate;                           /* FLOP/s or B/s */
    rp_provenance provenance;
} rp_capture_ceiling;

typedef struct rp_profile_device {
    char *name, *chip, *uuid;                                  /* NULL not known */
    char *pci_id;                                              /* "10de:2330" */
    int cc_major, cc_minor;                                    /* -1 not known */
    int64_t sm_count, memory_bytes, l2_bytes, memory_bus_bits; /* -1 not known */
    double sm_clock_hz, memory_clock_hz;                       /* maximal; NaN not known */
    double observed_sm_clock_hz; /* median over launches >= 12 us (or all, if none); NaN */
    rp_capture_ceiling *ceilings;
    size_t ceiling_count;
    bool emulated;
    double busy_s; /* union of kernel intervals over streams; NaN without timestamps */
    double sum_s;  /* sum of kernel times */
    double span_s; /* first start to last end; NaN */
    double copy_s; /* union of copies; NaN */
    uint64_t launches;
    double peak_allocated_bytes; /* NaN not known */
    char *driver;                /* NVML's version of the driver it ran under; NULL not known */
    double power_limit_w;        /* enforced; NaN or 0 not known */
} rp_profile_device;

typedef struct rp_copy_total {
    size_t device;
    char kind[16]; /* HtoD DtoH DtoD PtoP HtoH memset */
    uint64_t count;
    double bytes, time_s; /* NaN not known */
    rp_provenance time_provenance;
} rp_copy_total;

typedef struct rp_profile_note {
    char *severity; /* "info" "warning" "error" */
    char *text;
} rp_profile_note;

typedef struct rp_profile {
    char *source; /* file name(s) */
    char *tool;   /* "Nsight Compute CSV", "roofprof trace" ... */
    rp_profile_device *devices;
    size_t device_count;
    rp_group *groups;
    size_t group_count;
    rp_copy_total *copies;
    size_t copy_count;
    rp_profile_note *notes;
    size_t note_count;
    double wall_s;                          /* NaN not known */
    uint64_t launches_total, launches_kept; /* before and after the filter */
    uint64_t launches_invalid;              /* times impossible: counted, left out */
} rp_profile;

void rp_profile_free(rp_profile *profile);

#endif
