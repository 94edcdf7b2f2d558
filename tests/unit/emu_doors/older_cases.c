/* SPDX-License-Identifier: Apache-2.0
 *
 * Clients of the older profiler sessions: door_older FOLDER CUPTI CASE. Most break one rule each,
 * named like the case, which the strict door must say; the others keep them all and look at what
 * comes out. CMakeLists.txt makes a test of every case.
 */
#include "older.h"
#include <math.h>
#include <string.h>
#include <unistd.h>

enum { N = 1000 };
#define FADD "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum"

static client_program program;
static older o;

static void initialize(void) {
    CHECK(cu.cuptiProfilerInitialize(&(profiler_params){.size = sizeof(profiler_params)}) == 0);
}

static void deinitialize(void) {
    CHECK(cu.cuptiProfilerDeInitialize(&(profiler_params){.size = sizeof(profiler_params)}) == 0);
}

static void start(void) {
    client_start();
    client_prepare(&program, N);
    client_launch(&program); /* its result is checked at the end, whatever is profiled */
    initialize();
    older_configure(&o, older_metrics, OLDER_METRICS);
    older_make_image(&o, 16);
}

static void finish(void) {
    client_finish(&program);
    older_free(&o);
    deinitialize();
}

/* A session that counts, of the client's own ranges and passes if USER. */
static void begin(bool user) {
    start();
    o.range = user ? RANGE_USER : RANGE_AUTO;
    o.replay = user ? REPLAY_USER : REPLAY_KERNEL;
    CHECK(older_begin(&o) == 0 && older_set(&o, 0) == 0);
}

static void end(void) {
    CHECK(older_unset() == 0 && older_end() == 0);
    finish();
}

static void one_pass(bool *all) {
    CHECK(older_begin_pass() == 0 && older_enable() == 0 && older_push("step") == 0);
    client_launch(&program);
    CHECK(older_pop() == 0 && older_disable() == 0 && older_end_pass(all, NULL) == 0);
}

static double value(size_t range, const char *metric) {
    double v = -1;
    CHECK(older_value(&o, range, metric, &v) == 0);
    return v;
}

/* ---- What comes out -------------------------------------------------------------------------- */

static void automatic(void) {
    char name[64];
    begin(false);
    CHECK(o.passes == 2 && older_enable() == 0);
    client_launch(&program);
    client_launch(&program);
    CHECK(older_ranges(&o) == 2 && older_disable() == 0);
    client_launch(&program); /* in no range */
    CHECK(older_unset() == 0 && older_end() == 0 && older_ranges(&o) == 2);
    CHECK(older_attributes(&o) == 0);
    for (size_t i = 0; i < 2; i++) {
        CHECK(value(i, FADD) == N);
        CHECK(value(i, "smsp__sass_data_bytes_mem_global.sum") == 12.0 * N);
        CHECK(value(i, "gpu__time_duration.sum") > 0 && value(i, "dram__bytes_read.sum") >= 8 * N);
        CHECK(value(i, "sm__sass_thread_inst_executed_op_ffma_pred_on.sum.peak_sustained") ==
              64 * 80);
    }
    older_range_name(&o, 1, name, sizeof name);
    CHECK(!strcmp(name, "1"));
    CHECK(older_initialize_image(&o) == 0 && older_ranges(&o) == 0);
    finish();
}

static void room(void) {
    size_t dropped = 9;
    client_start();
    client_prepare(&program, N);
    client_launch(&program);
    initialize();
    older_configure(&o, older_metrics, OLDER_METRICS);
    older_make_image(&o, 1);
    CHECK(older_begin(&o) == 0 && older_set(&o, 0) == 0 && older_enable() == 0);
    client_launch(&program);
    client_launch(&program);
    CHECK(older_disable() == 0 && older_flush(&dropped) == 0 && dropped == 1);
    CHECK(older_ranges(&o) == 1);
    end();
}

