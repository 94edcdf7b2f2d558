/* SPDX-License-Identifier: Apache-2.0
 *
 * What the workloads share: options, checks, random numbers, the verdict line and, above all, the
 * printing of closed-form counts. A workload is one .cu file that
 *
 *   - computes something on the device, unmodified on a GPU or on the emulated device,
 *   - verifies it against a plain CPU reference and prints one line, "ok NAME ..." (exit 0) or
 *     "FAILED NAME: why" (exit 1),
 *   - with --expect touches no device and prints, as one JSON document, what each of its launches
 *     must be counted to do. tests/workloads/README.md derives the formulas; check_counts.c holds
 *     them against the counts of the emulated device.
 *
 * The document: {"schema":"roofprof.workload-expect/1","workload":NAME,"launches":[L...]} where
 * each L has "kernel", "launches" (how many launches are counted to do exactly this) and one member
 * per field of wl_counts, of ONE launch. A field with no closed form is left out, never 0.
 *
 * Conventions of the counts, the same as in emulator/emulator.h:
 *   flops     add, sub, mul, div, sqrt, rcp and special functions 1, fma 2; min, max, compare 0;
 *             the additions inside atomics are not arithmetic of the SM and count 0
 *   tensor    2 m n k for each matrix instruction of a warp
 *   bytes     what threads ask for: threads x size
 *   requests  warp instructions
 *   sectors   distinct 32-byte sectors of each warp instruction, summed
 *   shared    wavefronts: 32 banks of 4 bytes, 16-byte accesses by quarters of a warp (8-byte ones
 *             by halves), atomics one lane of a bank at a time; bank conflicts: those over one for
 *             each warp, half or quarter
 *   dram      caches cold at the start of the launch and large enough for its arrays, dirty
 *             sectors charged to the launch: every distinct sector once
 * Arrays are aligned to 256 bytes, as cudaMalloc aligns them. Sizes are chosen so that the numbers
 * fit 63 bits.
 */
#ifndef WORKLOAD_H
#define WORKLOAD_H

#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WL_UNKNOWN (-1LL) /* no closed form: left out of the document */

/* The counts of one launch. Global memory unless the name says shared or texture (surfaces are
 * textures here); sectors are those of both. */
typedef struct wl_counts {
    long long flops_fp64, flops_fp32, flops_fp16;
    long long tensor_fp16, tensor_bf16; /* FLOPs of tensor cores, sums in fp32 */
    long long load_bytes, store_bytes, atomic_bytes;
    long long load_requests, store_requests, atomic_requests;
    long long load_sectors, store_sectors, atomic_sectors;
    long long shared_load_bytes, shared_store_bytes, shared_atomic_bytes;
    long long shared_wavefronts, shared_bank_conflicts;
    long long texture_load_bytes, texture_store_bytes;
    long long texture_load_requests, texture_store_requests;
    long long dram_read_bytes, dram_write_bytes;
} wl_counts;

/* ---- The device ------------------------------------------------------------------------------ */

/* Stops the program with the place and the text of a CUDA error. */
#define WL_CUDA(call) wl_cuda_check((call), #call, __FILE__, __LINE__)

static inline void wl_cuda_check(cudaError_t error, const char *what, const char *file, int line) {
    if (error == cudaSuccess)
        return;
    fprintf(stderr, "%s:%d: %s: %s\n", file, line, what, cudaGetErrorString(error));
    exit(1);
}

/* After launches of KERNEL: waits for them; stops the program if one could not start or failed. */
static inline void wl_launched(const char *kernel) {
    cudaError_t error = cudaGetLastError();
    const char *what = "cannot be launched";
    if (error == cudaSuccess) {
        error = cudaDeviceSynchronize();
        what = "failed";
    }
    if (error == cudaSuccess)
        return;
    fprintf(stderr, "%s %s: %s\n", kernel, what, cudaGetErrorString(error));
    exit(1);
}

static inline void *wl_device_alloc(size_t bytes) {
    void *p = NULL;
    WL_CUDA(cudaMalloc(&p, bytes));
    return p;
}

