/* SPDX-License-Identifier: Apache-2.0
 *
 * Texture and surface objects through the driver's door: its descriptions, turned into the
 * runtime's and back.
 */
#include "emulator/cuda/array.h"
#include <string.h>

/* ---- There ------------------------------------------------------------------------------------
 */

/* FORMAT: of the texels. */
static cudaError_t resource_of(const driver_resource *r, cudaResourceDesc *out,
                               cudaChannelFormatDesc *format) {
    cudaArray_t level = NULL;
    cudaError_t error;
    *out = (cudaResourceDesc){.resType = r->type};
    switch (r->type) {
    case cudaResourceTypeArray:
        out->res.array.array = r->of.array;
        return runtime.cudaGetChannelDesc(format, r->of.array);
    case cudaResourceTypeMipmappedArray:
        out->res.mipmap.mipmap = r->of.array;
        error = runtime.cudaGetMipmappedArrayLevel(&level, r->of.array, 0);
        return error ? error : runtime.cudaGetChannelDesc(format, level);
    case cudaResourceTypeLinear:
        if (!driver_format(r->of.linear.format, r->of.linear.channels, format))
            return cudaErrorInvalidValue;
        out->res.linear.devPtr = pointer(r->of.linear.address);
        out->res.linear.desc = *format;
        out->res.linear.sizeInBytes = r->of.linear.bytes;
        return cudaSuccess;
    case cudaResourceTypePitch2D:
        if (!driver_format(r->of.pitch.format, r->of.pitch.channels, format))
            return cudaErrorInvalidValue;
        out->res.pitch2D.devPtr = pointer(r->of.pitch.address);
        out->res.pitch2D.desc = *format;
        out->res.pitch2D.width = r->of.pitch.width;
        out->res.pitch2D.height = r->of.pitch.height;
        out->res.pitch2D.pitchInBytes = r->of.pitch.pitch;
        return cudaSuccess;
    default:
        return cudaErrorInvalidValue;
    }
}

/* Integers of 8 and 16 bits become floats unless they are asked for as they are. */
static bool is_promoted(const cudaChannelFormatDesc *format) {
    return format->f <= cudaChannelFormatKindUnsigned && format->x < 32;
}

cudaError_t driver_make_texture(unsigned long long *object, const driver_resource *resource,
                                const driver_texture *t, const void *view) {
    cudaResourceDesc r;
    cudaChannelFormatDesc format = {0};
    if (!object || !resource || !t)
        return cudaErrorInvalidValue;
    cudaError_t error = resource_of(resource, &r, &format);
    if (error)
        return error;
    cudaTextureDesc d = {.filterMode = t->filter,
                         .readMode = !(t->flags & TEXTURE_READ_AS_INTEGER) && is_promoted(&format),
                         .sRGB = (t->flags & TEXTURE_SRGB) != 0,
                         .normalizedCoords = (t->flags & TEXTURE_NORMALIZED_COORDINATES) != 0,
                         .maxAnisotropy = t->anisotropy,
                         .mipmapFilterMode = t->mip_filter,
                         .mipmapLevelBias = t->mip_bias,
                         .minMipmapLevelClamp = t->mip_least,
                         .maxMipmapLevelClamp = t->mip_most,
                         .disableTrilinearOptimization =
                             (t->flags & TEXTURE_NO_TRILINEAR_OPTIMIZATION) != 0,
                         .seamlessCubemap = (t->flags & TEXTURE_SEAMLESS) != 0};
    memcpy(d.addressMode, t->address, sizeof d.addressMode);
    memcpy(d.borderColor, t->border, sizeof d.borderColor);
    return runtime.cudaCreateTextureObject(object, &r, &d, view);
}

static cudaError_t make_surface(unsigned long long *object, const driver_resource *resource) {
    cudaResourceDesc r;
    cudaChannelFormatDesc format;
    if (!object || !resource)
        return cudaErrorInvalidValue;
    cudaError_t error = resource_of(resource, &r, &format);
    return error ? error : runtime.cudaCreateSurfaceObject(object, &r);
}

/* ---- And back ---------------------------------------------------------------------------------
 */

