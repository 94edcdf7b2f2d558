/* SPDX-License-Identifier: Apache-2.0
 *
 * From a profile to a report: every group through counting, ceilings, verdict and explanation, then
 * the order and the summary.
 */
#include "analysis/internal.h"
#include "support/text.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

rp_code rp_report_note(rp_report *report, rp_error *error, const char *severity, const char *format,
                       ...) {
    char *text = NULL;
    va_list arguments;
    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) < 0)
        text = NULL;
    va_end(arguments);
    rp_profile_note *grown = realloc(report->notes, (report->note_count + 1) * sizeof *grown);
    if (grown)
        report->notes = grown;
    char *level = strdup(severity);
    if (!text || !grown || !level) {
        free(text);
        free(level);
        return rp_fail(error, RP_INTERNAL, "out of memory");
    }
    grown[report->note_count++] = (rp_profile_note){.severity = level, .text = text};
    return RP_OK;
}

/* ---- One kernel ------------------------------------------------------------------------------ */

static void set_unknown(rp_report_kernel *kernel) {
    kernel->flops_total = kernel->flops_per_s = kernel->int_ops = NAN;
    kernel->flops_fp16_acc16_tensor = NAN;
    kernel->roof_time_s = kernel->roof_fraction = kernel->nominal_fraction = NAN;
    kernel->calibrated_fraction = kernel->drawn_roof_time_s = kernel->time_lost_s = NAN;
    kernel->time_share = kernel->attainable_flops_per_s = kernel->ridge = NAN;
}

static void set_times(const rp_group *group, rp_report_kernel *kernel) {
    const rp_stat *per_launch = group->time_warm.n ? &group->time_warm : &group->time;
    kernel->time_provenance = group->time.n ? group->time_provenance : RP_ABSENT;
    kernel->time_s = group->time.n ? group->time.sum : NAN;
    if (group->time.n && group->time.n < group->launches) {
        kernel->time_s = rp_stat_mean(&group->time) * (double)group->launches;
        kernel->time_provenance = rp_provenance_worse(kernel->time_provenance, RP_ESTIMATED);
        rp_kernel_note(kernel,
                       "%llu of %llu launches have a time: the total is their mean x launches",
                       (unsigned long long)group->time.n, (unsigned long long)group->launches);
    }
    kernel->time_mean_s = rp_stat_mean(per_launch);
    kernel->time_min_s = per_launch->n ? per_launch->min : NAN;
    kernel->time_max_s = per_launch->n ? per_launch->max : NAN;
    kernel->time_deviation_s = rp_stat_deviation(per_launch);
    kernel->time_samples = per_launch->n;
    kernel->time_noise_s = kernel->time_deviation_s;
    kernel->time_noise_degrees = per_launch->n > 1 ? per_launch->n - 1 : 0;
    if (group->configs > 1) {
        kernel->time_noise_s = sqrt(group->noise / (double)group->noise_launches);
        kernel->time_noise_degrees = group->noise_degrees;
    }
    /* a mean of modelled times is one too, however few they are */
    kernel->modelled = group->time_provenance == RP_MODELLED;
    if (kernel->modelled)
        kernel->time_provenance = RP_MODELLED;
}

/* The clock that the kernel's peaks are taken at: its own where it is long enough for that to be
 * exact, else the device's median, else (NaN) the nominal one. */
static double clock_of(const rp_group *group, const rp_roofs *roofs) {
    double own = rp_group_mean(group, RP_Q_SM_CLOCK);
    double mean = rp_stat_mean(&group->time);
    if (own > 0 && mean >= RP_SHORT_KERNEL_S)
        return own;
    return roofs->observed_clock > 0 ? roofs->observed_clock : NAN;
}

static void judge(const rp_group *group, const rp_roofs *roofs, rp_report_kernel *kernel) {
    kernel->name = group->name;
    kernel->short_name = group->short_name ? group->short_name : group->name;
    kernel->range = group->range;
    kernel->device = group->device;
    kernel->has_shape = group->has_shape;
    memcpy(kernel->grid, group->grid, sizeof kernel->grid);
    memcpy(kernel->block, group->block, sizeof kernel->block);
    kernel->launches = group->launches;
    kernel->cache = group->cache;
    kernel->collective = group->collective;
    set_unknown(kernel);
    set_times(group, kernel);
    rp_occupancy(group, roofs, kernel);
    rp_count_flops(group, kernel);
    rp_count_bytes(group, kernel);
    kernel->clock_hz = clock_of(group, roofs);
    if (kernel->time_s > 0)
        kernel->flops_per_s = kernel->flops_total / kernel->time_s;
    rp_evidence_make(group, roofs, kernel);
    rp_classify(roofs, kernel);
    rp_explain_above(group, roofs, kernel);
}

