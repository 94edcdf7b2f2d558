/* SPDX-License-Identifier: Apache-2.0
 *
 * Running a program with the tracer injected: see trace_program.h.
 */
#include "commands/trace_program.h"

#include "capture/ingest.h"
#include "commands/launch.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- Its tools ---------------------------------------------------------------------- */

/* $ROOFPROF_TRACER; beside an installed binary; beside one in its build tree. */
char *rp_trace_find_tracer(rp_error *error) {
    static const char *const places[] = {"/../lib/roofprof", "/../lib64/roofprof", "/tracer",
                                         "/../" ROOFPROF_LIBDIR "/roofprof"};
    const char *wanted = getenv("ROOFPROF_TRACER");
    char self[PATH_MAX], path[PATH_MAX + 256];
    if (wanted && *wanted) {
        if (access(wanted, R_OK) == 0)
            return realpath(wanted, NULL);
        rp_fail(error, RP_MACHINE, "ROOFPROF_TRACER names %s, which cannot be read", wanted);
        return NULL;
    }
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    self[n > 0 ? n : 0] = 0;
    char *slash = strrchr(self, '/');
    if (slash)
        *slash = 0;
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        snprintf(path, sizeof path, "%s%s/libroofprof_tracer.so", self, places[i]);
        if (access(path, R_OK) == 0)
            return realpath(path, NULL);
    }
    rp_fail(
        error, RP_MACHINE,
        "libroofprof_tracer.so is not beside this roofprof (%s/../lib/roofprof): install it with "
        "cmake --install, or name it in ROOFPROF_TRACER",
        self);
    return NULL;
}

/* The probe, which stands beside the tracer; NULL: it does not, and counters are not tried first.
 */
static char *find_probe(const char *tracer) {
    const char *wanted = getenv("ROOFPROF_PROBE"), *slash = strrchr(tracer, '/');
    char *path = NULL;
    if (wanted && *wanted)
        return realpath(wanted, NULL);
    if (!slash || asprintf(&path, "%.*s/roofprof-probe", (int)(slash - tracer), tracer) < 0)
        return NULL;
    if (access(path, X_OK) == 0)
        return path;
    free(path);
    return NULL;
}

/* ---- After the run --------------------------------------------------------------------------- */

static void say_nothing_was_launched(const rp_ingest_summary *s) {
    if (s->processes == 0)
        fputs(
            "roofprof: the program did not start CUDA, so there is nothing to report. Usual "
            "causes: "
            "no GPU or driver here, a CPU-only path was taken, or the work runs in a process that "
            "clears its environment. Without a GPU: roofprof --emulate H100 PROGRAM\n",
            stderr);
    else if (s->unchosen)
        fprintf(stderr,
                "roofprof: the program made %" PRIu64 " launches, and none was asked for: see "
                "--kernel, --range, --skip, --count, --start-after and --from-api\n",
                s->unchosen);
    else
        fprintf(
            stderr,
            "roofprof: %zu process%s started CUDA, but no kernel was traced.\n%s%s%sWithout a GPU: "
            "roofprof --emulate H100 PROGRAM\n",
            s->processes, s->processes == 1 ? "" : "es", *s->problem ? "The reason: " : "",
            s->problem, *s->problem ? "\n" : "");
}

static rp_code ingest(const char *folder, rp_capture *capture, rp_ingest_summary *summary,
                      rp_error *error) {
    char **paths;
    size_t count;
    rp_code code = rp_ingest_find(folder, &paths, &count, error);
    for (size_t i = 0; i < count; i++) {
        rp_error bad = {0};
        /* One bad spool must not lose the others. */
        if (!code && rp_ingest_spool(capture, paths[i], summary, &bad)) {
            if (bad.code == RP_INPUT)
                fprintf(stderr, "roofprof: %s\n", bad.message);
            else
                code = rp_fail(error, bad.code, "%s", bad.message);
        }
        free(paths[i]);
    }
    free(paths);
    return code;
}

/* Spools to a capture under its final name. Without a launch there is none, and that is said. */
static rp_code make_capture(const char *folder, const char *path, bool *made, rp_error *error) {
    rp_capture *capture;
    rp_ingest_summary summary = {0};
    *made = false;
    rp_code code = rp_capture_create(&capture, path, "roofprof trace", error);
    if (code)
        return code;
    code = ingest(folder, capture, &summary, error);
    if (!code && summary.launches == 0) {
        rp_capture_abandon(capture);
        say_nothing_was_launched(&summary);
        return RP_OK;
    }
    if (!code)
        code = rp_capture_finish(capture, error);
    if (code) {
        rp_capture_abandon(capture);
        return code;
    }
    rp_capture_close(capture);
    *made = true;
    return RP_OK;
}

/* ---- The run --------------------------------------------------------------------------------- */

