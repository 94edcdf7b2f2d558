/* SPDX-License-Identifier: Apache-2.0
 *
 * What module.c (outside of bodies) and body.c (inside) share: the parser's state, and the
 * declarations of variables, which have one syntax in both places. */
#ifndef EMU_PTX_PARSER_H
#define EMU_PTX_PARSER_H

#include "emulator/ptx/arena.h"
#include "emulator/ptx/lexer.h"
#include "emulator/ptx/ptx.h"

struct ptx_module {
    ptx_arena arena;
    int version, target;
    ptx_function **function;
    int function_count, function_capacity;
    ptx_variable **variable;
    int variable_count, variable_capacity;
};

typedef struct ptx_parser {
    ptx_lexer lexer;
    ptx_module *module;
    ptx_error *error;
} ptx_parser;

/* Records the failure with the current line; returns false so that callers can return it. */
bool ptx_fail(ptx_parser *parser, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same for a token that is none. */
bool ptx_fail_bad(ptx_parser *parser);
bool ptx_expect(ptx_parser *parser, char punct);
bool ptx_accept(ptx_parser *parser, char punct);
bool ptx_accept_word(ptx_parser *parser, const char *word);
/* The current word, copied; NULL with the failure recorded if it is something else. */
char *ptx_take_word(ptx_parser *parser, const char *what);

/* A constant expression of integers; an address if *NAME is not NULL. */
typedef struct ptx_constant {
    uint64_t value;
    bool real32, real64; /* value holds the bits of a literal in floating point */
    const char *name;    /* address of NAME + value */
    bool generic;
    uint64_t mask; /* 0xff(name): the byte that the mask picks; 0: none */
} ptx_constant;
bool ptx_parse_constant(ptx_parser *parser, ptx_constant *constant);

/* The space that DIRECTIVE (".global") declares; PTX_SPACE_NONE for any other word. */
ptx_space ptx_space_directive(const ptx_token *token);

/* From the token after the space's directive to the end of one declarator (the ',' ';' or ')' is
 * left). INITIALS: whether "= ..." may follow. */
bool ptx_parse_variable(ptx_parser *parser, ptx_space space, ptx_linkage linkage, bool initials,
                        ptx_variable *variable);
/* "( .param ... , .param ... )" of a function or prototype. */
bool ptx_parse_parameters(ptx_parser *parser, ptx_variable **list, int *count);

#endif
