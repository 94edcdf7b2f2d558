/* SPDX-License-Identifier: Apache-2.0
 *
 * The CSV tables of the hardware database: a fixed list of columns, rows with a key, and overlay of
 * one file's records onto another's, field by field. Internal to hwdb/; nothing here knows what the
 * columns mean.
 *
 * A file is UTF-8 CSV (RFC 4180) with a header line. Columns may come in any order and may be
 * missing (their fields are then empty: unknown); a column that the table does not know is an
 * error, since a misspelt one would otherwise be lost in silence. Lines that start with '#' are
 * comments.
 */
#ifndef RP_HWDB_TABLE_H
#define RP_HWDB_TABLE_H

#include "support/error.h"
#include <stdbool.h>
#include <stddef.h>

#define RP_TABLE_COLUMNS 48

typedef struct rp_hw_row {
    char *field[RP_TABLE_COLUMNS]; /* never NULL: "" is unknown */
    const char *file;              /* lives with the table */
    int line;
    bool overlay; /* from, or changed by, a user's file */
} rp_hw_row;

typedef struct rp_hw_table {
    const char *name;           /* "devices" */
    const char *const *columns; /* NULL-terminated */
    const char *const *keys;    /* NULL-terminated subset: what makes a record the same one. Empty:
                                   records of a later file are added before the earlier ones */
    size_t column_count;
    rp_hw_row *rows;
    size_t row_count, row_room;
    char **files;
    size_t file_count;
} rp_hw_table;

void rp_hw_table_init(rp_hw_table *table, const char *name, const char *const *columns,
                      const char *const *keys);
void rp_hw_table_free(rp_hw_table *table);

/* Index of a column; the column must be one of the table's. */
size_t rp_hw_table_column(const rp_hw_table *table, const char *column);

/* True if every column of the header line at the start of the file at PATH is one of this table's,
 * and all its keys (or, without keys, at least half of its columns) are among them. */
bool rp_hw_table_fits(const rp_hw_table *table, const char *path);

/* Reads PATH into TABLE. OVERLAY: a record with the key of one that is there replaces its fields,
 * those that are not empty; "-" makes a field unknown. Errors (RP_INPUT) name file and line. */
rp_code rp_hw_table_read(rp_hw_table *table, const char *path, bool overlay, rp_error *error);

#endif
