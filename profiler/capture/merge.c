/* SPDX-License-Identifier: Apache-2.0
 *
 * Two captures of the same program, one with times and one with counts, made into one; and the
 * captures of all ranks of a program side by side.
 */
#include "capture/copy.h"
#include "capture/name.h"
#include "support/array.h"
#include "support/units.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- What launches are matched by ------------------------------------------------------------ */

/* The launches of one capture, numbered within process, kernel and grid. */
typedef struct series {
    int64_t *groups; /* of each config: number of its kernel and grid, the same in both captures */
    size_t config_count, config_capacity;
    rp_map occurrences; /* of (process, group): launches seen so far */
} series;

/* A launch that was counted. */
typedef struct counted_launch {
    int64_t id, target; /* in COUNTS; in INTO, -1 none */
    int64_t config, place;
    rp_cache_state cache;
    double time_ns;
} counted_launch;

typedef struct merger {
    rp_capture *times, *counts, *into;
    rp_error *error;
    bool shapes; /* every config of both has a grid */
    rp_map groups;
    series in_times, in_counts;
    rp_map index; /* (process, group, occurrence) to a counted launch */
    counted_launch *counted;
    size_t counted_count, counted_capacity;
    int64_t matching; /* the counted launch of the one that is being copied; -1 none */
    double matched_time_ns, matched_count_time_ns;
    uint64_t matched, uncounted; /* launches of TIMES with and without a counted one */
    /* provenances by (config, device, cache) of COUNTS */
    rp_summaries provenances;
    bool has_counts; /* more than times and clocks */
    size_t at;       /* next counted launch while quantities are read */
    rp_quantity *columns;
    int column_count;
} merger;

static void free_series(series *s) {
    free(s->groups);
    rp_map_free(&s->occurrences);
}

static void free_merger(merger *m) {
    rp_map_free(&m->groups);
    rp_map_free(&m->index);
    rp_summaries_free(&m->provenances);
    free_series(&m->in_times);
    free_series(&m->in_counts);
    free(m->counted);
    free(m->columns);
}

typedef struct grouping {
    merger *merger;
    series *series;
} grouping;

static rp_code find_shapes(void *context, sqlite3_stmt *row) {
    merger *m = context;
    m->shapes &= sqlite3_column_type(row, 0) != SQLITE_NULL;
    return RP_OK;
}

/* Numbers the kernel and grid of a config: the same number for the same in both captures. */
static rp_code number_config(void *context, sqlite3_stmt *row) {
    grouping *g = context;
    merger *m = g->merger;
    series *s = g->series;
    const char *name = (const char *)sqlite3_column_text(row, 0);
    char *label = name ? rp_name_short(name) : NULL, *key = NULL;
    if (!label)
        return rp_db_no_memory(m->error);
    int length = m->shapes ? asprintf(&key, "%s\n%lld %lld %lld", label,
                                      (long long)sqlite3_column_int64(row, 1),
                                      (long long)sqlite3_column_int64(row, 2),
                                      (long long)sqlite3_column_int64(row, 3))
                           : asprintf(&key, "%s", label);
    int64_t *group = length < 0 ? NULL : rp_map_put(&m->groups, key, (size_t)length, NULL);
    if (length >= 0)
        free(key);
    free(label);
    if (!group || !RP_ARRAY_ROOM(s->groups, s->config_capacity, s->config_count))
        return rp_db_no_memory(m->error);
    if (*group < 0)
        *group = (int64_t)m->groups.count - 1;
    s->groups[s->config_count++] = *group;
    return RP_OK;
}

static rp_code number_configs(merger *m, rp_capture *capture, series *s) {
    grouping g = {m, s};
    return rp_db_each(capture,
                      "SELECT coalesce(k.demangled, k.name), c.grid_x, c.grid_y, c.grid_z"
                      " FROM configs c JOIN kernels k ON k.id = c.kernel ORDER BY c.id",
                      number_config, &g, m->error);
}

/* The key of the next launch of CONFIG in PROCESS. False: no memory. */
static bool next_key(series *s, int64_t process, int64_t config, int64_t key[3]) {
    key[0] = process;
    key[1] = s->groups[config];
    int64_t *seen = rp_map_put(&s->occurrences, key, 2 * sizeof *key, NULL);
    if (!seen)
        return false;
    key[2] = ++*seen;
    return true;
}

/* ---- Indexing the counts --------------------------------------------------------------------- */

