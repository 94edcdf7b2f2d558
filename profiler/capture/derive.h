/* SPDX-License-Identifier: Apache-2.0
 *
 * From raw metrics to quantities: the rules of hwdb/metrics.csv, and what follows from quantities
 * that are there (FLOPs from instructions, totals from parts). Pure arithmetic on the counters of
 * one launch; the capture feeds it.
 */
#ifndef RP_CAPTURE_DERIVE_H
#define RP_CAPTURE_DERIVE_H

#include "capture/quantity.h"
#include "hwdb/hwdb.h"
#include <stdbool.h>
#include <stddef.h>

/* The counters of one launch by metric number; NaN absent. */
typedef struct rp_counters {
    double *value;
    uint8_t *provenance;
    size_t count;
} rp_counters;

/* What is known of a launch; NaN absent. */
typedef struct rp_quantities {
    double value[RP_QUANTITIES];
    uint8_t provenance[RP_QUANTITIES];
    uint32_t lower_bounds; /* RP_LOWER_*: FLOPs of which some instructions were not counted */
} rp_quantities;

enum { RP_LOWER_FP64 = 1, RP_LOWER_FP32 = 2, RP_LOWER_FP16 = 4 };

typedef struct rp_derivation rp_derivation;

/* The rules that the metrics NAMES (by number) can satisfy on a CHIP (NULL not known). GIVEN: per
 * metric, the quantity that it is itself, or RP_QUANTITIES. MAX_WARPS: of an SM; NaN not known.
 * NULL: no memory. DB must outlive it. */
rp_derivation *rp_derivation_make(const rp_hwdb *db, const char *chip, double max_warps,
                                  const char *const *names, const rp_quantity *given, size_t n);
void rp_derivation_free(rp_derivation *derivation);

void rp_derive(const rp_derivation *derivation, const rp_counters *counters,
               rp_quantities *quantities);

/* A peak that the profiler gave: NAME is "X.sum.peak_sustained" of a unit whose clock is CLOCK. The
 * ceiling it makes, per cycle of that clock. False: it makes none. CC_MAJOR tells whether the plain
 * tensor metrics are of sparse operations; -1 not known. */
typedef struct rp_peak {
    bool compute;
    char precision[16], path[8], level[8];
    double factor;     /* FLOPs or bytes per unit of the metric */
    const char *clock; /* "sm", "dram", "lts" */
} rp_peak;
bool rp_peak_of(const char *name, int cc_major, rp_peak *peak);

#endif
