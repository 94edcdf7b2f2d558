/* SPDX-License-Identifier: Apache-2.0
 *
 * The start of CUPTI's door: finds the runtime's doors and watches them; contexts; clocks; and the
 * small functions that belong nowhere else.
 */
#include "emulator/cupti/door.h"
#include "emulator/cuda/find.h"
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static atomic_bool forked;

static struct {
    const emu_doors *found[2];
    int count;
} state;

/* ---- Events ----------------------------------------------------------------------------------
 */

/* Questions about graphs and kernels, that touch no device, may be asked in the callbacks of calls.
 */
static bool is_question(const char *function) {
    static const char *const questions[] = {"cuGraphGetNodes",
                                            "cuGraphNodeGetType",
                                            "cuGraphNodeGetDependencies",
                                            "cuGraphNodeGetDependencies_v2",
                                            "cuGraphChildGraphNodeGetGraph",
                                            "cuGraphKernelNodeGetParams",
                                            "cuGraphKernelNodeGetParams_v2",
                                            "cuFuncGetName",
                                            "cuKernelGetName",
                                            "cuStreamIsCapturing"};
    for (size_t i = 0; i < sizeof questions / sizeof *questions; i++)
        if (!strcmp(questions[i], function))
            return true;
    return false;
}

/* Counting stands still while a stream captures: it would spoil what is captured. */
static void check_capture(const emu_api_event *event) {
    if (event->exit || strncmp(event->function, "cuStreamBeginCapture", 20) != 0)
        return;
    if (profiling_started(event->device))
        complain("error", "capture-while-profiling",
                 "a stream begins to capture while launches are profiled: the real one spoils the "
                 "capture; stop profiling before %s goes on",
                 event->function);
}

/* On the way in the client may still stop; told after it. */
static void on_api(const emu_api_event *event) {
    if (inside_client && !event->exit &&
        !(strcmp(inside_client, "callback") == 0 && is_question(event->function)))
        complain("warning", "cuda-in-callback",
                 "%s is called inside the client's %s; with the real one that may never return",
                 event->function, inside_client);
    activity_api(event);
    callback_api(event);
    check_capture(event);
    if (event->exit)
        activity_tick();
}

static void on_launch(const emu_launch_event *event) {
    record_launch(event);
    session_launch(event);
#if DOOR_CUPTI >= 13
    range_launch(event);
#endif
}

static void on_context(const emu_context_event *event) {
    if (event->created && activity_on(KIND_CONTEXT))
        record_context_of(event->device);
    callback_resource(event->created ? RESOURCE_CONTEXT_CREATED : RESOURCE_CONTEXT_DESTROY_STARTING,
                      event->handle, NULL);
}

static void on_stream(const emu_stream_event *event) {
    callback_resource(event->created ? RESOURCE_STREAM_CREATED : RESOURCE_STREAM_DESTROY_STARTING,
                      doors()->device_context(event->device), event->handle);
}

static void on_end(void) {
    static atomic_bool ended;
    if (atomic_exchange(&ended, true))
        return;
    session_ends();
#if DOOR_CUPTI >= 13
    range_ends();
#endif
    activity_ends();
}

static const emu_observer observer = {.api = on_api,
                                      .launch = on_launch,
                                      .copy = record_copy,
                                      .memory = record_memory,
                                      .pool = record_pool_event,
                                      .context = on_context,
                                      .stream = on_stream,
                                      .module_loaded = record_module,
                                      .ends = on_end,
                                      .graph = callback_graph,
                                      .graph_run = record_graph_run};

/* ---- The runtime's doors ---------------------------------------------------------------------
 */

static void in_child(void) {
    atomic_store(&forked, true);
}

static void watch(void) {
    state.count = emu_find_doors(state.found);
    for (int i = 0; i < state.count; i++)
        state.found[i]->observe(&observer);
    pthread_atfork(NULL, NULL, in_child);
}

/* The one that is started, else the first. */
const emu_doors *doors(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch);
    for (int i = 0; i < state.count; i++)
        if (state.found[i]->started())
            return state.found[i];
    return state.count ? state.found[0] : NULL;
}

cupti_result enter(void) {
    const emu_doors *d = doors();
    if (d && !atomic_load(&forked) && d->start() == 0)
        return CUPTI_OK;
    return failed(DOOR_CUPTI >= 13 ? CUPTI_UNKNOWN : CUPTI_NOT_INITIALIZED);
}

int context_device(const void *handle) {
    const emu_doors *d = doors();
    return !handle ? 0 : d ? d->context_device(handle) : -1;
}

uint32_t context_uid(int device) {
    return (uint32_t)device + 1;
}

/* ---- Clocks ----------------------------------------------------------------------------------
 * The records' clock is CUPTI's own (real time) or the client's. The virtual clock is laid on it
 * once, at the first record, and runs on from there at its own pace. */

static _Atomic(cupti_timestamp) client_clock;
static _Atomic int64_t origin_ns;
static atomic_bool origin_set;

static uint64_t own_clock(void) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t clock_ns(void) {
    cupti_timestamp client = atomic_load(&client_clock);
    return client ? client() : own_clock();
}

