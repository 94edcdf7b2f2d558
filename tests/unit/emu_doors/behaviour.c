/* SPDX-License-Identifier: Apache-2.0
 *
 * What the driver's and CUPTI's doors do for clients that keep the rules: behaviour FOLDER CASE.
 * Each case is a process of its own; one that finds something wrong says where and ends with 3.
 */
#include "session.h"
#include <dlfcn.h>
#include <math.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static client_program program;
static const char *folder;

static void load(const char *cupti) {
    client_load(folder, cupti);
}

/* ---- The driver ---- */

static void driver_devices(void) {
    char name[64];
    int count = 0, device = -1, sms = 0, version = 0;
    size_t bytes = 0;
    const char *text;
    const void *table = &count;
    load("libcupti.so.13");
    CHECK(cu.cuDeviceGetCount(&count) == 3); /* not initialised */
    CHECK(cu.cuInit(1) == 1 && cu.cuInit(0) == 0);
    CHECK(cu.cuDriverGetVersion(&version) == 0 && version == 13000);
    CHECK(cu.cuDeviceGetCount(&count) == 0 && count == 1);
    CHECK(cu.cuDeviceGet(&device, 0) == 0 && device == 0);
    CHECK(cu.cuDeviceGet(&device, 1) == 101);
    CHECK(cu.cuDeviceGetName(name, sizeof name, 0) == 0 && strstr(name, "A100"));
    CHECK(cu.cuDeviceTotalMem_v2(&bytes, 0) == 0 && bytes > (size_t)70 << 30);
    CHECK(cu.cuDeviceGetAttribute(&sms, 16, 0) == 0 && sms == 108);
    CHECK(cu.cuGetErrorName(719, &text) == 0 && !strcmp(text, "CUDA_ERROR_LAUNCH_FAILED"));
    CHECK(cu.cuGetErrorName(-1, &text) == 1);
    CHECK(cu.cuGetExportTable(&table, NULL) == 801 && !table);
}

static void driver_contexts(void) {
    void *made, *primary, *now;
    int device = -1, active = 1;
    unsigned flags;
    unsigned long long p;
    load("libcupti.so.13");
    CHECK(cu.cuInit(0) == 0);
    CHECK(cu.cuCtxGetCurrent(&now) == 0 && !now);
    CHECK(cu.cuMemAlloc_v2(&p, 16) == 201); /* no context */
    CHECK(cu.cuDevicePrimaryCtxGetState(0, &flags, &active) == 0 && !active);
    CHECK(cu.cuCtxCreate_v2(&made, 0, 0) == 0);
    CHECK(cu.cuCtxGetCurrent(&now) == 0 && now == made);
    CHECK(cu.cuDevicePrimaryCtxRetain(&primary, 0) == 0 && primary != made);
    CHECK(cu.cuCtxPushCurrent_v2(primary) == 0);
    CHECK(cu.cuCtxGetDevice(&device) == 0 && device == 0);
    CHECK(cu.cuMemAlloc_v2(&p, 16) == 0 && cu.cuMemFree_v2(p) == 0);
    CHECK(cu.cuCtxPopCurrent_v2(&now) == 0 && now == primary);
    CHECK(cu.cuCtxDestroy_v2(made) == 0 && cu.cuCtxDestroy_v2(made) == 201);
    CHECK(cu.cuDevicePrimaryCtxRelease_v2(0) == 0 && cu.cuDevicePrimaryCtxRelease_v2(0) == 201);
}

static void driver_memory(void) {
    unsigned long long p, base, device;
    unsigned values[100], type;
    size_t size;
    load("libcupti.so.13");
    client_start();
    CHECK(cu.cuMemAlloc_v2(&p, sizeof values) == 0);
    CHECK(cu.cuMemsetD32_v2(p, 0x12345678, 100) == 0);
    CHECK(cu.cuMemsetD32_v2(p + 2, 0, 1) == 1);
    CHECK(cu.cuMemsetD32_v2(p, 0, 1000) == 1);
    CHECK(cu.cuMemcpyDtoH_v2(values, p, sizeof values) == 0);
    for (int i = 0; i < 100; i++)
        CHECK(values[i] == 0x12345678);
    CHECK(cu.cuMemGetAddressRange_v2(&base, &size, p + 8) == 0 && base == p &&
          size == sizeof values);
    CHECK(cu.cuPointerGetAttribute(&type, 2, p) == 0 && type == 2);
    CHECK(cu.cuPointerGetAttribute(&device, 3, p + 4) == 0 && device == p + 4);
    CHECK(cu.cuPointerGetAttribute(&type, 2, (uintptr_t)values) == 1);
    CHECK(cu.cuMemcpyDtoH_v2(values, p, sizeof values + 1) == 1);
    CHECK(cu.cuMemFree_v2(p) == 0 && cu.cuMemFree_v2(p) == 1);
}

