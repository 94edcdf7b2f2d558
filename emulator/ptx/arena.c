/* SPDX-License-Identifier: Apache-2.0
 *
 * The parser's region allocator: a list of chunks, filled from the front. */
#include "emulator/ptx/arena.h"

#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK_BYTES = 64 * 1024, ALIGNMENT = 16 };

struct ptx_arena_chunk {
    ptx_arena_chunk *next;
    size_t used, size;
    alignas(ALIGNMENT) char data[];
};

static ptx_arena_chunk *add_chunk(ptx_arena *arena, size_t size) {
    ptx_arena_chunk *chunk = calloc(1, sizeof *chunk + size);
    if (!chunk) {
        fputs("roofprof emulator: out of host memory while reading PTX\n", stderr);
        abort();
    }
    chunk->size = size;
    chunk->next = arena->chunks;
    arena->chunks = chunk;
    return chunk;
}

void *ptx_arena_take(ptx_arena *arena, size_t size) {
    size = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    ptx_arena_chunk *chunk = arena->chunks;
    if (!chunk || chunk->size - chunk->used < size)
        chunk = add_chunk(arena, size > CHUNK_BYTES ? size : CHUNK_BYTES);
    void *piece = chunk->data + chunk->used;
    chunk->used += size;
    arena->total += size;
    return piece;
}

char *ptx_arena_string(ptx_arena *arena, const char *text, size_t length) {
    char *copy = ptx_arena_take(arena, length + 1);
    if (length)
        memcpy(copy, text, length);
    return copy;
}

void ptx_arena_free(ptx_arena *arena) {
    while (arena->chunks) {
        ptx_arena_chunk *next = arena->chunks->next;
        free(arena->chunks);
        arena->chunks = next;
    }
    arena->total = 0;
}

void *ptx_arena_grow(ptx_arena *arena, void *array, int count, int *capacity, size_t element) {
    if (count < *capacity)
        return array;
    int grown = *capacity ? *capacity * 2 : 8;
    void *copy = ptx_arena_take(arena, (size_t)grown * element);
    if (count)
        memcpy(copy, array, (size_t)count * element);
    *capacity = grown;
    return copy;
}
