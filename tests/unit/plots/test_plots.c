/* SPDX-License-Identifier: Apache-2.0
 *
 * Plots: the layout keeps everything in sight, gnuplot draws every kind of report in every format,
 * and no name, however hostile, becomes more than text. Tests that need gnuplot skip without it.
 */
#include "plots/gnuplot.h"
#include "plots/layout.h"
#include "plots/svg.h"
#include "sample.h"
#include "support/text.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static const char *const hostile[] = {
    "`touch owned`",
    "$(touch owned)",
    "x');alert(1);('",
    "</title><script>alert(1)</script>",
    "quote\" then 'more' \\ back\\nslash",
    "{/Symbol a}_b^c @d ~e &{f} %s %n %%",
    "# not a comment",
    "new\nline\ttab\rreturn",
    "\xff\xfe not UTF-8 \xc3",
    "\" unset output; system 'touch owned' #",
    "\u202e reversed",
    "",
};

static char folder[] = "/tmp/roofprof-test-plots-XXXXXX";

static bool have_gnuplot(void) {
    static int known = -1;
    if (known < 0)
        known = system("gnuplot --version > /dev/null 2>&1") == 0;
    return known == 1;
}

static char *slurp(const char *path, size_t *size) {
    FILE *f = fopen(path, "r");
    char *text = NULL;
    assert_non_null(f);
    FILE *out = open_memstream(&text, size);
    for (int c; (c = fgetc(f)) != EOF;)
        fputc(c, out);
    fclose(f);
    fclose(out);
    return text;
}

static const char *path_of(const char *name) {
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

/* ---- Layout ---------------------------------------------------------------------------------- */

static void everything_is_in_sight(void **state) {
    (void)state;
    static const size_t counts[] = {0, 1, 2, 12, 300};
    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
        rp_report report;
        rp_plot_layout l;
        rp_plot_options o = RP_PLOT_OPTIONS_INIT;
        sample_make(&report, counts[c], "kernel");
        assert_int_equal(rp_plot_layout_make(&report, &o, &l, NULL), RP_OK);
        assert_int_equal(l.disc_count + l.unplaced, counts[c]);
        for (size_t i = 0; i < l.disc_count; i++) {
            const rp_plot_disc *d = &l.discs[i];
            if (d->in_strip) {
                assert_true(d->y >= 0 && d->y <= l.strip_max);
                continue;
            }
            assert_true(d->x > l.x.min && d->x < l.x.max);
            assert_true(d->y > l.y.min && d->y < l.y.max);
        }
        for (size_t i = 0; i < l.roof_count; i++) {
            const rp_plot_roof *r = &l.roofs[i];
            assert_true(r->x0 >= l.x.min * 0.999 && r->x1 <= l.x.max * 1.001);
            assert_true(r->y0 >= l.y.min * 0.999 && r->y1 <= l.y.max * 1.001);
        }
        rp_plot_layout_free(&l);
        sample_free(&report);
    }
}

static void assert_apart(const rp_plot_box *left, const rp_plot_box *right) {
    assert_true(left->left < left->right && left->right < right->left);
    assert_true(left->bottom < left->top);
}

/* Strip, plot and key stand side by side on the canvas, with room for their numbers, at any size.
 */
