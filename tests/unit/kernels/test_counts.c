/* SPDX-License-Identifier: Apache-2.0
 *
 * What makes a ceiling trustworthy: on the emulated device every calibration kernel that it can run
 * gives the right numbers, and what it counts equals, exactly, the formula by which calibrate
 * divides (kernels/paths.h). The kernels are those that are embedded in the program: their PTX is
 * taken out of the fat binaries.
 */
#include "emulator/emulator.h"
#include "emulator/fatbin/fatbin.h"
#include "kernels/images.h"
#include "kernels/operands.h"
#include "kernels/paths.h"
#include "kernels/shapes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SMS = 4, BLOCKS = 6, THREADS = 128 };

typedef struct bench {
    emu_device *device;
    emu_module *modules[RP_IMAGES];
    char *texts[RP_IMAGES];
} bench;

static char *ptx_of(rp_image_name name, int cc) {
    rp_image image = rp_image_of(name);
    emu_fatbin fatbin = {0};
    emu_fault fault = {0};
    const emu_image *best;
    size_t used, length;
    char *text = NULL;

    assert_non_null(image.data);
    if (emu_fatbin_add(&fatbin, image.data, image.size, &used, &fault))
        fail_msg("%s", fault.message);
    best = emu_fatbin_best(&fatbin, 0, EMU_IMAGE_PTX, cc);
    assert_non_null(best);
    if (emu_image_expand(best, &text, &length, &fault))
        fail_msg("%s", fault.message);
    emu_fatbin_free(&fatbin);
    return text;
}

static int set_up(void **state) {
    emu_device_spec spec = {.name = "test device",
                            .chip = "none",
                            .cc_major = 8,
                            .sm_count = SMS,
                            .sm_clock_hz = 1e9,
                            .memory_bytes = UINT64_C(1) << 30,
                            .l2_bytes = 1 << 20,
                            .l1_bytes_per_sm = 128 << 10,
                            .shared_bytes_per_sm = 100 << 10,
                            .shared_bytes_per_block = 48 << 10,
                            .shared_bytes_per_block_optin = 99 << 10,
                            .registers_per_sm = 65536,
                            .max_threads_per_sm = 2048,
                            .max_blocks_per_sm = 32,
                            .max_warps_per_sm = 64};
    emu_options options = {.host_threads = 1, .count = true, .model_caches = true};
    emu_fault fault = {0};
    bench *b = calloc(1, sizeof *b);

    assert_non_null(b);
    b->device = emu_device_create(&spec, &options, &fault);
    if (!b->device)
        fail_msg("%s", fault.message);
    *state = b;
    return 0;
}

static int tear_down(void **state) {
    bench *b = *state;
    for (int i = 0; i < RP_IMAGES; i++) {
        if (b->modules[i])
            emu_module_unload(b->modules[i]);
        free(b->texts[i]);
    }
    emu_device_destroy(b->device);
    free(b);
    return 0;
}

static emu_kernel *kernel_of(bench *b, rp_image_name image, const char *name) {
    emu_fault fault = {0};
    emu_kernel *kernel;

    if (!b->modules[image]) {
        b->texts[image] = ptx_of(image, 80);
        const char *text = b->texts[image];
        size_t length = strlen(text);
        if (emu_module_load(b->device, &text, &length, 1, &b->modules[image], &fault))
            fail_msg("%s", fault.message);
    }
    if (emu_module_get_kernel(b->modules[image], name, &kernel, &fault))
        fail_msg("%s: %s", name, fault.message);
    return kernel;
}

static void *allocate(bench *b, size_t bytes, int fill) {
    uint64_t address;
    emu_fault fault = {0};
    if (emu_memory_allocate(b->device, EMU_MEMORY_DEVICE, bytes, &address, &fault))
        fail_msg("%s", fault.message);
    memset((void *)(uintptr_t)address, fill, bytes);
    return (void *)(uintptr_t)address;
}

static void release(bench *b, void *memory) {
    emu_fault fault = {0};
    assert_int_equal(emu_memory_free(b->device, (uintptr_t)memory, &fault), EMU_OK);
}

