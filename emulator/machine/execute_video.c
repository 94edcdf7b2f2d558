/* SPDX-License-Identifier: Apache-2.0
 *
 * Handlers of carry chains and of the video instructions. */
#include "emulator/machine/execute.h"

/* ---- carry chains, video
 * ------------------------------------------------------------------------- */

INLINE unsigned __int128 carry_value(const emu_op *o, uint64_t a, uint64_t b, uint64_t c, int bits,
                                     unsigned in) {
    unsigned __int128 ones = bits == 64 ? UINT64_MAX : UINT32_MAX, left = a, right = b;
    if (o->kind & (CARRY_MULTIPLY_LOW | CARRY_MULTIPLY_HIGH)) {
        unsigned __int128 product = (unsigned __int128)a * b;
        if (o->kind & CARRY_SIGNED) {
            __int128 x = bits == 64 ? (int64_t)a : (int32_t)a,
                     y = bits == 64 ? (int64_t)b : (int32_t)b;
            product = (unsigned __int128)(x * y);
        }
        left = (o->kind & CARRY_MULTIPLY_HIGH ? product >> bits : product) & ones;
        right = c;
    }
    /* a - b - borrow as a + ~b + (1 - borrow); the carry flag holds the borrow then */
    if (o->kind & CARRY_SUBTRACT)
        return left + (~right & ones) + (1 - in);
    return left + right + in;
}

#define CARRY_OP(name, T, BITS)                                                                    \
    HANDLER(name) {                                                                                \
        SOURCE(T, a, pa);                                                                          \
        SOURCE(T, b, pb);                                                                          \
        SOURCE(T, c, pc);                                                                          \
        T##_t *d = at(w, o->d);                                                                    \
        uint32_t carry = 0;                                                                        \
        EACH_LANE(w->mask) {                                                                       \
            unsigned in = o->kind & CARRY_IN ? w->carry >> l & 1 : 0;                              \
            unsigned __int128 r = carry_value(o, pa[l], pb[l], pc[l], BITS, in);                   \
            bool out = r >> BITS & 1;                                                              \
            carry |= (o->kind & CARRY_SUBTRACT ? !out : out) ? lane_bit[l] : 0;                    \
            d[l] = (T##_t)r;                                                                       \
        }                                                                                          \
        if (o->kind & CARRY_OUT)                                                                   \
            w->carry = (w->carry & ~w->mask) | carry;                                              \
        return 0;                                                                                  \
    }
CARRY_OP(carry_32, u32, 32)
CARRY_OP(carry_64, u64, 64)

/* vadd4, vsub4, vavrg4, vabsdiff4, vmin4, vmax4 and their 16-bit pairs, without sub-word selection:
 * kind is the operation, bytes the size of an element, combine != 0 accumulates into c. */
HANDLER(video) {
    SOURCE(u32, a, pa);
    SOURCE(u32, b, pb);
    SOURCE(u32, c, pc);
    uint32_t *d = at(w, o->d);
    int bits = 8 * o->bytes, count = 4 / o->bytes;
    bool is_signed = o->flags & OP_SIGNED, saturate = o->vector;
    int64_t top = is_signed ? (1 << (bits - 1)) - 1 : (1 << bits) - 1;
    int64_t bottom = is_signed ? -(1 << (bits - 1)) : 0;
    EACH_LANE(w->mask) {
        uint32_t r = 0, sum = pc[l];
        for (int i = 0; i < count; i++) {
            int64_t x = (int64_t)(pa[l] >> (bits * i) & ((1u << bits) - 1));
            int64_t y = (int64_t)(pb[l] >> (bits * i) & ((1u << bits) - 1)), v = 0;
            if (is_signed) {
                x = x > top ? x - (1 << bits) : x;
                y = y > top ? y - (1 << bits) : y;
            }
            switch (o->kind) {
            case 0:
                v = x + y;
                break;
            case 1:
                v = x - y;
                break;
            case 2:
                v = (x + y + 1) >> 1;
                break;
            case 3:
                v = x < y ? y - x : x - y;
                break;
            case 4:
                v = x < y ? x : y;
                break;
            default:
                v = x > y ? x : y;
            }
            if (saturate)
                v = v < bottom ? bottom : v > top ? top : v;
            sum += (uint32_t)v;
            r |= ((uint32_t)v & ((1u << bits) - 1)) << (bits * i);
        }
        d[l] = o->combine ? sum : r;
    }
    return 0;
}
