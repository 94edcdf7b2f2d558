/* SPDX-License-Identifier: Apache-2.0
 *
 * Short kernel names. A name is read once from left to right, brackets skipped as units, and cut
 * into its parts: what comes before it (return type), its components between "::", the template
 * arguments of the last, its parameters. Names arrive broken as well (cut at either end): a bracket
 * that was never opened ends what is before it, one that is never closed takes the rest.
 */
#include "capture/name.h"
#include "support/map.h"
#include "support/text.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHORT_COLUMNS = 120 };

typedef struct piece {
    const char *start, *end;
} piece;

/* The components of a name that matter; what is not there is empty. */
typedef struct parts {
    piece base, args;          /* the last; what is between its < and > */
    piece before, before_args; /* the last before it that has a name of its own */
    bool ended;                /* by parameters: it is the name of a function */
} parts;

static bool is_empty(piece text) {
    return text.start >= text.end;
}

static bool starts_with(piece text, const char *prefix) {
    size_t length = strlen(prefix);
    return (size_t)(text.end - text.start) >= length && memcmp(text.start, prefix, length) == 0;
}

static bool is_word(char c) {
    return c == '_' || c == '$' || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
           (c >= 'a' && c <= 'z') || (unsigned char)c >= 0x80;
}

/* Behind the bracket that closes the one at P; END if none does. Within ( [ { the signs < and > may
 * be comparisons and are not counted; within < only < and other brackets are. */
static const char *skip_bracket(const char *p, const char *end) {
    bool angle = *p == '<';
    size_t angles = 0, others = 0;
    for (; p < end; p++) {
        switch (*p) {
        case '(':
        case '[':
        case '{':
            others++;
            break;
        case ')':
        case ']':
        case '}':
            if (others)
                others--;
            break;
        case '<':
            angles += angle && !others;
            break;
        case '>':
            angles -= angle && !others && angles && p[-1] != '-';
            break;
        default:
            break;
        }
        if (!angles && !others)
            return p + 1;
    }
    return end;
}

/* If the word "operator" is at P: behind its symbol ("operator()", "operator<<"). Else P. */
static const char *skip_operator(const char *p, const char *end) {
    static const char word[] = "operator";
    size_t length = sizeof word - 1;
    if ((size_t)(end - p) <= length || memcmp(p, word, length) != 0 || is_word(p[length]))
        return p;
    p += length;
    if (end - p >= 3 && *p == ' ' && p[1] == '(') /* some profilers write "operator ()" */
        p++;
    if (end - p >= 2 && p[0] == '(' && p[1] == ')')
        return p + 2;
    while (p < end && strchr("<>=!+-*/%^&|~,", *p))
        p++;
    return p;
}

/* If the parenthesis that CLOSE is behind belongs to the name and is not its parameters
 * ("(anonymous namespace)", or those of an enclosing function: "f(int) const::{lambda...}"): the
 * "::" that follows. Else NULL. */
static const char *enclosing(const char *close, const char *end) {
    for (const char *p = close; p < end && (*p == ' ' || is_word(*p)); p++)
        close = p + 1;
    return end - close >= 2 && close[0] == ':' && close[1] == ':' ? close : NULL;
}

/* Components that say nothing without the one before them. */
static bool is_nameless(piece base) {
    return starts_with(base, "{") || starts_with(base, "[") || starts_with(base, "'") ||
           starts_with(base, "operator");
}

/* Starts the next component at P. */
static void next_component(parts *found, const char *p) {
    if (!is_nameless(found->base)) {
        found->before = found->base;
        found->before_args = found->args;
    }
    found->base = (piece){p, NULL};
    found->args = (piece){p, p};
}

/* Starts anew at P: what was before it is no part of the name. */
static const char *restart(parts *found, const char *p, const char *end) {
    if (end - p >= 2 && p[0] == ':' && p[1] == ':')
        p += 2;
    *found = (parts){{p, NULL}, {p, p}, {p, p}, {p, p}, false};
    return p;
}

