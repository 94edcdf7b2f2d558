/* SPDX-License-Identifier: Apache-2.0
 *
 * PTX text to a list of instructions. ptx_parse() reads what is outside of function bodies:
 * variables with their initial values, functions, kernels. A body is only measured then, and read
 * by ptx_parse_body() when somebody needs it, so that a module of a thousand kernels costs what its
 * used kernels cost. The front end knows the grammar of PTX (ISA 6 to 9) and not its opcodes: an
 * unknown opcode is the machine's to report, for the one kernel that holds it.
 *
 * Everything belongs to the ptx_module and is freed with it. Text is bounded by its length, never
 * by a NUL, and no input makes the parser read out of bounds or recurse without limit. The text
 * must outlive the module. Not thread-safe: one thread at a time per module. */
#ifndef EMU_PTX_PTX_H
#define EMU_PTX_PTX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum ptx_type {
    PTX_NONE,
    PTX_PRED,
    PTX_B8,
    PTX_B16,
    PTX_B32,
    PTX_B64,
    PTX_B128,
    PTX_U8,
    PTX_U16,
    PTX_U32,
    PTX_U64,
    PTX_S8,
    PTX_S16,
    PTX_S32,
    PTX_S64,
    PTX_F16,
    PTX_F16X2,
    PTX_BF16,
    PTX_BF16X2,
    PTX_TF32,
    PTX_F32,
    PTX_F64,
    PTX_U16X2,
    PTX_S16X2,
    PTX_E4M3X2,
    PTX_E5M2X2,
    PTX_F32X2,
    PTX_OPAQUE, /* .texref .samplerref .surfref: eight bytes, a handle or a ptx_sampler */
    PTX_TYPES
} ptx_type;

/* The type that WORD (without its dot) names; PTX_NONE if it names none. */
ptx_type ptx_type_named(const char *word, size_t length);
const char *ptx_type_name(ptx_type type);
unsigned ptx_type_bytes(ptx_type type); /* in memory; .pred 1, opaque 8 */

typedef enum ptx_space {
    PTX_SPACE_NONE, /* generic */
    PTX_SPACE_REG,
    PTX_SPACE_GLOBAL,
    PTX_SPACE_CONST,
    PTX_SPACE_SHARED,
    PTX_SPACE_LOCAL,
    PTX_SPACE_PARAM
} ptx_space;

typedef enum ptx_linkage {
    PTX_LINK_LOCAL,
    PTX_LINK_VISIBLE,
    PTX_LINK_EXTERN,
    PTX_LINK_WEAK,
    PTX_LINK_COMMON
} ptx_linkage;

/* An address in an initial value: WIDTH bytes at OFFSET get (address of NAME + ADDEND), shifted
 * right by SHIFT bits (a mask operator picks single bytes of an address). */
typedef struct ptx_relocation {
    uint64_t offset;
    const char *name;
    int64_t addend;
    unsigned width, shift;
    bool generic;
} ptx_relocation;

typedef struct ptx_variable {
    const char *name;
    ptx_space space;
    ptx_linkage linkage;
    ptx_type type;  /* of an element */
    uint64_t bytes; /* whole; 0 for an extern array without a size */
    uint32_t alignment;
    uint8_t *initial; /* INITIAL_BYTES of them, then zeros; NULL: all zero */
    uint64_t initial_bytes;
    ptx_relocation *relocations;
    int relocation_count;
    bool managed, sampler; /* sampler: a .samplerref, whose initial value is a ptx_sampler */
    int line;
} ptx_variable;

/* What a .samplerref says; 0: nothing. The variable holds it. */
typedef enum ptx_address {
    PTX_ADDRESS_WRAP = 1,
    PTX_ADDRESS_MIRROR,
    PTX_ADDRESS_CLAMP,
    PTX_ADDRESS_BORDER
} ptx_address;
typedef enum ptx_filter { PTX_FILTER_NEAREST = 1, PTX_FILTER_LINEAR } ptx_filter;
typedef struct ptx_sampler {
    uint8_t address[3], filter, unnormalized, unused[3];
} ptx_sampler;

