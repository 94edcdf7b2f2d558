/* SPDX-License-Identifier: Apache-2.0
 *
 * Before and after the program: see finish.h.
 */
#include "commands/finish.h"

#include "commands/input.h"
#include "commands/options.h"
#include "output/report.h"
#include "plots/plots.h"
#include "support/file.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Names ----------------------------------------------------------------------------------- */

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

static bool is_interpreter(const char *name) {
    static const char *const known[] = {"python", "pypy", "bash",  "sh",   "dash",   "zsh",
                                        "perl",   "ruby", "julia", "node", "Rscript"};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        size_t length = strlen(known[i]);
        if (!strncmp(name, known[i], length) &&
            strspn(name + length, "0123456789.") == strlen(name + length))
            return true;
    }
    return false;
}

/* `python -u train.py` runs train.py: the first word after the interpreter that is a file. */
static const char *what_runs(char *const *argv) {
    if (is_interpreter(base_name(argv[0])))
        for (int i = 1; argv[i]; i++)
            if (argv[i][0] != '-' && access(argv[i], F_OK) == 0)
                return base_name(argv[i]);
    return base_name(argv[0]);
}

static const char *rank(void) {
    static const char *const names[] = {"RANK",      "OMPI_COMM_WORLD_RANK", "PMI_RANK",
                                        "PMIX_RANK", "SLURM_PROCID",         "MV2_COMM_WORLD_RANK"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *value = getenv(names[i]);
        if (value && *value && strspn(value, "0123456789") == strlen(value))
            return value;
    }
    return NULL;
}

char *rp_finish_capture_name(const rp_finish_options *options, char *const *argv, rp_error *error) {
    char *name = NULL;
    if (options->output)
        return rp_options_output_name(options->output, error);
    const char *program = what_runs(argv), *dot = strrchr(program, '.');
    size_t length = dot && dot > program ? (size_t)(dot - program) : strlen(program);
    const char *r = rank();
    if (asprintf(&name, "%.*s%s%s.roof", (int)length, program, r ? "." : "", r ? r : "") < 0) {
        rp_fail(error, RP_INTERNAL, "no memory");
        return NULL;
    }
    return name;
}

/* ---- Folders --------------------------------------------------------------------------------- */

/* Can PATH be made or replaced? */
static rp_code writable(const char *path, const char *what, rp_error *error) {
    rp_temp temp;
    rp_code code = rp_temp_create(&temp, path, error);
    if (code)
        return rp_error_prefix(error, "the %s", what);
    rp_temp_discard(&temp);
    return RP_OK;
}

rp_code rp_finish_check(const rp_finish_options *options, const char *capture, rp_error *error) {
    rp_plot_format format;
    rp_code code = writable(capture, "capture", error);
    if (!code && options->report && !rp_file_is_stream(options->report))
        code = writable(options->report, "report", error);
    if (!code && options->plot)
        code = rp_plot_format_of(options->plot, &format, error);
    if (!code && options->plot)
        code = writable(options->plot, "plot", error);
    return code;
}

char *rp_finish_prepare(const rp_finish_options *options, const char *capture, rp_error *error) {
    char *folder = NULL, *whole = NULL;
    if (rp_finish_check(options, capture, error))
        return NULL;
    if (asprintf(&folder, "%s.XXXXXX", capture) < 0) {
        rp_fail(error, RP_INTERNAL, "no memory");
        return NULL;
    }
    if (!mkdtemp(folder)) {
        rp_fail(error, RP_INTERNAL, "%s: cannot make a folder beside it: %s", capture,
                strerror(errno));
        goto out;
    }
    whole = realpath(folder, NULL); /* the program may change its folder */
    if (!whole)
        rp_fail(error, RP_INTERNAL, "%s: %s", folder, strerror(errno));
out:
    free(folder);
    return whole;
}

void rp_finish_remove(const char *folder) {
    DIR *dir = opendir(folder);
    char *path;
    for (struct dirent *e; dir && (e = readdir(dir));)
        if (strcmp(e->d_name, ".") && strcmp(e->d_name, "..") &&
            asprintf(&path, "%s/%s", folder, e->d_name) >= 0) {
            unlink(path);
            free(path);
        }
    if (dir)
        closedir(dir);
    rmdir(folder);
}

/* ---- Showing --------------------------------------------------------------------------------- */

static rp_code print_report(const rp_finish_options *options, const rp_report *report,
                            rp_error *error) {
    rp_output output = {0};
    rp_print_options print = {.format = options->format, .top = 30};
    if (!options->report) {
        print.style = rp_style_of(stderr);
        rp_print_report(stderr, report, &print);
        return RP_OK;
    }
    rp_code code = rp_output_open(&output, options->report, error);
    if (code)
        return code;
    print.style = rp_style_of(output.stream);
    rp_print_report(output.stream, report, &print);
    return rp_output_commit(&output, error);
}

static rp_code draw_plot(const rp_finish_options *options, const rp_report *report,
                         rp_error *error) {
    rp_plot_options plot = RP_PLOT_OPTIONS_INIT;
    plot.output = options->plot;
    for (size_t d = 1; d < report->device_count; d++)
        if (report->devices[d].sum_s > report->devices[plot.device].sum_s)
            plot.device = d;
    rp_code code = rp_plot_format_of(plot.output, &plot.format, error);
    return code ? code : rp_plot_roofline(report, &plot, error);
}

void rp_finish_show(const rp_finish_options *options, const char *capture) {
    rp_input_options in = RP_INPUT_OPTIONS_INIT;
    rp_input input;
    rp_error error = {0};
    in.files = &capture;
    in.file_count = 1;
    in.device = options->device;
    in.hwdb = options->hwdb;
    in.work = options->work;
    if (rp_input_open(&input, &in, &error)) {
        fprintf(stderr, "roofprof: %s\n", error.message);
        return;
    }
    if (!options->quiet && print_report(options, &input.report, &error))
        fprintf(stderr, "roofprof: the report was not written: %s\n", error.message);
    if (options->plot && draw_plot(options, &input.report, &error))
        fprintf(stderr, "roofprof: the plot was not drawn: %s\n", error.message);
    rp_input_close(&input);
}
