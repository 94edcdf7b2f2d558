/* SPDX-License-Identifier: Apache-2.0
 *
 * The host's own ceilings: every processor that this process may use runs the same loop, pinned,
 * between barriers. Arrays are four times the last cache, first touched by the thread that uses
 * them. Bytes are counted as STREAM does: what the program asks for; stores go past the caches, so
 * nothing is read that is only to be written.
 */
#include "kernels/calibration.h"
#include "kernels/host_kernels.h"
#include "kernels/shapes.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { MOST_THREADS = 1024, MOST_REPEATS = 32 };

typedef struct team team;

/* What one thread does in one repeat; the FLOP or bytes of it. */
typedef double (*task)(team *team, int thread);

struct team {
    const rp_host_kernels *kernels;
    int threads, cpus[MOST_THREADS];
    pthread_barrier_t barrier;
    double *a, *b, *c;
    size_t n; /* doubles of an array: a multiple of threads x RP_HOST_STEP */
    rp_pattern pattern;
    size_t rounds; /* of multiply-adds */
    bool single;
    task run;
    int repeats;
    double seconds[MOST_REPEATS], work[MOST_THREADS], sums[MOST_THREADS];
};

typedef struct member {
    team *team;
    int thread;
} member;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- The team -------------------------------------------------------------------------------- */

static void *work(void *argument) {
    const member *m = argument;
    team *t = m->team;
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(t->cpus[m->thread], &set);
    pthread_setaffinity_np(pthread_self(), sizeof set, &set);
    for (int r = 0; r < t->repeats; r++) {
        double start;
        pthread_barrier_wait(&t->barrier);
        start = now();
        t->work[m->thread] = t->run(t, m->thread);
        pthread_barrier_wait(&t->barrier);
        if (m->thread == 0)
            t->seconds[r] = now() - start;
    }
    return NULL;
}

