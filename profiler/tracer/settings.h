/* SPDX-License-Identifier: Apache-2.0
 *
 * What the parent wants of the tracer: a small text file that ROOFPROF_CONFIG names, beside the
 * spool. One setting a line, its name and its value; a line that is not known is ignored, so that
 * either side may be the newer one. The parent writes it (commands/counting.c):
 *
 *     mode trace|sampled|replay|rerun
 *     configuration NAME        rerun: the one that every launch of this run is counted with
 *     samples N                 of each configuration, for each kernel and shape
 *     budget FRACTION           of the run's time that counting may cost; 0: no limit
 *     watchdog SECONDS          a launch that takes longer while counted ends all counting
 *     probe PATH                the program that tries counters in a process of its own
 *     probe_limit SECONDS
 *     skip GLOB                 kernels that are never counted; may be repeated
 *     kernel GLOB               only kernels whose name matches
 *     range GLOB                only launches inside an NVTX range whose name matches
 *     first N, count N          a window over the launches that the above leave
 *     start_after SECONDS       launches before that are left out
 *     virtual_clock             kernels take another time by their device's clock than by ours
 *     from_api                  only launches between cuProfilerStart and cuProfilerStop
 *     set CHIPS PROFILE METRIC...   a configuration of metrics: HW SASS FULL2 WHY TENSOR0...
 */
#ifndef RP_TRACER_SETTINGS_H
#define RP_TRACER_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum tracer_mode { MODE_TRACE, MODE_SAMPLED, MODE_REPLAY, MODE_RERUN } tracer_mode;

typedef struct metric_set {
    const char *chips; /* ';'-separated */
    const char *profile;
    const char **metrics;
    size_t count;
} metric_set;

typedef struct tracer_settings {
    const char *file; /* that they were read from; "" none */
    tracer_mode mode;
    uint32_t samples;
    double budget, watchdog_s, probe_limit_s;
    const char *probe;         /* NULL: none */
    const char *configuration; /* of MODE_RERUN */
    const char **skip;
    size_t skip_count;
    const char *kernel, *range; /* globs; NULL: any */
    uint64_t first, count;      /* count UINT64_MAX: no end */
    double start_after_s;
    bool from_api, virtual_clock;
    metric_set *sets;
    size_t set_count;
} tracer_settings;

/* Never fails: without a file, or where it cannot be read, everything is traced and nothing is
 * counted. What it points to lives as long as the process. */
void settings_read(tracer_settings *settings, const char *path);

/* Launches have to be chosen one by one: by range, by number, by time. */
bool settings_choose_launches(const tracer_settings *settings);

/* Does SET apply to CHIP ("GH100")? */
bool settings_set_is_for(const metric_set *set, const char *chip);

#endif
