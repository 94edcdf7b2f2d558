/* SPDX-License-Identifier: Apache-2.0
 *
 * Nsight Compute's CSV (`ncu --csv`, its GUI, and what scripts make of them). Such a file is the
 * output of a program run under the profiler: tables stand between messages and whatever the
 * program printed. Lines are sorted first (heading, row, text), rows are parsed by libcsv and
 * handed to an ncu_store.
 *
 * The file is read twice. The first reading finds the locale of the numbers and stops at the first
 * cell that proves it, usually in the first rows; the second reads everything, and refuses the file
 * if a later cell contradicts the first.
 *
 * Rows of one launch begin with the same bytes (identity and kernel name, up to thousands of them).
 * That prefix is compared, not parsed again: this is what makes reading fast.
 */
#include "importers/importer.h"
#include "importers/ncu_locale.h"
#include "importers/ncu_number.h"
#include "importers/ncu_store.h"
#include "importers/ncu_table.h"
#include "importers/ncu_utf16.h"
#include "importers/stream.h"
#include "support/array.h"
#include "support/text.h"
#include <csv.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    WHOLE_HEAD = 60000,           /* a head this long is not the whole file */
    LATEST_HEADING = 16 * 1048576 /* bytes of other text before the first heading */
};

typedef struct piece { /* of `text` */
    size_t offset, length;
} piece;

typedef struct reader {
    const char *path;
    ncu_store *store; /* NULL in the first reading */
    ncu_table table;  /* count 0: no heading yet */
    struct csv_parser parser;
    rp_code code; /* set by what is called from libcsv */
    rp_error *error;

    uint64_t line, row_line, tables, rows, strays, stray_line;
    bool in_row, stop, accepted; /* accepted: the row just read belongs to a launch */
    bool odd_quotes, cut_off;    /* of the row in hand so far; of the file */

    /* The row in hand: cells are NUL-terminated pieces of `text`. */
    char *text;
    size_t text_used, text_capacity;
    piece *cells;
    size_t cell_count, cell_capacity;

    /* What the last row of a long table began with, and what `text` and `cells` had of it. */
    char *prefix;
    size_t prefix_length, prefix_capacity, prefix_text;
    bool same_launch;

    /* Wide tables: units from the second line, columns of the store. */
    bool first_row;
    const ncu_column **columns;
    char **units;
    size_t column_count; /* of both arrays */
    int64_t next_number;

    /* The last launch of a long table, to see when the next begins. */
    bool has_launch;
    int64_t pid, number;
    char *kernel;
    size_t kernel_length;

    ncu_locale locale;
    ncu_weights weights;

    uint64_t permission_line, no_kernels_line;
    char message[400]; /* the first ==ERROR== line */
    uint64_t message_line;
} reader;

static rp_code no_memory(reader *r) {
    return rp_fail(r->error, RP_INTERNAL, "%s: out of memory", r->path);
}

/* ---- Cells of the row in hand ---------------------------------------------------------------- */

static const char *cell_text(const reader *r, size_t i, size_t *length) {
    if (i >= r->cell_count) {
        *length = 0;
        return "";
    }
    *length = r->cells[i].length;
    return r->text + r->cells[i].offset;
}

static const char *field_text(const reader *r, ncu_field field, size_t *length) {
    return cell_text(r, r->table.at[field], length);
}

static bool field_present(const reader *r, ncu_field field) {
    return r->table.at[field] != NCU_NO_COLUMN && r->table.at[field] < r->cell_count;
}

/* -1 if the cell is no whole number. */
static int64_t field_integer(const reader *r, ncu_field field) {
    size_t length;
    const char *text = field_text(r, field, &length);
    if (length == 0 || length > 18)
        return -1;
    int64_t number = 0;
    for (size_t i = 0; i < length; i++) {
        if (text[i] < '0' || text[i] > '9')
            return -1;
        number = number * 10 + (text[i] - '0');
    }
    return number;
}

/* "(32, 32, 1)" and "64, 64, 1". */
static bool field_shape(const reader *r, ncu_field field, uint32_t shape[3]) {
    size_t length;
    const char *text = field_text(r, field, &length), *end = text + length;
    for (int i = 0; i < 3; i++) {
        while (text < end && (*text < '0' || *text > '9'))
            text++;
        uint64_t size = 0;
        const char *start = text;
        for (; text < end && *text >= '0' && *text <= '9' && size <= UINT32_MAX; text++)
            size = size * 10 + (uint64_t)(*text - '0');
        if (text == start || size == 0 || size > UINT32_MAX)
            return false;
        shape[i] = (uint32_t)size;
    }
    return true;
}

