/* SPDX-License-Identifier: Apache-2.0
 *
 * Launch callbacks: see launches.h.
 */
#include "tracer/launches.h"
#include "tracer/count.h"
#include "tracer/graph.h"
#include "tracer/names.h"
#include "tracer/nvtx.h"
#include "tracer/select.h"
#include "tracer/writer.h"

#include <stdatomic.h>
#include <string.h>

static const cupti_api *api;
static cupti_subscriber subscriber;
static bool choosing, counting;
static atomic_bool ranges, ended;
static atomic_int captures; /* streams that record into a graph, forks not counted */

static const uint32_t launch_cbids[] = {CBID_LAUNCH,
                                        CBID_LAUNCH_GRID,
                                        CBID_LAUNCH_GRID_ASYNC,
                                        CBID_LAUNCH_KERNEL,
                                        CBID_LAUNCH_KERNEL_PTSZ,
                                        CBID_LAUNCH_COOPERATIVE,
                                        CBID_LAUNCH_COOPERATIVE_PTSZ,
                                        CBID_LAUNCH_COOPERATIVE_MULTI,
                                        CBID_GRAPH_LAUNCH,
                                        CBID_GRAPH_LAUNCH_PTSZ,
                                        CBID_LAUNCH_KERNEL_EX,
                                        CBID_LAUNCH_KERNEL_EX_PTSZ};
static const uint32_t capture_cbids[] = {
    CBID_BEGIN_CAPTURE,   CBID_BEGIN_CAPTURE_PTSZ,   CBID_BEGIN_CAPTURE_TO_GRAPH,
    CBID_BEGIN_CAPTURE_2, CBID_BEGIN_CAPTURE_2_PTSZ, CBID_BEGIN_CAPTURE_TO_GRAPH_PTSZ,
    CBID_END_CAPTURE,     CBID_END_CAPTURE_PTSZ};

static void enable(int domain, const uint32_t *cbids, size_t n) {
    for (size_t i = 0; i < n; i++) /* one that this version has not is refused: no harm */
        api->EnableCallback(1, subscriber, domain, cbids[i]);
}
#define ENABLE(domain, cbids) enable(domain, cbids, sizeof(cbids) / sizeof(cbids)[0])

void launches_start(const cupti_api *a, cupti_subscriber s, const tracer_settings *settings,
                    bool count) {
    static const uint32_t profiler[] = {CBID_PROFILER_START, CBID_PROFILER_STOP};
    static const uint32_t contexts[] = {RESOURCE_CONTEXT_CREATED,
                                        RESOURCE_CONTEXT_DESTROY_STARTING};
    api = a;
    subscriber = s;
    choosing = settings_choose_launches(settings);
    counting = count;
    if (choosing || counting)
        ENABLE(DOMAIN_DRIVER, launch_cbids);
    if (settings->from_api)
        ENABLE(DOMAIN_DRIVER, profiler);
    if (choosing || counting) {
        graph_start(api, counting);
        enable(DOMAIN_DRIVER, graph_cbids, graph_cbid_count);
        ENABLE(DOMAIN_DRIVER, capture_cbids);
    }
    if (counting) {
        ENABLE(DOMAIN_RESOURCE, contexts);
        enable(DOMAIN_RESOURCE, graph_resource_cbids, graph_resource_cbid_count);
    }
    if (nvtx_in_use())
        launches_ranges_begin();
}

void launches_ranges_begin(void) {
    if (api && !atomic_exchange(&ranges, true) && !choosing && !counting)
        ENABLE(DOMAIN_DRIVER, launch_cbids);
}

void launches_end(void) {
    atomic_store(&ended, true);
}

/* ---- What is launched ------------------------------------------------------------------------ */

static bool is_graph(uint32_t cbid) {
    return cbid == CBID_GRAPH_LAUNCH || cbid == CBID_GRAPH_LAUNCH_PTSZ;
}

