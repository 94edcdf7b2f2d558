/* SPDX-License-Identifier: Apache-2.0
 *
 * The JSON writer, read back by an independent parser.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
/* cmocka wants the three above first */
#include <cmocka.h>

#include "output/json.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <yajl/yajl_tree.h>

static char *text;
static size_t size;
static rp_json json;

static void start(void) {
    free(text);
    rp_json_start(&json, open_memstream(&text, &size));
}

/* Parses what was written; fails the test if that is no JSON. */
static yajl_val finish(void) {
    char error[256] = "";
    fclose(json.file);
    yajl_val root = yajl_tree_parse(text, error, sizeof error);
    if (!root)
        fail_msg("%s in:\n%s", error, text);
    return root;
}

static yajl_val get(yajl_val root, const char *key, yajl_type type) {
    const char *path[] = {key, NULL};
    yajl_val value = yajl_tree_get(root, path, type);
    if (!value)
        fail_msg("no %s of that type in:\n%s", key, text);
    return value;
}

/* What ends a line or is not seen is escaped, so that a document is safe in scripts and terminals.
 */
static void escapes(void **state) {
    (void)state;
    static const struct {
        const char *raw, *written;
    } rows[] = {{"\"", "\"\\\"\""},        {"\\", "\"\\\\\""},        {"\n", "\"\\n\""},
                {"\t", "\"\\t\""},         {"\x01", "\"\\u0001\""},   {"\x7f", "\"\\u007f\""},
                {"\u2028", "\"\\u2028\""}, {"\u2029", "\"\\u2029\""}, {"\u2027", "\"\u2027\""},
                {"<&>", "\"<&>\""}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        start();
        rp_json_string(&json, NULL, rows[i].raw);
        fclose(json.file);
        assert_string_equal(text, rows[i].written);
    }
}

static void structure(void **state) {
    (void)state;
    start();
    rp_json_object(&json, NULL);
    rp_json_array(&json, "empty");
    rp_json_close(&json);
    rp_json_object(&json, "nothing");
    rp_json_close(&json);
    rp_json_array(&json, "list");
    rp_json_number(&json, NULL, 1);
    rp_json_string(&json, NULL, "two");
    rp_json_null(&json, NULL);
    rp_json_bool(&json, NULL, true);
    rp_json_close(&json);
    rp_json_integer(&json, "least", INT64_MIN);
    rp_json_count(&json, "most", UINT64_MAX);
    rp_json_close(&json);
    yajl_val root = finish();
    assert_int_equal(YAJL_GET_ARRAY(get(root, "list", yajl_t_array))->len, 4);
    assert_int_equal(YAJL_GET_ARRAY(get(root, "empty", yajl_t_array))->len, 0);
    assert_string_equal(YAJL_GET_NUMBER(get(root, "least", yajl_t_number)), "-9223372036854775808");
    assert_string_equal(YAJL_GET_NUMBER(get(root, "most", yajl_t_number)), "18446744073709551615");
    assert_int_equal(text[strlen(text) - 1], '\n');
    yajl_tree_free(root);
}

static void numbers_read_back_the_same(void **state) {
    (void)state;
    static const double values[] = {0,       1,       -1,          0.1,     1.0 / 3, 1e-9,
                                    1e300,   DBL_MIN, DBL_MAX,     5e-324,  295.1,   19.5e12,
                                    2.0e-16, 1e15,    123456789.5, 4.0 / 7, -0.3};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        start();
        rp_json_object(&json, NULL);
        rp_json_number(&json, "value", values[i]);
        rp_json_close(&json);
        yajl_val root = finish();
        assert_true(strtod(YAJL_GET_NUMBER(get(root, "value", yajl_t_number)), NULL) == values[i]);
        yajl_tree_free(root);
    }
    char buffer[RP_SHORTEST];
    assert_string_equal(rp_shortest(0.1, buffer), "0.1");
    assert_string_equal(rp_shortest(19.5e12, buffer), "19500000000000");
}

static void unknown_is_null(void **state) {
    (void)state;
    start();
    rp_json_object(&json, NULL);
    rp_json_number(&json, "nan", NAN);
    rp_json_number(&json, "inf", INFINITY);
    rp_json_number(&json, "minus", -INFINITY);
    rp_json_string(&json, "text", NULL);
    rp_json_close(&json);
    yajl_val root = finish();
    get(root, "nan", yajl_t_null);
    get(root, "inf", yajl_t_null);
    get(root, "minus", yajl_t_null);
    get(root, "text", yajl_t_null);
    yajl_tree_free(root);
}

static const char *round_trip(const char *value, yajl_val *root) {
    start();
    rp_json_object(&json, NULL);
    rp_json_string(&json, "key", value);
    rp_json_close(&json);
    *root = finish();
    return YAJL_GET_STRING(get(*root, "key", yajl_t_string));
}

static void any_bytes(void **state) {
    (void)state;
    static const char *const kept[] = {
        "plain",       "\"quoted\\\"", "tab\tand\nline\r", "\x01\x1f\x7f", "µ ü 漢字 😀",
        "</script>&'", "\xe2\x80\xa8", "$(id) `id`",       "a/b\\u0041",   ""};
    yajl_val root;
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        assert_string_equal(round_trip(kept[i], &root), kept[i]);
        yajl_tree_free(root);
    }
    /* bytes that are no UTF-8 become visible, and the document stays valid */
    assert_string_equal(round_trip("a\xff\xc0\x80z\xed\xa0\x80", &root),
                        "a\\xff\\xc0\\x80z\\xed\\xa0\\x80");
    yajl_tree_free(root);
}

static void inside_a_page(void **state) {
    (void)state;
    start();
    json.inside_html = true;
    rp_json_array(&json, NULL);
    rp_json_string(&json, NULL, "</script><!-- & -->");
    rp_json_close(&json);
    yajl_tree_free(finish());
    assert_null(strpbrk(text, "<>&"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(escapes),
        cmocka_unit_test(structure),
        cmocka_unit_test(numbers_read_back_the_same),
        cmocka_unit_test(unknown_is_null),
        cmocka_unit_test(any_bytes),
        cmocka_unit_test(inside_a_page),
    };
    int result = cmocka_run_group_tests(tests, NULL, NULL);
    free(text);
    return result;
}
