/* SPDX-License-Identifier: Apache-2.0
 *
 * The program as a whole: shares of GPU time by bound, time lost, idle time, copies and the three
 * utilisations. Utilisations are taken over the span of the device's work where timestamps are
 * known, else over kernel time, and against nominal peaks (a lower clock is not a lower peak).
 */
#include "analysis/internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static double or_zero(double value) {
    return isnan(value) ? 0 : value;
}

static double gpu_time(const rp_report_device *device) {
    return isnan(device->busy_s) ? device->sum_s : device->busy_s;
}

static double utilisation_time(const rp_report_device *device) {
    return device->span_s > 0 ? device->span_s : gpu_time(device);
}

/* Seconds that the FLOPs of KERNEL take at nominal peaks; NaN if they are not known. */
static double nominal_flops_time(const rp_report_kernel *kernel, const rp_roofs *roofs) {
    double sum = NAN;
    for (int p = 0; p < RP_PRECISIONS; p++)
        for (int path = 0; path < RP_PATHS; path++) {
            double flops = kernel->flops[p][path];
            if (p == RP_INT32 || isnan(flops))
                continue;
            sum = or_zero(sum) + (flops == 0 ? 0 : flops / roofs->compute[p][path].nominal);
            if (isnan(sum))
                return NAN;
        }
    if (kernel->flops_fp16_acc16_tensor > 0)
        sum = or_zero(sum) + kernel->flops_fp16_acc16_tensor / roofs->fp16_acc16_tensor.nominal;
    return sum;
}

static void utilise(const rp_roofs *roofs, rp_report *report, size_t d) {
    rp_report_device *device = &report->devices[d];
    double flops_time = NAN, bytes = NAN, time = utilisation_time(device);
    for (size_t i = 0; i < report->kernel_count; i++) {
        const rp_report_kernel *kernel = &report->kernels[i];
        if (kernel->device != d)
            continue;
        double t = nominal_flops_time(kernel, roofs);
        if (!isnan(t))
            flops_time = or_zero(flops_time) + t;
        if (!isnan(kernel->bytes[RP_DRAM]))
            bytes = or_zero(bytes) + kernel->bytes[RP_DRAM];
    }
    device->capacity = device->peak_allocated_bytes / device->memory_bytes;
    device->bandwidth = device->compute = NAN;
    if (report->modelled || !(time > 0))
        return;
    device->compute = flops_time / time;
    device->bandwidth = bytes / (roofs->level[RP_DRAM].nominal * time);
}

/* Launches without a time of their own (counted as they ran, so that their time was not theirs)
 * took the mean of their kind, as in their kernel's total; nothing tells that they overlapped
 * others. */
static double untimed(const rp_profile *profile, size_t device) {
    double sum = 0;
    for (size_t i = 0; i < profile->group_count; i++) {
        const rp_group *group = &profile->groups[i];
        if (group->device == device && group->time.n && group->time.n < group->launches)
            sum += rp_stat_mean(&group->time) * (double)(group->launches - group->time.n);
    }
    return sum;
}

static void fill_devices(const rp_profile *profile, const rp_roofs *roofs, rp_report *report) {
    for (size_t d = 0; d < report->device_count; d++) {
        const rp_profile_device *seen = &profile->devices[d];
        rp_report_device *device = &report->devices[d];
        double more = untimed(profile, d);
        device->busy_s = seen->busy_s + more;
        device->sum_s = seen->sum_s + more;
        device->span_s = seen->span_s;
        device->copy_s = seen->copy_s;
        device->idle_s = device->span_s - device->busy_s;
        if (more > 0 && device->idle_s < 0)
            device->idle_s = NAN; /* the span does not hold them all */
        device->peak_allocated_bytes = seen->peak_allocated_bytes;
        device->memory_bytes = seen->memory_bytes > 0 ? (double)seen->memory_bytes : NAN;
        if (isnan(device->memory_bytes) && device->hardware && device->hardware->memory_bytes > 0)
            device->memory_bytes = (double)device->hardware->memory_bytes;
        device->utilisation_time_s = utilisation_time(device);
        utilise(&roofs[d], report, d);
    }
}

/* Over all devices: a mean weighted by time; devices on which a share is not known are left out. */
static double over_devices(const rp_report *report, size_t offset) {
    double sum = 0, weight = 0;
    for (size_t d = 0; d < report->device_count; d++) {
        const rp_report_device *device = &report->devices[d];
        double share, time = utilisation_time(device);
        memcpy(&share, (const char *)device + offset, sizeof share);
        if (isnan(share) || !(time > 0))
            continue;
        sum += share * time;
        weight += time;
    }
    return weight > 0 ? sum / weight : NAN;
}

