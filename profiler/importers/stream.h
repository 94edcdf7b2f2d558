/* SPDX-License-Identifier: Apache-2.0
 *
 * A file read front to back, plain or gzip: which of the two is found from its first bytes. Memory
 * is one fixed buffer of zlib's, however large the file or its contents. Private to importers.
 */
#ifndef RP_IMPORTERS_STREAM_H
#define RP_IMPORTERS_STREAM_H

#include "support/error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct rp_stream rp_stream;

rp_code rp_stream_open(rp_stream **stream, const char *path, rp_error *error);
void rp_stream_close(rp_stream *stream); /* NULL is fine */

/* Reads up to SIZE bytes into BUFFER; *GOT is 0 only at the end. A gzip file that was cut off gives
 * what can be unpacked and then ends; one whose data are damaged is RP_INPUT. */
rp_code rp_stream_read(rp_stream *stream, void *buffer, size_t size, size_t *got, rp_error *error);

/* True once the end was reached without the gzip trailer: the writer was killed. */
bool rp_stream_truncated(const rp_stream *stream);

/* Reads one line with its newline; *LENGTH 0 at the end. The line lives until the next call. Lines
 * longer than 64 MiB are RP_INPUT: no profiler writes them. */
rp_code rp_stream_line(rp_stream *stream, const char **line, size_t *length, rp_error *error);

#endif
