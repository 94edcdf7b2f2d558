/* SPDX-License-Identifier: Apache-2.0
 *
 * Texture and surface references of modules: the interface of before there were objects. A
 * reference is a variable of the module's PTX; what is bound to it is an object whose handle the
 * variable holds, made anew whenever the reference is changed. Compilers of CUDA 12 and later make
 * no references; PTX of older ones, and written by hand, still has them.
 */
#include "emulator/cuda/array.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { FORMAT_FLOAT = 0x20, OVERRIDE_FORMAT = 1 };

typedef struct texref {
    void *module;
    uint64_t variable; /* its address */
    bool surface;
    bool bound;
    driver_resource resource;
    driver_texture texture;
    int format; /* of memory */
    unsigned channels;
    unsigned long long object;
    struct texref *next;
} texref;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static texref *references;

/* NULL: no reference. */
static texref *find(const void *handle, bool surface) {
    pthread_mutex_lock(&lock);
    texref *r = references;
    while (r && (r != handle || r->surface != surface))
        r = r->next;
    pthread_mutex_unlock(&lock);
    /* a variable is an allocation of its own, and goes with its module */
    uint64_t base, size;
    const bool there = r && driver_doors()->memory_range(r->variable, &base, &size) &&
                       base == r->variable && size == sizeof r->object;
    return there ? r : NULL;
}

static cudaError_t get_reference(void **out, void *module, const char *name, bool surface) {
    uint64_t variable, size;
    if (!out || !name)
        return cudaErrorInvalidValue;
    cudaError_t error = (cudaError_t)driver_doors()->module_global(module, name, &variable, &size);
    if (error)
        return error;
    if (size != sizeof(unsigned long long))
        return cudaErrorSymbolNotFound;
    pthread_mutex_lock(&lock);
    texref *r = references;
    while (r && (r->variable != variable || r->surface != surface))
        r = r->next;
    if (!r && (r = calloc(1, sizeof *r))) {
        *r = (texref){.module = module,
                      .variable = variable,
                      .surface = surface,
                      .texture = {.address = {1, 1, 1}}, /* clamp */
                      .format = FORMAT_FLOAT,
                      .channels = 1,
                      .next = references};
        references = r;
    }
    pthread_mutex_unlock(&lock);
    *out = r;
    return r ? cudaSuccess : cudaErrorMemoryAllocation;
}

static void set_object(texref *r, unsigned long long object) {
    if (r->object && r->surface)
        runtime.cudaDestroySurfaceObject(r->object);
    else if (r->object)
        runtime.cudaDestroyTextureObject(r->object);
    r->object = object;
    memcpy(pointer(r->variable), &object, sizeof object);
}

/* The object as the reference now says it; nothing while nothing is bound. */
static cudaError_t renew(texref *r) {
    unsigned long long object = 0;
    if (!r->bound)
        return cudaSuccess;
    cudaError_t error = driver_make_texture(&object, &r->resource, &r->texture, NULL);
    if (!error)
        set_object(r, object);
    return error;
}

static cudaError_t bind(texref *r, const driver_resource *resource) {
    const texref before = *r;
    r->resource = *resource;
    r->bound = true;
    cudaError_t error = renew(r);
    if (error) {
        r->resource = before.resource;
        r->bound = before.bound;
    }
    return error;
}

/* ---- Binding ----------------------------------------------------------------------------------
 */

static cudaError_t bind_array(void *handle, void *array, unsigned flags, int type) {
    texref *r = find(handle, false);
    if (!r || flags != OVERRIDE_FORMAT)
        return r ? cudaErrorInvalidValue : cudaErrorInvalidResourceHandle;
    return bind(r, &(driver_resource){.type = type, .of.array = array});
}

static cudaError_t bind_linear(size_t *offset, void *handle, device_pointer address, size_t bytes) {
    texref *r = find(handle, false);
    if (!r)
        return cudaErrorInvalidResourceHandle;
    if (offset)
        *offset = 0;
    driver_resource linear = {.type = cudaResourceTypeLinear};
    linear.of.linear.address = address;
    linear.of.linear.format = r->format;
    linear.of.linear.channels = r->channels;
    linear.of.linear.bytes = bytes;
    return bind(r, &linear);
}

