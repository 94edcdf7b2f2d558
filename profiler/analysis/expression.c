/* SPDX-License-Identifier: Apache-2.0
 *
 * The expressions of --work: numbers and the launch shape under + - * / ( ) min max ceil floor. A
 * recursive descent over the text, evaluated as it is read; depth is bounded, nothing is executed
 * but this arithmetic.
 */
#include "analysis/analysis.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH 64

typedef struct reader {
    const char *text, *at;
    const double *shape;
    int depth;
    rp_error *error;
    rp_code code;
} reader;

static double sum(reader *r);

static double fail(reader *r, const char *why) {
    if (r->code == RP_OK)
        r->code = rp_fail(r->error, RP_INPUT, "'%s', at column %ld: %s", r->text,
                          (long)(r->at - r->text) + 1, why);
    return NAN;
}

static void blanks(reader *r) {
    while (*r->at == ' ' || *r->at == '\t')
        r->at++;
}

static bool accept(reader *r, char c) {
    blanks(r);
    if (*r->at != c)
        return false;
    r->at++;
    return true;
}

static double number(reader *r) {
    char *end;
    /* strtod would also read hex, "inf" and "nan" */
    if (r->at[0] == '0' && (r->at[1] == 'x' || r->at[1] == 'X'))
        return fail(r, "numbers are decimal");
    double value = strtod(r->at, &end);
    if (end == r->at)
        return fail(r, "a number was expected");
    r->at = end;
    return isfinite(value) ? value : fail(r, "the number is too large");
}

static double call(reader *r, const char *name, size_t length) {
    bool minimum = length == 3 && memcmp(name, "min", 3) == 0;
    bool maximum = length == 3 && memcmp(name, "max", 3) == 0;
    bool ceiling = length == 4 && memcmp(name, "ceil", 4) == 0;
    if (!minimum && !maximum && !ceiling && !(length == 5 && memcmp(name, "floor", 5) == 0)) {
        r->at = name;
        return fail(r, "there is no such function (min, max, ceil, floor)");
    }
    double value = sum(r);
    if (minimum || maximum) {
        int arguments = 1;
        for (; r->code == RP_OK && accept(r, ','); arguments++) {
            double other = sum(r);
            value = minimum ? fmin(value, other) : fmax(value, other);
        }
        if (r->code == RP_OK && arguments < 2)
            return fail(r, "min and max take two values or more");
    } else {
        value = ceiling ? ceil(value) : floor(value);
    }
    return accept(r, ')') ? value : fail(r, "')' was expected");
}

static double word(reader *r) {
    static const char *const names[] = {"gx", "gy", "gz", "bx", "by", "bz"};
    const char *start = r->at;
    while (isalnum((unsigned char)*r->at) || *r->at == '_')
        r->at++;
    size_t length = (size_t)(r->at - start);
    if (accept(r, '('))
        return call(r, start, length);
    for (size_t i = 0; i < 6; i++) {
        if (length != 2 || memcmp(start, names[i], 2) != 0)
            continue;
        if (r->shape)
            return r->shape[i];
        r->at = start;
        return fail(r, "the launch shape is not known here");
    }
    r->at = start;
    return fail(r, "there is no such name (gx gy gz bx by bz)");
}

static double factor(reader *r) {
    double value;
    blanks(r);
    if (++r->depth > DEPTH)
        return fail(r, "nested too deep");
    if (accept(r, '(')) {
        value = sum(r);
        if (!accept(r, ')'))
            return fail(r, "')' was expected");
    } else if (accept(r, '-')) {
        value = -factor(r);
    } else if (accept(r, '+')) {
        value = factor(r);
    } else if (isalpha((unsigned char)*r->at)) {
        value = word(r);
    } else {
        value = number(r);
    }
    r->depth--;
    return value;
}

static double product(reader *r) {
    double value = factor(r);
    while (r->code == RP_OK) {
        if (accept(r, '*')) {
            value *= factor(r);
        } else if (accept(r, '/')) {
            double divisor = factor(r);
            if (divisor == 0)
                return fail(r, "division by zero");
            value /= divisor;
        } else {
            break;
        }
    }
    return value;
}

static double sum(reader *r) {
    double value = product(r);
    while (r->code == RP_OK) {
        if (accept(r, '+'))
            value += product(r);
        else if (accept(r, '-'))
            value -= product(r);
        else
            break;
    }
    return value;
}

rp_code rp_expression(const char *text, const double shape[6], double *value, rp_error *error) {
    reader r = {.text = text, .at = text, .shape = shape, .error = error, .code = RP_OK};
    *value = sum(&r);
    blanks(&r);
    if (r.code == RP_OK && *r.at)
        fail(&r, "nothing more was expected");
    if (r.code == RP_OK && !isfinite(*value))
        fail(&r, "the value is too large");
    if (r.code == RP_OK && *value < 0)
        fail(&r, "the value is negative");
    if (r.code != RP_OK)
        *value = NAN;
    return r.code;
}
