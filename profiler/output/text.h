/* SPDX-License-Identifier: Apache-2.0
 *
 * Text for people: making any bytes printable, measuring how wide they are on a terminal, and
 * writing numbers with the unit that reads best. Kernel names come from strangers' files: whatever
 * goes to a terminal or a page passes through here first, so that no control sequence survives.
 */
#ifndef RP_OUTPUT_TEXT_H
#define RP_OUTPUT_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Decodes the UTF-8 character at TEXT (LENGTH bytes are there, at least 1). Returns its length in
 * bytes and fills *CODE; returns 0 if the bytes are no valid UTF-8. */
size_t rp_text_decode(const char *text, size_t length, uint32_t *code);

/* TEXT with everything that does not print made visible: control characters, direction overrides
 * and zero-width characters as \n, \t, \xNN or \u{NNNN}, bytes that are no UTF-8 as \xNN. All other
 * text is unchanged. The result is the caller's to free; NULL only without memory. */
char *rp_text_printable(const char *text);

/* Columns that printable TEXT takes on a terminal (wide characters are 2, combining ones 0). */
size_t rp_text_width(const char *text);

/* Printable TEXT cut to at most WIDTH columns; what was cut is shown by "…" in the middle, because
 * kernel names differ at both ends. The result is the caller's to free. */
char *rp_text_fit(const char *text, size_t width);

/* Numbers. Each writes into BUFFER and returns it; NaN becomes "-" (unknown, never 0). */
#define RP_NUMBER 32
char *rp_text_si(double value, const char *unit, char buffer[RP_NUMBER]); /* "1.53 TFLOP/s" */
char *rp_text_time(double seconds, char buffer[RP_NUMBER]);               /* "12.3 us" */
char *rp_text_percent(double fraction, char buffer[RP_NUMBER]);           /* "61.3 %" */
char *rp_text_plain(double value, int digits, char buffer[RP_NUMBER]);    /* "12.5" */
/* The shortest decimal text that reads back as the same double; "nan" and "inf" as printf has them.
 */
char *rp_text_shortest(double value, char buffer[RP_NUMBER]);

#endif
