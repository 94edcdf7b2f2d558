/* SPDX-License-Identifier: Apache-2.0
 *
 * Arrays and mipmapped arrays. Their memory is the device's, laid out as emulator/texture says, and
 * only copies, textures and surfaces reach it.
 */
#include "emulator/cudart/array.h"
#include <stdlib.h>
#include <string.h>

enum {
    KNOWN_FLAGS = cudaArrayLayered | cudaArraySurfaceLoadStore | cudaArrayCubemap |
                  cudaArrayTextureGather | cudaArrayColorAttachment,
    ARRAY_ALIGNMENT = 512
};

static door_array *arrays; /* guarded by door.lock */

/* ---- Formats ----------------------------------------------------------------------------------
 */

/* The six kinds of normalized integers: 8 and 16 bits, 1, 2 and 4 channels. */
static emu_texel normalized(emu_channel channel, int number) {
    return (emu_texel){channel, number < 3 ? 8 : 16, (uint8_t)(1 << number % 3)};
}

bool door_texel_of(const cudaChannelFormatDesc *f, emu_texel *texel) {
    static const emu_channel plain[] = {EMU_CHANNEL_SINT, EMU_CHANNEL_UINT, EMU_CHANNEL_FLOAT};
    const int bits[] = {f->x, f->y, f->z, f->w};
    if (f->f >= cudaChannelFormatKindUnsignedNormalized8X1 &&
        f->f <= cudaChannelFormatKindUnsignedNormalized16X4) {
        *texel = normalized(EMU_CHANNEL_UNORM, f->f - cudaChannelFormatKindUnsignedNormalized8X1);
        return true;
    }
    if (f->f >= cudaChannelFormatKindSignedNormalized8X1 &&
        f->f <= cudaChannelFormatKindSignedNormalized16X4) {
        *texel = normalized(EMU_CHANNEL_SNORM, f->f - cudaChannelFormatKindSignedNormalized8X1);
        return true;
    }
    if (f->f < 0 || f->f > cudaChannelFormatKindFloat || f->x <= 0 || f->x > 32)
        return false;
    int channels = 0;
    while (channels < 4 && bits[channels])
        channels++;
    for (int i = 0; i < 4; i++)
        if (bits[i] != (i < channels ? f->x : 0))
            return false;
    *texel = (emu_texel){plain[f->f], (uint8_t)f->x, (uint8_t)channels};
    return emu_texel_valid(*texel);
}

/* ---- Making -----------------------------------------------------------------------------------
 */

/* What the program asks for as the device has it; false: there is no such array. */
static bool spec_of(const cudaChannelFormatDesc *format, cudaExtent e, unsigned flags,
                    unsigned levels, emu_array_spec *spec) {
    const bool layered = flags & cudaArrayLayered, cube = flags & cudaArrayCubemap;
    enum { MOST = 1 << 17, MOST_3D = 16384, MOST_LAYERS = 2048 };
    emu_texel texel;
    if (!door_texel_of(format, &texel) || !e.width || (flags & ~(unsigned)KNOWN_FLAGS) ||
        e.width > MOST || e.height > MOST || e.depth > MOST)
        return false;
    *spec = (emu_array_spec){.texel = texel,
                             .width = (uint32_t)e.width,
                             .height = e.height ? (uint32_t)e.height : 1,
                             .depth = e.depth ? (uint32_t)e.depth : 1,
                             .levels = levels};
    spec->shape = cube      ? (layered ? EMU_SHAPE_CUBE_LAYERED : EMU_SHAPE_CUBE)
                  : layered ? (e.height ? EMU_SHAPE_2D_LAYERED : EMU_SHAPE_1D_LAYERED)
                  : e.depth ? EMU_SHAPE_3D
                            : (e.height ? EMU_SHAPE_2D : EMU_SHAPE_1D);
    if (cube &&
        (!e.height || e.width != e.height || (layered ? !e.depth || e.depth % 6 : e.depth != 6)))
        return false;
    if (layered && (!e.depth || e.depth > MOST_LAYERS))
        return false;
    if (flags & cudaArrayTextureGather && spec->shape != EMU_SHAPE_2D)
        return false;
    return spec->shape != EMU_SHAPE_3D ||
           (e.height && e.width <= MOST_3D && e.height <= MOST_3D && e.depth <= MOST_3D);
}

static void tell(const door_array *a, bool allocated) {
    const emu_observer *observer = door_observer();
    const uint64_t address = emu_array_address(a->array), bytes = emu_array_bytes(a->array);
    emu_counts_memory(door.file, a->device->index, "device", allocated, address, bytes, door_now());
    if (observer && observer->memory)
        observer->memory(&(emu_memory_event){.device = a->device->index,
                                             .kind = EMU_MEMORY_DEVICE,
                                             .array = true,
                                             .allocated = allocated,
                                             .address = address,
                                             .bytes = bytes,
                                             .time_s = door_now(),
                                             .correlation = door_api_correlation()});
}

