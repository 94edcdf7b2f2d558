/* SPDX-License-Identifier: Apache-2.0
 *
 * The shared parts of the importers' tests, see fixture.h.
 */
#include "fixture.h"
#include <fcntl.h>
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

const char hostile_name[] = "void k<int, \"x\">(`id`, $(touch pwned), 'q', {/Symbol a}, @at,\n"
                            "line two \xff\xfe)";

const char *fixture(const char *name) {
    static char path[4096];
    snprintf(path, sizeof path, "%s/tests/golden/importers/%s", ROOFPROF_SOURCE_DIR, name);
    return path;
}

static char *temporary(const char *suffix) {
    char *path;
    const char *folder = getenv("TMPDIR");
    assert_true(asprintf(&path, "%s/roofprof-test-XXXXXX%s", folder ? folder : "/tmp", suffix) > 0);
    int file = mkstemps(path, (int)strlen(suffix));
    assert_true(file >= 0);
    close(file);
    return path;
}

char *make_file(const char *suffix, const void *bytes, size_t length) {
    char *path = temporary(suffix);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
    return path;
}

char *make_gzip(const void *bytes, size_t length) {
    char *path = temporary(".json.gz");
    gzFile file = gzopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(gzwrite(file, bytes, (unsigned)length), length);
    assert_int_equal(gzclose(file), Z_OK);
    return path;
}

char *make_database(const char *sql_fixture) {
    size_t length;
    char *path = temporary(".sqlite"), *sql = read_file(fixture(sql_fixture), &length);
    sqlite3 *db;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    char *message = NULL;
    if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK)
        fail_msg("%s: %s", sql_fixture, message);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    free(sql);
    return path;
}

void drop_file(char *path) {
    unlink(path);
    free(path);
}

char *read_file(const char *path, size_t *length) {
    FILE *file = fopen(path, "rb");
    if (!file)
        fail_msg("%s cannot be opened", path);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    long size = ftell(file);
    assert_true(size >= 0);
    rewind(file);
    char *bytes = malloc((size_t)size + 1);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, (size_t)size, file), (size_t)size);
    bytes[size] = '\0';
    fclose(file);
    *length = (size_t)size;
    return bytes;
}

void import_by(const rp_importer *importer, const char *path, rp_group_by by, rp_profile *profile) {
    rp_capture *capture = NULL;
    rp_error error = {0};
    if (rp_capture_create(&capture, NULL, importer->title, &error))
        fail_msg("%s", error.message);
    if (importer->import(path, capture, &error))
        fail_msg("%s", error.message);
    if (rp_capture_finish(capture, &error))
        fail_msg("%s", error.message);
    if (rp_capture_load(capture, NULL, by, profile, &error))
        fail_msg("%s", error.message);
    rp_capture_close(capture);
}

void import_path(const rp_importer *importer, const char *path, rp_profile *profile) {
    import_by(importer, path, RP_BY_KERNEL, profile);
}

void refuse_path(const rp_importer *importer, const char *path, const char *word) {
    rp_capture *capture = NULL;
    rp_error error = {0};
    if (rp_capture_create(&capture, NULL, importer->title, &error))
        fail_msg("%s", error.message);
    rp_code code = importer->import(path, capture, &error);
    rp_capture_abandon(capture);
    assert_int_equal(code, RP_INPUT);
    if (!strstr(error.message, word))
        fail_msg("\"%s\" does not say \"%s\"", error.message, word);
}

rp_code try_path(const rp_importer *importer, const char *path) {
    rp_capture *capture = NULL;
    rp_error error = {0};
    if (rp_capture_create(&capture, NULL, importer->title, &error))
        fail_msg("%s", error.message);
    rp_code code = importer->import(path, capture, &error);
    rp_capture_abandon(capture);
    return code;
}

int recognise_path(const rp_importer *importer, const char *path) {
    unsigned char *head = malloc(65536);
    assert_non_null(head);
    gzFile file = gzopen(path, "rb");
    assert_non_null(file);
    int length = gzread(file, head, 65536);
    gzclose(file);
    assert_true(length >= 0);
    int sure = importer->recognise(path, head, (size_t)length);
    free(head);
    return sure;
}

static const rp_group *look_up(const rp_profile *profile, const char *name) {
    for (size_t i = 0; i < profile->group_count; i++)
        if (!strcmp(profile->groups[i].name, name))
            return &profile->groups[i];
    return NULL;
}

const rp_group *find_group(const rp_profile *profile, const char *name) {
    const rp_group *group = look_up(profile, name);
    if (!group)
        fail_msg("no kernel named \"%s\"", name);
    return group;
}

bool has_group(const rp_profile *profile, const char *name) {
    return look_up(profile, name) != NULL;
}

bool has_note(const rp_profile *profile, const char *severity, const char *word) {
    for (size_t i = 0; i < profile->note_count; i++)
        if (!strcmp(profile->notes[i].severity, severity) && strstr(profile->notes[i].text, word))
            return true;
    return false;
}

double total(const rp_group *group, rp_quantity quantity) {
    return group->q[quantity].n ? group->q[quantity].sum : NAN;
}
