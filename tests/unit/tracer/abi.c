/* SPDX-License-Identifier: Apache-2.0
 *
 * Holds the tracer's own declarations of CUPTI's interface against the toolkit's headers: it
 * compiles only if every offset and value agrees.
 */
#include <cupti.h>

#include "tracer/cupti_abi.h"
#include "tracer/host.h"

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

/* ---- Launch callbacks ------------------------------------------------------------------------ */

SAME_FIELD(resource_data, context, CUpti_ResourceData, context);
SAME_FIELD(callback_data, return_value, CUpti_CallbackData, functionReturnValue);
SAME_FIELD(callback_data, parameters, CUpti_CallbackData, functionParams);
SAME_FIELD(callback_data, context_uid, CUpti_CallbackData, contextUid);
SAME_FIELD(callback_data, correlation_data, CUpti_CallbackData, correlationData);
SAME_FIELD(launch_arguments, function, cuLaunchKernel_params, f);
SAME_FIELD(launch_arguments, grid, cuLaunchKernel_params, gridDimX);
SAME_FIELD(launch_arguments, block, cuLaunchKernel_params, blockDimX);
SAME_FIELD(launch_arguments, shared, cuLaunchKernel_params, sharedMemBytes);
SAME_FIELD(launch_arguments, stream, cuLaunchKernel_params, hStream);
SAME_FIELD(launch_arguments, grid, cuLaunchCooperativeKernel_params, gridDimX);
SAME_FIELD(launch_arguments, shared, cuLaunchCooperativeKernel_params, sharedMemBytes);
SAME_FIELD(launch_ex_arguments, config, cuLaunchKernelEx_params, config);
SAME_FIELD(launch_ex_arguments, function, cuLaunchKernelEx_params, f);
SAME_FIELD(launch_config, grid, CUlaunchConfig, gridDimX);
SAME_FIELD(launch_config, block, CUlaunchConfig, blockDimX);
SAME_FIELD(launch_config, shared, CUlaunchConfig, sharedMemBytes);
SAME_FIELD(launch_config, stream, CUlaunchConfig, hStream);

SAME_VALUE(RESOURCE_CONTEXT_DESTROY_STARTING, CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING);
SAME_VALUE(CBID_PROFILER_START, CUPTI_DRIVER_TRACE_CBID_cuProfilerStart);
SAME_VALUE(CBID_PROFILER_STOP, CUPTI_DRIVER_TRACE_CBID_cuProfilerStop);
SAME_VALUE(CBID_BEGIN_CAPTURE, CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture);
SAME_VALUE(CBID_BEGIN_CAPTURE_PTSZ, CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_ptsz);
SAME_VALUE(CBID_BEGIN_CAPTURE_2, CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2);
SAME_VALUE(CBID_BEGIN_CAPTURE_2_PTSZ, CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2_ptsz);
SAME_VALUE(CBID_END_CAPTURE, CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture);
SAME_VALUE(CBID_END_CAPTURE_PTSZ, CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture_ptsz);
SAME_VALUE(CUPTI_INVALID_CONTEXT, CUPTI_ERROR_INVALID_CONTEXT);
SAME_VALUE(CUPTI_NOT_SUPPORTED, CUPTI_ERROR_NOT_SUPPORTED);
SAME_VALUE(CUPTI_VIRTUAL_DEVICE, CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES);
SAME_VALUE(CUPTI_CONFIDENTIAL, CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED);
SAME_VALUE(CUPTI_CMP, CUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED);
SAME_VALUE(CUPTI_SLI, CUPTI_ERROR_SLI_DEVICE_NOT_SUPPORTED);
SAME_VALUE(CUPTI_WSL, CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED);

/* ---- The range profiler, where the headers have it (CUDA 12.8) ------------------------------- */

