/* SPDX-License-Identifier: Apache-2.0
 *
 * Deriving the quantities of every launch that has counters: counters are read once in key order,
 * those of a launch together, and what is derived goes to table quantities and into the summaries.
 * Peaks among them become ceilings, at the clock that was observed.
 */
#include "capture/derive.h"
#include "capture/internal.h"
#include "support/text.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The clocks that peaks are given per cycle of. */
enum { CLOCK_SM, CLOCK_DRAM, CLOCK_L2, CLOCKS };
static const char *const clock_names[CLOCKS] = {"sm", "dram", "lts"};
static const char *const clock_metrics[CLOCKS] = {"sm__cycles_elapsed.avg.per_second",
                                                  "dram__cycles_elapsed.avg.per_second",
                                                  "lts__cycles_elapsed.avg.per_second"};

typedef struct metric_peak {
    int64_t metric;
    rp_peak peak;
} metric_peak;

/* What is known of one device while its launches are read. */
typedef struct device_state {
    rp_derivation *derivation;
    int cc_major;
    metric_peak *peaks;
    size_t peak_count;
    double *peak_values;             /* largest seen of each peak */
    rp_device_totals clocks[CLOCKS]; /* only their clock lists are used */
} device_state;

typedef struct quantifier {
    rp_capture *capture;
    rp_error *error;
    rp_hwdb *db;
    size_t metric_count;
    char **names;
    rp_quantity *given;
    int64_t clock_metric[CLOCKS]; /* -1: not in this capture */
    device_state *devices;
    sqlite3_stmt *launch, *update_time, *insert;
    rp_counters counters;
    int32_t *touched; /* metrics of the launch at hand */
    size_t touched_count;
    uint64_t lower_bound_launches[3];
    uint64_t launches, with_quantities;
    uint64_t impossible;    /* values that no launch can have */
    unsigned an_impossible; /* the quantity of one */
} quantifier;

/* ---- Setting up ------------------------------------------------------------------------------ */

static rp_code load_metrics(quantifier *q) {
    sqlite3_stmt *row = NULL;
    rp_code code =
        rp_db_prepare(q->capture, &row, "SELECT name, quantity FROM metrics ORDER BY id", q->error);
    bool more = true, failed = false;
    size_t i = 0;
    while (code == RP_OK && i < q->metric_count &&
           (code = rp_db_next(q->capture, row, &more, q->error)) == RP_OK && more) {
        const char *key = (const char *)sqlite3_column_text(row, 1);
        q->names[i] = rp_column_text(row, 0, &failed);
        q->given[i] = key ? rp_quantity_find(key) : RP_QUANTITIES;
        if (failed)
            code = rp_db_no_memory(q->error);
        for (int c = 0; code == RP_OK && c < CLOCKS; c++)
            if (strcmp(q->names[i], clock_metrics[c]) == 0)
                q->clock_metric[c] = (int64_t)i;
        i++;
    }
    sqlite3_finalize(row);
    return code;
}

static rp_code find_peaks(quantifier *q, device_state *device) {
    device->peaks = calloc(q->metric_count + 1, sizeof *device->peaks);
    device->peak_values = calloc(q->metric_count + 1, sizeof *device->peak_values);
    if (!device->peaks || !device->peak_values)
        return rp_db_no_memory(q->error);
    for (size_t i = 0; i < q->metric_count; i++) {
        metric_peak *next = &device->peaks[device->peak_count];
        next->metric = (int64_t)i;
        device->peak_count += rp_peak_of(q->names[i], device->cc_major, &next->peak);
    }
    return RP_OK;
}

static rp_code set_up_device(quantifier *q, device_state *device, sqlite3_stmt *row) {
    rp_device_identity identity = {.name = (const char *)sqlite3_column_text(row, 0),
                                   .chip = (const char *)sqlite3_column_text(row, 1),
                                   .pci_id = (const char *)sqlite3_column_text(row, 2),
                                   .uuid = (const char *)sqlite3_column_text(row, 3),
                                   .cc_major = (int)rp_column_integer(row, 4),
                                   .cc_minor = (int)rp_column_integer(row, 5),
                                   .sm_count = rp_column_integer(row, 6),
                                   .memory_bytes = rp_column_integer(row, 7),
                                   .memory_bus_bits = rp_column_integer(row, 8),
                                   .sm_clock_hz = rp_column_real(row, 9),
                                   .memory_clock_hz = rp_column_real(row, 10)};
    rp_device_match match = {0};
    /* A device that the database does not know is still counted: the rules of any chip apply. */
    bool matched = q->db && rp_hwdb_match(q->db, &identity, &match, NULL) == RP_OK && match.device;
    const char *chip = identity.chip ? identity.chip : matched ? match.device->chip : NULL;
    double warps = matched ? rp_hwdb_limit(q->db, match.device, "max_warps") : NAN;
    device->cc_major =
        identity.cc_major >= 0 || !matched ? identity.cc_major : match.device->cc_major;
    device->derivation = rp_derivation_make(q->db, chip, warps, (const char *const *)q->names,
                                            q->given, q->metric_count);
    return device->derivation ? find_peaks(q, device) : rp_db_no_memory(q->error);
}

