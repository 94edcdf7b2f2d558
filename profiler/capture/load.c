/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading a profile from a capture. Everything is read from the summaries; with a filter, or by
 * range, the launches are read once in order, those that pass are summed up, and the same grouping
 * follows. Rows are checked as they come: a capture may be damaged or made by a stranger.
 */
#include "capture/internal.h"
#include "capture/name.h"
#include "support/array.h"
#include "support/match.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct kernel_row {
    char *name, *short_name;
    bool collective, selected;
} kernel_row;

typedef struct config_row {
    int64_t kernel;
    bool has_shape;
    uint32_t grid[3], block[3];
    int64_t registers, shared_static, shared_dynamic;
} config_row;

typedef struct place_row {
    int64_t device, process;
    rp_provenance time_provenance;
    rp_cache_state cache;
} place_row;

typedef struct range_row {
    int64_t path; /* index in loader.paths */
    bool selected;
} range_row;

/* What a group needs only while it is filled. */
typedef struct group_state {
    double weight[RP_QUANTITIES]; /* launches of the configs whose quantity is known */
    bool counted, mixed_cache;
} group_state;

typedef struct loader {
    rp_capture *capture;
    const rp_filter *filter;
    rp_group_by by;
    rp_profile *profile;
    rp_error *error;
    kernel_row *kernels;
    size_t kernel_count, kernel_capacity;
    config_row *configs;
    size_t config_count, config_capacity;
    place_row *places;
    size_t place_count, place_capacity;
    range_row *ranges;
    size_t range_count, range_capacity;
    char **paths; /* of ranges, outermost first, joined by '/' */
    size_t path_count, path_capacity;
    rp_map path_index;
    int64_t *ordinals; /* of the devices */
    rp_summaries stored, kept;
    rp_device_totals *totals;
    unsigned char *first_launches; /* a bit a launch */
    rp_map group_index;
    group_state *states;
    size_t group_capacity, state_capacity;
} loader;

/* ---- Rows ------------------------------------------------------------------------------------ */

static rp_code damaged(loader *l, const char *what) {
    return rp_db_damaged(l->capture, what, l->error);
}

typedef struct reading {
    loader *loader;
    rp_code (*take)(loader *, sqlite3_stmt *);
} reading;

static rp_code take_row(void *context, sqlite3_stmt *row) {
    const reading *r = context;
    return r->take(r->loader, row);
}

/* Calls TAKE for each row of SQL. */
static rp_code for_each(loader *l, const char *sql, rp_code (*take)(loader *, sqlite3_stmt *)) {
    reading r = {l, take};
    return rp_db_each(l->capture, sql, take_row, &r, l->error);
}

static rp_code take_device(loader *l, sqlite3_stmt *row) {
    rp_profile *profile = l->profile;
    rp_profile_device *grown =
        realloc(profile->devices, (profile->device_count + 1) * sizeof *profile->devices);
    if (grown)
        profile->devices = grown;
    int64_t *ordinals = realloc(l->ordinals, (profile->device_count + 1) * sizeof *l->ordinals);
    if (ordinals)
        l->ordinals = ordinals;
    if (!grown || !ordinals)
        return rp_db_no_memory(l->error);
    if (sqlite3_column_int64(row, 0) != (int64_t)profile->device_count)
        return damaged(l, "its devices are not numbered in order");
    bool failed = false;
    l->ordinals[profile->device_count] = rp_column_integer(row, 1);
    int64_t launches = rp_column_integer(row, 14);
    profile->devices[profile->device_count++] = (rp_profile_device){
        .name = rp_column_text(row, 2, &failed),
        .chip = rp_column_text(row, 3, &failed),
        .uuid = rp_column_text(row, 4, &failed),
        .pci_id = rp_column_text(row, 5, &failed),
        .cc_major = (int)rp_column_integer(row, 6),
        .cc_minor = (int)rp_column_integer(row, 7),
        .sm_count = rp_column_integer(row, 8),
        .memory_bytes = rp_column_integer(row, 9),
        .l2_bytes = rp_column_integer(row, 10),
        .memory_bus_bits = rp_column_integer(row, 11),
        .sm_clock_hz = rp_column_real(row, 12),
        .memory_clock_hz = rp_column_real(row, 13),
        .launches = launches > 0 ? (uint64_t)launches : 0,
        .sum_s = rp_column_real(row, 15),
        .busy_s = rp_column_real(row, 16),
        .span_s = rp_column_real(row, 17),
        .copy_s = rp_column_real(row, 18),
        .observed_sm_clock_hz = rp_column_real(row, 19),
        .peak_allocated_bytes = rp_column_real(row, 20),
        .emulated = sqlite3_column_int(row, 21) != 0,
    };
    return failed ? rp_db_no_memory(l->error) : RP_OK;
}

