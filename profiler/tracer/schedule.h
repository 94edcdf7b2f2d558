/* SPDX-License-Identifier: Apache-2.0
 *
 * Which configuration of metrics a launch is counted with, if with any. Pure: it knows kernels by
 * what was counted of them so far, and nothing of CUPTI.
 *
 * sampled: the configurations take turns over the launches of one kernel and shape, a round each;
 * those of the tensor cores join where the tensor pipe was seen active; WHY comes once. As many
 * rounds as samples are wanted are taken at once, since a kernel may be launched a few times only;
 * then as many again for each doubling of the launches, each at a random place of its share of
 * them, so that samples speak for the whole run, whatever its launches do in turn. Where two would
 * do, the one that is set already is taken: changing costs.
 *
 * rerun: every launch, with the one configuration of this run.
 *
 * replay: every launch, in as many passes as its metrics need; the first launch of each kernel and
 * shape with everything, the others without what it has shown to be idle.
 */
#ifndef RP_TRACER_SCHEDULE_H
#define RP_TRACER_SCHEDULE_H

#include "tracer/settings.h"

enum { CONFIGURATIONS = 16 };

typedef enum role {
    ROLE_ALWAYS,      /* sampled: HW, SASS */
    ROLE_TENSOR,      /* sampled: TENSORk */
    ROLE_LAST,        /* sampled: WHY */
    ROLE_FIRST,       /* replay: everything */
    ROLE_REST,        /* replay: later launches */
    ROLE_REST_TENSOR, /* replay: later launches, of a kernel that uses the tensor cores */
    ROLE_EVERY,       /* rerun: the one that there is */
    ROLE_NONE         /* it takes no part: it needs more passes than it may */
} role;

typedef struct schedule {
    tracer_mode mode;
    uint32_t samples;
    int count;
    role roles[CONFIGURATIONS];
} schedule;

typedef enum tensor_use { TENSOR_UNKNOWN, TENSOR_ACTIVE, TENSOR_IDLE } tensor_use;

/* One kernel and shape. Zero-initialised at first. */
typedef struct launch_key {
    uint32_t launches;          /* so far */
    uint32_t next;              /* the launch at which another round may begin */
    uint32_t slot, slot_length; /* where that one was chosen: from here on, so many launches */
    uint32_t slots_left;        /* up to where the launches have doubled */
    uint32_t random;
    uint16_t taken[CONFIGURATIONS];
    uint8_t tensor;  /* tensor_use */
    uint8_t refused; /* of a graph: its ranges were not those of its kernels */
} launch_key;

/* The configuration for this launch of KEY, counted as taken; -1: none, it runs untouched. CURRENT
 * is what is set now; -1: nothing. */
int schedule_choose(const schedule *s, launch_key *key, int current);

/* schedule_choose would like to know KEY's tensor use first. */
bool schedule_waits(const schedule *s, const launch_key *key);

#endif
