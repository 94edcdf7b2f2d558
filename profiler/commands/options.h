/* SPDX-License-Identifier: Apache-2.0
 *
 * Command lines. One table a command describes its options; the parser and the help text both come
 * from it, so they cannot disagree. `--name VALUE`, `--name=VALUE`, `-o VALUE`, `-oVALUE`; `--`
 * ends the options. Options and positional arguments may be mixed.
 *
 *     static const rp_option table[] = {{"format", 0, "FORMAT", "text, json, csv, md or html"}};
 *     rp_options o = RP_OPTIONS(argc, argv, table, "FILE...", "What bounds each kernel.\n", NULL);
 *     int option;
 *     while ((option = rp_options_next(&o)) >= RP_OPTION_POSITIONAL)
 *         switch (option) { case FORMAT: ... o.value ... }
 *     if (option != RP_OPTION_END)
 *         return option == RP_OPTION_HELP ? RP_OK : RP_USAGE;    // already printed
 */
#ifndef RP_COMMANDS_OPTIONS_H
#define RP_COMMANDS_OPTIONS_H

#include "hwdb/hwdb.h"
#include "support/error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct rp_option {
    const char *name;     /* long, without dashes */
    char letter;          /* 0 none */
    const char *argument; /* how the help names its value; NULL: a flag */
    const char *help;     /* one line, or several with \n */
} rp_option;

enum { RP_OPTION_POSITIONAL = -1, RP_OPTION_END = -2, RP_OPTION_HELP = -3, RP_OPTION_BAD = -4 };

typedef struct rp_options {
    int argc;
    char **argv;
    const rp_option *table;
    size_t count;
    const char *usage;    /* after the command's name and [OPTION]... */
    const char *intro;    /* what the command does: whole lines */
    const char *outro;    /* examples, after the options; NULL none */
    int at;               /* next word */
    bool only_positional; /* "--" was seen */
    const char *value;    /* of the option or argument just returned; NULL for a flag */
} rp_options;

#define RP_OPTIONS(argc_, argv_, table_, usage_, intro_, outro_)                                   \
    {                                                                                              \
        .argc = (argc_), .argv = (argv_), .table = (table_),                                       \
        .count = sizeof(table_) / sizeof *(table_), .usage = (usage_), .intro = (intro_),          \
        .outro = (outro_), .at = 1                                                                 \
    }

/* Index in the table, or one of the codes above. Prints help (stdout) and usage errors (stderr)
 * itself. */
int rp_options_next(rp_options *options);

/* "roofprof COMMAND: MESSAGE" and a hint at --help on stderr; returns RP_USAGE. */
int rp_options_error(const rp_options *options, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* "roofprof COMMAND: error.message" on stderr; returns error->code. */
int rp_options_fail(const rp_options *options, const rp_error *error);

/* An ambiguous name of a device is answered with its default; what else it could be is said on
 * stderr. OTHERS as from rp_hwdb_find; nothing is said if there are none. */
void rp_options_say_taken(const char *command, const char *name, const rp_device *device,
                          const rp_device *const *others);

/* An output name with %p (process id), %h (host), %r (rank under a launcher, else 0) and %%
 * replaced, the caller's to free; NULL with ERROR filled (RP_USAGE) for another letter. */
char *rp_options_output_name(const char *pattern, rp_error *error);

/* Edits between the LENGTH letters at A and the name B, looked for up to LIMIT (3 or less; the cost
 * grows with 3 to its power): enough to guess what was meant. */
int rp_options_edits(const char *a, size_t length, const char *b, int limit);

/* The option's value is none of the N WORDS: says so, and which they are; false. */
bool rp_options_none_of(const rp_options *options, const char *name, const char *const *words,
                        size_t n);
/* The precision that the option's value names; false with the error printed. */
bool rp_options_precision(const rp_options *options, const char *name, rp_hw_precision *value);

/* Values: the whole of TEXT must be a number in range. On failure the usage error is printed and
 * false returned. Sizes and counts take k M G T (and Ki Mi Gi Ti) and 1e9. */
bool rp_options_integer(const rp_options *options, const char *name, int64_t least, int64_t most,
                        int64_t *value);
bool rp_options_number(const rp_options *options, const char *name, double least, double most,
                       double *value);

#endif
