/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernels of a report as one table for all formats, and the evidence of one kernel as another.
 * People see the columns with a width; CSV holds every number.
 */
#include "output/report.h"

#include "support/units.h"
#include <math.h>
#include <string.h>

char *rp_bound_text(const rp_report_kernel *kernel, char buffer[64]) {
    snprintf(buffer, 64, "%s%s%.31s%s", rp_bound_name(kernel->bound),
             kernel->bound_by[0] ? ": " : "", kernel->bound_by,
             kernel->modelled ? " (modelled)" : "");
    return buffer;
}

rp_colour rp_bound_colour(rp_bound bound) {
    static const rp_colour colours[RP_BOUNDS] = {RP_DIM, RP_BLUE, RP_GREEN, RP_CYAN, RP_YELLOW};
    return colours[bound];
}

const char *rp_cache_name(rp_cache_state cache) {
    static const char *const names[] = {NULL, "natural", "cold", "warm"};
    return names[cache];
}

/* ---- Cells ----------------------------------------------------------------------------------- */

static void put_si(rp_table *table, double value, const char *unit) {
    char buffer[40];
    rp_table_number(table, value, rp_format_si(buffer, sizeof buffer, value, unit));
}

static void put_time(rp_table *table, double value) {
    char buffer[40];
    rp_table_number(table, value, rp_format_time(buffer, sizeof buffer, value));
}

static void put_number(rp_table *table, double value) {
    char buffer[40];
    rp_table_number(table, value, rp_format_number(buffer, sizeof buffer, value));
}

/* A value that is at least VALUE, if LOWER_BOUND. */
static void put_least(rp_table *table, double value, const char *unit, bool lower_bound) {
    char buffer[40], marked[48];
    if (unit)
        rp_format_si(buffer, sizeof buffer, value, unit);
    else
        rp_format_number(buffer, sizeof buffer, value);
    snprintf(marked, sizeof marked, "%s%s", lower_bound ? "\u2265" : "", buffer);
    rp_table_number(table, value, marked);
}

static void put_percent(rp_table *table, double value, const char *mark) {
    char buffer[40], marked[48];
    snprintf(marked, sizeof marked, "%s%s", rp_format_percent(buffer, sizeof buffer, value), mark);
    rp_table_number(table, value, marked);
}

static void put_shape(rp_table *table, const rp_report_kernel *kernel, const uint32_t shape[3]) {
    char buffer[48];
    snprintf(buffer, sizeof buffer, "%ux%ux%u", shape[0], shape[1], shape[2]);
    rp_table_text(table, kernel->has_shape ? buffer : NULL);
}

/* ---- Columns --------------------------------------------------------------------------------- */

static void column(rp_report_columns *columns, const char *key, const char *title, rp_align align,
                   unsigned flags, int drop) {
    if (columns->count < sizeof columns->columns / sizeof *columns->columns)
        columns->columns[columns->count++] = (rp_column){key, title, align, flags, drop};
}

static void data(rp_report_columns *columns, const char *key) {
    column(columns, key, key, RP_RIGHT, RP_DATA_ONLY, 0);
}

/* FLOP columns of CSV: fixed, so that files of two runs have the same shape. */
static const struct {
    const char *key;
    rp_hw_precision precision;
    rp_hw_path path;
} flop_columns[] = {
    {"flops_fp64_vector", RP_FP64, RP_VECTOR}, {"flops_fp32_vector", RP_FP32, RP_VECTOR},
    {"flops_fp16_vector", RP_FP16, RP_VECTOR}, {"flops_bf16_vector", RP_BF16, RP_VECTOR},
    {"ops_int32_vector", RP_INT32, RP_VECTOR}, {"flops_fp64_tensor", RP_FP64, RP_TENSOR},
    {"flops_tf32_tensor", RP_TF32, RP_TENSOR}, {"flops_bf16_tensor", RP_BF16, RP_TENSOR},
    {"flops_fp16_tensor", RP_FP16, RP_TENSOR}, {"flops_fp8_tensor", RP_FP8, RP_TENSOR},
    {"flops_fp6_tensor", RP_FP6, RP_TENSOR},   {"flops_fp4_tensor", RP_FP4, RP_TENSOR},
    {"ops_int8_tensor", RP_INT8, RP_TENSOR},   {"ops_int4_tensor", RP_INT4, RP_TENSOR},
    {"ops_int1_tensor", RP_INT1, RP_TENSOR},
};
#define FLOP_COLUMNS (sizeof flop_columns / sizeof *flop_columns)