static rp_code index_launch(void *context, sqlite3_stmt *row) {
    merger *m = context;
    int64_t config = rp_column_integer(row, 1), key[3];
    if (!rp_is_index(config, m->in_counts.config_count))
        return rp_db_damaged(m->counts, "a launch names what is not there", m->error);
    if (!next_key(&m->in_counts, rp_column_integer(row, 2), config, key))
        return rp_db_no_memory(m->error);
    if (sqlite3_column_type(row, 6) == SQLITE_NULL)
        return RP_OK; /* it was not counted */
    int64_t *known = rp_map_put(&m->index, key, sizeof key, NULL);
    if (!known || !RP_ARRAY_ROOM(m->counted, m->counted_capacity, m->counted_count))
        return rp_db_no_memory(m->error);
    *known = (int64_t)m->counted_count;
    m->counted[m->counted_count++] = (counted_launch){.id = sqlite3_column_int64(row, 0),
                                                      .target = -1,
                                                      .config = config,
                                                      .place = rp_column_integer(row, 3),
                                                      .cache = rp_column_cache(row, 4),
                                                      .time_ns = rp_column_real(row, 5)};
    return RP_OK;
}

/* Times and clocks are of the run in which they were taken. */
static bool belongs_to_run(rp_quantity q) {
    return q == RP_Q_TIME || q == RP_Q_SM_CLOCK || q == RP_Q_DRAM_CLOCK;
}

static rp_code take_provenance(void *context, sqlite3_stmt *row) {
    merger *m = context;
    const char *key = (const char *)sqlite3_column_text(row, 3);
    rp_quantity quantity = key ? rp_quantity_find(key) : RP_QUANTITIES;
    rp_summary *summary = rp_summaries_at(&m->provenances, rp_column_integer(row, 0),
                                          rp_column_integer(row, 1), -1, rp_column_cache(row, 2));
    if (!summary)
        return rp_db_no_memory(m->error);
    if (quantity == RP_QUANTITIES)
        return RP_OK;
    rp_summary_quantity *item = rp_summary_slot(summary, quantity);
    if (!item)
        return rp_db_no_memory(m->error);
    item->provenance = rp_column_provenance(row, 4);
    m->has_counts |= !belongs_to_run(quantity);
    return RP_OK;
}

static rp_code index_counts(merger *m) {
    static const char shapes[] = "SELECT grid_x FROM configs WHERE grid_x IS NULL LIMIT 1";
    m->shapes = true;
    rp_code code = rp_db_each(m->times, shapes, find_shapes, m, m->error);
    if (code == RP_OK)
        code = rp_db_each(m->counts, shapes, find_shapes, m, m->error);
    if (code == RP_OK)
        code = number_configs(m, m->times, &m->in_times);
    if (code == RP_OK)
        code = number_configs(m, m->counts, &m->in_counts);
    if (code == RP_OK)
        code = rp_db_each(m->counts,
                          "SELECT s.config, s.device, s.cache, q.quantity, q.provenance"
                          " FROM summary_quantities q JOIN summaries s ON s.id = q.summary",
                          take_provenance, m, m->error);
    if (code == RP_OK && !m->has_counts)
        code = rp_fail(m->error, RP_INPUT,
                       "the capture that should give the counts has none; are the two in the right "
                       "order?");
    if (code == RP_OK)
        code = rp_db_each(m->counts,
                          "SELECT l.id, l.config, p.process, p.device, p.cache, l.time_ns, q.launch"
                          " FROM launches l JOIN places p ON p.id = l.place"
                          " LEFT JOIN quantities q ON q.launch = l.id ORDER BY l.id",
                          index_launch, m, m->error);
    return code;
}

/* ---- Copying the times ----------------------------------------------------------------------- */

static rp_code before_launch(void *context, int64_t id, int64_t config, int64_t process,
                             rp_launch_record *launch) {
    (void)id;
    merger *m = context;
    int64_t key[3];
    if (!rp_is_index(config, m->in_times.config_count))
        return rp_db_damaged(m->times, "a launch names what is not there", m->error);
    if (!next_key(&m->in_times, process, config, key))
        return rp_db_no_memory(m->error);
    m->matching = rp_map_get(&m->index, key, sizeof key);
    m->uncounted += m->matching < 0;
    if (m->matching < 0)
        return RP_OK;
    const counted_launch *counted = &m->counted[m->matching];
    launch->cache = counted->cache;
    if (!isnan(launch->time_s) && !isnan(counted->time_ns)) {
        m->matched_time_ns += rp_launch_time_ns(launch->time_s);
        m->matched_count_time_ns += counted->time_ns;
    }
    return RP_OK;
}

static rp_code after_launch(void *context, int64_t id, int64_t new_id) {
    (void)id;
    merger *m = context;
    if (m->matching >= 0) {
        m->counted[m->matching].target = new_id;
        m->matched++;
    }
    return RP_OK;
}

static rp_code copy_times(merger *m) {
    rp_copier copier = {.from = m->times,
                        .into = m->into,
                        .error = m->error,
                        .before = before_launch,
                        .after = after_launch,
                        .context = m};
    rp_code code = rp_copy_capture(&copier);
    rp_copier_free(&copier);
    return code;
}