static void driver_modules(void) {
    unsigned long long address;
    size_t size;
    void *none;
    const char *name;
    int threads = 0, grid = 0, block = 0, answer = 0;
    load("libcupti.so.13");
    client_start();
    client_prepare(&program, 1000);
    CHECK(cu.cuModuleLoadData(&none, "no PTX at all") != 0);
    CHECK(cu.cuModuleLoadData(&none, "\177ELF and more of it") == 209);
    CHECK(cu.cuModuleGetFunction(&none, program.module, "sub") == 500);
    CHECK(cu.cuModuleGetGlobal_v2(&address, &size, program.module, "answer") == 0 && size == 4);
    CHECK(cu.cuMemcpyDtoH_v2(&answer, address, 4) == 0 && answer == 42);
    CHECK(cu.cuFuncGetName(&name, program.kernel) == 0 && !strcmp(name, "add"));
    CHECK(cu.cuFuncGetAttribute(&threads, 0, program.kernel) == 0 && threads == 1024);
    CHECK(cu.cuOccupancyMaxPotentialBlockSize(&grid, &block, program.kernel, NULL, 0, 0) == 0);
    CHECK(block >= 32 && block % 32 == 0 && grid >= 108);
    client_launch(&program);
    client_finish(&program);
}

/* All arguments packed in one buffer, as old front ends do. */
static void driver_packed(void) {
    struct {
        unsigned long long a, b, c;
        int n;
    } packed;
    size_t size = sizeof packed, small = 8;
    load("libcupti.so.13");
    client_start();
    client_prepare(&program, 256);
    packed.a = program.a;
    packed.b = program.b;
    packed.c = program.c;
    packed.n = program.n;
    void *extra[] = {(void *)1, &packed, (void *)2, &size, NULL};
    CHECK(cu.cuLaunchKernel(program.kernel, 2, 1, 1, 128, 1, 1, 0, NULL, NULL, extra) == 0);
    extra[3] = &small;
    CHECK(cu.cuLaunchKernel(program.kernel, 2, 1, 1, 128, 1, 1, 0, NULL, NULL, extra) == 1);
    CHECK(cu.cuLaunchKernel(program.kernel, 2, 1, 1, 2048, 1, 1, 0, NULL, extra, NULL) == 1);
    client_finish(&program);
}

static void driver_events(void) {
    void *stream, *a, *b;
    float ms = -1;
    load("libcupti.so.13");
    client_start();
    client_prepare(&program, 100000);
    CHECK(cu.cuStreamCreate(&stream, 0) == 0);
    CHECK(cu.cuEventCreate(&a, 0) == 0 && cu.cuEventCreate(&b, 0) == 0);
    CHECK(cu.cuEventRecord(a, NULL) == 0);
    client_launch(&program);
    CHECK(cu.cuEventRecord(b, NULL) == 0 && cu.cuEventSynchronize(b) == 0);
    CHECK(cu.cuEventElapsedTime(&ms, a, b) == 0 && ms > 0);
    CHECK(cu.cuStreamSynchronize(stream) == 0 && cu.cuStreamDestroy_v2(stream) == 0);
    CHECK(cu.cuStreamDestroy_v2(stream) == 400);
    client_finish(&program);
}

static void driver_entry_points(void) {
    void *function = NULL;
    int status = -1;
    load("libcupti.so.13");
    CHECK(cu.cuGetProcAddress_v2("cuMemAlloc", &function, 13000, 0, &status) == 0);
    CHECK(function == (void *)cu.cuMemAlloc_v2 && status == 0);
    CHECK(cu.cuGetProcAddress_v2("cuCtxCreate", &function, 12040, 0, &status) == 0);
    CHECK(function == (void *)cu.cuCtxCreate_v2);
    CHECK(cu.cuGetProcAddress_v2("cuNothing", &function, 13000, 0, &status) == 500 && status == 1);
}

/* ---- Activity ---- */