static door_array *enlist(door_array value) {
    door_array *a = malloc(sizeof *a);
    if (!a)
        return NULL;
    *a = value;
    pthread_mutex_lock(&door.lock);
    a->next = arrays;
    arrays = a;
    pthread_mutex_unlock(&door.lock);
    return a;
}

static cudaError_t create(door_array **out, const cudaChannelFormatDesc *format, cudaExtent extent,
                          unsigned levels, unsigned flags, bool mipmapped) {
    door_device *d;
    emu_array_spec spec;
    emu_fault fault = {0};
    cudaError_t error = door_enter(&d);
    if (!error)
        error = door_unsafe();
    if (error)
        return error;
    if (!out || !format)
        return cudaErrorInvalidValue;
    *out = NULL;
    if (format->f > cudaChannelFormatKindSignedNormalized16X4 ||
        format->f == cudaChannelFormatKindNV12)
        return door_not_supported("an array of a planar or compressed format");
    if (!spec_of(format, extent, flags, levels, &spec))
        return cudaErrorInvalidValue;
    if (spec.levels > emu_array_levels(&spec))
        spec.levels = emu_array_levels(&spec);
    door_array a = {
        .device = d, .mipmapped = mipmapped, .format = *format, .extent = extent, .flags = flags};
    emu_status status = emu_array_create(d->emu, &spec, &a.array, &fault);
    if (status)
        return door_error_of(status);
    *out = enlist(a);
    if (!*out) {
        emu_array_destroy(a.array);
        return cudaErrorMemoryAllocation;
    }
    tell(*out, true);
    return cudaSuccess;
}

DOOR_EXPORT(cudaError_t, cudaMallocArray, cudaArray_t *array, const cudaChannelFormatDesc *format,
            size_t width, size_t height, unsigned flags) {
    const cudaExtent extent = {width, height, 0};
    return door_return(DOOR_CALL(__func__, flags & (cudaArrayLayered | cudaArrayCubemap)
                                               ? cudaErrorInvalidValue
                                               : create(array, format, extent, 1, flags, false)));
}

DOOR_EXPORT(cudaError_t, cudaMalloc3DArray, cudaArray_t *array, const cudaChannelFormatDesc *format,
            cudaExtent extent, unsigned flags) {
    return door_return(DOOR_CALL(__func__, create(array, format, extent, 1, flags, false)));
}

DOOR_EXPORT(cudaError_t, cudaMallocMipmappedArray, cudaMipmappedArray_t *array,
            const cudaChannelFormatDesc *format, cudaExtent extent, unsigned levels,
            unsigned flags) {
    levels = !levels ? 1 : levels > EMU_MAX_LEVELS ? EMU_MAX_LEVELS : levels;
    return door_return(DOOR_CALL(__func__, create(array, format, extent, levels, flags, true)));
}

/* ---- Finding ----------------------------------------------------------------------------------
 */

door_array *door_find_array(const void *handle, bool mipmapped) {
    pthread_mutex_lock(&door.lock);
    door_array *a = arrays;
    while (a && (a != handle || a->mipmapped != mipmapped))
        a = a->next;
    pthread_mutex_unlock(&door.lock);
    return a;
}

const emu_image *door_array_image(const door_array *a) {
    return emu_array_level(a->array, a->level);
}

/* ---- Levels -----------------------------------------------------------------------------------
 */

static size_t halved(size_t size, unsigned level) {
    return !size ? 0 : size >> level ? size >> level : 1;
}

/* A level is made when it is first asked for, and lives as long as the whole. */
static cudaError_t get_level(door_array **out, const void *handle, unsigned level) {
    cudaError_t error = door_enter(NULL);
    door_array *whole = error ? NULL : door_find_array(handle, true);
    if (error)
        return error;
    if (!out || !whole)
        return out ? cudaErrorInvalidResourceHandle : cudaErrorInvalidValue;
    if (level >= emu_array_get_spec(whole->array)->levels)
        return cudaErrorInvalidValue;
    pthread_mutex_lock(&door.lock);
    door_array *a = arrays;
    while (a && (a->whole != whole || a->level != level))
        a = a->next;
    pthread_mutex_unlock(&door.lock);
    if (!a) {
        door_array made = *whole;
        const bool shrinks = !(whole->flags & (cudaArrayLayered | cudaArrayCubemap));
        made.whole = whole;
        made.level = level;
        made.mipmapped = false;
        made.extent =
            (cudaExtent){halved(whole->extent.width, level), halved(whole->extent.height, level),
                         shrinks ? halved(whole->extent.depth, level) : whole->extent.depth};
        a = enlist(made);
    }
    *out = a;
    return a ? cudaSuccess : cudaErrorMemoryAllocation;
}

DOOR_EXPORT(cudaError_t, cudaGetMipmappedArrayLevel, cudaArray_t *level,
            const struct door_array *array, unsigned number) {
    return door_return(DOOR_CALL(__func__, get_level(level, array, number)));
}