/* ---- Copying the counts ---------------------------------------------------------------------- */

static rp_code find_columns(merger *m, sqlite3_stmt *row) {
    m->column_count = sqlite3_column_count(row);
    m->columns = calloc((size_t)m->column_count, sizeof *m->columns);
    if (!m->columns)
        return rp_db_no_memory(m->error);
    for (int i = 0; i < m->column_count; i++)
        m->columns[i] = rp_quantity_find(sqlite3_column_name(row, i));
    return RP_OK;
}

static rp_code copy_quantities(void *context, sqlite3_stmt *row) {
    merger *m = context;
    rp_code code = m->columns ? RP_OK : find_columns(m, row);
    int64_t launch = sqlite3_column_int64(row, 0);
    while (m->at < m->counted_count && m->counted[m->at].id < launch)
        m->at++;
    if (m->at == m->counted_count || m->counted[m->at].id != launch)
        return code;
    const counted_launch *counted = &m->counted[m->at];
    rp_summary *summary =
        rp_summaries_at(&m->provenances, counted->config, counted->place, -1, counted->cache);
    if (!summary)
        return rp_db_no_memory(m->error);
    for (int i = 1; code == RP_OK && counted->target >= 0 && i < m->column_count; i++) {
        rp_quantity q = m->columns[i];
        double value = rp_column_real(row, i);
        if (q == RP_QUANTITIES || isnan(value) || belongs_to_run(q))
            continue;
        const rp_summary_quantity *known =
            summary->slot[q] ? &summary->quantities[summary->slot[q] - 1] : NULL;
        code = rp_capture_add_quantity(m->into, counted->target, q, value,
                                       known ? known->provenance : RP_COUNTED, m->error);
    }
    return code;
}

static rp_code copy_counts(merger *m) {
    return rp_db_each(m->counts, "SELECT * FROM quantities ORDER BY launch", copy_quantities, m,
                      m->error);
}

/* ---- What does not agree --------------------------------------------------------------------- */

static rp_code note_unmatched(merger *m) {
    uint64_t unmatched = 0;
    int64_t example = -1;
    for (size_t i = 0; i < m->counted_count; i++) {
        if (m->counted[i].target >= 0)
            continue;
        example = example < 0 ? m->counted[i].config : example;
        unmatched++;
    }
    if (!unmatched)
        return RP_OK;
    sqlite3_stmt *row = NULL;
    bool more = false;
    rp_code code = rp_db_prepare(m->counts, &row,
                                 "SELECT k.short_name, c.grid_x, c.grid_y, c.grid_z FROM configs c"
                                 " JOIN kernels k ON k.id = c.kernel WHERE c.id = ?",
                                 m->error);
    if (code == RP_OK) {
        sqlite3_bind_int64(row, 1, example);
        code = rp_db_next(m->counts, row, &more, m->error);
    }
    if (code == RP_OK && more)
        code = rp_capture_add_note(
            m->into, "warning", m->error,
            "%llu of %zu counted launches have no counterpart among the "
            "times, such as one of %s with grid %lld x %lld x %lld: their "
            "counts are left out",
            (unsigned long long)unmatched, m->counted_count,
            (const char *)sqlite3_column_text(row, 0), (long long)sqlite3_column_int64(row, 1),
            (long long)sqlite3_column_int64(row, 2), (long long)sqlite3_column_int64(row, 3));
    sqlite3_finalize(row);
    return code;
}

/* A sample stands for the rest of its kernel; a kernel without any has no counts. */
static rp_code note_uncounted(merger *m) {
    if (!m->uncounted)
        return RP_OK;
    return rp_capture_add_note(
        m->into, "info", m->error,
        "%llu of %llu launches with times have no counted counterpart: totals of their kernels "
        "are estimated from those that have, or not known",
        (unsigned long long)m->uncounted, (unsigned long long)(m->uncounted + m->matched));
}

static rp_code note_times(merger *m) {
    double ratio = m->matched_count_time_ns / m->matched_time_ns;
    if (!(fabs(ratio - 1) > 0.1)) /* also when there is nothing to compare */
        return RP_OK;
    return rp_capture_add_note(m->into, "info", m->error,
                               "kernels took %.2f times as long in the run with counts as in the "
                               "run with times (clocks held, caches flushed, other input?)",
                               ratio);
}

static rp_code copy_warnings(merger *m) {
    return rp_copy_warnings(m->counts, m->into, m->error);
}

