/* SPDX-License-Identifier: Apache-2.0
 *
 * A plan in one picture: left, the memory of one device stacked by part, against what the device
 * has; right, the times of a step that bandwidth, compute and communication ask for.
 */
#include "plots/gnuplot.h"
#include "support/units.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Okabe and Ito, as in the other pictures. */
enum { PARTS = 7, TIMES = 3 };
static const uint32_t part_colors[PARTS] = {0x0072B2, 0x56B4E9, 0x009E73, 0xE69F00,
                                            0xD55E00, 0xCC79A7, 0x999999};
static const char *const part_names[PARTS] = {
    "weights", "master weights", "gradients", "optimizer", "activations", "KV cache", "buffers"};
static const uint32_t time_colors[TIMES] = {0x0072B2, 0xD55E00, 0x009E73};
static const char *const time_names[TIMES] = {"bandwidth", "compute", "communication"};

typedef struct picture {
    const rp_plan *plan;
    const rp_plot_options *options;
    int width, height;
    double font;
    double panel_bottom, panel_top, memory_left, memory_right, time_left, time_right; /* pixels */
    double memory_max, time_min, time_max;                                            /* GB, s */
} picture;

static double part(const rp_plan_device *d, int i) {
    const rp_plan_memory *m = &d->memory;
    const double parts[PARTS] = {m->weights,     m->master_weights, m->gradients, m->optimizer,
                                 m->activations, m->kv_cache,       m->buffers};
    return isnan(parts[i]) ? 0 : parts[i] / 1e9;
}

static double seconds(const rp_plan_device *d, int i) {
    const double times[TIMES] = {d->memory_s, d->compute_s, d->communication_s};
    return times[i];
}

static void measure(picture *p) {
    double f;
    p->width = p->options->width > 0 ? p->options->width : 1600;
    p->height = p->options->height > 0 ? p->options->height : 1000;
    f = p->font = fmax(9, 17 * fmin(p->width / 1600.0, p->height / 1000.0));
    p->panel_bottom = 7 * f;
    p->panel_top = p->height - 7 * f;
    p->memory_left = 6 * f;
    p->memory_right = p->width * 0.53;
    p->time_left = p->width * 0.53 + 7 * f;
    p->time_right = p->width - f;
    p->memory_max = 1;
    p->time_min = INFINITY;
    for (size_t i = 0; i < p->plan->device_count; i++) {
        const rp_plan_device *d = &p->plan->devices[i];
        p->memory_max = fmax(p->memory_max, d->memory.total / 1e9);
        if (!isnan(d->memory_bytes))
            p->memory_max = fmax(p->memory_max, d->memory_bytes / 1e9);
        for (int t = 0; t < TIMES; t++)
            if (seconds(d, t) > 0) {
                p->time_min = fmin(p->time_min, seconds(d, t));
                p->time_max = fmax(p->time_max, seconds(d, t));
            }
    }
    p->memory_max *= 1.12;
    if (!(p->time_max > 0)) {
        p->time_min = 1e-3;
        p->time_max = 1;
    }
    p->time_min /= 5;
    p->time_max *= 3;
}

/* x, y, x from, x to, y from, y to, colour. */
static void box(FILE *f, double x0, double x1, double y0, double y1, uint32_t color) {
    fprintf(f, "%.9g\t%.9g\t%.9g\t%.9g\t%.9g\t%.9g\t%u\n", (x0 + x1) / 2, (y0 + y1) / 2, x0, x1, y0,
            y1, color);
}

static void text(FILE *f, double x, double y, const char *words) {
    fprintf(f, "%.9g\t%.9g\t", x, y);
    rp_gnuplot_text(f, words);
    fputc('\n', f);
}

