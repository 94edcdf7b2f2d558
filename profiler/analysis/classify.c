/* SPDX-License-Identifier: Apache-2.0
 *
 * The verdict: side, bound and what by, roof fractions, time lost. Rules and evidence are in
 * docs/verdicts.md; the thresholds are in analysis.h.
 */
#include "analysis/internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const char *rp_side_name(rp_side side) {
    static const char *const names[] = {"unknown", "memory", "compute"};
    return names[side];
}

const char *rp_bound_name(rp_bound bound) {
    static const char *const names[RP_BOUNDS] = {"unknown", "memory", "compute", "balanced",
                                                 "latency"};
    return names[bound];
}

/* FLOP keys of half precision count for the side only if they are a real part of the program. */
static bool counts_for_side(const rp_report_kernel *kernel, int precision, int path) {
    return !(path == RP_VECTOR && precision == RP_FP16 && kernel->half_moves);
}

double rp_arithmetic_time(const rp_report_kernel *kernel, const rp_roofs *roofs, double clock) {
    double sum = NAN;
    for (int p = 0; p < RP_PRECISIONS; p++)
        for (int path = 0; path < RP_PATHS; path++) {
            double flops = kernel->flops[p][path];
            if (isnan(flops) || !counts_for_side(kernel, p, path))
                continue;
            double time =
                flops == 0 ? 0 : flops / rp_roof_at(&roofs->compute[p][path], roofs, clock);
            if (isnan(time) && p == RP_INT32)
                continue; /* no integer peak known: the floating-point side still holds */
            sum = (isnan(sum) ? 0 : sum) + time;
            if (isnan(sum))
                return NAN; /* a precision without a peak */
        }
    if (kernel->flops_fp16_acc16_tensor > 0)
        sum = (isnan(sum) ? 0 : sum) +
              kernel->flops_fp16_acc16_tensor / rp_roof_at(&roofs->fp16_acc16_tensor, roofs, clock);
    return sum;
}

/* Were floating-point instructions looked at? Without that, "no arithmetic" cannot be said. */
static bool floating_counted(const rp_report_kernel *kernel) {
    return !isnan(kernel->flops_total);
}

static rp_side side_of(const rp_roofs *roofs, const rp_report_kernel *kernel) {
    const rp_evidence *dram = rp_evidence_find(kernel, "dram");
    if (kernel->tensor_not_counted || !floating_counted(kernel))
        return RP_SIDE_UNKNOWN;
    double arithmetic = rp_arithmetic_time(kernel, roofs, kernel->clock_hz);
    if (arithmetic == 0) /* of a part of the instructions says nothing */
        return kernel->flops_lower_bound ? RP_SIDE_UNKNOWN : RP_SIDE_MEMORY;
    if (!dram || isnan(dram->time_s) || isnan(arithmetic))
        return RP_SIDE_UNKNOWN;
    return arithmetic > dram->time_s ? RP_SIDE_COMPUTE : RP_SIDE_MEMORY;
}

/* The largest ceiling time of one kind; NULL if none is known. */
static const rp_evidence *largest(const rp_report_kernel *kernel, bool compute) {
    const rp_evidence *best = NULL;
    for (size_t i = 0; i < kernel->evidence_count; i++) {
        const rp_evidence *e = &kernel->evidence[i];
        if (e->compute == compute && !e->upper_bound && e->time_s > (best ? best->time_s : 0))
            best = e;
    }
    return best;
}

static double largest_upper_bound(const rp_report_kernel *kernel, const char **key) {
    double time = 0;
    *key = "";
    for (size_t i = 0; i < kernel->evidence_count; i++)
        if (kernel->evidence[i].upper_bound && kernel->evidence[i].time_s > time) {
            time = kernel->evidence[i].time_s;
            *key = kernel->evidence[i].key;
        }
    return time;
}

static bool any_time(const rp_report_kernel *kernel) {
    for (size_t i = 0; i < kernel->evidence_count; i++)
        if (!isnan(kernel->evidence[i].time_s) && !kernel->evidence[i].upper_bound)
            return true;
    return false;
}

