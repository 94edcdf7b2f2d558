/* SPDX-License-Identifier: Apache-2.0
 *
 * Insides of the driver's door: libcuda.so.1 over the emulated device. It has no device, memory or
 * clock of its own: each function is one of the runtime's door, reached through its table
 * (emulator/cudart/observe.h), so that both may be used on the same pointers, streams and events,
 * as with the real ones. What is the driver's alone is here: initialisation, contexts, modules.
 *
 * All contexts on a device share its memory: there is no protection between them, and destroying
 * one frees nothing of it.
 */
#ifndef EMU_CUDA_DRIVER_H
#define EMU_CUDA_DRIVER_H

#include "emulator/cuda/abi.h"
#include "emulator/cudart/abi_texture.h"
#include "emulator/cudart/observe.h"
#include <stdbool.h>

#define DRIVER_EXPORT(name, ...)                                                                   \
    __attribute__((visibility("default"))) int name(__VA_ARGS__);                                  \
    int name(__VA_ARGS__)

/* A function that needs an initialised driver (CONTEXT: and a current context), told to observers
 * under its own name with TOLD, its arguments (EMU_TOLD; NULL: not shown); CALL is an expression
 * with the runtime's error code. Of the macros below those in _TOLD have the names of the arguments
 * in parentheses, in the order of the call. */
#define DRIVER_BODY_TOLD(context, told, call)                                                      \
    {                                                                                              \
        int refused_ = driver_ready(context);                                                      \
        if (refused_)                                                                              \
            return refused_;                                                                       \
        driver_doors()->enter(__func__, NULL, told);                                               \
        return driver_leave((int)(call));                                                          \
    }
#define DRIVER_BODY(context, call)    DRIVER_BODY_TOLD(context, NULL, call)
#define DRIVER_CALL(name, call, ...)  DRIVER_EXPORT(name, __VA_ARGS__) DRIVER_BODY(true, call)
#define DRIVER_QUERY(name, call, ...) DRIVER_EXPORT(name, __VA_ARGS__) DRIVER_BODY(false, call)
#define DRIVER_CALL_TOLD(name, names, call, ...)                                                   \
    DRIVER_EXPORT(name, __VA_ARGS__) DRIVER_BODY_TOLD(true, EMU_TOLD names, call)
#define DRIVER_QUERY_TOLD(name, names, call, ...)                                                  \
    DRIVER_EXPORT(name, __VA_ARGS__) DRIVER_BODY_TOLD(false, EMU_TOLD names, call)

/* The same function for both default streams: NAME, and NAME_ptsz or _ptds in which the stream 0 is
 * the thread's own. SUFFIX: ptsz, ptds. The expression uses `stream`. */
#define DRIVER_STREAM_BODIES(name, told, call, ...)                                                \
    DRIVER_EXPORT(name, __VA_ARGS__, cudaStream_t stream)                                          \
    DRIVER_BODY_TOLD(true, told, call)                                                             \
        DRIVER_EXPORT(name##_ptsz, __VA_ARGS__, cudaStream_t stream) {                             \
        stream = stream ? stream : cudaStreamPerThread;                                            \
        DRIVER_BODY_TOLD(true, told, call)                                                         \
    }
#define DRIVER_STREAM(name, call, ...) DRIVER_STREAM_BODIES(name, NULL, call, __VA_ARGS__)
#define DRIVER_STREAM_TOLD(name, names, call, ...)                                                 \
    DRIVER_STREAM_BODIES(name, EMU_TOLD names, call, __VA_ARGS__)
#define DRIVER_SYNC_BODIES(name, told, call, ...)                                                  \
    DRIVER_EXPORT(name, __VA_ARGS__) {                                                             \
        const cudaStream_t stream = NULL;                                                          \
        DRIVER_BODY_TOLD(true, told, call)                                                         \
    }                                                                                              \
    DRIVER_EXPORT(name##_ptds, __VA_ARGS__) {                                                      \
        const cudaStream_t stream = cudaStreamPerThread;                                           \
        DRIVER_BODY_TOLD(true, told, call)                                                         \
    }
