/* SPDX-License-Identifier: Apache-2.0
 *
 * The part of CUPTI's binary interface that the tracer uses, declared from its documented layout,
 * so that one build serves CUDA 11 to 13 and needs no toolkit. Activity records are read through
 * their oldest layout, which every later version only extends. tests/unit/tracer/abi.c holds every
 * offset and value here against the toolkit's own headers in a build that has them.
 */
#ifndef RP_TRACER_CUPTI_ABI_H
#define RP_TRACER_CUPTI_ABI_H

#include "tracer/nvpw_abi.h"
#include <stddef.h>
#include <stdint.h>

typedef int cupti_result; /* 0: success */
enum {
    CUPTI_OK = 0,
    CUPTI_INVALID_PARAMETER = 1,
    CUPTI_INVALID_CONTEXT = 3,
    CUPTI_NOT_INITIALIZED = 15,
    CUPTI_LIMIT_REACHED = 12,
    CUPTI_NOT_SUPPORTED = 27,
    CUPTI_INSUFFICIENT_PRIVILEGES = 35,
    CUPTI_MULTIPLE_SUBSCRIBERS = 39,
    CUPTI_VIRTUAL_DEVICE = 40,
    CUPTI_CONFIDENTIAL = 41,
    CUPTI_CMP = 42,
    CUPTI_SLI = 44,
    CUPTI_WSL = 45,
    CUPTI_UNKNOWN = 999
};

/* Activity kinds. */
enum {
    KIND_MEMCPY = 1,
    KIND_MEMSET = 2,
    KIND_KERNEL = 3,
    KIND_DEVICE = 8,
    KIND_CONTEXT = 9,
    KIND_CONCURRENT_KERNEL = 10,
    KIND_OVERHEAD = 17,
    KIND_MEMCPY2 = 22,
    KIND_MEMORY2 = 49,
    KIND_MEMORY_POOL = 50
};

typedef struct record_head {
    uint32_t kind;
} record_head;

typedef struct record_kernel { /* CUpti_ActivityKernel5: Kernel4 is a prefix of 144 bytes */
    uint32_t kind;
    uint8_t cache_config, shared_config;
    uint16_t registers;
    uint8_t pad0[8];
    uint64_t start, end, completed;
    uint32_t device, context, stream;
    int32_t grid[3], block[3];
    int32_t shared_static, shared_dynamic;
    uint32_t local_per_thread, local_total, correlation;
    int64_t grid_id;
    const char *name;
    uint8_t pad1[32];
    uint64_t graph_node; /* from CUDA 11.0 on */
    uint8_t pad2[4];
    uint32_t graph;
} record_kernel;

typedef struct record_memcpy {
    uint32_t kind;
    uint8_t copy_kind, source, destination, flags;
    uint64_t bytes, start, end;
    uint32_t device, context, stream, correlation;
} record_memcpy;

typedef struct record_memcpy2 { /* peer to peer */
    uint32_t kind;
    uint8_t copy_kind, source, destination, flags;
    uint64_t bytes, start, end;
    uint32_t device, context, stream;
    uint32_t source_device, source_context, destination_device, destination_context;
    uint32_t correlation;
} record_memcpy2;

typedef struct record_memset {
    uint32_t kind, value;
    uint64_t bytes, start, end;
    uint32_t device, context, stream, correlation;
} record_memset;

typedef struct record_memory2 {
    uint32_t kind, operation, memory_kind, correlation;
    uint64_t address, bytes, timestamp, pc;
    uint32_t process, device;
} record_memory2;

/* Callbacks. DOMAIN_*: of cuptiEnableCallback. */
enum { DOMAIN_DRIVER = 1, DOMAIN_RUNTIME = 2, DOMAIN_RESOURCE = 3 };
enum { SITE_ENTER = 0, SITE_EXIT = 1 };
enum {
    RESOURCE_CONTEXT_CREATED = 1,
    RESOURCE_CONTEXT_DESTROY_STARTING = 2,
    RESOURCE_NODE_CLONED = 20
};
/* Driver calls that launch kernels, by their callback ids. */
enum {
    CBID_LAUNCH = 115,
    CBID_LAUNCH_GRID = 116,
    CBID_LAUNCH_GRID_ASYNC = 117,
    CBID_LAUNCH_KERNEL = 307,
    CBID_LAUNCH_KERNEL_PTSZ = 442,
    CBID_LAUNCH_COOPERATIVE = 477,
    CBID_LAUNCH_COOPERATIVE_PTSZ = 478,
    CBID_LAUNCH_COOPERATIVE_MULTI = 480,
    CBID_GRAPH_LAUNCH = 514,
    CBID_GRAPH_LAUNCH_PTSZ = 515,
    CBID_LAUNCH_KERNEL_EX = 652,
    CBID_LAUNCH_KERNEL_EX_PTSZ = 653
};
/* Others that the choice of launches follows: cuProfilerStart and Stop, and stream captures, during
 * which a launch only becomes a node of a graph. */