/* Runs T->run on all processors, T->repeats times. */
static rp_code run_team(team *t, rp_error *error) {
    pthread_t handles[MOST_THREADS];
    member members[MOST_THREADS];
    int started = 1;

    pthread_barrier_init(&t->barrier, NULL, (unsigned)t->threads);
    for (; started < t->threads; started++) {
        members[started] = (member){t, started};
        if (pthread_create(&handles[started], NULL, work, &members[started]) != 0)
            break;
    }
    if (started <
        t->threads) { /* the others wait at the barrier: nothing is left but to end them */
        for (int i = 1; i < started; i++) {
            pthread_cancel(handles[i]);
            pthread_detach(handles[i]);
        }
        return rp_fail(error, RP_MACHINE, "only %d of %d threads can be started", started,
                       t->threads);
    }
    cpu_set_t before;
    sched_getaffinity(0, sizeof before, &before);
    members[0] = (member){t, 0};
    work(&members[0]);
    sched_setaffinity(0, sizeof before, &before);
    for (int i = 1; i < t->threads; i++)
        pthread_join(handles[i], NULL);
    pthread_barrier_destroy(&t->barrier);
    return RP_OK;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The fastest of the repeats, as STREAM reports it: what disturbs a host only ever slows it. */
static void take(team *t, rp_result *r, double amount) {
    qsort(t->seconds, (size_t)t->repeats, sizeof *t->seconds, by_value);
    r->ceiling.rate = amount / t->seconds[0];
    r->sustained = amount / t->seconds[t->repeats / 2];
    r->spread = (t->seconds[t->repeats - 1] - t->seconds[0]) / t->seconds[t->repeats / 2];
    r->repeats = t->repeats;
}

/* ---- Tasks ----------------------------------------------------------------------------------- */

static double touch(team *t, int thread) {
    size_t part = t->n / (size_t)t->threads, first = part * (size_t)thread;
    for (size_t i = first; i < first + part; i++) {
        t->a[i] = 0;
        t->b[i] = 1.0 + (double)(i % 16);
        t->c[i] = 2.0 + (double)(i % 8);
    }
    return 0;
}

static double stream(team *t, int thread) {
    size_t part = t->n / (size_t)t->threads, first = part * (size_t)thread;
    double s = t->pattern == RP_PATTERN_WRITE ? RP_STREAM_VALUE : RP_STREAM_SCALAR;

    t->sums[thread] =
        t->kernels->stream(t->pattern, t->a + first, t->b + first, t->c + first, s, part);
    return 0;
}

static double multiply_add(team *t, int thread) {
    double *sum = &t->sums[thread];
    return t->single ? t->kernels->fma32(t->rounds, 0.999f, 0.001f, sum)
                     : t->kernels->fma64(t->rounds, 0.999, 0.001, sum);
}

/* ---- Checks ---------------------------------------------------------------------------------- */

static bool stream_is_right(const team *t) {
    static const double results[RP_PATTERNS][3] = {[RP_PATTERN_WRITE] = {RP_STREAM_VALUE, 0, 0},
                                                   [RP_PATTERN_COPY] = {0, 1, 0},
                                                   [RP_PATTERN_SCALE] = {0, RP_STREAM_SCALAR, 0},
                                                   [RP_PATTERN_ADD] = {0, 1, 1},
                                                   [RP_PATTERN_TRIAD] = {0, 1, RP_STREAM_SCALAR}};
    const double *k = results[t->pattern];
    double sum = 0, expected = 0;

    for (int i = 0; i < t->threads; i++)
        sum += t->sums[i];
    for (size_t i = 0; i < t->n; i++) {
        double b = 1.0 + (double)(i % 16), c = 2.0 + (double)(i % 8);
        expected += t->pattern == RP_PATTERN_READ ? b : t->pattern == RP_PATTERN_DOT ? b * c : 0;
        if (rp_pattern_stores(t->pattern) && t->a[i] != k[0] + k[1] * b + k[2] * c)
            return false;
    }
    return sum == expected;
}

/* x = 0.999 x + 0.001 goes to 1 from either side: every register ends there. */
static bool sums_are_right(const team *t, double registers) {
    for (int i = 0; i < t->threads; i++)
        if (!(fabs(t->sums[i] / registers - 1) < 1e-2))
            return false;
    return true;
}

/* ---- Measuring ------------------------------------------------------------------------------- */

static rp_result *add(rp_calibration *c, rp_result_kind kind, rp_ceiling ceiling,
                      const char *pattern) {
    char key[48];
    rp_result *r;

    ceiling.rate = ceiling.clock_hz = NAN;
    ceiling.provenance = RP_CALIBRATED;
    ceiling.source = "roofprof calibrate --host";
    rp_ceiling_key(&ceiling, key, sizeof key);
    if ((r = rp_calibration_add(c, kind, key)) != NULL) {
        r->ceiling = ceiling;
        snprintf(r->pattern, sizeof r->pattern, "%s", pattern);
    }
    return r;
}

static rp_code measure_streams(team *t, const rp_calibrate_options *o, rp_calibration *c,
                               rp_error *error) {
    rp_code code;

    t->run = touch;
    t->repeats = 1;
    code = run_team(t, error);
    t->run = stream;
    for (int p = 0; p < RP_PATTERNS && code == RP_OK && !(o->stop && *o->stop); p++) {
        rp_result *r =
            add(c, RP_RESULT_BANDWIDTH, (rp_ceiling){.level = RP_DRAM}, rp_pattern_name(p));
        if (!r)
            return rp_fail(error, RP_INTERNAL, "no memory for results");
        if (o->progress)
            o->progress(o->context, 0.2 + 0.1 * p, rp_pattern_name(p));
        t->pattern = (rp_pattern)p;
        t->repeats = o->quick ? 5 : 15;
        if ((code = run_team(t, error)) != RP_OK)
            return code;
        rp_work work = rp_stream_work((rp_pattern)p, t->n * 8, 0);
        if (stream_is_right(t))
            take(t, r, rp_work_bytes(&work));
        else
            snprintf(r->absent_because, sizeof r->absent_because,
                     "wrong results: faulty memory, or a fault of this program");
        snprintf(r->variant, sizeof r->variant, "%s, %d threads, %zu MiB an array",
                 t->kernels->name, t->threads, t->n * 8 >> 20);
    }
    return code;
}

static rp_code measure_fma(team *t, const rp_calibrate_options *o, rp_calibration *c, bool single,
                           rp_error *error) {
    rp_ceiling ceiling = {
        .compute = true, .precision = single ? RP_FP32 : RP_FP64, .path = RP_VECTOR};
    rp_result *r = add(c, RP_RESULT_COMPUTE, ceiling, "");
    double flops = 0, each;
    rp_code code;

    if (!r)
        return rp_fail(error, RP_INTERNAL, "no memory for results");
    if (o->progress)
        o->progress(o->context, single ? 0.1 : 0, r->name);
    t->run = multiply_add;
    t->single = single;
    t->repeats = o->quick ? 5 : 15;
    t->rounds = o->quick ? 200000 : 1000000;
    if ((code = run_team(t, error)) != RP_OK)
        return code;
    for (int i = 0; i < t->threads; i++)
        flops += t->work[i];
    each = t->work[0] / (2.0 * (double)t->rounds);
    if (sums_are_right(t, each))
        take(t, r, flops);
    else
        snprintf(r->absent_because, sizeof r->absent_because, "wrong results");
    snprintf(r->variant, sizeof r->variant, "%s, %d threads", t->kernels->name, t->threads);
    return RP_OK;
}

/* ---- The host -------------------------------------------------------------------------------- */

static const rp_host_kernels *best_kernels(void) {
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f"))
        return &rp_host_kernels_avx512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return &rp_host_kernels_avx2;
#endif
    return &rp_host_kernels_base;
}

static void describe(rp_calibration *c) {
    char line[256];
    FILE *f = fopen("/proc/cpuinfo", "r");

    strcpy(c->name, "CPU");
    while (f && fgets(line, sizeof line, f)) {
        char *colon = strchr(line, ':');
        if (!colon || strncmp(line, "model name", 10) != 0)
            continue;
        colon[strcspn(colon, "\n")] = 0;
        snprintf(c->name, sizeof c->name, "%.120s", colon + 2);
        break;
    }
    if (f)
        fclose(f);
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    c->memory_bytes = pages > 0 && size > 0 ? (int64_t)pages * size : -1;
    c->l2_bytes = -1;
}

static void find_processors(team *t) {
    cpu_set_t set;

    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) != 0)
        CPU_SET(0, &set);
    for (int cpu = 0; cpu < CPU_SETSIZE && t->threads < MOST_THREADS; cpu++)
        if (CPU_ISSET(cpu, &set))
            t->cpus[t->threads++] = cpu;
}

