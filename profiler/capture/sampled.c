/* SPDX-License-Identifier: Apache-2.0
 *
 * Totals of which a sample is known, where the launches of a config differ in their work. A mean of
 * the samples would be biased by where they lie (the tracer counts more of the first launches than
 * of the last), so each sample stands for the launches that are nearer to it than to any other; and
 * how far off the total may be is said, as an interval of 95 %.
 *
 * Where the samples' own times are known, group.c corrects the total by those of all launches (a
 * ratio estimate); then only its interval is made here. Launches whose instructions were counted
 * have no time of their own, since they ran instrumented.
 *
 * Variance: of a ratio estimate that of its residuals (Cochran, Sampling Techniques, 6.4); of the
 * others that of neighbours, whose differences hold both chance and trend.
 */
#include "capture/internal.h"
#include "support/array.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SAID = 5 }; /* intervals that are named in the note */

typedef struct sample {
    double at, value, time; /* the launch's number in its config; time NaN: not known */
} sample;

typedef struct series {
    sample *samples;
    size_t count, room;
} series;

/* What is known of one summary whose launches differ. */
typedef struct watched {
    size_t summary; /* index in the writer's */
    double launches;
    series of[RP_QUANTITIES]; /* empty: there is nothing to estimate */
    double widest;            /* half-width over the total, of the quantity where it is largest */
    rp_quantity quantity;
    double total;
    size_t samples;
} watched;

typedef struct estimator {
    rp_capture *capture;
    rp_error *error;
    watched *list;
    size_t count, room;
    int64_t *of_summary; /* index in list; -1: it is not watched */
    size_t summaries;
} estimator;

/* The launches of SUMMARY differ in ITEM, and not all are counted. Bytes of shared memory are told
 * by instructions in some launches and by wavefronts in others: that they differ says nothing. */
static bool is_estimate(const rp_summary *summary, const rp_summary_quantity *item) {
    return item->stat.n >= 2 && item->stat.n < summary->launches &&
           item->stat.max > item->stat.min * (1 + 1e-6) && item->quantity != RP_Q_TIME &&
           item->quantity != RP_Q_SHARED_BYTES && rp_quantity_table[item->quantity].sums;
}

static bool has_times(const rp_summary *summary, const rp_summary_quantity *item) {
    return item->time.n == item->stat.n && summary->time.n * 2 > summary->launches;
}

/* ---- Samples --------------------------------------------------------------------------------- */

static rp_code find_summaries(estimator *e) {
    const rp_summaries *all = &e->capture->writer->summaries;
    e->summaries = all->count;
    e->of_summary = malloc((all->count + 1) * sizeof *e->of_summary);
    if (!e->of_summary)
        return rp_db_no_memory(e->error);
    for (size_t i = 0; i < all->count; i++) {
        bool any = false;
        e->of_summary[i] = -1;
        for (size_t q = 0; q < all->items[i].quantity_count && !any; q++)
            any = is_estimate(&all->items[i], &all->items[i].quantities[q]);
        if (!any)
            continue;
        if (!RP_ARRAY_ROOM(e->list, e->room, e->count))
            return rp_db_no_memory(e->error);
        e->of_summary[i] = (int64_t)e->count;
        e->list[e->count++] = (watched){.summary = i};
    }
    return RP_OK;
}

