/* SPDX-License-Identifier: Apache-2.0
 *
 * The range profiler: what launches do between Start and Stop becomes ranges, each launch its own
 * (automatic) or all between PushRange and PopRange together (the client's). The order of calls is
 * held strictly. A kernel is run once whatever number of passes a configuration takes: its counts
 * are all there after the first, and the device's memory needs no saving and restoring. With user
 * replay the client runs its kernels once for each pass, as on a real device, and the first pass
 * counts.
 */
#include "emulator/cupti/door.h"
#include "emulator/cupti/image.h"
#include "emulator/cupti/ranges.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a counter data image of a size was asked for: it comes back to be initialised with the size
 * alone. */
typedef struct layout {
    struct layout *next;
    size_t size;
    uint32_t ranges, names_size, count;
    char names[];
} layout;

typedef struct range_object {
    int device;
    bool configured, started;
    uint32_t range, replay;
    size_t passes, pass;
    counter_image *image; /* of the client's; set by SetConfig */
    range_list ranges;
    layout *layouts;
} range_object;

static struct {
    pthread_mutex_t lock;
    range_object *object[PROFILED_DEVICES]; /* by device */
} profiler = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- Objects ---------------------------------------------------------------------------------
 */

/* The device's object, for the client's handle; NULL: it is none. The lock is held then. */
static range_object *lock_object(void *handle, const char *function) {
    pthread_mutex_lock(&profiler.lock);
    for (int i = 0; handle && i < PROFILED_DEVICES; i++)
        if (profiler.object[i] == handle)
            return handle;
    pthread_mutex_unlock(&profiler.lock);
    complain("error", "not-enabled", "%s: there is no such range profiler object", function);
    return NULL;
}

static void unlock_object(void) {
    pthread_mutex_unlock(&profiler.lock);
}

/* Said with the lock given up: the client's rule RULE is broken. */
static cupti_result refuse(const char *rule, const char *text) {
    unlock_object();
    complain("error", rule, "%s", text);
    return failed(CUPTI_INVALID_OPERATION);
}

CUPTI_EXPORT(cuptiRangeProfilerEnable, range_enable_params *p) {
    CUPTI_SWITCH();
    profiling_check_capture(__func__);
    profiler_needs_driver(__func__, VERSION_13_0, 130001);
    if (!params_ok(p, SIZE_TO(range_enable_params, object), __func__))
        return CUPTI_INVALID_PARAMETER;
    cupti_result result = profiler_initialized(__func__);
    if (result)
        return result;
    if (version() < VERSION_12_8)
        return CUPTI_NOT_SUPPORTED;
    int device = context_device(p->context);
    emu_door_device found;
    if (device < 0 || device >= PROFILED_DEVICES || !doors()->device(device, &found))
        return CUPTI_INVALID_CONTEXT;
    if (found.spec->cc_major * 10 + found.spec->cc_minor < 75)
        return CUPTI_NOT_SUPPORTED;
    range_object *o = calloc(1, sizeof *o);
    if (!o)
        return CUPTI_OUT_OF_MEMORY;
    *o = (range_object){.device = device};
    pthread_mutex_lock(&profiler.lock);
    bool taken = profiler.object[device] != NULL || session_open(device);
    if (!taken)
        profiler.object[device] = o;
    pthread_mutex_unlock(&profiler.lock);
    if (taken) {
        free(o);
        complain("error", "enabled-twice",
                 "a device has one active profiling context: cuptiRangeProfilerDisable the other "
                 "first");
        return CUPTI_INVALID_OPERATION;
    }
    p->object = o;
    return CUPTI_OK;
}

CUPTI_EXPORT(cuptiRangeProfilerDisable, range_params *p) {
    CUPTI_SWITCH();
    if (!params_ok(p, sizeof *p, __func__))
        return CUPTI_INVALID_PARAMETER;
    range_object *o = lock_object(p->object, __func__);
    if (!o)
        return CUPTI_INVALID_PARAMETER;
    if (o->started)
        return refuse("disable-while-started",
                      "cuptiRangeProfilerDisable comes before cuptiRangeProfilerStop");
    size_t left = o->ranges.count;
    profiler.object[o->device] = NULL;
    unlock_object();
    if (left)
        complain("warning", "undecoded-ranges",
                 "%zu ranges are lost: cuptiRangeProfilerDecodeData was not called for them", left);
    while (o->layouts) {
        layout *next = o->layouts->next;
        free(o->layouts);
        o->layouts = next;
    }
    ranges_free(&o->ranges);
    free(o);
    return CUPTI_OK;
}

