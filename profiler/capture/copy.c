/* SPDX-License-Identifier: Apache-2.0
 *
 * Copying a capture table by table through the same functions that importers use, so that a copy is
 * checked, numbered and summed as anything else.
 */
#include "capture/copy.h"
#include "capture/name.h"
#include "support/array.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static rp_code remember(rp_copier *c, int64_t **ids, size_t *capacity, size_t *count, int64_t id) {
    if (!rp_array_room((void **)ids, capacity, *count, sizeof **ids))
        return rp_db_no_memory(c->error);
    (*ids)[(*count)++] = id;
    return RP_OK;
}

/* The id in INTO of row ROW of a table; -1 stays -1. */
static bool map_id(const int64_t *ids, size_t count, int64_t row, int64_t *id) {
    *id = rp_is_index(row, count) ? ids[row] : -1;
    return row == -1 || rp_is_index(row, count);
}

static const char *text(sqlite3_stmt *row, int column) {
    return (const char *)sqlite3_column_text(row, column);
}

static rp_code damaged(const rp_copier *c, const char *what) {
    return rp_db_damaged(c->from, what, c->error);
}

static rp_code copy_device(void *context, sqlite3_stmt *row) {
    rp_copier *c = context;
    rp_device_record device = {.ordinal = rp_column_integer(row, 0),
                               .name = text(row, 1),
                               .chip = text(row, 2),
                               .uuid = text(row, 3),
                               .pci_id = text(row, 4),
                               .cc_major = (int)rp_column_integer(row, 5),
                               .cc_minor = (int)rp_column_integer(row, 6),
                               .sm_count = rp_column_integer(row, 7),
                               .memory_bytes = rp_column_integer(row, 8),
                               .l2_bytes = rp_column_integer(row, 9),
                               .memory_bus_bits = rp_column_integer(row, 10),
                               .sm_clock_hz = rp_column_real(row, 11),
                               .memory_clock_hz = rp_column_real(row, 12),
                               .emulated = sqlite3_column_int(row, 13) != 0,
                               .driver = text(row, 14),
                               .power_limit_w = rp_column_real(row, 15)};
    int64_t id, space = c->into->writer->device_namespace;
    if (device.uuid) /* the same one, whoever saw it */
        c->into->writer->device_namespace = 0;
    rp_code code = rp_capture_add_device(c->into, &device, &id, c->error);
    c->into->writer->device_namespace = space;
    return code == RP_OK ? remember(c, &c->devices, &c->device_capacity, &c->device_count, id)
                         : code;
}

static void copy_word(char *word, size_t size, const char *from) {
    snprintf(word, size, "%s", from ? from : "");
}

static rp_code copy_ceiling(void *context, sqlite3_stmt *row) {
    rp_copier *c = context;
    int64_t device;
    rp_capture_ceiling ceiling = {.rate = rp_column_real(row, 5),
                                  .provenance = rp_column_provenance(row, 6)};
    if (!map_id(c->devices, c->device_count, rp_column_integer(row, 0), &device) || device < 0)
        return damaged(c, "a ceiling is of no device");
    ceiling.compute = text(row, 1) && strcmp(text(row, 1), "compute") == 0;
    copy_word(ceiling.precision, sizeof ceiling.precision, text(row, 2));
    copy_word(ceiling.path, sizeof ceiling.path, text(row, 3));
    copy_word(ceiling.level, sizeof ceiling.level, text(row, 4));
    return rp_capture_add_ceiling(c->into, device, &ceiling, c->error);
}

static rp_code copy_process(void *context, sqlite3_stmt *row) {
    rp_copier *c = context;
    rp_process_record process = {rp_column_integer(row, 0), rp_column_integer(row, 1), text(row, 2),
                                 text(row, 3)};
    int64_t id;
    rp_code code = rp_capture_add_process(c->into, &process, &id, c->error);
    return code == RP_OK ? remember(c, &c->processes, &c->process_capacity, &c->process_count, id)
                         : code;
}

