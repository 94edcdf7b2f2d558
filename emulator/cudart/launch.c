/* SPDX-License-Identifier: Apache-2.0
 *
 * Launches, and what can be asked about a kernel: attributes and occupancy.
 */
#include "emulator/cudart/door.h"
#include "emulator/memory/model.h"
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ---- Control-C: stops the kernel, then does what the program wants done
 * ----------------------------- */

/* Devices whose kernel is running, for the handler. */
static _Atomic(emu_device *) running[DOOR_DEVICES];
static atomic_bool interrupted;

static struct {
    pthread_mutex_t lock;
    int users;
    struct sigaction before;
} guard = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void on_interrupt(int number) {
    (void)number;
    atomic_store(&interrupted, true);
    for (int i = 0; i < DOOR_DEVICES; i++) {
        emu_device *emu = atomic_load(&running[i]);
        if (emu)
            emu_interrupt(emu);
    }
}

static void guard_launch(door_device *d) {
    pthread_mutex_lock(&guard.lock);
    atomic_store(&running[d->index], d->emu);
    if (guard.users++ == 0) {
        struct sigaction action = {.sa_handler = on_interrupt};
        sigemptyset(&action.sa_mask);
        sigaction(SIGINT, NULL, &guard.before);
        if (guard.before.sa_handler != SIG_IGN)
            sigaction(SIGINT, &action, NULL);
    }
    pthread_mutex_unlock(&guard.lock);
}

static void unguard_launch(door_device *d) {
    bool again = false;
    pthread_mutex_lock(&guard.lock);
    atomic_store(&running[d->index], NULL);
    if (--guard.users == 0) {
        if (guard.before.sa_handler != SIG_IGN)
            sigaction(SIGINT, &guard.before, NULL);
        again = atomic_exchange(&interrupted, false);
    }
    pthread_mutex_unlock(&guard.lock);
    if (again)
        raise(SIGINT);
}

/* ---- Progress
 * --------------------------------------------------------------------------------------- */

typedef struct progress {
    const char *kernel;
    double started_s, shown_s;
    bool shown;
} progress;

static double wall_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void show_progress(void *context, uint64_t done, uint64_t blocks, uint64_t instructions) {
    progress *p = context;
    double now = wall_s(), ran = now - p->started_s;
    if (ran < 2 || now - p->shown_s < 0.5)
        return;
    p->shown_s = now;
    p->shown = true;
    fprintf(stderr, "\r\033[Kemulating %.40s: %llu of %llu blocks, %.0f s, %.2f G thread insts/s",
            p->kernel, (unsigned long long)done, (unsigned long long)blocks, ran,
            (double)instructions / ran * 1e-9);
    fflush(stderr);
}

static void clear_progress(const progress *p) {
    if (p->shown)
        fputs("\r\033[K", stderr);
}

/* ---- A launch
 * --------------------------------------------------------------------------------------- */

typedef struct request {
    const char *api;   /* the exported function that was called */
    const char *inner; /* the driver's, inside it */
    const void *host;
    door_function *function;
    dim3 grid, block;
    size_t shared;
    void **parameters;
    cudaStream_t stream;
    bool cooperative;
} request;

static uint64_t count3(dim3 d) {
    return (uint64_t)d.x * d.y * d.z;
}

static size_t shared_limit(const door_device *d, const door_function *f) {
    return f->shared_limit ? f->shared_limit : d->profile.spec.shared_bytes_per_block;
}

/* What the runtime refuses before anything runs. */
static cudaError_t check_shape(const door_device *d, const request *r,
                               const emu_kernel_info *info) {
    uint64_t threads = count3(r->block);
    if (r->block.x > 1024 || r->block.y > 1024 || r->block.z > 64 || threads == 0 ||
        threads > d->profile.max_threads_per_block)
        return cudaErrorInvalidConfiguration;
    if (count3(r->grid) == 0 || r->grid.x > INT32_MAX || r->grid.y > 65535 || r->grid.z > 65535)
        return cudaErrorInvalidConfiguration;
    if (threads > (uint64_t)info->max_threads_per_block)
        return cudaErrorInvalidConfiguration;
    if (info->shared_bytes + r->shared > shared_limit(d, r->function) &&
        info->shared_bytes + r->shared > d->profile.spec.shared_bytes_per_block)
        return cudaErrorInvalidValue;
    return cudaSuccess;
}

