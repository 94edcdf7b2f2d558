/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs of one program, held against each other and made into one capture: see runs.h.
 */
#include "capture/runs.h"
#include "capture/copy.h"
#include "support/array.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A launch, by what it must have in common with its counterparts in other runs. */
typedef struct a_launch {
    int64_t id, group;
    bool node; /* of a CUDA graph */
} a_launch;

typedef struct a_process {
    size_t begin, end; /* in run.launches */
    int64_t rank;
    char *name;
    uint64_t signature;              /* of its launches, whatever their order */
    const struct a_process *partner; /* in the first run */
    bool taken;
} a_process;

typedef struct a_run {
    rp_capture *capture;
    a_launch *launches; /* by process, each in the order in which they were launched */
    size_t launch_count, launch_room;
    int64_t *groups; /* of each config, for launches and for nodes of graphs */
    size_t group_count, group_room;
    a_process *processes;
    size_t process_count, process_room;
} a_run;

/* How a run differs from the first. */
typedef struct differences {
    uint64_t launches;          /* of kernels that come in another number */
    int64_t group, here, there; /* one of them */
    bool reordered;             /* and the first place: */
    size_t position;
    int64_t order_here, order_there; /* groups */
    uint64_t processes, missing;     /* without a counterpart: of this run, of the first */
    bool without_counters;
} differences;

typedef struct merger {
    rp_capture *into;
    rp_error *error;
    rp_map groups; /* kernel, shape and kind to a number */
    char **labels; /* of groups, for notes */
    size_t label_count, label_room;
    a_run first;
    rp_map metrics;        /* that some run has given, to the number of that run */
    int64_t *here, *there; /* launches of each group in the first run's process and in this one's */
    int64_t *buckets, *at; /* ids of the first run's launches, by group; where each group begins */
} merger;

static void free_run(a_run *r) {
    for (size_t i = 0; i < r->process_count; i++)
        free(r->processes[i].name);
    free(r->processes);
    free(r->launches);
    free(r->groups);
    *r = (a_run){0};
}

static void free_merger(merger *m) {
    for (size_t i = 0; i < m->label_count; i++)
        free(m->labels[i]);
    free(m->labels);
    rp_map_free(&m->groups);
    rp_map_free(&m->metrics);
    free_run(&m->first);
    free(m->here);
    free(m->there);
    free(m->buckets);
    free(m->at);
}

/* ---- Loading --------------------------------------------------------------------------------- */

typedef struct loader {
    merger *m;
    a_run *run;
    int64_t process; /* of the last launch */
} loader;

/* The number of the group KEY (which is kept for notes: "NAME\ngrid 4 x 1 x 1, ..."). */
static rp_code group_of(merger *m, char *key, int64_t *group) {
    bool added;
    int64_t *known = rp_map_put(&m->groups, key, strlen(key), &added);
    if (!known || !RP_ARRAY_ROOM(m->labels, m->label_room, m->label_count)) {
        free(key);
        return rp_db_no_memory(m->error);
    }
    if (added) {
        *known = (int64_t)m->label_count;
        m->labels[m->label_count++] = key;
    } else {
        free(key);
    }
    *group = *known;
    return RP_OK;
}

static rp_code load_config(void *context, sqlite3_stmt *row) {
    loader *l = context;
    a_run *r = l->run;
    for (int node = 0; node < 2; node++) {
        const char *name = (const char *)sqlite3_column_text(row, 0);
        char *key = NULL;
        int64_t n[7];
        for (int i = 0; i < 7; i++)
            n[i] = rp_column_integer(row, i + 1);
        if (!name || asprintf(&key,
                              "%s, grid %lld x %lld x %lld, block %lld x %lld x %lld, %lld "
                              "bytes of shared memory%s",
                              name, (long long)n[0], (long long)n[1], (long long)n[2],
                              (long long)n[3], (long long)n[4], (long long)n[5], (long long)n[6],
                              node ? ", in a graph" : "") < 0)
            return rp_db_no_memory(l->m->error);
        if (!RP_ARRAY_ROOM(r->groups, r->group_room, r->group_count)) {
            free(key);
            return rp_db_no_memory(l->m->error);
        }
        rp_code code = group_of(l->m, key, &r->groups[r->group_count]);
        if (code != RP_OK)
            return code;
        r->group_count++;
    }
    return RP_OK;
}

