/* SPDX-License-Identifier: Apache-2.0
 *
 * Loading the hardware database: where its files are, which columns they have, and the making of
 * devices, rules, links and measurements from their records.
 */
#include "hwdb/internal.h"

#include <dlfcn.h>
#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Tables ---------------------------------------------------------------------------------- */

#define PEAKS                                                                                      \
    "fp64_vector", "fp32_vector", "fp16_vector", "fp64_tensor", "tf32_tensor", "fp16_tensor",      \
        "fp16_acc16_tensor", "bf16_tensor", "fp8_tensor", "fp6_tensor", "fp4_tensor",              \
        "int8_tensor"
static const char *const peak_columns[] = {PEAKS, NULL};
static const char *const device_columns[] = {"name",
                                             "aliases",
                                             "vendor",
                                             "arch",
                                             "chip",
                                             "variant",
                                             "compute_capability",
                                             "sm_count",
                                             "boost_mhz",
                                             "tensor_mhz",
                                             "memory_gb",
                                             "memory_bytes",
                                             "memory_type",
                                             "memory_bus_bits",
                                             "memory_mhz",
                                             "dram_gbs",
                                             "l2_mib",
                                             "shared_kib_per_sm",
                                             PEAKS,
                                             "sparse_factor",
                                             "nvlink_gbs",
                                             "pcie",
                                             "tdp_w",
                                             "pci_ids",
                                             "device_names",
                                             "derived",
                                             "flags",
                                             "check",
                                             "source",
                                             "note",
                                             NULL};
static const char *const device_keys[] = {"name", NULL};
static const char *const throughput_columns[] = {"key",        "variant", "limit", "instruction",
                                                 "accumulate", "value",   "unit",  "source",
                                                 "note",       NULL};
static const char *const throughput_keys[] = {"key",         "variant",    "limit",
                                              "instruction", "accumulate", NULL};
static const char *const measured_columns[] = {
    "device", "quantity",        "value",  "unit", "peak_column",
    "peak",   "percent_of_peak", "source", "note", NULL};
static const char *const link_columns[] = {"link",         "generation", "gbs_per_lane", "lanes",
                                           "measured_gbs", "source",     "note",         NULL};
static const char *const link_keys[] = {"link", NULL};
static const char *const rule_columns[] = {"quantity", "chips",  "metric", "factor", "profile",
                                           "estimate", "source", "note",   NULL};
static const char *const ceiling_columns[] = {
    "device", "ceiling", "value",  "unit",          "clock_mhz", "provenance", "source",
    "note",   "uuid",    "driver", "power_limit_w", "date",      NULL};
static const char *const ceiling_keys[] = {"device", "ceiling", NULL};
static const char *const no_keys[] = {NULL};

enum { DEVICES, THROUGHPUT, MEASURED, LINKS, RULES, CEILINGS, TABLES };
static const char *const file_names[TABLES] = {"devices.csv",  "throughput.csv",
                                               "measured.csv", "interconnect.csv",
                                               "metrics.csv",  "ceilings.csv"};

static rp_hw_table *table_at(rp_hwdb *db, int i) {
    rp_hw_table *tables[TABLES] = {&db->devices_table, &db->throughput_table, &db->measured_table,
                                   &db->links_table,   &db->rules_table,      &db->ceilings_table};
    return tables[i];
}

static void init_tables(rp_hwdb *db) {
    rp_hw_table_init(&db->devices_table, "devices", device_columns, device_keys);
    rp_hw_table_init(&db->throughput_table, "throughput", throughput_columns, throughput_keys);
    rp_hw_table_init(&db->measured_table, "measured", measured_columns, no_keys);
    rp_hw_table_init(&db->links_table, "interconnect", link_columns, link_keys);
    rp_hw_table_init(&db->rules_table, "metrics", rule_columns, no_keys);
    rp_hw_table_init(&db->ceilings_table, "ceilings", ceiling_columns, ceiling_keys);
}

/* ---- Fields ---------------------------------------------------------------------------------- */

static const char *text_of(const rp_hw_table *table, const rp_hw_row *row, const char *column) {
    return row->field[rp_hw_table_column(table, column)];
}

/* A number that is not negative; NAN where the field is empty. Anything else is an error that ends
 * the load (kept in db->error). */
