/* SPDX-License-Identifier: Apache-2.0
 *
 * Layout of a roofline: see layout.h. The order of decisions: which roofs, which discs, the ranges
 * that hold both, the boxes on the canvas, then labels from the most to the least important, each
 * at the first of its possible places that is still free.
 */
#include "plots/layout.h"
#include "support/units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_LIMIT = 20 };

/* Okabe and Ito's palette (https://jfly.uni-koeln.de/color/): distinct under every common colour
 * vision deficiency. */
uint32_t rp_plot_bound_color(rp_bound bound) {
    switch (bound) {
    case RP_BOUND_MEMORY:
        return 0x0072B2;
    case RP_BOUND_COMPUTE:
        return 0xD55E00;
    case RP_BOUND_BALANCED:
        return 0x009E73;
    case RP_BOUND_LATENCY:
        return 0xCC79A7;
    default:
        return 0x8A8A8A;
    }
}

double rp_plot_text_width(const char *text, double font) {
    double width = 0;
    for (const unsigned char *s = (const unsigned char *)text; *s; s++)
        if ((*s & 0xC0) != 0x80)
            width += *s >= 0xE0                                           ? 1.0
                     : (*s == 'i' || *s == 'l' || *s == ' ' || *s == '.') ? 0.33
                                                                          : 0.61;
    return width * font;
}

bool rp_plot_is_free(const rp_plot_taken *taken, const rp_plot_box *box) {
    for (size_t i = 0; i < taken->count; i++) {
        const rp_plot_box *other = &taken->boxes[i];
        if (box->left < other->right && other->left < box->right && box->bottom < other->top &&
            other->bottom < box->top)
            return false;
    }
    return true;
}

void rp_plot_take(rp_plot_taken *taken, const rp_plot_box *box) {
    if (taken->count == taken->room) {
        size_t room = taken->room ? taken->room * 2 : 64;
        rp_plot_box *grown = realloc(taken->boxes, room * sizeof *grown);
        if (!grown)
            return; /* a label may then overlap: not worth failing for */
        taken->boxes = grown;
        taken->room = room;
    }
    taken->boxes[taken->count++] = *box;
}

static double axis_at(double min, double max, double v, double low, double high) {
    return low + (log10(v) - log10(min)) / (log10(max) - log10(min)) * (high - low);
}

double rp_plot_px(const rp_plot_layout *l, double x) {
    return axis_at(l->x.min, l->x.max, x, l->main.left, l->main.right);
}

double rp_plot_py(const rp_plot_layout *l, double y) {
    return axis_at(l->y.min, l->y.max, y, l->main.bottom, l->main.top);
}

static double data_x(const rp_plot_layout *l, double px) {
    double t = (px - l->main.left) / (l->main.right - l->main.left);
    return l->x.min * pow(l->x.max / l->x.min, t);
}

static double data_y(const rp_plot_layout *l, double py) {
    double t = (py - l->main.bottom) / (l->main.top - l->main.bottom);
    return l->y.min * pow(l->y.max / l->y.min, t);
}

/* ---- Roofs ----------------------------------------------------------------------------------- */

static const char *precision_title(rp_hw_precision precision) {
    static const char *const titles[RP_PRECISIONS] = {
        [RP_FP64] = "FP64", [RP_FP32] = "FP32", [RP_TF32] = "TF32", [RP_BF16] = "BF16",
        [RP_FP16] = "FP16", [RP_FP8] = "FP8",   [RP_FP6] = "FP6",   [RP_FP4] = "FP4",
        [RP_INT8] = "INT8", [RP_INT4] = "INT4", [RP_INT1] = "INT1", [RP_INT32] = "INT32"};
    return titles[precision];
}

static bool ceiling_used(const rp_report *report, size_t device, const rp_ceiling *c) {
    for (size_t i = 0; i < report->kernel_count; i++) {
        const rp_report_kernel *k = &report->kernels[i];
        if (k->device != device)
            continue;
        if (!strcmp(c->accumulate, "fp16")) {
            if (k->flops_fp16_acc16_tensor > 0)
                return true;
        } else if (k->flops[c->precision][c->path] > 0) {
            return true;
        }
    }
    return false;
}

