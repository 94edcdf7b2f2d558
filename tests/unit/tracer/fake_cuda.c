/* SPDX-License-Identifier: Apache-2.0
 *
 * A libcuda.so.1 that does one thing as the real driver does: cuInit loads CUDA_INJECTION64_PATH
 * and calls InitializeInjection once. It describes one device, and launches the probe's kernel
 * through the record generator (fake_cupti.c), unless FAKE_NO_MODULES is set.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT int cuInit(unsigned flags);
EXPORT int cuDriverGetVersion(int *version);
EXPORT int cuDeviceGetCount(int *count);
EXPORT int cuDeviceGet(int *device, int ordinal);
EXPORT int cuDeviceGetName(char *name, int length, int device);
EXPORT int cuDeviceTotalMem_v2(size_t *bytes, int device);
EXPORT int cuDeviceGetAttribute(int *value, int attribute, int device);
EXPORT int cuDeviceGetUuid(void *uuid, int device);
EXPORT int cuDevicePrimaryCtxRetain(void **context, int device);
EXPORT int cuCtxSetCurrent(void *context);
EXPORT int cuModuleLoadData(void **module, const void *image);
EXPORT int cuModuleGetFunction(void **function, void *module, const char *name);
EXPORT int cuLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                          unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                          void *stream, void **arguments, void **extra);
EXPORT int cuCtxSynchronize(void);

static void inject(void) {
    const char *path = getenv("CUDA_INJECTION64_PATH");
    void *library = path ? dlopen(path, RTLD_NOW) : NULL;
    int (*initialise)(void) = library ? (int (*)(void))dlsym(library, "InitializeInjection") : NULL;
    if (initialise)
        initialise();
}

int cuInit(unsigned flags) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)flags;
    pthread_once(&once, inject);
    return 0;
}

int cuDriverGetVersion(int *version) {
    *version = 12080;
    return 0;
}

int cuDeviceGetCount(int *count) {
    *count = 1;
    return 0;
}

int cuDeviceGet(int *device, int ordinal) {
    *device = ordinal;
    return 0;
}

int cuDeviceGetName(char *name, int length, int device) {
    (void)device;
    strncpy(name, "NVIDIA H100 80GB HBM3", (size_t)length);
    return 0;
}

int cuDeviceTotalMem_v2(size_t *bytes, int device) {
    (void)device;
    *bytes = (size_t)85031714816;
    return 0;
}

int cuDeviceGetAttribute(int *value, int attribute, int device) {
    static const struct {
        int attribute, value;
    } known[] = {{13, 1980000},  {16, 132}, {36, 2619000}, {37, 5120},
                 {38, 52428800}, {75, 9},   {76, 0}};
    (void)device;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (known[i].attribute == attribute) {
            *value = known[i].value;
            return 0;
        }
    return 1;
}

int cuDeviceGetUuid(void *uuid, int device) {
    memset(uuid, 0xA0 + device, 16);
    return 0;
}

static void *find_in_generator(const char *name) {
    const char *path = getenv("ROOFPROF_CUPTI");
    void *library = path ? dlopen(path, RTLD_NOW | RTLD_NOLOAD) : NULL;
    return library ? dlsym(library, name) : NULL;
}

/* FAKE_CONTEXT: the result, 46 as in exclusive mode. */
int cuDevicePrimaryCtxRetain(void **context, int device) {
    static char object;
    const char *refused = getenv("FAKE_CONTEXT");
    void *(*known)(void) = (void *(*)(void))find_in_generator("fake_context");
    (void)device;
    *context = known ? known() : &object;
    return refused ? atoi(refused) : 0;
}

int cuCtxSetCurrent(void *context) {
    return context ? 0 : 1;
}

/* ---- One kernel ------------------------------------------------------------------------------ */

typedef void (*generator)(const char *name, uint32_t grid, uint64_t start, uint64_t end);

static generator find_generator(void) {
    return (generator)find_in_generator("fake_kernel");
}

int cuModuleLoadData(void **module, const void *image) {
    *module = (void *)(uintptr_t)image;
    return getenv("FAKE_NO_MODULES") || !find_generator();
}

int cuModuleGetFunction(void **function, void *module, const char *name) {
    *function = (void *)(uintptr_t)name;
    return module ? 0 : 1;
}

/* A kernel of 5 us, one after the other. */
int cuLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                   void *stream, void **arguments, void **extra) {
    static uint64_t now = 1000;
    (void)grid_y, (void)grid_z, (void)block_x, (void)block_y, (void)block_z;
    (void)shared, (void)stream, (void)arguments, (void)extra;
    find_generator()(function, grid_x, now, now + 5000);
    now += 6000;
    return 0;
}

int cuCtxSynchronize(void) {
    return 0;
}
