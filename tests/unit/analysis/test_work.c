/* SPDX-License-Identifier: Apache-2.0
 *
 * --work: the expressions, the file, and what it does to kernels that lack counts.
 */
#include "fixture.h"

#include <math.h>
#include <string.h>

static const double shape[6] = {10, 3, 2, 256, 4, 1};

static void values(void **state) {
    (void)state;
    static const struct {
        const char *text;
        double value;
    } good[] = {
        {"1", 1},
        {" 2*gx*bx ", 5120},
        {"1 + 2 * 3", 7},
        {"(1 + 2) * 3", 9},
        {"8 / 4 / 2", 1},
        {"-3 + 5", 2},
        {"2 - -2", 4},
        {"1e9", 1e9},
        {".5*gy", 1.5},
        {"ceil(gx / 4)", 3},
        {"floor(gx/4)", 2},
        {"min(gx, gy, gz)", 2},
        {"max(1, min(bx, 1000)) * by", 1024},
        {"2*4096*4096*4096", 2.0 * 4096 * 4096 * 4096},
        {"0", 0},
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        rp_error error = {0};
        double value;
        if (rp_expression(good[i].text, shape, &value, &error) != RP_OK)
            fail_msg("%s: %s", good[i].text, error.message);
        assert_near(value, good[i].value, 0);
    }
}

static void refusals(void **state) {
    (void)state;
    static const char *const bad[] = {
        "",        "1 +",
        "(1",      "1)",
        "gq",      "x*2",
        "sqrt(2)", "min(1)",
        "1/0",     "gx/(1-1)",
        "1e400",   "1e308*10",
        "0-1",     "nan",
        "inf",     "0x10",
        "1,2",     "system(1)",
        "$(id)",   "`id`",
        "max(1,)", "1e308*1e308-1e308*1e308",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        rp_error error = {0};
        double value = 0;
        if (rp_expression(bad[i], shape, &value, &error) != RP_INPUT)
            fail_msg("'%s' was taken for %g", bad[i], value);
        assert_unknown(value);
        assert_true(error.message[0]);
    }
    char deep[4096];
    memset(deep, '(', sizeof deep - 1);
    deep[sizeof deep - 1] = '\0';
    double value;
    assert_int_equal(rp_expression(deep, shape, &value, NULL), RP_INPUT);
    memset(deep, '-', sizeof deep - 1);
    assert_int_equal(rp_expression(deep, shape, &value, NULL), RP_INPUT);
    assert_int_equal(rp_expression("gx", NULL, &value, NULL), RP_INPUT);
    assert_int_equal(rp_expression("7", NULL, &value, NULL), RP_OK);
}

static void parse(void **state) {
    (void)state;
    rp_work_rule *rules;
    size_t n;
    rp_error error = {0};
    const char *text = "# what we know\r\n"
                       "[saxpy*]\r\n"
                       "flops = 2 * gx * bx\r\n"
                       "bytes = 12 * gx * bx\r\n"
                       "\r\n"
                       "[void gemm<a, b>(c[4], d)]\n"
                       "flops=2*4096*4096*4096\n"
                       "precision = fp16_tensor";
    assert_int_equal(rp_work_parse("w.ini", text, &rules, &n, &error), RP_OK);
    assert_int_equal(n, 2);
    assert_string_equal(rules[0].kernel_glob, "saxpy*");
    assert_string_equal(rules[0].bytes, "12 * gx * bx");
    assert_string_equal(rules[1].kernel_glob, "void gemm<a, b>(c[4], d)");
    assert_string_equal(rules[1].flops_precision_path, "fp16_tensor");
    assert_null(rules[1].bytes);
    assert_true(rp_work_needs_shape(rules, 2));
    assert_false(rp_work_needs_shape(rules + 1, 1));
    rp_work_free(rules, n);
}