uint64_t virtual_ns(double at_s) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    if (!atomic_load(&origin_set)) {
        pthread_mutex_lock(&lock);
        if (!atomic_load(&origin_set)) {
            const emu_doors *d = doors();
            atomic_store(&origin_ns, (int64_t)clock_ns() - llround((d ? d->now_s() : 0) * 1e9));
            atomic_store(&origin_set, true);
        }
        pthread_mutex_unlock(&lock);
    }
    return (uint64_t)(atomic_load(&origin_ns) + llround(at_s * 1e9));
}

CUPTI_EXPORT(cuptiActivityRegisterTimestampCallback, cupti_timestamp callback) {
    CUPTI_SWITCH();
    cupti_result result = enter();
    if (result)
        return result;
    if (!callback)
        return CUPTI_INVALID_PARAMETER;
    if (atomic_load(&origin_set))
        complain("error", "timestamp-after-records",
                 "cuptiActivityRegisterTimestampCallback comes after the first record: records on "
                 "two clocks");
    atomic_store(&client_clock, callback);
    return CUPTI_OK;
}

CUPTI_EXPORT(cuptiGetTimestamp, uint64_t *timestamp) {
    CUPTI_SWITCH();
    if (!timestamp)
        return CUPTI_INVALID_PARAMETER;
    *timestamp = own_clock();
    return CUPTI_OK;
}

/* ---- Ids ------------------------------------------------------------------------------------- */

CUPTI_EXPORT(cuptiGetDeviceId, void *context, uint32_t *device) {
    CUPTI_SWITCH();
    int index = context_device(context);
    if (!device)
        return CUPTI_INVALID_PARAMETER;
    if (index < 0)
        return CUPTI_INVALID_CONTEXT;
    *device = (uint32_t)index;
    return CUPTI_OK;
}

CUPTI_EXPORT(cuptiGetContextId, void *context, uint32_t *id) {
    CUPTI_SWITCH();
    int index = context_device(context);
    if (!id)
        return CUPTI_INVALID_PARAMETER;
    if (index < 0)
        return CUPTI_INVALID_CONTEXT;
    *id = context_uid(index);
    return CUPTI_OK;
}

CUPTI_EXPORT(cuptiGetStreamIdEx, void *context, void *stream, uint8_t per_thread, uint32_t *id) {
    CUPTI_SWITCH();
    const emu_doors *d = doors();
    int device = context_device(context);
    (void)per_thread;
    if (!id)
        return CUPTI_INVALID_PARAMETER;
    if (device < 0 || !d)
        return CUPTI_INVALID_CONTEXT;
    *id = (uint32_t)d->stream_id(stream, device);
    return CUPTI_OK;
}

CUPTI_EXPORT(cuptiGetStreamId, void *context, void *stream, uint32_t *id) {
    return cuptiGetStreamIdEx(context, stream, 0, id);
}

/* Of a graph, a node or an executable graph. */
static uint64_t graph_id(const void *handle, char what) {
    const emu_doors *d = doors();
    return d && handle ? d->graph_id(handle, what) : 0;
}

CUPTI_EXPORT(cuptiGetGraphId, void *graph, uint32_t *id) {
    CUPTI_SWITCH();
    uint64_t found = graph_id(graph, 'g');
    if (!id || !found)
        return CUPTI_INVALID_PARAMETER;
    *id = (uint32_t)found;
    return CUPTI_OK;
}

CUPTI_EXPORT(cuptiGetGraphExecId, void *exec, uint32_t *id) {
    CUPTI_SWITCH();
    uint64_t found = graph_id(exec, 'x');
    if (!id || !found)
        return CUPTI_INVALID_PARAMETER;
    *id = (uint32_t)found;
    return CUPTI_OK;
}

CUPTI_EXPORT(cuptiGetGraphNodeId, void *node, uint64_t *id) {
    CUPTI_SWITCH();
    uint64_t found = graph_id(node, 'n');
    if (!id || !found)
        return CUPTI_INVALID_PARAMETER;
    *id = found;
    return CUPTI_OK;
}

CUPTI_EXPORT(cuptiGetNumContexts, uint32_t *count) {
    const emu_doors *d = doors();
    if (!count)
        return CUPTI_INVALID_PARAMETER;
    *count = d ? (uint32_t)d->context_count() : 0;
    return CUPTI_OK;
}

/* Volta and later, as the real one's activity interface of this version. */
CUPTI_EXPORT(cuptiDeviceSupported, int device, int *support) {
    emu_door_device found;
    cupti_result result = enter();
    if (result)
        return result;
    if (!support)
        return CUPTI_INVALID_PARAMETER;
    if (!doors()->device(device, &found))
        return CUPTI_INVALID_DEVICE;
    *support = found.spec->cc_major >= 7;
    return CUPTI_OK;
}

CUPTI_EXPORT(cuptiComputeCapabilitySupported, int major, int minor, int *support) {
    (void)minor;
    if (!support)
        return CUPTI_INVALID_PARAMETER;
    *support = major >= 7;
    return CUPTI_OK;
}

CUPTI_EXPORT(cuptiDeviceVirtualizationMode, int device, int *mode) {
    emu_door_device found;
    cupti_result result = enter();
    if (result)
        return result;
    if (!mode || !doors()->device(device, &found))
        return CUPTI_INVALID_PARAMETER;
    *mode = 0; /* none */
    return CUPTI_OK;
}
