/* SPDX-License-Identifier: Apache-2.0
 *
 * Texture fetching: coordinates to texels and weights, texels to the value that a thread gets. The
 * rules, and where they are from, are in texture.h. Coordinates are calculated in double
 * precision, in which products with sizes and differences are exact: the only rounding of a
 * position is that to 8 bits. */
#include "emulator/texture/texture.h"

#include <math.h>
#include <string.h>

enum { WEIGHT_ONE = 256, OUTSIDE = -1 };

/* The one or two texels of a dimension, and the weight of the second. */
typedef struct span {
    int32_t index[2]; /* OUTSIDE: the border */
    int count, weight;
} span;

typedef struct footprint {
    const emu_image *image;
    span x, y, z;
} footprint;

/* ---- Coordinates ------------------------------------------------------------------------------
 */

static double fraction(double x) {
    return x - floor(x);
}

/* A coordinate as a texel position. */
static double to_texels(double x, uint32_t size, emu_address_mode mode, bool normalized) {
    const double far = 1 << 30;
    if (isnan(x))
        x = 0;
    if (normalized) {
        if (isinf(x) && mode != EMU_ADDRESS_CLAMP && mode != EMU_ADDRESS_BORDER)
            x = 0;
        if (mode == EMU_ADDRESS_WRAP)
            x = fraction(x);
        else if (mode == EMU_ADDRESS_MIRROR)
            x = fraction(x / 2) < 0.5 ? fraction(x) : 1 - fraction(x);
        x *= size;
    }
    return x < -far ? -far : x > far ? far : x;
}

static int32_t positive_modulo(int32_t a, int32_t n) {
    const int32_t r = a % n;
    return r < 0 ? r + n : r;
}

static int32_t resolve(int32_t i, int32_t size, emu_address_mode mode) {
    if (i >= 0 && i < size)
        return i;
    switch (mode) {
    case EMU_ADDRESS_WRAP:
        return positive_modulo(i, size);
    case EMU_ADDRESS_MIRROR:
        i = positive_modulo(i, 2 * size);
        return i < size ? i : 2 * size - 1 - i;
    case EMU_ADDRESS_BORDER:
        return OUTSIDE;
    case EMU_ADDRESS_CLAMP:
        break;
    }
    return i < 0 ? 0 : size - 1;
}

/* Where mode and size say so, a single texel. */
static span nearest(int64_t i, uint32_t size, emu_address_mode mode) {
    const int64_t far = 1 << 30;
    const int32_t near = (int32_t)(i < -far ? -far : i > far ? far : i);
    return (span){{resolve(near, (int32_t)size, mode), 0}, 1, 0};
}

/* floor() of a coordinate that to_texels() has bounded. */
static inline int32_t floor_of(double x) {
    const int32_t towards_zero = (int32_t)x;
    return towards_zero - (x < towards_zero);
}

static span blended(double x, int32_t offset, uint32_t size, emu_address_mode mode) {
    const double from = x - 0.5;
    const int32_t first = floor_of(from), i = first + offset;
    return (span){{resolve(i, (int32_t)size, mode), resolve(i + 1, (int32_t)size, mode)},
                  2,
                  (int)((from - first) * WEIGHT_ONE + 0.5)};
}

static span span_of(const emu_sampler *s, const emu_fetch *f, int dimension, uint32_t size) {
    /* offsets of an instruction have 4 bits */
    const int32_t offset = f->offset[dimension] & 15, moved = offset < 8 ? offset : offset - 16;
    emu_address_mode mode = s->address[dimension];
    if (f->integer || !s->normalized)
        mode = mode == EMU_ADDRESS_BORDER ? EMU_ADDRESS_BORDER : EMU_ADDRESS_CLAMP;
    if (f->integer)
        return nearest((int64_t)f->whole[dimension] + moved, size, mode);
    const double x = to_texels((double)f->at[dimension], size, mode, s->normalized);
    return s->linear || f->gather ? blended(x, moved, size, mode)
                                  : nearest((int64_t)floor_of(x) + moved, size, mode);
}

