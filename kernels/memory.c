/* SPDX-License-Identifier: Apache-2.0
 *
 * Bandwidths: DRAM by pattern, over widths, unrolls, block sizes and grids; L2, L1 and shared
 * memory; and the intensity sweep. Every result is verified before it counts.
 */
#include "kernels/operands.h"
#include "kernels/session.h"
#include "kernels/shapes.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define TRY(CALL, ...) rp_cuda_check(&session->cuda, session->cuda.CALL, error, __VA_ARGS__)

enum { MIB = 1 << 20 };
#define MOST_BYTES (UINT64_C(8) << 30)

/* Three arrays of the same size. words: integers where `a` is read, else the doubles' target. */
typedef struct arrays {
    cu_address a, b, c;
    uint64_t bytes;
} arrays;

typedef struct best_of {
    double rate, spread, clock_hz;
    int repeats;
    char variant[96];
} best_of;

static rp_result *add_level(rp_session *session, rp_hw_level level, const char *pattern) {
    rp_result *r =
        rp_calibration_add(session->calibration, RP_RESULT_BANDWIDTH, rp_level_name(level));
    if (!r)
        return NULL;
    r->ceiling =
        (rp_ceiling){.level = level,
                     .rate = NAN,
                     .clock_hz = NAN,
                     .provenance = session->calibration->emulated ? RP_MODELLED : RP_CALIBRATED,
                     .source = "roofprof calibrate"};
    snprintf(r->pattern, sizeof r->pattern, "%s", pattern);
    return r;
}

static void take(rp_session *session, rp_result *r, const best_of *best) {
    if (!(best->rate > 0)) {
        snprintf(r->absent_because, sizeof r->absent_because, "%s",
                 rp_session_stopped(session) ? "interrupted" : "no block of it fits this device");
        return;
    }
    r->partial = rp_session_stopped(session);
    r->ceiling.rate = best->rate;
    r->ceiling.clock_hz = best->clock_hz;
    r->spread = best->spread;
    r->repeats = best->repeats;
    r->reading = session->reading;
    snprintf(r->variant, sizeof r->variant, "%s", best->variant);
}

static void keep_better(best_of *best, double work, const rp_timing *t, const char *format,
                        const char *name, unsigned threads, unsigned grid) {
    if (work / t->seconds <= best->rate)
        return;
    best->rate = work / t->seconds;
    best->spread = t->spread;
    best->clock_hz = t->clock_hz;
    best->repeats = t->repeats;
    snprintf(best->variant, sizeof best->variant, format, name + 3, threads, grid);
}

/* Fails the result, not the run. */
static void blame(rp_result *r, const rp_error *reason) {
    r->ceiling.rate = NAN;
    snprintf(r->absent_because, sizeof r->absent_because, "%.255s", reason->message);
}

static rp_code helper_launch(rp_session *session, rp_image_name image, const char *name,
                             void **parameters, rp_error *error) {
    cu_function f;
    rp_code code = rp_session_function(session, image, name, &f, error);
    (void)(code ||
           (code = TRY(cuLaunchKernel(f, (unsigned)session->sms * 4, 1, 1, 256, 1, 1, 0,
                                      session->stream, parameters, NULL),
                       "%s", name)) ||
           (code = TRY(cuStreamSynchronize(session->stream), "%s", name)));
    return code;
}

static rp_code fill_words(rp_session *session, cu_address a, uint64_t n, rp_error *error) {
    void *parameters[] = {&a, &n};
    return helper_launch(session, RP_IMAGE_MEMORY, "rp_fill_words", parameters, error);
}

static rp_code fill_doubles(rp_session *session, cu_address a, double first, unsigned period,
                            uint64_t n, rp_error *error) {
    void *parameters[] = {&a, &first, &period, &n};
    return helper_launch(session, RP_IMAGE_MEMORY, "rp_fill_doubles", parameters, error);
}

/* ---- DRAM ------------------------------------------------------------------------------------ */

/* 4 x L2 at least, so that little of it is found there, and half a millisecond of DRAM's, so that
 * start and end of a launch do not count. */
static uint64_t wanted_bytes(const rp_session *session) {
    const rp_calibration *c = session->calibration;
    const rp_ceiling *dram = c->device ? rp_device_bandwidth(c->device, RP_DRAM) : NULL;
    uint64_t bytes = 512 * (uint64_t)MIB;

    if (c->emulated)
        return 4 * MIB;
    if (c->l2_bytes > 0 && 4 * (uint64_t)c->l2_bytes > bytes)
        bytes = 4 * (uint64_t)c->l2_bytes;
    if (dram && dram->rate * 0.5e-3 > (double)bytes)
        bytes = (uint64_t)(dram->rate * 0.5e-3);
    return bytes < MOST_BYTES ? bytes : MOST_BYTES;
}

