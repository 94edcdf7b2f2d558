/* SPDX-License-Identifier: Apache-2.0
 *
 * From sums of configs to the groups of a profile: by kernel, by config, by range. Where only a
 * sample of launches was counted, each config's sample stands for all its launches.
 */
#include "capture/load.h"
#include "support/array.h"
#include "support/text.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void absent_stat(rp_stat *stat) {
    *stat = (rp_stat){0, NAN, NAN, NAN, NAN};
}

static rp_code start_group(rp_loader *l, rp_group *group, const rp_summary *summary) {
    const rp_config_row *config = &l->configs[summary->config];
    const rp_kernel_row *kernel = &l->kernels[config->kernel];
    *group = (rp_group){.device = (size_t)summary->device,
                        .has_shape = config->has_shape,
                        .registers = config->registers,
                        .shared_static = config->shared_static,
                        .shared_dynamic = config->shared_dynamic,
                        .collective = kernel->collective,
                        .cache = summary->cache};
    memcpy(group->grid, config->grid, sizeof group->grid);
    memcpy(group->block, config->block, sizeof group->block);
    absent_stat(&group->time);
    absent_stat(&group->time_warm);
    for (unsigned q = 0; q < RP_QUANTITIES; q++)
        absent_stat(&group->q[q]);
    group->name = strdup(kernel->name);
    group->short_name = strdup(kernel->short_name);
    if (l->by == RP_BY_RANGE && summary->range >= 0)
        group->range = strdup(l->paths[summary->range]);
    bool whole = group->name && group->short_name &&
                 (group->range || l->by != RP_BY_RANGE || summary->range < 0);
    return whole ? RP_OK : rp_db_no_memory(l->error);
}

/* What is not the same in all configs of a group is not known of the group. */
static void blend_shape(rp_group *group, const rp_config_row *config) {
    if (group->has_shape &&
        (!config->has_shape || memcmp(group->grid, config->grid, sizeof group->grid) != 0 ||
         memcmp(group->block, config->block, sizeof group->block) != 0)) {
        group->has_shape = false;
        memset(group->grid, 0, sizeof group->grid);
        memset(group->block, 0, sizeof group->block);
    }
    if (group->registers != config->registers)
        group->registers = -1;
    if (group->shared_static != config->shared_static)
        group->shared_static = -1;
    if (group->shared_dynamic != config->shared_dynamic)
        group->shared_dynamic = -1;
}

/* The state in which counts were taken; that of launches without counts says nothing of them. */
static void blend_cache(rp_group *group, rp_group_state *state, const rp_summary *summary) {
    if (summary->counted && !state->counted) {
        state->counted = true;
        group->cache = summary->cache;
    } else if ((summary->counted || !state->counted) && group->cache != summary->cache) {
        state->mixed_cache |= state->counted;
        group->cache = RP_CACHE_UNKNOWN;
    }
}

/* How the mean over all launches of a config differs from that over the counted ones: launches of
 * one config can differ in length (persistent kernels keep their grid at any size). Where the
 * counts differ, they are taken to go with time; where they do not, there is nothing to correct.
 * Launches without a time (those whose instructions were counted) leave the mean of the others. */
static double sample_correction(const rp_summary *summary, const rp_summary_quantity *item) {
    bool timed = summary->time.n * 2 > summary->launches && item->time.n == item->stat.n;
    bool differs = item->stat.max > item->stat.min * (1 + 1e-6);
    if (item->stat.n == summary->launches || !timed || !differs || item->quantity == RP_Q_TIME ||
        !rp_quantity_table[item->quantity].sums)
        return 1;
    return rp_stat_mean(&summary->time) / rp_stat_mean(&item->time);
}

/* Time of all launches of a config of which ITEM is known of some; NaN if it is not. */
static double time_of(const rp_summary *summary, const rp_summary_quantity *item) {
    if (summary->time.n == summary->launches)
        return summary->time.sum;
    return item->time.n == item->stat.n ? rp_stat_mean(&item->time) * (double)summary->launches
                                        : NAN;
}

/* Sums of each config stand for all its launches, so that a config with many launches of which few
 * were counted weighs as it should; finish_quantities makes a sample of it again. */
