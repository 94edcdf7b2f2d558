/* SPDX-License-Identifier: Apache-2.0
 *
 * Modules, libraries, kernels and launches through the driver's door. A CUmodule and a CUlibrary
 * are the runtime door's module, a CUfunction and a CUkernel its kernel.
 */
#include "emulator/cuda/driver.h"
#include "emulator/cuda/link.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Modules ---------------------------------------------------------------------------------
 */

static cudaError_t load(void **module, const void *image) {
    if (!module || !image)
        return cudaErrorInvalidValue;
    return (cudaError_t)driver_doors()->module_load(image, 0, module);
}

char *driver_read_file(const char *path, size_t *size) {
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

static cudaError_t load_file(void **module, const char *path) {
    size_t size = 0;
    char *bytes = module && path ? driver_read_file(path, &size) : NULL;
    if (!module || !path)
        return cudaErrorInvalidValue;
    if (!bytes)
        return (cudaError_t)CUDA_ERROR_FILE_NOT_FOUND;
    cudaError_t error = (cudaError_t)driver_doors()->module_load(bytes, size, module);
    free(bytes);
    return error;
}

static cudaError_t get_kernel(void **kernel, void *module, const char *name) {
    if (!kernel || !module || !name)
        return cudaErrorInvalidValue;
    return (cudaError_t)driver_doors()->module_kernel(module, name, kernel);
}

static cudaError_t get_global(device_pointer *address, size_t *size, void *module,
                              const char *name) {
    uint64_t at, length;
    if (!module || !name)
        return cudaErrorInvalidValue;
    cudaError_t error = (cudaError_t)driver_doors()->module_global(module, name, &at, &length);
    if (!error && address)
        *address = at;
    if (!error && size)
        *size = length;
    return error;
}

static cudaError_t unload(void *module) {
    return module ? (cudaError_t)driver_doors()->module_unload(module)
                  : cudaErrorInvalidResourceHandle;
}

static cudaError_t load_with(void **module, const void *image, unsigned count, const int *options,
                             void **values) {
    cudaError_t error = load(module, image);
    jit_report(&(link_options){count, options, values});
    return error;
}

DRIVER_CALL_TOLD(cuModuleLoad, (module, path), load_file(module, path), void **module,
                 const char *path)
DRIVER_CALL_TOLD(cuModuleLoadData, (module, image), load(module, image), void **module,
                 const void *image)
DRIVER_CALL_TOLD(cuModuleLoadDataEx, (module, image, count, options, values),
                 load_with(module, image, count, options, values), void **module, const void *image,
                 unsigned count, int *options, void **values)
DRIVER_CALL_TOLD(cuModuleLoadFatBinary, (module, image), load(module, image), void **module,
                 const void *image)
DRIVER_CALL_TOLD(cuModuleUnload, (module), unload(module), void *module)
DRIVER_CALL_TOLD(cuModuleGetFunction, (kernel, module, name), get_kernel(kernel, module, name),
                 void **kernel, void *module, const char *name)
DRIVER_CALL_TOLD(cuModuleGetGlobal_v2, (address, size, module, name),
                 get_global(address, size, module, name), device_pointer *address, size_t *size,
                 void *module, const char *name)

DRIVER_EXPORT(cuModuleGetLoadingMode, int *mode) {
    enum { EAGER = 1 };
    if (!mode)
        return CUDA_ERROR_INVALID_VALUE;
    *mode = EAGER;
    return CUDA_SUCCESS;
}

/* Libraries belong to no context: what is loaded at once here is loaded on the current device. */
DRIVER_CALL_TOLD(cuLibraryLoadData,
                 (library, code, jit_options, jit_values, jit_count, options, values, count),
                 load_with(library, code, jit_count, jit_options, jit_values), void **library,
                 const void *code, int *jit_options, void **jit_values, unsigned jit_count,
                 int *options, void **values, unsigned count)
DRIVER_CALL_TOLD(cuLibraryLoadFromFile,
                 (library, path, jit_options, jit_values, jit_count, options, values, count),
                 load_file(library, path), void **library, const char *path, int *jit_options,
                 void **jit_values, unsigned jit_count, int *options, void **values, unsigned count)
DRIVER_CALL_TOLD(cuLibraryUnload, (library), unload(library), void *library)
DRIVER_CALL_TOLD(cuLibraryGetKernel, (kernel, library, name), get_kernel(kernel, library, name),
                 void **kernel, void *library, const char *name)
DRIVER_CALL_TOLD(cuLibraryGetModule, (module, library), (*module = library, cudaSuccess),
                 void **module, void *library)
DRIVER_CALL_TOLD(cuLibraryGetGlobal, (address, size, library, name),
                 get_global(address, size, library, name), device_pointer *address, size_t *size,
                 void *library, const char *name)
DRIVER_CALL_TOLD(cuKernelGetFunction, (function, kernel), (*function = kernel, cudaSuccess),
                 void **function, void *kernel)

static cudaError_t list_kernels(void **kernels, unsigned room, void *module, unsigned *count) {
    unsigned n = 0;
    if (!module)
        return cudaErrorInvalidResourceHandle;
    if (room && !kernels)
        return cudaErrorInvalidValue;
    cudaError_t error = (cudaError_t)driver_doors()->module_kernels(module, kernels, room, &n);
    if (count)
        *count = n;
    return error;
}

static cudaError_t module_of(void **module, const void *kernel) {
    if (!module || !kernel)
        return cudaErrorInvalidValue;
    *module = driver_doors()->kernel_module(kernel);
    return cudaSuccess;
}

/* Managed variables only: they are those whose memory both sides may use. */
static cudaError_t get_managed(device_pointer *address, size_t *size, void *library,
                               const char *name) {
    cudaPointerAttributes a;
    device_pointer at;
    cudaError_t error = get_global(&at, size, library, name);
    if (!error)
        error = runtime.cudaPointerGetAttributes(&a, pointer(at));
    if (!error && a.type != cudaMemoryTypeManaged)
        error = cudaErrorSymbolNotFound;
    if (!error && address)
        *address = at;
    return error;
}

DRIVER_CALL_TOLD(cuModuleGetFunctionCount, (count, module),
                 count ? list_kernels(NULL, 0, module, count) : cudaErrorInvalidValue,
                 unsigned *count, void *module)
DRIVER_CALL_TOLD(cuModuleEnumerateFunctions, (functions, room, module),
                 list_kernels(functions, room, module, NULL), void **functions, unsigned room,
                 void *module)
DRIVER_CALL_TOLD(cuLibraryGetKernelCount, (count, library),
                 count ? list_kernels(NULL, 0, library, count) : cudaErrorInvalidValue,
                 unsigned *count, void *library)
DRIVER_CALL_TOLD(cuLibraryEnumerateKernels, (kernels, room, library),
                 list_kernels(kernels, room, library, NULL), void **kernels, unsigned room,
                 void *library)
DRIVER_CALL_TOLD(cuLibraryGetManaged, (address, size, library, name),
                 get_managed(address, size, library, name), device_pointer *address, size_t *size,
                 void *library, const char *name)
DRIVER_CALL_TOLD(cuLibraryGetUnifiedFunction, (function, library, name), cudaErrorSymbolNotFound,
                 void **function, void *library, const char *name)
DRIVER_CALL_TOLD(cuFuncGetModule, (module, kernel), module_of(module, kernel), void **module,
                 void *kernel)
DRIVER_CALL_TOLD(cuKernelGetLibrary, (library, kernel), module_of(library, kernel), void **library,
                 void *kernel)
DRIVER_CALL_TOLD(cuFuncLoad, (kernel), kernel ? cudaSuccess : cudaErrorInvalidResourceHandle,
                 void *kernel)
DRIVER_CALL_TOLD(cuFuncIsLoaded, (state, kernel),
                 state ? (*state = 1, cudaSuccess) : cudaErrorInvalidValue, int *state,
                 void *kernel)

/* ---- Kernels ---------------------------------------------------------------------------------
 */

static const void *host_of(const void *kernel) {
    return kernel ? driver_doors()->kernel_host(kernel) : NULL;
}

static cudaError_t get_name(const char **name, const void *kernel) {
    if (!name || !kernel)
        return cudaErrorInvalidValue;
    *name = driver_doors()->kernel_name(kernel);
    return cudaSuccess;
}

enum { FUNCTION_MAX_DYNAMIC_SHARED = 8, FUNCTION_CARVEOUT = 9, FUNCTION_ATTRIBUTES = 16 };

static cudaError_t get_attribute(int *value, int attribute, const void *kernel) {
    cudaFuncAttributes a;
    if (!value || attribute < 0 || attribute >= FUNCTION_ATTRIBUTES)
        return cudaErrorInvalidValue;
    cudaError_t error = runtime.cudaFuncGetAttributes(&a, host_of(kernel));
    const int values[FUNCTION_ATTRIBUTES] = {a.maxThreadsPerBlock,
                                             (int)a.sharedSizeBytes,
                                             (int)a.constSizeBytes,
                                             (int)a.localSizeBytes,
                                             a.numRegs,
                                             a.ptxVersion,
                                             a.binaryVersion,
                                             a.cacheModeCA,
                                             a.maxDynamicSharedSizeBytes,
                                             a.preferredShmemCarveout};
    if (!error)
        *value = values[attribute];
    return error;
}

DRIVER_CALL_TOLD(cuFuncGetName, (name, kernel), get_name(name, kernel), const char **name,
                 void *kernel)
DRIVER_CALL_TOLD(cuKernelGetName, (name, kernel), get_name(name, kernel), const char **name,
                 void *kernel)
DRIVER_CALL_TOLD(cuFuncGetAttribute, (value, attribute, kernel),
                 get_attribute(value, attribute, kernel), int *value, int attribute, void *kernel)
DRIVER_CALL_TOLD(cuKernelGetAttribute, (value, attribute, kernel, device),
                 get_attribute(value, attribute, kernel), int *value, int attribute, void *kernel,
                 int device)
DRIVER_CALL_TOLD(cuFuncSetAttribute, (kernel, attribute, value),
                 runtime.cudaFuncSetAttribute(host_of(kernel), attribute, value), void *kernel,
                 int attribute, int value)
DRIVER_CALL_TOLD(cuKernelSetAttribute, (attribute, value, kernel, device),
                 runtime.cudaFuncSetAttribute(host_of(kernel), attribute, value), int attribute,
                 int value, void *kernel, int device)
DRIVER_CALL_TOLD(cuFuncGetParamInfo, (kernel, index, offset, size),
                 runtime.cudaFuncGetParamInfo(host_of(kernel), index, offset, size), void *kernel,
                 size_t index, size_t *offset, size_t *size)
DRIVER_CALL_TOLD(cuKernelGetParamInfo, (kernel, index, offset, size),
                 runtime.cudaFuncGetParamInfo(host_of(kernel), index, offset, size), void *kernel,
                 size_t index, size_t *offset, size_t *size)
DRIVER_CALL_TOLD(cuKernelSetCacheConfig, (kernel, config, device),
                 kernel ? cudaSuccess : cudaErrorInvalidResourceHandle, void *kernel, int config,
                 int device)
DRIVER_CALL_TOLD(cuFuncSetCacheConfig, (kernel, config),
                 kernel ? cudaSuccess : cudaErrorInvalidResourceHandle, void *kernel, int config)
DRIVER_CALL_TOLD(cuFuncSetSharedMemConfig, (kernel, config),
                 kernel ? cudaSuccess : cudaErrorInvalidResourceHandle, void *kernel, int config)

/* ---- Occupancy -------------------------------------------------------------------------------
 */

typedef size_t (*shared_of_block)(int block);

/* The block that keeps most threads resident, the largest of equals. */
static cudaError_t best_block(int *grid, int *block, const void *kernel, shared_of_block shared_of,
                              size_t shared, int limit) {
    int most = 0, resident_best = 0, multiprocessors = 0, limit_kernel = 0;
    cudaError_t error = get_attribute(&limit_kernel, 0, kernel);
    if (!grid || !block)
        return cudaErrorInvalidValue;
    if (!error)
        error = runtime.cudaDeviceGetAttribute(&multiprocessors, 16, driver_device());
    int top = limit > 0 && limit < limit_kernel ? limit : limit_kernel;
    for (int threads = (top + 31) / 32 * 32; !error && threads > 0; threads -= 32) {
        int blocks = 0, tried = threads < top ? threads : top;
        error = runtime.cudaOccupancyMaxActiveBlocksPerMultiprocessor(
            &blocks, host_of(kernel), tried, shared_of ? shared_of(tried) : shared);
        if (!error && blocks * tried > resident_best) {
            resident_best = blocks * tried;
            most = blocks;
            *block = tried;
        }
    }
    if (!error)
        *grid = most * multiprocessors;
    return error;
}

DRIVER_CALL_TOLD(cuOccupancyMaxActiveBlocksPerMultiprocessor, (blocks, kernel, threads, shared),
                 runtime.cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, host_of(kernel),
                                                                       threads, shared),
                 int *blocks, void *kernel, int threads, size_t shared)
