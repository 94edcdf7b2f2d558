/* SPDX-License-Identifier: Apache-2.0
 *
 * Calibrations on disk: records join what the user's file holds, whatever its columns; the database
 * reads them back, the newest first, and never those of another device; and what a calibration is
 * judged to be. */
#include "hwdb/hwdb.h"
#include "kernels/record.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/roofprof-record-XXXXXX";
static char ceilings[128];

static int set_up(void **state) {
    (void)state;
    if (!mkdtemp(folder))
        return 1;
    snprintf(ceilings, sizeof ceilings, "%s/roofprof/ceilings.csv", folder);
    setenv("XDG_DATA_HOME", folder, 1);
    setenv("ROOFPROF_HWDB", ROOFPROF_SOURCE_DIR "/hwdb", 1);
    return 0;
}

static int tear_down(void **state) {
    char path[128];
    (void)state;
    unlink(ceilings);
    snprintf(path, sizeof path, "%s/roofprof", folder);
    rmdir(path);
    return rmdir(folder);
}

static rp_hwdb *load(void) {
    rp_hwdb *db;
    rp_error error;
    if (rp_hwdb_load(&db, NULL, &error) != RP_OK)
        fail_msg("%s", error.message);
    return db;
}

/* An H100 with UUID whose DRAM reaches RATE. */
static rp_calibration measured(const rp_hwdb *db, const char *uuid, const char *date, double rate) {
    rp_calibration c = {.power_limit_w = 700, .sm_count = 132};
    rp_error error;

    snprintf(c.name, sizeof c.name, "NVIDIA H100 80GB HBM3");
    snprintf(c.uuid, sizeof c.uuid, "%s", uuid);
    snprintf(c.date, sizeof c.date, "%s", date);
    snprintf(c.driver, sizeof c.driver, "580.1");
    if (rp_hwdb_find(db, "H100", &c.match.device, NULL, &error) != RP_OK)
        fail_msg("%s", error.message);
    c.device = c.match.device;
    static const char *const patterns[] = {"read", "triad"};
    for (int i = 0; i < 2; i++) {
        rp_result *r = rp_calibration_add(&c, RP_RESULT_BANDWIDTH, "dram");
        assert_non_null(r);
        r->ceiling.level = RP_DRAM;
        r->ceiling.rate = rate - i * 1e11;
        r->ceiling.provenance = RP_CALIBRATED;
        r->spread = 0.01;
        snprintf(r->pattern, sizeof r->pattern, "%s", patterns[i]);
        snprintf(r->variant, sizeof r->variant, "read_16_4, \"wide\"");
    }
    rp_result *r = rp_calibration_add(&c, RP_RESULT_COMPUTE, "fp32_vector");
    assert_non_null(r);
    r->ceiling.compute = true;
    r->ceiling.precision = RP_FP32;
    r->ceiling.rate = 65e12;
    r->ceiling.clock_hz = 1.98e9;
    r->ceiling.provenance = RP_CALIBRATED;
    rp_calibration_judge(&c);
    return c;
}

static void record(rp_calibration *c, size_t expected) {
    size_t written;
    const char *why;
    rp_error error;
    char path[256];
    if (rp_calibration_record(c, path, sizeof path, &written, &why, &error) != RP_OK)
        fail_msg("%s", error.message);
    assert_int_equal(written, expected);
    if (expected)
        assert_string_equal(path, ceilings);
    else
        assert_true(*why);
    rp_calibration_free(c);
}

/* What is drawn for a device as it is now; -1: nothing calibrated. CALIBRATION: what is said. */
static double drawn_now(const char *uuid, const char *driver, double power_limit_w,
                        char calibration[200]) {
    rp_hwdb *db = load();
    rp_device_identity id = {.name = "NVIDIA H100 80GB HBM3",
                             .uuid = uuid,
                             .cc_major = 9,
                             .sm_count = 132,
                             .memory_bytes = -1,
                             .memory_bus_bits = -1,
                             .sm_clock_hz = NAN,
                             .memory_clock_hz = NAN,
                             .driver = driver,
                             .power_limit_w = power_limit_w};
    rp_device_match match;
    rp_error error;
    if (rp_hwdb_match(db, &id, &match, &error) != RP_OK)
        fail_msg("%s", error.message);
    assert_non_null(match.device);
    const rp_ceiling *dram = rp_device_bandwidth(match.device, RP_DRAM);
    assert_non_null(dram);
    double rate = dram->provenance == RP_CALIBRATED ? dram->rate : -1;
    memcpy(calibration, match.calibration, sizeof match.calibration);
    rp_hwdb_free(db);
    return rate;
}