/* Integer ceilings are left out: the y axis is FLOP/s. */
static bool roof_wanted(const rp_ceiling *c) {
    if (!(c->rate > 0) || !isfinite(c->rate))
        return false;
    if (c->compute)
        return !rp_precision_is_integer(c->precision);
    return c->level == RP_DRAM || c->level == RP_L2 || c->level == RP_L1 || c->level == RP_SHARED;
}

static void roof_label(const rp_ceiling *c, char *label, size_t size) {
    char rate[32];
    if (!c->compute) {
        static const char *const titles[] = {
            [RP_DRAM] = "DRAM", [RP_L2] = "L2", [RP_L1] = "L1", [RP_SHARED] = "shared"};
        rp_format_si(rate, sizeof rate, c->rate, "B/s");
        snprintf(label, size, "%s %s", titles[c->level], rate);
        return;
    }
    rp_format_si(rate, sizeof rate, c->rate, "FLOP/s");
    snprintf(label, size, "%s%s%s%s %s", precision_title(c->precision),
             c->path == RP_TENSOR ? " tensor" : " vector", *c->accumulate ? " (FP16 acc.)" : "",
             c->sparse ? " 2:4 sparse" : "", rate);
}

/* Two compute ceilings of one rate are one line with both names: "FP16 tensor, BF16 tensor 989 T".
 */
static bool join_roof(rp_plot_layout *l, const rp_ceiling *c, bool used) {
    for (size_t i = 0; i < l->roof_count; i++) {
        rp_plot_roof *r = &l->roofs[i];
        if (r->compute != c->compute || fabs(r->rate / c->rate - 1) > 0.005)
            continue;
        char added[96], joined[200];
        if (c->compute)
            snprintf(added, sizeof added, "%s%s%s", precision_title(c->precision),
                     c->path == r->path     ? ""
                     : c->path == RP_TENSOR ? " tensor"
                                            : " vector",
                     *c->accumulate ? " (FP16 acc.)" : "");
        else
            snprintf(added, sizeof added, "%s", rp_level_name(c->level));
        snprintf(joined, sizeof joined, "%s, %s", added, r->label);
        if (strlen(joined) < sizeof r->label)
            memcpy(r->label, joined, strlen(joined) + 1);
        r->used |= used;
        return true;
    }
    return false;
}

static rp_code make_roofs(rp_plot_layout *l, const rp_report *report, size_t device,
                          rp_error *error) {
    const rp_report_device *d = &report->devices[device];
    l->roofs = calloc(d->ceiling_count + 1, sizeof *l->roofs);
    if (!l->roofs)
        return rp_fail(error, RP_INTERNAL, "no memory for the plot");
    for (size_t i = 0; i < d->ceiling_count; i++) {
        const rp_ceiling *c = &d->ceilings[i];
        if (!roof_wanted(c))
            continue;
        bool used = c->compute ? ceiling_used(report, device, c) : c->level == l->level;
        if (join_roof(l, c, used))
            continue;
        rp_plot_roof *r = &l->roofs[l->roof_count++];
        r->compute = c->compute;
        r->path = c->path;
        r->used = used;
        r->rate = c->rate;
        r->provenance = c->provenance;
        roof_label(c, r->label, sizeof r->label);
    }
    /* A device alone, or kernels without FLOPs: nothing is in use, so FP32 vector stands for it. */
    bool any = false;
    for (size_t i = 0; i < l->roof_count; i++)
        any |= l->roofs[i].compute && l->roofs[i].used;
    for (size_t i = 0; i < l->roof_count && !any; i++)
        if (l->roofs[i].compute && strstr(l->roofs[i].label, "FP32"))
            l->roofs[i].used = true;
    return RP_OK;
}

static double roof_extreme(const rp_plot_layout *l, bool compute, bool used_only, bool highest) {
    double best = NAN;
    for (size_t i = 0; i < l->roof_count; i++) {
        const rp_plot_roof *r = &l->roofs[i];
        if (r->compute != compute || (used_only && !r->used))
            continue;
        if (isnan(best) || (highest ? r->rate > best : r->rate < best))
            best = r->rate;
    }
    return best;
}

/* Bandwidth of the level that the discs stand at; NaN where the device's is not known. */
static double level_rate(const rp_plot_layout *l) {
    return roof_extreme(l, false, true, true);
}

