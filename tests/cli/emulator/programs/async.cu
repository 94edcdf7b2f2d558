// SPDX-License-Identifier: Apache-2.0
// Asynchronous copies and barriers as CUDA C++ has them: cuda::barrier, cuda::pipeline,
// cuda::memcpy_async, cooperative groups, the older pipeline primitives, bulk copies that complete
// on a barrier, a cluster of one block. Every kernel turns its input over, block by block.
// FLAGS: -arch=sm_90
#include "check.h"
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda/barrier>
#include <cuda/latch>
#include <cuda/pipeline>
#include <cuda/ptx>
#include <cuda/semaphore>
#include <cuda_pipeline.h>

namespace cg = cooperative_groups;

enum { BLOCK = 128, BLOCKS = 4, STAGES = 3, BATCHES = 6, N = BLOCK * BLOCKS * BATCHES };
using block_barrier = cuda::barrier<cuda::thread_scope_block>;

// Where batch B of this block starts.
static __device__ size_t batch(int b) {
    return ((size_t)blockIdx.x * BATCHES + b) * BLOCK;
}

static __device__ void turn_over(const int *from, int *to, int b) {
    to[batch(b) + threadIdx.x] = from[BLOCK - 1 - threadIdx.x] + 1;
}

// A copy by each thread, on a barrier of the block; arrival and wait apart.
__global__ void by_barrier(const int *in, int *out) {
    __shared__ int tile[BLOCK];
#pragma nv_diag_suppress static_var_with_dynamic_init
    __shared__ block_barrier bar;
    if (threadIdx.x == 0)
        init(&bar, BLOCK);
    __syncthreads();
    for (int b = 0; b < BATCHES; b++) {
        cuda::memcpy_async(&tile[threadIdx.x], &in[batch(b) + threadIdx.x], sizeof(int), bar);
        block_barrier::arrival_token token = bar.arrive();
        bar.wait(std::move(token));
        turn_over(tile, out, b);
        bar.arrive_and_wait();
    }
    if (threadIdx.x % 2)
        bar.arrive_and_drop();
    else
        bar.arrive_and_wait();
    if (threadIdx.x % 2 == 0)
        bar.arrive_and_wait(); // the dropped ones are not waited for
}

// A copy by the whole block: aligned, so that it may become a bulk copy.
__global__ void by_group(const int *in, int *out) {
    __shared__ alignas(128) int tile[BLOCK];
    __shared__ block_barrier bar;
    cg::thread_block block = cg::this_thread_block();
    if (block.thread_rank() == 0)
        init(&bar, BLOCK);
    block.sync();
    for (int b = 0; b < BATCHES; b++) {
        if (b % 2) {
            cuda::memcpy_async(block, tile, in + batch(b), cuda::aligned_size_t<16>(sizeof tile),
                               bar);
            bar.arrive_and_wait();
        } else {
            cg::memcpy_async(block, tile, in + batch(b), sizeof tile);
            cg::wait(block);
        }
        turn_over(tile, out, b);
        block.sync();
    }
}

// Several batches on their way at once.
__global__ void by_pipeline(const int *in, int *out) {
    __shared__ int tile[STAGES][BLOCK];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, STAGES> state;
    cg::thread_block block = cg::this_thread_block();
    auto pipe = cuda::make_pipeline(block, &state);
    for (int b = 0, ahead = 0; b < BATCHES; b++) {
        for (; ahead < BATCHES && ahead < b + STAGES; ahead++) {
            pipe.producer_acquire();
            cuda::memcpy_async(block, tile[ahead % STAGES], in + batch(ahead), sizeof tile[0],
                               pipe);
            pipe.producer_commit();
        }
        pipe.consumer_wait();
        turn_over(tile[b % STAGES], out, b);
        pipe.consumer_release();
    }
}

// One warp brings, the others use.
__global__ void by_roles(const int *in, int *out) {
    __shared__ int tile[STAGES][BLOCK];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, STAGES> state;
    cg::thread_block block = cg::this_thread_block();
    const bool brings = threadIdx.x >= BLOCK;
    auto pipe = cuda::make_pipeline(
        block, &state, brings ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer);
    for (int b = 0; b < BATCHES; b++) {
        if (brings) {
            pipe.producer_acquire();
            for (int i = threadIdx.x - BLOCK; i < BLOCK; i += 32)
                cuda::memcpy_async(&tile[b % STAGES][i], &in[batch(b) + i], sizeof(int), pipe);
            pipe.producer_commit();
        } else {
            pipe.consumer_wait();
            turn_over(tile[b % STAGES], out, b);
            pipe.consumer_release();
        }
    }
}

// A thread's own pipeline, and the primitives below it.
__global__ void by_thread(const int *in, int *out) {
    __shared__ int tile[2][BLOCK];
    auto pipe = cuda::make_pipeline();
    for (int b = 0; b < BATCHES; b += 2) {
        pipe.producer_acquire();
        cuda::memcpy_async(&tile[0][threadIdx.x], &in[batch(b) + threadIdx.x], sizeof(int), pipe);
        pipe.producer_commit();
        pipe.consumer_wait();
        __pipeline_memcpy_async(&tile[1][threadIdx.x], &in[batch(b + 1) + threadIdx.x],
                                sizeof(int));
        __pipeline_commit();
        __pipeline_wait_prior(0);
        __syncthreads();
        turn_over(tile[0], out, b);
        turn_over(tile[1], out, b + 1);
        __syncthreads();
        pipe.consumer_release();
    }
}

