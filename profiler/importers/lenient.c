/* SPDX-License-Identifier: Apache-2.0
 *
 * The JSON filter behind lenient.h: a state machine over bytes that knows just enough of JSON to
 * tell strings, numbers and bare words apart.
 */
#include "importers/lenient.h"
#include <ctype.h>
#include <string.h>
#include <strings.h>

typedef struct sink {
    unsigned char *to;
} sink;

static void put(sink *out, const char *text, size_t length) {
    memcpy(out->to, text, length);
    out->to += length;
}

static void put_byte(sink *out, unsigned char byte) {
    *out->to++ = byte;
}

static void put_control(sink *out, unsigned char byte) {
    static const char digits[] = "0123456789abcdef";
    char escape[6] = {'\\', 'u', '0', '0', digits[byte >> 4], digits[byte & 15]};
    if (byte == 0) /* no string here may hold a NUL: show it as text */
        put_byte(out, '\\');
    put(out, escape, sizeof escape);
}

/* A bare word has ended: the three JSON knows and those it does not pass (the parser will object to
 * the latter), the spellings of "not a number" become null. */
static void flush_word(rp_lenient *l, sink *out) {
    static const char *const not_number[] = {"NaN",  "Infinity", "inf",      "infinity",
                                             "-NaN", "-inf",     "-Infinity"};
    l->held[l->held_length] = '\0';
    for (size_t i = 0; i < sizeof not_number / sizeof *not_number; i++)
        if (!strcasecmp(l->held, not_number[i])) {
            l->not_numbers++;
            put(out, "null", 4);
            l->held_length = 0;
            return;
        }
    put(out, l->held, l->held_length);
    l->held_length = 0;
}

static void outside(rp_lenient *l, sink *out, unsigned char c) {
    if (c == '"') {
        l->state = RP_LENIENT_STRING;
        l->string_length = 0;
        put_byte(out, c);
    } else if (isalpha(c) || c == '-') {
        l->state = RP_LENIENT_WORD;
        l->held[l->held_length++] = (char)c;
    } else {
        if (isdigit(c))
            l->state = RP_LENIENT_NUMBER;
        put_byte(out, c);
    }
}

static void number(rp_lenient *l, sink *out, unsigned char c) {
    if (isdigit(c) || (c && strchr(".eE+-", c))) {
        put_byte(out, c);
        return;
    }
    l->state = RP_LENIENT_OUTSIDE;
    outside(l, out, c);
}

static void word(rp_lenient *l, sink *out, unsigned char c) {
    if (isdigit(c) && l->held_length == 1 && l->held[0] == '-') {
        put_byte(out, '-');
        put_byte(out, c);
        l->held_length = 0;
        l->state = RP_LENIENT_NUMBER;
        return;
    }
    if (isalpha(c) && l->held_length + 1 < sizeof l->held) {
        l->held[l->held_length++] = (char)c;
        return;
    }
    flush_word(l, out);
    l->state = RP_LENIENT_OUTSIDE;
    outside(l, out, c);
}

static void string(rp_lenient *l, sink *out, unsigned char c) {
    if (c == '"') {
        l->state = RP_LENIENT_OUTSIDE;
        put_byte(out, c);
    } else if (c == '\\') {
        l->state = RP_LENIENT_ESCAPE;
    } else if (c < 0x20) {
        put_control(out, c);
    } else {
        put_byte(out, c);
    }
    if (++l->string_length > RP_LENIENT_LONGEST)
        l->too_long = true;
}

static void escaped(rp_lenient *l, sink *out, unsigned char c) {
    if (c == 'u') {
        l->state = RP_LENIENT_UNICODE;
        l->held_length = 0;
        return;
    }
    l->state = RP_LENIENT_STRING;
    put_byte(out, '\\');
    if (c && strchr("\"\\/bfnrt", c)) {
        put_byte(out, c);
        return;
    }
    put_byte(out, '\\'); /* an escape of nothing: the backslash meant itself */
    string(l, out, c);
}

static void unicode(rp_lenient *l, sink *out, unsigned char c) {
    if (isxdigit(c)) {
        l->held[l->held_length++] = (char)c;
        if (l->held_length < 4)
            return;
        bool zero = !memcmp(l->held, "0000", 4);
        put(out, zero ? "\\\\u" : "\\u", zero ? 3 : 2);
        put(out, l->held, 4);
        l->held_length = 0;
        l->state = RP_LENIENT_STRING;
        return;
    }
    put(out, "\\\\u", 3);
    put(out, l->held, l->held_length);
    l->held_length = 0;
    l->state = RP_LENIENT_STRING;
    string(l, out, c);
}

/* Copies the plain bytes of a string at INPUT; returns how many there were. Most of a trace is
 * that, so it is worth a loop of its own. */
static size_t copy_plain(rp_lenient *l, sink *out, const unsigned char *input, size_t length) {
    size_t n = 0;
    while (n < length && input[n] != '"' && input[n] != '\\' && input[n] >= 0x20)
        n++;
    memcpy(out->to, input, n);
    out->to += n;
    l->string_length += n;
    l->too_long |= l->string_length > RP_LENIENT_LONGEST;
    return n;
}

size_t rp_lenient_filter(rp_lenient *l, const unsigned char *input, size_t length,
                         unsigned char *output) {
    sink out = {output};
    for (size_t i = 0; i < length; i++) {
        unsigned char c = input[i];
        switch (l->state) {
        case RP_LENIENT_OUTSIDE:
            outside(l, &out, c);
            break;
        case RP_LENIENT_NUMBER:
            number(l, &out, c);
            break;
        case RP_LENIENT_WORD:
            word(l, &out, c);
            break;
        case RP_LENIENT_STRING:
            i += copy_plain(l, &out, input + i, length - i);
            if (i < length)
                string(l, &out, input[i]);
            break;
        case RP_LENIENT_ESCAPE:
            escaped(l, &out, c);
            break;
        case RP_LENIENT_UNICODE:
            unicode(l, &out, c);
            break;
        }
    }
    return (size_t)(out.to - output);
}