static rp_code set_up_devices(quantifier *q) {
    sqlite3_stmt *row = NULL;
    rp_code code = rp_db_prepare(q->capture, &row,
                                 "SELECT name, chip, pci_id, uuid, cc_major, cc_minor, sm_count,"
                                 " memory_bytes, memory_bus_bits, sm_clock_hz, memory_clock_hz"
                                 " FROM devices ORDER BY id",
                                 q->error);
    bool more = true;
    for (size_t i = 0; code == RP_OK && i < q->capture->writer->device_count; i++) {
        code = rp_db_next(q->capture, row, &more, q->error);
        if (code == RP_OK && more)
            code = set_up_device(q, &q->devices[i], row);
    }
    sqlite3_finalize(row);
    return code;
}

/* INSERT INTO quantities with a parameter a column. */
static rp_code prepare_insert(quantifier *q) {
    char sql[64 + 2 * RP_QUANTITIES];
    size_t length = (size_t)snprintf(sql, sizeof sql, "INSERT INTO quantities VALUES(?");
    for (unsigned i = 0; i < RP_QUANTITIES; i++)
        length += (size_t)snprintf(sql + length, sizeof sql - length, ",?");
    snprintf(sql + length, sizeof sql - length, ")");
    return rp_db_prepare(q->capture, &q->insert, sql, q->error);
}

/* Only raw metrics need the database. */
static rp_code load_rules(quantifier *q) {
    for (size_t i = 0; i < q->metric_count; i++)
        if (q->given[i] == RP_QUANTITIES)
            return rp_hwdb_load(&q->db, NULL, q->error);
    return RP_OK;
}

static rp_code set_up(quantifier *q) {
    rp_writer *writer = q->capture->writer;
    q->metric_count = (size_t)writer->metric_count;
    size_t n = q->metric_count + 1;
    for (int c = 0; c < CLOCKS; c++)
        q->clock_metric[c] = -1;
    q->names = calloc(n, sizeof *q->names);
    q->given = calloc(n, sizeof *q->given);
    q->devices = calloc(writer->device_count + 1, sizeof *q->devices);
    q->counters = (rp_counters){malloc(n * sizeof(double)), calloc(n, 1), q->metric_count};
    q->touched = malloc(n * sizeof *q->touched);
    if (!q->names || !q->given || !q->devices || !q->counters.value || !q->counters.provenance ||
        !q->touched)
        return rp_db_no_memory(q->error);
    for (size_t i = 0; i < q->metric_count; i++)
        q->counters.value[i] = NAN;
    rp_code code = load_metrics(q);
    if (code == RP_OK)
        code = load_rules(q);
    if (code == RP_OK)
        code = set_up_devices(q);
    if (code == RP_OK)
        code = prepare_insert(q);
    if (code == RP_OK)
        code = rp_db_prepare(q->capture, &q->launch,
                             "SELECT config, place, time_ns FROM launches WHERE id = ?", q->error);
    if (code == RP_OK)
        code = rp_db_prepare(q->capture, &q->update_time,
                             "UPDATE launches SET time_ns = ?2 WHERE id = ?1", q->error);
    return code;
}

static void tear_down(quantifier *q) {
    for (size_t i = 0; q->names && i < q->metric_count; i++)
        free(q->names[i]);
    for (size_t i = 0; q->devices && i < q->capture->writer->device_count; i++) {
        rp_derivation_free(q->devices[i].derivation);
        free(q->devices[i].peaks);
        free(q->devices[i].peak_values);
        for (int c = 0; c < CLOCKS; c++)
            rp_device_totals_free(&q->devices[i].clocks[c]);
    }
    sqlite3_finalize(q->launch);
    sqlite3_finalize(q->update_time);
    sqlite3_finalize(q->insert);
    rp_hwdb_free(q->db);
    free(q->names);
    free(q->given);
    free(q->devices);
    free(q->counters.value);
    free(q->counters.provenance);
    free(q->touched);
}

/* ---- One launch ------------------------------------------------------------------------------ */

