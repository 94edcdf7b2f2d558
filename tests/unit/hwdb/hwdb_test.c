/* SPDX-License-Identifier: Apache-2.0
 *
 * The hardware database as its users see it: names, matching, ceilings, limits, rules, overlays,
 * and what it says about bad files.
 */
#include "hwdb/hwdb.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static rp_hwdb *db;

static int setup(void **state) {
    rp_error error;
    (void)state;
    setenv("ROOFPROF_HWDB", ROOFPROF_SOURCE_DIR "/hwdb", 1);
    setenv("XDG_DATA_HOME", "/nonexistent", 1);
    return rp_hwdb_load(&db, NULL, &error) == RP_OK ? 0 : -1;
}

static int teardown(void **state) {
    (void)state;
    rp_hwdb_free(db);
    return 0;
}

static const rp_device *find(const char *name) {
    const rp_device *d = NULL;
    rp_error error;
    if (rp_hwdb_find(db, name, &d, NULL, &error) != RP_OK)
        fail_msg("%s: %s", name, error.message);
    return d;
}

static void names_as_people_write_them(void **state) {
    static const char *const cases[][2] = {{"A100", "A100-SXM4-80GB"},
                                           {"a100 40gb", "A100-SXM4-40GB"},
                                           {"h100", "H100-SXM5-80GB"},
                                           {"NVIDIA H100 80GB HBM3", "H100-SXM5-80GB"},
                                           {"H100 PCIe", "H100-PCIe-80GB"},
                                           {"4090", "RTX 4090"},
                                           {"rtx4090", "RTX 4090"},
                                           {"NVIDIA GeForce RTX 4090", "RTX 4090"},
                                           {"Tesla V100-SXM2-16GB", "V100-SXM2-16GB"},
                                           {"NVIDIA_A100-SXM4-80GB", "A100-SXM4-80GB"},
                                           {"10de:2330", "H100-SXM5-80GB"},
                                           {"0x10DE:0x2684", "RTX 4090"},
                                           {"1002:74a1", "MI300X"},
                                           {"GH100:132:2619", "H100-SXM5-80GB"},
                                           {"GA100:108:1593", "A100-SXM4-80GB"},
                                           {"ga100:108:1215", "A100-SXM4-40GB"},
                                           {"A10", "A10"},
                                           {"A40", "A40"},
                                           {"H20", "H20-96GB"},
                                           {"mi300x", "MI300X"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(find(cases[i][0])->name, cases[i][1]);
}

static void ambiguous_names_list_candidates(void **state) {
    const rp_device *d, *const *others;
    rp_error error;
    size_t n = 0;
    (void)state;
    assert_int_equal(rp_hwdb_find(db, "A100", &d, &others, &error), RP_OK);
    for (; others[n]; n++)
        assert_non_null(strstr(others[n]->name, "A100"));
    assert_int_equal(n, 3);
    assert_int_equal(rp_hwdb_find(db, "A100-SXM4-40GB", &d, &others, &error), RP_OK);
    assert_null(others[0]);
    assert_int_equal(rp_hwdb_find(db, "H100 94GB", &d, NULL, &error), RP_INPUT);
    assert_non_null(strstr(error.message, "H100-NVL-94GB"));
}

static void unknown_names_give_the_nearest(void **state) {
    static const char *const nonsense[] = {"H1000",     "",  "   ", "10de:ffff",
                                           "GH100:999", ";", "%s%n"};
    const rp_device *d;
    rp_error error;
    (void)state;
    for (size_t i = 0; i < sizeof nonsense / sizeof *nonsense; i++) {
        assert_int_equal(rp_hwdb_find(db, nonsense[i], &d, NULL, &error), RP_INPUT);
        assert_null(d);
    }
    assert_int_equal(rp_hwdb_find(db, "H1000", &d, NULL, &error), RP_INPUT);
    assert_non_null(strstr(error.message, "H100-SXM5-80GB"));
    char longest[5000];
    memset(longest, 'a', sizeof longest - 1);
    longest[sizeof longest - 1] = 0;
    assert_int_equal(rp_hwdb_find(db, longest, &d, NULL, &error), RP_INPUT);
}

static double printed(const rp_device *d, const char *key) {
    static const rp_provenance order[] = {RP_DATASHEET, RP_THEORETICAL, RP_ESTIMATED};
    rp_ceiling like;
    const rp_ceiling *c;
    assert_true(rp_ceiling_from_key(key, &like));
    c = rp_device_ceiling(d, &like, order, 3);
    return c ? c->rate : NAN;
}

/* Ridge points, dense, as published: FLOP per byte of DRAM. */
static void ridge_points(void **state) {
    static const struct {
        const char *device, *key;
        double ridge, tolerance;
    } cases[] = {{"V100", "fp16_tensor", 139, .005},     {"V100", "fp32_vector", 17.5, .02},
                 {"V100", "fp64_vector", 8.7, .02},      {"A100", "fp16_tensor", 153.0, .005},
                 {"A100", "fp32_vector", 9.6, .02},      {"A100", "fp64_vector", 4.8, .02},
                 {"A100", "fp64_tensor", 9.6, .02},      {"H100", "fp16_tensor", 295.1, .005},
                 {"H100", "fp8_tensor", 590, .005},      {"H100", "fp16_tensor_sparse", 590, .005},
                 {"H100", "fp32_vector", 20.0, .02},     {"H100", "fp64_vector", 10.0, .02},
                 {"H200", "fp16_tensor", 206, .005},     {"H20", "fp16_tensor", 37, .005},
                 {"H20", "fp8_tensor", 74, .005},        {"H20", "fp32_vector", 11.0, .02},
                 {"B200", "fp16_tensor", 293, .005},     {"B200", "fp8_tensor", 587, .005},
                 {"RTX 4090", "fp16_tensor", 164, .005}, {"RTX 4090", "fp8_tensor", 328, .005},
                 {"RTX 5090", "fp16_tensor", 117, .005}, {"MI300X", "fp16_tensor", 247, .005},
                 {"MI300X", "fp8_tensor", 493, .005}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const rp_device *d = find(cases[i].device);
        double ridge = printed(d, cases[i].key) / printed(d, "dram");
        if (!(fabs(ridge / cases[i].ridge - 1) <= cases[i].tolerance))
            fail_msg("%s %s: %g, published %g", cases[i].device, cases[i].key, ridge,
                     cases[i].ridge);
    }
}

static void ceilings_that_are_drawn(void **state) {
    const rp_device *h100 = find("H100"), *r4090 = find("4090"), *h20 = find("H20");
    const rp_ceiling *c = rp_device_compute_ceiling(h100, RP_BF16, RP_TENSOR, "", false);
    (void)state;
    assert_int_equal(c->provenance, RP_THEORETICAL);
    assert_true(fabs(c->rate / 989.4e12 - 1) < 0.001);
    assert_true(c->clock_hz == 1830e6);
    /* Accumulate type where it matters, and the default where it does not. */
    assert_true(
        fabs(rp_device_compute_ceiling(r4090, RP_FP16, RP_TENSOR, "fp16", false)->rate / 330.3e12 -
             1) < 0.001);
    assert_true(
        fabs(rp_device_compute_ceiling(r4090, RP_FP16, RP_TENSOR, "", false)->rate / 165.2e12 - 1) <
        0.001);
    assert_ptr_equal(rp_device_compute_ceiling(h100, RP_FP16, RP_TENSOR, "fp16", false),
                     rp_device_compute_ceiling(h100, RP_FP16, RP_TENSOR, NULL, false));
    assert_true(rp_device_compute_ceiling(h100, RP_FP16, RP_TENSOR, "", true)->sparse);
    /* Cut parts do not inherit the full chip's rates. */
    assert_true(isnan(rp_hwdb_ops_per_clock(db, h20, RP_FP64, RP_VECTOR, "")));
    assert_true(rp_hwdb_ops_per_clock(db, h20, RP_FP16, RP_TENSOR, "") == 1024);
    assert_null(rp_device_compute_ceiling(h20, RP_FP64, RP_TENSOR, "", false));
    /* No sparsity for FP64, none on V100. */
    assert_null(rp_device_compute_ceiling(h100, RP_FP64, RP_TENSOR, "", true));
    assert_null(rp_device_compute_ceiling(find("V100"), RP_FP16, RP_TENSOR, "", true));
    assert_null(rp_device_bandwidth(find("H100 SXM 94GB"), RP_DRAM));
    assert_true(rp_device_bandwidth(find("V100"), RP_L2)->rate == 2048 * 1530e6);
    assert_null(rp_device_bandwidth(find("A30"), RP_L2));
    assert_true(h100->nvlink_bytes_per_s == 450e9);
}

static void mma_is_below_wgmma(void **state) {
    const rp_provenance theory = RP_THEORETICAL;
    rp_ceiling like;
    const rp_device *h100 = find("H100");
    (void)state;
    assert_true(rp_ceiling_from_key("fp16_tensor_mma", &like));
    double mma = rp_device_ceiling(h100, &like, &theory, 1)->rate;
    assert_true(rp_ceiling_from_key("fp16_tensor_wgmma", &like));
    assert_true(fabs(mma / rp_device_ceiling(h100, &like, &theory, 1)->rate - 2.0 / 3) < 1e-4);
    assert_null(rp_device_ceiling(find("H20"), &like, &theory, 1));
}

static void keys_go_both_ways(void **state) {
    static const char *const keys[] = {"dram",
                                       "shared",
                                       "fp64_vector",
                                       "fp16_acc16_tensor",
                                       "int8_tensor_sparse",
                                       "fp16_tensor_mma",
                                       "bf16_tensor_wgmma_sparse"};
    static const char *const wrong[] = {
        "",
        "fp16",
        "tensor",
        "fp99_tensor",
        "fp32_vector_sparse",
        "fp16_tensor_",
        "_tensor",
        "fp16_tensor_tensor_tensor_tensor_tensor_tensor_tensor_tensor"};
    rp_ceiling c;
    char text[64];
    (void)state;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        assert_true(rp_ceiling_from_key(keys[i], &c));
        rp_ceiling_key(&c, text, sizeof text);
        assert_string_equal(text, keys[i]);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(rp_ceiling_from_key(wrong[i], &c));
}

static rp_device_identity nobody(void) {
    return (rp_device_identity){.cc_major = -1,
                                .cc_minor = -1,
                                .sm_count = -1,
                                .memory_bytes = -1,
                                .memory_bus_bits = -1,
                                .sm_clock_hz = NAN,
                                .memory_clock_hz = NAN};
}

static void same_names_are_told_apart_by_numbers(void **state) {
    rp_device_identity id = nobody();
    rp_device_match match;
    rp_error error;
    (void)state;
    /* A capture that says "A100" and 40 GB. */
    id.name = "A100";
    id.sm_count = 108;
    id.memory_bytes = 42405855232;
    id.memory_clock_hz = 1215e6;
    assert_int_equal(rp_hwdb_match(db, &id, &match, &error), RP_OK);
    assert_non_null(strstr(match.device->name, "40GB"));
    assert_false(match.certain); /* SXM and PCIe cannot be told apart */
    id.name = "NVIDIA H100 80GB HBM3";
    id.sm_count = 132;
    id.memory_bytes = -1;
    id.memory_clock_hz = NAN;
    assert_int_equal(rp_hwdb_match(db, &id, &match, &error), RP_OK);
    assert_string_equal(match.device->name, "H100-SXM5-80GB");
    assert_true(match.certain);
    /* Its clock in the database follows from 4.8 TB/s; drivers say 3201 MHz. */
    id.name = "NVIDIA H200";
    id.memory_bytes = 150754820096;
    id.memory_clock_hz = 3201e6;
    assert_int_equal(rp_hwdb_match(db, &id, &match, &error), RP_OK);
    assert_string_equal(match.device->name, "H200-SXM-141GB");
    assert_true(match.certain);
    /* No name at all: chip, SMs and memory clock. */
    id = nobody();
    id.chip = "GA100";
    id.sm_count = 108;
    id.memory_clock_hz = 1593e6;
    assert_int_equal(rp_hwdb_match(db, &id, &match, &error), RP_OK);
    assert_string_equal(match.device->name, "A100-SXM4-80GB");
    assert_false(match.certain);
    /* The name of one part with the SMs of another: not that part. */
    id = nobody();
    id.name = "NVIDIA GeForce RTX 3080";
    id.sm_count = 70;
    id.cc_major = 8;
    id.cc_minor = 6;
    id.sm_clock_hz = 1710e6;
    assert_int_equal(rp_hwdb_match(db, &id, &match, &error), RP_OK);
    assert_null(match.device);
    assert_true(match.derived.sm_count == 70);
}

static void shared_pci_ids_need_the_name(void **state) {
    rp_device_identity id = nobody();
    rp_device_match match;
    rp_error error;
    (void)state;
    id.pci_id = "10de:25b6"; /* A16, and A2, which has no row */
    id.name = "NVIDIA A16";
    assert_int_equal(rp_hwdb_match(db, &id, &match, &error), RP_OK);
    assert_true(match.certain && strstr(match.device->name, "A16"));
    id.name = NULL;
    assert_int_equal(rp_hwdb_match(db, &id, &match, &error), RP_OK);
    assert_false(match.certain);
    id.name = "NVIDIA A2";
    assert_int_equal(rp_hwdb_match(db, &id, &match, &error), RP_INPUT);
}

/* A board with a name of its own: capability, SMs and memory tell the part. */
static void unknown_names_of_known_shape(void **state) {
    rp_device_identity id = nobody();
    rp_device_match match;
    rp_error error;
    (void)state;
    id.name = "A100-PG509-200";
    id.cc_major = 8;
    id.cc_minor = 0;
    id.sm_count = 108;
    id.memory_bytes = 42505273344;
    assert_int_equal(rp_hwdb_match(db, &id, &match, &error), RP_OK);
    assert_string_equal(match.device->name, "A100-SXM4-40GB");
    assert_false(match.certain);
    id.memory_bytes = 85198045184;
    assert_int_equal(rp_hwdb_match(db, &id, &match, &error), RP_OK);
    assert_string_equal(match.device->name, "A100-SXM4-80GB");
}

static void devices_without_a_row_are_derived(void **state) {
    rp_device_identity id = nobody();
    rp_device_match match;
    rp_error error;
    (void)state;
    id.name = "NVIDIA GeForce RTX 4070 SUPER";
    id.cc_major = 8;
    id.cc_minor = 9;
    id.sm_count = 56;
    id.sm_clock_hz = 2475e6;
    id.memory_clock_hz = 10501e6;
    id.memory_bus_bits = 192;
    assert_int_equal(rp_hwdb_match(db, &id, &match, &error), RP_OK);
    assert_null(match.device);
    assert_non_null(strstr(match.how, "derived"));
    const rp_ceiling *c = rp_device_compute_ceiling(&match.derived, RP_FP32, RP_VECTOR, "", false);
    assert_true(fabs(c->rate / (56 * 256 * 2475e6) - 1) < 1e-9);
    c = rp_device_compute_ceiling(&match.derived, RP_FP16, RP_TENSOR, "", false);
    assert_true(fabs(c->rate / (56 * 512 * 2475e6) - 1) < 1e-9); /* GeForce rate */
    c = rp_device_bandwidth(&match.derived, RP_DRAM);
    assert_true(fabs(c->rate / (2 * 10501e6 * 24) - 1) < 1e-9);
    id.sm_clock_hz = NAN;
    assert_int_equal(rp_hwdb_match(db, &id, &match, &error), RP_INPUT);
}

static void a_slice_is_not_the_whole(void **state) {
    rp_device_identity id = nobody();
    rp_device_match match;
    rp_error error;
    (void)state;
    id.name = "NVIDIA A100-SXM4-40GB MIG 1g.5gb";
    id.sm_count = 14;
    id.memory_bytes = 5000000000;
    assert_int_equal(rp_hwdb_match(db, &id, &match, &error), RP_OK);
    assert_null(match.device);
    assert_true(
        fabs(rp_device_compute_ceiling(&match.derived, RP_FP32, RP_VECTOR, "", false)->rate /
                 (14 * 128 * 1410e6) -
             1) < 1e-9);
    const rp_ceiling *dram = rp_device_bandwidth(&match.derived, RP_DRAM);
    assert_true(fabs(dram->rate / (1555.2e9 / 8) - 1) < 1e-3);
    assert_int_equal(dram->provenance, RP_ESTIMATED);
}

static void limits_per_multiprocessor(void **state) {
    const rp_device *h100 = find("H100"), *a100 = find("A100");
    (void)state;
    assert_true(rp_hwdb_limit(db, h100, "shared_optin") == 227 * 1024);
    assert_true(rp_hwdb_limit(db, h100, "issue") == 4);
    assert_true(rp_hwdb_limit(db, find("T4"), "max_threads") == 1024);
    assert_true(fabs(rp_hwdb_limit(db, a100, "l2_bytes") - 5120.0 / 108) < 1e-9);
    assert_true(isnan(rp_hwdb_limit(db, h100, "l2_bytes")));
    assert_true(isnan(rp_hwdb_limit(db, h100, "no such limit")));
    assert_true(isnan(rp_hwdb_limit(db, find("MI300X"), "issue")));
}

typedef struct metrics {
    const char *name[8];
    double value[8];
} metrics;

static double look_up(void *context, const char *metric) {
    const metrics *m = context;
    for (size_t i = 0; i < 8 && m->name[i]; i++)
        if (!strcmp(m->name[i], metric))
            return m->value[i];
    return NAN;
}

static double derive(const metrics *m, rp_quantity quantity, const char *chip) {
    for (size_t i = 0; i < rp_hwdb_rule_count(db); i++) {
        const rp_metric_rule *r = rp_hwdb_rule(db, i);
        double v;
        if (r->quantity == quantity && rp_metric_rule_applies(r, chip) &&
            !isnan(v = rp_metric_rule_value(r, look_up, (void *)(uintptr_t)m)))
            return v;
    }
    return NAN;
}

static void rules_derive_quantities(void **state) {
    metrics time = {{"sm__cycles_elapsed.avg", "sm__cycles_elapsed.avg.per_second"},
                    {1.5e6, 1.5e9}};
    metrics gb202 = {{"dram__bytes_op_read.sum", "dram__bytes_op_write.sum"}, {100, 28}};
    metrics old = {{"dram__sectors_read.sum"}, {4}};
    metrics igpu = {{"lts__d_sectors_fill_sysmem.sum", "lts__t_sectors_op_write.sum"}, {10, 5}};
    metrics gh100 = {{"sm__ops_path_tensor_op_hgmma_src_fp16.sum",
                      "sm__ops_path_tensor_op_hmma_src_fp16_dst_fp32.sum",
                      "sm__ops_path_tensor_op_hmma_src_fp16_dst_fp16.sum"},
                     {4096, 2048, 512}};
    metrics both = {{"sm__ops_path_tensor_src_bf16_dst_fp32.sum",
                     "sm__ops_path_tensor_op_hgmma_src_bf16_dst_fp32.sum",
                     "sm__ops_path_tensor_op_hmma_src_bf16_dst_fp32.sum"},
                    {100, 60, 40}};
    metrics rate = {{"smsp__sass_thread_inst_executed_op_ffma_pred_on.sum.per_cycle_elapsed",
                     "smsp__cycles_elapsed.avg"},
                    {64, 1000}};
    metrics weighted = {
        {"derived__smsp__sass_thread_inst_executed_op_hfma_pred_on_x4", "smsp__cycles_elapsed.avg"},
        {256, 1000}};
    metrics gmma = {
        {"smsp__sass_inst_executed_op_shared.sum", "smsp__sass_inst_executed_op_global.sum",
         "smsp__sass_inst_executed_op_local.sum", "smsp__sass_inst_executed_op_ldsm.sum",
         "smsp__sass_inst_executed_op_shared_gmma.sum"},
        {10, 20, 3, 4, 2}};
    (void)state;
    assert_true(fabs(derive(&time, RP_Q_TIME, NULL) - 1e-3) < 1e-15);
    assert_true(derive(&gb202, RP_Q_DRAM_BYTES, "GB202") == 128);
    assert_true(derive(&gb202, RP_Q_DRAM_READ, NULL) == 100);
    assert_true(derive(&old, RP_Q_DRAM_READ, NULL) == 128);
    assert_true(derive(&igpu, RP_Q_DRAM_BYTES, "GA10B") == 480);
    assert_true(isnan(derive(&igpu, RP_Q_DRAM_BYTES, "GA100"))); /* that one has real counters */
    assert_true(isnan(derive(&igpu, RP_Q_DRAM_BYTES, NULL)));
    assert_true(derive(&gh100, RP_Q_FLOPS_FP16_TENSOR, "GH100") == 6144);
    assert_true(derive(&gh100, RP_Q_FLOPS_FP16_ACC16_TENSOR, "GH100") == 512);
    assert_true(derive(&both, RP_Q_FLOPS_BF16_TENSOR, "GH100") == 100); /* never union plus parts */
    assert_true(derive(&rate, RP_Q_INST_FP32_FMA, NULL) == 64000);
    assert_true(derive(&weighted, RP_Q_INST_FP16_FMA, NULL) == 64000);
    assert_true(derive(&gmma, RP_Q_LSU_REQUESTS, "GH100") == 35);
    assert_true(derive(&gmma, RP_Q_LSU_REQUESTS, "GA100") == 37);
}

/* ---- Overlays and bad files ------------------------------------------------------------------ */

static const char path[] = ROOFPROF_BINARY_DIR "/hwdb-test.csv";

static rp_code load_with(const char *text, size_t length, rp_hwdb **own, rp_error *error) {
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, length, f), length);
    fclose(f);
    rp_code code = rp_hwdb_load(own, path, error);
    unlink(path);
    return code;
}

