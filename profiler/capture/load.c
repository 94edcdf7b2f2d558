/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading a profile from a capture. Everything is read from the summaries; with a filter, or by
 * range, the launches are read once in order, those that pass are summed up, and the same grouping
 * follows. Rows are checked as they come: a capture may be damaged or made by a stranger.
 */
#include "capture/load.h"
#include "capture/name.h"
#include "support/array.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Rows ------------------------------------------------------------------------------------ */

rp_code rp_load_damaged(rp_loader *l, const char *what) {
    return rp_db_damaged(l->capture, what, l->error);
}

typedef struct reading {
    rp_loader *loader;
    rp_code (*take)(rp_loader *, sqlite3_stmt *);
} reading;

static rp_code take_row(void *context, sqlite3_stmt *row) {
    const reading *r = context;
    return r->take(r->loader, row);
}

/* Calls TAKE for each row of SQL. */
static rp_code for_each(rp_loader *l, const char *sql,
                        rp_code (*take)(rp_loader *, sqlite3_stmt *)) {
    reading r = {l, take};
    return rp_db_each(l->capture, sql, take_row, &r, l->error);
}

static rp_code take_device(rp_loader *l, sqlite3_stmt *row) {
    rp_profile *profile = l->profile;
    rp_profile_device *grown =
        realloc(profile->devices, (profile->device_count + 1) * sizeof *profile->devices);
    if (grown)
        profile->devices = grown;
    if (!grown)
        return rp_db_no_memory(l->error);
    if (sqlite3_column_int64(row, 0) != (int64_t)profile->device_count)
        return rp_load_damaged(l, "its devices are not numbered in order");
    bool failed = false;
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
        .driver = rp_column_text(row, 22, &failed),
        .power_limit_w = rp_column_real(row, 23),
    };
    return failed ? rp_db_no_memory(l->error) : RP_OK;
}

static void column_word(sqlite3_stmt *row, int column, char *word, size_t size) {
    const char *text = (const char *)sqlite3_column_text(row, column);
    snprintf(word, size, "%s", text ? text : "");
}

