/* SPDX-License-Identifier: Apache-2.0
 *
 * Tokens of PTX text. A word is an identifier, a directive (".reg") or an opcode with all its
 * modifiers ("ld.global.L2::128B.u32"): PTX glues these together with dots and double colons, and
 * cutting them apart is left to whoever knows what the word stands for. */
#ifndef EMU_PTX_LEXER_H
#define EMU_PTX_LEXER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum ptx_token_kind {
    PTX_TOKEN_END,
    PTX_TOKEN_WORD,
    PTX_TOKEN_INTEGER, /* value */
    PTX_TOKEN_F32,     /* value: the 32 bits of 0fXXXXXXXX */
    PTX_TOKEN_F64,     /* value: the 64 bits of 0dXXXXXXXXXXXXXXXX or of a decimal literal */
    PTX_TOKEN_STRING,  /* text without its quotes */
    PTX_TOKEN_PUNCT,   /* one character, in text[0] */
    PTX_TOKEN_BAD      /* a byte that PTX does not know, or an unterminated string or comment */
} ptx_token_kind;

typedef struct ptx_token {
    ptx_token_kind kind;
    const char *text;
    size_t length;
    uint64_t value;
    int line;
} ptx_token;

typedef struct ptx_lexer {
    const char *at, *end;
    int line;
    ptx_token token; /* the current one */
} ptx_lexer;

/* Starts at TEXT and reads the first token. The text need not be NUL-terminated; it must outlive
 * the tokens. */
void ptx_lexer_start(ptx_lexer *lexer, const char *text, size_t length, int line);
void ptx_lexer_next(ptx_lexer *lexer);

bool ptx_token_is(const ptx_token *token, char punct);
bool ptx_token_word(const ptx_token *token, const char *word);

#endif