static emu_occupancy occupancy_of(const door_device *d, const emu_kernel_info *info,
                                  uint64_t threads, size_t dynamic) {
    emu_occupancy_query query = {.threads_per_block = (uint32_t)threads,
                                 .registers_per_thread = info->registers_per_thread,
                                 .static_shared_bytes = info->shared_bytes,
                                 .dynamic_shared_bytes = (uint32_t)dynamic};
    emu_occupancy o = emu_model_occupancy(&d->profile.spec, &query);
    /* an estimate of the registers must not forbid what the real count might allow */
    if (o.blocks_per_sm == 0 && info->registers_estimated) {
        query.registers_per_thread = 32;
        o = emu_model_occupancy(&d->profile.spec, &query);
    }
    return o;
}

static cudaError_t check_fit(const door_device *d, const request *r, const emu_kernel_info *info) {
    emu_occupancy o = occupancy_of(d, info, count3(r->block), r->shared);
    if (o.blocks_per_sm == 0)
        return cudaErrorLaunchOutOfResources;
    if (r->cooperative &&
        count3(r->grid) > (uint64_t)o.blocks_per_sm * (uint64_t)d->profile.spec.sm_count)
        return cudaErrorCooperativeLaunchTooLarge;
    return cudaSuccess;
}

/* A launch that fills the device keeps others off it; smaller ones share it. */
static double place_on_clock(door_stream *stream, const emu_counts *counts) {
    bool fills = counts->waves >= 1;
    return door_schedule(stream, fills ? &stream->device->compute_s : NULL, counts->time_s, false);
}

/* A fault poisons the device; a kernel that the emulator cannot run does not. */
static cudaError_t report(door_device *d, emu_status status, const emu_fault *fault) {
    if (status == EMU_OK)
        return cudaSuccess;
    door_say("error", "%s", fault->message);
    switch (status) {
    case EMU_BAD_PTX:
        return cudaErrorNotSupported;
    case EMU_BAD_LAUNCH:
    case EMU_OUT_OF_MEMORY:
    case EMU_NOT_FOUND:
        return door_error_of(status);
    default:
        d->sticky = door_error_of(status);
        return cudaSuccess; /* it shows at the next call, as an asynchronous fault does */
    }
}

/* The arguments of cuLaunchKernel, as callbacks get them. */
typedef struct driver_arguments {
    void *function;
    unsigned grid[3], block[3], shared;
    void *stream;
    void **parameters, **extra;
} driver_arguments;

/* And of cudaLaunchKernel. */
typedef struct runtime_arguments {
    const void *function;
    dim3 grid, block;
    void **parameters;
    size_t shared;
    void *stream;
} runtime_arguments;

static emu_status run_counted(door_device *d, door_stream *stream, const request *r,
                              const emu_launch *launch, emu_launch_event *event, emu_fault *fault) {
    progress *p = launch->progress_context;
    emu_counts *counts = (emu_counts *)(uintptr_t)event->counts;
    guard_launch(d);
    event->status = emu_launch_run(d->emu, launch, counts, fault);
    unguard_launch(d);
    clear_progress(p);
    pthread_mutex_lock(&door.lock);
    event->id = ++door.next_launch;
    d->busy_s += counts->time_s;
    pthread_mutex_unlock(&door.lock);
    event->start_s = place_on_clock(stream, counts);
    event->end_s = event->start_s + counts->time_s;
    if (!door.options.count)
        event->counts = NULL;
    emu_counts_launch_record(
        door.file, &(emu_counts_launch){.id = event->id,
                                        .kernel = r->function->on[d->index].id,
                                        .stream = stream->id,
                                        .device = d->index,
                                        .launch = launch,
                                        .start_s = event->start_s,
                                        .status = event->status,
                                        .graph = event->graph,
                                        .node = event->node,
                                        .message = event->status == EMU_OK ? NULL : fault->message,
                                        .counts = event->counts});
    return event->status;
}

