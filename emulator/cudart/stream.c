/* SPDX-License-Identifier: Apache-2.0
 *
 * Streams, events, host callbacks and the virtual clock that they are for. door.h tells the rules
 * of the clock.
 */
#include "emulator/cudart/door.h"
#include <stdlib.h>

/* ---- The clock --------------------------------------------------------------------------------
 */

static double later(double a, double b) {
    return a > b ? a : b;
}

/* When STREAM can take up new work, were it asked for now. */
static double stream_ready(const door_stream *stream) {
    const door_device *d = stream->device;
    double at = later(door.now_s, stream->ready_s);
    if (stream->legacy)
        return later(at, d->blocking_s);
    return stream->flags & cudaStreamNonBlocking ? at : later(at, d->legacy_s);
}

static void occupy(door_stream *stream, double end) {
    door_device *d = stream->device;
    stream->ready_s = end;
    d->all_s = later(d->all_s, end);
    if (stream->legacy)
        d->legacy_s = later(d->legacy_s, end);
    else if (!(stream->flags & cudaStreamNonBlocking))
        d->blocking_s = later(d->blocking_s, end);
}

double door_schedule(door_stream *stream, double *engine_s, double duration_s, bool wait) {
    pthread_mutex_lock(&door.lock);
    double start = stream_ready(stream);
    if (engine_s)
        start = later(start, *engine_s);
    double end = start + duration_s;
    if (engine_s)
        *engine_s = end;
    occupy(stream, end);
    if (wait)
        door.now_s = later(door.now_s, end);
    pthread_mutex_unlock(&door.lock);
    return start;
}

static void wait_until(double at) {
    pthread_mutex_lock(&door.lock);
    door.now_s = later(door.now_s, at);
    pthread_mutex_unlock(&door.lock);
}

void door_occupy(door_stream *stream, double end_s) {
    pthread_mutex_lock(&door.lock);
    occupy(stream, later(stream->ready_s, end_s));
    pthread_mutex_unlock(&door.lock);
}

double door_now(void) {
    pthread_mutex_lock(&door.lock);
    double now = door.now_s;
    pthread_mutex_unlock(&door.lock);
    return now;
}

void door_wait_device(door_device *device) {
    pthread_mutex_lock(&door.lock);
    door.now_s = later(door.now_s, device->all_s);
    pthread_mutex_unlock(&door.lock);
    door_drain_printf(device);
}

/* ---- Streams ----------------------------------------------------------------------------------
 */

cudaStream_t door_per_thread(cudaStream_t handle) {
    return handle ? handle : cudaStreamPerThread;
}

door_stream *door_find_stream(cudaStream_t handle, door_device *current) {
    if (!handle || handle == cudaStreamLegacy)
        return &current->legacy;
    if (handle == cudaStreamPerThread)
        return &current->per_thread;
    if (handle == door_self.lane)
        return handle;
    pthread_mutex_lock(&door.lock);
    door_stream *s = door.streams;
    while (s && s != handle)
        s = s->next;
    pthread_mutex_unlock(&door.lock);
    return s;
}

static void tell_stream(door_stream *s, bool created) {
    const emu_observer *observer = door_observer();
    if (observer && observer->stream)
        observer->stream(&(emu_stream_event){
            .created = created, .device = s->device->index, .handle = s, .id = s->id});
}

static cudaError_t create_stream(cudaStream_t *handle, unsigned flags, int priority) {
    door_device *d;
    cudaError_t error = door_enter(&d);
    if (error)
        return error;
    if (!handle || flags & ~(unsigned)cudaStreamNonBlocking)
        return cudaErrorInvalidValue;
    door_stream *s = calloc(1, sizeof *s);
    if (!s)
        return cudaErrorMemoryAllocation;
    pthread_mutex_lock(&door.lock);
    *s = (door_stream){.id = door.next_stream++,
                       .device = d,
                       .flags = flags,
                       .priority = priority,
                       .next = door.streams};
    door.streams = s;
    pthread_mutex_unlock(&door.lock);
    *handle = s;
    tell_stream(s, true);
    return cudaSuccess;
}

