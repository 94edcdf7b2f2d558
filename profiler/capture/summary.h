/* SPDX-License-Identifier: Apache-2.0
 *
 * Summaries: what is kept of launches once they are added up. The writer makes them of all launches
 * while they come in, a filtered load of those that pass; both are then grouped by the same code.
 */
#ifndef RP_CAPTURE_SUMMARY_H
#define RP_CAPTURE_SUMMARY_H

#include "capture/interval.h"
#include "capture/profile.h"
#include "support/map.h"

/* A quantity over the launches of one summary where it is known. What is averaged (a percentage of
 * a peak, an occupancy) is so over time: a launch of 1 ms weighs as much as a hundred of 10 us.
 * stat.sum is then that mean x n; where not all times are known, the plain sum. */
typedef struct rp_summary_quantity {
    rp_quantity quantity;
    rp_stat stat;
    rp_stat time; /* of the same launches, s: to scale samples of launches that differ in length */
    rp_provenance provenance; /* the least trusted one among them */
    double plain, weighted;   /* while launches are added: sums of value, of value x time */
} rp_summary_quantity;

/* All launches of one config on one device in one cache state (and, if asked, in one range). */
typedef struct rp_summary {
    int64_t config, device, range;
    rp_cache_state cache;
    uint64_t launches, counted; /* counted: with at least one quantity */
    rp_stat time, time_warm;
    rp_provenance time_provenance; /* the least trusted one */
    rp_summary_quantity *quantities;
    size_t quantity_count, quantity_capacity;
    uint8_t slot[RP_QUANTITIES]; /* 1 + index in quantities; 0 not there */
} rp_summary;

typedef struct rp_summaries { /* zero-initialise */
    rp_summary *items;
    size_t count, capacity;
    rp_map index;
} rp_summaries;

/* The summary of this key, made if need be. NULL: no memory. Valid until the next call. */
rp_summary *rp_summaries_at(rp_summaries *summaries, int64_t config, int64_t device, int64_t range,
                            rp_cache_state cache);
/* TIME_S is that of the launch (NaN not known). False: no memory. */
bool rp_summary_add(rp_summary *summary, rp_quantity quantity, double value, double time_s,
                    rp_provenance provenance);
/* Room for QUANTITY, n = 0 if it is new. NULL: no memory. */
rp_summary_quantity *rp_summary_slot(rp_summary *summary, rp_quantity quantity);
void rp_summary_add_time(rp_summary *summary, double time_s, rp_provenance provenance);
void rp_summaries_free(rp_summaries *summaries);

/* What is added up per device. */
typedef struct rp_device_totals { /* zero-initialise */
    rp_intervals busy, copies;
    uint64_t launches, timed;
    double sum_s;
    double *clocks_long, *clocks_short; /* SM clocks seen in launches >= 12 us, and the others */
    size_t long_count, long_capacity, short_count, short_capacity;
} rp_device_totals;

/* Launches under this length read the SM clock low, s (docs/verdicts.md). */
#define RP_LONG_LAUNCH_S 12e-6

bool rp_device_totals_clock(rp_device_totals *totals, double clock_hz, double time_s);

/* The sums of one device, s and Hz; NaN where there was nothing to sum. */
typedef struct rp_device_sums {
    double sum_s, busy_s, span_s, copy_s;
    double observed_clock_hz; /* median of the long launches' clocks, or of all if none is long */
} rp_device_sums;
void rp_device_totals_sum(rp_device_totals *totals, rp_device_sums *sums);
void rp_device_totals_free(rp_device_totals *totals);

#endif
