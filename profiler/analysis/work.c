/* SPDX-License-Identifier: Apache-2.0
 *
 * What the user knows of kernels (--work): parsing the file's text, and putting FLOPs and bytes
 * into groups that lack them. Counted values are never replaced. Afterwards configs may be merged
 * into kernels, because only a config has a launch shape to compute with.
 */
#include "analysis/internal.h"
#include "support/match.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Parsing --------------------------------------------------------------------------------- */

static char *trim(char *text) {
    while (isspace((unsigned char)*text))
        text++;
    char *end = text + strlen(text);
    while (end > text && isspace((unsigned char)end[-1]))
        *--end = '\0';
    return text;
}

static const struct {
    const char *key;
    rp_quantity quantity;
} work_kinds[] = {
    {"fp64_vector", RP_Q_FLOPS_FP64_VECTOR}, {"fp32_vector", RP_Q_FLOPS_FP32_VECTOR},
    {"fp16_vector", RP_Q_FLOPS_FP16_VECTOR}, {"bf16_vector", RP_Q_FLOPS_BF16_VECTOR},
    {"int32_vector", RP_Q_OPS_INT32_VECTOR}, {"fp64_tensor", RP_Q_FLOPS_FP64_TENSOR},
    {"tf32_tensor", RP_Q_FLOPS_TF32_TENSOR}, {"bf16_tensor", RP_Q_FLOPS_BF16_TENSOR},
    {"fp16_tensor", RP_Q_FLOPS_FP16_TENSOR}, {"fp16_acc16_tensor", RP_Q_FLOPS_FP16_ACC16_TENSOR},
    {"fp8_tensor", RP_Q_FLOPS_FP8_TENSOR},   {"fp6_tensor", RP_Q_FLOPS_FP6_TENSOR},
    {"fp4_tensor", RP_Q_FLOPS_FP4_TENSOR},   {"int8_tensor", RP_Q_OPS_INT8_TENSOR},
};

static rp_quantity work_kind(const char *key) {
    for (size_t i = 0; i < sizeof work_kinds / sizeof *work_kinds; i++)
        if (strcmp(key, work_kinds[i].key) == 0)
            return work_kinds[i].quantity;
    return RP_QUANTITIES;
}

/* An expression must at least parse, with any shape. */
static rp_code check(const char *file, int line, const char *expression, rp_error *error) {
    static const double shape[6] = {2, 2, 2, 32, 2, 2};
    double value;
    rp_code code = rp_expression(expression, shape, &value, error);
    return code == RP_OK ? RP_OK : (rp_error_prefix(error, "%s:%d", file, line), code);
}

static rp_code set(char **field, const char *value, const char *file, int line, rp_error *error) {
    if (*field)
        return rp_fail(error, RP_INPUT, "%s:%d: given twice for this kernel", file, line);
    *field = strdup(value);
    return *field ? RP_OK : rp_fail(error, RP_INTERNAL, "out of memory");
}

static rp_code assign(rp_work_rule *rule, const char *file, int line, const char *key,
                      const char *value, rp_error *error) {
    if (strcmp(key, "precision") == 0) {
        if (work_kind(value) == RP_QUANTITIES)
            return rp_fail(error, RP_INPUT,
                           "%s:%d: precision '%s' is none; write it as fp32_vector or fp16_tensor",
                           file, line, value);
        return set(&rule->flops_precision_path, value, file, line, error);
    }
    bool flops = strcmp(key, "flops") == 0;
    if (!flops && strcmp(key, "bytes") != 0)
        return rp_fail(error, RP_INPUT, "%s:%d: '%.60s' is none of flops, bytes, precision", file,
                       line, key);
    *(flops ? &rule->flops_line : &rule->bytes_line) = line;
    rp_code code = set(flops ? &rule->flops : &rule->bytes, value, file, line, error);
    return code == RP_OK ? check(file, line, value, error) : code;
}

static rp_code begin(rp_work_rule **rules, size_t *count, const char *file, int line, char *header,
                     rp_error *error) {
    size_t length = strlen(header);
    if (length < 3 || header[length - 1] != ']')
        return rp_fail(error, RP_INPUT, "%s:%d: a kernel is named as [GLOB], on a line of its own",
                       file, line);
    header[length - 1] = '\0';
    rp_work_rule *grown = realloc(*rules, (*count + 1) * sizeof *grown);
    if (!grown)
        return rp_fail(error, RP_INTERNAL, "out of memory");
    *rules = grown;
    memset(&grown[*count], 0, sizeof *grown);
    grown[*count].line = line;
    grown[*count].kernel_glob = strdup(trim(header + 1));
    (*count)++;
    return grown[*count - 1].kernel_glob ? RP_OK : rp_fail(error, RP_INTERNAL, "out of memory");
}

static rp_code parse_line(rp_work_rule **rules, size_t *count, const char *file, int line,
                          char *text, rp_error *error) {
    text = trim(text);
    if (!*text || *text == '#' || *text == ';')
        return RP_OK;
    if (*text == '[')
        return begin(rules, count, file, line, text, error);
    char *equals = strchr(text, '=');
    if (!equals || *count == 0)
        return rp_fail(error, RP_INPUT,
                       "%s:%d: expected [GLOB of a kernel] and below it flops = …, bytes = …, "
                       "precision = …",
                       file, line);
    *equals = '\0';
    return assign(&(*rules)[*count - 1], file, line, trim(text), trim(equals + 1), error);
}

