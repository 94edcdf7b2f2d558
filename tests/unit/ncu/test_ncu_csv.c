/* SPDX-License-Identifier: Apache-2.0
 *
 * Nsight Compute CSV, as it is found in the wild: text around the tables, every layout, locales,
 * holes, and files that hold nothing. Each case is a small file written here.
 */
#include "imported.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define HEAD12                                                                                     \
    "\"ID\",\"Process ID\",\"Process Name\",\"Host Name\",\"Kernel Name\",\"Kernel Time\","        \
    "\"Context\",\"Stream\",\"Section Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\""
#define HEAD15                                                                                     \
    "\"ID\",\"Process ID\",\"Process Name\",\"Host Name\",\"Kernel Name\",\"Context\",\"Stream\"," \
    "\"Block Size\",\"Grid Size\",\"Device\",\"CC\",\"Section Name\",\"Metric Name\","             \
    "\"Metric Unit\",\"Metric Value\""
#define RULES                                                                                      \
    ",\"Rule Name\",\"Rule Type\",\"Rule Description\",\"Estimated Speedup Type\",\"Estimated "    \
    "Speedup\""
#define ROW12(id, pid, kernel, metric, unit, value)                                                \
    "\"" id "\",\"" pid "\",\"app\",\"host\",\"" kernel "\",\"2026-Jan-01 00:00:00\",\"1\","       \
    "\"7\",\"Command line profiler metrics\",\"" metric "\",\"" unit "\",\"" value "\"\n"
#define ROW15(id, kernel, section, metric, unit, value)                                            \
    "\"" id "\",\"42\",\"/opt/x/app\",\"host\",\"" kernel "\",\"1\",\"7\",\"(256, 1, 1)\","        \
    "\"(64, 2, 1)\",\"0\",\"9.0\",\"" section "\",\"" metric "\",\"" unit "\",\"" value "\""

static void near(double value, double expected) {
    if (!(fabs(value - expected) <= 1e-12 * fabs(expected)))
        fail_msg("%.17g, not %.17g", value, expected);
}

static double count_launches(const imported *in) {
    return ask(in, "SELECT count(*) FROM launches");
}

/* Imports TEXT, which must be refused with each of the N parts that follow in the message. */
static void refused(const char *text, int n, ...) {
    imported in = import_text(text);
    assert_int_equal(in.code, RP_INPUT);
    va_list parts;
    va_start(parts, n);
    for (int i = 0; i < n; i++) {
        const char *part = va_arg(parts, const char *);
        if (!strstr(in.error.message, part))
            fail_msg("\"%s\" says nothing of \"%s\"", in.error.message, part);
    }
    va_end(parts);
    imported_free(&in);
}

static void test_text_around(void **state) {
    (void)state;
    imported in = import_text("\xEF\xBB\xBF==PROF== Connected to process 42 (C:\\app.exe)\r\n"
                              "a program, \"with quotes, and commas\r\n"
                              "no newline at its end" HEAD15 "\r\n" //
                              ROW15("0", "k(int, float<a, b>)", "", "dram__bytes.sum", "byte",
                                    "1,234,560") "\r\n"
                                                 "==WARNING== something in between\r\n"
                                                 "\"a quote that the program opened\r\n" //
                              ROW15("0", "k(int, float<a, b>)", "", "gpu__time_duration.sum", "ns",
                                    "2,048") "\r\n"
                                             "==PROF== Disconnected from process 42\r\n");
    near(count_launches(&in), 1);
    near(counter(&in, 0, "dram__bytes.sum"), 1234560);
    near(ask(&in, "SELECT time_ns FROM launches"), 2048);
    assert_string_equal(ask_text(&in, "SELECT name FROM kernels"), "k(int, float<a, b>)");
    assert_string_equal(ask_text(&in, "SELECT name FROM processes"), "app");
    near(ask(&in, "SELECT grid_y FROM configs"), 2);
    near(ask(&in, "SELECT block_x FROM configs"), 256);
    near(ask(&in, "SELECT cc_major FROM devices"), 9);
    near(ask(&in, "SELECT ordinal FROM devices"), 0);
    assert_true(isnan(ask(&in, "SELECT name FROM devices")));
    imported_free(&in);
}

