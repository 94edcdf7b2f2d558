/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads a PTX module outside of function bodies: version and target, variables with their initial
 * values, functions and kernels with their parameters and directives. */
#include "emulator/ptx/parser.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bounds on what a declaration may ask for, so that a hostile text cannot. */
static const uint64_t MAX_VARIABLE_BYTES = UINT64_C(1) << 36;
enum { MAX_NESTING = 64, MAX_DIMENSIONS = 16 };

static const struct {
    const char *name;
    unsigned bytes;
} types[PTX_TYPES] = {
    [PTX_NONE] = {"", 0},         [PTX_PRED] = {"pred", 1},     [PTX_B8] = {"b8", 1},
    [PTX_B16] = {"b16", 2},       [PTX_B32] = {"b32", 4},       [PTX_B64] = {"b64", 8},
    [PTX_B128] = {"b128", 16},    [PTX_U8] = {"u8", 1},         [PTX_U16] = {"u16", 2},
    [PTX_U32] = {"u32", 4},       [PTX_U64] = {"u64", 8},       [PTX_S8] = {"s8", 1},
    [PTX_S16] = {"s16", 2},       [PTX_S32] = {"s32", 4},       [PTX_S64] = {"s64", 8},
    [PTX_F16] = {"f16", 2},       [PTX_F16X2] = {"f16x2", 4},   [PTX_BF16] = {"bf16", 2},
    [PTX_BF16X2] = {"bf16x2", 4}, [PTX_TF32] = {"tf32", 4},     [PTX_F32] = {"f32", 4},
    [PTX_F64] = {"f64", 8},       [PTX_U16X2] = {"u16x2", 4},   [PTX_S16X2] = {"s16x2", 4},
    [PTX_E4M3X2] = {"e4m3x2", 2}, [PTX_E5M2X2] = {"e5m2x2", 2}, [PTX_F32X2] = {"f32x2", 8},
    [PTX_OPAQUE] = {"texref", 8},
};

ptx_type ptx_type_named(const char *word, size_t length) {
    for (int t = PTX_NONE + 1; t < PTX_TYPES; t++)
        if (strlen(types[t].name) == length && memcmp(types[t].name, word, length) == 0)
            return (ptx_type)t;
    if ((length == 10 && memcmp(word, "samplerref", 10) == 0) ||
        (length == 7 && memcmp(word, "surfref", 7) == 0))
        return PTX_OPAQUE;
    return PTX_NONE;
}

const char *ptx_type_name(ptx_type type) {
    return types[type].name;
}

unsigned ptx_type_bytes(ptx_type type) {
    return types[type].bytes;
}

/* ---- small steps ------------------------------------------------------------------------------
 */

bool ptx_fail(ptx_parser *p, const char *format, ...) {
    if (p->error->message[0])
        return false; /* the first failure is the one to tell */
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(p->error->message, sizeof p->error->message, format, arguments);
    va_end(arguments);
    p->error->line = p->lexer.token.line;
    return false;
}

bool ptx_fail_bad(ptx_parser *p) {
    const ptx_token *t = &p->lexer.token;
    if (t->length == 0)
        return ptx_fail(p, "a comment or string without an end");
    return ptx_fail(p, "stray byte 0x%02x", (unsigned char)t->text[0]);
}

static int shown(const ptx_token *token) {
    return token->length > 40 ? 40 : (int)token->length;
}

bool ptx_accept(ptx_parser *p, char punct) {
    if (!ptx_token_is(&p->lexer.token, punct))
        return false;
    ptx_lexer_next(&p->lexer);
    return true;
}

bool ptx_accept_word(ptx_parser *p, const char *word) {
    if (!ptx_token_word(&p->lexer.token, word))
        return false;
    ptx_lexer_next(&p->lexer);
    return true;
}

