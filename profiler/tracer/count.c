/* SPDX-License-Identifier: Apache-2.0
 *
 * Counting launches: see count.h.
 */
#include "tracer/count.h"
#include "tracer/activity.h"
#include "tracer/plan.h"
#include "tracer/writer.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    CONTEXTS = 64,
    WAIT_S = 2,           /* for another thread's window */
    GRACE_NS = 500000000, /* counting may cost this much of however short a run */
    IDLE_NS = 1000000000, /* an open window without launches is closed after that */
    PEAKS_WRITTEN = 3,    /* peaks do not change: these many times, for each configuration */
    METRICS_MOST = 256,
    GRAPH_KERNELS_MOST = 4096 /* each is a range of one image */
};

/* What an entry hands to its exit. */
enum { HOLDS_NOTHING, HOLDS_SHARED = 0x526F01, HOLDS_COUNTED = 0x526F02, HOLDS_GRAPH = 0x526F03 };

/* Who may stop a window: whoever takes it from OPEN. STUCK: the watchdog is at it, and until it has
 * come back CUPTI's object must stay. */
enum { WINDOW_CLOSED, WINDOW_OPEN, WINDOW_TAKEN, WINDOW_STUCK };

/* What counting adds to the launches of one config: they are waited for, and some run instrumented.
 * Told only once hardware counters have said how long the kernel itself takes. */
typedef struct held_time {
    int64_t held_ns; /* from the launch to its return, of launches that are not settled yet */
    uint32_t held;
    double kernel_ns; /* 0: not known yet */
} held_time;

/* A kernel that runs in the window. */
typedef struct pending {
    spool_counters record;
    uint64_t node; /* of a graph; 0 */
    bool wanted;
} pending;

/* What is launched at once: a kernel or a graph. */
typedef struct unit {
    uint32_t config;              /* of a kernel; SPOOL_NONE */
    const graph_kernels *kernels; /* of a graph; NULL */
    launch_key *graph_key;
    uint32_t correlation;
} unit;

typedef struct counted {
    counted_context context;
    schedule schedule;
    configuration configurations[CONFIGURATIONS];
} counted;

static struct {
    const cupti_api *api;
    const host_api *host;
    const tracer_settings *settings;
    bool together; /* kernels may be traced while launches are counted */
    atomic_bool on;
    pthread_rwlock_t gate;
    counted *plans[CONTEXTS]; /* changed under the gate, for writing */

    /* The window: touched by who holds the gate for writing; its state by the watchdog as well. */
    atomic_int state;
    counted *window;
    int current; /* configuration of the window, or the last one */
    pending *pending;
    size_t pending_count, pending_room;
    launch_key *graph_key;      /* of the graph that the window is for; NULL: for kernels */
    _Atomic int64_t entered_ns; /* a launch is being counted since; 0: none */
    int64_t launched_ns;        /* that launch went on to the driver then */
    uint32_t launched;          /* its config */
    int64_t idle_since_ns;

    pthread_mutex_t lock; /* of what follows */
    launch_key *keys;     /* by config */
    held_time *held;      /* the same */
    size_t key_room;
    spool_counted totals;
    int64_t first_ns;

    /* The devices of all contexts so far, so that no launch needs the gate to know its own. */
    struct {
        _Atomic(void *) context;
        _Atomic uint32_t device;
    } devices[CONTEXTS];
    atomic_bool full; /* more contexts than are followed */
    atomic_int captures;
} c = {.gate = PTHREAD_RWLOCK_INITIALIZER, .lock = PTHREAD_MUTEX_INITIALIZER, .current = -1};

static int64_t now(void) {
    return writer_now(CLOCK_MONOTONIC);
}

/* Counting is over, and the spool says why. From here on all kernels are traced: at once, or when
 * the window that is open has been stopped. */
