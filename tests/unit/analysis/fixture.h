/* SPDX-License-Identifier: Apache-2.0
 *
 * Profiles made by hand for the tests of what stands on them: one device, kernels with the
 * quantities that a test gives them, everything else unknown.
 */
#ifndef RP_TESTS_ANALYSIS_FIXTURE_H
#define RP_TESTS_ANALYSIS_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include "analysis/analysis.h"

typedef struct fixture {
    rp_hwdb *hwdb;
    rp_profile profile;
    rp_analysis_options options;
    rp_report report;
} fixture;

/* A profile on DEVICE, a name of the hardware database ("A100-SXM4-40GB"), NULL: nothing known. */
void fixture_start(fixture *f, const char *device);
void fixture_end(fixture *f);

/* A kernel of so many launches of so many seconds each (NaN: no time). Valid until the next one. */
rp_group *fixture_kernel(fixture *f, const char *name, uint64_t launches, double time_s);
/* Launch shape of one dimension each. */
void fixture_shape(rp_group *group, uint32_t grid, uint32_t block);
/* VALUE is of one launch. */
void fixture_set(rp_group *group, rp_quantity quantity, double value);
/* Every kind of limit counted, all but idle: what is left to find is latency. */
void fixture_all_counted(rp_group *group);

/* Analyses; fails the test if that fails. The kernel NAME of the report. */
void fixture_analyse(fixture *f);
const rp_report_kernel *fixture_find(const fixture *f, const char *name);

#define assert_near(value, expected, tolerance)                                                    \
    do {                                                                                           \
        double value_ = (value), expected_ = (expected);                                           \
        if (!(value_ >= expected_ - (tolerance) && value_ <= expected_ + (tolerance)))             \
            fail_msg(#value " is %.9g, not %.9g", value_, expected_);                              \
    } while (0)
#define assert_unknown(value) assert_true((value) != (value))

#endif
