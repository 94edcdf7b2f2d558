/* SPDX-License-Identifier: Apache-2.0
 *
 * Finishing a capture: what was summed while launches came in is written beside them, kernels that
 * share a short name are told apart, and the file is put in its place.
 */
#include "capture/internal.h"
#include "capture/name.h"
#include "support/array.h"
#include "support/text.h"
#include "support/units.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Short names ----------------------------------------------------------------------------- */

typedef struct kernel_row {
    char *name, *short_name;
    int64_t id;
} kernel_row;

typedef struct kernel_rows {
    kernel_row *items;
    size_t count, capacity;
} kernel_rows;

static void free_kernels(kernel_rows *rows) {
    for (size_t i = 0; i < rows->count; i++) {
        free(rows->items[i].name);
        free(rows->items[i].short_name);
    }
    free(rows->items);
}

/* The kernels whose short name others have as well, those of one short name together. */
static rp_code read_rivals(rp_capture *capture, kernel_rows *rows, rp_error *error) {
    static const char sql[] =
        "SELECT id, coalesce(demangled, name), short_name FROM kernels WHERE short_name IN"
        " (SELECT short_name FROM kernels GROUP BY short_name HAVING count(*) > 1)"
        " ORDER BY short_name, id";
    sqlite3_stmt *statement = NULL;
    rp_code code = rp_db_prepare(capture, &statement, sql, error);
    bool row = true;
    while (code == RP_OK && (code = rp_db_next(capture, statement, &row, error)) == RP_OK && row) {
        bool failed = !RP_ARRAY_ROOM(rows->items, rows->capacity, rows->count);
        if (!failed) {
            rows->items[rows->count].id = sqlite3_column_int64(statement, 0);
            rows->items[rows->count].name = rp_column_text(statement, 1, &failed);
            rows->items[rows->count++].short_name = rp_column_text(statement, 2, &failed);
        }
        if (failed)
            code = rp_db_no_memory(error);
    }
    sqlite3_finalize(statement);
    return code;
}

/* Gives the N kernels of one short name their own. */
static rp_code rename_rivals(rp_capture *capture, sqlite3_stmt *update, kernel_row *rows, size_t n,
                             rp_error *error) {
    const char **names = calloc(n, sizeof *names);
    char **short_names = calloc(n, sizeof *short_names);
    rp_code code = RP_OK;
    if (!names || !short_names) {
        code = rp_db_no_memory(error);
        goto out;
    }
    for (size_t i = 0; i < n; i++) {
        names[i] = rows[i].name;
        short_names[i] = rows[i].short_name;
    }
    if (!rp_name_distinguish(names, n, short_names))
        code = rp_db_no_memory(error);
    for (size_t i = 0; i < n; i++)
        rows[i].short_name = short_names[i];
    for (size_t i = 0; code == RP_OK && i < n; i++) {
        rp_bind_text(update, 1, rows[i].short_name);
        sqlite3_bind_int64(update, 2, rows[i].id);
        code = rp_db_run(capture, update, error);
    }
out:
    free(names);
    free(short_names);
    return code;
}

static rp_code distinguish_kernels(rp_capture *capture, rp_error *error) {
    kernel_rows rows = {0};
    sqlite3_stmt *update = NULL;
    rp_code code = read_rivals(capture, &rows, error);
    if (code == RP_OK)
        code = rp_db_prepare(capture, &update, "UPDATE kernels SET short_name = ? WHERE id = ?",
                             error);
    for (size_t start = 0, end; code == RP_OK && start < rows.count; start = end) {
        end = start + 1;
        while (end < rows.count &&
               strcmp(rows.items[end].short_name, rows.items[start].short_name) == 0)
            end++;
        code = rename_rivals(capture, update, rows.items + start, end - start, error);
    }
    sqlite3_finalize(update);
    free_kernels(&rows);
    return code;
}

/* ---- Summaries ------------------------------------------------------------------------------- */

static rp_code write_quantities(rp_capture *capture, sqlite3_stmt *insert, int64_t id,
                                const rp_summary *summary, rp_error *error) {
    rp_code code = RP_OK;
    for (size_t i = 0; code == RP_OK && i < summary->quantity_count; i++) {
        const rp_summary_quantity *item = &summary->quantities[i];
        sqlite3_bind_int64(insert, 1, id);
        rp_bind_text(insert, 2, rp_quantity_table[item->quantity].key);
        sqlite3_bind_int(insert, 3, item->provenance);
        rp_bind_stat(insert, 4, &item->stat);
        rp_bind_stat(insert, 9, &item->time);
        code = rp_db_run(capture, insert, error);
    }
    return code;
}