static void the_parts_share_the_canvas(void **state) {
    (void)state;
    static const int sizes[][2] = {{400, 300}, {1600, 1000}, {1000, 2000}, {8000, 3000}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        for (size_t kernels = 0; kernels <= 12; kernels += 6) {
            rp_report report;
            rp_plot_layout l;
            rp_plot_options o = RP_PLOT_OPTIONS_INIT;
            o.width = sizes[i][0];
            o.height = sizes[i][1];
            sample_make(&report, kernels, "kernel");
            assert_int_equal(rp_plot_layout_make(&report, &o, &l, NULL), RP_OK);
            assert_int_equal(l.has_key, kernels > 0);
            assert_int_equal(l.has_strip, kernels > 4);
            const rp_plot_box canvas = {0, o.width, 0, o.height}, before = {-2, -1, 0, 1};
            const rp_plot_box after = {o.width, o.width + 1, 0, 1};
            assert_apart(l.has_strip ? &l.strip : &before, &l.main);
            assert_apart(&l.main, l.has_key ? &l.key : &after);
            assert_true(!l.has_key || l.key.right <= canvas.right);
            assert_true(!l.has_strip || l.strip.left >= l.font * 3);
            assert_true(l.main.left >= l.font * 3 && l.main.bottom >= l.font * 3);
            assert_true(l.main.top <= canvas.top - l.font * 3);
            /* data fill the plot from edge to edge */
            assert_true(fabs(rp_plot_px(&l, l.x.min) - l.main.left) < 1e-6);
            assert_true(fabs(rp_plot_px(&l, l.x.max) - l.main.right) < 1e-6);
            assert_true(fabs(rp_plot_py(&l, l.y.min) - l.main.bottom) < 1e-6);
            assert_true(fabs(rp_plot_py(&l, l.y.max) - l.main.top) < 1e-6);
            rp_plot_layout_free(&l);
            sample_free(&report);
        }
}

/* The area of a disc is its share of time, down to the size that can still be seen. */
static void the_area_is_the_share_of_time(void **state) {
    (void)state;
    rp_report report;
    rp_plot_layout l;
    rp_plot_options o = RP_PLOT_OPTIONS_INIT;
    sample_make(&report, 12, "kernel");
    report.kernels[11].time_share = NAN;
    assert_int_equal(rp_plot_layout_make(&report, &o, &l, NULL), RP_OK);
    for (size_t i = 0; i < l.disc_count; i++) {
        const rp_plot_disc *d = &l.discs[i];
        double share = d->kernel->time_share;
        if (share > 4.0 * 4 / (44 * 44))
            assert_true(fabs(d->radius * d->radius / share - 44 * 44) < 1e-6);
        else
            assert_true(d->radius == 4);
        assert_true(i == 0 || d->radius <= l.discs[i - 1].radius); /* small ones on top */
    }
    rp_plot_layout_free(&l);
    sample_free(&report);
}

/* The level's own roof goes on, faintly, from the highest ceiling in use up to the highest of all;
 * other diagonals end where the arithmetic in use does. */
static void the_diagonal_goes_on_above_what_is_in_use(void **state) {
    (void)state;
    rp_report report;
    rp_plot_layout l;
    rp_plot_options o = RP_PLOT_OPTIONS_INIT;
    sample_make(&report, 1, "kernel"); /* FP32 vector in use; FP8 tensor is the highest */
    assert_int_equal(rp_plot_layout_make(&report, &o, &l, NULL), RP_OK);
    for (size_t i = 0; i < l.roof_count; i++) {
        const rp_plot_roof *r = &l.roofs[i];
        if (r->compute || !r->used) {
            assert_true(isnan(r->beyond_x) && isnan(r->beyond_y));
            continue;
        }
        assert_true(fabs(r->y1 / 66.9e12 - 1) < 1e-9);
        assert_true(fabs(r->beyond_y / 1978.9e12 - 1) < 1e-9);
        assert_true(fabs(r->beyond_x * 3.352e12 / r->beyond_y - 1) < 1e-9);
    }
    rp_plot_layout_free(&l);
    sample_free(&report);
}

/* A picture leaves the terminal without its caption: the title itself says what was emulated. */
static void the_title_says_emulated(void **state) {
    (void)state;
    rp_report report;
    rp_plot_layout l;
    rp_plot_options o = RP_PLOT_OPTIONS_INIT;
    sample_make(&report, 1, "kernel");
    assert_int_equal(rp_plot_layout_make(&report, &o, &l, NULL), RP_OK);
    assert_null(strstr(l.title, "emulated"));
    rp_plot_layout_free(&l);
    report.devices[0].emulated = true;
    assert_int_equal(rp_plot_layout_make(&report, &o, &l, NULL), RP_OK);
    assert_non_null(strstr(l.title, "Roofline on an emulated "));
    rp_plot_layout_free(&l);
    sample_free(&report);
}

/* The ridge is peak over bandwidth of what is in use, and the roofs reach the picture's edges. */
static void the_ridge_is_where_the_roofs_meet(void **state) {
    (void)state;
    rp_report report;
    rp_plot_layout l;
    rp_plot_options o = RP_PLOT_OPTIONS_INIT;
    sample_make(&report, 1, "kernel");
    assert_int_equal(rp_plot_layout_make(&report, &o, &l, NULL), RP_OK);
    assert_true(fabs(l.ridge_x - 66.9 / 3.352) < 1e-9);
    for (size_t i = 0; i < l.roof_count; i++)
        if (l.roofs[i].used && l.roofs[i].compute)
            assert_true(fabs(l.roofs[i].x1 / l.x.max - 1) < 1e-9);
        else if (l.roofs[i].used)
            assert_true(l.roofs[i].x0 <= l.x.min * 1.001 || l.roofs[i].y0 <= l.y.min * 1.001);
    rp_plot_layout_free(&l);
    sample_free(&report);
}

static void a_kernel_above_the_roof_is_shown_above_it(void **state) {
    (void)state;
    rp_report report;
    rp_plot_layout l;
    rp_plot_options o = RP_PLOT_OPTIONS_INIT;
    sample_make(&report, 12, "kernel");
    assert_int_equal(rp_plot_layout_make(&report, &o, &l, NULL), RP_OK);
    bool seen = false;
    for (size_t i = 0; i < l.disc_count; i++)
        if (l.discs[i].kernel->above_roof) {
            seen = true;
            assert_true(l.discs[i].y == l.discs[i].kernel->flops_per_s);
            assert_true(l.discs[i].y > 3.352e12 * l.discs[i].x);
        }
    assert_true(seen);
    rp_plot_layout_free(&l);
    sample_free(&report);
}

/* No FLOPs: in the strip. FLOPs not known: in neither place, but counted. */
static void unknown_is_not_zero(void **state) {
    (void)state;
    rp_report report;
    rp_plot_layout l;
    rp_plot_options o = RP_PLOT_OPTIONS_INIT;
    sample_make(&report, 2, "kernel");
    report.kernels[0].flops_total = 0;
    report.kernels[1].flops_total = report.kernels[1].flops_per_s = NAN;
    assert_int_equal(rp_plot_layout_make(&report, &o, &l, NULL), RP_OK);
    assert_int_equal(l.disc_count, 1);
    assert_true(l.discs[0].in_strip);
    assert_int_equal(l.unplaced, 1);
    rp_plot_layout_free(&l);
    report.kernels[0].flops_lower_bound = true; /* none among those that were counted */
    assert_int_equal(rp_plot_layout_make(&report, &o, &l, NULL), RP_OK);
    assert_int_equal(l.disc_count, 0);
    assert_int_equal(l.unplaced, 2);
    rp_plot_layout_free(&l);
    sample_free(&report);
}

/* No DRAM bytes of any kernel: discs, ridge and strip go by the next level, and by its roof. */
static void the_next_level_where_dram_was_not_counted(void **state) {
    (void)state;
    rp_report report;
    rp_plot_layout l;
    rp_plot_options o = RP_PLOT_OPTIONS_INIT;
    sample_make(&report, 2, "kernel");
    for (int i = 0; i < 2; i++) {
        report.kernels[i].bytes[RP_DRAM] = report.kernels[i].intensity[RP_DRAM] = NAN;
        report.kernels[i].bytes[RP_L2] = 0.5 * 5.5e12 * report.kernels[i].time_s;
    }
    report.kernels[0].flops_total = 0;
    assert_int_equal(rp_plot_layout_make(&report, &o, &l, NULL), RP_OK);
    assert_int_equal(l.level, RP_L2);
    assert_true(fabs(l.ridge_x - 989.4 / 5.5) < 1e-9); /* kernel 2 runs on the tensor cores */
    assert_int_equal(l.disc_count, 2);
    for (size_t i = 0; i < 2; i++)
        if (l.discs[i].in_strip)
            assert_true(fabs(l.discs[i].y - 0.5) < 1e-12);
        else
            assert_true(l.discs[i].x == report.kernels[1].intensity[RP_L2]);
    assert_true(l.has_strip);
    rp_plot_layout_free(&l);
    /* a share of a roof that the device lacks is not known */
    for (size_t i = 0; i < report.devices->ceiling_count; i++)
        if (!report.devices->ceilings[i].compute && report.devices->ceilings[i].level == RP_L2)
            report.devices->ceilings[i].rate = NAN;
    assert_int_equal(rp_plot_layout_make(&report, &o, &l, NULL), RP_OK);
    assert_int_equal(l.unplaced, 1);
    assert_false(l.has_strip);
    rp_plot_layout_free(&l);
    sample_free(&report);
}

static void labels_keep_clear_of_each_other(void **state) {
    (void)state;
    rp_report report;
    rp_plot_layout l;
    rp_plot_options o = RP_PLOT_OPTIONS_INIT;
    sample_make(&report, 12, "kernel");
    assert_int_equal(rp_plot_layout_make(&report, &o, &l, NULL), RP_OK);
    rp_plot_taken taken = {0};
    for (size_t i = 0; i < l.roof_count; i++) {
        const rp_plot_roof *r = &l.roofs[i];
        if (!r->compute || !r->label_fits)
            continue;
        double px = rp_plot_px(&l, r->label_x), py = rp_plot_py(&l, r->label_y);
        double font = r->used ? l.font : l.font * 0.85;
        rp_plot_box box = {px - rp_plot_text_width(r->label, font), px, py - font * 0.5,
                           py + font * 0.5};
        assert_true(rp_plot_is_free(&taken, &box));
        rp_plot_take(&taken, &box);
    }
    assert_true(taken.count >= 3);
    free(taken.boxes);
    rp_plot_layout_free(&l);
    sample_free(&report);
}

static void nothing_to_draw_is_said(void **state) {
    (void)state;
    rp_report report;
    rp_plot_layout l;
    rp_error error;
    rp_plot_options o = RP_PLOT_OPTIONS_INIT;
    sample_make(&report, 0, "kernel");
    report.devices->ceiling_count = 0;
    assert_int_equal(rp_plot_layout_make(&report, &o, &l, &error), RP_INPUT);
    assert_non_null(strstr(error.message, "--device"));
    o.width = 10;
    assert_int_equal(rp_plot_layout_make(&report, &o, &l, &error), RP_USAGE);
    o.width = 0;
    o.device = 1;
    assert_int_equal(rp_plot_layout_make(&report, &o, &l, &error), RP_USAGE);
    sample_free(&report);
}

/* ---- Pictures -------------------------------------------------------------------------------- */

static void draw(const rp_report *report, const char *name, int width, int height, bool levels) {
    rp_plot_options o = RP_PLOT_OPTIONS_INIT;
    rp_error error = {0};
    o.output = path_of(name);
    o.width = width;
    o.height = height;
    o.levels = levels;
    assert_int_equal(rp_plot_format_of(o.output, &o.format, &error), RP_OK);
    rp_code code = rp_plot_roofline(report, &o, &error);
    if (code)
        fail_msg("%s: %s", name, error.message);
}

static void every_format_and_size(void **state) {
    (void)state;
    if (!have_gnuplot())
        skip();
    static const size_t counts[] = {0, 1, 12, 300};
    static const struct {
        const char *name, *magic;
        int width, height;
    } files[] = {{"a.png", "\x89PNG", 0, 0},
                 {"b.png", "\x89PNG", 640, 400},
                 {"c.svg", "<?xml", 1000, 700},
                 {"d.pdf", "%PDF", 1600, 900},
                 {"e.txt", "Roofline", 0, 0}};
    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
        rp_report report;
        sample_make(&report, counts[c], "some_kernel_");
        if (c == 1)
            sample_one_level(&report);
        for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
            size_t size;
            draw(&report, files[i].name, files[i].width, files[i].height, i == 0);
            char *data = slurp(path_of(files[i].name), &size);
            assert_true(size > 500);
            assert_memory_equal(data, files[i].magic, strlen(files[i].magic));
            free(data);
            unlink(path_of(files[i].name));
        }
        sample_free(&report);
    }
}

