/* SPDX-License-Identifier: Apache-2.0
 *
 * The CUDA driver and NVML, opened at run time: what calibrate needs of their interfaces, declared
 * here from their public documentation, so that neither a toolkit nor a driver is needed to build.
 * The driver must be there to measure a device; NVML need not, its readings are then unknown.
 */
#ifndef RP_KERNELS_DRIVER_H
#define RP_KERNELS_DRIVER_H

#include "support/error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef int cu_result;
typedef int cu_device;
typedef uint64_t cu_address;
typedef struct CUctx_st *cu_context;
typedef struct CUmod_st *cu_module;
typedef struct CUfunc_st *cu_function;
typedef struct CUstream_st *cu_stream;
typedef struct CUevent_st *cu_event;

enum {
    CU_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 1,
    CU_ATTRIBUTE_CLOCK_KHZ = 13,
    CU_ATTRIBUTE_SMS = 16,
    CU_ATTRIBUTE_PCI_BUS = 33,
    CU_ATTRIBUTE_PCI_DEVICE = 34,
    CU_ATTRIBUTE_MEMORY_CLOCK_KHZ = 36,
    CU_ATTRIBUTE_MEMORY_BUS_BITS = 37,
    CU_ATTRIBUTE_L2_BYTES = 38,
    CU_ATTRIBUTE_PCI_DOMAIN = 50,
    CU_ATTRIBUTE_CC_MAJOR = 75,
    CU_ATTRIBUTE_CC_MINOR = 76
};
enum {
    CU_OUT_OF_MEMORY = 2,
    CU_DEVICE_UNAVAILABLE = 46,
    CU_NO_BINARY = 209,
    CU_INVALID_PTX = 218,
    CU_PTX_VERSION = 222,
    CU_ECC_UNCORRECTABLE = 214,
    CU_ILLEGAL_ADDRESS = 700,
    CU_LAUNCH_TIMEOUT = 702,
    CU_PEER_ENABLED = 704,
    CU_SYSTEM_NOT_READY = 802
};

/* name as in the library; return type int; parameters */
#define RP_CUDA_FUNCTIONS(X)                                                                       \
    X(cuInit, (unsigned flags))                                                                    \
    X(cuDriverGetVersion, (int *version))                                                          \
    X(cuDeviceGetCount, (int *count))                                                              \
    X(cuDeviceGet, (cu_device * device, int ordinal))                                              \
    X(cuDeviceGetName, (char *name, int size, cu_device device))                                   \
    X(cuDeviceGetUuid, (unsigned char uuid[16], cu_device device))                                 \
    X(cuDeviceTotalMem_v2, (size_t * bytes, cu_device device))                                     \
    X(cuDeviceGetAttribute, (int *value, int attribute, cu_device device))                         \
    X(cuDevicePrimaryCtxRetain, (cu_context * context, cu_device device))                          \
    X(cuDevicePrimaryCtxRelease_v2, (cu_device device))                                            \
    X(cuCtxSetCurrent, (cu_context context))                                                       \
    X(cuCtxSynchronize, (void))                                                                    \
    X(cuDeviceCanAccessPeer, (int *can, cu_device device, cu_device peer))                         \
    X(cuCtxEnablePeerAccess, (cu_context peer, unsigned flags))                                    \
    X(cuModuleLoadData, (cu_module * module, const void *image))                                   \
    X(cuModuleUnload, (cu_module module))                                                          \
    X(cuModuleGetFunction, (cu_function * function, cu_module module, const char *name))           \
    X(cuOccupancyMaxActiveBlocksPerMultiprocessor,                                                 \
      (int *blocks, cu_function function, int threads, size_t shared))                             \
    X(cuMemGetInfo_v2, (size_t * free_bytes, size_t * total))                                      \
    X(cuMemAlloc_v2, (cu_address * address, size_t bytes))                                         \
    X(cuMemFree_v2, (cu_address address))                                                          \
    X(cuMemHostAlloc, (void **memory, size_t bytes, unsigned flags))                               \
    X(cuMemFreeHost, (void *memory))                                                               \
    X(cuMemcpyHtoD_v2, (cu_address to, const void *from, size_t bytes))                            \
    X(cuMemcpyDtoH_v2, (void *to, cu_address from, size_t bytes))                                  \
    X(cuMemcpyHtoDAsync_v2, (cu_address to, const void *from, size_t bytes, cu_stream stream))     \
    X(cuMemcpyDtoHAsync_v2, (void *to, cu_address from, size_t bytes, cu_stream stream))           \
    X(cuMemcpyPeerAsync, (cu_address to, cu_context to_context, cu_address from,                   \
                          cu_context from_context, size_t bytes, cu_stream stream))                \
    X(cuMemsetD8_v2, (cu_address to, unsigned char value, size_t bytes))                           \
    X(cuLaunchKernel, (cu_function function, unsigned grid_x, unsigned grid_y, unsigned grid_z,    \
                       unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,      \
                       cu_stream stream, void **parameters, void **extra))                         \
    X(cuStreamCreate, (cu_stream * stream, unsigned flags))                                        \
    X(cuStreamDestroy_v2, (cu_stream stream))                                                      \
    X(cuStreamSynchronize, (cu_stream stream))                                                     \
    X(cuStreamWaitEvent, (cu_stream stream, cu_event event, unsigned flags))                       \
    X(cuEventCreate, (cu_event * event, unsigned flags))                                           \
    X(cuEventDestroy_v2, (cu_event event))                                                         \
    X(cuEventRecord, (cu_event event, cu_stream stream))                                           \
    X(cuEventSynchronize, (cu_event event))                                                        \
    X(cuEventElapsedTime, (float *milliseconds, cu_event start, cu_event end))                     \
    X(cuGetErrorName, (cu_result result, const char **name))