static uint64_t mixed(uint64_t x) {
    x = (x + 1) * UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ x >> 32) * UINT64_C(0xD6E8FEB86659FD93);
    return x ^ x >> 29;
}

static rp_code load_process(void *context, sqlite3_stmt *row) {
    loader *l = context;
    a_run *r = l->run;
    bool failed = false;
    if (!RP_ARRAY_ROOM(r->processes, r->process_room, r->process_count))
        return rp_db_no_memory(l->m->error);
    r->processes[r->process_count++] =
        (a_process){.rank = rp_column_integer(row, 0), .name = rp_column_text(row, 1, &failed)};
    return failed ? rp_db_no_memory(l->m->error) : RP_OK;
}

static rp_code load_launch(void *context, sqlite3_stmt *row) {
    loader *l = context;
    a_run *r = l->run;
    int64_t process = rp_column_integer(row, 1), config = rp_column_integer(row, 2);
    bool node = sqlite3_column_int(row, 3) != 0;
    if (!rp_is_index(process, r->process_count) || config < 0 ||
        !rp_is_index(2 * config, r->group_count))
        return rp_db_damaged(r->capture, "a launch names what is not there", l->m->error);
    if (!RP_ARRAY_ROOM(r->launches, r->launch_room, r->launch_count))
        return rp_db_no_memory(l->m->error);
    a_process *p = &r->processes[process];
    if (process != l->process)
        p->begin = r->launch_count;
    l->process = process;
    int64_t group = r->groups[2 * config + node];
    r->launches[r->launch_count++] = (a_launch){sqlite3_column_int64(row, 0), group, node};
    p->end = r->launch_count;
    if (!node) /* graphs are not counted, and may not be there */
        p->signature += mixed((uint64_t)group);
    return RP_OK;
}

static rp_code load(merger *m, rp_capture *capture, a_run *run) {
    loader l = {m, run, -1};
    run->capture = capture;
    rp_code code = rp_db_each(capture,
                              "SELECT coalesce(k.demangled, k.name), c.grid_x, c.grid_y, c.grid_z,"
                              " c.block_x, c.block_y, c.block_z, c.shared_dynamic"
                              " FROM configs c JOIN kernels k ON k.id = c.kernel ORDER BY c.id",
                              load_config, &l, m->error);
    if (code == RP_OK)
        code = rp_db_each(capture, "SELECT rank, name FROM processes ORDER BY id", load_process, &l,
                          m->error);
    if (code == RP_OK)
        code = rp_db_each(capture,
                          "SELECT l.id, p.process, l.config, l.graph_node IS NOT NULL"
                          " FROM launches l JOIN places p ON p.id = l.place"
                          " ORDER BY p.process, l.correlation, l.graph_node, l.id",
                          load_launch, &l, m->error);
    return code;
}

/* ---- Matching -------------------------------------------------------------------------------- */

enum { BY_RANK, BY_LAUNCHES, BY_NAME, WAYS };

static bool same_name(const a_process *a, const a_process *b) {
    return a->name && b->name && strcmp(a->name, b->name) == 0;
}

static bool may_match(const a_process *a, const a_process *b, int way) {
    if (!same_name(a, b))
        return false;
    return way == BY_RANK       ? a->rank >= 0 && a->rank == b->rank
           : way == BY_LAUNCHES ? a->signature == b->signature
                                : a->rank < 0 || b->rank < 0;
}

/* The surest way first, for all; processes come in the order in which they were started. */
static void match_processes(a_run *first, a_run *run) {
    for (size_t i = 0; i < first->process_count; i++)
        first->processes[i].taken = false;
    for (int way = 0; way < WAYS; way++)
        for (size_t i = 0; i < run->process_count; i++)
            for (size_t k = 0; k < first->process_count && !run->processes[i].partner; k++)
                if (!first->processes[k].taken &&
                    may_match(&run->processes[i], &first->processes[k], way)) {
                    run->processes[i].partner = &first->processes[k];
                    first->processes[k].taken = true;
                }
}