bool ptx_expect(ptx_parser *p, char punct) {
    if (ptx_accept(p, punct))
        return true;
    const ptx_token *t = &p->lexer.token;
    if (t->kind == PTX_TOKEN_END)
        return ptx_fail(p, "the text ends where '%c' was expected", punct);
    return ptx_fail(p, "'%c' expected before '%.*s'", punct, shown(t), t->text);
}

char *ptx_take_word(ptx_parser *p, const char *what) {
    const ptx_token *t = &p->lexer.token;
    if (t->kind != PTX_TOKEN_WORD) {
        ptx_fail(p, "%s expected before '%.*s'", what, shown(t), t->text);
        return NULL;
    }
    char *word = ptx_arena_string(&p->module->arena, t->text, t->length);
    ptx_lexer_next(&p->lexer);
    return word;
}

static bool take_integer(ptx_parser *p, uint64_t *value) {
    if (p->lexer.token.kind != PTX_TOKEN_INTEGER)
        return ptx_fail(p, "a number expected before '%.*s'", shown(&p->lexer.token),
                        p->lexer.token.text);
    *value = p->lexer.token.value;
    ptx_lexer_next(&p->lexer);
    return true;
}

/* Skips a "{ ... }" whose brace is the current token; *CLOSE is its other brace. Bodies hold
 * strings and comments, so tokens are counted, not characters. */
static bool skip_braces(ptx_parser *p, const char **close) {
    int depth = 0;
    do {
        if (p->lexer.token.kind == PTX_TOKEN_END)
            return ptx_fail(p, "the text ends inside of '{'");
        if (p->lexer.token.kind == PTX_TOKEN_BAD)
            return ptx_fail_bad(p);
        depth += ptx_token_is(&p->lexer.token, '{');
        depth -= ptx_token_is(&p->lexer.token, '}');
        *close = p->lexer.token.text;
        ptx_lexer_next(&p->lexer);
    } while (depth);
    return true;
}

static bool skip_line(ptx_parser *p) {
    int line = p->lexer.token.line;
    while (p->lexer.token.kind != PTX_TOKEN_END && p->lexer.token.line == line) {
        if (p->lexer.token.kind == PTX_TOKEN_BAD)
            return ptx_fail_bad(p);
        ptx_lexer_next(&p->lexer);
    }
    return true;
}

/* ---- constant expressions ---------------------------------------------------------------------
 */

static bool parse_sum(ptx_parser *p, ptx_constant *c, int depth);

static bool parse_named(ptx_parser *p, ptx_constant *c, int depth) {
    if (ptx_accept_word(p, "generic")) {
        if (!ptx_expect(p, '(') || !parse_sum(p, c, depth + 1) || !ptx_expect(p, ')'))
            return false;
        c->generic = true;
        return true;
    }
    c->name = ptx_take_word(p, "a name");
    return c->name != NULL;
}

static bool parse_primary(ptx_parser *p, ptx_constant *c, int depth) {
    *c = (ptx_constant){0};
    if (depth > MAX_NESTING)
        return ptx_fail(p, "constant expression nested too deeply");
    const ptx_token *t = &p->lexer.token;
    if (ptx_accept(p, '-')) {
        if (!parse_primary(p, c, depth + 1))
            return false;
        if (c->real32)
            c->value ^= UINT64_C(1) << 31;
        else if (c->real64)
            c->value ^= UINT64_C(1) << 63;
        else
            c->value = 0 - c->value;
        return c->name ? ptx_fail(p, "an address cannot be negated") : true;
    }
    if (ptx_accept(p, '~')) {
        if (!parse_primary(p, c, depth + 1))
            return false;
        c->value = ~c->value;
        return true;
    }
    if (ptx_accept(p, '+'))
        return parse_primary(p, c, depth + 1);
    if (ptx_accept(p, '('))
        return parse_sum(p, c, depth + 1) && ptx_expect(p, ')');
    if (t->kind == PTX_TOKEN_WORD)
        return parse_named(p, c, depth);
    c->value = t->value;
    c->real32 = t->kind == PTX_TOKEN_F32;
    c->real64 = t->kind == PTX_TOKEN_F64;
    if (t->kind != PTX_TOKEN_INTEGER && !c->real32 && !c->real64)
        return ptx_fail(p, "a constant expected before '%.*s'", shown(t), t->text);
    ptx_lexer_next(&p->lexer);
    if (c->value && !c->real32 && !c->real64 && ptx_token_is(&p->lexer.token, '(')) {
        uint64_t mask = c->value; /* 0xff00(name): one byte of the address */
        ptx_lexer_next(&p->lexer);
        if (!parse_sum(p, c, depth + 1) || !ptx_expect(p, ')'))
            return false;
        c->mask = mask;
    }
    return true;
}

