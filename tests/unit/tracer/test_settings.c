/* SPDX-License-Identifier: Apache-2.0
 *
 * The settings file, damaged ones included, and how patterns match kernels' names.
 */
#include "tracer/nvtx.h"
#include "tracer/select.h"
#include "tracer/settings.h"
#include "tracer/writer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* What select.c asks of the rest of the tracer. */
static bool in_range;
static uint32_t chosen[64];
static size_t chosen_count;

bool nvtx_selected(void) {
    return in_range;
}

int64_t writer_now(int clock) {
    (void)clock;
    return 1;
}

void writer_frame(spool_type type, const void *head, size_t head_size, const void *body,
                  size_t body_size) {
    (void)type, (void)head, (void)head_size, (void)body, (void)body_size;
}

void writer_record(spool_type type, const void *record, size_t size) {
    assert_int_equal(type, SPOOL_SELECTED);
    assert_int_equal(size, sizeof *chosen);
    memcpy(&chosen[chosen_count++], record, size);
}

/* What settings point to lives as long as the process: they are kept for the leak checker. */
static tracer_settings *read_text(const char *text) {
    static tracer_settings kept[16];
    static size_t used;
    char path[] = "/tmp/roofprof-settings-XXXXXX";
    int file = mkstemp(path);
    tracer_settings *s = &kept[used++ % 16];
    assert_true(file >= 0);
    assert_int_equal(write(file, text, strlen(text)), (ssize_t)strlen(text));
    close(file);
    settings_read(s, path);
    unlink(path);
    return s;
}

static void everything_is_read(void **state) {
    tracer_settings s = *read_text("mode sampled\nsamples 7\nbudget 0.25\nwatchdog 3.5\n"
                                   "probe /opt/with space/roofprof-probe\nskip nccl*\nskip *a b*\n"
                                   "kernel gemm*\nrange step *\nfirst 10\ncount 20\n"
                                   "start_after 1.5\nfrom_api\nvirtual_clock\nconfiguration HW\n"
                                   "set GH100;GA100 HW a.sum b.sum\nset GV100 SASS c.sum\n");
    (void)state;
    assert_int_equal(s.mode, MODE_SAMPLED);
    assert_int_equal(s.samples, 7);
    assert_true(s.budget == 0.25 && s.watchdog_s == 3.5 && s.start_after_s == 1.5);
    assert_string_equal(s.probe, "/opt/with space/roofprof-probe");
    assert_int_equal(s.skip_count, 2);
    assert_string_equal(s.skip[1], "*a b*");
    assert_string_equal(s.kernel, "gemm*");
    assert_string_equal(s.range, "step *");
    assert_true(s.first == 10 && s.count == 20 && s.from_api && s.virtual_clock);
    assert_string_equal(s.configuration, "HW");
    assert_int_equal(s.set_count, 2);
    assert_int_equal(s.sets[0].count, 2);
    assert_string_equal(s.sets[0].metrics[1], "b.sum");
    assert_true(settings_set_is_for(&s.sets[0], "GA100"));
    assert_false(settings_set_is_for(&s.sets[0], "GA10"));
    assert_false(settings_set_is_for(&s.sets[0], "GV100"));
    assert_true(settings_choose_launches(&s));
}

static void nothing_and_nonsense(void **state) {
    tracer_settings s;
    (void)state;
    settings_read(&s, NULL);
    assert_int_equal(s.mode, MODE_TRACE);
    assert_false(settings_choose_launches(&s));
    settings_read(&s, "/nonexistent/settings");
    assert_int_equal(s.mode, MODE_TRACE);
    s = *read_text("\n \nmode\nset\nset GH100\nset GH100 HW\nset GH100 HW a\nfuture thing\nkernel\n"
                   "mode of-tomorrow");
    assert_int_equal(s.mode, MODE_TRACE);
    assert_int_equal(s.set_count, 1); /* only one has all that a set needs */
    assert_null(s.kernel);
}

static void patterns(void **state) {
    (void)state;
    assert_true(select_glob("saxpy", "saxpy"));
    assert_false(select_glob("saxpy", "saxpy2"));
    assert_true(select_glob("gemm", "_Z4gemmIfEvPT_"));
    assert_true(select_glob("ge*", "_Z4gemmPf"));
    assert_true(select_glob("cutlass::Kernel", "_ZN7cutlass6KernelIiEEvPT_"));
    assert_true(select_glob("Kernel", "_ZN7cutlass6KernelIiEEvPT_"));
    assert_false(select_glob("kernel", "_ZN7cutlass6KernelIiEEvPT_"));
    assert_true(select_glob("_ZN7cutlass*", "_ZN7cutlass6KernelIiEEvPT_"));
    assert_true(select_glob("nccl*", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclArgs)"));
    /* Names that only look mangled. */
    assert_false(select_glob("x", "_Z"));
    assert_false(select_glob("x", "_Z999999999999999999999x"));
    assert_false(select_glob("x", "_ZN3"));
}

static void choose_by_number_and_range(void **state) {
    static tracer_settings s;
    (void)state;
    s = *read_text("range step*\nfirst 1\ncount 2\n");
    select_start(&s);
    assert_false(select_launch(true, 10)); /* outside of the range: not even numbered */
    in_range = true;
    assert_false(select_launch(true, 11));  /* number 0 */
    assert_false(select_launch(false, 12)); /* another kernel */
    assert_true(select_launch(true, 13));
    assert_true(select_launch(true, 15));
    assert_false(select_launch(true, 16)); /* number 3 */
    assert_int_equal(chosen_count, 2);
    assert_int_equal(chosen[0], 13);
    assert_int_equal(chosen[1], 15);
    assert_true(select_range_name("step 7"));
    assert_false(select_range_name("epoch"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_is_read),
        cmocka_unit_test(nothing_and_nonsense),
        cmocka_unit_test(patterns),
        cmocka_unit_test(choose_by_number_and_range),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
