/* SPDX-License-Identifier: Apache-2.0
 *
 * The heading of a table in an Nsight Compute CSV: which column says what. Layouts differ by
 * release and page (long with 12 or 15 columns, with 3 or 5 rule columns behind; wide with a column
 * a metric; GUI exports with the unit in the heading; pivots made by scripts), so columns are told
 * by their names and never by their place.
 */
#ifndef RP_IMPORTERS_NCU_TABLE_H
#define RP_IMPORTERS_NCU_TABLE_H

#include "support/error.h"
#include <stdbool.h>
#include <stddef.h>

typedef enum ncu_field {
    NCU_FIELD_OTHER, /* not read */
    NCU_FIELD_ID,
    NCU_FIELD_PID,
    NCU_FIELD_PROCESS,
    NCU_FIELD_HOST,
    NCU_FIELD_KERNEL,
    NCU_FIELD_CONTEXT,
    NCU_FIELD_STREAM,
    NCU_FIELD_BLOCK,
    NCU_FIELD_GRID,
    NCU_FIELD_DEVICE,
    NCU_FIELD_DEVICE_NAME,
    NCU_FIELD_CC,
    NCU_FIELD_SECTION,
    NCU_FIELD_METRIC, /* these three make a table long */
    NCU_FIELD_UNIT,
    NCU_FIELD_VALUE,
    NCU_FIELD_DATA, /* of a wide table: values of the metric that the heading names */
    NCU_FIELDS
} ncu_field;

typedef struct ncu_heading {
    ncu_field field;
    char *text; /* without the unit */
    char *unit; /* NULL: the heading has none */
} ncu_heading;

typedef struct ncu_table {
    ncu_heading *headings;
    size_t count;
    size_t at[NCU_FIELDS]; /* column of each field; NCU_NO_COLUMN */
    char delimiter;        /* , ; or tab */
    bool quoted;           /* every row starts with a quote */
    bool is_long;
    size_t others; /* columns that are not read in a wide table */
} ncu_table;

#define NCU_NO_COLUMN SIZE_MAX

/* True if LINE is the heading of an Nsight Compute table, *TABLE then is new (ncu_table_free).
 * False: it is something else, or there is no memory. */
bool ncu_table_read(ncu_table *table, const char *line, size_t length);
void ncu_table_free(ncu_table *table);

/* Where in LINE (one row) column COLUMN begins; 0 if LINE has not so many. Quotes are honoured. */
size_t ncu_table_offset(const ncu_table *table, const char *line, size_t length, size_t column);

#endif
