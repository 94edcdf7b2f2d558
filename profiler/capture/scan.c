/* SPDX-License-Identifier: Apache-2.0
 *
 * The launches that pass a filter: one pass over table launches, with the rows of quantities beside
 * them, since both are in the same order.
 */
#include "capture/load.h"
#include "support/array.h"
#include "support/match.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Places and ranges ----------------------------------------------------------------------- */

static rp_code take_place(rp_loader *l, sqlite3_stmt *row) {
    if (!RP_ARRAY_ROOM(l->places, l->place_capacity, l->place_count))
        return rp_db_no_memory(l->error);
    rp_place_row *place = &l->places[l->place_count++];
    *place = (rp_place_row){.device = rp_column_integer(row, 1),
                            .process = rp_column_integer(row, 2),
                            .time_provenance = rp_column_provenance(row, 3),
                            .cache = rp_column_cache(row, 4)};
    if (sqlite3_column_int64(row, 0) != (int64_t)l->place_count - 1 ||
        !rp_is_index(place->device, l->profile->device_count))
        return rp_load_damaged(l, "a launch is on no device");
    return RP_OK;
}

/* The index of the path that NAME in the range of path PARENT (-1 none) has. */
static int64_t path_of(rp_loader *l, int64_t parent, const char *name) {
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

static rp_code take_range(rp_loader *l, sqlite3_stmt *row) {
    if (!RP_ARRAY_ROOM(l->ranges, l->range_capacity, l->range_count))
        return rp_db_no_memory(l->error);
    int64_t parent = rp_column_integer(row, 1);
    const char *name = (const char *)sqlite3_column_text(row, 2);
    if (sqlite3_column_int64(row, 0) != (int64_t)l->range_count || !name ||
        !(parent == -1 || rp_is_index(parent, l->range_count)))
        return rp_load_damaged(l, "its ranges are not numbered in order");
    const char *glob = l->filter ? l->filter->range_glob : NULL;
    rp_range_row *range = &l->ranges[l->range_count];
    range->path = path_of(l, parent < 0 ? -1 : l->ranges[parent].path, name);
    if (range->path < 0)
        return rp_db_no_memory(l->error);
    range->selected = !glob || (parent >= 0 && l->ranges[parent].selected) ||
                      rp_match_glob(glob, name) || rp_match_glob(glob, l->paths[range->path]);
    l->range_count++;
    return RP_OK;
}

/* ---- The launches that pass a filter --------------------------------------------------------- */

/* The sums of a damaged capture could ask for any amount of memory. */
static rp_code check_total(rp_loader *l, sqlite3_stmt *row) {
    return sqlite3_column_int64(row, 0) == (int64_t)l->profile->launches_total
               ? RP_OK
               : rp_load_damaged(l, "its devices' launches are not those that it holds");
}

static rp_code take_first_launch(rp_loader *l, sqlite3_stmt *row) {
    int64_t launch = rp_column_integer(row, 0);
    if (!rp_is_index(launch, l->profile->launches_total))
        return rp_load_damaged(l, "a first launch is none");
    l->first_launches[launch / 8] |= (unsigned char)(1U << launch % 8);
    return RP_OK;
}

static rp_code select_kernels(rp_loader *l) {
    const char *glob = l->filter ? l->filter->kernel_glob : NULL;
    const char *pattern = l->filter ? l->filter->kernel_regex : NULL;
    regex_t regex;
    if (pattern) {
        rp_code code = rp_match_compile(&regex, pattern, l->error);
        if (code != RP_OK)
            return code;
    }
    for (size_t i = 0; i < l->kernel_count; i++) {
        rp_kernel_row *k = &l->kernels[i];
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

static rp_code cursor_next(rp_loader *l, quantity_cursor *cursor) {
    bool row;
    rp_code code = rp_db_next(l->capture, cursor->statement, &row, l->error);
    cursor->launch = row ? sqlite3_column_int64(cursor->statement, 0) : INT64_MAX;
    return code;
}

static rp_code cursor_open(rp_loader *l, quantity_cursor *cursor) {
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
static bool add_quantities(rp_loader *l, quantity_cursor *cursor, rp_summary *summary,
                           double time_s) {
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
    const rp_place_row *place;
} launch_row;

static bool passes(const rp_loader *l, const launch_row *launch) {
    const rp_filter *filter = l->filter;
    if (!filter)
        return true;
    if (!l->kernels[l->configs[launch->config].kernel].selected)
        return false;
    if (filter->device >= 0 && (int64_t)launch->place->device != filter->device)
        return false;
    int64_t first = filter->first >= 0 ? filter->first : 0;
    if (launch->index < first || (filter->count >= 0 && launch->index - first >= filter->count))
        return false;
    return !filter->range_glob || (launch->range >= 0 && l->ranges[launch->range].selected);
}

static rp_code keep_launch(rp_loader *l, const launch_row *launch, quantity_cursor *cursor) {
    const rp_place_row *place = launch->place;
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

static rp_code read_launch(rp_loader *l, sqlite3_stmt *row, launch_row *launch) {
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
        return rp_load_damaged(l, "a launch names what is not there");
    launch->place = &l->places[place];
    return RP_OK;
}

static rp_code scan_rows(rp_loader *l, sqlite3_stmt *statement, quantity_cursor *cursor) {
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

static rp_code scan_launches(rp_loader *l) {
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
static rp_code complete_provenances(rp_loader *l) {
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
static void replace_device_sums(rp_loader *l) {
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

static const rp_table_reader for_scan[] = {
    {"SELECT id, device, process, time_provenance, cache FROM places ORDER BY id", take_place},
    {"SELECT id, parent, name FROM ranges ORDER BY id", take_range},
    {"SELECT coalesce(max(id) + 1, 0) FROM launches", check_total},
};

rp_code rp_load_filtered(rp_loader *l) {
    rp_code code = rp_load_tables(l, for_scan, sizeof for_scan / sizeof *for_scan);
    if (code == RP_OK)
        code = select_kernels(l);
    if (code != RP_OK)
        return code;
    l->totals = calloc(l->profile->device_count + 1, sizeof *l->totals);
    l->first_launches = calloc(l->profile->launches_total / 8 + 1, 1);
    if (!l->totals || !l->first_launches)
        return rp_db_no_memory(l->error);
    static const rp_table_reader first[] = {
        {"SELECT launch FROM first_launches", take_first_launch}};
    code = rp_load_tables(l, first, 1);
    if (code == RP_OK)
        code = scan_launches(l);
    if (code == RP_OK)
        code = complete_provenances(l);
    if (code == RP_OK)
        replace_device_sums(l);
    return code;
}
