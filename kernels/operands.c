/* SPDX-License-Identifier: Apache-2.0
 *
 * Operands and expected results. Layouts of tensor fragments are those of the PTX manual for
 * mma.sync (A by row, B by column) and for wgmma's accumulators.
 */
#include "kernels/operands.h"

#include "kernels/shapes.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Numbers --------------------------------------------------------------------------------- */

static const struct {
    int bits, mantissa, bias;
} formats[] = {
    [RP_NUMBER_FP64] = {64, 52, 1023}, [RP_NUMBER_FP32] = {32, 23, 127},
    [RP_NUMBER_TF32] = {32, 23, 127},  [RP_NUMBER_BF16] = {16, 7, 127},
    [RP_NUMBER_FP16] = {16, 10, 15},   [RP_NUMBER_FP8] = {8, 3, 7},
    [RP_NUMBER_INT8] = {8, 0, 0},      [RP_NUMBER_INT32] = {32, 0, 0},
};

static bool is_integer(rp_number number) {
    return number == RP_NUMBER_INT8 || number == RP_NUMBER_INT32;
}

uint64_t rp_encode(rp_number number, double value) {
    const int bits = formats[number].bits, mantissa = formats[number].mantissa;
    int exponent;
    double fraction;

    if (is_integer(number))
        return (uint64_t)(int64_t)value & (bits == 8 ? 0xff : 0xffffffff);
    if (value == 0)
        return 0;
    fraction = frexp(fabs(value), &exponent); /* 0.5 <= fraction < 1 */
    uint64_t significand = (uint64_t)ldexp(fraction, mantissa + 1);
    return (uint64_t)(value < 0) << (bits - 1) |
           (uint64_t)(exponent - 1 + formats[number].bias) << mantissa |
           (significand & ((UINT64_C(1) << mantissa) - 1));
}

double rp_decode(rp_number number, uint64_t bits) {
    const int width = formats[number].bits, mantissa = formats[number].mantissa;
    uint64_t magnitude = bits & ((UINT64_C(1) << (width - 1)) - 1);
    double value;

    if (number == RP_NUMBER_INT8)
        return (int8_t)bits;
    if (number == RP_NUMBER_INT32)
        return (int32_t)bits;
    if (!magnitude)
        return 0;
    value = ldexp((double)((magnitude & ((UINT64_C(1) << mantissa) - 1)) | UINT64_C(1) << mantissa),
                  (int)(magnitude >> mantissa) - formats[number].bias - mantissa);
    return bits >> (width - 1) & 1 ? -value : value;
}

/* To nearest, ties to even, at the precision of NUMBER; for values in its normal range. */
static double round_to(rp_number number, double value) {
    int exponent, digits = formats[number].mantissa + 1;
    double fraction = frexp(value, &exponent);
    return ldexp(nearbyint(ldexp(fraction, digits)), exponent - digits);
}

