/* SPDX-License-Identifier: Apache-2.0
 *
 * The PTX front end: what it reads, what it refuses and where it says so, and that no bytes at all
 * make it crash: every prefix of a module, and thousands of mutated ones. */
#include "emulator/ptx/lexer.h"
#include "emulator/ptx/ptx.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char module_text[] =
    "//\n// a comment\n.version 7.8\n.target sm_90a, debug\n.address_size 64\n"
    ".file 1 \"a b.cu\"\n.extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b)\n;\n"
    ".visible .global .align 8 .b8 bytes[12] = {1, 0x02, 03, 0b100, -1};\n"
    ".global .align 4 .f32 reals[3] = {0f3F800000, 2.5, -1e1};\n"
    ".global .u64 pointers[3] = {generic(bytes)+4, bytes, f};\n"
    ".global .b8 cut[4] = {0xff(bytes), 0xff00(bytes), 0xff0000(bytes), 7};\n"
    ".global .s32 grid[2][3] = {{1, 2, 3}, {4, 5, 6}};\n"
    ".const .align 4 .u32 k = (3 + 4) * 2;\n.extern .shared .align 16 .b8 dyn[];\n"
    ".global .attribute(.managed) .align 4 .u32 m, n;\n.common .global .u32 c;\n"
    ".weak .func helper(.reg .b32 x) ;\n"
    ".func (.param .align 16 .b8 ret[32]) f(.param .u64 .ptr .global .align 8 p, .param .f32 q)\n"
    "{ ret; }\n"
    ".visible .entry kernel(.param .u64 a, .param .align 8 .b8 s[24], .param .u8 z)\n"
    ".maxntid 128, 2, 1\n.minnctapersm 3\n.maxnreg 40\n{\n"
    "\t.reg .pred %p<3>;\n\t.reg .b32 %r<10>, x1;\n\t.reg .b64 %rd<4>;\n\t.reg .f32 %f<4>;\n"
    "\t.local .align 8 .b8 depot[40];\n\t.shared .align 4 .b8 tile[64];\n"
    "\t.loc 1 42 7, function_name $L1, inlined_at 1 3 4\n"
    "\tld.param.u64 %rd1, [a]; /* two\nlines */ ld.param.u8 %r1, [s+20];\n"
    "\t@!%p1 bra $L__BB0_2;\n"
    "\t{ .reg .b32 %r<3>; .param .b64 p0; st.param.b64 [p0+0], %rd1;\n"
    "\tcall.uni (x1), helper, (%r2, 5); }\n"
    "$L__BB0_2:\n\t.pragma \"nounroll\";\n\tsetp.lt.and.s32 %p1|%p2, %r3, -7, !%p2;\n"
    "\tld.global.v4.f32 {%f0, _, %f2, %f3}, [%rd1+-16];\n\tmov.f32 %f1, 0d3FF0000000000000;\n"
    "\tmov.u32 %r4, %tid.x;\n\ttex.2d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%rd1, {%f0, %f1}];\n"
    "T: .branchtargets $L__BB0_2, DONE;\n\tbrx.idx %r1, T;\nDONE:\n"
    "\tvadd.s32.u32.u32 %r1, %r2.b1, %r3.h0, %r4;\n"
    "\tatom.global.cas.b32 %r5, [bytes+8], 0xffffffffU, %r6;\n} // a brace in a comment: }\n"
    ".section .debug_str { .b8 65, 66 \"}\" }\n.alias helper, f;\n";

static ptx_module *parse(const char *text) {
    ptx_error error;
    ptx_module *m = ptx_parse(text, strlen(text), &error);
    if (!m)
        fail_msg("line %d: %s", error.line, error.message);
    return m;
}

static const ptx_variable *variable(const ptx_module *m, const char *name) {
    for (int i = 0; i < ptx_module_variable_count(m); i++)
        if (strcmp(ptx_module_variable(m, i)->name, name) == 0)
            return ptx_module_variable(m, i);
    fail_msg("no variable %s", name);
    return NULL;
}

static ptx_function *function(ptx_module *m, const char *name) {
    for (int i = 0; i < ptx_module_function_count(m); i++)
        if (strcmp(ptx_module_function(m, i)->name, name) == 0)
            return ptx_module_function(m, i);
    fail_msg("no function %s", name);
    return NULL;
}

