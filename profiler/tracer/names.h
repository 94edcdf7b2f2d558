/* SPDX-License-Identifier: Apache-2.0
 *
 * Interning: kernel names and configs are written to the spool once and then named by number.
 * CUPTI's name pointers are valid only while their module is, so a pointer seen before is trusted
 * only if the text behind it is still the same.
 */
#ifndef RP_TRACER_NAMES_H
#define RP_TRACER_NAMES_H

#include "tracer/spool.h"
#include <stddef.h>

/* The number of NAME (LENGTH bytes), written to the spool if it is new. SPOOL_NONE: no memory.
 * Callers hold the writer's lock. */
uint32_t names_intern(const char *name, size_t length);

/* The same by pointer: cheap for a pointer that was given before. NULL counts as "". */
uint32_t names_of_pointer(const char *name);

/* The text of a name's number; "" for SPOOL_NONE. Valid for ever. */
const char *names_text(uint32_t number);

/* The number of CONFIG (its id is ignored), written if new. */
uint32_t names_config(const spool_config *config);

#endif
