/* SPDX-License-Identifier: Apache-2.0
 *
 * The binary interface of the older way to counters, declared from its documented layout: sessions
 * of CUPTI's profiler (in every CUPTI of CUDA 11 to 13), and the host library that comes with them
 * (libnvperf_host.so, "NVPW": metrics, configurations, evaluation; it needs neither GPU nor
 * driver). tests/unit/tracer/abi_nvpw.c holds every offset and value here against the toolkit's own
 * headers in a build that has them.
 */
#ifndef RP_TRACER_NVPW_ABI_H
#define RP_TRACER_NVPW_ABI_H

#include <stddef.h>
#include <stdint.h>

/* ---- Sessions: parameter blocks of cuptiProfiler* -------------------------------------------- */

typedef struct session_image_options { /* of a counter data image */
    size_t size;
    void *private_data;
    const uint8_t *prefix; /* of NVPW's counter data builder */
    size_t prefix_size;
    uint32_t ranges, nodes, name_length; /* the most there may be; length with the final zero */
} session_image_options;

typedef struct session_image_size { /* CounterDataImageCalculateSize */
    size_t size;
    void *private_data;
    size_t options_size;
    const session_image_options *options;
    size_t image_size; /* out */
} session_image_size;

typedef struct session_image { /* CounterDataImageInitialize */
    size_t size;
    void *private_data;
    size_t options_size;
    const session_image_options *options;
    size_t image_size;
    uint8_t *image;
} session_image;

typedef struct session_scratch_size { /* CounterDataImageCalculateScratchBufferSize */
    size_t size;
    void *private_data;
    size_t image_size;
    uint8_t *image;
    size_t scratch_size; /* out */
} session_scratch_size;

typedef struct session_scratch { /* CounterDataImageInitializeScratchBuffer */
    size_t size;
    void *private_data;
    size_t image_size;
    uint8_t *image;
    size_t scratch_size;
    uint8_t *scratch;
} session_scratch;

typedef struct session_begin { /* BeginSession */
    size_t size;
    void *private_data, *context; /* NULL: the current one */
    size_t image_size;
    uint8_t *image;
    size_t scratch_size;
    uint8_t *scratch;
    uint8_t dump;
    const char *dump_path;
    int range, replay;
    size_t ranges_per_pass, launches_per_pass;
} session_begin;

typedef struct session_config { /* SetConfig */
    size_t size;
    void *private_data, *context;
    const uint8_t *config;
    size_t config_size;
    uint16_t least_level, levels;
    size_t pass;
    uint16_t target_level;
} session_config;

typedef struct session_plain { /* EndSession, UnsetConfig, BeginPass, Enable- and DisableProfiling
                                */
    size_t size;
    void *private_data, *context;
} session_plain;

typedef struct session_end_pass { /* EndPass */
    size_t size;
    void *private_data, *context;
    uint16_t target_level; /* out, as those below: of the next pass */
    size_t pass;
    uint8_t all_submitted;
} session_end_pass;

typedef struct session_flush { /* FlushCounterData */
    size_t size;
    void *private_data, *context;
    size_t ranges_dropped, bytes_dropped; /* out */
} session_flush;

/* Every function of the sessions that is used; all or none. */
typedef struct session_api {
    int (*ImageSize)(session_image_size *);
    int (*ImageInitialize)(session_image *);
    int (*ScratchSize)(session_scratch_size *);
    int (*ScratchInitialize)(session_scratch *);
    int (*Begin)(session_begin *);
    int (*End)(session_plain *);
    int (*SetConfig)(session_config *);
    int (*UnsetConfig)(session_plain *);
    int (*Enable)(session_plain *);
    int (*Disable)(session_plain *);
    int (*BeginPass)(session_plain *);
    int (*EndPass)(session_end_pass *);
    int (*Flush)(session_flush *);
} session_api;

/* ---- NVPW: its results, and its parameter blocks --------------------------------------------- */

enum {
    NVPW_OK = 0,
    NVPW_NOT_SUPPORTED = 6,
    NVPW_INVALID_ARGUMENT = 8,
    NVPW_OUT_OF_MEMORY = 11,
    NVPW_UNSUPPORTED_GPU = 14,
    NVPW_INSUFFICIENT_PRIVILEGE = 17,
    NVPW_VIRTUAL_DEVICE = 24
};
enum { NVPW_ACTIVITY_PROFILER = 1 };

typedef struct nvpw_plain { /* InitializeHost */
    size_t size;
    void *private_data;
} nvpw_plain;

