/* SPDX-License-Identifier: Apache-2.0
 *
 * Parameter blocks of the host library (libnvperf_host.so) as far as they are served here, declared
 * from their documented layout and held against the toolkit's headers by
 * tests/unit/emu_doors/abi_older.c. size: of the block as its caller knows it. The tracer has
 * declarations of its own (profiler/tracer/nvpw_abi.h): with shared ones a wrong layout would be
 * wrong on both sides, and no test against this library could tell.
 */
#ifndef EMU_NVPERF_ABI_H
#define EMU_NVPERF_ABI_H

#include <stddef.h>
#include <stdint.h>

typedef enum nvperf_status {
    NVPERF_SUCCESS = 0,
    NVPERF_ERROR = 1, /* a call out of its order among others */
    NVPERF_NOT_IMPLEMENTED = 7,
    NVPERF_INVALID_ARGUMENT = 8,
    NVPERF_OUT_OF_MEMORY = 11,
    NVPERF_UNSUPPORTED_GPU = 14
} nvperf_status;

enum { METRIC_COUNTER = 0, METRIC_TYPES = 3 };
enum { ROLLUP_AVG, ROLLUP_MAX, ROLLUP_MIN, ROLLUP_SUM, ROLLUPS };
enum {
    SUB_NONE = 0,
    SUB_PEAK_SUSTAINED = 1,
    SUB_PER_CYCLE_ELAPSED = 11,
    SUB_PER_SECOND = 14,
    SUB_PCT_ELAPSED = 16
};

typedef struct plain_params { /* InitializeHost */
    size_t size;
    void *priv;
} plain_params;

typedef struct object_params { /* Destroy of any object; RawMetricsConfig_EndPassGroup */
    size_t size;
    void *priv, *object;
} object_params;

typedef struct chips_params { /* GetSupportedChipNames */
    size_t size;
    void *priv;
    const char *const *names;
    size_t count;
} chips_params;

typedef struct scratch_params { /* CUDA_MetricsEvaluator_CalculateScratchBufferSize */
    size_t size;
    void *priv;
    const char *chip;
    const uint8_t *availability;
    size_t scratch_size; /* out */
} scratch_params;

typedef struct evaluator_params { /* CUDA_MetricsEvaluator_Initialize */
    size_t size;
    void *priv;
    uint8_t *scratch;
    size_t scratch_size;
    const char *chip;
    const uint8_t *availability, *image;
    size_t image_size;
    void *object; /* out */
} evaluator_params;

typedef struct names_params { /* MetricsEvaluator_GetMetricNames */
    size_t size;
    void *priv, *object;
    uint8_t type;
    const char *names;    /* out: one behind the other */
    const size_t *begins; /* out: where each begins */
    size_t count;         /* out */
} names_params;

typedef struct index_params { /* MetricsEvaluator_GetMetricTypeAndIndex */
    size_t size;
    void *priv, *object;
    const char *name;
    uint8_t type; /* out */
    size_t index; /* out */
} index_params;

typedef struct eval_request {
    size_t metric;
    uint8_t type, rollup;
    uint16_t sub;
} eval_request;

typedef struct convert_params { /* MetricsEvaluator_ConvertMetricNameToMetricEvalRequest */
    size_t size;
    void *priv, *object;
    const char *name;
    eval_request *request;
    size_t request_size;
} convert_params;

typedef struct subs_params { /* MetricsEvaluator_GetSupportedSubmetrics */
    size_t size;
    void *priv, *object;
    uint8_t type;
    const uint16_t *subs; /* out */
    size_t count;         /* out */
} subs_params;

typedef struct counter_params { /* MetricsEvaluator_GetCounterProperties */
    size_t size;
    void *priv, *object;
    size_t index;
    const char *description; /* out */
    uint32_t unit;           /* out */
} counter_params;

typedef struct dependencies_params { /* MetricsEvaluator_GetMetricRawDependencies */
    size_t size;
    void *priv, *object;
    const eval_request *requests;
    size_t count, request_size, request_stride;
    const char **names; /* NULL: only the number is wanted */
    size_t name_count;
    const char **optional_names;
    size_t optional_count;
} dependencies_params;

typedef struct attributes_params { /* MetricsEvaluator_SetDeviceAttributes */
    size_t size;
    void *priv, *object;
    const uint8_t *image;
    size_t image_size;
} attributes_params;

typedef struct evaluate_params { /* MetricsEvaluator_EvaluateToGpuValues */
    size_t size;
    void *priv, *object;
    const eval_request *requests;
    size_t count, request_size, request_stride;
    const uint8_t *image;
    size_t image_size, range;
    uint8_t isolated;
    double *values;
} evaluate_params;

typedef struct raw_request {
    size_t size;
    void *priv;
    const char *name;
    uint8_t isolated, keep_instances;
} raw_request;

typedef struct config_params { /* CUDA_RawMetricsConfig_Create_V2 */
    size_t size;
    void *priv;
    int activity;
    const char *chip;
    const uint8_t *availability;
    void *object; /* out */
} config_params;

typedef struct config_availability_params { /* RawMetricsConfig_SetCounterAvailability */
    size_t size;
    void *priv, *object;
    const uint8_t *availability;
} config_availability_params;

typedef struct group_params { /* RawMetricsConfig_BeginPassGroup */
    size_t size;
    void *priv, *object;
    size_t most;
} group_params;

typedef struct add_params { /* AddMetrics of a configuration or a builder */
    size_t size;
    void *priv, *object;
    const raw_request *requests;
    size_t count;
} add_params;

typedef struct generate_params { /* RawMetricsConfig_GenerateConfigImage */
    size_t size;
    void *priv, *object;
    uint8_t merge;
} generate_params;

typedef struct bytes_params { /* GetConfigImage, GetCounterDataPrefix */
    size_t size;
    void *priv, *object;
    size_t room;
    uint8_t *bytes; /* NULL: only the size is wanted */
    size_t copied;  /* out */
} bytes_params;

typedef struct passes_params { /* RawMetricsConfig_GetNumPasses */
    size_t size;
    void *priv, *object;
    size_t pipelined, isolated; /* out */
} passes_params;

typedef struct passes2_params { /* RawMetricsConfig_GetNumPasses_V2 */
    size_t size;
    void *priv, *object;
    size_t passes; /* out */
} passes2_params;

typedef struct builder_params { /* CUDA_CounterDataBuilder_Create */
    size_t size;
    void *priv;
    const char *chip;
    const uint8_t *availability;
    void *object; /* out */
} builder_params;

typedef struct builder_old_params { /* CounterDataBuilder_Create */
    size_t size;
    void *priv;
    void *object; /* out */
    const char *chip;
} builder_old_params;

typedef struct ranges_params { /* CounterData_GetNumRanges */
    size_t size;
    void *priv;
    const uint8_t *image;
    size_t ranges; /* out */
} ranges_params;

typedef struct descriptions_params { /* (Profiler_)CounterData_GetRangeDescriptions */
    size_t size;
    void *priv;
    const uint8_t *image;
    size_t range, count;
    const char **descriptions; /* NULL: only the number is wanted */
} descriptions_params;

#endif
