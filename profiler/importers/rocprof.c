/* SPDX-License-Identifier: Apache-2.0
 *
 * The importer of AMD's CSV files: rocprof v1 (results and kernel statistics), rocprofv3 (kernel
 * trace, counters, statistics) and rocprof-compute's pmc_perf.csv. They are one shape with many
 * spellings: a row is a dispatch (or, in rocprofv3's counter file, one counter of a dispatch); each
 * column is a fact of the launch or a counter. The spelling decides what a column is.
 *
 * What counters mean (FLOPs, bytes by level) is for hwdb/metrics.csv. A roofline.csv beside a
 * pmc_perf.csv holds the ceilings that were measured with it, and is read along.
 */
#include "importers/expand.h"
#include "importers/importer.h"
#include "importers/rocprof_columns.h"
#include "importers/rocprof_roofs.h"
#include "importers/rows.h"
#include "support/text.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MAX_COLUMNS = 16384, MAX_COUNTERS = 16384, MAX_DEVICES = 1024, NAME_SIZE = 96 };
static const int64_t longest_ns = INT64_C(86400) * 1000000000;
static const int64_t farthest_ns = INT64_C(4000000000000000000);

/* ---- State ----------------------------------------------------------------------------------- */

typedef struct counter {
    char name[NAME_SIZE];
    int64_t metric; /* -1 until it is first stored */
} counter;

typedef struct column {
    rp_roc_role role;
    size_t counter; /* RP_ROC_COUNTER, RP_ROC_CHANNEL */
    bool unused;    /* a channel whose sum has a column, or a counter named twice */
} column;

/* One dispatch: its facts, and its counters by number; NAN is not counted. */
typedef struct dispatch {
    int64_t fact[RP_ROC_ROLES]; /* -1 not known */
    char *name;
    double *value;
    size_t values;
} dispatch;

typedef struct seen_device {
    int64_t ordinal, id;
} seen_device;

typedef struct import {
    rp_capture *capture;
    const char *path;
    column *columns;
    size_t column_count;
    bool has_role[RP_ROC_ROLES], is_long, is_statistics;
    counter *counters;
    size_t counter_count, counter_capacity;
    dispatch *held; /* rocprofv3 counters: a dispatch comes in several rows */
    size_t held_count, held_capacity;
    size_t *hash; /* of held, by process, device and dispatch; held_count + 1 entries used */
    size_t hash_size;
    int64_t expanded;
    bool has_times;
    uint64_t values, rows, launches, joined, no_time, api_calls, repeats, short_rows, bad_values;
    /* found from the counters' names once all are known */
    bool resolved, lanes; /* LANES: floating-point vector instructions are counted */
    const char *chip;
    size_t matrix; /* the counter of FP32 matrix operations, which have no ceiling; SIZE_MAX none */
    bool matrix_used;
    seen_device *devices;
    size_t device_count;
} import;

static rp_code no_memory(const import *in, rp_error *error) {
    return rp_fail(error, RP_INTERNAL, "%s: out of memory", in->path);
}

static size_t find_counter(const import *in, const char *name) {
    for (size_t i = 0; i < in->counter_count; i++)
        if (!strcmp(in->counters[i].name, name))
            return i;
    return SIZE_MAX;
}

/* The number of the counter NAME, made if it is new. */
static rp_code counter_number(import *in, const char *name, size_t *number, rp_error *error) {
    char cut[NAME_SIZE];
    snprintf(cut, sizeof cut, "%s", name);
    *number = find_counter(in, cut);
    if (*number != SIZE_MAX)
        return RP_OK;
    if (in->counter_count == MAX_COUNTERS)
        return rp_fail(error, RP_INPUT, "%s: names more than %d counters", in->path, MAX_COUNTERS);
    if (in->counter_count == in->counter_capacity) {
        size_t capacity = in->counter_capacity ? in->counter_capacity * 2 : 64;
        counter *counters = realloc(in->counters, capacity * sizeof *counters);
        if (!counters)
            return no_memory(in, error);
        in->counters = counters;
        in->counter_capacity = capacity;
    }
    *number = in->counter_count++;
    memcpy(in->counters[*number].name, cut, sizeof cut);
    in->counters[*number].metric = -1;
    return RP_OK;
}

