/* SPDX-License-Identifier: Apache-2.0
 *
 * The two images of the range profiler, in this door's own format. A configuration image holds
 * the metrics and how many passes they take; a counter data image holds what launches did in each
 * range, and the device. Clients take both for opaque bytes.
 */
#ifndef EMU_CUPTI_IMAGE_H
#define EMU_CUPTI_IMAGE_H

#include "emulator/emulator.h"

#define CONFIG_MAGIC  UINT64_C(0x31474643554d45) /* "EMUCFG1" */
#define COUNTER_MAGIC UINT64_C(0x31544144554d45) /* "EMUDAT1" */
enum { RANGE_NAME = 256 };

typedef struct config_image {
    uint64_t magic;
    uint32_t passes, count; /* of names, NUL-terminated each, which follow */
    uint64_t size;          /* of all */
} config_image;

typedef struct counter_range {
    char name[RANGE_NAME]; /* nested: "outer/inner", with RANGE_SEPARATOR for '/' */
    emu_counts counts;
    uint32_t launches;
    bool counted; /* false: counting was off in a launch of it */
} counter_range;

typedef struct counter_image {
    uint64_t magic, size;
    uint32_t most, count; /* ranges, which follow behind the names */
    uint32_t names_size, names;
    emu_device_spec spec;
    bool complete; /* every pass was submitted */
} counter_image;

/* Ranges begin at a multiple of 16 behind the header and the names. */
static inline size_t counter_ranges_at(uint32_t names_size) {
    return (sizeof(counter_image) + names_size + 15) / 16 * 16;
}

/* NULL: the bytes are no initialised image. */
counter_image *counter_image_of(const void *bytes, size_t size);
const config_image *config_image_of(const void *bytes, size_t size);
counter_range *counter_range_at(counter_image *image, size_t i);

#endif
