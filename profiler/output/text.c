/* SPDX-License-Identifier: Apache-2.0
 *
 * Printable text and readable numbers; see text.h.
 */
#include "output/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

size_t rp_text_decode(const char *text, size_t length, uint32_t *code) {
    const unsigned char *b = (const unsigned char *)text;
    static const uint32_t least[5] = {0, 0, 0x80, 0x800, 0x10000};
    size_t need;
    if (b[0] < 0x80) {
        *code = b[0];
        return 1;
    } else if (b[0] >= 0xc2 && b[0] <= 0xdf) {
        need = 2;
        *code = b[0] & 0x1f;
    } else if ((b[0] & 0xf0) == 0xe0) {
        need = 3;
        *code = b[0] & 0x0f;
    } else if (b[0] >= 0xf0 && b[0] <= 0xf4) {
        need = 4;
        *code = b[0] & 0x07;
    } else {
        return 0;
    }
    if (length < need)
        return 0;
    for (size_t i = 1; i < need; i++) {
        if ((b[i] & 0xc0) != 0x80)
            return 0;
        *code = *code << 6 | (b[i] & 0x3f);
    }
    if (*code < least[need] || *code > 0x10ffff || (*code >= 0xd800 && *code <= 0xdfff))
        return 0;
    return need;
}

