/* SPDX-License-Identifier: Apache-2.0
 *
 * Counted and chosen launches of a spool: see spool_counts.h.
 */
#include "capture/spool_counts.h"
#include "support/array.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static rp_code no_memory(rp_error *error) {
    return rp_fail(error, RP_INTERNAL, "no memory for the counters of a spool");
}

/* ---- Frames ---------------------------------------------------------------------------------- */

static bool is_duration(const char *metric) {
    return strcmp(metric, "gpu__time_duration.sum") == 0;
}

/* TEXT holds the profile and COUNT names, NUL-terminated each. False: it does not. */
static bool split_names(rp_spool_metrics *m, const char *text, size_t length) {
    const char *end = text + length, *at = text;
    for (uint32_t i = 0; i <= m->count; i++) {
        const char *stop = at < end ? memchr(at, 0, (size_t)(end - at)) : NULL;
        if (!stop)
            return false;
        if (i == 0)
            m->profile = at;
        else
            m->names[i - 1] = at;
        at = stop + 1;
    }
    m->duration = m->count;
    for (uint32_t i = 0; i < m->count; i++)
        if (is_duration(m->names[i]))
            m->duration = i;
    return true;
}

static rp_code collect_metrics(rp_spool_counts *c, const uint8_t *payload, size_t length,
                               rp_error *error) {
    spool_metrics head;
    if (length < sizeof head)
        return RP_INPUT;
    memcpy(&head, payload, sizeof head);
    if (head.id != c->metrics_count || head.count > length)
        return RP_INPUT;
    if (!RP_ARRAY_ROOM(c->metrics, c->metrics_room, c->metrics_count))
        return no_memory(error);
    rp_spool_metrics *m = &c->metrics[c->metrics_count++];
    *m = (rp_spool_metrics){.count = head.count, .passes = head.passes};
    m->names = calloc(head.count + 1, sizeof *m->names);
    m->ids = malloc((head.count + 1) * sizeof *m->ids);
    if (!m->names || !m->ids)
        return no_memory(error);
    for (uint32_t i = 0; i < head.count; i++)
        m->ids[i] = -1;
    return split_names(m, (const char *)payload + sizeof head, length - sizeof head) ? RP_OK
                                                                                     : RP_INPUT;
}

static rp_code collect_counters(rp_spool_counts *c, bool node, const uint8_t *payload,
                                size_t length, rp_error *error) {
    spool_node_counters head = {0};
    size_t size = node ? sizeof head : sizeof head.counters;
    if (length < size)
        return RP_INPUT;
    memcpy(&head, payload, size);
    rp_spool_counted counted = {
        .record = head.counters, .node = head.node, .values = payload + size};
    if (counted.record.metrics >= c->metrics_count || (node && !head.node) ||
        length - size != c->metrics[counted.record.metrics].count * sizeof(double))
        return RP_INPUT;
    if (!RP_ARRAY_ROOM(c->launches, c->launch_room, c->launch_count))
        return no_memory(error);
    c->launches[c->launch_count++] = counted;
    return RP_OK;
}

static rp_code collect_selected(rp_spool_counts *c, const uint8_t *payload, size_t length,
                                rp_error *error) {
    c->choosing = true;
    for (size_t at = 0; at + sizeof(uint32_t) <= length; at += sizeof(uint32_t)) {
        if (!RP_ARRAY_ROOM(c->selected, c->selected_room, c->selected_count))
            return no_memory(error);
        memcpy(&c->selected[c->selected_count++], payload + at, sizeof(uint32_t));
    }
    return RP_OK;
}

rp_code rp_spool_counts_collect(rp_spool_counts *counts, uint16_t type, const uint8_t *payload,
                                size_t length, rp_error *error) {
    switch (type) {
    case SPOOL_METRICS:
        return collect_metrics(counts, payload, length, error);
    case SPOOL_COUNTERS:
    case SPOOL_NODE_COUNTERS:
        return collect_counters(counts, type == SPOOL_NODE_COUNTERS, payload, length, error);
    case SPOOL_SELECTED:
        return collect_selected(counts, payload, length, error);
    case SPOOL_COUNTED:
        if (length != sizeof counts->totals)
            return RP_INPUT;
        memcpy(&counts->totals, payload, length);
        counts->has_totals = true;
        return RP_OK;
    default:
        return RP_OK;
    }
}

