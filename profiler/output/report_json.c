/* SPDX-License-Identifier: Apache-2.0
 *
 * The report as JSON, schema roofprof.report/1: SI base units in the keys, unknown numbers null.
 */
#include "output/report.h"

#include <math.h>
#include <stdio.h>

static const char *known_text(const char *text) {
    return text && *text ? text : NULL;
}

static void write_ceiling(rp_json *json, const rp_ceiling *ceiling) {
    char key[48];
    rp_json_object(json, NULL);
    rp_json_string(json, "kind", ceiling->compute ? "compute" : "bandwidth");
    rp_ceiling_key(ceiling, key, sizeof key);
    rp_json_string(json, "key", key);
    if (ceiling->compute) {
        rp_json_string(json, "precision", rp_precision_name(ceiling->precision));
        rp_json_string(json, "path", rp_path_name(ceiling->path));
        if (ceiling->path == RP_TENSOR) {
            rp_json_string(json, "instruction", known_text(ceiling->instruction));
            rp_json_string(json, "accumulate", known_text(ceiling->accumulate));
            rp_json_bool(json, "sparse", ceiling->sparse);
        }
        rp_json_number(json, "flops_per_s", ceiling->rate);
    } else {
        rp_json_string(json, "level", rp_level_name(ceiling->level));
        rp_json_number(json, "bytes_per_s", ceiling->rate);
    }
    rp_json_string(json, "provenance", rp_provenance_name(ceiling->provenance));
    rp_json_string(json, "source", ceiling->source);
    rp_json_close(json);
}

static void write_ceilings(rp_json *json, const rp_report_device *device) {
    rp_json_array(json, "ceilings");
    for (size_t i = 0; i < device->ceiling_count; i++)
        write_ceiling(json, &device->ceilings[i]);
    rp_json_close(json);
}

static void write_device_fields(rp_json *json, const rp_report_device *device) {
    rp_json_string(json, "name", known_text(device->name));
    rp_json_string(json, "chip", known_text(device->chip));
    rp_json_string(json, "compute_capability", known_text(device->compute_capability));
    rp_json_string(json, "source", device->source);
    rp_json_bool(json, "emulated", device->emulated);
    rp_json_number(json, "sm_count", device->sm_count);
    rp_json_number(json, "nominal_clock_hz", device->nominal_clock_hz);
    rp_json_number(json, "observed_clock_hz", device->observed_clock_hz);
}

static void write_utilization(rp_json *json, double capacity, double bandwidth, double compute) {
    rp_json_object(json, "utilization");
    rp_json_number(json, "capacity", capacity);
    rp_json_number(json, "bandwidth", bandwidth);
    rp_json_number(json, "compute", compute);
}

static void write_devices(rp_json *json, const rp_report *report) {
    if (report->device_count) {
        rp_json_object(json, "device");
        write_device_fields(json, &report->devices[0]);
        rp_json_close(json);
        write_ceilings(json, &report->devices[0]);
    } else {
        rp_json_null(json, "device");
        rp_json_array(json, "ceilings");
        rp_json_close(json);
    }
    rp_json_array(json, "devices");
    for (size_t i = 0; i < report->device_count; i++) {
        const rp_report_device *device = &report->devices[i];
        rp_json_object(json, NULL);
        write_device_fields(json, device);
        write_ceilings(json, device);
        rp_json_number(json, "busy_s", device->busy_s);
        rp_json_number(json, "span_s", device->span_s);
        rp_json_number(json, "idle_s", device->idle_s);
        rp_json_number(json, "copy_s", device->copy_s);
        rp_json_number(json, "memory_bytes", device->memory_bytes);
        rp_json_number(json, "peak_allocated_bytes", device->peak_allocated_bytes);
        write_utilization(json, device->capacity, device->bandwidth, device->compute);
        rp_json_close(json);
        rp_json_close(json);
    }
    rp_json_close(json);
}

/* ---- Kernels --------------------------------------------------------------------------------- */

/* Every kind that is known, and those three that unknown is worth a null of. */
static void write_flops(rp_json *json, const rp_report_kernel *kernel) {
    rp_json_object(json, "flops");
    for (int path = 0; path < RP_PATHS; path++)
        for (int p = 0; p < RP_PRECISIONS; p++) {
            char key[32];
            bool always = path == RP_VECTOR && (p == RP_FP64 || p == RP_FP32 || p == RP_FP16);
            if (p == RP_INT32 || (isnan(kernel->flops[p][path]) && !always))
                continue;
            snprintf(key, sizeof key, "%s_%s", rp_precision_name((rp_hw_precision)p),
                     rp_path_name((rp_hw_path)path));
            rp_json_number(json, key, kernel->flops[p][path]);
        }
    if (!isnan(kernel->flops_fp16_acc16_tensor))
        rp_json_number(json, "fp16_acc16_tensor", kernel->flops_fp16_acc16_tensor);
    rp_json_close(json);
    rp_json_number(json, "flops_total", kernel->flops_total);
    rp_json_bool(json, "flops_lower_bound", kernel->flops_lower_bound);
    rp_json_number(json, "int_ops", kernel->int_ops);
    rp_json_string(json, "flops_provenance", rp_provenance_name(kernel->flops_provenance));
}

