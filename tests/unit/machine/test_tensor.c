/* SPDX-License-Identifier: Apache-2.0
 *
 * Matrix instructions: every shape and type of mma.sync against a reference in long double (or
 * exact integers), with the fragments put together here by the formulas of the PTX ISA document;
 * ldmatrix, stmatrix, movmatrix; wmma over all layouts; what they count as; what is refused. */
#include "bench_device.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SIDE = 32, LANES = 32, TEXT = 16384 };

/* ---- element types: bits to values --------------------------------------------------------------
 */

typedef enum type { F16, BF16, TF32, E4M3, E5M2, F32, F64, S8, U8, S32 } type;

static const struct {
    const char *name;
    int bits, exponent, mantissa; /* floating point: sign, exponent, mantissa, then unused bits */
} types[] = {
    [F16] = {"f16", 16, 5, 10},  [BF16] = {"bf16", 16, 8, 7}, [TF32] = {"tf32", 32, 8, 10},
    [E4M3] = {"e4m3", 8, 4, 3},  [E5M2] = {"e5m2", 8, 5, 2},  [F32] = {"f32", 32, 8, 23},
    [F64] = {"f64", 64, 11, 52}, [S8] = {"s8", 8, 0, 0},      [U8] = {"u8", 8, 0, 0},
    [S32] = {"s32", 32, 0, 0},
};

static bool is_integer(type t) {
    return types[t].exponent == 0;
}

/* Finite values alone are asked for. */
static long double value_of(type t, uint64_t bits) {
    if (t == S8)
        return (int8_t)bits;
    if (t == U8)
        return (uint8_t)bits;
    if (t == S32)
        return (int32_t)(uint32_t)bits;
    int e = types[t].exponent, m = types[t].mantissa;
    uint64_t all = bits >> (types[t].bits - 1 - e - m), fraction = all & ((UINT64_C(1) << m) - 1);
    int biased = (int)(all >> m & ((1u << e) - 1)), bias = (1 << (e - 1)) - 1;
    long double v = biased ? ldexpl((long double)(fraction | UINT64_C(1) << m), biased - bias - m)
                           : ldexpl((long double)fraction, 1 - bias - m);
    return all >> (e + m) & 1 ? -v : v;
}

static uint64_t next_random(uint64_t *seed) {
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *seed >> 20 ^ *seed << 40;
}

/* A random element between 2^-4 and 2^4 in size, sometimes subnormal or zero. */
static uint64_t random_element(type t, uint64_t *seed) {
    uint64_t r = next_random(seed);
    int e = types[t].exponent, m = types[t].mantissa, bits = types[t].bits;
    if (is_integer(t))
        return bits == 8 ? r & 0xff : r & 0xffffffff;
    uint64_t fraction = r & ((UINT64_C(1) << m) - 1), sign = r >> 60 & 1;
    uint64_t biased = (uint64_t)((1 << (e - 1)) - 1) - 4 + (next_random(seed) >> 8 & 7);
    if ((r >> 54 & 15) == 0)
        biased = 0;
    return (((sign << e | biased) << m) | fraction) << (bits - 1 - e - m);
}

/* ---- fragments, as the ISA document words them --------------------------------------------------
 */

typedef struct position {
    int row, column;
} position;

/* g: groupID, t: threadID_in_group */
static position a_f16_k8(int g, int t, int i) {
    return (position){i < 2 ? g : g + 8, t * 2 + (i & 1)};
}
static position a_f16_k16(int g, int t, int i) {
    return (position){(0 <= i && i < 2) || (4 <= i && i < 6) ? g : g + 8,
                      i < 4 ? t * 2 + (i & 1) : t * 2 + (i & 1) + 8};
}
static position a_tf32_k4(int g, int t, int i) {
    return (position){i == 0 ? g : g + 8, t};
}
static position a_tf32_k8(int g, int t, int i) {
    return (position){i == 0 || i == 2 ? g : g + 8, i < 2 ? t : t + 4};
}
static position a_f64_m8(int g, int t, int i) {
    return (position){g + 0 * i, t};
}
static position a_f64_k16(int g, int t, int i) {
    return (position){i % 2 == 0 ? g : g + 8, i / 2 * 4 + t};
}
static position a_s8_m8(int g, int t, int i) {
    return (position){g, t * 4 + i};
}
static position a_s8_k16(int g, int t, int i) {
    return (position){i < 4 ? g : g + 8, t * 4 + (i & 3)};
}
static position a_s8_k32(int g, int t, int i) {
    return (position){(0 <= i && i < 4) || (8 <= i && i < 12) ? g : g + 8,
                      i < 8 ? t * 4 + (i & 3) : t * 4 + (i & 3) + 16};
}
static position b_f16_k8(int g, int t, int i) {
    return (position){t * 2 + i, g};
}
static position b_f16_k16(int g, int t, int i) {
    return (position){i < 2 ? t * 2 + (i & 1) : t * 2 + (i & 1) + 8, g};
}
static position b_tf32(int g, int t, int i) {
    return (position){i == 0 ? t : t + 4, g};
}
static position b_f64(int g, int t, int i) {
    return (position){t + 4 * i, g};
}
static position b_s8_k16(int g, int t, int i) {
    return (position){t * 4 + i, g};
}
static position b_s8_k32(int g, int t, int i) {
    return (position){i < 4 ? t * 4 + (i & 3) : t * 4 + (i & 3) + 16, g};
}
static position c_m8(int g, int t, int i) {
    return (position){g, t * 2 + i};
}
static position c_m16(int g, int t, int i) {
    return (position){i < 2 ? g : g + 8, t * 2 + (i & 1)};
}