/* Bytes of the last cache, as the kernel tells it ("32768K"): what sysconf says of a virtual
 * machine may be the whole socket's. */
static size_t last_cache(void) {
    FILE *f = fopen("/sys/devices/system/cpu/cpu0/cache/index3/size", "r");
    size_t kib = 0;
    long told = sysconf(_SC_LEVEL3_CACHE_SIZE);

    if (f) {
        if (fscanf(f, "%zuK", &kib) != 1)
            kib = 0;
        fclose(f);
    }
    return kib ? kib << 10 : told > 0 ? (size_t)told : (size_t)32 << 20;
}

/* Large pages where the system gives them: at 4 KiB a page the translation is what is measured. */
static double *new_array(size_t bytes) {
    const size_t page = (size_t)2 << 20;
    double *array = aligned_alloc(page, (bytes + page - 1) / page * page);
    if (array)
        madvise(array, bytes, MADV_HUGEPAGE);
    return array;
}

static rp_code allocate(team *t, const rp_calibrate_options *o, int64_t memory_bytes,
                        rp_error *error) {
    const size_t mib = (size_t)1 << 20;
    size_t bytes = (o->quick ? 2 : 4) * last_cache(), step = (size_t)t->threads * RP_HOST_STEP * 8;

    if (bytes < 64 * mib)
        bytes = 64 * mib;
    if (bytes > 2048 * mib)
        bytes = 2048 * mib;
    if (memory_bytes > 0 && bytes > (size_t)memory_bytes / 8)
        bytes = (size_t)memory_bytes / 8;
    t->n = bytes / step * step / 8;
    t->a = new_array(t->n * 8);
    t->b = new_array(t->n * 8);
    t->c = new_array(t->n * 8);
    return t->n && t->a && t->b && t->c
               ? RP_OK
               : rp_fail(error, RP_MACHINE, "no memory for three arrays of %zu MiB", bytes / mib);
}

rp_code rp_calibrate_host(const rp_calibrate_options *options, rp_calibration *calibration,
                          rp_error *error) {
    team *t = calloc(1, sizeof *t);
    double start = now();
    time_t today = time(NULL);
    struct tm utc;
    rp_code code;

    *calibration = (rp_calibration){.host = true, .power_limit_w = NAN};
    if (!t)
        return rp_fail(error, RP_INTERNAL, "no memory");
    strftime(calibration->date, sizeof calibration->date, "%Y-%m-%dT%H:%M:%SZ",
             gmtime_r(&today, &utc));
    t->kernels = best_kernels();
    describe(calibration);
    find_processors(t);
    calibration->sm_count = t->threads;
    (void)((code = allocate(t, options, calibration->memory_bytes, error)) ||
           (code = measure_fma(t, options, calibration, false, error)) ||
           (code = measure_fma(t, options, calibration, true, error)) ||
           (code = measure_streams(t, options, calibration, error)));
    calibration->interrupted = options->stop && *options->stop;
    calibration->elapsed_s = now() - start;
    free(t->a);
    free(t->b);
    free(t->c);
    free(t);
    if (code != RP_OK)
        rp_calibration_free(calibration);
    else
        rp_calibration_judge(calibration);
    return code;
}