DOOR_EXPORT(cudaError_t, cudaStreamCreate, cudaStream_t *stream) {
    return door_return(create_stream(stream, 0, 0));
}

DOOR_EXPORT(cudaError_t, cudaStreamCreateWithFlags, cudaStream_t *stream, unsigned flags) {
    return door_return(create_stream(stream, flags, 0));
}

enum { LEAST_PRIORITY = 0, GREATEST_PRIORITY = -5 };

DOOR_EXPORT(cudaError_t, cudaStreamCreateWithPriority, cudaStream_t *stream, unsigned flags,
            int priority) {
    if (priority < GREATEST_PRIORITY)
        priority = GREATEST_PRIORITY;
    return door_return(create_stream(stream, flags, priority > 0 ? LEAST_PRIORITY : priority));
}

DOOR_EXPORT(cudaError_t, cudaStreamDestroy, cudaStream_t handle) {
    cudaError_t error = door_enter(NULL);
    if (error)
        return door_return(error);
    door_stream **link = &door.streams, *found;
    pthread_mutex_lock(&door.lock);
    while (*link && *link != handle)
        link = &(*link)->next;
    found = *link;
    if (found)
        *link = found->next;
    pthread_mutex_unlock(&door.lock);
    if (found) {
        tell_stream(found, false);
        door_capture_leave(found);
        free(found->tips);
    }
    free(found);
    return door_return(found ? cudaSuccess : cudaErrorInvalidResourceHandle);
}

/* Enters and finds the stream. */
static cudaError_t enter_stream(cudaStream_t handle, door_stream **stream) {
    door_device *d;
    cudaError_t error = door_enter(&d);
    if (error)
        return error;
    *stream = door_find_stream(handle, d);
    return *stream ? cudaSuccess : cudaErrorInvalidResourceHandle;
}

static cudaError_t synchronize(cudaStream_t handle) {
    door_stream *s;
    cudaError_t error = enter_stream(handle, &s);
    if (error || (error = door_await(s)))
        return error;
    pthread_mutex_lock(&door.lock);
    double ready_s = s->legacy ? later(s->ready_s, s->device->blocking_s) : s->ready_s;
    door.now_s = later(door.now_s, ready_s);
    pthread_mutex_unlock(&door.lock);
    door_drain_printf(s->device);
    return cudaSuccess;
}

/* Exports NAME and NAME_ptsz, the latter for code compiled with per-thread default streams. */
#define EXPORT_STREAM(name, call, ...)                                                             \
    DOOR_EXPORT(cudaError_t, name, __VA_ARGS__) {                                                  \
        return door_return(DOOR_CALL(__func__, call));                                             \
    }                                                                                              \
    DOOR_EXPORT(cudaError_t, name##_ptsz, __VA_ARGS__) {                                           \
        stream = door_per_thread(stream);                                                          \
        return door_return(DOOR_CALL(__func__, call));                                             \
    }

EXPORT_STREAM(cudaStreamSynchronize, synchronize(stream), cudaStream_t stream)

static cudaError_t query(cudaStream_t handle) {
    return synchronize(handle); /* all is done; and a program that polls sees time pass */
}
EXPORT_STREAM(cudaStreamQuery, query(stream), cudaStream_t stream)

/* A stream's fact, by a pointer that must not be NULL. */
#define STREAM_FACT(function, type, expression)                                                    \
    static cudaError_t function(cudaStream_t handle, type *value) {                                \
        door_stream *s;                                                                            \
        cudaError_t error = enter_stream(handle, &s);                                              \
        if (error)                                                                                 \
            return error;                                                                          \
        if (!value)                                                                                \
            return cudaErrorInvalidValue;                                                          \
        *value = (expression);                                                                     \
        return cudaSuccess;                                                                        \
    }
STREAM_FACT(get_flags, unsigned, s->flags)
STREAM_FACT(get_priority, int, s->priority)
STREAM_FACT(get_id, unsigned long long, s->id)
STREAM_FACT(get_device, int, s->device->index)
EXPORT_STREAM(cudaStreamGetFlags, get_flags(stream, flags), cudaStream_t stream, unsigned *flags)
EXPORT_STREAM(cudaStreamGetPriority, get_priority(stream, priority), cudaStream_t stream,
              int *priority)