/* A sum of times that nobody knows is not known. */
static void forget_times(rp_report *report) {
    report->gpu_sum_s = NAN;
    for (int b = 0; b < RP_BOUNDS; b++)
        report->time_share_by_bound[b] = report->time_lost_by_bound[b] = NAN;
}

/* True where some FLOPs were not counted: then the mix of precisions is not known, and neither is
 * the peak that useful ones are held against. */
static bool flops_missing(const rp_report *report) {
    for (size_t i = 0; i < report->kernel_count; i++)
        if (report->kernels[i].flops_lower_bound || report->kernels[i].tensor_not_counted)
            return true;
    return false;
}

/* The sums over kernels; all FLOPs that were counted (NaN none). */
static double over_kernels(rp_report *report) {
    double counted = 0, flops = NAN;
    bool timed = false, lost_known[RP_BOUNDS] = {0}, lost_missing[RP_BOUNDS] = {0};
    for (size_t i = 0; i < report->kernel_count; i++) {
        const rp_report_kernel *kernel = &report->kernels[i];
        double time = or_zero(kernel->time_s);
        timed = timed || !isnan(kernel->time_s);
        report->gpu_sum_s += time;
        report->time_share_by_bound[kernel->bound] += time;
        report->time_lost_by_bound[kernel->bound] += or_zero(kernel->time_lost_s);
        lost_known[kernel->bound] = lost_known[kernel->bound] || !isnan(kernel->time_lost_s);
        lost_missing[kernel->bound] = lost_missing[kernel->bound] || isnan(kernel->time_lost_s);
        if (!isnan(kernel->flops_total) && !kernel->flops_lower_bound &&
            !isnan(kernel->bytes[RP_DRAM]))
            counted += time;
        if (!isnan(kernel->flops_total))
            flops = or_zero(flops) + kernel->flops_total;
        report->modelled = report->modelled || kernel->modelled;
    }
    for (int b = 0; b < RP_BOUNDS && report->gpu_sum_s > 0; b++)
        report->time_share_by_bound[b] /= report->gpu_sum_s;
    for (int b = 0; b < RP_BOUNDS; b++)
        if (lost_missing[b] && !lost_known[b])
            report->time_lost_by_bound[b] = NAN;
    report->counted_share = report->gpu_sum_s > 0 ? counted / report->gpu_sum_s : NAN;
    if (!timed)
        forget_times(report);
    return flops;
}

static void share_out(rp_report *report) {
    for (size_t i = 0; i < report->kernel_count; i++) {
        rp_report_kernel *kernel = &report->kernels[i];
        kernel->time_share = kernel->time_s / gpu_time(&report->devices[kernel->device]);
    }
}

void rp_summarise(const rp_profile *profile, const rp_roofs *roofs,
                  const rp_analysis_options *options, rp_report *report) {
    double flops = over_kernels(report);
    bool lower_bound = flops_missing(report);
    fill_devices(profile, roofs, report);
    share_out(report);
    report->utilisation_time_s = 0;
    for (size_t d = 0; d < report->device_count; d++) {
        report->gpu_time_s += or_zero(gpu_time(&report->devices[d]));
        report->utilisation_time_s += or_zero(utilisation_time(&report->devices[d]));
    }
    if (isnan(report->gpu_sum_s))
        report->gpu_time_s = report->utilisation_time_s = NAN;
    report->wall_s = profile->wall_s;
    report->capacity = over_devices(report, offsetof(rp_report_device, capacity));
    report->bandwidth = over_devices(report, offsetof(rp_report_device, bandwidth));
    report->compute = over_devices(report, offsetof(rp_report_device, compute));
    /* useful FLOPs in the same mix of precisions as those that were executed */
    report->model_flops_utilisation = options->model_flops / flops * report->compute;
    report->capacity_effective = NAN;
    report->model = (rp_report_model){.params = NAN,
                                      .tokens = NAN,
                                      .flops = options->model_flops,
                                      .peak_flops_per_s = NAN,
                                      .bytes = NAN};
    if (lower_bound && !isnan(options->model_flops))
        snprintf(report->model.missing, sizeof report->model.missing,
                 "not all FLOPs were counted, so their mix is not known: name the precision that "
                 "useful ones are held against with --dtype");
    if (lower_bound || !isfinite(report->model_flops_utilisation))
        report->model_flops_utilisation = NAN;
}
