/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads the body of one function: declarations, labels and instructions with their operands. Names
 * are resolved against the scopes of the body; what is not found there is left as a symbol for the
 * linker. */
#include "emulator/ptx/parser.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_REGISTERS = 1 << 20, MAX_SCOPES = 64, MAX_OPERAND_NESTING = 4, TABLE_START = 64 };

typedef enum entity_kind {
    ENTITY_NONE,
    ENTITY_REGISTER,
    ENTITY_RANGE,
    ENTITY_VARIABLE,
    ENTITY_LABEL,
    ENTITY_TARGETS
} entity_kind;

/* A name and the brace depth it was declared in. Names of closed scopes stay in the table with
 * their scope's number, which is never used again. */
typedef struct entity {
    const char *name;
    size_t length;
    entity_kind kind;
    int scope;
    int number; /* register; first register of a range; label's instruction */
    int count;  /* of a range */
    ptx_variable *variable;
    ptx_targets *targets;
    struct entity *next; /* same hash */
} entity;

typedef struct fixup { /* a label used before or after its definition */
    ptx_operand *operand;
    ptx_targets *targets; /* or entry INDEX of a target list */
    int index;
    int scopes[MAX_SCOPES];
    int depth, line;
} fixup;

typedef struct reader {
    ptx_parser p;
    ptx_function *function;
    ptx_body *body;
    int instruction_capacity, register_capacity, name_capacity, variable_capacity;
    entity **table;
    size_t buckets, entities;
    int scopes[MAX_SCOPES], depth, next_scope;
    fixup **fixups;
    int fixup_count, fixup_capacity;
    int source_file, source_line;
} reader;

/* ---- names ------------------------------------------------------------------------------------
 */

static size_t hash(const char *name, size_t length) {
    size_t h = 5381;
    for (size_t i = 0; i < length; i++)
        h = h * 33 ^ (unsigned char)name[i];
    return h;
}

static void rehash(reader *r) {
    size_t buckets = r->buckets ? r->buckets * 2 : TABLE_START;
    entity **table = ptx_arena_take(&r->p.module->arena, buckets * sizeof *table);
    for (size_t b = 0; b < r->buckets; b++) {
        for (entity *e = r->table[b], *next; e; e = next) {
            next = e->next;
            entity **slot = &table[hash(e->name, e->length) & (buckets - 1)];
            e->next = *slot;
            *slot = e;
        }
    }
    r->table = table;
    r->buckets = buckets;
}

static entity *find_in_scope(const reader *r, const char *name, size_t length, int scope,
                             entity_kind kind) {
    if (!r->buckets)
        return NULL;
    for (entity *e = r->table[hash(name, length) & (r->buckets - 1)]; e; e = e->next)
        if (e->scope == scope && e->length == length && memcmp(e->name, name, length) == 0 &&
            (kind == ENTITY_NONE ? e->kind != ENTITY_RANGE : e->kind == kind))
            return e;
    return NULL;
}

static entity *declare(reader *r, const char *name, size_t length, entity_kind kind) {
    if (find_in_scope(r, name, length, r->scopes[r->depth],
                      kind == ENTITY_RANGE ? ENTITY_RANGE : ENTITY_NONE)) {
        ptx_fail(&r->p, "%.*s is declared twice", (int)(length > 60 ? 60 : length), name);
        return NULL;
    }
    if (r->entities >= r->buckets)
        rehash(r);
    entity *e = ptx_arena_take(&r->p.module->arena, sizeof *e);
    e->name = name;
    e->length = length;
    e->kind = kind;
    e->scope = r->scopes[r->depth];
    entity **slot = &r->table[hash(name, length) & (r->buckets - 1)];
    e->next = *slot;
    *slot = e;
    r->entities++;
    return e;
}

/* Register number of NAME as a member of a range "%r<10>" in SCOPE, or -1. */
static int find_in_range(const reader *r, const char *name, size_t length, int scope) {
    size_t digits = 0;
    while (digits < length && name[length - digits - 1] >= '0' && name[length - digits - 1] <= '9')
        digits++;
    /* "%a1<4>" makes %a10 ... %a13: the prefix may itself end in digits */
    for (size_t used = digits; used > 0; used--) {
        const char *number = name + length - used;
        if (used > 1 && *number == '0')
            continue;
        if (used > 9)
            continue;
        const entity *e = find_in_scope(r, name, length - used, scope, ENTITY_RANGE);
        if (!e)
            continue;
        int index = 0;
        for (size_t i = 0; i < used; i++)
            index = index * 10 + (number[i] - '0');
        if (index < e->count)
            return e->number + index;
    }
    return -1;
}