EXPORT_STREAM(cudaStreamGetId, get_id(stream, id), cudaStream_t stream, unsigned long long *id)
EXPORT_STREAM(cudaStreamGetDevice, get_device(stream, device), cudaStream_t stream, int *device)

/* Hints that change nothing here. */
static cudaError_t accept(cudaStream_t handle) {
    door_stream *s;
    return enter_stream(handle, &s);
}
EXPORT_STREAM(cudaStreamAttachMemAsync, accept(stream), cudaStream_t stream)

DOOR_EXPORT(cudaError_t, cudaDeviceGetStreamPriorityRange, int *least, int *greatest) {
    cudaError_t error = door_enter(NULL);
    if (!error && least)
        *least = LEAST_PRIORITY;
    if (!error && greatest)
        *greatest = GREATEST_PRIORITY;
    return door_return(error);
}

/* ---- Callbacks: all work before them is done, so they run at once
 * -------------------------------- */

static cudaError_t launch_host(cudaStream_t handle, void (*function)(void *), void *data) {
    door_stream *s;
    cudaError_t error = enter_stream(handle, &s);
    if (error)
        return error;
    if (!function)
        return cudaErrorInvalidValue;
    if ((error = door_enqueue(s)))
        return error;
    if (s->capture)
        return door_capture_host(s, function, data);
    function(data);
    return cudaSuccess;
}
EXPORT_STREAM(cudaLaunchHostFunc, launch_host(stream, function, data), cudaStream_t stream,
              void (*function)(void *), void *data)

typedef void (*stream_callback)(cudaStream_t stream, cudaError_t status, void *data);

static cudaError_t add_callback(cudaStream_t handle, stream_callback callback, void *data) {
    door_stream *s;
    cudaError_t error = enter_stream(handle, &s);
    if (error)
        return error;
    if (!callback)
        return cudaErrorInvalidValue;
    if (s->capture || (error = door_enqueue(s))) /* graphs have no such callbacks */
        return error ? error : door_await(s);
    callback(handle, cudaSuccess, data);
    return cudaSuccess;
}
EXPORT_STREAM(cudaStreamAddCallback, ((void)flags, add_callback(stream, callback, data)),
              cudaStream_t stream, stream_callback callback, void *data, unsigned flags)

/* ---- Events -----------------------------------------------------------------------------------
 */

door_event *door_find_event(cudaEvent_t handle) {
    pthread_mutex_lock(&door.lock);
    door_event *e = door.events;
    while (e && e != handle)
        e = e->next;
    pthread_mutex_unlock(&door.lock);
    return e;
}

static cudaError_t create_event(cudaEvent_t *handle, unsigned flags) {
    door_device *d;
    cudaError_t error = door_enter(&d);
    if (error)
        return error;
    door_event *e = handle ? calloc(1, sizeof *e) : NULL;
    if (!e)
        return handle ? cudaErrorMemoryAllocation : cudaErrorInvalidValue;
    pthread_mutex_lock(&door.lock);
    *e = (door_event){.flags = flags, .device = d, .next = door.events};
    door.events = e;
    pthread_mutex_unlock(&door.lock);
    *handle = e;
    return cudaSuccess;
}

DOOR_EXPORT(cudaError_t, cudaEventCreate, cudaEvent_t *event) {
    return door_return(create_event(event, 0));
}

DOOR_EXPORT(cudaError_t, cudaEventCreateWithFlags, cudaEvent_t *event, unsigned flags) {
    return door_return(create_event(event, flags));
}

DOOR_EXPORT(cudaError_t, cudaEventDestroy, cudaEvent_t handle) {
    cudaError_t error = door_enter(NULL);
    if (error)
        return door_return(error);
    door_event **link = &door.events, *found;
    pthread_mutex_lock(&door.lock);
    while (*link && *link != handle)
        link = &(*link)->next;
    found = *link;
    if (found) {
        *link = found->next;
        free(found->tips);
    }
    pthread_mutex_unlock(&door.lock);
    free(found);
    return door_return(found ? cudaSuccess : cudaErrorInvalidResourceHandle);
}

