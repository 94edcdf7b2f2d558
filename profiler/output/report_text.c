/* SPDX-License-Identifier: Apache-2.0
 *
 * The report for a terminal and as Markdown: the head, the kernels with the worst first, what there
 * is to say of them, the notes.
 */
#include "output/report.h"

#include "output/remarks.h"
#include "output/summary.h"
#include "support/text.h"
#include "support/units.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NAME_COLUMNS 600 /* of the full name above the evidence; JSON and CSV have all of it */

/* ---- Text ------------------------------------------------------------------------------------ */

/* TEXT in lines of at most WIDTH columns, broken at blanks, the further ones indented. */
static void wrap(FILE *file, const char *text, size_t indent, size_t width) {
    size_t room = width > indent + 20 ? width - indent : 20, used = 0;
    while (*text) {
        size_t length = strcspn(text, " ");
        char *word = strndup(text, length);
        size_t columns = word ? rp_text_columns(word) : length;
        if (used && used + 1 + columns > room) {
            fprintf(file, "\n%*s", (int)indent, "");
            used = 0;
        }
        fprintf(file, "%s%s", used ? " " : "", word ? word : "");
        used += columns + (used > 0);
        free(word);
        text += length;
        text += strspn(text, " ");
    }
    fputc('\n', file);
}

static void text_head(FILE *file, const rp_report *report, rp_style style) {
    rp_lines lines;
    rp_summary_lines(report, &lines);
    for (size_t i = 0; i < lines.count; i++) {
        rp_colour_start(file, style, RP_DIM);
        fprintf(file, "%-10s", lines.items[i].label);
        rp_colour_stop(file, style);
        fputc(' ', file);
        wrap(file, lines.items[i].text, 11, style.width);
    }
    rp_lines_free(&lines);
    fputc('\n', file);
}

static void left_out(FILE *file, const rp_report *report, size_t shown) {
    double time = 0;
    char buffer[40];
    for (size_t i = shown; i < report->kernel_count; i++)
        time += isnan(report->kernels[i].time_s) ? 0 : report->kernels[i].time_s;
    if (shown < report->kernel_count)
        fprintf(file, "… and %zu more %s, %s together (--top 0 shows all)\n",
                report->kernel_count - shown,
                rp_plural(report->kernel_count - shown, "kernel", "kernels"),
                rp_format_time(buffer, sizeof buffer, time));
}

static bool any_above(const rp_report *report, size_t shown) {
    for (size_t i = 0; i < shown; i++)
        if (report->kernels[i].above_roof)
            return true;
    return false;
}

static void text_remarks(FILE *file, const rp_report *report, size_t shown, rp_style style) {
    rp_remarks remarks;
    rp_remarks_make(report, shown, &remarks);
    if (remarks.count)
        fputc('\n', file);
    for (size_t i = 0; i < remarks.count; i++) {
        fprintf(file, "%s: ", remarks.items[i].kernels);
        wrap(file, remarks.items[i].text, 4, style.width - 4);
    }
    rp_remarks_free(&remarks);
}

static rp_colour severity_colour(const char *severity) {
    return strcmp(severity, "error") == 0     ? RP_RED
           : strcmp(severity, "warning") == 0 ? RP_YELLOW
                                              : RP_DIM;
}

static void text_notes(FILE *file, const rp_report *report, rp_style style) {
    if (report->note_count)
        fputc('\n', file);
    for (size_t i = 0; i < report->note_count; i++) {
        const rp_profile_note *note = &report->notes[i];
        const char *severity = strcmp(note->severity, "info") == 0 ? "note" : note->severity;
        char *text = rp_text_printable(note->text, strlen(note->text));
        rp_colour_start(file, style, severity_colour(note->severity));
        fprintf(file, "%s:", severity);
        rp_colour_stop(file, style);
        fputc(' ', file);
        wrap(file, text ? text : "", 4, style.width - 6);
        free(text);
    }
}

static size_t shown_kernels(const rp_report *report, const rp_print_options *options) {
    return options->top && options->top < report->kernel_count ? options->top
                                                               : report->kernel_count;
}

