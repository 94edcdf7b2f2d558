/* SPDX-License-Identifier: Apache-2.0
 *
 * The roofline in a terminal: a grid of characters with the roofs in use, the ridge and the
 * kernels' numbers, and a key below. It uses the layout's ranges and its choice of roofs and
 * kernels.
 */
#include "plots/layout.h"
#include "support/text.h"
#include "support/units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { AXIS = 8 }; /* columns taken by the y axis */

typedef struct canvas {
    int width, height;    /* of the plot area */
    char *cell;           /* one byte a cell */
    unsigned char *bound; /* rp_bound + 1 of the kernel that wrote it; 0 none */
} canvas;

static int column(const canvas *c, const rp_plot_layout *l, double x) {
    return (int)lround((c->width - 1) * log(x / l->x.min) / log(l->x.max / l->x.min));
}

static int line_of(const canvas *c, const rp_plot_layout *l, double y) {
    return (int)lround((c->height - 1) * (1 - log(y / l->y.min) / log(l->y.max / l->y.min)));
}

static void put(canvas *c, int x, int y, char what, int bound) {
    if (x < 0 || y < 0 || x >= c->width || y >= c->height)
        return;
    c->cell[y * c->width + x] = what;
    c->bound[y * c->width + x] = (unsigned char)bound;
}

static void draw_roofs(canvas *c, const rp_plot_layout *l) {
    for (size_t i = 0; i < l->roof_count; i++) {
        const rp_plot_roof *r = &l->roofs[i];
        if (isnan(r->x0) || (!r->used && r->compute))
            continue;
        int from = column(c, l, r->x0), to = column(c, l, r->x1);
        for (int x = from; x <= to; x++) {
            double at = l->x.min * pow(l->x.max / l->x.min, (double)x / (c->width - 1));
            double y = r->compute ? r->rate : fmin(r->rate * at, r->y1);
            put(c, x, line_of(c, l, y),
                r->compute ? (r->used ? '-' : '.')
                : r->used  ? '/'
                           : ',',
                0);
        }
        if (r->compute && r->used) {
            int length = (int)strlen(r->label), y = line_of(c, l, r->rate) - 1;
            for (int n = 0; n < length && length < c->width; n++)
                put(c, c->width - length + n, y, (r->label[n] & 0x80) ? '?' : r->label[n], 0);
        }
    }
}

static void draw_discs(canvas *c, const rp_plot_layout *l) {
    for (size_t i = 0; i < l->disc_count; i++) {
        const rp_plot_disc *d = &l->discs[i];
        char text[16];
        if (d->in_strip)
            continue;
        if (d->number)
            snprintf(text, sizeof text, "%d", d->number);
        else
            snprintf(text, sizeof text, "o");
        int x = column(c, l, d->x), y = line_of(c, l, d->y);
        if (!d->number && c->bound[(y < 0            ? 0
                                    : y >= c->height ? c->height - 1
                                                     : y) *
                                       c->width +
                                   (x < 0           ? 0
                                    : x >= c->width ? c->width - 1
                                                    : x)])
            continue; /* a number says more than an o */
        for (int n = 0; text[n]; n++)
            put(c, x + n, y, text[n], (int)d->kernel->bound + 1);
    }
}

static const char *color_of(int bound) {
    switch (bound - 1) {
    case RP_BOUND_MEMORY:
        return "\033[34m";
    case RP_BOUND_COMPUTE:
        return "\033[31m";
    case RP_BOUND_BALANCED:
        return "\033[32m";
    case RP_BOUND_LATENCY:
        return "\033[35m";
    default:
        return "\033[90m";
    }
}

static void print_row(const canvas *c, int y, bool color, FILE *out) {
    int now = 0, end = c->width;
    while (end > 0 && c->cell[y * c->width + end - 1] == ' ')
        end--;
    for (int x = 0; x < end; x++) {
        int bound = color ? c->bound[y * c->width + x] : 0;
        if (bound != now)
            fputs(bound ? color_of(bound) : "\033[0m", out);
        now = bound;
        fputc(c->cell[y * c->width + x], out);
    }
    if (now)
        fputs("\033[0m", out);
    fputc('\n', out);
}

