/* SPDX-License-Identifier: Apache-2.0
 *
 * What the handlers' files (execute_*.c) share: lanes, registers, predicates. They are compiled
 * once per instruction set of the host (EMU_ISA names it), each time with the loops over the 32
 * lanes vectorised for it; a handler's name carries the instruction set. */
#ifndef EMU_MACHINE_EXECUTE_H
#define EMU_MACHINE_EXECUTE_H

#include "emulator/machine/handlers.h"
#include "emulator/machine/lanes.h"

#include <stdalign.h>
#include <string.h>

#ifndef EMU_ISA
#error "EMU_ISA must name the instruction set: base or avx2"
#endif
#define PASTE_(a, b)   a##_##b
#define PASTE(a, b)    PASTE_(a, b)
#define EXPORTED(name) PASTE(name, EMU_ISA)

#define INLINE static inline __attribute__((always_inline))
/* Guest programs may race; that is not a race of ours. */
#define GUEST __attribute__((no_sanitize("thread")))

#ifdef __clang__
#define LANE_LOOP _Pragma("clang loop vectorize(assume_safety)") for (int l = 0; l < WARP; l++)
#else
#define LANE_LOOP _Pragma("GCC ivdep") for (int l = 0; l < WARP; l++)
#endif
#define EACH_LANE(mask)                                                                            \
    for (uint32_t left_ = (mask), l; left_ && (l = (uint32_t)__builtin_ctz(left_), 1);             \
         left_ &= left_ - 1)

#define ALL_LANES UINT32_MAX

typedef uint8_t u8_t;
typedef int8_t s8_t;
typedef uint16_t u16_t;
typedef int16_t s16_t;
typedef uint32_t u32_t;
typedef int32_t s32_t;
typedef uint64_t u64_t;
typedef int64_t s64_t;
typedef float f32_t;
typedef double f64_t;

/* How a type lies in its slot. */
#define SLOT_u8    uint32_t
#define SLOT_s8    uint32_t
#define SLOT_u16   uint32_t
#define SLOT_s16   uint32_t
#define SLOT_u32   uint32_t
#define SLOT_s32   int32_t
#define SLOT_u64   uint64_t
#define SLOT_s64   int64_t
#define SLOT_f32   float
#define SLOT_f64   double
#define PUT_u8(x)  (uint32_t)(uint8_t)(x)
#define PUT_s8(x)  (uint32_t)(int32_t)(x)
#define PUT_u16(x) (uint32_t)(uint16_t)(x)
#define PUT_s16(x) (uint32_t)(uint16_t)(x)
#define PUT_u32(x) (uint32_t)(x)
#define PUT_s32(x) (int32_t)(x)
#define PUT_u64(x) (uint64_t)(x)
#define PUT_s64(x) (int64_t)(x)
#define PUT_f32(x) (float)(x)
#define PUT_f64(x) (double)(x)

static const alignas(32) uint32_t lane_bit[WARP] = {
    1u << 0,  1u << 1,  1u << 2,  1u << 3,  1u << 4,  1u << 5,  1u << 6,  1u << 7,
    1u << 8,  1u << 9,  1u << 10, 1u << 11, 1u << 12, 1u << 13, 1u << 14, 1u << 15,
    1u << 16, 1u << 17, 1u << 18, 1u << 19, 1u << 20, 1u << 21, 1u << 22, 1u << 23,
    1u << 24, 1u << 25, 1u << 26, 1u << 27, 1u << 28, 1u << 29, 1u << 30, 1u << 31};

INLINE void *at(const emu_warp *w, uint32_t ref) {
    return w->base[ref & 1] + ref;
}

INLINE uint32_t *predicate(const emu_warp *w, uint32_t ref) {
    return at(w, ref);
}

INLINE void put_predicate(const emu_warp *w, uint32_t ref, uint32_t value) {
    uint32_t *p = predicate(w, ref);
    *p = (*p & ~w->mask) | (value & w->mask);
}