static void end_component(parts *found, const char *p) {
    if (!found->base.end)
        found->base.end = p;
}

/* True if at P (a space) a qualifier of the type follows: "T<int> const&". */
static bool is_qualifier(const char *p, const char *end) {
    piece rest = {p + 1, end};
    return starts_with(rest, "const") || starts_with(rest, "volatile") || starts_with(rest, "*") ||
           starts_with(rest, "&");
}

/* Handles the angle bracket at P; returns what is behind it. */
static const char *take_arguments(parts *found, const char *p, const char *end) {
    const char *behind = skip_bracket(p, end);
    if (p == found->base.start) /* "<unnamed>" is a component of its own */
        return behind;
    end_component(found, p);
    bool closed = behind[-1] == '>' && behind - p > 1;
    found->args = (piece){p + 1, closed ? behind - 1 : behind};
    return behind;
}

static parts split(piece text) {
    const char *end = text.end, *behind;
    parts found;
    for (const char *p = restart(&found, text.start, end); p < end;) {
        if (*p == 'o' && (p == found.base.start || !is_word(p[-1])) &&
            (behind = skip_operator(p, end)) != p) {
            p = behind;
        } else if (*p == '<') {
            p = take_arguments(&found, p, end);
        } else if (*p == '(') {
            behind = enclosing(skip_bracket(p, end), end);
            found.ended = !behind;
            if (p != found.base.start || !behind)
                end_component(&found, p);
            if (!behind)
                break;
            p = behind;
        } else if (*p == '{' || *p == '[') {
            p = skip_bracket(p, end);
        } else if (*p == ':' && end - p >= 2 && p[1] == ':') {
            end_component(&found, p);
            next_component(&found, p + 2);
            p += 2;
        } else if (*p == ' ' && starts_with((piece){p, end}, " [clone")) {
            end_component(&found, p);
            found.ended = true;
            break;
        } else if (*p == ' ' && is_qualifier(p, end)) {
            break;
        } else if (*p == ' ' || *p == '>' || *p == ']') {
            /* behind a return type, or behind a beginning that was cut off */
            p = restart(&found, p + 1, end);
        } else {
            p++;
        }
        if (p >= end)
            end_component(&found, end);
    }
    if (!found.base.end)
        found.base.end = found.base.start;
    return found;
}

static piece trimmed(piece text) {
    while (!is_empty(text) && *text.start == ' ')
        text.start++;
    while (!is_empty(text) && text.end[-1] == ' ')
        text.end--;
    return text;
}

/* What names TEXT, in memory of its own: its last component, behind the one before if it says
 * nothing itself. Plain types, numbers and names that are no C++ are taken whole. */
static char *label_of(piece text, parts *found) {
    text = trimmed(text);
    *found = split(text);
    piece base = found->base, before = found->before;
    bool plain = !found->ended && is_empty(found->args) && is_empty(before);
    bool joined = is_nameless(base) && !is_empty(before);
    if (is_empty(base) || plain)
        base = text;
    char *out = NULL;
    int length =
        asprintf(&out, "%.*s%s%.*s", joined ? (int)(before.end - before.start) : 0, before.start,
                 joined ? "::" : "", (int)(base.end - base.start), base.start);
    return length < 0 ? NULL : out;
}

/* The next of the template arguments at *REST, which is moved behind it. */
static piece next_argument(piece *rest) {
    const char *p = rest->start;
    while (p < rest->end && *p != ',')
        p = strchr("<([{", *p) ? skip_bracket(p, rest->end) : p + 1;
    piece argument = trimmed((piece){rest->start, p});
    rest->start = p < rest->end ? p + 1 : p;
    return argument;
}

/* Entry points that many libraries share; what they run is their first template argument. */
static bool is_shared_entry(const char *base) {
    static const char *const entries[] = {"Kernel",        "Kernel2",       "kernel",
                                          "device_kernel", "_kernel_agent", "kernel_agent",
                                          "DeviceKernel"};
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
        if (strcmp(base, entries[i]) == 0)
            return true;
    return false;
}

