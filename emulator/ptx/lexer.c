/* SPDX-License-Identifier: Apache-2.0
 *
 * Cuts PTX text into tokens. Never reads past the end it was given, whatever the bytes are. */
#include "emulator/ptx/lexer.h"

#include <stdlib.h>
#include <string.h>

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool starts_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' || c == '%' ||
           c == '.';
}

static bool continues_word(char c) {
    return (starts_word(c) && c != '%') || is_digit(c);
}

static int hex_digit(char c) {
    if (is_digit(c))
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/* Skips blanks and comments; false for a comment that never ends. */
static bool skip_blanks(ptx_lexer *x) {
    while (x->at < x->end) {
        char c = *x->at;
        if (c == '\n') {
            x->line++;
            x->at++;
        } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v' || c == '\0') {
            x->at++;
        } else if (c == '/' && x->end - x->at > 1 && x->at[1] == '/') {
            while (x->at < x->end && *x->at != '\n')
                x->at++;
        } else if (c == '/' && x->end - x->at > 1 && x->at[1] == '*') {
            x->at += 2;
            while (x->end - x->at > 1 && !(x->at[0] == '*' && x->at[1] == '/'))
                x->line += *x->at++ == '\n';
            if (x->end - x->at < 2) {
                x->at = x->end;
                return false;
            }
            x->at += 2;
        } else {
            return true;
        }
    }
    return true;
}

static void read_word(ptx_lexer *x) {
    const char *p = x->at + 1;
    while (p < x->end) {
        if (continues_word(*p))
            p++;
        else if (*p == ':' && x->end - p > 2 && p[1] == ':' && continues_word(p[2]))
            p += 2;
        else
            break;
    }
    x->token.kind = PTX_TOKEN_WORD;
    x->token.length = (size_t)(p - x->at);
    x->at = p;
}

/* DIGITS hexadecimal digits after the two-letter prefix: an exact floating-point literal. */
static bool read_exact_float(ptx_lexer *x, int digits, ptx_token_kind kind) {
    if (x->end - x->at < 2 + digits)
        return false;
    uint64_t value = 0;
    for (int i = 0; i < digits; i++) {
        int d = hex_digit(x->at[2 + i]);
        if (d < 0)
            return false;
        value = value << 4 | (uint64_t)d;
    }
    x->token.kind = kind;
    x->token.value = value;
    x->token.length = (size_t)digits + 2;
    x->at += digits + 2;
    return true;
}

static void read_decimal_float(ptx_lexer *x, const char *end) {
    char buffer[64];
    size_t length = (size_t)(end - x->at);
    if (length >= sizeof buffer) {
        x->token.kind = PTX_TOKEN_BAD;
    } else {
        memcpy(buffer, x->at, length);
        buffer[length] = '\0';
        double value = strtod(buffer, NULL);
        memcpy(&x->token.value, &value, sizeof value);
        x->token.kind = PTX_TOKEN_F64;
    }
    x->token.length = length;
    x->at = end;
}

/* End of a decimal literal "1.5e-3" that starts at x->at, or NULL if there is neither point nor
 * exponent. */
static const char *decimal_float_end(const ptx_lexer *x) {
    const char *p = x->at;
    bool real = false;
    while (p < x->end && is_digit(*p))
        p++;
    if (x->end - p > 1 && *p == '.' && is_digit(p[1])) {
        real = true;
        p++;
        while (p < x->end && is_digit(*p))
            p++;
    }
    if (p < x->end && (*p == 'e' || *p == 'E')) {
        const char *q = p + 1;
        if (q < x->end && (*q == '+' || *q == '-'))
            q++;
        if (q < x->end && is_digit(*q)) {
            real = true;
            while (q < x->end && is_digit(*q))
                q++;
            p = q;
        }
    }
    return real ? p : NULL;
}

static void read_integer(ptx_lexer *x) {
    const char *p = x->at;
    int base = 10;
    if (*p == '0' && x->end - p > 1) {
        if (p[1] == 'x' || p[1] == 'X')
            base = 16, p += 2;
        else if (p[1] == 'b' || p[1] == 'B')
            base = 2, p += 2;
        else
            base = 8, p += 1;
    }
    uint64_t value = 0;
    for (; p < x->end; p++) {
        int d = hex_digit(*p);
        if (d < 0 || d >= base)
            break;
        value = value * (uint64_t)base + (uint64_t)d;
    }
    if (p < x->end && (*p == 'U' || *p == 'u'))
        p++;
    x->token.kind = PTX_TOKEN_INTEGER;
    x->token.value = value;
    x->token.length = (size_t)(p - x->at);
    x->at = p;
}

static void read_number(ptx_lexer *x) {
    if (*x->at == '0' && x->end - x->at > 1) {
        char c = x->at[1];
        if ((c == 'f' || c == 'F') && read_exact_float(x, 8, PTX_TOKEN_F32))
            return;
        if ((c == 'd' || c == 'D') && read_exact_float(x, 16, PTX_TOKEN_F64))
            return;
    }
    const char *end = decimal_float_end(x);
    if (end)
        read_decimal_float(x, end);
    else
        read_integer(x);
}

static void read_string(ptx_lexer *x) {
    const char *p = x->at + 1;
    while (p < x->end && *p != '"' && *p != '\n') {
        if (*p == '\\' && x->end - p > 1)
            p++;
        p++;
    }
    bool closed = p < x->end && *p == '"';
    x->token.kind = closed ? PTX_TOKEN_STRING : PTX_TOKEN_BAD;
    x->token.text = x->at + 1;
    x->token.length = (size_t)(p - x->at - 1);
    x->at = closed ? p + 1 : p;
}

void ptx_lexer_next(ptx_lexer *x) {
    bool clean = skip_blanks(x);
    x->token =
        (ptx_token){.kind = clean ? PTX_TOKEN_END : PTX_TOKEN_BAD, .text = x->at, .line = x->line};
    if (!clean || x->at >= x->end)
        return;
    char c = *x->at;
    if (starts_word(c)) {
        read_word(x);
    } else if (is_digit(c)) {
        read_number(x);
    } else if (c == '"') {
        read_string(x);
    } else {
        x->token.kind = c && strchr(",;:{}[]()<>=+-!@|*/~&^?", c) ? PTX_TOKEN_PUNCT : PTX_TOKEN_BAD;
        x->token.length = 1;
        x->at++;
    }
}

void ptx_lexer_start(ptx_lexer *x, const char *text, size_t length, int line) {
    *x = (ptx_lexer){.at = text, .end = text + length, .line = line};
    ptx_lexer_next(x);
}

bool ptx_token_is(const ptx_token *token, char punct) {
    return token->kind == PTX_TOKEN_PUNCT && token->text[0] == punct;
}

bool ptx_token_word(const ptx_token *token, const char *word) {
    return token->kind == PTX_TOKEN_WORD && strlen(word) == token->length &&
           memcmp(token->text, word, token->length) == 0;
}