/* A program may print much before its first kernel. */
static void test_late_heading(void **state) {
    (void)state;
    static const char line[] = "step 1, loss 0.5, no message of the profiler\n";
    static const char table[] = HEAD12 "\n" //
        ROW12("0", "1", "k", "gpu__time_duration.sum", "ns", "5,000,000");
    size_t lines = 4000, size = lines * (sizeof line - 1);
    char *text = malloc(size + sizeof table);
    for (size_t i = 0; i < lines; i++)
        memcpy(text + i * (sizeof line - 1), line, sizeof line - 1);
    memcpy(text + size, table, sizeof table);
    imported in = import_text(text);
    free(text);
    near(ask(&in, "SELECT time_ns FROM launches"), 5e6);
    imported_free(&in);
}

/* Data rows of the details page are shorter than the heading, rule rows have no metric. */
static void test_rules(void **state) {
    (void)state;
    imported in = import_text(
        HEAD15 RULES "\n"                                                                         //
        ROW15("0", "k", "GPU Speed Of Light Throughput", "Duration", "usecond", "4.06") ",\n"     //
        ROW15("0", "k", "GPU Speed Of Light Throughput", "Memory Throughput", "%", "21.68") ",\n" //
        ROW15("0", "k", "Memory Workload Analysis", "Memory Throughput", "Gbyte/second",
              "1.5") ",\n" //
        ROW15("0", "k", "SpeedOfLight", "", "", "") ",\"SOLBottleneck\",\"OPT\",\"It is, as they "
                                                    "say,\na \"\"grid\"\".\",\"global\",\"3\"\n" //
        ROW15("0", "k", "Launch Statistics", "Registers Per Thread", "register/thread",
              "40") ",\n" //
        ROW15("0", "k", "Launch Statistics", "Function Cache Configuration", "",
              "CachePreferNone") ",\n" //
        ROW15("0", "k", "Launch Statistics", "Static Shared Memory Per Block", "Kbyte/block",
              "1.02") ",\n" //
        ROW15("0", "k", "Launch Statistics", "# SMs", "SM", "132") ",\n");
    near(count_launches(&in), 1);
    near(counter(&in, 0, "gpu__time_duration.sum"), 4.06e-6);
    near(counter(&in, 0, "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed"),
         0.2168);
    near(counter(&in, 0, "dram__bytes.sum.per_second"), 1.5e9);
    near(ask(&in, "SELECT registers FROM configs"), 40);
    near(ask(&in, "SELECT shared_static FROM configs"), 1020);
    near(ask(&in, "SELECT sm_count FROM devices"), 132);
    imported_free(&in);
}

static void test_old_time(void **state) {
    (void)state;
    imported in =
        import_text(HEAD12 "\n"                                                             //
                    ROW12("0", "1", "k", "sm__cycles_elapsed.avg", "cycle", "1,200,000.50") //
                    ROW12("0", "1", "k", "sm__cycles_elapsed.avg.per_second", "cycle/second",
                          "1,200,000,500.00"));
    near(ask(&in, "SELECT time_ns FROM launches"), 1e6);
    assert_string_equal(ask_text(&in, "SELECT time_provenance FROM launch_list"), "imported");
    imported_free(&in);
}

/* The same name hundreds of times: launches are told apart by number. */
static void test_many_launches(void **state) {
    (void)state;
    size_t size = 200000;
    char *text = malloc(size);
    int used = snprintf(text, size, HEAD12 "\n");
    for (int i = 0; i < 300; i++)
        used += snprintf(text + used, size - (size_t)used,
                         "\"%d\",\"9\",\"app\",\"host\",\"k\",\"t\",\"1\",\"7\",\"s\","
                         "\"dram__bytes.sum\",\"byte\",\"%d\"\n"
                         "\"%d\",\"9\",\"app\",\"host\",\"k\",\"t\",\"1\",\"7\",\"s\","
                         "\"gpu__time_duration.sum\",\"ns\",\"5000\"\n",
                         i, 1000 + i, i);
    imported in = import_text(text);
    free(text);
    near(count_launches(&in), 300);
    near(counter(&in, 299, "dram__bytes.sum"), 1299);
    near(ask(&in, "SELECT count(*) FROM configs"), 1);
    imported_free(&in);
}

