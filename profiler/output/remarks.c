/* SPDX-License-Identifier: Apache-2.0
 *
 * Remarks, each said once; see remarks.h.
 */
#include "output/remarks.h"

#include "support/map.h"
#include "support/text.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAMED 6 /* kernels that a remark names before it says how many more there are */

static void name_kernel(rp_remark *remark, int number) {
    size_t used = strlen(remark->kernels);
    if (remark->count++ < NAMED)
        snprintf(remark->kernels + used, sizeof remark->kernels - used, "%s#%d", used ? " " : "",
                 number);
}

static void add(rp_remarks *remarks, rp_map *seen, int number, const char *text) {
    int64_t *place = rp_map_put(seen, text, strlen(text), NULL);
    if (!place)
        return;
    if (*place < 0) {
        rp_remark *grown = realloc(remarks->items, (remarks->count + 1) * sizeof *grown);
        char *copy = rp_text_printable(text, strlen(text));
        if (grown)
            remarks->items = grown;
        if (!grown || !copy) {
            free(copy);
            return;
        }
        grown[remarks->count] = (rp_remark){.text = copy};
        *place = (int64_t)remarks->count++;
    }
    name_kernel(&remarks->items[*place], number);
}

static void add_kernel(rp_remarks *remarks, rp_map *seen, const rp_report_kernel *kernel) {
    char line[512];
    if (kernel->above_roof) {
        snprintf(line, sizeof line, "above the roof: %s", kernel->above_reason);
        add(remarks, seen, kernel->number, line);
    }
    if (kernel->reason[0] && !kernel->modelled) {
        snprintf(line, sizeof line, "%s: %s", rp_bound_name(kernel->bound), kernel->reason);
        add(remarks, seen, kernel->number, line);
    }
    for (size_t i = 0; i < kernel->note_count; i++)
        add(remarks, seen, kernel->number, kernel->notes[i]);
}

void rp_remarks_make(const rp_report *report, size_t shown, rp_remarks *remarks) {
    rp_map seen = {0};
    memset(remarks, 0, sizeof *remarks);
    for (size_t i = 0; i < shown; i++)
        add_kernel(remarks, &seen, &report->kernels[i]);
    for (size_t i = 0; i < remarks->count; i++) {
        rp_remark *remark = &remarks->items[i];
        size_t used = strlen(remark->kernels);
        if (remark->count > NAMED)
            snprintf(remark->kernels + used, sizeof remark->kernels - used, " and %zu more",
                     remark->count - NAMED);
    }
    rp_map_free(&seen);
}

void rp_remarks_free(rp_remarks *remarks) {
    for (size_t i = 0; i < remarks->count; i++)
        free(remarks->items[i].text);
    free(remarks->items);
    memset(remarks, 0, sizeof *remarks);
}
