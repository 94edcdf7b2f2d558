/* SPDX-License-Identifier: Apache-2.0
 *
 * The report in each format: the JSON keys that others rely on, unknown as null, hostile names that
 * do nothing, lines that fit.
 */
#include "fixture.h"

#include "output/report.h"
#include "support/text.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <yajl/yajl_tree.h>

static const char hostile[] =
    "k`id`$(id)\"'<script>alert(1)</script>{/Symbol a}@x\n=\x1b[31m\xff|\xe2\x80\xae[l](u)';--";

static fixture f;
static char *text;

static int setup(void **state) {
    (void)state;
    fixture_start(&f, "NVIDIA A100-SXM4-40GB");
    rp_group *g = fixture_kernel(&f, "saxpy", 4, 1e-3);
    fixture_shape(g, 4096, 256);
    fixture_set(g, RP_Q_FLOPS_FP32_VECTOR, 2e8);
    fixture_set(g, RP_Q_DRAM_BYTES, 1.2e9);
    fixture_kernel(&f, "not counted", 1, 2e-3);
    fixture_set(fixture_kernel(&f, hostile, 2, 5e-4), RP_Q_DRAM_BYTES, 2e9);
    fixture_analyse(&f);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    fixture_end(&f);
    return 0;
}

static const char *print(rp_format format, size_t width, bool evidence) {
    rp_print_options options = {.format = format, .style = {.width = width}};
    size_t size;
    free(text);
    text = NULL;
    FILE *file = open_memstream(&text, &size);
    if (evidence)
        rp_print_evidence(file, &f.report, &options);
    else
        rp_print_report(file, &f.report, &options);
    fclose(file);
    return text;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static yajl_val parse(bool evidence) {
    char error[256] = "";
    yajl_val root = yajl_tree_parse(print(RP_FORMAT_JSON, 80, evidence), error, sizeof error);
    if (!root) {
        fail_msg("%s in:\n%s", error, text);
        abort(); /* not reached; tells the compiler so */
    }
    return root;
}

/* The value at a path of keys joined with '.'; fails the test if it is not there. */
static yajl_val at(yajl_val root, const char *path) {
    char copy[128], *rest = copy;
    snprintf(copy, sizeof copy, "%s", path);
    for (char *key = strsep(&rest, "."); key; key = strsep(&rest, ".")) {
        const char *one[] = {key, NULL};
        yajl_val next = yajl_tree_get(root, one, yajl_t_any);
        if (!next) {
            fail_msg("no %s (of %s)", key, path);
            return root; /* not reached */
        }
        root = next;
    }
    return root;
}

static const char *string_at(yajl_val root, const char *path) {
    const char *value = YAJL_GET_STRING(at(root, path));
    return value ? value : "(no string)";
}

static yajl_val kernel_named(yajl_val root, const char *name) {
    yajl_val kernels = at(root, "kernels");
    for (size_t i = 0; i < YAJL_GET_ARRAY(kernels)->len; i++) {
        yajl_val kernel = YAJL_GET_ARRAY(kernels)->values[i];
        if (strcmp(string_at(kernel, "name"), name) == 0)
            return kernel;
    }
    fail_msg("no kernel %s", name);
    return kernels; /* not reached */
}

static void json_has_every_key(void **state) {
    (void)state;
    static const char *const keys[] = {"schema",
                                       "device.name",
                                       "device.chip",
                                       "device.compute_capability",
                                       "device.source",
                                       "ceilings",
                                       "kernels",
                                       "summary.gpu_time_s",
                                       "summary.wall_time_s",
                                       "summary.time_share_by_bound.memory",
                                       "summary.time_share_by_bound.unknown",
                                       "summary.utilization.capacity",
                                       "summary.utilization.bandwidth",
                                       "summary.utilization.compute",
                                       "notes"};
    static const char *const kernel_keys[] = {"name",
                                              "launches",
                                              "time_s",
                                              "time_share",
                                              "time_provenance",
                                              "flops.fp32_vector",
                                              "flops.fp64_vector",
                                              "flops_total",
                                              "flops_provenance",
                                              "bytes.dram",
                                              "bytes.l2",
                                              "bytes.l1",
                                              "bytes.shared",
                                              "bytes_provenance",
                                              "intensity.dram",
                                              "intensity.l2",
                                              "flops_per_s",
                                              "side",
                                              "bound",
                                              "bound_by",
                                              "reason",
                                              "roof_fraction",
                                              "calibrated_fraction",
                                              "ceiling_times_s",
                                              "time_lost_s",
                                              "above_roof",
                                              "cache",
                                              "notes"};
    yajl_val root = parse(false);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        at(root, keys[i]);
    yajl_val kernels = at(root, "kernels");
    assert_int_equal(YAJL_GET_ARRAY(kernels)->len, 3);
    for (size_t k = 0; k < 3; k++)
        for (size_t i = 0; i < sizeof kernel_keys / sizeof *kernel_keys; i++)
            at(YAJL_GET_ARRAY(kernels)->values[k], kernel_keys[i]);
    assert_string_equal(string_at(root, "schema"), "roofprof.report/1");
    yajl_val ceiling = YAJL_GET_ARRAY(at(root, "ceilings"))->values[0];
    assert_string_equal(string_at(ceiling, "kind"), "compute");
    at(ceiling, "precision");
    at(ceiling, "path");
    at(ceiling, "flops_per_s");
    at(ceiling, "provenance");
    yajl_tree_free(root);
}

static void json_values(void **state) {
    (void)state;
    yajl_val root = parse(true), k = kernel_named(root, "saxpy");
    assert_near(YAJL_GET_DOUBLE(at(k, "time_s")), 4e-3, 1e-12);
    assert_near(YAJL_GET_DOUBLE(at(k, "flops.fp32_vector")), 8e8, 1);
    assert_near(YAJL_GET_DOUBLE(at(k, "bytes.dram")), 4.8e9, 1);
    assert_near(YAJL_GET_DOUBLE(at(k, "intensity.dram")), 1.0 / 6, 1e-9);
    assert_near(YAJL_GET_DOUBLE(at(k, "ceiling_times_s.dram")), 4.8e9 / 1555.2e9, 1e-6);
    assert_string_equal(string_at(k, "bound"), "memory");
    assert_string_equal(string_at(k, "bound_by"), "dram");
    assert_true(YAJL_GET_ARRAY(at(k, "evidence"))->len > 5);
    k = kernel_named(root, "not counted");
    static const char *const unknown[] = {"flops.fp32_vector", "flops_total", "bytes.dram",
                                          "intensity.dram",    "flops_per_s", "roof_fraction",
                                          "time_lost_s",       "int_ops",     "cache"};
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
        if (!YAJL_IS_NULL(at(k, unknown[i])))
            fail_msg("%s is not null", unknown[i]);
    assert_string_equal(string_at(k, "bound"), "unknown");
    yajl_tree_free(root);
}

/* One cell of the CSV's first row; fails the test if there is no such column. */
static const char *cell(const char *column) {
    static char value[256];
    const char *head = text, *row = strchr(text, '\n') + 1;
    size_t length = strlen(column);
    for (;;) {
        size_t name = strcspn(head, ",\n"), here = strcspn(row, ",\n");
        if (name == length && strncmp(head, column, length) == 0) {
            snprintf(value, sizeof value, "%.*s", (int)here, row);
            return value;
        }
        if (head[name] == '\n')
            fail_msg("no column %s", column);
        head += name + 1;
        row += here + 1;
    }
}

/* Each number under its own name: a kernel whose fields all differ, read back from JSON and CSV. */
static void every_number_under_its_name(void **state) {
    (void)state;
    rp_report_kernel *k = &f.report.kernels[0];
    const struct {
        const char *json, *csv;
        double *field;
    } rows[] = {
        {"time_s", "time_s", &k->time_s},
        {"time_share", "time_share", &k->time_share},
        {"time_mean_s", "time_mean_s", &k->time_mean_s},
        {"time_min_s", "time_min_s", &k->time_min_s},
        {"time_max_s", "time_max_s", &k->time_max_s},
        {"time_deviation_s", "time_deviation_s", &k->time_deviation_s},
        {"flops.fp64_vector", "flops_fp64_vector", &k->flops[RP_FP64][RP_VECTOR]},
        {"flops.fp32_vector", "flops_fp32_vector", &k->flops[RP_FP32][RP_VECTOR]},
        {"flops.fp16_vector", "flops_fp16_vector", &k->flops[RP_FP16][RP_VECTOR]},
        {"flops.bf16_vector", "flops_bf16_vector", &k->flops[RP_BF16][RP_VECTOR]},
        {"flops.fp64_tensor", "flops_fp64_tensor", &k->flops[RP_FP64][RP_TENSOR]},
        {"flops.tf32_tensor", "flops_tf32_tensor", &k->flops[RP_TF32][RP_TENSOR]},
        {"flops.bf16_tensor", "flops_bf16_tensor", &k->flops[RP_BF16][RP_TENSOR]},
        {"flops.fp16_tensor", "flops_fp16_tensor", &k->flops[RP_FP16][RP_TENSOR]},
        {"flops.fp8_tensor", "flops_fp8_tensor", &k->flops[RP_FP8][RP_TENSOR]},
        {"flops.fp6_tensor", "flops_fp6_tensor", &k->flops[RP_FP6][RP_TENSOR]},
        {"flops.fp4_tensor", "flops_fp4_tensor", &k->flops[RP_FP4][RP_TENSOR]},
        {"flops.int8_tensor", "ops_int8_tensor", &k->flops[RP_INT8][RP_TENSOR]},
        {"flops.int4_tensor", "ops_int4_tensor", &k->flops[RP_INT4][RP_TENSOR]},
        {"flops.int1_tensor", "ops_int1_tensor", &k->flops[RP_INT1][RP_TENSOR]},
        {"flops.fp16_acc16_tensor", "flops_fp16_acc16_tensor", &k->flops_fp16_acc16_tensor},
        {"flops_total", "flops_total", &k->flops_total},
        {"int_ops", NULL, &k->int_ops},
        {NULL, "ops_int32_vector", &k->flops[RP_INT32][RP_VECTOR]},
        {"bytes.dram", "bytes_dram", &k->bytes[RP_DRAM]},
        {"bytes.l2", "bytes_l2", &k->bytes[RP_L2]},
        {"bytes.l1", "bytes_l1", &k->bytes[RP_L1]},
        {"bytes.shared", "bytes_shared", &k->bytes[RP_SHARED]},
        {"intensity.dram", "intensity_dram_flop_per_byte", &k->intensity[RP_DRAM]},
        {"intensity.l2", "intensity_l2_flop_per_byte", &k->intensity[RP_L2]},
        {"intensity.l1", "intensity_l1_flop_per_byte", &k->intensity[RP_L1]},
        {"intensity.shared", NULL, &k->intensity[RP_SHARED]},
        {"flops_per_s", "flops_per_s", &k->flops_per_s},
        {"attainable_flops_per_s", "attainable_flops_per_s", &k->attainable_flops_per_s},
        {"ridge_flop_per_byte", "ridge_flop_per_byte", &k->ridge},
        {"roof_time_s", NULL, &k->roof_time_s},
        {"roof_fraction", "roof_fraction", &k->roof_fraction},
        {"nominal_fraction", "nominal_fraction", &k->nominal_fraction},
        {"calibrated_fraction", "calibrated_fraction", &k->calibrated_fraction},
        {"time_lost_s", "time_lost_s", &k->time_lost_s},
        {"clock_hz", "clock_hz", &k->clock_hz},
        {"waves", NULL, &k->waves},
        {"occupancy", NULL, &k->occupancy},
        {"active_lanes", NULL, &k->lanes},
    };
    const size_t n = sizeof rows / sizeof *rows;
    for (int round = 0; round < 2; round++) { /* known, and not known */
        for (size_t i = 0; i < n; i++)
            *rows[i].field = round ? NAN : 1.0 / 3 + (double)i;
        yajl_val root = parse(false), json = YAJL_GET_ARRAY(at(root, "kernels"))->values[0];
        for (size_t i = 0; i < n; i++) {
            const char *always = "flops.fp64_vector flops.fp32_vector flops.fp16_vector";
            bool absent = rows[i].json && strncmp(rows[i].json, "flops.", 6) == 0 &&
                          !strstr(always, rows[i].json);
            if (!rows[i].json || (round && absent))
                continue;
            yajl_val value = at(json, rows[i].json);
            if (round ? !YAJL_IS_NULL(value)
                      : !YAJL_IS_DOUBLE(value) || YAJL_GET_DOUBLE(value) != *rows[i].field)
                fail_msg("JSON %s is not the model's", rows[i].json);
        }
        yajl_tree_free(root);
        print(RP_FORMAT_CSV, 80, false);
        for (size_t i = 0; i < n; i++) {
            const char *value = rows[i].csv ? cell(rows[i].csv) : NULL;
            if (value && (round ? *value != '\0' : strtod(value, NULL) != *rows[i].field))
                fail_msg("CSV %s is '%s'", rows[i].csv, value);
        }
    }
}

static void every_word_under_its_name(void **state) {
    (void)state;
    static const struct {
        const char *key, *word;
    } rows[] = {{"side", "compute"},
                {"bound", "latency"},
                {"bound_by", "what binds"},
                {"reason", "why it does"},
                {"above_reason", "why it is above"},
                {"cache", "warm"},
                {"time_provenance", "imported"},
                {"flops_provenance", "user"},
                {"bytes_provenance", "modelled"},
                {"short_name", "short"}};
    rp_report_kernel *k = &f.report.kernels[0];
    k->side = RP_SIDE_COMPUTE;
    k->bound = RP_BOUND_LATENCY;
    strcpy(k->bound_by, "what binds");
    strcpy(k->reason, "why it does");
    strcpy(k->above_reason, "why it is above");
    k->cache = RP_CACHE_WARM;
    k->time_provenance = RP_IMPORTED;
    k->flops_provenance = RP_USER;
    k->bytes_provenance = RP_MODELLED;
    k->short_name = "short";
    yajl_val root = parse(false), json = YAJL_GET_ARRAY(at(root, "kernels"))->values[0];
    print(RP_FORMAT_CSV, 80, false);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_string_equal(string_at(json, rows[i].key), rows[i].word);
        assert_string_equal(cell(rows[i].key), rows[i].word);
    }
    yajl_tree_free(root);
}