/* Ceiling times against the roofs that are drawn, and whether any of them is a calibrated one. */
static double drawn_time(const rp_report_kernel *kernel, bool *calibrated) {
    double time = NAN;
    *calibrated = false;
    for (size_t i = 0; i < kernel->evidence_count; i++) {
        const rp_evidence *e = &kernel->evidence[i];
        if (e->upper_bound || isnan(e->time_s))
            continue;
        double t = e->imported || e->work == 0 ? e->time_s : e->work / e->drawn_peak;
        *calibrated = *calibrated || (e->work > 0 && e->drawn_peak != e->peak);
        if (!(t <= time))
            time = t;
    }
    return time;
}

/* The exporter's overall percentages name no unit; where one unit explains nine tenths of them,
 * that is what binds. */
static const rp_evidence *specific(const rp_report_kernel *kernel, const rp_evidence *e) {
    const rp_evidence *best = NULL;
    if (strcmp(e->key, "sm (imported)") != 0 && strcmp(e->key, "memory (imported)") != 0)
        return e;
    for (size_t i = 0; i < kernel->evidence_count; i++) {
        const rp_evidence *other = &kernel->evidence[i];
        bool overall = strcmp(other->key, "sm (imported)") == 0 ||
                       strcmp(other->key, "memory (imported)") == 0;
        if (other->compute == e->compute && !overall && !other->upper_bound &&
            other->time_s >= 0.9 * e->time_s && (!best || other->time_s > best->time_s))
            best = other;
    }
    return best ? best : e;
}

static void name_limits(rp_report_kernel *kernel, const rp_evidence *first,
                        const rp_evidence *second) {
    first = specific(kernel, first);
    second = second ? specific(kernel, second) : NULL;
    snprintf(kernel->bound_by, sizeof kernel->bound_by, "%s", rp_evidence_limit(first->key));
    if (second)
        snprintf(kernel->bound_by, sizeof kernel->bound_by, "%.14s, %.14s",
                 rp_evidence_limit(first->key), rp_evidence_limit(second->key));
}

/* The bound of a kernel that reaches its roof, and of a modelled one. */
static void bound_by_roof(rp_report_kernel *kernel, const rp_evidence *compute,
                          const rp_evidence *memory) {
    double c = compute ? compute->time_s : 0, m = memory ? memory->time_s : 0;
    if (c > 0 && m > 0 && fabs(c - m) <= RP_BALANCE * fmax(c, m)) {
        kernel->bound = RP_BOUND_BALANCED;
        name_limits(kernel, c >= m ? compute : memory, c >= m ? memory : compute);
        return;
    }
    kernel->bound = c > m ? RP_BOUND_COMPUTE : RP_BOUND_MEMORY;
    name_limits(kernel, c > m ? compute : memory, NULL);
}

/* Was anything counted whose peak is not known? Then naming the device is what helps. */
static bool peaks_missing(const rp_report_kernel *kernel) {
    for (size_t i = 0; i < kernel->evidence_count; i++) {
        const rp_evidence *e = &kernel->evidence[i];
        bool main_ceiling = strcmp(e->key, "dram") == 0 || strstr(e->key, "_vector");
        if (main_ceiling && e->work > 0 && isnan(e->peak))
            return true;
    }
    return false;
}

/* Far below every roof: latency needs evidence, or it is not known what binds. */
static void bound_below_roof(rp_report_kernel *kernel, double highest) {
    char missing[160];
    const char *key;
    double upper = largest_upper_bound(kernel, &key) / kernel->time_s;
    bool small = kernel->waves < 1;
    rp_missing_evidence(kernel, missing, sizeof missing);
    if (small || (!missing[0] && upper < RP_BOUND_FRACTION)) {
        kernel->bound = RP_BOUND_LATENCY;
        rp_explain_latency(kernel, kernel->reason, sizeof kernel->reason);
        return;
    }
    kernel->bound = RP_BOUND_UNKNOWN;
    if (peaks_missing(kernel))
        snprintf(kernel->reason, sizeof kernel->reason,
                 "peaks that it needs are not known of this device: name it with --device");
    else if (!missing[0])
        snprintf(kernel->reason, sizeof kernel->reason,
                 "%s work may bind it: up to %.0f %% of the time, its pipe was not counted",
                 rp_evidence_limit(key), upper * 100);
    else
        snprintf(kernel->reason, sizeof kernel->reason,
                 "below the roofs that were counted (%.0f %%); not counted: %.90s", highest * 100,
                 missing);
}

