/* SPDX-License-Identifier: Apache-2.0
 *
 * Holds the doors' own declarations of CUPTI's interface against a toolkit's
 * headers (13.0 or later): it compiles only if every size, offset and value agrees.
 */
#include <cupti.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>

#if CUPTI_API_VERSION >= 130000

#include "emulator/cupti/abi.h"

#define SAME_SIZE(ours, theirs) _Static_assert(sizeof(ours) == sizeof(theirs), #ours)
#define SAME_FIELD(ours, our_field, theirs, their_field)                                           \
    _Static_assert(offsetof(ours, our_field) == offsetof(theirs, their_field), #ours "." #our_field)
#define SAME_VALUE(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #ours)

SAME_SIZE(record_kernel, CUpti_ActivityKernel10);
SAME_FIELD(record_kernel, kind, CUpti_ActivityKernel10, kind);
SAME_FIELD(record_kernel, registers, CUpti_ActivityKernel10, registersPerThread);
SAME_FIELD(record_kernel, start, CUpti_ActivityKernel10, start);
SAME_FIELD(record_kernel, end, CUpti_ActivityKernel10, end);
SAME_FIELD(record_kernel, completed, CUpti_ActivityKernel10, completed);
SAME_FIELD(record_kernel, device, CUpti_ActivityKernel10, deviceId);
SAME_FIELD(record_kernel, context, CUpti_ActivityKernel10, contextId);
SAME_FIELD(record_kernel, stream, CUpti_ActivityKernel10, streamId);
SAME_FIELD(record_kernel, grid, CUpti_ActivityKernel10, gridX);
SAME_FIELD(record_kernel, block, CUpti_ActivityKernel10, blockX);
SAME_FIELD(record_kernel, shared_static, CUpti_ActivityKernel10, staticSharedMemory);
SAME_FIELD(record_kernel, shared_dynamic, CUpti_ActivityKernel10, dynamicSharedMemory);
SAME_FIELD(record_kernel, local_per_thread, CUpti_ActivityKernel10, localMemoryPerThread);
SAME_FIELD(record_kernel, local_total, CUpti_ActivityKernel10, localMemoryTotal);
SAME_FIELD(record_kernel, correlation, CUpti_ActivityKernel10, correlationId);
SAME_FIELD(record_kernel, grid_id, CUpti_ActivityKernel10, gridId);
SAME_FIELD(record_kernel, name, CUpti_ActivityKernel10, name);
SAME_FIELD(record_kernel, queued, CUpti_ActivityKernel10, queued);
SAME_FIELD(record_kernel, submitted, CUpti_ActivityKernel10, submitted);
SAME_FIELD(record_kernel, launch_type, CUpti_ActivityKernel10, launchType);
SAME_FIELD(record_kernel, carveout, CUpti_ActivityKernel10, sharedMemoryCarveoutRequested);
SAME_FIELD(record_kernel, shared_executed, CUpti_ActivityKernel10, sharedMemoryExecuted);
SAME_FIELD(record_kernel, graph_node, CUpti_ActivityKernel10, graphNodeId);
SAME_FIELD(record_kernel, graph, CUpti_ActivityKernel10, graphId);
SAME_FIELD(record_kernel, channel, CUpti_ActivityKernel10, channelID);
SAME_FIELD(record_kernel, channel_type, CUpti_ActivityKernel10, channelType);
SAME_FIELD(record_kernel, cluster, CUpti_ActivityKernel10, clusterX);
SAME_FIELD(record_kernel, cluster_policy, CUpti_ActivityKernel10, clusterSchedulingPolicy);
SAME_FIELD(record_kernel, local_total_2, CUpti_ActivityKernel10, localMemoryTotal_v2);
SAME_FIELD(record_kernel, cluster_most, CUpti_ActivityKernel10, maxPotentialClusterSize);
SAME_FIELD(record_kernel, device_launched, CUpti_ActivityKernel10, isDeviceLaunched);

SAME_SIZE(record_memcpy, CUpti_ActivityMemcpy6);
SAME_FIELD(record_memcpy, kind, CUpti_ActivityMemcpy6, kind);
SAME_FIELD(record_memcpy, copy_kind, CUpti_ActivityMemcpy6, copyKind);
SAME_FIELD(record_memcpy, source, CUpti_ActivityMemcpy6, srcKind);
SAME_FIELD(record_memcpy, destination, CUpti_ActivityMemcpy6, dstKind);
SAME_FIELD(record_memcpy, flags, CUpti_ActivityMemcpy6, flags);
SAME_FIELD(record_memcpy, bytes, CUpti_ActivityMemcpy6, bytes);
SAME_FIELD(record_memcpy, start, CUpti_ActivityMemcpy6, start);
SAME_FIELD(record_memcpy, end, CUpti_ActivityMemcpy6, end);
SAME_FIELD(record_memcpy, device, CUpti_ActivityMemcpy6, deviceId);
SAME_FIELD(record_memcpy, context, CUpti_ActivityMemcpy6, contextId);
SAME_FIELD(record_memcpy, stream, CUpti_ActivityMemcpy6, streamId);
SAME_FIELD(record_memcpy, correlation, CUpti_ActivityMemcpy6, correlationId);
SAME_FIELD(record_memcpy, runtime_correlation, CUpti_ActivityMemcpy6, runtimeCorrelationId);
SAME_FIELD(record_memcpy, graph_node, CUpti_ActivityMemcpy6, graphNodeId);
SAME_FIELD(record_memcpy, graph, CUpti_ActivityMemcpy6, graphId);
SAME_FIELD(record_memcpy, channel, CUpti_ActivityMemcpy6, channelID);
SAME_FIELD(record_memcpy, channel_type, CUpti_ActivityMemcpy6, channelType);
SAME_FIELD(record_memcpy, device_launched, CUpti_ActivityMemcpy6, isDeviceLaunched);
SAME_FIELD(record_memcpy, copies, CUpti_ActivityMemcpy6, copyCount);

SAME_SIZE(record_memcpy2, CUpti_ActivityMemcpyPtoP4);
SAME_FIELD(record_memcpy2, kind, CUpti_ActivityMemcpyPtoP4, kind);
SAME_FIELD(record_memcpy2, copy_kind, CUpti_ActivityMemcpyPtoP4, copyKind);
SAME_FIELD(record_memcpy2, bytes, CUpti_ActivityMemcpyPtoP4, bytes);
SAME_FIELD(record_memcpy2, start, CUpti_ActivityMemcpyPtoP4, start);
SAME_FIELD(record_memcpy2, end, CUpti_ActivityMemcpyPtoP4, end);
SAME_FIELD(record_memcpy2, device, CUpti_ActivityMemcpyPtoP4, deviceId);
SAME_FIELD(record_memcpy2, context, CUpti_ActivityMemcpyPtoP4, contextId);
SAME_FIELD(record_memcpy2, stream, CUpti_ActivityMemcpyPtoP4, streamId);
SAME_FIELD(record_memcpy2, source_device, CUpti_ActivityMemcpyPtoP4, srcDeviceId);
SAME_FIELD(record_memcpy2, source_context, CUpti_ActivityMemcpyPtoP4, srcContextId);
SAME_FIELD(record_memcpy2, destination_device, CUpti_ActivityMemcpyPtoP4, dstDeviceId);
SAME_FIELD(record_memcpy2, destination_context, CUpti_ActivityMemcpyPtoP4, dstContextId);
SAME_FIELD(record_memcpy2, correlation, CUpti_ActivityMemcpyPtoP4, correlationId);
SAME_FIELD(record_memcpy2, graph_node, CUpti_ActivityMemcpyPtoP4, graphNodeId);
SAME_FIELD(record_memcpy2, graph, CUpti_ActivityMemcpyPtoP4, graphId);
SAME_FIELD(record_memcpy2, channel, CUpti_ActivityMemcpyPtoP4, channelID);
SAME_FIELD(record_memcpy2, channel_type, CUpti_ActivityMemcpyPtoP4, channelType);

SAME_SIZE(record_memset, CUpti_ActivityMemset4);
SAME_FIELD(record_memset, kind, CUpti_ActivityMemset4, kind);
SAME_FIELD(record_memset, value, CUpti_ActivityMemset4, value);
SAME_FIELD(record_memset, bytes, CUpti_ActivityMemset4, bytes);
SAME_FIELD(record_memset, start, CUpti_ActivityMemset4, start);
SAME_FIELD(record_memset, end, CUpti_ActivityMemset4, end);
SAME_FIELD(record_memset, device, CUpti_ActivityMemset4, deviceId);
SAME_FIELD(record_memset, context, CUpti_ActivityMemset4, contextId);
SAME_FIELD(record_memset, stream, CUpti_ActivityMemset4, streamId);
SAME_FIELD(record_memset, correlation, CUpti_ActivityMemset4, correlationId);
SAME_FIELD(record_memset, flags, CUpti_ActivityMemset4, flags);
SAME_FIELD(record_memset, memory_kind, CUpti_ActivityMemset4, memoryKind);
SAME_FIELD(record_memset, graph_node, CUpti_ActivityMemset4, graphNodeId);
SAME_FIELD(record_memset, graph, CUpti_ActivityMemset4, graphId);
SAME_FIELD(record_memset, channel, CUpti_ActivityMemset4, channelID);
SAME_FIELD(record_memset, channel_type, CUpti_ActivityMemset4, channelType);

SAME_SIZE(record_memory_4, CUpti_ActivityMemory4);
SAME_FIELD(record_memory_4, kind, CUpti_ActivityMemory4, kind);
SAME_FIELD(record_memory_4, operation, CUpti_ActivityMemory4, memoryOperationType);
SAME_FIELD(record_memory_4, memory_kind, CUpti_ActivityMemory4, memoryKind);
SAME_FIELD(record_memory_4, correlation, CUpti_ActivityMemory4, correlationId);
SAME_FIELD(record_memory_4, address, CUpti_ActivityMemory4, address);
SAME_FIELD(record_memory_4, bytes, CUpti_ActivityMemory4, bytes);
SAME_FIELD(record_memory_4, timestamp, CUpti_ActivityMemory4, timestamp);
SAME_FIELD(record_memory_4, pc, CUpti_ActivityMemory4, PC);
SAME_FIELD(record_memory_4, process, CUpti_ActivityMemory4, processId);
SAME_FIELD(record_memory_4, device, CUpti_ActivityMemory4, deviceId);
SAME_FIELD(record_memory_4, context, CUpti_ActivityMemory4, contextId);
SAME_FIELD(record_memory_4, stream, CUpti_ActivityMemory4, streamId);
SAME_FIELD(record_memory_4, name, CUpti_ActivityMemory4, name);
SAME_FIELD(record_memory_4, is_async, CUpti_ActivityMemory4, isAsync);
SAME_FIELD(record_memory_4, pool_type, CUpti_ActivityMemory4, memoryPoolConfig.memoryPoolType);
SAME_FIELD(record_memory_4, pool, CUpti_ActivityMemory4, memoryPoolConfig.address);
SAME_FIELD(record_memory_4, release_threshold, CUpti_ActivityMemory4,
           memoryPoolConfig.releaseThreshold);
SAME_FIELD(record_memory_4, pool_used, CUpti_ActivityMemory4, memoryPoolConfig.utilizedSize);
SAME_FIELD(record_memory_4, source, CUpti_ActivityMemory4, source);

SAME_SIZE(record_pool, CUpti_ActivityMemoryPool3);
SAME_FIELD(record_pool, kind, CUpti_ActivityMemoryPool3, kind);
SAME_FIELD(record_pool, operation, CUpti_ActivityMemoryPool3, memoryPoolOperationType);
SAME_FIELD(record_pool, pool_type, CUpti_ActivityMemoryPool3, memoryPoolType);
SAME_FIELD(record_pool, correlation, CUpti_ActivityMemoryPool3, correlationId);
SAME_FIELD(record_pool, process, CUpti_ActivityMemoryPool3, processId);
SAME_FIELD(record_pool, device, CUpti_ActivityMemoryPool3, deviceId);
SAME_FIELD(record_pool, keep, CUpti_ActivityMemoryPool3, minBytesToKeep);
SAME_FIELD(record_pool, address, CUpti_ActivityMemoryPool3, address);
SAME_FIELD(record_pool, size, CUpti_ActivityMemoryPool3, size);
SAME_FIELD(record_pool, release_threshold, CUpti_ActivityMemoryPool3, releaseThreshold);
SAME_FIELD(record_pool, timestamp, CUpti_ActivityMemoryPool3, timestamp);
SAME_FIELD(record_pool, used, CUpti_ActivityMemoryPool3, utilizedSize);
SAME_FIELD(record_pool, managed, CUpti_ActivityMemoryPool3, isManagedPool);

SAME_SIZE(record_device, CUpti_ActivityDevice5);
SAME_FIELD(record_device, kind, CUpti_ActivityDevice5, kind);
SAME_FIELD(record_device, flags, CUpti_ActivityDevice5, flags);
SAME_FIELD(record_device, bandwidth, CUpti_ActivityDevice5, globalMemoryBandwidth);
SAME_FIELD(record_device, memory_bytes, CUpti_ActivityDevice5, globalMemorySize);
SAME_FIELD(record_device, constant_bytes, CUpti_ActivityDevice5, constantMemorySize);
SAME_FIELD(record_device, l2_bytes, CUpti_ActivityDevice5, l2CacheSize);
SAME_FIELD(record_device, warp, CUpti_ActivityDevice5, numThreadsPerWarp);
SAME_FIELD(record_device, clock_khz, CUpti_ActivityDevice5, coreClockRate);
SAME_FIELD(record_device, copy_engines, CUpti_ActivityDevice5, numMemcpyEngines);
SAME_FIELD(record_device, sm_count, CUpti_ActivityDevice5, numMultiprocessors);
SAME_FIELD(record_device, ipc, CUpti_ActivityDevice5, maxIPC);
SAME_FIELD(record_device, warps_per_sm, CUpti_ActivityDevice5, maxWarpsPerMultiprocessor);
SAME_FIELD(record_device, blocks_per_sm, CUpti_ActivityDevice5, maxBlocksPerMultiprocessor);
SAME_FIELD(record_device, shared_per_sm, CUpti_ActivityDevice5, maxSharedMemoryPerMultiprocessor);
SAME_FIELD(record_device, registers_per_sm, CUpti_ActivityDevice5, maxRegistersPerMultiprocessor);
SAME_FIELD(record_device, registers_per_block, CUpti_ActivityDevice5, maxRegistersPerBlock);
SAME_FIELD(record_device, shared_per_block, CUpti_ActivityDevice5, maxSharedMemoryPerBlock);
SAME_FIELD(record_device, threads_per_block, CUpti_ActivityDevice5, maxThreadsPerBlock);
SAME_FIELD(record_device, block, CUpti_ActivityDevice5, maxBlockDimX);
SAME_FIELD(record_device, grid, CUpti_ActivityDevice5, maxGridDimX);
SAME_FIELD(record_device, cc_major, CUpti_ActivityDevice5, computeCapabilityMajor);
SAME_FIELD(record_device, cc_minor, CUpti_ActivityDevice5, computeCapabilityMinor);
SAME_FIELD(record_device, id, CUpti_ActivityDevice5, id);
SAME_FIELD(record_device, ecc, CUpti_ActivityDevice5, eccEnabled);
SAME_FIELD(record_device, uuid, CUpti_ActivityDevice5, uuid);
SAME_FIELD(record_device, name, CUpti_ActivityDevice5, name);
SAME_FIELD(record_device, visible, CUpti_ActivityDevice5, isCudaVisible);
SAME_FIELD(record_device, mig, CUpti_ActivityDevice5, isMigEnabled);
SAME_FIELD(record_device, gpu_instance, CUpti_ActivityDevice5, gpuInstanceId);
SAME_FIELD(record_device, is_numa, CUpti_ActivityDevice5, isNumaNode);
SAME_FIELD(record_device, numa, CUpti_ActivityDevice5, numaId);

SAME_SIZE(record_context, CUpti_ActivityContext3);
SAME_FIELD(record_context, kind, CUpti_ActivityContext3, kind);
SAME_FIELD(record_context, context, CUpti_ActivityContext3, contextId);
SAME_FIELD(record_context, device, CUpti_ActivityContext3, deviceId);
SAME_FIELD(record_context, api, CUpti_ActivityContext3, computeApiKind);
SAME_FIELD(record_context, null_stream, CUpti_ActivityContext3, nullStreamId);
SAME_FIELD(record_context, parent, CUpti_ActivityContext3, parentContextId);
SAME_FIELD(record_context, green, CUpti_ActivityContext3, isGreenContext);
SAME_FIELD(record_context, sm_count, CUpti_ActivityContext3, numMultiprocessors);
SAME_FIELD(record_context, cig, CUpti_ActivityContext3, cigMode);

SAME_SIZE(record_api, CUpti_ActivityAPI);
SAME_FIELD(record_api, kind, CUpti_ActivityAPI, kind);
SAME_FIELD(record_api, cbid, CUpti_ActivityAPI, cbid);
SAME_FIELD(record_api, start, CUpti_ActivityAPI, start);
SAME_FIELD(record_api, end, CUpti_ActivityAPI, end);
SAME_FIELD(record_api, process, CUpti_ActivityAPI, processId);
SAME_FIELD(record_api, thread, CUpti_ActivityAPI, threadId);
SAME_FIELD(record_api, correlation, CUpti_ActivityAPI, correlationId);
SAME_FIELD(record_api, result, CUpti_ActivityAPI, returnValue);

SAME_SIZE(record_overhead, CUpti_ActivityOverhead3);
SAME_FIELD(record_overhead, kind, CUpti_ActivityOverhead3, kind);
SAME_FIELD(record_overhead, overhead_kind, CUpti_ActivityOverhead3, overheadKind);
SAME_FIELD(record_overhead, object_kind, CUpti_ActivityOverhead3, objectKind);
SAME_FIELD(record_overhead, object, CUpti_ActivityOverhead3, objectId);
SAME_FIELD(record_overhead, start, CUpti_ActivityOverhead3, start);
SAME_FIELD(record_overhead, end, CUpti_ActivityOverhead3, end);
SAME_FIELD(record_overhead, correlation, CUpti_ActivityOverhead3, correlationId);
SAME_FIELD(record_overhead, data, CUpti_ActivityOverhead3, overheadData);

SAME_SIZE(record_external, CUpti_ActivityExternalCorrelation);
SAME_FIELD(record_external, kind, CUpti_ActivityExternalCorrelation, kind);
SAME_FIELD(record_external, external_kind, CUpti_ActivityExternalCorrelation, externalKind);
SAME_FIELD(record_external, external, CUpti_ActivityExternalCorrelation, externalId);
SAME_FIELD(record_external, correlation, CUpti_ActivityExternalCorrelation, correlationId);

SAME_SIZE(callback_data, CUpti_CallbackData);
SAME_FIELD(callback_data, site, CUpti_CallbackData, callbackSite);
SAME_FIELD(callback_data, function, CUpti_CallbackData, functionName);
SAME_FIELD(callback_data, parameters, CUpti_CallbackData, functionParams);
SAME_FIELD(callback_data, return_value, CUpti_CallbackData, functionReturnValue);
SAME_FIELD(callback_data, symbol, CUpti_CallbackData, symbolName);
SAME_FIELD(callback_data, context, CUpti_CallbackData, context);
SAME_FIELD(callback_data, context_uid, CUpti_CallbackData, contextUid);
SAME_FIELD(callback_data, correlation_data, CUpti_CallbackData, correlationData);
SAME_FIELD(callback_data, correlation, CUpti_CallbackData, correlationId);

SAME_SIZE(resource_data, CUpti_ResourceData);
SAME_FIELD(resource_data, context, CUpti_ResourceData, context);
SAME_FIELD(resource_data, stream, CUpti_ResourceData, resourceHandle);
SAME_FIELD(resource_data, descriptor, CUpti_ResourceData, resourceDescriptor);

SAME_SIZE(subscriber_params, CUpti_SubscriberParams);
SAME_FIELD(subscriber_params, size, CUpti_SubscriberParams, structSize);
SAME_FIELD(subscriber_params, name, CUpti_SubscriberParams, subscriberName);
SAME_FIELD(subscriber_params, old_name, CUpti_SubscriberParams, oldSubscriberName);
SAME_FIELD(subscriber_params, old_size, CUpti_SubscriberParams, oldSubscriberSize);

SAME_SIZE(profiler_params, CUpti_Profiler_Initialize_Params);
SAME_FIELD(profiler_params, size, CUpti_Profiler_Initialize_Params, structSize);
SAME_FIELD(profiler_params, priv, CUpti_Profiler_Initialize_Params, pPriv);

SAME_SIZE(device_supported_params, CUpti_Profiler_DeviceSupported_Params);
SAME_FIELD(device_supported_params, device, CUpti_Profiler_DeviceSupported_Params, cuDevice);
SAME_FIELD(device_supported_params, supported, CUpti_Profiler_DeviceSupported_Params, isSupported);
SAME_FIELD(device_supported_params, architecture, CUpti_Profiler_DeviceSupported_Params,
           architecture);
SAME_FIELD(device_supported_params, sli, CUpti_Profiler_DeviceSupported_Params, sli);
SAME_FIELD(device_supported_params, vgpu, CUpti_Profiler_DeviceSupported_Params, vGpu);
SAME_FIELD(device_supported_params, confidential, CUpti_Profiler_DeviceSupported_Params,
           confidentialCompute);
SAME_FIELD(device_supported_params, cmp, CUpti_Profiler_DeviceSupported_Params, cmp);
SAME_FIELD(device_supported_params, wsl, CUpti_Profiler_DeviceSupported_Params, wsl);
SAME_FIELD(device_supported_params, api, CUpti_Profiler_DeviceSupported_Params, api);

SAME_SIZE(availability_params, CUpti_Profiler_GetCounterAvailability_Params);
SAME_FIELD(availability_params, context, CUpti_Profiler_GetCounterAvailability_Params, ctx);
SAME_FIELD(availability_params, image_size, CUpti_Profiler_GetCounterAvailability_Params,
           counterAvailabilityImageSize);
SAME_FIELD(availability_params, image, CUpti_Profiler_GetCounterAvailability_Params,
           pCounterAvailabilityImage);

SAME_SIZE(chip_name_params, CUpti_Device_GetChipName_Params);
SAME_FIELD(chip_name_params, device, CUpti_Device_GetChipName_Params, deviceIndex);
SAME_FIELD(chip_name_params, name, CUpti_Device_GetChipName_Params, pChipName);

SAME_SIZE(host_initialize_params, CUpti_Profiler_Host_Initialize_Params);
SAME_FIELD(host_initialize_params, type, CUpti_Profiler_Host_Initialize_Params, profilerType);
SAME_FIELD(host_initialize_params, chip, CUpti_Profiler_Host_Initialize_Params, pChipName);
SAME_FIELD(host_initialize_params, availability, CUpti_Profiler_Host_Initialize_Params,
           pCounterAvailabilityImage);
SAME_FIELD(host_initialize_params, host, CUpti_Profiler_Host_Initialize_Params, pHostObject);

SAME_SIZE(host_params, CUpti_Profiler_Host_Deinitialize_Params);
SAME_FIELD(host_params, host, CUpti_Profiler_Host_Deinitialize_Params, pHostObject);

SAME_SIZE(host_chips_params, CUpti_Profiler_Host_GetSupportedChips_Params);
SAME_FIELD(host_chips_params, count, CUpti_Profiler_Host_GetSupportedChips_Params, numChips);
SAME_FIELD(host_chips_params, names, CUpti_Profiler_Host_GetSupportedChips_Params, ppChipNames);

SAME_SIZE(host_base_params, CUpti_Profiler_Host_GetBaseMetrics_Params);
SAME_FIELD(host_base_params, host, CUpti_Profiler_Host_GetBaseMetrics_Params, pHostObject);
SAME_FIELD(host_base_params, type, CUpti_Profiler_Host_GetBaseMetrics_Params, metricType);
SAME_FIELD(host_base_params, names, CUpti_Profiler_Host_GetBaseMetrics_Params, ppMetricNames);
SAME_FIELD(host_base_params, count, CUpti_Profiler_Host_GetBaseMetrics_Params, numMetrics);

SAME_SIZE(host_sub_params, CUpti_Profiler_Host_GetSubMetrics_Params);
SAME_FIELD(host_sub_params, host, CUpti_Profiler_Host_GetSubMetrics_Params, pHostObject);
SAME_FIELD(host_sub_params, type, CUpti_Profiler_Host_GetSubMetrics_Params, metricType);
SAME_FIELD(host_sub_params, name, CUpti_Profiler_Host_GetSubMetrics_Params, pMetricName);
SAME_FIELD(host_sub_params, count, CUpti_Profiler_Host_GetSubMetrics_Params, numOfSubmetrics);
SAME_FIELD(host_sub_params, subs, CUpti_Profiler_Host_GetSubMetrics_Params, ppSubMetrics);

SAME_SIZE(host_properties_params, CUpti_Profiler_Host_GetMetricProperties_Params);
SAME_FIELD(host_properties_params, host, CUpti_Profiler_Host_GetMetricProperties_Params,
           pHostObject);
SAME_FIELD(host_properties_params, name, CUpti_Profiler_Host_GetMetricProperties_Params,
           pMetricName);
SAME_FIELD(host_properties_params, description, CUpti_Profiler_Host_GetMetricProperties_Params,
           pDescription);
SAME_FIELD(host_properties_params, unit, CUpti_Profiler_Host_GetMetricProperties_Params, pHwUnit);
SAME_FIELD(host_properties_params, dimension, CUpti_Profiler_Host_GetMetricProperties_Params,
           pDimUnit);
SAME_FIELD(host_properties_params, type, CUpti_Profiler_Host_GetMetricProperties_Params,
           metricType);

SAME_SIZE(host_range_name_params, CUpti_Profiler_Host_GetRangeName_Params);
SAME_FIELD(host_range_name_params, image, CUpti_Profiler_Host_GetRangeName_Params,
           pCounterDataImage);
SAME_FIELD(host_range_name_params, image_size, CUpti_Profiler_Host_GetRangeName_Params,
           counterDataImageSize);
SAME_FIELD(host_range_name_params, index, CUpti_Profiler_Host_GetRangeName_Params, rangeIndex);
SAME_FIELD(host_range_name_params, delimiter, CUpti_Profiler_Host_GetRangeName_Params, delimiter);
SAME_FIELD(host_range_name_params, name, CUpti_Profiler_Host_GetRangeName_Params, pRangeName);

SAME_SIZE(host_evaluate_params, CUpti_Profiler_Host_EvaluateToGpuValues_Params);
SAME_FIELD(host_evaluate_params, host, CUpti_Profiler_Host_EvaluateToGpuValues_Params, pHostObject);
SAME_FIELD(host_evaluate_params, image, CUpti_Profiler_Host_EvaluateToGpuValues_Params,
           pCounterDataImage);
SAME_FIELD(host_evaluate_params, image_size, CUpti_Profiler_Host_EvaluateToGpuValues_Params,
           counterDataImageSize);
SAME_FIELD(host_evaluate_params, index, CUpti_Profiler_Host_EvaluateToGpuValues_Params, rangeIndex);
SAME_FIELD(host_evaluate_params, names, CUpti_Profiler_Host_EvaluateToGpuValues_Params,
           ppMetricNames);
SAME_FIELD(host_evaluate_params, count, CUpti_Profiler_Host_EvaluateToGpuValues_Params, numMetrics);
SAME_FIELD(host_evaluate_params, values, CUpti_Profiler_Host_EvaluateToGpuValues_Params,
           pMetricValues);

SAME_SIZE(host_add_params, CUpti_Profiler_Host_ConfigAddMetrics_Params);
SAME_FIELD(host_add_params, host, CUpti_Profiler_Host_ConfigAddMetrics_Params, pHostObject);
SAME_FIELD(host_add_params, names, CUpti_Profiler_Host_ConfigAddMetrics_Params, ppMetricNames);
SAME_FIELD(host_add_params, count, CUpti_Profiler_Host_ConfigAddMetrics_Params, numMetrics);

SAME_SIZE(host_image_size_params, CUpti_Profiler_Host_GetConfigImageSize_Params);
SAME_FIELD(host_image_size_params, host, CUpti_Profiler_Host_GetConfigImageSize_Params,
           pHostObject);
SAME_FIELD(host_image_size_params, image_size, CUpti_Profiler_Host_GetConfigImageSize_Params,
           configImageSize);

SAME_SIZE(host_image_params, CUpti_Profiler_Host_GetConfigImage_Params);
SAME_FIELD(host_image_params, host, CUpti_Profiler_Host_GetConfigImage_Params, pHostObject);
SAME_FIELD(host_image_params, image_size, CUpti_Profiler_Host_GetConfigImage_Params,
           configImageSize);
SAME_FIELD(host_image_params, image, CUpti_Profiler_Host_GetConfigImage_Params, pConfigImage);

SAME_SIZE(host_passes_params, CUpti_Profiler_Host_GetNumOfPasses_Params);
SAME_FIELD(host_passes_params, image_size, CUpti_Profiler_Host_GetNumOfPasses_Params,
           configImageSize);
SAME_FIELD(host_passes_params, image, CUpti_Profiler_Host_GetNumOfPasses_Params, pConfigImage);
SAME_FIELD(host_passes_params, passes, CUpti_Profiler_Host_GetNumOfPasses_Params, numOfPasses);

SAME_SIZE(range_config_params, CUpti_RangeProfiler_SetConfig_Params);
SAME_FIELD(range_config_params, object, CUpti_RangeProfiler_SetConfig_Params, pRangeProfilerObject);
SAME_FIELD(range_config_params, config_size, CUpti_RangeProfiler_SetConfig_Params, configSize);
SAME_FIELD(range_config_params, config, CUpti_RangeProfiler_SetConfig_Params, pConfig);
SAME_FIELD(range_config_params, image_size, CUpti_RangeProfiler_SetConfig_Params,
           counterDataImageSize);
SAME_FIELD(range_config_params, image, CUpti_RangeProfiler_SetConfig_Params, pCounterDataImage);
SAME_FIELD(range_config_params, range, CUpti_RangeProfiler_SetConfig_Params, range);
SAME_FIELD(range_config_params, replay, CUpti_RangeProfiler_SetConfig_Params, replayMode);
SAME_FIELD(range_config_params, ranges_per_pass, CUpti_RangeProfiler_SetConfig_Params,
           maxRangesPerPass);
SAME_FIELD(range_config_params, nesting_levels, CUpti_RangeProfiler_SetConfig_Params,
           numNestingLevels);
SAME_FIELD(range_config_params, nesting_least, CUpti_RangeProfiler_SetConfig_Params,
           minNestingLevel);
SAME_FIELD(range_config_params, pass, CUpti_RangeProfiler_SetConfig_Params, passIndex);
SAME_FIELD(range_config_params, nesting_target, CUpti_RangeProfiler_SetConfig_Params,
           targetNestingLevel);

SAME_SIZE(range_enable_params, CUpti_RangeProfiler_Enable_Params);
SAME_FIELD(range_enable_params, context, CUpti_RangeProfiler_Enable_Params, ctx);
SAME_FIELD(range_enable_params, object, CUpti_RangeProfiler_Enable_Params, pRangeProfilerObject);

SAME_SIZE(range_params, CUpti_RangeProfiler_Start_Params);
SAME_FIELD(range_params, object, CUpti_RangeProfiler_Start_Params, pRangeProfilerObject);

SAME_SIZE(range_stop_params, CUpti_RangeProfiler_Stop_Params);
SAME_FIELD(range_stop_params, object, CUpti_RangeProfiler_Stop_Params, pRangeProfilerObject);
SAME_FIELD(range_stop_params, pass, CUpti_RangeProfiler_Stop_Params, passIndex);
SAME_FIELD(range_stop_params, nesting_target, CUpti_RangeProfiler_Stop_Params, targetNestingLevel);
SAME_FIELD(range_stop_params, all_submitted, CUpti_RangeProfiler_Stop_Params, isAllPassSubmitted);

SAME_SIZE(range_push_params, CUpti_RangeProfiler_PushRange_Params);
SAME_FIELD(range_push_params, object, CUpti_RangeProfiler_PushRange_Params, pRangeProfilerObject);
SAME_FIELD(range_push_params, name, CUpti_RangeProfiler_PushRange_Params, pRangeName);

SAME_SIZE(range_decode_params, CUpti_RangeProfiler_DecodeData_Params);
SAME_FIELD(range_decode_params, object, CUpti_RangeProfiler_DecodeData_Params,
           pRangeProfilerObject);
SAME_FIELD(range_decode_params, dropped, CUpti_RangeProfiler_DecodeData_Params, numOfRangeDropped);

SAME_SIZE(range_size_params, CUpti_RangeProfiler_GetCounterDataSize_Params);
SAME_FIELD(range_size_params, object, CUpti_RangeProfiler_GetCounterDataSize_Params,
           pRangeProfilerObject);
SAME_FIELD(range_size_params, names, CUpti_RangeProfiler_GetCounterDataSize_Params, pMetricNames);
SAME_FIELD(range_size_params, count, CUpti_RangeProfiler_GetCounterDataSize_Params, numMetrics);
SAME_FIELD(range_size_params, ranges, CUpti_RangeProfiler_GetCounterDataSize_Params,
           maxNumOfRanges);
SAME_FIELD(range_size_params, nodes, CUpti_RangeProfiler_GetCounterDataSize_Params,
           maxNumRangeTreeNodes);
SAME_FIELD(range_size_params, image_size, CUpti_RangeProfiler_GetCounterDataSize_Params,
           counterDataSize);

SAME_SIZE(range_image_params, CUpti_RangeProfiler_CounterDataImage_Initialize_Params);
SAME_FIELD(range_image_params, object, CUpti_RangeProfiler_CounterDataImage_Initialize_Params,
           pRangeProfilerObject);
SAME_FIELD(range_image_params, image_size, CUpti_RangeProfiler_CounterDataImage_Initialize_Params,
           counterDataSize);
SAME_FIELD(range_image_params, image, CUpti_RangeProfiler_CounterDataImage_Initialize_Params,
           pCounterData);

SAME_SIZE(range_info_params, CUpti_RangeProfiler_GetCounterDataInfo_Params);
SAME_FIELD(range_info_params, image, CUpti_RangeProfiler_GetCounterDataInfo_Params,
           pCounterDataImage);
SAME_FIELD(range_info_params, image_size, CUpti_RangeProfiler_GetCounterDataInfo_Params,
           counterDataImageSize);
SAME_FIELD(range_info_params, ranges, CUpti_RangeProfiler_GetCounterDataInfo_Params,
           numTotalRanges);

SAME_SIZE(range_name_params, CUpti_RangeProfiler_CounterData_GetRangeInfo_Params);
SAME_FIELD(range_name_params, image, CUpti_RangeProfiler_CounterData_GetRangeInfo_Params,
           pCounterDataImage);
SAME_FIELD(range_name_params, image_size, CUpti_RangeProfiler_CounterData_GetRangeInfo_Params,
           counterDataImageSize);
SAME_FIELD(range_name_params, index, CUpti_RangeProfiler_CounterData_GetRangeInfo_Params,
           rangeIndex);
SAME_FIELD(range_name_params, delimiter, CUpti_RangeProfiler_CounterData_GetRangeInfo_Params,
           rangeDelimiter);
SAME_FIELD(range_name_params, name, CUpti_RangeProfiler_CounterData_GetRangeInfo_Params, rangeName);

SAME_VALUE(KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY);
SAME_VALUE(KIND_MEMSET, CUPTI_ACTIVITY_KIND_MEMSET);
SAME_VALUE(KIND_KERNEL, CUPTI_ACTIVITY_KIND_KERNEL);
SAME_VALUE(KIND_DRIVER, CUPTI_ACTIVITY_KIND_DRIVER);
SAME_VALUE(KIND_RUNTIME, CUPTI_ACTIVITY_KIND_RUNTIME);
SAME_VALUE(KIND_DEVICE, CUPTI_ACTIVITY_KIND_DEVICE);
SAME_VALUE(KIND_CONTEXT, CUPTI_ACTIVITY_KIND_CONTEXT);
SAME_VALUE(KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
SAME_VALUE(KIND_NAME, CUPTI_ACTIVITY_KIND_NAME);
SAME_VALUE(KIND_MARKER, CUPTI_ACTIVITY_KIND_MARKER);
SAME_VALUE(KIND_MARKER_DATA, CUPTI_ACTIVITY_KIND_MARKER_DATA);
SAME_VALUE(KIND_OVERHEAD, CUPTI_ACTIVITY_KIND_OVERHEAD);
SAME_VALUE(KIND_MEMCPY2, CUPTI_ACTIVITY_KIND_MEMCPY2);
SAME_VALUE(KIND_CUDA_EVENT, CUPTI_ACTIVITY_KIND_CUDA_EVENT);
SAME_VALUE(KIND_STREAM, CUPTI_ACTIVITY_KIND_STREAM);
SAME_VALUE(KIND_SYNCHRONIZATION, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION);
SAME_VALUE(KIND_EXTERNAL_CORRELATION, CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION);
SAME_VALUE(KIND_MEMORY2, CUPTI_ACTIVITY_KIND_MEMORY2);
SAME_VALUE(KIND_MEMORY_POOL, CUPTI_ACTIVITY_KIND_MEMORY_POOL);
SAME_VALUE(COPY_HTOD, CUPTI_ACTIVITY_MEMCPY_KIND_HTOD);
SAME_VALUE(COPY_DTOH, CUPTI_ACTIVITY_MEMCPY_KIND_DTOH);
SAME_VALUE(COPY_HTOA, CUPTI_ACTIVITY_MEMCPY_KIND_HTOA);
SAME_VALUE(COPY_ATOH, CUPTI_ACTIVITY_MEMCPY_KIND_ATOH);
SAME_VALUE(COPY_ATOA, CUPTI_ACTIVITY_MEMCPY_KIND_ATOA);
SAME_VALUE(COPY_ATOD, CUPTI_ACTIVITY_MEMCPY_KIND_ATOD);
SAME_VALUE(COPY_DTOA, CUPTI_ACTIVITY_MEMCPY_KIND_DTOA);
SAME_VALUE(MEMORY_ARRAY, CUPTI_ACTIVITY_MEMORY_KIND_ARRAY);
SAME_VALUE(COPY_DTOD, CUPTI_ACTIVITY_MEMCPY_KIND_DTOD);
SAME_VALUE(COPY_HTOH, CUPTI_ACTIVITY_MEMCPY_KIND_HTOH);
SAME_VALUE(COPY_PTOP, CUPTI_ACTIVITY_MEMCPY_KIND_PTOP);
SAME_VALUE(MEMORY_PAGEABLE, CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE);
SAME_VALUE(MEMORY_PINNED, CUPTI_ACTIVITY_MEMORY_KIND_PINNED);
SAME_VALUE(MEMORY_DEVICE, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE);
SAME_VALUE(MEMORY_MANAGED, CUPTI_ACTIVITY_MEMORY_KIND_MANAGED);
SAME_VALUE(MEMORY_ALLOCATION, CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION);
SAME_VALUE(MEMORY_RELEASE, CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE);
SAME_VALUE(POOL_LOCAL, CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL);
SAME_VALUE(FLAG_COPY_ASYNC, CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC);
SAME_VALUE(FLAG_FLUSH_FORCED, CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
SAME_VALUE(OVERHEAD_MODULE_LOADING, CUPTI_ACTIVITY_OVERHEAD_RUNTIME_TRIGGERED_MODULE_LOADING);
SAME_VALUE(OBJECT_DEVICE, CUPTI_ACTIVITY_OBJECT_DEVICE);
SAME_VALUE(CHANNEL_COMPUTE, CUPTI_CHANNEL_TYPE_COMPUTE);
SAME_VALUE(CHANNEL_ASYNC_COPY, CUPTI_CHANNEL_TYPE_ASYNC_MEMCPY);
SAME_VALUE(LAUNCH_COOPERATIVE, CUPTI_ACTIVITY_LAUNCH_TYPE_COOPERATIVE_SINGLE_DEVICE);
SAME_VALUE(DOMAIN_DRIVER, CUPTI_CB_DOMAIN_DRIVER_API);
SAME_VALUE(DOMAIN_RUNTIME, CUPTI_CB_DOMAIN_RUNTIME_API);
SAME_VALUE(DOMAIN_RESOURCE, CUPTI_CB_DOMAIN_RESOURCE);
SAME_VALUE(DOMAIN_SYNCHRONIZE, CUPTI_CB_DOMAIN_SYNCHRONIZE);
SAME_VALUE(DOMAIN_NVTX, CUPTI_CB_DOMAIN_NVTX);
SAME_VALUE(DOMAIN_STATE, CUPTI_CB_DOMAIN_STATE);
SAME_VALUE(SITE_EXIT, CUPTI_API_EXIT);
SAME_VALUE(RESOURCE_CONTEXT_CREATED, CUPTI_CBID_RESOURCE_CONTEXT_CREATED);
SAME_VALUE(RESOURCE_CONTEXT_DESTROY_STARTING, CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING);
SAME_VALUE(RESOURCE_STREAM_CREATED, CUPTI_CBID_RESOURCE_STREAM_CREATED);
SAME_VALUE(RESOURCE_STREAM_DESTROY_STARTING, CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING);
SAME_VALUE(PROFILER_RANGE, CUPTI_PROFILER_TYPE_RANGE_PROFILER);
SAME_VALUE(PROFILER_PM_SAMPLING, CUPTI_PROFILER_TYPE_PM_SAMPLING);
SAME_VALUE(RANGE_AUTO, CUPTI_AutoRange);
SAME_VALUE(RANGE_USER, CUPTI_UserRange);
SAME_VALUE(REPLAY_APPLICATION, CUPTI_ApplicationReplay);
SAME_VALUE(REPLAY_KERNEL, CUPTI_KernelReplay);
SAME_VALUE(REPLAY_USER, CUPTI_UserReplay);
SAME_VALUE(SUPPORT_UNSUPPORTED, CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED);
SAME_VALUE(SUPPORT_SUPPORTED, CUPTI_PROFILER_CONFIGURATION_SUPPORTED);

#define RESULT(code, name) SAME_VALUE(code, name);
#include "emulator/cupti/results.inc"
#define RUNTIME(name, since, id) SAME_VALUE(id, CUPTI_RUNTIME_TRACE_CBID_##name##_##since);
#define DRIVER(name, id)         SAME_VALUE(id, CUPTI_DRIVER_TRACE_CBID_##name);
#include "emulator/cupti/cbids.inc"

#endif

/* So that the file is not empty for an older toolkit. */
typedef int doors_abi_checked;
