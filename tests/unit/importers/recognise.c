/* SPDX-License-Identifier: Apache-2.0
 *
 * Files are known by their content: every fixture under a name that says nothing, plain and gzip,
 * goes to its importer; what is no profile is refused with the list of formats.
 */
#include "fixture.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *file, *importer;
} fixtures[] = {{"kineto_small.json", "kineto"},        {"kineto_amd.json", "kineto"},
                {"kineto_cpu_only.json", "kineto"},     {"kineto_profiler_range.json", "kineto"},
                {"nvprof_metrics.csv", "nvprof"},       {"nvprof_summary.csv", "nvprof"},
                {"nvprof_trace.csv", "nvprof"},         {"nvprof_text.txt", "nvprof"},
                {"nvprof_text_summary.txt", "nvprof"},  {"nvprof_permission.txt", "nvprof"},
                {"rocprof_v1_results.csv", "rocprof"},  {"rocprof_v1_stats.csv", "rocprof"},
                {"rocprof_v3_counters.csv", "rocprof"}, {"rocprof_v3_trace.csv", "rocprof"},
                {"rocprof_pmc_perf.csv", "rocprof"},    {"rocprof_roofline.csv", "rocprof"},
                {"rocprof_hip_stats.csv", "rocprof"}};

static void goes_to(const char *path, const char *name) {
    const rp_importer *importer = NULL;
    rp_error error = {0};
    if (rp_import_recognise(path, &importer, &error))
        fail_msg("%s", error.message);
    assert_string_equal(importer->name, name);
}

static void by_content(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof fixtures / sizeof *fixtures; i++) {
        size_t length;
        char *bytes = read_file(fixture(fixtures[i].file), &length);
        char *plain = make_file("", bytes, length), *packed = make_gzip(bytes, length);
        goes_to(plain, fixtures[i].importer);
        goes_to(packed, fixtures[i].importer);
        drop_file(plain);
        drop_file(packed);
        free(bytes);
    }
    char *database = make_database("nsys_cpu_only.sql");
    goes_to(database, "nsys");
    drop_file(database);
}

static void refused(const char *bytes, size_t length, const char *word) {
    char *path = make_file(".json", bytes, length);
    const rp_importer *importer;
    rp_error error = {0};
    assert_int_equal(rp_import_recognise(path, &importer, &error), RP_INPUT);
    if (!strstr(error.message, word))
        fail_msg("\"%s\" does not say \"%s\"", error.message, word);
    drop_file(path);
}

static void not_a_profile(void **state) {
    (void)state;
    static const char text[] = "Name,Calls\nJohn,3\n", json[] = "{\"name\": \"John\"}";
    refused("", 0, "empty");
    refused(text, sizeof text - 1, rp_importer_kineto.title);
    refused(json, sizeof json - 1, rp_importer_nsys.title);
}

/* Several files in one capture: their launches, devices and what was left out add up. */
static void several_files(void **state) {
    (void)state;
    char first[4096], second[4096];
    snprintf(first, sizeof first, "%s", fixture("kineto_small.json"));
    snprintf(second, sizeof second, "%s", fixture("kineto_amd.json"));
    const char *const paths[] = {first, second};
    rp_capture *capture;
    rp_error error = {0};
    assert_int_equal(rp_capture_create(&capture, NULL, "test", &error), RP_OK);
    if (rp_import(paths, 2, capture, &error))
        fail_msg("%s", error.message);
    assert_int_equal(rp_capture_finish(capture, &error), RP_OK);
    rp_profile p;
    assert_int_equal(rp_capture_load(capture, NULL, RP_BY_KERNEL, &p, &error), RP_OK);
    assert_int_equal(p.launches_total, 7);
    assert_int_equal(p.device_count, 3);
    assert_int_equal(p.launches_invalid, 5);
    rp_profile_free(&p);
    rp_capture_close(capture);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_content),
        cmocka_unit_test(not_a_profile),
        cmocka_unit_test(several_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