static void users_records_overlay(void **state) {
    static const char text[] = "\xEF\xBB\xBFname,dram_gbs,sm_count,boost_mhz\r\n"
                               "# a comment\n"
                               "\"H100-SXM5-80GB\",3000,,\n"
                               "My \"\"board\"\",100,10,1000\n";
    static const char good[] =
        "name,vendor,dram_gbs,note\nH100-SXM5-80GB,,3000,-\nMine,NVIDIA,100,\n";
    static const char mine[] = "name,aliases,sm_count\nMy A100,A100,108\n";
    static const char ceilings[] = "device,ceiling,value,unit,provenance,source\n"
                                   "A100-SXM4-80GB,dram,1.75e12,B/s,calibrated,here\n"
                                   "A100-SXM4-80GB,fp16_tensor,2.6e14,FLOP/s,calibrated,here\n";
    rp_hwdb *own;
    rp_error error;
    const rp_device *d;
    (void)state;
    assert_int_equal(load_with(text, sizeof text - 1, &own, &error), RP_INPUT); /* stray quotes */
    assert_int_equal(load_with(good, sizeof good - 1, &own, &error), RP_OK);
    assert_int_equal(rp_hwdb_count(own), rp_hwdb_count(db) + 1);
    assert_int_equal(rp_hwdb_find(own, "H100", &d, NULL, &error), RP_OK);
    assert_true(printed(d, "dram") == 3000e9);
    assert_true(printed(d, "fp16_tensor") == 989.4e12); /* field by field */
    assert_string_equal(d->note, "");                   /* "-" takes a field away */
    assert_true(d->user);
    assert_int_equal(rp_hwdb_find(own, "mine", &d, NULL, &error), RP_OK);
    assert_true(isnan(d->boost_hz));
    rp_hwdb_free(own);
    assert_int_equal(load_with(mine, sizeof mine - 1, &own, &error), RP_OK);
    assert_int_equal(rp_hwdb_find(own, "a100", &d, NULL, &error), RP_OK);
    assert_string_equal(d->name, "My A100");
    rp_hwdb_free(own);
    assert_int_equal(load_with(ceilings, sizeof ceilings - 1, &own, &error), RP_OK);
    assert_int_equal(rp_hwdb_find(own, "A100", &d, NULL, &error), RP_OK);
    assert_int_equal(rp_device_bandwidth(d, RP_DRAM)->provenance, RP_CALIBRATED);
    assert_true(rp_device_compute_ceiling(d, RP_FP16, RP_TENSOR, "", false)->rate == 2.6e14);
    assert_true(printed(d, "dram") == 2039e9);
    rp_hwdb_free(own);
}

