/* SPDX-License-Identifier: Apache-2.0
 *
 * Address space of an emulated device: two reserved stretches (device, host), allocations in them
 * kept as a sorted list of ranges, and the heap of device-side malloc. Untouched memory reads as a
 * poison pattern and costs nothing: the stretches are private mappings of one small poisoned file,
 * so pages appear when they are written. */
#include "emulator/machine/machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { POISON = 0xFF }; /* a NaN as a floating-point number, -1 as an index: it shows */
#define MAP_CHUNK (UINT64_C(16) << 20)
#define GRANULE   UINT64_C(256)

/* Where arenas are looked for: far from what the kernel hands out by itself, devices' apart from
 * pinned memory's, whose size is the host's matter. */
#define DEVICE_ARENAS UINT64_C(0x200000000000)
#define HOST_ARENAS   UINT64_C(0x400000000000)
#define ARENA_STEP    (UINT64_C(1) << 40)
enum { ARENA_SLOTS = 20 };

static uint64_t round_up(uint64_t value, uint64_t unit) {
    return (value + unit - 1) / unit * unit;
}

/* SIZE bytes of addresses, at the first multiple of a TiB from FIRST that is free. Which cache set
 * a line falls into is told by its address: with those that the kernel would pick, which differ
 * each time, no two runs would have the same misses. */
static bool reserve(emu_arena *arena, uint64_t first, uint64_t size) {
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void *at = MAP_FAILED;
    for (uint64_t slot = 0; slot < ARENA_SLOTS; slot++) {
        void *want = (void *)(uintptr_t)(first + slot * ARENA_STEP);
        at = mmap(want, size, PROT_NONE, flags, -1, 0);
        if (at == want || at == MAP_FAILED)
            break;
        munmap(at, size);
        at = MAP_FAILED;
    }
    if (at == MAP_FAILED) /* no such addresses here: a smaller space, or all taken */
        at = mmap(NULL, size, PROT_NONE, flags, -1, 0);
    if (at == MAP_FAILED)
        return false;
    arena->base = (uint64_t)(uintptr_t)at;
    arena->size = size;
    arena->mapped = 0;
    return true;
}