static void column_word(sqlite3_stmt *row, int column, char *word, size_t size) {
    const char *text = (const char *)sqlite3_column_text(row, column);
    snprintf(word, size, "%s", text ? text : "");
}

static rp_code take_ceiling(loader *l, sqlite3_stmt *row) {
    int64_t id = rp_column_integer(row, 0);
    char kind[16];
    if (!rp_is_index(id, l->profile->device_count))
        return damaged(l, "a ceiling is of no device");
    rp_profile_device *device = &l->profile->devices[id];
    rp_capture_ceiling *grown =
        realloc(device->ceilings, (device->ceiling_count + 1) * sizeof *grown);
    if (!grown)
        return rp_db_no_memory(l->error);
    device->ceilings = grown;
    rp_capture_ceiling *ceiling = &device->ceilings[device->ceiling_count++];
    column_word(row, 1, kind, sizeof kind);
    ceiling->compute = strcmp(kind, "compute") == 0;
    column_word(row, 2, ceiling->precision, sizeof ceiling->precision);
    column_word(row, 3, ceiling->path, sizeof ceiling->path);
    column_word(row, 4, ceiling->level, sizeof ceiling->level);
    ceiling->rate = rp_column_real(row, 5);
    ceiling->provenance = rp_column_provenance(row, 6);
    return RP_OK;
}

static rp_code take_note(loader *l, sqlite3_stmt *row) {
    rp_profile *profile = l->profile;
    rp_profile_note *grown = realloc(profile->notes, (profile->note_count + 1) * sizeof *grown);
    if (!grown)
        return rp_db_no_memory(l->error);
    profile->notes = grown;
    bool failed = false;
    rp_profile_note *note = &profile->notes[profile->note_count++];
    note->severity = rp_column_text(row, 0, &failed);
    note->text = rp_column_text(row, 1, &failed);
    return failed ? rp_db_no_memory(l->error) : RP_OK;
}

static rp_code take_copy(loader *l, sqlite3_stmt *row) {
    rp_profile *profile = l->profile;
    int64_t device = rp_column_integer(row, 0), count = rp_column_integer(row, 2);
    if (!rp_is_index(device, profile->device_count)) {
        if (device != -1)
            return damaged(l, "a copy is of no device");
        return RP_OK; /* of no known device: there is nothing to hold it against */
    }
    if (l->filter && l->filter->device >= 0 && l->ordinals[device] != l->filter->device)
        return RP_OK;
    rp_copy_total *grown = realloc(profile->copies, (profile->copy_count + 1) * sizeof *grown);
    if (!grown)
        return rp_db_no_memory(l->error);
    profile->copies = grown;
    rp_copy_total *copy = &profile->copies[profile->copy_count++];
    *copy = (rp_copy_total){.device = (size_t)device,
                            .count = count > 0 ? (uint64_t)count : 0,
                            .bytes = rp_column_real(row, 3),
                            .time_s = rp_column_real(row, 4)};
    column_word(row, 1, copy->kind, sizeof copy->kind);
    return RP_OK;
}

static rp_code take_kernel(loader *l, sqlite3_stmt *row) {
    if (!RP_ARRAY_ROOM(l->kernels, l->kernel_capacity, l->kernel_count))
        return rp_db_no_memory(l->error);
    bool failed = false;
    kernel_row *kernel = &l->kernels[l->kernel_count++];
    *kernel = (kernel_row){.name = rp_column_text(row, 1, &failed),
                           .short_name = rp_column_text(row, 2, &failed)};
    if (failed)
        return rp_db_no_memory(l->error);
    if (sqlite3_column_int64(row, 0) != (int64_t)l->kernel_count - 1 || !kernel->name ||
        !kernel->short_name)
        return damaged(l, "its kernels are not numbered in order, or have no name");
    kernel->collective = rp_name_is_collective(kernel->short_name);
    return RP_OK;
}

static rp_code take_config(loader *l, sqlite3_stmt *row) {
    if (!RP_ARRAY_ROOM(l->configs, l->config_capacity, l->config_count))
        return rp_db_no_memory(l->error);
    config_row *config = &l->configs[l->config_count++];
    *config = (config_row){.kernel = rp_column_integer(row, 1),
                           .has_shape = sqlite3_column_type(row, 2) != SQLITE_NULL,
                           .registers = rp_column_integer(row, 8),
                           .shared_static = rp_column_integer(row, 9),
                           .shared_dynamic = rp_column_integer(row, 10)};
    for (int i = 0; i < 3 && config->has_shape; i++) {
        config->grid[i] = (uint32_t)sqlite3_column_int64(row, 2 + i);
        config->block[i] = (uint32_t)sqlite3_column_int64(row, 5 + i);
    }
    if (sqlite3_column_int64(row, 0) != (int64_t)l->config_count - 1 ||
        !rp_is_index(config->kernel, l->kernel_count))
        return damaged(l, "a config is of no kernel");
    return RP_OK;
}