static void records(void) {
    load("libcupti.so.13");
    client_start();
    client_trace();
    client_prepare(&program, 1000);
    client_launch(&program);
    client_finish(&program);
    CHECK(cu.cuptiActivityFlushAll(1) == 0);
    CHECK(client_records[KIND_CONCURRENT_KERNEL] == 1 && client_records[KIND_MEMCPY] == 3);
    CHECK(client_records[KIND_MEMORY2] == 6 && client_records[KIND_DEVICE] == 1);
    const record_kernel *k = &client_last_kernel;
    CHECK(!strcmp(client_last_name, "add") && k->grid[0] == 8 && k->block[0] == 128);
    CHECK(k->end > k->start && k->completed == k->end && k->correlation > 0 && k->registers > 0);
}

/* What is not complete stays until it is: the clock of the host passes only in calls that wait. */
static void incomplete(void) {
    load("libcupti.so.13");
    client_start();
    client_trace();
    client_prepare(&program, 1000);
    client_launch(&program);
    CHECK(cu.cuptiActivityFlushAll(0) == 0);
    CHECK(client_records[KIND_CONCURRENT_KERNEL] == 0);
    CHECK(cu.cuCtxSynchronize() == 0 && cu.cuptiActivityFlushAll(0) == 0);
    CHECK(client_records[KIND_CONCURRENT_KERNEL] == 1);
    client_launch(&program);
    CHECK(cu.cuptiActivityFlushAll(1) == 0);
    CHECK(client_records[KIND_CONCURRENT_KERNEL] == 2);
    client_finish(&program);
    cu.cuptiActivityFlushAll(1);
}

static void small_buffer(uint8_t **buffer, size_t *size, size_t *most) {
    client_buffer_requested(buffer, size, most);
    *most = 4; /* records */
}

static void trace_small(void) {
    CHECK(cu.cuptiSubscribe(&client_subscriber, (cupti_callback)abort, NULL) == 0);
    CHECK(cu.cuptiActivityRegisterCallbacks(small_buffer, client_buffer_completed) == 0);
    CHECK(cu.cuptiActivityEnable(KIND_CONCURRENT_KERNEL) == 0);
}

/* Full buffers go out by themselves. */
static void worker(void) {
    load("libcupti.so.13");
    client_start();
    trace_small();
    client_prepare(&program, 100);
    for (int i = 0; i < 10; i++)
        client_launch(&program);
    CHECK(cu.cuCtxSynchronize() == 0);
    client_launch(&program);
    for (int i = 0; i < 100 && client_records[KIND_CONCURRENT_KERNEL] < 8; i++)
        usleep(20000);
    CHECK(client_records[KIND_CONCURRENT_KERNEL] == 8);
    CHECK(cu.cuptiActivityFlushAll(1) == 0 && client_records[KIND_CONCURRENT_KERNEL] == 11);
    client_finish(&program);
}

static void check_size(const char *cupti_version, size_t expected) {
    uint8_t bytes[512] __attribute__((aligned(8))) = {0};
    void *record = NULL;
    setenv("ROOFPROF_EMU_CUPTI_VERSION", cupti_version, 1);
    ((uint32_t *)(void *)bytes)[0] = KIND_CONCURRENT_KERNEL;
    ((uint32_t *)(void *)(bytes + expected))[0] = KIND_MEMCPY;
    CHECK(cu.cuptiActivityGetNextRecord(bytes, sizeof bytes, &record) == 0 && record == bytes);
    CHECK(cu.cuptiActivityGetNextRecord(bytes, sizeof bytes, &record) == 0);
    CHECK(record == bytes + expected);
    unsetenv("ROOFPROF_EMU_CUPTI_VERSION");
}

static void layouts(void) {
    load("libcupti.so.13");
    client_start();
    check_size("13", 160);
    check_size("15", 168);
    check_size("18", 200);
    check_size("22", 208);
    check_size("130001", 216);
}

static record_api last_call;
static record_external last_external;

static void keep_calls(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid) {
    void *record = NULL;
    (void)context, (void)stream, (void)size;
    while (cu.cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_OK) {
        uint32_t kind = *(const uint32_t *)record;
        const record_api *call = record;
        if (kind == KIND_DRIVER && call->cbid == 307)
            last_call = *call;
        if (kind == KIND_EXTERNAL_CORRELATION)
            last_external = *(const record_external *)record;
    }
    free(buffer);
}

