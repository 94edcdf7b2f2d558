/* SPDX-License-Identifier: Apache-2.0
 *
 * The older profiler sessions, of CUDA 11 to 13: a session on a context, a configuration in it,
 * and, while profiling is enabled, ranges: each launch its own, or the client's. The order of calls
 * is held strictly. With kernel replay a kernel is run once whatever number of passes a
 * configuration takes, as with the range profiler (range.c); its ranges are in the image when the
 * session ends or is flushed. With user and application replay the client runs its kernels once for
 * each pass, the first pass counts, and what is not flushed is lost.
 */
#include "emulator/cupti/abi_session.h"
#include "emulator/cupti/door.h"
#include "emulator/cupti/ranges.h"
#include <pthread.h>
#include <string.h>

typedef struct session {
    bool open, configured, in_pass, enabled, submitted;
    int range, replay;
    size_t passes, pass; /* of all nesting levels, one after the other */
    size_t passes_of_level;
    uint16_t least_level;
    counter_image *image; /* the client's */
    range_list ranges;
    size_t dropped; /* of those that were decoded at once */
} session;

static struct {
    pthread_mutex_t lock;
    session of[PROFILED_DEVICES];
} sessions = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- Finding one ----------------------------------------------------------------------------- */

/* The device that P's context is on; -1: no such context. */
static int device_of(const void *context) {
    int device = context_device(context);
    return device < PROFILED_DEVICES ? device : -1;
}

static void unlock(void) {
    pthread_mutex_unlock(&sessions.lock);
}

/* Said with the lock given up: the client's rule RULE is broken. */
static cupti_result refuse(const char *rule, const char *text) {
    unlock();
    complain("error", rule, "%s", text);
    return failed(CUPTI_INVALID_OPERATION);
}

/* The session of CONTEXT, with the lock held; NULL, and without it: there is none, which is said.
 */
static session *lock_session(const void *context, const char *function, cupti_result *result) {
    int device = device_of(context);
    if ((*result = profiler_initialized(function)))
        return NULL;
    if (device < 0) {
        *result = failed(CUPTI_INVALID_CONTEXT);
        return NULL;
    }
    pthread_mutex_lock(&sessions.lock);
    if (sessions.of[device].open)
        return &sessions.of[device];
    unlock();
    complain("error", "no-session", "%s comes before cuptiProfilerBeginSession", function);
    *result = failed(CUPTI_INVALID_OPERATION);
    return NULL;
}

/* The same, of a session that has a configuration. */
static session *lock_configured(const void *context, const char *function, cupti_result *result) {
    session *s = lock_session(context, function, result);
    if (!s || s->configured)
        return s;
    unlock();
    complain("error", "no-config", "%s comes before cuptiProfilerSetConfig", function);
    *result = failed(CUPTI_INVALID_OPERATION);
    return NULL;
}

/* The client replays, so that it has to say where passes begin and end. */
static bool by_client(const session *s) {
    return s->replay != REPLAY_KERNEL;
}

bool session_open(int device) {
    pthread_mutex_lock(&sessions.lock);
    bool open = sessions.of[device].open;
    unlock();
    return open;
}

bool session_started(int device) {
    pthread_mutex_lock(&sessions.lock);
    bool started = sessions.of[device].open && sessions.of[device].enabled;
    unlock();
    return started;
}

/* ---- Sessions -------------------------------------------------------------------------------- */

static bool buffers_ok(const session_begin_params *p) {
    scratch_image scratch = {0};
    if (!counter_image_of(p->image, p->image_size)) {
        complain("error", "image-not-initialized",
                 "cuptiProfilerBeginSession: the counter data image is not initialised");
        return false;
    }
    if (p->scratch && p->scratch_size >= sizeof scratch)
        memcpy(&scratch, p->scratch, sizeof scratch);
    if (scratch.magic == SCRATCH_MAGIC && scratch.of == p->image)
        return true;
    complain("error", "scratch-not-initialized",
             "cuptiProfilerBeginSession: the scratch buffer is not initialised for this counter "
             "data image");
    return false;
}

static bool modes_ok(const session_begin_params *p) {
    const char *mistake = NULL;
    if (p->range != RANGE_AUTO && p->range != RANGE_USER)
        mistake = "the range is neither automatic nor the client's";
    else if (p->replay < REPLAY_APPLICATION || p->replay > REPLAY_USER)
        mistake = "the replay mode is none";
    else if (p->range == RANGE_USER && p->replay == REPLAY_KERNEL)
        mistake = "kernel replay needs automatic ranges";
    else if (!p->ranges_per_pass || p->launches_per_pass < p->ranges_per_pass)
        mistake = "a pass must have room for ranges, and for as many launches at least";
    if (mistake)
        complain("error", "range-config", "cuptiProfilerBeginSession: %s", mistake);
    return !mistake;
}

