/* SPDX-License-Identifier: Apache-2.0
 *
 * What report, plot, diff and others have in common: from file names and filter options to a judged
 * report.
 */
#ifndef RP_COMMANDS_INPUT_H
#define RP_COMMANDS_INPUT_H

#include "analysis/analysis.h"
#include "capture/capture.h"
#include "commands/options.h"

typedef struct rp_input_options {
    const char *const *files;
    size_t file_count;
    rp_filter filter; /* RP_FILTER_INIT */
    rp_group_by by;
    const char *device;  /* --device; NULL */
    const char *command; /* that says what an ambiguous --device is taken as; NULL: nobody does */
    const char *hwdb;    /* --hwdb; NULL */
    const char *work;    /* --work; NULL */
    bool sparse;
    double model_flops; /* NaN */
} rp_input_options;
#define RP_INPUT_OPTIONS_INIT                                                                      \
    (rp_input_options) {                                                                           \
        .filter = RP_FILTER_INIT, .by = RP_BY_KERNEL, .model_flops = __builtin_nan("")             \
    }

/* Takes the value of an option that choosing and judging have in common, by its NAME: kernel,
 * kernel-regex, range, gpu, skip, count, device, sparse, work, hwdb. False: the value is refused,
 * and that has been printed. */
bool rp_input_set_option(rp_input_options *input, const rp_options *options, const char *name);

typedef struct rp_input { /* everything that the report stands on */
    rp_hwdb *hwdb;
    rp_profile profile;
    rp_work_rule *work;
    size_t work_count;
    rp_report report;
} rp_input;

/* Opens, imports, loads, analyses. A filter that leaves no launch is RP_INPUT. INPUT may be NULL-ed
 * memory; on failure nothing is left to free. */
rp_code rp_input_open(rp_input *input, const rp_input_options *options, rp_error *error);
void rp_input_close(rp_input *input);

#endif
