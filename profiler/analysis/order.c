/* SPDX-License-Identifier: Apache-2.0
 *
 * The order of kernels in a report, and profiles of several files put side by side.
 */
#include "analysis/analysis.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Order ----------------------------------------------------------------------------------- */

/* What the kernels are sorted by, larger first; NaN goes last. */
static double key_lost(const rp_report_kernel *kernel) {
    return isnan(kernel->time_lost_s) ? kernel->time_s : kernel->time_lost_s;
}
static double key_time(const rp_report_kernel *kernel) {
    return kernel->time_s;
}
static double key_launches(const rp_report_kernel *kernel) {
    return (double)kernel->launches;
}
static double key_intensity(const rp_report_kernel *kernel) {
    return kernel->intensity[RP_DRAM];
}
static double key_rate(const rp_report_kernel *kernel) {
    return kernel->flops_per_s;
}
static double key_roof(const rp_report_kernel *kernel) {
    return kernel->roof_fraction;
}
static double key_none(const rp_report_kernel *kernel) {
    (void)kernel;
    return 0;
}

static const struct {
    const char *name;
    double (*key)(const rp_report_kernel *kernel);
} orders[] = {{"lost", key_lost},         {"time", key_time},
              {"launches", key_launches}, {"intensity", key_intensity},
              {"rate", key_rate},         {"roof", key_roof},
              {"name", key_none}};

typedef struct sortable {
    double key;
    size_t at;
    const rp_report_kernel *kernel;
} sortable;

static int compare(const void *left, const void *right) {
    const sortable *a = left, *b = right;
    if (isnan(a->key) != isnan(b->key))
        return isnan(a->key) ? 1 : -1;
    if (a->key != b->key && !isnan(a->key))
        return a->key < b->key ? 1 : -1;
    int order = strcmp(a->kernel->name, b->kernel->name);
    return order ? order : (a->at > b->at) - (a->at < b->at);
}

/* Sorts indices and moves each row once: rows are large. */
static rp_code sort_by(rp_report *report, double (*key)(const rp_report_kernel *),
                       rp_error *error) {
    size_t n = report->kernel_count;
    sortable *rows = malloc((n + 1) * sizeof *rows);
    rp_report_kernel *sorted = malloc((n + 1) * sizeof *sorted);
    if (!rows || !sorted) {
        free(rows);
        free(sorted);
        return rp_fail(error, RP_INTERNAL, "out of memory");
    }
    for (size_t i = 0; i < n; i++)
        rows[i] = (sortable){key(&report->kernels[i]), i, &report->kernels[i]};
    qsort(rows, n, sizeof *rows, compare);
    for (size_t i = 0; i < n; i++)
        sorted[i] = *rows[i].kernel;
    free(rows);
    free(report->kernels);
    report->kernels = sorted;
    return RP_OK;
}

rp_code rp_report_sort(rp_report *report, const char *order, rp_error *error) {
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++)
        if (strcmp(order, orders[i].name) == 0)
            return sort_by(report, orders[i].key, error);
    return rp_fail(error, RP_USAGE,
                   "there is no order '%s'; kernels sort by lost, time, launches, intensity, rate, "
                   "roof or name",
                   order);
}

/* ---- Several files --------------------------------------------------------------------------- */

/* Appends N items of SIZE bytes at FROM to the COUNT ones at *INTO; the items themselves move. */
static bool append(void **into, size_t count, const void *from, size_t n, size_t size) {
    void *grown = realloc(*into, (count + n + 1) * size);
    if (!grown)
        return false;
    *into = grown;
    if (n)
        memcpy((char *)grown + count * size, from, n * size);
    return true;
}

static char *joined(const char *first, const char *second) {
    size_t a = first ? strlen(first) : 0, b = second ? strlen(second) : 0;
    char *text = malloc(a + b + 3);
    if (!text)
        return NULL;
    memcpy(text, first ? first : "", a);
    strcpy(text + a, a && b ? ", " : "");
    strcat(text, second ? second : "");
    return text;
}

rp_code rp_profile_join(rp_profile *into, rp_profile *from, rp_error *error) {
    size_t offset = into->device_count;
    char *source = joined(into->source, from->source);
    char *tool = into->tool && from->tool && strcmp(into->tool, from->tool) == 0
                     ? strdup(into->tool)
                     : joined(into->tool, from->tool);
    bool room = source && tool &&
                append((void **)&into->devices, offset, from->devices, from->device_count,
                       sizeof *into->devices) &&
                append((void **)&into->groups, into->group_count, from->groups, from->group_count,
                       sizeof *into->groups) &&
                append((void **)&into->copies, into->copy_count, from->copies, from->copy_count,
                       sizeof *into->copies) &&
                append((void **)&into->notes, into->note_count, from->notes, from->note_count,
                       sizeof *into->notes);
    if (!room) {
        free(source);
        free(tool);
        return rp_fail(error, RP_INTERNAL, "out of memory");
    }
    for (size_t i = 0; i < from->group_count; i++)
        into->groups[into->group_count + i].device += offset;
    for (size_t i = 0; i < from->copy_count; i++)
        into->copies[into->copy_count + i].device += offset;
    free(into->source);
    free(into->tool);
    into->source = source;
    into->tool = tool;
    into->device_count += from->device_count;
    into->group_count += from->group_count;
    into->copy_count += from->copy_count;
    into->note_count += from->note_count;
    into->launches_total += from->launches_total;
    into->launches_kept += from->launches_kept;
    into->launches_invalid += from->launches_invalid;
    into->wall_s = fmax(into->wall_s, from->wall_s); /* ranks run side by side; NaN gives way */
    /* what was moved is no longer FROM's */
    from->device_count = from->group_count = from->copy_count = from->note_count = 0;
    return RP_OK;
}