static bool range_profiler_on(int device) {
#if DOOR_CUPTI >= 13
    return range_enabled(device);
#else
    (void)device;
    return false;
#endif
}

CUPTI_EXPORT(cuptiProfilerBeginSession, session_begin_params *p) {
    CUPTI_SWITCH();
    profiling_check_capture(__func__);
    emu_door_device found;
    if (!params_ok(p, SIZE_TO(session_begin_params, launches_per_pass), __func__))
        return CUPTI_INVALID_PARAMETER;
    cupti_result result = profiler_initialized(__func__);
    if (result)
        return result;
    int device = device_of(p->context);
    if (device < 0 || !doors()->device(device, &found))
        return CUPTI_INVALID_CONTEXT;
    if (found.spec->cc_major < 7)
        return failed(CUPTI_NOT_SUPPORTED);
    if (!buffers_ok(p) || !modes_ok(p))
        return failed(CUPTI_INVALID_PARAMETER);
    bool other = range_profiler_on(device);
    pthread_mutex_lock(&sessions.lock);
    session *s = &sessions.of[device];
    if (s->open || other)
        return refuse("session-open", "a device has one profiler session: cuptiProfilerEndSession "
                                      "the other first");
    *s = (session){.open = true, .range = p->range, .replay = p->replay};
    s->image = counter_image_of(p->image, p->image_size);
    s->image->spec = *found.spec;
    ranges_reset(&s->ranges, p->ranges_per_pass);
    unlock();
    return CUPTI_OK;
}

CUPTI_EXPORT(cuptiProfilerEndSession, session_params *p) {
    CUPTI_SWITCH();
    cupti_result result;
    if (!params_ok(p, SIZE_TO(session_params, context), __func__))
        return CUPTI_INVALID_PARAMETER;
    session *s = lock_session(p->context, __func__, &result);
    if (!s)
        return result;
    if (s->configured)
        return refuse("end-before-unset",
                      "cuptiProfilerEndSession comes before cuptiProfilerUnsetConfig");
    size_t left = s->ranges.count;
    s->open = false;
    ranges_free(&s->ranges);
    unlock();
    if (left)
        complain("warning", "unflushed-passes",
                 "%zu ranges are lost: cuptiProfilerFlushCounterData was not called for them",
                 left);
    return CUPTI_OK;
}

/* ---- Configurations -------------------------------------------------------------------------- */

/* Every counter of CONFIG has a place in IMAGE. */
static bool fits(const config_image *config, const counter_image *image) {
    const char *name = (const char *)(config + 1);
    for (uint32_t i = 0; i < config->count; i++) {
        if (!image_names((const char *)(image + 1), image->names, name))
            return false;
        name += strlen(name) + 1;
    }
    return true;
}

static const char *config_mistake(const session *s, const session_config_params *p,
                                  const config_image *config) {
    if (!config)
        return "the configuration image is none of this library's";
    if (s->range == RANGE_AUTO && (p->least_level > 1 || p->levels > 1)) /* samples leave them 0 */
        return "automatic ranges have one nesting level";
    if (s->range == RANGE_USER && (!p->least_level || !p->levels || p->levels > RANGES_DEPTH))
        return "the client's ranges have a nesting level at least, and not that many";
    if (p->pass >= config->passes || (p->pass && s->replay != REPLAY_APPLICATION))
        return "there is no such pass";
    return NULL;
}

CUPTI_EXPORT(cuptiProfilerSetConfig, session_config_params *p) {
    CUPTI_SWITCH();
    cupti_result result;
    if (!params_ok(p, SIZE_TO(session_config_params, target_level), __func__))
        return CUPTI_INVALID_PARAMETER;
    session *s = lock_session(p->context, __func__, &result);
    if (!s)
        return result;
    const config_image *config = config_image_of(p->config, p->config_size);
    const char *mistake = config_mistake(s, p, config);
    if (s->configured)
        return refuse("config-not-unset",
                      "cuptiProfilerSetConfig is called twice without cuptiProfilerUnsetConfig");
    if (mistake) {
        unlock();
        complain("error", "range-config", "cuptiProfilerSetConfig: %s", mistake);
        return failed(CUPTI_INVALID_PARAMETER);
    }
    if (!fits(config, s->image))
        return refuse("config-and-image-differ",
                      "the configuration has counters for which the counter data image was not "
                      "made");
    s->configured = true;
    s->submitted = false;
    s->passes_of_level = config->passes;
    s->least_level = p->least_level ? p->least_level : 1;
    s->passes = config->passes * (p->levels ? p->levels : 1);
    s->pass = p->pass;
    if (s->replay == REPLAY_APPLICATION && p->target_level > s->least_level)
        s->pass += (size_t)(p->target_level - s->least_level) * config->passes;
    unlock();
    return CUPTI_OK;
}

