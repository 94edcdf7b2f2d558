/* SPDX-License-Identifier: Apache-2.0
 *
 * Compute ceilings: each kernel over a sweep of occupancies, the best verified and then held for a
 * while to see what is left of it once the device is warm.
 */
#include "kernels/images.h"
#include "kernels/operands.h"
#include "kernels/session.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TRY(CALL, ...) rp_cuda_check(&session->cuda, session->cuda.CALL, error, __VA_ARGS__)

/* One kernel, vector or tensor, ready to run. */
typedef struct job {
    const rp_vector_kernel *vector; /* one of the two */
    const rp_tensor_kernel *tensor;
    const char *name;
    cu_function function;
    cu_address input, output;
    size_t output_words;
    int word_bytes;
} job;

typedef struct variant {
    int threads, blocks_per_sm;
    uint32_t iterations;
    double rate;
    rp_timing timing;
} variant;

static rp_work work_of(const job *j, uint64_t blocks, uint64_t threads, uint64_t iterations) {
    return j->vector ? rp_vector_work(j->vector, blocks, threads, iterations)
                     : rp_tensor_work(j->tensor, blocks, threads, iterations);
}

static rp_code prepare(rp_session *session, job *j, rp_error *error) {
    size_t bytes = 0;
    void *input =
        j->vector ? rp_vector_input(j->vector, &bytes) : rp_tensor_input(j->tensor, &bytes);
    rp_image_name image = j->vector          ? RP_IMAGE_VECTOR
                          : j->tensor->wgmma ? RP_IMAGE_WGMMA
                                             : RP_IMAGE_MMA;
    rp_code code;

    if (!input)
        return rp_fail(error, RP_INTERNAL, "no memory for the operands of %s", j->name);
    j->word_bytes = j->vector ? j->vector->word_bytes : j->tensor->number == RP_NUMBER_FP64 ? 8 : 4;
    j->output_words = (size_t)session->sms * 2048;
    (void)((code = rp_session_function(session, image, j->name, &j->function, error)) ||
           (code = rp_session_allocate(session, bytes, &j->input, error)) ||
           (code = rp_session_allocate(session, j->output_words * (size_t)j->word_bytes, &j->output,
                                       error)) ||
           (code = TRY(cuMemcpyHtoD_v2(j->input, input, bytes), "a copy")));
    free(input);
    return code;
}

static void discard(rp_session *session, job *j) {
    rp_session_release(session, j->input);
    rp_session_release(session, j->output);
}

static rp_code time_variant(rp_session *session, job *j, variant *v, int repeats, rp_error *error) {
    void *parameters[] = {&j->input, &j->output, NULL, &v->iterations};
    uint64_t grid = (uint64_t)session->sms * (uint64_t)v->blocks_per_sm;
    rp_launch launch = {j->function, (unsigned)grid, (unsigned)v->threads, parameters, 2};
    rp_code code = rp_time_launch(session, &launch, repeats, &v->timing, error);

    if (code == RP_OK)
        v->rate =
            work_of(j, grid, (uint64_t)v->threads, v->iterations).operations / v->timing.seconds;
    return code;
}

/* Iterations that take SECONDS, from a short run. */
static rp_code choose_iterations(rp_session *session, job *j, variant *v, double seconds,
                                 rp_error *error) {
    rp_code code;

    v->iterations = 1;
    if (session->calibration->emulated)
        return RP_OK;
    v->iterations = 16;
    /* The first guess counts the cost of a launch as work, and so falls short. */
    for (int guess = 0; guess < 3; guess++) {
        if ((code = time_variant(session, j, v, 1, error)) != RP_OK)
            return code;
        if (v->timing.seconds > 0.5 * seconds && v->timing.seconds < 2 * seconds)
            break;
        double n = v->iterations * seconds / fmax(v->timing.seconds, 1e-6);
        v->iterations = n < 1 ? 1 : n > 1e8 ? 100000000 : (uint32_t)n;
    }
    return RP_OK;
}

/* Blocks of 128 to 1024 threads, one on each SM, half of what fits, and all. */
static rp_code sweep(rp_session *session, job *j, variant *best, rp_error *error) {
    static const int sizes[] = {256, 128, 512, 1024};
    const bool quick = session->options->quick, emulated = session->calibration->emulated;
    int most = j->vector ? 1024 : j->tensor->wgmma ? 128 : 256;
    rp_code code = RP_OK;

    *best = (variant){.rate = 0};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes && code == RP_OK; s++) {
        int fit = sizes[s] > most || (j->tensor && j->tensor->wgmma && sizes[s] != 128)
                      ? 0
                      : rp_session_occupancy(session, j->function, sizes[s]);
        for (int blocks = fit; blocks > 0 && code == RP_OK && !rp_session_stopped(session);
             blocks = blocks > 2 ? blocks / 2 : blocks - 1) {
            variant v = {.threads = sizes[s], .blocks_per_sm = emulated ? 1 : blocks};
            (void)((code = choose_iterations(session, j, &v, quick ? 0.5e-3 : 2e-3, error)) ||
                   (code = time_variant(session, j, &v, emulated ? 1 : 3, error)));
            if (code == RP_OK && v.rate > best->rate)
                *best = v;
            if (emulated || (quick && blocks < fit))
                break;
        }
        if (emulated && best->rate > 0)
            break;
    }
    if (code == RP_OK && !(best->rate > 0) && !rp_session_stopped(session))
        code = rp_fail(error, RP_MACHINE, "no block of %s fits this device", j->name);
    return code;
}

