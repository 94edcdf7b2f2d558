/* SPDX-License-Identifier: Apache-2.0
 *
 * Lists of names: see nvperf.h.
 */
#include "emulator/nvperf/nvperf.h"
#include <stdlib.h>
#include <string.h>

bool names_add(name_list *l, const char *name) {
    for (size_t i = 0; i < l->count; i++)
        if (!strcmp(l->names[i], name))
            return true;
    char **grown = realloc(l->names, (l->count + 1) * sizeof *grown);
    if (!grown)
        return false;
    l->names = grown;
    if (!(grown[l->count] = strdup(name)))
        return false;
    l->count++;
    l->bytes += strlen(name) + 1;
    return true;
}

void names_copy(const name_list *l, char *to) {
    for (size_t i = 0; i < l->count; i++)
        to = stpcpy(to, l->names[i]) + 1;
}

void names_free(name_list *l) {
    for (size_t i = 0; i < l->count; i++)
        free(l->names[i]);
    free(l->names);
    *l = (name_list){0};
}