static rp_code copy_config(void *context, sqlite3_stmt *row) {
    rp_copier *c = context;
    const char *name = text(row, 0), *short_name = text(row, 10);
    if (!name || !short_name)
        return damaged(c, "a kernel has no name");
    rp_config_record config = {.name = name,
                               .name_length = strlen(name),
                               .has_shape = sqlite3_column_type(row, 1) != SQLITE_NULL,
                               .registers = rp_column_integer(row, 7),
                               .shared_static = rp_column_integer(row, 8),
                               .shared_dynamic = rp_column_integer(row, 9)};
    for (int i = 0; i < 3; i++) {
        config.grid[i] = (uint32_t)sqlite3_column_int64(row, 1 + i);
        config.block[i] = (uint32_t)sqlite3_column_int64(row, 4 + i);
    }
    int64_t id;
    if (!RP_ARRAY_ROOM(c->config_collective, c->collective_capacity, c->config_count))
        return rp_db_no_memory(c->error);
    c->config_collective[c->config_count] = rp_name_is_collective(short_name);
    rp_code code = rp_capture_add_config(c->into, &config, &id, c->error);
    return code == RP_OK ? remember(c, &c->configs, &c->config_capacity, &c->config_count, id)
                         : code;
}

static rp_code copy_metric(void *context, sqlite3_stmt *row) {
    rp_copier *c = context;
    int64_t id;
    const char *name = text(row, 0), *unit = text(row, 1), *quantity = text(row, 2);
    if (!name)
        return damaged(c, "a metric has no name");
    rp_code code = rp_writer_metric(c->into, name, unit, quantity, &id, c->error);
    return code == RP_OK ? remember(c, &c->metrics, &c->metric_capacity, &c->metric_count, id)
                         : code;
}

static rp_code copy_range(void *context, sqlite3_stmt *row) {
    rp_copier *c = context;
    int64_t id, parent;
    const char *name = text(row, 1);
    if (!map_id(c->ranges, c->range_count, rp_column_integer(row, 0), &parent) || !name)
        return damaged(c, "its ranges are not numbered in order");
    rp_code code = rp_capture_add_range(c->into, parent, name, rp_column_integer(row, 2),
                                        rp_column_integer(row, 3), &id, c->error);
    return code == RP_OK ? remember(c, &c->ranges, &c->range_capacity, &c->range_count, id) : code;
}

static rp_code copy_place(void *context, sqlite3_stmt *row) {
    rp_copier *c = context;
    if (!RP_ARRAY_ROOM(c->places, c->place_capacity, c->place_count))
        return rp_db_no_memory(c->error);
    rp_place place = {rp_column_integer(row, 0),    rp_column_integer(row, 1),
                      rp_column_integer(row, 2),    rp_column_integer(row, 3),
                      rp_column_provenance(row, 4), rp_column_cache(row, 5)};
    if (!rp_is_index(place.device, c->device_count) ||
        !(place.process == -1 || rp_is_index(place.process, c->process_count)))
        return damaged(c, "a launch is on no device");
    c->places[c->place_count++] = place;
    return RP_OK;
}

static void sum_process_time(rp_copier *c, int64_t process, int64_t config, double time_s) {
    if (!isnan(time_s) && !c->config_collective[config])
        c->process_time_s[process < 0 ? (int64_t)c->process_count : process] += time_s;
}

