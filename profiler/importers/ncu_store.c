/* SPDX-License-Identifier: Apache-2.0
 *
 * Assembling launches; see ncu_store.h. One launch is open at a time (`group`): its values lie in
 * an array, and each metric remembers its slot there, so that a value is stored and found without a
 * search. What stays of a launch once it is written is an `entry` of fixed size, for late values
 * and for the other run.
 */
#include "importers/ncu_store.h"

#include "importers/ncu_set.h"
#include "support/array.h"
#include "support/map.h"
#include "support/text.h"
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    HELD_MAX = 1 << 21, /* values of launches that wait for a duration: 48 MiB */
    NO_TWIN = -1,
    TWIN_UNDECIDED = -2
};

/* Less than this per cycle is nothing beside any device's peak (hundreds and more per cycle): a
 * zero that is printed with six decimals counts as zero, one with two decimals does not. */
static const double NEGLIGIBLE_PER_CYCLE = 1e-6;

typedef struct value {
    double value, bound;
    uint32_t metric;
    uint8_t provenance;
    bool dropped;
} value;

typedef struct group {
    size_t process, kernel;
    int64_t number, context, stream, device, range;
    bool has_shape;
    uint32_t grid[3], block[3];
    int64_t registers, shared_static, shared_dynamic;
    double time_s;
    value *values;
    size_t count, capacity;
} group;

/* What is remembered of a launch. */
typedef struct entry {
    int64_t launch; /* in the capture; -1: held */
    size_t held;    /* index of the held group */
    uint32_t kernel, set;
    uint64_t shape; /* hash of grid and block; 0 not known */
    bool has_time;
} entry;

typedef struct process {
    int64_t pid, id;
    int64_t twin; /* index of the process whose launches these are; NO_TWIN; TWIN_UNDECIDED */
    uint64_t joined, alone;
} process;

struct ncu_store {
    rp_capture *capture;
    const char *path;
    ncu_metrics metrics;
    rp_map kernel_names, process_names, device_names, entry_keys;
    char **kernels;
    size_t *kernel_lengths;
    size_t kernel_count, kernel_capacity, kernel_length_capacity;
    process *processes;
    size_t process_count, process_capacity;
    entry *entries;
    size_t entry_count, entry_capacity;
    ncu_sets sets;
    group *held;
    size_t held_count, held_capacity, held_values;

    group open; /* the launch in hand */
    bool is_open, no_memory;
    uint64_t serial;
    rp_device_record device;
    char device_name[256], pci_id[16];
    double role_value[NCU_ROLES];

    uint64_t launches, values, missing, texts, unreadable, unscaled, recovered, estimated,
        unrecoverable;
    uint64_t invalid, repeated, times_late;
    char unrecoverable_example[200], unreadable_example[64];
};

static rp_code no_memory(const ncu_store *store, rp_error *error) {
    return rp_fail(error, RP_INTERNAL, "%s: out of memory", store->path);
}

/* ---- Sets of metrics ------------------------------------------------------------------------- */

/* The set of GROUP's metrics together with those of BASE; NCU_NO_SET without memory. */
static size_t set_of(ncu_store *store, const group *g, size_t base) {
    if (!ncu_sets_draft(&store->sets, base))
        return NCU_NO_SET;
    for (size_t i = 0; i < g->count; i++)
        if (!g->values[i].dropped && !ncu_sets_add(&store->sets, g->values[i].metric))
            return NCU_NO_SET;
    return ncu_sets_intern(&store->sets);
}

static const ncu_set *set_at(const ncu_store *store, size_t number) {
    return &store->sets.sets[number];
}

/* True if A and B were collected for different purposes: some counter is in one of them only and
 * none is in both. Durations, clocks and launch parameters come with every run and do not count. */
static bool sets_complement(const ncu_store *store, const ncu_set *a, const ncu_set *b) {
    bool differ = false;
    for (size_t m = 0; m < store->metrics.count; m++) {
        const ncu_metric *one = &store->metrics.items[m];
        if (one->role != NCU_COUNTER || strncmp(one->name, "launch__", 8) == 0)
            continue;
        bool in_a = ncu_set_has(a, m), in_b = ncu_set_has(b, m);
        if (in_a && in_b)
            return false;
        differ |= in_a != in_b;
    }
    return differ;
}