/* A quarter of what is free at most. */
static rp_code allocate_arrays(rp_session *session, arrays *x, rp_error *error) {
    size_t free_bytes = 0, total;
    rp_code code = TRY(cuMemGetInfo_v2(&free_bytes, &total), "the amount of free memory");

    *x = (arrays){.bytes = wanted_bytes(session)};
    if (x->bytes > free_bytes / 4)
        x->bytes = free_bytes / 4;
    x->bytes -= x->bytes % MIB;
    if (code == RP_OK && !x->bytes)
        code = rp_fail(error, RP_MACHINE, "only %zu bytes of device memory are free", free_bytes);
    (void)(code || (code = rp_session_allocate(session, x->bytes, &x->a, error)) ||
           (code = rp_session_allocate(session, x->bytes, &x->b, error)) ||
           (code = rp_session_allocate(session, x->bytes, &x->c, error)));
    return code;
}

static void free_arrays(rp_session *session, arrays *x) {
    rp_session_release(session, x->a);
    rp_session_release(session, x->b);
    rp_session_release(session, x->c);
}

/* What is left in a after a pattern: s + p b + q c. */
static rp_code verify_stream(rp_session *session, rp_pattern pattern, const arrays *x,
                             rp_error *error) {
    static const double results[RP_PATTERNS][3] = {[RP_PATTERN_WRITE] = {RP_STREAM_VALUE, 0, 0},
                                                   [RP_PATTERN_COPY] = {0, 1, 0},
                                                   [RP_PATTERN_SCALE] = {0, RP_STREAM_SCALAR, 0},
                                                   [RP_PATTERN_ADD] = {0, 1, 1},
                                                   [RP_PATTERN_TRIAD] = {0, 1, RP_STREAM_SCALAR}};
    uint64_t n = x->bytes / 8, wrong = 0;
    cu_address a = x->a;
    double s = results[pattern][0], p = results[pattern][1], q = results[pattern][2];
    void *parameters[] = {&a, &s, &p, &q, &n, &session->sum};
    rp_code code = TRY(cuMemsetD8_v2(session->sum, 0, 16), "a fill");

    (void)(code ||
           (code =
                helper_launch(session, RP_IMAGE_MEMORY, "rp_check_doubles", parameters, error)) ||
           (code = TRY(cuMemcpyDtoH_v2(&wrong, session->sum, 8), "a copy")));
    if (code == RP_OK && wrong)
        code = rp_fail(error, RP_MACHINE, "%llu of %llu values are wrong: faulty memory?",
                       (unsigned long long)wrong, (unsigned long long)n);
    return code;
}

/* The sum of the launches since it was cleared: REPEATS + 1 of them. */
static rp_code verify_sum(rp_session *session, rp_pattern pattern, const arrays *x, int launches,
                          rp_error *error) {
    union {
        uint32_t words;
        double dot;
    } found = {0};
    rp_code code = TRY(cuMemcpyDtoH_v2(&found, session->sum, 8), "a copy");
    bool right = pattern == RP_PATTERN_READ
                     ? found.words == rp_words_sum(x->bytes / 4) * (uint32_t)launches
                     : found.dot == rp_dot_sum(x->bytes / 8) * launches;

    if (code == RP_OK && !right)
        code = rp_fail(error, RP_MACHINE, "the sum of what was read is wrong: faulty memory?");
    return code;
}

static rp_code time_stream(rp_session *session, rp_pattern pattern, const arrays *x,
                           cu_function function, unsigned threads, unsigned grid,
                           uint64_t tile_bytes, int repeats, rp_timing *t, rp_error *error) {
    cu_address a = x->a, b = x->b, c = x->c;
    uint64_t tiles = x->bytes / tile_bytes;
    double scalar = pattern == RP_PATTERN_WRITE ? RP_STREAM_VALUE : RP_STREAM_SCALAR;
    void *read[] = {&a, &session->sum, NULL, &tiles};
    void *dot[] = {&b, &c, &session->sum, NULL, &tiles};
    void *other[] = {&a, &b, &c, &scalar, NULL, &tiles};
    rp_launch launch = {function, grid, threads, other, 4};
    rp_code code = TRY(cuMemsetD8_v2(session->sum, 0, 16), "a fill");

    if (pattern == RP_PATTERN_READ)
        launch.parameters = read, launch.spans_at = 2;
    else if (pattern == RP_PATTERN_DOT)
        launch.parameters = dot, launch.spans_at = 3;
    (void)(code || (code = rp_time_launch(session, &launch, repeats, t, error)));
    if (code != RP_OK)
        return code;
    if (pattern == RP_PATTERN_READ || pattern == RP_PATTERN_DOT)
        return verify_sum(session, pattern, x, repeats + 1, error);
    return RP_OK;
}