rp_code rp_work_parse(const char *file, const char *text, rp_work_rule **rules, size_t *count,
                      rp_error *error) {
    rp_code code = RP_OK;
    int line = 0;
    *rules = NULL;
    *count = 0;
    for (const char *at = text; *at && code == RP_OK;) {
        size_t length = strcspn(at, "\n");
        char *copy = strndup(at, length);
        line++;
        code = copy ? parse_line(rules, count, file, line, copy, error)
                    : rp_fail(error, RP_INTERNAL, "out of memory");
        free(copy);
        at += length + (at[length] == '\n');
    }
    for (size_t i = 0; i < *count && code == RP_OK; i++)
        if (!(*rules)[i].flops && !(*rules)[i].bytes)
            code = rp_fail(error, RP_INPUT, "%s:%d: neither flops nor bytes are given for [%s]",
                           file, (*rules)[i].line, (*rules)[i].kernel_glob);
    if (code == RP_OK && *count == 0)
        code = rp_fail(error, RP_INPUT, "%s: no [GLOB of a kernel] in it", file);
    if (code != RP_OK) {
        rp_work_free(*rules, *count);
        *rules = NULL;
        *count = 0;
    }
    return code;
}

void rp_work_free(rp_work_rule *rules, size_t count) {
    for (size_t i = 0; i < count; i++) {
        free(rules[i].kernel_glob);
        free(rules[i].flops_precision_path);
        free(rules[i].flops);
        free(rules[i].bytes);
    }
    free(rules);
}

static bool uses_shape(const char *expression) {
    rp_error error;
    double value;
    return expression && rp_expression(expression, NULL, &value, &error) != RP_OK;
}

bool rp_work_needs_shape(const rp_work_rule *rules, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (uses_shape(rules[i].flops) || uses_shape(rules[i].bytes))
            return true;
    return false;
}

/* ---- Applying -------------------------------------------------------------------------------- */

/* Of one launch, put as a sample of all. */
static void put(rp_group *group, rp_quantity quantity, double value) {
    double n = (double)group->launches;
    group->q[quantity] = (rp_stat){.n = group->launches,
                                   .sum = value * n,
                                   .min = value,
                                   .max = value,
                                   .sum_squares = value * value * n};
    group->provenance[quantity] = RP_USER;
}

static rp_code evaluate(const rp_group *group, const char *file, int line, const char *expression,
                        double *value, rp_error *error) {
    double shape[6];
    for (int i = 0; i < 3; i++) {
        shape[i] = group->grid[i];
        shape[i + 3] = group->block[i];
    }
    rp_code code = rp_expression(expression, group->has_shape ? shape : NULL, value, error);
    if (code != RP_OK)
        rp_error_prefix(error, "%s:%d, kernel %s", file ? file : "--work", line,
                        group->short_name ? group->short_name : group->name);
    return code;
}

static bool any(const rp_group *group, const rp_quantity *quantities, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (group->q[quantities[i]].n)
            return true;
    return false;
}

/* FLOPs are there if any of the quantities they are made of is. */
static bool has_flops(const rp_group *group) {
    for (int q = RP_Q_INST_FP64_ADD; q <= RP_Q_INST_FP16_FMA; q++)
        if (group->q[q].n)
            return true;
    for (int q = RP_Q_FLOPS_FP64_VECTOR; q <= RP_Q_OPS_INT1_TENSOR; q++)
        if (group->q[q].n)
            return true;
    return false;
}

static bool matches(const rp_work_rule *rule, const rp_group *group) {
    return rp_match_glob(rule->kernel_glob, group->name) ||
           (group->short_name && rp_match_glob(rule->kernel_glob, group->short_name));
}

static rp_code apply(rp_group *group, const rp_analysis_options *options, rp_error *error) {
    static const rp_quantity dram[] = {RP_Q_DRAM_BYTES, RP_Q_DRAM_READ, RP_Q_DRAM_WRITE};
    bool flops_known = has_flops(group), bytes_known = any(group, dram, 3);
    for (size_t i = 0; i < options->work_count; i++) {
        const rp_work_rule *rule = &options->work[i];
        double value;
        rp_code code = RP_OK;
        if (!matches(rule, group))
            continue;
        rp_quantity kind =
            work_kind(rule->flops_precision_path ? rule->flops_precision_path : "fp32_vector");
        if (rule->flops && !flops_known && group->q[kind].n == 0) {
            code =
                evaluate(group, options->work_file, rule->flops_line, rule->flops, &value, error);
            if (code != RP_OK)
                return code;
            put(group, kind, value);
        }
        if (rule->bytes && !bytes_known) {
            code =
                evaluate(group, options->work_file, rule->bytes_line, rule->bytes, &value, error);
            if (code != RP_OK)
                return code;
            put(group, RP_Q_DRAM_BYTES, value);
            bytes_known = true;
        }
    }
    return RP_OK;
}

