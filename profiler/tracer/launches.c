/* SPDX-License-Identifier: Apache-2.0
 *
 * Launch callbacks: see launches.h.
 */
#include "tracer/launches.h"
#include "tracer/count.h"
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
    if (counting) {
        ENABLE(DOMAIN_DRIVER, capture_cbids);
        ENABLE(DOMAIN_RESOURCE, contexts);
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

static uint64_t enter(uint32_t cbid, const callback_data *d) {
    if (is_graph(cbid)) {
        select_graph(d->correlation);
        return counting && d->correlation_data ? count_enter_graph() : 0;
    }
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

static void on_launch(uint32_t cbid, const callback_data *d) {
    if (d->site == SITE_EXIT) {
        if (counting && d->correlation_data)
            count_exit(*d->correlation_data);
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

static void on_capture(uint32_t cbid, const callback_data *d) {
    bool ends = cbid == CBID_END_CAPTURE || cbid == CBID_END_CAPTURE_PTSZ;
    const int *result = d->return_value;
    if (!ends && d->site == SITE_ENTER)
        count_capture_begins();
    else if (d->site == SITE_EXIT && (ends || (result && *result)))
        count_capture_ends(); /* or it did not begin */
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
    if (domain == DOMAIN_RESOURCE && cbid == RESOURCE_CONTEXT_CREATED)
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
    } else {
        on_launch(cbid, d);
    }
}