static rp_code take_place(loader *l, sqlite3_stmt *row) {
    if (!RP_ARRAY_ROOM(l->places, l->place_capacity, l->place_count))
        return rp_db_no_memory(l->error);
    place_row *place = &l->places[l->place_count++];
    *place = (place_row){.device = rp_column_integer(row, 1),
                         .process = rp_column_integer(row, 2),
                         .time_provenance = rp_column_provenance(row, 3),
                         .cache = rp_column_cache(row, 4)};
    if (sqlite3_column_int64(row, 0) != (int64_t)l->place_count - 1 ||
        !rp_is_index(place->device, l->profile->device_count))
        return damaged(l, "a launch is on no device");
    return RP_OK;
}

/* The index of the path that NAME in the range of path PARENT (-1 none) has. */
static int64_t path_of(loader *l, int64_t parent, const char *name) {
    char *path = NULL;
    int length =
        parent < 0 ? asprintf(&path, "%s", name) : asprintf(&path, "%s/%s", l->paths[parent], name);
    if (length < 0)
        return -1;
    int64_t *known = rp_map_put(&l->path_index, path, (size_t)length, NULL);
    bool made = known && *known < 0 && RP_ARRAY_ROOM(l->paths, l->path_capacity, l->path_count);
    if (made) {
        *known = (int64_t)l->path_count;
        l->paths[l->path_count++] = path;
    } else {
        free(path);
    }
    return known ? *known : -1;
}

static rp_code take_range(loader *l, sqlite3_stmt *row) {
    if (!RP_ARRAY_ROOM(l->ranges, l->range_capacity, l->range_count))
        return rp_db_no_memory(l->error);
    int64_t parent = rp_column_integer(row, 1);
    const char *name = (const char *)sqlite3_column_text(row, 2);
    if (sqlite3_column_int64(row, 0) != (int64_t)l->range_count || !name ||
        !(parent == -1 || rp_is_index(parent, l->range_count)))
        return damaged(l, "its ranges are not numbered in order");
    const char *glob = l->filter ? l->filter->range_glob : NULL;
    range_row *range = &l->ranges[l->range_count];
    range->path = path_of(l, parent < 0 ? -1 : l->ranges[parent].path, name);
    if (range->path < 0)
        return rp_db_no_memory(l->error);
    range->selected = !glob || (parent >= 0 && l->ranges[parent].selected) ||
                      rp_match_glob(glob, name) || rp_match_glob(glob, l->paths[range->path]);
    l->range_count++;
    return RP_OK;
}

static rp_code take_summary(loader *l, sqlite3_stmt *row) {
    int64_t config = rp_column_integer(row, 1), device = rp_column_integer(row, 2);
    int64_t launches = rp_column_integer(row, 4), counted = rp_column_integer(row, 5);
    if (sqlite3_column_int64(row, 0) != (int64_t)l->stored.count ||
        !rp_is_index(config, l->config_count) || !rp_is_index(device, l->profile->device_count) ||
        launches < 0 || counted < 0)
        return damaged(l, "a summary is of no config or device");
    size_t before = l->stored.count;
    rp_summary *summary = rp_summaries_at(&l->stored, config, device, -1, rp_column_cache(row, 3));
    if (!summary)
        return rp_db_no_memory(l->error);
    if (l->stored.count == before)
        return damaged(l, "a summary is there twice");
    summary->launches = (uint64_t)launches;
    summary->counted = (uint64_t)counted;
    summary->time_provenance = rp_column_provenance(row, 6);
    summary->time = rp_column_stat(row, 7);
    summary->time_warm = rp_column_stat(row, 12);
    return RP_OK;
}

static rp_code take_summary_quantity(loader *l, sqlite3_stmt *row) {
    int64_t index = rp_column_integer(row, 0);
    const char *key = (const char *)sqlite3_column_text(row, 1);
    if (!rp_is_index(index, l->stored.count) || !key)
        return damaged(l, "a quantity is of no summary");
    rp_quantity quantity = rp_quantity_find(key);
    if (quantity == RP_QUANTITIES)
        return RP_OK; /* a quantity that only a later roofprof knows */
    rp_summary_quantity *item = rp_summary_slot(&l->stored.items[index], quantity);
    if (!item)
        return rp_db_no_memory(l->error);
    item->provenance = rp_column_provenance(row, 2);
    item->stat = rp_column_stat(row, 3);
    item->time = rp_column_stat(row, 8);
    return RP_OK;
}

