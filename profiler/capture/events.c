/* SPDX-License-Identifier: Apache-2.0
 *
 * What else a capture holds than launches and counters: copies, memory, ranges, notes.
 */
#include "capture/internal.h"
#include "support/array.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Sums SECONDS and BYTES of a copy for copy_summaries; NaN is not known. */
static bool sum_copy(rp_writer *writer, const rp_copy_record *copy, double seconds) {
    struct {
        int64_t device;
        char kind[16];
    } key = {.device = copy->device};
    snprintf(key.kind, sizeof key.kind, "%s", copy->kind);
    int64_t *known = rp_map_put(&writer->copy_kinds, &key, sizeof key, NULL);
    if (!known || !RP_ARRAY_ROOM(writer->copies, writer->copy_capacity, writer->copy_count))
        return false;
    if (*known < 0) {
        *known = (int64_t)writer->copy_count;
        rp_copy_sum *new = &writer->copies[writer->copy_count++];
        *new = (rp_copy_sum){.device = copy->device, .bytes = NAN, .time_s = NAN};
        memcpy(new->kind, key.kind, sizeof key.kind);
    }
    rp_copy_sum *sum = &writer->copies[*known];
    sum->count++;
    sum->untimed += isnan(seconds);
    if (!isnan(copy->bytes))
        sum->bytes = isnan(sum->bytes) ? copy->bytes : sum->bytes + copy->bytes;
    if (!isnan(seconds))
        sum->time_s = isnan(sum->time_s) ? seconds : sum->time_s + seconds;
    return true;
}

rp_code rp_capture_add_copy(rp_capture *capture, const rp_copy_record *copy, rp_error *error) {
    rp_writer *writer = capture->writer;
    bool on_device = copy->device >= 0 && (size_t)copy->device < writer->device_count;
    bool timeline = copy->start_ns >= 0 && copy->end_ns > copy->start_ns;
    /* no time at all is one that was rounded down (traces in whole microseconds) */
    bool rounded = copy->start_ns > 0 && copy->end_ns == copy->start_ns;
    double seconds = timeline  ? rp_launch_time_s((double)(copy->end_ns - copy->start_ns))
                     : rounded ? 0
                               : NAN;
    if (!sum_copy(writer, copy, seconds) ||
        (timeline && on_device &&
         !rp_intervals_add(&writer->totals[copy->device].copies, copy->start_ns, copy->end_ns)))
        return rp_db_no_memory(error);
    sqlite3_stmt *row;
    rp_code code = rp_writer_insert(capture, RP_INSERT_COPY, &row, error);
    if (code != RP_OK)
        return code;
    rp_bind_integer(row, 1, copy->device);
    rp_bind_integer(row, 2, copy->process);
    rp_bind_integer(row, 3, copy->stream);
    rp_bind_integer(row, 4, copy->correlation);
    rp_bind_text(row, 5, copy->kind);
    rp_bind_real(row, 6, copy->bytes);
    rp_bind_integer(row, 7, timeline ? copy->start_ns : -1);
    rp_bind_integer(row, 8, timeline ? copy->end_ns : -1);
    sqlite3_bind_int(row, 9, copy->time_provenance);
    return rp_db_run(capture, row, error);
}

/* Pinned memory is the host's. */
static bool is_on_device(const rp_memory_record *memory) {
    return memory->device >= 0 && !(memory->kind && strcmp(memory->kind, "pinned") == 0);
}

rp_code rp_capture_add_memory(rp_capture *capture, const rp_memory_record *memory,
                              rp_error *error) {
    rp_writer *writer = capture->writer;
    if (is_on_device(memory)) {
        if (!RP_ARRAY_ROOM(writer->memory, writer->memory_capacity, writer->memory_count))
            return rp_db_no_memory(error);
        writer->memory[writer->memory_count] = (rp_memory_event){
            memory->device, memory->time_ns, (int64_t)writer->memory_count, memory->bytes};
        writer->memory_count++;
    }
    sqlite3_stmt *row;
    rp_code code = rp_writer_insert(capture, RP_INSERT_MEMORY, &row, error);
    if (code != RP_OK)
        return code;
    rp_bind_integer(row, 1, memory->device);
    rp_bind_integer(row, 2, memory->process);
    rp_bind_integer(row, 3, memory->time_ns);
    sqlite3_bind_int64(row, 4, (int64_t)memory->address);
    rp_bind_real(row, 5, memory->bytes);
    rp_bind_text(row, 6, memory->kind);
    return rp_db_run(capture, row, error);
}

rp_code rp_capture_add_range(rp_capture *capture, int64_t parent, const char *name,
                             int64_t start_ns, int64_t end_ns, int64_t *id, rp_error *error) {
    sqlite3_stmt *row;
    rp_code code = rp_writer_insert(capture, RP_INSERT_RANGE, &row, error);
    if (code != RP_OK)
        return code;
    int64_t made = capture->writer->range_count++;
    if (id)
        *id = made;
    sqlite3_bind_int64(row, 1, made);
    rp_bind_integer(row, 2, parent);
    rp_bind_text(row, 3, name);
    rp_bind_integer(row, 4, start_ns);
    rp_bind_integer(row, 5, end_ns);
    return rp_db_run(capture, row, error);
}

rp_code rp_capture_add_note(rp_capture *capture, const char *severity, rp_error *error,
                            const char *format, ...) {
    sqlite3_stmt *row;
    rp_code code = rp_writer_insert(capture, RP_INSERT_NOTE, &row, error);
    if (code != RP_OK)
        return code;
    char *text = NULL;
    bool added = false;
    va_list args;
    va_start(args, format);
    int length = vasprintf(&text, format, args);
    va_end(args);
    if (length < 0)
        return rp_db_no_memory(error);
    if (!rp_map_put(&capture->writer->notes, text, (size_t)length, &added))
        code = rp_db_no_memory(error);
    if (added) {
        rp_bind_text(row, 1, severity);
        rp_bind_text(row, 2, text);
        sqlite3_bind_int(row, 3, capture->writer->finishing);
        code = rp_db_run(capture, row, error);
    }
    sqlite3_clear_bindings(row);
    free(text);
    return code;
}
