/* SPDX-License-Identifier: Apache-2.0
 *
 * A diff for people and programs; see diff.h.
 */
#include "output/diff.h"

#include "output/report.h"
#include "support/text.h"
#include "support/units.h"
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* ---- The table ------------------------------------------------------------------------------- */

static const rp_column columns[] = {
    {"short_name", "kernel", RP_LEFT, RP_FLEXIBLE, 0},
    {"status", "status", RP_LEFT, 0, 0},
    {"base_time_s", "base", RP_RIGHT, 0, 0},
    {"new_time_s", "new", RP_RIGHT, 0, 0},
    {"time_change", "time", RP_RIGHT, 0, 0},
    {"interval", "95 % interval", RP_RIGHT, 0, 2},
    {"mean_change", "per launch", RP_RIGHT, 0, 5},
    {"launches", "launches", RP_RIGHT, 0, 6},
    {"flops_change", "FLOPs", RP_RIGHT, 0, 3},
    {"bytes_change", "bytes", RP_RIGHT, 0, 4},
    {"bound", "bound", RP_LEFT, 0, 1},
    {"name", "name", RP_LEFT, RP_DATA_ONLY, 0},
    {"new_name", "new_name", RP_LEFT, RP_DATA_ONLY, 0},
    {"base_launches", "base_launches", RP_RIGHT, RP_DATA_ONLY, 0},
    {"new_launches", "new_launches", RP_RIGHT, RP_DATA_ONLY, 0},
    {"time_delta_s", "time_delta_s", RP_RIGHT, RP_DATA_ONLY, 0},
    {"time_change_low", "time_change_low", RP_RIGHT, RP_DATA_ONLY, 0},
    {"time_change_high", "time_change_high", RP_RIGHT, RP_DATA_ONLY, 0},
    {"base_bound", "base_bound", RP_LEFT, RP_DATA_ONLY, 0},
    {"new_bound", "new_bound", RP_LEFT, RP_DATA_ONLY, 0},
};

static const char *status(const rp_diff_kernel *kernel) {
    return !kernel->base ? "new" : !kernel->now ? "gone" : kernel->renamed ? "renamed" : "same";
}

static char *change_text(double change, char buffer[40]) {
    if (fabs(change) < 0.00005)
        snprintf(buffer, 40, "0 %%");
    else if (fabs(change) >= 10)
        snprintf(buffer, 40, "%+.0f %%", change * 100);
    else
        snprintf(buffer, 40, "%+.1f %%", change * 100);
    return buffer;
}

static void put_change(rp_table *table, double change) {
    char buffer[40];
    rp_table_number(table, change, change_text(change, buffer));
}

static void put_time(rp_table *table, const rp_report_kernel *kernel) {
    char buffer[40];
    double time = kernel ? kernel->time_s : NAN;
    rp_table_number(table, time, rp_format_time(buffer, sizeof buffer, time));
}

static void put_launches(rp_table *table, const rp_report_kernel *kernel) {
    char buffer[40];
    double launches = kernel ? (double)kernel->launches : NAN;
    snprintf(buffer, sizeof buffer, "%.0f", launches);
    rp_table_number(table, launches, buffer);
}

static void put_both_launches(rp_table *table, const rp_diff_kernel *kernel) {
    const rp_report_kernel *any = kernel->now ? kernel->now : kernel->base;
    char both[64];
    if (kernel->base && kernel->now && kernel->base->launches != kernel->now->launches)
        snprintf(both, sizeof both, "%llu -> %llu", (unsigned long long)kernel->base->launches,
                 (unsigned long long)kernel->now->launches);
    else
        snprintf(both, sizeof both, "%llu", (unsigned long long)any->launches);
    rp_table_text(table, both);
}

static void put_interval(rp_table *table, const rp_diff_kernel *kernel) {
    char low[40], high[40], both[96];
    snprintf(both, sizeof both, "%s to %s", change_text(kernel->time_low, low),
             change_text(kernel->time_high, high));
    rp_table_text(table, isnan(kernel->time_low) ? NULL : both);
}

static void put_bound(rp_table *table, const rp_diff_kernel *kernel) {
    char base[64], now[64], both[140];
    if (kernel->base && kernel->now && kernel->bound_changed)
        snprintf(both, sizeof both, "%s -> %s", rp_bound_text(kernel->base, base),
                 rp_bound_text(kernel->now, now));
    else
        snprintf(both, sizeof both, "%s",
                 rp_bound_text(kernel->now ? kernel->now : kernel->base, now));
    rp_table_text(table, both);
    rp_table_colour(table, kernel->bound_changed ? RP_YELLOW : RP_PLAIN);
}

