/* SPDX-License-Identifier: Apache-2.0
 *
 * roofprof-probe CUPTI [SETTINGS]: can launches be counted here? Makes a context on the first
 * device, takes everything that counting needs up to a started window, and undoes it. One line on
 * stdout: "0", or CUPTI's result (-1 where it is not CUPTI's) and what refused. The tracer runs it
 * before it counts in a program, and `roofprof doctor` may.
 */
#include "tracer/bind.h"
#include "tracer/range.h"
#include "tracer/settings.h"

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

/* 0 with the first device's primary context current; else what is wrong was said. */
static int make_context(void **context) {
    int (*init)(unsigned), (*get)(int *, int), (*retain)(void **, int), (*make_current)(void *);
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    int device, result;
    if (!driver)
        return answer(-1, "there is no libcuda.so.1"), -1;
    init = (int (*)(unsigned))dlsym(driver, "cuInit");
    get = (int (*)(int *, int))dlsym(driver, "cuDeviceGet");
    retain = (int (*)(void **, int))dlsym(driver, "cuDevicePrimaryCtxRetain");
    make_current = (int (*)(void *))dlsym(driver, "cuCtxSetCurrent");
    if (!init || !get || !retain || !make_current)
        return answer(-1, "libcuda.so.1 has no contexts"), -1;
    if ((result = init(0)) || (result = get(&device, 0)))
        return answer(-1, "no device can be used (CUDA error %d)", result), -1;
    if ((result = retain(context, device)) == CUDA_DEVICE_UNAVAILABLE)
        return answer(-1, "the device is in exclusive mode and taken"), -1;
    if (result || (result = make_current(*context)))
        return answer(-1, "no context can be made (CUDA error %d)", result), -1;
    return 0;
}

/* A window that is started and stopped, with the metrics of the first pass. */
static refusal try_window(const cupti_api *api, const host_api *host, const counted_context *c,
                          const tracer_settings *settings) {
    configuration hw = {.profile = "HW"};
    refusal r = {NULL, CUPTI_OK};
    size_t ranges, dropped;
    for (size_t i = 0; i < settings->set_count; i++)
        if (!strcmp(settings->sets[i].profile, "HW") &&
            settings_set_is_for(&settings->sets[i], c->chip))
            configuration_add(&hw, settings->sets[i].metrics, settings->sets[i].count);
    if (!hw.count)
        return r;
    r = configuration_build(api, host, c, &hw);
    if (!r.result)
        r = range_start(api, c, &hw);
    if (!r.result)
        r = range_stop_and_decode(api, c, &hw, &ranges, &dropped);
    configuration_free(host, &hw);
    return r;
}

int main(int argc, char **argv) {
    cupti_api api;
    host_api host;
    tracer_settings settings;
    counted_context counted;
    char reason[256];
    void *handle, *context;
    if (argc < 2)
        return answer(-1, "usage: roofprof-probe CUPTI [SETTINGS]"), 2;
    settings_read(&settings, argc > 2 ? argv[2] : NULL);
    if (make_context(&context))
        return 1;
    if (bind_open(argv[1], &api, &handle, reason) || host_open(&host, argv[1], reason))
        return answer(-1, "%s", reason), 1;
    if (!bind_has_range_profiler(&api))
        return answer(-1, "%s has no range profiler", argv[1]), 1;
    refusal r = range_attach(&api, context, &counted);
    if (!r.result) {
        r = try_window(&api, &host, &counted, &settings);
        range_detach(&api, &counted);
    }
    answer(r.result, "%s", r.result ? r.call : "");
    return r.result != 0;
}