static void write_settings(FILE *f, const picture *p) {
    double w = p->width, h = p->height;
    double point = p->options->format == RP_PLOT_PDF   ? 0.54
                   : p->options->format == RP_PLOT_PNG ? 0.75
                                                       : 1;
    rp_gnuplot_terminal(f, p->options, p->width, p->height, p->font);
    fprintf(f, "width = %d\nheight = %d\ndevices = %zu\n", p->width, p->height,
            p->plan->device_count);
    fprintf(f, "title_font = 'DejaVu Sans,%.2f'\nsmall_font = 'DejaVu Sans,%.2f'\n",
            p->font * 1.4 * point, p->font * 0.85 * point);
    fprintf(f, "panel_bottom = %.6f\npanel_top = %.6f\nmemory_left = %.6f\nmemory_right = %.6f\n",
            p->panel_bottom / h, p->panel_top / h, p->memory_left / w, p->memory_right / w);
    fprintf(f,
            "time_left = %.6f\ntime_right = %.6f\nmemory_max = %.9g\ntime_min = %.9g\n"
            "time_max = %.9g\n",
            p->time_left / w, p->time_right / w, p->memory_max, p->time_min, p->time_max);
}

static void write_memory(FILE *f, const picture *p) {
    fputs("x\ty\tx0\tx1\ty0\ty1\tcolor\n", f);
    for (size_t i = 0; i < p->plan->device_count; i++) {
        double y = 0;
        for (int k = 0; k < PARTS; k++) {
            double height = part(&p->plan->devices[i], k);
            if (height > 0)
                box(f, (double)i + 0.2, (double)i + 0.8, y, y + height, part_colors[k]);
            y += height;
        }
    }
}

static void write_capacity(FILE *f, const picture *p) {
    fputs("x\tcapacity_gb\n", f);
    for (size_t i = 0; i < p->plan->device_count; i++) {
        double y = p->plan->devices[i].memory_bytes / 1e9;
        if (!isnan(y))
            fprintf(f, "%.9g\t%.9g\n%.9g\t%.9g\n\n", (double)i + 0.08, y, (double)i + 0.92, y);
    }
}

static void write_totals(FILE *f, const picture *p) {
    fputs("x\ty\ttext\n", f);
    for (size_t i = 0; i < p->plan->device_count; i++) {
        const rp_plan_device *d = &p->plan->devices[i];
        char total[32], words[64];
        rp_format_si(total, sizeof total, d->memory.total, "B");
        snprintf(words, sizeof words, "%s%s", total,
                 d->fits == 0 && p->plan->device_count <= 4 ? ", too much" : "");
        text(f, (double)i + 0.5, d->memory.total / 1e9 + 0.03 * p->memory_max, words);
    }
}

static void write_times(FILE *f, const picture *p) {
    fputs("x\ty\tx0\tx1\ty0\ty1\tcolor\n", f);
    for (size_t i = 0; i < p->plan->device_count; i++)
        for (int t = 0; t < TIMES; t++) {
            double s = seconds(&p->plan->devices[i], t), x = (double)i + 0.14 + 0.25 * t;
            if (s > 0)
                box(f, x, x + 0.22, p->time_min, s, time_colors[t]);
        }
}

/* Device names under both panels (staggered where there are many), what bounds it under the right.
 */
static void write_names(FILE *f, const picture *p) {
    size_t n = p->plan->device_count;
    fputs("x\ty\ttext\n", f);
    for (size_t i = 0; i < n; i++) {
        const rp_plan_device *d = &p->plan->devices[i];
        double at = ((double)i + 0.5) / (double)n;
        double left = p->memory_left + at * (p->memory_right - p->memory_left);
        double right = p->time_left + at * (p->time_right - p->time_left);
        double y = p->panel_bottom - p->font * (n > 3 && i % 2 ? 2.4 : 1.2);
        char words[64];
        text(f, left, y, d->device->name);
        text(f, right, y, d->device->name);
        snprintf(words, sizeof words, "%s%s", n > 3 ? "" : "bound: ", d->bound);
        if (n <= 4)
            text(f, right, p->panel_bottom - p->font * 3.6, words);
    }
}

