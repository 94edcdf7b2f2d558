/* SPDX-License-Identifier: Apache-2.0
 *
 * Activity buffers, after the rules of the real interface: the client's functions give and take
 * them; a buffer goes out when it is full and every record in it is complete, on the worker thread,
 * or in a flush: cuptiActivityFlushAll(0) takes complete buffers alone, a forced one all. What
 * finds no buffer is dropped and counted. Strings that records point to last until the completed
 * callback returns, and are scribbled over then.
 *
 * A record is complete once the host's place on the virtual clock has passed its end: a program
 * that never waits for its kernels leaves them incomplete until the forced flush.
 */
#include "emulator/cupti/door.h"
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { VERSION_NULL_BUFFER = 27 }; /* from here on the real one survives a NULL buffer */

typedef struct text {
    struct text *next;
    size_t length;
    char bytes[];
} text;

typedef struct buffer {
    struct buffer *next;
    uint8_t *bytes;
    size_t size, used, count, most;
    double end_s; /* when its last record is complete */
    text *texts;
} buffer;

typedef struct queue {
    buffer *first, *last;
} queue;

static struct {
    pthread_mutex_t lock;
    pthread_cond_t work, done;
    cupti_buffer_requested requested;
    cupti_buffer_completed completed;
    buffer *current, *spare;
    queue full, ready; /* waiting for its records; waiting for the worker */
    int delivering;
    size_t dropped, dropped_ever;
    bool worker;
    uint32_t period_ms;
} activity = {.lock = PTHREAD_MUTEX_INITIALIZER,
              .work = PTHREAD_COND_INITIALIZER,
              .done = PTHREAD_COND_INITIALIZER};

static atomic_bool enabled[KINDS];

bool activity_on(int kind) {
    return kind > 0 && kind < KINDS && atomic_load(&enabled[kind]);
}

/* ---- Buffers ---------------------------------------------------------------------------------
 */

static void put(queue *q, buffer *b) {
    b->next = NULL;
    if (q->last)
        q->last->next = b;
    else
        q->first = b;
    q->last = b;
}

static buffer *take(queue *q) {
    buffer *b = q->first;
    if (b)
        q->first = b->next;
    if (!q->first)
        q->last = NULL;
    return b;
}

/* From the client; NULL: it gave none. No lock is held. */
static buffer *request(cupti_buffer_requested requested) {
    buffer *b = calloc(1, sizeof *b);
    if (!b)
        return NULL;
    inside_client = "buffer-requested callback";
    requested(&b->bytes, &b->size, &b->most);
    inside_client = NULL;
    if (b->bytes && b->size) {
        if ((uintptr_t)b->bytes % 8)
            complain("error", "buffer-alignment", "a buffer at %p is not aligned to 8 bytes",
                     (void *)b->bytes);
        return b;
    }
    complain("error", "null-buffer",
             "the buffer-requested callback gave no buffer: a record is lost, and versions before "
             "%d crash",
             VERSION_NULL_BUFFER);
    if (version() < VERSION_NULL_BUFFER)
        raise(SIGSEGV);
    free(b);
    return NULL;
}

static void forget_texts(buffer *b) {
    while (b->texts) {
        text *t = b->texts;
        b->texts = t->next;
        memset(t->bytes, 0xA5, t->length);
        free(t);
    }
}

/* To the client, and it is gone. No lock is held. */
static void deliver(buffer *b, cupti_buffer_completed completed) {
    const char *outer = inside_client;
    inside_client = "buffer-completed callback";
    completed(NULL, 0, b->bytes, b->size, b->used);
    inside_client = outer;
    forget_texts(b);
    free(b);
}

static bool complete(const buffer *b, double now_s) {
    return b->end_s <= now_s;
}

/* What may go out now, in order; with the lock held. EVERYTHING: complete or not; PARTLY: the
 * buffer that is being filled too. */
static void collect(bool everything, bool partly) {
    double now_s = doors() ? doors()->now_s() : 0;
    queue left = {0};
    for (buffer *b; (b = take(&activity.full));)
        put(everything || complete(b, now_s) ? &activity.ready : &left, b);
    activity.full = left;
    if (partly && activity.current && activity.current->count &&
        (everything || complete(activity.current, now_s))) {
        put(&activity.ready, activity.current);
        activity.current = NULL;
    }
}

/* With the lock held; gives it up for each delivery. */
static void deliver_ready(void) {
    for (buffer *b; (b = take(&activity.ready));) {
        cupti_buffer_completed completed = activity.completed;
        activity.delivering++;
        pthread_mutex_unlock(&activity.lock);
        deliver(b, completed);
        pthread_mutex_lock(&activity.lock);
        activity.delivering--;
        pthread_cond_broadcast(&activity.done);
    }
}

