/* SPDX-License-Identifier: Apache-2.0
 *
 * A video instruction, decoded: what decode_video.c reads from its modifiers and selectors, and
 * execute_video.c does. Scalar ones (vadd, vmad ...) work on one element of 32 bits, SIMD ones
 * (vadd2, vadd4 ...) on two of 16 or four of 8. */
#ifndef EMU_MACHINE_VIDEO_H
#define EMU_MACHINE_VIDEO_H

#include <stdbool.h>
#include <stdint.h>

typedef enum emu_video_operation {
    VIDEO_ADD,
    VIDEO_SUB,
    VIDEO_AVERAGE,
    VIDEO_ABSDIFF,
    VIDEO_MIN,
    VIDEO_MAX,
    VIDEO_SHL,
    VIDEO_SHR,
    VIDEO_MAD,
    VIDEO_SET
} emu_video_operation;

typedef enum emu_video_second { SECOND_NONE, SECOND_ADD, SECOND_MIN, SECOND_MAX } emu_video_second;
typedef enum emu_video_compare {
    COMPARE_EQ,
    COMPARE_NE,
    COMPARE_LT,
    COMPARE_LE,
    COMPARE_GT,
    COMPARE_GE
} emu_video_compare;

/* Bits of a register: WIDTH of them from LOW on. */
typedef struct emu_video_part {
    uint8_t low, width;
} emu_video_part;

typedef struct emu_video {
    uint8_t operation, second,
        compare;      /* second: what is made of the result and c (add: SIMD too) */
    uint8_t elements; /* 1, 2, 4 */
    bool signed_d, signed_a, signed_b;
    bool saturate, wrap;
    uint8_t scale;                      /* vmad: right shift */
    bool plus_one, negate_ab, negate_c; /* vmad */
    emu_video_part a, b;                /* scalar: the parts of the sources */
    emu_video_part d;                   /* scalar: the part of c that the result replaces */
    uint8_t pick_a[4], pick_b[4]; /* SIMD: elements of a (0 ...) and then b, by element of d */
    uint8_t mask;                 /* SIMD: elements that are written; the others come from c */
} emu_video;

#endif