static bool is_used(const picture *p, int k) {
    for (size_t i = 0; i < p->plan->device_count; i++)
        if (part(&p->plan->devices[i], k) > 0)
            return true;
    return false;
}

/* WHAT: 0 the swatches, 1 the words. */
static void write_key(FILE *f, const picture *p, int what) {
    double x = p->memory_left, y = p->panel_top + 1.6 * p->font;
    fputs(what ? "x\ty\ttext\n" : "x\ty\tx0\tx1\ty0\ty1\tcolor\n", f);
    for (int k = 0; k < PARTS; k++) {
        if (!is_used(p, k))
            continue;
        if (what)
            text(f, x + p->font, y, part_names[k]);
        else
            box(f, x, x + 0.7 * p->font, y - 0.35 * p->font, y + 0.35 * p->font, part_colors[k]);
        x += p->font * (2.2 + 0.5 * (double)strlen(part_names[k]));
    }
    x = p->time_left;
    for (int t = 0; t < TIMES; t++) {
        if (what)
            text(f, x + p->font, y, time_names[t]);
        else
            box(f, x, x + 0.7 * p->font, y - 0.35 * p->font, y + 0.35 * p->font, time_colors[t]);
        x += p->font * (2.2 + 0.55 * (double)strlen(time_names[t]));
    }
}

static void write_title(FILE *f, const picture *p) {
    const rp_plan_request *r = &p->plan->request;
    char words[256];
    fputs("x\ty\ttext\n", f);
    snprintf(words, sizeof words, "%s%s%.3g billion parameters, %s in %s, batch %g, %g tokens",
             r->model.name, *r->model.name ? ": " : "", p->plan->params / 1e9,
             r->mode == RP_PLAN_TRAIN ? "training" : "decoding", rp_precision_name(r->dtype),
             r->batch, r->sequence);
    text(f, p->font, p->height - 2 * p->font, p->options->title ? p->options->title : words);
}

static void write_caption(FILE *f, const picture *p) {
    char words[300];
    fputs("x\ty\ttext\n", f);
    snprintf(words, sizeof words,
             "%lld of each device. Dashed: what a device has. Times at the ceilings, dense; all "
             "figures are modelled.",
             (long long)p->plan->request.count);
    text(f, p->font, 1.5 * p->font, words);
}

static rp_code write_all(const rp_gnuplot *g, const picture *p, rp_error *error) {
    static const char *const names[] = {"settings.gp", "memory.dat", "capacity.dat",  "totals.dat",
                                        "times.dat",   "names.dat",  "key_boxes.dat", "key.dat",
                                        "title.dat",   "caption.dat"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        FILE *f = rp_gnuplot_file(g, names[i], error);
        if (!f)
            return error ? error->code : RP_INTERNAL;
        switch (i) {
        case 0:
            write_settings(f, p);
            break;
        case 1:
            write_memory(f, p);
            break;
        case 2:
            write_capacity(f, p);
            break;
        case 3:
            write_totals(f, p);
            break;
        case 4:
            write_times(f, p);
            break;
        case 5:
            write_names(f, p);
            break;
        case 6:
        case 7:
            write_key(f, p, i == 7);
            break;
        case 8:
            write_title(f, p);
            break;
        default:
            write_caption(f, p);
        }
        rp_code code = rp_gnuplot_close_file(f, names[i], error);
        if (code != RP_OK)
            return code;
    }
    return RP_OK;
}

rp_code rp_plot_plan(const rp_plan *plan, const rp_plot_options *options, rp_error *error) {
    picture p = {.plan = plan, .options = options};
    rp_gnuplot g;
    rp_code code = rp_gnuplot_open(&g, options, error);

    if (code != RP_OK)
        return code;
    measure(&p);
    code = write_all(&g, &p, error);
    if (code == RP_OK)
        code = rp_gnuplot_run(&g, "plan.gp", options->output, error);
    rp_gnuplot_close(&g, code);
    return code;
}