static void long_names(void **state) {
    (void)state;
    if (!have_gnuplot())
        skip();
    char *name = malloc(5001);
    rp_report report;
    memset(name, 'n', 5000);
    name[5000] = 0;
    sample_make(&report, 3, name);
    draw(&report, "long.png", 0, 0, false);
    unlink(path_of("long.png"));
    sample_free(&report);
    free(name);
}

/* Whatever a kernel is called: nothing runs, the SVG stays well-formed and has no script of ours.
 */
static void hostile_names(void **state) {
    (void)state;
    if (!have_gnuplot())
        skip();
    for (size_t i = 0; i < sizeof hostile / sizeof hostile[0]; i++) {
        rp_report report;
        rp_plot_options o = RP_PLOT_OPTIONS_INIT;
        rp_error error = {0};
        char *svg;
        sample_make(&report, 1, hostile[i]);
        o.title = hostile[i];
        assert_int_equal(chdir(folder), 0);
        draw(&report, "hostile.png", 700, 500, false);
        assert_int_equal(rp_plot_roofline_svg(&report, &o, &svg, &error), RP_OK);
        assert_null(strstr(svg, "alert(1)</script>"));
        assert_null(strstr(svg, "<script>alert"));
        assert_null(strstr(svg, "onclick=\"alert"));
        assert_non_null(strstr(svg, "data-kernel=\"1\""));
        assert_int_equal(access(path_of("owned"), F_OK), -1);
        free(svg);
        unlink(path_of("hostile.png"));
        sample_free(&report);
    }
}

