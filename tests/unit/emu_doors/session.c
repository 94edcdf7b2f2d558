/* SPDX-License-Identifier: Apache-2.0
 *
 * Steps of a range profiler session: session.h tells what for.
 */
#include "session.h"

const char *session_metrics[SESSION_METRICS] = {
    "gpu__time_duration.sum",
    "sm__cycles_elapsed.max",
    "dram__bytes_read.sum",
    "lts__t_sectors_op_write.sum",
    "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum",
    "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum",
    "smsp__sass_data_bytes_mem_global.sum",
    "sm__sass_thread_inst_executed_op_ffma_pred_on.sum.peak_sustained"};

void session_initialize(void) {
    CHECK(cu.cuptiProfilerInitialize(&(profiler_params){.size = sizeof(profiler_params)}) == 0);
}

int session_deinitialize(void) {
    return cu.cuptiProfilerDeInitialize(&(profiler_params){.size = sizeof(profiler_params)});
}

int session_enable(session *s) {
    range_enable_params p = {.size = sizeof p};
    CHECK(cu.cuCtxGetCurrent(&p.context) == 0);
    int result = cu.cuptiRangeProfilerEnable(&p);
    s->object = p.object;
    return result;
}

static void make_config(session *s, const char **metrics, size_t count) {
    chip_name_params chip = {.size = sizeof chip};
    CHECK(cu.cuptiDeviceGetChipName(&chip) == 0);
    host_initialize_params h = {.size = sizeof h, .type = PROFILER_RANGE, .chip = chip.name};
    CHECK(cu.cuptiProfilerHostInitialize(&h) == 0);
    s->host = h.host;
    host_add_params add = {.size = sizeof add, .host = s->host, .names = metrics, .count = count};
    CHECK(cu.cuptiProfilerHostConfigAddMetrics(&add) == 0);
    host_image_size_params size = {.size = sizeof size, .host = s->host};
    CHECK(cu.cuptiProfilerHostGetConfigImageSize(&size) == 0);
    s->config_size = size.image_size;
    s->config = calloc(1, s->config_size);
    host_image_params image = {
        .size = sizeof image, .host = s->host, .image_size = s->config_size, .image = s->config};
    CHECK(s->config && cu.cuptiProfilerHostGetConfigImage(&image) == 0);
    host_passes_params passes = {
        .size = sizeof passes, .image_size = s->config_size, .image = s->config};
    CHECK(cu.cuptiProfilerHostGetNumOfPasses(&passes) == 0);
    s->passes = passes.passes;
}

void session_configure(session *s, const char **metrics, size_t count, size_t ranges) {
    make_config(s, metrics, count);
    range_size_params size = {.size = sizeof size,
                              .object = s->object,
                              .names = metrics,
                              .count = count,
                              .ranges = ranges,
                              .nodes = (uint32_t)ranges};
    CHECK(cu.cuptiRangeProfilerGetCounterDataSize(&size) == 0);
    s->image_size = size.image_size;
    s->image = calloc(1, s->image_size);
    range_image_params image = {
        .size = sizeof image, .object = s->object, .image_size = s->image_size, .image = s->image};
    CHECK(s->image && cu.cuptiRangeProfilerCounterDataImageInitialize(&image) == 0);
}

int session_set(session *s, uint32_t range, uint32_t replay, size_t pass) {
    range_config_params p = {.size = sizeof p,
                             .object = s->object,
                             .config_size = s->config_size,
                             .config = s->config,
                             .image_size = s->image_size,
                             .image = s->image,
                             .range = range,
                             .replay = replay,
                             .ranges_per_pass = 1024,
                             .nesting_levels = 1,
                             .nesting_least = 1,
                             .pass = pass};
    return cu.cuptiRangeProfilerSetConfig(&p);
}

int session_start(session *s) {
    return cu.cuptiRangeProfilerStart(
        &(range_params){.size = sizeof(range_params), .object = s->object});
}

int session_stop(session *s, uint8_t *all, size_t *pass) {
    range_stop_params p = {.size = sizeof p, .object = s->object};
    int result = cu.cuptiRangeProfilerStop(&p);
    *all = p.all_submitted;
    if (pass)
        *pass = p.pass;
    return result;
}

int session_decode(session *s, size_t *dropped) {
    range_decode_params p = {.size = sizeof p, .object = s->object};
    int result = cu.cuptiRangeProfilerDecodeData(&p);
    if (dropped)
        *dropped = p.dropped;
    return result;
}

size_t session_ranges(session *s) {
    range_info_params p = {.size = sizeof p, .image = s->image, .image_size = s->image_size};
    CHECK(cu.cuptiRangeProfilerGetCounterDataInfo(&p) == 0);
    return p.ranges;
}

int session_push(session *s, const char *name) {
    return cu.cuptiRangeProfilerPushRange(
        &(range_push_params){.size = sizeof(range_push_params), .object = s->object, .name = name});
}

int session_pop(session *s) {
    return cu.cuptiRangeProfilerPopRange(
        &(range_params){.size = sizeof(range_params), .object = s->object});
}

int session_value(session *s, size_t range, const char *metric, double *value) {
    host_evaluate_params p = {.size = sizeof p,
                              .host = s->host,
                              .image = s->image,
                              .image_size = s->image_size,
                              .index = range,
                              .names = &metric,
                              .count = 1,
                              .values = value};
    return cu.cuptiProfilerHostEvaluateToGpuValues(&p);
}

int session_disable(session *s) {
    if (s->host)
        cu.cuptiProfilerHostDeinitialize(
            &(host_params){.size = sizeof(host_params), .host = s->host});
    int result = cu.cuptiRangeProfilerDisable(
        &(range_params){.size = sizeof(range_params), .object = s->object});
    free(s->config);
    free(s->image);
    return result;
}