static void test_variables(void **unused) {
    (void)unused;
    ptx_module *m = parse(module_text);
    assert_int_equal(ptx_module_version(m), 78);
    assert_int_equal(ptx_module_target(m), 90);
    const ptx_variable *v = variable(m, "bytes");
    assert_int_equal(v->bytes, 12);
    assert_int_equal(v->alignment, 8);
    assert_int_equal(v->linkage, PTX_LINK_VISIBLE);
    assert_int_equal(v->initial_bytes, 5);
    assert_memory_equal(v->initial, "\x01\x02\x03\x04\xff", 5);
    v = variable(m, "reals");
    const float reals[] = {1, 2.5f, -10};
    assert_memory_equal(v->initial, reals, sizeof reals);
    v = variable(m, "pointers");
    assert_int_equal(v->relocation_count, 3);
    assert_string_equal(v->relocations[0].name, "bytes");
    assert_true(v->relocations[0].generic);
    assert_int_equal(v->relocations[0].addend, 4);
    assert_int_equal(v->relocations[2].offset, 16);
    v = variable(m, "cut");
    assert_int_equal(v->relocation_count, 3);
    assert_int_equal(v->relocations[1].shift, 8);
    assert_int_equal(v->relocations[2].width, 1);
    v = variable(m, "grid");
    assert_int_equal(v->bytes, 24);
    assert_int_equal(v->initial[20], 6);
    assert_int_equal(variable(m, "k")->initial[0], 14);
    assert_int_equal(variable(m, "dyn")->bytes, 0);
    assert_true(variable(m, "n")->managed);
    assert_int_equal(variable(m, "c")->linkage, PTX_LINK_COMMON);
    ptx_module_free(m);
}

static void test_functions(void **unused) {
    (void)unused;
    ptx_module *m = parse(module_text);
    const ptx_function *k = function(m, "kernel");
    assert_true(k->entry);
    assert_int_equal(k->max_threads[0] * k->max_threads[1], 256);
    assert_int_equal(k->min_blocks_per_sm, 3);
    assert_int_equal(k->max_registers, 40);
    assert_int_equal(k->parameter_count, 3);
    assert_int_equal(k->parameter[1].bytes, 24);
    assert_null(k->body);
    const ptx_function *f = function(m, "f");
    assert_int_equal(f->returned[0].bytes, 32);
    assert_int_equal(f->parameter[0].type, PTX_U64);
    assert_null(function(m, "vprintf")->text);
    assert_string_equal(function(m, "helper")->alias, "f");
    ptx_module_free(m);
}

static const ptx_instruction *find(const ptx_body *b, const char *mnemonic) {
    for (int i = 0; i < b->count; i++)
        if (strcmp(b->instruction[i].mnemonic, mnemonic) == 0)
            return &b->instruction[i];
    fail_msg("no instruction %s", mnemonic);
    return NULL;
}

static void test_body(void **unused) {
    (void)unused;
    ptx_module *m = parse(module_text);
    ptx_function *k = function(m, "kernel");
    ptx_error error;
    if (!ptx_parse_body(m, k, &error))
        fail_msg("line %d: %s", error.line, error.message);
    assert_true(ptx_parse_body(m, k, &error)); /* a second time: nothing to do */
    const ptx_body *b = k->body;
    const ptx_instruction *in = find(b, "bra");
    assert_true(in->guard >= 0 && in->guard_negated);
    assert_int_equal(in->operand[0].kind, PTX_OPERAND_LABEL);
    assert_string_equal(b->instruction[in->operand[0].target].mnemonic, "setp.lt.and.s32");
    assert_int_equal(in->source_line, 42);
    in = find(b, "setp.lt.and.s32");
    assert_non_null(in->operand[0].second);
    assert_int_equal((int64_t)in->operand[2].value, -7);
    assert_true(in->operand[3].negated);
    assert_int_equal(in->modifier_count, 3);
    in = find(b, "ld.global.v4.f32");
    assert_int_equal(in->operand[0].count, 4);
    assert_int_equal(in->operand[0].element[1].kind, PTX_OPERAND_SINK);
    assert_int_equal(in->operand[1].offset, -16);
    assert_int_equal(find(b, "mov.f32")->operand[1].kind, PTX_OPERAND_F64);
    assert_string_equal(find(b, "mov.u32")->operand[1].name, "%tid.x");
    in = find(b, "brx.idx");
    assert_int_equal(in->operand[1].kind, PTX_OPERAND_TARGETS);
    assert_int_equal(in->operand[1].targets->count, 2);
    in = find(b, "vadd.s32.u32.u32");
    assert_string_equal(in->operand[1].part, "b1");
    in = find(b, "atom.global.cas.b32");
    assert_int_equal(in->operand[1].element[0].kind, PTX_OPERAND_SYMBOL);
    assert_int_equal(in->operand[1].offset, 8);
    assert_int_equal(in->operand[2].value, 0xffffffff);
    in = find(b, "call.uni");
    assert_int_equal(in->operand_count, 3);
    assert_int_equal(b->register_type[in->operand[2].element[0].reg], PTX_B32);
    assert_string_equal(b->instruction[b->count - 1].mnemonic, "ret"); /* added at the end */
    /* the inner %r2 is another register than the outer one */
    assert_int_not_equal(in->operand[2].element[0].reg,
                         find(b, "vadd.s32.u32.u32")->operand[1].reg);
    ptx_module_free(m);
}

