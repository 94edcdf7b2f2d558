/* SPDX-License-Identifier: Apache-2.0
 *
 * The older way's host side: every configuration of every chip that the tracer would count with,
 * made by the library beside a CUPTI. ROOFPROF_TEST_OLD_CUPTI: paths of libcupti, with ':' between
 * them (scripts/old-cupti.sh fetches those of CUDA 11.8 and 12.4). The emulated device's library is
 * held against the same, always.
 */
#include "commands/settings.h"
#include "hwdb/hwdb.h"
#include "hwdb/metric_sets.h"
#include "tracer/host.h"
#include "tracer/nvpw.h"
#include "tracer/plan.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { VERSION_12_2 = 20, NOT_SUPPORTED = 27, INVALID_PARAMETER = 1 };

/* The settings that the parent would write for MODE. */
static tracer_settings settings_of(const char *mode) {
    rp_trace_settings wanted = RP_TRACE_SETTINGS_INIT;
    char folder[] = "/tmp/roofprof-nvpw-XXXXXX";
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
    return s;
}

typedef struct library {
    nvpw_api api;
    uint32_t version;
    const char *path;
} library;

static library open_one(const char *path) {
    library l = {.path = path};
    char reason[256] = "";
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(handle);
    int (*version)(uint32_t *) = (int (*)(uint32_t *))dlsym(handle, "cuptiGetVersion");
    assert_non_null(version);
    assert_int_equal(version(&l.version), 0);
    if (nvpw_open(&l.api, (const void *)(uintptr_t)version, reason))
        fail_msg("%s: %s", path, reason);
    return l;
}

static bool knows(const library *l, const char *chip) {
    nvpw_chips chips = {.size = sizeof chips};
    assert_int_equal(l->api.GetSupportedChipNames(&chips), 0);
    for (size_t i = 0; i < chips.count; i++)
        if (!strcmp(chips.names[i], chip))
            return true;
    return false;
}

/* What CUDA 11.8's library lacks; later ones lack nothing of the chips that they know. */
static bool may_lack(const library *l, const char *metric) {
    return l->version < VERSION_12_2 &&
           (strstr(metric, "__ops_path_tensor_") || strstr(metric, "_shared_gmma"));
}

/* Leaves out what is not known, as the tracer does: that must be what the library may lack. */
static void leave_out(const library *l, const char *chip, configuration *c) {
    const char **wanted = calloc(c->count, sizeof *wanted);
    size_t all = c->count, at = 0;
    assert_non_null(wanted);
    memcpy(wanted, c->metrics, all * sizeof *wanted);
    c->count = nvpw_keep_known(&l->api, chip, NULL, c->metrics, all);
    for (size_t i = 0; i < all; i++)
        if (at < c->count && c->metrics[at] == wanted[i])
            at++;
        else if (!may_lack(l, wanted[i]))
            fail_msg("%s: %s %s: there is no %s", l->path, chip, c->profile, wanted[i]);
    free(wanted);
    assert_int_equal(at, c->count);
    assert_true(c->count > 2 && c->count < all);
}

static void check_configuration(const library *l, const char *chip, configuration *c,
                                size_t passes) {
    const char *unknown;
    nvpw_set set;
    nvpw_refusal r = nvpw_set_make(&l->api, chip, NULL, c->metrics, c->count, &set, &unknown);
    if (r.result) {
        leave_out(l, chip, c);
        r = nvpw_set_make(&l->api, chip, NULL, c->metrics, c->count, &set, &unknown);
    }
    if (r.result)
        fail_msg("%s: %s %s: %s: %d", l->path, chip, c->profile, r.call, r.result);
    if (set.passes != passes)
        fail_msg("%s: %s %s takes %zu passes", l->path, chip, c->profile, set.passes);
    assert_true(set.config_size > 0 && set.prefix_size > 0);
    nvpw_set_free(&set);
}