static void parse_refusals(void **state) {
    (void)state;
    static const struct {
        const char *text, *where;
    } bad[] = {
        {"", "w.ini: no [GLOB"},
        {"flops = 1\n", "w.ini:1:"},
        {"[k]\nflops = 1\nflops = 2\n", "w.ini:3:"},
        {"[k]\n\nflops = 1 +\n", "w.ini:3:"},
        {"[k]\nflops = 1/0\n", "w.ini:2:"},
        {"[k]\nflop = 1\n", "w.ini:2:"},
        {"[k]\nflops = 1\nprecision = fp17\n", "w.ini:3:"},
        {"[k\nflops = 1\n", "w.ini:1:"},
        {"[]\nflops = 1\n", "w.ini:1:"},
        {"[k]\nprecision = fp32_vector\n", "w.ini:1:"},
        {"[a]\n[b]\nflops = 1\n", "w.ini:1:"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        rp_work_rule *rules;
        size_t n;
        rp_error error = {0};
        if (rp_work_parse("w.ini", bad[i].text, &rules, &n, &error) != RP_INPUT)
            fail_msg("taken: %s", bad[i].text);
        if (strncmp(error.message, bad[i].where, strlen(bad[i].where)) != 0)
            fail_msg("'%s' does not begin with '%s'", error.message, bad[i].where);
        assert_null(rules);
        assert_int_equal(n, 0);
    }
}

static void fills_what_is_missing(void **state) {
    (void)state;
    static rp_work_rule rules[] = {
        {.kernel_glob = "saxpy", .flops = "2*gx*bx", .bytes = "12*gx*bx"},
        {.kernel_glob = "gemm", .flops = "1e9", .flops_precision_path = "fp16_tensor"},
        {.kernel_glob = "gem*", .flops = "5e9", .flops_precision_path = "fp16_tensor"},
        {.kernel_glob = "gem*", .flops = "7e6"},
    };
    fixture f;
    fixture_start(&f, "NVIDIA A100-SXM4-40GB");
    rp_group *g = fixture_kernel(&f, "saxpy", 5, 1e-3);
    fixture_shape(g, 100, 256);
    g = fixture_kernel(&f, "gemm", 1, 1e-3);
    fixture_set(g, RP_Q_DRAM_BYTES, 5e6);
    g = fixture_kernel(&f, "counted", 1, 1e-3);
    fixture_set(g, RP_Q_FLOPS_FP32_VECTOR, 77);
    f.options.work = rules;
    f.options.work_count = 4;
    fixture_analyse(&f);
    const rp_report_kernel *k = fixture_find(&f, "saxpy");
    assert_true(k->flops[RP_FP32][RP_VECTOR] == 5 * 2 * 25600.0);
    assert_true(k->bytes[RP_DRAM] == 5 * 12 * 25600.0);
    assert_int_equal(k->flops_provenance, RP_USER);
    assert_int_equal(k->bytes_provenance, RP_USER);
    k = fixture_find(&f, "gemm");
    assert_true(k->flops[RP_FP16][RP_TENSOR] == 1e9);
    assert_true(k->flops[RP_FP32][RP_VECTOR] == 7e6);
    assert_int_equal(k->bytes_provenance, RP_COUNTED);
    assert_true(k->bytes[RP_DRAM] == 5e6);
    /* what was counted stands */
    rules[0].kernel_glob = "counted";
    f.profile.groups[2].has_shape = true;
    f.profile.groups[2].grid[0] = f.profile.groups[2].block[0] = 1;
    fixture_analyse(&f);
    assert_true(fixture_find(&f, "counted")->flops_total == 77);
    /* a shape that is not known is an error with the kernel's name, not a zero */
    rp_error error = {0};
    rules[0].kernel_glob = "gemm";
    rules[0].flops_line = 3;
    f.options.work_file = "w.ini";
    rp_report_free(&f.report);
    assert_int_equal(rp_analyse(&f.profile, f.hwdb, &f.options, &f.report, &error), RP_INPUT);
    assert_non_null(strstr(error.message, "w.ini:3, kernel gemm"));
    fixture_end(&f);
}

/* A misspelt name is told with its line; one that matches is not. */
static void what_matches_nothing_is_said(void **state) {
    (void)state;
    static rp_work_rule rules[] = {
        {.kernel_glob = "saxpy", .flops = "1", .line = 1},
        {.kernel_glob = "saxpi*", .flops = "1", .line = 4},
    };
    fixture f;
    size_t found = 0;
    fixture_start(&f, "NVIDIA A100-SXM4-40GB");
    fixture_kernel(&f, "saxpy", 5, 1e-3);
    f.options.work = rules;
    f.options.work_count = 2;
    f.options.work_file = "w.ini";
    fixture_analyse(&f);
    for (size_t i = 0; i < f.report.note_count; i++) {
        assert_null(strstr(f.report.notes[i].text, "w.ini:1"));
        if (strstr(f.report.notes[i].text, "w.ini:4") && strstr(f.report.notes[i].text, "[saxpi*]"))
            found++;
    }
    assert_int_equal(found, 1);
    fixture_end(&f);
}

/* By config each launch shape has its own work; the report is by kernel all the same. */
static void configs_are_merged_afterwards(void **state) {
    (void)state;
    static rp_work_rule rule = {.kernel_glob = "k", .flops = "gx"};
    fixture f;
    fixture_start(&f, "NVIDIA A100-SXM4-40GB");
    rp_group *g = fixture_kernel(&f, "k", 3, 1e-3);
    fixture_shape(g, 10, 32);
    fixture_set(g, RP_Q_OCCUPANCY_ACHIEVED, 0.2);
    fixture_shape(fixture_kernel(&f, "other", 1, 1e-3), 1, 32);
    g = fixture_kernel(&f, "k", 2, 2e-3);
    fixture_shape(g, 100, 32);
    fixture_set(g, RP_Q_OCCUPANCY_ACHIEVED, 0.9);
    f.options.work = &rule;
    f.options.work_count = 1;
    f.options.merge_configs = true;
    fixture_analyse(&f);
    assert_int_equal(f.report.kernel_count, 2);
    const rp_report_kernel *k = fixture_find(&f, "k");
    assert_int_equal(k->launches, 5);
    assert_near(k->time_s, 7e-3, 1e-12);
    assert_true(k->flops_total == 3 * 10 + 2 * 100);
    assert_false(k->has_shape);
    assert_near(k->occupancy, (3 * 0.2 + 4 * 0.9) / 7, 1e-9); /* averaged over time */
    fixture_end(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values),
        cmocka_unit_test(refusals),
        cmocka_unit_test(parse),
        cmocka_unit_test(parse_refusals),
        cmocka_unit_test(fills_what_is_missing),
        cmocka_unit_test(what_matches_nothing_is_said),
        cmocka_unit_test(configs_are_merged_afterwards),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
