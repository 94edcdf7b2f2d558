/* SPDX-License-Identifier: Apache-2.0
 *
 * The head of a report; see summary.h. Nothing is computed here but what is not worth a line.
 */
#include "output/summary.h"

#include "support/text.h"
#include "support/units.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NUMBER 40

static void line(rp_lines *lines, const char *label, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void line(rp_lines *lines, const char *label, const char *format, ...) {
    char *raw = NULL;
    va_list arguments;
    va_start(arguments, format);
    if (vasprintf(&raw, format, arguments) < 0)
        raw = NULL;
    va_end(arguments);
    rp_line *grown = realloc(lines->items, (lines->count + 1) * sizeof *grown);
    if (grown)
        lines->items = grown;
    char *text = raw ? rp_text_printable(raw, strlen(raw)) : NULL;
    char *name = strdup(label);
    free(raw);
    if (!grown || !text || !name) {
        free(text);
        free(name);
        return;
    }
    grown[lines->count++] = (rp_line){.label = name, .text = text};
}

void rp_lines_free(rp_lines *lines) {
    for (size_t i = 0; i < lines->count; i++) {
        free(lines->items[i].label);
        free(lines->items[i].text);
    }
    free(lines->items);
    memset(lines, 0, sizeof *lines);
}

static void device_lines(const rp_report *report, rp_lines *lines) {
    char label[32] = "device";
    for (size_t d = 0; d < report->device_count; d++) {
        const rp_report_device *device = &report->devices[d];
        if (report->device_count > 1)
            snprintf(label, sizeof label, "GPU %zu", d);
        line(lines, label, "%s%s%s%s", device->emulated ? "emulated " : "", device->name,
             device->name[0] ? " | " : "", device->source);
    }
}

static void time_lines(const rp_report *report, rp_lines *lines) {
    char gpu[NUMBER], sum[NUMBER], wall[NUMBER], idle[NUMBER] = "";
    double idle_s = 0, span_s = 0;
    for (size_t d = 0; d < report->device_count; d++)
        if (!isnan(report->devices[d].idle_s)) {
            idle_s += report->devices[d].idle_s;
            span_s += report->devices[d].span_s;
        }
    line(lines, "GPU time", "%s%s in %llu launch%s of %zu kernel%s%s%s%s%s",
         rp_format_time(gpu, sizeof gpu, report->gpu_time_s), report->modelled ? " (modelled)" : "",
         (unsigned long long)report->launches_kept, report->launches_kept == 1 ? "" : "es",
         report->kernel_count, report->kernel_count == 1 ? "" : "s",
         report->gpu_sum_s > 1.0005 * report->gpu_time_s ? "; streams overlap, their sum is " : "",
         report->gpu_sum_s > 1.0005 * report->gpu_time_s
             ? rp_format_time(sum, sizeof sum, report->gpu_sum_s)
             : "",
         isnan(report->wall_s) ? "" : "; wall ",
         isnan(report->wall_s) ? "" : rp_format_time(wall, sizeof wall, report->wall_s));
    if (span_s > 0) {
        char share[NUMBER];
        line(lines, "GPU idle", "%s, %s of the span from first to last kernel",
             rp_format_time(idle, sizeof idle, idle_s),
             rp_format_percent(share, sizeof share, idle_s / span_s));
    }
}

static void bound_line(const rp_report *report, rp_lines *lines) {
    char shares[256] = "", lost[256] = "", number[NUMBER];
    for (int b = 0; b < RP_BOUNDS; b++) {
        size_t used = strlen(shares), used_lost = strlen(lost);
        if (report->time_share_by_bound[b] > 0)
            snprintf(shares + used, sizeof shares - used, "%s%s %s", used ? ", " : "",
                     rp_bound_name((rp_bound)b),
                     rp_format_percent(number, sizeof number, report->time_share_by_bound[b]));
        if (report->time_lost_by_bound[b] > 0)
            snprintf(lost + used_lost, sizeof lost - used_lost, "%s%s %s", used_lost ? ", " : "",
                     rp_bound_name((rp_bound)b),
                     rp_format_time(number, sizeof number, report->time_lost_by_bound[b]));
    }
    if (shares[0])
        line(lines, "bound by", "%s of kernel time", shares);
    if (lost[0] && !report->modelled)
        line(lines, "time lost", "%s above the roof's time", lost);
}

/* Appends "WHAT 12 %" to TEXT if the share is known. */
static void add_share(char *text, size_t size, const char *what, double share) {
    size_t used = strlen(text);
    char number[NUMBER];
    if (!isnan(share))
        snprintf(text + used, size - used, "%s%s %s", used ? ", " : "", what,
                 rp_format_percent(number, sizeof number, share));
}

static void utilisation_line(const rp_report *report, rp_lines *lines) {
    char shares[256] = "", over[NUMBER];
    add_share(shares, sizeof shares, "memory capacity", report->capacity);
    add_share(shares, sizeof shares, "DRAM bandwidth", report->bandwidth);
    add_share(shares, sizeof shares, "compute", report->compute);
    add_share(shares, sizeof shares, "model FLOPs", report->model_flops_utilisation);
    if (shares[0])
        line(lines, "used", "%s of what the device has, over %s", shares,
             rp_format_time(over, sizeof over, report->utilisation_time_s));
}

/* What --model and --model-flops say of the run, and against which peak. */
static void model_line(const rp_report *report, rp_lines *lines) {
    const rp_report_model *model = &report->model;
    char text[512] = "", number[NUMBER];
    size_t used;
    if (!model->name[0] && !model->peak[0] && !model->missing[0])
        return;
    if (model->name[0])
        snprintf(text, sizeof text, "%s, %.3g billion parameters%s", model->name,
                 model->params / 1e9, model->training ? ", training" : ", inference");
    if (!isnan(model->flops)) {
        used = strlen(text);
        snprintf(text + used, sizeof text - used, "%s%s useful", used ? ": " : "",
                 rp_format_si(number, sizeof number, model->flops, "FLOP"));
    }
    if (!isnan(report->model_flops_utilisation) && model->peak[0]) {
        used = strlen(text);
        snprintf(text + used, sizeof text - used, ", %s of the dense %s peak",
                 rp_format_percent(number, sizeof number, report->model_flops_utilisation),
                 model->peak);
    }
    if (!isnan(report->capacity_effective)) {
        used = strlen(text);
        snprintf(text + used, sizeof text - used, "; needs %s, %s of what was allocated (U_eff)",
                 rp_format_si(number, sizeof number, model->bytes, "B"),
                 rp_format_percent((char[NUMBER]){0}, NUMBER, report->capacity_effective));
    }
    used = strlen(text);
    snprintf(text + used, sizeof text - used, "%s%s", model->missing[0] ? "; " : "",
             model->missing);
    line(lines, "model", "%s", text);
}

static void copy_lines(const rp_report *report, rp_lines *lines) {
    for (size_t i = 0; i < report->copy_count; i++) {
        const rp_report_copy *copy = &report->copies[i];
        char bytes[NUMBER], time[NUMBER], rate[NUMBER], gpu[32] = "";
        if (report->device_count > 1)
            snprintf(gpu, sizeof gpu, "GPU %zu ", copy->device);
        line(lines, i ? "" : "copies", "%s%s: %llu, %s in %s (%s)", gpu, copy->kind,
             (unsigned long long)copy->count, rp_format_si(bytes, sizeof bytes, copy->bytes, "B"),
             rp_format_time(time, sizeof time, copy->time_s),
             rp_format_si(rate, sizeof rate, copy->bytes_per_s, "B/s"));
    }
}

/* How the numbers of the kernels are known: the provenances in use, not one a kernel. */
static void provenance_line(const rp_report *report, rp_lines *lines) {
    static const char *const what[] = {"times", "FLOPs", "bytes"};
    bool used[3][RP_PROVENANCES] = {0};
    char text[512] = "";
    for (size_t i = 0; i < report->kernel_count; i++) {
        const rp_report_kernel *kernel = &report->kernels[i];
        used[0][kernel->time_provenance] = true;
        used[1][kernel->flops_provenance] = true;
        used[2][kernel->bytes_provenance] = true;
    }
    for (int w = 0; w < 3; w++) {
        bool first = true;
        for (int p = 0; p < RP_PROVENANCES; p++) {
            size_t at = strlen(text);
            if (!used[w][p])
                continue;
            snprintf(text + at, sizeof text - at, "%s%s", first ? (w ? "; " : "") : ", ",
                     first ? what[w] : "");
            at = strlen(text);
            snprintf(text + at, sizeof text - at, "%s%s", first ? " " : "",
                     p == RP_ABSENT ? "not known" : rp_provenance_name((rp_provenance)p));
            first = false;
        }
    }
    if (text[0])
        line(lines, "known", "%s", text);
}

void rp_summary_lines(const rp_report *report, rp_lines *lines) {
    memset(lines, 0, sizeof *lines);
    line(lines, "capture", "%s%s%s%s", report->source, report->tool[0] ? " (" : "", report->tool,
         report->tool[0] ? ")" : "");
    device_lines(report, lines);
    time_lines(report, lines);
    bound_line(report, lines);
    utilisation_line(report, lines);
    model_line(report, lines);
    copy_lines(report, lines);
    provenance_line(report, lines);
}