rp_code ncu_store_column(ncu_store *store, const char *name, size_t length, const char *unit,
                         size_t unit_length, const ncu_column **column, rp_error *error) {
    return ncu_metrics_column(&store->metrics, name, length, unit, unit_length, column, error);
}

/* ---- The open launch ------------------------------------------------------------------------- */

uint64_t ncu_store_launches(const ncu_store *store) {
    return store->launches;
}

static const char *file_part(const char *path) {
    const char *slash = strrchr(path, '/');
    const char *back = strrchr(path, '\\');
    const char *last = back > slash ? back : slash;
    return last && last[1] ? last + 1 : path;
}

static rp_code process_find(ncu_store *store, const ncu_launch *launch, size_t *index,
                            rp_error *error) {
    char key[600];
    int n = snprintf(key, sizeof key, "%lld\n%.255s\n%.255s", (long long)launch->pid,
                     launch->process ? launch->process : "", launch->host ? launch->host : "");
    bool added;
    int64_t *at = rp_map_put(&store->process_names, key, (size_t)n, &added);
    if (!at)
        return no_memory(store, error);
    if (!added) {
        *index = (size_t)*at;
        return RP_OK;
    }
    if (!RP_ARRAY_ROOM(store->processes, store->process_capacity, store->process_count))
        return no_memory(store, error);
    process p = {.pid = launch->pid, .id = -1, .twin = TWIN_UNDECIDED};
    if (launch->pid >= 0 || launch->process) {
        rp_process_record record = {.pid = launch->pid,
                                    .rank = -1,
                                    .name = launch->process ? file_part(launch->process) : NULL,
                                    .host = launch->host};
        rp_code code = rp_capture_add_process(store->capture, &record, &p.id, error);
        if (code)
            return code;
    }
    *at = (int64_t)store->process_count;
    *index = store->process_count;
    store->processes[store->process_count++] = p;
    return RP_OK;
}

static rp_code kernel_find(ncu_store *store, const char *name, size_t length, size_t *index,
                           rp_error *error) {
    const char *nul = memchr(name, 0, length);
    if (nul)
        length = (size_t)(nul - name);
    bool added;
    int64_t *at = rp_map_put(&store->kernel_names, name, length, &added);
    if (!at)
        return no_memory(store, error);
    if (added) {
        char *copy = strndup(name, length);
        if (!copy || !RP_ARRAY_ROOM(store->kernels, store->kernel_capacity, store->kernel_count) ||
            !RP_ARRAY_ROOM(store->kernel_lengths, store->kernel_length_capacity,
                           store->kernel_count)) {
            free(copy);
            return no_memory(store, error);
        }
        store->kernels[store->kernel_count] = copy;
        store->kernel_lengths[store->kernel_count] = length;
        *at = (int64_t)store->kernel_count++;
    }
    *index = (size_t)*at;
    return RP_OK;
}

rp_code ncu_store_begin(ncu_store *store, const ncu_launch *launch, rp_error *error) {
    rp_code code = ncu_store_end(store, error);
    if (code)
        return code;
    group *g = &store->open;
    value *values = g->values;
    size_t capacity = g->capacity;
    *g = (group){.number = launch->number,
                 .context = launch->context,
                 .stream = launch->stream,
                 .range = launch->range,
                 .has_shape = launch->has_shape,
                 .registers = -1,
                 .shared_static = -1,
                 .shared_dynamic = -1,
                 .time_s = NAN,
                 .values = values,
                 .capacity = capacity};
    memcpy(g->grid, launch->grid, sizeof g->grid);
    memcpy(g->block, launch->block, sizeof g->block);
    if ((code = process_find(store, launch, &g->process, error)) ||
        (code = kernel_find(store, launch->kernel, launch->kernel_length, &g->kernel, error)))
        return code;

    store->device = RP_DEVICE_RECORD_INIT;
    store->device.ordinal = launch->device;
    store->device.cc_major = launch->cc_major;
    store->device.cc_minor = launch->cc_minor;
    store->device_name[0] = 0;
    store->pci_id[0] = 0;
    if (launch->device_name)
        snprintf(store->device_name, sizeof store->device_name, "%s", launch->device_name);
    for (int r = 0; r < NCU_ROLES; r++)
        store->role_value[r] = NAN;
    store->serial++;
    store->launches++;
    store->is_open = true;
    return RP_OK;
}

