/* SPDX-License-Identifier: Apache-2.0
 *
 * Copies and fills. All of them are boxes of bytes (a plain copy is a box of one row), checked
 * against the allocations and arrays they touch, done at once, and placed on the virtual clock:
 * over the bus at its rate in the device's data, inside a device at DRAM's rate, both ways.
 */
#include "emulator/cudart/abi_graph.h"
#include "emulator/cudart/array.h"
#include "emulator/cudart/door.h"
#include <stdint.h>
#include <string.h>

typedef struct side {
    char *base;
    size_t pitch, slice; /* bytes between rows, between layers */
    bool known;          /* memory that a device knows of */
    door_place place;
    const door_array *array; /* it is this array's, from byte X of row Y of slice Z on */
    size_t x, y, z;
} side;

typedef struct box {
    size_t width, height, depth;
} box;

static uint64_t volume(box b) {
    return (uint64_t)b.width * b.height * b.depth;
}

/* Bytes from the first to behind the last of a box laid out as S says; false: too many to be. */
static bool extent_of(const side *s, box b, uint64_t *extent) {
    uint64_t rows, layers;
    return !__builtin_mul_overflow((uint64_t)s->pitch, b.height - 1, &rows) &&
           !__builtin_mul_overflow((uint64_t)s->slice, b.depth - 1, &layers) &&
           !__builtin_add_overflow(rows, layers, extent) &&
           !__builtin_add_overflow(*extent, (uint64_t)b.width, extent);
}

/* Whether there are COUNT of SIZE from FROM on. */
static bool fits(size_t from, size_t count, uint64_t size) {
    return from <= size && count <= size - from;
}

static bool locate_in_array(side *s, box b) {
    const emu_image *i = door_array_image(s->array);
    const emu_texel texel = emu_array_get_spec(s->array->array)->texel;
    s->known = true;
    s->place = (door_place){s->array->device, EMU_MEMORY_DEVICE, emu_array_address(s->array->array),
                            emu_array_bytes(s->array->array)};
    return fits(s->x, b.width, (uint64_t)i->width * emu_texel_bytes(texel)) &&
           fits(s->y, b.height, i->height) && fits(s->z, b.depth, i->depth);
}

/* Finds out where a side is, and that it lies inside one allocation if it is in any. */
static bool locate(side *s, box b) {
    if (s->array)
        return locate_in_array(s, b);
    uint64_t extent, at = (uint64_t)(uintptr_t)s->base;
    s->known = door_find_memory(s->base, &s->place);
    return extent_of(s, b, &extent) && (!s->known || extent <= s->place.base + s->place.size - at);
}

static bool on_device(const side *s) {
    return s->known && s->place.kind != EMU_MEMORY_HOST;
}

/* Whether a side may be what a copy's kind says of it. Pinned memory is both. */
static bool allowed(const side *s, bool wants_device) {
    if (wants_device)
        return s->known;
    return !s->known || s->place.kind != EMU_MEMORY_DEVICE;
}

static bool kind_holds(const side *to, const side *from, cudaMemcpyKind kind) {
    switch (kind) {
    case cudaMemcpyHostToHost:
        return allowed(to, false) && allowed(from, false);
    case cudaMemcpyHostToDevice:
        return allowed(to, true) && allowed(from, false);
    case cudaMemcpyDeviceToHost:
        return allowed(to, false) && allowed(from, true);
    case cudaMemcpyDeviceToDevice:
        return allowed(to, true) && allowed(from, true);
    case cudaMemcpyDefault:
        return true;
    }
    return false;
}

/* Between arrays a piece of a row at a time. */
static void move_between(const side *to, const side *from, size_t y, size_t z, size_t width) {
    char piece[1024];
    for (size_t at = 0, n; at < width; at += n) {
        n = width - at < sizeof piece ? width - at : sizeof piece;
        emu_image_read(door_array_image(from->array), from->x + at, (uint32_t)(from->y + y),
                       (uint32_t)(from->z + z), piece, n);
        emu_image_write(door_array_image(to->array), to->x + at, (uint32_t)(to->y + y),
                        (uint32_t)(to->z + z), piece, n);
    }
}