#if defined(__has_include)
#if __has_include(<cupti_range_profiler.h>)
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>
#define SAME_SIZE(ours, theirs, last)                                                              \
    _Static_assert(ABI_SIZE(ours, last) == theirs##_STRUCT_SIZE, #ours)

SAME_SIZE(profiler_plain, CUpti_Profiler_Initialize_Params, private_data);
SAME_SIZE(profiler_supported, CUpti_Profiler_DeviceSupported_Params, interface);
SAME_FIELD(profiler_supported, device, CUpti_Profiler_DeviceSupported_Params, cuDevice);
SAME_FIELD(profiler_supported, supported, CUpti_Profiler_DeviceSupported_Params, isSupported);
SAME_FIELD(profiler_supported, architecture, CUpti_Profiler_DeviceSupported_Params, architecture);
SAME_FIELD(profiler_supported, vgpu, CUpti_Profiler_DeviceSupported_Params, vGpu);
SAME_FIELD(profiler_supported, wsl, CUpti_Profiler_DeviceSupported_Params, wsl);
SAME_FIELD(profiler_supported, interface, CUpti_Profiler_DeviceSupported_Params, api);
SAME_SIZE(profiler_availability, CUpti_Profiler_GetCounterAvailability_Params, image);
SAME_FIELD(profiler_availability, image_size, CUpti_Profiler_GetCounterAvailability_Params,
           counterAvailabilityImageSize);
SAME_SIZE(device_chip, CUpti_Device_GetChipName_Params, chip);
SAME_SIZE(range_enable, CUpti_RangeProfiler_Enable_Params, object);
SAME_SIZE(range_object, CUpti_RangeProfiler_Start_Params, object);
SAME_SIZE(range_object, CUpti_RangeProfiler_Disable_Params, object);
SAME_SIZE(range_stop, CUpti_RangeProfiler_Stop_Params, all_submitted);
SAME_FIELD(range_stop, pass, CUpti_RangeProfiler_Stop_Params, passIndex);
SAME_SIZE(range_config, CUpti_RangeProfiler_SetConfig_Params, target_level);
SAME_FIELD(range_config, config, CUpti_RangeProfiler_SetConfig_Params, pConfig);
SAME_FIELD(range_config, image, CUpti_RangeProfiler_SetConfig_Params, pCounterDataImage);
SAME_FIELD(range_config, range, CUpti_RangeProfiler_SetConfig_Params, range);
SAME_FIELD(range_config, replay, CUpti_RangeProfiler_SetConfig_Params, replayMode);
SAME_FIELD(range_config, ranges_per_pass, CUpti_RangeProfiler_SetConfig_Params, maxRangesPerPass);
SAME_FIELD(range_config, levels, CUpti_RangeProfiler_SetConfig_Params, numNestingLevels);
SAME_FIELD(range_config, pass, CUpti_RangeProfiler_SetConfig_Params, passIndex);
SAME_SIZE(range_decode, CUpti_RangeProfiler_DecodeData_Params, dropped);
SAME_SIZE(range_image_size, CUpti_RangeProfiler_GetCounterDataSize_Params, image_size);
SAME_FIELD(range_image_size, ranges, CUpti_RangeProfiler_GetCounterDataSize_Params, maxNumOfRanges);
SAME_FIELD(range_image_size, nodes, CUpti_RangeProfiler_GetCounterDataSize_Params,
           maxNumRangeTreeNodes);
SAME_SIZE(range_image, CUpti_RangeProfiler_CounterDataImage_Initialize_Params, image);
SAME_SIZE(range_info, CUpti_RangeProfiler_GetCounterDataInfo_Params, ranges);
SAME_VALUE(RANGE_AUTO, CUPTI_AutoRange);
SAME_VALUE(REPLAY_KERNEL, CUPTI_KernelReplay);
SAME_VALUE(SUPPORT_NONE, CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED);
SAME_VALUE(SUPPORT_DISABLED, CUPTI_PROFILER_CONFIGURATION_DISABLED);
SAME_VALUE(SUPPORT_YES, CUPTI_PROFILER_CONFIGURATION_SUPPORTED);

/* Graphs: the driver's header comes with CUPTI's. */
#define SAME_SIZE_OF(ours, theirs) _Static_assert(sizeof(ours) == sizeof(theirs), #ours)
SAME_SIZE_OF(graph_data, CUpti_GraphData);
SAME_FIELD(graph_data, original_node, CUpti_GraphData, originalNode);
SAME_FIELD(graph_data, node_type, CUpti_GraphData, nodeType);
SAME_FIELD(graph_data, exec, CUpti_GraphData, graphExec);
SAME_SIZE_OF(graph_kernel_params, CUDA_KERNEL_NODE_PARAMS_v2);
SAME_FIELD(graph_kernel_params, grid, CUDA_KERNEL_NODE_PARAMS_v2, gridDimX);
SAME_FIELD(graph_kernel_params, shared, CUDA_KERNEL_NODE_PARAMS_v2, sharedMemBytes);
SAME_FIELD(graph_kernel_params, kernel, CUDA_KERNEL_NODE_PARAMS_v2, kern);
SAME_FIELD(graph_node_params, kernel, CUgraphNodeParams, kernel);
SAME_SIZE_OF(graph_edge, CUgraphEdgeData);
SAME_FIELD(graph_arguments, first, cuGraphInstantiateWithFlags_params, phGraphExec);
SAME_FIELD(graph_arguments, second, cuGraphInstantiateWithParams_params, hGraph);
SAME_FIELD(graph_arguments, second, cuGraphExecUpdate_v2_params, hGraph);
SAME_FIELD(graph_arguments, second, cuGraphExecKernelNodeSetParams_v2_params, hNode);
SAME_FIELD(graph_arguments, third, cuGraphExecKernelNodeSetParams_v2_params, nodeParams);
SAME_FIELD(graph_arguments, third, cuGraphExecNodeSetParams_params, nodeParams);
SAME_FIELD(graph_arguments, first, cuGraphExecDestroy_params, hGraphExec);
SAME_FIELD(enable_arguments, enabled, cuGraphNodeSetEnabled_params, isEnabled);
SAME_FIELD(graph_launch_arguments, stream, cuGraphLaunch_params, hStream);
SAME_VALUE(RESOURCE_NODE_CLONED, CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED);
SAME_VALUE(CBID_GRAPH_INSTANTIATE, CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiate);
SAME_VALUE(CBID_GRAPH_INSTANTIATE_2, CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiate_v2);
SAME_VALUE(CBID_GRAPH_INSTANTIATE_FLAGS, CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiateWithFlags);
SAME_VALUE(CBID_GRAPH_INSTANTIATE_PARAMS, CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiateWithParams);
SAME_VALUE(CBID_GRAPH_INSTANTIATE_PARAMS_PTSZ,
           CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiateWithParams_ptsz);
SAME_VALUE(CBID_GRAPH_UPDATE, CUPTI_DRIVER_TRACE_CBID_cuGraphExecUpdate);
SAME_VALUE(CBID_GRAPH_UPDATE_2, CUPTI_DRIVER_TRACE_CBID_cuGraphExecUpdate_v2);
SAME_VALUE(CBID_GRAPH_SET_KERNEL, CUPTI_DRIVER_TRACE_CBID_cuGraphExecKernelNodeSetParams);
SAME_VALUE(CBID_GRAPH_SET_KERNEL_2, CUPTI_DRIVER_TRACE_CBID_cuGraphExecKernelNodeSetParams_v2);
SAME_VALUE(CBID_GRAPH_SET_NODE, CUPTI_DRIVER_TRACE_CBID_cuGraphExecNodeSetParams);
SAME_VALUE(CBID_GRAPH_SET_CHILD, CUPTI_DRIVER_TRACE_CBID_cuGraphExecChildGraphNodeSetParams);
SAME_VALUE(CBID_GRAPH_SET_ENABLED, CUPTI_DRIVER_TRACE_CBID_cuGraphNodeSetEnabled);
SAME_VALUE(CBID_GRAPH_EXEC_DESTROY, CUPTI_DRIVER_TRACE_CBID_cuGraphExecDestroy);

/* Of cupti_profiler_host.h only an include of <string> is C++: an empty file of that name in the
 * include path (tests/unit/tracer/shim) makes it C. */
#include <cupti_profiler_host.h>
SAME_SIZE(host_initialize, CUpti_Profiler_Host_Initialize_Params, object);
SAME_FIELD(host_initialize, chip, CUpti_Profiler_Host_Initialize_Params, pChipName);
SAME_FIELD(host_initialize, availability, CUpti_Profiler_Host_Initialize_Params,
           pCounterAvailabilityImage);
SAME_SIZE(host_deinitialize, CUpti_Profiler_Host_Deinitialize_Params, object);
SAME_SIZE(host_chips, CUpti_Profiler_Host_GetSupportedChips_Params, names);
SAME_SIZE(host_add_metrics, CUpti_Profiler_Host_ConfigAddMetrics_Params, count);
SAME_SIZE(host_config_size, CUpti_Profiler_Host_GetConfigImageSize_Params, image_size);
SAME_SIZE(host_config, CUpti_Profiler_Host_GetConfigImage_Params, image);
SAME_SIZE(host_passes, CUpti_Profiler_Host_GetNumOfPasses_Params, passes);
SAME_SIZE(host_evaluate, CUpti_Profiler_Host_EvaluateToGpuValues_Params, values);
SAME_FIELD(host_evaluate, image, CUpti_Profiler_Host_EvaluateToGpuValues_Params, pCounterDataImage);
SAME_FIELD(host_evaluate, range, CUpti_Profiler_Host_EvaluateToGpuValues_Params, rangeIndex);
SAME_FIELD(host_evaluate, metrics, CUpti_Profiler_Host_EvaluateToGpuValues_Params, ppMetricNames);
#endif
#endif