/* ---- Tables ---------------------------------------------------------------------------------- */

static rp_code load_meta(loader *l) {
    rp_profile *profile = l->profile;
    char *wall = NULL, *invalid = NULL;
    rp_code code = rp_meta_get(l->capture, "tool", &profile->tool, l->error);
    if (code == RP_OK)
        code = rp_meta_get(l->capture, "source", &profile->source, l->error);
    if (code == RP_OK)
        code = rp_meta_get(l->capture, "wall_s", &wall, l->error);
    if (code == RP_OK)
        code = rp_meta_get(l->capture, "launches_invalid", &invalid, l->error);
    profile->wall_s = wall ? strtod(wall, NULL) : NAN;
    profile->launches_invalid = invalid ? strtoull(invalid, NULL, 10) : 0;
    free(wall);
    free(invalid);
    if (code == RP_OK && !profile->source && l->capture->path &&
        !(profile->source = strdup(l->capture->path)))
        return rp_db_no_memory(l->error);
    return code;
}

typedef struct table_reader {
    const char *sql;
    rp_code (*take)(loader *, sqlite3_stmt *);
} table_reader;

static rp_code load_tables(loader *l, const table_reader *tables, size_t n) {
    rp_code code = RP_OK;
    for (size_t i = 0; code == RP_OK && i < n; i++)
        code = for_each(l, tables[i].sql, tables[i].take);
    return code;
}

static const table_reader always[] = {
    {"SELECT id, ordinal, name, chip, uuid, pci_id, cc_major, cc_minor, sm_count, memory_bytes,"
     " l2_bytes, memory_bus_bits, sm_clock_hz, memory_clock_hz, launches, sum_s, busy_s, span_s,"
     " copy_s, observed_sm_clock_hz, peak_allocated_bytes, emulated FROM devices ORDER BY id",
     take_device},
    {"SELECT device, kind, precision, path, level, rate, provenance FROM ceilings", take_ceiling},
    {"SELECT severity, text FROM notes ORDER BY id", take_note},
    {"SELECT device, kind, count, bytes, time_s FROM copy_summaries", take_copy},
    {"SELECT id, coalesce(demangled, name), short_name FROM kernels ORDER BY id", take_kernel},
    {"SELECT id, kernel, grid_x, grid_y, grid_z, block_x, block_y, block_z, registers,"
     " shared_static, shared_dynamic FROM configs ORDER BY id",
     take_config},
    {"SELECT id, config, device, cache, launches, counted, time_provenance,"
     " time_n, time_sum, time_min, time_max, time_squares,"
     " warm_n, warm_sum, warm_min, warm_max, warm_squares FROM summaries ORDER BY id",
     take_summary},
    {"SELECT summary, quantity, provenance, n, sum, min, max, squares,"
     " time_n, time_sum, time_min, time_max, time_squares FROM summary_quantities",
     take_summary_quantity},
};

static const table_reader for_scan[] = {
    {"SELECT id, device, process, time_provenance, cache FROM places ORDER BY id", take_place},
    {"SELECT id, parent, name FROM ranges ORDER BY id", take_range},
};

/* ---- The launches that pass a filter --------------------------------------------------------- */

static rp_code take_first_launch(loader *l, sqlite3_stmt *row) {
    int64_t launch = rp_column_integer(row, 0);
    if (!rp_is_index(launch, l->profile->launches_total))
        return damaged(l, "a first launch is none");
    l->first_launches[launch / 8] |= (unsigned char)(1U << launch % 8);
    return RP_OK;
}

static rp_code select_kernels(loader *l) {
    const char *glob = l->filter ? l->filter->kernel_glob : NULL;
    const char *pattern = l->filter ? l->filter->kernel_regex : NULL;
    regex_t regex;
    if (pattern) {
        rp_code code = rp_match_compile(&regex, pattern, l->error);
        if (code != RP_OK)
            return code;
    }
    for (size_t i = 0; i < l->kernel_count; i++) {
        kernel_row *k = &l->kernels[i];
        k->selected =
            (!glob || rp_match_glob(glob, k->name) || rp_match_glob(glob, k->short_name)) &&
            (!pattern || regexec(&regex, k->name, 0, NULL, 0) == 0 ||
             regexec(&regex, k->short_name, 0, NULL, 0) == 0);
    }
    if (pattern)
        regfree(&regex);
    return RP_OK;
}