/* The bandwidth that the ridge is taken with: of that level, else the lowest there is. */
static double ridge_rate(const rp_plot_layout *l) {
    double rate = level_rate(l);
    return isnan(rate) ? roof_extreme(l, false, false, false) : rate;
}

/* ---- Discs ----------------------------------------------------------------------------------- */

/* DRAM where any kernel's DRAM bytes are known, else the next level that is. */
static rp_hw_level disc_level(const rp_report *report, size_t device) {
    static const rp_hw_level order[] = {RP_DRAM, RP_L2, RP_L1, RP_SHARED};
    for (size_t o = 0; o < sizeof order / sizeof order[0]; o++)
        for (size_t i = 0; i < report->kernel_count; i++)
            if (report->kernels[i].device == device && !isnan(report->kernels[i].bytes[order[o]]))
                return order[o];
    return RP_DRAM;
}

static bool place_disc(const rp_plot_layout *l, const rp_report_kernel *k, rp_plot_disc *disc) {
    *disc = (rp_plot_disc){.kernel = k, .hollow = k->modelled};
    if (k->flops_total > 0 && k->intensity[l->level] > 0 && isfinite(k->intensity[l->level]) &&
        k->flops_per_s > 0 && isfinite(k->flops_per_s)) {
        disc->x = k->intensity[l->level];
        disc->y = k->flops_per_s;
        return true;
    }
    double rate = level_rate(l);
    bool none = k->flops_total == 0 && !k->flops_lower_bound; /* known to do no arithmetic */
    if (none && !isnan(k->bytes[l->level]) && k->time_s > 0 && rate > 0) {
        disc->in_strip = true;
        disc->x = 0.5;
        disc->y = k->bytes[l->level] / k->time_s / rate;
        return true;
    }
    return false;
}

static int by_radius(const void *a, const void *b) {
    const rp_plot_disc *p = a, *q = b;
    if (p->radius != q->radius)
        return p->radius < q->radius ? 1 : -1;
    return p->kernel->number - q->kernel->number;
}

static rp_code make_discs(rp_plot_layout *l, const rp_report *report, size_t device,
                          rp_error *error) {
    l->discs = calloc(report->kernel_count + 1, sizeof *l->discs);
    if (!l->discs)
        return rp_fail(error, RP_INTERNAL, "no memory for the plot");
    double scale = l->height / 1000.0;
    for (size_t i = 0; i < report->kernel_count; i++) {
        const rp_report_kernel *k = &report->kernels[i];
        if (k->device != device)
            continue;
        rp_plot_disc *disc = &l->discs[l->disc_count];
        if (!place_disc(l, k, disc)) {
            l->unplaced++;
            continue;
        }
        /* Area is the share of time; the smallest are drawn larger than that so as to be seen. */
        double share = k->time_share > 0 ? fmin(k->time_share, 1) : 0;
        disc->radius = fmax(44 * sqrt(share), 4) * scale;
        l->has_strip |= disc->in_strip;
        if (disc->in_strip)
            l->strip_max = fmax(l->strip_max, disc->y);
        l->disc_count++;
    }
    qsort(l->discs, l->disc_count, sizeof *l->discs, by_radius);
    return RP_OK;
}

/* ---- Ranges and boxes ------------------------------------------------------------------------ */

static void widen(rp_plot_axis *axis, double low, double high) {
    if (low > 0 && isfinite(low) && (isnan(axis->min) || low < axis->min))
        axis->min = low;
    if (high > 0 && isfinite(high) && (isnan(axis->max) || high > axis->max))
        axis->max = high;
}

