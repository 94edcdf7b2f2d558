/* SPDX-License-Identifier: Apache-2.0
 *
 * `roofprof devices`: lists the hardware database, or shows all that it says of one device.
 */
#include "commands/commands.h"
#include "commands/options.h"
#include "hwdb/hwdb.h"
#include "output/document.h"
#include "support/file.h"
#include "support/units.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FORMAT, HWDB, OUTPUT };
static const rp_option table[] = {
    {"format", 'f', "FORMAT", "text (default), json, csv, md or html"},
    {"hwdb", 0, "FILE", "records of your own, over the shipped ones (a CSV file or a folder)"},
    {"output", 'o', "FILE", "write there instead of to standard output"}};

typedef struct request {
    const char *name, *hwdb, *output;
    rp_format format;
} request;

/* What a table of peaks shows: as printed by the vendor, else by arithmetic. */
static const rp_provenance shown_order[] = {RP_DATASHEET, RP_THEORETICAL, RP_ESTIMATED};

static double rate_of(const rp_device *device, const char *key) {
    rp_ceiling like;
    const rp_ceiling *c;
    if (!rp_ceiling_from_key(key, &like))
        return NAN;
    c = rp_device_ceiling(device, &like, shown_order, sizeof shown_order / sizeof *shown_order);
    return c ? c->rate : NAN;
}

static void si(rp_table *t, double value, const char *unit) {
    char buffer[32];
    rp_table_number(t, value, rp_format_si(buffer, sizeof buffer, value, unit));
}

static void plain(rp_table *t, double value) {
    char buffer[32];
    rp_table_number(t, value, rp_format_number(buffer, sizeof buffer, value));
}

/* A whole number; negative: not known. */
static void whole(rp_table *t, int64_t value) {
    if (value >= 0)
        rp_table_count(t, (uint64_t)value);
    else
        rp_table_text(t, NULL);
}

static const char *known(const char *text) {
    return text && *text ? text : NULL;
}

/* ---- The list -------------------------------------------------------------------------------- */

static const rp_column list_columns[] = {
    {"name", "device", RP_LEFT, 0, 0},
    {"vendor", "vendor", RP_LEFT, 0, 9},
    {"chip", "chip", RP_LEFT, 0, 6},
    {"compute_capability", "CC", RP_LEFT, 0, 5},
    {"sm_count", "SMs", RP_RIGHT, 0, 4},
    {"memory_bytes", "memory", RP_RIGHT, 0, 0},
    {"dram_bytes_per_s", "DRAM", RP_RIGHT, 0, 0},
    {"fp64_vector_flops_per_s", "FP64", RP_RIGHT, 0, 7},
    {"fp32_vector_flops_per_s", "FP32", RP_RIGHT, 0, 0},
    {"fp16_tensor_flops_per_s", "FP16 tensor", RP_RIGHT, 0, 0},
    {"fp8_tensor_flops_per_s", "FP8 tensor", RP_RIGHT, 0, 8},
    {"ridge_fp32_flop_per_byte", "FP32 ridge", RP_RIGHT, RP_DATA_ONLY, 0},
    {"ridge_fp16_tensor_flop_per_byte", "ridge FP16", RP_RIGHT, 0, 3},
    {"tdp_w", "power", RP_RIGHT, 0, 10},
    {"user", "yours", RP_LEFT, RP_DATA_ONLY, 0}};

static void add_list_row(rp_table *t, const rp_device *d) {
    double dram = rate_of(d, "dram"), fp32 = rate_of(d, "fp32_vector"),
           fp16 = rate_of(d, "fp16_tensor");

    rp_table_row(t);
    rp_table_text(t, d->name);
    rp_table_text(t, known(d->vendor));
    rp_table_text(t, known(d->chip));
    rp_table_text(t, known(d->compute_capability));
    whole(t, d->sm_count);
    si(t, d->memory_bytes > 0 ? (double)d->memory_bytes : NAN, "B");
    si(t, dram, "B/s");
    si(t, rate_of(d, "fp64_vector"), "FLOP/s");
    si(t, fp32, "FLOP/s");
    si(t, fp16, "FLOP/s");
    si(t, rate_of(d, "fp8_tensor"), "FLOP/s");
    plain(t, fp32 / dram);
    plain(t, fp16 / dram);
    si(t, d->tdp_w, "W");
    rp_table_text(t, d->user ? "yes" : "no");
}

