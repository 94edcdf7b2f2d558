/* SPDX-License-Identifier: Apache-2.0
 *
 * The readers under the importers: numbers, CSV rows, lines of plain and gzip files, the JSON
 * filter, and nested ranges.
 */
#include "fixture.h"
#include "importers/lanes.h"
#include "importers/lenient.h"
#include "importers/rows.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void numbers(void **state) {
    (void)state;
    double value;
    int64_t integer;
    assert_true(rp_number("3.3255e+10", &value));
    assert_true(value == 33255000000.0);
    assert_true(rp_number("-.5", &value));
    assert_true(value == -0.5);
    const char *const none[] = {"", "nan", "inf", "0x10", "1,5", "1 ", "1e999", "-", "."};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_false(rp_number(none[i], &value));
    assert_true(rp_integer("9007199254740993", &integer));
    assert_int_equal(integer, INT64_C(9007199254740993));
    assert_true(rp_integer("12.0", &integer));
    assert_int_equal(integer, 12);
    assert_false(rp_integer("12.5", &integer));
    assert_false(rp_integer("99999999999999999999", &integer));
    assert_false(rp_integer(" 1", &integer));
}

typedef struct seen {
    char text[512];
    size_t rows;
    uint64_t last_line;
} seen;

static bool skip_messages(void *context, const char *line, size_t length) {
    (void)context;
    return length >= 2 && line[0] == '=' && line[1] == '=';
}

static rp_code note_row(void *context, const rp_row *row, rp_error *error) {
    (void)error;
    seen *s = context;
    for (size_t i = 0; i < row->count; i++) {
        strcat(s->text, "[");
        strcat(s->text, row->cell[i]);
        strcat(s->text, "]");
    }
    s->rows++;
    s->last_line = row->line;
    return RP_OK;
}

static void read_rows(const char *text, seen *s, bool *truncated) {
    rp_rows rows = {skip_messages, note_row, s};
    char *path = make_file(".csv", text, strlen(text));
    rp_error error;
    memset(s, 0, sizeof *s);
    assert_int_equal(rp_rows_read(path, &rows, truncated, &error), RP_OK);
    drop_file(path);
}

static void rows_as_profilers_write_them(void **state) {
    (void)state;
    seen s;
    bool truncated;
    read_rows("\xEF\xBB\xBF"
              "a,\"b \"\"q\"\", c\"\r\n==1== odd \" quote\n\"x\n==2== inside\",2\n3,",
              &s, &truncated);
    assert_string_equal(s.text, "[a][b \"q\", c][x\n==2== inside][2][3][]");
    assert_int_equal(s.rows, 3);
    assert_int_equal(s.last_line, 5);
    assert_false(truncated);
}

static void row_cut_in_a_cell(void **state) {
    (void)state;
    seen s;
    bool truncated;
    read_rows("a,b\n1,\"kernel(int", &s, &truncated);
    assert_string_equal(s.text, "[a][b]");
    assert_true(truncated);
}

static void no_such_file(void **state) {
    (void)state;
    rp_rows rows = {NULL, note_row, NULL};
    rp_error error;
    assert_int_equal(rp_rows_read("/nonexistent/file.csv", &rows, NULL, &error), RP_INPUT);
    assert_non_null(strstr(error.message, "/nonexistent/file.csv"));
}

static void filter(const char *json, size_t step, char *output) {
    rp_lenient lenient = {0};
    size_t length = strlen(json), at = 0;
    unsigned char buffer[1024];
    *output = '\0';
    while (at < length) {
        size_t n = length - at < step ? length - at : step;
        size_t got = rp_lenient_filter(&lenient, (const unsigned char *)json + at, n, buffer);
        strncat(output, (char *)buffer, got);
        at += n;
    }
}

