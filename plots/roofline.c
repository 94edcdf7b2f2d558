/* SPDX-License-Identifier: Apache-2.0
 *
 * A roofline by gnuplot: writes the layout as data files and settings, runs roofline.gp.
 */
#include "plots/gnuplot.h"
#include "plots/layout.h"
#include "plots/svg.h"
#include "support/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { POINT_FULL = 7, POINT_HOLLOW = 6, INK = 0x2b2b2b, FAINT = 0x8a8a8a, WHITE = 0xffffff };

rp_code rp_plot_format_of(const char *path, rp_plot_format *format, rp_error *error) {
    static const struct {
        const char *ending;
        rp_plot_format format;
    } known[] = {{".png", RP_PLOT_PNG},
                 {".svg", RP_PLOT_SVG},
                 {".pdf", RP_PLOT_PDF},
                 {".txt", RP_PLOT_ASCII}};
    size_t length = strlen(path);
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (length > 4 && !strcasecmp(path + length - 4, known[i].ending)) {
            *format = known[i].format;
            return RP_OK;
        }
    return rp_fail(error, RP_USAGE,
                   "%s: the ending says no picture format; use .png, .svg, .pdf or .txt", path);
}

/* ---- Data files ------------------------------------------------------------------------------ */

typedef void (*writer)(FILE *file, const rp_plot_layout *l, const void *context);

static void write_segments(FILE *f, const rp_plot_layout *l, bool used) {
    fputs("intensity\tflops_per_s\n", f);
    for (size_t i = 0; i < l->roof_count; i++) {
        const rp_plot_roof *r = &l->roofs[i];
        if (r->used == used && !isnan(r->x0))
            fprintf(f, "%.9g\t%.9g\n%.9g\t%.9g\n\n", r->x0, r->y0, r->x1, r->y1);
        if (!used && !isnan(r->beyond_x) && !isnan(r->x0))
            fprintf(f, "%.9g\t%.9g\n%.9g\t%.9g\n\n", r->x1, r->y1, r->beyond_x, r->beyond_y);
    }
}

static void write_used(FILE *f, const rp_plot_layout *l, const void *context) {
    (void)context;
    write_segments(f, l, true);
}

static void write_other(FILE *f, const rp_plot_layout *l, const void *context) {
    (void)context;
    write_segments(f, l, false);
}

static void write_labels(FILE *f, const rp_plot_layout *l, bool compute) {
    fputs("intensity\tflops_per_s\tlabel\tangle\tcolor\n", f);
    for (size_t i = 0; i < l->roof_count; i++) {
        const rp_plot_roof *r = &l->roofs[i];
        if (r->compute != compute || !r->label_fits || isnan(r->x0))
            continue;
        fprintf(f, "%.9g\t%.9g\t", r->label_x, r->label_y);
        rp_gnuplot_text(f, r->label);
        fprintf(f, "\t%.3f\t%d\n", r->label_angle, r->used ? INK : FAINT);
    }
}

static void write_flat_labels(FILE *f, const rp_plot_layout *l, const void *context) {
    (void)context;
    write_labels(f, l, true);
}

static void write_slanted_labels(FILE *f, const rp_plot_layout *l, const void *context) {
    (void)context;
    write_labels(f, l, false);
}

/* The area under the DRAM roof and the highest compute roof in use, left or right of their ridge.
 */
static void write_tint(FILE *f, const rp_plot_layout *l, bool memory) {
    fputs("intensity\tflops_per_s\n", f);
    double ridge = l->ridge_x, slope = l->ridge_y / l->ridge_x;
    if (isnan(ridge) || ridge <= l->x.min || ridge >= l->x.max)
        return;
    if (memory) {
        double x0 = fmax(l->x.min, l->y.min / slope);
        fprintf(f, "%.9g\t%.9g\n%.9g\t%.9g\n%.9g\t%.9g\n%.9g\t%.9g\n", x0, l->y.min, x0,
                fmax(l->y.min, slope * x0), ridge, l->ridge_y, ridge, l->y.min);
    } else {
        fprintf(f, "%.9g\t%.9g\n%.9g\t%.9g\n%.9g\t%.9g\n%.9g\t%.9g\n", ridge, l->y.min, ridge,
                l->ridge_y, l->x.max, l->ridge_y, l->x.max, l->y.min);
    }
}