/* Once: PROGRAM with MODE into a capture at PATH, spools in FOLDER. RESULT's made: there is one. */
static rp_code run_once(const rp_trace_options *options, const char *mode, const char *folder,
                        const char *path, char *const *argv, rp_trace_result *result,
                        rp_error *error) {
    rp_trace_settings wanted = *options->settings;
    rp_launch_result launched = {.code = RP_INTERNAL};
    char *probe = find_probe(options->tracer);
    wanted.mode = mode;
    wanted.probe = probe;
    char *settings = rp_trace_settings_write(&wanted, folder, error);
    rp_code code = settings ? RP_OK : error->code;
    const char *injection = getenv("CUDA_INJECTION64_PATH"),
               *nvtx = getenv("NVTX_INJECTION64_PATH");
    const rp_launch_variable environment[] = {{"CUDA_INJECTION64_PATH", options->tracer},
                                              {"ROOFPROF_INJECTION_NEXT", injection},
                                              {"NVTX_INJECTION64_PATH", options->tracer},
                                              {"ROOFPROF_NVTX_NEXT", nvtx},
                                              {"ROOFPROF_SPOOL", folder},
                                              {"ROOFPROF_CONFIG", settings}};
    result->made = false;
    result->code = RP_INTERNAL;
    if (!code)
        code = rp_launch(argv, environment, sizeof environment / sizeof environment[0], &launched,
                         error);
    if (!code) {
        result->code = launched.code;
        code = launched.started ? make_capture(folder, path, &result->made, error) : error->code;
        result->traced = launched.started;
    }
    free(settings);
    free(probe);
    return code;
}

static rp_code merge(const char *times, const char *counts, const char *path, rp_error *error) {
    rp_capture *from[2] = {NULL, NULL}, *into = NULL;
    rp_code code = rp_capture_open(&from[0], times, error);
    if (!code)
        code = rp_capture_open(&from[1], counts, error);
    if (!code)
        code = rp_capture_create(&into, path, "roofprof trace, two runs", error);
    if (!code)
        code = rp_capture_merge(from[0], from[1], into, error);
    if (!code)
        code = rp_capture_finish(into, error);
    rp_capture_close(into); /* one that is not finished is abandoned */
    rp_capture_close(from[0]);
    rp_capture_close(from[1]);
    return code;
}

/* The second run, counted, and both in one; without it the first is what there is. */
static rp_code count_in_second_run(const rp_trace_options *options, const char *folder,
                                   const char *times, char *const *argv, rp_trace_result *result,
                                   rp_error *error) {
    char counts[PATH_MAX];
    rp_trace_result second;
    rp_error why = {0};
    snprintf(counts, sizeof counts, "%s/counts.roof", folder);
    rp_code code = run_once(options, options->settings->mode, folder, counts, argv, &second, &why);
    if (!code && second.made)
        code = merge(times, counts, options->capture, &why);
    if (!code && second.made) {
        result->code = second.code;
        return RP_OK;
    }
    fprintf(stderr, "roofprof: the second run has no counts%s%s: the capture is of the first\n",
            *why.message ? ": " : "", why.message);
    return rename(times, options->capture)
               ? rp_fail(error, RP_MACHINE, "%s: cannot be written", options->capture)
               : RP_OK;
}

static rp_code run_twice(const rp_trace_options *options, const rp_finish_options *finish,
                         const char *folder, char *const *argv, rp_trace_result *result,
                         rp_error *error) {
    char times[PATH_MAX];
    snprintf(times, sizeof times, "%s/times.roof", folder);
    rp_code code = run_once(options, "trace", folder, times, argv, result, error);
    if (code || !result->made)
        return code;
    if (result->code) {
        fprintf(stderr, "roofprof: the program failed (%d), so it is not run again\n",
                result->code);
        return rename(times, options->capture)
                   ? rp_fail(error, RP_MACHINE, "%s: cannot be written", options->capture)
                   : RP_OK;
    }
    char *second = rp_finish_prepare(finish, options->capture, error);
    if (!second)
        return error->code;
    code = count_in_second_run(options, second, times, argv, result, error);
    rp_finish_remove(second);
    free(second);
    return code;
}

rp_code rp_trace_program(const rp_trace_options *options, const rp_finish_options *finish,
                         char *const *argv, rp_trace_result *result, rp_error *error) {
    *result = (rp_trace_result){.code = RP_INTERNAL};
    char *folder = rp_finish_prepare(finish, options->capture, error);
    if (!folder)
        return error->code;
    rp_code code = options->runs == 2 ? run_twice(options, finish, folder, argv, result, error)
                                      : run_once(options, options->settings->mode, folder,
                                                 options->capture, argv, result, error);
    if (code && result->traced)
        fprintf(stderr,
                "roofprof: what was traced is in %s; roofprof recover makes a capture of it\n",
                folder);
    else if (!options->keep)
        rp_finish_remove(folder);
    free(folder);
    return code;
}
