/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory, copies and fills through the driver's door.
 */
#include "emulator/cuda/array.h"
#include <string.h>

enum { HOST_ALLOC_KNOWN = 7 };

/* ---- Allocation ------------------------------------------------------------------------------
 */

static cudaError_t allocate(device_pointer *out, size_t size) {
    void *block = NULL;
    if (!out || !size)
        return cudaErrorInvalidValue;
    cudaError_t error = runtime.cudaMalloc(&block, size);
    *out = (device_pointer)(uintptr_t)block;
    return error;
}

static cudaError_t allocate_pitched(device_pointer *out, size_t *pitch, size_t width, size_t rows) {
    void *block = NULL;
    if (!out || !width || !rows)
        return cudaErrorInvalidValue;
    cudaError_t error = runtime.cudaMallocPitch(&block, pitch, width, rows);
    *out = (device_pointer)(uintptr_t)block;
    return error;
}

static cudaError_t allocate_managed(device_pointer *out, size_t size, unsigned flags) {
    void *block = NULL;
    if (!out)
        return cudaErrorInvalidValue;
    cudaError_t error = runtime.cudaMallocManaged(&block, size, flags);
    *out = (device_pointer)(uintptr_t)block;
    return error;
}

static cudaError_t allocate_host(void **out, size_t size, unsigned flags) {
    if (!out || !size)
        return cudaErrorInvalidValue;
    return runtime.cudaHostAlloc(out, size, flags & HOST_ALLOC_KNOWN);
}

static cudaError_t allocate_async(device_pointer *out, size_t size, cudaMemPool_t pool,
                                  cudaStream_t stream) {
    void *block = NULL;
    if (!out || !size)
        return cudaErrorInvalidValue;
    cudaError_t error = pool ? runtime.cudaMallocFromPoolAsync(&block, size, pool, stream)
                             : runtime.cudaMallocAsync(&block, size, stream);
    *out = (device_pointer)(uintptr_t)block;
    return error;
}

static cudaError_t host_to_device(device_pointer *out, void *host, unsigned flags) {
    void *device = NULL;
    cudaError_t error = runtime.cudaHostGetDevicePointer(&device, host, flags);
    if (!error && out)
        *out = (device_pointer)(uintptr_t)device;
    return out ? error : cudaErrorInvalidValue;
}

DRIVER_CALL_TOLD(cuMemAlloc_v2, (out, size), allocate(out, size), device_pointer *out, size_t size)
DRIVER_CALL_TOLD(cuMemAllocPitch_v2, (out, pitch, width, rows, element),
                 allocate_pitched(out, pitch, width, rows), device_pointer *out, size_t *pitch,
                 size_t width, size_t rows, unsigned element)
DRIVER_CALL_TOLD(cuMemAllocManaged, (out, size, flags), allocate_managed(out, size, flags),
                 device_pointer *out, size_t size, unsigned flags)
DRIVER_CALL_TOLD(cuMemAllocHost_v2, (out, size), allocate_host(out, size, 0), void **out,
                 size_t size)
DRIVER_CALL_TOLD(cuMemHostAlloc, (out, size, flags), allocate_host(out, size, flags), void **out,
                 size_t size, unsigned flags)
DRIVER_CALL_TOLD(cuMemFree_v2, (block), runtime.cudaFree(pointer(block)), device_pointer block)
DRIVER_CALL_TOLD(cuMemFreeHost, (block), runtime.cudaFreeHost(block), void *block)
DRIVER_CALL_TOLD(cuMemHostRegister_v2, (block, size, flags),
                 runtime.cudaHostRegister(block, size, flags), void *block, size_t size,
                 unsigned flags)
DRIVER_CALL_TOLD(cuMemHostUnregister, (block), runtime.cudaHostUnregister(block), void *block)
DRIVER_CALL_TOLD(cuMemHostGetDevicePointer_v2, (out, host, flags), host_to_device(out, host, flags),
                 device_pointer *out, void *host, unsigned flags)
DRIVER_CALL_TOLD(cuMemHostGetFlags, (flags, host), runtime.cudaHostGetFlags(flags, host),
                 unsigned *flags, void *host)
