/* SPDX-License-Identifier: Apache-2.0
 *
 * CUPTI's binary interface as far as this door implements it, written down from its public
 * documentation: result codes, activity records in their newest layout (every older layout is a
 * prefix), callback data, and the parameter structures of the profiler's functions.
 * tests/unit/emu_doors/abi.c holds all of it against a toolkit's own headers where there are some.
 */
#ifndef EMU_CUPTI_ABI_H
#define EMU_CUPTI_ABI_H

#include <stddef.h>
#include <stdint.h>

typedef int cupti_result;
enum {
    CUPTI_OK = 0,
    CUPTI_INVALID_PARAMETER = 1,
    CUPTI_INVALID_DEVICE = 2,
    CUPTI_INVALID_CONTEXT = 3,
    CUPTI_INVALID_OPERATION = 7,
    CUPTI_OUT_OF_MEMORY = 8,
    CUPTI_PARAMETER_SIZE_NOT_SUFFICIENT = 10,
    CUPTI_NOT_IMPLEMENTED = 11,
    CUPTI_MAX_LIMIT_REACHED = 12,
    CUPTI_NOT_READY = 13,
    CUPTI_NOT_COMPATIBLE = 14,
    CUPTI_NOT_INITIALIZED = 15,
    CUPTI_INVALID_METRIC_NAME = 17,
    CUPTI_QUEUE_EMPTY = 18,
    CUPTI_INVALID_KIND = 21,
    CUPTI_HARDWARE_BUSY = 26,
    CUPTI_NOT_SUPPORTED = 27,
    CUPTI_INSUFFICIENT_PRIVILEGES = 35,
    CUPTI_MULTIPLE_SUBSCRIBERS = 39,
    CUPTI_INVALID_CHIP_NAME = 46,
    CUPTI_UNKNOWN = 999
};

/* ---- Activity ---------------------------------------------------------------------------------
 */

enum { /* kinds */
       KIND_MEMCPY = 1,
       KIND_MEMSET = 2,
       KIND_KERNEL = 3,
       KIND_DRIVER = 4,
       KIND_RUNTIME = 5,
       KIND_DEVICE = 8,
       KIND_CONTEXT = 9,
       KIND_CONCURRENT_KERNEL = 10,
       KIND_NAME = 11,
       KIND_MARKER = 12,
       KIND_MARKER_DATA = 13,
       KIND_OVERHEAD = 17,
       KIND_MEMCPY2 = 22,
       KIND_CUDA_EVENT = 36,
       KIND_STREAM = 37,
       KIND_SYNCHRONIZATION = 38,
       KIND_EXTERNAL_CORRELATION = 39,
       KIND_MEMORY2 = 49,
       KIND_MEMORY_POOL = 50,
       KIND_GRAPH_TRACE = 51,
       KINDS = 64
};

enum {
    COPY_HTOD = 1,
    COPY_DTOH,
    COPY_HTOA,
    COPY_ATOH,
    COPY_ATOA,
    COPY_ATOD,
    COPY_DTOA,
    COPY_DTOD,
    COPY_HTOH,
    COPY_PTOP
};
enum {
    MEMORY_PAGEABLE = 1,
    MEMORY_PINNED,
    MEMORY_DEVICE,
    MEMORY_ARRAY,
    MEMORY_MANAGED
};
enum { MEMORY_ALLOCATION = 1, MEMORY_RELEASE = 2 };
enum { POOL_LOCAL = 1 };
enum { FLAG_COPY_ASYNC = 1, FLAG_FLUSH_FORCED = 1 };
enum { OVERHEAD_MODULE_LOADING = 4 << 16, OBJECT_DEVICE = 3 };
enum { CHANNEL_COMPUTE = 1, CHANNEL_ASYNC_COPY = 2, LAUNCH_REGULAR = 0, LAUNCH_COOPERATIVE = 1 };

typedef struct record_kernel {
    uint32_t kind;
    uint8_t cache_config, shared_config;
    uint16_t registers;
    uint32_t global_cache_requested, global_cache_executed;
    uint64_t start, end, completed;
    uint32_t device, context, stream;
    int32_t grid[3], block[3];
    int32_t shared_static, shared_dynamic;
    uint32_t local_per_thread, local_total, correlation;
    int64_t grid_id;
    const char *name;
    void *reserved;
    uint64_t queued, submitted;
    uint8_t launch_type, carveout_requested, carveout, pad;
    uint32_t shared_executed;
    uint64_t graph_node;
    uint32_t shared_limit, graph;
    void *access_policy;
    uint32_t channel, channel_type;
    uint32_t cluster[3], cluster_policy;
    uint64_t local_total_2;
    uint32_t cluster_most, cluster_active;
    uint8_t device_launched, pad_3[7];
} record_kernel;

typedef struct record_memcpy {
    uint32_t kind;
    uint8_t copy_kind, source, destination, flags;
    uint64_t bytes, start, end;
    uint32_t device, context, stream, correlation, runtime_correlation, pad;
    void *reserved;
    uint64_t graph_node;
    uint32_t graph, channel, channel_type;
    uint8_t device_launched, pad_2[3];
    uint64_t copies;
} record_memcpy;