static void append_value(ncu_store *store, size_t metric_index, double number, double bound,
                         rp_provenance provenance, bool from_label) {
    ncu_metric *m = &store->metrics.items[metric_index];
    if (m->stamp ==
        store->serial) { /* given twice: the last counts, as for the vendor's readers; */
        if (m->from_label || !from_label) { /* but the raw page has more digits than a label */
            store->open.values[m->slot].value = number;
            store->open.values[m->slot].bound = bound;
            m->from_label = from_label;
        }
        return;
    }
    group *g = &store->open;
    if (!RP_ARRAY_ROOM(g->values, g->capacity, g->count)) {
        store->no_memory = true;
        return;
    }
    m->stamp = store->serial;
    m->slot = g->count;
    m->from_label = from_label;
    g->values[g->count++] = (value){.value = number,
                                    .bound = bound,
                                    .metric = (uint32_t)metric_index,
                                    .provenance = (uint8_t)provenance};
}

void ncu_store_put(ncu_store *store, const ncu_column *column, double number, double error_bound) {
    if (column->unscaled) {
        store->unscaled++;
        return;
    }
    store->values++;
    number = ncu_unit_apply(&column->unit, number);
    error_bound = ncu_unit_apply(&column->unit, error_bound);
    ncu_role role = store->metrics.items[column->metric].role;
    if (role != NCU_COUNTER && (!column->label || isnan(store->role_value[role])))
        store->role_value[role] = number;
    if (role == NCU_IGNORED || role >= NCU_GRID_X)
        return;
    append_value(store, column->metric, number, error_bound, RP_IMPORTED, column->label);
}

/* "sm__inst_executed.avg,sm__inst_executed.max": what a table of the report is made of. */
static bool lists_metrics(const char *text, size_t length) {
    return length > 0 && isalpha((unsigned char)*text) && memmem(text, length, "__", 2);
}

void ncu_store_put_text(ncu_store *store, const ncu_column *column, const char *text,
                        size_t length) {
    store->texts++;
    /* settings have no unit, numbers do */
    if (column->unit.name[0] && !lists_metrics(text, length) && !store->unreadable++)
        snprintf(store->unreadable_example, sizeof store->unreadable_example, "%.*s",
                 (int)(length < 40 ? length : 40), text);
    if (store->metrics.items[column->metric].role == NCU_DEVICE_NAME)
        snprintf(store->device_name, sizeof store->device_name, "%.*s",
                 (int)(length < sizeof store->device_name ? length : sizeof store->device_name - 1),
                 text);
}

void ncu_store_put_missing(ncu_store *store, const ncu_column *column) {
    store->missing += store->metrics.items[column->metric].role != NCU_IGNORED;
}

/* The value of metric INDEX in the open launch; NULL if there is none. */
static value *open_value(ncu_store *store, size_t index) {
    if (index == NCU_NO_METRIC || store->metrics.items[index].stamp != store->serial)
        return NULL;
    value *v = &store->open.values[store->metrics.items[index].slot];
    return v->dropped ? NULL : v;
}

/* ---- Ending a launch: what follows from its values ------------------------------------------- */

static int64_t whole(double number) {
    return number >= 0 && number < 9e18 ? (int64_t)number : -1;
}

static int small(double number) {
    return number >= 0 && number < 1000 ? (int)number : -1;
}

static bool shape_from_roles(const double *role, ncu_role first, uint32_t shape[3]) {
    for (int i = 0; i < 3; i++) {
        double size = role[first + i];
        if (!(size >= 1 && size <= UINT32_MAX))
            return false;
        shape[i] = (uint32_t)size;
    }
    return true;
}

static void end_shape(ncu_store *store) {
    group *g = &store->open;
    const double *role = store->role_value;
    g->registers = whole(role[NCU_REGISTERS]);
    g->shared_static = whole(role[NCU_SHARED_STATIC]);
    g->shared_dynamic = whole(role[NCU_SHARED_DYNAMIC]);
    if (!g->has_shape)
        g->has_shape = shape_from_roles(role, NCU_GRID_X, g->grid) &&
                       shape_from_roles(role, NCU_BLOCK_X, g->block);
}