static void write_tint_memory(FILE *f, const rp_plot_layout *l, const void *context) {
    (void)context;
    write_tint(f, l, true);
}

static void write_tint_compute(FILE *f, const rp_plot_layout *l, const void *context) {
    (void)context;
    write_tint(f, l, false);
}

static void write_ridge(FILE *f, const rp_plot_layout *l, const void *context) {
    (void)context;
    fputs("intensity\tflops_per_s\n", f);
    if (l->ridge_x > l->x.min && l->ridge_x < l->x.max)
        fprintf(f, "%.9g\t%.9g\n%.9g\t%.9g\n", l->ridge_x, l->y.min, l->ridge_x, l->ridge_y);
}

static void write_discs(FILE *f, const rp_plot_layout *l, bool strip) {
    fputs("number\tx\ty\tradius_px\tpoint_type\tcolor\tkernel\n", f);
    for (size_t i = 0; i < l->disc_count; i++) {
        const rp_plot_disc *d = &l->discs[i];
        if (d->in_strip != strip)
            continue;
        fprintf(f, "%d\t%.9g\t%.9g\t%.3f\t%d\t%u\t", d->kernel->number, d->x, d->y, d->radius,
                d->hollow ? POINT_HOLLOW : POINT_FULL, rp_plot_bound_color(d->kernel->bound));
        rp_gnuplot_text(f, d->kernel->short_name);
        fputc('\n', f);
    }
}

static void write_kernels(FILE *f, const rp_plot_layout *l, const void *context) {
    (void)context;
    write_discs(f, l, false);
}

static void write_strip(FILE *f, const rp_plot_layout *l, const void *context) {
    (void)context;
    write_discs(f, l, true);
}

static void write_numbers(FILE *f, const rp_plot_layout *l, bool strip) {
    fputs("x\ty\tnumber\tcolor\n", f);
    for (size_t i = 0; i < l->disc_count; i++) {
        const rp_plot_disc *d = &l->discs[i];
        if (d->in_strip != strip || !d->number)
            continue;
        fprintf(f, "%.9g\t%.9g\t%d%s\t%d\n", d->number_x, d->number_y, d->number,
                d->kernel->above_roof ? "▲" : "", d->number_inside && !d->hollow ? WHITE : INK);
    }
}

static void write_kernel_numbers(FILE *f, const rp_plot_layout *l, const void *context) {
    (void)context;
    write_numbers(f, l, false);
}

static void write_strip_numbers(FILE *f, const rp_plot_layout *l, const void *context) {
    (void)context;
    write_numbers(f, l, true);
}

/* --levels: a small mark at each further level's intensity, joined to the kernel's disc. */
static void write_levels(FILE *f, const rp_plot_layout *l, const void *context) {
    const rp_plot_options *o = context;
    static const rp_hw_level levels[] = {RP_L2, RP_L1};
    static const int shape[] = {4, 8}; /* open square, open triangle */
    fputs("x\ty\tradius_px\tpoint_type\tcolor\n", f);
    for (size_t i = 0; o->levels && i < l->disc_count; i++) {
        const rp_plot_disc *d = &l->discs[i];
        for (size_t n = 0; n < 2 && !d->in_strip && d->number; n++) {
            double x = d->kernel->intensity[levels[n]];
            if (!(x >= l->x.min && x <= l->x.max) || levels[n] == l->level)
                continue;
            uint32_t color = rp_plot_bound_color(d->kernel->bound);
            fprintf(f, "%.9g\t%.9g\t0\t%d\t%u\n%.9g\t%.9g\t%.2f\t%d\t%u\n\n", d->x, d->y, shape[n],
                    color, x, d->y, l->font * 0.35, shape[n], color);
        }
    }
}

/* ---- The key --------------------------------------------------------------------------------- */

static size_t step_back(const char *text, size_t at) {
    do
        at--;
    while (at > 0 && ((unsigned char)text[at] & 0xC0) == 0x80);
    return at;
}

/* TEXT cut to WIDTH pixels by an ellipsis in its middle, since names differ at both ends; at most
 * SIZE bytes. */