static void user(void) {
    char name[64];
    begin(true);
    for (int pass = 0; pass < 2; pass++) {
        bool all = false;
        size_t next = 9;
        CHECK(older_begin_pass() == 0 && older_enable() == 0 && older_push("step") == 0);
        client_launch(&program);
        CHECK(older_push("inner") == 0);
        client_launch(&program);
        CHECK(older_pop() == 0 && older_pop() == 0);
        client_launch(&program); /* in no range */
        CHECK(older_disable() == 0 && older_end_pass(&all, &next) == 0);
        CHECK(all == (pass == 1) && next == (pass == 0));
    }
    CHECK(older_flush(NULL) == 0 && older_ranges(&o) == 2 && older_attributes(&o) == 0);
    older_range_name(&o, 0, name, sizeof name);
    CHECK(!strcmp(name, "step/inner") && value(0, FADD) == N && value(1, FADD) == 2 * N);
    end();
}

/* Nesting levels are collected one after the other, each in as many passes. */
static void nested(void) {
    static const size_t passes[] = {1, 0, 1, 0};
    size_t next = 9;
    bool all = false;
    start();
    o.range = RANGE_USER;
    o.replay = REPLAY_USER;
    session_config_params p = {.size = sizeof p,
                               .config = o.config,
                               .config_size = o.config_size,
                               .least_level = 1,
                               .levels = 2,
                               .target_level = 1};
    CHECK(older_begin(&o) == 0 && old.cuptiProfilerSetConfig(&p) == 0);
    for (int i = 0; i < 4; i++) {
        CHECK(!all && older_begin_pass() == 0 && older_enable() == 0 && older_push("step") == 0);
        CHECK(older_push("inner") == 0);
        client_launch(&program);
        CHECK(older_pop() == 0 && older_pop() == 0 && older_disable() == 0);
        CHECK(older_end_pass(&all, &next) == 0 && next == passes[i]);
    }
    CHECK(all && older_flush(NULL) == 0 && older_ranges(&o) == 2 && older_attributes(&o) == 0);
    CHECK(value(0, FADD) == N && value(1, FADD) == N);
    end();
}

/* A device's availability tells the chip, whatever name is given: NVIDIA's injection sample gives
 * the device's. */
static void chip_by_availability(void) {
    uint8_t image[128];
    client_start();
    initialize();
    availability_params a = {.size = sizeof a, .image_size = sizeof image, .image = image};
    CHECK(old.cuptiProfilerGetCounterAvailability(&a) == 0 && a.image_size <= sizeof image);
    scratch_params s = {.size = sizeof s, .chip = "Tesla V100", .availability = image};
    CHECK(old.NVPW_CUDA_MetricsEvaluator_CalculateScratchBufferSize(&s) == 0 && s.scratch_size);
    s = (scratch_params){.size = sizeof s, .chip = "Tesla V100"};
    CHECK(old.NVPW_CUDA_MetricsEvaluator_CalculateScratchBufferSize(&s) == NVPERF_UNSUPPORTED_GPU);
    deinitialize();
}

/* Values of a replay that has not had all its passes are not known. */
static void incomplete(void) {
    bool all = true;
    begin(true);
    one_pass(&all);
    CHECK(!all && older_flush(NULL) == 0 && older_ranges(&o) == 1 && older_attributes(&o) == 0);
    CHECK(isnan(value(0, FADD)));
    end();
}

/* A pass a process: here the first, whose values are known if it is the only one. */
static void application(void) {
    static const char *const one[] = {FADD};
    bool all = false;
    client_start();
    client_prepare(&program, N);
    initialize();
    older_configure(&o, one, 1);
    older_make_image(&o, 4);
    o.replay = REPLAY_APPLICATION;
    CHECK(o.passes == 1 && older_begin(&o) == 0 && older_set(&o, 0) == 0);
    CHECK(older_begin_pass() == 0 && older_enable() == 0);
    client_launch(&program);
    CHECK(older_disable() == 0 && older_end_pass(&all, NULL) == 0 && all);
    CHECK(older_flush(NULL) == 0 && older_ranges(&o) == 1 && older_attributes(&o) == 0);
    CHECK(value(0, FADD) == N);
    end();
}

