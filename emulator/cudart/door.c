/* SPDX-License-Identifier: Apache-2.0
 *
 * Start and end of the front door: configuration from the environment, the devices, messages, and
 * how errors travel.
 */
#include "emulator/cudart/door.h"
#include "emulator/cudart/visible.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

door_state door = {.lock = PTHREAD_MUTEX_INITIALIZER, .next_stream = 1};
_Thread_local door_thread door_self;

/* ---- Messages ---------------------------------------------------------------------------------
 */

void door_say(const char *severity, const char *format, ...) {
    char text[1536];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fprintf(stderr, "roofprof: emulated device: %s\n", text);
    emu_counts_note(door.file, severity, text);
}

cudaError_t door_not_supported(const char *function) {
    enum { SEEN = 64 };
    static const char *seen[SEEN];
    static int count;
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    bool fresh = true;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < count; i++)
        fresh = fresh && strcmp(seen[i], function) != 0;
    if (fresh && count < SEEN)
        seen[count++] = function;
    pthread_mutex_unlock(&lock);
    if (fresh)
        door_say("error",
                 "%s is not supported on an emulated device; it returns "
                 "cudaErrorNotSupported",
                 function);
    return door_return(cudaErrorNotSupported);
}

static void write_printf(void *context, const char *text, size_t length) {
    (void)context;
    fwrite(text, 1, length, stdout);
}

void door_drain_printf(door_device *device) {
    if (device->emu)
        emu_device_drain_printf(device->emu, write_printf, NULL);
}

/* ---- Configuration ----------------------------------------------------------------------------
 */

static bool flag(const char *name, bool otherwise) {
    const char *value = getenv(name);
    return value && *value ? strcmp(value, "0") != 0 : otherwise;
}

static void read_options(void) {
    const char *cache = getenv("ROOFPROF_EMU_CACHE"), *threads = getenv("ROOFPROF_EMU_THREADS");
    bool count = flag("ROOFPROF_EMU_COUNT", true);
    door.options = (emu_options){.host_threads = threads ? atoi(threads) : 0,
                                 .cache = EMU_CACHE_COLD,
                                 .count = count,
                                 .model_caches = count};
    if (door.options.host_threads < 0)
        door.options.host_threads = 0;
    if (cache && strcmp(cache, "warm") == 0)
        door.options.cache = EMU_CACHE_WARM;
    else if (cache && *cache && strcmp(cache, "cold") != 0)
        door_say("warning", "ROOFPROF_EMU_CACHE is '%s': it is cold or warm; cold is taken", cache);
    door.progress = flag("ROOFPROF_EMU_PROGRESS", false);
}

static void init_stream(door_stream *stream, door_device *device, bool legacy) {
    *stream = (door_stream){.device = device, .legacy = legacy};
}

static void make_opening(door_device *device) {
    pthread_mutexattr_t recursive;
    pthread_mutexattr_init(&recursive);
    pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&device->opening, &recursive);
    pthread_mutexattr_destroy(&recursive);
}

static void init_device(int index, int physical, const emu_profile *profile) {
    door_device *d = &door.device[index];
    d->index = index;
    make_opening(d);
    d->physical = physical;
    d->profile = *profile;
    pthread_mutex_init(&d->run, NULL);
    init_stream(&d->legacy, d, true);
    init_stream(&d->per_thread, d, false);
    d->limit[cudaLimitStackSize] = 1024;
    d->limit[cudaLimitPrintfFifoSize] = 1 << 20;
    d->limit[cudaLimitMallocHeapSize] = 8 << 20;
    d->limit[cudaLimitDevRuntimeSyncDepth] = 2;
    d->limit[cudaLimitDevRuntimePendingLaunchCount] = 2048;
    d->limit[cudaLimitMaxL2FetchGranularity] = 64;
    d->default_pool = (door_pool){.device = d};
    d->pool = &d->default_pool;
}

static void set_devices(const emu_profile *profiles) {
    const char *list = getenv("CUDA_VISIBLE_DEVICES");
    int order[DOOR_DEVICES];
    door.device_count = emu_visible_devices(list, door.machine_count, order);
    for (int i = 0; i < door.machine_count; i++)
        init_device(i, order[i], &profiles[order[i]]);
}

static rp_code read_devices(rp_error *error) {
    const char *list = getenv("ROOFPROF_EMU_DEVICE");
    rp_hwdb *db = NULL;
    emu_profile *profiles = NULL;
    if (!list || !*list)
        return rp_fail(error, RP_USAGE,
                       "no device is chosen; run the program under "
                       "`roofprof --emulate DEVICE`, or set ROOFPROF_EMU_DEVICE");
    rp_code code = rp_hwdb_load(&db, getenv("ROOFPROF_EMU_HWDB"), error);
    if (code == RP_OK)
        code = emu_profiles_parse(db, list, &profiles, &door.machine_count, error);
    if (code == RP_OK)
        set_devices(profiles);
    free(profiles);
    rp_hwdb_free(db);
    return code;
}

static void open_counts_file(void) {
    const char *pattern = getenv("ROOFPROF_EMU_COUNTS");
    if (!pattern || !*pattern)
        return;
    emu_counts_header header = {.program = program_invocation_short_name,
                                .cuda_major = DOOR_CUDART,
                                .options = &door.options};
    door.file = emu_counts_open(pattern, &header);
    if (!door.file) {
        door_say("error",
                 "the counts file %s cannot be created: %s; the program runs, its counts "
                 "are lost",
                 pattern, strerror(errno));
        return;
    }
    for (int i = 0; i < door.device_count; i++)
        emu_counts_device(door.file, i, &door.device[i].profile.spec,
                          door.device[i].profile.pcie_bytes_per_s);
}