typedef position (*layout)(int g, int t, int i);

typedef struct product {
    int m, n, k;
    type a, b, c; /* c: of D too */
    layout at_a, at_b, at_c;
    emu_precision precision;
    const char *extra; /* modifiers between shape and types */
} product;

static const product products[] = {
    {16, 8, 8, F16, F16, F32, a_f16_k8, b_f16_k8, c_m16, EMU_FP16, ""},
    {16, 8, 8, F16, F16, F16, a_f16_k8, b_f16_k8, c_m16, EMU_FP16_ACC16, ""},
    {16, 8, 16, F16, F16, F32, a_f16_k16, b_f16_k16, c_m16, EMU_FP16, ""},
    {16, 8, 16, F16, F16, F16, a_f16_k16, b_f16_k16, c_m16, EMU_FP16_ACC16, ""},
    {16, 8, 8, BF16, BF16, F32, a_f16_k8, b_f16_k8, c_m16, EMU_BF16, ""},
    {16, 8, 16, BF16, BF16, F32, a_f16_k16, b_f16_k16, c_m16, EMU_BF16, ""},
    {16, 8, 4, TF32, TF32, F32, a_tf32_k4, b_tf32, c_m16, EMU_TF32, ""},
    {16, 8, 8, TF32, TF32, F32, a_tf32_k8, b_tf32, c_m16, EMU_TF32, ""},
    {8, 8, 4, F64, F64, F64, a_f64_m8, b_f64, c_m8, EMU_FP64, ""},
    {16, 8, 4, F64, F64, F64, a_f64_k16, b_f64, c_m16, EMU_FP64, ""},
    {16, 8, 8, F64, F64, F64, a_f64_k16, b_f64, c_m16, EMU_FP64, ""},
    {16, 8, 16, F64, F64, F64, a_f64_k16, b_f64, c_m16, EMU_FP64, ""},
    {8, 8, 16, S8, S8, S32, a_s8_m8, b_s8_k16, c_m8, EMU_INT8, ""},
    {8, 8, 16, U8, S8, S32, a_s8_m8, b_s8_k16, c_m8, EMU_INT8, ".satfinite"},
    {16, 8, 16, S8, U8, S32, a_s8_k16, b_s8_k16, c_m16, EMU_INT8, ""},
    {16, 8, 16, U8, U8, S32, a_s8_k16, b_s8_k16, c_m16, EMU_INT8, ".satfinite"},
    {16, 8, 32, S8, S8, S32, a_s8_k32, b_s8_k32, c_m16, EMU_INT8, ".satfinite"},
    {16, 8, 32, U8, S8, S32, a_s8_k32, b_s8_k32, c_m16, EMU_INT8, ""},
    {16, 8, 32, E4M3, E4M3, F32, a_s8_k32, b_s8_k32, c_m16, EMU_FP8, ""},
    {16, 8, 32, E5M2, E4M3, F32, a_s8_k32, b_s8_k32, c_m16, EMU_FP8, ""},
    {16, 8, 32, E5M2, E5M2, F16, a_s8_k32, b_s8_k32, c_m16, EMU_FP8, ""},
    {16, 8, 16, E4M3, E5M2, F32, a_s8_k16, b_s8_k16, c_m16, EMU_FP8, ""},
};

static int packing(type t) {
    return t == F64 ? 1 : 32 / types[t].bits;
}

static int register_count(type t, int elements) {
    return elements / LANES / packing(t);
}

typedef uint64_t matrix[SIDE][SIDE];

static void fill(matrix x, type t, int rows, int columns, uint64_t *seed) {
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < columns; c++)
            x[r][c] = random_element(t, seed);
}

/* Between a matrix and the registers of all lanes, register by register, 64 bits each. */
static void to_registers(matrix x, type t, layout place, int elements, uint64_t *registers) {
    for (int l = 0; l < LANES; l++)
        for (int i = 0; i < elements / LANES; i++) {
            position p = place(l >> 2, l % 4, i);
            uint64_t *r = &registers[i / packing(t) * LANES + l];
            if (i % packing(t) == 0)
                *r = 0;
            *r |= x[p.row][p.column] << (types[t].bits * (i % packing(t)));
        }
}

static void from_registers(matrix x, type t, layout place, int elements,
                           const uint64_t *registers) {
    uint64_t ones = types[t].bits == 64 ? UINT64_MAX : (UINT64_C(1) << types[t].bits) - 1;
    for (int l = 0; l < LANES; l++)
        for (int i = 0; i < elements / LANES; i++) {
            position p = place(l >> 2, l % 4, i);
            x[p.row][p.column] =
                registers[i / packing(t) * LANES + l] >> (types[t].bits * (i % packing(t))) & ones;
        }
}

