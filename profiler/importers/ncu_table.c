/* SPDX-License-Identifier: Apache-2.0
 *
 * Headings of Nsight Compute tables; see ncu_table.h.
 */
#include "importers/ncu_table.h"

#include "importers/ncu_names.h"
#include "importers/ncu_number.h"
#include "support/array.h"
#include <csv.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct known {
    const char *text;
    ncu_field field;
} known;

/* Of several columns with the same field the earliest row here is taken. */
static const known fields[] = {
    {"ID", NCU_FIELD_ID},
    {"Process ID", NCU_FIELD_PID},
    {"Process Name", NCU_FIELD_PROCESS},
    {"Process", NCU_FIELD_PROCESS},
    {"Host Name", NCU_FIELD_HOST},
    {"Kernel Name", NCU_FIELD_KERNEL},
    {"Demangled Name", NCU_FIELD_KERNEL},
    {"Function Name", NCU_FIELD_KERNEL},
    {"Context", NCU_FIELD_CONTEXT},
    {"Context ID", NCU_FIELD_CONTEXT},
    {"Stream", NCU_FIELD_STREAM},
    {"Stream ID", NCU_FIELD_STREAM},
    {"Block Size", NCU_FIELD_BLOCK},
    {"Grid Size", NCU_FIELD_GRID},
    {"Device", NCU_FIELD_DEVICE},
    {"Device ID", NCU_FIELD_DEVICE},
    {"Device Name", NCU_FIELD_DEVICE_NAME},
    {"CC", NCU_FIELD_CC},
    {"Compute Capability", NCU_FIELD_CC},
    {"Section Name", NCU_FIELD_SECTION},
    {"Metric Name", NCU_FIELD_METRIC},
    {"Metric Unit", NCU_FIELD_UNIT},
    {"Metric Value", NCU_FIELD_VALUE},
};

enum { KNOWN_FIELDS = sizeof fields / sizeof *fields };

typedef struct reading {
    ncu_table *table;
    size_t capacity;
    size_t rank[NCU_FIELDS]; /* row of `fields` that at[] is from */
    bool failed;
} reading;

static size_t known_row(const char *text, size_t length) {
    size_t row = 0;
    while (row < KNOWN_FIELDS &&
           (strlen(fields[row].text) != length || memcmp(fields[row].text, text, length) != 0))
        row++;
    return row;
}

/* "dram__bytes_read.sum [Mbyte]": the length of what is before the unit, and the unit. */
static size_t split_unit(const char *text, size_t length, const char **unit, size_t *unit_length) {
    *unit = NULL;
    *unit_length = 0;
    const char *open = length > 3 && text[length - 1] == ']' ? memrchr(text, '[', length) : NULL;
    if (!open || open == text || open[-1] != ' ')
        return length;
    *unit = open + 1;
    *unit_length = (size_t)(text + length - 1 - *unit);
    return (size_t)(open - 1 - text);
}

static void on_heading(void *cell, size_t length, void *context) {
    reading *r = context;
    ncu_table *table = r->table;
    const char *text = cell ? cell : "", *unit;
    size_t unit_length;
    if (r->failed || !RP_ARRAY_ROOM(table->headings, r->capacity, table->count)) {
        r->failed = true;
        return;
    }
    ncu_heading heading = {.field = NCU_FIELD_OTHER};
    size_t row = known_row(text, length);
    size_t name_length = split_unit(text, length, &unit, &unit_length);
    if (row == KNOWN_FIELDS && unit) /* "Block Size [block]" */
        row = known_row(text, name_length);
    if (row < KNOWN_FIELDS) {
        ncu_field field = fields[row].field;
        if (table->at[field] == NCU_NO_COLUMN || row < r->rank[field]) {
            if (table->at[field] != NCU_NO_COLUMN)
                table->headings[table->at[field]].field = NCU_FIELD_OTHER;
            heading.field = field;
            table->at[field] = table->count;
            r->rank[field] = row;
        }
    } else if (ncu_unit_of_metric(text, name_length) || ncu_name_is_label(text, name_length)) {
        heading.field = NCU_FIELD_DATA;
        table->at[NCU_FIELD_DATA] = table->count;
    }
    heading.text = strndup(text, name_length);
    heading.unit = unit ? strndup(unit, unit_length) : NULL;
    r->failed = !heading.text || (unit && !heading.unit);
    table->headings[table->count++] = heading;
}

static bool names_a_kernel(const char *line, size_t length) {
    for (size_t i = 0; i < KNOWN_FIELDS; i++)
        if (fields[i].field == NCU_FIELD_KERNEL &&
            memmem(line, length, fields[i].text, strlen(fields[i].text)))
            return true;
    return false;
}

/* What stands after the first cell. */
static char find_delimiter(const char *line, size_t length) {
    bool in_quotes = false;
    for (size_t i = 0; i < length; i++) {
        if (line[i] == '"')
            in_quotes = !in_quotes;
        else if (!in_quotes && (line[i] == ',' || line[i] == ';' || line[i] == '\t'))
            return line[i];
    }
    return 0;
}

bool ncu_table_read(ncu_table *table, const char *line, size_t length) {
    *table = (ncu_table){0};
    if (!names_a_kernel(line, length))
        return false;
    table->delimiter = find_delimiter(line, length);
    struct csv_parser parser;
    if (!table->delimiter || csv_init(&parser, 0))
        return false;
    table->quoted = line[0] == '"';
    for (size_t f = 0; f < NCU_FIELDS; f++)
        table->at[f] = NCU_NO_COLUMN;
    reading r = {.table = table};
    csv_set_delim(&parser, (unsigned char)table->delimiter);
    size_t done = csv_parse(&parser, line, length, on_heading, NULL, &r);
    if (done == length)
        csv_fini(&parser, on_heading, NULL, &r);
    csv_free(&parser);

    table->is_long = table->at[NCU_FIELD_METRIC] != NCU_NO_COLUMN;
    bool data = table->at[NCU_FIELD_DATA] != NCU_NO_COLUMN;
    if (done == length && !r.failed && table->at[NCU_FIELD_KERNEL] != NCU_NO_COLUMN &&
        (table->is_long || table->at[NCU_FIELD_VALUE] != NCU_NO_COLUMN || data)) {
        for (size_t i = 0; i < table->count && !table->is_long; i++)
            table->others += table->headings[i].field == NCU_FIELD_OTHER;
        return true;
    }
    ncu_table_free(table);
    return false;
}

void ncu_table_free(ncu_table *table) {
    for (size_t i = 0; i < table->count; i++) {
        free(table->headings[i].text);
        free(table->headings[i].unit);
    }
    free(table->headings);
    *table = (ncu_table){0};
}

size_t ncu_table_offset(const ncu_table *table, const char *line, size_t length, size_t column) {
    bool in_quotes = false;
    for (size_t i = 0; i < length && column > 0; i++) {
        if (line[i] == '"')
            in_quotes = !in_quotes;
        else if (line[i] == table->delimiter && !in_quotes && --column == 0)
            return i + 1;
    }
    return 0;
}