/* Table quantities, read beside the launches: both are in order of the launch. */
typedef struct quantity_cursor {
    sqlite3_stmt *statement;
    rp_quantity *columns; /* of each column; RP_QUANTITIES: not ours */
    int column_count;
    int64_t launch; /* of the row it stands on; INT64_MAX: at the end */
} quantity_cursor;

static rp_code cursor_next(loader *l, quantity_cursor *cursor) {
    bool row;
    rp_code code = rp_db_next(l->capture, cursor->statement, &row, l->error);
    cursor->launch = row ? sqlite3_column_int64(cursor->statement, 0) : INT64_MAX;
    return code;
}

static rp_code cursor_open(loader *l, quantity_cursor *cursor) {
    *cursor = (quantity_cursor){0};
    rp_code code = rp_db_prepare(l->capture, &cursor->statement,
                                 "SELECT * FROM quantities ORDER BY launch", l->error);
    if (code != RP_OK)
        return code;
    cursor->column_count = sqlite3_column_count(cursor->statement);
    cursor->columns = calloc((size_t)cursor->column_count, sizeof *cursor->columns);
    if (!cursor->columns)
        return rp_db_no_memory(l->error);
    for (int i = 0; i < cursor->column_count; i++)
        cursor->columns[i] = rp_quantity_find(sqlite3_column_name(cursor->statement, i));
    return cursor_next(l, cursor);
}

static void cursor_close(quantity_cursor *cursor) {
    sqlite3_finalize(cursor->statement);
    free(cursor->columns);
}

/* Adds the quantities of the row under CURSOR to SUMMARY. Provenances are kept per config. */
static bool add_quantities(loader *l, quantity_cursor *cursor, rp_summary *summary, double time_s) {
    const rp_summary *all =
        rp_summaries_at(&l->stored, summary->config, summary->device, -1, summary->cache);
    bool any = false;
    for (int i = 1; i < cursor->column_count; i++) {
        rp_quantity q = cursor->columns[i];
        if (q == RP_QUANTITIES || sqlite3_column_type(cursor->statement, i) == SQLITE_NULL)
            continue;
        unsigned slot = all ? all->slot[q] : 0;
        any = true;
        if (!rp_summary_add(summary, q, sqlite3_column_double(cursor->statement, i), time_s,
                            slot ? all->quantities[slot - 1].provenance : RP_ABSENT))
            return false;
    }
    summary->counted += any;
    return all != NULL;
}

typedef struct launch_row {
    int64_t id, config, index, start_ns, range;
    double time_ns;
    const place_row *place;
} launch_row;

static bool passes(const loader *l, const launch_row *launch) {
    const rp_filter *filter = l->filter;
    if (!filter)
        return true;
    if (!l->kernels[l->configs[launch->config].kernel].selected)
        return false;
    if (filter->device >= 0 && l->ordinals[launch->place->device] != filter->device)
        return false;
    int64_t first = filter->first >= 0 ? filter->first : 0;
    if (launch->index < first || (filter->count >= 0 && launch->index - first >= filter->count))
        return false;
    return !filter->range_glob || (launch->range >= 0 && l->ranges[launch->range].selected);
}

static rp_code keep_launch(loader *l, const launch_row *launch, quantity_cursor *cursor) {
    const place_row *place = launch->place;
    int64_t path = launch->range >= 0 ? l->ranges[launch->range].path : -1;
    rp_summary *summary = rp_summaries_at(&l->kept, launch->config, place->device,
                                          l->by == RP_BY_RANGE ? path : -1, place->cache);
    if (!summary)
        return rp_db_no_memory(l->error);
    double time_s = rp_launch_time_s(launch->time_ns);
    rp_device_totals *totals = &l->totals[place->device];
    summary->launches++;
    totals->launches++;
    l->profile->launches_kept++;
    if (!isnan(time_s)) {
        rp_summary_add_time(summary, time_s, place->time_provenance);
        if (!(l->first_launches[launch->id / 8] >> launch->id % 8 & 1))
            rp_stat_add(&summary->time_warm, time_s);
        totals->sum_s += time_s;
        totals->timed++;
        if (launch->start_ns >= 0 && !rp_intervals_add(&totals->busy, launch->start_ns,
                                                       launch->start_ns + (int64_t)launch->time_ns))
            return rp_db_no_memory(l->error);
    }
    if (cursor->launch == launch->id && !add_quantities(l, cursor, summary, time_s))
        return rp_db_no_memory(l->error);
    return RP_OK;
}

