/* SPDX-License-Identifier: Apache-2.0
 *
 * Latency by pointer chase: one random cycle through lines of memory, so that neither a prefetcher
 * nor an open row helps.
 */
#include "kernels/session.h"
#include "kernels/shapes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TRY(CALL, ...) rp_cuda_check(&session->cuda, session->cuda.CALL, error, __VA_ARGS__)

/* ---- Latency --------------------------------------------------------------------------------- */

enum { LINE = 256, REPEATS = 3 };

typedef struct chase {
    const char *name, *kernel;
    uint64_t bytes; /* of the ring; 0: shared memory */
    bool once;      /* no line twice: what a visit leaves in the L2 must not help a later one */
} chase;

/* One cycle through all N lines (Sattolo), as device addresses from BASE. */
static uint64_t *make_ring(uint64_t n, cu_address base) {
    uint64_t *ring = calloc(n, LINE), *order = malloc(n * sizeof *order);
    uint64_t state = 88172645463325252u;

    if (!ring || !order) {
        free(ring);
        free(order);
        return NULL;
    }
    for (uint64_t i = 0; i < n; i++)
        order[i] = i;
    for (uint64_t i = n - 1; i > 0; i--) {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        uint64_t j = state % i, other = order[j];
        order[j] = order[i];
        order[i] = other;
    }
    for (uint64_t i = 0; i < n; i++)
        ring[order[i] * (LINE / 8)] = base + order[(i + 1) % n] * LINE;
    free(order);
    return ring;
}

/* Where STEPS lead from AT. */
static uint64_t walk(const uint64_t *ring, cu_address base, uint64_t at, unsigned steps) {
    for (unsigned i = 0; i < steps; i++)
        at = ring[(at - base) / 8];
    return at;
}

static uint64_t walk_shared(uint64_t at, unsigned steps) {
    for (unsigned i = 0; i < steps; i++)
        at = (at * 37 + 1) % 1024;
    return at;
}

/* Whole RP_CHASE_STEPS, and few enough that all launches together stay within the ring. */
static unsigned steps_of(const chase *c) {
    uint64_t steps = c->once ? 1u << 15 : 1u << 16, most = c->bytes / LINE / (REPEATS + 1);
    if (c->once && steps > most)
        steps = most;
    return (unsigned)(steps - steps % RP_CHASE_STEPS);
}

/* One launch from FIRST. out: where it ended, and cycles. */
static rp_code follow(rp_session *session, cu_function f, uint64_t first, unsigned steps,
                      uint64_t out[2], double *seconds, rp_error *error) {
    void *parameters[] = {&first, &session->sum, &steps};
    float ms = NAN;
    rp_code code;

    (void)((code = TRY(cuEventRecord(session->events[0], session->stream), "an event")) ||
           (code = TRY(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, session->stream, parameters, NULL),
                       "a chase")) ||
           (code = TRY(cuEventRecord(session->events[1], session->stream), "an event")) ||
           (code = TRY(cuStreamSynchronize(session->stream), "a chase")) ||
           (code =
                TRY(cuEventElapsedTime(&ms, session->events[0], session->events[1]), "a time")) ||
           (code = TRY(cuMemcpyDtoH_v2(out, session->sum, 2 * sizeof *out), "a copy")));
    *seconds = ms / 1e3;
    return code;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The first launch is not timed: it fills the caches, or finds the code. */
