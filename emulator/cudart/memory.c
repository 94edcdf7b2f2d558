/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory of devices and memory that they share with the host: allocation, registration, what a
 * pointer is, pools.
 *
 * An emulated device's memory is host memory, so one address serves both sides. Pinned and managed
 * blocks belong to the device that was current, and are registered with all others.
 */
#include "emulator/cudart/door.h"
#include "emulator/cudart/virtual.h"
#include <stdlib.h>
#include <string.h>

enum { PITCH_ALIGNMENT = 512 };

/* ---- Where a pointer points ---------------------------------------------------------------------
 */

static const door_shared *find_shared(uint64_t address) {
    for (size_t i = 0; i < door.shared_count; i++) {
        const door_shared *s = &door.shared[i];
        if (address - (uint64_t)(uintptr_t)s->address < s->size)
            return s;
    }
    return NULL;
}

static bool find_on(door_device *d, uint64_t address, door_place *place) {
    if (!d->emu || !emu_memory_find(d->emu, address, &place->base, &place->size, &place->kind))
        return false;
    place->device = d;
    return true;
}

bool door_find_memory(const void *address, door_place *place) {
    uint64_t a = (uint64_t)(uintptr_t)address;
    bool found = door_virtual_find(a, place);
    if (found)
        return true;
    pthread_mutex_lock(&door.lock);
    const door_shared *shared = find_shared(a);
    if (shared && shared->registered) {
        *place = (door_place){&door.device[shared->owner], EMU_MEMORY_HOST,
                              (uint64_t)(uintptr_t)shared->address, shared->size};
        found = true;
    } else if (shared) {
        /* every device knows the block, but only its owner can free it */
        found = find_on(&door.device[shared->owner], a, place);
    }
    for (int i = 0; !found && i < door.device_count; i++)
        found = find_on(&door.device[i], a, place);
    pthread_mutex_unlock(&door.lock);
    return found;
}

/* ---- Sharing between devices
 * ---------------------------------------------------------------------- */

static bool remember_shared(void *address, size_t size, int owner, bool registered) {
    bool ok = true;
    pthread_mutex_lock(&door.lock);
    if (door.shared_count == door.shared_capacity) {
        size_t capacity = door.shared_capacity ? door.shared_capacity * 2 : 16;
        door_shared *grown = realloc(door.shared, capacity * sizeof *grown);
        ok = grown != NULL;
        if (ok) {
            door.shared = grown;
            door.shared_capacity = capacity;
        }
    }
    if (ok)
        door.shared[door.shared_count++] = (door_shared){address, size, owner, registered};
    for (int i = 0; ok && i < door.device_count; i++)
        if (door.device[i].emu && (registered || i != owner))
            emu_memory_register_host(door.device[i].emu, address, size);
    pthread_mutex_unlock(&door.lock);
    return ok;
}

/* False: there was no such block. */
static bool forget_shared(void *address, bool registered) {
    bool found = false;
    pthread_mutex_lock(&door.lock);
    for (size_t i = 0; i < door.shared_count && !found; i++) {
        door_shared s = door.shared[i];
        if (s.address != address || s.registered != registered)
            continue;
        found = true;
        door.shared[i] = door.shared[--door.shared_count];
        for (int d = 0; d < door.device_count; d++)
            if (door.device[d].emu && (registered || d != s.owner))
                emu_memory_unregister_host(door.device[d].emu, address);
    }
    pthread_mutex_unlock(&door.lock);
    return found;
}

void door_share_all(door_device *device) {
    pthread_mutex_lock(&door.lock);
    for (size_t i = 0; i < door.shared_count; i++)
        if (door.shared[i].registered || door.shared[i].owner != device->index)
            emu_memory_register_host(device->emu, door.shared[i].address, door.shared[i].size);
    pthread_mutex_unlock(&door.lock);
}

