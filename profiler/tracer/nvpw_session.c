/* SPDX-License-Identifier: Apache-2.0
 *
 * The older way to counters, target side: see nvpw.h.
 */
#include "tracer/cupti_abi.h"
#include "tracer/nvpw.h"

#include <stdlib.h>

enum { NAME_LENGTH = 64 }; /* of a range; CUPTI numbers them */
enum { OUT_OF_MEMORY = 8 };

/* ---- Memory ---------------------------------------------------------------------------------- */

static nvpw_refusal make_image(const session_api *api, nvpw_window *w) {
    session_image_size s = {.size = sizeof s,
                            .options_size = ABI_SIZE(session_image_options, name_length),
                            .options = &w->options};
    int result = api->ImageSize(&s);
    if (result)
        return (nvpw_refusal){"cuptiProfilerCounterDataImageCalculateSize", result};
    w->image_size = s.image_size;
    w->image = calloc(1, s.image_size ? s.image_size : 1);
    return (nvpw_refusal){"memory for counters", w->image ? CUPTI_OK : OUT_OF_MEMORY};
}

static nvpw_refusal initialize_image(const session_api *api, nvpw_window *w) {
    session_image i = {.size = sizeof i,
                       .options_size = ABI_SIZE(session_image_options, name_length),
                       .options = &w->options,
                       .image_size = w->image_size,
                       .image = w->image};
    return (nvpw_refusal){"cuptiProfilerCounterDataImageInitialize", api->ImageInitialize(&i)};
}

static nvpw_refusal make_scratch(const session_api *api, nvpw_window *w) {
    session_scratch_size s = {.size = sizeof s, .image_size = w->image_size, .image = w->image};
    int result = api->ScratchSize(&s);
    if (result)
        return (nvpw_refusal){"cuptiProfilerCounterDataImageCalculateScratchBufferSize", result};
    w->scratch_size = s.scratch_size;
    w->scratch = calloc(1, s.scratch_size ? s.scratch_size : 1);
    return (nvpw_refusal){"memory for counters", w->scratch ? CUPTI_OK : OUT_OF_MEMORY};
}

static nvpw_refusal initialize_scratch(const session_api *api, nvpw_window *w) {
    session_scratch s = {.size = sizeof s,
                         .image_size = w->image_size,
                         .image = w->image,
                         .scratch_size = w->scratch_size,
                         .scratch = w->scratch};
    return (nvpw_refusal){"cuptiProfilerCounterDataImageInitializeScratchBuffer",
                          api->ScratchInitialize(&s)};
}

nvpw_refusal nvpw_window_make(const session_api *api, const nvpw_set *set, size_t ranges,
                              nvpw_window *w) {
    *w = (nvpw_window){.options = {.size = ABI_SIZE(session_image_options, name_length),
                                   .prefix = set->prefix,
                                   .prefix_size = set->prefix_size,
                                   .ranges = (uint32_t)ranges,
                                   .nodes = (uint32_t)ranges,
                                   .name_length = NAME_LENGTH}};
    nvpw_refusal r = make_image(api, w);
    if (!r.result)
        r = initialize_image(api, w); /* the scratch's size is told by an initialised image */
    if (!r.result)
        r = make_scratch(api, w);
    if (r.result)
        nvpw_window_free(w);
    return r;
}

void nvpw_window_free(nvpw_window *w) {
    free(w->image);
    free(w->scratch);
    *w = (nvpw_window){0};
}

/* ---- Sessions -------------------------------------------------------------------------------- */

static int call_plain(int (*call)(session_plain *), void *context) {
    session_plain p = {.size = sizeof p, .context = context};
    return call(&p);
}

static int end_pass(const session_api *api, void *context) {
    session_end_pass p = {.size = ABI_SIZE(session_end_pass, all_submitted), .context = context};
    return api->EndPass(&p);
}

static int flush(const session_api *api, void *context) {
    session_flush f = {.size = sizeof f, .context = context};
    return api->Flush(&f);
}

static int begin_session(const session_api *api, void *context, const nvpw_window *w) {
    session_begin b = {.size = sizeof b,
                       .context = context,
                       .image_size = w->image_size,
                       .image = w->image,
                       .scratch_size = w->scratch_size,
                       .scratch = w->scratch,
                       .range = RANGE_AUTO,
                       .replay = w->replay,
                       .ranges_per_pass = w->options.ranges,
                       .launches_per_pass = w->options.ranges};
    return api->Begin(&b);
}

static int set_config(const session_api *api, void *context, const nvpw_set *set) {
    session_config c = {.size = ABI_SIZE(session_config, target_level),
                        .context = context,
                        .config = set->config,
                        .config_size = set->config_size,
                        .least_level = 1,
                        .levels = 1,
                        .target_level = 1};
    return api->SetConfig(&c);
}

/* The first refusal stays; what follows has to be done all the same. */
static void keep_first(nvpw_refusal *first, const char *call, int result) {
    if (result && !first->result)
        *first = (nvpw_refusal){call, result};
}

/* Ends the first DONE of: session, configuration, pass, profiling. */
static nvpw_refusal undo(const session_api *api, void *context, bool replayed, int done) {
    nvpw_refusal first = {NULL, CUPTI_OK};
    if (done >= 4)
        keep_first(&first, "cuptiProfilerDisableProfiling", call_plain(api->Disable, context));
    if (done >= 3 && !replayed)
        keep_first(&first, "cuptiProfilerEndPass", end_pass(api, context));
    if (done >= 4 && !replayed)
        keep_first(&first, "cuptiProfilerFlushCounterData", flush(api, context));
    if (done >= 2)
        keep_first(&first, "cuptiProfilerUnsetConfig", call_plain(api->UnsetConfig, context));
    if (done >= 1)
        keep_first(&first, "cuptiProfilerEndSession", call_plain(api->End, context));
    return first;
}

nvpw_refusal nvpw_window_begin(const session_api *api, const nvpw_set *set, void *context,
                               int replay, nvpw_window *w) {
    bool replayed = replay == REPLAY_KERNEL;
    int done = 0;
    w->replay = replay;
    nvpw_refusal r = initialize_image(api, w);
    if (!r.result)
        r = initialize_scratch(api, w);
    if (r.result)
        return r;
    r = (nvpw_refusal){"cuptiProfilerBeginSession", begin_session(api, context, w)};
    if (!r.result && ++done)
        r = (nvpw_refusal){"cuptiProfilerSetConfig", set_config(api, context, set)};
    if (!r.result && ++done && !replayed)
        r = (nvpw_refusal){"cuptiProfilerBeginPass", call_plain(api->BeginPass, context)};
    if (!r.result && ++done)
        r = (nvpw_refusal){"cuptiProfilerEnableProfiling", call_plain(api->Enable, context)};
    if (r.result)
        undo(api, context, replayed, done);
    return r;
}

nvpw_refusal nvpw_window_end(const session_api *api, const nvpw_set *set, void *context,
                             nvpw_window *w, size_t *ranges) {
    nvpw_refusal r = undo(api, context, w->replay == REPLAY_KERNEL, 4);
    nvpw_ranges n = {.size = sizeof n, .image = w->image};
    *ranges = 0;
    if (r.result)
        return r;
    r.call = "NVPW_CounterData_GetNumRanges";
    r.result = set->api->GetNumRanges(&n) ? CUPTI_UNKNOWN : CUPTI_OK;
    *ranges = r.result ? 0 : n.ranges;
    return r;
}

void nvpw_window_break(const session_api *api, void *context, const nvpw_window *w) {
    undo(api, context, w->replay == REPLAY_KERNEL, 4);
}
