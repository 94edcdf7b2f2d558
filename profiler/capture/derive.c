/* SPDX-License-Identifier: Apache-2.0
 *
 * The rules, compiled to metric numbers once a device, and evaluated once a launch.
 */
#include "capture/derive.h"
#include "capture/summary.h"
#include "support/array.h"
#include "support/map.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct term {
    double coefficient;
    int64_t metric, times, divisor; /* -1: none */
} term;

typedef struct rule {
    rp_quantity quantity;
    double factor;
    bool estimate;
    size_t first, count; /* in terms */
} rule;

struct rp_derivation {
    rule *rules; /* in the order in which they are tried */
    size_t rule_count, rule_capacity;
    term *terms;
    size_t term_count, term_capacity;
    rp_quantity *given;
    size_t metric_count;
    double max_warps;
};

/* ---- Compiling ------------------------------------------------------------------------------- */

/* Adds TERM of a rule; *KNOWN false if the capture has not all its metrics. */
static bool add_term(rp_derivation *d, const rp_metric_term *source, const rp_map *metrics,
                     bool *known) {
    if (!RP_ARRAY_ROOM(d->terms, d->term_capacity, d->term_count))
        return false;
    term *made = &d->terms[d->term_count++];
    *made = (term){source->coefficient, -1, -1, -1};
    made->metric = rp_map_get(metrics, source->metric, strlen(source->metric));
    *known &= made->metric >= 0;
    if (source->times) {
        made->times = rp_map_get(metrics, source->times, strlen(source->times));
        *known &= made->times >= 0;
    }
    if (source->divisor) {
        made->divisor = rp_map_get(metrics, source->divisor, strlen(source->divisor));
        *known &= made->divisor >= 0;
    }
    return true;
}

static bool add_rule(rp_derivation *d, const rp_metric_rule *source, const rp_map *metrics) {
    rule made = {source->quantity, source->factor, source->estimate, d->term_count,
                 source->term_count};
    bool known = true;
    for (size_t i = 0; i < source->term_count; i++)
        if (!add_term(d, &source->terms[i], metrics, &known))
            return false;
    if (!known) {
        d->term_count = made.first;
        return true;
    }
    if (!RP_ARRAY_ROOM(d->rules, d->rule_capacity, d->rule_count))
        return false;
    d->rules[d->rule_count++] = made;
    return true;
}

static bool compile(rp_derivation *d, const rp_hwdb *db, const char *chip, const rp_map *metrics) {
    for (size_t i = 0; i < rp_hwdb_rule_count(db); i++) {
        const rp_metric_rule *source = rp_hwdb_rule(db, i);
        if (rp_metric_rule_applies(source, chip) && !add_rule(d, source, metrics))
            return false;
    }
    return true;
}

rp_derivation *rp_derivation_make(const rp_hwdb *db, const char *chip, double max_warps,
                                  const char *const *names, const rp_quantity *given, size_t n) {
    rp_derivation *d = calloc(1, sizeof *d);
    rp_map metrics = {0};
    bool made = d != NULL;
    if (made) {
        d->given = malloc((n + 1) * sizeof *d->given);
        d->metric_count = n;
        d->max_warps = max_warps;
        made = d->given != NULL;
    }
    for (size_t i = 0; made && i < n; i++) {
        int64_t *id = rp_map_put(&metrics, names[i], strlen(names[i]), NULL);
        made = id != NULL;
        if (made)
            *id = (int64_t)i;
        d->given[i] = given[i];
    }
    made = made && (!db || compile(d, db, chip, &metrics));
    rp_map_free(&metrics);
    if (made)
        return d;
    rp_derivation_free(d);
    return NULL;
}

void rp_derivation_free(rp_derivation *derivation) {
    if (!derivation)
        return;
    free(derivation->rules);
    free(derivation->terms);
    free(derivation->given);
    free(derivation);
}

/* ---- Evaluating ------------------------------------------------------------------------------ */

static double take(const rp_counters *counters, int64_t metric, rp_provenance *provenance) {
    *provenance = rp_provenance_worse(*provenance, (rp_provenance)counters->provenance[metric]);
    return counters->value[metric];
}

static double term_value(const term *t, const rp_counters *counters, rp_provenance *provenance) {
    double value = t->coefficient * take(counters, t->metric, provenance);
    if (t->times >= 0)
        value *= take(counters, t->times, provenance);
    if (t->divisor >= 0) {
        double divisor = take(counters, t->divisor, provenance);
        value = divisor != 0 ? value / divisor : NAN;
    }
    return value;
}

static void set(rp_quantities *q, rp_quantity quantity, double value, rp_provenance provenance) {
    q->value[quantity] = value;
    q->provenance[quantity] = (uint8_t)provenance;
}

static void apply_rules(const rp_derivation *d, const rp_counters *counters, rp_quantities *q) {
    for (size_t i = 0; i < d->rule_count; i++) {
        const rule *r = &d->rules[i];
        if (!isnan(q->value[r->quantity]))
            continue;
        double sum = 0;
        rp_provenance provenance = r->estimate ? RP_ESTIMATED : RP_ABSENT;
        for (size_t t = 0; t < r->count && !isnan(sum); t++)
            sum += term_value(&d->terms[r->first + t], counters, &provenance);
        if (isfinite(sum))
            set(q, r->quantity, r->factor * sum, provenance);
    }
}