static void give_up(refusal r) {
    spool_status status = {.stage = SPOOL_STAGE_COUNTERS, .code = (uint32_t)r.result};
    if (!atomic_exchange(&c.on, false))
        return;
    writer_frame(SPOOL_STATUS, &status, sizeof status, r.call, strlen(r.call) + 1);
    if (atomic_load(&c.state) == WINDOW_CLOSED)
        activity_trace_kernels();
}

/* In sampled mode kernels are traced too, but not while a window is open, unless the probe has seen
 * that both go together here. */
static void window_opens(void) {
    if (c.settings->mode == MODE_SAMPLED && !c.together)
        activity_pause_kernels();
}

static void window_closed(void) {
    atomic_store(&c.state, WINDOW_CLOSED);
    if (c.settings->mode == MODE_SAMPLED || !atomic_load(&c.on))
        activity_trace_kernels();
}

static void add_total(uint64_t *total, int64_t n) {
    pthread_mutex_lock(&c.lock);
    *total += (uint64_t)(n > 0 ? n : 0);
    pthread_mutex_unlock(&c.lock);
}

/* ---- The gate -------------------------------------------------------------------------------- */

static struct timespec soon(void) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_sec += WAIT_S;
    return t;
}

static bool enter_alone(void) {
    struct timespec until = soon();
    return pthread_rwlock_trywrlock(&c.gate) == 0 ||
           pthread_rwlock_timedwrlock(&c.gate, &until) == 0;
}

static bool enter_shared(void) {
    struct timespec until = soon();
    return pthread_rwlock_tryrdlock(&c.gate) == 0 ||
           pthread_rwlock_timedrdlock(&c.gate, &until) == 0;
}

static void leave(void) {
    pthread_rwlock_unlock(&c.gate);
}

/* ---- What was counted ------------------------------------------------------------------------ */

/* The metrics that are evaluated this time: all, or all but the peaks. */
static size_t list_metrics(const configuration *f, bool peaks, const char **list) {
    size_t n = 0;
    for (size_t i = 0; i < f->count && n < METRICS_MOST; i++)
        if (peaks || !plan_is_peak(f->metrics[i]))
            list[n++] = f->metrics[i];
    return n;
}

/* The number of the SPOOL_METRICS frame of LIST, written the first time. Under the writer's lock.
 */
static uint32_t metrics_number(configuration *f, bool peaks, const char *const *list, size_t n) {
    static uint32_t next;
    uint32_t *written = &f->written[!peaks];
    if (*written)
        return *written - 1;
    spool_metrics m = {.id = next++, .count = (uint32_t)n, .passes = (uint32_t)f->passes};
    size_t length = strlen(f->profile) + 1, at = 0;
    for (size_t i = 0; i < n; i++)
        length += strlen(list[i]) + 1;
    char *names = malloc(length);
    if (names) {
        at = (size_t)sprintf(names, "%s", f->profile) + 1;
        for (size_t i = 0; i < n; i++)
            at += (size_t)sprintf(names + at, "%s", list[i]) + 1;
        writer_frame(SPOOL_METRICS, &m, sizeof m, names, at);
    }
    free(names);
    *written = m.id + 1;
    return m.id;
}

/* The tensor pipe's warp instructions, less the half-precision FMAs that some chips run on it. */
static tensor_use tensor_use_of(const char *const *list, size_t n, const double *values) {
    double pipe = NAN, halves = 0;
    for (size_t i = 0; i < n; i++)
        if (!strcmp(list[i], "sm__inst_executed_pipe_tensor.sum"))
            pipe = values[i];
        else if (!strcmp(list[i], "sm__inst_executed_pipe_tensor_op_hmma_type_hfma2.sum"))
            halves = values[i];
    return isnan(pipe) ? TENSOR_UNKNOWN : pipe - halves > 0 ? TENSOR_ACTIVE : TENSOR_IDLE;
}

/* NaN: not among them. */
static double duration_of(const char *const *list, size_t n, const double *values) {
    for (size_t i = 0; i < n; i++)
        if (!strcmp(list[i], "gpu__time_duration.sum"))
            return values[i];
    return NAN;
}