/* Columns for people first, data columns after them. */
static void make_columns(rp_report_columns *c, bool ranges, bool devices, bool shapes) {
    static const char *const rest[] = {"name",
                                       "device_name",
                                       "time_mean_s",
                                       "time_min_s",
                                       "time_max_s",
                                       "time_deviation_s",
                                       "time_provenance",
                                       "launches_counted",
                                       "flops_total",
                                       "flops_lower_bound",
                                       "flops_provenance",
                                       "bytes_dram",
                                       "bytes_l2",
                                       "bytes_l1",
                                       "bytes_shared",
                                       "bytes_provenance",
                                       "intensity_l2_flop_per_byte",
                                       "intensity_l1_flop_per_byte",
                                       "side",
                                       "bound_by",
                                       "reason",
                                       "nominal_fraction",
                                       "calibrated_fraction",
                                       "above_roof",
                                       "above_reason",
                                       "cache",
                                       "clock_hz",
                                       "modelled"};
    c->count = 0;
    column(c, "number", "#", RP_RIGHT, 0, 0);
    column(c, "short_name", "kernel", RP_LEFT, RP_FLEXIBLE, 0);
    column(c, "range", "range", RP_LEFT, ranges ? RP_FLEXIBLE : RP_DATA_ONLY, ranges ? 2 : 0);
    column(c, "device", "GPU", RP_RIGHT, devices ? 0 : RP_DATA_ONLY, devices ? 4 : 0);
    column(c, "grid", "grid", RP_RIGHT, shapes ? 0 : RP_DATA_ONLY, shapes ? 3 : 0);
    column(c, "block", "block", RP_RIGHT, shapes ? 0 : RP_DATA_ONLY, shapes ? 3 : 0);
    column(c, "time_s", "time", RP_RIGHT, 0, 0);
    column(c, "time_share", "share", RP_RIGHT, 0, 0);
    column(c, "launches", "launches", RP_RIGHT, 0, 5);
    column(c, "time_mean_s", "mean", RP_RIGHT, 0, 9);
    column(c, "bound", "bound", RP_LEFT, 0, 0);
    column(c, "roof_fraction", "of roof", RP_RIGHT, 0, 0);
    column(c, "time_lost_s", "lost", RP_RIGHT, 0, 0);
    column(c, "intensity_dram_flop_per_byte", "FLOP/B", RP_RIGHT, 0, 6);
    column(c, "flops_per_s", "rate", RP_RIGHT, 0, 7);
    column(c, "dram_bytes_per_s", "DRAM", RP_RIGHT, 0, 8);
    for (size_t i = 0; i < sizeof rest / sizeof *rest; i++)
        data(c, rest[i]);
    for (size_t i = 0; i < FLOP_COLUMNS; i++)
        data(c, flop_columns[i].key);
    data(c, "flops_fp16_acc16_tensor");
}

