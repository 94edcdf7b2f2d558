/* SPDX-License-Identifier: Apache-2.0
 *
 * The profilers' images, as bytes from a client: see image.h.
 */
#include "emulator/cupti/image.h"
#include <stdlib.h>
#include <string.h>

/* COUNT names end within SIZE bytes. */
static bool names_whole(const char *names, size_t size, uint32_t count) {
    uint32_t ends = 0;
    for (size_t i = 0; i < size; i++)
        ends += !names[i];
    return ends == count && (!size || !names[size - 1]);
}

const config_image *config_image_of(const void *bytes, size_t size) {
    const config_image *image = bytes;
    bool ours = bytes && size >= sizeof *image && image->magic == CONFIG_MAGIC &&
                image->size >= sizeof *image && image->size <= size &&
                names_whole((const char *)(image + 1), image->size - sizeof *image, image->count);
    return ours ? image : NULL;
}

const prefix_image *prefix_image_of(const void *bytes, size_t size) {
    const prefix_image *image = bytes;
    bool ours = bytes && size >= sizeof *image && image->magic == PREFIX_MAGIC &&
                image->size == sizeof *image + image->names_size && image->size <= size &&
                names_whole((const char *)(image + 1), image->names_size, image->count);
    return ours ? image : NULL;
}

counter_image *counter_image_of(const void *bytes, size_t size) {
    counter_image *image = (counter_image *)(uintptr_t)bytes;
    bool ours = bytes && size >= sizeof *image && image->magic == COUNTER_MAGIC &&
                image->size <= size && image->count <= image->most;
    return ours ? image : NULL;
}

counter_range *counter_range_at(counter_image *image, size_t i) {
    return (counter_range *)(void *)((char *)image + counter_ranges_at(image->names_size)) + i;
}

bool image_names(const char *names, uint32_t count, const char *name) {
    for (uint32_t i = 0; i < count; i++) {
        if (!strcmp(names, name))
            return true;
        names += strlen(names) + 1;
    }
    return false;
}

/* The caller frees the name, as the header of the real one says. */
char *range_name(const uint8_t *bytes, size_t size, size_t index, const char *delimiter) {
    counter_image *image = counter_image_of(bytes, size);
    if (!image || index >= image->count)
        return NULL;
    const char *name = counter_range_at(image, index)->name;
    size_t more = delimiter ? strlen(delimiter) : 1;
    char *out = malloc(strlen(name) * (more + 1) + 1), *to = out;
    for (; out && *name; name++)
        if (*name == RANGE_SEPARATOR)
            to = stpcpy(to, delimiter ? delimiter : "/");
        else
            *to++ = *name;
    if (out)
        *to = 0;
    return out;
}