static rp_code read_launch(loader *l, sqlite3_stmt *row, launch_row *launch) {
    int64_t place = rp_column_integer(row, 2);
    *launch = (launch_row){.id = sqlite3_column_int64(row, 0),
                           .config = rp_column_integer(row, 1),
                           .index = sqlite3_column_int64(row, 3),
                           .start_ns = rp_column_integer(row, 4),
                           .time_ns = rp_column_real(row, 5),
                           .range = rp_column_integer(row, 6)};
    if (!rp_is_index(launch->id, l->profile->launches_total) ||
        !rp_is_index(launch->config, l->config_count) || !rp_is_index(place, l->place_count) ||
        !(launch->range == -1 || rp_is_index(launch->range, l->range_count)) ||
        !(isnan(launch->time_ns) || (launch->time_ns > 0 && launch->time_ns < 9e18)) ||
        launch->start_ns > INT64_MAX / 2)
        return damaged(l, "a launch names what is not there");
    launch->place = &l->places[place];
    return RP_OK;
}

static rp_code scan_rows(loader *l, sqlite3_stmt *statement, quantity_cursor *cursor) {
    bool row;
    rp_code code;
    while ((code = rp_db_next(l->capture, statement, &row, l->error)) == RP_OK && row) {
        launch_row launch;
        code = read_launch(l, statement, &launch);
        while (code == RP_OK && cursor->launch < launch.id)
            code = cursor_next(l, cursor);
        if (code == RP_OK && passes(l, &launch))
            code = keep_launch(l, &launch, cursor);
        if (code != RP_OK)
            return code;
    }
    return code;
}

static rp_code scan_launches(loader *l) {
    quantity_cursor cursor;
    sqlite3_stmt *statement = NULL;
    rp_code code = cursor_open(l, &cursor);
    if (code == RP_OK)
        code = rp_db_prepare(l->capture, &statement,
                             "SELECT id, config, place, idx, start_ns, time_ns, range"
                             " FROM launches ORDER BY id",
                             l->error);
    if (code == RP_OK)
        code = scan_rows(l, statement, &cursor);
    sqlite3_finalize(statement);
    cursor_close(&cursor);
    return code;
}

/* Where only counters told the time, the summaries know how. */
static rp_code complete_provenances(loader *l) {
    for (size_t i = 0; i < l->kept.count; i++) {
        rp_summary *kept = &l->kept.items[i];
        if (kept->time_provenance != RP_ABSENT || !kept->time.n)
            continue;
        const rp_summary *all =
            rp_summaries_at(&l->stored, kept->config, kept->device, -1, kept->cache);
        if (!all)
            return rp_db_no_memory(l->error);
        kept->time_provenance = all->time_provenance;
    }
    return RP_OK;
}

/* The sums of the devices are now those of the launches that were kept. */
static void replace_device_sums(loader *l) {
    for (size_t i = 0; i < l->profile->device_count; i++) {
        rp_profile_device *device = &l->profile->devices[i];
        rp_device_sums sums;
        rp_device_totals_sum(&l->totals[i], &sums);
        device->launches = l->totals[i].launches;
        device->sum_s = sums.sum_s;
        device->busy_s = sums.busy_s;
        device->span_s = sums.span_s;
    }
}

static rp_code load_filtered(loader *l) {
    rp_code code = load_tables(l, for_scan, sizeof for_scan / sizeof *for_scan);
    if (code == RP_OK)
        code = select_kernels(l);
    if (code != RP_OK)
        return code;
    l->totals = calloc(l->profile->device_count + 1, sizeof *l->totals);
    l->first_launches = calloc(l->profile->launches_total / 8 + 1, 1);
    if (!l->totals || !l->first_launches)
        return rp_db_no_memory(l->error);
    code = for_each(l, "SELECT launch FROM first_launches", take_first_launch);
    if (code == RP_OK)
        code = scan_launches(l);
    if (code == RP_OK)
        code = complete_provenances(l);
    if (code == RP_OK)
        replace_device_sums(l);
    return code;
}

/* ---- Groups ---------------------------------------------------------------------------------- */

static void absent_stat(rp_stat *stat) {
    *stat = (rp_stat){0, NAN, NAN, NAN, NAN};
}

