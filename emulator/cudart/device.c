/* SPDX-License-Identifier: Apache-2.0
 *
 * Devices: choice, properties, attributes, limits, peers. What the hardware database does not know
 * is what every current device has (limits of textures, grids) or 0.
 */
#include "emulator/cudart/array.h"
#include "emulator/cudart/door.h"
#include "emulator/cudart/virtual.h"
#include "emulator/cudart/visible.h"
#include "emulator/memory/model.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DRIVER_VERSION = DOOR_CUDART >= 13 ? 13000 : 12080, MAX_GRID_YZ = 65535, WARP = 32 };

static door_device *device_at(int index) {
    return index >= 0 && index < door.device_count ? &door.device[index] : NULL;
}

/* ---- Choice -----------------------------------------------------------------------------------
 */

DOOR_EXPORT(cudaError_t, cudaGetDeviceCount, int *count) {
    cudaError_t error = door_enter_query();
    if (!count)
        return door_return(cudaErrorInvalidValue);
    *count = error ? 0 : door.device_count;
    return door_return(error);
}

DOOR_EXPORT(cudaError_t, cudaGetDevice, int *device) {
    cudaError_t error = door_enter_query();
    if (!error && !device)
        error = cudaErrorInvalidValue;
    if (!error)
        *device = door_self.device;
    return door_return(error);
}

static cudaError_t set_device(int device) {
    cudaError_t error = door_enter_query();
    if (error)
        return error;
    if (!device_at(device))
        return cudaErrorInvalidDevice;
    door_self.device = device;
    return door_open_device(device_at(device), true); /* since CUDA 12 */
}

DOOR_EXPORT(cudaError_t, cudaSetDevice, int device) {
    return door_return(set_device(device));
}

DOOR_EXPORT(cudaError_t, cudaInitDevice, int device, unsigned device_flags, unsigned flags) {
    (void)device_flags, (void)flags;
    cudaError_t error = door_enter_query();
    if (!error && !device_at(device))
        error = cudaErrorInvalidDevice;
    return door_return(error ? error : door_open_device(device_at(device), true));
}

DOOR_EXPORT(cudaError_t, cudaSetValidDevices, const int *devices, int count) {
    cudaError_t error = door_enter_query();
    for (int i = 0; !error && i < count; i++)
        if (!device_at(devices[i]))
            error = cudaErrorInvalidDevice;
    return door_return(error);
}

DOOR_EXPORT(cudaError_t, cudaGetDeviceFlags, unsigned *flags) {
    cudaError_t error = door_enter_query();
    if (!error && !flags)
        error = cudaErrorInvalidValue;
    if (!error)
        *flags = door.device[door_self.device].flags;
    return door_return(error);
}

DOOR_EXPORT(cudaError_t, cudaSetDeviceFlags, unsigned flags) {
    cudaError_t error = door_enter_query();
    if (!error)
        door.device[door_self.device].flags = flags;
    return door_return(error);
}

DOOR_EXPORT(cudaError_t, cudaDriverGetVersion, int *version) {
    if (!version)
        return door_return(cudaErrorInvalidValue);
    *version = DRIVER_VERSION;
    return cudaSuccess;
}

DOOR_EXPORT(cudaError_t, cudaRuntimeGetVersion, int *version) {
    if (!version)
        return door_return(cudaErrorInvalidValue);
    *version = DRIVER_VERSION;
    return cudaSuccess;
}

/* ---- Properties -------------------------------------------------------------------------------
 */

static int khz(double hz) {
    return (int)(hz / 1e3);
}

