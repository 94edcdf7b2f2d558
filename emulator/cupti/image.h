/* SPDX-License-Identifier: Apache-2.0
 *
 * The images of the profilers, in this door's own format. A configuration image holds the metrics
 * and how many passes they take; a counter data image holds what launches did in each range, and
 * the device; a prefix names what the counter data image of a session has to hold. Clients take
 * them for opaque bytes. Names are those of metrics in the range profiler's, of raw counters in a
 * session's.
 */
#ifndef EMU_CUPTI_IMAGE_H
#define EMU_CUPTI_IMAGE_H

#include "emulator/emulator.h"

#define CONFIG_MAGIC   UINT64_C(0x31474643554d45)   /* "EMUCFG1" */
#define COUNTER_MAGIC  UINT64_C(0x31544144554d45)   /* "EMUDAT1" */
#define PREFIX_MAGIC   UINT64_C(0x31584650554d45)   /* "EMUPFX1" */
#define COUNTERS_MAGIC UINT64_C(0x314c564155504d45) /* "EMPUAVL1" */
#define SCRATCH_MAGIC  UINT64_C(0x31524353554d45)   /* "EMUSCR1" */
enum { RANGE_NAME = 256, RANGE_SEPARATOR = 0x1f };  /* between the names of nested ranges */

typedef struct config_image {
    uint64_t magic;
    uint32_t passes, count; /* of names, NUL-terminated each, which follow */
    uint64_t size;          /* of all */
} config_image;

typedef struct prefix_image {
    uint64_t magic;
    uint32_t names_size, count; /* of names, NUL-terminated each, which follow */
    uint64_t size;              /* of all */
} prefix_image;

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

typedef struct availability_image { /* everything is there; whose it is */
    uint64_t magic;
    char chip[56];
} availability_image;

typedef struct scratch_image { /* a session's buffer, which here only remembers whose it is */
    uint64_t magic;
    const void *of; /* the counter data image that it was initialised for */
} scratch_image;

/* Ranges begin at a multiple of 16 behind the header and the names. */
static inline size_t counter_ranges_at(uint32_t names_size) {
    return (sizeof(counter_image) + names_size + 15) / 16 * 16;
}

/* NULL: the bytes are no initialised image. */
counter_image *counter_image_of(const void *bytes, size_t size);
const config_image *config_image_of(const void *bytes, size_t size);
const prefix_image *prefix_image_of(const void *bytes, size_t size);
counter_range *counter_range_at(counter_image *image, size_t i);

/* Whether NAME is one of COUNT that follow each other. */
bool image_names(const char *names, uint32_t count, const char *name);

/* Of a range in a counter data image, for the caller to free; NULL: there is none. */
char *range_name(const uint8_t *image, size_t size, size_t index, const char *delimiter);

#endif
