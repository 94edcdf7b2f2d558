/* SPDX-License-Identifier: Apache-2.0
 *
 * The counts file from writer to capture: what the emulated device writes is what the importer
 * makes of it, number by number; and files that were cut off, or are none, are dealt with.
 */
#include "capture/capture.h"
#include "emulator/counts/counts.h"
#include "importers/importer.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char path[64];

static emu_counts saxpy_counts(void) {
    emu_counts c = {.warp_insts = 100, .thread_insts = 3000, .thread_insts_active = 3200};
    c.fp[EMU_FP32][EMU_OP_FMA] = 1000;
    c.flops_algorithmic[EMU_FP32] = c.flops_hardware[EMU_FP32] = 2000;
    c.load_bytes[EMU_GLOBAL] = 8000;
    c.store_bytes[EMU_GLOBAL] = 4000;
    c.load_requests[EMU_GLOBAL] = 64;
    c.store_requests[EMU_GLOBAL] = 32;
    c.load_sectors = 250;
    c.store_sectors = 125;
    c.peer_bytes = 96;
    c.l1_wavefronts = 96;
    c.caches_valid = true;
    c.l1_miss_sectors = c.l2_read_sectors = 250;
    c.l2_write_sectors = 125;
    c.l2_miss_sectors = 375;
    c.dram_read_bytes = 8000;
    c.dram_write_bytes = 4000;
    c.occupancy_theoretical = 0.75;
    c.occupancy_limiter = "registers";
    c.time_s = 3e-6;
    c.time_bound = "dram";
    return c;
}

/* A run of three launches: the second fails, the third repeats the first; END false: the process
 * was killed. */
static void write_file(const char *kernel_name, bool caches, bool end) {
    emu_options options = {.cache = EMU_CACHE_COLD, .count = true, .model_caches = caches};
    emu_counts_header header = {
        .program = "a \"quoted\"\nname", .cuda_major = 13, .options = &options};
    emu_device_spec spec = {.name = "NVIDIA H100 80GB HBM3",
                            .chip = "GH100",
                            .cc_major = 9,
                            .sm_count = 132,
                            .sm_clock_hz = 1.98e9,
                            .memory_bytes = 80000000000};
    emu_kernel_info info = {.name = kernel_name,
                            .registers_per_thread = 20,
                            .registers_estimated = true,
                            .shared_bytes = 16};
    emu_launch launch = {.grid = {4, 2, 1}, .block = {256, 1, 1}, .dynamic_shared_bytes = 64};
    emu_counts counts = saxpy_counts();
    counts.caches_valid = caches;
    emu_counts_file *f = emu_counts_open(path, &header);
    assert_non_null(f);
    emu_counts_device(f, 0, &spec, 63e9);
    emu_counts_memory(f, 0, "device", true, 0x7f0000000000, 8000, 0);
    emu_counts_copy_record(f, &(emu_counts_copy){.kind = "HtoD", .bytes = 8000, .time_s = 5.1e-6});
    emu_counts_kernel_record(f, &(emu_counts_kernel){1, 0, &info, 75});
    emu_counts_launch launched = {
        .id = 1, .kernel = 1, .launch = &launch, .start_s = 5e-6, .counts = &counts};
    emu_counts_launch_record(f, &launched);
    emu_counts_launch failed = launched;
    failed.id = 2;
    failed.start_s = 9e-6;
    failed.status = EMU_ILLEGAL_ADDRESS;
    failed.message = "store to 0x10";
    emu_counts_launch_record(f, &failed);
    launched.id = 3; /* repeats the first in all but its start */
    launched.start_s = 10e-6;
    emu_counts_launch_record(f, &launched);
    emu_counts_note(f, "warning", "a note\twith a tab");
    emu_counts_memory(f, 0, "device", false, 0x7f0000000000, 8000, 1e-5);
    if (end)
        emu_counts_close(f, 1e-5);
    else
        emu_counts_abandon(f);
}

static rp_code import(rp_profile *profile, rp_error *error) {
    rp_capture *capture = NULL;
    rp_code code = rp_capture_create(&capture, NULL, "test", error);
    assert_int_equal(code, RP_OK);
    const char *paths[] = {path};
    code = rp_import(paths, 1, capture, error);
    if (code == RP_OK)
        code = rp_capture_finish(capture, error);
    if (code == RP_OK)
        code = rp_capture_load(capture, NULL, RP_BY_KERNEL, profile, error);
    if (code == RP_OK)
        rp_capture_close(capture);
    else
        rp_capture_abandon(capture);
    return code;
}

static bool has_note(const rp_profile *p, const char *piece) {
    for (size_t i = 0; i < p->note_count; i++)
        if (strstr(p->notes[i].text, piece))
            return true;
    return false;
}