/* Grids: what the device holds at once, four times that, and a block for each tile. */
static rp_code try_stream(rp_session *session, rp_pattern pattern, const arrays *x, int width,
                          int unroll, best_of *best, rp_error *error) {
    static const unsigned sizes[] = {256, 512, 128};
    const bool emulated = session->calibration->emulated, quick = session->options->quick;
    char name[64];
    cu_function f;
    rp_code code;

    snprintf(name, sizeof name, "rp_%s_%d_%d", rp_pattern_name(pattern), width, unroll);
    code = rp_session_function(session, RP_IMAGE_MEMORY, name, &f, error);
    for (size_t s = 0; s < (quick || emulated ? 1 : 3) && code == RP_OK; s++) {
        uint64_t tile = (uint64_t)sizes[s] * (unsigned)width * (unsigned)unroll;
        uint64_t tiles = x->bytes / tile;
        uint64_t held =
            (uint64_t)session->sms * (uint64_t)rp_session_occupancy(session, f, (int)sizes[s]);
        const uint64_t grids[] = {tiles, held, 4 * held};
        for (int g = 0; g < (emulated ? 1 : 3) && code == RP_OK && !rp_session_stopped(session);
             g++) {
            rp_timing t;
            unsigned grid = (unsigned)(grids[g] && grids[g] < tiles ? grids[g] : tiles);
            rp_work work = rp_stream_work(pattern, x->bytes, grid);
            code = time_stream(session, pattern, x, f, sizes[s], grid, tile,
                               emulated ? 1
                               : quick  ? 3
                                        : 5,
                               &t, error);
            if (code == RP_OK)
                keep_better(best, rp_work_bytes(&work), &t, "%s, %u threads x %u blocks", name,
                            sizes[s], grid);
        }
    }
    return code;
}

static rp_code measure_pattern(rp_session *session, rp_pattern pattern, const arrays *x,
                               best_of *best, rp_error *error) {
    static const int unrolls[] = {4, 2, 8};
    const bool few = session->options->quick || session->calibration->emulated;
    rp_code code = RP_OK;

    session->observe = true;
    /* The integers that read sums; the other patterns put doubles in their place. */
    if (pattern == RP_PATTERN_READ)
        code = fill_words(session, x->a, x->bytes / 4, error);
    for (int width = 16; width <= (session->cc >= 100 ? 32 : 16) && code == RP_OK; width *= 2)
        for (int u = 0; u < (few ? 1 : width == 16 ? 3 : 2) && code == RP_OK; u++)
            code = try_stream(session, pattern, x, width, unrolls[u], best, error);
    if (code == RP_OK && rp_pattern_stores(pattern) && best->rate > 0)
        code = verify_stream(session, pattern, x, error);
    return code;
}

rp_code rp_measure_memory(rp_session *session, rp_error *error) {
    arrays x;
    rp_error unfit = {0};
    rp_code code = RP_OK, ready = allocate_arrays(session, &x, &unfit);

    (void)(ready || (ready = fill_doubles(session, x.b, 1, 16, x.bytes / 8, &unfit)) ||
           (ready = fill_doubles(session, x.c, 2, 8, x.bytes / 8, &unfit)));
    for (int p = 0; p < RP_PATTERNS && !rp_session_stopped(session); p++) {
        rp_result *r = add_level(session, RP_DRAM, rp_pattern_name((rp_pattern)p));
        best_of best = {0};
        rp_error reason = unfit;
        if (!r) {
            code = rp_fail(error, RP_INTERNAL, "no memory for results");
            break;
        }
        rp_session_progress(session, 0.6 + 0.02 * p, rp_pattern_name((rp_pattern)p));
        if (ready == RP_OK && measure_pattern(session, (rp_pattern)p, &x, &best, &reason) == RP_OK)
            take(session, r, &best);
        else
            blame(r, &reason);
    }
    free_arrays(session, &x);
    return code;
}

/* ---- L2, L1, shared -------------------------------------------------------------------------- */

typedef struct onchip {
    rp_hw_level level;
    const char *name;
    cu_address a;
    uint64_t bytes; /* of the array */
} onchip;

