/* SPDX-License-Identifier: Apache-2.0
 *
 * `roofprof compare`: ceilings and ridge points of devices side by side, a picture of their
 * rooflines, and what a capture's kernels would take on them.
 */
#include "analysis/compare.h"
#include "commands/commands.h"
#include "commands/input.h"
#include "commands/options.h"
#include "output/document.h"
#include "plots/plots.h"
#include "support/file.h"
#include "support/units.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_DEVICES = 64, SHOWN_KERNELS = 20 };

enum { FORMAT, CEILINGS, SPARSE, CAPTURE, FROM, PLOT, HWDB, OUTPUT };
static const rp_option table[] = {
    {"format", 'f', "FORMAT", "text (default), json, csv, md or html"},
    {"ceilings", 0, "WHICH",
     "printed (default: as the vendor prints them), theoretical (operations per\n"
     "clock x SMs x clock) or calibrated (measured here by calibrate, where there are any)"},
    {"sparse", 0, NULL, "also the peaks with 2:4 sparsity, marked as such"},
    {"capture", 0, "FILE",
     "also what the kernels of this capture (or of another profiler's file) would take"},
    {"from", 0, "DEVICE", "the device that the capture was made on, where it does not say"},
    {"plot", 0, "FILE", "draw the rooflines in one picture (.png, .svg, .pdf)"},
    {"hwdb", 0, "FILE", "records of your own, over the shipped ones (a CSV file or a folder)"},
    {"output", 'o', "FILE", "write there instead of to standard output"}};

typedef struct request {
    const char *names[MOST_DEVICES];
    size_t count;
    const char *hwdb, *output, *plot, *capture, *from;
    rp_format format;
    rp_compare_source source;
    bool sparse;
} request;

/* ---- JSON ------------------------------------------------------------------------------------ */

static void json_ceiling(rp_json *json, const rp_ceiling *c) {
    rp_json_object(json, NULL);
    rp_json_string(json, "kind", c->compute ? "compute" : "bandwidth");
    if (c->compute) {
        rp_json_string(json, "precision", rp_precision_name(c->precision));
        rp_json_string(json, "path", rp_path_name(c->path));
        if (*c->accumulate)
            rp_json_string(json, "accumulate", c->accumulate);
        rp_json_bool(json, "sparse", c->sparse);
        rp_json_number(json, rp_precision_is_integer(c->precision) ? "ops_per_s" : "flops_per_s",
                       c->rate);
    } else {
        rp_json_string(json, "level", rp_level_name(c->level));
        rp_json_number(json, "bytes_per_s", c->rate);
    }
    rp_json_string(json, "provenance", rp_provenance_name(c->provenance));
    rp_json_number(json, "clock_hz", c->clock_hz);
    rp_json_string(json, "source", c->source);
    rp_json_close(json);
}

static void json_device(rp_json *json, const rp_comparison *c, size_t d) {
    rp_json_object(json, NULL);
    rp_json_string(json, "name", c->devices[d]->name);
    rp_json_array(json, "ceilings");
    for (size_t r = 0; r < c->row_count; r++)
        if (c->rows[r].of[d])
            json_ceiling(json, c->rows[r].of[d]);
    rp_json_close(json);
    rp_json_object(json, "ridge_flop_per_byte");
    for (size_t r = 0; r < c->row_count; r++) {
        const rp_compare_row *row = &c->rows[r];
        if (!row->kind.compute || !row->of[d])
            continue;
        rp_json_object(json, row->key);
        for (int level = 0; level <= RP_SHARED; level++)
            rp_json_number(json, rp_level_name((rp_hw_level)level), row->ridge[d][level]);
        rp_json_close(json);
    }
    rp_json_close(json);
    rp_json_object(json, "ratio_to_first");
    for (size_t r = 0; r < c->row_count; r++)
        if (c->rows[r].of[d])
            rp_json_number(json, c->rows[r].key, rp_compare_ratio(&c->rows[r], d, -1));
    rp_json_close(json);
    rp_json_close(json);
}

