/* SPDX-License-Identifier: Apache-2.0
 *
 * What tests of captures share: a folder of their own, and short words for adding rows that must
 * succeed. Include after cmocka.
 */
#ifndef RP_TESTS_CAPTURE_SCRATCH_H
#define RP_TESTS_CAPTURE_SCRATCH_H

#include "capture/capture.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char scratch_folder[] = "/tmp/roofprof-capture-XXXXXX";

static inline int scratch_set_up(void **state) {
    (void)state;
    return mkdtemp(scratch_folder) && chdir(scratch_folder) == 0 ? 0 : -1;
}

/* Fails if a test left anything behind. */
static inline int scratch_tear_down(void **state) {
    (void)state;
    return chdir("/") == 0 && rmdir(scratch_folder) == 0 ? 0 : -1;
}

static inline void ok(rp_code code, const rp_error *error) {
    if (code != RP_OK)
        fail_msg("%s", error->message);
}

static inline rp_capture *create(const char *path) {
    rp_capture *capture;
    rp_error error;
    ok(rp_capture_create(&capture, path, "test", &error), &error);
    return capture;
}

static inline void finish(rp_capture *capture) {
    rp_error error;
    ok(rp_capture_finish(capture, &error), &error);
}

static inline rp_profile load(rp_capture *capture, const rp_filter *filter, rp_group_by by) {
    rp_profile profile;
    rp_error error;
    ok(rp_capture_load(capture, filter, by, &profile, &error), &error);
    return profile;
}

static inline int64_t add_device(rp_capture *capture, int64_t ordinal) {
    rp_device_record device = RP_DEVICE_RECORD_INIT;
    rp_error error;
    int64_t id;
    device.ordinal = ordinal;
    device.name = "NVIDIA H100 80GB HBM3";
    device.chip = "GH100";
    ok(rp_capture_add_device(capture, &device, &id, &error), &error);
    return id;
}

static inline int64_t add_process(rp_capture *capture, int64_t pid) {
    rp_process_record process = {.pid = pid, .rank = -1, .name = "train"};
    rp_error error;
    int64_t id;
    ok(rp_capture_add_process(capture, &process, &id, &error), &error);
    return id;
}

/* GRID 0: shape not known. */
static inline int64_t add_config(rp_capture *capture, const char *name, uint32_t grid) {
    rp_config_record config = {.name = name,
                               .name_length = strlen(name),
                               .has_shape = grid > 0,
                               .grid = {grid, 1, 1},
                               .block = {128, 1, 1},
                               .registers = -1,
                               .shared_static = -1,
                               .shared_dynamic = -1};
    rp_error error;
    int64_t id;
    ok(rp_capture_add_config(capture, &config, &id, &error), &error);
    return id;
}

static inline int64_t add_launch(rp_capture *capture, const rp_launch_record *launch) {
    rp_error error;
    int64_t id;
    ok(rp_capture_add_launch(capture, launch, &id, &error), &error);
    return id;
}

/* A launch of CONFIG on DEVICE from START to END ns. */
static inline int64_t add_timed(rp_capture *capture, int64_t config, int64_t device, int64_t start,
                                int64_t end) {
    rp_launch_record launch = RP_LAUNCH_RECORD_INIT;
    launch.config = config;
    launch.device = device;
    launch.start_ns = start;
    launch.end_ns = end;
    launch.time_provenance = RP_MEASURED;
    return add_launch(capture, &launch);
}

static inline void add_counter(rp_capture *capture, int64_t launch, const char *metric,
                               double value) {
    rp_error error;
    int64_t id;
    ok(rp_capture_metric(capture, metric, "", &id, &error), &error);
    ok(rp_capture_add_counter(capture, launch, id, value, RP_COUNTED, &error), &error);
}

static inline void add_quantity(rp_capture *capture, int64_t launch, rp_quantity q, double value) {
    rp_error error;
    ok(rp_capture_add_quantity(capture, launch, q, value, RP_EMULATED, &error), &error);
}

static inline const rp_group *find_group(const rp_profile *profile, const char *short_name) {
    for (size_t i = 0; i < profile->group_count; i++)
        if (strcmp(profile->groups[i].short_name, short_name) == 0)
            return &profile->groups[i];
    fail_msg("no group %s", short_name);
    return NULL;
}

static inline bool has_note(const rp_profile *profile, const char *part) {
    for (size_t i = 0; i < profile->note_count; i++)
        if (strstr(profile->notes[i].text, part))
            return true;
    return false;
}

#define NEAR(a, b) assert_true(fabs((a) - (double)(b)) <= 1e-12 * fabs((double)(b)))

#endif
