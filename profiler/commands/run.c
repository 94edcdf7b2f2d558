/* SPDX-License-Identifier: Apache-2.0
 *
 * roofprof run, the main job: wraps a program with the tracer injected, ingests what the tracer
 * left and reports. The program's streams, signals and exit code stay its own, whatever happens
 * here.
 */
#include "commands/commands.h"

#include "commands/emulate.h"
#include "commands/finish.h"
#include "commands/launch.h"
#include "commands/options.h"
#include "commands/settings.h"
#include "commands/trace_program.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum option {
    OUTPUT,
    REPORT,
    FORMAT,
    PLOT,
    MODE,
    RUNS,
    SAMPLES,
    BUDGET,
    KERNEL,
    RANGE,
    SKIP,
    COUNT,
    START_AFTER,
    FROM_API,
    NO_COUNT,
    PROBE_LIMIT,
    WATCHDOG,
    EMULATE,
    CACHE,
    THREADS,
    NO_COUNTS,
    DEVICE,
    WORK,
    HWDB,
    QUIET,
    KEEP
};

static const rp_option table[] = {
    [OUTPUT] = {"output", 'o', "FILE",
                "the capture (default: PROGRAM.roof); %p pid, %h host, %r rank"},
    [REPORT] = {"report", 0, "FILE", "the report goes there instead of stderr"},
    [FORMAT] = {"format", 'f', "FORMAT", "of the report: text (default), json, csv, md or html"},
    [PLOT] = {"plot", 'p', "FILE", "draw the roofline too (.png .svg .pdf)"},
    [MODE] = {"mode", 'm', "MODE",
              "sampled (default): times of all launches, counters of some, where\n"
              "this machine allows them; replay: counters of every launch, which\n"
              "runs twice or more; rerun: the same without replay, since the\n"
              "program itself runs once for each pass; trace: no counters; none:\n"
              "only run. Emulated: the device's own counts, unless a mode is asked\n"
              "for"},
    [RUNS] = {"runs", 0, "N",
              "2: the program runs twice, first traced and then counted, and its\n"
              "launches are matched (default: 1)"},
    [SAMPLES] = {"samples", 0, "N",
                 "sampled: launches of each kernel and shape, for each of its\n"
                 "configurations of counters (default: 3)"},
    [BUDGET] = {"budget", 0, "SHARE",
                "counting may cost this share of the run (default: 0.1;\n"
                "replay and rerun: 0, no limit)"},
    [KERNEL] = {"kernel", 'k', "GLOB", "only kernels of this name"},
    [RANGE] = {"range", 'r', "GLOB", "only launches inside of an NVTX range of this name"},
    [SKIP] = {"skip", 0, "N", "without the first N launches, of those that the above leave"},
    [COUNT] = {"count", 0, "N", "N launches and no more"},
    [START_AFTER] = {"start-after", 0, "SECONDS", "without the launches before that"},
    [FROM_API] = {"from-api", 0, NULL,
                  "only launches between cudaProfilerStart and cudaProfilerStop"},
    [NO_COUNT] = {"no-count", 0, "GLOB",
                  "kernels that must not be held back; collectives are known.\n"
                  "May be given several times"},
    [PROBE_LIMIT] = {"probe-limit", 0, "SECONDS",
                     "counters are tried in a process of its own first, which may\n"
                     "take that long (default: 20)"},
    [WATCHDOG] = {"watchdog", 0, "SECONDS",
                  "a launch that takes longer while counted ends the counting\n"
                  "(default: 20)"},
    [EMULATE] = {"emulate", 'e', "DEVICE",
                 "run on an emulated device, without a GPU: H100, or several,\n"
                 "H100:2,A100; list: what there is"},
    [CACHE] = {"cache", 0, "STATE",
               "emulated: cold (default): each launch starts with empty caches\n"
               "and is charged for what it leaves dirty; warm: carried over"},
    [THREADS] = {"threads", 0, "N", "emulated: host threads (default: one per core)"},
    [NO_COUNTS] = {"no-counts", 0, NULL, "emulated: run only, as fast as it goes"},
    [DEVICE] = {"device", 'd', "NAME", "hold against this device, whatever the program ran on"},
    [WORK] = {"work", 0, "FILE", "FLOPs and bytes that you know (see docs/report.md)"},
    [HWDB] = {"hwdb", 0, "FILE", "further records for the hardware database"},
    [QUIET] = {"quiet", 'q', NULL, "no report; the capture is written all the same"},
    [KEEP] = {"keep-spool", 0, NULL, "leave the tracer's own files beside the capture"},
};