/* ---- One dispatch into the capture ----------------------------------------------------------- */

/* The chip as far as the counters' names tell, for nothing else in these files does: matrix
 * counters came with gfx90a, EA0 with gfx940. A chip that stays open is given as its family. */
static const char *chip_of(const import *in) {
    if (find_counter(in, "SQ_INSTS_VALU_MFMA_MOPS_F6F4") != SIZE_MAX)
        return "gfx950";
    if (find_counter(in, "TCC_BUBBLE_sum") != SIZE_MAX)
        return "gfx942";
    if (find_counter(in, "TCC_EA_RDREQ_sum") == SIZE_MAX)
        return "gfx";
    return find_counter(in, "SQ_INSTS_VALU_MFMA_MOPS_F64") != SIZE_MAX ? "gfx90a" : "gfx9";
}

static void resolve(import *in) {
    for (size_t i = 0; i < in->counter_count; i++)
        in->lanes |= !strncmp(in->counters[i].name, "SQ_INSTS_VALU_FMA_", 18);
    in->matrix = find_counter(in, "SQ_INSTS_VALU_MFMA_MOPS_F32");
    in->chip = chip_of(in);
    in->resolved = true;
}

static rp_code add_device(import *in, int64_t ordinal, int64_t *id, rp_error *error) {
    for (size_t i = 0; i < in->device_count; i++)
        if (in->devices[i].ordinal == ordinal) {
            *id = in->devices[i].id;
            return RP_OK;
        }
    if (in->device_count == MAX_DEVICES)
        return rp_fail(error, RP_INPUT, "%s: names more than %d devices", in->path, MAX_DEVICES);
    seen_device *devices = realloc(in->devices, (in->device_count + 1) * sizeof *devices);
    if (!devices)
        return no_memory(in, error);
    in->devices = devices;
    rp_device_record record = RP_DEVICE_RECORD_INIT;
    record.ordinal = ordinal;
    record.chip = in->chip;
    rp_code code = rp_capture_add_device(in->capture, &record, id, error);
    if (!code)
        devices[in->device_count++] = (seen_device){ordinal, *id};
    return code;
}

static rp_code add_counters(import *in, const dispatch *d, int64_t launch, rp_error *error) {
    rp_code code = RP_OK;
    for (size_t i = 0; i < d->values && !code; i++) {
        if (isnan(d->value[i]))
            continue;
        if (in->counters[i].metric < 0)
            code = rp_capture_metric(in->capture, in->counters[i].name, "", &in->counters[i].metric,
                                     error);
        if (!code)
            code = rp_capture_add_counter(in->capture, launch, in->counters[i].metric, d->value[i],
                                          RP_IMPORTED, error);
        in->values++;
    }
    if (in->matrix < d->values && d->value[in->matrix] > 0)
        in->matrix_used = true;
    return code;
}

/* The code object's suffix for kernel descriptors is no part of the name. */
static size_t name_length(const char *name) {
    static const char *const suffixes[] = {" [clone .kd]", ".kd"};
    size_t length = strlen(name);
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        size_t n = strlen(suffixes[i]);
        if (length > n && !strcmp(name + length - n, suffixes[i]))
            return length - n;
    }
    return length;
}

/* AMD's grid is in work-items; here it is in blocks, as everywhere. */
static void set_shape(const dispatch *d, rp_config_record *config) {
    const int64_t *f = d->fact;
    rp_config_record shaped = *config;
    int64_t grid[3] = {f[RP_ROC_GRID_X] > 0 ? f[RP_ROC_GRID_X] : f[RP_ROC_GRID], f[RP_ROC_GRID_Y],
                       f[RP_ROC_GRID_Z]};
    int64_t group[3] = {f[RP_ROC_GROUP_X] > 0 ? f[RP_ROC_GROUP_X] : f[RP_ROC_GROUP],
                        f[RP_ROC_GROUP_Y], f[RP_ROC_GROUP_Z]};
    if (grid[0] <= 0 || group[0] <= 0)
        return;
    for (int i = 0; i < 3; i++) {
        int64_t items = grid[i] > 0 ? grid[i] : 1, size = group[i] > 0 ? group[i] : 1;
        int64_t blocks = items / size + (items % size != 0);
        if (blocks > UINT32_MAX || size > UINT32_MAX)
            return;
        shaped.grid[i] = (uint32_t)blocks;
        shaped.block[i] = (uint32_t)size;
    }
    shaped.has_shape = true;
    *config = shaped;
}

