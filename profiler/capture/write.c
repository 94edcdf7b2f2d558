/* SPDX-License-Identifier: Apache-2.0
 *
 * What comes into a capture. Rows go straight to SQLite; sums, first launches, intervals and clocks
 * are kept in memory beside them, so that finishing need not read the launches again. Counters are
 * in counters.c, copies, memory, ranges and notes in events.c.
 */
#include "capture/internal.h"
#include "capture/name.h"
#include "support/array.h"
#include "support/text.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PROGRESS_STEP = 4096 };

/* The key's columns come first in the table: SQLite 3.40's integrity check reports NULLs in a table
 * WITHOUT ROWID where they do not. */
#define CEILING_COLUMNS                                                                            \
    "(device, kind, precision, path, level, rate, provenance) VALUES(?,?,?,?,?,?,?)"

static const char *const insert_sql[RP_INSERTS] = {
    [RP_INSERT_DEVICE] = "INSERT INTO devices(id, ordinal, name, chip, uuid, pci_id, cc_major,"
                         " cc_minor, sm_count, memory_bytes, l2_bytes, memory_bus_bits,"
                         " sm_clock_hz, memory_clock_hz, emulated, driver, power_limit_w)"
                         " VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
    [RP_INSERT_CEILING] = "INSERT OR REPLACE INTO ceilings" CEILING_COLUMNS,
    [RP_INSERT_LARGER_CEILING] = "INSERT INTO ceilings" CEILING_COLUMNS " ON CONFLICT DO UPDATE SET"
                                 " rate = max(rate, excluded.rate)",
    [RP_INSERT_PROCESS] = "INSERT INTO processes VALUES(?,?,?,?,?)",
    [RP_INSERT_KERNEL] = "INSERT INTO kernels VALUES(?,?,?,?)",
    [RP_INSERT_CONFIG] = "INSERT INTO configs VALUES(?,?,?,?,?,?,?,?,?,?,?)",
    [RP_INSERT_PLACE] = "INSERT INTO places VALUES(?,?,?,?,?,?,?)",
    [RP_INSERT_LAUNCH] = "INSERT INTO launches VALUES(?,?,?,?,?,?,?,?,?)",
    [RP_INSERT_METRIC] = "INSERT INTO metrics VALUES(?,?,?,?)",
    [RP_INSERT_COUNTER] = "INSERT OR IGNORE INTO counters VALUES(?,?,?)",
    [RP_INSERT_COUNTERS] = "INSERT OR IGNORE INTO counters VALUES(?,?,?),(?,?,?),(?,?,?),(?,?,?),"
                           "(?,?,?),(?,?,?),(?,?,?),(?,?,?),(?,?,?),(?,?,?),(?,?,?),(?,?,?),"
                           "(?,?,?),(?,?,?),(?,?,?),(?,?,?)",
    [RP_INSERT_COPY] = "INSERT INTO copies(device, process, stream, correlation, kind, bytes,"
                       " start_ns, end_ns, time_provenance) VALUES(?,?,?,?,?,?,?,?,?)",
    [RP_INSERT_MEMORY] = "INSERT INTO memory(device, process, time_ns, address, bytes, kind)"
                         " VALUES(?,?,?,?,?,?)",
    [RP_INSERT_RANGE] = "INSERT INTO ranges VALUES(?,?,?,?,?)",
    [RP_INSERT_NOTE] = "INSERT INTO notes(severity, text, derived) VALUES(?,?,?)",
};

rp_code rp_writer_insert(rp_capture *capture, rp_insert kind, sqlite3_stmt **row, rp_error *error) {
    sqlite3_stmt **held = &capture->writer->insert[kind];
    rp_code code = *held ? RP_OK : rp_db_prepare(capture, held, insert_sql[kind], error);
    *row = *held;
    return code;
}

void rp_writer_free(rp_writer *writer) {
    if (!writer)
        return;
    for (int i = 0; i < RP_INSERTS; i++)
        sqlite3_finalize(writer->insert[i]);
    rp_map *const maps[] = {&writer->devices, &writer->processes,  &writer->kernels,
                            &writer->configs, &writer->places,     &writer->metrics,
                            &writer->firsts,  &writer->copy_kinds, &writer->notes};
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
        rp_map_free(maps[i]);
    for (size_t i = 0; i < writer->device_count; i++)
        rp_device_totals_free(&writer->totals[i]);
    rp_summaries_free(&writer->summaries);
    free(writer->config_kernel);
    free(writer->place);
    free(writer->process_next);
    free(writer->first);
    free(writer->totals);
    free(writer->counters);
    free(writer->memory);
    free(writer->copies);
    free(writer);
}