static void fill_textures(cudaDeviceProp *p) {
    p->maxTexture1D = p->maxTexture2D[0] = p->maxTexture2DLinear[0] = 131072;
    p->maxTexture2D[1] = p->maxTexture2DLinear[1] = 65536;
    p->maxTexture1DMipmap = p->maxTexture2DMipmap[0] = p->maxTexture2DMipmap[1] = 32768;
    p->maxTexture2DLinear[2] = 2097120;
    p->maxTexture2DGather[0] = p->maxTexture2DGather[1] = 32768;
    for (int i = 0; i < 3; i++) {
        p->maxTexture3D[i] = 16384;
        p->maxSurface3D[i] = 16384;
    }
    p->maxTexture3DAlt[0] = p->maxTexture3DAlt[1] = 8192;
    p->maxTexture3DAlt[2] = 32768;
    p->maxTextureCubemap = p->maxSurfaceCubemap = 32768;
    p->maxTexture1DLayered[0] = p->maxTexture2DLayered[0] = p->maxTexture2DLayered[1] = 32768;
    p->maxTexture1DLayered[1] = p->maxTexture2DLayered[2] = 2048;
    p->maxTextureCubemapLayered[0] = 32768;
    p->maxTextureCubemapLayered[1] = 2046;
    p->maxSurface1D = p->maxSurface1DLayered[0] = 32768;
    p->maxSurface2D[0] = 131072;
    p->maxSurface2D[1] = 65536;
    p->maxSurface2DLayered[0] = p->maxSurface2DLayered[1] = 32768;
    p->maxSurface1DLayered[1] = p->maxSurface2DLayered[2] = 2048;
    p->maxSurfaceCubemapLayered[0] = 32768;
    p->maxSurfaceCubemapLayered[1] = 2046;
    p->textureAlignment = p->surfaceAlignment = 512;
    p->texturePitchAlignment = 32;
}

#if DOOR_CUDART < 13
static void fill_clocks(const emu_device_spec *s, cudaDeviceProp *p) {
    p->clockRate = khz(s->sm_clock_hz);
    p->memoryClockRate = khz(s->memory_clock_hz);
    p->deviceOverlap = 1;
    if (s->fp64_per_clk > 0)
        p->singleToDoublePrecisionPerfRatio = (int)(s->fp32_per_clk / s->fp64_per_clk);
}
#endif

/* Of the L2 three quarters may be set aside, on chips that can. */
static size_t max_persisting(const door_device *d) {
    return d->profile.spec.cc_major >= 8 ? d->profile.spec.l2_bytes / 4 * 3 : 0;
}

static void fill_properties(const door_device *d, cudaDeviceProp *p) {
    const emu_device_spec *s = &d->profile.spec;
    memset(p, 0, sizeof *p);
    snprintf(p->name, sizeof p->name, "%s", s->name);
    emu_device_uuid(d->physical, p->uuid, NULL);
    p->totalGlobalMem = s->memory_bytes;
    p->sharedMemPerBlock = s->shared_bytes_per_block;
    p->sharedMemPerBlockOptin = s->shared_bytes_per_block_optin;
    p->sharedMemPerMultiprocessor = s->shared_bytes_per_sm;
    p->reservedSharedMemPerBlock = emu_model_reserved_shared(s);
    p->regsPerBlock = (int)d->profile.registers_per_block;
    p->regsPerMultiprocessor = (int)s->registers_per_sm;
    p->warpSize = WARP;
    p->memPitch = INT32_MAX;
    p->maxThreadsPerBlock = (int)d->profile.max_threads_per_block;
    p->maxThreadsDim[0] = p->maxThreadsDim[1] = 1024;
    p->maxThreadsDim[2] = 64;
    p->maxGridSize[0] = INT32_MAX;
    p->maxGridSize[1] = p->maxGridSize[2] = MAX_GRID_YZ;
    p->totalConstMem = 65536;
    p->major = s->cc_major;
    p->minor = s->cc_minor;
    p->multiProcessorCount = s->sm_count;
    p->maxThreadsPerMultiProcessor = (int)s->max_threads_per_sm;
    p->maxBlocksPerMultiProcessor = (int)s->max_blocks_per_sm;
    p->memoryBusWidth = s->memory_bus_bits;
    p->l2CacheSize = s->l2_bytes > INT32_MAX ? INT32_MAX : (int)s->l2_bytes;
    p->pciBusID = d->physical + 1;
    p->asyncEngineCount = 2;
    p->canMapHostMemory = p->concurrentKernels = p->unifiedAddressing = 1;
    p->streamPrioritiesSupported = p->globalL1CacheSupported = p->localL1CacheSupported = 1;
    p->managedMemory = p->concurrentManagedAccess = p->computePreemptionSupported = 1;
    p->canUseHostPointerForRegisteredMem = p->cooperativeLaunch = 1;
    p->hostRegisterSupported = p->memoryPoolsSupported = p->ipcEventSupported = 1;
    p->persistingL2CacheMaxSize = (int)max_persisting(d);
    p->accessPolicyMaxWindowSize = (int)door_max_window(d);
    fill_textures(p);
#if DOOR_CUDART < 13
    fill_clocks(s, p);
#else
    p->gpuPciDeviceID = (unsigned)strtoul(d->profile.pci_id, NULL, 16) << 16 | 0x10de;
#endif
}