static void calls(void) {
    uint64_t popped = 0;
    load("libcupti.so.13");
    client_start();
    CHECK(cu.cuptiActivityRegisterCallbacks(client_buffer_requested, keep_calls) == 0);
    CHECK(cu.cuptiActivityEnable(KIND_DRIVER) == 0);
    CHECK(cu.cuptiActivityEnable(KIND_EXTERNAL_CORRELATION) == 0);
    client_prepare(&program, 10);
    CHECK(cu.cuptiActivityPushExternalCorrelationId(3, 77) == 0);
    client_launch(&program);
    CHECK(cu.cuptiActivityPopExternalCorrelationId(3, &popped) == 0 && popped == 77);
    CHECK(cu.cuptiActivityPopExternalCorrelationId(3, &popped) == CUPTI_QUEUE_EMPTY);
    client_finish(&program);
    CHECK(cu.cuptiActivityFlushAll(1) == 0);
    CHECK(last_call.correlation && last_call.correlation == last_external.correlation);
    CHECK(last_external.external == 77 && last_external.external_kind == 3);
}

/* ---- Callbacks ---- */

static struct {
    int enters, exits, contexts;
    uint32_t correlation;
    char symbol[64];
    unsigned grid;
} seen;

static void on_event(void *user, int domain, uint32_t id, const void *data) {
    const callback_data *d = data;
    CHECK(user == &seen);
    if (domain == DOMAIN_RESOURCE) {
        seen.contexts += id == RESOURCE_CONTEXT_CREATED;
        return;
    }
    CHECK(domain == DOMAIN_DRIVER && id == 307 && !strcmp(d->function, "cuLaunchKernel"));
    if (d->site == SITE_ENTER) {
        const unsigned *arguments = (const unsigned *)((const char *)d->parameters + 8);
        seen.enters++;
        seen.grid = arguments[0];
        *d->correlation_data = 99;
        seen.correlation = d->correlation;
        snprintf(seen.symbol, sizeof seen.symbol, "%s", d->symbol);
    } else {
        seen.exits++;
        CHECK(*d->correlation_data == 99 && d->correlation == seen.correlation);
        CHECK(d->context && d->context_uid == 1 && *(int *)d->return_value == 0);
    }
}

static void callbacks(void) {
    void *second;
    load("libcupti.so.13");
    CHECK(cu.cuInit(0) == 0);
    CHECK(cu.cuptiSubscribe(&client_subscriber, on_event, &seen) == 0);
    CHECK(cu.cuptiSubscribe(&second, on_event, NULL) == CUPTI_MULTIPLE_SUBSCRIBERS);
    CHECK(cu.cuptiEnableCallback(1, client_subscriber, DOMAIN_RESOURCE, RESOURCE_CONTEXT_CREATED) ==
          0);
    CHECK(cu.cuptiEnableCallback(1, client_subscriber, DOMAIN_DRIVER, 307) == 0);
    client_start();
    CHECK(seen.contexts == 1);
    client_prepare(&program, 1000);
    client_launch(&program);
    CHECK(seen.enters == 1 && seen.exits == 1 && !strcmp(seen.symbol, "add") && seen.grid == 8);
    CHECK(cu.cuptiUnsubscribe(client_subscriber) == 0);
    client_launch(&program);
    CHECK(seen.enters == 1);
    CHECK(cu.cuptiSubscribe(&second, on_event, NULL) == 0);
    client_finish(&program);
}

/* A program of the driver's makes its own context: no primary one appears beside it. */
/* What a few functions were called with, in the order of their arguments. */
static struct {
    int allocations, copies, fills, frees;
    unsigned long long block;
} asked;

static void on_call(void *user, int domain, uint32_t id, const void *data) {
    const callback_data *d = data;
    CHECK(user == &asked && domain == DOMAIN_DRIVER);
    if (d->site == SITE_ENTER)
        return;
    if (id == 243) { /* cuMemAlloc_v2 */
        const struct {
            unsigned long long *out;
            size_t size;
        } *p = d->parameters;
        CHECK(p->size == 4096);
        asked.block = *p->out; /* it is there at exit */
        asked.allocations++;
    } else if (id == 276) { /* cuMemcpyHtoD_v2 */
        const struct {
            unsigned long long to;
            const void *from;
            size_t size;
        } *p = d->parameters;
        CHECK(p->to == asked.block + 8 && p->from == &asked && p->size == 24);
        asked.copies++;
    } else if (id == 251) { /* cuMemsetD32_v2 */
        const struct {
            unsigned long long to;
            unsigned value;
            size_t count;
        } *p = d->parameters;
        CHECK(p->to == asked.block && p->value == 0xabcdef01 && p->count == 7);
        asked.fills++;
    } else if (id == 245) { /* cuMemFree_v2 */
        CHECK(*(const unsigned long long *)d->parameters == asked.block);
        asked.frees++;
    }
}