/* A device copy of BYTES at HOST; the caller frees it with cudaFree. */
static inline void *wl_device_copy(const void *host, size_t bytes) {
    void *p = wl_device_alloc(bytes);
    WL_CUDA(cudaMemcpy(p, host, bytes, cudaMemcpyHostToDevice));
    return p;
}

static inline void wl_fetch(void *host, const void *device, size_t bytes) {
    WL_CUDA(cudaMemcpy(host, device, bytes, cudaMemcpyDeviceToHost));
}

static inline void *wl_host_alloc(size_t bytes) {
    void *p = malloc(bytes ? bytes : 1);
    if (!p) {
        fprintf(stderr, "out of host memory: %zu bytes\n", bytes);
        exit(1);
    }
    return p;
}

/* ---- Options --------------------------------------------------------------------------------- */

static inline int wl_flag(int argc, char **argv, const char *name) {
    for (int i = 1; i < argc; i++)
        if (!strcmp(argv[i], name))
            return 1;
    return 0;
}

/* The text after NAME, or NULL. */
static inline const char *wl_option_text(int argc, char **argv, const char *name) {
    for (int i = 1; i + 1 < argc; i++)
        if (!strcmp(argv[i], name))
            return argv[i + 1];
    return NULL;
}

/* The whole number after NAME, in [LEAST, MOST] and a multiple of STEP; FALLBACK if not given. */
static inline int wl_option(int argc, char **argv, const char *name, int fallback, int least,
                            int most, int step) {
    const char *text = wl_option_text(argc, argv, name);
    if (!text)
        return fallback;
    char *end = NULL;
    long value = strtol(text, &end, 10);
    if (end == text || *end || value < least || value > most || value % step) {
        fprintf(stderr, "%s %s: want a whole number from %d to %d", name, text, least, most);
        fprintf(stderr, step > 1 ? ", a multiple of %d\n" : "\n", step);
        exit(2);
    }
    return (int)value;
}

/* Stops at an option that is not in the NULL-terminated NAMES; one that takes a value ends in '='.
 * Every workload takes --expect. */
static inline void wl_options_check(int argc, char **argv, const char *const *names) {
    for (int i = 1; i < argc; i++) {
        int known = !strcmp(argv[i], "--expect");
        for (int k = 0; names[k] && !known; k++) {
            size_t length = strlen(names[k]);
            int takes_value = names[k][length - 1] == '=';
            known = strlen(argv[i]) == length - takes_value &&
                    !strncmp(argv[i], names[k], length - takes_value);
            if (known && takes_value && ++i == argc)
                known = 0;
        }
        if (known)
            continue;
        fprintf(stderr, "usage: %s [--expect]", argv[0]);
        for (int k = 0; names[k]; k++)
            fprintf(stderr, " [%.*s%s]", (int)strcspn(names[k], "="), names[k],
                    strchr(names[k], '=') ? " N" : "");
        fprintf(stderr, "\n");
        exit(2);
    }
}

/* ---- Closed forms ---------------------------------------------------------------------------- */

static inline long long wl_ceil_div(long long a, long long b) {
    return (a + b - 1) / b;
}

/* Sectors under BYTES contiguous bytes from an aligned start. */
static inline long long wl_sectors(long long bytes) {
    return wl_ceil_div(bytes, 32);
}

/* Distinct sectors among COUNT addresses (byte offsets) of SIZE bytes each: one warp instruction.
 */
static inline int wl_distinct_sectors(const long long *address, int count, int size) {
    long long seen[64];
    int n = 0;
    for (int i = 0; i < count; i++)
        for (long long s = address[i] / 32; s <= (address[i] + size - 1) / 32; s++) {
            int k = 0;
            while (k < n && seen[k] != s)
                k++;
            if (k == n)
                seen[n++] = s;
        }
    return n;
}

/* One access by each of N threads to its own element of an array, in order: adds to C. */
static inline void wl_stream_load(wl_counts *c, long long n, int size) {
    c->load_bytes += n * size;
    c->load_requests += wl_ceil_div(n, 32);
    c->load_sectors += wl_sectors(n * size);
    c->dram_read_bytes += wl_sectors(n * size) * 32;
}