static cudaError_t properties(cudaDeviceProp *p, int index) {
    cudaError_t error = door_enter_query();
    if (error)
        return error;
    if (!p)
        return cudaErrorInvalidValue;
    if (!device_at(index))
        return cudaErrorInvalidDevice;
    fill_properties(device_at(index), p);
    return cudaSuccess;
}

#if DOOR_CUDART < 13
DOOR_EXPORT(cudaError_t, cudaGetDeviceProperties_v2, cudaDeviceProp *p, int device) {
    return door_return(properties(p, device));
}
#else
DOOR_EXPORT(cudaError_t, cudaGetDeviceProperties, cudaDeviceProp *p, int device) {
    return door_return(properties(p, device));
}
#endif

/* The device that differs least from what is wished, as far as wishes are commonly stated. */
DOOR_EXPORT(cudaError_t, cudaChooseDevice, int *device, const cudaDeviceProp *wish) {
    cudaError_t error = door_enter_query();
    if (!error && (!device || !wish))
        error = cudaErrorInvalidValue;
    if (error)
        return door_return(error);
    *device = 0;
    for (int i = door.device_count - 1; i >= 0; i--) {
        const emu_device_spec *s = &door.device[i].profile.spec;
        if (s->cc_major * 10 + s->cc_minor >= wish->major * 10 + wish->minor &&
            s->memory_bytes >= wish->totalGlobalMem)
            *device = i;
    }
    return cudaSuccess;
}