// Bulk copies, in and out, by one thread.
__global__ void by_bulk(const int *in, int *out) {
    namespace ptx = cuda::ptx;
    __shared__ alignas(128) int tile[BLOCK], turned[BLOCK];
    __shared__ block_barrier bar;
    if (threadIdx.x == 0) {
        init(&bar, BLOCK);
        cuda::device::experimental::fence_proxy_async_shared_cta();
    }
    __syncthreads();
    for (int b = 0; b < BATCHES; b++) {
        block_barrier::arrival_token token;
        if (threadIdx.x == 0) {
            cuda::device::experimental::cp_async_bulk_global_to_shared(tile, in + batch(b),
                                                                       sizeof tile, bar);
            token = cuda::device::barrier_arrive_tx(bar, 1, sizeof tile);
        } else {
            token = bar.arrive();
        }
        bar.wait(std::move(token));
        turned[threadIdx.x] = tile[BLOCK - 1 - threadIdx.x] + 1;
        cuda::device::experimental::fence_proxy_async_shared_cta();
        __syncthreads();
        if (threadIdx.x == 0) {
            cuda::device::experimental::cp_async_bulk_shared_to_global(out + batch(b), turned,
                                                                       sizeof turned);
            cuda::device::experimental::cp_async_bulk_commit_group();
            cuda::device::experimental::cp_async_bulk_wait_group_read<0>();
        }
        __syncthreads();
    }
}

// A cluster of one block reaches its own shared memory as that of block 0.
__global__ void by_cluster(const int *in, int *out) {
    __shared__ int tile[BLOCK];
    cg::cluster_group cluster = cg::this_cluster();
    for (int b = 0; b < BATCHES; b++) {
        tile[threadIdx.x] = in[batch(b) + threadIdx.x];
        cluster.sync();
        int *same = cluster.map_shared_rank(tile, 0);
        turn_over(same, out, b);
        auto token = cluster.barrier_arrive();
        cluster.barrier_wait(std::move(token));
    }
    if (cluster.num_blocks() != 1 || cluster.block_rank() != 0)
        out[0] = -1;
}

// A barrier, a latch and a semaphore in global memory, for all blocks.
using device_barrier = cuda::barrier<cuda::thread_scope_device>;
struct meeting {
    device_barrier bar;
    cuda::latch<cuda::thread_scope_device> latch;
    cuda::binary_semaphore<cuda::thread_scope_device> semaphore;
    int turns;
};

__global__ void prepare(meeting *m) {
    new (&m->bar) device_barrier(BLOCKS);
    new (&m->latch) cuda::latch<cuda::thread_scope_device>(BLOCKS);
    new (&m->semaphore) cuda::binary_semaphore<cuda::thread_scope_device>(1);
    m->turns = 0;
}

__global__ void by_device(const int *in, int *out, meeting *m) {
    for (int b = 0; b < BATCHES; b++) {
        turn_over(in + batch(b), out, b);
        if (threadIdx.x == 0)
            m->bar.arrive_and_wait();
    }
    if (threadIdx.x)
        return;
    m->semaphore.acquire();
    m->turns++;
    m->semaphore.release();
    m->latch.arrive_and_wait();
    if (m->turns != BLOCKS)
        out[0] = -1;
}

static int *in, *out;

static void verify(const char *name) {
    CUDA(cudaGetLastError());
    CUDA(cudaDeviceSynchronize());
    for (int i = 0; i < N; i++)
        if (out[i] != in[i / BLOCK * BLOCK + BLOCK - 1 - i % BLOCK] + 1) {
            fprintf(stderr, "%s: element %d is %d\n", name, i, out[i]);
            exit(1);
        }
    CUDA(cudaMemset(out, 0, N * sizeof(int)));
}

int main() {
    CUDA(cudaMallocManaged(&in, N * sizeof(int)));
    CUDA(cudaMallocManaged(&out, N * sizeof(int)));
    for (int i = 0; i < N; i++)
        in[i] = i * 7;
    by_barrier<<<BLOCKS, BLOCK>>>(in, out);
    verify("by_barrier");
    by_group<<<BLOCKS, BLOCK>>>(in, out);
    verify("by_group");
    by_pipeline<<<BLOCKS, BLOCK>>>(in, out);
    verify("by_pipeline");
    by_roles<<<BLOCKS, BLOCK + 32>>>(in, out);
    verify("by_roles");
    by_thread<<<BLOCKS, BLOCK>>>(in, out);
    verify("by_thread");
    by_bulk<<<BLOCKS, BLOCK>>>(in, out);
    verify("by_bulk");
    by_cluster<<<BLOCKS, BLOCK>>>(in, out);
    verify("by_cluster");
    meeting *m;
    CUDA(cudaMalloc(&m, sizeof *m));
    prepare<<<1, 1>>>(m);
    void *arguments[] = {&in, &out, &m};
    CUDA(
        cudaLaunchCooperativeKernel((void *)by_device, dim3(BLOCKS), dim3(BLOCK), arguments, 0, 0));
    verify("by_device");
    return 0;
}