/* ---- Devices and processes ------------------------------------------------------------------- */

static const char *or_empty(const char *text) {
    return text ? text : "";
}

/* Looks up the record whose fields are printed by FORMAT. *ID: its id, or COUNT if it is new. */
__attribute__((format(printf, 5, 6))) static rp_code
record_id(rp_map *map, size_t count, int64_t *id, rp_error *error, const char *format, ...) {
    char *key = NULL;
    va_list args;
    va_start(args, format);
    int length = vasprintf(&key, format, args);
    va_end(args);
    if (length < 0)
        return rp_db_no_memory(error);
    int64_t *known = rp_map_put(map, key, (size_t)length, NULL);
    free(key);
    if (!known)
        return rp_db_no_memory(error);
    if (*known < 0)
        *known = (int64_t)count;
    *id = *known;
    return RP_OK;
}

static rp_code insert_device(rp_capture *capture, const rp_device_record *device, int64_t id,
                             rp_error *error) {
    sqlite3_stmt *row;
    rp_code code = rp_writer_insert(capture, RP_INSERT_DEVICE, &row, error);
    if (code != RP_OK)
        return code;
    sqlite3_bind_int64(row, 1, id);
    rp_bind_integer(row, 2, device->ordinal);
    rp_bind_text(row, 3, device->name);
    rp_bind_text(row, 4, device->chip);
    rp_bind_text(row, 5, device->uuid);
    rp_bind_text(row, 6, device->pci_id);
    rp_bind_integer(row, 7, device->cc_major);
    rp_bind_integer(row, 8, device->cc_minor);
    rp_bind_integer(row, 9, device->sm_count);
    rp_bind_integer(row, 10, device->memory_bytes);
    rp_bind_integer(row, 11, device->l2_bytes);
    rp_bind_integer(row, 12, device->memory_bus_bits);
    rp_bind_real(row, 13, device->sm_clock_hz);
    rp_bind_real(row, 14, device->memory_clock_hz);
    sqlite3_bind_int(row, 15, device->emulated);
    rp_bind_text(row, 16, device->driver);
    rp_bind_real(row, 17, device->power_limit_w > 0 ? device->power_limit_w : NAN);
    return rp_db_run(capture, row, error);
}

rp_code rp_capture_add_device(rp_capture *capture, const rp_device_record *device, int64_t *id,
                              rp_error *error) {
    rp_writer *writer = capture->writer;
    const rp_device_record *d = device;
    rp_code code = record_id(
        &writer->devices, writer->device_count, id, error,
        "%lld %s\n%s\n%s\n%s\n%lld %d %d %lld %lld %lld %lld %a %a %d",
        (long long)writer->device_namespace, or_empty(d->name), or_empty(d->chip),
        or_empty(d->uuid), or_empty(d->pci_id), (long long)d->ordinal, d->cc_major, d->cc_minor,
        (long long)d->sm_count, (long long)d->memory_bytes, (long long)d->l2_bytes,
        (long long)d->memory_bus_bits, d->sm_clock_hz, d->memory_clock_hz, d->emulated);
    if (code != RP_OK || *id < (int64_t)writer->device_count)
        return code;
    if (!RP_ARRAY_ROOM(writer->totals, writer->device_capacity, writer->device_count))
        return rp_db_no_memory(error);
    writer->totals[writer->device_count++] = (rp_device_totals){0};
    return insert_device(capture, device, *id, error);
}

static rp_code insert_ceiling(rp_capture *capture, rp_insert kind, int64_t device,
                              const rp_capture_ceiling *ceiling, rp_error *error) {
    sqlite3_stmt *row;
    rp_code code = rp_writer_insert(capture, kind, &row, error);
    if (code != RP_OK)
        return code;
    sqlite3_bind_int64(row, 1, device);
    rp_bind_text(row, 2, ceiling->compute ? "compute" : "bandwidth");
    rp_bind_text(row, 3, ceiling->compute ? ceiling->precision : "");
    rp_bind_text(row, 4, ceiling->compute ? ceiling->path : "");
    rp_bind_text(row, 5, ceiling->compute ? "" : ceiling->level);
    rp_bind_real(row, 6, ceiling->rate);
    sqlite3_bind_int(row, 7, ceiling->provenance);
    return rp_db_run(capture, row, error);
}