/* By the attribute's public number. What the properties hold too is read from there. */
static bool attribute(const door_device *d, int number, int *value) {
    cudaDeviceProp p;
    const emu_device_spec *s = &d->profile.spec;
    fill_properties(d, &p);
    const struct {
        int number, value;
    } known[] = {
        {1, p.maxThreadsPerBlock},
        {2, p.maxThreadsDim[0]},
        {3, p.maxThreadsDim[1]},
        {4, p.maxThreadsDim[2]},
        {5, p.maxGridSize[0]},
        {6, p.maxGridSize[1]},
        {7, p.maxGridSize[2]},
        {8, (int)p.sharedMemPerBlock},
        {9, (int)p.totalConstMem},
        {10, p.warpSize},
        {11, (int)p.memPitch},
        {12, p.regsPerBlock},
        {13, khz(s->sm_clock_hz)},
        {14, (int)p.textureAlignment},
        {15, 1},
        {16, p.multiProcessorCount},
        {17, 0},
        {18, 0},
        {19, 1},
        {20, 0},
        {21, p.maxTexture1D},
        {22, p.maxTexture2D[0]},
        {23, p.maxTexture2D[1]},
        {24, p.maxTexture3D[0]},
        {25, p.maxTexture3D[1]},
        {26, p.maxTexture3D[2]},
        {27, p.maxTexture2DLayered[0]},
        {28, p.maxTexture2DLayered[1]},
        {29, p.maxTexture2DLayered[2]},
        {30, (int)p.surfaceAlignment},
        {31, 1},
        {32, 0},
        {33, p.pciBusID},
        {34, p.pciDeviceID},
        {35, 0},
        {36, khz(s->memory_clock_hz)},
        {37, p.memoryBusWidth},
        {38, p.l2CacheSize},
        {39, p.maxThreadsPerMultiProcessor},
        {40, p.asyncEngineCount},
        {41, 1},
        {42, p.maxTexture1DLayered[0]},
        {43, p.maxTexture1DLayered[1]},
        {44, 1},
        {45, p.maxTexture2DGather[0]},
        {46, p.maxTexture2DGather[1]},
        {47, p.maxTexture3DAlt[0]},
        {48, p.maxTexture3DAlt[1]},
        {49, p.maxTexture3DAlt[2]},
        {50, p.pciDomainID},
        {51, (int)p.texturePitchAlignment},
        {52, p.maxTextureCubemap},
        {53, p.maxTextureCubemapLayered[0]},
        {54, p.maxTextureCubemapLayered[1]},
        {55, p.maxSurface1D},
        {56, p.maxSurface2D[0]},
        {57, p.maxSurface2D[1]},
        {58, p.maxSurface3D[0]},
        {59, p.maxSurface3D[1]},
        {60, p.maxSurface3D[2]},
        {61, p.maxSurface1DLayered[0]},
        {62, p.maxSurface1DLayered[1]},
        {63, p.maxSurface2DLayered[0]},
        {64, p.maxSurface2DLayered[1]},
        {65, p.maxSurface2DLayered[2]},
        {66, p.maxSurfaceCubemap},
        {67, p.maxSurfaceCubemapLayered[0]},
        {68, p.maxSurfaceCubemapLayered[1]},
        {69, 1 << 28},
        {70, p.maxTexture2DLinear[0]},
        {71, p.maxTexture2DLinear[1]},
        {72, p.maxTexture2DLinear[2]},
        {73, p.maxTexture2DMipmap[0]},
        {74, p.maxTexture2DMipmap[1]},
        {75, p.major},
        {76, p.minor},
        {77, p.maxTexture1DMipmap},
        {78, 1},
        {79, 1},
        {80, 1},
        {81, (int)p.sharedMemPerMultiprocessor},
        {82, p.regsPerMultiprocessor},
        {83, 1},
        {84, 0},
        {85, 0},
        {86, 0},
        {87, s->fp64_per_clk > 0 ? (int)(s->fp32_per_clk / s->fp64_per_clk) : 0},
        {88, 0},
        {89, 1},
        {90, 1},
        {91, 1},
        {92, 1}, /* waiting for values in memory */
        {93, 1},
        {94, 1},
        {95, 1},
        {97, (int)p.sharedMemPerBlockOptin},
        {98, 0},
        {99, 1},
        {100, 0},
        {101, 0},
        {102, 1}, /* virtual memory, and its handles as files */
        {103, 1},
        {104, 0},
        {105, 0},
        {106, p.maxBlocksPerMultiProcessor},
        {108, p.persistingL2CacheMaxSize},
        {109, p.accessPolicyMaxWindowSize},
        {111, (int)p.reservedSharedMemPerBlock},
        {112, 0},
        {113, 0},
        {114, 0},
        {115, 1},
        {116, 0},
        {117, 0},
        {118, 0},
        {119, 0},
        {120, 0},
        {121, 0},
        {122, 1},
        {123, 1},
        {125, 1},
        {126, 1},
        {130, 0},
        {131, -1},
        {133, 0},
        {134, -1},
        {142, 0},
        {143, 0},
        {144, 0},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].number == number) {
            *value = known[i].value;
            return true;
        }
    enum { LAST = 146 }; /* of CUDA 13: the rest are features that are not there */
    *value = 0;
    return number > 0 && number <= LAST;
}