static rp_code take_launch(void *context, sqlite3_stmt *row) {
    estimator *e = context;
    rp_summaries *all = &e->capture->writer->summaries;
    const rp_summary *summary =
        rp_summaries_at(all, sqlite3_column_int64(row, 0), sqlite3_column_int64(row, 1), -1,
                        rp_column_cache(row, 2));
    size_t at = summary ? (size_t)(summary - all->items) : 0;
    if (!summary)
        return rp_db_no_memory(e->error);
    if (at >= e->summaries || e->of_summary[at] < 0)
        return RP_OK;
    watched *w = &e->list[e->of_summary[at]];
    w->launches++;
    if (sqlite3_column_type(row, 4) == SQLITE_NULL)
        return RP_OK;
    for (size_t i = 0; i < summary->quantity_count; i++) {
        const rp_summary_quantity *item = &summary->quantities[i];
        series *s = &w->of[item->quantity];
        double value = rp_column_real(row, 5 + (int)item->quantity);
        if (isnan(value) || !is_estimate(summary, item))
            continue;
        if (!RP_ARRAY_ROOM(s->samples, s->room, s->count))
            return rp_db_no_memory(e->error);
        s->samples[s->count++] =
            (sample){w->launches, value, rp_launch_time_s(rp_column_real(row, 3))};
    }
    return RP_OK;
}

/* ---- Estimates ------------------------------------------------------------------------------- */

/* Launches that sample I stands for, of N. */
static double share_of(const series *s, size_t i, double n) {
    double from = i ? (s->samples[i - 1].at + s->samples[i].at) / 2 : 0.5;
    double to = i + 1 < s->count ? (s->samples[i].at + s->samples[i + 1].at) / 2 : n + 0.5;
    return to - from;
}

/* The variance of launches about sample I, from its neighbours. */
static double local_variance(const series *s, size_t i) {
    double sum = 0;
    int n = 0;
    if (i) {
        sum += pow(s->samples[i].value - s->samples[i - 1].value, 2) / 2;
        n++;
    }
    if (i + 1 < s->count) {
        sum += pow(s->samples[i + 1].value - s->samples[i].value, 2) / 2;
        n++;
    }
    return sum / n;
}

/* Before the first sample and after the last a trend goes on unseen: what it would add if it stayed
 * as it is between the two samples at that end. */
static double beyond(const series *s, double n) {
    const sample *a = s->samples, *z = &s->samples[s->count - 1];
    double before = a->at - 1, after = n - z->at;
    double first = fabs(a[1].value - a->value) / (a[1].at - a->at);
    double last = fabs(z->value - z[-1].value) / (z->at - z[-1].at);
    return before * before / 2 * first + after * after / 2 * last;
}

/* The total over N launches, and its standard error. */
static double nearest_total(const series *s, double n, double *error) {
    double total = 0, variance = 0;
    for (size_t i = 0; i < s->count; i++) {
        double share = share_of(s, i, n);
        total += share * s->samples[i].value;
        variance += share * fmax(share - 1, 0) * local_variance(s, i);
    }
    *error = sqrt(variance);
    return total;
}

/* The standard error of a total that is corrected by time. */
static double ratio_error(const series *s, double n) {
    double value = 0, time = 0, residuals = 0, count = (double)s->count;
    for (size_t i = 0; i < s->count; i++) {
        value += s->samples[i].value;
        time += s->samples[i].time;
    }
    for (size_t i = 0; i < s->count; i++)
        residuals += pow(s->samples[i].value - value / time * s->samples[i].time, 2);
    return n * sqrt((1 - count / n) * residuals / (count - 1) / count);
}

/* 97.5 % of Student's distribution with N - 1 degrees of freedom. */
static double student(size_t n) {
    static const double table[] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365,
                                   2.306,  2.262, 2.228, 2.201, 2.179, 2.160, 2.145,
                                   2.131,  2.120, 2.110, 2.101, 2.093, 2.086};
    const size_t known = sizeof table / sizeof *table;
    return n < 2 ? NAN : n - 2 < known ? table[n - 2] : 1.96 + 2.4 / (double)(n - 1);
}

static void estimate(const rp_summary *summary, rp_summary_quantity *item, watched *w) {
    const series *s = &w->of[item->quantity];
    double n = (double)summary->launches, error, total, unseen = 0;
    if (s->count < 2 || w->launches != n)
        return;
    if (has_times(summary, item)) {
        total = item->stat.sum / (double)item->stat.n * n * rp_stat_mean(&summary->time) /
                rp_stat_mean(&item->time);
        error = ratio_error(s, n);
    } else {
        total = nearest_total(s, n, &error);
        unseen = beyond(s, n);
        item->stat.sum = total * (double)item->stat.n / n;
    }
    double half = (student(s->count) * error + unseen) / total;
    if (half > w->widest) {
        w->widest = half;
        w->quantity = item->quantity;
        w->total = total;
        w->samples = s->count;
    }
}

