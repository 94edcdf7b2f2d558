/* SPDX-License-Identifier: Apache-2.0
 *
 * A session of the older profiler and the host library's part of it, step by step in the documented
 * order, so that a test can leave one out or swap two.
 */
#ifndef DOORS_OLDER_H
#define DOORS_OLDER_H

#include "client.h"
#include "emulator/cupti/abi_session.h"
#include "emulator/nvperf/abi.h"
#include <stdbool.h>

#define SESSION_FUNCTIONS(F)                                                                       \
    F(cuptiProfilerGetCounterAvailability, availability_params *)                                  \
    F(cuptiProfilerCounterDataImageCalculateSize, session_image_params *)                          \
    F(cuptiProfilerCounterDataImageInitialize, session_image_params *)                             \
    F(cuptiProfilerCounterDataImageCalculateScratchBufferSize, session_scratch_params *)           \
    F(cuptiProfilerCounterDataImageInitializeScratchBuffer, session_scratch_params *)              \
    F(cuptiProfilerBeginSession, session_begin_params *)                                           \
    F(cuptiProfilerEndSession, session_params *)                                                   \
    F(cuptiProfilerSetConfig, session_config_params *)                                             \
    F(cuptiProfilerUnsetConfig, session_params *)                                                  \
    F(cuptiProfilerBeginPass, session_params *)                                                    \
    F(cuptiProfilerEndPass, session_end_pass_params *)                                             \
    F(cuptiProfilerEnableProfiling, session_params *)                                              \
    F(cuptiProfilerDisableProfiling, session_params *)                                             \
    F(cuptiProfilerPushRange, session_push_params *)                                               \
    F(cuptiProfilerPopRange, session_params *)                                                     \
    F(cuptiProfilerFlushCounterData, session_flush_params *)

#define HOST_FUNCTIONS(F)                                                                          \
    F(NVPW_InitializeHost, plain_params *)                                                         \
    F(NVPW_GetSupportedChipNames, chips_params *)                                                  \
    F(NVPW_CUDA_MetricsEvaluator_CalculateScratchBufferSize, scratch_params *)                     \
    F(NVPW_CUDA_MetricsEvaluator_Initialize, evaluator_params *)                                   \
    F(NVPW_MetricsEvaluator_Destroy, object_params *)                                              \
    F(NVPW_MetricsEvaluator_GetMetricNames, names_params *)                                        \
    F(NVPW_MetricsEvaluator_GetMetricTypeAndIndex, index_params *)                                 \
    F(NVPW_MetricsEvaluator_ConvertMetricNameToMetricEvalRequest, convert_params *)                \
    F(NVPW_MetricsEvaluator_GetMetricRawDependencies, dependencies_params *)                       \
    F(NVPW_MetricsEvaluator_SetDeviceAttributes, attributes_params *)                              \
    F(NVPW_MetricsEvaluator_EvaluateToGpuValues, evaluate_params *)                                \
    F(NVPW_CUDA_RawMetricsConfig_Create_V2, config_params *)                                       \
    F(NVPW_RawMetricsConfig_Destroy, object_params *)                                              \
    F(NVPW_RawMetricsConfig_BeginPassGroup, group_params *)                                        \
    F(NVPW_RawMetricsConfig_EndPassGroup, object_params *)                                         \
    F(NVPW_RawMetricsConfig_AddMetrics, add_params *)                                              \
    F(NVPW_RawMetricsConfig_GenerateConfigImage, generate_params *)                                \
    F(NVPW_RawMetricsConfig_GetConfigImage, bytes_params *)                                        \
    F(NVPW_RawMetricsConfig_GetNumPasses, passes_params *)                                         \
    F(NVPW_CUDA_CounterDataBuilder_Create, builder_params *)                                       \
    F(NVPW_CounterDataBuilder_Destroy, object_params *)                                            \
    F(NVPW_CounterDataBuilder_AddMetrics, add_params *)                                            \
    F(NVPW_CounterDataBuilder_GetCounterDataPrefix, bytes_params *)                                \
    F(NVPW_CounterData_GetNumRanges, ranges_params *)                                              \
    F(NVPW_CounterData_GetRangeDescriptions, descriptions_params *)

/* Up to the last field, without the padding behind it. */
enum { OPTIONS_SIZE = offsetof(session_options, name_length) + sizeof(uint32_t) };

typedef struct older_api {
#define FIELD(name, ...) int (*name)(__VA_ARGS__);
    SESSION_FUNCTIONS(FIELD) HOST_FUNCTIONS(FIELD)
#undef FIELD
} older_api;
extern older_api old;

typedef struct older {
    void *evaluator;
    uint8_t *evaluator_scratch, *config, *prefix, *image, *scratch;
    size_t config_size, prefix_size, image_size, scratch_size, passes;
    int range, replay;
    session_options options;
} older;

enum { OLDER_METRICS = 5 };
extern const char *const older_metrics[OLDER_METRICS]; /* two passes */

/* The doors of FOLDER, CUPTI's by its file's name, and the host library. */
void older_load(const char *folder, const char *cupti);

/* The host's part, for the first device's chip: evaluator, configuration, prefix. */
void older_configure(older *o, const char *const *metrics, size_t count);
/* The counter data image of RANGES, and its scratch. */
void older_make_image(older *o, uint32_t ranges);
/* CUPTI's results, of one call each. */
int older_initialize_image(older *o);
int older_begin(older *o);
int older_set(const older *o, size_t pass);
int older_begin_pass(void);
int older_enable(void);
int older_push(const char *name);
int older_pop(void);
int older_disable(void);
int older_end_pass(bool *all, size_t *next);
int older_flush(size_t *dropped);
int older_unset(void);
int older_end(void);

size_t older_ranges(const older *o);
/* "outer/inner" */
void older_range_name(const older *o, size_t range, char *name, size_t size);
int older_attributes(const older *o); /* the host library's result, as that of the next */
int older_value(const older *o, size_t range, const char *metric, double *value);
void older_free(older *o);

#endif
