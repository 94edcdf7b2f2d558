/* SPDX-License-Identifier: Apache-2.0
 *
 * Printing a calibration.
 */
#include "commands/calibration.h"

#include "output/document.h"
#include "support/units.h"
#include <math.h>
#include <string.h>

enum { ROOM = 32 };

/* ---- JSON ------------------------------------------------------------------------------------ */

static void text_or_null(rp_json *json, const char *key, const char *text) {
    rp_json_string(json, key, *text ? text : NULL);
}

static void json_reading(rp_json *json, const rp_reading *r) {
    char causes[200];
    rp_json_number(json, "power_w", r->power_w);
    rp_json_number(json, "temperature_c", r->temperature_c);
    rp_json_number(json, "memory_clock_hz", r->memory_clock_hz);
    rp_json_string(json, "throttle",
                   r->throttle_known ? rp_throttle_text(r->throttle, causes, sizeof causes) : NULL);
}

static void json_ceiling(rp_json *json, const rp_result *r) {
    const rp_ceiling *c = &r->ceiling;

    rp_json_string(json, "kind", c->compute ? "compute" : "bandwidth");
    if (c->compute) {
        rp_json_string(json, "precision", rp_precision_name(c->precision));
        rp_json_string(json, "path", rp_path_name(c->path));
        text_or_null(json, "instruction", c->instruction);
        text_or_null(json, "accumulate", c->accumulate);
        rp_json_number(json, "flops_per_s", c->rate);
    } else {
        rp_json_string(json, "level", rp_level_name(c->level));
        rp_json_string(json, "pattern", r->pattern);
        rp_json_number(json, "bytes_per_s", c->rate);
    }
    rp_json_number(json, "fraction_of_theoretical", rp_result_of_theoretical(r));
    rp_json_number(json, "fraction_of_datasheet", rp_result_of_datasheet(r));
}

static bool is_in(const rp_result *r, const char *list) {
    return !strcmp(list, r->kind == RP_RESULT_LATENCY ? "latencies"
                         : r->kind == RP_RESULT_COPY  ? "copies"
                                                      : "ceilings");
}

static void json_list(rp_json *json, const rp_calibration *c, const char *list) {
    rp_json_array(json, list);
    for (size_t i = 0; i < c->count; i++) {
        const rp_result *r = &c->results[i];
        if (!is_in(r, list))
            continue;
        rp_json_object(json, NULL);
        rp_json_string(json, "name", r->name);
        if (r->kind == RP_RESULT_LATENCY)
            rp_json_number(json, "time_s", r->seconds);
        else if (r->kind == RP_RESULT_COPY) {
            rp_json_string(json, "level", rp_level_name(r->ceiling.level));
            rp_json_number(json, "bytes_per_s", r->ceiling.rate);
        } else
            json_ceiling(json, r);
        rp_json_number(json, "sustained", r->sustained);
        rp_json_number(json, "clock_hz", r->ceiling.clock_hz);
        rp_json_number(json, "spread", r->spread);
        rp_json_integer(json, "repeats", r->repeats);
        rp_json_bool(json, "best", r->best);
        rp_json_string(json, "provenance",
                       *r->absent_because ? "absent" : rp_provenance_name(r->ceiling.provenance));
        text_or_null(json, "variant", r->variant);
        text_or_null(json, "absent_because", r->absent_because);
        text_or_null(json, "flag", r->flag);
        if (!c->host)
            json_reading(json, &r->reading);
        rp_json_close(json);
    }
    rp_json_close(json);
}

static void count_or_null(rp_json *json, const char *key, int64_t value) {
    if (value > 0)
        rp_json_integer(json, key, value);
    else
        rp_json_null(json, key);
}