static void print_list(const rp_hwdb *db, FILE *file, rp_format format) {
    rp_table *t = rp_table_create(list_columns, sizeof list_columns / sizeof *list_columns);
    rp_document d;

    for (size_t i = 0; i < rp_hwdb_count(db); i++)
        add_list_row(t, rp_hwdb_at(db, i));
    if (format == RP_FORMAT_JSON) {
        rp_json json;
        rp_json_start(&json, file);
        rp_json_object(&json, NULL);
        rp_json_string(&json, "schema", "roofprof.devices/1");
        rp_table_json(t, &json, "devices");
        rp_json_close(&json);
    } else {
        d = rp_document_start(file, format, "Hardware database");
        rp_document_table(&d, t);
        rp_document_note(
            &d,
            "%zu devices. Peaks are dense; ridge: FLOP per byte of DRAM where the FP16 "
            "tensor peak begins. \"roofprof devices NAME\" shows one with its sources.",
            rp_hwdb_count(db));
        rp_document_end(&d);
    }
    rp_table_free(t);
}

/* ---- One device ------------------------------------------------------------------------------ */

static const rp_column ceiling_columns[] = {
    {"ceiling", "ceiling", RP_LEFT, 0, 0},        {"rate", "rate", RP_RIGHT, 0, 0},
    {"unit", "unit", RP_LEFT, RP_DATA_ONLY, 0},   {"clock_hz", "at clock", RP_RIGHT, 0, 3},
    {"ridge_dram", "ridge", RP_RIGHT, 0, 0},      {"provenance", "known as", RP_LEFT, 0, 0},
    {"source", "source", RP_LEFT, RP_FLEXIBLE, 2}};

static rp_table *make_ceilings(const rp_device *d) {
    rp_table *t =
        rp_table_create(ceiling_columns, sizeof ceiling_columns / sizeof *ceiling_columns);
    double dram = rate_of(d, "dram");

    for (size_t i = 0; i < d->ceiling_count; i++) {
        const rp_ceiling *c = &d->ceilings[i];
        char key[64];
        rp_ceiling_key(c, key, sizeof key);
        rp_table_row(t);
        rp_table_text(t, key);
        si(t, c->rate, rp_ceiling_unit(c));
        rp_table_text(t, rp_ceiling_unit(c));
        si(t, c->clock_hz, "Hz");
        plain(t, c->compute ? c->rate / dram : NAN);
        rp_table_text(t, rp_provenance_name(c->provenance));
        /* The sheet's sources are listed once, below; here what differs from them. */
        rp_table_text_as(t, c->source, c->source == d->source ? "see below" : c->source);
    }
    return t;
}

/* For people: one row a ceiling, what the vendor prints beside what arithmetic gives. */
static const rp_column merged_columns[] = {{"ceiling", "ceiling", RP_LEFT, 0, 0},
                                           {"printed", "printed", RP_RIGHT, 0, 0},
                                           {"estimated", "estimated", RP_RIGHT, 0, 3},
                                           {"theoretical", "theoretical", RP_RIGHT, 0, 0},
                                           {"calibrated", "calibrated", RP_RIGHT, 0, 2},
                                           {"clock", "at clock", RP_RIGHT, 0, 1},
                                           {"ridge", "ridge", RP_RIGHT, 0, 0}};

