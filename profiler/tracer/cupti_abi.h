/* SPDX-License-Identifier: Apache-2.0
 *
 * The part of CUPTI's binary interface that the tracer uses, declared from its documented layout,
 * so that one build serves CUDA 11 to 13 and needs no toolkit. Activity records are read through
 * their oldest layout, which every later version only extends. tests/unit/tracer/abi.c holds every
 * offset and value here against the toolkit's own headers in a build that has them.
 */
#ifndef RP_TRACER_CUPTI_ABI_H
#define RP_TRACER_CUPTI_ABI_H

#include <stddef.h>
#include <stdint.h>

typedef int cupti_result; /* 0: success */
enum {
    CUPTI_OK = 0,
    CUPTI_NOT_INITIALIZED = 15,
    CUPTI_LIMIT_REACHED = 12,
    CUPTI_MULTIPLE_SUBSCRIBERS = 39,
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

/* Callbacks. */
enum { DOMAIN_DRIVER = 1, DOMAIN_RUNTIME = 2, DOMAIN_RESOURCE = 3 };
enum { SITE_ENTER = 0, SITE_EXIT = 1 };
enum { RESOURCE_CONTEXT_CREATED = 1, RESOURCE_CONTEXT_DESTROY_STARTING = 2 };
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
    cupti_result (*ActivityFlushAll)(uint32_t flag);
    cupti_result (*ActivityGetNextRecord)(uint8_t *buffer, size_t valid, record_head **record);
    cupti_result (*ActivityGetNumDroppedRecords)(void *context, uint32_t stream, size_t *dropped);
    cupti_result (*ActivityRegisterTimestampCallback)(cupti_timestamp callback); /* from 11.6 on */
    cupti_result (*GetTimestamp)(uint64_t *timestamp);
} cupti_api;

#endif
