/* SPDX-License-Identifier: Apache-2.0
 *
 * Ingest: the tracer's spools become a capture. Reads what is there up to the first frame that is
 * torn or damaged; a spool without an end frame is a program that was killed, and the capture says
 * so. Several spools (processes, ranks) go into one capture.
 */
#ifndef RP_CAPTURE_INGEST_H
#define RP_CAPTURE_INGEST_H

#include "capture/capture.h"

typedef struct rp_ingest_summary {
    /* Given: says what the device of a PCI address and UUID runs under, on the machine and at the
     * time of the call: a program that just ended ran under the same. False: not known. NULL: not
     * to be asked, as for spools of some other day. */
    bool (*ask)(const char *pci_address, const char *uuid, bool emulated, char driver[80],
                double *power_limit_w);
    /* Found: */
    uint64_t launches, copies, invalid; /* over all spools */
    uint64_t dropped;                   /* records that CUPTI or the tracer lost */
    uint64_t unchosen;                  /* launches that --kernel, --range ... left out */
    size_t processes, processes_without_kernels, unfinished;
    char problem[1024]; /* the last that kept a process from being traced; "" none */
} rp_ingest_summary;

/* Adds one spool. RP_INPUT: the file is none, or its version is not known. SUMMARY is added to. */
rp_code rp_ingest_spool(rp_capture *capture, const char *path, rp_ingest_summary *summary,
                        rp_error *error);

/* Every file of FOLDER whose name ends in .spool; their paths in *PATHS (free each and the array),
 * in the order in which their processes were started. */
rp_code rp_ingest_find(const char *folder, char ***paths, size_t *count, rp_error *error);

#endif