static void count_groups(const a_run *run, const a_process *p, int64_t *counts) {
    for (size_t i = p->begin; i < p->end; i++)
        counts[run->launches[i].group]++;
}

/* The first run's launches in this process, by group, each group's in order. */
static void fill_buckets(merger *m, const a_process *p) {
    int64_t next = 0;
    for (size_t g = 0; g < m->label_count; g++) {
        m->at[g] = next;
        next += m->here[g];
    }
    for (size_t i = p->begin; i < p->end; i++)
        m->buckets[m->at[m->first.launches[i].group]++] = m->first.launches[i].id;
    for (size_t g = 0; g < m->label_count; g++)
        m->at[g] -= m->here[g];
}

static size_t next_plain(const a_run *run, const a_process *p, size_t i) {
    while (i < p->end && run->launches[i].node)
        i++;
    return i;
}

static void compare_order(const merger *m, const a_run *run, const a_process *p, differences *d) {
    const a_process *q = p->partner;
    size_t i = next_plain(run, p, p->begin), k = next_plain(&m->first, q, q->begin);
    for (size_t n = 1; !d->reordered && i < p->end && k < q->end; n++) {
        if (run->launches[i].group != m->first.launches[k].group) {
            d->reordered = true;
            d->position = n;
            d->order_here = m->first.launches[k].group;
            d->order_there = run->launches[i].group;
        }
        i = next_plain(run, p, i + 1);
        k = next_plain(&m->first, q, k + 1);
    }
}

static bool is_node_group(const merger *m, size_t group) {
    static const char suffix[] = ", in a graph";
    size_t length = strlen(m->labels[group]);
    return length > sizeof suffix && !strcmp(m->labels[group] + length - sizeof suffix + 1, suffix);
}

static void compare_numbers(const merger *m, differences *d) {
    for (size_t g = 0; g < m->label_count; g++) {
        if (m->here[g] == m->there[g] || is_node_group(m, g))
            continue;
        if (!d->launches) {
            d->group = (int64_t)g;
            d->here = m->here[g];
            d->there = m->there[g];
        }
        d->launches += (uint64_t)m->here[g];
        d->launches += m->here[g] == 0; /* so that one that the first has not is said */
    }
}

/* TARGETS[launch of the run] becomes the first run's launch, or stays -1. */
static void match_launches(merger *m, const a_run *run, const a_process *p, int64_t *targets,
                           differences *d) {
    size_t size = m->label_count * sizeof *m->here;
    memset(m->here, 0, size);
    memset(m->there, 0, size);
    count_groups(&m->first, p->partner, m->here);
    count_groups(run, p, m->there);
    fill_buckets(m, p->partner);
    for (size_t i = p->begin; i < p->end; i++) {
        int64_t g = run->launches[i].group;
        if (m->here[g] == m->there[g])
            targets[run->launches[i].id] = m->buckets[m->at[g]++];
    }
    compare_numbers(m, d);
    compare_order(m, run, p, d);
}

/* Room by group; groups come with each run that is loaded. */
static rp_code make_room(merger *m) {
    size_t n = m->label_count + 1;
    int64_t *here = realloc(m->here, n * sizeof *here);
    m->here = here ? here : m->here;
    int64_t *there = realloc(m->there, n * sizeof *there);
    m->there = there ? there : m->there;
    int64_t *at = realloc(m->at, n * sizeof *at);
    m->at = at ? at : m->at;
    return here && there && at ? RP_OK : rp_db_no_memory(m->error);
}

/* ---- Counters -------------------------------------------------------------------------------- */

typedef struct counters {
    merger *m;
    const a_run *run;
    int64_t number; /* of the run */
    const int64_t *targets;
    int64_t *ids; /* of each of its metrics in INTO; -1: another run has given it */
    size_t metric_count, metric_room;
    differences *d;
} counters;

/* Times are those of the first run, in which nothing was counted. */
static bool is_time(const char *metric) {
    return strncmp(metric, "gpu__time_duration.", 19) == 0;
}