static cudaError_t run(door_device *d, door_stream *stream, const request *r, emu_kernel *kernel) {
    emu_counts counts = {0};
    emu_fault fault = {0};
    progress p = {.kernel = r->function->name, .started_s = door.progress ? wall_s() : 0};
    emu_launch launch = {.kernel = kernel,
                         .grid = {r->grid.x, r->grid.y, r->grid.z},
                         .block = {r->block.x, r->block.y, r->block.z},
                         .dynamic_shared_bytes = (uint32_t)r->shared,
                         .cooperative = r->cooperative,
                         .parameters = (const void *const *)r->parameters,
                         .progress = door.progress ? show_progress : NULL,
                         .progress_context = &p};
    emu_launch_event event = {.correlation = door_api_correlation(),
                              .device = d->index,
                              .stream = stream->id,
                              .launch = &launch,
                              .counts = &counts,
                              .graph = door_self.graph,
                              .node = door_self.node};
    pthread_mutex_lock(&d->run);
    if (!d->emu || r->function->on[d->index].kernel != kernel) {
        pthread_mutex_unlock(&d->run); /* another thread has reset the device just now */
        return cudaErrorContextIsDestroyed;
    }
    event.info = emu_kernel_get_info(kernel);
    emu_status status = run_counted(d, stream, r, &launch, &event, &fault);
    cudaError_t error = report(d, status, &fault);
    pthread_mutex_unlock(&d->run);
    const emu_observer *observer = door_observer();
    if (observer && observer->launch)
        observer->launch(&event);
    return error;
}

/* A stream that captures keeps the launch for its graph. */
static cudaError_t do_launch(door_device *d, door_stream *stream, const request *r,
                             emu_kernel *kernel) {
    const door_kernel_call call = {r->function->host, r->grid,       r->block,
                                   r->shared,         r->parameters, r->cooperative};
    return stream->capture ? door_capture_kernel(stream, &call) : run(d, stream, r, kernel);
}

/* The driver's call inside the runtime's, told as such; a call through the driver's door has been
 * told there. */
static cudaError_t run_inner(door_device *d, door_stream *stream, const request *r,
                             emu_kernel *kernel) {
    const driver_arguments arguments = {.function = r->function,
                                        .grid = {r->grid.x, r->grid.y, r->grid.z},
                                        .block = {r->block.x, r->block.y, r->block.z},
                                        .shared = (unsigned)r->shared,
                                        .stream = r->stream,
                                        .parameters = r->parameters};
    if (door_api_domain() == EMU_DOMAIN_DRIVER)
        return do_launch(d, stream, r, kernel);
    door_api_enter(EMU_DOMAIN_DRIVER, r->inner, r->function->name, &arguments);
    return (cudaError_t)door_api_exit((int)do_launch(d, stream, r, kernel));
}

/* What is to be said of a launch on D before it runs. */
static cudaError_t check(door_device *d, const request *r, emu_kernel **kernel) {
    cudaError_t error =
        r->function ? door_load_function(r->function, d, kernel) : cudaErrorInvalidDeviceFunction;
    if (error)
        return error;
    const emu_kernel_info *info = emu_kernel_get_info(*kernel);
    error = check_shape(d, r, info);
    return error ? error : check_fit(d, r, info);
}

static cudaError_t launch_entered(const request *r) {
    door_device *d;
    emu_kernel *kernel;
    cudaError_t error = door_enter(&d);
    if (error)
        return error;
    if (!r->function)
        return cudaErrorInvalidDeviceFunction;
    door_stream *stream = door_find_stream(r->stream, d);
    if (!stream)
        return cudaErrorInvalidResourceHandle;
    if (stream->device != d)
        return cudaErrorInvalidResourceHandle;
    if ((error = door_enqueue(stream)) || (error = check(d, r, &kernel)))
        return error;
    return run_inner(d, stream, r, kernel);
}

static cudaError_t launch(const request *r) {
    const runtime_arguments arguments = {r->host,       r->grid,   r->block,
                                         r->parameters, r->shared, r->stream};
    cudaError_t error = door_enter_query(); /* whoever watches is there before the call is told */
    if (error)
        return error;
    door_api_enter(EMU_DOMAIN_RUNTIME, r->api, r->function ? r->function->name : NULL, &arguments);
    return (cudaError_t)door_api_exit((int)launch_entered(r));
}

/* ---- Kernels of graphs
 * --------------------------------------------------------------------------------- */

static request request_of(const door_kernel_call *call) {
    return (request){.host = call->host,
                     .function = door_find_function(call->host),
                     .grid = call->grid,
                     .block = call->block,
                     .shared = call->shared,
                     .parameters = call->parameters,
                     .cooperative = call->cooperative};
}

cudaError_t door_check_kernel(const door_kernel_call *call, const emu_kernel_info **info) {
    const request r = request_of(call);
    door_device *d;
    emu_kernel *kernel;
    cudaError_t error = door_enter(&d);
    if (error || (error = check(d, &r, &kernel)))
        return error;
    *info = emu_kernel_get_info(kernel);
    return cudaSuccess;
}