static void test_long_names(void **state) {
    (void)state;
    size_t length = 12000;
    char *name = malloc(length + 1), *text = malloc(3 * length);
    memset(name, 'x', length);
    memcpy(name, "f<a, ", 5);
    name[length] = 0;
    snprintf(text, 3 * length,
             HEAD12 "\n\"0\",\"9\",\"app\",\"host\",\"%s\",\"t\",\"1\",\"7\",\"s\","
                    "\"dram__bytes.sum\",\"byte\",\"5\"\n"
                    "\"0\",\"9\",\"app\",\"host\",\"%s\",\"t\",\"1\",\"7\",\"s\","
                    "\"lts__t_bytes.sum\",\"byte\",\"7\"",
             name, name);
    imported in = import_text(text);
    near(ask(&in, "SELECT length(name) FROM kernels"), 12000);
    near(counter(&in, 0, "lts__t_bytes.sum"), 7);
    imported_free(&in);
    free(name);
    free(text);
}

/* Names may hold whatever breaks shells, plots and pages; they come through as they are. */
static void test_hostile_names(void **state) {
    (void)state;
    static const char name[] = "`id` $(id) ; \"\"x\"\" {/Symbol a} @ 'b' <script> \xff\n\t%s%n";
    char text[2000];
    snprintf(text, sizeof text,
             HEAD12 "\n\"0\",\"9\",\"app\",\"host\",\"%s\",\"t\",\"1\",\"7\",\"s\","
                    "\"dram__bytes.sum\",\"byte\",\"5\"\n",
             name);
    imported in = import_text(text);
    near(ask(&in,
             "SELECT count(*) FROM kernels WHERE hex(name) = hex(CAST("
             "'`id` $(id) ; \"x\" {/Symbol a} @ ''b'' <script> ' || x'ff' || char(10) || char(9) "
             "|| '%s%n' AS TEXT))"),
         1);
    imported_free(&in);
}

/* ---- Wide tables ----------------------------------------------------------------------------- */

#define WIDE "\"ID\",\"Process ID\",\"Kernel Name\",\"Block Size\",\"Grid Size\",\"Device\",\"CC\","

static void test_wide(void **state) {
    (void)state;
    imported in = import_text(
        WIDE
        "\"device__attribute_display_name\",\"device__attribute_clock_rate\",\"dram__bytes.sum\","
        "\"gpu__time_duration.sum\",\"sm__throughput.avg.pct_of_peak_sustained_elapsed\","
        "\"launch__func_cache_config\"\n"
        "\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"Mbyte\",\"usecond\",\"%\",\"\"\n"
        "\"0\",\"5\",\"k\",\"(8, 1, 1)\",\"(9, 1, 1)\",\"1\",\"8.0\",\"NVIDIA A100\",\"1410000\","
        "\"690.960320\",\"4.064000\",\"100.39\",\"CachePreferNone\"\n"
        "\"1\",\"5\",\"k\",\"(8, 1, 1)\",\"(9, 1, 1)\",\"1\",\"8.0\",\"NVIDIA A100\",\"1410000\","
        "\"n/a\",\"5.000000\",\"\",\"CachePreferNone\"\n");
    near(count_launches(&in), 2);
    near(counter(&in, 0, "dram__bytes.sum"), 690960320);
    near(counter(&in, 0, "gpu__time_duration.sum"), 4.064e-6);
    near(counter(&in, 0, "sm__throughput.avg.pct_of_peak_sustained_elapsed"), 1.0039);
    assert_true(isnan(counter(&in, 1, "dram__bytes.sum")));
    assert_string_equal(ask_text(&in, "SELECT name FROM devices"), "NVIDIA A100");
    near(ask(&in, "SELECT sm_clock_hz FROM devices"), 1.41e9);
    assert_true(has_note(&in, "1 value is n/a"));
    imported_free(&in);
}