typedef struct nvpw_object { /* Destroy of an evaluator, configuration or builder; EndPassGroup */
    size_t size;
    void *private_data, *object;
} nvpw_object;

typedef struct nvpw_chips { /* GetSupportedChipNames */
    size_t size;
    void *private_data;
    const char *const *names;
    size_t count;
} nvpw_chips;

typedef struct nvpw_scratch { /* CUDA_MetricsEvaluator_CalculateScratchBufferSize */
    size_t size;
    void *private_data;
    const char *chip;
    const uint8_t *availability;
    size_t scratch_size; /* out */
} nvpw_scratch;

typedef struct nvpw_evaluator { /* CUDA_MetricsEvaluator_Initialize */
    size_t size;
    void *private_data;
    uint8_t *scratch;
    size_t scratch_size;
    const char *chip;
    const uint8_t *availability, *image;
    size_t image_size;
    void *object; /* out */
} nvpw_evaluator;

typedef struct nvpw_request { /* NVPW_MetricEvalRequest: a metric, as the evaluator knows it */
    size_t metric;
    uint8_t type, rollup;
    uint16_t submetric;
} nvpw_request;

typedef struct nvpw_convert { /* MetricsEvaluator_ConvertMetricNameToMetricEvalRequest */
    size_t size;
    void *private_data, *object;
    const char *name;
    nvpw_request *request;
    size_t request_size;
} nvpw_convert;

typedef struct nvpw_dependencies { /* MetricsEvaluator_GetMetricRawDependencies */
    size_t size;
    void *private_data, *object;
    const nvpw_request *requests;
    size_t count, request_size, request_stride;
    const char **names; /* NULL: only the number is wanted */
    size_t name_count;
    const char **optional_names;
    size_t optional_count;
} nvpw_dependencies;

typedef struct nvpw_attributes { /* MetricsEvaluator_SetDeviceAttributes */
    size_t size;
    void *private_data, *object;
    const uint8_t *image;
    size_t image_size;
} nvpw_attributes;

typedef struct nvpw_evaluate { /* MetricsEvaluator_EvaluateToGpuValues */
    size_t size;
    void *private_data, *object;
    const nvpw_request *requests;
    size_t count, request_size, request_stride;
    const uint8_t *image;
    size_t image_size, range;
    uint8_t isolated;
    double *values;
} nvpw_evaluate;

typedef struct nvpw_raw { /* NVPA_RawMetricRequest: a counter by its raw name */
    size_t size;
    void *private_data;
    const char *name;
    uint8_t isolated, keep_instances;
} nvpw_raw;

typedef struct nvpw_config_create { /* CUDA_RawMetricsConfig_Create_V2 */
    size_t size;
    void *private_data;
    int activity;
    const char *chip;
    const uint8_t *availability;
    void *object; /* out */
} nvpw_config_create;

typedef struct nvpw_config_availability { /* RawMetricsConfig_SetCounterAvailability */
    size_t size;
    void *private_data, *object;
    const uint8_t *availability;
} nvpw_config_availability;

typedef struct nvpw_pass_group { /* RawMetricsConfig_BeginPassGroup */
    size_t size;
    void *private_data, *object;
    size_t most; /* 0: any number of passes */
} nvpw_pass_group;

typedef struct nvpw_add { /* AddMetrics of a configuration or a builder */
    size_t size;
    void *private_data, *object;
    const nvpw_raw *requests;
    size_t count;
} nvpw_add;

typedef struct nvpw_generate { /* RawMetricsConfig_GenerateConfigImage */
    size_t size;
    void *private_data, *object;
    uint8_t merge;
} nvpw_generate;

typedef struct nvpw_bytes { /* GetConfigImage, GetCounterDataPrefix */
    size_t size;
    void *private_data, *object;
    size_t room;
    uint8_t *bytes; /* NULL: only the size is wanted */
    size_t copied;  /* out */
} nvpw_bytes;

typedef struct nvpw_passes { /* RawMetricsConfig_GetNumPasses */
    size_t size;
    void *private_data, *object;
    size_t pipelined, isolated; /* out */
} nvpw_passes;

typedef struct nvpw_builder_create { /* CUDA_CounterDataBuilder_Create */
    size_t size;
    void *private_data;
    const char *chip;
    const uint8_t *availability;
    void *object; /* out */
} nvpw_builder_create;

typedef struct nvpw_ranges { /* CounterData_GetNumRanges */
    size_t size;
    void *private_data;
    const uint8_t *image;
    size_t ranges; /* out */
} nvpw_ranges;

#endif
