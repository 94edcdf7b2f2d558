/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of hwdb/ share: the database's inside, and the building of ceilings, which loading
 * (rows) and matching (devices that have no row) both need.
 */
#ifndef RP_HWDB_INTERNAL_H
#define RP_HWDB_INTERNAL_H

#include "hwdb/hwdb.h"
#include "hwdb/table.h"

struct rp_hwdb {
    char *folder;
    rp_hw_table devices_table, throughput_table, measured_table, links_table, rules_table,
        ceilings_table;
    rp_device *devices;
    size_t device_count;
    const rp_device **found; /* candidates of the last rp_hwdb_find */
    rp_metric_rule *rules;
    char **rule_texts; /* of each rule: what its terms point into */
    size_t rule_count;
    rp_link *links;
    size_t link_count;
    rp_measurement *measurements;
    size_t measurement_count;
    rp_error *error; /* of the load in progress */
};

/* A growing or a bounded list of ceilings. Bounded: room is fixed, what does not fit is dropped and
 * `full` set. */
typedef struct rp_ceiling_list {
    rp_ceiling *items;
    size_t count, room;
    bool bounded, full;
} rp_ceiling_list;

/* Adds the theoretical ceilings of DEVICE (throughput x SMs x clock; 2 x memory clock x bus / 8).
 */
void rp_ceilings_theoretical(const rp_hwdb *db, const rp_device *device, rp_ceiling_list *list);
void rp_ceilings_add(rp_ceiling_list *list, const rp_ceiling *ceiling);

/* Value of LIMIT for DEVICE in the throughput table; NaN unknown. SOURCE may be NULL. */
double rp_throughput(const rp_hwdb *db, const rp_device *device, const char *limit,
                     const char *instruction, const char *accumulate, const char **source);

/* True if the ;-separated LIST has ITEM (exactly). */
bool rp_list_has(const char *list, const char *item);

#endif