static rp_table *make_merged(const rp_device *d) {
    static const rp_provenance kinds[] = {RP_DATASHEET, RP_ESTIMATED, RP_THEORETICAL,
                                          RP_CALIBRATED};
    rp_table *t = rp_table_create(merged_columns, sizeof merged_columns / sizeof *merged_columns);
    double dram = rate_of(d, "dram");

    for (size_t i = 0; i < d->ceiling_count; i++) {
        const rp_ceiling *c = &d->ceilings[i];
        char key[64];
        /* The first of its key stands for all; the sparse peaks of one instruction are in CSV. */
        if (rp_device_ceiling(d, c, (rp_provenance[]){c->provenance}, 1) != c ||
            (c->sparse && *c->instruction))
            continue;
        const rp_ceiling *first = rp_device_ceiling(d, c, kinds, 4);
        if (first && first != c)
            continue;
        rp_ceiling_key(c, key, sizeof key);
        rp_table_row(t);
        rp_table_text(t, key);
        for (size_t k = 0; k < 4; k++) {
            const rp_ceiling *of = rp_device_ceiling(d, c, &kinds[k], 1);
            si(t, of ? of->rate : NAN, rp_ceiling_unit(c));
        }
        si(t, c->clock_hz, "Hz");
        plain(t, c->compute ? c->rate / dram : NAN);
    }
    return t;
}

static const rp_column property_columns[] = {{"property", "property", RP_LEFT, 0, 0},
                                             {"value", "value", RP_LEFT, RP_FLEXIBLE, 0}};

static void property(rp_table *t, const char *name, const char *value) {
    if (!value || !*value)
        return;
    rp_table_row(t);
    rp_table_text(t, name);
    rp_table_text(t, value);
}

static void property_si(rp_table *t, const char *name, double value, const char *unit) {
    char buffer[32];
    if (!isnan(value))
        property(t, name, rp_format_si(buffer, sizeof buffer, value, unit));
}

static void property_size(rp_table *t, const char *name, double bytes) {
    char buffer[64];
    if (!(bytes > 0))
        return;
    if (bytes < 1 << 20)
        snprintf(buffer, sizeof buffer, "%.0f KiB", bytes / 1024);
    else
        snprintf(buffer, sizeof buffer, "%.4g MiB", bytes / 1048576);
    property(t, name, buffer);
}

static const char *const limits[] = {"issue",        "lsu",        "alu",          "xu",
                                     "l1_wavefront", "l1_bytes",   "shared_bytes", "max_threads",
                                     "max_warps",    "max_blocks", "registers",    "shared_optin"};
enum { LIMITS = sizeof limits / sizeof *limits };

static void add_memory(rp_table *t, const rp_device *d) {
    char buffer[96];

    if (d->memory_bytes_reported) {
        snprintf(buffer, sizeof buffer, "%g GB %s (a driver reports %lld bytes = %.1f GiB)",
                 d->memory_label_gb, d->memory_type, (long long)d->memory_bytes,
                 (double)d->memory_bytes / 1073741824);
        property(t, "memory", buffer);
    } else if (!isnan(d->memory_label_gb)) {
        snprintf(buffer, sizeof buffer, "%g GB%s%s", d->memory_label_gb, *d->memory_type ? " " : "",
                 d->memory_type);
        property(t, "memory", buffer);
    }
    if (d->memory_bus_bits > 0) {
        snprintf(buffer, sizeof buffer, "%lld bit", (long long)d->memory_bus_bits);
        property(t, "memory bus", buffer);
    }
    property_si(t, "memory clock", d->memory_hz, "Hz");
}

static rp_table *make_properties(const rp_hwdb *db, const rp_device *d) {
    rp_table *t =
        rp_table_create(property_columns, sizeof property_columns / sizeof *property_columns);
    char buffer[64];

    property(t, "vendor", d->vendor);
    property(t, "architecture", d->arch);
    property(t, "chip", d->chip);
    property(t, "compute capability", d->compute_capability);
    property(t, "variant", d->variant);
    if (d->sm_count > 0) {
        snprintf(buffer, sizeof buffer, "%lld", (long long)d->sm_count);
        property(t, "multiprocessors", buffer);
    }
    property_si(t, "boost clock", d->boost_hz, "Hz");
    property_si(t, "tensor clock", d->tensor_hz, "Hz");
    add_memory(t, d);
    property_size(t, "L2 cache", (double)d->l2_bytes);
    property_size(t, "shared memory per SM", (double)d->shared_bytes_per_sm);
    property_si(t, "NVLink, one direction", d->nvlink_bytes_per_s, "B/s");
    property_si(t, "PCIe, one direction", d->pcie_bytes_per_s, "B/s");
    property_si(t, "power", d->tdp_w, "W");
    property(t, "PCI ids", d->pci_ids);
    property(t, "also called", d->aliases);
    property(t, "drivers call it", d->device_names);
    for (int i = 0; i < LIMITS; i++) {
        double value = rp_hwdb_limit(db, d, limits[i]);
        if (isnan(value))
            continue;
        snprintf(buffer, sizeof buffer, "%g", value);
        property(t, limits[i], buffer);
    }
    property(t, "arithmetic check", d->ops_check);
    property(t, "computed, not printed", d->derived);
    return t;
}

