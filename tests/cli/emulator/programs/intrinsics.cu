// SPDX-License-Identifier: Apache-2.0
// Device intrinsics as programs call them, each against its meaning in plain C++: SIMD in a word,
// bit fields, half precision and eight-bit floating point, lanes of a warp.
// FLAGS: -arch=sm_90
#include "check.h"
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <climits>
#include <cmath>
#include <cstring>

enum { N = 4096, KINDS = 24 };

__global__ void simd(const unsigned *a, const unsigned *b, unsigned *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned x = a[i], y = b[i], k = 0;
    out[k++ * N + i] = __vadd4(x, y);
    out[k++ * N + i] = __vaddss4(x, y);
    out[k++ * N + i] = __vsubus2(x, y);
    out[k++ * N + i] = __vabsdiffs4(x, y);
    out[k++ * N + i] = __vavgu4(x, y);
    out[k++ * N + i] = __vmaxs2(x, y);
    out[k++ * N + i] = __vminu4(x, y);
    out[k++ * N + i] = __vcmpgts2(x, y);
    out[k++ * N + i] = __vsetltu4(x, y);
    out[k++ * N + i] = __vsadu4(x, y);
    out[k++ * N + i] = __viaddmax_s32(x, y, 7);
    out[k++ * N + i] = __vimin3_s32(x, y, 100000);
    out[k++ * N + i] = __vimax_s32_relu(x, y);
    out[k++ * N + i] = __vimin_s16x2_relu(x, y);
    out[k++ * N + i] = __byte_perm(x, y, 0x7531);
    out[k++ * N + i] = __funnelshift_rc(x, y, 40);
    out[k++ * N + i] = __dp4a(x, y, 5u);
    out[k++ * N + i] = __usad(x, y, 3);
    out[k++ * N + i] = __fns(x, 3, 2);
    out[k++ * N + i] = __brev(x) ^ __popc(y) ^ __clz(x) ^ __ffs(y);
    out[k++ * N + i] = __mul24(x, y) + __umulhi(x, y) + __rhadd(x, y);
    out[k++ * N + i] = __float_as_uint(__fmaf_rz(__uint_as_float(x & 0x3fffffff), 3.0f, 1.0f));
    out[k++ * N + i] = (unsigned)__float2int_rd(__uint_as_float(x));
    out[k++ * N + i] = __double2hiint(__hiloint2double(x & 0x3fffffff, y) * 0.5);
}

template <typename T> static T lane_value(unsigned x, int i) {
    return (T)(x >> 8 * sizeof(T) * i);
}

// R of each element of type T, put together.
template <typename T, typename F> static unsigned each(unsigned x, unsigned y, F f) {
    unsigned r = 0;
    for (int i = 0; i < (int)(4 / sizeof(T)); i++) {
        long long v = f((long long)lane_value<T>(x, i), (long long)lane_value<T>(y, i));
        r |= ((unsigned)v & (unsigned)((1ull << 8 * sizeof(T)) - 1)) << 8 * sizeof(T) * i;
    }
    return r;
}

static long long clamp(long long v, long long low, long long high) {
    return v < low ? low : v > high ? high : v;
}

static unsigned nth_set(unsigned mask, unsigned base, int offset) {
    for (; base < 32; base++)
        if (mask >> base & 1 && --offset == 0)
            return base;
    return ~0u;
}

