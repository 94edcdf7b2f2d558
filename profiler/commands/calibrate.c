/* SPDX-License-Identifier: Apache-2.0
 *
 * roofprof calibrate: measures a device's real ceilings, or the host's, prints them, records them
 * for later reports, and compares them to an earlier calibration.
 */
#include "commands/calibration.h"
#include "commands/commands.h"
#include "commands/emulate.h"
#include "commands/options.h"

#include "kernels/record.h"
#include "plots/calibration.h"
#include "support/file.h"
#include "support/progress.h"
#include "support/units.h"
#include <dlfcn.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    DEVICE,
    QUICK,
    HOST,
    EMULATE,
    CHECK,
    LOSS,
    FROM,
    NO_RECORD,
    FORMAT,
    OUTPUT,
    PLOT,
    HWDB,
};
static const rp_option table[] = {
    [DEVICE] = {"device", 'd', "N", "which device, from 0 on (default 0)"},
    [QUICK] = {"quick", 0, NULL, "fewer variants and no sustained figures"},
    [HOST] = {"host", 0, NULL, "the CPU's bandwidth and multiply-adds instead; needs no GPU"},
    [EMULATE] = {"emulate", 'e', "DEVICE",
                 "an emulated device, or several (H100, H100:2): every kernel is run and\n"
                 "checked, its times are modelled, and nothing is recorded"},
    [CHECK] = {"check", 0, "BASE",
               "compare to an earlier calibration (JSON); exit 1 if something got\nworse"},
    [LOSS] = {"loss", 0, "PERCENT", "what --check allows (default 5)"},
    [FROM] = {"from", 0, "FILE", "do not measure: take the calibration in FILE (JSON)"},
    [NO_RECORD] = {"no-record", 0, NULL, "do not add it to the user's hardware database"},
    [FORMAT] = {"format", 'f', "FORMAT", "text (default), json, csv, md or html"},
    [OUTPUT] = {"output", 'o', "FILE", "write to FILE"},
    [PLOT] = {"plot", 0, "FILE", "draw the roofline and the shares of theory (.png .svg .pdf)"},
    [HWDB] = {"hwdb", 0, "FILE", "further records of the hardware database"},
};

typedef struct request {
    rp_calibrate_options measure;
    bool host, no_record;
    const char *emulated, *base, *from, *output, *plot, *hwdb;
    double loss;
    rp_format format;
    rp_progress progress;
} request;

/* ---- Stopping -------------------------------------------------------------------------------- */

static volatile sig_atomic_t stop;

/* The second time ends the program as ever. */
static void on_interrupt(int number) {
    stop = 1;
    signal(number, SIG_DFL);
}

static void on_progress(void *context, double done, const char *what) {
    request *r = context;
    r->progress.what = what;
    rp_progress_update(&r->progress, done);
}

/* ---- Measuring ------------------------------------------------------------------------------- */

/* The stand-ins are loaded under the names by which the real libraries will be asked for. */
static rp_code load_stand_ins(const char *devices, const char *hwdb, rp_error *error) {
    static const char *const libraries[] = {"libcudart.so.13", "libcuda.so.1", "libnvidia-ml.so.1"};
    char folder[PATH_MAX], path[PATH_MAX + 32];
    rp_code code = rp_emulate_find(folder, error);

    setenv("ROOFPROF_EMU_DEVICE", devices, 1);
    if (hwdb)
        setenv("ROOFPROF_EMU_HWDB", hwdb, 1);
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries && code == RP_OK; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, libraries[i]);
        if (!dlopen(path, RTLD_NOW | RTLD_GLOBAL))
            code = rp_fail(error, RP_MACHINE, "the emulated device cannot be had: %s", dlerror());
    }
    return code;
}