DRIVER_CALL_TOLD(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,
                 (blocks, kernel, threads, shared, flags),
                 runtime.cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, host_of(kernel),
                                                                       threads, shared),
                 int *blocks, void *kernel, int threads, size_t shared, unsigned flags)
DRIVER_CALL_TOLD(cuOccupancyAvailableDynamicSMemPerBlock, (bytes, kernel, blocks, threads),
                 runtime.cudaOccupancyAvailableDynamicSMemPerBlock(bytes, host_of(kernel), blocks,
                                                                   threads),
                 size_t *bytes, void *kernel, int blocks, int threads)
DRIVER_CALL_TOLD(cuOccupancyMaxPotentialBlockSize, (grid, block, kernel, shared_of, shared, limit),
                 best_block(grid, block, kernel, shared_of, shared, limit), int *grid, int *block,
                 void *kernel, shared_of_block shared_of, size_t shared, int limit)
DRIVER_CALL_TOLD(cuOccupancyMaxPotentialBlockSizeWithFlags,
                 (grid, block, kernel, shared_of, shared, limit, flags),
                 best_block(grid, block, kernel, shared_of, shared, limit), int *grid, int *block,
                 void *kernel, shared_of_block shared_of, size_t shared, int limit, unsigned flags)

/* ---- Launches --------------------------------------------------------------------------------
 */