/* ---- Start and end ----------------------------------------------------------------------------
 */

/* A forked child has no worker threads and must not write its parent's file; as with the real
 * runtime, it cannot use devices that its parent had started to use. */
static void in_child(void) {
    if (!door.started)
        return;
    emu_counts_abandon(door.file);
    door.file = NULL;
    door.forked = true;
}

static void lock_for_fork(void) {
    pthread_mutex_lock(&door.lock);
}

static void unlock_in_parent(void) {
    pthread_mutex_unlock(&door.lock);
}

static void unlock_in_child(void) {
    pthread_mutex_unlock(&door.lock);
    in_child();
}

__attribute__((constructor)) static void loaded(void) {
    pthread_atfork(lock_for_fork, unlock_in_parent, unlock_in_child);
}

/* The devices that there are, once. With door.lock held. */
static void list_devices(void) {
    rp_error error = {0};
    if (!door.listed && read_devices(&error) != RP_OK) {
        door_say("error", "%s", error.message);
        door.start_error = cudaErrorNoDevice;
    }
    door.listed = true;
}

void door_list_devices(void) {
    pthread_mutex_lock(&door.lock);
    list_devices();
    pthread_mutex_unlock(&door.lock);
}

/* Other threads may go on launching while the program ends: what they use must stay. */
static void note_end(void) {
    atomic_store(&door.ending, true);
}

static void refuse_hidden(void) {
    door_say("warning",
             "CUDA_VISIBLE_DEVICES is \"%s\", which hides every emulated device (there %s %d); "
             "unset it",
             getenv("CUDA_VISIBLE_DEVICES"), door.machine_count == 1 ? "is" : "are",
             door.machine_count);
    door.start_error = cudaErrorNoDevice;
}

static void start(void) {
    atexit(note_end); /* runs before modules that were there already are unregistered */
    read_options();
    list_devices();
    if (!door.start_error && !door.device_count)
        refuse_hidden();
    if (!door.start_error)
        open_counts_file();
    door.started = true;
}

cudaError_t door_enter_query(void) {
    if (door.forked)
        return cudaErrorInitializationError;
    pthread_mutex_lock(&door.lock);
    if (!door.started)
        start();
    pthread_mutex_unlock(&door.lock);
    door_inject();
    return door.start_error;
}

cudaError_t door_open_device(door_device *device, bool primary) {
    emu_fault fault = {0};
    cudaError_t error = cudaSuccess;
    bool fresh = false;
    pthread_mutex_lock(&device->opening);
    pthread_mutex_lock(&door.lock);
    if (!device->emu) {
        device->emu = emu_device_create(&device->profile.spec, &door.options, &fault);
        fresh = device->emu != NULL;
        error = fresh ? cudaSuccess : cudaErrorMemoryAllocation;
    }
    pthread_mutex_unlock(&door.lock);
    if (error)
        door_say("error", "device %d cannot be set up: %s", device->index, fault.message);
    if (fresh) {
        door_share_all(device);
        emu_device_set_heap_limit(device->emu, device->limit[cudaLimitMallocHeapSize]);
    }
    if (!error && primary)
        door_tell_context(device, true);
    atomic_store(&device->opened, !error);
    pthread_mutex_unlock(&device->opening);
    return error;
}

/* The first use of a device opens it; who comes while another thread is at it waits. */
static cudaError_t first_use(door_device *device) {
    pthread_mutex_lock(&device->opening);
    cudaError_t error = device->emu ? cudaSuccess : door_open_device(device, true);
    pthread_mutex_unlock(&device->opening);
    return error;
}

cudaError_t door_enter(door_device **device) {
    cudaError_t error = door_enter_query();
    if (error)
        return error;
    door_device *d = &door.device[door_self.device];
    if (device)
        *device = d;
    if (!atomic_load(&d->opened) && (error = first_use(d)))
        return error;
    return d->sticky;
}

cudaError_t door_return(cudaError_t error) {
    if (error != cudaSuccess && error != cudaErrorNotReady &&
        door_api_domain() != EMU_DOMAIN_DRIVER)
        door_self.last_error = error;
    return error;
}

cudaError_t door_error_of(emu_status status) {
    switch (status) {
    case EMU_OK:
        return cudaSuccess;
    case EMU_BAD_PTX:
        return cudaErrorInvalidPtx;
    case EMU_NOT_FOUND:
        return cudaErrorInvalidDeviceFunction;
    case EMU_BAD_LAUNCH:
        return cudaErrorInvalidConfiguration;
    case EMU_OUT_OF_MEMORY:
        return cudaErrorMemoryAllocation;
    case EMU_ILLEGAL_ADDRESS:
        return cudaErrorIllegalAddress;
    case EMU_MISALIGNED:
        return cudaErrorMisalignedAddress;
    case EMU_ASSERT:
        return cudaErrorAssert;
    case EMU_DEADLOCK:
        return cudaErrorLaunchTimeout;
    case EMU_ILLEGAL_INSTRUCTION:
        return cudaErrorIllegalInstruction;
    case EMU_TRAP:
    case EMU_INTERRUPTED:
        return cudaErrorLaunchFailure;
    }
    return cudaErrorUnknown;
}

/* At exit, after the program's own handlers (this library is loaded first, so its destructor runs
 * last): what kernels printed, the end record. Emulated memory stays: other libraries' destructors
 * may still touch it. */
__attribute__((destructor)) static void unloaded(void) {
    if (!door.started || door.forked)
        return;
    for (int i = 0; i < door.device_count; i++)
        door_drain_printf(&door.device[i]);
    fflush(stdout);
    if (door_observer() && door_observer()->ends)
        door_observer()->ends();
    emu_counts_end(door.file, door_now());
}