static rp_code start_group(loader *l, rp_group *group, const rp_summary *summary) {
    const config_row *config = &l->configs[summary->config];
    const kernel_row *kernel = &l->kernels[config->kernel];
    *group = (rp_group){.device = (size_t)summary->device,
                        .has_shape = config->has_shape,
                        .registers = config->registers,
                        .shared_static = config->shared_static,
                        .shared_dynamic = config->shared_dynamic,
                        .collective = kernel->collective,
                        .cache = summary->cache};
    memcpy(group->grid, config->grid, sizeof group->grid);
    memcpy(group->block, config->block, sizeof group->block);
    absent_stat(&group->time);
    absent_stat(&group->time_warm);
    for (unsigned q = 0; q < RP_QUANTITIES; q++)
        absent_stat(&group->q[q]);
    group->name = strdup(kernel->name);
    group->short_name = strdup(kernel->short_name);
    if (l->by == RP_BY_RANGE && summary->range >= 0)
        group->range = strdup(l->paths[summary->range]);
    bool whole = group->name && group->short_name &&
                 (group->range || l->by != RP_BY_RANGE || summary->range < 0);
    return whole ? RP_OK : rp_db_no_memory(l->error);
}

/* What is not the same in all configs of a group is not known of the group. */
static void blend_shape(rp_group *group, const config_row *config) {
    if (group->has_shape &&
        (!config->has_shape || memcmp(group->grid, config->grid, sizeof group->grid) != 0 ||
         memcmp(group->block, config->block, sizeof group->block) != 0)) {
        group->has_shape = false;
        memset(group->grid, 0, sizeof group->grid);
        memset(group->block, 0, sizeof group->block);
    }
    if (group->registers != config->registers)
        group->registers = -1;
    if (group->shared_static != config->shared_static)
        group->shared_static = -1;
    if (group->shared_dynamic != config->shared_dynamic)
        group->shared_dynamic = -1;
}

/* The state in which counts were taken; that of launches without counts says nothing of them. */
static void blend_cache(rp_group *group, group_state *state, const rp_summary *summary) {
    if (summary->counted && !state->counted) {
        state->counted = true;
        group->cache = summary->cache;
    } else if ((summary->counted || !state->counted) && group->cache != summary->cache) {
        state->mixed_cache |= state->counted;
        group->cache = RP_CACHE_UNKNOWN;
    }
}

/* How the mean over all launches of a config differs from that over the counted ones: launches of
 * one config can differ in length (persistent kernels keep their grid at any size). Where the
 * counts differ, they are taken to go with time; where they do not, there is nothing to correct. */
static double sample_correction(const rp_summary *summary, const rp_summary_quantity *item) {
    bool timed = summary->time.n == summary->launches && item->time.n == item->stat.n;
    bool differs = item->stat.max > item->stat.min * (1 + 1e-6);
    if (item->stat.n == summary->launches || !timed || !differs || item->quantity == RP_Q_TIME ||
        !rp_quantity_table[item->quantity].sums)
        return 1;
    return rp_stat_mean(&summary->time) / rp_stat_mean(&item->time);
}

/* Sums of each config stand for all its launches, so that a config with many launches of which few
 * were counted weighs as it should; finish_quantities makes a sample of it again. */
static void blend_quantity(rp_group *group, group_state *state, const rp_summary *summary,
                           const rp_summary_quantity *item) {
    if (!item->stat.n)
        return;
    rp_stat *into = &group->q[item->quantity];
    double launches = (double)summary->launches, n = (double)item->stat.n;
    double scale = item->stat.n == summary->launches ? 1 : launches / n;
    double correction = sample_correction(summary, item);
    rp_stat whole = item->stat;
    whole.sum *= scale * correction;
    whole.sum_squares *= scale * correction * correction;
    rp_stat_merge(into, &whole);
    state->weight[item->quantity] += launches;
    group->provenance[item->quantity] = (uint8_t)rp_provenance_worse(
        (rp_provenance)group->provenance[item->quantity], item->provenance);
}

static void finish_quantities(rp_group *group, const group_state *state) {
    for (unsigned q = 0; q < RP_QUANTITIES; q++) {
        rp_stat *stat = &group->q[q];
        if (!stat->n || (double)stat->n == state->weight[q])
            continue;
        double share = (double)stat->n / state->weight[q];
        stat->sum *= share;
        stat->sum_squares *= share;
    }
    if (!group->q[RP_Q_TIME].n) {
        group->q[RP_Q_TIME] = group->time;
        group->provenance[RP_Q_TIME] = (uint8_t)group->time_provenance;
    }
}

