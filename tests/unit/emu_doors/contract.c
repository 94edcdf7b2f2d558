/* SPDX-License-Identifier: Apache-2.0
 *
 * Clients that break one rule of CUPTI's each: contract FOLDER RULE. The strict door must name the
 * rule on stderr; CMakeLists.txt makes a test of every case. "clean" breaks none, and must hear
 * nothing.
 */
#include "session.h"
#include <pthread.h>
#include <string.h>

static client_program program;

static void traced_work(void) {
    client_start();
    client_trace();
    client_prepare(&program, 1000);
    client_launch(&program);
    client_finish(&program);
}

/* ---- Tracing ---- */

static void clean(void) {
    traced_work();
    CHECK(cu.cuptiActivityFlushAll(1) == 0);
    CHECK(client_records[KIND_CONCURRENT_KERNEL] == 1);
}

static uint64_t our_clock(void) {
    return 1;
}

static void timestamp_after_records(void) {
    traced_work();
    cu.cuptiActivityRegisterTimestampCallback(our_clock);
    cu.cuptiActivityFlushAll(1);
}

static void working_callback(void *user, int domain, uint32_t id, const void *data) {
    const callback_data *d = data;
    (void)user, (void)domain, (void)id;
    if (d->site == SITE_ENTER)
        cu.cuCtxSynchronize();
}

static void cuda_in_callback(void) {
    enum { LAUNCH_KERNEL = 307 };
    client_start();
    CHECK(cu.cuptiSubscribe(&client_subscriber, working_callback, NULL) == 0);
    CHECK(cu.cuptiEnableCallback(1, client_subscriber, DOMAIN_DRIVER, LAUNCH_KERNEL) == 0);
    client_prepare(&program, 10);
    client_launch(&program);
    client_finish(&program);
}

static void struct_size(void) {
    client_start();
    CHECK(cu.cuptiProfilerInitialize(&(profiler_params){.size = 4}) == CUPTI_INVALID_PARAMETER);
}

static void not_subscribed(void) {
    client_start();
    CHECK(cu.cuptiEnableCallback(1, &program, DOMAIN_DRIVER, 307) == CUPTI_INVALID_PARAMETER);
}

static void whole_domain(void) {
    client_start();
    client_trace();
    CHECK(cu.cuptiEnableDomain(1, client_subscriber, DOMAIN_RUNTIME) == 0);
    cu.cuptiActivityFlushAll(1);
}

static void odd_buffer(uint8_t **buffer, size_t *size, size_t *most) {
    static uint8_t bytes[64 << 10] __attribute__((aligned(8)));
    *buffer = bytes + 4;
    *size = sizeof bytes - 8;
    *most = 0;
}

static void no_buffer(uint8_t **buffer, size_t *size, size_t *most) {
    *buffer = NULL;
    *size = *most = 0;
}

static void keep_buffer(void *context, uint32_t stream, uint8_t *buffer, size_t size,
                        size_t valid) {
    (void)context, (void)stream, (void)buffer, (void)size, (void)valid;
}

static void trace_into(cupti_buffer_requested requested, cupti_buffer_completed completed) {
    client_start();
    CHECK(cu.cuptiSubscribe(&client_subscriber, working_callback, NULL) == 0);
    if (requested)
        CHECK(cu.cuptiActivityRegisterCallbacks(requested, completed) == 0);
    CHECK(cu.cuptiActivityEnable(KIND_CONCURRENT_KERNEL) == 0);
    client_prepare(&program, 10);
    client_launch(&program);
    client_finish(&program);
}

static void buffer_alignment(void) {
    trace_into(odd_buffer, keep_buffer);
    cu.cuptiActivityFlushAll(1);
}

static void null_buffer(void) {
    size_t dropped = 0;
    trace_into(no_buffer, keep_buffer);
    CHECK(cu.cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped) == 0 && dropped == 1);
    CHECK(cu.cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped) == 0 && dropped == 0);
}

static void no_buffer_callbacks(void) {
    trace_into(NULL, NULL);
}

static void next_record(void) {
    uint64_t bytes[8] = {UINT64_MAX};
    void *record = NULL;
    client_start();
    CHECK(cu.cuptiActivityGetNextRecord((uint8_t *)bytes, sizeof bytes, &record) ==
          CUPTI_INVALID_KIND);
}