/* Fills in the times; false if they are there and cannot be true. */
static bool launch_times(const import *in, const dispatch *d, rp_launch_record *launch) {
    int64_t start = d->fact[RP_ROC_START], end = d->fact[RP_ROC_END],
            duration = d->fact[RP_ROC_DURATION];
    bool timeline = in->has_role[RP_ROC_START] && in->has_role[RP_ROC_END];
    if (!timeline && !in->has_role[RP_ROC_DURATION])
        return true;
    if (timeline) {
        if (start < 0 || end >= farthest_ns || end <= start)
            return false;
        launch->start_ns = start;
        launch->end_ns = end;
        duration = end - start;
    }
    if (duration <= 0 || duration > longest_ns)
        return false;
    launch->time_s = (double)duration * 1e-9;
    launch->time_provenance = RP_IMPORTED;
    return true;
}

static rp_code add_dispatch(import *in, const dispatch *d, rp_error *error) {
    rp_launch_record launch = RP_LAUNCH_RECORD_INIT;
    rp_config_record config = {.name = d->name,
                               .name_length = name_length(d->name),
                               .registers = d->fact[RP_ROC_VGPR],
                               .shared_static = d->fact[RP_ROC_LDS] >= 0 ? 0 : -1,
                               .shared_dynamic = d->fact[RP_ROC_LDS]};
    if (!in->resolved)
        resolve(in);
    if (!launch_times(in, d, &launch)) {
        in->no_time++;
        return RP_OK;
    }
    set_shape(d, &config);
    rp_code code = rp_capture_add_config(in->capture, &config, &launch.config, error);
    if (!code)
        code = add_device(in, d->fact[RP_ROC_DEVICE], &launch.device, error);
    if (!code && d->fact[RP_ROC_PROCESS] >= 0) {
        rp_process_record process = {.pid = d->fact[RP_ROC_PROCESS], .rank = -1};
        code = rp_capture_add_process(in->capture, &process, &launch.process, error);
    }
    in->has_times |= launch.time_provenance != RP_ABSENT;
    launch.stream = d->fact[RP_ROC_QUEUE];
    launch.index = d->fact[RP_ROC_DISPATCH];
    int64_t id = -1;
    if (!code)
        code = rp_capture_add_launch(in->capture, &launch, &id, error);
    in->launches++;
    return code ? code : add_counters(in, d, id, error);
}

/* ---- Rows ------------------------------------------------------------------------------------ */

/* "Agent 4" is device 4. */
static int64_t fact_value(const char *cell) {
    int64_t value;
    if (!strncasecmp(cell, "agent ", 6))
        cell += 6;
    return rp_integer(cell, &value) && value >= 0 ? value : -1;
}

static void clear(dispatch *d) {
    for (int i = 0; i < RP_ROC_ROLES; i++)
        d->fact[i] = -1;
    d->name = NULL;
    d->value = NULL;
    d->values = 0;
}

static rp_code set_value(const import *in, dispatch *d, size_t number, double value, bool add,
                         uint64_t *repeats, rp_error *error) {
    if (number >= d->values) {
        size_t values = number + 1 > in->counter_count ? number + 1 : in->counter_count;
        double *grown = realloc(d->value, values * sizeof *grown);
        if (!grown)
            return no_memory(in, error);
        d->value = grown;
        while (d->values < values)
            grown[d->values++] = NAN;
    }
    if (isnan(d->value[number]))
        d->value[number] = value;
    else if (add)
        d->value[number] += value;
    else
        ++*repeats;
    return RP_OK;
}