/* Text where a number must stand is not a setting: it is not known, and that is said. */
static void test_no_number(void **state) {
    (void)state;
    /* the last is no number that went wrong: it names what another table is made of */
    static const char *const cells[] = {"0x10", "12.1.0", "many", "1e5x", "sm__a.avg,sm__a.max"};
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++) {
        bool names = strstr(cells[i], "__");
        char text[512];
        snprintf(
            text, sizeof text,
            WIDE
            "\"dram__bytes.sum\",\"gpu__time_duration.sum\",\"launch__func_cache_config\"\n"
            "\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"byte\",\"ns\",\"\"\n"
            "\"0\",\"5\",\"k\",\"(8, 1, 1)\",\"(9, 1, 1)\",\"1\",\"8.0\",\"64\",\"%s\",\"0x3\"\n",
            cells[i]);
        imported in = import_text(text);
        near(counter(&in, 0, "dram__bytes.sum"), 64);
        assert_true(isnan(counter(&in, 0, "gpu__time_duration.sum")));
        assert_int_equal(has_note(&in, "1 cell holds no number"), !names);
        assert_int_equal(has_note(&in, cells[i]), !names);
        imported_free(&in);
    }
}

static void test_gui_export(void **state) {
    (void)state;
    imported in = import_text("\"ID\",\"Function Name\",\"Duration [msecond]\","
                              "\"dram__bytes_read.sum [Mbyte]\",\"# Registers [register/thread]\"\n"
                              "\"0\",\"k\",\"1.50\",\"2.25\",\"32\"\n");
    near(counter(&in, 0, "gpu__time_duration.sum"), 1.5e-3);
    near(counter(&in, 0, "dram__bytes_read.sum"), 2.25e6);
    near(ask(&in, "SELECT registers FROM configs"), 32);
    imported_free(&in);
}

/* A pivot made by a script: no units, no quotes, no ID. Raw names imply their units; labels do not.
 */
static void test_pivot(void **state) {
    (void)state;
    imported in = import_text(",Kernel Name,dram__bytes.sum,gpu__time_duration.sum\n"
                              "0,\"f(int, int)\",4096,2000.5\n"
                              "1,g,8192.0,3000.5\n");
    near(count_launches(&in), 2);
    near(counter(&in, 0, "dram__bytes.sum"), 4096);
    near(counter(&in, 1, "gpu__time_duration.sum"), 3000.5e-9);
    imported_free(&in);
    refused("Kernel Name,Duration\nk,12.5\n", 2, "\"Duration\"", "no unit");
}

/* ---- Locales --------------------------------------------------------------------------------- */

static void test_european(void **state) {
    (void)state;
    imported in = import_text(
        HEAD12 "\n" //
        ROW12("0", "1", "sgemm", "gpu__time_duration.sum", "ns", "117.344")
            ROW12("0", "1", "sgemm", "dram__bytes.sum", "byte", "2.508.800")
                ROW12("0", "1", "sgemm", "sm__throughput.avg.pct_of_peak_sustained_elapsed", "%",
                      "65,77"));
    near(ask(&in, "SELECT time_ns FROM launches"), 117344);
    near(counter(&in, 0, "dram__bytes.sum"), 2508800);
    near(counter(&in, 0, "sm__throughput.avg.pct_of_peak_sustained_elapsed"), 0.6577);
    assert_true(has_note(&in, "decimal commas"));
    imported_free(&in);
}

static void test_locale_by_counts(void **state) {
    (void)state;
    imported in = import_text(HEAD12 "\n" //
                              ROW12("0", "1", "k", "gpu__time_duration.sum", "ns", "117.344")
                                  ROW12("0", "1", "k", "dram__bytes.sum", "byte", "2.508"));
    near(ask(&in, "SELECT time_ns FROM launches"), 117344);
    near(counter(&in, 0, "dram__bytes.sum"), 2508);
    imported_free(&in);
    in = import_text(HEAD12
                     "\n" ROW12("0", "1", "k", "gpu__time_duration.sum", "nsecond", "11,328"));
    near(ask(&in, "SELECT time_ns FROM launches"), 11328);
    imported_free(&in);
}