static rp_code make_ranges(rp_plot_layout *l, rp_error *error) {
    double bandwidth = ridge_rate(l), peak = roof_extreme(l, true, true, true);
    double top = roof_extreme(l, true, false, true);
    l->x = l->y = (rp_plot_axis){NAN, NAN};
    l->ridge_x = peak / bandwidth;
    l->ridge_y = peak;
    if (bandwidth > 0 && peak > 0) {
        widen(&l->x, roof_extreme(l, true, true, false) / bandwidth / 40, l->ridge_x * 12);
        widen(&l->x, NAN, top / bandwidth * 6);
        widen(&l->y, NAN, top * 2.2);
    }
    for (size_t i = 0; i < l->disc_count; i++) {
        const rp_plot_disc *d = &l->discs[i];
        if (d->in_strip)
            continue;
        widen(&l->x, d->x / 3, d->x * 3);
        widen(&l->y, d->y / 3, d->y * 3);
    }
    if (bandwidth > 0 && !isnan(l->x.min))
        widen(&l->y, bandwidth * l->x.min * 1.5, bandwidth * l->x.min * 1.5);
    if (!(l->x.min < l->x.max) || !(l->y.min < l->y.max))
        return rp_fail(
            error, RP_INPUT,
            "nothing to draw: neither a bandwidth and a compute ceiling of the device nor "
            "a kernel with FLOPs, bytes and time is known. Name the device with --device");
    if (l->y.max / l->y.min < 100)
        l->y.min = l->y.max / 100;
    return RP_OK;
}

static void make_boxes(rp_plot_layout *l) {
    double f = l->font, w = l->width, h = l->height;
    l->has_key = l->disc_count > 0 || l->unplaced > 0;
    l->main = (rp_plot_box){6.6 * f, w - 1.6 * f, 7 * f, h - 4.2 * f};
    if (l->has_key) {
        l->main.right = w * 0.72;
        l->key = (rp_plot_box){w * 0.735, w - 0.6 * f, l->main.bottom, l->main.top};
    }
    if (l->has_strip) {
        l->strip = (rp_plot_box){5.6 * f, 11 * f, l->main.bottom, l->main.top};
        l->main.left = l->strip.right + 6.6 * f;
        l->strip_max = fmax(1.15, l->strip_max * 1.15);
    }
}

/* ---- Segments and labels --------------------------------------------------------------------- */

static void clip_diagonal(const rp_plot_layout *l, rp_plot_roof *r, double end_rate) {
    r->x0 = l->x.min;
    r->y0 = r->rate * l->x.min;
    if (r->y0 < l->y.min) {
        r->y0 = l->y.min;
        r->x0 = l->y.min / r->rate;
    }
    r->y1 = fmin(end_rate, l->y.max);
    r->x1 = r->y1 / r->rate;
    if (r->x1 > l->x.max) {
        r->x1 = l->x.max;
        r->y1 = r->rate * l->x.max;
    }
    if (r->x1 < r->x0) { /* wholly left of the picture: shown as a stub on the edge would mislead */
        r->x0 = r->x1 = NAN;
        r->label_fits = false;
    }
}

static void make_segments(rp_plot_layout *l) {
    double bandwidth = ridge_rate(l), highest = roof_extreme(l, false, false, true);
    double used = roof_extreme(l, true, true, true), top = roof_extreme(l, true, false, true);
    for (size_t i = 0; i < l->roof_count; i++) {
        rp_plot_roof *r = &l->roofs[i];
        r->label_fits = true;
        r->beyond_x = r->beyond_y = NAN;
        if (!r->compute) {
            clip_diagonal(l, r, isnan(used) ? l->y.max : used);
            if (r->used && top > used && !isnan(r->x0)) {
                r->beyond_x = fmin(top / r->rate, l->x.max);
                r->beyond_y = r->rate * r->beyond_x;
            }
            continue;
        }
        r->y0 = r->y1 = r->rate;
        double from = r->used && highest > 0 ? r->rate / highest : r->rate / bandwidth;
        r->x0 = from > l->x.min ? from : l->x.min;
        r->x1 = l->x.max;
    }
}

static rp_plot_box text_box(double px, double py, double width, double height, int anchor) {
    double left = anchor < 0 ? px : anchor == 0 ? px - width / 2 : px - width;
    return (rp_plot_box){left, left + width, py - height / 2, py + height / 2};
}

static bool inside(const rp_plot_box *box, const rp_plot_box *in) {
    return box->left >= in->left && box->right <= in->right && box->bottom >= in->bottom &&
           box->top <= in->top;
}