void door_forget_blocks(const door_device *owner) {
    pthread_mutex_lock(&door.lock);
    for (size_t i = 0; i < door.shared_count;) {
        door_shared s = door.shared[i];
        if (s.registered || s.owner != owner->index) {
            i++;
            continue;
        }
        door.shared[i] = door.shared[--door.shared_count];
        for (int d = 0; d < door.device_count; d++)
            if (door.device[d].emu && d != s.owner)
                emu_memory_unregister_host(door.device[d].emu, s.address);
    }
    pthread_mutex_unlock(&door.lock);
}

/* ---- Allocation
 * ----------------------------------------------------------------------------------- */

static void tell_memory(const door_device *device, emu_memory_kind kind, const door_pool *pool,
                        bool allocated, uint64_t address, uint64_t size) {
    enum { USED = 7 }; /* cudaMemPoolAttrUsedMemCurrent */
    const emu_observer *observer = door_observer();
    if (observer && observer->memory)
        observer->memory(&(emu_memory_event){.device = device->index,
                                             .kind = kind,
                                             .pool = pool != NULL,
                                             .allocated = allocated,
                                             .address = address,
                                             .bytes = size,
                                             .pool_bytes = pool ? pool->attribute[USED] : 0,
                                             .pool_handle = pool,
                                             .time_s = door_now(),
                                             .correlation = door_api_correlation()});
}

void door_tell_pool_memory(const door_device *device, bool allocated, uint64_t address,
                           uint64_t size) {
    tell_memory(device, EMU_MEMORY_DEVICE, device->pool, allocated, address, size);
}

static const char *kind_name(emu_memory_kind kind) {
    return kind == EMU_MEMORY_DEVICE ? "device" : kind == EMU_MEMORY_HOST ? "pinned" : "managed";
}

cudaError_t door_allocate(door_device *device, emu_memory_kind kind, const char *name, size_t size,
                          void **address) {
    emu_fault fault = {0};
    uint64_t at;
    if (!address)
        return cudaErrorInvalidValue;
    *address = NULL;
    if (size == 0)
        return cudaSuccess;
    emu_status status = emu_memory_allocate(device->emu, kind, size, &at, &fault);
    if (status != EMU_OK)
        return door_error_of(status);
    *address = (void *)(uintptr_t)at;
    if (kind != EMU_MEMORY_DEVICE && !remember_shared(*address, size, device->index, false)) {
        emu_memory_free(device->emu, at, &fault);
        return cudaErrorMemoryAllocation;
    }
    emu_counts_memory(door.file, device->index, name ? name : kind_name(kind), true, at, size,
                      door_now());
    if (!name) /* a pool's are told where the pool is known */
        tell_memory(device, kind, NULL, true, at, size);
    return cudaSuccess;
}

cudaError_t door_release(void *address, bool host) {
    door_place place;
    emu_fault fault;
    if (!address)
        return cudaSuccess;
    if (!door_find_memory(address, &place) || place.base != (uint64_t)(uintptr_t)address ||
        (place.kind == EMU_MEMORY_HOST) != host)
        return cudaErrorInvalidValue;
    door_wait_device(place.device); /* freeing waits for the device */
    if (place.kind != EMU_MEMORY_DEVICE && !forget_shared(address, false))
        return cudaErrorInvalidValue; /* registered memory is not ours to free */
    if (emu_memory_free(place.device->emu, place.base, &fault) != EMU_OK)
        return cudaErrorInvalidValue;
    emu_counts_memory(door.file, place.device->index, kind_name(place.kind), false, place.base,
                      place.size, door_now());
    tell_memory(place.device, place.kind, NULL, false, place.base, place.size);
    return cudaSuccess;
}

static cudaError_t allocate(emu_memory_kind kind, size_t size, void **address) {
    door_device *d;
    cudaError_t error = door_enter(&d);
    if (!error)
        error = door_unsafe();
    return error ? error : door_allocate(d, kind, NULL, size, address);
}

DOOR_EXPORT(cudaError_t, cudaMalloc, void **address, size_t size) {
    const struct {
        void **address;
        size_t size;
    } told = {address, size};
    return door_return(DOOR_CALL_WITH(__func__, &told, allocate(EMU_MEMORY_DEVICE, size, address)));
}

