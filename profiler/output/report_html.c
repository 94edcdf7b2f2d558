/* SPDX-License-Identifier: Apache-2.0
 *
 * The report as one page that needs nothing else: no network, no files beside it. Every text from a
 * capture is escaped; the page's own script sorts the table and reads nothing but cells, and a
 * content policy forbids everything that the page does not bring along.
 */
#include "output/report.h"

#include "output/remarks.h"
#include "output/summary.h"
#include "support/text.h"
#include "support/units.h"
#include <stdlib.h>
#include <string.h>

static const char head[] =
    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; "
    "style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>";

static const char style[] =
    "</title>\n<style>\n"
    "body{font:15px/1.45 system-ui,sans-serif;margin:2em auto;max-width:1600px;padding:0 1em;"
    "color:#1a1a1a;background:#fff}\n"
    "h1{font-size:1.4em}h2{font-size:1.1em;margin-top:2em}\n"
    "dl{display:grid;grid-template-columns:max-content 1fr;gap:.2em 1em}dt{color:#666}dd{margin:0;"
    "overflow-wrap:anywhere}\n"
    "table{border-collapse:collapse;font-variant-numeric:tabular-nums;width:100%}\n"
    "th,td{padding:.25em .6em;border-bottom:1px solid #e3e3e3;text-align:left;vertical-align:top}\n"
    "th.r,td.r{text-align:right;white-space:nowrap}td.l{overflow-wrap:anywhere}\n"
    "th{position:sticky;top:0;background:#f6f6f6}table.sortable th{cursor:pointer}\n"
    "th[aria-sort=ascending]::after{content:\" \\25b4\"}"
    "th[aria-sort=descending]::after{content:\" \\25be\"}\n"
    "tr:hover td{background:#f4f8ff}\n"
    ".red{color:#b00020;font-weight:600}.blue{color:#0060a8}.green{color:#00704a}"
    ".yellow{color:#9a5b00}.cyan{color:#00707a}.dim{color:#666}\n"
    "svg{max-width:100%;height:auto}figure{margin:1em 0}\n"
    "</style>\n</head>\n<body>\n<h1>";

/* Sorts by data-value where a cell has one, by its text elsewhere; unknown values go last. */
static const char script[] =
    "<script>\n"
    "document.querySelectorAll('table.sortable').forEach(function(table){\n"
    "var heads=table.tHead.rows[0].cells,body=table.tBodies[0];\n"
    "Array.prototype.forEach.call(heads,function(head,column){head.tabIndex=0;\n"
    "function sort(){var up=head.getAttribute('aria-sort')==='descending';\n"
    "Array.prototype.forEach.call(heads,function(h){h.removeAttribute('aria-sort');});\n"
    "head.setAttribute('aria-sort',up?'ascending':'descending');\n"
    "function key(row){var c=row.cells[column],v=c.getAttribute('data-value');\n"
    "return v!==null?parseFloat(v):c.textContent==='-'?null:c.textContent;}\n"
    "Array.from(body.rows).sort(function(a,b){var x=key(a),y=key(b);\n"
    "if(x===null||y===null)return (x===null)-(y===null);\n"
    "var d=typeof x==='number'&&typeof y==='number'?x-y:String(x).localeCompare(String(y));\n"
    "return up?d:-d;}).forEach(function(row){body.appendChild(row);});}\n"
    "head.addEventListener('click',sort);\n"
    "head.addEventListener('keydown',function(e){if(e.key==='Enter')sort();});});});\n"
    "</script>\n";

static void printable(FILE *file, const char *text) {
    char *clean = rp_text_printable(text, strlen(text));
    rp_html_text(file, clean ? clean : "");
    free(clean);
}

static void pair(FILE *file, const char *label, const char *text) {
    fputs("<dt>", file);
    rp_html_text(file, label);
    fputs("</dt><dd>", file);
    rp_html_text(file, text);
    fputs("</dd>\n", file);
}

static void summary(FILE *file, const rp_report *report) {
    rp_lines lines;
    rp_summary_lines(report, &lines);
    fputs("<dl>\n", file);
    for (size_t i = 0; i < lines.count; i++)
        pair(file, lines.items[i].label, lines.items[i].text);
    fputs("</dl>\n", file);
    rp_lines_free(&lines);
}

