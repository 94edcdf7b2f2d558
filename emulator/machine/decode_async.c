/* SPDX-License-Identifier: Apache-2.0
 *
 * Asynchronous copies and the barriers in memory (mbarrier) that they complete on. */
#include "emulator/machine/decode.h"

#include <string.h>

/* ---- mbarrier ----------------------------------------------------------------------------------
 */

static bool decode_mbarrier(decoder *d) {
    const ptx_operand *p = d->in->operand;
    int n = d->in->operand_count, kind, at = 0;
    bool cp = strcmp(d->in->opcode, "cp") == 0;
    bool result = false, count = false;
    ptx_type count_type = PTX_B32;
    if (cp) { /* cp.async.mbarrier.arrive: the copies are done, so it arrives at once */
        kind = MBARRIER_ARRIVE_NO_RESULT;
        if (!emu_has(d, "noinc"))
            return emu_decode_nothing(d); /* increments pending first, then arrives: no change */
    } else if (emu_has(d, "init")) {
        kind = MBARRIER_INIT;
        count = true;
    } else if (emu_has(d, "inval")) {
        kind = MBARRIER_INVALIDATE;
    } else if (emu_has(d, "pending_count")) {
        kind = MBARRIER_PENDING;
    } else if (emu_has(d, "expect_tx") || emu_has(d, "complete_tx")) {
        return emu_decode_unsupported(d);
    } else if (emu_has(d, "arrive") || emu_has(d, "arrive_drop")) {
        kind = emu_has(d, "arrive_drop") ? MBARRIER_ARRIVE_DROP : MBARRIER_ARRIVE;
        result = n > 0 && p[0].kind != PTX_OPERAND_ADDRESS;
        count = n > (result ? 2 : 1);
    } else if (emu_has(d, "test_wait") || emu_has(d, "try_wait")) {
        kind = emu_has(d, "parity") ? MBARRIER_TEST_PARITY : MBARRIER_TEST;
        count_type = emu_has(d, "parity") ? PTX_B32 : PTX_B64;
        result = count = true;
    } else {
        return emu_decode_unsupported(d);
    }
    bool test = kind == MBARRIER_TEST || kind == MBARRIER_TEST_PARITY;
    if (kind == MBARRIER_PENDING) {
        if (!emu_need(d, 2, 2))
            return false;
        uint32_t a = emu_source(d, &p[1], PTX_B64), to = emu_destination(d, &p[0], PTX_B32);
        emu_op *o = emu_emit(d, H_mbarrier, COUNT_BARRIER);
        if (!o)
            return false;
        o->a = a;
        o->d = to;
        o->kind = (uint8_t)kind;
        return !d->fault->status;
    }
    at = result ? 1 : 0;
    if (!emu_need(d, at + 1 + count, at + 2 + count))
        return false;
    emu_place where;
    if (!emu_decode_address(d, &p[at], &where))
        return false;
    uint32_t b = count ? emu_source(d, &p[at + 1], count_type) : UINT32_MAX;
    uint32_t to = !result                         ? UINT32_MAX
                  : test                          ? emu_destination_predicate(d, &p[0])
                  : p[0].kind == PTX_OPERAND_SINK ? UINT32_MAX
                                                  : emu_destination(d, &p[0], PTX_B64);
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

/* ---- copies ------------------------------------------------------------------------------------
 */

static bool decode_cp(decoder *d) {
    if (!emu_has(d, "async") || emu_has(d, "bulk") || emu_has(d, "reduce"))
        return emu_decode_unsupported(d);
    if (emu_has(d, "commit_group") || emu_has(d, "wait_group") || emu_has(d, "wait_all"))
        return emu_emit(d, H_nothing, COUNT_CONTROL) != NULL;
    if (emu_has(d, "mbarrier"))
        return decode_mbarrier(d);
    if (!emu_need(d, 3, 5))
        return false;
    const ptx_operand *p = d->in->operand;
    emu_place to, from;
    if (!emu_decode_address(d, &p[0], &to) || !emu_decode_address(d, &p[1], &from))
        return false;
    if (p[2].kind != PTX_OPERAND_INTEGER ||
        (p[2].value != 4 && p[2].value != 8 && p[2].value != 16))
        return emu_decode_unsupported(d);
    bool sized = d->in->operand_count > 3 && p[3].kind != PTX_OPERAND_VECTOR;
    if (sized && p[3].kind == PTX_OPERAND_REGISTER && d->body->register_type[p[3].reg] == PTX_PRED)
        return emu_decode_unsupported(d);
    uint32_t c = sized ? emu_source(d, &p[3], PTX_B32) : 0;
    emu_op *o = emu_emit(d, H_copy_async, COUNT_MEMORY);
    if (!o)
        return false;
    o->a = from.ref;
    o->immediate = from.offset;
    o->flags |= from.wide ? OP_WIDE_ADDRESS : 0;
    o->b = to.ref;
    o->target = (uint32_t)to.offset;
    o->flags |= to.wide ? OP_WIDE_D : 0;
    o->bytes = (uint8_t)p[2].value;
    o->c = c;
    o->kind = sized;
    o->flags |= emu_has(d, "cg") ? OP_L2_ONLY : 0;
    emu_number_memory(d, o);
    emu_count_memory(d, EMU_GLOBAL, EMU_LOAD, o->bytes);
    return !d->fault->status;
}

const emu_instruction emu_async_instructions[] = {
    {"cp", decode_cp},
    {"mbarrier", decode_mbarrier},
    {NULL, NULL},
};