/* Whether D is A B + C: integers exactly, else within the error of a sum in any order. */
static void check_product(const char *name, const product *p, type type_d, bool saturates, matrix a,
                          matrix b, matrix c, matrix d) {
    for (int i = 0; i < p->m; i++)
        for (int j = 0; j < p->n; j++) {
            long double sum = value_of(p->c, c[i][j]), size = fabsl(sum);
            for (int x = 0; x < p->k; x++) {
                long double term = value_of(p->a, a[i][x]) * value_of(p->b, b[x][j]);
                sum += term;
                size += fabsl(term);
            }
            long double got = value_of(type_d, d[i][j]), most = 0;
            if (is_integer(type_d)) {
                if (saturates)
                    sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
                else
                    sum = (int32_t)(uint32_t)(int64_t)sum;
            } else {
                long double unit = type_d == F64 ? 0x1p-53L : 0x1p-24L;
                most = (p->k + 1) * unit * size;
                if (type_d == F16)
                    most += 0x1p-11L * fabsl(sum) + 0x1p-25L;
            }
            if (!(fabsl(got - sum) <= most))
                fail_msg("%s: element %d, %d is %Lg, not %Lg", name, i, j, got, sum);
        }
}

/* ---- mma.sync -----------------------------------------------------------------------------------
 */

typedef struct text {
    char at[TEXT];
    size_t length;
} text;