static void move_row(const side *to, const side *from, size_t y, size_t z, size_t width) {
    char *target = to->base + z * to->slice + y * to->pitch;
    const char *source = from->base + z * from->slice + y * from->pitch;
    if (to->array && from->array)
        move_between(to, from, y, z, width);
    else if (to->array)
        emu_image_write(door_array_image(to->array), to->x, (uint32_t)(to->y + y),
                        (uint32_t)(to->z + z), source, width);
    else if (from->array)
        emu_image_read(door_array_image(from->array), from->x, (uint32_t)(from->y + y),
                       (uint32_t)(from->z + z), target, width);
    else
        memmove(target, source, width);
}

static void move_box(const side *to, const side *from, box b) {
    for (size_t z = 0; z < b.depth; z++)
        for (size_t y = 0; y < b.height; y++)
            move_row(to, from, y, z, b.width);
}

/* ---- The clock --------------------------------------------------------------------------------
 */

typedef struct transfer {
    const char *kind;
    double *engine_s;
    double rate; /* bytes/s; 0 not known */
} transfer;

static transfer transfer_of(door_device *d, const side *to, const side *from) {
    double bus = d->profile.pcie_bytes_per_s, dram = d->profile.spec.dram_bytes_per_s;
    if (on_device(to) && on_device(from))
        return to->place.device == from->place.device ? (transfer){"DtoD", &d->compute_s, dram / 2}
                                                      : (transfer){"PtoP", &d->to_host_s, bus};
    if (on_device(to))
        return (transfer){"HtoD", &d->to_device_s, bus};
    if (on_device(from))
        return (transfer){"DtoH", &d->to_host_s, bus};
    return (transfer){"HtoH", NULL, 0};
}

/* A rate that is not known leaves the latency alone; the counts file's device record shows it. */
static double duration(uint64_t bytes, double rate) {
    return DOOR_COPY_LATENCY_S + (rate > 0 ? (double)bytes / rate : 0);
}

/* FROM is NULL for a fill with VALUE. */
static void tell_copy(const door_stream *stream, const transfer *t, const side *to,
                      const side *from, int value, const emu_counts_copy *copy, bool wait) {
    const emu_observer *observer = door_observer();
    if (!observer || !observer->copy)
        return;
    emu_copy_event e = {.kind = t->kind,
                        .to_known = to->known,
                        .to_device = -1,
                        .from_device = -1,
                        .value = value,
                        .waits = wait,
                        .correlation = door_api_correlation(),
                        .device = stream->device->index,
                        .stream = stream->id,
                        .bytes = copy->bytes,
                        .start_s = copy->start_s,
                        .end_s = copy->start_s + copy->time_s,
                        .graph = copy->graph,
                        .node = copy->node};
    if (to->known) {
        e.to = to->place.kind;
        e.to_device = to->place.device->index;
        e.to_array = to->array != NULL;
    }
    if (from && from->known) {
        e.from_known = true;
        e.from = from->place.kind;
        e.from_device = from->place.device->index;
        e.from_array = from->array != NULL;
    }
    observer->copy(&e);
}

static void account(door_stream *stream, transfer t, const side *to, const side *from, int value,
                    uint64_t bytes, bool wait) {
    double time = duration(bytes, t.rate);
    double start = door_schedule(stream, t.engine_s, time, wait);
    const emu_counts_copy copy = {.kind = t.kind,
                                  .device = stream->device->index,
                                  .stream = stream->id,
                                  .bytes = bytes,
                                  .start_s = start,
                                  .time_s = time,
                                  .graph = door_self.graph,
                                  .node = door_self.node};
    emu_counts_copy_record(door.file, &copy);
    tell_copy(stream, &t, to, from, value, &copy, wait);
}

/* ---- Copies -----------------------------------------------------------------------------------
 */

/* A side as a graph's node keeps it. */
static cudaPitchedPtr pitched(const side *s, box b) {
    size_t pitch = s->pitch ? s->pitch : b.width;
    return (cudaPitchedPtr){s->base, pitch, b.width, s->slice ? s->slice / pitch : b.height};
}

