/* SPDX-License-Identifier: Apache-2.0
 *
 * `roofprof merge`: the captures of the ranks of a program side by side, or, with --counts, the
 * times of one capture with the counts of another.
 */
#include "capture/capture.h"
#include "commands/commands.h"
#include "commands/made.h"
#include "commands/options.h"
#include "importers/importer.h"
#include "support/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNTS, OUTPUT, FORMAT };
static const rp_option table[] = {
    {"counts", 'c', "FILE", "take the counts from here, and the times from the other file"},
    {"output", 'o', "FILE", "the capture that is made; by default merged.roof"},
    {"format", 'f', "FORMAT", "of the message: text (default) or json"}};

typedef struct request {
    const char **files; /* with --counts, that file comes last */
    size_t count;
    bool with_counts;
    const char *output;
    bool json;
} request;

static char *join_names(const request *r) {
    char *names = NULL;
    size_t size;
    FILE *out = open_memstream(&names, &size);
    if (!out)
        return NULL;
    for (size_t i = 0; i < r->count; i++)
        fprintf(out, "%s%s", i ? ", " : "", r->files[i]);
    if (fclose(out) == 0)
        return names;
    free(names);
    return NULL;
}

static rp_code open_all(const request *r, rp_capture **captures, rp_error *error) {
    rp_code code = RP_OK;
    for (size_t i = 0; code == RP_OK && i < r->count; i++)
        code = rp_open_any(r->files[i], &captures[i], error);
    return code;
}

/* Merges CAPTURES into a capture at PATH and reads it back as PROFILE. */
static rp_code merge_into(const request *r, rp_capture *const *captures, const char *path,
                          rp_profile *profile, rp_error *error) {
    rp_capture *into = NULL;
    rp_progress progress;
    char *names = join_names(r);
    if (!names)
        return rp_fail(error, RP_INTERNAL, "no memory left");
    rp_progress_start(&progress, "merging, rows", 0);
    rp_code code = rp_capture_create(&into, path, "roofprof merge", error);
    if (code == RP_OK) {
        rp_capture_show_progress(into, &progress);
        code = rp_capture_set_source(into, names, error);
    }
    if (code == RP_OK)
        code = r->with_counts ? rp_capture_merge(captures[0], captures[1], into, error)
                              : rp_capture_join(captures, r->count, into, error);
    if (code == RP_OK)
        code = rp_capture_finish(into, error);
    rp_progress_stop(&progress);
    if (code == RP_OK)
        code = rp_capture_load(into, NULL, RP_BY_KERNEL, profile, error);
    rp_capture_close(into);
    free(names);
    return code;
}

static int merge(const rp_options *options, const request *r) {
    rp_error error;
    rp_profile profile;
    char *path = rp_options_output_name(r->output, &error);
    if (!path)
        return rp_options_fail(options, &error);
    rp_capture **captures = calloc(r->count, sizeof *captures);
    rp_code code = captures ? RP_OK : rp_fail(&error, RP_INTERNAL, "no memory left");
    const char *repeated = r->with_counts ? NULL : rp_file_repeated(r->files, r->count);
    if (code == RP_OK && repeated)
        code = rp_fail(&error, RP_INPUT, "\"%s\" is given twice: its launches would count twice",
                       repeated);
    if (code == RP_OK)
        code = rp_file_spare(path, r->files, r->count, &error);
    rp_temp_handle_signals();
    if (code == RP_OK)
        code = open_all(r, captures, &error);
    if (code == RP_OK)
        code = merge_into(r, captures, path, &profile, &error);
    for (size_t i = 0; captures && i < r->count; i++)
        rp_capture_close(captures[i]);
    if (code == RP_OK) {
        code = rp_made_print(path, &profile, r->json, &error);
        rp_profile_free(&profile);
    }
    free(captures);
    free(path);
    return code == RP_OK ? RP_OK : rp_options_fail(options, &error);
}

/* Fills R; RP_OPTION_END, or what ended the options (already printed). */
static int parse(rp_options *options, request *r, const char **counts) {
    int option;
    while ((option = rp_options_next(options)) >= RP_OPTION_POSITIONAL) {
        if (option == RP_OPTION_POSITIONAL) {
            r->files[r->count++] = options->value;
        } else if (option == COUNTS) {
            *counts = options->value;
        } else if (option == OUTPUT) {
            r->output = options->value;
        } else if (strcmp(options->value, "json") == 0 || strcmp(options->value, "text") == 0) {
            r->json = options->value[0] == 'j';
        } else {
            rp_options_error(options, "--format %s: text or json", options->value);
            return RP_OPTION_BAD;
        }
    }
    return option;
}

int rp_cmd_merge(int argc, char **argv) {
    rp_options options = RP_OPTIONS(
        argc, argv, table, "FILE...",
        "Puts captures together. Several files: the ranks of one program, side by side. One file "
        "and\n"
        "--counts: the times of the one with the counts of the other, for programs that were "
        "timed\n"
        "in one run and counted in another. Files of other profilers are imported as they come.\n",
        "examples:\n"
        "  roofprof merge rank0.roof rank1.roof -o job.roof\n"
        "  roofprof merge trace.json --counts ncu.csv -o both.roof\n");
    request r = {.files = calloc((size_t)argc + 1, sizeof *r.files), .output = "merged.roof"};
    const char *counts = NULL;
    if (!r.files) {
        fputs("roofprof merge: no memory left\n", stderr);
        return RP_INTERNAL;
    }
    int option = parse(&options, &r, &counts), result;
    if (option != RP_OPTION_END)
        result = option == RP_OPTION_HELP ? RP_OK : RP_USAGE;
    else if (counts && r.count != 1)
        result = rp_options_error(&options, "--counts takes one other file, with the times");
    else if (!counts && r.count < 2)
        result = rp_options_error(&options, "two files or more, or one and --counts");
    else {
        r.with_counts = counts != NULL;
        if (counts)
            r.files[r.count++] = counts;
        result = merge(&options, &r);
    }
    free(r.files);
    return result;
}
