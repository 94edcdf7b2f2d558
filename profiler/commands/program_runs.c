/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs of a program and what becomes of them: see program_runs.h.
 */
#include "commands/program_runs.h"

#include "capture/runs.h"
#include "hwdb/metric_sets.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CONFIGURATIONS = 16, CHIPS = 16 };

/* ---- Parts ----------------------------------------------------------------------------------- */

static rp_code run_once(const rp_runs_options *o, const rp_trace_settings *settings,
                        const char *folder, const char *capture, const int *streams, bool first,
                        char *const *argv, rp_run_result *result, rp_error *error) {
    rp_run run = {settings, folder, capture, streams, first};
    return o->run(o->context, &run, argv, result, error);
}

/* The first run's capture is the one. */
static rp_code keep_first(const rp_runs_options *o, const char *first, rp_error *error) {
    return rename(first, o->capture) ? rp_fail(error, RP_MACHINE, "%s: cannot be written: %s",
                                               o->capture, strerror(errno))
                                     : RP_OK;
}

static bool asks_to_end(int signal) {
    return signal == SIGINT || signal == SIGQUIT || signal == SIGTERM || signal == SIGHUP;
}

/* The first of several runs: traced, into FIRST (PATH_MAX). *GO_ON: there is something to count. */
static rp_code trace_first(const rp_runs_options *o, const char *folder, char *first,
                           char *const *argv, rp_run_result *result, bool *go_on, rp_error *error) {
    rp_trace_settings traced = *o->settings;
    traced.mode = "trace";
    snprintf(first, PATH_MAX, "%s/first.roof", folder);
    rp_code code = run_once(o, &traced, folder, first, NULL, true, argv, result, error);
    bool stopped = asks_to_end(result->signal);
    *go_on = !code && result->made && result->code == 0 && !stopped;
    if (code || !result->made || *go_on)
        return code;
    if (stopped)
        fprintf(stderr, "roofprof: the program was told to end, so it is not run again\n");
    else
        fprintf(stderr, "roofprof: the program failed (%d), so it is not run again\n",
                result->code);
    return keep_first(o, first, error);
}

/* ---- Twice ----------------------------------------------------------------------------------- */

static rp_code merge_counts(const char *times, const char *counts, const char *path,
                            rp_error *error) {
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
static rp_code count_in_second_run(const rp_runs_options *o, const char *folder, const char *first,
                                   char *const *argv, rp_run_result *result, rp_error *error) {
    char counts[PATH_MAX];
    rp_run_result second = {0};
    rp_error why = {0};
    snprintf(counts, sizeof counts, "%s/counts.roof", folder);
    rp_code code = run_once(o, o->settings, folder, counts, NULL, false, argv, &second, &why);
    if (second.ran && second.code != result->code)
        fprintf(stderr, "roofprof: the second run ended with %d, and the first with %d\n",
                second.code, result->code);
    if (!code && second.made)
        code = merge_counts(first, counts, o->capture, &why);
    if (!code && second.made) {
        result->code = second.code;
        return RP_OK;
    }
    fprintf(stderr, "roofprof: the second run gave no counts, so the capture is of the first%s%s\n",
            *why.message ? ": " : "", why.message);
    return keep_first(o, first, error);
}

static rp_code run_twice(const rp_runs_options *o, const char *folder, char *const *argv,
                         rp_run_result *result, rp_error *error) {
    char first[PATH_MAX];
    bool go_on;
    rp_code code = trace_first(o, folder, first, argv, result, &go_on, error);
    if (!go_on)
        return code;
    char *second = rp_finish_prepare(o->finish, o->capture, error);
    if (!second)
        return error->code;
    code = count_in_second_run(o, second, first, argv, result, error);
    rp_finish_remove(second);
    free(second);
    return code;
}

/* ---- Once for each configuration ------------------------------------------------------------- */

typedef struct chips {
    char list[CHIPS][32];
    size_t count;
} chips;

typedef struct rerun {
    const rp_runs_options *options;
    char *const *argv;
    const rp_metric_sets *sets;
    int streams[3];
    off_t input_at; /* where the first run began to read; -1: it cannot be read again */
    int expected;   /* exit code */
    rp_counted_run runs[CONFIGURATIONS];
    size_t count;
    chips chips;
    bool stopped; /* by a person */
} rerun;

static void add_chip(void *context, const char *chip) {
    chips *c = context;
    if (c->count < CHIPS)
        snprintf(c->list[c->count++], sizeof c->list[0], "%s", chip);
}

/* Where no chip is known, nothing was counted, and more runs would not change that. */
static bool has_set(const rerun *r, const char *profile) {
    for (size_t i = 0; i < rp_metric_sets_count(r->sets); i++) {
        const rp_metric_set *set = rp_metric_sets_at(r->sets, i);
        for (size_t k = 0; k < r->chips.count; k++)
            if (!strcmp(set->profile, profile) && rp_metric_set_is_for(set, r->chips.list[k]))
                return true;
    }
    return false;
}

/* Later runs read what the first one read, if that can be had again, and show nothing. */
static rp_code open_streams(rerun *r, rp_error *error) {
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0)
        return rp_fail(error, RP_MACHINE, "/dev/null: %s", strerror(errno));
    r->streams[0] = r->input_at >= 0 ? STDIN_FILENO : null;
    r->streams[1] = r->streams[2] = null;
    return RP_OK;
}

static void say_what_differs(const rerun *r, const char *name, const rp_run_result *result) {
    if (result->ran && result->code != r->expected)
        fprintf(stderr, "roofprof: the run that counts %s ended with %d, and the first with %d\n",
                name, result->code, r->expected);
}

