/* SPDX-License-Identifier: Apache-2.0
 *
 * The arithmetic of samples, and the release of a profile.
 */
#include "capture/profile.h"
#include <math.h>
#include <stdlib.h>

void rp_stat_add(rp_stat *stat, double value) {
    if (isnan(value))
        return;
    if (stat->n == 0) {
        *stat = (rp_stat){1, value, value, value, value * value};
        return;
    }
    stat->n++;
    stat->sum += value;
    stat->sum_squares += value * value;
    if (value < stat->min)
        stat->min = value;
    if (value > stat->max)
        stat->max = value;
}

void rp_stat_merge(rp_stat *into, const rp_stat *from) {
    if (from->n == 0)
        return;
    if (into->n == 0) {
        *into = *from;
        return;
    }
    into->n += from->n;
    into->sum += from->sum;
    into->sum_squares += from->sum_squares;
    if (from->min < into->min)
        into->min = from->min;
    if (from->max > into->max)
        into->max = from->max;
}

double rp_stat_mean(const rp_stat *stat) {
    return stat->n ? stat->sum / (double)stat->n : NAN;
}

/* From sums: rounding can make the variance of equal values a hair negative, which is no variance.
 */
double rp_stat_deviation(const rp_stat *stat) {
    if (stat->n < 2)
        return NAN;
    double n = (double)stat->n;
    double variance = (stat->sum_squares - stat->sum * stat->sum / n) / (n - 1);
    return variance > 0 ? sqrt(variance) : 0;
}

void rp_profile_free(rp_profile *profile) {
    if (!profile)
        return;
    for (size_t i = 0; i < profile->device_count; i++) {
        rp_profile_device *device = &profile->devices[i];
        free(device->name);
        free(device->chip);
        free(device->uuid);
        free(device->pci_id);
        free(device->driver);
        free(device->ceilings);
    }
    for (size_t i = 0; i < profile->group_count; i++) {
        free(profile->groups[i].name);
        free(profile->groups[i].short_name);
        free(profile->groups[i].range);
    }
    for (size_t i = 0; i < profile->note_count; i++) {
        free(profile->notes[i].severity);
        free(profile->notes[i].text);
    }
    free(profile->source);
    free(profile->tool);
    free(profile->devices);
    free(profile->groups);
    free(profile->copies);
    free(profile->notes);
    *profile = (rp_profile){0};
}
