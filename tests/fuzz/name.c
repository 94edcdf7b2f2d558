/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernel names over any bytes, one a line: demangled, shortened, told apart. What is shown must be
 * printable and short, and names that differ must be shown differently.
 */
#include "capture/name.h"
#include "input.h"
#include "support/text.h"
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 8, LONGEST_SHOWN = 4 * 120 + 64 };

static void check(const char *label) {
    if (!label || !rp_text_is_printable(label, strlen(label)) || strlen(label) > LONGEST_SHOWN)
        abort();
}

/* Splits TEXT into up to MOST different lines. */
static size_t split(char *text, char **lines) {
    size_t n = 0;
    for (char *line = strtok(text, "\n"); line && n < MOST; line = strtok(NULL, "\n")) {
        bool known = false;
        for (size_t i = 0; i < n; i++)
            known |= strcmp(lines[i], line) == 0;
        if (!known)
            lines[n++] = line;
    }
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = rp_text_copy((const char *)data, size), *lines[MOST], *labels[MOST];
    size_t n = split(text, lines);
    for (size_t i = 0; i < n; i++) {
        char *full = rp_name_demangle(lines[i]);
        labels[i] = rp_name_short(full ? full : lines[i]);
        check(labels[i]);
        rp_name_is_collective(lines[i]);
        free(full);
    }
    if (n && !rp_name_distinguish((const char *const *)lines, n, labels))
        abort();
    for (size_t i = 0; i < n; i++) {
        check(labels[i]);
        free(labels[i]);
    }
    free(text);
    return 0;
}