static void parameters(void) {
    static const uint32_t ids[] = {243, 276, 251, 245};
    unsigned long long p;
    load("libcupti.so.13");
    client_start();
    CHECK(cu.cuptiSubscribe(&client_subscriber, on_call, &asked) == 0);
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        CHECK(cu.cuptiEnableCallback(1, client_subscriber, DOMAIN_DRIVER, ids[i]) == 0);
    CHECK(cu.cuMemAlloc_v2(&p, 4096) == 0 && p == asked.block);
    CHECK(cu.cuMemcpyHtoD_v2(p + 8, &asked, 24) == 0);
    CHECK(cu.cuMemsetD32_v2(p, 0xabcdef01, 7) == 0);
    CHECK(cu.cuMemFree_v2(p) == 0);
    CHECK(asked.allocations == 1 && asked.copies == 1 && asked.fills == 1 && asked.frees == 1);
    CHECK(cu.cuptiUnsubscribe(client_subscriber) == 0);
}

static void made_context(void) {
    void *made;
    load("libcupti.so.13");
    CHECK(cu.cuInit(0) == 0);
    CHECK(cu.cuptiSubscribe(&client_subscriber, on_event, &seen) == 0);
    CHECK(cu.cuptiEnableCallback(1, client_subscriber, DOMAIN_RESOURCE, RESOURCE_CONTEXT_CREATED) ==
          0);
    CHECK(cu.cuCtxCreate_v2(&made, 0, 0) == 0 && seen.contexts == 1);
    client_prepare(&program, 100);
    client_launch(&program);
    client_finish(&program);
    CHECK(seen.contexts == 1);
    session_initialize();
    session s = {0};
    CHECK(session_enable(&s) == 0 && session_disable(&s) == 0 && session_deinitialize() == 0);
    CHECK(cu.cuCtxDestroy_v2(made) == 0);
    CHECK(cu.cuptiRangeProfilerEnable(&(range_enable_params){
              .size = sizeof(range_enable_params), .context = made}) == CUPTI_NOT_INITIALIZED);
}

static void refusals(void) {
    const char *text;
    setenv("ROOFPROF_EMU_CUPTI_REFUSE", "subscribe=39,Profiler=35,ActivityEnable=slow:20", 1);
    load("libcupti.so.13");
    client_start();
    CHECK(cu.cuptiSubscribe(&client_subscriber, on_event, NULL) == 39);
    CHECK(cu.cuptiProfilerInitialize(&(profiler_params){.size = sizeof(profiler_params)}) == 35);
    CHECK(cu.cuptiGetResultString(35, &text) == 0 &&
          !strcmp(text, "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES"));
    CHECK(cu.cuptiGetResultString(12345, &text) == CUPTI_INVALID_PARAMETER);
    struct timespec before, after;
    clock_gettime(CLOCK_MONOTONIC, &before);
    CHECK(cu.cuptiActivityEnable(KIND_MEMCPY) == 0);
    clock_gettime(CLOCK_MONOTONIC, &after);
    CHECK((after.tv_sec - before.tv_sec) * 1000000000 + after.tv_nsec - before.tv_nsec >= 20000000);
    CHECK(cu.cuptiActivityEnable(KINDS) == CUPTI_INVALID_KIND);
    CHECK(cu.cuptiActivityEnable(KIND_CONCURRENT_KERNEL) == 0);
    CHECK(cu.cuptiActivityEnable(KIND_KERNEL) == CUPTI_NOT_COMPATIBLE);
}

static void version_12(void) {
    uint32_t v = 0;
    load("libcupti.so.12");
    CHECK(cu.cuptiGetVersion(&v) == 0 && v == 22);
    CHECK(!cu.cuptiRangeProfilerEnable && !cu.cuptiProfilerHostInitialize);
    client_start();
    CHECK(cu.cuptiProfilerInitialize(&(profiler_params){.size = sizeof(profiler_params)}) == 0);
}

/* ---- Ranges ---- */

static session s;
static const int n = 1000;

static void open_session(const char **metrics, size_t count, size_t ranges) {
    load("libcupti.so.13");
    client_start();
    client_prepare(&program, n);
    session_initialize();
    CHECK(session_enable(&s) == 0);
    session_configure(&s, metrics, count, ranges);
}

