/* SPDX-License-Identifier: Apache-2.0
 *
 * roofprof emulate: a program on emulated devices, without a GPU, and the report of its kernels.
 */
#include "commands/commands.h"

#include "commands/emulate.h"
#include "commands/input.h"
#include "commands/options.h"
#include "output/report.h"
#include "support/file.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TOP_OF_TEXT = 30 };

enum option { EMULATE, OUTPUT, REPORT, FORMAT, CACHE, THREADS, NO_COUNTS, HWDB };

static const rp_option table[] = {
    [EMULATE] = {"emulate", 0, "DEVICE", "the device; several: H100:2,A100; list: what there is"},
    [OUTPUT] = {"output", 'o', "FILE", "the capture (default PROGRAM.roof; %p %h %r %%)"},
    [REPORT] = {"report", 0, "FILE", "the report goes there instead of stderr"},
    [FORMAT] = {"format", 'f', "FORMAT", "text (default), json, csv, md or html"},
    [CACHE] = {"cache", 0, "STATE",
               "cold (default): each launch starts with empty caches and\n"
               "is charged for what it leaves dirty; warm: carried over"},
    [THREADS] = {"threads", 0, "N", "host threads (default: one per core; counts are the same)"},
    [NO_COUNTS] = {"no-counts", 0, NULL, "run only, as fast as it goes"},
    [HWDB] = {"hwdb", 0, "FILE", "further records for the hardware database"},
};

static const char intro[] =
    "Runs PROGRAM on an emulated DEVICE and reports its kernels: counts are exact, DRAM\n"
    "and cache traffic come from a cache model, times are modelled from the device's\n"
    "ceilings. The program must be linked with the shared CUDA runtime (nvcc -cudart\n"
    "shared) and hold PTX; if it is not or does not, the flags that help are told.\n";
static const char outro[] = "examples:\n"
                            "  roofprof --emulate H100 ./train\n"
                            "  roofprof emulate A100:2 ./train --epochs 1\n"
                            "  roofprof --emulate list\n";

typedef struct emulate_command {
    rp_emulate_options run;
    const char *report;
    rp_format format;
} emulate_command;

static bool set_option(const rp_options *o, emulate_command *c, int option) {
    int64_t threads;
    switch (option) {
    case EMULATE:
        c->run.devices = o->value;
        return true;
    case OUTPUT:
        c->run.capture = o->value;
        return true;
    case REPORT:
        c->report = o->value;
        return true;
    case FORMAT:
        if (rp_format_find(o->value, &c->format))
            return true;
        rp_options_error(o, "--format '%s' is none of text, json, csv, md, html", o->value);
        return false;
    case CACHE:
        c->run.warm = strcmp(o->value, "warm") == 0;
        if (c->run.warm || strcmp(o->value, "cold") == 0)
            return true;
        rp_options_error(o, "--cache '%s' is neither cold nor warm", o->value);
        return false;
    case THREADS:
        if (!rp_options_integer(o, "threads", 1, 1024, &threads))
            return false;
        c->run.threads = (int)threads;
        return true;
    case NO_COUNTS:
        c->run.no_counts = true;
        return true;
    default:
        c->run.hwdb = o->value;
        return true;
    }
}

/* The judged capture to stderr, or to the file that --report names. */
static rp_code report(const emulate_command *c, const char *capture, rp_error *error) {
    rp_input_options options = RP_INPUT_OPTIONS_INIT;
    rp_input input;
    rp_output output = {0};
    char *path = c->report ? rp_options_output_name(c->report, error) : NULL;
    options.files = &capture;
    options.file_count = 1;
    options.hwdb = c->run.hwdb;
    if (c->report && !path)
        return error->code;
    rp_code code = rp_input_open(&input, &options, error);
    if (code == RP_OK && path)
        code = rp_output_open(&output, path, error);
    free(path);
    if (code != RP_OK)
        return code;
    FILE *stream = c->report ? output.stream : stderr;
    rp_print_options print = {.format = c->format, .style = rp_style_of(stream)};
    if (c->format == RP_FORMAT_TEXT || c->format == RP_FORMAT_MD)
        print.top = TOP_OF_TEXT;
    rp_print_report(stream, &input.report, &print);
    rp_input_close(&input);
    return c->report ? rp_output_commit(&output, error) : RP_OK;
}

static void say_nothing_launched(const char *program) {
    fprintf(stderr,
            "roofprof: %s used no emulated device: it took a path without a GPU, or it found CUDA "
            "another way (a statically linked runtime in a library, the driver API, a library "
            "opened by its absolute path)\n",
            program);
}

/* The program's exit code is passed on; 125 if roofprof could not do its part. */
static int run(const rp_options *o, const emulate_command *c, char **argv) {
    rp_emulate_result result;
    rp_error error = {0};
    rp_code code = rp_emulate_program(&c->run, argv, &result, &error);
    if (code == RP_OK && !result.capture)
        say_nothing_launched(argv[0]);
    else if (code == RP_OK && !c->run.no_counts)
        code = report(c, result.capture, &error);
    if (code == RP_OK && result.capture)
        fprintf(stderr, "roofprof: capture written to %s\n", result.capture);
    free(result.capture);
    if (code == RP_OK)
        return result.exit_code;
    rp_options_fail(o, &error);
    return result.exit_code == 126 || result.exit_code == 127 ? result.exit_code : RP_INTERNAL;
}

int rp_cmd_emulate(int argc, char **argv) {
    rp_options o = RP_OPTIONS(argc, argv, table, "DEVICE PROGRAM [ARGUMENT]...", intro, outro);
    emulate_command c = {.format = RP_FORMAT_TEXT};
    rp_error error = {0};
    int option;
    while ((option = rp_options_next(&o)) >= RP_OPTION_POSITIONAL) {
        if (option == RP_OPTION_POSITIONAL && c.run.devices)
            break; /* the program; what follows is its own */
        if (option == RP_OPTION_POSITIONAL)
            c.run.devices = o.value;
        else if (!set_option(&o, &c, option))
            return RP_USAGE;
        if (c.run.devices && strcmp(c.run.devices, "list") == 0)
            return rp_emulate_list(c.run.hwdb, &error) == RP_OK ? RP_OK
                                                                : rp_options_fail(&o, &error);
    }
    if (option == RP_OPTION_HELP || option == RP_OPTION_BAD)
        return option == RP_OPTION_HELP ? RP_OK : RP_USAGE;
    if (!c.run.devices)
        return rp_options_error(&o, "no DEVICE is given");
    if (option == RP_OPTION_END)
        return rp_options_error(&o, "no PROGRAM is given");
    return run(&o, &c, argv + o.at - 1);
}
