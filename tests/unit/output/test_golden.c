/* SPDX-License-Identifier: Apache-2.0
 *
 * The report of a profile that holds every verdict, as people see it, against the files in
 * tests/golden/report. ROOFPROF_UPDATE_GOLDEN=1 writes them anew: look at the difference before you
 * commit it.
 */
#include "fixture.h"

#include "output/report.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CLOCKS (108 * 1.41e9) /* SM clocks per second of an A100 */
#define DRAM   1555.2e9

static fixture f;

/* A kernel whose FP32 and DRAM ceilings take the given shares of its time. */
static rp_group *streaming(const char *name, uint64_t launches, double time, double compute,
                           double memory) {
    rp_group *k = fixture_kernel(&f, name, launches, time);
    fixture_all_counted(k);
    fixture_set(k, RP_Q_INST_FP32_FMA, compute * time * CLOCKS * 128 / 2);
    fixture_set(k, RP_Q_DRAM_BYTES, memory * time * DRAM);
    fixture_set(k, RP_Q_WARP_INSTS, 0.3 * time * CLOCKS * 4);
    fixture_set(k, RP_Q_THREAD_INSTS, 32 * 0.3 * time * CLOCKS * 4);
    return k;
}

static void bound_kernels(void) {
    rp_group *g;
    streaming("saxpy(float*)", 100, 50e-6, 0.02, 0.85);
    streaming("gemm<float, 128>(float*)", 10, 2e-3, 0.88, 0.1);
    streaming("fused(float*)", 4, 1e-3, 0.75, 0.78);
    g = streaming("gather(float*)", 20, 400e-6, 0.05, 0.3);
    fixture_set(g, RP_Q_L1_WAVEFRONTS, 0.9 * 400e-6 * CLOCKS);
    g = streaming("hash(unsigned*)", 5, 300e-6, 0, 0.2);
    fixture_set(g, RP_Q_WARP_INSTS, 0.8 * 300e-6 * CLOCKS * 4);
    g = streaming("attention(__half*)", 8, 900e-6, 0.01, 0.15);
    fixture_set(g, RP_Q_FLOPS_FP16_TENSOR, 0.7 * 900e-6 * CLOCKS * 2048);
}

static void other_kernels(void) {
    rp_group *g = streaming("tiny(float*)", 300, 4e-6, 0.01, 0.1);
    fixture_set(g, RP_Q_WAVES, 0.2);
    g = streaming("tree(int*)", 2, 800e-6, 0.05, 0.1);
    fixture_set(g, RP_Q_THREAD_INSTS, 8 * 0.3 * 800e-6 * CLOCKS * 4);
    streaming("transpose(float*)", 6, 200e-6, 0, 0.65);
    g = streaming("cached(float*)", 3, 100e-6, 0.01, 1.6);
    g->provenance[RP_Q_DRAM_BYTES] = RP_USER;
    g = streaming("mma(__half*)", 2, 500e-6, 0.02, 0.2);
    fixture_set(g, RP_Q_TENSOR_PIPE_INSTS, 1e9);
    fixture_kernel(&f, "ncclDevKernel_AllReduce(void*)", 12, 250e-6)->collective = true;
    fixture_kernel(&f, "elementwise(float*)", 7, 100e-6);
}

static char *print(rp_format format) {
    rp_print_options options = {.format = format, .style = {.width = 120}};
    char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);
    rp_print_report(file, &f.report, &options);
    fclose(file);
    return text;
}

static void compare(const char *path, const char *text) {
    static char golden[1 << 16];
    if (getenv("ROOFPROF_UPDATE_GOLDEN")) {
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        fputs(text, file);
        fclose(file);
    }
    FILE *file = fopen(path, "r");
    if (!file)
        fail_msg("%s is not there", path);
    golden[fread(golden, 1, sizeof golden - 1, file)] = '\0';
    fclose(file);
    if (strcmp(golden, text) != 0)
        fail_msg("%s says:\n%s\nbut the report is:\n%s", path, golden, text);
}

static void every_verdict(void **state) {
    (void)state;
    char *text;
    fixture_start(&f, "NVIDIA A100-SXM4-40GB");
    bound_kernels();
    other_kernels();
    f.profile.devices[0].busy_s = 0.9 * f.profile.devices[0].sum_s;
    f.profile.devices[0].span_s = 1.2 * f.profile.devices[0].sum_s;
    fixture_analyse(&f);
    text = print(RP_FORMAT_TEXT);
    compare(ROOFPROF_SOURCE_DIR "/tests/golden/report/verdicts.txt", text);
    free(text);
    text = print(RP_FORMAT_MD);
    compare(ROOFPROF_SOURCE_DIR "/tests/golden/report/verdicts.md", text);
    free(text);
    fixture_end(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_verdict)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
