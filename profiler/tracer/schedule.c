/* SPDX-License-Identifier: Apache-2.0
 *
 * Whose turn it is: see schedule.h.
 */
#include "tracer/schedule.h"

static bool takes_part(const schedule *s, const launch_key *key, int i) {
    return s->roles[i] == ROLE_ALWAYS ||
           (s->roles[i] == ROLE_TENSOR && key->tensor == TENSOR_ACTIVE);
}

/* Rounds that are complete. */
static uint32_t rounds(const schedule *s, const launch_key *key) {
    uint32_t least = UINT16_MAX;
    for (int i = 0; i < s->count; i++)
        if (takes_part(s, key, i) && key->taken[i] < least)
            least = key->taken[i];
    return least;
}

static bool round_begins(const schedule *s, const launch_key *key, uint32_t round) {
    for (int i = 0; i < s->count; i++)
        if (takes_part(s, key, i) && key->taken[i] > round)
            return false;
    return true;
}

static int find_role(const schedule *s, role wanted) {
    for (int i = 0; i < s->count; i++)
        if (s->roles[i] == wanted)
            return i;
    return -1;
}

static int take(launch_key *key, int i) {
    if (i >= 0 && key->taken[i] < UINT16_MAX)
        key->taken[i]++;
    return i;
}

/* xorshift32; the same places in each run of a program, so that runs can be compared. */
static uint32_t next_random(launch_key *key) {
    uint32_t x = key->random ? key->random : 2463534242u;
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    return key->random = x;
}

/* Where the round after this one begins. */
static void place_next(const schedule *s, launch_key *key) {
    if (key->slots_left) {
        key->slot += key->slot_length;
    } else {
        uint32_t from = key->slot ? key->slot + key->slot_length : key->launches + 1;
        key->slot = from;
        key->slot_length = from / s->samples ? from / s->samples : 1;
        key->slots_left = s->samples;
    }
    key->slots_left--;
    if (key->slot > UINT32_MAX / 4) { /* it has launched a billion times: that is known by now */
        key->next = UINT32_MAX;
        return;
    }
    key->next = key->slot + next_random(key) % key->slot_length;
}

static int choose_sampled(const schedule *s, launch_key *key, int current) {
    uint32_t round = rounds(s, key);
    if (round_begins(s, key, round)) {
        int why = find_role(s, ROLE_LAST);
        if (round >= s->samples && why >= 0 && !key->taken[why])
            return take(key, why);
        if (round >= s->samples && (key->launches < key->next || round == UINT16_MAX))
            return -1;
        if (round + 1 >= s->samples)
            place_next(s, key);
    }
    if (current >= 0 && takes_part(s, key, current) && key->taken[current] == round)
        return take(key, current);
    for (int i = 0; i < s->count; i++)
        if (takes_part(s, key, i) && key->taken[i] == round)
            return take(key, i);
    return -1;
}

int schedule_choose(const schedule *s, launch_key *key, int current) {
    key->launches++;
    if (s->mode == MODE_SAMPLED)
        return choose_sampled(s, key, current);
    if (s->mode == MODE_RERUN)
        return take(key, find_role(s, ROLE_EVERY));
    if (s->mode != MODE_REPLAY)
        return -1;
    int first = find_role(s, ROLE_FIRST);
    if (!key->taken[first])
        return take(key, first);
    int tensor = key->tensor == TENSOR_IDLE ? -1 : find_role(s, ROLE_REST_TENSOR);
    return take(key, tensor >= 0 ? tensor : find_role(s, ROLE_REST));
}

bool schedule_waits(const schedule *s, const launch_key *key) {
    return s->mode == MODE_REPLAY && key->launches && key->tensor == TENSOR_UNKNOWN;
}
