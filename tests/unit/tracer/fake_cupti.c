/* SPDX-License-Identifier: Apache-2.0
 *
 * A record generator behind CUPTI's interface: a libcupti.so.12 that has no device and makes
 * records as it is told, for tests of the tracer alone (the emulated device's CUPTI is the strict
 * one). A program drives it through fake_* below, found with dlsym; the environment sets what it
 * refuses: FAKE_SUBSCRIBE=39, FAKE_ENABLE=35, FAKE_VERSION=18, FAKE_SLOW_MS=200. Built with
 * fake_profiler.c it can count; without (FAKE_OLD) it is a library of before CUDA 12.8.
 * FAKE_NO_RECORD=1: counted launches leave no activity record. FAKE_STRICT=1: the same, and it is
 * misuse to trace them. FAKE_LOST_RECORDS=1: after a window there are no records at all.
 */
#include "tracer/cupti_abi.h"
#ifndef FAKE_OLD
#include "fake_profiler.h"
#endif

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT cupti_result cuptiGetVersion(uint32_t *version);
EXPORT cupti_result cuptiSubscribe(cupti_subscriber *s, cupti_callback callback, void *user);
EXPORT cupti_result cuptiEnableCallback(uint32_t enable, cupti_subscriber s, int domain,
                                        uint32_t cbid);
EXPORT cupti_result cuptiActivityRegisterCallbacks(cupti_buffer_requested r,
                                                   cupti_buffer_completed c);
EXPORT cupti_result cuptiActivityEnable(int kind);
EXPORT cupti_result cuptiActivityDisable(int kind);
EXPORT cupti_result cuptiActivityFlushAll(uint32_t flag);
EXPORT cupti_result cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, record_head **record);
EXPORT cupti_result cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *n);
EXPORT cupti_result cuptiActivityRegisterTimestampCallback(cupti_timestamp callback);
EXPORT void fake_kernel(const char *name, uint32_t grid, uint64_t start, uint64_t end);
EXPORT void fake_node(const char *name, uint64_t node, uint64_t start, uint64_t end);
EXPORT void fake_copy(uint64_t bytes, uint64_t start, uint64_t end);
EXPORT void fake_memory(uint32_t operation, uint64_t address, uint64_t bytes, uint64_t time);
EXPORT void fake_drop(size_t n);
EXPORT void fake_call(uint32_t cbid);
EXPORT void fake_captured(const char *name);
EXPORT void fake_next_context(void);
EXPORT uint64_t fake_now(void);
EXPORT void *fake_context(void);
EXPORT void fake_deliver(void);

static cupti_buffer_requested requested;
static cupti_buffer_completed completed;
static cupti_callback callback;
static void *callback_user;
static cupti_timestamp timestamp;
static bool on[4][1024], kinds[64];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint8_t *buffer;
static size_t size, used, dropped;
static uint32_t correlation;

static int setting(const char *name, int otherwise) {
    const char *value = getenv(name);
    return value ? atoi(value) : otherwise;
}

cupti_result cuptiGetVersion(uint32_t *version) {
    *version = (uint32_t)setting("FAKE_VERSION", 26);
    return CUPTI_OK;
}

cupti_result cuptiSubscribe(cupti_subscriber *s, cupti_callback c, void *user) {
    int refused = setting("FAKE_SUBSCRIBE", 0);
    callback = c;
    callback_user = user;
    *s = &callback;
    return refused;
}

cupti_result cuptiEnableCallback(uint32_t enable, cupti_subscriber s, int domain, uint32_t cbid) {
    (void)s;
    if (domain < 0 || domain > 3 || cbid >= 1024)
        return 1;
    on[domain][cbid] = enable;
    return CUPTI_OK;
}

cupti_result cuptiActivityRegisterCallbacks(cupti_buffer_requested r, cupti_buffer_completed c) {
    requested = r;
    completed = c;
    return CUPTI_OK;
}

cupti_result cuptiActivityEnable(int kind) {
    int refused = setting("FAKE_ENABLE", 0);
    if (refused)
        return refused;
    kinds[kind] = true;
    return CUPTI_OK;
}