static rp_code write_summaries(rp_capture *capture, rp_error *error) {
    const rp_summaries *summaries = &capture->writer->summaries;
    sqlite3_stmt *row = NULL, *quantity = NULL;
    rp_code code = rp_db_prepare(
        capture, &row, "INSERT INTO summaries VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)", error);
    if (code == RP_OK)
        code = rp_db_prepare(capture, &quantity,
                             "INSERT INTO summary_quantities VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?)",
                             error);
    for (size_t i = 0; code == RP_OK && i < summaries->count; i++) {
        const rp_summary *summary = &summaries->items[i];
        sqlite3_bind_int64(row, 1, (int64_t)i);
        sqlite3_bind_int64(row, 2, summary->config);
        sqlite3_bind_int64(row, 3, summary->device);
        sqlite3_bind_int(row, 4, summary->cache);
        sqlite3_bind_int64(row, 5, (int64_t)summary->launches);
        sqlite3_bind_int64(row, 6, (int64_t)summary->counted);
        sqlite3_bind_int(row, 7, summary->time_provenance);
        rp_bind_stat(row, 8, &summary->time);
        rp_bind_stat(row, 13, &summary->time_warm);
        code = rp_db_run(capture, row, error);
        if (code == RP_OK)
            code = write_quantities(capture, quantity, (int64_t)i, summary, error);
    }
    sqlite3_finalize(row);
    sqlite3_finalize(quantity);
    return code;
}

static rp_code write_first_launches(rp_capture *capture, rp_error *error) {
    const rp_writer *writer = capture->writer;
    sqlite3_stmt *row = NULL;
    rp_code code = rp_db_prepare(capture, &row, "INSERT INTO first_launches VALUES(?,?,?)", error);
    for (size_t i = 0; code == RP_OK && i < writer->first_count; i++) {
        sqlite3_bind_int64(row, 1, writer->first[i].kernel);
        rp_bind_integer(row, 2, writer->first[i].process);
        sqlite3_bind_int64(row, 3, writer->first[i].launch);
        code = rp_db_run(capture, row, error);
    }
    sqlite3_finalize(row);
    return code;
}

static rp_code note_untimed_copies(rp_capture *capture, const rp_copy_sum *sum, rp_error *error) {
    char time[32];
    return rp_capture_add_note(capture, "warning", error,
                               "%llu of %llu copies %s have no time, or one that cannot be: how "
                               "long they took together is not known (the others: %s)",
                               (unsigned long long)sum->untimed, (unsigned long long)sum->count,
                               sum->kind, rp_format_time(time, sizeof time, sum->time_s));
}

static rp_code write_copies(rp_capture *capture, rp_error *error) {
    const rp_writer *writer = capture->writer;
    sqlite3_stmt *row = NULL;
    rp_code code =
        rp_db_prepare(capture, &row, "INSERT INTO copy_summaries VALUES(?,?,?,?,?)", error);
    for (size_t i = 0; code == RP_OK && i < writer->copy_count; i++) {
        const rp_copy_sum *sum = &writer->copies[i];
        rp_bind_integer(row, 1, sum->device);
        rp_bind_text(row, 2, sum->kind);
        sqlite3_bind_int64(row, 3, (int64_t)sum->count);
        rp_bind_real(row, 4, sum->bytes);
        /* the time of some for the bytes of all would make a rate that none had */
        rp_bind_real(row, 5, sum->untimed ? NAN : sum->time_s);
        code = rp_db_run(capture, row, error);
        if (code == RP_OK && sum->untimed && sum->untimed < sum->count)
            code = note_untimed_copies(capture, sum, error);
    }
    sqlite3_finalize(row);
    return code;
}

/* ---- Devices --------------------------------------------------------------------------------- */

static int by_time(const void *a, const void *b) {
    const rp_memory_event *x = a, *y = b;
    if (x->time_ns != y->time_ns)
        return x->time_ns < y->time_ns ? -1 : 1;
    return (x->sequence > y->sequence) - (x->sequence < y->sequence);
}

/* The most that was allocated on DEVICE at a time; NaN without records. What is freed without
 * having been seen allocated was there from the start, so it is added to all. Events in order. */