/* The last identifier before template arguments of a mangled name that could not be demangled:
 * _ZN7cutlass6KernelI... Empty if the bytes are no mangled name at all. */
static piece mangled_base(const char *name) {
    const char *p = name + 2, *end = name + strlen(name);
    piece base = {p, p};
    p += strspn(p, "NKLV");
    for (;;) {
        char *digits_end;
        unsigned long length = *p >= '1' && *p <= '9' ? strtoul(p, &digits_end, 10) : 0;
        if (!length || length > (unsigned long)(end - digits_end))
            return base;
        base = (piece){digits_end, digits_end + length};
        p = base.end;
    }
}

/* Makes TEXT (freed) printable and no longer than a short name may be. */
static char *presentable(char *text) {
    char *printable = text ? rp_text_printable(text, strlen(text)) : NULL;
    char *fitted = printable ? rp_text_fit(printable, SHORT_COLUMNS) : NULL;
    free(text);
    free(printable);
    return fitted;
}

char *rp_name_short(const char *name) {
    piece text = {name, name + strlen(name)};
    parts found;
    if (starts_with(text, "_Z")) {
        piece base = mangled_base(name);
        return presentable(is_empty(base) ? strdup(name)
                                          : strndup(base.start, (size_t)(base.end - base.start)));
    }
    char *label = label_of(text, &found);
    if (label && is_shared_entry(label) && !is_empty(found.args)) {
        parts ignored;
        char *first = label_of(next_argument(&found.args), &ignored), *both = NULL;
        if (first && asprintf(&both, "%s<%s>", label, first) < 0)
            both = NULL;
        free(first);
        free(label);
        label = both;
    }
    return presentable(label);
}

bool rp_name_is_collective(const char *name) {
    static const char *const prefixes[] = {"nccl", "rccl", "nvshmem", "_ZN7nvshmem"};
    char *label = rp_name_short(name);
    bool found = false;
    for (size_t i = 0; label && i < sizeof prefixes / sizeof *prefixes; i++)
        found |= strncmp(label, prefixes[i], strlen(prefixes[i])) == 0;
    free(label);
    return found;
}

/* ---- Telling kernels with the same short name apart ------------------------------------------ */

typedef struct rival {
    size_t index; /* in the caller's list */
    piece text;   /* what still may tell it apart */
    char *labels; /* found so far, joined by ", "; NULL none */
} rival;

static bool same(piece a, piece b) {
    size_t length = (size_t)(a.end - a.start);
    return length == (size_t)(b.end - b.start) && memcmp(a.start, b.start, length) == 0;
}

/* Moves every rival's text to the first template argument that is not the same in all of them.
 * False if there is none. */
static bool find_difference(rival *rivals, size_t n) {
    bool any = true;
    while (any) {
        bool differs = false;
        any = false;
        piece first = {NULL, NULL};
        for (size_t i = 0; i < n; i++) {
            piece rest = rivals[i].text, argument = next_argument(&rest);
            any |= !is_empty(rest);
            differs |= i > 0 && !same(argument, first);
            if (i == 0)
                first = argument;
        }
        for (size_t i = 0; i < n; i++) {
            piece rest = rivals[i].text, argument = next_argument(&rest);
            rivals[i].text = differs ? argument : rest;
        }
        if (differs)
            return true;
    }
    return false;
}

/* Labels every rival with what names its text; true if they are not all the same, otherwise the
 * texts are replaced by their own template arguments. False on no memory as well. */
static bool label_rivals(rival *rivals, size_t n, char **labels) {
    bool differs = false;
    for (size_t i = 0; i < n; i++) {
        parts found;
        labels[i] = label_of(rivals[i].text, &found);
        if (!labels[i])
            return false;
        rivals[i].text = is_empty(found.args) ? found.before_args : found.args;
        differs |= i > 0 && strcmp(labels[i], labels[0]) != 0;
    }
    return differs;
}

