/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory and events of other processes through the driver's door: emulator/cudart/ipc.c has how.
 */
#include "emulator/cuda/driver.h"

typedef struct ipc_handle {
    char bytes[64];
} ipc_handle;

static cudaError_t export_memory(ipc_handle *handle, device_pointer memory) {
    return (cudaError_t)driver_doors()->ipc_export(handle, pointer(memory));
}

static cudaError_t import_memory(device_pointer *memory, const ipc_handle *handle) {
    void *at = NULL;
    if (!memory)
        return cudaErrorInvalidValue;
    cudaError_t error = (cudaError_t)driver_doors()->ipc_import(&at, handle);
    *memory = (device_pointer)(uintptr_t)at;
    return error;
}

static cudaError_t export_event(ipc_handle *handle, cudaEvent_t event) {
    cudaError_t (*get)(ipc_handle *, cudaEvent_t) =
        (cudaError_t(*)(ipc_handle *, cudaEvent_t))driver_doors()->symbol("cudaIpcGetEventHandle");
    return get(handle, event);
}

static cudaError_t import_event(cudaEvent_t *event, ipc_handle handle) {
    cudaError_t (*open)(cudaEvent_t *, ipc_handle) =
        (cudaError_t(*)(cudaEvent_t *, ipc_handle))driver_doors()->symbol("cudaIpcOpenEventHandle");
    return open(event, handle);
}

DRIVER_CALL_TOLD(cuIpcGetMemHandle, (handle, memory), export_memory(handle, memory),
                 ipc_handle *handle, device_pointer memory)
DRIVER_CALL_TOLD(cuIpcOpenMemHandle_v2, (memory, handle, flags), import_memory(memory, &handle),
                 device_pointer *memory, ipc_handle handle, unsigned flags)
DRIVER_CALL_TOLD(cuIpcOpenMemHandle, (memory, handle, flags), import_memory(memory, &handle),
                 device_pointer *memory, ipc_handle handle, unsigned flags)
DRIVER_CALL_TOLD(cuIpcCloseMemHandle, (memory), driver_doors()->ipc_close(pointer(memory)),
                 device_pointer memory)
DRIVER_CALL_TOLD(cuIpcGetEventHandle, (handle, event), export_event(handle, event),
                 ipc_handle *handle, cudaEvent_t event)
DRIVER_CALL_TOLD(cuIpcOpenEventHandle, (event, handle), import_event(event, handle),
                 cudaEvent_t *event, ipc_handle handle)
