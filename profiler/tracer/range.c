/* SPDX-License-Identifier: Apache-2.0
 *
 * CUPTI's range profiler, or sessions in its place: see range.h.
 */
#include "tracer/range.h"

#include "tracer/bind.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OUT_OF_MEMORY = 8 };

static refusal fine(void) {
    return (refusal){NULL, CUPTI_OK};
}

/* ---- Contexts -------------------------------------------------------------------------------- */

static refusal of_nvpw(nvpw_refusal r) {
    return (refusal){r.call, r.result};
}

/* Why a device has no counters, as the result that other calls give for the same reason. */
static refusal reason_of(const profiler_supported *s, bool sessions) {
    const struct {
        int level;
        cupti_result result;
        const char *what;
    } reasons[] = {{s->architecture, CUPTI_NOT_SUPPORTED,
                    sessions ? "the profiler serves compute capability 7.0 and later"
                             : "the range profiler serves compute capability 7.5 and later"},
                   {s->vgpu, CUPTI_VIRTUAL_DEVICE, "virtual GPU"},
                   {s->confidential, CUPTI_CONFIDENTIAL, "confidential computing"},
                   {s->cmp, CUPTI_CMP, "a device for mining"},
                   {s->sli, CUPTI_SLI, "SLI"},
                   {s->wsl, CUPTI_WSL, "WSL"}};
    for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++)
        if (reasons[i].level == SUPPORT_NONE || reasons[i].level == SUPPORT_DISABLED)
            return (refusal){reasons[i].what, reasons[i].result};
    return fine();
}

/* The block of parameters has grown: it ends here or, in older versions, earlier. */
static cupti_result ask_support(const cupti_api *api, uint32_t device, profiler_supported *s) {
    static const size_t sizes[] = {ABI_SIZE(profiler_supported, interface),
                                   ABI_SIZE(profiler_supported, cmp),
                                   ABI_SIZE(profiler_supported, confidential)};
    cupti_result result = CUPTI_INVALID_PARAMETER;
    for (size_t i = 0; i < 3 && result == CUPTI_INVALID_PARAMETER; i++) {
        *s = (profiler_supported){.size = sizes[i], .device = (int)device};
        result = api->ProfilerDeviceSupported(s);
    }
    return result;
}

/* A library that has both ways answers for the range profiler: of a device that is too old for that
 * one, sessions have to tell by themselves. */
static refusal check_support(const cupti_api *api, uint32_t device, bool sessions) {
    profiler_supported s;
    cupti_result result = ask_support(api, device, &s);
    if (result)
        return (refusal){"cuptiProfilerDeviceSupported", result};
    if (s.supported == SUPPORT_YES || s.supported == SUPPORT_UNKNOWN)
        return fine();
    bool waived = sessions && bind_has_range_profiler(api);
    if (waived)
        s.architecture = SUPPORT_YES;
    refusal r = reason_of(&s, sessions);
    return r.result || waived ? r : (refusal){"cuptiProfilerDeviceSupported", CUPTI_NOT_SUPPORTED};
}

static refusal get_availability(const cupti_api *api, counted_context *c) {
    profiler_availability a = {.size = sizeof a, .context = c->context};
    cupti_result result = api->ProfilerGetCounterAvailability(&a);
    if (!result && a.image_size) {
        c->availability = malloc(a.image_size);
        a.image = c->availability;
        result = c->availability ? api->ProfilerGetCounterAvailability(&a) : OUT_OF_MEMORY;
    }
    return (refusal){"cuptiProfilerGetCounterAvailability", result};
}

static refusal enable(const cupti_api *api, counted_context *c) {
    range_enable e = {.size = sizeof e, .context = c->context};
    cupti_result result = api->RangeEnable(&e);
    c->object = result ? NULL : e.object;
    return (refusal){"cuptiRangeProfilerEnable", result};
}

/* Binds NVPW; it is the context's, since two contexts may be counted in two ways. */
static refusal open_nvpw(const cupti_api *api, counted_context *c) {
    static char reason[256]; /* the last: the refusal points at it */
    c->nvpw = calloc(1, sizeof *c->nvpw);
    if (!c->nvpw)
        return (refusal){"memory", OUT_OF_MEMORY};
    return nvpw_open(c->nvpw, (const void *)(uintptr_t)api->GetVersion, reason)
               ? (refusal){reason, CUPTI_NOT_SUPPORTED}
               : fine();
}

static refusal get_chip(const cupti_api *api, counted_context *c) {
    device_chip chip = {.size = sizeof chip, .device = c->device};
    cupti_result result = api->DeviceGetChipName(&chip);
    snprintf(c->chip, sizeof c->chip, "%s", !result && chip.chip ? chip.chip : "");
    return (refusal){"cuptiDeviceGetChipName", result};
}

