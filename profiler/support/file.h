/* SPDX-License-Identifier: Apache-2.0
 *
 * Files: an output that is there whole or not at all, and a look at the head of an input.
 */
#ifndef RP_SUPPORT_FILE_H
#define RP_SUPPORT_FILE_H

#include "support/error.h"
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* ---- A temporary file beside its target ------------------------------------------------------ */

typedef struct rp_temp {
    char path[PATH_MAX]; /* hidden, in the target's folder; "" when there is none */
    char target[PATH_MAX];
} rp_temp;

/* Makes an empty file beside TARGET, with the permissions that a new file would get; if TARGET is a
 * symbolic link, beside what it stands for. RP_INTERNAL with the reason if the folder cannot be
 * written, or if TARGET is a folder, a pipe or a device. */
rp_code rp_temp_create(rp_temp *temp, const char *target, rp_error *error);

/* Brings its content to the disk and renames it to the target. On failure it is removed. */
rp_code rp_temp_commit(rp_temp *temp, rp_error *error);

/* Removes it. Harmless when it is gone. */
void rp_temp_discard(rp_temp *temp);

/* Removes the temporary files that are open, from a signal handler (async-signal-safe). */
void rp_temp_discard_all(void);

/* Makes SIGINT, SIGTERM and SIGHUP remove the temporary files before they end the process, and
 * makes a write beyond the file size limit an error instead of a signal. For commands that have no
 * child to pass signals on to. */
void rp_temp_handle_signals(void);

/* ---- A text output ----------------------------------------------------------------------------
 */

typedef struct rp_output {
    FILE *stream; /* write here; NULL before rp_output_open */
    rp_temp temp;
} rp_output;

/* PATH NULL or "-": standard output, which is not renamed and not closed. What is a pipe or a
 * device (rp_file_is_stream) is opened and written as it is. */
rp_code rp_output_open(rp_output *output, const char *path, rp_error *error);
/* Closes and puts in place; fails if any write since open failed. */
rp_code rp_output_commit(rp_output *output, rp_error *error);
void rp_output_discard(rp_output *output);

/* ---- Input ------------------------------------------------------------------------------------
 */

/* Reads up to *LENGTH bytes from the start of PATH into BUFFER, of the decompressed stream if it is
 * gzip; *LENGTH becomes what was read. RP_INPUT if it cannot be opened or read, or is a
 * folder, a pipe or a device. */
rp_code rp_file_head(const char *path, unsigned char *buffer, size_t *length, rp_error *error);

/* True for pipes, terminals, devices and the names of open files (/dev/stdout, /proc/self/fd/3). */
bool rp_file_is_stream(const char *path);

/* The first of N paths that names the same file as one before it, by whatever name; NULL if all
 * differ or are not there. */
const char *rp_file_repeated(const char *const *paths, size_t n);

/* RP_USAGE if OUTPUT (NULL none) is one of the N inputs (NULL: none): it would take that file's
 * place. */
rp_code rp_file_spare(const char *output, const char *const *inputs, size_t n, rp_error *error);

/* The part of PATH after the last slash. */
const char *rp_file_name(const char *path);

#endif
