/* SPDX-License-Identifier: Apache-2.0
 *
 * roofprof plot: the roofline of a capture as a picture, or in the terminal.
 */
#include "commands/commands.h"

#include "commands/input.h"
#include "commands/options.h"
#include "output/table.h"
#include "plots/plots.h"
#include "support/file.h"
#include "support/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum option {
    OUTPUT,
    ASCII,
    INTERACTIVE,
    LEVELS,
    SIZE,
    TITLE,
    KEEP,
    KERNEL,
    KERNEL_REGEX,
    RANGE,
    GPU,
    SKIP,
    COUNT,
    DEVICE,
    SPARSE,
    WORK,
    HWDB
};

static const rp_option table[] = {
    [OUTPUT] = {"output", 'o', "FILE",
                "the picture; .png .svg .pdf or .txt says its format (default:\n"
                "the capture's name with .png; %p %h %r %% as in names of captures)"},
    [ASCII] = {"ascii", 0, NULL, "draw in the terminal; needs no gnuplot"},
    [INTERACTIVE] = {"interactive", 0, NULL, "SVG: names and figures appear under the pointer"},
    [LEVELS] = {"levels", 0, NULL, "also mark each kernel's L2 and L1 intensity"},
    [SIZE] = {"size", 0, "WxH", "pixels (default 1600x1000)"},
    [TITLE] = {"title", 0, "TEXT", "instead of the device's name"},
    [KEEP] = {"keep", 0, "FOLDER", "leave the data files and the gnuplot script there"},
    [KERNEL] = {"kernel", 'k', "GLOB", "only kernels whose full or short name matches"},
    [KERNEL_REGEX] = {"kernel-regex", 0, "REGEX", "the same with an extended regular expression"},
    [RANGE] = {"range", 0, "GLOB", "only launches inside a matching NVTX range"},
    [GPU] = {"gpu", 0, "N", "the device with this number in the capture"},
    [SKIP] = {"skip", 0, "N", "leave out the first N launches of each process"},
    [COUNT] = {"count", 0, "N", "and take only the N after them"},
    [DEVICE] = {"device", 'd', "NAME", "hold against this device, whatever the capture says"},
    [SPARSE] = {"sparse", 0, NULL, "draw the 2:4 sparse tensor peaks"},
    [WORK] = {"work", 0, "FILE", "FLOPs and bytes that you know (see docs/report.md)"},
    [HWDB] = {"hwdb", 0, "FILE", "further records for the hardware database"},
};

static const char intro[] =
    "Draws the roofline: ceilings of every memory level and of the precisions in use,\n"
    "kernels as discs whose area is their share of GPU time and whose colour is what\n"
    "bounds them. FILE is a capture (.roof) or another profiler's file.\n";
static const char outro[] = "examples:\n"
                            "  roofprof plot train.roof\n"
                            "  roofprof plot gemm.ncu-rep -o gemm.svg --interactive\n"
                            "  roofprof plot train.roof --ascii\n";

typedef struct plot_options {
    rp_input_options input;
    rp_plot_options plot;
    const char *output;
    bool ascii, interactive;
} plot_options;

static bool set_size(const rp_options *o, plot_options *p) {
    char rest;
    if (sscanf(o->value, "%5dx%5d%c", &p->plot.width, &p->plot.height, &rest) == 2 &&
        p->plot.width > 0 && p->plot.height > 0)
        return true;
    rp_options_error(o, "--size '%s' is not WxH, as in 1600x1000", o->value);
    return false;
}

static bool set_option(const rp_options *o, plot_options *p, int option) {
    switch (option) {
    case OUTPUT:
        p->output = o->value;
        return true;
    case ASCII:
        return p->ascii = true;
    case INTERACTIVE:
        return p->interactive = true;
    case LEVELS:
        return p->plot.levels = true;
    case SIZE:
        return set_size(o, p);
    case TITLE:
        p->plot.title = o->value;
        return true;
    case KEEP:
        p->plot.keep = o->value;
        return true;
    default:
        return rp_input_set_option(&p->input, o, table[option].name);
    }
}

