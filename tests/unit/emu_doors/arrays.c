/* SPDX-License-Identifier: Apache-2.0
 *
 * Arrays through the driver's door and in CUPTI's records: arrays FOLDER CASE, each case a process
 * of its own, as in behaviour.c.
 */
#include "client.h"
#include "emulator/cuda/abi_texture.h"
#include <dlfcn.h>
#include <string.h>

enum { WIDTH = 20, HEIGHT = 6, CELLS = WIDTH * HEIGHT, FORMAT_UINT8 = 1, FORMAT_FLOAT = 0x20 };

#define ARRAY_FUNCTIONS(F)                                                                         \
    F(cuArrayCreate_v2, void **, const driver_array_2d *)                                          \
    F(cuArray3DCreate_v2, void **, const driver_array_3d *)                                        \
    F(cuArray3DGetDescriptor_v2, driver_array_3d *, void *)                                        \
    F(cuArrayGetDescriptor_v2, driver_array_2d *, void *)                                          \
    F(cuArrayDestroy, void *)                                                                      \
    F(cuMipmappedArrayCreate, void **, const driver_array_3d *, unsigned)                          \
    F(cuMipmappedArrayGetLevel, void **, void *, unsigned)                                         \
    F(cuMipmappedArrayDestroy, void *)                                                             \
    F(cuMemcpyHtoA_v2, void *, size_t, const void *, size_t)                                       \
    F(cuMemcpyAtoH_v2, void *, void *, size_t, size_t)                                             \
    F(cuMemcpyAtoD_v2, unsigned long long, void *, size_t, size_t)                                 \
    F(cuMemcpyDtoA_v2, void *, size_t, unsigned long long, size_t)                                 \
    F(cuMemcpyAtoA_v2, void *, size_t, void *, size_t, size_t)                                     \
    F(cuMemcpyHtoAAsync_v2, void *, size_t, const void *, size_t, void *)                          \
    F(cuMemcpy2D_v2, const driver_memcpy2d *)                                                      \
    F(cuMemcpy3D_v2, const driver_memcpy3d *)                                                      \
    F(cuTexObjectCreate, unsigned long long *, const driver_resource *, const driver_texture *,    \
      const void *)                                                                                \
    F(cuTexObjectGetTextureDesc, driver_texture *, unsigned long long)                             \
    F(cuTexObjectGetResourceDesc, driver_resource *, unsigned long long)                           \
    F(cuTexObjectDestroy, unsigned long long)                                                      \
    F(cuSurfObjectCreate, unsigned long long *, const driver_resource *)                           \
    F(cuSurfObjectDestroy, unsigned long long)                                                     \
    F(cuModuleGetTexRef, void **, void *, const char *)                                            \
    F(cuModuleGetSurfRef, void **, void *, const char *)                                           \
    F(cuTexRefSetArray, void *, void *, unsigned)                                                  \
    F(cuTexRefSetAddress_v2, size_t *, void *, unsigned long long, size_t)                         \
    F(cuTexRefSetFormat, void *, int, int)                                                         \
    F(cuTexRefSetFlags, void *, unsigned)                                                          \
    F(cuTexRefSetFilterMode, void *, int)                                                          \
    F(cuTexRefSetAddressMode, void *, int, int)                                                    \
    F(cuTexRefGetArray, void **, void *)                                                           \
    F(cuTexRefGetFlags, unsigned *, void *)                                                        \
    F(cuSurfRefSetArray, void *, void *, unsigned)

static struct {
#define FIELD(name, ...) int (*name)(__VA_ARGS__);
    ARRAY_FUNCTIONS(FIELD)
#undef FIELD
} of;