static void test_undecidable(void **state) {
    (void)state;
    refused(HEAD12 "\n" //
            ROW12("0", "1", "k", "gpu__time_duration.sum", "ns", "117.344")
                ROW12("1", "1", "k", "gpu__time_duration.sum", "ns", "118.400"),
            4, "\"117.344\" in line 2", "\"118.400\" in line 3", "gpu__time_duration.sum",
            "LC_ALL=C");
    refused(HEAD12 "\n" //
            ROW12("0", "1", "k", "sm__cycles_elapsed.avg", "cycle", "1,234.5") ROW12(
                "0", "1", "k", "sm__throughput.avg.pct_of_peak_sustained_elapsed", "%", "65,77"),
            3, "two locales", "\"1,234.5\" in line 2", "\"65,77\" in line 3");
}

/* ---- Several runs, processes, tables --------------------------------------------------------- */

#define TIMES(id, pid, kernel)                                                                     \
    ROW12(id, pid, kernel, "dram__bytes.sum", "byte", "1,000,000")                                 \
    ROW12(id, pid, kernel, "gpu__time_duration.sum", "ns", "5,000")
#define COUNTS(id, pid, kernel)                                                                    \
    ROW12(id, pid, kernel, "sm__sass_thread_inst_executed_op_dadd_pred_on.sum", "inst", "64")      \
    ROW12(id, pid, kernel, "sm__sass_thread_inst_executed_op_dfma_pred_on.sum", "inst", "128")

static void check_joined(const char *text) {
    imported in = import_text(text);
    near(count_launches(&in), 2);
    near(ask(&in, "SELECT count(*) FROM launches WHERE time_ns = 5000"), 2);
    for (int i = 0; i < 2; i++) {
        near(counter(&in, i, "dram__bytes.sum"), 1e6);
        near(counter(&in, i, "sm__sass_thread_inst_executed_op_dfma_pred_on.sum"), 128);
    }
    assert_true(has_note(&in, "two runs of the same launches, process"));
    imported_free(&in);
}

static void test_two_runs(void **state) {
    (void)state;
    check_joined(HEAD12 "\n" TIMES("0", "1", "a") TIMES("1", "1", "b") COUNTS("0", "2", "a")
                     COUNTS("1", "2", "b"));
    check_joined(HEAD12 "\n" COUNTS("0", "2", "a") COUNTS("1", "2", "b") TIMES("0", "1", "a")
                     TIMES("1", "1", "b"));
    check_joined(HEAD12 "\n" TIMES("0", "1", "a") COUNTS("0", "2", "a") TIMES("1", "1", "b")
                     COUNTS("1", "2", "b"));
}

/* Ranks of one program collect the same metrics: two launches, not two runs. */
static void test_two_ranks(void **state) {
    (void)state;
    imported in = import_text(HEAD12 "\n" TIMES("0", "1", "a") TIMES("0", "2", "a"));
    near(count_launches(&in), 2);
    near(ask(&in, "SELECT count(*) FROM processes"), 2);
    assert_false(has_note(&in, "two runs"));
    imported_free(&in);
}

static void test_rows_apart(void **state) {
    (void)state;
    imported in = import_text(
        HEAD12 "\n" //
        ROW12("0", "1", "a", "dram__bytes.sum", "byte", "1,000,000")
            ROW12("1", "1", "b", "dram__bytes.sum", "byte", "2,000,000")
                ROW12("0", "1", "a", "gpu__time_duration.sum", "ns", "5,000")
                    ROW12("1", "1", "b", "gpu__time_duration.sum", "ns", "6,000") HEAD12 "\n" //
        ROW12("1", "1", "b", "lts__t_bytes.sum", "byte", "3,000,000")
            ROW12("1", "1", "b", "dram__bytes.sum", "byte", "9,000,000"));
    near(count_launches(&in), 2);
    near(ask(&in, "SELECT sum(time_ns) FROM launches"), 11000);
    near(counter(&in, 1, "lts__t_bytes.sum"), 3e6);
    near(counter(&in, 1, "dram__bytes.sum"), 2e6);
    assert_true(has_note(&in, "1 value twice"));
    imported_free(&in);
}