static const rp_column measured_columns[] = {{"quantity", "quantity", RP_LEFT, RP_FLEXIBLE, 0},
                                             {"value", "value", RP_RIGHT, 0, 0},
                                             {"unit", "unit", RP_LEFT, RP_DATA_ONLY, 0},
                                             {"fraction_of_peak", "of peak", RP_RIGHT, 0, 0},
                                             {"source", "source", RP_LEFT, RP_FLEXIBLE, 0},
                                             {"note", "note", RP_LEFT, RP_FLEXIBLE, 1}};

static rp_table *make_measured(const rp_hwdb *db, const rp_device *d) {
    rp_table *t =
        rp_table_create(measured_columns, sizeof measured_columns / sizeof *measured_columns);
    char buffer[32];

    for (size_t i = 0; i < rp_hwdb_measurement_count(db); i++) {
        const rp_measurement *m = rp_hwdb_measurement(db, i);
        if (strcmp(m->device, d->name))
            continue;
        rp_table_row(t);
        rp_table_text(t, m->quantity);
        si(t, m->value, m->unit);
        rp_table_text(t, m->unit);
        rp_table_number(t, m->fraction_of_peak,
                        rp_format_percent(buffer, sizeof buffer, m->fraction_of_peak));
        rp_table_text(t, m->source);
        rp_table_text(t, known(m->note));
    }
    return t;
}

static void json_integer(rp_json *json, const char *key, int64_t value) {
    if (value >= 0)
        rp_json_integer(json, key, value);
    else
        rp_json_null(json, key);
}

static void json_device(FILE *file, const rp_hwdb *db, const rp_device *d, const rp_table *ceilings,
                        const rp_table *measured) {
    rp_json writer, *json = &writer;
    rp_json_start(json, file);
    rp_json_object(json, NULL);
    rp_json_string(json, "schema", "roofprof.device/1");
    rp_json_string(json, "name", d->name);
    rp_json_string(json, "vendor", known(d->vendor));
    rp_json_string(json, "architecture", known(d->arch));
    rp_json_string(json, "chip", known(d->chip));
    rp_json_string(json, "compute_capability", known(d->compute_capability));
    json_integer(json, "sm_count", d->sm_count);
    rp_json_number(json, "boost_hz", d->boost_hz);
    rp_json_number(json, "tensor_hz", d->tensor_hz);
    rp_json_number(json, "memory_hz", d->memory_hz);
    json_integer(json, "memory_bytes", d->memory_bytes);
    rp_json_bool(json, "memory_bytes_reported", d->memory_bytes_reported);
    rp_json_string(json, "memory_type", known(d->memory_type));
    json_integer(json, "memory_bus_bits", d->memory_bus_bits);
    json_integer(json, "l2_bytes", d->l2_bytes);
    json_integer(json, "shared_bytes_per_sm", d->shared_bytes_per_sm);
    rp_json_number(json, "nvlink_bytes_per_s_one_way", d->nvlink_bytes_per_s);
    rp_json_number(json, "pcie_bytes_per_s_one_way", d->pcie_bytes_per_s);
    rp_json_number(json, "tdp_w", d->tdp_w);
    rp_json_string(json, "pci_ids", known(d->pci_ids));
    rp_json_string(json, "aliases", known(d->aliases));
    rp_json_string(json, "device_names", known(d->device_names));
    rp_json_string(json, "derived", known(d->derived));
    rp_json_string(json, "check", known(d->ops_check));
    rp_json_string(json, "source", known(d->source));
    rp_json_string(json, "note", known(d->note));
    rp_json_bool(json, "user", d->user);
    rp_json_object(json, "limits");
    for (int i = 0; i < LIMITS; i++)
        rp_json_number(json, limits[i], rp_hwdb_limit(db, d, limits[i]));
    rp_json_close(json);
    rp_table_json(ceilings, json, "ceilings");
    rp_table_json(measured, json, "measured");
    rp_json_close(json);
}