/* Under the lock. KERNEL_NS: what this kernel takes, if that is known now. */
static void settle(held_time *h, double kernel_ns) {
    if (kernel_ns > 0)
        h->kernel_ns = kernel_ns;
    double added = (double)h->held_ns - h->held * h->kernel_ns;
    if (!(h->kernel_ns > 0))
        return;
    c.totals.cost_ns += (uint64_t)(added > 0 ? added : 0);
    h->held_ns = 0;
    h->held = 0;
}

/* A counted launch has returned. */
static void add_held(void) {
    pthread_mutex_lock(&c.lock);
    if (c.launched < c.key_room && !c.settings->virtual_clock) {
        c.held[c.launched].held_ns += now() - c.launched_ns;
        c.held[c.launched].held++;
    }
    pthread_mutex_unlock(&c.lock);
}

static void write_values(configuration *f, const pending *launch, bool peaks,
                         const char *const *list, size_t n, const double *values) {
    spool_node_counters record = {launch->record, launch->node};
    writer_lock();
    record.counters.metrics = metrics_number(f, peaks, list, n);
    if (launch->node)
        writer_frame(SPOOL_NODE_COUNTERS, &record, sizeof record, values, n * sizeof *values);
    else
        writer_frame(SPOOL_COUNTERS, &record.counters, sizeof record.counters, values,
                     n * sizeof *values);
    writer_unlock();
}

/* What a kernel of a graph shows of the tensor cores holds for the graph: one that is active is
 * enough. */
static void note_tensor(uint32_t config, tensor_use use) {
    launch_key *graph = c.graph_key;
    if (use != TENSOR_UNKNOWN && config < c.key_room)
        c.keys[config].tensor = (uint8_t)use;
    if (graph && (use == TENSOR_ACTIVE || (use == TENSOR_IDLE && graph->tensor == TENSOR_UNKNOWN)))
        graph->tensor = (uint8_t)use;
}

static refusal keep_values(configuration *f, size_t i) {
    const char *list[METRICS_MOST];
    double values[METRICS_MOST];
    if (!c.pending[i].wanted) /* of a graph: by its name */
        return (refusal){NULL, CUPTI_OK};
    bool peaks = f->evaluations++ < PEAKS_WRITTEN;
    size_t n = list_metrics(f, peaks, list);
    refusal r = range_evaluate(c.host, f, i, list, n, values);
    if (r.result)
        return r;
    write_values(f, &c.pending[i], peaks, list, n, values);
    uint32_t config = c.pending[i].record.config;
    pthread_mutex_lock(&c.lock);
    c.totals.counted++;
    if (config < c.key_room)
        settle(&c.held[config], duration_of(list, n, values));
    note_tensor(config, tensor_use_of(list, n, values));
    pthread_mutex_unlock(&c.lock);
    return r;
}

static void free_plan(counted *p) {
    for (int i = 0; i < p->schedule.count; i++)
        configuration_free(c.host, &p->configurations[i]);
    range_detach(c.api, &p->context);
    free(p);
}

static void drop_plan(int i) {
    if (!c.plans[i] || atomic_load(&c.state) == WINDOW_STUCK)
        return;
    c.window = c.window == c.plans[i] ? NULL : c.window;
    free_plan(c.plans[i]);
    c.plans[i] = NULL;
    atomic_store(&c.devices[i].context, NULL);
}

/* The same while the gate is held for writing: CUPTI's counters go back to whoever else wants them.
 * No plan is valid any more. */
static void give_up_all(refusal r) {
    give_up(r);
    for (int i = 0; i < CONTEXTS; i++)
        drop_plan(i);
}

/* ---- Windows (the gate is held for writing) -------------------------------------------------- */

/* A launch without values is a launch all the same. */
static void write_launch(const pending *launch) {
    static configuration none = {.profile = "NONE", .passes = 1};
    if (launch->wanted)
        write_values(&none, launch, true, NULL, 0, NULL);
}