static void without_gnuplot_the_data_is_kept(void **state) {
    (void)state;
    rp_report report;
    rp_plot_options o = RP_PLOT_OPTIONS_INIT;
    rp_error error = {0};
    struct stat status;
    char *path = strdup(getenv("PATH")), keep[256];
    snprintf(keep, sizeof keep, "%s/keep", folder);
    sample_make(&report, 3, "kernel");
    o.output = path_of("none.png");
    o.keep = keep;
    setenv("PATH", "/nonexistent", 1);
    assert_int_equal(rp_plot_roofline(&report, &o, &error), RP_MACHINE);
    assert_non_null(strstr(error.message, "gnuplot"));
    assert_non_null(strstr(error.message, keep));
    assert_non_null(strstr(error.message, "--ascii"));
    /* a picture in memory, for a page, leaves nothing and says nothing of a folder */
    char *svg, *tmp = strdup(path_of("tmp"));
    o = (rp_plot_options)RP_PLOT_OPTIONS_INIT;
    assert_int_equal(mkdir(tmp, 0777), 0);
    setenv("TMPDIR", tmp, 1);
    assert_int_equal(rp_plot_roofline_svg(&report, &o, &svg, &error), RP_MACHINE);
    assert_non_null(strstr(error.message, "apt install gnuplot-nox"));
    assert_null(strstr(error.message, tmp));
    assert_int_equal(rmdir(tmp), 0);
    unsetenv("TMPDIR");
    free(tmp);
    setenv("PATH", path, 1);
    assert_int_equal(access(path_of("none.png"), F_OK), -1);
    assert_int_equal(stat(path_of("keep/kernels.dat"), &status), 0);
    assert_int_equal(stat(path_of("keep/roofline.gp"), &status), 0);
    free(path);
    sample_free(&report);
}

