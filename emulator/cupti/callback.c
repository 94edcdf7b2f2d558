/* SPDX-License-Identifier: Apache-2.0
 *
 * The subscriber: one a process, and what is called back to it.
 */
#include "emulator/cupti/door.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { IDS = 1024 };

_Thread_local const char *inside_client;

static struct {
    pthread_mutex_t lock;
    cupti_callback function; /* NULL: nobody has subscribed */
    void *user;
    char name[128];
    int generation; /* of the handle */
} subscriber = {.lock = PTHREAD_MUTEX_INITIALIZER};

static atomic_uchar enabled[DOMAINS][IDS];

/* ---- Ids -------------------------------------------------------------------------------------
 */

typedef struct known_id {
    const char *name;
    uint16_t id;
} known_id;

static const known_id runtime_ids[] = {
#define RUNTIME(name, since, id) {#name, id},
#define DRIVER(name, id)
#include "emulator/cupti/cbids.inc"
#undef RUNTIME
#undef DRIVER
};
static const known_id driver_ids[] = {
#define RUNTIME(name, since, id)
#define DRIVER(name, id) {#name, id},
#include "emulator/cupti/cbids.inc"
#undef RUNTIME
#undef DRIVER
};

uint32_t callback_id(const emu_api_event *event) {
    bool driver = event->domain == EMU_DOMAIN_DRIVER;
    const known_id *ids = driver ? driver_ids : runtime_ids;
    size_t count = driver ? sizeof driver_ids / sizeof *ids : sizeof runtime_ids / sizeof *ids;
    for (size_t i = 0; i < count; i++)
        if (!strcmp(ids[i].name, event->function))
            return ids[i].id;
    return 0;
}

/* ---- Subscribing -----------------------------------------------------------------------------
 */

bool callback_subscribed(void) {
    pthread_mutex_lock(&subscriber.lock);
    bool there = subscriber.function != NULL;
    pthread_mutex_unlock(&subscriber.lock);
    return there;
}

static void tell_holder(subscriber_params *params) {
    if (params && params->old_name && params->old_size)
        snprintf(params->old_name, params->old_size, "CUPTI for %s", subscriber.name);
}

static cupti_result subscribe(void **handle, cupti_callback callback, void *user,
                              subscriber_params *params) {
    cupti_result result = enter();
    if (result)
        return result;
    if (!handle || !callback)
        return CUPTI_INVALID_PARAMETER;
    pthread_mutex_lock(&subscriber.lock);
    if (subscriber.function) {
        tell_holder(params);
        result = CUPTI_MULTIPLE_SUBSCRIBERS;
    } else {
        subscriber.function = callback;
        subscriber.user = user;
        snprintf(subscriber.name, sizeof subscriber.name, "%s",
                 params && params->name ? params->name : "an earlier client");
        *handle = &enabled[0][++subscriber.generation % IDS];
    }
    pthread_mutex_unlock(&subscriber.lock);
    return result;
}

CUPTI_EXPORT(cuptiSubscribe, void **handle, cupti_callback callback, void *user) {
    CUPTI_SWITCH();
    return subscribe(handle, callback, user, NULL);
}

#if DOOR_CUPTI >= 13
CUPTI_EXPORT(cuptiSubscribe_v2, void **handle, cupti_callback callback, void *user,
             subscriber_params *params) {
    CUPTI_SWITCH();
    if (!params || params->size < sizeof *params) {
        complain("error", "struct-size", "cuptiSubscribe_v2: structSize is %zu, it is %zu",
                 params ? params->size : 0, sizeof *params);
        return CUPTI_INVALID_PARAMETER;
    }
    return subscribe(handle, callback, user, params);
}
#endif

/* With the lock held. */
static bool is_ours(const void *handle) {
    return subscriber.function && handle == &enabled[0][subscriber.generation % IDS];
}

CUPTI_EXPORT(cuptiUnsubscribe, void *handle) {
    CUPTI_SWITCH();
    pthread_mutex_lock(&subscriber.lock);
    bool ours = is_ours(handle);
    if (ours)
        subscriber.function = NULL;
    for (int d = 0; ours && d < DOMAINS; d++)
        for (int i = 0; i < IDS; i++)
            atomic_store(&enabled[d][i], 0);
    pthread_mutex_unlock(&subscriber.lock);
    return ours ? CUPTI_OK : CUPTI_INVALID_PARAMETER;
}

static cupti_result check(const void *handle, int domain) {
    pthread_mutex_lock(&subscriber.lock);
    bool ours = is_ours(handle);
    pthread_mutex_unlock(&subscriber.lock);
    if (!ours)
        complain("error", "not-subscribed",
                 "callbacks are enabled with a handle that is no subscriber's");
    return ours && domain > 0 && domain < DOMAINS ? CUPTI_OK : CUPTI_INVALID_PARAMETER;
}

CUPTI_EXPORT(cuptiEnableCallback, uint32_t enable, void *handle, int domain, uint32_t id) {
    CUPTI_SWITCH();
    cupti_result result = check(handle, domain);
    if (result)
        return result;
    if (id == 0 || id >= IDS)
        return CUPTI_INVALID_PARAMETER;
    atomic_store(&enabled[domain][id], enable != 0);
    return CUPTI_OK;
}

static void enable_domain(int domain, uint32_t enable) {
    for (int i = 1; i < IDS; i++)
        atomic_store(&enabled[domain][i], enable != 0);
}