CUPTI_EXPORT(cuptiProfilerUnsetConfig, session_params *p) {
    CUPTI_SWITCH();
    cupti_result result;
    if (!params_ok(p, SIZE_TO(session_params, context), __func__))
        return CUPTI_INVALID_PARAMETER;
    session *s = lock_configured(p->context, __func__, &result);
    if (!s)
        return result;
    if (s->enabled || s->in_pass)
        return refuse("unset-while-enabled", "cuptiProfilerUnsetConfig comes before "
                                             "cuptiProfilerDisableProfiling or EndPass");
    s->configured = false;
    unlock();
    return CUPTI_OK;
}

/* ---- Passes ---------------------------------------------------------------------------------- */

CUPTI_EXPORT(cuptiProfilerBeginPass, session_params *p) {
    CUPTI_SWITCH();
    profiling_check_capture(__func__);
    cupti_result result;
    if (!params_ok(p, SIZE_TO(session_params, context), __func__))
        return CUPTI_INVALID_PARAMETER;
    session *s = lock_configured(p->context, __func__, &result);
    if (!s)
        return result;
    if (s->in_pass)
        return refuse("pass-begun-twice",
                      "cuptiProfilerBeginPass is called twice without cuptiProfilerEndPass");
    if (by_client(s)) { /* else it does nothing */
        s->in_pass = true;
        ranges_begin_pass(&s->ranges, s->pass > 0);
    }
    unlock();
    return CUPTI_OK;
}

CUPTI_EXPORT(cuptiProfilerEndPass, session_end_pass_params *p) {
    CUPTI_SWITCH();
    cupti_result result;
    if (!params_ok(p, SIZE_TO(session_end_pass_params, all_submitted), __func__))
        return CUPTI_INVALID_PARAMETER;
    session *s = lock_configured(p->context, __func__, &result);
    if (!s)
        return result;
    if (by_client(s) && !s->in_pass)
        return refuse("pass-not-begun", "cuptiProfilerEndPass comes before cuptiProfilerBeginPass");
    if (s->ranges.depth)
        return refuse("pass-with-open-range",
                      "cuptiProfilerEndPass comes before the last cuptiProfilerPopRange");
    if (by_client(s) && s->enabled)
        return refuse("pass-while-enabled",
                      "cuptiProfilerEndPass comes before cuptiProfilerDisableProfiling");
    bool differ = by_client(s) && ranges_differ(&s->ranges);
    s->in_pass = false;
    s->pass = by_client(s) ? s->pass + 1 : s->passes;
    s->submitted = s->pass >= s->passes;
    p->all_submitted = s->submitted;
    p->pass = s->submitted ? 0 : s->pass % s->passes_of_level;
    p->target_level =
        (uint16_t)(s->least_level + (s->submitted ? 0 : s->pass / s->passes_of_level));
    unlock();
    if (differ)
        complain("error", "replay-differs",
                 "a pass of the client's replay has other ranges than the first");
    return CUPTI_OK;
}

static session *lock_to_decode(const void *context, const char *function, cupti_result *result) {
    session *s = lock_configured(context, function, result);
    if (!s || (!s->in_pass && !s->enabled))
        return s;
    *result = refuse("flush-in-pass", "passes are decoded while profiling is enabled");
    return NULL;
}

/* An application's replay has one pass a process: the others' are for other processes to flush. */
static void decode(session *s, size_t *dropped) {
    if (s->submitted || !by_client(s))
        s->image->complete = true;
    *dropped = s->dropped + ranges_decode(&s->ranges, s->image);
    s->dropped = 0;
    if (s->submitted)
        s->pass = 0;
}

CUPTI_EXPORT(cuptiProfilerFlushCounterData, session_flush_params *p) {
    CUPTI_SWITCH();
    cupti_result result;
    if (!params_ok(p, SIZE_TO(session_flush_params, bytes_dropped), __func__))
        return CUPTI_INVALID_PARAMETER;
    session *s = lock_to_decode(p->context, __func__, &result);
    if (!s)
        return result;
    decode(s, &p->ranges_dropped);
    p->bytes_dropped = 0;
    unlock();
    return CUPTI_OK;
}

CUPTI_EXPORT(cuptiProfilerIsPassCollected, session_collected_params *p) {
    CUPTI_SWITCH();
    cupti_result result;
    if (!params_ok(p, SIZE_TO(session_collected_params, all), __func__))
        return CUPTI_INVALID_PARAMETER;
    session *s = lock_to_decode(p->context, __func__, &result);
    if (!s)
        return result;
    decode(s, &p->ranges_dropped);
    p->bytes_dropped = 0;
    p->one = 1;
    p->all = s->submitted;
    unlock();
    return CUPTI_OK;
}