static double drawn(const char *uuid) {
    char calibration[200];
    double rate = drawn_now(uuid, NULL, 0, calibration);
    assert_string_equal(calibration, "");
    return rate;
}

/* A file by hand, with fewer columns and in another order, is there first. */
static void write_by_hand(void) {
    char path[128];
    snprintf(path, sizeof path, "%s/roofprof", folder);
    mkdir(path, 0777);
    FILE *f = fopen(ceilings, "w");
    assert_non_null(f);
    fputs("# mine\nceiling,device,unit,value,note\nl2,H100-SXM5-80GB,B/s,5e12,\"a\nnote, "
          "\"\"so\"\"\"\n"
          "dram,A100-SXM4-80GB,B/s,1.7e12,x",
          f);
    fclose(f);
}

static void test_records(void **state) {
    (void)state;
    rp_hwdb *db = load();
    rp_calibration c = measured(db, "GPU-1", "2025-01-01T00:00:00Z", 3.0e12);

    write_by_hand();
    record(&c, 2);
    c = measured(db, "GPU-2", "2025-02-01T00:00:00Z", 2.8e12);
    record(&c, 2);
    assert_true(drawn("GPU-1") == 3.0e12);
    assert_true(drawn("GPU-2") == 2.8e12);
    assert_true(drawn("GPU-3") == -1);  /* neither is its own */
    assert_true(drawn(NULL) == 2.8e12); /* not known whose: the newest */
    c = measured(db, "GPU-1", "2025-03-01T00:00:00Z", 2.9e12);
    record(&c, 2);
    assert_true(drawn("GPU-1") == 2.9e12); /* newer, though lower; the older one is still there */
    rp_hwdb_free(db);

    db = load();
    const rp_device *h100, *a100;
    rp_error error;
    assert_int_equal(rp_hwdb_find(db, "H100", &h100, NULL, &error), RP_OK);
    size_t records = 0;
    for (size_t i = 0; i < h100->ceiling_count; i++)
        records += h100->ceilings[i].provenance == RP_CALIBRATED;
    assert_int_equal(records, 7); /* three times two, and the L2 by hand */
    assert_true(rp_device_bandwidth(h100, RP_L2)->rate == 5e12);
    assert_int_equal(rp_hwdb_find(db, "A100-SXM4-80GB", &a100, NULL, &error), RP_OK);
    assert_true(rp_device_bandwidth(a100, RP_DRAM)->rate == 1.7e12);
    rp_hwdb_free(db);
}

static void record_with(const rp_hwdb *db, const char *driver, double power_limit_w,
                        const char *date, double rate) {
    rp_calibration c = measured(db, "GPU-7", date, rate);
    snprintf(c.driver, sizeof c.driver, "%s", driver);
    c.power_limit_w = power_limit_w;
    record(&c, 2);
}

/* Another driver's records count where there are none of this one's; another power limit's do not.
 */