/* Old exports have no duration: elapsed cycles at their own rate are it (the method of NERSC). */
static void end_time(ncu_store *store) {
    const double *role = store->role_value;
    static const ncu_role direct[] = {NCU_TIME, NCU_TIME_AVG, NCU_TIME_RANGE};
    static const ncu_role cycles[][2] = {{NCU_SM_CYCLES, NCU_SM_CLOCK},
                                         {NCU_GPC_CYCLES, NCU_GPC_CLOCK}};
    double time = NAN;
    for (size_t i = 0; i < 3 && isnan(time); i++)
        time = role[direct[i]];
    for (size_t i = 0; i < 2 && isnan(time); i++)
        if (role[cycles[i][1]] > 0)
            time = role[cycles[i][0]] / role[cycles[i][1]];
    store->open.time_s = time;
}

/* Elapsed cycles of one unit of M's clock. *ESTIMATED: by way of the duration, which is rounded. */
static double elapsed_cycles(ncu_store *store, const ncu_metric *m, bool *estimated) {
    const value *avg = open_value(store, m->clock_avg);
    *estimated = false;
    if (avg)
        return avg->value;
    const value *sum = open_value(store, m->clock_sum);
    double sms = store->role_value[NCU_DEVICE_SMS];
    if (sum && m->per_sm > 0 && sms > 0)
        return sum->value / (sms * m->per_sm);
    const value *rate = open_value(store, m->clock_rate);
    *estimated = true;
    return rate ? rate->value * store->open.time_s : NAN;
}

/* The count behind a value per cycle. Doubles give it to the last digit, so the nearest whole
 * number is the count; numbers that were printed give it only as far as their digits reach. */
static void recover_count(ncu_store *store, size_t slot) {
    value given = store->open.values[slot];
    const ncu_metric m =
        store->metrics.items[given.metric]; /* copied: append_value may move neither */
    if (open_value(store, m.count))
        return;
    bool estimated;
    double cycles = elapsed_cycles(store, &m, &estimated);
    if (!(cycles > 0))
        return;
    double count = given.value / m.factor * cycles, nearest = rint(count);
    double bound = given.bound / m.factor * cycles;
    rp_provenance provenance = RP_ESTIMATED;
    if (!estimated && bound < 0.4 && fabs(count - nearest) <= bound + 1e-6 * fabs(count)) {
        count = nearest;
        provenance = RP_IMPORTED;
        store->recovered++;
    } else if (bound <= 0.01 * fabs(count) || given.bound <= NEGLIGIBLE_PER_CYCLE) {
        store->estimated++;
    } else {
        store->open.values[slot].dropped = true;
        store->unrecoverable++;
        snprintf(store->unrecoverable_example, sizeof store->unrecoverable_example, "%s", m.name);
        return;
    }
    if (store->metrics.items[m.count].unit[0] == 0)
        strcpy(store->metrics.items[m.count].unit, "inst");
    append_value(store, m.count, count, 0, provenance, false);
}

static void recover_counts(ncu_store *store) {
    size_t given = store->open.count; /* those added here are counts already */
    for (size_t i = 0; i < given; i++)
        if (store->metrics.items[store->open.values[i].metric].count != NCU_NO_METRIC)
            recover_count(store, i);
}

