/* SPDX-License-Identifier: Apache-2.0
 *
 * roofprof metrics: the configurations of counters that are collected on a chip, their metrics and
 * passes, held against CUPTI's host interface, or the library beside an older one, where one is
 * found; no GPU is needed.
 */
#include "commands/commands.h"

#include "commands/options.h"
#include "hwdb/hwdb.h"
#include "hwdb/metric_sets.h"
#include "output/document.h"
#include "output/json.h"
#include "output/table.h"
#include "support/cupti_result.h"
#include "tracer/bind.h"
#include "tracer/host.h"

#include <stdlib.h>
#include <string.h>

enum option { FORMAT, CHECK, HWDB };

static const rp_option table[] = {
    [FORMAT] = {"format", 'f', "FORMAT", "text (default), json, csv, md or html"},
    [CHECK] = {"check", 0, NULL, "exit 1 unless a CUPTI confirms every metric and count of passes"},
    [HWDB] = {"hwdb", 0, "FILE", "further records for the hardware database"},
};

static const char intro[] =
    "Shows which counters are collected on CHIP (as CUPTI calls it: GH100, GA102; or a\n"
    "device: H100), in which configurations, and how many passes each takes. HW and\n"
    "SASS are one pass each, FULL2 is both with all peaks, TENSOR0... count tensor\n"
    "operations by precision, WHY looks for the reason of a slow kernel. 'all': every\n"
    "chip. If a CUPTI is found, it is asked: its host interface (CUDA 12.6 and later)\n"
    "or the NVPW library beside it, which is what counting uses where that is all.\n";

typedef struct checked {
    const rp_metric_set *set;
    int result;          /* CUPTI's; -1: none was asked */
    size_t passes;       /* what CUPTI says */
    const char *refused; /* a metric; NULL */
    char chip[32];       /* that was asked for last */
} checked;

typedef struct metrics_command {
    rp_format format;
    bool check;
    const char *chip, *hwdb;
    host_api cupti;
    bool have_cupti;
    char reason[256];
} metrics_command;

static int try_cupti(void *context, const char *path) {
    metrics_command *m = context;
    return host_open(&m->cupti, path, m->reason) == 0;
}

/* "H100" becomes "GH100" if no set is for a chip of that name. */
static const char *chip_of(const rp_metric_sets *sets, const rp_hwdb *db, const char *name) {
    const rp_device *device;
    for (size_t i = 0; i < rp_metric_sets_count(sets); i++)
        if (rp_metric_set_is_for(rp_metric_sets_at(sets, i), name))
            return name;
    return rp_hwdb_find(db, name, &device, NULL, NULL) == RP_OK ? device->chip : name;
}

static bool agrees(const checked *c) {
    return c->result == 0 && c->passes == (size_t)c->set->passes;
}

/* Asks for CHIP, or (NULL) for each chip of the set's list until one disagrees. */
static void check_set(const metrics_command *m, const char *chip, checked *c) {
    c->result = -1;
    for (const char *s = chip ? chip : c->set->chips; m->have_cupti && *s; s += *s == ';') {
        size_t length = strcspn(s, ";");
        snprintf(c->chip, sizeof c->chip, "%.*s", (int)length, s);
        c->result = host_count_passes(&m->cupti, c->chip, c->set->metrics, c->set->metric_count,
                                      &c->passes, &c->refused);
        if (!agrees(c))
            return;
        s += length;
    }
}

static void verdict(const checked *c, char *text, size_t size) {
    const rp_cupti_result *r = rp_cupti_result_find(c->result);
    if (c->result < 0)
        snprintf(text, size, "not asked");
    else if (c->refused)
        snprintf(text, size, "%s has no metric %s", c->chip, c->refused);
    else if (c->result)
        snprintf(text, size, "%s: refused: %s", c->chip, r->name);
    else if (agrees(c))
        snprintf(text, size, "confirmed");
    else
        snprintf(text, size, "%s: %zu passes", c->chip, c->passes);
}

static void print_json(const metrics_command *m, const char *chip, const checked *list, size_t n) {
    rp_json json;
    char text[160];
    rp_json_start(&json, stdout);
    rp_json_object(&json, NULL);
    rp_json_string(&json, "schema", "roofprof.metrics/1");
    rp_json_string(&json, "chip", chip);
    if (m->have_cupti)
        rp_json_count(&json, "cupti_version", m->cupti.version);
    else
        rp_json_null(&json, "cupti_version");
    if (m->have_cupti)
        rp_json_string(&json, "interface", host_name(&m->cupti));
    else
        rp_json_null(&json, "interface");
    rp_json_array(&json, "configurations");
    for (size_t i = 0; i < n; i++) {
        rp_json_object(&json, NULL);
        rp_json_string(&json, "name", list[i].set->profile);
        if (!chip)
            rp_json_string(&json, "chips", list[i].set->chips);
        rp_json_integer(&json, "passes", list[i].set->passes);
        verdict(&list[i], text, sizeof text);
        rp_json_string(&json, "cupti", text);
        rp_json_array(&json, "metrics");
        for (size_t k = 0; k < list[i].set->metric_count; k++)
            rp_json_string(&json, NULL, list[i].set->metrics[k]);
        rp_json_close(&json);
        rp_json_close(&json);
    }
    rp_json_close(&json);
    rp_json_close(&json);
}

