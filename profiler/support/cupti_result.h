/* SPDX-License-Identifier: Apache-2.0
 *
 * CUPTI's result codes in words: name, meaning, and what a person can do. Sources: CUPTI's
 * documents (CUptiResult), NVIDIA's page on ERR_NVGPUCTRPERM, and what users have reported.
 */
#ifndef RP_SUPPORT_CUPTI_RESULT_H
#define RP_SUPPORT_CUPTI_RESULT_H

typedef struct rp_cupti_result {
    int code;
    const char *name;    /* without CUPTI_ERROR_ */
    const char *meaning; /* a clause: "another tool holds CUPTI in this process" */
    const char *remedy;  /* a sentence; "" none is known */
} rp_cupti_result;

/* Never NULL: an unknown code gets its number and no remedy said. */
const rp_cupti_result *rp_cupti_result_find(int code);

#endif
