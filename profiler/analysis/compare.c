/* SPDX-License-Identifier: Apache-2.0
 *
 * Devices side by side; see compare.h.
 */
#include "analysis/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { KINDS = 2 * RP_PRECISIONS * RP_PATHS * 2 + RP_LEVELS };

static size_t order_of(rp_compare_source source, const rp_provenance **order) {
    static const rp_provenance printed[] = {RP_DATASHEET, RP_THEORETICAL, RP_ESTIMATED};
    static const rp_provenance theoretical[] = {RP_THEORETICAL, RP_DATASHEET, RP_ESTIMATED};
    static const rp_provenance calibrated[] = {RP_CALIBRATED, RP_THEORETICAL, RP_DATASHEET,
                                               RP_ESTIMATED};
    switch (source) {
    case RP_COMPARE_THEORETICAL:
        *order = theoretical;
        return 3;
    case RP_COMPARE_CALIBRATED:
        *order = calibrated;
        return 4;
    default:
        *order = printed;
        return 3;
    }
}

/* All kinds there may be, in the order of the report. */
static size_t list_kinds(bool sparse, rp_ceiling kinds[KINDS]) {
    size_t n = 0;
    for (int path = 0; path < RP_PATHS; path++)
        for (int p = 0; p < RP_PRECISIONS; p++)
            for (int acc16 = 0; acc16 < 2; acc16++)
                for (int s = 0; s <= (sparse && path == RP_TENSOR); s++) {
                    rp_ceiling k = {.compute = true,
                                    .precision = (rp_hw_precision)p,
                                    .path = (rp_hw_path)path,
                                    .sparse = s};
                    strcpy(k.accumulate, acc16 ? "fp16" : "");
                    kinds[n++] = k;
                }
    for (int level = 0; level < RP_LEVELS; level++)
        kinds[n++] = (rp_ceiling){.level = (rp_hw_level)level};
    return n;
}

static bool fill_row(rp_comparison *c, const rp_ceiling *kind, const rp_provenance *order,
                     size_t order_count, rp_compare_row *row) {
    bool any = false;

    row->kind = *kind;
    rp_ceiling_key(kind, row->key, sizeof row->key);
    row->of = calloc(c->device_count, sizeof *row->of);
    row->ridge = calloc(c->device_count, sizeof *row->ridge);
    if (!row->of || !row->ridge)
        return false;
    for (size_t d = 0; d < c->device_count; d++) {
        row->of[d] = rp_device_ceiling(c->devices[d], kind, order, order_count);
        any |= row->of[d] != NULL;
        for (int level = 0; level < RP_LEVELS; level++) {
            rp_ceiling like = {.level = (rp_hw_level)level};
            const rp_ceiling *roof = rp_device_ceiling(c->devices[d], &like, order, order_count);
            row->ridge[d][level] =
                kind->compute && row->of[d] && roof ? row->of[d]->rate / roof->rate : NAN;
        }
    }
    return any;
}

static void free_row(rp_compare_row *row) {
    free(row->of);
    free(row->ridge);
    *row = (rp_compare_row){0};
}

rp_code rp_compare(const rp_device *const *devices, size_t n, rp_compare_source source, bool sparse,
                   rp_comparison *comparison, rp_error *error) {
    rp_ceiling kinds[KINDS];
    const rp_provenance *order;
    size_t order_count = order_of(source, &order), kind_count = list_kinds(sparse, kinds);

    *comparison = (rp_comparison){.device_count = n};
    comparison->devices = calloc(n ? n : 1, sizeof *comparison->devices);
    comparison->rows = calloc(kind_count, sizeof *comparison->rows);
    if (!comparison->devices || !comparison->rows)
        goto fail;
    memcpy(comparison->devices, devices, n * sizeof *devices);
    for (size_t k = 0; k < kind_count; k++) {
        rp_compare_row *row = &comparison->rows[comparison->row_count];
        if (fill_row(comparison, &kinds[k], order, order_count, row)) {
            comparison->row_count++;
        } else {
            bool no_memory = !row->of || !row->ridge;
            free_row(row);
            if (no_memory)
                goto fail;
        }
    }
    return RP_OK;
fail:
    rp_comparison_free(comparison);
    return rp_fail(error, RP_INTERNAL, "out of memory");
}

void rp_comparison_free(rp_comparison *comparison) {
    for (size_t r = 0; r < comparison->row_count; r++)
        free_row(&comparison->rows[r]);
    free(comparison->rows);
    free(comparison->devices);
    *comparison = (rp_comparison){0};
}

const rp_compare_row *rp_comparison_find(const rp_comparison *comparison, const char *key) {
    for (size_t r = 0; r < comparison->row_count; r++)
        if (!strcmp(comparison->rows[r].key, key))
            return &comparison->rows[r];
    return NULL;
}

double rp_compare_ratio(const rp_compare_row *row, size_t i, int level) {
    if (level >= 0)
        return row->ridge[i][level] / row->ridge[0][level];
    return row->of[i] && row->of[0] ? row->of[i]->rate / row->of[0]->rate : NAN;
}
