/* SPDX-License-Identifier: Apache-2.0
 *
 * Gates on a diff: parsing `time>5%`, and whether a kernel fails one.
 */
#include "analysis/diff.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    rp_gate_metric metric;
    bool bare; /* takes no threshold */
} metrics[] = {
    {"time", RP_GATE_TIME, false},
    {"mean", RP_GATE_MEAN, false},
    {"flops", RP_GATE_FLOPS, false},
    {"bytes", RP_GATE_BYTES, false},
    {"launches", RP_GATE_LAUNCHES, false},
    {"total", RP_GATE_TOTAL, false},
    {"new", RP_GATE_NEW, true},
    {"gone", RP_GATE_GONE, true},
    {"bound", RP_GATE_BOUND, true},
};

static rp_code refuse(const char *text, rp_error *error) {
    return rp_fail(error, RP_USAGE,
                   "gate '%s' is not understood: write METRIC>N%% or METRIC<N%% with METRIC one of "
                   "time, mean, flops, bytes, launches, total; or new, gone, bound alone",
                   text);
}

static const char *skip_blanks(const char *text) {
    while (isspace((unsigned char)*text))
        text++;
    return text;
}

static rp_code parse_threshold(const char *text, const char *at, rp_gate *gate, rp_error *error) {
    char *end;
    gate->less = *at == '<';
    at = skip_blanks(at + 1);
    if (!isdigit((unsigned char)*at) && !strchr("+-.", *at))
        return refuse(text, error);
    gate->threshold = strtod(at, &end);
    if (end == at || !isfinite(gate->threshold))
        return refuse(text, error);
    at = skip_blanks(end);
    if (*at == '%') {
        gate->threshold /= 100;
        at = skip_blanks(at + 1);
    }
    return *at ? refuse(text, error) : RP_OK;
}

rp_code rp_gate_parse(const char *text, rp_gate *gate, rp_error *error) {
    const char *at = skip_blanks(text);
    size_t length = strspn(at, "abcdefghijklmnopqrstuvwxyz");
    for (size_t i = 0; i < sizeof metrics / sizeof *metrics; i++) {
        if (strlen(metrics[i].name) != length || memcmp(at, metrics[i].name, length) != 0)
            continue;
        *gate = (rp_gate){.text = text, .metric = metrics[i].metric};
        at = skip_blanks(at + length);
        if (metrics[i].bare)
            return *at ? refuse(text, error) : RP_OK;
        return *at == '<' || *at == '>' ? parse_threshold(text, at, gate, error)
                                        : refuse(text, error);
    }
    return refuse(text, error);
}

static bool beyond(const rp_gate *gate, double value) {
    return gate->less ? value < gate->threshold : value > gate->threshold; /* NaN is neither */
}

/* Noise: the interval of the change holds 0. Without an interval there is nothing to say so. */
static bool noise(double low, double high) {
    return low <= 0 && high >= 0;
}

/* The change that a gate looks at; NaN for those without a threshold. */
static double value_of(const rp_gate *gate, const rp_diff_kernel *kernel) {
    switch (gate->metric) {
    case RP_GATE_TIME:
        return kernel->time;
    case RP_GATE_MEAN:
        return kernel->mean;
    case RP_GATE_FLOPS:
        return kernel->flops;
    case RP_GATE_BYTES:
        return kernel->bytes;
    case RP_GATE_LAUNCHES:
        return kernel->launches;
    default:
        return NAN;
    }
}

bool rp_gate_can_judge(const rp_gate *gate, const rp_diff *diff) {
    if (gate->metric == RP_GATE_TOTAL)
        return !isnan(diff->total);
    if (gate->metric == RP_GATE_NEW || gate->metric == RP_GATE_GONE)
        return true;
    if (gate->metric == RP_GATE_BOUND)
        return diff->matched > 0;
    for (size_t i = 0; i < diff->kernel_count; i++)
        if (!isnan(value_of(gate, &diff->kernels[i])))
            return true;
    return false;
}

bool rp_gate_fails(const rp_gate *gate, const rp_diff_kernel *kernel, double min_share) {
    if (kernel->share < min_share)
        return false;
    switch (gate->metric) {
    case RP_GATE_TIME:
        return beyond(gate, kernel->time) && !noise(kernel->time_low, kernel->time_high);
    case RP_GATE_MEAN:
        return beyond(gate, kernel->mean) && !noise(kernel->mean_low, kernel->mean_high);
    case RP_GATE_FLOPS:
    case RP_GATE_BYTES:
    case RP_GATE_LAUNCHES:
        return beyond(gate, value_of(gate, kernel));
    case RP_GATE_NEW:
        return !kernel->base;
    case RP_GATE_GONE:
        return !kernel->now;
    case RP_GATE_BOUND:
        return kernel->base && kernel->now && kernel->bound_changed;
    default:
        return false;
    }
}

bool rp_gate_fails_total(const rp_gate *gate, const rp_diff *diff) {
    return gate->metric == RP_GATE_TOTAL && beyond(gate, diff->total) &&
           !noise(diff->total_low, diff->total_high);
}