/* ---- Cubes ------------------------------------------------------------------------------------
 */

uint32_t emu_cube_face(const float direction[3], double *s, double *t) {
    const double x = (double)direction[0], y = (double)direction[1], z = (double)direction[2];
    const double ax = fabs(x), ay = fabs(y), az = fabs(z);
    double m, ds, dt;
    uint32_t face;
    if (ax >= ay && ax >= az) {
        face = x >= 0 ? 0 : 1;
        m = ax, ds = x >= 0 ? -z : z, dt = -y;
    } else if (ay >= az) {
        face = y >= 0 ? 2 : 3;
        m = ay, ds = x, dt = y >= 0 ? z : -z;
    } else {
        face = z >= 0 ? 4 : 5;
        m = az, ds = z >= 0 ? x : -x, dt = -y;
    }
    *s = (ds / m + 1) / 2;
    *t = (dt / m + 1) / 2;
    if (!isfinite(*s) || !isfinite(*t)) /* no direction at all */
        *s = *t = 0.5;
    return face;
}

/* The direction of a place on a face: the inverse of the above. */
static void cube_direction(uint32_t face, double s, double t, float direction[3]) {
    const float u = (float)(2 * s - 1), v = (float)(2 * t - 1);
    const float of[6][3] = {{1, -v, -u}, {-1, -v, u}, {u, 1, v},
                            {u, -1, -v}, {u, -v, 1},  {-u, -v, -1}};
    memcpy(direction, of[face], sizeof of[face]);
}

/* The texel of the neighbouring face behind the edge of FACE that X or Y (one of them) is over. */
static uint32_t over_edge(uint32_t face, int32_t size, int32_t *x, int32_t *y) {
    float direction[3];
    double s, t;
    cube_direction(face, (*x + 0.5) / size, (*y + 0.5) / size, direction);
    face = emu_cube_face(direction, &s, &t);
    *x = resolve((int32_t)floor(s * size), size, EMU_ADDRESS_CLAMP);
    *y = resolve((int32_t)floor(t * size), size, EMU_ADDRESS_CLAMP);
    return face;
}

/* ---- Texels -----------------------------------------------------------------------------------
 */

typedef struct reader {
    const emu_view *view;
    const emu_sampler *sampler;
    bool floats;
    emu_touched *touched;
} reader;

static void read_border(const reader *r, uint32_t value[4]) {
    const float one = 1;
    value[1] = value[2] = 0;
    value[3] = 1;
    if (r->floats)
        memcpy(&value[3], &one, sizeof one);
    for (int c = 0; c < r->view->texel.channels; c++)
        value[c] = r->view->linear ? 0 : r->sampler->border[c];
}

static uint64_t touch(const reader *r, const emu_image *image, int32_t x, int32_t y, int32_t z) {
    const uint64_t address = emu_image_address(image, (uint64_t)x * emu_texel_bytes(r->view->texel),
                                               (uint32_t)y, (uint32_t)z);
    if (r->touched->count < sizeof r->touched->address / sizeof *r->touched->address)
        r->touched->address[r->touched->count++] = address;
    return address;
}

/* Channels of 32 bits are shown as they are, whatever they hold. */
static void read_words(const reader *r, const void *from, uint32_t value[4]) {
    const float one = 1;
    const unsigned channels = r->view->texel.channels;
    value[1] = value[2] = 0;
    value[3] = 1;
    if (r->floats)
        memcpy(&value[3], &one, sizeof one);
    if (channels == 1)
        memcpy(value, from, 4);
    else if (channels == 2)
        memcpy(value, from, 8);
    else
        memcpy(value, from, 16);
}

