/* SPDX-License-Identifier: Apache-2.0
 *
 * The table model and its five formats; see table.h.
 */
#include "output/table.h"

#include "support/error.h"
#include "support/text.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

typedef enum cell_kind { CELL_EMPTY, CELL_TEXT, CELL_NUMBER, CELL_COUNT } cell_kind;

typedef struct cell {
    cell_kind kind;
    char *shown; /* printable */
    char *value; /* CELL_TEXT: as given */
    double number;
    uint64_t count;
    rp_colour colour;
} cell;

struct rp_table {
    const rp_column *columns;
    size_t column_count;
    cell *cells; /* rows x columns */
    size_t rows, room;
    size_t next; /* column that the next cell fills */
};

static const char *const format_names[RP_FORMATS] = {"text", "json", "csv", "md", "html"};

const char *rp_format_name(rp_format format) {
    return format_names[format];
}

bool rp_format_find(const char *name, rp_format *format) {
    for (int i = 0; i < RP_FORMATS; i++) {
        if (strcmp(name, format_names[i]) == 0) {
            *format = (rp_format)i;
            return true;
        }
    }
    return false;
}

static size_t clamp_width(long width) {
    return width < 80 ? 80 : width > 200 ? 200 : (size_t)width;
}

rp_style rp_style_of(FILE *file) {
    rp_style style = {.width = 120, .colour = false};
    int fd = fileno(file);
    bool terminal = fd >= 0 && isatty(fd);
    struct winsize size;
    const char *columns = getenv("COLUMNS"), *no_color = getenv("NO_COLOR");
    const char *term = getenv("TERM");
    if (columns && atol(columns) > 0)
        style.width = clamp_width(atol(columns));
    else if (terminal && ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        style.width = clamp_width(size.ws_col);
    style.colour = terminal && !(no_color && *no_color) && !(term && strcmp(term, "dumb") == 0);
    return style;
}

/* ---- Filling --------------------------------------------------------------------------------- */

static void *must(void *pointer) {
    if (!pointer) {
        fputs("roofprof: out of memory while a table was made\n", stderr);
        exit(RP_INTERNAL);
    }
    return pointer;
}

static char *printable(const char *text) {
    return must(rp_text_printable(text, strlen(text)));
}

rp_table *rp_table_create(const rp_column *columns, size_t n) {
    rp_table *table = must(calloc(1, sizeof *table));
    table->columns = columns;
    table->column_count = n;
    return table;
}

void rp_table_free(rp_table *table) {
    if (!table)
        return;
    for (size_t i = 0; i < table->rows * table->column_count; i++) {
        free(table->cells[i].shown);
        free(table->cells[i].value);
    }
    free(table->cells);
    free(table);
}

void rp_table_row(rp_table *table) {
    if (table->rows == table->room) {
        table->room = table->room ? table->room * 2 : 16;
        table->cells =
            must(realloc(table->cells, table->room * table->column_count * sizeof(cell)));
    }
    memset(table->cells + table->rows * table->column_count, 0, table->column_count * sizeof(cell));
    table->rows++;
    table->next = 0;
}

/* The cell to fill, or NULL when the row is full (a caller's mistake that must not write outside).
 */
static cell *next_cell(rp_table *table, cell_kind kind) {
    if (table->rows == 0 || table->next == table->column_count)
        return NULL;
    cell *c = table->cells + (table->rows - 1) * table->column_count + table->next++;
    c->kind = kind;
    return c;
}

void rp_table_text_as(rp_table *table, const char *value, const char *text) {
    cell *c = next_cell(table, CELL_TEXT);
    if (!c)
        return;
    c->value = value ? must(strdup(value)) : NULL;
    c->shown = printable(text ? text : "-");
}

void rp_table_text(rp_table *table, const char *text) {
    rp_table_text_as(table, text, text);
}

void rp_table_number(rp_table *table, double value, const char *text) {
    cell *c = next_cell(table, CELL_NUMBER);
    if (!c)
        return;
    c->number = value;
    c->shown = printable(isnan(value) ? "-" : text);
}

void rp_table_count(rp_table *table, uint64_t value) {
    cell *c = next_cell(table, CELL_COUNT);
    char buffer[RP_SHORTEST];
    if (!c)
        return;
    c->count = value;
    snprintf(buffer, sizeof buffer, "%llu", (unsigned long long)value);
    c->shown = must(strdup(buffer));
}

void rp_table_colour(rp_table *table, rp_colour colour) {
    if (table->rows && table->next)
        table->cells[(table->rows - 1) * table->column_count + table->next - 1].colour = colour;
}

size_t rp_table_rows(const rp_table *table) {
    return table->rows;
}

static const cell *at(const rp_table *table, size_t row, size_t column) {
    return table->cells + row * table->column_count + column;
}

static const char *shown(const cell *c) {
    return c->shown ? c->shown : "";
}

/* ---- Text ------------------------------------------------------------------------------------ */

void rp_colour_start(FILE *file, rp_style style, rp_colour colour) {
    static const char *const codes[] = {"0", "1", "2", "31", "32", "33", "34", "35", "36"};
    if (style.colour && colour != RP_PLAIN)
        fprintf(file, "\033[%sm", codes[colour]);
}

void rp_colour_stop(FILE *file, rp_style style) {
    if (style.colour)
        fputs("\033[0m", file);
}

static size_t *natural_widths(const rp_table *table) {
    size_t *widths = must(calloc(table->column_count + 1, sizeof *widths));
    for (size_t c = 0; c < table->column_count; c++) {
        if (table->columns[c].flags & RP_DATA_ONLY)
            continue; /* width 0: not printed */
        widths[c] = rp_text_columns(table->columns[c].title);
        for (size_t r = 0; r < table->rows; r++) {
            size_t width = rp_text_columns(shown(at(table, r, c)));
            if (width > widths[c])
                widths[c] = width;
        }
        if (widths[c] == 0)
            widths[c] = 1;
    }
    return widths;
}

static size_t total_width(const rp_table *table, const size_t *widths) {
    size_t total = 0;
    for (size_t c = 0; c < table->column_count; c++)
        total += widths[c] ? widths[c] + 2 : 0;
    return total ? total - 2 : 0;
}

/* Makes the widest flexible column narrower until the table fits or none may shrink further. */
static void shrink(const rp_table *table, size_t *widths, size_t limit, size_t least) {
    for (size_t total = total_width(table, widths); total > limit; total--) {
        size_t widest = table->column_count;
        for (size_t c = 0; c < table->column_count; c++)
            if ((table->columns[c].flags & RP_FLEXIBLE) && widths[c] > least &&
                (widest == table->column_count || widths[c] > widths[widest]))
                widest = c;
        if (widest == table->column_count)
            return;
        widths[widest]--;
    }
}

/* Flexible columns first give way down to a readable width, then columns are dropped, then flexible
 * columns shrink to almost nothing. */
static void fit(const rp_table *table, size_t *widths, size_t limit) {
    shrink(table, widths, limit, 24);
    while (total_width(table, widths) > limit) {
        size_t victim = table->column_count;
        for (size_t c = 0; c < table->column_count; c++)
            if (widths[c] && table->columns[c].drop > 0 &&
                (victim == table->column_count ||
                 table->columns[c].drop > table->columns[victim].drop))
                victim = c;
        if (victim == table->column_count)
            break;
        widths[victim] = 0;
    }
    shrink(table, widths, limit, 6);
}

static void print_cell(FILE *file, const char *text, size_t width, rp_align align, bool last,
                       rp_style style, rp_colour colour) {
    char *fitted = must(rp_text_fit(text, width));
    size_t padding = width - rp_text_columns(fitted);
    if (align == RP_RIGHT)
        fprintf(file, "%*s", (int)padding, "");
    rp_colour_start(file, style, colour);
    fputs(fitted, file);
    if (colour != RP_PLAIN)
        rp_colour_stop(file, style);
    if (!last)
        fprintf(file, "%*s", (int)((align == RP_LEFT ? padding : 0) + 2), "");
    free(fitted);
}

static void print_text(const rp_table *table, FILE *file, rp_style style) {
    size_t *widths = natural_widths(table), last = 0;
    bool dropped = false;
    fit(table, widths, style.width);
    for (size_t c = 0; c < table->column_count; c++)
        last = widths[c] ? c : last;
    for (size_t c = 0; c < table->column_count; c++)
        if (widths[c])
            print_cell(file, table->columns[c].title, widths[c], table->columns[c].align, c == last,
                       style, RP_DIM);
    fputc('\n', file);
    for (size_t r = 0; r < table->rows; r++) {
        for (size_t c = 0; c < table->column_count; c++)
            if (widths[c])
                print_cell(file, shown(at(table, r, c)), widths[c], table->columns[c].align,
                           c == last, style, at(table, r, c)->colour);
        fputc('\n', file);
    }
    for (size_t c = 0; c < table->column_count; c++) {
        if (widths[c] || (table->columns[c].flags & RP_DATA_ONLY))
            continue;
        fprintf(file, "%s%s",
                dropped ? ", " : "(not shown for want of width: ", table->columns[c].title);
        dropped = true;
    }
    if (dropped)
        fputs(")\n", file);
    free(widths);
}

/* ---- CSV, Markdown, HTML, JSON --------------------------------------------------------------- */

void rp_csv_text(FILE *file, const char *text) {
    bool quote = strpbrk(text, ",\"\r\n") != NULL || *text == ' ';
    bool formula = *text && strchr("=+-@\t\r", *text);
    if (quote)
        fputc('"', file);
    if (formula)
        fputc('\'', file);
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', file);
        fputc(*text, file);
    }
    if (quote)
        fputc('"', file);
}