static void second_registration(void) {
    client_start();
    client_trace();
    CHECK(cu.cuptiActivityRegisterCallbacks(odd_buffer, keep_buffer) == 0);
    cu.cuptiActivityFlushAll(1);
}

static pthread_mutex_t client_lock = PTHREAD_MUTEX_INITIALIZER;

static void locking_completed(void *context, uint32_t stream, uint8_t *buffer, size_t size,
                              size_t valid) {
    (void)context, (void)stream, (void)size, (void)valid;
    pthread_mutex_lock(&client_lock);
    pthread_mutex_unlock(&client_lock);
    free(buffer);
}

static void lock_held_across_flush(void) {
    trace_into(client_buffer_requested, locking_completed);
    pthread_mutex_lock(&client_lock);
    cu.cuptiActivityFlushAll(1);
    pthread_mutex_unlock(&client_lock);
}

static void flushing_completed(void *context, uint32_t stream, uint8_t *buffer, size_t size,
                               size_t valid) {
    (void)context, (void)stream, (void)size, (void)valid;
    CHECK(cu.cuptiActivityFlushAll(0) == CUPTI_INVALID_OPERATION);
    free(buffer);
}

static void flush_in_callback(void) {
    trace_into(client_buffer_requested, flushing_completed);
    cu.cuptiActivityFlushAll(1);
}

static void flush_before_callbacks(void) {
    client_start();
    CHECK(cu.cuptiActivityFlushAll(0) == CUPTI_INVALID_OPERATION);
}

static void unflushed_at_exit(void) {
    traced_work();
}

static void enable_after_load(void) {
    client_start();
    client_prepare(&program, 10);
    client_trace();
    client_launch(&program);
    client_finish(&program);
    cu.cuptiActivityFlushAll(1);
}

static void no_subscriber(void) {
    client_start();
    CHECK(cu.cuptiActivityRegisterCallbacks(client_buffer_requested, client_buffer_completed) == 0);
    CHECK(cu.cuptiActivityEnable(KIND_MEMCPY) == 0);
}

static void finalize_outside_callback(void) {
    clean();
    cu.cuptiFinalize();
}

/* ---- Profiling ---- */

static session s;

static void profiled_start(void) {
    client_start();
    client_prepare(&program, 1000);
    client_launch(&program); /* its result is checked at the end, whatever is profiled */
    session_initialize();
    CHECK(session_enable(&s) == 0);
    session_configure(&s, session_metrics, SESSION_METRICS, 16);
}

static void profiled_end(void) {
    client_finish(&program);
    CHECK(session_disable(&s) == 0);
    CHECK(session_deinitialize() == 0);
}

static void clean_profile(void) {
    uint8_t all;
    profiled_start();
    CHECK(session_set(&s, RANGE_AUTO, REPLAY_KERNEL, 0) == 0 && session_start(&s) == 0);
    client_launch(&program);
    CHECK(session_stop(&s, &all, NULL) == 0 && all && session_decode(&s, NULL) == 0);
    CHECK(session_ranges(&s) == 1);
    profiled_end();
}

static void metric_not_in_image(void) {
    uint8_t all;
    double value;
    profiled_start();
    CHECK(session_set(&s, RANGE_AUTO, REPLAY_KERNEL, 0) == 0 && session_start(&s) == 0);
    client_launch(&program);
    CHECK(session_stop(&s, &all, NULL) == 0 && session_decode(&s, NULL) == 0);
    CHECK(session_value(&s, 0, "l1tex__t_bytes.sum", &value) == CUPTI_INVALID_METRIC_NAME);
    profiled_end();
}

/* The real library crashes here, and this door with it: ROOFPROF_EMU_CUPTI_VERSION says of one that
 * does not. */
static void before_driver(void) {
    chip_name_params p = {.size = sizeof p};
    cu.cuptiDeviceGetChipName(&p);
}

static void profiler_not_initialized(void) {
    client_start();
    CHECK(session_enable(&s) == CUPTI_NOT_INITIALIZED);
}

static void deinitialize_while_enabled(void) {
    profiled_start();
    session_deinitialize();
    session_disable(&s);
}

static void not_enabled(void) {
    client_start();
    session_initialize();
    s.object = &s;
    CHECK(session_start(&s) == CUPTI_INVALID_PARAMETER);
}

