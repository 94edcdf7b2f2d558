/* SPDX-License-Identifier: Apache-2.0
 *
 * The table in its formats: widths, escapes, unknown values.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
/* cmocka wants the three above first */
#include <cmocka.h>

#include "output/table.h"
#include "support/text.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <yajl/yajl_tree.h>

static const rp_column columns[] = {
    {"number", "#", RP_RIGHT, 0, 0},
    {"name", "kernel", RP_LEFT, RP_FLEXIBLE, 0},
    {"time_s", "time", RP_RIGHT, 0, 0},
    {"rate", "rate", RP_RIGHT, 0, 1},
    {"secret", "secret", RP_LEFT, RP_DATA_ONLY, 0},
};
static char *text;

static const char *print(rp_table *table, rp_format format, size_t width) {
    size_t size;
    free(text);
    text = NULL;
    FILE *file = open_memstream(&text, &size);
    rp_table_print(table, file, format, (rp_style){.width = width});
    fclose(file);
    return text;
}

static void add(rp_table *table, uint64_t number, const char *name, double time) {
    char buffer[32];
    snprintf(buffer, sizeof buffer, "%.1f s", time);
    rp_table_row(table);
    rp_table_count(table, number);
    rp_table_text(table, name);
    rp_table_number(table, time, buffer);
    rp_table_number(table, 2.5e9, "2.50 GFLOP/s");
    rp_table_text(table, "hidden");
}

static void aligned(void **state) {
    (void)state;
    rp_table *table = rp_table_create(columns, 5);
    add(table, 1, "saxpy", 1.5);
    add(table, 12, "äöü漢", NAN);
    assert_string_equal(print(table, RP_FORMAT_TEXT, 80), " #  kernel   time          rate\n"
                                                          " 1  saxpy   1.5 s  2.50 GFLOP/s\n"
                                                          "12  äöü漢       -  2.50 GFLOP/s\n");
    rp_table_free(table);
}

/* Every line fits, names give way first, then columns go, and what went is named. */
static void fits_any_width(void **state) {
    (void)state;
    char name[5001];
    memset(name, 'x', 5000);
    name[5000] = '\0';
    rp_table *table = rp_table_create(columns, 5);
    add(table, 1, name, 1.5);
    add(table, 2, "abc", 1.5);
    for (size_t width = 30; width <= 200; width++) {
        const char *at = print(table, RP_FORMAT_TEXT, width);
        while (*at) {
            size_t length = strcspn(at, "\n");
            char *line = strndup(at, length);
            if (rp_text_columns(line) > width && line[0] != '(')
                fail_msg("width %zu: '%s'", width, line);
            free(line);
            at += length + (at[length] == '\n');
        }
    }
    assert_non_null(
        strstr(print(table, RP_FORMAT_TEXT, 36), "(not shown for want of width: rate)"));
    assert_null(strstr(print(table, RP_FORMAT_TEXT, 80), "not shown"));
    rp_table_free(table);
}

static void csv(void **state) {
    (void)state;
    rp_table *table = rp_table_create(columns, 5);
    add(table, 1, "gemm<a, b>(\"x\")", 0.1);
    add(table, 2, "=cmd|' /C calc'!A0", NAN);
    add(table, 3, "two\nlines\x1b[31m", 1);
    assert_string_equal(print(table, RP_FORMAT_CSV, 80),
                        "number,name,time_s,rate,secret\n"
                        "1,\"gemm<a, b>(\"\"x\"\")\",0.1,2500000000,hidden\n"
                        "2,'=cmd|' /C calc'!A0,,2500000000,hidden\n"
                        "3,two\\nlines\\x1b[31m,1,2500000000,hidden\n");
    rp_table_free(table);
}

static void markdown(void **state) {
    (void)state;
    rp_table *table = rp_table_create(columns, 5);
    add(table, 1, "a|b_c*<img src=x>`id`[l](u)", 1);
    assert_string_equal(print(table, RP_FORMAT_MD, 80),
                        "| \\# | kernel | time | rate |\n|---:|:---|---:|---:|\n"
                        "| 1 | a\\|b\\_c\\*&lt;img src=x&gt;\\`id\\`\\[l\\](u) | 1.0 s | 2.50 "
                        "GFLOP/s |\n");
    rp_table_free(table);
}

static void html(void **state) {
    (void)state;
    rp_table *table = rp_table_create(columns, 5);
    add(table, 1, "<script>alert('x')</script>\"&", 0.25);
    rp_table_row(table);
    rp_table_count(table, 2);
    rp_table_text_as(table, "void f<\"q\">(int)", "f");
    const char *page = print(table, RP_FORMAT_HTML, 80);
    assert_null(strstr(page, "<script"));
    assert_non_null(strstr(page, "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&quot;&amp;"));
    assert_non_null(strstr(page, "title=\"void f&lt;&quot;q&quot;&gt;(int)\""));
    assert_non_null(strstr(page, "data-value=\"0.25\""));
    assert_null(strstr(page, "hidden"));
    rp_table_free(table);
}

static void json(void **state) {
    (void)state;
    rp_table *table = rp_table_create(columns, 5);
    add(table, 7, "a\"b", NAN);
    yajl_val root = yajl_tree_parse(print(table, RP_FORMAT_JSON, 80), NULL, 0);
    assert_non_null(root);
    yajl_val row = YAJL_GET_ARRAY(root)->values[0];
    const char *name[] = {"name", NULL}, *time[] = {"time_s", NULL}, *number[] = {"number", NULL};
    assert_string_equal(YAJL_GET_STRING(yajl_tree_get(row, name, yajl_t_string)), "a\"b");
    assert_non_null(yajl_tree_get(row, time, yajl_t_null));
    assert_int_equal(YAJL_GET_INTEGER(yajl_tree_get(row, number, yajl_t_number)), 7);
    yajl_tree_free(root);
    rp_table_free(table);
}

/* A caller's mistake must not write outside the row. */
static void too_many_cells(void **state) {
    (void)state;
    rp_table *table = rp_table_create(columns, 5);
    rp_table_text(table, "before any row");
    add(table, 1, "k", 1);
    rp_table_text(table, "one too many");
    assert_null(strstr(print(table, RP_FORMAT_CSV, 80), "too many"));
    assert_int_equal(rp_table_rows(table), 1);
    rp_table_free(table);
}

static void formats(void **state) {
    (void)state;
    rp_format format;
    assert_true(rp_format_find("md", &format));
    assert_int_equal(format, RP_FORMAT_MD);
    assert_false(rp_format_find("yaml", &format));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(aligned),  cmocka_unit_test(fits_any_width), cmocka_unit_test(csv),
        cmocka_unit_test(markdown), cmocka_unit_test(html),           cmocka_unit_test(json),
        cmocka_unit_test(formats),  cmocka_unit_test(too_many_cells),
    };
    int result = cmocka_run_group_tests(tests, NULL, NULL);
    free(text);
    return result;
}
