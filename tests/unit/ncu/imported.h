/* SPDX-License-Identifier: Apache-2.0
 *
 * A file imported into a capture, for tests to ask about: text or bytes in, SQL out.
 */
#ifndef TESTS_NCU_IMPORTED_H
#define TESTS_NCU_IMPORTED_H

#include "importers/importer.h"
#include <sqlite3.h>

typedef struct imported {
    rp_code code; /* of the import; the rest is empty if it is not RP_OK */
    rp_error error;
    sqlite3 *db;
    char folder[64]; /* of the input and the capture */
} imported;

/* The file at PATH, by the importer that is surest of it (RP_INPUT if none is sure at all). */
imported import_path(const char *path);
/* LENGTH bytes, written to a file of their own. */
imported import_bytes(const void *bytes, size_t length);
imported import_text(const char *text);
void imported_free(imported *in);

/* The one number or text that SQL gives; the test fails if there is none. NaN for NULL. */
double ask(const imported *in, const char *sql);
/* Lives until the next call. "" for NULL. */
const char *ask_text(const imported *in, const char *sql);
/* The value of METRIC in the launch numbered INDEX (of the exporter); NaN if it has none. */
double counter(const imported *in, int index, const char *metric);
/* True if a note holds PART. */
bool has_note(const imported *in, const char *part);

#endif