static const char intro[] =
    "Runs PROGRAM as it is and says what bounds its GPU kernels. The report goes to\n"
    "stderr; the program's own output, signals and exit code are left alone.\n";
static const char outro[] =
    "examples:\n"
    "  roofprof ./train --epochs 1\n"
    "  roofprof -o step.roof --plot step.png python train.py\n"
    "  roofprof --emulate H100 ./train\n"
    "exit code: PROGRAM's own; 128+n if signal n ended it; 125 roofprof failed,\n"
    "126 PROGRAM cannot be executed, 127 it was not found.\n";

typedef struct run_options {
    rp_finish_options finish;
    rp_emulate_options emulate; /* devices NULL: a real one */
    rp_trace_settings settings;
    int runs;
    bool keep;
    bool only_run, mode_asked;
    const char *needs_tracer; /* the last option that only the tracer serves; NULL none */
    char **argv;              /* the program */
} run_options;

static bool set_threads(const rp_options *o, run_options *r) {
    int64_t threads;
    if (!rp_options_integer(o, "threads", 1, 1024, &threads))
        return false;
    r->emulate.threads = (int)threads;
    return true;
}

static bool set_mode(const rp_options *o, run_options *r) {
    static const char *const modes[] = {"sampled", "replay", "rerun", "trace"};
    r->only_run = strcmp(o->value, "none") == 0;
    if (r->only_run)
        return true;
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        if (strcmp(o->value, modes[i]) == 0) {
            r->settings.mode = modes[i];
            return r->mode_asked = true;
        }
    rp_options_error(o, "--mode '%s' is none of sampled, replay, rerun, trace, none", o->value);
    return false;
}

static bool set_runs(const rp_options *o, run_options *r) {
    int64_t runs;
    if (!rp_options_integer(o, "runs", 1, 2, &runs))
        return false;
    r->runs = (int)runs;
    return true;
}

static bool set_glob(const rp_options *o, const char *name, const char **glob) {
    if (rp_trace_settings_glob_is_fine(o->value)) {
        *glob = o->value;
        return true;
    }
    rp_options_error(o, "--%s wants a pattern on one line, of less than 1024 letters", name);
    return false;
}

static bool set_no_count(const rp_options *o, rp_trace_settings *s) {
    if (s->no_count_count == sizeof s->no_count / sizeof *s->no_count) {
        rp_options_error(o, "--no-count can be given %zu times", s->no_count_count);
        return false;
    }
    return set_glob(o, "no-count", &s->no_count[s->no_count_count++]);
}

/* Which launches, and how they are counted. */
static bool set_trace_option(const rp_options *o, rp_trace_settings *s, int option) {
    switch (option) {
    case SAMPLES:
        return rp_options_integer(o, "samples", 1, 10000, &s->samples);
    case BUDGET:
        return rp_options_number(o, "budget", 0, 1, &s->budget);
    case KERNEL:
        return set_glob(o, "kernel", &s->kernel);
    case RANGE:
        return set_glob(o, "range", &s->range);
    case SKIP:
        return rp_options_integer(o, "skip", 0, INT64_MAX, &s->first);
    case COUNT:
        return rp_options_integer(o, "count", 1, INT64_MAX, &s->count);
    case START_AFTER:
        return rp_options_number(o, "start-after", 0, 1e9, &s->start_after_s);
    case FROM_API:
        return s->from_api = true;
    case NO_COUNT:
        return set_no_count(o, s);
    case PROBE_LIMIT:
        return rp_options_number(o, "probe-limit", 0.1, 1e6, &s->probe_limit_s);
    default:
        return rp_options_number(o, "watchdog", 0.1, 1e9, &s->watchdog_s);
    }
}