static void json_device(rp_json *json, const rp_calibration *c) {
    rp_json_object(json, "device");
    rp_json_string(json, "name", c->name);
    text_or_null(json, "chip", c->chip);
    text_or_null(json, "compute_capability", c->compute_capability);
    rp_json_string(json, "source", c->host ? "host" : c->emulated ? "emulated" : "device");
    rp_json_string(json, "database_row", c->match.device ? c->match.device->name : NULL);
    text_or_null(json, "uuid", c->uuid);
    text_or_null(json, "pci_address", c->pci_address);
    text_or_null(json, "driver", c->driver);
    rp_json_number(json, "power_limit_w", c->power_limit_w);
    count_or_null(json, c->host ? "threads" : "sm_count", c->sm_count);
    count_or_null(json, "memory_bytes", c->memory_bytes);
    count_or_null(json, "l2_bytes", c->l2_bytes);
    rp_json_close(json);
}

static void json_sweep(rp_json *json, const rp_calibration *c) {
    rp_json_array(json, "sweep");
    for (size_t i = 0; i < c->point_count; i++) {
        rp_json_object(json, NULL);
        rp_json_number(json, "intensity_flop_per_byte", c->points[i].intensity);
        rp_json_number(json, "flops_per_s", c->points[i].flops_per_s);
        rp_json_number(json, "bytes_per_s", c->points[i].bytes_per_s);
        rp_json_number(json, "clock_hz", c->points[i].clock_hz);
        rp_json_close(json);
    }
    rp_json_close(json);
}

static void print_json(const rp_calibration *c, FILE *file) {
    rp_json json;

    rp_json_start(&json, file);
    rp_json_object(&json, NULL);
    rp_json_string(&json, "schema", "roofprof.calibration/1");
    rp_json_string(&json, "date", c->date);
    json_device(&json, c);
    json_list(&json, c, "ceilings");
    json_list(&json, c, "copies");
    json_list(&json, c, "latencies");
    json_sweep(&json, c);
    rp_json_bool(&json, "interrupted", c->interrupted);
    rp_json_number(&json, "elapsed_s", c->elapsed_s);
    rp_json_close(&json);
}

/* ---- Table ----------------------------------------------------------------------------------- */

static void add_value(rp_table *t, const rp_result *r) {
    char text[ROOM];

    if (r->kind == RP_RESULT_LATENCY)
        rp_table_number(t, r->seconds, rp_format_time(text, sizeof text, r->seconds));
    else
        rp_table_number(t, r->ceiling.rate,
                        rp_format_si(text, sizeof text, r->ceiling.rate, rp_result_unit(r)));
    if (r->best)
        rp_table_colour(t, RP_BOLD);
}

static void add_share(rp_table *t, double share) {
    char text[ROOM];
    rp_table_number(t, share, rp_format_percent(text, sizeof text, share));
}

static void add_row(rp_table *t, const rp_result *r) {
    char text[ROOM];

    rp_table_row(t);
    rp_table_text(t, r->name);
    rp_table_text(t, *r->pattern ? r->pattern : NULL);
    add_value(t, r);
    rp_table_text(t, rp_result_unit(r));
    rp_table_number(t, r->sustained,
                    rp_format_si(text, sizeof text, r->sustained, rp_result_unit(r)));
    add_share(t, rp_result_of_theoretical(r));
    add_share(t, rp_result_of_datasheet(r));
    rp_table_number(t, r->ceiling.clock_hz,
                    rp_format_si(text, sizeof text, r->ceiling.clock_hz, "Hz"));
    add_share(t, r->spread);
    rp_table_text(t, *r->absent_because ? "absent" : rp_provenance_name(r->ceiling.provenance));
    rp_table_text(t, *r->variant ? r->variant : NULL);
    rp_table_text(t, *r->absent_because ? r->absent_because : *r->flag ? r->flag : NULL);
}

