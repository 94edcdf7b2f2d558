/* SPDX-License-Identifier: Apache-2.0
 *
 * Start of the driver's door, devices, contexts, errors, and how functions are found by name.
 */
#include "emulator/cuda/driver.h"
#include "emulator/cuda/find.h"
#include "emulator/cudart/visible.h"
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

driver_runtime runtime;

typedef struct driver_context {
    struct driver_context *next;
    int device;
    unsigned flags;
    uint32_t uid;
    void *primary; /* the runtime's own handle of a primary context; NULL: made by cuCtxCreate */
} driver_context;

enum { STACK = 64, MAX_DEVICES = 16, FIRST_UID = MAX_DEVICES + 1 };

static struct {
    pthread_mutex_t lock;
    const emu_doors *doors;
    atomic_bool initialised;
    driver_context *made; /* by cuCtxCreate */
    driver_context primary[MAX_DEVICES];
    int retained[MAX_DEVICES];
    uint32_t next_uid;
} driver = {.lock = PTHREAD_MUTEX_INITIALIZER, .next_uid = FIRST_UID};

/* Contexts that were pushed; the last is current. Empty: the runtime's choice counts. */
static _Thread_local struct {
    void *context[STACK];
    int depth;
} stack;

/* ---- Start -----------------------------------------------------------------------------------
 */

const emu_doors *driver_doors(void) {
    return driver.doors;
}

static bool bind_runtime(const emu_doors *doors) {
    bool whole = true;
#define BIND(name, ...)                                                                            \
    runtime.name = (cudaError_t(*)(__VA_ARGS__))doors->symbol(#name);                              \
    whole = whole && runtime.name;
    RUNTIME_FUNCTIONS(BIND)
#undef BIND
    return whole;
}

static void find(void) {
    const emu_doors *found[2];
    int count = emu_find_doors(found), chosen = 0;
    for (int i = 0; i < count; i++)
        if (found[i]->started())
            chosen = i;
    if (count && bind_runtime(found[chosen]))
        driver.doors = found[chosen];
}

static int open_doors(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find);
    return driver.doors ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE;
}

DRIVER_EXPORT(cuInit, unsigned flags) {
    int error = driver_refused(__func__);
    if (!error)
        error = flags ? CUDA_ERROR_INVALID_VALUE : open_doors();
    if (!error)
        error = driver_error(driver.doors->start());
    if (!error)
        atomic_store(&driver.initialised, true);
    return error;
}

static driver_context *find_context(const void *handle);

/* Whether FUNCTION is the one called NAME of LENGTH, whatever its version and default stream. */
static bool is_called(const char *function, const char *name, size_t length) {
    return !strncmp(function, name, length) && (!function[length] || function[length] == '_');
}

/* ROOFPROF_EMU_CUDA_REFUSE: "cuMemAlloc=2,cuInit=802@3": result codes, and from which call on. */
int driver_refused(const char *function) {
    enum { ENTRIES = 16 };
    static atomic_uint calls[ENTRIES];
    const char *at = getenv("ROOFPROF_EMU_CUDA_REFUSE");
    for (int i = 0; at && *at && i < ENTRIES; i++) {
        size_t length = strcspn(at, "=,");
        char *end = NULL;
        if (at[length] == '=' && is_called(function, at, length)) {
            unsigned code = (unsigned)strtoul(at + length + 1, &end, 10), from = 1;
            if (*end == '@')
                from = (unsigned)strtoul(end + 1, NULL, 10);
            if (atomic_fetch_add(&calls[i], 1) + 1 >= from)
                return (int)code;
        }
        at += strcspn(at, ",");
        at += *at == ',';
    }
    return CUDA_SUCCESS;
}

