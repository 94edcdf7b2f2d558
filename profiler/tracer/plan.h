/* SPDX-License-Identifier: Apache-2.0
 *
 * Which configurations of metrics a chip is counted with, from the sets that the parent gave
 * (hwdb/metric_sets.csv): one pass each in sampled and rerun mode; in replay mode everything at
 * once, for a kernel's first launch, and then what it needs.
 */
#ifndef RP_TRACER_PLAN_H
#define RP_TRACER_PLAN_H

#include "tracer/range.h"
#include "tracer/schedule.h"

/* Fills LIST (of CONFIGURATIONS, zero-initialised) and the schedule S over it. False: nothing is
 * known of this chip. */
bool plan_make(const tracer_settings *settings, const char *chip, configuration *list, schedule *s);

/* It has exact counts of tensor operations: a CUPTI before CUDA 12.2 knows none. */
bool plan_counts_tensor(const configuration *c);

/* "X.peak_sustained": a limit of the device, the same for every launch. */
bool plan_is_peak(const char *metric);

#endif
