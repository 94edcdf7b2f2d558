/* SPDX-License-Identifier: Apache-2.0
 *
 * What a spool says of counted and of chosen launches, by correlation id: gathered while its frames
 * are read, then asked for launch by launch. Part of the ingest.
 */
#ifndef RP_CAPTURE_SPOOL_COUNTS_H
#define RP_CAPTURE_SPOOL_COUNTS_H

#include "capture/capture.h"
#include "tracer/spool.h"

/* One SPOOL_METRICS frame. */
typedef struct rp_spool_metrics {
    uint32_t count, passes;
    const char *profile; /* "HW" */
    const char **names;
    int64_t *ids;      /* in the capture; -1 not added yet */
    uint32_t duration; /* index of the metric that is the launch's time; COUNT: none is */
} rp_spool_metrics;

/* One frame of SPOOL_COUNTERS or SPOOL_NODE_COUNTERS; VALUES lie in the spool. */
typedef struct rp_spool_counted {
    spool_counters record;
    uint64_t node; /* of a graph; 0: it was launched alone */
    const uint8_t *values;
    bool recorded; /* there is an activity record of the launch */
    bool used;     /* a launch has them */
} rp_spool_counted;

typedef struct rp_spool_counts {
    rp_spool_metrics *metrics;
    size_t metrics_count, metrics_room;
    rp_spool_counted *launches;
    size_t launch_count, launch_room;
    bool choosing; /* only some launches were asked for */
    uint32_t *selected;
    size_t selected_count, selected_room;
    spool_counted totals; /* the last; counted 0 and elapsed_ns 0: there is none */
    bool has_totals;
} rp_spool_counts;

/* Takes a frame of SPOOL_METRICS, COUNTERS, NODE_COUNTERS, COUNTED or SELECTED; others are ignored.
 * What it points to must outlive COUNTS. RP_INPUT without a message in ERROR: the frame is damaged.
 */
rp_code rp_spool_counts_collect(rp_spool_counts *counts, uint16_t type, const uint8_t *payload,
                                size_t length, rp_error *error);
/* All frames were seen: from here on look-ups work. */
void rp_spool_counts_ready(rp_spool_counts *counts);
void rp_spool_counts_free(rp_spool_counts *counts);

bool rp_spool_counts_selected(const rp_spool_counts *counts, uint32_t correlation);
/* NODE: as in rp_spool_counted. NULL: that launch was not counted. */
rp_spool_counted *rp_spool_counts_find(const rp_spool_counts *counts, uint32_t correlation,
                                       uint64_t node);

/* Its own time, ns; NaN: this configuration does not tell. */
double rp_spool_counts_duration(const rp_spool_counts *counts, const rp_spool_counted *counted);
uint32_t rp_spool_counts_passes(const rp_spool_counts *counts, const rp_spool_counted *counted);
/* Gives launch ID of CAPTURE its counters, in base units. */
rp_code rp_spool_counts_add(rp_spool_counts *counts, rp_spool_counted *counted, rp_capture *capture,
                            int64_t id, rp_provenance provenance, rp_error *error);

#endif
