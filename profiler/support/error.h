/* SPDX-License-Identifier: Apache-2.0
 *
 * Errors. A function that can fail returns RP_OK or one of the codes below and fills the rp_error
 * that its caller passes: what happened, where, why, what to do, as one or two sentences for a
 * person. The codes are the exit codes of the commands (design: contracts of the command line).
 */
#ifndef RP_SUPPORT_ERROR_H
#define RP_SUPPORT_ERROR_H

typedef enum rp_code {
    RP_OK = 0,
    RP_GATE = 1,      /* a gate failed (diff --fail-on, calibrate --check) */
    RP_USAGE = 2,     /* the command line cannot be understood */
    RP_INPUT = 3,     /* a file cannot be read or does not say what it must */
    RP_MACHINE = 4,   /* the machine lacks something */
    RP_INTERNAL = 125 /* roofprof itself failed: no memory, cannot write */
} rp_code;

typedef struct rp_error {
    rp_code code;
    char message[2048];
} rp_error;

/* Fills ERROR (may be NULL) and returns CODE, so that `return rp_fail(...)` is one line. What
 * is not printable in it becomes so (support/text.h), newlines too. Longer text is cut at a
 * character boundary and ends in "...". */
rp_code rp_fail(rp_error *error, rp_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Puts "CONTEXT: " before the message that ERROR holds; returns its code. */
rp_code rp_error_prefix(rp_error *error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
