/* SPDX-License-Identifier: Apache-2.0
 *
 * The linter of the hardware database: arithmetic of every peak, units, sources, duplicates, names
 * that resolve. It reads the shipped files as the program does and reports every finding before it
 * fails.
 */
#include "hwdb/internal.h"

#include <ctype.h>
#include <fnmatch.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static rp_hwdb *db;
static int findings;

static void finding(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void finding(const char *format, ...) {
    va_list args;
    va_start(args, format);
    fprintf(stderr, "  ");
    vfprintf(stderr, format, args);
    fprintf(stderr, "\n");
    va_end(args);
    findings++;
}

static const char *field(const rp_hw_table *t, size_t row, const char *column) {
    return t->rows[row].field[rp_hw_table_column(t, column)];
}

static int setup(void **state) {
    rp_error error;
    (void)state;
    setenv("ROOFPROF_HWDB", ROOFPROF_SOURCE_DIR "/hwdb", 1);
    setenv("XDG_DATA_HOME", "/nonexistent", 1);
    if (rp_hwdb_load(&db, NULL, &error) != RP_OK) {
        fprintf(stderr, "%s\n", error.message);
        return -1;
    }
    return 0;
}

static int teardown(void **state) {
    (void)state;
    rp_hwdb_free(db);
    return 0;
}

static const rp_ceiling *of_kind(const rp_device *d, const rp_ceiling *like, rp_provenance p) {
    return rp_device_ceiling(d, like, &p, 1);
}

/* Printed peaks against SMs x operations per clock x clock, and 2 x memory clock x bus / 8. */
static void peaks_follow_from_arithmetic(void **state) {
    (void)state;
    findings = 0;
    int checked = 0;
    for (size_t i = 0; i < rp_hwdb_count(db); i++) {
        const rp_device *d = rp_hwdb_at(db, i);
        for (size_t c = 0; c < d->ceiling_count; c++) {
            const rp_ceiling *sheet = &d->ceilings[c], *theory;
            char key[64];
            if (sheet->provenance == RP_THEORETICAL)
                continue;
            rp_ceiling_key(sheet, key, sizeof key);
            theory = of_kind(d, sheet, RP_THEORETICAL);
            if (!theory || sheet->sparse)
                continue;
            checked++;
            double off = sheet->rate / theory->rate - 1;
            bool flagged = rp_list_has(d->flags, key);
            if (fabs(off) > 0.03 && !flagged)
                finding("%s: %s is %.4g, arithmetic gives %.4g (%+.1f %%): flag or correct it",
                        d->name, key, sheet->rate, theory->rate, 100 * off);
            if (fabs(off) <= 0.03 && flagged)
                finding("%s: %s is flagged but agrees with arithmetic", d->name, key);
        }
    }
    assert_in_range(checked, 450, 100000);
    assert_int_equal(findings, 0);
}

static void check_range(const rp_device *d, const char *what, double value, double low,
                        double high) {
    if (!isnan(value) && (value < low || value > high))
        finding("%s: %s = %g is outside %g to %g: wrong unit?", d->name, what, value, low, high);
}

static void values_have_their_units(void **state) {
    (void)state;
    findings = 0;
    for (size_t i = 0; i < rp_hwdb_count(db); i++) {
        const rp_device *d = rp_hwdb_at(db, i);
        check_range(d, "SMs", d->sm_count > 0 ? (double)d->sm_count : NAN, 4, 400);
        check_range(d, "boost clock", d->boost_hz, 0.8e9, 3.5e9);
        check_range(d, "tensor clock", d->tensor_hz, 0.8e9, 3.5e9);
        check_range(d, "memory clock", d->memory_hz, 0.5e9, 20e9);
        check_range(d, "memory", (double)d->memory_bytes, 4e9, 400e9);
        check_range(d, "bus", d->memory_bus_bits > 0 ? (double)d->memory_bus_bits : NAN, 64, 16384);
        check_range(d, "L2", d->l2_bytes > 0 ? (double)d->l2_bytes : NAN, 1 << 20, 512 << 20);
        check_range(d, "shared", d->shared_bytes_per_sm > 0 ? (double)d->shared_bytes_per_sm : NAN,
                    32768, 262144);
        check_range(d, "power", d->tdp_w, 30, 2000);
        check_range(d, "sparse factor", d->sparse_factor, 1, 2);
        check_range(d, "NVLink", d->nvlink_bytes_per_s, 40e9, 2e12);
        check_range(d, "PCIe", d->pcie_bytes_per_s, 10e9, 300e9);
        if (*d->pcie && isnan(d->pcie_bytes_per_s))
            finding("%s: PCIe \"%s\" is no link of interconnect.csv", d->name, d->pcie);
        if (d->memory_bytes_reported)
            check_range(d, "reported memory over the label in GiB",
                        (double)d->memory_bytes / (d->memory_label_gb * 1073741824), 0.9, 1.07);
        for (size_t c = 0; c < d->ceiling_count; c++)
            if (d->ceilings[c].compute)
                check_range(d, "a compute peak", d->ceilings[c].rate, 1e11, 5e16);
            else
                check_range(d, "a bandwidth", d->ceilings[c].rate, 10e9, 1e14);
    }
    assert_int_equal(findings, 0);
}

static void every_record_has_a_source(void **state) {
    const rp_hw_table *tables[] = {&db->devices_table, &db->throughput_table, &db->measured_table,
                                   &db->links_table, &db->rules_table};
    (void)state;
    findings = 0;
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
        for (size_t r = 0; r < tables[t]->row_count; r++)
            if (strlen(field(tables[t], r, "source")) < 5)
                finding("%s:%d: no source", tables[t]->rows[r].file, tables[t]->rows[r].line);
    assert_int_equal(findings, 0);
}

/* Calls for each ;-separated item. */
static void each(const char *list, void (*visit)(const char *item, const rp_device *d),
                 const rp_device *d) {
    char text[4096], *save = NULL;
    snprintf(text, sizeof text, "%s", list);
    for (char *item = strtok_r(text, ";", &save); item; item = strtok_r(NULL, ";", &save))
        visit(item, d);
}

static void must_resolve(const char *name, const rp_device *d) {
    const rp_device *found;
    rp_error error;
    if (rp_hwdb_find(db, name, &found, NULL, &error) != RP_OK)
        finding("%s: \"%s\" does not resolve: %s", d->name, name, error.message);
    else if (found != d)
        finding("%s: \"%s\" resolves to %s", d->name, name, found->name);
}

/* A driver's string need not be what a person means by it, but a capture that carries it must find
 * this device. */
static void must_match(const char *name, const rp_device *d) {
    rp_device_identity id = {.name = name,
                             .cc_major = d->cc_major,
                             .cc_minor = d->cc_minor,
                             .sm_count = d->sm_count,
                             .memory_bytes = d->memory_bytes,
                             .memory_bus_bits = d->memory_bus_bits,
                             .sm_clock_hz = d->boost_hz,
                             .memory_clock_hz = d->memory_hz};
    rp_device_match match;
    rp_error error;
    if (rp_hwdb_match(db, &id, &match, &error) != RP_OK)
        finding("%s: \"%s\": %s", d->name, name, error.message);
    else if (match.device != d)
        finding("%s: \"%s\" matches %s", d->name, name, match.device ? match.device->name : "none");
}

static void must_match_pci(const char *id, const rp_device *d) {
    char text[32];
    rp_device_match match;
    rp_error error;
    rp_device_identity who = {.cc_major = -1,
                              .cc_minor = -1,
                              .sm_count = d->sm_count,
                              .memory_bytes = -1,
                              .memory_bus_bits = -1,
                              .sm_clock_hz = NAN,
                              .memory_clock_hz = NAN,
                              .pci_id = text};
    snprintf(text, sizeof text, "%s:%s", !strcmp(d->vendor, "AMD") ? "1002" : "10de", id);
    if (rp_hwdb_match(db, &who, &match, &error) != RP_OK || match.device != d)
        finding("%s: PCI id %s does not match it", d->name, text);
}

static void names_resolve(void **state) {
    (void)state;
    findings = 0;
    for (size_t i = 0; i < rp_hwdb_count(db); i++) {
        const rp_device *d = rp_hwdb_at(db, i);
        must_resolve(d->name, d);
        each(d->aliases, must_resolve, d);
        each(d->device_names, must_match, d);
        each(d->pci_ids, must_match_pci, d);
    }
    assert_int_equal(findings, 0);
}

static void squeeze(const char *text, char *out, size_t size) {
    size_t n = 0;
    for (; *text && n + 1 < size; text++)
        if (isalnum((unsigned char)*text))
            out[n++] = (char)tolower((unsigned char)*text);
    out[n] = 0;
}

static bool shares(const char *a, const char *b, char *item, size_t size) {
    char x[4096], y[4096], *sx = NULL;
    snprintf(x, sizeof x, "%s", a);
    for (char *p = strtok_r(x, ";", &sx); p; p = strtok_r(NULL, ";", &sx)) {
        char *sy = NULL, p1[256], q1[256];
        squeeze(p, p1, sizeof p1);
        snprintf(y, sizeof y, "%s", b);
        for (char *q = strtok_r(y, ";", &sy); q; q = strtok_r(NULL, ";", &sy)) {
            squeeze(q, q1, sizeof q1);
            if (!strcmp(p1, q1)) {
                snprintf(item, size, "%s", p);
                return true;
            }
        }
    }
    return false;
}

static void nothing_is_there_twice(void **state) {
    const rp_hw_table *keyed[] = {&db->throughput_table, &db->links_table, &db->devices_table};
    char item[256];
    (void)state;
    findings = 0;
    for (size_t i = 0; i < rp_hwdb_count(db); i++)
        for (size_t j = i + 1; j < rp_hwdb_count(db); j++) {
            const rp_device *a = rp_hwdb_at(db, i), *b = rp_hwdb_at(db, j);
            if (shares(a->name, b->name, item, sizeof item) ||
                shares(a->aliases, b->aliases, item, sizeof item) ||
                shares(a->aliases, b->name, item, sizeof item) ||
                shares(a->name, b->aliases, item, sizeof item) ||
                shares(a->device_names, b->device_names, item, sizeof item))
                finding("%s and %s share the name \"%s\"", a->name, b->name, item);
            if (!strcmp(a->vendor, b->vendor) &&
                shares(a->pci_ids, b->pci_ids, item, sizeof item) &&
                !(rp_list_has(a->flags, "pci_shared") && rp_list_has(b->flags, "pci_shared")))
                finding("%s and %s share PCI id %s and do not declare it", a->name, b->name, item);
        }
    for (size_t t = 0; t < sizeof keyed / sizeof *keyed; t++)
        for (size_t i = 0; i < keyed[t]->row_count; i++)
            for (size_t j = i + 1; j < keyed[t]->row_count; j++) {
                bool same = true;
                for (size_t k = 0; same && keyed[t]->keys[k]; k++)
                    same = !strcmp(field(keyed[t], i, keyed[t]->keys[k]),
                                   field(keyed[t], j, keyed[t]->keys[k]));
                if (same)
                    finding("%s: lines %d and %d are the same record", keyed[t]->rows[i].file,
                            keyed[t]->rows[i].line, keyed[t]->rows[j].line);
            }
    assert_int_equal(findings, 0);
}

static void must_be_column(const char *item, const rp_device *d) {
    for (size_t c = 0; c < db->devices_table.column_count; c++)
        if (!strcmp(db->devices_table.columns[c], item)) {
            if (!*field(&db->devices_table, (size_t)(d - db->devices), item))
                finding("%s: %s is said to be derived but is empty", d->name, item);
            return;
        }
    finding("%s: derived column \"%s\" is no column", d->name, item);
}

static void must_be_flag(const char *item, const rp_device *d) {
    rp_ceiling c;
    if (strcmp(item, "pci_shared") && !rp_ceiling_from_key(item, &c))
        finding("%s: flag \"%s\" is unknown", d->name, item);
}

static void lists_name_known_things(void **state) {
    (void)state;
    findings = 0;
    for (size_t i = 0; i < rp_hwdb_count(db); i++) {
        const rp_device *d = rp_hwdb_at(db, i);
        each(d->derived, must_be_column, d);
        each(d->flags, must_be_flag, d);
    }
    for (size_t i = 0; i < rp_hwdb_measurement_count(db); i++) {
        const rp_measurement *m = rp_hwdb_measurement(db, i);
        const rp_device *d;
        if (rp_hwdb_find(db, m->device, &d, NULL, NULL) != RP_OK || strcmp(d->name, m->device))
            finding("measured.csv: \"%s\" is no device", m->device);
        if (m->fraction_of_peak > 1.25 && !*m->note)
            finding("measured.csv: %s %s is %.0f %% of its peak, without a note", m->device,
                    m->quantity, 100 * m->fraction_of_peak);
    }
    assert_int_equal(findings, 0);
}

static bool key_is_used(const char *key) {
    for (size_t i = 0; i < rp_hwdb_count(db); i++) {
        const rp_device *d = rp_hwdb_at(db, i);
        if (!strcmp(key, d->name) || !strcmp(key, d->chip) || !strcmp(key, d->compute_capability) ||
            !strcmp(key, d->arch))
            return true;
    }
    return false;
}

static void throughput_is_understood(void **state) {
    static const struct {
        const char *limit, *unit;
    } limits[] = {{"max_threads", "thread/SM"},
                  {"max_warps", "warp/SM"},
                  {"max_blocks", "block/SM"},
                  {"max_threads_per_block", "thread/block"},
                  {"registers", "register/SM"},
                  {"registers_per_block", "register/block"},
                  {"registers_per_thread", "register/thread"},
                  {"shared_bytes_per_sm", "byte/SM"},
                  {"shared_optin", "byte/block"},
                  {"shared_per_block", "byte/block"},
                  {"shared_reserved", "byte/block"},
                  {"warp_size", "thread/warp"},
                  {"issue", "warp_inst/clk/SM"},
                  {"lsu", "warp_inst/clk/SM"},
                  {"alu", "warp_inst/clk/SM"},
                  {"xu", "warp_inst/clk/SM"},
                  {"l1_wavefront", "wavefront/clk/SM"},
                  {"l1_bytes", "byte/clk/SM"},
                  {"shared_bytes", "byte/clk/SM"},
                  {"l2_bytes_chip", "byte/clk"}};
    const rp_hw_table *t = &db->throughput_table;
    (void)state;
    findings = 0;
    for (size_t r = 0; r < t->row_count; r++) {
        const char *limit = field(t, r, "limit"), *unit = field(t, r, "unit"), *expected = NULL;
        rp_ceiling c;
        for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
            if (!strcmp(limit, limits[i].limit))
                expected = limits[i].unit;
        if (!expected && rp_ceiling_from_key(limit, &c) && c.compute)
            expected = c.precision >= RP_INT8 ? "op/clk/SM" : "flop/clk/SM";
        if (!expected)
            finding("throughput.csv:%d: unknown limit \"%s\"", t->rows[r].line, limit);
        else if (strcmp(expected, unit))
            finding("throughput.csv:%d: %s in \"%s\", not in %s", t->rows[r].line, limit, unit,
                    expected);
        if (!key_is_used(field(t, r, "key")))
            finding("throughput.csv:%d: no device has the key \"%s\"", t->rows[r].line,
                    field(t, r, "key"));
    }
    assert_int_equal(findings, 0);
}

/* Shared memory of devices.csv against the table by compute capability; warps times 32. */
static void limits_agree_with_devices(void **state) {
    (void)state;
    findings = 0;
    for (size_t i = 0; i < rp_hwdb_count(db); i++) {
        const rp_device *d = rp_hwdb_at(db, i);
        double shared = rp_hwdb_limit(db, d, "shared_bytes_per_sm");
        double threads = rp_hwdb_limit(db, d, "max_threads");
        if (!isnan(shared) && d->shared_bytes_per_sm > 0 &&
            shared != (double)d->shared_bytes_per_sm)
            finding("%s: shared memory %lld, by compute capability %.0f", d->name,
                    (long long)d->shared_bytes_per_sm, shared);
        if (!isnan(threads) && threads != 32 * rp_hwdb_limit(db, d, "max_warps"))
            finding("%s: threads are not 32 x warps", d->name);
    }
    assert_int_equal(findings, 0);
}

static void rules_are_understood(void **state) {
    static const char *const chips[] = {
        "GV100", "TU102", "TU104",  "TU106",  "TU116",  "TU117", "GA100", "GA102", "GA103",
        "GA104", "GA106", "GA107",  "GA10B",  "AD102",  "AD103", "AD104", "AD106", "AD107",
        "GH100", "GB100", "GB102",  "GB110",  "GB10B",  "GB202", "GB203", "GB205", "GB206",
        "GB207", "GB20B", "gfx908", "gfx90a", "gfx942", "gfx950"};
    bool covered[RP_QUANTITIES] = {false};
    (void)state;
    findings = 0;
    for (size_t i = 0; i < rp_hwdb_rule_count(db); i++) {
        const rp_metric_rule *r = rp_hwdb_rule(db, i);
        bool any = false;
        covered[r->quantity] = true;
        for (size_t c = 0; c < sizeof chips / sizeof *chips; c++)
            any |= rp_metric_rule_applies(r, chips[c]);
        if (!any)
            finding("metrics.csv: \"%s\" is for no chip (%s)", r->metric, r->chips);
        if (!(r->factor > 0))
            finding("metrics.csv: \"%s\" has factor %g", r->metric, r->factor);
        if (strcmp(r->profile, "HW") && strcmp(r->profile, "SASS") &&
            strcmp(r->profile, "TENSOR") && strcmp(r->profile, "WHY") && *r->profile)
            finding("metrics.csv: \"%s\": unknown profile \"%s\"", r->metric, r->profile);
        for (size_t k = 0; k < i; k++) {
            const rp_metric_rule *o = rp_hwdb_rule(db, k);
            if (o->quantity == r->quantity && !strcmp(o->metric, r->metric) &&
                !strcmp(o->chips, r->chips))
                finding("metrics.csv: \"%s\" appears twice", r->metric);
        }
    }
    /* What is always derived, never collected under a name of its own. */
    covered[RP_Q_FLOPS_BF16_VECTOR] = covered[RP_Q_OPS_INT32_VECTOR] = true;
    for (int q = 0; q < RP_QUANTITIES; q++)
        if (!covered[q])
            finding("metrics.csv: no rule for %s", rp_quantity_table[q].key);
    assert_int_equal(findings, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(peaks_follow_from_arithmetic), cmocka_unit_test(values_have_their_units),
        cmocka_unit_test(every_record_has_a_source),    cmocka_unit_test(names_resolve),
        cmocka_unit_test(nothing_is_there_twice),       cmocka_unit_test(lists_name_known_things),
        cmocka_unit_test(throughput_is_understood),     cmocka_unit_test(limits_agree_with_devices),
        cmocka_unit_test(rules_are_understood)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