static void read_capability(const reader *r, ncu_launch *launch) {
    size_t length;
    const char *text = field_text(r, NCU_FIELD_CC, &length);
    int major, minor;
    if (length > 0 && length < 8 && sscanf(text, "%d.%d", &major, &minor) == 2 && major >= 0 &&
        minor >= 0) {
        launch->cc_major = major;
        launch->cc_minor = minor;
    }
}

static const char *text_or_null(const reader *r, ncu_field field) {
    size_t length;
    const char *text = field_text(r, field, &length);
    return length > 0 ? text : NULL;
}

static rp_code begin_launch(reader *r, int64_t number) {
    ncu_launch launch = NCU_LAUNCH_INIT;
    launch.number = number;
    launch.pid = field_integer(r, NCU_FIELD_PID);
    launch.process = text_or_null(r, NCU_FIELD_PROCESS);
    launch.host = text_or_null(r, NCU_FIELD_HOST);
    launch.kernel = field_text(r, NCU_FIELD_KERNEL, &launch.kernel_length);
    launch.context = field_integer(r, NCU_FIELD_CONTEXT);
    launch.stream = field_integer(r, NCU_FIELD_STREAM);
    launch.device = field_integer(r, NCU_FIELD_DEVICE);
    launch.device_name = text_or_null(r, NCU_FIELD_DEVICE_NAME);
    if (launch.device < 0 && !launch.device_name) /* some exports name the device there */
        launch.device_name = text_or_null(r, NCU_FIELD_DEVICE);
    read_capability(r, &launch);
    launch.has_shape = field_shape(r, NCU_FIELD_GRID, launch.grid) &&
                       field_shape(r, NCU_FIELD_BLOCK, launch.block);
    return ncu_store_begin(r->store, &launch, r->error);
}

/* ---- Values ---------------------------------------------------------------------------------- */

/* In the first reading a cell is weighed, in the second its value is put. */
static rp_code take_cell(reader *r, const ncu_column *column, const ncu_cell *cell) {
    if (!r->store) {
        r->stop = ncu_locale_weigh(&r->weights, cell);
        return RP_OK;
    }
    double value;
    int decimals;
    ncu_shape shape = ncu_number_read(cell->text, cell->length, r->locale, &value, &decimals);
    rp_code code = ncu_locale_check(&r->weights, r->locale, shape, cell, r->path, r->error);
    if (code)
        return code;
    if (shape == NCU_MISSING)
        ncu_store_put_missing(r->store, column);
    else if (shape == NCU_TEXT)
        ncu_store_put_text(r->store, column, cell->text, cell->length);
    else
        ncu_store_put(r->store, column, value, decimals > 0 ? 0.5 * pow(10, -decimals) : 0);
    return RP_OK;
}

static rp_code refuse_unit(reader *r, const char *metric, size_t length) {
    char *shown = rp_text_printable(metric, length < 200 ? length : 200);
    rp_code code =
        rp_fail(r->error, RP_INPUT,
                "%s, line %llu: column \"%s\" has no unit, and its name implies none: it "
                "cannot be told what the number says. Add the unit to the heading, as in "
                "\"%s [usecond]\", or use the raw metric's name",
                r->path, (unsigned long long)r->row_line, shown ? shown : "?", shown ? shown : "?");
    free(shown);
    return code;
}

static rp_code missing_column(reader *r, const char *name, const char *use) {
    return rp_fail(
        r->error, RP_INPUT,
        "%s, line %llu: the table has no column \"%s\", %s. Export it again with ncu --csv "
        "and keep all columns",
        r->path, (unsigned long long)r->line, name, use);
}

/* ---- Rows of long tables --------------------------------------------------------------------- */

static void stray(reader *r) {
    if (r->strays++ == 0)
        r->stray_line = r->row_line;
}