/* ---- Profiling, and ranges ------------------------------------------------------------------- */

CUPTI_EXPORT(cuptiProfilerEnableProfiling, session_params *p) {
    CUPTI_SWITCH();
    profiling_check_capture(__func__);
    cupti_result result;
    if (!params_ok(p, SIZE_TO(session_params, context), __func__))
        return CUPTI_INVALID_PARAMETER;
    session *s = lock_configured(p->context, __func__, &result);
    if (!s)
        return result;
    if (s->enabled)
        return refuse("profiling-enabled-twice", "cuptiProfilerEnableProfiling is called twice "
                                                 "without cuptiProfilerDisableProfiling");
    if (by_client(s) && !s->in_pass)
        return refuse("pass-not-begun",
                      "cuptiProfilerEnableProfiling comes before cuptiProfilerBeginPass, which "
                      "a client that replays by itself has to call");
    s->enabled = true;
    unlock();
    profiling_check_tracing();
    return CUPTI_OK;
}

CUPTI_EXPORT(cuptiProfilerDisableProfiling, session_params *p) {
    CUPTI_SWITCH();
    cupti_result result;
    if (!params_ok(p, SIZE_TO(session_params, context), __func__))
        return CUPTI_INVALID_PARAMETER;
    session *s = lock_configured(p->context, __func__, &result);
    if (!s)
        return result;
    if (!s->enabled)
        return refuse("profiling-not-enabled", "cuptiProfilerDisableProfiling comes before "
                                               "cuptiProfilerEnableProfiling");
    s->enabled = false;
    unlock();
    return CUPTI_OK;
}

CUPTI_EXPORT(cuptiProfilerPushRange, session_push_params *p) {
    CUPTI_SWITCH();
    cupti_result result;
    char name[RANGE_NAME];
    if (!params_ok(p, SIZE_TO(session_push_params, name_length), __func__) || !p->name)
        return CUPTI_INVALID_PARAMETER;
    size_t length = p->name_length ? p->name_length : strlen(p->name);
    if (length >= sizeof name)
        return failed(CUPTI_INVALID_PARAMETER);
    memcpy(name, p->name, length);
    name[length] = 0;
    session *s = lock_configured(p->context, __func__, &result);
    if (!s)
        return result;
    if (s->range == RANGE_AUTO)
        return refuse("range-in-auto-mode",
                      "cuptiProfilerPushRange is called in a session with automatic ranges");
    if (!s->in_pass)
        return refuse("push-before-start",
                      "cuptiProfilerPushRange comes before cuptiProfilerBeginPass");
    bool room = ranges_push(&s->ranges, name);
    unlock();
    return room ? CUPTI_OK : failed(CUPTI_MAX_LIMIT_REACHED);
}

CUPTI_EXPORT(cuptiProfilerPopRange, session_params *p) {
    CUPTI_SWITCH();
    cupti_result result;
    if (!params_ok(p, SIZE_TO(session_params, context), __func__))
        return CUPTI_INVALID_PARAMETER;
    session *s = lock_configured(p->context, __func__, &result);
    if (!s)
        return result;
    if (s->range == RANGE_AUTO)
        return refuse("range-in-auto-mode",
                      "cuptiProfilerPopRange is called in a session with automatic ranges");
    if (!ranges_pop(&s->ranges))
        return refuse("pop-without-push",
                      "cuptiProfilerPopRange is called more often than PushRange");
    unlock();
    return CUPTI_OK;
}

/* ---- The device's events --------------------------------------------------------------------- */

void session_launch(const emu_launch_event *e) {
    if (e->device < 0 || e->device >= PROFILED_DEVICES)
        return;
    pthread_mutex_lock(&sessions.lock);
    session *s = &sessions.of[e->device];
    bool counted = s->open && s->enabled;
    bool refused = counted && e->graph && s->range == RANGE_AUTO && by_client(s);
    if (counted && !refused)
        ranges_launch(&s->ranges, e, s->range == RANGE_USER);
    if (counted && !by_client(s)) {
        s->image->complete = true;
        s->dropped += ranges_decode(&s->ranges, s->image);
    }
    unlock();
    if (refused)
        complain("error", "graph-replay",
                 "a graph is launched in automatic ranges without kernel replay, which is not "
                 "supported: its kernels have no ranges");
}

void session_ends(void) {
    bool any = false;
    for (int i = 0; i < PROFILED_DEVICES; i++)
        any = any || session_open(i);
    if (any)
        complain("warning", "session-at-exit", "cuptiProfilerEndSession was never called");
}
