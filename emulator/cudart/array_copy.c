/* SPDX-License-Identifier: Apache-2.0
 *
 * Copies from and to arrays under the names of the runtime that give bytes and rows: each is a copy
 * in three dimensions (copy.c). Those that count bytes across rows are up to three boxes: the rest
 * of the first row, whole rows, the start of the last.
 */
#include "emulator/cudart/array.h"

/* Bytes as elements; false: they are not whole ones. */
static bool to_elements(const door_array *a, size_t *bytes) {
    const size_t element = emu_texel_bytes(emu_array_get_spec(a->array)->texel);
    const bool whole = *bytes % element == 0;
    *bytes /= element;
    return whole;
}

static size_t row_bytes(const door_array *a) {
    return (size_t)door_array_image(a)->width *
           emu_texel_bytes(emu_array_get_spec(a->array)->texel);
}

/* ---- Boxes ------------------------------------------------------------------------------------
 */

typedef struct array_place { /* byte X of row Y */
    const void *array;
    size_t x, y;
} array_place;

static cudaError_t to_array(array_place to, const void *from, size_t pitch, size_t width,
                            size_t height, cudaMemcpyKind kind, cudaStream_t stream, bool wait) {
    const door_array *a = door_find_array(to.array, false);
    if (!a)
        return cudaErrorInvalidResourceHandle;
    if (height > 1 && width > pitch)
        return cudaErrorInvalidPitchValue;
    if (!to_elements(a, &to.x) || !to_elements(a, &width))
        return cudaErrorInvalidValue;
    const cudaMemcpy3DParms p = {.srcPtr = {(void *)(uintptr_t)from, pitch, width, height},
                                 .dstArray = (void *)(uintptr_t)to.array,
                                 .dstPos = {to.x, to.y, 0},
                                 .extent = {width, height, 1},
                                 .kind = kind};
    return door_copy_3d(&p, stream, wait);
}

static cudaError_t from_array(void *to, size_t pitch, array_place from, size_t width, size_t height,
                              cudaMemcpyKind kind, cudaStream_t stream, bool wait) {
    const door_array *a = door_find_array(from.array, false);
    if (!a)
        return cudaErrorInvalidResourceHandle;
    if (height > 1 && width > pitch)
        return cudaErrorInvalidPitchValue;
    if (!to_elements(a, &from.x) || !to_elements(a, &width))
        return cudaErrorInvalidValue;
    const cudaMemcpy3DParms p = {.srcArray = (void *)(uintptr_t)from.array,
                                 .srcPos = {from.x, from.y, 0},
                                 .dstPtr = {to, pitch, width, height},
                                 .extent = {width, height, 1},
                                 .kind = kind};
    return door_copy_3d(&p, stream, wait);
}

static cudaError_t between(array_place to, array_place from, size_t width, size_t height,
                           cudaMemcpyKind kind, cudaStream_t stream, bool wait) {
    const door_array *a = door_find_array(to.array, false), *b = door_find_array(from.array, false);
    if (!a || !b)
        return cudaErrorInvalidResourceHandle;
    if (!to_elements(a, &to.x) || !to_elements(b, &from.x) || !to_elements(b, &width))
        return cudaErrorInvalidValue;
    const cudaMemcpy3DParms p = {.srcArray = (void *)(uintptr_t)from.array,
                                 .srcPos = {from.x, from.y, 0},
                                 .dstArray = (void *)(uintptr_t)to.array,
                                 .dstPos = {to.x, to.y, 0},
                                 .extent = {width, height, 1},
                                 .kind = kind};
    return door_copy_3d(&p, stream, wait);
}

/* ---- Bytes across rows ------------------------------------------------------------------------
 */

/* The next box of COUNT bytes from AT on, in an array with rows of ROW bytes. */
static size_t next_box(const array_place *at, size_t count, size_t row, size_t *height) {
    *height = at->x == 0 && count >= row ? count / row : 1;
    if (at->x == 0 && count >= row)
        return row;
    return count < row - at->x ? count : row - at->x;
}

