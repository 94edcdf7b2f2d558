/* SPDX-License-Identifier: Apache-2.0
 *
 * Plans in each format: every number under its own name, counts and bytes exact, unknown as null;
 * and the documents that plans and comparisons are written as.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
/* cmocka wants the three above first */
#include <cmocka.h>

#include "output/document.h"
#include "output/plan.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <yajl/yajl_tree.h>

static char *text;

static const char *print(const rp_plan *plan, rp_format format) {
    size_t size;
    free(text);
    FILE *file = open_memstream(&text, &size);
    rp_plan_print(plan, file, format);
    fclose(file);
    return text;
}

/* The value at a path of keys joined with '.'; NULL if it is not there. */
static yajl_val at(yajl_val root, const char *path) {
    char copy[128], *rest = copy;
    snprintf(copy, sizeof copy, "%s", path);
    for (char *key = strsep(&rest, "."); key && root; key = strsep(&rest, ".")) {
        const char *one[] = {key, NULL};
        root = yajl_tree_get(root, one, yajl_t_any);
    }
    return root;
}

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

static const rp_device hardware = {.name = "H100"};

static rp_plan one_device(rp_plan_device *device) {
    *device = (rp_plan_device){.device = &hardware};
    strcpy(device->bound, "bandwidth");
    rp_plan plan = {.request = rp_plan_request_default(RP_PLAN_INFER),
                    .devices = device,
                    .device_count = 1,
                    .params = 7e9,
                    .params_active = 6e9};
    plan.request.sequence = 2048;
    plan.request.batch = 3;
    return plan;
}

static void every_number_under_its_name(void **state) {
    (void)state;
    rp_plan_device d;
    rp_plan plan = one_device(&d);
    const struct {
        const char *json, *csv;
        double *field;
    } rows[] = {
        {"device_memory_bytes", "device_memory_bytes", &d.memory_bytes},
        {"memory_bytes.weights", "weights_bytes", &d.memory.weights},
        {"memory_bytes.master_weights", "master_weights_bytes", &d.memory.master_weights},
        {"memory_bytes.gradients", "gradients_bytes", &d.memory.gradients},
        {"memory_bytes.optimizer", "optimizer_bytes", &d.memory.optimizer},
        {"memory_bytes.activations", "activations_bytes", &d.memory.activations},
        {"memory_bytes.kv_cache", "kv_cache_bytes", &d.memory.kv_cache},
        {"memory_bytes.buffers", "buffers_bytes", &d.memory.buffers},
        {"memory_bytes.total", "total_bytes", &d.memory.total},
        {"bytes_per_param", "bytes_per_param", &d.memory.bytes_per_param},
        {"utilization.capacity", "utilization_capacity", &d.capacity_used},
        {"utilization.capacity_effective", "utilization_capacity_effective", &d.capacity_effective},
        {"utilization.mfu_low", NULL, &d.mfu_low},
        {"utilization.mfu_high", NULL, &d.mfu_high},
        {"tokens_per_s.bandwidth_limit", "bandwidth_limit_tokens_per_s", &d.bandwidth_limit},
        {"tokens_per_s.compute_limit", "compute_limit_tokens_per_s", &d.compute_limit},
        {"required_bytes_per_s", "required_bytes_per_s", &d.required_bytes_per_s},
        {"ridge_batch", "ridge_batch", &d.ridge_batch},
        {"ridge_batch_weights_only", NULL, &d.ridge_batch_weights},
        {"step_time_s.compute", "step_compute_s", &d.compute_s},
        {"step_time_s.bandwidth", "step_bandwidth_s", &d.memory_s},
        {"step_time_s.communication", "step_communication_s", &d.communication_s},
        {"step_time_s.roof", NULL, &d.roof_s},
        {"step_time_s.likely_low", "step_likely_low_s", &d.likely_low_s},
        {"step_time_s.likely_high", "step_likely_high_s", &d.likely_high_s},
        {"step_flops", NULL, &d.step_flops},
        {"step_bytes", NULL, &d.step_bytes},
        {"pipeline_bubble", NULL, &d.bubble},
        {"peak_flops_per_s", NULL, &d.peak_flops},
        {"dram_bytes_per_s", NULL, &d.dram_bytes_per_s},
    };
    for (int round = 0; round < 2; round++) { /* known, and not known */
        char error[256];
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
            *rows[i].field = round ? NAN : 101 + (double)i;
        yajl_val root = yajl_tree_parse(print(&plan, RP_FORMAT_JSON), error, sizeof error);
        assert_non_null(root);
        yajl_val json = YAJL_GET_ARRAY(at(root, "devices"))->values[0];
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            yajl_val value = at(json, rows[i].json);
            if (!value || (round ? !YAJL_IS_NULL(value) : YAJL_GET_DOUBLE(value) != *rows[i].field))
                fail_msg("JSON %s is not the plan's", rows[i].json);
        }
        yajl_tree_free(root);
        print(&plan, RP_FORMAT_CSV);
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            const char *value = rows[i].csv ? cell(rows[i].csv) : NULL;
            if (value && (round ? *value != '\0' : strtod(value, NULL) != *rows[i].field))
                fail_msg("CSV %s is '%s'", rows[i].csv, value);
        }
    }
}