enum { MAX_PARAMETERS = 1024 };

/* The arguments of cuLaunchKernel, as observers get them: in the order of the call. */
typedef struct launch_arguments {
    void *kernel;
    unsigned grid[3], block[3], shared;
    cudaStream_t stream;
    void **parameters, **extra;
} launch_arguments;

/* Arguments packed in one buffer (CU_LAUNCH_PARAM_BUFFER_POINTER 1, _SIZE 2, _END 0). */
static cudaError_t unpack(const launch_arguments *a, void **parameters) {
    char *buffer = NULL;
    size_t size = 0, offset, length, n = 0;
    for (void **e = a->extra; *e; e += 2)
        if (*e == (void *)1)
            buffer = e[1];
        else if (*e == (void *)2)
            size = *(size_t *)e[1];
        else
            return cudaErrorInvalidValue;
    while (n < MAX_PARAMETERS &&
           runtime.cudaFuncGetParamInfo(host_of(a->kernel), n, &offset, &length) == cudaSuccess) {
        if (!buffer || length > size || offset > size - length)
            return cudaErrorInvalidValue;
        parameters[n++] = buffer + offset;
    }
    return cudaSuccess;
}

static cudaError_t launch(const launch_arguments *a, bool cooperative) {
    void *unpacked[MAX_PARAMETERS];
    void **parameters = a->parameters;
    dim3 grid = {a->grid[0], a->grid[1], a->grid[2]},
         block = {a->block[0], a->block[1], a->block[2]};
    if (!a->kernel)
        return cudaErrorInvalidResourceHandle;
    if (a->extra && a->parameters)
        return cudaErrorInvalidValue;
    if (a->extra) {
        cudaError_t error = unpack(a, unpacked);
        if (error)
            return error;
        parameters = unpacked;
    }
    return cooperative ? runtime.cudaLaunchCooperativeKernel(host_of(a->kernel), grid, block,
                                                             parameters, a->shared, a->stream)
                       : runtime.cudaLaunchKernel(host_of(a->kernel), grid, block, parameters,
                                                  a->shared, a->stream);
}