static void test_driver_and_power(void **state) {
    char said[200];
    (void)state;
    rp_hwdb *db = load();

    unlink(ceilings);
    record_with(db, "550.54", 700, "2025-05-01T00:00:00Z", 3.1e12);
    assert_true(drawn_now("GPU-7", "550.54", 700, said) == 3.1e12);
    assert_string_equal(said, "");
    assert_true(drawn_now("GPU-7", "580.95", 700, said) == 3.1e12);
    assert_non_null(strstr(said, "on 2025-05-01 under driver 550.54, not 580.95 as here"));
    assert_true(drawn_now("GPU-7", "580.95", 350, said) == -1);
    assert_non_null(strstr(said, "power limit of 700 W, not 350 W as here"));
    assert_true(drawn_now("GPU-7", "", NAN, said) == 3.1e12);
    assert_string_equal(said, "");

    /* Of this driver, though made before the other one. */
    record_with(db, "580.95", 700, "2025-04-01T00:00:00Z", 2.9e12);
    assert_true(drawn_now("GPU-7", "580.95", 700, said) == 2.9e12);
    assert_string_equal(said, "");
    assert_true(drawn_now("GPU-7", "550.54", 700, said) == 3.1e12);
    assert_true(drawn_now("GPU-7", NULL, 0, said) == 3.1e12); /* not known: the newest */
    record_with(db, "580.95", 350, "2025-06-01T00:00:00Z", 2.5e12);
    assert_true(drawn_now("GPU-7", "580.95", 350, said) == 2.5e12);
    assert_true(drawn_now("GPU-7", "580.95", 702, said) == 2.9e12); /* within what is rounded */
    assert_true(drawn_now("GPU-8", "580.95", 700, said) == -1);
    assert_string_equal(said, ""); /* others' are nobody's business */
    rp_hwdb_free(db);
    unlink(ceilings);
}

/* What was cut short might replace a better record. */
static void test_partial(void **state) {
    (void)state;
    rp_hwdb *db = load();
    rp_calibration c = measured(db, "GPU-9", "2025-01-01T00:00:00Z", 3e12);

    c.interrupted = c.results[0].partial = true;
    record(&c, 1);
    assert_true(drawn("GPU-9") == -1);
    rp_hwdb_free(db);
    unlink(ceilings);
}

static void add_copy(rp_calibration *c, const char *name, rp_hw_level level, double rate) {
    rp_result *r = rp_calibration_add(c, RP_RESULT_COPY, name);
    assert_non_null(r);
    r->ceiling.level = level;
    r->ceiling.rate = rate;
    r->ceiling.provenance = RP_CALIBRATED;
}

/* The bus and the links by their faster direction; both ways at once is no direction. */
static void test_copies(void **state) {
    (void)state;
    rp_hwdb *db = load();
    rp_calibration c = measured(db, "GPU-1", "2025-01-01T00:00:00Z", 3e12);
    const rp_device *h100;
    rp_error error;

    add_copy(&c, "copy_to_device_pinned", RP_PCIE, 54e9);
    add_copy(&c, "copy_to_host_pinned", RP_PCIE, 55e9);
    add_copy(&c, "copy_both_ways_pinned", RP_PCIE, 90e9);
    add_copy(&c, "copy_to_device_pageable", RP_PCIE, 60e9);
    add_copy(&c, "copy_to_peer_1", RP_NVLINK, 380e9);
    add_copy(&c, "copy_from_peer_1", RP_NVLINK, 370e9);
    add_copy(&c, "copy_both_ways_peer_1", RP_NVLINK, 740e9);
    add_copy(&c, "copy_to_peer_2", RP_PCIE, 58e9); /* through the host */
    rp_calibration_judge(&c);
    record(&c, 4);
    rp_hwdb_free(db);
    db = load();
    assert_int_equal(rp_hwdb_find(db, "H100", &h100, NULL, &error), RP_OK);
    assert_true(rp_device_bandwidth(h100, RP_PCIE)->rate == 55e9);
    assert_true(rp_device_bandwidth(h100, RP_NVLINK)->rate == 380e9);
    rp_hwdb_free(db);
    unlink(ceilings);
}

static void test_not_recorded(void **state) {
    (void)state;
    rp_hwdb *db = load();
    rp_calibration c = measured(db, "GPU-1", "2025-01-01T00:00:00Z", 3e12);
    c.emulated = true;
    record(&c, 0);
    c = measured(db, "GPU-1", "2025-01-01T00:00:00Z", 3e12);
    c.match.device = NULL;
    record(&c, 0);
    c = measured(db, "GPU-1", "2025-01-01T00:00:00Z", 3e12);
    snprintf(c.name, sizeof c.name, "NVIDIA H100 80GB HBM3 MIG 1g.10gb");
    record(&c, 0);
    rp_hwdb_free(db);
}