static void json_kernel(rp_json *json, const rp_hwdb *db, const rp_comparison *c,
                        const rp_report *report, const rp_report_kernel *k) {
    rp_json_object(json, NULL);
    rp_json_string(json, "name", k->name);
    rp_json_count(json, "launches", k->launches);
    rp_json_number(json, "time_s", k->time_s);
    rp_json_string(json, "side", rp_side_name(k->side));
    rp_json_object(json, "projected_time_s");
    for (size_t d = 0; d < c->device_count; d++) {
        rp_projection p;
        rp_project(report, k, db, c->devices[d], &p);
        rp_json_object(json, c->devices[d]->name);
        rp_json_number(json, "low", p.low_s);
        rp_json_number(json, "likely", p.likely_s);
        rp_json_string(json, "side", rp_side_name(p.side));
        rp_json_bool(json, "changes_side", p.changes_side);
        rp_json_bool(json, "scaled_by_clock", p.scaled_by_clock);
        rp_json_close(json);
    }
    rp_json_close(json);
    rp_json_close(json);
}

static void print_json(const rp_comparison *c, const rp_hwdb *db, const rp_report *report,
                       FILE *file) {
    rp_json writer, *json = &writer;
    rp_json_start(json, file);
    rp_json_object(json, NULL);
    rp_json_string(json, "schema", "roofprof.compare/1");
    rp_json_array(json, "devices");
    for (size_t d = 0; d < c->device_count; d++)
        json_device(json, c, d);
    rp_json_close(json);
    rp_json_array(json, "kernels");
    for (size_t k = 0; report && k < report->kernel_count; k++)
        json_kernel(json, db, c, report, &report->kernels[k]);
    rp_json_close(json);
    rp_json_close(json);
}

/* ---- Tables ---------------------------------------------------------------------------------- */

/* "device" columns with, beside each but the first, its ratio to the first. */
typedef struct side_by_side {
    rp_column columns[1 + 2 * MOST_DEVICES];
    char ratio_titles[MOST_DEVICES][16];
    size_t n;
} side_by_side;

static void make_columns(const rp_comparison *c, const char *first, side_by_side *s) {
    s->n = 0;
    s->columns[s->n++] = (rp_column){first, first, RP_LEFT, 0, 0};
    for (size_t d = 0; d < c->device_count; d++) {
        const char *name = c->devices[d]->name;
        s->columns[s->n++] = (rp_column){name, name, RP_RIGHT, 0, d < 2 ? 0 : (int)(2 * d)};
        if (!d)
            continue;
        snprintf(s->ratio_titles[d], sizeof s->ratio_titles[d], "ratio");
        s->columns[s->n++] =
            (rp_column){"ratio", s->ratio_titles[d], RP_RIGHT, 0, (int)(2 * d + 1)};
    }
}

static void add_ratio(rp_table *t, const rp_compare_row *row, size_t d, int level) {
    char buffer[32], text[40];
    double ratio = rp_compare_ratio(row, d, level);

    if (!d)
        return;
    snprintf(text, sizeof text, "x%s", rp_format_number(buffer, sizeof buffer, ratio));
    rp_table_number(t, ratio, text);
}

/* How a rate is known, in a letter that the notes explain. */
static const char *mark_of(const rp_ceiling *c) {
    if (!c || c->provenance == RP_DATASHEET)
        return " ";
    if (c->provenance == RP_CALIBRATED)
        return "c";
    return c->provenance == RP_THEORETICAL ? "t" : "e";
}

static void add_ceilings(const rp_comparison *c, bool compute, rp_table *t) {
    for (size_t r = 0; r < c->row_count; r++) {
        const rp_compare_row *row = &c->rows[r];
        if (row->kind.compute != compute)
            continue;
        rp_table_row(t);
        rp_table_text(t, row->key);
        for (size_t d = 0; d < c->device_count; d++) {
            char buffer[32], text[40];
            const rp_ceiling *of = row->of[d];
            double rate = of ? of->rate : NAN;
            snprintf(text, sizeof text, "%s %s",
                     rp_format_si(buffer, sizeof buffer, rate, rp_ceiling_unit(&row->kind)),
                     mark_of(of));
            rp_table_number(t, rate, text);
            add_ratio(t, row, d, -1);
        }
    }
}

