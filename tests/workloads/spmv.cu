// SPDX-License-Identifier: Apache-2.0
//
// A sparse matrix (CSR) times a vector: one thread per row, whose lanes wander through different
// rows and run out at different times, and one warp per row, which reads rows contiguously. The
// number of sectors depends on the pattern of the matrix; the host walks it.
#include "workload.h"

enum { BLOCK = 128, WARP = 32 };

extern "C" __global__ void spmv_scalar(int rows, const int *start, const int *column,
                                       const float *value, const float *x, float *y) {
    int row = blockIdx.x * BLOCK + threadIdx.x;
    if (row >= rows)
        return;
    float sum = 0;
    int end = start[row + 1];
#pragma unroll 1 // so that lanes stay in step, one element of their rows at a time
    for (int k = start[row]; k < end; k++)
        sum = fmaf(value[k], x[column[k]], sum);
    y[row] = sum;
}

extern "C" __global__ void spmv_vector(int rows, const int *start, const int *column,
                                       const float *value, const float *x, float *y) {
    int row = (blockIdx.x * BLOCK + threadIdx.x) / WARP, lane = threadIdx.x % WARP;
    if (row >= rows)
        return;
    float sum = 0;
    int end = start[row + 1];
#pragma unroll 1
    for (int k = start[row] + lane; k < end; k += WARP)
        sum = fmaf(value[k], x[column[k]], sum);
    for (int half = WARP / 2; half > 0; half /= 2)
        sum += __shfl_down_sync(0xffffffffu, sum, half);
    if (lane == 0)
        y[row] = sum;
}

typedef struct csr {
    int rows, nonzeros, *start, *column;
    float *value;
} csr;

// Rows of 1 to 2 MEAN - 1 elements at rising, irregular columns.
static csr make_matrix(int rows, int mean) {
    csr m = {rows, 0, NULL, NULL, NULL};
    uint32_t seed = 7;
    m.start = (int *)wl_host_alloc((rows + 1) * sizeof(int));
    m.start[0] = 0;
    for (int r = 0; r < rows; r++)
        m.start[r + 1] = m.start[r] + 1 + (int)((wl_random(&seed) >> 8) % (2 * mean - 1));
    m.nonzeros = m.start[rows];
    m.column = (int *)wl_host_alloc(m.nonzeros * sizeof(int));
    m.value = wl_random_array(m.nonzeros, 8);
    for (int r = 0; r < rows; r++) {
        int length = m.start[r + 1] - m.start[r];
        for (int k = 0; k < length; k++) {
            int stripe = rows / length; // the K-th element lies in the K-th of LENGTH stripes
            m.column[m.start[r] + k] = k * stripe + (int)((wl_random(&seed) >> 8) % stripe);
        }
    }
    return m;
}

static void free_matrix(csr *m) {
    free(m->start);
    free(m->column);
    free(m->value);
}

// The three loads of one step by a warp whose COUNT active lanes are at the elements K.
static void walk_step(wl_counts *c, const csr *m, const int *k, int count) {
    long long element[WARP], x[WARP];
    for (int i = 0; i < count; i++) {
        element[i] = 4LL * k[i];
        x[i] = 4LL * m->column[k[i]];
    }
    int sectors = wl_distinct_sectors(element, count, 4);
    c->load_requests += 3;
    c->load_sectors += 2 * sectors + wl_distinct_sectors(x, count, 4);
    c->load_bytes += 3 * 4 * count;
    c->flops_fp32 += 2 * count;
}

static void walk_scalar(wl_counts *c, const csr *m) {
    for (int first = 0; first < m->rows; first += WARP) {
        for (int step = 0;; step++) {
            int k[WARP], count = 0;
            for (int r = first; r < first + WARP; r++)
                if (m->start[r] + step < m->start[r + 1])
                    k[count++] = m->start[r] + step;
            if (!count)
                break;
            walk_step(c, m, k, count);
        }
    }
}

static void walk_vector(wl_counts *c, const csr *m) {
    for (int r = 0; r < m->rows; r++)
        for (int k0 = m->start[r]; k0 < m->start[r + 1]; k0 += WARP) {
            int k[WARP], count = 0;
            for (int i = k0; i < k0 + WARP && i < m->start[r + 1]; i++)
                k[count++] = i;
            walk_step(c, m, k, count);
        }
}

