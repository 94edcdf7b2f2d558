/* SPDX-License-Identifier: Apache-2.0
 *
 * The command line parser; see options.h.
 */
#include "commands/options.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int rp_options_error(const rp_options *options, const char *format, ...) {
    va_list arguments;
    fprintf(stderr, "roofprof %s: ", options->argv[0]);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fprintf(stderr, "; see 'roofprof %s --help'\n", options->argv[0]);
    return RP_USAGE;
}

int rp_options_fail(const rp_options *options, const rp_error *error) {
    fprintf(stderr, "roofprof %s: %s\n", options->argv[0], error->message);
    return error->code;
}

void rp_options_say_taken(const char *command, const char *name, const rp_device *device,
                          const rp_device *const *others) {
    if (!others[0])
        return;
    fprintf(stderr, "roofprof %s: \"%s\" is taken as %s; also:", command, name, device->name);
    for (size_t i = 0; others[i]; i++)
        fprintf(stderr, "%s %s", i ? "," : "", others[i]->name);
    fputc('\n', stderr);
}

static void print_option(const rp_option *option) {
    char left[64];
    if (option->letter)
        snprintf(left, sizeof left, "-%c, --%s%s%s", option->letter, option->name,
                 option->argument ? " " : "", option->argument ? option->argument : "");
    else
        snprintf(left, sizeof left, "    --%s%s%s", option->name, option->argument ? " " : "",
                 option->argument ? option->argument : "");
    printf("  %-26s", left);
    if (strlen(left) > 25)
        printf("\n%28s", "");
    for (const char *p = option->help; *p; p++) {
        putchar(*p);
        if (*p == '\n')
            printf("%28s", "");
    }
    putchar('\n');
}

static void print_help(const rp_options *options) {
    printf("usage: roofprof %s [OPTION]...%s%s\n\n%s\n", options->argv[0],
           *options->usage ? " " : "", options->usage, options->intro);
    for (size_t i = 0; i < options->count; i++)
        print_option(&options->table[i]);
    static const rp_option help = {"help", 'h', NULL, "this text"};
    print_option(&help);
    if (options->outro)
        printf("\n%s", options->outro);
}

int rp_options_edits(const char *a, size_t length, const char *b, int limit) {
    size_t other = strlen(b);
    if (length == 0 || other == 0 || limit == 0)
        return length == other && (length == 0 || memcmp(a, b, length) == 0)
                   ? 0
                   : (int)(length > other ? length - other : other - length) +
                         (length && other ? 1 : 0);
    if (*a == *b)
        return rp_options_edits(a + 1, length - 1, b + 1, limit);
    int best = rp_options_edits(a + 1, length - 1, b + 1, limit - 1);
    int skip = rp_options_edits(a + 1, length - 1, b, limit - 1),
        add = rp_options_edits(a, length, b + 1, limit - 1);
    best = skip < best ? skip : best;
    best = add < best ? add : best;
    return best + 1;
}

static int unknown(const rp_options *options, const char *word, size_t length) {
    int best = 4;
    const char *nearest = NULL;
    for (size_t i = 0; i < options->count; i++) {
        int d = rp_options_edits(word + 2, length - 2, options->table[i].name, 3);
        if (d < best) {
            best = d;
            nearest = options->table[i].name;
        }
    }
    if (nearest && best <= 3)
        rp_options_error(options, "there is no option '%.*s' (did you mean '--%s'?)", (int)length,
                         word, nearest);
    else
        rp_options_error(options, "there is no option '%.*s'", (int)length, word);
    return RP_OPTION_BAD;
}

/* The option's value: what follows in the same word (INLINE), or the next word. */
static int take(rp_options *options, size_t index, const char *shown, const char *inline_value) {
    if (!options->table[index].argument) {
        if (inline_value) {
            rp_options_error(options, "option '%s' takes no value", shown);
            return RP_OPTION_BAD;
        }
        options->value = NULL;
    } else if (inline_value) {
        options->value = inline_value;
    } else if (options->at < options->argc) {
        options->value = options->argv[options->at++];
    } else {
        rp_options_error(options, "option '%s' needs a value (%s)", shown,
                         options->table[index].argument);
        return RP_OPTION_BAD;
    }
    return (int)index;
}

static int long_option(rp_options *options, const char *word) {
    const char *equals = strchr(word, '=');
    size_t length = equals ? (size_t)(equals - word) : strlen(word);
    if (strcmp(word, "--help") == 0) {
        print_help(options);
        return RP_OPTION_HELP;
    }
    for (size_t i = 0; i < options->count; i++)
        if (strlen(options->table[i].name) == length - 2 &&
            memcmp(options->table[i].name, word + 2, length - 2) == 0)
            return take(options, i, word, equals ? equals + 1 : NULL);
    return unknown(options, word, length);
}

