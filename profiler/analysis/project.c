/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels on another device: each ceiling time anew with that device's peaks, then the same roof
 * fraction. See analysis.h for the rules.
 */
#include "analysis/internal.h"

#include <math.h>
#include <string.h>

/* The largest ceiling time of KERNEL's work under ROOFS; NaN if work that binds has no peak there.
 */
static double roof_time(const rp_report_kernel *kernel, const rp_roofs *roofs) {
    double largest = NAN, divisor;
    for (size_t i = 0; i < kernel->evidence_count; i++) {
        const rp_evidence *e = &kernel->evidence[i];
        if (e->upper_bound || e->imported || isnan(e->work))
            continue;
        const rp_roof *roof = rp_evidence_roof(roofs, e->key, &divisor);
        double time = e->work == 0 ? 0 : e->work / (roof ? roof->observed / divisor : NAN);
        if (isnan(time) && e->compute)
            return NAN; /* a precision that is not there */
        if (!isnan(time) && !(time <= largest))
            largest = time;
    }
    return largest;
}

/* True if what bounds the kernel here has a ceiling there as well. Where only the exporter's own
 * percentage says what bounds it, the roof there is not that roof, and a time cannot be told. */
static bool can_carry_over(const rp_report_kernel *kernel) {
    double largest = 0;
    for (size_t i = 0; i < kernel->evidence_count; i++) {
        const rp_evidence *e = &kernel->evidence[i];
        if (!e->upper_bound && !e->imported && e->time_s > largest)
            largest = e->time_s;
    }
    return largest >= 0.9 * kernel->roof_time_s;
}

static rp_side side_there(const rp_report_kernel *kernel, const rp_roofs *roofs) {
    double arithmetic = rp_arithmetic_time(kernel, roofs, NAN);
    double dram = kernel->bytes[RP_DRAM] / roofs->level[RP_DRAM].observed;
    if (kernel->side == RP_SIDE_UNKNOWN)
        return RP_SIDE_UNKNOWN;
    if (arithmetic == 0)
        return RP_SIDE_MEMORY;
    if (isnan(arithmetic) || isnan(dram))
        return RP_SIDE_UNKNOWN;
    return arithmetic > dram ? RP_SIDE_COMPUTE : RP_SIDE_MEMORY;
}

/* Latency lives in cycles, and in waves of blocks: a faster clock and more SMs shorten it. */
static double by_clock(const rp_report_device *here, const rp_report_kernel *kernel,
                       const rp_roofs *there) {
    double clock = isnan(kernel->clock_hz) ? here->nominal_clock_hz : kernel->clock_hz;
    double time = kernel->time_s * clock / there->nominal_clock;
    return kernel->waves < 1 ? time : time * here->sm_count / there->sm_count;
}

void rp_project(const rp_report *report, const rp_report_kernel *kernel, const rp_hwdb *hwdb,
                const rp_device *device, rp_projection *projection) {
    rp_roofs roofs;
    rp_roofs_of_device(hwdb, device, false, &roofs);
    *projection = (rp_projection){.device = device, .likely_s = NAN};
    projection->low_s = roof_time(kernel, &roofs);
    if (projection->low_s == 0) /* nothing but zeros was counted: no bound */
        projection->low_s = NAN;
    projection->side = side_there(kernel, &roofs);
    projection->changes_side = projection->side != RP_SIDE_UNKNOWN &&
                               kernel->side != RP_SIDE_UNKNOWN && projection->side != kernel->side;
    if (kernel->modelled) {
        projection->likely_s = kernel->time_s * projection->low_s / kernel->roof_time_s;
    } else if (kernel->bound == RP_BOUND_LATENCY) {
        projection->likely_s = by_clock(&report->devices[kernel->device], kernel, &roofs);
        projection->scaled_by_clock = true;
    } else if (can_carry_over(kernel)) {
        projection->likely_s = projection->low_s / kernel->roof_fraction;
    }
    if (!isfinite(projection->likely_s))
        projection->likely_s = NAN;
    if (projection->likely_s <
        projection->low_s) /* above its roof here, or latency that roofs now */
        projection->likely_s = projection->low_s;
}