cupti_result cuptiActivityDisable(int kind) {
    kinds[kind] = false;
    return CUPTI_OK;
}

cupti_result cuptiActivityRegisterTimestampCallback(cupti_timestamp c) {
    timestamp = c;
    return CUPTI_OK;
}

uint64_t fake_now(void) {
    return timestamp ? timestamp() : 0;
}

static void deliver(void) {
    uint8_t *full = buffer;
    size_t valid = used;
    buffer = NULL;
    used = 0;
    if (full)
        completed(NULL, 0, full, size, valid);
}

/* With flag 0 the real one delivers full buffers only; here nothing is ever half finished, so that
 * a killed program loses no more than its last second. */
cupti_result cuptiActivityFlushAll(uint32_t flag) {
    (void)flag;
    usleep((unsigned)setting("FAKE_SLOW_MS", 0) * 1000);
    pthread_mutex_lock(&lock);
    deliver();
    pthread_mutex_unlock(&lock);
    return CUPTI_OK;
}

static size_t size_of(uint32_t kind) {
    switch (kind) {
    case KIND_CONCURRENT_KERNEL:
        return 208; /* Kernel9, as CUDA 12 has it: longer than what the tracer reads */
    case KIND_MEMCPY:
        return 88;
    case KIND_MEMORY2:
        return 128;
    default:
        return 64;
    }
}

cupti_result cuptiActivityGetNextRecord(uint8_t *b, size_t valid, record_head **record) {
    uint8_t *next = *record ? (uint8_t *)*record + size_of((*record)->kind) : b;
    if (next >= b + valid)
        return CUPTI_LIMIT_REACHED;
    *record = (record_head *)(void *)next;
    return CUPTI_OK;
}

cupti_result cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *n) {
    (void)context, (void)stream;
    *n = dropped;
    dropped = 0;
    return CUPTI_OK;
}

static void append(uint32_t kind, const void *record, size_t length) {
    size_t whole = size_of(kind), limit;
    if (!kinds[kind])
        return;
    if (buffer && used + whole > size)
        deliver();
    if (!buffer)
        requested(&buffer, &size, &limit);
    memset(buffer + used, 0, whole);
    memcpy(buffer + used, record, length);
    used += whole;
}

static void call_back(int domain, uint32_t cbid, const void *data) {
    if (on[domain][cbid])
        callback(callback_user, domain, cbid, data);
}

/* The context at hand; the first is made by whoever launches first. */
static char context_objects[8];
static uint32_t context_number;

static void *context_now(void) {
    return &context_objects[context_number];
}

void *fake_context(void) {
    return context_now();
}

static void make_context(void) {
    resource_data data = {.context = context_now()};
    call_back(DOMAIN_RESOURCE, RESOURCE_CONTEXT_CREATED, &data);
}

/* Destroys it and makes another. */
void fake_next_context(void) {
    resource_data data = {.context = context_now()};
    call_back(DOMAIN_RESOURCE, RESOURCE_CONTEXT_DESTROY_STARTING, &data);
    context_number++;
    make_context();
}

/* A driver call of the target's, around DO (may be NULL). */
static void driver_call(uint32_t cbid, callback_data *data, void (*work)(void *), void *with) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    uint64_t shared = 0;
    int result = 0;
    pthread_once(&once, make_context);
    data->context = context_now();
    data->context_uid = 1 + context_number;
    data->correlation_data = &shared;
    data->return_value = &result;
    data->site = SITE_ENTER;
    call_back(DOMAIN_DRIVER, cbid, data);
    if (work)
        work(with);
    data->site = SITE_EXIT;
    call_back(DOMAIN_DRIVER, cbid, data);
}

static bool lost; /* FAKE_LOST_RECORDS, and a launch was counted */

static void check_apart(unsigned passes, bool traced) {
    (void)traced;
    lost |= passes && setting("FAKE_LOST_RECORDS", 0);
#ifndef FAKE_OLD
    if (passes && traced && setting("FAKE_STRICT", 0))
        fake_breach("a launch is traced while it is counted");
#endif
}