static refusal attach(const cupti_api *api, bool sessions, counted_context *c) {
    refusal r = check_support(api, c->device, sessions);
    if (!r.result)
        r = get_chip(api, c);
    if (!r.result)
        r = get_availability(api, c);
    if (!r.result)
        r = sessions ? open_nvpw(api, c) : enable(api, c);
    if (r.result) {
        free(c->availability);
        free(c->nvpw);
        c->availability = NULL;
        c->nvpw = NULL;
    }
    return r;
}

refusal range_attach(const cupti_api *api, void *context, counted_context *out) {
    profiler_plain plain = {.size = sizeof plain};
    *out = (counted_context){.context = context};
    /* Without this one, CUPTI 13.0 crashes in those that follow. */
    refusal r = {"cuptiProfilerInitialize", api->ProfilerInitialize(&plain)};
    if (!r.result)
        r = (refusal){"cuptiGetDeviceId", api->GetDeviceId(context, &out->device)};
    if (r.result)
        return r;
    if (!bind_has_range_profiler(api))
        return attach(api, true, out);
    r = attach(api, false, out);
    return r.result == CUPTI_NOT_SUPPORTED && bind_has_sessions(api) ? attach(api, true, out) : r;
}

void range_detach(const cupti_api *api, counted_context *c) {
    range_object o = {.size = sizeof o, .object = c->object};
    if (c->object)
        api->RangeDisable(&o);
    free(c->availability);
    free(c->nvpw);
    *c = (counted_context){0};
}

/* ---- Configurations -------------------------------------------------------------------------- */

bool configuration_add(configuration *c, const char *const *metrics, size_t count) {
    const char **grown = realloc(c->metrics, (c->count + count + 1) * sizeof *grown);
    if (!grown)
        return false;
    c->metrics = grown;
    for (size_t i = 0; i < count; i++) {
        size_t k = 0;
        while (k < c->count && strcmp(c->metrics[k], metrics[i]))
            k++;
        if (k == c->count)
            c->metrics[c->count++] = metrics[i];
    }
    return true;
}

static cupti_result new_host(const host_api *host, const counted_context *context,
                             const char **metrics, size_t count, void **object) {
    host_initialize i = {
        .size = sizeof i, .chip = context->chip, .availability = context->availability};
    cupti_result result = host->Initialize(&i);
    *object = result ? NULL : i.object;
    if (result)
        return result;
    host_add_metrics add = {
        .size = sizeof add, .object = i.object, .metrics = metrics, .count = count};
    return host->ConfigAddMetrics(&add);
}

static void free_host(const host_api *host, void **object) {
    host_deinitialize d = {.size = sizeof d, .object = *object};
    if (*object)
        host->Deinitialize(&d);
    *object = NULL;
}

/* An older CUPTI does not know every metric, and a slice of a device (MIG) has not every counter:
 * each is asked for on its own, since one refusal spoils an object. */
static void leave_out_unknown(const host_api *host, const counted_context *context,
                              configuration *c) {
    size_t kept = 0;
    for (size_t i = 0; i < c->count; i++) {
        void *object;
        if (!new_host(host, context, &c->metrics[i], 1, &object))
            c->metrics[kept++] = c->metrics[i];
        free_host(host, &object);
    }
    c->count = kept;
}

static refusal make_counters(const cupti_api *api, const counted_context *context,
                             configuration *c) {
    range_image_size s = {.size = sizeof s,
                          .object = context->object,
                          .metrics = c->metrics,
                          .count = c->count,
                          .ranges = c->room,
                          .nodes = (uint32_t)c->room};
    cupti_result result = api->RangeGetCounterDataSize(&s);
    if (result)
        return (refusal){"cuptiRangeProfilerGetCounterDataSize", result};
    c->counters = calloc(1, s.image_size ? s.image_size : 1);
    c->counters_size = s.image_size;
    return (refusal){"memory for counters", c->counters ? CUPTI_OK : OUT_OF_MEMORY};
}

static refusal build_set(const cupti_api *api, const counted_context *context, configuration *c) {
    const char *unknown;
    nvpw_refusal r = nvpw_set_make(context->nvpw, context->chip, context->availability, c->metrics,
                                   c->count, &c->set, &unknown);
    if (r.result) {
        size_t known = nvpw_keep_known(context->nvpw, context->chip, context->availability,
                                       c->metrics, c->count);
        c->count = known;
        if (known)
            r = nvpw_set_make(context->nvpw, context->chip, context->availability, c->metrics,
                              known, &c->set, &unknown);
    }
    if (!r.result)
        r = nvpw_window_make(&api->session, &c->set, c->room, &c->window);
    c->passes = c->set.passes;
    c->built = !r.result;
    return of_nvpw(r);
}