DRIVER_CALL_TOLD(cuMemGetInfo_v2, (left, total), runtime.cudaMemGetInfo(left, total), size_t *left,
                 size_t *total)

DRIVER_STREAM_TOLD(cuMemAllocAsync, (out, size, stream), allocate_async(out, size, NULL, stream),
                   device_pointer *out, size_t size)
DRIVER_STREAM_TOLD(cuMemAllocFromPoolAsync, (out, size, pool, stream),
                   allocate_async(out, size, pool, stream), device_pointer *out, size_t size,
                   cudaMemPool_t pool)
DRIVER_STREAM_TOLD(cuMemFreeAsync, (block, stream), runtime.cudaFreeAsync(pointer(block), stream),
                   device_pointer block)

DRIVER_QUERY_TOLD(cuMemPoolCreate, (pool, properties), runtime.cudaMemPoolCreate(pool, properties),
                  cudaMemPool_t *pool, const cudaMemPoolProps *properties)
DRIVER_QUERY_TOLD(cuMemPoolDestroy, (pool), runtime.cudaMemPoolDestroy(pool), cudaMemPool_t pool)
DRIVER_QUERY_TOLD(cuMemPoolGetAttribute, (pool, attribute, value),
                  runtime.cudaMemPoolGetAttribute(pool, attribute, value), cudaMemPool_t pool,
                  int attribute, void *value)
DRIVER_QUERY_TOLD(cuMemPoolSetAttribute, (pool, attribute, value),
                  runtime.cudaMemPoolSetAttribute(pool, attribute, value), cudaMemPool_t pool,
                  int attribute, void *value)
DRIVER_QUERY_TOLD(cuMemPoolTrimTo, (pool, keep), runtime.cudaMemPoolTrimTo(pool, keep),
                  cudaMemPool_t pool, size_t keep)

/* A location is {type, id}; type 1: a device. Pools of the host's memory are not there. */
static cudaError_t default_pool(cudaMemPool_t *pool, const cudaMemLocation *at, int type) {
    if (!pool || !at || type != 1)
        return cudaErrorInvalidValue;
    return at->type == 1 ? runtime.cudaDeviceGetDefaultMemPool(pool, at->id)
                         : cudaErrorNotSupported;
}

static cudaError_t current_pool(cudaMemPool_t *pool, const cudaMemLocation *at, int type) {
    if (!pool || !at || type != 1)
        return cudaErrorInvalidValue;
    return at->type == 1 ? runtime.cudaDeviceGetMemPool(pool, at->id) : cudaErrorNotSupported;
}

static cudaError_t set_pool(const cudaMemLocation *at, int type, cudaMemPool_t pool) {
    if (!at || type != 1)
        return cudaErrorInvalidValue;
    return at->type == 1 ? runtime.cudaDeviceSetMemPool(at->id, pool) : cudaErrorNotSupported;
}

DRIVER_QUERY_TOLD(cuMemPoolSetAccess, (pool, list, count),
                  runtime.cudaMemPoolSetAccess(pool, list, count), cudaMemPool_t pool,
                  const cudaMemAccessDesc *list, size_t count)
DRIVER_QUERY_TOLD(cuMemPoolGetAccess, (flags, pool, at),
                  runtime.cudaMemPoolGetAccess(flags, pool, at), int *flags, cudaMemPool_t pool,
                  const cudaMemLocation *at)
DRIVER_QUERY_TOLD(cuMemGetDefaultMemPool, (pool, at, type), default_pool(pool, at, type),
                  cudaMemPool_t *pool, const cudaMemLocation *at, int type)
DRIVER_QUERY_TOLD(cuMemGetMemPool, (pool, at, type), current_pool(pool, at, type),
                  cudaMemPool_t *pool, const cudaMemLocation *at, int type)
DRIVER_QUERY_TOLD(cuMemSetMemPool, (at, type, pool), set_pool(at, type, pool),
                  const cudaMemLocation *at, int type, cudaMemPool_t pool)

/* ---- What a pointer is -----------------------------------------------------------------------
 */