static void load(const char *folder) {
    char path[4096];
    client_load(folder, "libcupti.so.13");
    snprintf(path, sizeof path, "%s/libcuda.so.1", folder);
    void *driver = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
    CHECK(driver);
#define FIND(name, ...)                                                                            \
    of.name = (int (*)(__VA_ARGS__))dlsym(driver, #name);                                          \
    CHECK(of.name);
    ARRAY_FUNCTIONS(FIND)
#undef FIND
    client_start();
}

static void *make_array(unsigned flags) {
    void *array;
    const driver_array_3d a = {WIDTH, HEIGHT, 0, FORMAT_FLOAT, 1, flags};
    CHECK(of.cuArray3DCreate_v2(&array, &a) == 0);
    return array;
}

static void number(float *cells, float from) {
    for (int i = 0; i < CELLS; i++)
        cells[i] = from + (float)i;
}

static driver_memcpy2d whole_image(void) {
    return (driver_memcpy2d){.source_pitch = WIDTH * sizeof(float),
                             .to_pitch = WIDTH * sizeof(float),
                             .width = WIDTH * sizeof(float),
                             .height = HEIGHT};
}

static void fill(void *array, const float *cells) {
    driver_memcpy2d c = whole_image();
    c.source_type = MEMORYTYPE_HOST;
    c.source_host = cells;
    c.to_type = MEMORYTYPE_ARRAY;
    c.to_array = array;
    CHECK(of.cuMemcpy2D_v2(&c) == 0);
}

static void fetch(float *cells, void *array) {
    driver_memcpy2d c = whole_image();
    c.source_type = MEMORYTYPE_ARRAY;
    c.source_array = array;
    c.to_type = MEMORYTYPE_HOST;
    c.to_host = cells;
    CHECK(of.cuMemcpy2D_v2(&c) == 0);
}

/* ---- Arrays and their copies ---- */

static void arrays(void) {
    float cells[CELLS], back[CELLS];
    driver_array_3d a;
    driver_array_2d flat;
    void *array, *level, *whole;
    number(cells, 1);
    array = make_array(0);
    CHECK(of.cuArray3DGetDescriptor_v2(&a, array) == 0 && a.width == WIDTH && a.height == HEIGHT &&
          a.depth == 0 && a.format == FORMAT_FLOAT && a.channels == 1 && a.flags == 0);
    CHECK(of.cuArrayGetDescriptor_v2(&flat, array) == 0 && flat.height == HEIGHT);
    fill(array, cells);
    memset(back, 0, sizeof back);
    fetch(back, array);
    CHECK(memcmp(back, cells, sizeof cells) == 0);
    /* bytes from the middle of a row on, over its end */
    CHECK(of.cuMemcpyAtoH_v2(back, array, 30 * sizeof(float), 40 * sizeof(float)) == 0);
    CHECK(memcmp(back, cells + 30, 40 * sizeof(float)) == 0);
    CHECK(of.cuMemcpyAtoH_v2(back, array, 2, 8) == 1); /* not whole elements */
    CHECK(of.cuMemcpyAtoH_v2(back, array, 0, sizeof cells + 4) == 1);
    CHECK(of.cuArrayDestroy(array) == 0 && of.cuArrayDestroy(array) == 400);
    CHECK(of.cuArrayGetDescriptor_v2(&flat, array) == 400);
    /* levels */
    a = (driver_array_3d){16, 16, 0, FORMAT_UINT8, 4, 0};
    CHECK(of.cuMipmappedArrayCreate(&whole, &a, 3) == 0);
    CHECK(of.cuMipmappedArrayGetLevel(&level, whole, 2) == 0);
    CHECK(of.cuArray3DGetDescriptor_v2(&a, level) == 0 && a.width == 4 && a.format == FORMAT_UINT8);
    CHECK(of.cuMipmappedArrayGetLevel(&level, whole, 3) == 1);
    CHECK(of.cuMipmappedArrayDestroy(whole) == 0);
    a = (driver_array_3d){16, 16, 0, 0x55, 4, 0};
    CHECK(of.cuArray3DCreate_v2(&array, &a) == 1);
}

/* ---- Objects and references ---- */

static const char texts[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .global .texref image;\n.visible .global .surfref target;\n"
    ".visible .entry by_object(.param .u64 t, .param .u64 s) {\n"
    ".reg .b64 %t, %s; .reg .b32 %x, %y, %b; .reg .f32 %u, %v, %f<4>;\n"
    "ld.param.u64 %t, [t]; ld.param.u64 %s, [s]; mov.u32 %x, %tid.x; mov.u32 %y, %ctaid.x;\n"
    "cvt.rn.f32.u32 %u, %x; cvt.rn.f32.u32 %v, %y; shl.b32 %b, %x, 2;\n"
    "tex.2d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%t, {%u, %v}];\n"
    "add.f32 %f0, %f0, %f0; sust.b.2d.b32.trap [%s, {%b, %y}], {%f0}; ret; }\n"
    ".visible .entry by_reference() {\n"
    ".reg .b32 %x, %y, %b; .reg .f32 %u, %v, %f<4>;\n"
    "mov.u32 %x, %tid.x; mov.u32 %y, %ctaid.x;\n"
    "cvt.rn.f32.u32 %u, %x; cvt.rn.f32.u32 %v, %y; shl.b32 %b, %x, 2;\n"
    "tex.2d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [image, {%u, %v}];\n"
    "sust.b.2d.b32.trap [target, {%b, %y}], {%f0}; ret; }\n"
    ".visible .entry linear() {\n"
    ".reg .b32 %x, %b, %y; .reg .f32 %f<4>;\n"
    "mov.u32 %x, %tid.x; shl.b32 %b, %x, 2; mov.u32 %y, 0;\n"
    "tex.1d.v4.f32.s32 {%f0, %f1, %f2, %f3}, [image, {%x}];\n"
    "sust.b.2d.b32.trap [target, {%b, %y}], {%f0}; ret; }\n";

static void *load_module(const char *kernel, void **module) {
    void *function;
    CHECK(cu.cuModuleLoadData(module, texts) == 0);
    CHECK(cu.cuModuleGetFunction(&function, *module, kernel) == 0);
    return function;
}

static void launch(void *function, unsigned blocks, void **arguments) {
    CHECK(cu.cuLaunchKernel(function, blocks, 1, 1, WIDTH, 1, 1, 0, NULL, arguments, NULL) == 0);
    CHECK(cu.cuCtxSynchronize() == 0);
}

static void objects(void) {
    float cells[CELLS], back[CELLS];
    unsigned long long texture, surface;
    void *module, *kernel = load_module("by_object", &module);
    void *from = make_array(0), *to = make_array(cudaArraySurfaceLoadStore);
    driver_resource r = {.type = cudaResourceTypeArray, .of.array = from}, resource;
    driver_texture t = {.address = {1, 1, 1}, .border = {1, 2, 3, 4}}, described;
    number(cells, 1);
    fill(from, cells);
    CHECK(of.cuTexObjectCreate(&texture, &r, &t, NULL) == 0);
    CHECK(of.cuTexObjectGetTextureDesc(&described, texture) == 0 &&
          memcmp(&described, &t, sizeof t) == 0);
    CHECK(of.cuTexObjectGetResourceDesc(&resource, texture) == 0 &&
          resource.type == cudaResourceTypeArray && resource.of.array == from);
    CHECK(of.cuSurfObjectCreate(&surface, &r) == 1); /* not made for that */
    r.of.array = to;
    CHECK(of.cuSurfObjectCreate(&surface, &r) == 0);
    void *arguments[] = {&texture, &surface};
    launch(kernel, HEIGHT, arguments);
    fetch(back, to);
    for (int i = 0; i < CELLS; i++)
        CHECK(back[i] == 2 * cells[i]);
    CHECK(of.cuTexObjectDestroy(texture) == 0 && of.cuTexObjectDestroy(texture) == 1);
    CHECK(of.cuSurfObjectDestroy(surface) == 0);
    CHECK(of.cuArrayDestroy(from) == 0 && of.cuArrayDestroy(to) == 0);
    /* integers become floats unless they are asked for as they are */
    const driver_array_3d bytes = {8, 8, 0, FORMAT_UINT8, 1, 0};
    CHECK(of.cuArray3DCreate_v2(&r.of.array, &bytes) == 0);
    t.filter = 1;
    CHECK(of.cuTexObjectCreate(&texture, &r, &t, NULL) == 0);
    CHECK(of.cuTexObjectGetTextureDesc(&described, texture) == 0 && described.flags == 0);
    t.flags = TEXTURE_READ_AS_INTEGER;
    CHECK(of.cuTexObjectCreate(&texture, &r, &t, NULL) == 1); /* which are not blended */
    t.filter = 0;
    CHECK(of.cuTexObjectCreate(&texture, &r, &t, NULL) == 0);
    CHECK(of.cuTexObjectGetTextureDesc(&described, texture) == 0 &&
          described.flags == TEXTURE_READ_AS_INTEGER);
    CHECK(cu.cuModuleUnload(module) == 0);
}

static void references(void) {
    float cells[CELLS], back[CELLS];
    void *module, *kernel = load_module("by_reference", &module), *linear, *image, *target, *found;
    void *from = make_array(0), *to = make_array(cudaArraySurfaceLoadStore);
    unsigned long long memory;
    unsigned flags;
    size_t offset = 9;
    number(cells, 1);
    fill(from, cells);
    CHECK(of.cuModuleGetTexRef(&image, module, "no such") == 500);
    CHECK(of.cuModuleGetTexRef(&image, module, "image") == 0);
    CHECK(of.cuModuleGetSurfRef(&target, module, "target") == 0);
    CHECK(of.cuTexRefSetArray(image, from, 1) == 0 && of.cuSurfRefSetArray(target, to, 0) == 0);
    CHECK(of.cuTexRefGetArray(&found, image) == 0 && found == from);
    launch(kernel, HEIGHT, NULL);
    fetch(back, to);
    CHECK(memcmp(back, cells, sizeof cells) == 0);
    /* a filter set later is of what is bound: between texels -1 and 0, clamped */
    CHECK(of.cuTexRefSetFilterMode(image, 1) == 0);
    launch(kernel, HEIGHT, NULL);
    fetch(back, to);
    CHECK(back[0] == cells[0] && back[5] == (cells[4] + cells[5]) / 2);
    CHECK(of.cuTexRefSetAddressMode(image, 0, 3) == 0); /* the border is 0 */
    launch(kernel, HEIGHT, NULL);
    fetch(back, to);
    CHECK(back[0] == cells[0] / 2);
    CHECK(of.cuTexRefSetFilterMode(image, 7) == 1 && of.cuTexRefSetFilterMode(to, 0) == 400);
    /* memory instead */
    CHECK(cu.cuModuleGetFunction(&linear, module, "linear") == 0);
    CHECK(cu.cuMemAlloc_v2(&memory, sizeof cells) == 0);
    CHECK(cu.cuMemcpyHtoD_v2(memory, cells + 7, WIDTH * sizeof(float)) == 0);
    CHECK(of.cuTexRefSetFlags(image, TEXTURE_READ_AS_INTEGER) == 0);
    CHECK(of.cuTexRefGetFlags(&flags, image) == 0 && flags == TEXTURE_READ_AS_INTEGER);
    CHECK(of.cuTexRefSetFormat(image, FORMAT_FLOAT, 1) == 0);
    CHECK(of.cuTexRefSetAddress_v2(&offset, image, memory, sizeof cells) == 0 && offset == 0);
    launch(linear, 1, NULL);
    fetch(back, to);
    CHECK(memcmp(back, cells + 7, WIDTH * sizeof(float)) == 0);
    CHECK(cu.cuModuleUnload(module) == 0);
    CHECK(of.cuTexRefSetFlags(image, 0) == 400); /* it went with its module */
}

/* ---- Records ---- */

static struct {
    uint8_t kind, source, destination;
    uint64_t bytes;
} copies[16];
static int copy_count, array_records;

static void completed(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid) {
    void *record = NULL;
    (void)context, (void)stream, (void)size;
    while (cu.cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_OK) {
        const record_memcpy *m = record;
        const record_memory_4 *memory = record;
        if (m->kind == KIND_MEMCPY && copy_count < 16) {
            copies[copy_count].kind = m->copy_kind;
            copies[copy_count].source = m->source;
            copies[copy_count].destination = m->destination;
            copies[copy_count++].bytes = m->bytes;
        }
        if (m->kind == KIND_MEMORY2 && memory->memory_kind == MEMORY_ARRAY)
            array_records++;
    }
    free(buffer);
}

static void on_call(void *user, int domain, uint32_t id, const void *data) {
    (void)user, (void)domain, (void)id, (void)data;
}

static void records(void) {
    static const struct {
        uint8_t kind, source, destination;
    } wanted[] = {
        {COPY_HTOA, MEMORY_PAGEABLE, MEMORY_ARRAY}, {COPY_ATOA, MEMORY_ARRAY, MEMORY_ARRAY},
        {COPY_ATOD, MEMORY_ARRAY, MEMORY_DEVICE},   {COPY_DTOA, MEMORY_DEVICE, MEMORY_ARRAY},
        {COPY_ATOH, MEMORY_ARRAY, MEMORY_PAGEABLE}, {COPY_HTOA, MEMORY_PAGEABLE, MEMORY_ARRAY}};
    float cells[CELLS];
    unsigned long long memory;
    const size_t bytes = sizeof cells;
    CHECK(cu.cuptiSubscribe(&client_subscriber, on_call, NULL) == 0);
    CHECK(cu.cuptiActivityRegisterCallbacks(client_buffer_requested, completed) == 0);
    CHECK(cu.cuptiActivityEnable(KIND_MEMCPY) == 0 && cu.cuptiActivityEnable(KIND_MEMORY2) == 0);
    void *a = make_array(0), *b = make_array(0);
    number(cells, 1);
    CHECK(cu.cuMemAlloc_v2(&memory, bytes) == 0);
    CHECK(of.cuMemcpyHtoA_v2(a, 0, cells, bytes) == 0);
    CHECK(of.cuMemcpyAtoA_v2(b, 0, a, 0, bytes) == 0);
    CHECK(of.cuMemcpyAtoD_v2(memory, b, 0, bytes) == 0);
    CHECK(of.cuMemcpyDtoA_v2(a, 0, memory, bytes) == 0);
    CHECK(of.cuMemcpyAtoH_v2(cells, a, 0, bytes) == 0);
    CHECK(of.cuMemcpyHtoAAsync_v2(a, 0, cells, bytes, NULL) == 0);
    CHECK(cu.cuCtxSynchronize() == 0);
    CHECK(of.cuArrayDestroy(a) == 0 && of.cuArrayDestroy(b) == 0);
    CHECK(cu.cuptiActivityFlushAll(1) == 0);
    CHECK(copy_count == sizeof wanted / sizeof *wanted && array_records == 4);
    for (int i = 0; i < copy_count; i++)
        CHECK(copies[i].kind == wanted[i].kind && copies[i].source == wanted[i].source &&
              copies[i].destination == wanted[i].destination && copies[i].bytes == bytes);
    for (int i = 0; i < CELLS; i++)
        CHECK(cells[i] == 1 + (float)i);
}

static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {
    {"arrays", arrays}, {"objects", objects}, {"references", references}, {"records", records}};

int main(int argc, char **argv) {
    CHECK(argc == 3);
    load(argv[1]);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (!strcmp(cases[i].name, argv[2])) {
            cases[i].run();
            return 0;
        }
    fprintf(stderr, "no such case: %s\n", argv[2]);
    return 2;
}