/* A launch whose time only its counters tell: the time goes where add_launch would have put it. */
static rp_code adopt_time(quantifier *q, int64_t launch, const rp_place *place, int64_t config,
                          double time_s, rp_provenance provenance) {
    rp_writer *writer = q->capture->writer;
    int64_t key[2] = {writer->config_kernel[config], place->process};
    int64_t first = rp_map_get(&writer->firsts, key, sizeof key);
    rp_summary *summary = rp_summaries_at(&writer->summaries, config, place->device, -1,
                                          (rp_cache_state)place->cache);
    if (!summary)
        return rp_db_no_memory(q->error);
    if (place->time_provenance != RP_ABSENT)
        provenance = (rp_provenance)place->time_provenance;
    rp_summary_add_time(summary, time_s, provenance);
    if (first < 0 || writer->first[first].launch != launch)
        rp_stat_add(&summary->time_warm, time_s);
    writer->totals[place->device].sum_s += time_s;
    writer->totals[place->device].timed++;
    sqlite3_bind_int64(q->update_time, 1, launch);
    rp_bind_real(q->update_time, 2, rp_launch_time_ns(time_s));
    return rp_db_run(q->capture, q->update_time, q->error);
}

static bool observe_clocks(quantifier *q, device_state *device, double time_s) {
    for (int c = 0; c < CLOCKS; c++)
        if (q->clock_metric[c] >= 0 &&
            !rp_device_totals_clock(&device->clocks[c], q->counters.value[q->clock_metric[c]],
                                    time_s))
            return false;
    for (size_t i = 0; i < device->peak_count; i++)
        device->peak_values[i] =
            fmax(device->peak_values[i], q->counters.value[device->peaks[i].metric]);
    return true;
}

static rp_code store_quantities(quantifier *q, int64_t launch, int64_t config,
                                const rp_place *place, const rp_quantities *quantities,
                                double time_s) {
    rp_writer *writer = q->capture->writer;
    rp_summary *summary = rp_summaries_at(&writer->summaries, config, place->device, -1,
                                          (rp_cache_state)place->cache);
    bool any = false;
    if (!summary)
        return rp_db_no_memory(q->error);
    sqlite3_bind_int64(q->insert, 1, launch);
    for (unsigned i = 0; i < RP_QUANTITIES; i++) {
        double value = quantities->value[i];
        rp_bind_real(q->insert, (int)i + 2, value);
        if (isnan(value))
            continue;
        any = true;
        if (!rp_summary_add(summary, (rp_quantity)i, value, time_s,
                            (rp_provenance)quantities->provenance[i]))
            return rp_db_no_memory(q->error);
    }
    if (!any)
        return RP_OK;
    summary->counted++;
    q->with_quantities++;
    if (!rp_device_totals_clock(&writer->totals[place->device], quantities->value[RP_Q_SM_CLOCK],
                                time_s))
        return rp_db_no_memory(q->error);
    return rp_db_run(q->capture, q->insert, q->error);
}

/* Counts, rates and times are never negative, and no launch takes days, or does more than 1e30 of
 * anything (an exaflop machine would in 30000 years): such a number is not known, and said. */
static void drop_impossible(quantifier *q, rp_quantities *quantities) {
    for (unsigned i = 0; i < RP_QUANTITIES; i++) {
        double value = quantities->value[i];
        double least = i == RP_Q_TIME ? RP_TIME_LEAST_S : 0;
        double most = i == RP_Q_TIME ? RP_TIME_MOST_S : 1e30;
        if (isnan(value) || (value >= least && value <= most))
            continue;
        quantities->value[i] = NAN;
        q->impossible++;
        q->an_impossible = i;
    }
}

static rp_code derive_launch(quantifier *q, int64_t launch) {
    bool row;
    sqlite3_bind_int64(q->launch, 1, launch);
    rp_code code = rp_db_next(q->capture, q->launch, &row, q->error);
    if (code != RP_OK)
        return code;
    int64_t config = sqlite3_column_int64(q->launch, 0);
    const rp_place place = q->capture->writer->place[sqlite3_column_int64(q->launch, 1)];
    double time_s = rp_launch_time_s(rp_column_real(q->launch, 2));
    sqlite3_reset(q->launch);

    device_state *device = &q->devices[place.device];
    rp_quantities quantities;
    rp_derive(device->derivation, &q->counters, &quantities);
    for (int i = 0; i < 3; i++)
        q->lower_bound_launches[i] += quantities.lower_bounds >> i & 1;
    drop_impossible(q, &quantities);
    double counted_time_s = quantities.value[RP_Q_TIME];
    if (isnan(time_s) && counted_time_s > 0) {
        time_s = rp_launch_time_s(rp_launch_time_ns(counted_time_s));
        code = adopt_time(q, launch, &place, config, time_s,
                          (rp_provenance)quantities.provenance[RP_Q_TIME]);
    }
    if (code == RP_OK && !observe_clocks(q, device, time_s))
        code = rp_db_no_memory(q->error);
    return code == RP_OK ? store_quantities(q, launch, config, &place, &quantities, time_s) : code;
}