/* Makes the row's launch the one in hand. */
static rp_code long_launch(reader *r, int64_t number) {
    int64_t pid = field_integer(r, NCU_FIELD_PID);
    size_t length;
    const char *kernel = field_text(r, NCU_FIELD_KERNEL, &length);
    if (r->has_launch && r->pid == pid && r->number == number && r->kernel_length == length &&
        memcmp(r->kernel, kernel, length) == 0)
        return RP_OK;
    char *copy = realloc(r->kernel, length + 1);
    if (!copy)
        return no_memory(r);
    memcpy(copy, kernel, length + 1);
    r->kernel = copy;
    r->kernel_length = length;
    r->has_launch = true;
    r->pid = pid;
    r->number = number;
    return r->store ? begin_launch(r, number) : RP_OK;
}

static rp_code long_value(reader *r) {
    ncu_cell cell = {.line = r->row_line, .unit = ""};
    cell.metric = field_text(r, NCU_FIELD_METRIC, &cell.metric_length);
    cell.text = field_text(r, NCU_FIELD_VALUE, &cell.length);
    bool has_unit = field_present(r, NCU_FIELD_UNIT);
    if (has_unit)
        cell.unit = field_text(r, NCU_FIELD_UNIT, &cell.unit_length);
    if (cell.metric_length == 0) /* a rule's verdict, not a metric */
        return RP_OK;
    const ncu_column *column = NULL;
    if (r->store) {
        rp_code code =
            ncu_store_column(r->store, cell.metric, cell.metric_length, has_unit ? cell.unit : NULL,
                             cell.unit_length, &column, r->error);
        if (code)
            return code;
        if (!column)
            return refuse_unit(r, cell.metric, cell.metric_length);
    }
    return take_cell(r, column, &cell);
}

static rp_code long_row(reader *r) {
    int64_t number = r->same_launch ? r->number : field_integer(r, NCU_FIELD_ID);
    r->accepted = number >= 0 && field_present(r, NCU_FIELD_VALUE);
    if (!r->accepted) {
        stray(r);
        return RP_OK;
    }
    r->rows++;
    rp_code code = r->same_launch ? RP_OK : long_launch(r, number);
    return code ? code : long_value(r);
}

/* ---- Rows of wide tables --------------------------------------------------------------------- */

static const char *heading_unit(const reader *r, size_t i) {
    return r->units[i] ? r->units[i] : r->table.headings[i].unit;
}

/* The line under the heading holds the units of its columns: it has neither launch nor kernel. */
static bool is_units_row(const reader *r) {
    size_t id, kernel;
    field_text(r, NCU_FIELD_ID, &id);
    field_text(r, NCU_FIELD_KERNEL, &kernel);
    return r->first_row && id == 0 && kernel == 0;
}

static rp_code take_units(reader *r) {
    for (size_t i = 0; i < r->column_count && i < r->cell_count; i++) {
        if (r->table.headings[i].field != NCU_FIELD_DATA)
            continue;
        free(r->units[i]);
        r->units[i] = strdup(r->text + r->cells[i].offset);
        if (!r->units[i])
            return no_memory(r);
    }
    return RP_OK;
}

static rp_code wide_column(reader *r, size_t i) {
    const ncu_heading *h = &r->table.headings[i];
    const char *unit = heading_unit(r, i);
    rp_code code = ncu_store_column(r->store, h->text, strlen(h->text), unit,
                                    unit ? strlen(unit) : 0, &r->columns[i], r->error);
    if (code)
        return code;
    return r->columns[i] ? RP_OK : refuse_unit(r, h->text, strlen(h->text));
}

static rp_code wide_cell(reader *r, size_t i) {
    const char *unit = heading_unit(r, i);
    ncu_cell cell = {.line = r->row_line,
                     .metric = r->table.headings[i].text,
                     .metric_length = strlen(r->table.headings[i].text),
                     .unit = unit ? unit : "",
                     .unit_length = unit ? strlen(unit) : 0};
    cell.text = cell_text(r, i, &cell.length);
    if (cell.length == 0) /* not collected for this launch */
        return RP_OK;
    rp_code code = r->store && !r->columns[i] ? wide_column(r, i) : RP_OK;
    return code ? code : take_cell(r, r->columns[i], &cell);
}