static void test_round_trip(void **state) {
    (void)state;
    rp_profile p;
    rp_error error = {0};
    write_file("_Z5saxpyifPKfPf", true, true);
    if (import(&p, &error) != RP_OK)
        fail_msg("%s", error.message);
    assert_int_equal(p.device_count, 1);
    assert_true(p.devices[0].emulated);
    assert_string_equal(p.devices[0].name, "NVIDIA H100 80GB HBM3");
    assert_int_equal(p.devices[0].sm_count, 132);
    assert_int_equal(p.devices[0].l2_bytes, -1); /* 0 in the spec: not known */
    assert_int_equal(p.group_count, 1);
    const rp_group *g = &p.groups[0];
    assert_int_equal(g->launches, 2); /* the failed one is a note, not a launch */
    assert_string_equal(g->short_name, "saxpy");
    assert_int_equal(g->grid[1], 2);
    assert_int_equal(g->registers, 20);
    assert_int_equal(g->shared_dynamic, 64);
    assert_int_equal(g->cache, RP_CACHE_COLD);
    assert_true(fabs(g->time.sum - 6e-6) < 1e-12);
    assert_int_equal(g->time_provenance, RP_MODELLED);
    static const struct {
        rp_quantity quantity;
        double value;
    } expected[] = {{RP_Q_FLOPS_FP32_VECTOR, 2000}, {RP_Q_FLOPS_FP64_VECTOR, 0},
                    {RP_Q_INST_FP32_FMA, 1000},     {RP_Q_GLOBAL_BYTES, 12000},
                    {RP_Q_GLOBAL_SECTORS, 375},     {RP_Q_L1_BYTES, 12000},
                    {RP_Q_L2_BYTES, 12000},         {RP_Q_DRAM_BYTES, 12000},
                    {RP_Q_DRAM_READ, 8000},         {RP_Q_LSU_REQUESTS, 96},
                    {RP_Q_WARP_INSTS, 100},         {RP_Q_OCCUPANCY_THEORETICAL, 0.75},
                    {RP_Q_L2_HIT_RATE, 0}};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        const rp_stat *q = &g->q[expected[i].quantity];
        assert_int_equal(q->n, 2);
        assert_true(fabs(q->sum / 2 - expected[i].value) < 1e-9);
    }
    assert_int_equal(g->provenance[RP_Q_DRAM_BYTES], RP_EMULATED);
    assert_int_equal(p.copy_count, 1);
    assert_true(p.copies[0].bytes == 8000);
    assert_true(p.devices[0].peak_allocated_bytes == 8000);
    assert_true(has_note(&p, "store to 0x10"));
    assert_true(has_note(&p, "a note\twith a tab"));
    assert_true(has_note(&p, "estimated from PTX"));
    assert_true(has_note(&p, "2 launches used other devices' memory, 192 bytes"));
    assert_false(has_note(&p, "did not end"));
    rp_profile_free(&p);
}

static void test_unknown_is_absent(void **state) {
    (void)state;
    rp_profile p;
    rp_error error = {0};
    write_file("k", false, true);
    assert_int_equal(import(&p, &error), RP_OK);
    assert_int_equal(p.groups[0].q[RP_Q_DRAM_BYTES].n, 0);
    assert_int_equal(p.groups[0].q[RP_Q_L2_BYTES].n, 0);
    assert_int_equal(p.groups[0].q[RP_Q_L1_BYTES].n, 2);
    rp_profile_free(&p);
}

static void test_killed(void **state) {
    (void)state;
    rp_profile p;
    rp_error error = {0};
    write_file("k", true, false);
    FILE *f = fopen(path, "a");
    fputs("{\"record\":\"launch\",\"laun", f); /* cut off in the middle */
    fclose(f);
    assert_int_equal(import(&p, &error), RP_OK);
    assert_int_equal(p.groups[0].launches, 2);
    assert_true(has_note(&p, "did not end by itself"));
    rp_profile_free(&p);
}

static void test_bad_files(void **state) {
    (void)state;
    static const char header[] =
        "{\"record\":\"header\",\"schema\":\"roofprof.emulator.counts/1\"}\n";
    static const struct {
        const char *text, *complaint;
    } rows[] = {
        {"{\"record\":\"header\",\"schema\":\"roofprof.emulator.counts/9\"}\n", "another version"},
        {"nonsense\n", ":2: a line that is not JSON"},
        {"[]\n", "no record"},
        {"{\"record\":\"launch\",\"kernel\":1,\"device\":0}\n", "does not tell of"},
        {"{\"record\":\"device\",\"device\":-3}\n", "without a device number"},
        {"{\"record\":\"device\",\"device\":1e300}\n", "without a device number"},
        {"{\"record\":\"kernel\"}\n", "without a name"},
        {"{\"record\":\"copy\"}\n", "a copy without"},
        {"{\"record\":\"device\",\"device\":0}\n{\"record\":\"kernel\",\"kernel\":1,\"name\":\"k\"}"
         "\n"
         "{\"record\":\"launch\",\"kernel\":1,\"device\":0,\"same_as\":7}\n",
         "repeats one that is not there"},
        {"{\"record\":\"free\",\"bytes\":\"x\"}\n", "an allocation without"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rp_profile p;
        rp_error error = {0};
        FILE *f = fopen(path, "w");
        fprintf(f, "%s%s", i ? header : "", rows[i].text);
        fclose(f);
        assert_int_equal(import(&p, &error), RP_INPUT);
        if (!strstr(error.message, rows[i].complaint))
            fail_msg("row %zu: %s", i, error.message);
    }
}

static int make_path(void **state) {
    (void)state;
    strcpy(path, "/tmp/roofprof-counts-XXXXXX");
    int descriptor = mkstemp(path);
    return descriptor < 0 ? -1 : close(descriptor);
}

static int remove_path(void **state) {
    (void)state;
    return unlink(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_unknown_is_absent),
        cmocka_unit_test(test_killed),
        cmocka_unit_test(test_bad_files),
    };
    return cmocka_run_group_tests(tests, make_path, remove_path);
}
