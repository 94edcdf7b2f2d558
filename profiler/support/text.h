/* SPDX-License-Identifier: Apache-2.0
 *
 * Text from strangers. Kernel names and notes come from other people's files and may hold any byte.
 * Whatever is shown, in a terminal, a page or a picture, goes through here first.
 */
#ifndef RP_SUPPORT_TEXT_H
#define RP_SUPPORT_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* TEXT (LENGTH bytes) as valid UTF-8 without control characters, in memory of its own (free); NULL:
 * no memory. Newline, return and tab become \n, \r, \t; other controls and bytes that are no UTF-8
 * become \x1b; characters that change how others are shown (direction marks, zero-width ones, line
 * separators) become \u202e. All else is kept, backslashes too: for reading, not for reversing. */
char *rp_text_printable(const char *text, size_t length);

/* The form of a word that n things take: one for exactly 1, many for all else. */
const char *rp_plural(uint64_t n, const char *one, const char *many);

/* True if rp_text_printable would change nothing. */
bool rp_text_is_printable(const char *text, size_t length);

/* The character at TEXT (LENGTH > 0 bytes) and its size in bytes in *SIZE; -1 with *SIZE 1 if the
 * bytes are no valid UTF-8 (overlong forms, surrogates and values above U+10FFFF are none). */
int32_t rp_text_decode(const char *text, size_t length, size_t *size);

/* Terminal columns of printable UTF-8: East Asian wide characters take two, combining marks none.
 */
size_t rp_text_columns(const char *text);

/* TEXT cut to at most COLUMNS columns, with "…" in the place of what was left out at the end; in
 * memory of its own (free). NULL: no memory. */
char *rp_text_fit(const char *text, size_t columns);

/* strndup with NUL bytes shown as \0: any bytes as a C string. NULL: no memory. */
char *rp_text_copy(const char *bytes, size_t length);

#endif
