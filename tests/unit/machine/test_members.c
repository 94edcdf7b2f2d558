/* SPDX-License-Identifier: Apache-2.0
 *
 * *.sync operations whose lanes, arriving together, name different members: the tiles and the
 * labelled groups of cooperative groups. Every kind of operation, over several ways to divide a
 * warp, against what each group must find by itself. */
#include "bench_device.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

enum { LANES = 32, OPERATIONS = 15 };

/* %r4 = the lane's members, from in[lane]; %r3 = lane; %r6 = a value that differs from lane to
 * lane; %p1 = its lowest bit. Results go to out[operation * 32 + lane]. */
static const char head[] =
    PTX_HEADER ".visible .entry k(.param .u64 out, .param .u64 in)\n{\n"
               ".reg .b32 %r<16>; .reg .b64 %rd<8>; .reg .pred %p<8>;\n"
               "ld.param.u64 %rd0, [out]; ld.param.u64 %rd2, [in]; mov.u32 %r3, %tid.x;\n"
               "mul.wide.u32 %rd1, %r3, 4; add.s64 %rd2, %rd2, %rd1; add.s64 %rd1, %rd0, %rd1;\n"
               "ld.global.u32 %r4, [%rd2]; mul.lo.u32 %r6, %r3, 0x9e3779b1;\n"
               "shr.u32 %r7, %r6, 29; and.b32 %r5, %r7, 1; setp.ne.u32 %p1, %r5, 0;\n";

typedef struct operation {
    const char *text; /* leaves its result in %r8 */
    uint32_t (*expected)(uint32_t members, uint32_t lane);
} operation;

static uint32_t value_of(uint32_t lane) {
    return lane * 0x9e3779b1u;
}

static uint32_t few_of(uint32_t lane) {
    return value_of(lane) >> 29;
}

static uint32_t odd_ones(uint32_t members) {
    uint32_t r = 0;
    for (uint32_t l = 0; l < LANES; l++)
        r |= members >> l & few_of(l) & 1 ? 1u << l : 0;
    return r;
}

static uint32_t ballot(uint32_t members, uint32_t lane) {
    (void)lane;
    return odd_ones(members);
}

static uint32_t any(uint32_t members, uint32_t lane) {
    (void)lane;
    return odd_ones(members) != 0;
}

static uint32_t all(uint32_t members, uint32_t lane) {
    (void)lane;
    return odd_ones(members) == members;
}

static uint32_t uniform(uint32_t members, uint32_t lane) {
    return any(members, lane) == all(members, lane);
}

static uint32_t match_any(uint32_t members, uint32_t lane) {
    uint32_t r = 0;
    for (uint32_t l = 0; l < LANES; l++)
        r |= members >> l & 1 && few_of(l) == few_of(lane) ? 1u << l : 0;
    return r;
}

static uint32_t match_all(uint32_t members, uint32_t lane) {
    return match_any(members, lane) == members ? members : 0;
}

/* The members' values put together by NAME: `r` so far, `v` the next. */
#define REDUCTION(NAME, FIRST, STEP)                                                               \
    static uint32_t NAME(uint32_t members, uint32_t lane) {                                        \
        uint32_t r = FIRST;                                                                        \
        (void)lane;                                                                                \
        for (uint32_t l = 0; l < LANES; l++)                                                       \
            if (members >> l & 1) {                                                                \
                uint32_t v = value_of(l);                                                          \
                r = STEP;                                                                          \
            }                                                                                      \
        return r;                                                                                  \
    }
REDUCTION(sum, 0, r + v)
REDUCTION(least, UINT32_MAX, v < r ? v : r)
REDUCTION(most, 0, v > r ? v : r)
REDUCTION(least_signed, INT32_MAX, (int32_t)v < (int32_t)r ? v : r)
REDUCTION(most_signed, 0x80000000u, (int32_t)v > (int32_t)r ? v : r)
REDUCTION(conjunction, UINT32_MAX, r &v)
REDUCTION(disjunction, 0, r | v)
REDUCTION(parity, 0, r ^ v)

static uint32_t next_member(uint32_t members, uint32_t lane) {
    for (uint32_t k = 1; k < LANES; k++)
        if (members >> (lane + k) % LANES & 1)
            return value_of((lane + k) % LANES);
    return value_of(lane);
}

