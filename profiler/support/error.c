/* SPDX-License-Identifier: Apache-2.0
 *
 * Filling in and extending error messages, made printable and cut where they do not fit.
 */
#include "support/error.h"
#include "support/text.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ends a message that did not fit with "...", without leaving half a UTF-8 character before it. */
static void mark_cut(char *message, size_t size) {
    size_t end = size - 4;
    while (end > 0 && ((unsigned char)message[end] & 0xC0) == 0x80)
        end--;
    memcpy(message + end, "...", 4);
}

/* Messages quote names of files, kernels and devices, which may hold any byte. */
static void make_printable(char *message, size_t size) {
    size_t length = strlen(message);
    if (rp_text_is_printable(message, length))
        return;
    char *clean = rp_text_printable(message, length);
    if (!clean) {
        message[0] = '\0';
        return;
    }
    bool cut = strlen(clean) >= size;
    snprintf(message, size, "%s", clean);
    if (cut)
        mark_cut(message, size);
    free(clean);
}

rp_code rp_fail(rp_error *error, rp_code code, const char *format, ...) {
    if (!error)
        return code;
    error->code = code;
    va_list args;
    va_start(args, format);
    int length = vsnprintf(error->message, sizeof error->message, format, args);
    va_end(args);
    if (length < 0)
        error->message[0] = '\0';
    else if ((size_t)length >= sizeof error->message)
        mark_cut(error->message, sizeof error->message);
    make_printable(error->message, sizeof error->message);
    return code;
}

rp_code rp_error_prefix(rp_error *error, const char *format, ...) {
    if (!error)
        return RP_INTERNAL;
    char prefix[sizeof error->message];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(prefix, sizeof prefix, format, args);
    va_end(args);
    if (length < 0)
        return error->code;
    rp_error old = *error;
    return rp_fail(error, old.code, "%s: %s", prefix, old.message);
}