static void enabled_twice(void) {
    session other = {0};
    profiled_start();
    CHECK(session_enable(&other) == CUPTI_INVALID_OPERATION);
    profiled_end();
}

static void disable_while_started(void) {
    profiled_start();
    CHECK(session_set(&s, RANGE_AUTO, REPLAY_KERNEL, 0) == 0 && session_start(&s) == 0);
    CHECK(session_disable(&s) == CUPTI_INVALID_OPERATION);
}

static void undecoded_ranges(void) {
    uint8_t all;
    profiled_start();
    CHECK(session_set(&s, RANGE_AUTO, REPLAY_KERNEL, 0) == 0 && session_start(&s) == 0);
    client_launch(&program);
    CHECK(session_stop(&s, &all, NULL) == 0);
    profiled_end();
}

static void image_size(void) {
    range_image_params p = {.size = sizeof p};
    profiled_start();
    p.object = s.object;
    p.image = s.image;
    p.image_size = s.image_size - 1;
    CHECK(cu.cuptiRangeProfilerCounterDataImageInitialize(&p) == CUPTI_INVALID_OPERATION);
    profiled_end();
}

static void range_config(void) {
    profiled_start();
    CHECK(session_set(&s, RANGE_USER, REPLAY_KERNEL, 0) == CUPTI_INVALID_PARAMETER);
    profiled_end();
}

static void image_not_initialized(void) {
    profiled_start();
    memset(s.image, 0, s.image_size);
    CHECK(session_set(&s, RANGE_AUTO, REPLAY_KERNEL, 0) == CUPTI_INVALID_PARAMETER);
    profiled_end();
}

static void config_while_started(void) {
    uint8_t all;
    profiled_start();
    CHECK(session_set(&s, RANGE_AUTO, REPLAY_KERNEL, 0) == 0 && session_start(&s) == 0);
    CHECK(session_set(&s, RANGE_AUTO, REPLAY_KERNEL, 0) == CUPTI_INVALID_OPERATION);
    CHECK(session_stop(&s, &all, NULL) == 0);
    profiled_end();
}

static void start_before_config(void) {
    profiled_start();
    CHECK(session_start(&s) == CUPTI_INVALID_OPERATION);
    profiled_end();
}

static void started_twice(void) {
    uint8_t all;
    profiled_start();
    CHECK(session_set(&s, RANGE_AUTO, REPLAY_KERNEL, 0) == 0 && session_start(&s) == 0);
    CHECK(session_start(&s) == CUPTI_INVALID_OPERATION);
    CHECK(session_stop(&s, &all, NULL) == 0);
    profiled_end();
}

static void push_before_start(void) {
    profiled_start();
    CHECK(session_set(&s, RANGE_AUTO, REPLAY_KERNEL, 0) == 0);
    CHECK(session_push(&s, "mine") == CUPTI_INVALID_OPERATION);
    profiled_end();
}

static void pop_without_push(void) {
    uint8_t all;
    profiled_start();
    CHECK(session_set(&s, RANGE_USER, REPLAY_USER, 0) == 0 && session_start(&s) == 0);
    CHECK(session_pop(&s) == CUPTI_INVALID_OPERATION);
    CHECK(session_stop(&s, &all, NULL) == 0);
    profiled_end();
}

static void stop_before_start(void) {
    uint8_t all;
    profiled_start();
    CHECK(session_set(&s, RANGE_AUTO, REPLAY_KERNEL, 0) == 0);
    CHECK(session_stop(&s, &all, NULL) == CUPTI_INVALID_OPERATION);
    profiled_end();
}

static void stop_with_open_range(void) {
    uint8_t all;
    profiled_start();
    CHECK(session_set(&s, RANGE_USER, REPLAY_USER, 0) == 0 && session_start(&s) == 0);
    CHECK(session_push(&s, "mine") == 0);
    CHECK(session_stop(&s, &all, NULL) == CUPTI_INVALID_OPERATION);
    CHECK(session_pop(&s) == 0 && session_stop(&s, &all, NULL) == 0);
}

