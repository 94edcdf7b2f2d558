/* SPDX-License-Identifier: Apache-2.0
 *
 * roofprof recover: makes a capture of the spools that an interrupted roofprof left behind.
 */
#include "commands/commands.h"

#include "capture/ingest.h"
#include "commands/options.h"
#include "support/file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

enum option { OUTPUT };

static const rp_option table[] = {
    [OUTPUT] = {"output", 'o', "FILE", "the capture (default: recovered.roof; %p %h %r %%)"},
};

static const char intro[] =
    "Makes a capture of what the tracer of an interrupted run left behind. SPOOL is a\n"
    ".spool file, or a folder of them: NAME.roof.XXXXXX, beside where the capture would be.\n";

static rp_code add(rp_capture *capture, const char *path, rp_ingest_summary *summary,
                   rp_error *error) {
    struct stat status;
    char **paths;
    size_t count;
    if (stat(path, &status) || !S_ISDIR(status.st_mode))
        return rp_ingest_spool(capture, path, summary, error);
    rp_code code = rp_ingest_find(path, &paths, &count, error);
    if (!code && count == 0)
        code = rp_fail(error, RP_INPUT, "%s: no .spool file is in it", path);
    for (size_t i = 0; i < count; i++) {
        if (!code)
            code = rp_ingest_spool(capture, paths[i], summary, error);
        free(paths[i]);
    }
    free(paths);
    return code;
}

static rp_code recover(const char *const *spools, size_t n, const char *output, rp_error *error) {
    rp_capture *capture;
    rp_ingest_summary summary = {0};
    rp_code code = rp_capture_create(&capture, output, "roofprof trace", error);
    if (code)
        return code;
    for (size_t i = 0; i < n && !code; i++)
        code = add(capture, spools[i], &summary, error);
    if (!code && summary.launches == 0)
        code = rp_fail(error, RP_INPUT, "%s: no launch is in it", spools[0]);
    if (!code)
        code = rp_capture_finish(capture, error);
    if (code) {
        rp_capture_abandon(capture);
        return code;
    }
    rp_capture_close(capture);
    printf("%s: %" PRIu64 " launches and %" PRIu64 " copies of %zu processes (%zu did not end "
           "properly)\n",
           output, summary.launches, summary.copies, summary.processes, summary.unfinished);
    return RP_OK;
}

/* OUTPUT as given: it may hold %p, %h and %r, as every name of a capture. */
static rp_code recover_as(const char *const *spools, size_t n, const char *pattern,
                          rp_error *error) {
    char *output = rp_options_output_name(pattern, error);
    if (!output)
        return error->code;
    rp_temp_handle_signals();
    rp_code code = recover(spools, n, output, error);
    free(output);
    return code;
}

int rp_cmd_recover(int argc, char **argv) {
    rp_options o = RP_OPTIONS(argc, argv, table, "SPOOL...", intro,
                              "example:\n"
                              "  roofprof recover train.roof.k3Hq8a -o train.roof\n");
    const char **spools = calloc((size_t)argc, sizeof *spools), *output = "recovered.roof";
    rp_error error = {0};
    size_t n = 0;
    int option = RP_OPTION_BAD, result = RP_USAGE;
    while (spools && (option = rp_options_next(&o)) >= RP_OPTION_POSITIONAL)
        if (option == RP_OPTION_POSITIONAL)
            spools[n++] = o.value;
        else
            output = o.value;
    if (option != RP_OPTION_END)
        result = option == RP_OPTION_HELP ? RP_OK : RP_USAGE;
    else if (n == 0)
        result = rp_options_error(&o, "no SPOOL is given");
    else if ((result = (int)recover_as(spools, n, output, &error)) != RP_OK)
        rp_options_fail(&o, &error);
    free(spools);
    return result;
}