/* ---- Images ----------------------------------------------------------------------------------
 */

/* With the lock held. False: no memory. */
static bool remember_layout(range_object *o, const range_size_params *p, size_t names_size) {
    layout *l = malloc(sizeof *l + names_size);
    if (!l)
        return false;
    *l = (layout){.next = o->layouts,
                  .size = p->image_size,
                  .ranges = (uint32_t)p->ranges,
                  .names_size = (uint32_t)names_size,
                  .count = (uint32_t)p->count};
    char *at = l->names;
    for (size_t i = 0; i < p->count; i++)
        at = stpcpy(at, p->names[i]) + 1;
    o->layouts = l;
    return true;
}

CUPTI_EXPORT(cuptiRangeProfilerGetCounterDataSize, range_size_params *p) {
    CUPTI_SWITCH();
    size_t names = 0;
    if (!params_ok(p, SIZE_TO(range_size_params, image_size), __func__) ||
        (p->count && !p->names) || !p->ranges || p->nodes < p->ranges)
        return CUPTI_INVALID_PARAMETER;
    for (size_t i = 0; i < p->count; i++) {
        if (!p->names[i])
            return CUPTI_INVALID_PARAMETER;
        names += strlen(p->names[i]) + 1;
    }
    if (p->ranges > UINT32_MAX || names > UINT32_MAX)
        return CUPTI_INVALID_PARAMETER;
    range_object *o = lock_object(p->object, __func__);
    if (!o)
        return CUPTI_INVALID_PARAMETER;
    p->image_size = counter_ranges_at((uint32_t)names) + p->ranges * sizeof(counter_range);
    bool kept = remember_layout(o, p, names);
    unlock_object();
    return kept ? CUPTI_OK : CUPTI_OUT_OF_MEMORY;
}

CUPTI_EXPORT(cuptiRangeProfilerCounterDataImageInitialize, range_image_params *p) {
    CUPTI_SWITCH();
    emu_door_device device = {0};
    if (!params_ok(p, SIZE_TO(range_image_params, image), __func__) || !p->image)
        return CUPTI_INVALID_PARAMETER;
    range_object *o = lock_object(p->object, __func__);
    if (!o)
        return CUPTI_INVALID_PARAMETER;
    const layout *l = o->layouts;
    while (l && l->size != p->image_size)
        l = l->next;
    if (!l)
        return refuse("image-size", "a counter data image is initialised with a size that "
                                    "cuptiRangeProfilerGetCounterDataSize did not give");
    doors()->device(o->device, &device);
    counter_image *image = (counter_image *)(void *)p->image;
    memset(image, 0, l->size);
    *image = (counter_image){.magic = COUNTER_MAGIC,
                             .size = l->size,
                             .most = l->ranges,
                             .names_size = l->names_size,
                             .names = l->count,
                             .spec = *device.spec};
    memcpy(image + 1, l->names, l->names_size);
    unlock_object();
    return CUPTI_OK;
}

/* ---- Configuration ---------------------------------------------------------------------------
 */

static const char *config_mistake(const range_config_params *p) {
    if (p->range != RANGE_AUTO && p->range != RANGE_USER)
        return "the range is neither automatic nor the client's";
    if (p->replay < REPLAY_APPLICATION || p->replay > REPLAY_USER)
        return "the replay mode is none";
    if (p->range == RANGE_USER && p->replay == REPLAY_KERNEL)
        return "kernel replay needs automatic ranges";
    if (p->range == RANGE_AUTO && (p->nesting_levels != 1 || p->nesting_least != 1))
        return "automatic ranges have one nesting level";
    return NULL;
}