/* A texel as the fetch shows it: bits of floats or integers. */
static void read_texel(const reader *r, const emu_image *image, int32_t x, int32_t y, int32_t z,
                       uint32_t value[4]) {
    if (x < 0 || y < 0 || z < 0) {
        read_border(r, value);
        return;
    }
    const emu_texel texel = r->view->texel;
    const uint64_t address =
        emu_image_address(image, (uint64_t)x * emu_texel_bytes(texel), (uint32_t)y, (uint32_t)z);
    const void *from = (const void *)(uintptr_t)address;
    if (r->touched->count < sizeof r->touched->address / sizeof *r->touched->address)
        r->touched->address[r->touched->count++] = address;
    if (texel.bits == 32) {
        read_words(r, from, value);
    } else if (r->floats) {
        float as_float[4];
        emu_texel_load_float(texel, r->sampler->reads_normalized, r->sampler->srgb, from, as_float);
        memcpy(value, as_float, sizeof as_float);
    } else {
        emu_texel_load(texel, from, value);
    }
}

/* A texel's channels, as many as it has, times WEIGHT onto SUM. */
static inline void add_texel(const reader *r, const emu_image *image, const int32_t at[3],
                             float weight, float sum[4]) {
    const emu_texel texel = r->view->texel;
    uint32_t bits[4];
    float value[4];
    if (texel.bits == 32 && at[0] >= 0 && at[1] >= 0 && at[2] >= 0) {
        const void *from = (const void *)(uintptr_t)touch(r, image, at[0], at[1], at[2]);
        memcpy(value, from, texel.channels == 1 ? 4 : texel.channels == 2 ? 8 : 16);
    } else {
        read_texel(r, image, at[0], at[1], at[2], bits);
        memcpy(value, bits, sizeof value);
    }
    if (weight > 0) /* what weighs nothing may be infinite */
        for (int c = 0; c < texel.channels; c++)
            sum[c] += weight * value[c];
}

/* The weighted sum of the texels of a footprint. Weights are 256ths, 65536ths or 2^24ths: exact in
 * single precision. */
static void blend(const reader *r, const footprint *p, uint32_t value[4]) {
    const span *spans[3] = {&p->x, &p->y, &p->z};
    float weight[3][2], sum[4] = {0};
    for (int d = 0; d < 3; d++) {
        weight[d][1] = (float)spans[d]->weight / WEIGHT_ONE;
        weight[d][0] = 1 - weight[d][1];
    }
    for (int k = 0; k < p->z.count; k++)
        for (int j = 0; j < p->y.count; j++)
            for (int i = 0; i < p->x.count; i++) {
                const int32_t at[3] = {p->x.index[i], p->y.index[j], p->z.index[k]};
                add_texel(r, p->image, at, weight[0][i] * weight[1][j] * weight[2][k], sum);
            }
    if (r->view->texel.channels < 4)
        sum[3] = 1;
    memcpy(value, sum, sizeof sum);
}

/* The four texels of a footprint anticlockwise from the lower left, rows growing downwards. */
static void gather(const reader *r, const footprint *p, uint8_t component, uint32_t value[4]) {
    static const uint8_t order[4][2] = {{0, 1}, {1, 1}, {1, 0}, {0, 0}};
    for (int n = 0; n < 4; n++) {
        uint32_t texel[4];
        read_texel(r, p->image, p->x.index[order[n][0]], p->y.index[order[n][1]], p->z.index[0],
                   texel);
        value[n] = texel[component & 3];
    }
}

static void read_footprint(const reader *r, const emu_fetch *f, const footprint *p,
                           uint32_t value[4]) {
    if (f->gather)
        gather(r, p, f->component, value);
    else if (p->x.count == 1)
        read_texel(r, p->image, p->x.index[0], p->y.index[0], p->z.index[0], value);
    else
        blend(r, p, value);
}

/* ---- Levels -----------------------------------------------------------------------------------
 */

