/* SPDX-License-Identifier: Apache-2.0
 *
 * Texture and surface objects: the program's descriptions, checked and turned into views and
 * samplers, and kept so that they can be asked for.
 */
#include "emulator/cudart/array.h"
#include <stdlib.h>
#include <string.h>

enum { MODES = 4, MOST_LINEAR = 1 << 28, MOST_ANISOTROPY = 16, PITCH_ALIGNMENT = 32 };

typedef struct object {
    uint64_t handle;
    door_device *device;
    bool surface, viewed;
    cudaResourceDesc resource;
    cudaTextureDesc texture;
    cudaResourceViewDesc view;
    struct object *next;
} object;

static object *objects; /* guarded by door.lock */

/* ---- Descriptions -----------------------------------------------------------------------------
 */

/* The channels that a format of a view names: 1 to 24, three counts of channels each. */
static bool texel_of_view(int format, emu_texel *texel) {
    static const struct {
        emu_channel channel;
        uint8_t bits;
    } rows[] = {{EMU_CHANNEL_UINT, 8},   {EMU_CHANNEL_SINT, 8},  {EMU_CHANNEL_UINT, 16},
                {EMU_CHANNEL_SINT, 16},  {EMU_CHANNEL_UINT, 32}, {EMU_CHANNEL_SINT, 32},
                {EMU_CHANNEL_FLOAT, 16}, {EMU_CHANNEL_FLOAT, 32}};
    const int number = format - 1;
    if (number < 0 || number >= 3 * (int)(sizeof rows / sizeof *rows))
        return false;
    *texel =
        (emu_texel){rows[number / 3].channel, rows[number / 3].bits, (uint8_t)(1 << number % 3)};
    return true;
}

static cudaError_t view_array(const door_array *a, const cudaResourceViewDesc *v, emu_view *view) {
    const emu_array_spec *spec = emu_array_get_spec(a->array);
    emu_window w = {.shape = spec->shape,
                    .texel = spec->texel,
                    .first_level = a->level,
                    .levels = a->mipmapped ? 0 : 1};
    if (v) {
        if (v->format && !texel_of_view(v->format, &w.texel))
            return door_not_supported("a texture's view of a compressed format");
        if (v->lastMipmapLevel < v->firstMipmapLevel || v->lastLayer < v->firstLayer)
            return cudaErrorInvalidValue;
        w.first_level += v->firstMipmapLevel;
        w.levels = v->lastMipmapLevel - v->firstMipmapLevel + 1;
        w.first_layer = v->firstLayer;
        const bool layered = spec->shape >= EMU_SHAPE_1D_LAYERED;
        w.layers = layered ? v->lastLayer - v->firstLayer + 1 : 0;
        if (!a->mipmapped && v->lastMipmapLevel)
            return cudaErrorInvalidValue;
    }
    return emu_view_of_array(a->array, &w, view) ? cudaSuccess : cudaErrorInvalidValue;
}

static cudaError_t view_linear(const cudaResourceDesc *r, emu_view *view) {
    emu_texel texel;
    if (!r->res.linear.devPtr || !door_texel_of(&r->res.linear.desc, &texel))
        return cudaErrorInvalidValue;
    const uint64_t count = r->res.linear.sizeInBytes / emu_texel_bytes(texel);
    if (!count || count > MOST_LINEAR)
        return cudaErrorInvalidValue;
    emu_view_of_memory((uint64_t)(uintptr_t)r->res.linear.devPtr, texel, count, 0, 0, view);
    return cudaSuccess;
}

static cudaError_t view_rows(const cudaResourceDesc *r, emu_view *view) {
    enum { MOST_WIDTH = 131072, MOST_HEIGHT = 65536, MOST_PITCH = 2097120 };
    emu_texel texel;
    const size_t width = r->res.pitch2D.width, height = r->res.pitch2D.height;
    const size_t pitch = r->res.pitch2D.pitchInBytes;
    if (!r->res.pitch2D.devPtr || !door_texel_of(&r->res.pitch2D.desc, &texel) || !width ||
        !height || width > MOST_WIDTH || height > MOST_HEIGHT || pitch > MOST_PITCH ||
        (uintptr_t)r->res.pitch2D.devPtr % PITCH_ALIGNMENT ||
        (height > 1 && pitch % PITCH_ALIGNMENT) || pitch < width * emu_texel_bytes(texel))
        return cudaErrorInvalidValue;
    emu_view_of_memory((uint64_t)(uintptr_t)r->res.pitch2D.devPtr, texel, width, height, pitch,
                       view);
    return cudaSuccess;
}