static void json_is_made_parseable(void **state) {
    (void)state;
    static const char *const pairs[][2] = {
        {"[NaN, -Infinity, inf, -1e+5, 2E-3, true]", "[null, null, null, -1e+5, 2E-3, true]"},
        {"{\"a\tb\": \"NaN\"}", "{\"a\\u0009b\": \"NaN\"}"},
        {"\"C:\\Users\\new\\t\"", "\"C:\\\\Users\\new\\t\""},
        {"\"\\u00e9 \\u0000 \\uZZ\"", "\"\\u00e9 \\\\u0000 \\\\uZZ\""},
        {"\"\\\"\\\\\"", "\"\\\"\\\\\""},
        {"\"\xff\xfe\"", "\"\xff\xfe\""},
        {"[bogus]", "[bogus]"}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        for (size_t step = 1; step < 12; step++) {
            char output[1024];
            filter(pairs[i][0], step, output);
            assert_string_equal(output, pairs[i][1]);
        }
}

static void line_reader_joins_chunks(void **state) {
    (void)state;
    size_t length = 700000; /* more than two chunks */
    char *text = malloc(length + 8);
    memset(text, 'x', length);
    memcpy(text + length, "\nshort\n", 8);
    char *path = make_gzip(text, length + 7);
    rp_stream *stream;
    rp_error error;
    const char *line;
    size_t got;
    assert_int_equal(rp_stream_open(&stream, path, &error), RP_OK);
    assert_int_equal(rp_stream_line(stream, &line, &got, &error), RP_OK);
    assert_int_equal(got, length + 1);
    assert_int_equal(rp_stream_line(stream, &line, &got, &error), RP_OK);
    assert_int_equal(got, 6);
    assert_memory_equal(line, "short\n", 6);
    assert_int_equal(rp_stream_line(stream, &line, &got, &error), RP_OK);
    assert_int_equal(got, 0);
    assert_false(rp_stream_truncated(stream));
    rp_stream_close(stream);
    drop_file(path);
    free(text);
}

static void ranges_nest(void **state) {
    (void)state;
    rp_lanes *lanes;
    rp_capture *capture;
    rp_error error;
    assert_int_equal(rp_lanes_new(&lanes, &error), RP_OK);
    assert_int_equal(rp_capture_create(&capture, NULL, "test", &error), RP_OK);
    assert_int_equal(rp_lanes_add(lanes, 1, "inner", 5, 20, 30, &error), RP_OK);
    assert_int_equal(rp_lanes_add(lanes, 1, "outer", 5, 10, 100, &error), RP_OK);
    assert_int_equal(rp_lanes_add(lanes, 1, "late", 4, 40, 50, &error), RP_OK);
    assert_int_equal(rp_lanes_add(lanes, 2, "other", 5, 0, 1000, &error), RP_OK);
    assert_int_equal(rp_lanes_add(lanes, 2, "backwards", 9, 10, 5, &error), RP_OK);
    assert_int_equal(rp_lanes_count(lanes), 4);
    assert_int_equal(rp_lanes_store(lanes, capture, 7, &error), RP_OK);
    int64_t outer = rp_lanes_find(lanes, 1, 35), inner = rp_lanes_find(lanes, 1, 25);
    assert_true(outer >= 0 && inner >= 0 && outer != inner);
    assert_int_equal(rp_lanes_find(lanes, 1, 60), outer);
    assert_int_not_equal(rp_lanes_find(lanes, 1, 45), outer);
    assert_int_equal(rp_lanes_find(lanes, 1, 5), -1);
    assert_int_equal(rp_lanes_find(lanes, 1, 101), -1);
    assert_int_equal(rp_lanes_find(lanes, 3, 20), -1);
    assert_true(rp_lanes_find(lanes, 2, 20) >= 0);
    rp_capture_abandon(capture);
    rp_lanes_free(lanes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers),
        cmocka_unit_test(rows_as_profilers_write_them),
        cmocka_unit_test(row_cut_in_a_cell),
        cmocka_unit_test(no_such_file),
        cmocka_unit_test(json_is_made_parseable),
        cmocka_unit_test(line_reader_joins_chunks),
        cmocka_unit_test(ranges_nest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