#define HANDLER(name)    int EXPORTED(handle_##name)(emu_warp * w, const emu_op *o)
#define OP_1(name, ...)  HANDLER(name);
#define OP_2(name, ...)  HANDLER(name);
#define OP_3(name, ...)  HANDLER(name);
#define OP_4(name, ...)  HANDLER(name);
#define OP_1G(name, ...) HANDLER(name);
#define OP_2G(name, ...) HANDLER(name);
#define OP_3G(name, ...) HANDLER(name);
#define OP_C(name, ...)                                                                            \
    HANDLER(setp_##name);                                                                          \
    HANDLER(compare_##name);
#define OP_T(name, ...) HANDLER(name);
#include "emulator/machine/operations.def"
#undef OP_1
#undef OP_2
#undef OP_3
#undef OP_4
#undef OP_1G
#undef OP_2G
#undef OP_3G
#undef OP_C
#undef OP_T
#define X(name) HANDLER(name);
EMU_SPECIAL_HANDLERS(X)
#undef X

INLINE uint32_t source_predicate(const emu_warp *w, uint32_t ref, bool negated) {
    uint32_t p = *predicate(w, ref);
    return negated ? ~p : p;
}

INLINE uint64_t slot_value(const emu_warp *w, uint32_t ref, bool wide, uint32_t l) {
    return wide ? ((const uint64_t *)at(w, ref))[l] : ((const uint32_t *)at(w, ref))[l];
}

INLINE void put_wide(const emu_warp *w, const emu_op *o, uint32_t l, uint64_t value) {
    if (o->flags & OP_WIDE_D)
        ((uint64_t *)at(w, o->d))[l] = value;
    else
        ((uint32_t *)at(w, o->d))[l] = (uint32_t)value;
}

INLINE uint32_t pack_2(uint16_t low, uint16_t high) {
    return (uint32_t)high << 16 | low;
}

/* ---- all lanes of an operation ------------------------------------------------------------------
 */

#define SOURCE(T, ref, name) const SLOT_##T *name = at(w, o->ref)
#define VALUE(T, array, name)                                                                      \
    T##_t name = (T##_t)(array)[l];                                                                \
    (void)name

/* all lanes at once where all are on; else a blend, or lane by lane if GUARDED */
#define LANES(D, GUARDED, VALUES, EXPRESSION)                                                      \
    SLOT_##D *d = at(w, o->d);                                                                     \
    const uint32_t mask = w->mask;                                                                 \
    if (mask == ALL_LANES && !(GUARDED)) {                                                         \
        LANE_LOOP {                                                                                \
            VALUES;                                                                                \
            d[l] = PUT_##D(EXPRESSION);                                                            \
        }                                                                                          \
    } else if (!(GUARDED)) {                                                                       \
        LANE_LOOP {                                                                                \
            VALUES;                                                                                \
            SLOT_##D r = PUT_##D(EXPRESSION);                                                      \
            d[l] = mask & lane_bit[l] ? r : d[l];                                                  \
        }                                                                                          \
    } else {                                                                                       \
        EACH_LANE(mask) {                                                                          \
            VALUES;                                                                                \
            d[l] = PUT_##D(EXPRESSION);                                                            \
        }                                                                                          \
    }                                                                                              \
    return 0

#define MAKE_1(name, D, A, G, EXPRESSION)                                                          \
    HANDLER(name) {                                                                                \
        SOURCE(A, a, pa);                                                                          \
        LANES(D, G, VALUE(A, pa, a), EXPRESSION);                                                  \
    }
#define MAKE_2(name, D, A, B, G, EXPRESSION)                                                       \
    HANDLER(name) {                                                                                \
        SOURCE(A, a, pa);                                                                          \
        SOURCE(B, b, pb);                                                                          \
        LANES(D, G, VALUE(A, pa, a); VALUE(B, pb, b), EXPRESSION);                                 \
    }
#define MAKE_3(name, D, A, B, C, G, EXPRESSION)                                                    \
    HANDLER(name) {                                                                                \
        SOURCE(A, a, pa);                                                                          \
        SOURCE(B, b, pb);                                                                          \
        SOURCE(C, c, pc);                                                                          \
        LANES(D, G, VALUE(A, pa, a); VALUE(B, pb, b); VALUE(C, pc, c), EXPRESSION);                \
    }
#endif