typedef struct record_memcpy2 { /* from one device to another */
    uint32_t kind;
    uint8_t copy_kind, source, destination, flags;
    uint64_t bytes, start, end;
    uint32_t device, context, stream;
    uint32_t source_device, source_context, destination_device, destination_context;
    uint32_t correlation;
    void *reserved;
    uint64_t graph_node;
    uint32_t graph, channel, channel_type, tail;
} record_memcpy2;

typedef struct record_memset {
    uint32_t kind, value;
    uint64_t bytes, start, end;
    uint32_t device, context, stream, correlation;
    uint16_t flags, memory_kind;
    uint32_t pad;
    void *reserved;
    uint64_t graph_node;
    uint32_t graph, channel, channel_type;
    uint8_t device_launched, pad_2[3];
} record_memset;

typedef struct record_memory_4 {
    uint32_t kind, operation, memory_kind, correlation;
    uint64_t address, bytes, timestamp, pc;
    uint32_t process, device, context, stream;
    const char *name;
    uint32_t is_async, pad;
    uint32_t pool_type, pad_2;
    uint64_t pool, release_threshold, pool_size, pool_used;
    const char *source;
} record_memory_4;

typedef struct record_pool {
    uint32_t kind, operation, pool_type, correlation, process, device;
    uint64_t keep, address, size, release_threshold, timestamp, used;
    uint8_t managed, pad[7];
} record_pool;

typedef struct record_device {
    uint32_t kind, flags;
    uint64_t bandwidth, memory_bytes; /* bandwidth: kB/s */
    uint32_t constant_bytes, l2_bytes, warp, clock_khz, copy_engines, sm_count, ipc, warps_per_sm,
        blocks_per_sm, shared_per_sm, registers_per_sm, registers_per_block, shared_per_block,
        threads_per_block, block[3], grid[3], cc_major, cc_minor, id, ecc;
    uint8_t uuid[16];
    const char *name;
    uint8_t visible, mig, reserved[6];
    uint32_t gpu_instance, compute_instance;
    uint8_t mig_uuid[16];
    uint32_t is_numa, numa;
} record_device;

typedef struct record_context {
    uint32_t kind, context, device;
    uint16_t api, null_stream;
    uint32_t parent;
    uint8_t green, pad;
    uint16_t sm_count;
    uint32_t cig, pad_2;
} record_context;

typedef struct record_api {
    uint32_t kind, cbid;
    uint64_t start, end;
    uint32_t process, thread, correlation, result;
} record_api;

typedef struct record_overhead {
    uint32_t kind, overhead_kind, object_kind;
    uint32_t object[3]; /* a device: device, context, stream */
    uint64_t start, end;
    uint32_t correlation, reserved;
    void *data;
} record_overhead;

typedef struct record_graph { /* a launch of a graph, as a whole */
    uint32_t kind, correlation;
    uint64_t start, end;
    uint32_t device, graph, context, stream;
    void *reserved;
    uint32_t end_device, end_context;
} record_graph;

typedef struct record_external {
    uint32_t kind, external_kind;
    uint64_t external;
    uint32_t correlation, reserved;
} record_external;

typedef void (*cupti_buffer_requested)(uint8_t **buffer, size_t *size, size_t *max_records);
typedef void (*cupti_buffer_completed)(void *context, uint32_t stream, uint8_t *buffer, size_t size,
                                       size_t valid);
typedef uint64_t (*cupti_timestamp)(void);

/* ---- Callbacks --------------------------------------------------------------------------------
 */

enum {
    DOMAIN_DRIVER = 1,
    DOMAIN_RUNTIME = 2,
    DOMAIN_RESOURCE = 3,
    DOMAIN_SYNCHRONIZE = 4,
    DOMAIN_NVTX = 5,
    DOMAIN_STATE = 6,
    DOMAINS = 7
};
enum { SITE_ENTER = 0, SITE_EXIT = 1 };
enum {
    RESOURCE_CONTEXT_CREATED = 1,
    RESOURCE_CONTEXT_DESTROY_STARTING = 2,
    RESOURCE_STREAM_CREATED = 3,
    RESOURCE_STREAM_DESTROY_STARTING = 4,
    RESOURCE_MODULE_LOADED = 6,
    RESOURCE_GRAPH_CREATED = 9,
    RESOURCE_GRAPH_DESTROY_STARTING = 10,
    RESOURCE_GRAPH_CLONED = 11,
    RESOURCE_NODE_CREATED = 13,
    RESOURCE_NODE_DESTROY_STARTING = 14,
    RESOURCE_DEPENDENCY_CREATED = 15,
    RESOURCE_DEPENDENCY_DESTROY_STARTING = 16,
    RESOURCE_EXEC_CREATED = 18,
    RESOURCE_EXEC_DESTROY_STARTING = 19,
    RESOURCE_NODE_CLONED = 20
};

