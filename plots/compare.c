/* SPDX-License-Identifier: Apache-2.0
 *
 * Several devices in one picture: for each its DRAM roof up to the highest tensor ceiling (solid)
 * and to its FP32 vector ceiling (dashed), the ridge of each marked with its value. Which tensor
 * precision is compared: the highest of FP16, BF16, TF32, FP64 that every device has; if there is
 * none, only the vector roofs are drawn and the caption says so.
 */
#include "plots/gnuplot.h"
#include "plots/layout.h"
#include "support/units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { INK = 0x2b2b2b };

/* Okabe and Ito without yellow, which is too light for lines on white. */
static const uint32_t palette[] = {0x0072B2, 0xD55E00, 0x009E73, 0xCC79A7,
                                   0xE69F00, 0x56B4E9, 0x2b2b2b};
#define PALETTE (sizeof palette / sizeof palette[0])

typedef struct device_lines {
    const rp_device *device;
    uint32_t color;
    double dram, tensor, vector; /* NaN: not known */
} device_lines;

typedef struct picture {
    device_lines *lines;
    size_t count;
    rp_hw_precision precision;
    bool has_tensor, sparse;
    rp_plot_layout l; /* canvas, boxes and axes; no report behind it */
} picture;

static double rate_of(const rp_ceiling *c) {
    return c ? c->rate : NAN;
}

static bool all_have(const rp_device *const *devices, size_t n, rp_hw_precision p, bool sparse) {
    for (size_t i = 0; i < n; i++)
        if (!rp_device_compute_ceiling(devices[i], p, RP_TENSOR, "", sparse))
            return false;
    return true;
}

static rp_code collect(picture *p, const rp_device *const *devices, size_t n, bool sparse,
                       rp_error *error) {
    static const rp_hw_precision order[] = {RP_FP16, RP_BF16, RP_TF32, RP_FP64};
    p->lines = calloc(n ? n : 1, sizeof *p->lines);
    if (!p->lines)
        return rp_fail(error, RP_INTERNAL, "no memory for the plot");
    p->count = n;
    p->sparse = sparse;
    for (size_t o = 0; o < sizeof order / sizeof order[0] && !p->has_tensor; o++)
        if ((p->has_tensor = all_have(devices, n, order[o], sparse)))
            p->precision = order[o];
    for (size_t i = 0; i < n; i++) {
        device_lines *d = &p->lines[i];
        d->device = devices[i];
        d->color = palette[i % PALETTE];
        d->dram = rate_of(rp_device_bandwidth(devices[i], RP_DRAM));
        d->vector = rate_of(rp_device_compute_ceiling(devices[i], RP_FP32, RP_VECTOR, "", false));
        d->tensor = p->has_tensor ? rate_of(rp_device_compute_ceiling(devices[i], p->precision,
                                                                      RP_TENSOR, "", sparse))
                                  : NAN;
        if (!(d->dram > 0) || (isnan(d->vector) && isnan(d->tensor)))
            return rp_fail(
                error, RP_INPUT,
                "%s: the hardware database has no %s for it, so there is no roofline to draw",
                devices[i]->name, d->dram > 0 ? "compute ceiling" : "DRAM bandwidth");
    }
    return RP_OK;
}

static double highest_of(const device_lines *d) {
    return isnan(d->tensor) ? d->vector : d->tensor;
}

static void ranges(picture *p) {
    double low = INFINITY, high = 0, top = 0, floor_rate = INFINITY;
    for (size_t i = 0; i < p->count; i++) {
        const device_lines *d = &p->lines[i];
        double first = fmin(isnan(d->vector) ? INFINITY : d->vector, highest_of(d)) / d->dram;
        low = fmin(low, first);
        high = fmax(high, highest_of(d) / d->dram);
        top = fmax(top, highest_of(d));
        floor_rate = fmin(floor_rate, d->dram);
    }
    p->l.x = (rp_plot_axis){low / 20, high * 20};
    p->l.y = (rp_plot_axis){floor_rate * p->l.x.min, top * 2.2};
}

static void canvas(picture *p, const rp_plot_options *o) {
    double f;
    p->l.width = o->width > 0 ? o->width : 1600;
    p->l.height = o->height > 0 ? o->height : 1000;
    f = p->l.font = fmax(9, 17 * fmin(p->l.width / 1600.0, p->l.height / 1000.0));
    p->l.main = (rp_plot_box){6.2 * f, p->l.width * 0.72, 7 * f, p->l.height - 4.2 * f};
    p->l.key =
        (rp_plot_box){p->l.width * 0.735, p->l.width - 0.6 * f, p->l.main.bottom, p->l.main.top};
}