/* The bytes of an element of the arrays that a copy is of; 1: it is of none. */
static size_t element_of(const side *to, const side *from) {
    const door_array *a = to->array ? to->array : from->array;
    return a ? emu_texel_bytes(emu_array_get_spec(a->array)->texel) : 1;
}

static cudaMemcpy3DParms captured_copy(const side *to, const side *from, box b,
                                       cudaMemcpyKind kind) {
    const size_t element = element_of(to, from);
    cudaMemcpy3DParms p = {.kind = kind, .extent = {b.width / element, b.height, b.depth}};
    if (from->array) {
        p.srcArray = (void *)(uintptr_t)from->array;
        p.srcPos = (cudaPos){from->x / element, from->y, from->z};
    } else {
        p.srcPtr = pitched(from, b);
    }
    if (to->array) {
        p.dstArray = (void *)(uintptr_t)to->array;
        p.dstPos = (cudaPos){to->x / element, to->y, to->z};
    } else {
        p.dstPtr = pitched(to, b);
    }
    return p;
}

static cudaError_t copy_box(side to, side from, box b, cudaMemcpyKind kind, cudaStream_t handle,
                            bool wait) {
    door_device *d;
    cudaError_t error = door_enter(&d);
    if (error)
        return error;
    door_stream *stream = door_find_stream(handle, d);
    if (!stream)
        return cudaErrorInvalidResourceHandle;
    if ((unsigned)kind > cudaMemcpyDefault)
        return cudaErrorInvalidMemcpyDirection;
    if (volume(b) == 0)
        return cudaSuccess;
    if (!to.base || !from.base || !locate(&to, b) || !locate(&from, b) ||
        !kind_holds(&to, &from, kind))
        return cudaErrorInvalidValue;
    if ((wait && (error = door_unsafe())) || (error = door_enqueue(stream)))
        return error;
    if (stream->capture) {
        const cudaMemcpy3DParms captured = captured_copy(&to, &from, b, kind);
        return door_capture_copy(stream, &captured);
    }
    move_box(&to, &from, b);
    account(stream, transfer_of(d, &to, &from), &to, &from, 0, volume(b), wait);
    if (wait)
        door_drain_printf(d);
    return cudaSuccess;
}

static cudaError_t copy_bytes(void *to, const void *from, size_t size, cudaMemcpyKind kind,
                              cudaStream_t stream, bool wait) {
    return copy_box((side){.base = to}, (side){.base = (char *)(uintptr_t)from}, (box){size, 1, 1},
                    kind, stream, wait);
}

static cudaError_t copy_rows(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                             size_t width, size_t height, cudaMemcpyKind kind, cudaStream_t stream,
                             bool wait) {
    if (height > 1 && (width > to_pitch || width > from_pitch))
        return cudaErrorInvalidPitchValue;
    return copy_box((side){.base = to, .pitch = to_pitch},
                    (side){.base = (char *)(uintptr_t)from, .pitch = from_pitch},
                    (box){width, height, 1}, kind, stream, wait);
}

static side side_of(const cudaPitchedPtr *p, const cudaPos *at) {
    char *base = p->ptr;
    size_t slice = p->pitch * p->ysize;
    return (side){.base = base ? base + at->z * slice + at->y * p->pitch + at->x : NULL,
                  .pitch = p->pitch,
                  .slice = slice};
}

/* A side in an array, whose positions are elements. */
static bool array_side(const void *handle, const cudaPos *at, side *s) {
    const door_array *a = door_find_array(handle, false);
    if (!a)
        return false;
    const size_t element = emu_texel_bytes(emu_array_get_spec(a->array)->texel);
    *s = (side){
        .base = (char *)(uintptr_t)emu_array_address(a->array), .array = a, .y = at->y, .z = at->z};
    return !__builtin_mul_overflow(at->x, element, &s->x);
}

