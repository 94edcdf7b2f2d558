/* SPDX-License-Identifier: Apache-2.0
 *
 * Interning of names and configs: see names.h. Open addressing, powers of two, never shrinks.
 */
#include "tracer/names.h"
#include "tracer/writer.h"

#include <stdlib.h>
#include <string.h>

typedef struct name {
    char *text;
    size_t length;
    uint64_t hash;
} name;

static name *name_list;
static uint32_t name_count, name_room;
static uint32_t *name_slots; /* number + 1; 0 free */
static size_t name_mask;     /* slots - 1 */

static spool_config *config_list;
static uint32_t config_count, config_room;
static uint32_t *config_slots;
static size_t config_mask;

enum { POINTERS = 4096 };
static struct {
    const char *pointer;
    uint32_t number;
} pointers[POINTERS];

static uint64_t hash_bytes(const void *data, size_t length) {
    const uint8_t *p = data;
    uint64_t h = 0xcbf29ce484222325u ^ length;
    for (; length >= 8; length -= 8, p += 8) {
        uint64_t word;
        memcpy(&word, p, 8);
        h = (h ^ word) * 0x9E3779B97F4A7C15u;
        h ^= h >> 29;
    }
    while (length--)
        h = (h ^ *p++) * 0x100000001b3u;
    return h ^ h >> 32;
}

/* Makes room for one more in a list and its slots; HASH_AT gives the hash of an entry. */
static int grow(void **list, size_t size, uint32_t count, uint32_t *room, uint32_t **slots,
                size_t *mask, uint64_t (*hash_at)(uint32_t)) {
    if (count < *room)
        return 1;
    uint32_t larger = *room ? *room * 2 : 256;
    void *grown = realloc(*list, larger * size);
    if (!grown)
        return 0;
    *list = grown;
    uint32_t *fresh = calloc((size_t)larger * 2, sizeof *fresh);
    if (!fresh)
        return 0;
    *mask = (size_t)larger * 2 - 1;
    for (uint32_t i = 0; i < count; i++) {
        size_t slot = hash_at(i) & *mask;
        while (fresh[slot])
            slot = (slot + 1) & *mask;
        fresh[slot] = i + 1;
    }
    free(*slots);
    *slots = fresh;
    *room = larger;
    return 1;
}

static uint64_t name_hash(uint32_t i) {
    return name_list[i].hash;
}

uint32_t names_intern(const char *text, size_t length) {
    uint64_t hash = hash_bytes(text, length);
    size_t slot = 0;
    if (length > SPOOL_FRAME_LIMIT - 16)
        length = SPOOL_FRAME_LIMIT - 16;
    if (name_slots) {
        for (slot = hash & name_mask; name_slots[slot]; slot = (slot + 1) & name_mask) {
            const name *n = &name_list[name_slots[slot] - 1];
            if (n->hash == hash && n->length == length && !memcmp(n->text, text, length))
                return name_slots[slot] - 1;
        }
    }
    if (!grow((void **)&name_list, sizeof *name_list, name_count, &name_room, &name_slots,
              &name_mask, name_hash))
        return SPOOL_NONE;
    char *copy = malloc(length + 1);
    if (!copy)
        return SPOOL_NONE;
    memcpy(copy, text, length);
    copy[length] = 0;
    uint32_t number = name_count++;
    name_list[number] = (name){copy, length, hash};
    slot = hash & name_mask;
    while (name_slots[slot])
        slot = (slot + 1) & name_mask;
    name_slots[slot] = number + 1;
    writer_frame(SPOOL_NAME, &number, sizeof number, text, length);
    return number;
}

uint32_t names_of_pointer(const char *text) {
    if (!text)
        text = "";
    size_t at = ((uintptr_t)text >> 3 ^ (uintptr_t)text >> 15) % POINTERS;
    if (pointers[at].pointer == text && !strcmp(name_list[pointers[at].number].text, text))
        return pointers[at].number;
    uint32_t number = names_intern(text, strlen(text));
    if (number != SPOOL_NONE) {
        pointers[at].pointer = text;
        pointers[at].number = number;
    }
    return number;
}

const char *names_text(uint32_t number) {
    return number < name_count ? name_list[number].text : "";
}

/* Everything but the id, which comes first. */
static uint64_t config_hash_of(const spool_config *c) {
    return hash_bytes(&c->name, sizeof *c - offsetof(spool_config, name));
}

static uint64_t config_hash(uint32_t i) {
    return config_hash_of(&config_list[i]);
}

uint32_t names_config(const spool_config *config) {
    uint64_t hash = config_hash_of(config);
    size_t slot;
    if (config_slots)
        for (slot = hash & config_mask; config_slots[slot]; slot = (slot + 1) & config_mask) {
            const spool_config *c = &config_list[config_slots[slot] - 1];
            if (!memcmp(&c->name, &config->name, sizeof *c - offsetof(spool_config, name)))
                return c->id;
        }
    if (!grow((void **)&config_list, sizeof *config_list, config_count, &config_room, &config_slots,
              &config_mask, config_hash))
        return SPOOL_NONE;
    spool_config *c = &config_list[config_count];
    *c = *config;
    c->id = config_count++;
    slot = hash & config_mask;
    while (config_slots[slot])
        slot = (slot + 1) & config_mask;
    config_slots[slot] = c->id + 1;
    writer_frame(SPOOL_CONFIG, c, sizeof *c, NULL, 0);
    return c->id;
}