enum { /* CUpointer_attribute */
       ATTRIBUTE_CONTEXT = 1,
       ATTRIBUTE_MEMORY_TYPE = 2,
       ATTRIBUTE_DEVICE_POINTER = 3,
       ATTRIBUTE_HOST_POINTER = 4,
       ATTRIBUTE_SYNC = 6,
       ATTRIBUTE_BUFFER_ID = 7,
       ATTRIBUTE_IS_MANAGED = 8,
       ATTRIBUTE_DEVICE_ORDINAL = 9,
       ATTRIBUTE_IPC_CAPABLE = 10,
       ATTRIBUTE_RANGE_START = 11,
       ATTRIBUTE_RANGE_SIZE = 12,
       ATTRIBUTE_MAPPED = 13,
       ATTRIBUTE_HANDLE_TYPES = 14,
       ATTRIBUTE_RDMA_CAPABLE = 15,
       ATTRIBUTE_ACCESS = 16,
       ATTRIBUTE_POOL = 17,
       ATTRIBUTE_MAPPING_SIZE = 18,
       ATTRIBUTE_MAPPING_BASE = 19,
       ATTRIBUTE_BLOCK_ID = 20
};

static cudaError_t range_of(device_pointer p, device_pointer *base, size_t *size) {
    uint64_t at, length;
    if (!driver_doors()->memory_range((uint64_t)p, &at, &length))
        return cudaErrorInvalidValue;
    if (base)
        *base = at;
    if (size)
        *size = length;
    return cudaSuccess;
}

DRIVER_EXPORT(cuMemGetAddressRange_v2, device_pointer *base, size_t *size, device_pointer p) {
    int error = driver_ready(true);
    if (error)
        return error;
    return range_of(p, base, size) ? CUDA_ERROR_NOT_FOUND : CUDA_SUCCESS;
}

static cudaError_t set_value(void *out, const cudaPointerAttributes *a, int attribute,
                             device_pointer p) {
    emu_door_device device = {0};
    device_pointer base = 0;
    size_t size = 0;
    switch (attribute) {
    case ATTRIBUTE_CONTEXT:
        driver_doors()->device(a->device, &device);
        *(void **)out = device.context;
        return cudaSuccess;
    case ATTRIBUTE_MEMORY_TYPE:
        *(unsigned *)out = a->type == cudaMemoryTypeHost ? MEMORYTYPE_HOST : MEMORYTYPE_DEVICE;
        return cudaSuccess;
    case ATTRIBUTE_DEVICE_POINTER:
        *(device_pointer *)out = (device_pointer)(uintptr_t)a->devicePointer;
        return cudaSuccess;
    case ATTRIBUTE_HOST_POINTER:
        *(void **)out = a->hostPointer;
        return a->hostPointer ? cudaSuccess : cudaErrorInvalidValue;
    case ATTRIBUTE_IS_MANAGED:
        *(unsigned *)out = a->type == cudaMemoryTypeManaged;
        return cudaSuccess;
    case ATTRIBUTE_DEVICE_ORDINAL:
        *(int *)out = a->device;
        return cudaSuccess;
    case ATTRIBUTE_MAPPED:
        *(unsigned *)out = 1;
        return cudaSuccess;
    case ATTRIBUTE_SYNC: /* everything waits already */
        *(unsigned *)out = 1;
        return cudaSuccess;
    case ATTRIBUTE_IPC_CAPABLE:
        *(unsigned *)out = a->type == cudaMemoryTypeDevice;
        return cudaSuccess;
    case ATTRIBUTE_RDMA_CAPABLE:
        *(unsigned *)out = 0;
        return cudaSuccess;
    case ATTRIBUTE_HANDLE_TYPES:
        *(uint64_t *)out = 0;
        return cudaSuccess;
    case ATTRIBUTE_ACCESS:
        *(int *)out = 3; /* read and write */
        return cudaSuccess;
    case ATTRIBUTE_POOL: /* which pool a block is of is not kept */
        *(void **)out = NULL;
        return cudaSuccess;
    case ATTRIBUTE_RANGE_START:
    case ATTRIBUTE_RANGE_SIZE:
    case ATTRIBUTE_MAPPING_BASE:
    case ATTRIBUTE_MAPPING_SIZE:
    case ATTRIBUTE_BUFFER_ID: /* no two blocks that live are of one address */
    case ATTRIBUTE_BLOCK_ID:
        if (range_of(p, &base, &size))
            return cudaErrorInvalidValue;
        *(device_pointer *)out =
            attribute == ATTRIBUTE_RANGE_SIZE || attribute == ATTRIBUTE_MAPPING_SIZE ? size : base;
        return cudaSuccess;
    default:
        return cudaErrorNotSupported;
    }
}

