/* SPDX-License-Identifier: Apache-2.0
 *
 * A region of memory whose pieces are all freed at once: what a parser allocates lives exactly as
 * long as the module it parses. Pieces are zeroed and 16-byte aligned. Not thread-safe. */
#ifndef EMU_PTX_ARENA_H
#define EMU_PTX_ARENA_H

#include <stddef.h>

typedef struct ptx_arena_chunk ptx_arena_chunk;
typedef struct ptx_arena {
    ptx_arena_chunk *chunks;
    size_t total; /* bytes handed out */
} ptx_arena;

/* SIZE zeroed bytes. Never NULL: without memory the process cannot go on and is ended with a line
 * that says so (the pieces are small; a module's large data are bounded by its text). */
void *ptx_arena_take(ptx_arena *arena, size_t size);
char *ptx_arena_string(ptx_arena *arena, const char *text, size_t length);
void ptx_arena_free(ptx_arena *arena);

/* Makes room for one more element in ARRAY of *CAPACITY elements, COUNT in use: returns the array,
 * moved (the old copy stays in the arena until it is freed). */
void *ptx_arena_grow(ptx_arena *arena, void *array, int count, int *capacity, size_t element);

#endif