static unsigned want_simd(int k, unsigned x, unsigned y) {
    using s8 = signed char;
    using u8 = unsigned char;
    using s16 = short;
    using u16 = unsigned short;
    int sx = (int)x, sy = (int)y;
    unsigned r = 0;
    switch (k) {
    case 0:
        return each<u8>(x, y, [](long long a, long long b) { return a + b; });
    case 1:
        return each<s8>(x, y, [](long long a, long long b) { return clamp(a + b, -128, 127); });
    case 2:
        return each<u16>(x, y, [](long long a, long long b) { return clamp(a - b, 0, 65535); });
    case 3:
        return each<s8>(x, y, [](long long a, long long b) { return a > b ? a - b : b - a; });
    case 4:
        return each<u8>(x, y, [](long long a, long long b) { return (a + b + 1) / 2; });
    case 5:
        return each<s16>(x, y, [](long long a, long long b) { return a > b ? a : b; });
    case 6:
        return each<u8>(x, y, [](long long a, long long b) { return a < b ? a : b; });
    case 7:
        return each<s16>(x, y, [](long long a, long long b) { return a > b ? -1 : 0; });
    case 8:
        return each<u8>(x, y, [](long long a, long long b) { return a < b; });
    case 9:
        for (int i = 0; i < 4; i++)
            r += abs((int)lane_value<u8>(x, i) - (int)lane_value<u8>(y, i));
        return r;
    case 10:
        return (int)(x + y) > 7 ? x + y : 7;
    case 11:
        return (unsigned)(sx < sy ? sx < 100000 ? sx : 100000 : sy < 100000 ? sy : 100000);
    case 12:
        return (unsigned)(sx > sy ? sx > 0 ? sx : 0 : sy > 0 ? sy : 0);
    case 13:
        return each<s16>(x, y,
                         [](long long a, long long b) { return clamp(a < b ? a : b, 0, 32767); });
    case 14: /* bytes 1, 3 of x, then of y */
        return (x >> 8 & 0xff) | (x >> 24) << 8 | (y >> 8 & 0xff) << 16 | (y >> 24) << 24;
    case 15:
        return y;
    case 16:
        r = 5;
        for (int i = 0; i < 4; i++)
            r += (unsigned)lane_value<u8>(x, i) * lane_value<u8>(y, i);
        return r;
    case 17:
        return (x > y ? x - y : y - x) + 3;
    case 18:
        return nth_set(x, 3, 2);
    case 19: {
        unsigned reversed = 0;
        for (int i = 0; i < 32; i++)
            reversed |= (x >> i & 1) << (31 - i);
        return reversed ^ (unsigned)__builtin_popcount(y) ^ (x ? (unsigned)__builtin_clz(x) : 32) ^
               (unsigned)__builtin_ffs(sy);
    }
    case 20: {
        long long a = (long long)(sx << 8 >> 8) * (sy << 8 >> 8);
        return (unsigned)a + (unsigned)((unsigned long long)x * y >> 32) +
               (unsigned)(((long long)sx + sy + 1) >> 1);
    }
    case 21: {
        unsigned bits = x & 0x3fffffff;
        float f, z;
        memcpy(&f, &bits, 4);
        double exact =
            (double)f * 3.0 + 1.0; // sums of such numbers are exact, or above 2^-29 of them
        z = (float)exact;
        if ((double)z > exact)
            z = nextafterf(z, 0.0f);
        memcpy(&r, &z, 4);
        return r;
    }
    case 22: {
        float f;
        memcpy(&f, &x, 4);
        return f != f
                   ? 0
                   : (unsigned)clamp((long long)floor(fmin(fmax(f, -3e9), 3e9)), INT_MIN, INT_MAX);
    }
    default: {
        unsigned long long bits = (unsigned long long)(x & 0x3fffffff) << 32 | y;
        double d;
        memcpy(&d, &bits, 8);
        d *= 0.5;
        memcpy(&bits, &d, 8);
        return (unsigned)(bits >> 32);
    }
    }
}

// Half precision: the result of the intrinsic, rounded once, is what double precision rounds to.
__global__ void halves(const float *a, const float *b, float *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, k = 0;
    __half x = __float2half_rn(a[i]), y = __float2half_rn(b[i]);
    __nv_bfloat16 p = __float2bfloat16_rn(a[i]), q = __float2bfloat16_rn(b[i]);
    out[k++ * N + i] = __half2float(__hadd(x, y));
    out[k++ * N + i] = __half2float(__hfma_sat(x, y, y));
    out[k++ * N + i] = __half2float(__hfma_relu(x, y, x));
    out[k++ * N + i] = __half2float(__hmax_nan(x, y));
    out[k++ * N + i] = __bfloat162float(__hmul(p, q));
    out[k++ * N + i] = __bfloat162float(__hmin(p, __hneg(q)));
    out[k++ * N + i] = __half2float(__float2half_rz(a[i]));
    out[k++ * N + i] =
        __half2float(__high2half(__hmul2(__halves2half2(x, x), __halves2half2(y, y))));
    out[k++ * N + i] = float(__nv_fp8_e4m3(a[i]));
    out[k++ * N + i] = float(__nv_fp8_e5m2(a[i]));
}

static float half_of(double v) { // a number of at most 53 bits, rounded once
    return __half2float(__double2half(v));
}

static float bfloat_of(double v) {
    return __bfloat162float(__double2bfloat16(v));
}

static float want_half(int k, float a, float b) {
    double x = half_of(a), y = half_of(b), p = bfloat_of(a), q = bfloat_of(b);
    switch (k) {
    case 0:
        return half_of(x + y);
    case 1:
        return half_of(fmin(fmax(x * y + y, 0.0), 1.0));
    case 2:
        return fmaxf(half_of(x * y + x), 0.0f);
    case 3:
        return (float)fmax(x, y);
    case 4:
        return bfloat_of(p * q);
    case 5:
        return (float)fmin(p, -q);
    case 6: {
        float r = half_of(a);
        return fabsf(r) > fabsf(a) ? __half2float(__ushort_as_half((
                                         unsigned short)(__half_as_ushort(__float2half_rn(a)) - 1)))
                                   : r;
    }
    case 7:
        return half_of(x * y);
    case 8:
        return float(__nv_fp8_e4m3(a));
    default:
        return float(__nv_fp8_e5m2(a));
    }
}

