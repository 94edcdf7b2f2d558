// SPDX-License-Identifier: Apache-2.0
//
// A histogram of bytes with one global atomic per byte, and with a private histogram per block in
// shared memory that is added to the global one at the end. Counts depend on the data only through
// the sectors and banks that a warp's 32 atomics fall into, which the host walks.
#include "workload.h"

enum { BLOCK = 256, BINS = 256, PER_THREAD = 16 };

extern "C" __global__ void histogram_global(const unsigned char *data, unsigned *bins, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        atomicAdd(&bins[data[i]], 1u);
}

// Each block takes BLOCK x PER_THREAD bytes.
extern "C" __global__ void histogram_shared(const unsigned char *data, unsigned *bins) {
    __shared__ unsigned mine[BINS];
    mine[threadIdx.x] = 0;
    __syncthreads();
    data += (size_t)blockIdx.x * BLOCK * PER_THREAD + threadIdx.x;
#pragma unroll 1
    for (int k = 0; k < PER_THREAD; k++)
        atomicAdd(&mine[data[k * BLOCK]], 1u);
    __syncthreads();
    atomicAdd(&bins[threadIdx.x], mine[threadIdx.x]);
}

// Half of the bytes fall into 16 bins, as real data would: atomics of a warp collide.
static unsigned char *make_data(int n) {
    unsigned char *data = (unsigned char *)wl_host_alloc(n);
    uint32_t seed = 5;
    for (int i = 0; i < n; i++) {
        uint32_t r = wl_random(&seed) >> 8;
        data[i] = (unsigned char)(r & 0x100 ? r & 0x0f : r & 0xff);
    }
    return data;
}

static void expect(const unsigned char *data, int n) {
    long long warps = n / 32, blocks = n / (BLOCK * PER_THREAD), sectors = 0, passes = 0;
    wl_expect_begin("histogram");
    for (long long w = 0; w < warps; w++) {
        long long address[32];
        int lanes_of_bank[32] = {0}, most = 0;
        for (int lane = 0; lane < 32; lane++) {
            int bin = data[32 * w + lane];
            address[lane] = 4LL * bin;
            if (++lanes_of_bank[bin % 32] > most)
                most = lanes_of_bank[bin % 32];
        }
        sectors += wl_distinct_sectors(address, 32, 4);
        passes += most; // in shared memory every lane of a bank has a turn of its own
    }
    char touched[BINS / 8] = {0};
    long long bins_bytes = 0;
    for (int i = 0; i < n; i++)
        touched[data[i] / 8] = 1;
    for (int i = 0; i < BINS / 8; i++)
        bins_bytes += 32 * touched[i];

    wl_counts g = {0};
    wl_stream_load(&g, n, 1);
    g.atomic_bytes = 4LL * n;
    g.atomic_requests = warps;
    g.atomic_sectors = sectors;
    g.dram_read_bytes += bins_bytes;
    g.dram_write_bytes += bins_bytes;
    wl_expect("histogram_global", 1, &g);

    wl_counts s = {0};
    wl_stream_load(&s, n, 1);
    s.atomic_bytes = 4LL * BINS * blocks;
    s.atomic_requests = blocks * (BINS / 32);
    s.atomic_sectors = blocks * (BINS / 8);
    s.shared_store_bytes = s.shared_load_bytes = 4LL * BINS * blocks;
    s.shared_atomic_bytes = 4LL * n;
    s.shared_wavefronts = passes + 2 * blocks * (BINS / 32); // and bins cleared and read
    s.shared_bank_conflicts = passes - warps;
    s.dram_read_bytes += BINS * 4;
    s.dram_write_bytes += BINS * 4;
    wl_expect("histogram_shared", 1, &s);
    wl_expect_end();
}

int main(int argc, char **argv) {
    static const char *const options[] = {"--n=", NULL};
    wl_options_check(argc, argv, options);
    int n = wl_option(argc, argv, "--n", 1 << 18, BLOCK * PER_THREAD, 1 << 30, BLOCK * PER_THREAD);
    unsigned char *data = make_data(n);
    if (wl_flag(argc, argv, "--expect")) {
        expect(data, n);
        free(data);
        return 0;
    }
    unsigned want[BINS] = {0}, got[BINS];
    for (int i = 0; i < n; i++)
        want[data[i]]++;
    unsigned char *ddata = (unsigned char *)wl_device_copy(data, n);
    unsigned *dbins = (unsigned *)wl_device_alloc(sizeof got);
    WL_CUDA(cudaMemset(dbins, 0, sizeof got));
    histogram_global<<<n / BLOCK, BLOCK>>>(ddata, dbins, n);
    wl_launched("histogram_global");
    wl_fetch(got, dbins, sizeof got);
    for (int b = 0; b < BINS; b++)
        wl_compare("histogram_global", b, got[b], want[b], 0);
    WL_CUDA(cudaMemset(dbins, 0, sizeof got));
    histogram_shared<<<n / (BLOCK * PER_THREAD), BLOCK>>>(ddata, dbins);
    wl_launched("histogram_shared");
    wl_fetch(got, dbins, sizeof got);
    for (int b = 0; b < BINS; b++)
        wl_compare("histogram_shared", b, got[b], want[b], 0);
    cudaFree(ddata);
    cudaFree(dbins);
    free(data);
    return wl_verdict("histogram");
}