static rp_code wide_row(reader *r) {
    bool units = is_units_row(r);
    r->first_row = false;
    if (units)
        return take_units(r);
    int64_t number = r->table.at[NCU_FIELD_ID] == NCU_NO_COLUMN ? r->next_number
                                                                : field_integer(r, NCU_FIELD_ID);
    if (r->cell_count < r->table.count || number < 0) {
        stray(r);
        return RP_OK;
    }
    r->next_number++;
    if (r->store) {
        r->rows++;
        rp_code code = begin_launch(r, number);
        if (code)
            return code;
    }
    for (size_t i = 0; i < r->table.count; i++) {
        if (r->table.headings[i].field != NCU_FIELD_DATA)
            continue;
        rp_code code = wide_cell(r, i);
        if (code)
            return code;
    }
    return RP_OK;
}

/* ---- libcsv ---------------------------------------------------------------------------------- */

static void on_cell(void *text, size_t length, void *context) {
    reader *r = context;
    if (r->code)
        return;
    size_t need = r->text_used + length + 1;
    if (need > r->text_capacity) {
        size_t capacity = need * 2;
        char *grown = realloc(r->text, capacity);
        if (!grown) {
            r->code = no_memory(r);
            return;
        }
        r->text = grown;
        r->text_capacity = capacity;
    }
    if (!RP_ARRAY_ROOM(r->cells, r->cell_capacity, r->cell_count)) {
        r->code = no_memory(r);
        return;
    }
    r->cells[r->cell_count++] = (piece){.offset = r->text_used, .length = length};
    if (length > 0)
        memcpy(r->text + r->text_used, text, length);
    r->text[r->text_used + length] = 0;
    r->text_used = need;
}

static void on_row(int end, void *context) {
    (void)end;
    reader *r = context;
    if (!r->code)
        r->code = r->table.is_long ? long_row(r) : wide_row(r);
    r->in_row = false;
}

/* ---- Lines ----------------------------------------------------------------------------------- */

static void forget_launch(reader *r) {
    r->has_launch = false;
    r->prefix_length = 0;
}

static void table_close(reader *r) {
    for (size_t i = 0; i < r->column_count; i++)
        free(r->units[i]);
    free(r->units);
    free(r->columns);
    r->units = NULL;
    r->columns = NULL;
    r->column_count = 0;
    ncu_table_free(&r->table);
    forget_launch(r);
}

static rp_code table_open(reader *r, const ncu_table *table) {
    table_close(r);
    r->table = *table;
    r->tables++;
    r->first_row = true;
    r->units = calloc(table->count, sizeof *r->units);
    r->columns = calloc(table->count, sizeof *r->columns);
    if (!r->units || !r->columns)
        return no_memory(r);
    r->column_count = table->count;
    csv_set_delim(&r->parser, (unsigned char)table->delimiter);
    if (table->at[NCU_FIELD_VALUE] != NCU_NO_COLUMN && !table->is_long)
        return missing_column(r, "Metric Name", "so it cannot be told what the values are");
    if (!table->is_long)
        return RP_OK;
    if (table->at[NCU_FIELD_VALUE] == NCU_NO_COLUMN)
        return missing_column(r, "Metric Value", "so it holds no values");
    if (table->at[NCU_FIELD_ID] == NCU_NO_COLUMN)
        return missing_column(r, "ID", "so launches of the same kernel cannot be told apart");
    return RP_OK;
}

static bool contains(const char *line, size_t length, const char *part) {
    return memmem(line, length, part, strlen(part)) != NULL;
}

/* A line outside of the tables: ncu's messages tell why a table is missing or empty. */
static void on_text(reader *r, const char *line, size_t length) {
    if (!r->permission_line && contains(line, length, "ERR_NVGPUCTRPERM"))
        r->permission_line = r->line;
    if (!r->no_kernels_line && contains(line, length, "No kernels were profiled"))
        r->no_kernels_line = r->line;
    if (!r->message_line && length > 9 && memcmp(line, "==ERROR==", 9) == 0) {
        while (length > 9 && (line[length - 1] == '\n' || line[length - 1] == '\r'))
            length--;
        char *shown = rp_text_printable(line + 9, length - 9 < 300 ? length - 9 : 300);
        snprintf(r->message, sizeof r->message, "%s", shown ? shown + (*shown == ' ') : "?");
        free(shown);
        r->message_line = r->line;
    }
}