static struct timespec in_seconds(double seconds) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += (time_t)seconds;
    until.tv_nsec += (long)((seconds - (double)(time_t)seconds) * 1e9);
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    return until;
}

static void *work(void *nothing) {
    sigset_t all; /* the program's signals are for its own threads */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    pthread_mutex_lock(&activity.lock);
    for (bool due = false;;) { /* what was there before this thread ran counts too */
        int waited = 0;
        collect(false, due);
        deliver_ready();
        if (activity.ready.first)
            continue;
        if (activity.period_ms) {
            struct timespec until = in_seconds(activity.period_ms * 1e-3);
            waited = pthread_cond_timedwait(&activity.work, &activity.lock, &until);
        } else {
            pthread_cond_wait(&activity.work, &activity.lock);
        }
        due = waited == ETIMEDOUT;
    }
    return nothing;
}

/* With the lock held. */
static void start_worker(void) {
    pthread_t thread;
    if (!activity.worker && pthread_create(&thread, NULL, work, NULL) == 0) {
        pthread_detach(thread);
        activity.worker = true;
    }
}

void activity_tick(void) {
    pthread_mutex_lock(&activity.lock);
    if (activity.full.first)
        pthread_cond_signal(&activity.work);
    pthread_mutex_unlock(&activity.lock);
}

/* ---- Records ---------------------------------------------------------------------------------
 */

static bool fits(const buffer *b, size_t size) {
    return b && b->size - b->used >= size && (!b->most || b->count < b->most);
}

/* A buffer with room for SIZE bytes is the current one; false: there is none. With the lock held,
 * which is given up while the client is asked. */
static bool make_room(size_t size) {
    while (!fits(activity.current, size)) {
        if (activity.current) {
            put(&activity.full, activity.current);
            activity.current = NULL;
            pthread_cond_signal(&activity.work);
        }
        buffer *b = activity.spare;
        activity.spare = NULL;
        if (!b) {
            cupti_buffer_requested requested = activity.requested;
            pthread_mutex_unlock(&activity.lock);
            b = request(requested);
            pthread_mutex_lock(&activity.lock);
        }
        if (!b)
            return false;
        if (activity.current && !activity.spare)
            activity.spare = b; /* another thread was faster */
        else if (activity.current)
            put(&activity.ready, b);
        else
            activity.current = b;
        if (activity.current == b && !fits(b, size))
            return false; /* it can hold no record at all */
    }
    return true;
}

/* A copy of NAME that lives as long as B. */
static const char *keep_text(buffer *b, const char *name) {
    size_t length = strlen(name) + 1;
    text *t = malloc(sizeof *t + length);
    if (!t)
        return NULL;
    *t = (text){.next = b->texts, .length = length};
    memcpy(t->bytes, name, length);
    b->texts = t;
    return t->bytes;
}

void activity_add(const void *record, size_t size, double end_s, const char *name,
                  size_t name_offset) {
    pthread_mutex_lock(&activity.lock);
    bool registered = activity.requested != NULL;
    if (!registered || !make_room(size)) {
        activity.dropped++;
        activity.dropped_ever++;
        pthread_mutex_unlock(&activity.lock);
        if (!registered)
            complain("error", "no-buffer-callbacks",
                     "a record is lost: kinds are enabled, and cuptiActivityRegisterCallbacks was "
                     "not called");
        return;
    }
    buffer *b = activity.current;
    uint8_t *at = b->bytes + b->used;
    memcpy(at, record, size);
    if (name) {
        const char *kept = keep_text(b, name);
        memcpy(at + name_offset, &kept, sizeof kept);
    }
    b->used += size;
    b->count++;
    b->end_s = end_s > b->end_s ? end_s : b->end_s;
    pthread_mutex_unlock(&activity.lock);
}

CUPTI_EXPORT(cuptiActivityGetNextRecord, uint8_t *bytes, size_t valid, void **record) {
    CUPTI_SWITCH();
    uint32_t kind;
    if (!bytes || !record)
        return CUPTI_INVALID_PARAMETER;
    uint8_t *next = *record;
    if (next) {
        memcpy(&kind, next, sizeof kind);
        next += record_size(kind);
    } else {
        next = bytes;
    }
    if (next < bytes || next + sizeof kind > bytes + valid)
        return CUPTI_MAX_LIMIT_REACHED;
    memcpy(&kind, next, sizeof kind);
    if (!record_size(kind) || next + record_size(kind) > bytes + valid) {
        complain("error", "next-record",
                 "cuptiActivityGetNextRecord was given bytes that are no records of this library "
                 "(kind %u)",
                 kind);
        return CUPTI_INVALID_KIND;
    }
    *record = next;
    return CUPTI_OK;
}

