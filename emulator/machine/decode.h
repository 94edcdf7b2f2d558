/* SPDX-License-Identifier: Apache-2.0
 *
 * State of decoding one function, shared by program.c, which walks functions, and the files that
 * know the instructions: decode.c (what all share), operand.c, and decode_*.c, one for each family.
 */
#ifndef EMU_MACHINE_DECODE_H
#define EMU_MACHINE_DECODE_H

#include "emulator/machine/handlers.h"

enum { COUNT_HELPER = 255, SPACE_GENERIC = -1, AREA_TAG = 1 << 20 };

/* The order of lane_rounding in lanes.h, which the handlers use. */
typedef enum lane_rounding_code {
    ROUNDING_NEAREST,
    ROUNDING_ZERO,
    ROUNDING_DOWN,
    ROUNDING_UP,
    ROUNDING_AWAY
} lane_rounding_code;

typedef struct decoder_place { /* a variable of the function */
    const ptx_variable *variable;
    uint32_t offset;
    bool area; /* in the frame's parameter area */
} decoder_place;

typedef struct decoder {
    emu_device *device;
    emu_kernel *kernel;
    emu_program *program;
    emu_fault *fault;
    int function, text;
    ptx_function *source;
    const ptx_body *body;
    const ptx_instruction *in; /* the current one */
    uint32_t *slot;            /* by register; UINT32_MAX: none yet */
    uint32_t *reads;           /* times a register is read, by register */
    uint32_t frame_bytes, predicate_next, predicate_end;
    uint32_t area_offset, area_bytes, local_bytes;
    decoder_place *place;
    int place_count;
    emu_op *last;
    uint32_t moved_from, moved_to; /* a result that has to change its width afterwards */
    bool moved_signed;
    int flush;      /* handler that flushes the sources of the operation being bound; 0: none */
    uint32_t *seen; /* modifiers of the instruction that its decoder has looked at, a bit each */
} decoder;

/* ---- instructions and their families ------------------------------------------------------------
 */

/* A family's table ends with a NULL opcode. A decoder emits the ops of d->in; false with the fault
 * filled in. */
typedef struct emu_instruction {
    const char *opcode;
    bool (*decode)(decoder *d);
} emu_instruction;

extern const emu_instruction emu_arithmetic_instructions[], emu_video_instructions[],
    emu_move_instructions[], emu_memory_instructions[], emu_async_instructions[],
    emu_control_instructions[], emu_matrix_instructions[], emu_texture_instructions[];

bool emu_decode_instruction(decoder *d);
bool emu_decode_nothing(decoder *d);