rp_code rp_work_note_unused(const rp_profile *profile, const rp_analysis_options *options,
                            rp_report *report, rp_error *error) {
    rp_code code = RP_OK;
    for (size_t i = 0; i < options->work_count && code == RP_OK; i++) {
        const rp_work_rule *rule = &options->work[i];
        bool used = false;
        for (size_t g = 0; g < profile->group_count && !used; g++)
            used = matches(rule, &profile->groups[g]);
        if (!used)
            code = rp_report_note(report, error, "warning",
                                  "%s:%d: no kernel here is called [%s]; names are compared whole, "
                                  "* stands for any letters",
                                  options->work_file ? options->work_file : "--work", rule->line,
                                  rule->kernel_glob);
    }
    return code;
}

/* ---- Merging configs into kernels ------------------------------------------------------------ */

static int by_kernel(const void *left, const void *right) {
    const rp_group *a = left, *b = right;
    int order = strcmp(a->name, b->name);
    if (order)
        return order;
    order = strcmp(a->range ? a->range : "", b->range ? b->range : "");
    return order ? order : (a->device > b->device) - (a->device < b->device);
}

static bool same_shape(const rp_group *a, const rp_group *b) {
    return a->has_shape && b->has_shape && memcmp(a->grid, b->grid, sizeof a->grid) == 0 &&
           memcmp(a->block, b->block, sizeof a->block) == 0;
}

/* Totals of a group whose launches were not all counted are its mean x launches; before the samples
 * of two groups are thrown together, each is brought to its launches. */
static void weigh(rp_stat *stat, uint64_t launches) {
    if (stat->n == 0 || stat->n == launches)
        return;
    double factor = (double)launches / (double)stat->n;
    stat->sum *= factor;
    stat->sum_squares *= factor;
    stat->n = launches;
}

static void merge_quantity(rp_group *into, const rp_group *from, int q) {
    rp_stat a = into->q[q], b = from->q[q];
    bool estimated = (a.n && a.n < into->launches) || (b.n && b.n < from->launches);
    if (a.n && b.n) {
        weigh(&a, into->launches);
        weigh(&b, from->launches);
    }
    double time = into->time.sum + from->time.sum; /* what is averaged is so over time */
    double mean = (rp_stat_mean(&a) * into->time.sum + rp_stat_mean(&b) * from->time.sum) / time;
    rp_stat_merge(&a, &b);
    if (!rp_quantity_table[q].sums && isfinite(mean) && into->time.n == into->launches &&
        from->time.n == from->launches)
        a.sum = (double)a.n * mean;
    into->q[q] = a;
    if (from->provenance[q] > into->provenance[q])
        into->provenance[q] = from->provenance[q];
    if (estimated && a.n && into->provenance[q] < RP_ESTIMATED)
        into->provenance[q] = RP_ESTIMATED;
}

static void merge(rp_group *into, const rp_group *from) {
    for (int q = 0; q < RP_QUANTITIES; q++)
        merge_quantity(into, from, q);
    if (!same_shape(into, from)) {
        into->has_shape = false;
        memset(into->grid, 0, sizeof into->grid);
        memset(into->block, 0, sizeof into->block);
    }
    if (into->registers != from->registers)
        into->registers = -1;
    if (into->cache != from->cache)
        into->cache = RP_CACHE_UNKNOWN;
    rp_stat_merge(&into->time, &from->time);
    rp_stat_merge(&into->time_warm, &from->time_warm);
    into->configs += from->configs;
    into->noise += from->noise;
    into->noise_launches += from->noise_launches;
    into->noise_degrees += from->noise_degrees;
    into->time_provenance = rp_provenance_worse(into->time_provenance, from->time_provenance);
    into->launches += from->launches;
}

static void merge_all(rp_group *groups, size_t *count) {
    size_t kept = 0;
    qsort(groups, *count, sizeof *groups, by_kernel);
    for (size_t i = 0; i < *count; i++) {
        if (kept && by_kernel(&groups[kept - 1], &groups[i]) == 0)
            merge(&groups[kept - 1], &groups[i]);
        else
            groups[kept++] = groups[i];
    }
    *count = kept;
}

rp_code rp_groups_prepare(const rp_profile *profile, const rp_analysis_options *options,
                          rp_group **copy, size_t *count, rp_error *error) {
    *copy = NULL;
    *count = profile->group_count;
    if (options->work_count == 0 && !options->merge_configs)
        return RP_OK;
    rp_group *groups = malloc((*count + 1) * sizeof *groups);
    if (!groups)
        return rp_fail(error, RP_INTERNAL, "out of memory");
    if (*count)
        memcpy(groups, profile->groups, *count * sizeof *groups);
    rp_code code = RP_OK;
    for (size_t i = 0; i < *count && code == RP_OK; i++)
        code = apply(&groups[i], options, error);
    if (code != RP_OK) {
        free(groups);
        return code;
    }
    if (options->merge_configs)
        merge_all(groups, count);
    *copy = groups;
    return RP_OK;
}