/* Reads the facts of ROW, and its counters if they have columns, into D, which borrows the name. */
static rp_code read_row(import *in, const rp_row *row, dispatch *d, rp_error *error) {
    for (size_t i = 0; i < row->count && i < in->column_count; i++) {
        const column *c = &in->columns[i];
        const char *cell = row->cell[i];
        double value;
        if (c->role == RP_ROC_NAME)
            d->name = (char *)cell;
        else if (c->role < RP_ROC_ROLES && c->role != RP_ROC_IGNORED)
            d->fact[c->role] = d->fact[c->role] < 0 ? fact_value(cell) : d->fact[c->role];
        else if (c->role >= RP_ROC_COUNTER && !c->unused && *cell) {
            if (!rp_number(cell, &value)) {
                in->bad_values++; /* "nan", "n/a": not counted */
                continue;
            }
            rp_code code =
                set_value(in, d, c->counter, value, c->role == RP_ROC_CHANNEL, &in->repeats, error);
            if (code)
                return code;
        }
    }
    return RP_OK;
}

static size_t slot_of(const import *in, const dispatch *d) {
    uint64_t h = (uint64_t)d->fact[RP_ROC_DISPATCH] * UINT64_C(0x9E3779B97F4A7C15) ^
                 (uint64_t)d->fact[RP_ROC_PROCESS] * UINT64_C(0xC2B2AE3D27D4EB4F) ^
                 (uint64_t)d->fact[RP_ROC_DEVICE];
    size_t slot = (size_t)(h >> 20) & (in->hash_size - 1);
    while (in->hash[slot]) {
        const dispatch *other = &in->held[in->hash[slot] - 1];
        if (other->fact[RP_ROC_DISPATCH] == d->fact[RP_ROC_DISPATCH] &&
            other->fact[RP_ROC_PROCESS] == d->fact[RP_ROC_PROCESS] &&
            other->fact[RP_ROC_DEVICE] == d->fact[RP_ROC_DEVICE])
            break;
        slot = (slot + 1) & (in->hash_size - 1);
    }
    return slot;
}

static bool grow_held(import *in) {
    size_t capacity = in->held_capacity ? in->held_capacity * 2 : 256;
    dispatch *held = realloc(in->held, capacity * sizeof *held);
    if (!held)
        return false;
    in->held = held;
    in->held_capacity = capacity;
    free(in->hash);
    in->hash_size = capacity * 2;
    in->hash = calloc(in->hash_size, sizeof *in->hash);
    if (!in->hash)
        return false;
    for (size_t i = 0; i < in->held_count; i++)
        in->hash[slot_of(in, &held[i])] = i + 1;
    return true;
}

/* The held dispatch that ROW is of, new or known. */
static rp_code hold(import *in, const dispatch *row, dispatch **held, rp_error *error) {
    if (in->held_count == in->held_capacity && !grow_held(in))
        return no_memory(in, error);
    size_t slot = slot_of(in, row);
    if (!in->hash[slot]) {
        dispatch *d = &in->held[in->held_count];
        *d = *row;
        d->value = NULL;
        d->values = 0;
        d->name = strdup(row->name);
        if (!d->name)
            return no_memory(in, error);
        in->hash[slot] = ++in->held_count;
    }
    *held = &in->held[in->hash[slot] - 1];
    return RP_OK;
}

static const char *cell_of(const import *in, const rp_row *row, rp_roc_role wanted) {
    for (size_t i = 0; i < row->count && i < in->column_count; i++)
        if (in->columns[i].role == wanted)
            return row->cell[i];
    return "";
}

static rp_code take_long(import *in, const rp_row *row, const dispatch *d, rp_error *error) {
    dispatch *held = NULL;
    size_t number = 0;
    double value;
    rp_code code = hold(in, d, &held, error);
    if (code)
        return code;
    if (!*cell_of(in, row, RP_ROC_COUNTER_NAME) ||
        !rp_number(cell_of(in, row, RP_ROC_COUNTER_VALUE), &value)) {
        in->bad_values++;
        return RP_OK;
    }
    code = counter_number(in, cell_of(in, row, RP_ROC_COUNTER_NAME), &number, error);
    return code ? code : set_value(in, held, number, value, false, &in->repeats, error);
}

static bool is_api(const char *name) {
    return !strncmp(name, "hip", 3) || !strncmp(name, "hsa_", 4) || !strncmp(name, "__hip", 5);
}