/* Runs a kernel: a record for each pass. */
static void run_kernel(void *with) {
    const record_kernel *r = with;
    bool traced = kinds[KIND_CONCURRENT_KERNEL]; /* when it was launched */
    unsigned passes = 0;
#ifndef FAKE_OLD
    if (!r->graph_node)
        passes = fake_profiler_launch(context_now(), r->name, (uint32_t)r->grid[0]);
#endif
    pthread_mutex_lock(&lock);
    check_apart(passes, traced);
    for (unsigned i = 0; i < passes || i < 1; i++)
        if (!passes ? !lost : !setting("FAKE_NO_RECORD", 0) && !setting("FAKE_STRICT", 0))
            append(KIND_CONCURRENT_KERNEL, r, sizeof *r);
    pthread_mutex_unlock(&lock);
}

static void kernel(const char *name, uint32_t grid, uint64_t node, uint64_t start, uint64_t end) {
    pthread_mutex_lock(&lock);
    uint32_t number = ++correlation;
    pthread_mutex_unlock(&lock);
    record_kernel r = {.kind = KIND_CONCURRENT_KERNEL,
                       .registers = 32,
                       .start = start,
                       .end = end,
                       .context = 1 + context_number,
                       .stream = 7,
                       .grid = {(int32_t)grid, 1, 1},
                       .block = {256, 1, 1},
                       .shared_dynamic = 1024,
                       .correlation = number,
                       .name = name,
                       .graph_node = node,
                       .graph = node ? 3 : 0};
    launch_arguments arguments = {
        .grid = {grid, 1, 1}, .block = {256, 1, 1}, .shared = 1024, .function = &r};
    callback_data data = {.correlation = number, .symbol = name, .parameters = &arguments};
    driver_call(node ? CBID_GRAPH_LAUNCH : CBID_LAUNCH_KERNEL, &data, run_kernel, &r);
}

/* cuStreamBeginCapture and EndCapture, cuProfilerStart and Stop: only their callbacks. */
void fake_call(uint32_t cbid) {
    callback_data data = {.correlation = 0};
    driver_call(cbid, &data, NULL, NULL);
}

/* A launch inside of a capture: it does not run. */
void fake_captured(const char *name) {
    launch_arguments arguments = {.grid = {1, 1, 1}, .block = {32, 1, 1}};
    callback_data data = {.correlation = 1u << 30, .symbol = name, .parameters = &arguments};
    driver_call(CBID_LAUNCH_KERNEL, &data, NULL, NULL);
}

void fake_kernel(const char *name, uint32_t grid, uint64_t start, uint64_t end) {
    kernel(name, grid, 0, start, end);
}

void fake_node(const char *name, uint64_t node, uint64_t start, uint64_t end) {
    kernel(name, 1, node, start, end);
}

void fake_copy(uint64_t bytes, uint64_t start, uint64_t end) {
    record_memcpy r = {.kind = KIND_MEMCPY,
                       .copy_kind = 1,
                       .bytes = bytes,
                       .start = start,
                       .end = end,
                       .stream = 7};
    pthread_mutex_lock(&lock);
    append(KIND_MEMCPY, &r, sizeof r);
    pthread_mutex_unlock(&lock);
}

void fake_memory(uint32_t operation, uint64_t address, uint64_t bytes, uint64_t time) {
    record_memory2 r = {.kind = KIND_MEMORY2,
                        .operation = operation,
                        .memory_kind = 3,
                        .address = address,
                        .bytes = bytes,
                        .timestamp = time};
    pthread_mutex_lock(&lock);
    append(KIND_MEMORY2, &r, sizeof r);
    pthread_mutex_unlock(&lock);
}

/* A module is about to go: what names its kernels is handed over first. */
void fake_deliver(void) {
    pthread_mutex_lock(&lock);
    deliver();
    pthread_mutex_unlock(&lock);
}

void fake_drop(size_t n) {
    dropped += n;
}