static void print_text(FILE *file, const rp_report *report, const rp_print_options *options) {
    rp_report_columns columns;
    size_t shown = shown_kernels(report, options);
    rp_table *table = rp_report_table(report, options->top, &columns);
    text_head(file, report, options->style);
    rp_table_print(table, file, RP_FORMAT_TEXT, options->style);
    rp_table_free(table);
    left_out(file, report, shown);
    if (any_above(report, shown))
        fputs("^ above the roof; see below\n", file);
    text_remarks(file, report, shown, options->style);
    text_notes(file, report, options->style);
}

/* ---- Markdown -------------------------------------------------------------------------------- */

static void md_line(FILE *file, const char *label, const char *text) {
    fputs("- ", file);
    if (*label) {
        fputs("**", file);
        rp_md_text(file, label);
        fputs("** ", file);
    }
    rp_md_text(file, text);
    fputc('\n', file);
}

static void print_md(FILE *file, const rp_report *report, const rp_print_options *options) {
    rp_report_columns columns;
    rp_lines lines;
    rp_remarks remarks;
    size_t shown = shown_kernels(report, options);
    rp_table *table = rp_report_table(report, options->top, &columns);
    fputs("# Roofline report\n\n", file);
    rp_summary_lines(report, &lines);
    for (size_t i = 0; i < lines.count; i++)
        md_line(file, lines.items[i].label, lines.items[i].text);
    rp_lines_free(&lines);
    fputc('\n', file);
    rp_table_print(table, file, RP_FORMAT_MD, options->style);
    rp_table_free(table);
    left_out(file, report, shown);
    rp_remarks_make(report, shown, &remarks);
    fputs(remarks.count ? "\n## Remarks\n\n" : "", file);
    for (size_t i = 0; i < remarks.count; i++)
        md_line(file, remarks.items[i].kernels, remarks.items[i].text);
    rp_remarks_free(&remarks);
    fputs(report->note_count ? "\n## Notes\n\n" : "", file);
    for (size_t i = 0; i < report->note_count; i++) {
        char *text = rp_text_printable(report->notes[i].text, strlen(report->notes[i].text));
        md_line(file, report->notes[i].severity, text ? text : "");
        free(text);
    }
}

/* ---- Every format ---------------------------------------------------------------------------- */

void rp_print_report(FILE *file, const rp_report *report, const rp_print_options *options) {
    rp_report_columns columns;
    rp_table *table;
    rp_json json;
    switch (options->format) {
    case RP_FORMAT_JSON:
        rp_json_start(&json, file);
        rp_report_json(&json, report, options->top, false);
        break;
    case RP_FORMAT_CSV:
        table = rp_report_table(report, options->top, &columns);
        rp_table_print(table, file, RP_FORMAT_CSV, options->style);
        rp_table_free(table);
        break;
    case RP_FORMAT_MD:
        print_md(file, report, options);
        break;
    case RP_FORMAT_HTML:
        rp_print_html(file, report, options);
        break;
    default:
        print_text(file, report, options);
    }
}

/* ---- Evidence -------------------------------------------------------------------------------- */

static void text_numbers(FILE *file, const rp_report_kernel *kernel) {
    char roof[40], lost[40], time[40];
    fprintf(file, "   %s", rp_format_time(time, sizeof time, kernel->time_s));
    fprintf(file, " in %llu launch%s", (unsigned long long)kernel->launches,
            kernel->launches == 1 ? "" : "es");
    if (!isnan(kernel->roof_fraction))
        fprintf(file, "; %s of the roof, %s above the roof's time",
                rp_format_percent(roof, sizeof roof, kernel->roof_fraction),
                rp_format_time(lost, sizeof lost, kernel->time_lost_s));
    fputc('\n', file);
}

static void text_intensity(FILE *file, const rp_report_kernel *kernel) {
    char intensity[40], ridge[40], rate[40], most[40];
    if (isnan(kernel->flops_per_s))
        return;
    fprintf(file, "   %s%s", kernel->flops_lower_bound ? "at least " : "",
            rp_format_si(rate, sizeof rate, kernel->flops_per_s, "FLOP/s"));
    if (!isnan(kernel->attainable_flops_per_s))
        fprintf(file, " of %s attainable",
                rp_format_si(most, sizeof most, kernel->attainable_flops_per_s, "FLOP/s"));
    if (!isnan(kernel->intensity[RP_DRAM]))
        fprintf(file, ", at %s FLOP/B",
                rp_format_number(intensity, sizeof intensity, kernel->intensity[RP_DRAM]));
    if (!isnan(kernel->ridge))
        fprintf(file, " (ridge %s)", rp_format_number(ridge, sizeof ridge, kernel->ridge));
    fputc('\n', file);
}