/* ---- All launches ---------------------------------------------------------------------------- */

static rp_code end_launch(quantifier *q, int64_t launch) {
    rp_code code = launch >= 0 ? derive_launch(q, launch) : RP_OK;
    for (size_t i = 0; i < q->touched_count; i++)
        q->counters.value[q->touched[i]] = NAN;
    q->launches += launch >= 0;
    q->touched_count = 0;
    return code;
}

static rp_code derive_all(quantifier *q) {
    sqlite3_stmt *row = NULL;
    rp_code code = rp_db_prepare(
        q->capture, &row, "SELECT key, value, provenance FROM counters ORDER BY key", q->error);
    int64_t launch = -1;
    bool more = true;
    while (code == RP_OK && (code = rp_db_next(q->capture, row, &more, q->error)) == RP_OK &&
           more) {
        int64_t key = sqlite3_column_int64(row, 0), metric = key & (RP_METRICS_MAX - 1);
        if (key >> RP_COUNTER_SHIFT != launch) {
            code = end_launch(q, launch);
            launch = key >> RP_COUNTER_SHIFT;
        }
        q->counters.value[metric] = sqlite3_column_double(row, 1);
        q->counters.provenance[metric] = (uint8_t)sqlite3_column_int(row, 2);
        q->touched[q->touched_count++] = (int32_t)metric;
    }
    if (code == RP_OK)
        code = end_launch(q, launch);
    sqlite3_finalize(row);
    return code;
}

static rp_code add_peaks(quantifier *q, int64_t id) {
    device_state *device = &q->devices[id];
    double clock_hz[CLOCKS];
    for (int c = 0; c < CLOCKS; c++) {
        rp_device_sums sums;
        rp_device_totals_sum(&device->clocks[c], &sums);
        clock_hz[c] = sums.observed_clock_hz;
    }
    rp_code code = RP_OK;
    for (size_t i = 0; code == RP_OK && i < device->peak_count; i++) {
        const rp_peak *peak = &device->peaks[i].peak;
        int c = 0;
        while (c < CLOCKS - 1 && strcmp(clock_names[c], peak->clock) != 0)
            c++;
        rp_capture_ceiling ceiling = {.compute = peak->compute,
                                      .rate = device->peak_values[i] * peak->factor * clock_hz[c],
                                      .provenance = RP_THEORETICAL};
        if (!(ceiling.rate > 0))
            continue;
        memcpy(ceiling.precision, peak->precision, sizeof ceiling.precision);
        memcpy(ceiling.path, peak->path, sizeof ceiling.path);
        memcpy(ceiling.level, peak->level, sizeof ceiling.level);
        code = rp_writer_raise_ceiling(q->capture, id, &ceiling, q->error);
    }
    return code;
}

static rp_code add_notes(quantifier *q) {
    static const char *const precisions[] = {"FP64", "FP32", "FP16"};
    rp_code code = RP_OK;
    for (int i = 0; code == RP_OK && i < 3; i++)
        if (q->lower_bound_launches[i])
            code = rp_capture_add_note(
                q->capture, "warning", q->error,
                "%s: not all of add, mul and fma were counted in %llu %s: FLOPs are a lower "
                "bound",
                precisions[i], (unsigned long long)q->lower_bound_launches[i],
                rp_plural(q->lower_bound_launches[i], "launch", "launches"));
    if (code == RP_OK && q->impossible)
        code = rp_capture_add_note(
            q->capture, "warning", q->error,
            "values that are negative or beyond what a launch can have count "
            "as not known: %llu, such as %s",
            (unsigned long long)q->impossible, rp_quantity_table[q->an_impossible].key);
    if (code == RP_OK && q->launches && !q->with_quantities)
        code = rp_capture_add_note(q->capture, "warning", q->error,
                                   "none of the %zu metrics is one that roofprof knows",
                                   q->metric_count);
    return code;
}

rp_code rp_capture_derive(rp_capture *capture, rp_error *error) {
    if (!capture->writer->metric_count)
        return RP_OK;
    quantifier q = {.capture = capture, .error = error};
    rp_code code = set_up(&q);
    if (code == RP_OK)
        code = derive_all(&q);
    for (size_t i = 0; code == RP_OK && i < capture->writer->device_count; i++)
        code = add_peaks(&q, (int64_t)i);
    if (code == RP_OK)
        code = add_notes(&q);
    tear_down(&q);
    return code;
}