typedef struct rp_cuda {
    void *library;
    bool emulated; /* the library is this project's stand-in: times are modelled */
#define RP_CUDA_MEMBER(NAME, PARAMETERS) cu_result(*NAME) PARAMETERS;
    RP_CUDA_FUNCTIONS(RP_CUDA_MEMBER)
#undef RP_CUDA_MEMBER
    /* NULL: not in this driver. In a partition of a device (MIG) it names that. */
    cu_result (*cuDeviceGetUuid_v2)(unsigned char uuid[16], cu_device device);
} rp_cuda;

/* Opens libcuda.so.1 and initialises it. RP_MACHINE: no driver, no device, or too old a driver. */
rp_code rp_cuda_open(rp_cuda *cuda, rp_error *error);
void rp_cuda_close(rp_cuda *cuda);

/* RP_OK, or RP_MACHINE with "WHAT: CUDA_ERROR_..." and, where there is one, what to do. */
rp_code rp_cuda_check(const rp_cuda *cuda, cu_result result, rp_error *error, const char *format,
                      ...) __attribute__((format(printf, 4, 5)));

/* ---- NVML ------------------------------------------------------------------------------------ */

typedef struct rp_nvml {
    void *library; /* NULL: not there */
    void *device;  /* NULL: no device of that PCI address */
    int (*shut_down)(void);
    int (*power)(void *device, unsigned *milliwatts);
    int (*power_limit)(void *device, unsigned *milliwatts);
    int (*temperature)(void *device, int sensor, unsigned *celsius);
    int (*clock)(void *device, int type, unsigned *mhz);
    int (*throttle)(void *device, unsigned long long *reasons);
    int (*driver_version)(char *version, unsigned size);
    int (*uuid)(void *device, char *uuid, unsigned size);
} rp_nvml;

/* Readings at one moment; NaN: not known. */
typedef struct rp_reading {
    double power_w, temperature_c, sm_clock_hz, memory_clock_hz;
    uint64_t throttle; /* NVML's bits */
    bool throttle_known;
} rp_reading;

/* PCI address as "00000000:17:00.0". What fails leaves readings unknown. EMULATED: only a stand-in
 * counts, which has no more to tell than it is told (docs/doors.md). */
void rp_nvml_open(rp_nvml *nvml, const char *pci_address, bool emulated);
void rp_nvml_close(rp_nvml *nvml);
rp_reading rp_nvml_read(const rp_nvml *nvml);
double rp_nvml_power_limit_w(const rp_nvml *nvml); /* NaN not known */
/* What the device runs under now: the driver as NVML says it ("" not known) and the enforced power
 * limit. False, and neither known: no NVML, or the device at that address is none of UUID
 * ("GPU-..."), so that a device of another host, or a slice (MIG), does not get this one's. */
bool rp_nvml_ask(const char *pci_address, const char *uuid, bool emulated, char driver[80],
                 double *power_limit_w);
/* "power cap, thermal slowdown" of the bits that slow a busy device down; "" none. */
const char *rp_throttle_text(uint64_t reasons, char *buffer, size_t size);

#endif