static rp_code end_device(ncu_store *store, rp_error *error) {
    const double *role = store->role_value;
    rp_device_record *d = &store->device;
    if (d->ordinal < 0)
        d->ordinal = whole(role[NCU_DEVICE_ORDINAL]);
    if (d->cc_major < 0) {
        d->cc_major = small(role[NCU_DEVICE_CC_MAJOR]);
        d->cc_minor = small(role[NCU_DEVICE_CC_MINOR]);
    }
    d->sm_count = whole(role[NCU_DEVICE_SMS]);
    d->memory_bytes = whole(role[NCU_DEVICE_MEMORY]);
    d->l2_bytes = whole(role[NCU_DEVICE_L2]);
    d->memory_bus_bits = whole(role[NCU_DEVICE_BUS]);
    d->sm_clock_hz = role[NCU_DEVICE_CLOCK] > 0 ? role[NCU_DEVICE_CLOCK] * 1e3 : NAN;
    d->memory_clock_hz =
        role[NCU_DEVICE_MEMORY_CLOCK] > 0 ? role[NCU_DEVICE_MEMORY_CLOCK] * 1e3 : NAN;
    int64_t pci = whole(role[NCU_DEVICE_PCI]);
    if (pci > 0 && pci <= UINT32_MAX)
        snprintf(store->pci_id, sizeof store->pci_id, "%04x:%04x", (unsigned)(pci & 0xffff),
                 (unsigned)(pci >> 16));
    d->pci_id = store->pci_id[0] ? store->pci_id : NULL;
    d->name = store->device_name[0] ? store->device_name : NULL;

    char key[512];
    int n = snprintf(key, sizeof key, "%lld %d.%d %.255s", (long long)d->ordinal, d->cc_major,
                     d->cc_minor, store->device_name);
    bool added;
    int64_t *at = rp_map_put(&store->device_names, key, (size_t)n, &added);
    if (!at)
        return no_memory(store, error);
    if (added) {
        int64_t id;
        rp_code code = rp_capture_add_device(store->capture, d, &id, error);
        if (code)
            return code;
        *at = id;
    }
    store->open.device = *at;
    return RP_OK;
}

/* ---- Writing --------------------------------------------------------------------------------- */

static rp_code write_values(ncu_store *store, const group *g, int64_t launch, const ncu_set *known,
                            rp_error *error) {
    for (size_t i = 0; i < g->count; i++) {
        const value *v = &g->values[i];
        ncu_metric *m = &store->metrics.items[v->metric];
        bool repeated = known && ncu_set_has(known, v->metric);
        store->repeated += repeated;
        if (v->dropped || repeated)
            continue;
        rp_code code = RP_OK;
        if (m->id < 0)
            code = rp_capture_metric(store->capture, m->name, m->unit, &m->id, error);
        if (!code)
            code = rp_capture_add_counter(store->capture, launch, m->id, v->value,
                                          (rp_provenance)v->provenance, error);
        if (code)
            return code;
    }
    return RP_OK;
}

static rp_code write_launch(ncu_store *store, const group *g, int64_t *launch, rp_error *error) {
    rp_config_record config = {.name = store->kernels[g->kernel],
                               .name_length = store->kernel_lengths[g->kernel],
                               .has_shape = g->has_shape,
                               .registers = g->registers,
                               .shared_static = g->shared_static,
                               .shared_dynamic = g->shared_dynamic};
    memcpy(config.grid, g->grid, sizeof config.grid);
    memcpy(config.block, g->block, sizeof config.block);
    rp_launch_record record = RP_LAUNCH_RECORD_INIT;
    rp_code code = rp_capture_add_config(store->capture, &config, &record.config, error);
    if (code)
        return code;
    record.device = g->device;
    record.process = store->processes[g->process].id;
    record.context = g->context;
    record.stream = g->stream;
    record.range = g->range;
    record.index = g->number;
    record.time_s = g->time_s;
    record.time_provenance = isnan(g->time_s) ? RP_ABSENT : RP_IMPORTED;
    if ((code = rp_capture_add_launch(store->capture, &record, launch, error)))
        return code;
    return write_values(store, g, *launch, NULL, error);
}

static rp_code write_held(ncu_store *store, rp_error *error) {
    for (size_t i = 0; i < store->entry_count; i++) {
        entry *e = &store->entries[i];
        if (e->launch >= 0)
            continue;
        group *g = &store->held[e->held];
        rp_code code = write_launch(store, g, &e->launch, error);
        if (code)
            return code;
        free(g->values);
        g->values = NULL;
    }
    store->held_count = store->held_values = 0;
    return RP_OK;
}

/* Keeps a copy of the open launch, of which E is the entry, until its duration is known. */
static rp_code hold(ncu_store *store, entry *e, rp_error *error) {
    const group *g = &store->open;
    if (!RP_ARRAY_ROOM(store->held, store->held_capacity, store->held_count))
        return no_memory(store, error);
    group copy = *g;
    copy.capacity = g->count;
    copy.values = malloc((g->count ? g->count : 1) * sizeof *copy.values);
    if (!copy.values)
        return no_memory(store, error);
    if (g->count > 0)
        memcpy(copy.values, g->values, g->count * sizeof *copy.values);
    e->launch = -1;
    e->held = store->held_count;
    store->held[store->held_count++] = copy;
    store->held_values += g->count;
    return store->held_values > HELD_MAX ? write_held(store, error) : RP_OK;
}

