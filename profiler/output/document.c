/* SPDX-License-Identifier: Apache-2.0
 *
 * Short documents of headings, paragraphs and tables; see document.h.
 */
#include "output/document.h"

#include "support/text.h"
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static const char page_style[] =
    "body{font:15px/1.5 system-ui,sans-serif;color:#222;max-width:72rem;margin:2rem auto;"
    "padding:0 1rem}h1{font-size:1.5rem}h2{font-size:1.15rem;margin-top:2rem}"
    "table{border-collapse:collapse;font-variant-numeric:tabular-nums}"
    "th,td{padding:.25rem .7rem;border-bottom:1px solid #ddd}th{border-bottom:2px solid #999}"
    ".l{text-align:left}.r{text-align:right}.bold{font-weight:bold}.dim{color:#777}"
    ".red{color:#b00020}.green{color:#00703c}.yellow{color:#8a6100}.blue{color:#0050a0}";

static char *printable(const char *text) {
    char *clean = rp_text_printable(text, strlen(text));
    return clean ? clean : strdup("");
}

rp_document rp_document_start(FILE *file, rp_format format, const char *title) {
    rp_document d = {.file = file, .format = format, .style = rp_style_of(file)};
    char *clean = printable(title);

    if (format == RP_FORMAT_HTML) {
        fputs("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n<title>", file);
        rp_html_text(file, clean);
        fprintf(file, "</title>\n<style>%s</style></head>\n<body>\n<h1>", page_style);
        rp_html_text(file, clean);
        fputs("</h1>\n", file);
    } else if (format == RP_FORMAT_MD) {
        fputs("# ", file);
        rp_md_text(file, clean);
        fputs("\n", file);
        d.begun = true;
    } else if (format == RP_FORMAT_TEXT) {
        rp_colour_start(file, d.style, RP_BOLD);
        fputs(clean, file);
        rp_colour_stop(file, d.style);
        fputs("\n", file);
        d.begun = true;
    }
    free(clean);
    return d;
}

void rp_document_end(rp_document *document) {
    if (document->format == RP_FORMAT_HTML)
        fputs("</body></html>\n", document->file);
}

static bool has_prose(const rp_document *d) {
    return d->format == RP_FORMAT_TEXT || d->format == RP_FORMAT_MD || d->format == RP_FORMAT_HTML;
}

/* The blank line between two blocks. */
static void space(rp_document *d) {
    if (d->begun && d->format != RP_FORMAT_HTML)
        fputc('\n', d->file);
    d->begun = true;
}

void rp_document_heading(rp_document *document, const char *text) {
    if (!has_prose(document))
        return;
    char *clean = printable(text);
    space(document);
    switch (document->format) {
    case RP_FORMAT_HTML:
        fputs("<h2>", document->file);
        rp_html_text(document->file, clean);
        fputs("</h2>\n", document->file);
        break;
    case RP_FORMAT_MD:
        fputs("## ", document->file);
        rp_md_text(document->file, clean);
        fputs("\n\n", document->file);
        break;
    default:
        rp_colour_start(document->file, document->style, RP_BOLD);
        fputs(clean, document->file);
        rp_colour_stop(document->file, document->style);
        fputc('\n', document->file);
    }
    document->begun = false; /* what follows belongs to it */
    free(clean);
}

void rp_document_table(rp_document *document, const rp_table *table) {
    if (has_prose(document))
        space(document);
    rp_table_print(table, document->file, document->format, document->style);
}

/* Words of TEXT in lines of at most WIDTH columns, the lines after the first indented. */
static void print_wrapped(FILE *file, char *text, size_t width, size_t indent) {
    size_t used = 0;
    char *save = NULL;

    for (char *word = strtok_r(text, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
        size_t columns = rp_text_columns(word);
        if (used && used + 1 + columns > width) {
            fprintf(file, "\n%*s", (int)indent, "");
            used = indent;
            fputs(word, file);
        } else {
            fprintf(file, "%s%s", used ? " " : "", word);
            used += used ? 1 : 0;
        }
        used += columns;
    }
    fputc('\n', file);
}

static size_t text_width(const rp_document *d) {
    return d->style.width < 100 ? d->style.width : 100;
}

static char *compose(const char *format, va_list arguments) {
    char *text = NULL, *clean;
    if (vasprintf(&text, format, arguments) < 0)
        return NULL;
    clean = printable(text);
    free(text);
    return clean;
}

void rp_document_note(rp_document *document, const char *format, ...) {
    va_list arguments;
    char *text;

    if (!has_prose(document))
        return;
    va_start(arguments, format);
    text = compose(format, arguments);
    va_end(arguments);
    if (!text)
        return;
    space(document);
    if (document->format == RP_FORMAT_HTML) {
        fputs("<p>", document->file);
        rp_html_text(document->file, text);
        fputs("</p>\n", document->file);
    } else if (document->format == RP_FORMAT_MD) {
        rp_md_text(document->file, text);
        fputc('\n', document->file);
    } else {
        print_wrapped(document->file, text, text_width(document), 0);
    }
    free(text);
}

void rp_document_item(rp_document *document, const char *format, ...) {
    va_list arguments;
    char *text;

    if (!has_prose(document))
        return;
    va_start(arguments, format);
    text = compose(format, arguments);
    va_end(arguments);
    if (!text)
        return;
    if (document->format == RP_FORMAT_HTML) {
        fputs("<li>", document->file);
        rp_html_text(document->file, text);
        fputs("</li>\n", document->file);
    } else {
        fputs("- ", document->file);
        if (document->format == RP_FORMAT_MD) {
            rp_md_text(document->file, text);
            fputc('\n', document->file);
        } else {
            print_wrapped(document->file, text, text_width(document) - 2, 2);
        }
    }
    document->begun = true;
    free(text);
}
