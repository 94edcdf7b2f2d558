/* SPDX-License-Identifier: Apache-2.0
 *
 * Reports made by hand: see sample.h.
 */
#include "sample.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static rp_ceiling compute(rp_hw_precision precision, rp_hw_path path, double rate) {
    return (rp_ceiling){.compute = true,
                        .precision = precision,
                        .path = path,
                        .rate = rate,
                        .clock_hz = 1.98e9,
                        .provenance = RP_THEORETICAL,
                        .source = "test"};
}

static rp_ceiling bandwidth(rp_hw_level level, double rate) {
    return (rp_ceiling){
        .level = level, .rate = rate, .provenance = RP_THEORETICAL, .source = "test"};
}

static void make_device(rp_report_device *d) {
    const rp_ceiling all[] = {bandwidth(RP_DRAM, 3.352e12),
                              bandwidth(RP_L2, 5.5e12),
                              bandwidth(RP_L1, 33.4e12),
                              bandwidth(RP_SHARED, 33.4e12),
                              compute(RP_FP64, RP_VECTOR, 33.5e12),
                              compute(RP_FP32, RP_VECTOR, 66.9e12),
                              compute(RP_FP16, RP_VECTOR, 133.8e12),
                              compute(RP_TF32, RP_TENSOR, 494.7e12),
                              compute(RP_BF16, RP_TENSOR, 989.4e12),
                              compute(RP_FP16, RP_TENSOR, 989.4e12),
                              compute(RP_FP8, RP_TENSOR, 1978.9e12),
                              compute(RP_INT8, RP_TENSOR, 1978.9e12)};
    d->name = strdup("NVIDIA H100 80GB HBM3");
    d->chip = strdup("GH100");
    d->compute_capability = strdup("9.0");
    d->source = strdup("theoretical at the observed clock of 1.74 GHz");
    d->ceilings = malloc(sizeof all);
    memcpy(d->ceilings, all, sizeof all);
    d->ceiling_count = sizeof all / sizeof all[0];
}

static void make_kernel(rp_report_kernel *k, size_t i, size_t n, const char *name) {
    char *text = malloc(strlen(name) + 24);
    static const rp_bound bounds[] = {RP_BOUND_MEMORY, RP_BOUND_COMPUTE, RP_BOUND_LATENCY,
                                      RP_BOUND_BALANCED, RP_BOUND_UNKNOWN};
    sprintf(text, n == 1 ? "%s" : "%s%zu", name, i + 1);
    k->number = (int)i + 1;
    k->name = text;
    k->short_name = text;
    k->launches = 10 + i;
    k->time_share = n == 1 ? 0.9 : 0.62 * pow(0.62, (double)i);
    k->time_s = 0.02 * k->time_share;
    for (int p = 0; p < RP_PRECISIONS; p++)
        k->flops[p][0] = k->flops[p][1] = NAN;
    for (int l = 0; l < RP_LEVELS; l++)
        k->bytes[l] = k->intensity[l] = NAN;
    k->flops_fp16_acc16_tensor = k->nominal_fraction = k->calibrated_fraction = NAN;
    k->bound = bounds[i % 5];
    snprintf(k->bound_by, sizeof k->bound_by, "%s",
             k->bound == RP_BOUND_MEMORY    ? "dram"
             : k->bound == RP_BOUND_COMPUTE ? "fp32_vector"
                                            : "");
    k->flops_provenance = k->bytes_provenance = RP_COUNTED;
    k->time_provenance = RP_MEASURED;
    double intensity = 0.15 * pow(1.9, (double)(i % 13)),
           reach = i == 1 ? 1.15 : 0.25 + 0.11 * (double)(i % 6);
    double peak = i % 4 == 1 ? 989.4e12 : 66.9e12;
    k->flops_per_s = reach * fmin(3.352e12 * intensity, peak);
    k->above_roof = i == 1;
    k->roof_fraction = reach;
    k->intensity[RP_DRAM] = intensity;
    k->intensity[RP_L2] = intensity / 2.5;
    k->intensity[RP_L1] = intensity / 7;
    k->flops_total = k->flops_per_s * k->time_s;
    k->bytes[RP_DRAM] = k->flops_total / intensity;
    k->flops[RP_FP32][RP_VECTOR] = k->flops_total;
    if (i % 4 == 1)
        k->flops[RP_BF16][RP_TENSOR] = k->flops_total;
    if (i % 7 == 4) {
        k->flops_total = k->flops_per_s = k->flops[RP_FP32][RP_VECTOR] = 0;
        k->bytes[RP_DRAM] = 3.352e12 * (0.3 + 0.08 * (double)(i % 5)) * k->time_s;
        k->intensity[RP_DRAM] = 0;
    }
}

void sample_make(rp_report *report, size_t kernels, const char *name) {
    memset(report, 0, sizeof *report);
    report->devices = calloc(1, sizeof *report->devices);
    report->device_count = 1;
    make_device(report->devices);
    report->kernels = calloc(kernels + 1, sizeof *report->kernels);
    report->kernel_count = kernels;
    for (size_t i = 0; i < kernels; i++)
        make_kernel(&report->kernels[i], i, kernels, name);
}

void sample_one_level(rp_report *report) {
    rp_report_device *d = report->devices;
    size_t kept = 0;
    for (size_t i = 0; i < d->ceiling_count; i++) {
        const rp_ceiling *c = &d->ceilings[i];
        if (c->compute ? c->precision == RP_FP32 : c->level == RP_DRAM)
            d->ceilings[kept++] = *c;
    }
    d->ceiling_count = kept;
}

void sample_free(rp_report *report) {
    for (size_t i = 0; i < report->kernel_count; i++)
        free((char *)report->kernels[i].name);
    free(report->kernels);
    free(report->devices->name);
    free(report->devices->chip);
    free(report->devices->compute_capability);
    free(report->devices->source);
    free(report->devices->ceilings);
    free(report->devices);
}