static rp_code copy_launch(void *context, sqlite3_stmt *row) {
    rp_copier *c = context;
    int64_t id = sqlite3_column_int64(row, 0), new_id;
    int64_t config = rp_column_integer(row, 1), place_row = rp_column_integer(row, 2);
    double time_ns = rp_column_real(row, 5);
    if (id != c->into->writer->launch_count - c->first_launch ||
        !rp_is_index(config, c->config_count) || !rp_is_index(place_row, c->place_count))
        return damaged(c, "a launch names what is not there");
    const rp_place *place = &c->places[place_row];
    rp_launch_record launch = {.config = c->configs[config],
                               .device = c->devices[place->device],
                               .process = place->process < 0 ? -1 : c->processes[place->process],
                               .context = place->context,
                               .stream = place->stream,
                               .correlation = rp_column_integer(row, 6),
                               .graph_node = rp_column_integer(row, 7),
                               .index = rp_column_integer(row, 3),
                               .start_ns = rp_column_integer(row, 4),
                               .end_ns = -1,
                               .time_s = rp_launch_time_s(time_ns),
                               .time_provenance = (rp_provenance)place->time_provenance,
                               .cache = (rp_cache_state)place->cache};
    if (!map_id(c->ranges, c->range_count, rp_column_integer(row, 8), &launch.range))
        return damaged(c, "a launch is in no range");
    if (launch.time_provenance == RP_ABSENT) /* only counters give a time without saying whence */
        launch.time_provenance = RP_COUNTED;
    if (launch.start_ns >= 0 && launch.start_ns < INT64_MAX / 2 && time_ns < 9e18)
        launch.end_ns = launch.start_ns + (int64_t)time_ns;
    else
        launch.start_ns = -1;
    sum_process_time(c, place->process, config, launch.time_s);
    rp_code code = c->before ? c->before(c->context, id, config, place->process, &launch) : RP_OK;
    if (code == RP_OK)
        code = rp_capture_add_launch(c->into, &launch, &new_id, c->error);
    return code == RP_OK && c->after ? c->after(c->context, id, new_id) : code;
}

static rp_code copy_counter(void *context, sqlite3_stmt *row) {
    rp_copier *c = context;
    int64_t key = sqlite3_column_int64(row, 0), metric = key & (RP_METRICS_MAX - 1);
    if (key < 0 || !rp_is_index(metric, c->metric_count))
        return damaged(c, "a counter is of no metric");
    return rp_capture_add_counter(c->into, c->first_launch + (key >> RP_COUNTER_SHIFT),
                                  c->metrics[metric], rp_column_real(row, 1),
                                  rp_column_provenance(row, 2), c->error);
}

static rp_code copy_copy(void *context, sqlite3_stmt *row) {
    rp_copier *c = context;
    rp_copy_record copy = {.stream = rp_column_integer(row, 2),
                           .correlation = rp_column_integer(row, 3),
                           .kind = text(row, 4),
                           .bytes = rp_column_real(row, 5),
                           .start_ns = rp_column_integer(row, 6),
                           .end_ns = rp_column_integer(row, 7),
                           .time_provenance = rp_column_provenance(row, 8)};
    if (!map_id(c->devices, c->device_count, rp_column_integer(row, 0), &copy.device) ||
        !map_id(c->processes, c->process_count, rp_column_integer(row, 1), &copy.process) ||
        !copy.kind)
        return damaged(c, "a copy names what is not there");
    return rp_capture_add_copy(c->into, &copy, c->error);
}

static rp_code copy_memory(void *context, sqlite3_stmt *row) {
    rp_copier *c = context;
    rp_memory_record memory = {.time_ns = rp_column_integer(row, 2),
                               .address = (uint64_t)sqlite3_column_int64(row, 3),
                               .bytes = rp_column_real(row, 4),
                               .kind = text(row, 5)};
    if (!map_id(c->devices, c->device_count, rp_column_integer(row, 0), &memory.device) ||
        !map_id(c->processes, c->process_count, rp_column_integer(row, 1), &memory.process))
        return damaged(c, "a memory record names what is not there");
    return rp_capture_add_memory(c->into, &memory, c->error);
}

static rp_code copy_note(void *context, sqlite3_stmt *row) {
    rp_copier *c = context;
    const char *severity = text(row, 0), *note = text(row, 1);
    if (!severity || !note)
        return damaged(c, "a note is empty");
    return rp_capture_add_note(c->into, severity, c->error, "%s", note);
}

/* Before launches come: room for the sums of each process, and of none. */
static rp_code start_launches(rp_copier *c) {
    c->first_launch = c->into->writer->launch_count;
    c->process_time_s = calloc(c->process_count + 1, sizeof *c->process_time_s);
    return c->process_time_s ? RP_OK : rp_db_no_memory(c->error);
}