cudaError_t door_run_kernel(const door_kernel_call *call, door_stream *lane) {
    const request r = request_of(call);
    door_device *d;
    emu_kernel *kernel;
    cudaError_t error = door_enter(&d);
    if (error || (error = check(d, &r, &kernel)))
        return error;
    return run(d, lane, &r, kernel);
}

/* ---- The ways to ask for one
 * ---------------------------------------------------------------------------- */

static cudaError_t launch_stub(const char *api, const char *inner, const void *host, dim3 grid,
                               dim3 block, void **parameters, size_t shared, cudaStream_t stream,
                               bool cooperative) {
    return launch(&(request){api, inner, host, door_find_function(host), grid, block, shared,
                             parameters, stream, cooperative});
}

static cudaError_t launch_config(const char *api, const char *inner,
                                 const cudaLaunchConfig_t *config, const void *host,
                                 void **parameters, cudaStream_t stream) {
    bool cooperative = false;
    if (!config || (config->numAttrs && !config->attrs))
        return cudaErrorInvalidValue;
    for (unsigned i = 0; i < config->numAttrs; i++) {
        const cudaLaunchAttribute *a = &config->attrs[i];
        if (a->id == cudaLaunchAttributeCooperative)
            cooperative = a->val.cooperative != 0;
        else if (a->id == cudaLaunchAttributeClusterDimension && count3(a->val.clusterDim) > 1)
            return door_not_supported("a launch with thread block clusters");
    }
    return launch_stub(api, inner, host, config->gridDim, config->blockDim, parameters,
                       config->dynamicSmemBytes, stream, cooperative);
}

DOOR_EXPORT(cudaError_t, cudaLaunchKernel, const void *host, dim3 grid, dim3 block,
            void **parameters, size_t shared, cudaStream_t stream) {
    return door_return(launch_stub(__func__, "cuLaunchKernel", host, grid, block, parameters,
                                   shared, stream, false));
}

DOOR_EXPORT(cudaError_t, cudaLaunchKernel_ptsz, const void *host, dim3 grid, dim3 block,
            void **parameters, size_t shared, cudaStream_t stream) {
    return door_return(launch_stub(__func__, "cuLaunchKernel_ptsz", host, grid, block, parameters,
                                   shared, door_per_thread(stream), false));
}

DOOR_EXPORT(cudaError_t, cudaLaunchCooperativeKernel, const void *host, dim3 grid, dim3 block,
            void **parameters, size_t shared, cudaStream_t stream) {
    return door_return(launch_stub(__func__, "cuLaunchCooperativeKernel", host, grid, block,
                                   parameters, shared, stream, true));
}

DOOR_EXPORT(cudaError_t, cudaLaunchCooperativeKernel_ptsz, const void *host, dim3 grid, dim3 block,
            void **parameters, size_t shared, cudaStream_t stream) {
    return door_return(launch_stub(__func__, "cuLaunchCooperativeKernel_ptsz", host, grid, block,
                                   parameters, shared, door_per_thread(stream), true));
}

DOOR_EXPORT(cudaError_t, cudaLaunchKernelExC, const cudaLaunchConfig_t *config, const void *host,
            void **parameters) {
    return door_return(launch_config(__func__, "cuLaunchKernelEx", config, host, parameters,
                                     config ? config->stream : NULL));
}

DOOR_EXPORT(cudaError_t, cudaLaunchKernelExC_ptsz, const cudaLaunchConfig_t *config,
            const void *host, void **parameters) {
    return door_return(launch_config(__func__, "cuLaunchKernelEx_ptsz", config, host, parameters,
                                     door_per_thread(config ? config->stream : NULL)));
}

/* A kernel's handle is its registration. */
static cudaError_t get_kernel(cudaKernel_t *kernel, const void *host) {
    if (!kernel)
        return cudaErrorInvalidValue;
    *kernel = door_find_function(host);
    return *kernel ? cudaSuccess : cudaErrorInvalidDeviceFunction;
}

DOOR_EXPORT(cudaError_t, __cudaGetKernel, cudaKernel_t *kernel, const void *host) {
    return door_return(get_kernel(kernel, host));
}

DOOR_EXPORT(cudaError_t, cudaGetKernel, cudaKernel_t *kernel, const void *host) {
    return door_return(get_kernel(kernel, host));
}

DOOR_EXPORT(cudaError_t, cudaGetFuncBySymbol, cudaFunction_t *function, const void *host) {
    return door_return(get_kernel(function, host));
}