static void user_rules_come_first(void **state) {
    static const char text[] = "quantity,chips,metric,factor\ndram_bytes,*,my_counter,128\n";
    metrics m = {{"my_counter", "dram__bytes.sum"}, {2, 1}};
    rp_hwdb *own, *keep = db;
    rp_error error;
    (void)state;
    assert_int_equal(load_with(text, sizeof text - 1, &own, &error), RP_OK);
    db = own;
    assert_true(derive(&m, RP_Q_DRAM_BYTES, NULL) == 256);
    db = keep;
    rp_hwdb_free(own);
}

static void bad_files_are_told_with_their_line(void **state) {
    static const struct {
        const char *text, *said;
    } cases[] = {{"", "empty"},
                 {"name,dram_gbs\nX,12,13\n", ":2:"},
                 {"name,dram_gbs\nX\n", ":2:"},
                 {"name,dram_gbs\nX,fast\n", "not a number"},
                 {"name,dram_gbs\nX,-1\n", "not a number"},
                 {"name,dram_gbs\nX,inf\n", "not a number"},
                 {"name,dram_gbs\nX,0x\n", "not a number"},
                 {"name,sm_count\nX,12.5\n", "not an integer"},
                 {"name,sm_count\nX,1e300\n", "not an integer"},
                 {"name,bandwidth\nX,1\n", "no column \"bandwidth\""},
                 {"name,dram_gbs,dram_gbs\nX,1,2\n", "twice"},
                 {"name,dram_gbs\n\"X,1\n", ""},
                 {"name,dram_gbs\n,1\n", "no name"},
                 {"quantity,chips,metric,factor\nnonsense,*,a,1\n", "no quantity"},
                 {"quantity,chips,metric,factor\ndram_bytes,*,a+,1\n", "cannot be understood"},
                 {"quantity,chips,metric,factor\ndram_bytes,*,,1\n", "cannot be understood"},
                 {"quantity,chips,metric,factor\ndram_bytes,*,a/b/c,1\n", "cannot be understood"},
                 {"device,ceiling,value,unit\nA100-SXM4-80GB,warp,1,B/s\n", "no ceiling"},
                 {"device,ceiling,value,unit\nA100-SXM4-80GB,dram,1,GB/s\n", "unit"},
                 {"\x89PNG\r\n\x1a\n", ""}};
    rp_hwdb *own;
    rp_error error;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rp_code code = load_with(cases[i].text, strlen(cases[i].text), &own, &error);
        if (code != RP_INPUT || !strstr(error.message, cases[i].said) ||
            !strstr(error.message, path))
            fail_msg("\"%s\": %d %s", cases[i].text, code, code ? error.message : "");
        assert_null(own);
    }
    assert_int_equal(load_with("name\nX\0Y\n", 9, &own, &error), RP_INPUT);
    assert_int_equal(rp_hwdb_load(&own, "/nonexistent/x.csv", &error), RP_INPUT);
    assert_int_equal(rp_hwdb_load(&own, "/proc", &error), RP_INPUT);
}

