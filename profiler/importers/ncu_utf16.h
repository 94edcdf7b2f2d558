/* SPDX-License-Identifier: Apache-2.0
 *
 * UTF-16 text, line by line, as UTF-8: what Windows PowerShell writes for `ncu --csv > FILE`.
 * Little endian with a byte order mark only. A surrogate without its other half becomes U+FFFD.
 */
#ifndef RP_IMPORTERS_NCU_UTF16_H
#define RP_IMPORTERS_NCU_UTF16_H

#include "support/error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* True if TEXT starts with the byte order mark. */
bool ncu_utf16_is(const char *text, size_t length);

/* All of TEXT, without the mark, in memory of its own (free); NULL: no memory. */
char *ncu_utf16_convert(const char *text, size_t length, size_t *converted);

typedef struct ncu_utf16 { /* zero-initialise but for these two */
    rp_code (*line)(void *context, const char *line, size_t length);
    void *context;

    bool on, has_byte, no_memory;
    unsigned char byte; /* the first half of a unit */
    uint16_t high;      /* a high surrogate that waits for its other half */
    char *text;
    size_t used, capacity;
} ncu_utf16;

/* Calls line() for every line that BYTES completes, newline included. */
rp_code ncu_utf16_feed(ncu_utf16 *utf16, const char *bytes, size_t length);
rp_code ncu_utf16_end(ncu_utf16 *utf16);
void ncu_utf16_free(ncu_utf16 *utf16);

#endif
