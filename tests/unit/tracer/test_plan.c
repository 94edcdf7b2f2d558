/* SPDX-License-Identifier: Apache-2.0
 *
 * The configurations of every chip in metric_sets.csv, as the tracer puts them together: held
 * against CUPTI's host interface, where one is found (ROOFPROF_CUPTI, or the toolkit's): what is
 * sampled must take a single pass, with all peaks in it.
 */
#include "commands/settings.h"
#include "hwdb/hwdb.h"
#include "hwdb/metric_sets.h"
#include "tracer/bind.h"
#include "tracer/plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { CHIPS = 64 };
static char chips[CHIPS][16];
static int chip_count;

/* The settings that the parent would write for MODE; they live as long as the process. */
static const tracer_settings *settings_of(const char *mode) {
    static tracer_settings kept[4];
    static size_t used;
    rp_trace_settings wanted = RP_TRACE_SETTINGS_INIT;
    char folder[] = "/tmp/roofprof-plan-XXXXXX";
    tracer_settings s;
    rp_error error = {0};
    wanted.mode = mode;
    assert_non_null(mkdtemp(folder));
    char *path = rp_trace_settings_write(&wanted, folder, &error);
    assert_non_null(path);
    settings_read(&s, path);
    unlink(path);
    rmdir(folder);
    free(path);
    kept[used % 4] = s;
    return &kept[used++ % 4];
}

static void collect_chips(const tracer_settings *s) {
    for (size_t i = 0; i < s->set_count; i++)
        for (const char *c = s->sets[i].chips; *c; c += strcspn(c, ";"), c += *c == ';') {
            char name[16];
            int k = 0;
            snprintf(name, sizeof name, "%.*s", (int)strcspn(c, ";"), c);
            while (k < chip_count && strcmp(chips[k], name))
                k++;
            if (k == chip_count && chip_count < CHIPS)
                memcpy(chips[chip_count++], name, sizeof name);
        }
}

static int try_cupti(void *context, const char *path) {
    char reason[256];
    return host_open(context, path, reason) == 0;
}

static void every_chip_has_a_plan(void **state) {
    const tracer_settings *sampled = settings_of("sampled"), *replay = settings_of("replay");
    (void)state;
    collect_chips(sampled);
    assert_true(chip_count >= 29);
    for (int i = 0; i < chip_count; i++) {
        configuration list[CONFIGURATIONS] = {0}, all[CONFIGURATIONS] = {0};
        schedule s = {0}, r = {0};
        assert_true(plan_make(sampled, chips[i], list, &s));
        assert_true(plan_make(replay, chips[i], all, &r));
        assert_true(s.count >= 3); /* HW, SASS, WHY */
        assert_int_equal(r.count, 3);
        assert_true(all[0].count > all[2].count);
        for (int k = 0; k < s.count; k++)
            free(list[k].metrics);
        for (int k = 0; k < r.count; k++)
            free(all[k].metrics);
    }
    configuration none[CONFIGURATIONS] = {0};
    schedule empty = {0};
    assert_false(plan_make(sampled, "GX999", none, &empty));
}

static void sampled_is_one_pass(void **state) {
    host_api host;
    const tracer_settings *settings = settings_of("sampled");
    int checked = 0;
    (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    skip(); /* CUPTI loads its host library with RTLD_DEEPBIND, which sanitizers do not survive */
#endif
    if (!bind_candidates(0, try_cupti, &host))
        skip();
    collect_chips(settings);
    for (int i = 0; i < chip_count; i++) {
        configuration list[CONFIGURATIONS] = {0};
        schedule s = {0};
        size_t passes = 0;
        const char *refused;
        plan_make(settings, chips[i], list, &s);
        for (int k = 0; k < s.count; k++) {
            int result = host_count_passes(&host, chips[i], list[k].metrics, list[k].count, &passes,
                                           &refused);
            if (result == 0 && passes != 1)
                fail_msg("%s %s takes %zu passes", chips[i], list[k].profile, passes);
            checked += result == 0; /* an older CUPTI does not know every chip */
            free(list[k].metrics);
        }
    }
    assert_true(checked > 50);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_chip_has_a_plan),
        cmocka_unit_test(sampled_is_one_pass),
    };
    setenv("ROOFPROF_HWDB", ROOFPROF_SOURCE_DIR "/hwdb", 0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
