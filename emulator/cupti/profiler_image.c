/* SPDX-License-Identifier: Apache-2.0
 *
 * Counter data images of the older sessions, and their scratch buffers: sized and initialised from
 * the prefix that the host library's builder made.
 */
#include "emulator/cupti/abi_session.h"
#include "emulator/cupti/door.h"
#include "emulator/cupti/image.h"
#include <stdint.h>
#include <string.h>

/* What is wrong with the options; NULL: nothing. Their own size NVIDIA's samples leave as it is. */
static const char *options_mistake(const session_options *o, size_t size) {
    if (!o)
        return "there are none";
    if (size < SIZE_TO(session_options, name_length))
        return "their size is too small";
    if (!prefix_image_of(o->prefix, o->prefix_size))
        return "the prefix is none of NVPW_CounterDataBuilder_GetCounterDataPrefix";
    if (!o->ranges || o->nodes < o->ranges)
        return "there must be ranges, and as many range tree nodes at least";
    return o->name_length ? NULL : "range names have no room";
}

static bool options_ok(const session_options *o, size_t size, const char *function) {
    const char *mistake = options_mistake(o, size);
    if (mistake)
        complain("error", "image-options", "%s: options of the counter data image: %s", function,
                 mistake);
    return !mistake;
}

static size_t size_for(const session_options *o) {
    const prefix_image *prefix = prefix_image_of(o->prefix, o->prefix_size);
    return counter_ranges_at(prefix->names_size) + o->ranges * sizeof(counter_range);
}

CUPTI_EXPORT(cuptiProfilerCounterDataImageCalculateSize, session_image_params *p) {
    CUPTI_SWITCH();
    if (!params_ok(p, SIZE_TO(session_image_params, image_size), __func__))
        return CUPTI_INVALID_PARAMETER;
    cupti_result result = profiler_initialized(__func__);
    if (result)
        return result;
    if (!options_ok(p->options, p->options_size, __func__))
        return CUPTI_INVALID_PARAMETER;
    p->image_size = size_for(p->options);
    return CUPTI_OK;
}

CUPTI_EXPORT(cuptiProfilerCounterDataImageInitialize, session_image_params *p) {
    CUPTI_SWITCH();
    if (!params_ok(p, SIZE_TO(session_image_params, image), __func__))
        return CUPTI_INVALID_PARAMETER;
    cupti_result result = profiler_initialized(__func__);
    if (result)
        return result;
    if (!options_ok(p->options, p->options_size, __func__) || !p->image)
        return CUPTI_INVALID_PARAMETER;
    size_t size = size_for(p->options);
    if (p->image_size < size) {
        complain("error", "image-size",
                 "a counter data image is initialised with fewer bytes than "
                 "cuptiProfilerCounterDataImageCalculateSize said");
        return CUPTI_INVALID_PARAMETER;
    }
    const prefix_image *prefix = prefix_image_of(p->options->prefix, p->options->prefix_size);
    counter_image *image = (counter_image *)(void *)p->image;
    memset(image, 0, size);
    *image = (counter_image){.magic = COUNTER_MAGIC,
                             .size = size,
                             .most = p->options->ranges,
                             .names_size = prefix->names_size,
                             .names = prefix->count};
    memcpy(image + 1, prefix + 1, prefix->names_size);
    return CUPTI_OK;
}

static bool image_ok(const session_scratch_params *p, const char *function) {
    if (counter_image_of(p->image, p->image_size))
        return true;
    complain("error", "image-not-initialized", "%s: the counter data image is not initialised",
             function);
    return false;
}

CUPTI_EXPORT(cuptiProfilerCounterDataImageCalculateScratchBufferSize, session_scratch_params *p) {
    CUPTI_SWITCH();
    if (!params_ok(p, SIZE_TO(session_scratch_params, scratch_size), __func__) ||
        !image_ok(p, __func__))
        return CUPTI_INVALID_PARAMETER;
    p->scratch_size = sizeof(scratch_image);
    return CUPTI_OK;
}

CUPTI_EXPORT(cuptiProfilerCounterDataImageInitializeScratchBuffer, session_scratch_params *p) {
    CUPTI_SWITCH();
    if (!params_ok(p, SIZE_TO(session_scratch_params, scratch), __func__) ||
        !image_ok(p, __func__) || !p->scratch || p->scratch_size < sizeof(scratch_image))
        return CUPTI_INVALID_PARAMETER;
    const scratch_image scratch = {SCRATCH_MAGIC, p->image};
    memcpy(p->scratch, &scratch, sizeof scratch);
    return CUPTI_OK;
}
