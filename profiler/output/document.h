/* SPDX-License-Identifier: Apache-2.0
 *
 * A short document of headings, paragraphs and tables, in text, Markdown or HTML (one page that
 * needs nothing else). Commands whose reports are a few tables print through it. JSON and CSV have
 * forms of their own: in those formats headings and paragraphs print nothing, and a CSV holds the
 * tables that the caller marks as data, so that a program reads one table a file.
 *
 *     rp_document d = rp_document_start(stdout, RP_FORMAT_MD, "A100 and H100");
 *     rp_document_heading(&d, "Ridge points");
 *     rp_document_table(&d, table);
 *     rp_document_note(&d, "Dense peaks.");
 *     rp_document_end(&d);
 */
#ifndef RP_OUTPUT_DOCUMENT_H
#define RP_OUTPUT_DOCUMENT_H

#include "output/table.h"

typedef struct rp_document {
    FILE *file;
    rp_format format;
    rp_style style;
    bool begun; /* something is above: a blank line is due */
} rp_document;

/* TITLE is the page's title and first heading; text prints it in bold. */
rp_document rp_document_start(FILE *file, rp_format format, const char *title);
void rp_document_end(rp_document *document);

void rp_document_heading(rp_document *document, const char *text);
void rp_document_table(rp_document *document, const rp_table *table);
/* A paragraph, wrapped to the terminal in text. Any bytes. */
void rp_document_note(rp_document *document, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The same as an item of a list. */
void rp_document_item(rp_document *document, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
