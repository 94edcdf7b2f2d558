// SPDX-License-Identifier: Apache-2.0
//
// An image moved through textures and surfaces: from linear memory, from an array by rows (a warp
// touches half of each sector it reads), from an array by tiles of 8 x 4 (whole sectors), blended
// between four texels, and from surface to surface. The arrays are laid out so that a sector holds
// 16 bytes of two rows; emulator/texture/texture.h has the layout.
#include "workload.h"

enum { ROW = 32, ROWS = 8, TILE_WIDTH = 8, TILE_HEIGHT = 4, WARPS = 8 };

extern "C" __global__ void texture_linear(cudaTextureObject_t in, float *out) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = tex1Dfetch<float>(in, i);
}

extern "C" __global__ void texture_rows(cudaTextureObject_t in, float *out, int width) {
    const int x = blockIdx.x * ROW + threadIdx.x, y = blockIdx.y * ROWS + threadIdx.y;
    out[y * width + x] = tex2D<float>(in, x, y);
}

extern "C" __global__ void texture_tiles(cudaTextureObject_t in, float *out, int width) {
    const int x = blockIdx.x * TILE_WIDTH + threadIdx.x;
    const int y = blockIdx.y * TILE_HEIGHT * WARPS + threadIdx.y;
    out[y * width + x] = tex2D<float>(in, x, y);
}

// At the corner that four texels share: their mean.
extern "C" __global__ void texture_blended(cudaTextureObject_t in, float *out, int width) {
    const int x = blockIdx.x * TILE_WIDTH + threadIdx.x;
    const int y = blockIdx.y * TILE_HEIGHT * WARPS + threadIdx.y;
    out[y * width + x] = tex2D<float>(in, x + 1.0f, y + 1.0f);
}

extern "C" __global__ void surface_tiles(cudaSurfaceObject_t in, cudaSurfaceObject_t out) {
    const int x = blockIdx.x * TILE_WIDTH + threadIdx.x;
    const int y = blockIdx.y * TILE_HEIGHT * WARPS + threadIdx.y;
    surf2Dwrite(2 * surf2Dread<float>(in, x * 4, y), out, x * 4, y);
}

static void expect(long long width, long long height) {
    const long long n = width * height;
    wl_counts c = {0};
    wl_expect_begin("texture");
    wl_stream_store(&c, n, 4);
    c.texture_load_bytes = 4 * n;
    c.texture_load_requests = n / 32;
    c.dram_read_bytes = 4 * n; // every sector once, however often it is touched
    c.load_sectors = n / 8;
    wl_expect("texture_linear", 1, &c);
    c.load_sectors = n / 32 * 8;
    wl_expect("texture_rows", 1, &c);
    c.store_sectors = n / 32 * TILE_HEIGHT; // a row of 8 floats each
    c.load_sectors = n / 32 * 4;
    wl_expect("texture_tiles", 1, &c);
    // 9 x 5 texels lie in 3 x 3 sectors; 8 and 4 of them, in 2, at the right and lower edge
    c.load_sectors = (3 * (width / TILE_WIDTH) - 1) * (3 * (height / TILE_HEIGHT) - 1);
    c.flops_fp32 = 2 * n; // the coordinates: what the texture unit blends is no instruction
    wl_expect("texture_blended", 1, &c);
    wl_counts s = {0};
    s.flops_fp32 = n;
    s.texture_load_bytes = s.texture_store_bytes = 4 * n;
    s.texture_load_requests = s.texture_store_requests = n / 32;
    s.load_sectors = s.store_sectors = n / 32 * 4;
    s.dram_read_bytes = s.dram_write_bytes = 4 * n;
    wl_expect("surface_tiles", 1, &s);
    wl_expect_end();
}

static cudaArray_t make_array(int width, int height) {
    cudaArray_t array;
    const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    WL_CUDA(cudaMallocArray(&array, &format, width, height, cudaArraySurfaceLoadStore));
    return array;
}

static cudaTextureObject_t make_texture(cudaArray_t array, bool linear) {
    cudaResourceDesc resource = {};
    cudaTextureDesc texture = {};
    cudaTextureObject_t object;
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    texture.addressMode[0] = texture.addressMode[1] = cudaAddressModeClamp;
    texture.filterMode = linear ? cudaFilterModeLinear : cudaFilterModePoint;
    WL_CUDA(cudaCreateTextureObject(&object, &resource, &texture, NULL));
    return object;
}