static int find_register(const reader *r, const char *name, size_t length) {
    for (int d = r->depth; d >= 0; d--) {
        const entity *e = find_in_scope(r, name, length, r->scopes[d], ENTITY_REGISTER);
        if (e)
            return e->number;
        int number = find_in_range(r, name, length, r->scopes[d]);
        if (number >= 0)
            return number;
    }
    return -1;
}

static entity *find_entity(const reader *r, const char *name, size_t length) {
    for (int d = r->depth; d >= 0; d--) {
        entity *e = find_in_scope(r, name, length, r->scopes[d], ENTITY_NONE);
        if (e)
            return e;
    }
    return NULL;
}

/* ---- declarations -----------------------------------------------------------------------------
 */

static int add_registers(reader *r, ptx_type type, int count) {
    ptx_body *b = r->body;
    if (count > MAX_REGISTERS - b->register_count) {
        ptx_fail(&r->p, "more than %d registers", (int)MAX_REGISTERS);
        return -1;
    }
    int first = b->register_count;
    while (b->register_count + count > r->register_capacity)
        b->register_type =
            ptx_arena_grow(&r->p.module->arena, b->register_type, r->register_capacity,
                           &r->register_capacity, sizeof *b->register_type);
    for (int i = 0; i < count; i++)
        b->register_type[b->register_count++] = type;
    return first;
}

static bool declare_register(reader *r, ptx_type type, unsigned vector) {
    ptx_token t = r->p.lexer.token;
    if (t.kind != PTX_TOKEN_WORD)
        return ptx_fail(&r->p, "a register's name expected");
    ptx_lexer_next(&r->p.lexer);
    int count = 1;
    entity_kind kind = ENTITY_REGISTER;
    if (ptx_accept(&r->p, '<')) {
        if (r->p.lexer.token.kind != PTX_TOKEN_INTEGER || r->p.lexer.token.value > MAX_REGISTERS)
            return ptx_fail(&r->p, "bad number of registers");
        count = (int)r->p.lexer.token.value;
        ptx_lexer_next(&r->p.lexer);
        if (!ptx_expect(&r->p, '>'))
            return false;
        kind = ENTITY_RANGE;
    }
    if (vector > 1)
        return ptx_fail(&r->p, "vector registers are not supported");
    entity *e = declare(r, t.text, t.length, kind);
    if (!e)
        return false;
    e->count = count;
    e->number = add_registers(r, type, count);
    return e->number >= 0;
}

static bool declare_registers(reader *r) {
    ptx_type type = PTX_NONE;
    unsigned vector = 1;
    while (r->p.lexer.token.kind == PTX_TOKEN_WORD && r->p.lexer.token.text[0] == '.') {
        ptx_token t = r->p.lexer.token;
        ptx_type named = ptx_type_named(t.text + 1, t.length - 1);
        if (named != PTX_NONE)
            type = named;
        else
            vector = 2;
        ptx_lexer_next(&r->p.lexer);
    }
    if (type == PTX_NONE)
        return ptx_fail(&r->p, "a register without a type");
    do {
        if (!declare_register(r, type, vector))
            return false;
    } while (ptx_accept(&r->p, ','));
    return ptx_expect(&r->p, ';');
}

static bool add_variable(reader *r, ptx_variable *v) {
    ptx_body *b = r->body;
    entity *e = declare(r, v->name, strlen(v->name), ENTITY_VARIABLE);
    if (!e)
        return false;
    e->variable = v;
    b->variable = ptx_arena_grow(&r->p.module->arena, b->variable, b->variable_count,
                                 &r->variable_capacity, sizeof *b->variable);
    b->variable[b->variable_count++] = v;
    return true;
}

/* A parameter in register space is a register; any other is a variable. */
static bool declare_parameter(reader *r, ptx_variable *v) {
    if (v->space != PTX_SPACE_REG)
        return add_variable(r, v);
    entity *e = declare(r, v->name, strlen(v->name), ENTITY_REGISTER);
    if (!e)
        return false;
    e->number = add_registers(r, v->type, 1);
    return e->number >= 0;
}

