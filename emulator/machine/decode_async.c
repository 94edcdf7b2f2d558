/* SPDX-License-Identifier: Apache-2.0
 *
 * Asynchronous copies and the barriers in memory (mbarrier) that they complete on. Copies are made
 * at once, so that waiting for groups of them is nothing to do. */
#include "emulator/machine/decode.h"

#include <string.h>

/* ---- mbarrier ----------------------------------------------------------------------------------
 */

/* What the instruction is, and the type of the operand behind the address: PTX_NONE if there is
 * none. -1: not known. */
static int mbarrier_kind(const decoder *d, ptx_type *operand, bool *required) {
    const bool expect = emu_has(d, "expect_tx");
    *operand = PTX_B32;
    *required = true;
    if (emu_has(d, "init"))
        return MBARRIER_INIT;
    if (emu_has(d, "complete_tx"))
        return MBARRIER_COMPLETE;
    if (emu_has(d, "test_wait") || emu_has(d, "try_wait")) {
        bool parity = emu_has(d, "parity");
        *operand = parity ? PTX_B32 : PTX_B64;
        return parity ? MBARRIER_TEST_PARITY : MBARRIER_TEST;
    }
    emu_has(d, "noComplete"); /* a promise */
    bool arrive = emu_has(d, "arrive"), drop = emu_has(d, "arrive_drop");
    if (expect)
        return arrive ? MBARRIER_ARRIVE_EXPECT
               : drop ? MBARRIER_ARRIVE_DROP_EXPECT
                      : MBARRIER_EXPECT;
    *required = false;
    if (arrive || drop)
        return arrive ? MBARRIER_ARRIVE : MBARRIER_ARRIVE_DROP;
    *operand = PTX_NONE;
    if (emu_has(d, "inval"))
        return MBARRIER_INVALIDATE;
    return -1;
}

static bool decode_pending_count(decoder *d) {
    if (!emu_need(d, 2, 2))
        return false;
    uint32_t a = emu_source(d, &d->in->operand[1], PTX_B64);
    uint32_t to = emu_destination(d, &d->in->operand[0], PTX_B32);
    emu_op *o = emu_emit(d, H_mbarrier, COUNT_BARRIER);
    if (!o)
        return false;
    o->a = a;
    o->d = to;
    o->kind = MBARRIER_PENDING;
    return !d->fault->status;
}

static bool emit_mbarrier(decoder *d, int kind, const ptx_operand *address, uint32_t b,
                          uint32_t to) {
    emu_place where;
    if (!emu_decode_address(d, address, &where))
        return false;
    emu_op *o = emu_emit(d, H_mbarrier, COUNT_BARRIER);
    if (!o)
        return false;
    o->a = where.ref;
    o->immediate = where.offset;
    o->flags |= where.wide ? OP_WIDE_ADDRESS : 0;
    o->b = b;
    o->d = to;
    o->kind = (uint8_t)kind;
    o->space = (uint8_t)(emu_space_of(d) == SPACE_GENERIC ? EMU_TEXTURE : EMU_SHARED);
    emu_number_memory(d, o);
    emu_count_memory(d, EMU_SHARED, EMU_ATOMIC, 8);
    emu_info(d)->kind = COUNT_BARRIER;
    return !d->fault->status;
}

static bool decode_mbarrier(decoder *d) {
    if (emu_has(d, "pending_count"))
        return decode_pending_count(d);
    ptx_type type;
    bool required;
    const int kind = mbarrier_kind(d, &type, &required), n = d->in->operand_count;
    if (kind < 0)
        return emu_decode_unsupported(d);
    const ptx_operand *p = d->in->operand;
    const bool test = kind == MBARRIER_TEST || kind == MBARRIER_TEST_PARITY;
    const int at = n > 0 && p[0].kind != PTX_OPERAND_ADDRESS; /* there is a result */
    /* behind the operand a wait may have a time that it suspends the thread for */
    const int most = at + 1 + (type != PTX_NONE) + test;
    if (!emu_need(d, at + 1 + required, most) || (test && !at))
        return d->fault->status ? false : emu_decode_unsupported(d);
    uint32_t b = UINT32_MAX;
    if (type != PTX_NONE && n > at + 1)
        b = emu_source(d, &p[at + 1], type);
    uint32_t to = !at || p[0].kind == PTX_OPERAND_SINK ? UINT32_MAX
                  : test                               ? emu_destination_predicate(d, &p[0])
                                                       : emu_destination(d, &p[0], PTX_B64);
    return emit_mbarrier(d, kind, &p[at], b, to);
}