static void print_csv(const rp_table *table, FILE *file) {
    char buffer[RP_SHORTEST];
    for (size_t c = 0; c < table->column_count; c++) {
        fputs(c ? "," : "", file);
        rp_csv_text(file, table->columns[c].key);
    }
    fputc('\n', file);
    for (size_t r = 0; r < table->rows; r++) {
        for (size_t c = 0; c < table->column_count; c++) {
            const cell *it = at(table, r, c);
            fputs(c ? "," : "", file);
            if (it->kind == CELL_TEXT && it->value) {
                char *text = printable(it->value);
                rp_csv_text(file, text);
                free(text);
            } else if (it->kind == CELL_NUMBER && isfinite(it->number))
                fputs(rp_shortest(it->number, buffer), file);
            else if (it->kind == CELL_COUNT)
                fputs(it->shown, file);
        }
        fputc('\n', file);
    }
}

/* Markup of Markdown is escaped by a backslash, markup of HTML by entities: renderers that let HTML
 * through see none. */
void rp_md_text(FILE *file, const char *text) {
    for (; *text; text++) {
        if (*text == '<')
            fputs("&lt;", file);
        else if (*text == '>')
            fputs("&gt;", file);
        else if (*text == '&')
            fputs("&amp;", file);
        else {
            if (strchr("\\`*_{}[]#|~$!", *text))
                fputc('\\', file);
            fputc(*text == '\n' || *text == '\r' ? ' ' : *text, file);
        }
    }
}