/* Columns that are unknown all the way down are left out of what a person reads. */
static rp_table *make_table(const rp_calibration *c, bool data) {
    static rp_column columns[] = {{"name", "what", RP_LEFT, 0, 0},
                                  {"pattern", "pattern", RP_LEFT, 0, 0},
                                  {"value", "value", RP_RIGHT, 0, 0},
                                  {"unit", "unit", RP_LEFT, RP_DATA_ONLY, 0},
                                  {"sustained", "sustained", RP_RIGHT, 0, 4},
                                  {"fraction_of_theoretical", "of theory", RP_RIGHT, 0, 0},
                                  {"fraction_of_datasheet", "of datasheet", RP_RIGHT, 0, 3},
                                  {"clock_hz", "clock", RP_RIGHT, 0, 2},
                                  {"spread", "spread", RP_RIGHT, 0, 1},
                                  {"provenance", "", RP_LEFT, RP_DATA_ONLY, 0},
                                  {"variant", "variant", RP_LEFT, RP_FLEXIBLE, 5},
                                  {"note", "", RP_LEFT, RP_DATA_ONLY, 0}};
    const size_t n = sizeof columns / sizeof *columns;
    for (size_t i = 5; i <= 7; i++) /* of theory, of datasheet, clock */
        columns[i].flags = c->host ? RP_DATA_ONLY : 0;
    rp_table *t = rp_table_create(columns, n);

    for (size_t i = 0; i < c->count; i++)
        if (data || !*c->results[i].absent_because)
            add_row(t, &c->results[i]);
    return t;
}

static void print_notes(const rp_calibration *c, rp_document *page) {
    size_t absent = 0, flagged = 0;

    for (size_t i = 0; i < c->count; i++) {
        absent += *c->results[i].absent_because != 0;
        flagged += *c->results[i].flag && !c->emulated;
    }
    if (flagged) {
        rp_document_heading(page, "Suspicious");
        for (size_t i = 0; i < c->count; i++)
            if (*c->results[i].flag)
                rp_document_item(page, "%s%s%s: %s", c->results[i].name,
                                 *c->results[i].pattern ? " " : "", c->results[i].pattern,
                                 c->results[i].flag);
    }
    if (absent) {
        rp_document_heading(page, "Not measured");
        for (size_t i = 0; i < c->count; i++)
            if (*c->results[i].absent_because)
                rp_document_item(page, "%s%s%s: %s", c->results[i].name,
                                 *c->results[i].pattern ? " " : "", c->results[i].pattern,
                                 c->results[i].absent_because);
    }
    rp_document_note(page, "%s",
                     c->emulated ? "Modelled: this device is emulated. Counts are exact, times "
                                   "follow from the very ceilings, and nothing is recorded."
                     : c->host
                         ? "The fastest of the repeats; sustained: their median. Bytes as "
                           "STREAM counts them, stores past the caches."
                         : "The median of the repeats. Of theory: at the clock observed while "
                           "it ran; of datasheet: at the nominal one. mma.sync has a ceiling "
                           "of its own where a better instruction exists.");
    if (*c->match.calibration)
        rp_document_note(page, "Until now: %s.", c->match.calibration);
    if (*c->sweep_absent_because)
        rp_document_note(page, "The sweep has %zu of %d points: %s.", c->point_count,
                         RP_SWEEP_POINTS, c->sweep_absent_because);
    if (c->interrupted)
        rp_document_note(page, "Interrupted: what is above is what was done until then. Results "
                               "whose variants were not all tried are not recorded.");
}

static void print_page(const rp_calibration *c, rp_format format, FILE *file) {
    char title[200];
    rp_document page;
    rp_table *t = make_table(c, false);

    snprintf(title, sizeof title, "Calibration of %s%s", c->name, c->emulated ? " (emulated)" : "");
    page = rp_document_start(file, format, title);
    rp_document_table(&page, t);
    rp_table_free(t);
    print_notes(c, &page);
    rp_document_end(&page);
}

void rp_calibration_print(const rp_calibration *calibration, rp_format format, FILE *file) {
    if (format == RP_FORMAT_JSON) {
        print_json(calibration, file);
    } else if (format == RP_FORMAT_CSV) {
        rp_table *t = make_table(calibration, true);
        rp_table_print(t, file, format, rp_style_of(file));
        rp_table_free(t);
    } else {
        print_page(calibration, format, file);
    }
}