static void advance(array_place *at, size_t width, size_t height, size_t row) {
    at->x += width;
    at->y += height > 1 ? height : 0;
    if (height > 1 || at->x == row) {
        at->y += height > 1 ? 0 : 1;
        at->x = 0;
    }
}

static cudaError_t stream_to_array(array_place to, const char *from, size_t count,
                                   cudaMemcpyKind kind, cudaStream_t stream, bool wait) {
    const door_array *a = door_find_array(to.array, false);
    const size_t row = a ? row_bytes(a) : 0;
    cudaError_t error = !a            ? cudaErrorInvalidResourceHandle
                        : to.x >= row ? cudaErrorInvalidValue
                                      : cudaSuccess;
    for (size_t width, height; count && !error; count -= width * height) {
        width = next_box(&to, count, row, &height);
        error = to_array(to, from, width, width, height, kind, stream, wait);
        from += width * height;
        advance(&to, width, height, row);
    }
    return error;
}

static cudaError_t stream_from_array(char *to, array_place from, size_t count, cudaMemcpyKind kind,
                                     cudaStream_t stream, bool wait) {
    const door_array *a = door_find_array(from.array, false);
    const size_t row = a ? row_bytes(a) : 0;
    cudaError_t error = !a              ? cudaErrorInvalidResourceHandle
                        : from.x >= row ? cudaErrorInvalidValue
                                        : cudaSuccess;
    for (size_t width, height; count && !error; count -= width * height) {
        width = next_box(&from, count, row, &height);
        error = from_array(to, width, from, width, height, kind, stream, wait);
        to += width * height;
        advance(&from, width, height, row);
    }
    return error;
}

/* Row by row of the source, as far as the target's row goes, too. */
static cudaError_t stream_between(array_place to, array_place from, size_t count,
                                  cudaMemcpyKind kind, cudaStream_t stream, bool wait) {
    const door_array *a = door_find_array(to.array, false), *b = door_find_array(from.array, false);
    const size_t row = a ? row_bytes(a) : 0, other = b ? row_bytes(b) : 0;
    cudaError_t error = !a || !b                         ? cudaErrorInvalidResourceHandle
                        : to.x >= row || from.x >= other ? cudaErrorInvalidValue
                                                         : cudaSuccess;
    for (size_t width, height; count && !error; count -= width * height) {
        size_t heights[2];
        const size_t widths[2] = {next_box(&to, count, row, &heights[0]),
                                  next_box(&from, count, other, &heights[1])};
        const bool same = widths[0] == widths[1];
        width = widths[0] < widths[1] ? widths[0] : widths[1];
        height = same && heights[0] == heights[1] ? heights[0] : 1;
        error = between(to, from, width, height, kind, stream, wait);
        advance(&to, width, height, row);
        advance(&from, width, height, other);
    }
    return error;
}

/* ---- Exports ----------------------------------------------------------------------------------
 */

#define EXPORT_SYNC(name, call, ...)                                                               \
    DOOR_EXPORT(cudaError_t, name, __VA_ARGS__) {                                                  \
        const cudaStream_t stream = NULL;                                                          \
        return door_return(DOOR_CALL(__func__, call));                                             \
    }                                                                                              \
    DOOR_EXPORT(cudaError_t, name##_ptds, __VA_ARGS__) {                                           \
        const cudaStream_t stream = cudaStreamPerThread;                                           \
        return door_return(DOOR_CALL(__func__, call));                                             \
    }
#define EXPORT_ASYNC(name, call, ...)                                                              \
    DOOR_EXPORT(cudaError_t, name, __VA_ARGS__, cudaStream_t stream) {                             \
        return door_return(DOOR_CALL(__func__, call));                                             \
    }                                                                                              \
    DOOR_EXPORT(cudaError_t, name##_ptsz, __VA_ARGS__, cudaStream_t stream) {                      \
        stream = door_per_thread(stream);                                                          \
        return door_return(DOOR_CALL(__func__, call));                                             \
    }

#define TO_ARRAY(wait)                                                                             \
    to_array((array_place){array, x, y}, from, pitch, width, height, kind, stream, wait)
