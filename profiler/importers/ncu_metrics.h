/* SPDX-License-Identifier: Apache-2.0
 *
 * The metrics of a file by their raw names, and the columns that show them: a raw name or a label
 * of the details page, in some unit. A column is looked up for every cell, so it is found once and
 * then by a hash.
 */
#ifndef RP_IMPORTERS_NCU_METRICS_H
#define RP_IMPORTERS_NCU_METRICS_H

#include "importers/ncu_names.h"
#include "importers/ncu_number.h"
#include "support/error.h"
#include "support/map.h"

#define NCU_NO_METRIC SIZE_MAX

typedef struct ncu_metric {
    char *name; /* raw */
    ncu_role role;
    char unit[24]; /* SI; "" not known or none */
    /* If it gives a count per cycle: the metric of the count (else NCU_NO_METRIC), those of the
     * elapsed cycles, what the value is to be divided by, and how many such clocks an SM has (0 not
     * known). */
    size_t count, clock_avg, clock_sum, clock_rate;
    double factor;
    int per_sm;
    /* For the owner of the launches: */
    int64_t id;      /* of the capture; -1 not yet */
    uint64_t stamp;  /* serial of the launch that has a value of it, */
    size_t slot;     /* where, */
    bool from_label; /* and from what */
} ncu_metric;

typedef struct ncu_column {
    ncu_unit unit;
    size_t metric;
    bool label;    /* a label of the details page: a raw value of the same metric is preferred */
    bool unscaled; /* the unit's scale is not known */
} ncu_column;

typedef struct ncu_metrics { /* zero-initialise but for the path, which is for messages */
    const char *path;
    rp_map names, columns_known;
    ncu_metric *items;
    size_t count, capacity;
    ncu_column **columns;
    size_t column_count, column_capacity;
    char unscaled_example[200]; /* a column whose unit's scale is not known */
} ncu_metrics;

/* The metric called NAME, made if it is new; NCU_NO_METRIC: no memory. */
size_t ncu_metrics_find(ncu_metrics *metrics, const char *name);

/* The column of NAME in UNIT (NULL: the unit of the raw metric). The same name and unit give the
 * same column; it lives as long as METRICS. *COLUMN is NULL if NAME is no raw metric and has no
 * unit: its scale cannot be known. */
rp_code ncu_metrics_column(ncu_metrics *metrics, const char *name, size_t length, const char *unit,
                           size_t unit_length, const ncu_column **column, rp_error *error);

void ncu_metrics_free(ncu_metrics *metrics);

#endif