/* Writes the data of a picture of REPORT into the folder "data" and leaves gnuplot out of it. */
static void write_data(const rp_report *report) {
    rp_plot_options o = RP_PLOT_OPTIONS_INIT;
    rp_error error = {0};
    char *path = strdup(getenv("PATH")), *keep = strdup(path_of("data"));
    o.output = "/nonexistent.png";
    o.keep = keep;
    setenv("PATH", "/nonexistent", 1);
    assert_int_equal(rp_plot_roofline(report, &o, &error), RP_MACHINE);
    setenv("PATH", path, 1);
    free(path);
    free(keep);
}

/* What gnuplot is given is what the layout says: every disc with its kernel's name, numbers where
 * they stand, and the key's rows one under the other inside the key. */
static void data_files_hold_the_layout(void **state) {
    (void)state;
    rp_report report;
    rp_plot_layout l;
    rp_plot_options o = RP_PLOT_OPTIONS_INIT;
    sample_make(&report, 12, "kernel_");
    assert_int_equal(rp_plot_layout_make(&report, &o, &l, NULL), RP_OK);
    write_data(&report);
    size_t discs = 0, named = 0;
    static const char *const files[] = {"data/kernels.dat", "data/strip.dat"};
    for (int strip = 0; strip < 2; strip++) {
        char line[512];
        FILE *f = fopen(path_of(files[strip]), "r");
        assert_non_null(fgets(line, sizeof line, f)); /* the heading */
        while (fgets(line, sizeof line, f)) {
            int number, type;
            unsigned color;
            double x, y, radius;
            char name[64];
            assert_int_equal(sscanf(line, "%d %lf %lf %lf %d %u %63s", &number, &x, &y, &radius,
                                    &type, &color, name),
                             7);
            const rp_plot_disc *d = NULL;
            for (size_t i = 0; i < l.disc_count; i++)
                if (l.discs[i].kernel->number == number)
                    d = &l.discs[i];
            assert_non_null(d);
            assert_int_equal(d->in_strip, strip);
            assert_true(fabs(x / d->x - 1) < 1e-6 && fabs(y / d->y - 1) < 1e-6);
            assert_true(fabs(radius - d->radius) < 1e-3);
            assert_int_equal(color, rp_plot_bound_color(d->kernel->bound));
            assert_string_equal(name, d->kernel->short_name);
            discs++;
        }
        fclose(f);
    }
    assert_int_equal(discs, l.disc_count);
    char line[512];
    double x, y, last = l.key.top + 1;
    FILE *f = fopen(path_of("data/key.dat"), "r");
    assert_non_null(fgets(line, sizeof line, f));
    while (fgets(line, sizeof line, f)) {
        assert_int_equal(sscanf(line, "%lf %lf", &x, &y), 2);
        assert_true(x >= l.key.left && x < l.key.right);
        assert_true(y < last && y >= l.key.bottom);
        last = y;
        named += strstr(line, "kernel_") != NULL;
    }
    fclose(f);
    assert_int_equal(named, l.keyed);
    f = fopen(path_of("data/key_discs.dat"), "r");
    assert_non_null(fgets(line, sizeof line, f));
    for (size_t i = 0; fgets(line, sizeof line, f); i++) {
        assert_int_equal(sscanf(line, "%lf %lf", &x, &y), 2);
        assert_true(i < l.keyed ? x > l.key.left && x < l.key.left + l.font
                                : x >= l.main.left && y > l.main.top);
    }
    fclose(f);
    size_t size;
    char *legend = slurp(path_of("data/legend.dat"), &size), ridge[32];
    snprintf(ridge, sizeof ridge, "ridge %.1f FLOP/B", l.ridge_x);
    assert_non_null(strstr(legend, ridge));
    free(legend);
    rp_plot_layout_free(&l);
    sample_free(&report);
}

