/* SPDX-License-Identifier: Apache-2.0
 *
 * Metrics and counters of a capture that is being written. Counters are buffered until they can be
 * written in key order and many a statement, which is several times faster than as they come.
 */
#include "capture/internal.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNTER_BUFFER = 65536, COUNTER_ROWS = 16 };

rp_code rp_writer_metric(rp_capture *capture, const char *name, const char *unit,
                         const char *quantity, int64_t *id, rp_error *error) {
    rp_writer *writer = capture->writer;
    int64_t *known = rp_map_put(&writer->metrics, name, strlen(name), NULL);
    if (!known)
        return rp_db_no_memory(error);
    if (*known >= 0) {
        *id = *known;
        return RP_OK;
    }
    if (writer->metric_count >= RP_METRICS_MAX)
        return rp_fail(error, RP_INPUT, "more than %d metrics; import fewer files at once",
                       RP_METRICS_MAX);
    *id = *known = writer->metric_count++;
    sqlite3_stmt *row;
    rp_code code = rp_writer_insert(capture, RP_INSERT_METRIC, &row, error);
    if (code != RP_OK)
        return code;
    sqlite3_bind_int64(row, 1, *id);
    rp_bind_text(row, 2, name);
    rp_bind_text(row, 3, unit);
    rp_bind_text(row, 4, quantity);
    return rp_db_run(capture, row, error);
}

rp_code rp_capture_metric(rp_capture *capture, const char *name, const char *unit, int64_t *id,
                          rp_error *error) {
    return rp_writer_metric(capture, name, unit, NULL, id, error);
}

static int by_key(const void *a, const void *b) {
    const rp_counter *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return x->sequence < y->sequence ? -1 : 1;
}

/* Sorts the buffer and takes out what is there twice; returns how many are left. */
static size_t order_counters(rp_writer *writer) {
    rp_counter *items = writer->counters;
    size_t n = writer->counter_count, kept = 0;
    bool sorted = true;
    for (size_t i = 1; i < n && sorted; i++)
        sorted = items[i - 1].key < items[i].key;
    if (sorted)
        return n;
    qsort(items, n, sizeof *items, by_key);
    for (size_t i = 0; i < n; i++)
        if (kept == 0 || items[i].key != items[kept - 1].key)
            items[kept++] = items[i];
    writer->counters_repeated += n - kept;
    return kept;
}

static rp_code insert_counters(rp_capture *capture, rp_insert kind, const rp_counter *items,
                               size_t n, rp_error *error) {
    sqlite3_stmt *row;
    rp_code code = rp_writer_insert(capture, kind, &row, error);
    if (code != RP_OK)
        return code;
    for (size_t i = 0; i < n; i++) {
        sqlite3_bind_int64(row, (int)(3 * i) + 1, items[i].key);
        sqlite3_bind_double(row, (int)(3 * i) + 2, items[i].value);
        sqlite3_bind_int(row, (int)(3 * i) + 3, items[i].provenance);
    }
    code = rp_db_run(capture, row, error);
    if (code == RP_OK)
        capture->writer->counters_repeated += n - (size_t)sqlite3_changes(capture->db);
    return code;
}

rp_code rp_writer_flush_counters(rp_capture *capture, rp_error *error) {
    rp_writer *writer = capture->writer;
    size_t n = order_counters(writer), done = 0;
    rp_code code = RP_OK;
    for (; code == RP_OK && done + COUNTER_ROWS <= n; done += COUNTER_ROWS)
        code = insert_counters(capture, RP_INSERT_COUNTERS, writer->counters + done, COUNTER_ROWS,
                               error);
    for (; code == RP_OK && done < n; done++)
        code = insert_counters(capture, RP_INSERT_COUNTER, writer->counters + done, 1, error);
    writer->counters_written += (int64_t)n;
    writer->counter_count = 0;
    if (writer->progress)
        rp_progress_update(writer->progress,
                           (double)(writer->launch_count + writer->counters_written));
    return code;
}

rp_code rp_capture_add_counter(rp_capture *capture, int64_t launch, int64_t metric, double value,
                               rp_provenance provenance, rp_error *error) {
    rp_writer *writer = capture->writer;
    if (launch < 0 || launch >= writer->launch_count || metric < 0 ||
        metric >= writer->metric_count)
        return rp_fail(error, RP_INTERNAL,
                       "a counter names a launch or metric that is not in the "
                       "capture; please report this");
    if (!isfinite(value)) {
        writer->counters_infinite += isinf(value) != 0;
        return RP_OK;
    }
    if (!writer->counters) {
        writer->counters = malloc(COUNTER_BUFFER * sizeof *writer->counters);
        if (!writer->counters)
            return rp_db_no_memory(error);
    }
    writer->counters[writer->counter_count] =
        (rp_counter){launch << RP_COUNTER_SHIFT | metric, value, (uint32_t)writer->counter_count,
                     (uint8_t)provenance};
    return ++writer->counter_count == COUNTER_BUFFER ? rp_writer_flush_counters(capture, error)
                                                     : RP_OK;
}

rp_code rp_capture_add_quantity(rp_capture *capture, int64_t launch, rp_quantity quantity,
                                double value, rp_provenance provenance, rp_error *error) {
    rp_writer *writer = capture->writer;
    if (writer->given[quantity] == 0) {
        const rp_quantity_info *info = &rp_quantity_table[quantity];
        char name[64];
        int64_t id;
        snprintf(name, sizeof name, "roofprof:%s", info->key);
        rp_code code = rp_writer_metric(capture, name, info->unit, info->key, &id, error);
        if (code != RP_OK)
            return code;
        writer->given[quantity] = (int32_t)id + 1;
    }
    return rp_capture_add_counter(capture, launch, writer->given[quantity] - 1, value, provenance,
                                  error);
}
