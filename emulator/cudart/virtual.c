/* SPDX-License-Identifier: Apache-2.0
 *
 * Virtual memory: virtual.h has the contract.
 *
 * Locks: `space.lock` is taken before a device's `run`, and never while that or door.lock is held.
 */
#include "emulator/cudart/virtual.h"
#include "emulator/cudart/door.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define GRANULE ((size_t)2 << 20)
enum { DEVICE = 1, PINNED = 1, FILE_DESCRIPTOR = 1, READ = 1, READ_AND_WRITE = 3 };

/* Behind the memory itself, for whoever imports the file. */
typedef struct label {
    char magic[16];
    uint64_t size;
    int physical; /* the device that it is on */
} label;
static const char magic[16] = "emulated memory";

typedef struct memory {
    struct memory *next;
    int file;
    size_t size;
    door_device *device;
    int handles, mappings; /* that keep it */
    emu_allocation_properties properties;
} memory;

typedef struct mapping {
    struct mapping *next; /* by address */
    uint64_t base;
    size_t size;
    memory *memory;
    int access[DOOR_DEVICES];
} mapping;

typedef struct stretch { /* reserved addresses */
    struct stretch *next;
    uint64_t base;
    size_t size;
} stretch;

static struct {
    pthread_mutex_t lock;
    memory *memories;
    mapping *mappings;
    stretch *stretches;
} space = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool is_whole(size_t size) {
    return size && size % GRANULE == 0;
}

/* ---- Memory -----------------------------------------------------------------------------------
 */

static memory *find_memory(uint64_t handle) {
    memory *m = space.memories;
    while (m && (uint64_t)(uintptr_t)m != handle)
        m = m->next;
    return m;
}

/* When neither a handle nor a mapping keeps it any more. With the lock held. */
static void drop(memory *m) {
    if (m->handles || m->mappings)
        return;
    memory **link = &space.memories;
    while (*link != m)
        link = &(*link)->next;
    *link = m->next;
    if (m->device->emu)
        emu_memory_refund(m->device->emu, m->size);
    close(m->file);
    free(m);
}

static void keep(memory *m, uint64_t *handle) {
    pthread_mutex_lock(&space.lock);
    m->next = space.memories;
    space.memories = m;
    pthread_mutex_unlock(&space.lock);
    *handle = (uint64_t)(uintptr_t)m;
}

static cudaError_t check(const emu_allocation_properties *p, door_device **device) {
    cudaError_t error = door_enter_query();
    if (error)
        return error;
    if (!p || p->type != PINNED)
        return cudaErrorInvalidValue;
    if (p->location.type != DEVICE || (p->handle_types & ~FILE_DESCRIPTOR))
        return cudaErrorNotSupported;
    if (p->location.id < 0 || p->location.id >= door.device_count)
        return cudaErrorInvalidDevice;
    *device = &door.device[p->location.id];
    return cudaSuccess;
}

static int make_file(size_t size, const door_device *d) {
    label l = {.size = size, .physical = d->physical};
    memcpy(l.magic, magic, sizeof magic);
    int file = memfd_create("emulated-memory", MFD_CLOEXEC);
    if (file >= 0 && (ftruncate(file, (off_t)(size + sizeof l)) != 0 ||
                      pwrite(file, &l, sizeof l, (off_t)size) != (ssize_t)sizeof l)) {
        close(file);
        file = -1;
    }
    return file;
}

static int create(uint64_t *handle, size_t size, const emu_allocation_properties *p) {
    door_device *d;
    cudaError_t error = check(p, &d);
    if (!error && (!handle || !is_whole(size)))
        error = cudaErrorInvalidValue;
    if (!error)
        error = door_open_device(d, false);
    if (error)
        return (int)error;
    if (!emu_memory_charge(d->emu, size))
        return (int)cudaErrorMemoryAllocation;
    memory *m = calloc(1, sizeof *m);
    int file = m ? make_file(size, d) : -1;
    if (file < 0) {
        emu_memory_refund(d->emu, size);
        free(m);
        return (int)cudaErrorMemoryAllocation;
    }
    *m = (memory){.file = file, .size = size, .device = d, .handles = 1, .properties = *p};
    keep(m, handle);
    return cudaSuccess;
}

