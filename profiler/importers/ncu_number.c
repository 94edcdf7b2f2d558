/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading numbers of unknown locale, and units; see ncu_number.h. A number is first split into
 * digits, separators and exponent; its shape follows from which separators occur, how often and
 * before how many digits, and only then are its digits turned into a value.
 */
#include "importers/ncu_number.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

enum { MAX_GROUPS = 24 };

/* A number taken apart: runs of digits between separators. */
typedef struct parts {
    bool negative, has_exponent;
    int exponent;
    char separator[MAX_GROUPS]; /* before group i; 0 for the first */
    const char *digits[MAX_GROUPS];
    size_t length[MAX_GROUPS];
    int groups;
} parts;

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/* Bytes of a locale-free grouping mark (space, apostrophe, their Unicode kin) at TEXT; 0 if none.
 */
static size_t grouping_mark(const char *text, const char *end) {
    size_t left = (size_t)(end - text);
    if (*text == ' ' || *text == '\'')
        return 1;
    if (left >= 2 && memcmp(text, "\xC2\xA0", 2) == 0)
        return 2;
    if (left >= 3 && (memcmp(text, "\xE2\x80\xAF", 3) == 0 || memcmp(text, "\xE2\x80\x99", 3) == 0))
        return 3;
    return 0;
}

static bool is_missing(const char *text, size_t length) {
    static const char *const words[] = {"n/a",  "nan",      "-nan", "nan(ind)", "-nan(ind)", "inf",
                                        "-inf", "infinity", "null", "none",     "no data",   "na"};
    if (length == 0)
        return true;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i]) == length && strncasecmp(words[i], text, length) == 0)
            return true;
    return false;
}

static const char *read_exponent(const char *at, const char *end, parts *number) {
    const char *start = at++;
    bool negative = at < end && *at == '-';
    if (at < end && (*at == '-' || *at == '+'))
        at++;
    if (at == end || !is_digit(*at))
        return start;
    int value = 0;
    for (; at < end && is_digit(*at); at++)
        if (value < 10000)
            value = value * 10 + (*at - '0');
    number->exponent = negative ? -value : value;
    number->has_exponent = true;
    return at;
}

/* False if TEXT is not digits and separators from end to end. */
static bool split(const char *text, const char *end, parts *number) {
    *number = (parts){0};
    if (text < end && (*text == '-' || *text == '+'))
        number->negative = *text++ == '-';
    char separator = 0;
    for (;;) {
        if (number->groups == MAX_GROUPS)
            return false;
        const char *start = text;
        while (text < end && is_digit(*text))
            text++;
        int g = number->groups++;
        number->separator[g] = separator;
        number->digits[g] = start;
        number->length[g] = (size_t)(text - start);
        if (text < end && (*text == 'e' || *text == 'E'))
            text = read_exponent(text, end, number);
        if (text == end)
            return true;
        if (number->has_exponent)
            return false;
        size_t mark = grouping_mark(text, end);
        if (mark > 0) {
            separator = ' ';
            text += mark;
        } else if (*text == '.' || *text == ',') {
            separator = *text++;
        } else {
            return false;
        }
    }
}

static int count_of(const parts *number, char separator) {
    int n = 0;
    for (int g = 1; g < number->groups; g++)
        n += number->separator[g] == separator;
    return n;
}

/* Groups 1 to LAST are led by the grouping mark MARK: all hold three digits (two where Indian
 * grouping has them, but never the last), and the first one to three. */
static bool grouped(const parts *number, char mark, int last) {
    if (last == 0)
        return true;
    if (number->length[0] < 1 || number->length[0] > 3)
        return false;
    for (int g = 1; g <= last; g++) {
        size_t n = number->length[g];
        if (number->separator[g] != mark || n < 2 || n > 3 || (g == last && n != 3))
            return false;
    }
    return true;
}