static emu_counts launch(bench *b, rp_image_name image, const char *name, uint32_t blocks,
                         uint32_t threads, const void *const *parameters) {
    emu_counts counts;
    emu_fault fault = {0};
    emu_launch l = {.kernel = kernel_of(b, image, name),
                    .grid = {blocks, 1, 1},
                    .block = {threads, 1, 1},
                    .parameters = parameters};

    if (emu_launch_run(b->device, &l, &counts, &fault))
        fail_msg("%s: %s", name, fault.message);
    return counts;
}

/* One record an SM, as the host presets them: {all ones, 0}. */
static uint64_t *new_spans(bench *b) {
    uint64_t *spans = allocate(b, SMS * 16, 0);
    for (int i = 0; i < SMS; i++)
        spans[2 * i] = UINT64_MAX;
    return spans;
}

/* Some SM ran a block, and time went on while it did. */
static void check_spans(bench *b, uint64_t *spans) {
    bool any = false;
    for (int i = 0; i < SMS; i++)
        if (spans[2 * i] != UINT64_MAX) {
            any = true;
            assert_true(spans[2 * i + 1] > spans[2 * i]);
        }
    assert_true(any);
    release(b, spans);
}

static void check_bytes(const emu_counts *counts, const rp_work *work) {
    assert_true((double)counts->load_bytes[EMU_GLOBAL] == work->load_bytes);
    assert_true((double)counts->store_bytes[EMU_GLOBAL] == work->store_bytes);
    assert_true((double)counts->atomic_bytes[EMU_GLOBAL] == work->atomic_bytes);
}

static double flops(const emu_counts *counts) {
    double all = 0;
    for (int p = 0; p < EMU_PRECISIONS; p++)
        if (p != EMU_INT32)
            all += (double)counts->flops_algorithmic[p];
    return all;
}

/* ---- Vector ---------------------------------------------------------------------------------- */

static emu_counts run_vector(bench *b, const rp_vector_kernel *kernel, uint32_t iterations) {
    size_t bytes;
    void *made = rp_vector_input(kernel, &bytes), *input = allocate(b, bytes, 0);
    size_t out_bytes = (size_t)(BLOCKS * THREADS * kernel->word_bytes);
    char *output = allocate(b, out_bytes, 0xee);
    uint64_t *spans = new_spans(b), expected[32];

    assert_non_null(made);
    memcpy(input, made, bytes);
    free(made);
    const void *parameters[] = {&input, &output, &spans, &iterations};
    emu_counts counts = launch(b, RP_IMAGE_VECTOR, kernel->name, BLOCKS, THREADS, parameters);
    rp_vector_expect(kernel, iterations, expected);
    for (int thread = 0; thread < BLOCKS * THREADS; thread++)
        assert_memory_equal(output + thread * kernel->word_bytes, &expected[thread % 32],
                            (size_t)kernel->word_bytes);
    check_spans(b, spans);
    release(b, input);
    release(b, output);
    return counts;
}

static const rp_vector_kernel *vector_named(const char *name) {
    for (size_t i = 0; i < rp_vector_kernel_count; i++)
        if (!strcmp(rp_vector_kernels[i].name, name))
            return &rp_vector_kernels[i];
    fail_msg("no kernel %s", name);
    return NULL;
}

