/* SPDX-License-Identifier: Apache-2.0
 *
 * Copies: between host and device, pinned and pageable, each way and both at once; and between
 * devices, where there are several. Copies that the device does by itself are timed between events;
 * those of pageable memory, which the driver stages, by the host's clock.
 */
#include "kernels/session.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TRY(CALL, ...) rp_cuda_check(&session->cuda, session->cuda.CALL, error, __VA_ARGS__)

enum { MOST_PEERS = 15 };

/* What one side of a copy is. */
typedef struct place {
    void *host;         /* or NULL */
    cu_address address; /* on a device */
    cu_context context;
} place;

/* One or two transfers: from `a` to `b` and, at once, from `b` to `a`, each of its own half. */
typedef struct transfer {
    place a, b;
    cu_stream back;                  /* of the second one */
    cu_event begun, returned, ended; /* `returned` is of the device whose stream `back` is */
    bool there, returns, by_host;    /* by_host: timed by the host's clock */
    size_t bytes;
} transfer;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- Timing ---------------------------------------------------------------------------------- */

static rp_code enqueue(rp_session *session, const place *from, const place *to, size_t offset,
                       size_t bytes, cu_stream stream, rp_error *error) {
    if (from->host)
        return TRY(
            cuMemcpyHtoDAsync_v2(to->address + offset, (char *)from->host + offset, bytes, stream),
            "a copy to the device");
    if (to->host)
        return TRY(
            cuMemcpyDtoHAsync_v2((char *)to->host + offset, from->address + offset, bytes, stream),
            "a copy to the host");
    return TRY(cuMemcpyPeerAsync(to->address + offset, to->context, from->address + offset,
                                 from->context, bytes, stream),
               "a copy between devices");
}

/* From the first byte to the last of both. */
static rp_code copy_once(rp_session *session, const transfer *t, double *seconds, rp_error *error) {
    double start = now();
    float ms = NAN;
    rp_code code = TRY(cuEventRecord(t->begun, session->stream), "an event");

    if (t->returns)
        (void)(code || (code = TRY(cuStreamWaitEvent(t->back, t->begun, 0), "an event")) ||
               (code = enqueue(session, &t->b, &t->a, t->bytes, t->bytes, t->back, error)) ||
               (code = TRY(cuEventRecord(t->returned, t->back), "an event")));
    if (t->there && code == RP_OK)
        code = enqueue(session, &t->a, &t->b, 0, t->bytes, session->stream, error);
    if (t->returns)
        (void)(code ||
               (code = TRY(cuStreamWaitEvent(session->stream, t->returned, 0), "an event")));
    (void)(code || (code = TRY(cuEventRecord(t->ended, session->stream), "an event")) ||
           (code = TRY(cuStreamSynchronize(session->stream), "a copy")) ||
           (code = TRY(cuEventElapsedTime(&ms, t->begun, t->ended), "a time")));
    *seconds = t->by_host ? now() - start : ms / 1e3;
    return code;
}

