/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes the spool. Frames gather in a buffer in memory and go to the file in large writes, from
 * the tracer's own thread each second and whenever the buffer is full. Every call may be made from
 * any thread. A write that fails (disk full, folder gone) stops the spool for good and is
 * remembered: the target never notices.
 */
#ifndef RP_TRACER_WRITER_H
#define RP_TRACER_WRITER_H

#include "tracer/spool.h"
#include <stdbool.h>
#include <stddef.h>

/* Makes FOLDER/HOST.PID.START.RANK.spool and writes the header frame. 0, or an errno. */
int writer_open(const char *folder, const char *program, int rank);

/* One whole frame: HEAD (may be NULL with 0), then BODY. */
void writer_frame(spool_type type, const void *head, size_t head_size, const void *body,
                  size_t body_size);

/* A frame of records that is filled one by one: adds RECORD to the open batch of TYPE and closes it
 * when it is large or another type's turn comes. */
void writer_record(spool_type type, const void *record, size_t size);

/* Several calls belong together (a config and the record that names it). Recursive. */
void writer_lock(void);
void writer_unlock(void);

/* Closes the open batches and writes everything to the file. */
void writer_flush(void);
void writer_close(void); /* flushes, after an SPOOL_END frame */

/* In a forked child: forgets the file without writing; never blocks. */
void writer_abandon(void);

int writer_error(void); /* the errno that stopped the spool; 0 none */
const char *writer_path(void);

int64_t writer_now(int clock); /* ns */

#endif
