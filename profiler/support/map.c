/* SPDX-License-Identifier: Apache-2.0
 *
 * The hash map: FNV-1a over 8 bytes at a time with a final mix, linear probing.
 */
#include "support/map.h"
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

static uint64_t seed(void) {
    static uint64_t value;
    if (!value) {
        if (getrandom(&value, sizeof value, GRND_NONBLOCK) != (ssize_t)sizeof value)
            value = (uintptr_t)&value;
        value |= 1;
    }
    return value;
}

static uint64_t mix(uint64_t h) {
    h ^= h >> 33;
    h *= 0xff51afd7ed558ccdULL;
    h ^= h >> 29;
    h *= 0xc4ceb9fe1a85ec53ULL;
    return h ^ h >> 32;
}

static uint64_t hash_of(const void *key, size_t length) {
    const unsigned char *p = key;
    uint64_t h = seed() ^ length;
    for (; length >= 8; p += 8, length -= 8) {
        uint64_t word;
        memcpy(&word, p, 8);
        h = mix(h ^ word);
    }
    uint64_t tail = 0;
    if (length)
        memcpy(&tail, p, length);
    return mix(h ^ tail);
}

/* The slot that holds KEY, or the free one where it belongs. */
static rp_map_slot *find(const rp_map *map, const void *key, size_t length, uint64_t hash) {
    for (size_t i = hash & (map->capacity - 1);; i = (i + 1) & (map->capacity - 1)) {
        rp_map_slot *slot = &map->slots[i];
        if (!slot->key || (slot->hash == hash && slot->length == length &&
                           (length == 0 || memcmp(slot->key, key, length) == 0)))
            return slot;
    }
}

static bool grow(rp_map *map) {
    rp_map wider = {.capacity = map->capacity ? map->capacity * 2 : 64, .count = map->count};
    wider.slots = calloc(wider.capacity, sizeof *wider.slots);
    if (!wider.slots)
        return false;
    for (size_t i = 0; i < map->capacity; i++) {
        const rp_map_slot *slot = &map->slots[i];
        if (slot->key)
            *find(&wider, slot->key, slot->length, slot->hash) = *slot;
    }
    free(map->slots);
    *map = wider;
    return true;
}

int64_t *rp_map_put(rp_map *map, const void *key, size_t length, bool *added) {
    if (map->count * 3 >= map->capacity * 2 && !grow(map))
        return NULL;
    uint64_t hash = hash_of(key, length);
    rp_map_slot *slot = find(map, key, length, hash);
    if (added)
        *added = !slot->key;
    if (slot->key)
        return &slot->value;
    void *copy = malloc(length ? length : 1);
    if (!copy)
        return NULL;
    if (length)
        memcpy(copy, key, length);
    *slot = (rp_map_slot){copy, length, hash, -1};
    map->count++;
    return &slot->value;
}

int64_t rp_map_get(const rp_map *map, const void *key, size_t length) {
    if (!map->count)
        return -1;
    const rp_map_slot *slot = find(map, key, length, hash_of(key, length));
    return slot->key ? slot->value : -1;
}

void rp_map_free(rp_map *map) {
    for (size_t i = 0; i < map->capacity; i++)
        free(map->slots[i].key);
    free(map->slots);
    *map = (rp_map){0};
}