/* Launches that ran in a window and have no values. */
static void write_without_values(const pending *launches, size_t n) {
    for (size_t i = 0; i < n; i++)
        write_launch(&launches[i]);
    add_total(&c.totals.lost, (int64_t)n);
}

static void close_window(void) {
    int open = WINDOW_OPEN;
    size_t ranges, dropped, expected = c.pending_count;
    c.pending_count = 0;
    if (!atomic_compare_exchange_strong(&c.state, &open, WINDOW_TAKEN)) {
        write_without_values(c.pending, expected); /* the watchdog ended it; 0: none is open */
        return;
    }
    int64_t began = now();
    configuration *f = &c.window->configurations[c.current];
    refusal r = range_stop_and_decode(c.api, &c.window->context, f, &ranges, &dropped);
    window_closed();
    size_t kept = 0;
    while (ranges == expected && !dropped && !r.result && kept < expected)
        if (!(r = keep_values(f, kept)).result)
            kept++;
    write_without_values(c.pending + kept, expected - kept);
    if (c.graph_key && !r.result && ranges != expected)
        c.graph_key->refused = true;
    add_total(&c.totals.cost_ns, now() - began);
    if (r.result)
        give_up_all(r);
}

/* Peaks are free on every chip that is known; if they are not on this one, they are left out. */
static void drop_peaks(configuration *f) {
    size_t kept = 0;
    for (size_t i = 0; i < f->count; i++)
        if (!plan_is_peak(f->metrics[i]))
            f->metrics[kept++] = f->metrics[i];
    f->count = kept;
}

static void say_left_out(const configuration *f) {
    spool_status status = {.stage = SPOOL_STAGE_LEFT_OUT};
    char text[128];
    int length = snprintf(text, sizeof text, "%.40s, which takes %zu passes on this device",
                          f->profile, f->passes);
    writer_frame(SPOOL_STATUS, &status, sizeof status, text, (size_t)length + 1);
}

/* False: it cannot be used, and counting goes on without it, or not at all. */
static bool build(counted *p, int which) {
    configuration *f = &p->configurations[which];
    refusal r = configuration_build(c.api, c.host, &p->context, f);
    bool one_pass = c.settings->mode != MODE_REPLAY;
    if (!r.result && one_pass && f->passes > 1) {
        drop_peaks(f);
        configuration_clear(c.host, f);
        r = configuration_build(c.api, c.host, &p->context, f);
    }
    if (r.result) {
        give_up_all(r);
        return false;
    }
    bool tells = p->schedule.roles[which] != ROLE_TENSOR || plan_counts_tensor(f);
    if (tells && (!one_pass || f->passes == 1))
        return true;
    p->schedule.roles[which] = ROLE_NONE; /* it would run the kernel twice, or tell nothing new */
    if (tells)
        say_left_out(f);
    return false;
}

/* RANGES: how many it will have at most. A graph's kernels cannot wait for another run of the
 * program: they are counted by kernel replay, which replays nothing where one pass is enough. */
static bool open_window(counted *p, int which, size_t ranges, launch_key *graph_key) {
    bool by_program = c.settings->mode == MODE_RERUN && !graph_key;
    configuration *f = &p->configurations[which];
    int64_t began = now();
    bool another = c.window != p || c.current != which;
    if (!f->built && !build(p, which))
        return false;
    int64_t built = now();
    refusal r = configuration_make_room(c.api, &p->context, f, ranges);
    window_opens();
    if (!r.result)
        r = range_start(c.api, &p->context, f, by_program ? REPLAY_APPLICATION : REPLAY_KERNEL);
    if (r.result) {
        window_closed();
        give_up_all(r);
        return false;
    }
    c.window = p;
    c.current = which;
    c.pending_count = 0;
    c.graph_key = graph_key;
    atomic_store(&c.state, WINDOW_OPEN);
    pthread_mutex_lock(&c.lock);
    c.totals.cost_ns += (uint64_t)(now() - began);
    c.totals.switches += another;
    c.totals.switch_ns += another ? (uint64_t)(now() - built) : 0;
    pthread_mutex_unlock(&c.lock);
    return true;
}

