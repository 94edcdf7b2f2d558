/* SPDX-License-Identifier: Apache-2.0
 *
 * Insides of CUPTI's door: libcupti.so.13 (and .12) over the emulated device. A profiler's library
 * finds here the interface, the rules and, on demand, the refusals of the real one; what the device
 * did comes as events from the runtime's door (emulator/cudart/observe.h).
 *
 * Parts: switches.c (strictness, refusals, version), callback.c (subscriber), activity.c (buffers,
 * flushing, the worker thread), record.c (events to records), profiler.c (what both profilers begin
 * with), host.c and range.c (the range profiler), profiler_session.c and profiler_image.c (the older
 * sessions), ranges.c (ranges of either), metric.c (counts to metrics), door.c (the start, and what
 * is left).
 *
 * Locks: each part has its own, and none is held while a client's function runs.
 */
#ifndef EMU_CUPTI_DOOR_H
#define EMU_CUPTI_DOOR_H

#include "emulator/cudart/observe.h"
#include "emulator/cupti/abi.h"
#include <stdbool.h>

/* Which library this is: 13, or 12 for that of CUDA 12.4. */
#ifndef DOOR_CUPTI
#define DOOR_CUPTI 13
#endif

#define CUPTI_EXPORT(name, ...)                                                                    \
    __attribute__((visibility("default"))) cupti_result name(__VA_ARGS__);                         \
    cupti_result name(__VA_ARGS__)

/* First in every exported function: refuses, crashes or dawdles if a switch says so. */
#define CUPTI_SWITCH()                                                                             \
    do {                                                                                           \
        cupti_result switched_ = switch_of(__func__);                                              \
        if (switched_)                                                                             \
            return switched_;                                                                      \
    } while (0)

/* ---- switches.c ---- */

/* ROOFPROF_EMU_CUPTI_REFUSE, a list of FUNCTION=ACTION; FUNCTION is a name without "cupti", in any
 * case, or the groups "subscribe", "enable", "flush", "profiler"; ACTION is a result code, "crash"
 * or "slow:MILLISECONDS". CUPTI_OK: go on. */
cupti_result switch_of(const char *function);
/* Keeps RESULT for cuptiGetLastError and returns it. */
cupti_result failed(cupti_result result);
/* ROOFPROF_EMU_STRICT: mistakes of the client's are said. */
bool strict(void);
double strict_timeout_s(void);
/* What cuptiGetVersion says: the library's, or ROOFPROF_EMU_CUPTI_VERSION. Layouts of records and
 * the functions that are there follow it. */
uint32_t version(void);
enum { VERSION_12_4 = 22, VERSION_12_8 = 26, VERSION_13_0 = 130000 };

/* For a function that is exported but not there. */
cupti_result not_here(const char *function);
/* A rule that the client broke, if strict: one line on stderr, "CUPTI: TEXT [RULE]", and a note in
 * the counts file. RULE is one of docs/doors.md. */
void complain(const char *severity, const char *rule, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- door.c ---- */

/* The runtime's door that is in use; NULL: none is loaded. Watches it from the first call on. */
const emu_doors *doors(void);
/* CUPTI_OK once there is an emulated device; else what the real one says without a driver. */
cupti_result enter(void);
/* A context's device, by its handle; -1: no such context. NULL: device 0's primary one. */
int context_device(const void *handle);
uint32_t context_uid(int device);
/* Nanoseconds on the clock of the records. */
uint64_t clock_ns(void);
/* The place of a virtual second on that clock. */
uint64_t virtual_ns(double at_s);

/* ---- callback.c ---- */

void callback_api(const emu_api_event *event);
void callback_resource(uint32_t cbid, void *context, void *stream);
void callback_graph(const emu_graph_event *event);
uint32_t callback_id(const emu_api_event *event); /* 0: has none here */
bool callback_subscribed(void);
/* True while this thread is inside a client's function. */
extern _Thread_local const char *inside_client;

/* ---- activity.c ---- */

bool activity_on(int kind);
/* Adds a record of SIZE bytes. It is complete when the virtual clock has passed END_S. *name (may
 * be NULL) is a string that goes with the buffer, its pointer put at NAME_OFFSET of the record. */
void activity_add(const void *record, size_t size, double end_s, const char *name,
                  size_t name_offset);
void activity_api(const emu_api_event *event);
void activity_module_loaded(void);
/* The clock may have passed: complete buffers go out. */
void activity_tick(void);
void activity_ends(void);

/* ---- record.c ---- */

size_t record_size(uint32_t kind); /* in this version; 0: no such kind */
void record_launch(const emu_launch_event *event);
void record_copy(const emu_copy_event *event);
void record_graph_run(const emu_graph_run_event *event);
void record_memory(const emu_memory_event *event);
void record_pool_event(const emu_pool_event *event);
void record_context_of(int device);
void record_module(int device, double seconds);
void record_api_call(const emu_api_event *event, uint64_t start, uint64_t end);
/* The records of a kind that are there from the start: devices, contexts. */
void record_existing(int kind);

/* ---- range.c ---- */

void range_launch(const emu_launch_event *event);
void range_ends(void);
bool range_enabled(int device);
bool range_started(int device);

/* ---- profiler.c ---- */

enum { PROFILED_DEVICES = 16 };

/* The bytes of a parameter structure up to a field: what structSize says at least. */
#define SIZE_TO(type, field) (offsetof(type, field) + sizeof(((type *)0)->field))
/* False, and said, if PARAMS is NULL or its structSize is too small. */
bool params_ok(const void *params, size_t needed, const char *function);
/* CUPTI_OK after cuptiProfilerInitialize; else it is said that FUNCTION comes before it. */
cupti_result profiler_initialized(const char *function);
/* FUNCTION needs a driver that is up: else that is said, and versions FROM to TO crash. */
void profiler_needs_driver(const char *function, uint32_t from, uint32_t to);
/* Launches on DEVICE are being profiled, by whichever interface. */
bool profiling_started(int device);
/* FUNCTION must not be called while a stream captures. */
void profiling_check_capture(const char *function);
/* Kernels must not be traced while launches are profiled: NVIDIA promises their records nothing.
 */
void profiling_check_tracing(void);

/* ---- profiler_session.c ---- */

void session_launch(const emu_launch_event *event);
void session_ends(void);
bool session_open(int device);
bool session_started(int device);

#endif