static void label_horizontal(rp_plot_layout *l, rp_plot_roof *r, rp_plot_taken *taken) {
    double font = r->used ? l->font : l->font * 0.85;
    double width = rp_plot_text_width(r->label, font), height = font * 1.25;
    double line = rp_plot_py(l, r->rate);
    for (int below = 0; below < 2; below++) {
        double py = below ? line - height * 0.62 : line + height * 0.62;
        for (double right = l->main.right - 0.5 * font; right - width > l->main.left;
             right -= width * 0.25) {
            rp_plot_box box = text_box(right, py, width, height, 1);
            if (!inside(&box, &l->main) || !rp_plot_is_free(taken, &box))
                continue;
            r->label_x = data_x(l, right);
            r->label_y = data_y(l, py);
            r->label_anchor = 1;
            rp_plot_take(taken, &box);
            return;
        }
    }
    r->label_fits = false;
}

/* Takes a slanted label as a row of small boxes along its line. */
static bool slanted_is_free(const rp_plot_taken *taken, double px, double py, double cos_a,
                            double sin_a, double width, double height, const rp_plot_box *in) {
    for (double s = 0; s <= width; s += height / 2) {
        rp_plot_box box = text_box(px + s * cos_a, py + s * sin_a, height, height, 0);
        if (!inside(&box, in) || !rp_plot_is_free(taken, &box))
            return false;
    }
    return true;
}

static void label_diagonal(rp_plot_layout *l, rp_plot_roof *r, rp_plot_taken *taken) {
    double font = r->used ? l->font : l->font * 0.85;
    double width = rp_plot_text_width(r->label, font), height = font * 1.2;
    double ax = rp_plot_px(l, r->x0), ay = rp_plot_py(l, r->y0);
    double bx = rp_plot_px(l, r->x1), by = rp_plot_py(l, r->y1);
    double length = hypot(bx - ax, by - ay), c = (bx - ax) / length, s = (by - ay) / length;
    for (double at = font * 0.9; at + width < length; at += font) {
        double px = ax + at * c - s * height * 0.72, py = ay + at * s + c * height * 0.72;
        if (!slanted_is_free(taken, px, py, c, s, width, height, &l->main))
            continue;
        for (double along = 0; along <= width; along += height / 2) {
            rp_plot_box box = text_box(px + along * c, py + along * s, height, height, 0);
            rp_plot_take(taken, &box);
        }
        r->label_x = data_x(l, px);
        r->label_y = data_y(l, py);
        r->label_angle = atan2(by - ay, bx - ax) * 180 / 3.14159265358979323846;
        r->label_anchor = -1;
        return;
    }
    r->label_fits = false;
}

/* A bold diagonal must not run through a label. */
static void take_diagonals(const rp_plot_layout *l, rp_plot_taken *taken) {
    for (size_t i = 0; i < l->roof_count; i++) {
        const rp_plot_roof *r = &l->roofs[i];
        if (r->compute || isnan(r->x0))
            continue;
        double ax = rp_plot_px(l, r->x0), ay = rp_plot_py(l, r->y0);
        double bx = rp_plot_px(l, r->x1), by = rp_plot_py(l, r->y1);
        double steps = ceil(hypot(bx - ax, by - ay) / 6);
        for (double s = 0; s <= steps && r->used; s++) {
            rp_plot_box box =
                text_box(ax + (bx - ax) * s / steps, ay + (by - ay) * s / steps, 5, 5, 0);
            rp_plot_take(taken, &box);
        }
    }
}

static void label_roofs(rp_plot_layout *l, rp_plot_taken *taken) {
    for (int pass = 0; pass < 4; pass++) {
        bool compute = pass >= 2, used = pass % 2 == 0;
        if (pass == 2)
            take_diagonals(l, taken);
        for (size_t i = 0; i < l->roof_count; i++) {
            rp_plot_roof *r = &l->roofs[i];
            if (r->used != used || r->compute != compute || isnan(r->x0))
                continue;
            if (compute)
                label_horizontal(l, r, taken);
            else
                label_diagonal(l, r, taken);
        }
    }
}

static void disc_center(const rp_plot_layout *l, const rp_plot_disc *d, double *px, double *py) {
    if (d->in_strip) {
        *px = l->strip.left + d->x * (l->strip.right - l->strip.left);
        *py = l->strip.bottom + d->y / l->strip_max * (l->strip.top - l->strip.bottom);
    } else {
        *px = rp_plot_px(l, d->x);
        *py = rp_plot_py(l, d->y);
    }
}

