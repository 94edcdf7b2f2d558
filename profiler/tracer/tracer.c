/* SPDX-License-Identifier: Apache-2.0
 *
 * libroofprof_tracer.so: what runs inside the target. The driver loads it inside cuInit
 * (CUDA_INJECTION64_PATH) and calls InitializeInjection once. From there: a spool is opened, CUPTI
 * is found and subscribed to, activity tracing starts, and a thread of our own flushes each second.
 *
 * Whatever goes wrong, the target goes on as if nothing were there: the reason goes to the spool,
 * and where there is no spool either, one line goes to stderr. Nothing is finalised, unloaded or
 * freed at the end; a forked child drops everything.
 */
#include "tracer/activity.h"
#include "tracer/bind.h"
#include "tracer/count.h"
#include "tracer/launches.h"
#include "tracer/nvtx.h"
#include "tracer/probe_run.h"
#include "tracer/select.h"
#include "tracer/settings.h"
#include "tracer/trial.h"
#include "tracer/writer.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

enum { FLUSH_COMPLETE = 0, FLUSH_FORCED = 1 };

static cupti_api api;
static host_api host; /* of the same library */
static tracer_settings settings;
static cupti_subscriber subscriber;
static atomic_bool running;  /* activity is on: flushing makes sense */
static atomic_bool finished; /* the end was written, or we are a forked child */
static bool devices_written;
static bool monotonic_records; /* CUPTI stamps its records with our clock */
static pthread_t flusher;
static pthread_mutex_t pace = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake;

int InitializeInjection(void);

static void status(spool_stage stage, uint32_t code, const char *text) {
    spool_status s = {.stage = stage, .code = code};
    writer_frame(SPOOL_STATUS, &s, sizeof s, text, strlen(text) + 1);
}

/* ---- Devices --------------------------------------------------------------------------------- */

static int attribute(int (*get)(int *, int, int), int which, int device) {
    int value = -1;
    return get && get(&value, which, device) == 0 ? value : -1;
}

/* Attribute numbers of cuDeviceGetAttribute (CUDA driver API reference, CUdevice_attribute). */
enum {
    ATTRIBUTE_CLOCK = 13,
    ATTRIBUTE_SMS = 16,
    ATTRIBUTE_PCI_BUS = 33,
    ATTRIBUTE_PCI_DEVICE = 34,
    ATTRIBUTE_MEMORY_CLOCK = 36,
    ATTRIBUTE_BUS_WIDTH = 37,
    ATTRIBUTE_L2 = 38,
    ATTRIBUTE_PCI_DOMAIN = 50,
    ATTRIBUTE_CC_MAJOR = 75,
    ATTRIBUTE_CC_MINOR = 76
};

/* Once, when the driver is up: its own calls need no context. */
static void write_devices(void) {
    int (*count)(int *) = (int (*)(int *))bind_driver_symbol("cuDeviceGetCount");
    int (*get)(int *, int) = (int (*)(int *, int))bind_driver_symbol("cuDeviceGet");
    int (*name)(char *, int, int) =
        (int (*)(char *, int, int))bind_driver_symbol("cuDeviceGetName");
    int (*memory)(size_t *, int) =
        (int (*)(size_t *, int))bind_driver_symbol("cuDeviceTotalMem_v2");
    int (*value)(int *, int, int) =
        (int (*)(int *, int, int))bind_driver_symbol("cuDeviceGetAttribute");
    int (*uuid)(void *, int) = (int (*)(void *, int))bind_driver_symbol("cuDeviceGetUuid_v2");
    int n = 0, device;
    if (!uuid)
        uuid = (int (*)(void *, int))bind_driver_symbol("cuDeviceGetUuid");
    if (!count || !get || !name || count(&n) != 0)
        return;
    for (int i = 0; i < n; i++) {
        spool_device d = {.ordinal = (uint32_t)i};
        char text[256] = "";
        size_t bytes = 0;
        if (get(&device, i) != 0)
            continue;
        name(text, sizeof text - 1, device);
        if (memory && memory(&bytes, device) == 0)
            d.memory_bytes = bytes;
        if (uuid)
            uuid(d.uuid, device);
        int l2 = attribute(value, ATTRIBUTE_L2, device);
        d.l2_bytes = l2 > 0 ? (uint64_t)l2 : 0;
        d.cc_major = attribute(value, ATTRIBUTE_CC_MAJOR, device);
        d.cc_minor = attribute(value, ATTRIBUTE_CC_MINOR, device);
        d.sm_count = attribute(value, ATTRIBUTE_SMS, device);
        d.memory_bus_bits = attribute(value, ATTRIBUTE_BUS_WIDTH, device);
        d.sm_clock_khz = attribute(value, ATTRIBUTE_CLOCK, device);
        d.memory_clock_khz = attribute(value, ATTRIBUTE_MEMORY_CLOCK, device);
        d.pci_domain = attribute(value, ATTRIBUTE_PCI_DOMAIN, device);
        d.pci_bus = attribute(value, ATTRIBUTE_PCI_BUS, device);
        d.pci_device = attribute(value, ATTRIBUTE_PCI_DEVICE, device);
        writer_frame(SPOOL_DEVICE, &d, sizeof d, text, strlen(text) + 1);
    }
}