typedef struct callback_data { /* of the driver's and the runtime's domain */
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

typedef struct resource_data {
    void *context;
    void *stream;
    void *descriptor;
} resource_data;

typedef struct graph_data { /* the descriptor of what happens to graphs */
    void *graph, *original_graph, *node, *original_node;
    int node_type;
    void *dependency, *exec;
} graph_data;

typedef void (*cupti_callback)(void *user, int domain, uint32_t cbid, const void *data);

typedef struct subscriber_params {
    size_t size;
    const char *name;
    char *old_name;
    size_t old_size;
} subscriber_params;

/* ---- The profiler -----------------------------------------------------------------------------
 */

enum { PROFILER_RANGE = 0, PROFILER_PM_SAMPLING = 1 };
enum { RANGE_AUTO = 1, RANGE_USER = 2 };
enum { REPLAY_APPLICATION = 1, REPLAY_KERNEL = 2, REPLAY_USER = 3 };
enum { SUPPORT_UNKNOWN = 0, SUPPORT_UNSUPPORTED = 1, SUPPORT_DISABLED = 2, SUPPORT_SUPPORTED = 3 };

typedef struct profiler_params { /* what each of them begins with */
    size_t size;
    void *priv;
} profiler_params;

typedef struct device_supported_params {
    size_t size;
    void *priv;
    int device;
    uint32_t supported, architecture, sli, vgpu, confidential, cmp, wsl, api;
} device_supported_params;

typedef struct availability_params {
    size_t size;
    void *priv;
    void *context;
    size_t image_size;
    uint8_t *image;
} availability_params;

typedef struct chip_name_params {
    size_t size;
    void *priv;
    size_t device;
    const char *name;
} chip_name_params;

typedef struct host_initialize_params {
    size_t size;
    void *priv;
    int type;
    const char *chip;
    const uint8_t *availability;
    void *host;
} host_initialize_params;

typedef struct host_params { /* Deinitialize */
    size_t size;
    void *priv;
    void *host;
} host_params;

typedef struct host_chips_params {
    size_t size;
    void *priv;
    size_t count;
    const char *const *names;
} host_chips_params;

typedef struct host_base_params {
    size_t size;
    void *priv;
    void *host;
    int type;
    const char **names;
    size_t count;
} host_base_params;

typedef struct host_sub_params {
    size_t size;
    void *priv;
    void *host;
    int type;
    const char *name;
    size_t count;
    const char **subs;
} host_sub_params;

typedef struct host_properties_params {
    size_t size;
    void *priv;
    void *host;
    const char *name, *description, *unit, *dimension;
    int type;
} host_properties_params;

typedef struct host_range_name_params {
    size_t size;
    void *priv;
    const uint8_t *image;
    size_t image_size, index;
    const char *delimiter, *name;
} host_range_name_params;

typedef struct host_evaluate_params {
    size_t size;
    void *priv;
    void *host;
    const uint8_t *image;
    size_t image_size, index;
    const char **names;
    size_t count;
    double *values;
} host_evaluate_params;

typedef struct host_add_params {
    size_t size;
    void *priv;
    void *host;
    const char **names;
    size_t count;
} host_add_params;

typedef struct host_image_size_params {
    size_t size;
    void *priv;
    void *host;
    size_t image_size;
} host_image_size_params;

typedef struct host_image_params {
    size_t size;
    void *priv;
    void *host;
    size_t image_size;
    uint8_t *image;
} host_image_params;

typedef struct host_passes_params {
    size_t size;
    void *priv;
    size_t image_size;
    uint8_t *image;
    size_t passes;
} host_passes_params;

typedef struct range_config_params {
    size_t size;
    void *priv;
    void *object;
    size_t config_size;
    const uint8_t *config;
    size_t image_size;
    uint8_t *image;
    uint32_t range, replay;
    size_t ranges_per_pass;
    uint16_t nesting_levels, nesting_least;
    size_t pass;
    uint16_t nesting_target;
} range_config_params;

typedef struct range_enable_params {
    size_t size;
    void *priv;
    void *context;
    void *object;
} range_enable_params;

typedef struct range_params { /* Disable, Start, PopRange */
    size_t size;
    void *priv;
    void *object;
} range_params;

typedef struct range_stop_params {
    size_t size;
    void *priv;
    void *object;
    size_t pass, nesting_target;
    uint8_t all_submitted;
} range_stop_params;

typedef struct range_push_params {
    size_t size;
    void *priv;
    void *object;
    const char *name;
} range_push_params;

typedef struct range_decode_params {
    size_t size;
    void *priv;
    void *object;
    size_t dropped;
} range_decode_params;

typedef struct range_size_params {
    size_t size;
    void *priv;
    void *object;
    const char **names;
    size_t count, ranges;
    uint32_t nodes;
    size_t image_size;
} range_size_params;

typedef struct range_image_params {
    size_t size;
    void *priv;
    void *object;
    size_t image_size;
    uint8_t *image;
} range_image_params;

typedef struct range_info_params {
    size_t size;
    void *priv;
    const uint8_t *image;
    size_t image_size, ranges;
} range_info_params;

typedef struct range_name_params {
    size_t size;
    void *priv;
    const uint8_t *image;
    size_t image_size, index;
    const char *delimiter, *name;
} range_name_params;

#endif