static void number_at(const rp_plot_layout *l, rp_plot_disc *d, double px, double py, int anchor) {
    d->number_anchor = anchor;
    if (d->in_strip) {
        d->number_x = (px - l->strip.left) / (l->strip.right - l->strip.left);
        d->number_y = (py - l->strip.bottom) / (l->strip.top - l->strip.bottom) * l->strip_max;
    } else {
        d->number_x = data_x(l, px);
        d->number_y = data_y(l, py);
    }
}

/* Inside a disc that is large enough, else at the first free place around it, circle by circle. */
static void number_disc(rp_plot_layout *l, rp_plot_disc *d, rp_plot_taken *taken) {
    char text[24];
    snprintf(text, sizeof text, "%d%s", d->number, d->kernel->above_roof ? "▲" : "");
    double width = rp_plot_text_width(text, l->font), height = l->font * 1.1, px, py;
    disc_center(l, d, &px, &py);
    rp_plot_box middle = text_box(px, py, width, height, 0);
    if (d->radius * 1.5 > width && d->radius * 1.5 > height && rp_plot_is_free(taken, &middle)) {
        d->number_inside = true;
        number_at(l, d, px, py, 0);
        rp_plot_take(taken, &middle);
        return;
    }
    for (double reach = d->radius + l->font * 0.55; reach < d->radius + l->font * 4;
         reach += l->font * 0.5)
        for (int step = 0; step < 12; step++) {
            double angle = 0.6 + step * 6.2831853 / 12;
            double cx = px + cos(angle) * (reach + width * 0.4), cy = py + sin(angle) * reach;
            rp_plot_box box = text_box(cx, cy, width, height, 0);
            const rp_plot_box *in = d->in_strip ? &l->strip : &l->main;
            if (!inside(&box, in) || !rp_plot_is_free(taken, &box))
                continue;
            number_at(l, d, cx, cy, 0);
            rp_plot_take(taken, &box);
            return;
        }
    d->number_inside = true; /* crowded: over the disc rather than not at all */
    number_at(l, d, px, py, 0);
}

/* Spreads the strip's discs sideways where they would cover each other. */
static void spread_strip(rp_plot_layout *l) {
    double width = l->strip.right - l->strip.left, height = l->strip.top - l->strip.bottom;
    static const double lanes[] = {0.5, 0.25, 0.75, 0.38, 0.62, 0.15, 0.85};
    for (size_t i = 0; i < l->disc_count; i++) {
        rp_plot_disc *d = &l->discs[i];
        double best = -1, best_lane = 0.5;
        for (size_t n = 0; d->in_strip && n < sizeof lanes / sizeof lanes[0]; n++) {
            double gap = 1e9;
            for (size_t j = 0; j < i; j++)
                if (l->discs[j].in_strip)
                    gap = fmin(gap, hypot((lanes[n] - l->discs[j].x) * width,
                                          (d->y - l->discs[j].y) / l->strip_max * height) -
                                        l->discs[j].radius);
            if (gap > best) {
                best = gap;
                best_lane = lanes[n];
            }
            if (gap > d->radius)
                break;
        }
        d->x = d->in_strip ? best_lane : d->x;
    }
}

static void number_discs(rp_plot_layout *l, const rp_report *report, size_t device,
                         rp_plot_taken *taken) {
    if (!l->has_key)
        return;
    /* The key has room for two lines a kernel; the report's order says which matter. */
    size_t room = (size_t)((l->key.top - l->key.bottom - 3 * l->font) / (2.75 * l->font));
    size_t limit = room < KEY_LIMIT ? room : KEY_LIMIT, listed = 0;
    int last = 0;
    for (size_t i = 0; i < report->kernel_count && listed < limit; i++)
        if (report->kernels[i].device == device) {
            listed++;
            last = report->kernels[i].number;
        }
    l->keyed = listed;
    for (size_t i = 0; i < l->disc_count; i++) {
        rp_plot_disc *d = &l->discs[i];
        if (d->kernel->number > last)
            continue;
        d->number = d->kernel->number;
        number_disc(l, d, taken);
    }
}

/* ---- Words ----------------------------------------------------------------------------------- */

