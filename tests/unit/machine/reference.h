/* SPDX-License-Identifier: Apache-2.0
 *
 * Arithmetic to check the machine against, written from the definitions and by other means than the
 * machine's: small formats by search over all their values, roundings by the C library's modes,
 * bit operations bit by bit. */
#ifndef TESTS_MACHINE_REFERENCE_H
#define TESTS_MACHINE_REFERENCE_H

#include <stdbool.h>
#include <stdint.h>

typedef enum ref_mode { REF_RN, REF_RZ, REF_RM, REF_RP, REF_RNA } ref_mode;

typedef struct ref_format {
    int exponent, mantissa;
    bool infinite;
} ref_format;
extern const ref_format ref_half, ref_bfloat, ref_e4m3, ref_e5m2, ref_tf32;

double ref_value(uint32_t code, ref_format format); /* NaN, infinities and all */
uint32_t ref_round(double value, ref_format format, ref_mode mode, bool saturate);
/* a*b+c of small formats, rounded once */
uint32_t ref_fma_small(uint32_t a, uint32_t b, uint32_t c, ref_format format);

typedef enum ref_op {
    REF_ADD,
    REF_SUB,
    REF_MUL,
    REF_DIV,
    REF_FMA,
    REF_SQRT,
    REF_NARROW,
    REF_FROM_S,
    REF_FROM_U
} ref_op;
float ref_f32(ref_op op, float a, float b, float c, ref_mode mode);
float ref_f32_flushed(ref_op op, float a, float b, float c, ref_mode mode);
double ref_f64(ref_op op, double a, double b, double c, ref_mode mode);
float ref_narrow(double a, ref_mode mode);
float ref_f32_of_integer(uint64_t bits, bool is_signed, ref_mode mode);
double ref_f64_of_integer(uint64_t bits, bool is_signed, ref_mode mode);

/* Float to integer of WIDTH bits as the PTX document has it; WIDE_SOURCE: it is an f64. */
uint64_t ref_to_integer(double value, int width, bool is_signed, ref_mode mode, bool wide_source);
double ref_whole(double value, ref_mode mode);
float ref_min(float a, float b, bool nan);
float ref_max(float a, float b, bool nan);
double ref_min64(double a, double b);
double ref_max64(double a, double b);

uint64_t ref_bfe(uint64_t a, uint32_t b, uint32_t c, int width, bool is_signed);
uint64_t ref_bfi(uint64_t a, uint64_t b, uint32_t c, uint32_t d, int width);
uint32_t ref_bfind(uint64_t a, int width, bool is_signed, bool amount);
uint64_t ref_reverse(uint64_t a, int width);
uint32_t ref_count_ones(uint64_t a, int width);
uint32_t ref_leading_zeros(uint64_t a, int width);
uint32_t ref_prmt(uint32_t a, uint32_t b, uint32_t c);
uint32_t ref_prmt_mode(uint32_t a, uint32_t b, uint32_t c, const char *mode);
uint32_t ref_lop3(uint32_t a, uint32_t b, uint32_t c, int table);
uint32_t ref_dot(uint32_t a, uint32_t b, uint32_t c, bool signed_a, bool signed_b, int first,
                 int step);
uint32_t ref_fns(uint32_t mask, uint32_t base, int32_t offset);

#endif
