/* SPDX-License-Identifier: Apache-2.0
 *
 * What the doors' test clients share: a small profiled program of the driver API, and everything of
 * the doors that it calls, resolved from the built libraries. A client is a process of its own for
 * each case: there is one subscriber, one observer and one door a process.
 */
#ifndef DOORS_CLIENT_H
#define DOORS_CLIENT_H

#include "emulator/cupti/abi.h"
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* A condition of the test's own; a client that fails one ends with 3. */
#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition);              \
            exit(3);                                                                               \
        }                                                                                          \
    } while (0)

#define DRIVER_FUNCTIONS(F)                                                                        \
    F(cuInit, unsigned)                                                                            \
    F(cuDriverGetVersion, int *)                                                                   \
    F(cuDeviceGetCount, int *)                                                                     \
    F(cuDeviceGet, int *, int)                                                                     \
    F(cuDeviceGetName, char *, int, int)                                                           \
    F(cuDeviceTotalMem_v2, size_t *, int)                                                          \
    F(cuDeviceGetAttribute, int *, int, int)                                                       \
    F(cuDevicePrimaryCtxRetain, void **, int)                                                      \
    F(cuDevicePrimaryCtxRelease_v2, int)                                                           \
    F(cuDevicePrimaryCtxGetState, int, unsigned *, int *)                                          \
    F(cuCtxCreate_v2, void **, unsigned, int)                                                      \
    F(cuCtxDestroy_v2, void *)                                                                     \
    F(cuCtxSetCurrent, void *)                                                                     \
    F(cuCtxGetCurrent, void **)                                                                    \
    F(cuCtxPushCurrent_v2, void *)                                                                 \
    F(cuCtxPopCurrent_v2, void **)                                                                 \
    F(cuCtxGetDevice, int *)                                                                       \
    F(cuCtxSynchronize, void)                                                                      \
    F(cuModuleLoadData, void **, const void *)                                                     \
    F(cuModuleUnload, void *)                                                                      \
    F(cuModuleGetFunction, void **, void *, const char *)                                          \
    F(cuModuleGetGlobal_v2, unsigned long long *, size_t *, void *, const char *)                  \
    F(cuFuncGetAttribute, int *, int, void *)                                                      \
    F(cuFuncGetName, const char **, void *)                                                        \
    F(cuLaunchKernel, void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,          \
      unsigned, void *, void **, void **)                                                          \
    F(cuMemAlloc_v2, unsigned long long *, size_t)                                                 \
    F(cuMemFree_v2, unsigned long long)                                                            \
    F(cuMemcpyHtoD_v2, unsigned long long, const void *, size_t)                                   \
    F(cuMemcpyDtoH_v2, void *, unsigned long long, size_t)                                         \
    F(cuMemsetD32_v2, unsigned long long, unsigned, size_t)                                        \
    F(cuMemGetAddressRange_v2, unsigned long long *, size_t *, unsigned long long)                 \
    F(cuPointerGetAttribute, void *, int, unsigned long long)                                      \
    F(cuStreamCreate, void **, unsigned)                                                           \
    F(cuStreamSynchronize, void *)                                                                 \
    F(cuStreamDestroy_v2, void *)                                                                  \
    F(cuEventCreate, void **, unsigned)                                                            \
    F(cuEventRecord, void *, void *)                                                               \
    F(cuEventSynchronize, void *)                                                                  \
    F(cuEventElapsedTime, float *, void *, void *)                                                 \
    F(cuOccupancyMaxPotentialBlockSize, int *, int *, void *, void *, size_t, int)                 \
    F(cuGetErrorName, int, const char **)                                                          \
    F(cuGetProcAddress_v2, const char *, void **, int, uint64_t, int *)                            \
    F(cuGetExportTable, const void **, const void *)