static bool set_option(const rp_options *o, run_options *r, int option) {
    if (option >= RUNS && option <= WATCHDOG)
        r->needs_tracer = table[option].name;
    if (option >= SAMPLES && option <= WATCHDOG)
        return set_trace_option(o, &r->settings, option);
    switch (option) {
    case OUTPUT:
        r->finish.output = o->value;
        return true;
    case REPORT:
        r->finish.report = o->value;
        return true;
    case FORMAT:
        if (rp_format_find(o->value, &r->finish.format))
            return true;
        rp_options_error(o, "--format '%s' is none of text, json, csv, md, html", o->value);
        return false;
    case PLOT:
        r->finish.plot = o->value;
        return true;
    case MODE:
        return set_mode(o, r);
    case RUNS:
        return set_runs(o, r);
    case EMULATE:
        r->emulate.devices = o->value;
        return true;
    case CACHE:
        r->emulate.warm = strcmp(o->value, "warm") == 0;
        if (r->emulate.warm || strcmp(o->value, "cold") == 0)
            return true;
        rp_options_error(o, "--cache '%s' is neither cold nor warm", o->value);
        return false;
    case THREADS:
        return set_threads(o, r);
    case NO_COUNTS:
        return r->emulate.no_counts = true;
    case DEVICE:
        r->finish.device = o->value;
        return true;
    case WORK:
        r->finish.work = o->value;
        return true;
    case HWDB:
        r->finish.hwdb = o->value;
        return true;
    case QUIET:
        return r->finish.quiet = true;
    default:
        return r->keep = true;
    }
}

/* ---- Running ----------------------------------------------------------------------------------
 */

static int failed(const rp_options *o, const rp_error *error, int code) {
    rp_options_fail(o, error);
    return code;
}

/* Runs it as often as is wanted, and shows what came of it. The program's exit code, once it has
 * run; what goes wrong afterwards is only said. */
static int run_and_show(const rp_options *o, run_options *r, const rp_runs_options *runs) {
    rp_error error = {0};
    rp_run_result result = {.code = RP_INTERNAL};
    if (rp_program_runs(runs, r->argv, &result, &error))
        failed(o, &error, result.code);
    if (result.made) {
        rp_finish_show(&r->finish, runs->capture);
        fprintf(stderr, "roofprof: capture %s\n", runs->capture);
    }
    return result.code;
}

static int trace(const rp_options *o, run_options *r) {
    rp_error error = {0};
    int code = RP_INTERNAL;
    char *tracer = rp_trace_find_tracer(&error);
    char *capture = tracer ? rp_finish_capture_name(&r->finish, r->argv, &error) : NULL;
    const rp_runs_options runs = {.run = rp_trace_run,
                                  .context = tracer,
                                  .capture = capture,
                                  .settings = &r->settings,
                                  .finish = &r->finish,
                                  .runs = r->runs,
                                  .keep = r->keep};
    if (capture)
        code = run_and_show(o, r, &runs);
    else
        failed(o, &error, code);
    free(tracer);
    free(capture);
    return code;
}

static int only_run(const rp_options *o, run_options *r) {
    rp_error error = {0};
    rp_launch_result result;
    if (rp_launch(r->argv, NULL, 0, NULL, &result, &error) || !result.started)
        rp_options_fail(o, &error);
    return result.code;
}

/* ---- Emulated -------------------------------------------------------------------------------- */

static void say_no_device(const run_options *r) {
    fprintf(stderr,
            "roofprof: %s used no emulated device: it took a path without a GPU, or it found CUDA "
            "another way (a statically linked runtime in a library, a library opened by its "
            "absolute path)\n",
            r->argv[0]);
}

/* The device counts every launch itself. */
static int emulate(const rp_options *o, run_options *r, const char *capture) {
    rp_error error = {0};
    rp_emulate_result result = {.exit_code = RP_INTERNAL};
    r->emulate.capture = capture;
    if (rp_finish_check(&r->finish, capture, &error) ||
        rp_emulate_program(&r->emulate, r->argv, &result, &error)) {
        rp_options_fail(o, &error);
        result.exit_code = result.exit_code ? result.exit_code : RP_INTERNAL;
    } else if (!result.capture) {
        say_no_device(r);
    } else if (!r->emulate.no_counts) {
        rp_finish_show(&r->finish, result.capture);
        fprintf(stderr, "roofprof: capture %s\n", result.capture);
    }
    free(result.capture);
    return result.exit_code;
}

/* An emulated device under a tracer: an rp_runner. */
typedef struct traced_device {
    rp_emulate_options options;
    const char *counts; /* where what the device counted in the first run goes */
    bool ran, used, counted;
} traced_device;

