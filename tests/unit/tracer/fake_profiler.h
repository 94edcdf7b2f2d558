/* SPDX-License-Identifier: Apache-2.0
 *
 * The range profiler of the record generator (fake_cupti.c): strict about the order of calls.
 */
#ifndef FAKE_PROFILER_H
#define FAKE_PROFILER_H

#include "tracer/cupti_abi.h"

/* A kernel is launched in CONTEXT: how many passes it runs in; 0: it is not counted. Blocks if it
 * is the one that FAKE_STUCK names and is counted. */
unsigned fake_profiler_launch(void *context, const char *name, uint32_t grid);

/* The result that the environment wants of FUNCTION: FAKE_REFUSE="cuptiSubscribe=39,..."; 0. In
 * the probe's process FAKE_PROBE counts instead; there "crash" and "hang" are results too. */
cupti_result fake_refusal(const char *function);

/* WHAT must not happen in a target; the probe may try it. */
void fake_breach(const char *what);

#endif