typedef struct refusal {
    const char *text;
    int line;
    const char *words;
} refusal;

static void test_refusals(void **unused) {
    (void)unused;
#define TOP ".version 8.0\n.target sm_80\n"
    static const refusal outside[] = {
        {"", 1, "no .version"},
        {"hello", 1, "unknown directive 'hello'"},
        {TOP ".address_size 32\n", 4, ".address_size 64"},
        {TOP ".global .u32 a[2] = {1, 2, 3};", 3, "more initial values"},
        {TOP ".global .u64 a[0] = {1};", 3, "more initial values"},
        {TOP ".global a;", 3, "without a type"},
        {TOP ".global .align 3 .u32 a;", 3, "power of two"},
        {TOP ".global .b8 a[99999999999999999999];", 3, "a"},
        {TOP ".global .b8 a[1000000][1000000][1000000];", 3, "too large"},
        {TOP ".entry k( { }", 3, "parameter"},
        {TOP ".entry k() { /* no end", 3, ""},
        {TOP ".entry k() {", 3, "ends inside"},
        {TOP ".entry k() { } \x01", 3, ""},
        {TOP ".file 1 \"unterminated", 3, ""},
        {TOP ".global .u32 a = b - c;", 3, "only a number"},
        {TOP ".version", 3, ".version"},
    };
    for (size_t i = 0; i < sizeof outside / sizeof *outside; i++) {
        ptx_error error;
        ptx_module *m = ptx_parse(outside[i].text, strlen(outside[i].text), &error);
        if (m || !strstr(error.message, outside[i].words) || error.line != outside[i].line)
            fail_msg("%s: line %d: %s", outside[i].text, error.line,
                     m ? "was taken" : error.message);
    }
    static const refusal inside[] = {
        {"add.s32 %r1 %r2;", 1, "';' expected"},
        {"@%q bra L;", 1, "predicate register"},
        {"\n\nmov.u32 %r1, [;", 3, "operand"},
        {".reg .b32 %r1; .reg .b32 %r1;", 1, "declared twice"},
        {".reg .b32 %r<999999999>;", 1, "number of registers"},
        {".reg .foo %r;", 1, "without a type"},
        {"L: L: ret;", 1, "declared twice"},
        {"T: .branchtargets A;", 1, "no label A"},
        {"{ { ret; }", 1, ""},
        {"mov.u32 , 1;", 1, "operand"},
        {"mov.u32 {{{{{{{{1}}}}}}}}, 1;", 1, "nested"},
        {"mov.u32 p|p|p|p|p|p|p|p|p, 1;", 1, "nested"},
        {".bogus;", 1, "unknown directive"},
        {"a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p.q.r.s.t;", 1, "too many modifiers"},
    };
    for (size_t i = 0; i < sizeof inside / sizeof *inside; i++) {
        char text[512];
        int n = snprintf(text, sizeof text, ".version 8.0\n.target sm_80\n.entry k() {%s}",
                         inside[i].text);
        ptx_error error;
        ptx_module *m = ptx_parse(text, (size_t)n, &error);
        if (!m) /* braces that do not match are seen from outside */
            continue;
        if (ptx_parse_body(m, ptx_module_function(m, 0), &error) ||
            !strstr(error.message, inside[i].words) || error.line != inside[i].line + 2)
            fail_msg("%s: line %d: %s", inside[i].text, error.line, error.message);
        ptx_module_free(m);
    }
}

/* Reads everything there is to read in TEXT, from a buffer of exactly its size. */
static void swallow(const char *text, size_t length) {
    char *exact = malloc(length ? length : 1);
    assert_non_null(exact);
    memcpy(exact, text, length);
    ptx_error error;
    ptx_module *m = ptx_parse(exact, length, &error);
    assert_true(m || error.message[0]);
    for (int i = 0; m && i < ptx_module_function_count(m); i++)
        if (!ptx_parse_body(m, ptx_module_function(m, i), &error))
            assert_true(error.message[0] != '\0');
    ptx_module_free(m);
    free(exact);
}

static void test_prefixes(void **unused) {
    (void)unused;
    for (size_t n = 0; n < sizeof module_text; n++)
        swallow(module_text, n);
}