static int launch_told(const char *function, const launch_arguments *a, bool cooperative) {
    int refused = driver_begin(function, true);
    if (refused)
        return refused;
    driver_doors()->enter(function, a->kernel ? driver_doors()->kernel_name(a->kernel) : NULL, a);
    return driver_leave((int)launch(a, cooperative));
}

DRIVER_EXPORT(cuLaunchKernel, void *kernel, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
              unsigned by, unsigned bz, unsigned shared, cudaStream_t stream, void **parameters,
              void **extra) {
    const launch_arguments a = {kernel, {gx, gy, gz}, {bx, by, bz}, shared,
                                stream, parameters,   extra};
    return launch_told(__func__, &a, false);
}

DRIVER_EXPORT(cuLaunchKernel_ptsz, void *kernel, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
              unsigned by, unsigned bz, unsigned shared, cudaStream_t stream, void **parameters,
              void **extra) {
    const launch_arguments a = {
        kernel,     {gx, gy, gz}, {bx, by, bz}, shared, stream ? stream : cudaStreamPerThread,
        parameters, extra};
    return launch_told(__func__, &a, false);
}

DRIVER_EXPORT(cuLaunchCooperativeKernel, void *kernel, unsigned gx, unsigned gy, unsigned gz,
              unsigned bx, unsigned by, unsigned bz, unsigned shared, cudaStream_t stream,
              void **parameters) {
    const launch_arguments a = {kernel, {gx, gy, gz}, {bx, by, bz}, shared,
                                stream, parameters,   NULL};
    return launch_told(__func__, &a, true);
}