enum { EXTERNAL = 1 }; /* of an event that is recorded, or waited for, outside its capture */

static cudaError_t record(cudaEvent_t handle, cudaStream_t stream, unsigned flags) {
    door_stream *s;
    cudaError_t error = enter_stream(stream, &s);
    door_event *e = error ? NULL : door_find_event(handle);
    if (error)
        return error;
    if (!e || e->device != s->device)
        return cudaErrorInvalidResourceHandle;
    if ((error = door_enqueue(s)))
        return error;
    if (s->capture)
        return door_capture_event(s, e, (flags & EXTERNAL) != 0);
    e->capture = 0;
    e->time_s = door_schedule(s, NULL, DOOR_EVENT_S, false) + DOOR_EVENT_S;
    e->recorded = true;
    return cudaSuccess;
}
EXPORT_STREAM(cudaEventRecord, record(event, stream, 0), cudaEvent_t event, cudaStream_t stream)
EXPORT_STREAM(cudaEventRecordWithFlags, record(event, stream, flags), cudaEvent_t event,
              cudaStream_t stream, unsigned flags)

/* What was captured has not happened, so nobody can ask whether it has. */
static cudaError_t may_ask(const door_event *e) {
    cudaError_t spoiled = door_unsafe();
    return e->capture ? cudaErrorCapturedEvent : spoiled;
}

static cudaError_t wait_event(cudaEvent_t handle) {
    cudaError_t error = door_enter(NULL);
    if (error)
        return error;
    door_event *e = door_find_event(handle);
    if (!e)
        return cudaErrorInvalidResourceHandle;
    if ((error = may_ask(e)))
        return error;
    if (e->recorded)
        wait_until(e->time_s);
    door_drain_printf(e->device);
    return cudaSuccess;
}

DOOR_EXPORT(cudaError_t, cudaEventSynchronize, cudaEvent_t event) {
    return door_return(DOOR_CALL(__func__, wait_event(event)));
}

DOOR_EXPORT(cudaError_t, cudaEventQuery, cudaEvent_t event) {
    return door_return(wait_event(event));
}

static cudaError_t stream_wait(cudaStream_t stream, cudaEvent_t handle, unsigned flags) {
    door_stream *s;
    cudaError_t error = enter_stream(stream, &s);
    if (error)
        return error;
    door_event *e = door_find_event(handle);
    if (!e)
        return cudaErrorInvalidResourceHandle;
    if ((error = door_enqueue(s)))
        return error;
    if (s->capture || e->capture)
        return door_capture_wait(s, e, (flags & EXTERNAL) != 0);
    pthread_mutex_lock(&door.lock);
    if (e->recorded)
        occupy(s, later(s->ready_s, e->time_s));
    pthread_mutex_unlock(&door.lock);
    return cudaSuccess;
}
EXPORT_STREAM(cudaStreamWaitEvent, stream_wait(stream, event, flags), cudaStream_t stream,
              cudaEvent_t event, unsigned flags)

static cudaError_t elapsed(float *milliseconds, cudaEvent_t from, cudaEvent_t to) {
    cudaError_t error = door_enter(NULL);
    if (error)
        return error;
    door_event *a = door_find_event(from), *b = door_find_event(to);
    if (!milliseconds)
        return cudaErrorInvalidValue;
    if ((a && a->capture) || (b && b->capture))
        return cudaErrorCapturedEvent;
    if (!a || !b || (a->flags | b->flags) & cudaEventDisableTiming || !a->recorded || !b->recorded)
        return cudaErrorInvalidResourceHandle;
    *milliseconds = (float)((b->time_s - a->time_s) * 1e3);
    return cudaSuccess;
}

DOOR_EXPORT(cudaError_t, cudaEventElapsedTime, float *milliseconds, cudaEvent_t from,
            cudaEvent_t to) {
    return door_return(elapsed(milliseconds, from, to));
}

#if DOOR_CUDART < 13
DOOR_EXPORT(cudaError_t, cudaEventElapsedTime_v2, float *milliseconds, cudaEvent_t from,
            cudaEvent_t to) {
    return door_return(elapsed(milliseconds, from, to));
}
#endif
