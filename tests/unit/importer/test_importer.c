/* SPDX-License-Identifier: Apache-2.0
 *
 * Finding a file's format by content, importing several files as one, opening whatever there is.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "importers/importer.h"
#include "scratch.h"
#include <sqlite3.h>
#include <zlib.h>

static const char ncu_csv[] =
    "\"ID\",\"Process ID\",\"Process Name\",\"Host Name\",\"Kernel Name\",\"Context\",\"Stream\","
    "\"Block Size\",\"Grid Size\",\"Device\",\"CC\",\"Section Name\",\"Metric Name\",\"Metric "
    "Unit\",\"Metric Value\"\n"
    "\"0\",\"1\",\"a.out\",\"127.0.0.1\",\"saxpy(int)\",\"1\",\"7\",\"(256, 1, 1)\",\"(4, 1, 1)\","
    "\"0\",\"8.0\",\"Command line profiler metrics\",\"gpu__time_duration.sum\",\"nsecond\","
    "\"5,000\"\n"
    "\"0\",\"1\",\"a.out\",\"127.0.0.1\",\"saxpy(int)\",\"1\",\"7\",\"(256, 1, 1)\",\"(4, 1, 1)\","
    "\"0\",\"8.0\",\"Command line profiler metrics\",\"dram__bytes.sum\",\"byte\",\"1,024\"\n";

static const char kineto[] =
    "{\"schemaVersion\": 1, \"deviceProperties\": [{\"id\": 0, \"name\": \"NVIDIA A100\"}],"
    " \"traceEvents\": [{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"gemm\", \"pid\": 0,"
    " \"tid\": 7, \"ts\": 100, \"dur\": 12, \"args\": {\"device\": 0, \"stream\": 7,"
    " \"grid\": [4, 1, 1], \"block\": [128, 1, 1]}}]}\n";

static void write_file(const char *path, const char *text) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void expect_format(const char *path, const char *name) {
    const rp_importer *importer;
    rp_error error;
    ok(rp_import_recognise(path, &importer, &error), &error);
    assert_string_equal(importer->name, name);
}

/* Names lie; content does not. */
static void test_recognise(void **state) {
    (void)state;
    write_file("trace.csv", kineto);
    write_file("profile.json", ncu_csv);
    gzFile zipped = gzopen("zipped", "wb");
    gzputs(zipped, kineto);
    gzclose(zipped);
    expect_format("trace.csv", "kineto");
    expect_format("profile.json", "ncu-csv");
    expect_format("zipped", "kineto");
    unlink("trace.csv");
    unlink("profile.json");
    unlink("zipped");
}

static void expect_refusal(const char *path, const char *why) {
    rp_capture *capture;
    rp_error error;
    assert_int_equal(rp_open_any(path, &capture, &error), RP_INPUT);
    assert_null(capture);
    if (!strstr(error.message, why) || !strstr(error.message, path))
        fail_msg("%s", error.message);
}

/* The refusal of what is unknown lists every format that is known. */
static void test_unknown(void **state) {
    (void)state;
    write_file("table", "a,b,c\n1,2,3\n");
    for (size_t i = 0; rp_importers[i]; i++)
        expect_refusal("table", rp_importers[i]->title);
    write_file("table", "");
    expect_refusal("table", "is empty");
    write_file("table", "\xFD"
                        "7zXZ and more");
    expect_refusal("table", "packed with xz: unpack it first");
    write_file("table", "PK\x03\x04 and more");
    expect_refusal("table", "zip archive");
    write_file("table", "\x1f\x8b\x08 gzip in name alone");
    expect_refusal("table", "");
    unlink("table");
    expect_refusal("table", "No such file");
    expect_refusal(".", "folder");
}

/* A database of something else, and one of which the end is missing. */
static void test_other_databases(void **state) {
    (void)state;
    sqlite3 *db;
    assert_int_equal(sqlite3_open("other", &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "CREATE TABLE t(x); CREATE TABLE u(x)", NULL, NULL, NULL),
                     SQLITE_OK);
    sqlite3_close(db);
    expect_refusal("other", "SQLite database, but no export");
    assert_int_equal(truncate("other", 5000), 0);
    expect_refusal("other", "SQLite database that is cut short");
    unlink("other");
}

/* Every importer looks at any bytes without harm, and is sure of none of them. */
static void test_noise(void **state) {
    (void)state;
    enum { SIZE = 65536 };
    unsigned char *noise = malloc(SIZE);
    for (int round = 0; round < 50; round++) {
        size_t length = round ? (size_t)(SIZE >> round % 17) : 0;
        for (size_t i = 0; i < SIZE; i++)
            noise[i] = (unsigned char)((i * 2654435761U + (unsigned)round * 40503U) >> 11);
        for (size_t i = 0; rp_importers[i]; i++)
            assert_int_equal(rp_importers[i]->recognise("noise", noise, length), 0);
    }
    free(noise);
}

static void test_open_any(void **state) {
    (void)state;
    rp_capture *capture;
    rp_error error;
    write_file("ncu", ncu_csv);
    ok(rp_open_any("ncu", &capture, &error), &error);
    rp_profile profile = load(capture, NULL, RP_BY_KERNEL);
    assert_string_equal(profile.source, "ncu");
    assert_string_equal(profile.tool, "Nsight Compute CSV");
    assert_int_equal(profile.group_count, 1);
    NEAR(profile.groups[0].time.sum, 5e-6);
    assert_true(profile.groups[0].q[RP_Q_DRAM_BYTES].sum == 1024);
    rp_profile_free(&profile);
    rp_capture_close(capture);
    unlink("ncu");

    capture = create("ready.roof");
    add_timed(capture, add_config(capture, "k", 1), add_device(capture, 0), 1, 2);
    finish(capture);
    rp_capture_close(capture);
    ok(rp_open_any("ready.roof", &capture, &error), &error);
    rp_capture_close(capture);
    unlink("ready.roof");
}

static void test_several_files(void **state) {
    (void)state;
    static const char *const paths[] = {"first", "second"};
    rp_error error;
    write_file("first", kineto);
    write_file("second", kineto);
    rp_capture *capture = create("both.roof");
    ok(rp_import(paths, 2, capture, &error), &error);
    finish(capture);
    rp_profile profile = load(capture, NULL, RP_BY_KERNEL);
    assert_string_equal(profile.source, "first, second");
    assert_int_equal(profile.launches_total, 2);
    assert_string_equal(profile.tool, rp_importer_kineto.title); /* once */
    rp_profile_free(&profile);
    rp_capture_close(capture);
    write_file("second", ncu_csv);
    capture = create(NULL);
    ok(rp_import(paths, 2, capture, &error), &error);
    finish(capture);
    profile = load(capture, NULL, RP_BY_KERNEL);
    assert_string_equal(profile.tool, "PyTorch profiler (Kineto) trace, Nsight Compute CSV");
    rp_profile_free(&profile);
    rp_capture_close(capture);

    static const char *const wrong[] = {"first", "both.roof"};
    capture = create(NULL);
    assert_int_equal(rp_import(wrong, 2, capture, &error), RP_INPUT);
    assert_non_null(strstr(error.message, "roofprof merge"));
    rp_capture_abandon(capture);
    unlink("first");
    unlink("second");
    unlink("both.roof");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recognise),       cmocka_unit_test(test_unknown),
        cmocka_unit_test(test_other_databases), cmocka_unit_test(test_noise),
        cmocka_unit_test(test_open_any),        cmocka_unit_test(test_several_files)};
    return cmocka_run_group_tests(tests, scratch_set_up, scratch_tear_down);
}