static rp_code note_devices(merger *m) {
    char *names[2] = {NULL, NULL};
    rp_capture *const captures[2] = {m->times, m->counts};
    bool failed = false;
    rp_code code = RP_OK;
    for (int i = 0; i < 2 && code == RP_OK; i++) {
        sqlite3_stmt *row = NULL;
        bool more = false;
        code = rp_db_prepare(captures[i], &row, "SELECT name FROM devices ORDER BY id LIMIT 1",
                             m->error);
        if (code == RP_OK)
            code = rp_db_next(captures[i], row, &more, m->error);
        if (code == RP_OK && more)
            names[i] = rp_column_text(row, 0, &failed);
        sqlite3_finalize(row);
    }
    if (failed)
        code = rp_db_no_memory(m->error);
    if (code == RP_OK && names[0] && names[1] && strcmp(names[0], names[1]) != 0)
        code = rp_capture_add_note(m->into, "warning", m->error,
                                   "the times are of %s and the counts of %s: traffic through "
                                   "caches differs between devices",
                                   names[0], names[1]);
    free(names[0]);
    free(names[1]);
    return code;
}

static rp_code check_matches(merger *m) {
    if (m->matched)
        return RP_OK;
    return rp_fail(m->error, RP_INPUT,
                   "no launch of one capture is in the other (by kernel name%s and order): they "
                   "are not of the same program, or not of the same input",
                   m->shapes ? ", grid" : "");
}

rp_code rp_capture_merge(rp_capture *times, rp_capture *counts, rp_capture *into, rp_error *error) {
    merger m = {.times = times, .counts = counts, .into = into, .error = error, .matching = -1};
    static rp_code (*const steps[])(merger *) = {index_counts, copy_times,     check_matches,
                                                 copy_counts,  note_unmatched, note_uncounted,
                                                 note_times,   copy_warnings,  note_devices};
    rp_code code = RP_OK;
    for (size_t i = 0; code == RP_OK && i < sizeof steps / sizeof *steps; i++)
        code = steps[i](&m);
    free_merger(&m);
    return code;
}

/* ---- Ranks ----------------------------------------------------------------------------------- */

/* Time in kernels of the slowest and fastest process; collectives wait for the slowest and so take
 * longest on the fastest: they are left out. */
typedef struct spread {
    size_t count;
    double sum_s, least_s, most_s;
    char slowest[64];
} spread;

static rp_code name_process(rp_capture *from, size_t capture, size_t process, spread *s,
                            rp_error *error) {
    sqlite3_stmt *row = NULL;
    bool more = false;
    snprintf(s->slowest, sizeof s->slowest, "of capture %zu", capture + 1);
    rp_code code = rp_db_prepare(from, &row, "SELECT rank, pid FROM processes WHERE id = ?", error);
    if (code == RP_OK) {
        sqlite3_bind_int64(row, 1, (int64_t)process);
        code = rp_db_next(from, row, &more, error);
    }
    if (code == RP_OK && more && rp_column_integer(row, 0) >= 0)
        snprintf(s->slowest, sizeof s->slowest, "rank %lld",
                 (long long)sqlite3_column_int64(row, 0));
    else if (code == RP_OK && more && rp_column_integer(row, 1) >= 0)
        snprintf(s->slowest, sizeof s->slowest, "process %lld",
                 (long long)sqlite3_column_int64(row, 1));
    sqlite3_finalize(row);
    return code;
}

static rp_code add_to_spread(const rp_copier *copier, size_t capture, spread *s, rp_error *error) {
    rp_code code = RP_OK;
    for (size_t i = 0; i <= copier->process_count && code == RP_OK; i++) {
        double time_s = copier->process_time_s[i];
        if (time_s <= 0)
            continue;
        if (!s->count || time_s > s->most_s) {
            s->most_s = time_s;
            code = name_process(copier->from, capture, i, s, error);
        }
        s->least_s = s->count ? fmin(s->least_s, time_s) : time_s;
        s->sum_s += time_s;
        s->count++;
    }
    return code;
}

rp_code rp_capture_join(rp_capture *const *ranks, size_t n, rp_capture *into, rp_error *error) {
    spread s = {0};
    rp_code code = RP_OK;
    for (size_t i = 0; code == RP_OK && i < n; i++) {
        rp_copier copier = {.from = ranks[i], .into = into, .error = error};
        into->writer->device_namespace = (int64_t)i;
        code = rp_copy_capture(&copier);
        if (code == RP_OK)
            code = add_to_spread(&copier, i, &s, error);
        rp_copier_free(&copier);
    }
    into->writer->device_namespace = 0;
    if (code == RP_OK && s.count > 1) {
        char least[32], most[32];
        code = rp_capture_add_note(into, "info", error,
                                   "%zu processes spend %s (least) to %s (most, %s) in kernels "
                                   "that are no collectives, %.1f %% above the mean",
                                   s.count, rp_format_time(least, sizeof least, s.least_s),
                                   rp_format_time(most, sizeof most, s.most_s), s.slowest,
                                   100 * (s.most_s / (s.sum_s / (double)s.count) - 1));
    }
    return code;
}