static void test_vector(void **state) {
    static const struct {
        const char *name;
        emu_precision precision;
    } cases[] = {{"rp_fp64", EMU_FP64},
                 {"rp_fp32", EMU_FP32},
                 {"rp_fp16x2", EMU_FP16},
                 {"rp_bf16x2", EMU_BF16}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (uint32_t iterations = 1; iterations <= 3; iterations += 2) {
            const rp_vector_kernel *kernel = vector_named(cases[i].name);
            emu_counts counts = run_vector(*state, kernel, iterations);
            rp_work work = rp_vector_work(kernel, BLOCKS, THREADS, iterations);
            double counted = (double)counts.flops_algorithmic[cases[i].precision];
            if (counted != work.operations)
                fail_msg("%s: %.0f counted, %.0f by the formula", kernel->name, counted,
                         work.operations);
            assert_true(flops(&counts) == counted); /* and no other arithmetic */
            check_bytes(&counts, &work);
        }
}

/* Integer instructions also run the loop: two launches differ by the work of the iterations between
 * them and by the loop's own add and compare. */
static void test_integers(void **state) {
    const rp_vector_kernel *kernel = vector_named("rp_int32");
    emu_counts one = run_vector(*state, kernel, 1), four = run_vector(*state, kernel, 4);
    rp_work work = rp_vector_work(kernel, BLOCKS, THREADS, 3);
    double loop = 2.0 * 3 * BLOCKS * THREADS;

    assert_true((double)(four.integer_insts - one.integer_insts) == work.operations + loop);
    assert_true(flops(&four) == 0);
    work = rp_vector_work(kernel, BLOCKS, THREADS, 4);
    check_bytes(&four, &work);
}

/* ---- Tensor ---------------------------------------------------------------------------------- */

/* The emulated machine's name for what KERNEL multiplies. */
static emu_precision tensor_precision(const rp_tensor_kernel *kernel) {
    switch (kernel->precision) {
    case RP_FP64:
        return EMU_FP64;
    case RP_TF32:
        return EMU_TF32;
    case RP_BF16:
        return EMU_BF16;
    case RP_FP8:
        return EMU_FP8;
    case RP_INT8:
        return EMU_INT8;
    default:
        return *kernel->accumulate ? EMU_FP16_ACC16 : EMU_FP16;
    }
}

/* False: the emulated machine does not have the instruction. */
static bool run_tensor(bench *b, const rp_tensor_kernel *kernel, emu_module *module,
                       uint32_t iterations) {
    const size_t word = kernel->number == RP_NUMBER_FP64 ? 8 : 4;
    size_t bytes;
    void *made = rp_tensor_input(kernel, &bytes), *input = allocate(b, bytes, 0);
    char *output = allocate(b, BLOCKS * THREADS * word, 0xee);
    uint64_t *spans = new_spans(b), expected[32];
    rp_work work = rp_tensor_work(kernel, BLOCKS, THREADS, iterations);
    const void *parameters[] = {&input, &output, &spans, &iterations};
    emu_launch l = {.grid = {BLOCKS, 1, 1}, .block = {THREADS, 1, 1}, .parameters = parameters};
    emu_counts counts;
    emu_fault fault = {0};
    rp_error error;

    assert_non_null(made);
    memcpy(input, made, bytes);
    free(made);
    if (emu_module_get_kernel(module, kernel->name, &l.kernel, &fault))
        fail_msg("%s: %s", kernel->name, fault.message);
    emu_status status = emu_launch_run(b->device, &l, &counts, &fault);
    if (status != EMU_OK && status != EMU_BAD_PTX)
        fail_msg("%s: %s", kernel->name, fault.message);
    if (status == EMU_OK) {
        assert_int_equal(rp_tensor_expect(kernel, iterations, expected, &error), RP_OK);
        for (int thread = 0; thread < BLOCKS * THREADS; thread++)
            if (memcmp(output + (size_t)thread * word, &expected[thread % 32], word))
                fail_msg("%s: thread %d has a wrong result", kernel->name, thread);
        double counted = (double)counts.tensor_ops[tensor_precision(kernel)];
        if (counted != work.operations)
            fail_msg("%s: %.0f counted, %.0f by the formula", kernel->name, counted,
                     work.operations);
        check_bytes(&counts, &work);
        check_spans(b, spans);
    } else {
        release(b, spans);
    }
    release(b, input);
    release(b, output);
    return status == EMU_OK;
}

/* From the PTX of each generation, the kernels that it has. */
static void test_tensor(void **state) {
    static const int generations[] = {75, 80, 90, 120};
    bench *b = *state;
    int ran = 0;

    for (size_t g = 0; g < sizeof generations / sizeof *generations; g++) {
        char *text = ptx_of(RP_IMAGE_MMA, generations[g]);
        const char *texts[] = {text};
        size_t length = strlen(text);
        emu_module *module;
        emu_fault fault = {0};

        if (emu_module_load(b->device, texts, &length, 1, &module, &fault))
            fail_msg("%s", fault.message);
        for (size_t i = 0; i < rp_tensor_kernel_count; i++) {
            const rp_tensor_kernel *kernel = &rp_tensor_kernels[i];
            const char *why;
            if (kernel->wgmma || !rp_tensor_kernel_exists(kernel, generations[g], &why))
                continue;
            for (uint32_t iterations = 1; iterations <= 2; iterations++)
                ran += run_tensor(b, kernel, module, iterations);
        }
        emu_module_unload(module);
        free(text);
    }
    if (!ran)
        skip(); /* an emulated machine without matrix instructions */
}

/* ---- Streams --------------------------------------------------------------------------------- */

enum { TILES = 10 };

static void fill_doubles(bench *b, double *array, double first, uint32_t period, uint64_t n) {
    const void *parameters[] = {&array, &first, &period, &n};
    launch(b, RP_IMAGE_MEMORY, "rp_fill_doubles", 3, 64, parameters);
    for (uint64_t i = 0; i < n; i++)
        assert_true(array[i] == first + (double)(i % period));
}

static void check_doubles(bench *b, double *array, double s, double p, double q, uint64_t n) {
    uint64_t *wrong = allocate(b, 8, 0);
    const void *parameters[] = {&array, &s, &p, &q, &n, &wrong};

    launch(b, RP_IMAGE_MEMORY, "rp_check_doubles", 3, 64, parameters);
    assert_int_equal(*wrong, 0);
    array[n / 2] += 1; /* and it does find what is wrong */
    launch(b, RP_IMAGE_MEMORY, "rp_check_doubles", 3, 64, parameters);
    assert_int_equal(*wrong, 1);
    release(b, wrong);
}

static void stream_case(bench *b, rp_pattern pattern, int unroll) {
    static const double results[RP_PATTERNS][3] = {[RP_PATTERN_WRITE] = {RP_STREAM_VALUE, 0, 0},
                                                   [RP_PATTERN_COPY] = {0, 1, 0},
                                                   [RP_PATTERN_SCALE] = {0, RP_STREAM_SCALAR, 0},
                                                   [RP_PATTERN_ADD] = {0, 1, 1},
                                                   [RP_PATTERN_TRIAD] = {0, 1, RP_STREAM_SCALAR}};
    const uint64_t bytes = (uint64_t)TILES * THREADS * (unsigned)unroll * 16, n = bytes / 8;
    double *a = allocate(b, bytes, 0xee), *x = allocate(b, bytes, 0), *y = allocate(b, bytes, 0);
    double scalar = pattern == RP_PATTERN_WRITE ? RP_STREAM_VALUE : RP_STREAM_SCALAR;
    uint64_t tiles = TILES, *spans = new_spans(b);
    rp_work work = rp_stream_work(pattern, bytes, BLOCKS);
    char name[64];

    fill_doubles(b, x, 1, 16, n);
    fill_doubles(b, y, 2, 8, n);
    snprintf(name, sizeof name, "rp_%s_16_%d", rp_pattern_name(pattern), unroll);
    const void *parameters[] = {&a, &x, &y, &scalar, &spans, &tiles};
    emu_counts counts = launch(b, RP_IMAGE_MEMORY, name, BLOCKS, THREADS, parameters);
    check_bytes(&counts, &work);
    assert_true(flops(&counts) == work.operations);
    check_doubles(b, a, results[pattern][0], results[pattern][1], results[pattern][2], n);
    check_spans(b, spans);
    release(b, a);
    release(b, x);
    release(b, y);
}

static void test_streams(void **state) {
    for (int unroll = 2; unroll <= 8; unroll *= 2)
        for (int pattern = RP_PATTERN_WRITE; pattern <= RP_PATTERN_TRIAD; pattern++)
            stream_case(*state, (rp_pattern)pattern, unroll);
}

static void test_read(void **state) {
    bench *b = *state;
    for (int unroll = 2; unroll <= 8; unroll *= 2) {
        const uint64_t bytes = (uint64_t)TILES * THREADS * (unsigned)unroll * 16, n = bytes / 4;
        uint32_t *a = allocate(b, bytes, 0), *sum = allocate(b, 4, 0);
        uint64_t tiles = TILES, *spans = new_spans(b);
        rp_work work = rp_stream_work(RP_PATTERN_READ, bytes, BLOCKS);
        char name[64];
        const void *fill[] = {&a, &n};

        launch(b, RP_IMAGE_MEMORY, "rp_fill_words", 3, 64, fill);
        snprintf(name, sizeof name, "rp_read_16_%d", unroll);
        const void *parameters[] = {&a, &sum, &spans, &tiles};
        emu_counts counts = launch(b, RP_IMAGE_MEMORY, name, BLOCKS, THREADS, parameters);
        check_bytes(&counts, &work);
        assert_int_equal(*sum, rp_words_sum(n));
        check_spans(b, spans);
        release(b, a);
        release(b, sum);
    }
}

/* The block's own sums add up doubles as well: one addition for each shuffle and each warp. */
static void test_dot(void **state) {
    bench *b = *state;
    const uint64_t bytes = (uint64_t)TILES * THREADS * 4 * 16, n = bytes / 8;
    double *x = allocate(b, bytes, 0), *y = allocate(b, bytes, 0), *sum = allocate(b, 8, 0);
    uint64_t tiles = TILES, *spans = new_spans(b);
    rp_work work = rp_stream_work(RP_PATTERN_DOT, bytes, BLOCKS);
    double adds = (double)BLOCKS * (THREADS * 5 + THREADS / 32 - 1);

    fill_doubles(b, x, 1, 16, n);
    fill_doubles(b, y, 2, 8, n);
    const void *parameters[] = {&x, &y, &sum, &spans, &tiles};
    emu_counts counts = launch(b, RP_IMAGE_MEMORY, "rp_dot_16_4", BLOCKS, THREADS, parameters);
    check_bytes(&counts, &work);
    assert_true((double)counts.fp[EMU_FP64][EMU_OP_FMA] * 2 == work.operations);
    assert_true((double)counts.fp[EMU_FP64][EMU_OP_ADD] == adds);
    assert_true(*sum == rp_dot_sum(n));
    check_spans(b, spans);
    release(b, x);
    release(b, y);
    release(b, sum);
}

/* ---- L2, L1, shared, latency ----------------------------------------------------------------- */

static uint32_t *words(bench *b, uint64_t bytes) {
    uint32_t *a = allocate(b, bytes, 0);
    for (uint64_t i = 0; i < bytes / 4; i++)
        a[i] = (uint32_t)i * RP_WORD_K + RP_WORD_C;
    return a;
}

static void test_l2(void **state) {
    bench *b = *state;
    uint32_t tiles = 7, passes = 3;
    const uint64_t bytes = (uint64_t)tiles * THREADS * 4 * 16;
    uint32_t *a = words(b, bytes), *sum = allocate(b, 4, 0);
    uint64_t *spans = new_spans(b);
    rp_work work = rp_l2_work(bytes, passes, BLOCKS);
    const void *parameters[] = {&a, &sum, &spans, &tiles, &passes};

    emu_counts counts = launch(b, RP_IMAGE_MEMORY, "rp_l2_read", BLOCKS, THREADS, parameters);
    check_bytes(&counts, &work);
    assert_int_equal(counts.l1_hit_sectors, 0);
    assert_int_equal(*sum, rp_words_sum(bytes / 4) * passes);
    check_spans(b, spans);
    release(b, a);
    release(b, sum);
}

/* Every warp sums the whole array once in four iterations. */
static void onchip_case(bench *b, const char *name, bool shared) {
    uint32_t iterations = 8;
    uint32_t *a = words(b, RP_L1_BYTES), *sum = allocate(b, 4, 0);
    uint64_t *spans = new_spans(b);
    rp_work work = shared ? rp_shared_work(BLOCKS, THREADS, iterations)
                          : rp_l1_work(BLOCKS, THREADS, iterations);
    const void *parameters[] = {&a, &sum, &spans, &iterations};
    emu_counts counts = launch(b, RP_IMAGE_MEMORY, name, BLOCKS, THREADS, parameters);
    uint64_t warps = BLOCKS * THREADS / 32;

    if (shared) {
        /* the first thread of a block also reads the sums of the other warps */
        double sums = 4.0 * BLOCKS * (THREADS / 32 - 1);
        assert_true((double)counts.load_bytes[EMU_SHARED] == work.load_bytes + sums);
        assert_int_equal(counts.shared_bank_conflicts, 0);
    } else {
        check_bytes(&counts, &work);
        assert_true(counts.l1_hit_sectors >= counts.l1_miss_sectors);
    }
    assert_int_equal(*sum, rp_words_sum(RP_L1_BYTES / 4) * (uint32_t)(warps * iterations / 4));
    check_spans(b, spans);
    release(b, a);
    release(b, sum);
}

static void test_l1(void **state) {
    onchip_case(*state, "rp_l1_read", false);
}

static void test_shared(void **state) {
    onchip_case(*state, "rp_shared_read", true);
}

static void test_chase(void **state) {
    bench *b = *state;
    uint64_t *ring = allocate(b, 8 * 32, 0), *out = allocate(b, 16, 0);
    uint32_t steps = 48;

    for (int i = 0; i < 32; i++)
        ring[i] = (uintptr_t)&ring[(i + 5) % 32];
    const void *parameters[] = {&ring, &out, &steps};
    static const char *const names[] = {"rp_chase_cached", "rp_chase_uncached"};
    for (int i = 0; i < 2; i++) {
        emu_counts counts = launch(b, RP_IMAGE_MEMORY, names[i], 1, 1, parameters);
        assert_int_equal(counts.load_requests[EMU_GLOBAL], steps);
        assert_true(out[0] == (uintptr_t)&ring[48 * 5 % 32]);
        assert_true(out[1] > 0);
    }
    uint64_t first = 3, at = first;
    const void *shared[] = {&first, &out, &steps};
    launch(b, RP_IMAGE_MEMORY, "rp_chase_shared", 1, 1, shared);
    for (uint32_t i = 0; i < steps; i++)
        at = (at * 37 + 1) % 1024;
    assert_int_equal(out[0], at);
    release(b, ring);
    release(b, out);
}

/* ---- Sweep ----------------------------------------------------------------------------------- */

static void test_sweep(void **state) {
    bench *b = *state;
    const uint64_t bytes = (uint64_t)TILES * THREADS * 64, n = bytes / 4;
    float *a = allocate(b, bytes, 0);
    const void *fill[] = {&a, &n};

    launch(b, RP_IMAGE_SWEEP, "rp_fill_floats", 3, 64, fill);
    for (uint64_t i = 0; i < n; i++)
        assert_true(a[i] == rp_sweep_value(i));
    for (int depth = 1; depth <= 256; depth *= 4) {
        uint32_t *sum = allocate(b, 4, 0);
        uint64_t tiles = TILES, *spans = new_spans(b);
        rp_work work = rp_sweep_work(depth, bytes, BLOCKS);
        const float *c = rp_sweep_coefficients;
        const void *parameters[] = {&a, &sum, &spans, &tiles, &c[0], &c[1], &c[2], &c[3]};
        char name[32];

        snprintf(name, sizeof name, "rp_sweep_%d", depth);
        emu_counts counts = launch(b, RP_IMAGE_SWEEP, name, BLOCKS, THREADS, parameters);
        check_bytes(&counts, &work);
        assert_true(flops(&counts) == work.operations);
        assert_int_equal(*sum, rp_sweep_sum(depth, n));
        check_spans(b, spans);
        release(b, sum);
    }
    release(b, a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vector), cmocka_unit_test(test_integers),
        cmocka_unit_test(test_tensor), cmocka_unit_test(test_streams),
        cmocka_unit_test(test_read),   cmocka_unit_test(test_dot),
        cmocka_unit_test(test_l2),     cmocka_unit_test(test_l1),
        cmocka_unit_test(test_shared), cmocka_unit_test(test_chase),
        cmocka_unit_test(test_sweep),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
