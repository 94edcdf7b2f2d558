/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading and overlaying the CSV tables of the hardware database. libcsv splits the text; this file
 * maps a file's columns to the table's and merges records.
 */
#include "hwdb/table.h"

#include <csv.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIELD_LIMIT = 64 * 1024, ROW_LIMIT = 100000 };

void rp_hw_table_init(rp_hw_table *table, const char *name, const char *const *columns,
                      const char *const *keys) {
    *table = (rp_hw_table){.name = name, .columns = columns, .keys = keys};
    while (columns[table->column_count])
        table->column_count++;
}

static void free_row(rp_hw_row *row, size_t columns) {
    for (size_t c = 0; c < columns; c++)
        free(row->field[c]);
}

void rp_hw_table_free(rp_hw_table *table) {
    for (size_t r = 0; r < table->row_count; r++)
        free_row(&table->rows[r], table->column_count);
    for (size_t f = 0; f < table->file_count; f++)
        free(table->files[f]);
    free(table->rows);
    free(table->files);
    *table = (rp_hw_table){0};
}

static int find_column(const rp_hw_table *table, const char *name) {
    for (size_t c = 0; c < table->column_count; c++)
        if (!strcmp(table->columns[c], name))
            return (int)c;
    return -1;
}

size_t rp_hw_table_column(const rp_hw_table *table, const char *column) {
    int c = find_column(table, column);
    return c < 0 ? 0 : (size_t)c;
}

/* ---- One pass over a file -------------------------------------------------------------------- */

typedef struct reader {
    rp_hw_table *table;
    const char *path; /* as given */
    const char *file; /* the table's copy of it */
    bool overlay, header_done, header_only;
    int map[RP_TABLE_COLUMNS]; /* the file's column -> the table's */
    size_t mapped;
    size_t column; /* in the row being read */
    rp_hw_row row;
    size_t first_row; /* rows that were there before this file */
    int line;         /* of the row being read */
    int next_line;
    rp_code code;
    rp_error *error;
} reader;

static void fail(reader *r, const char *what) {
    if (r->code == RP_OK)
        r->code = rp_fail(r->error, RP_INPUT, "%s:%d: %s", r->path, r->line, what);
}

static void take_field(reader *r, const char *text, size_t length) {
    char buffer[160];

    if (memchr(text, 0, length)) {
        fail(r, "a NUL byte in a field");
        return;
    }
    if (!r->header_done) {
        char name[64];
        snprintf(name, sizeof name, "%.*s", length > 60 ? 60 : (int)length, text);
        int c = find_column(r->table, name);
        if (c < 0) {
            snprintf(buffer, sizeof buffer, "the %s table has no column \"%.60s\"", r->table->name,
                     name);
            fail(r, buffer);
        } else if (r->mapped == RP_TABLE_COLUMNS) {
            fail(r, "too many columns");
        } else {
            for (size_t i = 0; i < r->mapped; i++)
                if (r->map[i] == c)
                    fail(r, "a column appears twice");
            r->map[r->mapped++] = c;
        }
        return;
    }
    if (r->column >= r->mapped) {
        fail(r, "more fields than the header has columns");
        return;
    }
    char **field = &r->row.field[r->map[r->column++]];
    free(*field);
    *field = strndup(text, length);
    if (!*field)
        r->code = rp_fail(r->error, RP_INTERNAL, "out of memory");
}

static void on_field(void *text, size_t length, void *data) {
    reader *r = data;
    if (r->code == RP_OK)
        take_field(r, text ? text : "", text ? length : 0);
}

static bool same_key(const rp_hw_table *table, const rp_hw_row *a, const rp_hw_row *b) {
    for (size_t k = 0; table->keys[k]; k++) {
        size_t c = rp_hw_table_column(table, table->keys[k]);
        if (strcmp(a->field[c], b->field[c]))
            return false;
    }
    return true;
}

static rp_hw_row *append(rp_hw_table *table) {
    if (table->row_count == table->row_room) {
        size_t room = table->row_room ? 2 * table->row_room : 128;
        rp_hw_row *rows = realloc(table->rows, room * sizeof *rows);
        if (!rows)
            return NULL;
        table->rows = rows;
        table->row_room = room;
    }
    return &table->rows[table->row_count++];
}

/* Moves the fields of FROM that say something into INTO. */
static void overlay_row(rp_hw_row *into, rp_hw_row *from, size_t columns) {
    for (size_t c = 0; c < columns; c++) {
        char *value = from->field[c];
        if (!*value)
            continue;
        if (!strcmp(value, "-"))
            *value = 0;
        from->field[c] = into->field[c];
        into->field[c] = value;
    }
    into->file = from->file;
    into->line = from->line;
    into->overlay = true;
}

static void finish_row(reader *r) {
    rp_hw_table *table = r->table;

    if (r->column < r->mapped) {
        fail(r, "fewer fields than the header has columns");
        return;
    }
    for (size_t c = 0; c < table->column_count; c++)
        if (!r->row.field[c] && !(r->row.field[c] = calloc(1, 1)))
            r->code = rp_fail(r->error, RP_INTERNAL, "out of memory");
    if (r->code != RP_OK)
        return;
    if (table->keys[0] && !*r->row.field[rp_hw_table_column(table, table->keys[0])]) {
        fail(r, "the record has no name");
        return;
    }
    r->row.file = r->file;
    r->row.line = r->line;
    r->row.overlay = r->overlay;
    if (r->overlay && table->keys[0]) {
        for (size_t i = 0; i < r->first_row; i++)
            if (same_key(table, &table->rows[i], &r->row)) {
                overlay_row(&table->rows[i], &r->row, table->column_count);
                return;
            }
    }
    if (table->row_count >= ROW_LIMIT) {
        fail(r, "too many records");
        return;
    }
    rp_hw_row *slot = append(table);
    if (!slot) {
        r->code = rp_fail(r->error, RP_INTERNAL, "out of memory");
        return;
    }
    *slot = r->row;
    r->row = (rp_hw_row){0};
}