/* Every thread's result of the launch that was timed last. *WRONG: the first that is not right. */
static rp_code verify(rp_session *session, job *j, const variant *v, long *wrong, rp_error *error) {
    size_t threads = (size_t)(session->sms * v->blocks_per_sm * v->threads);
    size_t bytes = threads * (size_t)j->word_bytes;
    int period = j->tensor && j->tensor->wgmma ? 128 : 32;
    uint64_t expected[128];
    char *output = malloc(bytes);
    rp_code code = RP_OK;

    *wrong = -1;
    if (!output)
        return rp_fail(error, RP_INTERNAL, "no memory for the results of %s", j->name);
    if (j->vector)
        rp_vector_expect(j->vector, v->iterations, expected);
    else
        code = rp_tensor_expect(j->tensor, v->iterations, expected, error);
    (void)(code || (code = TRY(cuMemcpyDtoH_v2(output, j->output, bytes), "a copy")));
    for (size_t i = 0; i < threads && code == RP_OK && *wrong < 0; i++)
        if (memcmp(output + i * (size_t)j->word_bytes, &expected[i % (size_t)period],
                   (size_t)j->word_bytes))
            *wrong = (long)i;
    free(output);
    return code;
}

/* Keeps the best variant running for SECONDS (0: one round); the rate over the second half. */
static rp_code sustain(rp_session *session, job *j, const variant *best, double seconds,
                       double *rate, rp_reading *reading, rp_error *error) {
    const bool emulated = session->calibration->emulated;
    const int repeats = emulated ? 1 : 8;
    variant v = *best;
    double elapsed = 0, late = 0;
    int late_runs = 0;
    rp_code code = RP_OK;

    if (!emulated)
        v.iterations =
            (uint32_t)fmin(4e9, best->iterations * fmax(1, 10e-3 / best->timing.seconds));
    do {
        session->observe = true;
        if ((code = time_variant(session, j, &v, repeats, error)) != RP_OK)
            break;
        elapsed += (repeats + 1) * v.timing.seconds;
        if (elapsed > seconds / 2) {
            late += v.rate;
            late_runs++;
            *reading = session->reading;
        }
    } while (elapsed < seconds && !rp_session_stopped(session));
    if (late_runs)
        *rate = late / late_runs;
    return code;
}

static void name_result(rp_session *session, rp_result *r, const job *j) {
    rp_ceiling *c = &r->ceiling;

    *c = (rp_ceiling){.compute = true,
                      .precision = j->vector ? j->vector->precision : j->tensor->precision,
                      .path = j->vector ? RP_VECTOR : RP_TENSOR,
                      .rate = NAN,
                      .clock_hz = NAN,
                      .provenance = session->calibration->emulated ? RP_MODELLED : RP_CALIBRATED,
                      .source = "roofprof calibrate"};
    if (j->tensor) {
        /* Where a better instruction exists, mma.sync is a ceiling of its own, never the best. */
        bool lesser = !j->tensor->wgmma && j->tensor->precision != RP_FP64 &&
                      (session->cc == 90 || (session->cc >= 100 && session->cc < 120));
        snprintf(c->instruction, sizeof c->instruction, "%s", lesser ? "mma" : "");
        snprintf(c->accumulate, sizeof c->accumulate, "%s", j->tensor->accumulate);
    }
    rp_ceiling_key(c, r->name, sizeof r->name);
}

static rp_code measure(rp_session *session, job *j, rp_result *r, rp_error *error) {
    const bool quick = session->options->quick, emulated = session->calibration->emulated;
    variant best;
    long wrong;
    rp_code code = sweep(session, j, &best, error);

    if (code != RP_OK || !(best.rate > 0)) {
        if (code == RP_OK)
            snprintf(r->absent_because, sizeof r->absent_because, "interrupted");
        return code;
    }
    session->observe = true;
    (void)((code = time_variant(session, j, &best,
                                emulated ? 1
                                : quick  ? 5
                                         : 9,
                                error)) ||
           (code = verify(session, j, &best, &wrong, error)));
    if (code != RP_OK)
        return code;
    if (wrong >= 0) {
        snprintf(
            r->absent_because, sizeof r->absent_because,
            "wrong result in thread %ld of %s: the device computes falsely, or the kernel does "
            "not fit it",
            wrong, j->name);
        return RP_OK;
    }
    r->partial = rp_session_stopped(session);
    r->ceiling.rate = best.rate;
    r->ceiling.clock_hz = best.timing.clock_hz;
    r->spread = best.timing.spread;
    r->repeats = best.timing.repeats;
    r->reading = session->reading;
    snprintf(r->variant, sizeof r->variant, "%s, %d threads x %d blocks an SM", j->name + 3,
             best.threads, best.blocks_per_sm);
    return quick
               ? RP_OK
               : sustain(session, j, &best, emulated ? 0 : 0.6, &r->sustained, &r->reading, error);
}