/* Must follow make_columns. */
static void fill_shown(rp_table *table, const rp_report_kernel *kernel) {
    char bound[64];
    rp_table_count(table, (uint64_t)kernel->number);
    rp_table_text_as(table, kernel->short_name, kernel->short_name);
    rp_table_text(table, kernel->range);
    rp_table_count(table, kernel->device);
    put_shape(table, kernel, kernel->grid);
    put_shape(table, kernel, kernel->block);
    put_time(table, kernel->time_s);
    put_percent(table, kernel->time_share, "");
    rp_table_count(table, kernel->launches);
    put_time(table, kernel->time_mean_s);
    rp_table_text_as(table, rp_bound_name(kernel->bound), rp_bound_text(kernel, bound));
    rp_table_colour(table, rp_bound_colour(kernel->bound));
    put_percent(table, kernel->roof_fraction, kernel->above_roof ? " ^" : "");
    if (kernel->above_roof)
        rp_table_colour(table, RP_RED);
    put_time(table, kernel->time_lost_s);
    put_least(table, kernel->intensity[RP_DRAM], NULL, kernel->flops_lower_bound);
    put_least(table, kernel->flops_per_s, "FLOP/s", kernel->flops_lower_bound);
    put_si(table, kernel->bytes[RP_DRAM] / kernel->time_s, "B/s");
}

static void fill_data(rp_table *table, const rp_report *report, const rp_report_kernel *kernel) {
    rp_table_text(table, kernel->name);
    rp_table_text(table, report->devices[kernel->device].name);
    put_time(table, kernel->time_min_s);
    put_time(table, kernel->time_max_s);
    put_time(table, kernel->time_deviation_s);
    rp_table_text(table, rp_provenance_name(kernel->time_provenance));
    rp_table_count(table, kernel->launches_counted);
    put_number(table, kernel->flops_total);
    rp_table_text(table, kernel->flops_lower_bound ? "true" : "false");
    rp_table_text(table, rp_provenance_name(kernel->flops_provenance));
    for (int l = RP_DRAM; l <= RP_SHARED; l++)
        put_number(table, kernel->bytes[l]);
    rp_table_text(table, rp_provenance_name(kernel->bytes_provenance));
    put_number(table, kernel->intensity[RP_L2]);
    put_number(table, kernel->intensity[RP_L1]);
    rp_table_text(table, rp_side_name(kernel->side));
    rp_table_text(table, kernel->bound_by);
    rp_table_text(table, kernel->reason);
    put_percent(table, kernel->nominal_fraction, "");
    put_percent(table, kernel->calibrated_fraction, "");
    rp_table_text(table, kernel->above_roof ? "true" : "false");
    rp_table_text(table, kernel->above_reason);
    rp_table_text(table, rp_cache_name(kernel->cache));
    put_number(table, kernel->clock_hz);
    rp_table_text(table, kernel->modelled ? "true" : "false");
    for (size_t i = 0; i < FLOP_COLUMNS; i++)
        put_number(table, kernel->flops[flop_columns[i].precision][flop_columns[i].path]);
    put_number(table, kernel->flops_fp16_acc16_tensor);
}

/* A column of nothing but dashes tells people nothing; data formats keep it. */
static void hide_unknown(const rp_report *report, size_t shown, rp_report_columns *columns) {
    bool roof = false, intensity = false, rate = false, dram = false;
    for (size_t i = 0; i < shown; i++) {
        const rp_report_kernel *kernel = &report->kernels[i];
        roof = roof || !isnan(kernel->roof_fraction);
        intensity = intensity || !isnan(kernel->intensity[RP_DRAM]);
        rate = rate || !isnan(kernel->flops_per_s);
        dram = dram || !isnan(kernel->bytes[RP_DRAM]);
    }
    for (size_t c = 0; c < columns->count; c++) {
        rp_column *column = &columns->columns[c];
        if ((!roof && (strcmp(column->key, "roof_fraction") == 0 ||
                       strcmp(column->key, "time_lost_s") == 0)) ||
            (!intensity && strcmp(column->key, "intensity_dram_flop_per_byte") == 0) ||
            (!rate && strcmp(column->key, "flops_per_s") == 0) ||
            (!dram && strcmp(column->key, "dram_bytes_per_s") == 0))
            column->flags |= RP_DATA_ONLY;
    }
}