/* A launch of COUNT passes (l2) or iterations (l1, shared). */
static rp_code time_onchip(rp_session *session, const onchip *o, cu_function f, unsigned threads,
                           unsigned grid, unsigned count, int repeats, rp_timing *t,
                           rp_error *error) {
    cu_address a = o->a;
    unsigned tiles = (unsigned)(o->bytes / (threads * 64));
    void *l2[] = {&a, &session->sum, NULL, &tiles, &count};
    void *inner[] = {&a, &session->sum, NULL, &count};
    rp_launch launch = {f, grid, threads, o->level == RP_L2 ? l2 : inner, 2};
    rp_code code = TRY(cuMemsetD8_v2(session->sum, 0, 16), "a fill");
    uint32_t found = 0, once = rp_words_sum(o->bytes / 4), expected;

    (void)(code || (code = rp_time_launch(session, &launch, repeats, t, error)) ||
           (code = TRY(cuMemcpyDtoH_v2(&found, session->sum, 4), "a copy")));
    expected = o->level == RP_L2 ? once * count : once * (count / 4) * (grid * threads / 32);
    if (code == RP_OK && found != expected * (uint32_t)(repeats + 1))
        code = rp_fail(error, RP_MACHINE, "the sum of what %s read is wrong", o->name);
    return code;
}

static rp_work onchip_work(const onchip *o, unsigned threads, unsigned grid, unsigned count) {
    return o->level == RP_L2   ? rp_l2_work(o->bytes, count, grid)
           : o->level == RP_L1 ? rp_l1_work(grid, threads, count)
                               : rp_shared_work(grid, threads, count);
}

/* Passes or iterations that take SECONDS; the first guess counts the cost of a launch as work. */
static rp_code choose_count(rp_session *session, const onchip *o, cu_function f, unsigned threads,
                            unsigned grid, double seconds, unsigned *count, rp_error *error) {
    *count *= 16;
    for (int guess = 0; guess < 3; guess++) {
        rp_timing t;
        rp_code code = time_onchip(session, o, f, threads, grid, *count, 1, &t, error);
        if (code != RP_OK)
            return code;
        if (t.seconds > 0.5 * seconds && t.seconds < 2 * seconds)
            break;
        double n = *count * seconds / fmax(t.seconds, 1e-6);
        *count = n < 4 ? 4 : n > 1e8 ? 100000000 : (unsigned)n / 4 * 4;
    }
    return RP_OK;
}

static rp_code measure_onchip(rp_session *session, const onchip *o, best_of *best,
                              rp_error *error) {
    static const unsigned sizes[] = {512, 256, 128, 1024};
    const bool emulated = session->calibration->emulated, quick = session->options->quick;
    cu_function f;
    rp_code code = rp_session_function(session, RP_IMAGE_MEMORY, o->name, &f, error);

    for (size_t s = 0; s < (emulated ? 1 : quick ? 2 : o->level == RP_L2 ? 3 : 4); s++) {
        int fit = code == RP_OK ? rp_session_occupancy(session, f, (int)sizes[s]) : 0;
        for (int blocks = fit; blocks > 0 && code == RP_OK && !rp_session_stopped(session);
             blocks /= 2) {
            unsigned grid = (unsigned)session->sms * (unsigned)(emulated ? 1 : blocks);
            unsigned count = o->level == RP_L2 ? 2 : 4;
            rp_timing t;
            if (!emulated && (code = choose_count(session, o, f, sizes[s], grid,
                                                  quick ? 0.5e-3 : 2e-3, &count, error)) != RP_OK)
                break;
            code = time_onchip(session, o, f, sizes[s], grid, count, emulated ? 1 : 5, &t, error);
            rp_work work = onchip_work(o, sizes[s], grid, count);
            if (code == RP_OK)
                keep_better(best, rp_work_bytes(&work), &t, "%s, %u threads x %u blocks", o->name,
                            sizes[s], grid);
            if (emulated || quick)
                break;
        }
    }
    return code;
}