static bool declare_variables(reader *r, ptx_space space, ptx_linkage linkage) {
    ptx_variable *v = ptx_arena_take(&r->p.module->arena, sizeof *v);
    if (!ptx_parse_variable(&r->p, space, linkage, space != PTX_SPACE_PARAM, v))
        return false;
    if (ptx_token_is(&r->p.lexer.token, '<')) { /* .param .b32 p<3>; */
        ptx_lexer_next(&r->p.lexer);
        uint64_t count = r->p.lexer.token.value;
        if (r->p.lexer.token.kind != PTX_TOKEN_INTEGER || count > 4096)
            return ptx_fail(&r->p, "bad number of variables");
        ptx_lexer_next(&r->p.lexer);
        for (uint64_t i = 0; i < count; i++) {
            ptx_variable *member = ptx_arena_take(&r->p.module->arena, sizeof *member);
            char name[300];
            int length = snprintf(name, sizeof name, "%.270s%d", v->name, (int)i);
            *member = *v;
            member->name = ptx_arena_string(&r->p.module->arena, name, (size_t)length);
            if (!add_variable(r, member))
                return false;
        }
        return ptx_expect(&r->p, '>') && ptx_expect(&r->p, ';');
    }
    if (!add_variable(r, v))
        return false;
    while (ptx_accept(&r->p, ',')) {
        ptx_variable *more = ptx_arena_take(&r->p.module->arena, sizeof *more);
        *more = *v;
        if (!(more->name = ptx_take_word(&r->p, "a variable's name")))
            return false;
        if (ptx_token_is(&r->p.lexer.token, '['))
            return ptx_fail(&r->p, "arrays must be declared one at a time");
        if (!add_variable(r, more))
            return false;
    }
    return ptx_expect(&r->p, ';');
}

/* ---- labels -----------------------------------------------------------------------------------
 */

static fixup *add_fixup(reader *r, int line) {
    fixup *f = ptx_arena_take(&r->p.module->arena, sizeof *f);
    f->depth = r->depth;
    f->line = line;
    memcpy(f->scopes, r->scopes, sizeof f->scopes);
    r->fixups = ptx_arena_grow(&r->p.module->arena, r->fixups, r->fixup_count, &r->fixup_capacity,
                               sizeof(*r->fixups));
    r->fixups[r->fixup_count++] = f;
    return f;
}

/* Labels and target lists may be named before they are defined: resolved when the body is read. A
 * symbol that is no label stays one. */
static bool resolve_fixups(reader *r) {
    for (int i = 0; i < r->fixup_count; i++) {
        const fixup *f = r->fixups[i];
        const char *name = f->operand ? f->operand->name : f->targets->names[f->index];
        const entity *e = NULL;
        for (int d = f->depth; d >= 0 && !e; d--)
            e = find_in_scope(r, name, strlen(name), f->scopes[d], ENTITY_NONE);
        if (f->operand && e && e->kind == ENTITY_LABEL) {
            f->operand->kind = PTX_OPERAND_LABEL;
            f->operand->target = e->number;
        } else if (f->operand && e && e->kind == ENTITY_TARGETS) {
            f->operand->kind = PTX_OPERAND_TARGETS;
            f->operand->targets = e->targets;
        } else if (f->targets && e && e->kind == ENTITY_LABEL) {
            f->targets->index[f->index] = e->number;
        } else if (f->targets && f->targets->index) {
            r->p.lexer.token.line = f->line;
            return ptx_fail(&r->p, "no label %.100s", name);
        }
    }
    return true;
}

