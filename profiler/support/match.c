/* SPDX-License-Identifier: Apache-2.0
 *
 * Globs in linear space and at worst quadratic time (a hostile pattern cannot make fnmatch's
 * exponential search of it), lists of globs, regular expressions.
 */
#include "support/match.h"
#include <string.h>

/* Matches C against the bracket expression that starts at P ('['). *END: behind it, or NULL if it
 * is never closed (then '[' is an ordinary character). */
static bool match_bracket(const char *p, const char *p_end, unsigned char c, const char **end) {
    const char *first = ++p;
    bool negated = p < p_end && (*p == '!' || *p == '^'), found = false;
    if (negated)
        first = ++p;
    for (; p < p_end && (*p != ']' || p == first); p++) {
        unsigned char low = (unsigned char)*p, high = low;
        if (p + 2 < p_end && p[1] == '-' && p[2] != ']') {
            high = (unsigned char)p[2];
            p += 2;
        }
        found |= c >= low && c <= high;
    }
    *end = p < p_end ? p + 1 : NULL;
    return found != negated;
}

/* Matches one character of the text against the pattern item at P; *NEXT: behind that item. */
static bool match_one(const char *p, const char *p_end, unsigned char c, const char **next) {
    *next = p + 1;
    if (*p == '?')
        return true;
    if (*p == '[') {
        const char *end;
        bool matches = match_bracket(p, p_end, c, &end);
        if (end) {
            *next = end;
            return matches;
        }
    } else if (*p == '\\' && p + 1 < p_end) {
        p++;
        *next = p + 1;
    }
    return (unsigned char)*p == c;
}

static bool glob(const char *p, const char *p_end, const char *text) {
    const char *star = NULL, *retry = NULL;
    while (*text) {
        const char *next;
        if (p < p_end && *p == '*') {
            star = ++p;
            retry = text;
        } else if (p < p_end && match_one(p, p_end, (unsigned char)*text, &next)) {
            p = next;
            text++;
        } else if (star) { /* the last star takes one character more */
            p = star;
            text = ++retry;
        } else {
            return false;
        }
    }
    while (p < p_end && *p == '*')
        p++;
    return p == p_end;
}

bool rp_match_glob(const char *pattern, const char *text) {
    return glob(pattern, pattern + strlen(pattern), text);
}

bool rp_match_list(const char *list, const char *text) {
    for (const char *p = list;; p++) {
        const char *end = strchrnul(p, ';');
        if (text ? glob(p, end, text) : end - p == 1 && *p == '*')
            return true;
        if (!*end)
            return false;
        p = end;
    }
}

rp_code rp_match_compile(regex_t *regex, const char *pattern, rp_error *error) {
    int failed = regcomp(regex, pattern, REG_EXTENDED | REG_NOSUB);
    if (!failed)
        return RP_OK;
    char reason[128];
    regerror(failed, regex, reason, sizeof reason);
    return rp_fail(error, RP_USAGE, "the regular expression \"%s\" is wrong: %s", pattern, reason);
}