/* Statistics: a kernel's calls and their time in all. */
static rp_code take_statistics(import *in, const dispatch *d, rp_error *error) {
    int64_t calls = d->fact[RP_ROC_CALLS], total = d->fact[RP_ROC_TOTAL];
    if (is_api(d->name) && !strchr(d->name, '(')) {
        in->api_calls++;
        return RP_OK;
    }
    if (calls <= 0 || total <= 0 || total / calls > longest_ns || total < calls) {
        in->no_time += calls > 0 && calls < rp_expand_limit ? (uint64_t)calls : 1;
        return RP_OK;
    }
    rp_config_record config = {.name = d->name,
                               .name_length = name_length(d->name),
                               .registers = -1,
                               .shared_static = -1,
                               .shared_dynamic = -1};
    rp_launch_record launch = RP_LAUNCH_RECORD_INIT;
    rp_code code = rp_capture_add_config(in->capture, &config, &launch.config, error);
    if (!code)
        code = add_device(in, -1, &launch.device, error);
    launch.time_s = (double)total * 1e-9 / (double)calls;
    launch.time_provenance = RP_IMPORTED;
    in->launches += (uint64_t)calls;
    in->has_times = true;
    return code ? code
                : rp_expand(in->capture, in->path, calls, &launch, NULL, 0, &in->expanded, error);
}

static rp_code read_header(import *in, const rp_row *row, rp_error *error) {
    if (row->count > MAX_COLUMNS)
        return rp_fail(error, RP_INPUT, "%s: has %zu columns, more than %d", in->path, row->count,
                       MAX_COLUMNS);
    in->columns = calloc(row->count, sizeof *in->columns);
    if (!in->columns)
        return no_memory(in, error);
    in->column_count = row->count;
    rp_code code = RP_OK;
    for (size_t i = 0; i < row->count && !code; i++) {
        column *c = &in->columns[i];
        c->role = rp_roc_role_of(row->cell[i]);
        if (c->role < RP_ROC_ROLES)
            in->has_role[c->role] = true;
        if (c->role == RP_ROC_COUNTER) {
            c->unused = find_counter(in, row->cell[i]) != SIZE_MAX;
            code = counter_number(in, row->cell[i], &c->counter, error);
        }
    }
    size_t sums = in->counter_count; /* those with a column of their own */
    for (size_t i = 0; i < row->count && !code; i++) {
        column *c = &in->columns[i];
        if (c->role != RP_ROC_CHANNEL)
            continue;
        char name[NAME_SIZE];
        snprintf(name, sizeof name, "%.*s_sum",
                 (int)(strcspn(row->cell[i], "[") < 64 ? strcspn(row->cell[i], "[") : 64),
                 row->cell[i]);
        code = counter_number(in, name, &c->counter, error);
        c->unused = c->counter < sums;
    }
    in->is_long = in->has_role[RP_ROC_COUNTER_NAME] && in->has_role[RP_ROC_COUNTER_VALUE];
    in->is_statistics = in->has_role[RP_ROC_CALLS] && in->has_role[RP_ROC_TOTAL];
    if (!code && !in->has_role[RP_ROC_NAME])
        code = rp_fail(error, RP_INPUT, "%s:%" PRIu64 ": no column with kernel names in the header",
                       in->path, row->line);
    return code;
}

static rp_code take_whole_row(import *in, const rp_row *row, rp_error *error) {
    in->rows++;
    in->short_rows += row->count < in->column_count;
    dispatch d;
    clear(&d);
    rp_code code = read_row(in, row, &d, error);
    if (!code && d.name && *d.name) {
        if (in->is_statistics)
            code = take_statistics(in, &d, error);
        else if (in->is_long)
            code = take_long(in, row, &d, error);
        else
            code = add_dispatch(in, &d, error);
    }
    free(d.value);
    return code;
}

/* Older versions do not quote kernel names, whose commas then split the cell: with one name column,
 * the cells too many are pieces of it. ROW is made whole in place of JOINED and CELLS, which the
 * caller frees. */