/* Counts are whole, and rounding one down would be a plan that does not fit. */
static void counts_are_exact(void **state) {
    (void)state;
    rp_plan_device d;
    rp_plan plan = one_device(&d);
    const struct {
        const char *json, *csv;
        int64_t *field;
        bool maybe; /* -1: not known */
    } rows[] = {
        {"count", "count", &d.count, false},
        {"min_count", "min_count", &d.min_count, true},
        {"min_count_by_bandwidth", "min_count_by_bandwidth", &d.min_count_by_bandwidth, true},
        {"max_sequences", "max_sequences", &d.max_sequences, true},
        {"tensor_parallel", NULL, &d.tp, false},
        {"pipeline_parallel", NULL, &d.pp, false},
        {"data_parallel", NULL, &d.dp, false}};
    for (int round = 0; round < 2; round++) {
        char error[256];
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
            *rows[i].field = round && rows[i].maybe ? -1 : 123457 + (int64_t)i;
        d.fits = round ? -1 : 1;
        yajl_val root = yajl_tree_parse(print(&plan, RP_FORMAT_JSON), error, sizeof error);
        yajl_val json = YAJL_GET_ARRAY(at(root, "devices"))->values[0];
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            yajl_val value = at(json, rows[i].json);
            assert_true(round && rows[i].maybe ? YAJL_IS_NULL(value)
                                               : YAJL_GET_INTEGER(value) == *rows[i].field);
        }
        assert_true(round ? YAJL_IS_NULL(at(json, "fits")) : YAJL_IS_TRUE(at(json, "fits")));
        assert_true(YAJL_GET_DOUBLE(at(root, "parameters")) == 7e9);
        assert_true(YAJL_GET_DOUBLE(at(root, "parameters_active")) == 6e9);
        assert_true(YAJL_GET_DOUBLE(at(root, "sequence")) == plan.request.sequence);
        assert_true(YAJL_GET_DOUBLE(at(root, "batch")) == plan.request.batch);
        yajl_tree_free(root);
        print(&plan, RP_FORMAT_CSV);
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
            if (rows[i].csv &&
                (round && rows[i].maybe ? *cell(rows[i].csv) != '\0'
                                        : strtoll(cell(rows[i].csv), NULL, 10) != *rows[i].field))
                fail_msg("CSV %s is '%s'", rows[i].csv, cell(rows[i].csv));
        assert_string_equal(cell("fits"), round ? "" : "yes");
        assert_string_equal(cell("bound"), "bandwidth");
    }
}

/* What is modelled is good to four digits and shows no more; sizes are whole. */
static void digits(void **state) {
    (void)state;
    rp_plan_device d;
    rp_plan plan = one_device(&d);
    char error[256];
    const struct {
        const char *json, *csv;
        double *field;
    } sizes[] = {{"memory_bytes.weights", "weights_bytes", &d.memory.weights},
                 {"memory_bytes.kv_cache", "kv_cache_bytes", &d.memory.kv_cache},
                 {"memory_bytes.total", "total_bytes", &d.memory.total},
                 {"device_memory_bytes", "device_memory_bytes", &d.memory_bytes}},
      modelled[] = {
          {"step_time_s.compute", "step_compute_s", &d.compute_s},
          {"required_bytes_per_s", "required_bytes_per_s", &d.required_bytes_per_s},
          {"tokens_per_s.bandwidth_limit", "bandwidth_limit_tokens_per_s", &d.bandwidth_limit},
          {"utilization.capacity_effective", "utilization_capacity_effective",
           &d.capacity_effective}};
    for (size_t i = 0; i < 4; i++) {
        *sizes[i].field = 123456789;
        *modelled[i].field = 123456789;
    }
    d.link = "NVLink";
    yajl_val root = yajl_tree_parse(print(&plan, RP_FORMAT_JSON), error, sizeof error);
    yajl_val json = YAJL_GET_ARRAY(at(root, "devices"))->values[0];
    print(&plan, RP_FORMAT_CSV);
    for (size_t i = 0; i < 4; i++) {
        assert_true(YAJL_GET_DOUBLE(at(json, sizes[i].json)) == 123456789);
        assert_true(strtod(cell(sizes[i].csv), NULL) == 123456789);
        assert_true(YAJL_GET_DOUBLE(at(json, modelled[i].json)) == 123500000);
        assert_true(strtod(cell(modelled[i].csv), NULL) == 123500000);
    }
    assert_string_equal(YAJL_GET_STRING(at(json, "link")), "NVLink");
    assert_string_equal(YAJL_GET_STRING(at(json, "bound")), "bandwidth");
    yajl_tree_free(root);
}