static void free_labels(char **labels, size_t n) {
    for (size_t i = 0; i < n; i++) {
        free(labels[i]);
        labels[i] = NULL;
    }
}

enum { DEEPEST_LABEL = 8 };

/* Adds one label to each rival, by the outermost difference in their template arguments. */
static bool add_labels(rival *rivals, size_t n, char **labels) {
    bool found = false;
    for (int depth = 0; !found && depth < DEEPEST_LABEL && find_difference(rivals, n); depth++) {
        free_labels(labels, n);
        found = label_rivals(rivals, n, labels);
    }
    for (size_t i = 0; found && i < n; i++) {
        char *joined = NULL;
        const char *old = rivals[i].labels;
        if (asprintf(&joined, "%s%s%s", old ? old : "", old ? ", " : "", labels[i]) < 0)
            joined = NULL;
        free(rivals[i].labels);
        rivals[i].labels = joined;
    }
    free_labels(labels, n);
    return found;
}

static int by_labels(const void *a, const void *b) {
    const rival *x = a, *y = b;
    int order = strcmp(x->labels ? x->labels : "", y->labels ? y->labels : "");
    return order ? order : (x->index > y->index) - (x->index < y->index);
}

static piece arguments_of(const char *name) {
    parts found = split((piece){name, name + strlen(name)});
    return is_empty(found.args) ? found.before_args : found.args;
}

/* Labels runs of rivals that have the same labels, once more each. */
static void label_runs(rival *rivals, size_t n, const char *const *names, char **labels) {
    qsort(rivals, n, sizeof *rivals, by_labels);
    for (size_t start = 0, end; start < n; start = end) {
        for (end = start + 1; end < n; end++)
            if (strcmp(rivals[start].labels ? rivals[start].labels : "",
                       rivals[end].labels ? rivals[end].labels : "") != 0)
                break;
        for (size_t i = start; i < end; i++)
            rivals[i].text = arguments_of(names[rivals[i].index]);
        if (end - start > 1)
            add_labels(rivals + start, end - start, labels);
    }
}

/* The short name of a rival: BASE, its labels, and NUMBER if that is not enough. */
static char *compose(const char *base, const rival *one, size_t number) {
    char *text = NULL, suffix[24] = "";
    int length =
        one->labels ? asprintf(&text, "%s<%s>", base, one->labels) : asprintf(&text, "%s", base);
    char *fitted = length < 0 ? NULL : presentable(text);
    if (!fitted || !number)
        return fitted;
    snprintf(suffix, sizeof suffix, " #%zu", number);
    length = asprintf(&text, "%s%s", fitted, suffix);
    free(fitted);
    return length < 0 ? NULL : text;
}

bool rp_name_distinguish(const char *const *names, size_t n, char **short_names) {
    enum { ROUNDS = 3 };
    bool done = false;
    rival *rivals = calloc(n, sizeof *rivals);
    char **labels = calloc(n, sizeof *labels);
    if (!rivals || !labels)
        goto out;
    for (size_t i = 0; i < n; i++)
        rivals[i].index = i;
    for (int round = 0; round < ROUNDS; round++)
        label_runs(rivals, n, names, labels);
    qsort(rivals, n, sizeof *rivals, by_labels);
    done = true;
    char *previous = NULL;
    for (size_t i = 0, number = 1; i < n && done; i++) {
        char *old = short_names[rivals[i].index];
        char *made = compose(old, &rivals[i], 0);
        number = previous && made && strcmp(made, previous) == 0 ? number + 1 : 1;
        free(previous);
        previous = made ? strdup(made) : NULL;
        if (number > 1) {
            free(made);
            made = compose(old, &rivals[i], number);
        }
        done = made && previous;
        free(old);
        short_names[rivals[i].index] = made;
    }
    free(previous);
out:
    for (size_t i = 0; rivals && i < n; i++)
        free(rivals[i].labels);
    free(rivals);
    free(labels);
    return done;
}