static void put(text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void put(text *t, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    t->length += (size_t)vsnprintf(t->at + t->length, TEXT - t->length, format, arguments);
    va_end(arguments);
    assert_true(t->length < TEXT);
}

/* "{%a0, %a1}" */
static void put_list(text *t, const char *prefix, int n) {
    for (int i = 0; i < n; i++)
        put(t, "%s%%%s%d", i ? ", " : "{", prefix, i);
    put(t, "}");
}

#define HEADER_90 ".version 8.6\n.target sm_90a\n.address_size 64\n"
/* %rd3: where the lane's first word of [p] is, %rd4: the same of [q]; %r0 the lane. */
#define PROLOGUE                                                                                   \
    "ld.param.u64 %rd1, [p]; ld.param.u64 %rd2, [q]; mov.u32 %r0, %tid.x;\n"                       \
    "mad.wide.u32 %rd3, %r0, 8, %rd1; mad.wide.u32 %rd4, %r0, 8, %rd2;\n"

static void put_start(text *t) {
    put(t, HEADER_90 ".visible .entry k(.param .u64 p, .param .u64 q) {\n.reg .b64 %%rd<9>; .reg "
                     ".b32 %%r<9>; .reg .pred %%p<3>;\n");
}

static const char *register_type(type t) {
    return t == F64 ? "f64" : t == F32 ? "f32" : "b32";
}

static void put_loads(text *t, const char *prefix, type e, int n, int from) {
    put(t, ".reg .%s %%%s<%d>;\n", register_type(e), prefix, n);
    for (int i = 0; i < n; i++)
        put(t, "ld.global.%s %%%s%d, [%%rd3+%d];\n", register_type(e), prefix, i,
            (from + i) * LANES * 8);
}

static void put_stores(text *t, const char *prefix, type e, int n) {
    for (int i = 0; i < n; i++)
        put(t, "st.global.%s [%%rd4+%d], %%%s%d;\n", register_type(e), i * LANES * 8, prefix, i);
}

static emu_device *device; /* of all tests; it counts */

static int open_device(void **unused) {
    (void)unused;
    device = bench_device(1, true);
    return 0;
}

static int close_device(void **unused) {
    (void)unused;
    emu_device_destroy(device);
    return 0;
}

/* Runs kernel k of SOURCE in one warp, from IN to OUT, which holds 0 wherever it does not write. */
static void run_text(const char *source, const void *in, size_t in_bytes, void *out,
                     size_t out_bytes, emu_counts *counts) {
    emu_fault fault = {0};
    emu_module *m = bench_load(device, source);
    uint64_t p = bench_allocate(device, in_bytes), q = bench_allocate(device, out_bytes);
    memcpy((void *)(uintptr_t)p, in, in_bytes);
    const void *parameters[] = {&p, &q, NULL};
    bench_run(device, m, "k", (bench_shape){1, LANES, 0, false}, parameters, counts);
    memcpy(out, (const void *)(uintptr_t)q, out_bytes);
    assert_int_equal(emu_memory_free(device, p, &fault), EMU_OK);
    assert_int_equal(emu_memory_free(device, q, &fault), EMU_OK);
    emu_module_unload(m);
}

static void check_mma(const product *p, uint64_t *seed) {
    static text t;
    char name[96];
    matrix a, b, c, d;
    uint64_t in[3 * 8][LANES], out[8][LANES];
    int ra = register_count(p->a, p->m * p->k), rb = register_count(p->b, p->k * p->n),
        rc = register_count(p->c, p->m * p->n);
    fill(a, p->a, p->m, p->k, seed);
    fill(b, p->b, p->k, p->n, seed);
    fill(c, p->c, p->m, p->n, seed);
    to_registers(a, p->a, p->at_a, p->m * p->k, in[0]);
    to_registers(b, p->b, p->at_b, p->k * p->n, in[ra]);
    to_registers(c, p->c, p->at_c, p->m * p->n, in[ra + rb]);
    snprintf(name, sizeof name, "mma.sync.aligned.m%dn%dk%d.row.col%s.%s.%s.%s.%s", p->m, p->n,
             p->k, p->extra, types[p->c].name, types[p->a].name, types[p->b].name,
             types[p->c].name);
    t.length = 0;
    put_start(&t);
    put(&t, "%s", PROLOGUE);
    put_loads(&t, "a", p->a, ra, 0);
    put_loads(&t, "b", p->b, rb, ra);
    put_loads(&t, "c", p->c, rc, ra + rb);
    put(&t, ".reg .%s %%d<%d>;\n%s ", register_type(p->c), rc, name);
    put_list(&t, "d", rc);
    put(&t, ", ");
    put_list(&t, "a", ra);
    put(&t, ", ");
    put_list(&t, "b", rb);
    put(&t, ", ");
    put_list(&t, "c", rc);
    put(&t, ";\n");
    put_stores(&t, "d", p->c, rc);
    put(&t, "ret; }\n");
    emu_counts counts = {0};
    run_text(t.at, in, sizeof in, out, sizeof out, &counts);
    from_registers(d, p->c, p->at_c, p->m * p->n, out[0]);
    check_product(name, p, p->c, *p->extra, a, b, c, d);
    for (int i = 0; i < EMU_PRECISIONS; i++)
        assert_int_equal(counts.tensor_ops[i], i == (int)p->precision ? 2 * p->m * p->n * p->k : 0);
    assert_int_equal(counts.tensor_insts, 1);
}

static void test_mma(void **unused) {
    (void)unused;
    uint64_t seed = 1;
    for (size_t i = 0; i < sizeof products / sizeof *products; i++)
        for (int round = 0; round < 2; round++)
            check_mma(&products[i], &seed);
}

/* Saturation at both ends and wrapping, which random operands hardly reach. */
static void test_integer_limits(void **unused) {
    (void)unused;
    static const struct {
        const char *factor, *saturate, *sum;
        int32_t result;
    } cases[] = {
        {"0x7f7f7f7f", ".satfinite", "0x7ffffff0", INT32_MAX},
        {"0x80808080", ".satfinite", "0x80000010", INT32_MIN},
        {"0x7f7f7f7f", "", "0x7ffffff0", (int32_t)(0x7ffffff0u + 16u * 127 * 127)},
        {"0x80808080", "", "0x80000010", (int32_t)(0x80000010u - 16u * 127 * 128)},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        static text t;
        uint64_t in[LANES] = {0}, out[LANES];
        t.length = 0;
        put_start(&t);
        put(&t, "%s mov.b32 %%r1, 0x7f7f7f7f; mov.b32 %%r2, %s;\n", PROLOGUE, cases[i].factor);
        put(&t,
            "mma.sync.aligned.m8n8k16.row.col%s.s32.s8.s8.s32 {%%r5, %%r6}, {%%r1}, {%%r2}, {%s, "
            "%s};\nst.global.b32 [%%rd4], %%r5; ret; }\n",
            cases[i].saturate, cases[i].sum, cases[i].sum);
        run_text(t.at, in, sizeof in, out, sizeof out, NULL);
        for (int l = 0; l < LANES; l++)
            assert_int_equal((int32_t)(uint32_t)out[l], cases[i].result);
    }
}

/* ---- ldmatrix, stmatrix, movmatrix --------------------------------------------------------------
 */

enum { TILE = 8, PITCH = 112 }; /* rows that are not side by side */

/* Where row ROW of tile I starts in shared memory: out of order, as put_tiles_start() has it. */
static uint32_t row_place(int i, int row) {
    return (uint32_t)(PITCH * ((7 * row + 3 * i) % TILE + TILE * i));
}

/* Element (row, column) of tile I that LANE holds in half J: row lane / 4, columns 2 (lane % 4) and
 * the next; transposed the other way about. */
static uint16_t tile_element(int i, int row, int column) {
    return (uint16_t)(i << 8 | row << 4 | column);
}

static uint32_t tile_register(int i, int lane, bool transposed) {
    int row = lane / 4, column = 2 * (lane % 4);
    return transposed
               ? (uint32_t)tile_element(i, column + 1, row) << 16 | tile_element(i, column, row)
               : (uint32_t)tile_element(i, row, column + 1) << 16 | tile_element(i, row, column);
}

/* Shared memory is copied from [p], or to [q] afterwards; %r1 is each lane's row. */
static void put_tiles_start(text *t, int n, const char *space) {
    t->length = 0;
    put_start(t);
    put(t, ".shared .align 16 .b8 s[%d];\n%s", PITCH * TILE * 4, PROLOGUE);
    put(t,
        "mov.u32 %%r2, s; cvta.shared.u64 %%rd5, s;\n"
        "and.b32 %%r3, %%r0, 7; shr.u32 %%r4, %%r0, 3; rem.u32 %%r4, %%r4, %d;\n"
        "mul.lo.u32 %%r5, %%r3, 7; mad.lo.u32 %%r5, %%r4, 3, %%r5; and.b32 %%r5, %%r5, 7;\n"
        "mad.lo.u32 %%r5, %%r4, 8, %%r5; mul.lo.u32 %%r5, %%r5, %d;\n",
        n, PITCH);
    if (*space)
        put(t, "add.u32 %%r1, %%r2, %%r5;\n");
    else
        put(t, "cvt.u64.u32 %%rd6, %%r5; add.u64 %%rd5, %%rd5, %%rd6;\n");
}

static void put_shared_copy(text *t, bool in, int bytes) {
    int words = bytes / 8;
    put(t, "mov.u32 %%r6, %%r0; mov.u32 %%r7, s; mad.lo.u32 %%r7, %%r0, 8, %%r7;\n$C%d:\n", in);
    put(t, in ? "ld.global.u64 %%rd7, [%%rd3]; st.shared.u64 [%%r7], %%rd7;\n"
              : "ld.shared.u64 %%rd7, [%%r7]; st.global.u64 [%%rd4], %%rd7;\n");
    put(t,
        "add.u64 %%rd3, %%rd3, 256; add.u64 %%rd4, %%rd4, 256; add.u32 %%r7, %%r7, 256;\n"
        "add.u32 %%r6, %%r6, 32; setp.lt.u32 %%p1, %%r6, %d; @%%p1 bra $C%d;\n"
        "bar.warp.sync 0xffffffff;\n",
        words, in);
}

static void check_ldmatrix(int n, bool transposed, const char *space) {
    static text t;
    static uint8_t in[PITCH * TILE * 4];
    uint32_t out[4][LANES];
    memset(in, 0xee, sizeof in);
    for (int i = 0; i < n; i++)
        for (int row = 0; row < TILE; row++)
            for (int column = 0; column < TILE; column++) {
                uint16_t e = tile_element(i, row, column);
                memcpy(in + row_place(i, row) + 2 * column, &e, sizeof e);
            }
    put_tiles_start(&t, n, space);
    put(&t, ".reg .b32 %%d<4>; mov.u64 %%rd8, %%rd2;\n");
    put_shared_copy(&t, true, sizeof in);
    put(&t, "ldmatrix.sync.aligned.m8n8.x%d%s%s.b16 ", n, transposed ? ".trans" : "", space);
    put_list(&t, "d", n);
    put(&t, ", [%s];\nmad.wide.u32 %%rd8, %%r0, 4, %%rd8;\n", *space ? "%r1" : "%rd5");
    for (int i = 0; i < n; i++)
        put(&t, "st.global.b32 [%%rd8+%d], %%d%d;\n", i * LANES * 4, i);
    put(&t, "ret; }\n");
    emu_counts counts = {0};
    run_text(t.at, in, sizeof in, out, sizeof out, &counts);
    for (int i = 0; i < n; i++)
        for (int l = 0; l < LANES; l++)
            assert_int_equal(out[i][l], tile_register(i, l, transposed));
    assert_int_equal(counts.load_requests[EMU_SHARED], 1);
    assert_int_equal(counts.load_bytes[EMU_SHARED], n * TILE * TILE * 2);
}

static void test_ldmatrix(void **unused) {
    (void)unused;
    for (int n = 1; n <= 4; n *= 2)
        for (int transposed = 0; transposed < 2; transposed++) {
            check_ldmatrix(n, transposed, ".shared");
            check_ldmatrix(n, transposed, "");
        }
}

static void check_stmatrix(int n, bool transposed) {
    static text t;
    static uint8_t out[PITCH * TILE * 4];
    uint32_t in[4][LANES];
    for (int i = 0; i < n; i++)
        for (int l = 0; l < LANES; l++)
            in[i][l] = tile_register(i, l, transposed);
    put_tiles_start(&t, n, ".shared");
    put(&t, ".reg .b32 %%a<4>; mad.wide.u32 %%rd8, %%r0, 4, %%rd1;\n");
    for (int i = 0; i < n; i++)
        put(&t, "ld.global.b32 %%a%d, [%%rd8+%d];\n", i, i * LANES * 4);
    put(&t, "stmatrix.sync.aligned.m8n8.x%d%s.shared.b16 [%%r1], ", n, transposed ? ".trans" : "");
    put_list(&t, "a", n);
    put(&t, ";\n");
    put_shared_copy(&t, false, sizeof out);
    put(&t, "ret; }\n");
    emu_counts counts = {0};
    run_text(t.at, in, sizeof in, out, sizeof out, &counts);
    for (int i = 0; i < n; i++)
        for (int row = 0; row < TILE; row++)
            for (int column = 0; column < TILE; column++) {
                uint16_t e;
                memcpy(&e, out + row_place(i, row) + 2 * column, sizeof e);
                assert_int_equal(e, tile_element(i, row, column));
            }
    assert_int_equal(counts.store_bytes[EMU_SHARED], n * TILE * TILE * 2);
}

static void test_stmatrix(void **unused) {
    (void)unused;
    for (int n = 1; n <= 4; n *= 2) {
        check_stmatrix(n, false);
        check_stmatrix(n, true);
    }
}

static void test_movmatrix(void **unused) {
    (void)unused;
    static text t;
    uint64_t in[LANES], out[LANES];
    for (int l = 0; l < LANES; l++)
        in[l] = tile_register(5, l, false);
    t.length = 0;
    put_start(&t);
    put(&t,
        "%sld.global.b32 %%r1, [%%rd3];\nmovmatrix.sync.aligned.m8n8.trans.b16 %%r1, %%r1;\n"
        "st.global.b32 [%%rd4], %%r1; ret; }\n",
        PROLOGUE);
    run_text(t.at, in, sizeof in, out, sizeof out, NULL);
    for (int l = 0; l < LANES; l++)
        assert_int_equal(out[l], tile_register(5, l, true));
}

/* ---- wmma ---------------------------------------------------------------------------------------
 */

enum { AREA = 4096, PLACES = 4 * AREA }; /* bytes for each of A, B, C and D */

typedef struct wmma {
    int m, n, k;
    type a, c, d;
    emu_precision precision;
} wmma;

static const wmma wmmas[] = {
    {16, 16, 16, F16, F32, F32, EMU_FP16},      {32, 8, 16, F16, F32, F32, EMU_FP16},
    {8, 32, 16, F16, F32, F32, EMU_FP16},       {16, 16, 16, F16, F16, F16, EMU_FP16_ACC16},
    {32, 8, 16, F16, F16, F16, EMU_FP16_ACC16}, {8, 32, 16, F16, F16, F16, EMU_FP16_ACC16},
    {16, 16, 16, F16, F32, F16, EMU_FP16},      {16, 16, 16, F16, F16, F32, EMU_FP16},
    {16, 16, 16, BF16, F32, F32, EMU_BF16},     {32, 8, 16, BF16, F32, F32, EMU_BF16},
    {8, 32, 16, BF16, F32, F32, EMU_BF16},      {16, 16, 8, TF32, F32, F32, EMU_TF32},
    {16, 16, 16, S8, S32, S32, EMU_INT8},       {32, 8, 16, S8, S32, S32, EMU_INT8},
    {8, 32, 16, S8, S32, S32, EMU_INT8},        {16, 16, 16, U8, S32, S32, EMU_INT8},
    {32, 8, 16, U8, S32, S32, EMU_INT8},        {8, 32, 16, U8, S32, S32, EMU_INT8},
    {8, 8, 4, F64, F64, F64, EMU_FP64},
};

/* How a matrix of ROWS x COLUMNS lies in memory. */
typedef struct lying {
    bool by_column;
    int pitch; /* elements from one row (column) to the next */
} lying;

static lying lie(type t, int rows, int columns, bool by_column, bool padded) {
    int pad = padded ? 128 / types[t].bits : 0;
    return (lying){by_column, (by_column ? rows : columns) + pad};
}

static uint8_t *element_at(uint8_t *memory, lying how, type t, int row, int column) {
    int at = how.by_column ? column * how.pitch + row : row * how.pitch + column;
    return memory + at * types[t].bits / 8;
}

static void to_memory(matrix x, type t, int rows, int columns, lying how, uint8_t *memory) {
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < columns; c++)
            memcpy(element_at(memory, how, t, r, c), &x[r][c], (size_t)types[t].bits / 8);
}

