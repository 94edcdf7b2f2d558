/* SPDX-License-Identifier: Apache-2.0
 *
 * Globs, lists of them and regular expressions.
 */
#include "support/match.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void test_glob(void **state) {
    (void)state;
    assert_true(rp_match_glob("*", ""));
    assert_true(rp_match_glob("gemm*", "gemm_128"));
    assert_false(rp_match_glob("gemm*", "sgemm"));
    assert_true(rp_match_glob("*gemm*", "void ns::sgemm<a/b>(int)"));
    assert_true(rp_match_glob("k?rnel", "kernel"));
    assert_false(rp_match_glob("k?rnel", "krnel"));
    assert_true(rp_match_glob("gemm_[0-9]*", "gemm_7x"));
    assert_false(rp_match_glob("gemm_[!0-9]*", "gemm_7x"));
    assert_true(rp_match_glob("[]a]", "]"));
    assert_true(rp_match_glob("a[b", "a[b"));
    assert_true(rp_match_glob("f<\\*>", "f<*>"));
    assert_false(rp_match_glob("f<\\*>", "f<x>"));
    assert_false(rp_match_glob("", "x"));
    assert_true(rp_match_glob("", ""));
    assert_true(rp_match_glob("*a*b", "xaxbxab"));
}

static void test_list(void **state) {
    (void)state;
    assert_true(rp_match_list("GA100;GH100", "GH100"));
    assert_false(rp_match_list("GA100;GH100", "GH10"));
    assert_true(rp_match_list("gfx9*;GA*", "GA102"));
    assert_true(rp_match_list("*", NULL));
    assert_false(rp_match_list("GA100", NULL));
}

/* The pattern that costs a naive matcher years. */
static void test_hostile_glob(void **state) {
    (void)state;
    enum { SIZE = 20000 };
    char *text = malloc(SIZE + 1);
    memset(text, 'a', SIZE);
    text[SIZE] = '\0';
    clock_t start = clock();
    assert_false(rp_match_glob("*a*a*a*a*a*a*a*a*a*a*b", text));
    assert_true((double)(clock() - start) / CLOCKS_PER_SEC < 5);
    free(text);
}

static void test_regex(void **state) {
    (void)state;
    regex_t regex;
    rp_error error;
    assert_int_equal(rp_match_compile(&regex, "^gemm_(64|128)$", &error), RP_OK);
    assert_int_equal(regexec(&regex, "gemm_128", 0, NULL, 0), 0);
    regfree(&regex);
    assert_int_equal(rp_match_compile(&regex, "gemm_(", &error), RP_USAGE);
    assert_non_null(strstr(error.message, "gemm_("));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_glob), cmocka_unit_test(test_list),
                                       cmocka_unit_test(test_hostile_glob),
                                       cmocka_unit_test(test_regex)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