DOOR_EXPORT(cudaError_t, __cudaLaunchKernel, cudaKernel_t kernel, dim3 grid, dim3 block,
            void **parameters, size_t shared, cudaStream_t stream) {
    return door_return(launch(&(request){"cudaLaunchKernel", "cuLaunchKernel", kernel, kernel, grid,
                                         block, shared, parameters, stream, false}));
}

DOOR_EXPORT(cudaError_t, __cudaLaunchKernel_ptsz, cudaKernel_t kernel, dim3 grid, dim3 block,
            void **parameters, size_t shared, cudaStream_t stream) {
    return door_return(
        launch(&(request){"cudaLaunchKernel_ptsz", "cuLaunchKernel_ptsz", kernel, kernel, grid,
                          block, shared, parameters, door_per_thread(stream), false}));
}

DOOR_EXPORT(unsigned, __cudaPushCallConfiguration, dim3 grid, dim3 block, size_t shared,
            cudaStream_t stream) {
    int room = (int)(sizeof door_self.call / sizeof *door_self.call);
    if (door_self.calls == room)
        return 1;
    door_self.call[door_self.calls++] = (door_call){grid, block, shared, stream};
    return 0;
}

DOOR_EXPORT(cudaError_t, __cudaPopCallConfiguration, dim3 *grid, dim3 *block, size_t *shared,
            void *stream) {
    if (door_self.calls == 0)
        return door_return(cudaErrorMissingConfiguration);
    door_call call = door_self.call[--door_self.calls];
    *grid = call.grid;
    *block = call.block;
    *shared = call.shared;
    *(cudaStream_t *)stream = call.stream;
    return cudaSuccess;
}

/* ---- Attributes of a kernel
 * ------------------------------------------------------------------------------ */

/* A kernel by its stub's address or, in recent code, by its handle. */
static cudaError_t enter_function(const void *host, door_device **d, door_function **f,
                                  const emu_kernel_info **info) {
    emu_kernel *kernel;
    cudaError_t error = door_enter(d);
    if (error)
        return error;
    *f = door_find_function(host);
    if (!*f)
        return cudaErrorInvalidDeviceFunction;
    if ((error = door_load_function(*f, *d, &kernel)))
        return error;
    *info = emu_kernel_get_info(kernel);
    return cudaSuccess;
}

/* The most threads of a block that the registers allow. */
static int threads_by_registers(const door_device *d, const emu_kernel_info *info) {
    int most = info->max_threads_per_block < (int)d->profile.max_threads_per_block
                   ? info->max_threads_per_block
                   : (int)d->profile.max_threads_per_block;
    while (most > 32 && occupancy_of(d, info, (uint64_t)most, 0).blocks_per_sm == 0)
        most -= 32;
    return most;
}

static cudaError_t get_attributes(cudaFuncAttributes *a, const void *host) {
    door_device *d;
    door_function *f;
    const emu_kernel_info *info;
    cudaError_t error = enter_function(host, &d, &f, &info);
    if (error)
        return error;
    if (!a)
        return cudaErrorInvalidValue;
    const emu_device_spec *s = &d->profile.spec;
    memset(a, 0, sizeof *a);
    a->sharedSizeBytes = info->shared_bytes;
    a->constSizeBytes = info->constant_bytes;
    a->localSizeBytes = info->local_bytes_per_thread;
    a->maxThreadsPerBlock = threads_by_registers(d, info);
    a->numRegs = (int)info->registers_per_thread;
    /* Libraries of templates choose what they launch by this. */
    a->ptxVersion = f->on[d->index].ptx_target;
    a->binaryVersion = s->cc_major * 10 + s->cc_minor;
    size_t limit = shared_limit(d, f);
    a->maxDynamicSharedSizeBytes =
        limit > info->shared_bytes ? (int)(limit - info->shared_bytes) : 0;
    a->preferredShmemCarveout = f->carveout;
    return cudaSuccess;
}

DOOR_EXPORT(cudaError_t, cudaFuncGetAttributes, cudaFuncAttributes *attributes, const void *host) {
    return door_return(get_attributes(attributes, host));
}