static rp_code measure(request *r, const rp_hwdb *db, rp_calibration *c, rp_error *error) {
    rp_code code;

    if (r->from)
        return rp_calibration_read(r->from, c, error);
    if (r->emulated && (code = load_stand_ins(r->emulated, r->hwdb, error)) != RP_OK)
        return code;
    signal(SIGINT, on_interrupt);
    r->measure.stop = &stop;
    r->measure.progress = on_progress;
    r->measure.context = r;
    rp_progress_start(&r->progress, "starting", 1);
    code = r->host ? rp_calibrate_host(&r->measure, c, error)
                   : rp_calibrate_device(db, &r->measure, c, error);
    rp_progress_stop(&r->progress);
    signal(SIGINT, SIG_DFL);
    return code;
}

/* What has taken minutes to measure must not be lost for want of a place to put it. */
static rp_code can_write(const char *path, rp_error *error) {
    rp_temp temp;
    rp_code code;

    if (!path || !strcmp(path, "-") || rp_file_is_stream(path))
        return RP_OK;
    code = rp_temp_create(&temp, path, error);
    if (code == RP_OK)
        rp_temp_discard(&temp);
    return code;
}

/* What is wrong with the files is said before anything is measured. */
static rp_code prepare(const request *r, rp_calibration *base, rp_error *error) {
    const char *const inputs[] = {r->base, r->from};
    rp_code code = rp_file_spare(r->output, inputs, 2, error);

    (void)(code || (code = rp_file_spare(r->plot, inputs, 2, error)) ||
           (code = r->base ? rp_calibration_read(r->base, base, error) : RP_OK) ||
           (code = can_write(r->output, error)) || (code = can_write(r->plot, error)));
    return code;
}

static rp_code print(const request *r, const rp_calibration *c, rp_error *error) {
    rp_output output = {0};
    rp_code code = rp_output_open(&output, r->output, error);

    if (code != RP_OK)
        return code;
    rp_calibration_print(c, r->format, output.stream);
    return rp_output_commit(&output, error);
}

static rp_code record(const request *r, const rp_calibration *c, rp_error *error) {
    char path[4096] = "";
    size_t written;
    const char *why;
    rp_code code;

    if (r->no_record || r->from || c->host)
        return RP_OK;
    code = rp_calibration_record(c, path, sizeof path, &written, &why, error);
    if (code != RP_OK)
        return code;
    if (*why)
        fprintf(stderr, "roofprof calibrate: nothing is recorded: %s\n", why);
    else
        fprintf(stderr,
                "roofprof calibrate: %zu ceilings recorded in %s; reports, plots and compare draw "
                "against them from now on\n",
                written, path);
    return RP_OK;
}

static rp_code draw(const request *r, const rp_calibration *c, rp_error *error) {
    rp_plot_options options = RP_PLOT_OPTIONS_INIT;
    rp_code code = rp_plot_format_of(r->plot, &options.format, error);

    options.output = r->plot;
    return code != RP_OK ? code : rp_plot_calibration(c, &options, error);
}

/* ---- Checking -------------------------------------------------------------------------------- */

static void say_loss(const rp_loss *loss, bool latency) {
    char before[32], after[32], share[32];

    rp_format_si(before, sizeof before, loss->before, latency ? "s" : "");
    rp_format_si(after, sizeof after, loss->after, latency ? "s" : "");
    rp_format_percent(share, sizeof share, loss->loss);
    fprintf(stderr, "  %s%s%s: ", loss->name, *loss->pattern ? " " : "", loss->pattern);
    if (isnan(loss->after))
        fprintf(stderr, "%s before, not to be had now\n", before);
    else
        fprintf(stderr, "%s before, %s now: %s worse\n", before, after, share);
}

static rp_code check(const request *r, const rp_calibration *base, const rp_calibration *c,
                     rp_error *error) {
    rp_loss *losses = NULL;
    size_t count = 0, compared = 0;
    rp_code code =
        rp_calibration_compare(base, c, r->loss / 100, &losses, &count, &compared, error);

    if (code == RP_OK) {
        fprintf(stderr, "roofprof calibrate: %zu results compared to %s of %s\n", compared, r->base,
                base->date);
        for (size_t i = 0; i < count; i++)
            say_loss(&losses[i], !strncmp(losses[i].name, "latency", 7));
        if (count)
            code = rp_fail(error, RP_GATE, "%zu results lost more than %g %% of what they were",
                           count, r->loss);
    }
    free(losses);
    return code;
}