static rp_code rejoin(import *in, rp_row *row, char **joined, const char ***cells,
                      rp_error *error) {
    size_t extra = row->count - in->column_count, at = 0, length = 0;
    while (in->columns[at].role != RP_ROC_NAME)
        at++;
    for (size_t i = at; i <= at + extra; i++)
        length += strlen(row->cell[i]) + 1;
    *joined = malloc(length);
    *cells = malloc(in->column_count * sizeof **cells);
    if (!*joined || !*cells)
        return no_memory(in, error);
    char *to = *joined;
    for (size_t i = at; i <= at + extra; i++) {
        to = stpcpy(to, row->cell[i]);
        *to++ = ',';
    }
    to[-1] = '\0';
    for (size_t i = 0; i < in->column_count; i++)
        (*cells)[i] = i < at ? row->cell[i] : i == at ? *joined : row->cell[i + extra];
    row->cell = *cells;
    row->count = in->column_count;
    in->joined++;
    return RP_OK;
}

static rp_code take_row(void *context, const rp_row *row, rp_error *error) {
    import *in = context;
    if (!in->columns)
        return read_header(in, row, error);
    rp_row whole = *row;
    char *joined = NULL;
    const char **cells = NULL;
    rp_code code =
        row->count > in->column_count ? rejoin(in, &whole, &joined, &cells, error) : RP_OK;
    if (!code)
        code = take_whole_row(in, &whole, error);
    free(joined);
    free(cells);
    return code ? rp_error_prefix(error, "line %" PRIu64, row->line) : RP_OK;
}

/* ---- The file -------------------------------------------------------------------------------- */

static rp_code nothing_to_analyse(const import *in, rp_error *error) {
    if (in->no_time)
        return rp_fail(error, RP_INPUT,
                       "%s: all %" PRIu64 " dispatches have impossible times; profile again",
                       in->path, in->no_time);
    if (in->launches)
        return rp_fail(error, RP_INPUT,
                       "%s: %" PRIu64 " dispatches without any time and any counter that has a "
                       "value; profile again, with counters or with --kernel-trace",
                       in->path, in->launches);
    if (in->api_calls)
        return rp_fail(error, RP_INPUT,
                       "%s: statistics of %" PRIu64 " API functions and no kernel; give the kernel "
                       "statistics (results.stats.csv, *_kernel_stats.csv) instead",
                       in->path, in->api_calls);
    return rp_fail(error, RP_INPUT,
                   "%s: nothing to analyse: the table has %" PRIu64 " rows and no dispatch; the "
                   "profiled program launched no kernel, or its profiler could not collect",
                   in->path, in->rows);
}

static rp_code add_notes(import *in, bool truncated, rp_error *error) {
    rp_capture *c = in->capture;
    rp_code code = RP_OK;
    if (truncated)
        code = rp_capture_add_note(c, "warning", error,
                                   "%s ends in the middle of a row: totals are "
                                   "lower bounds",
                                   in->path);
    if (!code && in->no_time)
        code = rp_capture_add_note(c, "warning", error,
                                   "%s: %" PRIu64 " dispatches left out for impossible times",
                                   in->path, in->no_time);
    if (!code && in->is_statistics)
        code = rp_capture_add_note(c, "info", error,
                                   "%s holds sums over all calls: every launch of a kernel has the "
                                   "mean, spreads are not known",
                                   in->path);
    if (!code && in->lanes)
        code = rp_capture_add_note(c, "info", error,
                                   "%s: vector FLOPs count all 64 lanes of a wavefront, idle ones "
                                   "included: upper bounds",
                                   in->path);
    if (!code && in->matrix_used)
        code =
            rp_capture_add_note(c, "warning", error,
                                "%s: FP32 matrix operations were counted and have no ceiling here: "
                                "FLOPs of those kernels are lower bounds",
                                in->path);
    if (!code && in->joined)
        code = rp_capture_add_note(c, "info", error,
                                   "%s: %" PRIu64 " %s more cells than the header: taken as commas "
                                   "of an unquoted kernel name",
                                   in->path, in->joined,
                                   rp_plural(in->joined, "row has", "rows have"));
    if (!code && in->repeats)
        code =
            rp_capture_add_note(c, "info", error,
                                "%s: %" PRIu64 " repeated counter values of a dispatch left out, "
                                "the first was kept",
                                in->path, in->repeats);
    if (!code && (in->bad_values || in->short_rows))
        code = rp_capture_add_note(c, "warning", error,
                                   "%s: %" PRIu64 " counter cells hold no number and %" PRIu64
                                   " rows are short: what is missing is absent, not 0",
                                   in->path, in->bad_values, in->short_rows);
    return code;
}