/* Rows that people see: what is not known or nothing is left out, sizes and times have their units.
 */
static void rows_for_people(void **state) {
    (void)state;
    rp_plan_device d;
    rp_plan plan = one_device(&d);
    d.memory.weights = 14e9;
    d.memory.activations = NAN;
    d.memory.total = 15e9;
    d.memory_s = 4.2e-3;
    d.bandwidth_limit = 238.4;
    d.max_sequences = 12345;
    d.fits = 0;
    print(&plan, RP_FORMAT_TEXT);
    assert_non_null(strstr(text, "7 billion parameters, inference in bf16"));
    assert_non_null(strstr(text, "14.0 GB"));
    assert_non_null(strstr(text, "4.20 ms"));
    assert_non_null(strstr(text, "12 345"));
    assert_non_null(strstr(text, "238"));
    const char *fits = strstr(text, "\nfits "), *bound = strstr(text, "\nbound ");
    assert_true(fits && strstr(fits, "no") && strstr(fits, "no") < strchr(fits + 1, '\n'));
    assert_true(bound && strstr(bound, "bandwidth") < strchr(bound + 1, '\n'));
    assert_null(strstr(text, "activations"));
    assert_null(strstr(text, "gradients"));
    int lines = 0;
    for (const char *p = text; (p = strstr(p, "\n")); p++)
        lines++;
    assert_true(lines > 15); /* a row is a line of its own */
    d.likely_low_s = 1;
    d.likely_high_s = 2;
    d.compute_s = 0.5;
    d.compute_limit = 1000; /* 500 tokens a step */
    plan.request.mode = RP_PLAN_TRAIN;
    print(&plan, RP_FORMAT_TEXT);
    assert_non_null(strstr(text, "1.00 s to 2.00 s"));
    assert_non_null(strstr(text, "250 to 500"));
    d.likely_high_s = 1;
    print(&plan, RP_FORMAT_TEXT);
    assert_non_null(strstr(text, "1.00 s or more"));
    assert_non_null(strstr(text, "500 or less"));
}

/* ---- Documents ------------------------------------------------------------------------------- */

static const char *document(rp_format format) {
    size_t size;
    static const char evil[] = "<b>|x|\x1b[31m\xff";
    free(text);
    FILE *file = open_memstream(&text, &size);
    rp_document d = rp_document_start(file, format, evil);
    rp_document_heading(&d, evil);
    rp_document_note(&d, "note %s", evil);
    rp_document_item(&d, "item %s", evil);
    rp_document_end(&d);
    fclose(file);
    return text;
}

/* Title, heading, note and item are there, and none of them is more than text. */
static void documents(void **state) {
    (void)state;
    document(RP_FORMAT_HTML);
    assert_non_null(strstr(text, "<title>&lt;b&gt;|x|\\x1b[31m\\xff</title>"));
    assert_non_null(strstr(text, "<h1>&lt;b&gt;"));
    assert_non_null(strstr(text, "<h2>&lt;b&gt;"));
    assert_non_null(strstr(text, "<p>note &lt;b&gt;"));
    assert_non_null(strstr(text, "<li>item &lt;b&gt;"));
    assert_null(strstr(text, "<b>"));
    document(RP_FORMAT_MD);
    assert_non_null(strstr(text, "# "));
    assert_non_null(strstr(text, "\n## "));
    assert_null(strstr(text, "<b>"));
    assert_null(strstr(text, "\x1b"));
    document(RP_FORMAT_TEXT);
    assert_int_equal(strncmp(text, "<b>|x|\\x1b[31m\\xff\n", 19), 0);
    assert_non_null(strstr(text, "\n\n<b>|x|"));
    assert_non_null(strstr(text, "note <b>"));
    assert_non_null(strstr(text, "- item <b>"));
    assert_null(strstr(text, "\x1b"));
    assert_string_equal(document(RP_FORMAT_CSV), ""); /* tables alone */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_number_under_its_name), cmocka_unit_test(counts_are_exact),
        cmocka_unit_test(rows_for_people), cmocka_unit_test(digits), cmocka_unit_test(documents)};
    int result = cmocka_run_group_tests(tests, NULL, NULL);
    free(text);
    return result;
}