rp_code rp_capture_add_ceiling(rp_capture *capture, int64_t device,
                               const rp_capture_ceiling *ceiling, rp_error *error) {
    return insert_ceiling(capture, RP_INSERT_CEILING, device, ceiling, error);
}

rp_code rp_writer_raise_ceiling(rp_capture *capture, int64_t device,
                                const rp_capture_ceiling *ceiling, rp_error *error) {
    return insert_ceiling(capture, RP_INSERT_LARGER_CEILING, device, ceiling, error);
}

rp_code rp_capture_add_process(rp_capture *capture, const rp_process_record *process, int64_t *id,
                               rp_error *error) {
    rp_writer *writer = capture->writer;
    rp_code code = record_id(&writer->processes, writer->process_count, id, error,
                             "%lld %lld\n%s\n%s", (long long)process->pid, (long long)process->rank,
                             or_empty(process->name), or_empty(process->host));
    if (code != RP_OK || *id < (int64_t)writer->process_count)
        return code;
    if (!RP_ARRAY_ROOM(writer->process_next, writer->process_capacity, writer->process_count))
        return rp_db_no_memory(error);
    writer->process_next[writer->process_count++] = 0;
    sqlite3_stmt *row;
    if ((code = rp_writer_insert(capture, RP_INSERT_PROCESS, &row, error)) != RP_OK)
        return code;
    sqlite3_bind_int64(row, 1, *id);
    rp_bind_integer(row, 2, process->pid);
    rp_bind_integer(row, 3, process->rank);
    rp_bind_text(row, 4, process->name);
    rp_bind_text(row, 5, process->host);
    return rp_db_run(capture, row, error);
}

/* ---- Kernels and configs --------------------------------------------------------------------- */

static rp_code insert_kernel(rp_capture *capture, int64_t id, const char *name, rp_error *error) {
    sqlite3_stmt *row;
    rp_code code = rp_writer_insert(capture, RP_INSERT_KERNEL, &row, error);
    if (code != RP_OK)
        return code;
    char *demangled = rp_name_demangle(name);
    char *short_name = rp_name_short(demangled ? demangled : name);
    if (short_name) {
        sqlite3_bind_int64(row, 1, id);
        rp_bind_text(row, 2, name);
        rp_bind_text(row, 3, demangled);
        rp_bind_text(row, 4, short_name);
        code = rp_db_run(capture, row, error);
        sqlite3_clear_bindings(row);
    } else {
        code = rp_db_no_memory(error);
    }
    free(demangled);
    free(short_name);
    return code;
}

static rp_code kernel_id(rp_capture *capture, const char *name, size_t length, int64_t *id,
                         rp_error *error) {
    rp_map *kernels = &capture->writer->kernels;
    bool added;
    int64_t *known = rp_map_put(kernels, name, length, &added);
    if (!known)
        return rp_db_no_memory(error);
    if (added)
        *known = (int64_t)kernels->count - 1;
    *id = *known;
    if (!added)
        return RP_OK;
    char *copy = rp_text_copy(name, length);
    rp_code code = copy ? insert_kernel(capture, *id, copy, error) : rp_db_no_memory(error);
    free(copy);
    return code;
}

static rp_code insert_config(rp_capture *capture, int64_t id, int64_t kernel,
                             const rp_config_record *config, rp_error *error) {
    sqlite3_stmt *row;
    rp_code code = rp_writer_insert(capture, RP_INSERT_CONFIG, &row, error);
    if (code != RP_OK)
        return code;
    sqlite3_bind_int64(row, 1, id);
    sqlite3_bind_int64(row, 2, kernel);
    for (int i = 0; i < 3; i++) {
        rp_bind_integer(row, 3 + i, config->has_shape ? (int64_t)config->grid[i] : -1);
        rp_bind_integer(row, 6 + i, config->has_shape ? (int64_t)config->block[i] : -1);
    }
    rp_bind_integer(row, 9, config->registers);
    rp_bind_integer(row, 10, config->shared_static);
    rp_bind_integer(row, 11, config->shared_dynamic);
    return rp_db_run(capture, row, error);
}

