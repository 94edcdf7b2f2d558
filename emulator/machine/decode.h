/* SPDX-License-Identifier: Apache-2.0
 *
 * State of decoding one function, shared by program.c (which walks functions) and decode.c (which
 * knows the instructions). */
#ifndef EMU_MACHINE_DECODE_H
#define EMU_MACHINE_DECODE_H

#include "emulator/machine/handlers.h"

enum { COUNT_HELPER = 255, SPACE_GENERIC = -1 };

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
} decoder;

bool emu_decode_fail(decoder *d, emu_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
uint32_t emu_decode_register(decoder *d, int reg);
uint32_t emu_decode_temporary(decoder *d, bool wide);
uint32_t emu_decode_constant(decoder *d, uint64_t value, bool wide);
/* Whether any instruction reads register REG. */
bool emu_decode_is_read(const decoder *d, int reg);
bool emu_decode_instruction(decoder *d);
bool emu_decode_mbarrier(decoder *d);
bool emu_decode_carry(decoder *d);

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