/* Characters that print nothing, move the cursor or turn the writing direction. */
static bool prints(uint32_t c) {
    return !(c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0xad || c == 0x61c || c == 0x180e ||
             (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
             (c >= 0x2060 && c <= 0x206f) || c == 0xfeff || (c >= 0xfff9 && c <= 0xfffb) ||
             (c >= 0xe000 && c <= 0xf8ff) || c >= 0xe0000);
}

char *rp_text_printable(const char *text) {
    size_t length = strlen(text), used = 0;
    char *out = malloc(length * 4 + 1); /* \xNN for one byte is the worst ratio */
    if (!out)
        return NULL;
    for (size_t i = 0; i < length;) {
        uint32_t code;
        size_t n = rp_text_decode(text + i, length - i, &code);
        if (n == 0) {
            used += (size_t)sprintf(out + used, "\\x%02x", (unsigned char)text[i]);
            i++;
            continue;
        }
        if (prints(code)) {
            memcpy(out + used, text + i, n);
            used += n;
        } else if (code == '\n' || code == '\t' || code == '\r') {
            out[used++] = '\\';
            out[used++] = code == '\n' ? 'n' : code == '\t' ? 't' : 'r';
        } else if (code < 0x80) {
            used += (size_t)sprintf(out + used, "\\x%02x", (unsigned)code);
        } else {
            used += (size_t)sprintf(out + used, "\\u{%x}", (unsigned)code);
        }
        i += n;
    }
    out[used] = '\0';
    return out;
}

static size_t character_width(uint32_t c) {
    if ((c >= 0x300 && c <= 0x36f) || (c >= 0xfe00 && c <= 0xfe0f) || (c >= 0x20d0 && c <= 0x20ff))
        return 0;
    if ((c >= 0x1100 && c <= 0x115f) || (c >= 0x2e80 && c <= 0xa4cf) ||
        (c >= 0xac00 && c <= 0xd7a3) || (c >= 0xf900 && c <= 0xfaff) ||
        (c >= 0xfe30 && c <= 0xfe6f) || (c >= 0xff00 && c <= 0xff60) ||
        (c >= 0xffe0 && c <= 0xffe6) || (c >= 0x1f300 && c <= 0x1faff) ||
        (c >= 0x20000 && c <= 0x3fffd))
        return 2;
    return 1;
}

/* Length and width of the character at TEXT; a byte that is no UTF-8 counts as one column. */
static size_t step(const char *text, size_t length, size_t *width) {
    uint32_t code;
    size_t n = rp_text_decode(text, length, &code);
    *width = n ? character_width(code) : 1;
    return n ? n : 1;
}

size_t rp_text_width(const char *text) {
    size_t length = strlen(text), total = 0, width;
    for (size_t i = 0; i < length; total += width)
        i += step(text + i, length - i, &width);
    return total;
}

char *rp_text_fit(const char *text, size_t width) {
    size_t total = rp_text_width(text), length = strlen(text);
    if (total <= width || width == 0)
        return width ? strdup(text) : strdup("");
    size_t head = (width - 1) * 2 / 3, tail = width - 1 - head;
    size_t i = 0, at = 0, w = 0;
    while (i < length) { /* the head: as many whole characters as fit */
        size_t n = step(text + i, length - i, &w);
        if (at + w > head)
            break;
        at += w;
        i += n;
    }
    size_t j = i, left = total - at;
    while (j < length && left > tail) {
        j += step(text + j, length - j, &w);
        left -= w;
    }
    char *out = malloc(i + 3 + (length - j) + 1);
    if (!out)
        return NULL;
    memcpy(out, text, i);
    memcpy(out + i, "\xe2\x80\xa6", 3);
    memcpy(out + i + 3, text + j, length - j + 1);
    return out;
}

/* Three significant digits, the way people write them: 1.23, 12.3, 123, 1230. */
static int decimals(double magnitude) {
    return magnitude >= 99.95 ? 0 : magnitude >= 9.995 ? 1 : 2;
}

char *rp_text_plain(double value, int digits, char buffer[RP_NUMBER]) {
    if (isnan(value)) {
        snprintf(buffer, RP_NUMBER, "-");
        return buffer;
    }
    double magnitude = fabs(value);
    if (magnitude != 0 && (magnitude >= 1e7 || magnitude < 1e-3))
        snprintf(buffer, RP_NUMBER, "%.*g", digits, value);
    else {
        int whole = magnitude < 1 ? 0 : (int)floor(log10(magnitude)) + 1;
        int places = digits - (whole > 0 ? whole : 1);
        if (magnitude > 0 && magnitude < 0.1)
            places += magnitude < 0.01 ? 2 : 1;
        snprintf(buffer, RP_NUMBER, "%.*f", magnitude == 0 || places < 0 ? 0 : places, value);
    }
    return buffer;
}

char *rp_text_si(double value, const char *unit, char buffer[RP_NUMBER]) {
    static const char *const prefix[] = {"", "k", "M", "G", "T", "P", "E", "Z"};
    if (isnan(value)) {
        snprintf(buffer, RP_NUMBER, "-");
        return buffer;
    }
    double magnitude = fabs(value);
    size_t p = 0;
    while (magnitude >= 999.5 && p + 1 < sizeof prefix / sizeof *prefix) {
        magnitude /= 1000;
        value /= 1000;
        p++;
    }
    if (p == 0 && magnitude == floor(magnitude))
        snprintf(buffer, RP_NUMBER, "%.0f %s", value, unit);
    else
        snprintf(buffer, RP_NUMBER, "%.*f %s%s", decimals(magnitude), value, prefix[p], unit);
    return buffer;
}

char *rp_text_time(double seconds, char buffer[RP_NUMBER]) {
    static const struct {
        double scale;
        const char *unit;
    } units[] = {{1, "s"}, {1e3, "ms"}, {1e6, "us"}, {1e9, "ns"}};
    if (isnan(seconds)) {
        snprintf(buffer, RP_NUMBER, "-");
        return buffer;
    }
    size_t u = 0;
    while (u < 3 && fabs(seconds) * units[u].scale < 0.9995)
        u++;
    double value = seconds * units[u].scale;
    if (seconds == 0)
        snprintf(buffer, RP_NUMBER, "0 s");
    else
        snprintf(buffer, RP_NUMBER, "%.*f %s", decimals(fabs(value)), value, units[u].unit);
    return buffer;
}

char *rp_text_percent(double fraction, char buffer[RP_NUMBER]) {
    if (isnan(fraction))
        snprintf(buffer, RP_NUMBER, "-");
    else if (fraction != 0 && fabs(fraction) < 0.0005)
        snprintf(buffer, RP_NUMBER, "%s0.1 %%", fraction < 0 ? ">-" : "<");
    else
        snprintf(buffer, RP_NUMBER, "%.1f %%", fraction * 100);
    return buffer;
}

char *rp_text_shortest(double value, char buffer[RP_NUMBER]) {
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(buffer, RP_NUMBER, "%.*g", digits, value);
        if (strtod(buffer, NULL) == value)
            break;
    }
    return buffer;
}
