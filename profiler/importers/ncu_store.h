/* SPDX-License-Identifier: Apache-2.0
 *
 * From Nsight Compute's values to launches of a capture: what its CSV and its reports share. A
 * reader names the columns it meets, begins a launch, puts values, ends it; everything that must be
 * known of a launch as a whole happens here: its duration, its device, its config, counts that the
 * exporter gave per cycle only, and the joining of two runs.
 *
 * Key of a launch: process and number, within one file. Values that come for a launch already ended
 * are added to it (a metric given again is kept as it was first). If two processes of a file ran
 * the same kernels in the same order and one collected what the other did not, they are two runs of
 * one program: the second run's values are added to the launches of the first, by number, and a
 * note says so.
 *
 * Launches are written as they end, except those without a duration, which wait in bounded memory
 * for another run to bring it.
 */
#ifndef RP_IMPORTERS_NCU_STORE_H
#define RP_IMPORTERS_NCU_STORE_H

#include "capture/capture.h"
#include "importers/ncu_metrics.h"
#include "support/error.h"

typedef struct ncu_store ncu_store;

/* PATH is for messages and must live as long as the store. */
rp_code ncu_store_open(ncu_store **store, rp_capture *capture, const char *path, rp_error *error);
/* Writes what waits, adds the notes; RP_INPUT if no launch had a single number. WHY (may be NULL)
 * ends that message: what the file said about the reason. */
rp_code ncu_store_finish(ncu_store *store, const char *why, rp_error *error);
void ncu_store_close(ncu_store *store); /* NULL is fine */

/* The column of NAME and UNIT: see ncu_metrics_column. */
rp_code ncu_store_column(ncu_store *store, const char *name, size_t length, const char *unit,
                         size_t unit_length, const ncu_column **column, rp_error *error);

typedef struct ncu_launch {
    int64_t pid;                /* -1 not known */
    int64_t number;             /* the exporter's ID */
    const char *process, *host; /* NULL not known; folders are cut off */
    const char *kernel;
    size_t kernel_length;
    int64_t context, stream; /* -1 not known */
    int64_t device;          /* ordinal; -1 not known */
    int64_t range;           /* of the capture: the innermost NVTX range; -1 none */
    int cc_major, cc_minor;
    const char *device_name; /* NULL not known */
    bool has_shape;
    uint32_t grid[3], block[3];
} ncu_launch;
#define NCU_LAUNCH_INIT                                                                            \
    (ncu_launch) {                                                                                 \
        .pid = -1, .number = -1, .context = -1, .stream = -1, .device = -1, .range = -1,           \
        .cc_major = -1, .cc_minor = -1                                                             \
    }

/* The launch that values are put to from now on. A launch that is open is ended first. */
rp_code ncu_store_begin(ncu_store *store, const ncu_launch *launch, rp_error *error);
/* VALUE in the column's unit, exact to within ERROR_BOUND (0: a double as the exporter had it). */
void ncu_store_put(ncu_store *store, const ncu_column *column, double value, double error_bound);
/* A value that is no number: the device's name, or a setting (counted, not kept). */
void ncu_store_put_text(ncu_store *store, const ncu_column *column, const char *text,
                        size_t length);
/* A value that is not there. */
void ncu_store_put_missing(ncu_store *store, const ncu_column *column);
rp_code ncu_store_end(ncu_store *store, rp_error *error);

/* Launches begun so far. */
uint64_t ncu_store_launches(const ncu_store *store);

#endif
