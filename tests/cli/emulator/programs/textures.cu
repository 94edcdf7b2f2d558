// SPDX-License-Identifier: Apache-2.0
// Arrays, textures and surfaces through the runtime: every shape is filled, copied in parts,
// fetched and read back; what is described can be asked for; what cannot be is refused as the real
// runtime refuses it; a texture that is gone ends its kernel, by name and line. STDERR: has been
// destroyed STDERR: kernel STDERR: line COUNTS: "status":"illegal_address" COUNTS: "texture":
#include "check.h"
#include <cmath>
#include <cstring>
#include <vector>

static const cudaChannelFormatDesc floats = cudaCreateChannelDesc<float>();

static cudaResourceDesc of_array(cudaArray_t array) {
    cudaResourceDesc r = {};
    r.resType = cudaResourceTypeArray;
    r.res.array.array = array;
    return r;
}

static cudaTextureDesc plain(cudaTextureFilterMode filter = cudaFilterModePoint) {
    cudaTextureDesc t = {};
    for (auto &mode : t.addressMode)
        mode = cudaAddressModeClamp;
    t.filterMode = filter;
    return t;
}

static cudaTextureObject_t texture(const cudaResourceDesc &r, const cudaTextureDesc &t) {
    cudaTextureObject_t object = 0;
    CUDA(cudaCreateTextureObject(&object, &r, &t, nullptr));
    CHECK(object != 0);
    return object;
}

static std::vector<float> numbers(size_t count, float from) {
    std::vector<float> v(count);
    for (size_t i = 0; i < count; i++)
        v[i] = from + (float)i;
    return v;
}

// ---- Shapes ----

struct shape {
    cudaExtent extent; // as for cudaMalloc3DArray
    unsigned flags;
};

__global__ void fetch(cudaTextureObject_t t, int kind, int width, int height, float *out) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int x = i % width, y = i / width % height, z = i / width / height;
    const float u = x + 0.5f, v = y + 0.5f;
    out[i] = kind == 0   ? tex1D<float>(t, u)
             : kind == 1 ? tex2D<float>(t, u, v)
             : kind == 2 ? tex3D<float>(t, u, v, z + 0.5f)
             : kind == 3 ? tex1DLayered<float>(t, u, z)
                         : tex2DLayered<float>(t, u, v, z);
}

static void check_shape(const shape &s, int kind) {
    const size_t width = s.extent.width, height = s.extent.height ? s.extent.height : 1;
    const size_t depth = s.extent.depth ? s.extent.depth : 1, count = width * height * depth;
    const std::vector<float> in = numbers(count, 1);
    std::vector<float> out(count);
    cudaArray_t array;
    CUDA(cudaMalloc3DArray(&array, &floats, s.extent, s.flags));

    cudaChannelFormatDesc format;
    cudaExtent extent;
    unsigned flags;
    CUDA(cudaArrayGetInfo(&format, &extent, &flags, array));
    CHECK(format.x == 32 && format.f == cudaChannelFormatKindFloat && flags == s.flags);
    CHECK(extent.width == s.extent.width && extent.height == s.extent.height &&
          extent.depth == s.extent.depth);

    cudaMemcpy3DParms p = {};
    p.srcPtr = make_cudaPitchedPtr((void *)in.data(), width * 4, width, height);
    p.dstArray = array;
    p.extent = make_cudaExtent(width, height, depth);
    p.kind = cudaMemcpyHostToDevice;
    CUDA(cudaMemcpy3D(&p));
    cudaMemcpy3DParms q = {};
    q.srcArray = array;
    q.dstPtr = make_cudaPitchedPtr(out.data(), width * 4, width, height);
    q.extent = p.extent;
    q.kind = cudaMemcpyDeviceToHost;
    CUDA(cudaMemcpy3D(&q));
    CHECK(out == in);

    float *device;
    CUDA(cudaMalloc(&device, count * 4));
    cudaTextureObject_t t = texture(of_array(array), plain());
    fetch<<<1, (unsigned)count>>>(t, kind, (int)width, (int)height, device);
    CUDA(cudaMemcpy(out.data(), device, count * 4, cudaMemcpyDeviceToHost));
    CHECK(out == in);
    CUDA(cudaDestroyTextureObject(t));
    CUDA(cudaFree(device));
    CUDA(cudaFreeArray(array));
}

// ---- Copies of parts ----

