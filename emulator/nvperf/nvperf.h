/* SPDX-License-Identifier: Apache-2.0
 *
 * Insides of the emulated host library, libnvperf_host.so, which lies beside CUPTI's doors: what
 * the older profiler sessions are configured and evaluated with. Metrics are those of
 * emulator/cupti/metric.h. Where a real one can be loaded (it needs no GPU), it decides which
 * metrics a chip has, of which raw counters they are made, and how many passes these take; else a
 * table of our own does. Images and values are always our own.
 *
 * Parts: evaluator.c (metrics, values), config.c (configurations, prefixes), data.c (counter data
 * images), real.c (the real library), names.c (lists of names).
 *
 * In our own table a metric is made of one raw counter of the same name, and a peak of one of its
 * own ("NAME.peak_sustained"), since peaks cost no pass.
 */
#ifndef EMU_NVPERF_NVPERF_H
#define EMU_NVPERF_NVPERF_H

#include "emulator/nvperf/abi.h"
#include <stdbool.h>

#define NVPERF_EXPORT(name, ...)                                                                   \
    __attribute__((visibility("default"))) nvperf_status name(__VA_ARGS__);                        \
    nvperf_status name(__VA_ARGS__)

/* For a function that is exported but not there. */
nvperf_status nvperf_not_here(const char *function);
/* A rule that the client broke, if ROOFPROF_EMU_STRICT: a line on stderr and a note in the counts
 * file, as CUPTI's doors say it (docs/doors.md lists the rules). */
void nvperf_complain(const char *rule, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- names.c ---- */

typedef struct name_list { /* strings of its own */
    char **names;
    size_t count, bytes; /* bytes: with the final zeros */
} name_list;

/* False: no memory. A name that is there already stays once. */
bool names_add(name_list *l, const char *name);
/* All of them, one behind the other, into l->bytes bytes. */
void names_copy(const name_list *l, char *to);
void names_free(name_list *l);

/* ---- real.c ---- */

typedef nvperf_status (*real_call)(void *params);
typedef struct real_library {
    real_call chips, scratch, evaluator, evaluator_destroy, metric_names, metric_index, convert,
        subs, counter, dependencies;
    real_call config, config_destroy, begin_group, end_group, add, is_possible, generate, passes;
} real_library;

/* NULL: there is none. ROOFPROF_EMU_REAL_CUPTI names a libcupti that one lies beside, or is "none";
 * else a toolkit's is taken. */
const real_library *nvperf_real(void);

/* The chip that a client means by its name or, which goes before it, a device's AVAILABILITY;
 * either may be NULL. 0, or why there is nothing for it. */
nvperf_status nvperf_find_chip(const char *name, const uint8_t *availability, const char **chip);

#endif