static void add_ridges(const rp_comparison *c, rp_hw_level level, rp_table *t) {
    for (size_t r = 0; r < c->row_count; r++) {
        const rp_compare_row *row = &c->rows[r];
        bool any = false;
        for (size_t d = 0; d < c->device_count; d++)
            any |= !isnan(row->ridge[d][level]);
        if (!row->kind.compute || !any)
            continue;
        rp_table_row(t);
        rp_table_text(t, row->key);
        for (size_t d = 0; d < c->device_count; d++) {
            char buffer[32];
            double ridge = row->ridge[d][level];
            rp_table_number(t, ridge, rp_format_number(buffer, sizeof buffer, ridge));
            add_ratio(t, row, d, level);
        }
    }
}

static void print_ridges(const rp_comparison *c, rp_hw_level level, rp_document *page) {
    static const char *const titles[] = {"Ridge points against DRAM, FLOP per byte",
                                         "Ridge points against L2, FLOP per byte"};
    side_by_side s;
    rp_table *t;

    make_columns(c, "ridge", &s);
    t = rp_table_create(s.columns, s.n);
    add_ridges(c, level, t);
    if (rp_table_rows(t)) {
        rp_document_heading(page, titles[level]);
        rp_document_table(page, t);
    }
    rp_table_free(t);
}

static bool has_provenance(const rp_comparison *c, rp_provenance provenance) {
    for (size_t r = 0; r < c->row_count; r++)
        for (size_t d = 0; d < c->device_count; d++)
            if (c->rows[r].of[d] && c->rows[r].of[d]->provenance == provenance)
                return true;
    return false;
}

static void print_notes(const rp_comparison *c, const request *r, rp_document *page) {
    rp_document_note(
        page, "Peaks are dense%s. No mark: printed by the vendor%s%s%s. Ratios are to %s.",
        r->sparse ? " but where a key ends in _sparse (2:4 sparsity)" : "",
        has_provenance(c, RP_THEORETICAL) ? "; t: operations per clock x SMs x clock" : "",
        has_provenance(c, RP_ESTIMATED) ? "; e: estimated or taken from a like part" : "",
        has_provenance(c, RP_CALIBRATED) ? "; c: calibrated here" : "", c->devices[0]->name);
    if (rp_comparison_find(c, "l1"))
        rp_document_note(page,
                         "L2, L1 and shared memory bandwidths are bytes per clock x clock: upper "
                         "bounds. Ridge points against L1 and shared memory are in the JSON "
                         "and CSV.");
    for (size_t d = 0; d < c->device_count; d++)
        if (*c->devices[d]->flags && strstr(c->devices[d]->ops_check, "FLAG"))
            rp_document_note(page,
                             "%s: what the vendor prints does not follow from its clocks (%s).",
                             c->devices[d]->name, c->devices[d]->ops_check + 5);
}

/* "0.8 to 1.2 ms": the roof-limited time, and the time at the roof fraction of today. */
static void add_projection(rp_table *t, const rp_projection *p) {
    char low[32], likely[32], text[96];

    rp_format_time(low, sizeof low, p->low_s);
    rp_format_time(likely, sizeof likely, p->likely_s);
    snprintf(text, sizeof text, "%s (%s)%s%s", likely, low, p->scaled_by_clock ? " c" : "",
             p->changes_side && p->side == RP_SIDE_MEMORY    ? " >M"
             : p->changes_side && p->side == RP_SIDE_COMPUTE ? " >C"
                                                             : "");
    rp_table_number(t, isnan(p->likely_s) ? p->low_s : p->likely_s, text);
}