static void blend_quantity(rp_group *group, rp_group_state *state, const rp_summary *summary,
                           const rp_summary_quantity *item) {
    if (!item->stat.n)
        return;
    rp_stat *into = &group->q[item->quantity];
    double launches = (double)summary->launches, n = (double)item->stat.n;
    double scale = item->stat.n == summary->launches ? 1 : launches / n;
    double correction = sample_correction(summary, item);
    rp_stat whole = item->stat;
    whole.sum *= scale * correction;
    whole.sum_squares *= scale * correction * correction;
    rp_stat_merge(into, &whole);
    state->weight[item->quantity] += launches;
    double time = time_of(summary, item);
    state->time[item->quantity] += time;
    state->weighted[item->quantity] += time * rp_stat_mean(&item->stat);
    group->provenance[item->quantity] = (uint8_t)rp_provenance_worse(
        (rp_provenance)group->provenance[item->quantity], item->provenance);
}

static void finish_quantities(rp_group *group, const rp_group_state *state) {
    for (unsigned q = 0; q < RP_QUANTITIES; q++) {
        rp_stat *stat = &group->q[q];
        double share = stat->n ? (double)stat->n / state->weight[q] : 1;
        stat->sum *= share;
        stat->sum_squares *= share;
        if (stat->n && !rp_quantity_table[q].sums && state->time[q] > 0)
            stat->sum = (double)stat->n * state->weighted[q] / state->time[q];
    }
    if (!group->q[RP_Q_TIME].n) {
        group->q[RP_Q_TIME] = group->time;
        group->provenance[RP_Q_TIME] = (uint8_t)group->time_provenance;
    }
}

static void add_noise(rp_group *group, const rp_summary *summary) {
    const rp_stat *stat = summary->time_warm.n ? &summary->time_warm : &summary->time;
    group->configs++;
    if (stat->n < 2)
        return;
    group->noise += (double)stat->n * pow(rp_stat_deviation(stat), 2);
    group->noise_launches += stat->n;
    group->noise_degrees += stat->n - 1;
}

static rp_code group_of(rp_loader *l, const rp_summary *summary, size_t *index) {
    int64_t kernel = l->configs[summary->config].kernel;
    int64_t key[3] = {l->by == RP_BY_CONFIG ? summary->config : kernel, summary->device,
                      summary->range};
    rp_profile *profile = l->profile;
    int64_t *known = rp_map_put(&l->group_index, key, sizeof key, NULL);
    if (!known || !RP_ARRAY_ROOM(profile->groups, l->group_capacity, profile->group_count) ||
        !RP_ARRAY_ROOM(l->states, l->state_capacity, profile->group_count))
        return rp_db_no_memory(l->error);
    if (*known >= 0) {
        *index = (size_t)*known;
        return RP_OK;
    }
    *known = (int64_t)profile->group_count;
    *index = profile->group_count++;
    l->states[*index] = (rp_group_state){0};
    return start_group(l, &profile->groups[*index], summary);
}

static rp_code note_mixed_cache(rp_loader *l, size_t count) {
    rp_profile *profile = l->profile;
    if (!count)
        return RP_OK;
    rp_profile_note *grown = realloc(profile->notes, (profile->note_count + 1) * sizeof *grown);
    if (!grown)
        return rp_db_no_memory(l->error);
    profile->notes = grown;
    rp_profile_note *note = &profile->notes[profile->note_count];
    note->severity = strdup("info");
    if (asprintf(&note->text,
                 "%zu %s counted partly with cold and partly with natural or warm caches", count,
                 rp_plural(count, "kernel was", "kernels were")) < 0)
        note->text = NULL;
    if (note->severity && note->text) {
        profile->note_count++;
        return RP_OK;
    }
    free(note->severity);
    free(note->text);
    return rp_db_no_memory(l->error);
}

rp_code rp_load_groups(rp_loader *l, const rp_summaries *summaries) {
    size_t mixed = 0;
    for (size_t i = 0; i < summaries->count; i++) {
        const rp_summary *summary = &summaries->items[i];
        size_t index = 0;
        if (!summary->launches)
            continue;
        rp_code code = group_of(l, summary, &index);
        if (code != RP_OK)
            return code;
        rp_group *group = &l->profile->groups[index];
        group->launches += summary->launches;
        rp_stat_merge(&group->time, &summary->time);
        rp_stat_merge(&group->time_warm, &summary->time_warm);
        add_noise(group, summary);
        group->time_provenance =
            rp_provenance_worse(group->time_provenance, summary->time_provenance);
        blend_shape(group, &l->configs[summary->config]);
        blend_cache(group, &l->states[index], summary);
        for (size_t q = 0; q < summary->quantity_count; q++)
            blend_quantity(group, &l->states[index], summary, &summary->quantities[q]);
    }
    for (size_t i = 0; i < l->profile->group_count; i++) {
        finish_quantities(&l->profile->groups[i], &l->states[i]);
        mixed += l->states[i].mixed_cache;
    }
    return note_mixed_cache(l, mixed);
}