static cudaError_t pointer_attribute(void *out, int attribute, device_pointer p) {
    cudaPointerAttributes a;
    if (!out)
        return cudaErrorInvalidValue;
    cudaError_t error = runtime.cudaPointerGetAttributes(&a, pointer(p));
    if (!error && a.type == cudaMemoryTypeUnregistered)
        error = cudaErrorInvalidValue;
    return error ? error : set_value(out, &a, attribute, p);
}

/* Unlike the one below, what is not known here stays as it is. */
static cudaError_t pointer_attributes(unsigned count, const int *attributes, void **out,
                                      device_pointer p) {
    if (!attributes || !out)
        return cudaErrorInvalidValue;
    for (unsigned i = 0; i < count; i++)
        pointer_attribute(out[i], attributes[i], p);
    return cudaSuccess;
}

DRIVER_CALL_TOLD(cuPointerGetAttribute, (out, attribute, p), pointer_attribute(out, attribute, p),
                 void *out, int attribute, device_pointer p)
DRIVER_CALL_TOLD(cuPointerGetAttributes, (count, attributes, out, p),
                 pointer_attributes(count, attributes, out, p), unsigned count, int *attributes,
                 void **out, device_pointer p)

/* That copies of this memory wait, which they do. */
static cudaError_t set_attribute(const void *value, int attribute, device_pointer p) {
    if (!value || range_of(p, NULL, NULL))
        return cudaErrorInvalidValue;
    return attribute == ATTRIBUTE_SYNC ? cudaSuccess : cudaErrorNotSupported;
}
DRIVER_CALL_TOLD(cuPointerSetAttribute, (value, attribute, p), set_attribute(value, attribute, p),
                 const void *value, int attribute, device_pointer p)

/* Managed memory is everywhere already. */
static cudaError_t check_managed(device_pointer p, size_t size) {
    device_pointer base;
    size_t length;
    cudaError_t error = range_of(p, &base, &length);
    return error || size > base + length - p ? cudaErrorInvalidValue : cudaSuccess;
}
DRIVER_CALL_TOLD(cuMemAdvise, (p, size, advice, device), check_managed(p, size), device_pointer p,
                 size_t size, int advice, int device)
DRIVER_CALL_TOLD(cuMemAdvise_v2, (p, size, advice, at), check_managed(p, size), device_pointer p,
                 size_t size, int advice, cudaMemLocation at)
DRIVER_STREAM_TOLD(cuMemPrefetchAsync, (p, size, device, stream), check_managed(p, size),
                   device_pointer p, size_t size, int device)
DRIVER_STREAM_TOLD(cuMemPrefetchAsync_v2, (p, size, at, flags, stream), check_managed(p, size),
                   device_pointer p, size_t size, cudaMemLocation at, unsigned flags)

static cudaError_t check_all(const device_pointer *p, const size_t *sizes, size_t count) {
    cudaError_t error = p && sizes && count ? cudaSuccess : cudaErrorInvalidValue;
    for (size_t i = 0; !error && i < count; i++)
        error = check_managed(p[i], sizes[i]);
    return error;
}
DRIVER_STREAM_TOLD(cuMemPrefetchBatchAsync,
                   (p, sizes, count, at, indices, locations, flags, stream),
                   check_all(p, sizes, count), device_pointer *p, size_t *sizes, size_t count,
                   cudaMemLocation *at, size_t *indices, size_t locations, uint64_t flags)
DRIVER_STREAM_TOLD(cuMemDiscardBatchAsync, (p, sizes, count, flags, stream),
                   check_all(p, sizes, count), device_pointer *p, size_t *sizes, size_t count,
                   uint64_t flags)