/* "name: .branchtargets a, b;" and its two relatives. */
static bool parse_targets(reader *r, const ptx_token *name) {
    ptx_parser *p = &r->p;
    ptx_targets *t = ptx_arena_take(&p->module->arena, sizeof *t);
    t->name = ptx_arena_string(&p->module->arena, name->text, name->length);
    bool labels = ptx_token_word(&p->lexer.token, ".branchtargets");
    t->prototype = ptx_token_word(&p->lexer.token, ".callprototype");
    ptx_lexer_next(&p->lexer);
    entity *e = declare(r, name->text, name->length, ENTITY_TARGETS);
    if (!e)
        return false;
    e->targets = t;
    if (t->prototype) {
        if (ptx_token_is(&p->lexer.token, '(') &&
            !ptx_parse_parameters(p, &t->returns, &t->return_count))
            return false;
        if (!ptx_take_word(p, "_"))
            return false;
        if (ptx_token_is(&p->lexer.token, '(') &&
            !ptx_parse_parameters(p, &t->parameters, &t->parameter_count))
            return false;
        while (p->lexer.token.kind == PTX_TOKEN_WORD || p->lexer.token.kind == PTX_TOKEN_INTEGER)
            ptx_lexer_next(&p->lexer); /* .noreturn, .abi_preserve N */
        return ptx_expect(p, ';');
    }
    int capacity = 0;
    do {
        t->names =
            ptx_arena_grow(&p->module->arena, t->names, t->count, &capacity, sizeof *t->names);
        if (!(t->names[t->count] = ptx_take_word(p, "a target")))
            return false;
        t->count++;
    } while (ptx_accept(p, ','));
    if (labels) {
        t->index = ptx_arena_take(&p->module->arena, (size_t)t->count * sizeof *t->index);
        for (int i = 0; i < t->count; i++) {
            fixup *f = add_fixup(r, p->lexer.token.line);
            f->targets = t;
            f->index = i;
        }
    }
    return ptx_expect(p, ';');
}

/* ---- operands ---------------------------------------------------------------------------------
 */

static bool parse_operand(reader *r, ptx_operand *o, int depth);

static bool parse_list(reader *r, ptx_operand *o, char close, int depth) {
    int capacity = 0;
    if (depth > MAX_OPERAND_NESTING)
        return ptx_fail(&r->p, "operands nested too deeply");
    while (!ptx_accept(&r->p, close)) {
        o->element = ptx_arena_grow(&r->p.module->arena, o->element, o->count, &capacity,
                                    sizeof *o->element);
        if (!parse_operand(r, &o->element[o->count], depth + 1))
            return false;
        /* elements move while the list grows: label fix-ups would be lost, and no list that is
         * written in place holds labels */
        o->count++;
        if (!ptx_accept(&r->p, ',') && !ptx_token_is(&r->p.lexer.token, close))
            return ptx_expect(&r->p, close);
    }
    return true;
}

static bool parse_offset(reader *r, int64_t *offset) {
    while (ptx_token_is(&r->p.lexer.token, '+') || ptx_token_is(&r->p.lexer.token, '-')) {
        bool minus = ptx_token_is(&r->p.lexer.token, '-');
        ptx_lexer_next(&r->p.lexer);
        if (ptx_accept(&r->p, '-'))
            minus = !minus;
        if (r->p.lexer.token.kind != PTX_TOKEN_INTEGER)
            return ptx_fail(&r->p, "a number expected in an address");
        uint64_t value = r->p.lexer.token.value;
        *offset = (int64_t)((uint64_t)*offset + (minus ? 0 - value : value));
        ptx_lexer_next(&r->p.lexer);
    }
    return true;
}

static bool parse_address(reader *r, ptx_operand *o, int depth) {
    if (!parse_list(r, o, ']', depth))
        return false;
    if (!o->count)
        return ptx_fail(&r->p, "an empty address");
    o->offset = o->element[0].offset;
    o->element[0].offset = 0;
    return true;
}

/* "%r1.h0": the selectors of video instructions; the part after the last dot. */
static bool split_part(reader *r, const ptx_token *t, ptx_operand *o) {
    const char *dot = memrchr(t->text, '.', t->length);
    size_t tail = dot ? t->length - (size_t)(dot - t->text) - 1 : 0;
    if (!dot || tail == 0 || tail >= sizeof o->part)
        return false;
    int number = find_register(r, t->text, (size_t)(dot - t->text));
    if (number < 0)
        return false;
    o->kind = PTX_OPERAND_REGISTER;
    o->reg = number;
    memcpy(o->part, dot + 1, tail);
    return true;
}

static bool is_special(const ptx_token *t) {
    return t->text[0] == '%' || ptx_token_word(t, "WARP_SZ");
}

