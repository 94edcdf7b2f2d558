/* SPDX-License-Identifier: Apache-2.0
 *
 * Latency by pointer chase, and copies between host and device. A chase follows one random cycle
 * through lines of memory, so that neither a prefetcher nor an open row helps.
 */
#include "kernels/session.h"
#include "kernels/shapes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TRY(CALL, ...) rp_cuda_check(&session->cuda, session->cuda.CALL, error, __VA_ARGS__)

/* ---- Latency --------------------------------------------------------------------------------- */

enum { LINE = 256 };

typedef struct chase {
    const char *name, *kernel;
    uint64_t bytes; /* of the ring; 0: shared memory */
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

/* Where STEPS lead from the first line. */
static uint64_t walk(const uint64_t *ring, cu_address base, unsigned steps) {
    uint64_t at = base;
    for (unsigned i = 0; i < steps; i++)
        at = ring[(at - base) / 8];
    return at;
}

static uint64_t walk_shared(uint64_t at, unsigned steps) {
    for (unsigned i = 0; i < steps; i++)
        at = (at * 37 + 1) % 1024;
    return at;
}

static rp_code time_chase(rp_session *session, const chase *c, cu_address base,
                          const uint64_t *ring, rp_result *r, rp_error *error) {
    unsigned steps = c->bytes > (64u << 20) ? 1u << 15 : 1u << 16; /* whole RP_CHASE_STEPS */
    uint64_t first = c->bytes ? base : 3, out[2] = {0};
    void *parameters[] = {&first, &session->sum, &steps};
    cu_function f = NULL;
    rp_timing t;
    rp_code code = rp_session_function(session, RP_IMAGE_MEMORY, c->kernel, &f, error);
    rp_launch launch = {f, 1, 1, parameters, -1};

    (void)(code || (code = rp_time_launch(session, &launch, 3, &t, error)) ||
           (code = TRY(cuMemcpyDtoH_v2(out, session->sum, sizeof out), "a copy")));
    if (code != RP_OK)
        return code;
    if (out[0] != (c->bytes ? walk(ring, base, steps) : walk_shared(first, steps)))
        return rp_fail(error, RP_MACHINE, "the chase ended at a wrong address");
    r->seconds = t.seconds / steps;
    r->spread = t.spread;
    r->repeats = t.repeats;
    r->ceiling.clock_hz = (double)out[1] / t.seconds;
    snprintf(r->variant, sizeof r->variant, "%s, %u steps, %.0f cycles each", c->kernel + 3, steps,
             (double)out[1] / steps);
    return RP_OK;
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
    (void)(code || (code = time_chase(session, c, base, ring, r, error)));
    free(ring);
    rp_session_release(session, base);
    return code;
}

rp_code rp_measure_latency(rp_session *session, rp_error *error) {
    const bool emulated = session->calibration->emulated;
    uint64_t l2 =
        session->calibration->l2_bytes > 0 ? (uint64_t)session->calibration->l2_bytes : 4 << 20;
    const chase chases[] = {{"latency_shared", "rp_chase_shared", 0},
                            {"latency_l1", "rp_chase_cached", 8192},
                            {"latency_l2", "rp_chase_uncached", l2 / 8},
                            {"latency_dram", "rp_chase_uncached", 4 * l2}};

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

/* ---- Copies ---------------------------------------------------------------------------------- */

typedef struct copy_case {
    const char *name;
    bool pinned, up, down;
} copy_case;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* One transfer, or two at once on two streams, from the first byte to the last. Pageable copies are
 * staged by the driver and not asynchronous: the host's clock is the one that tells. */
static rp_code copy_once(rp_session *session, const copy_case *c, char *host, cu_address device,
                         size_t bytes, double *seconds, rp_error *error) {
    double start = now();
    rp_code code = RP_OK;

    if (c->up)
        code = TRY(cuMemcpyHtoDAsync_v2(device, host, bytes, session->stream), "a copy");
    if (c->down && code == RP_OK)
        code = TRY(cuMemcpyDtoHAsync_v2(host + bytes, device + bytes, bytes, session->other),
                   "a copy");
    (void)(code || (code = TRY(cuStreamSynchronize(session->stream), "a copy")) ||
           (code = TRY(cuStreamSynchronize(session->other), "a copy")));
    *seconds = now() - start;
    return code;
}

static rp_code time_copies(rp_session *session, const copy_case *c, char *host, cu_address device,
                           size_t bytes, rp_result *r, rp_error *error) {
    double fastest = INFINITY, slowest = 0;
    const int repeats = session->options->quick ? 3 : 8;

    for (int i = -1; i < repeats && !rp_session_stopped(session); i++) {
        double seconds;
        rp_code code = copy_once(session, c, host, device, bytes, &seconds, error);
        if (code != RP_OK)
            return code;
        if (i < 0)
            continue; /* pages that were not there yet */
        fastest = fmin(fastest, seconds);
        slowest = fmax(slowest, seconds);
        r->repeats++;
    }
    if (!r->repeats)
        return rp_fail(error, RP_MACHINE, "interrupted");
    r->ceiling.rate = (double)bytes * (c->up + c->down) / fastest;
    r->spread = (slowest - fastest) / fastest;
    snprintf(r->variant, sizeof r->variant, "%zu MiB, fastest of %d", bytes >> 20, r->repeats);
    return RP_OK;
}

static rp_code run_copy(rp_session *session, const copy_case *c, rp_result *r, rp_error *error) {
    size_t bytes = session->options->quick ? (size_t)32 << 20 : (size_t)256 << 20;
    void *host = NULL;
    cu_address device = 0;
    rp_code code = rp_session_allocate(session, 2 * bytes, &device, error);

    if (code == RP_OK && c->pinned)
        code = TRY(cuMemHostAlloc(&host, 2 * bytes, 0), "pinned host memory");
    else if (code == RP_OK && !(host = malloc(2 * bytes)))
        code = rp_fail(error, RP_INTERNAL, "no host memory for copies");
    if (code == RP_OK) {
        memset(host, 1, 2 * bytes);
        code = time_copies(session, c, host, device, bytes, r, error);
    }
    if (c->pinned && host)
        session->cuda.cuMemFreeHost(host);
    else if (!c->pinned)
        free(host);
    rp_session_release(session, device);
    return code;
}

rp_code rp_measure_copies(rp_session *session, rp_error *error) {
    static const copy_case cases[] = {{"copy_to_device_pinned", true, true, false},
                                      {"copy_to_host_pinned", true, false, true},
                                      {"copy_both_ways_pinned", true, true, true},
                                      {"copy_to_device_pageable", false, true, false},
                                      {"copy_to_host_pageable", false, false, true}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases && !rp_session_stopped(session); i++) {
        rp_result *r = rp_calibration_add(session->calibration, RP_RESULT_COPY, cases[i].name);
        rp_error reason = {0};
        if (!r)
            return rp_fail(error, RP_INTERNAL, "no memory for results");
        r->ceiling.provenance = session->calibration->emulated ? RP_MODELLED : RP_CALIBRATED;
        rp_session_progress(session, 0.86 + 0.008 * (double)i, cases[i].name);
        if (session->calibration->emulated)
            snprintf(r->absent_because, sizeof r->absent_because,
                     "an emulated device has no bus to copy over");
        else if (run_copy(session, &cases[i], r, &reason) != RP_OK)
            snprintf(r->absent_because, sizeof r->absent_because, "%.255s", reason.message);
    }
    return RP_OK;
}