static void write_levels(rp_json *json, const char *key, const double values[RP_LEVELS]) {
    rp_json_object(json, key);
    for (int l = RP_DRAM; l <= RP_SHARED; l++)
        rp_json_number(json, rp_level_name((rp_hw_level)l), values[l]);
    rp_json_close(json);
}

static void write_shape(rp_json *json, const char *key, const rp_report_kernel *kernel,
                        const uint32_t shape[3]) {
    if (!kernel->has_shape) {
        rp_json_null(json, key);
        return;
    }
    rp_json_array(json, key);
    for (int i = 0; i < 3; i++)
        rp_json_count(json, NULL, shape[i]);
    rp_json_close(json);
}

static void write_times(rp_json *json, const rp_report_kernel *kernel) {
    rp_json_number(json, "time_s", kernel->time_s);
    rp_json_number(json, "time_share", kernel->time_share);
    rp_json_string(json, "time_provenance", rp_provenance_name(kernel->time_provenance));
    rp_json_number(json, "time_mean_s", kernel->time_mean_s);
    rp_json_number(json, "time_min_s", kernel->time_min_s);
    rp_json_number(json, "time_max_s", kernel->time_max_s);
    rp_json_number(json, "time_deviation_s", kernel->time_deviation_s);
}

static void write_verdict(rp_json *json, const rp_report_kernel *kernel) {
    rp_json_string(json, "side", rp_side_name(kernel->side));
    rp_json_string(json, "bound", rp_bound_name(kernel->bound));
    rp_json_string(json, "bound_by", known_text(kernel->bound_by));
    rp_json_string(json, "reason", known_text(kernel->reason));
    rp_json_bool(json, "modelled", kernel->modelled);
    rp_json_number(json, "roof_time_s", kernel->roof_time_s);
    rp_json_number(json, "roof_fraction", kernel->roof_fraction);
    rp_json_number(json, "nominal_fraction", kernel->nominal_fraction);
    rp_json_number(json, "calibrated_fraction", kernel->calibrated_fraction);
    rp_json_object(json, "ceiling_times_s");
    for (size_t i = 0; i < kernel->evidence_count; i++)
        if (!isnan(kernel->evidence[i].time_s))
            rp_json_number(json, kernel->evidence[i].key, kernel->evidence[i].time_s);
    rp_json_close(json);
    rp_json_number(json, "time_lost_s", kernel->time_lost_s);
    if (rp_above_is_known(kernel))
        rp_json_bool(json, "above_roof", kernel->above_roof);
    else
        rp_json_null(json, "above_roof");
    rp_json_string(json, "above_reason", known_text(kernel->above_reason));
    rp_json_string(json, "cache", rp_cache_name(kernel->cache));
    rp_json_number(json, "clock_hz", kernel->clock_hz);
    rp_json_number(json, "waves", kernel->waves);
    rp_json_number(json, "occupancy", kernel->occupancy);
    rp_json_number(json, "active_lanes", kernel->lanes);
}

static void write_evidence(rp_json *json, const rp_report_kernel *kernel) {
    rp_json_array(json, "evidence");
    for (size_t i = 0; i < kernel->evidence_count; i++) {
        const rp_evidence *e = &kernel->evidence[i];
        rp_json_object(json, NULL);
        rp_json_string(json, "ceiling", e->key);
        rp_json_string(json, "kind", e->compute ? "compute" : "memory");
        rp_json_bool(json, "upper_bound", e->upper_bound);
        rp_json_number(json, "work", e->work);
        rp_json_string(json, "work_unit", known_text(e->work_unit));
        rp_json_string(json, "work_provenance", rp_provenance_name(e->work_provenance));
        rp_json_number(json, "peak_per_s", e->peak);
        rp_json_number(json, "drawn_peak_per_s", e->drawn_peak);
        rp_json_string(json, "peak_provenance", rp_provenance_name(e->peak_provenance));
        rp_json_string(json, "source", e->source);
        rp_json_number(json, "time_s", e->time_s);
        rp_json_close(json);
    }
    rp_json_close(json);
}