typedef struct table {
    const char *sql;
    rp_code (*take)(void *context, sqlite3_stmt *row);
} table;

static const table before_launches[] = {
    {"SELECT ordinal, name, chip, uuid, pci_id, cc_major, cc_minor, sm_count, memory_bytes,"
     " l2_bytes, memory_bus_bits, sm_clock_hz, memory_clock_hz, emulated, " RP_DEVICE_STATE
     " FROM " RP_DEVICES " ORDER BY d.id",
     copy_device},
    {"SELECT device, kind, precision, path, level, rate, provenance FROM ceilings", copy_ceiling},
    {"SELECT pid, rank, name, host FROM processes ORDER BY id", copy_process},
    {"SELECT k.name, c.grid_x, c.grid_y, c.grid_z, c.block_x, c.block_y, c.block_z, c.registers,"
     " c.shared_static, c.shared_dynamic, k.short_name"
     " FROM configs c JOIN kernels k ON k.id = c.kernel ORDER BY c.id",
     copy_config},
    {"SELECT name, unit, quantity FROM metrics ORDER BY id", copy_metric},
    {"SELECT parent, name, start_ns, end_ns FROM ranges ORDER BY id", copy_range},
    {"SELECT device, process, context, stream, time_provenance, cache FROM places ORDER BY id",
     copy_place}};

static const table after_launches[] = {
    {"SELECT key, value, provenance FROM counters ORDER BY key", copy_counter},
    {"SELECT device, process, stream, correlation, kind, bytes, start_ns, end_ns, time_provenance"
     " FROM copies ORDER BY id",
     copy_copy},
    {"SELECT device, process, time_ns, address, bytes, kind FROM memory ORDER BY id", copy_memory},
    {"SELECT severity, text FROM notes WHERE NOT derived ORDER BY id", copy_note}};

static rp_code copy_tables(rp_copier *c, const table *tables, size_t n) {
    rp_code code = RP_OK;
    for (size_t i = 0; code == RP_OK && i < n; i++)
        code = rp_db_each(c->from, tables[i].sql, tables[i].take, c, c->error);
    return code;
}

/* Launches whose times could not be have none now: their number is kept. */
static rp_code copy_invalid(rp_copier *c) {
    char *invalid;
    rp_code code = rp_meta_get(c->from, "launches_invalid", &invalid, c->error);
    if (code == RP_OK && invalid)
        rp_capture_count_invalid(c->into, strtoull(invalid, NULL, 10));
    free(invalid);
    return code;
}

rp_code rp_copy_capture(rp_copier *copier) {
    rp_code code =
        copy_tables(copier, before_launches, sizeof before_launches / sizeof *before_launches);
    if (code == RP_OK)
        code = start_launches(copier);
    if (code == RP_OK)
        code = rp_db_each(copier->from,
                          "SELECT id, config, place, idx, start_ns, time_ns, correlation,"
                          " graph_node, range FROM launches ORDER BY id",
                          copy_launch, copier, copier->error);
    if (code == RP_OK)
        code = copy_tables(copier, after_launches, sizeof after_launches / sizeof *after_launches);
    return code == RP_OK ? copy_invalid(copier) : code;
}

void rp_copier_free(rp_copier *copier) {
    free(copier->devices);
    free(copier->processes);
    free(copier->configs);
    free(copier->metrics);
    free(copier->ranges);
    free(copier->places);
    free(copier->process_time_s);
    free(copier->config_collective);
}

rp_code rp_copy_warnings(rp_capture *from, rp_capture *into, rp_error *error) {
    rp_copier copier = {.from = from, .into = into, .error = error};
    rp_code code = rp_db_each(from,
                              "SELECT severity, text FROM notes WHERE severity <> 'info' AND NOT"
                              " derived ORDER BY id",
                              copy_note, &copier, error);
    rp_copier_free(&copier);
    return code;
}