static void print_projections(const rp_comparison *c, const rp_hwdb *db, const rp_report *report,
                              rp_document *page) {
    rp_column columns[3 + MOST_DEVICES] = {{"kernel", "kernel", RP_LEFT, RP_FLEXIBLE, 0},
                                           {"time_s", "here", RP_RIGHT, 0, 0},
                                           {"side", "side", RP_LEFT, 0, 0}};
    size_t shown = report->kernel_count < SHOWN_KERNELS ? report->kernel_count : SHOWN_KERNELS;
    rp_table *t;

    for (size_t d = 0; d < c->device_count; d++)
        columns[3 + d] = (rp_column){c->devices[d]->name, c->devices[d]->name, RP_RIGHT, 0, (int)d};
    t = rp_table_create(columns, 3 + c->device_count);
    for (size_t k = 0; k < shown; k++) {
        const rp_report_kernel *kernel = &report->kernels[k];
        char buffer[32];
        rp_table_row(t);
        rp_table_text_as(t, kernel->name, kernel->short_name);
        rp_table_number(t, kernel->time_s, rp_format_time(buffer, sizeof buffer, kernel->time_s));
        rp_table_text(t, rp_side_name(kernel->side));
        for (size_t d = 0; d < c->device_count; d++) {
            rp_projection p;
            rp_project(report, kernel, db, c->devices[d], &p);
            add_projection(t, &p);
        }
    }
    rp_document_heading(page, "Projected kernel times: likely (at the least)");
    rp_document_table(page, t);
    rp_table_free(t);
    rp_document_note(page,
                     "Modelled. Likely: the roof there / the roof fraction reached here; at the "
                     "least: the roof alone. c: bound by latency, carried over by clock and SMs. "
                     ">M, >C: moves to the memory or the compute side of the ridge.%s",
                     report->kernel_count > shown ? " The JSON and CSV have all kernels." : "");
}

static void print_pages(const rp_comparison *c, const request *r, const rp_hwdb *db,
                        const rp_report *report, FILE *file) {
    side_by_side s;
    rp_table *t;
    rp_document page;
    char title[256] = "";

    for (size_t d = 0; d < c->device_count && strlen(title) < 180; d++)
        snprintf(title + strlen(title), sizeof title - strlen(title), "%s%s", d ? ", " : "",
                 c->devices[d]->name);
    page = rp_document_start(file, r->format, title);
    make_columns(c, "ceiling", &s);
    t = rp_table_create(s.columns, s.n);
    add_ceilings(c, false, t);
    add_ceilings(c, true, t);
    rp_document_heading(&page, "Ceilings");
    rp_document_table(&page, t);
    rp_table_free(t);
    print_ridges(c, RP_DRAM, &page);
    print_ridges(c, RP_L2, &page);
    if (report)
        print_projections(c, db, report, &page);
    print_notes(c, r, &page);
    rp_document_end(&page);
}

/* One line a device and ceiling. */
static void print_csv(const rp_comparison *c, FILE *file) {
    static const rp_column columns[] = {{"device", "device", RP_LEFT, 0, 0},
                                        {"ceiling", "ceiling", RP_LEFT, 0, 0},
                                        {"rate", "rate", RP_RIGHT, 0, 0},
                                        {"unit", "unit", RP_LEFT, 0, 0},
                                        {"ratio_to_first", "ratio", RP_RIGHT, 0, 0},
                                        {"ridge_dram_flop_per_byte", "", RP_RIGHT, 0, 0},
                                        {"ridge_l2_flop_per_byte", "", RP_RIGHT, 0, 0},
                                        {"ridge_l1_flop_per_byte", "", RP_RIGHT, 0, 0},
                                        {"ridge_shared_flop_per_byte", "", RP_RIGHT, 0, 0},
                                        {"clock_hz", "", RP_RIGHT, 0, 0},
                                        {"provenance", "", RP_LEFT, 0, 0},
                                        {"source", "", RP_LEFT, 0, 0}};
    rp_table *t = rp_table_create(columns, sizeof columns / sizeof *columns);

    for (size_t d = 0; d < c->device_count; d++)
        for (size_t r = 0; r < c->row_count; r++) {
            const rp_compare_row *row = &c->rows[r];
            const rp_ceiling *of = row->of[d];
            if (!of)
                continue;
            rp_table_row(t);
            rp_table_text(t, c->devices[d]->name);
            rp_table_text(t, row->key);
            rp_table_number(t, of->rate, "");
            rp_table_text(t, rp_ceiling_unit(of));
            rp_table_number(t, rp_compare_ratio(row, d, -1), "");
            for (int level = 0; level <= RP_SHARED; level++)
                rp_table_number(t, row->ridge[d][level], "");
            rp_table_number(t, of->clock_hz, "");
            rp_table_text(t, rp_provenance_name(of->provenance));
            rp_table_text(t, of->source);
        }
    rp_table_print(t, file, RP_FORMAT_CSV, rp_style_of(file));
    rp_table_free(t);
}