static void write_kernel(rp_json *json, const rp_report_kernel *kernel, bool evidence) {
    rp_json_object(json, NULL);
    rp_json_count(json, "number", (uint64_t)kernel->number);
    rp_json_string(json, "name", kernel->name);
    rp_json_string(json, "short_name", kernel->short_name);
    rp_json_string(json, "range", kernel->range);
    rp_json_count(json, "device", kernel->device);
    write_shape(json, "grid", kernel, kernel->grid);
    write_shape(json, "block", kernel, kernel->block);
    rp_json_count(json, "launches", kernel->launches);
    rp_json_count(json, "launches_counted", kernel->launches_counted);
    write_times(json, kernel);
    write_flops(json, kernel);
    write_levels(json, "bytes", kernel->bytes);
    rp_json_string(json, "bytes_provenance", rp_provenance_name(kernel->bytes_provenance));
    write_levels(json, "intensity", kernel->intensity);
    rp_json_number(json, "flops_per_s", kernel->flops_per_s);
    rp_json_number(json, "attainable_flops_per_s", kernel->attainable_flops_per_s);
    rp_json_number(json, "ridge_flop_per_byte", kernel->ridge);
    write_verdict(json, kernel);
    if (evidence)
        write_evidence(json, kernel);
    rp_json_array(json, "notes");
    for (size_t i = 0; i < kernel->note_count; i++)
        rp_json_string(json, NULL, kernel->notes[i]);
    rp_json_close(json);
    rp_json_close(json);
}

/* ---- The whole ------------------------------------------------------------------------------- */

static void write_by_bound(rp_json *json, const char *key, const double values[RP_BOUNDS]) {
    rp_json_object(json, key);
    for (int b = 0; b < RP_BOUNDS; b++)
        rp_json_number(json, rp_bound_name((rp_bound)b), values[b]);
    rp_json_close(json);
}

static void write_model(rp_json *json, const rp_report_model *model) {
    if (!model->name[0] && isnan(model->flops)) {
        rp_json_null(json, "model");
        return;
    }
    rp_json_object(json, "model");
    rp_json_string(json, "name", known_text(model->name));
    rp_json_number(json, "parameters", model->params);
    rp_json_number(json, "tokens", model->tokens);
    rp_json_string(json, "mode", model->name[0] ? model->training ? "train" : "infer" : NULL);
    rp_json_number(json, "flops", model->flops);
    rp_json_string(json, "peak", known_text(model->peak));
    rp_json_number(json, "peak_flops_per_s", model->peak_flops_per_s);
    rp_json_number(json, "bytes", model->bytes);
    rp_json_string(json, "missing", known_text(model->missing));
    rp_json_close(json);
}

static void write_summary(rp_json *json, const rp_report *report) {
    rp_json_object(json, "summary");
    rp_json_number(json, "gpu_time_s", report->gpu_time_s);
    rp_json_number(json, "kernel_time_sum_s", report->gpu_sum_s);
    rp_json_number(json, "wall_time_s", report->wall_s);
    rp_json_count(json, "launches", report->launches);
    rp_json_count(json, "launches_kept", report->launches_kept);
    rp_json_count(json, "launches_invalid", report->launches_invalid);
    rp_json_bool(json, "modelled", report->modelled);
    write_by_bound(json, "time_share_by_bound", report->time_share_by_bound);
    write_by_bound(json, "time_lost_by_bound_s", report->time_lost_by_bound);
    rp_json_number(json, "counted_time_share", report->counted_share);
    rp_json_number(json, "utilization_time_s", report->utilisation_time_s);
    write_utilization(json, report->capacity, report->bandwidth, report->compute);
    rp_json_number(json, "model_flops", report->model_flops_utilisation);
    rp_json_number(json, "capacity_effective", report->capacity_effective);
    rp_json_close(json);
    write_model(json, &report->model);
    rp_json_close(json);
}

static void write_copies(rp_json *json, const rp_report *report) {
    rp_json_array(json, "copies");
    for (size_t i = 0; i < report->copy_count; i++) {
        const rp_report_copy *copy = &report->copies[i];
        rp_json_object(json, NULL);
        rp_json_count(json, "device", copy->device);
        rp_json_string(json, "kind", copy->kind);
        rp_json_count(json, "count", copy->count);
        rp_json_number(json, "bytes", copy->bytes);
        rp_json_number(json, "time_s", copy->time_s);
        rp_json_number(json, "bytes_per_s", copy->bytes_per_s);
        rp_json_string(json, "time_provenance", rp_provenance_name(copy->time_provenance));
        rp_json_close(json);
    }
    rp_json_close(json);
}

void rp_report_json(rp_json *json, const rp_report *report, size_t top, bool evidence) {
    size_t shown = top && top < report->kernel_count ? top : report->kernel_count;
    rp_json_object(json, NULL);
    rp_json_string(json, "schema", "roofprof.report/1");
    rp_json_string(json, "source", known_text(report->source));
    rp_json_string(json, "tool", known_text(report->tool));
    write_devices(json, report);
    rp_json_array(json, "kernels");
    for (size_t i = 0; i < shown; i++)
        write_kernel(json, &report->kernels[i], evidence);
    rp_json_close(json);
    rp_json_count(json, "kernels_left_out", report->kernel_count - shown);
    write_copies(json, report);
    write_summary(json, report);
    rp_json_array(json, "notes");
    for (size_t i = 0; i < report->note_count; i++) {
        rp_json_object(json, NULL);
        rp_json_string(json, "severity", report->notes[i].severity);
        rp_json_string(json, "text", report->notes[i].text);
        rp_json_close(json);
    }
    rp_json_close(json);
    rp_json_close(json);
}
