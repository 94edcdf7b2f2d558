/* SPDX-License-Identifier: Apache-2.0
 *
 * Holds the tracer's own declarations of the older way to counters against the toolkit's headers:
 * it compiles only if every offset, size and value agrees.
 */
#include <cupti.h>

#include <cupti_profiler_target.h>
#include <nvperf_cuda_host.h>
#include <nvperf_host.h>
#include <nvperf_target.h>

#include "tracer/cupti_abi.h"
#include "tracer/nvpw_abi.h"

#define SAME_FIELD(ours, our_field, theirs, their_field)                                           \
    _Static_assert(offsetof(ours, our_field) == offsetof(theirs, their_field) &&                   \
                       sizeof(((ours *)0)->our_field) == sizeof(((theirs *)0)->their_field),       \
                   #ours "." #our_field)
/* As far as the library wants it: up to the last field, without padding behind it. */
#define SAME_SIZE(ours, theirs, last)                                                              \
    _Static_assert(offsetof(ours, last) + sizeof(((ours *)0)->last) == theirs, #ours " " #theirs)
#define SAME_VALUE(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #ours)

SAME_SIZE(session_image_options, CUpti_Profiler_CounterDataImageOptions_STRUCT_SIZE, name_length);
SAME_FIELD(session_image_options, prefix, CUpti_Profiler_CounterDataImageOptions,
           pCounterDataPrefix);
SAME_FIELD(session_image_options, prefix_size, CUpti_Profiler_CounterDataImageOptions,
           counterDataPrefixSize);
SAME_FIELD(session_image_options, ranges, CUpti_Profiler_CounterDataImageOptions, maxNumRanges);
SAME_FIELD(session_image_options, nodes, CUpti_Profiler_CounterDataImageOptions,
           maxNumRangeTreeNodes);
SAME_SIZE(session_image_size, CUpti_Profiler_CounterDataImage_CalculateSize_Params_STRUCT_SIZE,
          image_size);
SAME_FIELD(session_image_size, options_size, CUpti_Profiler_CounterDataImage_CalculateSize_Params,
           sizeofCounterDataImageOptions);
SAME_FIELD(session_image_size, options, CUpti_Profiler_CounterDataImage_CalculateSize_Params,
           pOptions);
SAME_SIZE(session_image, CUpti_Profiler_CounterDataImage_Initialize_Params_STRUCT_SIZE, image);
SAME_FIELD(session_image, image_size, CUpti_Profiler_CounterDataImage_Initialize_Params,
           counterDataImageSize);
SAME_FIELD(session_image, options, CUpti_Profiler_CounterDataImage_Initialize_Params, pOptions);
SAME_SIZE(session_scratch_size,
          CUpti_Profiler_CounterDataImage_CalculateScratchBufferSize_Params_STRUCT_SIZE,
          scratch_size);
SAME_FIELD(session_scratch_size, image,
           CUpti_Profiler_CounterDataImage_CalculateScratchBufferSize_Params, pCounterDataImage);
SAME_SIZE(session_scratch,
          CUpti_Profiler_CounterDataImage_InitializeScratchBuffer_Params_STRUCT_SIZE, scratch);
SAME_FIELD(session_scratch, image, CUpti_Profiler_CounterDataImage_InitializeScratchBuffer_Params,
           pCounterDataImage);
SAME_FIELD(session_scratch, scratch_size,
           CUpti_Profiler_CounterDataImage_InitializeScratchBuffer_Params,
           counterDataScratchBufferSize);
SAME_SIZE(session_begin, CUpti_Profiler_BeginSession_Params_STRUCT_SIZE, launches_per_pass);
SAME_FIELD(session_begin, context, CUpti_Profiler_BeginSession_Params, ctx);
SAME_FIELD(session_begin, image_size, CUpti_Profiler_BeginSession_Params, counterDataImageSize);
SAME_FIELD(session_begin, image, CUpti_Profiler_BeginSession_Params, pCounterDataImage);
SAME_FIELD(session_begin, scratch, CUpti_Profiler_BeginSession_Params, pCounterDataScratchBuffer);
SAME_FIELD(session_begin, dump_path, CUpti_Profiler_BeginSession_Params, pCounterDataFilePath);
SAME_FIELD(session_begin, range, CUpti_Profiler_BeginSession_Params, range);
SAME_FIELD(session_begin, replay, CUpti_Profiler_BeginSession_Params, replayMode);
SAME_FIELD(session_begin, ranges_per_pass, CUpti_Profiler_BeginSession_Params, maxRangesPerPass);
SAME_SIZE(session_config, CUpti_Profiler_SetConfig_Params_STRUCT_SIZE, target_level);
SAME_FIELD(session_config, config, CUpti_Profiler_SetConfig_Params, pConfig);
SAME_FIELD(session_config, config_size, CUpti_Profiler_SetConfig_Params, configSize);
SAME_FIELD(session_config, least_level, CUpti_Profiler_SetConfig_Params, minNestingLevel);
SAME_FIELD(session_config, levels, CUpti_Profiler_SetConfig_Params, numNestingLevels);
SAME_FIELD(session_config, pass, CUpti_Profiler_SetConfig_Params, passIndex);
SAME_SIZE(session_plain, CUpti_Profiler_EndSession_Params_STRUCT_SIZE, context);
SAME_SIZE(session_plain, CUpti_Profiler_UnsetConfig_Params_STRUCT_SIZE, context);
SAME_SIZE(session_plain, CUpti_Profiler_BeginPass_Params_STRUCT_SIZE, context);
SAME_SIZE(session_plain, CUpti_Profiler_EnableProfiling_Params_STRUCT_SIZE, context);
SAME_SIZE(session_plain, CUpti_Profiler_DisableProfiling_Params_STRUCT_SIZE, context);
SAME_SIZE(session_end_pass, CUpti_Profiler_EndPass_Params_STRUCT_SIZE, all_submitted);
SAME_FIELD(session_end_pass, target_level, CUpti_Profiler_EndPass_Params, targetNestingLevel);
SAME_FIELD(session_end_pass, pass, CUpti_Profiler_EndPass_Params, passIndex);
SAME_SIZE(session_flush, CUpti_Profiler_FlushCounterData_Params_STRUCT_SIZE, bytes_dropped);
SAME_FIELD(session_flush, ranges_dropped, CUpti_Profiler_FlushCounterData_Params, numRangesDropped);
SAME_SIZE(nvpw_plain, NVPW_InitializeHost_Params_STRUCT_SIZE, private_data);
SAME_SIZE(nvpw_chips, NVPW_GetSupportedChipNames_Params_STRUCT_SIZE, count);
SAME_FIELD(nvpw_chips, names, NVPW_GetSupportedChipNames_Params, ppChipNames);
SAME_SIZE(nvpw_scratch, NVPW_CUDA_MetricsEvaluator_CalculateScratchBufferSize_Params_STRUCT_SIZE,
          scratch_size);
SAME_FIELD(nvpw_scratch, chip, NVPW_CUDA_MetricsEvaluator_CalculateScratchBufferSize_Params,
           pChipName);
SAME_FIELD(nvpw_scratch, availability, NVPW_CUDA_MetricsEvaluator_CalculateScratchBufferSize_Params,
           pCounterAvailabilityImage);
SAME_SIZE(nvpw_evaluator, NVPW_CUDA_MetricsEvaluator_Initialize_Params_STRUCT_SIZE, object);
SAME_FIELD(nvpw_evaluator, scratch, NVPW_CUDA_MetricsEvaluator_Initialize_Params, pScratchBuffer);
SAME_FIELD(nvpw_evaluator, scratch_size, NVPW_CUDA_MetricsEvaluator_Initialize_Params,
           scratchBufferSize);
SAME_FIELD(nvpw_evaluator, chip, NVPW_CUDA_MetricsEvaluator_Initialize_Params, pChipName);
SAME_FIELD(nvpw_evaluator, availability, NVPW_CUDA_MetricsEvaluator_Initialize_Params,
           pCounterAvailabilityImage);
SAME_FIELD(nvpw_evaluator, image, NVPW_CUDA_MetricsEvaluator_Initialize_Params, pCounterDataImage);
SAME_FIELD(nvpw_evaluator, image_size, NVPW_CUDA_MetricsEvaluator_Initialize_Params,
           counterDataImageSize);
SAME_SIZE(nvpw_object, NVPW_MetricsEvaluator_Destroy_Params_STRUCT_SIZE, object);
SAME_SIZE(nvpw_object, NVPW_RawMetricsConfig_Destroy_Params_STRUCT_SIZE, object);
SAME_SIZE(nvpw_object, NVPW_RawMetricsConfig_EndPassGroup_Params_STRUCT_SIZE, object);
SAME_SIZE(nvpw_object, NVPW_CounterDataBuilder_Destroy_Params_STRUCT_SIZE, object);
SAME_SIZE(nvpw_request, NVPW_MetricEvalRequest_STRUCT_SIZE, submetric);
SAME_FIELD(nvpw_request, metric, NVPW_MetricEvalRequest, metricIndex);
SAME_FIELD(nvpw_request, type, NVPW_MetricEvalRequest, metricType);
SAME_FIELD(nvpw_request, rollup, NVPW_MetricEvalRequest, rollupOp);
SAME_SIZE(nvpw_convert,
          NVPW_MetricsEvaluator_ConvertMetricNameToMetricEvalRequest_Params_STRUCT_SIZE,
          request_size);
SAME_FIELD(nvpw_convert, name, NVPW_MetricsEvaluator_ConvertMetricNameToMetricEvalRequest_Params,
           pMetricName);
SAME_FIELD(nvpw_convert, request, NVPW_MetricsEvaluator_ConvertMetricNameToMetricEvalRequest_Params,
           pMetricEvalRequest);
SAME_SIZE(nvpw_dependencies, NVPW_MetricsEvaluator_GetMetricRawDependencies_Params_STRUCT_SIZE,
          optional_count);
SAME_FIELD(nvpw_dependencies, requests, NVPW_MetricsEvaluator_GetMetricRawDependencies_Params,
           pMetricEvalRequests);
SAME_FIELD(nvpw_dependencies, count, NVPW_MetricsEvaluator_GetMetricRawDependencies_Params,
           numMetricEvalRequests);
SAME_FIELD(nvpw_dependencies, request_size, NVPW_MetricsEvaluator_GetMetricRawDependencies_Params,
           metricEvalRequestStructSize);
SAME_FIELD(nvpw_dependencies, request_stride, NVPW_MetricsEvaluator_GetMetricRawDependencies_Params,
           metricEvalRequestStrideSize);
SAME_FIELD(nvpw_dependencies, names, NVPW_MetricsEvaluator_GetMetricRawDependencies_Params,
           ppRawDependencies);
SAME_FIELD(nvpw_dependencies, name_count, NVPW_MetricsEvaluator_GetMetricRawDependencies_Params,
           numRawDependencies);
SAME_SIZE(nvpw_attributes, NVPW_MetricsEvaluator_SetDeviceAttributes_Params_STRUCT_SIZE,
          image_size);
SAME_FIELD(nvpw_attributes, image, NVPW_MetricsEvaluator_SetDeviceAttributes_Params,
           pCounterDataImage);
SAME_SIZE(nvpw_evaluate, NVPW_MetricsEvaluator_EvaluateToGpuValues_Params_STRUCT_SIZE, values);
SAME_FIELD(nvpw_evaluate, requests, NVPW_MetricsEvaluator_EvaluateToGpuValues_Params,
           pMetricEvalRequests);
SAME_FIELD(nvpw_evaluate, count, NVPW_MetricsEvaluator_EvaluateToGpuValues_Params,
           numMetricEvalRequests);
SAME_FIELD(nvpw_evaluate, image, NVPW_MetricsEvaluator_EvaluateToGpuValues_Params,
           pCounterDataImage);
SAME_FIELD(nvpw_evaluate, range, NVPW_MetricsEvaluator_EvaluateToGpuValues_Params, rangeIndex);
SAME_FIELD(nvpw_evaluate, isolated, NVPW_MetricsEvaluator_EvaluateToGpuValues_Params, isolated);
SAME_SIZE(nvpw_raw, NVPA_RAW_METRIC_REQUEST_STRUCT_SIZE, keep_instances);
SAME_FIELD(nvpw_raw, name, NVPA_RawMetricRequest, pMetricName);
SAME_FIELD(nvpw_raw, isolated, NVPA_RawMetricRequest, isolated);
SAME_SIZE(nvpw_config_create, NVPW_CUDA_RawMetricsConfig_Create_V2_Params_STRUCT_SIZE, object);
SAME_FIELD(nvpw_config_create, activity, NVPW_CUDA_RawMetricsConfig_Create_V2_Params, activityKind);
SAME_FIELD(nvpw_config_create, chip, NVPW_CUDA_RawMetricsConfig_Create_V2_Params, pChipName);
SAME_FIELD(nvpw_config_create, availability, NVPW_CUDA_RawMetricsConfig_Create_V2_Params,
           pCounterAvailabilityImage);
SAME_SIZE(nvpw_config_availability, NVPW_RawMetricsConfig_SetCounterAvailability_Params_STRUCT_SIZE,
          availability);
SAME_FIELD(nvpw_config_availability, object, NVPW_RawMetricsConfig_SetCounterAvailability_Params,
           pRawMetricsConfig);
SAME_SIZE(nvpw_pass_group, NVPW_RawMetricsConfig_BeginPassGroup_Params_STRUCT_SIZE, most);
SAME_FIELD(nvpw_pass_group, object, NVPW_RawMetricsConfig_BeginPassGroup_Params, pRawMetricsConfig);
SAME_SIZE(nvpw_add, NVPW_RawMetricsConfig_AddMetrics_Params_STRUCT_SIZE, count);
SAME_FIELD(nvpw_add, object, NVPW_RawMetricsConfig_AddMetrics_Params, pRawMetricsConfig);
SAME_FIELD(nvpw_add, requests, NVPW_RawMetricsConfig_AddMetrics_Params, pRawMetricRequests);
SAME_SIZE(nvpw_add, NVPW_CounterDataBuilder_AddMetrics_Params_STRUCT_SIZE, count);
SAME_FIELD(nvpw_add, object, NVPW_CounterDataBuilder_AddMetrics_Params, pCounterDataBuilder);
SAME_FIELD(nvpw_add, requests, NVPW_CounterDataBuilder_AddMetrics_Params, pRawMetricRequests);
SAME_SIZE(nvpw_generate, NVPW_RawMetricsConfig_GenerateConfigImage_Params_STRUCT_SIZE, merge);
SAME_FIELD(nvpw_generate, object, NVPW_RawMetricsConfig_GenerateConfigImage_Params,
           pRawMetricsConfig);
SAME_SIZE(nvpw_bytes, NVPW_RawMetricsConfig_GetConfigImage_Params_STRUCT_SIZE, copied);
SAME_FIELD(nvpw_bytes, object, NVPW_RawMetricsConfig_GetConfigImage_Params, pRawMetricsConfig);
SAME_FIELD(nvpw_bytes, room, NVPW_RawMetricsConfig_GetConfigImage_Params, bytesAllocated);
SAME_FIELD(nvpw_bytes, bytes, NVPW_RawMetricsConfig_GetConfigImage_Params, pBuffer);
SAME_SIZE(nvpw_bytes, NVPW_CounterDataBuilder_GetCounterDataPrefix_Params_STRUCT_SIZE, copied);
SAME_FIELD(nvpw_bytes, object, NVPW_CounterDataBuilder_GetCounterDataPrefix_Params,
           pCounterDataBuilder);
SAME_FIELD(nvpw_bytes, room, NVPW_CounterDataBuilder_GetCounterDataPrefix_Params, bytesAllocated);
SAME_FIELD(nvpw_bytes, bytes, NVPW_CounterDataBuilder_GetCounterDataPrefix_Params, pBuffer);
SAME_SIZE(nvpw_passes, NVPW_RawMetricsConfig_GetNumPasses_Params_STRUCT_SIZE, isolated);
SAME_FIELD(nvpw_passes, pipelined, NVPW_RawMetricsConfig_GetNumPasses_Params, numPipelinedPasses);
SAME_SIZE(nvpw_builder_create, NVPW_CUDA_CounterDataBuilder_Create_Params_STRUCT_SIZE, object);
SAME_FIELD(nvpw_builder_create, chip, NVPW_CUDA_CounterDataBuilder_Create_Params, pChipName);
SAME_FIELD(nvpw_builder_create, availability, NVPW_CUDA_CounterDataBuilder_Create_Params,
           pCounterAvailabilityImage);
SAME_SIZE(nvpw_ranges, NVPW_CounterData_GetNumRanges_Params_STRUCT_SIZE, ranges);
SAME_FIELD(nvpw_ranges, image, NVPW_CounterData_GetNumRanges_Params, pCounterDataImage);

SAME_VALUE(RANGE_AUTO, CUPTI_AutoRange);
SAME_VALUE(REPLAY_KERNEL, CUPTI_KernelReplay);
SAME_VALUE(REPLAY_APPLICATION, CUPTI_ApplicationReplay);
SAME_VALUE(CUPTI_INVALID_PARAMETER, CUPTI_ERROR_INVALID_PARAMETER);
SAME_VALUE(CUPTI_INSUFFICIENT_PRIVILEGES, CUPTI_ERROR_INSUFFICIENT_PRIVILEGES);
SAME_VALUE(NVPW_OK, NVPA_STATUS_SUCCESS);
SAME_VALUE(NVPW_NOT_SUPPORTED, NVPA_STATUS_NOT_SUPPORTED);
SAME_VALUE(NVPW_INVALID_ARGUMENT, NVPA_STATUS_INVALID_ARGUMENT);
SAME_VALUE(NVPW_OUT_OF_MEMORY, NVPA_STATUS_OUT_OF_MEMORY);
SAME_VALUE(NVPW_UNSUPPORTED_GPU, NVPA_STATUS_UNSUPPORTED_GPU);
SAME_VALUE(NVPW_INSUFFICIENT_PRIVILEGE, NVPA_STATUS_INSUFFICIENT_PRIVILEGE);
SAME_VALUE(NVPW_VIRTUAL_DEVICE, NVPA_STATUS_VIRTUALIZED_DEVICE_NOT_SUPPORTED);
SAME_VALUE(NVPW_ACTIVITY_PROFILER, NVPA_ACTIVITY_KIND_PROFILER);