static void test_judge(void **state) {
    (void)state;
    rp_hwdb *db = load();
    rp_calibration c = measured(db, "GPU-1", "2025-01-01T00:00:00Z", 3e12);

    assert_true(c.results[0].best && !c.results[1].best && c.results[2].best);
    assert_ptr_equal(rp_calibration_best(&c, "dram"), &c.results[0]);
    /* 132 SMs x 256 x 1.98 GHz = 66.9 TFLOP/s */
    assert_true(fabs(rp_result_of_theoretical(&c.results[2]) - 65e12 / (132 * 256 * 1.98e9)) <
                1e-9);
    assert_true(!*c.results[2].flag);
    /* At half the clock, the same rate is impossible; at a third of the rate, it is slow. */
    c.results[2].ceiling.clock_hz = 0.99e9;
    rp_calibration_judge(&c);
    assert_non_null(strstr(c.results[2].flag, "clock"));
    c.results[2].ceiling.clock_hz = 1.98e9;
    c.results[2].ceiling.rate = 20e12;
    c.results[2].reading.throttle_known = true;
    c.results[2].reading.throttle = 0x4;
    c.results[2].flag[0] = 0;
    rp_calibration_judge(&c);
    assert_non_null(strstr(c.results[2].flag, "power cap"));
    rp_calibration_free(&c);
    rp_hwdb_free(db);
}

static void test_compare(void **state) {
    (void)state;
    rp_hwdb *db = load();
    rp_calibration a = measured(db, "GPU-1", "2025-01-01T00:00:00Z", 3e12),
                   b = measured(db, "GPU-1", "2025-02-01T00:00:00Z", 2.7e12);
    rp_loss *losses;
    size_t count, compared;
    rp_error error;

    assert_int_equal(rp_calibration_compare(&a, &b, 0.05, &losses, &count, &compared, &error),
                     RP_OK);
    assert_int_equal(compared, 3);
    assert_int_equal(count, 2);
    assert_true(fabs(losses[0].loss - 0.1) < 1e-9);
    free(losses);
    b.results[2].ceiling.rate = NAN; /* gone altogether */
    assert_int_equal(rp_calibration_compare(&a, &b, 0.2, &losses, &count, &compared, &error),
                     RP_OK);
    assert_int_equal(count, 1);
    assert_string_equal(losses[0].name, "fp32_vector");
    assert_true(isnan(losses[0].after));
    free(losses);
    b.emulated = true;
    assert_int_equal(rp_calibration_compare(&a, &b, 0.2, &losses, &count, &compared, &error),
                     RP_INPUT);
    rp_calibration_free(&a);
    rp_calibration_free(&b);
    rp_hwdb_free(db);
}

/* Two kernels may try for one ceiling: the better counts, whichever comes first. */
static void test_compare_candidates(void **state) {
    (void)state;
    rp_hwdb *db = load();
    rp_calibration c = measured(db, "GPU-1", "2025-01-01T00:00:00Z", 3e12);
    rp_result *r = rp_calibration_add(&c, RP_RESULT_COMPUTE, "fp32_vector");
    rp_loss *losses;
    size_t count, compared;
    rp_error error;

    assert_non_null(r);
    r->ceiling = c.results[2].ceiling;
    r->ceiling.rate = 66e12;
    assert_int_equal(rp_calibration_compare(&c, &c, 0.01, &losses, &count, &compared, &error),
                     RP_OK);
    assert_int_equal(count, 0);
    assert_int_equal(compared, 3);
    free(losses);
    rp_calibration_free(&c);
    rp_hwdb_free(db);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_records),      cmocka_unit_test(test_driver_and_power),
        cmocka_unit_test(test_partial),      cmocka_unit_test(test_copies),
        cmocka_unit_test(test_not_recorded), cmocka_unit_test(test_judge),
        cmocka_unit_test(test_compare),      cmocka_unit_test(test_compare_candidates)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