DOOR_EXPORT(cudaError_t, cudaMallocManaged, void **address, size_t size, unsigned flags) {
    if (size == 0 || (flags != 1 && flags != 2))
        return door_return(cudaErrorInvalidValue);
    return door_return(DOOR_CALL_WITH(__func__, EMU_TOLD(address, size, flags),
                                      allocate(EMU_MEMORY_MANAGED, size, address)));
}

DOOR_EXPORT(cudaError_t, cudaMallocHost, void **address, size_t size) {
    return door_return(DOOR_CALL_WITH(__func__, EMU_TOLD(address, size),
                                      allocate(EMU_MEMORY_HOST, size, address)));
}

DOOR_EXPORT(cudaError_t, cudaHostAlloc, void **address, size_t size, unsigned flags) {
    (void)flags; /* all pinned memory is portable and mapped */
    return door_return(DOOR_CALL_WITH(__func__, EMU_TOLD(address, size, flags),
                                      allocate(EMU_MEMORY_HOST, size, address)));
}

static cudaError_t allocate_pitched(void **address, size_t *pitch, size_t width, size_t rows) {
    if (!address || !pitch)
        return cudaErrorInvalidValue;
    if (width > SIZE_MAX - PITCH_ALIGNMENT)
        return cudaErrorMemoryAllocation;
    size_t wide = (width + PITCH_ALIGNMENT - 1) / PITCH_ALIGNMENT * PITCH_ALIGNMENT, size;
    if (__builtin_mul_overflow(wide, rows, &size))
        return cudaErrorMemoryAllocation;
    *pitch = wide;
    return allocate(EMU_MEMORY_DEVICE, size, address);
}

DOOR_EXPORT(cudaError_t, cudaMallocPitch, void **address, size_t *pitch, size_t width,
            size_t height) {
    return door_return(DOOR_CALL_WITH(__func__, EMU_TOLD(address, pitch, width, height),
                                      allocate_pitched(address, pitch, width, height)));
}

DOOR_EXPORT(cudaError_t, cudaMalloc3D, cudaPitchedPtr *block, cudaExtent extent) {
    size_t rows;
    if (!block)
        return door_return(cudaErrorInvalidValue);
    if (__builtin_mul_overflow(extent.height, extent.depth, &rows))
        return door_return(cudaErrorMemoryAllocation);
    block->xsize = extent.width;
    block->ysize = extent.height;
    return door_return(allocate_pitched(&block->ptr, &block->pitch, extent.width, rows));
}

static cudaError_t release(void *address, bool host) {
    cudaError_t error = door_enter(NULL);
    if (!error && address)
        error = door_unsafe();
    if (!error && !host && door_graph_free(address, &error))
        return error;
    return error ? error : door_release(address, host);
}

DOOR_EXPORT(cudaError_t, cudaFree, void *address) {
    return door_return(DOOR_CALL_WITH(__func__, &address, release(address, false)));
}

DOOR_EXPORT(cudaError_t, cudaFreeHost, void *address) {
    return door_return(DOOR_CALL_WITH(__func__, EMU_TOLD(address), release(address, true)));
}

DOOR_EXPORT(cudaError_t, cudaMemGetInfo, size_t *left, size_t *total) {
    door_device *d;
    cudaError_t error = door_enter(&d);
    if (error)
        return door_return(error);
    if (total)
        *total = d->profile.spec.memory_bytes;
    if (left)
        *left = d->profile.spec.memory_bytes - emu_memory_used(d->emu);
    return cudaSuccess;
}

/* ---- Host memory of the program
 * ------------------------------------------------------------------- */

static cudaError_t register_host(void *address, size_t size) {
    door_device *d;
    door_place place;
    cudaError_t error = door_enter(&d);
    if (error)
        return error;
    if (!address || !size)
        return cudaErrorInvalidValue;
    if ((error = door_unsafe()))
        return error;
    if (door_find_memory(address, &place))
        return cudaErrorHostMemoryAlreadyRegistered;
    return remember_shared(address, size, d->index, true) ? cudaSuccess : cudaErrorMemoryAllocation;
}

