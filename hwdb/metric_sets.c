/* SPDX-License-Identifier: Apache-2.0
 *
 * metric_sets.csv: see metric_sets.h.
 */
#include "hwdb/metric_sets.h"

#include "hwdb/hwdb.h"
#include "hwdb/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct rp_metric_sets {
    rp_hw_table table;
    rp_metric_set *sets;
    size_t count;
};

static const char *const columns[] = {"chips", "profile", "passes", "metrics", "source", NULL};
static const char *const keys[] = {"chips", "profile", NULL};

/* Splits the cell at its spaces, in place; *COUNT names. NULL: no memory. */
static const char **split(char *cell, size_t *count) {
    size_t n = 1;
    for (const char *s = cell; *s; s++)
        n += *s == ' ';
    const char **names = malloc(n * sizeof *names);
    char *rest = cell, *name;
    *count = 0;
    while (names && (name = strtok_r(*count ? NULL : cell, " ", &rest)))
        names[(*count)++] = name;
    return names;
}

static rp_code make_set(const rp_hw_table *table, rp_hw_row *row, rp_metric_set *set,
                        rp_error *error) {
    set->chips = row->field[rp_hw_table_column(table, "chips")];
    set->profile = row->field[rp_hw_table_column(table, "profile")];
    set->passes = atoi(row->field[rp_hw_table_column(table, "passes")]);
    set->metrics = split(row->field[rp_hw_table_column(table, "metrics")], &set->metric_count);
    if (!set->metrics)
        return rp_fail(error, RP_INTERNAL, "no memory for the metric sets");
    if (!*set->chips || !*set->profile || set->passes < 1 || !set->metric_count)
        return rp_fail(error, RP_INPUT,
                       "%s:%d: chips, profile, passes (1 or more) and metrics must all be there",
                       row->file, row->line);
    return RP_OK;
}

rp_code rp_metric_sets_load(rp_metric_sets **sets, rp_error *error) {
    rp_metric_sets *s = calloc(1, sizeof *s);
    char *folder = rp_hwdb_shipped_folder(), *path = NULL;
    rp_code code = RP_OK;
    *sets = NULL;
    if (!s || !folder || asprintf(&path, "%s/metric_sets.csv", folder) < 0) {
        code = rp_fail(error, RP_INTERNAL, "no memory for the metric sets");
        goto out;
    }
    rp_hw_table_init(&s->table, "metric_sets", columns, keys);
    code = rp_hw_table_read(&s->table, path, false, error);
    if (!code && !(s->sets = calloc(s->table.row_count + 1, sizeof *s->sets)))
        code = rp_fail(error, RP_INTERNAL, "no memory for the metric sets");
    for (size_t i = 0; !code && i < s->table.row_count; i++)
        code = make_set(&s->table, &s->table.rows[i], &s->sets[s->count++], error);
    if (!code) {
        *sets = s;
        s = NULL;
    }
out:
    rp_metric_sets_free(s);
    free(folder);
    free(path);
    return code;
}

void rp_metric_sets_free(rp_metric_sets *sets) {
    if (!sets)
        return;
    for (size_t i = 0; i < sets->count; i++)
        free((void *)(uintptr_t)sets->sets[i].metrics);
    free(sets->sets);
    rp_hw_table_free(&sets->table);
    free(sets);
}

size_t rp_metric_sets_count(const rp_metric_sets *sets) {
    return sets->count;
}

const rp_metric_set *rp_metric_sets_at(const rp_metric_sets *sets, size_t i) {
    return &sets->sets[i];
}

int rp_metric_set_is_for(const rp_metric_set *set, const char *chip) {
    size_t length = strlen(chip);
    for (const char *s = set->chips; *s; s += strcspn(s, ";"), s += *s == ';')
        if (strcspn(s, ";") == length && !strncasecmp(s, chip, length))
            return 1;
    return 0;
}
