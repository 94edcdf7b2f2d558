/* SPDX-License-Identifier: Apache-2.0
 *
 * A record generator behind CUPTI's interface: a libcupti.so.12 that has no device and makes
 * records as it is told, for tests of the tracer alone (the emulated device's CUPTI is the strict
 * one). A program drives it through fake_* below, found with dlsym; the environment sets what it
 * refuses: FAKE_SUBSCRIBE=39, FAKE_ENABLE=35, FAKE_VERSION=18, FAKE_SLOW_MS=200.
 */
#include "tracer/cupti_abi.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT cupti_result cuptiGetVersion(uint32_t *version);
EXPORT cupti_result cuptiSubscribe(cupti_subscriber *s, cupti_callback callback, void *user);
EXPORT cupti_result cuptiEnableCallback(uint32_t on, cupti_subscriber s, int domain, uint32_t cbid);
EXPORT cupti_result cuptiActivityRegisterCallbacks(cupti_buffer_requested r,
                                                   cupti_buffer_completed c);
EXPORT cupti_result cuptiActivityEnable(int kind);
EXPORT cupti_result cuptiActivityFlushAll(uint32_t flag);
EXPORT cupti_result cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, record_head **record);
EXPORT cupti_result cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *n);
EXPORT cupti_result cuptiActivityRegisterTimestampCallback(cupti_timestamp callback);
EXPORT void fake_kernel(const char *name, uint32_t grid, uint64_t start, uint64_t end);
EXPORT void fake_node(const char *name, uint64_t node, uint64_t start, uint64_t end);
EXPORT void fake_copy(uint64_t bytes, uint64_t start, uint64_t end);
EXPORT void fake_memory(uint32_t operation, uint64_t address, uint64_t bytes, uint64_t time);
EXPORT void fake_drop(size_t n);
EXPORT uint64_t fake_now(void);
EXPORT void fake_deliver(void);

static cupti_buffer_requested requested;
static cupti_buffer_completed completed;
static cupti_callback callback;
static void *callback_user;
static cupti_timestamp timestamp;
static bool callbacks_on, kinds[64];
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

cupti_result cuptiEnableCallback(uint32_t on, cupti_subscriber s, int domain, uint32_t cbid) {
    (void)s, (void)cbid;
    if (domain == DOMAIN_DRIVER)
        callbacks_on = on;
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

static void kernel(const char *name, uint32_t grid, uint64_t node, uint64_t start, uint64_t end) {
    pthread_mutex_lock(&lock);
    record_kernel r = {.kind = KIND_CONCURRENT_KERNEL,
                       .registers = 32,
                       .start = start,
                       .end = end,
                       .context = 1,
                       .stream = 7,
                       .grid = {(int32_t)grid, 1, 1},
                       .block = {256, 1, 1},
                       .shared_dynamic = 1024,
                       .correlation = ++correlation,
                       .name = name,
                       .graph_node = node,
                       .graph = node ? 3 : 0};
    callback_data data = {.site = SITE_ENTER, .correlation = correlation};
    if (callbacks_on)
        callback(callback_user, DOMAIN_DRIVER, CBID_LAUNCH_KERNEL, &data);
    append(KIND_CONCURRENT_KERNEL, &r, sizeof r);
    pthread_mutex_unlock(&lock);
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