static void from_memory(matrix x, type t, int rows, int columns, lying how, uint8_t *memory) {
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < columns; c++) {
            x[r][c] = 0;
            memcpy(&x[r][c], element_at(memory, how, t, r, c), (size_t)types[t].bits / 8);
        }
}

/* As PTX ISA's table of wmma fragments has it. */
static int fragment_registers(type t, bool factor, int elements) {
    return factor && t == F16 ? 8 : register_count(t, elements);
}

static void put_move(text *t, const wmma *w, char which, type e, lying how, bool padded,
                     const char *space, int n, int place) {
    bool store = which == 'd';
    char list[2] = {which, 0}, address[32], pitch[16] = "";
    snprintf(address, sizeof address, "[%s+%d]", strcmp(space, ".shared") ? "%rd5" : "%r4",
             place * AREA);
    if (padded)
        snprintf(pitch, sizeof pitch, ", %d", how.pitch);
    put(t, "wmma.%s.%c.sync.aligned.%s.m%dn%dk%d%s.%s ", store ? "store" : "load", which,
        how.by_column ? "col" : "row", w->m, w->n, w->k, space, types[e].name);
    if (store)
        put(t, "%s, ", address);
    put_list(t, list, n);
    if (!store)
        put(t, ", %s", address);
    put(t, "%s;\n", pitch);
}