/* The heading in LINE: at its start, or behind text that the program ended without a newline. */
static bool find_heading(ncu_table *table, const char *line, size_t length) {
    static const char id[] = "\"ID\",";
    const char *at = memmem(line, length, id, strlen(id));
    if (at && at > line && ncu_table_read(table, at, length - (size_t)(at - line)))
        return true;
    return ncu_table_read(table, line, length);
}

/* Whether LINE, outside of a row, may be a row of the table in hand. */
static bool may_be_row(const reader *r, const char *line, size_t length) {
    if (r->table.quoted)
        return line[0] == '"';
    return length > 2 && memcmp(line, "==", 2) != 0 && memchr(line, r->table.delimiter, length);
}

/* LINE starts as only a row can, though a quote is still open: the quote was the program's. */
static bool must_be_row(const reader *r, const char *line, size_t length) {
    if (!r->table.quoted || length < 4 || line[0] != '"')
        return false;
    size_t i = 1;
    while (i < length && line[i] >= '0' && line[i] <= '9')
        i++;
    return i > 1 && i + 2 < length && line[i] == '"' && line[i + 1] == r->table.delimiter &&
           line[i + 2] == '"';
}

static rp_code row_abandon(reader *r) {
    unsigned char delimiter = csv_get_delim(&r->parser);
    csv_free(&r->parser);
    if (csv_init(&r->parser, 0))
        return no_memory(r);
    csv_set_delim(&r->parser, delimiter);
    r->in_row = false;
    stray(r);
    forget_launch(r);
    return RP_OK;
}

/* Columns of a long table before the first that differs within a launch. */
static size_t identity_columns(const ncu_table *table) {
    static const ncu_field changing[] = {NCU_FIELD_SECTION, NCU_FIELD_METRIC, NCU_FIELD_UNIT,
                                         NCU_FIELD_VALUE};
    size_t columns = table->count;
    for (size_t i = 0; i < sizeof changing / sizeof *changing; i++)
        if (table->at[changing[i]] < columns)
            columns = table->at[changing[i]];
    return table->is_long && table->at[NCU_FIELD_ID] < columns &&
                   table->at[NCU_FIELD_KERNEL] < columns
               ? columns
               : 0;
}

/* After a row that was parsed whole from LINE: keeps what the next row of its launch begins with.
 */
static rp_code keep_prefix(reader *r, const char *line, size_t length) {
    size_t columns = identity_columns(&r->table);
    size_t n = ncu_table_offset(&r->table, line, length, columns);
    r->prefix_length = 0;
    if (!r->accepted || columns == 0 || n == 0 || columns >= r->cell_count)
        return RP_OK;
    if (n > r->prefix_capacity) {
        char *grown = realloc(r->prefix, n * 2);
        if (!grown)
            return no_memory(r);
        r->prefix = grown;
        r->prefix_capacity = n * 2;
    }
    memcpy(r->prefix, line, n);
    r->prefix_length = n;
    r->prefix_text = r->cells[columns].offset;
    return RP_OK;
}

static rp_code parse_row(reader *r, const char *line, size_t length) {
    size_t skip = 0;
    bool whole = false;
    if (!r->in_row) {
        r->row_line = r->line;
        r->same_launch = r->prefix_length > 0 && length > r->prefix_length &&
                         memcmp(line, r->prefix, r->prefix_length) == 0;
        whole = !r->same_launch;
        skip = r->same_launch ? r->prefix_length : 0;
        r->text_used = r->same_launch ? r->prefix_text : 0;
        r->cell_count = r->same_launch ? identity_columns(&r->table) : 0;
        r->in_row = true;
        r->odd_quotes = false;
    }
    size_t done = csv_parse(&r->parser, line + skip, length - skip, on_cell, on_row, r);
    if (!r->code && done != length - skip)
        r->code = no_memory(r);
    for (size_t i = 0; r->in_row && i < length; i++)
        r->odd_quotes ^= line[i] == '"';
    if (!r->code && whole && !r->in_row)
        r->code = keep_prefix(r, line, length);
    return r->code;
}