#define DRIVER_SYNC(name, call, ...) DRIVER_SYNC_BODIES(name, NULL, call, __VA_ARGS__)
#define DRIVER_SYNC_TOLD(name, names, call, ...)                                                   \
    DRIVER_SYNC_BODIES(name, EMU_TOLD names, call, __VA_ARGS__)

typedef unsigned long long device_pointer;

static inline void *pointer(device_pointer p) {
    return (void *)(uintptr_t)p;
}

/* NULL only before any function has succeeded. */
const emu_doors *driver_doors(void);
/* 0, or why FUNCTION cannot go on: not initialised, no device, no current context, or
 * ROOFPROF_EMU_CUDA_REFUSE says so. */
int driver_begin(const char *function, bool context);
#define driver_ready(context) driver_begin(__func__, context)
/* What ROOFPROF_EMU_CUDA_REFUSE makes FUNCTION return; 0: it says nothing of it. */
int driver_refused(const char *function);
/* The driver's code for one of the runtime's; tells the end of the call. */
int driver_leave(int runtime_error);
int driver_error(int runtime_error);
/* The device of the current context. */
int driver_device(void);
/* A copy's parameters in the runtime's form. */
cudaError_t driver_copy_params(const driver_memcpy3d *copy, cudaMemcpy3DParms *out);
void *driver_current(void);
/* For a function that is exported but not there: says so once. */
int driver_not_supported(const char *function);