static void print_csv_projections(const rp_comparison *c, const rp_hwdb *db,
                                  const rp_report *report, FILE *file) {
    static const rp_column columns[] = {{"kernel", "", RP_LEFT, 0, 0},
                                        {"time_s", "", RP_RIGHT, 0, 0},
                                        {"side", "", RP_LEFT, 0, 0},
                                        {"device", "", RP_LEFT, 0, 0},
                                        {"projected_low_s", "", RP_RIGHT, 0, 0},
                                        {"projected_likely_s", "", RP_RIGHT, 0, 0},
                                        {"projected_side", "", RP_LEFT, 0, 0},
                                        {"scaled_by_clock", "", RP_LEFT, 0, 0}};
    rp_table *t = rp_table_create(columns, sizeof columns / sizeof *columns);

    for (size_t k = 0; k < report->kernel_count; k++)
        for (size_t d = 0; d < c->device_count; d++) {
            const rp_report_kernel *kernel = &report->kernels[k];
            rp_projection p;
            rp_project(report, kernel, db, c->devices[d], &p);
            rp_table_row(t);
            rp_table_text(t, kernel->name);
            rp_table_number(t, kernel->time_s, "");
            rp_table_text(t, rp_side_name(kernel->side));
            rp_table_text(t, c->devices[d]->name);
            rp_table_number(t, p.low_s, "");
            rp_table_number(t, p.likely_s, "");
            rp_table_text(t, rp_side_name(p.side));
            rp_table_text(t, p.scaled_by_clock ? "yes" : "no");
        }
    rp_table_print(t, file, RP_FORMAT_CSV, rp_style_of(file));
    rp_table_free(t);
}

/* ---- The command ----------------------------------------------------------------------------- */

static rp_code find_devices(const rp_hwdb *db, const request *r, const rp_device **devices,
                            rp_error *error) {
    for (size_t i = 0; i < r->count; i++) {
        const rp_device *const *others;
        rp_code code = rp_hwdb_find(db, r->names[i], &devices[i], &others, error);
        if (code != RP_OK)
            return code;
        rp_options_say_taken("compare", r->names[i], devices[i], others);
        for (size_t k = 0; k < i; k++)
            if (devices[k] == devices[i])
                return rp_fail(error, RP_USAGE, "\"%s\" and \"%s\" are the same device (%s)",
                               r->names[k], r->names[i], devices[i]->name);
    }
    return RP_OK;
}

static rp_code print(const rp_comparison *c, const request *r, const rp_hwdb *db,
                     const rp_report *report, rp_error *error) {
    rp_output output = {0};
    rp_code code = rp_output_open(&output, r->output, error);

    if (code != RP_OK)
        return code;
    if (r->format == RP_FORMAT_JSON)
        print_json(c, db, report, output.stream);
    else if (r->format == RP_FORMAT_CSV && report)
        print_csv_projections(c, db, report, output.stream);
    else if (r->format == RP_FORMAT_CSV)
        print_csv(c, output.stream);
    else
        print_pages(c, r, db, report, output.stream);
    return rp_output_commit(&output, error);
}

static rp_code open_capture(const request *r, rp_input *input, rp_error *error) {
    rp_input_options options = RP_INPUT_OPTIONS_INIT;
    options.files = &r->capture;
    options.file_count = 1;
    options.device = r->from;
    options.hwdb = r->hwdb;
    return rp_input_open(input, &options, error);
}

