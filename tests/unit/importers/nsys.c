/* SPDX-License-Identifier: Apache-2.0
 *
 * The importer of Nsight Systems exports, over databases made from SQL: the older schema, the newer
 * one, one without CUDA, and damaged ones.
 */
#include "fixture.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const rp_importer *const nsys = &rp_importer_nsys;

static void older_schema(void **state) {
    (void)state;
    rp_profile p;
    char *path = make_database("nsys_old.sql");
    assert_true(recognise_path(nsys, path) >= 90);
    import_path(nsys, path, &p);
    assert_int_equal(p.launches_total, 3);
    assert_int_equal(p.launches_invalid, 2);
    const rp_group *k = find_group(&p, hostile_name);
    assert_int_equal(k->launches, 2);
    assert_true(fabs(k->time.sum - 10e-6) < 1e-15);
    assert_int_equal(k->time_provenance, RP_IMPORTED);
    assert_int_equal(k->grid[1], 2);
    assert_int_equal(k->block[1], 4);
    assert_int_equal(k->shared_dynamic, 1024);
    assert_int_equal(p.device_count, 1); /* two are listed, one worked */
    assert_string_equal(p.devices[0].name, "A100-PCIE-40GB");
    assert_true(p.devices[0].sm_clock_hz == 1410e6);
    assert_int_equal(p.devices[0].ceiling_count, 1);
    assert_true(p.devices[0].ceilings[0].rate == 1555.2e9);
    assert_string_equal(p.devices[0].ceilings[0].level, "dram");
    assert_true(has_note(&p, "warning", "1 of 0 duration, 1 ending before"));
    assert_true(has_note(&p, "warning", "1 kernel without a name"));
    assert_int_equal(p.copy_count, 0);
    rp_profile_free(&p);
    drop_file(path);
}

static void newer_schema(void **state) {
    (void)state;
    rp_profile p;
    char *path = make_database("nsys_new.sql");
    import_path(nsys, path, &p);
    assert_int_equal(p.launches_total, 4);
    assert_int_equal(find_group(&p, hostile_name)->launches, 2);
    assert_int_equal(find_group(&p, "graph_node_kernel")->launches, 2);
    assert_int_equal(p.device_count, 1);
    assert_string_equal(p.devices[0].chip, "GA102");
    assert_true(p.devices[0].sm_clock_hz == 1710e6);
    assert_true(p.devices[0].ceilings[0].rate == 760.08e9);
    assert_true(p.devices[0].peak_allocated_bytes == 1500);
    assert_true(has_note(&p, "info", "1 adapters"));
    assert_true(has_note(&p, "warning", "2 launches of CUDA graphs"));
    assert_true(has_note(&p, "warning", "1 process called CUDA and has no kernel"));
    assert_true(has_note(&p, "info", "1 of 4 memory events"));
    double bytes = 0;
    bool unknown = false;
    for (size_t i = 0; i < p.copy_count; i++) {
        bytes += p.copies[i].bytes;
        unknown |= !strcmp(p.copies[i].kind, "unknown");
        /* to the other device it ends before it starts: that took nobody knows how long */
        assert_int_equal(isnan(p.copies[i].time_s), !strcmp(p.copies[i].kind, "PtoP"));
    }
    assert_true(bytes == 4096 + 1024 + 64 + 512 + 32);
    assert_true(unknown);
    for (size_t i = 0; i < p.note_count; i++)
        assert_null(strstr(p.notes[i].text, "SECRET"));
    rp_profile_free(&p);
    drop_file(path);
}

/* A launch belongs to the range open on the thread that launched it, of its own process: another
 * process uses the same correlation number. */
static void ranges_by_correlation(void **state) {
    (void)state;
    rp_profile p;
    char *path = make_database("nsys_new.sql");
    import_by(nsys, path, RP_BY_RANGE, &p);
    unsigned inner = 0, outer = 0, none = 0;
    for (size_t i = 0; i < p.group_count; i++) {
        const rp_group *g = &p.groups[i];
        if (g->range && strstr(g->range, "registered range"))
            inner += (unsigned)g->launches;
        else if (g->range && strstr(g->range, "outer"))
            outer += (unsigned)g->launches;
        else
            none += (unsigned)g->launches;
    }
    assert_int_equal(inner, 1);
    assert_int_equal(outer, 1);
    assert_int_equal(none, 2);
    rp_profile_free(&p);
    drop_file(path);
}

static void no_kernels(void **state) {
    (void)state;
    char *path = make_database("nsys_cpu_only.sql");
    assert_true(recognise_path(nsys, path) >= 90);
    refuse_path(nsys, path, "no CUDA kernel");
    drop_file(path);
    path = make_database("nsys_not_nvprof.sql");
    assert_true(recognise_path(nsys, path) >= 50);
    refuse_path(nsys, path, "--print-gpu-trace");
    drop_file(path);
    path = make_database("nsys_graphs_only.sql");
    refuse_path(nsys, path, "--cuda-graph-trace=node");
    drop_file(path);
}

static void damaged_files(void **state) {
    (void)state;
    size_t length;
    char *whole = make_database("nsys_new.sql"), *bytes = read_file(whole, &length);
    for (size_t n = 50; n < length; n += length / 23) {
        char *cut = make_file(".sqlite", bytes, n);
        rp_code code = try_path(nsys, cut);
        assert_true(code == RP_OK || code == RP_INPUT);
        drop_file(cut);
    }
    for (size_t at = 100; at < length; at += 997) {
        char kept = bytes[at];
        bytes[at] ^= 0x5A;
        char *odd = make_file(".sqlite", bytes, length);
        rp_code code = try_path(nsys, odd);
        assert_true(code == RP_OK || code == RP_INPUT);
        drop_file(odd);
        bytes[at] = kept;
    }
    free(bytes);
    drop_file(whole);
    refuse_path(nsys, "/nonexistent/x.sqlite", "cannot be opened");
}

/* A path with characters that mean something in a URI. */
static void odd_path(void **state) {
    (void)state;
    size_t length;
    char *whole = make_database("nsys_old.sql"), *bytes = read_file(whole, &length);
    char *path = make_file("?mode=rw#100%41 x.sqlite", bytes, length);
    rp_profile p;
    import_path(nsys, path, &p);
    assert_int_equal(p.launches_total, 3);
    rp_profile_free(&p);
    free(bytes);
    drop_file(path);
    drop_file(whole);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(older_schema),          cmocka_unit_test(newer_schema),
        cmocka_unit_test(ranges_by_correlation), cmocka_unit_test(no_kernels),
        cmocka_unit_test(damaged_files),         cmocka_unit_test(odd_path),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
