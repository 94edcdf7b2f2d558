/* SPDX-License-Identifier: Apache-2.0
 *
 * Ranges that are being collected: see ranges.h.
 */
#include "emulator/cupti/ranges.h"
#include "emulator/cupti/door.h"
#include "emulator/cupti/metric.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void ranges_reset(range_list *l, size_t most) {
    l->most = most;
    l->count = l->dropped = l->of_pass = 0;
}

void ranges_begin_pass(range_list *l, bool later) {
    l->later = later;
    l->of_pass = 0;
}

static void commit(range_list *l, const counter_range *r) {
    l->of_pass++;
    if (l->later)
        return;
    if (l->count >= l->most) {
        l->dropped++;
        return;
    }
    if (l->count == l->capacity) {
        size_t capacity = l->capacity ? 2 * l->capacity : 16;
        counter_range *grown = realloc(l->pending, capacity * sizeof *grown);
        if (!grown) {
            l->dropped++;
            return;
        }
        l->pending = grown;
        l->capacity = capacity;
    }
    l->pending[l->count++] = *r;
}

static void add_launch(counter_range *r, const emu_launch_event *e) {
    r->counted = e->counts && (r->launches == 0 || r->counted);
    r->launches++;
    if (e->counts)
        metric_add_counts(&r->counts, e->counts);
}

void ranges_launch(range_list *l, const emu_launch_event *e, bool user) {
    if (user) {
        for (int i = 0; i < l->depth; i++)
            add_launch(&l->open[i], e);
        return;
    }
    counter_range r = {0};
    snprintf(r.name, sizeof r.name, "%zu", l->of_pass);
    add_launch(&r, e);
    commit(l, &r);
}

bool ranges_push(range_list *l, const char *name) {
    if (l->depth == RANGES_DEPTH)
        return false;
    counter_range *r = &l->open[l->depth];
    char outer[RANGE_NAME / 2] = "";
    if (l->depth)
        snprintf(outer, sizeof outer, "%.*s%c", (int)sizeof outer - 2, r[-1].name, RANGE_SEPARATOR);
    memset(r, 0, sizeof *r);
    snprintf(r->name, sizeof r->name, "%s%.120s", outer, name);
    l->depth++;
    return true;
}

bool ranges_pop(range_list *l) {
    if (!l->depth)
        return false;
    commit(l, &l->open[--l->depth]);
    return true;
}

bool ranges_differ(const range_list *l) {
    return l->later && l->of_pass != l->count + l->dropped;
}

size_t ranges_decode(range_list *l, counter_image *image) {
    for (size_t i = 0; i < l->count; i++) {
        if (image->count < image->most)
            *counter_range_at(image, image->count++) = l->pending[i];
        else
            l->dropped++;
    }
    size_t dropped = l->dropped;
    l->count = l->dropped = 0;
    return dropped;
}

void ranges_free(range_list *l) {
    free(l->pending);
    *l = (range_list){0};
}