#define FROM_ARRAY(wait)                                                                           \
    from_array(to, pitch, (array_place){array, x, y}, width, height, kind, stream, wait)

EXPORT_SYNC(cudaMemcpy2DToArray, TO_ARRAY(true), cudaArray_t array, size_t x, size_t y,
            const void *from, size_t pitch, size_t width, size_t height, cudaMemcpyKind kind)
EXPORT_ASYNC(cudaMemcpy2DToArrayAsync, TO_ARRAY(false), cudaArray_t array, size_t x, size_t y,
             const void *from, size_t pitch, size_t width, size_t height, cudaMemcpyKind kind)
EXPORT_SYNC(cudaMemcpy2DFromArray, FROM_ARRAY(true), void *to, size_t pitch,
            const struct door_array *array, size_t x, size_t y, size_t width, size_t height,
            cudaMemcpyKind kind)
EXPORT_ASYNC(cudaMemcpy2DFromArrayAsync, FROM_ARRAY(false), void *to, size_t pitch,
             const struct door_array *array, size_t x, size_t y, size_t width, size_t height,
             cudaMemcpyKind kind)
EXPORT_SYNC(cudaMemcpy2DArrayToArray,
            between((array_place){to, to_x, to_y}, (array_place){from, from_x, from_y}, width,
                    height, kind, stream, true),
            cudaArray_t to, size_t to_x, size_t to_y, const struct door_array *from, size_t from_x,
            size_t from_y, size_t width, size_t height, cudaMemcpyKind kind)

EXPORT_SYNC(cudaMemcpyToArray,
            stream_to_array((array_place){array, x, y}, from, count, kind, stream, true),
            cudaArray_t array, size_t x, size_t y, const void *from, size_t count,
            cudaMemcpyKind kind)
EXPORT_ASYNC(cudaMemcpyToArrayAsync,
             stream_to_array((array_place){array, x, y}, from, count, kind, stream, false),
             cudaArray_t array, size_t x, size_t y, const void *from, size_t count,
             cudaMemcpyKind kind)
EXPORT_SYNC(cudaMemcpyFromArray,
            stream_from_array(to, (array_place){array, x, y}, count, kind, stream, true), void *to,
            const struct door_array *array, size_t x, size_t y, size_t count, cudaMemcpyKind kind)
EXPORT_ASYNC(cudaMemcpyFromArrayAsync,
             stream_from_array(to, (array_place){array, x, y}, count, kind, stream, false),
             void *to, const struct door_array *array, size_t x, size_t y, size_t count,
             cudaMemcpyKind kind)
EXPORT_SYNC(cudaMemcpyArrayToArray,
            stream_between((array_place){to, to_x, to_y}, (array_place){from, from_x, from_y},
                           count, kind, stream, true),
            cudaArray_t to, size_t to_x, size_t to_y, const struct door_array *from, size_t from_x,
            size_t from_y, size_t count, cudaMemcpyKind kind)

/* ---- Between devices --------------------------------------------------------------------------
 */

static cudaError_t copy_peer(const cudaMemcpy3DPeerParms *p, cudaStream_t stream, bool wait) {
    if (!p)
        return cudaErrorInvalidValue;
    if (p->srcDevice < 0 || p->srcDevice >= door.device_count || p->dstDevice < 0 ||
        p->dstDevice >= door.device_count)
        return cudaErrorInvalidDevice;
    const cudaMemcpy3DParms plain = {.srcArray = p->srcArray,
                                     .srcPos = p->srcPos,
                                     .srcPtr = p->srcPtr,
                                     .dstArray = p->dstArray,
                                     .dstPos = p->dstPos,
                                     .dstPtr = p->dstPtr,
                                     .extent = p->extent,
                                     .kind = cudaMemcpyDeviceToDevice};
    return door_copy_3d(&plain, stream, wait);
}

EXPORT_SYNC(cudaMemcpy3DPeer, copy_peer(parameters, stream, true),
            const cudaMemcpy3DPeerParms *parameters)
EXPORT_ASYNC(cudaMemcpy3DPeerAsync, copy_peer(parameters, stream, false),
             const cudaMemcpy3DPeerParms *parameters)