/* ---- cp.async ----------------------------------------------------------------------------------
 */

/* cp.async.mbarrier.arrive: the copies are done, so it arrives at once. Without .noinc it expects
 * one arrival more first: no change. */
static bool decode_copy_arrival(decoder *d) {
    emu_has(d, "arrive");
    emu_space_of(d);
    if (!emu_has(d, "noinc"))
        return emu_need(d, 1, 1) && emu_decode_nothing(d);
    return emu_need(d, 1, 1) &&
           emit_mbarrier(d, MBARRIER_ARRIVE, &d->in->operand[0], UINT32_MAX, UINT32_MAX);
}

static bool decode_copy(decoder *d) {
    if (!emu_need(d, 3, 5))
        return false;
    const ptx_operand *p = d->in->operand;
    emu_place to, from;
    emu_op flags = {0};
    if (!emu_decode_address(d, &p[0], &to) || !emu_decode_address(d, &p[1], &from))
        return false;
    if (p[2].kind != PTX_OPERAND_INTEGER ||
        (p[2].value != 4 && p[2].value != 8 && p[2].value != 16) || !emu_has_prefix(d, "shared") ||
        !emu_has(d, "global"))
        return emu_decode_unsupported(d);
    /* the fourth: how many bytes are read, whether none is, or a cache policy */
    const bool policy = emu_has(d, "L2::cache_hint");
    int kind = COPY_WHOLE;
    uint32_t c = 0;
    if (d->in->operand_count > 3 + policy) {
        bool ignore =
            p[3].kind == PTX_OPERAND_REGISTER && d->body->register_type[p[3].reg] == PTX_PRED;
        kind = ignore ? COPY_IGNORED : COPY_SIZED;
        c = ignore ? emu_source_predicate(d, &p[3], &flags, OP_NEGATE_C)
                   : emu_source(d, &p[3], PTX_B32);
    }
    emu_op *o = emu_emit(d, H_copy_async, COUNT_MEMORY);
    if (!o)
        return false;
    o->a = from.ref;
    o->immediate = from.offset;
    o->flags |= flags.flags | (from.wide ? OP_WIDE_ADDRESS : 0);
    o->b = to.ref;
    o->target = (uint32_t)to.offset;
    o->flags |= to.wide ? OP_WIDE_D : 0;
    o->bytes = (uint8_t)p[2].value;
    o->c = c;
    o->kind = (uint8_t)kind;
    o->flags |= emu_has(d, "cg") ? OP_L2_ONLY : 0;
    emu_number_memory(d, o);
    emu_count_memory(d, EMU_GLOBAL, EMU_LOAD, o->bytes);
    return !d->fault->status;
}

/* ---- cp.async.bulk, st.async -------------------------------------------------------------------
 */

/* The address that P gives, as a value of 64 bits; 1 on failure. */
static uint32_t whole_address(decoder *d, const ptx_operand *p) {
    emu_place at;
    if (!emu_decode_address(d, p, &at))
        return 1;
    uint32_t ref = at.ref;
    if (!at.wide) {
        emu_op *o = emu_emit_helper(d, H_extend);
        if (!o)
            return 1;
        o->a = ref;
        o->d = ref = emu_decode_temporary(d, true);
    }
    if (at.offset) {
        uint32_t sum = emu_decode_temporary(d, true);
        uint32_t offset = emu_decode_constant(d, (uint64_t)at.offset, true);
        emu_op *o = emu_emit_helper(d, H_add_b64);
        if (!o)
            return 1;
        o->a = ref;
        o->b = offset;
        o->d = ref = sum;
    }
    return ref;
}

