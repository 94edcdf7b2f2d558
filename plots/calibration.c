/* SPDX-License-Identifier: Apache-2.0
 *
 * A calibration in one picture. Left: the roofline as measured, DRAM's best bandwidth and the
 * compute ceilings, and on it the points of the intensity sweep, which ran from one side of the
 * ridge to the other. Right: each ceiling's share of theory at the clock observed.
 */
#include "plots/calibration.h"

#include "plots/gnuplot.h"
#include "support/units.h"
#include <math.h>
#include <string.h>

enum { MOST = 40 };
enum { VECTOR = 0x0072B2, TENSOR = 0xD55E00, MEMORY = 0x009E73, INK = 0x2b2b2b };

typedef struct picture {
    const rp_calibration *c;
    const rp_plot_options *options;
    int width, height;
    double font;
    double dram, x_min, x_max, y_min, y_max;
    const rp_result *roofs[MOST]; /* compute, the best of each */
    size_t roof_count;
    const rp_result *bars[MOST]; /* those with a known theory */
    size_t bar_count;
    double share_max;
} picture;

static uint32_t color_of(const rp_result *r) {
    return r->kind != RP_RESULT_COMPUTE ? MEMORY : r->ceiling.path == RP_TENSOR ? TENSOR : VECTOR;
}

/* ---- What is shown --------------------------------------------------------------------------- */

static rp_code collect(picture *p, rp_error *error) {
    const rp_result *dram = rp_calibration_best(p->c, "dram");
    double low = INFINITY, high = 0;

    for (size_t i = 0; i < p->c->count; i++) {
        const rp_result *r = &p->c->results[i];
        if (!r->best || !(r->ceiling.rate > 0))
            continue;
        if (r->kind == RP_RESULT_COMPUTE && p->roof_count < MOST) {
            p->roofs[p->roof_count++] = r;
            low = fmin(low, r->ceiling.rate);
            high = fmax(high, r->ceiling.rate);
        }
        double share = rp_result_of_theoretical(r);
        if (share > 0 && p->bar_count < MOST) {
            p->bars[p->bar_count++] = r;
            p->share_max = fmax(p->share_max, share);
        }
    }
    if (!dram || !p->roof_count)
        return rp_fail(error, RP_INPUT, "%s: there is no %s to draw a roofline of", p->c->name,
                       dram ? "compute ceiling" : "DRAM bandwidth");
    p->dram = dram->ceiling.rate;
    p->share_max = fmax(1.05, p->share_max * 1.05);
    p->x_min = fmin(0.1, low / p->dram / 10);
    p->x_max = high / p->dram * 12;
    for (size_t i = 0; i < p->c->point_count; i++)
        p->x_max = fmax(p->x_max, p->c->points[i].intensity * 2);
    for (size_t i = 0; i < p->c->point_count; i++)
        high = fmax(high, p->c->points[i].flops_per_s);
    p->y_min = p->dram * p->x_min;
    p->y_max = high * 2;
    return RP_OK;
}

/* ---- Data files ------------------------------------------------------------------------------ */

static void label(FILE *f, double x, double y, const char *text, uint32_t color) {
    fprintf(f, "%.9g\t%.9g\t", x, y);
    rp_gnuplot_text(f, text);
    fprintf(f, "\t%u\n", color);
}

static void write_settings(FILE *f, const picture *p) {
    rp_gnuplot_terminal(f, p->options, p->width, p->height, p->font);
    double point = p->options->format == RP_PLOT_PDF   ? 0.54
                   : p->options->format == RP_PLOT_PNG ? 0.75
                                                       : 1;
    fprintf(f, "width = %d\nheight = %d\n", p->width, p->height);
    fprintf(f, "title_font = 'DejaVu Sans,%.2f'\nsmall_font = 'DejaVu Sans,%.2f'\n",
            p->font * 1.5 * point, p->font * 0.8 * point);
    fprintf(f, "x_min = %.9g\nx_max = %.9g\ny_min = %.9g\ny_max = %.9g\n", p->x_min, p->x_max,
            p->y_min, p->y_max);
    fprintf(f, "bars = %zu\nshare_max = %.4f\n", p->bar_count, p->share_max);
}

static void write_roofs(FILE *f, const picture *p) {
    fputs("intensity\tflops_per_s\tcolor\n", f);
    double top = 0;
    for (size_t i = 0; i < p->roof_count; i++) {
        double rate = p->roofs[i]->ceiling.rate;
        top = fmax(top, rate);
        fprintf(f, "%.9g\t%.9g\t%u\n%.9g\t%.9g\t%u\n\n", rate / p->dram, rate,
                color_of(p->roofs[i]), p->x_max, rate, color_of(p->roofs[i]));
    }
    fprintf(f, "%.9g\t%.9g\t%u\n%.9g\t%.9g\t%u\n\n", p->x_min, p->dram * p->x_min, MEMORY,
            top / p->dram, top, MEMORY);
}