/* Names and places agree, with the real library behind it or without. */
static void listing(void) {
    client_start();
    initialize();
    older_configure(&o, older_metrics, OLDER_METRICS);
    names_params names = {.size = sizeof names, .object = o.evaluator};
    CHECK(old.NVPW_MetricsEvaluator_GetMetricNames(&names) == 0 && names.count > 50);
    for (size_t i = 0; i < names.count; i += 7) {
        index_params p = {
            .size = sizeof p, .object = o.evaluator, .name = names.names + names.begins[i]};
        CHECK(old.NVPW_MetricsEvaluator_GetMetricTypeAndIndex(&p) == 0);
        CHECK(p.type == METRIC_COUNTER && p.index == i);
    }
    eval_request request;
    convert_params c = {.size = sizeof c,
                        .object = o.evaluator,
                        .name = "no__such_metric.sum",
                        .request = &request,
                        .request_size = sizeof request};
    CHECK(old.NVPW_MetricsEvaluator_ConvertMetricNameToMetricEvalRequest(&c) ==
          NVPERF_INVALID_ARGUMENT);
    c.name = "gpu__time_duration"; /* no rollup */
    CHECK(old.NVPW_MetricsEvaluator_ConvertMetricNameToMetricEvalRequest(&c) ==
          NVPERF_INVALID_ARGUMENT);
    scratch_params s = {.size = sizeof s, .chip = "GX999"};
    CHECK(old.NVPW_CUDA_MetricsEvaluator_CalculateScratchBufferSize(&s) == NVPERF_UNSUPPORTED_GPU);
    chips_params chips = {.size = sizeof chips};
    CHECK(old.NVPW_GetSupportedChipNames(&chips) == 0 && chips.count >= 20);
    older_free(&o);
    deinitialize();
}

/* With a real library its chips, counters and passes are those that count. */
static void real_library(void) {
    static const char *const many[] = {"gpu__time_duration.sum", "sm__cycles_elapsed.max",
                                       "dram__bytes_read.sum",   "dram__bytes_write.sum",
                                       "lts__t_bytes.sum",       "l1tex__t_bytes.sum"};
    /* Of the real one's counters only: our own table does not have it. */
    static const char *const theirs[] = {"pcie__read_bytes.sum"};
    const char *path = getenv("ROOFPROF_EMU_REAL_CUPTI");
    if (!path || access(path, R_OK) != 0)
        exit(77);
    client_start();
    client_prepare(&program, N);
    initialize();
    older_configure(&o, many, 6);
    CHECK(o.passes == 1);
    older_free(&o);
    older_configure(&o, theirs, 1);
    older_free(&o);
    older_configure(&o, older_metrics, OLDER_METRICS);
    older_make_image(&o, 4);
    CHECK(o.passes == 2 && older_begin(&o) == 0 && older_set(&o, 0) == 0 && older_enable() == 0);
    client_launch(&program);
    CHECK(older_disable() == 0 && older_unset() == 0 && older_end() == 0);
    CHECK(older_ranges(&o) == 1 && older_attributes(&o) == 0 && value(0, FADD) == N);
    finish();
}

/* Both interfaces of one library: whichever comes first has the device. */
static void beside_range_profiler(void) {
    range_enable_params p = {.size = sizeof p};
    begin(false);
    CHECK(cu.cuptiRangeProfilerEnable(&p) == CUPTI_INVALID_OPERATION);
    CHECK(older_unset() == 0 && older_end() == 0);
    CHECK(cu.cuptiRangeProfilerEnable(&p) == 0);
    CHECK(older_begin(&o) == CUPTI_INVALID_OPERATION);
    CHECK(cu.cuptiRangeProfilerDisable(
              &(range_params){.size = sizeof(range_params), .object = p.object}) == 0);
    finish();
}

/* The range profiler does not serve a V100, sessions do. */
static void volta(void) {
    range_enable_params enable = {.size = sizeof enable};
    start();
    CHECK(cu.cuptiRangeProfilerEnable(&enable) == CUPTI_NOT_SUPPORTED);
    CHECK(older_begin(&o) == 0 && older_end() == 0);
    finish();
}

/* ---- Rules of sessions ----------------------------------------------------------------------- */

static void profiler_not_initialized(void) {
    client_start();
    CHECK(older_set(&o, 0) == CUPTI_NOT_INITIALIZED);
}

static void struct_size(void) {
    client_start();
    initialize();
    CHECK(old.cuptiProfilerBeginSession(&(session_begin_params){.size = 8}) ==
          CUPTI_INVALID_PARAMETER);
}

static void image_options(void) {
    start();
    o.options.nodes = 1;
    CHECK(older_initialize_image(&o) == CUPTI_INVALID_PARAMETER);
}

static void image_size(void) {
    start();
    o.image_size -= 8;
    CHECK(older_initialize_image(&o) == CUPTI_INVALID_PARAMETER);
}

