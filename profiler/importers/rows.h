/* SPDX-License-Identifier: Apache-2.0
 *
 * CSV tables as profilers write them: quoted cells with commas, quotes and newlines inside, and
 * between the records lines that are no CSV at all ("==PID==" messages, what the program printed).
 * Cells are handed over as bytes; nothing is decoded. Private to importers.
 */
#ifndef RP_IMPORTERS_ROWS_H
#define RP_IMPORTERS_ROWS_H

#include "importers/stream.h"

typedef struct rp_row {
    const char *const *cell; /* NUL-terminated; a NUL inside a cell became '?' */
    size_t count;
    uint64_t line; /* of the file, from 1, where the record starts */
} rp_row;

typedef struct rp_rows {
    /* Called for each line that starts a record, without its newline: true leaves it out of the
     * table. May be NULL. */
    bool (*skip)(void *context, const char *line, size_t length);
    /* Called for each record; anything but RP_OK stops the reading and is returned. */
    rp_code (*row)(void *context, const rp_row *row, rp_error *error);
    void *context;
} rp_rows;

/* Reads the file at PATH, plain or gzip. *TRUNCATED (may be NULL): the gzip data or a quoted cell
 * end in the middle; the last record is then left out. */
rp_code rp_rows_read(const char *path, const rp_rows *rows, bool *truncated, rp_error *error);

/* The whole of TEXT as a number, in the C locale's form whatever the locale; no hexadecimal, no
 * "inf", no "nan". False: it is none. */
bool rp_number(const char *text, double *value);
/* The same for a whole number that fits; "12.0" counts. */
bool rp_integer(const char *text, int64_t *value);

#endif