/* Kernels of which nothing can be placed are in the key as well, and no other device's with them.
 */
static void the_key_is_of_one_device(void **state) {
    (void)state;
    rp_report report;
    size_t size;
    sample_make(&report, 4, "kernel_");
    for (size_t i = 0; i < 4; i++) {
        report.kernels[i].flops_total = report.kernels[i].flops_per_s = NAN;
        report.kernels[i].device = i % 2; /* device 0 is drawn */
    }
    write_data(&report);
    char *key = slurp(path_of("data/key.dat"), &size);
    assert_non_null(strstr(key, "kernel_1"));
    assert_null(strstr(key, "kernel_2"));
    assert_non_null(strstr(key, "kernel_3"));
    assert_null(strstr(key, "kernel_4"));
    free(key);
    sample_free(&report);
}

/* The areas under the pointer lie on the discs, strip included, and tell times as people read them.
 */
static void hover_areas_lie_on_the_discs(void **state) {
    (void)state;
    rp_report report;
    rp_plot_layout l;
    rp_plot_options o = RP_PLOT_OPTIONS_INIT;
    rp_error error = {0};
    char *svg;
    sample_make(&report, 12, "kernel");
    report.kernels[0].time_s = 0.0125;
    assert_int_equal(rp_plot_layout_make(&report, &o, &l, NULL), RP_OK);
    char *path = strdup(path_of("plain.svg"));
    FILE *f = fopen(path, "w");
    fputs("<svg><g></g></svg>\n", f);
    fclose(f);
    assert_int_equal(rp_plot_svg_add_hover(path, &l, &svg, &error), RP_OK);
    size_t circles = 0;
    for (const char *p = svg; (p = strstr(p, "<circle")); p++, circles++) {
        int number;
        double cx, cy;
        assert_int_equal(sscanf(p,
                                "<circle class=\"kernel\" data-kernel=\"%d\" cx=\"%lf\" cy=\"%lf\"",
                                &number, &cx, &cy),
                         3);
        for (size_t i = 0; i < l.disc_count; i++) {
            const rp_plot_disc *d = &l.discs[i];
            if (d->kernel->number != number)
                continue;
            double px = d->in_strip ? l.strip.left + d->x * (l.strip.right - l.strip.left)
                                    : rp_plot_px(&l, d->x);
            double py = d->in_strip
                            ? l.strip.bottom + d->y / l.strip_max * (l.strip.top - l.strip.bottom)
                            : rp_plot_py(&l, d->y);
            assert_true(fabs(cx - px) < 0.06 && fabs(cy - (l.height - py)) < 0.06);
        }
    }
    assert_int_equal(circles, l.disc_count);
    assert_non_null(strstr(svg, "10 launches, 12.5 ms"));
    assert_string_equal(svg + strlen(svg) - 7, "</svg>\n"); /* and the end is still there */
    free(svg);
    unlink(path);
    free(path);
    rp_plot_layout_free(&l);
    sample_free(&report);
}