typedef enum ptx_operand_kind {
    PTX_OPERAND_REGISTER, /* reg; NEGATED for !p */
    PTX_OPERAND_INTEGER,  /* value */
    PTX_OPERAND_F32,      /* value: bits */
    PTX_OPERAND_F64,      /* value: bits of a double */
    PTX_OPERAND_SPECIAL,  /* name: "%tid.x" */
    PTX_OPERAND_VARIABLE, /* variable of the function, with OFFSET */
    PTX_OPERAND_SYMBOL,   /* name of something outside the function, with OFFSET */
    PTX_OPERAND_LABEL,    /* target: index of an instruction */
    PTX_OPERAND_TARGETS,  /* labels or names of .branchtargets/.calltargets, or a .callprototype */
    PTX_OPERAND_VECTOR,   /* {a, b, ...} or (a, b, ...): element[0..count) */
    PTX_OPERAND_ADDRESS,  /* [element[0] + offset], element[0] a register, variable, symbol or
                             integer; further elements: texture coordinates and the like */
    PTX_OPERAND_SINK      /* _ */
} ptx_operand_kind;

typedef struct ptx_operand ptx_operand;
typedef struct ptx_targets ptx_targets;
struct ptx_operand {
    ptx_operand_kind kind;
    bool negated; /* !p */
    bool minus;   /* -%r: a negated register operand (never from nvcc) */
    char part[8]; /* "h0", "b7654", "x": selector after a register name, else empty */
    int reg;
    uint64_t value;
    int64_t offset;
    const char *name;
    const ptx_variable *variable;
    int target;
    ptx_targets *targets;
    ptx_operand *element;
    int count;
    ptx_operand *second; /* of p|q and {a, b}|p */
};

/* A list that an indirect branch or call names. */
struct ptx_targets {
    const char *name;
    bool prototype; /* .callprototype: RETURNS and PARAMETERS are set */
    int count;
    const char **names;
    int *index; /* of instructions, for .branchtargets */
    ptx_variable *returns, *parameters;
    int return_count, parameter_count;
};

enum { PTX_MAX_MODIFIERS = 16 };

typedef struct ptx_instruction {
    const char *opcode;                      /* "ld" */
    const char *mnemonic;                    /* "ld.global.u32" */
    const char *modifier[PTX_MAX_MODIFIERS]; /* "global", "u32" */
    int modifier_count;
    int guard; /* register, -1: none */
    bool guard_negated;
    ptx_operand *operand;
    int operand_count;
    int line;                     /* in the PTX text */
    int source_file, source_line; /* of the last .loc; 0: none */
} ptx_instruction;

typedef struct ptx_body {
    ptx_instruction *instruction;
    int count;
    ptx_type *register_type; /* by register number */
    int register_count;
    const char **register_name; /* NULL entries: part of a range */
    ptx_variable **variable;    /* local, shared, param and const of this function */
    int variable_count;
} ptx_body;

typedef struct ptx_function {
    const char *name;
    bool entry;
    ptx_linkage linkage;
    ptx_variable *parameter, *returned;
    int parameter_count, return_count;
    const char *text; /* of the body, after its brace; NULL for a declaration */
    size_t text_length;
    int line, body_line;
    uint32_t max_threads[3];                   /* .maxntid or .reqntid; 0: not said */
    bool required_threads;                     /* it was .reqntid */
    uint32_t min_blocks_per_sm, max_registers; /* 0: not said */
    uint32_t cluster[3];                       /* .reqnctapercluster; 0: not said */
    const char *alias;                         /* .alias NAME, ALIAS */
    ptx_body *body;                            /* NULL until ptx_parse_body() */
} ptx_function;

typedef struct ptx_module ptx_module;

typedef struct ptx_error {
    int line;
    char message[256];
} ptx_error;

/* NULL with ERROR filled if TEXT is not PTX. */
ptx_module *ptx_parse(const char *text, size_t length, ptx_error *error);
void ptx_module_free(ptx_module *module);

/* Reads the body of FUNCTION, once. False with ERROR filled if it cannot be read. */
bool ptx_parse_body(ptx_module *module, ptx_function *function, ptx_error *error);

int ptx_module_version(const ptx_module *module); /* 10 * major + minor: 90 for 9.0 */
int ptx_module_target(const ptx_module *module);  /* 80 for sm_80, letters dropped */
int ptx_module_function_count(const ptx_module *module);
ptx_function *ptx_module_function(ptx_module *module, int index);
int ptx_module_variable_count(const ptx_module *module);
const ptx_variable *ptx_module_variable(const ptx_module *module, int index);

#endif
