/* SPDX-License-Identifier: Apache-2.0
 *
 * A range profiler session of the test clients, step by step in the documented order, so that a
 * test can leave one out or swap two.
 */
#ifndef DOORS_SESSION_H
#define DOORS_SESSION_H

#include "client.h"

typedef struct session {
    void *host, *object;
    uint8_t *config, *image;
    size_t config_size, image_size, passes;
} session;

extern const char *session_metrics[];
enum { SESSION_METRICS = 8 };

void session_initialize(void);  /* cuptiProfilerInitialize */
int session_enable(session *s); /* of the current context; CUPTI's result */
void session_configure(session *s, const char **metrics, size_t count, size_t ranges);
int session_set(session *s, uint32_t range, uint32_t replay, size_t pass);
int session_start(session *s);
int session_stop(session *s, uint8_t *all, size_t *pass);
int session_decode(session *s, size_t *dropped);
size_t session_ranges(session *s);
int session_push(session *s, const char *name);
int session_pop(session *s);
int session_value(session *s, size_t range, const char *metric, double *value);
int session_disable(session *s);
int session_deinitialize(void);

#endif