CUPTI_EXPORT(cuptiRangeProfilerSetConfig, range_config_params *p) {
    CUPTI_SWITCH();
    profiling_check_capture(__func__);
    if (!params_ok(p, SIZE_TO(range_config_params, nesting_target), __func__))
        return CUPTI_INVALID_PARAMETER;
    const config_image *config = config_image_of(p->config, p->config_size);
    counter_image *image = counter_image_of(p->image, p->image_size);
    const char *mistake = config_mistake(p);
    if (!config)
        mistake = "the configuration image is none of this library's";
    if (!image)
        complain("error", "image-not-initialized",
                 "cuptiRangeProfilerSetConfig: the counter data image is not initialised");
    if (mistake)
        complain("error", "range-config", "cuptiRangeProfilerSetConfig: %s", mistake);
    if (mistake || !image)
        return CUPTI_INVALID_PARAMETER;
    range_object *o = lock_object(p->object, __func__);
    if (!o)
        return CUPTI_INVALID_PARAMETER;
    if (o->started)
        return refuse("config-while-started",
                      "cuptiRangeProfilerSetConfig comes between Start and Stop");
    o->configured = true;
    o->range = p->range;
    o->replay = p->replay;
    o->passes = config->passes;
    o->pass = p->pass;
    o->image = image;
    ranges_reset(&o->ranges, p->ranges_per_pass);
    unlock_object();
    return CUPTI_OK;
}

/* ---- Ranges ----------------------------------------------------------------------------------
 */

CUPTI_EXPORT(cuptiRangeProfilerStart, range_params *p) {
    CUPTI_SWITCH();
    profiling_check_capture(__func__);
    if (!params_ok(p, sizeof *p, __func__))
        return CUPTI_INVALID_PARAMETER;
    range_object *o = lock_object(p->object, __func__);
    if (!o)
        return CUPTI_INVALID_PARAMETER;
    if (!o->configured)
        return refuse("start-before-config",
                      "cuptiRangeProfilerStart comes before cuptiRangeProfilerSetConfig");
    if (o->started)
        return refuse("started-twice", "cuptiRangeProfilerStart is called twice without a Stop");
    o->started = true;
    ranges_begin_pass(&o->ranges, o->pass > 0 && o->replay != REPLAY_KERNEL);
    unlock_object();
    profiling_check_tracing();
    return CUPTI_OK;
}

bool range_enabled(int device) {
    pthread_mutex_lock(&profiler.lock);
    bool enabled = profiler.object[device] != NULL;
    pthread_mutex_unlock(&profiler.lock);
    return enabled;
}

bool range_started(int device) {
    pthread_mutex_lock(&profiler.lock);
    bool started = profiler.object[device] && profiler.object[device]->started;
    pthread_mutex_unlock(&profiler.lock);
    return started;
}

void range_launch(const emu_launch_event *e) {
    pthread_mutex_lock(&profiler.lock);
    range_object *o = e->device < PROFILED_DEVICES ? profiler.object[e->device] : NULL;
    bool counted = o && o->started;
    bool refused = counted && e->graph && o->range == RANGE_AUTO && o->replay != REPLAY_KERNEL;
    if (counted && !refused)
        ranges_launch(&o->ranges, e, o->range == RANGE_USER);
    pthread_mutex_unlock(&profiler.lock);
    if (refused)
        complain("error", "graph-replay",
                 "a graph is launched in automatic ranges without kernel replay, which is not "
                 "supported: its kernels have no ranges");
}

CUPTI_EXPORT(cuptiRangeProfilerPushRange, range_push_params *p) {
    CUPTI_SWITCH();
    if (!params_ok(p, SIZE_TO(range_push_params, name), __func__) || !p->name)
        return CUPTI_INVALID_PARAMETER;
    range_object *o = lock_object(p->object, __func__);
    if (!o)
        return CUPTI_INVALID_PARAMETER;
    if (!o->started)
        return refuse("push-before-start",
                      "cuptiRangeProfilerPushRange comes before cuptiRangeProfilerStart");
    if (o->range == RANGE_AUTO) { /* NVIDIA's samples do it: it changes nothing */
        unlock_object();
        return CUPTI_OK;
    }
    bool room = ranges_push(&o->ranges, p->name);
    unlock_object();
    return room ? CUPTI_OK : CUPTI_MAX_LIMIT_REACHED;
}