static int release(uint64_t handle) {
    pthread_mutex_lock(&space.lock);
    memory *m = find_memory(handle);
    bool held = m && m->handles > 0;
    if (held) {
        m->handles--;
        drop(m);
    }
    pthread_mutex_unlock(&space.lock);
    return held ? cudaSuccess : cudaErrorInvalidValue;
}

static int properties(emu_allocation_properties *p, uint64_t handle) {
    pthread_mutex_lock(&space.lock);
    const memory *m = find_memory(handle);
    if (m && p)
        *p = m->properties;
    pthread_mutex_unlock(&space.lock);
    return m && p ? cudaSuccess : cudaErrorInvalidValue;
}

static int granularity(size_t *bytes, const emu_allocation_properties *p) {
    door_device *d;
    cudaError_t error = check(p, &d);
    if (!error && !bytes)
        error = cudaErrorInvalidValue;
    if (!error)
        *bytes = GRANULE;
    return (int)error;
}

/* ---- Between processes ------------------------------------------------------------------------
 */

static int export_handle(void *shareable, uint64_t handle, int type) {
    int file = -1;
    if (type != FILE_DESCRIPTOR)
        return cudaErrorNotSupported;
    pthread_mutex_lock(&space.lock);
    const memory *m = find_memory(handle);
    if (m && shareable && (m->properties.handle_types & FILE_DESCRIPTOR))
        file = dup(m->file);
    pthread_mutex_unlock(&space.lock);
    if (file < 0)
        return cudaErrorInvalidValue;
    *(int *)shareable = file;
    return cudaSuccess;
}

/* The device that the label names, if this process sees it; NULL: it is none of ours. */
static door_device *read_label(int file, label *l) {
    struct stat s;
    if (fstat(file, &s) != 0 || s.st_size < (off_t)sizeof *l ||
        pread(file, l, sizeof *l, s.st_size - (off_t)sizeof *l) != (ssize_t)sizeof *l ||
        memcmp(l->magic, magic, sizeof magic) != 0 || l->size + sizeof *l != (size_t)s.st_size)
        return NULL;
    for (int i = 0; i < door.device_count; i++)
        if (door.device[i].physical == l->physical)
            return &door.device[i];
    return NULL;
}

static int import_handle(uint64_t *handle, void *shareable, int type) {
    label l;
    cudaError_t error = door_enter_query();
    if (!error && type != FILE_DESCRIPTOR)
        error = cudaErrorNotSupported;
    if (!error && !handle)
        error = cudaErrorInvalidValue;
    if (error)
        return (int)error;
    int file = dup((int)(intptr_t)shareable);
    door_device *d = file < 0 ? NULL : read_label(file, &l);
    memory *m = d ? calloc(1, sizeof *m) : NULL;
    error = !d ? cudaErrorInvalidValue : m ? door_open_device(d, false) : cudaErrorMemoryAllocation;
    if (!error && !emu_memory_charge(d->emu, l.size)) /* its owner's too, as far as we can tell */
        error = cudaErrorMemoryAllocation;
    if (error) {
        if (file >= 0)
            close(file);
        free(m);
        return (int)error;
    }
    *m = (memory){.file = file, .size = l.size, .device = d, .handles = 1};
    m->properties = (emu_allocation_properties){
        .type = PINNED, .handle_types = FILE_DESCRIPTOR, .location = {DEVICE, d->index}};
    keep(m, handle);
    return cudaSuccess;
}

/* ---- Addresses --------------------------------------------------------------------------------
 */