/* Fills the shape; false: a kind of launch whose arguments are not read. */
static bool shape_of(uint32_t cbid, const void *arguments, spool_config *config) {
    const launch_arguments *plain = arguments;
    const launch_ex_arguments *ex = arguments;
    if (!arguments)
        return false;
    switch (cbid) {
    case CBID_LAUNCH_KERNEL:
    case CBID_LAUNCH_KERNEL_PTSZ:
    case CBID_LAUNCH_COOPERATIVE:
    case CBID_LAUNCH_COOPERATIVE_PTSZ:
        memcpy(config->grid, plain->grid, sizeof config->grid);
        memcpy(config->block, plain->block, sizeof config->block);
        config->shared_dynamic = plain->shared;
        return true;
    case CBID_LAUNCH_KERNEL_EX:
    case CBID_LAUNCH_KERNEL_EX_PTSZ:
        if (!ex->config)
            return false;
        memcpy(config->grid, ex->config->grid, sizeof config->grid);
        memcpy(config->block, ex->config->block, sizeof config->block);
        config->shared_dynamic = ex->config->shared;
        return true;
    default:
        return false;
    }
}

typedef struct launch {
    uint32_t config; /* SPOOL_NONE: not known */
    bool wanted, skipped;
} launch;

/* What a launch call tells; its record, which comes later, knows registers and static memory. */
static launch look_at(uint32_t cbid, const callback_data *d) {
    spool_config config = {.context = d->context_uid,
                           .shared_static = SPOOL_NONE,
                           .local_per_thread = SPOOL_NONE,
                           .registers = SPOOL_NONE};
    const char *name = d->symbol ? d->symbol : "";
    launch l = {.config = SPOOL_NONE};
    bool known = shape_of(cbid, d->parameters, &config);
    if (counting)
        config.device = count_device(d->context);
    writer_lock();
    config.name = names_of_pointer(name);
    bool matches = select_kernel(config.name, name);
    l.skipped = counting && (!known || select_is_skipped(config.name, name));
    if (counting && known && config.name != SPOOL_NONE)
        l.config = names_config(&config);
    writer_unlock();
    l.wanted = select_launch(matches, d->correlation);
    return l;
}

/* Is any of its kernels wanted by name? If nothing is known of them, they may be. */
static bool is_wanted(const graph_kernels *kernels) {
    bool wanted = !kernels || !kernels->known;
    for (size_t i = 0; !wanted && i < kernels->count; i++)
        wanted = kernels->at[i].enabled && kernels->at[i].wanted;
    return wanted;
}

/* A graph counts as one launch where launches are numbered. */
static uint64_t enter_graph(const callback_data *d) {
    const graph_launch_arguments *a = d->parameters;
    launch_key *key = NULL;
    graph_kernels *kernels = a ? graph_find(a->exec, &key) : NULL;
    bool wanted = select_launch(is_wanted(kernels), d->correlation);
    uint64_t held = 0;
    if (counting && d->correlation_data) {
        count_context_seen(d->context);
        held = wanted ? count_enter_graph(d->context, kernels, key, d->correlation)
                      : count_enter_untouched();
    }
    graph_release(kernels);
    return held;
}

static uint64_t enter(uint32_t cbid, const callback_data *d) {
    if (is_graph(cbid))
        return enter_graph(d);
    if (counting)
        count_context_seen(d->context);
    launch l = look_at(cbid, d);
    if (!counting || !d->correlation_data) /* what enters must be seen to leave */
        return 0;
    if (l.skipped)
        return count_enter_skipped(l.wanted ? l.config : SPOOL_NONE, d->correlation);
    return l.wanted && l.config != SPOOL_NONE ? count_enter(d->context, l.config, d->correlation)
                                              : count_enter_untouched();
}

static void note_range(const callback_data *d) {
    spool_launch record = {d->correlation, nvtx_current()};
    if (record.range != SPOOL_NONE)
        writer_record(SPOOL_LAUNCHES, &record, sizeof record);
}

static bool is_per_thread(uint32_t cbid) {
    return cbid == CBID_LAUNCH_KERNEL_PTSZ || cbid == CBID_LAUNCH_COOPERATIVE_PTSZ ||
           cbid == CBID_LAUNCH_KERNEL_EX_PTSZ || cbid == CBID_GRAPH_LAUNCH_PTSZ;
}

