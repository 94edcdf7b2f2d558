/* SPDX-License-Identifier: Apache-2.0
 *
 * Matching the kernels of two reports and measuring what changed; see diff.h.
 */
#include "analysis/diff.h"

#include "support/map.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIKENESS  0.6     /* of names, from which a rename is suggested */
#define PAIRS_MAX 4000000 /* name comparisons: beyond that no renames are looked for */

/* ---- Statistics ------------------------------------------------------------------------------ */

#define NORMAL_95 1.959963984540054

/* Two-sided 95 % point of Student's t: exact for 1 and 2 degrees, else the Cornish-Fisher expansion
 * around the normal quantile (0.7 % low at 3 degrees, exact to three digits from 6 on). */
static double student(double degrees) {
    const double z = NORMAL_95, v = degrees;
    if (v < 1.5)
        return 12.7062;
    if (v < 2.5)
        return 4.3027;
    return z + (pow(z, 3) + z) / (4 * v) + (5 * pow(z, 5) + 16 * pow(z, 3) + 3 * z) / (96 * v * v) +
           (3 * pow(z, 7) + 19 * pow(z, 5) + 17 * pow(z, 3) - 15 * z) / (384 * v * v * v);
}

/* Variance of the mean of a launch; NaN without a spread. Launches of other shapes are other work:
 * that they take longer is no noise. */
static double variance(const rp_report_kernel *kernel) {
    return pow(kernel->time_noise_s, 2) / (double)kernel->time_samples;
}

/* Half the width of the interval of now x SCALE_NOW - base x SCALE_BASE, of means; NaN if either
 * side has no spread. */
static double half_width(const rp_report_kernel *base, const rp_report_kernel *now,
                         double scale_base, double scale_now) {
    double a = variance(base) * scale_base * scale_base;
    double b = variance(now) * scale_now * scale_now;
    if (isnan(a + b) || a + b == 0)
        return a + b;
    double degrees = pow(a + b, 2) / (a * a / (double)base->time_noise_degrees +
                                      b * b / (double)now->time_noise_degrees);
    return student(degrees) * sqrt(a + b);
}

static void intervals(rp_diff_kernel *kernel) {
    const rp_report_kernel *base = kernel->base, *now = kernel->now;
    double total = half_width(base, now, (double)base->launches, (double)now->launches);
    double mean = half_width(base, now, 1, 1);
    kernel->time_low = kernel->time - total / base->time_s;
    kernel->time_high = kernel->time + total / base->time_s;
    kernel->mean_low = kernel->mean - mean / base->time_mean_s;
    kernel->mean_high = kernel->mean + mean / base->time_mean_s;
}

/* Variance of the whole, from the kernels whose spread is known; NaN if none is. */
static double total_variance(const rp_report *report) {
    double sum = NAN;
    for (size_t i = 0; i < report->kernel_count; i++) {
        const rp_report_kernel *kernel = &report->kernels[i];
        double v = variance(kernel) * pow((double)kernel->launches, 2);
        if (!isnan(v))
            sum = (isnan(sum) ? 0 : sum) + v;
    }
    return sum;
}

static void total_interval(rp_diff *diff) {
    double v = total_variance(diff->base) + total_variance(diff->now);
    double half = NORMAL_95 * sqrt(v) / diff->base->gpu_time_s;
    diff->total_low = diff->total - half;
    diff->total_high = diff->total + half;
}

static double change(double base, double now) {
    if (base == 0 && now == 0)
        return 0;
    return base > 0 ? (now - base) / base : NAN;
}

static void measure(const rp_diff *diff, rp_diff_kernel *kernel) {
    const rp_report_kernel *base = kernel->base, *now = kernel->now;
    double base_share = base ? base->time_s / diff->base->gpu_sum_s : 0;
    double now_share = now ? now->time_s / diff->now->gpu_sum_s : 0;
    kernel->time = kernel->mean = kernel->time_low = kernel->time_high = NAN;
    kernel->mean_low = kernel->mean_high = NAN;
    kernel->flops = kernel->bytes = kernel->launches = NAN;
    kernel->share = fmax(base_share, now_share); /* of the side that knows it */
    kernel->time_delta_s = (now ? now->time_s : 0) - (base ? base->time_s : 0);
    if (!base || !now)
        return;
    kernel->time = change(base->time_s, now->time_s);
    kernel->mean = change(base->time_mean_s, now->time_mean_s);
    /* a part of the FLOPs against all of them is no change of the work */
    if (base->flops_lower_bound == now->flops_lower_bound)
        kernel->flops = change(base->flops_total, now->flops_total);
    kernel->bytes = change(base->bytes[RP_DRAM], now->bytes[RP_DRAM]);
    kernel->launches = change((double)base->launches, (double)now->launches);
    kernel->bound_changed = base->bound != now->bound || strcmp(base->bound_by, now->bound_by) != 0;
    intervals(kernel);
}