/* ---- The command ----------------------------------------------------------------------------- */

static rp_code calibrate(request *r, rp_error *error) {
    rp_hwdb *db = NULL;
    rp_calibration c = {0}, base = {0};
    rp_code code = rp_hwdb_load(&db, r->hwdb, error);

    (void)(code || (code = prepare(r, &base, error)) || (code = measure(r, db, &c, error)) ||
           (code = print(r, &c, error)) || (code = record(r, &c, error)) ||
           (code = r->plot ? draw(r, &c, error) : RP_OK) ||
           (code = r->base ? check(r, &base, &c, error) : RP_OK));
    rp_calibration_free(&base);
    rp_calibration_free(&c);
    rp_hwdb_free(db);
    return code;
}

/* Takes one option; false: the usage error is printed. */
static bool take(const rp_options *o, int option, request *r) {
    int64_t n;

    switch (option) {
    case RP_OPTION_POSITIONAL:
        rp_options_error(o, "\"%s\": calibrate takes no argument; -d N picks a device", o->value);
        return false;
    case DEVICE:
        if (!rp_options_integer(o, "device", 0, 1023, &n))
            return false;
        r->measure.device = (int)n;
        return true;
    case QUICK:
        r->measure.quick = true;
        return true;
    case HOST:
        r->host = true;
        return true;
    case EMULATE:
        r->emulated = o->value;
        return true;
    case CHECK:
        r->base = o->value;
        return true;
    case LOSS:
        return rp_options_number(o, "loss", 0, 100, &r->loss);
    case FROM:
        r->from = o->value;
        return true;
    case NO_RECORD:
        r->no_record = true;
        return true;
    case FORMAT:
        if (rp_format_find(o->value, &r->format))
            return true;
        rp_options_error(o, "\"%s\" is no format", o->value);
        return false;
    case PLOT:
        r->plot = o->value;
        return true;
    case HWDB:
        r->hwdb = o->value;
        return true;
    default:
        r->output = o->value;
        return true;
    }
}

int rp_cmd_calibrate(int argc, char **argv) {
    rp_options o = RP_OPTIONS(
        argc, argv, table, "",
        "Measures what a device really reaches: arithmetic by precision and path, bandwidth by\n"
        "level and pattern, latencies, copies, and the roofline itself. The best of each is\n"
        "recorded in the user's hardware database, for this very device, and later reports are\n"
        "drawn against it. Ctrl-C keeps what is done.\n",
        "examples:\n"
        "  roofprof calibrate\n"
        "  roofprof calibrate --quick -d 1 --format json -o gpu1.json\n"
        "  roofprof calibrate --quick --check gpu1.json     # is this GPU still what it was?\n"
        "  roofprof calibrate --host\n"
        "  roofprof calibrate --emulate H100:2              # no GPU: do the kernels compute "
        "rightly?\n");
    request r = {.format = RP_FORMAT_TEXT, .loss = 5};
    rp_error error = {0};
    int option;

    while ((option = rp_options_next(&o)) >= RP_OPTION_POSITIONAL)
        if (!take(&o, option, &r))
            return RP_USAGE;
    if (option != RP_OPTION_END)
        return option == RP_OPTION_HELP ? RP_OK : RP_USAGE;
    if (r.from && (r.host || r.measure.quick || r.emulated))
        return rp_options_error(
            &o, "--from measures nothing: --host, --emulate and --quick do not go with it");
    if (r.host && r.emulated)
        return rp_options_error(&o,
                                "--host measures this processor: --emulate does not go with it");
    return calibrate(&r, &error) == RP_OK ? RP_OK : rp_options_fail(&o, &error);
}
