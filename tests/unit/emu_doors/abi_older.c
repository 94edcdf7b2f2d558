/* SPDX-License-Identifier: Apache-2.0
 *
 * The doors' own declarations of the older profiler sessions and of the host library beside them,
 * against the toolkit's headers: it compiles only if they agree.
 */
#include <cupti.h>

#include <cupti_profiler_target.h>
#include <nvperf_cuda_host.h>
#include <nvperf_host.h>
#include <nvperf_target.h>

#include "emulator/cupti/abi_session.h"
#include "emulator/nvperf/abi.h"

#define SAME_FIELD(ours, our_field, theirs, their_field)                                           \
    _Static_assert(offsetof(ours, our_field) == offsetof(theirs, their_field) &&                   \
                       sizeof(((ours *)0)->our_field) == sizeof(((theirs *)0)->their_field),       \
                   #ours "." #our_field)
/* As far as the library wants it: up to the last field, without padding behind it. */
#define SAME_SIZE(ours, theirs, last)                                                              \
    _Static_assert(offsetof(ours, last) + sizeof(((ours *)0)->last) == theirs, #ours " " #theirs)
#define SAME_VALUE(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #ours)

SAME_SIZE(session_options, CUpti_Profiler_CounterDataImageOptions_STRUCT_SIZE, name_length);
SAME_FIELD(session_options, prefix, CUpti_Profiler_CounterDataImageOptions, pCounterDataPrefix);
SAME_FIELD(session_options, prefix_size, CUpti_Profiler_CounterDataImageOptions,
           counterDataPrefixSize);
SAME_FIELD(session_options, ranges, CUpti_Profiler_CounterDataImageOptions, maxNumRanges);
SAME_FIELD(session_options, nodes, CUpti_Profiler_CounterDataImageOptions, maxNumRangeTreeNodes);
SAME_SIZE(session_image_params, CUpti_Profiler_CounterDataImage_CalculateSize_Params_STRUCT_SIZE,
          image_size);
SAME_FIELD(session_image_params, options_size, CUpti_Profiler_CounterDataImage_CalculateSize_Params,
           sizeofCounterDataImageOptions);
SAME_FIELD(session_image_params, options, CUpti_Profiler_CounterDataImage_CalculateSize_Params,
           pOptions);
SAME_SIZE(session_image_params, CUpti_Profiler_CounterDataImage_Initialize_Params_STRUCT_SIZE,
          image);
SAME_FIELD(session_image_params, image_size, CUpti_Profiler_CounterDataImage_Initialize_Params,
           counterDataImageSize);
SAME_FIELD(session_image_params, options, CUpti_Profiler_CounterDataImage_Initialize_Params,
           pOptions);
SAME_SIZE(session_scratch_params,
          CUpti_Profiler_CounterDataImage_CalculateScratchBufferSize_Params_STRUCT_SIZE,
          scratch_size);
SAME_FIELD(session_scratch_params, image,
           CUpti_Profiler_CounterDataImage_CalculateScratchBufferSize_Params, pCounterDataImage);
SAME_SIZE(session_scratch_params,
          CUpti_Profiler_CounterDataImage_InitializeScratchBuffer_Params_STRUCT_SIZE, scratch);
SAME_FIELD(session_scratch_params, image,
           CUpti_Profiler_CounterDataImage_InitializeScratchBuffer_Params, pCounterDataImage);
SAME_FIELD(session_scratch_params, scratch_size,
           CUpti_Profiler_CounterDataImage_InitializeScratchBuffer_Params,
           counterDataScratchBufferSize);
SAME_SIZE(session_begin_params, CUpti_Profiler_BeginSession_Params_STRUCT_SIZE, launches_per_pass);
SAME_FIELD(session_begin_params, context, CUpti_Profiler_BeginSession_Params, ctx);
SAME_FIELD(session_begin_params, image_size, CUpti_Profiler_BeginSession_Params,
           counterDataImageSize);
SAME_FIELD(session_begin_params, image, CUpti_Profiler_BeginSession_Params, pCounterDataImage);
SAME_FIELD(session_begin_params, scratch, CUpti_Profiler_BeginSession_Params,
           pCounterDataScratchBuffer);
SAME_FIELD(session_begin_params, dump_path, CUpti_Profiler_BeginSession_Params,
           pCounterDataFilePath);
SAME_FIELD(session_begin_params, range, CUpti_Profiler_BeginSession_Params, range);
SAME_FIELD(session_begin_params, replay, CUpti_Profiler_BeginSession_Params, replayMode);
SAME_FIELD(session_begin_params, ranges_per_pass, CUpti_Profiler_BeginSession_Params,
           maxRangesPerPass);
SAME_SIZE(session_config_params, CUpti_Profiler_SetConfig_Params_STRUCT_SIZE, target_level);
SAME_FIELD(session_config_params, config, CUpti_Profiler_SetConfig_Params, pConfig);
SAME_FIELD(session_config_params, config_size, CUpti_Profiler_SetConfig_Params, configSize);
SAME_FIELD(session_config_params, least_level, CUpti_Profiler_SetConfig_Params, minNestingLevel);
SAME_FIELD(session_config_params, levels, CUpti_Profiler_SetConfig_Params, numNestingLevels);
SAME_FIELD(session_config_params, pass, CUpti_Profiler_SetConfig_Params, passIndex);
SAME_SIZE(session_params, CUpti_Profiler_EndSession_Params_STRUCT_SIZE, context);
SAME_SIZE(session_params, CUpti_Profiler_UnsetConfig_Params_STRUCT_SIZE, context);
SAME_SIZE(session_params, CUpti_Profiler_BeginPass_Params_STRUCT_SIZE, context);
SAME_SIZE(session_params, CUpti_Profiler_EnableProfiling_Params_STRUCT_SIZE, context);
SAME_SIZE(session_params, CUpti_Profiler_DisableProfiling_Params_STRUCT_SIZE, context);
SAME_SIZE(session_end_pass_params, CUpti_Profiler_EndPass_Params_STRUCT_SIZE, all_submitted);
SAME_FIELD(session_end_pass_params, target_level, CUpti_Profiler_EndPass_Params,
           targetNestingLevel);
SAME_FIELD(session_end_pass_params, pass, CUpti_Profiler_EndPass_Params, passIndex);
SAME_SIZE(session_flush_params, CUpti_Profiler_FlushCounterData_Params_STRUCT_SIZE, bytes_dropped);
SAME_FIELD(session_flush_params, ranges_dropped, CUpti_Profiler_FlushCounterData_Params,
           numRangesDropped);
SAME_SIZE(session_collected_params, CUpti_Profiler_IsPassCollected_Params_STRUCT_SIZE, all);
SAME_FIELD(session_collected_params, one, CUpti_Profiler_IsPassCollected_Params, onePassCollected);
SAME_SIZE(session_push_params, CUpti_Profiler_PushRange_Params_STRUCT_SIZE, name_length);
SAME_FIELD(session_push_params, name, CUpti_Profiler_PushRange_Params, pRangeName);
SAME_SIZE(session_params, CUpti_Profiler_PopRange_Params_STRUCT_SIZE, context);
SAME_SIZE(plain_params, NVPW_InitializeHost_Params_STRUCT_SIZE, priv);
SAME_SIZE(chips_params, NVPW_GetSupportedChipNames_Params_STRUCT_SIZE, count);
SAME_FIELD(chips_params, names, NVPW_GetSupportedChipNames_Params, ppChipNames);
SAME_SIZE(scratch_params, NVPW_CUDA_MetricsEvaluator_CalculateScratchBufferSize_Params_STRUCT_SIZE,
          scratch_size);
SAME_FIELD(scratch_params, chip, NVPW_CUDA_MetricsEvaluator_CalculateScratchBufferSize_Params,
           pChipName);
SAME_FIELD(scratch_params, availability,
           NVPW_CUDA_MetricsEvaluator_CalculateScratchBufferSize_Params, pCounterAvailabilityImage);
SAME_SIZE(evaluator_params, NVPW_CUDA_MetricsEvaluator_Initialize_Params_STRUCT_SIZE, object);
SAME_FIELD(evaluator_params, scratch, NVPW_CUDA_MetricsEvaluator_Initialize_Params, pScratchBuffer);
SAME_FIELD(evaluator_params, scratch_size, NVPW_CUDA_MetricsEvaluator_Initialize_Params,
           scratchBufferSize);
SAME_FIELD(evaluator_params, chip, NVPW_CUDA_MetricsEvaluator_Initialize_Params, pChipName);
SAME_FIELD(evaluator_params, availability, NVPW_CUDA_MetricsEvaluator_Initialize_Params,
           pCounterAvailabilityImage);
SAME_FIELD(evaluator_params, image, NVPW_CUDA_MetricsEvaluator_Initialize_Params,
           pCounterDataImage);
SAME_FIELD(evaluator_params, image_size, NVPW_CUDA_MetricsEvaluator_Initialize_Params,
           counterDataImageSize);
SAME_SIZE(object_params, NVPW_MetricsEvaluator_Destroy_Params_STRUCT_SIZE, object);
SAME_SIZE(object_params, NVPW_RawMetricsConfig_Destroy_Params_STRUCT_SIZE, object);
SAME_SIZE(object_params, NVPW_RawMetricsConfig_EndPassGroup_Params_STRUCT_SIZE, object);
SAME_SIZE(object_params, NVPW_CounterDataBuilder_Destroy_Params_STRUCT_SIZE, object);
SAME_SIZE(eval_request, NVPW_MetricEvalRequest_STRUCT_SIZE, sub);
SAME_FIELD(eval_request, metric, NVPW_MetricEvalRequest, metricIndex);
SAME_FIELD(eval_request, type, NVPW_MetricEvalRequest, metricType);
SAME_FIELD(eval_request, rollup, NVPW_MetricEvalRequest, rollupOp);
SAME_SIZE(convert_params,
          NVPW_MetricsEvaluator_ConvertMetricNameToMetricEvalRequest_Params_STRUCT_SIZE,
          request_size);
SAME_FIELD(convert_params, name, NVPW_MetricsEvaluator_ConvertMetricNameToMetricEvalRequest_Params,
           pMetricName);
SAME_FIELD(convert_params, request,
           NVPW_MetricsEvaluator_ConvertMetricNameToMetricEvalRequest_Params, pMetricEvalRequest);
SAME_SIZE(dependencies_params, NVPW_MetricsEvaluator_GetMetricRawDependencies_Params_STRUCT_SIZE,
          optional_count);
SAME_FIELD(dependencies_params, requests, NVPW_MetricsEvaluator_GetMetricRawDependencies_Params,
           pMetricEvalRequests);
SAME_FIELD(dependencies_params, count, NVPW_MetricsEvaluator_GetMetricRawDependencies_Params,
           numMetricEvalRequests);
SAME_FIELD(dependencies_params, request_size, NVPW_MetricsEvaluator_GetMetricRawDependencies_Params,
           metricEvalRequestStructSize);
SAME_FIELD(dependencies_params, request_stride,
           NVPW_MetricsEvaluator_GetMetricRawDependencies_Params, metricEvalRequestStrideSize);
SAME_FIELD(dependencies_params, names, NVPW_MetricsEvaluator_GetMetricRawDependencies_Params,
           ppRawDependencies);
SAME_FIELD(dependencies_params, name_count, NVPW_MetricsEvaluator_GetMetricRawDependencies_Params,
           numRawDependencies);
SAME_SIZE(attributes_params, NVPW_MetricsEvaluator_SetDeviceAttributes_Params_STRUCT_SIZE,
          image_size);
SAME_FIELD(attributes_params, image, NVPW_MetricsEvaluator_SetDeviceAttributes_Params,
           pCounterDataImage);
SAME_SIZE(evaluate_params, NVPW_MetricsEvaluator_EvaluateToGpuValues_Params_STRUCT_SIZE, values);
SAME_FIELD(evaluate_params, requests, NVPW_MetricsEvaluator_EvaluateToGpuValues_Params,
           pMetricEvalRequests);
SAME_FIELD(evaluate_params, count, NVPW_MetricsEvaluator_EvaluateToGpuValues_Params,
           numMetricEvalRequests);
SAME_FIELD(evaluate_params, image, NVPW_MetricsEvaluator_EvaluateToGpuValues_Params,
           pCounterDataImage);
SAME_FIELD(evaluate_params, range, NVPW_MetricsEvaluator_EvaluateToGpuValues_Params, rangeIndex);
SAME_FIELD(evaluate_params, isolated, NVPW_MetricsEvaluator_EvaluateToGpuValues_Params, isolated);
SAME_SIZE(raw_request, NVPA_RAW_METRIC_REQUEST_STRUCT_SIZE, keep_instances);
SAME_FIELD(raw_request, name, NVPA_RawMetricRequest, pMetricName);
SAME_FIELD(raw_request, isolated, NVPA_RawMetricRequest, isolated);
SAME_SIZE(config_params, NVPW_CUDA_RawMetricsConfig_Create_V2_Params_STRUCT_SIZE, object);
SAME_FIELD(config_params, activity, NVPW_CUDA_RawMetricsConfig_Create_V2_Params, activityKind);
SAME_FIELD(config_params, chip, NVPW_CUDA_RawMetricsConfig_Create_V2_Params, pChipName);
SAME_FIELD(config_params, availability, NVPW_CUDA_RawMetricsConfig_Create_V2_Params,
           pCounterAvailabilityImage);
SAME_SIZE(config_availability_params,
          NVPW_RawMetricsConfig_SetCounterAvailability_Params_STRUCT_SIZE, availability);
SAME_FIELD(config_availability_params, object, NVPW_RawMetricsConfig_SetCounterAvailability_Params,
           pRawMetricsConfig);
SAME_SIZE(group_params, NVPW_RawMetricsConfig_BeginPassGroup_Params_STRUCT_SIZE, most);
SAME_FIELD(group_params, object, NVPW_RawMetricsConfig_BeginPassGroup_Params, pRawMetricsConfig);
SAME_SIZE(add_params, NVPW_RawMetricsConfig_AddMetrics_Params_STRUCT_SIZE, count);
SAME_FIELD(add_params, object, NVPW_RawMetricsConfig_AddMetrics_Params, pRawMetricsConfig);
SAME_FIELD(add_params, requests, NVPW_RawMetricsConfig_AddMetrics_Params, pRawMetricRequests);
SAME_SIZE(add_params, NVPW_CounterDataBuilder_AddMetrics_Params_STRUCT_SIZE, count);
SAME_FIELD(add_params, object, NVPW_CounterDataBuilder_AddMetrics_Params, pCounterDataBuilder);
SAME_FIELD(add_params, requests, NVPW_CounterDataBuilder_AddMetrics_Params, pRawMetricRequests);
SAME_SIZE(generate_params, NVPW_RawMetricsConfig_GenerateConfigImage_Params_STRUCT_SIZE, merge);
SAME_FIELD(generate_params, object, NVPW_RawMetricsConfig_GenerateConfigImage_Params,
           pRawMetricsConfig);
SAME_SIZE(bytes_params, NVPW_RawMetricsConfig_GetConfigImage_Params_STRUCT_SIZE, copied);
SAME_FIELD(bytes_params, object, NVPW_RawMetricsConfig_GetConfigImage_Params, pRawMetricsConfig);
SAME_FIELD(bytes_params, room, NVPW_RawMetricsConfig_GetConfigImage_Params, bytesAllocated);
SAME_FIELD(bytes_params, bytes, NVPW_RawMetricsConfig_GetConfigImage_Params, pBuffer);
SAME_SIZE(bytes_params, NVPW_CounterDataBuilder_GetCounterDataPrefix_Params_STRUCT_SIZE, copied);
SAME_FIELD(bytes_params, object, NVPW_CounterDataBuilder_GetCounterDataPrefix_Params,
           pCounterDataBuilder);
SAME_FIELD(bytes_params, room, NVPW_CounterDataBuilder_GetCounterDataPrefix_Params, bytesAllocated);
SAME_FIELD(bytes_params, bytes, NVPW_CounterDataBuilder_GetCounterDataPrefix_Params, pBuffer);
SAME_SIZE(passes_params, NVPW_RawMetricsConfig_GetNumPasses_Params_STRUCT_SIZE, isolated);
SAME_FIELD(passes_params, pipelined, NVPW_RawMetricsConfig_GetNumPasses_Params, numPipelinedPasses);
SAME_SIZE(builder_params, NVPW_CUDA_CounterDataBuilder_Create_Params_STRUCT_SIZE, object);
SAME_FIELD(builder_params, chip, NVPW_CUDA_CounterDataBuilder_Create_Params, pChipName);
SAME_FIELD(builder_params, availability, NVPW_CUDA_CounterDataBuilder_Create_Params,
           pCounterAvailabilityImage);
SAME_SIZE(ranges_params, NVPW_CounterData_GetNumRanges_Params_STRUCT_SIZE, ranges);
SAME_FIELD(ranges_params, image, NVPW_CounterData_GetNumRanges_Params, pCounterDataImage);
SAME_SIZE(passes2_params, NVPW_RawMetricsConfig_GetNumPasses_V2_Params_STRUCT_SIZE, passes);
SAME_SIZE(builder_old_params, NVPW_CounterDataBuilder_Create_Params_STRUCT_SIZE, chip);
SAME_FIELD(builder_old_params, object, NVPW_CounterDataBuilder_Create_Params, pCounterDataBuilder);
SAME_SIZE(names_params, NVPW_MetricsEvaluator_GetMetricNames_Params_STRUCT_SIZE, count);
SAME_FIELD(names_params, type, NVPW_MetricsEvaluator_GetMetricNames_Params, metricType);
SAME_FIELD(names_params, names, NVPW_MetricsEvaluator_GetMetricNames_Params, pMetricNames);
SAME_FIELD(names_params, begins, NVPW_MetricsEvaluator_GetMetricNames_Params,
           pMetricNameBeginIndices);
SAME_SIZE(index_params, NVPW_MetricsEvaluator_GetMetricTypeAndIndex_Params_STRUCT_SIZE, index);
SAME_FIELD(index_params, name, NVPW_MetricsEvaluator_GetMetricTypeAndIndex_Params, pMetricName);
SAME_FIELD(index_params, type, NVPW_MetricsEvaluator_GetMetricTypeAndIndex_Params, metricType);
SAME_SIZE(subs_params, NVPW_MetricsEvaluator_GetSupportedSubmetrics_Params_STRUCT_SIZE, count);
SAME_FIELD(subs_params, type, NVPW_MetricsEvaluator_GetSupportedSubmetrics_Params, metricType);
SAME_FIELD(subs_params, subs, NVPW_MetricsEvaluator_GetSupportedSubmetrics_Params,
           pSupportedSubmetrics);
SAME_SIZE(counter_params, NVPW_MetricsEvaluator_GetCounterProperties_Params_STRUCT_SIZE, unit);
SAME_FIELD(counter_params, index, NVPW_MetricsEvaluator_GetCounterProperties_Params, counterIndex);
SAME_FIELD(counter_params, description, NVPW_MetricsEvaluator_GetCounterProperties_Params,
           pDescription);
SAME_SIZE(descriptions_params, NVPW_CounterData_GetRangeDescriptions_Params_STRUCT_SIZE,
          descriptions);
SAME_FIELD(descriptions_params, image, NVPW_CounterData_GetRangeDescriptions_Params,
           pCounterDataImage);
SAME_FIELD(descriptions_params, range, NVPW_CounterData_GetRangeDescriptions_Params, rangeIndex);
SAME_FIELD(descriptions_params, count, NVPW_CounterData_GetRangeDescriptions_Params,
           numDescriptions);

SAME_VALUE(NVPERF_SUCCESS, NVPA_STATUS_SUCCESS);
SAME_VALUE(NVPERF_ERROR, NVPA_STATUS_ERROR);
SAME_VALUE(NVPERF_NOT_IMPLEMENTED, NVPA_STATUS_NOT_IMPLEMENTED);
SAME_VALUE(NVPERF_INVALID_ARGUMENT, NVPA_STATUS_INVALID_ARGUMENT);
SAME_VALUE(NVPERF_OUT_OF_MEMORY, NVPA_STATUS_OUT_OF_MEMORY);
SAME_VALUE(NVPERF_UNSUPPORTED_GPU, NVPA_STATUS_UNSUPPORTED_GPU);
SAME_VALUE(METRIC_COUNTER, NVPW_METRIC_TYPE_COUNTER);
SAME_VALUE(METRIC_TYPES, NVPW_METRIC_TYPE__COUNT);
SAME_VALUE(ROLLUP_AVG, NVPW_ROLLUP_OP_AVG);
SAME_VALUE(ROLLUP_MAX, NVPW_ROLLUP_OP_MAX);
SAME_VALUE(ROLLUP_MIN, NVPW_ROLLUP_OP_MIN);
SAME_VALUE(ROLLUP_SUM, NVPW_ROLLUP_OP_SUM);
SAME_VALUE(SUB_NONE, NVPW_SUBMETRIC_NONE);
SAME_VALUE(SUB_PEAK_SUSTAINED, NVPW_SUBMETRIC_PEAK_SUSTAINED);
SAME_VALUE(SUB_PER_CYCLE_ELAPSED, NVPW_SUBMETRIC_PER_CYCLE_ELAPSED);
SAME_VALUE(SUB_PER_SECOND, NVPW_SUBMETRIC_PER_SECOND);
SAME_VALUE(SUB_PCT_ELAPSED, NVPW_SUBMETRIC_PCT_OF_PEAK_SUSTAINED_ELAPSED);
