/* SPDX-License-Identifier: Apache-2.0
 *
 * Where a report goes: standard output, or a file that appears under its name only when it is whole
 * (a temporary file beside it, renamed at the end). File names take %p (process id), %h (host),
 * %r (rank under a launcher, else 0) and %%.
 */
#ifndef RP_OUTPUT_SINK_H
#define RP_OUTPUT_SINK_H

#include "support/error.h"
#include <stddef.h>
#include <stdio.h>

typedef struct rp_sink {
    FILE *file; /* write here */
    char *path; /* NULL: standard output */
    char *temporary;
} rp_sink;

/* PATH NULL or "-": standard output. RP_INTERNAL if the file cannot be made. */
rp_code rp_sink_open(rp_sink *sink, const char *path, rp_error *error);
/* Flushes, checks and renames. Fails (RP_INTERNAL) if anything could not be written. */
rp_code rp_sink_finish(rp_sink *sink, rp_error *error);
/* Removes what was written. A finished or zeroed sink is left alone. */
void rp_sink_abandon(rp_sink *sink);

/* PATTERN with its %-letters replaced, the caller's to free; NULL with ERROR filled (RP_USAGE) for
 * another letter. */
char *rp_expand_name(const char *pattern, rp_error *error);

#endif
