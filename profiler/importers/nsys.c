/* SPDX-License-Identifier: Apache-2.0
 *
 * The importer of Nsight Systems' SQLite export: kernels, copies, memsets, memory usage, NVTX
 * ranges and devices; times, no counts. The schema changed often and tables appear only when
 * something was recorded, so every table and every column is optional: a table is found by name or
 * name with a version suffix (_V2, _V3), a column that is absent reads as NULL.
 *
 * Only the tables named here are read. Others hold environments, command lines and host data of
 * somebody's machine.
 */
#include "importers/importer.h"
#include "importers/lanes.h"
#include "support/text.h"
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEVICES = 4096, MAX_PROCESSES = 65536, NAME_SIZE = 128, CELL_LIMIT = 64 * 1024 * 1024 };
static const int64_t longest_ns = INT64_C(86400) * 1000000000;
static const int64_t farthest_ns = INT64_C(4000000000000000000);

typedef struct device {
    int64_t ordinal, id; /* id -1: nothing ran there yet */
    bool adapter;        /* listed, but no CUDA device: another vendor's */
    char *name, *chip, *uuid;
    int64_t sm_count, memory_bytes, l2_bytes, cc_major, cc_minor;
    double clock_hz, bandwidth;
} device;

typedef struct process {
    int64_t global, id;
} process;

typedef struct import {
    rp_capture *capture;
    const char *path;
    sqlite3 *db;
    rp_error *error;
    rp_lanes *ranges;
    device *devices;
    size_t device_count;
    process *processes;
    size_t process_count;
    int64_t launches;
    uint64_t kernels, no_time, zero, negative, absurd, unnamed, adapters;
    uint64_t memory_events, pageable, graphs, silent;
} import;

/* ---- SQLite ---------------------------------------------------------------------------------- */

static rp_code sql_error(import *in, const char *doing) {
    int code = sqlite3_errcode(in->db);
    return rp_fail(in->error, code == SQLITE_NOMEM ? RP_INTERNAL : RP_INPUT,
                   "%s: %s: %s; export the report again with `nsys export --type sqlite`", in->path,
                   doing, sqlite3_errmsg(in->db));
}

/* A "file:" URI with everything but plain characters escaped: a path may hold ? # and %, and what
 * begins with two slashes would name a host. */
static char *file_uri(const char *path) {
    static const char tail[] = "?mode=ro&immutable=1";
    char *uri = malloc(7 + strlen(path) * 3 + sizeof tail), *to = uri;
    if (!uri)
        return NULL;
    to = stpcpy(to, *path == '/' ? "file://" : "file:");
    for (const unsigned char *c = (const unsigned char *)path; *c; c++)
        if (isalnum(*c) || strchr("/._-", *c))
            *to++ = (char)*c;
        else
            to += sprintf(to, "%%%02X", *c);
    strcpy(to, tail);
    return uri;
}