/* The stream of a launch whose arguments are read; false: it is not known. */
static bool stream_of(uint32_t cbid, const void *arguments, void **stream) {
    const launch_arguments *plain = arguments;
    const launch_ex_arguments *ex = arguments;
    const graph_launch_arguments *graph = arguments;
    spool_config unused;
    if (is_graph(cbid) && arguments)
        *stream = graph->stream;
    else if (!shape_of(cbid, arguments, &unused))
        return false;
    else if (cbid == CBID_LAUNCH_KERNEL_EX || cbid == CBID_LAUNCH_KERNEL_EX_PTSZ)
        *stream = ex->config->stream;
    else
        *stream = plain->stream;
    return true;
}

/* Such a launch does not run: it becomes a node of a graph, and is none of those that are chosen or
 * counted. */
static bool is_captured(uint32_t cbid, const callback_data *d) {
    void *stream;
    return atomic_load(&captures) > 0 && stream_of(cbid, d->parameters, &stream) &&
           graph_is_capturing(stream, is_per_thread(cbid));
}

/* A launch that fails did not happen; but some failures are those of a kernel that ran. */
static bool was_refused(const int *result) {
    enum { ILLEGAL_ADDRESS = 700, TIMEOUT = 702, FIRST_FAULT = 710, LAST_FAULT = 719 };
    int r = result ? *result : 0;
    return r && r != ILLEGAL_ADDRESS && r != TIMEOUT && (r < FIRST_FAULT || r > LAST_FAULT);
}

static void on_launch(uint32_t cbid, const callback_data *d) {
    if (d->site == SITE_EXIT) {
        if (counting && d->correlation_data)
            count_exit(*d->correlation_data, was_refused(d->return_value));
        return;
    }
    if (is_captured(cbid, d)) {
        if (d->correlation_data)
            *d->correlation_data = 0;
        return;
    }
    if (atomic_load(&ranges))
        note_range(d);
    if (!choosing && !counting)
        return;
    uint64_t held = enter(cbid, d);
    if (d->correlation_data)
        *d->correlation_data = held;
}

static void capture_ends(void) {
    int n = atomic_load(&captures);
    while (n > 0 && !atomic_compare_exchange_weak(&captures, &n, n - 1))
        ;
    if (counting)
        count_capture_ends();
}

/* Not where there was nothing to end, or it goes on: another stream began it, or another thread. */
static bool has_ended(const int *result) {
    enum { INVALID = 1, HANDLE = 400, ILLEGAL_STATE = 401, UNMATCHED = 903, WRONG_THREAD = 908 };
    int r = result ? *result : 0;
    return r != INVALID && r != HANDLE && r != ILLEGAL_STATE && r != UNMATCHED && r != WRONG_THREAD;
}

static void on_capture(uint32_t cbid, const callback_data *d) {
    bool ends = cbid == CBID_END_CAPTURE || cbid == CBID_END_CAPTURE_PTSZ;
    const int *result = d->return_value;
    if (!ends && d->site == SITE_ENTER) {
        atomic_fetch_add(&captures, 1);
        if (counting)
            count_capture_begins();
    } else if (d->site == SITE_EXIT && (ends ? has_ended(result) : result && *result)) {
        capture_ends(); /* or it did not begin */
    }
}

static bool among(uint32_t cbid, const uint32_t *cbids, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (cbids[i] == cbid)
            return true;
    return false;
}

void launches_callback(void *user, int domain, uint32_t cbid, const void *data) {
    const callback_data *d = data;
    const resource_data *resource = data;
    (void)user;
    if (atomic_load(&ended))
        return;
    if (domain == DOMAIN_RESOURCE && cbid == RESOURCE_NODE_CLONED)
        graph_resource(cbid, resource);
    else if (domain == DOMAIN_RESOURCE && cbid == RESOURCE_CONTEXT_CREATED)
        count_context_seen(resource->context);
    else if (domain == DOMAIN_RESOURCE && cbid == RESOURCE_CONTEXT_DESTROY_STARTING)
        count_context_destroyed(resource->context);
    else if (domain != DOMAIN_DRIVER)
        return;
    else if (cbid == CBID_PROFILER_START || cbid == CBID_PROFILER_STOP) {
        if (d->site == SITE_ENTER)
            select_profiler(cbid == CBID_PROFILER_START);
    } else if (among(cbid, capture_cbids, sizeof capture_cbids / sizeof capture_cbids[0])) {
        on_capture(cbid, d);
    } else if (among(cbid, graph_cbids, graph_cbid_count)) {
        graph_call(cbid, d);
    } else {
        on_launch(cbid, d);
    }
}