int rp_options_next(rp_options *options) {
    if (options->at >= options->argc)
        return RP_OPTION_END;
    const char *word = options->argv[options->at++];
    if (options->only_positional || word[0] != '-' || word[1] == '\0') {
        options->value = word;
        return RP_OPTION_POSITIONAL;
    }
    if (strcmp(word, "--") == 0) {
        options->only_positional = true;
        return rp_options_next(options);
    }
    if (word[1] == '-')
        return long_option(options, word);
    if (strcmp(word, "-h") == 0) {
        print_help(options);
        return RP_OPTION_HELP;
    }
    for (size_t i = 0; i < options->count; i++)
        if (options->table[i].letter == word[1])
            return take(options, i, word, word[2] ? word + 2 : NULL);
    rp_options_error(options, "there is no option '%.2s'", word);
    return RP_OPTION_BAD;
}

/* Factor of a size suffix; NaN if it is none. */
static double suffix_factor(const char *suffix) {
    static const char letters[] = "kMGTP";
    if (*suffix == '\0')
        return 1;
    const char *found = strchr(letters, *suffix == 'K' ? 'k' : *suffix);
    if (!found || (suffix[1] && strcmp(suffix + 1, "i") != 0))
        return NAN;
    return pow(suffix[1] ? 1024 : 1000, (double)(found - letters + 1));
}

bool rp_options_none_of(const rp_options *options, const char *name, const char *const *words,
                        size_t n) {
    char list[512] = "";
    for (size_t i = 0, used = 0; i < n && used < sizeof list; used = strlen(list), i++)
        snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", words[i]);
    rp_options_error(options, "--%s '%s' is none of %s", name, options->value, list);
    return false;
}

bool rp_options_precision(const rp_options *options, const char *name, rp_hw_precision *value) {
    const char *names[RP_PRECISIONS];
    if (rp_precision_find(options->value, value))
        return true;
    for (int p = 0; p < RP_PRECISIONS; p++)
        names[p] = rp_precision_name((rp_hw_precision)p);
    return rp_options_none_of(options, name, names, RP_PRECISIONS);
}

bool rp_options_number(const rp_options *options, const char *name, double least, double most,
                       double *value) {
    char *end = NULL;
    errno = 0;
    double number = strtod(options->value, &end);
    double factor = end == options->value ? NAN : suffix_factor(end);
    number *= factor;
    if (!isfinite(number) && least <= -1e15 && most >= 1e15) {
        rp_options_error(options, "--%s '%s' is not a number", name, options->value);
        return false;
    }
    if (!isfinite(number) || number < least || number > most) {
        rp_options_error(options, "--%s '%s' is not a number from %g to %g", name, options->value,
                         least, most);
        return false;
    }
    *value = number;
    return true;
}

bool rp_options_integer(const rp_options *options, const char *name, int64_t least, int64_t most,
                        int64_t *value) {
    char *end = NULL;
    errno = 0;
    long long number = strtoll(options->value, &end, 10);
    if (end == options->value || *end || errno || number < least || number > most) {
        rp_options_error(options, "--%s '%s' is not a whole number from %" PRId64 " to %" PRId64,
                         name, options->value, least, most);
        return false;
    }
    *value = number;
    return true;
}

/* The rank as launchers tell it, most specific first. */
static const char *rank_text(void) {
    static const char *const variables[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK",      "PMI_RANK",
                                            "MV2_COMM_WORLD_RANK",  "FLUX_TASK_RANK", "RANK",
                                            "SLURM_PROCID"};
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const char *value = getenv(variables[i]);
        if (value && *value && strspn(value, "0123456789") == strlen(value) && strlen(value) < 12)
            return value;
    }
    return "0";
}

/* Writes what LETTER stands for; false: nothing. */
static bool expand(FILE *stream, char letter) {
    char host[256] = "";
    switch (letter) {
    case 'p':
        fprintf(stream, "%ld", (long)getpid());
        return true;
    case 'h':
        gethostname(host, sizeof host - 1);
        fputs(host, stream);
        return true;
    case 'r':
        fputs(rank_text(), stream);
        return true;
    case '%':
        fputc('%', stream);
        return true;
    default:
        return false;
    }
}

char *rp_options_output_name(const char *pattern, rp_error *error) {
    char *out = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&out, &size);
    if (!stream) {
        rp_fail(error, RP_INTERNAL, "out of memory");
        return NULL;
    }
    const char *p = pattern;
    bool known = true;
    for (; known && *p; p++) {
        if (*p != '%')
            fputc(*p, stream);
        else
            known = expand(stream, *++p);
    }
    if (fclose(stream) == 0 && known)
        return out;
    free(out);
    if (known)
        rp_fail(error, RP_INTERNAL, "out of memory");
    else
        rp_fail(error, RP_USAGE,
                "'%s': a name takes %%p, %%h, %%r and %%%%, and nothing else after "
                "a '%%'",
                pattern);
    return NULL;
}