/* One more run, which counts NAME. What it fails at is said; the others go on. */
static rp_code count_configuration(rerun *r, const char *name, rp_error *error) {
    const rp_runs_options *o = r->options;
    rp_trace_settings settings = *o->settings;
    rp_run_result result = {0};
    rp_error why = {0};
    char path[PATH_MAX + 32];
    if (r->stopped || r->count == CONFIGURATIONS)
        return RP_OK;
    char *folder = rp_finish_prepare(o->finish, o->capture, error);
    if (!folder)
        return error->code;
    settings.mode = "rerun";
    settings.configuration = name;
    snprintf(path, sizeof path, "%s/%s.roof", folder, name);
    if (r->input_at >= 0)
        lseek(STDIN_FILENO, r->input_at, SEEK_SET);
    rp_code code = run_once(o, &settings, folder, path, r->streams, false, r->argv, &result, &why);
    r->stopped = asks_to_end(result.signal);
    if (r->stopped)
        fprintf(stderr, "roofprof: the run that counts %s was told to end: there are no more\n",
                name);
    else
        say_what_differs(r, name, &result);
    if (!code && result.made)
        code = rp_capture_open(&r->runs[r->count].capture, path, &why);
    if (code)
        fprintf(stderr, "roofprof: the run that counts %s: %s\n", name, why.message);
    else if (result.made)
        r->runs[r->count++].name = name;
    else
        fprintf(stderr, "roofprof: the run that counts %s launched no kernel\n", name);
    rp_finish_remove(folder); /* the capture stays open */
    free(folder);
    return RP_OK;
}

/* HW first: it tells the chip, and whether the tensor cores are used. */
static rp_code count_all(rerun *r, rp_error *error) {
    static const char *const tensor[] = {"TENSOR0", "TENSOR1", "TENSOR2", "TENSOR3", "TENSOR4",
                                         "TENSOR5", "TENSOR6", "TENSOR7", "TENSOR8"};
    bool used = false;
    rp_code code = count_configuration(r, "HW", error);
    if (!code && r->count)
        code = rp_capture_each_chip(r->runs[0].capture, add_chip, &r->chips, error);
    if (!code && r->count)
        code = rp_capture_used_tensor_cores(r->runs[0].capture, &used, error);
    if (!code && has_set(r, "SASS"))
        code = count_configuration(r, "SASS", error);
    for (size_t i = 0; i < sizeof tensor / sizeof *tensor && !code && used; i++)
        if (has_set(r, tensor[i]))
            code = count_configuration(r, tensor[i], error);
    if (!code && has_set(r, "WHY"))
        code = count_configuration(r, "WHY", error);
    return code;
}

static rp_code merge_runs(const rerun *r, const char *first, rp_error *error) {
    rp_capture *traced = NULL, *into = NULL;
    rp_code code = rp_capture_open(&traced, first, error);
    if (!code)
        code = rp_capture_create(&into, r->options->capture, "roofprof trace, a run for each pass",
                                 error);
    if (!code && r->input_at < 0 && !isatty(STDIN_FILENO))
        code = rp_capture_add_note(into, "info", error,
                                   "the runs that counted could not read the standard input again "
                                   "(it is no file), and read nothing");
    if (!code)
        code = rp_capture_merge_runs(traced, r->runs, r->count, into, error);
    if (!code)
        code = rp_capture_finish(into, error);
    rp_capture_close(into); /* one that is not finished is abandoned */
    rp_capture_close(traced);
    return code;
}

static rp_code run_for_each(const rp_runs_options *o, const char *folder, char *const *argv,
                            rp_run_result *result, rp_error *error) {
    char first[PATH_MAX];
    bool go_on;
    rp_metric_sets *sets = NULL;
    rerun r = {.options = o, .argv = argv, .input_at = lseek(STDIN_FILENO, 0, SEEK_CUR)};
    r.streams[1] = -1;
    rp_code code = trace_first(o, folder, first, argv, result, &go_on, error);
    if (!go_on)
        return code;
    r.expected = result->code;
    code = rp_metric_sets_load(&sets, error);
    r.sets = sets;
    if (!code)
        code = open_streams(&r, error);
    if (!code)
        fprintf(stderr, "roofprof: the program runs again, once for each pass of counters; what it "
                        "shows then is not shown\n");
    if (!code)
        code = count_all(&r, error);
    if (!code)
        code = r.count ? merge_runs(&r, first, error) : keep_first(o, first, error);
    for (size_t i = 0; i < r.count; i++)
        rp_capture_close(r.runs[i].capture);
    if (r.streams[1] >= 0)
        close(r.streams[1]);
    rp_metric_sets_free(sets);
    return code;
}

/* ---- All of it ------------------------------------------------------------------------------- */

rp_code rp_program_runs(const rp_runs_options *options, char *const *argv, rp_run_result *result,
                        rp_error *error) {
    *result = (rp_run_result){.code = RP_INTERNAL};
    char *folder = rp_finish_prepare(options->finish, options->capture, error);
    if (!folder)
        return error->code;
    rp_code code;
    if (!strcmp(options->settings->mode, "rerun"))
        code = run_for_each(options, folder, argv, result, error);
    else if (options->runs == 2)
        code = run_twice(options, folder, argv, result, error);
    else
        code = run_once(options, options->settings, folder, options->capture, NULL, true, argv,
                        result, error);
    result->made = result->made && !code;
    if (code && result->ran)
        fprintf(stderr,
                "roofprof: what was traced is in %s; roofprof recover makes a capture of it\n",
                folder);
    else if (!options->keep)
        rp_finish_remove(folder);
    free(folder);
    return code;
}
