/* SPDX-License-Identifier: Apache-2.0
 *
 * The product of a matrix instruction, one function per instruction set of the host. The caller has
 * checked that all lanes of the warp are there. Operand references in op->extra->ref: the registers
 * of D, then of A, B and C. */
#ifndef EMU_MACHINE_MULTIPLY_H
#define EMU_MACHINE_MULTIPLY_H

#include "emulator/machine/machine.h"

#ifndef EMU_ISA
#error "EMU_ISA must name the instruction set: base or avx2"
#endif
#define EMU_MULTIPLY_NAME_(isa) emu_multiply_##isa
#define EMU_MULTIPLY_NAME(isa)  EMU_MULTIPLY_NAME_(isa)
#define EMU_MULTIPLY            EMU_MULTIPLY_NAME(EMU_ISA)

void EMU_MULTIPLY(emu_warp *warp, const emu_op *op);

#endif
