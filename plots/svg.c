/* SPDX-License-Identifier: Apache-2.0
 *
 * Hover areas for gnuplot's SVG: see svg.h.
 */
#include "plots/svg.h"
#include "support/file.h"
#include "support/text.h"
#include "support/units.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static rp_code read_whole(const char *path, char **text, size_t *length, rp_error *error) {
    FILE *file = fopen(path, "r");
    char *buffer = NULL;
    size_t size = 0;
    FILE *memory = file ? open_memstream(&buffer, &size) : NULL;
    char part[65536];
    bool bad = !memory;
    for (size_t n; !bad && (n = fread(part, 1, sizeof part, file)) > 0;)
        bad = fwrite(part, 1, n, memory) != n;
    bad = bad || ferror(file);
    if (memory && fclose(memory))
        bad = true;
    if (file)
        fclose(file);
    if (bad) {
        free(buffer);
        return rp_fail(error, RP_INTERNAL, "%s: cannot be read: %s", path, strerror(errno));
    }
    *text = buffer;
    *length = size;
    return RP_OK;
}

static void escaped(FILE *out, const char *text) {
    char *printable = rp_text_printable(text ? text : "", text ? strlen(text) : 0);
    for (const char *s = printable ? printable : ""; *s; s++)
        switch (*s) {
        case '<':
            fputs("&lt;", out);
            break;
        case '>':
            fputs("&gt;", out);
            break;
        case '&':
            fputs("&amp;", out);
            break;
        case '"':
            fputs("&quot;", out);
            break;
        case '\'':
            fputs("&#39;", out);
            break;
        default:
            fputc(*s, out);
        }
    free(printable);
}

static void hover(FILE *out, const rp_plot_layout *l, const rp_plot_disc *d) {
    const rp_report_kernel *k = d->kernel;
    double px, py;
    char rate[32], time[32];
    if (d->in_strip) {
        px = l->strip.left + d->x * (l->strip.right - l->strip.left);
        py = l->strip.bottom + d->y / l->strip_max * (l->strip.top - l->strip.bottom);
    } else {
        px = rp_plot_px(l, d->x);
        py = rp_plot_py(l, d->y);
    }
    fprintf(out,
            "<circle class=\"kernel\" data-kernel=\"%d\" cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\" "
            "fill=\"#000\" fill-opacity=\"0\" pointer-events=\"all\"><title>%d  ",
            k->number, px, l->height - py, d->radius + 2, k->number);
    escaped(out, k->name);
    fprintf(out, "\n%llu %s, %s", (unsigned long long)k->launches,
            rp_plural(k->launches, "launch", "launches"),
            rp_format_time(time, sizeof time, k->time_s));
    if (k->time_share >= 0)
        fprintf(out, ", %.1f %% of GPU time", k->time_share * 100);
    if (!d->in_strip) {
        rp_format_si(rate, sizeof rate, k->flops_per_s, "FLOP/s");
        fprintf(out, "\n%s at %.3g FLOP/B", rate, d->x);
    }
    fprintf(out, "\nbound: %s", rp_bound_name(k->bound));
    if (*k->bound_by) {
        fputs(", ", out);
        escaped(out, k->bound_by);
    }
    if (!isnan(k->roof_fraction))
        fprintf(out, "; %.0f %% of the theoretical roof", k->roof_fraction * 100);
    if (k->above_roof) {
        fputs("\nabove the roof: ", out);
        escaped(out, k->above_reason);
    }
    fputs("</title></circle>\n", out);
}

rp_code rp_plot_svg_add_hover(const char *path, const rp_plot_layout *layout, char **svg,
                              rp_error *error) {
    char *text = NULL;
    size_t length = 0, size = 0;
    rp_code code = read_whole(path, &text, &length, error);
    if (code)
        return code;
    char *end = NULL;
    for (char *s = text; (s = strstr(s, "</svg>")); s++)
        end = s;
    FILE *out = end ? open_memstream(svg, &size) : NULL;
    if (!out) {
        code =
            rp_fail(error, RP_INTERNAL, "gnuplot's SVG has no end, or there is no memory for it");
        goto done;
    }
    fwrite(text, 1, (size_t)(end - text), out);
    /* Largest first, so that a small disc on a large one can still be pointed at. */
    for (size_t i = 0; i < layout->disc_count; i++)
        hover(out, layout, &layout->discs[i]);
    fputs(end, out);
    if (fclose(out))
        code = rp_fail(error, RP_INTERNAL, "no memory for the SVG");
done:
    free(text);
    return code;
}

rp_code rp_plot_write_whole(const char *path, const char *text, rp_error *error) {
    rp_output output;
    rp_code code = rp_output_open(&output, path, error);
    if (code)
        return code;
    fputs(text, output.stream);
    return rp_output_commit(&output, error);
}