static double peak_allocated(const rp_writer *writer, int64_t device) {
    double now = 0, most = 0, least = 0;
    bool any = false;
    for (size_t i = 0; i < writer->memory_count; i++) {
        if (writer->memory[i].device != device)
            continue;
        any = true;
        now += writer->memory[i].bytes;
        most = fmax(most, now);
        least = fmin(least, now);
    }
    return any ? most - least : NAN;
}

static rp_code write_device_totals(rp_capture *capture, rp_error *error) {
    rp_writer *writer = capture->writer;
    sqlite3_stmt *row = NULL;
    rp_code code = rp_db_prepare(capture, &row,
                                 "UPDATE devices SET launches = ?2, sum_s = ?3, busy_s = ?4,"
                                 " span_s = ?5, copy_s = ?6, observed_sm_clock_hz = ?7,"
                                 " peak_allocated_bytes = ?8 WHERE id = ?1",
                                 error);
    if (writer->memory_count)
        qsort(writer->memory, writer->memory_count, sizeof *writer->memory, by_time);
    for (size_t i = 0; code == RP_OK && i < writer->device_count; i++) {
        rp_device_sums sums;
        rp_device_totals_sum(&writer->totals[i], &sums);
        sqlite3_bind_int64(row, 1, (int64_t)i);
        sqlite3_bind_int64(row, 2, (int64_t)writer->totals[i].launches);
        rp_bind_real(row, 3, sums.sum_s);
        rp_bind_real(row, 4, sums.busy_s);
        rp_bind_real(row, 5, sums.span_s);
        rp_bind_real(row, 6, sums.copy_s);
        rp_bind_real(row, 7, sums.observed_clock_hz);
        rp_bind_real(row, 8, peak_allocated(writer, (int64_t)i));
        code = rp_db_run(capture, row, error);
    }
    sqlite3_finalize(row);
    return code;
}

/* ---- Finishing ------------------------------------------------------------------------------- */

static rp_code note_oddities(rp_capture *capture, rp_error *error) {
    const rp_writer *writer = capture->writer;
    char text[32];
    snprintf(text, sizeof text, "%llu", (unsigned long long)writer->invalid);
    rp_code code = rp_meta_set(capture, "launches_invalid", text, error);
    if (code == RP_OK && writer->invalid)
        code = rp_capture_add_note(capture, "warning", error,
                                   "%llu %s with impossible times (no end, or none after the "
                                   "start), in no sum of times",
                                   (unsigned long long)writer->invalid,
                                   rp_plural(writer->invalid, "launch", "launches"));
    if (code == RP_OK && writer->counters_repeated)
        code =
            rp_capture_add_note(capture, "info", error,
                                "%llu %s given again for the same launch and metric: the first "
                                "of each was kept",
                                (unsigned long long)writer->counters_repeated,
                                rp_plural(writer->counters_repeated, "value was", "values were"));
    if (code == RP_OK && writer->counters_infinite)
        code =
            rp_capture_add_note(capture, "warning", error, "%llu infinite %s left out",
                                (unsigned long long)writer->counters_infinite,
                                rp_plural(writer->counters_infinite, "value was", "values were"));
    return code;
}

static rp_code write_sums(rp_capture *capture, rp_error *error) {
    static rp_code (*const steps[])(rp_capture *, rp_error *) = {rp_writer_flush_counters,
                                                                 rp_capture_derive,
                                                                 distinguish_kernels,
                                                                 rp_capture_estimate,
                                                                 write_summaries,
                                                                 write_first_launches,
                                                                 write_copies,
                                                                 write_device_totals,
                                                                 note_oddities};
    rp_code code = RP_OK;
    capture->writer->finishing = true;
    for (size_t i = 0; code == RP_OK && i < sizeof steps / sizeof *steps; i++)
        code = steps[i](capture, error);
    return code == RP_OK ? rp_db_exec(capture, "COMMIT", error) : code;
}

/* Puts the file in place and opens it again, now as a reader does. */
static rp_code put_in_place(rp_capture *capture, rp_error *error) {
    if (sqlite3_close(capture->db) != SQLITE_OK)
        return rp_db_fail(capture, error);
    capture->db = NULL;
    rp_code code = rp_temp_commit(&capture->temp, error);
    return code == RP_OK ? rp_capture_reopen(capture, error) : code;
}

rp_code rp_capture_finish(rp_capture *capture, rp_error *error) {
    rp_code code = write_sums(capture, error);
    if (code != RP_OK)
        return code;
    rp_writer_free(capture->writer);
    capture->writer = NULL;
    if (capture->path)
        return put_in_place(capture, error);
    return rp_db_exec(capture, "PRAGMA query_only = ON", error);
}
