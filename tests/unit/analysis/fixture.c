/* SPDX-License-Identifier: Apache-2.0
 *
 * Profiles made by hand; see fixture.h.
 */
#include "fixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The shipped database, read once for all tests of a program. */
static rp_hwdb *shipped(void) {
    static rp_hwdb *hwdb;
    rp_error error = {0};
    setenv("ROOFPROF_HWDB", ROOFPROF_SOURCE_DIR "/hwdb", 1);
    setenv("XDG_DATA_HOME", "/nonexistent", 1); /* no records of this machine's user */
    if (!hwdb && rp_hwdb_load(&hwdb, NULL, &error) != RP_OK)
        fail_msg("%s", error.message);
    return hwdb;
}

void fixture_start(fixture *f, const char *device) {
    memset(f, 0, sizeof *f);
    f->options = RP_ANALYSIS_OPTIONS_INIT;
    f->hwdb = shipped();
    f->profile.source = strdup("made by hand");
    f->profile.tool = strdup("test");
    f->profile.wall_s = NAN;
    f->profile.device_count = 1;
    f->profile.devices = calloc(1, sizeof *f->profile.devices);
    *f->profile.devices = (rp_profile_device){.name = device ? strdup(device) : NULL,
                                              .cc_major = -1,
                                              .cc_minor = -1,
                                              .sm_count = -1,
                                              .memory_bytes = -1,
                                              .l2_bytes = -1,
                                              .memory_bus_bits = -1,
                                              .sm_clock_hz = NAN,
                                              .memory_clock_hz = NAN,
                                              .observed_sm_clock_hz = NAN,
                                              .busy_s = NAN,
                                              .span_s = NAN,
                                              .copy_s = NAN,
                                              .peak_allocated_bytes = NAN};
}

void fixture_end(fixture *f) {
    rp_report_free(&f->report);
    rp_profile_free(&f->profile);
}

static rp_stat of_launches(uint64_t n, double value) {
    rp_stat stat = {0};
    for (uint64_t i = 0; i < n; i++)
        rp_stat_add(&stat, value);
    return stat;
}

rp_group *fixture_kernel(fixture *f, const char *name, uint64_t launches, double time_s) {
    rp_profile *p = &f->profile;
    p->groups = realloc(p->groups, (p->group_count + 1) * sizeof *p->groups);
    rp_group *group = &p->groups[p->group_count++];
    memset(group, 0, sizeof *group);
    group->name = strdup(name);
    group->short_name = strdup(name);
    group->registers = group->shared_static = group->shared_dynamic = -1;
    group->launches = launches;
    group->time = of_launches(launches, time_s);
    group->time_provenance = RP_MEASURED;
    p->launches_total += launches;
    p->launches_kept += launches;
    p->devices[0].launches += launches;
    if (!isnan(time_s))
        p->devices[0].sum_s += time_s * (double)launches;
    return group;
}

void fixture_shape(rp_group *group, uint32_t grid, uint32_t block) {
    group->has_shape = true;
    for (int i = 0; i < 3; i++) {
        group->grid[i] = i ? 1 : grid;
        group->block[i] = i ? 1 : block;
    }
}

void fixture_set(rp_group *group, rp_quantity quantity, double value) {
    group->q[quantity] = of_launches(group->launches, value);
    group->provenance[quantity] = RP_COUNTED;
}

void fixture_all_counted(rp_group *group) {
    static const rp_quantity counted[] = {
        RP_Q_INST_FP64_ADD, RP_Q_INST_FP64_MUL, RP_Q_INST_FP64_FMA, RP_Q_INST_FP32_ADD,
        RP_Q_INST_FP32_MUL, RP_Q_INST_FP32_FMA, RP_Q_INST_FP16_ADD, RP_Q_INST_FP16_MUL,
        RP_Q_INST_FP16_FMA, RP_Q_INST_INTEGER,  RP_Q_INST_BIT,      RP_Q_INST_CONVERSION,
        RP_Q_LSU_REQUESTS,  RP_Q_L1_WAVEFRONTS, RP_Q_WARP_INSTS,    RP_Q_DRAM_BYTES,
        RP_Q_L1_BYTES,      RP_Q_SHARED_BYTES,  RP_Q_FRACTION_L2};
    for (size_t i = 0; i < sizeof counted / sizeof *counted; i++)
        fixture_set(group, counted[i], 0);
    fixture_set(group, RP_Q_INST_FP32_FMA, 1000);
    fixture_set(group, RP_Q_WARP_INSTS, 1000);
    fixture_set(group, RP_Q_THREAD_INSTS, 32000);
    fixture_set(group, RP_Q_DRAM_BYTES, 1e6);
    fixture_set(group, RP_Q_WAVES, 4);
}

void fixture_analyse(fixture *f) {
    rp_error error = {0};
    rp_report_free(&f->report);
    if (rp_analyse(&f->profile, f->hwdb, &f->options, &f->report, &error) != RP_OK)
        fail_msg("%s", error.message);
}

const rp_report_kernel *fixture_find(const fixture *f, const char *name) {
    for (size_t i = 0; i < f->report.kernel_count; i++)
        if (strcmp(f->report.kernels[i].name, name) == 0)
            return &f->report.kernels[i];
    fail_msg("no kernel %s in the report", name);
    return NULL;
}
