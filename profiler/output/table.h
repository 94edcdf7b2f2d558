/* SPDX-License-Identifier: Apache-2.0
 *
 * One model of a table, printed in every format: aligned text that fits the terminal, CSV
 * (RFC 4180), Markdown, an HTML element, or a JSON array of objects. A cell holds what a person
 * reads ("12.3 us") and what a program reads (1.23e-05); text, Markdown and HTML show the first,
 * CSV and JSON the second, in SI base units that the column's key names ("time_s").
 *
 *     static const rp_column columns[] = {{"name", "kernel", RP_LEFT, RP_FLEXIBLE, 0},
 *                                         {"time_s", "time", RP_RIGHT, 0, 0}};
 *     rp_table *table = rp_table_create(columns, 2);
 *     rp_table_row(table);
 *     rp_table_text(table, name);
 *     rp_table_number(table, seconds, rp_text_time(seconds, buffer));
 *     rp_table_print(table, stdout, RP_FORMAT_TEXT, rp_style_of(stdout));
 *     rp_table_free(table);
 *
 * Memory that runs out ends the program with a message: a table is small and made at the very end.
 */
#ifndef RP_OUTPUT_TABLE_H
#define RP_OUTPUT_TABLE_H

#include "output/json.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef enum rp_format {
    RP_FORMAT_TEXT,
    RP_FORMAT_JSON,
    RP_FORMAT_CSV,
    RP_FORMAT_MD,
    RP_FORMAT_HTML,
    RP_FORMATS
} rp_format;
const char *rp_format_name(rp_format format);
bool rp_format_find(const char *name, rp_format *format);

/* How text is shown. */
typedef struct rp_style {
    size_t width; /* columns of the terminal, 80 to 200 */
    bool colour;  /* a terminal, and NO_COLOR is not set */
} rp_style;
/* Of the terminal behind FILE; $COLUMNS if it is set, 120 columns without colour in a pipe. */
rp_style rp_style_of(FILE *file);

typedef enum rp_align { RP_LEFT, RP_RIGHT } rp_align;
typedef enum rp_colour {
    RP_PLAIN,
    RP_BOLD,
    RP_DIM,
    RP_RED,
    RP_GREEN,
    RP_YELLOW,
    RP_BLUE,
    RP_MAGENTA,
    RP_CYAN
} rp_colour;

enum {
    RP_FLEXIBLE = 1, /* text: shortened when the table is wider than the terminal */
    RP_DATA_ONLY = 2
}; /* CSV and JSON alone */

typedef struct rp_column {
    const char *key;   /* of CSV and JSON: "time_s" */
    const char *title; /* of text, Markdown, HTML: "time" */
    rp_align align;
    unsigned flags;
    int drop; /* text: > 0: left out on narrow terminals, the highest first */
} rp_column;

typedef struct rp_table rp_table;

/* COLUMNS must live as long as the table. */
rp_table *rp_table_create(const rp_column *columns, size_t n);
void rp_table_free(rp_table *table);

void rp_table_row(rp_table *table); /* the cells below fill it from the left; the rest is empty */
void rp_table_text(rp_table *table, const char *text); /* any bytes; NULL: unknown ("-") */
/* TEXT is what is shown, VALUE what is meant, when they differ (a short name and the full one). */
void rp_table_text_as(rp_table *table, const char *value, const char *text);
void rp_table_number(rp_table *table, double value, const char *text); /* NaN: unknown */
void rp_table_count(rp_table *table, uint64_t value);
void rp_table_colour(rp_table *table, rp_colour colour); /* of the last cell, in text and HTML */

size_t rp_table_rows(const rp_table *table);

/* Prints the table. RP_FORMAT_JSON writes a document that is the array alone; to put it into a
 * larger one use rp_table_json. Columns dropped from text for want of width are named below it. */
void rp_table_print(const rp_table *table, FILE *file, rp_format format, rp_style style);
void rp_table_json(const rp_table *table, rp_json *json, const char *key);

/* One value into CSV, Markdown or HTML, escaped for it. CSV: quoted where needed; text that a
 * spreadsheet would run as a formula (= + - @ first) gets an apostrophe before it. */
void rp_csv_text(FILE *file, const char *text);
void rp_md_text(FILE *file, const char *text);
void rp_html_text(FILE *file, const char *text);

/* Colour on FILE; nothing is written unless STYLE has colour. */
void rp_colour_start(FILE *file, rp_style style, rp_colour colour);
void rp_colour_stop(FILE *file, rp_style style);

#endif