static cudaError_t set_attribute(const void *host, cudaFuncAttribute attribute, int value) {
    door_device *d;
    door_function *f;
    const emu_kernel_info *info;
    cudaError_t error = enter_function(host, &d, &f, &info);
    if (error)
        return error;
    if (attribute < cudaFuncAttributeMaxDynamicSharedMemorySize || attribute > cudaFuncAttributeMax)
        return cudaErrorInvalidValue;
    if (attribute == cudaFuncAttributePreferredSharedMemoryCarveout)
        f->carveout = value;
    if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize)
        return cudaSuccess;
    if (value < 0 ||
        (size_t)value + info->shared_bytes > d->profile.spec.shared_bytes_per_block_optin)
        return cudaErrorInvalidValue;
    f->shared_limit = (size_t)value + info->shared_bytes;
    return cudaSuccess;
}

DOOR_EXPORT(cudaError_t, cudaFuncSetAttribute, const void *host, cudaFuncAttribute attribute,
            int value) {
    return door_return(set_attribute(host, attribute, value));
}

static cudaError_t accept(const void *host) {
    cudaError_t error = door_enter(NULL);
    return error ? error : door_find_function(host) ? cudaSuccess : cudaErrorInvalidDeviceFunction;
}

DOOR_EXPORT(cudaError_t, cudaFuncSetCacheConfig, const void *host, int config) {
    (void)config;
    return door_return(accept(host));
}

DOOR_EXPORT(cudaError_t, cudaFuncSetSharedMemConfig, const void *host, int config) {
    (void)config;
    return door_return(accept(host));
}

DOOR_EXPORT(cudaError_t, cudaFuncGetName, const char **name, const void *host) {
    cudaError_t error = accept(host);
    if (!error && !name)
        error = cudaErrorInvalidValue;
    if (!error)
        *name = door_find_function(host)->name;
    return door_return(error);
}

DOOR_EXPORT(cudaError_t, cudaFuncGetParamInfo, const void *host, size_t index, size_t *offset,
            size_t *size) {
    door_device *d;
    door_function *f;
    const emu_kernel_info *info;
    cudaError_t error = enter_function(host, &d, &f, &info);
    if (!error && (!offset || index >= (size_t)info->parameter_count))
        error = cudaErrorInvalidValue;
    if (error)
        return door_return(error);
    *offset = info->parameter_offset[index];
    if (size)
        *size = info->parameter_size[index];
    return cudaSuccess;
}

/* ---- Occupancy
 * ------------------------------------------------------------------------------------------- */

static cudaError_t active_blocks(int *blocks, const void *host, int threads, size_t dynamic) {
    door_device *d;
    door_function *f;
    const emu_kernel_info *info;
    cudaError_t error = enter_function(host, &d, &f, &info);
    if (error)
        return error;
    if (!blocks || threads <= 0)
        return cudaErrorInvalidValue;
    *blocks = 0;
    if (threads > info->max_threads_per_block ||
        info->shared_bytes + dynamic > d->profile.spec.shared_bytes_per_block_optin)
        return cudaSuccess;
    *blocks = (int)occupancy_of(d, info, (uint64_t)threads, dynamic).blocks_per_sm;
    return cudaSuccess;
}

DOOR_EXPORT(cudaError_t, cudaOccupancyMaxActiveBlocksPerMultiprocessor, int *blocks,
            const void *host, int threads, size_t dynamic) {
    return door_return(active_blocks(blocks, host, threads, dynamic));
}

DOOR_EXPORT(cudaError_t, cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, int *blocks,
            const void *host, int threads, size_t dynamic, unsigned flags) {
    (void)flags;
    return door_return(active_blocks(blocks, host, threads, dynamic));
}

static cudaError_t available_shared(size_t *bytes, const void *host, int blocks, int threads) {
    door_device *d;
    door_function *f;
    const emu_kernel_info *info;
    cudaError_t error = enter_function(host, &d, &f, &info);
    if (error)
        return error;
    if (!bytes || blocks <= 0 || threads <= 0)
        return cudaErrorInvalidValue;
    const emu_device_spec *s = &d->profile.spec;
    int64_t each = s->shared_bytes_per_sm / blocks - (int64_t)emu_model_reserved_shared(s) -
                   info->shared_bytes;
    int64_t most = (int64_t)s->shared_bytes_per_block_optin - info->shared_bytes;
    each = each < most ? each : most;
    *bytes = each > 0 ? (size_t)each / 128 * 128 : 0;
    return cudaSuccess;
}

DOOR_EXPORT(cudaError_t, cudaOccupancyAvailableDynamicSMemPerBlock, size_t *bytes, const void *host,
            int blocks, int threads) {
    return door_return(available_shared(bytes, host, blocks, threads));
}