/* A label has two digits, the raw page six: whichever comes first, the raw value is kept. */
static void test_label_and_raw(void **state) {
    (void)state;
    for (int raw_first = 0; raw_first < 2; raw_first++) {
        char text[2000];
        const char *label = ROW12("0", "1", "a", "Duration", "usecond", "4.06");
        const char *raw = ROW12("0", "1", "a", "gpu__time_duration.sum", "usecond", "4.064000");
        snprintf(text, sizeof text, HEAD12 "\n%s%s", raw_first ? raw : label,
                 raw_first ? label : raw);
        imported in = import_text(text);
        near(ask(&in, "SELECT time_ns FROM launches"), 4064);
        near(counter(&in, 0, "gpu__time_duration.sum"), 4064e-9);
        imported_free(&in);
    }
}

static void test_devices(void **state) {
    (void)state;
    imported in = import_text(
        "\"ID\",\"Process ID\",\"Kernel Name\",\"Device\",\"CC\",\"Metric Name\",\"Metric Unit\","
        "\"Metric Value\"\n"
        "\"0\",\"1\",\"k\",\"0\",\"8.0\",\"dram__bytes.sum\",\"byte\",\"5\"\n"
        "\"1\",\"1\",\"k\",\"1\",\"9.0\",\"dram__bytes.sum\",\"byte\",\"6\"\n");
    near(ask(&in, "SELECT count(*) FROM devices"), 2);
    near(ask(&in, "SELECT cc_major FROM devices WHERE ordinal = 1"), 9);
    imported_free(&in);
}

/* ---- Holes ----------------------------------------------------------------------------------- */

static void test_missing_columns(void **state) {
    (void)state;
    static const char rows[] = "\"0\",\"k\",\"dram__bytes.sum\",\"5\"\n";
    char text[400];
    snprintf(text, sizeof text, "\"ID\",\"Kernel Name\",\"Metric Name\",\"Metric Value\"\n%s",
             rows);
    imported in = import_text(text); /* the unit is implied */
    near(counter(&in, 0, "dram__bytes.sum"), 5);
    imported_free(&in);
    refused("\"ID\",\"Kernel Name\",\"Metric Name\",\"Metric Value\"\n"
            "\"0\",\"k\",\"Duration\",\"5\"\n",
            1, "\"Duration\"");
    refused("\"Kernel Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n"
            "\"k\",\"dram__bytes.sum\",\"byte\",\"5\"\n",
            1, "\"ID\"");
    refused("\"ID\",\"Kernel Name\",\"Metric Name\",\"Metric Unit\"\n", 1, "\"Metric Value\"");
    refused("\"ID\",\"Kernel Name\",\"Metric Unit\",\"Metric Value\"\n", 1, "\"Metric Name\"");
}

static void test_short_rows(void **state) {
    (void)state;
    imported in =
        import_text(HEAD12 "\n\"0\",\"1\",\"cut off\n" TIMES("0", "1", "a") "\"1\",\"1\"\n");
    near(count_launches(&in), 1);
    assert_true(has_note(&in, "do not fit the table"));
    imported_free(&in);
    refused(HEAD12 "\n\"0\",\"1\"\n", 1, "line 2");
}

/* "1,234 at the end of the file may be the start of "1,234,567". */
static void test_cut_off(void **state) {
    (void)state;
    static const char text[] = HEAD12 "\n" TIMES("0", "1", "a")
        ROW12("1", "1", "a", "dram__bytes.sum", "byte", "1,234,567");
    imported in = import_bytes(text, sizeof text - 1 - strlen(",567\"\n"));
    near(count_launches(&in), 1);
    assert_true(has_note(&in, "is cut off"));
    imported_free(&in);
    in = import_bytes(text, sizeof text - 2); /* only the newline is missing */
    near(counter(&in, 1, "dram__bytes.sum"), 1234567);
    assert_false(has_note(&in, "is cut off"));
    imported_free(&in);
}

/* Files of several runs put together without headings: the same number, another kernel. */
static void test_number_again(void **state) {
    (void)state;
    imported in = import_text(HEAD12 "\n" TIMES("0", "1", "a") TIMES("0", "1", "b"));
    near(count_launches(&in), 2);
    near(ask(&in, "SELECT count(*) FROM kernels"), 2);
    imported_free(&in);
}