static uint64_t shape_key(const group *g) {
    if (!g->has_shape)
        return 0;
    uint64_t key = 1469598103934665603u;
    for (int i = 0; i < 3; i++)
        key = ((key ^ g->grid[i]) * 1099511628211u ^ g->block[i]) * 1099511628211u;
    return key | 1;
}

static bool same_kernel(const entry *e, const group *g) {
    uint64_t shape = shape_key(g);
    return e->kernel == g->kernel && (e->shape == 0 || shape == 0 || e->shape == shape);
}

/* Adds the open launch's values to a launch that waits, but for those in KNOWN. */
static rp_code add_to_held(ncu_store *store, group *held, const ncu_set *known, rp_error *error) {
    const group *g = &store->open;
    for (size_t i = 0; i < g->count; i++) {
        bool repeated = ncu_set_has(known, g->values[i].metric);
        store->repeated += repeated;
        if (g->values[i].dropped || repeated)
            continue;
        if (!RP_ARRAY_ROOM(held->values, held->capacity, held->count))
            return no_memory(store, error);
        held->values[held->count++] = g->values[i];
        store->held_values++;
    }
    return RP_OK;
}

/* The open launch has the duration that the launch of E waits for: writes the latter. */
static rp_code release(ncu_store *store, entry *e, rp_error *error) {
    const group *g = &store->open;
    group *held = &store->held[e->held];
    held->time_s = g->time_s;
    if (!held->has_shape && g->has_shape) {
        held->has_shape = true;
        memcpy(held->grid, g->grid, sizeof held->grid);
        memcpy(held->block, g->block, sizeof held->block);
    }
    rp_code code = write_launch(store, held, &e->launch, error);
    if (code)
        return code;
    e->has_time = true;
    store->held_values -= held->count;
    free(held->values);
    held->values = NULL;
    held->count = held->capacity = 0;
    return RP_OK;
}

/* Adds the open launch's values to the launch of E, whether it is written or waits. */
static rp_code add_to_entry(ncu_store *store, entry *e, rp_error *error) {
    const group *g = &store->open;
    size_t together = set_of(store, g, e->set);
    if (together == NCU_NO_SET)
        return no_memory(store, error);
    const ncu_set known = *set_at(store, e->set); /* as it was: its words live on */
    e->set = (uint32_t)together;
    bool timed = !isnan(g->time_s);
    if (e->launch < 0 && !timed)
        return add_to_held(store, &store->held[e->held], &known, error);
    if (e->launch < 0) {
        rp_code code = release(store, e, error);
        if (code)
            return code;
    } else if (timed && !e->has_time) {
        store->times_late++;
    }
    return write_values(store, g, e->launch, &known, error);
}

/* ---- Two runs -------------------------------------------------------------------------------- */

static entry *entry_find(ncu_store *store, size_t process_index, int64_t number) {
    int64_t key[2] = {(int64_t)process_index, number};
    int64_t index = rp_map_get(&store->entry_keys, key, sizeof key);
    return index >= 0 ? &store->entries[index] : NULL;
}

/* Whether the open launch is the launch of E seen in another run, with other counters. */
static bool is_twin(ncu_store *store, const entry *e, size_t open_set) {
    return e && same_kernel(e, &store->open) &&
           sets_complement(store, set_at(store, e->set), set_at(store, open_set));
}

/* The entry of another run's launch that the open one completes; NULL if there is none. The other
 * run is settled by a process' first launch. */
static entry *twin_entry(ncu_store *store, size_t open_set) {
    process *p = &store->processes[store->open.process];
    int64_t number = store->open.number;
    if (p->twin == TWIN_UNDECIDED) {
        p->twin = NO_TWIN;
        for (size_t i = 0; i < store->process_count && i < 64 && p->twin == NO_TWIN; i++)
            if (i != store->open.process && store->processes[i].twin < 0 &&
                is_twin(store, entry_find(store, i, number), open_set))
                p->twin = (int64_t)i;
    }
    if (p->twin < 0)
        return NULL;
    entry *e = entry_find(store, (size_t)p->twin, number);
    bool joined = is_twin(store, e, open_set);
    p->joined += joined;
    p->alone += !joined;
    return joined ? e : NULL;
}