static void replay_differs(void) {
    uint8_t all = 0;
    size_t pass = 0;
    profiled_start();
    CHECK(s.passes == 2 && session_set(&s, RANGE_USER, REPLAY_USER, 0) == 0);
    CHECK(session_start(&s) == 0 && session_push(&s, "a") == 0);
    client_launch(&program);
    CHECK(session_pop(&s) == 0 && session_stop(&s, &all, &pass) == 0 && !all && pass == 1);
    CHECK(session_start(&s) == 0 && session_stop(&s, &all, &pass) == 0 && all);
    CHECK(session_decode(&s, NULL) == 0);
    profiled_end();
}

static void decode_while_started(void) {
    uint8_t all;
    profiled_start();
    CHECK(session_set(&s, RANGE_AUTO, REPLAY_KERNEL, 0) == 0 && session_start(&s) == 0);
    CHECK(session_decode(&s, NULL) == CUPTI_INVALID_OPERATION);
    CHECK(session_stop(&s, &all, NULL) == 0);
    profiled_end();
}

static void decode_before_all_passes(void) {
    uint8_t all = 1;
    profiled_start();
    CHECK(session_set(&s, RANGE_USER, REPLAY_USER, 0) == 0 && session_start(&s) == 0);
    CHECK(session_stop(&s, &all, NULL) == 0 && !all);
    CHECK(session_decode(&s, NULL) == CUPTI_INVALID_OPERATION);
    profiled_end();
}

static void enabled_at_exit(void) {
    profiled_start();
    client_finish(&program);
}

static void tracing_and_profiling(void) {
    uint8_t all;
    client_start();
    client_trace();
    profiled_start();
    CHECK(session_set(&s, RANGE_AUTO, REPLAY_KERNEL, 0) == 0 && session_start(&s) == 0);
    client_launch(&program);
    CHECK(session_stop(&s, &all, NULL) == 0 && session_decode(&s, NULL) == 0);
    profiled_end();
    cu.cuptiActivityFlushAll(1);
}

static const struct {
    const char *rule;
    void (*breaks)(void);
} cases[] = {{"clean", clean},
             {"clean-profile", clean_profile},
             {"timestamp-after-records", timestamp_after_records},
             {"cuda-in-callback", cuda_in_callback},
             {"struct-size", struct_size},
             {"not-subscribed", not_subscribed},
             {"whole-domain", whole_domain},
             {"buffer-alignment", buffer_alignment},
             {"null-buffer", null_buffer},
             {"dropped-records", null_buffer},
             {"no-buffer-callbacks", no_buffer_callbacks},
             {"next-record", next_record},
             {"second-registration", second_registration},
             {"lock-held-across-flush", lock_held_across_flush},
             {"flush-in-callback", flush_in_callback},
             {"flush-before-callbacks", flush_before_callbacks},
             {"unflushed-at-exit", unflushed_at_exit},
             {"enable-after-load", enable_after_load},
             {"no-subscriber", no_subscriber},
             {"finalize-outside-callback", finalize_outside_callback},
             {"metric-not-in-image", metric_not_in_image},
             {"before-driver", before_driver},
             {"profiler-not-initialized", profiler_not_initialized},
             {"deinitialize-while-enabled", deinitialize_while_enabled},
             {"not-enabled", not_enabled},
             {"enabled-twice", enabled_twice},
             {"disable-while-started", disable_while_started},
             {"undecoded-ranges", undecoded_ranges},
             {"image-size", image_size},
             {"range-config", range_config},
             {"image-not-initialized", image_not_initialized},
             {"config-while-started", config_while_started},
             {"start-before-config", start_before_config},
             {"started-twice", started_twice},
             {"push-before-start", push_before_start},
             {"pop-without-push", pop_without_push},
             {"stop-before-start", stop_before_start},
             {"stop-with-open-range", stop_with_open_range},
             {"replay-differs", replay_differs},
             {"decode-while-started", decode_while_started},
             {"decode-before-all-passes", decode_before_all_passes},
             {"enabled-at-exit", enabled_at_exit},
             {"tracing-and-profiling", tracing_and_profiling}};

int main(int argc, char **argv) {
    CHECK(argc == 3);
    client_load(argv[1], "libcupti.so.13");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (!strcmp(cases[i].rule, argv[2])) {
            cases[i].breaks();
            return 0;
        }
    fprintf(stderr, "no such case: %s\n", argv[2]);
    return 2;
}