static double number_of(rp_hwdb *db, const rp_hw_table *table, const rp_hw_row *row,
                        const char *column) {
    const char *text = text_of(table, row, column);
    char *end;
    double value;

    if (!*text)
        return NAN;
    value = strtod(text, &end);
    if (*end || end == text || !isfinite(value) || value < 0) {
        if (db->error && db->error->code == RP_OK)
            rp_fail(db->error, RP_INPUT, "%s:%d: %s is \"%.60s\": not a number", row->file,
                    row->line, column, text);
        return NAN;
    }
    return value;
}

static int64_t integer_of(rp_hwdb *db, const rp_hw_table *table, const rp_hw_row *row,
                          const char *column) {
    double value = number_of(db, table, row, column);
    if (isnan(value))
        return -1;
    if (value != floor(value) || value > 9e15) {
        if (db->error && db->error->code == RP_OK)
            rp_fail(db->error, RP_INPUT, "%s:%d: %s is \"%.60s\": not an integer", row->file,
                    row->line, column, text_of(table, row, column));
        return -1;
    }
    return (int64_t)value;
}

static int64_t scaled_integer(double value, double factor) {
    return isnan(value) ? -1 : (int64_t)llround(value * factor);
}

/* ---- Devices --------------------------------------------------------------------------------- */

static void add_datasheet(rp_hwdb *db, const rp_hw_row *row, const rp_device *device,
                          rp_ceiling_list *list) {
    const rp_hw_table *t = &db->devices_table;
    rp_ceiling dram = {.level = RP_DRAM, .clock_hz = device->memory_hz, .source = device->source};

    dram.rate = number_of(db, t, row, "dram_gbs") * 1e9;
    dram.provenance = rp_list_has(device->derived, "dram_gbs") ? RP_ESTIMATED : RP_DATASHEET;
    rp_ceilings_add(list, &dram);
    for (size_t i = 0; peak_columns[i]; i++) {
        rp_ceiling c;
        char key[64];
        double rate = number_of(db, t, row, peak_columns[i]) * 1e12;

        rp_ceiling_from_key(peak_columns[i], &c);
        c.rate = rate;
        c.source = device->source;
        c.clock_hz = c.path == RP_TENSOR && c.precision != RP_FP64 && !isnan(device->tensor_hz)
                         ? device->tensor_hz
                         : device->boost_hz;
        c.provenance = rp_list_has(device->derived, peak_columns[i]) ? RP_ESTIMATED : RP_DATASHEET;
        rp_ceilings_add(list, &c);
        if (c.path != RP_TENSOR || c.precision == RP_FP64 || !(device->sparse_factor > 1))
            continue;
        c.sparse = true;
        c.rate *= device->sparse_factor;
        rp_ceiling_key(&c, key, sizeof key);
        if (!rp_list_has(device->flags, key))
            rp_ceilings_add(list, &c);
    }
}

static void add_links(rp_hwdb *db, const rp_device *device, rp_ceiling_list *list) {
    rp_ceiling c = {.level = RP_NVLINK,
                    .clock_hz = NAN,
                    .provenance = RP_DATASHEET,
                    .rate = device->nvlink_bytes_per_s,
                    .source = device->source};
    (void)db;
    rp_ceilings_add(list, &c);
    c.level = RP_PCIE;
    c.rate = device->pcie_bytes_per_s;
    rp_ceilings_add(list, &c);
}

/* Newest first; a record without a date, which somebody wrote by hand, before all others. */
static bool is_newer(const char *a, const char *b) {
    return !*a ? *b != 0 : *b && strcmp(a, b) > 0;
}