static void print_md(const rp_table *table, FILE *file) {
    for (size_t c = 0; c < table->column_count; c++) {
        if (table->columns[c].flags & RP_DATA_ONLY)
            continue;
        fputs("| ", file);
        rp_md_text(file, table->columns[c].title);
        fputc(' ', file);
    }
    fputs("|\n", file);
    for (size_t c = 0; c < table->column_count; c++)
        if (!(table->columns[c].flags & RP_DATA_ONLY))
            fputs(table->columns[c].align == RP_RIGHT ? "|---:" : "|:---", file);
    fputs("|\n", file);
    for (size_t r = 0; r < table->rows; r++) {
        for (size_t c = 0; c < table->column_count; c++) {
            if (table->columns[c].flags & RP_DATA_ONLY)
                continue;
            fputs("| ", file);
            rp_md_text(file, shown(at(table, r, c)));
            fputc(' ', file);
        }
        fputs("|\n", file);
    }
}

void rp_html_text(FILE *file, const char *text) {
    for (; *text; text++) {
        switch (*text) {
        case '<':
            fputs("&lt;", file);
            break;
        case '>':
            fputs("&gt;", file);
            break;
        case '&':
            fputs("&amp;", file);
            break;
        case '"':
            fputs("&quot;", file);
            break;
        case '\'':
            fputs("&#39;", file);
            break;
        default:
            fputc(*text, file);
        }
    }
}

