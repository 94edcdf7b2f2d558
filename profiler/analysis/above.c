/* SPDX-License-Identifier: Apache-2.0
 *
 * A point above the roof is shown there, never clamped; this says what usually puts it there, the
 * likeliest cause first.
 */
#include "analysis/internal.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The ceiling that is passed by most, theoretical or drawn; NULL if none is. */
static const rp_evidence *passed(const rp_report_kernel *kernel, double *fraction, bool *drawn) {
    const rp_evidence *worst = NULL;
    *fraction = RP_ABOVE_FRACTION;
    for (size_t i = 0; i < kernel->evidence_count; i++) {
        const rp_evidence *e = &kernel->evidence[i];
        double theoretical = e->time_s / kernel->time_s;
        double calibrated = e->work / e->drawn_peak / kernel->time_s;
        if (e->upper_bound || e->imported)
            continue;
        if (theoretical > *fraction || calibrated > *fraction) {
            *drawn = !(theoretical > RP_ABOVE_FRACTION);
            *fraction = fmax(theoretical, calibrated);
            worst = e;
        }
    }
    return worst;
}

static void add(rp_report_kernel *kernel, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void add(rp_report_kernel *kernel, const char *format, ...) {
    size_t used = strlen(kernel->above_reason);
    va_list arguments;
    if (used + 8 > sizeof kernel->above_reason)
        return;
    used += (size_t)snprintf(kernel->above_reason + used, sizeof kernel->above_reason - used, "%s",
                             used ? "; " : "");
    va_start(arguments, format);
    vsnprintf(kernel->above_reason + used, sizeof kernel->above_reason - used, format, arguments);
    va_end(arguments);
}

static void explain_memory(const rp_roofs *roofs, rp_report_kernel *kernel, const rp_evidence *e) {
    if (e->work_provenance == RP_USER || e->work_provenance == RP_MODELLED ||
        e->work_provenance == RP_EMULATED)
        add(kernel,
            "bytes were not counted on the device: data that stays in cache never reaches "
            "%s",
            e->key);
    if (!roofs->certain)
        add(kernel, "the device was guessed: name it with --device");
    if (strcmp(e->key, "dram") == 0 && e->work_provenance != RP_USER)
        add(kernel, "another memory size or clock of the same part; time and bytes from "
                    "different runs");
    else if (strcmp(e->key, "dram") != 0)
        add(kernel, "the %s peak follows the SM clock, its own may be higher", e->key);
}

static void explain_compute(const rp_roofs *roofs, rp_report_kernel *kernel, const rp_evidence *e,
                            double fraction) {
    bool tensor = strstr(e->key, "_tensor") != NULL;
    if (e->work_provenance == RP_USER)
        add(kernel, "the FLOPs are what --work says");
    if (!roofs->certain)
        add(kernel, "the device was guessed: name it with --device");
    if (!(roofs->observed_clock > 0) && !(kernel->clock_hz > 0))
        add(kernel, "the clock may have boosted above the nominal one: none was observed");
    if (tensor && fraction <= 2.02)
        add(kernel, "2:4 sparse operations (see --sparse), or FP16 accumulate at a higher rate");
    if (strncmp(e->key, "fp16_", 5) == 0 && !tensor)
        add(kernel, "half instructions are taken as packed: scalar ones count double");
}

void rp_explain_above(const rp_group *group, const rp_roofs *roofs, rp_report_kernel *kernel) {
    double fraction;
    bool drawn = false;
    const rp_evidence *e = kernel->modelled ? NULL : passed(kernel, &fraction, &drawn);
    if (!e)
        return;
    kernel->above_roof = true;
    add(kernel, "%.0f %% of %s%s", fraction * 100, drawn ? "the calibrated " : "",
        rp_evidence_limit(e->key));
    if (drawn) {
        add(kernel, "calibrate again: it beat what calibration reached");
        return;
    }
    if (e->compute)
        explain_compute(roofs, kernel, e, fraction);
    else
        explain_memory(roofs, kernel, e);
    if (kernel->time_mean_s < RP_SHORT_KERNEL_S)
        add(kernel, "too short for an exact clock");
    if (kernel->launches_counted < group->launches && kernel->launches_counted > 0)
        add(kernel, "counts from %llu of %llu launches",
            (unsigned long long)kernel->launches_counted, (unsigned long long)group->launches);
}
