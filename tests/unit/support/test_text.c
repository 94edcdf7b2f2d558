/* SPDX-License-Identifier: Apache-2.0
 *
 * Text from strangers: nothing that is shown may hold control characters, broken UTF-8 or
 * characters that disguise others, and nothing of the rest may change.
 */
#include "support/text.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

static void check_shown(const char *text, size_t length, const char *expected) {
    char *shown = rp_text_printable(text, length);
    assert_non_null(shown);
    assert_string_equal(shown, expected);
    assert_true(rp_text_is_printable(shown, strlen(shown)));
    assert_int_equal(rp_text_is_printable(text, length), strlen(expected) == length);
    free(shown);
}
#define SHOWN(text, expected) check_shown(text, sizeof(text) - 1, expected)

static void test_printable(void **state) {
    (void)state;
    SHOWN("", "");
    SHOWN("saxpy<float>(int)", "saxpy<float>(int)");
    SHOWN("`x` $(reboot) \"q\" 'a' {/Symbol b} @home ^2 \\ %n",
          "`x` $(reboot) \"q\" 'a' {/Symbol b} @home ^2 \\ %n");
    SHOWN("gemm\xC3\xA9\xE2\x82\xAC\xF0\x9F\x9A\x80", "gemm\xC3\xA9\xE2\x82\xAC\xF0\x9F\x9A\x80");
}

static void test_controls(void **state) {
    (void)state;
    SHOWN("a\nb\tc\rd", "a\\nb\\tc\\rd");
    SHOWN("\x1b[31mred\x07\x7f", "\\x1b[31mred\\x07\\x7f");
    SHOWN("nul\0byte", "nul\\x00byte");
}

static void test_disguises(void **state) {
    (void)state;
    SHOWN("\xE2\x80\xAEgpj.exe", "\\u202egpj.exe"); /* right-to-left override */
    SHOWN("a\xE2\x80\x8B"
          "b",
          "a\\u200bb"); /* zero-width space */
    SHOWN("\xC2\x9B"
          "31m",
          "\\u009b31m");                      /* C1 control sequence introducer */
    SHOWN("\xF3\xA0\x80\x81", "\\U000e0001"); /* tag character */
}

static void test_broken(void **state) {
    (void)state;
    SHOWN("\xFF\xFE", "\\xff\\xfe");
    SHOWN("\xC3", "\\xc3");                            /* cut */
    SHOWN("\xC0\xAF", "\\xc0\\xaf");                   /* overlong slash */
    SHOWN("\xED\xA0\x80", "\\xed\\xa0\\x80");          /* surrogate */
    SHOWN("\xF4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"); /* above U+10FFFF */
    SHOWN("\xE2\x82"
          "x",
          "\\xe2\\x82x");
}

/* Every byte, alone and in 100 kB. */
static void test_any_bytes(void **state) {
    (void)state;
    enum { SIZE = 100000 };
    char *bytes = malloc(SIZE);
    for (int i = 0; i < SIZE; i++)
        bytes[i] = (char)(i * 7919 >> 3);
    char *shown = rp_text_printable(bytes, SIZE);
    assert_true(rp_text_is_printable(shown, strlen(shown)));
    free(shown);
    for (int i = 0; i < 256; i++) {
        char byte = (char)i;
        shown = rp_text_printable(&byte, 1);
        assert_true(rp_text_is_printable(shown, strlen(shown)) && *shown);
        free(shown);
    }
    free(bytes);
}

static void test_columns(void **state) {
    (void)state;
    assert_int_equal(rp_text_columns(""), 0);
    assert_int_equal(rp_text_columns("abc"), 3);
    assert_int_equal(rp_text_columns("\xC3\xA9"), 1);
    assert_int_equal(rp_text_columns("e\xCC\x81"), 1);
    assert_int_equal(rp_text_columns("\xE6\xBC\xA2\xE5\xAD\x97"), 4);
}

static void check_fit(const char *text, size_t columns, const char *expected) {
    char *fitted = rp_text_fit(text, columns);
    assert_string_equal(fitted, expected);
    assert_true(rp_text_columns(fitted) <= columns);
    free(fitted);
}

static void test_fit(void **state) {
    (void)state;
    check_fit("abcdef", 6, "abcdef");
    check_fit("abcdef", 4, "abc\xE2\x80\xA6");
    check_fit("abcdef", 1, "\xE2\x80\xA6");
    check_fit("abcdef", 0, "");
    check_fit("", 0, "");
    check_fit("\xE6\xBC\xA2\xE5\xAD\x97", 3, "\xE6\xBC\xA2\xE2\x80\xA6");
    check_fit("\xE6\xBC\xA2\xE5\xAD\x97", 2, "\xE2\x80\xA6");
}

static void test_copy(void **state) {
    (void)state;
    char *copy = rp_text_copy("a\0b", 3);
    assert_string_equal(copy, "a\\0b");
    free(copy);
    copy = rp_text_copy(NULL, 0);
    assert_string_equal(copy, "");
    free(copy);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_printable), cmocka_unit_test(test_controls),
        cmocka_unit_test(test_disguises), cmocka_unit_test(test_broken),
        cmocka_unit_test(test_any_bytes), cmocka_unit_test(test_columns),
        cmocka_unit_test(test_fit),       cmocka_unit_test(test_copy)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