static void resource_back(const cudaResourceDesc *r, driver_resource *out) {
    *out = (driver_resource){.type = r->resType};
    switch (r->resType) {
    case cudaResourceTypeLinear:
        out->of.linear.address = (device_pointer)(uintptr_t)r->res.linear.devPtr;
        out->of.linear.bytes = r->res.linear.sizeInBytes;
        driver_format_of(&r->res.linear.desc, &out->of.linear.format, &out->of.linear.channels);
        break;
    case cudaResourceTypePitch2D:
        out->of.pitch.address = (device_pointer)(uintptr_t)r->res.pitch2D.devPtr;
        out->of.pitch.width = r->res.pitch2D.width;
        out->of.pitch.height = r->res.pitch2D.height;
        out->of.pitch.pitch = r->res.pitch2D.pitchInBytes;
        driver_format_of(&r->res.pitch2D.desc, &out->of.pitch.format, &out->of.pitch.channels);
        break;
    default:
        out->of.array = r->res.array.array;
    }
}

static cudaError_t get_resource(driver_resource *out, unsigned long long object, bool surface) {
    cudaResourceDesc r;
    if (!out)
        return cudaErrorInvalidValue;
    cudaError_t error = surface ? runtime.cudaGetSurfaceObjectResourceDesc(&r, object)
                                : runtime.cudaGetTextureObjectResourceDesc(&r, object);
    if (!error)
        resource_back(&r, out);
    return error;
}

static cudaError_t get_texture(driver_texture *out, unsigned long long object) {
    cudaTextureDesc d;
    cudaResourceDesc r;
    driver_resource resource;
    cudaChannelFormatDesc format = {0};
    if (!out)
        return cudaErrorInvalidValue;
    cudaError_t error = runtime.cudaGetTextureObjectTextureDesc(&d, object);
    if (!error)
        error = get_resource(&resource, object, false);
    if (!error)
        error = resource_of(&resource, &r, &format);
    if (error)
        return error;
    *out = (driver_texture){.filter = d.filterMode,
                            .anisotropy = d.maxAnisotropy,
                            .mip_filter = d.mipmapFilterMode,
                            .mip_bias = d.mipmapLevelBias,
                            .mip_least = d.minMipmapLevelClamp,
                            .mip_most = d.maxMipmapLevelClamp};
    out->flags =
        (d.readMode == 0 && is_promoted(&format) ? (unsigned)TEXTURE_READ_AS_INTEGER : 0) |
        (d.normalizedCoords ? (unsigned)TEXTURE_NORMALIZED_COORDINATES : 0) |
        (d.sRGB ? (unsigned)TEXTURE_SRGB : 0) |
        (d.disableTrilinearOptimization ? (unsigned)TEXTURE_NO_TRILINEAR_OPTIMIZATION : 0) |
        (d.seamlessCubemap ? (unsigned)TEXTURE_SEAMLESS : 0);
    memcpy(out->address, d.addressMode, sizeof out->address);
    memcpy(out->border, d.borderColor, sizeof out->border);
    return cudaSuccess;
}

/* ---- Exports ----------------------------------------------------------------------------------
 */

DRIVER_CALL(cuTexObjectCreate, driver_make_texture(object, resource, texture, view),
            unsigned long long *object, const driver_resource *resource,
            const driver_texture *texture, const cudaResourceViewDesc *view)
DRIVER_CALL(cuTexObjectDestroy, runtime.cudaDestroyTextureObject(object), unsigned long long object)
DRIVER_CALL(cuTexObjectGetResourceDesc, get_resource(out, object, false), driver_resource *out,
            unsigned long long object)
DRIVER_CALL(cuTexObjectGetTextureDesc, get_texture(out, object), driver_texture *out,
            unsigned long long object)
DRIVER_CALL(cuTexObjectGetResourceViewDesc,
            runtime.cudaGetTextureObjectResourceViewDesc(out, object), cudaResourceViewDesc *out,
            unsigned long long object)
DRIVER_CALL(cuSurfObjectCreate, make_surface(object, resource), unsigned long long *object,
            const driver_resource *resource)
DRIVER_CALL(cuSurfObjectDestroy, runtime.cudaDestroySurfaceObject(object),
            unsigned long long object)
DRIVER_CALL(cuSurfObjectGetResourceDesc, get_resource(out, object, true), driver_resource *out,
            unsigned long long object)
