/* SPDX-License-Identifier: Apache-2.0
 *
 * Matrix instructions: what one multiplies, and which lane holds which element of a fragment.
 *
 * D = A B + C with A of m x k, B of k x n, C and D of m x n elements. Of mma.sync the fragments are
 * those that the PTX ISA documents ("Matrix Fragments for mma.m16n8k16 ..."): with the group
 * g = lane / 4 and t = lane % 4, and P elements in a 32-bit register,
 *   A: row g, columns t P ... t P + P - 1; the next register the row 8 below where m is 16, the
 * ones after those 4 P columns to the right; B: rows t P ..., column g; the next register 4 P rows
 * below; C, D: row g, columns 2 t and 2 t + 1; the next two elements 8 rows below. The fragments of
 * wmma are opaque to programs. Here they are those of mma.sync, block by block of 16 (A: rows; B,
 * 8: columns), and where PTX gives a fragment more registers than that takes (f16), the elements
 * are repeated. */
#ifndef EMU_MACHINE_TENSOR_H
#define EMU_MACHINE_TENSOR_H

#include <stdbool.h>
#include <stdint.h>

struct ptx_instruction;

typedef enum emu_element {
    ELEMENT_NONE,
    ELEMENT_F16,
    ELEMENT_BF16,
    ELEMENT_TF32,
    ELEMENT_E4M3,
    ELEMENT_E5M2,
    ELEMENT_S8,
    ELEMENT_U8,
    ELEMENT_F32,
    ELEMENT_F64,
    ELEMENT_S32
} emu_element;

typedef enum emu_matrix { MATRIX_A, MATRIX_B, MATRIX_C, MATRIX_D, MATRICES } emu_matrix;

enum { TENSOR_MAX_SIDE = 32, TENSOR_MAX_REGISTERS = 8 }; /* of a side; of one fragment */

typedef struct emu_tensor {
    uint8_t m, n, k;
    uint8_t element[MATRICES];   /* emu_element; of a load or store only that of MATRIX */
    uint8_t registers[MATRICES]; /* of a fragment */
    uint8_t matrix;              /* what a wmma.load or .store moves */
    uint8_t run;                 /* its elements that lie side by side in memory and in a lane */
    bool by_column;              /* how it lies in memory */
    bool saturate;               /* integers: D is clamped, and does not wrap */
} emu_tensor;

/* What mma.sync, wmma.mma, wmma.load or wmma.store IN works on; false if the emulated device does
 * not have it: a shape, type or modifier of another generation. */
bool emu_tensor_parse(const struct ptx_instruction *in, emu_tensor *tensor);

/* What it counts as, an emu_precision: by its factors, and of f16 by its sums too. */
int emu_tensor_precision(const emu_tensor *tensor);

static inline uint32_t emu_element_bytes(emu_element e) {
    switch (e) {
    case ELEMENT_E4M3:
    case ELEMENT_E5M2:
    case ELEMENT_S8:
    case ELEMENT_U8:
        return 1;
    case ELEMENT_F16:
    case ELEMENT_BF16:
        return 2;
    case ELEMENT_F64:
        return 8;
    default:
        return 4;
    }
}

/* Elements in one register: 32 bits, of f64 64. */
static inline uint32_t emu_element_packing(emu_element e) {
    return e == ELEMENT_F64 ? 1 : 4 / emu_element_bytes(e);
}

static inline uint32_t emu_tensor_rows(const emu_tensor *t, emu_matrix matrix) {
    return matrix == MATRIX_B ? t->k : t->m;
}

static inline uint32_t emu_tensor_columns(const emu_tensor *t, emu_matrix matrix) {
    return matrix == MATRIX_A ? t->k : t->n;
}

/* Elements of a matrix that each lane holds, repetitions left out. */
static inline uint32_t emu_tensor_elements(const emu_tensor *t, emu_matrix matrix) {
    return emu_tensor_rows(t, matrix) * emu_tensor_columns(t, matrix) / 32;
}

/* Where element I < emu_tensor_elements() of LANE stands in its matrix. */
static inline void emu_tensor_place(const emu_tensor *t, emu_matrix matrix, uint32_t lane,
                                    uint32_t i, uint32_t *row, uint32_t *column) {
    const uint32_t g = lane / 4, q = lane % 4, high = t->m == 8 ? 8 : 16;
    const uint32_t packing = emu_element_packing((emu_element)t->element[matrix]);
    if (matrix == MATRIX_A) {
        uint32_t part = high * t->k / 32, in = i % part, r = in / packing, j = in % packing;
        *row = i / part * high + g + (high == 16 ? 8 * (r & 1) : 0);
        *column = q * packing + j + 4 * packing * (high == 16 ? r >> 1 : r);
    } else if (matrix == MATRIX_B) {
        uint32_t part = 8u * t->k / 32, in = i % part, r = in / packing, j = in % packing;
        *row = q * packing + j + 4 * packing * r;
        *column = i / part * 8 + g;
    } else {
        uint32_t part = high * 8 / 32, in = i % part, block = i / part, across = t->n / 8u;
        *row = block / across * high + g + 8 * (in >> 1);
        *column = block % across * 8 + 2 * q + (in & 1);
    }
}

#endif