/* A small generator of our own: the same operands on every machine. */
static uint32_t next_random(uint32_t *state) {
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

/* ---- Vector ---------------------------------------------------------------------------------- */

/* x = a x + b, then x = c x + d, go towards 1.5 and 1.36; |a c| = 0.93, so slowly. */
static const double coefficients[4] = {-0.829, 2.6, -1.123, 3.0233};
static const uint32_t integers[4] = {1664525u, 1013904223u, 22695477u, 12345u};

static uint64_t coefficient(const rp_vector_kernel *kernel, int i) {
    uint64_t one = is_integer(kernel->number)
                       ? integers[i]
                       : rp_encode(kernel->number, round_to(kernel->number, coefficients[i]));
    return kernel->lanes == 2 ? one | one << (4 * kernel->word_bytes) : one;
}

/* Starting value of (chain, lane), half H of it: 1 to 2, any mantissa. */
static uint64_t start_of(const rp_vector_kernel *kernel, int chain, int lane, int h) {
    uint32_t state = (uint32_t)(chain * 64 + lane * 2 + h) * 2654435761u;
    uint32_t random = next_random(&state) & 0xffff;
    if (is_integer(kernel->number))
        return random * 65537u + 1;
    return rp_encode(kernel->number, round_to(kernel->number, 1 + random / 65536.0 * 0.99));
}

static uint64_t start_word(const rp_vector_kernel *kernel, int chain, int lane) {
    uint64_t word = start_of(kernel, chain, lane, 0);
    if (kernel->lanes == 2)
        word |= start_of(kernel, chain, lane, 1) << (4 * kernel->word_bytes);
    return word;
}

static void put(void *words, size_t i, int word_bytes, uint64_t word) {
    memcpy((char *)words + i * (size_t)word_bytes, &word, (size_t)word_bytes);
}

void *rp_vector_input(const rp_vector_kernel *kernel, size_t *bytes) {
    size_t n = 4 + 32 * RP_CHAINS;
    void *words = malloc(n * (size_t)kernel->word_bytes);

    *bytes = n * (size_t)kernel->word_bytes;
    if (!words)
        return NULL;
    for (int i = 0; i < 4; i++)
        put(words, (size_t)i, kernel->word_bytes, coefficient(kernel, i));
    for (int chain = 0; chain < RP_CHAINS; chain++)
        for (int lane = 0; lane < 32; lane++)
            put(words, (size_t)(4 + 32 * chain + lane), kernel->word_bytes,
                start_word(kernel, chain, lane));
    return words;
}

/* One multiply-add in NUMBER. Products of halves are exact in a double, and so are their sums here,
 * so that rounding once is rounding as the instruction does. */
static double multiply_add(rp_number number, double x, double m, double a) {
    switch (number) {
    case RP_NUMBER_FP64:
        return fma(x, m, a);
    case RP_NUMBER_FP32:
        return (double)fmaf((float)x, (float)m, (float)a);
    default:
        return round_to(number, x * m + a);
    }
}

static double iterate(const rp_vector_kernel *kernel, const double c[4], double x) {
    for (int step = 0; step < RP_STEPS; step += 2) {
        x = multiply_add(kernel->number, x, c[0], c[1]);
        x = multiply_add(kernel->number, x, c[2], c[3]);
    }
    return x;
}

/* N iterations. The values fall into a cycle soon: it is looked for (Brent), and then only what is
 * left of the last turn is done. */
static double after(const rp_vector_kernel *kernel, const double c[4], double x, uint64_t n) {
    double seen = x;
    uint64_t length = 0, power = 1;

    for (uint64_t i = 0; i < n; i++) {
        x = iterate(kernel, c, x);
        length++;
        if (x == seen) {
            n = i + 1 + (n - i - 1) % length;
            length = 0;
            power = UINT64_MAX;
            seen = NAN;
        } else if (length == power) {
            seen = x;
            power *= 2;
            length = 0;
        }
    }
    return x;
}

/* The affine map of N pairs of steps, by repeated squaring: x -> scale x + shift mod 2^32. */
static uint32_t integer_after(uint32_t x, uint64_t pairs) {
    uint32_t scale = integers[2] * integers[0], shift = integers[2] * integers[1] + integers[3];
    for (; pairs; pairs >>= 1) {
        if (pairs & 1)
            x = scale * x + shift;
        shift = scale * shift + shift;
        scale *= scale;
    }
    return x;
}

static uint64_t value_after(const rp_vector_kernel *kernel, uint64_t bits, uint64_t iterations) {
    double c[4];
    if (is_integer(kernel->number))
        return integer_after((uint32_t)bits, iterations * (RP_STEPS / 2));
    for (int i = 0; i < 4; i++)
        c[i] = round_to(kernel->number, coefficients[i]);
    return rp_encode(kernel->number, after(kernel, c, rp_decode(kernel->number, bits), iterations));
}

void rp_vector_expect(const rp_vector_kernel *kernel, uint64_t iterations, uint64_t expected[32]) {
    const int half = 4 * kernel->word_bytes;
    for (int lane = 0; lane < 32; lane++) {
        expected[lane] = 0;
        for (int chain = 0; chain < RP_CHAINS; chain++)
            for (int h = 0; h < kernel->lanes; h++)
                expected[lane] ^= value_after(kernel, start_of(kernel, chain, lane, h), iterations)
                                  << (h * half);
    }
}

/* ---- Tensor ---------------------------------------------------------------------------------- */

/* Operand (SET, A or B, i, k): a number of significant_bits bits with a random sign. */
static double operand(const rp_tensor_kernel *kernel, int set, bool b, int i, int k) {
    uint32_t state = (uint32_t)(((set * 2 + b) * 512 + i) * 64 + k) * 2654435761u;
    uint32_t random = next_random(&state);
    uint32_t top = 1u << (kernel->significant_bits - 1);
    double magnitude = top + (random >> 1) % top;
    return random & 1 ? -magnitude : magnitude;
}

static double product(const rp_tensor_kernel *kernel, int set, int row, int column) {
    double sum = 0;
    for (int k = 0; k < kernel->k; k++)
        sum += operand(kernel, set, false, row, k) * operand(kernel, set, true, column, k);
    return sum;
}

/* A register of lane LANE: the values with ascending k from the low bits up. */
static uint64_t fragment(const rp_tensor_kernel *kernel, int set, bool b, int reg, int lane,
                         double sign) {
    const int bits = formats[kernel->number].bits, each = bits == 64 ? 1 : 32 / bits;
    const int group = lane >> 2, within = lane & 3;
    const int rows =
        !b && kernel->m == 16 ? 2 : 1; /* registers alternate between row and row + 8 */
    const int i = group + reg % rows * 8;
    uint64_t word = 0;

    for (int j = 0; j < each; j++) {
        int k = reg / rows * 4 * each + within * each + j;
        word |= rp_encode(kernel->number, sign * operand(kernel, set, b, i, k)) << (j * bits);
    }
    return word;
}

static void *mma_input(const rp_tensor_kernel *kernel, size_t *bytes) {
    const int word = kernel->number == RP_NUMBER_FP64 ? 8 : 4;
    const int a = kernel->a_words, b = kernel->b_words;
    size_t n = 0, all = (size_t)(2 * 32 * (a + 2 * b) + RP_MMA_CHAINS);
    void *words = malloc(all * (size_t)word);

    *bytes = all * (size_t)word;
    if (!words)
        return NULL;
    for (int set = 0; set < 2; set++)
        for (int reg = 0; reg < a + 2 * b; reg++)
            for (int lane = 0; lane < 32; lane++)
                put(words, n++, word,
                    reg < a       ? fragment(kernel, set, false, reg, lane, 1)
                    : reg < a + b ? fragment(kernel, set, true, reg - a, lane, 1)
                                  : fragment(kernel, set, true, reg - a - b, lane, -1));
    for (int chain = 0; chain < RP_MMA_CHAINS; chain++) {
        uint64_t first = rp_encode(kernel->sum, chain + 1);
        put(words, n++, word, kernel->sum == RP_NUMBER_FP16 ? first | first << 16 : first);
    }
    return words;
}

/* Rows of core matrices: 8 rows of 16 bytes, two of them along K, then the next 8 rows. */
static void put_core(const rp_tensor_kernel *kernel, int set, bool b, int rows, char *at) {
    const int size = formats[kernel->number].bits / 8;
    for (int i = 0; i < rows; i++)
        for (int k = 0; k < kernel->k; k++) {
            int byte = k * size;
            int offset = i / 8 * 256 + byte / 16 * 128 + i % 8 * 16 + byte % 16;
            uint64_t bits = rp_encode(kernel->number, operand(kernel, set, b, i, k));
            memcpy(at + offset, &bits, (size_t)size);
        }
}

static void *wgmma_input(const rp_tensor_kernel *kernel, size_t *bytes) {
    const size_t a = RP_WGMMA_M * RP_WGMMA_K_BYTES, b = RP_WGMMA_N * RP_WGMMA_K_BYTES;
    char *data = malloc(2 * (a + b));

    *bytes = 2 * (a + b);
    for (int set = 0; data && set < 2; set++) {
        put_core(kernel, set, false, RP_WGMMA_M, data + (size_t)set * (a + b));
        put_core(kernel, set, true, RP_WGMMA_N, data + (size_t)set * (a + b) + a);
    }
    return data;
}

void *rp_tensor_input(const rp_tensor_kernel *kernel, size_t *bytes) {
    return kernel->wgmma ? wgmma_input(kernel, bytes) : mma_input(kernel, bytes);
}

/* The word of accumulator register REG of LANE, which started at FIRST. */
static uint64_t sum_word(const rp_tensor_kernel *kernel, const double *products, int reg, int lane,
                         double first) {
    const int group = lane >> 2, within = lane & 3;
    uint64_t word = 0;

    if (kernel->sum == RP_NUMBER_FP16) {
        for (int j = 0; j < 2; j++)
            word |= rp_encode(kernel->sum,
                              first + products[(group + 8 * reg) * kernel->n + 2 * within + j])
                    << (16 * j);
        return word;
    }
    return rp_encode(kernel->sum,
                     first + products[(group + reg / 2 * 8) * kernel->n + 2 * within + reg % 2]);
}

static void mma_expect(const rp_tensor_kernel *kernel, double *const products[2],
                       uint64_t expected[32]) {
    for (int lane = 0; lane < 32; lane++) {
        expected[lane] = 0;
        for (int chain = 0; chain < RP_MMA_CHAINS; chain++)
            for (int reg = 0; reg < kernel->c_words; reg++)
                expected[lane] ^= sum_word(kernel, products[chain & 1], reg, lane, chain + 1);
    }
}

/* Accumulators 4j to 4j+3 of a thread: columns 8j.., rows of its warp and of the 8 below. */
static void wgmma_expect(const rp_tensor_kernel *kernel, double *const products[2],
                         uint64_t iterations, uint64_t expected[128]) {
    uint64_t turns = kernel->sum == RP_NUMBER_INT32 ? RP_WGMMA_STEPS / 2 * iterations + 1 : 1;

    for (int thread = 0; thread < 128; thread++) {
        expected[thread] = 0;
        for (int i = 0; i < 128; i++) {
            int row = thread / 32 * 16 + thread % 32 / 4 + i % 4 / 2 * 8;
            int column = i / 4 * 8 + thread % 4 * 2 + i % 2;
            int at = row * kernel->n + column;
            int64_t both = (int64_t)(products[0][at] + products[1][at]);
            if (kernel->sum == RP_NUMBER_INT32)
                expected[thread] ^= (uint32_t)(1 + (uint64_t)both * turns);
            else
                expected[thread] ^= rp_encode(kernel->sum, 1 + (double)both);
        }
    }
}

rp_code rp_tensor_expect(const rp_tensor_kernel *kernel, uint64_t iterations, uint64_t *expected,
                         rp_error *error) {
    const int cells = kernel->m * kernel->n;
    double *products[2] = {malloc((size_t)cells * sizeof(double)),
                           malloc((size_t)cells * sizeof(double))};
    rp_code code = RP_OK;

    if (!products[0] || !products[1]) {
        code = rp_fail(error, RP_INTERNAL, "no memory for the results of %s", kernel->name);
        goto out;
    }
    for (int set = 0; set < 2; set++)
        for (int i = 0; i < cells; i++)
            products[set][i] = product(kernel, set, i / kernel->n, i % kernel->n);
    if (kernel->wgmma)
        wgmma_expect(kernel, products, iterations, expected);
    else
        mma_expect(kernel, products, expected);
out:
    free(products[0]);
    free(products[1]);
    return code;
}

/* ---- Memory ---------------------------------------------------------------------------------- */

uint32_t rp_words_sum(uint64_t n) {
    /* n (n - 1) / 2 without overflow of the halving */
    uint64_t half = n % 2 ? (n - 1) / 2 * n : n / 2 * (n - 1);
    return (uint32_t)half * RP_WORD_K + (uint32_t)n * RP_WORD_C;
}

double rp_dot_sum(uint64_t n) {
    double period = 0;
    for (int i = 0; i < 16; i++)
        period += (1.0 + i) * (2.0 + i % 8);
    double sum = period * (double)(n / 16);
    for (uint64_t i = 0; i < n % 16; i++)
        sum += (1.0 + (double)i) * (2.0 + (double)(i % 8));
    return sum;
}

const float rp_sweep_coefficients[4] = {-0.829f, 2.6f, -1.123f, 3.0233f};

float rp_sweep_value(uint64_t i) {
    return 1.0f + (float)(i % RP_SWEEP_PERIOD) / RP_SWEEP_PERIOD;
}

uint32_t rp_sweep_sum(int depth, uint64_t n) {
    const float *c = rp_sweep_coefficients;
    uint32_t sum = 0;
    for (uint64_t i = 0; i < RP_SWEEP_PERIOD; i++) {
        float x = rp_sweep_value(i);
        uint32_t bits;
        for (int step = 0; step < depth; step++)
            x = step & 1 ? fmaf(x, c[2], c[3]) : fmaf(x, c[0], c[1]);
        memcpy(&bits, &x, sizeof bits);
        sum += bits;
    }
    return sum * (uint32_t)(n / RP_SWEEP_PERIOD);
}
