/* SPDX-License-Identifier: Apache-2.0
 *
 * Importing for tests; see imported.h.
 */
#include "imported.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const rp_importer *const importers[] = {&rp_importer_ncu_csv, &rp_importer_ncu_rep};

static const rp_importer *surest(const char *path) {
    static unsigned char head[65536];
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t length = fread(head, 1, sizeof head, file);
    fclose(file);
    const rp_importer *best = NULL;
    int best_sure = 0;
    for (size_t i = 0; i < sizeof importers / sizeof *importers; i++) {
        int sure = importers[i]->recognise(path, head, length);
        assert_in_range(sure, 0, 100);
        if (sure > best_sure) {
            best = importers[i];
            best_sure = sure;
        }
    }
    return best;
}

static void make_folder(imported *in) {
    strcpy(in->folder, "/tmp/ncu-test-XXXXXX");
    assert_non_null(mkdtemp(in->folder));
}

static void import_into(imported *in, const char *path) {
    char output[128];
    rp_capture *capture = NULL;
    snprintf(output, sizeof output, "%s/capture.roof", in->folder);
    const rp_importer *importer = surest(path);
    if (!importer) {
        in->code = rp_fail(&in->error, RP_INPUT, "%s: no importer", path);
        return;
    }
    assert_int_equal(rp_capture_create(&capture, output, importer->title, &in->error), RP_OK);
    in->code = importer->import(path, capture, &in->error);
    if (in->code) {
        assert_int_not_equal(in->error.message[0], 0);
        rp_capture_abandon(capture);
        return;
    }
    rp_code code = rp_capture_finish(capture, &in->error);
    if (code)
        fail_msg("%s", in->error.message);
    rp_capture_close(capture);
    assert_int_equal(sqlite3_open_v2(output, &in->db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
}

imported import_path(const char *path) {
    imported in = {0};
    make_folder(&in);
    import_into(&in, path);
    return in;
}

imported import_bytes(const void *bytes, size_t length) {
    imported in = {0};
    char input[128];
    make_folder(&in);
    snprintf(input, sizeof input, "%s/input", in.folder);
    FILE *file = fopen(input, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
    import_into(&in, input);
    return in;
}

imported import_text(const char *text) {
    return import_bytes(text, strlen(text));
}

void imported_free(imported *in) {
    static const char *const names[] = {"input", "capture.roof"};
    char path[128];
    sqlite3_close(in->db);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s", in->folder, names[i]);
        unlink(path);
    }
    assert_int_equal(rmdir(in->folder), 0); /* nothing half-written was left */
    *in = (imported){0};
}

static sqlite3_stmt *run(const imported *in, const char *sql) {
    sqlite3_stmt *statement;
    if (!in->db)
        fail_msg("the import failed: %s", in->error.message);
    if (sqlite3_prepare_v2(in->db, sql, -1, &statement, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(in->db));
    return statement;
}

static double one_number(sqlite3_stmt *statement, bool needed) {
    double number = NAN;
    int state = sqlite3_step(statement);
    if (state == SQLITE_ROW && sqlite3_column_type(statement, 0) != SQLITE_NULL)
        number = sqlite3_column_double(statement, 0);
    else if (state != SQLITE_ROW && needed)
        fail_msg("no row: %s", sqlite3_sql(statement));
    sqlite3_finalize(statement);
    return number;
}

double ask(const imported *in, const char *sql) {
    return one_number(run(in, sql), true);
}

const char *ask_text(const imported *in, const char *sql) {
    static char text[16384];
    sqlite3_stmt *statement = run(in, sql);
    if (sqlite3_step(statement) != SQLITE_ROW)
        fail_msg("no row: %s", sql);
    const unsigned char *value = sqlite3_column_text(statement, 0);
    snprintf(text, sizeof text, "%s", value ? (const char *)value : "");
    sqlite3_finalize(statement);
    return text;
}

double counter(const imported *in, int index, const char *metric) {
    sqlite3_stmt *statement =
        run(in, "SELECT c.value FROM counter_values c JOIN launches l ON l.id = c.launch "
                "WHERE l.idx = ?1 AND c.metric = ?2");
    sqlite3_bind_int(statement, 1, index);
    sqlite3_bind_text(statement, 2, metric, -1, SQLITE_STATIC);
    return one_number(statement, false);
}

bool has_note(const imported *in, const char *part) {
    sqlite3_stmt *statement = run(in, "SELECT count(*) FROM notes WHERE instr(text, ?1) > 0");
    sqlite3_bind_text(statement, 1, part, -1, SQLITE_STATIC);
    return one_number(statement, true) > 0;
}