/* What the object looks at, and on which device that is. */
static cudaError_t view_of(const cudaResourceDesc *r, const cudaResourceViewDesc *v, emu_view *view,
                           door_device **device, unsigned *flags) {
    const bool mipmapped = r->resType == cudaResourceTypeMipmappedArray;
    door_place place;
    cudaError_t error;
    *flags = 0;
    if (mipmapped || r->resType == cudaResourceTypeArray) {
        const door_array *a = door_find_array(r->res.array.array, mipmapped);
        if (!a)
            return cudaErrorInvalidResourceHandle;
        *device = a->device;
        /* levels serve as surfaces whatever their whole was made for: NVIDIA's own sample
         * bindlessTexture relies on it */
        *flags = a->flags | (a->whole ? (unsigned)cudaArraySurfaceLoadStore : 0);
        return view_array(a, v, view);
    }
    if (v)
        return cudaErrorInvalidValue;
    if (r->resType == cudaResourceTypeLinear)
        error = view_linear(r, view);
    else if (r->resType == cudaResourceTypePitch2D)
        error = view_rows(r, view);
    else
        return cudaErrorInvalidValue;
    if (error)
        return error;
    if (!door_find_memory((const void *)(uintptr_t)view->level[0].base, &place))
        return cudaErrorInvalidValue;
    *device = place.device;
    return cudaSuccess;
}

static cudaError_t sampler_of(const cudaTextureDesc *t, const emu_view *view, emu_sampler *s) {
    static const emu_address_mode modes[MODES] = {EMU_ADDRESS_WRAP, EMU_ADDRESS_CLAMP,
                                                  EMU_ADDRESS_MIRROR, EMU_ADDRESS_BORDER};
    *s = (emu_sampler){.linear = t->filterMode,
                       .mip_linear = t->mipmapFilterMode,
                       .normalized = t->normalizedCoords,
                       .reads_normalized = t->readMode,
                       .srgb = t->sRGB,
                       .seamless = t->seamlessCubemap,
                       .mip_bias = t->mipmapLevelBias,
                       .mip_least = t->minMipmapLevelClamp,
                       .mip_most = t->maxMipmapLevelClamp};
    for (int i = 0; i < 3; i++) {
        if ((unsigned)t->addressMode[i] >= MODES)
            return cudaErrorInvalidValue;
        s->address[i] = modes[t->addressMode[i]];
    }
    if ((unsigned)t->filterMode > 1 || (unsigned)t->mipmapFilterMode > 1 ||
        (unsigned)t->readMode > 1 || t->maxAnisotropy > MOST_ANISOTROPY)
        return cudaErrorInvalidValue;
    /* integers are not blended, and levels are of normalized coordinates */
    if (t->filterMode && !view->linear && !emu_texel_reads_float(view->texel, s->reads_normalized))
        return cudaErrorInvalidFilterSetting;
    if (t->readMode && view->texel.channel < EMU_CHANNEL_FLOAT && view->texel.bits == 32)
        return cudaErrorInvalidNormSetting;
    if (!t->normalizedCoords && view->levels > 1)
        return cudaErrorInvalidValue;
    memcpy(s->border, t->borderColor, sizeof s->border);
    return cudaSuccess;
}

/* ---- Objects ----------------------------------------------------------------------------------
 */

static cudaError_t keep(const object *value) {
    object *o = malloc(sizeof *o);
    if (!o)
        return cudaErrorMemoryAllocation;
    *o = *value;
    pthread_mutex_lock(&door.lock);
    o->next = objects;
    objects = o;
    pthread_mutex_unlock(&door.lock);
    return cudaSuccess;
}

/* TEXTURE is NULL for a surface. */
static cudaError_t create(uint64_t *handle, const cudaResourceDesc *resource,
                          const cudaTextureDesc *texture, const cudaResourceViewDesc *viewed) {
    object o = {.surface = !texture, .resource = *resource};
    emu_view view;
    emu_sampler sampler;
    emu_fault fault = {0};
    unsigned flags;
    cudaError_t error = view_of(resource, viewed, &view, &o.device, &flags);
    if (!error && texture)
        error = sampler_of(texture, &view, &sampler);
    if (!error && !texture && !(flags & cudaArraySurfaceLoadStore))
        error = cudaErrorInvalidValue;
    if (error)
        return error;
    if (texture)
        o.texture = *texture;
    if (viewed) {
        o.viewed = true;
        o.view = *viewed;
    }
    emu_status status = texture ? emu_texture_create(o.device->emu, &view, &sampler, handle, &fault)
                                : emu_surface_create(o.device->emu, &view, handle, &fault);
    if (status)
        return status == EMU_OUT_OF_MEMORY ? cudaErrorMemoryAllocation : cudaErrorInvalidValue;
    o.handle = *handle;
    error = keep(&o);
    if (error)
        emu_object_destroy(o.device->emu, *handle);
    return error;
}