static double value(size_t range, const char *metric) {
    double v = -1;
    CHECK(session_value(&s, range, metric, &v) == 0);
    return v;
}

static void close_session(void) {
    client_finish(&program);
    CHECK(session_disable(&s) == 0 && session_deinitialize() == 0);
}

static void ranges_auto(void) {
    uint8_t all = 0;
    size_t dropped = 9;
    open_session(session_metrics, SESSION_METRICS, 2);
    CHECK(session_set(&s, RANGE_AUTO, REPLAY_KERNEL, 0) == 0 && session_start(&s) == 0);
    for (int i = 0; i < 3; i++)
        client_launch(&program);
    CHECK(session_stop(&s, &all, NULL) == 0 && all);
    CHECK(session_decode(&s, &dropped) == 0 && dropped == 1 && session_ranges(&s) == 2);
    for (size_t i = 0; i < 2; i++) {
        CHECK(value(i, "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum") == n);
        CHECK(value(i, "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum") == 0);
        CHECK(value(i, "smsp__sass_data_bytes_mem_global.sum") == 12.0 * n);
        CHECK(value(i, "lts__t_sectors_op_write.sum") == n / 8);
        CHECK(value(i, "gpu__time_duration.sum") > 0 && value(i, "dram__bytes_read.sum") >= 8 * n);
        CHECK(fabs(value(i, "sm__cycles_elapsed.max") - value(i, "gpu__time_duration.sum") * 1.41) <
              1);
        CHECK(value(i, "sm__sass_thread_inst_executed_op_ffma_pred_on.sum.peak_sustained") ==
              64 * 108);
    }
    host_range_name_params name = {
        .size = sizeof name, .image = s.image, .image_size = s.image_size, .index = 1};
    CHECK(cu.cuptiProfilerHostGetRangeName(&name) == 0 && !strcmp(name.name, "1"));
    free((void *)(uintptr_t)name.name);
    close_session();
}

static void ranges_user(void) {
    uint8_t all = 0;
    open_session(session_metrics, SESSION_METRICS, 8);
    CHECK(s.passes == 2 && session_set(&s, RANGE_USER, REPLAY_USER, 0) == 0);
    for (int pass = 0; pass < 2; pass++) {
        CHECK(session_start(&s) == 0 && session_push(&s, "step") == 0);
        client_launch(&program);
        CHECK(session_push(&s, "inner") == 0);
        client_launch(&program);
        CHECK(session_pop(&s) == 0 && session_pop(&s) == 0);
        client_launch(&program); /* in no range */
        CHECK(session_stop(&s, &all, NULL) == 0 && all == (pass == 1));
    }
    CHECK(session_decode(&s, NULL) == 0 && session_ranges(&s) == 2);
    range_name_params name = {
        .size = sizeof name, .image = s.image, .image_size = s.image_size, .delimiter = "::"};
    CHECK(cu.cuptiRangeProfilerCounterDataGetRangeInfo(&name) == 0);
    CHECK(!strcmp(name.name, "step::inner"));
    free((void *)(uintptr_t)name.name);
    CHECK(value(0, "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum") == n);
    CHECK(value(1, "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum") == 2 * n);
    close_session();
}

/* With a real host interface the chip's own metrics and passes count; NAMES of the sets of the fact
 * sheets are single-pass there. Skipped (77) without one. */
static void real_host(void) {
    static const char *hardware[] = {"gpu__time_duration.sum", "sm__cycles_elapsed.max",
                                     "dram__bytes_read.sum",   "dram__bytes_write.sum",
                                     "lts__t_bytes.sum",       "l1tex__t_bytes.sum"};
    static const char *wrong = "no__such_metric.sum";
    const char *path = getenv("ROOFPROF_EMU_REAL_CUPTI");
    if (!path || access(path, R_OK) != 0)
        exit(77);
    open_session(hardware, sizeof hardware / sizeof *hardware, 4);
    CHECK(s.passes == 1);
    host_add_params add = {.size = sizeof add, .host = s.host, .names = &wrong, .count = 1};
    CHECK(cu.cuptiProfilerHostConfigAddMetrics(&add) != 0);
    client_launch(&program);
    close_session();
}

/* ---- NVML ---- */