static void check_chip(const library *l, const tracer_settings *sampled,
                       const tracer_settings *replay, const char *chip) {
    configuration list[CONFIGURATIONS] = {0}, all[CONFIGURATIONS] = {0};
    schedule s = {0}, r = {0};
    assert_true(plan_make(sampled, chip, list, &s) && plan_make(replay, chip, all, &r));
    for (int i = 0; i < s.count; i++)
        check_configuration(l, chip, &list[i], 1);
    for (int i = 0; i < r.count; i++)
        if (r.roles[i] == ROLE_REST) /* FULL2 */
            check_configuration(l, chip, &all[i], 2);
    for (int i = 0; i < CONFIGURATIONS; i++) {
        free(list[i].metrics);
        free(all[i].metrics);
    }
}

static void check_library(const char *path) {
    static const char *const chips[] = {
        "GV100", "TU102", "TU104", "TU106", "TU116", "TU117", "GA100", "GA102", "GA103", "GA104",
        "GA106", "GA107", "GA10B", "AD102", "AD103", "AD104", "AD106", "AD107", "GH100"};
    library l = open_one(path);
    static tracer_settings sampled, replay; /* for ever: what they point to is not freed */
    int checked = 0;
    if (!sampled.set_count) {
        sampled = settings_of("sampled");
        replay = settings_of("replay");
    }
    for (size_t i = 0; i < sizeof chips / sizeof *chips; i++)
        if (knows(&l, chips[i])) {
            check_chip(&l, &sampled, &replay, chips[i]);
            checked++;
        }
    assert_true(knows(&l, "GV100") && knows(&l, "GA100") && knows(&l, "GH100") && checked >= 15);
    print_message("%s: version %u, %d chips\n", path, l.version, checked);
}

static void refusals_say_what(const char *path) {
    library l = open_one(path);
    const char *names[] = {"gpu__time_duration.sum", "no__such_metric.sum"}, *unknown = NULL;
    nvpw_set set;
    nvpw_refusal r = nvpw_set_make(&l.api, "GV100", NULL, names, 2, &set, &unknown);
    assert_int_equal(r.result, INVALID_PARAMETER);
    assert_string_equal(unknown, "no__such_metric.sum");
    assert_null(set.config);
    assert_int_equal(nvpw_keep_known(&l.api, "GV100", NULL, names, 2), 1);
    r = nvpw_set_make(&l.api, "GX999", NULL, names, 1, &set, &unknown);
    assert_int_equal(r.result, NOT_SUPPORTED);
    assert_null(unknown);

    size_t passes = 0;
    host_api host = {.older = true, .nvpw = l.api};
    assert_int_equal(host_count_passes(&host, "GV100", names, 1, &passes, &unknown), 0);
    assert_int_equal(passes, 1);
}

static void real_libraries(void **state) {
    const char *list = getenv("ROOFPROF_TEST_OLD_CUPTI");
    char path[4096];
    int checked = 0;
    (void)state;
    for (const char *at = list ? list : ""; *at; at += *at == ':') {
        int length = (int)strcspn(at, ":");
        snprintf(path, sizeof path, "%.*s", length, at);
        at += length;
        if (!length || access(path, R_OK))
            continue;
        check_library(path);
        refusals_say_what(path);
        checked++;
    }
    if (!checked) {
        print_message("ROOFPROF_TEST_OLD_CUPTI names no libcupti of CUDA 11.8 or 12.4\n");
        skip();
    }
}

static void emulated_library(void **state) {
    (void)state;
    check_library(EMULATED_CUPTI);
    refusals_say_what(EMULATED_CUPTI);
}

/* The library of the toolkit that there is serves the older way as well: a V100 needs it. */
static void toolkits_library(void **state) {
    const char *path = TOOLKIT_CUPTI;
    (void)state;
    if (access(path, R_OK)) {
        print_message("there is no toolkit with a CUPTI\n");
        skip();
    }
    check_library(path);
    refusals_say_what(path);
}

static void not_there(void **state) {
    nvpw_api api;
    char reason[256] = "";
    (void)state;
    assert_int_equal(nvpw_open(&api, NULL, reason), -1);
    assert_non_null(strstr(reason, "libnvperf_host.so"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(real_libraries), cmocka_unit_test(toolkits_library),
        cmocka_unit_test(emulated_library), cmocka_unit_test(not_there)};
    setenv("ROOFPROF_HWDB", ROOFPROF_SOURCE_DIR "/hwdb", 0);
    setenv("ROOFPROF_EMU_REAL_CUPTI", "none", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
