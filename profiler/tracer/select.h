/* SPDX-License-Identifier: Apache-2.0
 *
 * Which kernels and which launches a person wants to see: by name (for activity records and
 * launches alike), and, launch by launch, by NVTX range, by number, by time and by
 * cuProfilerStart/Stop. Launches that are wanted go to the spool by their correlation ids
 * (SPOOL_SELECTED), since the records of a launch come long after it.
 */
#ifndef RP_TRACER_SELECT_H
#define RP_TRACER_SELECT_H

#include "tracer/settings.h"

void select_start(const tracer_settings *settings);

/* By kernel name alone; NAME is a number of names_intern. Callers hold the writer's lock. */
bool select_kernel(uint32_t name, const char *text);
/* Kernels that are never counted: collectives, and what --no-count names. As above. */
bool select_is_skipped(uint32_t name, const char *text);

/* This launch is wanted, by everything but its kernel's name; its number counts up. MATCHES: its
 * kernel is wanted. */
bool select_launch(bool matches, uint32_t correlation);
/* cuProfilerStart (true) and Stop. */
void select_profiler(bool on);

/* Does a range's name match --range? */
bool select_range_name(const char *name);

/* Does PATTERN match a kernel's NAME: as it is, demangled, or the bare name of its function? */
bool select_glob(const char *pattern, const char *name);

#endif
