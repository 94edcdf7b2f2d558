/* SPDX-License-Identifier: Apache-2.0
 *
 * Points that others published, recomputed from their inputs: intensity and rates within 1 %, the
 * side, and a bound only where the published data carry it (a kernel far below the roofs that were
 * counted stays `unknown`, whatever its place on the plot suggests). tests/golden/report/README.md
 * names the rows that cannot be recomputed.
 */
#include "fixture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ID,
    KERNEL,
    DEVICE,
    KEY,
    PEAK_GFLOPS,
    PEAK_GBYTES,
    FLOPS,
    BYTES,
    BYTES_ARE,
    TIME,
    INTENSITY,
    GFLOPS,
    GBYTES,
    SIDE,
    BOUND,
    SOURCE,
    FIELDS
};

static rp_quantity quantity_of(const char *key) {
    rp_quantity quantity = rp_quantity_find(key);
    if (quantity == RP_QUANTITIES)
        fail_msg("no quantity %s", key);
    return quantity;
}

static void assert_percent(const char *id, const char *what, double value, double published) {
    if (!(fabs(value - published) <= 0.01 * fabs(published)))
        fail_msg("%s: %s is %.6g, published %.6g", id, what, value, published);
}

static void check(char *fields[FIELDS]) {
    fixture f;
    const char *id = fields[ID];
    double time = atof(fields[TIME]);
    fixture_start(&f, NULL);
    f.options.device_name = fields[DEVICE][0] ? fields[DEVICE] : NULL;
    rp_capture_ceiling peaks[] = {
        {.compute = true,
         .precision = "fp32",
         .path = "vector",
         .rate = atof(fields[PEAK_GFLOPS]) * 1e9,
         .provenance = RP_DATASHEET},
        {.level = "dram", .rate = atof(fields[PEAK_GBYTES]) * 1e9, .provenance = RP_DATASHEET}};
    f.profile.devices[0].ceilings = peaks; /* peaks that came with the points, 0: none did */
    f.profile.devices[0].ceiling_count = 2;
    rp_group *g = fixture_kernel(&f, fields[KERNEL], 1, time);
    fixture_set(g, quantity_of(fields[KEY]), atof(fields[FLOPS]));
    fixture_set(g, RP_Q_DRAM_BYTES, atof(fields[BYTES]));
    if (strcmp(fields[BYTES_ARE], "user") == 0)
        g->provenance[RP_Q_DRAM_BYTES] = RP_USER;
    fixture_analyse(&f);
    f.profile.devices[0].ceilings = NULL; /* not the profile's to free */
    const rp_report_kernel *k = fixture_find(&f, fields[KERNEL]);
    assert_percent(id, "intensity", k->intensity[RP_DRAM], atof(fields[INTENSITY]));
    assert_percent(id, "GFLOP/s", k->flops_per_s / 1e9, atof(fields[GFLOPS]));
    assert_percent(id, "GB/s", k->bytes[RP_DRAM] / k->time_s / 1e9, atof(fields[GBYTES]));
    if (strcmp(rp_side_name(k->side), fields[SIDE]) != 0)
        fail_msg("%s: %s side, published %s", id, rp_side_name(k->side), fields[SIDE]);
    if (strcmp(rp_bound_name(k->bound), fields[BOUND]) != 0)
        fail_msg("%s: bound %s (%.3f of the roof), expected %s", id, rp_bound_name(k->bound),
                 k->roof_fraction, fields[BOUND]);
    assert_int_equal(k->above_roof, strstr(fields[SOURCE], "above the roof") != NULL);
    fixture_end(&f);
}

static void published_points(void **state) {
    (void)state;
    FILE *file = fopen(ROOFPROF_SOURCE_DIR "/tests/golden/report/published.csv", "r");
    char line[1024];
    int rows = 0;
    assert_non_null(file);
    assert_non_null(fgets(line, sizeof line, file)); /* header */
    while (fgets(line, sizeof line, file)) {
        char *fields[FIELDS], *at = line;
        line[strcspn(line, "\n")] = '\0';
        for (int i = 0; i < FIELDS; i++) {
            fields[i] = i < FIELDS - 1 ? strsep(&at, ",") : at;
            assert_non_null(fields[i]);
        }
        check(fields);
        rows++;
    }
    fclose(file);
    assert_int_equal(rows, 23);
}

/* sm__ops_path_tensor_* of a 4096^3 FP8 product reads 137438953472: they are operations already. */
static void tensor_counts_are_operations(void **state) {
    (void)state;
    fixture f;
    fixture_start(&f, NULL);
    f.options.device_name = "B300";
    fixture_set(fixture_kernel(&f, "nvjet", 1, 1e-4), RP_Q_FLOPS_FP8_TENSOR, 137438953472.0);
    fixture_analyse(&f);
    assert_true(fixture_find(&f, "nvjet")->flops_total == 2.0 * 4096 * 4096 * 4096);
    fixture_end(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_points),
        cmocka_unit_test(tensor_counts_are_operations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
