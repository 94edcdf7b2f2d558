/* SPDX-License-Identifier: Apache-2.0
 *
 * Operands and expected results, held against independent arithmetic: encodings against known bit
 * patterns, results of long runs against plain repetition, and that no operand is zero, denormal or
 * overflows. Tensor fragments are put together again by the layouts of the PTX manual and
 * multiplied.
 */
#include "kernels/operands.h"
#include "kernels/paths.h"
#include "kernels/shapes.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void test_encodings(void **state) {
    (void)state;
    assert_int_equal(rp_encode(RP_NUMBER_FP16, 1), 0x3c00);
    assert_int_equal(rp_encode(RP_NUMBER_FP16, -2.5), 0xc100);
    assert_int_equal(rp_encode(RP_NUMBER_BF16, 1), 0x3f80);
    assert_int_equal(rp_encode(RP_NUMBER_BF16, -63), 0xc27c);
    assert_int_equal(rp_encode(RP_NUMBER_FP8, 7), 0x4e);
    assert_int_equal(rp_encode(RP_NUMBER_FP8, -4), 0xc8);
    assert_int_equal(rp_encode(RP_NUMBER_FP32, 1.5), 0x3fc00000);
    assert_int_equal(rp_encode(RP_NUMBER_FP64, -1), UINT64_C(0xbff0000000000000));
    assert_int_equal(rp_encode(RP_NUMBER_INT8, -1), 0xff);
    for (int n = RP_NUMBER_FP64; n <= RP_NUMBER_INT32; n++)
        for (int v = -7; v <= 7; v++)
            assert_true(rp_decode((rp_number)n, rp_encode((rp_number)n, v)) == v);
}

/* Every exponent bit pattern of values after a run: normal, and within 0.5 .. 4. */
static void test_vector_range(void **state) {
    (void)state;
    for (size_t i = 0; i < rp_vector_kernel_count; i++) {
        const rp_vector_kernel *kernel = &rp_vector_kernels[i];
        size_t bytes;
        unsigned char *input = rp_vector_input(kernel, &bytes);
        assert_non_null(input);
        for (size_t at = 4 * (size_t)kernel->word_bytes; at < bytes;
             at += (size_t)(kernel->word_bytes / kernel->lanes)) {
            uint64_t bits = 0;
            memcpy(&bits, input + at, (size_t)(kernel->word_bytes / kernel->lanes));
            double value = rp_decode(kernel->number, bits);
            if (kernel->precision != RP_INT32)
                assert_true(value >= 1 && value < 2);
            else
                assert_true(bits != 0);
        }
        free(input);
    }
}

/* FP32 and INT32 by plain repetition over more iterations than the search for cycles needs. */
static void test_vector_expect(void **state) {
    (void)state;
    for (size_t i = 0; i < rp_vector_kernel_count; i++) {
        const rp_vector_kernel *kernel = &rp_vector_kernels[i];
        size_t bytes;
        uint64_t expected[32];
        const uint64_t iterations = 201;
        if (kernel->lanes != 1 || kernel->word_bytes != 4)
            continue;
        uint32_t *in = rp_vector_input(kernel, &bytes);
        assert_non_null(in);
        rp_vector_expect(kernel, iterations, expected);
        for (int lane = 0; lane < 32; lane++) {
            uint32_t all = 0;
            for (int chain = 0; chain < RP_CHAINS; chain++) {
                uint32_t x = in[4 + 32 * chain + lane];
                float f, c[4];
                memcpy(&f, &x, 4);
                memcpy(c, in, 16);
                for (uint64_t s = 0; s < iterations * RP_STEPS / 2; s++) {
                    f = fmaf(fmaf(f, c[0], c[1]), c[2], c[3]);
                    x = (x * in[0] + in[1]) * in[2] + in[3];
                }
                if (kernel->precision == RP_FP32)
                    memcpy(&x, &f, 4);
                all ^= x;
            }
            assert_int_equal(expected[lane], all);
        }
        free(in);
    }
}

/* Element (row, k) of A, or (k, column) of B, out of an m16n8 fragment list, by the PTX manual's
 * text: groupID = lane >> 2, threadID_in_group = lane % 4. */