static bool parse_sum(ptx_parser *p, ptx_constant *c, int depth) {
    if (!parse_primary(p, c, depth))
        return false;
    for (;;) {
        bool minus = ptx_token_is(&p->lexer.token, '-');
        if (!minus && !ptx_token_is(&p->lexer.token, '+') && !ptx_token_is(&p->lexer.token, '*'))
            return true;
        bool times = ptx_token_is(&p->lexer.token, '*');
        ptx_lexer_next(&p->lexer);
        ptx_constant right;
        if (!parse_primary(p, &right, depth))
            return false;
        if (right.name && (minus || times || c->name))
            return ptx_fail(p, "only a number can be added to an address");
        if (right.name) {
            right.value += c->value;
            *c = right;
        } else if (times) {
            c->value *= right.value;
        } else {
            c->value = minus ? c->value - right.value : c->value + right.value;
        }
    }
}

bool ptx_parse_constant(ptx_parser *p, ptx_constant *constant) {
    return parse_sum(p, constant, 0);
}

/* ---- variables --------------------------------------------------------------------------------
 */

ptx_space ptx_space_directive(const ptx_token *t) {
    static const struct {
        const char *word;
        ptx_space space;
    } spaces[] = {{".global", PTX_SPACE_GLOBAL}, {".const", PTX_SPACE_CONST},
                  {".shared", PTX_SPACE_SHARED}, {".local", PTX_SPACE_LOCAL},
                  {".param", PTX_SPACE_PARAM},   {".reg", PTX_SPACE_REG},
                  {".tex", PTX_SPACE_GLOBAL}};
    for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++)
        if (ptx_token_word(t, spaces[i].word))
            return spaces[i].space;
    return PTX_SPACE_NONE;
}

typedef struct initializer {
    ptx_variable *variable;
    uint64_t at;       /* next byte */
    uint64_t capacity; /* of variable->initial */
    bool open;         /* the values say how large it is */
    int relocation_capacity;
} initializer;

static bool reserve_initial(ptx_parser *p, initializer *in, uint64_t bytes) {
    ptx_variable *v = in->variable;
    if (bytes <= in->capacity)
        return true;
    if (bytes > MAX_VARIABLE_BYTES)
        return ptx_fail(p, "initial value of %s is too large", v->name);
    uint64_t grown = in->capacity ? in->capacity * 2 : 64;
    while (grown < bytes)
        grown *= 2;
    uint8_t *copy = ptx_arena_take(&p->module->arena, grown);
    if (in->at)
        memcpy(copy, v->initial, in->at);
    v->initial = copy;
    in->capacity = grown;
    return true;
}

/* Brings a literal to the element's format. */
static uint64_t element_bits(const ptx_constant *c, ptx_type type) {
    uint64_t bits = c->value;
    if (type == PTX_F32 && c->real64) {
        double wide;
        memcpy(&wide, &bits, 8);
        float narrow = (float)wide;
        bits = 0;
        memcpy(&bits, &narrow, 4);
    } else if (type == PTX_F64 && c->real32) {
        float narrow;
        memcpy(&narrow, &bits, 4);
        double wide = narrow;
        memcpy(&bits, &wide, 8);
    }
    return bits;
}