static rp_code take_metric(void *context, sqlite3_stmt *row) {
    counters *c = context;
    const char *name = (const char *)sqlite3_column_text(row, 0);
    if (!name)
        return rp_db_damaged(c->run->capture, "a metric has no name", c->m->error);
    int64_t *giver = rp_map_put(&c->m->metrics, name, strlen(name), NULL);
    if (!giver || !RP_ARRAY_ROOM(c->ids, c->metric_room, c->metric_count))
        return rp_db_no_memory(c->m->error);
    int64_t *id = &c->ids[c->metric_count++];
    *giver = *giver < 0 ? c->number : *giver;
    *id = -1;
    if (*giver != c->number || is_time(name))
        return RP_OK;
    return rp_writer_metric(c->m->into, name, (const char *)sqlite3_column_text(row, 1),
                            (const char *)sqlite3_column_text(row, 2), id, c->m->error);
}

static rp_code take_counter(void *context, sqlite3_stmt *row) {
    counters *c = context;
    int64_t key = sqlite3_column_int64(row, 0);
    int64_t launch = key >> RP_COUNTER_SHIFT, metric = key & (RP_METRICS_MAX - 1);
    if (!rp_is_index(launch, c->run->launch_count) || !rp_is_index(metric, c->metric_count))
        return rp_db_damaged(c->run->capture, "a counter is of no launch", c->m->error);
    c->d->without_counters = false;
    int64_t target = c->targets[launch];
    if (target < 0 || c->ids[metric] < 0)
        return RP_OK;
    return rp_capture_add_counter(c->m->into, target, c->ids[metric], rp_column_real(row, 1),
                                  rp_column_provenance(row, 2), c->m->error);
}

static rp_code copy_counters(merger *m, const a_run *run, int64_t number, const int64_t *targets,
                             differences *d) {
    counters c = {.m = m, .run = run, .number = number, .targets = targets, .d = d};
    rp_code code = rp_db_each(run->capture, "SELECT name, unit, quantity FROM metrics ORDER BY id",
                              take_metric, &c, m->error);
    if (code == RP_OK)
        code = rp_db_each(run->capture, "SELECT key, value, provenance FROM counters ORDER BY key",
                          take_counter, &c, m->error);
    free(c.ids);
    return code;
}

/* ---- What is said ---------------------------------------------------------------------------- */

static rp_code note_differences(merger *m, const char *name, const differences *d) {
    rp_code code = RP_OK;
    if (d->without_counters)
        code = rp_capture_add_note(m->into, "warning", m->error,
                                   "the run that was to count %s has no counters", name);
    if (code == RP_OK && d->processes)
        code = rp_capture_add_note(m->into, "warning", m->error,
                                   "%llu process%s of the run that counted %s ha%s no counterpart "
                                   "in the first: what was counted there is left out",
                                   (unsigned long long)d->processes, d->processes == 1 ? "" : "es",
                                   name, d->processes == 1 ? "s" : "ve");
    if (code == RP_OK && d->missing)
        code = rp_capture_add_note(m->into, "warning", m->error,
                                   "%llu process%s of the first run ha%s no counterpart in the "
                                   "run that counted %s: these counters stay unknown",
                                   (unsigned long long)d->missing, d->missing == 1 ? "" : "es",
                                   d->missing == 1 ? "s" : "ve", name);
    if (code == RP_OK && d->launches)
        code = rp_capture_add_note(
            m->into, "warning", m->error,
            "the run that counted %s did not do the same as the first: launches of %s: %lld, not "
            "%lld. For launches of kernels that come in another number, here %llu, these counters "
            "stay unknown",
            name, m->labels[d->group], (long long)d->there, (long long)d->here,
            (unsigned long long)d->launches);
    if (code == RP_OK && d->reordered)
        code = rp_capture_add_note(
            m->into, "warning", m->error,
            "the run that counted %s launched in another order than the first (launch %zu: %s; in "
            "the first: %s): launches of one kernel and shape are matched in their own order",
            name, d->position, m->labels[d->order_there], m->labels[d->order_here]);
    return code;
}

/* ---- All of it ------------------------------------------------------------------------------- */