DRIVER_EXPORT(cuLaunchCooperativeKernel_ptsz, void *kernel, unsigned gx, unsigned gy, unsigned gz,
              unsigned bx, unsigned by, unsigned bz, unsigned shared, cudaStream_t stream,
              void **parameters) {
    const launch_arguments a = {
        kernel,     {gx, gy, gz}, {bx, by, bz}, shared, stream ? stream : cudaStreamPerThread,
        parameters, NULL};
    return launch_told(__func__, &a, true);
}

static cudaError_t launch_config(const driver_launch_config *c, cudaStream_t stream,
                                 const void *kernel, void **parameters) {
    const cudaLaunchConfig_t config = {.gridDim = {c->grid[0], c->grid[1], c->grid[2]},
                                       .blockDim = {c->block[0], c->block[1], c->block[2]},
                                       .dynamicSmemBytes = c->shared,
                                       .stream = stream,
                                       .attrs = c->attributes,
                                       .numAttrs = c->attribute_count};
    return runtime.cudaLaunchKernelExC(&config, host_of(kernel), parameters);
}

static int launch_ex(const char *function, const driver_launch_config *c, cudaStream_t stream,
                     void *kernel, void **parameters, void **extra) {
    const struct {
        const driver_launch_config *config;
        void *kernel;
        void **parameters, **extra;
    } told = {c, kernel, parameters, extra};
    int refused = driver_begin(function, true);
    if (refused)
        return refused;
    if (!c || !kernel || (extra && parameters))
        return CUDA_ERROR_INVALID_VALUE;
    if (extra)
        return driver_not_supported("cuLaunchKernelEx with packed arguments");
    driver_doors()->enter(function, driver_doors()->kernel_name(kernel), &told);
    return driver_leave((int)launch_config(c, stream, kernel, parameters));
}

DRIVER_EXPORT(cuLaunchKernelEx, const driver_launch_config *config, void *kernel, void **parameters,
              void **extra) {
    return launch_ex(__func__, config, config ? config->stream : NULL, kernel, parameters, extra);
}

DRIVER_EXPORT(cuLaunchKernelEx_ptsz, const driver_launch_config *config, void *kernel,
              void **parameters, void **extra) {
    cudaStream_t stream = config && config->stream ? config->stream : cudaStreamPerThread;
    return launch_ex(__func__, config, stream, kernel, parameters, extra);
}