rp_code rp_capture_add_config(rp_capture *capture, const rp_config_record *config, int64_t *id,
                              rp_error *error) {
    rp_writer *writer = capture->writer;
    int64_t kernel = -1;
    rp_code code = kernel_id(capture, config->name, config->name_length, &kernel, error);
    if (code != RP_OK)
        return code;
    int64_t key[11] = {kernel, config->has_shape, config->registers, config->shared_static,
                       config->shared_dynamic};
    for (int i = 0; i < 3 && config->has_shape; i++) {
        key[5 + i] = config->grid[i];
        key[8 + i] = config->block[i];
    }
    int64_t *known = rp_map_put(&writer->configs, key, sizeof key, NULL);
    if (!known ||
        !RP_ARRAY_ROOM(writer->config_kernel, writer->config_capacity, writer->config_count))
        return rp_db_no_memory(error);
    if (*known >= 0) {
        *id = *known;
        return RP_OK;
    }
    *id = *known = (int64_t)writer->config_count;
    writer->config_kernel[writer->config_count++] = kernel;
    return insert_config(capture, *id, kernel, config, error);
}

/* ---- Launches -------------------------------------------------------------------------------- */

/* Durations are stored in nanoseconds: what a clock gave is whole and takes few bytes, also when it
 * went through seconds on its way. */
double rp_launch_time_ns(double time_s) {
    double exact = time_s * 1e9, whole = nearbyint(exact);
    return fabs(whole - exact) <= 1e-12 * exact ? whole : exact;
}

double rp_launch_time_s(double time_ns) {
    return time_ns / 1e9;
}

static rp_code place_id(rp_capture *capture, const rp_launch_record *launch, int64_t *id,
                        rp_error *error) {
    rp_writer *writer = capture->writer;
    rp_place place = {launch->device, launch->process,         launch->context,
                      launch->stream, launch->time_provenance, launch->cache};
    if (writer->place_count && memcmp(&place, &writer->place[*id], sizeof place) == 0)
        return RP_OK;
    int64_t *known = rp_map_put(&writer->places, &place, sizeof place, NULL);
    if (!known || !RP_ARRAY_ROOM(writer->place, writer->place_capacity, writer->place_count))
        return rp_db_no_memory(error);
    if (*known >= 0) {
        *id = *known;
        return RP_OK;
    }
    *id = *known = (int64_t)writer->place_count;
    writer->place[writer->place_count++] = place;
    sqlite3_stmt *row;
    rp_code code = rp_writer_insert(capture, RP_INSERT_PLACE, &row, error);
    if (code != RP_OK)
        return code;
    sqlite3_bind_int64(row, 1, *id);
    sqlite3_bind_int64(row, 2, place.device);
    rp_bind_integer(row, 3, place.process);
    rp_bind_integer(row, 4, place.context);
    rp_bind_integer(row, 5, place.stream);
    sqlite3_bind_int64(row, 6, place.time_provenance);
    sqlite3_bind_int64(row, 7, place.cache);
    return rp_db_run(capture, row, error);
}

/* Times as they will be stored; those that cannot be are taken out. */
typedef struct checked_times {
    int64_t start_ns, end_ns; /* -1: no timeline */
    double time_s;
    bool invalid;
} checked_times;

static checked_times check_times(const rp_launch_record *launch) {
    checked_times times = {-1, -1, launch->time_s, false};
    bool timeline = launch->start_ns >= 0 && launch->end_ns >= 0;
    bool sound = timeline && launch->end_ns > launch->start_ns;
    if (sound) {
        times.start_ns = launch->start_ns;
        times.end_ns = launch->end_ns;
        if (isnan(times.time_s))
            times.time_s = rp_launch_time_s((double)(times.end_ns - times.start_ns));
    }
    if (times.time_s < RP_TIME_LEAST_S || times.time_s > RP_TIME_MOST_S) {
        times.time_s = NAN;
        times.invalid = true;
    }
    times.time_s = rp_launch_time_s(rp_launch_time_ns(times.time_s)); /* as it will be read */
    times.invalid |= (timeline || launch->start_ns < -1 || launch->end_ns < -1) && !sound;
    return times;
}