static rp_code time_transfer(rp_session *session, const transfer *t, rp_result *r,
                             rp_error *error) {
    double fastest = INFINITY, slowest = 0;
    const int repeats = session->calibration->emulated ? 1 : session->options->quick ? 3 : 8;

    for (int i = -1; i < repeats && !rp_session_stopped(session); i++) {
        double seconds;
        rp_code code = copy_once(session, t, &seconds, error);
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
    r->ceiling.rate = (double)t->bytes * (t->there + t->returns) / fastest;
    r->spread = (slowest - fastest) / fastest;
    return RP_OK;
}

static size_t copy_bytes(const rp_session *session) {
    return session->calibration->emulated ? (size_t)8 << 20
           : session->options->quick      ? (size_t)32 << 20
                                          : (size_t)256 << 20;
}

static rp_result *add_copy(rp_session *session, const char *name) {
    rp_result *r = rp_calibration_add(session->calibration, RP_RESULT_COPY, name);
    if (r) {
        r->ceiling.level = RP_PCIE;
        r->ceiling.provenance = session->calibration->emulated ? RP_MODELLED : RP_CALIBRATED;
    }
    return r;
}

static void blame(rp_result *r, const rp_error *reason) {
    r->ceiling.rate = NAN;
    snprintf(r->absent_because, sizeof r->absent_because, "%.255s", reason->message);
}

/* ---- Host and device ------------------------------------------------------------------------- */

typedef struct host_case {
    const char *name;
    bool pinned, up, down;
} host_case;

static rp_code run_host(rp_session *session, const host_case *c, rp_result *r, rp_error *error) {
    transfer t = {.back = session->other,
                  .begun = session->events[0],
                  .returned = session->events[1],
                  .ended = session->events[2],
                  .there = c->up,
                  .returns = c->down,
                  .by_host = !c->pinned,
                  .bytes = copy_bytes(session)};
    rp_code code = rp_session_allocate(session, 2 * t.bytes, &t.b.address, error);

    if (code == RP_OK && c->pinned)
        code = TRY(cuMemHostAlloc(&t.a.host, 2 * t.bytes, 0), "pinned host memory");
    else if (code == RP_OK && !(t.a.host = malloc(2 * t.bytes)))
        code = rp_fail(error, RP_MACHINE, "no host memory for copies");
    if (code == RP_OK) {
        memset(t.a.host, 1, 2 * t.bytes);
        code = time_transfer(session, &t, r, error);
        snprintf(r->variant, sizeof r->variant, "%zu MiB, fastest of %d", t.bytes >> 20,
                 r->repeats);
    }
    if (c->pinned && t.a.host)
        session->cuda.cuMemFreeHost(t.a.host);
    else if (!c->pinned)
        free(t.a.host);
    rp_session_release(session, t.b.address);
    return code;
}

static rp_code measure_host(rp_session *session, rp_error *error) {
    static const host_case cases[] = {{"copy_to_device_pinned", true, true, false},
                                      {"copy_to_host_pinned", true, false, true},
                                      {"copy_both_ways_pinned", true, true, true},
                                      {"copy_to_device_pageable", false, true, false},
                                      {"copy_to_host_pageable", false, false, true}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases && !rp_session_stopped(session); i++) {
        rp_result *r = add_copy(session, cases[i].name);
        rp_error reason = {0};
        if (!r)
            return rp_fail(error, RP_INTERNAL, "no memory for results");
        rp_session_progress(session, 0.86 + 0.005 * (double)i, cases[i].name);
        if (session->calibration->emulated && !cases[i].pinned)
            snprintf(r->absent_because, sizeof r->absent_because,
                     "an emulated device copies pageable memory as it copies pinned");
        else if (run_host(session, &cases[i], r, &reason) != RP_OK)
            blame(r, &reason);
    }
    return RP_OK;
}

/* ---- Between devices ------------------------------------------------------------------------- */

typedef struct peer {
    int ordinal;
    cu_device device;
    cu_context context;
    cu_stream stream;
    cu_event event;
    cu_address near, far;
    bool direct;
} peer;

static bool may_access(rp_session *session, cu_device from, cu_device to) {
    int can = 0;
    return session->cuda.cuDeviceCanAccessPeer(&can, from, to) == 0 && can;
}

/* Peer access both ways, as far as it can be had: without it the driver goes through the host. */
static rp_code allow_access(rp_session *session, peer *p, rp_error *error) {
    cu_result to, from = 0;
    rp_code code;

    if (!may_access(session, session->device, p->device) ||
        !may_access(session, p->device, session->device))
        return RP_OK;
    if ((code = rp_session_return(session, error)) != RP_OK)
        return code;
    to = session->cuda.cuCtxEnablePeerAccess(p->context, 0);
    if ((code = TRY(cuCtxSetCurrent(p->context), "device %d", p->ordinal)) != RP_OK)
        return code;
    from = session->cuda.cuCtxEnablePeerAccess(session->context, 0);
    p->direct = (to == 0 || to == CU_PEER_ENABLED) && (from == 0 || from == CU_PEER_ENABLED);
    return RP_OK;
}

static rp_code open_peer(rp_session *session, peer *p, size_t bytes, rp_error *error) {
    rp_code code = rp_session_allocate(session, bytes, &p->near, error);

    (void)(code || (code = TRY(cuDeviceGet(&p->device, p->ordinal), "device %d", p->ordinal)) ||
           (code = TRY(cuDevicePrimaryCtxRetain(&p->context, p->device), "no context on device %d",
                       p->ordinal)));
    if (code != RP_OK) {
        p->context = NULL;
        return code;
    }
    (void)((code = TRY(cuCtxSetCurrent(p->context), "device %d", p->ordinal)) ||
           (code = rp_session_allocate(session, bytes, &p->far, error)) ||
           (code = TRY(cuStreamCreate(&p->stream, 0), "no stream on device %d", p->ordinal)) ||
           (code = TRY(cuEventCreate(&p->event, 0), "no event on device %d", p->ordinal)) ||
           (code = allow_access(session, p, error)));
    rp_error ignored;
    rp_code back = rp_session_return(session, code == RP_OK ? error : &ignored);
    return code != RP_OK ? code : back;
}

static void close_peer(rp_session *session, peer *p) {
    rp_cuda *cuda = &session->cuda;

    rp_session_release(session, p->near);
    if (p->context) {
        cuda->cuCtxSetCurrent(p->context);
        rp_session_release(session, p->far);
        if (p->event)
            cuda->cuEventDestroy_v2(p->event);
        if (p->stream)
            cuda->cuStreamDestroy_v2(p->stream);
        cuda->cuDevicePrimaryCtxRelease_v2(p->device);
    }
    cuda->cuCtxSetCurrent(session->context);
}

/* A direct copy that is faster than the host's bus can be went over links between the devices. */
static void name_link(const rp_session *session, const peer *p, rp_result *r) {
    const rp_device *device = session->calibration->device;
    double bus = device ? device->pcie_bytes_per_s : NAN;

    if (p->direct && r->ceiling.rate > 1.05 * bus)
        r->ceiling.level = RP_NVLINK;
    snprintf(r->variant, sizeof r->variant, "%zu MiB, fastest of %d, devices %d and %d, %s",
             copy_bytes(session) >> 20, r->repeats, session->options->device, p->ordinal,
             p->direct ? "peer access" : "through the host");
}

static rp_code measure_peer(rp_session *session, int ordinal, rp_error *error) {
    static const struct {
        const char *name;
        bool there, returns;
    } cases[] = {{"copy_to_peer", true, false},
                 {"copy_from_peer", false, true},
                 {"copy_both_ways_peer", true, true}};
    const size_t bytes = copy_bytes(session);
    peer p = {.ordinal = ordinal};
    rp_error unfit = {0};
    rp_code code = RP_OK, ready = open_peer(session, &p, 2 * bytes, &unfit);

    for (size_t i = 0; i < sizeof cases / sizeof *cases && !rp_session_stopped(session); i++) {
        const transfer t = {.a = {.address = p.near, .context = session->context},
                            .b = {.address = p.far, .context = p.context},
                            .back = p.stream,
                            .begun = session->events[0],
                            .returned = p.event,
                            .ended = session->events[2],
                            .there = cases[i].there,
                            .returns = cases[i].returns,
                            .bytes = bytes};
        char name[sizeof((rp_result *)0)->name];
        rp_error reason = unfit;
        snprintf(name, sizeof name, "%s_%d", cases[i].name, ordinal);
        rp_result *r = add_copy(session, name);
        if (!r) {
            code = rp_fail(error, RP_INTERNAL, "no memory for results");
            break;
        }
        if (ready == RP_OK && time_transfer(session, &t, r, &reason) == RP_OK)
            name_link(session, &p, r);
        else
            blame(r, &reason);
    }
    close_peer(session, &p);
    return code;
}

/* Every other device; --quick: one. */
static rp_code measure_peers(rp_session *session, rp_error *error) {
    int count = 1, done = 0;
    rp_code code = RP_OK;

    session->cuda.cuDeviceGetCount(&count);
    const int most = session->options->quick ? 1 : MOST_PEERS;
    for (int i = 0; i < count && done < most && code == RP_OK && !rp_session_stopped(session); i++)
        if (i != session->options->device) {
            rp_session_progress(session, 0.89, "copies between devices");
            code = measure_peer(session, i, error);
            done++;
        }
    if (count > 1 || code != RP_OK)
        return code;
    rp_result *r = add_copy(session, "copy_to_peer");
    if (!r)
        return rp_fail(error, RP_INTERNAL, "no memory for results");
    snprintf(r->absent_because, sizeof r->absent_because, "there is no second device to copy to");
    return RP_OK;
}

rp_code rp_measure_copies(rp_session *session, rp_error *error) {
    rp_code code = measure_host(session, error);
    return code == RP_OK && !rp_session_stopped(session) ? measure_peers(session, error) : code;
}
