/* SPDX-License-Identifier: Apache-2.0
 *
 * Configurations of a chip: see plan.h.
 */
#include "tracer/plan.h"

#include <stdio.h>
#include <string.h>

typedef struct maker {
    const tracer_settings *settings;
    const char *chip;
    configuration *list;
    schedule *schedule;
} maker;

bool plan_is_peak(const char *metric) {
    size_t n = strlen(metric), suffix = strlen(".peak_sustained");
    return n > suffix && !strcmp(metric + n - suffix, ".peak_sustained");
}

bool plan_counts_tensor(const configuration *c) {
    for (size_t i = 0; i < c->count; i++)
        if (strstr(c->metrics[i], "__ops_path_tensor_") && !plan_is_peak(c->metrics[i]))
            return true;
    return false;
}

static const metric_set *find_set(const maker *m, const char *profile) {
    for (size_t i = 0; i < m->settings->set_count; i++)
        if (!strcmp(m->settings->sets[i].profile, profile) &&
            settings_set_is_for(&m->settings->sets[i], m->chip))
            return &m->settings->sets[i];
    return NULL;
}

static const metric_set *find_tensor_set(const maker *m, int i) {
    char profile[24];
    snprintf(profile, sizeof profile, "TENSOR%d", i);
    return find_set(m, profile);
}

/* NULL: there are too many. */
static configuration *add(maker *m, const char *profile, role r) {
    int at = m->schedule->count;
    if (at == CONFIGURATIONS)
        return NULL;
    m->schedule->roles[at] = r;
    m->schedule->count++;
    m->list[at].profile = profile;
    return &m->list[at];
}

static void add_set(configuration *f, const metric_set *set) {
    if (f && set)
        configuration_add(f, set->metrics, set->count);
}

/* Peaks and clocks are free in a pass of hardware counters on every chip (tests/unit/tracer holds
 * that against CUPTI); FULL2 names those that a chip has. */
static void add_peaks(configuration *f, const metric_set *full) {
    for (size_t i = 0; f && full && i < full->count; i++)
        if (plan_is_peak(full->metrics[i]) ||
            strstr(full->metrics[i], "cycles_elapsed.avg.per_second"))
            configuration_add(f, &full->metrics[i], 1);
}

static void add_hardware(maker *m, const metric_set *set, role r) {
    configuration *hw = add(m, "HW", r);
    add_set(hw, set);
    add_peaks(hw, find_set(m, "FULL2"));
}

static void plan_sampled(maker *m) {
    const metric_set *set;
    if ((set = find_set(m, "HW")))
        add_hardware(m, set, ROLE_ALWAYS);
    if ((set = find_set(m, "SASS")))
        add_set(add(m, "SASS", ROLE_ALWAYS), set);
    for (int i = 0; (set = find_tensor_set(m, i)); i++)
        add_set(add(m, set->profile, ROLE_TENSOR), set);
    if ((set = find_set(m, "WHY")))
        add_set(add(m, "WHY", ROLE_LAST), set);
}

/* The one configuration of this run. */
static void plan_rerun(maker *m) {
    const char *wanted = m->settings->configuration;
    const metric_set *set = wanted ? find_set(m, wanted) : NULL;
    if (set && !strcmp(wanted, "HW"))
        add_hardware(m, set, ROLE_EVERY);
    else if (set)
        add_set(add(m, set->profile, ROLE_EVERY), set);
}

static void plan_replay(maker *m) {
    const metric_set *full = find_set(m, "FULL2"), *set;
    if (!full)
        return;
    configuration *first = add(m, "FULL2+TENSOR+WHY", ROLE_FIRST);
    configuration *tensor = add(m, "FULL2+TENSOR", ROLE_REST_TENSOR);
    add_set(first, full);
    add_set(tensor, full);
    for (int i = 0; (set = find_tensor_set(m, i)); i++) {
        add_set(first, set);
        add_set(tensor, set);
    }
    add_set(first, find_set(m, "WHY"));
    add_set(add(m, "FULL2", ROLE_REST), full);
}

bool plan_make(const tracer_settings *settings, const char *chip, configuration *list,
               schedule *s) {
    maker m = {settings, chip, list, s};
    s->mode = settings->mode;
    s->samples = settings->samples;
    if (settings->mode == MODE_SAMPLED)
        plan_sampled(&m);
    else if (settings->mode == MODE_REPLAY)
        plan_replay(&m);
    else if (settings->mode == MODE_RERUN)
        plan_rerun(&m);
    return s->count > 0;
}