static void test_unknown_scale(void **state) {
    (void)state;
    imported in = import_text(HEAD12 "\n" TIMES("0", "1", "a")
                                  ROW12("0", "1", "a", "lts__t_bytes.sum", "MB", "5.25"));
    assert_true(isnan(counter(&in, 0, "lts__t_bytes.sum")));
    assert_true(has_note(&in, "lts__t_bytes.sum in \"MB\""));
    imported_free(&in);
    /* A unit that is none of the quantity's: 1000 "fortnight" are not 1000 s. */
    in = import_text(HEAD12 "\n" TIMES("0", "1", "a")
                         ROW12("1", "1", "a", "gpu__time_duration.sum", "fortnight", "1000")
                             ROW12("1", "1", "a", "dram__bytes.sum", "nsecond", "1000")
                                 ROW12("1", "1", "a", "lts__t_bytes.sum", "Kbyte", "1000"));
    assert_true(isnan(ask(&in, "SELECT time_ns FROM launches WHERE idx = 1")));
    assert_true(isnan(counter(&in, 1, "dram__bytes.sum")));
    near(counter(&in, 1, "lts__t_bytes.sum"), 1e6);
    assert_true(has_note(&in, "2 values were left out because the scale"));
    imported_free(&in);
}

/* Two decimals of a value per cycle are no count: it stays unknown, and that is said. */
static void test_rounded_ratios(void **state) {
    (void)state;
    imported in = import_text(
        HEAD12 "\n" TIMES("0", "1", "a") //
        ROW12("0", "1", "a", "smsp__cycles_elapsed.avg", "cycle", "1,000,000") ROW12(
            "0", "1", "a", "smsp__sass_thread_inst_executed_op_dfma_pred_on.sum.per_cycle_elapsed",
            "inst/cycle", "0.03")
            ROW12("0", "1", "a",
                  "smsp__sass_thread_inst_executed_op_dadd_pred_on.sum.per_cycle_elapsed",
                  "inst/cycle", "812.35"));
    assert_true(isnan(counter(&in, 0, "smsp__sass_thread_inst_executed_op_dfma_pred_on.sum")));
    assert_true(isnan(
        counter(&in, 0, "smsp__sass_thread_inst_executed_op_dfma_pred_on.sum.per_cycle_elapsed")));
    near(counter(&in, 0, "smsp__sass_thread_inst_executed_op_dadd_pred_on.sum"), 812350000);
    near(ask(&in, "SELECT count(*) FROM counter_values WHERE provenance = 'estimated'"), 1);
    assert_true(has_note(&in, "rounded too far"));
    imported_free(&in);
}

/* The cycles that turn a value per cycle into a count: the mean of a unit; the sum over all units
 * of the device, four sub-partitions an SM; or, by way of the rounded duration, their rate. */