/* ---- Order ----------------------------------------------------------------------------------- */

static double loss(const rp_report_kernel *kernel) {
    double value = isnan(kernel->time_lost_s) ? kernel->time_s : kernel->time_lost_s;
    return isnan(value) ? -INFINITY : value;
}

static int worst_first(const void *left, const void *right) {
    const rp_report_kernel *a = left, *b = right;
    if (loss(a) != loss(b))
        return loss(a) < loss(b) ? 1 : -1;
    int order = strcmp(a->name, b->name);
    return order ? order : (a->device > b->device) - (a->device < b->device);
}

/* ---- The whole ------------------------------------------------------------------------------- */

static rp_code copy_frame(const rp_profile *profile, rp_report *report, rp_error *error) {
    report->source = strdup(profile->source ? profile->source : "");
    report->tool = strdup(profile->tool ? profile->tool : "");
    report->devices = calloc(profile->device_count + 1, sizeof *report->devices);
    report->copies = calloc(profile->copy_count + 1, sizeof *report->copies);
    if (!report->source || !report->tool || !report->devices || !report->copies)
        return rp_fail(error, RP_INTERNAL, "out of memory");
    report->device_count = profile->device_count;
    report->launches = profile->launches_total;
    report->launches_kept = profile->launches_kept;
    report->launches_invalid = profile->launches_invalid;
    for (size_t i = 0; i < profile->copy_count; i++) {
        const rp_copy_total *from = &profile->copies[i];
        rp_report_copy *to = &report->copies[report->copy_count++];
        to->device = from->device;
        memcpy(to->kind, from->kind, sizeof to->kind);
        to->count = from->count;
        to->bytes = from->bytes;
        to->time_s = from->time_s;
        to->bytes_per_s = from->time_s > 0 ? from->bytes / from->time_s : NAN;
        to->time_provenance = isnan(from->time_s) ? RP_ABSENT : from->time_provenance;
    }
    for (size_t i = 0; i < profile->note_count; i++)
        if (rp_report_note(report, error, profile->notes[i].severity, "%s",
                           profile->notes[i].text) != RP_OK)
            return RP_INTERNAL;
    return RP_OK;
}

/* What must be known of one device before its verdicts are believed; RP_OK with nothing to say. */
static rp_code note_device(rp_report *report, size_t d, rp_error *error) {
    const rp_report_device *device = &report->devices[d];
    const char *name = device->name;
    if (!device->hardware && device->ceiling_count == 0 && !name[0])
        return rp_report_note(report, error, "warning",
                              "the capture does not name device %zu, nor say enough to derive its "
                              "peaks: no kernel on it can be held against a roof; name it with "
                              "--device",
                              d);
    if (!device->hardware && device->ceiling_count == 0)
        return rp_report_note(report, error, "warning",
                              "device %zu %s is not in the hardware database and the capture does "
                              "not say enough to derive it: no kernel on it can be held against a "
                              "roof; name it with --device",
                              d, name);
    if (device->hardware && !device->match->device)
        return rp_report_note(
            report, error, "warning",
            "device %zu%s%s is not in the hardware database; its peaks are %s; if "
            "a row describes it, name that with --device",
            d, name[0] ? " " : "", name, device->match->how);
    if (device->hardware && !device->match->certain)
        return rp_report_note(report, error, "warning",
                              "device %zu%s%s was taken for %s (by %s): a guess; name it with "
                              "--device if that is wrong",
                              d, name[0] ? " " : "", name, device->hardware->name,
                              device->match->how);
    if (device->observed_clock_hz > 1.02 * device->nominal_clock_hz)
        return rp_report_note(
            report, error, "info",
            "device %zu ran at %.0f MHz, above its nominal %.0f MHz: fractions of "
            "the nominal peak may pass 100 %%",
            d, device->observed_clock_hz / 1e6, device->nominal_clock_hz / 1e6);
    return RP_OK;
}

/* Which calibrated records count for it, where that needs to be said. */
static rp_code note_calibration(rp_report *report, size_t d, rp_error *error) {
    const rp_report_device *device = &report->devices[d];
    if (!device->match || !*device->match->calibration)
        return RP_OK;
    return rp_report_note(report, error, "warning", "device %zu: %s", d,
                          device->match->calibration);
}

static rp_code note_devices(rp_report *report, rp_error *error) {
    rp_code code = RP_OK;
    for (size_t d = 0; d < report->device_count && code == RP_OK; d++)
        (void)((code = note_device(report, d, error)) ||
               (code = note_calibration(report, d, error)));
    return code;
}

