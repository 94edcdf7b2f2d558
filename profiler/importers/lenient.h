/* SPDX-License-Identifier: Apache-2.0
 *
 * JSON as profilers write it, made into JSON as a parser takes it, byte by byte as it streams:
 * NaN and Infinity become null, raw control characters inside strings become escapes, a backslash
 * that escapes nothing (Windows paths) becomes two, and \u0000 stays visible as text. All other
 * bytes, UTF-8 or not, pass through. Private to importers.
 */
#ifndef RP_IMPORTERS_LENIENT_H
#define RP_IMPORTERS_LENIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    RP_LENIENT_GROWTH = 7,                 /* OUTPUT must hold this many times the input ... */
    RP_LENIENT_HELD = 64,                  /* ... and this many bytes more */
    RP_LENIENT_LONGEST = 16 * 1024 * 1024, /* longest string, bytes */
};

typedef struct rp_lenient {
    enum {
        RP_LENIENT_OUTSIDE,
        RP_LENIENT_NUMBER,
        RP_LENIENT_WORD,
        RP_LENIENT_STRING,
        RP_LENIENT_ESCAPE,
        RP_LENIENT_UNICODE
    } state;
    char held[32]; /* a word, or an escape, that is not decided yet */
    size_t held_length;
    size_t string_length;
    uint64_t not_numbers; /* NaN and Infinity seen */
    bool too_long;        /* a string passed RP_LENIENT_LONGEST: give up */
} rp_lenient;             /* zero-initialise */

/* Filters INPUT into OUTPUT; returns the length written. */
size_t rp_lenient_filter(rp_lenient *lenient, const unsigned char *input, size_t length,
                         unsigned char *output);

#endif