static void print_people(const metrics_command *m, const char *chip, const checked *list,
                         size_t n) {
    static const rp_column columns[] = {{"configuration", "configuration", RP_LEFT, 0, 0},
                                        {"chips", "chips", RP_LEFT, RP_FLEXIBLE, 0},
                                        {"passes", "passes", RP_RIGHT, 0, 0},
                                        {"metrics", "metrics", RP_RIGHT, 0, 0},
                                        {"cupti", "CUPTI", RP_LEFT, 0, 0}};
    char title[64], text[160];
    snprintf(title, sizeof title, "Counters of %s", chip ? chip : "all chips");
    rp_document d = rp_document_start(stdout, m->format, title);
    rp_table *t = rp_table_create(columns, sizeof columns / sizeof columns[0]);
    for (size_t i = 0; i < n; i++) {
        rp_table_row(t);
        rp_table_text(t, list[i].set->profile);
        rp_table_text(t, chip ? chip : list[i].set->chips);
        rp_table_count(t, (uint64_t)list[i].set->passes);
        rp_table_count(t, list[i].set->metric_count);
        verdict(&list[i], text, sizeof text);
        rp_table_text(t, text);
    }
    rp_document_table(&d, t);
    rp_table_free(t);
    for (size_t i = 0; chip && i < n && m->format != RP_FORMAT_CSV; i++) {
        rp_document_heading(&d, list[i].set->profile);
        for (size_t k = 0; k < list[i].set->metric_count; k++)
            rp_document_item(&d, "%s", list[i].set->metrics[k]);
    }
    if (m->have_cupti)
        rp_document_note(&d, "Asked: CUPTI %u (%s).", m->cupti.version, host_name(&m->cupti));
    else
        rp_document_note(&d,
                         "No CUPTI was asked: %s. Set ROOFPROF_CUPTI to a libcupti.so of CUDA "
                         "12.6 or later, or to an older one with a libnvperf_host.so beside it.",
                         *m->reason ? m->reason : "none was found");
    rp_document_end(&d);
}

static rp_code show(metrics_command *m, const rp_metric_sets *sets, const rp_hwdb *db,
                    rp_error *error) {
    bool all = strcmp(m->chip, "all") == 0;
    const char *chip = all ? NULL : chip_of(sets, db, m->chip);
    size_t n = 0, total = rp_metric_sets_count(sets), agreed = 0;
    checked *list = calloc(total + 1, sizeof *list);
    if (!list)
        return rp_fail(error, RP_INTERNAL, "no memory");
    m->have_cupti = bind_candidates(0, try_cupti, m) != 0;
    for (size_t i = 0; i < total; i++)
        if (all || rp_metric_set_is_for(rp_metric_sets_at(sets, i), chip)) {
            list[n].set = rp_metric_sets_at(sets, i);
            check_set(m, chip, &list[n]);
            agreed += agrees(&list[n++]);
        }
    rp_code code = RP_OK;
    if (n == 0)
        code =
            rp_fail(error, RP_INPUT,
                    "no configurations are known for '%s'; 'roofprof metrics all' lists the chips",
                    m->chip);
    else if (m->format == RP_FORMAT_JSON)
        print_json(m, chip, list, n);
    else
        print_people(m, chip, list, n);
    if (!code && m->check && agreed < n)
        code = rp_fail(error, m->have_cupti ? RP_GATE : RP_MACHINE,
                       "%zu of %zu configurations are not confirmed%s%s", n - agreed, n,
                       m->have_cupti ? "" : ": ", m->have_cupti ? "" : m->reason);
    free(list);
    return code;
}

static rp_code run(metrics_command *m, rp_error *error) {
    rp_metric_sets *sets = NULL;
    rp_hwdb *db = NULL;
    rp_code code = rp_hwdb_load(&db, m->hwdb, error);
    if (!code)
        code = rp_metric_sets_load(&sets, error);
    if (!code)
        code = show(m, sets, db, error);
    rp_metric_sets_free(sets);
    rp_hwdb_free(db);
    return code;
}

int rp_cmd_metrics(int argc, char **argv) {
    rp_options o = RP_OPTIONS(argc, argv, table, "CHIP", intro,
                              "examples:\n"
                              "  roofprof metrics H100\n"
                              "  roofprof metrics all --check\n");
    metrics_command m = {.format = RP_FORMAT_TEXT};
    rp_error error = {0};
    int option;
    while ((option = rp_options_next(&o)) >= RP_OPTION_POSITIONAL)
        switch (option) {
        case RP_OPTION_POSITIONAL:
            if (m.chip)
                return rp_options_error(&o, "one CHIP at a time; 'all' shows every one");
            m.chip = o.value;
            break;
        case FORMAT:
            if (!rp_format_find(o.value, &m.format))
                return rp_options_error(&o, "--format '%s' is none of text, json, csv, md, html",
                                        o.value);
            break;
        case CHECK:
            m.check = true;
            break;
        default:
            m.hwdb = o.value;
        }
    if (option != RP_OPTION_END)
        return option == RP_OPTION_HELP ? RP_OK : RP_USAGE;
    if (!m.chip)
        return rp_options_error(&o, "no CHIP is given");
    return run(&m, &error) ? rp_options_fail(&o, &error) : RP_OK;
}