DOOR_EXPORT(cudaError_t, cudaDeviceGetAttribute, int *value, int number, int device) {
    cudaError_t error = door_enter_query();
    if (!error && !device_at(device))
        error = cudaErrorInvalidDevice;
    if (!error && (!value || !attribute(device_at(device), number, value)))
        error = cudaErrorInvalidValue;
    return door_return(error);
}

DOOR_EXPORT(cudaError_t, cudaDeviceGetPCIBusId, char *text, int length, int device) {
    cudaError_t error = door_enter_query();
    if (!error && !device_at(device))
        error = cudaErrorInvalidDevice;
    if (!error && (!text || length < 13))
        error = cudaErrorInvalidValue;
    if (!error)
        snprintf(text, (size_t)length, "0000:%02x:00.0", (unsigned)device_at(device)->physical + 1);
    return door_return(error);
}

DOOR_EXPORT(cudaError_t, cudaDeviceGetByPCIBusId, int *device, const char *text) {
    unsigned bus = 0;
    cudaError_t error = door_enter_query();
    if (!error && (!device || !text))
        error = cudaErrorInvalidValue;
    if (error)
        return door_return(error);
    /* "domain:bus:device.function", without a domain, or without a function */
    if (sscanf(text, "%*x:%x:%*x", &bus) != 1 && sscanf(text, "%x:%*x", &bus) != 1)
        return door_return(cudaErrorInvalidDevice);
    for (int i = 0; i < door.device_count; i++)
        if (door.device[i].physical + 1 == (int)bus) {
            *device = i;
            return cudaSuccess;
        }
    return door_return(cudaErrorInvalidDevice);
}

/* ---- The current device -----------------------------------------------------------------------
 */

DOOR_EXPORT(cudaError_t, cudaDeviceSynchronize, void) {
    door_device *d;
    cudaError_t error = door_enter(&d);
    door_api_enter(EMU_DOMAIN_RUNTIME, "cudaDeviceSynchronize", NULL, NULL);
    if (!error)
        error = door_await_device(d);
    if (error != cudaErrorInitializationError && error != cudaErrorNoDevice)
        door_wait_device(&door.device[door_self.device]);
    return door_return((cudaError_t)door_api_exit((int)error));
}

#if DOOR_CUDART < 13
DOOR_EXPORT(cudaError_t, cudaThreadSynchronize, void) {
    return cudaDeviceSynchronize();
}
#endif

/* Everything of the device goes: memory, loaded modules, the fault. */
static cudaError_t reset(void) {
    cudaError_t error = door_enter_query();
    if (error)
        return error;
    door_device *d = &door.device[door_self.device];
    if (d->emu)
        door_tell_context(d, false);
    door_forget_peer(d);
    door_virtual_forget(d);
    pthread_mutex_lock(&d->run);
    door_drain_printf(d);
    door_unload(d);
    door_forget_blocks(d);
    door_forget_objects(d);
    door_forget_arrays(d);
    door_graph_forget(d);
    pthread_mutex_lock(&door.lock);
    emu_device *old = d->emu;
    atomic_store(&d->opened, false);
    d->emu = NULL;
    d->sticky = cudaSuccess;
    pthread_mutex_unlock(&door.lock);
    pthread_mutex_unlock(&d->run);
    if (old)
        emu_device_destroy(old);
    door_self.last_error = cudaSuccess;
    return cudaSuccess;
}

DOOR_EXPORT(cudaError_t, cudaDeviceReset, void) {
    return door_return(reset());
}

#if DOOR_CUDART < 13
DOOR_EXPORT(cudaError_t, cudaThreadExit, void) {
    return door_return(reset());
}
#endif

DOOR_EXPORT(cudaError_t, cudaDeviceGetLimit, size_t *value, unsigned limit) {
    door_device *d;
    cudaError_t error = door_enter(&d);
    if (!error && !value)
        error = cudaErrorInvalidValue;
    if (!error && limit >= DOOR_LIMITS)
        error = cudaErrorUnsupportedLimit;
    if (!error)
        *value = d->limit[limit];
    return door_return(error);
}

