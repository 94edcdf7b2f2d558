/* SPDX-License-Identifier: Apache-2.0
 *
 * roofprof report: what bounds each kernel of a capture or of another profiler's file.
 */
#include "commands/commands.h"

#include "analysis/model_run.h"
#include "commands/input.h"
#include "commands/options.h"
#include "output/report.h"
#include "plots/plots.h"
#include "support/file.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TOP_OF_TEXT 30 /* kernels shown to people who did not say how many */

enum option {
    REPORT,
    FORMAT,
    BY,
    KERNEL,
    KERNEL_REGEX,
    RANGE,
    GPU,
    SKIP,
    COUNT,
    SORT,
    TOP,
    EXPLAIN,
    DEVICE,
    SPARSE,
    WORK,
    MODEL_FLOPS,
    MODEL,
    TOKENS,
    MODE,
    DTYPE,
    BATCH,
    SEQ,
    HWDB
};

static const rp_option table[] = {
    [REPORT] = {"report", 'o', "FILE", "write there, whole or not at all (%p %h %r %%)"},
    [FORMAT] = {"format", 'f', "FORMAT", "text (default), json, csv, md or html"},
    [BY] = {"by", 0, "WHAT",
            "a row is a kernel (default), config (its launch shape too) or\n"
            "range (NVTX)"},
    [KERNEL] = {"kernel", 'k', "GLOB", "only kernels whose full or short name matches"},
    [KERNEL_REGEX] = {"kernel-regex", 0, "REGEX", "the same with an extended regular expression"},
    [RANGE] = {"range", 0, "GLOB", "only launches inside a matching NVTX range"},
    [GPU] = {"gpu", 0, "N", "only the device with this number in the capture"},
    [SKIP] = {"skip", 0, "N", "leave out the first N launches of each process"},
    [COUNT] = {"count", 0, "N", "and take only the N after them"},
    [SORT] = {"sort", 0, "ORDER", "lost (default), time, launches, intensity, rate, roof, name"},
    [TOP] = {"top", 'n', "N", "show N kernels, 0 all (text and md: 30)"},
    [EXPLAIN] = {"explain", 0, NULL, "show the evidence: every ceiling, its time, its source"},
    [DEVICE] = {"device", 'd', "NAME", "hold against this device, whatever the capture says"},
    [SPARSE] = {"sparse", 0, NULL, "hold tensor work against 2:4 sparse peaks"},
    [WORK] = {"work", 0, "FILE", "FLOPs and bytes that you know (see docs/report.md)"},
    [MODEL_FLOPS] = {"model-flops", 0, "N",
                     "useful FLOPs of the whole run: model FLOPs utilisation"},
    [MODEL] = {"model", 0, "NAME",
               "the same from a model, as in plan: llama-7b, ...; with --tokens"},
    [TOKENS] = {"tokens", 0, "N", "that the run processed, on all devices"},
    [MODE] = {"mode", 0, "MODE", "infer (default): forward only; or train"},
    [DTYPE] = {"dtype", 0, "TYPE", "whose dense peak useful FLOPs are held against (bf16)"},
    [BATCH] = {"batch", 0, "N", "sequences at once: with --seq, for the model's bytes"},
    [SEQ] = {"seq", 0, "N", "their length: attention's FLOPs, KV cache, activations"},
    [HWDB] = {"hwdb", 0, "FILE", "further records for the hardware database"},
};

static const char intro[] =
    "Says what bounds each kernel: memory (by level or access pattern), compute (by\n"
    "precision and path), latency (with the reason), or that it is not known. FILE is\n"
    "a capture (.roof), or what Nsight Compute, Nsight Systems, PyTorch, nvprof or\n"
    "rocprof-compute wrote; it is recognised by its content.\n";
static const char outro[] =
    "examples:\n"
    "  roofprof report train.roof\n"
    "  roofprof report gemm.ncu-rep --kernel '*gemm*' --explain\n"
    "  roofprof report trace.json.gz --work known.ini --format html -o report.html\n";