/* DIR/train.roof -> train.png, in the folder where the command runs. */
static char *default_name(const char *capture, bool svg) {
    const char *base = strrchr(capture, '/');
    char *name = NULL;
    base = base ? base + 1 : capture;
    const char *dot = strrchr(base, '.');
    size_t length = dot && dot > base ? (size_t)(dot - base) : strlen(base);
    return asprintf(&name, "%.*s%s", (int)length, base, svg ? ".svg" : ".png") < 0 ? NULL : name;
}

/* The device that took most of the time: with --gpu the only one that has any, else it is said. */
static size_t device_to_draw(const plot_options *p, const rp_report *report) {
    size_t best = 0;
    for (size_t d = 1; d < report->device_count; d++)
        if (report->devices[d].sum_s > report->devices[best].sum_s ||
            isnan(report->devices[best].sum_s))
            best = d;
    if (report->device_count > 1 && p->input.filter.device < 0) {
        const char *name = report->devices[best].name;
        char *text = rp_text_printable(name ? name : "", name ? strlen(name) : 0);
        fprintf(stderr,
                "roofprof plot: %zu devices; drawing GPU %zu%s%s, the busiest (--gpu N for "
                "another)\n",
                report->device_count, best, text && *text ? ", " : "", text ? text : "");
        free(text);
    }
    return best;
}

static rp_code draw_in_terminal(plot_options *p, const rp_report *report, rp_error *error) {
    struct winsize window;
    int width = 100, height = 36;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col >= 40) {
        width = window.ws_col > 160 ? 160 : window.ws_col;
        height = window.ws_row >= 24 ? window.ws_row - 2 : 24;
        height = height > 44 ? 44 : height;
    }
    p->plot.color = rp_style_of(stdout).colour;
    return rp_plot_roofline_ascii(report, &p->plot, stdout, width, height, error);
}

static rp_code draw(plot_options *p, const rp_report *report, rp_error *error) {
    p->plot.device = device_to_draw(p, report);
    if (p->ascii)
        return draw_in_terminal(p, report, error);
    char *name = p->output ? rp_options_output_name(p->output, error)
                           : default_name(p->input.files[0], p->interactive);
    if (!name)
        return p->output ? error->code : rp_fail(error, RP_INTERNAL, "no memory");
    rp_code code = rp_plot_format_of(name, &p->plot.format, error);
    if (!code && p->interactive && p->plot.format != RP_PLOT_SVG)
        code = rp_fail(error, RP_USAGE, "%s: --interactive makes an SVG; name it .svg", name);
    if (!code && p->interactive)
        p->plot.format = RP_PLOT_SVG_INTERACTIVE;
    p->plot.output = name;
    if (!code)
        code = rp_file_spare(name, p->input.files, p->input.file_count, error);
    if (!code)
        code = rp_file_spare(name, (const char *[]){p->input.work, p->input.hwdb}, 2, error);
    if (!code)
        code = rp_plot_roofline(report, &p->plot, error);
    if (!code)
        printf("%s\n", name);
    free(name);
    return code;
}

int rp_cmd_plot(int argc, char **argv) {
    rp_options o = RP_OPTIONS(argc, argv, table, "FILE...", intro, outro);
    plot_options p = {.input = RP_INPUT_OPTIONS_INIT, .plot = RP_PLOT_OPTIONS_INIT};
    const char **files = calloc((size_t)argc, sizeof *files);
    rp_error error = {0};
    rp_input input;
    int option = RP_OPTION_BAD, result = RP_USAGE;
    p.input.files = files;
    p.input.command = "plot";
    while (files && (option = rp_options_next(&o)) >= RP_OPTION_POSITIONAL) {
        if (option == RP_OPTION_POSITIONAL)
            files[p.input.file_count++] = o.value;
        else if (!set_option(&o, &p, option))
            goto out;
    }
    if (option != RP_OPTION_END) {
        result = option == RP_OPTION_HELP ? RP_OK : RP_USAGE;
        goto out;
    }
    if (p.input.file_count == 0) {
        result = rp_options_error(&o, "no FILE is given");
        goto out;
    }
    if (rp_input_open(&input, &p.input, &error) == RP_OK) {
        result = draw(&p, &input.report, &error);
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