DOOR_EXPORT(cudaError_t, cudaHostRegister, void *address, size_t size, unsigned flags) {
    (void)flags;
    return door_return(register_host(address, size));
}

DOOR_EXPORT(cudaError_t, cudaHostUnregister, void *address) {
    cudaError_t error = door_enter(NULL);
    if (!error && !forget_shared(address, true))
        error = cudaErrorHostMemoryNotRegistered;
    return door_return(error);
}

DOOR_EXPORT(cudaError_t, cudaHostGetDevicePointer, void **device, void *host, unsigned flags) {
    door_place place;
    cudaError_t error = door_enter(NULL);
    if (!error &&
        (!device || flags || !door_find_memory(host, &place) || place.kind == EMU_MEMORY_DEVICE))
        error = cudaErrorInvalidValue;
    if (!error)
        *device = host;
    return door_return(error);
}

DOOR_EXPORT(cudaError_t, cudaHostGetFlags, unsigned *flags, void *host) {
    door_place place;
    cudaError_t error = door_enter(NULL);
    if (!error && (!flags || !door_find_memory(host, &place) || place.kind != EMU_MEMORY_HOST))
        error = cudaErrorInvalidValue;
    if (!error)
        *flags = cudaHostAllocMapped | cudaHostAllocPortable;
    return door_return(error);
}

DOOR_EXPORT(cudaError_t, cudaPointerGetAttributes, cudaPointerAttributes *attributes,
            const void *address) {
    door_place place;
    cudaError_t error = door_enter(NULL);
    if (!error && !attributes)
        error = cudaErrorInvalidValue;
    if (error)
        return door_return(error);
    memset(attributes, 0, sizeof *attributes);
    if (!door_find_memory(address, &place)) {
        attributes->type = cudaMemoryTypeUnregistered;
        attributes->device = -2;
        attributes->hostPointer = (void *)(uintptr_t)address;
        return cudaSuccess;
    }
    attributes->type = place.kind == EMU_MEMORY_DEVICE ? cudaMemoryTypeDevice
                       : place.kind == EMU_MEMORY_HOST ? cudaMemoryTypeHost
                                                       : cudaMemoryTypeManaged;
    attributes->device = place.device->index;
    attributes->devicePointer = (void *)(uintptr_t)address;
    if (place.kind != EMU_MEMORY_DEVICE)
        attributes->hostPointer = (void *)(uintptr_t)address;
    return cudaSuccess;
}

/* ---- Managed memory: it is everywhere already
 * ------------------------------------------------------- */

static cudaError_t check_managed(const void *address, size_t size) {
    door_place place;
    cudaError_t error = door_enter(NULL);
    if (error)
        return error;
    if (!door_find_memory(address, &place) || place.kind == EMU_MEMORY_DEVICE ||
        size > place.base + place.size - (uint64_t)(uintptr_t)address)
        return cudaErrorInvalidValue;
    return cudaSuccess;
}

/* The arguments after these differ between versions, and none of them changes anything. */
#define EXPORT_MANAGED(name)                                                                       \
    DOOR_EXPORT(cudaError_t, name, const void *address, size_t size) {                             \
        return door_return(check_managed(address, size));                                          \
    }
EXPORT_MANAGED(cudaMemAdvise)
EXPORT_MANAGED(cudaMemPrefetchAsync)
EXPORT_MANAGED(cudaMemPrefetchAsync_ptsz)
#if DOOR_CUDART < 13
EXPORT_MANAGED(cudaMemAdvise_v2)
EXPORT_MANAGED(cudaMemPrefetchAsync_v2)
EXPORT_MANAGED(cudaMemPrefetchAsync_v2_ptsz)
#endif

/* ---- Stream-ordered allocation
 * ---------------------------------------------------------------------- */

enum { READ_AND_WRITE = 3 }; /* cudaMemAccessFlagsProtReadWrite */
enum {
    POOL_RELEASE_THRESHOLD = 4,
    POOL_RESERVED = 5,
    POOL_RESERVED_HIGH,
    POOL_USED,
    POOL_USED_HIGH
};