CUPTI_EXPORT(cuptiEnableDomain, uint32_t enable, void *handle, int domain) {
    CUPTI_SWITCH();
    cupti_result result = check(handle, domain);
    if (result)
        return result;
    if (enable && (domain == DOMAIN_DRIVER || domain == DOMAIN_RUNTIME))
        complain("warning", "whole-domain",
                 "cuptiEnableDomain turns on every callback of domain %d, the largest overhead "
                 "there is; enable the ids that are needed",
                 domain);
    enable_domain(domain, enable);
    return CUPTI_OK;
}

CUPTI_EXPORT(cuptiEnableAllDomains, uint32_t enable, void *handle) {
    CUPTI_SWITCH();
    cupti_result result = check(handle, DOMAIN_DRIVER);
    for (int d = 1; !result && d < DOMAINS; d++)
        enable_domain(d, enable);
    return result;
}

CUPTI_EXPORT(cuptiGetCallbackState, uint32_t *enable, void *handle, int domain, uint32_t id) {
    CUPTI_SWITCH();
    cupti_result result = check(handle, domain);
    if (result)
        return result;
    if (!enable || id >= IDS)
        return CUPTI_INVALID_PARAMETER;
    *enable = atomic_load(&enabled[domain][id]);
    return CUPTI_OK;
}

CUPTI_EXPORT(cuptiSupportedDomains, size_t *count, const int **domains) {
    static const int all[] = {DOMAIN_DRIVER, DOMAIN_RUNTIME, DOMAIN_RESOURCE};
    if (!count || !domains)
        return CUPTI_INVALID_PARAMETER;
    *count = sizeof all / sizeof *all;
    *domains = all;
    return CUPTI_OK;
}

CUPTI_EXPORT(cuptiGetCallbackName, int domain, uint32_t id, const char **name) {
    const known_id *ids = domain == DOMAIN_DRIVER ? driver_ids : runtime_ids;
    size_t count = domain == DOMAIN_DRIVER ? sizeof driver_ids / sizeof *ids
                                           : sizeof runtime_ids / sizeof *ids;
    if (!name || (domain != DOMAIN_DRIVER && domain != DOMAIN_RUNTIME))
        return CUPTI_INVALID_PARAMETER;
    for (size_t i = 0; i < count; i++)
        if (ids[i].id == id) {
            *name = ids[i].name;
            return CUPTI_OK;
        }
    return CUPTI_INVALID_PARAMETER;
}

/* ---- Calling back ----------------------------------------------------------------------------
 */

static void call(int domain, uint32_t id, const void *data) {
    /* The real one cannot flush in there. */
    bool resource = domain == DOMAIN_RESOURCE;
    pthread_mutex_lock(&subscriber.lock);
    cupti_callback function = subscriber.function;
    void *user = subscriber.user;
    pthread_mutex_unlock(&subscriber.lock);
    if (!function)
        return;
    const char *outer = inside_client;
    inside_client = resource ? "resource callback" : "callback";
    function(user, domain, id, data);
    inside_client = outer;
}

void callback_api(const emu_api_event *event) {
    uint32_t id = callback_id(event);
    if (!id || inside_client || !atomic_load(&enabled[event->domain][id]))
        return;
    int result = event->result;
    void *context = doors()->device_context(event->device);
    const callback_data data = {.site = event->exit ? SITE_EXIT : SITE_ENTER,
                                .function = event->function,
                                .parameters = event->parameters,
                                .return_value = event->exit ? &result : NULL,
                                .symbol = event->symbol,
                                .context = context,
                                .context_uid = context ? context_uid(event->device) : 0,
                                .correlation_data = event->user,
                                .correlation = event->correlation};
    call((int)event->domain, id, &data);
}

static void call_resource(uint32_t id, const resource_data *data) {
    if (atomic_load(&enabled[DOMAIN_RESOURCE][id]))
        call(DOMAIN_RESOURCE, id, data);
}

void callback_resource(uint32_t id, void *context, void *stream) {
    call_resource(id, &(resource_data){.context = context, .stream = stream});
}

void callback_graph(const emu_graph_event *e) {
    static const uint8_t ids[] = {[EMU_GRAPH_CREATED] = RESOURCE_GRAPH_CREATED,
                                  [EMU_GRAPH_CLONED] = RESOURCE_GRAPH_CLONED,
                                  [EMU_GRAPH_DESTROYED] = RESOURCE_GRAPH_DESTROY_STARTING,
                                  [EMU_NODE_CREATED] = RESOURCE_NODE_CREATED,
                                  [EMU_NODE_CLONED] = RESOURCE_NODE_CLONED,
                                  [EMU_NODE_DESTROYED] = RESOURCE_NODE_DESTROY_STARTING,
                                  [EMU_NODE_DEPENDS] = RESOURCE_DEPENDENCY_CREATED,
                                  [EMU_NODE_DEPENDS_NO_MORE] = RESOURCE_DEPENDENCY_DESTROY_STARTING,
                                  [EMU_EXEC_CREATED] = RESOURCE_EXEC_CREATED,
                                  [EMU_EXEC_DESTROYED] = RESOURCE_EXEC_DESTROY_STARTING};
    graph_data data = {.graph = e->graph,
                       .original_graph = e->original_graph,
                       .node = e->node,
                       .original_node = e->original_node,
                       .node_type = e->node_type,
                       .dependency = e->dependency,
                       .exec = e->exec};
    call_resource(ids[e->what], &(resource_data){.context = doors()->device_context(e->device),
                                                 .descriptor = &data});
}