static void test_mutations(void **unused) {
    (void)unused;
    uint32_t state = 12345;
    static const char pieces[] = "{}()[]<>;:,.%@!|-+*\"/0fdx9aZ_$\n\0\xff";
    for (int round = 0; round < 4000; round++) {
        char text[sizeof module_text];
        memcpy(text, module_text, sizeof text);
        for (int m = 0; m < 1 + round % 6; m++) {
            state = state * 1664525 + 1013904223;
            size_t at = (state >> 8) % (sizeof text - 1);
            state = state * 1664525 + 1013904223;
            text[at] = pieces[(state >> 8) % (sizeof pieces - 1)];
        }
        swallow(text, sizeof text - 1);
    }
}

static void test_lexer(void **unused) {
    (void)unused;
    static const struct {
        const char *text;
        ptx_token_kind kind;
        uint64_t value;
    } list[] = {{"0x10", PTX_TOKEN_INTEGER, 16},
                {"017", PTX_TOKEN_INTEGER, 15},
                {"0b101", PTX_TOKEN_INTEGER, 5},
                {"42U", PTX_TOKEN_INTEGER, 42},
                {"0f3F800000", PTX_TOKEN_F32, 0x3f800000},
                {"0D3ff0000000000000", PTX_TOKEN_F64, 0x3ff0000000000000},
                {"1.5", PTX_TOKEN_F64, 0x3ff8000000000000},
                {"2e0", PTX_TOKEN_F64, 0x4000000000000000},
                {"ld.global.L2::128B.u32", PTX_TOKEN_WORD, 0},
                {"\"a\\\"b\"", PTX_TOKEN_STRING, 0},
                {"`", PTX_TOKEN_BAD, 0}};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        ptx_lexer x;
        ptx_lexer_start(&x, list[i].text, strlen(list[i].text), 1);
        assert_int_equal(x.token.kind, list[i].kind);
        assert_int_equal(x.token.value, list[i].value);
        ptx_lexer_next(&x);
        assert_int_equal(x.token.kind, PTX_TOKEN_END);
    }
}

/* References to textures, what a sampler says, and a predicate beside a vector of results. */
static void test_textures(void **unused) {
    (void)unused;
    ptx_error error;
    ptx_module *m =
        parse(".version 8.0\n.target sm_80, texmode_independent\n.address_size 64\n"
              ".global .texref image = { width = 64, normalized_coords = 1 };\n"
              ".global .samplerref s = { addr_mode_0 = mirror, addr_mode_2 = clamp_ogl,\n"
              "  filter_mode = linear, force_unnormalized_coords = 1 };\n.global .surfref a, b;\n"
              ".entry k() { .reg .f32 %f<4>; .reg .pred %p<2>;\n"
              "tex.1d.v4.f32.f32 {%f0, %f1, %f2, _}|%p1, [image, s, {%f3}]; ret; }\n");
    const ptx_variable *v = variable(m, "s");
    ptx_sampler said;
    assert_true(v->sampler && v->bytes == 8 && v->initial_bytes == sizeof said);
    memcpy(&said, v->initial, sizeof said);
    assert_int_equal(said.address[0], PTX_ADDRESS_MIRROR);
    assert_int_equal(said.address[1], 0);
    assert_int_equal(said.address[2], PTX_ADDRESS_CLAMP);
    assert_int_equal(said.filter, PTX_FILTER_LINEAR);
    assert_int_equal(said.unnormalized, 1);
    v = variable(m, "image");
    assert_true(!v->sampler && v->bytes == 8 && v->initial_bytes == 0);
    assert_int_equal(variable(m, "b")->type, PTX_OPAQUE);
    ptx_function *k = function(m, "k");
    assert_true(ptx_parse_body(m, k, &error));
    const ptx_instruction *in = &k->body->instruction[0];
    assert_int_equal(in->operand[0].kind, PTX_OPERAND_VECTOR);
    assert_non_null(in->operand[0].second);
    assert_int_equal(k->body->register_type[in->operand[0].second->reg], PTX_PRED);
    assert_int_equal(in->operand[1].count, 3);
    ptx_module_free(m);
    static const char *const wrong[] = {"= { addr_mode_0 }", "= { addr_mode_0 = }", "= 5",
                                        "= { filter_mode = linear", "= { { } }"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char text[256];
        snprintf(text, sizeof text, ".version 8.0\n.target sm_80\n.global .samplerref s %s;\n",
                 wrong[i]);
        assert_null(ptx_parse(text, strlen(text), &error));
        assert_true(error.line > 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lexer),     cmocka_unit_test(test_variables),
        cmocka_unit_test(test_functions), cmocka_unit_test(test_textures),
        cmocka_unit_test(test_body),      cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_prefixes),  cmocka_unit_test(test_mutations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
