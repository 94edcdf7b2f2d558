/* SPDX-License-Identifier: Apache-2.0
 *
 * Headings: the layouts of a decade, and lines that only look like one.
 */
#include "importers/ncu_table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static ncu_table read_line(const char *line) {
    ncu_table table;
    if (!ncu_table_read(&table, line, strlen(line)))
        fail_msg("no heading: %s", line);
    return table;
}

static void refuse(const char *line) {
    ncu_table table;
    if (ncu_table_read(&table, line, strlen(line)))
        fail_msg("taken for a heading: %s", line);
}

static void test_long(void **state) {
    (void)state;
    ncu_table t =
        read_line("\"ID\",\"Process ID\",\"Process Name\",\"Host Name\",\"Kernel Name\","
                  "\"Kernel Time\",\"Context\",\"Stream\",\"Section Name\",\"Metric Name\","
                  "\"Metric Unit\",\"Metric Value\"\r\n");
    assert_true(t.is_long && t.quoted);
    assert_int_equal(t.count, 12);
    assert_int_equal(t.delimiter, ',');
    assert_int_equal(t.at[NCU_FIELD_ID], 0);
    assert_int_equal(t.at[NCU_FIELD_KERNEL], 4);
    assert_int_equal(t.at[NCU_FIELD_VALUE], 11);
    assert_true(t.at[NCU_FIELD_CC] == NCU_NO_COLUMN);
    ncu_table_free(&t);
}

static void test_wide(void **state) {
    (void)state;
    ncu_table t =
        read_line("\"ID\",\"Kernel Name\",\"Block Size\",\"dram__bytes.sum\",\"some note\"");
    assert_false(t.is_long);
    assert_int_equal(t.headings[3].field, NCU_FIELD_DATA);
    assert_null(t.headings[3].unit);
    assert_int_equal(t.headings[2].field, NCU_FIELD_BLOCK);
    assert_int_equal(t.others, 1);
    ncu_table_free(&t);
}

static void test_gui(void **state) {
    (void)state;
    ncu_table t = read_line("ID;Function Name;Demangled Name;Duration [usecond];"
                            "dram__bytes_read.sum [Mbyte];Block Size [block];SM [%]");
    assert_int_equal(t.delimiter, ';');
    assert_false(t.quoted);
    assert_int_equal(t.at[NCU_FIELD_KERNEL], 2); /* the full name is better */
    assert_int_equal(t.headings[1].field, NCU_FIELD_OTHER);
    assert_string_equal(t.headings[3].text, "Duration");
    assert_string_equal(t.headings[3].unit, "usecond");
    assert_string_equal(t.headings[4].text, "dram__bytes_read.sum");
    assert_string_equal(t.headings[4].unit, "Mbyte");
    assert_int_equal(t.headings[5].field, NCU_FIELD_BLOCK);
    ncu_table_free(&t);
}

static void test_refused(void **state) {
    (void)state;
    refuse("Kernel Name");
    refuse("Kernel Name, and nothing else of use");
    refuse("\"ID\",\"Kernel Name\",\"Time\"");
    refuse("\"Time (%)\",\"Total Time (ns)\",\"Instances\",\"Name\"");
    refuse("\"Device\",\"Kernel\",\"Invocations\",\"Metric Name\",\"Avg\"");
    refuse("");
}

static void test_offset(void **state) {
    (void)state;
    ncu_table t = read_line("\"ID\",\"Kernel Name\",\"Metric Name\",\"Metric Value\"");
    const char row[] = "\"0\",\"f<a, \"\"b\"\", c>(int)\",\"x\",\"1\"";
    assert_int_equal(ncu_table_offset(&t, row, strlen(row), 1), 4);
    assert_string_equal(row + ncu_table_offset(&t, row, strlen(row), 2), "\"x\",\"1\"");
    assert_int_equal(ncu_table_offset(&t, row, strlen(row), 4), 0);
    assert_int_equal(ncu_table_offset(&t, row, strlen(row), 0), 0);
    ncu_table_free(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_long),    cmocka_unit_test(test_wide),   cmocka_unit_test(test_gui),
        cmocka_unit_test(test_refused), cmocka_unit_test(test_offset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