/* Instructions of one precision, and what one of each kind does. */
typedef struct flop_formula {
    rp_quantity flops;
    uint32_t lower_bound;
    struct {
        rp_quantity instructions;
        double flops;
        bool needed; /* there on every chip: absent means not counted */
    } part[6];
} flop_formula;

static const flop_formula flop_formulas[] = {
    {RP_Q_FLOPS_FP64_VECTOR,
     RP_LOWER_FP64,
     {{RP_Q_INST_FP64_ADD, 1, true}, {RP_Q_INST_FP64_MUL, 1, true}, {RP_Q_INST_FP64_FMA, 2, true}}},
    {RP_Q_FLOPS_FP32_VECTOR,
     RP_LOWER_FP32,
     {{RP_Q_INST_FP32_ADD, 1, true},
      {RP_Q_INST_FP32_MUL, 1, true},
      {RP_Q_INST_FP32_FMA, 2, true},
      {RP_Q_INST_FP32X2_ADD, 2, false},
      {RP_Q_INST_FP32X2_MUL, 2, false},
      {RP_Q_INST_FP32X2_FMA, 4, false}}},
    /* packed: an upper bound where code works on single halves */
    {RP_Q_FLOPS_FP16_VECTOR,
     RP_LOWER_FP16,
     {{RP_Q_INST_FP16_ADD, 2, true}, {RP_Q_INST_FP16_MUL, 2, true}, {RP_Q_INST_FP16_FMA, 4, true}}},
};

static void sum_flops(const flop_formula *formula, rp_quantities *q) {
    double sum = 0;
    bool any = false, whole = true;
    rp_provenance provenance = RP_ABSENT;
    if (!isnan(q->value[formula->flops]))
        return;
    for (size_t i = 0; i < 6 && formula->part[i].flops > 0; i++) {
        rp_quantity part = formula->part[i].instructions;
        if (isnan(q->value[part])) {
            whole &= !formula->part[i].needed;
            continue;
        }
        any = true;
        sum += formula->part[i].flops * q->value[part];
        provenance = rp_provenance_worse(provenance, (rp_provenance)q->provenance[part]);
    }
    if (!any)
        return;
    if (!whole)
        q->lower_bounds |= formula->lower_bound;
    set(q, formula->flops, sum, whole ? provenance : rp_provenance_worse(provenance, RP_ESTIMATED));
}

static rp_provenance worse_of(const rp_quantities *q, rp_quantity a, rp_quantity b) {
    return rp_provenance_worse((rp_provenance)q->provenance[a], (rp_provenance)q->provenance[b]);
}

/* What follows from quantities that are there, where it was not given itself. */
static void complete(const rp_derivation *d, rp_quantities *q) {
    double *v = q->value;
    for (size_t i = 0; i < sizeof flop_formulas / sizeof *flop_formulas; i++)
        sum_flops(&flop_formulas[i], q);
    if (isnan(v[RP_Q_OPS_INT32_VECTOR]) && !isnan(v[RP_Q_INST_INTEGER]))
        set(q, RP_Q_OPS_INT32_VECTOR, v[RP_Q_INST_INTEGER],
            (rp_provenance)q->provenance[RP_Q_INST_INTEGER]);
    if (isnan(v[RP_Q_DRAM_BYTES]) && !isnan(v[RP_Q_DRAM_READ]) && !isnan(v[RP_Q_DRAM_WRITE]))
        set(q, RP_Q_DRAM_BYTES, v[RP_Q_DRAM_READ] + v[RP_Q_DRAM_WRITE],
            worse_of(q, RP_Q_DRAM_READ, RP_Q_DRAM_WRITE));
    if (isnan(v[RP_Q_SM_CLOCK]) && v[RP_Q_TIME] > 0 && !isnan(v[RP_Q_SM_CYCLES]))
        set(q, RP_Q_SM_CLOCK, v[RP_Q_SM_CYCLES] / v[RP_Q_TIME],
            worse_of(q, RP_Q_SM_CYCLES, RP_Q_TIME));
    if (isnan(v[RP_Q_OCCUPANCY_ACHIEVED]) && v[RP_Q_SM_CYCLES_ACTIVE] > 0 && d->max_warps > 0 &&
        !isnan(v[RP_Q_WARPS_ACTIVE]))
        set(q, RP_Q_OCCUPANCY_ACHIEVED,
            v[RP_Q_WARPS_ACTIVE] / (v[RP_Q_SM_CYCLES_ACTIVE] * d->max_warps),
            worse_of(q, RP_Q_WARPS_ACTIVE, RP_Q_SM_CYCLES_ACTIVE));
}

