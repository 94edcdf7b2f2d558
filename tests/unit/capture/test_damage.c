/* SPDX-License-Identifier: Apache-2.0
 *
 * Captures that cannot be: of a newer version, damaged at any byte, cut, of something else; and
 * captures that cannot be written: full disk, no folder, a process that dies. Never a crash, never
 * a half-written file, always a reason.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "scratch.h"
#include <dirent.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

static void fill(rp_capture *capture, int launches) {
    rp_error error;
    int64_t device = add_device(capture, 0), process = add_process(capture, 1), range;
    rp_launch_record launch = RP_LAUNCH_RECORD_INIT;
    rp_copy_record copy = {device, process, 1, 1, "HtoD", 100, 10, 20, RP_MEASURED};
    ok(rp_capture_add_range(capture, -1, "step", 0, 1, &range, &error), &error);
    ok(rp_capture_add_copy(capture, &copy, &error), &error);
    ok(rp_capture_add_note(capture, "info", &error, "a note"), &error);
    launch.device = device;
    launch.process = process;
    launch.range = range;
    launch.time_provenance = RP_MEASURED;
    for (int i = 0; i < launches; i++) {
        launch.config = add_config(capture, i % 2 ? "void a<int>(int)" : "b", 1 + (uint32_t)i % 5);
        launch.start_ns = 1 + i * 1000;
        launch.end_ns = launch.start_ns + 700;
        add_quantity(capture, add_launch(capture, &launch), RP_Q_DRAM_BYTES, i);
    }
}

static void make_file(const char *path, int launches) {
    rp_capture *capture = create(path);
    fill(capture, launches);
    finish(capture);
    rp_capture_close(capture);
}

/* Opens PATH and reads all of it in every way; the first error that comes up. */
static rp_code read_all(const char *path, rp_error *error) {
    rp_capture *capture;
    rp_filter filter = RP_FILTER_INIT;
    filter.range_glob = "st*";
    rp_code code = rp_capture_open(&capture, path, error);
    if (code != RP_OK) {
        assert_null(capture);
        return code;
    }
    for (int by = RP_BY_KERNEL; by <= RP_BY_RANGE && code == RP_OK; by++) {
        rp_profile profile;
        code = rp_capture_load(capture, by == RP_BY_CONFIG ? &filter : NULL, (rp_group_by)by,
                               &profile, error);
        if (code == RP_OK)
            rp_profile_free(&profile);
    }
    rp_capture_close(capture);
    return code;
}

static void expect_refusal(const char *path, const char *why) {
    rp_error error;
    assert_int_equal(read_all(path, &error), RP_INPUT);
    if (!strstr(error.message, why) || !strstr(error.message, path))
        fail_msg("\"%s\" does not say \"%s\" of %s", error.message, why, path);
}

static void change(const char *path, const char *sql) {
    sqlite3 *db;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

static void count_entries(const char *folder, int expected) {
    DIR *entries = opendir(folder);
    int found = 0;
    for (const struct dirent *entry; (entry = readdir(entries));)
        found += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    closedir(entries);
    assert_int_equal(found, expected);
}

static void test_reopen(void **state) {
    (void)state;
    rp_error error;
    make_file("a.roof", 100);
    count_entries(".", 1); /* no journal, no temporary file */
    assert_true(rp_capture_is("a.roof"));
    ok(read_all("a.roof", &error), &error);
    unlink("a.roof");
    assert_false(rp_capture_is("a.roof"));
}

static void test_versions(void **state) {
    (void)state;
    make_file("a.roof", 10);
    change("a.roof", "PRAGMA user_version = 2");
    expect_refusal("a.roof", "newer roofprof");
    change("a.roof", "PRAGMA user_version = 0");
    expect_refusal("a.roof", "make the capture again");
    change("a.roof", "PRAGMA user_version = 1; PRAGMA application_id = 1");
    expect_refusal("a.roof", "is no capture");
    assert_false(rp_capture_is("a.roof"));
    unlink("a.roof");
}

static void test_other_files(void **state) {
    (void)state;
    expect_refusal("missing.roof", "No such file");
    expect_refusal(".", "is no capture");
    FILE *file = fopen("text", "w");
    fputs("kernel,time\n", file);
    fclose(file);
    expect_refusal("text", "too short");
    unlink("text");
}

/* Rows that name what is not there, and tables that are not what they must be. */
static void test_inconsistent(void **state) {
    (void)state;
    static const char *const changes[] = {
        "UPDATE launches SET config = 999 WHERE id = 3",
        "UPDATE launches SET place = -5",
        "UPDATE launches SET range = 77 WHERE id = 2",
        "UPDATE configs SET kernel = 12345",
        "UPDATE places SET device = 3",
        "UPDATE ranges SET parent = 5",
        "UPDATE summaries SET config = 4000000000 WHERE id = 0",
        "DELETE FROM kernels",
        "DELETE FROM configs WHERE id = 1",
        "DELETE FROM places",
        "DELETE FROM devices",
        "UPDATE summaries SET launches = -3 WHERE id = 0",
        "DROP TABLE launches",
        "DROP TABLE summaries",
        "UPDATE first_launches SET launch = 1000000",
        "UPDATE copy_summaries SET device = 9",
        "UPDATE launches SET time_ns = -1 WHERE id = 1",
        "UPDATE launches SET time_ns = 9e99 WHERE id = 1",
        "UPDATE launches SET start_ns = 9223372036854775807 WHERE id = 1",
        "UPDATE launches SET id = 4000000000 WHERE id = 5",
        "UPDATE kernels SET id = id + 10",
        "UPDATE summary_quantities SET summary = 4711",
        "UPDATE devices SET launches = 1000000000000000",
        "DELETE FROM launches WHERE id > 10"};
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        make_file("a.roof", 20);
        change("a.roof", changes[i]);
        rp_error error;
        if (read_all("a.roof", &error) != RP_INPUT)
            fail_msg("accepted: %s", changes[i]);
        assert_non_null(strstr(error.message, "damaged"));
    }
    unlink("a.roof");
}