static void write_roof(FILE *f, const picture *p, const device_lines *d, double peak) {
    if (!(peak > 0))
        return;
    double x0 = fmax(p->l.x.min, p->l.y.min / d->dram);
    fprintf(f, "%.9g\t%.9g\t%u\n%.9g\t%.9g\t%u\n%.9g\t%.9g\t%u\n\n", x0, d->dram * x0, d->color,
            peak / d->dram, peak, d->color, p->l.x.max, peak, d->color);
}

static void write_roofs(FILE *f, const picture *p, bool tensor) {
    fputs("intensity\tflops_per_s\tcolor\n", f);
    for (size_t i = 0; i < p->count; i++)
        write_roof(f, p, &p->lines[i], tensor ? highest_of(&p->lines[i]) : p->lines[i].vector);
}

static void write_ridges(FILE *f, const picture *p, bool points) {
    fputs("intensity\tflops_per_s\tcolor\n", f);
    for (size_t i = 0; i < p->count; i++) {
        const device_lines *d = &p->lines[i];
        double y[2] = {highest_of(d), isnan(d->tensor) ? NAN : d->vector};
        for (int n = 0; n < 2; n++) {
            if (isnan(y[n]))
                continue;
            fprintf(f, "%.9g\t%.9g\t%u\n", y[n] / d->dram, y[n], d->color);
            if (!points)
                fprintf(f, "%.9g\t%.9g\t%u\n\n", y[n] / d->dram, p->l.y.min, d->color);
        }
    }
}

static double at_x(const rp_plot_layout *l, double px) {
    double t = (px - l->main.left) / (l->main.right - l->main.left);
    return l->x.min * pow(l->x.max / l->x.min, t);
}

static double at_y(const rp_plot_layout *l, double py) {
    double t = (py - l->main.bottom) / (l->main.top - l->main.bottom);
    return l->y.min * pow(l->y.max / l->y.min, t);
}

/* The ridge's value right of its point, moved down step by step until it is clear of the others. */
static void write_labels(FILE *f, const picture *p) {
    const rp_plot_layout *l = &p->l;
    rp_plot_taken taken = {0};
    fputs("intensity\tflops_per_s\tlabel\tcolor\n", f);
    for (size_t i = 0; i < p->count * 2; i++) {
        const device_lines *d = &p->lines[i / 2];
        double peak = i % 2 ? (isnan(d->tensor) ? NAN : d->vector) : highest_of(d);
        char number[32], text[48];
        if (isnan(peak))
            continue;
        rp_format_number(number, sizeof number, peak / d->dram);
        snprintf(text, sizeof text, "%s FLOP/B", number);
        double px = rp_plot_px(l, peak / d->dram) + 0.6 * l->font;
        double py = rp_plot_py(l, peak) - 0.9 * l->font, width = rp_plot_text_width(text, l->font);
        rp_plot_box box;
        do {
            box = (rp_plot_box){px, px + width, py - l->font * 0.6, py + l->font * 0.6};
            py -= l->font * 0.3;
        } while (!rp_plot_is_free(&taken, &box) && py > l->main.bottom);
        rp_plot_take(&taken, &box);
        fprintf(f, "%.9g\t%.9g\t", at_x(l, px), at_y(l, (box.bottom + box.top) / 2));
        rp_gnuplot_text(f, text);
        fprintf(f, "\t%u\n", d->color);
    }
    free(taken.boxes);
}

static void text_line(FILE *f, double x, double y, const char *text) {
    fprintf(f, "%.1f\t%.1f\t", x, y);
    rp_gnuplot_text(f, text);
    fputc('\n', f);
}

static double row(const rp_plot_layout *l, size_t i) {
    return l->key.top - l->font * (0.8 + 4.2 * (double)i);
}