static void print_html_cell(FILE *file, const cell *it, rp_align align) {
    static const char *const classes[] = {"",       "bold", "dim",     "red", "green",
                                          "yellow", "blue", "magenta", "cyan"};
    char buffer[RP_SHORTEST];
    fprintf(file, "<td class=\"%s %s\"", align == RP_RIGHT ? "r" : "l", classes[it->colour]);
    /* what the page sorts by, and the whole text where a short one is shown */
    if (it->kind == CELL_NUMBER && isfinite(it->number))
        fprintf(file, " data-value=\"%s\"", rp_shortest(it->number, buffer));
    else if (it->kind == CELL_COUNT)
        fprintf(file, " data-value=\"%s\"", it->shown);
    else if (it->kind == CELL_TEXT && it->value && strcmp(it->value, it->shown) != 0) {
        char *full = printable(it->value);
        fputs(" title=\"", file);
        rp_html_text(file, full);
        fputs("\"", file);
        free(full);
    }
    fputc('>', file);
    rp_html_text(file, shown(it));
    fputs("</td>", file);
}

static void print_html(const rp_table *table, FILE *file) {
    fputs("<table class=\"sortable\">\n<thead><tr>", file);
    for (size_t c = 0; c < table->column_count; c++) {
        if (table->columns[c].flags & RP_DATA_ONLY)
            continue;
        fprintf(file, "<th class=\"%s\" scope=\"col\">",
                table->columns[c].align == RP_RIGHT ? "r" : "l");
        rp_html_text(file, table->columns[c].title);
        fputs("</th>", file);
    }
    fputs("</tr></thead>\n<tbody>\n", file);
    for (size_t r = 0; r < table->rows; r++) {
        fputs("<tr>", file);
        for (size_t c = 0; c < table->column_count; c++)
            if (!(table->columns[c].flags & RP_DATA_ONLY))
                print_html_cell(file, at(table, r, c), table->columns[c].align);
        fputs("</tr>\n", file);
    }
    fputs("</tbody>\n</table>\n", file);
}

void rp_table_json(const rp_table *table, rp_json *json, const char *key) {
    rp_json_array(json, key);
    for (size_t r = 0; r < table->rows; r++) {
        rp_json_object(json, NULL);
        for (size_t c = 0; c < table->column_count; c++) {
            const cell *it = at(table, r, c);
            const char *name = table->columns[c].key;
            if (it->kind == CELL_TEXT)
                rp_json_string(json, name, it->value);
            else if (it->kind == CELL_COUNT)
                rp_json_count(json, name, it->count);
            else
                rp_json_number(json, name, it->kind == CELL_NUMBER ? it->number : NAN);
        }
        rp_json_close(json);
    }
    rp_json_close(json);
}

void rp_table_print(const rp_table *table, FILE *file, rp_format format, rp_style style) {
    rp_json json;
    switch (format) {
    case RP_FORMAT_CSV:
        print_csv(table, file);
        break;
    case RP_FORMAT_MD:
        print_md(table, file);
        break;
    case RP_FORMAT_HTML:
        print_html(table, file);
        break;
    case RP_FORMAT_JSON:
        rp_json_start(&json, file);
        rp_table_json(table, &json, NULL);
        break;
    default:
        print_text(table, file, style);
    }
}