/* ---- Which ----------------------------------------------------------------------------------- */

static counted *plan_of(const void *context) {
    for (int i = 0; i < CONTEXTS; i++)
        if (c.plans[i] && c.plans[i]->context.context == context)
            return c.plans[i];
    return NULL;
}

static launch_key *key_of(uint32_t config) {
    if (config >= c.key_room) {
        size_t room = (size_t)config + 256;
        launch_key *grown = realloc(c.keys, room * sizeof *grown);
        c.keys = grown ? grown : c.keys;
        held_time *held = realloc(c.held, room * sizeof *held);
        c.held = held ? held : c.held;
        if (!grown || !held)
            return NULL;
        memset(grown + c.key_room, 0, (room - c.key_room) * sizeof *grown);
        memset(held + c.key_room, 0, (room - c.key_room) * sizeof *held);
        c.key_room = room;
    }
    return &c.keys[config];
}

/* Counting has cost more than it may by now. */
static bool over_budget(void) {
    double budget = c.settings->budget;
    double allowed = budget * (double)(now() - c.first_ns);
    return budget > 0 && (double)c.totals.cost_ns > (allowed > GRACE_NS ? allowed : GRACE_NS);
}

static launch_key *unit_key(const unit *u) {
    return u->graph_key ? u->graph_key : key_of(u->config);
}

static int choose(const counted *p, const unit *u) {
    int which = -1;
    pthread_mutex_lock(&c.lock);
    launch_key *key = unit_key(u);
    if (!c.first_ns)
        c.first_ns = now();
    int current = c.window == p ? c.current : -1;
    if (key && over_budget()) {
        launch_key as_if = *key; /* whether it would have been counted */
        c.totals.over_budget += schedule_choose(&p->schedule, &as_if, current) >= 0;
        key->launches++;
    } else if (key) {
        which = schedule_choose(&p->schedule, key, current);
    }
    pthread_mutex_unlock(&c.lock);
    return which;
}

static bool waits_for_values(const counted *p, const unit *u) {
    pthread_mutex_lock(&c.lock);
    const launch_key *key = unit_key(u);
    bool waits = key && schedule_waits(&p->schedule, key);
    pthread_mutex_unlock(&c.lock);
    return waits;
}

/* ---- Launches -------------------------------------------------------------------------------- */

static uint64_t hold_shared(void) {
    return enter_shared() ? HOLDS_SHARED : HOLDS_NOTHING;
}

static pending launch_of(uint32_t config, uint32_t correlation) {
    return (pending){.record = {.config = config,
                                .correlation = correlation,
                                .stream = SPOOL_NONE,
                                .time_ns = (uint64_t)now()},
                     .wanted = config != SPOOL_NONE};
}

static pending launch_of_node(const graph_kernel *k, uint32_t correlation) {
    pending launch = launch_of(k->config, correlation);
    launch.node = k->node;
    launch.wanted = launch.wanted && k->wanted;
    return launch;
}

/* Kernels are not traced where every launch is counted: what is not counted there leaves no other
 * sign. */
static void note_untouched(const unit *u) {
    if (c.settings->mode == MODE_SAMPLED || !atomic_load(&c.on))
        return;
    pending launch = launch_of(u->config, u->correlation);
    if (!u->kernels)
        write_launch(&launch);
    for (size_t i = 0; u->kernels && i < u->kernels->count; i++) {
        launch = launch_of_node(&u->kernels->at[i], u->correlation);
        if (u->kernels->at[i].enabled && launch.node)
            write_launch(&launch);
    }
}

/* A window may be open over several launches; one that is not counted ends it. */
uint64_t count_enter_untouched(void) {
    if (!atomic_load(&c.on))
        return HOLDS_NOTHING;
    if (atomic_load(&c.state) == WINDOW_OPEN) {
        if (!enter_alone())
            return HOLDS_NOTHING;
        close_window();
        leave();
    }
    return hold_shared();
}

