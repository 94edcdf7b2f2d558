/* SPDX-License-Identifier: Apache-2.0
 *
 * Running gnuplot: see gnuplot.h.
 */
#include "plots/gnuplot.h"
#include "hwdb/hwdb.h"
#include "support/file.h"
#include "support/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

rp_code rp_gnuplot_open(rp_gnuplot *plot, const rp_plot_options *options, rp_error *error) {
    const char *keep = options->keep;
    *plot = (rp_gnuplot){.temporary = !keep, .leave = keep || options->output, .instead = ""};
    if (keep) {
        if (snprintf(plot->folder, sizeof plot->folder, "%s", keep) >= (int)sizeof plot->folder)
            return rp_fail(error, RP_USAGE, "--keep: the folder's name is too long");
        if (mkdir(keep, 0777) && errno != EEXIST)
            return rp_fail(error, RP_INTERNAL, "%s: cannot make the folder: %s", keep,
                           strerror(errno));
        return RP_OK;
    }
    const char *tmp = getenv("TMPDIR");
    if (!tmp || !*tmp || strlen(tmp) > sizeof plot->folder - 64)
        tmp = "/tmp";
    snprintf(plot->folder, sizeof plot->folder, "%s/roofprof-plot-XXXXXX", tmp);
    if (!mkdtemp(plot->folder))
        return rp_fail(error, RP_INTERNAL, "%s: cannot make a temporary folder: %s", tmp,
                       strerror(errno));
    return RP_OK;
}

static void path_in(const rp_gnuplot *plot, const char *name, char *path, size_t size) {
    snprintf(path, size, "%s/%s", plot->folder, name);
}

FILE *rp_gnuplot_file(const rp_gnuplot *plot, const char *name, rp_error *error) {
    char path[4200];
    path_in(plot, name, path, sizeof path);
    FILE *file = fopen(path, "w");
    if (!file)
        rp_fail(error, RP_INTERNAL, "%s: cannot write: %s", path, strerror(errno));
    return file;
}

rp_code rp_gnuplot_close_file(FILE *file, const char *name, rp_error *error) {
    bool bad = ferror(file);
    if (fclose(file) || bad)
        return rp_fail(error, RP_INTERNAL, "plot data %s: cannot write: %s", name, strerror(errno));
    return RP_OK;
}

void rp_gnuplot_text(FILE *file, const char *text) {
    char *printable = rp_text_printable(text ? text : "", text ? strlen(text) : 0);
    for (const char *s = printable ? printable : ""; *s; s++) {
        if (*s == '\\')
            fputc(*s, file);
        /* A field that begins with a quote is read up to its closing one. */
        if (*s == '"')
            fputs("\u201d", file);
        else
            fputc(*s, file);
    }
    free(printable);
}

void rp_gnuplot_terminal(FILE *settings, const rp_plot_options *o, int width, int height,
                         double font) {
    switch (o->format) {
    case RP_PLOT_PDF:
        fprintf(settings,
                "set terminal pdfcairo noenhanced color size %.2fin,%.2fin font "
                "'DejaVu Sans,%.2f' linewidth 0.7 fontscale 1\n",
                width / 100.0, height / 100.0, font * 0.54);
        fprintf(settings, "point_scale = %.4f\n", 0.2315);
        break;
    case RP_PLOT_SVG:
    case RP_PLOT_SVG_INTERACTIVE:
        fprintf(settings,
                "set terminal svg noenhanced size %d,%d font 'DejaVu Sans,%.2f' "
                "background '#ffffff'\n",
                width, height, font);
        fprintf(settings, "point_scale = %.4f\n", 0.1434);
        break;
    default: /* pngcairo's points are 96 to the inch: 4/3 pixel */
        fprintf(settings, "set terminal pngcairo noenhanced size %d,%d font 'DejaVu Sans,%.2f'\n",
                width, height, font * 0.75);
        fprintf(settings, "point_scale = %.4f\n", 0.3226);
        break;
    }
    fprintf(settings, "set output 'picture'\nfont_px = %.2f\n", font);
}

static rp_code copy_file(const char *from, const char *to, rp_error *error) {
    char buffer[65536];
    rp_code code = RP_OK;
    FILE *in = fopen(from, "r"), *out = in ? fopen(to, "w") : NULL;
    if (!in || !out) {
        code = rp_fail(error, RP_INTERNAL, "%s: cannot open: %s", in ? to : from, strerror(errno));
        goto done;
    }
    for (size_t n; (n = fread(buffer, 1, sizeof buffer, in)) > 0;)
        if (fwrite(buffer, 1, n, out) != n)
            break;
    if (ferror(in) || ferror(out) || fflush(out))
        code = rp_fail(error, RP_INTERNAL, "%s: cannot write: %s", to, strerror(errno));
done:
    if (in)
        fclose(in);
    if (out)
        fclose(out);
    return code;
}