CUPTI_EXPORT(cuptiActivityGetNumDroppedRecords, void *context, uint32_t stream, size_t *dropped) {
    CUPTI_SWITCH();
    (void)context, (void)stream;
    if (!dropped)
        return CUPTI_INVALID_PARAMETER;
    pthread_mutex_lock(&activity.lock);
    *dropped = activity.dropped;
    activity.dropped = 0;
    pthread_mutex_unlock(&activity.lock);
    return CUPTI_OK;
}

/* ---- Flushing --------------------------------------------------------------------------------
 */

CUPTI_EXPORT(cuptiActivityRegisterCallbacks, cupti_buffer_requested requested,
             cupti_buffer_completed completed) {
    CUPTI_SWITCH();
    if (!requested || !completed)
        return CUPTI_INVALID_PARAMETER;
    pthread_mutex_lock(&activity.lock);
    bool again = activity.requested && activity.requested != requested;
    activity.requested = requested;
    activity.completed = completed;
    start_worker();
    pthread_mutex_unlock(&activity.lock);
    if (again)
        complain("warning", "second-registration",
                 "cuptiActivityRegisterCallbacks replaces another client's functions");
    return CUPTI_OK;
}

/* Strict: the worker delivers, and the caller waits; a lock that the caller holds and the client's
 * callback needs shows as a wait without end. With the lock held. */
static cupti_result wait_for_worker(void) {
    struct timespec until = in_seconds(strict_timeout_s());
    pthread_cond_signal(&activity.work);
    while (activity.ready.first || activity.delivering) {
        if (pthread_cond_timedwait(&activity.done, &activity.lock, &until) != ETIMEDOUT)
            continue;
        pthread_mutex_unlock(&activity.lock);
        complain("error", "lock-held-across-flush",
                 "the buffer-completed callback has not returned for %g s inside "
                 "cuptiActivityFlushAll: it waits for a lock that the flushing thread holds",
                 strict_timeout_s());
        pthread_mutex_lock(&activity.lock);
        return CUPTI_UNKNOWN;
    }
    return CUPTI_OK;
}

CUPTI_EXPORT(cuptiActivityFlushAll, uint32_t flag) {
    CUPTI_SWITCH();
    cupti_result result = enter();
    if (result)
        return result;
    if (inside_client && strcmp(inside_client, "callback") != 0) {
        complain("error", "flush-in-callback",
                 "cuptiActivityFlushAll is called inside the client's %s: the real one deadlocks",
                 inside_client);
        return CUPTI_INVALID_OPERATION;
    }
    pthread_mutex_lock(&activity.lock);
    if (!activity.requested) {
        pthread_mutex_unlock(&activity.lock);
        complain("error", "flush-before-callbacks",
                 "cuptiActivityFlushAll comes before cuptiActivityRegisterCallbacks");
        return CUPTI_INVALID_OPERATION;
    }
    collect((flag & FLAG_FLUSH_FORCED) != 0, true);
    if (strict() && activity.worker)
        result = wait_for_worker();
    else
        deliver_ready();
    pthread_mutex_unlock(&activity.lock);
    return result;
}

/* The old one: its context and stream are ignored, as the real one does by now. */
CUPTI_EXPORT(cuptiActivityFlush, void *context, uint32_t stream, uint32_t flag) {
    (void)context, (void)stream;
    return cuptiActivityFlushAll(flag);
}

CUPTI_EXPORT(cuptiActivityFlushPeriod, uint32_t milliseconds) {
    CUPTI_SWITCH();
    cupti_result result = enter();
    if (result)
        return result;
    pthread_mutex_lock(&activity.lock);
    activity.period_ms = milliseconds;
    start_worker();
    pthread_cond_signal(&activity.work);
    pthread_mutex_unlock(&activity.lock);
    return CUPTI_OK;
}

static size_t count_records(const buffer *b) {
    size_t count = 0;
    for (; b; b = b->next)
        count += b->count;
    return count;
}

void activity_ends(void) {
    pthread_mutex_lock(&activity.lock);
    size_t left = count_records(activity.full.first) + count_records(activity.ready.first) +
                  (activity.current ? activity.current->count : 0);
    size_t lost = activity.dropped_ever;
    pthread_mutex_unlock(&activity.lock);
    if (left)
        complain("warning", "unflushed-at-exit",
                 "%zu records were never flushed: cuptiActivityFlushAll(1) is missing at the end",
                 left);
    if (lost)
        complain("warning", "dropped-records", "%zu records found no buffer", lost);
}