static rp_code run_traced_device(void *context, const rp_run *run, char *const *argv,
                                 rp_run_result *result, rp_error *error) {
    traced_device *d = context;
    rp_emulate_result emulated;
    d->options.capture = run->capture;
    d->options.settings = run->settings;
    d->options.streams = run->streams;
    d->options.counts = run->first ? d->counts : NULL;
    rp_code code = rp_emulate_program(&d->options, argv, &emulated, error);
    *result = (rp_run_result){.code = emulated.exit_code,
                              .signal = emulated.signal,
                              .ran = emulated.ran,
                              .made = code == RP_OK && emulated.capture};
    d->ran |= emulated.ran;
    d->used |= emulated.capture != NULL;
    d->counted |= emulated.counts;
    free(emulated.capture);
    return code;
}

/* NAME.roof to NAME.counts.roof. */
static char *counts_name(const char *capture) {
    char *name = NULL;
    size_t length = strlen(capture), end = strlen(".roof");
    if (length > end && !strcmp(capture + length - end, ".roof"))
        length -= end;
    return asprintf(&name, "%.*s.counts.roof", (int)length, capture) < 0 ? NULL : name;
}

static int trace_emulated(const rp_options *o, run_options *r, const char *capture) {
    rp_error error = {0};
    int code = RP_INTERNAL;
    char *tracer = rp_trace_find_tracer(&error), *counts = counts_name(capture);
    traced_device device = {.options = r->emulate, .counts = counts};
    device.options.tracer = tracer;
    const rp_runs_options runs = {.run = run_traced_device,
                                  .context = &device,
                                  .capture = capture,
                                  .settings = &r->settings,
                                  .finish = &r->finish,
                                  .runs = r->runs,
                                  .keep = r->keep};
    if (tracer && counts)
        code = run_and_show(o, r, &runs);
    else
        failed(o, &error, code);
    if (device.ran && !device.used)
        say_no_device(r);
    if (device.counted)
        fprintf(stderr, "roofprof: what the device counted %s\n", counts);
    free(tracer);
    free(counts);
    return code;
}

static int run_emulated(const rp_options *o, run_options *r) {
    rp_error error = {0};
    char *capture = rp_finish_capture_name(&r->finish, r->argv, &error);
    r->emulate.hwdb = r->finish.hwdb;
    int code = !capture        ? failed(o, &error, RP_INTERNAL)
               : r->mode_asked ? trace_emulated(o, r, capture)
                               : emulate(o, r, capture);
    free(capture);
    return code;
}

static int list_emulated(const rp_options *o, const run_options *r) {
    rp_error error = {0};
    return rp_emulate_list(r->finish.hwdb, &error) ? rp_options_fail(o, &error) : RP_OK;
}

int rp_cmd_run(int argc, char **argv) {
    rp_options o = RP_OPTIONS(argc, argv, table, "PROGRAM [ARGUMENT]...", intro, outro);
    run_options r = {.settings = RP_TRACE_SETTINGS_INIT, .runs = 1};
    int option;
    while ((option = rp_options_next(&o)) > RP_OPTION_POSITIONAL)
        if (!set_option(&o, &r, option))
            return RP_INTERNAL;
    if (option != RP_OPTION_POSITIONAL) {
        if (option == RP_OPTION_END && r.emulate.devices && !strcmp(r.emulate.devices, "list"))
            return list_emulated(&o, &r);
        if (option == RP_OPTION_HELP)
            return RP_OK;
        if (option == RP_OPTION_END)
            rp_options_error(&o, "no PROGRAM is given");
        return RP_INTERNAL;
    }
    r.argv = argv + o.at - 1;
    if (r.emulate.devices && r.needs_tracer && !r.mode_asked) {
        rp_options_error(
            &o,
            "--%s is the tracer's: on an emulated device it needs --mode (without, the "
            "device counts every launch itself, in one run)",
            r.needs_tracer);
        return RP_INTERNAL;
    }
    if (r.runs > 1 && !strcmp(r.settings.mode, "rerun")) {
        rp_options_error(&o, "--runs 2 and --mode rerun: the program is traced in a run of its own "
                             "by that mode already");
        return RP_INTERNAL;
    }
    if (r.emulate.devices)
        return run_emulated(&o, &r);
    return r.only_run ? only_run(&o, &r) : trace(&o, &r);
}