static cudaError_t create_texture(cudaTextureObject_t *out, const cudaResourceDesc *resource,
                                  const cudaTextureDesc *texture,
                                  const cudaResourceViewDesc *view) {
    uint64_t handle = 0;
    cudaError_t error = door_enter(NULL);
    if (error)
        return error;
    if (!out || !resource || !texture)
        return cudaErrorInvalidValue;
    error = create(&handle, resource, texture, view);
    *out = handle;
    return error;
}

static cudaError_t create_surface(cudaSurfaceObject_t *out, const cudaResourceDesc *resource) {
    uint64_t handle = 0;
    cudaError_t error = door_enter(NULL);
    if (error)
        return error;
    if (!out || !resource || resource->resType != cudaResourceTypeArray)
        return cudaErrorInvalidValue;
    error = create(&handle, resource, NULL, NULL);
    *out = handle;
    return error;
}

DOOR_EXPORT(cudaError_t, cudaCreateTextureObject, cudaTextureObject_t *out,
            const cudaResourceDesc *resource, const cudaTextureDesc *texture,
            const cudaResourceViewDesc *view) {
    return door_return(DOOR_CALL(__func__, create_texture(out, resource, texture, view)));
}

DOOR_EXPORT(cudaError_t, cudaCreateSurfaceObject, cudaSurfaceObject_t *out,
            const cudaResourceDesc *resource) {
    return door_return(DOOR_CALL(__func__, create_surface(out, resource)));
}

static object *take_object(uint64_t handle, bool surface) {
    pthread_mutex_lock(&door.lock);
    object **link = &objects;
    while (*link && ((*link)->handle != handle || (*link)->surface != surface))
        link = &(*link)->next;
    object *o = *link;
    if (o)
        *link = o->next;
    pthread_mutex_unlock(&door.lock);
    return o;
}

static cudaError_t destroy(uint64_t handle, bool surface) {
    cudaError_t error = door_enter(NULL);
    if (error || !handle)
        return error;
    object *o = take_object(handle, surface);
    if (!o)
        return cudaErrorInvalidValue;
    emu_object_destroy(o->device->emu, handle);
    free(o);
    return cudaSuccess;
}

DOOR_EXPORT(cudaError_t, cudaDestroyTextureObject, cudaTextureObject_t handle) {
    return door_return(DOOR_CALL(__func__, destroy(handle, false)));
}

DOOR_EXPORT(cudaError_t, cudaDestroySurfaceObject, cudaSurfaceObject_t handle) {
    return door_return(DOOR_CALL(__func__, destroy(handle, true)));
}

void door_forget_objects(const door_device *device) {
    pthread_mutex_lock(&door.lock);
    for (object **link = &objects; *link;) {
        object *o = *link;
        if (o->device != device) {
            link = &o->next;
            continue;
        }
        *link = o->next;
        free(o);
    }
    pthread_mutex_unlock(&door.lock);
}

/* ---- What an object is ------------------------------------------------------------------------
 */

static cudaError_t describe(uint64_t handle, bool surface, object *out) {
    cudaError_t error = door_enter(NULL);
    if (error)
        return error;
    pthread_mutex_lock(&door.lock);
    const object *o = objects;
    while (o && (o->handle != handle || o->surface != surface))
        o = o->next;
    if (o)
        *out = *o;
    pthread_mutex_unlock(&door.lock);
    return o ? cudaSuccess : cudaErrorInvalidValue;
}

#define EXPORT_DESCRIPTION(name, type, surface, refused, member)                                   \
    DOOR_EXPORT(cudaError_t, name, type *out, unsigned long long handle) {                         \
        object o;                                                                                  \
        cudaError_t error = out ? describe(handle, surface, &o) : cudaErrorInvalidValue;           \
        if (!error && (refused))                                                                   \
            error = cudaErrorInvalidValue;                                                         \
        if (!error)                                                                                \
            *out = o.member;                                                                       \
        return door_return(error);                                                                 \
    }
EXPORT_DESCRIPTION(cudaGetTextureObjectResourceDesc, cudaResourceDesc, false, false, resource)
EXPORT_DESCRIPTION(cudaGetTextureObjectTextureDesc, cudaTextureDesc, false, false, texture)
EXPORT_DESCRIPTION(cudaGetTextureObjectResourceViewDesc, cudaResourceViewDesc, false, !o.viewed,
                   view)
EXPORT_DESCRIPTION(cudaGetSurfaceObjectResourceDesc, cudaResourceDesc, true, false, resource)