static void fit_text(const char *text, double width, double font, char *out, size_t size) {
    char *printable = rp_text_printable(text ? text : "", text ? strlen(text) : 0);
    size_t length = printable ? strlen(printable) : 0;
    if (!printable || (rp_plot_text_width(printable, font) <= width && length < size)) {
        snprintf(out, size, "%s", printable ? printable : "");
        free(printable);
        return;
    }
    size_t head = length, tail = length; /* kept: [0, head) and [tail, length) */
    size_t limit = (size - 8) / 2;
    while (head > 0 && head > limit)
        head = step_back(printable, head);
    *out = 0;
    while (head > 0) {
        head = step_back(printable, head);
        tail = length > head * 2 / 3 ? length - head * 2 / 3 : 0;
        while (tail < length && ((unsigned char)printable[tail] & 0xC0) == 0x80)
            tail++;
        if (tail <= head)
            continue;
        snprintf(out, size, "%.*s…%s", (int)head, printable, printable + tail);
        if (rp_plot_text_width(out, font) <= width)
            break;
    }
    free(printable);
}

static double key_row(const rp_plot_layout *l, size_t row) {
    return l->key.top - l->font * (0.8 + 2.75 * (double)row);
}

typedef struct key_context {
    const rp_report *report;
    size_t device;
} key_context;

static void write_key(FILE *f, const rp_plot_layout *l, const void *context) {
    const key_context *c = context;
    char name[512], line[560];
    fputs("x\ty\ttext\n", f);
    size_t row = 0;
    for (size_t i = 0; i < c->report->kernel_count && row < l->keyed; i++) {
        const rp_report_kernel *k = &c->report->kernels[i];
        if (k->device != c->device)
            continue;
        fit_text(k->short_name, l->key.right - l->key.left - 4.4 * l->font, l->font, name,
                 sizeof name);
        snprintf(line, sizeof line, "%d  %s", k->number, name);
        fprintf(f, "%.1f\t%.1f\t", l->key.left + 1.6 * l->font, key_row(l, row++));
        rp_gnuplot_text(f, line);
        fputc('\n', f);
    }
}

static void kernel_line(const rp_report_kernel *k, const rp_plot_layout *l, char *line,
                        size_t size) {
    char share[32] = "", fraction[48] = "";
    if (k->time_share >= 0)
        snprintf(share, sizeof share, "%.1f %% time · ", k->time_share * 100);
    double drawn = isnan(k->calibrated_fraction) ? k->roof_fraction : k->calibrated_fraction;
    if (!isnan(drawn))
        snprintf(fraction, sizeof fraction, " · %.0f %% of roof%s", drawn * 100,
                 k->above_roof ? " ▲" : "");
    bool placed = false;
    for (size_t i = 0; i < l->disc_count; i++)
        placed |= l->discs[i].kernel == k;
    snprintf(line, size, "%s%s%s%s%s%s", share, rp_bound_name(k->bound), *k->bound_by ? ", " : "",
             k->bound_by, fraction, placed ? "" : " · not placed: counts not known");
}

static void small_line(FILE *f, double x, double y, const char *text) {
    fprintf(f, "%.1f\t%.1f\t", x, y);
    rp_gnuplot_text(f, text);
    fputc('\n', f);
}

/* What does not fit the key is said: how many more kernels, and how much of the time they took. */
static void write_rest(FILE *f, const rp_plot_layout *l, const rp_report *report, size_t device,
                       double y) {
    size_t total = 0, row = 0;
    double share = 0;
    char line[200];
    for (size_t i = 0; i < report->kernel_count; i++) {
        if (report->kernels[i].device != device)
            continue;
        total++;
        if (row++ >= l->keyed && report->kernels[i].time_share > 0)
            share += report->kernels[i].time_share;
    }
    if (total <= l->keyed)
        return;
    snprintf(line, sizeof line, "and %zu more %s, %.1f %% of time", total - l->keyed,
             rp_plural(total - l->keyed, "kernel", "kernels"), share * 100);
    small_line(f, l->key.left + 1.6 * l->font, y, line);
}

static void write_unlabelled(FILE *f, const rp_plot_layout *l, double y) {
    char line[300] = "";
    for (size_t i = 0; i < l->roof_count; i++) {
        const rp_plot_roof *r = &l->roofs[i];
        size_t length = strlen(line);
        if (!r->label_fits && length + strlen(r->label) + 4 < sizeof line)
            snprintf(line + length, sizeof line - length, "%s%s",
                     length ? " · " : "unlabelled: ", r->label);
    }
    char cut[320];
    if (!*line)
        return;
    fit_text(line, l->width - 2 * l->font, l->font * 0.8, cut, sizeof cut);
    small_line(f, l->font, y, cut);
}