cudaError_t door_copy_3d(const cudaMemcpy3DParms *p, cudaStream_t stream, bool wait) {
    if (!p)
        return cudaErrorInvalidValue;
    side to = side_of(&p->dstPtr, &p->dstPos), from = side_of(&p->srcPtr, &p->srcPos);
    if ((p->dstArray && !array_side(p->dstArray, &p->dstPos, &to)) ||
        (p->srcArray && !array_side(p->srcArray, &p->srcPos, &from)))
        return cudaErrorInvalidResourceHandle;
    const size_t element = element_of(&to, &from);
    box b = {p->extent.width, p->extent.height, p->extent.depth};
    if ((to.array && from.array && element_of(&from, &from) != element) ||
        __builtin_mul_overflow(b.width, element, &b.width))
        return cudaErrorInvalidValue;
    return copy_box(to, from, b, p->kind, stream, wait);
}

cudaError_t door_copy(const cudaMemcpy3DParms *copy, cudaStream_t stream) {
    return door_copy_3d(copy, stream, false);
}

/* A function that waits, with the two default streams that code may be compiled for. TOLD: its
 * arguments, for observers. */
#define EXPORT_SYNC_TOLD(name, told, call, ...)                                                    \
    DOOR_EXPORT(cudaError_t, name, __VA_ARGS__) {                                                  \
        const cudaStream_t stream = NULL;                                                          \
        return door_return(DOOR_CALL_WITH(__func__, told, call));                                  \
    }                                                                                              \
    DOOR_EXPORT(cudaError_t, name##_ptds, __VA_ARGS__) {                                           \
        const cudaStream_t stream = cudaStreamPerThread;                                           \
        return door_return(DOOR_CALL_WITH(__func__, told, call));                                  \
    }
#define EXPORT_SYNC(name, call, ...) EXPORT_SYNC_TOLD(name, NULL, call, __VA_ARGS__)

/* A function with a stream as its last argument, likewise. */
#define EXPORT_ASYNC_TOLD(name, told, call, ...)                                                   \
    DOOR_EXPORT(cudaError_t, name, __VA_ARGS__, cudaStream_t stream) {                             \
        return door_return(DOOR_CALL_WITH(__func__, told, call));                                  \
    }                                                                                              \
    DOOR_EXPORT(cudaError_t, name##_ptsz, __VA_ARGS__, cudaStream_t stream) {                      \
        stream = door_per_thread(stream);                                                          \
        return door_return(DOOR_CALL_WITH(__func__, told, call));                                  \
    }
#define EXPORT_ASYNC(name, call, ...) EXPORT_ASYNC_TOLD(name, NULL, call, __VA_ARGS__)

/* Arguments in the order of the call, as callbacks get them. */
typedef struct copy_arguments {
    void *to;
    const void *from;
    size_t size;
    cudaMemcpyKind kind;
    cudaStream_t stream;
} copy_arguments;

typedef struct fill_arguments {
    void *to;
    int value;
    size_t size;
    cudaStream_t stream;
} fill_arguments;

EXPORT_SYNC_TOLD(cudaMemcpy, (&(copy_arguments){to, from, size, kind, stream}),
                 copy_bytes(to, from, size, kind, stream, true), void *to, const void *from,
                 size_t size, cudaMemcpyKind kind)
EXPORT_ASYNC_TOLD(cudaMemcpyAsync, (&(copy_arguments){to, from, size, kind, stream}),
                  copy_bytes(to, from, size, kind, stream, false), void *to, const void *from,
                  size_t size, cudaMemcpyKind kind)
EXPORT_SYNC(cudaMemcpy2D,
            copy_rows(to, to_pitch, from, from_pitch, width, height, kind, stream, true), void *to,
            size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
            cudaMemcpyKind kind)
EXPORT_ASYNC(cudaMemcpy2DAsync,
             copy_rows(to, to_pitch, from, from_pitch, width, height, kind, stream, false),
             void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
             size_t height, cudaMemcpyKind kind)
EXPORT_SYNC(cudaMemcpy3D, door_copy_3d(parameters, stream, true),
            const cudaMemcpy3DParms *parameters)
EXPORT_ASYNC(cudaMemcpy3DAsync, door_copy_3d(parameters, stream, false),
             const cudaMemcpy3DParms *parameters)

static cudaError_t check_devices(int a, int b) {
    cudaError_t error = door_enter_query();
    if (!error && (a < 0 || a >= door.device_count || b < 0 || b >= door.device_count))
        error = cudaErrorInvalidDevice;
    return error;
}