/* A schema from a stranger: a view in the place of a table must not run what it likes. */
static void test_hostile_schema(void **state) {
    (void)state;
    rp_error error;
    make_file("a.roof", 20);
    change("a.roof",
           "ALTER TABLE notes RENAME TO n;"
           "CREATE VIEW notes AS SELECT id, severity, load_extension('x') AS text FROM n");
    assert_int_equal(read_all("a.roof", &error), RP_INPUT);
    unlink("a.roof");
}

/* Rows without end in the place of each table, and a column that fills the memory: refused at once,
 * not read. */
static void test_endless(void **state) {
    (void)state;
    static const char *const tables[] = {"devices",   "kernels", "configs",
                                         "summaries", "notes",   "summary_quantities"};
    char sql[800];
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        make_file("a.roof", 20);
        snprintf(sql, sizeof sql,
                 "ALTER TABLE %1$s RENAME TO real;"
                 "CREATE VIEW %1$s AS WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1"
                 " FROM r) SELECT real.* FROM real, r",
                 tables[i]);
        change("a.roof", sql);
        expect_refusal("a.roof", "cannot be read");
        unlink("a.roof");
    }
    make_file("a.roof", 20);
    change("a.roof", "ALTER TABLE notes RENAME TO real;"
                     "CREATE TABLE notes(id INTEGER PRIMARY KEY, severity TEXT, text AS"
                     " (hex(zeroblob(400000000))), derived INTEGER);"
                     "INSERT INTO notes VALUES(1, 'info', 0)");
    expect_refusal("a.roof", "computed");
    unlink("a.roof");
}

/* Names that SQLite would not take as names of files. */
static void test_odd_names(void **state) {
    (void)state;
    static const char *const names[] = {
        "file:a.roof", "file:a.roof?mode=memory", ":memory:",     "a?b#c%41.roof",
        "-o",          "\xFF\xFE.roof",           "a\nb\x1b[1m'", "file:///etc/passwd"};
    rp_error error;
    make_file("a.roof", 7);
    change("a.roof", "UPDATE kernels SET id = id + 10"); /* what "file:a.roof" must not reach */
    for (size_t i = 0; i + 1 < sizeof names / sizeof *names; i++) {
        make_file(names[i], 20);
        ok(read_all(names[i], &error), &error);
        unlink(names[i]);
    }
    assert_int_equal(read_all(names[7], &error), RP_INPUT);
    unlink("a.roof");
}

static void test_cut(void **state) {
    (void)state;
    struct stat info;
    make_file("a.roof", 500);
    assert_int_equal(stat("a.roof", &info), 0);
    assert_int_equal(truncate("a.roof", info.st_size - 5000), 0);
    expect_refusal("a.roof", "cut short");
    assert_int_equal(truncate("a.roof", 50), 0);
    expect_refusal("a.roof", "too short");
    unlink("a.roof");
}