DRIVER_STREAM_TOLD(cuMemDiscardAndPrefetchBatchAsync,
                   (p, sizes, count, at, indices, locations, flags, stream),
                   check_all(p, sizes, count), device_pointer *p, size_t *sizes, size_t count,
                   cudaMemLocation *at, size_t *indices, size_t locations, uint64_t flags)

/* ---- Copies ----------------------------------------------------------------------------------
 */

static cudaError_t copy(void *to, const void *from, size_t size, cudaMemcpyKind kind,
                        cudaStream_t stream) {
    return stream == cudaStreamPerThread ? runtime.cudaMemcpy_ptds(to, from, size, kind)
                                         : runtime.cudaMemcpy(to, from, size, kind);
}

DRIVER_SYNC_TOLD(cuMemcpy, (to, from, size),
                 copy(pointer(to), pointer(from), size, cudaMemcpyDefault, stream),
                 device_pointer to, device_pointer from, size_t size)
DRIVER_SYNC_TOLD(cuMemcpyHtoD_v2, (to, from, size),
                 copy(pointer(to), from, size, cudaMemcpyHostToDevice, stream), device_pointer to,
                 const void *from, size_t size)
DRIVER_SYNC_TOLD(cuMemcpyDtoH_v2, (to, from, size),
                 copy(to, pointer(from), size, cudaMemcpyDeviceToHost, stream), void *to,
                 device_pointer from, size_t size)
DRIVER_SYNC_TOLD(cuMemcpyDtoD_v2, (to, from, size),
                 copy(pointer(to), pointer(from), size, cudaMemcpyDeviceToDevice, stream),
                 device_pointer to, device_pointer from, size_t size)
DRIVER_SYNC_TOLD(cuMemcpyPeer, (to, to_context, from, from_context, size),
                 copy(pointer(to), pointer(from), size, cudaMemcpyDeviceToDevice, stream),
                 device_pointer to, void *to_context, device_pointer from, void *from_context,
                 size_t size)

DRIVER_STREAM_TOLD(cuMemcpyAsync, (to, from, size, stream),
                   runtime.cudaMemcpyAsync(pointer(to), pointer(from), size, cudaMemcpyDefault,
                                           stream),
                   device_pointer to, device_pointer from, size_t size)
DRIVER_STREAM_TOLD(cuMemcpyHtoDAsync_v2, (to, from, size, stream),
                   runtime.cudaMemcpyAsync(pointer(to), from, size, cudaMemcpyHostToDevice, stream),
                   device_pointer to, const void *from, size_t size)
DRIVER_STREAM_TOLD(cuMemcpyDtoHAsync_v2, (to, from, size, stream),
                   runtime.cudaMemcpyAsync(to, pointer(from), size, cudaMemcpyDeviceToHost, stream),
                   void *to, device_pointer from, size_t size)
DRIVER_STREAM_TOLD(cuMemcpyDtoDAsync_v2, (to, from, size, stream),
                   runtime.cudaMemcpyAsync(pointer(to), pointer(from), size,
                                           cudaMemcpyDeviceToDevice, stream),
                   device_pointer to, device_pointer from, size_t size)
DRIVER_STREAM_TOLD(cuMemcpyPeerAsync, (to, to_context, from, from_context, size, stream),
                   runtime.cudaMemcpyAsync(pointer(to), pointer(from), size,
                                           cudaMemcpyDeviceToDevice, stream),
                   device_pointer to, void *to_context, device_pointer from, void *from_context,
                   size_t size)

/* One end of a box. NULL: no memory, or an array. */
static void *end_of(int type, const void *host, device_pointer device) {
    if (type == MEMORYTYPE_HOST)
        return (void *)(uintptr_t)host;
    return type == MEMORYTYPE_DEVICE || type == MEMORYTYPE_UNIFIED ? pointer(device) : NULL;
}

/* Arrays count elements where the driver counts bytes. */
static bool to_elements(size_t *bytes, size_t element) {
    const bool whole = element && *bytes % element == 0;
    *bytes = whole ? *bytes / element : 0;
    return whole;
}