CUPTI_EXPORT(cuptiRangeProfilerPopRange, range_params *p) {
    CUPTI_SWITCH();
    if (!params_ok(p, sizeof *p, __func__))
        return CUPTI_INVALID_PARAMETER;
    range_object *o = lock_object(p->object, __func__);
    if (!o)
        return CUPTI_INVALID_PARAMETER;
    if (o->started && o->range == RANGE_AUTO) {
        unlock_object();
        return CUPTI_OK;
    }
    if (!ranges_pop(&o->ranges))
        return refuse("pop-without-push",
                      "cuptiRangeProfilerPopRange is called more often than PushRange");
    unlock_object();
    return CUPTI_OK;
}

CUPTI_EXPORT(cuptiRangeProfilerStop, range_stop_params *p) {
    CUPTI_SWITCH();
    if (!params_ok(p, SIZE_TO(range_stop_params, all_submitted), __func__))
        return CUPTI_INVALID_PARAMETER;
    range_object *o = lock_object(p->object, __func__);
    if (!o)
        return CUPTI_INVALID_PARAMETER;
    if (!o->started)
        return refuse("stop-before-start",
                      "cuptiRangeProfilerStop comes before cuptiRangeProfilerStart");
    if (o->ranges.depth)
        return refuse("stop-with-open-range",
                      "cuptiRangeProfilerStop comes before the last cuptiRangeProfilerPopRange");
    o->started = false;
    bool differs = ranges_differ(&o->ranges);
    o->pass = o->replay == REPLAY_KERNEL ? o->passes : o->pass + 1;
    bool all = o->pass >= o->passes;
    o->image->complete = all;
    p->pass = all ? 0 : o->pass;
    p->nesting_target = 1;
    p->all_submitted = all;
    unlock_object();
    if (differs)
        complain("error", "replay-differs",
                 "a pass of the client's replay has other ranges than the first");
    return CUPTI_OK;
}

CUPTI_EXPORT(cuptiRangeProfilerDecodeData, range_decode_params *p) {
    CUPTI_SWITCH();
    if (!params_ok(p, SIZE_TO(range_decode_params, dropped), __func__))
        return CUPTI_INVALID_PARAMETER;
    range_object *o = lock_object(p->object, __func__);
    if (!o)
        return CUPTI_INVALID_PARAMETER;
    if (!o->configured || o->started)
        return refuse("decode-while-started",
                      "cuptiRangeProfilerDecodeData comes before cuptiRangeProfilerStop");
    if (!o->image->complete)
        return refuse("decode-before-all-passes",
                      "cuptiRangeProfilerDecodeData comes before every "
                      "pass was submitted: its values would be unknown");
    p->dropped = ranges_decode(&o->ranges, o->image);
    o->pass = 0;
    unlock_object();
    return CUPTI_OK;
}

CUPTI_EXPORT(cuptiRangeProfilerGetCounterDataInfo, range_info_params *p) {
    CUPTI_SWITCH();
    if (!params_ok(p, SIZE_TO(range_info_params, ranges), __func__))
        return CUPTI_INVALID_PARAMETER;
    const counter_image *image = counter_image_of(p->image, p->image_size);
    if (!image)
        return CUPTI_INVALID_PARAMETER;
    p->ranges = image->count;
    return CUPTI_OK;
}

CUPTI_EXPORT(cuptiRangeProfilerCounterDataGetRangeInfo, range_name_params *p) {
    CUPTI_SWITCH();
    if (!params_ok(p, SIZE_TO(range_name_params, name), __func__))
        return CUPTI_INVALID_PARAMETER;
    p->name = range_name(p->image, p->image_size, p->index, p->delimiter);
    return p->name ? CUPTI_OK : CUPTI_INVALID_PARAMETER;
}

void range_ends(void) {
    size_t left = 0, enabled = 0;
    pthread_mutex_lock(&profiler.lock);
    for (int i = 0; i < PROFILED_DEVICES; i++)
        if (profiler.object[i]) {
            enabled++;
            left += profiler.object[i]->ranges.count;
        }
    pthread_mutex_unlock(&profiler.lock);
    if (left)
        complain("warning", "undecoded-ranges", "%zu ranges were never decoded", left);
    if (enabled)
        complain("warning", "enabled-at-exit", "the range profiler was never disabled");
}
