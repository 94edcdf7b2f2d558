/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory and events that other processes open (cudaIpc*). A block that is exported lies in a file
 * in memory from then on, which the other process opens through /proc and maps: both must belong to
 * one user and see each other's processes. Work is done when the call that asks for it returns, so
 * an event of another process is one that has happened.
 */
#include "emulator/cudart/door.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef struct ipc_handle {
    char magic[8];
    int pid, file;
    uint64_t offset, pages; /* of the file: whole pages */
    uint64_t first, size;   /* of the block in them */
    int physical;
} ipc_handle;
_Static_assert(sizeof(ipc_handle) <= DOOR_IPC_BYTES, "a handle is a few words");

static const char memory_magic[8] = "emu mem", event_magic[8] = "emu evt";

/* Blocks of other processes that are open here. */
typedef struct opened {
    struct opened *next;
    ipc_handle handle;
    char *pages;
    int users;
} opened;

static struct {
    pthread_mutex_t lock;
    opened *all;
} ipc = {.lock = PTHREAD_MUTEX_INITIALIZER};

int door_ipc_export(void *handle, void *memory) {
    door_place place;
    emu_fault fault = {0};
    cudaError_t error = door_enter(NULL);
    if (!error && (!handle || !door_find_memory(memory, &place) || place.kind != EMU_MEMORY_DEVICE))
        error = cudaErrorInvalidValue;
    if (error)
        return (int)error;
    ipc_handle h = {.pid = getpid(), .size = place.size, .physical = place.device->physical};
    memcpy(h.magic, memory_magic, sizeof h.magic);
    pthread_mutex_lock(&place.device->run);
    emu_status status =
        emu_memory_share(place.device->emu, place.base, &h.file, &h.offset, &h.pages, &fault);
    pthread_mutex_unlock(&place.device->run);
    if (status != EMU_OK)
        return (int)(status == EMU_OUT_OF_MEMORY ? cudaErrorMemoryAllocation
                                                 : cudaErrorInvalidValue);
    h.first = place.base % (uint64_t)sysconf(_SC_PAGESIZE);
    memset(handle, 0, DOOR_IPC_BYTES);
    memcpy(handle, &h, sizeof h);
    return cudaSuccess;
}

static char *map_pages(const ipc_handle *h) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd/%d", h->pid, h->file);
    int file = open(path, O_RDWR | O_CLOEXEC);
    void *at =
        file < 0 ? MAP_FAILED
                 : mmap(NULL, h->pages, PROT_READ | PROT_WRITE, MAP_SHARED, file, (off_t)h->offset);
    if (file >= 0)
        close(file);
    return at == MAP_FAILED ? NULL : at;
}

/* It belongs to the current device, or is reached as a peer's memory is. */
static cudaError_t attach(door_device *d, const ipc_handle *h, char *pages) {
    pthread_mutex_lock(&d->run);
    emu_status status = emu_memory_attach(d->emu, (uint64_t)(uintptr_t)pages + h->first, h->size,
                                          d->physical != h->physical);
    pthread_mutex_unlock(&d->run);
    return door_error_of(status);
}

/* With the lock held. */
static cudaError_t open_block(door_device *d, const ipc_handle *h, opened **made) {
    opened *o = calloc(1, sizeof *o);
    char *pages = o ? map_pages(h) : NULL;
    cudaError_t error = pages ? attach(d, h, pages) : cudaErrorInvalidResourceHandle;
    if (!pages)
        door_say("error",
                 "memory of process %d cannot be opened: it has ended, or belongs to another user "
                 "or container",
                 h->pid);
    if (error) {
        if (pages)
            munmap(pages, h->pages);
        free(o);
        return error;
    }
    *o = (opened){.next = ipc.all, .handle = *h, .pages = pages};
    ipc.all = *made = o;
    return cudaSuccess;
}

static bool is_sane(const ipc_handle *h) {
    return memcmp(h->magic, memory_magic, sizeof h->magic) == 0 && h->size && h->pages &&
           h->first < h->pages && h->size <= h->pages - h->first;
}

