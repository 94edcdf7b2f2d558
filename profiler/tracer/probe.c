/* SPDX-License-Identifier: Apache-2.0
 *
 * roofprof-probe CUPTI [SETTINGS]: what can be done here? Subscribes and turns on tracing, as the
 * tracer will, and says "tracing" once it has survived that. Then (unless SETTINGS ask for tracing
 * alone) it makes a context on the first device, counts a small kernel, and undoes it. The last
 * line on stdout is "0" with how tracing and counting go together (trial.h), or CUPTI's result (-1
 * where it is not CUPTI's) and what refused. The tracer runs it before it does any of that in a
 * program, and so does `roofprof doctor`.
 */
#include "tracer/bind.h"
#include "tracer/probe_run.h"
#include "tracer/range.h"
#include "tracer/settings.h"
#include "tracer/trial.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { CUDA_DEVICE_UNAVAILABLE = 46 }; /* CUresult: another process has it for itself */

static int answer(int result, const char *format, ...) __attribute__((format(printf, 2, 3)));

static int answer(int result, const char *format, ...) {
    va_list arguments;
    printf("%d ", result);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    putchar('\n');
    return 0;
}

/* 0 with the driver initialised; else what is wrong was said. */
static int start_driver(void **driver) {
    int (*init)(unsigned);
    *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    if (!*driver)
        return answer(-1, "there is no libcuda.so.1"), -1;
    init = (int (*)(unsigned))dlsym(*driver, "cuInit");
    int result = init ? init(0) : -1;
    if (result)
        return answer(-1, "no device can be used (CUDA error %d)", result), -1;
    return 0;
}

/* 0 with the first device's primary context current; else what is wrong was said. */
static int make_context(void *driver, void **context) {
    int (*get)(int *, int) = (int (*)(int *, int))dlsym(driver, "cuDeviceGet");
    int (*retain)(void **, int) = (int (*)(void **, int))dlsym(driver, "cuDevicePrimaryCtxRetain");
    int (*make_current)(void *) = (int (*)(void *))dlsym(driver, "cuCtxSetCurrent");
    int device, result;
    if (!get || !retain || !make_current)
        return answer(-1, "libcuda.so.1 has no contexts"), -1;
    if ((result = get(&device, 0)))
        return answer(-1, "no device can be used (CUDA error %d)", result), -1;
    if ((result = retain(context, device)) == CUDA_DEVICE_UNAVAILABLE)
        return answer(-1, "the device is in exclusive mode and taken"), -1;
    if (result || (result = make_current(*context)))
        return answer(-1, "no context can be made (CUDA error %d)", result), -1;
    return 0;
}

typedef struct probe {
    cupti_api api;
    host_api host;
    tracer_settings settings;
    void *driver;
    uint32_t version;
} probe;

/* Windows with the metrics of the first pass. Without any, nothing is known of this chip. */
static refusal try_windows(const probe *p, const counted_context *c, trial_result *trial) {
    configuration hw = {.profile = "HW"};
    refusal r = {NULL, CUPTI_OK};
    for (size_t i = 0; i < p->settings.set_count; i++)
        if (!strcmp(p->settings.sets[i].profile, "HW") &&
            settings_set_is_for(&p->settings.sets[i], c->chip))
            configuration_add(&hw, p->settings.sets[i].metrics, p->settings.sets[i].count);
    *trial = TRIAL_APART;
    if (!hw.count)
        return r;
    r = configuration_build(&p->api, &p->host, c, &hw);
    if (!r.result)
        *trial = trial_run(&p->api, &p->host, p->driver, p->version, c, &hw, &r);
    configuration_free(&p->host, &hw);
    return r;
}

static int try_counters(const probe *p) {
    counted_context counted;
    trial_result trial = TRIAL_APART;
    void *context;
    if (make_context(p->driver, &context))
        return 1;
    refusal r = range_attach(&p->api, context, &counted);
    if (!r.result) {
        r = try_windows(p, &counted, &trial);
        range_detach(&p->api, &counted);
    }
    answer(r.result, "%s", r.result ? r.call : trial_word(trial));
    return r.result != 0;
}

int main(int argc, char **argv) {
    static probe p;
    char reason[256];
    void *handle;
    if (argc < 2)
        return answer(-1, "usage: roofprof-probe CUPTI [SETTINGS]"), 2;
    settings_read(&p.settings, argc > 2 ? argv[2] : NULL);
    if (start_driver(&p.driver))
        return 1;
    if (bind_open(argv[1], &p.api, &handle, reason))
        return answer(-1, "%s", reason), 1;
    p.api.GetVersion(&p.version);
    trial_trace(&p.api);
    puts(PROBE_TRACES);
    fflush(stdout); /* a crash from here on is one of counters */
    if (argc > 2 && p.settings.mode == MODE_TRACE)
        return answer(-1, "not asked for"), 0;
    if (!bind_has_range_profiler(&p.api) && !bind_has_sessions(&p.api))
        return answer(-1, "%s has no counters", argv[1]), 1;
    if (host_open(&p.host, argv[1], reason))
        return answer(-1, "%s", reason), 1;
    return try_counters(&p);
}
