/* SPDX-License-Identifier: Apache-2.0
 *
 * UTF-16 to UTF-8; see ncu_utf16.h.
 */
#include "importers/ncu_utf16.h"

#include <stdlib.h>
#include <string.h>

bool ncu_utf16_is(const char *text, size_t length) {
    return length >= 2 && memcmp(text, "\xFF\xFE", 2) == 0;
}

static size_t encode(uint32_t c, char out[4]) {
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    size_t n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t i = n - 1; i > 0; i--, c >>= 6)
        out[i] = (char)(0x80 | (c & 0x3f));
    out[0] = (char)((0xf00 >> n) | c);
    return n;
}

static bool append(ncu_utf16 *u, uint32_t c) {
    if (u->used + 4 > u->capacity) {
        size_t capacity = u->capacity ? u->capacity * 2 : 4096;
        char *grown = realloc(u->text, capacity);
        if (!grown) {
            u->no_memory = true;
            return false;
        }
        u->text = grown;
        u->capacity = capacity;
    }
    u->used += encode(c, u->text + u->used);
    return true;
}

/* One code unit; surrogates are put together. */
static bool take(ncu_utf16 *u, uint16_t unit) {
    uint16_t high = u->high;
    u->high = 0;
    if (high && unit >= 0xdc00 && unit < 0xe000)
        return append(u, 0x10000 + ((uint32_t)(high - 0xd800) << 10) + (unit - 0xdc00u));
    if (high && !append(u, 0xfffd))
        return false;
    if (unit >= 0xd800 && unit < 0xdc00) {
        u->high = unit;
        return true;
    }
    if (unit == 0xfeff)
        return true;
    return append(u, unit >= 0xdc00 && unit < 0xe000 ? 0xfffd : unit);
}

rp_code ncu_utf16_feed(ncu_utf16 *u, const char *bytes, size_t length) {
    for (size_t i = 0; i < length; i++) {
        unsigned char byte = (unsigned char)bytes[i];
        if (!u->has_byte) {
            u->byte = byte;
            u->has_byte = true;
            continue;
        }
        u->has_byte = false;
        uint16_t unit = (uint16_t)(u->byte | byte << 8);
        if (!take(u, unit))
            return RP_INTERNAL;
        if (unit == '\n' && u->line) {
            rp_code code = u->line(u->context, u->text, u->used);
            if (code)
                return code;
            u->used = 0;
        }
    }
    return RP_OK;
}

rp_code ncu_utf16_end(ncu_utf16 *u) {
    if (u->high && !append(u, 0xfffd))
        return RP_INTERNAL;
    rp_code code = u->used > 0 && u->line ? u->line(u->context, u->text, u->used) : RP_OK;
    u->used = 0;
    return code;
}

void ncu_utf16_free(ncu_utf16 *u) {
    free(u->text);
    u->text = NULL;
}

char *ncu_utf16_convert(const char *text, size_t length, size_t *converted) {
    ncu_utf16 u = {0};
    if (ncu_utf16_feed(&u, text, length) || !append(&u, 0)) {
        ncu_utf16_free(&u);
        return NULL;
    }
    *converted = u.used - 1;
    return u.text;
}