static void make_words(rp_plot_layout *l, const rp_report *report, const rp_plot_options *o) {
    const rp_report_device *d = &report->devices[o->device];
    const char *name = d->name && *d->name ? d->name : "unknown device";
    if (o->title)
        snprintf(l->title, sizeof l->title, "%s", o->title);
    else
        snprintf(l->title, sizeof l->title, "Roofline on %s%s", d->emulated ? "an emulated " : "",
                 name);
    rp_provenance flops = RP_ABSENT, bytes = RP_ABSENT, time = RP_ABSENT;
    for (size_t i = 0; i < l->disc_count; i++) {
        const rp_report_kernel *k = l->discs[i].kernel;
        flops = k->flops_provenance > flops ? k->flops_provenance : flops;
        bytes = k->bytes_provenance > bytes ? k->bytes_provenance : bytes;
        time = k->time_provenance > time ? k->time_provenance : time;
    }
    int n = snprintf(l->caption, sizeof l->caption, "Ceilings: %s.",
                     d->source && *d->source ? d->source : "not known");
    if (l->disc_count && n > 0 && (size_t)n < sizeof l->caption)
        snprintf(l->caption + n, sizeof l->caption - (size_t)n, " FLOPs %s, bytes %s, times %s.",
                 rp_provenance_name(flops), rp_provenance_name(bytes), rp_provenance_name(time));
    l->disc_note = !l->disc_count     ? ""
                   : report->modelled ? "Disc area: share of GPU time; hollow: modelled."
                                      : "Disc area: share of GPU time.";
}

/* ---- All together ---------------------------------------------------------------------------- */

rp_code rp_plot_layout_make(const rp_report *report, const rp_plot_options *options,
                            rp_plot_layout *layout, rp_error *error) {
    rp_plot_taken taken = {0};
    *layout = (rp_plot_layout){.width = options->width > 0 ? options->width : 1600,
                               .height = options->height > 0 ? options->height : 1000};
    if (options->device >= report->device_count)
        return rp_fail(error, RP_USAGE, "the report has %zu devices; there is no device %zu",
                       report->device_count, options->device);
    if (layout->width < 400 || layout->height < 300 || layout->width > 20000 ||
        layout->height > 20000)
        return rp_fail(error, RP_USAGE,
                       "a plot of %d x %d cannot be drawn: 400 x 300 to 20000 x 20000",
                       layout->width, layout->height);
    layout->font = fmax(9, 17 * fmin(layout->width / 1600.0, layout->height / 1000.0));
    layout->level = disc_level(report, options->device);
    rp_code code = make_roofs(layout, report, options->device, error);
    if (!code)
        code = make_discs(layout, report, options->device, error);
    if (!code)
        code = make_ranges(layout, error);
    if (code)
        goto out;
    make_boxes(layout);
    make_segments(layout);
    spread_strip(layout);
    /* Discs first: a label may stand anywhere else, a disc may not. */
    for (size_t i = 0; i < layout->disc_count && i < KEY_LIMIT; i++) {
        double px, py, r = layout->discs[i].radius * 0.8;
        disc_center(layout, &layout->discs[i], &px, &py);
        rp_plot_box box = {px - r, px + r, py - r, py + r};
        if (layout->discs[i].radius > layout->font)
            rp_plot_take(&taken, &box);
    }
    label_roofs(layout, &taken);
    taken.count = 0;
    for (size_t i = 0; i < layout->roof_count; i++)
        if (layout->roofs[i].label_fits && layout->roofs[i].compute) {
            const rp_plot_roof *r = &layout->roofs[i];
            double width = rp_plot_text_width(r->label, layout->font);
            rp_plot_box box =
                text_box(rp_plot_px(layout, r->label_x), rp_plot_py(layout, r->label_y), width,
                         layout->font * 1.2, r->label_anchor);
            rp_plot_take(&taken, &box);
        }
    number_discs(layout, report, options->device, &taken);
    make_words(layout, report, options);
out:
    free(taken.boxes);
    if (code)
        rp_plot_layout_free(layout);
    return code;
}

void rp_plot_layout_free(rp_plot_layout *layout) {
    free(layout->roofs);
    free(layout->discs);
    layout->roofs = NULL;
    layout->discs = NULL;
    layout->roof_count = layout->disc_count = 0;
}