static int make_poison(void) {
    int file = memfd_create("emulated-device-memory", MFD_CLOEXEC);
    if (file < 0)
        return -1;
    void *at = MAP_FAILED;
    if (ftruncate(file, (off_t)MAP_CHUNK) == 0)
        at = mmap(NULL, MAP_CHUNK, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (at == MAP_FAILED) {
        close(file);
        return -1;
    }
    memset(at, POISON, MAP_CHUNK);
    munmap(at, MAP_CHUNK);
    return file;
}

/* Addresses for pinned memory: twice what the host has. */
static uint64_t host_arena_bytes(void) {
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    uint64_t bytes = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : MAP_CHUNK * 64;
    return round_up(2 * bytes, MAP_CHUNK);
}

bool emu_memory_open(emu_device *device, emu_fault *fault) {
    /* twice the capacity of addresses, so that fragmentation never ends a program before its
     * memory is used up */
    uint64_t size = round_up(device->spec.memory_bytes, MAP_CHUNK) * 2 + MAP_CHUNK;
    pthread_mutex_init(&device->memory_lock, NULL);
    device->poison_file = make_poison();
    device->shared_file = -1;
    if (device->poison_file < 0 || !reserve(&device->device_arena, DEVICE_ARENAS, size) ||
        !reserve(&device->host_arena, HOST_ARENAS, host_arena_bytes())) {
        emu_fail(fault, EMU_OUT_OF_MEMORY,
                 "cannot reserve %llu bytes of address space for the emulated device's memory "
                 "(is there a limit on virtual memory? try ulimit -v unlimited)",
                 (unsigned long long)size);
        return false;
    }
    return true;
}

void emu_memory_close(emu_device *device) {
    if (device->device_arena.size)
        munmap((void *)(uintptr_t)device->device_arena.base, device->device_arena.size);
    if (device->host_arena.size)
        munmap((void *)(uintptr_t)device->host_arena.base, device->host_arena.size);
    if (device->poison_file >= 0)
        close(device->poison_file);
    if (device->shared_file >= 0)
        close(device->shared_file);
    free(device->range);
    pthread_mutex_destroy(&device->memory_lock);
}

/* Index of the first range that ends after ADDRESS. */
static int first_after(const emu_device *device, uint64_t address) {
    int low = 0, high = device->range_count;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (device->range[middle].base + device->range[middle].size <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool insert_range(emu_device *device, int at, emu_range range) {
    if (device->range_count == device->range_capacity) {
        int capacity = device->range_capacity ? device->range_capacity * 2 : 64;
        emu_range *grown = realloc(device->range, (size_t)capacity * sizeof *grown);
        if (!grown)
            return false;
        device->range = grown;
        device->range_capacity = capacity;
    }
    memmove(device->range + at + 1, device->range + at,
            (size_t)(device->range_count - at) * sizeof range);
    device->range[at] = range;
    device->range_count++;
    return true;
}

static void remove_range(emu_device *device, int at) {
    atomic_fetch_add(&device->frees, 1);
    device->range_count--;
    memmove(device->range + at, device->range + at + 1,
            (size_t)(device->range_count - at) * sizeof *device->range);
}

/* First fit. A granule stays free behind every block, so that running off its end is seen. */
static uint64_t find_hole(const emu_device *device, const emu_arena *arena, uint64_t size,
                          int *index) {
    uint64_t at = arena->base, end = arena->base + arena->size;
    int i = first_after(device, at);
    for (;; i++) {
        uint64_t limit =
            i < device->range_count && device->range[i].base < end ? device->range[i].base : end;
        if (limit > at && limit - at >= size + GRANULE) {
            *index = i;
            return at;
        }
        if (limit == end)
            return 0;
        at = round_up(device->range[i].base + device->range[i].size + 1, GRANULE);
    }
}

static bool map_up_to(emu_device *device, emu_arena *arena, uint64_t end) {
    while (arena->base + arena->mapped < end) {
        void *want = (void *)(uintptr_t)(arena->base + arena->mapped);
        void *at = mmap(want, MAP_CHUNK, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, device->poison_file, 0);
        if (at == MAP_FAILED)
            return false;
        arena->mapped += MAP_CHUNK;
    }
    return true;
}

/* Managed memory begins as zeros on every real device, and programs have come to rely on it: whole
 * pages cost nothing until they are written. */
static void start_at_zero(uint64_t base, uint64_t size) {
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), end = base + size;
    uint64_t first = round_up(base, page), last = end / page * page;
    if (first >= last ||
        mmap((void *)(uintptr_t)first, last - first, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_FIXED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) == MAP_FAILED) {
        memset((void *)(uintptr_t)base, 0, size);
        return;
    }
    memset((void *)(uintptr_t)base, 0, first - base);
    memset((void *)(uintptr_t)last, 0, end - last);
}

static const char *const kind_name[] = {"device", "pinned host", "managed"};

emu_status emu_memory_allocate(emu_device *device, emu_memory_kind kind, uint64_t size,
                               uint64_t *address, emu_fault *fault) {
    bool host = kind == EMU_MEMORY_HOST;
    emu_arena *arena = host ? &device->host_arena : &device->device_arena;
    uint64_t charge = host ? 0 : round_up(size ? size : 1, GRANULE);
    emu_status status = EMU_OK;
    pthread_mutex_lock(&device->memory_lock);
    int index = 0;
    if (size == 0 || size > arena->size || charge > device->spec.memory_bytes - device->used ||
        !(*address = find_hole(device, arena, size, &index)) ||
        !map_up_to(device, arena, *address + size + GRANULE) ||
        !insert_range(device, index, (emu_range){.base = *address, .size = size, .kind = kind})) {
        status =
            emu_fail(fault, EMU_OUT_OF_MEMORY,
                     "out of memory: %llu bytes of %s memory asked for, %llu of %llu bytes "
                     "of the emulated %s are in use",
                     (unsigned long long)size, kind_name[kind], (unsigned long long)device->used,
                     (unsigned long long)device->spec.memory_bytes, device->spec.name);
        *address = 0;
    } else {
        device->used += charge;
        if (kind == EMU_MEMORY_MANAGED)
            start_at_zero(*address, size);
    }
    pthread_mutex_unlock(&device->memory_lock);
    return status;
}

/* The poison takes the place of managed memory's own pages. */
static void map_poison(const emu_device *device, uint64_t first, uint64_t last) {
    for (uint64_t at = first; at < last; at += MAP_CHUNK) {
        uint64_t size = last - at < MAP_CHUNK ? last - at : MAP_CHUNK;
        if (mmap((void *)(uintptr_t)at, size, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, device->poison_file, 0) == MAP_FAILED)
            memset((void *)(uintptr_t)at, POISON, size);
    }
}

/* Brings the poison back: whole pages are dropped, and come again from the file. */
static void poison_again(const emu_device *device, const emu_range *range) {
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t first = round_up(range->base, page), end = range->base + range->size;
    uint64_t last = end / page * page;
    if (first >= last || range->shared) {
        memset((void *)(uintptr_t)range->base, POISON, range->size);
        return;
    }
    memset((void *)(uintptr_t)range->base, POISON, first - range->base);
    if (range->kind == EMU_MEMORY_MANAGED)
        map_poison(device, first, last);
    else
        madvise((void *)(uintptr_t)first, last - first, MADV_DONTNEED);
    memset((void *)(uintptr_t)last, POISON, end - last);
}

emu_status emu_memory_free(emu_device *device, uint64_t address, emu_fault *fault) {
    emu_status status = EMU_OK;
    pthread_mutex_lock(&device->memory_lock);
    int i = first_after(device, address);
    if (i == device->range_count || device->range[i].base != address ||
        device->range[i].registered || device->range[i].heap || device->range[i].attached) {
        status = emu_fail(fault, EMU_ILLEGAL_ADDRESS,
                          "0x%llx is not the start of an allocation that is in use",
                          (unsigned long long)address);
    } else {
        emu_range range = device->range[i];
        poison_again(device, &range);
        if (range.kind != EMU_MEMORY_HOST)
            device->used -= round_up(range.size, GRANULE);
        remove_range(device, i);
    }
    pthread_mutex_unlock(&device->memory_lock);
    return status;
}

emu_status emu_memory_register_host(emu_device *device, void *address, uint64_t size) {
    uint64_t base = (uint64_t)(uintptr_t)address;
    emu_status status = EMU_OK;
    pthread_mutex_lock(&device->memory_lock);
    int i = first_after(device, base);
    bool overlaps = i < device->range_count && device->range[i].base < base + size;
    if (size == 0 || base + size < base || overlaps)
        status = EMU_ILLEGAL_ADDRESS;
    else if (!insert_range(
                 device, i,
                 (emu_range){
                     .base = base, .size = size, .kind = EMU_MEMORY_HOST, .registered = true}))
        status = EMU_OUT_OF_MEMORY;
    pthread_mutex_unlock(&device->memory_lock);
    return status;
}

emu_status emu_memory_unregister_host(emu_device *device, void *address) {
    uint64_t base = (uint64_t)(uintptr_t)address;
    emu_status status = EMU_ILLEGAL_ADDRESS;
    pthread_mutex_lock(&device->memory_lock);
    int i = first_after(device, base);
    if (i < device->range_count && device->range[i].base == base && device->range[i].registered) {
        remove_range(device, i);
        status = EMU_OK;
    }
    pthread_mutex_unlock(&device->memory_lock);
    return status;
}

static bool find_own(emu_device *device, uint64_t address, emu_range *range) {
    pthread_mutex_lock(&device->memory_lock);
    int i = first_after(device, address);
    bool found = i < device->range_count && device->range[i].base <= address;
    if (found)
        *range = device->range[i];
    pthread_mutex_unlock(&device->memory_lock);
    return found;
}

/* A peer's host memory is known to all devices anyway. */
bool emu_memory_range(emu_device *device, uint64_t address, emu_range *range) {
    if (find_own(device, address, range))
        return true;
    for (int i = 0; i < device->peer_count; i++)
        if (find_own(device->peer[i], address, range) && range->kind != EMU_MEMORY_HOST &&
            !range->attached) /* who may reach that is said for each device */
            return true;
    return false;
}

bool emu_memory_find(const emu_device *device, uint64_t address, uint64_t *base, uint64_t *size,
                     emu_memory_kind *kind) {
    emu_range range;
    /* the lock is the only thing that is written */
    if (!find_own((emu_device *)(uintptr_t)device, address, &range))
        return false;
    if (base)
        *base = range.base;
    if (size)
        *size = range.size;
    if (kind)
        *kind = range.kind;
    return true;
}

uint64_t emu_memory_used(const emu_device *device) {
    emu_device *writable = (emu_device *)(uintptr_t)device;
    pthread_mutex_lock(&writable->memory_lock);
    uint64_t used = device->used;
    pthread_mutex_unlock(&writable->memory_lock);
    return used;
}

/* ---- Other devices' memory, and memory that the front door maps --------------------------------
 */

static int peer_at(const emu_device *device, const emu_device *peer) {
    for (int i = 0; i < device->peer_count; i++)
        if (device->peer[i] == peer)
            return i;
    return -1;
}

bool emu_peer_allow(emu_device *device, emu_device *peer) {
    if (device == peer || device->peer_count == EMU_MOST_PEERS || peer_at(device, peer) >= 0)
        return false;
    if (device->traffic && !emu_traffic_add_place(device->traffic, peer->device_arena.base,
                                                  peer->device_arena.size, true))
        return false;
    device->peer[device->peer_count++] = peer;
    return true;
}

bool emu_peer_forbid(emu_device *device, emu_device *peer) {
    int i = peer_at(device, peer);
    if (i < 0)
        return false;
    device->peer[i] = device->peer[--device->peer_count];
    if (device->traffic)
        emu_traffic_remove_places(device->traffic, peer->device_arena.base,
                                  peer->device_arena.size);
    return true;
}

emu_status emu_memory_attach(emu_device *device, uint64_t address, uint64_t size, bool remote) {
    emu_status status = EMU_OK;
    pthread_mutex_lock(&device->memory_lock);
    int i = first_after(device, address);
    bool overlaps = i < device->range_count && device->range[i].base < address + size;
    if (size == 0 || address + size < address || overlaps)
        status = EMU_ILLEGAL_ADDRESS;
    else if (device->traffic && !emu_traffic_add_place(device->traffic, address, size, remote))
        status = EMU_OUT_OF_MEMORY;
    else if (!insert_range(
                 device, i,
                 (emu_range){
                     .base = address, .size = size, .kind = EMU_MEMORY_DEVICE, .attached = true}))
        status = EMU_OUT_OF_MEMORY;
    pthread_mutex_unlock(&device->memory_lock);
    return status;
}

void emu_memory_detach(emu_device *device, uint64_t address, uint64_t size) {
    pthread_mutex_lock(&device->memory_lock);
    for (int i = first_after(device, address); i < device->range_count;) {
        const emu_range *range = &device->range[i];
        if (range->base >= address + size)
            break;
        if (range->attached && range->base >= address &&
            range->base + range->size <= address + size)
            remove_range(device, i);
        else
            i++;
    }
    if (device->traffic)
        emu_traffic_remove_places(device->traffic, address, size);
    pthread_mutex_unlock(&device->memory_lock);
}

/* Moves [FIRST, FIRST+BYTES) of the device's stretch, whole pages, into the file. */
static bool move_to_file(emu_device *device, uint64_t first, uint64_t bytes) {
    const uint64_t offset = first - device->device_arena.base;
    if (device->shared_file < 0) {
        device->shared_file = memfd_create("emulated-device-shared", MFD_CLOEXEC);
        if (device->shared_file < 0 ||
            ftruncate(device->shared_file, (off_t)device->device_arena.size) != 0)
            return false;
    }
    for (uint64_t done = 0; done < bytes;) {
        ssize_t n = pwrite(device->shared_file, (const void *)(uintptr_t)(first + done),
                           bytes - done, (off_t)(offset + done));
        if (n <= 0)
            return false;
        done += (uint64_t)n;
    }
    return mmap((void *)(uintptr_t)first, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
                device->shared_file, (off_t)offset) != MAP_FAILED;
}

emu_status emu_memory_share(emu_device *device, uint64_t address, int *file, uint64_t *offset,
                            uint64_t *pages, emu_fault *fault) {
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    emu_status status = EMU_OK;
    pthread_mutex_lock(&device->memory_lock);
    int i = first_after(device, address);
    emu_range *r = i < device->range_count ? &device->range[i] : NULL;
    if (!r || r->base != address || r->kind != EMU_MEMORY_DEVICE || r->heap || r->attached) {
        status = emu_fail(fault, EMU_ILLEGAL_ADDRESS, "0x%llx is not the start of device memory",
                          (unsigned long long)address);
    } else {
        uint64_t first = r->base / page * page, end = round_up(r->base + r->size, page);
        if (!r->shared && !move_to_file(device, first, end - first))
            status = emu_fail(fault, EMU_OUT_OF_MEMORY, "no file in memory to share %llu bytes by",
                              (unsigned long long)r->size);
        r->shared = r->shared || !status;
        *offset = first - device->device_arena.base;
        *pages = end - first;
        *file = device->shared_file;
    }
    pthread_mutex_unlock(&device->memory_lock);
    return status;
}

bool emu_memory_charge(emu_device *device, uint64_t bytes) {
    pthread_mutex_lock(&device->memory_lock);
    bool fits = bytes <= device->spec.memory_bytes - device->used;
    if (fits)
        device->used += bytes;
    pthread_mutex_unlock(&device->memory_lock);
    return fits;
}

void emu_memory_refund(emu_device *device, uint64_t bytes) {
    pthread_mutex_lock(&device->memory_lock);
    device->used -= bytes < device->used ? bytes : device->used;
    pthread_mutex_unlock(&device->memory_lock);
}

/* ---- device-side malloc ------------------------------------------------------------------------
 * Blocks are ranges like any other, so that running off one is seen; they differ in who may free
 * them and in the limit they share. */

void emu_device_set_heap_limit(emu_device *device, uint64_t bytes) {
    pthread_mutex_lock(&device->memory_lock);
    device->heap_limit = bytes;
    pthread_mutex_unlock(&device->memory_lock);
}

uint64_t emu_heap_allocate(emu_device *device, uint64_t size) {
    uint64_t address = 0, charge = round_up(size ? size : 1, GRANULE);
    emu_arena *arena = &device->device_arena;
    pthread_mutex_lock(&device->memory_lock);
    int index = 0;
    if (size && size <= device->heap_limit && device->heap_used + size <= device->heap_limit &&
        charge <= device->spec.memory_bytes - device->used &&
        (address = find_hole(device, arena, size, &index)) != 0) {
        emu_range range = {.base = address, .size = size, .kind = EMU_MEMORY_DEVICE, .heap = true};
        if (map_up_to(device, arena, address + size + GRANULE) &&
            insert_range(device, index, range)) {
            device->used += charge;
            device->heap_used += size;
        } else {
            address = 0;
        }
    }
    pthread_mutex_unlock(&device->memory_lock);
    return address;
}

bool emu_heap_free(emu_device *device, uint64_t address) {
    pthread_mutex_lock(&device->memory_lock);
    int i = first_after(device, address);
    bool found = address && i < device->range_count && device->range[i].base == address &&
                 device->range[i].heap;
    if (found) {
        emu_range range = device->range[i];
        poison_again(device, &range);
        device->used -= round_up(range.size, GRANULE);
        device->heap_used -= range.size;
        remove_range(device, i);
    }
    pthread_mutex_unlock(&device->memory_lock);
    return found || address == 0;
}
