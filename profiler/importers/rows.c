/* SPDX-License-Identifier: Apache-2.0
 *
 * The CSV reader behind rows.h: libcsv takes the records apart, line by line, so that foreign lines
 * can be kept away from it (an odd quote in a program's output would swallow the table).
 */
#include "importers/rows.h"
#include <csv.h>
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST_CELL = 64 * 1024 * 1024 };

typedef struct reader {
    const rp_rows *rows;
    const char *path;
    rp_error *error;
    rp_code code;
    char *text; /* the cells of one record, NUL-terminated, one after the other */
    size_t text_length, text_capacity;
    size_t *offset; /* where each cell starts in text */
    const char **cell;
    size_t count, capacity;
    uint64_t line, record_line;
} reader;

/* An unclosed quote makes the rest of the file one cell: refuse memory before it hurts. */
static void *bounded_realloc(void *old, size_t size) {
    return size > LONGEST_CELL ? NULL : realloc(old, size);
}

/* Blanks belong to their cell: a kernel name that lost its quotes keeps its own. */
static int no_space(unsigned char c) {
    (void)c;
    return 0;
}

static void fail_memory(reader *r) {
    if (!r->code)
        r->code = rp_fail(r->error, RP_INTERNAL, "%s:%llu: out of memory", r->path,
                          (unsigned long long)r->line);
}

static bool room(reader *r, size_t bytes) {
    if (r->text_length + bytes > r->text_capacity) {
        size_t capacity = (r->text_length + bytes) * 2;
        char *text = realloc(r->text, capacity);
        if (!text)
            return false;
        r->text = text;
        r->text_capacity = capacity;
    }
    if (r->count == r->capacity) {
        size_t capacity = r->capacity ? r->capacity * 2 : 64;
        size_t *offset = realloc(r->offset, capacity * sizeof *offset);
        if (!offset)
            return false;
        r->offset = offset;
        const char **cell = realloc(r->cell, capacity * sizeof *cell);
        if (!cell)
            return false;
        r->cell = cell;
        r->capacity = capacity;
    }
    return true;
}

static void on_cell(void *data, size_t length, void *context) {
    reader *r = context;
    if (r->code)
        return;
    if (!room(r, length + 1)) {
        fail_memory(r);
        return;
    }
    char *to = r->text + r->text_length;
    if (length)
        memcpy(to, data, length);
    to[length] = '\0';
    for (char *nul = memchr(to, '\0', length); nul; nul = memchr(to, '\0', length))
        *nul = '?';
    r->offset[r->count++] = r->text_length;
    r->text_length += length + 1;
}

static void on_record(int terminator, void *context) {
    (void)terminator;
    reader *r = context;
    for (size_t i = 0; i < r->count; i++)
        r->cell[i] = r->text + r->offset[i];
    rp_row row = {.cell = r->cell, .count = r->count, .line = r->record_line};
    if (!r->code && r->count)
        r->code = r->rows->row(r->rows->context, &row, r->error);
    r->count = r->text_length = 0;
}

static bool odd_quotes(const char *line, size_t length) {
    bool odd = false;
    for (const char *p = memchr(line, '"', length); p;
         p = memchr(p + 1, '"', length - (size_t)(p + 1 - line)))
        odd = !odd;
    return odd;
}

static size_t without_newline(const char *line, size_t length) {
    while (length && (line[length - 1] == '\n' || line[length - 1] == '\r'))
        length--;
    return length;
}

static rp_code feed(reader *r, struct csv_parser *parser, const char *line, size_t length) {
    if (csv_parse(parser, line, length, on_cell, on_record, r) == length || r->code)
        return r->code;
    if (csv_error(parser) == CSV_ENOMEM)
        return rp_fail(r->error, RP_INPUT,
                       "%s:%llu: a cell that starts here has no end: a closing quote is missing",
                       r->path, (unsigned long long)r->record_line);
    return rp_fail(r->error, RP_INPUT, "%s:%llu: %s", r->path, (unsigned long long)r->line,
                   csv_strerror(csv_error(parser)));
}

static rp_code read_lines(reader *r, rp_stream *stream, struct csv_parser *parser, bool *inside) {
    for (;;) {
        const char *line;
        size_t length;
        rp_code code = rp_stream_line(stream, &line, &length, r->error);
        if (code || !length)
            return code;
        r->line++;
        if (r->line == 1 && length >= 3 && !memcmp(line, "\xEF\xBB\xBF", 3)) {
            line += 3;
            length -= 3;
        }
        if (!*inside) {
            r->record_line = r->line;
            if (r->rows->skip &&
                r->rows->skip(r->rows->context, line, without_newline(line, length)))
                continue;
        }
        *inside ^= odd_quotes(line, length);
        code = feed(r, parser, line, length);
        if (code)
            return code;
    }
}

rp_code rp_rows_read(const char *path, const rp_rows *rows, bool *truncated, rp_error *error) {
    reader r = {.rows = rows, .path = path, .error = error};
    rp_stream *stream = NULL;
    struct csv_parser parser;
    bool inside = false;
    if (csv_init(&parser, 0))
        return rp_fail(error, RP_INTERNAL, "%s: the CSV reader cannot start", path);
    csv_set_realloc_func(&parser, bounded_realloc);
    csv_set_space_func(&parser, no_space);
    rp_code code = rp_stream_open(&stream, path, error);
    if (!code)
        code = read_lines(&r, stream, &parser, &inside);
    bool cut = stream && (rp_stream_truncated(stream) || inside);
    if (!code && !cut) { /* the last line may lack its newline */
        csv_fini(&parser, on_cell, on_record, &r);
        code = r.code;
    }
    if (truncated)
        *truncated = cut;
    rp_stream_close(stream);
    csv_free(&parser);
    free(r.text);
    free(r.offset);
    free(r.cell);
    return code;
}

bool rp_number(const char *text, double *value) {
    static locale_t c_locale; /* made once; the commands import on one thread */
    if (!c_locale)
        c_locale = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    size_t length = strspn(text, "0123456789+-.eE");
    if (!length || text[length] || !c_locale)
        return false;
    char *end;
    *value = strtod_l(text, &end, c_locale);
    return end == text + length && isfinite(*value);
}

bool rp_integer(const char *text, int64_t *value) {
    char *end;
    errno = 0;
    long long n = strtoll(text, &end, 10);
    if (*text && strchr("0123456789-", *text) && !*end && !errno) {
        *value = n;
        return true;
    }
    double d;
    if (!rp_number(text, &d) || d != floor(d) || fabs(d) > 9007199254740992.0)
        return false;
    *value = (int64_t)d;
    return true;
}
