/* SPDX-License-Identifier: Apache-2.0
 *
 * Calibrations on disk: as records of the user's hardware database, which every later report
 * prefers, and as JSON (schema roofprof.calibration/1), which --check and --from read back.
 */
#ifndef RP_KERNELS_RECORD_H
#define RP_KERNELS_RECORD_H

#include "kernels/calibration.h"

/* Adds the best result of each ceiling to ceilings.csv in the user's folder (made if need be),
 * beside whatever is there: older records stay, with their dates. *WRITTEN: how many; PATH (may be
 * NULL): which file. Nothing is written, and *WRITTEN is 0, for emulated devices, for the host, for
 * slices of a device, and for devices that the database has no row of; *WHY then says so. Nor is a
 * result whose variants were not all tried, for it might replace a better one. RP_INTERNAL: it
 * cannot be written. */
rp_code rp_calibration_record(const rp_calibration *calibration, char *path, size_t path_size,
                              size_t *written, const char **why, rp_error *error);

/* Reads a document that calibrate --format json wrote. What a reader of this version does not know
 * is passed over. RP_INPUT if it is none. Text fields of ceilings' sources are lost. */
rp_code rp_calibration_read(const char *path, rp_calibration *calibration, rp_error *error);

/* A result that has become worse. */
typedef struct rp_loss {
    const char *name, *pattern; /* of base */
    double before, after;       /* NaN after: it is gone */
    double loss;                /* share of before; NaN if it is gone */
} rp_loss;

/* Compares NOW to BASE and puts those that lost more than SHARE (0.05: 5 %), or that are there no
 * longer, into *LOSSES (malloc'ed, *COUNT of them). Latencies count the other way round. RP_INPUT:
 * the two have no result in common, or are different devices' (by name) or one is modelled. */
rp_code rp_calibration_compare(const rp_calibration *base, const rp_calibration *now, double share,
                               rp_loss **losses, size_t *count, size_t *compared, rp_error *error);

#endif