static void print_device(const rp_hwdb *db, const rp_device *d, FILE *file, rp_format format) {
    rp_table *ceilings = make_ceilings(d), *measured = make_measured(db, d);

    if (format == RP_FORMAT_JSON) {
        json_device(file, db, d, ceilings, measured);
    } else if (format == RP_FORMAT_CSV) {
        rp_table_print(ceilings, file, format, rp_style_of(file));
    } else {
        rp_table *properties = make_properties(db, d), *merged = make_merged(d);
        rp_document page = rp_document_start(file, format, d->name);
        rp_document_table(&page, properties);
        rp_document_heading(&page, "Ceilings (ridge: FLOP per byte of DRAM)");
        rp_document_table(&page, merged);
        if (rp_table_rows(measured)) {
            rp_document_heading(&page, "Published measurements (none made by this project)");
            rp_document_table(&page, measured);
        }
        rp_document_note(&page, "Sources: %s", *d->source ? d->source : "the record names none");
        if (*d->note)
            rp_document_note(&page, "Note: %s", d->note);
        rp_document_end(&page);
        rp_table_free(properties);
        rp_table_free(merged);
    }
    rp_table_free(ceilings);
    rp_table_free(measured);
}

/* ---- The command ----------------------------------------------------------------------------- */

static rp_code show(const request *r, rp_error *error) {
    rp_hwdb *db = NULL;
    const rp_device *device = NULL, *const * others;
    rp_output output = {0};
    rp_code code = rp_hwdb_load(&db, r->hwdb, error);

    if (code == RP_OK && r->name) {
        code = rp_hwdb_find(db, r->name, &device, &others, error);
        if (code == RP_OK)
            rp_options_say_taken("devices", r->name, device, others);
    }
    if (code == RP_OK)
        code = rp_file_spare(r->output, &r->hwdb, 1, error);
    if (code == RP_OK)
        code = rp_output_open(&output, r->output, error);
    if (code == RP_OK) {
        if (device)
            print_device(db, device, output.stream, r->format);
        else
            print_list(db, output.stream, r->format);
        code = rp_output_commit(&output, error);
    }
    rp_hwdb_free(db);
    return code;
}

int rp_cmd_devices(int argc, char **argv) {
    rp_options o =
        RP_OPTIONS(argc, argv, table, "[NAME]",
                   "The hardware database: all devices, or one with its ceilings, limits "
                   "and sources.\nA NAME is as people write it (A100, \"h100 pcie\", "
                   "4090), as a driver writes it, a PCI id\n(10de:2330), or chip, SMs and "
                   "memory clock (GH100:132:2619).\n",
                   "examples:\n"
                   "  roofprof devices\n"
                   "  roofprof devices \"h100 pcie\"\n");
    request r = {.format = RP_FORMAT_TEXT};
    rp_error error = {0};
    int option;

    while ((option = rp_options_next(&o)) >= RP_OPTION_POSITIONAL)
        switch (option) {
        case RP_OPTION_POSITIONAL:
            if (r.name)
                return rp_options_error(&o, "one NAME at a time (\"%s\", \"%s\")", r.name, o.value);
            r.name = o.value;
            break;
        case FORMAT:
            if (!rp_format_find(o.value, &r.format))
                return rp_options_error(&o, "\"%s\" is no format", o.value);
            break;
        case HWDB:
            r.hwdb = o.value;
            break;
        case OUTPUT:
            r.output = o.value;
            break;
        }
    if (option != RP_OPTION_END)
        return option == RP_OPTION_HELP ? RP_OK : RP_USAGE;
    return show(&r, &error) == RP_OK ? RP_OK : rp_options_fail(&o, &error);
}
