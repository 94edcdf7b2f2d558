/* SPDX-License-Identifier: Apache-2.0
 *
 * rocprof-compute's roofline.csv: ceilings that were measured beside the counters, a row a device,
 * in GB/s and GFLOP/s. It belongs to the pmc_perf.csv of its folder. Private to importers.
 */
#ifndef RP_IMPORTERS_ROCPROF_ROOFS_H
#define RP_IMPORTERS_ROCPROF_ROOFS_H

#include "capture/capture.h"
#include <stddef.h>

/* True if LINE begins such a file. */
bool rp_rocprof_is_roofs(const char *line, size_t length);

/* Looks for the ceilings file beside the counters file PATH (its name with "roofline" for
 * "pmc_perf"), and adds the row of device ORDINAL to the device ID of CAPTURE. ONLY: the counters
 * are of one device, so a file of one row is its, however the two tools number it. No such file, or
 * no such row: RP_OK and nothing is added. */
rp_code rp_rocprof_roofs_beside(const char *path, rp_capture *capture, int64_t id, int64_t ordinal,
                                bool only, rp_error *error);

/* The file PATH given by itself: RP_OK with a note if the counters lie beside it, for they bring it
 * along; else RP_INPUT, for it holds no kernel. */
rp_code rp_rocprof_roofs_only(const char *path, rp_capture *capture, rp_error *error);

#endif