static void take_apart(const rp_tensor_kernel *kernel, const uint32_t *words, bool b, double *out) {
    const int each = kernel->number == RP_NUMBER_TF32                                      ? 1
                     : kernel->number == RP_NUMBER_FP8 || kernel->number == RP_NUMBER_INT8 ? 4
                                                                                           : 2;
    const int registers = b ? kernel->b_words : kernel->a_words;
    for (int reg = 0; reg < registers; reg++)
        for (int lane = 0; lane < 32; lane++)
            for (int j = 0; j < each; j++) {
                bool below = !b && (reg == 1 || reg == 3);
                bool later = b ? reg == 1 : reg >= 2;
                int i = (lane >> 2) + (below ? 8 : 0);
                int k = lane % 4 * each + j + (later ? 4 * each : 0);
                uint64_t bits = words[reg * 32 + lane];
                bits =
                    each == 1 ? bits : bits >> (j * 32 / each) & ((UINT64_C(1) << 32 / each) - 1);
                out[i * kernel->k + k] = rp_decode(kernel->number, bits);
            }
}

static void test_fragments(void **state) {
    (void)state;
    int seen = 0;
    for (size_t i = 0; i < rp_tensor_kernel_count; i++) {
        const rp_tensor_kernel *kernel = &rp_tensor_kernels[i];
        size_t bytes;
        uint64_t expected[32];
        rp_error error;
        double a[2][16 * 32], b[2][8 * 32], minus[8 * 32];

        if (kernel->wgmma || kernel->a_words != 4 || kernel->sum == RP_NUMBER_FP16)
            continue;
        seen++;
        uint32_t *words = rp_tensor_input(kernel, &bytes);
        assert_non_null(words);
        for (int set = 0; set < 2; set++) {
            const uint32_t *from = words + set * 32 * 8;
            take_apart(kernel, from, false, a[set]);
            take_apart(kernel, from + 32 * 4, true, b[set]);
            take_apart(kernel, from + 32 * 6, true, minus);
            for (int j = 0; j < 8 * kernel->k; j++) {
                assert_true(b[set][j] != 0 && minus[j] == -b[set][j]);
                assert_true(a[set][j] != 0);
            }
        }
        assert_int_equal(rp_tensor_expect(kernel, 1, expected, &error), RP_OK);
        for (int lane = 0; lane < 32; lane++) {
            uint64_t all = 0;
            for (int chain = 0; chain < RP_MMA_CHAINS; chain++)
                for (int c = 0; c < 4; c++) {
                    int row = (lane >> 2) + (c >= 2 ? 8 : 0), column = lane % 4 * 2 + (c & 1);
                    double sum = rp_decode(kernel->sum, words[512 + chain]);
                    for (int k = 0; k < kernel->k; k++)
                        sum += a[chain & 1][row * kernel->k + k] *
                               b[chain & 1][column * kernel->k + k];
                    assert_true(fabs(sum) < 1 << 22); /* exact in FP32 */
                    all ^= rp_encode(kernel->sum, sum);
                }
            assert_int_equal(expected[lane], all);
        }
        free(words);
    }
    assert_int_equal(seen, 5);
}

static void test_sums(void **state) {
    (void)state;
    uint32_t sum = 0;
    double dot = 0;
    for (uint64_t n = 0; n < 1000; n++) {
        assert_int_equal(rp_words_sum(n), sum);
        assert_true(rp_dot_sum(n) == dot);
        sum += (uint32_t)n * RP_WORD_K + RP_WORD_C;
        dot += (1.0 + (double)(n % 16)) * (2.0 + (double)(n % 8));
    }
}

static void test_existence(void **state) {
    (void)state;
    const char *why;
    for (size_t i = 0; i < rp_tensor_kernel_count; i++) {
        const rp_tensor_kernel *kernel = &rp_tensor_kernels[i];
        for (int cc = 70; cc <= 121; cc++)
            assert_true(rp_tensor_kernel_exists(kernel, cc, &why) ? !*why : *why != 0);
        assert_int_equal(rp_tensor_kernel_exists(kernel, 90, &why),
                         kernel->wgmma || (kernel->precision != RP_FP8 &&
                                           strcmp(kernel->name, "rp_mma_fp16_m16n8k8") &&
                                           strcmp(kernel->name, "rp_mma_fp16_acc16_m16n8k8") &&
                                           strcmp(kernel->name, "rp_mma_int8_m8n8k16")));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_encodings),     cmocka_unit_test(test_vector_range),
        cmocka_unit_test(test_vector_expect), cmocka_unit_test(test_fragments),
        cmocka_unit_test(test_sums),          cmocka_unit_test(test_existence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
