/* SPDX-License-Identifier: Apache-2.0
 *
 * The file under a capture: creating, opening and closing it, and SQLite with our errors.
 */
#include "capture/internal.h"
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ---- SQLite with our errors ------------------------------------------------------------------ */

rp_code rp_db_no_memory(rp_error *error) {
    return rp_fail(error, RP_INTERNAL, "no memory left; close other programs or split the input");
}

static rp_code write_fail(rp_capture *capture, int result, rp_error *error) {
    const char *name = capture->path ? capture->path : "a temporary database";
    int cause = sqlite3_system_errno(capture->db);
    if (result == SQLITE_FULL)
        return rp_fail(error, RP_INTERNAL,
                       "cannot write \"%s\": the disk is full; make room or choose another place "
                       "for the output",
                       name);
    if (result == SQLITE_IOERR)
        return rp_fail(error, RP_INTERNAL,
                       "cannot write \"%s\": %s; make room or choose another place for the output",
                       name, cause ? strerror(cause) : "the disk is full, or a limit was reached");
    return rp_fail(error, RP_INTERNAL, "cannot write \"%s\": %s", name,
                   sqlite3_errmsg(capture->db));
}

rp_code rp_db_fail(rp_capture *capture, rp_error *error) {
    int result = sqlite3_errcode(capture->db) & 0xFF;
    if (result == SQLITE_NOMEM)
        return rp_db_no_memory(error);
    if (capture->writer || !capture->path)
        return write_fail(capture, result, error);
    return rp_fail(error, RP_INPUT,
                   "the capture \"%s\" cannot be read: %s; the file is damaged, make it again",
                   capture->path, sqlite3_errmsg(capture->db));
}

rp_code rp_db_exec(rp_capture *capture, const char *sql, rp_error *error) {
    return sqlite3_exec(capture->db, sql, NULL, NULL, NULL) == SQLITE_OK
               ? RP_OK
               : rp_db_fail(capture, error);
}

rp_code rp_db_prepare(rp_capture *capture, sqlite3_stmt **statement, const char *sql,
                      rp_error *error) {
    return sqlite3_prepare_v2(capture->db, sql, -1, statement, NULL) == SQLITE_OK
               ? RP_OK
               : rp_db_fail(capture, error);
}

rp_code rp_db_run(rp_capture *capture, sqlite3_stmt *statement, rp_error *error) {
    int result = sqlite3_step(statement);
    rp_code code = result == SQLITE_DONE ? RP_OK : rp_db_fail(capture, error);
    sqlite3_reset(statement);
    return code;
}

rp_code rp_db_next(rp_capture *capture, sqlite3_stmt *statement, bool *row, rp_error *error) {
    int result = sqlite3_step(statement);
    *row = result == SQLITE_ROW;
    return *row || result == SQLITE_DONE ? RP_OK : rp_db_fail(capture, error);
}

rp_code rp_db_each(rp_capture *capture, const char *sql,
                   rp_code (*take)(void *context, sqlite3_stmt *row), void *context,
                   rp_error *error) {
    sqlite3_stmt *statement = NULL;
    bool row = true;
    rp_code code = rp_db_prepare(capture, &statement, sql, error);
    while (code == RP_OK) {
        code = rp_db_next(capture, statement, &row, error);
        if (code != RP_OK || !row)
            break;
        code = take(context, statement);
    }
    sqlite3_finalize(statement);
    return code;
}

rp_code rp_db_damaged(const rp_capture *capture, const char *what, rp_error *error) {
    return rp_fail(error, RP_INPUT,
                   "the capture \"%s\" is damaged: %s; make it again, or copy it again",
                   capture->path ? capture->path : "in memory", what);
}

bool rp_is_index(int64_t id, size_t count) {
    return id >= 0 && (uint64_t)id < count;
}

void rp_bind_integer(sqlite3_stmt *statement, int column, int64_t value) {
    if (value == -1)
        sqlite3_bind_null(statement, column);
    else
        sqlite3_bind_int64(statement, column, value);
}

void rp_bind_real(sqlite3_stmt *statement, int column, double value) {
    sqlite3_bind_double(statement, column, value); /* SQLite stores NaN as NULL */
}

void rp_bind_text(sqlite3_stmt *statement, int column, const char *text) {
    sqlite3_bind_text(statement, column, text, -1, SQLITE_STATIC); /* NULL is NULL */
}

int64_t rp_column_integer(sqlite3_stmt *statement, int column) {
    return sqlite3_column_type(statement, column) == SQLITE_NULL
               ? -1
               : sqlite3_column_int64(statement, column);
}