/* The shape; *DECIMAL is the group of the decimals, or -1. For EITHER it is left to the locale. */
static ncu_shape shape_of(const parts *number, int *decimal) {
    int last = number->groups - 1;
    int points = count_of(number, '.'), commas = count_of(number, ',');
    int spaces = count_of(number, ' ');
    *decimal = -1;
    if (points + commas == 0)
        return number->length[0] == 0 || !grouped(number, ' ', last) ? NCU_TEXT : NCU_PLAIN;

    char mark = number->separator[last];
    if (mark == ' ' || (number->length[0] == 0 && number->length[last] == 0))
        return NCU_TEXT;
    bool other = mark == '.' ? commas > 0 : points > 0;
    int same = mark == '.' ? points : commas;
    if (same > 1) { /* 1.342.177: grouping, no decimals, nothing else may occur */
        if (other || spaces > 0 || number->has_exponent || !grouped(number, mark, last))
            return NCU_TEXT;
        return mark == '.' ? NCU_COMMA : NCU_POINT;
    }
    char grouping = spaces > 0 ? ' ' : mark == '.' ? ',' : '.';
    if (!grouped(number, grouping, last - 1))
        return NCU_TEXT;
    *decimal = last;
    if (last == 1 && !number->has_exponent && number->length[1] == 3 && number->length[0] >= 1 &&
        number->length[0] <= 3 && number->digits[0][0] != '0')
        return NCU_EITHER;
    return mark == '.' ? NCU_POINT : NCU_COMMA;
}

static double power_of_ten(int exponent) {
    static const double exact[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                   1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                   1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    return exponent < (int)(sizeof exact / sizeof *exact) ? exact[exponent] : pow(10.0, exponent);
}

/* Digits beyond 18 only move the decimal point: a double holds 17. Not strtod(), which follows the
 * locale of the process. */
static double value_of(const parts *number, int decimal) {
    uint64_t mantissa = 0;
    int scale = number->exponent;
    for (int g = 0; g < number->groups; g++)
        for (size_t i = 0; i < number->length[g]; i++) {
            bool kept = mantissa < UINT64_C(100000000000000000);
            if (kept)
                mantissa = mantissa * 10 + (uint64_t)(number->digits[g][i] - '0');
            if (g == decimal)
                scale -= kept;
            else
                scale += !kept;
        }
    double value = (double)mantissa;
    if (scale > 0)
        value *= power_of_ten(scale);
    else if (scale < -300) /* in two steps, so that 1e-310 is not 0 / inf */
        value = value / 1e300 / power_of_ten(-scale - 300);
    else if (scale < 0)
        value /= power_of_ten(-scale);
    return number->negative ? -value : value;
}

ncu_shape ncu_number_read(const char *text, size_t length, ncu_locale locale, double *value,
                          int *decimals) {
    const char *end = text + length;
    *value = NAN;
    if (decimals)
        *decimals = 0;
    while (text < end && (*text == ' ' || *text == '\t'))
        text++;
    while (end > text && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\r'))
        end--;
    if (is_missing(text, (size_t)(end - text)))
        return NCU_MISSING;

    parts number;
    if (!split(text, end, &number))
        return NCU_TEXT;
    int decimal;
    ncu_shape shape = shape_of(&number, &decimal);
    if (shape == NCU_TEXT || (shape == NCU_EITHER && locale == NCU_LOCALE_UNKNOWN))
        return shape;
    if (shape == NCU_EITHER && (number.separator[1] == '.') != (locale == NCU_LOCALE_POINT))
        decimal = -1;
    *value = value_of(&number, decimal);
    if (decimals && decimal > 0)
        *decimals = (int)number.length[decimal] - number.exponent;
    if (!isfinite(*value)) {
        *value = NAN;
        return NCU_TEXT;
    }
    return shape;
}

/* ---- Units ----------------------------------------------------------------------------------- */

typedef struct word {
    const char *text; /* as printed, lower case */
    const char *base;
    double multiply, divide;
    bool prefixed; /* takes K, M, G, T */
} word;

static const word words[] = {
    {"byte", "byte", 1, 1, true},
    {"bytes", "byte", 1, 1, true},
    {"bit", "bit", 1, 1, true},
    {"inst", "inst", 1, 1, true},
    {"sector", "sector", 1, 1, true},
    {"sectors", "sector", 1, 1, true},
    {"cycle", "cycle", 1, 1, true},
    {"cycles", "cycle", 1, 1, true},
    {"request", "request", 1, 1, true},
    {"requests", "request", 1, 1, true},
    {"transaction", "transaction", 1, 1, true},
    {"transactions", "transaction", 1, 1, true},
    {"thread", "thread", 1, 1, true},
    {"threads", "thread", 1, 1, true},
    {"warp", "warp", 1, 1, true},
    {"warps", "warp", 1, 1, true},
    {"block", "block", 1, 1, true},
    {"blocks", "block", 1, 1, true},
    {"register", "register", 1, 1, true},
    {"hz", "Hz", 1, 1, true},
    {"s", "s", 1, 1, false},
    {"second", "s", 1, 1, false},
    {"ms", "s", 1, 1e3, false},
    {"msecond", "s", 1, 1e3, false},
    {"us", "s", 1, 1e6, false},
    {"usecond", "s", 1, 1e6, false},
    {"\xc2\xb5s", "s", 1, 1e6, false},
    {"ns", "s", 1, 1e9, false},
    {"nsecond", "s", 1, 1e9, false},
    {"%", "1", 1, 100, false},
};

static const word *find_word(const char *text, size_t length) {
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i].text) == length && strncasecmp(words[i].text, text, length) == 0)
            return &words[i];
    return NULL;
}