DOOR_EXPORT(cudaError_t, cudaMemcpyPeer, void *to, int to_device, const void *from, int from_device,
            size_t size) {
    cudaError_t error = check_devices(to_device, from_device);
    return door_return(error
                           ? error
                           : DOOR_CALL(__func__, copy_bytes(to, from, size,
                                                            cudaMemcpyDeviceToDevice, NULL, true)));
}

DOOR_EXPORT(cudaError_t, cudaMemcpyPeerAsync, void *to, int to_device, const void *from,
            int from_device, size_t size, cudaStream_t stream) {
    cudaError_t error = check_devices(to_device, from_device);
    return door_return(
        error ? error
              : DOOR_CALL(__func__,
                          copy_bytes(to, from, size, cudaMemcpyDeviceToDevice, stream, false)));
}

/* ---- Symbols ----------------------------------------------------------------------------------
 */

/* The bytes of a variable from OFFSET on. */
static cudaError_t symbol_bytes(const void *symbol, size_t size, size_t offset, void **at) {
    door_device *d;
    size_t whole;
    cudaError_t error = door_enter(&d);
    if (!error)
        error = door_find_symbol(symbol, d, at, &whole);
    if (error)
        return error;
    if (offset > whole || size > whole - offset)
        return cudaErrorInvalidValue;
    *at = (char *)*at + offset;
    return cudaSuccess;
}

static cudaError_t to_symbol(const void *symbol, const void *from, size_t size, size_t offset,
                             cudaMemcpyKind kind, cudaStream_t stream, bool wait) {
    void *at;
    cudaError_t error = symbol_bytes(symbol, size, offset, &at);
    return error ? error : copy_bytes(at, from, size, kind, stream, wait);
}

static cudaError_t from_symbol(void *to, const void *symbol, size_t size, size_t offset,
                               cudaMemcpyKind kind, cudaStream_t stream, bool wait) {
    void *at;
    cudaError_t error = symbol_bytes(symbol, size, offset, &at);
    return error ? error : copy_bytes(to, at, size, kind, stream, wait);
}

EXPORT_SYNC(cudaMemcpyToSymbol, to_symbol(symbol, from, size, offset, kind, stream, true),
            const void *symbol, const void *from, size_t size, size_t offset, cudaMemcpyKind kind)
EXPORT_ASYNC(cudaMemcpyToSymbolAsync, to_symbol(symbol, from, size, offset, kind, stream, false),
             const void *symbol, const void *from, size_t size, size_t offset, cudaMemcpyKind kind)
EXPORT_SYNC(cudaMemcpyFromSymbol, from_symbol(to, symbol, size, offset, kind, stream, true),
            void *to, const void *symbol, size_t size, size_t offset, cudaMemcpyKind kind)
EXPORT_ASYNC(cudaMemcpyFromSymbolAsync, from_symbol(to, symbol, size, offset, kind, stream, false),
             void *to, const void *symbol, size_t size, size_t offset, cudaMemcpyKind kind)

DOOR_EXPORT(cudaError_t, cudaGetSymbolAddress, void **address, const void *symbol) {
    door_device *d;
    size_t size;
    cudaError_t error = door_enter(&d);
    if (!error)
        error = address ? door_find_symbol(symbol, d, address, &size) : cudaErrorInvalidValue;
    return door_return(error);
}

DOOR_EXPORT(cudaError_t, cudaGetSymbolSize, size_t *size, const void *symbol) {
    door_device *d;
    void *address;
    cudaError_t error = door_enter(&d);
    if (!error)
        error = size ? door_find_symbol(symbol, d, &address, size) : cudaErrorInvalidValue;
    return door_return(error);
}

/* ---- Fills ------------------------------------------------------------------------------------
 */

/* A capturing stream keeps a fill; of several layers, whose nodes hold one each, one after the
 * other. ELEMENT: bytes of the value. */