static void tell_pool(const door_pool *pool, int operation, size_t keep) {
    const emu_observer *observer = door_observer();
    if (observer && observer->pool)
        observer->pool(
            &(emu_pool_event){.device = pool->device->index,
                              .operation = operation,
                              .pool_handle = pool,
                              .keep = keep,
                              .release_threshold = pool->attribute[POOL_RELEASE_THRESHOLD],
                              .pool_bytes = pool->attribute[POOL_USED],
                              .time_s = door_now(),
                              .correlation = door_api_correlation()});
}

static door_pool *find_pool(cudaMemPool_t handle) {
    pthread_mutex_lock(&door.lock);
    door_pool *p = door.pools;
    while (p && p != handle)
        p = p->next;
    for (int i = 0; !p && i < door.device_count; i++)
        if (handle == &door.device[i].default_pool)
            p = handle;
    pthread_mutex_unlock(&door.lock);
    return p;
}

static void account_pool(door_pool *pool, size_t size) {
    pthread_mutex_lock(&door.lock);
    uint64_t *a = pool->attribute;
    a[POOL_USED] += size;
    a[POOL_RESERVED] = a[POOL_USED];
    if (a[POOL_USED] > a[POOL_USED_HIGH])
        a[POOL_USED_HIGH] = a[POOL_RESERVED_HIGH] = a[POOL_USED];
    pthread_mutex_unlock(&door.lock);
}

static cudaError_t allocate_async(void **address, size_t size, door_pool *pool,
                                  cudaStream_t stream) {
    door_device *d;
    cudaError_t error = door_enter(&d);
    if (error)
        return error;
    door_stream *s = door_find_stream(stream, d);
    if (!s)
        return cudaErrorInvalidResourceHandle;
    if (!pool)
        pool = d->pool;
    if (pool != d->pool && !find_pool(pool))
        return cudaErrorInvalidValue;
    if ((error = door_enqueue(s)))
        return error;
    if (s->capture)
        return door_capture_allocate(s, pool, size, address);
    error = door_open_device(pool->device, true);
    if (!error)
        error = door_allocate(pool->device, EMU_MEMORY_DEVICE, "pool", size, address);
    if (!error) {
        account_pool(pool, size);
        tell_memory(pool->device, EMU_MEMORY_DEVICE, pool, true, (uint64_t)(uintptr_t)*address,
                    size);
    }
    return error;
}

static cudaError_t free_async(void *address, cudaStream_t stream) {
    door_device *d;
    door_place place;
    cudaError_t error = door_enter(&d);
    if (error)
        return error;
    door_stream *s = door_find_stream(stream, d);
    if (!s)
        return cudaErrorInvalidResourceHandle;
    if ((error = door_enqueue(s)))
        return error;
    if (s->capture)
        return door_capture_free(s, address);
    if (door_graph_free(address, &error))
        return error;
    if (!address || !door_find_memory(address, &place))
        return cudaErrorInvalidValue;
    /* Which pool a block came from is not kept: all of a device's pools share its memory. */
    door_pool *pool = place.device->pool;
    emu_fault fault;
    if (place.base != (uint64_t)(uintptr_t)address || place.kind != EMU_MEMORY_DEVICE ||
        emu_memory_free(place.device->emu, place.base, &fault) != EMU_OK)
        return cudaErrorInvalidValue;
    account_pool(
        pool, -(pool->attribute[POOL_USED] < place.size ? pool->attribute[POOL_USED] : place.size));
    emu_counts_memory(door.file, place.device->index, "pool", false, place.base, place.size,
                      door_now());
    tell_memory(place.device, EMU_MEMORY_DEVICE, pool, false, place.base, place.size);
    return cudaSuccess;
}

DOOR_EXPORT(cudaError_t, cudaMallocAsync, void **address, size_t size, cudaStream_t stream) {
    return door_return(DOOR_CALL_WITH(__func__, EMU_TOLD(address, size, stream),
                                      allocate_async(address, size, NULL, stream)));
}