/* A tick at the row nearest each power of ten (or of a thousand, where they are close). */
static void print_canvas(const canvas *c, const rp_plot_layout *l, bool color, FILE *out) {
    double step = (log10(l->y.max / l->y.min)) / c->height > 0.34 ? 1000 : 10;
    for (int y = 0; y < c->height; y++) {
        char label[32] = "";
        for (double v = pow(10, floor(log10(l->y.min))); v <= l->y.max * 1.0001; v *= step)
            if (v >= l->y.min && line_of(c, l, v) == y)
                rp_format_si(label, sizeof label, v, "");
        if (*label) { /* 100 G, not 100.0 G */
            char *dot = strchr(label, '.'), *space = strchr(label, ' ');
            if (dot && space && dot < space)
                memmove(dot, space, strlen(space) + 1);
        }
        fprintf(out, "%*s |", AXIS - 2, label);
        print_row(c, y, color, out);
    }
    fprintf(out, "%*s +", AXIS - 2, "FLOP/s");
    for (int x = 0; x < c->width; x++)
        fputc('-', out);
    fputc('\n', out);
    char *ticks = malloc((size_t)c->width + 64);
    if (!ticks)
        return;
    memset(ticks, ' ', (size_t)c->width + 63);
    int last = -8;
    for (double v = pow(10, ceil(log10(l->x.min))); v <= l->x.max; v *= 10) {
        char label[32];
        int length = snprintf(label, sizeof label, "%g", v), x = column(c, l, v);
        if (x >= last + 2 && x + length <= c->width) {
            memcpy(ticks + x, label, (size_t)length);
            last = x + length;
        }
    }
    ticks[last > 0 ? last : 0] = 0;
    fprintf(out, "%*s%s  FLOP/B (%s)\n", AXIS, "", ticks, rp_level_name(l->level));
    free(ticks);
}

static void print_key(const rp_plot_layout *l, const rp_report *report, size_t device, int width,
                      bool color, FILE *out) {
    size_t listed = 0, total = 0;
    for (size_t i = 0; i < report->kernel_count; i++) {
        const rp_report_kernel *k = &report->kernels[i];
        if (k->device != device)
            continue;
        total++;
        if (listed >= l->keyed)
            continue;
        listed++;
        char *name = rp_text_printable(k->short_name ? k->short_name : "",
                                       k->short_name ? strlen(k->short_name) : 0);
        char share[24] = "      ?", fraction[40] = "";
        if (k->time_share >= 0)
            snprintf(share, sizeof share, "%5.1f %%", k->time_share * 100);
        double f = isnan(k->calibrated_fraction) ? k->roof_fraction : k->calibrated_fraction;
        if (!isnan(f))
            snprintf(fraction, sizeof fraction, ", %.0f %% of roof%s", f * 100,
                     k->above_roof ? " (above)" : "");
        char *cut = name ? rp_text_fit(name, width > 68 ? (size_t)width - 52 : 16) : NULL;
        bool none = k->flops_total == 0 && !k->flops_lower_bound;
        fprintf(out, "%s%4d%s %s  %s  %s%s%s%s%s\n", color ? color_of((int)k->bound + 1) : "",
                k->number, color ? "\033[0m" : "", share, cut ? cut : "", rp_bound_name(k->bound),
                *k->bound_by ? ", " : "", k->bound_by, fraction, none ? ", no FLOPs" : "");
        free(name);
        free(cut);
    }
    if (total > listed)
        fprintf(out, "     and %zu more %s\n", total - listed,
                rp_plural(total - listed, "kernel", "kernels"));
}

rp_code rp_plot_roofline_ascii(const rp_report *report, const rp_plot_options *options, FILE *out,
                               int width, int height, rp_error *error) {
    rp_plot_layout l;
    rp_plot_options o = *options;
    o.width = o.height = 0; /* characters are not pixels: the layout keeps its usual canvas */
    if (width < 40 || height < 12)
        return rp_fail(error, RP_USAGE,
                       "a terminal of %d x %d is too small for a roofline: 40 x 12", width, height);
    rp_code code = rp_plot_layout_make(report, &o, &l, error);
    if (code)
        return code;
    canvas c = {.width = width - AXIS, .height = height - 5};
    size_t cells = (size_t)c.width * (size_t)c.height;
    c.cell = malloc(cells);
    c.bound = calloc(cells, 1);
    if (!c.cell || !c.bound) {
        code = rp_fail(error, RP_INTERNAL, "no memory for the plot");
        goto out;
    }
    memset(c.cell, ' ', cells);
    draw_roofs(&c, &l);
    draw_discs(&c, &l);
    char *title = rp_text_printable(l.title, strlen(l.title));
    fprintf(out, "%s\n", title ? title : "");
    free(title);
    print_canvas(&c, &l, o.color, out);
    print_key(&l, report, o.device, width, o.color, out);
    fprintf(out, "%s\n", l.caption);
out:
    free(c.cell);
    free(c.bound);
    rp_plot_layout_free(&l);
    return code;
}
