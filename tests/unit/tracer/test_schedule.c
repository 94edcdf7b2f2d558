/* SPDX-License-Identifier: Apache-2.0
 *
 * Whose turn it is: rounds over configurations, tensor configurations only where they are wanted,
 * WHY once and last, rounds further and further apart, and replay's choices.
 */
#include "tracer/schedule.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { HW, SASS, TENSOR0, TENSOR1, WHY };

static const schedule sampled = {
    .mode = MODE_SAMPLED,
    .samples = 2,
    .count = 5,
    .roles = {ROLE_ALWAYS, ROLE_ALWAYS, ROLE_TENSOR, ROLE_TENSOR, ROLE_LAST}};

/* How often each was taken over N launches, with the last one taken staying set. */
static void run(const schedule *s, launch_key *key, int n, int *counts) {
    int current = -1;
    for (int i = 0; i < n; i++) {
        int which = schedule_choose(s, key, current);
        if (which >= 0) {
            counts[which]++;
            current = which;
        }
        if (which == HW && s->mode == MODE_SAMPLED && !key->tensor)
            key->tensor = TENSOR_IDLE;
    }
}

/* Two at once, then two a doubling. */
static void check_samples(int taken, int launches) {
    int doublings = 0;
    while ((4 << doublings) < launches)
        doublings++;
    assert_in_range(taken, 2 * doublings - 2, 2 * doublings + 4);
}

static void each_configuration_gets_its_samples(void **state) {
    launch_key key = {0};
    int counts[5] = {0};
    (void)state;
    run(&sampled, &key, 1000, counts);
    check_samples(counts[HW], 1000);
    assert_in_range(counts[SASS], counts[HW] - 1, counts[HW]);
    assert_int_equal(counts[TENSOR0] + counts[TENSOR1], 0);
    assert_int_equal(counts[WHY], 1);
}

static void tensor_configurations_join(void **state) {
    launch_key key = {.tensor = TENSOR_ACTIVE};
    int counts[5] = {0};
    (void)state;
    run(&sampled, &key, 1000, counts);
    for (int i = 0; i < WHY; i++)
        assert_in_range(counts[i], counts[HW] - 1, counts[HW] + 1);
    check_samples(counts[HW], 500);
    assert_int_equal(counts[WHY], 1);
}

static void the_first_launches_are_counted_at_once(void **state) {
    launch_key key = {0};
    (void)state;
    assert_int_equal(schedule_choose(&sampled, &key, -1), HW);
    assert_int_equal(schedule_choose(&sampled, &key, HW), SASS);
}

static void what_is_set_already_goes_first(void **state) {
    launch_key key = {0};
    (void)state;
    assert_int_equal(schedule_choose(&sampled, &key, SASS), SASS);
    assert_int_equal(schedule_choose(&sampled, &key, SASS), HW);
    key = (launch_key){0};
    assert_int_equal(schedule_choose(&sampled, &key, TENSOR0), HW); /* not wanted here */
}

/* However long a program runs, there are samples of its last half and of the half before that. */
static void rounds_are_spread(void **state) {
    for (int samples = 1; samples <= 5; samples++) {
        schedule s = sampled;
        launch_key key = {.tensor = TENSOR_IDLE};
        int last = 0, current = -1, taken = 0;
        (void)state;
        s.samples = (uint32_t)samples;
        for (int i = 1; i <= 100000; i++) {
            int which = schedule_choose(&s, &key, current);
            if (which < 0 || which == WHY)
                continue;
            current = which;
            assert_true(i <= 4 * last + 8);
            last = i;
            taken++;
        }
        assert_true(last > 100000 / 4);
        assert_in_range(taken, 2 * samples * 10, 2 * samples * 19);
    }
}

/* Places are not those of a period that a program may have. */
static void places_are_random(void **state) {
    schedule s = sampled;
    launch_key key = {.tensor = TENSOR_IDLE};
    int parity[2] = {0};
    (void)state;
    s.samples = 10;
    for (int i = 1; i <= 100000; i++)
        if (schedule_choose(&s, &key, HW) == HW)
            parity[i % 2]++;
    assert_true(parity[0] > 30 && parity[1] > 30);
}

static void one_sample_is_enough_where_asked(void **state) {
    schedule s = sampled;
    launch_key key = {0};
    int counts[5] = {0};
    (void)state;
    s.samples = 1;
    run(&s, &key, 2, counts);
    assert_int_equal(counts[HW], 1);
    assert_int_equal(counts[SASS], 1);
    run(&s, &key, 98, counts);
    assert_in_range(counts[HW], 4, 7);
}

static void a_configuration_without_a_part(void **state) {
    schedule s = sampled;
    launch_key key = {.tensor = TENSOR_IDLE};
    int counts[5] = {0};
    (void)state;
    s.roles[HW] = ROLE_NONE;
    run(&s, &key, 100, counts);
    assert_int_equal(counts[HW], 0);
    check_samples(counts[SASS], 100);
}

static void replay_counts_every_launch(void **state) {
    enum { FIRST, REST_TENSOR, REST };
    static const schedule replay = {.mode = MODE_REPLAY,
                                    .samples = 1,
                                    .count = 3,
                                    .roles = {ROLE_FIRST, ROLE_REST_TENSOR, ROLE_REST}};
    launch_key key = {0};
    (void)state;
    assert_false(schedule_waits(&replay, &key));
    assert_int_equal(schedule_choose(&replay, &key, REST), FIRST);
    assert_true(schedule_waits(&replay, &key)); /* for what the first one has shown */
    key.tensor = TENSOR_IDLE;
    assert_false(schedule_waits(&replay, &key));
    for (int i = 0; i < 100; i++)
        assert_int_equal(schedule_choose(&replay, &key, FIRST), REST);
    key.tensor = TENSOR_ACTIVE;
    assert_int_equal(schedule_choose(&replay, &key, REST), REST_TENSOR);
    key.tensor = TENSOR_UNKNOWN; /* the first one's values were lost: rather more than less */
    assert_int_equal(schedule_choose(&replay, &key, REST), REST_TENSOR);
}

static void trace_counts_nothing(void **state) {
    schedule s = sampled;
    launch_key key = {0};
    (void)state;
    s.mode = MODE_TRACE;
    assert_int_equal(schedule_choose(&s, &key, -1), -1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_configuration_gets_its_samples),
        cmocka_unit_test(tensor_configurations_join),
        cmocka_unit_test(the_first_launches_are_counted_at_once),
        cmocka_unit_test(what_is_set_already_goes_first),
        cmocka_unit_test(rounds_are_spread),
        cmocka_unit_test(places_are_random),
        cmocka_unit_test(one_sample_is_enough_where_asked),
        cmocka_unit_test(a_configuration_without_a_part),
        cmocka_unit_test(replay_counts_every_launch),
        cmocka_unit_test(trace_counts_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