/* ---- Kinds -----------------------------------------------------------------------------------
 */

/* Kinds that have records here; NAME, MARKER and the like are taken and stay empty. */
static bool is_supported(int kind) {
    static const uint8_t kinds[] = {KIND_MEMCPY,
                                    KIND_MEMSET,
                                    KIND_KERNEL,
                                    KIND_DRIVER,
                                    KIND_RUNTIME,
                                    KIND_DEVICE,
                                    KIND_CONTEXT,
                                    KIND_NAME,
                                    KIND_CONCURRENT_KERNEL,
                                    KIND_MARKER,
                                    KIND_STREAM,
                                    KIND_MARKER_DATA,
                                    KIND_OVERHEAD,
                                    KIND_MEMCPY2,
                                    KIND_CUDA_EVENT,
                                    KIND_MEMORY2,
                                    KIND_MEMORY_POOL,
                                    KIND_GRAPH_TRACE,
                                    KIND_SYNCHRONIZATION,
                                    KIND_EXTERNAL_CORRELATION};
    return memchr(kinds, kind, sizeof kinds) != NULL;
}

static cupti_result check_kind(int kind) {
    cupti_result result = enter();
    if (result)
        return result;
    if (kind <= 0 || kind >= KINDS)
        return CUPTI_INVALID_KIND;
    if ((kind == KIND_KERNEL && activity_on(KIND_CONCURRENT_KERNEL)) ||
        (kind == KIND_CONCURRENT_KERNEL && activity_on(KIND_KERNEL)))
        return CUPTI_NOT_COMPATIBLE;
    return is_supported(kind) ? CUPTI_OK : CUPTI_NOT_SUPPORTED;
}

/* Modules are instrumented for tracing when they are loaded, or, all of them again, when kernels are
 * enabled after one was loaded that is not. */
static atomic_bool traced_before, module_missed;

static bool traces_kernels(int kind) {
    return kind == KIND_KERNEL || kind == KIND_CONCURRENT_KERNEL;
}

static bool all_modules_traced(void) {
    return atomic_load(&traced_before) && !atomic_load(&module_missed);
}

static void now_traced(void) {
    atomic_store(&traced_before, true);
    atomic_store(&module_missed, false);
    profiling_check_tracing();
}

void activity_module_loaded(void) {
    if (!activity_on(KIND_KERNEL) && !activity_on(KIND_CONCURRENT_KERNEL))
        atomic_store(&module_missed, true);
}

CUPTI_EXPORT(cuptiActivityEnable, int kind) {
    CUPTI_SWITCH();
    cupti_result result = check_kind(kind);
    if (result)
        return result;
    if (traces_kernels(kind) && doors()->module_loaded() && !all_modules_traced())
        complain("warning", "enable-after-load",
                 "kernels are enabled after modules are loaded: the real one instruments them all "
                 "again, and the program stands still for seconds");
    if (!callback_subscribed())
        complain("warning", "no-subscriber",
                 "cuptiActivityEnable without cuptiSubscribe: another client may take over unseen");
    bool fresh = !atomic_exchange(&enabled[kind], true);
    if (fresh)
        record_existing(kind);
    if (traces_kernels(kind))
        now_traced();
    return CUPTI_OK;
}

CUPTI_EXPORT(cuptiActivityEnableContext, void *context, int kind) {
    return context_device(context) < 0 ? CUPTI_INVALID_CONTEXT : cuptiActivityEnable(kind);
}

CUPTI_EXPORT(cuptiActivityDisable, int kind) {
    CUPTI_SWITCH();
    cupti_result result = enter();
    if (result)
        return result;
    if (kind <= 0 || kind >= KINDS)
        return CUPTI_INVALID_KIND;
    if (kind == KIND_CONCURRENT_KERNEL && version() == VERSION_13_0)
        complain("warning", "disable-kernels-13.0",
                 "version 130000 may deadlock when concurrent kernels are disabled");
    atomic_store(&enabled[kind], false);
    return CUPTI_OK;
}

CUPTI_EXPORT(cuptiActivityDisableContext, void *context, int kind) {
    return context_device(context) < 0 ? CUPTI_INVALID_CONTEXT : cuptiActivityDisable(kind);
}

/* ---- Calls and what clients add to them ------------------------------------------------------
 */

enum { EXTERNAL_KINDS = 8, EXTERNAL_DEPTH = 64 };