int door_ipc_import(void **memory, const void *handle) {
    door_device *d;
    ipc_handle h;
    cudaError_t error = door_enter(&d);
    if (!error && (!memory || !handle))
        error = cudaErrorInvalidValue;
    if (error)
        return (int)error;
    memcpy(&h, handle, sizeof h);
    if (!is_sane(&h))
        return cudaErrorInvalidResourceHandle;
    if (h.pid == getpid())
        return 201; /* as the real one refuses what is its own: an invalid context */
    pthread_mutex_lock(&ipc.lock);
    opened *o = ipc.all;
    while (o && memcmp(&o->handle, &h, sizeof h) != 0)
        o = o->next;
    if (!o)
        error = open_block(d, &h, &o);
    if (!error) {
        o->users++;
        *memory = o->pages + h.first;
    }
    pthread_mutex_unlock(&ipc.lock);
    return (int)error;
}

static void detach_everywhere(const opened *o) {
    for (int i = 0; i < door.device_count; i++) {
        door_device *d = &door.device[i];
        pthread_mutex_lock(&d->run);
        if (d->emu)
            emu_memory_detach(d->emu, (uint64_t)(uintptr_t)o->pages, o->handle.pages);
        pthread_mutex_unlock(&d->run);
    }
}

int door_ipc_close(void *memory) {
    cudaError_t error = door_enter(NULL);
    if (error)
        return (int)error;
    pthread_mutex_lock(&ipc.lock);
    opened **link = &ipc.all;
    while (*link && (*link)->pages + (*link)->handle.first != (char *)memory)
        link = &(*link)->next;
    opened *o = *link;
    bool last = o && --o->users == 0;
    if (last) {
        *link = o->next;
        detach_everywhere(o);
        munmap(o->pages, o->handle.pages);
        free(o);
    }
    pthread_mutex_unlock(&ipc.lock);
    return o ? cudaSuccess : cudaErrorInvalidValue;
}

/* ---- The runtime's functions ------------------------------------------------------------------
 */

typedef struct cudaIpcMemHandle_t {
    char bytes[DOOR_IPC_BYTES];
} cudaIpcMemHandle_t, cudaIpcEventHandle_t;

DOOR_EXPORT(cudaError_t, cudaIpcGetMemHandle, cudaIpcMemHandle_t *handle, void *memory) {
    return door_return((cudaError_t)door_ipc_export(handle, memory));
}

DOOR_EXPORT(cudaError_t, cudaIpcOpenMemHandle, void **memory, cudaIpcMemHandle_t handle,
            unsigned flags) {
    (void)flags; /* peer access as it is needed: it is always there */
    return door_return((cudaError_t)door_ipc_import(memory, &handle));
}

DOOR_EXPORT(cudaError_t, cudaIpcCloseMemHandle, void *memory) {
    return door_return((cudaError_t)door_ipc_close(memory));
}

DOOR_EXPORT(cudaError_t, cudaIpcGetEventHandle, cudaIpcEventHandle_t *handle, cudaEvent_t event) {
    enum { INTERPROCESS = 4 };
    ipc_handle h = {.pid = getpid()};
    cudaError_t error = door_enter(NULL);
    const door_event *e = error ? NULL : door_find_event(event);
    if (!error && !e)
        error = cudaErrorInvalidResourceHandle;
    if (!error && (!handle || !(e->flags & INTERPROCESS)))
        error = cudaErrorInvalidValue;
    if (error)
        return door_return(error);
    memcpy(h.magic, event_magic, sizeof h.magic);
    memset(handle, 0, sizeof *handle);
    memcpy(handle, &h, sizeof h);
    return cudaSuccess;
}

__attribute__((visibility("default"))) cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event,
                                                                            unsigned flags);

DOOR_EXPORT(cudaError_t, cudaIpcOpenEventHandle, cudaEvent_t *event, cudaIpcEventHandle_t handle) {
    cudaError_t error = door_enter(NULL);
    if (!error && !event)
        error = cudaErrorInvalidValue;
    if (!error && memcmp(&handle, event_magic, sizeof event_magic) != 0)
        error = cudaErrorInvalidResourceHandle;
    return error ? door_return(error) : cudaEventCreateWithFlags(event, cudaEventDisableTiming);
}