/* ---- What is said ---------------------------------------------------------------------------- */

static int by_width(const void *a, const void *b) {
    const watched *p = a, *q = b;
    return (p->widest < q->widest) - (p->widest > q->widest);
}

static rp_code kernel_name(estimator *e, int64_t config, char *name, size_t size) {
    sqlite3_stmt *row = NULL;
    bool more = false;
    rp_code code = rp_db_prepare(e->capture, &row,
                                 "SELECT k.short_name FROM configs c JOIN kernels k ON k.id ="
                                 " c.kernel WHERE c.id = ?",
                                 e->error);
    if (code == RP_OK) {
        sqlite3_bind_int64(row, 1, config);
        code = rp_db_next(e->capture, row, &more, e->error);
    }
    if (code == RP_OK && more)
        snprintf(name, size, "%.60s", (const char *)sqlite3_column_text(row, 0));
    sqlite3_finalize(row);
    return code;
}

static rp_code note_intervals(estimator *e) {
    const rp_summaries *all = &e->capture->writer->summaries;
    char text[1024] = "";
    size_t used = 0, said = 0;
    rp_code code = RP_OK;
    if (e->count)
        qsort(e->list, e->count, sizeof *e->list, by_width);
    for (size_t i = 0; code == RP_OK && i < e->count && said < SAID; i++) {
        const watched *w = &e->list[i];
        char name[64] = "";
        if (!(w->widest > 0))
            break;
        code = kernel_name(e, all->items[w->summary].config, name, sizeof name);
        used += (size_t)snprintf(text + used, sizeof text - used,
                                 "%s%s %s %.6g +- %.2g %% (%zu of %.0f launches)", said ? "; " : "",
                                 name, rp_quantity_table[w->quantity].key, w->total,
                                 100 * w->widest, w->samples, w->launches);
        said++;
    }
    if (code != RP_OK || !said)
        return code;
    return rp_capture_add_note(e->capture, "info", e->error,
                               "launches of one shape differ in their work, so that totals of "
                               "those of which some were counted are estimates. Intervals of "
                               "95 %%, the widest: %s%s",
                               text, e->count > said ? "; and others" : "");
}

static void free_estimator(estimator *e) {
    for (size_t i = 0; i < e->count; i++)
        for (int q = 0; q < RP_QUANTITIES; q++)
            free(e->list[i].of[q].samples);
    free(e->list);
    free(e->of_summary);
}

/* The rows of all launches, with what was counted of them: quantities are columns 5 and on. */
static rp_code read_samples(estimator *e) {
    return rp_db_each(e->capture,
                      "SELECT l.config, p.device, p.cache, l.time_ns, q.* FROM launches l"
                      " JOIN places p ON p.id = l.place LEFT JOIN quantities q ON q.launch = l.id"
                      " ORDER BY l.id",
                      take_launch, e, e->error);
}

rp_code rp_capture_estimate(rp_capture *capture, rp_error *error) {
    estimator e = {.capture = capture, .error = error};
    rp_summaries *all = &capture->writer->summaries;
    rp_code code = find_summaries(&e);
    if (code == RP_OK && e.count)
        code = read_samples(&e);
    for (size_t i = 0; code == RP_OK && i < e.count; i++) {
        rp_summary *summary = &all->items[e.list[i].summary];
        for (size_t q = 0; q < summary->quantity_count; q++)
            if (is_estimate(summary, &summary->quantities[q]))
                estimate(summary, &summary->quantities[q], &e.list[i]);
    }
    if (code == RP_OK)
        code = note_intervals(&e);
    free_estimator(&e);
    return code;
}
