/* SPDX-License-Identifier: Apache-2.0
 *
 * roofprof diff: what got slower between two captures, and a gate for CI.
 */
#include "commands/commands.h"

#include "commands/input.h"
#include "commands/options.h"
#include "output/diff.h"
#include "support/file.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TOP_OF_TEXT 30

enum option {
    OUTPUT,
    FORMAT,
    FAIL_ON,
    MIN_SHARE,
    BY,
    KERNEL,
    KERNEL_REGEX,
    FOLLOW,
    TOP,
    DEVICE,
    WORK,
    HWDB
};

static const rp_option table[] = {
    [OUTPUT] = {"report", 'o', "FILE", "write there, whole or not at all (%p %h %r %%)"},
    [FORMAT] = {"format", 'f', "FORMAT", "text (default), json, csv, md or html"},
    [FAIL_ON] = {"fail-on", 0, "GATE",
                 "exit with 1 if GATE fails; may be given again. METRIC>N% or\n"
                 "METRIC<N% with METRIC one of time, mean (of a launch), flops, bytes,\n"
                 "launches, total (GPU time); or new, gone, bound (a verdict changed)"},
    [MIN_SHARE] = {"min-share", 0, "PERCENT",
                   "kernels with less of the kernel time fail no gate (default 0.5)"},
    [BY] = {"by", 0, "WHAT", "compare kernels (default), configs or ranges"},
    [KERNEL] = {"kernel", 'k', "GLOB", "only kernels whose full or short name matches"},
    [KERNEL_REGEX] = {"kernel-regex", 0, "REGEX", "the same with an extended regular expression"},
    [FOLLOW] = {"follow-renames", 0, NULL, "pair kernels whose names are alike"},
    [TOP] = {"top", 'n', "N", "show N kernels, 0 all (text and md: 30)"},
    [DEVICE] = {"device", 'd', "NAME", "hold both against this device"},
    [WORK] = {"work", 0, "FILE", "FLOPs and bytes that you know (see docs/report.md)"},
    [HWDB] = {"hwdb", 0, "FILE", "further records for the hardware database"},
};

static const char intro[] =
    "Compares two captures (or other profilers' files) of a program kernel by kernel.\n"
    "A change of time that the spread of the launches explains fails no gate.\n";
static const char outro[] =
    "examples:\n"
    "  roofprof diff base.roof new.roof\n"
    "  roofprof diff base.roof new.roof --fail-on 'time>5%' --fail-on new\n";

typedef struct diff_options {
    rp_input_options input;
    const char *files[2];
    size_t file_count;
    const char *output;
    rp_diff_print_options print;
    rp_gate *gates; /* print.gates; room for one a word of the command line */
    bool follow;
    int64_t top;
} diff_options;

static bool set_gate(const rp_options *o, diff_options *d) {
    rp_error error = {0};
    if (rp_gate_parse(o->value, &d->gates[d->print.gate_count], &error) == RP_OK) {
        d->print.gate_count++;
        return true;
    }
    rp_options_error(o, "%s", error.message);
    return false;
}

static bool set_by(const rp_options *o, diff_options *d) {
    static const char *const names[] = {"kernel", "config", "range"};
    for (int i = 0; i < 3; i++)
        if (strcmp(o->value, names[i]) == 0) {
            d->input.by = (rp_group_by)i;
            return true;
        }
    rp_options_error(o, "--by '%s' is none of kernel, config, range", o->value);
    return false;
}

static bool set_file(const rp_options *o, diff_options *d) {
    if (d->file_count == 2) {
        rp_options_error(o, "two files are compared; '%s' is a third", o->value);
        return false;
    }
    d->files[d->file_count++] = o->value;
    return true;
}

