/* SPDX-License-Identifier: Apache-2.0
 *
 * Error messages: filling, cutting, prefixing.
 */
#include "support/error.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

static void test_fill(void **state) {
    (void)state;
    rp_error error;
    assert_int_equal(rp_fail(&error, RP_INPUT, "line %d", 7), RP_INPUT);
    assert_int_equal(error.code, RP_INPUT);
    assert_string_equal(error.message, "line 7");
    assert_int_equal(rp_fail(NULL, RP_USAGE, "nobody reads this"), RP_USAGE);
}

static void test_prefix(void **state) {
    (void)state;
    rp_error error;
    rp_fail(&error, RP_INPUT, "no kernel");
    assert_int_equal(rp_error_prefix(&error, "%s", "a.csv"), RP_INPUT);
    assert_string_equal(error.message, "a.csv: no kernel");
}

/* The cut falls into a two-byte character: all of it goes, and "..." stands there. */
static void test_cut_at_character(void **state) {
    (void)state;
    rp_error error;
    char text[3000] = "";
    for (size_t i = 0; i + 2 < sizeof text; i += 2)
        memcpy(text + i, "\xC3\xA9", 3);
    for (int offset = 0; offset < 2; offset++) {
        rp_fail(&error, RP_INPUT, "%s%s", offset ? "x" : "", text);
        size_t length = strlen(error.message);
        assert_true(length < sizeof error.message && length > sizeof error.message - 8);
        assert_string_equal(error.message + length - 3, "...");
        assert_int_equal((unsigned char)error.message[length - 4], 0xA9);
    }
}

static void test_long_prefix(void **state) {
    (void)state;
    rp_error error;
    char text[5000];
    memset(text, 'p', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    rp_fail(&error, RP_MACHINE, "reason");
    assert_int_equal(rp_error_prefix(&error, "%s", text), RP_MACHINE);
    assert_true(strlen(error.message) < sizeof error.message);
}

/* Names of files and kernels in a message reach a terminal: nothing in them may act there. */
static void test_printable(void **state) {
    (void)state;
    rp_error error;
    rp_fail(&error, RP_INPUT, "cannot read \"%s\"", "a\x1b[31m\nb\xFF\xE2\x80\xAE");
    assert_string_equal(error.message, "cannot read \"a\\x1b[31m\\nb\\xff\\u202e\"");
    rp_error_prefix(&error, "%s", "\x07");
    assert_string_equal(error.message, "\\x07: cannot read \"a\\x1b[31m\\nb\\xff\\u202e\"");
    char text[3000];
    memset(text, '\x1b', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    rp_fail(&error, RP_INPUT, "%s", text);
    size_t length = strlen(error.message);
    assert_true(length < sizeof error.message);
    assert_string_equal(error.message + length - 3, "...");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_fill), cmocka_unit_test(test_prefix),
                                       cmocka_unit_test(test_printable),
                                       cmocka_unit_test(test_cut_at_character),
                                       cmocka_unit_test(test_long_prefix)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