typedef struct nvml_api {
    int (*init)(void), (*shutdown)(void);
    int (*handle)(unsigned, void **);
    int (*name)(void *, char *, unsigned);
    int (*memory)(void *, unsigned long long *);
    int (*utilization)(void *, unsigned *);
    int (*clock)(void *, int, unsigned *);
    int (*power)(void *, unsigned *), (*limit)(void *, unsigned *), (*fan)(void *, unsigned *);
    int (*throttle)(void *, unsigned long long *);
    int (*processes)(void *, unsigned *, void *);
} nvml_api;

static nvml_api load_nvml(void) {
    nvml_api api;
    char path[4096];
    snprintf(path, sizeof path, "%s/libnvidia-ml.so.1", folder);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    CHECK(library);
    const struct {
        const char *name;
        void **slot;
    } symbols[] = {{"nvmlInit_v2", (void **)&api.init},
                   {"nvmlShutdown", (void **)&api.shutdown},
                   {"nvmlDeviceGetHandleByIndex_v2", (void **)&api.handle},
                   {"nvmlDeviceGetName", (void **)&api.name},
                   {"nvmlDeviceGetMemoryInfo", (void **)&api.memory},
                   {"nvmlDeviceGetUtilizationRates", (void **)&api.utilization},
                   {"nvmlDeviceGetClockInfo", (void **)&api.clock},
                   {"nvmlDeviceGetPowerUsage", (void **)&api.power},
                   {"nvmlDeviceGetEnforcedPowerLimit", (void **)&api.limit},
                   {"nvmlDeviceGetFanSpeed", (void **)&api.fan},
                   {"nvmlDeviceGetCurrentClocksThrottleReasons", (void **)&api.throttle},
                   {"nvmlDeviceGetComputeRunningProcesses_v3", (void **)&api.processes}};
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++)
        CHECK((*symbols[i].slot = dlsym(library, symbols[i].name)));
    return api;
}

static void nvml(void) {
    enum { UNINITIALIZED = 1, NOT_SUPPORTED = 3, INSUFFICIENT_SIZE = 7, CLOCK_SM = 1 };
    struct {
        unsigned pid;
        unsigned long long used;
        unsigned instances[2];
    } process;
    char name[96];
    void *device;
    unsigned long long memory[3], reasons = 9;
    unsigned rates[2] = {999, 999}, value = 0, count = 1;
    load("libcupti.so.13");
    nvml_api api = load_nvml();
    CHECK(api.handle(0, &device) == UNINITIALIZED && api.init() == 0);
    CHECK(api.handle(1, &device) != 0 && api.handle(0, &device) == 0);
    CHECK(api.name(device, name, sizeof name) == 0 && strstr(name, "A100"));
    CHECK(api.name(device, name, 3) == INSUFFICIENT_SIZE);
    CHECK(api.clock(device, CLOCK_SM, &value) == 0 && value == 1410);
    CHECK(api.limit(device, &value) == 0 && value == 400000);
    CHECK(api.power(device, &value) == NOT_SUPPORTED && api.fan(device, &value) == NOT_SUPPORTED);
    CHECK(api.throttle(device, &reasons) == 0 && reasons == 0);
    CHECK(api.processes(device, &count, &process) == 0 && count == 0);
    client_start();
    client_prepare(&program, 1000000);
    CHECK(api.memory(device, memory) == 0 && memory[2] >= 12000000);
    CHECK(memory[0] == memory[1] + memory[2]);
    CHECK(api.utilization(device, rates) == 0 && rates[0] == 0);
    client_launch(&program);
    CHECK(cu.cuCtxSynchronize() == 0);
    CHECK(api.utilization(device, rates) == 0 && rates[0] == 100);
    count = 0;
    CHECK(api.processes(device, &count, NULL) == INSUFFICIENT_SIZE && count == 1);
    CHECK(api.processes(device, &count, &process) == 0 && process.pid == (unsigned)getpid());
    setenv("ROOFPROF_EMU_NVML", "power=350,throttle=0x4", 1);
    CHECK(api.power(device, &value) == 0 && value == 350000);
    CHECK(api.throttle(device, &reasons) == 0 && reasons == 4);
    client_finish(&program);
    CHECK(api.shutdown() == 0 && api.shutdown() == UNINITIALIZED);
}