static void write_key_small(FILE *f, const rp_plot_layout *l, const void *context) {
    const key_context *c = context;
    char line[320], cut[320];
    double width = l->key.right - l->key.left - 1.8 * l->font;
    fputs("x\ty\ttext\n", f);
    size_t row = 0;
    for (size_t i = 0; i < c->report->kernel_count && row < l->keyed; i++) {
        const rp_report_kernel *k = &c->report->kernels[i];
        if (k->device != c->device)
            continue;
        kernel_line(k, l, line, sizeof line);
        fit_text(line, width, l->font * 0.8, cut, sizeof cut);
        small_line(f, l->key.left + 1.6 * l->font, key_row(l, row++) - 1.15 * l->font, cut);
    }
    write_rest(f, l, c->report, c->device, key_row(l, l->keyed));
    double y = l->font * 1.9;
    char caption[640];
    snprintf(caption, sizeof caption, "%s %s", l->caption, l->disc_note);
    for (const char *s = caption; *s;) { /* the caption wraps at the picture's width */
        size_t length = strlen(s), fit = length;
        char part[640];
        for (;;) {
            memcpy(part, s, fit);
            part[fit] = 0;
            if (rp_plot_text_width(part, l->font * 0.8) < l->width - 2 * l->font)
                break;
            do
                fit--;
            while (fit > 1 && s[fit] != ' ');
        }
        small_line(f, l->font, y, part);
        s += fit + (s[fit] == ' ');
        y -= l->font * 1.15;
        if (y < l->font * 0.5)
            break;
    }
    write_unlabelled(f, l, l->font * 3.05);
}

static void write_key_discs(FILE *f, const rp_plot_layout *l, const void *context) {
    const key_context *c = context;
    fputs("x\ty\tradius_px\tpoint_type\tcolor\n", f);
    size_t row = 0;
    for (size_t i = 0; i < c->report->kernel_count && row < l->keyed; i++) {
        const rp_report_kernel *k = &c->report->kernels[i];
        if (k->device == c->device)
            fprintf(f, "%.1f\t%.1f\t%.2f\t%d\t%u\n", l->key.left + 0.7 * l->font, key_row(l, row++),
                    l->font * 0.42, k->modelled ? POINT_HOLLOW : POINT_FULL,
                    rp_plot_bound_color(k->bound));
    }
    static const rp_bound bounds[] = {RP_BOUND_MEMORY, RP_BOUND_COMPUTE, RP_BOUND_BALANCED,
                                      RP_BOUND_LATENCY, RP_BOUND_UNKNOWN};
    double x = l->main.left;
    for (size_t i = 0; l->has_key && i < sizeof bounds / sizeof bounds[0]; i++) {
        fprintf(f, "%.1f\t%.1f\t%.2f\t%d\t%u\n", x, l->height - 3.2 * l->font, l->font * 0.42,
                POINT_FULL, rp_plot_bound_color(bounds[i]));
        x += rp_plot_text_width(rp_bound_name(bounds[i]), l->font * 0.8) + 3 * l->font;
    }
}

static void write_title(FILE *f, const rp_plot_layout *l, const void *context) {
    (void)context;
    char cut[300];
    fputs("x\ty\ttext\n", f);
    fit_text(l->title, l->width - 2 * l->font, l->font * 1.5, cut, sizeof cut);
    small_line(f, l->font, l->height - 1.5 * l->font, cut);
}

/* The legend of colours stands under the title, the ridge's value beside its line. */
static void write_legend(FILE *f, const rp_plot_layout *l, const void *context) {
    (void)context;
    fputs("x\ty\ttext\n", f);
    static const rp_bound bounds[] = {RP_BOUND_MEMORY, RP_BOUND_COMPUTE, RP_BOUND_BALANCED,
                                      RP_BOUND_LATENCY, RP_BOUND_UNKNOWN};
    double x = l->main.left;
    for (size_t i = 0; l->has_key && i < sizeof bounds / sizeof bounds[0]; i++) {
        small_line(f, x + 0.8 * l->font, l->height - 3.2 * l->font, rp_bound_name(bounds[i]));
        x += rp_plot_text_width(rp_bound_name(bounds[i]), l->font * 0.8) + 3 * l->font;
    }
    if (l->ridge_x > l->x.min && l->ridge_x < l->x.max) {
        char ridge[64];
        snprintf(ridge, sizeof ridge, l->ridge_x < 10 ? "ridge %.2f FLOP/B" : "ridge %.1f FLOP/B",
                 l->ridge_x);
        double px = rp_plot_px(l, l->ridge_x) + 0.4 * l->font;
        double width = rp_plot_text_width(ridge, l->font * 0.8);
        if (px + width > l->main.right)
            px -= width + 0.8 * l->font;
        small_line(f, px, l->main.bottom + 0.8 * l->font, ridge);
    }
}