static bool make_recorded(rp_hwdb *db, const rp_hw_row *row, rp_ceiling *c) {
    const rp_hw_table *t = &db->ceilings_table;
    const char *unit = text_of(t, row, "unit"), *provenance = text_of(t, row, "provenance");

    if (!rp_ceiling_from_key(text_of(t, row, "ceiling"), c)) {
        rp_fail(db->error, RP_INPUT, "%s:%d: \"%.60s\" is no ceiling (as in fp16_tensor, dram)",
                row->file, row->line, text_of(t, row, "ceiling"));
        return false;
    }
    if (strcmp(unit, "B/s") && strcmp(unit, "FLOP/s") && strcmp(unit, "OP/s")) {
        rp_fail(db->error, RP_INPUT, "%s:%d: the unit must be B/s, FLOP/s or OP/s", row->file,
                row->line);
        return false;
    }
    c->rate = number_of(db, t, row, "value");
    c->clock_hz = number_of(db, t, row, "clock_mhz") * 1e6;
    c->source = text_of(t, row, "source");
    c->uuid = text_of(t, row, "uuid");
    c->driver = text_of(t, row, "driver");
    c->power_limit_w = number_of(db, t, row, "power_limit_w");
    c->date = text_of(t, row, "date");
    c->provenance = !*provenance || !strcmp(provenance, "calibrated") ? RP_CALIBRATED
                    : !strcmp(provenance, "emulated")                 ? RP_EMULATED
                                                                      : RP_USER;
    return true;
}

/* What calibrate, or the user, wrote down for this device: of several records the first counts. */
static void add_recorded(rp_hwdb *db, const rp_device *device, rp_ceiling_list *list) {
    const rp_hw_table *t = &db->ceilings_table;
    const size_t first = list->count;

    for (size_t r = 0; r < t->row_count; r++) {
        rp_ceiling c;
        if (strcmp(text_of(t, &t->rows[r], "device"), device->name))
            continue;
        if (!make_recorded(db, &t->rows[r], &c))
            return;
        const size_t before = list->count;
        rp_ceilings_add(list, &c);
        for (size_t i = before; list->count > before && i > first; i--) {
            if (!is_newer(c.date, list->items[i - 1].date))
                break;
            list->items[i] = list->items[i - 1];
            list->items[i - 1] = c;
        }
    }
}

static void parse_capability(rp_device *device, const char *text) {
    snprintf(device->compute_capability, sizeof device->compute_capability, "%s", text);
    device->cc_major = device->cc_minor = -1;
    if (sscanf(text, "%d.%d", &device->cc_major, &device->cc_minor) != 2)
        device->cc_major = device->cc_minor = -1;
}

static double link_rate(const rp_hwdb *db, const char *prefix, const char *name) {
    char full[64];
    const rp_link *link;
    snprintf(full, sizeof full, "%s%s", prefix, name);
    link = *name ? rp_hwdb_find_link(db, full) : NULL;
    return link ? link->bytes_per_s : NAN;
}

static rp_code make_device(rp_hwdb *db, const rp_hw_row *row, rp_device *d) {
    const rp_hw_table *t = &db->devices_table;
    rp_ceiling_list list = {0};
    double label = number_of(db, t, row, "memory_gb");
    double l2 = number_of(db, t, row, "l2_mib"),
           shared = number_of(db, t, row, "shared_kib_per_sm");

    d->name = text_of(t, row, "name");
    d->aliases = text_of(t, row, "aliases");
    d->vendor = text_of(t, row, "vendor");
    d->arch = text_of(t, row, "arch");
    d->chip = text_of(t, row, "chip");
    d->variant = text_of(t, row, "variant");
    parse_capability(d, text_of(t, row, "compute_capability"));
    d->sm_count = integer_of(db, t, row, "sm_count");
    d->boost_hz = number_of(db, t, row, "boost_mhz") * 1e6;
    d->tensor_hz = number_of(db, t, row, "tensor_mhz") * 1e6;
    d->memory_hz = number_of(db, t, row, "memory_mhz") * 1e6;
    d->memory_label_gb = label;
    d->memory_bytes = integer_of(db, t, row, "memory_bytes");
    d->memory_bytes_reported = d->memory_bytes >= 0;
    if (!d->memory_bytes_reported)
        d->memory_bytes = scaled_integer(label, 1e9);
    d->memory_type = text_of(t, row, "memory_type");
    d->memory_bus_bits = integer_of(db, t, row, "memory_bus_bits");
    d->l2_bytes = scaled_integer(l2, 1048576);
    d->shared_bytes_per_sm = scaled_integer(shared, 1024);
    d->tdp_w = number_of(db, t, row, "tdp_w");
    d->sparse_factor = number_of(db, t, row, "sparse_factor");
    d->nvlink_bytes_per_s = number_of(db, t, row, "nvlink_gbs") * 1e9 / 2; /* printed: both ways */
    d->pcie = text_of(t, row, "pcie");
    d->pcie_bytes_per_s = link_rate(db, "pcie", d->pcie);
    d->pci_ids = text_of(t, row, "pci_ids");
    d->device_names = text_of(t, row, "device_names");
    d->derived = text_of(t, row, "derived");
    d->flags = text_of(t, row, "flags");
    d->ops_check = text_of(t, row, "check");
    d->source = text_of(t, row, "source");
    d->note = text_of(t, row, "note");
    d->user = row->overlay;
    add_datasheet(db, row, d, &list);
    add_links(db, d, &list);
    rp_ceilings_theoretical(db, d, &list);
    add_recorded(db, d, &list);
    d->ceilings = list.items;
    d->ceiling_count = list.count;
    if (list.full)
        return rp_fail(db->error, RP_INTERNAL, "out of memory");
    return db->error->code;
}

