/* SPDX-License-Identifier: Apache-2.0
 *
 * `roofprof import`: other profilers' files into a capture.
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

enum { OUTPUT, FORMAT };
static const rp_option table[] = {
    {"output", 'o', "FILE", "the capture; by default the first file's name with .roof, here"},
    {"format", 'f', "FORMAT", "of the message: text (default) or json"}};

/* Endings that say what a file was, not what it is called. */
static const char *const endings[] = {".gz",     ".csv",   ".json",     ".ncu-rep",
                                      ".sqlite", ".txt",   ".ncu-repz", ".nsys-rep",
                                      ".log",    ".trace", ".pt"};

/* "run1.roof" of "profiles/run1.pt.trace.json.gz", in memory of its own. */
static char *default_name(const char *path) {
    const char *name = rp_file_name(path);
    size_t length = strlen(name);
    for (bool cut = true; cut;) {
        cut = false;
        for (size_t i = 0; i < sizeof endings / sizeof *endings && !cut; i++) {
            size_t ending = strlen(endings[i]);
            cut = length > ending && strncmp(name + length - ending, endings[i], ending) == 0;
            length -= cut ? ending : 0;
        }
    }
    char *made = NULL;
    return asprintf(&made, "%.*s.roof", (int)length, name) < 0 ? NULL : made;
}

/* Imports FILES into a capture at PATH and reads it back as PROFILE. */
static rp_code import_files(const char *const *files, size_t n, const char *path,
                            rp_profile *profile, rp_error *error) {
    rp_capture *capture;
    rp_progress progress;
    char what[64];
    snprintf(what, sizeof what, "%.50s, rows", rp_file_name(files[0]));
    rp_code code = rp_capture_create(&capture, path, "import", error);
    if (code != RP_OK)
        return code;
    rp_progress_start(&progress, what, 0);
    rp_capture_show_progress(capture, &progress);
    code = rp_import(files, n, capture, error);
    if (code == RP_OK)
        code = rp_capture_finish(capture, error);
    rp_progress_stop(&progress);
    if (code == RP_OK)
        code = rp_capture_load(capture, NULL, RP_BY_KERNEL, profile, error);
    rp_capture_close(capture);
    return code;
}

static int import_and_print(const rp_options *options, const char *const *files, size_t n,
                            const char *output, bool json) {
    rp_error error;
    rp_profile profile;
    char *path = output ? rp_options_output_name(output, &error) : default_name(files[0]);
    if (!path)
        return output ? rp_options_fail(options, &error) : RP_INTERNAL;
    rp_temp_handle_signals();
    rp_code code = rp_file_spare(path, files, n, &error);
    if (code == RP_OK)
        code = import_files(files, n, path, &profile, &error);
    if (code == RP_OK) {
        code = rp_made_print(path, &profile, json, &error);
        rp_profile_free(&profile);
    }
    free(path);
    return code == RP_OK ? RP_OK : rp_options_fail(options, &error);
}

int rp_cmd_import(int argc, char **argv) {
    rp_options options = RP_OPTIONS(
        argc, argv, table, "FILE...",
        "Makes a capture of what another profiler wrote: Nsight Compute (CSV, .ncu-rep), Nsight\n"
        "Systems (SQLite), PyTorch profiler (Kineto), nvprof, rocprof. The format is found by\n"
        "content. Several files of one run become one capture.\n",
        "examples:\n"
        "  roofprof import ncu.csv && roofprof report ncu.roof\n");
    const char *output = NULL;
    const char **files = calloc((size_t)argc + 1, sizeof *files);
    size_t count = 0;
    bool json = false;
    int option, result = RP_INTERNAL;
    while (files && (option = rp_options_next(&options)) >= RP_OPTION_POSITIONAL) {
        if (option == RP_OPTION_POSITIONAL) {
            files[count++] = options.value;
        } else if (option == OUTPUT) {
            output = options.value;
        } else if (strcmp(options.value, "json") == 0 || strcmp(options.value, "text") == 0) {
            json = options.value[0] == 'j';
        } else {
            result = rp_options_error(&options, "--format %s: text or json", options.value);
            goto out;
        }
    }
    if (!files)
        fputs("roofprof import: no memory left\n", stderr);
    else if (option != RP_OPTION_END)
        result = option == RP_OPTION_HELP ? RP_OK : RP_USAGE;
    else if (!count)
        result = rp_options_error(&options, "no file to import");
    else
        result = import_and_print(&options, files, count, output, json);
out:
    free(files);
    return result;
}