static rp_code merge_run(merger *m, const rp_counted_run *counted, int64_t number) {
    a_run run = {0};
    differences d = {.without_counters = true};
    int64_t *targets = NULL;
    rp_code code = load(m, counted->capture, &run);
    if (code == RP_OK)
        code = make_room(m);
    if (code != RP_OK)
        goto out;
    targets = malloc((run.launch_count + 1) * sizeof *targets);
    if (!targets) {
        code = rp_db_no_memory(m->error);
        goto out;
    }
    for (size_t i = 0; i < run.launch_count; i++)
        targets[i] = -1;
    match_processes(&m->first, &run);
    for (size_t i = 0; i < run.process_count; i++)
        if (run.processes[i].partner)
            match_launches(m, &run, &run.processes[i], targets, &d);
        else
            d.processes += run.processes[i].end > run.processes[i].begin;
    for (size_t i = 0; i < m->first.process_count; i++)
        d.missing +=
            !m->first.processes[i].taken && m->first.processes[i].end > m->first.processes[i].begin;
    code = copy_counters(m, &run, number, targets, &d);
    if (code == RP_OK)
        code = note_differences(m, counted->name, &d);
    if (code == RP_OK)
        code = rp_copy_warnings(counted->capture, m->into, m->error);
out:
    free(targets);
    free_run(&run);
    return code;
}

static rp_code copy_first(merger *m) {
    rp_copier copier = {.from = m->first.capture, .into = m->into, .error = m->error};
    rp_code code = rp_copy_capture(&copier);
    rp_copier_free(&copier);
    m->buckets = malloc((m->first.launch_count + 1) * sizeof *m->buckets);
    return m->buckets ? code : rp_db_no_memory(m->error);
}

static rp_code note_graphs(merger *m) {
    uint64_t nodes = 0;
    for (size_t i = 0; i < m->first.launch_count; i++)
        nodes += m->first.launches[i].node;
    if (!nodes)
        return RP_OK;
    return rp_capture_add_note(m->into, "info", m->error,
                               "launches that are nodes of CUDA graphs: %llu. What is not counted "
                               "of these is not known",
                               (unsigned long long)nodes);
}

rp_code rp_capture_merge_runs(rp_capture *first, const rp_counted_run *runs, size_t n,
                              rp_capture *into, rp_error *error) {
    merger m = {.into = into, .error = error};
    rp_code code = load(&m, first, &m.first);
    if (code == RP_OK)
        code = copy_first(&m);
    for (size_t i = 0; code == RP_OK && i < n; i++)
        code = merge_run(&m, &runs[i], (int64_t)i);
    if (code == RP_OK)
        code = note_graphs(&m);
    free_merger(&m);
    return code;
}

/* ---- What the next run should count ---------------------------------------------------------- */

static rp_code take_flag(void *context, sqlite3_stmt *row) {
    bool *flag = context;
    *flag |= sqlite3_column_int(row, 0) != 0;
    return RP_OK;
}

rp_code rp_capture_used_tensor_cores(rp_capture *capture, bool *used, rp_error *error) {
    *used = false;
    return rp_db_each(
        capture,
        "SELECT 1 FROM counters t JOIN metrics m ON m.id = (t.key & 65535)"
        " LEFT JOIN metrics n ON n.name = 'sm__inst_executed_pipe_tensor_op_hmma_type_hfma2.sum'"
        " LEFT JOIN counters h ON h.key = (t.key & ~65535 | n.id)"
        " WHERE m.name = 'sm__inst_executed_pipe_tensor.sum' AND t.value > coalesce(h.value, 0)"
        " LIMIT 1",
        take_flag, used, error);
}

typedef struct chip_taker {
    void (*take)(void *context, const char *chip);
    void *context;
} chip_taker;

static rp_code take_chip(void *context, sqlite3_stmt *row) {
    const chip_taker *taker = context;
    const char *chip = (const char *)sqlite3_column_text(row, 0);
    if (chip)
        taker->take(taker->context, chip);
    return RP_OK;
}

rp_code rp_capture_each_chip(rp_capture *capture, void (*take)(void *context, const char *chip),
                             void *context, rp_error *error) {
    chip_taker taker = {take, context};
    return rp_db_each(capture, "SELECT DISTINCT chip FROM devices WHERE launches > 0", take_chip,
                      &taker, error);
}