/* Columns of nothing but dashes are not for people; CSV keeps them. */
static void columns_of_dashes_are_hidden(void **state) {
    (void)state;
    static const char *const titles[] = {"of roof", "lost", "FLOP/B", "rate", "DRAM"};
    print(RP_FORMAT_TEXT, 200, false);
    for (size_t i = 0; i < sizeof titles / sizeof *titles; i++)
        if (!strstr(text, titles[i]))
            fail_msg("no column '%s'", titles[i]);
    fixture_end(&f);
    fixture_start(&f, "NVIDIA A100-SXM4-40GB");
    fixture_kernel(&f, "k", 1, 1e-3);
    fixture_analyse(&f);
    print(RP_FORMAT_TEXT, 200, false);
    char *table = strstr(text, "\n#"), *end = table ? strchr(table + 1, '\n') : NULL;
    assert_non_null(end);
    *end = '\0';
    for (size_t i = 0; i < sizeof titles / sizeof *titles; i++)
        if (strstr(table, titles[i]))
            fail_msg("column '%s' holds nothing", titles[i]);
    print(RP_FORMAT_CSV, 200, false);
    assert_string_equal(cell("roof_fraction"), "");
    assert_string_equal(cell("flops_per_s"), "");
}

/* The same of the program as a whole. */
static void every_number_of_the_summary(void **state) {
    (void)state;
    rp_report *r = &f.report;
    rp_report_device *d = &r->devices[0];
    const struct {
        const char *json;
        double *field;
    } rows[] = {{"summary.gpu_time_s", &r->gpu_time_s},
                {"summary.kernel_time_sum_s", &r->gpu_sum_s},
                {"summary.wall_time_s", &r->wall_s},
                {"summary.counted_time_share", &r->counted_share},
                {"summary.utilization_time_s", &r->utilisation_time_s},
                {"summary.utilization.capacity", &r->capacity},
                {"summary.utilization.bandwidth", &r->bandwidth},
                {"summary.utilization.compute", &r->compute},
                {"summary.utilization.model_flops", &r->model_flops_utilisation},
                {"summary.utilization.capacity_effective", &r->capacity_effective},
                {"summary.time_share_by_bound.memory", &r->time_share_by_bound[RP_BOUND_MEMORY]},
                {"summary.time_share_by_bound.compute", &r->time_share_by_bound[RP_BOUND_COMPUTE]},
                {"summary.time_share_by_bound.latency", &r->time_share_by_bound[RP_BOUND_LATENCY]},
                {"summary.time_lost_by_bound_s.memory", &r->time_lost_by_bound[RP_BOUND_MEMORY]},
                {"summary.time_lost_by_bound_s.unknown", &r->time_lost_by_bound[RP_BOUND_UNKNOWN]},
                {"device.sm_count", &d->sm_count},
                {"device.nominal_clock_hz", &d->nominal_clock_hz},
                {"device.observed_clock_hz", &d->observed_clock_hz}};
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
            *rows[i].field = round ? NAN : 1.0 / 3 + (double)i;
        yajl_val root = parse(false);
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            yajl_val value = at(root, rows[i].json);
            if (round ? !YAJL_IS_NULL(value) : YAJL_GET_DOUBLE(value) != *rows[i].field)
                fail_msg("JSON %s is not the model's", rows[i].json);
        }
        yajl_tree_free(root);
    }
}