/* ---- Settings and the run -------------------------------------------------------------------- */

static double decades(const rp_plot_axis *axis) {
    return log10(axis->max / axis->min);
}

static void write_settings(FILE *f, const rp_plot_layout *l, const rp_plot_options *o) {
    static const char *const level[] = {
        [RP_DRAM] = "DRAM", [RP_L2] = "L2", [RP_L1] = "L1", [RP_SHARED] = "shared-memory"};
    double w = l->width, h = l->height;
    double point = o->format == RP_PLOT_PDF ? 0.54 : o->format == RP_PLOT_PNG ? 0.75 : 1;
    rp_gnuplot_terminal(f, o, l->width, l->height, l->font);
    fprintf(f, "width = %d\nheight = %d\n", l->width, l->height);
    fprintf(f, "title_font = 'DejaVu Sans,%.2f'\nsmall_font = 'DejaVu Sans,%.2f'\n",
            l->font * 1.5 * point, l->font * 0.8 * point);
    fprintf(f, "main_left = %.6f\nmain_right = %.6f\nmain_bottom = %.6f\nmain_top = %.6f\n",
            l->main.left / w, l->main.right / w, l->main.bottom / h, l->main.top / h);
    fprintf(f, "has_strip = %d\nstrip_left = %.6f\nstrip_right = %.6f\nstrip_max = %.6g\n",
            l->has_strip, l->strip.left / w, l->strip.right / w, l->has_strip ? l->strip_max : 1);
    fprintf(f, "x_min = %.9g\nx_max = %.9g\ny_min = %.9g\ny_max = %.9g\n", l->x.min, l->x.max,
            l->y.min, l->y.max);
    fprintf(f, "x_step = %d\ny_step = %d\n", decades(&l->x) > 8 ? 100 : 10,
            decades(&l->y) > 8 ? 100 : 10);
    fprintf(f, "x_title = 'arithmetic intensity [FLOP per %s byte]'\n", level[l->level]);
    fprintf(f, "strip_title = 'share of the %s roof, kernels without FLOPs'\n", level[l->level]);
}

static rp_code write_file(const rp_gnuplot *g, const char *name, writer write,
                          const rp_plot_layout *l, const void *context, rp_error *error) {
    FILE *file = rp_gnuplot_file(g, name, error);
    if (!file)
        return error ? error->code : RP_INTERNAL;
    write(file, l, context);
    return rp_gnuplot_close_file(file, name, error);
}

/* gnuplot refuses a data file without a point: one outside every range stands in. */
static rp_code never_empty(const rp_gnuplot *g, const char *name, int columns, rp_error *error) {
    char path[4200];
    snprintf(path, sizeof path, "%s/%s", g->folder, name);
    FILE *file = fopen(path, "r+");
    int lines = 0;
    if (!file)
        return rp_fail(error, RP_INTERNAL, "%s: cannot be read again", path);
    for (int c; lines < 2 && (c = fgetc(file)) != EOF;)
        lines += c == '\n';
    if (lines < 2) {
        fseek(file, 0, SEEK_END);
        for (int i = 0; i < columns; i++)
            fputs(i ? "\t1e300" : "1e300", file);
        fputc('\n', file);
    }
    return rp_gnuplot_close_file(file, name, error);
}