static void put_product(text *t, const wmma *w, const char *layouts, const int *n) {
    bool named = w->a != F16;
    put(t, "wmma.mma.sync.aligned%s.m%dn%dk%d.%s", layouts, w->m, w->n, w->k, types[w->d].name);
    if (named)
        put(t, ".%s.%s", types[w->a].name, types[w->a].name);
    put(t, ".%s ", types[w->c].name);
    static const char *const lists[] = {"d", "a", "b", "c"};
    static const int order[] = {3, 0, 1, 2};
    for (int i = 0; i < 4; i++) {
        put(t, i ? ", " : "");
        put_list(t, lists[i], n[order[i]]);
    }
    put(t, ";\n");
}

static void check_wmma(const wmma *w, unsigned variant, const char *space, uint64_t *seed) {
    static text t;
    static uint8_t in[PLACES], out[PLACES];
    const bool padded = variant & 8, shared = strcmp(space, ".shared") == 0;
    matrix a, b, c, d;
    product p = {.m = w->m, .n = w->n, .k = w->k, .a = w->a, .b = w->a, .c = w->c};
    lying la = lie(w->a, w->m, w->k, variant & 1, padded),
          lb = lie(w->a, w->k, w->n, variant & 2, padded),
          lc = lie(w->c, w->m, w->n, variant & 4, padded),
          ld = lie(w->d, w->m, w->n, !(variant & 4), padded);
    int n[4] = {
        fragment_registers(w->a, true, w->m * w->k), fragment_registers(w->a, true, w->k * w->n),
        fragment_registers(w->c, false, w->m * w->n), fragment_registers(w->d, false, w->m * w->n)};
    fill(a, w->a, w->m, w->k, seed);
    fill(b, w->a, w->k, w->n, seed);
    fill(c, w->c, w->m, w->n, seed);
    memset(in, 0xff, sizeof in); /* NaN of every type between the rows */
    to_memory(a, w->a, w->m, w->k, la, in);
    to_memory(b, w->a, w->k, w->n, lb, in + AREA);
    to_memory(c, w->c, w->m, w->n, lc, in + 2 * AREA);
    t.length = 0;
    put_start(&t);
    put(&t, ".shared .align 128 .b8 s[%d];\n%s", shared ? PLACES - AREA : 128, PROLOGUE);
    for (int i = 0; i < 4; i++)
        put(&t, ".reg .%s %%%c<8>;\n",
            register_type(i < 2   ? w->a == F64 ? F64 : F16
                          : i < 3 ? w->c
                                  : w->d),
            "abcd"[i]);
    if (shared)
        put_shared_copy(&t, true, PLACES - AREA);
    put(&t, "mov.u64 %%rd5, %%rd1; mov.u32 %%r4, s;\n");
    put_move(&t, w, 'a', w->a, la, padded, space, n[0], 0);
    put_move(&t, w, 'b', w->a, lb, padded, space, n[1], 1);
    put_move(&t, w, 'c', w->c, lc, padded, space, n[2], 2);
    const char *layouts[] = {".row.row", ".col.row", ".row.col", ".col.col"};
    put_product(&t, w, layouts[variant & 3], n);
    put(&t, "mov.u64 %%rd5, %%rd2;\n");
    put_move(&t, w, 'd', w->d, ld, padded, shared ? "" : space, n[3], 3);
    put(&t, "ret; }\n");
    emu_counts counts = {0};
    run_text(t.at, in, sizeof in, out, sizeof out, &counts);
    from_memory(d, w->d, w->m, w->n, ld, out + 3 * AREA);
    check_product(t.at, &p, w->d, false, a, b, c, d);
    for (int i = 0; i < EMU_PRECISIONS; i++)
        assert_int_equal(counts.tensor_ops[i], i == (int)w->precision ? 2 * w->m * w->n * w->k : 0);
    uint64_t bytes =
        (uint64_t)(types[w->a].bits * (w->m + w->n) * w->k + types[w->c].bits * w->m * w->n) / 8;
    assert_int_equal(counts.load_bytes[shared ? EMU_SHARED : EMU_GLOBAL], bytes);
    assert_int_equal(counts.store_bytes[EMU_GLOBAL], w->m * w->n * types[w->d].bits / 8);
    for (int i = 0; i < 3 * AREA; i++) /* nothing but D was written */
        assert_int_equal(out[i], 0);
}

