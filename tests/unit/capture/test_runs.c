/* SPDX-License-Identifier: Apache-2.0
 *
 * Several runs of one program made into one capture: what agrees is merged, what does not is said
 * and stays unknown.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "capture/runs.h"
#include "scratch.h"

/* A run: kernels by one letter each ("aab"), a process for each word, METRIC counted of every
 * launch (its number in the run, from 1); NULL: a run that was traced. */
static rp_capture *run(const char *launches, const char *metric) {
    rp_capture *capture = create(NULL);
    rp_launch_record launch = RP_LAUNCH_RECORD_INIT;
    int64_t device = add_device(capture, 0), correlation = 0;
    launch.process = add_process(capture, 100);
    for (const char *l = launches; *l; l++) {
        char name[2] = {*l, 0};
        if (*l == ' ') {
            launch.process = add_process(capture, 100 + (l - launches));
            continue;
        }
        launch.config = add_config(capture, name, 4);
        launch.device = device;
        launch.correlation = ++correlation;
        if (!metric) {
            launch.start_ns = correlation * 1000;
            launch.end_ns = launch.start_ns + 500;
            launch.time_provenance = RP_MEASURED;
        }
        int64_t id = add_launch(capture, &launch);
        if (metric)
            add_counter(capture, id, metric, (double)correlation);
    }
    finish(capture);
    return capture;
}

/* FIRST traced, DRAM counted in a run that launches SECOND and L2 in one that launches THIRD. */
static rp_profile merge(const char *first, const char *second, const char *third) {
    rp_capture *traced = run(first, NULL), *into = create(NULL);
    rp_counted_run runs[2] = {{run(second, "dram__bytes.sum"), "DRAM"},
                              {run(third, "lts__t_bytes.sum"), "L2"}};
    rp_error error;
    ok(rp_capture_merge_runs(traced, runs, 2, into, &error), &error);
    finish(into);
    rp_profile profile = load(into, NULL, RP_BY_KERNEL);
    rp_capture_close(into);
    rp_capture_close(traced);
    rp_capture_close(runs[0].capture);
    rp_capture_close(runs[1].capture);
    return profile;
}

static bool noted(const rp_profile *p, const char *text) {
    for (size_t i = 0; i < p->note_count; i++)
        if (strstr(p->notes[i].text, text))
            return true;
    return false;
}

static void runs_that_agree(void **state) {
    (void)state;
    rp_profile p = merge("aba", "aba", "aba");
    const rp_group *a = find_group(&p, "a"), *b = find_group(&p, "b");
    assert_true(a->q[RP_Q_DRAM_BYTES].n == 2 && a->q[RP_Q_DRAM_BYTES].sum == 1 + 3);
    assert_true(a->q[RP_Q_L2_BYTES].n == 2 && b->q[RP_Q_L2_BYTES].sum == 2);
    assert_true(a->time.n == 2 && fabs(a->time.sum - 1e-6) < 1e-12);
    assert_int_equal(p.note_count, 0);
    rp_profile_free(&p);
}

static void another_number_of_launches(void **state) {
    (void)state;
    rp_profile p = merge("aab", "aaab", "aab");
    const rp_group *a = find_group(&p, "a"), *b = find_group(&p, "b");
    assert_int_equal(a->q[RP_Q_DRAM_BYTES].n, 0);
    assert_int_equal(a->q[RP_Q_L2_BYTES].n, 2);
    assert_true(b->q[RP_Q_DRAM_BYTES].n == 1 && b->q[RP_Q_DRAM_BYTES].sum == 4);
    assert_true(noted(&p, "DRAM did not do the same as the first: launches of a,"));
    assert_true(noted(&p, ": 3, not 2."));
    rp_profile_free(&p);
}

static void another_order(void **state) {
    (void)state;
    rp_profile p = merge("aabb", "abab", "aabb");
    assert_true(find_group(&p, "a")->q[RP_Q_DRAM_BYTES].sum == 1 + 3);
    assert_true(noted(&p, "DRAM launched in another order than the first (launch 2: b"));
    assert_false(noted(&p, "L2 launched in another order"));
    rp_profile_free(&p);
}

static void processes(void **state) {
    (void)state;
    /* By their launches, whichever is started first; one is not there again. */
    rp_profile p = merge("aa bbb", "bbb aa", "aa");
    assert_true(find_group(&p, "a")->q[RP_Q_DRAM_BYTES].sum == 4 + 5);
    assert_true(find_group(&p, "b")->q[RP_Q_DRAM_BYTES].sum == 1 + 2 + 3);
    assert_int_equal(find_group(&p, "b")->q[RP_Q_L2_BYTES].n, 0);
    assert_true(noted(&p, "1 process of the first run has no counterpart in the run that counted "
                          "L2"));
    rp_profile_free(&p);
    p = merge("aa", "aa bb", "aa");
    assert_true(noted(&p, "1 process of the run that counted DRAM has no counterpart"));
    rp_profile_free(&p);
}

static void a_run_without_counters(void **state) {
    (void)state;
    rp_capture *traced = run("aa", NULL), *into = create(NULL), *second = run("aa", NULL);
    rp_counted_run counted = {second, "HW"};
    rp_error error;
    ok(rp_capture_merge_runs(traced, &counted, 1, into, &error), &error);
    finish(into);
    rp_profile p = load(into, NULL, RP_BY_KERNEL);
    assert_true(noted(&p, "the run that was to count HW has no counters"));
    rp_profile_free(&p);
    rp_capture_close(into);
    rp_capture_close(traced);
    rp_capture_close(second);
}

/* A tensor pipe that is busy with half-precision FMAs alone uses no tensor cores. */
static void tensor_cores(void **state) {
    static const struct {
        double pipe, halves;
        bool used;
    } cases[] = {{10, 10, false}, {10, 4, true}, {10, -1, true}, {0, -1, false}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rp_capture *capture = create(NULL);
        rp_error error;
        bool used;
        int64_t id = add_timed(capture, add_config(capture, "k", 1), add_device(capture, 0), 1, 9);
        add_counter(capture, id, "sm__inst_executed_pipe_tensor.sum", cases[i].pipe);
        if (cases[i].halves >= 0)
            add_counter(capture, id, "sm__inst_executed_pipe_tensor_op_hmma_type_hfma2.sum",
                        cases[i].halves);
        finish(capture);
        ok(rp_capture_used_tensor_cores(capture, &used, &error), &error);
        assert_int_equal(used, cases[i].used);
        rp_capture_close(capture);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_that_agree), cmocka_unit_test(another_number_of_launches),
        cmocka_unit_test(another_order),   cmocka_unit_test(processes),
        cmocka_unit_test(tensor_cores),    cmocka_unit_test(a_run_without_counters),
    };
    return cmocka_run_group_tests(tests, scratch_set_up, scratch_tear_down);
}