typedef struct report_options {
    rp_input_options input;
    rp_model_run run;
    bool has_model, has_dtype;
    const char *output, *order;
    rp_format format;
    int64_t top; /* -1: the format's default */
    bool explain;
} report_options;

static bool set_by(const rp_options *o, report_options *r) {
    static const char *const names[] = {"kernel", "config", "range"};
    for (int i = 0; i < 3; i++)
        if (strcmp(o->value, names[i]) == 0) {
            r->input.by = (rp_group_by)i;
            return true;
        }
    rp_options_error(o, "--by '%s' is none of kernel, config, range", o->value);
    return false;
}

static bool set_format(const rp_options *o, report_options *r) {
    if (rp_format_find(o->value, &r->format))
        return true;
    rp_options_error(o, "--format '%s' is none of text, json, csv, md, html", o->value);
    return false;
}

static bool set_model(const rp_options *o, report_options *r, int option) {
    rp_error error;
    switch (option) {
    case MODEL:
        r->has_model = true;
        if (rp_model_preset(o->value, &r->run.plan.model, &error) == RP_OK)
            return true;
        rp_options_error(o, "%s", error.message);
        return false;
    case TOKENS:
        return rp_options_number(o, "tokens", 1, 1e20, &r->run.tokens);
    case MODE:
        r->run.plan.mode = strcmp(o->value, "train") == 0 ? RP_PLAN_TRAIN : RP_PLAN_INFER;
        if (r->run.plan.mode == RP_PLAN_TRAIN || strcmp(o->value, "infer") == 0)
            return true;
        rp_options_error(o, "--mode '%s' is none of infer, train", o->value);
        return false;
    case DTYPE:
        r->has_dtype = true;
        return rp_options_precision(o, "dtype", &r->run.plan.dtype);
    case BATCH:
        return rp_options_number(o, "batch", 1, 1e9, &r->run.plan.batch);
    default:
        return rp_options_number(o, "seq", 1, 1e9, &r->run.plan.sequence);
    }
}

/* Options that make no sense without others. */
static bool check_model(const rp_options *o, report_options *r) {
    bool flops = !isnan(r->input.model_flops), tokens = !isnan(r->run.tokens);
    if (r->has_model && flops)
        rp_options_error(o, "--model and --model-flops both say the useful FLOPs: give one");
    else if (r->has_model && !tokens && isnan(r->run.plan.sequence))
        rp_options_error(o, "--model needs --tokens (for its FLOPs) or --seq (for its bytes)");
    else if (!r->has_model && tokens)
        rp_options_error(o, "--tokens needs --model");
    else
        return true;
    return false;
}

static bool set_option(const rp_options *o, report_options *r, int option) {
    switch (option) {
    case REPORT:
        r->output = o->value;
        return true;
    case FORMAT:
        return set_format(o, r);
    case BY:
        return set_by(o, r);
    case TOP:
        return rp_options_integer(o, "top", 0, INT32_MAX, &r->top);
    case MODEL_FLOPS:
        return rp_options_number(o, "model-flops", 1, 1e30, &r->input.model_flops);
    case SORT:
        r->order = o->value;
        return true;
    case EXPLAIN:
        r->explain = true;
        return true;
    case MODEL:
    case TOKENS:
    case MODE:
    case DTYPE:
    case BATCH:
    case SEQ:
        return set_model(o, r, option);
    default:
        return rp_input_set_option(&r->input, o, table[option].name);
    }
}