/* The fault of the current instruction. All return false. */
bool emu_decode_fail(decoder *d, emu_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool emu_decode_no_memory(decoder *d);
bool emu_decode_unsupported(decoder *d);
/* Grows ARRAY (a pointer to its pointer) to hold one more element. */
bool emu_decode_grow(void *array, int count, int *capacity, size_t element);

/* ---- modifiers and types ------------------------------------------------------------------------
 */

/* A modifier that nobody asks about (and that is not one of those without a meaning here) refuses
 * the instruction: what is not understood must not be passed over. */
bool emu_has(const decoder *d, const char *modifier);
bool emu_has_prefix(const decoder *d, const char *prefix);
/* The INDEXth modifier, "" if there are fewer. */
const char *emu_modifier(const decoder *d, int index);
/* The INDEXth modifier that is a type, the last one; PTX_NONE. */
ptx_type emu_type_at(const decoder *d, int index);
ptx_type emu_last_type(const decoder *d);
lane_rounding_code emu_rounding(const decoder *d);

static inline bool is_wide(ptx_type type) {
    return ptx_type_bytes(type) == 8;
}

static inline bool is_float(ptx_type t) {
    return t == PTX_F32X2 || t == PTX_F16 || t == PTX_F16X2 || t == PTX_BF16 || t == PTX_BF16X2 ||
           t == PTX_F32 || t == PTX_F64 || t == PTX_TF32;
}

static inline bool is_signed(ptx_type t) {
    return t >= PTX_S8 && t <= PTX_S64;
}

static inline int width_of(ptx_type t) {
    return 8 * (int)ptx_type_bytes(t);
}

/* Control word of the host's floating-point unit for the instruction's rounding and .ftz; 0 if it
 * is the ordinary one. */
uint32_t emu_control_word(const decoder *d);
void emu_apply_control_word(decoder *d, emu_op *o, uint32_t word);

/* ---- emitting -----------------------------------------------------------------------------------
 */

/* A step that an instruction needs and that does not count. */
emu_op *emu_emit_helper(decoder *d, int handler);
/* The op of the instruction itself. Operands must have been prepared before: preparing may emit
 * helpers, and the op must come after them. */
emu_op *emu_emit(decoder *d, int handler, emu_count_kind kind);
bool emu_emit_special(decoder *d, const char *name, uint32_t target, bool wide, bool counted);
/* Of the op emitted last. */
emu_op_info *emu_info(decoder *d);
emu_extra *emu_add_extra(decoder *d, emu_op *o, int count);
void emu_count_float(decoder *d, ptx_type type, emu_op_class op_class);

/* ---- operands -----------------------------------------------------------------------------------
 */

uint32_t emu_decode_register(decoder *d, int reg);
uint32_t emu_decode_temporary(decoder *d, bool wide);
uint32_t emu_decode_constant(decoder *d, uint64_t value, bool wide);
/* A kernel parameter read at a fixed place: a constant that each launch fills in. */
uint32_t emu_decode_parameter(decoder *d, uint32_t from, unsigned bytes, bool wide, bool sign);
/* Whether any instruction reads register REG. */
bool emu_decode_is_read(const decoder *d, int reg);
/* False, with the fault, unless there are LEAST to MOST operands. */
bool emu_need(decoder *d, int least, int most);
/* Reference to a source operand as a value of TYPE (its slot: 32 or 64 bits). */
uint32_t emu_source(decoder *d, const ptx_operand *p, ptx_type type);
/* The same of a predicate; FLAG goes into FLAGS if it is negated. */
uint32_t emu_source_predicate(decoder *d, const ptx_operand *p, emu_op *flags, int flag);
/* Slot of a destination of TYPE. A register of the other width gets a temporary, moved by
 * emu_finish_destination() afterwards. */
uint32_t emu_destination(decoder *d, const ptx_operand *p, ptx_type type);
bool emu_finish_destination(decoder *d, ptx_type type);
/* The low and the high 64 bits of a register of 128; UINT32_MAX: of a sink. */
bool emu_decode_halves(decoder *d, const ptx_operand *p, uint32_t ref[2]);
/* UINT32_MAX: a sink. */
uint32_t emu_destination_predicate(decoder *d, const ptx_operand *p);
/* Where a variable of the function lies: *LOCAL if the frame's base has to be added at run time. */
bool emu_variable_address(decoder *d, const ptx_operand *p, uint64_t *address, bool *local);

/* ---- operations that work lane by lane ----------------------------------------------------------
 */

/* NULL if there is none of that name. */
const emu_operation *emu_find_operation(const char *format, ...)
    __attribute__((format(printf, 1, 2)));
/* The handler that makes subnormals of TYPE zero if .ftz asks for it where the host's control word
 * cannot do it (half precision; whatever only compares), else 0. */
int emu_flush_handler(const decoder *d, ptx_type type);
/* REF with its subnormals made zero by HANDLER, in a temporary; REF itself if HANDLER is 0. */
uint32_t emu_flushed(decoder *d, uint32_t ref, int handler);
/* Emits OPERATION: its result is operand 0, its sources those from FIRST on. d->last is the op. */
bool emu_bind_operation(decoder *d, const emu_operation *op, int first, emu_count_kind kind);
/* Finishes an operation whose op was bound: width of the result. */
bool emu_finish_operation(decoder *d, const emu_operation *op);

/* ---- memory operands ----------------------------------------------------------------------------
 */

typedef struct emu_place { /* where an address operand points */
    uint32_t ref;
    int64_t offset;
    bool wide;
    int space;                     /* of the variable named, SPACE_GENERIC if it names none */
    bool fixed;                    /* the whole address is OFFSET */
    const ptx_variable *parameter; /* of a kernel's, a function's or a call's parameter */
} emu_place;

bool emu_decode_address(decoder *d, const ptx_operand *p, emu_place *at);
/* The emu_space that a modifier names, SPACE_GENERIC if none does. */
int emu_space_of(const decoder *d);
/* Notes the access for the counts that the machine makes itself: parameters and constants. */
void emu_count_memory(decoder *d, int space, emu_access_op access, unsigned bytes);
void emu_number_memory(decoder *d, emu_op *o);
/* st.async and red.async (decode_async.c). */
bool emu_decode_store_async(decoder *d);

/* ---- the program (program.c, liveness.c, count.c) -----------------------------------------------
 */

/* Number of the function of SYMBOL in the program, added if it is new; -1 on failure. */
int emu_program_function(decoder *d, const emu_symbol *symbol);
/* Offset of a module's shared variable, laid out if it is new. */
bool emu_program_shared(decoder *d, const ptx_variable *variable, const char *name,
                        uint64_t *offset);

/* Notes in the program and in FUNCTION what the registers of the body do (liveness.c). */
bool emu_program_liveness(decoder *d, emu_function_code *function);

/* Fills in FLOPs of an instruction of floating point: algorithmic, and what the counters of the
 * hardware would see of its expansion (count.c has the table). */
void emu_flops(emu_op_info *info, const ptx_instruction *in);

#endif
