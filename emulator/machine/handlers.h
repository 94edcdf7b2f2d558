/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of all handlers, as an enumeration and with what the decoder has to know of the ones that
 * work lane by lane. execute.c is compiled once per instruction set and exports one table of
 * handlers in the order of this enumeration. */
#ifndef EMU_MACHINE_HANDLERS_H
#define EMU_MACHINE_HANDLERS_H

#include "emulator/machine/machine.h"

/* Handlers that are written out by hand. */
// clang-format off
#define EMU_SPECIAL_HANDLERS(X) \
    X(nothing) X(rounded) X(set_32) X(set_f32) X(set_f16) X(set_bf16) X(set_f16x2) X(set_bf16x2) \
    X(set_mask_x2) X(setp_x2) X(mov_pred) X(and_pred) X(or_pred) X(xor_pred) X(not_pred) \
    X(selp_32) X(selp_64) X(slct_32) X(slct_64) X(slct_f32_32) X(slct_f32_64) X(special) \
    X(local_address) X(parameter_address) X(pack) X(unpack) X(extend) X(narrow) X(to_generic) \
    X(from_generic) X(is_space) X(carry_32) X(carry_64) X(video) X(load_global_32) \
    X(load_global_64) X(load_global_other) X(load_global_vector) X(load_shared_32) \
    X(load_shared_64) X(load_shared_other) X(load_shared_vector) X(load_local) X(load_generic) \
    X(load_parameter) X(load_area) X(store_area) X(store_global_32) X(store_global_64) \
    X(store_global_other) X(store_global_vector) X(store_shared_32) X(store_shared_64) \
    X(store_shared_other) X(store_shared_vector) X(store_local) X(store_generic) X(atomic) \
    X(atomic_128) X(copy_async) X(copy_bulk) X(store_async) X(prefetch) X(shuffle) X(vote) X(match) X(reduce_32) X(active_mask) X(elect) \
    X(barrier_value) X(mbarrier) X(trap) X(multiply) X(load_fragment) X(store_fragment) \
    X(load_matrix) X(store_matrix) X(transpose_matrix)
// clang-format on

typedef enum emu_handler_number {
#define OP_1(name, ...)  H_##name,
#define OP_2(name, ...)  H_##name,
#define OP_3(name, ...)  H_##name,
#define OP_4(name, ...)  H_##name,
#define OP_1G(name, ...) H_##name,
#define OP_2G(name, ...) H_##name,
#define OP_3G(name, ...) H_##name,
#define OP_C(name, ...)  H_setp_##name, H_compare_##name,
#define OP_T(name, ...)  H_##name,
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
    H_FIRST_SPECIAL,
#define X(name) H_##name,
    EMU_SPECIAL_HANDLERS(X)
#undef X
        HANDLERS
} emu_handler_number;

typedef struct emu_operation {
    const char *name;
    int handler, compare; /* compare: the handler that only finds the mask, 0 for others */
    int sources;
    ptx_type d, source[4]; /* as slots: PTX_U16, PTX_F32, ...; d PTX_PRED for tests */
} emu_operation;

/* NULL if there is no operation of that name. */
const emu_operation *emu_operation_find(const char *name);

extern const emu_handler emu_handlers_base[HANDLERS], emu_handlers_avx2[HANDLERS];
int emu_run_warp_base(emu_warp *warp, uint64_t budget);
int emu_run_warp_avx2(emu_warp *warp, uint64_t budget);

/* kinds of H_special */
typedef enum emu_special {
    SPECIAL_TID_X,
    SPECIAL_TID_Y,
    SPECIAL_TID_Z,
    SPECIAL_NTID_X,
    SPECIAL_NTID_Y,
    SPECIAL_NTID_Z,
    SPECIAL_CTAID_X,
    SPECIAL_CTAID_Y,
    SPECIAL_CTAID_Z,
    SPECIAL_NCTAID_X,
    SPECIAL_NCTAID_Y,
    SPECIAL_NCTAID_Z,
    SPECIAL_LANE,
    SPECIAL_WARP,
    SPECIAL_WARPS,
    SPECIAL_SM,
    SPECIAL_SMS,
    SPECIAL_GRID,
    SPECIAL_LANEMASK_EQ,
    SPECIAL_LANEMASK_LE,
    SPECIAL_LANEMASK_LT,
    SPECIAL_LANEMASK_GE,
    SPECIAL_LANEMASK_GT,
    SPECIAL_CLOCK,
    SPECIAL_CLOCK_HI,
    SPECIAL_TIMER,
    SPECIAL_TIMER_HI,
    SPECIAL_WORKSPACE,
    SPECIAL_WORKSPACE_HI,
    SPECIAL_DYNAMIC_SHARED,
    SPECIAL_TOTAL_SHARED,
    SPECIAL_ZERO,
    SPECIAL_ONE,
    SPECIALS
} emu_special;

/* kinds of H_atomic */
typedef enum emu_atomic {
    ATOMIC_ADD,
    ATOMIC_MIN,
    ATOMIC_MAX,
    ATOMIC_INC,
    ATOMIC_DEC,
    ATOMIC_AND,
    ATOMIC_OR,
    ATOMIC_XOR,
    ATOMIC_EXCH,
    ATOMIC_CAS
} emu_atomic;

/* kinds of H_shuffle, H_vote, H_reduce_32, H_carry_*, H_barrier_value */
typedef enum emu_shuffle { SHUFFLE_UP, SHUFFLE_DOWN, SHUFFLE_BUTTERFLY, SHUFFLE_INDEX } emu_shuffle;
typedef enum emu_vote { VOTE_ALL, VOTE_ANY, VOTE_UNIFORM, VOTE_BALLOT } emu_vote;
typedef enum emu_reduce {
    REDUCE_ADD,
    REDUCE_MIN_U,
    REDUCE_MAX_U,
    REDUCE_MIN_S,
    REDUCE_MAX_S,
    REDUCE_AND,
    REDUCE_OR,
    REDUCE_XOR,
    REDUCE_MIN_F,
    REDUCE_MAX_F
} emu_reduce;
enum { REDUCE_MAGNITUDE = 1, REDUCE_NAN = 2 }; /* immediate: .abs, .NaN */
enum {
    CARRY_IN = 1,
    CARRY_OUT = 2,
    CARRY_SUBTRACT = 4,
    CARRY_MULTIPLY_LOW = 8,
    CARRY_MULTIPLY_HIGH = 16,
    CARRY_SIGNED = 32
};
typedef enum emu_bar_red { BAR_RED_NONE, BAR_RED_AND, BAR_RED_OR, BAR_RED_POPC } emu_bar_red;
typedef enum emu_mbarrier {
    MBARRIER_INIT,
    MBARRIER_INVALIDATE,
    MBARRIER_ARRIVE,
    MBARRIER_ARRIVE_DROP,
    MBARRIER_ARRIVE_EXPECT, /* bytes are announced, then one arrives */
    MBARRIER_ARRIVE_DROP_EXPECT,
    MBARRIER_EXPECT,
    MBARRIER_COMPLETE,
    MBARRIER_TEST,
    MBARRIER_TEST_PARITY,
    MBARRIER_PENDING
} emu_mbarrier;
/* kinds of H_copy_async: c holds how many bytes come from memory, or whether none does */
enum { COPY_WHOLE, COPY_SIZED, COPY_IGNORED };
/* kinds of H_copy_bulk: where to */
typedef enum emu_bulk { BULK_TO_SHARED, BULK_WITHIN_SHARED, BULK_TO_GLOBAL } emu_bulk;

#endif