static rp_code store_held(import *in, rp_error *error) {
    rp_code code = RP_OK;
    for (size_t i = 0; i < in->held_count && !code; i++)
        code = add_dispatch(in, &in->held[i], error);
    return code;
}

/* Ceilings from the roofline.csv beside the counters, for each device that has some. */
static rp_code read_roofs(import *in, rp_error *error) {
    rp_code code = RP_OK;
    for (size_t i = 0; i < in->device_count && !code; i++)
        code = rp_rocprof_roofs_beside(in->path, in->capture, in->devices[i].id,
                                       in->devices[i].ordinal, in->device_count == 1, error);
    return code;
}

static void free_import(import *in) {
    for (size_t i = 0; i < in->held_count; i++) {
        free(in->held[i].name);
        free(in->held[i].value);
    }
    free(in->held);
    free(in->hash);
    free(in->columns);
    free(in->counters);
    free(in->devices);
}

static rp_code import_rocprof(const char *path, rp_capture *capture, rp_error *error) {
import in = {.capture = capture, .path = path };
    rp_rows rows = {NULL, take_row, &in};
    rp_stream *stream = NULL;
    const char *line = "";
    size_t length = 0;
    bool truncated = false;
    rp_code code = rp_stream_open(&stream, path, error);
    if (!code)
        code = rp_stream_line(stream, &line, &length, error);
    bool ceilings = !code && rp_rocprof_is_roofs(line, length);
    rp_stream_close(stream);
    if (ceilings)
        return rp_rocprof_roofs_only(path, capture, error);
    if (!code)
        code = rp_rows_read(path, &rows, &truncated, error);
    if (!code)
        code = store_held(&in, error);
    if (!code && !in.values && !in.has_times)
        code = nothing_to_analyse(&in, error);
    if (!code)
        code = read_roofs(&in, error);
    if (!code)
        code = add_notes(&in, truncated, error);
    if (!code)
        rp_capture_count_invalid(capture, in.no_time);
    free_import(&in);
    return code;
}

/* True if the first line has the cell NAME, quoted or not, in any case. */
static bool has_cell(const char *line, const char *name) {
    size_t n = strlen(name);
    for (const char *p = strcasestr(line, name); p; p = strcasestr(p + 1, name)) {
        bool begins = p == line || p[-1] == ',' || p[-1] == '"';
        if (begins && (p[n] == ',' || p[n] == '"' || p[n] == '\0' || p[n] == '\r'))
            return true;
    }
    return false;
}

static int recognise_rocprof(const char *path, const unsigned char *head, size_t length) {
    (void)path;
    size_t skip = length >= 3 && !memcmp(head, "\xEF\xBB\xBF", 3) ? 3 : 0;
    const unsigned char *newline = memchr(head + skip, '\n', length - skip);
    size_t n = newline ? (size_t)(newline - head) - skip : length - skip;
    char *line = strndup((const char *)head + skip, n);
    if (!line)
        return 0;
    int sure = 0;
    bool name = has_cell(line, "Kernel_Name") || has_cell(line, "KernelName");
    if (rp_rocprof_is_roofs(line, n))
        sure = 95;
    else if (name && (has_cell(line, "Dispatch_ID") || has_cell(line, "Index") ||
                      has_cell(line, "Counter_Name") || has_cell(line, "GPU_ID") ||
                      has_cell(line, "Agent_Id") || has_cell(line, "gpu-id")))
        sure = 95;
    else if (has_cell(line, "Name") && has_cell(line, "Calls") && has_cell(line, "TotalDurationNs"))
        sure = 95;
    free(line);
    return sure;
}

const rp_importer rp_importer_rocprof = {.name = "rocprof",
                                         .title = "AMD rocprof or rocprof-compute CSV",
                                         .recognise = recognise_rocprof,
                                         .import = import_rocprof};