/* The pictures of all devices that ran kernels, one after the other; NULL if none can be made. */
static char *make_pictures(const rp_report *report, rp_error *error) {
    char *all = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&all, &size);
    for (size_t d = 0; stream && d < report->device_count; d++) {
        rp_plot_options options = RP_PLOT_OPTIONS_INIT;
        char *svg = NULL;
        bool used = false;
        options.format = RP_PLOT_SVG_INTERACTIVE;
        options.device = d;
        for (size_t k = 0; k < report->kernel_count && !used; k++)
            used = report->kernels[k].device == d;
        if (!used || rp_plot_roofline_svg(report, &options, &svg, error) != RP_OK)
            continue;
        const char *element = strstr(svg, "<svg"); /* an XML declaration is no part of a page */
        fputs(element ? element : "", stream);
        free(svg);
    }
    if (stream && fclose(stream) != 0)
        return NULL;
    if (all && !*all) {
        free(all);
        return NULL;
    }
    return all;
}

static rp_code print(const rp_options *o, const report_options *r, rp_report *report,
                     rp_error *error) {
    rp_output output = {0};
    char *path = r->output ? rp_options_output_name(r->output, error) : NULL, *svg = NULL;
    rp_error no_picture = {0};
    if (r->output && !path)
        return error->code;
    rp_code code = rp_file_spare(path, r->input.files, r->input.file_count, error);
    if (code == RP_OK)
        code = rp_file_spare(path, (const char *[]){r->input.work, r->input.hwdb}, 2, error);
    if (code == RP_OK && r->order)
        code = rp_report_sort(report, r->order, error);
    if (code == RP_OK)
        code = rp_output_open(&output, path, error);
    free(path);
    if (code != RP_OK)
        return code;
    rp_print_options options = {.format = r->format, .style = rp_style_of(output.stream)};
    bool for_people = r->format == RP_FORMAT_TEXT || r->format == RP_FORMAT_MD;
    options.top = r->top >= 0 ? (size_t)r->top : for_people ? TOP_OF_TEXT : 0;
    if (r->format == RP_FORMAT_HTML && !r->explain) {
        svg = make_pictures(report, &no_picture);
        options.svg = svg;
        options.svg_missing = no_picture.message;
        if (!svg)
            fprintf(stderr, "roofprof %s: the page has no picture: %s\n", o->argv[0],
                    no_picture.message);
    }
    if (r->explain)
        rp_print_evidence(output.stream, report, &options);
    else
        rp_print_report(output.stream, report, &options);
    free(svg);
    return rp_output_commit(&output, error);
}

int rp_cmd_report(int argc, char **argv) {
    rp_options o = RP_OPTIONS(argc, argv, table, "FILE...", intro, outro);
    report_options r = {.input = RP_INPUT_OPTIONS_INIT, .run = rp_model_run_none(), .top = -1};
    const char **files = calloc((size_t)argc, sizeof *files);
    rp_error error = {0};
    rp_input input;
    int option = RP_OPTION_BAD, result = RP_USAGE;
    r.input.files = files;
    r.input.command = "report";
    while (files && (option = rp_options_next(&o)) >= RP_OPTION_POSITIONAL) {
        if (option == RP_OPTION_POSITIONAL)
            files[r.input.file_count++] = o.value;
        else if (!set_option(&o, &r, option))
            goto out;
    }
    if (option != RP_OPTION_END) {
        result = option == RP_OPTION_HELP ? RP_OK : RP_USAGE;
        goto out;
    }
    if (r.input.file_count == 0) {
        result = rp_options_error(&o, "no FILE is given");
        goto out;
    }
    if (!check_model(&o, &r))
        goto out;
    if (rp_input_open(&input, &r.input, &error) == RP_OK) {
        r.run.flops = r.input.model_flops;
        if (r.has_model || (r.has_dtype && !isnan(r.run.flops)))
            result = (int)rp_model_run_apply(&r.run, input.hwdb, &input.report, &error);
        else
            result = RP_OK;
        if (result == RP_OK)
            result = (int)print(&o, &r, &input.report, &error);
        rp_input_close(&input);
    } else {
        result = (int)error.code;
    }
    if (result != RP_OK)
        rp_options_fail(&o, &error);
out:
    free(files);
    return result;
}