static cudaError_t capture_fill(door_stream *stream, const side *to, unsigned value,
                                unsigned element, box b) {
    cudaError_t error = cudaSuccess;
    for (size_t z = 0; !error && z < b.depth; z++) {
        const cudaMemsetParams fill = {.dst = to->base + z * to->slice,
                                       .pitch = to->pitch,
                                       .value = value,
                                       .elementSize = element,
                                       .width = b.width / element,
                                       .height = b.height};
        error = door_capture_fill(stream, &fill);
    }
    return error;
}

static void fill_row(char *to, unsigned value, unsigned element, size_t bytes) {
    if (element == 1)
        memset(to, (int)(value & 0xff), bytes);
    for (size_t at = 0; element > 1 && at < bytes; at += element)
        memcpy(to + at, &value, element);
}

static cudaError_t fill_elements(side to, unsigned value, unsigned element, box b,
                                 cudaStream_t handle, bool wait) {
    door_device *d;
    cudaError_t error = door_enter(&d);
    if (error)
        return error;
    door_stream *stream = door_find_stream(handle, d);
    if (!stream)
        return cudaErrorInvalidResourceHandle;
    if (volume(b) == 0)
        return cudaSuccess;
    if (!to.base || !locate(&to, b) || !to.known)
        return cudaErrorInvalidValue;
    if ((error = door_enqueue(stream)))
        return error;
    if (stream->capture)
        return capture_fill(stream, &to, value, element, b);
    for (size_t z = 0; z < b.depth; z++)
        for (size_t y = 0; y < b.height; y++)
            fill_row(to.base + z * to.slice + y * to.pitch, value, element, b.width);
    account(stream, (transfer){"memset", &d->compute_s, d->profile.spec.dram_bytes_per_s}, &to,
            NULL, element == 1 ? (int)(value & 0xff) : (int)value, volume(b), wait);
    return cudaSuccess;
}

static cudaError_t fill_box(side to, int value, box b, cudaStream_t handle, bool wait) {
    return fill_elements(to, (unsigned)value, 1, b, handle, wait);
}

cudaError_t door_fill(const cudaMemsetParams *fill, cudaStream_t stream) {
    size_t bytes;
    unsigned element = fill->elementSize;
    if ((element != 1 && element != 2 && element != 4) || (uintptr_t)fill->dst % element ||
        __builtin_mul_overflow(fill->width, element, &bytes) ||
        (fill->height > 1 && bytes > fill->pitch))
        return cudaErrorInvalidValue;
    return fill_elements((side){.base = fill->dst, .pitch = fill->pitch}, fill->value, element,
                         (box){bytes, fill->height, 1}, stream, false);
}

static cudaError_t fill_rows(void *to, size_t pitch, int value, size_t width, size_t height,
                             cudaStream_t stream) {
    if (height > 1 && width > pitch)
        return cudaErrorInvalidValue;
    return fill_box((side){.base = to, .pitch = pitch}, value, (box){width, height, 1}, stream,
                    false);
}

static cudaError_t fill_3d(cudaPitchedPtr to, int value, cudaExtent extent, cudaStream_t stream) {
    return fill_box((side){.base = to.ptr, .pitch = to.pitch, .slice = to.pitch * to.ysize}, value,
                    (box){extent.width, extent.height, extent.depth}, stream, false);
}

EXPORT_SYNC_TOLD(cudaMemset, (&(fill_arguments){to, value, size, stream}),
                 fill_rows(to, 0, value, size, 1, stream), void *to, int value, size_t size)
EXPORT_ASYNC_TOLD(cudaMemsetAsync, (&(fill_arguments){to, value, size, stream}),
                  fill_rows(to, 0, value, size, 1, stream), void *to, int value, size_t size)
EXPORT_SYNC(cudaMemset2D, fill_rows(to, pitch, value, width, height, stream), void *to,
            size_t pitch, int value, size_t width, size_t height)
EXPORT_ASYNC(cudaMemset2DAsync, fill_rows(to, pitch, value, width, height, stream), void *to,
             size_t pitch, int value, size_t width, size_t height)
EXPORT_SYNC(cudaMemset3D, fill_3d(to, value, extent, stream), cudaPitchedPtr to, int value,
            cudaExtent extent)
EXPORT_ASYNC(cudaMemset3DAsync, fill_3d(to, value, extent, stream), cudaPitchedPtr to, int value,
             cudaExtent extent)