static _Thread_local struct {
    uint64_t id[EXTERNAL_KINDS][EXTERNAL_DEPTH];
    int depth[EXTERNAL_KINDS];
} external;

CUPTI_EXPORT(cuptiActivityPushExternalCorrelationId, int kind, uint64_t id) {
    CUPTI_SWITCH();
    cupti_result result = enter();
    if (result)
        return result;
    if (kind <= 0 || kind >= EXTERNAL_KINDS)
        return CUPTI_INVALID_PARAMETER;
    if (external.depth[kind] == EXTERNAL_DEPTH)
        return CUPTI_OUT_OF_MEMORY;
    external.id[kind][external.depth[kind]++] = id;
    return CUPTI_OK;
}

CUPTI_EXPORT(cuptiActivityPopExternalCorrelationId, int kind, uint64_t *last) {
    CUPTI_SWITCH();
    cupti_result result = enter();
    if (result)
        return result;
    if (kind <= 0 || kind >= EXTERNAL_KINDS)
        return CUPTI_INVALID_PARAMETER;
    if (!external.depth[kind])
        return CUPTI_QUEUE_EMPTY;
    uint64_t id = external.id[kind][--external.depth[kind]];
    if (last)
        *last = id;
    return CUPTI_OK;
}

static void add_external(uint32_t correlation) {
    for (uint32_t kind = 1; kind < EXTERNAL_KINDS; kind++) {
        if (!external.depth[kind])
            continue;
        record_external r = {.kind = KIND_EXTERNAL_CORRELATION,
                             .external_kind = kind,
                             .external = external.id[kind][external.depth[kind] - 1],
                             .correlation = correlation};
        activity_add(&r, sizeof r, 0, NULL, 0);
    }
}

void activity_api(const emu_api_event *event) {
    static _Thread_local uint64_t began[3];
    static _Thread_local uint32_t last;
    bool on = activity_on(event->domain == EMU_DOMAIN_DRIVER ? KIND_DRIVER : KIND_RUNTIME);
    if (!on || !callback_id(event))
        return;
    uint64_t now = virtual_ns(doors()->now_s());
    if (!event->exit) {
        began[event->domain] = now;
        if (activity_on(KIND_EXTERNAL_CORRELATION) && event->correlation != last)
            add_external(event->correlation);
        last = event->correlation;
    } else if (began[event->domain]) {
        record_api_call(event, began[event->domain], now);
    }
}

/* ---- Attributes, and options that change nothing here ----------------------------------------
 */

enum { ATTRIBUTES = 16 };
static _Atomic size_t attributes[ATTRIBUTES] = {[0] = 3 << 20, [1] = 3 << 20, [2] = 3};

CUPTI_EXPORT(cuptiActivityGetAttribute, uint32_t attribute, size_t *size, void *value) {
    CUPTI_SWITCH();
    if (!size || !value || attribute >= ATTRIBUTES)
        return CUPTI_INVALID_PARAMETER;
    if (*size < sizeof(size_t) && attribute < 3)
        return CUPTI_PARAMETER_SIZE_NOT_SUFFICIENT;
    size_t held = atomic_load(&attributes[attribute]);
    *size = *size < sizeof held ? *size : sizeof held;
    memcpy(value, &held, *size);
    return CUPTI_OK;
}

CUPTI_EXPORT(cuptiActivitySetAttribute, uint32_t attribute, size_t *size, void *value) {
    CUPTI_SWITCH();
    size_t held = 0;
    if (!size || !value || attribute >= ATTRIBUTES)
        return CUPTI_INVALID_PARAMETER;
    memcpy(&held, value, *size < sizeof held ? *size : sizeof held);
    atomic_store(&attributes[attribute], held);
    return CUPTI_OK;
}

/* Options of the real one's that have no effect on an emulated device. */
#define ACCEPT(name)                                                                               \
    CUPTI_EXPORT(name, uint8_t enable) {                                                           \
        CUPTI_SWITCH();                                                                            \
        (void)enable;                                                                              \
        return enter();                                                                            \
    }
ACCEPT(cuptiActivityEnableLatencyTimestamps)
ACCEPT(cuptiActivityEnableLaunchAttributes)
ACCEPT(cuptiActivityEnableAllocationSource)

CUPTI_EXPORT(cuptiFinalize, void) {
    CUPTI_SWITCH();
    if (!inside_client)
        complain("error", "finalize-outside-callback",
                 "cuptiFinalize is called outside an API exit callback: the real one crashes then");
    for (int i = 0; i < KINDS; i++)
        atomic_store(&enabled[i], false);
    return CUPTI_OK;
}