static cudaError_t bind_rows(void *handle, const driver_array_2d *desc, device_pointer address,
                             size_t pitch) {
    texref *r = find(handle, false);
    if (!r || !desc)
        return r ? cudaErrorInvalidValue : cudaErrorInvalidResourceHandle;
    driver_resource rows = {.type = cudaResourceTypePitch2D};
    rows.of.pitch.address = address;
    rows.of.pitch.format = desc->format;
    rows.of.pitch.channels = desc->channels;
    rows.of.pitch.width = desc->width;
    rows.of.pitch.height = desc->height;
    rows.of.pitch.pitch = pitch;
    return bind(r, &rows);
}

static cudaError_t bind_surface(void *handle, void *array, unsigned flags) {
    texref *r = find(handle, true);
    unsigned long long object = 0;
    if (!r || flags)
        return r ? cudaErrorInvalidValue : cudaErrorInvalidResourceHandle;
    const cudaResourceDesc resource = {.resType = cudaResourceTypeArray, .res.array.array = array};
    cudaError_t error = runtime.cudaCreateSurfaceObject(&object, &resource);
    if (error)
        return error;
    set_object(r, object);
    r->resource = (driver_resource){.type = cudaResourceTypeArray, .of.array = array};
    r->bound = true;
    return cudaSuccess;
}

DRIVER_CALL(cuModuleGetTexRef, get_reference(out, module, name, false), void **out, void *module,
            const char *name)
DRIVER_CALL(cuModuleGetSurfRef, get_reference(out, module, name, true), void **out, void *module,
            const char *name)
DRIVER_CALL(cuTexRefSetArray, bind_array(handle, array, flags, cudaResourceTypeArray), void *handle,
            void *array, unsigned flags)
DRIVER_CALL(cuTexRefSetMipmappedArray,
            bind_array(handle, array, flags, cudaResourceTypeMipmappedArray), void *handle,
            void *array, unsigned flags)
DRIVER_CALL(cuTexRefSetAddress_v2, bind_linear(offset, handle, address, bytes), size_t *offset,
            void *handle, device_pointer address, size_t bytes)
DRIVER_CALL(cuTexRefSetAddress2D_v2, bind_rows(handle, desc, address, pitch), void *handle,
            const driver_array_2d *desc, device_pointer address, size_t pitch)
DRIVER_CALL(cuTexRefSetAddress2D_v3, bind_rows(handle, desc, address, pitch), void *handle,
            const driver_array_2d *desc, device_pointer address, size_t pitch)
DRIVER_CALL(cuSurfRefSetArray, bind_surface(handle, array, flags), void *handle, void *array,
            unsigned flags)

/* ---- Settings ---------------------------------------------------------------------------------
 */

/* Sets a member and renews what is bound; what cannot be is not set. */
#define SET(handle, valid, assignment)                                                             \
    {                                                                                              \
        texref *r = find(handle, false);                                                           \
        if (!r)                                                                                    \
            return cudaErrorInvalidResourceHandle;                                                 \
        if (!(valid))                                                                              \
            return cudaErrorInvalidValue;                                                          \
        const driver_texture before = r->texture;                                                  \
        assignment;                                                                                \
        cudaError_t error = renew(r);                                                              \
        if (error)                                                                                 \
            r->texture = before;                                                                   \
        return error;                                                                              \
    }

static cudaError_t set_format(void *handle, int format, int channels) {
    cudaChannelFormatDesc desc;
    texref *r = find(handle, false);
    if (!r)
        return cudaErrorInvalidResourceHandle;
    if (!driver_format(format, (unsigned)channels, &desc))
        return cudaErrorInvalidValue;
    r->format = format;
    r->channels = (unsigned)channels;
    if (r->resource.type == cudaResourceTypeLinear) {
        r->resource.of.linear.format = format;
        r->resource.of.linear.channels = (unsigned)channels;
    }
    return renew(r);
}