static void test_cycles_behind_a_count(void **state) {
    (void)state;
    static const struct {
        const char *unit, *metric, *cycle_unit, *cycles, *sms, *time;
        bool estimated;
    } rows[] = {{"smsp", "smsp__cycles_elapsed.avg", "cycle", "1000", "", "", false},
                {"smsp", "smsp__cycles_elapsed.sum", "cycle", "80000", "20", "", false},
                {"sm", "sm__cycles_elapsed.sum", "cycle", "20000", "20", "", false},
                {"sm", "sm__cycles_elapsed.avg.per_second", "hz", "1000000000", "", "1000", true},
                {"lts", "lts__cycles_elapsed.sum", "cycle", "20000", "20", "", false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[2048], count[64], per_cycle[96];
        bool known = strcmp(rows[i].unit, "lts") != 0; /* how many slices there are is not told */
        snprintf(count, sizeof count, "%s__inst_executed.sum", rows[i].unit);
        snprintf(per_cycle, sizeof per_cycle, "%s.per_cycle_elapsed", count);
        snprintf(text, sizeof text,
                 HEAD12 "\n" ROW12("0", "1", "k", "%s", "inst/cycle", "2.5000000")
                     ROW12("0", "1", "k", "%s", "%s", "%s")
                         ROW12("0", "1", "k", "gpu__time_duration.sum", "ns", "%s")
                             ROW12("0", "1", "k", "launch__sm_count", "", "%s"),
                 per_cycle, rows[i].metric, rows[i].cycle_unit, rows[i].cycles, rows[i].time,
                 rows[i].sms);
        imported in = import_text(text);
        if (known)
            near(counter(&in, 0, count), 2500);
        else
            assert_true(isnan(counter(&in, 0, count)));
        near(ask(&in, "SELECT count(*) FROM counter_values WHERE provenance = 'estimated'"),
             rows[i].estimated);
        imported_free(&in);
    }
}

/* ---- Files that hold nothing ----------------------------------------------------------------- */

static void test_nothing(void **state) {
    (void)state;
    refused("==PROF== Connected to process 1\n==ERROR== ERR_NVGPUCTRPERM - The user does not have "
            "permission\nTraceback (most recent call last):\n",
            2, "line 2", "NVreg_RestrictProfilingToAdminUsers=0");
    refused("==PROF== Connected to process 1\n==WARNING== No kernels were profiled.\n", 1,
            "--target-processes all");
    refused("==PROF== Connected\n==ERROR== The application returned an error code (11).\n", 1,
            "error code (11)");
    refused(HEAD12 "\n", 1, "no launch");
    refused(HEAD12 "\n" ROW12("0", "1", "k", "dram__bytes.sum", "", "n/a")
                ROW12("1", "1", "k", "dram__bytes.sum", "", "n/a"),
            2, "not one number", "permission");
    refused(HEAD12 "\n" ROW12("0", "1", "k", "gpu__time_duration.sum", "ns", "0"), 1, "zero");
    refused("hello\n", 1, "no importer");
}

static void test_error_beside_data(void **state) {
    (void)state;
    imported in =
        import_text("==ERROR== The application returned an error code (1).\n" HEAD12 "\n" //
                    TIMES("0", "1", "a"));
    near(count_launches(&in), 1);
    assert_true(has_note(&in, "error code (1)"));
    imported_free(&in);
}

/* What Windows PowerShell makes of `ncu --csv > FILE`. */
static void test_utf16(void **state) {
    (void)state;
    static const char text[] = "==PROF== x\r\n" HEAD12 "\r\n" TIMES("0", "1", "\x01");
    char wide[2 * sizeof text + 8] = "\xFF\xFE";
    size_t n = 2;
    for (size_t i = 0; i < strlen(text); i++) {
        bool mark = text[i] == 1; /* U+010A holds a newline byte; U+1F600 is a pair */
        memcpy(wide + n, mark ? "\x0a\x01\x3d\xd8\x00\xde" : (char[]){text[i], 0}, mark ? 6 : 2);
        n += mark ? 6 : 2;
    }
    imported in = import_bytes(wide, n);
    near(ask(&in, "SELECT time_ns FROM launches"), 5000);
    assert_string_equal(ask_text(&in, "SELECT name FROM kernels"), "\xC4\x8A\xF0\x9F\x98\x80");
    imported_free(&in);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text_around),
        cmocka_unit_test(test_late_heading),
        cmocka_unit_test(test_rules),
        cmocka_unit_test(test_old_time),
        cmocka_unit_test(test_many_launches),
        cmocka_unit_test(test_long_names),
        cmocka_unit_test(test_hostile_names),
        cmocka_unit_test(test_wide),
        cmocka_unit_test(test_no_number),
        cmocka_unit_test(test_gui_export),
        cmocka_unit_test(test_pivot),
        cmocka_unit_test(test_european),
        cmocka_unit_test(test_locale_by_counts),
        cmocka_unit_test(test_undecidable),
        cmocka_unit_test(test_two_runs),
        cmocka_unit_test(test_two_ranks),
        cmocka_unit_test(test_rows_apart),
        cmocka_unit_test(test_label_and_raw),
        cmocka_unit_test(test_devices),
        cmocka_unit_test(test_missing_columns),
        cmocka_unit_test(test_short_rows),
        cmocka_unit_test(test_cut_off),
        cmocka_unit_test(test_number_again),
        cmocka_unit_test(test_unknown_scale),
        cmocka_unit_test(test_rounded_ratios),
        cmocka_unit_test(test_cycles_behind_a_count),
        cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_error_beside_data),
        cmocka_unit_test(test_utf16),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