static void image_not_initialized(void) {
    start();
    memset(o.image, 0, o.image_size);
    CHECK(older_begin(&o) == CUPTI_INVALID_PARAMETER);
}

static void scratch_not_initialized(void) {
    start();
    memset(o.scratch, 0, o.scratch_size);
    CHECK(older_begin(&o) == CUPTI_INVALID_PARAMETER);
}

static void range_config(void) {
    start();
    o.range = RANGE_USER; /* with kernel replay */
    CHECK(older_begin(&o) == CUPTI_INVALID_PARAMETER);
}

static void session_open(void) {
    begin(false);
    CHECK(older_begin(&o) == CUPTI_INVALID_OPERATION);
}

static void no_session(void) {
    start();
    CHECK(older_set(&o, 0) == CUPTI_INVALID_OPERATION);
}

static void no_config(void) {
    start();
    CHECK(older_begin(&o) == 0 && older_enable() == CUPTI_INVALID_OPERATION);
}

static void config_not_unset(void) {
    begin(false);
    CHECK(older_set(&o, 0) == CUPTI_INVALID_OPERATION);
}

static void config_and_image_differ(void) {
    static const char *const other[] = {"lts__t_bytes.sum"};
    older second;
    start();
    older_configure(&second, other, 1);
    CHECK(older_begin(&o) == 0 && older_set(&second, 0) == CUPTI_INVALID_OPERATION);
}

static void unset_while_enabled(void) {
    begin(false);
    CHECK(older_enable() == 0 && older_unset() == CUPTI_INVALID_OPERATION);
}

static void end_before_unset(void) {
    begin(false);
    CHECK(older_end() == CUPTI_INVALID_OPERATION);
}

static void pass_begun_twice(void) {
    begin(true);
    CHECK(older_begin_pass() == 0 && older_begin_pass() == CUPTI_INVALID_OPERATION);
}

static void pass_not_begun(void) {
    begin(true);
    CHECK(older_enable() == CUPTI_INVALID_OPERATION);
    CHECK(older_end_pass(NULL, NULL) == CUPTI_INVALID_OPERATION);
}

static void pass_with_open_range(void) {
    begin(true);
    CHECK(older_begin_pass() == 0 && older_enable() == 0 && older_push("step") == 0);
    CHECK(older_disable() == 0 && older_end_pass(NULL, NULL) == CUPTI_INVALID_OPERATION);
}

static void pass_while_enabled(void) {
    begin(true);
    CHECK(older_begin_pass() == 0 && older_enable() == 0);
    CHECK(older_end_pass(NULL, NULL) == CUPTI_INVALID_OPERATION);
}

static void flush_in_pass(void) {
    begin(true);
    CHECK(older_begin_pass() == 0 && older_flush(NULL) == CUPTI_INVALID_OPERATION);
}

static void unflushed_passes(void) {
    begin(true);
    one_pass(NULL);
    end();
}

static void profiling_enabled_twice(void) {
    begin(false);
    CHECK(older_enable() == 0 && older_enable() == CUPTI_INVALID_OPERATION);
}

static void profiling_not_enabled(void) {
    begin(false);
    CHECK(older_disable() == CUPTI_INVALID_OPERATION);
}

static void range_in_auto_mode(void) {
    begin(false);
    CHECK(older_push("step") == CUPTI_INVALID_OPERATION);
    CHECK(older_pop() == CUPTI_INVALID_OPERATION);
}

static void push_before_start(void) {
    begin(true);
    CHECK(older_push("step") == CUPTI_INVALID_OPERATION);
}

static void pop_without_push(void) {
    begin(true);
    CHECK(older_begin_pass() == 0 && older_pop() == CUPTI_INVALID_OPERATION);
}

static void replay_differs(void) {
    begin(true);
    one_pass(NULL);
    CHECK(older_begin_pass() == 0 && older_end_pass(NULL, NULL) == 0);
}

static void availability_in_session(void) {
    begin(false);
    CHECK(old.cuptiProfilerGetCounterAvailability(
              &(availability_params){.size = sizeof(availability_params)}) == 0);
}

static void deinitialize_while_enabled(void) {
    begin(false);
    deinitialize();
}

