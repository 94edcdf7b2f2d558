/* SPDX-License-Identifier: Apache-2.0
 *
 * Steps of an older profiler session: older.h tells what for.
 */
#include "older.h"
#include <dlfcn.h>
#include <string.h>

older_api old;

const char *const older_metrics[OLDER_METRICS] = {
    "gpu__time_duration.sum", "dram__bytes_read.sum",
    "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum", "smsp__sass_data_bytes_mem_global.sum",
    "sm__sass_thread_inst_executed_op_ffma_pred_on.sum.peak_sustained"};

static void *open_library(const char *folder, const char *name) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    CHECK(library);
    return library;
}

void older_load(const char *folder, const char *cupti) {
    client_load(folder, cupti);
    void *profiler = open_library(folder, cupti), *host = open_library(folder, "libnvperf_host.so");
#define FROM(library, name, ...)                                                                   \
    old.name = (int (*)(__VA_ARGS__))dlsym(library, #name);                                        \
    CHECK(old.name);
#define FROM_CUPTI(name, ...) FROM(profiler, name, __VA_ARGS__)
#define FROM_HOST(name, ...)  FROM(host, name, __VA_ARGS__)
    SESSION_FUNCTIONS(FROM_CUPTI)
    HOST_FUNCTIONS(FROM_HOST)
}

/* ---- The host's part ------------------------------------------------------------------------- */

static void make_evaluator(older *o, const char *chip) {
    scratch_params s = {.size = sizeof s, .chip = chip};
    CHECK(old.NVPW_CUDA_MetricsEvaluator_CalculateScratchBufferSize(&s) == 0);
    o->evaluator_scratch = malloc(s.scratch_size);
    evaluator_params e = {.size = sizeof e,
                          .scratch = o->evaluator_scratch,
                          .scratch_size = s.scratch_size,
                          .chip = chip};
    CHECK(o->evaluator_scratch && old.NVPW_CUDA_MetricsEvaluator_Initialize(&e) == 0);
    o->evaluator = e.object;
}

static int request_of(const older *o, const char *metric, eval_request *request) {
    convert_params c = {.size = sizeof c,
                        .object = o->evaluator,
                        .name = metric,
                        .request = request,
                        .request_size = sizeof *request};
    return old.NVPW_MetricsEvaluator_ConvertMetricNameToMetricEvalRequest(&c);
}

/* The raw counters of COUNT of METRICS, COUNT set to their number. */
static raw_request *raw_of(const older *o, const char *const *metrics, size_t *count) {
    eval_request requests[32];
    CHECK(*count <= 32);
    for (size_t i = 0; i < *count; i++)
        CHECK(request_of(o, metrics[i], &requests[i]) == 0);
    dependencies_params d = {.size = sizeof d,
                             .object = o->evaluator,
                             .requests = requests,
                             .count = *count,
                             .request_size = sizeof *requests,
                             .request_stride = sizeof *requests};
    CHECK(old.NVPW_MetricsEvaluator_GetMetricRawDependencies(&d) == 0);
    const char **names = calloc(d.name_count, sizeof *names);
    raw_request *raw = calloc(d.name_count, sizeof *raw);
    d.names = names;
    d.optional_count = 0;
    CHECK(names && raw && old.NVPW_MetricsEvaluator_GetMetricRawDependencies(&d) == 0);
    for (size_t i = 0; i < d.name_count; i++)
        raw[i] = (raw_request){
            .size = sizeof *raw, .name = names[i], .isolated = 1, .keep_instances = 1};
    *count = d.name_count;
    free(names);
    return raw;
}

static uint8_t *bytes_of(int (*get)(bytes_params *), void *object, size_t *size) {
    bytes_params b = {.size = sizeof b, .object = object};
    CHECK(get(&b) == 0);
    b.bytes = malloc(b.copied);
    b.room = b.copied;
    CHECK(b.bytes && get(&b) == 0);
    *size = b.copied;
    return b.bytes;
}

static void make_config(older *o, const char *chip, const raw_request *raw, size_t count) {
    config_params c = {.size = sizeof c, .activity = 1, .chip = chip};
    CHECK(old.NVPW_CUDA_RawMetricsConfig_Create_V2(&c) == 0);
    object_params object = {.size = sizeof object, .object = c.object};
    CHECK(old.NVPW_RawMetricsConfig_BeginPassGroup(
              &(group_params){.size = sizeof(group_params), .object = c.object}) == 0);
    CHECK(old.NVPW_RawMetricsConfig_AddMetrics(&(add_params){
              .size = sizeof(add_params), .object = c.object, .requests = raw, .count = count}) ==
          0);
    CHECK(old.NVPW_RawMetricsConfig_EndPassGroup(&object) == 0);
    CHECK(old.NVPW_RawMetricsConfig_GenerateConfigImage(
              &(generate_params){.size = sizeof(generate_params), .object = c.object}) == 0);
    o->config = bytes_of(old.NVPW_RawMetricsConfig_GetConfigImage, c.object, &o->config_size);
    passes_params p = {.size = sizeof p, .object = c.object};
    CHECK(old.NVPW_RawMetricsConfig_GetNumPasses(&p) == 0);
    o->passes = p.pipelined + p.isolated;
    CHECK(old.NVPW_RawMetricsConfig_Destroy(&object) == 0);
}

static void make_prefix(older *o, const char *chip, const raw_request *raw, size_t count) {
    builder_params b = {.size = sizeof b, .chip = chip};
    CHECK(old.NVPW_CUDA_CounterDataBuilder_Create(&b) == 0);
    CHECK(old.NVPW_CounterDataBuilder_AddMetrics(&(add_params){
              .size = sizeof(add_params), .object = b.object, .requests = raw, .count = count}) ==
          0);
    o->prefix =
        bytes_of(old.NVPW_CounterDataBuilder_GetCounterDataPrefix, b.object, &o->prefix_size);
    CHECK(old.NVPW_CounterDataBuilder_Destroy(
              &(object_params){.size = sizeof(object_params), .object = b.object}) == 0);
}

void older_configure(older *o, const char *const *metrics, size_t count) {
    chip_name_params chip = {.size = sizeof chip};
    *o = (older){.range = RANGE_AUTO, .replay = REPLAY_KERNEL};
    CHECK(cu.cuptiDeviceGetChipName(&chip) == 0);
    CHECK(old.NVPW_InitializeHost(&(plain_params){.size = sizeof(plain_params)}) == 0);
    make_evaluator(o, chip.name);
    raw_request *raw = raw_of(o, metrics, &count);
    make_config(o, chip.name, raw, count);
    make_prefix(o, chip.name, raw, count);
    free(raw);
}

/* ---- The image ------------------------------------------------------------------------------- */

static session_image_params image_params(older *o) {
    return (session_image_params){.size = sizeof(session_image_params),
                                  .options_size = OPTIONS_SIZE,
                                  .options = &o->options,
                                  .image_size = o->image_size,
                                  .image = o->image};
}

int older_initialize_image(older *o) {
    session_image_params p = image_params(o);
    return old.cuptiProfilerCounterDataImageInitialize(&p);
}

void older_make_image(older *o, uint32_t ranges) {
    o->options = (session_options){.size = OPTIONS_SIZE,
                                   .prefix = o->prefix,
                                   .prefix_size = o->prefix_size,
                                   .ranges = ranges,
                                   .nodes = ranges,
                                   .name_length = 64};
    session_image_params p = image_params(o);
    CHECK(old.cuptiProfilerCounterDataImageCalculateSize(&p) == 0);
    o->image_size = p.image_size;
    CHECK((o->image = calloc(1, o->image_size)) && older_initialize_image(o) == 0);
    session_scratch_params s = {.size = sizeof s, .image_size = o->image_size, .image = o->image};
    CHECK(old.cuptiProfilerCounterDataImageCalculateScratchBufferSize(&s) == 0);
    o->scratch_size = s.scratch_size;
    CHECK((o->scratch = calloc(1, o->scratch_size)));
    s.scratch = o->scratch;
    CHECK(old.cuptiProfilerCounterDataImageInitializeScratchBuffer(&s) == 0);
}

/* ---- The session ----------------------------------------------------------------------------- */

int older_begin(older *o) {
    session_begin_params p = {.size = sizeof p,
                              .image_size = o->image_size,
                              .image = o->image,
                              .scratch_size = o->scratch_size,
                              .scratch = o->scratch,
                              .range = o->range,
                              .replay = o->replay,
                              .ranges_per_pass = o->options.ranges,
                              .launches_per_pass = o->options.ranges};
    return old.cuptiProfilerBeginSession(&p);
}

int older_set(const older *o, size_t pass) {
    session_config_params p = {.size = sizeof p,
                               .config = o->config,
                               .config_size = o->config_size,
                               .least_level = 1,
                               .levels = 1,
                               .pass = pass,
                               .target_level = 1};
    return old.cuptiProfilerSetConfig(&p);
}

static int plain(int (*call)(session_params *)) {
    return call(&(session_params){.size = sizeof(session_params)});
}

int older_begin_pass(void) {
    return plain(old.cuptiProfilerBeginPass);
}

int older_enable(void) {
    return plain(old.cuptiProfilerEnableProfiling);
}

int older_push(const char *name) {
    session_push_params p = {.size = sizeof p, .name = name};
    return old.cuptiProfilerPushRange(&p);
}

int older_pop(void) {
    return plain(old.cuptiProfilerPopRange);
}

int older_disable(void) {
    return plain(old.cuptiProfilerDisableProfiling);
}

int older_end_pass(bool *all, size_t *next) {
    session_end_pass_params p = {.size = sizeof p};
    int result = old.cuptiProfilerEndPass(&p);
    if (all)
        *all = p.all_submitted;
    if (next)
        *next = p.pass;
    return result;
}

int older_flush(size_t *dropped) {
    session_flush_params p = {.size = sizeof p};
    int result = old.cuptiProfilerFlushCounterData(&p);
    if (dropped)
        *dropped = p.ranges_dropped;
    return result;
}

int older_unset(void) {
    return plain(old.cuptiProfilerUnsetConfig);
}

int older_end(void) {
    return plain(old.cuptiProfilerEndSession);
}

/* ---- Values ---------------------------------------------------------------------------------- */

size_t older_ranges(const older *o) {
    ranges_params p = {.size = sizeof p, .image = o->image};
    CHECK(old.NVPW_CounterData_GetNumRanges(&p) == 0);
    return p.ranges;
}

void older_range_name(const older *o, size_t range, char *name, size_t size) {
    const char *levels[8];
    descriptions_params p = {
        .size = sizeof p, .image = o->image, .range = range, .count = 8, .descriptions = levels};
    CHECK(old.NVPW_CounterData_GetRangeDescriptions(&p) == 0 && p.count > 0 && p.count <= 8);
    size_t at = 0;
    for (size_t i = 0; i < p.count; i++)
        at += (size_t)snprintf(name + at, size - at, "%s%s", i ? "/" : "", levels[i]);
}

int older_attributes(const older *o) {
    attributes_params p = {
        .size = sizeof p, .object = o->evaluator, .image = o->image, .image_size = o->image_size};
    return old.NVPW_MetricsEvaluator_SetDeviceAttributes(&p);
}

int older_value(const older *o, size_t range, const char *metric, double *value) {
    eval_request request;
    int result = request_of(o, metric, &request);
    evaluate_params p = {.size = sizeof p,
                         .object = o->evaluator,
                         .requests = &request,
                         .count = 1,
                         .request_size = sizeof request,
                         .request_stride = sizeof request,
                         .image = o->image,
                         .image_size = o->image_size,
                         .range = range,
                         .isolated = 1,
                         .values = value};
    return result ? result : old.NVPW_MetricsEvaluator_EvaluateToGpuValues(&p);
}

void older_free(older *o) {
    object_params p = {.size = sizeof p, .object = o->evaluator};
    CHECK(!o->evaluator || old.NVPW_MetricsEvaluator_Destroy(&p) == 0);
    free(o->evaluator_scratch);
    free(o->config);
    free(o->prefix);
    free(o->image);
    free(o->scratch);
    *o = (older){0};
}