/* Slower or faster beyond what noise explains. */
static rp_colour time_colour(const rp_diff_kernel *kernel) {
    if (isnan(kernel->time) || (kernel->time_low <= 0 && kernel->time_high >= 0))
        return RP_PLAIN;
    return kernel->time > 0.01 ? RP_RED : kernel->time < -0.01 ? RP_GREEN : RP_PLAIN;
}

static void fill(rp_table *table, const rp_diff_kernel *kernel) {
    const rp_report_kernel *any = kernel->now ? kernel->now : kernel->base;
    char buffer[40];
    rp_table_row(table);
    rp_table_text(table, any->short_name);
    rp_table_text(table, status(kernel));
    put_time(table, kernel->base);
    put_time(table, kernel->now);
    put_change(table, kernel->time);
    rp_table_colour(table, time_colour(kernel));
    put_interval(table, kernel);
    put_change(table, kernel->mean);
    put_both_launches(table, kernel);
    put_change(table, kernel->flops);
    put_change(table, kernel->bytes);
    put_bound(table, kernel);
    rp_table_text(table, kernel->base ? kernel->base->name : kernel->now->name);
    rp_table_text(table, kernel->renamed ? kernel->now->name : NULL);
    put_launches(table, kernel->base);
    put_launches(table, kernel->now);
    rp_table_number(table, kernel->time_delta_s,
                    rp_format_time(buffer, sizeof buffer, kernel->time_delta_s));
    put_change(table, kernel->time_low);
    put_change(table, kernel->time_high);
    rp_table_text(table, kernel->base ? rp_bound_name(kernel->base->bound) : NULL);
    rp_table_text(table, kernel->now ? rp_bound_name(kernel->now->bound) : NULL);
}

static rp_table *make_table(const rp_diff *diff, size_t shown) {
    rp_table *table = rp_table_create(columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < shown; i++)
        fill(table, &diff->kernels[i]);
    return table;
}

/* ---- Lines around it ------------------------------------------------------------------------- */

typedef struct lines {
    FILE *file;
    rp_format format;
} lines;

/* One line: a paragraph of its own in Markdown and HTML. TEXT is printable. */
static void put_line(const lines *l, const char *text) {
    switch (l->format) {
    case RP_FORMAT_MD:
        fputs("- ", l->file);
        rp_md_text(l->file, text);
        break;
    case RP_FORMAT_HTML:
        fputs("<p>", l->file);
        rp_html_text(l->file, text);
        fputs("</p>", l->file);
        break;
    default:
        fputs(text, l->file);
    }
    fputc('\n', l->file);
}