/* Makes the open launch's key lead to the entry INDEX. */
static rp_code entry_alias(ncu_store *store, size_t index, rp_error *error) {
    int64_t key[2] = {(int64_t)store->open.process, store->open.number};
    int64_t *at = rp_map_put(&store->entry_keys, key, sizeof key, NULL);
    if (!at)
        return no_memory(store, error);
    *at = (int64_t)index;
    return RP_OK;
}

static rp_code entry_add(ncu_store *store, size_t set_number, rp_error *error) {
    const group *g = &store->open;
    if (!RP_ARRAY_ROOM(store->entries, store->entry_capacity, store->entry_count))
        return no_memory(store, error);
    rp_code code = entry_alias(store, store->entry_count, error);
    if (code)
        return code;
    entry *e = &store->entries[store->entry_count++];
    *e = (entry){.launch = 0,
                 .kernel = (uint32_t)g->kernel,
                 .set = (uint32_t)set_number,
                 .shape = shape_key(g),
                 .has_time = !isnan(g->time_s)};
    if (!e->has_time)
        return hold(store, e, error);
    return write_launch(store, g, &e->launch, error);
}

rp_code ncu_store_end(ncu_store *store, rp_error *error) {
    if (!store->is_open)
        return RP_OK;
    store->is_open = false;
    if (store->no_memory)
        return no_memory(store, error);
    group *g = &store->open;
    end_shape(store);
    end_time(store);
    if (g->time_s <= 0) { /* no kernel takes no time: the clock failed, and its rates with it */
        store->invalid++;
        rp_capture_count_invalid(store->capture, 1);
        return RP_OK;
    }
    recover_counts(store);
    if (store->no_memory)
        return no_memory(store, error);
    rp_code code = end_device(store, error);
    if (code)
        return code;
    size_t set_number = set_of(store, g, NCU_NO_SET);
    if (set_number == NCU_NO_SET)
        return no_memory(store, error);
    entry *e = entry_find(store, g->process, g->number);
    if (e && same_kernel(e, g)) {
        store->launches--; /* seen before */
        return add_to_entry(store, e, error);
    }
    if ((e = twin_entry(store, set_number))) {
        store->launches--;
        code = entry_alias(store, (size_t)(e - store->entries), error);
        return code ? code : add_to_entry(store, e, error);
    }
    return entry_add(store, set_number, error);
}

/* ---- The whole file -------------------------------------------------------------------------- */

rp_code ncu_store_open(ncu_store **store, rp_capture *capture, const char *path, rp_error *error) {
    ncu_store *s = calloc(1, sizeof *s);
    if (!s)
        return rp_fail(error, RP_INTERNAL, "%s: out of memory", path);
    s->capture = capture;
    s->path = path;
    s->metrics.path = path;
    *store = s;
    return RP_OK;
}

void ncu_store_close(ncu_store *store) {
    if (!store)
        return;
    ncu_metrics_free(&store->metrics);
    for (size_t i = 0; i < store->kernel_count; i++)
        free(store->kernels[i]);
    for (size_t i = 0; i < store->held_count; i++)
        free(store->held[i].values);
    rp_map *maps[] = {&store->kernel_names, &store->process_names, &store->device_names,
                      &store->entry_keys};
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
        rp_map_free(maps[i]);
    free(store->kernels);
    free(store->kernel_lengths);
    free(store->processes);
    free(store->entries);
    ncu_sets_free(&store->sets);
    free(store->held);
    free(store->open.values);
    free(store);
}

static rp_code note_runs(ncu_store *store, rp_error *error) {
    rp_code code = RP_OK;
    for (size_t i = 0; i < store->process_count && !code; i++) {
        const process *p = &store->processes[i];
        if (p->twin < 0)
            continue;
        code = rp_capture_add_note(
            store->capture, p->alone ? "warning" : "info", error,
            "%s holds two runs of the same launches, process %lld and process %lld, with different "
            "metrics: they were joined by launch number (%llu launches, %llu without a match)",
            store->path, (long long)store->processes[p->twin].pid, (long long)p->pid,
            (unsigned long long)p->joined, (unsigned long long)p->alone);
    }
    return code;
}

