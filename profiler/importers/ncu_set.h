/* SPDX-License-Identifier: Apache-2.0
 *
 * Sets of small numbers (metrics), interned: launches of one run have the same few sets of metrics,
 * so a launch keeps the number of its set and no copy of it.
 */
#ifndef RP_IMPORTERS_NCU_SET_H
#define RP_IMPORTERS_NCU_SET_H

#include "support/map.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct ncu_set { /* member m is bit m % 64 of words[m / 64]; owned by its ncu_sets */
    const uint64_t *words;
    size_t count;
} ncu_set;

typedef struct ncu_sets { /* zero-initialise */
    rp_map known;
    ncu_set *sets;
    size_t count, capacity;
    uint64_t *draft; /* the set that is being made */
    size_t draft_words, draft_capacity;
} ncu_sets;

#define NCU_NO_SET SIZE_MAX

/* Starts a draft with the members of set BASE (NCU_NO_SET: none). False: no memory. */
bool ncu_sets_draft(ncu_sets *sets, size_t base);
bool ncu_sets_add(ncu_sets *sets, size_t member);
/* The number of the set that the draft is; NCU_NO_SET: no memory. */
size_t ncu_sets_intern(ncu_sets *sets);
void ncu_sets_free(ncu_sets *sets);

static inline bool ncu_set_has(const ncu_set *set, size_t member) {
    return member / 64 < set->count && set->words[member / 64] >> (member % 64) & 1;
}

#endif
