/* SPDX-License-Identifier: Apache-2.0
 *
 * The locale of a file's numbers, found from its own cells. One cell that is possible in one locale
 * only proves it. Without such a cell, units that come in whole numbers tell: three digits behind a
 * lone separator are then a group of thousands. What is left cannot be decided, and is refused with
 * the cells named, for a factor of 1000 is no rounding error.
 */
#ifndef RP_IMPORTERS_NCU_LOCALE_H
#define RP_IMPORTERS_NCU_LOCALE_H

#include "importers/ncu_number.h"
#include "support/error.h"
#include <stdint.h>

/* A cell of a table, as read; the texts need not end in NUL. */
typedef struct ncu_cell {
    uint64_t line; /* of the file, from 1 */
    const char *metric, *unit, *text;
    size_t metric_length, unit_length, length;
} ncu_cell;

/* A cell that is remembered, in printable form. */
typedef struct ncu_evidence {
    uint64_t line; /* 0: none */
    char metric[96], text[48];
} ncu_evidence;

typedef struct ncu_weights {             /* zero-initialise */
    ncu_evidence point, comma;           /* proofs */
    ncu_evidence weak_point, weak_comma; /* whole numbers */
    ncu_evidence either[2];              /* cells that need the answer */
} ncu_weights;

/* Takes CELL into account. True: the locale is proven, no further cell is needed. */
bool ncu_locale_weigh(ncu_weights *weights, const ncu_cell *cell);

/* The verdict; NCU_LOCALE_POINT if no cell needs one. RP_INPUT if there is none, or two. */
rp_code ncu_locale_decide(const ncu_weights *weights, const char *path, ncu_locale *locale,
                          rp_error *error);

/* The cell that proved LOCALE, or else made it likely. */
const ncu_evidence *ncu_locale_evidence(const ncu_weights *weights, ncu_locale locale);

/* RP_INPUT if a CELL of this SHAPE cannot be in a file of LOCALE. */
rp_code ncu_locale_check(const ncu_weights *weights, ncu_locale locale, ncu_shape shape,
                         const ncu_cell *cell, const char *path, rp_error *error);

#endif