DOOR_EXPORT(cudaError_t, cudaMallocAsync_ptsz, void **address, size_t size, cudaStream_t stream) {
    return door_return(
        DOOR_CALL_WITH(__func__, EMU_TOLD(address, size, stream),
                       allocate_async(address, size, NULL, door_per_thread(stream))));
}

DOOR_EXPORT(cudaError_t, cudaMallocFromPoolAsync, void **address, size_t size, cudaMemPool_t pool,
            cudaStream_t stream) {
    return door_return(DOOR_CALL_WITH(__func__, EMU_TOLD(address, size, pool, stream),
                                      allocate_async(address, size, pool, stream)));
}

DOOR_EXPORT(cudaError_t, cudaMallocFromPoolAsync_ptsz, void **address, size_t size,
            cudaMemPool_t pool, cudaStream_t stream) {
    return door_return(
        DOOR_CALL_WITH(__func__, EMU_TOLD(address, size, pool, stream),
                       allocate_async(address, size, pool, door_per_thread(stream))));
}

DOOR_EXPORT(cudaError_t, cudaFreeAsync, void *address, cudaStream_t stream) {
    return door_return(
        DOOR_CALL_WITH(__func__, EMU_TOLD(address, stream), free_async(address, stream)));
}

DOOR_EXPORT(cudaError_t, cudaFreeAsync_ptsz, void *address, cudaStream_t stream) {
    return door_return(DOOR_CALL_WITH(__func__, EMU_TOLD(address, stream),
                                      free_async(address, door_per_thread(stream))));
}

/* Enters, and turns a device's number into the device. */
static cudaError_t enter_device(int index, door_device **device) {
    cudaError_t error = door_enter_query();
    if (error)
        return error;
    if (index < 0 || index >= door.device_count)
        return cudaErrorInvalidDevice;
    *device = &door.device[index];
    return cudaSuccess;
}

DOOR_EXPORT(cudaError_t, cudaDeviceGetDefaultMemPool, cudaMemPool_t *pool, int device) {
    door_device *d;
    cudaError_t error = pool ? enter_device(device, &d) : cudaErrorInvalidValue;
    if (!error)
        *pool = &d->default_pool;
    return door_return(error);
}

DOOR_EXPORT(cudaError_t, cudaDeviceGetMemPool, cudaMemPool_t *pool, int device) {
    door_device *d;
    cudaError_t error = pool ? enter_device(device, &d) : cudaErrorInvalidValue;
    if (!error)
        *pool = d->pool;
    return door_return(error);
}

DOOR_EXPORT(cudaError_t, cudaDeviceSetMemPool, int device, cudaMemPool_t pool) {
    door_device *d;
    cudaError_t error = enter_device(device, &d);
    if (!error && (!find_pool(pool) || pool->device != d))
        error = cudaErrorInvalidValue;
    if (!error)
        d->pool = pool;
    return door_return(error);
}

static cudaError_t create_pool(cudaMemPool_t *pool, const cudaMemPoolProps *properties) {
    door_device *d;
    if (!pool || !properties || properties->location.type != 1)
        return cudaErrorInvalidValue;
    cudaError_t error = enter_device(properties->location.id, &d);
    if (error)
        return error;
    if (properties->handleTypes)
        return cudaErrorNotSupported; /* pools shared between processes */
    door_pool *p = calloc(1, sizeof *p);
    if (!p)
        return cudaErrorMemoryAllocation;
    pthread_mutex_lock(&door.lock);
    p->device = d;
    p->next = door.pools;
    door.pools = *pool = p;
    pthread_mutex_unlock(&door.lock);
    tell_pool(p, 1, 0);
    return cudaSuccess;
}

DOOR_EXPORT(cudaError_t, cudaMemPoolCreate, cudaMemPool_t *pool,
            const cudaMemPoolProps *properties) {
    return door_return(create_pool(pool, properties));
}