static bool parse_name(reader *r, ptx_operand *o, int depth) {
    ptx_token t = r->p.lexer.token;
    ptx_lexer_next(&r->p.lexer);
    if (ptx_token_word(&t, "_")) {
        o->kind = PTX_OPERAND_SINK;
        return true;
    }
    int number = find_register(r, t.text, t.length);
    const entity *e = number < 0 ? find_entity(r, t.text, t.length) : NULL;
    if (number >= 0) {
        o->kind = PTX_OPERAND_REGISTER;
        o->reg = number;
    } else if (e && e->kind == ENTITY_VARIABLE) {
        o->kind = PTX_OPERAND_VARIABLE;
        o->variable = e->variable;
        o->name = e->variable->name;
    } else if (split_part(r, &t, o)) {
        return true;
    } else {
        o->kind = is_special(&t) ? PTX_OPERAND_SPECIAL : PTX_OPERAND_SYMBOL;
        o->name = ptx_arena_string(&r->p.module->arena, t.text, t.length);
        if (o->kind == PTX_OPERAND_SYMBOL && depth == 0)
            add_fixup(r, t.line)->operand = o;
    }
    return parse_offset(r, &o->offset);
}

static bool parse_literal(reader *r, ptx_operand *o) {
    bool minus = ptx_accept(&r->p, '-');
    bool invert = !minus && ptx_accept(&r->p, '~');
    const ptx_token *t = &r->p.lexer.token;
    o->value = t->value;
    if (t->kind == PTX_TOKEN_INTEGER) {
        o->kind = PTX_OPERAND_INTEGER;
        if (minus)
            o->value = 0 - o->value;
        if (invert)
            o->value = ~o->value;
    } else if (t->kind == PTX_TOKEN_F32) {
        o->kind = PTX_OPERAND_F32;
        o->value ^= (uint64_t)minus << 31;
    } else if (t->kind == PTX_TOKEN_F64) {
        o->kind = PTX_OPERAND_F64;
        o->value ^= (uint64_t)minus << 63;
    } else if (minus && t->kind == PTX_TOKEN_WORD) {
        o->minus = true;
        return parse_name(r, o, 1);
    } else {
        return ptx_fail(&r->p, "an operand expected before '%.*s'",
                        (int)(t->length > 40 ? 40 : t->length), t->text);
    }
    ptx_lexer_next(&r->p.lexer);
    return o->kind == PTX_OPERAND_INTEGER ? parse_offset(r, &o->offset) : true;
}

/* What may follow an operand: "|p". */
static bool parse_second(reader *r, ptx_operand *o, int depth) {
    if (!ptx_accept(&r->p, '|'))
        return true;
    if (depth > MAX_OPERAND_NESTING)
        return ptx_fail(&r->p, "operands nested too deeply");
    o->second = ptx_arena_take(&r->p.module->arena, sizeof *o->second);
    return parse_operand(r, o->second, depth + 1);
}

static bool parse_operand(reader *r, ptx_operand *o, int depth) {
    *o = (ptx_operand){.reg = -1};
    if (ptx_accept(&r->p, '{')) {
        o->kind = PTX_OPERAND_VECTOR;
        return parse_list(r, o, '}', depth + 1) && parse_second(r, o, depth);
    }
    if (ptx_accept(&r->p, '(')) {
        o->kind = PTX_OPERAND_VECTOR;
        return parse_list(r, o, ')', depth + 1);
    }
    if (ptx_accept(&r->p, '[')) {
        o->kind = PTX_OPERAND_ADDRESS;
        return parse_address(r, o, depth + 1);
    }
    if (ptx_accept(&r->p, '!'))
        o->negated = true;
    if (r->p.lexer.token.kind != PTX_TOKEN_WORD)
        return o->negated ? ptx_fail(&r->p, "a predicate expected after '!'") : parse_literal(r, o);
    return parse_name(r, o, depth) && parse_second(r, o, depth);
}

/* ---- instructions -----------------------------------------------------------------------------
 */

/* "ld.global.L2::128B.u32" into opcode and modifiers. */
static bool split_mnemonic(reader *r, ptx_instruction *in, const ptx_token *t) {
    in->mnemonic = ptx_arena_string(&r->p.module->arena, t->text, t->length);
    char *copy = ptx_arena_string(&r->p.module->arena, t->text, t->length);
    in->opcode = copy;
    for (char *c = copy; (c = strchr(c, '.')) != NULL;) {
        *c++ = '\0';
        if (in->modifier_count == PTX_MAX_MODIFIERS)
            return ptx_fail(&r->p, "too many modifiers of %s", in->opcode);
        in->modifier[in->modifier_count++] = c;
    }
    return true;
}

