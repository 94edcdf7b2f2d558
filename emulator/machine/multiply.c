/* SPDX-License-Identifier: Apache-2.0
 *
 * D = A B + C of a whole warp: fragments to matrices, the product, and back. Compiled once per
 * instruction set of the host, as execute.c is; all give the same bits.
 *
 * Floating point: products of factors up to 11 bits are exact in single precision; they are added
 * to C in order of k, each sum rounded to single precision, and D is rounded to its type at the
 * end. (What tensor cores do inside is not documented: they keep a few bits more or less in another
 * order. Both are within the error bound of a sum of k + 1 terms.) Double precision: one fused
 * multiply-add per k. Integers are exact. */
#include "emulator/machine/multiply.h"
#include "emulator/machine/lanes.h"

#include <math.h>
#include <string.h>

enum { SIDE = TENSOR_MAX_SIDE };

/* In the type that its elements are calculated in. */
typedef union matrix {
    float narrow[SIDE][SIDE];
    double wide[SIDE][SIDE];
    int32_t integer[SIDE][SIDE];
} matrix;

static uint32_t *slot_32(const emu_warp *w, uint32_t ref) {
    return (uint32_t *)(void *)(w->base[ref & 1] + ref);
}

static float element_to_float(uint32_t bits, emu_element e) {
    switch (e) {
    case ELEMENT_F16:
        return half_to_float((uint16_t)bits);
    case ELEMENT_BF16:
        return bfloat_to_float((uint16_t)bits);
    case ELEMENT_TF32: /* the low 13 bits are not read */
        return float_of_bits(bits & ~UINT32_C(0x1fff));
    case ELEMENT_E4M3:
        return small_to_float(bits & 0xff, FORMAT_E4M3);
    case ELEMENT_E5M2:
        return small_to_float(bits & 0xff, FORMAT_E5M2);
    default:
        return float_of_bits(bits);
    }
}

static void gather_wide(const emu_warp *w, const emu_tensor *t, emu_matrix which,
                        const uint32_t *ref, matrix *to) {
    uint32_t row, column;
    for (uint32_t i = 0; i < emu_tensor_elements(t, which); i++) {
        const double *from = (const double *)(const void *)slot_32(w, ref[i]);
        for (uint32_t l = 0; l < WARP; l++) {
            emu_tensor_place(t, which, l, i, &row, &column);
            to->wide[row][column] = from[l];
        }
    }
}

/* Elements of up to 32 bits: into floats, or integers. */
static void gather(const emu_warp *w, const emu_tensor *t, emu_matrix which, const uint32_t *ref,
                   matrix *to) {
    const emu_element e = (emu_element)t->element[which];
    if (e == ELEMENT_F64) {
        gather_wide(w, t, which, ref, to);
        return;
    }
    const uint32_t packing = emu_element_packing(e), bits = 8 * emu_element_bytes(e);
    uint32_t row, column;
    for (uint32_t i = 0; i < emu_tensor_elements(t, which); i++) {
        const uint32_t *from = slot_32(w, ref[i / packing]), shift = i % packing * bits;
        for (uint32_t l = 0; l < WARP; l++) {
            uint32_t v = from[l] >> shift;
            emu_tensor_place(t, which, l, i, &row, &column);
            if (e == ELEMENT_S8)
                to->integer[row][column] = (int8_t)v;
            else if (e == ELEMENT_U8)
                to->integer[row][column] = (uint8_t)v;
            else if (e == ELEMENT_S32)
                to->integer[row][column] = (int32_t)v;
            else
                to->narrow[row][column] = element_to_float(v, e);
        }
    }
}

static void scatter(const emu_warp *w, const emu_tensor *t, const uint32_t *ref,
                    const matrix *from) {
    const emu_element e = (emu_element)t->element[MATRIX_D];
    uint32_t row, column;
    for (uint32_t i = 0; i < emu_tensor_elements(t, MATRIX_D); i++) {
        uint32_t *to = slot_32(w, ref[i / emu_element_packing(e)]);
        for (uint32_t l = 0; l < WARP; l++) {
            emu_tensor_place(t, MATRIX_D, l, i, &row, &column);
            if (e == ELEMENT_F64) {
                ((double *)(void *)to)[l] = from->wide[row][column];
            } else if (e == ELEMENT_F16) {
                uint32_t half = float_to_half(from->narrow[row][column]);
                to[l] = i % 2 ? (to[l] & 0xffff) | half << 16 : half;
            } else {
                memcpy(&to[l], &from->integer[row][column], 4); /* f32 or s32: the bits */
            }
        }
    }
}

static void multiply_narrow(const emu_tensor *t, const matrix *a, const matrix *b, matrix *c) {
    for (int i = 0; i < t->m; i++)
        for (int x = 0; x < t->k; x++) {
            const float f = a->narrow[i][x];
            for (int j = 0; j < t->n; j++)
                c->narrow[i][j] += f * b->narrow[x][j];
        }
}

static void multiply_wide(const emu_tensor *t, const matrix *a, const matrix *b, matrix *c) {
    for (int i = 0; i < t->m; i++)
        for (int x = 0; x < t->k; x++)
            for (int j = 0; j < t->n; j++)
                c->wide[i][j] = fma(a->wide[i][x], b->wide[x][j], c->wide[i][j]);
}

static int32_t clamp_integer(int64_t v) {
    return v < INT32_MIN ? INT32_MIN : v > INT32_MAX ? INT32_MAX : (int32_t)v;
}

static void multiply_integer(const emu_tensor *t, const matrix *a, const matrix *b, matrix *c) {
    for (int i = 0; i < t->m; i++)
        for (int j = 0; j < t->n; j++) {
            int64_t sum = c->integer[i][j];
            for (int x = 0; x < t->k; x++)
                sum += (int64_t)a->integer[i][x] * b->integer[x][j];
            c->integer[i][j] = t->saturate ? clamp_integer(sum) : (int32_t)(uint32_t)sum;
        }
}

void EMU_MULTIPLY(emu_warp *w, const emu_op *o) {
    const emu_tensor *t = &o->extra->tensor;
    const uint32_t *d = o->extra->ref, *ra = d + t->registers[MATRIX_D],
                   *rb = ra + t->registers[MATRIX_A], *rc = rb + t->registers[MATRIX_B];
    matrix a, b, c;
    gather(w, t, MATRIX_A, ra, &a);
    gather(w, t, MATRIX_B, rb, &b);
    gather(w, t, MATRIX_C, rc, &c);
    if (t->element[MATRIX_D] == ELEMENT_F64)
        multiply_wide(t, &a, &b, &c);
    else if (t->element[MATRIX_D] == ELEMENT_S32)
        multiply_integer(t, &a, &b, &c);
    else
        multiply_narrow(t, &a, &b, &c);
    scatter(w, t, d, &c);
}