/* Over the right end of its line, unless the line below is too near: then it goes without. */
static void write_roof_labels(FILE *f, const picture *p) {
    double taken[MOST];
    size_t n = 0;
    char text[96], rate[32];

    fputs("intensity\tflops_per_s\tlabel\tcolor\n", f);
    for (size_t i = 0; i < p->roof_count; i++) {
        double y = p->roofs[i]->ceiling.rate;
        bool near = false;
        for (size_t k = 0; k < n; k++)
            near |= fabs(log10(y / taken[k])) < 0.028 * log10(p->y_max / p->y_min);
        if (near)
            continue;
        taken[n++] = y;
        rp_format_si(rate, sizeof rate, y, rp_result_unit(p->roofs[i]));
        snprintf(text, sizeof text, "%s %s", p->roofs[i]->name, rate);
        label(f, p->x_max, y * pow(p->y_max / p->y_min, 0.012), text, color_of(p->roofs[i]));
    }
}

static void write_points(FILE *f, const picture *p) {
    fputs("intensity\tflops_per_s\n", f);
    for (size_t i = 0; i < p->c->point_count; i++)
        fprintf(f, "%.9g\t%.9g\n", p->c->points[i].intensity, p->c->points[i].flops_per_s);
}

static void write_bars(FILE *f, const picture *p) {
    fputs("x\ty\tx0\tx1\ty0\ty1\tcolor\n", f);
    for (size_t i = 0; i < p->bar_count; i++) {
        double share = rp_result_of_theoretical(p->bars[i]), y = (double)(p->bar_count - i) - 0.5;
        fprintf(f, "%.6g\t%.6g\t0\t%.6g\t%.6g\t%.6g\t%u\n", share, y, share, y - 0.36, y + 0.36,
                color_of(p->bars[i]));
    }
}

static void write_bar_labels(FILE *f, const picture *p) {
    fputs("x\ty\tlabel\tcolor\n", f);
    for (size_t i = 0; i < p->bar_count; i++) {
        double share = rp_result_of_theoretical(p->bars[i]);
        char text[96], percent[32];
        rp_format_percent(percent, sizeof percent, share);
        snprintf(text, sizeof text, "%s  %s", p->bars[i]->name, percent);
        /* in the bar, or behind it where it is too short */
        bool inside = share > 0.55 * p->share_max;
        label(f, inside ? 0.015 : share + 0.015, (double)(p->bar_count - i) - 0.5, text,
              inside ? 0xffffff : INK);
    }
}

static void write_words(FILE *f, const picture *p) {
    char text[400];

    fputs("x\ty\tlabel\n", f);
    snprintf(text, sizeof text, "%s, %s", p->c->name,
             p->c->emulated ? "modelled" : "as calibrated");
    label(f, p->font, p->height - 1.8 * p->font, p->options->title ? p->options->title : text, INK);
}

static void write_caption(FILE *f, const picture *p) {
    char text[400], rate[32];

    fputs("x\ty\tlabel\n", f);
    rp_format_si(rate, sizeof rate, p->dram, "B/s");
    snprintf(text, sizeof text, "DRAM %s. %s%s%s%s%s.", rate,
             p->c->point_count ? p->c->emulated
                                     ? "Dots: the intensity sweep, modelled. "
                                     : "Dots: one kernel at rising intensity (FP32), measured. "
                               : "",
             p->bar_count ? "Bars: share of theory at the clock observed. " : "", p->c->date,
             *p->c->driver ? ", driver " : "", p->c->driver);
    label(f, p->font, 1.4 * p->font, text, 0x666666);
}

static rp_code write_all(const rp_gnuplot *g, const picture *p, rp_error *error) {
    static const struct {
        const char *name;
        void (*write)(FILE *f, const picture *p);
    } files[] = {{"settings.gp", write_settings},
                 {"roofs.dat", write_roofs},
                 {"roof_labels.dat", write_roof_labels},
                 {"points.dat", write_points},
                 {"bars.dat", write_bars},
                 {"bar_labels.dat", write_bar_labels},
                 {"title.dat", write_words},
                 {"caption.dat", write_caption}};

    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        FILE *f = rp_gnuplot_file(g, files[i].name, error);
        rp_code code;
        if (!f)
            return error ? error->code : RP_INTERNAL;
        files[i].write(f, p);
        if ((code = rp_gnuplot_close_file(f, files[i].name, error)) != RP_OK)
            return code;
    }
    return RP_OK;
}

rp_code rp_plot_calibration(const rp_calibration *calibration, const rp_plot_options *options,
                            rp_error *error) {
    picture p = {.c = calibration, .options = options};
    rp_gnuplot g;
    rp_code code = collect(&p, error);

    if (code == RP_OK && options->format == RP_PLOT_ASCII)
        code = rp_fail(error, RP_USAGE, "a calibration is drawn as .png, .svg or .pdf");
    if (code != RP_OK)
        return code;
    p.width = options->width > 0 ? options->width : 1600;
    p.height = options->height > 0 ? options->height : 1000;
    p.font = fmax(9, 17 * fmin(p.width / 1600.0, p.height / 1000.0));
    if ((code = rp_gnuplot_open(&g, options, error)) != RP_OK)
        return code;
    code = write_all(&g, &p, error);
    if (code == RP_OK)
        code = rp_gnuplot_run(&g, "calibration.gp", options->output, error);
    rp_gnuplot_close(&g, code);
    return code;
}