static void say(const lines *l, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(const lines *l, const char *format, ...) {
    char *raw = NULL, *text = NULL;
    va_list arguments;
    va_start(arguments, format);
    if (vasprintf(&raw, format, arguments) < 0)
        raw = NULL;
    va_end(arguments);
    if (raw)
        text = rp_text_printable(raw, strlen(raw));
    if (text)
        put_line(l, text);
    free(raw);
    free(text);
}

static void say_head(const lines *l, const rp_diff *diff) {
    char base[40], now[40], total[40], low[40], high[40], range[96] = "";
    if (!isnan(diff->total_low))
        snprintf(range, sizeof range, " (95 %%: %s to %s)", change_text(diff->total_low, low),
                 change_text(diff->total_high, high));
    say(l, "base: %s (%s)", diff->base->source, diff->base->tool);
    say(l, "new:  %s (%s)", diff->now->source, diff->now->tool);
    if (diff->devices_differ)
        say(l, "the devices differ: %s, and %s",
            diff->base->device_count ? diff->base->devices[0].name : "none",
            diff->now->device_count ? diff->now->devices[0].name : "none");
    say(l, "GPU time %s -> %s, %s%s; %zu kernel%s in both, %zu new, %zu gone",
        rp_format_time(base, sizeof base, diff->base->gpu_time_s),
        rp_format_time(now, sizeof now, diff->now->gpu_time_s),
        isnan(diff->total) ? "change not known" : change_text(diff->total, total), range,
        diff->matched, diff->matched == 1 ? "" : "s", diff->appeared, diff->vanished);
}

static void say_suggestions(const lines *l, const rp_diff *diff) {
    for (size_t i = 0; i < diff->suggestion_count; i++) {
        const rp_diff_suggestion *s = &diff->suggestions[i];
        say(l, "%s looks like %s under another name (%.0f %% alike; --follow-renames pairs them)",
            s->now->short_name, s->base->short_name, s->likeness * 100);
    }
}

/* ---- Gates ----------------------------------------------------------------------------------- */

static size_t failures(const rp_diff *diff, const rp_gate *gate, double min_share,
                       const rp_diff_kernel **worst) {
    size_t n = 0;
    *worst = NULL;
    for (size_t i = 0; i < diff->kernel_count; i++)
        if (rp_gate_fails(gate, &diff->kernels[i], min_share)) {
            *worst = *worst ? *worst : &diff->kernels[i];
            n++;
        }
    return n;
}

/* How one kernel fails a gate, in words. */
static void failure_text(const rp_gate *gate, const rp_diff_kernel *kernel, char *text,
                         size_t size) {
    static const char *const names[] = {"time", "mean", "FLOPs", "bytes", "launches"};
    const double values[] = {kernel->time, kernel->mean, kernel->flops, kernel->bytes,
                             kernel->launches};
    char change[40], base[64], now[64];
    if (gate->metric <= RP_GATE_LAUNCHES)
        snprintf(text, size, "%s %s", names[gate->metric],
                 change_text(values[gate->metric], change));
    else if (gate->metric == RP_GATE_BOUND)
        snprintf(text, size, "%s -> %s", rp_bound_text(kernel->base, base),
                 rp_bound_text(kernel->now, now));
    else
        snprintf(text, size, "%s", gate->metric == RP_GATE_NEW ? "is new" : "is gone");
}

static void say_gate(const lines *l, const rp_diff *diff, const rp_gate *gate, double min_share) {
    const rp_diff_kernel *worst;
    char text[160], change[40];
    size_t n = failures(diff, gate, min_share, &worst);
    if (!rp_gate_can_judge(gate, diff)) {
        say(l, "FAILED %s: cannot be judged, %s", gate->text,
            diff->matched ? "it is not known of any kernel" : "no kernel is in both runs");
        return;
    }
    if (rp_gate_fails_total(gate, diff)) {
        say(l, "FAILED %s: GPU time %s", gate->text, change_text(diff->total, change));
        return;
    }
    if (n == 0) {
        say(l, "passed %s", gate->text);
        return;
    }
    failure_text(gate, worst, text, sizeof text);
    say(l, "FAILED %s: %s, %s", gate->text, (worst->now ? worst->now : worst->base)->short_name,
        text);
    for (size_t i = 0, shown = 1; i < diff->kernel_count && shown < 10 && n > 1; i++) {
        const rp_diff_kernel *kernel = &diff->kernels[i];
        if (kernel == worst || !rp_gate_fails(gate, kernel, min_share))
            continue;
        failure_text(gate, kernel, text, sizeof text);
        say(l, "       %s, %s", (kernel->now ? kernel->now : kernel->base)->short_name, text);
        shown++;
    }
    if (n > 10)
        say(l, "       and %zu more %s", n - 10, rp_plural(n - 10, "kernel", "kernels"));
}

static bool gate_failed(const rp_diff *diff, const rp_gate *gate, double min_share) {
    const rp_diff_kernel *worst;
    return !rp_gate_can_judge(gate, diff) || rp_gate_fails_total(gate, diff) ||
           failures(diff, gate, min_share, &worst) > 0;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void json_side(rp_json *json, const char *key, const rp_report_kernel *kernel) {
    if (!kernel) {
        rp_json_null(json, key);
        return;
    }
    rp_json_object(json, key);
    rp_json_string(json, "name", kernel->name);
    rp_json_count(json, "launches", kernel->launches);
    rp_json_number(json, "time_s", kernel->time_s);
    rp_json_number(json, "time_mean_s", kernel->time_mean_s);
    rp_json_number(json, "time_deviation_s", kernel->time_deviation_s);
    rp_json_number(json, "flops_total", kernel->flops_total);
    rp_json_number(json, "bytes_dram", kernel->bytes[RP_DRAM]);
    rp_json_string(json, "bound", rp_bound_name(kernel->bound));
    rp_json_string(json, "bound_by", kernel->bound_by[0] ? kernel->bound_by : NULL);
    rp_json_number(json, "roof_fraction", kernel->roof_fraction);
    rp_json_close(json);
}

static void json_interval(rp_json *json, const char *key, double low, double high) {
    if (isnan(low) || isnan(high)) {
        rp_json_null(json, key);
        return;
    }
    rp_json_array(json, key);
    rp_json_number(json, NULL, low);
    rp_json_number(json, NULL, high);
    rp_json_close(json);
}

static void json_kernel(rp_json *json, const rp_diff_kernel *kernel) {
    rp_json_object(json, NULL);
    rp_json_string(json, "name", kernel->now ? kernel->now->name : kernel->base->name);
    rp_json_string(json, "status", status(kernel));
    json_side(json, "base", kernel->base);
    json_side(json, "new", kernel->now);
    rp_json_number(json, "time_delta_s", kernel->time_delta_s);
    rp_json_number(json, "time_change", kernel->time);
    json_interval(json, "time_change_interval", kernel->time_low, kernel->time_high);
    rp_json_number(json, "mean_change", kernel->mean);
    rp_json_number(json, "flops_change", kernel->flops);
    rp_json_number(json, "bytes_change", kernel->bytes);
    rp_json_number(json, "launches_change", kernel->launches);
    rp_json_bool(json, "bound_changed", kernel->bound_changed);
    rp_json_close(json);
}

static void json_gates(rp_json *json, const rp_diff *diff, const rp_diff_print_options *options) {
    rp_json_array(json, "gates");
    for (size_t g = 0; g < options->gate_count; g++) {
        const rp_gate *gate = &options->gates[g];
        rp_json_object(json, NULL);
        rp_json_string(json, "gate", gate->text);
        rp_json_bool(json, "failed", gate_failed(diff, gate, options->min_share));
        rp_json_bool(json, "judged", rp_gate_can_judge(gate, diff));
        rp_json_array(json, "kernels");
        for (size_t i = 0; i < diff->kernel_count; i++)
            if (rp_gate_fails(gate, &diff->kernels[i], options->min_share))
                rp_json_string(
                    json, NULL,
                    (diff->kernels[i].now ? diff->kernels[i].now : diff->kernels[i].base)->name);
        rp_json_close(json);
        rp_json_close(json);
    }
    rp_json_close(json);
}

static void print_json(FILE *file, const rp_diff *diff, const rp_diff_print_options *options,
                       size_t shown) {
    rp_json json;
    rp_json_start(&json, file);
    rp_json_object(&json, NULL);
    rp_json_string(&json, "schema", "roofprof.diff/1");
    rp_json_string(&json, "base", diff->base->source);
    rp_json_string(&json, "new", diff->now->source);
    rp_json_bool(&json, "devices_differ", diff->devices_differ);
    rp_json_number(&json, "base_gpu_time_s", diff->base->gpu_time_s);
    rp_json_number(&json, "new_gpu_time_s", diff->now->gpu_time_s);
    rp_json_number(&json, "gpu_time_change", diff->total);
    json_interval(&json, "gpu_time_change_interval", diff->total_low, diff->total_high);
    rp_json_count(&json, "matched", diff->matched);
    rp_json_count(&json, "appeared", diff->appeared);
    rp_json_count(&json, "vanished", diff->vanished);
    rp_json_array(&json, "kernels");
    for (size_t i = 0; i < shown; i++)
        json_kernel(&json, &diff->kernels[i]);
    rp_json_close(&json);
    rp_json_array(&json, "suggested_renames");
    for (size_t i = 0; i < diff->suggestion_count; i++) {
        rp_json_object(&json, NULL);
        rp_json_string(&json, "base", diff->suggestions[i].base->name);
        rp_json_string(&json, "new", diff->suggestions[i].now->name);
        rp_json_number(&json, "likeness", diff->suggestions[i].likeness);
        rp_json_close(&json);
    }
    rp_json_close(&json);
    json_gates(&json, diff, options);
    rp_json_close(&json);
}

/* ---- The whole ------------------------------------------------------------------------------- */

static void print_people(FILE *file, const rp_diff *diff, const rp_diff_print_options *options,
                         size_t shown) {
    lines l = {file, options->format};
    rp_table *table = make_table(diff, shown);
    if (options->format == RP_FORMAT_HTML)
        rp_html_start(file, diff->now->source, "Difference of two runs");
    else if (options->format == RP_FORMAT_MD)
        fputs("# Difference of two runs\n\n", file);
    say_head(&l, diff);
    fputc('\n', file);
    rp_table_print(table, file, options->format, options->style);
    rp_table_free(table);
    fputc('\n', file);
    if (shown < diff->kernel_count)
        say(&l, "… and %zu more %s (--top 0 shows all)", diff->kernel_count - shown,
            rp_plural(diff->kernel_count - shown, "kernel", "kernels"));
    say_suggestions(&l, diff);
    for (size_t g = 0; g < options->gate_count; g++)
        say_gate(&l, diff, &options->gates[g], options->min_share);
    if (options->format == RP_FORMAT_HTML)
        rp_html_end(file);
}

size_t rp_print_diff(FILE *file, const rp_diff *diff, const rp_diff_print_options *options) {
    size_t shown =
        options->top && options->top < diff->kernel_count ? options->top : diff->kernel_count;
    size_t failed = 0;
    for (size_t g = 0; g < options->gate_count; g++)
        failed += gate_failed(diff, &options->gates[g], options->min_share);
    if (options->format == RP_FORMAT_JSON) {
        print_json(file, diff, options, shown);
    } else if (options->format == RP_FORMAT_CSV) {
        rp_table *table = make_table(diff, shown);
        rp_table_print(table, file, RP_FORMAT_CSV, options->style);
        rp_table_free(table);
    } else {
        print_people(file, diff, options, shown);
    }
    return failed;
}
