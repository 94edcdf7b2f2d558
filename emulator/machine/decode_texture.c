/* SPDX-License-Identifier: Apache-2.0
 *
 * Textures and surfaces: tex, tld4, txq, suld, sust, sured, suq. texture.c runs them. */
#include "emulator/machine/decode.h"

#include <string.h>

/* ---- Operands ----------------------------------------------------------------------------------
 */

typedef struct shape_word {
    const char *name;
    emu_shape shape;
    int coordinates; /* at least; the layer is one of them */
    bool layered;
} shape_word;

static const shape_word *find_shape(const decoder *d) {
    static const shape_word words[] = {{"1d", EMU_SHAPE_1D, 1, false},
                                       {"2d", EMU_SHAPE_2D, 2, false},
                                       {"3d", EMU_SHAPE_3D, 3, false},
                                       {"a1d", EMU_SHAPE_1D_LAYERED, 2, true},
                                       {"a2d", EMU_SHAPE_2D_LAYERED, 3, true},
                                       {"cube", EMU_SHAPE_CUBE, 3, false},
                                       {"acube", EMU_SHAPE_CUBE_LAYERED, 4, true}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (emu_has(d, words[i].name))
            return &words[i];
    return NULL;
}

typedef struct request { /* an instruction being decoded */
    uint32_t ref[TEXTURE_REFS];
    uint32_t handle;
    emu_texture_op op;
} request;

static request new_request(void) {
    request r = {.handle = UINT32_MAX};
    memset(r.ref, 0xff, sizeof r.ref);
    return r;
}

/* Up to MOST elements of a vector (or a single operand) as values of TYPE, from FIRST on. */
static bool take_list(decoder *d, const ptx_operand *p, int first, int most, ptx_type type,
                      uint32_t *ref) {
    const ptx_operand *list = p->kind == PTX_OPERAND_VECTOR ? p->element : p;
    const int count = p->kind == PTX_OPERAND_VECTOR ? p->count : 1;
    for (int i = 0; first + i < count && i < most; i++)
        ref[i] = emu_source(d, &list[first + i], type);
    return !d->fault->status;
}

static bool take_handle(decoder *d, const ptx_operand *address, request *r) {
    if (address->kind != PTX_OPERAND_ADDRESS || address->offset)
        return emu_decode_unsupported(d);
    r->handle = emu_source(d, &address->element[0], PTX_B64);
    return !d->fault->status;
}

/* "[handle, {coordinates}]", with a sampler between them in texmode_independent. */
static bool take_place(decoder *d, const ptx_operand *address, const shape_word *shape,
                       ptx_type type, request *r) {
    if (!take_handle(d, address, r))
        return false;
    if (address->count < 2 || address->count > 3)
        return emu_decode_fail(d, EMU_BAD_PTX, "%s with %d operands in its brackets",
                               d->in->mnemonic, address->count);
    const ptx_operand *at = &address->element[address->count - 1];
    const int count = at->kind == PTX_OPERAND_VECTOR ? at->count : 1;
    if (count < shape->coordinates)
        return emu_decode_fail(d, EMU_BAD_PTX, "%s with %d coordinates", d->in->mnemonic, count);
    if (address->count == 3)
        r->ref[TEXTURE_SAMPLER] = emu_source(d, &address->element[1], PTX_B64);
    if (shape->layered && !take_list(d, at, 0, 1, PTX_B32, &r->ref[TEXTURE_AT + 3]))
        return false;
    r->op.shape = (uint8_t)shape->shape;
    return take_list(d, at, shape->layered, shape->coordinates - shape->layered, type,
                     &r->ref[TEXTURE_AT]);
}

/* Registers that a load writes. */
static bool take_results(decoder *d, const ptx_operand *p, ptx_type type, int expected,
                         request *r) {
    const ptx_operand *list = p->kind == PTX_OPERAND_VECTOR ? p->element : p;
    const int count = p->kind == PTX_OPERAND_VECTOR ? p->count : 1;
    if (count != expected)
        return emu_decode_fail(d, EMU_BAD_PTX, "%s with %d registers, %d expected", d->in->mnemonic,
                               count, expected);
    for (int i = 0; i < count; i++) {
        if (list[i].kind == PTX_OPERAND_SINK)
            continue;
        r->ref[TEXTURE_DATA + i] = emu_destination(d, &list[i], type);
        if (d->moved_from != UINT32_MAX)
            return emu_decode_fail(d, EMU_BAD_PTX, "%s into a register of another width",
                                   d->in->mnemonic);
    }
    return !d->fault->status;
}

static bool finish_request(decoder *d, emu_handler run, emu_count_kind kind, const request *r,
                           emu_op **op) {
    emu_op *o = emu_emit(d, H_nothing, kind);
    emu_extra *x = o ? emu_add_extra(d, o, TEXTURE_REFS) : NULL;
    if (!x)
        return false;
    memcpy(x->ref, r->ref, sizeof r->ref);
    x->texture = r->op;
    o->run = run;
    o->a = r->handle;
    if (op)
        *op = o;
    return !d->fault->status;
}

static int vector_size(const decoder *d) {
    return emu_has(d, "v4") ? 4 : emu_has(d, "v2") ? 2 : 1;
}

/* ---- Fetches ----------------------------------------------------------------------------------
 */

static bool result_type(decoder *d, ptx_type type, request *r, ptx_type *slot, int *count) {
    *slot = PTX_B32;
    *count = 4;
    switch (type) {
    case PTX_F32:
    case PTX_S32:
    case PTX_U32:
        r->op.result = RESULT_32;
        break;
    case PTX_F16:
        r->op.result = RESULT_F16;
        *slot = PTX_B16;
        break;
    case PTX_F16X2:
        r->op.result = RESULT_F16X2;
        *count = 2;
        break;
    default:
        return emu_decode_unsupported(d);
    }
    return vector_size(d) == *count ? true : emu_decode_unsupported(d);
}

/* Level or gradients, offsets: what follows the place. */
static bool take_rest(decoder *d, const shape_word *shape, request *r) {
    const ptx_operand *p = d->in->operand;
    const int dimensions = shape->coordinates - shape->layered;
    int at = 2;
    if (r->op.form == TEXTURE_LEVEL) {
        if (!emu_need(d, 3, 4) || !take_list(d, &p[at++], 0, 1, PTX_F32, &r->ref[TEXTURE_DX]))
            return false;
    } else if (r->op.form == TEXTURE_GRADIENT) {
        if (!emu_need(d, 4, 5) ||
            !take_list(d, &p[at++], 0, dimensions, PTX_F32, &r->ref[TEXTURE_DX]) ||
            !take_list(d, &p[at++], 0, dimensions, PTX_F32, &r->ref[TEXTURE_DY]))
            return false;
    }
    if (d->in->operand_count == at)
        return true;
    if (d->in->operand_count > at + 1 || p[at].kind != PTX_OPERAND_VECTOR)
        return emu_decode_unsupported(d); /* a value to compare depths with */
    return take_list(d, &p[at], 0, 3, PTX_B32, &r->ref[TEXTURE_OFFSET]);
}

static bool decode_fetch(decoder *d, emu_texture_form form) {
    const shape_word *shape = find_shape(d);
    const ptx_type type = emu_type_at(d, 0), coordinate = emu_type_at(d, 1);
    request r = new_request();
    ptx_type slot;
    int count;
    if (!shape || (coordinate != PTX_F32 && coordinate != PTX_S32))
        return emu_decode_unsupported(d);
    if (!emu_need(d, 2, 5))
        return false;
    r.op.form = (uint8_t)form;
    r.op.integer = coordinate == PTX_S32;
    const bool cube = shape->shape == EMU_SHAPE_CUBE || shape->shape == EMU_SHAPE_CUBE_LAYERED;
    if ((r.op.integer && (cube || form == TEXTURE_GATHER || form == TEXTURE_GRADIENT)) ||
        (form == TEXTURE_GATHER && (shape->shape == EMU_SHAPE_1D || shape->shape == EMU_SHAPE_3D ||
                                    shape->shape == EMU_SHAPE_1D_LAYERED)))
        return emu_decode_unsupported(d);
    if (!result_type(d, type, &r, &slot, &count) ||
        !take_place(d, &d->in->operand[1], shape, coordinate, &r) || !take_rest(d, shape, &r) ||
        !take_results(d, &d->in->operand[0], slot, count, &r))
        return false;
    if (form == TEXTURE_GATHER && !emu_has(d, "r"))
        r.op.component = emu_has(d, "g") ? 1 : emu_has(d, "b") ? 2 : emu_has(d, "a") ? 3 : 0;
    const ptx_operand *resident = d->in->operand[0].second;
    const uint32_t predicate = resident ? emu_destination_predicate(d, resident) : UINT32_MAX;
    emu_op *o;
    if (!finish_request(d, emu_run_texture, COUNT_MEMORY, &r, &o))
        return false;
    o->second = predicate;
    emu_count_memory(d, EMU_TEXTURE, EMU_LOAD, 0); /* the memory model sees its accesses */
    return !d->fault->status;
}

static bool decode_tex(decoder *d) {
    emu_has(d, "base"); /* level 0, which a plain fetch takes as well */
    return decode_fetch(d, emu_has(d, "level")  ? TEXTURE_LEVEL
                           : emu_has(d, "grad") ? TEXTURE_GRADIENT
                                                : TEXTURE_PLAIN);
}

static bool decode_tld4(decoder *d) {
    return decode_fetch(d, TEXTURE_GATHER);
}

/* ---- Surfaces ---------------------------------------------------------------------------------
 */

static uint8_t outside_of(const decoder *d) {
    if (emu_has(d, "trap"))
        return OUTSIDE_TRAP;
    return emu_has(d, "clamp") ? OUTSIDE_CLAMP : emu_has(d, "zero") ? OUTSIDE_ZERO : OUTSIDE_TRAP;
}

/* Shape, kind of coordinate, behaviour outside. */
static const shape_word *start_surface(decoder *d, request *r) {
    const shape_word *shape = find_shape(d);
    *r = new_request();
    r->op.surface = true;
    r->op.outside = outside_of(d);
    r->op.formatted = emu_has(d, "p");
    if (!shape || emu_has(d, "b") == emu_has(d, "p")) {
        emu_decode_unsupported(d);
        return NULL;
    }
    return shape;
}

static void finish_surface(decoder *d, emu_op *o, emu_access_op access, ptx_type type, int count) {
    o->bytes = (uint8_t)ptx_type_bytes(type);
    o->vector = (uint8_t)count;
    emu_count_memory(d, EMU_TEXTURE, access, 0);
}

static bool decode_suld(decoder *d) {
    request r;
    emu_op *o;
    const shape_word *shape = start_surface(d, &r);
    const ptx_type type = emu_last_type(d);
    const int count = vector_size(d);
    if (!shape || !emu_need(d, 2, 2))
        return false;
    if (r.op.formatted || !ptx_type_bytes(type) || ptx_type_bytes(type) * (unsigned)count > 16)
        return emu_decode_unsupported(d);
    if (!take_place(d, &d->in->operand[1], shape, PTX_B32, &r) ||
        !take_results(d, &d->in->operand[0], type, count, &r) ||
        !finish_request(d, emu_run_surface_load, COUNT_MEMORY, &r, &o))
        return false;
    finish_surface(d, o, EMU_LOAD, type, count);
    return true;
}

static bool decode_sust(decoder *d) {
    request r;
    emu_op *o;
    const shape_word *shape = start_surface(d, &r);
    const ptx_type type = emu_last_type(d);
    const int count = vector_size(d);
    if (!shape || !emu_need(d, 2, 2))
        return false;
    const ptx_operand *data = &d->in->operand[1];
    const int given = data->kind == PTX_OPERAND_VECTOR ? data->count : 1;
    if (!ptx_type_bytes(type) || ptx_type_bytes(type) * (unsigned)count > 16 ||
        (r.op.formatted && ptx_type_bytes(type) != 4))
        return emu_decode_unsupported(d);
    if (given != count)
        return emu_decode_fail(d, EMU_BAD_PTX, "%s with %d registers, %d expected", d->in->mnemonic,
                               given, count);
    if (!take_place(d, &d->in->operand[0], shape, PTX_B32, &r) ||
        !take_list(d, data, 0, count, type, &r.ref[TEXTURE_DATA]) ||
        !finish_request(d, emu_run_surface_store, COUNT_MEMORY, &r, &o))
        return false;
    finish_surface(d, o, EMU_STORE, type, count);
    return true;
}

static bool decode_sured(decoder *d) {
    static const char *const names[] = {"add", "min", "max", "and", "or"};
    request r;
    emu_op *o;
    const shape_word *shape = start_surface(d, &r);
    const ptx_type type = emu_last_type(d);
    int reduction = -1;
    if (!shape || !emu_need(d, 2, 2))
        return false;
    for (int i = 0; i < (int)(sizeof names / sizeof *names); i++)
        if (emu_has(d, names[i]))
            reduction = i;
    if (reduction < 0 || is_float(type) || ptx_type_bytes(type) < 4 || ptx_type_bytes(type) > 8)
        return emu_decode_unsupported(d);
    r.op.reduction = (uint8_t)reduction;
    r.op.is_signed = is_signed(type);
    if (!take_place(d, &d->in->operand[0], shape, PTX_B32, &r) ||
        !take_list(d, &d->in->operand[1], 0, 1, type, &r.ref[TEXTURE_DATA]) ||
        !finish_request(d, emu_run_surface_reduce, COUNT_MEMORY, &r, &o))
        return false;
    finish_surface(d, o, EMU_ATOMIC, type, 1);
    return true;
}

/* ---- Queries ----------------------------------------------------------------------------------
 */

static bool decode_query(decoder *d) {
    static const struct {
        const char *name;
        emu_texture_query query;
    } queries[] = {{"width", QUERY_WIDTH},
                   {"height", QUERY_HEIGHT},
                   {"depth", QUERY_DEPTH},
                   {"channel_data_type", QUERY_CHANNEL_TYPE},
                   {"channel_order", QUERY_CHANNEL_ORDER},
                   {"normalized_coords", QUERY_NORMALIZED},
                   {"array_size", QUERY_LAYERS},
                   {"num_mipmap_levels", QUERY_LEVELS},
                   {"num_samples", QUERY_SAMPLES},
                   {"filter_mode", QUERY_FILTER},
                   {"addr_mode_0", QUERY_ADDRESS_0},
                   {"addr_mode_1", QUERY_ADDRESS_1},
                   {"addr_mode_2", QUERY_ADDRESS_2},
                   {"force_unnormalized_coords", QUERY_UNNORMALIZED},
                   {"memory_layout", QUERY_LAYOUT}};
    const bool level = emu_has(d, "level");
    request r = new_request();
    size_t i = 0;
    while (i < sizeof queries / sizeof *queries && !emu_has(d, queries[i].name))
        i++;
    if (i == sizeof queries / sizeof *queries || emu_last_type(d) != PTX_B32)
        return emu_decode_unsupported(d);
    if (!emu_need(d, 2 + level, 2 + level))
        return false;
    r.op.query = (uint8_t)queries[i].query;
    r.op.surface = strcmp(d->in->opcode, "suq") == 0;
    return take_handle(d, &d->in->operand[1], &r) &&
           (!level || take_list(d, &d->in->operand[2], 0, 1, PTX_B32, &r.ref[TEXTURE_DX])) &&
           take_results(d, &d->in->operand[0], PTX_B32, 1, &r) &&
           finish_request(d, emu_run_texture_query, COUNT_MOVE, &r, NULL);
}

const emu_instruction emu_texture_instructions[] = {
    {"suld", decode_suld}, {"suq", decode_query}, {"sured", decode_sured}, {"sust", decode_sust},
    {"tex", decode_tex},   {"tld4", decode_tld4}, {"txq", decode_query},   {NULL, NULL}};
