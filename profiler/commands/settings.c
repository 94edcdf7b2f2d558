/* SPDX-License-Identifier: Apache-2.0
 *
 * Writing the tracer's settings: see settings.h.
 */
#include "commands/settings.h"

#include "hwdb/metric_sets.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Kernels that wait for others on other devices: held back or run twice they hang. */
static const char *const collectives[] = {"nccl*", "*ncclDevKernel*", "*ncclKernel*", "nvshmem*",
                                          "*nvshmem*"};

/* Counting stops when it has cost this share of the run; replay and rerun were asked for, at any
 * cost. */
static double default_budget(const char *mode) {
    return strcmp(mode, "sampled") == 0 ? 0.1 : 0;
}

bool rp_trace_settings_glob_is_fine(const char *glob) {
    return *glob && strlen(glob) < 1024 && !strpbrk(glob, "\r\n");
}

static void write_sets(FILE *file, const rp_metric_sets *sets) {
    for (size_t i = 0; i < rp_metric_sets_count(sets); i++) {
        const rp_metric_set *set = rp_metric_sets_at(sets, i);
        fprintf(file, "set %s %s", set->chips, set->profile);
        for (size_t k = 0; k < set->metric_count; k++)
            fprintf(file, " %s", set->metrics[k]);
        fputc('\n', file);
    }
}

static void write_choice(FILE *file, const rp_trace_settings *s) {
    if (s->kernel)
        fprintf(file, "kernel %s\n", s->kernel);
    if (s->range)
        fprintf(file, "range %s\n", s->range);
    if (s->first)
        fprintf(file, "first %" PRId64 "\n", s->first);
    if (s->count >= 0)
        fprintf(file, "count %" PRId64 "\n", s->count);
    if (s->start_after_s > 0)
        fprintf(file, "start_after %.6f\n", s->start_after_s);
    if (s->from_api)
        fputs("from_api\n", file);
    if (s->virtual_clock)
        fputs("virtual_clock\n", file);
}

static void write_counting(FILE *file, const rp_trace_settings *s, const rp_metric_sets *sets) {
    double budget = s->budget < 0 ? default_budget(s->mode) : s->budget;
    fprintf(file, "samples %" PRId64 "\nbudget %.6f\nwatchdog %.3f\n", s->samples, budget,
            s->watchdog_s);
    if (s->configuration)
        fprintf(file, "configuration %s\n", s->configuration);
    for (size_t i = 0; i < sizeof collectives / sizeof *collectives; i++)
        fprintf(file, "skip %s\n", collectives[i]);
    for (size_t i = 0; i < s->no_count_count; i++)
        fprintf(file, "skip %s\n", s->no_count[i]);
    write_sets(file, sets);
}

char *rp_trace_settings_write(const rp_trace_settings *settings, const char *folder,
                              rp_error *error) {
    rp_metric_sets *sets = NULL;
    char *path = NULL;
    FILE *file = NULL;
    bool counts = strcmp(settings->mode, "trace") != 0;
    rp_code code = counts ? rp_metric_sets_load(&sets, error) : RP_OK;
    if (code)
        return NULL;
    if (asprintf(&path, "%s/settings", folder) < 0)
        path = NULL;
    if (path)
        file = fopen(path, "we");
    if (!file) {
        rp_fail(error, RP_MACHINE, "%s/settings: cannot be written: %s", folder, strerror(errno));
        goto fail;
    }
    fprintf(file, "mode %s\n", settings->mode);
    if (settings->probe)
        fprintf(file, "probe %s\nprobe_limit %.3f\n", settings->probe, settings->probe_limit_s);
    write_choice(file, settings);
    if (counts)
        write_counting(file, settings, sets);
    bool whole = !ferror(file);
    if (fclose(file) || !whole) {
        rp_fail(error, RP_MACHINE, "%s: cannot be written: %s", path, strerror(errno));
        goto fail;
    }
    rp_metric_sets_free(sets);
    return path;
fail:
    rp_metric_sets_free(sets);
    free(path);
    return NULL;
}