static bool decode_bulk(decoder *d) {
    if (emu_has(d, "commit_group") || emu_has(d, "wait_group")) {
        emu_has(d, "read");
        return emu_decode_nothing(d);
    }
    if (emu_has(d, "tensor") || emu_has_prefix(d, "multicast") || emu_has(d, "cp_mask"))
        return emu_decode_unsupported(d);
    if (emu_has(d, "prefetch")) {
        emu_has(d, "L2");
        emu_has(d, "global");
        return emu_need(d, 2, 3) && emu_decode_nothing(d);
    }
    /* .DESTINATION.SOURCE: global.shared::cta, shared::cluster.global ... */
    const bool grouped = emu_has(d, "bulk_group"), global = emu_has(d, "global");
    const bool completes = emu_has(d, "mbarrier::complete_tx::bytes");
    if (!emu_has_prefix(d, "shared") || grouped == completes || (grouped && !global))
        return emu_decode_unsupported(d);
    emu_has(d, "L2::cache_hint");
    if (!emu_need(d, 3 + completes, 4 + completes))
        return false;
    const ptx_operand *p = d->in->operand;
    uint32_t to = whole_address(d, &p[0]), from = whole_address(d, &p[1]);
    uint32_t bytes = emu_source(d, &p[2], PTX_B32);
    uint32_t barrier = completes ? whole_address(d, &p[3]) : UINT32_MAX;
    emu_op *o = emu_emit(d, H_copy_bulk, COUNT_MEMORY);
    if (!o)
        return false;
    o->b = to;
    o->a = from;
    o->c = bytes;
    o->e = barrier;
    o->kind = (uint8_t)(grouped ? BULK_TO_GLOBAL : global ? BULK_TO_SHARED : BULK_WITHIN_SHARED);
    emu_number_memory(d, o);
    emu_count_memory(d, global ? EMU_GLOBAL : EMU_SHARED, grouped ? EMU_STORE : EMU_LOAD, 0);
    return !d->fault->status;
}

bool emu_decode_store_async(decoder *d) {
    const ptx_operand *p = d->in->operand;
    const ptx_type type = emu_last_type(d);
    if (strcmp(d->in->opcode, "st") != 0 || !emu_has(d, "mbarrier::complete_tx::bytes") ||
        (ptx_type_bytes(type) != 4 && ptx_type_bytes(type) != 8))
        return emu_decode_unsupported(d);
    if (!emu_need(d, 3, 3))
        return false;
    emu_space_of(d);
    const int said = emu_has(d, "v2") ? 2 : emu_has(d, "v4") ? 4 : 1;
    const ptx_operand *list = p[1].kind == PTX_OPERAND_VECTOR ? p[1].element : &p[1];
    const int count = p[1].kind == PTX_OPERAND_VECTOR ? p[1].count : 1;
    uint32_t ref[4];
    if (count != said || count * (int)ptx_type_bytes(type) > 16)
        return emu_decode_unsupported(d);
    for (int i = 0; i < count; i++)
        ref[i] = emu_source(d, &list[i], type);
    uint32_t to = whole_address(d, &p[0]), barrier = whole_address(d, &p[2]);
    emu_op *o = emu_emit(d, H_store_async, COUNT_MEMORY);
    emu_extra *x = o ? emu_add_extra(d, o, count) : NULL;
    if (!x)
        return false;
    memcpy(x->ref, ref, (size_t)count * sizeof *ref);
    o->b = to;
    o->e = barrier;
    o->bytes = (uint8_t)ptx_type_bytes(type);
    emu_number_memory(d, o);
    emu_count_memory(d, EMU_SHARED, EMU_STORE, o->bytes * (unsigned)count);
    return !d->fault->status;
}

static bool decode_cp(decoder *d) {
    if (!emu_has(d, "async") || emu_has(d, "reduce"))
        return emu_decode_unsupported(d);
    if (emu_has(d, "bulk"))
        return decode_bulk(d);
    if (emu_has(d, "commit_group") || emu_has(d, "wait_group") || emu_has(d, "wait_all"))
        return emu_decode_nothing(d);
    return emu_has(d, "mbarrier") ? decode_copy_arrival(d) : decode_copy(d);
}

const emu_instruction emu_async_instructions[] = {
    {"cp", decode_cp},
    {"mbarrier", decode_mbarrier},
    {NULL, NULL},
};
