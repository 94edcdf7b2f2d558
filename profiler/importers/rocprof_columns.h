/* SPDX-License-Identifier: Apache-2.0
 *
 * What the columns of AMD's CSV files mean, whatever version of the tools spelled them. Private to
 * importers.
 */
#ifndef RP_IMPORTERS_ROCPROF_COLUMNS_H
#define RP_IMPORTERS_ROCPROF_COLUMNS_H

typedef enum rp_roc_role {
    RP_ROC_IGNORED, /* known, and no counter */
    RP_ROC_NAME,
    RP_ROC_DISPATCH,
    RP_ROC_DEVICE,
    RP_ROC_PROCESS,
    RP_ROC_QUEUE,
    RP_ROC_GRID, /* work-items in all; GRID_X to GRID_Z by dimension */
    RP_ROC_GRID_X,
    RP_ROC_GRID_Y,
    RP_ROC_GRID_Z,
    RP_ROC_GROUP,
    RP_ROC_GROUP_X,
    RP_ROC_GROUP_Y,
    RP_ROC_GROUP_Z,
    RP_ROC_LDS,
    RP_ROC_VGPR,
    RP_ROC_START,
    RP_ROC_END,
    RP_ROC_DURATION,
    RP_ROC_COUNTER_NAME,
    RP_ROC_COUNTER_VALUE,
    RP_ROC_CALLS,
    RP_ROC_TOTAL,
    RP_ROC_COUNTER, /* a counter of its own */
    RP_ROC_CHANNEL, /* one channel of a counter: adds to it */
    RP_ROC_ROLES = RP_ROC_COUNTER
} rp_roc_role;

/* The role of the column HEADER. "wave_size_3" and "Kernel_ID_1" are repeats that a table join
 * numbered; they say nothing new and are ignored. */
rp_roc_role rp_roc_role_of(const char *header);

#endif