enum {
    CBID_PROFILER_START = 308,
    CBID_PROFILER_STOP = 309,
    CBID_BEGIN_CAPTURE = 495,
    CBID_BEGIN_CAPTURE_PTSZ = 496,
    CBID_END_CAPTURE = 497,
    CBID_END_CAPTURE_PTSZ = 498,
    CBID_BEGIN_CAPTURE_2 = 539,
    CBID_BEGIN_CAPTURE_2_PTSZ = 540,
    CBID_BEGIN_CAPTURE_TO_GRAPH = 720,
    CBID_BEGIN_CAPTURE_TO_GRAPH_PTSZ = 721
};

/* Graphs that are made executable, changed, destroyed. */
enum {
    CBID_GRAPH_INSTANTIATE = 513,
    CBID_GRAPH_EXEC_DESTROY = 516,
    CBID_GRAPH_SET_KERNEL = 538,
    CBID_GRAPH_UPDATE = 561,
    CBID_GRAPH_INSTANTIATE_2 = 578,
    CBID_GRAPH_SET_CHILD = 586,
    CBID_GRAPH_INSTANTIATE_FLAGS = 643,
    CBID_GRAPH_SET_ENABLED = 650,
    CBID_GRAPH_INSTANTIATE_PARAMS = 656,
    CBID_GRAPH_INSTANTIATE_PARAMS_PTSZ = 657,
    CBID_GRAPH_SET_KERNEL_2 = 692,
    CBID_GRAPH_UPDATE_2 = 696,
    CBID_GRAPH_SET_NODE = 714
};

typedef struct callback_data { /* CUpti_CallbackData */
    int site;
    const char *function;
    const void *parameters;
    void *return_value;
    const char *symbol;
    void *context;
    uint32_t context_uid;
    uint64_t *correlation_data;
    uint32_t correlation;
} callback_data;

typedef struct resource_data { /* CUpti_ResourceData */
    void *context, *stream, *descriptor;
} resource_data;

typedef struct graph_data { /* CUpti_GraphData */
    void *graph, *original_graph, *node, *original_node;
    int node_type;
    void *dependency, *exec;
} graph_data;

/* What the calls that make, change or destroy executable graphs have in common. */
typedef struct graph_arguments {
    void *first, *second; /* the executable graph (where it is made: its address); graph or node */
    const void *third;
} graph_arguments;

typedef struct enable_arguments { /* of cuGraphNodeSetEnabled */
    void *exec, *node;
    unsigned enabled;
} enable_arguments;

typedef struct graph_launch_arguments {
    void *exec, *stream;
} graph_launch_arguments;

typedef struct graph_kernel_params { /* CUDA_KERNEL_NODE_PARAMS_v2; the first ends before KERNEL */
    void *function;
    uint32_t grid[3], block[3], shared;
    void **parameters, **extra;
    void *kernel, *context;
} graph_kernel_params;

typedef struct graph_node_params { /* the beginning of CUgraphNodeParams */
    int type, reserved[3];
    graph_kernel_params kernel;
} graph_node_params;

typedef struct graph_edge { /* CUgraphEdgeData */
    uint8_t from_port, to_port, type, reserved[5];
} graph_edge;

/* Arguments of cuLaunchKernel and cuLaunchCooperativeKernel, as far as they are the same. */
typedef struct launch_arguments {
    void *function;
    uint32_t grid[3], block[3], shared;
    void *stream;
} launch_arguments;

typedef struct launch_config { /* CUlaunchConfig */
    uint32_t grid[3], block[3], shared;
    void *stream;
} launch_config;

typedef struct launch_ex_arguments { /* of cuLaunchKernelEx */
    const launch_config *config;
    void *function;
} launch_ex_arguments;

/* ---- The range profiler (from CUDA 12.8 on) -------------------------------------------------- */

enum { RANGE_AUTO = 1, REPLAY_APPLICATION = 1, REPLAY_KERNEL = 2 };
enum { SUPPORT_UNKNOWN = 0, SUPPORT_NONE, SUPPORT_DISABLED, SUPPORT_YES };

/* Parameter blocks: size says which fields there are; out: filled by the call. */
typedef struct profiler_plain { /* cuptiProfilerInitialize */
    size_t size;
    void *private_data;
} profiler_plain;

typedef struct profiler_supported {
    size_t size;
    void *private_data;
    int device;
    int supported, architecture, sli, vgpu, confidential, cmp, wsl; /* out: SUPPORT_* */
    int interface;                                                  /* 0: range profiling */
} profiler_supported;