static void text_verdict(FILE *file, const rp_report *report, const rp_report_kernel *kernel) {
    char bound[64];
    char *name = rp_text_printable(kernel->name, strlen(kernel->name));
    char *fitted = name ? rp_text_fit(name, NAME_COLUMNS) : NULL;
    fprintf(file, "#%d %s\n", kernel->number, fitted ? fitted : "");
    free(name);
    free(fitted);
    fprintf(file, "   bound: %s; side: %s\n", rp_bound_text(kernel, bound),
            rp_side_name(kernel->side));
    if (kernel->reason[0])
        fprintf(file, "   %s\n", kernel->reason);
    text_numbers(file, kernel);
    text_intensity(file, kernel);
    if (kernel->above_roof)
        fprintf(file, "   above the roof: %s\n", kernel->above_reason);
    for (size_t i = 0; i < kernel->note_count; i++)
        fprintf(file, "   %s\n", kernel->notes[i]);
    const char *source = report->devices[kernel->device].source;
    char *printable = rp_text_printable(source, strlen(source));
    fprintf(file, "   GPU %zu: %s\n\n", kernel->device, printable ? printable : "");
    free(printable);
}

static void json_evidence(FILE *file, const rp_report *report, size_t top) {
    rp_json json;
    rp_json_start(&json, file);
    rp_report_json(&json, report, top, true);
}

static void csv_evidence(FILE *file, const rp_report *report, size_t shown) {
    rp_table *table = rp_evidence_table(report->kernels, shown);
    rp_table_print(table, file, RP_FORMAT_CSV, (rp_style){.width = 0});
    rp_table_free(table);
}

/* Was anything counted that a ceiling can be held against? */
static bool has_evidence(const rp_report_kernel *kernel) {
    for (size_t i = 0; i < kernel->evidence_count; i++)
        if (!isnan(kernel->evidence[i].time_s) || !isnan(kernel->evidence[i].work))
            return true;
    return false;
}

static const char no_evidence[] =
    "Nothing was counted that a ceiling could be held against. With counters, on an emulated "
    "device, or with what is known of its work (--work FILE), it can be judged.";

/* The ceilings of a kernel; one sentence where a table would hold dashes alone. */
static void print_ceilings(FILE *file, const rp_report_kernel *kernel,
                           const rp_print_options *options) {
    if (has_evidence(kernel)) {
        rp_table *table = rp_evidence_table(kernel, 1);
        rp_table_print(table, file, options->format, options->style);
        rp_table_free(table);
    } else if (options->format == RP_FORMAT_TEXT) {
        fputs("   ", file);
        wrap(file, no_evidence, 3, options->style.width);
    } else {
        fprintf(file, options->format == RP_FORMAT_HTML ? "<p>%s</p>\n" : "%s\n", no_evidence);
    }
}

void rp_print_evidence(FILE *file, const rp_report *report, const rp_print_options *options) {
    size_t shown = shown_kernels(report, options);
    if (options->format == RP_FORMAT_JSON) {
        json_evidence(file, report, options->top);
        return;
    }
    if (options->format == RP_FORMAT_CSV) {
        csv_evidence(file, report, shown);
        return;
    }
    if (options->format == RP_FORMAT_HTML)
        rp_html_start(file, report->source, "Evidence of the verdicts");
    for (size_t i = 0; i < shown; i++) {
        const rp_report_kernel *kernel = &report->kernels[i];
        char *name = rp_text_printable(kernel->short_name, strlen(kernel->short_name));
        if (options->format == RP_FORMAT_TEXT) {
            text_verdict(file, report, kernel);
        } else if (options->format == RP_FORMAT_MD) {
            fprintf(file, "## #%d ", kernel->number);
            rp_md_text(file, name ? name : "");
            fputs("\n\n", file);
        } else if (options->format == RP_FORMAT_HTML) {
            fprintf(file, "<h2>#%d ", kernel->number);
            rp_html_text(file, name ? name : "");
            fputs("</h2>\n", file);
        }
        free(name);
        print_ceilings(file, kernel, options);
        if (i + 1 < shown)
            fputc('\n', file);
    }
    if (options->format == RP_FORMAT_HTML)
        rp_html_end(file);
    if (options->format == RP_FORMAT_TEXT)
        text_notes(file, report, options->style);
}