DOOR_EXPORT(cudaError_t, cudaMemPoolDestroy, cudaMemPool_t handle) {
    cudaError_t error = door_enter_query();
    if (error)
        return door_return(error);
    door_pool **link = &door.pools, *found;
    pthread_mutex_lock(&door.lock);
    while (*link && *link != handle)
        link = &(*link)->next;
    found = *link;
    if (found) {
        *link = found->next;
        if (found->device->pool == found)
            found->device->pool = &found->device->default_pool;
    }
    pthread_mutex_unlock(&door.lock);
    if (found)
        tell_pool(found, 2, 0);
    free(found);
    return door_return(found ? cudaSuccess : cudaErrorInvalidValue);
}

/* The first three attributes are int, the others 64 bits. */
static cudaError_t pool_attribute(cudaMemPool_t handle, int number, void *value, bool set) {
    cudaError_t error = door_enter_query();
    if (error)
        return error;
    door_pool *p = find_pool(handle);
    if (!p || !value || number < 1 || number > POOL_USED_HIGH)
        return cudaErrorInvalidValue;
    uint64_t *at = &p->attribute[number];
    if (number < POOL_RELEASE_THRESHOLD && set)
        *at = (uint64_t) * (int *)value;
    else if (number < POOL_RELEASE_THRESHOLD)
        *(int *)value = (int)*at;
    else if (set)
        memcpy(at, value, sizeof *at);
    else
        memcpy(value, at, sizeof *at);
    return cudaSuccess;
}

DOOR_EXPORT(cudaError_t, cudaMemPoolGetAttribute, cudaMemPool_t pool, int number, void *value) {
    return door_return(pool_attribute(pool, number, value, false));
}

DOOR_EXPORT(cudaError_t, cudaMemPoolSetAttribute, cudaMemPool_t pool, int number, void *value) {
    return door_return(pool_attribute(pool, number, value, true));
}

DOOR_EXPORT(cudaError_t, cudaMemPoolTrimTo, cudaMemPool_t pool, size_t keep) {
    cudaError_t error = door_enter_query();
    const door_pool *p = error ? NULL : find_pool(pool);
    if (p) /* nothing is held back, so nothing goes */
        tell_pool(p, 3, keep);
    return door_return(error ? error : p ? cudaSuccess : cudaErrorInvalidValue);
}

/* Access to a pool is access to all of its device's memory here, and stays when it is taken away: a
 * block is not known to be its pool's. */
static cudaError_t set_access(door_pool *pool, const cudaMemAccessDesc *a) {
    door_device *d;
    cudaError_t error =
        a->location.type == 1 ? enter_device(a->location.id, &d) : cudaErrorInvalidValue;
    if (error)
        return error;
    if (d == pool->device)
        return a->flags == READ_AND_WRITE ? cudaSuccess : cudaErrorInvalidValue;
    if (a->flags)
        error = door_allow_peer(d, pool->device);
    if (error && error != cudaErrorPeerAccessAlreadyEnabled)
        return error;
    pool->access[d->index] = a->flags;
    return cudaSuccess;
}

DOOR_EXPORT(cudaError_t, cudaMemPoolSetAccess, cudaMemPool_t pool, const cudaMemAccessDesc *list,
            size_t count) {
    cudaError_t error = door_enter_query();
    if (!error && (!find_pool(pool) || (count && !list)))
        error = cudaErrorInvalidValue;
    for (size_t i = 0; !error && i < count; i++)
        error = set_access(pool, &list[i]);
    return door_return(error);
}

DOOR_EXPORT(cudaError_t, cudaMemPoolGetAccess, int *flags, cudaMemPool_t pool,
            const cudaMemLocation *location) {
    cudaError_t error = door_enter_query();
    door_device *d;
    if (!error && (!flags || !location || location->type != 1 || !find_pool(pool)))
        error = cudaErrorInvalidValue;
    if (!error)
        error = enter_device(location->id, &d);
    if (!error)
        *flags = d == pool->device ? READ_AND_WRITE : pool->access[d->index];
    return door_return(error);
}