static rp_code on_line(void *context, const char *line, size_t length) {
    reader *r = context;
    r->line++;
    if (r->line == 1 && length >= 3 && memcmp(line, "\xEF\xBB\xBF", 3) == 0) {
        line += 3;
        length -= 3;
    }
    if (length == 0)
        return RP_OK;
    if (r->in_row && must_be_row(r, line, length)) {
        rp_code code = row_abandon(r);
        if (code)
            return code;
    }
    if (!r->in_row) {
        bool row = r->table.count > 0 && may_be_row(r, line, length);
        bool looked = row && r->table.quoted && line[1] != 'I'; /* a heading says "ID" */
        ncu_table table;
        if (!looked && find_heading(&table, line, length))
            return table_open(r, &table);
        if (!row) {
            on_text(r, line, length);
            return RP_OK;
        }
    }
    return parse_row(r, line, length);
}

/* ---- Readings -------------------------------------------------------------------------------- */

static void reader_free(reader *r) {
    table_close(r);
    csv_free(&r->parser);
    free(r->text);
    free(r->cells);
    free(r->prefix);
    free(r->kernel);
}

/* The last row may lack its newline. If a quote is still open, the file was cut off in a cell:
 * "1,234 may be the start of "1,234,567", so that row is left out. */
static rp_code end_of_file(reader *r) {
    if (r->odd_quotes) {
        r->cut_off = true;
        return RP_OK;
    }
    csv_fini(&r->parser, on_cell, on_row, r);
    return r->code;
}

static rp_code read_file(reader *r) {
    rp_stream *stream;
    ncu_utf16 utf16 = {.line = on_line, .context = r};
    rp_code code = rp_stream_open(&stream, r->path, r->error);
    if (code)
        return code;
    for (bool first = true; !r->stop; first = false) {
        const char *line;
        size_t length;
        if ((code = rp_stream_line(stream, &line, &length, r->error)) || length == 0)
            break;
        if (first)
            utf16.on = ncu_utf16_is(line, length);
        code = utf16.on ? ncu_utf16_feed(&utf16, line, length) : on_line(r, line, length);
        if (code)
            break;
    }
    if (!code && utf16.on)
        code = ncu_utf16_end(&utf16);
    if (code == RP_INTERNAL && utf16.no_memory)
        code = no_memory(r);
    if (!code && r->in_row && !r->stop)
        code = end_of_file(r);
    r->cut_off |= rp_stream_truncated(stream);
    rp_stream_close(stream);
    ncu_utf16_free(&utf16);
    return code;
}

static rp_code start(reader *r, const char *path, rp_error *error) {
    *r = (reader){.path = path, .error = error};
    return csv_init(&r->parser, 0) ? no_memory(r) : RP_OK;
}

/* Why there is nothing to import. */
static rp_code nothing_found(const reader *r) {
    if (r->permission_line)
        return rp_fail(
            r->error, RP_INPUT,
            "%s, line %llu: Nsight Compute had no permission to read the counters "
            "(ERR_NVGPUCTRPERM), so nothing was measured. Profile as root, or load the "
            "driver with NVreg_RestrictProfilingToAdminUsers=0; in a container this is a "
            "setting of the host. Times need no permission: roofprof --mode trace",
            r->path, (unsigned long long)r->permission_line);
    if (r->no_kernels_line)
        return rp_fail(
            r->error, RP_INPUT,
            "%s, line %llu: Nsight Compute says \"No kernels were profiled\". Usual causes: "
            "the kernels run in a child process (--target-processes all), a filter that "
            "matches none, or a program that ended before its first launch%s%s",
            r->path, (unsigned long long)r->no_kernels_line,
            r->message_line ? ". It also says: " : "", r->message);
    if (r->message_line)
        return rp_fail(r->error, RP_INPUT,
                       "%s, line %llu: no launch in it; Nsight Compute says: %s", r->path,
                       (unsigned long long)r->message_line, r->message);
    if (r->tables == 0)
        return rp_fail(r->error, RP_INPUT,
                       "%s: no table of Nsight Compute in it (a heading with \"Kernel Name\" and "
                       "metrics). Make one with: ncu --csv PROGRAM > FILE",
                       r->path);
    if (r->strays)
        return rp_fail(r->error, RP_INPUT,
                       "%s: none of the %llu rows under the heading is complete (the first is line "
                       "%llu)",
                       r->path, (unsigned long long)r->strays, (unsigned long long)r->stray_line);
    return rp_fail(r->error, RP_INPUT, "%s: a heading, but no launch under it", r->path);
}