static bool set_option(const rp_options *o, diff_options *d, int option) {
    switch (option) {
    case OUTPUT:
        d->output = o->value;
        return true;
    case FORMAT:
        if (rp_format_find(o->value, &d->print.format))
            return true;
        rp_options_error(o, "--format '%s' is none of text, json, csv, md, html", o->value);
        return false;
    case FAIL_ON:
        return set_gate(o, d);
    case MIN_SHARE:
        return rp_options_number(o, "min-share", 0, 100, &d->print.min_share);
    case BY:
        return set_by(o, d);
    case KERNEL:
        d->input.filter.kernel_glob = o->value;
        return true;
    case KERNEL_REGEX:
        d->input.filter.kernel_regex = o->value;
        return true;
    case FOLLOW:
        d->follow = true;
        return true;
    case TOP:
        return rp_options_integer(o, "top", 0, INT32_MAX, &d->top);
    case DEVICE:
        d->input.device = o->value;
        return true;
    case WORK:
        d->input.work = o->value;
        return true;
    case HWDB:
        d->input.hwdb = o->value;
        return true;
    default:
        return set_file(o, d);
    }
}

static rp_code print(const diff_options *d, const rp_diff *diff, rp_error *error) {
    rp_output output = {0};
    char *path = d->output ? rp_options_output_name(d->output, error) : NULL;
    if (d->output && !path)
        return error->code;
    rp_code code = rp_file_spare(path, d->files, 2, error);
    if (code == RP_OK)
        code = rp_file_spare(path, (const char *[]){d->input.work, d->input.hwdb}, 2, error);
    if (code == RP_OK)
        code = rp_output_open(&output, path, error);
    free(path);
    if (code != RP_OK)
        return code;
    rp_diff_print_options options = d->print;
    bool for_people = options.format == RP_FORMAT_TEXT || options.format == RP_FORMAT_MD;
    options.style = rp_style_of(output.stream);
    options.gates = d->gates;
    options.top = d->top >= 0 ? (size_t)d->top : for_people ? TOP_OF_TEXT : 0;
    options.min_share /= 100;
    size_t failed = rp_print_diff(output.stream, diff, &options);
    code = rp_output_commit(&output, error);
    return code != RP_OK ? code : failed ? RP_GATE : RP_OK;
}

static rp_code compare(const diff_options *d, rp_error *error) {
    rp_input base, now;
    rp_diff diff;
    rp_input_options options = d->input;
    options.file_count = 1;
    options.files = &d->files[0];
    options.command = "diff";
    rp_code code = rp_input_open(&base, &options, error);
    if (code != RP_OK)
        return code;
    options.files = &d->files[1];
    options.command = NULL; /* it has been said */
    code = rp_input_open(&now, &options, error);
    if (code == RP_OK) {
        code = rp_diff_make(&base.report, &now.report, d->follow, &diff, error);
        if (code == RP_OK) {
            code = print(d, &diff, error);
            rp_diff_free(&diff);
        }
        rp_input_close(&now);
    }
    rp_input_close(&base);
    return code;
}

int rp_cmd_diff(int argc, char **argv) {
    rp_options o = RP_OPTIONS(argc, argv, table, "BASE NEW", intro, outro);
    diff_options d = {.input = RP_INPUT_OPTIONS_INIT, .print.min_share = 0.5, .top = -1};
    rp_error error = {0};
    int option = RP_OPTION_BAD, result = RP_USAGE;
    d.gates = calloc((size_t)argc, sizeof *d.gates);
    while (d.gates && (option = rp_options_next(&o)) >= RP_OPTION_POSITIONAL)
        if (!set_option(&o, &d, option))
            goto out;
    if (option != RP_OPTION_END) {
        result = option == RP_OPTION_HELP ? RP_OK : RP_USAGE;
        goto out;
    }
    if (d.file_count != 2) {
        result = rp_options_error(&o, "two files are compared: BASE and NEW");
        goto out;
    }
    result = (int)compare(&d, &error);
    if (result != RP_OK && result != RP_GATE)
        rp_options_fail(&o, &error);
out:
    free(d.gates);
    return result;
}
