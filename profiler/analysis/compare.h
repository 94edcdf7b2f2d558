/* SPDX-License-Identifier: Apache-2.0
 *
 * Devices side by side: their ceilings and ridge points, and how they relate to the first one's.
 * Pure functions on the hardware database.
 *
 * Nominal devices are compared, not a board at the clock it happened to run at, so the default
 * order is: what the vendor prints, else what arithmetic gives, else an estimate. A ridge point is
 * peak / bandwidth in FLOP (or operations) per byte of the level.
 */
#ifndef RP_ANALYSIS_COMPARE_H
#define RP_ANALYSIS_COMPARE_H

#include "hwdb/hwdb.h"
#include <stdbool.h>

typedef enum rp_compare_source {
    RP_COMPARE_PRINTED,     /* datasheet, theoretical, estimated */
    RP_COMPARE_THEORETICAL, /* theoretical, datasheet, estimated */
    RP_COMPARE_CALIBRATED   /* calibrated, theoretical, datasheet, estimated */
} rp_compare_source;

/* One kind of ceiling over all devices. */
typedef struct rp_compare_row {
    char key[48];               /* "fp16_tensor", "dram" */
    rp_ceiling kind;            /* which; its rate means nothing */
    const rp_ceiling **of;      /* of each device; NULL: that device has none, or it is not known */
    double (*ridge)[RP_LEVELS]; /* of each device, compute rows alone; NaN unknown */
} rp_compare_row;

typedef struct rp_comparison {
    const rp_device **devices;
    size_t device_count;
    rp_compare_row
        *rows; /* compute by precision and path, then bandwidths; only what some device has */
    size_t row_count;
} rp_comparison;

/* SPARSE: the 2:4 peaks of tensor cores are rows too, under keys that end in "_sparse". The devices
 * must outlive the comparison. */
rp_code rp_compare(const rp_device *const *devices, size_t n, rp_compare_source source, bool sparse,
                   rp_comparison *comparison, rp_error *error);
void rp_comparison_free(rp_comparison *comparison);

/* The row of KEY, NULL if no device has it. */
const rp_compare_row *rp_comparison_find(const rp_comparison *comparison, const char *key);
/* The rate (or, LEVEL >= 0, the ridge point) of device I over that of the first one; NaN unknown.
 */
double rp_compare_ratio(const rp_compare_row *row, size_t i, int level);

#endif