void rp_derive(const rp_derivation *derivation, const rp_counters *counters,
               rp_quantities *quantities) {
    for (unsigned q = 0; q < RP_QUANTITIES; q++)
        set(quantities, (rp_quantity)q, NAN, RP_ABSENT);
    quantities->lower_bounds = 0;
    for (size_t i = 0; i < derivation->metric_count; i++) {
        rp_quantity given = derivation->given[i];
        if (given != RP_QUANTITIES && !isnan(counters->value[i]))
            set(quantities, given, counters->value[i], (rp_provenance)counters->provenance[i]);
    }
    apply_rules(derivation, counters, quantities);
    complete(derivation, quantities);
}

/* ---- Peaks ----------------------------------------------------------------------------------- */

/* Metrics whose peak a cycle is a ceiling (facts: one FMA is two FLOPs, a packed half FMA four). */
static const struct {
    const char *metric;
    bool compute;
    const char *what; /* precision, or level */
    double factor;
    const char *clock;
} plain_peaks[] = {
    {"sm__sass_thread_inst_executed_op_dfma_pred_on", true, "fp64", 2, "sm"},
    {"smsp__sass_thread_inst_executed_op_dfma_pred_on", true, "fp64", 2, "sm"},
    {"sm__sass_thread_inst_executed_op_ffma_pred_on", true, "fp32", 2, "sm"},
    {"smsp__sass_thread_inst_executed_op_ffma_pred_on", true, "fp32", 2, "sm"},
    {"sm__sass_thread_inst_executed_op_hfma_pred_on", true, "fp16", 4, "sm"},
    {"smsp__sass_thread_inst_executed_op_hfma_pred_on", true, "fp16", 4, "sm"},
    {"dram__bytes", false, "dram", 1, "dram"},
    {"lts__t_bytes", false, "l2", 1, "lts"},
    {"lts__t_sectors", false, "l2", 32, "lts"},
    {"l1tex__t_bytes", false, "l1", 1, "sm"},
    {"smsp__sass_data_bytes_mem_shared", false, "shared", 1, "sm"},
};

/* Takes PREFIX from the start of *TEXT if it is there. */
static bool skip(const char **text, const char *prefix) {
    size_t length = strlen(prefix);
    if (strncmp(*text, prefix, length) != 0)
        return false;
    *text += length;
    return true;
}

/* sm__ops_path_tensor_[op_X_]src_A[_dst_B][_sparsity_off]: the plain metric's peak is the sparse
 * one where the chip has sparsity at all (compute capability 8 and later), except for the types
 * that have none. */
static bool tensor_peak(const char *name, size_t length, int cc_major, rp_peak *peak) {
    static const char *const types[] = {"fp64", "tf32", "bf16", "fp16", "fp8",
                                        "fp6",  "fp4",  "int8", "int4", "int1"};
    char text[128], accumulate[16] = "";
    if (length >= sizeof text)
        return false;
    snprintf(text, sizeof text, "%.*s", (int)length, name);
    const char *p = text, *type = NULL;
    if (!skip(&p, "sm__ops_path_tensor_"))
        return false;
    if (skip(&p, "op_")) {
        p = strstr(p, "src_");
        if (!p)
            return false;
    }
    if (!skip(&p, "src_"))
        return false;
    for (size_t i = 0; i < sizeof types / sizeof *types && !type; i++)
        if (skip(&p, types[i]))
            type = types[i];
    if (skip(&p, "_dst_")) {
        size_t size = strcspn(p, "_");
        snprintf(accumulate, sizeof accumulate, "%.*s", (int)size, p);
        p += size;
    }
    bool dense = skip(&p, "_sparsity_off") || (cc_major > 0 && cc_major < 8) ||
                 (type && (strcmp(type, "fp64") == 0 || strcmp(type, "int1") == 0));
    if (!type || !dense || *p)
        return false;
    bool half = strcmp(type, "fp16") == 0 && strcmp(accumulate, "fp16") == 0;
    *peak = (rp_peak){.compute = true, .path = "tensor", .factor = 1, .clock = "sm"};
    snprintf(peak->precision, sizeof peak->precision, "%s", half ? "fp16_acc16" : type);
    return true;
}

bool rp_peak_of(const char *name, int cc_major, rp_peak *peak) {
    static const char ending[] = ".sum.peak_sustained";
    size_t length = strlen(name), tail = sizeof ending - 1;
    if (length <= tail || strcmp(name + length - tail, ending) != 0)
        return false;
    length -= tail;
    for (size_t i = 0; i < sizeof plain_peaks / sizeof *plain_peaks; i++) {
        if (strlen(plain_peaks[i].metric) != length ||
            memcmp(plain_peaks[i].metric, name, length) != 0)
            continue;
        *peak = (rp_peak){.compute = plain_peaks[i].compute,
                          .factor = plain_peaks[i].factor,
                          .clock = plain_peaks[i].clock};
        char *what = peak->compute ? peak->precision : peak->level;
        snprintf(what, 8, "%s", plain_peaks[i].what);
        snprintf(peak->path, sizeof peak->path, "%s", peak->compute ? "vector" : "");
        return true;
    }
    return tensor_peak(name, length, cc_major, peak);
}