static bool add_element(ptx_parser *p, initializer *in, const ptx_constant *c) {
    ptx_variable *v = in->variable;
    unsigned bytes = ptx_type_bytes(v->type);
    if (!in->open && in->at + bytes > v->bytes)
        return ptx_fail(p, "more initial values than %s holds", v->name);
    if (!reserve_initial(p, in, in->at + bytes))
        return false;
    uint64_t bits = c->name ? 0 : element_bits(c, v->type);
    memcpy(v->initial + in->at, &bits, bytes > 8 ? 8 : bytes);
    if (c->name) {
        unsigned shift = 0;
        while (c->mask && shift < 56 && !(c->mask >> shift & 0xff))
            shift += 8;
        v->relocations = ptx_arena_grow(&p->module->arena, v->relocations, v->relocation_count,
                                        &in->relocation_capacity, sizeof *v->relocations);
        v->relocations[v->relocation_count++] = (ptx_relocation){.offset = in->at,
                                                                 .name = c->name,
                                                                 .addend = (int64_t)c->value,
                                                                 .width = bytes > 8 ? 8 : bytes,
                                                                 .shift = shift,
                                                                 .generic = c->generic};
    }
    in->at += bytes;
    return true;
}

static bool parse_initial(ptx_parser *p, initializer *in, int depth) {
    if (depth > MAX_NESTING)
        return ptx_fail(p, "initial values nested too deeply");
    if (!ptx_accept(p, '{')) {
        ptx_constant c;
        return ptx_parse_constant(p, &c) && add_element(p, in, &c);
    }
    while (!ptx_accept(p, '}')) {
        if (!parse_initial(p, in, depth + 1))
            return false;
        if (!ptx_accept(p, ',') && !ptx_token_is(&p->lexer.token, '}'))
            return ptx_expect(p, '}');
    }
    return true;
}

/* ".align 8 .v2 .ptr .global .b8 .attribute(.managed)": everything before the name. */
static bool parse_qualifiers(ptx_parser *p, ptx_variable *v, unsigned *vector) {
    *vector = 1;
    bool pointer = false;
    while (p->lexer.token.kind == PTX_TOKEN_WORD && p->lexer.token.text[0] == '.') {
        ptx_token t = p->lexer.token;
        ptx_type type = ptx_type_named(t.text + 1, t.length - 1);
        ptx_lexer_next(&p->lexer);
        if (type != PTX_NONE) {
            v->type = type;
            v->sampler = ptx_token_word(&t, ".samplerref");
        } else if (ptx_token_word(&t, ".align")) {
            uint64_t alignment = 0;
            if (!take_integer(p, &alignment))
                return false;
            if (!alignment || alignment > 4096 || (alignment & (alignment - 1)))
                return ptx_fail(p, "alignment %llu is no power of two up to 4096",
                                (unsigned long long)alignment);
            if (!pointer) /* behind .ptr it is the alignment of what is pointed to */
                v->alignment = (uint32_t)alignment;
        } else if (ptx_token_word(&t, ".v2")) {
            *vector = 2;
        } else if (ptx_token_word(&t, ".v4")) {
            *vector = 4;
        } else if (ptx_token_word(&t, ".v8")) {
            *vector = 8;
        } else if (ptx_token_word(&t, ".ptr")) {
            pointer = true;
        } else if (ptx_token_word(&t, ".attribute")) {
            if (!ptx_expect(p, '('))
                return false;
            while (!ptx_accept(p, ')')) {
                v->managed |= ptx_token_word(&p->lexer.token, ".managed");
                if (p->lexer.token.kind == PTX_TOKEN_END || p->lexer.token.kind == PTX_TOKEN_BAD)
                    return ptx_expect(p, ')');
                ptx_lexer_next(&p->lexer);
            }
        } else if (!pointer || ptx_space_directive(&t) == PTX_SPACE_NONE) {
            return ptx_fail(p, "unknown qualifier '%.*s' of a variable", shown(&t), t.text);
        }
    }
    return v->type != PTX_NONE ? true : ptx_fail(p, "a variable without a type");
}