static void test_wmma(void **unused) {
    (void)unused;
    uint64_t seed = 7;
    static const char *const spaces[] = {".global", "", ".shared"};
    for (size_t i = 0; i < sizeof wmmas / sizeof *wmmas; i++)
        for (unsigned variant = 0; variant < 16; variant++)
            check_wmma(&wmmas[i], variant, spaces[(variant + i) % 3], &seed);
}

/* ---- counts and time ----------------------------------------------------------------------------
 */

/* 100 products of 4096 FLOPs in each of 8 warps of 4 blocks, one block an SM; where the parameter
 * off is not 0, a predicate is off for all of them. */
static void run_products(emu_device *d, const char *types_of_product, uint32_t off,
                         emu_counts *counts) {
    static text t;
    t.length = 0;
    put(&t,
        HEADER_90
        ".visible .entry k(.param .u32 off) { .reg .b32 %%r<9>; .reg .f32 %%f<9>; .reg .pred "
        "%%p<3>;\n"
        "ld.param.u32 %%r8, [off]; setp.eq.u32 %%p2, %%r8, 0; mov.u32 %%r0, 0;\n"
        "mov.u32 %%r1, 0; mov.u32 %%r2, 0; mov.u32 %%r3, 0; mov.u32 %%r4, 0;\n"
        "mov.f32 %%f1, 0f00000000; mov.f32 %%f2, %%f1; mov.f32 %%f3, %%f1; mov.f32 %%f4, %%f1;\n"
        "$L: @%%p2 mma.sync.aligned.m16n8k16.row.col.%s {%%f1,%%f2,%%f3,%%f4}, "
        "{%%r1,%%r2,%%r3,%%r4}, {%%r1,%%r2}, {%%f1,%%f2,%%f3,%%f4};\n"
        "add.u32 %%r0, %%r0, 1; setp.lt.u32 %%p1, %%r0, 100; @%%p1 bra $L; ret; }\n",
        types_of_product);
    emu_module *m = bench_load(d, t.at);
    const void *parameters[] = {&off, NULL};
    bench_run(d, m, "k", (bench_shape){4, 8 * LANES, 0, false}, parameters, counts);
    emu_module_unload(m);
}