static cudaTextureObject_t make_linear(float *memory, size_t bytes) {
    cudaResourceDesc resource = {};
    cudaTextureDesc texture = {};
    cudaTextureObject_t object;
    resource.resType = cudaResourceTypeLinear;
    resource.res.linear.devPtr = memory;
    resource.res.linear.desc = cudaCreateChannelDesc<float>();
    resource.res.linear.sizeInBytes = bytes;
    WL_CUDA(cudaCreateTextureObject(&object, &resource, &texture, NULL));
    return object;
}

static cudaSurfaceObject_t make_surface(cudaArray_t array) {
    cudaResourceDesc resource = {};
    cudaSurfaceObject_t object;
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    WL_CUDA(cudaCreateSurfaceObject(&object, &resource));
    return object;
}

typedef struct image {
    float *in, *got;
    int width, height;
} image;

static float texel(const image *m, int x, int y) {
    x = x < m->width ? x : m->width - 1;
    y = y < m->height ? y : m->height - 1;
    return m->in[y * m->width + x];
}

static void verify(const char *what, const image *m, float *device, bool blended) {
    const size_t bytes = (size_t)m->width * m->height * sizeof(float);
    wl_launched(what);
    wl_fetch(m->got, device, bytes);
    for (int y = 0; y < m->height; y++)
        for (int x = 0; x < m->width; x++) {
            const float mean = (texel(m, x, y) + texel(m, x + 1, y) + texel(m, x, y + 1) +
                                texel(m, x + 1, y + 1)) /
                               4;
            wl_compare(what, y * m->width + x, m->got[y * m->width + x],
                       blended ? mean : texel(m, x, y), blended ? 1e-6 : 0);
        }
    WL_CUDA(cudaMemset(device, 0, bytes));
}

static void verify_array(const char *what, const image *m, cudaArray_t array) {
    const size_t row = m->width * sizeof(float);
    wl_launched(what);
    WL_CUDA(
        cudaMemcpy2DFromArray(m->got, row, array, 0, 0, row, m->height, cudaMemcpyDeviceToHost));
    for (int i = 0; i < m->width * m->height; i++)
        wl_compare(what, i, m->got[i], 2 * m->in[i], 0);
}

int main(int argc, char **argv) {
    static const char *const options[] = {"--width=", "--height=", NULL};
    wl_options_check(argc, argv, options);
    const int width = wl_option(argc, argv, "--width", 256, ROW, 1 << 13, ROW);
    const int height = wl_option(argc, argv, "--height", 128, 32, 1 << 13, 32);
    const long long n = (long long)width * height;
    if (wl_flag(argc, argv, "--expect")) {
        expect(width, height);
        return 0;
    }
    image m = {wl_random_array(n, 5), (float *)wl_host_alloc(n * sizeof(float)), width, height};
    float *din = (float *)wl_device_copy(m.in, n * sizeof(float));
    float *dout = (float *)wl_device_alloc(n * sizeof(float));
    cudaArray_t array = make_array(width, height), other = make_array(width, height);
    const size_t row = width * sizeof(float);
    WL_CUDA(cudaMemcpy2DToArray(array, 0, 0, m.in, row, row, height, cudaMemcpyHostToDevice));
    cudaTextureObject_t linear = make_linear(din, n * sizeof(float));
    cudaTextureObject_t nearest = make_texture(array, false), blended = make_texture(array, true);
    cudaSurfaceObject_t from = make_surface(array), to = make_surface(other);

    texture_linear<<<n / 256, 256>>>(linear, dout);
    verify("texture_linear", &m, dout, false);
    texture_rows<<<dim3(width / ROW, height / ROWS), dim3(ROW, ROWS)>>>(nearest, dout, width);
    verify("texture_rows", &m, dout, false);
    const dim3 grid(width / TILE_WIDTH, height / (TILE_HEIGHT * WARPS));
    const dim3 block(TILE_WIDTH, TILE_HEIGHT * WARPS);
    texture_tiles<<<grid, block>>>(nearest, dout, width);
    verify("texture_tiles", &m, dout, false);
    texture_blended<<<grid, block>>>(blended, dout, width);
    verify("texture_blended", &m, dout, true);
    surface_tiles<<<grid, block>>>(from, to);
    verify_array("surface_tiles", &m, other);

    WL_CUDA(cudaDestroyTextureObject(linear));
    WL_CUDA(cudaDestroyTextureObject(nearest));
    WL_CUDA(cudaDestroyTextureObject(blended));
    WL_CUDA(cudaDestroySurfaceObject(from));
    WL_CUDA(cudaDestroySurfaceObject(to));
    WL_CUDA(cudaFreeArray(array));
    WL_CUDA(cudaFreeArray(other));
    cudaFree(din);
    cudaFree(dout);
    free(m.in);
    free(m.got);
    return wl_verdict("texture");
}
