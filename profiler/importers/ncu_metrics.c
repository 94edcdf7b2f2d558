/* SPDX-License-Identifier: Apache-2.0
 *
 * Metrics and the columns that show them; see ncu_metrics.h.
 */
#include "importers/ncu_metrics.h"

#include "support/array.h"
#include "support/text.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_MAX_LENGTH = 512 };

static rp_code no_memory(const ncu_metrics *metrics, rp_error *error) {
    return rp_fail(error, RP_INTERNAL, "%s: out of memory", metrics->path);
}

size_t ncu_metrics_find(ncu_metrics *metrics, const char *name) {
    bool added;
    int64_t *at = rp_map_put(&metrics->names, name, strlen(name), &added);
    if (!at)
        return NCU_NO_METRIC;
    if (!added)
        return (size_t)*at;
    if (!RP_ARRAY_ROOM(metrics->items, metrics->capacity, metrics->count))
        return NCU_NO_METRIC;
    char *copy = strdup(name);
    if (!copy)
        return NCU_NO_METRIC;
    size_t index = metrics->count++;
    *at = (int64_t)index;
    metrics->items[index] = (ncu_metric){.name = copy,
                                         .role = ncu_role_of(name),
                                         .id = -1,
                                         .count = NCU_NO_METRIC,
                                         .clock_avg = NCU_NO_METRIC,
                                         .clock_sum = NCU_NO_METRIC,
                                         .clock_rate = NCU_NO_METRIC};
    return index;
}

static size_t clock_metric(ncu_metrics *metrics, const char *unit, const char *roll_up) {
    char name[96];
    snprintf(name, sizeof name, "%s__cycles_elapsed.%s", unit, roll_up);
    return ncu_metrics_find(metrics, name);
}

/* If the metric gives a count per cycle: ties it to the metrics that turn it into the count. */
static void tie_count(ncu_metrics *metrics, size_t index) {
    char count[NAME_MAX_LENGTH], unit[32];
    double factor;
    if (!ncu_name_of_count(metrics->items[index].name, count, sizeof count, unit, sizeof unit,
                           &factor))
        return;
    size_t count_metric = ncu_metrics_find(metrics, count);
    size_t avg = clock_metric(metrics, unit, "avg"), sum = clock_metric(metrics, unit, "sum");
    size_t rate = clock_metric(metrics, unit, "avg.per_second");
    ncu_metric *m = &metrics->items[index]; /* after the last call that can move it */
    m->count = count_metric;
    m->clock_avg = avg;
    m->clock_sum = sum;
    m->clock_rate = rate;
    m->factor = factor;
    m->per_sm = strcmp(unit, "smsp") == 0 ? 4 : strcmp(unit, "sm") == 0 ? 1 : 0;
}

static void describe(char *buffer, size_t size, const char *name, size_t length, const char *unit,
                     size_t unit_length) {
    char *shown = rp_text_printable(name, length < 120 ? length : 120);
    char *shown_unit = rp_text_printable(unit, unit_length < 40 ? unit_length : 40);
    snprintf(buffer, size, "%s in \"%s\"", shown ? shown : "?", shown_unit ? shown_unit : "?");
    free(shown);
    free(shown_unit);
}

/* The raw name behind a column's, in BUFFER; false if it cannot be told. */
static bool raw_name(const char *name, size_t length, const ncu_column *column, char *buffer,
                     size_t size) {
    const char *raw = column->label ? ncu_name_of_label(name, length, column->unit.name) : NULL;
    if (raw)
        snprintf(buffer, size, "%s", raw);
    else if (length < size)
        snprintf(buffer, size, "%.*s", (int)length, name);
    else
        return false;
    return true;
}

/* A time that is given in bytes, or in a word that nobody knows, is no time: its scale cannot be
 * told. Units of other quantities vary by version ("sector", "", "byte/sector") and do not scale.
 */
static bool contradicts(const char *implied, const ncu_unit *unit) {
    if (!implied || !unit->name[0])
        return false;
    if (strcmp(implied, "ns") == 0)
        return strcmp(unit->name, "s") != 0;
    return strncmp(implied, "byte", 4) == 0 && !strstr(unit->name, "byte");
}

static rp_code column_make(ncu_metrics *metrics, const char *name, size_t length, const char *unit,
                           size_t unit_length, ncu_column **column, rp_error *error) {
    const char *implied = ncu_unit_of_metric(name, length);
    *column = NULL;
    if (!unit && !implied)
        return RP_OK;
    ncu_column *c = calloc(1, sizeof *c);
    if (!c)
        return no_memory(metrics, error);
    if (!unit) {
        unit = implied;
        unit_length = strlen(implied);
    }
    c->label = !implied;
    if (!ncu_unit_parse(unit, unit_length, &c->unit) || contradicts(implied, &c->unit)) {
        c->unscaled = true;
        describe(metrics->unscaled_example, sizeof metrics->unscaled_example, name, length, unit,
                 unit_length);
    }
    char raw[NAME_MAX_LENGTH];
    c->metric =
        raw_name(name, length, c, raw, sizeof raw) ? ncu_metrics_find(metrics, raw) : NCU_NO_METRIC;
    if (c->metric == NCU_NO_METRIC) {
        free(c);
        return length >= sizeof raw
                   ? rp_fail(error, RP_INPUT, "%s: a metric name of %zu characters", metrics->path,
                             length)
                   : no_memory(metrics, error);
    }
    if (!c->label)
        tie_count(metrics, c->metric);
    if (metrics->items[c->metric].unit[0] == 0)
        memcpy(metrics->items[c->metric].unit, c->unit.name, sizeof c->unit.name);
    *column = c;
    return RP_OK;
}

rp_code ncu_metrics_column(ncu_metrics *metrics, const char *name, size_t length, const char *unit,
                           size_t unit_length, const ncu_column **column, rp_error *error) {
    char key[NAME_MAX_LENGTH + 64];
    size_t key_length = 0;
    if (length > NAME_MAX_LENGTH)
        length = NAME_MAX_LENGTH; /* refused below */
    if (unit_length > 60)
        unit_length = 60;
    memcpy(key, name, length);
    key_length = length;
    key[key_length++] = unit ? 1 : 2; /* separates name and unit, tells "" from none */
    if (unit)
        memcpy(key + key_length, unit, unit_length);
    key_length += unit ? unit_length : 0;

    *column = NULL;
    bool added;
    int64_t *at = rp_map_put(&metrics->columns_known, key, key_length, &added);
    if (!at)
        return no_memory(metrics, error);
    if (!added) {
        *column = *at >= 0 ? metrics->columns[*at] : NULL;
        return RP_OK;
    }
    if (!RP_ARRAY_ROOM(metrics->columns, metrics->column_capacity, metrics->column_count))
        return no_memory(metrics, error);
    ncu_column *made;
    rp_code code = column_make(metrics, name, length, unit, unit_length, &made, error);
    if (code || !made)
        return code;
    *at = (int64_t)metrics->column_count;
    metrics->columns[metrics->column_count++] = made;
    *column = made;
    return RP_OK;
}

void ncu_metrics_free(ncu_metrics *metrics) {
    for (size_t i = 0; i < metrics->count; i++)
        free(metrics->items[i].name);
    for (size_t i = 0; i < metrics->column_count; i++)
        free(metrics->columns[i]);
    free(metrics->items);
    free(metrics->columns);
    rp_map_free(&metrics->names);
    rp_map_free(&metrics->columns_known);
}