void rp_spool_counts_free(rp_spool_counts *counts) {
    for (size_t i = 0; i < counts->metrics_count; i++) {
        free(counts->metrics[i].names);
        free(counts->metrics[i].ids);
    }
    free(counts->metrics);
    free(counts->launches);
    free(counts->selected);
    *counts = (rp_spool_counts){0};
}

/* ---- Look-ups -------------------------------------------------------------------------------- */

static int by_number(const void *a, const void *b) {
    uint32_t p = *(const uint32_t *)a, q = *(const uint32_t *)b;
    return (p > q) - (p < q);
}

static int by_correlation(const void *a, const void *b) {
    const rp_spool_counted *p = a, *q = b;
    int order = by_number(&p->record.correlation, &q->record.correlation);
    return order ? order : (p->node > q->node) - (p->node < q->node);
}

void rp_spool_counts_ready(rp_spool_counts *counts) {
    if (counts->selected_count)
        qsort(counts->selected, counts->selected_count, sizeof *counts->selected, by_number);
    if (counts->launch_count)
        qsort(counts->launches, counts->launch_count, sizeof *counts->launches, by_correlation);
}

bool rp_spool_counts_selected(const rp_spool_counts *counts, uint32_t correlation) {
    return !counts->choosing || (counts->selected_count &&
                                 bsearch(&correlation, counts->selected, counts->selected_count,
                                         sizeof correlation, by_number));
}

rp_spool_counted *rp_spool_counts_find(const rp_spool_counts *counts, uint32_t correlation,
                                       uint64_t node) {
    rp_spool_counted key = {.record = {.correlation = correlation}, .node = node};
    return counts->launch_count
               ? bsearch(&key, counts->launches, counts->launch_count, sizeof key, by_correlation)
               : NULL;
}

static double value_at(const rp_spool_counted *counted, uint32_t i) {
    double value;
    memcpy(&value, counted->values + i * sizeof value, sizeof value);
    return value;
}

double rp_spool_counts_duration(const rp_spool_counts *counts, const rp_spool_counted *counted) {
    const rp_spool_metrics *m = &counts->metrics[counted->record.metrics];
    return m->duration < m->count ? value_at(counted, m->duration) : NAN;
}

uint32_t rp_spool_counts_passes(const rp_spool_counts *counts, const rp_spool_counted *counted) {
    return counts->metrics[counted->record.metrics].passes;
}

/* ---- Into the capture ------------------------------------------------------------------------ */

/* The unit of a metric, which its name tells. Peaks are per cycle of the unit's clock. */
static const char *unit_of(const char *metric) {
    static const struct {
        const char *part, *unit, *peak;
    } units[] = {{"__time_duration", "s", "s"},
                 {".per_second", "Hz", "Hz"},
                 {"bytes", "byte", "byte/cycle"},
                 {"sectors", "sector", "sector/cycle"},
                 {"wavefronts", "wavefront", "wavefront/cycle"},
                 {"requests", "request", "request/cycle"},
                 {"warps", "warp", "warp/cycle"},
                 {"inst", "inst", "inst/cycle"},
                 {"ops_path", "op", "op/cycle"},
                 {"cycles", "cycle", "1"}};
    bool peak = strstr(metric, ".peak_sustained") != NULL;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strstr(metric, units[i].part))
            return peak ? units[i].peak : units[i].unit;
    return "1";
}

rp_code rp_spool_counts_add(rp_spool_counts *counts, rp_spool_counted *counted, rp_capture *capture,
                            int64_t id, rp_provenance provenance, rp_error *error) {
    rp_spool_metrics *m = &counts->metrics[counted->record.metrics];
    rp_code code = RP_OK;
    counted->used = true;
    for (uint32_t i = 0; i < m->count && !code; i++) {
        double value = value_at(counted, i);
        if (!isfinite(value)) /* a counter that this device, or slice of one, has not */
            continue;
        if (m->ids[i] < 0)
            code = rp_capture_metric(capture, m->names[i], unit_of(m->names[i]), &m->ids[i], error);
        if (i == m->duration)
            value *= 1e-9;
        if (!code)
            code = rp_capture_add_counter(capture, id, m->ids[i], value, provenance, error);
    }
    return code;
}