/* The machine's devices, whatever CUDA_VISIBLE_DEVICES lets the program see. */
static void nvml_hidden(void) {
    char name[96];
    int count = 0;
    void *handle = NULL;
    load("libcupti.so.13");
    CHECK(cu.cuInit(0) == 0 && cu.cuDeviceGetCount(&count) == 0 && count == 1);
    CHECK(cu.cuDeviceGetName(name, sizeof name, 0) == 0 && strstr(name, "H100"));
    nvml_api api = load_nvml();
    CHECK(api.init() == 0);
    CHECK(api.handle(0, &handle) == 0 && api.name(handle, name, sizeof name) == 0);
    CHECK(strstr(name, "A100"));
    CHECK(api.handle(1, &handle) == 0 && api.name(handle, name, sizeof name) == 0);
    CHECK(strstr(name, "H100"));
    CHECK(api.handle(2, &handle) != 0);
    CHECK(api.shutdown() == 0);
}

/* ---- NVRTC: the toolkit's own compiler, at run time ---- */

static const char source[] = "extern \"C\" __global__ void scale(float *x, float f, int n) {\n"
                             "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                             "  if (i < n) x[i] *= f;\n"
                             "}\n";

static char *compile(void) {
    static const char *const options[] = {"--gpu-architecture=compute_80"};
    void *library = dlopen("libnvrtc.so.13", RTLD_NOW);
    if (!library)
        library = dlopen("/usr/local/cuda/lib64/libnvrtc.so.13", RTLD_NOW);
    if (!library)
        exit(77);
    int (*create)(void **, const char *, const char *, int, const char *const *,
                  const char *const *) =
        (int (*)(void **, const char *, const char *, int, const char *const *,
                 const char *const *))dlsym(library, "nvrtcCreateProgram");
    int (*build)(void *, int, const char *const *) =
        (int (*)(void *, int, const char *const *))dlsym(library, "nvrtcCompileProgram");
    int (*size_of)(void *, size_t *) = (int (*)(void *, size_t *))dlsym(library, "nvrtcGetPTXSize");
    int (*get)(void *, char *) = (int (*)(void *, char *))dlsym(library, "nvrtcGetPTX");
    void *p;
    size_t size = 0;
    CHECK(create && build && size_of && get);
    CHECK(create(&p, source, "scale.cu", 0, NULL, NULL) == 0 && build(p, 1, options) == 0);
    CHECK(size_of(p, &size) == 0);
    char *ptx = malloc(size);
    CHECK(ptx && get(p, ptx) == 0);
    return ptx;
}

static void nvrtc(void) {
    enum { N = 500 };
    float host[N], factor = 3;
    void *module, *kernel;
    unsigned long long x;
    int count = N;
    load("libcupti.so.13");
    char *ptx = compile();
    client_start();
    CHECK(cu.cuModuleLoadData(&module, ptx) == 0);
    free(ptx);
    CHECK(cu.cuModuleGetFunction(&kernel, module, "scale") == 0);
    CHECK(cu.cuMemAlloc_v2(&x, sizeof host) == 0);
    for (int i = 0; i < N; i++)
        host[i] = (float)i;
    CHECK(cu.cuMemcpyHtoD_v2(x, host, sizeof host) == 0);
    void *arguments[] = {&x, &factor, &count};
    CHECK(cu.cuLaunchKernel(kernel, 4, 1, 1, 128, 1, 1, 0, NULL, arguments, NULL) == 0);
    CHECK(cu.cuMemcpyDtoH_v2(host, x, sizeof host) == 0);
    for (int i = 0; i < N; i++)
        CHECK(host[i] == 3 * (float)i);
    CHECK(cu.cuMemFree_v2(x) == 0 && cu.cuModuleUnload(module) == 0);
}

static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {{"driver-devices", driver_devices},
             {"driver-contexts", driver_contexts},
             {"driver-memory", driver_memory},
             {"driver-modules", driver_modules},
             {"driver-packed", driver_packed},
             {"driver-events", driver_events},
             {"driver-entry-points", driver_entry_points},
             {"records", records},
             {"incomplete", incomplete},
             {"worker", worker},
             {"layouts", layouts},
             {"calls", calls},
             {"callbacks", callbacks},
             {"parameters", parameters},
             {"made-context", made_context},
             {"refusals", refusals},
             {"version-12", version_12},
             {"ranges-auto", ranges_auto},
             {"ranges-user", ranges_user},
             {"real-host", real_host},
             {"nvml", nvml},
             {"nvml-hidden", nvml_hidden},
             {"nvrtc", nvrtc}};

int main(int argc, char **argv) {
    CHECK(argc == 3);
    folder = argv[1];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (!strcmp(cases[i].name, argv[2])) {
            cases[i].run();
            return 0;
        }
    fprintf(stderr, "no such case: %s\n", argv[2]);
    return 2;
}