static bool parse_guard(reader *r, ptx_instruction *in) {
    in->guard = -1;
    if (!ptx_accept(&r->p, '@'))
        return true;
    in->guard_negated = ptx_accept(&r->p, '!');
    const ptx_token *t = &r->p.lexer.token;
    in->guard = t->kind == PTX_TOKEN_WORD ? find_register(r, t->text, t->length) : -1;
    if (in->guard < 0 || r->body->register_type[in->guard] != PTX_PRED)
        return ptx_fail(&r->p, "a predicate register expected after '@'");
    ptx_lexer_next(&r->p.lexer);
    return true;
}

static bool parse_operands(reader *r, ptx_instruction *in) {
    int capacity = 0;
    /* Label fix-ups point to operands: they are collected aside and patched once the array stands
     * still, so the list is measured first by growing it to its end. */
    int first_fixup = r->fixup_count;
    ptx_operand **pieces = NULL;
    int count = 0;
    while (!ptx_token_is(&r->p.lexer.token, ';')) {
        pieces = ptx_arena_grow(&r->p.module->arena, pieces, count, &capacity, sizeof *pieces);
        pieces[count] = ptx_arena_take(&r->p.module->arena, sizeof **pieces);
        if (!parse_operand(r, pieces[count], 0))
            return false;
        count++;
        if (!ptx_accept(&r->p, ',') && !ptx_token_is(&r->p.lexer.token, ';'))
            return ptx_expect(&r->p, ';');
    }
    in->operand = ptx_arena_take(&r->p.module->arena, (size_t)(count + 1) * sizeof *in->operand);
    in->operand_count = count;
    for (int i = 0; i < count; i++) {
        in->operand[i] = *pieces[i];
        for (int f = first_fixup; f < r->fixup_count; f++)
            if (r->fixups[f]->operand == pieces[i])
                r->fixups[f]->operand = &in->operand[i];
    }
    return ptx_expect(&r->p, ';');
}

static bool parse_instruction(reader *r) {
    ptx_body *b = r->body;
    ptx_instruction in = {.line = r->p.lexer.token.line,
                          .source_file = r->source_file,
                          .source_line = r->source_line};
    if (!parse_guard(r, &in))
        return false;
    ptx_token t = r->p.lexer.token;
    if (t.kind != PTX_TOKEN_WORD || t.text[0] == '.' || t.text[0] == '%')
        return ptx_fail(&r->p, "an instruction expected before '%.*s'",
                        (int)(t.length > 40 ? 40 : t.length), t.text);
    ptx_lexer_next(&r->p.lexer);
    if (!split_mnemonic(r, &in, &t) || !parse_operands(r, &in))
        return false;
    b->instruction = ptx_arena_grow(&r->p.module->arena, b->instruction, b->count,
                                    &r->instruction_capacity, sizeof *b->instruction);
    b->instruction[b->count++] = in;
    return true;
}

/* ".loc 1 42 0, function_name ..., inlined_at 1 7 3": only the first place is kept. */
static bool parse_loc(reader *r, int line) {
    ptx_lexer *x = &r->p.lexer;
    for (int n = 0; x->token.kind != PTX_TOKEN_END && x->token.line == line; n++) {
        if (x->token.kind == PTX_TOKEN_BAD)
            return ptx_fail_bad(&r->p);
        if (n == 0)
            r->source_file = (int)x->token.value;
        if (n == 1)
            r->source_line = (int)x->token.value;
        ptx_lexer_next(x);
    }
    return true;
}