static rp_code write_all(const rp_gnuplot *g, const rp_plot_layout *l, const rp_report *report,
                         const rp_plot_options *o, rp_error *error) {
    key_context key = {report, o->device};
    const struct {
        const char *name;
        writer write;
        const void *context;
        int columns;
    } files[] = {{"roofs_used.dat", write_used, NULL, 2},
                 {"roofs_other.dat", write_other, NULL, 2},
                 {"roof_labels.dat", write_flat_labels, NULL, 5},
                 {"roof_labels_slanted.dat", write_slanted_labels, NULL, 5},
                 {"tint_memory.dat", write_tint_memory, NULL, 2},
                 {"tint_compute.dat", write_tint_compute, NULL, 2},
                 {"ridge.dat", write_ridge, NULL, 2},
                 {"levels.dat", write_levels, o, 5},
                 {"kernels.dat", write_kernels, NULL, 7},
                 {"kernel_numbers.dat", write_kernel_numbers, NULL, 4},
                 {"strip.dat", write_strip, NULL, 7},
                 {"strip_numbers.dat", write_strip_numbers, NULL, 4},
                 {"title.dat", write_title, NULL, 3},
                 {"key.dat", write_key, &key, 3},
                 {"key_discs.dat", write_key_discs, &key, 5},
                 {"key_small.dat", write_key_small, &key, 3},
                 {"legend.dat", write_legend, NULL, 3}};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        rp_code code = write_file(g, files[i].name, files[i].write, l, files[i].context, error);
        if (!code)
            code = never_empty(g, files[i].name, files[i].columns, error);
        if (code)
            return code;
    }
    FILE *settings = rp_gnuplot_file(g, "settings.gp", error);
    if (!settings)
        return error ? error->code : RP_INTERNAL;
    write_settings(settings, l, o);
    return rp_gnuplot_close_file(settings, "settings.gp", error);
}

/* Draws into the folder of G; OUTPUT NULL leaves the picture there. */
static rp_code draw(rp_gnuplot *g, const rp_report *report, const rp_plot_options *o,
                    rp_plot_layout *layout, const char *output, rp_error *error) {
    rp_code code = rp_plot_layout_make(report, o, layout, error);
    if (code)
        return code;
    g->instead = "; --ascii draws in the terminal without it";
    code = write_all(g, layout, report, o, error);
    if (!code)
        code = rp_gnuplot_run(g, "roofline.gp", output, error);
    return code;
}

rp_code rp_plot_roofline_svg(const rp_report *report, const rp_plot_options *options, char **svg,
                             rp_error *error) {
    rp_gnuplot g;
    rp_plot_layout layout = {0};
    rp_plot_options o = *options;
    char picture[4200];
    o.format = RP_PLOT_SVG_INTERACTIVE;
    *svg = NULL;
    rp_code code = rp_gnuplot_open(&g, &o, error);
    if (code)
        return code;
    code = draw(&g, report, &o, &layout, NULL, error);
    if (!code) {
        snprintf(picture, sizeof picture, "%s/picture", g.folder);
        code = rp_plot_svg_add_hover(picture, &layout, svg, error);
    }
    rp_plot_layout_free(&layout);
    rp_gnuplot_close(&g, code);
    return code;
}

static rp_code interactive(const rp_report *report, const rp_plot_options *o, rp_error *error) {
    char *svg;
    rp_code code = rp_plot_roofline_svg(report, o, &svg, error);
    if (!code)
        code = rp_plot_write_whole(o->output, svg, error);
    free(svg);
    return code;
}

static rp_code ascii_file(const rp_report *report, const rp_plot_options *o, rp_error *error) {
    char *text = NULL;
    size_t size;
    FILE *memory = open_memstream(&text, &size);
    if (!memory)
        return rp_fail(error, RP_INTERNAL, "no memory for the plot");
    rp_code code = rp_plot_roofline_ascii(report, o, memory, 100, 36, error);
    if (fclose(memory) && !code)
        code = rp_fail(error, RP_INTERNAL, "no memory for the plot");
    if (!code)
        code = rp_plot_write_whole(o->output, text, error);
    free(text);
    return code;
}

rp_code rp_plot_roofline(const rp_report *report, const rp_plot_options *options, rp_error *error) {
    rp_gnuplot g;
    rp_plot_layout layout = {0};
    if (options->format == RP_PLOT_ASCII)
        return ascii_file(report, options, error);
    if (options->format == RP_PLOT_SVG_INTERACTIVE)
        return interactive(report, options, error);
    rp_code code = rp_gnuplot_open(&g, options, error);
    if (code)
        return code;
    code = draw(&g, report, options, &layout, options->output, error);
    rp_plot_layout_free(&layout);
    rp_gnuplot_close(&g, code);
    return code;
}