static void test_time(void **unused) {
    (void)unused;
    enum { PRODUCTS = 4 * 8 * 100, OPERATIONS = PRODUCTS * 4096 };
    emu_device_spec spec = bench_spec();
    emu_options options = {.host_threads = 2, .count = true, .model_caches = true};
    emu_fault fault = {0};
    emu_counts counts, off, faster;
    spec.tensor_fp16_per_clk = 512;
    spec.tensor_bf16_per_clk = 1024;
    emu_device *d = emu_device_create(&spec, &options, &fault);
    assert_non_null(d);
    run_products(d, "f32.f16.f16.f32", 0, &counts);
    assert_int_equal(counts.tensor_insts, PRODUCTS);
    assert_int_equal(counts.tensor_ops[EMU_FP16], OPERATIONS);
    run_products(d, "f32.f16.f16.f32", 1, &off);
    assert_int_equal(off.tensor_insts, 0);
    assert_int_equal(off.tensor_ops[EMU_FP16], 0);
    assert_int_equal(off.thread_insts_active, counts.thread_insts_active);
    assert_int_equal(counts.thread_insts - off.thread_insts, PRODUCTS * LANES);
    run_products(d, "f32.bf16.bf16.f32", 0, &faster);
    assert_int_equal(faster.tensor_ops[EMU_BF16], OPERATIONS);
    assert_int_equal(faster.tensor_ops[EMU_FP16], 0);
    /* beyond the launch's own time, which is the same: operations / (rate x clock x 4 SMs) */
    assert_string_equal(counts.time_bound, "tensor");
    double saved = OPERATIONS / 4e9 / 512 - OPERATIONS / 4e9 / 1024;
    assert_true(fabs(counts.time_s - faster.time_s - saved) < 1e-9 * saved);
    emu_device_destroy(d);
}

/* ---- what is refused ----------------------------------------------------------------------------
 */

/* Launches a kernel of THREADS threads that holds INSTRUCTION, and finds WORDS in the fault. */
static void check_refused(const char *instruction, uint32_t threads, emu_status status,
                          const char *words) {
    static text t;
    t.length = 0;
    put_start(&t);
    put(&t, ".shared .align 128 .b8 s[1024];\n.reg .f32 %%f<9>;\n%s%s\nret; }\n", PROLOGUE,
        instruction);
    emu_module *m = bench_load(device, t.at);
    uint64_t p = bench_allocate(device, 4096);
    const void *parameters[] = {&p, &p, NULL};
    emu_fault fault = {0};
    assert_int_equal(
        bench_try(device, m, "k", (bench_shape){1, threads, 0, false}, parameters, NULL, &fault),
        status);
    if (!strstr(fault.message, words) || strcmp(fault.kernel, "k") != 0)
        fail_msg("%s: \"%s\" does not say \"%s\"", instruction, fault.message, words);
    assert_int_equal(emu_memory_free(device, p, &fault), EMU_OK);
    emu_module_unload(m);
}

static void test_refused(void **unused) {
    (void)unused;
    static const char *const unknown[] = {
        "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 {%f0,%f1,%f2,%f3,%f4,%f5,%f6,%f7}, "
        "{%r1,%r2}, {%r3,%r4}, {%f0,%f1,%f2,%f3,%f4,%f5,%f6,%f7};",
        "mma.sync.aligned.m16n8k32.row.col.s32.s4.s4.s32 {%r1,%r2,%r3,%r4}, {%r1,%r2}, {%r1}, "
        "{%r1,%r2,%r3,%r4};",
        "mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0,%f1,%f2,%f3}, {%r1,%r2}, "
        "{%r3,%r4}, {%f0,%f1,%f2,%f3}, %r5, 0x0;",
        "mma.sync.aligned.m16n8k16.row.row.f32.f16.f16.f32 {%f0,%f1,%f2,%f3}, {%r1,%r2,%r3,%r4}, "
        "{%r3,%r4}, {%f0,%f1,%f2,%f3};",
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.f16.f32 {%f0,%f1,%f2,%f3}, "
        "{%r1,%r2,%r3,%r4}, {%r3,%r4}, {%f0,%f1,%f2,%f3};",
        "ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {%r1,%r2}, [%r3];",
        "wgmma.fence.sync.aligned;",
        "wmma.load.a.sync.aligned.row.m8n8k32.global.s4 {%r1}, [%rd1];",
        "wmma.load.a.sync.aligned.row.m16n16k16.global.f32 {%f0,%f1,%f2,%f3,%f4,%f5,%f6,%f7}, "
        "[%rd1];",
    };
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
        check_refused(unknown[i], LANES, EMU_BAD_PTX, "does not have the instruction");
    check_refused("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0,%f1,%f2,%f3}, {%r1,%r2}, "
                  "{%r3,%r4}, {%f0,%f1,%f2,%f3};",
                  LANES, EMU_BAD_PTX, "4 expected");
    check_refused("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f0,%f1,%f2,%f3}, {%r1,%r2}, "
                  "{%r3}, {%f0,%f1,%f2,%f3};",
                  16, EMU_ILLEGAL_INSTRUCTION, "16 came");
    check_refused("mov.u32 %r1, s; add.u32 %r1, %r1, 8;\n"
                  "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r2}, [%r1];",
                  LANES, EMU_MISALIGNED, "16 bytes");
    check_refused("mov.u32 %r1, s; add.u32 %r1, %r1, 1024;\n"
                  "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r2}, [%r1];",
                  LANES, EMU_ILLEGAL_ADDRESS, "1024");
    check_refused("ldmatrix.sync.aligned.m8n8.x1.b16 {%r2}, [%rd1];", LANES, EMU_ILLEGAL_ADDRESS,
                  "shared memory");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mma),       cmocka_unit_test(test_integer_limits),
        cmocka_unit_test(test_ldmatrix),  cmocka_unit_test(test_stmatrix),
        cmocka_unit_test(test_movmatrix), cmocka_unit_test(test_wmma),
        cmocka_unit_test(test_time),      cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}
