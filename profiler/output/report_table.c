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

bool rp_above_is_known(const rp_report_kernel *kernel) {
    return kernel->above_roof || (!kernel->modelled && !isnan(kernel->roof_fraction));
}

static void put_shape(rp_table *table, const rp_report_kernel *kernel, const uint32_t shape[3]) {
    char buffer[48];
    snprintf(buffer, sizeof buffer, "%ux%ux%u", shape[0], shape[1], shape[2]);
    rp_table_text(table, kernel->has_shape ? buffer : NULL);
}

/* ---- Columns ---------------------------------------------------------------------------------
 * Keys and values stand side by side below, so that they cannot drift apart: without a table the
 * pass collects the columns, with one it fills a row. */

typedef struct pass {
    rp_report_columns *columns; /* to add to; NULL: fill TABLE */
    rp_table *table;
    bool ranges, devices, shapes; /* which optional columns people see */
} pass;

/* True if the cell is to be filled now. */
static bool shown_column(const pass *p, const char *key, const char *title, rp_align align,
                         unsigned flags, int drop) {
    rp_report_columns *columns = p->columns;
    if (!columns)
        return true;
    if (columns->count < sizeof columns->columns / sizeof *columns->columns)
        columns->columns[columns->count++] = (rp_column){key, title, align, flags, drop};
    return false;
}

static bool optional_column(const pass *p, bool shown, const char *key, const char *title,
                            rp_align align, unsigned flags, int drop) {
    return shown_column(p, key, title, align, shown ? flags : RP_DATA_ONLY, shown ? drop : 0);
}

static bool data_column(const pass *p, const char *key) {
    return shown_column(p, key, key, RP_RIGHT, RP_DATA_ONLY, 0);
}

static void text_data(const pass *p, const char *key, const char *value) {
    if (data_column(p, key))
        rp_table_text(p->table, value);
}

