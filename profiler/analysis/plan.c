/* SPDX-License-Identifier: Apache-2.0
 *
 * Plans (plan.h): the ceilings of each device, its memory and its step, which of capacity,
 * bandwidth, compute and communication bounds it, and the assumptions that all of it stands on.
 */
#include "analysis/plan_internal.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Assumptions and notes ------------------------------------------------------------------- */

static void assume(rp_plan *plan, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void assume(rp_plan *plan, const char *format, ...) {
    const size_t room = sizeof plan->assumptions / sizeof *plan->assumptions;
    va_list arguments;
    if (plan->assumption_count == room)
        return;
    va_start(arguments, format);
    vsnprintf(plan->assumptions[plan->assumption_count++], sizeof plan->assumptions[0], format,
              arguments);
    va_end(arguments);
}

void rp_plan_note(rp_plan_device *d, const char *format, ...) {
    va_list arguments;
    if (d->note_count == RP_PLAN_NOTES)
        return;
    va_start(arguments, format);
    vsnprintf(d->notes[d->note_count++], sizeof d->notes[0], format, arguments);
    va_end(arguments);
}

static void assume_training(rp_plan *plan) {
    const rp_plan_request *r = &plan->request;
    static const char *const checkpoints[] = {"kept whole",
                                              "selective: attention scores are not kept",
                                              "full: each layer's input alone is kept"};

    assume(plan, "training states: %s weights, %s gradients, %s%s", rp_precision_name(r->dtype),
           rp_precision_name(r->grad_dtype),
           r->optimizer == RP_ADAM        ? "Adam with two FP32 moments"
           : r->optimizer == RP_ADAM_8BIT ? "Adam with two 8-bit moments"
           : r->optimizer == RP_MOMENTUM  ? "momentum in FP32"
                                          : "plain SGD",
           r->master && rp_plan_bytes(r->dtype) < 4 ? ", FP32 master weights" : "");
    assume(plan, "ZeRO stage %d over %lld data-parallel ranks%s", r->zero, (long long)r->dp,
           r->zero == 3 ? " (as FSDP: weights, gradients and optimizer are partitioned)" : "");
    if (rp_model_has_shape(&r->model))
        assume(plan, "activations %s; 16-bit GPT block with dropout (34 sbh + 5 a s^2 b a layer)",
               checkpoints[r->checkpoint]);
    else
        assume(plan, "activations are left out: they need a shape (--layers, --hidden, --heads)");
    assume(plan,
           "FLOPs: 6 per active parameter and token%s; recomputation is added to the time, not "
           "to the useful work",
           rp_model_has_shape(&r->model) ? ", attention scores besides" : "");
    assume(plan,
           "likely time: model FLOPs utilisation of %.0f to %.0f %%, as published for 16-bit "
           "training",
           100 * RP_PLAN_MFU_LOW, 100 * RP_PLAN_MFU_HIGH);
}

static void assume_inference(rp_plan *plan) {
    const rp_plan_request *r = &plan->request;

    assume(plan, "decode: each step reads the weights once and each sequence's KV cache once, and "
                 "makes one token a sequence");
    if (rp_model_has_shape(&r->model))
        assume(plan, "KV cache in %s at a context of %g tokens, no page waste",
               rp_precision_name(r->kv_dtype), r->sequence);
    else
        assume(plan, "the KV cache is left out: it needs a shape (--layers, --hidden, --heads)");
    assume(plan, "FLOPs: 2 per active parameter and token%s",
           rp_model_has_shape(&r->model) ? ", attention scores besides" : "");
    if (plan->params_active < plan->params)
        assume(plan, "mixture of experts: tokens choose experts independently");
}

static void write_assumptions(rp_plan *plan) {
    const rp_plan_request *r = &plan->request;

    if (plan->params_active < plan->params)
        assume(plan, "%.3g of %.3g billion parameters are active for a token",
               plan->params_active / 1e9, plan->params / 1e9);
    if (r->mode == RP_PLAN_TRAIN)
        assume_training(plan);
    else
        assume_inference(plan);
    assume(plan, "%.3g GB a device for context, workspaces and communication buffers",
           r->buffers / 1e9);
    if (r->offload != RP_OFFLOAD_NONE)
        assume(plan, "offload: %s in the host's memory; the copies over PCIe are not overlapped",
               r->offload == RP_OFFLOAD_OPTIMIZER ? "optimizer and master weights"
                                                  : "weights, gradients and optimizer");
    if (r->count > 1)
        assume(plan, "communication at the links' peak, without latency: a lower bound");
    assume(plan, "GB are 1e9 bytes; peaks are dense");
}

/* ---- Ceilings of a device -------------------------------------------------------------------- */

/* What does the arithmetic of values kept as DTYPE. */
static rp_hw_precision compute_precision(rp_hw_precision dtype) {
    return dtype == RP_INT4 || dtype == RP_INT1 ? RP_FP16 : dtype;
}

static size_t source_order(rp_compare_source source, rp_provenance order[4]) {
    static const rp_provenance orders[][4] = {
        {RP_DATASHEET, RP_THEORETICAL, RP_ESTIMATED, RP_ABSENT},
        {RP_THEORETICAL, RP_DATASHEET, RP_ESTIMATED, RP_ABSENT},
        {RP_CALIBRATED, RP_THEORETICAL, RP_DATASHEET, RP_ESTIMATED}};
    memcpy(order, orders[source], sizeof orders[source]);
    return 4;
}

static const rp_ceiling *compute_ceiling(const rp_device *d, rp_hw_precision dtype,
                                         rp_compare_source source) {
    rp_provenance order[4];
    size_t n = source_order(source, order);
    rp_hw_precision p = compute_precision(dtype);
    rp_ceiling like = {.compute = true, .precision = p, .path = RP_TENSOR};
    const rp_ceiling *c = rp_device_ceiling(d, &like, order, n);

    like.path = RP_VECTOR;
    return c ? c : rp_device_ceiling(d, &like, order, n);
}

static bool has_any_compute(const rp_device *d) {
    for (size_t i = 0; i < d->ceiling_count; i++)
        if (d->ceilings[i].compute)
            return true;
    return false;
}

static rp_code find_ceilings(const rp_plan_request *r, rp_plan_device *d, rp_error *error) {
    rp_provenance order[4];
    size_t n = source_order(r->ceilings, order);
    rp_ceiling like = {.level = RP_DRAM};
    const rp_ceiling *dram = rp_device_ceiling(d->device, &like, order, n);
    const rp_ceiling *peak = compute_ceiling(d->device, r->dtype, r->ceilings);

    if (!peak && has_any_compute(d->device))
        return rp_fail(error, RP_USAGE, "%s has no %s arithmetic", d->device->name,
                       rp_precision_name(compute_precision(r->dtype)));
    if (!peak)
        rp_plan_note(d,
                     "no peak of %s is in the hardware database: limits by compute are not known",
                     d->device->name);
    if (!dram)
        rp_plan_note(
            d,
            "the DRAM bandwidth of %s is not in the hardware database: limits by bandwidth are "
            "not known",
            d->device->name);
    d->peak_flops = peak ? peak->rate : NAN;
    d->peak_provenance = peak ? peak->provenance : RP_ABSENT;
    d->dram_bytes_per_s = dram ? dram->rate : NAN;
    d->dram_provenance = dram ? dram->provenance : RP_ABSENT;
    d->memory_bytes = d->device->memory_bytes > 0 ? (double)d->device->memory_bytes : NAN;
    if (isnan(d->memory_bytes))
        rp_plan_note(d, "the memory size of %s is not in the hardware database", d->device->name);
    return RP_OK;
}

/* ---- A device of the plan -------------------------------------------------------------------- */

static void find_bound(rp_plan_device *d) {
    const struct {
        const char *name;
        double seconds;
    } times[] = {{"bandwidth", d->memory_s},
                 {"compute", d->compute_s},
                 {"communication", d->communication_s}};
    const char *bound = "unknown";

    d->roof_s = NAN;
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        if (!isnan(times[i].seconds) && !(times[i].seconds <= d->roof_s)) {
            d->roof_s = times[i].seconds;
            bound = times[i].name;
        }
    if (isnan(d->memory_s) || isnan(d->compute_s))
        bound = "unknown";
    if (d->likely_low_s < d->roof_s) /* no run is faster than its roof */
        d->likely_low_s = d->roof_s;
    if (d->likely_high_s < d->likely_low_s)
        d->likely_high_s = d->likely_low_s;
    if (d->fits == 0)
        bound = "capacity";
    snprintf(d->bound, sizeof d->bound, "%s", bound);
}

static rp_code plan_device(const rp_hwdb *db, const rp_plan_request *r, const rp_device *device,
                           rp_plan_device *d, rp_error *error) {
    rp_code code;

    *d = (rp_plan_device){.device = device,
                          .count = r->count,
                          .tp = r->tp,
                          .pp = r->pp,
                          .dp = r->dp,
                          .likely_low_s = NAN,
                          .likely_high_s = NAN,
                          .mfu_low = NAN,
                          .mfu_high = NAN,
                          .ridge_batch = NAN,
                          .ridge_batch_weights = NAN,
                          .required_bytes_per_s = NAN,
                          .min_count_by_bandwidth = -1};
    if ((code = find_ceilings(r, d, error)) || (code = rp_plan_fit(r, d, error)))
        return code;
    if (r->mode == RP_PLAN_TRAIN)
        rp_plan_train(db, r, d);
    else
        rp_plan_decode(db, r, d);
    find_bound(d);
    return RP_OK;
}

rp_code rp_plan_make(const rp_hwdb *db, const rp_plan_request *request,
                     const rp_device *const *devices, size_t n, rp_plan *plan, rp_error *error) {
    rp_code code;

    *plan = (rp_plan){.request = *request};
    if ((code = rp_plan_complete(&plan->request, error)))
        return code;
    if (!rp_hwdb_find_link(db, plan->request.network))
        return rp_fail(error, RP_USAGE, "\"%.40s\" is no link of interconnect.csv (as in ib-ndr)",
                       plan->request.network);
    plan->params = rp_model_params(&plan->request.model);
    plan->params_active = rp_model_params_active(&plan->request.model);
    plan->devices = calloc(n ? n : 1, sizeof *plan->devices);
    if (!plan->devices)
        return rp_fail(error, RP_INTERNAL, "out of memory");
    for (size_t i = 0; i < n && code == RP_OK; i++) {
        code = plan_device(db, &plan->request, devices[i], &plan->devices[i], error);
        plan->device_count = i + 1;
    }
    if (code != RP_OK)
        rp_plan_free(plan);
    else
        write_assumptions(plan);
    return code;
}

void rp_plan_free(rp_plan *plan) {
    free(plan->devices);
    plan->devices = NULL;
    plan->device_count = 0;
}