static cudaError_t set_arrays(const driver_memcpy3d *c, cudaMemcpy3DParms *p) {
    const bool to = c->to_type == MEMORYTYPE_ARRAY, from = c->source_type == MEMORYTYPE_ARRAY;
    size_t element = 0;
    if ((!from && !p->srcPtr.ptr) || (!to && !p->dstPtr.ptr) || c->source_lod || c->to_lod)
        return cudaErrorInvalidValue;
    if (from) {
        element = driver_element(c->source_array);
        p->srcArray = c->source_array;
        p->srcPtr = (cudaPitchedPtr){0};
        if (!to_elements(&p->srcPos.x, element))
            return element ? cudaErrorInvalidValue : cudaErrorInvalidResourceHandle;
    }
    if (to) {
        element = driver_element(c->to_array);
        p->dstArray = c->to_array;
        p->dstPtr = (cudaPitchedPtr){0};
        if (!to_elements(&p->dstPos.x, element))
            return element ? cudaErrorInvalidValue : cudaErrorInvalidResourceHandle;
    }
    if ((to || from) && !to_elements(&p->extent.width, element))
        return cudaErrorInvalidValue;
    return cudaSuccess;
}

static cudaMemcpyKind kind_of(int to, int from) {
    if (to == MEMORYTYPE_UNIFIED || from == MEMORYTYPE_UNIFIED)
        return cudaMemcpyDefault;
    to = to == MEMORYTYPE_ARRAY ? MEMORYTYPE_DEVICE : to;
    from = from == MEMORYTYPE_ARRAY ? MEMORYTYPE_DEVICE : from;
    if (to == MEMORYTYPE_HOST)
        return from == MEMORYTYPE_HOST ? cudaMemcpyHostToHost : cudaMemcpyDeviceToHost;
    return from == MEMORYTYPE_HOST ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToDevice;
}

cudaError_t driver_copy_params(const driver_memcpy3d *c, cudaMemcpy3DParms *out) {
    if (!c)
        return cudaErrorInvalidValue;
    cudaMemcpy3DParms p = {.srcPtr = {end_of(c->source_type, c->source_host, c->source_device),
                                      c->source_pitch, c->width,
                                      c->source_height ? c->source_height : c->height},
                           .srcPos = {c->source_x, c->source_y, c->source_z},
                           .dstPtr = {end_of(c->to_type, c->to_host, c->to_device), c->to_pitch,
                                      c->width, c->to_height ? c->to_height : c->height},
                           .dstPos = {c->to_x, c->to_y, c->to_z},
                           .extent = {c->width, c->height, c->depth},
                           .kind = kind_of(c->to_type, c->source_type)};
    *out = p;
    return set_arrays(c, out);
}

static cudaError_t copy_box(const driver_memcpy3d *c, bool wait, cudaStream_t stream) {
    cudaMemcpy3DParms p;
    cudaError_t error = driver_copy_params(c, &p);
    if (error)
        return error;
    if (!wait)
        return runtime.cudaMemcpy3DAsync(&p, stream);
    return stream == cudaStreamPerThread ? runtime.cudaMemcpy3D_ptds(&p) : runtime.cudaMemcpy3D(&p);
}

static cudaError_t copy_rows(const driver_memcpy2d *c, bool wait, cudaStream_t stream) {
    if (!c)
        return cudaErrorInvalidValue;
    return copy_box(&(driver_memcpy3d){.source_x = c->source_x,
                                       .source_y = c->source_y,
                                       .source_type = c->source_type,
                                       .source_host = c->source_host,
                                       .source_device = c->source_device,
                                       .source_array = c->source_array,
                                       .source_pitch = c->source_pitch,
                                       .to_x = c->to_x,
                                       .to_y = c->to_y,
                                       .to_type = c->to_type,
                                       .to_host = c->to_host,
                                       .to_device = c->to_device,
                                       .to_array = c->to_array,
                                       .to_pitch = c->to_pitch,
                                       .width = c->width,
                                       .height = c->height,
                                       .depth = 1},
                    wait, stream);
}