static int reserve(uint64_t *address, size_t size, size_t alignment, uint64_t wish) {
    cudaError_t error = door_enter_query();
    if (error)
        return (int)error;
    if (!address || !is_whole(size) || (alignment & (alignment - 1)))
        return cudaErrorInvalidValue;
    if (alignment < GRANULE)
        alignment = GRANULE;
    stretch *s = calloc(1, sizeof *s);
    char *at = s && size <= SIZE_MAX - alignment
                   ? mmap((void *)(uintptr_t)wish, size + alignment, PROT_NONE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
                   : MAP_FAILED;
    if (at == MAP_FAILED) {
        free(s);
        return cudaErrorMemoryAllocation;
    }
    size_t before = (alignment - (uintptr_t)at % alignment) % alignment;
    if (before)
        munmap(at, before);
    munmap(at + before + size, alignment - before);
    *s = (stretch){.base = (uint64_t)(uintptr_t)(at + before), .size = size};
    pthread_mutex_lock(&space.lock);
    s->next = space.stretches;
    space.stretches = s;
    pthread_mutex_unlock(&space.lock);
    *address = s->base;
    return cudaSuccess;
}

static bool overlaps(const mapping *m, uint64_t address, size_t size) {
    return m->base < address + size && address < m->base + m->size;
}

static bool is_mapped(uint64_t address, size_t size) {
    for (const mapping *m = space.mappings; m; m = m->next)
        if (overlaps(m, address, size))
            return true;
    return false;
}

static int release_address(uint64_t address, size_t size) {
    int error = cudaErrorInvalidValue;
    pthread_mutex_lock(&space.lock);
    stretch **link = &space.stretches, *found;
    while (*link && (*link)->base != address)
        link = &(*link)->next;
    found = *link;
    if (found && found->size == size && !is_mapped(address, size)) {
        *link = found->next;
        munmap((void *)(uintptr_t)address, size);
        free(found);
        error = cudaSuccess;
    }
    pthread_mutex_unlock(&space.lock);
    return error;
}

static bool is_reserved(uint64_t address, size_t size) {
    for (const stretch *s = space.stretches; s; s = s->next)
        if (address >= s->base && size <= s->size && address - s->base <= s->size - size)
            return true;
    return false;
}

/* ---- Mappings ---------------------------------------------------------------------------------
 */

/* With the lock held. */
static cudaError_t add_mapping(uint64_t address, size_t size, memory *m) {
    mapping *made = calloc(1, sizeof *made);
    if (!made || mmap((void *)(uintptr_t)address, size, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_FIXED, m->file, 0) == MAP_FAILED) {
        free(made);
        return cudaErrorMemoryAllocation;
    }
    mapping **link = &space.mappings;
    while (*link && (*link)->base < address)
        link = &(*link)->next;
    *made = (mapping){.next = *link, .base = address, .size = size, .memory = m};
    *link = made;
    m->mappings++;
    return cudaSuccess;
}

static int map(uint64_t address, size_t size, size_t offset, uint64_t handle) {
    cudaError_t error = cudaErrorInvalidValue;
    pthread_mutex_lock(&space.lock);
    memory *m = find_memory(handle);
    if (m && !offset && is_whole(size) && size <= m->size && address % GRANULE == 0 &&
        is_reserved(address, size) && !is_mapped(address, size))
        error = add_mapping(address, size, m);
    pthread_mutex_unlock(&space.lock);
    return (int)error;
}

/* Whether [ADDRESS, ADDRESS+SIZE) is made of whole mappings, without gaps. */
static bool covers(uint64_t address, size_t size) {
    uint64_t at = address, end = address + size;
    for (const mapping *m = space.mappings; m && at < end; m = m->next)
        if (m->base == at && m->base + m->size <= end)
            at += m->size;
    return size && at == end;
}

static cudaError_t give_access(mapping *m, door_device *d, int flags) {
    bool had = m->access[d->index] != 0, has = flags != 0;
    cudaError_t error = has ? door_open_device(d, false) : cudaSuccess;
    if (error || had == has) {
        m->access[d->index] = error ? m->access[d->index] : flags;
        return error;
    }
    pthread_mutex_lock(&d->run);
    if (has)
        error = door_error_of(emu_memory_attach(d->emu, m->base, m->size, m->memory->device != d));
    else if (d->emu)
        emu_memory_detach(d->emu, m->base, m->size);
    pthread_mutex_unlock(&d->run);
    if (!error)
        m->access[d->index] = flags;
    return error;
}

static int unmap(uint64_t address, size_t size) {
    pthread_mutex_lock(&space.lock);
    bool whole = covers(address, size);
    for (mapping **link = &space.mappings; whole && *link;) {
        mapping *m = *link;
        if (!overlaps(m, address, size)) {
            link = &m->next;
            continue;
        }
        for (int i = 0; i < door.device_count; i++)
            give_access(m, &door.device[i], 0);
        mmap((void *)(uintptr_t)m->base, m->size, PROT_NONE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
        *link = m->next;
        m->memory->mappings--;
        drop(m->memory);
        free(m);
    }
    pthread_mutex_unlock(&space.lock);
    return whole ? cudaSuccess : cudaErrorInvalidValue;
}

static cudaError_t check_access(const emu_access *a) {
    if (a->location.type != DEVICE)
        return cudaErrorNotSupported;
    if (a->location.id < 0 || a->location.id >= door.device_count)
        return cudaErrorInvalidDevice;
    return a->flags == 0 || a->flags == READ || a->flags == READ_AND_WRITE ? cudaSuccess
                                                                           : cudaErrorInvalidValue;
}

static int set_access(uint64_t address, size_t size, const emu_access *list, size_t count) {
    cudaError_t error = door_enter_query();
    if (!error && (!list || !count))
        error = cudaErrorInvalidValue;
    for (size_t i = 0; !error && i < count; i++)
        error = check_access(&list[i]);
    if (error)
        return (int)error;
    pthread_mutex_lock(&space.lock);
    if (!covers(address, size))
        error = cudaErrorInvalidValue;
    for (mapping *m = space.mappings; m && !error; m = m->next)
        for (size_t i = 0; i < count && !error && overlaps(m, address, size); i++)
            error = give_access(m, &door.device[list[i].location.id], list[i].flags);
    pthread_mutex_unlock(&space.lock);
    return (int)error;
}

static mapping *mapping_at(uint64_t address) {
    mapping *m = space.mappings;
    while (m && !overlaps(m, address, 1))
        m = m->next;
    return m;
}

static int get_access(uint64_t *flags, const emu_location *location, uint64_t address) {
    const emu_access wanted = {.location = location ? *location : (emu_location){0}};
    cudaError_t error = flags && location ? check_access(&wanted) : cudaErrorInvalidValue;
    if (error)
        return (int)error;
    pthread_mutex_lock(&space.lock);
    const mapping *m = mapping_at(address);
    if (m)
        *flags = (uint64_t)m->access[location->id];
    pthread_mutex_unlock(&space.lock);
    return m ? cudaSuccess : cudaErrorInvalidValue;
}

static int retain(uint64_t *handle, uint64_t address) {
    pthread_mutex_lock(&space.lock);
    const mapping *m = handle ? mapping_at(address) : NULL;
    if (m) {
        m->memory->handles++;
        *handle = (uint64_t)(uintptr_t)m->memory;
    }
    pthread_mutex_unlock(&space.lock);
    return m ? cudaSuccess : cudaErrorInvalidValue;
}

/* ---- For the rest of the door -----------------------------------------------------------------
 */

static bool is_accessible(const mapping *m) {
    for (int i = 0; i < door.device_count; i++)
        if (m->access[i])
            return true;
    return false;
}

bool door_virtual_find(uint64_t address, door_place *place) {
    uint64_t end = 0;
    bool found = false;
    pthread_mutex_lock(&space.lock);
    for (const mapping *m = space.mappings; m; m = m->next) {
        if (!is_accessible(m))
            continue;
        if (m->base != end || !end) { /* another run begins */
            if (found)
                break;
            *place = (door_place){m->memory->device, EMU_MEMORY_DEVICE, m->base, 0};
        }
        end = m->base + m->size;
        place->size = end - place->base;
        if (overlaps(m, address, 1)) {
            found = true;
            place->device = m->memory->device;
        }
    }
    pthread_mutex_unlock(&space.lock);
    return found;
}

void door_virtual_forget(door_device *device) {
    pthread_mutex_lock(&space.lock);
    for (mapping *m = space.mappings; m; m = m->next)
        give_access(m, device, 0);
    pthread_mutex_unlock(&space.lock);
}

const emu_virtual door_virtual = {.reserve = reserve,
                                  .release_address = release_address,
                                  .create = create,
                                  .release = release,
                                  .map = map,
                                  .unmap = unmap,
                                  .set_access = set_access,
                                  .get_access = get_access,
                                  .granularity = granularity,
                                  .retain = retain,
                                  .properties = properties,
                                  .export_handle = export_handle,
                                  .import_handle = import_handle};
