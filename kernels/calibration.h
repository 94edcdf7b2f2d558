/* SPDX-License-Identifier: Apache-2.0
 *
 * Calibration: what a device, or this host's processor, really reaches. One call measures, and what
 * it found is a list of results: ceilings (compute and bandwidth), copies, latencies, and the
 * points of the intensity sweep. SI units throughout; NaN is unknown; a result that could not be
 * had says why in `absent_because`, and is never filled from another one.
 */
#ifndef RP_KERNELS_CALIBRATION_H
#define RP_KERNELS_CALIBRATION_H

#include "hwdb/hwdb.h"
#include "kernels/driver.h"
#include "support/error.h"
#include <signal.h>

typedef enum rp_result_kind {
    RP_RESULT_COMPUTE,   /* rate in FLOP/s or OP/s */
    RP_RESULT_BANDWIDTH, /* rate in B/s */
    RP_RESULT_COPY,      /* rate in B/s, between memories; of both ways at once, their sum */
    RP_RESULT_LATENCY    /* seconds of one access */
} rp_result_kind;

typedef struct rp_result {
    rp_result_kind kind;
    char name[48];      /* the ceiling's key ("fp16_tensor_mma", "dram"), or of a copy or latency */
    char pattern[24];   /* bandwidth: "triad" ...; else "" */
    rp_ceiling ceiling; /* compute, bandwidth: what it is; copies: the level that they went over;
                           rate: burst, the median of the repeats; clock_hz: the SM clock while it
                           ran; provenance CALIBRATED or MODELLED */
    double sustained;   /* the rate after a second or so of it; NaN not measured */
    double seconds;     /* latency of one access */
    double theoretical; /* at the clock observed; NaN no such ceiling is known */
    double datasheet;
    double spread; /* (slowest - fastest) / median of the repeats */
    int repeats;
    rp_reading reading;       /* of NVML, while it ran */
    bool best;                /* the one of its name that is recorded */
    bool partial;             /* the run was stopped before all its variants were tried */
    char variant[96];         /* kernel, threads, blocks, and what else was chosen */
    char absent_because[256]; /* "" there is a value */
    char flag[256];           /* what is suspicious about it, with the likely cause; "" nothing */
} rp_result;

typedef struct rp_sweep_point {
    int depth;
    double intensity, flops_per_s, bytes_per_s, clock_hz;
} rp_sweep_point;

enum { RP_SWEEP_POINTS = 9 };

typedef struct rp_calibration {
    bool host;     /* the CPU; the fields of devices are then unknown */
    bool emulated; /* times are modelled: never recorded */
    char name[128], chip[32], compute_capability[16], uuid[48], pci_address[32], driver[32];
    int sm_count; /* host: threads */
    int64_t memory_bytes, l2_bytes;
    double power_limit_w;
    char date[24];           /* UTC, "2025-01-31T12:00:00Z" */
    const rp_device *device; /* of the hardware database; NULL none */
    rp_device_match match;
    rp_result *results;
    size_t count, capacity;
    rp_sweep_point points[RP_SWEEP_POINTS];
    size_t point_count;
    char sweep_absent_because[256]; /* why points are missing; "" none is */
    bool interrupted;
    double elapsed_s;
} rp_calibration;

typedef struct rp_calibrate_options {
    int device;                        /* ordinal */
    bool quick;                        /* fewer variants, shorter runs, no sustained figures */
    const volatile sig_atomic_t *stop; /* nonzero: end early with what there is; may be NULL */
    void (*progress)(void *context, double done, const char *what); /* may be NULL; done 0..1 */
    void *context;
} rp_calibrate_options;

/* DB must outlive the calibration. On failure (RP_MACHINE: no driver, no nvcc at build, no such
 * device) there is nothing to free. */
rp_code rp_calibrate_device(const rp_hwdb *db, const rp_calibrate_options *options,
                            rp_calibration *calibration, rp_error *error);
rp_code rp_calibrate_host(const rp_calibrate_options *options, rp_calibration *calibration,
                          rp_error *error);
void rp_calibration_free(rp_calibration *calibration);

/* A new result at the end of the list; NULL: no memory. */
rp_result *rp_calibration_add(rp_calibration *calibration, rp_result_kind kind, const char *name);

/* Fills theoretical, datasheet, best and flag of every result from the database's row. Pure. */
void rp_calibration_judge(rp_calibration *calibration);

/* rate / theoretical and rate / datasheet; NaN unknown. */
double rp_result_of_theoretical(const rp_result *result);
double rp_result_of_datasheet(const rp_result *result);
/* The unit of its rate: "FLOP/s", "OP/s", "B/s". */
const char *rp_result_unit(const rp_result *result);

/* The best result called NAME that has a value; NULL none. */
const rp_result *rp_calibration_best(const rp_calibration *calibration, const char *name);

#endif