static rp_code time_chase(rp_session *session, const chase *c, cu_address base,
                          const uint64_t *ring, rp_result *r, rp_error *error) {
    const unsigned steps = steps_of(c);
    uint64_t first = c->bytes ? base : 3, out[2] = {0};
    double seconds[REPEATS], one;
    cu_function f = NULL;
    rp_code code = rp_session_function(session, RP_IMAGE_MEMORY, c->kernel, &f, error);

    if (code == RP_OK && !steps)
        return rp_fail(error, RP_MACHINE, "a ring of %llu bytes is too short for a chase",
                       (unsigned long long)c->bytes);
    for (int i = -1; i < REPEATS && code == RP_OK; i++) {
        if ((code = follow(session, f, first, steps, out, &one, error)) != RP_OK)
            break;
        if (out[0] != (c->bytes ? walk(ring, base, first, steps) : walk_shared(first, steps)))
            return rp_fail(error, RP_MACHINE, "the chase ended at a wrong address");
        if (i >= 0)
            seconds[i] = one;
        if (c->once)
            first = out[0];
    }
    if (code != RP_OK)
        return code;
    qsort(seconds, REPEATS, sizeof *seconds, by_value);
    r->seconds = seconds[REPEATS / 2] / steps;
    r->spread = (seconds[REPEATS - 1] - seconds[0]) / seconds[REPEATS / 2];
    r->repeats = REPEATS;
    r->ceiling.clock_hz = (double)out[1] / one;
    snprintf(r->variant, sizeof r->variant, "%s, %u steps, %.0f cycles each", c->kernel + 3, steps,
             (double)out[1] / steps);
    return RP_OK;
}

/* Fills the L2 with something else: the ring has just come through it. */
static rp_code flush_l2(rp_session *session, rp_error *error) {
    int64_t l2 = session->calibration->l2_bytes;
    size_t bytes = 2 * (size_t)(l2 > 0 ? l2 : 4 << 20);
    cu_address other;
    rp_code code = rp_session_allocate(session, bytes, &other, error);

    (void)(code || (code = TRY(cuMemsetD8_v2(other, 0, bytes), "a fill")) ||
           (code = TRY(cuCtxSynchronize(), "a fill")));
    rp_session_release(session, other);
    return code;
}

static rp_code run_chase(rp_session *session, const chase *c, rp_result *r, rp_error *error) {
    cu_address base = 0;
    uint64_t *ring = NULL;
    rp_code code = RP_OK;

    if (c->bytes) {
        code = rp_session_allocate(session, c->bytes, &base, error);
        if (code == RP_OK && !(ring = make_ring(c->bytes / LINE, base)))
            code = rp_fail(error, RP_INTERNAL, "no memory for a chase of %llu bytes",
                           (unsigned long long)c->bytes);
        (void)(code || (code = TRY(cuMemcpyHtoD_v2(base, ring, c->bytes), "a copy")));
    }
    (void)(code || (code = c->once ? flush_l2(session, error) : RP_OK) ||
           (code = time_chase(session, c, base, ring, r, error)));
    free(ring);
    rp_session_release(session, base);
    return code;
}

rp_code rp_measure_latency(rp_session *session, rp_error *error) {
    const bool emulated = session->calibration->emulated;
    uint64_t l2 =
        session->calibration->l2_bytes > 0 ? (uint64_t)session->calibration->l2_bytes : 4 << 20;
    const chase chases[] = {{"latency_shared", "rp_chase_shared", 0, false},
                            {"latency_l1", "rp_chase_cached", 8192, false},
                            {"latency_l2", "rp_chase_uncached", l2 / 8, false},
                            {"latency_dram", "rp_chase_uncached", 4 * l2, true}};

    for (size_t i = 0; i < sizeof chases / sizeof *chases && !rp_session_stopped(session); i++) {
        rp_result *r = rp_calibration_add(session->calibration, RP_RESULT_LATENCY, chases[i].name);
        rp_error reason = {0};
        if (!r)
            return rp_fail(error, RP_INTERNAL, "no memory for results");
        r->ceiling.provenance = emulated ? RP_MODELLED : RP_CALIBRATED;
        rp_session_progress(session, 0.82 + 0.01 * (double)i, chases[i].name);
        chase c = chases[i];
        c.bytes -= c.bytes % LINE;
        if (emulated)
            snprintf(r->absent_because, sizeof r->absent_because,
                     "an emulated device has no latencies: its time is modelled from bandwidths");
        else if (run_chase(session, &c, r, &reason) != RP_OK)
            snprintf(r->absent_because, sizeof r->absent_because, "%.255s", reason.message);
    }
    return RP_OK;
}