static cudaError_t set_address_mode(void *handle, int dimension, int mode)
    SET(handle, (unsigned)dimension < 3 && (unsigned)mode < 4,
        r->texture.address[dimension] = mode) static cudaError_t set_filter(void *handle, int mode)
        SET(handle, (unsigned)mode < 2, r->texture.filter = mode) static cudaError_t
    set_mip_filter(void *handle, int mode)
        SET(handle, (unsigned)mode < 2, r->texture.mip_filter = mode) static cudaError_t
    set_mip_bias(void *handle, float bias)
        SET(handle, true, r->texture.mip_bias = bias) static cudaError_t
    set_mip_clamp(void *handle, float least, float most)
        SET(handle, true, r->texture.mip_least = least;
            r->texture.mip_most = most) static cudaError_t
    set_anisotropy(void *handle, unsigned most)
        SET(handle, true, r->texture.anisotropy = most) static cudaError_t
    set_border(void *handle, const float *border)
        SET(handle, border,
            memcpy(r->texture.border, border, sizeof r->texture.border)) static cudaError_t
    set_flags(void *handle, unsigned flags) SET(handle, true, r->texture.flags = flags)

        DRIVER_CALL(cuTexRefSetFormat, set_format(handle, format, channels), void *handle,
                    int format, int channels) DRIVER_CALL(cuTexRefSetAddressMode,
                                                          set_address_mode(handle, dimension, mode),
                                                          void *handle, int dimension, int mode)
            DRIVER_CALL(cuTexRefSetFilterMode, set_filter(handle, mode), void *handle, int mode)
                DRIVER_CALL(cuTexRefSetMipmapFilterMode, set_mip_filter(handle, mode), void *handle,
                            int mode)
                    DRIVER_CALL(cuTexRefSetMipmapLevelBias, set_mip_bias(handle, bias),
                                void *handle, float bias)
                        DRIVER_CALL(cuTexRefSetMipmapLevelClamp, set_mip_clamp(handle, least, most),
                                    void *handle, float least, float most)
                            DRIVER_CALL(cuTexRefSetMaxAnisotropy, set_anisotropy(handle, most),
                                        void *handle, unsigned most)
                                DRIVER_CALL(cuTexRefSetBorderColor, set_border(handle, border),
                                            void *handle, const float *border)
                                    DRIVER_CALL(cuTexRefSetFlags, set_flags(handle, flags),
                                                void *handle, unsigned flags)

/* ---- Questions --------------------------------------------------------------------------------
 */

#define GET(handle, valid, answer)                                                                 \
    {                                                                                              \
        const texref *r = find(handle, false);                                                     \
        if (!r)                                                                                    \
            return cudaErrorInvalidResourceHandle;                                                 \
        if (!(valid))                                                                              \
            return cudaErrorInvalidValue;                                                          \
        answer;                                                                                    \
        return cudaSuccess;                                                                        \
    }

                                        static cudaError_t
    get_array(void **out, void *handle, int type, bool surface) {
    const texref *r = find(handle, surface);
    if (!r)
        return cudaErrorInvalidResourceHandle;
    if (!out || !r->bound || r->resource.type != type)
        return cudaErrorInvalidValue;
    *out = r->resource.of.array;
    return cudaSuccess;
}
static cudaError_t get_address(device_pointer *out, void *handle)
    GET(handle, out && r->bound && r->resource.type >= cudaResourceTypeLinear,
        *out = r->resource.type == cudaResourceTypeLinear
                   ? r->resource.of.linear.address
                   : r->resource.of.pitch.address) static cudaError_t
    get_address_mode(int *out, void *handle, int dimension)
        GET(handle, out && (unsigned)dimension < 3,
            *out = r->texture.address[dimension]) static cudaError_t
    get_filter(int *out, void *handle) GET(handle, out, *out = r->texture.filter) static cudaError_t
    get_flags(unsigned *out, void *handle)
        GET(handle, out, *out = r->texture.flags) static cudaError_t
    get_format(int *format, int *channels,
               void *handle) GET(handle, format || channels, if (format) *format = r->format;
                                 if (channels) *channels = (int)r->channels)

        DRIVER_CALL(cuTexRefGetArray, get_array(out, handle, cudaResourceTypeArray, false),
                    void **out, void *handle)
            DRIVER_CALL(cuTexRefGetMipmappedArray,
                        get_array(out, handle, cudaResourceTypeMipmappedArray, false), void **out,
                        void *handle)
                DRIVER_CALL(cuSurfRefGetArray, get_array(out, handle, cudaResourceTypeArray, true),
                            void **out, void *handle) DRIVER_CALL(cuTexRefGetAddress_v2,
                                                                  get_address(out, handle),
                                                                  device_pointer *out, void *handle)
                    DRIVER_CALL(cuTexRefGetAddressMode, get_address_mode(out, handle, dimension),
                                int *out, void *handle, int dimension)
                        DRIVER_CALL(cuTexRefGetFilterMode, get_filter(out, handle), int *out,
                                    void *handle)
                            DRIVER_CALL(cuTexRefGetFlags, get_flags(out, handle), unsigned *out,
                                        void *handle)
                                DRIVER_CALL(cuTexRefGetFormat, get_format(format, channels, handle),
                                            int *format, int *channels, void *handle)