/* Where the kernel's own arithmetic takes as long as DRAM at their peaks, as an intensity; and what
 * the drawn roof allows it. Not for FLOPs that are a lower bound: the mix is not known. */
static void set_ridge(const rp_roofs *roofs, rp_report_kernel *kernel) {
    double time = 0, bandwidth = rp_roof_at(&roofs->level[RP_DRAM], roofs, kernel->clock_hz);
    if (kernel->flops_lower_bound || !(kernel->flops_total > 0))
        return;
    for (int p = 0; p < RP_PRECISIONS; p++)
        for (int path = 0; path < RP_PATHS; path++)
            if (p != RP_INT32 && kernel->flops[p][path] > 0)
                time += kernel->flops[p][path] /
                        rp_roof_at(&roofs->compute[p][path], roofs, kernel->clock_hz);
    if (kernel->flops_fp16_acc16_tensor > 0)
        time += kernel->flops_fp16_acc16_tensor /
                rp_roof_at(&roofs->fp16_acc16_tensor, roofs, kernel->clock_hz);
    if (time > 0)
        kernel->ridge = kernel->flops_total / (time * bandwidth);
    if (kernel->drawn_roof_time_s > 0)
        kernel->attainable_flops_per_s = kernel->flops_total / kernel->drawn_roof_time_s;
}

static void fractions(const rp_roofs *roofs, rp_report_kernel *kernel) {
    bool calibrated;
    kernel->drawn_roof_time_s = drawn_time(kernel, &calibrated);
    if (kernel->modelled)
        return;
    kernel->roof_fraction = kernel->roof_time_s / kernel->time_s;
    kernel->nominal_fraction = rp_nominal_roof_time(kernel, roofs) / kernel->time_s;
    if (calibrated)
        kernel->calibrated_fraction = kernel->drawn_roof_time_s / kernel->time_s;
    kernel->time_lost_s = kernel->time_s - kernel->drawn_roof_time_s;
}

/* Nothing but zeros was counted: a roof of no time is no roof, and no fraction of it is known. */
static void judge_zeros(rp_report_kernel *kernel) {
    if (kernel->waves < 1 && !kernel->modelled && !isnan(kernel->time_s)) {
        kernel->bound = RP_BOUND_LATENCY;
        rp_explain_latency(kernel, kernel->reason, sizeof kernel->reason);
        return;
    }
    kernel->bound = RP_BOUND_UNKNOWN;
    snprintf(kernel->reason, sizeof kernel->reason,
             "what was counted is 0: what it spends its time on was not counted");
}

void rp_classify(const rp_roofs *roofs, rp_report_kernel *kernel) {
    const rp_evidence *compute = largest(kernel, true), *memory = largest(kernel, false);
    kernel->side = side_of(roofs, kernel);
    if (!any_time(kernel)) {
        bool counted = !isnan(kernel->flops_total) || !isnan(kernel->bytes[RP_DRAM]);
        kernel->bound = RP_BOUND_UNKNOWN;
        snprintf(kernel->reason, sizeof kernel->reason, "%s",
                 counted              ? "no peak of the device is known: name it with --device"
                 : kernel->collective ? "a collective: it waits for other GPUs and is not counted"
                                      : "no counts: only times are known");
        return;
    }
    if (!compute && !memory) {
        judge_zeros(kernel);
        return;
    }
    kernel->roof_time_s = fmax(compute ? compute->time_s : 0, memory ? memory->time_s : 0);
    fractions(roofs, kernel);
    set_ridge(roofs, kernel);
    if (kernel->modelled) {
        if (compute || memory)
            bound_by_roof(kernel, compute, memory);
        snprintf(kernel->reason, sizeof kernel->reason, "modelled: not judged");
        return;
    }
    if (isnan(kernel->roof_fraction)) {
        kernel->bound = RP_BOUND_UNKNOWN;
        snprintf(kernel->reason, sizeof kernel->reason, "no time is known");
    } else if (kernel->roof_fraction >= RP_BOUND_FRACTION) {
        bound_by_roof(kernel, compute, memory);
    } else {
        bound_below_roof(kernel, kernel->roof_fraction);
    }
}
