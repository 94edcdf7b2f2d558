/* SPDX-License-Identifier: Apache-2.0
 *
 * Running a program with the tracer injected, once: see trace_program.h.
 */
#include "commands/trace_program.h"

#include "commands/launch.h"
#include "kernels/driver.h"

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
char *rp_trace_find_probe(const char *tracer) {
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

rp_code rp_trace_ingest(const char *folder, rp_capture *capture, rp_ingest_summary *summary,
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
    rp_ingest_summary summary = {.ask = rp_nvml_ask};
    *made = false;
    rp_code code = rp_capture_create(&capture, path, "roofprof trace", error);
    if (code)
        return code;
    code = rp_trace_ingest(folder, capture, &summary, error);
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

rp_code rp_trace_run(void *context, const rp_run *run, char *const *argv, rp_run_result *result,
                     rp_error *error) {
    const char *tracer = context;
    rp_trace_settings wanted = *run->settings;
    rp_launch_result launched = {.code = RP_INTERNAL};
    char *probe = rp_trace_find_probe(tracer);
    wanted.probe = probe;
    char *settings = rp_trace_settings_write(&wanted, run->folder, error);
    rp_code code = settings ? RP_OK : error->code;
    const char *injection = getenv("CUDA_INJECTION64_PATH"),
               *nvtx = getenv("NVTX_INJECTION64_PATH");
    const rp_launch_variable environment[] = {
        {"CUDA_INJECTION64_PATH", tracer}, {"ROOFPROF_INJECTION_NEXT", injection},
        {"NVTX_INJECTION64_PATH", tracer}, {"ROOFPROF_NVTX_NEXT", nvtx},
        {"ROOFPROF_SPOOL", run->folder},   {"ROOFPROF_CONFIG", settings}};
    *result = (rp_run_result){.code = RP_INTERNAL};
    if (!code)
        code = rp_launch(argv, environment, sizeof environment / sizeof environment[0],
                         run->streams, &launched, error);
    if (!code) {
        result->code = launched.code;
        result->signal = launched.signal;
        result->ran = launched.started;
        code = launched.started ? make_capture(run->folder, run->capture, &result->made, error)
                                : error->code;
    }
    free(settings);
    free(probe);
    return code;
}