/* Are there two rows of one name that only their shape tells apart? */
static bool shapes_differ(const rp_report *report, size_t shown) {
    for (size_t i = 0; i < shown; i++)
        for (size_t j = i + 1; j < shown && j < i + 64; j++)
            if (strcmp(report->kernels[i].name, report->kernels[j].name) == 0 &&
                report->kernels[i].device == report->kernels[j].device)
                return true;
    return false;
}

rp_table *rp_report_table(const rp_report *report, size_t top, rp_report_columns *columns) {
    size_t shown = top && top < report->kernel_count ? top : report->kernel_count;
    bool ranges = false;
    for (size_t i = 0; i < shown; i++)
        ranges = ranges || report->kernels[i].range;
    make_columns(columns, ranges, report->device_count > 1,
                 !ranges && shapes_differ(report, shown));
    hide_unknown(report, shown, columns);
    rp_table *table = rp_table_create(columns->columns, columns->count);
    for (size_t i = 0; i < shown; i++) {
        rp_table_row(table);
        fill_shown(table, &report->kernels[i]);
        fill_data(table, report, &report->kernels[i]);
    }
    return table;
}

/* ---- Evidence -------------------------------------------------------------------------------- */

/* As people write it: "B" of "byte". */
static const char *short_unit(const char *unit) {
    static const char *const pairs[][2] = {{"byte", "B"}, {"flop", "FLOP"}, {"op", "OP"}};
    for (size_t i = 0; unit && i < 3; i++)
        if (strcmp(unit, pairs[i][0]) == 0)
            return pairs[i][1];
    return unit ? unit : "";
}

static const char *evidence_kind(const rp_evidence *e) {
    if (e->upper_bound)
        return "upper bound";
    return e->compute ? "compute" : "memory";
}

rp_table *rp_evidence_table(const rp_report_kernel *kernel) {
    static const rp_column columns[] = {
        {"number", "#", RP_RIGHT, RP_DATA_ONLY, 0},
        {"name", "kernel", RP_LEFT, RP_DATA_ONLY, 0},
        {"ceiling", "ceiling", RP_LEFT, 0, 0},
        {"kind", "counts as", RP_LEFT, 0, 0},
        {"time_s", "time", RP_RIGHT, 0, 0},
        {"fraction", "of measured", RP_RIGHT, 0, 0},
        {"work", "work", RP_RIGHT, 0, 0},
        {"work_unit", "unit", RP_LEFT, RP_DATA_ONLY, 0},
        {"work_provenance", "known", RP_LEFT, 0, 3},
        {"peak_per_s", "peak", RP_RIGHT, 0, 0},
        {"drawn_peak_per_s", "drawn at", RP_RIGHT, 0, 5},
        {"peak_provenance", "peak known", RP_LEFT, 0, 4},
        {"source", "source", RP_LEFT, RP_FLEXIBLE, 0},
    };
    rp_table *table = rp_table_create(columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < kernel->evidence_count; i++) {
        const rp_evidence *e = &kernel->evidence[i];
        char unit[40];
        const char *shown = short_unit(e->work_unit);
        snprintf(unit, sizeof unit, "%.30s/s", shown);
        rp_table_row(table);
        rp_table_count(table, (uint64_t)kernel->number);
        rp_table_text(table, kernel->name);
        rp_table_text(table, e->key);
        rp_table_text(table, evidence_kind(e));
        put_time(table, e->time_s);
        put_percent(table, kernel->modelled ? NAN : e->time_s / kernel->time_s, "");
        put_si(table, e->work, shown);
        rp_table_text(table, e->work_unit);
        rp_table_text(table, e->imported || !isnan(e->work) ? rp_provenance_name(e->work_provenance)
                                                            : "not counted");
        put_si(table, e->peak, unit);
        put_si(table, e->drawn_peak, unit);
        rp_table_text(table, isnan(e->peak) ? NULL : rp_provenance_name(e->peak_provenance));
        rp_table_text(table, e->source);
    }
    return table;
}