double rp_column_real(sqlite3_stmt *statement, int column) {
    return sqlite3_column_type(statement, column) == SQLITE_NULL
               ? NAN
               : sqlite3_column_double(statement, column);
}

rp_provenance rp_column_provenance(sqlite3_stmt *statement, int column) {
    int64_t value = rp_column_integer(statement, column);
    return value >= 0 && value < RP_PROVENANCES ? (rp_provenance)value : RP_ABSENT;
}

rp_cache_state rp_column_cache(sqlite3_stmt *statement, int column) {
    int64_t value = rp_column_integer(statement, column);
    return value >= 0 && value <= RP_CACHE_WARM ? (rp_cache_state)value : RP_CACHE_UNKNOWN;
}

char *rp_column_text(sqlite3_stmt *statement, int column, bool *failed) {
    if (sqlite3_column_type(statement, column) == SQLITE_NULL)
        return NULL;
    const char *text = (const char *)sqlite3_column_text(statement, column);
    char *copy = text ? strdup(text) : NULL;
    if (!copy)
        *failed = true;
    return copy;
}

void rp_bind_stat(sqlite3_stmt *statement, int first, const rp_stat *stat) {
    bool known = stat->n > 0;
    sqlite3_bind_int64(statement, first, (int64_t)stat->n);
    rp_bind_real(statement, first + 1, known ? stat->sum : NAN);
    rp_bind_real(statement, first + 2, known ? stat->min : NAN);
    rp_bind_real(statement, first + 3, known ? stat->max : NAN);
    rp_bind_real(statement, first + 4, known ? stat->sum_squares : NAN);
}

rp_stat rp_column_stat(sqlite3_stmt *statement, int first) {
    int64_t n = rp_column_integer(statement, first);
    return (rp_stat){n > 0 ? (uint64_t)n : 0, rp_column_real(statement, first + 1),
                     rp_column_real(statement, first + 2), rp_column_real(statement, first + 3),
                     rp_column_real(statement, first + 4)};
}

rp_code rp_meta_set(rp_capture *capture, const char *key, const char *value, rp_error *error) {
    sqlite3_stmt *statement = NULL;
    const char *sql =
        value ? "INSERT OR REPLACE INTO meta VALUES(?1, ?2)" : "DELETE FROM meta WHERE key = ?1";
    rp_code code = rp_db_prepare(capture, &statement, sql, error);
    if (code != RP_OK)
        return code;
    rp_bind_text(statement, 1, key);
    if (value)
        rp_bind_text(statement, 2, value);
    code = rp_db_run(capture, statement, error);
    sqlite3_finalize(statement);
    return code;
}

rp_code rp_meta_get(rp_capture *capture, const char *key, char **value, rp_error *error) {
    *value = NULL;
    sqlite3_stmt *statement = NULL;
    rp_code code =
        rp_db_prepare(capture, &statement, "SELECT value FROM meta WHERE key = ?", error);
    if (code != RP_OK)
        return code;
    bool row, failed = false;
    rp_bind_text(statement, 1, key);
    code = rp_db_next(capture, statement, &row, error);
    if (code == RP_OK && row)
        *value = rp_column_text(statement, 0, &failed);
    sqlite3_finalize(statement);
    return failed ? rp_db_no_memory(error) : code;
}

rp_code rp_capture_set_source(rp_capture *capture, const char *source, rp_error *error) {
    return rp_meta_set(capture, "source", source, error);
}

rp_code rp_capture_set_tool(rp_capture *capture, const char *tool, rp_error *error) {
    return rp_meta_set(capture, "tool", tool, error);
}

rp_code rp_capture_set_wall_time(rp_capture *capture, double seconds, rp_error *error) {
    char text[32];
    snprintf(text, sizeof text, "%.17g", seconds);
    return rp_meta_set(capture, "wall_s", isnan(seconds) ? NULL : text, error);
}

/* ---- Creating -------------------------------------------------------------------------------- */

/* Nothing of a temporary file need survive a crash, so no journal and no syncing while it is
 * written. Large pages: rows only ever come at the end. */
static const char writing_settings[] = "PRAGMA page_size = 8192;"
                                       "PRAGMA journal_mode = OFF;"
                                       "PRAGMA synchronous = OFF;"
                                       "PRAGMA locking_mode = EXCLUSIVE;"
                                       "PRAGMA cache_size = -65536;"
                                       "PRAGMA temp_store = FILE;"
                                       "BEGIN";

