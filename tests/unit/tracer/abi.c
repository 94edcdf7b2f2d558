/* SPDX-License-Identifier: Apache-2.0
 *
 * Holds the tracer's own declarations of CUPTI's interface against the toolkit's headers: it
 * compiles only if every offset and value agrees.
 */
#include <cupti.h>

#include "tracer/cupti_abi.h"

#define SAME_FIELD(ours, our_field, theirs, their_field)                                           \
    _Static_assert(offsetof(ours, our_field) == offsetof(theirs, their_field) &&                   \
                       sizeof(((ours *)0)->our_field) <= sizeof(((theirs *)0)->their_field) * 3,   \
                   #ours "." #our_field)
#define SAME_VALUE(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #ours)

SAME_FIELD(record_kernel, kind, CUpti_ActivityKernel5, kind);
SAME_FIELD(record_kernel, registers, CUpti_ActivityKernel5, registersPerThread);
SAME_FIELD(record_kernel, start, CUpti_ActivityKernel5, start);
SAME_FIELD(record_kernel, end, CUpti_ActivityKernel5, end);
SAME_FIELD(record_kernel, device, CUpti_ActivityKernel5, deviceId);
SAME_FIELD(record_kernel, context, CUpti_ActivityKernel5, contextId);
SAME_FIELD(record_kernel, stream, CUpti_ActivityKernel5, streamId);
SAME_FIELD(record_kernel, grid, CUpti_ActivityKernel5, gridX);
SAME_FIELD(record_kernel, block, CUpti_ActivityKernel5, blockX);
SAME_FIELD(record_kernel, shared_static, CUpti_ActivityKernel5, staticSharedMemory);
SAME_FIELD(record_kernel, shared_dynamic, CUpti_ActivityKernel5, dynamicSharedMemory);
SAME_FIELD(record_kernel, local_per_thread, CUpti_ActivityKernel5, localMemoryPerThread);
SAME_FIELD(record_kernel, correlation, CUpti_ActivityKernel5, correlationId);
SAME_FIELD(record_kernel, grid_id, CUpti_ActivityKernel5, gridId);
SAME_FIELD(record_kernel, name, CUpti_ActivityKernel5, name);
SAME_FIELD(record_kernel, graph_node, CUpti_ActivityKernel5, graphNodeId);
SAME_FIELD(record_kernel, graph, CUpti_ActivityKernel5, graphId);

SAME_FIELD(record_memcpy, copy_kind, CUpti_ActivityMemcpy, copyKind);
SAME_FIELD(record_memcpy, source, CUpti_ActivityMemcpy, srcKind);
SAME_FIELD(record_memcpy, destination, CUpti_ActivityMemcpy, dstKind);
SAME_FIELD(record_memcpy, bytes, CUpti_ActivityMemcpy, bytes);
SAME_FIELD(record_memcpy, start, CUpti_ActivityMemcpy, start);
SAME_FIELD(record_memcpy, end, CUpti_ActivityMemcpy, end);
SAME_FIELD(record_memcpy, device, CUpti_ActivityMemcpy, deviceId);
SAME_FIELD(record_memcpy, stream, CUpti_ActivityMemcpy, streamId);
SAME_FIELD(record_memcpy, correlation, CUpti_ActivityMemcpy, correlationId);

SAME_FIELD(record_memcpy2, bytes, CUpti_ActivityMemcpyPtoP, bytes);
SAME_FIELD(record_memcpy2, device, CUpti_ActivityMemcpyPtoP, deviceId);
SAME_FIELD(record_memcpy2, stream, CUpti_ActivityMemcpyPtoP, streamId);
SAME_FIELD(record_memcpy2, source_device, CUpti_ActivityMemcpyPtoP, srcDeviceId);
SAME_FIELD(record_memcpy2, destination_device, CUpti_ActivityMemcpyPtoP, dstDeviceId);
SAME_FIELD(record_memcpy2, correlation, CUpti_ActivityMemcpyPtoP, correlationId);

SAME_FIELD(record_memset, bytes, CUpti_ActivityMemset, bytes);
SAME_FIELD(record_memset, start, CUpti_ActivityMemset, start);
SAME_FIELD(record_memset, device, CUpti_ActivityMemset, deviceId);
SAME_FIELD(record_memset, stream, CUpti_ActivityMemset, streamId);
SAME_FIELD(record_memset, correlation, CUpti_ActivityMemset, correlationId);

SAME_FIELD(record_memory2, operation, CUpti_ActivityMemory2, memoryOperationType);
SAME_FIELD(record_memory2, memory_kind, CUpti_ActivityMemory2, memoryKind);
SAME_FIELD(record_memory2, address, CUpti_ActivityMemory2, address);
SAME_FIELD(record_memory2, bytes, CUpti_ActivityMemory2, bytes);
SAME_FIELD(record_memory2, timestamp, CUpti_ActivityMemory2, timestamp);
SAME_FIELD(record_memory2, device, CUpti_ActivityMemory2, deviceId);

SAME_FIELD(callback_data, site, CUpti_CallbackData, callbackSite);
SAME_FIELD(callback_data, function, CUpti_CallbackData, functionName);
SAME_FIELD(callback_data, symbol, CUpti_CallbackData, symbolName);
SAME_FIELD(callback_data, context, CUpti_CallbackData, context);
SAME_FIELD(callback_data, correlation, CUpti_CallbackData, correlationId);

SAME_VALUE(CUPTI_OK, CUPTI_SUCCESS);
SAME_VALUE(CUPTI_NOT_INITIALIZED, CUPTI_ERROR_NOT_INITIALIZED);
SAME_VALUE(CUPTI_LIMIT_REACHED, CUPTI_ERROR_MAX_LIMIT_REACHED);
SAME_VALUE(CUPTI_MULTIPLE_SUBSCRIBERS, CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
SAME_VALUE(CUPTI_UNKNOWN, CUPTI_ERROR_UNKNOWN);
SAME_VALUE(KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY);
SAME_VALUE(KIND_MEMSET, CUPTI_ACTIVITY_KIND_MEMSET);
SAME_VALUE(KIND_KERNEL, CUPTI_ACTIVITY_KIND_KERNEL);
SAME_VALUE(KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
SAME_VALUE(KIND_MEMCPY2, CUPTI_ACTIVITY_KIND_MEMCPY2);
SAME_VALUE(KIND_MEMORY2, CUPTI_ACTIVITY_KIND_MEMORY2);
SAME_VALUE(DOMAIN_DRIVER, CUPTI_CB_DOMAIN_DRIVER_API);
SAME_VALUE(DOMAIN_RESOURCE, CUPTI_CB_DOMAIN_RESOURCE);
SAME_VALUE(SITE_ENTER, CUPTI_API_ENTER);
SAME_VALUE(RESOURCE_CONTEXT_CREATED, CUPTI_CBID_RESOURCE_CONTEXT_CREATED);
SAME_VALUE(CBID_LAUNCH_KERNEL, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel);
SAME_VALUE(CBID_LAUNCH_KERNEL_PTSZ, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz);
SAME_VALUE(CBID_LAUNCH_COOPERATIVE, CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel);
SAME_VALUE(CBID_GRAPH_LAUNCH, CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch);
SAME_VALUE(CBID_LAUNCH_KERNEL_EX, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx);
SAME_VALUE(CBID_LAUNCH_KERNEL_EX_PTSZ, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz);