static rp_code draw(const rp_comparison *c, const request *r, rp_plot_format format,
                    rp_error *error) {
    rp_plot_options options = RP_PLOT_OPTIONS_INIT;

    options.format = format;
    options.output = r->plot;
    return rp_plot_compare(c->devices, c->device_count, r->sparse, &options, error);
}

static rp_code compare(const request *r, rp_error *error) {
    rp_hwdb *db = NULL;
    const rp_device *devices[MOST_DEVICES];
    rp_comparison comparison = {0};
    rp_input input = {0};
    rp_plot_format picture = RP_PLOT_PNG;
    bool opened = false;
    rp_code code;

    (void)((code = rp_file_spare(r->output, (const char *[]){r->capture, r->hwdb}, 2, error)) ||
           (code = rp_file_spare(r->plot, (const char *[]){r->capture, r->hwdb}, 2, error)) ||
           (code = r->plot ? rp_plot_format_of(r->plot, &picture, error) : RP_OK) ||
           (code = rp_hwdb_load(&db, r->hwdb, error)) ||
           (code = find_devices(db, r, devices, error)) ||
           (code = rp_compare(devices, r->count, r->source, r->sparse, &comparison, error)));
    if (code == RP_OK && r->capture) {
        code = open_capture(r, &input, error);
        opened = code == RP_OK;
    }
    (void)(code || (code = print(&comparison, r, db, opened ? &input.report : NULL, error)) ||
           (code = r->plot ? draw(&comparison, r, picture, error) : RP_OK));
    if (opened)
        rp_input_close(&input);
    rp_comparison_free(&comparison);
    rp_hwdb_free(db);
    return code;
}

static bool parse_source(const char *text, rp_compare_source *source) {
    static const char *const names[] = {"printed", "theoretical", "calibrated"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(text, names[i])) {
            *source = (rp_compare_source)i;
            return true;
        }
    return false;
}

/* Takes one option; false: the usage error is printed. */
static bool take(const rp_options *o, int option, request *r) {
    switch (option) {
    case RP_OPTION_POSITIONAL:
        if (r->count == MOST_DEVICES) {
            rp_options_error(o, "at most %d devices", MOST_DEVICES);
            return false;
        }
        r->names[r->count++] = o->value;
        return true;
    case FORMAT:
        if (rp_format_find(o->value, &r->format))
            return true;
        rp_options_error(o, "\"%s\" is no format", o->value);
        return false;
    case CEILINGS:
        if (parse_source(o->value, &r->source))
            return true;
        rp_options_error(o, "--ceilings is printed, theoretical or calibrated, not \"%s\"",
                         o->value);
        return false;
    case SPARSE:
        r->sparse = true;
        return true;
    case CAPTURE:
        r->capture = o->value;
        return true;
    case FROM:
        r->from = o->value;
        return true;
    case PLOT:
        r->plot = o->value;
        return true;
    case HWDB:
        r->hwdb = o->value;
        return true;
    default:
        r->output = o->value;
        return true;
    }
}

int rp_cmd_compare(int argc, char **argv) {
    rp_options o = RP_OPTIONS(
        argc, argv, table, "DEVICE...",
        "Ceilings and ridge points of devices side by side, with their ratios to the first.\n"
        "All peaks are dense: a ridge of 590 FLOP/B for the FP16 tensor cores of an H100, as "
        "often\n"
        "quoted, is the peak with 2:4 sparsity; dense it is 295.\n",
        "examples:\n"
        "  roofprof compare A100 H100\n"
        "  roofprof compare --capture train.roof H100 H200\n"
        "  roofprof compare --sparse --plot rooflines.png H100 H200 B200\n");
    request r = {.format = RP_FORMAT_TEXT};
    rp_error error = {0};
    int option;

    while ((option = rp_options_next(&o)) >= RP_OPTION_POSITIONAL)
        if (!take(&o, option, &r))
            return RP_USAGE;
    if (option != RP_OPTION_END)
        return option == RP_OPTION_HELP ? RP_OK : RP_USAGE;
    if (!r.count)
        return rp_options_error(&o, "no DEVICE is given");
    return compare(&r, &error) == RP_OK ? RP_OK : rp_options_fail(&o, &error);
}