static void number_data(const pass *p, const char *key, double value) {
    if (data_column(p, key))
        put_number(p->table, value);
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

static void who(const pass *p, const rp_report_kernel *k) {
    if (shown_column(p, "number", "#", RP_RIGHT, 0, 0))
        rp_table_count(p->table, (uint64_t)k->number);
    /* people see the short name, on a page with the full one in its title; programs get the full */
    if (shown_column(p, "name", "kernel", RP_LEFT, RP_FLEXIBLE, 0))
        rp_table_text_as(p->table, k->name, k->short_name);
    if (optional_column(p, p->ranges, "range", "range", RP_LEFT, RP_FLEXIBLE, 2))
        rp_table_text(p->table, k->range);
    if (optional_column(p, p->devices, "device", "GPU", RP_RIGHT, 0, 4))
        rp_table_count(p->table, k->device);
    if (optional_column(p, p->shapes, "grid", "grid", RP_RIGHT, 0, 3))
        put_shape(p->table, k, k->grid);
    if (optional_column(p, p->shapes, "block", "block", RP_RIGHT, 0, 3))
        put_shape(p->table, k, k->block);
}

static void verdict(const pass *p, const rp_report_kernel *k) {
    char bound[64];
    if (shown_column(p, "time_s", "time", RP_RIGHT, 0, 0))
        put_time(p->table, k->time_s);
    if (shown_column(p, "time_share", "share", RP_RIGHT, 0, 0))
        put_percent(p->table, k->time_share, "");
    if (shown_column(p, "launches", "launches", RP_RIGHT, 0, 5))
        rp_table_count(p->table, k->launches);
    if (shown_column(p, "time_mean_s", "mean", RP_RIGHT, 0, 9))
        put_time(p->table, k->time_mean_s);
    if (shown_column(p, "bound", "bound", RP_LEFT, 0, 0)) {
        rp_table_text_as(p->table, rp_bound_name(k->bound), rp_bound_text(k, bound));
        rp_table_colour(p->table, rp_bound_colour(k->bound));
    }
    if (shown_column(p, "roof_fraction", "of roof", RP_RIGHT, 0, 0)) {
        put_percent(p->table, k->roof_fraction, k->above_roof ? " ^" : "");
        rp_table_colour(p->table, k->above_roof ? RP_RED : RP_PLAIN);
    }
    if (shown_column(p, "time_lost_s", "lost", RP_RIGHT, 0, 0))
        put_time(p->table, k->time_lost_s);
    if (shown_column(p, "intensity_dram_flop_per_byte", "FLOP/B", RP_RIGHT, 0, 6))
        put_least(p->table, k->intensity[RP_DRAM], NULL, k->flops_lower_bound);
    if (shown_column(p, "flops_per_s", "rate", RP_RIGHT, 0, 7))
        put_least(p->table, k->flops_per_s, "FLOP/s", k->flops_lower_bound);
    if (shown_column(p, "dram_bytes_per_s", "DRAM", RP_RIGHT, 0, 8))
        put_si(p->table, k->bytes[RP_DRAM] / k->time_s, "B/s");
}

static void counts_data(const pass *p, const rp_report_kernel *k) {
    if (data_column(p, "launches_counted"))
        rp_table_count(p->table, k->launches_counted);
    number_data(p, "flops_total", k->flops_total);
    text_data(p, "flops_lower_bound", k->flops_lower_bound ? "true" : "false");
    text_data(p, "flops_provenance", rp_provenance_name(k->flops_provenance));
    number_data(p, "bytes_dram", k->bytes[RP_DRAM]);
    number_data(p, "bytes_l2", k->bytes[RP_L2]);
    number_data(p, "bytes_l1", k->bytes[RP_L1]);
    number_data(p, "bytes_shared", k->bytes[RP_SHARED]);
    text_data(p, "bytes_provenance", rp_provenance_name(k->bytes_provenance));
    number_data(p, "intensity_l2_flop_per_byte", k->intensity[RP_L2]);
    number_data(p, "intensity_l1_flop_per_byte", k->intensity[RP_L1]);
    for (size_t i = 0; i < FLOP_COLUMNS; i++)
        number_data(p, flop_columns[i].key,
                    k->flops[flop_columns[i].precision][flop_columns[i].path]);
    number_data(p, "flops_fp16_acc16_tensor", k->flops_fp16_acc16_tensor);
}

static void further_data(const pass *p, const rp_report *report, const rp_report_kernel *k) {
    text_data(p, "short_name", k->short_name);
    text_data(p, "device_name", report->devices[k->device].name);
    number_data(p, "time_min_s", k->time_min_s);
    number_data(p, "time_max_s", k->time_max_s);
    number_data(p, "time_deviation_s", k->time_deviation_s);
    text_data(p, "time_provenance", rp_provenance_name(k->time_provenance));
    text_data(p, "side", rp_side_name(k->side));
    text_data(p, "bound_by", k->bound_by);
    text_data(p, "reason", k->reason);
    number_data(p, "attainable_flops_per_s", k->attainable_flops_per_s);
    number_data(p, "ridge_flop_per_byte", k->ridge);
    number_data(p, "nominal_fraction", k->nominal_fraction);
    number_data(p, "calibrated_fraction", k->calibrated_fraction);
    text_data(p, "above_roof", !rp_above_is_known(k) ? NULL : k->above_roof ? "true" : "false");
    text_data(p, "above_reason", k->above_reason);
    text_data(p, "cache", rp_cache_name(k->cache));
    number_data(p, "clock_hz", k->clock_hz);
    text_data(p, "modelled", k->modelled ? "true" : "false");
    counts_data(p, k);
}

static void walk(const pass *p, const rp_report *report, const rp_report_kernel *kernel) {
    who(p, kernel);
    verdict(p, kernel);
    further_data(p, report, kernel);
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
    /* stands for any kernel while the columns are collected: no value of it is read into a cell */
    static const rp_report_kernel none = {.name = ""};
    rp_report_device nowhere = {.name = NULL};
    const rp_report empty = {.devices = &nowhere, .device_count = 1};
    size_t shown = top && top < report->kernel_count ? top : report->kernel_count;
    pass p = {.columns = columns, .devices = report->device_count > 1};
    for (size_t i = 0; i < shown; i++)
        p.ranges = p.ranges || report->kernels[i].range;
    p.shapes = !p.ranges && shapes_differ(report, shown);
    columns->count = 0;
    walk(&p, &empty, &none);
    hide_unknown(report, shown, columns);
    p.columns = NULL;
    p.table = rp_table_create(columns->columns, columns->count);
    for (size_t i = 0; i < shown; i++) {
        rp_table_row(p.table);
        walk(&p, report, &report->kernels[i]);
    }
    return p.table;
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

static void fill_evidence(rp_table *table, const rp_report_kernel *kernel, const rp_evidence *e) {
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

rp_table *rp_evidence_table(const rp_report_kernel *kernels, size_t n) {
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
    for (size_t k = 0; k < n; k++)
        for (size_t i = 0; i < kernels[k].evidence_count; i++)
            fill_evidence(table, &kernels[k], &kernels[k].evidence[i]);
    return table;
}
