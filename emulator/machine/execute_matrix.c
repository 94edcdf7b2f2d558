/* SPDX-License-Identifier: Apache-2.0
 *
 * Handlers of the instructions of a whole warp: products, fragments, tiles. */
#include "emulator/machine/multiply.h"
#include "emulator/machine/reach.h"

/* ---- matrices: instructions of a whole warp
 * ------------------------------------------------------------------------------------------- */

static __attribute__((noinline, cold)) int report_part(emu_warp *w, const emu_op *o) {
    return emu_fault_lane(w, o, __builtin_ctz(w->mask), EMU_ILLEGAL_INSTRUCTION, 0,
                          "%s needs all 32 lanes of a warp, and %d came to it",
                          w->program->info[o - w->program->op].mnemonic,
                          __builtin_popcount(w->mask));
}

HANDLER(multiply) {
    if (w->mask != ALL_LANES)
        return report_part(w, o);
    EMU_MULTIPLY(w, o);
    return 0;
}

/* Elements FIRST ... FIRST + run - 1 of the fragment between memory and registers. Where a fragment
 * has more elements than its matrix needs, they repeat. */
INLINE GUEST void move_elements(emu_warp *w, const emu_op *o, const reached *r, uint32_t first) {
    const emu_tensor *t = &o->extra->tensor;
    const emu_element e = (emu_element)t->element[t->matrix];
    const uint32_t bytes = emu_element_bytes(e), packing = emu_element_packing(e);
    const uint32_t all = t->registers[t->matrix] * packing;
    const uint32_t step = emu_tensor_elements(t, (emu_matrix)t->matrix);
    const bool loading = t->matrix != MATRIX_D;
    const uint32_t slot = bytes == 8 ? 8 : 4;
    EACH_LANE(w->mask) {
        for (uint32_t i = first; i < first + t->run; i++) {
            uint8_t *memory = host_of(r, l) + (i - first) * bytes;
            for (uint32_t k = i; k < all; k += step) {
                uint8_t *lane =
                    (uint8_t *)at(w, o->extra->ref[k / packing]) + l * slot + k % packing * bytes;
                memcpy(loading ? lane : memory, loading ? memory : lane, bytes);
            }
        }
    }
}

/* wmma.load and wmma.store: as many accesses as it takes to move what lies side by side at once. */
static int fragment_piece(emu_warp *w, const emu_op *o, int space, bool generic) {
    const emu_tensor *t = &o->extra->tensor;
    const emu_matrix matrix = (emu_matrix)t->matrix;
    const uint32_t bytes = emu_element_bytes((emu_element)t->element[matrix]);
    alignas(32) uint64_t base[WARP];
    make_addresses(w, o, generic, base);
    for (uint32_t i = 0; i < emu_tensor_elements(t, matrix); i += t->run) {
        reached r;
        for (uint32_t l = 0; l < WARP; l++) {
            uint32_t row, column;
            emu_tensor_place(t, matrix, l, i, &row, &column);
            uint64_t pitch = slot_value(w, o->b, false, l);
            r.address[l] =
                base[l] + bytes * (t->by_column ? column * pitch + row : row * pitch + column);
        }
        int status = reach_addresses(w, o, space, matrix == MATRIX_D ? EMU_STORE : EMU_LOAD,
                                     bytes * t->run, &r);
        if (status)
            return status;
        move_elements(w, o, &r, i);
    }
    return 0;
}

INLINE int move_fragment(emu_warp *w, const emu_op *o) {
    if (w->mask != ALL_LANES)
        return report_part(w, o);
    if (o->space == EMU_TEXTURE) /* marks the generic space here */
        return by_window(w, o, fragment_piece);
    return fragment_piece(w, o, o->space, false);
}

HANDLER(load_fragment) {
    return move_fragment(w, o);
}

HANDLER(store_fragment) {
    w->spin = 0;
    return move_fragment(w, o);
}

enum { TILE = 8, TILE_ROW_BYTES = 16 }; /* ldmatrix, stmatrix: 8 x 8 elements of 16 bits */

/* Element of a tile that LANE holds in half J of its register. */
INLINE void tile_place(const emu_op *o, uint32_t lane, uint32_t j, uint32_t *row,
                       uint32_t *column) {
    *row = lane / 4;
    *column = 2 * (lane % 4) + j;
    if (o->kind) { /* .trans */
        uint32_t swapped = *row;
        *row = *column;
        *column = swapped;
    }
}

/* The rows of tile i are where lanes 8 i ... 8 i + 7 point. */
static GUEST int tiles_piece(emu_warp *w, const emu_op *o, int space, bool generic) {
    const bool storing = o->flags & OP_NO_RESULT;
    if (space != EMU_SHARED)
        return emu_fault_lane(w, o, __builtin_ctz(w->mask), EMU_ILLEGAL_ADDRESS, 0,
                              "a row of a matrix is not in shared memory");
    reached r;
    int status = reach(w, o, space, generic, storing ? EMU_STORE : EMU_LOAD, TILE_ROW_BYTES, &r);
    for (uint32_t i = 0; !status && i < (uint32_t)o->extra->count; i++) {
        uint32_t *slot = at(w, o->extra->ref[i]);
        for (uint32_t l = 0; l < WARP; l++) {
            for (uint32_t j = 0; j < 2; j++) {
                uint32_t row, column;
                tile_place(o, l, j, &row, &column);
                uint8_t *memory = host_of(&r, TILE * i + row) + 2 * column;
                uint16_t value = (uint16_t)(slot[l] >> 16 * j);
                if (storing) {
                    memcpy(memory, &value, sizeof value);
                    continue;
                }
                memcpy(&value, memory, sizeof value);
                slot[l] = j ? (slot[l] & 0xffff) | (uint32_t)value << 16 : value;
            }
        }
    }
    return status;
}

INLINE int move_tiles(emu_warp *w, const emu_op *o) {
    if (w->mask != ALL_LANES)
        return report_part(w, o);
    w->mask = ALL_LANES >> (WARP - TILE * o->extra->count);
    int status =
        o->space == EMU_TEXTURE ? by_window(w, o, tiles_piece) : tiles_piece(w, o, o->space, false);
    w->mask = ALL_LANES;
    return status;
}

HANDLER(load_matrix) {
    return move_tiles(w, o);
}

HANDLER(store_matrix) {
    w->spin = 0;
    return move_tiles(w, o);
}

HANDLER(transpose_matrix) {
    if (w->mask != ALL_LANES)
        return report_part(w, o);
    const uint32_t *a = at(w, o->a);
    uint32_t *d = at(w, o->d), result[WARP];
    for (uint32_t l = 0; l < WARP; l++) {
        /* row 2 (l % 4) and the one below of a, column l / 4 */
        uint32_t from = l % 4 * 8 + l / 8, shift = 16 * (l / 4 % 2);
        result[l] = (a[from] >> shift & 0xffff) | (a[from + 4] >> shift) << 16;
    }
    memcpy(d, result, sizeof result);
    return 0;
}
