/* SPDX-License-Identifier: Apache-2.0
 *
 * Table of the lane-by-lane operations, searched by name. */
#include "emulator/machine/handlers.h"

#include <stdlib.h>
#include <string.h>

#define SLOT_u8  PTX_U8
#define SLOT_s8  PTX_S8
#define SLOT_u16 PTX_U16
#define SLOT_s16 PTX_S16
#define SLOT_u32 PTX_U32
#define SLOT_s32 PTX_S32
#define SLOT_u64 PTX_U64
#define SLOT_s64 PTX_S64
#define SLOT_f32 PTX_F32
#define SLOT_f64 PTX_F64

static emu_operation operations[] = {
#define OP_1(n, d, a, e)       {#n, H_##n, 0, 1, SLOT_##d, {SLOT_##a}},
#define OP_2(n, d, a, b, e)    {#n, H_##n, 0, 2, SLOT_##d, {SLOT_##a, SLOT_##b}},
#define OP_3(n, d, a, b, c, e) {#n, H_##n, 0, 3, SLOT_##d, {SLOT_##a, SLOT_##b, SLOT_##c}},
#define OP_4(n, d, a, b, c, f, e)                                                                  \
    {#n, H_##n, 0, 4, SLOT_##d, {SLOT_##a, SLOT_##b, SLOT_##c, SLOT_##f}},
#define OP_1G         OP_1
#define OP_2G         OP_2
#define OP_3G         OP_3
#define OP_C(n, a, e) {"setp_" #n, H_setp_##n, H_compare_##n, 2, PTX_PRED, {SLOT_##a, SLOT_##a}},
#define OP_T(n, a, e) {#n, H_##n, 0, 1, PTX_PRED, {SLOT_##a}},
#include "emulator/machine/operations.def"
#undef OP_1
#undef OP_2
#undef OP_3
#undef OP_4
#undef OP_1G
#undef OP_2G
#undef OP_3G
#undef OP_C
#undef OP_T
};

enum { OPERATIONS = sizeof operations / sizeof *operations };

static int by_name(const void *a, const void *b) {
    return strcmp(((const emu_operation *)a)->name, ((const emu_operation *)b)->name);
}

static void sort_operations(void) {
    qsort(operations, OPERATIONS, sizeof *operations, by_name);
}

const emu_operation *emu_operation_find(const char *name) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, sort_operations);
    emu_operation key = {.name = name};
    return bsearch(&key, operations, OPERATIONS, sizeof *operations, by_name);
}