/* The picture takes the output's place in one step, so that it is whole or not there. */
static rp_code publish(const char *picture, const char *output, rp_error *error) {
    rp_temp temp;
    rp_code code = rp_temp_create(&temp, output, error);
    if (code)
        return code;
    code = copy_file(picture, temp.path, error);
    if (!code)
        return rp_temp_commit(&temp, error);
    rp_temp_discard(&temp);
    return code;
}

/* $ROOFPROF_PLOTS; beside the hardware database, installed or in the source tree; where they were
 * configured to go. */
static void script_path(const char *script, char *path, size_t size) {
    const char *wanted = getenv("ROOFPROF_PLOTS");
    char *hwdb = rp_hwdb_shipped_folder();
    if (wanted && *wanted) {
        snprintf(path, size, "%s/%s", wanted, script);
    } else {
        snprintf(path, size, "%s/../plots/%s", hwdb ? hwdb : "", script);
        if (!hwdb || access(path, R_OK))
            snprintf(path, size, "%s/%s", ROOFPROF_PLOTS_INSTALLED, script);
    }
    free(hwdb);
}

/* Runs gnuplot in the folder; its complaints go to the file "messages". Exit status, or -1. */
static int spawn(const rp_gnuplot *plot, const char *script) {
    pid_t child = fork();
    if (child == 0) {
        if (chdir(plot->folder))
            _exit(126);
        int messages = open("messages", O_WRONLY | O_CREAT | O_TRUNC, 0666);
        int nothing = open("/dev/null", O_RDWR);
        if (messages < 0 || nothing < 0)
            _exit(126);
        dup2(nothing, 0);
        dup2(nothing, 1);
        dup2(messages, 2);
        setenv("LC_ALL", "C.UTF-8", 1); /* a decimal comma would misread our data */
        unsetenv("GNUPLOT_LIB");
        execlp("gnuplot", "gnuplot", "-d", script, (char *)NULL);
        _exit(127);
    }
    int status;
    if (child < 0)
        return -1;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void first_message(const rp_gnuplot *plot, char *text, size_t size) {
    char path[4200];
    path_in(plot, "messages", path, sizeof path);
    FILE *file = fopen(path, "r");
    *text = 0;
    while (file && fgets(text, (int)size, file) && strspn(text, " \t\r\n^") == strlen(text))
        ;
    if (file)
        fclose(file);
    text[strcspn(text, "\r\n")] = 0;
}

rp_code rp_gnuplot_run(rp_gnuplot *plot, const char *script, const char *output, rp_error *error) {
    char from[4200], to[4200], picture[4200], message[300];
    script_path(script, from, sizeof from);
    path_in(plot, script, to, sizeof to);
    path_in(plot, "picture", picture, sizeof picture);
    rp_code code = copy_file(from, to, error);
    if (code)
        return code;
    unlink(picture);
    int status = spawn(plot, script);
    if (status == 127 && plot->leave)
        return rp_fail(error, RP_MACHINE,
                       "gnuplot is not installed, so no picture was drawn. Install it (Debian: apt "
                       "install gnuplot-nox) and run `gnuplot %s` in %s, where the data is kept%s",
                       script, plot->folder, plot->instead);
    if (status == 127)
        return rp_fail(error, RP_MACHINE,
                       "gnuplot is not installed: install it (Debian: apt install gnuplot-nox) and "
                       "do this again");
    if (status || access(picture, R_OK)) {
        first_message(plot, message, sizeof message);
        return rp_fail(error, RP_MACHINE, "gnuplot failed (exit %d): %s%s%s", status,
                       *message ? message : "it said nothing",
                       plot->leave ? ". Data and script are in " : "",
                       plot->leave ? plot->folder : "");
    }
    return output ? publish(picture, output, error) : RP_OK;
}

void rp_gnuplot_close(rp_gnuplot *plot, rp_code code) {
    char path[4400];
    if (!plot->temporary || (plot->leave && code == RP_MACHINE))
        return;
    DIR *folder = opendir(plot->folder);
    for (struct dirent *e; folder && (e = readdir(folder));)
        if (strcmp(e->d_name, ".") && strcmp(e->d_name, "..")) {
            snprintf(path, sizeof path, "%s/%s", plot->folder, e->d_name);
            unlink(path);
        }
    if (folder)
        closedir(folder);
    rmdir(plot->folder);
}