/* ---- Matching -------------------------------------------------------------------------------- */

/* What makes a kernel the same in both runs: its name, its range, its device's number, and its
 * shape where the report is by config. */
static size_t identity(const rp_report_kernel *kernel, char *buffer, size_t size) {
    int length =
        snprintf(buffer, size, "%zu/%u.%u.%u/%u.%u.%u/%s/%s", kernel->device, kernel->grid[0],
                 kernel->grid[1], kernel->grid[2], kernel->block[0], kernel->block[1],
                 kernel->block[2], kernel->range ? kernel->range : "", kernel->name);
    return length < 0 ? 0 : (size_t)length;
}

/* The key of KERNEL, the caller's to free; EXACT: with device and shape, else the name alone. */
static char *make_key(const rp_report_kernel *kernel, bool exact, size_t *length) {
    size_t size = strlen(kernel->name) + (kernel->range ? strlen(kernel->range) : 0) + 128;
    char *key = malloc(size);
    if (!key)
        return NULL;
    if (exact) {
        *length = identity(kernel, key, size);
    } else {
        *length = strlen(kernel->name);
        memcpy(key, kernel->name, *length + 1);
    }
    return key;
}

/* Pairs kernels that neither side has paired yet: pairs[i] is the index in NOW of base kernel i, or
 * -1; taken[] marks those of NOW. */
static bool pair(const rp_report *base, const rp_report *now, bool exact, int64_t *pairs,
                 bool *taken) {
    rp_map names = {0};
    bool ok = true;
    for (size_t j = now->kernel_count; j-- > 0 && ok;) { /* backwards: the first of a name wins */
        size_t length = 0;
        char *key = taken[j] ? NULL : make_key(&now->kernels[j], exact, &length);
        int64_t *place = key ? rp_map_put(&names, key, length, NULL) : NULL;
        ok = taken[j] || place;
        if (place)
            *place = (int64_t)j;
        free(key);
    }
    for (size_t i = 0; i < base->kernel_count && ok; i++) {
        size_t length = 0;
        char *key = pairs[i] >= 0 ? NULL : make_key(&base->kernels[i], exact, &length);
        int64_t j = key ? rp_map_get(&names, key, length) : -1;
        ok = pairs[i] >= 0 || key;
        if (j >= 0 && !taken[j]) {
            pairs[i] = j;
            taken[j] = true;
        }
        free(key);
    }
    rp_map_free(&names);
    return ok;
}

/* ---- Renames --------------------------------------------------------------------------------- */

/* Dice coefficient of the letter pairs of two short names: 1 the same, 0 nothing in common. */
static double likeness(const char *a, const char *b) {
    unsigned char seen[1024] = {0};
    size_t n = 0, m = 0, common = 0;
    for (const unsigned char *p = (const unsigned char *)a; p[0] && p[1]; p++, n++)
        if (seen[(p[0] * 31u + p[1]) % sizeof seen] < 255)
            seen[(p[0] * 31u + p[1]) % sizeof seen]++;
    for (const unsigned char *p = (const unsigned char *)b; p[0] && p[1]; p++, m++) {
        unsigned char *slot = &seen[(p[0] * 31u + p[1]) % sizeof seen];
        common += *slot > 0;
        *slot -= *slot > 0;
    }
    return n + m ? 2.0 * (double)common / (double)(n + m) : 0;
}

static bool suggest(rp_diff *diff, const rp_report_kernel *base, const rp_report_kernel *now,
                    double score) {
    rp_diff_suggestion *grown =
        realloc(diff->suggestions, (diff->suggestion_count + 1) * sizeof *grown);
    if (!grown)
        return false;
    diff->suggestions = grown;
    grown[diff->suggestion_count++] =
        (rp_diff_suggestion){.base = base, .now = now, .likeness = score};
    return true;
}

/* The one that came and is most like kernel I of the base; -1 if none is like it. */
static int64_t most_like(const rp_report *base, const rp_report *now, size_t i, const bool *taken,
                         double *score) {
    int64_t best = -1;
    *score = LIKENESS;
    for (size_t j = 0; j < now->kernel_count; j++) {
        if (taken[j])
            continue;
        double like = likeness(base->kernels[i].short_name, now->kernels[j].short_name);
        if (like > *score || (like == *score && best < 0)) {
            *score = like;
            best = (int64_t)j;
        }
    }
    return best;
}

