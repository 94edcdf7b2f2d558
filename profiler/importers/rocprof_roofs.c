/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading of roofline.csv, behind rocprof_roofs.h. Columns are "HBMBw", "HBMBwLow", "HBMBwHigh" and
 * so on; the first of each three is the mean, and the only one used.
 */
#include "importers/rocprof_roofs.h"
#include "importers/rows.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

static const struct {
    const char *column, *precision, *path, *level;
} ceilings[] = {{"HBMBw", "", "", "dram"},
                {"L2Bw", "", "", "l2"},
                {"L1Bw", "", "", "l1"},
                {"LDSBw", "", "", "shared"},
                {"FP16Flops", "fp16", "vector", ""},
                {"FP32Flops", "fp32", "vector", ""},
                {"FP64Flops", "fp64", "vector", ""},
                {"MFMAF8Flops", "fp8", "tensor", ""},
                {"MFMABF16Flops", "bf16", "tensor", ""},
                {"MFMAF16Flops", "fp16", "tensor", ""},
                {"MFMAF32Flops", "fp32", "tensor", ""},
                {"MFMAF64Flops", "fp64", "tensor", ""},
                {"MFMAI8Ops", "int8", "tensor", ""}};
enum { CEILINGS = sizeof ceilings / sizeof *ceilings };

typedef struct roofs {
    bool have_header;
    size_t column[CEILINGS]; /* SIZE_MAX absent */
    int64_t wanted, device;  /* DEVICE: whose row is held */
    double rate[CEILINGS];   /* GB/s or GFLOP/s; NAN none */
    size_t rows;
} roofs;

bool rp_rocprof_is_roofs(const char *line, size_t length) {
    static const char start[] = "device,HBMBw";
    return length >= sizeof start - 1 && !strncasecmp(line, start, sizeof start - 1);
}

static void read_header(roofs *r, const rp_row *row) {
    for (size_t k = 0; k < CEILINGS; k++) {
        r->column[k] = SIZE_MAX;
        for (size_t i = 0; i < row->count && r->column[k] == SIZE_MAX; i++)
            if (!strcasecmp(row->cell[i], ceilings[k].column))
                r->column[k] = i;
    }
    r->have_header = true;
}

static rp_code take_row(void *context, const rp_row *row, rp_error *error) {
    (void)error;
    roofs *r = context;
    if (!r->have_header) {
        read_header(r, row);
        return RP_OK;
    }
    int64_t device = -1;
    rp_integer(row->cell[0], &device);
    if (r->rows++ && device != r->wanted)
        return RP_OK;
    r->device = device;
    for (size_t k = 0; k < CEILINGS; k++)
        if (r->column[k] >= row->count || !rp_number(row->cell[r->column[k]], &r->rate[k]))
            r->rate[k] = NAN;
    return RP_OK;
}

/* PATH with FROM in its file name replaced by TO; NULL if it is not in there, or no memory. */
static char *sibling(const char *path, const char *from, const char *to) {
    const char *slash = strrchr(path, '/');
    const char *at = strstr(slash ? slash + 1 : path, from);
    char *other = NULL;
    if (at && asprintf(&other, "%.*s%s%s", (int)(at - path), path, to, at + strlen(from)) < 0)
        return NULL;
    return other;
}

static rp_code store(rp_capture *capture, int64_t id, const roofs *r, const char *file,
                     rp_error *error) {
    rp_code code = RP_OK;
    for (size_t k = 0; k < CEILINGS && !code; k++) {
        rp_capture_ceiling ceiling = {
            .compute = !ceilings[k].level[0], .rate = r->rate[k] * 1e9, .provenance = RP_IMPORTED};
        if (!(ceiling.rate > 0))
            continue;
        strcpy(ceiling.precision, ceilings[k].precision);
        strcpy(ceiling.path, ceilings[k].path);
        strcpy(ceiling.level, ceilings[k].level);
        code = rp_capture_add_ceiling(capture, id, &ceiling, error);
    }
    return code ? code
                : rp_capture_add_note(capture, "info", error,
                                      "ceilings measured by rocprof-compute (its device %" PRId64
                                      ") were read from %s",
                                      r->device, file);
}

rp_code rp_rocprof_roofs_beside(const char *path, rp_capture *capture, int64_t id, int64_t ordinal,
                                bool only, rp_error *error) {
    char *file = sibling(path, "pmc_perf", "roofline");
    roofs r = {.wanted = ordinal, .device = -1};
    rp_rows rows = {NULL, take_row, &r};
    rp_code code = RP_OK;
    if (file && access(file, R_OK) == 0) {
        code = rp_rows_read(file, &rows, NULL, error);
        bool its = r.rows && (r.device == ordinal || (only && r.rows == 1));
        if (!code && its)
            code = store(capture, id, &r, file, error);
    }
    free(file);
    return code;
}

rp_code rp_rocprof_roofs_only(const char *path, rp_capture *capture, rp_error *error) {
    char *counters = sibling(path, "roofline", "pmc_perf");
    bool there = counters && access(counters, R_OK) == 0;
    free(counters);
    if (there)
        return rp_capture_add_note(capture, "info", error,
                                   "the ceilings in %s are read along with the counters beside it",
                                   path);
    return rp_fail(error, RP_INPUT,
                   "%s: holds measured ceilings and no kernel; give the pmc_perf.csv of the same "
                   "folder, the ceilings beside it are read along",
                   path);
}
