/* SPDX-License-Identifier: Apache-2.0
 *
 * Metrics of the range profiler that an emulated device can know, by NVIDIA's names: what a launch
 * was counted to have done, and the device's peaks, as "BASE.ROLLUP" or "BASE.ROLLUP.SUBMETRIC".
 * docs/doors.md has the table: which are exact, which come from a model, which are not known (NaN).
 */
#ifndef EMU_CUPTI_METRIC_H
#define EMU_CUPTI_METRIC_H

#include "emulator/emulator.h"
#include <stddef.h>

/* Whether NAME is one, with a rollup: sum, avg, min, max, and none, per_second, per_cycle_elapsed,
 * peak_sustained or pct_of_peak_sustained_elapsed after it. */
bool metric_known(const char *name);
/* Its value over the launches whose counts were added up in COUNTS. NaN: not known. */
double metric_value(const char *name, const emu_counts *counts, const emu_device_spec *spec);
/* Whether NAME is counted by instrumented code (it shares no pass with the others), or is a peak,
 * which costs no pass. */
bool metric_is_sass(const char *name);
bool metric_is_peak(const char *name);
/* The I-th base name; NULL: there are fewer. */
const char *metric_base(size_t i);
/* Adds what one launch did; the occupancy is the mean by time. */
void metric_add_counts(emu_counts *sum, const emu_counts *launch);

#endif