static bool find_renames(rp_diff *diff, bool follow, int64_t *pairs, bool *taken, bool *renamed) {
    const rp_report *base = diff->base, *now = diff->now;
    size_t gone = 0, came = 0;
    for (size_t i = 0; i < base->kernel_count; i++)
        gone += pairs[i] < 0;
    for (size_t j = 0; j < now->kernel_count; j++)
        came += !taken[j];
    if (gone == 0 || came == 0 || gone > PAIRS_MAX / came)
        return true;
    bool *suggested = calloc(now->kernel_count + 1, sizeof *suggested);
    if (!suggested)
        return false;
    memcpy(suggested, taken, now->kernel_count * sizeof *suggested);
    bool ok = true;
    for (size_t i = 0; i < base->kernel_count && ok; i++) {
        double score;
        int64_t j = pairs[i] < 0 ? most_like(base, now, i, suggested, &score) : -1;
        if (j < 0)
            continue;
        suggested[j] = true;
        ok = suggest(diff, &base->kernels[i], &now->kernels[j], score);
        if (follow) {
            pairs[i] = j;
            taken[j] = renamed[i] = true;
        }
    }
    free(suggested);
    return ok;
}

/* ---- Putting it together --------------------------------------------------------------------- */

static int by_delta(const void *left, const void *right) {
    const rp_diff_kernel *a = left, *b = right;
    double x = fabs(a->time_delta_s), y = fabs(b->time_delta_s);
    if (isnan(x) != isnan(y))
        return isnan(x) ? 1 : -1; /* not known goes last */
    if (x != y && !isnan(x))
        return x < y ? 1 : -1;
    const rp_report_kernel *k = a->base ? a->base : a->now, *l = b->base ? b->base : b->now;
    return strcmp(k->name, l->name);
}

static void collect(rp_diff *diff, const int64_t *pairs, const bool *taken, const bool *renamed) {
    const rp_report *base = diff->base, *now = diff->now;
    for (size_t i = 0; i < base->kernel_count; i++) {
        rp_diff_kernel *kernel = &diff->kernels[diff->kernel_count++];
        *kernel = (rp_diff_kernel){.base = &base->kernels[i],
                                   .now = pairs[i] >= 0 ? &now->kernels[pairs[i]] : NULL,
                                   .renamed = renamed[i]};
        diff->matched += pairs[i] >= 0;
        diff->vanished += pairs[i] < 0;
    }
    for (size_t j = 0; j < now->kernel_count; j++)
        if (!taken[j]) {
            diff->kernels[diff->kernel_count++] = (rp_diff_kernel){.now = &now->kernels[j]};
            diff->appeared++;
        }
    for (size_t i = 0; i < diff->kernel_count; i++)
        measure(diff, &diff->kernels[i]);
    qsort(diff->kernels, diff->kernel_count, sizeof *diff->kernels, by_delta);
}

static bool devices_differ(const rp_report *base, const rp_report *now) {
    if (base->device_count != now->device_count)
        return true;
    for (size_t d = 0; d < base->device_count; d++)
        if (strcmp(base->devices[d].name, now->devices[d].name) != 0)
            return true;
    return false;
}

rp_code rp_diff_make(const rp_report *base, const rp_report *now, bool follow, rp_diff *diff,
                     rp_error *error) {
    size_t n = base->kernel_count, m = now->kernel_count;
    int64_t *pairs = malloc((n + 1) * sizeof *pairs);
    bool *taken = calloc(m + 1, sizeof *taken), *renamed = calloc(n + 1, sizeof *renamed);
    *diff = (rp_diff){.base = base, .now = now};
    diff->kernels = calloc(n + m + 1, sizeof *diff->kernels);
    bool ok = pairs && taken && renamed && diff->kernels;
    for (size_t i = 0; ok && i < n; i++)
        pairs[i] = -1;
    ok = ok && pair(base, now, true, pairs, taken) && pair(base, now, false, pairs, taken) &&
         find_renames(diff, follow, pairs, taken, renamed);
    if (ok) {
        collect(diff, pairs, taken, renamed);
        diff->total = change(base->gpu_time_s, now->gpu_time_s);
        total_interval(diff);
        diff->devices_differ = devices_differ(base, now);
    }
    free(pairs);
    free(taken);
    free(renamed);
    if (ok)
        return RP_OK;
    rp_diff_free(diff);
    return rp_fail(error, RP_INTERNAL, "out of memory");
}

void rp_diff_free(rp_diff *diff) {
    free(diff->kernels);
    free(diff->suggestions);
    memset(diff, 0, sizeof *diff);
}