static bool has_rows(emu_shape shape) {
    return shape != EMU_SHAPE_1D && shape != EMU_SHAPE_1D_LAYERED;
}

/* Over the edges of a cube: each texel of the footprint by itself. */
static void sample_seamless(const reader *r, const emu_fetch *f, const emu_image *image,
                            uint32_t first_face, uint32_t face, double s, double t,
                            uint32_t value[4]) {
    const int32_t size = (int32_t)image->width;
    const double x = s * size - 0.5, y = t * size - 0.5, left = floor(x), top = floor(y);
    const int weight[2] = {(int)floor((x - left) * WEIGHT_ONE + 0.5),
                           (int)floor((y - top) * WEIGHT_ONE + 0.5)};
    uint32_t texel[2][2][4];
    float sum[4] = {0};
    for (int j = 0; j < 2; j++) {
        for (int i = 0; i < 2; i++) {
            int32_t u = (int32_t)left + i, v = (int32_t)top + j;
            uint32_t on = face;
            if (v < 0 || v >= size) /* a corner belongs to no texel: the edge's is taken */
                u = resolve(u, size, EMU_ADDRESS_CLAMP);
            if (u < 0 || u >= size || v < 0 || v >= size)
                on = over_edge(face, size, &u, &v);
            read_texel(r, image, u, v, (int32_t)(first_face + on), texel[j][i]);
            const float share = (float)(i ? weight[0] : WEIGHT_ONE - weight[0]) / WEIGHT_ONE *
                                ((float)(j ? weight[1] : WEIGHT_ONE - weight[1]) / WEIGHT_ONE);
            for (int c = 0; c < 4 && share > 0; c++) {
                float part;
                memcpy(&part, &texel[j][i][c], sizeof part);
                sum[c] += share * part;
            }
        }
    }
    memcpy(value, sum, sizeof sum);
    if (f->gather) {
        const int order[4][2] = {{0, 1}, {1, 1}, {1, 0}, {0, 0}};
        for (int n = 0; n < 4; n++)
            value[n] = texel[order[n][1]][order[n][0]][f->component & 3];
    }
}

static void sample_cube(const reader *r, const emu_fetch *f, const emu_image *image,
                        uint32_t value[4]) {
    double s, t;
    const uint32_t face = emu_cube_face(f->at, &s, &t);
    const uint32_t cubes = image->depth / 6, cube = f->layer < cubes ? f->layer : cubes - 1;
    if (r->sampler->seamless && (r->sampler->linear || f->gather)) {
        sample_seamless(r, f, image, cube * 6, face, s, t, value);
        return;
    }
    /* within a face everything is clamped */
    const bool linear = r->sampler->linear || f->gather;
    const double x = s * image->width, y = t * image->height;
    const footprint p = {.image = image,
                         .x = linear ? blended(x, 0, image->width, EMU_ADDRESS_CLAMP)
                                     : nearest((int64_t)floor(x), image->width, EMU_ADDRESS_CLAMP),
                         .y = linear ? blended(y, 0, image->height, EMU_ADDRESS_CLAMP)
                                     : nearest((int64_t)floor(y), image->height, EMU_ADDRESS_CLAMP),
                         .z = {.index = {(int32_t)(cube * 6 + face), 0}, .count = 1}};
    read_footprint(r, f, &p, value);
}

static void sample_level(const reader *r, const emu_fetch *f, uint32_t level, uint32_t value[4]) {
    const emu_view *v = r->view;
    const emu_image *image = &v->level[level];
    if (v->shape == EMU_SHAPE_CUBE || v->shape == EMU_SHAPE_CUBE_LAYERED) {
        sample_cube(r, f, image, value);
        return;
    }
    footprint p = {.image = image,
                   .x = span_of(r->sampler, f, 0, image->width),
                   .y = {.count = 1},
                   .z = {.count = 1}};
    if (has_rows(v->shape))
        p.y = span_of(r->sampler, f, 1, image->height);
    if (v->shape == EMU_SHAPE_3D)
        p.z = span_of(r->sampler, f, 2, image->depth);
    else
        p.z.index[0] = (int32_t)(f->layer < image->depth ? f->layer : image->depth - 1);
    read_footprint(r, f, &p, value);
}