static void copies_and_devices(void **state) {
    (void)state;
    f.report.copies[0] = (rp_report_copy){.kind = "DtoH",
                                          .count = 3,
                                          .bytes = 4,
                                          .time_s = 5,
                                          .bytes_per_s = 0.8,
                                          .time_provenance = RP_MODELLED};
    f.report.copy_count = 1; /* the model has room for one more than it holds */
    rp_report_device *d = &f.report.devices[0];
    const struct {
        const char *json;
        double *field;
    } rows[] = {{"busy_s", &d->busy_s},
                {"span_s", &d->span_s},
                {"idle_s", &d->idle_s},
                {"copy_s", &d->copy_s},
                {"memory_bytes", &d->memory_bytes},
                {"peak_allocated_bytes", &d->peak_allocated_bytes},
                {"utilization.capacity", &d->capacity},
                {"utilization.bandwidth", &d->bandwidth},
                {"utilization.compute", &d->compute}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        *rows[i].field = 1.0 / 3 + (double)i;
    yajl_val root = parse(false), copy = YAJL_GET_ARRAY(at(root, "copies"))->values[0];
    assert_string_equal(string_at(copy, "kind"), "DtoH");
    assert_true(YAJL_GET_INTEGER(at(copy, "count")) == 3);
    assert_true(YAJL_GET_DOUBLE(at(copy, "bytes")) == 4);
    assert_true(YAJL_GET_DOUBLE(at(copy, "time_s")) == 5);
    assert_true(YAJL_GET_DOUBLE(at(copy, "bytes_per_s")) == 0.8);
    assert_string_equal(string_at(copy, "time_provenance"), "modelled");
    yajl_val device = YAJL_GET_ARRAY(at(root, "devices"))->values[0];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (YAJL_GET_DOUBLE(at(device, rows[i].json)) != *rows[i].field)
            fail_msg("JSON %s is not the model's", rows[i].json);
    yajl_tree_free(root);
    print(RP_FORMAT_TEXT, 120, false);
    assert_non_null(strstr(text, "DtoH: 3, 4.00 B in 5.00 s (800 mB/s)"));
}

/* Whether a point is above its roof cannot be said of modelled times, nor where no roof is known.
 */
static void above_the_roof_or_not_known(void **state) {
    (void)state;
    yajl_val root = parse(false);
    assert_true(YAJL_IS_NULL(at(kernel_named(root, "not counted"), "above_roof")));
    assert_true(YAJL_IS_FALSE(at(kernel_named(root, "saxpy"), "above_roof")));
    yajl_tree_free(root);
    rp_report_kernel *k = &f.report.kernels[0];
    k->roof_fraction = 0.5;
    print(RP_FORMAT_CSV, 80, false);
    assert_string_equal(cell("above_roof"), "false");
    k->modelled = true;
    print(RP_FORMAT_CSV, 80, false);
    assert_string_equal(cell("above_roof"), "");
}

/* ---- Hostile names --------------------------------------------------------------------------- */

static void assert_harmless(const char *page) {
    for (const char *p = page; *p; p++)
        if ((unsigned char)*p < 0x20 && *p != '\n')
            fail_msg("control character %d", *p);
    if (strstr(page, "\xff") || strstr(page, "\xe2\x80\xae"))
        fail_msg("bytes that do not print went through");
}

static void hostile_name_in_every_format(void **state) {
    (void)state;
    for (int evidence = 0; evidence < 2; evidence++) {
        assert_harmless(print(RP_FORMAT_TEXT, 200, evidence));
        assert_harmless(print(RP_FORMAT_MD, 200, evidence));
        assert_null(strstr(text, "<script"));
        assert_harmless(print(RP_FORMAT_CSV, 200, evidence));
        assert_harmless(print(RP_FORMAT_HTML, 200, evidence));
        assert_null(strstr(text, "<script>alert"));
        assert_null(strstr(text, "alert(1)</script>"));
    }
    yajl_val root = parse(false);
    kernel_named(root, "k`id`$(id)\"'<script>alert(1)</script>{/Symbol a}@x\n=\x1b[31m\\xff|"
                       "\xe2\x80\xae[l](u)';--");
    yajl_tree_free(root);
    print(RP_FORMAT_CSV, 80, false);
    int lines = 0;
    for (const char *p = text; *p; p++)
        lines += *p == '\n';
    assert_int_equal(lines, 4); /* header and three kernels: the name brought no line of its own */
}

/* ---- Text ------------------------------------------------------------------------------------ */

static void text_fits_the_terminal(void **state) {
    (void)state;
    for (size_t width = 80; width <= 200; width += 7) {
        const char *p = print(RP_FORMAT_TEXT, width, false);
        while (*p) {
            size_t length = strcspn(p, "\n");
            char *line = strndup(p, length);
            if (rp_text_columns(line) > width)
                fail_msg("width %zu: '%s'", width, line);
            free(line);
            p += length + (p[length] == '\n');
        }
    }
}

static void text_says_what_matters(void **state) {
    (void)state;
    print(RP_FORMAT_TEXT, 160, false);
    assert_non_null(strstr(text, "memory: dram"));
    assert_non_null(strstr(text, "no counts: only times are known"));
    assert_non_null(strstr(text, "above the roof"));
    assert_non_null(strstr(text, "known      times measured; FLOPs not known, counted"));
    print(RP_FORMAT_TEXT, 160, true);
    assert_non_null(strstr(text, "not counted"));
    assert_non_null(strstr(text, "fp32_vector"));
}

static void csv_columns_and_rows_agree(void **state) {
    (void)state;
    print(RP_FORMAT_CSV, 80, false);
    const char *line = text;
    size_t columns = 0;
    for (int row = 0; *line; row++) {
        size_t commas = 0;
        bool quoted = false;
        for (; *line && *line != '\n'; line++) {
            quoted ^= *line == '"';
            commas += *line == ',' && !quoted;
        }
        line += *line == '\n';
        if (row == 0)
            columns = commas;
        assert_int_equal(commas, columns);
    }
}

static void top_says_what_it_leaves_out(void **state) {
    (void)state;
    rp_print_options options = {.format = RP_FORMAT_TEXT, .style = {.width = 120}, .top = 1};
    size_t size;
    free(text);
    FILE *file = open_memstream(&text, &size);
    rp_print_report(file, &f.report, &options);
    fclose(file);
    assert_non_null(strstr(text, "and 2 more kernels"));
}

static void page_is_self_contained(void **state) {
    (void)state;
    print(RP_FORMAT_HTML, 80, false);
    assert_null(strstr(text, "http://"));
    assert_null(strstr(text, "src="));
    assert_null(strstr(text, "<link"));
    assert_non_null(strstr(text, "Content-Security-Policy"));
    assert_non_null(strstr(text, "</html>"));
}

/* The page: its picture or why there is none, every ceiling with its unit and source, remarks,
 * notes, and what is left out. */
static void page_has_its_parts(void **state) {
    (void)state;
    rp_print_options options = {.format = RP_FORMAT_HTML, .style = {.width = 80}, .top = 1};
    static const char svg[] = "<?xml version=\"1.0\"?>\n<svg id=\"picture\"></svg>\n";
    for (int with = 0; with < 2; with++) {
        size_t size;
        free(text);
        options.svg = with ? svg : NULL;
        options.svg_missing = with ? NULL : "no <gnuplot>";
        FILE *file = open_memstream(&text, &size);
        rp_print_report(file, &f.report, &options);
        fclose(file);
        assert_int_equal(strstr(text, "<figure>\n<svg id=\"picture\">") != NULL, with);
        assert_int_equal(strstr(text, "no &lt;gnuplot&gt;") != NULL, !with);
        assert_null(strstr(text, "<?xml")); /* has no place inside a page */
    }
    assert_non_null(strstr(text, "2 more kernels are not shown"));
    assert_non_null(strstr(text, "Ceilings of NVIDIA A100"));
    assert_non_null(strstr(text, "624 TOP/s")); /* int8: no FLOPs */
    assert_non_null(strstr(text, "312 TFLOP/s"));
    assert_non_null(strstr(text, "1.56 TB/s"));
    for (size_t i = 0; i < f.report.devices[0].ceiling_count; i++) {
        char start[16]; /* sources may hold what is escaped further on */
        snprintf(start, sizeof start, "%.12s", f.report.devices[0].ceilings[i].source);
        if (!strstr(text, start))
            fail_msg("the page lacks the source \"%s...\"", start);
    }
}

/* What is said of many kernels is said once, with the first six named. */
static void remarks_name_six(void **state) {
    (void)state;
    fixture_end(&f);
    fixture_start(&f, "NVIDIA A100-SXM4-40GB");
    static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    for (size_t n = 6; n <= 8; n++) {
        while (f.profile.group_count < n)
            fixture_kernel(&f, names[f.profile.group_count], 1, 1e-3);
        fixture_analyse(&f);
        print(RP_FORMAT_TEXT, 120, false);
        const char *expected[] = {
            "\n#1 #2 #3 #4 #5 #6: unknown: no counts: only times are known\n",
            "\n#1 #2 #3 #4 #5 #6 and 1 more: unknown: no counts: only times are known\n",
            "\n#1 #2 #3 #4 #5 #6 and 2 more: unknown: no counts: only times are known\n"};
        if (!strstr(text, expected[n - 6]))
            fail_msg("%zu kernels: %s", n, text);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(json_has_every_key),           TEST(json_values),
        TEST(hostile_name_in_every_format), TEST(text_fits_the_terminal),
        TEST(text_says_what_matters),       TEST(csv_columns_and_rows_agree),
        TEST(every_number_under_its_name),  TEST(every_number_of_the_summary),
        TEST(above_the_roof_or_not_known),  TEST(copies_and_devices),
        TEST(every_word_under_its_name),    TEST(columns_of_dashes_are_hidden),
        TEST(top_says_what_it_leaves_out),  TEST(page_is_self_contained),
        TEST(page_has_its_parts),           TEST(remarks_name_six),
    };
    int result = cmocka_run_group_tests(tests, NULL, NULL);
    free(text);
    return result;
}
