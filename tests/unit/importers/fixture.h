/* SPDX-License-Identifier: Apache-2.0
 *
 * What the importers' tests share: fixtures by name, temporary files, an import into memory, and
 * looking things up in the profile that comes out.
 */
#ifndef TEST_IMPORTERS_FIXTURE_H
#define TEST_IMPORTERS_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/capture.h"
#include "importers/importer.h"
#include <cmocka.h>

/* The kernel name that every fixture has: quotes, backticks, a command, braces, @, {/Symbol, a
 * newline and bytes that are no UTF-8. It must come out as it went in. */
extern const char hostile_name[];

/* Path of a file of tests/golden/importers; lives until the next call. */
const char *fixture(const char *name);

/* A temporary file with the bytes; remove it with drop_file, which frees the path too. */
char *make_file(const char *suffix, const void *bytes, size_t length);
char *make_gzip(const void *bytes, size_t length);
/* A SQLite file made by running the SQL text of a fixture. */
char *make_database(const char *sql_fixture);
void drop_file(char *path);

/* The whole of a file; free it. */
char *read_file(const char *path, size_t *length);

/* Imports PATH with IMPORTER into memory, finishes, and loads by kernel. Fails the test on errors.
 */
void import_path(const rp_importer *importer, const char *path, rp_profile *profile);
/* The same by range. */
void import_by(const rp_importer *importer, const char *path, rp_group_by by, rp_profile *profile);
/* Imports PATH and expects RP_INPUT with WORD in the message. */
void refuse_path(const rp_importer *importer, const char *path, const char *word);
/* Imports PATH and only says how that went. */
rp_code try_path(const rp_importer *importer, const char *path);

/* How sure the importer is of PATH. */
int recognise_path(const rp_importer *importer, const char *path);

const rp_group *find_group(const rp_profile *profile,
                           const char *name); /* fails the test if none */
bool has_group(const rp_profile *profile, const char *name);
bool has_note(const rp_profile *profile, const char *severity, const char *word);
double total(const rp_group *group, rp_quantity quantity); /* NAN if absent */

#endif
