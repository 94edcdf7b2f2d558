/* SPDX-License-Identifier: Apache-2.0
 *
 * Streams and events through the driver's door: the handles are the runtime's own.
 */
#include "emulator/cuda/driver.h"

DRIVER_CALL(cuStreamCreate, runtime.cudaStreamCreateWithPriority(stream, flags, 0),
            cudaStream_t *stream, unsigned flags)
DRIVER_CALL(cuStreamCreateWithPriority,
            runtime.cudaStreamCreateWithPriority(stream, flags, priority), cudaStream_t *stream,
            unsigned flags, int priority)
DRIVER_CALL(cuStreamDestroy_v2, runtime.cudaStreamDestroy(stream), cudaStream_t stream)

/* Functions with the stream as their first argument, for both default streams. */
#define STREAM_FIRST(name, call, ...)                                                              \
    DRIVER_CALL(name, call, cudaStream_t stream __VA_OPT__(, ) __VA_ARGS__)                        \
    DRIVER_EXPORT(name##_ptsz, cudaStream_t stream __VA_OPT__(, ) __VA_ARGS__) {                   \
        stream = stream ? stream : cudaStreamPerThread;                                            \
        DRIVER_BODY(true, call)                                                                    \
    }
STREAM_FIRST(cuStreamSynchronize, runtime.cudaStreamSynchronize(stream))
STREAM_FIRST(cuStreamQuery, runtime.cudaStreamQuery(stream))
STREAM_FIRST(cuStreamWaitEvent, runtime.cudaStreamWaitEvent(stream, event, flags),
             cudaEvent_t event, unsigned flags)
STREAM_FIRST(cuStreamGetFlags, runtime.cudaStreamGetFlags(stream, flags), unsigned *flags)
STREAM_FIRST(cuStreamGetPriority, runtime.cudaStreamGetPriority(stream, priority), int *priority)
STREAM_FIRST(cuStreamGetId, runtime.cudaStreamGetId(stream, id), unsigned long long *id)
STREAM_FIRST(cuStreamGetDevice, runtime.cudaStreamGetDevice(stream, device), int *device)
STREAM_FIRST(cuStreamIsCapturing, runtime.cudaStreamIsCapturing(stream, status), int *status)
STREAM_FIRST(cuStreamAddCallback, runtime.cudaStreamAddCallback(stream, callback, data, flags),
             void *callback, void *data, unsigned flags)
STREAM_FIRST(cuLaunchHostFunc, runtime.cudaLaunchHostFunc(stream, function, data),
             void (*function)(void *), void *data)

static cudaError_t context_of(void **context, cudaStream_t stream) {
    emu_door_device device;
    int index;
    cudaError_t error = runtime.cudaStreamGetDevice(stream, &index);
    if (error)
        return error;
    if (!context || !driver_doors()->device(index, &device))
        return cudaErrorInvalidValue;
    /* A stream does not keep which of a device's contexts it was made in. */
    *context = driver_device() == index ? driver_current() : device.context;
    return cudaSuccess;
}
STREAM_FIRST(cuStreamGetCtx, context_of(context, stream), void **context)
STREAM_FIRST(cuStreamGetCtx_v2, (green ? *green = NULL : NULL, context_of(context, stream)),
             void **context, void **green) /* no stream is a green context's */

DRIVER_CALL(cuEventCreate, runtime.cudaEventCreateWithFlags(event, flags), cudaEvent_t *event,
            unsigned flags)
DRIVER_CALL(cuEventDestroy_v2, runtime.cudaEventDestroy(event), cudaEvent_t event)
DRIVER_CALL(cuEventQuery, runtime.cudaEventQuery(event), cudaEvent_t event)
DRIVER_CALL(cuEventSynchronize, runtime.cudaEventSynchronize(event), cudaEvent_t event)
DRIVER_CALL(cuEventElapsedTime, runtime.cudaEventElapsedTime(ms, from, to), float *ms,
            cudaEvent_t from, cudaEvent_t to)
DRIVER_CALL(cuEventElapsedTime_v2, runtime.cudaEventElapsedTime(ms, from, to), float *ms,
            cudaEvent_t from, cudaEvent_t to)
DRIVER_STREAM(cuEventRecord, runtime.cudaEventRecord(event, stream), cudaEvent_t event)

static cudaError_t record_with(cudaEvent_t event, cudaStream_t stream) {
    return runtime.cudaEventRecord(event, stream);
}
DRIVER_CALL(cuEventRecordWithFlags, record_with(event, stream), cudaEvent_t event,
            cudaStream_t stream, unsigned flags)
DRIVER_CALL(cuEventRecordWithFlags_ptsz, record_with(event, stream ? stream : cudaStreamPerThread),
            cudaEvent_t event, cudaStream_t stream, unsigned flags)