#define CUPTI_FUNCTIONS(F)                                                                         \
    F(cuptiGetVersion, uint32_t *)                                                                 \
    F(cuptiGetResultString, int, const char **)                                                    \
    F(cuptiSubscribe, void **, cupti_callback, void *)                                             \
    F(cuptiUnsubscribe, void *)                                                                    \
    F(cuptiEnableCallback, uint32_t, void *, int, uint32_t)                                        \
    F(cuptiEnableDomain, uint32_t, void *, int)                                                    \
    F(cuptiActivityRegisterCallbacks, cupti_buffer_requested, cupti_buffer_completed)              \
    F(cuptiActivityRegisterTimestampCallback, cupti_timestamp)                                     \
    F(cuptiActivityEnable, int)                                                                    \
    F(cuptiActivityFlushAll, uint32_t)                                                             \
    F(cuptiActivityGetNextRecord, uint8_t *, size_t, void **)                                      \
    F(cuptiActivityGetNumDroppedRecords, void *, uint32_t, size_t *)                               \
    F(cuptiActivityPushExternalCorrelationId, int, uint64_t)                                       \
    F(cuptiActivityPopExternalCorrelationId, int, uint64_t *)                                      \
    F(cuptiFinalize, void)                                                                         \
    F(cuptiGetTimestamp, uint64_t *)                                                               \
    F(cuptiDeviceGetChipName, chip_name_params *)                                                  \
    F(cuptiProfilerInitialize, profiler_params *)                                                  \
    F(cuptiProfilerDeInitialize, profiler_params *)                                                \
    F(cuptiProfilerDeviceSupported, device_supported_params *)

/* What version 12's library has not. */
#define RANGE_FUNCTIONS(F)                                                                         \
    F(cuptiProfilerGetCounterAvailability, availability_params *)                                  \
    F(cuptiProfilerHostInitialize, host_initialize_params *)                                       \
    F(cuptiProfilerHostDeinitialize, host_params *)                                                \
    F(cuptiProfilerHostConfigAddMetrics, host_add_params *)                                        \
    F(cuptiProfilerHostGetConfigImageSize, host_image_size_params *)                               \
    F(cuptiProfilerHostGetConfigImage, host_image_params *)                                        \
    F(cuptiProfilerHostGetNumOfPasses, host_passes_params *)                                       \
    F(cuptiProfilerHostGetRangeName, host_range_name_params *)                                     \
    F(cuptiProfilerHostEvaluateToGpuValues, host_evaluate_params *)                                \
    F(cuptiRangeProfilerEnable, range_enable_params *)                                             \
    F(cuptiRangeProfilerDisable, range_params *)                                                   \
    F(cuptiRangeProfilerGetCounterDataSize, range_size_params *)                                   \
    F(cuptiRangeProfilerCounterDataImageInitialize, range_image_params *)                          \
    F(cuptiRangeProfilerSetConfig, range_config_params *)                                          \
    F(cuptiRangeProfilerStart, range_params *)                                                     \
    F(cuptiRangeProfilerStop, range_stop_params *)                                                 \
    F(cuptiRangeProfilerPushRange, range_push_params *)                                            \
    F(cuptiRangeProfilerPopRange, range_params *)                                                  \
    F(cuptiRangeProfilerDecodeData, range_decode_params *)                                         \
    F(cuptiRangeProfilerGetCounterDataInfo, range_info_params *)                                   \
    F(cuptiRangeProfilerCounterDataGetRangeInfo, range_name_params *)

typedef struct doors_api {
#define FIELD(name, ...) int (*name)(__VA_ARGS__);
    DRIVER_FUNCTIONS(FIELD) CUPTI_FUNCTIONS(FIELD) RANGE_FUNCTIONS(FIELD)
#undef FIELD
} doors_api;
extern doors_api cu;

/* Loads the doors from FOLDER; CUPTI's by its file's name. */
void client_load(const char *folder, const char *cupti);

/* The program: adds two vectors of N floats, TIMES times, on the current context. */
typedef struct client_program {
    void *module, *kernel;
    unsigned long long a, b, c;
    int n;
} client_program;
void client_start(void); /* initialises the driver and makes a context current */
void client_prepare(client_program *p, int n);
void client_launch(const client_program *p);
void client_finish(client_program *p); /* waits, checks the sums, frees */

/* A tracer: one subscriber, buffers, records counted by kind. */
extern void *client_subscriber;
extern atomic_int client_records[KINDS];
extern record_kernel client_last_kernel;
extern char client_last_name[256];
void client_trace(void);
void client_buffer_requested(uint8_t **buffer, size_t *size, size_t *most);
void client_buffer_completed(void *context, uint32_t stream, uint8_t *buffer, size_t size,
                             size_t valid);

#endif