refusal configuration_build(const cupti_api *api, const host_api *host,
                            const counted_context *context, configuration *c) {
    c->room = RANGE_BATCH;
    if (context->nvpw)
        return build_set(api, context, c);
    refusal r = {"cuptiProfilerHostConfigAddMetrics",
                 new_host(host, context, c->metrics, c->count, &c->host)};
    if (r.result) {
        free_host(host, &c->host);
        leave_out_unknown(host, context, c);
        if (!c->count)
            return r;
        r.result = new_host(host, context, c->metrics, c->count, &c->host);
    }
    if (!r.result)
        r = (refusal){"cuptiProfilerHostGetConfigImage",
                      host_image(host, c->host, &c->image, &c->image_size, &c->passes)};
    if (!r.result)
        r = make_counters(api, context, c);
    c->built = !r.result;
    return r;
}

refusal configuration_make_room(const cupti_api *api, const counted_context *context,
                                configuration *c, size_t ranges) {
    if (ranges <= c->room)
        return fine();
    c->room = ranges;
    if (context->nvpw) {
        nvpw_window_free(&c->window);
        return of_nvpw(nvpw_window_make(&api->session, &c->set, c->room, &c->window));
    }
    free(c->counters);
    c->counters = NULL;
    return make_counters(api, context, c);
}

void configuration_clear(const host_api *host, configuration *c) {
    free_host(host, &c->host);
    nvpw_window_free(&c->window);
    nvpw_set_free(&c->set);
    free(c->image);
    free(c->counters);
    *c = (configuration){.profile = c->profile, .metrics = c->metrics, .count = c->count};
}

void configuration_free(const host_api *host, configuration *c) {
    configuration_clear(host, c);
    free(c->metrics);
    *c = (configuration){0};
}

/* ---- Windows --------------------------------------------------------------------------------- */

refusal range_start(const cupti_api *api, const counted_context *context, configuration *c,
                    int replay) {
    if (context->nvpw)
        return of_nvpw(
            nvpw_window_begin(&api->session, &c->set, context->context, replay, &c->window));
    range_image image = {.size = sizeof image,
                         .object = context->object,
                         .image_size = c->counters_size,
                         .image = c->counters};
    refusal r = {"cuptiRangeProfilerCounterDataImageInitialize",
                 api->RangeCounterDataImageInitialize(&image)};
    if (r.result)
        return r;
    range_config config = {.size = ABI_SIZE(range_config, target_level),
                           .object = context->object,
                           .config_size = c->image_size,
                           .config = c->image,
                           .image_size = c->counters_size,
                           .image = c->counters,
                           .range = RANGE_AUTO,
                           .replay = replay,
                           .ranges_per_pass = c->room,
                           .levels = 1,
                           .least_level = 1};
    r = (refusal){"cuptiRangeProfilerSetConfig", api->RangeSetConfig(&config)};
    if (r.result)
        return r;
    range_object object = {.size = sizeof object, .object = context->object};
    return (refusal){"cuptiRangeProfilerStart", api->RangeStart(&object)};
}

void range_break(const cupti_api *api, const counted_context *context, const configuration *c) {
    range_stop stop = {.size = ABI_SIZE(range_stop, all_submitted), .object = context->object};
    if (context->nvpw)
        nvpw_window_break(&api->session, context->context, &c->window);
    else
        api->RangeStop(&stop);
}

refusal range_stop_and_decode(const cupti_api *api, const counted_context *context,
                              configuration *c, size_t *ranges, size_t *dropped) {
    range_stop stop = {.size = ABI_SIZE(range_stop, all_submitted), .object = context->object};
    *ranges = *dropped = 0;
    if (context->nvpw) /* what is dropped is missing in the number of ranges */
        return of_nvpw(
            nvpw_window_end(&api->session, &c->set, context->context, &c->window, ranges));
    refusal r = {"cuptiRangeProfilerStop", api->RangeStop(&stop)};
    if (r.result)
        return r;
    range_decode decode = {.size = sizeof decode, .object = context->object};
    r = (refusal){"cuptiRangeProfilerDecodeData", api->RangeDecodeData(&decode)};
    if (r.result)
        return r;
    range_info info = {.size = sizeof info, .image = c->counters, .image_size = c->counters_size};
    r = (refusal){"cuptiRangeProfilerGetCounterDataInfo", api->RangeGetCounterDataInfo(&info)};
    *ranges = r.result ? 0 : info.ranges;
    *dropped = decode.dropped;
    return r;
}

refusal range_evaluate(const host_api *host, const configuration *c, size_t i,
                       const char *const *metrics, size_t count, double *values) {
    if (c->set.api)
        return of_nvpw(nvpw_evaluate_range(&c->set, c->window.image, c->window.image_size, i,
                                           metrics, count, values));
    host_evaluate e = {.size = sizeof e,
                       .object = c->host,
                       .image = c->counters,
                       .image_size = c->counters_size,
                       .range = i,
                       .metrics = (const char **)(uintptr_t)metrics,
                       .count = count,
                       .values = values};
    return (refusal){"cuptiProfilerHostEvaluateToGpuValues", host->EvaluateToGpuValues(&e)};
}