int driver_begin(const char *function, bool context) {
    int refused = driver_refused(function);
    if (refused)
        return refused;
    if (!atomic_load(&driver.initialised)) {
        /* A program of the runtime's that calls the driver has initialised it. */
        if (open_doors() || !driver.doors->started())
            return CUDA_ERROR_NOT_INITIALIZED;
        int error = cuInit(0);
        if (error)
            return error;
    }
    if (!context)
        return CUDA_SUCCESS;
    return driver_current() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

/* ---- Errors ----------------------------------------------------------------------------------
 */

int driver_error(int runtime_error) {
    switch (runtime_error) {
    case cudaErrorInvalidConfiguration:
    case cudaErrorInvalidPitchValue:
    case cudaErrorInvalidMemcpyDirection:
    case cudaErrorInvalidFilterSetting:
    case cudaErrorInvalidNormSetting:
    case cudaErrorMissingConfiguration:
        return CUDA_ERROR_INVALID_VALUE;
    case cudaErrorInvalidSymbol:
    case cudaErrorInvalidDeviceFunction:
        return CUDA_ERROR_NOT_FOUND;
    default:
        return runtime_error; /* the others have the same numbers */
    }
}

int driver_leave(int runtime_error) {
    return driver.doors->leave(driver_error(runtime_error));
}

int driver_not_supported(const char *function) {
    enum { SEEN = 64 };
    static const char *seen[SEEN];
    static int count;
    char text[256];
    bool fresh = true;
    if (open_doors())
        return CUDA_ERROR_NOT_INITIALIZED;
    pthread_mutex_lock(&driver.lock);
    for (int i = 0; i < count; i++)
        fresh = fresh && strcmp(seen[i], function) != 0;
    if (fresh && count < SEEN)
        seen[count++] = function;
    pthread_mutex_unlock(&driver.lock);
    snprintf(text, sizeof text,
             "%s is not supported on an emulated device; it returns CUDA_ERROR_NOT_SUPPORTED",
             function);
    if (fresh)
        driver.doors->say("error", text);
    return CUDA_ERROR_NOT_SUPPORTED;
}

static const struct {
    int value;
    const char *name;
} names[] = {
    {0, "CUDA_SUCCESS"},
    {1, "CUDA_ERROR_INVALID_VALUE"},
    {2, "CUDA_ERROR_OUT_OF_MEMORY"},
    {3, "CUDA_ERROR_NOT_INITIALIZED"},
    {4, "CUDA_ERROR_DEINITIALIZED"},
    {5, "CUDA_ERROR_PROFILER_DISABLED"},
    {34, "CUDA_ERROR_STUB_LIBRARY"},
    {46, "CUDA_ERROR_DEVICE_UNAVAILABLE"},
    {100, "CUDA_ERROR_NO_DEVICE"},
    {101, "CUDA_ERROR_INVALID_DEVICE"},
    {200, "CUDA_ERROR_INVALID_IMAGE"},
    {201, "CUDA_ERROR_INVALID_CONTEXT"},
    {202, "CUDA_ERROR_CONTEXT_ALREADY_CURRENT"},
    {205, "CUDA_ERROR_MAP_FAILED"},
    {206, "CUDA_ERROR_UNMAP_FAILED"},
    {208, "CUDA_ERROR_ALREADY_MAPPED"},
    {209, "CUDA_ERROR_NO_BINARY_FOR_GPU"},
    {211, "CUDA_ERROR_NOT_MAPPED"},
    {214, "CUDA_ERROR_ECC_UNCORRECTABLE"},
    {215, "CUDA_ERROR_UNSUPPORTED_LIMIT"},
    {217, "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED"},
    {218, "CUDA_ERROR_INVALID_PTX"},
    {222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"},
    {300, "CUDA_ERROR_INVALID_SOURCE"},
    {301, "CUDA_ERROR_FILE_NOT_FOUND"},
    {302, "CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND"},
    {303, "CUDA_ERROR_SHARED_OBJECT_INIT_FAILED"},
    {304, "CUDA_ERROR_OPERATING_SYSTEM"},
    {400, "CUDA_ERROR_INVALID_HANDLE"},
    {401, "CUDA_ERROR_ILLEGAL_STATE"},
    {500, "CUDA_ERROR_NOT_FOUND"},
    {600, "CUDA_ERROR_NOT_READY"},
    {700, "CUDA_ERROR_ILLEGAL_ADDRESS"},
    {701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"},
    {702, "CUDA_ERROR_LAUNCH_TIMEOUT"},
    {704, "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED"},
    {705, "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED"},
    {708, "CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE"},
    {709, "CUDA_ERROR_CONTEXT_IS_DESTROYED"},
    {710, "CUDA_ERROR_ASSERT"},
    {711, "CUDA_ERROR_TOO_MANY_PEERS"},
    {712, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED"},
    {713, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED"},
    {715, "CUDA_ERROR_ILLEGAL_INSTRUCTION"},
    {716, "CUDA_ERROR_MISALIGNED_ADDRESS"},
    {717, "CUDA_ERROR_INVALID_ADDRESS_SPACE"},
    {718, "CUDA_ERROR_INVALID_PC"},
    {719, "CUDA_ERROR_LAUNCH_FAILED"},
    {720, "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE"},
    {800, "CUDA_ERROR_NOT_PERMITTED"},
    {801, "CUDA_ERROR_NOT_SUPPORTED"},
    {802, "CUDA_ERROR_SYSTEM_NOT_READY"},
    {803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"},
    {999, "CUDA_ERROR_UNKNOWN"},
};

DRIVER_EXPORT(cuGetErrorName, int error, const char **name) {
    for (size_t i = 0; name && i < sizeof names / sizeof *names; i++)
        if (names[i].value == error) {
            *name = names[i].name;
            return CUDA_SUCCESS;
        }
    if (name)
        *name = NULL;
    return CUDA_ERROR_INVALID_VALUE;
}

/* The sentences are the runtime's. */
DRIVER_EXPORT(cuGetErrorString, int error, const char **text) {
    const char *name;
    int known = cuGetErrorName(error, &name);
    if (!text || known || open_doors()) {
        if (text)
            *text = NULL;
        return CUDA_ERROR_INVALID_VALUE;
    }
    const char *(*get)(int) = (const char *(*)(int))driver.doors->symbol("cudaGetErrorString");
    *text = get(error);
    return CUDA_SUCCESS;
}

/* ---- Devices ---------------------------------------------------------------------------------
 */

DRIVER_EXPORT(cuDriverGetVersion, int *version) {
    if (!version)
        return CUDA_ERROR_INVALID_VALUE;
    if (open_doors())
        return CUDA_ERROR_NOT_INITIALIZED;
    *version = driver.doors->cudart >= 13 ? 13000 : 12080;
    return CUDA_SUCCESS;
}

static int device_at(int index, emu_door_device *device) {
    int error = driver_ready(false);
    if (error)
        return error;
    return driver.doors->device(index, device) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

DRIVER_EXPORT(cuDeviceGetCount, int *count) {
    int error = driver_ready(false);
    if (!error && !count)
        error = CUDA_ERROR_INVALID_VALUE;
    if (!error)
        *count = driver.doors->device_count();
    return error;
}

DRIVER_EXPORT(cuDeviceGet, int *device, int ordinal) {
    emu_door_device found;
    int error = device_at(ordinal, &found);
    if (!error && !device)
        error = CUDA_ERROR_INVALID_VALUE;
    if (!error)
        *device = ordinal;
    return error;
}

DRIVER_EXPORT(cuDeviceGetName, char *name, int length, int device) {
    emu_door_device found;
    int error = device_at(device, &found);
    if (!error && (!name || length < 1))
        error = CUDA_ERROR_INVALID_VALUE;
    if (!error)
        snprintf(name, (size_t)length, "%s", found.spec->name);
    return error;
}

DRIVER_EXPORT(cuDeviceGetUuid_v2, char *uuid, int device) {
    emu_door_device found;
    int error = device_at(device, &found);
    if (!error && !uuid)
        error = CUDA_ERROR_INVALID_VALUE;
    if (!error)
        emu_device_uuid(found.physical, uuid, NULL);
    return error;
}

DRIVER_EXPORT(cuDeviceGetUuid, char *uuid, int device) {
    return cuDeviceGetUuid_v2(uuid, device);
}

DRIVER_EXPORT(cuDeviceTotalMem_v2, size_t *bytes, int device) {
    emu_door_device found;
    int error = device_at(device, &found);
    if (!error && !bytes)
        error = CUDA_ERROR_INVALID_VALUE;
    if (!error)
        *bytes = found.spec->memory_bytes;
    return error;
}

DRIVER_EXPORT(cuDeviceComputeCapability, int *major, int *minor, int device) {
    emu_door_device found;
    int error = device_at(device, &found);
    if (!error && (!major || !minor))
        error = CUDA_ERROR_INVALID_VALUE;
    if (error)
        return error;
    *major = found.spec->cc_major;
    *minor = found.spec->cc_minor;
    return CUDA_SUCCESS;
}

DRIVER_QUERY(cuDeviceGetAttribute, runtime.cudaDeviceGetAttribute(value, attribute, device),
             int *value, int attribute, int device)
DRIVER_QUERY(cuDeviceGetPCIBusId, runtime.cudaDeviceGetPCIBusId(text, length, device), char *text,
             int length, int device)
DRIVER_QUERY(cuDeviceGetByPCIBusId, runtime.cudaDeviceGetByPCIBusId(device, text), int *device,
             const char *text)
DRIVER_QUERY(cuDeviceCanAccessPeer, runtime.cudaDeviceCanAccessPeer(can, device, peer), int *can,
             int device, int peer)
DRIVER_QUERY(cuDeviceGetP2PAttribute, runtime.cudaDeviceGetP2PAttribute(value, attribute, from, to),
             int *value, int attribute, int from, int to)
DRIVER_QUERY(cuDeviceGetDefaultMemPool, runtime.cudaDeviceGetDefaultMemPool(pool, device),
             cudaMemPool_t *pool, int device)
DRIVER_QUERY(cuDeviceGetMemPool, runtime.cudaDeviceGetMemPool(pool, device), cudaMemPool_t *pool,
             int device)
DRIVER_QUERY(cuDeviceSetMemPool, runtime.cudaDeviceSetMemPool(device, pool), int device,
             cudaMemPool_t pool)

/* ---- Contexts --------------------------------------------------------------------------------
 */

/* With the lock held. */
static driver_context *find_context(const void *handle) {
    emu_door_device device;
    for (driver_context *c = driver.made; c; c = c->next)
        if (c == handle)
            return c;
    for (int i = 0; i < driver.doors->device_count(); i++)
        if (driver.doors->device(i, &device) && device.context == handle) {
            driver.primary[i] = (driver_context){.device = i,
                                                 .flags = driver.primary[i].flags,
                                                 .uid = (uint32_t)i + 1,
                                                 .primary = device.context};
            return &driver.primary[i];
        }
    return NULL;
}

/* A copy: a context may go at any time. False: there is no such context. */
static bool look_at(const void *handle, driver_context *out) {
    pthread_mutex_lock(&driver.lock);
    const driver_context *found = handle ? find_context(handle) : NULL;
    if (found)
        *out = *found;
    pthread_mutex_unlock(&driver.lock);
    return found != NULL;
}

/* What is current: the top of the stack; else the primary context that the runtime uses. */
void *driver_current(void) {
    emu_door_device device;
    int index = 0;
    if (stack.depth)
        return stack.context[stack.depth - 1];
    if (runtime.cudaGetDevice(&index) == cudaSuccess && driver.doors->device(index, &device) &&
        device.active)
        return device.context;
    return NULL;
}

int driver_device(void) {
    driver_context c;
    return look_at(driver_current(), &c) ? c.device : 0;
}

static int switch_to(const void *handle) {
    driver_context c;
    if (!handle)
        return CUDA_SUCCESS;
    if (!look_at(handle, &c))
        return CUDA_ERROR_INVALID_CONTEXT;
    return driver_error(driver.doors->set_device(c.device));
}

static int push(void *handle) {
    if (stack.depth == STACK)
        return CUDA_ERROR_OUT_OF_MEMORY;
    int error = handle ? switch_to(handle) : CUDA_ERROR_INVALID_CONTEXT;
    if (!error)
        stack.context[stack.depth++] = handle;
    return error;
}

static int create_context(void **handle, unsigned flags, int device) {
    emu_door_device found;
    int error = driver_refused("cuCtxCreate");
    if (!error)
        error = device_at(device, &found);
    if (!error && !handle)
        error = CUDA_ERROR_INVALID_VALUE;
    if (!error)
        error = driver_error(driver.doors->open_device(device));
    if (error)
        return error;
    driver_context *c = calloc(1, sizeof *c);
    if (!c)
        return CUDA_ERROR_OUT_OF_MEMORY;
    pthread_mutex_lock(&driver.lock);
    *c = (driver_context){
        .next = driver.made, .device = device, .flags = flags, .uid = driver.next_uid++};
    driver.made = c;
    pthread_mutex_unlock(&driver.lock);
    driver.doors->tell_context(
        &(emu_context_event){.created = true, .device = device, .handle = c, .uid = c->uid});
    *handle = c;
    return push(c);
}

DRIVER_EXPORT(cuCtxCreate_v2, void **context, unsigned flags, int device) {
    return create_context(context, flags, device);
}

DRIVER_EXPORT(cuCtxCreate_v3, void **context, void *parameters, int count, unsigned flags,
              int device) {
    (void)parameters;
    return count ? driver_not_supported("a context with execution affinity")
                 : create_context(context, flags, device);
}

DRIVER_EXPORT(cuCtxCreate_v4, void **context, void *parameters, unsigned flags, int device) {
    (void)parameters; /* affinity and graphics: hints that change nothing here */
    return create_context(context, flags, device);
}

DRIVER_EXPORT(cuCtxDestroy_v2, void *context) {
    int error = driver_ready(false);
    if (error)
        return error;
    pthread_mutex_lock(&driver.lock);
    driver_context **link = &driver.made, *found;
    while (*link && *link != context)
        link = &(*link)->next;
    found = *link;
    if (found)
        *link = found->next;
    pthread_mutex_unlock(&driver.lock);
    if (!found)
        return CUDA_ERROR_INVALID_CONTEXT;
    driver.doors->tell_context(
        &(emu_context_event){.device = found->device, .handle = found, .uid = found->uid});
    if (stack.depth && stack.context[stack.depth - 1] == context)
        stack.depth--;
    free(found);
    return CUDA_SUCCESS;
}

DRIVER_EXPORT(cuCtxPushCurrent_v2, void *context) {
    int error = driver_ready(false);
    return error ? error : push(context);
}

DRIVER_EXPORT(cuCtxPopCurrent_v2, void **context) {
    int error = driver_ready(false);
    if (error)
        return error;
    if (!stack.depth)
        return CUDA_ERROR_INVALID_CONTEXT;
    void *top = stack.context[--stack.depth];
    if (context)
        *context = top;
    return stack.depth ? switch_to(stack.context[stack.depth - 1]) : CUDA_SUCCESS;
}

DRIVER_EXPORT(cuCtxSetCurrent, void *context) {
    int error = driver_ready(false);
    if (error)
        return error;
    if (stack.depth)
        stack.depth--;
    return context ? push(context) : CUDA_SUCCESS;
}

DRIVER_EXPORT(cuCtxGetCurrent, void **context) {
    int error = driver_ready(false);
    if (!error && !context)
        error = CUDA_ERROR_INVALID_VALUE;
    if (!error)
        *context = driver_current();
    return error;
}

DRIVER_EXPORT(cuCtxGetDevice, int *device) {
    int error = driver_ready(true);
    if (!error && !device)
        error = CUDA_ERROR_INVALID_VALUE;
    if (!error)
        *device = driver_device();
    return error;
}

DRIVER_EXPORT(cuCtxGetId, void *context, unsigned long long *id) {
    driver_context c;
    int error = driver_ready(!context);
    if (!error && !id)
        error = CUDA_ERROR_INVALID_VALUE;
    if (!error && !look_at(context ? context : driver_current(), &c))
        error = CUDA_ERROR_INVALID_CONTEXT;
    if (!error)
        *id = c.uid;
    return error;
}

DRIVER_EXPORT(cuCtxGetFlags, unsigned *flags) {
    driver_context c;
    int error = driver_ready(true);
    if (!error && !flags)
        error = CUDA_ERROR_INVALID_VALUE;
    if (!error && !look_at(driver_current(), &c))
        error = CUDA_ERROR_INVALID_CONTEXT;
    if (!error)
        *flags = c.flags;
    return error;
}

/* Changes how the host waits, of which there is nothing here but the word. */
DRIVER_EXPORT(cuCtxSetFlags, unsigned flags) {
    int error = driver_ready(true);
    if (error)
        return error;
    void *current = driver_current();
    pthread_mutex_lock(&driver.lock);
    driver_context *c = find_context(current);
    if (c)
        c->flags = flags;
    pthread_mutex_unlock(&driver.lock);
    return c ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

DRIVER_EXPORT(cuCtxGetDevice_v2, int *device, void *context) {
    driver_context c;
    int error = driver_ready(!context);
    if (!error && !device)
        error = CUDA_ERROR_INVALID_VALUE;
    if (!error && !look_at(context ? context : driver_current(), &c))
        error = CUDA_ERROR_INVALID_CONTEXT;
    if (!error)
        *device = c.device;
    return error;
}

DRIVER_CALL(cuCtxSynchronize, runtime.cudaDeviceSynchronize(), void)

/* All work is done when the call that asked for it returns; what is left is the clock. */
DRIVER_EXPORT(cuCtxSynchronize_v2, void *context) {
    driver_context c;
    int error = driver_ready(!context);
    if (!error && context && !look_at(context, &c))
        error = CUDA_ERROR_INVALID_CONTEXT;
    if (error || !context || context == driver_current())
        return error ? error : cuCtxSynchronize();
    error = push(context);
    if (error)
        return error;
    error = cuCtxSynchronize();
    cuCtxPopCurrent_v2(NULL);
    return error;
}

/* A context that is attached lives on until it is detached as often. */
DRIVER_EXPORT(cuCtxAttach, void **context, unsigned flags) {
    int error = driver_ready(true);
    if (!error && (!context || flags))
        error = CUDA_ERROR_INVALID_VALUE;
    if (!error)
        *context = driver_current();
    return error;
}

DRIVER_EXPORT(cuCtxDetach, void *context) {
    int error = driver_ready(true);
    return error ? error : context == driver_current() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

/* The whole device, however many SMs are asked for: there is no affinity. */
DRIVER_EXPORT(cuDeviceGetExecAffinitySupport, int *supported, int type, int device) {
    emu_door_device found;
    int error = device_at(device, &found);
    if (!error && !supported)
        error = CUDA_ERROR_INVALID_VALUE;
    if (!error)
        *supported = 0;
    return error;
}

DRIVER_EXPORT(cuCtxGetApiVersion, void *context, unsigned *version) {
    (void)context;
    int error = driver_ready(false);
    if (!error && !version)
        error = CUDA_ERROR_INVALID_VALUE;
    if (!error)
        *version = 3020;
    return error;
}

DRIVER_CALL(cuCtxGetLimit, runtime.cudaDeviceGetLimit(value, limit), size_t *value, unsigned limit)
DRIVER_CALL(cuCtxSetLimit, runtime.cudaDeviceSetLimit(limit, value), unsigned limit, size_t value)
DRIVER_CALL(cuCtxGetStreamPriorityRange, runtime.cudaDeviceGetStreamPriorityRange(least, greatest),
            int *least, int *greatest)

/* Contexts of a device share its memory, and so what it may reach. */
static cudaError_t peer_access(void *peer, unsigned flags, bool allow) {
    cudaError_t (*enable)(int, unsigned) =
        (cudaError_t(*)(int, unsigned))driver.doors->symbol("cudaDeviceEnablePeerAccess");
    cudaError_t (*disable)(int) =
        (cudaError_t(*)(int))driver.doors->symbol("cudaDeviceDisablePeerAccess");
    driver_context c;
    if (!look_at(peer, &c))
        return (cudaError_t)CUDA_ERROR_INVALID_CONTEXT;
    int error = switch_to(driver_current());
    if (error)
        return (cudaError_t)error;
    if (c.device == driver_device())
        return (cudaError_t)CUDA_ERROR_INVALID_CONTEXT;
    return allow ? enable(c.device, flags) : disable(c.device);
}
DRIVER_CALL(cuCtxEnablePeerAccess, peer_access(peer, flags, true), void *peer, unsigned flags)
DRIVER_CALL(cuCtxDisablePeerAccess, peer_access(peer, 0, false), void *peer)
DRIVER_CALL(cuCtxSetCacheConfig, cudaSuccess, int config)
DRIVER_CALL(cuCtxGetCacheConfig, config ? (*config = 0, cudaSuccess) : cudaErrorInvalidValue,
            int *config)
DRIVER_CALL(cuCtxSetSharedMemConfig, cudaSuccess, int config)
DRIVER_CALL(cuCtxGetSharedMemConfig, config ? (*config = 1, cudaSuccess) : cudaErrorInvalidValue,
            int *config) /* banks of four bytes */
DRIVER_CALL(cuCtxResetPersistingL2Cache, cudaSuccess, void)
DRIVER_CALL(cuProfilerStart, runtime.cudaProfilerStart(), void)
DRIVER_CALL(cuProfilerStop, runtime.cudaProfilerStop(), void)

/* ---- Primary contexts ------------------------------------------------------------------------
 */

DRIVER_EXPORT(cuDevicePrimaryCtxRetain, void **context, int device) {
    emu_door_device found;
    int error = driver_refused(__func__);
    if (!error)
        error = device_at(device, &found);
    if (!error && !context)
        error = CUDA_ERROR_INVALID_VALUE;
    if (!error)
        error = driver_error((int)runtime.cudaInitDevice(device, 0, 0));
    if (error)
        return error;
    pthread_mutex_lock(&driver.lock);
    driver.retained[device]++;
    pthread_mutex_unlock(&driver.lock);
    *context = found.context;
    return CUDA_SUCCESS;
}

/* The real driver takes the context down with its last user; here it stays for the runtime, which
 * may use it unseen. */
DRIVER_EXPORT(cuDevicePrimaryCtxRelease_v2, int device) {
    emu_door_device found;
    int error = device_at(device, &found);
    if (error)
        return error;
    pthread_mutex_lock(&driver.lock);
    bool held = driver.retained[device] > 0;
    driver.retained[device] -= held;
    pthread_mutex_unlock(&driver.lock);
    return held ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

DRIVER_EXPORT(cuDevicePrimaryCtxReset_v2, int device) {
    emu_door_device found;
    int before = 0, error = device_at(device, &found);
    if (error)
        return error;
    runtime.cudaGetDevice(&before);
    driver.doors->set_device(device);
    error = driver_error((int)runtime.cudaDeviceReset());
    driver.doors->set_device(before);
    return error;
}

DRIVER_EXPORT(cuDevicePrimaryCtxSetFlags_v2, int device, unsigned flags) {
    emu_door_device found;
    int error = device_at(device, &found);
    if (error)
        return error;
    pthread_mutex_lock(&driver.lock);
    driver.primary[device].flags = flags;
    pthread_mutex_unlock(&driver.lock);
    return CUDA_SUCCESS;
}

DRIVER_EXPORT(cuDevicePrimaryCtxGetState, int device, unsigned *flags, int *active) {
    emu_door_device found;
    int error = device_at(device, &found);
    if (!error && (!flags || !active))
        error = CUDA_ERROR_INVALID_VALUE;
    if (error)
        return error;
    *flags = driver.primary[device].flags;
    *active = found.active;
    return CUDA_SUCCESS;
}

DRIVER_EXPORT(cuDevicePrimaryCtxRelease, int device) {
    return cuDevicePrimaryCtxRelease_v2(device);
}

DRIVER_EXPORT(cuDevicePrimaryCtxReset, int device) {
    return cuDevicePrimaryCtxReset_v2(device);
}

DRIVER_EXPORT(cuDevicePrimaryCtxSetFlags, int device, unsigned flags) {
    return cuDevicePrimaryCtxSetFlags_v2(device, flags);
}

/* ---- Functions by name -----------------------------------------------------------------------
 */

/* Private interfaces of the real driver's: there are none. Who asks is a runtime that was linked
 * statically. */
DRIVER_EXPORT(cuGetExportTable, const void **table, const void *id) {
    static atomic_bool said;
    (void)id;
    if (table)
        *table = NULL;
    if (!open_doors() && !atomic_exchange(&said, true))
        driver.doors->say("warning",
                          "the CUDA runtime in this process is linked statically and asks for "
                          "private interfaces of the driver, which an emulated one has not; link "
                          "it again with NVCC_APPEND_FLAGS=\"-cudart shared\"");
    return CUDA_ERROR_NOT_SUPPORTED;
}

/* What SYMBOL meant before a version of CUDA that changed its arguments; NULL: they did not change.
 */
static const char *old_version(const char *symbol, int version) {
    static const struct {
        const char *name, *suffix;
        int before;
    } changed[] = {{"cuCtxCreate", "_v2", 13000},
                   {"cuMemAdvise", "", 13000},
                   {"cuMemPrefetchAsync", "", 13000},
                   {"cuGetProcAddress", "", 12000},
                   {"cuGraphInstantiate", "", 11000},
                   {"cuGraphInstantiate", "_v2", 12000},
                   {"cuGraphInstantiate", "WithFlags", INT_MAX},
                   {"cuGraphExecUpdate", "", 12000},
                   {"cuGraphAddKernelNode", "", 12000},
                   {"cuGraphKernelNodeGetParams", "", 12000},
                   {"cuGraphKernelNodeSetParams", "", 12000},
                   {"cuGraphExecKernelNodeSetParams", "", 12000},
                   {"cuGraphGetEdges", "", 12030},
                   {"cuGraphNodeGetDependencies", "", 12030},
                   {"cuGraphNodeGetDependentNodes", "", 12030},
                   {"cuGraphAddDependencies", "", 12030},
                   {"cuGraphRemoveDependencies", "", 12030},
                   {"cuGraphAddNode", "", 12030},
                   {"cuStreamGetCaptureInfo", "", 11030},
                   {"cuStreamGetCaptureInfo", "_v2", 12030},
                   {"cuStreamUpdateCaptureDependencies", "", 12030}};
    for (size_t i = 0; i < sizeof changed / sizeof *changed; i++)
        if (version < changed[i].before && !strcmp(changed[i].name, symbol))
            return changed[i].suffix;
    return NULL;
}

/* The version of SYMBOL that a program of VERSION means, the thread's own default stream first
 * where that is asked for. */
static void *find_symbol(const char *symbol, int version, bool per_thread) {
    static const char *const newest[] = {"_v4", "_v3", "_v2", ""};
    static const char *const threads[] = {"_ptsz", "_ptds"};
    static void *self;
    const char *old = old_version(symbol, version);
    const char *const *versions = old ? &old : newest;
    size_t count = old ? 1 : sizeof newest / sizeof *newest;
    char name[160];
    Dl_info info;
    if (!self && dladdr((const void *)(uintptr_t)find_symbol, &info))
        self = dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
    for (size_t i = 0; self && i < count; i++) {
        void *found = NULL;
        for (int t = 0; per_thread && !found && t < 2; t++) {
            snprintf(name, sizeof name, "%.120s%s%s", symbol, versions[i], threads[t]);
            found = dlsym(self, name);
        }
        snprintf(name, sizeof name, "%.120s%s", symbol, versions[i]);
        if (!found)
            found = dlsym(self, name);
        if (found)
            return found;
    }
    return NULL;
}

DRIVER_EXPORT(cuGetProcAddress_v2, const char *symbol, void **function, int version, uint64_t flags,
              int *status) {
    enum { PER_THREAD = 2, FOUND = 0, NOT_FOUND = 1 };
    if (!symbol || !function)
        return CUDA_ERROR_INVALID_VALUE;
    *function = find_symbol(symbol, version, (flags & PER_THREAD) != 0);
    if (status)
        *status = *function ? FOUND : NOT_FOUND;
    return *function ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

DRIVER_EXPORT(cuGetProcAddress, const char *symbol, void **function, int version, uint64_t flags) {
    return cuGetProcAddress_v2(symbol, function, version, flags, NULL);
}