static const operation operations[OPERATIONS] = {
    {"vote.sync.ballot.b32 %r8, %p1, %r4;", ballot},
    {"vote.sync.any.pred %p2, %p1, %r4; selp.u32 %r8, 1, 0, %p2;", any},
    {"vote.sync.all.pred %p2, %p1, %r4; selp.u32 %r8, 1, 0, %p2;", all},
    {"vote.sync.uni.pred %p2, %p1, %r4; selp.u32 %r8, 1, 0, %p2;", uniform},
    {"match.any.sync.b32 %r8, %r7, %r4;", match_any},
    {"match.all.sync.b32 %r8|%p2, %r7, %r4; selp.u32 %r8, %r8, 0, %p2;", match_all},
    {"redux.sync.add.u32 %r8, %r6, %r4;", sum},
    {"redux.sync.min.u32 %r8, %r6, %r4;", least},
    {"redux.sync.max.u32 %r8, %r6, %r4;", most},
    {"redux.sync.min.s32 %r8, %r6, %r4;", least_signed},
    {"redux.sync.max.s32 %r8, %r6, %r4;", most_signed},
    {"redux.sync.and.b32 %r8, %r6, %r4;", conjunction},
    {"redux.sync.or.b32 %r8, %r6, %r4;", disjunction},
    /* the result goes where the members came from */
    {"mov.u32 %r9, %r4; redux.sync.xor.b32 %r9, %r6, %r9; mov.u32 %r8, %r9;", parity},
    /* in[32 + lane]: the next member */
    {"ld.global.u32 %r9, [%rd2+128]; shfl.sync.idx.b32 %r8, %r6, %r9, 31, %r4;\n"
     "bar.warp.sync %r4;",
     next_member},
};

typedef struct division {
    const char *name;
    uint32_t (*label)(uint32_t lane); /* lanes with the same label are one group */
} division;

static uint32_t whole(uint32_t lane) {
    (void)lane;
    return 0;
}
static uint32_t halves(uint32_t lane) {
    return lane / 16;
}
static uint32_t quads(uint32_t lane) {
    return lane / 4;
}
static uint32_t by_turns(uint32_t lane) {
    return lane % 3;
}
static uint32_t single(uint32_t lane) {
    return lane;
}
static uint32_t uneven(uint32_t lane) {
    return value_of(lane) >> 30;
}

static const division divisions[] = {{"whole", whole},   {"halves", halves},
                                     {"quads", quads},   {"by turns", by_turns},
                                     {"single", single}, {"uneven", uneven}};

static uint32_t members_of(const division *d, uint32_t lane) {
    uint32_t r = 0;
    for (uint32_t l = 0; l < LANES; l++)
        r |= d->label(l) == d->label(lane) ? 1u << l : 0;
    return r;
}

static uint32_t after(uint32_t members, uint32_t lane) {
    for (uint32_t k = 1; k < LANES; k++)
        if (members >> (lane + k) % LANES & 1)
            return (lane + k) % LANES;
    return lane;
}

static void test_divided_warps(void **unused) {
    (void)unused;
    static char text[8192];
    int n = snprintf(text, sizeof text, "%s", head);
    for (int i = 0; i < OPERATIONS; i++)
        n += snprintf(text + n, sizeof text - (size_t)n, "%s\nst.global.u32 [%%rd1+%d], %%r8;\n",
                      operations[i].text, i * LANES * 4);
    snprintf(text + n, sizeof text - (size_t)n, "ret;\n}\n");

    emu_device *device = bench_device(1, true);
    emu_module *module = bench_load(device, text);
    uint64_t out = bench_allocate(device, OPERATIONS * LANES * 4), in = bench_allocate(device, 256);
    const void *parameters[] = {&out, &in, NULL};
    for (size_t k = 0; k < sizeof divisions / sizeof divisions[0]; k++) {
        const division *d = &divisions[k];
        uint32_t *members = (uint32_t *)(uintptr_t)in;
        for (uint32_t l = 0; l < LANES; l++) {
            members[l] = members_of(d, l);
            members[LANES + l] = after(members[l], l);
        }
        bench_run(device, module, "k", (bench_shape){1, LANES, 0, false}, parameters, NULL);
        for (uint32_t i = 0; i < OPERATIONS * LANES; i++) {
            const operation *o = &operations[i / LANES];
            uint32_t lane = i % LANES, got = ((const uint32_t *)(uintptr_t)out)[i];
            if (got != o->expected(members[lane], lane))
                fail_msg("%s, %s, lane %u: %#x, not %#x", o->text, d->name, lane, got,
                         o->expected(members[lane], lane));
        }
    }
    emu_module_unload(module);
    emu_device_destroy(device);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_divided_warps)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