/* ---- Freeing ----------------------------------------------------------------------------------
 */

/* Takes an array and its levels off the list; only the array itself is returned to be freed. */
static void delist(door_array *array) {
    for (door_array **link = &arrays; *link;) {
        door_array *a = *link;
        if (a != array && a->whole != array) {
            link = &a->next;
            continue;
        }
        *link = a->next;
        if (a != array)
            free(a);
    }
}

static cudaError_t release(const void *handle, bool mipmapped) {
    cudaError_t error = door_enter(NULL);
    if (!error && handle)
        error = door_unsafe();
    if (error || !handle)
        return error;
    door_array *a = door_find_array(handle, mipmapped);
    if (!a || a->whole) /* a level goes with the whole */
        return cudaErrorInvalidResourceHandle;
    door_wait_device(a->device);
    tell(a, false);
    pthread_mutex_lock(&door.lock);
    delist(a);
    pthread_mutex_unlock(&door.lock);
    emu_array_destroy(a->array);
    free(a);
    return cudaSuccess;
}

DOOR_EXPORT(cudaError_t, cudaFreeArray, cudaArray_t array) {
    return door_return(DOOR_CALL(__func__, release(array, false)));
}

DOOR_EXPORT(cudaError_t, cudaFreeMipmappedArray, cudaMipmappedArray_t array) {
    return door_return(DOOR_CALL(__func__, release(array, true)));
}

void door_forget_arrays(const door_device *device) {
    for (;;) {
        pthread_mutex_lock(&door.lock);
        door_array *a = arrays;
        while (a && (a->device != device || a->whole))
            a = a->next;
        if (a)
            delist(a);
        pthread_mutex_unlock(&door.lock);
        if (!a)
            return;
        emu_array_destroy(a->array);
        free(a);
    }
}

/* ---- What an array is -------------------------------------------------------------------------
 */

static cudaError_t get_info(cudaChannelFormatDesc *format, cudaExtent *extent, unsigned *flags,
                            const void *handle) {
    cudaError_t error = door_enter(NULL);
    const door_array *a = error ? NULL : door_find_array(handle, false);
    if (error || !a)
        return error ? error : cudaErrorInvalidResourceHandle;
    if (format)
        *format = a->format;
    if (extent)
        *extent = a->extent;
    if (flags)
        *flags = a->flags;
    return cudaSuccess;
}

DOOR_EXPORT(cudaError_t, cudaArrayGetInfo, cudaChannelFormatDesc *format, cudaExtent *extent,
            unsigned *flags, cudaArray_t array) {
    return door_return(DOOR_CALL(__func__, get_info(format, extent, flags, array)));
}

DOOR_EXPORT(cudaError_t, cudaGetChannelDesc, cudaChannelFormatDesc *format,
            const struct door_array *array) {
    return door_return(
        DOOR_CALL(__func__, format ? get_info(format, NULL, NULL, array) : cudaErrorInvalidValue));
}

static cudaError_t get_requirements(cudaArrayMemoryRequirements *out, const void *handle,
                                    bool mipmapped) {
    cudaError_t error = door_enter(NULL);
    const door_array *a = error ? NULL : door_find_array(handle, mipmapped);
    if (error || !a || !out)
        return error ? error : !out ? cudaErrorInvalidValue : cudaErrorInvalidResourceHandle;
    *out = (cudaArrayMemoryRequirements){.size = emu_array_bytes(a->array),
                                         .alignment = ARRAY_ALIGNMENT};
    return cudaSuccess;
}

DOOR_EXPORT(cudaError_t, cudaArrayGetMemoryRequirements, cudaArrayMemoryRequirements *out,
            cudaArray_t array, int device) {
    (void)device;
    return door_return(DOOR_CALL(__func__, get_requirements(out, array, false)));
}

DOOR_EXPORT(cudaError_t, cudaMipmappedArrayGetMemoryRequirements, cudaArrayMemoryRequirements *out,
            cudaMipmappedArray_t array, int device) {
    (void)device;
    return door_return(DOOR_CALL(__func__, get_requirements(out, array, true)));
}

/* Returned by value, so no error can be: the pieces' sizes and what they hold. */
DOOR_EXPORT(cudaChannelFormatDesc, cudaCreateChannelDesc, int x, int y, int z, int w, int format) {
    return (cudaChannelFormatDesc){x, y, z, w, format};
}

DOOR_EXPORT(cudaError_t, cudaDeviceGetTexture1DLinearMaxWidth, size_t *width,
            const cudaChannelFormatDesc *format, int device) {
    enum { MOST = 1 << 28 }; /* texels, of compute capability 6 on: programming guide, limits */
    emu_texel texel;
    cudaError_t error = door_enter_query();
    if (!error && (device < 0 || device >= door.device_count))
        error = cudaErrorInvalidDevice;
    if (!error && (!width || !format || !door_texel_of(format, &texel)))
        error = cudaErrorInvalidValue;
    if (!error)
        *width = MOST;
    return door_return(error);
}