/* Bytes changed all over the file: refused or read, never worse. */
static void test_flipped_bytes(void **state) {
    (void)state;
    struct stat info;
    make_file("a.roof", 200);
    assert_int_equal(stat("a.roof", &info), 0);
    unsigned char *whole = malloc((size_t)info.st_size);
    FILE *file = fopen("a.roof", "r+");
    assert_int_equal(fread(whole, 1, (size_t)info.st_size, file), info.st_size);
    unsigned random = 12345;
    for (int round = 0; round < 400; round++) {
        random = random * 1103515245 + 12345;
        long at = (long)(random % (unsigned)info.st_size);
        rp_error error;
        fseek(file, at, SEEK_SET);
        fputc(whole[at] ^ (1 << round % 8), file);
        fflush(file);
        rp_code code = read_all("a.roof", &error);
        assert_true(code == RP_OK || code == RP_INPUT);
        fseek(file, at, SEEK_SET);
        fputc(whole[at], file);
        fflush(file);
    }
    fclose(file);
    free(whole);
    unlink("a.roof");
}

/* Reading needs no write permission anywhere. */
static void test_read_only(void **state) {
    (void)state;
    rp_error error;
    assert_int_equal(mkdir("sub", 0755), 0);
    make_file("sub/a.roof", 30);
    chmod("sub/a.roof", 0444);
    chmod("sub", 0555);
    ok(read_all("sub/a.roof", &error), &error);
    chmod("sub", 0755);
    count_entries("sub", 1);
    unlink("sub/a.roof");
    rmdir("sub");
}

static void test_no_place(void **state) {
    (void)state;
    rp_capture *capture;
    rp_error error;
    assert_int_equal(rp_capture_create(&capture, "none/a.roof", "test", &error), RP_INTERNAL);
    assert_null(capture);
    assert_non_null(strstr(error.message, "none/a.roof"));
    assert_int_equal(rp_capture_create(&capture, ".", "test", &error), RP_INTERNAL);
}

static void test_abandon(void **state) {
    (void)state;
    make_file("a.roof", 5);
    rp_capture *capture = create("a.roof");
    fill(capture, 50);
    rp_capture_abandon(capture);
    rp_error error;
    ok(read_all("a.roof", &error), &error);
    count_entries(".", 1);
    unlink("a.roof");
}

/* Fills a capture at "big.roof" until it fails or 300 000 launches are in; the last code. */
static rp_code write_until_full(rp_error *error) {
    rp_capture *capture;
    rp_code code = rp_capture_create(&capture, "big.roof", "test", error);
    if (code != RP_OK)
        return code;
    rp_launch_record launch = RP_LAUNCH_RECORD_INIT;
    launch.device = add_device(capture, 0);
    launch.config = add_config(capture, "k", 1);
    for (int i = 0; i < 300000 && code == RP_OK; i++) {
        launch.start_ns = 1700000000000000000 + i * 1000;
        launch.end_ns = launch.start_ns + 500;
        code = rp_capture_add_launch(capture, &launch, NULL, error);
    }
    if (code == RP_OK)
        code = rp_capture_finish(capture, error);
    rp_capture_close(capture);
    return code;
}

/* Out of room while rows come in, and only when the last pages are written. */
static void test_no_room(void **state) {
    (void)state;
    struct rlimit limit, small;
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &limit);
    for (int megabytes = 0; megabytes < 8; megabytes += 3) {
        rp_error error;
        small = limit;
        small.rlim_cur = 30000 + (rlim_t)megabytes * 1000000;
        setrlimit(RLIMIT_FSIZE, &small);
        rp_code code = write_until_full(&error);
        setrlimit(RLIMIT_FSIZE, &limit);
        assert_int_equal(code, RP_INTERNAL);
        assert_non_null(strstr(error.message, "big.roof"));
        if (!strstr(error.message, "make room"))
            fail_msg("%s", error.message);
        count_entries(".", 0);
    }
}

/* Killed without a chance: the old capture is whole, and under its name there is nothing else. */
static void test_killed(void **state) {
    (void)state;
    rp_error error;
    int status;
    make_file("a.roof", 5);
    pid_t child = fork();
    if (child == 0) {
        rp_capture *capture = create("a.roof");
        fill(capture, 20000);
        raise(SIGKILL);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    ok(read_all("a.roof", &error), &error);
    assert_int_equal(system("rm -f .a.roof.tmp-*"), 0);
    count_entries(".", 1);
    unlink("a.roof");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reopen),        cmocka_unit_test(test_versions),
        cmocka_unit_test(test_other_files),   cmocka_unit_test(test_inconsistent),
        cmocka_unit_test(test_cut),           cmocka_unit_test(test_hostile_schema),
        cmocka_unit_test(test_endless),       cmocka_unit_test(test_odd_names),
        cmocka_unit_test(test_flipped_bytes), cmocka_unit_test(test_read_only),
        cmocka_unit_test(test_no_place),      cmocka_unit_test(test_abandon),
        cmocka_unit_test(test_no_room),       cmocka_unit_test(test_killed)};
    return cmocka_run_group_tests(tests, scratch_set_up, scratch_tear_down);
}