/* Read only, unlocked, and with the schema not trusted: the file is a stranger's. */
static int open_database(const char *path, sqlite3 **db) {
    char *uri = file_uri(path);
    if (!uri)
        return SQLITE_NOMEM;
    int code = sqlite3_open_v2(uri, db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, NULL);
    free(uri);
    if (code != SQLITE_OK)
        return code;
    sqlite3_db_config(*db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(*db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_db_config(*db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    sqlite3_db_config(*db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
    sqlite3_limit(*db, SQLITE_LIMIT_LENGTH, CELL_LIMIT);
    return SQLITE_OK;
}

/* The name of table BASE here: itself, or BASE_V2, BASE_V3 ..., the newest. False: there is none.
 */
static rp_code find_table(import *in, const char *base, char name[NAME_SIZE], bool *found) {
    sqlite3_stmt *s;
    *found = false;
    if (sqlite3_prepare_v2(in->db,
                           "SELECT name FROM sqlite_master WHERE type='table' "
                           "AND sql NOT LIKE 'CREATE VIRTUAL%' AND length(name) < 120 "
                           "AND (name = ?1 OR name GLOB ?1 || '_V[0-9]*') "
                           "ORDER BY length(name) DESC, name DESC LIMIT 1",
                           -1, &s, NULL) != SQLITE_OK)
        return sql_error(in, "the table list cannot be read");
    sqlite3_bind_text(s, 1, base, -1, SQLITE_STATIC);
    int step = sqlite3_step(s);
    if (step == SQLITE_ROW) {
        *found = true;
        snprintf(name, NAME_SIZE, "%s", (const char *)sqlite3_column_text(s, 0));
    }
    sqlite3_finalize(s);
    return step == SQLITE_ROW || step == SQLITE_DONE
               ? RP_OK
               : sql_error(in, "the table list cannot be read");
}

static bool has_column(import *in, const char *table, const char *column) {
    return sqlite3_table_column_metadata(in->db, NULL, table, column, NULL, NULL, NULL, NULL,
                                         NULL) == SQLITE_OK;
}

/* One column of a query: alternatives separated by '|', the first that the table has, else NULL. */
static void append_column(import *in, sqlite3_str *sql, const char *alias, const char *table,
                          const char *names) {
    char name[64];
    while (*names) {
        size_t n = strcspn(names, "|");
        snprintf(name, sizeof name, "%.*s", (int)n, names);
        if (has_column(in, table, name)) {
            sqlite3_str_appendf(sql, "%s.\"%w\"", alias, name);
            return;
        }
        names += n + (names[n] == '|');
    }
    sqlite3_str_appendall(sql, "NULL");
}

/* "SELECT t.a, NULL, t.c" for the columns of TABLE; the caller appends what comes from elsewhere.
 */
static void append_select(import *in, sqlite3_str *sql, const char *table,
                          const char *const *columns, size_t n) {
    sqlite3_str_appendall(sql, "SELECT ");
    for (size_t i = 0; i < n; i++) {
        if (i)
            sqlite3_str_appendall(sql, ", ");
        append_column(in, sql, "t", table, columns[i]);
    }
}

static rp_code prepare(import *in, sqlite3_str *sql, sqlite3_stmt **statement) {
    char *text = sqlite3_str_finish(sql);
    if (!text)
        return rp_fail(in->error, RP_INTERNAL, "%s: out of memory", in->path);
    int code = sqlite3_prepare_v2(in->db, text, -1, statement, NULL);
    sqlite3_free(text);
    return code == SQLITE_OK ? RP_OK : sql_error(in, "a table cannot be read");
}

/* Runs ROW for each row of S, then finalizes S. */
static rp_code each_row(import *in, sqlite3_stmt *s, const char *table,
                        rp_code (*row)(import *, sqlite3_stmt *)) {
    rp_code code = RP_OK;
    int step = SQLITE_ROW;
    while (!code && (step = sqlite3_step(s)) == SQLITE_ROW)
        code = row(in, s);
    if (!code && step != SQLITE_DONE) {
        char doing[NAME_SIZE + 32];
        snprintf(doing, sizeof doing, "table %s cannot be read", table);
        code = sql_error(in, doing);
    }
    sqlite3_finalize(s);
    return code;
}

/* SELECTs COLUMNS of the table BASE, if it is there, and runs ROW for each row. */
static rp_code read_table(import *in, const char *base, const char *const *columns, size_t n,
                          rp_code (*row)(import *, sqlite3_stmt *)) {
    char table[NAME_SIZE];
    bool found;
    rp_code code = find_table(in, base, table, &found);
    if (code || !found)
        return code;
    sqlite3_str *sql = sqlite3_str_new(in->db);
    append_select(in, sql, table, columns, n);
    sqlite3_str_appendf(sql, " FROM \"%w\" t", table);
    sqlite3_stmt *s = NULL;
    code = prepare(in, sql, &s);
    return code ? code : each_row(in, s, table, row);
}

static int64_t integer(sqlite3_stmt *s, int column) {
    return sqlite3_column_type(s, column) == SQLITE_NULL ? -1 : sqlite3_column_int64(s, column);
}

static int64_t positive(sqlite3_stmt *s, int column) {
    int64_t value = integer(s, column);
    return value > 0 ? value : -1;
}

/* A copy of a text cell, whatever its bytes; NULL if it is NULL or empty. */
static char *text(sqlite3_stmt *s, int column) {
    const unsigned char *bytes = sqlite3_column_text(s, column);
    return bytes && *bytes ? strdup((const char *)bytes) : NULL;
}

/* ---- Devices --------------------------------------------------------------------------------- */

static device *find_device(import *in, int64_t ordinal) {
    for (size_t i = 0; i < in->device_count; i++)
        if (in->devices[i].ordinal == ordinal)
            return &in->devices[i];
    return NULL;
}

static rp_code new_device(import *in, int64_t ordinal, device **made) {
    if (in->device_count == MAX_DEVICES)
        return rp_fail(in->error, RP_INPUT, "%s: names more than %d devices", in->path,
                       MAX_DEVICES);
    device *devices = realloc(in->devices, (in->device_count + 1) * sizeof *devices);
    if (!devices)
        return rp_fail(in->error, RP_INTERNAL, "%s: out of memory", in->path);
    in->devices = devices;
    *made = &devices[in->device_count++];
    **made = (device){.ordinal = ordinal,
                      .id = -1,
                      .sm_count = -1,
                      .memory_bytes = -1,
                      .l2_bytes = -1,
                      .cc_major = -1,
                      .cc_minor = -1,
                      .clock_hz = NAN,
                      .bandwidth = NAN};
    return RP_OK;
}

enum {
    D_ID,
    D_NAME,
    D_L2,
    D_MEMORY,
    D_BANDWIDTH,
    D_CLOCK,
    D_SMS,
    D_MAJOR,
    D_MINOR,
    D_UUID,
    D_CHIP,
    D_COLUMNS
};
static const char *const device_columns[D_COLUMNS] = {"id|deviceId",
                                                      "name",
                                                      "l2CacheSize",
                                                      "totalMemory|globalMemorySize",
                                                      "memoryBandwidth|globalMemoryBandwidth",
                                                      "clockRate|coreClockRate",
                                                      "smCount|numMultiprocessors",
                                                      "computeMajor|computeCapabilityMajor",
                                                      "computeMinor|computeCapabilityMinor",
                                                      "uuid",
                                                      "chipName"};

/* RATE scales clock and bandwidth: the older table has kHz and kB/s. */
static rp_code take_device(import *in, sqlite3_stmt *s, double rate) {
    device *d = find_device(in, integer(s, D_ID));
    if (d && d->sm_count > 0)
        return RP_OK; /* another process' or virtual machine's row of the same device */
    rp_code code = d ? RP_OK : new_device(in, integer(s, D_ID), &d);
    if (code)
        return code;
    if (!d->name)
        d->name = text(s, D_NAME);
    if (!d->uuid)
        d->uuid = text(s, D_UUID);
    if (!d->chip)
        d->chip = text(s, D_CHIP);
    bool has_sms = sqlite3_column_type(s, D_SMS) != SQLITE_NULL;
    d->adapter = has_sms && sqlite3_column_int64(s, D_SMS) <= 0;
    d->sm_count = positive(s, D_SMS);
    d->memory_bytes = positive(s, D_MEMORY);
    d->l2_bytes = positive(s, D_L2);
    if (d->sm_count > 0) {
        d->cc_major = integer(s, D_MAJOR);
        d->cc_minor = integer(s, D_MINOR);
    }
    d->clock_hz = positive(s, D_CLOCK) > 0 ? (double)positive(s, D_CLOCK) * rate : NAN;
    d->bandwidth = positive(s, D_BANDWIDTH) > 0 ? (double)positive(s, D_BANDWIDTH) * rate : NAN;
    return RP_OK;
}

static rp_code take_new_device(import *in, sqlite3_stmt *s) {
    return take_device(in, s, 1);
}

static rp_code take_old_device(import *in, sqlite3_stmt *s) {
    return take_device(in, s, 1000);
}

static rp_code read_devices(import *in) {
    rp_code code =
        read_table(in, "TARGET_INFO_CUDA_GPU", device_columns, D_COLUMNS, take_old_device);
    if (!code)
        code = read_table(in, "TARGET_INFO_GPU", device_columns, D_COLUMNS, take_new_device);
    for (size_t i = 0; i < in->device_count; i++)
        in->adapters += in->devices[i].adapter;
    return code;
}

static rp_code add_ceiling(import *in, const device *d) {
    rp_capture_ceiling ceiling = {
        .compute = false, .level = "dram", .rate = d->bandwidth, .provenance = RP_IMPORTED};
    return isnan(d->bandwidth) ? RP_OK
                               : rp_capture_add_ceiling(in->capture, d->id, &ceiling, in->error);
}

/* The capture's id of the device ORDINAL; made when the first work on it is seen, for reports list
 * every device of a machine. */
static rp_code device_id(import *in, int64_t ordinal, int64_t *id) {
    device *d = find_device(in, ordinal);
    rp_code code = d ? RP_OK : new_device(in, ordinal, &d);
    if (!code && d->id < 0) {
        rp_device_record record = RP_DEVICE_RECORD_INIT;
        record.name = d->name;
        record.chip = d->chip;
        record.uuid = d->uuid;
        record.ordinal = ordinal;
        record.cc_major = d->cc_major >= 0 && d->cc_major < 1000 ? (int)d->cc_major : -1;
        record.cc_minor = d->cc_minor >= 0 && d->cc_minor < 1000 ? (int)d->cc_minor : -1;
        record.sm_count = d->sm_count;
        record.memory_bytes = d->memory_bytes;
        record.l2_bytes = d->l2_bytes;
        record.sm_clock_hz = d->clock_hz;
        code = rp_capture_add_device(in->capture, &record, &d->id, in->error);
        if (!code)
            code = add_ceiling(in, d);
    }
    if (!code)
        *id = d->id;
    return code;
}

/* globalPid and globalTid hold hardware (8 bits), machine (8), process (24) and thread (24). */
static rp_code process_id(import *in, int64_t global, int64_t *id) {
    *id = -1;
    if (global < 0)
        return RP_OK;
    global &= ~INT64_C(0xFFFFFF);
    for (size_t i = in->process_count; i-- > 0;)
        if (in->processes[i].global == global) {
            *id = in->processes[i].id;
            return RP_OK;
        }
    if (in->process_count == MAX_PROCESSES)
        return rp_fail(in->error, RP_INPUT, "%s: names more than %d processes", in->path,
                       MAX_PROCESSES);
    process *processes = realloc(in->processes, (in->process_count + 1) * sizeof *processes);
    if (!processes)
        return rp_fail(in->error, RP_INTERNAL, "%s: out of memory", in->path);
    in->processes = processes;
    rp_process_record record = {.pid = global >> 24 & 0xFFFFFF, .rank = -1};
    rp_code code = rp_capture_add_process(in->capture, &record, id, in->error);
    if (!code)
        processes[in->process_count++] = (process){global, *id};
    return code;
}

/* ---- NVTX ------------------------------------------------------------------------------------ */

enum { N_START, N_END, N_TYPE, N_TEXT, N_TID, N_COLUMNS };
static const char *const nvtx_columns[N_COLUMNS] = {"start", "end", "eventType", "text",
                                                    "globalTid"};

static bool possible_interval(int64_t start, int64_t end) {
    return start >= 0 && end >= start && end < farthest_ns;
}

static rp_code take_range(import *in, sqlite3_stmt *s) {
    enum { PUSH_POP = 59, START_END = 60 };
    int64_t start = integer(s, N_START), end = integer(s, N_END), type = integer(s, N_TYPE);
    if (!possible_interval(start, end) || (type >= 0 && type != PUSH_POP && type != START_END))
        return RP_OK; /* marks, names of threads and domains; ranges that never ended */
    const char *name = (const char *)sqlite3_column_text(s, N_TEXT);
    if (!name)
        name = (const char *)sqlite3_column_text(s, N_COLUMNS); /* registered string */
    if (!name)
        name = "(unnamed range)";
    return rp_lanes_add(in->ranges, (uint64_t)integer(s, N_TID), name, strlen(name), start, end,
                        in->error);
}

static rp_code read_ranges(import *in, const char *strings) {
    char table[NAME_SIZE];
    bool found;
    rp_code code = find_table(in, "NVTX_EVENTS", table, &found);
    if (code || !found)
        return code;
    sqlite3_str *sql = sqlite3_str_new(in->db);
    append_select(in, sql, table, nvtx_columns, N_COLUMNS);
    if (strings[0] && has_column(in, table, "textId"))
        sqlite3_str_appendf(sql, ", s.value FROM \"%w\" t LEFT JOIN \"%w\" s ON s.id = t.textId",
                            table, strings);
    else
        sqlite3_str_appendf(sql, ", NULL FROM \"%w\" t", table);
    sqlite3_stmt *s = NULL;
    code = prepare(in, sql, &s);
    if (!code)
        code = each_row(in, s, table, take_range);
    return code ? code : rp_lanes_store(in->ranges, in->capture, 0, in->error);
}

/* ---- Kernels --------------------------------------------------------------------------------- */

enum {
    L_START,
    L_END,
    L_DEVICE,
    L_CONTEXT,
    L_STREAM,
    L_CORRELATION,
    L_PID,
    L_REGISTERS,
    L_GRID,
    L_BLOCK = L_GRID + 3,
    L_STATIC = L_BLOCK + 3,
    L_DYNAMIC,
    L_GRAPH_NODE,
    L_COLUMNS,
    L_NAME = L_COLUMNS,
    L_CALL_START,
    L_CALL_TID
};
static const char *const launch_columns[L_COLUMNS] = {"start",
                                                      "end",
                                                      "deviceId",
                                                      "contextId",
                                                      "streamId",
                                                      "correlationId",
                                                      "globalPid",
                                                      "registersPerThread",
                                                      "gridX",
                                                      "gridY",
                                                      "gridZ",
                                                      "blockX",
                                                      "blockY",
                                                      "blockZ",
                                                      "staticSharedMemory",
                                                      "dynamicSharedMemory",
                                                      "graphNodeId"};

static bool impossible(import *in, sqlite3_stmt *s, int64_t start, int64_t end) {
    if (sqlite3_column_type(s, L_START) == SQLITE_NULL ||
        sqlite3_column_type(s, L_END) == SQLITE_NULL)
        in->no_time++;
    else if (start == end)
        in->zero++; /* no kernel takes no time; 0 and 0 is "not recorded" */
    else if (start < 0 || end < start || end >= farthest_ns)
        in->negative++;
    else if (end - start > longest_ns)
        in->absurd++;
    else
        return false;
    return true;
}

static rp_code config_id(import *in, sqlite3_stmt *s, int64_t *id) {
    static const char none[] = "(kernel name not in the report)";
    const char *name = (const char *)sqlite3_column_text(s, L_NAME);
    in->unnamed += !name;
    name = name ? name : none;
    rp_config_record config = {.name = name,
                               .name_length = strlen(name),
                               .has_shape = true,
                               .registers = integer(s, L_REGISTERS),
                               .shared_static = integer(s, L_STATIC),
                               .shared_dynamic = integer(s, L_DYNAMIC)};
    for (int i = 0; i < 3; i++) {
        int64_t grid = integer(s, L_GRID + i), block = integer(s, L_BLOCK + i);
        config.grid[i] = grid > 0 && grid <= UINT32_MAX ? (uint32_t)grid : 0;
        config.block[i] = block > 0 && block <= UINT32_MAX ? (uint32_t)block : 0;
        config.has_shape = config.has_shape && config.grid[i] && config.block[i];
    }
    if (!config.has_shape)
        for (int i = 0; i < 3; i++)
            config.grid[i] = config.block[i] = 0;
    return rp_capture_add_config(in->capture, &config, id, in->error);
}

/* The range open on the host thread when it made the call that launched. */
static int64_t range_of(import *in, sqlite3_stmt *s) {
    if (sqlite3_column_type(s, L_CALL_START) == SQLITE_NULL)
        return -1;
    return rp_lanes_find(in->ranges, (uint64_t)integer(s, L_CALL_TID), integer(s, L_CALL_START));
}

static rp_code take_kernel(import *in, sqlite3_stmt *s) {
    int64_t start = integer(s, L_START), end = integer(s, L_END), id;
    in->kernels++;
    if (impossible(in, s, start, end))
        return RP_OK;
    rp_launch_record launch = RP_LAUNCH_RECORD_INIT;
    rp_code code = config_id(in, s, &launch.config);
    if (!code)
        code = device_id(in, integer(s, L_DEVICE), &launch.device);
    if (!code)
        code = process_id(in, integer(s, L_PID), &launch.process);
    if (code)
        return code;
    launch.context = integer(s, L_CONTEXT);
    launch.stream = integer(s, L_STREAM);
    launch.correlation = integer(s, L_CORRELATION);
    launch.graph_node = integer(s, L_GRAPH_NODE);
    launch.range = range_of(in, s);
    launch.index = in->launches++;
    launch.start_ns = start;
    launch.end_ns = end;
    launch.time_s = (double)(end - start) * 1e-9;
    launch.time_provenance = RP_IMPORTED;
    launch.cache = RP_CACHE_NATURAL;
    return rp_capture_add_launch(in->capture, &launch, &id, in->error);
}

/* Correlation numbers repeat between processes, so a kernel may join several calls: the process
 * decides, and of what is left the first row is taken. */
static void append_calls(import *in, sqlite3_str *sql, const char *kernels, const char *calls) {
    sqlite3_str_appendf(sql,
                        " LEFT JOIN (SELECT correlationId c, min(start) start, globalTid tid, ");
    if (has_column(in, kernels, "globalPid"))
        sqlite3_str_appendf(sql,
                            "globalTid >> 24 p FROM \"%w\" GROUP BY correlationId, globalTid >> 24)"
                            " r ON r.c = t.correlationId AND r.p = t.globalPid >> 24",
                            calls);
    else
        sqlite3_str_appendf(
            sql, "NULL p FROM \"%w\" GROUP BY correlationId) r ON r.c = t.correlationId", calls);
}

static rp_code read_kernels(import *in, const char *strings) {
    static const char base[] = "CUPTI_ACTIVITY_KIND_KERNEL";
    char table[NAME_SIZE], calls[NAME_SIZE];
    bool found, has_calls = false;
    rp_code code = find_table(in, base, table, &found);
    if (code || !found)
        return code;
    if (rp_lanes_count(in->ranges) && has_column(in, table, "correlationId"))
        code = find_table(in, "CUPTI_ACTIVITY_KIND_RUNTIME", calls, &has_calls);
    has_calls = has_calls && has_column(in, calls, "correlationId") &&
                has_column(in, calls, "start") && has_column(in, calls, "globalTid");
    if (code)
        return code;
    sqlite3_str *sql = sqlite3_str_new(in->db);
    append_select(in, sql, table, launch_columns, L_COLUMNS);
    sqlite3_str_appendall(sql, strings[0] ? ", s.value, " : ", NULL, ");
    sqlite3_str_appendf(sql, "%s FROM \"%w\" t", has_calls ? "r.start, r.tid" : "NULL, NULL",
                        table);
    if (strings[0]) {
        sqlite3_str_appendf(sql, " LEFT JOIN \"%w\" s ON s.id = ", strings);
        append_column(in, sql, "t", table, "demangledName|shortName|mangledName");
    }
    if (has_calls)
        append_calls(in, sql, table, calls);
    sqlite3_stmt *s = NULL;
    code = prepare(in, sql, &s);
    return code ? code : each_row(in, s, table, take_kernel);
}

static rp_code take_silent(import *in, sqlite3_stmt *s) {
    in->silent = (uint64_t)sqlite3_column_int64(s, 0);
    return RP_OK;
}

/* Counts the processes that called CUDA and have no kernel: ranks whose GPU work was not recorded.
 */
static rp_code count_silent(import *in) {
    char kernels[NAME_SIZE], calls[NAME_SIZE];
    bool has_kernels, has_calls = false;
    rp_code code = find_table(in, "CUPTI_ACTIVITY_KIND_KERNEL", kernels, &has_kernels);
    if (!code && has_kernels)
        code = find_table(in, "CUPTI_ACTIVITY_KIND_RUNTIME", calls, &has_calls);
    if (code || !has_calls || !has_column(in, kernels, "globalPid") ||
        !has_column(in, calls, "globalTid"))
        return code;
    sqlite3_str *sql = sqlite3_str_new(in->db);
    sqlite3_str_appendf(sql,
                        "SELECT count(*) FROM (SELECT DISTINCT globalTid >> 24 FROM \"%w\" EXCEPT "
                        "SELECT DISTINCT globalPid >> 24 FROM \"%w\")",
                        calls, kernels);
    sqlite3_stmt *s = NULL;
    code = prepare(in, sql, &s);
    return code ? code : each_row(in, s, calls, take_silent);
}

/* ---- Copies, memsets, memory ----------------------------------------------------------------- */

enum { C_START, C_END, C_DEVICE, C_STREAM, C_CORRELATION, C_PID, C_BYTES, C_KIND, C_COLUMNS };
static const char *const copy_columns[C_COLUMNS] = {
    "start", "end", "deviceId", "streamId", "correlationId", "globalPid", "bytes", "copyKind"};

/* Copy kinds as the export numbers them; arrays are device memory, unified memory moves too. */
static const char *copy_kind(int64_t kind) {
    static const char *const kinds[] = {"unknown", "HtoD", "DtoH", "HtoD", "DtoH", "DtoD", "DtoD",
                                        "DtoD",    "DtoD", "HtoH", "PtoP", "HtoD", "DtoH", "DtoD"};
    return kind >= 0 && kind < (int64_t)(sizeof kinds / sizeof *kinds) ? kinds[kind] : "unknown";
}

static rp_code add_copy(import *in, sqlite3_stmt *s, const char *kind) {
    int64_t start = integer(s, C_START), end = integer(s, C_END);
    bool valid = possible_interval(start, end) && end - start <= longest_ns && end > 0;
    rp_copy_record copy = {.stream = integer(s, C_STREAM),
                           .correlation = integer(s, C_CORRELATION),
                           .kind = kind,
                           .bytes = integer(s, C_BYTES) >= 0 ? (double)integer(s, C_BYTES) : NAN,
                           .start_ns = valid ? start : -1,
                           .end_ns = valid ? end : -1,
                           .time_provenance = valid ? RP_IMPORTED : RP_ABSENT};
    rp_code code = device_id(in, integer(s, C_DEVICE), &copy.device);
    if (!code)
        code = process_id(in, integer(s, C_PID), &copy.process);
    return code ? code : rp_capture_add_copy(in->capture, &copy, in->error);
}

static rp_code take_copy(import *in, sqlite3_stmt *s) {
    return add_copy(in, s, copy_kind(integer(s, C_KIND)));
}

static rp_code take_memset(import *in, sqlite3_stmt *s) {
    return add_copy(in, s, "memset");
}

enum { M_START, M_DEVICE, M_PID, M_ADDRESS, M_BYTES, M_KIND, M_OPERATION, M_COLUMNS };
static const char *const memory_columns[M_COLUMNS] = {
    "start", "deviceId", "globalPid", "address", "bytes", "memKind", "memoryOperationType"};

static rp_code take_memory(import *in, sqlite3_stmt *s) {
    /* Memory kinds as the export numbers them: pageable, pinned, device, array, managed, and the
     * static forms of device and managed. */
    static const char *const kinds[] = {NULL,      "pinned", "device", "device",
                                        "managed", "device", "managed"};
    int64_t kind = integer(s, M_KIND), operation = integer(s, M_OPERATION);
    int64_t bytes = integer(s, M_BYTES);
    in->memory_events++;
    if (kind < 0 || kind >= (int64_t)(sizeof kinds / sizeof *kinds) || !kinds[kind] || bytes <= 0 ||
        operation < 0 || operation > 1) {
        in->pageable++;
        return RP_OK;
    }
    rp_memory_record memory = {.time_ns = integer(s, M_START),
                               .address = (uint64_t)integer(s, M_ADDRESS),
                               .bytes = operation == 0 ? (double)bytes : -(double)bytes,
                               .kind = kinds[kind]};
    rp_code code = device_id(in, integer(s, M_DEVICE), &memory.device);
    if (!code)
        code = process_id(in, integer(s, M_PID), &memory.process);
    return code ? code : rp_capture_add_memory(in->capture, &memory, in->error);
}

/* Graphs traced as a whole: one row a launch of a graph, its kernels are nowhere in the report. */
static rp_code count_graph(import *in, sqlite3_stmt *s) {
    (void)s;
    in->graphs++;
    return RP_OK;
}

/* ---- The file -------------------------------------------------------------------------------- */

static uint64_t invalid(const import *in) {
    return in->no_time + in->zero + in->negative + in->absurd;
}

static rp_code nothing_to_analyse(import *in) {
    if (in->kernels)
        return rp_fail(in->error, RP_INPUT,
                       "%s: all %" PRIu64 " kernels have impossible times (%" PRIu64
                       " of 0 duration): record the report again with a newer driver",
                       in->path, in->kernels, in->zero);
    if (in->graphs)
        return rp_fail(in->error, RP_INPUT,
                       "%s: nothing to analyse: %" PRIu64 " CUDA graphs were traced as a whole and "
                       "no kernel; profile again with --cuda-graph-trace=node",
                       in->path, in->graphs);
    return rp_fail(in->error, RP_INPUT,
                   "%s: nothing to analyse: the report holds no CUDA kernel (a CPU-only run, a "
                   "program whose children were not traced, or `nsys profile` without "
                   "--trace=cuda); profile again with --trace=cuda,nvtx",
                   in->path);
}

static rp_code add_notes(import *in) {
    rp_code code = RP_OK;
    if (invalid(in))
        code = rp_capture_add_note(
            in->capture, "warning", in->error,
            "%s: %" PRIu64 " of %" PRIu64 " kernels left out for impossible times: %" PRIu64
            " of 0 duration, %" PRIu64 " ending before they start, %" PRIu64
            " longer than a day, %" PRIu64 " without a time",
            in->path, invalid(in), in->kernels, in->zero, in->negative, in->absurd, in->no_time);
    if (!code && in->graphs)
        code =
            rp_capture_add_note(in->capture, "warning", in->error,
                                "%s: %" PRIu64 " %s of CUDA graphs traced as a whole: "
                                "their kernels are not in the report, totals are lower bounds "
                                "(--cuda-graph-trace=node records them)",
                                in->path, in->graphs, rp_plural(in->graphs, "launch", "launches"));
    if (!code && in->silent)
        code = rp_capture_add_note(
            in->capture, "warning", in->error,
            "%s: %" PRIu64 " %s no kernel in the "
            "report: either GPU work was not recorded, or there was none",
            in->path, in->silent,
            rp_plural(in->silent, "process called CUDA and has", "processes called CUDA and have"));
    if (!code && in->unnamed)
        code = rp_capture_add_note(
            in->capture, "warning", in->error,
            "%s: %" PRIu64 " %s without a name in StringIds: one row of the report", in->path,
            in->unnamed, rp_plural(in->unnamed, "kernel", "kernels"));
    if (!code && in->adapters)
        code = rp_capture_add_note(in->capture, "info", in->error,
                                   "%s lists %" PRIu64 " adapters that are no CUDA devices",
                                   in->path, in->adapters);
    if (!code && in->pageable)
        code =
            rp_capture_add_note(in->capture, "info", in->error,
                                "%s: %" PRIu64 " of %" PRIu64 " memory events left out: pageable "
                                "host memory, or of unknown kind",
                                in->path, in->pageable, in->memory_events);
    return code;
}

/* nvprof and the Visual Profiler keep SQLite files too, of another schema. */
static rp_code refuse_nvprof(import *in) {
    char name[NAME_SIZE];
    bool found;
    rp_code code = find_table(in, "StringTable", name, &found);
    if (!code && found)
        code =
            rp_fail(in->error, RP_INPUT,
                    "%s: a database of nvprof or the Visual Profiler, which is not read; turn it "
                    "into text: nvprof -i FILE --csv --print-gpu-trace 2> trace.csv",
                    in->path);
    return code;
}

static rp_code read_all(import *in) {
    char strings[NAME_SIZE] = "";
    bool found;
    rp_code code = find_table(in, "StringIds", strings, &found);
    if (!code && !found)
        code = refuse_nvprof(in);
    if (code)
        return code;
    if (!found || !has_column(in, strings, "id") || !has_column(in, strings, "value"))
        strings[0] = '\0';
    if (!code)
        code = read_devices(in);
    if (!code)
        code = read_ranges(in, strings);
    if (!code)
        code = read_kernels(in, strings);
    if (!code)
        code = read_table(in, "CUPTI_ACTIVITY_KIND_GRAPH_TRACE", (const char *const[]){"start"}, 1,
                          count_graph);
    if (!code && in->kernels == invalid(in))
        return nothing_to_analyse(in);
    if (!code)
        code = count_silent(in);
    if (!code)
        code = read_table(in, "CUPTI_ACTIVITY_KIND_MEMCPY", copy_columns, C_COLUMNS, take_copy);
    if (!code)
        code = read_table(in, "CUPTI_ACTIVITY_KIND_MEMSET", copy_columns, C_COLUMNS, take_memset);
    if (!code)
        code =
            read_table(in, "CUDA_GPU_MEMORY_USAGE_EVENTS", memory_columns, M_COLUMNS, take_memory);
    return code ? code : add_notes(in);
}

static rp_code import_nsys(const char *path, rp_capture *capture, rp_error *error) {
import in = {.capture = capture, .path = path, .error = error };
    rp_code code = RP_OK;
    if (open_database(path, &in.db) != SQLITE_OK)
        code = rp_fail(error, RP_INPUT, "%s: cannot be opened as a database: %s", path,
                       in.db ? sqlite3_errmsg(in.db) : "out of memory");
    if (!code)
        code = rp_lanes_new(&in.ranges, error);
    if (!code)
        code = read_all(&in);
    if (!code)
        rp_capture_count_invalid(capture, invalid(&in));
    for (size_t i = 0; i < in.device_count; i++) {
        free(in.devices[i].name);
        free(in.devices[i].chip);
        free(in.devices[i].uuid);
    }
    free(in.devices);
    free(in.processes);
    rp_lanes_free(in.ranges);
    sqlite3_close(in.db);
    return code;
}

/* Any SQLite file with one of the tables that only these exports have. */
static int recognise_nsys(const char *path, const unsigned char *head, size_t length) {
    static const char magic[] = "SQLite format 3"; /* with its NUL */
    static const unsigned char no_application[4] = {0};
    if (length < 100 || memcmp(head, magic, sizeof magic) != 0 ||
        memcmp(head + 68, no_application, 4) != 0)
        return 0;
    sqlite3 *db = NULL;
    sqlite3_stmt *s = NULL;
    int sure = 0;
    if (open_database(path, &db) == SQLITE_OK &&
        sqlite3_prepare_v2(db,
                           "SELECT count(*) FROM sqlite_master WHERE type='table' AND (name GLOB "
                           "'StringIds*' OR name GLOB 'TARGET_INFO_*' OR name GLOB "
                           "'CUPTI_ACTIVITY_KIND_*' OR name GLOB 'NVTX_EVENTS*')",
                           -1, &s, NULL) == SQLITE_OK &&
        sqlite3_step(s) == SQLITE_ROW)
        sure = sqlite3_column_int(s, 0) > 1 ? 95 : sqlite3_column_int(s, 0) == 1 ? 60 : 0;
    sqlite3_finalize(s);
    sqlite3_close(db);
    return sure;
}

const rp_importer rp_importer_nsys = {.name = "nsys",
                                      .title = "Nsight Systems SQLite export",
                                      .recognise = recognise_nsys,
                                      .import = import_nsys};
