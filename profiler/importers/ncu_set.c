/* SPDX-License-Identifier: Apache-2.0
 *
 * Interned sets; see ncu_set.h.
 */
#include "importers/ncu_set.h"

#include "support/array.h"
#include <stdlib.h>
#include <string.h>

static bool draft_room(ncu_sets *sets, size_t words) {
    while (sets->draft_words < words) {
        if (!RP_ARRAY_ROOM(sets->draft, sets->draft_capacity, sets->draft_words))
            return false;
        sets->draft[sets->draft_words++] = 0;
    }
    return true;
}

bool ncu_sets_draft(ncu_sets *sets, size_t base) {
    sets->draft_words = 0;
    if (base == NCU_NO_SET)
        return true;
    const ncu_set *from = &sets->sets[base];
    if (!draft_room(sets, from->count))
        return false;
    if (from->count > 0)
        memcpy(sets->draft, from->words, from->count * sizeof *from->words);
    return true;
}

bool ncu_sets_add(ncu_sets *sets, size_t member) {
    if (!draft_room(sets, member / 64 + 1))
        return false;
    sets->draft[member / 64] |= UINT64_C(1) << (member % 64);
    return true;
}

size_t ncu_sets_intern(ncu_sets *sets) {
    size_t words = sets->draft_words;
    while (words > 0 && sets->draft[words - 1] == 0)
        words--;
    bool added;
    const void *key = words > 0 ? (const void *)sets->draft : "";
    int64_t *at = rp_map_put(&sets->known, key, words * sizeof *sets->draft, &added);
    if (!at)
        return NCU_NO_SET;
    if (!added)
        return (size_t)*at;
    uint64_t *copy = calloc(words + 1, sizeof *copy);
    if (!copy || !RP_ARRAY_ROOM(sets->sets, sets->capacity, sets->count)) {
        free(copy);
        return NCU_NO_SET;
    }
    memcpy(copy, key, words * sizeof *copy);
    *at = (int64_t)sets->count;
    sets->sets[sets->count] = (ncu_set){.words = copy, .count = words};
    return sets->count++;
}

void ncu_sets_free(ncu_sets *sets) {
    for (size_t i = 0; i < sets->count; i++)
        free((void *)sets->sets[i].words);
    free(sets->sets);
    free(sets->draft);
    rp_map_free(&sets->known);
    *sets = (ncu_sets){0};
}