static void picture(FILE *file, const rp_print_options *options) {
    if (options->svg) {
        /* an XML declaration or a document type has no place inside a page */
        const char *element = strstr(options->svg, "<svg");
        fprintf(file, "<figure>\n%s</figure>\n", element ? element : "");
    } else if (options->svg_missing) {
        fputs("<p class=\"dim\">", file);
        printable(file, options->svg_missing);
        fputs("</p>\n", file);
    }
}

static void kernels(FILE *file, const rp_report *report, const rp_print_options *options) {
    rp_report_columns columns;
    rp_table *table = rp_report_table(report, options->top, &columns);
    fputs("<h2>Kernels</h2>\n", file);
    rp_table_print(table, file, RP_FORMAT_HTML, options->style);
    if (rp_table_rows(table) < report->kernel_count)
        fprintf(file, "<p class=\"dim\">%zu more kernels are not shown</p>\n",
                report->kernel_count - rp_table_rows(table));
    rp_table_free(table);
}

static void remarks(FILE *file, const rp_report *report, size_t shown) {
    rp_remarks list;
    rp_remarks_make(report, shown, &list);
    if (list.count) {
        fputs("<h2>Remarks</h2>\n<dl>\n", file);
        for (size_t i = 0; i < list.count; i++)
            pair(file, list.items[i].kernels, list.items[i].text);
        fputs("</dl>\n", file);
    }
    rp_remarks_free(&list);
}

static void ceilings(FILE *file, const rp_report_device *device) {
    static const rp_column columns[] = {{"ceiling", "ceiling", RP_LEFT, 0, 0},
                                        {"rate_per_s", "rate", RP_RIGHT, 0, 0},
                                        {"provenance", "known", RP_LEFT, 0, 0},
                                        {"source", "source", RP_LEFT, RP_FLEXIBLE, 0}};
    rp_table *table = rp_table_create(columns, 4);
    for (size_t i = 0; i < device->ceiling_count; i++) {
        const rp_ceiling *ceiling = &device->ceilings[i];
        char key[48], rate[40];
        rp_ceiling_key(ceiling, key, sizeof key);
        rp_format_si(rate, sizeof rate, ceiling->rate, rp_ceiling_unit(ceiling));
        rp_table_row(table);
        rp_table_text(table, key);
        rp_table_number(table, ceiling->rate, rate);
        rp_table_text(table, rp_provenance_name(ceiling->provenance));
        rp_table_text(table, ceiling->source);
    }
    fputs("<h2>Ceilings of ", file);
    printable(file, device->name[0] ? device->name : "the device");
    fputs("</h2>\n", file);
    rp_table_print(table, file, RP_FORMAT_HTML, (rp_style){.width = 120});
    rp_table_free(table);
}

static void notes(FILE *file, const rp_report *report) {
    if (report->note_count == 0)
        return;
    fputs("<h2>Notes</h2>\n<ul>\n", file);
    for (size_t i = 0; i < report->note_count; i++) {
        fputs("<li>", file);
        printable(file, report->notes[i].text);
        fputs("</li>\n", file);
    }
    fputs("</ul>\n", file);
}

void rp_html_start(FILE *file, const char *title, const char *heading) {
    fputs(head, file);
    printable(file, title);
    fputs(style, file);
    printable(file, heading);
    fputs("</h1>\n", file);
}

void rp_html_end(FILE *file) {
    fputs(script, file);
    fputs("</body>\n</html>\n", file);
}

void rp_print_html(FILE *file, const rp_report *report, const rp_print_options *options) {
    size_t shown =
        options->top && options->top < report->kernel_count ? options->top : report->kernel_count;
    rp_html_start(file, report->source, "Roofline report");
    summary(file, report);
    picture(file, options);
    kernels(file, report, options);
    remarks(file, report, shown);
    for (size_t d = 0; d < report->device_count; d++)
        ceilings(file, &report->devices[d]);
    notes(file, report);
    rp_html_end(file);
}
