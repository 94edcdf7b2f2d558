/* SPDX-License-Identifier: Apache-2.0
 *
 * Libraries through the runtime's door (cudaLibrary*): images that the program loads itself. A
 * library is a module, and belongs to no device; its kernels are launched like any other. Here are
 * also a few functions that are others of this door in a new dress.
 */
#include "emulator/cudart/door.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Libraries --------------------------------------------------------------------------------
 */

static cudaError_t load(door_module **library, const void *code, size_t size) {
    if (!library || !code)
        return cudaErrorInvalidValue;
    return door_image_load(code, size, library);
}

/* Options of the compiler and of the library change nothing here. */
DOOR_EXPORT(cudaError_t, cudaLibraryLoadData, door_module **library, const void *code) {
    return door_return(DOOR_CALL(__func__, load(library, code, 0)));
}

static char *read_file(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    char *bytes = NULL;
    long length = -1;
    if (file && fseek(file, 0, SEEK_END) == 0)
        length = ftell(file);
    if (length >= 0 && fseek(file, 0, SEEK_SET) == 0)
        bytes = malloc((size_t)length + 1);
    if (bytes) {
        *size = fread(bytes, 1, (size_t)length, file);
        bytes[*size] = 0;
    }
    if (file)
        fclose(file);
    return bytes;
}

static cudaError_t load_file(door_module **library, const char *path) {
    size_t size = 0;
    char *bytes = library && path ? read_file(path, &size) : NULL;
    if (!library || !path)
        return cudaErrorInvalidValue;
    if (!bytes)
        return cudaErrorFileNotFound;
    cudaError_t error = load(library, bytes, size);
    free(bytes);
    return error;
}

DOOR_EXPORT(cudaError_t, cudaLibraryLoadFromFile, door_module **library, const char *path) {
    return door_return(DOOR_CALL(__func__, load_file(library, path)));
}

DOOR_EXPORT(cudaError_t, cudaLibraryUnload, door_module *library) {
    return door_return(
        DOOR_CALL(__func__, library ? door_image_unload(library) : cudaErrorInvalidResourceHandle));
}

DOOR_EXPORT(cudaError_t, cudaLibraryGetKernel, cudaKernel_t *kernel, door_module *library,
            const char *name) {
    cudaError_t error = kernel && library && name ? door_image_kernel(library, name, kernel)
                                                  : cudaErrorInvalidValue;
    return door_return(error);
}

DOOR_EXPORT(cudaError_t, cudaLibraryGetKernelCount, unsigned *count, door_module *library) {
    return door_return(count && library ? door_image_kernels(library, NULL, 0, count)
                                        : cudaErrorInvalidValue);
}

DOOR_EXPORT(cudaError_t, cudaLibraryEnumerateKernels, cudaKernel_t *kernels, unsigned room,
            door_module *library) {
    unsigned count;
    return door_return(library && (kernels || !room)
                           ? door_image_kernels(library, kernels, room, &count)
                           : cudaErrorInvalidValue);
}

static cudaError_t get_global(void **address, size_t *size, door_module *library, const char *name,
                              bool managed) {
    uint64_t at, bytes;
    door_place place;
    if (!library || !name)
        return cudaErrorInvalidValue;
    cudaError_t error = door_image_global(library, name, &at, &bytes);
    if (!error && managed &&
        (!door_find_memory((void *)(uintptr_t)at, &place) || place.kind != EMU_MEMORY_MANAGED))
        error = cudaErrorSymbolNotFound;
    if (!error && address)
        *address = (void *)(uintptr_t)at;
    if (!error && size)
        *size = bytes;
    return error;
}

DOOR_EXPORT(cudaError_t, cudaLibraryGetGlobal, void **address, size_t *size, door_module *library,
            const char *name) {
    return door_return(get_global(address, size, library, name, false));
}

DOOR_EXPORT(cudaError_t, cudaLibraryGetManaged, void **address, size_t *size, door_module *library,
            const char *name) {
    return door_return(get_global(address, size, library, name, true));
}

DOOR_EXPORT(cudaError_t, cudaLibraryGetUnifiedFunction, void **function, door_module *library,
            const char *name) {
    return door_return(function && library && name ? cudaErrorSymbolNotFound
                                                   : cudaErrorInvalidValue);
}

__attribute__((visibility("default"))) cudaError_t
cudaFuncSetAttribute(const void *host, cudaFuncAttribute attribute, int value);

DOOR_EXPORT(cudaError_t, cudaKernelSetAttributeForDevice, cudaKernel_t kernel,
            cudaFuncAttribute attribute, int value, int device) {
    (void)device; /* attributes are kept for all devices */
    return kernel ? cudaFuncSetAttribute(kernel->host, attribute, value)
                  : door_return(cudaErrorInvalidResourceHandle);
}

/* ---- Many copies in one call -------------------------------------------------------------------
 */

__attribute__((visibility("default"))) cudaError_t
cudaMemcpyAsync(void *to, const void *from, size_t size, cudaMemcpyKind kind, cudaStream_t stream);

/* Attributes say when a source may be read, which is at once here, and where it is. */
static cudaError_t copy_batch(void *const *to, const void *const *from, const size_t *sizes,
                              size_t count, size_t *failed, cudaStream_t stream) {
    cudaError_t error = to && from && sizes && count ? cudaSuccess : cudaErrorInvalidValue;
    if (failed)
        *failed = SIZE_MAX;
    for (size_t i = 0; !error && i < count; i++) {
        error = cudaMemcpyAsync(to[i], from[i], sizes[i], cudaMemcpyDefault, stream);
        if (error && failed)
            *failed = i;
    }
    return door_return(error);
}

#if DOOR_CUDART < 13
DOOR_EXPORT(cudaError_t, cudaMemcpyBatchAsync, void **to, void **from, size_t *sizes, size_t count,
            void *attributes, size_t *indices, size_t attribute_count, size_t *failed,
            cudaStream_t stream) {
    (void)attributes, (void)indices, (void)attribute_count;
    return copy_batch(to, (const void *const *)from, sizes, count, failed, stream);
}

DOOR_EXPORT(cudaError_t, cudaMemcpyBatchAsync_ptsz, void **to, void **from, size_t *sizes,
            size_t count, void *attributes, size_t *indices, size_t attribute_count, size_t *failed,
            cudaStream_t stream) {
    (void)attributes, (void)indices, (void)attribute_count;
    return copy_batch(to, (const void *const *)from, sizes, count, failed, door_per_thread(stream));
}
#else
DOOR_EXPORT(cudaError_t, cudaMemcpyBatchAsync, void *const *to, const void *const *from,
            const size_t *sizes, size_t count, void *attributes, size_t *indices,
            size_t attribute_count, cudaStream_t stream) {
    (void)attributes, (void)indices, (void)attribute_count;
    return copy_batch(to, from, sizes, count, NULL, stream);
}

DOOR_EXPORT(cudaError_t, cudaMemcpyBatchAsync_ptsz, void *const *to, const void *const *from,
            const size_t *sizes, size_t count, void *attributes, size_t *indices,
            size_t attribute_count, cudaStream_t stream) {
    (void)attributes, (void)indices, (void)attribute_count;
    return copy_batch(to, from, sizes, count, NULL, door_per_thread(stream));
}
#endif