static void on_row(int terminator, void *data) {
    reader *r = data;
    (void)terminator;
    if (r->code != RP_OK)
        return;
    if (!r->header_done) {
        r->header_done = true;
        return;
    }
    finish_row(r);
    free_row(&r->row, r->table->column_count);
    r->row = (rp_hw_row){0};
    r->column = 0;
}

/* Feeds PATH to libcsv record by record, so that a line number can be told. A record ends at a line
 * end outside quotes. */
static void parse(reader *r, FILE *in) {
    struct csv_parser parser;
    char *line = NULL;
    size_t room = 0;
    ssize_t n;
    bool quoted = false;
    size_t record = 0;

    if (csv_init(&parser, CSV_STRICT | CSV_STRICT_FINI)) {
        r->code = rp_fail(r->error, RP_INTERNAL, "out of memory");
        return;
    }
    while (r->code == RP_OK && (n = getline(&line, &room, in)) >= 0) {
        char *text = line;
        r->next_line++;
        if (!quoted) {
            if (r->next_line == 1 && n >= 3 && !memcmp(line, "\xEF\xBB\xBF", 3)) {
                text += 3;
                n -= 3;
            }
            if (*text == '#')
                continue;
            r->line = r->next_line;
            record = 0;
        }
        for (ssize_t i = 0; i < n; i++)
            quoted ^= text[i] == '"';
        record += (size_t)n;
        if (record > FIELD_LIMIT)
            fail(r, "a record longer than 64 KiB (a quote that is not closed?)");
        else if (csv_parse(&parser, text, (size_t)n, on_field, on_row, r) != (size_t)n)
            fail(r, csv_strerror(csv_error(&parser)));
        if (r->header_only && r->header_done)
            break;
    }
    if (r->code == RP_OK && csv_fini(&parser, on_field, on_row, r))
        fail(r, "a quote that is not closed");
    if (r->code == RP_OK && ferror(in))
        r->code = rp_fail(r->error, RP_INPUT, "%s: cannot be read: %s", r->path, strerror(errno));
    csv_free(&parser);
    free(line);
}

static const char *keep_file(rp_hw_table *table, const char *path) {
    char **files = realloc(table->files, (table->file_count + 1) * sizeof *files);
    if (!files)
        return NULL;
    table->files = files;
    files[table->file_count] = strdup(path);
    return files[table->file_count] ? files[table->file_count++] : NULL;
}

/* Tables without keys are lists tried in order: a user's records must come first. */
static void put_new_rows_first(rp_hw_table *table, size_t old) {
    size_t fresh = table->row_count - old;
    if (!old || !fresh)
        return;
    rp_hw_row *copy = malloc(table->row_count * sizeof *copy);
    if (!copy)
        return;
    memcpy(copy, table->rows + old, fresh * sizeof *copy);
    memcpy(copy + fresh, table->rows, old * sizeof *copy);
    memcpy(table->rows, copy, table->row_count * sizeof *copy);
    free(copy);
}

static bool has_column(const reader *r, const char *column) {
    for (size_t i = 0; i < r->mapped; i++)
        if ((size_t)r->map[i] == rp_hw_table_column(r->table, column))
            return true;
    return false;
}

rp_code rp_hw_table_read(rp_hw_table *table, const char *path, bool overlay, rp_error *error) {
    reader r = {.table = table,
                .path = path,
                .overlay = overlay,
                .error = error,
                .first_row = table->row_count};
    FILE *in = fopen(path, "r");

    if (!in)
        return rp_fail(error, RP_INPUT, "%s: cannot be opened: %s", path, strerror(errno));
    r.file = keep_file(table, path);
    if (!r.file)
        r.code = rp_fail(error, RP_INTERNAL, "out of memory");
    else
        parse(&r, in);
    if (r.code == RP_OK && !r.header_done)
        r.code =
            rp_fail(error, RP_INPUT, "%s: empty; a header line with column names is needed", path);
    if (r.code == RP_OK && table->keys[0] && !has_column(&r, table->keys[0]))
        r.code = rp_fail(error, RP_INPUT, "%s:1: no column \"%s\"", path, table->keys[0]);
    if (r.code == RP_OK && overlay && !table->keys[0])
        put_new_rows_first(table, r.first_row);
    free_row(&r.row, table->column_count);
    fclose(in);
    return r.code;
}

bool rp_hw_table_fits(const rp_hw_table *table, const char *path) {
    rp_hw_table header;
    reader r = {.table = &header, .path = path, .header_only = true};
    FILE *in = fopen(path, "r");
    bool fits;

    if (!in)
        return false;
    rp_hw_table_init(&header, table->name, table->columns, table->keys);
    parse(&r, in);
    fclose(in);
    free_row(&r.row, header.column_count);
    fits = r.code == RP_OK && r.header_done;
    for (size_t k = 0; fits && table->keys[k]; k++)
        fits = has_column(&r, table->keys[k]);
    if (!table->keys[0])
        fits = fits && 2 * r.mapped >= table->column_count;
    rp_hw_table_free(&header);
    return fits;
}