static rp_code make_devices(rp_hwdb *db) {
    const rp_hw_table *t = &db->devices_table;

    db->devices = calloc(t->row_count + 1, sizeof *db->devices);
    db->found = calloc(t->row_count + 1, sizeof *db->found);
    if (!db->devices || !db->found)
        return rp_fail(db->error, RP_INTERNAL, "out of memory");
    for (size_t r = 0; r < t->row_count; r++) {
        db->device_count = r + 1;
        if (make_device(db, &t->rows[r], &db->devices[r]) != RP_OK)
            return db->error->code;
    }
    return RP_OK;
}

/* ---- Links and measurements ------------------------------------------------------------------ */

static rp_code make_links(rp_hwdb *db) {
    const rp_hw_table *t = &db->links_table;

    db->links = calloc(t->row_count + 1, sizeof *db->links);
    if (!db->links)
        return rp_fail(db->error, RP_INTERNAL, "out of memory");
    for (size_t r = 0; r < t->row_count; r++) {
        const rp_hw_row *row = &t->rows[r];
        rp_link *link = &db->links[r];
        link->name = text_of(t, row, "link");
        link->generation = text_of(t, row, "generation");
        link->bytes_per_s_lane = number_of(db, t, row, "gbs_per_lane") * 1e9;
        link->lanes = (int)integer_of(db, t, row, "lanes");
        link->bytes_per_s = link->lanes > 0 ? link->bytes_per_s_lane * link->lanes : NAN;
        link->measured_bytes_per_s = number_of(db, t, row, "measured_gbs") * 1e9;
        link->source = text_of(t, row, "source");
        link->note = text_of(t, row, "note");
    }
    db->link_count = t->row_count;
    return db->error->code;
}