static float clamped_lod(const emu_view *v, const emu_sampler *s, float lod) {
    const float most = (float)(v->levels - 1);
    lod += s->mip_bias;
    if (!(lod >= s->mip_least)) /* not a number, too */
        lod = s->mip_least;
    if (lod > s->mip_most)
        lod = s->mip_most;
    return !(lod > 0) ? 0 : lod > most ? most : lod;
}

/* Linear memory knows nothing of samplers: a whole coordinate, or its floor. */
static void sample_linear(const reader *r, const emu_fetch *f, uint32_t value[4]) {
    const double x = f->integer ? f->whole[0] : floor((double)f->at[0]);
    const bool inside = x >= 0 && x < r->view->level[0].width;
    read_texel(r, &r->view->level[0], inside ? (int32_t)x : OUTSIDE, 0, 0, value);
}

void emu_sample(const emu_view *view, const emu_sampler *sampler, const emu_fetch *fetch,
                uint32_t value[4], emu_touched *touched) {
    const reader r = {view, sampler, emu_texel_reads_float(view->texel, sampler->reads_normalized),
                      touched};
    if (view->linear) {
        sample_linear(&r, fetch, value);
        return;
    }
    const float lod = clamped_lod(view, sampler, fetch->lod);
    if (!sampler->mip_linear || fetch->gather || !r.floats) {
        sample_level(&r, fetch, (uint32_t)(lod + 0.5f), value);
        return;
    }
    const uint32_t level = (uint32_t)lod;
    const float weight = floorf((lod - (float)level) * WEIGHT_ONE + 0.5f) / WEIGHT_ONE;
    uint32_t next[4];
    sample_level(&r, fetch, level, value);
    if (weight == 0 || level + 1 >= view->levels)
        return;
    sample_level(&r, fetch, level + 1, next);
    for (int c = 0; c < 4; c++) {
        float a, b;
        memcpy(&a, &value[c], sizeof a);
        memcpy(&b, &next[c], sizeof b);
        a = (1 - weight) * a + weight * b;
        memcpy(&value[c], &a, sizeof a);
    }
}

/* Square of a gradient's length in texels. */
static double length_of(const emu_view *v, const emu_sampler *s, const float d[3]) {
    const emu_image *image = &v->level[0];
    const double size[3] = {image->width, has_rows(v->shape) ? image->height : 0,
                            v->shape == EMU_SHAPE_3D ? image->depth : 0};
    double sum = 0;
    for (int i = 0; i < 3; i++) {
        const double texels = size[i] > 0 ? (double)d[i] * (s->normalized ? size[i] : 1) : 0;
        sum += texels * texels;
    }
    return sum;
}

float emu_sample_lod(const emu_view *view, const emu_sampler *sampler, const float at[3],
                     const float dx[3], const float dy[3]) {
    double longest;
    if (view->shape == EMU_SHAPE_CUBE || view->shape == EMU_SHAPE_CUBE_LAYERED) {
        /* on the face a change of the direction shows divided by its largest component, and the
         * face is 2 wide */
        double m = 0, x = 0, y = 0;
        for (int i = 0; i < 3; i++) {
            m = fmax(m, fabs((double)at[i]));
            x += (double)dx[i] * (double)dx[i];
            y += (double)dy[i] * (double)dy[i];
        }
        const double scale = m > 0 ? view->level[0].width / (2 * m) : 0;
        longest = fmax(x, y) * scale * scale;
    } else {
        longest = fmax(length_of(view, sampler, dx), length_of(view, sampler, dy));
    }
    return longest > 0 ? (float)(log2(longest) / 2) : 0;
}