/* ---- The runtime's functions ---- */
#define RUNTIME_FUNCTIONS(F)                                                                       \
    F(cudaSetDevice, int)                                                                          \
    F(cudaGetDevice, int *)                                                                        \
    F(cudaInitDevice, int, unsigned, unsigned)                                                     \
    F(cudaDeviceReset, void)                                                                       \
    F(cudaDeviceSynchronize, void)                                                                 \
    F(cudaDeviceGetAttribute, int *, int, int)                                                     \
    F(cudaDeviceGetLimit, size_t *, unsigned)                                                      \
    F(cudaDeviceSetLimit, unsigned, size_t)                                                        \
    F(cudaDeviceGetStreamPriorityRange, int *, int *)                                              \
    F(cudaDeviceGetPCIBusId, char *, int, int)                                                     \
    F(cudaDeviceGetByPCIBusId, int *, const char *)                                                \
    F(cudaDeviceCanAccessPeer, int *, int, int)                                                    \
    F(cudaDeviceGetP2PAttribute, int *, int, int, int)                                             \
    F(cudaDeviceGetDefaultMemPool, cudaMemPool_t *, int)                                           \
    F(cudaDeviceGetMemPool, cudaMemPool_t *, int)                                                  \
    F(cudaDeviceSetMemPool, int, cudaMemPool_t)                                                    \
    F(cudaMalloc, void **, size_t)                                                                 \
    F(cudaMallocPitch, void **, size_t *, size_t, size_t)                                          \
    F(cudaMallocManaged, void **, size_t, unsigned)                                                \
    F(cudaHostAlloc, void **, size_t, unsigned)                                                    \
    F(cudaFree, void *)                                                                            \
    F(cudaFreeHost, void *)                                                                        \
    F(cudaHostRegister, void *, size_t, unsigned)                                                  \
    F(cudaHostUnregister, void *)                                                                  \
    F(cudaHostGetDevicePointer, void **, void *, unsigned)                                         \
    F(cudaHostGetFlags, unsigned *, void *)                                                        \
    F(cudaMemGetInfo, size_t *, size_t *)                                                          \
    F(cudaPointerGetAttributes, cudaPointerAttributes *, const void *)                             \
    F(cudaMallocAsync, void **, size_t, cudaStream_t)                                              \
    F(cudaMallocFromPoolAsync, void **, size_t, cudaMemPool_t, cudaStream_t)                       \
    F(cudaFreeAsync, void *, cudaStream_t)                                                         \
    F(cudaMemPoolCreate, cudaMemPool_t *, const cudaMemPoolProps *)                                \
    F(cudaMemPoolDestroy, cudaMemPool_t)                                                           \
    F(cudaMemPoolGetAttribute, cudaMemPool_t, int, void *)                                         \
    F(cudaMemPoolSetAttribute, cudaMemPool_t, int, void *)                                         \
    F(cudaMemPoolTrimTo, cudaMemPool_t, size_t)                                                    \
    F(cudaMemPoolSetAccess, cudaMemPool_t, const cudaMemAccessDesc *, size_t)                      \
    F(cudaMemPoolGetAccess, int *, cudaMemPool_t, const cudaMemLocation *)                         \
    F(cudaMemcpyAsync, void *, const void *, size_t, cudaMemcpyKind, cudaStream_t)                 \
    F(cudaMemcpy, void *, const void *, size_t, cudaMemcpyKind)                                    \
    F(cudaMemcpy_ptds, void *, const void *, size_t, cudaMemcpyKind)                               \
    F(cudaMemcpy3D, const cudaMemcpy3DParms *)                                                     \
    F(cudaMemcpy3D_ptds, const cudaMemcpy3DParms *)                                                \
    F(cudaMemcpy3DAsync, const cudaMemcpy3DParms *, cudaStream_t)                                  \
    F(cudaMalloc3DArray, cudaArray_t *, const cudaChannelFormatDesc *, cudaExtent, unsigned)       \
    F(cudaMallocMipmappedArray, cudaMipmappedArray_t *, const cudaChannelFormatDesc *, cudaExtent, \
      unsigned, unsigned)                                                                          \
    F(cudaFreeArray, cudaArray_t)                                                                  \
    F(cudaFreeMipmappedArray, cudaMipmappedArray_t)                                                \
    F(cudaGetMipmappedArrayLevel, cudaArray_t *, cudaMipmappedArray_t, unsigned)                   \
    F(cudaArrayGetInfo, cudaChannelFormatDesc *, cudaExtent *, unsigned *, cudaArray_t)            \
    F(cudaGetChannelDesc, cudaChannelFormatDesc *, cudaArray_t)                                    \
    F(cudaArrayGetMemoryRequirements, cudaArrayMemoryRequirements *, cudaArray_t, int)             \
    F(cudaMipmappedArrayGetMemoryRequirements, cudaArrayMemoryRequirements *,                      \
      cudaMipmappedArray_t, int)                                                                   \
    F(cudaDeviceGetTexture1DLinearMaxWidth, size_t *, const cudaChannelFormatDesc *, int)          \
    F(cudaMemcpyToArray, cudaArray_t, size_t, size_t, const void *, size_t, cudaMemcpyKind)        \
    F(cudaMemcpyToArray_ptds, cudaArray_t, size_t, size_t, const void *, size_t, cudaMemcpyKind)   \
    F(cudaMemcpyToArrayAsync, cudaArray_t, size_t, size_t, const void *, size_t, cudaMemcpyKind,   \
      cudaStream_t)                                                                                \
    F(cudaMemcpyFromArray, void *, cudaArray_t, size_t, size_t, size_t, cudaMemcpyKind)            \
    F(cudaMemcpyFromArray_ptds, void *, cudaArray_t, size_t, size_t, size_t, cudaMemcpyKind)       \
    F(cudaMemcpyFromArrayAsync, void *, cudaArray_t, size_t, size_t, size_t, cudaMemcpyKind,       \
      cudaStream_t)                                                                                \
    F(cudaMemcpyArrayToArray, cudaArray_t, size_t, size_t, cudaArray_t, size_t, size_t, size_t,    \
      cudaMemcpyKind)                                                                              \
    F(cudaMemcpyArrayToArray_ptds, cudaArray_t, size_t, size_t, cudaArray_t, size_t, size_t,       \
      size_t, cudaMemcpyKind)                                                                      \
    F(cudaCreateTextureObject, cudaTextureObject_t *, const cudaResourceDesc *,                    \
      const cudaTextureDesc *, const cudaResourceViewDesc *)                                       \
    F(cudaDestroyTextureObject, cudaTextureObject_t)                                               \
    F(cudaGetTextureObjectResourceDesc, cudaResourceDesc *, cudaTextureObject_t)                   \
    F(cudaGetTextureObjectTextureDesc, cudaTextureDesc *, cudaTextureObject_t)                     \
    F(cudaGetTextureObjectResourceViewDesc, cudaResourceViewDesc *, cudaTextureObject_t)           \
    F(cudaCreateSurfaceObject, cudaSurfaceObject_t *, const cudaResourceDesc *)                    \
    F(cudaDestroySurfaceObject, cudaSurfaceObject_t)                                               \
    F(cudaGetSurfaceObjectResourceDesc, cudaResourceDesc *, cudaSurfaceObject_t)                   \
    F(cudaMemset2DAsync, void *, size_t, int, size_t, size_t, cudaStream_t)                        \
    F(cudaStreamCreateWithPriority, cudaStream_t *, unsigned, int)                                 \
    F(cudaStreamDestroy, cudaStream_t)                                                             \
    F(cudaStreamSynchronize, cudaStream_t)                                                         \
    F(cudaStreamQuery, cudaStream_t)                                                               \
    F(cudaStreamWaitEvent, cudaStream_t, cudaEvent_t, unsigned)                                    \
    F(cudaStreamGetFlags, cudaStream_t, unsigned *)                                                \
    F(cudaStreamGetPriority, cudaStream_t, int *)                                                  \
    F(cudaStreamGetId, cudaStream_t, unsigned long long *)                                         \
    F(cudaStreamGetDevice, cudaStream_t, int *)                                                    \
    F(cudaStreamIsCapturing, cudaStream_t, int *)                                                  \
    F(cudaStreamAddCallback, cudaStream_t, void *, void *, unsigned)                               \
    F(cudaLaunchHostFunc, cudaStream_t, void (*)(void *), void *)                                  \
    F(cudaStreamSetAttribute, cudaStream_t, int, const void *)                                     \
    F(cudaStreamGetAttribute, cudaStream_t, int, void *)                                           \
    F(cudaStreamCopyAttributes, cudaStream_t, cudaStream_t)                                        \
    F(cudaEventCreateWithFlags, cudaEvent_t *, unsigned)                                           \
    F(cudaEventDestroy, cudaEvent_t)                                                               \
    F(cudaEventRecord, cudaEvent_t, cudaStream_t)                                                  \
    F(cudaEventQuery, cudaEvent_t)                                                                 \
    F(cudaEventSynchronize, cudaEvent_t)                                                           \
    F(cudaEventElapsedTime, float *, cudaEvent_t, cudaEvent_t)                                     \
    F(cudaLaunchKernel, const void *, dim3, dim3, void **, size_t, cudaStream_t)                   \
    F(cudaLaunchCooperativeKernel, const void *, dim3, dim3, void **, size_t, cudaStream_t)        \
    F(cudaLaunchKernelExC, const cudaLaunchConfig_t *, const void *, void **)                      \
    F(cudaFuncGetAttributes, cudaFuncAttributes *, const void *)                                   \
    F(cudaFuncSetAttribute, const void *, int, int)                                                \
    F(cudaFuncGetParamInfo, const void *, size_t, size_t *, size_t *)                              \
    F(cudaOccupancyMaxActiveBlocksPerMultiprocessor, int *, const void *, int, size_t)             \
    F(cudaOccupancyAvailableDynamicSMemPerBlock, size_t *, const void *, int, int)                 \
    F(cudaProfilerStart, void)                                                                     \
    F(cudaProfilerStop, void)

typedef struct driver_runtime {
#define FIELD(name, ...) cudaError_t (*name)(__VA_ARGS__);
    RUNTIME_FUNCTIONS(FIELD)
#undef FIELD
} driver_runtime;
extern driver_runtime runtime;

#endif