DOOR_EXPORT(cudaError_t, cudaDeviceSetLimit, unsigned limit, size_t value) {
    door_device *d;
    cudaError_t error = door_enter(&d);
    if (!error && limit >= DOOR_LIMITS)
        error = cudaErrorUnsupportedLimit;
    if (!error && limit == cudaLimitPersistingL2CacheSize && value > max_persisting(d))
        error = cudaErrorInvalidValue;
    if (error)
        return door_return(error);
    d->limit[limit] = value;
    if (limit == cudaLimitMallocHeapSize)
        emu_device_set_heap_limit(d->emu, value);
    return door_return(error);
}

DOOR_EXPORT(cudaError_t, cudaDeviceGetCacheConfig, int *config) {
    door_device *d;
    cudaError_t error = door_enter(&d);
    if (!error && !config)
        error = cudaErrorInvalidValue;
    if (!error)
        *config = d->cache_config;
    return door_return(error);
}

/* Preferences that current devices do not follow either. */
DOOR_EXPORT(cudaError_t, cudaDeviceSetCacheConfig, int config) {
    door_device *d;
    cudaError_t error = door_enter(&d);
    if (!error)
        d->cache_config = config;
    return door_return(error);
}

DOOR_EXPORT(cudaError_t, cudaDeviceSetSharedMemConfig, int config) {
    (void)config;
    return door_return(door_enter(NULL));
}

DOOR_EXPORT(cudaError_t, cudaDeviceGetSharedMemConfig, int *config) {
    cudaError_t error = door_enter(NULL);
    if (!error && config)
        *config = 1; /* banks of four bytes */
    return door_return(error);
}

DOOR_EXPORT(cudaError_t, cudaCtxResetPersistingL2Cache, void) {
    return door_return(door_enter(NULL));
}

DOOR_EXPORT(cudaError_t, cudaProfilerStart, void) {
    return door_return(door_enter(NULL));
}

DOOR_EXPORT(cudaError_t, cudaProfilerStop, void) {
    return door_return(door_enter(NULL));
}

/* ---- The driver: the door beside this one, where it is loaded ----------------------------------
 */

static cudaError_t entry_point(const char *symbol, void **function, unsigned version,
                               unsigned long long flags, int *status) {
    enum { FOUND, NOT_FOUND };
    cudaError_t error = door_enter_query();
    if (error)
        return error;
    if (!symbol || !function)
        return cudaErrorInvalidValue;
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    int (*find)(const char *, void **, int, uint64_t, int *) =
        driver ? (int (*)(const char *, void **, int, uint64_t, int *))dlsym(driver,
                                                                             "cuGetProcAddress_v2")
               : NULL;
    int found = NOT_FOUND;
    *function = NULL;
    if (find)
        find(symbol, function, (int)version, flags, &found);
    if (status)
        *status = found;
    return *function ? cudaSuccess : cudaErrorSymbolNotFound;
}

DOOR_EXPORT(cudaError_t, cudaGetDriverEntryPoint, const char *symbol, void **function,
            unsigned long long flags, int *status) {
    return door_return(entry_point(symbol, function, DRIVER_VERSION, flags, status));
}

DOOR_EXPORT(cudaError_t, cudaGetDriverEntryPoint_ptsz, const char *symbol, void **function,
            unsigned long long flags, int *status) {
    enum { PER_THREAD = 2 };
    return door_return(entry_point(symbol, function, DRIVER_VERSION, flags | PER_THREAD, status));
}

DOOR_EXPORT(cudaError_t, cudaGetDriverEntryPointByVersion, const char *symbol, void **function,
            unsigned version, unsigned long long flags, int *status) {
    return door_return(entry_point(symbol, function, version, flags, status));
}

DOOR_EXPORT(cudaError_t, cudaGetDriverEntryPointByVersion_ptsz, const char *symbol, void **function,
            unsigned version, unsigned long long flags, int *status) {
    enum { PER_THREAD = 2 };
    return door_return(entry_point(symbol, function, version, flags | PER_THREAD, status));
}