/* In the terminal: the roof in use at its height, kernels by number, the rest counted, no line too
 * long, none that ends in blanks, and no character cut in half. */
static void the_terminal_picture(void **state) {
    (void)state;
    static const int sizes[][2] = {{40, 12}, {80, 24}, {200, 60}};
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        rp_report report;
        rp_plot_options o = RP_PLOT_OPTIONS_INIT;
        rp_error error = {0};
        char *text = NULL;
        size_t size;
        sample_make(&report, 30, "µµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµ");
        report.kernels[4].flops_lower_bound = true; /* its 0 FLOPs are no knowledge */
        rp_plot_layout l;
        char rest[64];
        int expected = -1; /* all that do none but kernel 5 */
        assert_int_equal(rp_plot_layout_make(&report, &o, &l, NULL), RP_OK);
        for (size_t i = 0; i < l.keyed; i++)
            expected += report.kernels[i].flops_total == 0;
        assert_true(l.keyed > 12 && l.keyed < 30);
        snprintf(rest, sizeof rest, "     and %zu more kernels", 30 - l.keyed);
        rp_plot_layout_free(&l);
        FILE *out = open_memstream(&text, &size);
        assert_int_equal(rp_plot_roofline_ascii(&report, &o, out, sizes[s][0], sizes[s][1], &error),
                         RP_OK);
        fclose(out);
        int rows = 0, roofs = 0, no_flops = 0;
        for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"), rows++) {
            size_t length = strlen(line);
            assert_true(rp_text_is_printable(line, length));
            if (strstr(line, " |")) {
                assert_true((int)rp_text_columns(line) <= sizes[s][0]);
                assert_true(line[length - 1] != ' ');
                roofs += strstr(line, "----") != NULL;
            }
            no_flops += strstr(line, "no FLOPs") != NULL;
            if (strstr(line, "more kernels"))
                assert_string_equal(line, rest);
        }
        assert_int_equal(roofs,
                         2); /* FP32 vector and BF16 tensor; what is not in use is not drawn */
        assert_int_equal(no_flops, expected);
        assert_true(rows > sizes[s][1] - 5 + (int)l.keyed);
        free(text);
        sample_free(&report);
    }
}

static double setting(const char *settings, const char *name) {
    char key[64];
    snprintf(key, sizeof key, "\n%s = ", name);
    const char *at = strstr(settings, key);
    if (!at)
        fail_msg("no setting %s", name);
    return at ? atof(at + strlen(key)) : NAN;
}

/* A plan's picture: two panels side by side on the canvas; the parts of memory stand on each other
 * up to the total; every time that is known has its bar. */