uint64_t count_enter_skipped(uint32_t config, uint32_t correlation) {
    if (atomic_load(&c.on))
        add_total(&c.totals.skipped, 1);
    note_untouched(&(unit){.config = config, .correlation = correlation});
    return count_enter_untouched();
}

static size_t ranges_of(const unit *u) {
    size_t n = u->kernels ? 0 : 1;
    for (size_t i = 0; u->kernels && i < u->kernels->count; i++)
        n += u->kernels->at[i].enabled;
    return n;
}

static bool make_pending_room(size_t n) {
    size_t room = n > RANGE_BATCH ? n : RANGE_BATCH;
    if (room <= c.pending_room)
        return true;
    pending *grown = realloc(c.pending, room * sizeof *grown);
    if (!grown)
        return false;
    c.pending = grown;
    c.pending_room = room;
    return true;
}

static void add_pending(const unit *u) {
    if (!u->kernels)
        c.pending[c.pending_count++] = launch_of(u->config, u->correlation);
    for (size_t i = 0; u->kernels && i < u->kernels->count; i++)
        if (u->kernels->at[i].enabled)
            c.pending[c.pending_count++] = launch_of_node(&u->kernels->at[i], u->correlation);
}

/* A graph has a window of its own. */
static bool open_for(counted *p, int which, const unit *u) {
    bool fits = c.pending_count < RANGE_BATCH && !u->kernels && !c.graph_key;
    if (c.window != p || which != c.current || !fits)
        close_window();
    if (!atomic_load(&c.on)) /* the plan went with the last window */
        return false;
    size_t ranges = ranges_of(u);
    if (which < 0 || !make_pending_room(ranges) ||
        (atomic_load(&c.state) != WINDOW_OPEN && !open_window(p, which, ranges, u->graph_key)))
        return false;
    add_pending(u);
    return true;
}

/* In sampled mode most launches run untouched: the choice is made before anybody has to wait. */
static int choose_early(const void *context, const unit *u, uint64_t *held) {
    int which = -1;
    *held = hold_shared();
    if (*held == HOLDS_NOTHING)
        return -1;
    const counted *p = plan_of(context);
    if (p)
        which = choose(p, u);
    if (which >= 0)
        leave(); /* it must be alone, and comes back for that */
    return which;
}

/* While a stream captures nothing is counted anywhere: it would spoil the capture. */
static bool captures_go_on(void) {
    return atomic_load(&c.captures) > 0;
}

/* The gate is held for writing. */
static bool open_chosen(void *context, int which, const unit *u) {
    bool sampled = c.settings->mode == MODE_SAMPLED;
    counted *p = atomic_load(&c.on) && !captures_go_on() ? plan_of(context) : NULL;
    if (p && !sampled) {
        if (waits_for_values(p, u))
            close_window();
        p = atomic_load(&c.on) ? p : NULL;
        which = p ? choose(p, u) : -1;
    }
    return p && open_for(p, which, u);
}

static uint64_t enter(void *context, const unit *u) {
    bool sampled = c.settings->mode == MODE_SAMPLED;
    uint64_t held = HOLDS_NOTHING;
    if (captures_go_on()) {
        note_untouched(u);
        return hold_shared();
    }
    int which = sampled ? choose_early(context, u, &held) : -1;
    if (sampled && which < 0)
        return held;
    if (!enter_alone()) {
        add_total(&c.totals.busy, 1);
        note_untouched(u);
        return HOLDS_NOTHING;
    }
    atomic_store(&c.entered_ns, now());
    if (open_chosen(context, which, u)) {
        c.launched = u->config;
        c.launched_ns = now();
        return u->kernels ? HOLDS_GRAPH : HOLDS_COUNTED;
    }
    close_window();
    atomic_store(&c.entered_ns, 0);
    leave();
    note_untouched(u);
    return hold_shared();
}

