/* SPDX-License-Identifier: Apache-2.0
 *
 * Plans for people and programs; see plan.h.
 */
#include "output/plan.h"

#include "output/document.h"
#include "support/units.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* VALUE to four significant digits: what a model deserves. */
static double rounded(double value) {
    char text[32];
    snprintf(text, sizeof text, "%.4g", value);
    return isfinite(value) ? strtod(text, NULL) : value;
}

/* "70 billion". */
static void write_count(double value, char *buffer, size_t size) {
    if (value >= 1e12)
        snprintf(buffer, size, "%.4g trillion", value / 1e12);
    else if (value >= 1e9)
        snprintf(buffer, size, "%.3g billion", value / 1e9);
    else if (value >= 1e6)
        snprintf(buffer, size, "%.3g million", value / 1e6);
    else
        snprintf(buffer, size, "%.0f", value);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void json_bytes(rp_json *json, const char *key, double bytes) {
    rp_json_number(json, key, round(bytes));
}

static void json_rate(rp_json *json, const char *key, double value) {
    rp_json_number(json, key, rounded(value));
}

static void json_count(rp_json *json, const char *key, int64_t count) {
    if (count >= 0)
        rp_json_integer(json, key, count);
    else
        rp_json_null(json, key);
}

static void json_memory(rp_json *json, const rp_plan_memory *m) {
    rp_json_object(json, "memory_bytes");
    json_bytes(json, "weights", m->weights);
    json_bytes(json, "master_weights", m->master_weights);
    json_bytes(json, "gradients", m->gradients);
    json_bytes(json, "optimizer", m->optimizer);
    json_bytes(json, "activations", m->activations);
    json_bytes(json, "kv_cache", m->kv_cache);
    json_bytes(json, "buffers", m->buffers);
    json_bytes(json, "total", m->total);
    json_bytes(json, "host", m->host);
    rp_json_close(json);
}

static void json_device(rp_json *json, const rp_plan_device *d) {
    rp_json_object(json, NULL);
    rp_json_string(json, "name", d->device->name);
    rp_json_integer(json, "count", d->count);
    rp_json_integer(json, "tensor_parallel", d->tp);
    rp_json_integer(json, "pipeline_parallel", d->pp);
    rp_json_integer(json, "data_parallel", d->dp);
    if (d->fits < 0)
        rp_json_null(json, "fits");
    else
        rp_json_bool(json, "fits", d->fits == 1);
    json_count(json, "min_count", d->min_count);
    json_bytes(json, "device_memory_bytes", d->memory_bytes);
    json_memory(json, &d->memory);
    rp_json_number(json, "bytes_per_param", d->memory.bytes_per_param);
    rp_json_object(json, "utilization");
    json_rate(json, "capacity", d->capacity_used);
    json_rate(json, "capacity_effective", d->capacity_effective);
    json_rate(json, "mfu_low", d->mfu_low);
    json_rate(json, "mfu_high", d->mfu_high);
    rp_json_close(json);
    rp_json_object(json, "tokens_per_s");
    json_rate(json, "bandwidth_limit", d->bandwidth_limit);
    json_rate(json, "compute_limit", d->compute_limit);
    rp_json_close(json);
    json_rate(json, "required_bytes_per_s", d->required_bytes_per_s);
    json_count(json, "min_count_by_bandwidth", d->min_count_by_bandwidth);
    json_rate(json, "ridge_batch", d->ridge_batch);
    json_rate(json, "ridge_batch_weights_only", d->ridge_batch_weights);
    json_count(json, "max_sequences", d->max_sequences);
    rp_json_object(json, "step_time_s");
    json_rate(json, "compute", d->compute_s);
    json_rate(json, "bandwidth", d->memory_s);
    json_rate(json, "communication", d->communication_s);
    json_rate(json, "roof", d->roof_s);
    json_rate(json, "likely_low", d->likely_low_s);
    json_rate(json, "likely_high", d->likely_high_s);
    rp_json_close(json);
    json_rate(json, "step_flops", d->step_flops);
    json_rate(json, "step_bytes", d->step_bytes);
    json_rate(json, "pipeline_bubble", d->bubble);
    rp_json_string(json, "bound", d->bound);
    rp_json_string(json, "link", d->link);
    rp_json_number(json, "peak_flops_per_s", d->peak_flops);
    rp_json_string(json, "peak_provenance", rp_provenance_name(d->peak_provenance));
    rp_json_number(json, "dram_bytes_per_s", d->dram_bytes_per_s);
    rp_json_string(json, "dram_provenance", rp_provenance_name(d->dram_provenance));
    rp_json_array(json, "notes");
    for (size_t i = 0; i < d->note_count; i++)
        rp_json_string(json, NULL, d->notes[i]);
    rp_json_close(json);
    rp_json_close(json);
}

static const char *mode_name(const rp_plan *plan) {
    return plan->request.mode == RP_PLAN_TRAIN ? "train" : "infer";
}

static void print_json(const rp_plan *plan, FILE *file) {
    rp_json writer, *json = &writer;

    rp_json_start(json, file);
    rp_json_object(json, NULL);
    rp_json_string(json, "schema", "roofprof.plan/1");
    rp_json_string(json, "mode", mode_name(plan));
    rp_json_string(json, "provenance", rp_provenance_name(RP_MODELLED));
    rp_json_string(json, "model", *plan->request.model.name ? plan->request.model.name : NULL);
    json_rate(json, "parameters", plan->params);
    json_rate(json, "parameters_active", plan->params_active);
    rp_json_string(json, "dtype", rp_precision_name(plan->request.dtype));
    rp_json_number(json, "batch", plan->request.batch);
    rp_json_number(json, "sequence", plan->request.sequence);
    rp_json_array(json, "devices");
    for (size_t i = 0; i < plan->device_count; i++)
        json_device(json, &plan->devices[i]);
    rp_json_close(json);
    rp_json_array(json, "assumptions");
    for (size_t i = 0; i < plan->assumption_count; i++)
        rp_json_string(json, NULL, plan->assumptions[i]);
    rp_json_close(json);
    rp_json_close(json);
}

/* ---- For people: one column a device --------------------------------------------------------- */

typedef struct sheet {
    const rp_plan *plan;
    rp_table *table;
} sheet;

typedef char *(*cell_text)(const rp_plan_device *d, double value, char *buffer, size_t size);

/* A row, unless no device knows the value (or all are 0 and ZERO_TOO is not set). */
static void add_row(sheet *s, const char *title, double (*value)(const rp_plan_device *),
                    cell_text text, bool zero_too) {
    bool any = false;
    for (size_t i = 0; i < s->plan->device_count; i++) {
        double v = value(&s->plan->devices[i]);
        any |= !isnan(v) && (zero_too || v != 0);
    }
    if (!any)
        return;
    rp_table_row(s->table);
    rp_table_text(s->table, title);
    for (size_t i = 0; i < s->plan->device_count; i++) {
        char buffer[48];
        double v = value(&s->plan->devices[i]);
        rp_table_number(s->table, v, text(&s->plan->devices[i], v, buffer, sizeof buffer));
    }
}

static char *as_bytes(const rp_plan_device *d, double v, char *buffer, size_t size) {
    (void)d;
    return rp_format_si(buffer, size, v, "B");
}

static char *as_bytes_per_s(const rp_plan_device *d, double v, char *buffer, size_t size) {
    (void)d;
    return rp_format_si(buffer, size, v, "B/s");
}

/* Three digits of whatever size: no more are known. */
static double three_digits(double v) {
    char text[32];
    snprintf(text, sizeof text, "%.3g", v);
    return isfinite(v) ? strtod(text, NULL) : v;
}

static char *as_number(const rp_plan_device *d, double v, char *buffer, size_t size) {
    (void)d;
    return rp_format_number(buffer, size, three_digits(v));
}

static char *as_count(const rp_plan_device *d, double v, char *buffer, size_t size) {
    (void)d;
    return rp_format_count(buffer, size, v >= 0 ? (unsigned long long)v : 0);
}

static char *as_time(const rp_plan_device *d, double v, char *buffer, size_t size) {
    (void)d;
    return rp_format_time(buffer, size, v);
}

static char *as_percent(const rp_plan_device *d, double v, char *buffer, size_t size) {
    (void)d;
    return rp_format_percent(buffer, size, v);
}

static char *as_likely(const rp_plan_device *d, double v, char *buffer, size_t size) {
    char low[20], high[20];
    if (d->likely_high_s <= v)
        snprintf(buffer, size, "%s or more", rp_format_time(low, sizeof low, v));
    else
        snprintf(buffer, size, "%s to %s", rp_format_time(low, sizeof low, d->likely_low_s),
                 rp_format_time(high, sizeof high, d->likely_high_s));
    return buffer;
}

#define VALUE(name_, expression_)                                                                  \
    static double name_(const rp_plan_device *d) {                                                 \
        return expression_;                                                                        \
    }
VALUE(weights, d->memory.weights)
VALUE(master, d->memory.master_weights)
VALUE(gradients, d->memory.gradients)
VALUE(optimizer, d->memory.optimizer)
VALUE(activations, d->memory.activations)
VALUE(kv_cache, d->memory.kv_cache)
VALUE(buffers, d->memory.buffers)
VALUE(total, d->memory.total)
VALUE(host, d->memory.host)
VALUE(capacity, d->memory_bytes)
VALUE(used, d->capacity_used)
VALUE(effective, d->capacity_effective)
VALUE(per_param, d->memory.bytes_per_param)
VALUE(count, (double)d->count)
VALUE(min_count, d->min_count < 0 ? NAN : (double)d->min_count)
VALUE(by_bandwidth, d->min_count_by_bandwidth < 0 ? NAN : (double)d->min_count_by_bandwidth)
VALUE(required, d->required_bytes_per_s)
VALUE(bandwidth_limit, d->bandwidth_limit)
VALUE(compute_limit, d->compute_limit)
VALUE(ridge, d->ridge_batch)
VALUE(ridge_weights, d->ridge_batch_weights)
VALUE(sequences, d->max_sequences < 0 ? NAN : (double)d->max_sequences)
VALUE(compute_s, d->compute_s)
VALUE(memory_s, d->memory_s)
VALUE(communication_s, d->communication_s)
VALUE(roof_s, d->roof_s)
VALUE(bubble, d->bubble)
VALUE(likely, d->likely_low_s)
VALUE(likely_tokens, d->likely_high_s)

static const char *fits_text(const rp_plan_device *d) {
    return d->fits < 0 ? NULL : d->fits ? "yes" : "no";
}

static void add_text_row(sheet *s, const char *title, const char *(*text)(const rp_plan_device *)) {
    rp_table_row(s->table);
    rp_table_text(s->table, title);
    for (size_t i = 0; i < s->plan->device_count; i++) {
        const rp_plan_device *d = &s->plan->devices[i];
        rp_table_text(s->table, text(d));
        if (text == fits_text && d->fits >= 0)
            rp_table_colour(s->table, d->fits ? RP_GREEN : RP_RED);
    }
}

static const char *bound_text(const rp_plan_device *d) {
    return d->bound;
}

static rp_column *make_columns(const rp_plan *plan, const char *title) {
    rp_column *columns = calloc(plan->device_count + 1, sizeof *columns);
    if (!columns)
        return NULL;
    columns[0] = (rp_column){title, title, RP_LEFT, 0, 0};
    for (size_t i = 0; i < plan->device_count; i++) {
        const char *name = plan->devices[i].device->name;
        columns[i + 1] = (rp_column){name, name, RP_RIGHT, 0, (int)i};
    }
    return columns;
}

static void memory_rows(sheet *s) {
    add_row(s, "weights", weights, as_bytes, false);
    add_row(s, "master weights", master, as_bytes, false);
    add_row(s, "gradients", gradients, as_bytes, false);
    add_row(s, "optimizer", optimizer, as_bytes, false);
    add_row(s, "activations", activations, as_bytes, false);
    add_row(s, "KV cache", kv_cache, as_bytes, false);
    add_row(s, "buffers", buffers, as_bytes, false);
    add_row(s, "total", total, as_bytes, true);
    add_row(s, "the device has", capacity, as_bytes, true);
    add_row(s, "moved to the host", host, as_bytes, false);
    add_row(s, "bytes a parameter", per_param, as_number, true);
    add_text_row(s, "fits", fits_text);
    add_row(s, "devices planned", count, as_count, true);
    add_row(s, "smallest number that fits", min_count, as_count, true);
    add_row(s, "U_cap (total / memory)", used, as_percent, true);
    add_row(s, "U_eff (distinct / occupied)", effective, as_percent, true);
}

/* Where the cache grows as fast as the arithmetic, no batch is large enough. */
static void ridge_row(sheet *s) {
    rp_table_row(s->table);
    rp_table_text(s->table, "batch where compute takes over");
    for (size_t i = 0; i < s->plan->device_count; i++) {
        const rp_plan_device *d = &s->plan->devices[i];
        char buffer[32];
        if (isnan(d->ridge_batch) && !isnan(d->ridge_batch_weights))
            rp_table_text_as(s->table, NULL, "never");
        else
            rp_table_number(s->table, d->ridge_batch,
                            as_number(d, d->ridge_batch, buffer, sizeof buffer));
    }
}

static void decode_rows(sheet *s) {
    add_row(s, "tokens/s that bandwidth allows", bandwidth_limit, as_number, true);
    add_row(s, "tokens/s that compute allows", compute_limit, as_number, true);
    add_row(s, "bandwidth that is wanted", required, as_bytes_per_s, true);
    add_row(s, "devices for that bandwidth", by_bandwidth, as_count, true);
    ridge_row(s);
    add_row(s, "the same by the weights alone", ridge_weights, as_number, true);
    add_row(s, "sequences that fit at once", sequences, as_count, true);
    add_row(s, "time of a step: bandwidth", memory_s, as_time, true);
    add_row(s, "time of a step: compute", compute_s, as_time, true);
    add_row(s, "time of a step: communication", communication_s, as_time, false);
    add_text_row(s, "bound", bound_text);
}

static char *as_tokens_range(const rp_plan_device *d, double v, char *buffer, size_t size) {
    char low[20], high[20];
    double tokens = d->compute_limit * d->compute_s; /* of a step */
    if (d->likely_high_s <= d->likely_low_s)
        return strcat(rp_format_number(buffer, size - 8, three_digits(tokens / v)), " or less");
    snprintf(buffer, size, "%s to %s",
             rp_format_number(low, sizeof low, three_digits(tokens / d->likely_high_s)),
             rp_format_number(high, sizeof high, three_digits(tokens / d->likely_low_s)));
    return buffer;
}

static void training_rows(sheet *s) {
    add_row(s, "step, by compute", compute_s, as_time, true);
    add_row(s, "step, by bandwidth", memory_s, as_time, true);
    add_row(s, "step, by communication", communication_s, as_time, false);
    add_row(s, "pipeline idle", bubble, as_percent, false);
    add_row(s, "step at the roof", roof_s, as_time, true);
    add_row(s, "step, likely", likely, as_likely, true);
    add_row(s, "tokens/s, likely", likely_tokens, as_tokens_range, true);
    add_text_row(s, "bound", bound_text);
}

static void print_table(const rp_plan *plan, const char *heading, const char *first,
                        void (*rows)(sheet *), rp_document *page) {
    rp_column *columns = make_columns(plan, first);
    sheet s = {plan, columns ? rp_table_create(columns, plan->device_count + 1) : NULL};

    if (!columns)
        return;
    rows(&s);
    rp_document_heading(page, heading);
    rp_document_table(page, s.table);
    rp_table_free(s.table);
    free(columns);
}

static void print_pages(const rp_plan *plan, FILE *file, rp_format format) {
    const rp_plan_request *r = &plan->request;
    rp_document page;
    char title[200], parameters[40];

    write_count(plan->params, parameters, sizeof parameters);
    snprintf(title, sizeof title, "%s%s%s parameters, %s in %s", r->model.name,
             *r->model.name ? ", " : "", parameters,
             r->mode == RP_PLAN_TRAIN ? "training" : "inference", rp_precision_name(r->dtype));
    page = rp_document_start(file, format, title);
    print_table(plan, "Memory of one device", "part", memory_rows, &page);
    print_table(plan, r->mode == RP_PLAN_TRAIN ? "Training step" : "Decoding",
                r->mode == RP_PLAN_TRAIN ? "step" : "figure",
                r->mode == RP_PLAN_TRAIN ? training_rows : decode_rows, &page);
    for (size_t d = 0; d < plan->device_count; d++)
        for (size_t i = 0; i < plan->devices[d].note_count; i++)
            rp_document_note(&page, "Note: %s.", plan->devices[d].notes[i]);
    rp_document_heading(&page, "Assumptions (all figures are modelled)");
    for (size_t i = 0; i < plan->assumption_count; i++)
        rp_document_item(&page, "%s", plan->assumptions[i]);
    rp_document_end(&page);
}

/* ---- CSV: one line a device ------------------------------------------------------------------ */

static void print_csv(const rp_plan *plan, FILE *file) {
    static const struct {
        const char *key;
        double (*value)(const rp_plan_device *);
        bool exact; /* counts and bytes; what is modelled is good to a few digits */
    } fields[] = {{"count", count, true},
                  {"min_count", min_count, true},
                  {"device_memory_bytes", capacity, true},
                  {"weights_bytes", weights, true},
                  {"master_weights_bytes", master, true},
                  {"gradients_bytes", gradients, true},
                  {"optimizer_bytes", optimizer, true},
                  {"activations_bytes", activations, true},
                  {"kv_cache_bytes", kv_cache, true},
                  {"buffers_bytes", buffers, true},
                  {"total_bytes", total, true},
                  {"bytes_per_param", per_param, false},
                  {"utilization_capacity", used, false},
                  {"utilization_capacity_effective", effective, false},
                  {"bandwidth_limit_tokens_per_s", bandwidth_limit, false},
                  {"compute_limit_tokens_per_s", compute_limit, false},
                  {"required_bytes_per_s", required, false},
                  {"min_count_by_bandwidth", by_bandwidth, true},
                  {"ridge_batch", ridge, false},
                  {"max_sequences", sequences, true},
                  {"step_compute_s", compute_s, false},
                  {"step_bandwidth_s", memory_s, false},
                  {"step_communication_s", communication_s, false},
                  {"step_likely_low_s", likely, false},
                  {"step_likely_high_s", likely_tokens, false}};
    enum { FIELDS = sizeof fields / sizeof *fields };
    rp_column columns[FIELDS + 3] = {{"device", "", RP_LEFT, 0, 0}, {"fits", "", RP_LEFT, 0, 0}};
    rp_table *t;

    for (size_t f = 0; f < FIELDS; f++)
        columns[2 + f] = (rp_column){fields[f].key, "", RP_RIGHT, 0, 0};
    columns[FIELDS + 2] = (rp_column){"bound", "", RP_LEFT, 0, 0};
    t = rp_table_create(columns, FIELDS + 3);
    for (size_t i = 0; i < plan->device_count; i++) {
        const rp_plan_device *d = &plan->devices[i];
        rp_table_row(t);
        rp_table_text(t, d->device->name);
        rp_table_text(t, fits_text(d));
        for (size_t f = 0; f < FIELDS; f++) {
            double value = fields[f].value(d);
            rp_table_number(t, fields[f].exact ? value : rounded(value), "");
        }
        rp_table_text(t, d->bound);
    }
    rp_table_print(t, file, RP_FORMAT_CSV, rp_style_of(file));
    rp_table_free(t);
}

void rp_plan_print(const rp_plan *plan, FILE *file, rp_format format) {
    if (format == RP_FORMAT_JSON)
        print_json(plan, file);
    else if (format == RP_FORMAT_CSV)
        print_csv(plan, file);
    else
        print_pages(plan, file, format);
}