/* ---- The flushing thread, and the end -------------------------------------------------------- */

/* CUPTI's own clock is read between two of ours, and the closest of many tries counts. */
static int64_t cupti_clock(int64_t *monotonic_ns) {
    int64_t best_gap = INT64_MAX, best = 0;
    for (int i = 0; i < 100; i++) {
        uint64_t theirs = 0;
        int64_t before = writer_now(CLOCK_MONOTONIC);
        if (api.GetTimestamp(&theirs))
            return 0;
        int64_t after = writer_now(CLOCK_MONOTONIC);
        if (after - before < best_gap) {
            best_gap = after - before;
            *monotonic_ns = before + best_gap / 2;
            best = (int64_t)theirs;
        }
    }
    return best;
}

static void write_clock(void) {
    spool_clock c = {writer_now(CLOCK_MONOTONIC), writer_now(CLOCK_REALTIME), 0};
    if (atomic_load(&running) && !monotonic_records && api.GetTimestamp)
        c.cupti_ns = cupti_clock(&c.monotonic_ns);
    writer_frame(SPOOL_CLOCK, &c, sizeof c, NULL, 0);
}

static void *flush_each_second(void *nothing) {
    sigset_t all; /* the target's signals are for the target's threads */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    while (!atomic_load(&finished)) {
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_sec += 1;
        pthread_mutex_lock(&pace);
        if (!atomic_load(&finished))
            pthread_cond_timedwait(&wake, &pace, &until);
        pthread_mutex_unlock(&pace);
        if (atomic_load(&finished))
            break;
        if (!devices_written) {
            write_devices();
            write_clock();
            devices_written = true;
        }
        if (atomic_load(&running)) /* no lock of ours is held here */
            api.ActivityFlushAll(FLUSH_COMPLETE);
        activity_write_lost();
        count_tick();
        writer_flush();
    }
    return nothing;
}

/* After its own exit handler the driver refuses everything. */
static bool driver_is_up(void) {
    int n, (*count)(int *) = (int (*)(int *))bind_driver_symbol("cuDeviceGetCount");
    return count && count(&n) == 0;
}

/* Registered inside cuInit, so it runs after what the program registered later and, with luck,
 * before the driver's own; a refusal then is expected, and what was flushed each second is safe. */
static void at_exit(void) {
    if (atomic_exchange(&finished, true))
        return;
    pthread_mutex_lock(&pace);
    pthread_cond_broadcast(&wake);
    pthread_mutex_unlock(&pace);
    pthread_join(flusher, NULL);
    if (!devices_written)
        write_devices();
    launches_end();
    count_finish(driver_is_up());
    if (atomic_load(&running)) {
        cupti_result result = api.ActivityFlushAll(FLUSH_FORCED);
        if (result)
            status(SPOOL_STAGE_FLUSH, (uint32_t)result, "the last flush was refused");
    }
    nvtx_write_open();
    activity_write_lost();
    write_clock();
    writer_close();
    if (writer_error())
        fprintf(stderr,
                "roofprof: %s: %s; what process %ld (%s) did after that is not in the capture\n",
                writer_path(), strerror(writer_error()), (long)getpid(),
                program_invocation_short_name);
}

static void in_forked_child(void) {
    atomic_store(&finished, true);
    atomic_store(&running, false);
    launches_end();
    count_abandon();
    activity_abandon();
    nvtx_abandon();
    writer_abandon();
}

/* ---- The start ------------------------------------------------------------------------------- */

static uint64_t monotonic(void) {
    return (uint64_t)writer_now(CLOCK_MONOTONIC);
}

typedef struct choice {
    const char *folder;   /* of the spool */
    cupti_result refused; /* of the last that was tried */
    char reason[256], path[4096];
    uint32_t version;
    probe_answer probe; /* of the one that serves */
} choice;

/* 1: this one serves. -1: another holds CUPTI, and no other library would do better. 0: go on. */
static int try_cupti(void *context, const char *path) {
    choice *t = context;
    void *handle;
    if (bind_open(path, &api, &handle, t->reason))
        return 0;
    if (settings.probe)
        probe_run(&settings, t->folder, path, &t->probe);
    if (t->probe.dangerous) {
        snprintf(t->reason, sizeof t->reason, "%.150s was tried in a process of its own: %.60s",
                 path, t->probe.text);
        return 0;
    }
    api.GetVersion(&t->version);
    t->refused = api.Subscribe(&subscriber, launches_callback, NULL);
    snprintf(t->path, sizeof t->path, "%s", path);
    if (!t->refused) {
        status(SPOOL_STAGE_CUPTI_CHOSEN, t->version, t->path);
        return 1;
    }
    status(SPOOL_STAGE_SUBSCRIBE, (uint32_t)t->refused, t->path);
    return t->refused == CUPTI_MULTIPLE_SUBSCRIBERS ? -1 : 0;
}