static double unit_factor(const char *unit, const char **base) {
    static const struct {
        const char *unit, *base;
        double factor;
    } units[] = {{"GB/s", "B/s", 1e9},       {"TB/s", "B/s", 1e12},       {"B/s", "B/s", 1},
                 {"GFLOP/s", "FLOP/s", 1e9}, {"TFLOP/s", "FLOP/s", 1e12}, {"FLOP/s", "FLOP/s", 1},
                 {"TOP/s", "OP/s", 1e12},    {"OP/s", "OP/s", 1},         {"cycle", "cycle", 1}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (!strcmp(unit, units[i].unit)) {
            *base = units[i].base;
            return units[i].factor;
        }
    return NAN;
}

static rp_code make_measurements(rp_hwdb *db) {
    const rp_hw_table *t = &db->measured_table;

    db->measurements = calloc(t->row_count + 1, sizeof *db->measurements);
    if (!db->measurements)
        return rp_fail(db->error, RP_INTERNAL, "out of memory");
    for (size_t r = 0; r < t->row_count; r++) {
        const rp_hw_row *row = &t->rows[r];
        rp_measurement *m = &db->measurements[r];
        double factor = unit_factor(text_of(t, row, "unit"), &m->unit);
        if (isnan(factor))
            return rp_fail(db->error, RP_INPUT, "%s:%d: unknown unit \"%.40s\"", row->file,
                           row->line, text_of(t, row, "unit"));
        m->device = text_of(t, row, "device");
        m->quantity = text_of(t, row, "quantity");
        m->value = number_of(db, t, row, "value") * factor;
        m->fraction_of_peak = number_of(db, t, row, "percent_of_peak") / 100;
        m->source = text_of(t, row, "source");
        m->note = text_of(t, row, "note");
    }
    db->measurement_count = t->row_count;
    return db->error->code;
}

/* ---- Metric rules ---------------------------------------------------------------------------- */

/* Splits TEXT in place: TERM { +|- TERM }, a term being factors joined by '*' and at most one
 * divisor after '/'. */
static bool parse_term(char *text, rp_metric_term *term) {
    char *divisor = strchr(text, '/'), *save = NULL;

    if (divisor) {
        *divisor++ = 0;
        if (!*divisor || strpbrk(divisor, "*/"))
            return false;
        term->divisor = divisor;
    }
    for (char *f = strtok_r(text, "*", &save); f; f = strtok_r(NULL, "*", &save)) {
        char *end;
        double number = strtod(f, &end);
        if (end != f && !*end && isfinite(number))
            term->coefficient *= number;
        else if (!term->metric)
            term->metric = f;
        else if (!term->times)
            term->times = f;
        else
            return false;
    }
    return term->metric != NULL;
}

static bool parse_terms(char *text, rp_metric_rule *rule) {
    size_t room = 1;
    rp_metric_term *terms;
    char *p = text;

    for (const char *c = text; *c; c++)
        room += *c == '+' || *c == '-';
    terms = calloc(room, sizeof *terms);
    rule->terms = terms;
    if (!terms)
        return false;
    for (double sign = 1;;) {
        size_t n = strcspn(p, "+-");
        char stop = p[n];
        p[n] = 0;
        terms[rule->term_count].coefficient = sign;
        if (!n || !parse_term(p, &terms[rule->term_count++]))
            return false;
        if (!stop)
            return true;
        sign = stop == '-' ? -1 : 1;
        p += n + 1;
    }
}

static rp_code make_rule(rp_hwdb *db, const rp_hw_row *row, rp_metric_rule *rule, char **text) {
    const rp_hw_table *t = &db->rules_table;
    const char *key = text_of(t, row, "quantity");

    rule->quantity = rp_quantity_find(key);
    rule->chips = *text_of(t, row, "chips") ? text_of(t, row, "chips") : "*";
    rule->metric = text_of(t, row, "metric");
    rule->factor = number_of(db, t, row, "factor");
    rule->profile = text_of(t, row, "profile");
    rule->estimate = *text_of(t, row, "estimate") == '1';
    rule->source = text_of(t, row, "source");
    rule->note = text_of(t, row, "note");
    if (isnan(rule->factor))
        rule->factor = 1;
    if (rule->quantity == RP_QUANTITIES)
        return rp_fail(db->error, RP_INPUT, "%s:%d: \"%.60s\" is no quantity", row->file, row->line,
                       key);
    *text = strdup(rule->metric); /* the terms point into it */
    if (!*text)
        return rp_fail(db->error, RP_INTERNAL, "out of memory");
    if (!parse_terms(*text, rule))
        return rp_fail(db->error, RP_INPUT,
                       "%s:%d: \"%.100s\" cannot be understood (as in a.sum+2*b.sum-c.sum/d.avg)",
                       row->file, row->line, rule->metric);
    return RP_OK;
}

static rp_code make_rules(rp_hwdb *db) {
    const rp_hw_table *t = &db->rules_table;

    db->rules = calloc(t->row_count + 1, sizeof *db->rules);
    db->rule_texts = calloc(t->row_count + 1, sizeof *db->rule_texts);
    if (!db->rules || !db->rule_texts)
        return rp_fail(db->error, RP_INTERNAL, "out of memory");
    for (size_t r = 0; r < t->row_count; r++) {
        db->rule_count = r + 1;
        if (make_rule(db, &t->rows[r], &db->rules[r], &db->rule_texts[r]) != RP_OK)
            return db->error->code;
    }
    return db->error->code;
}

bool rp_metric_rule_applies(const rp_metric_rule *rule, const char *chip) {
    char glob[64];

    if (!chip || !*chip)
        return !rule->estimate;
    for (const char *p = rule->chips; *p;) {
        size_t n = strcspn(p, ";");
        snprintf(glob, sizeof glob, "%.*s", (int)(n < 60 ? n : 60), p);
        if (!fnmatch(glob, chip, 0))
            return true;
        p += n + (p[n] == ';');
    }
    return false;
}

double rp_metric_rule_value(const rp_metric_rule *rule,
                            double (*lookup)(void *context, const char *metric), void *context) {
    double sum = 0;

    for (size_t i = 0; i < rule->term_count; i++) {
        const rp_metric_term *t = &rule->terms[i];
        double value = t->coefficient * lookup(context, t->metric);
        if (t->times)
            value *= lookup(context, t->times);
        if (t->divisor) {
            double divisor = lookup(context, t->divisor);
            value = divisor != 0 ? value / divisor : NAN;
        }
        sum += value;
    }
    return rule->factor * sum;
}

/* ---- Where the files are --------------------------------------------------------------------- */

/* The file that this code was loaded from: the program, or a library in somebody else's (which may
 * have been named by a link). */
static bool own_path(char *path, size_t size) {
    Dl_info info;
    ssize_t n;

    if (dladdr((void *)(uintptr_t)own_path, &info) && info.dli_fname && info.dli_fname[0] == '/') {
        char real[PATH_MAX];
        snprintf(path, size, "%s", realpath(info.dli_fname, real) ? real : info.dli_fname);
        return true;
    }
    n = readlink("/proc/self/exe", path, size - 1);
    if (n <= 0)
        return false;
    path[n] = 0;
    return true;
}

static bool has_devices(const char *folder) {
    char path[PATH_MAX + 128];
    snprintf(path, sizeof path, "%s/%s", folder, file_names[DEVICES]);
    return !access(path, R_OK);
}

/* An installed program reads the folder beside it, so that a prefix can be moved; one in its build
 * tree the source tree; any other the folder it was configured for. */
char *rp_hwdb_shipped_folder(void) {
    const char *fixed = getenv("ROOFPROF_HWDB");
    const char *build = ROOFPROF_BUILD_FOLDER;
    char own[PATH_MAX], folder[PATH_MAX + 64];

    if (fixed && *fixed)
        return strdup(fixed);
    if (own_path(own, sizeof own)) {
        size_t n = strlen(build);
        bool uninstalled = !strncmp(own, build, n) && own[n] == '/';
        /* prefix/bin/, prefix/lib/roofprof/, prefix/lib/x86_64-linux-gnu/roofprof/emulator/ */
        for (int up = 0; up < 5; up++) {
            char *slash = strrchr(own, '/');
            if (!slash || slash == own)
                break;
            *slash = 0;
            snprintf(folder, sizeof folder, "%s/share/roofprof/hwdb", own);
            if (has_devices(folder))
                return strdup(folder);
        }
        if (uninstalled && has_devices(ROOFPROF_HWDB_SOURCE))
            return strdup(ROOFPROF_HWDB_SOURCE);
    }
    return strdup(has_devices(ROOFPROF_HWDB_INSTALLED) ? ROOFPROF_HWDB_INSTALLED
                                                       : ROOFPROF_HWDB_SOURCE);
}

static rp_code read_folder(rp_hwdb *db, const char *folder, bool overlay) {
    for (int i = 0; i < TABLES; i++) {
        char path[PATH_MAX];
        snprintf(path, sizeof path, "%s/%s", folder, file_names[i]);
        if ((overlay || i == CEILINGS) && access(path, F_OK))
            continue;
        rp_code code = rp_hw_table_read(table_at(db, i), path, overlay, db->error);
        if (code != RP_OK)
            return code;
    }
    return RP_OK;
}

bool rp_hwdb_user_folder(char *path, size_t size) {
    const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");

    if (data && *data == '/')
        snprintf(path, size, "%s/roofprof", data);
    else if (home && *home == '/')
        snprintf(path, size, "%s/.local/share/roofprof", home);
    else
        return false;
    return true;
}

static rp_code read_user_folder(rp_hwdb *db) {
    char folder[PATH_MAX];
    return rp_hwdb_user_folder(folder, sizeof folder) ? read_folder(db, folder, true) : RP_OK;
}

static rp_code read_overlay(rp_hwdb *db, const char *path) {
    struct stat info;

    if (stat(path, &info))
        return rp_fail(db->error, RP_INPUT, "%s: cannot be read: %s", path, strerror(errno));
    if (S_ISDIR(info.st_mode)) {
        bool any = false;
        for (int i = 0; i < TABLES; i++) {
            char file[PATH_MAX];
            snprintf(file, sizeof file, "%s/%s", path, file_names[i]);
            any |= !access(file, F_OK);
        }
        if (!any)
            return rp_fail(db->error, RP_INPUT,
                           "%s: holds none of devices.csv, throughput.csv, measured.csv, "
                           "interconnect.csv, metrics.csv, ceilings.csv",
                           path);
        return read_folder(db, path, true);
    }
    for (int i = 0; i < TABLES; i++)
        if (rp_hw_table_fits(table_at(db, i), path))
            return rp_hw_table_read(table_at(db, i), path, true, db->error);
    /* What is wrong is told by the reader of the table that it most likely is. */
    rp_code code = rp_hw_table_read(&db->devices_table, path, true, db->error);
    return code != RP_OK
               ? code
               : rp_fail(db->error, RP_INPUT,
                         "%s: its columns are those of no table (see the manual's chapter "
                         "on the hardware database)",
                         path);
}

/* ---- The whole ------------------------------------------------------------------------------- */

static rp_code load(rp_hwdb *db, const char *overlay) {
    rp_code code;

    db->folder = rp_hwdb_shipped_folder();
    if (!db->folder)
        return rp_fail(db->error, RP_INTERNAL, "out of memory");
    if (!has_devices(db->folder))
        return rp_fail(db->error, RP_MACHINE,
                       "the hardware database is not at %s; set ROOFPROF_HWDB to its folder",
                       db->folder);
    (void)((code = read_folder(db, db->folder, false)) || (code = read_user_folder(db)) ||
           (code = overlay ? read_overlay(db, overlay) : RP_OK) || (code = make_links(db)) ||
           (code = make_devices(db)) || (code = make_measurements(db)) || (code = make_rules(db)));
    return code;
}

rp_code rp_hwdb_load(rp_hwdb **db, const char *overlay, rp_error *error) {
    rp_error own = {0};
    rp_code code;

    *db = calloc(1, sizeof **db);
    if (!*db)
        return rp_fail(error, RP_INTERNAL, "out of memory");
    (*db)->error = &own;
    init_tables(*db);
    code = load(*db, overlay);
    (*db)->error = NULL;
    if (code != RP_OK) {
        rp_hwdb_free(*db);
        *db = NULL;
        return rp_fail(error, code, "%s", own.message);
    }
    return RP_OK;
}

void rp_hwdb_free(rp_hwdb *db) {
    if (!db)
        return;
    for (size_t i = 0; i < db->device_count; i++)
        free((void *)(uintptr_t)db->devices[i].ceilings);
    for (size_t i = 0; i < db->rule_count; i++) {
        free((void *)(uintptr_t)db->rules[i].terms);
        free(db->rule_texts[i]);
    }
    for (int i = 0; i < TABLES; i++)
        rp_hw_table_free(table_at(db, i));
    free(db->devices);
    free(db->found);
    free(db->rules);
    free(db->rule_texts);
    free(db->links);
    free(db->measurements);
    free(db->folder);
    free(db);
}

const char *rp_hwdb_folder(const rp_hwdb *db) {
    return db->folder;
}

size_t rp_hwdb_count(const rp_hwdb *db) {
    return db->device_count;
}

const rp_device *rp_hwdb_at(const rp_hwdb *db, size_t i) {
    return i < db->device_count ? &db->devices[i] : NULL;
}

size_t rp_hwdb_rule_count(const rp_hwdb *db) {
    return db->rule_count;
}

const rp_metric_rule *rp_hwdb_rule(const rp_hwdb *db, size_t i) {
    return i < db->rule_count ? &db->rules[i] : NULL;
}

size_t rp_hwdb_link_count(const rp_hwdb *db) {
    return db->link_count;
}

const rp_link *rp_hwdb_link(const rp_hwdb *db, size_t i) {
    return i < db->link_count ? &db->links[i] : NULL;
}

const rp_link *rp_hwdb_find_link(const rp_hwdb *db, const char *name) {
    for (size_t i = 0; i < db->link_count; i++)
        if (!strcmp(db->links[i].name, name))
            return &db->links[i];
    return NULL;
}

size_t rp_hwdb_measurement_count(const rp_hwdb *db) {
    return db->measurement_count;
}

const rp_measurement *rp_hwdb_measurement(const rp_hwdb *db, size_t i) {
    return i < db->measurement_count ? &db->measurements[i] : NULL;
}