static inline void wl_stream_store(wl_counts *c, long long n, int size) {
    c->store_bytes += n * size;
    c->store_requests += wl_ceil_div(n, 32);
    c->store_sectors += wl_sectors(n * size);
    c->dram_write_bytes += wl_sectors(n * size) * 32;
}

static int wl_expect_count; /* launches printed so far */

static inline void wl_expect_begin(const char *workload) {
    wl_expect_count = 0;
    printf("{\"schema\":\"roofprof.workload-expect/1\",\"workload\":\"%s\",\"launches\":[",
           workload);
}

/* LAUNCHES launches of KERNEL are to be counted as C, each. */
static inline void wl_expect(const char *kernel, long long launches, const wl_counts *c) {
    const struct {
        const char *key;
        long long value;
    } fields[] = {
        {"flops_fp64", c->flops_fp64},
        {"flops_fp32", c->flops_fp32},
        {"flops_fp16", c->flops_fp16},
        {"tensor_fp16", c->tensor_fp16},
        {"tensor_bf16", c->tensor_bf16},
        {"load_bytes", c->load_bytes},
        {"store_bytes", c->store_bytes},
        {"atomic_bytes", c->atomic_bytes},
        {"load_requests", c->load_requests},
        {"store_requests", c->store_requests},
        {"atomic_requests", c->atomic_requests},
        {"load_sectors", c->load_sectors},
        {"store_sectors", c->store_sectors},
        {"atomic_sectors", c->atomic_sectors},
        {"shared_load_bytes", c->shared_load_bytes},
        {"shared_store_bytes", c->shared_store_bytes},
        {"shared_atomic_bytes", c->shared_atomic_bytes},
        {"shared_wavefronts", c->shared_wavefronts},
        {"shared_bank_conflicts", c->shared_bank_conflicts},
        {"texture_load_bytes", c->texture_load_bytes},
        {"texture_store_bytes", c->texture_store_bytes},
        {"texture_load_requests", c->texture_load_requests},
        {"texture_store_requests", c->texture_store_requests},
        {"dram_read_bytes", c->dram_read_bytes},
        {"dram_write_bytes", c->dram_write_bytes},
    };
    if (launches <= 0)
        return;
    printf("%s\n {\"kernel\":\"%s\",\"launches\":%lld", wl_expect_count++ ? "," : "", kernel,
           launches);
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (fields[i].value != WL_UNKNOWN)
            printf(",\"%s\":%lld", fields[i].key, fields[i].value);
    printf("}");
}

static inline void wl_expect_end(void) {
    printf("\n]}\n");
}

/* ---- Data and verdicts ----------------------------------------------------------------------- */

/* A small generator of its own, so that the data are the same everywhere (xorshift, 32 bits). */
static inline uint32_t wl_random(uint32_t *state) {
    uint32_t x = *state ? *state : 2463534242u;
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    return *state = x;
}

/* In [-1, 1). */
static inline float wl_random_float(uint32_t *state) {
    return (float)(wl_random(state) >> 8) / 8388608.0f - 1.0f;
}

static inline float *wl_random_array(long long n, uint32_t seed) {
    float *x = (float *)wl_host_alloc((size_t)n * sizeof *x);
    for (long long i = 0; i < n; i++)
        x[i] = wl_random_float(&seed);
    return x;
}

static int wl_failures; /* of this program */

/* Compares one value; says the first few that differ by more than TOLERANCE x max(1, |want|). NaN
 * never passes. */
static inline void wl_compare(const char *what, long long index, double got, double want,
                              double tolerance) {
    double scale = fabs(want) > 1.0 ? fabs(want) : 1.0;
    if (fabs(got - want) <= tolerance * scale)
        return;
    if (wl_failures++ < 5)
        printf("FAILED %s[%lld]: %.9g, should be %.9g\n", what, index, got, want);
}

/* The last line and the exit code. */
static inline int wl_verdict(const char *workload) {
    if (wl_failures) {
        printf("FAILED %s: %d values differ\n", workload, wl_failures);
        return 1;
    }
    printf("ok %s\n", workload);
    return 0;
}

#endif
