/* SPDX-License-Identifier: Apache-2.0
 *
 * Adding launches up.
 */
#include "capture/summary.h"
#include "support/array.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(RP_QUANTITIES < 255, "rp_summary.slot holds an index in one byte");

rp_summary *rp_summaries_at(rp_summaries *summaries, int64_t config, int64_t device, int64_t range,
                            rp_cache_state cache) {
    int64_t key[4] = {config, device, range, cache};
    int64_t *index = rp_map_put(&summaries->index, key, sizeof key, NULL);
    if (!index)
        return NULL;
    if (*index >= 0)
        return &summaries->items[*index];
    if (!RP_ARRAY_ROOM(summaries->items, summaries->capacity, summaries->count))
        return NULL;
    *index = (int64_t)summaries->count;
    rp_summary *summary = &summaries->items[summaries->count++];
    *summary = (rp_summary){.config = config, .device = device, .range = range, .cache = cache};
    return summary;
}

rp_summary_quantity *rp_summary_slot(rp_summary *summary, rp_quantity quantity) {
    if (summary->slot[quantity])
        return &summary->quantities[summary->slot[quantity] - 1];
    if (!RP_ARRAY_ROOM(summary->quantities, summary->quantity_capacity, summary->quantity_count))
        return NULL;
    rp_summary_quantity *item = &summary->quantities[summary->quantity_count++];
    *item = (rp_summary_quantity){.quantity = quantity};
    summary->slot[quantity] = (uint8_t)summary->quantity_count;
    return item;
}

bool rp_summary_add(rp_summary *summary, rp_quantity quantity, double value, double time_s,
                    rp_provenance provenance) {
    rp_summary_quantity *item = rp_summary_slot(summary, quantity);
    if (!item)
        return false;
    item->plain += value;
    item->weighted += isnan(time_s) ? 0 : value * time_s;
    rp_stat_add(&item->stat, value);
    rp_stat_add(&item->time, time_s);
    if (!rp_quantity_table[quantity].sums)
        item->stat.sum = item->time.n == item->stat.n && item->time.sum > 0
                             ? (double)item->stat.n * item->weighted / item->time.sum
                             : item->plain;
    item->provenance = rp_provenance_worse(item->provenance, provenance);
    return true;
}

void rp_summary_add_time(rp_summary *summary, double time_s, rp_provenance provenance) {
    if (isnan(time_s))
        return;
    rp_stat_add(&summary->time, time_s);
    summary->time_provenance = rp_provenance_worse(summary->time_provenance, provenance);
}

void rp_summaries_free(rp_summaries *summaries) {
    for (size_t i = 0; i < summaries->count; i++)
        free(summaries->items[i].quantities);
    free(summaries->items);
    rp_map_free(&summaries->index);
    *summaries = (rp_summaries){0};
}

bool rp_device_totals_clock(rp_device_totals *totals, double clock_hz, double time_s) {
    if (isnan(clock_hz))
        return true;
    if (time_s >= RP_LONG_LAUNCH_S) {
        if (!RP_ARRAY_ROOM(totals->clocks_long, totals->long_capacity, totals->long_count))
            return false;
        totals->clocks_long[totals->long_count++] = clock_hz;
    } else {
        if (!RP_ARRAY_ROOM(totals->clocks_short, totals->short_capacity, totals->short_count))
            return false;
        totals->clocks_short[totals->short_count++] = clock_hz;
    }
    return true;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, size_t n) {
    qsort(values, n, sizeof *values, by_value);
    return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

static double observed_clock(rp_device_totals *totals) {
    if (totals->long_count)
        return median(totals->clocks_long, totals->long_count);
    return totals->short_count ? median(totals->clocks_short, totals->short_count) : NAN;
}

void rp_device_totals_sum(rp_device_totals *totals, rp_device_sums *sums) {
    int64_t start, end;
    *sums = (rp_device_sums){NAN, NAN, NAN, NAN, observed_clock(totals)};
    if (totals->timed)
        sums->sum_s = totals->sum_s;
    if (totals->busy.count) {
        sums->busy_s = (double)rp_intervals_union(&totals->busy) / 1e9;
        rp_intervals_span(&totals->busy, &start, &end);
        sums->span_s = (double)(end - start) / 1e9;
    }
    if (totals->copies.count)
        sums->copy_s = (double)rp_intervals_union(&totals->copies) / 1e9;
}

void rp_device_totals_free(rp_device_totals *totals) {
    rp_intervals_free(&totals->busy);
    rp_intervals_free(&totals->copies);
    free(totals->clocks_long);
    free(totals->clocks_short);
    *totals = (rp_device_totals){0};
}