DRIVER_SYNC_TOLD(cuMemcpy2D_v2, (c), copy_rows(c, true, stream), const driver_memcpy2d *c)
DRIVER_SYNC_TOLD(cuMemcpy2DUnaligned_v2, (c), copy_rows(c, true, stream), const driver_memcpy2d *c)
DRIVER_SYNC_TOLD(cuMemcpy3D_v2, (c), copy_box(c, true, stream), const driver_memcpy3d *c)
DRIVER_STREAM_TOLD(cuMemcpy2DAsync_v2, (c, stream), copy_rows(c, false, stream),
                   const driver_memcpy2d *c)
DRIVER_STREAM_TOLD(cuMemcpy3DAsync_v2, (c, stream), copy_box(c, false, stream),
                   const driver_memcpy3d *c)

/* Contexts stand where the plain box has reserved words; an address says which device it is on. */
typedef struct driver_memcpy3d_peer {
    driver_memcpy3d box;
} driver_memcpy3d_peer;

DRIVER_SYNC_TOLD(cuMemcpy3DPeer, (c), copy_box(c ? &c->box : NULL, true, stream),
                 const driver_memcpy3d_peer *c)
DRIVER_STREAM_TOLD(cuMemcpy3DPeerAsync, (c, stream), copy_box(c ? &c->box : NULL, false, stream),
                   const driver_memcpy3d_peer *c)

/* Attributes say when a source may be read, which is at once, and where it is. */
static cudaError_t copy_batch(const device_pointer *to, const device_pointer *from,
                              const size_t *sizes, size_t count, size_t *failed,
                              cudaStream_t stream) {
    cudaError_t error = to && from && sizes && count ? cudaSuccess : cudaErrorInvalidValue;
    for (size_t i = 0; !error && i < count; i++) {
        error = runtime.cudaMemcpyAsync(pointer(to[i]), pointer(from[i]), sizes[i],
                                        cudaMemcpyDefault, stream);
        if (error && failed)
            *failed = i;
    }
    return error;
}
DRIVER_STREAM_TOLD(cuMemcpyBatchAsync,
                   (to, from, sizes, count, attributes, indices, attribute_count, failed, stream),
                   copy_batch(to, from, sizes, count, failed, stream), device_pointer *to,
                   device_pointer *from, size_t *sizes, size_t count, void *attributes,
                   size_t *indices, size_t attribute_count, size_t *failed)
DRIVER_STREAM_TOLD(cuMemcpyBatchAsync_v2,
                   (to, from, sizes, count, attributes, indices, attribute_count, stream),
                   copy_batch(to, from, sizes, count, NULL, stream), device_pointer *to,
                   device_pointer *from, size_t *sizes, size_t count, void *attributes,
                   size_t *indices, size_t attribute_count)

/* ---- Fills -----------------------------------------------------------------------------------
 */

/* The runtime's own fill, which knows wider elements than its functions do. */
static cudaError_t fill(device_pointer to, size_t pitch, unsigned value, size_t element,
                        size_t width, size_t rows, cudaStream_t stream) {
    return (cudaError_t)driver_doors()->fill(pointer(to), pitch, value, (unsigned)element, width,
                                             rows, stream);
}

#define FILL(bits, type)                                                                           \
    DRIVER_SYNC_TOLD(cuMemsetD##bits##_v2, (to, value, count),                                     \
                     fill(to, 0, value, sizeof value, count, 1, stream), device_pointer to,        \
                     type value, size_t count)                                                     \
    DRIVER_STREAM_TOLD(cuMemsetD##bits##Async, (to, value, count, stream),                         \
                       fill(to, 0, value, sizeof value, count, 1, stream), device_pointer to,      \
                       type value, size_t count)                                                   \
    DRIVER_SYNC_TOLD(cuMemsetD2D##bits##_v2, (to, pitch, value, width, rows),                      \
                     fill(to, pitch, value, sizeof value, width, rows, stream), device_pointer to, \
                     size_t pitch, type value, size_t width, size_t rows)                          \
    DRIVER_STREAM_TOLD(cuMemsetD2D##bits##Async, (to, pitch, value, width, rows, stream),          \
                       fill(to, pitch, value, sizeof value, width, rows, stream),                  \
                       device_pointer to, size_t pitch, type value, size_t width, size_t rows)
FILL(8, unsigned char)
FILL(16, unsigned short)
FILL(32, unsigned)