static rp_code note_numbers(ncu_store *store, rp_error *error) {
    rp_code code = RP_OK;
    if (store->recovered)
        code = rp_capture_add_note(store->capture, "info", error,
                                   "%s: %llu counts were recovered from values per cycle times the "
                                   "elapsed cycles (the report has no sums of them)",
                                   store->path, (unsigned long long)store->recovered);
    if (!code && store->estimated)
        code =
            rp_capture_add_note(store->capture, "warning", error,
                                "%s: %llu counts come from rounded values per cycle: good to 1 %% "
                                "and marked as estimated; the .ncu-rep file has them exactly",
                                store->path, (unsigned long long)store->estimated);
    if (!code && store->unrecoverable)
        code = rp_capture_add_note(
            store->capture, "warning", error,
            "%s: %llu values per cycle were rounded too far to tell the count behind them (such as "
            "%s): these counts are not known; import the .ncu-rep file, or collect the .sum "
            "metrics",
            store->path, (unsigned long long)store->unrecoverable, store->unrecoverable_example);
    if (!code && store->unscaled)
        code = rp_capture_add_note(store->capture, "warning", error,
                                   "%s: %llu %s left out because the scale of the unit is not "
                                   "known (such as %s); export with "
                                   "--print-units base",
                                   store->path, (unsigned long long)store->unscaled,
                                   rp_plural(store->unscaled, "value was", "values were"),
                                   store->metrics.unscaled_example);
    if (!code && store->unreadable)
        code = rp_capture_add_note(
            store->capture, "warning", error,
            "%s: %llu %s (such as \"%s\"), in columns of numbers, and count "
            "as not known",
            store->path, (unsigned long long)store->unreadable,
            rp_plural(store->unreadable, "cell holds no number", "cells hold no number"),
            store->unreadable_example);
    if (!code && store->missing)
        code = rp_capture_add_note(store->capture, "warning", error,
                                   "%s: %llu %s n/a (the metric does not exist on this device, or "
                                   "could not be collected): not "
                                   "known, which is no zero",
                                   store->path, (unsigned long long)store->missing,
                                   rp_plural(store->missing, "value is", "values are"));
    return code;
}

static rp_code note_launches(ncu_store *store, rp_error *error) {
    rp_code code = RP_OK;
    if (store->invalid)
        code = rp_capture_add_note(store->capture, "warning", error,
                                   "%s: %llu %s with a duration of zero or less left out",
                                   store->path, (unsigned long long)store->invalid,
                                   rp_plural(store->invalid, "launch", "launches"));
    if (!code && store->repeated)
        code =
            rp_capture_add_note(store->capture, "info", error,
                                "%s gives %llu %s twice for the same launch (process and ID): the "
                                "first of each was kept",
                                store->path, (unsigned long long)store->repeated,
                                rp_plural(store->repeated, "value", "values"));
    if (!code && store->times_late)
        code = rp_capture_add_note(store->capture, "warning", error,
                                   "%s: durations of %llu %s came too late in the file to be "
                                   "used; import the two runs as two files, times first",
                                   store->path, (unsigned long long)store->times_late,
                                   rp_plural(store->times_late, "launch", "launches"));
    return code;
}

rp_code ncu_store_finish(ncu_store *store, const char *why, rp_error *error) {
    rp_code code = ncu_store_end(store, error);
    if (code)
        return code;
    if (store->launches > 0 && store->values == 0)
        return rp_fail(error, RP_INPUT,
                       "%s: %llu launches, but not one number: all %llu values are n/a%s%s. Usual "
                       "causes: no permission to read the counters, or metric names that this "
                       "device does not have",
                       store->path, (unsigned long long)store->launches,
                       (unsigned long long)(store->missing + store->texts + store->unscaled),
                       why ? ". " : "", why ? why : "");
    if (store->launches > 0 && store->invalid == store->launches)
        return rp_fail(error, RP_INPUT, "%s: every launch has a duration of zero or less",
                       store->path);
    if ((code = write_held(store, error)) || (code = note_runs(store, error)) ||
        (code = note_numbers(store, error)))
        return code;
    return note_launches(store, error);
}
