/* SPDX-License-Identifier: Apache-2.0
 *
 * Decoding, escaping and measuring UTF-8, independent of the locale.
 */
#include "support/text.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int32_t rp_text_decode(const char *text, size_t length, size_t *size) {
    const unsigned char *p = (const unsigned char *)text;
    *size = 1;
    if (p[0] < 0x80)
        return p[0];
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t need = p[0] >= 0xF0 ? 4 : p[0] >= 0xE0 ? 3 : p[0] >= 0xC0 ? 2 : 0;
    if (need == 0 || p[0] > 0xF4 || length < need)
        return -1;
    uint32_t c = p[0] & (0x7FU >> need);
    for (size_t i = 1; i < need; i++) {
        if ((p[i] & 0xC0) != 0x80)
            return -1;
        c = c << 6 | (p[i] & 0x3FU);
    }
    if (c < smallest[need] || c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF))
        return -1;
    *size = need;
    return (int32_t)c;
}

/* Characters that are not seen themselves but change how their neighbours are. */
static bool is_deceptive(int32_t c) {
    return (c >= 0x80 && c <= 0x9F) || c == 0xAD || c == 0x61C || (c >= 0x200B && c <= 0x200F) ||
           (c >= 0x2028 && c <= 0x202E) || (c >= 0x2060 && c <= 0x206F) || c == 0xFEFF ||
           (c >= 0xFFF9 && c <= 0xFFFB) || (c >= 0xE0000 && c <= 0xE0FFF);
}

static bool is_plain(int32_t c) {
    return c >= 0x20 && c != 0x7F && !is_deceptive(c);
}

bool rp_text_is_printable(const char *text, size_t length) {
    size_t size;
    for (size_t i = 0; i < length; i += size)
        if (!is_plain(rp_text_decode(text + i, length - i, &size)))
            return false;
    return true;
}

/* Longest escape of one input byte: \x1b; of one character of 2 bytes or more: \U000e0001. */
enum { ESCAPE_PER_BYTE = 4 };

static size_t escape(char *out, int32_t c, unsigned char byte) {
    if (c == '\n' || c == '\r' || c == '\t') {
        out[0] = '\\';
        out[1] = c == '\n' ? 'n' : c == '\r' ? 'r' : 't';
        return 2;
    }
    const char *format = c > 0xFFFF ? "\\U%08x" : "\\u%04x";
    if (c < 0x80)
        return (size_t)sprintf(out, "\\x%02x", byte);
    return (size_t)sprintf(out, format, (unsigned)c);
}

char *rp_text_printable(const char *text, size_t length) {
    if (length > (SIZE_MAX - 16) / ESCAPE_PER_BYTE)
        return NULL;
    char *out = malloc(length * ESCAPE_PER_BYTE + 16), *end = out;
    if (!out)
        return NULL;
    size_t size;
    for (size_t i = 0; i < length; i += size) {
        int32_t c = rp_text_decode(text + i, length - i, &size);
        if (is_plain(c)) {
            memcpy(end, text + i, size);
            end += size;
        } else {
            end += escape(end, c, (unsigned char)text[i]);
        }
    }
    *end++ = '\0';
    char *fitted = realloc(out, (size_t)(end - out));
    return fitted ? fitted : out;
}

typedef struct span {
    int32_t first, last;
} span;

static bool is_in(int32_t c, const span *spans, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (c >= spans[i].first && c <= spans[i].last)
            return true;
    return false;
}

/* Blocks of Unicode 15: enough for names and paths; not the whole of UAX 11. */
static const span combining[] = {
    {0x300, 0x36F},   {0x483, 0x489},   {0x591, 0x5BD},   {0x610, 0x61A},   {0x64B, 0x65F},
    {0x1AB0, 0x1AFF}, {0x1DC0, 0x1DFF}, {0x20D0, 0x20FF}, {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F}};
static const span wide[] = {
    {0x1100, 0x115F},   {0x2E80, 0x303E},   {0x3041, 0xA4CF},  {0xA960, 0xA97F}, {0xAC00, 0xD7A3},
    {0xF900, 0xFAFF},   {0xFE30, 0xFE6F},   {0xFF00, 0xFF60},  {0xFFE0, 0xFFE6}, {0x1F300, 0x1F64F},
    {0x1F680, 0x1F6FF}, {0x1F900, 0x1F9FF}, {0x20000, 0x3FFFD}};

static size_t columns_of(int32_t c) {
    if (c < 0x300)
        return 1;
    if (is_in(c, combining, sizeof combining / sizeof *combining))
        return 0;
    return is_in(c, wide, sizeof wide / sizeof *wide) ? 2 : 1;
}

size_t rp_text_columns(const char *text) {
    size_t columns = 0, size, length = strlen(text);
    for (size_t i = 0; i < length; i += size)
        columns += columns_of(rp_text_decode(text + i, length - i, &size));
    return columns;
}

char *rp_text_fit(const char *text, size_t columns) {
    static const char ellipsis[] = "…";
    size_t length = strlen(text), size, used = 0, keep = 0;
    for (size_t i = 0; i < length; i += size) {
        used += columns_of(rp_text_decode(text + i, length - i, &size));
        if (used + 1 <= columns)
            keep = i + size;
        if (used > columns)
            break;
    }
    if (used <= columns)
        return strdup(text);
    if (columns == 0)
        return strdup("");
    char *out = malloc(keep + sizeof ellipsis);
    if (!out)
        return NULL;
    memcpy(out, text, keep);
    memcpy(out + keep, ellipsis, sizeof ellipsis);
    return out;
}

char *rp_text_copy(const char *bytes, size_t length) {
    size_t zeros = 0;
    for (size_t i = 0; i < length; i++)
        zeros += bytes[i] == '\0';
    char *out = malloc(length + zeros + 1), *end = out;
    if (!out)
        return NULL;
    for (size_t i = 0; i < length; i++) {
        if (bytes[i] == '\0')
            *end++ = '\\';
        *end++ = bytes[i] ? bytes[i] : '0';
    }
    *end = '\0';
    return out;
}

const char *rp_plural(uint64_t n, const char *one, const char *many) {
    return n == 1 ? one : many;
}