static bool is_before(const rp_first_launch *a, const rp_first_launch *b) {
    if (a->start_ns >= 0 && b->start_ns >= 0 && a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns;
    return a->index < b->index;
}

/* Adds the time of LAUNCH to its summary's time_warm, or holds it back as its kernel's first. */
static bool add_warm(rp_writer *writer, const rp_first_launch *launch) {
    int64_t key[2] = {launch->kernel, launch->process};
    int64_t *known = rp_map_put(&writer->firsts, key, sizeof key, NULL);
    if (!known || !RP_ARRAY_ROOM(writer->first, writer->first_capacity, writer->first_count))
        return false;
    if (*known < 0) {
        *known = (int64_t)writer->first_count;
        writer->first[writer->first_count++] = *launch;
        return true;
    }
    rp_first_launch *first = &writer->first[*known], later = *launch;
    if (is_before(launch, first)) {
        later = *first;
        *first = *launch;
    }
    rp_stat_add(&writer->summaries.items[later.summary].time_warm, later.time_s);
    return true;
}

static bool sum_launch(rp_writer *writer, const rp_launch_record *launch, int64_t id, int64_t index,
                       const checked_times *times) {
    rp_summary *summary =
        rp_summaries_at(&writer->summaries, launch->config, launch->device, -1, launch->cache);
    if (!summary)
        return false;
    summary->launches++;
    rp_summary_add_time(summary, times->time_s, launch->time_provenance);
    rp_device_totals *totals = &writer->totals[launch->device];
    totals->launches++;
    if (!isnan(times->time_s)) {
        totals->sum_s += times->time_s;
        totals->timed++;
    }
    if (times->start_ns >= 0 && !rp_intervals_add(&totals->busy, times->start_ns, times->end_ns))
        return false;
    rp_first_launch first = {writer->config_kernel[launch->config],
                             launch->process,
                             id,
                             times->start_ns,
                             index,
                             times->time_s,
                             (size_t)(summary - writer->summaries.items)};
    return add_warm(writer, &first);
}

static bool ids_exist(const rp_writer *writer, const rp_launch_record *launch) {
    return launch->config >= 0 && (size_t)launch->config < writer->config_count &&
           launch->device >= 0 && (size_t)launch->device < writer->device_count &&
           launch->process >= -1 && launch->process < (int64_t)writer->process_count;
}

static int64_t next_index(rp_writer *writer, const rp_launch_record *launch) {
    int64_t *next =
        launch->process < 0 ? &writer->next_index : &writer->process_next[launch->process];
    int64_t index = launch->index >= 0 ? launch->index : *next;
    *next = index + 1;
    return index;
}

rp_code rp_capture_add_launch(rp_capture *capture, const rp_launch_record *launch, int64_t *id,
                              rp_error *error) {
    rp_writer *writer = capture->writer;
    if (!ids_exist(writer, launch))
        return rp_fail(error, RP_INTERNAL,
                       "a launch names a config, device or process that is not "
                       "in the capture; please report this");
    rp_code code = place_id(capture, launch, &writer->last_place, error);
    if (code != RP_OK)
        return code;
    checked_times times = check_times(launch);
    writer->invalid += times.invalid;
    int64_t index = next_index(writer, launch), row_id = writer->launch_count++;
    if (writer->progress && row_id % PROGRESS_STEP == 0)
        rp_progress_update(writer->progress, (double)(row_id + writer->counters_written));
    if (id)
        *id = row_id;
    if (!sum_launch(writer, launch, row_id, index, &times))
        return rp_db_no_memory(error);
    sqlite3_stmt *row;
    if ((code = rp_writer_insert(capture, RP_INSERT_LAUNCH, &row, error)) != RP_OK)
        return code;
    sqlite3_bind_int64(row, 1, row_id);
    sqlite3_bind_int64(row, 2, launch->config);
    sqlite3_bind_int64(row, 3, writer->last_place);
    sqlite3_bind_int64(row, 4, index);
    rp_bind_integer(row, 5, times.start_ns);
    rp_bind_real(row, 6, rp_launch_time_ns(times.time_s));
    rp_bind_integer(row, 7, launch->correlation);
    rp_bind_integer(row, 8, launch->graph_node);
    rp_bind_integer(row, 9, launch->range);
    return rp_db_run(capture, row, error);
}

void rp_capture_count_invalid(rp_capture *capture, uint64_t n) {
    capture->writer->invalid += n;
}

uint64_t rp_capture_launch_count(const rp_capture *capture) {
    return (uint64_t)capture->writer->launch_count;
}

void rp_capture_show_progress(rp_capture *capture, rp_progress *progress) {
    capture->writer->progress = progress;
}
