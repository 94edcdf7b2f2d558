/* SPDX-License-Identifier: Apache-2.0
 *
 * What the range profiler and the older sessions begin with: initialisation, the chip's name,
 * whether a device is served, which counters it has; and what holds for both.
 */
#include "emulator/cupti/door.h"
#include "emulator/cupti/image.h"
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

static atomic_int initialized;

bool params_ok(const void *params, size_t needed, const char *function) {
    size_t size = params ? ((const profiler_params *)params)->size : 0;
    if (params && size >= needed)
        return true;
    complain("error", "struct-size", "%s: structSize is %zu, it is %zu", function, size, needed);
    failed(CUPTI_INVALID_PARAMETER);
    return false;
}

CUPTI_EXPORT(cuptiProfilerInitialize, profiler_params *p) {
    CUPTI_SWITCH();
    if (!params_ok(p, sizeof *p, __func__))
        return CUPTI_INVALID_PARAMETER;
    cupti_result result = enter();
    atomic_fetch_add(&initialized, result == CUPTI_OK);
    return result;
}

static bool in_use(int device) {
#if DOOR_CUPTI >= 13
    if (range_enabled(device))
        return true;
#endif
    return session_open(device);
}

CUPTI_EXPORT(cuptiProfilerDeInitialize, profiler_params *p) {
    CUPTI_SWITCH();
    if (!params_ok(p, sizeof *p, __func__))
        return CUPTI_INVALID_PARAMETER;
    bool used = false;
    for (int i = 0; i < PROFILED_DEVICES; i++)
        used = used || in_use(i);
    if (used)
        complain("error", "deinitialize-while-enabled",
                 "cuptiProfilerDeInitialize comes before cuptiRangeProfilerDisable or "
                 "cuptiProfilerEndSession");
    if (atomic_fetch_sub(&initialized, 1) > 0)
        return CUPTI_OK;
    atomic_fetch_add(&initialized, 1);
    return CUPTI_NOT_INITIALIZED;
}

cupti_result profiler_initialized(const char *function) {
    if (atomic_load(&initialized) > 0)
        return enter();
    complain("error", "profiler-not-initialized", "%s comes before cuptiProfilerInitialize",
             function);
    return CUPTI_NOT_INITIALIZED;
}

void profiler_needs_driver(const char *function, uint32_t from, uint32_t to) {
    if (doors() && doors()->started())
        return;
    complain("error", "before-driver",
             "%s comes before the driver is initialised: the real one crashes", function);
    if (version() >= from && version() <= to)
        raise(SIGSEGV);
}

CUPTI_EXPORT(cuptiDeviceGetChipName, chip_name_params *p) {
    static char names[PROFILED_DEVICES][32];
    CUPTI_SWITCH();
    profiler_needs_driver(__func__, VERSION_13_0, 130001);
    emu_door_device device;
    cupti_result result = enter();
    if (result)
        return result;
    if (!params_ok(p, SIZE_TO(chip_name_params, name), __func__))
        return CUPTI_INVALID_PARAMETER;
    if (p->device >= PROFILED_DEVICES || !doors()->device((int)p->device, &device))
        return CUPTI_INVALID_DEVICE;
    snprintf(names[p->device], sizeof names[0], "%s", device.spec->chip);
    p->name = names[p->device];
    return CUPTI_OK;
}

/* The range profiler asks for 7.5; the older interfaces, all that older libraries have, for 7.0. */
CUPTI_EXPORT(cuptiProfilerDeviceSupported, device_supported_params *p) {
    CUPTI_SWITCH();
    emu_door_device device;
    profiler_needs_driver(__func__, VERSION_12_4, VERSION_12_4);
    if (!params_ok(p, SIZE_TO(device_supported_params, api), __func__))
        return CUPTI_INVALID_PARAMETER;
    cupti_result result = enter(); /* NVIDIA's samples ask before they initialise */
    if (result)
        return result;
    if (!doors()->device(p->device, &device))
        return CUPTI_INVALID_DEVICE;
    int least = p->api == 0 && version() >= VERSION_12_8 ? 75 : 70;
    bool ok = device.spec->cc_major * 10 + device.spec->cc_minor >= least;
    p->sli = p->vgpu = p->confidential = p->cmp = p->wsl = SUPPORT_SUPPORTED;
    p->architecture = p->supported = ok ? SUPPORT_SUPPORTED : SUPPORT_UNSUPPORTED;
    return CUPTI_OK;
}

CUPTI_EXPORT(cuptiProfilerGetCounterAvailability, availability_params *p) {
    CUPTI_SWITCH();
    if (!params_ok(p, SIZE_TO(availability_params, image), __func__))
        return CUPTI_INVALID_PARAMETER;
    cupti_result result = profiler_initialized(__func__);
    if (result)
        return result;
    int index = context_device(p->context);
    if (index < 0)
        return CUPTI_INVALID_CONTEXT;
    if (index < PROFILED_DEVICES && session_open(index))
        complain("warning", "availability-in-session",
                 "cuptiProfilerGetCounterAvailability comes between BeginSession and EndSession: "
                 "the real one may refuse");
    emu_door_device device;
    if (!doors()->device(index, &device))
        return CUPTI_INVALID_CONTEXT;
    availability_image image = {.magic = COUNTERS_MAGIC};
    snprintf(image.chip, sizeof image.chip, "%s", device.spec->chip);
    if (p->image && p->image_size < sizeof image)
        return CUPTI_PARAMETER_SIZE_NOT_SUFFICIENT;
    if (p->image)
        memcpy(p->image, &image, sizeof image);
    p->image_size = sizeof image;
    return CUPTI_OK;
}

/* ---- What holds for both --------------------------------------------------------------------- */

bool profiling_started(int device) {
    if (device < 0 || device >= PROFILED_DEVICES)
        return false;
#if DOOR_CUPTI >= 13
    if (range_started(device))
        return true;
#endif
    return session_started(device);
}

void profiling_check_capture(const char *function) {
    if (doors() && doors()->captures())
        complain("error", "profiling-while-capturing",
                 "%s is called while a stream captures: the real one spoils the capture", function);
}

void profiling_check_tracing(void) {
    bool started = false;
    for (int i = 0; i < PROFILED_DEVICES && !started; i++)
        started = profiling_started(i);
    if (started && (activity_on(KIND_CONCURRENT_KERNEL) || activity_on(KIND_KERNEL)))
        complain("warning", "tracing-and-profiling",
                 "kernels are traced while they are profiled: their records have no times to rely "
                 "on (here none)");
}