static bool parse_directive(reader *r) {
    ptx_token t = r->p.lexer.token;
    ptx_lexer_next(&r->p.lexer);
    if (ptx_token_word(&t, ".loc") || ptx_token_word(&t, ".file"))
        return parse_loc(r, t.line);
    if (ptx_token_word(&t, ".reg"))
        return declare_registers(r);
    if (ptx_token_word(&t, ".pragma")) {
        ptx_lexer_next(&r->p.lexer);
        return ptx_expect(&r->p, ';');
    }
    ptx_linkage linkage = PTX_LINK_LOCAL;
    if (ptx_token_word(&t, ".extern") || ptx_token_word(&t, ".visible") ||
        ptx_token_word(&t, ".weak")) {
        linkage = ptx_token_word(&t, ".extern") ? PTX_LINK_EXTERN : PTX_LINK_VISIBLE;
        t = r->p.lexer.token;
        ptx_lexer_next(&r->p.lexer);
    }
    ptx_space space = ptx_space_directive(&t);
    if (space != PTX_SPACE_NONE && space != PTX_SPACE_REG)
        return declare_variables(r, space, linkage);
    return ptx_fail(&r->p, "unknown directive '%.*s' in a function",
                    (int)(t.length > 40 ? 40 : t.length), t.text);
}

/* A label if the word is followed by a colon. Target lists carry a label and are none. */
static bool parse_label(reader *r, bool *was_label) {
    ptx_lexer saved = r->p.lexer;
    ptx_token name = saved.token;
    *was_label = false;
    if (name.text[0] == '.')
        return true;
    ptx_lexer_next(&r->p.lexer);
    if (!ptx_accept(&r->p, ':')) {
        r->p.lexer = saved;
        return true;
    }
    *was_label = true;
    if (ptx_token_word(&r->p.lexer.token, ".branchtargets") ||
        ptx_token_word(&r->p.lexer.token, ".calltargets") ||
        ptx_token_word(&r->p.lexer.token, ".callprototype"))
        return parse_targets(r, &name);
    entity *e = declare(r, name.text, name.length, ENTITY_LABEL);
    if (!e)
        return false;
    e->number = r->body->count;
    return true;
}

static bool parse_statement(reader *r) {
    const ptx_token *t = &r->p.lexer.token;
    if (ptx_accept(&r->p, '{')) {
        if (r->depth + 1 >= MAX_SCOPES)
            return ptx_fail(&r->p, "blocks nested too deeply");
        r->scopes[++r->depth] = r->next_scope++;
        return true;
    }
    if (ptx_accept(&r->p, '}')) {
        if (r->depth == 0)
            return ptx_fail(&r->p, "'}' without '{'");
        r->depth--;
        return true;
    }
    if (ptx_accept(&r->p, ';'))
        return true;
    if (t->kind == PTX_TOKEN_WORD) {
        bool was_label;
        if (!parse_label(r, &was_label) || was_label)
            return was_label && !r->p.error->message[0];
        if (t->text[0] == '.')
            return parse_directive(r);
    }
    return parse_instruction(r);
}

/* PTX functions may run off their end: a ret is put there, so that the machine need not look. */
static void add_final_return(reader *r) {
    ptx_body *b = r->body;
    b->instruction = ptx_arena_grow(&r->p.module->arena, b->instruction, b->count,
                                    &r->instruction_capacity, sizeof *b->instruction);
    b->instruction[b->count++] = (ptx_instruction){
        .opcode = "ret", .mnemonic = "ret", .guard = -1, .line = r->p.lexer.token.line};
}

bool ptx_parse_body(ptx_module *module, ptx_function *f, ptx_error *error) {
    *error = (ptx_error){0};
    if (f->body)
        return true;
    reader r = {.p = {.module = module, .error = error}, .function = f, .next_scope = 1};
    if (!f->text)
        return ptx_fail(&r.p, "%.200s is declared and not defined", f->name);
    r.body = ptx_arena_take(&module->arena, sizeof *r.body);
    rehash(&r);
    ptx_lexer_start(&r.p.lexer, f->text, f->text_length, f->body_line);
    for (int i = 0; i < f->parameter_count; i++)
        if (!declare_parameter(&r, &f->parameter[i]))
            return false;
    for (int i = 0; i < f->return_count; i++)
        if (!declare_parameter(&r, &f->returned[i]))
            return false;
    while (r.p.lexer.token.kind != PTX_TOKEN_END)
        if (!parse_statement(&r))
            return false;
    if (r.depth)
        return ptx_fail(&r.p, "'{' without '}'");
    add_final_return(&r);
    if (!resolve_fixups(&r))
        return false;
    f->body = r.body;
    return true;
}