uint64_t count_enter(void *context, uint32_t config, uint32_t correlation) {
    const unit u = {.config = config, .correlation = correlation};
    return atomic_load(&c.on) ? enter(context, &u) : HOLDS_NOTHING;
}

/* Can each of its ranges be given to a kernel? *SKIPPED: one of them must not be counted. */
static bool can_count(const unit *u, bool *skipped) {
    bool ok = u->kernels && u->kernels->known && !u->graph_key->refused;
    *skipped = false;
    for (size_t i = 0; u->kernels && i < u->kernels->count; i++) {
        ok = ok && u->kernels->at[i].node;
        *skipped = *skipped || (u->kernels->at[i].enabled && u->kernels->at[i].skipped);
    }
    return ok && !*skipped && ranges_of(u) <= GRAPH_KERNELS_MOST;
}

uint64_t count_enter_graph(void *context, const graph_kernels *kernels, launch_key *key,
                           uint32_t correlation) {
    const unit u = {
        .config = SPOOL_NONE, .kernels = kernels, .graph_key = key, .correlation = correlation};
    bool skipped, empty = kernels && kernels->known && !ranges_of(&u);
    if (!atomic_load(&c.on))
        return HOLDS_NOTHING;
    if (can_count(&u, &skipped) && !empty)
        return enter(context, &u);
    if (!empty) /* else it launches no kernel */
        add_total(skipped ? &c.totals.skipped : &c.totals.in_graphs, 1);
    note_untouched(&u);
    return count_enter_untouched();
}

void count_exit(uint64_t entered, bool refused) {
    if (entered == HOLDS_COUNTED || entered == HOLDS_GRAPH) {
        if (refused && c.pending_count) /* it has no ranges; a graph has a window of its own */
            c.pending_count = entered == HOLDS_GRAPH ? 0 : c.pending_count - 1;
        if (!atomic_load(&c.on)) /* the watchdog has ended it: what comes next is traced */
            activity_trace_kernels();
        add_held();
        if (c.settings->mode == MODE_SAMPLED || entered == HOLDS_GRAPH ||
            c.pending_count >= RANGE_BATCH || captures_go_on())
            close_window();
        c.idle_since_ns = now();
        atomic_store(&c.entered_ns, 0);
    }
    if (entered == HOLDS_COUNTED || entered == HOLDS_GRAPH || entered == HOLDS_SHARED)
        leave();
}

void count_capture_begins(void) {
    bool alone = atomic_load(&c.on) && enter_alone();
    atomic_fetch_add(&c.captures, 1);
    if (alone) {
        close_window();
        leave();
    }
}

void count_capture_ends(void) {
    int n = atomic_load(&c.captures);
    while (n > 0 && !atomic_compare_exchange_weak(&c.captures, &n, n - 1))
        ;
}

/* ---- Contexts -------------------------------------------------------------------------------- */

static counted *make_plan(void *context) {
    counted *p = calloc(1, sizeof *p);
    refusal r = {"memory", 8};
    if (p)
        r = range_attach(c.api, context, &p->context);
    if (r.result) {
        if (r.result !=
            CUPTI_INVALID_CONTEXT) /* else it is not ready yet: another launch will ask */
            give_up_all(r);
        free(p);
        return NULL;
    }
    if (!plan_make(c.settings, p->context.chip, p->configurations, &p->schedule)) {
        static char text[96];
        bool one = c.settings->mode == MODE_RERUN;
        snprintf(text, sizeof text, "no configuration%s%.30s known for chip %.20s",
                 one ? " " : "s are", one ? c.settings->configuration : "", p->context.chip);
        give_up_all((refusal){text, CUPTI_OK});
        free_plan(p);
        return NULL;
    }
    spool_status status = {
        .stage = SPOOL_STAGE_CHIP, .code = p->context.nvpw != NULL, .detail = p->context.device};
    writer_frame(SPOOL_STATUS, &status, sizeof status, p->context.chip,
                 strlen(p->context.chip) + 1);
    return p;
}

