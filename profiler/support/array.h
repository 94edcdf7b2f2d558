/* SPDX-License-Identifier: Apache-2.0
 *
 * Growing arrays. An array is three plain variables of its owner: items, count, capacity; this
 * makes room for one more.
 */
#ifndef RP_SUPPORT_ARRAY_H
#define RP_SUPPORT_ARRAY_H

#include <stdbool.h>
#include <stddef.h>

/* Makes sure that *ITEMS (of SIZE bytes each, COUNT in use) has room for one more; the room at
 * least doubles. False: no memory, and *ITEMS is as it was. */
bool rp_array_room(void **items, size_t *capacity, size_t count, size_t size);

/* RP_ARRAY_ROOM(list, list_capacity, list_count): the same for a typed pointer. */
#define RP_ARRAY_ROOM(items, capacity, count)                                                      \
    rp_array_room((void **)&(items), &(capacity), (count), sizeof *(items))

#endif