static bool parse_dimensions(ptx_parser *p, ptx_variable *v, uint64_t element, bool *open) {
    uint64_t count = 1;
    *open = false;
    for (int d = 0; ptx_accept(p, '['); d++) {
        if (d >= MAX_DIMENSIONS)
            return ptx_fail(p, "%s has too many dimensions", v->name);
        if (ptx_accept(p, ']')) {
            *open = true;
            continue;
        }
        ptx_constant c;
        if (!ptx_parse_constant(p, &c))
            return false;
        if (c.name || c.real32 || c.real64 || c.value > MAX_VARIABLE_BYTES)
            return ptx_fail(p, "size of %s is no reasonable number", v->name);
        count *= c.value;
        if (count > MAX_VARIABLE_BYTES)
            return ptx_fail(p, "%s is too large", v->name);
        if (!ptx_expect(p, ']'))
            return false;
    }
    v->bytes = *open ? 0 : count * element;
    return v->bytes <= MAX_VARIABLE_BYTES ? true : ptx_fail(p, "%s is too large", v->name);
}

static uint8_t address_named(const ptx_token *t) {
    static const struct {
        const char *name;
        ptx_address address;
    } names[] = {{"wrap", PTX_ADDRESS_WRAP},
                 {"mirror", PTX_ADDRESS_MIRROR},
                 {"clamp_ogl", PTX_ADDRESS_CLAMP},
                 {"clamp_to_edge", PTX_ADDRESS_CLAMP},
                 {"clamp_to_border", PTX_ADDRESS_BORDER}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (ptx_token_word(t, names[i].name))
            return (uint8_t)names[i].address;
    return 0;
}

/* "{ addr_mode_0 = wrap, filter_mode = linear }": what a sampler says becomes its initial value.
 * What a texture says of its size is the driver's to fill in, and passed over. */
static bool parse_settings(ptx_parser *p, ptx_variable *v) {
    static const char *const modes[] = {"addr_mode_0", "addr_mode_1", "addr_mode_2"};
    ptx_sampler said = {0};
    if (!ptx_expect(p, '{'))
        return false;
    while (!ptx_accept(p, '}')) {
        const ptx_token name = p->lexer.token;
        if (name.kind != PTX_TOKEN_WORD)
            return ptx_fail(p, "a setting of %s expected before '%.*s'", v->name, shown(&name),
                            name.text);
        ptx_lexer_next(&p->lexer);
        if (!ptx_expect(p, '='))
            return false;
        const ptx_token value = p->lexer.token;
        if (value.kind != PTX_TOKEN_WORD && value.kind != PTX_TOKEN_INTEGER)
            return ptx_fail(p, "a value expected before '%.*s'", shown(&value), value.text);
        ptx_lexer_next(&p->lexer);
        for (int i = 0; i < 3; i++)
            if (ptx_token_word(&name, modes[i]))
                said.address[i] = address_named(&value);
        if (ptx_token_word(&name, "filter_mode"))
            said.filter = ptx_token_word(&value, "linear") ? PTX_FILTER_LINEAR : PTX_FILTER_NEAREST;
        if (ptx_token_word(&name, "force_unnormalized_coords"))
            said.unnormalized = value.kind == PTX_TOKEN_INTEGER && value.value != 0;
        if (!ptx_accept(p, ',') && !ptx_token_is(&p->lexer.token, '}'))
            return ptx_expect(p, '}');
    }
    if (!v->sampler || v->bytes < sizeof said)
        return true;
    v->initial = ptx_arena_take(&p->module->arena, sizeof said);
    v->initial_bytes = sizeof said;
    memcpy(v->initial, &said, sizeof said);
    return true;
}

/* Behind the "=" of a declaration. OPEN: the size is that of the value. */
static bool parse_value(ptx_parser *p, ptx_variable *v, bool open) {
    if (v->type == PTX_OPAQUE)
        return parse_settings(p, v);
    initializer in = {.variable = v, .open = open};
    if (!parse_initial(p, &in, 0))
        return false;
    v->initial_bytes = in.at;
    if (open)
        v->bytes = in.at;
    return true;
}

bool ptx_parse_variable(ptx_parser *p, ptx_space space, ptx_linkage linkage, bool initials,
                        ptx_variable *v) {
    *v = (ptx_variable){.space = space, .linkage = linkage, .line = p->lexer.token.line};
    unsigned vector;
    if (!parse_qualifiers(p, v, &vector) || !(v->name = ptx_take_word(p, "a variable's name")))
        return false;
    bool open;
    uint64_t element = (uint64_t)ptx_type_bytes(v->type) * vector;
    if (!parse_dimensions(p, v, element, &open))
        return false;
    if (v->alignment < element && v->alignment == 0)
        v->alignment = (uint32_t)element;
    if (!initials || !ptx_accept(p, '='))
        return true;
    return parse_value(p, v, open);
}

bool ptx_parse_parameters(ptx_parser *p, ptx_variable **list, int *count) {
    int capacity = 0;
    *list = NULL;
    *count = 0;
    if (!ptx_expect(p, '('))
        return false;
    while (!ptx_accept(p, ')')) {
        ptx_space space = ptx_space_directive(&p->lexer.token);
        if (space == PTX_SPACE_NONE)
            return ptx_fail(p, "a parameter expected before '%.*s'", shown(&p->lexer.token),
                            p->lexer.token.text);
        ptx_lexer_next(&p->lexer);
        *list = ptx_arena_grow(&p->module->arena, *list, *count, &capacity, sizeof **list);
        if (!ptx_parse_variable(p, space, PTX_LINK_LOCAL, false, &(*list)[*count]))
            return false;
        ++*count;
        if (!ptx_accept(p, ',') && !ptx_token_is(&p->lexer.token, ')'))
            return ptx_expect(p, ')');
    }
    return true;
}

static bool parse_module_variables(ptx_parser *p, ptx_space space, ptx_linkage linkage) {
    ptx_module *m = p->module;
    ptx_variable *v = ptx_arena_take(&m->arena, sizeof *v);
    if (!ptx_parse_variable(p, space, linkage, true, v))
        return false;
    for (;;) {
        m->variable = ptx_arena_grow(&m->arena, m->variable, m->variable_count,
                                     &m->variable_capacity, sizeof *m->variable);
        m->variable[m->variable_count++] = v;
        if (!ptx_accept(p, ','))
            return ptx_expect(p, ';');
        /* ".global .u32 a, b;": the rest share the qualifiers of the first */
        ptx_variable *first = v;
        v = ptx_arena_take(&m->arena, sizeof *v);
        *v = (ptx_variable){.space = space,
                            .linkage = linkage,
                            .type = first->type,
                            .alignment = first->alignment,
                            .managed = first->managed,
                            .sampler = first->sampler,
                            .line = p->lexer.token.line};
        bool open;
        if (!(v->name = ptx_take_word(p, "a variable's name")) ||
            !parse_dimensions(p, v, ptx_type_bytes(v->type), &open))
            return false;
        if (ptx_accept(p, '=') && !parse_value(p, v, open))
            return false;
    }
}

/* ---- functions --------------------------------------------------------------------------------
 */

static bool parse_triple(ptx_parser *p, uint32_t triple[3]) {
    triple[0] = triple[1] = triple[2] = 1;
    for (int i = 0; i < 3; i++) {
        uint64_t value = 0;
        if (!take_integer(p, &value))
            return false;
        triple[i] = value > UINT32_MAX ? UINT32_MAX : (uint32_t)value;
        if (!ptx_accept(p, ','))
            break;
    }
    return true;
}

/* Directives between the parameters and the body. Those without a meaning here are skipped with
 * their numbers. */
static bool parse_function_directives(ptx_parser *p, ptx_function *f) {
    while (p->lexer.token.kind == PTX_TOKEN_WORD) {
        ptx_token t = p->lexer.token;
        ptx_lexer_next(&p->lexer);
        uint32_t triple[3];
        if (ptx_token_word(&t, ".maxntid") || ptx_token_word(&t, ".reqntid")) {
            if (!parse_triple(p, f->max_threads))
                return false;
            f->required_threads = ptx_token_word(&t, ".reqntid");
        } else if (ptx_token_word(&t, ".minnctapersm") || ptx_token_word(&t, ".maxnctapersm")) {
            if (!parse_triple(p, triple))
                return false;
            f->min_blocks_per_sm = triple[0];
        } else if (ptx_token_word(&t, ".maxnreg")) {
            if (!parse_triple(p, triple))
                return false;
            f->max_registers = triple[0];
        } else if (ptx_token_word(&t, ".reqnctapercluster")) {
            if (!parse_triple(p, f->cluster))
                return false;
        } else {
            while (p->lexer.token.kind == PTX_TOKEN_INTEGER ||
                   p->lexer.token.kind == PTX_TOKEN_STRING || ptx_token_is(&p->lexer.token, ','))
                ptx_lexer_next(&p->lexer);
        }
    }
    return true;
}

static bool parse_function(ptx_parser *p, bool entry, ptx_linkage linkage) {
    ptx_module *m = p->module;
    ptx_function *f = ptx_arena_take(&m->arena, sizeof *f);
    f->entry = entry;
    f->linkage = linkage;
    f->line = p->lexer.token.line;
    if (ptx_accept_word(p, ".attribute")) {
        while (!ptx_accept(p, ')')) {
            if (p->lexer.token.kind == PTX_TOKEN_END)
                return ptx_expect(p, ')');
            ptx_lexer_next(&p->lexer);
        }
    }
    if (!entry && ptx_token_is(&p->lexer.token, '(') &&
        !ptx_parse_parameters(p, &f->returned, &f->return_count))
        return false;
    if (!(f->name = ptx_take_word(p, "a function's name")))
        return false;
    if (ptx_token_is(&p->lexer.token, '(') &&
        !ptx_parse_parameters(p, &f->parameter, &f->parameter_count))
        return false;
    if (!parse_function_directives(p, f))
        return false;
    m->function = ptx_arena_grow(&m->arena, m->function, m->function_count, &m->function_capacity,
                                 sizeof *m->function);
    m->function[m->function_count++] = f;
    if (ptx_accept(p, ';'))
        return true;
    if (!ptx_token_is(&p->lexer.token, '{'))
        return ptx_expect(p, '{');
    f->text = p->lexer.token.text + 1;
    f->body_line = p->lexer.token.line;
    const char *close;
    if (!skip_braces(p, &close))
        return false;
    f->text_length = (size_t)(close - f->text);
    return true;
}

static bool parse_alias(ptx_parser *p) {
    ptx_module *m = p->module;
    char *name = ptx_take_word(p, "a name");
    if (!name || !ptx_expect(p, ','))
        return false;
    char *target = ptx_take_word(p, "a name");
    if (!target || !ptx_expect(p, ';'))
        return false;
    for (int i = 0; i < m->function_count; i++)
        if (strcmp(m->function[i]->name, name) == 0)
            m->function[i]->alias = target;
    return true;
}

/* ---- the module -------------------------------------------------------------------------------
 */

static bool parse_version(ptx_parser *p) {
    const ptx_token *t = &p->lexer.token;
    double version = 0;
    if (t->kind == PTX_TOKEN_F64)
        memcpy(&version, &t->value, sizeof version);
    else if (t->kind == PTX_TOKEN_INTEGER)
        version = (double)t->value;
    if (!(version >= 1 && version < 100))
        return ptx_fail(p, ".version without a version");
    p->module->version = (int)(version * 10 + 0.5);
    ptx_lexer_next(&p->lexer);
    return true;
}

static bool parse_target(ptx_parser *p) {
    do {
        char *word = ptx_take_word(p, "a target");
        if (!word)
            return false;
        if (strncmp(word, "sm_", 3) == 0 || strncmp(word, "compute_", 8) == 0)
            p->module->target = (int)strtol(strchr(word, '_') + 1, NULL, 10);
    } while (ptx_accept(p, ','));
    return true;
}

static ptx_linkage linkage_directive(const ptx_token *t) {
    if (ptx_token_word(t, ".visible"))
        return PTX_LINK_VISIBLE;
    if (ptx_token_word(t, ".extern"))
        return PTX_LINK_EXTERN;
    if (ptx_token_word(t, ".weak"))
        return PTX_LINK_WEAK;
    if (ptx_token_word(t, ".common"))
        return PTX_LINK_COMMON;
    return PTX_LINK_LOCAL;
}

static bool parse_top(ptx_parser *p) {
    ptx_linkage linkage = linkage_directive(&p->lexer.token);
    if (linkage != PTX_LINK_LOCAL)
        ptx_lexer_next(&p->lexer);
    ptx_token t = p->lexer.token;
    if (t.kind != PTX_TOKEN_WORD)
        return ptx_fail(p, "a directive expected before '%.*s'", shown(&t), t.text);
    ptx_space space = ptx_space_directive(&t);
    if (ptx_token_word(&t, ".file") || ptx_token_word(&t, ".loc"))
        return skip_line(p);
    ptx_lexer_next(&p->lexer);
    if (ptx_token_word(&t, ".version"))
        return parse_version(p);
    if (ptx_token_word(&t, ".target"))
        return parse_target(p);
    if (ptx_token_word(&t, ".address_size")) {
        uint64_t bits = 0;
        if (!take_integer(p, &bits))
            return false;
        return bits == 64 ? true : ptx_fail(p, "only .address_size 64 is supported");
    }
    if (ptx_token_word(&t, ".entry") || ptx_token_word(&t, ".func"))
        return parse_function(p, ptx_token_word(&t, ".entry"), linkage);
    if (ptx_token_word(&t, ".alias"))
        return parse_alias(p);
    if (ptx_token_word(&t, ".pragma")) {
        ptx_lexer_next(&p->lexer);
        return ptx_expect(p, ';');
    }
    if (ptx_token_word(&t, ".section")) {
        const char *close;
        ptx_lexer_next(&p->lexer);
        return ptx_token_is(&p->lexer.token, '{') ? skip_braces(p, &close) : ptx_expect(p, '{');
    }
    if (space != PTX_SPACE_NONE && space != PTX_SPACE_REG && space != PTX_SPACE_PARAM)
        return parse_module_variables(p, space, linkage);
    return ptx_fail(p, "unknown directive '%.*s'", shown(&t), t.text);
}

ptx_module *ptx_parse(const char *text, size_t length, ptx_error *error) {
    *error = (ptx_error){0};
    ptx_module *module = calloc(1, sizeof *module);
    if (!module) {
        snprintf(error->message, sizeof error->message, "out of host memory");
        return NULL;
    }
    ptx_parser p = {.module = module, .error = error};
    ptx_lexer_start(&p.lexer, text, length, 1);
    while (p.lexer.token.kind != PTX_TOKEN_END)
        if (!parse_top(&p))
            goto fail;
    if (!module->version) {
        ptx_fail(&p, "no .version directive: this is not PTX");
        goto fail;
    }
    return module;
fail:
    ptx_module_free(module);
    return NULL;
}

void ptx_module_free(ptx_module *module) {
    if (!module)
        return;
    ptx_arena_free(&module->arena);
    free(module);
}

int ptx_module_version(const ptx_module *module) {
    return module->version;
}

int ptx_module_target(const ptx_module *module) {
    return module->target;
}

int ptx_module_function_count(const ptx_module *module) {
    return module->function_count;
}

ptx_function *ptx_module_function(ptx_module *module, int index) {
    return module->function[index];
}

int ptx_module_variable_count(const ptx_module *module) {
    return module->variable_count;
}

const ptx_variable *ptx_module_variable(const ptx_module *module, int index) {
    return module->variable[index];
}