static int place_of(const void *context) {
    for (int i = 0; i < CONTEXTS; i++)
        if (atomic_load(&c.devices[i].context) == context)
            return i;
    return -1;
}

static void add_context(void *context) {
    int64_t began = now();
    int i = 0;
    close_window();
    while (i < CONTEXTS && c.plans[i])
        i++;
    atomic_store(&c.full, i == CONTEXTS);
    if (i < CONTEXTS && (c.plans[i] = make_plan(context))) {
        atomic_store(&c.devices[i].device, c.plans[i]->context.device);
        atomic_store(&c.devices[i].context, context);
    }
    add_total(&c.totals.cost_ns, now() - began);
}

void count_context_seen(void *context) {
    if (!atomic_load(&c.on) || atomic_load(&c.full) || !context || place_of(context) >= 0 ||
        captures_go_on() || !enter_alone())
        return;
    if (atomic_load(&c.on) && place_of(context) < 0 && !captures_go_on()) /* still */
        add_context(context);
    leave();
}

uint32_t count_device(const void *context) {
    int i = place_of(context);
    return i < 0 ? 0 : atomic_load(&c.devices[i].device);
}

void count_context_destroyed(void *context) {
    if (!c.api || !enter_alone())
        return;
    close_window();
    for (int i = 0; i < CONTEXTS; i++)
        if (c.plans[i] && c.plans[i]->context.context == context)
            drop_plan(i);
    leave();
}

/* ---- The watchdog, and the end --------------------------------------------------------------- */

/* On a thread of its own: nobody waits for it if CUPTI does not come back. */
static void *stop_stuck_window(void *window) {
    const counted *p = window;
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    range_break(c.api, &p->context, &p->configurations[c.current]);
    window_closed();
    return NULL;
}

static void watch(void) {
    int64_t entered = atomic_load(&c.entered_ns);
    int open = WINDOW_OPEN;
    pthread_t thread;
    if (!entered || (double)(now() - entered) * 1e-9 < c.settings->watchdog_s)
        return;
    give_up((refusal){"a launch did not return while it was counted, so counting was stopped: the "
                      "kernel may wait for another one or for the host. Leave it out with "
                      "--no-count NAME, or use --mode trace",
                      CUPTI_OK});
    if (atomic_compare_exchange_strong(&c.state, &open, WINDOW_STUCK) &&
        !pthread_create(&thread, NULL, stop_stuck_window, c.window))
        pthread_detach(thread);
}

static void write_totals(void) {
    static spool_counted written;
    pthread_mutex_lock(&c.lock);
    spool_counted totals = c.totals;
    if (memcmp(&totals, &written, sizeof totals)) {
        written = totals;
        totals.elapsed_ns = c.first_ns ? (uint64_t)(now() - c.first_ns) : 0;
        writer_frame(SPOOL_COUNTED, &totals, sizeof totals, NULL, 0);
    }
    pthread_mutex_unlock(&c.lock);
}

void count_tick(void) {
    if (!c.api)
        return;
    if (atomic_load(&c.on))
        watch();
    if (atomic_load(&c.state) == WINDOW_OPEN && !pthread_rwlock_trywrlock(&c.gate)) {
        if (now() - c.idle_since_ns > IDLE_NS)
            close_window();
        leave();
    }
    write_totals();
}

void count_finish(bool driver_is_up) {
    if (!c.api)
        return;
    if (driver_is_up && enter_alone()) {
        close_window();
        for (int i = 0; i < CONTEXTS; i++)
            drop_plan(i);
        leave();
    }
    atomic_store(&c.on, false);
    write_totals();
}

void count_abandon(void) {
    atomic_store(&c.on, false);
}

bool count_on(void) {
    return atomic_load(&c.on);
}

void count_start(const cupti_api *api, const host_api *host, const tracer_settings *settings,
                 bool together) {
    c.api = api;
    c.host = host;
    c.settings = settings;
    c.together = together;
    atomic_store(&c.on, true);
}