// The compulsory traffic, the same for both: the matrix, what is touched of x, and y.
static void set_dram(wl_counts *c, const csr *m) {
    char *touched = (char *)calloc(m->rows / 8 + 1, 1);
    long long x_sectors = 0;
    for (int k = 0; k < m->nonzeros; k++)
        touched[m->column[k] / 8] = 1;
    for (int i = 0; i < m->rows / 8 + 1; i++)
        x_sectors += touched[i];
    free(touched);
    c->dram_read_bytes =
        32 * (wl_sectors(4LL * (m->rows + 1)) + 2 * wl_sectors(4LL * m->nonzeros) + x_sectors);
    c->dram_write_bytes = 4LL * m->rows;
}

static void expect(const csr *m) {
    long long rows = m->rows, warps = rows / WARP;
    wl_counts s = {0}, v = {0};
    walk_scalar(&s, m);
    s.load_bytes += 2 * 4 * rows; // start[row] and start[row + 1], the latter shifted by an element
    s.load_requests += 2 * warps;
    s.load_sectors += (4 + 5) * warps;
    s.store_bytes = 4 * rows;
    s.store_requests = warps;
    s.store_sectors = 4 * warps;
    set_dram(&s, m);

    walk_vector(&v, m);
    v.flops_fp32 += 5 * WARP * rows;
    v.load_bytes += 2 * 4 * WARP * rows; // every lane asks for the same two words
    v.load_requests += 2 * rows;
    v.load_sectors += 2 * rows;
    v.store_bytes = 4 * rows;
    v.store_requests = v.store_sectors = rows;
    set_dram(&v, m);
    wl_expect_begin("spmv");
    wl_expect("spmv_scalar", 1, &s);
    wl_expect("spmv_vector", 1, &v);
    wl_expect_end();
}

static void verify(const char *what, const csr *m, const float *x, const float *dy) {
    float *y = (float *)wl_host_alloc(m->rows * sizeof *y);
    wl_launched(what);
    wl_fetch(y, dy, m->rows * sizeof *y);
    for (int r = 0; r < m->rows; r++) {
        double sum = 0;
        for (int k = m->start[r]; k < m->start[r + 1]; k++)
            sum += (double)m->value[k] * x[m->column[k]];
        wl_compare(what, r, y[r], sum, 1e-5);
    }
    WL_CUDA(cudaMemset((void *)dy, 0, m->rows * sizeof *y));
    free(y);
}

int main(int argc, char **argv) {
    static const char *const options[] = {"--rows=", "--mean=", NULL};
    wl_options_check(argc, argv, options);
    int rows = wl_option(argc, argv, "--rows", 4096, 1024, 1 << 22, BLOCK);
    int mean = wl_option(argc, argv, "--mean", 24, 1, 256, 1);
    csr m = make_matrix(rows, mean);
    if (wl_flag(argc, argv, "--expect")) {
        expect(&m);
        free_matrix(&m);
        return 0;
    }
    float *x = wl_random_array(rows, 9);
    int *dstart = (int *)wl_device_copy(m.start, (rows + 1) * sizeof(int));
    int *dcolumn = (int *)wl_device_copy(m.column, m.nonzeros * sizeof(int));
    float *dvalue = (float *)wl_device_copy(m.value, m.nonzeros * sizeof(float));
    float *dx = (float *)wl_device_copy(x, rows * sizeof *x);
    float *dy = (float *)wl_device_alloc(rows * sizeof *x);
    spmv_scalar<<<rows / BLOCK, BLOCK>>>(rows, dstart, dcolumn, dvalue, dx, dy);
    verify("spmv_scalar", &m, x, dy);
    spmv_vector<<<rows / (BLOCK / WARP), BLOCK>>>(rows, dstart, dcolumn, dvalue, dx, dy);
    verify("spmv_vector", &m, x, dy);
    cudaFree(dstart);
    cudaFree(dcolumn);
    cudaFree(dvalue);
    cudaFree(dx);
    cudaFree(dy);
    free(x);
    free_matrix(&m);
    return wl_verdict("spmv");
}
