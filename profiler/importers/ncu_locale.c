/* SPDX-License-Identifier: Apache-2.0
 *
 * Deciding the locale of a file; see ncu_locale.h.
 */
#include "importers/ncu_locale.h"

#include "support/text.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void remember(ncu_evidence *evidence, const ncu_cell *cell) {
    if (evidence->line)
        return;
    char *metric =
        rp_text_printable(cell->metric, cell->metric_length < 80 ? cell->metric_length : 80);
    char *text = rp_text_printable(cell->text, cell->length < 40 ? cell->length : 40);
    evidence->line = cell->line;
    snprintf(evidence->metric, sizeof evidence->metric, "%s", metric ? metric : "?");
    snprintf(evidence->text, sizeof evidence->text, "%s", text ? text : "?");
    free(metric);
    free(text);
}

static bool is_nanoseconds(const ncu_cell *cell) {
    return (cell->unit_length == 2 && memcmp(cell->unit, "ns", 2) == 0) ||
           (cell->unit_length == 7 && memcmp(cell->unit, "nsecond", 7) == 0);
}

/* Bytes and instructions are whole, so that three digits after a lone separator are a group of
 * thousands. In nanoseconds a lone comma is one too: where it is the decimal mark, ncu prints two
 * decimals. A lone point there proves nothing. */
static ncu_evidence *weak_slot(ncu_weights *weights, const ncu_cell *cell) {
    bool comma = memchr(cell->text, ',', cell->length);
    bool count = ncu_unit_is_count(cell->unit, cell->unit_length);
    if (comma && (count || is_nanoseconds(cell)))
        return &weights->weak_point;
    if (!comma && count)
        return &weights->weak_comma;
    return weights->either[0].line ? &weights->either[1] : &weights->either[0];
}

bool ncu_locale_weigh(ncu_weights *weights, const ncu_cell *cell) {
    double value;
    switch (ncu_number_read(cell->text, cell->length, NCU_LOCALE_UNKNOWN, &value, NULL)) {
    case NCU_POINT:
        remember(&weights->point, cell);
        return true;
    case NCU_COMMA:
        remember(&weights->comma, cell);
        return true;
    case NCU_EITHER:
        remember(weak_slot(weights, cell), cell);
        return false;
    default:
        return false;
    }
}

static rp_code contradiction(const ncu_evidence *a, const ncu_evidence *b, const char *path,
                             rp_error *error) {
    return rp_fail(
        error, RP_INPUT,
        "%s: the numbers follow two locales: %s is \"%s\" in line %llu and %s is \"%s\" in "
        "line %llu, so what a point or comma means cannot be told. Export the file again "
        "with LC_ALL=C",
        path, a->metric, a->text, (unsigned long long)a->line, b->metric, b->text,
        (unsigned long long)b->line);
}

static rp_code undecidable(const ncu_evidence *cells, const char *path, rp_error *error) {
    char second[200] = "";
    if (cells[1].line)
        snprintf(second, sizeof second, ", %s = \"%s\" in line %llu", cells[1].metric,
                 cells[1].text, (unsigned long long)cells[1].line);
    return rp_fail(
        error, RP_INPUT,
        "%s: %s = \"%s\" in line %llu%s: the separator may mark thousands or decimals, and "
        "no other number in the file tells which. Export it again with LC_ALL=C, or import "
        "the .ncu-rep file",
        path, cells[0].metric, cells[0].text, (unsigned long long)cells[0].line, second);
}

rp_code ncu_locale_decide(const ncu_weights *weights, const char *path, ncu_locale *locale,
                          rp_error *error) {
    const ncu_weights *w = weights;
    *locale = NCU_LOCALE_POINT;
    if (w->point.line && w->comma.line)
        return contradiction(&w->point, &w->comma, path, error);
    if (w->point.line || w->comma.line) {
        *locale = w->point.line ? NCU_LOCALE_POINT : NCU_LOCALE_COMMA;
        return RP_OK;
    }
    if (w->weak_point.line && w->weak_comma.line)
        return contradiction(&w->weak_point, &w->weak_comma, path, error);
    if (w->weak_comma.line)
        *locale = NCU_LOCALE_COMMA;
    bool known = w->weak_comma.line || w->weak_point.line;
    return known || !w->either[0].line ? RP_OK : undecidable(w->either, path, error);
}

const ncu_evidence *ncu_locale_evidence(const ncu_weights *weights, ncu_locale locale) {
    if (locale == NCU_LOCALE_COMMA)
        return weights->comma.line ? &weights->comma : &weights->weak_comma;
    return weights->point.line ? &weights->point : &weights->weak_point;
}

rp_code ncu_locale_check(const ncu_weights *weights, ncu_locale locale, ncu_shape shape,
                         const ncu_cell *cell, const char *path, rp_error *error) {
    ncu_shape alien = locale == NCU_LOCALE_COMMA ? NCU_POINT : NCU_COMMA;
    if (shape != alien)
        return RP_OK;
    ncu_evidence here = {0};
    remember(&here, cell);
    return contradiction(ncu_locale_evidence(weights, locale), &here, path, error);
}