static void check_copies() {
    const size_t width = 20, height = 11, row = width * 4;
    std::vector<float> in = numbers(width * height, 1), out(width * height), part(5 * 3);
    cudaArray_t a, b;
    float *device;
    size_t pitch;
    CUDA(cudaMallocArray(&a, &floats, width, height));
    CUDA(cudaMallocArray(&b, &floats, width, height));
    CUDA(cudaMallocPitch(&device, &pitch, row, height));
    CUDA(cudaMemcpy2DToArray(a, 0, 0, in.data(), row, row, height, cudaMemcpyHostToDevice));
    // a part of 5 x 3 from (7, 4), to the host and to another place
    CUDA(cudaMemcpy2DFromArray(part.data(), 20, a, 28, 4, 20, 3, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 15; i++)
        CHECK(part[i] == in[(4 + i / 5) * width + 7 + i % 5]);
    CUDA(cudaMemcpy2DArrayToArray(b, 0, 0, a, 0, 0, row, height));
    CUDA(cudaMemcpy2DArrayToArray(b, 4, 8, a, 28, 4, 20, 3));
    // through pitched memory of the device
    CUDA(cudaMemcpy2DFromArray(device, pitch, b, 0, 0, row, height, cudaMemcpyDeviceToDevice));
    CUDA(cudaMemcpy2D(out.data(), row, device, pitch, row, height, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 15; i++)
        in[(8 + i / 5) * width + 1 + i % 5] = part[i];
    CHECK(out == in);
    CUDA(cudaMemcpy2DToArray(a, 0, 0, device, pitch, row, height, cudaMemcpyDeviceToDevice));
    // bytes across rows, from the middle of one
    std::vector<float> many(50);
    CUDA(cudaMemcpyFromArray(many.data(), a, 40, 2, 200, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 50; i++)
        CHECK(many[i] == in[2 * width + 10 + i]);
    for (auto &x : many)
        x = -x;
    CUDA(cudaMemcpyToArray(b, 12, 1, many.data(), 200, cudaMemcpyHostToDevice));
    CUDA(cudaMemcpyArrayToArray(a, 12, 1, b, 12, 1, 200));
    CUDA(cudaMemcpy2DFromArray(out.data(), row, a, 0, 0, row, height, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 50; i++)
        in[width + 3 + i] = many[i];
    CHECK(out == in);
    // and a stream
    cudaStream_t stream;
    CUDA(cudaStreamCreate(&stream));
    CUDA(cudaMemcpy2DToArrayAsync(b, 0, 0, in.data(), row, row, height, cudaMemcpyHostToDevice,
                                  stream));
    CUDA(cudaMemcpy2DFromArrayAsync(out.data(), row, b, 0, 0, row, height, cudaMemcpyDeviceToHost,
                                    stream));
    CUDA(cudaStreamSynchronize(stream));
    CHECK(out == in);

    // over an edge, not whole elements, the wrong direction, no array
    EXPECT(cudaMemcpy2DToArray(a, 4, 0, in.data(), row, row, 1, cudaMemcpyHostToDevice),
           cudaErrorInvalidValue);
    EXPECT(cudaMemcpy2DToArray(a, 0, 10, in.data(), row, row, 2, cudaMemcpyHostToDevice),
           cudaErrorInvalidValue);
    EXPECT(cudaMemcpy2DToArray(a, 0, 0, in.data(), row, 6, 1, cudaMemcpyHostToDevice),
           cudaErrorInvalidValue);
    EXPECT(cudaMemcpy2DToArray(a, 0, 0, in.data(), row, row, 1, cudaMemcpyDeviceToHost),
           cudaErrorInvalidValue);
    EXPECT(cudaMemcpy2DToArray((cudaArray_t)device, 0, 0, in.data(), row, row, 1,
                               cudaMemcpyHostToDevice),
           cudaErrorInvalidResourceHandle);
    EXPECT(cudaMemcpy2DToArray(a, 0, 0, in.data(), 8, row, 2, cudaMemcpyHostToDevice),
           cudaErrorInvalidPitchValue);
    CUDA(cudaStreamDestroy(stream));
    CUDA(cudaFree(device));
    CUDA(cudaFreeArray(a));
    CUDA(cudaFreeArray(b));
}

// ---- Levels ----

__global__ void levels(cudaTextureObject_t t, float *out) {
    out[threadIdx.x] = tex2DLod<float>(t, 0.5f, 0.5f, threadIdx.x * 0.5f);
}

static void check_levels() {
    cudaMipmappedArray_t whole;
    cudaArray_t level;
    cudaExtent extent;
    CUDA(cudaMallocMipmappedArray(&whole, &floats, make_cudaExtent(16, 8, 0), 3));
    for (unsigned l = 0; l < 3; l++) {
        CUDA(cudaGetMipmappedArrayLevel(&level, whole, l));
        CUDA(cudaArrayGetInfo(nullptr, &extent, nullptr, level));
        CHECK(extent.width == 16u >> l && extent.height == 8u >> l && extent.depth == 0);
        const std::vector<float> all(extent.width * extent.height, 10.0f * (l + 1));
        CUDA(cudaMemcpy2DToArray(level, 0, 0, all.data(), extent.width * 4, extent.width * 4,
                                 extent.height, cudaMemcpyHostToDevice));
    }
    EXPECT(cudaGetMipmappedArrayLevel(&level, whole, 3), cudaErrorInvalidValue);
    cudaResourceDesc r = {};
    r.resType = cudaResourceTypeMipmappedArray;
    r.res.mipmap.mipmap = whole;
    cudaTextureDesc t = plain(cudaFilterModeLinear);
    cudaTextureObject_t object;
    EXPECT(cudaCreateTextureObject(&object, &r, &t, nullptr), cudaErrorInvalidValue);
    t.normalizedCoords = 1;
    t.mipmapFilterMode = cudaFilterModeLinear;
    t.maxMipmapLevelClamp = 8;
    object = texture(r, t);
    float *device, got[8];
    CUDA(cudaMalloc(&device, sizeof got));
    levels<<<1, 8>>>(object, device);
    CUDA(cudaMemcpy(got, device, sizeof got, cudaMemcpyDeviceToHost));
    const float wanted[8] = {10, 15, 20, 25, 30, 30, 30, 30};
    CHECK(memcmp(got, wanted, sizeof got) == 0);

    // a view of the last two levels
    cudaResourceViewDesc view = {}, back;
    view.format = cudaResViewFormatFloat1;
    view.width = 8;
    view.height = 4;
    view.firstMipmapLevel = 1;
    view.lastMipmapLevel = 2;
    cudaTextureObject_t viewed;
    CUDA(cudaCreateTextureObject(&viewed, &r, &t, &view));
    CUDA(cudaGetTextureObjectResourceViewDesc(&back, viewed));
    CHECK(memcmp(&back, &view, sizeof view) == 0);
    EXPECT(cudaGetTextureObjectResourceViewDesc(&back, object), cudaErrorInvalidValue);
    levels<<<1, 8>>>(viewed, device);
    CUDA(cudaMemcpy(got, device, sizeof got, cudaMemcpyDeviceToHost));
    CHECK(got[0] == 20 && got[1] == 25 && got[2] == 30 && got[7] == 30);
    CUDA(cudaDestroyTextureObject(object));
    CUDA(cudaDestroyTextureObject(viewed));
    CUDA(cudaGetMipmappedArrayLevel(&level, whole, 1));
    const cudaResourceDesc as_surface = of_array(level);
    cudaSurfaceObject_t surface = 0;
    CUDA(cudaCreateSurfaceObject(&surface, &as_surface));
    CUDA(cudaDestroySurfaceObject(surface));
    EXPECT(cudaFreeArray(level), cudaErrorInvalidResourceHandle); // it goes with the whole
    CUDA(cudaFreeMipmappedArray(whole));
    CUDA(cudaFree(device));
}

// ---- Linear and pitched memory, read modes ----

__global__ void sums(cudaTextureObject_t bytes, cudaTextureObject_t rows, float *out) {
    const uchar4 b = tex1Dfetch<uchar4>(bytes, threadIdx.x);
    out[threadIdx.x] = b.x + b.y + b.z + b.w + 1000 * tex2D<float>(rows, threadIdx.x, 1);
}

__global__ void fractions(cudaTextureObject_t bytes, float4 *out) {
    out[threadIdx.x] = tex1Dfetch<float4>(bytes, threadIdx.x);
}

static void check_memory() {
    unsigned char *bytes;
    float *rows, *out;
    size_t pitch;
    std::vector<unsigned char> in(128);
    for (int i = 0; i < 128; i++)
        in[i] = (unsigned char)(2 * i);
    const std::vector<float> image = numbers(32 * 4, 5);
    CUDA(cudaMalloc(&bytes, 128));
    CUDA(cudaMalloc(&out, 33 * 16));
    CUDA(cudaMallocPitch(&rows, &pitch, 32 * 4, 4));
    CUDA(cudaMemcpy(bytes, in.data(), 128, cudaMemcpyHostToDevice));
    CUDA(cudaMemcpy2D(rows, pitch, image.data(), 128, 128, 4, cudaMemcpyHostToDevice));
    cudaResourceDesc linear = {}, pitched = {};
    linear.resType = cudaResourceTypeLinear;
    linear.res.linear.devPtr = bytes;
    linear.res.linear.desc = cudaCreateChannelDesc<uchar4>();
    linear.res.linear.sizeInBytes = 128;
    pitched.resType = cudaResourceTypePitch2D;
    pitched.res.pitch2D.devPtr = rows;
    pitched.res.pitch2D.desc = floats;
    pitched.res.pitch2D.width = 32;
    pitched.res.pitch2D.height = 4;
    pitched.res.pitch2D.pitchInBytes = pitch;
    cudaTextureObject_t a = texture(linear, plain()), b = texture(pitched, plain());
    sums<<<1, 33>>>(a, b, out);
    float got[33];
    CUDA(cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 32; i++)
        CHECK(got[i] ==
              in[4 * i] + in[4 * i + 1] + in[4 * i + 2] + in[4 * i + 3] + 1000 * image[32 + i]);
    CHECK(got[32] == 1000 * image[63]); // linear memory gives 0 outside, rows are clamped

    cudaTextureDesc t = plain();
    t.readMode = cudaReadModeNormalizedFloat;
    cudaTextureObject_t c = texture(linear, t);
    fractions<<<1, 32>>>(c, (float4 *)out);
    float4 parts[32];
    CUDA(cudaMemcpy(parts, out, sizeof parts, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 32; i++)
        CHECK(parts[i].x == in[4 * i] / 255.0f && parts[i].w == in[4 * i + 3] / 255.0f);

    cudaResourceDesc back;
    cudaTextureDesc described;
    CUDA(cudaGetTextureObjectResourceDesc(&back, b));
    CHECK(back.resType == cudaResourceTypePitch2D && back.res.pitch2D.devPtr == rows &&
          back.res.pitch2D.pitchInBytes == pitch);
    CUDA(cudaGetTextureObjectTextureDesc(&described, c));
    CHECK(described.readMode == cudaReadModeNormalizedFloat &&
          described.addressMode[0] == cudaAddressModeClamp);

    // integers are not blended, wide ones not normalized; rows must be aligned, memory be there
    cudaTextureObject_t none = 1;
    t = plain(cudaFilterModeLinear);
    cudaArray_t array;
    CUDA(cudaMallocArray(&array, &linear.res.linear.desc, 8, 8));
    cudaResourceDesc r = of_array(array);
    EXPECT(cudaCreateTextureObject(&none, &r, &t, nullptr), cudaErrorInvalidFilterSetting);
    t = plain();
    t.readMode = cudaReadModeNormalizedFloat;
    linear.res.linear.desc = cudaCreateChannelDesc<int>();
    EXPECT(cudaCreateTextureObject(&none, &linear, &t, nullptr), cudaErrorInvalidNormSetting);
    t = plain();
    linear.res.linear.sizeInBytes = 1 << 20;
    EXPECT(cudaCreateTextureObject(&none, &linear, &t, nullptr), cudaErrorInvalidValue);
    pitched.res.pitch2D.pitchInBytes = pitch - 4;
    EXPECT(cudaCreateTextureObject(&none, &pitched, &t, nullptr), cudaErrorInvalidValue);
    CUDA(cudaFreeArray(array));
    EXPECT(cudaCreateTextureObject(&none, &r, &t, nullptr), cudaErrorInvalidResourceHandle);
    CUDA(cudaDestroyTextureObject(a));
    CUDA(cudaDestroyTextureObject(b));
    CUDA(cudaDestroyTextureObject(c));
    EXPECT(cudaDestroyTextureObject(c), cudaErrorInvalidValue);
    CUDA(cudaFree(bytes));
    CUDA(cudaFree(rows));
    CUDA(cudaFree(out));
}

// ---- Cubes ----

__global__ void faces(cudaTextureObject_t t, float *out) {
    const float3 d[6] = {{1, 0.2f, 0.1f},  {-1, 0.2f, 0.1f}, {0.1f, 1, 0.2f},
                         {0.1f, -1, 0.2f}, {0.2f, 0.1f, 1},  {0.2f, 0.1f, -1}};
    const float3 v = d[threadIdx.x % 6];
    out[threadIdx.x] = texCubemapLayered<float>(t, v.x, v.y, v.z, threadIdx.x / 6);
}

static void check_cubes() {
    cudaArray_t array;
    const unsigned flags = cudaArrayCubemap | cudaArrayLayered;
    CUDA(cudaMalloc3DArray(&array, &floats, make_cudaExtent(4, 4, 12), flags));
    std::vector<float> in(4 * 4 * 12);
    for (size_t i = 0; i < in.size(); i++)
        in[i] = (float)(i / 16); // each face its number
    cudaMemcpy3DParms p = {};
    p.srcPtr = make_cudaPitchedPtr(in.data(), 16, 4, 4);
    p.dstArray = array;
    p.extent = make_cudaExtent(4, 4, 12);
    p.kind = cudaMemcpyHostToDevice;
    CUDA(cudaMemcpy3D(&p));
    float *device, got[12];
    CUDA(cudaMalloc(&device, sizeof got));
    cudaTextureObject_t t = texture(of_array(array), plain());
    faces<<<1, 12>>>(t, device);
    CUDA(cudaMemcpy(got, device, sizeof got, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 12; i++)
        CHECK(got[i] == (float)i);
    CUDA(cudaDestroyTextureObject(t));
    CUDA(cudaFreeArray(array));
    CUDA(cudaFree(device));
    // no cubes: faces that are not square, not six of them
    EXPECT(cudaMalloc3DArray(&array, &floats, make_cudaExtent(4, 5, 6), cudaArrayCubemap),
           cudaErrorInvalidValue);
    EXPECT(cudaMalloc3DArray(&array, &floats, make_cudaExtent(4, 4, 7), flags),
           cudaErrorInvalidValue);
}

// ---- Surfaces ----

__global__ void paint(cudaSurfaceObject_t s, int layer) {
    surf2DLayeredwrite(make_float2(threadIdx.x + 100.0f * threadIdx.y, layer), s, threadIdx.x * 8,
                       threadIdx.y, layer);
}

__global__ void shift(cudaSurfaceObject_t s, float *out) {
    float2 v = surf2DLayeredread<float2>(s, ((int)threadIdx.x - 1) * 8, threadIdx.y, 1,
                                         cudaBoundaryModeZero);
    out[threadIdx.y * 8 + threadIdx.x] = v.x;
    v = surf2DLayeredread<float2>(s, ((int)threadIdx.x - 1) * 8, threadIdx.y, 1,
                                  cudaBoundaryModeClamp);
    out[64 + threadIdx.y * 8 + threadIdx.x] = v.x;
}

static void check_surfaces() {
    const cudaChannelFormatDesc pairs = cudaCreateChannelDesc<float2>();
    cudaArray_t array, bare;
    cudaSurfaceObject_t s = 0;
    CUDA(cudaMalloc3DArray(&array, &pairs, make_cudaExtent(8, 8, 3),
                           cudaArrayLayered | cudaArraySurfaceLoadStore));
    CUDA(cudaMallocArray(&bare, &pairs, 8, 8));
    cudaResourceDesc r = of_array(bare), back;
    EXPECT(cudaCreateSurfaceObject(&s, &r), cudaErrorInvalidValue); // not made for that
    r = of_array(array);
    CUDA(cudaCreateSurfaceObject(&s, &r));
    CUDA(cudaGetSurfaceObjectResourceDesc(&back, s));
    CHECK(back.res.array.array == array);
    for (int layer = 0; layer < 3; layer++)
        paint<<<1, dim3(8, 8)>>>(s, layer);
    float *device, got[128];
    CUDA(cudaMalloc(&device, sizeof got));
    shift<<<1, dim3(8, 8)>>>(s, device);
    CUDA(cudaMemcpy(got, device, sizeof got, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 64; i++) {
        const float left = (float)(i % 8 - 1 + 100 * (i / 8));
        CHECK(got[i] == (i % 8 ? left : 0));
        CHECK(got[64 + i] == (i % 8 ? left : 100.0f * (i / 8)));
    }
    CUDA(cudaDestroySurfaceObject(s));
    EXPECT(cudaDestroySurfaceObject(s), cudaErrorInvalidValue);
    CUDA(cudaFreeArray(array));
    CUDA(cudaFreeArray(bare));
    CUDA(cudaFree(device));
}

// ---- Graphs ----

__global__ void doubled(cudaTextureObject_t in, cudaSurfaceObject_t out) {
    surf2Dwrite(2 * tex2D<float>(in, threadIdx.x + 0.5f, threadIdx.y + 0.5f), out, threadIdx.x * 4,
                threadIdx.y);
}

// Captured copies to and from arrays do at each launch what they were given.
static void check_graphs() {
    const size_t width = 8, height = 4, row = width * 4;
    std::vector<float> in = numbers(width * height, 1), out(width * height);
    cudaArray_t a, b;
    cudaSurfaceObject_t s = 0;
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CUDA(cudaMallocArray(&a, &floats, width, height));
    CUDA(cudaMallocArray(&b, &floats, width, height, cudaArraySurfaceLoadStore));
    cudaTextureObject_t t = texture(of_array(a), plain());
    const cudaResourceDesc r = of_array(b);
    CUDA(cudaCreateSurfaceObject(&s, &r));
    CUDA(cudaStreamCreate(&stream));
    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CUDA(cudaMemcpy2DToArrayAsync(a, 0, 0, in.data(), row, row, height, cudaMemcpyHostToDevice,
                                  stream));
    doubled<<<1, dim3(width, height), 0, stream>>>(t, s);
    CUDA(cudaMemcpy2DFromArrayAsync(out.data(), row, b, 0, 0, row, height, cudaMemcpyDeviceToHost,
                                    stream));
    CUDA(cudaStreamEndCapture(stream, &graph));
    CHECK(out[5] == 0); // nothing has run
    CUDA(cudaGraphInstantiate(&exec, graph, 0));
    for (int round = 0; round < 3; round++) {
        for (auto &x : in)
            x += 1;
        CUDA(cudaGraphLaunch(exec, stream));
        CUDA(cudaStreamSynchronize(stream));
        for (size_t i = 0; i < in.size(); i++)
            CHECK(out[i] == 2 * in[i]);
    }
    CUDA(cudaGraphExecDestroy(exec));
    CUDA(cudaGraphDestroy(graph));
    CUDA(cudaStreamDestroy(stream));
    CUDA(cudaDestroyTextureObject(t));
    CUDA(cudaDestroySurfaceObject(s));
    CUDA(cudaFreeArray(a));
    CUDA(cudaFreeArray(b));
}

// ---- What is gone ----

static void check_memory_counts(size_t before) {
    size_t now, total;
    CUDA(cudaMemGetInfo(&now, &total));
    CHECK(now == before); // everything was freed
    cudaArray_t array;
    CUDA(cudaMallocArray(&array, &floats, 256, 256));
    CUDA(cudaMemGetInfo(&now, &total));
    CHECK(before - now >= 256 * 256 * 4);
    CUDA(cudaFreeArray(array));
    EXPECT(cudaFreeArray(array), cudaErrorInvalidResourceHandle);
    const cudaChannelFormatDesc three = {32, 32, 32, 0, cudaChannelFormatKindFloat};
    EXPECT(cudaMallocArray(&array, &three, 4, 4), cudaErrorInvalidValue);
    EXPECT(cudaMallocArray(&array, &floats, 0, 4), cudaErrorInvalidValue);
}

static void check_faults() {
    cudaArray_t array;
    float *device;
    CUDA(cudaMallocArray(&array, &floats, 8, 8));
    CUDA(cudaMalloc(&device, 64));
    cudaTextureObject_t t = texture(of_array(array), plain());
    CUDA(cudaDestroyTextureObject(t));
    fetch<<<1, 8>>>(t, 1, 8, 8, device);
    EXPECT(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
    CUDA(cudaDeviceReset());
    // a texture does not outlive its device
    EXPECT(cudaDestroyTextureObject(t), cudaErrorInvalidValue);
    EXPECT(cudaFreeArray(array), cudaErrorInvalidResourceHandle);
}

int main() {
    size_t before, total;
    CUDA(cudaMemGetInfo(&before, &total));
    check_shape({make_cudaExtent(37, 0, 0), 0}, 0);
    check_shape({make_cudaExtent(19, 13, 0), 0}, 1);
    check_shape({make_cudaExtent(9, 7, 5), 0}, 2);
    check_shape({make_cudaExtent(11, 0, 6), cudaArrayLayered}, 3);
    check_shape({make_cudaExtent(6, 9, 7), cudaArrayLayered}, 4);
    check_copies();
    check_levels();
    check_memory();
    check_cubes();
    check_surfaces();
    check_graphs();
    check_memory_counts(before);
    check_faults();
    return 0;
}