static rp_code group_of(loader *l, const rp_summary *summary, size_t *index) {
    int64_t kernel = l->configs[summary->config].kernel;
    int64_t key[3] = {l->by == RP_BY_CONFIG ? summary->config : kernel, summary->device,
                      summary->range};
    rp_profile *profile = l->profile;
    int64_t *known = rp_map_put(&l->group_index, key, sizeof key, NULL);
    if (!known || !RP_ARRAY_ROOM(profile->groups, l->group_capacity, profile->group_count) ||
        !RP_ARRAY_ROOM(l->states, l->state_capacity, profile->group_count))
        return rp_db_no_memory(l->error);
    if (*known >= 0) {
        *index = (size_t)*known;
        return RP_OK;
    }
    *known = (int64_t)profile->group_count;
    *index = profile->group_count++;
    l->states[*index] = (group_state){0};
    return start_group(l, &profile->groups[*index], summary);
}

static rp_code note_mixed_cache(loader *l, size_t count) {
    rp_profile *profile = l->profile;
    if (!count)
        return RP_OK;
    rp_profile_note *grown = realloc(profile->notes, (profile->note_count + 1) * sizeof *grown);
    if (!grown)
        return rp_db_no_memory(l->error);
    profile->notes = grown;
    rp_profile_note *note = &profile->notes[profile->note_count];
    note->severity = strdup("info");
    if (asprintf(&note->text,
                 "%zu kernels were counted partly with cold and partly with natural or warm caches",
                 count) < 0)
        note->text = NULL;
    if (note->severity && note->text) {
        profile->note_count++;
        return RP_OK;
    }
    free(note->severity);
    free(note->text);
    return rp_db_no_memory(l->error);
}

static rp_code group_summaries(loader *l, const rp_summaries *summaries) {
    size_t mixed = 0;
    for (size_t i = 0; i < summaries->count; i++) {
        const rp_summary *summary = &summaries->items[i];
        size_t index = 0;
        if (!summary->launches)
            continue;
        rp_code code = group_of(l, summary, &index);
        if (code != RP_OK)
            return code;
        rp_group *group = &l->profile->groups[index];
        group->launches += summary->launches;
        rp_stat_merge(&group->time, &summary->time);
        rp_stat_merge(&group->time_warm, &summary->time_warm);
        group->time_provenance =
            rp_provenance_worse(group->time_provenance, summary->time_provenance);
        blend_shape(group, &l->configs[summary->config]);
        blend_cache(group, &l->states[index], summary);
        for (size_t q = 0; q < summary->quantity_count; q++)
            blend_quantity(group, &l->states[index], summary, &summary->quantities[q]);
    }
    for (size_t i = 0; i < l->profile->group_count; i++) {
        finish_quantities(&l->profile->groups[i], &l->states[i]);
        mixed += l->states[i].mixed_cache;
    }
    return note_mixed_cache(l, mixed);
}

/* ---- Loading --------------------------------------------------------------------------------- */

static bool passes_everything(const rp_filter *filter) {
    return !filter || (!filter->kernel_glob && !filter->kernel_regex && filter->device < 0 &&
                       filter->first < 0 && filter->count < 0 && !filter->range_glob);
}

static void free_loader(loader *l) {
    for (size_t i = 0; i < l->kernel_count; i++) {
        free(l->kernels[i].name);
        free(l->kernels[i].short_name);
    }
    for (size_t i = 0; i < l->path_count; i++)
        free(l->paths[i]);
    for (size_t i = 0; l->totals && i < l->profile->device_count; i++)
        rp_device_totals_free(&l->totals[i]);
    rp_map_free(&l->path_index);
    rp_map_free(&l->group_index);
    rp_summaries_free(&l->stored);
    rp_summaries_free(&l->kept);
    free(l->kernels);
    free(l->configs);
    free(l->places);
    free(l->ranges);
    free(l->paths);
    free(l->ordinals);
    free(l->totals);
    free(l->first_launches);
    free(l->states);
}

rp_code rp_capture_load(rp_capture *capture, const rp_filter *filter, rp_group_by by,
                        rp_profile *profile, rp_error *error) {
    *profile = (rp_profile){.wall_s = NAN};
    loader l = {.capture = capture,
                .filter = passes_everything(filter) ? NULL : filter,
                .by = by,
                .profile = profile,
                .error = error};
    rp_code code = load_meta(&l);
    if (code == RP_OK)
        code = load_tables(&l, always, sizeof always / sizeof *always);
    if (code != RP_OK)
        goto out;
    for (size_t i = 0; i < profile->device_count; i++)
        profile->launches_total += profile->devices[i].launches;
    if (l.filter || by == RP_BY_RANGE) {
        code = load_filtered(&l);
    } else {
        profile->launches_kept = profile->launches_total;
    }
    if (code == RP_OK)
        code = group_summaries(&l, l.kept.count || l.totals ? &l.kept : &l.stored);
out:
    free_loader(&l);
    if (code != RP_OK)
        rp_profile_free(profile);
    return code;
}