static void links(void **state) {
    const rp_link *l = rp_hwdb_find_link(db, "nvlink4");
    (void)state;
    assert_true(l->bytes_per_s == 450e9);
    assert_true(rp_hwdb_find_link(db, "pcie4x16")->bytes_per_s == 1.97e9 * 16);
    assert_null(rp_hwdb_find_link(db, "telegraph"));
}

/* Integer operations are no FLOPs, bytes are neither. */
static void units_of_ceilings(void **state) {
    (void)state;
    static const struct {
        const char *key, *unit;
    } rows[] = {{"fp64_vector", "FLOP/s"}, {"fp4_tensor", "FLOP/s"}, {"tf32_tensor", "FLOP/s"},
                {"int8_tensor", "OP/s"},   {"int4_tensor", "OP/s"},  {"int1_tensor", "OP/s"},
                {"int32_vector", "OP/s"},  {"dram", "B/s"},          {"nvlink", "B/s"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rp_ceiling c = {0};
        assert_true(rp_ceiling_from_key(rows[i].key, &c));
        assert_string_equal(rp_ceiling_unit(&c), rows[i].unit);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(names_as_people_write_them),
                                       cmocka_unit_test(ambiguous_names_list_candidates),
                                       cmocka_unit_test(unknown_names_give_the_nearest),
                                       cmocka_unit_test(ridge_points),
                                       cmocka_unit_test(units_of_ceilings),
                                       cmocka_unit_test(ceilings_that_are_drawn),
                                       cmocka_unit_test(mma_is_below_wgmma),
                                       cmocka_unit_test(keys_go_both_ways),
                                       cmocka_unit_test(same_names_are_told_apart_by_numbers),
                                       cmocka_unit_test(shared_pci_ids_need_the_name),
                                       cmocka_unit_test(unknown_names_of_known_shape),
                                       cmocka_unit_test(devices_without_a_row_are_derived),
                                       cmocka_unit_test(a_slice_is_not_the_whole),
                                       cmocka_unit_test(limits_per_multiprocessor),
                                       cmocka_unit_test(rules_derive_quantities),
                                       cmocka_unit_test(users_records_overlay),
                                       cmocka_unit_test(user_rules_come_first),
                                       cmocka_unit_test(bad_files_are_told_with_their_line),
                                       cmocka_unit_test(links)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
