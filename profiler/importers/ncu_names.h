/* SPDX-License-Identifier: Apache-2.0
 *
 * What Nsight Compute calls things. Its details page and its GUI print labels ("Duration", "SM
 * Frequency") where the raw page prints metric names; the table here leads labels back to raw
 * names, so that the rest of roofprof knows raw names only. Labels of all releases from 2019 to
 * 2025 share one table: a label that changed its metric is told apart by its unit ("Memory
 * Throughput" is a percentage in one section and bytes per second in another).
 */
#ifndef RP_IMPORTERS_NCU_NAMES_H
#define RP_IMPORTERS_NCU_NAMES_H

#include <stdbool.h>
#include <stddef.h>

/* The raw metric behind LABEL, printed in UNIT (SI name as in ncu_unit; "" if it had none). NULL if
 * the label is not known with that unit. */
const char *ncu_name_of_label(const char *label, size_t length, const char *unit);

/* True if LABEL is in the table with whatever unit: then a table that gives it no unit is refused
 * rather than taken for a column of no interest. */
bool ncu_name_is_label(const char *label, size_t length);

/* What an importer itself does with a metric, beside storing it. */
typedef enum ncu_role {
    NCU_COUNTER, /* stored, nothing else */
    NCU_IGNORED, /* identity, tables of limits, replay statistics: not a counter of the launch */
    NCU_TIME,    /* duration, best to worst: several names, the earliest in this list wins */
    NCU_TIME_AVG,
    NCU_TIME_RANGE,
    NCU_SM_CYCLES, /* with the next, a duration */
    NCU_SM_CLOCK,
    NCU_GPC_CYCLES,
    NCU_GPC_CLOCK,
    NCU_REGISTERS,
    NCU_SHARED_STATIC,
    NCU_SHARED_DYNAMIC,
    NCU_GRID_X,
    NCU_GRID_Y,
    NCU_GRID_Z,
    NCU_BLOCK_X,
    NCU_BLOCK_Y,
    NCU_BLOCK_Z,
    NCU_DEVICE_NAME, /* the rest fills the device's record */
    NCU_DEVICE_ORDINAL,
    NCU_DEVICE_CC_MAJOR,
    NCU_DEVICE_CC_MINOR,
    NCU_DEVICE_SMS,
    NCU_DEVICE_MEMORY,
    NCU_DEVICE_L2,
    NCU_DEVICE_BUS,
    NCU_DEVICE_CLOCK,        /* kHz */
    NCU_DEVICE_MEMORY_CLOCK, /* kHz */
    NCU_DEVICE_PCI,          /* device id << 16 | vendor id */
    NCU_ROLES
} ncu_role;

ncu_role ncu_role_of(const char *raw_name);

/* For metrics that say a count per elapsed cycle (X.sum.per_cycle_elapsed, or ncu's derived__X_x2):
 * writes the count's own name, X.sum, to COUNT, the prefix of its clock ("smsp") to UNIT, and the
 * factor by which VALUE is to be divided. False for all other metrics. */
bool ncu_name_of_count(const char *raw_name, char *count, size_t count_size, char *unit,
                       size_t unit_size, double *factor);

#endif