/* A path that fails is absent with the reason; the run goes on. */
static rp_code run(rp_session *session, job *j, const char *why, rp_error *error) {
    rp_result *r = rp_calibration_add(session->calibration, RP_RESULT_COMPUTE, "");
    rp_error reason = {0};
    rp_code code;

    if (!r)
        return rp_fail(error, RP_INTERNAL, "no memory for results");
    name_result(session, r, j);
    if (*why) {
        snprintf(r->absent_because, sizeof r->absent_because, "%s", why);
        return RP_OK;
    }
    (void)((code = prepare(session, j, &reason)) || (code = measure(session, j, r, &reason)));
    discard(session, j);
    if (code == RP_INTERNAL) {
        *error = reason;
        return code;
    }
    if (code != RP_OK)
        snprintf(r->absent_because, sizeof r->absent_because, "%.255s", reason.message);
    return RP_OK;
}

/* A kernel that the chip lacks is worth a line only if no other kernel measures the same. */
static bool has_other(const rp_session *session, const rp_tensor_kernel *kernel) {
    const char *why;
    for (size_t i = 0; i < rp_tensor_kernel_count; i++) {
        const rp_tensor_kernel *k = &rp_tensor_kernels[i];
        if (k != kernel && k->precision == kernel->precision &&
            !strcmp(k->accumulate, kernel->accumulate) &&
            (rp_tensor_kernel_exists(k, session->cc, &why) || k < kernel))
            return true;
    }
    return false;
}

/* Paths that some chip has and no kernel here measures: they keep their theoretical ceilings, and
 * it is said. */
static rp_code add_missing(rp_session *session, rp_error *error) {
    static const rp_hw_precision tcgen05[] = {RP_TF32, RP_BF16, RP_FP16, RP_FP8,
                                              RP_FP6,  RP_FP4,  RP_INT8};
    static const rp_hw_precision small[] = {RP_FP6, RP_FP4};
    bool has = session->cc >= 100 && session->cc < 120;
    const rp_hw_precision *missing = has ? tcgen05 : small;
    size_t n = has                  ? sizeof tcgen05 / sizeof *tcgen05
               : session->cc >= 120 ? sizeof small / sizeof *small
                                    : 0;

    for (size_t i = 0; i < n; i++) {
        rp_result *r = rp_calibration_add(session->calibration, RP_RESULT_COMPUTE, "");
        if (!r)
            return rp_fail(error, RP_INTERNAL, "no memory for results");
        r->ceiling.compute = true;
        r->ceiling.precision = missing[i];
        r->ceiling.path = RP_TENSOR;
        rp_ceiling_key(&r->ceiling, r->name, sizeof r->name);
        snprintf(r->absent_because, sizeof r->absent_because,
                 "there is no kernel for %s yet: the theoretical ceiling stays",
                 has ? "tcgen05" : "this precision");
    }
    return RP_OK;
}

rp_code rp_measure_compute(rp_session *session, rp_error *error) {
    const char *why;
    rp_code code = add_missing(session, error);

    for (size_t i = 0; i < rp_vector_kernel_count && code == RP_OK; i++) {
        job j = {.vector = &rp_vector_kernels[i], .name = rp_vector_kernels[i].name};
        bool exists = rp_vector_kernel_exists(j.vector, session->cc, &why);
        if (rp_session_stopped(session))
            return RP_OK;
        rp_session_progress(session, 0.25 * (double)i / (double)rp_vector_kernel_count, j.name + 3);
        if (exists || j.vector->lanes == 1 || j.vector->precision != RP_FP32)
            code = run(session, &j, why, error);
    }
    for (size_t i = 0; i < rp_tensor_kernel_count && code == RP_OK; i++) {
        job j = {.tensor = &rp_tensor_kernels[i], .name = rp_tensor_kernels[i].name};
        bool exists = rp_tensor_kernel_exists(j.tensor, session->cc, &why);
        if (rp_session_stopped(session))
            return RP_OK;
        rp_session_progress(session, 0.25 + 0.35 * (double)i / (double)rp_tensor_kernel_count,
                            j.name + 3);
        if (exists || !has_other(session, j.tensor))
            code = run(session, &j, why, error);
    }
    return code;
}