static void write_key(FILE *f, const picture *p, int what) {
    const rp_plot_layout *l = &p->l;
    static const char *const names[] = {"FP64", "FP32", "TF32", "BF16", "FP16"};
    const char *tensor = names[p->precision <= RP_FP16 ? p->precision : 0];
    fputs(what == 1 ? "x\ty\tcolor\n" : "x\ty\ttext\n", f);
    for (size_t i = 0; i < p->count; i++) {
        const device_lines *d = &p->lines[i];
        char rate[3][32], line[160];
        if (what == 1) {
            fprintf(f, "%.1f\t%.1f\t%u\n", l->key.left + 0.7 * l->font, row(l, i), d->color);
        } else if (what == 0) {
            text_line(f, l->key.left + 1.6 * l->font, row(l, i), d->device->name);
        } else {
            rp_format_si(rate[0], sizeof rate[0], d->dram, "B/s");
            rp_format_si(rate[1], sizeof rate[1], d->tensor, "FLOP/s");
            rp_format_si(rate[2], sizeof rate[2], d->vector, "FLOP/s");
            if (p->has_tensor) {
                snprintf(line, sizeof line, "%s tensor %s%s", tensor, rate[1],
                         p->sparse ? " (2:4 sparse)" : "");
                text_line(f, l->key.left + 1.6 * l->font, row(l, i) - 1.1 * l->font, line);
            }
            snprintf(line, sizeof line, "FP32 vector %s, DRAM %s", rate[2], rate[0]);
            text_line(f, l->key.left + 1.6 * l->font, row(l, i) - 2.1 * l->font, line);
        }
    }
    if (what != 2)
        return;
    char caption[300];
    snprintf(caption, sizeof caption,
             "Solid: %s%s. Dashed: FP32 vector. Dots: ridge points, with their values. %s",
             p->has_tensor ? tensor : "FP32 vector",
             !p->has_tensor ? "; no tensor precision is common to all"
             : p->sparse    ? " tensor, 2:4 sparse"
                            : " tensor, dense, FP32 accumulate",
             "Rates: calibrated where there are any, else theoretical or datasheet.");
    text_line(f, l->font, l->font * 1.8, caption);
}

static void write_settings(FILE *f, const picture *p, const rp_plot_options *o) {
    const rp_plot_layout *l = &p->l;
    double w = l->width, h = l->height;
    double point = o->format == RP_PLOT_PDF ? 0.54 : o->format == RP_PLOT_PNG ? 0.75 : 1;
    rp_gnuplot_terminal(f, o, l->width, l->height, l->font);
    fprintf(f, "width = %d\nheight = %d\n", l->width, l->height);
    fprintf(f, "title_font = 'DejaVu Sans,%.2f'\nsmall_font = 'DejaVu Sans,%.2f'\n",
            l->font * 1.5 * point, l->font * 0.8 * point);
    fprintf(f, "main_left = %.6f\nmain_right = %.6f\nmain_bottom = %.6f\nmain_top = %.6f\n",
            l->main.left / w, l->main.right / w, l->main.bottom / h, l->main.top / h);
    fprintf(f, "x_min = %.9g\nx_max = %.9g\ny_min = %.9g\ny_max = %.9g\n", l->x.min, l->x.max,
            l->y.min, l->y.max);
}

static void write_title(FILE *f, const picture *p, const rp_plot_options *o) {
    char title[512] = "Rooflines: ";
    for (size_t i = 0; i < p->count; i++) {
        size_t length = strlen(title);
        snprintf(title + length, sizeof title - length, "%s%s", i ? ", " : "",
                 p->lines[i].device->name);
    }
    fputs("x\ty\ttext\n", f);
    text_line(f, p->l.font, p->l.height - 1.5 * p->l.font, o->title ? o->title : title);
}

static rp_code write_all(const rp_gnuplot *g, const picture *p, const rp_plot_options *o,
                         rp_error *error) {
    static const char *const names[] = {
        "settings.gp", "roofs.dat", "roofs_vector.dat", "ridges.dat",    "ridge_points.dat",
        "labels.dat",  "title.dat", "key.dat",          "key_discs.dat", "key_small.dat"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        FILE *f = rp_gnuplot_file(g, names[i], error);
        if (!f)
            return error ? error->code : RP_INTERNAL;
        switch (i) {
        case 0:
            write_settings(f, p, o);
            break;
        case 1:
        case 2:
            write_roofs(f, p, i == 1);
            break;
        case 3:
        case 4:
            write_ridges(f, p, i == 4);
            break;
        case 5:
            write_labels(f, p);
            break;
        case 6:
            write_title(f, p, o);
            break;
        default:
            write_key(f, p, (int)i - 7);
        }
        rp_code code = rp_gnuplot_close_file(f, names[i], error);
        if (code)
            return code;
    }
    return RP_OK;
}

rp_code rp_plot_compare(const rp_device *const *devices, size_t n, bool sparse,
                        const rp_plot_options *options, rp_error *error) {
    rp_gnuplot g;
    picture p = {0};
    rp_code code = collect(&p, devices, n, sparse, error);
    if (code)
        goto out;
    ranges(&p);
    canvas(&p, options);
    code = rp_gnuplot_open(&g, options, error);
    if (code)
        goto out;
    code = write_all(&g, &p, options, error);
    if (!code)
        code = rp_gnuplot_run(&g, "compare.gp", options->output, error);
    rp_gnuplot_close(&g, code);
out:
    free(p.lines);
    return code;
}