__global__ void lanes(const int *in, int *out) {
    int i = threadIdx.x, v = in[i], k = 0;
    out[k++ * 32 + i] = __reduce_add_sync(~0u, v);
    out[k++ * 32 + i] = __reduce_min_sync(~0u, v);
    out[k++ * 32 + i] = (int)__reduce_xor_sync(~0u, (unsigned)v);
    out[k++ * 32 + i] = (int)__match_any_sync(~0u, v & 3);
    int same;
    out[k++ * 32 + i] = (int)__match_all_sync(~0u, v & 0, &same) + same;
    out[k++ * 32 + i] = __shfl_xor_sync(~0u, v, 5);
    out[k++ * 32 + i] = (int)__ballot_sync(~0u, v & 1);
    if (i & 1)
        out[k * 32 + i] = (int)__activemask();
    else
        out[k * 32 + i] = -1;
    __nanosleep(10);
}

static void test_lanes() {
    int *in, *out;
    CUDA(cudaMallocManaged(&in, 32 * sizeof(int)));
    CUDA(cudaMallocManaged(&out, 8 * 32 * sizeof(int)));
    int sum = 0, least = INT_MAX, parity = 0, ballot = 0, match[4] = {0};
    for (int i = 0; i < 32; i++) {
        in[i] = (i * 37 + 11) % 101 - 50;
        sum += in[i];
        least = in[i] < least ? in[i] : least;
        parity ^= in[i];
        ballot |= (in[i] & 1) << i;
        match[in[i] & 3] |= 1 << i;
    }
    lanes<<<1, 32>>>(in, out);
    CUDA(cudaDeviceSynchronize());
    for (int i = 0; i < 32; i++) {
        CHECK(out[i] == sum && out[32 + i] == least && out[64 + i] == parity);
        CHECK(out[96 + i] == match[in[i] & 3] && out[128 + i] == 0 && out[160 + i] == in[i ^ 5]);
        CHECK(out[192 + i] == ballot);
        CHECK(out[224 + i] == (i & 1 ? (int)0xaaaaaaaa : -1));
    }
}

static void test_words() {
    unsigned *a, *b, *out;
    CUDA(cudaMallocManaged(&a, N * sizeof *a));
    CUDA(cudaMallocManaged(&b, N * sizeof *b));
    CUDA(cudaMallocManaged(&out, KINDS * N * sizeof *out));
    unsigned state = 1;
    for (int i = 0; i < N; i++) {
        state = state * 1664525 + 1013904223;
        a[i] = state ^ state >> 13;
        state = state * 1664525 + 1013904223;
        b[i] = i % 7 ? state ^ state >> 11 : a[i] ^ 0x80;
    }
    simd<<<N / 128, 128>>>(a, b, out);
    CUDA(cudaDeviceSynchronize());
    for (int k = 0; k < KINDS; k++)
        for (int i = 0; i < N; i++)
            if (out[k * N + i] != want_simd(k, a[i], b[i])) {
                fprintf(stderr, "intrinsic %d of %08x, %08x: %08x, not %08x\n", k, a[i], b[i],
                        out[k * N + i], want_simd(k, a[i], b[i]));
                exit(1);
            }
}

static void test_halves() {
    enum { HALVES = 10 };
    float *a, *b, *out;
    CUDA(cudaMallocManaged(&a, N * sizeof *a));
    CUDA(cudaMallocManaged(&b, N * sizeof *b));
    CUDA(cudaMallocManaged(&out, HALVES * N * sizeof *out));
    unsigned state = 5;
    for (int i = 0; i < N; i++) {
        state = state * 1664525 + 1013904223;
        a[i] = ldexpf((float)(int)(state >> 8) / 16777216.0f - 0.5f, (int)(state % 24) - 12);
        state = state * 1664525 + 1013904223;
        b[i] = ldexpf((float)(int)(state >> 8) / 16777216.0f - 0.5f, (int)(state % 24) - 12);
    }
    halves<<<N / 128, 128>>>(a, b, out);
    CUDA(cudaDeviceSynchronize());
    for (int k = 0; k < HALVES; k++)
        for (int i = 0; i < N; i++)
            if (out[k * N + i] != want_half(k, a[i], b[i])) {
                fprintf(stderr, "half %d of %.9g, %.9g: %.9g, not %.9g\n", k, a[i], b[i],
                        out[k * N + i], want_half(k, a[i], b[i]));
                exit(1);
            }
}

int main() {
    test_words();
    test_halves();
    test_lanes();
    return 0;
}