/* Is there no kernel of which FLOPs or bytes are known? */
static bool times_alone(const rp_report *report) {
    for (size_t i = 0; i < report->kernel_count; i++) {
        const rp_report_kernel *kernel = &report->kernels[i];
        if (kernel->flops_provenance != RP_ABSENT || kernel->bytes_provenance != RP_ABSENT)
            return false;
    }
    return report->kernel_count > 0;
}

static rp_code note_launches(const rp_profile *profile, rp_report *report, rp_error *error) {
    rp_code code = RP_OK;
    bool first_left_out = false;
    for (size_t i = 0; i < profile->group_count; i++)
        first_left_out =
            first_left_out || (profile->groups[i].time_warm.n &&
                               profile->groups[i].time_warm.n < profile->groups[i].time.n);
    if (report->launches_kept < report->launches)
        code = rp_report_note(report, error, "info", "%llu of %llu launches pass the filter",
                              (unsigned long long)report->launches_kept,
                              (unsigned long long)report->launches);
    if (code == RP_OK && report->launches_invalid)
        code = rp_report_note(report, error, "warning", "%llu %s with impossible times left out",
                              (unsigned long long)report->launches_invalid,
                              rp_plural(report->launches_invalid, "launch", "launches"));
    if (code == RP_OK && first_left_out)
        code = rp_report_note(report, error, "info",
                              "means, minima and maxima leave out each kernel's first launch (the "
                              "kernel is loaded then); totals hold it");
    if (code == RP_OK && times_alone(report))
        code = rp_report_note(report, error, "info",
                              "FLOPs and bytes are not known of any kernel: intensities need a "
                              "second capture with counters (roofprof merge), or --work");
    if (code == RP_OK && report->modelled)
        code = rp_report_note(report, error, "info",
                              "times are modelled, not measured: kernels are not judged by them");
    if (code == RP_OK && report->counted_share > 0 && report->counted_share < 0.995)
        code = rp_report_note(report, error, "info",
                              "FLOPs and DRAM bytes are known for %.1f %% of kernel time: the "
                              "compute and bandwidth utilisations are lower bounds",
                              report->counted_share * 100);
    return code;
}

rp_code rp_analyse(const rp_profile *profile, const rp_hwdb *hwdb,
                   const rp_analysis_options *options, rp_report *report, rp_error *error) {
    rp_group *copy = NULL;
    rp_roofs *roofs = calloc(profile->device_count + 1, sizeof *roofs);
    memset(report, 0, sizeof *report);
    rp_code code =
        roofs ? copy_frame(profile, report, error) : rp_fail(error, RP_INTERNAL, "out of memory");
    for (size_t d = 0; d < profile->device_count && code == RP_OK; d++)
        code = rp_roofs_make(&profile->devices[d], hwdb, options, &report->devices[d], &roofs[d],
                             error);
    if (code == RP_OK)
        code = rp_groups_prepare(profile, options, &copy, &report->kernel_count, error);
    if (code == RP_OK) {
        report->kernels = calloc(report->kernel_count + 1, sizeof *report->kernels);
        if (!report->kernels)
            code = rp_fail(error, RP_INTERNAL, "out of memory");
    }
    if (code == RP_OK) {
        const rp_group *groups = copy ? copy : profile->groups;
        for (size_t i = 0; i < report->kernel_count; i++)
            judge(&groups[i], &roofs[groups[i].device], &report->kernels[i]);
        qsort(report->kernels, report->kernel_count, sizeof *report->kernels, worst_first);
        for (size_t i = 0; i < report->kernel_count; i++)
            report->kernels[i].number = (int)i + 1;
        rp_summarise(profile, roofs, options, report);
        code = note_devices(report, error);
    }
    if (code == RP_OK)
        code = note_launches(profile, report, error);
    if (code == RP_OK)
        code = rp_work_note_unused(profile, options, report, error);
    free(copy);
    free(roofs);
    if (code != RP_OK)
        rp_report_free(report);
    return code;
}

void rp_report_free(rp_report *report) {
    if (!report)
        return;
    for (size_t d = 0; report->devices && d < report->device_count; d++) {
        free(report->devices[d].name);
        free(report->devices[d].chip);
        free(report->devices[d].compute_capability);
        free(report->devices[d].source);
        free(report->devices[d].ceilings);
        free(report->devices[d].match);
    }
    for (size_t k = 0; report->kernels && k < report->kernel_count; k++)
        for (size_t i = 0; i < report->kernels[k].note_count; i++)
            free(report->kernels[k].notes[i]);
    for (size_t i = 0; i < report->note_count; i++) {
        free(report->notes[i].severity);
        free(report->notes[i].text);
    }
    free(report->source);
    free(report->tool);
    free(report->devices);
    free(report->kernels);
    free(report->copies);
    free(report->notes);
    memset(report, 0, sizeof *report);
}