/* Counting, if it was asked for and can be had; the spool says why not. */
static bool start_counting(const choice *chosen) {
    const probe_answer *answer = &chosen->probe;
    char reason[256];
    if (settings.mode == MODE_TRACE)
        return false;
    if (!bind_has_range_profiler(&api) && !bind_has_sessions(&api)) {
        status(SPOOL_STAGE_COUNTERS, 0,
               "this CUPTI has neither the range profiler, which CUDA 12.8 brought, nor the "
               "profiler sessions of CUDA 11: set ROOFPROF_CUPTI to a libcupti.so that has");
        return false;
    }
    if (host_open(&host, chosen->path, reason)) {
        status(SPOOL_STAGE_COUNTERS, 0, reason);
        return false;
    }
    if (settings.probe && !answer->works) {
        char text[320];
        snprintf(
            text, sizeof text, "%s%s",
            answer->result ? "" : "counters were tried in a process of their own: ", answer->text);
        status(SPOOL_STAGE_COUNTERS, (uint32_t)answer->result, text);
        return false;
    }
    trial_result mix = trial_of_word(answer->text);
    if (mix != TRIAL_TOGETHER && !activity_can_pause(chosen->version))
        mix = TRIAL_ALONE;
    if (settings.mode == MODE_SAMPLED && mix == TRIAL_ALONE) {
        status(SPOOL_STAGE_COUNTERS, 0,
               "tracing and counting in one run do not go together with this CUPTI and device: "
               "--runs 2 makes a run of each, --mode rerun one for each pass");
        return false;
    }
    count_start(&api, &host, &settings, mix == TRIAL_TOGETHER);
    return true;
}

static void start_tracing(const char *folder) {
    static choice t;
    t.folder = folder;
    int found = bind_candidates(bind_driver_version(), try_cupti, &t);
    if (found <= 0) {
        if (!t.refused)
            status(SPOOL_STAGE_NO_CUPTI, 0, t.reason);
        return;
    }
    monotonic_records =
        api.ActivityRegisterTimestampCallback && !api.ActivityRegisterTimestampCallback(monotonic);
    if (activity_start(&api, t.version))
        return;
    bool counting = start_counting(&t);
    if ((!counting || settings.mode == MODE_SAMPLED) && activity_trace_kernels() && !counting)
        return;
    atomic_store(&running, true);
    launches_start(&api, subscriber, &settings, counting);
}

/* An injection library that the user had set is loaded after us, as the driver would have. */
static void chain(void) {
    const char *next = getenv("ROOFPROF_INJECTION_NEXT");
    if (!next || !*next)
        return;
    void *library = dlopen(next, RTLD_NOW | RTLD_LOCAL);
    int (*initialize)(void) = library ? (int (*)(void))dlsym(library, "InitializeInjection") : NULL;
    if (initialize)
        initialize();
    else
        status(SPOOL_STAGE_CHAIN, 0, next);
}

static int rank_of_launcher(void) {
    static const char *const names[] = {"RANK",      "OMPI_COMM_WORLD_RANK", "PMI_RANK",
                                        "PMIX_RANK", "SLURM_PROCID",         "MV2_COMM_WORLD_RANK"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *value = getenv(names[i]);
        if (value && *value)
            return atoi(value);
    }
    return -1;
}

static bool start_thread(void) {
    pthread_condattr_t monotonic_clock;
    pthread_condattr_init(&monotonic_clock);
    pthread_condattr_setclock(&monotonic_clock, CLOCK_MONOTONIC);
    pthread_cond_init(&wake, &monotonic_clock);
    pthread_condattr_destroy(&monotonic_clock);
    return pthread_create(&flusher, NULL, flush_each_second, NULL) == 0;
}

static void start(void) {
    const char *folder = getenv("ROOFPROF_SPOOL");
    if (!folder || !*folder)
        return; /* not ours: some other tool left our library in the environment */
    int error = writer_open(folder, program_invocation_short_name, rank_of_launcher());
    if (error) {
        fprintf(stderr, "roofprof: cannot write in %s: %s; process %ld (%s) is not traced\n",
                folder, strerror(error), (long)getpid(), program_invocation_short_name);
        return;
    }
    pthread_atfork(NULL, NULL, in_forked_child);
    settings_read(&settings, getenv("ROOFPROF_CONFIG"));
    select_start(&settings);
    start_tracing(folder);
    writer_flush();
    if (start_thread())
        atexit(at_exit);
    else
        status(SPOOL_STAGE_MEMORY, 0, "no thread for flushing");
}

/* Called by the driver, once a process; by the tests, directly. */
EXPORT int InitializeInjection(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    int kept = errno;
    pthread_once(&once, start);
    chain();
    errno = kept;
    return 1;
}