rp_code rp_measure_onchip(rp_session *session, rp_error *error) {
    /* A quarter of the L2: every SM's near half holds it, with room to spare. */
    uint64_t l2 =
        session->calibration->l2_bytes > 0 ? (uint64_t)session->calibration->l2_bytes / 4 : MIB;
    onchip levels[] = {{RP_L2, "rp_l2_read", 0, session->calibration->emulated ? MIB / 4 : l2},
                       {RP_L1, "rp_l1_read", 0, RP_L1_BYTES},
                       {RP_SHARED, "rp_shared_read", 0, RP_SHARED_BYTES}};
    rp_code code = RP_OK;

    for (int i = 0; i < 3 && code == RP_OK && !rp_session_stopped(session); i++) {
        onchip *o = &levels[i];
        rp_result *r = add_level(session, o->level, "read");
        best_of best = {0};
        rp_error reason = {0};
        if (!r)
            return rp_fail(error, RP_INTERNAL, "no memory for results");
        rp_session_progress(session, 0.76 + 0.02 * i, o->name + 3);
        session->observe = true;
        o->bytes -= o->bytes % (512 * 64 > o->bytes ? o->bytes : 512 * 64);
        rp_code failed = rp_session_allocate(session, o->bytes, &o->a, &reason);
        (void)(failed || (failed = fill_words(session, o->a, o->bytes / 4, &reason)) ||
               (failed = measure_onchip(session, o, &best, &reason)));
        rp_session_release(session, o->a);
        if (failed == RP_OK)
            take(session, r, &best);
        else
            blame(r, &reason);
    }
    return code;
}

/* ---- The intensity sweep --------------------------------------------------------------------- */

static rp_code time_depth(rp_session *session, cu_address a, uint64_t bytes, int depth,
                          rp_sweep_point *point, rp_error *error) {
    const float *k = rp_sweep_coefficients;
    float c[4] = {k[0], k[1], k[2], k[3]};
    const unsigned threads = 256;
    const bool emulated = session->calibration->emulated;
    uint64_t tiles = bytes / (threads * 64);
    void *parameters[] = {&a, &session->sum, NULL, &tiles, &c[0], &c[1], &c[2], &c[3]};
    char name[32];
    cu_function f = NULL;
    rp_code code;

    snprintf(name, sizeof name, "rp_sweep_%d", depth);
    code = rp_session_function(session, RP_IMAGE_SWEEP, name, &f, error);
    *point = (rp_sweep_point){.depth = depth, .flops_per_s = NAN};
    for (int g = 0; g < (emulated ? 1 : 2) && code == RP_OK; g++) {
        uint64_t held =
            (uint64_t)session->sms * (uint64_t)rp_session_occupancy(session, f, (int)threads);
        unsigned grid = (unsigned)(g == 0 && held && held < tiles ? held : tiles);
        int repeats = emulated ? 1 : 5;
        rp_launch launch = {f, grid, threads, parameters, 2};
        rp_work work = rp_sweep_work(depth, bytes, grid);
        uint32_t found = 0;
        rp_timing t;
        (void)((code = TRY(cuMemsetD8_v2(session->sum, 0, 16), "a fill")) ||
               (code = rp_time_launch(session, &launch, repeats, &t, error)) ||
               (code = TRY(cuMemcpyDtoH_v2(&found, session->sum, 4), "a copy")));
        if (code == RP_OK && found != rp_sweep_sum(depth, bytes / 4) * (uint32_t)(repeats + 1))
            code = rp_fail(error, RP_MACHINE, "%s gives a wrong sum", name);
        if (code != RP_OK)
            break;
        double rate = work.operations / t.seconds;
        if (isnan(point->flops_per_s) || rate > point->flops_per_s)
            *point = (rp_sweep_point){depth, work.operations / rp_work_bytes(&work), rate,
                                      rp_work_bytes(&work) / t.seconds, t.clock_hz};
    }
    return code;
}

/* Points that cannot be had are simply not there: they are drawn, and stand for no ceiling. */
rp_code rp_measure_sweep(rp_session *session, rp_error *error) {
    rp_calibration *c = session->calibration;
    rp_error reason = {0};
    arrays x;
    rp_code code = allocate_arrays(session, &x, &reason);
    uint64_t n = x.bytes / 4;
    cu_address a = x.a;
    void *fill[] = {&a, &n};

    (void)(code ||
           (code = helper_launch(session, RP_IMAGE_SWEEP, "rp_fill_floats", fill, &reason)));
    for (int i = 0; i < RP_SWEEP_POINTS && code == RP_OK && !rp_session_stopped(session); i++) {
        rp_session_progress(session, 0.9 + 0.01 * i, "the roofline itself");
        code = time_depth(session, x.a, x.bytes, 1 << i, &c->points[c->point_count], &reason);
        if (code == RP_OK)
            c->point_count++;
    }
    free_arrays(session, &x);
    if (code == RP_INTERNAL)
        return rp_fail(error, code, "%s", reason.message);
    if (code != RP_OK)
        snprintf(c->sweep_absent_because, sizeof c->sweep_absent_because, "%.255s", reason.message);
    return RP_OK;
}
