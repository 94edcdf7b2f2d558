/* SPDX-License-Identifier: Apache-2.0
 *
 * Choosing kernels and launches: see select.h.
 */
#include "tracer/select.h"
#include "tracer/nvtx.h"
#include "tracer/writer.h"

#include <dlfcn.h>
#include <fnmatch.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { NOT_KNOWN, YES, NO };

static const tracer_settings *settings;
static bool by_launch;
static _Atomic uint64_t number; /* of the next launch that the name and the rest leave */
static atomic_bool api_on;
static int64_t started_ns;

/* What was decided of each kernel name, by its number: a fnmatch a launch would be dear. */
typedef struct verdicts {
    uint8_t *of;
    size_t room;
} verdicts;
static verdicts wanted, skipped;

void select_start(const tracer_settings *s) {
    settings = s;
    by_launch = settings_choose_launches(s);
    started_ns = writer_now(CLOCK_MONOTONIC);
    if (by_launch) /* even if nothing is chosen, the reader knows that it was asked for */
        writer_frame(SPOOL_SELECTED, NULL, 0, NULL, 0);
}

/* The end of a balanced pair of brackets that opens at S. */
static const char *past_brackets(const char *s, char open, char close) {
    int depth = 0;
    for (; *s; s++) {
        depth += *s == open;
        depth -= *s == close;
        if (depth == 0)
            return s + 1;
    }
    return s;
}

/* "void ns::f<int>(float*)" becomes "ns::f", in place: no result type, template arguments or
 * parameters. */
static void strip(char *name) {
    char *to = name;
    for (const char *s = name; *s && !(*s == '(' && strncmp(s, "(anonymous", 10));) {
        if (*s == '<')
            s = past_brackets(s, '<', '>');
        else if (*s == '(')
            for (const char *end = past_brackets(s, '(', ')'); s < end;)
                *to++ = *s++;
        else if (*s == ' ')
            to = name, s++;
        else
            *to++ = *s++;
    }
    *to = 0;
}

static bool glob(const char *pattern, const char *text) {
    return fnmatch(pattern, text, 0) == 0;
}

/* With the C++ runtime that the process has; a program without one has no mangled names. */
static char *demangled(const char *name) {
    typedef char *(*demangler)(const char *, char *, size_t *, int *);
    static demangler demangle;
    static bool looked;
    int status = -1;
    if (!looked)
        demangle = (demangler)dlsym(RTLD_DEFAULT, "__cxa_demangle");
    looked = true;
    return demangle && !strncmp(name, "_Z", 2) ? demangle(name, NULL, NULL, &status) : NULL;
}

/* Without a C++ runtime: the identifiers at the front of a mangled name, "_ZN2ns1fIiEvPT_" to
 * "ns::f". What comes after template arguments is not read. */
static void unmangle(const char *name, char *out, size_t size) {
    size_t used = 0;
    name += 2;
    name += strspn(name, "NKVrL"); /* nested; const, volatile, restrict, internal */
    for (char *end; *name >= '0' && *name <= '9'; name = end) {
        size_t length = strtoul(name, &end, 10);
        if (length > strlen(end) || used + length + 3 > size)
            break;
        used += (size_t)sprintf(out + used, "%s%.*s", used ? "::" : "", (int)length, end);
        end += length;
    }
    out[used] = 0;
}

/* "ns::f" or "f". */
static bool glob_function(const char *pattern, const char *function) {
    const char *bare = strrchr(function, ':');
    return glob(pattern, function) || (bare && glob(pattern, bare + 1));
}

bool select_glob(const char *pattern, const char *name) {
    char function[1024] = "";
    if (glob(pattern, name))
        return true;
    if (strncmp(name, "_Z", 2))
        return false;
    char *full = demangled(name);
    bool found = full && glob(pattern, full);
    if (full)
        strip(full);
    else
        unmangle(name, function, sizeof function);
    found = found || glob_function(pattern, full ? full : function);
    free(full);
    return found;
}

static uint8_t *verdict_of(verdicts *v, uint32_t name) {
    if (name >= v->room) {
        size_t room = name + 256;
        uint8_t *grown = realloc(v->of, room);
        if (!grown)
            return NULL;
        memset(grown + v->room, NOT_KNOWN, room - v->room);
        v->of = grown;
        v->room = room;
    }
    return &v->of[name];
}

bool select_kernel(uint32_t name, const char *text) {
    if (!settings || !settings->kernel)
        return true;
    uint8_t *verdict = verdict_of(&wanted, name);
    if (!verdict || *verdict == NOT_KNOWN) {
        bool yes = select_glob(settings->kernel, text);
        if (verdict)
            *verdict = yes ? YES : NO;
        return yes;
    }
    return *verdict == YES;
}

bool select_is_skipped(uint32_t name, const char *text) {
    uint8_t *verdict = verdict_of(&skipped, name);
    bool yes = false;
    if (verdict && *verdict != NOT_KNOWN)
        return *verdict == YES;
    for (size_t i = 0; i < settings->skip_count && !yes; i++)
        yes = select_glob(settings->skip[i], text);
    if (verdict)
        *verdict = yes ? YES : NO;
    return yes;
}

static bool here_and_now(void) {
    if (settings->from_api && !atomic_load(&api_on))
        return false;
    if (settings->start_after_s > 0 &&
        (double)(writer_now(CLOCK_MONOTONIC) - started_ns) * 1e-9 < settings->start_after_s)
        return false;
    return !settings->range || nvtx_selected();
}

static bool choose(uint32_t correlation, bool yes) {
    if (yes)
        writer_record(SPOOL_SELECTED, &correlation, sizeof correlation);
    return yes;
}

bool select_launch(bool matches, uint32_t correlation) {
    if (!by_launch)
        return matches;
    if (!matches || !here_and_now())
        return false;
    uint64_t n = atomic_fetch_add(&number, 1);
    return choose(correlation, n >= settings->first && n - settings->first < settings->count);
}

void select_profiler(bool on) {
    atomic_store(&api_on, on);
}

bool select_range_name(const char *name) {
    return settings && settings->range && glob(settings->range, name);
}
