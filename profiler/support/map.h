/* SPDX-License-Identifier: Apache-2.0
 *
 * A hash map from bytes to a 64-bit integer: names to ids, shapes to ids. Keys are copied. Open
 * addressing, grown at two thirds; nothing is ever removed. The hash is seeded per process, so that
 * a hostile file cannot aim at it.
 */
#ifndef RP_SUPPORT_MAP_H
#define RP_SUPPORT_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct rp_map_slot {
    void *key; /* NULL: free */
    size_t length;
    uint64_t hash;
    int64_t value;
} rp_map_slot;

typedef struct rp_map { /* zero-initialise */
    rp_map_slot *slots;
    size_t capacity, count;
} rp_map;

/* The place of KEY's value, made with value -1 if it was not there (*ADDED, may be NULL, says so).
 * Valid until the next call. NULL: no memory. */
int64_t *rp_map_put(rp_map *map, const void *key, size_t length, bool *added);

/* The value of KEY, or -1. */
int64_t rp_map_get(const rp_map *map, const void *key, size_t length);

void rp_map_free(rp_map *map);

#endif