typedef struct profiler_availability {
    size_t size;
    void *private_data, *context;
    size_t image_size; /* in and out */
    uint8_t *image;    /* NULL: only the size is wanted */
} profiler_availability;

typedef struct device_chip {
    size_t size;
    void *private_data;
    size_t device;
    const char *chip; /* out */
} device_chip;

typedef struct range_enable {
    size_t size;
    void *private_data, *context;
    void *object; /* out */
} range_enable;

typedef struct range_object { /* Disable, Start */
    size_t size;
    void *private_data, *object;
} range_object;

typedef struct range_stop {
    size_t size;
    void *private_data, *object;
    size_t pass, level;    /* out */
    uint8_t all_submitted; /* out */
} range_stop;

typedef struct range_config {
    size_t size;
    void *private_data, *object;
    size_t config_size;
    const uint8_t *config;
    size_t image_size;
    uint8_t *image;
    int range, replay;
    size_t ranges_per_pass;
    uint16_t levels, least_level;
    size_t pass;
    uint16_t target_level;
} range_config;

typedef struct range_decode {
    size_t size;
    void *private_data, *object;
    size_t dropped; /* out */
} range_decode;

typedef struct range_image_size {
    size_t size;
    void *private_data, *object;
    const char **metrics;
    size_t count, ranges;
    uint32_t nodes;
    size_t image_size; /* out */
} range_image_size;

typedef struct range_image {
    size_t size;
    void *private_data, *object;
    size_t image_size;
    uint8_t *image;
} range_image;

typedef struct range_info {
    size_t size;
    void *private_data;
    const uint8_t *image;
    size_t image_size;
    size_t ranges; /* out */
} range_info;

/* CUPTI wants the size up to the end of the last field, without padding behind it. */
#define ABI_SIZE(type, last) (offsetof(type, last) + sizeof(((type *)0)->last))

typedef void *cupti_subscriber;
typedef void (*cupti_callback)(void *user, int domain, uint32_t cbid, const void *data);
typedef void (*cupti_buffer_requested)(uint8_t **buffer, size_t *size, size_t *max_records);
typedef void (*cupti_buffer_completed)(void *context, uint32_t stream, uint8_t *buffer, size_t size,
                                       size_t valid);
typedef uint64_t (*cupti_timestamp)(void);

/* Everything that is bound, each symbol on its own; NULL where this version has it not. */
typedef struct cupti_api {
    cupti_result (*GetVersion)(uint32_t *version);
    cupti_result (*GetResultString)(cupti_result result, const char **text);
    cupti_result (*Subscribe)(cupti_subscriber *subscriber, cupti_callback callback, void *user);
    cupti_result (*Unsubscribe)(cupti_subscriber subscriber);
    cupti_result (*EnableCallback)(uint32_t enable, cupti_subscriber subscriber, int domain,
                                   uint32_t cbid);
    cupti_result (*ActivityRegisterCallbacks)(cupti_buffer_requested requested,
                                              cupti_buffer_completed completed);
    cupti_result (*ActivityEnable)(int kind);
    cupti_result (*ActivityDisable)(int kind);
    cupti_result (*ActivityFlushAll)(uint32_t flag);
    cupti_result (*ActivityGetNextRecord)(uint8_t *buffer, size_t valid, record_head **record);
    cupti_result (*ActivityGetNumDroppedRecords)(void *context, uint32_t stream, size_t *dropped);
    cupti_result (*ActivityRegisterTimestampCallback)(cupti_timestamp callback); /* from 11.6 on */
    cupti_result (*GetTimestamp)(uint64_t *timestamp);
    cupti_result (*GetDeviceId)(void *context, uint32_t *device);
    cupti_result (*GetGraphNodeId)(void *node, uint64_t *id); /* from 11.1 on */
    /* Of the range profiler and of sessions. */
    cupti_result (*ProfilerInitialize)(profiler_plain *);
    cupti_result (*ProfilerDeviceSupported)(profiler_supported *);
    cupti_result (*ProfilerGetCounterAvailability)(profiler_availability *);
    cupti_result (*DeviceGetChipName)(device_chip *);
    /* The range profiler; all of them or it is not used. */
    cupti_result (*RangeEnable)(range_enable *);
    cupti_result (*RangeDisable)(range_object *);
    cupti_result (*RangeStart)(range_object *);
    cupti_result (*RangeStop)(range_stop *);
    cupti_result (*RangeSetConfig)(range_config *);
    cupti_result (*RangeDecodeData)(range_decode *);
    cupti_result (*RangeGetCounterDataSize)(range_image_size *);
    cupti_result (*RangeCounterDataImageInitialize)(range_image *);
    cupti_result (*RangeGetCounterDataInfo)(range_info *);
    /* The older way to counters. */
    session_api session;
} cupti_api;

#endif