static rp_code add_notes(const reader *r, rp_capture *capture) {
    rp_code code = RP_OK;
    if (r->strays)
        code = rp_capture_add_note(
            capture, "warning", r->error,
            "%s: %llu lines among the rows do not fit the table and were left "
            "out (the first is line %llu)",
            r->path, (unsigned long long)r->strays, (unsigned long long)r->stray_line);
    if (!code && r->cut_off)
        code = rp_capture_add_note(capture, "warning", r->error,
                                   "%s is cut off: what stands before the end was read", r->path);
    if (!code && r->message_line)
        code = rp_capture_add_note(capture, "warning", r->error,
                                   "%s, line %llu: Nsight Compute reported an error: %s", r->path,
                                   (unsigned long long)r->message_line, r->message);
    const ncu_evidence *proof = ncu_locale_evidence(&r->weights, NCU_LOCALE_COMMA);
    if (!code && r->locale == NCU_LOCALE_COMMA)
        code = rp_capture_add_note(
            capture, "info", r->error,
            "%s: numbers were read with decimal commas (%s is \"%s\" in line "
            "%llu)",
            r->path, proof->metric, proof->text, (unsigned long long)proof->line);
    return code;
}

static rp_code import_csv(const char *path, rp_capture *capture, rp_error *error) {
    reader first, r;
    ncu_locale locale = NCU_LOCALE_POINT;
    rp_code code = start(&first, path, error);
    if (code)
        return code;
    if (!(code = read_file(&first)))
        code = ncu_locale_decide(&first.weights, path, &locale, error);
    reader_free(&first);
    if (code || (code = start(&r, path, error)))
        return code;

    r.locale = locale;
    r.weights = first.weights;
    if (!(code = ncu_store_open(&r.store, capture, path, error)) && !(code = read_file(&r))) {
        if (r.rows == 0)
            code = nothing_found(&r);
        else if (!(code = ncu_store_finish(
                       r.store, r.permission_line ? "The file also says ERR_NVGPUCTRPERM" : NULL,
                       error)))
            code = add_notes(&r, capture);
    }
    ncu_store_close(r.store);
    reader_free(&r);
    return code;
}

static int recognise_text(const char *text, size_t length) {
    int sure = 0;
    while (length > 0) {
        const char *newline = memchr(text, '\n', length);
        size_t n = newline ? (size_t)(newline - text) + 1 : length;
        ncu_table table;
        if (find_heading(&table, text, n)) {
            ncu_table_free(&table);
            return 95;
        }
        if (contains(text, n, "ERR_NVGPUCTRPERM"))
            sure = sure < 60 ? 60 : sure;
        else if (n > 9 && (memcmp(text, "==PROF== ", 9) == 0 || memcmp(text, "==ERROR==", 9) == 0))
            sure = sure < 50 ? 50 : sure;
        text += n;
        length -= n;
    }
    return sure;
}

/* What a program prints before its first kernel can be longer than the head. Looks for a heading
 * further on, if the head is plain text and no JSON. */
static int recognise_later(const char *path, const char *head, size_t length) {
    size_t start = 0;
    while (start < length && strchr(" \t\r\n", head[start]))
        start++;
    if (start == length || strchr("{[<", head[start]) || memchr(head, 0, length))
        return 0;
    rp_stream *stream;
    if (rp_stream_open(&stream, path, NULL))
        return 0;
    const char *line;
    size_t n, seen = 0;
    int sure = 0;
    while (!sure && seen < LATEST_HEADING && !rp_stream_line(stream, &line, &n, NULL) && n > 0) {
        ncu_table table;
        if (find_heading(&table, line, n)) {
            ncu_table_free(&table);
            sure = 95;
        }
        seen += n;
    }
    rp_stream_close(stream);
    return sure;
}

static int recognise(const char *path, const unsigned char *head, size_t length) {
    const char *text = (const char *)head;
    if (ncu_utf16_is(text, length)) {
        char *utf8 = ncu_utf16_convert(text, length, &length);
        int sure = utf8 ? recognise_text(utf8, length) : 0;
        free(utf8);
        return sure;
    }
    if (length >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0) {
        text += 3;
        length -= 3;
    }
    int sure = recognise_text(text, length);
    return sure > 0 || length < WHOLE_HEAD ? sure : recognise_later(path, text, length);
}

const rp_importer rp_importer_ncu_csv = {
    .name = "ncu-csv",
    .title = "Nsight Compute CSV",
    .recognise = recognise,
    .import = import_csv,
};
