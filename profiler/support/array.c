/* SPDX-License-Identifier: Apache-2.0
 *
 * The one place where arrays grow.
 */
#include "support/array.h"
#include <stdint.h>
#include <stdlib.h>

bool rp_array_room(void **items, size_t *capacity, size_t count, size_t size) {
    if (count < *capacity)
        return true;
    size_t wanted = *capacity ? *capacity * 2 : 16;
    if (wanted <= count || wanted > SIZE_MAX / size)
        return false;
    void *grown = realloc(*items, wanted * size);
    if (!grown)
        return false;
    *items = grown;
    *capacity = wanted;
    return true;
}