static rp_code take_ceiling(rp_loader *l, sqlite3_stmt *row) {
    int64_t id = rp_column_integer(row, 0);
    char kind[16];
    if (!rp_is_index(id, l->profile->device_count))
        return rp_load_damaged(l, "a ceiling is of no device");
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

static rp_code take_note(rp_loader *l, sqlite3_stmt *row) {
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

static rp_code take_copy(rp_loader *l, sqlite3_stmt *row) {
    rp_profile *profile = l->profile;
    int64_t device = rp_column_integer(row, 0), count = rp_column_integer(row, 2);
    if (!rp_is_index(device, profile->device_count)) {
        if (device != -1)
            return rp_load_damaged(l, "a copy is of no device");
        return RP_OK; /* of no known device: there is nothing to hold it against */
    }
    if (l->filter && l->filter->device >= 0 && (int64_t)device != l->filter->device)
        return RP_OK;
    rp_copy_total *grown = realloc(profile->copies, (profile->copy_count + 1) * sizeof *grown);
    if (!grown)
        return rp_db_no_memory(l->error);
    profile->copies = grown;
    rp_copy_total *copy = &profile->copies[profile->copy_count++];
    *copy = (rp_copy_total){.device = (size_t)device,
                            .count = count > 0 ? (uint64_t)count : 0,
                            .bytes = rp_column_real(row, 3),
                            .time_s = rp_column_real(row, 4),
                            .time_provenance = rp_column_provenance(row, 5)};
    column_word(row, 1, copy->kind, sizeof copy->kind);
    return RP_OK;
}

static rp_code take_kernel(rp_loader *l, sqlite3_stmt *row) {
    if (!RP_ARRAY_ROOM(l->kernels, l->kernel_capacity, l->kernel_count))
        return rp_db_no_memory(l->error);
    bool failed = false;
    rp_kernel_row *kernel = &l->kernels[l->kernel_count++];
    *kernel = (rp_kernel_row){.name = rp_column_text(row, 1, &failed),
                              .short_name = rp_column_text(row, 2, &failed)};
    if (failed)
        return rp_db_no_memory(l->error);
    if (sqlite3_column_int64(row, 0) != (int64_t)l->kernel_count - 1 || !kernel->name ||
        !kernel->short_name)
        return rp_load_damaged(l, "its kernels are not numbered in order, or have no name");
    kernel->collective = rp_name_is_collective(kernel->short_name);
    return RP_OK;
}

static rp_code take_config(rp_loader *l, sqlite3_stmt *row) {
    if (!RP_ARRAY_ROOM(l->configs, l->config_capacity, l->config_count))
        return rp_db_no_memory(l->error);
    rp_config_row *config = &l->configs[l->config_count++];
    *config = (rp_config_row){.kernel = rp_column_integer(row, 1),
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
        return rp_load_damaged(l, "a config is of no kernel");
    return RP_OK;
}

static rp_code take_summary(rp_loader *l, sqlite3_stmt *row) {
    int64_t config = rp_column_integer(row, 1), device = rp_column_integer(row, 2);
    int64_t launches = rp_column_integer(row, 4), counted = rp_column_integer(row, 5);
    if (sqlite3_column_int64(row, 0) != (int64_t)l->stored.count ||
        !rp_is_index(config, l->config_count) || !rp_is_index(device, l->profile->device_count) ||
        launches < 0 || counted < 0)
        return rp_load_damaged(l, "a summary is of no config or device");
    size_t before = l->stored.count;
    rp_summary *summary = rp_summaries_at(&l->stored, config, device, -1, rp_column_cache(row, 3));
    if (!summary)
        return rp_db_no_memory(l->error);
    if (l->stored.count == before)
        return rp_load_damaged(l, "a summary is there twice");
    summary->launches = (uint64_t)launches;
    summary->counted = (uint64_t)counted;
    summary->time_provenance = rp_column_provenance(row, 6);
    summary->time = rp_column_stat(row, 7);
    summary->time_warm = rp_column_stat(row, 12);
    return RP_OK;
}

static rp_code take_summary_quantity(rp_loader *l, sqlite3_stmt *row) {
    int64_t index = rp_column_integer(row, 0);
    const char *key = (const char *)sqlite3_column_text(row, 1);
    if (!rp_is_index(index, l->stored.count) || !key)
        return rp_load_damaged(l, "a quantity is of no summary");
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

static rp_code load_meta(rp_loader *l) {
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

rp_code rp_load_tables(rp_loader *l, const rp_table_reader *tables, size_t n) {
    rp_code code = RP_OK;
    for (size_t i = 0; code == RP_OK && i < n; i++)
        code = for_each(l, tables[i].sql, tables[i].take);
    return code;
}

static const rp_table_reader always[] = {
    {"SELECT d.id, ordinal, name, chip, uuid, pci_id, cc_major, cc_minor, sm_count, memory_bytes,"
     " l2_bytes, memory_bus_bits, sm_clock_hz, memory_clock_hz, launches, sum_s, busy_s, span_s,"
     " copy_s, observed_sm_clock_hz, peak_allocated_bytes, emulated, " RP_DEVICE_STATE
     " FROM " RP_DEVICES " ORDER BY d.id",
     take_device},
    {"SELECT device, kind, precision, path, level, rate, provenance FROM ceilings", take_ceiling},
    {"SELECT severity, text FROM notes ORDER BY id", take_note},
    /* copies of a kind on a device come from one source: the first that has a time tells which */
    {"SELECT s.device, s.kind, s.count, s.bytes, s.time_s, (SELECT c.time_provenance FROM copies c"
     " WHERE c.device = s.device AND c.kind = s.kind AND c.time_provenance <> 0 LIMIT 1)"
     " FROM copy_summaries s",
     take_copy},
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

/* ---- Loading --------------------------------------------------------------------------------- */

static bool passes_everything(const rp_filter *filter) {
    return !filter || (!filter->kernel_glob && !filter->kernel_regex && filter->device < 0 &&
                       filter->first < 0 && filter->count < 0 && !filter->range_glob);
}

static void free_loader(rp_loader *l) {
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
    free(l->totals);
    free(l->first_launches);
    free(l->states);
}

rp_code rp_capture_load(rp_capture *capture, const rp_filter *filter, rp_group_by by,
                        rp_profile *profile, rp_error *error) {
    *profile = (rp_profile){.wall_s = NAN};
    rp_loader l = {.capture = capture,
                   .filter = passes_everything(filter) ? NULL : filter,
                   .by = by,
                   .profile = profile,
                   .error = error};
    rp_code code = load_meta(&l);
    if (code == RP_OK)
        code = rp_load_tables(&l, always, sizeof always / sizeof *always);
    if (code != RP_OK)
        goto out;
    for (size_t i = 0; i < profile->device_count; i++)
        profile->launches_total += profile->devices[i].launches;
    if (l.filter || by == RP_BY_RANGE) {
        code = rp_load_filtered(&l);
    } else {
        profile->launches_kept = profile->launches_total;
    }
    if (code == RP_OK)
        code = rp_load_groups(&l, l.kept.count || l.totals ? &l.kept : &l.stored);
out:
    free_loader(&l);
    if (code != RP_OK)
        rp_profile_free(profile);
    return code;
}
