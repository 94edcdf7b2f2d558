/* SPDX-License-Identifier: Apache-2.0
 *
 * What a counter data image tells without an evaluator: how many ranges it has, and their names.
 */
#include "emulator/cupti/image.h"
#include "emulator/nvperf/nvperf.h"
#include <stdint.h>
#include <string.h>

NVPERF_EXPORT(NVPW_CounterData_GetNumRanges, ranges_params *p) {
    const counter_image *image = p ? counter_image_of(p->image, SIZE_MAX) : NULL;
    if (!image)
        return NVPERF_INVALID_ARGUMENT;
    p->ranges = image->count;
    return NVPERF_SUCCESS;
}

/* Nested ranges have a description for each level; they are good until the thread's next call. */
static nvperf_status describe(descriptions_params *p) {
    static _Thread_local char text[RANGE_NAME];
    counter_image *image = p ? counter_image_of(p->image, SIZE_MAX) : NULL;
    if (!image || p->range >= image->count)
        return NVPERF_INVALID_ARGUMENT;
    memcpy(text, counter_range_at(image, p->range)->name, sizeof text);
    size_t levels = 0, room = p->descriptions ? p->count : 0;
    for (char *at = text; at; levels++) {
        char *end = strchr(at, RANGE_SEPARATOR);
        if (end)
            *end++ = 0;
        if (levels < room)
            p->descriptions[levels] = at;
        at = end;
    }
    p->count = levels;
    return NVPERF_SUCCESS;
}

NVPERF_EXPORT(NVPW_CounterData_GetRangeDescriptions, descriptions_params *p) {
    return describe(p);
}

NVPERF_EXPORT(NVPW_Profiler_CounterData_GetRangeDescriptions, descriptions_params *p) {
    return describe(p);
}