static double prefix_scale(char prefix) {
    switch (prefix) {
    case 'K':
    case 'k':
        return 1e3;
    case 'M':
        return 1e6;
    case 'G':
        return 1e9;
    case 'T':
        return 1e12;
    default:
        return 0;
    }
}

/* One side of a quotient. */
static bool parse_side(const char *text, size_t length, ncu_unit *side) {
    const word *found = find_word(text, length);
    double scale = 1;
    if (!found && length > 1 && (scale = prefix_scale(text[0])) > 0) {
        found = find_word(text + 1, length - 1);
        if (found && !found->prefixed)
            found = NULL;
        if (!found && ((length == 2 && text[1] == 'B') || (length == 3 && text[2] == 'B')))
            return false;
    }
    *side = (ncu_unit){.multiply = 1, .divide = 1};
    if (found) {
        side->multiply = found->multiply * scale;
        side->divide = found->divide;
        text = found->base;
        length = strlen(text);
    }
    if (length >= sizeof side->name / 2)
        length = sizeof side->name / 2 - 1;
    memcpy(side->name, text, length);
    return true;
}

bool ncu_unit_parse(const char *text, size_t length, ncu_unit *unit) {
    const char *slash = memchr(text, '/', length);
    ncu_unit below = {.multiply = 1, .divide = 1};
    if (!parse_side(text, slash ? (size_t)(slash - text) : length, unit))
        return false;
    if (!slash)
        return true;
    if (!parse_side(slash + 1, length - (size_t)(slash + 1 - text), &below))
        return false;
    if (strcmp(unit->name, "cycle") == 0 && strcmp(below.name, "s") == 0) {
        strcpy(unit->name, "Hz");
    } else {
        strcat(unit->name, "/"); /* each side is below half of the room */
        strcat(unit->name, below.name);
    }
    unit->multiply *= below.divide;
    unit->divide *= below.multiply;
    return true;
}

double ncu_unit_apply(const ncu_unit *unit, double value) {
    if (unit->multiply != 1)
        value *= unit->multiply;
    return unit->divide != 1 ? value / unit->divide : value;
}

bool ncu_unit_is_count(const char *text, size_t length) {
    static const char *const counts[] = {"byte",    "bytes",   "inst",     "sector",
                                         "sectors", "request", "requests", "thread",
                                         "threads", "block",   "blocks"};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        if (strlen(counts[i]) == length && memcmp(counts[i], text, length) == 0)
            return true;
    return false;
}

static bool contains(const char *text, size_t length, const char *part) {
    return memmem(text, length, part, strlen(part)) != NULL;
}

static bool ends_with(const char *text, size_t length, const char *end) {
    size_t n = strlen(end);
    return length >= n && memcmp(text + length - n, end, n) == 0;
}

const char *ncu_unit_of_metric(const char *name, size_t length) {
    if (!contains(name, length, "__"))
        return NULL;
    const char *dot = memchr(name, '.', length);
    size_t base = dot ? (size_t)(dot - name) : length;
    if (ends_with(name, length, "_pct") || contains(name, length, ".pct"))
        return "%";
    bool rate = ends_with(name, length, ".per_second");
    if (contains(name, base, "bytes") || contains(name, base, "__shared_mem_"))
        return rate ? "byte/second" : "byte";
    if (contains(name, base, "cycles_elapsed") || ends_with(name, base, "cycles_active"))
        return rate ? "cycle/second" : "cycle";
    if (contains(name, base, "__time_"))
        return rate ? "" : "ns";
    if (contains(name, length, ".ratio") || rate)
        return "";
    if (contains(name, base, "inst_executed") || contains(name, base, "inst_issued"))
        return "inst";
    if (contains(name, base, "sectors"))
        return "sector";
    return "";
}