static rp_code add_provenances(rp_capture *capture, rp_error *error) {
    sqlite3_stmt *statement = NULL;
    rp_code code =
        rp_db_prepare(capture, &statement, "INSERT INTO provenances VALUES(?, ?)", error);
    for (int p = 0; code == RP_OK && p < RP_PROVENANCES; p++) {
        sqlite3_bind_int(statement, 1, p);
        rp_bind_text(statement, 2, rp_provenance_name((rp_provenance)p));
        code = rp_db_run(capture, statement, error);
    }
    sqlite3_finalize(statement);
    return code;
}

static rp_code make_schema(rp_capture *capture, const char *tool, rp_error *error) {
    char version[100], created[40];
    time_t now = time(NULL);
    struct tm utc;
    snprintf(version, sizeof version, "PRAGMA application_id = %d; PRAGMA user_version = %d",
             RP_CAPTURE_APPLICATION_ID, RP_CAPTURE_VERSION);
    strftime(created, sizeof created, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
    char *quantities = rp_capture_quantities_sql();
    if (!quantities)
        return rp_db_no_memory(error);
    rp_code code = rp_db_exec(capture, version, error);
    if (code == RP_OK)
        code = rp_db_exec(capture, rp_capture_schema, error);
    if (code == RP_OK)
        code = rp_db_exec(capture, quantities, error);
    if (code == RP_OK)
        code = add_provenances(capture, error);
    if (code == RP_OK)
        code = rp_meta_set(capture, "tool", tool, error);
    if (code == RP_OK)
        code = rp_meta_set(capture, "created", created, error);
    free(quantities);
    return code;
}

/* NAME "": a private database that SQLite keeps in memory and, when large, in a file without a
 * name. */
static rp_code open_for_writing(rp_capture *capture, const char *name, const char *tool,
                                rp_error *error) {
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    int result = sqlite3_open_v2(name, &capture->db, flags, NULL);
    if (!capture->db)
        return rp_db_no_memory(error);
    sqlite3_extended_result_codes(capture->db, 1);
    if (result != SQLITE_OK)
        return rp_db_fail(capture, error);
    rp_code code = rp_db_exec(capture, writing_settings, error);
    return code == RP_OK ? make_schema(capture, tool, error) : code;
}

rp_code rp_capture_create(rp_capture **capture, const char *path, const char *tool,
                          rp_error *error) {
    *capture = NULL;
    rp_capture *made = calloc(1, sizeof *made);
    if (!made)
        return rp_db_no_memory(error);
    made->writer = calloc(1, sizeof *made->writer);
    made->path = path ? strdup(path) : NULL;
    rp_code code = RP_OK;
    if (!made->writer || (path && !made->path)) {
        code = rp_db_no_memory(error);
        goto fail;
    }
    if (path && (code = rp_temp_create(&made->temp, path, error)) != RP_OK)
        goto fail;
    code = open_for_writing(made, path ? made->temp.path : "", tool, error);
    if (code != RP_OK)
        goto fail;
    *capture = made;
    return RP_OK;
fail:
    rp_capture_abandon(made);
    return code;
}

/* ---- Opening --------------------------------------------------------------------------------- */

static uint32_t big_endian(const unsigned char *p) {
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* Fields of SQLite's file header (sqlite.org/fileformat.html, 1.3). */
enum { HEADER = 100, AT_PAGE_SIZE = 16, AT_PAGES = 28, AT_VERSION = 60, AT_APPLICATION = 68 };

/* The header of PATH; false if there are not as many bytes. */
static bool read_header(const char *path, unsigned char *header, int64_t *size) {
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return false;
    struct stat info = {0};
    bool whole =
        fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && pread(fd, header, HEADER, 0) == HEADER;
    int cause = errno;
    close(fd);
    errno = cause;
    *size = info.st_size;
    return whole;
}

static bool has_application_id(const unsigned char *header) {
    return memcmp(header, "SQLite format 3", 16) == 0 &&
           big_endian(header + AT_APPLICATION) == RP_CAPTURE_APPLICATION_ID;
}

bool rp_capture_is(const char *path) {
    unsigned char header[HEADER];
    int64_t size;
    return read_header(path, header, &size) && has_application_id(header);
}

static rp_code check_header(const char *path, rp_error *error) {
    unsigned char header[HEADER];
    int64_t size = 0;
    errno = 0;
    if (!read_header(path, header, &size)) {
        if (errno)
            return rp_fail(error, RP_INPUT, "cannot read the capture \"%s\": %s", path,
                           strerror(errno));
        return rp_fail(error, RP_INPUT, "\"%s\" is no capture: it is too short to be one", path);
    }
    if (!has_application_id(header))
        return rp_fail(error, RP_INPUT,
                       "\"%s\" is no capture of roofprof (if another profiler made it: roofprof "
                       "import)",
                       path);
    uint32_t version = big_endian(header + AT_VERSION);
    if (version != RP_CAPTURE_VERSION)
        return rp_fail(error, RP_INPUT,
                       "the capture \"%s\" has schema version %u, and this roofprof reads %d; %s",
                       path, version, RP_CAPTURE_VERSION,
                       version > RP_CAPTURE_VERSION ? "a newer roofprof made it: install that one"
                                                    : "make the capture again");
    int64_t page_size = header[AT_PAGE_SIZE] << 8 | header[AT_PAGE_SIZE + 1];
    int64_t whole = (int64_t)big_endian(header + AT_PAGES) * (page_size == 1 ? 65536 : page_size);
    if (size < whole)
        return rp_fail(error, RP_INPUT,
                       "the capture \"%s\" is cut short: it has %lld bytes of %lld; copy it again",
                       path, (long long)size, (long long)whole);
    return RP_OK;
}

enum { CELL_LIMIT = 64 << 20 }; /* bytes of a text: names are the longest */

/* SQLite gives names like "file:a?b" and ":memory:" a meaning of its own; with a folder before them
 * they are names of files. */
static int open_for_reading(const char *path, sqlite3 **db) {
    char *plain = NULL;
    if (asprintf(&plain, "%s%s", *path == '/' ? "" : "./", path) < 0)
        return SQLITE_NOMEM;
    int result = sqlite3_open_v2(plain, db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL);
    free(plain);
    return result;
}

/* A table that is none, or a column that is computed, may run for ever. Views are off altogether:
 * the ones of the schema are for people with sqlite3. */
static rp_code check_schema(rp_capture *capture, rp_error *error) {
    static const char sql[] =
        "SELECT s.name FROM sqlite_schema s WHERE s.type = 'table' AND (s.rootpage = 0 OR"
        " EXISTS(SELECT 1 FROM pragma_table_xinfo(s.name) x WHERE x.hidden <> 0)) LIMIT 1";
    sqlite3_stmt *statement = NULL;
    bool row = false;
    rp_code code = rp_db_prepare(capture, &statement, sql, error);
    if (code == RP_OK)
        code = rp_db_next(capture, statement, &row, error);
    if (code == RP_OK && row)
        code =
            rp_fail(error, RP_INPUT,
                    "the capture \"%s\" is not as roofprof makes it: its table %.60s is computed "
                    "when it is read; do not trust this file",
                    capture->path, (const char *)sqlite3_column_text(statement, 0));
    sqlite3_finalize(statement);
    return code;
}

/* A capture may come from a stranger: no trust in its schema, no writing. */
rp_code rp_capture_reopen(rp_capture *capture, rp_error *error) {
    int result = open_for_reading(capture->path, &capture->db);
    if (!capture->db)
        return rp_db_no_memory(error);
    if (result != SQLITE_OK)
        return rp_db_fail(capture, error);
    sqlite3_extended_result_codes(capture->db, 1);
    sqlite3_db_config(capture->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(capture->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_db_config(capture->db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
    sqlite3_limit(capture->db, SQLITE_LIMIT_LENGTH, CELL_LIMIT);
    rp_code code = rp_db_exec(capture,
                              "PRAGMA cell_size_check = ON; PRAGMA query_only = ON;"
                              "PRAGMA cache_size = -16384",
                              error);
    return code == RP_OK ? check_schema(capture, error) : code;
}

rp_code rp_capture_open(rp_capture **capture, const char *path, rp_error *error) {
    *capture = NULL;
    rp_code code = check_header(path, error);
    if (code != RP_OK)
        return code;
    rp_capture *opened = calloc(1, sizeof *opened);
    if (!opened)
        return rp_db_no_memory(error);
    opened->path = strdup(path);
    code = opened->path ? rp_capture_reopen(opened, error) : rp_db_no_memory(error);
    if (code == RP_OK) {
        *capture = opened;
        return RP_OK;
    }
    rp_capture_close(opened);
    return code;
}

void rp_capture_close(rp_capture *capture) {
    if (!capture)
        return;
    rp_writer_free(capture->writer);
    sqlite3_close_v2(capture->db);
    rp_temp_discard(&capture->temp);
    free(capture->path);
    free(capture);
}

void rp_capture_abandon(rp_capture *capture) {
    rp_capture_close(capture);
}