static void a_plan_in_two_panels(void **state) {
    (void)state;
    static const int sizes[][2] = {{0, 0}, {400, 300}, {3000, 1000}};
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        rp_device hardware = {.name = "H100"};
        rp_plan_device devices[2] = {{.device = &hardware, .bound = "bandwidth"},
                                     {.device = &hardware, .bound = "compute", .fits = 1}};
        rp_plan plan = {.request = rp_plan_request_default(RP_PLAN_TRAIN),
                        .devices = devices,
                        .device_count = 2,
                        .params = 1e9};
        rp_plot_options o = RP_PLOT_OPTIONS_INIT;
        rp_error error = {0};
        size_t size;
        for (int i = 0; i < 2; i++) {
            rp_plan_device *d = &devices[i];
            d->memory.weights = 10e9 * (i + 1);
            d->memory.gradients = 20e9;
            d->memory.optimizer = 30e9;
            d->memory.activations = NAN;
            d->memory.total = d->memory.weights + 50e9;
            d->memory_bytes = i ? 80e9 : NAN;
            d->compute_s = 0.5;
            d->memory_s = 0.25 * (i + 1);
            d->communication_s = i ? NAN : 0.1;
        }
        char *path = strdup(getenv("PATH")), *keep = strdup(path_of("plan"));
        o.output = "/nonexistent.png";
        o.keep = keep;
        o.width = sizes[s][0];
        o.height = sizes[s][1];
        setenv("PATH", "/nonexistent", 1);
        assert_int_equal(rp_plot_plan(&plan, &o, &error), RP_MACHINE);
        assert_null(strstr(error.message, "--ascii")); /* there is none of a plan */
        setenv("PATH", path, 1);
        char *settings = slurp(path_of("plan/settings.gp"), &size);
        double left = setting(settings, "memory_left"), right = setting(settings, "memory_right");
        double left2 = setting(settings, "time_left"), right2 = setting(settings, "time_right");
        double bottom = setting(settings, "panel_bottom"), top = setting(settings, "panel_top");
        assert_true(0 < left && right - left > 0.25 && right < left2 && right2 - left2 > 0.2);
        assert_true(right2 <= 1 && 0 < bottom && bottom < top && top < 1);
        assert_true(setting(settings, "width") == (o.width ? o.width : 1600));
        assert_true(setting(settings, "height") == (o.height ? o.height : 1000));
        assert_true(setting(settings, "memory_max") > 80 && setting(settings, "memory_max") < 100);
        assert_true(setting(settings, "time_min") < 0.1 && setting(settings, "time_max") > 0.5);
        free(settings);
        FILE *f = fopen(path_of("plan/memory.dat"), "r");
        char line[256];
        double x, y, x0, x1, y0, y1, up[2] = {0};
        assert_non_null(fgets(line, sizeof line, f));
        while (fgets(line, sizeof line, f)) {
            assert_int_equal(sscanf(line, "%lf %lf %lf %lf %lf %lf", &x, &y, &x0, &x1, &y0, &y1),
                             6);
            assert_true(fabs(y0 - up[(int)x]) < 1e-9 && y1 > y0 && x0 < x && x < x1);
            up[(int)x] = y1;
        }
        fclose(f);
        assert_true(fabs(up[0] - 60) < 1e-9 && fabs(up[1] - 70) < 1e-9);
        int bars = 0;
        f = fopen(path_of("plan/times.dat"), "r");
        assert_non_null(fgets(line, sizeof line, f));
        while (fgets(line, sizeof line, f))
            bars++;
        fclose(f);
        assert_int_equal(bars, 5);
        free(path);
        free(keep);
    }
}

static void an_output_that_cannot_be_written(void **state) {
    (void)state;
    if (!have_gnuplot())
        skip();
    rp_report report;
    rp_plot_options o = RP_PLOT_OPTIONS_INIT;
    rp_error error = {0};
    sample_make(&report, 3, "kernel");
    o.output = "/nonexistent/folder/a.png";
    assert_int_equal(rp_plot_roofline(&report, &o, &error), RP_INTERNAL);
    assert_non_null(strstr(error.message, "/nonexistent/folder"));
    sample_free(&report);
}

static void the_ending_says_the_format(void **state) {
    (void)state;
    rp_plot_format format;
    rp_error error;
    assert_int_equal(rp_plot_format_of("a.PNG", &format, &error), RP_OK);
    assert_int_equal(format, RP_PLOT_PNG);
    assert_int_equal(rp_plot_format_of("a.jpeg", &format, &error), RP_USAGE);
    assert_int_equal(rp_plot_format_of(".png", &format, &error), RP_USAGE);
}

static int make_folder(void **state) {
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state) {
    (void)state;
    char command[256];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_is_in_sight),
        cmocka_unit_test(the_parts_share_the_canvas),
        cmocka_unit_test(the_area_is_the_share_of_time),
        cmocka_unit_test(the_diagonal_goes_on_above_what_is_in_use),
        cmocka_unit_test(the_title_says_emulated),
        cmocka_unit_test(the_ridge_is_where_the_roofs_meet),
        cmocka_unit_test(a_kernel_above_the_roof_is_shown_above_it),
        cmocka_unit_test(unknown_is_not_zero),
        cmocka_unit_test(the_next_level_where_dram_was_not_counted),
        cmocka_unit_test(labels_keep_clear_of_each_other),
        cmocka_unit_test(nothing_to_draw_is_said),
        cmocka_unit_test(every_format_and_size),
        cmocka_unit_test(long_names),
        cmocka_unit_test(hostile_names),
        cmocka_unit_test(without_gnuplot_the_data_is_kept),
        cmocka_unit_test(data_files_hold_the_layout),
        cmocka_unit_test(the_key_is_of_one_device),
        cmocka_unit_test(hover_areas_lie_on_the_discs),
        cmocka_unit_test(the_terminal_picture),
        cmocka_unit_test(a_plan_in_two_panels),
        cmocka_unit_test(an_output_that_cannot_be_written),
        cmocka_unit_test(the_ending_says_the_format),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
