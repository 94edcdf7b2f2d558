/* SPDX-License-Identifier: Apache-2.0
 *
 * Importers: one file a foreign format, each fills a capture. A format is recognised by content,
 * never by the file's name. `rp_import` tries every importer's recognise() on the first bytes.
 */
#ifndef RP_IMPORTERS_IMPORTER_H
#define RP_IMPORTERS_IMPORTER_H

#include "capture/capture.h"
#include "support/error.h"
#include <stddef.h>

typedef struct rp_importer {
    const char *name;  /* "ncu-csv" */
    const char *title; /* "Nsight Compute CSV" */
    /* HEAD: up to 64 KiB from the start of the file (the beginning of the decompressed stream, if
     * it is gzip). Returns how sure it is: 0 no, 100 certain. */
    int (*recognise)(const char *path, const unsigned char *head, size_t length);
    /* Adds everything in the file at PATH to CAPTURE. A file with no kernel, or whose every metric is
     * missing, or that holds a permission error and no data, is RP_INPUT with that said. */
    rp_code (*import)(const char *path, rp_capture *capture, rp_error *error);
} rp_importer;

extern const rp_importer rp_importer_ncu_csv, rp_importer_ncu_rep, rp_importer_nsys,
    rp_importer_kineto, rp_importer_nvprof, rp_importer_rocprof, rp_importer_emulator;

/* Every importer, NULL at the end. */
extern const rp_importer *const rp_importers[];

/* Finds the format of PATH; RP_INPUT with the list of known formats if there is none. */
rp_code rp_import_recognise(const char *path, const rp_importer **importer, rp_error *error);

/* Recognises and imports one or several files into CAPTURE (created, not finished). */
rp_code rp_import(const char *const *paths, size_t n, rp_capture *capture, rp_error *error);

/* Opens PATH whatever it is: a capture, or a foreign file imported into memory. */
rp_code rp_open_any(const char *path, rp_capture **capture, rp_error *error);

#endif