static void tracing_and_profiling(void) {
    client_start();
    client_trace();
    client_prepare(&program, N);
    initialize();
    older_configure(&o, older_metrics, OLDER_METRICS);
    older_make_image(&o, 4);
    CHECK(older_begin(&o) == 0 && older_set(&o, 0) == 0 && older_enable() == 0);
    CHECK(older_disable() == 0);
    end();
    cu.cuptiActivityFlushAll(1);
}

static void session_at_exit(void) {
    begin(false);
    client_finish(&program);
}

/* The real one of CUDA 12.4 crashes here, and this door with it. */
static void before_driver(void) {
    device_supported_params p = {.size = sizeof p};
    cu.cuptiProfilerDeviceSupported(&p);
}

/* ---- Rules of the host library --------------------------------------------------------------- */

static void *new_config(void) {
    config_params c = {.size = sizeof c, .activity = 1, .chip = "GV100"};
    CHECK(old.NVPW_CUDA_RawMetricsConfig_Create_V2(&c) == 0);
    return c.object;
}

static void pass_group(void) {
    add_params p = {.size = sizeof p, .object = new_config()};
    CHECK(old.NVPW_RawMetricsConfig_AddMetrics(&p) == NVPERF_ERROR);
}

static void image_not_generated(void) {
    bytes_params p = {.size = sizeof p, .object = new_config()};
    CHECK(old.NVPW_RawMetricsConfig_GetConfigImage(&p) == NVPERF_ERROR);
}

static void counted_once(void) {
    begin(false);
    CHECK(older_enable() == 0);
    client_launch(&program);
    CHECK(older_disable() == 0 && older_unset() == 0 && older_end() == 0);
}

static void attributes_not_set(void) {
    double v;
    counted_once();
    CHECK(older_value(&o, 0, FADD, &v) == NVPERF_INVALID_ARGUMENT);
}

static void metric_not_in_image(void) {
    double v;
    counted_once();
    CHECK(older_attributes(&o) == 0);
    CHECK(older_value(&o, 0, "lts__t_bytes.sum", &v) == NVPERF_INVALID_ARGUMENT);
}

/* ---------------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {{"automatic", automatic},
             {"room", room},
             {"user", user},
             {"nested", nested},
             {"chip-by-availability", chip_by_availability},
             {"incomplete", incomplete},
             {"application", application},
             {"listing", listing},
             {"real-library", real_library},
             {"beside-range-profiler", beside_range_profiler},
             {"volta", volta},
             {"profiler-not-initialized", profiler_not_initialized},
             {"struct-size", struct_size},
             {"image-options", image_options},
             {"image-size", image_size},
             {"image-not-initialized", image_not_initialized},
             {"scratch-not-initialized", scratch_not_initialized},
             {"range-config", range_config},
             {"session-open", session_open},
             {"no-session", no_session},
             {"no-config", no_config},
             {"config-not-unset", config_not_unset},
             {"config-and-image-differ", config_and_image_differ},
             {"unset-while-enabled", unset_while_enabled},
             {"end-before-unset", end_before_unset},
             {"pass-begun-twice", pass_begun_twice},
             {"pass-not-begun", pass_not_begun},
             {"pass-with-open-range", pass_with_open_range},
             {"pass-while-enabled", pass_while_enabled},
             {"flush-in-pass", flush_in_pass},
             {"unflushed-passes", unflushed_passes},
             {"profiling-enabled-twice", profiling_enabled_twice},
             {"profiling-not-enabled", profiling_not_enabled},
             {"range-in-auto-mode", range_in_auto_mode},
             {"push-before-start", push_before_start},
             {"pop-without-push", pop_without_push},
             {"replay-differs", replay_differs},
             {"availability-in-session", availability_in_session},
             {"deinitialize-while-enabled", deinitialize_while_enabled},
             {"tracing-and-profiling", tracing_and_profiling},
             {"session-at-exit", session_at_exit},
             {"before-driver", before_driver},
             {"pass-group", pass_group},
             {"image-not-generated", image_not_generated},
             {"attributes-not-set", attributes_not_set},
             {"metric-not-in-image", metric_not_in_image}};

int main(int argc, char **argv) {
    CHECK(argc == 4);
    older_load(argv[1], argv[2]);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (!strcmp(cases[i].name, argv[3])) {
            cases[i].run();
            return 0;
        }
    fprintf(stderr, "no such case: %s\n", argv[3]);
    return 2;
}
