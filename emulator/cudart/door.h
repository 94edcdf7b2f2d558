/* SPDX-License-Identifier: Apache-2.0
 *
 * Insides of the front door: the state of a process on emulated devices, shared by the files that
 * implement the runtime's functions.
 *
 * How it works. Everything asked of a stream is done at once, in the order of the calls, before the
 * call returns; what is asynchronous is only the virtual clock. It gives every piece of work a
 * start and an end: after the work before it in its stream, after what the default stream's rules
 * make it wait for, after the engine it needs (SMs, one copy engine for each direction) is free,
 * and not before the host asked for it. The host's own time passes on that clock only in calls that
 * wait. Events read that clock.
 *
 * Locks: `door.lock` guards the tables and the clock and is never held while a kernel or a callback
 * of the program runs; `door_device.run` is held during a launch. Order: run, then lock.
 *
 * Errors are those of the real runtime: a function returns its error and leaves it for
 * cudaGetLastError; a fault of a kernel is reported by the next calls on its device, all of them,
 * until cudaDeviceReset.
 */
#ifndef EMU_CUDART_DOOR_H
#define EMU_CUDART_DOOR_H

#include "emulator/counts/counts.h"
#include "emulator/cudart/abi.h"
#include "emulator/cudart/observe.h"
#include "emulator/device/profile.h"
#include "emulator/emulator.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

/* Defines an exported function, with the prototype that the compiler asks for. */
#define DOOR_EXPORT(type, name, ...)                                                               \
    __attribute__((visibility("default"))) type name(__VA_ARGS__);                                 \
    type name(__VA_ARGS__)

enum { DOOR_DEVICES = 16 };

/* Round figures, stated in the manual: what a copy and an event cost beside the bytes. */
#define DOOR_COPY_LATENCY_S 5.0e-6
#define DOOR_EVENT_S        1.0e-6

typedef struct door_device door_device;

typedef struct door_stream {
    uint64_t id; /* 0: a device's default stream */
    door_device *device;
    unsigned flags;
    int priority;
    bool legacy;
    double ready_s; /* when all its work is done */
    struct door_stream *next;
    /* While it records into a graph (capture.c): the nodes that come before its next one. */
    struct door_capture *capture;
    struct door_node **tips;
    size_t tip_count;
} door_stream;

typedef struct door_event {
    unsigned flags;
    bool recorded;
    door_device *device;
    double time_s;
    struct door_event *next;
    /* Last recorded in a stream that was recording: in which capture, and after which nodes. */
    uint64_t capture;
    struct door_node **tips;
    size_t tip_count;
} door_event;

typedef struct door_pool {
    door_device *device;
    uint64_t attribute[9];    /* by cudaMemPoolAttr */
    int access[DOOR_DEVICES]; /* that other devices were given */
    struct door_pool *next;
} door_pool;

struct door_device {
    int index;    /* as the program counts: those that it sees, in its order */
    int physical; /* as the machine counts: what UUIDs, PCI addresses and NVML go by */
    emu_profile profile;
    emu_device *_Atomic emu; /* NULL until first used */
    /* Held (again and again by one thread) while it is set up and its context is told of; others
     * that want to use it wait: to them a device without a context is none yet. */
    pthread_mutex_t opening;
    atomic_bool opened;
    pthread_mutex_t run;
    _Atomic cudaError_t sticky;
    door_stream legacy, per_thread;
    /* virtual clock: when each is free again */
    double compute_s, to_device_s, to_host_s;
    double legacy_s, blocking_s,
        all_s; /* ends of the default stream's, blocking streams', all work */
    size_t limit[DOOR_LIMITS];
    unsigned flags;
    int cache_config;
    door_pool default_pool, *pool;
    uint64_t peak_used;
    double busy_s; /* time of all kernels */
};

/* Memory that other devices must be able to reach: pinned and managed blocks. */
typedef struct door_shared {
    void *address;
    size_t size;
    int owner;
    bool registered; /* by cudaHostRegister: ordinary memory of the program */
} door_shared;

typedef struct door_state {
    pthread_mutex_t lock;
    bool listed, started, forked; /* listed: the devices are known */
    atomic_bool ending;           /* exit() was called: modules stay from here on */
    cudaError_t start_error;
    emu_options options;
    bool progress;
    door_device device[DOOR_DEVICES]; /* those that are hidden come last */
    int device_count, machine_count;  /* visible; all */
    emu_counts_file *file;            /* NULL: none asked for */
    double now_s;                     /* the host's place on the virtual clock */
    uint64_t next_stream, next_launch, next_kernel;
    door_stream *streams;
    door_event *events;
    door_pool *pools;
    door_shared *shared;
    size_t shared_count, shared_capacity;
    struct door_capture *captures; /* all that are going on */
    _Atomic int capture_count;
    uint64_t next_capture;
    _Atomic uint32_t next_graph;
} door_state;
extern door_state door;

typedef struct door_call { /* <<<grid, block, shared, stream>>> */
    dim3 grid, block;
    size_t shared;
    cudaStream_t stream;
} door_call;

/* A call that this thread is in, for the observer (observe.c). */
typedef struct door_api_call {
    emu_api_event event;
    uint64_t user;
    bool told;
} door_api_call;
enum { DOOR_API_DEPTH = 8 };

typedef struct door_thread {
    int device;
    cudaError_t last_error;
    door_call call[8];
    int calls;
    door_api_call api[DOOR_API_DEPTH];
    int api_depth;    /* may be over DOOR_API_DEPTH: what is deeper is not told */
    int telling;      /* inside the observer: how deep its calls begin; else 0 */
    bool injecting;   /* inside the injection library's start */
    int capture_mode; /* cudaStreamCaptureMode */
    /* Of the graph that this thread is running: the place on the clock of the node it is at, which
     * stands for a stream, and its ids. */
    door_stream *lane;
    uint32_t graph;
    uint64_t node;
} door_thread;
extern _Thread_local door_thread door_self;

/* ---- door.c: start, errors, messages ---- */

/* Starts the door if that has not happened. The current device goes to *device (may be NULL),
 * created and checked for a fault of an earlier kernel. */
cudaError_t door_enter(door_device **device);
/* The same, but creates no device and minds no fault: for queries. */
cudaError_t door_enter_query(void);
/* Reads which devices there are, and starts nothing: for NVML, which is no use of a device. */
void door_list_devices(void);
/* Makes sure that DEVICE's emulated device exists, and its primary context if PRIMARY. */
cudaError_t door_open_device(door_device *device, bool primary);
/* Leaves ERROR for cudaGetLastError and returns it. */
cudaError_t door_return(cudaError_t error);
/* One line on stderr, and a note in the counts file. */
void door_say(const char *severity, const char *format, ...) __attribute__((format(printf, 2, 3)));
cudaError_t door_error_of(emu_status status);
void door_drain_printf(door_device *device);
/* For a function that is exported but not there: says so, once for each name. */
cudaError_t door_not_supported(const char *function);

/* ---- observe.c: what the doors beside this one see ---- */

/* Around a call into the runtime or, inside it, the driver. exit returns RESULT. */
void door_api_enter(emu_domain domain, const char *function, const char *symbol,
                    const void *parameters);
int door_api_exit(int result);
/* The value of CALL, an expression of cudaError_t, told as FUNCTION; ARGUMENTS as observers get
 * them, NULL: they are not shown. */
#define DOOR_CALL_WITH(function, arguments, call)                                                  \
    (door_api_enter(EMU_DOMAIN_RUNTIME, function, NULL, arguments),                                \
     (cudaError_t)door_api_exit((int)(call)))
#define DOOR_CALL(function, call) DOOR_CALL_WITH(function, NULL, call)
/* The domain of the outermost call that this thread is in; 0: none. */
emu_domain door_api_domain(void);
uint32_t door_api_correlation(void);
/* NULL: nobody watches. */
const emu_observer *door_observer(void);
void door_tell_context(door_device *device, bool created);
/* Loads the library that CUDA_INJECTION64_PATH names, once a process, as the driver does inside
 * cuInit: what goes wrong with it is not said. */
void door_inject(void);

/* ---- stream.c: streams, events, the virtual clock ---- */

/* The stream behind a handle, for work on the current device; NULL: no such stream. */
door_stream *door_find_stream(cudaStream_t handle, door_device *current);
/* NULL means the per-thread default stream in functions compiled with that default. */
cudaStream_t door_per_thread(cudaStream_t handle);
/* Places work of DURATION on a stream's timeline, on ENGINE (may be NULL: needs none), and returns
 * its start. WAIT: the host waits for its end. Takes door.lock. */
double door_schedule(door_stream *stream, double *engine_s, double duration_s, bool wait);
void door_wait_device(door_device *device);
/* The host's place on the virtual clock, seconds. Takes door.lock. */
double door_now(void);

/* ---- attribute.c ---- */

/* The most bytes of an access policy window; 0: the chip has none. */
size_t door_max_window(const door_device *device);

/* ---- peer.c ---- */

/* Lets kernels on DEVICE reach the memory of PEER. */
cudaError_t door_allow_peer(door_device *device, door_device *peer);
/* No device reaches PEER, which is about to go, any more. */
void door_forget_peer(const door_device *peer);
/* The stream is busy until END_S. Takes door.lock. */
void door_occupy(door_stream *stream, double end_s);
door_event *door_find_event(cudaEvent_t handle);

/* ---- capture.c: streams that record into a graph ---- */

/* Before a call that may not be made while a stream is capturing (by this thread, or by any, as
 * their modes say): cudaErrorStreamCaptureUnsupported, and the captures are invalid from then on.
 */
cudaError_t door_unsafe(void);
/* Before work is put into STREAM: it may not be, if the stream's capture is invalid, or if STREAM
 * is the legacy default stream and one that it waits for is capturing. Success: where
 * stream->capture is set the work is to become a node. */
cudaError_t door_enqueue(door_stream *stream);
/* Before the host asks for a stream's progress, or waits for it (WHOLE DEVICE: for all of them). */
cudaError_t door_await(door_stream *stream);
cudaError_t door_await_device(const door_device *device);
void door_capture_spoil(struct door_capture *capture);
/* A stream, an event is about to go. */
void door_capture_leave(door_stream *stream);

struct cudaMemsetParams;
cudaError_t door_capture_copy(door_stream *stream, const cudaMemcpy3DParms *copy);
cudaError_t door_capture_fill(door_stream *stream, const struct cudaMemsetParams *fill);
cudaError_t door_capture_host(door_stream *stream, void (*function)(void *), void *data);
cudaError_t door_capture_event(door_stream *stream, door_event *event, bool external);
/* STREAM waits for EVENT, and one of them captures. */
cudaError_t door_capture_wait(door_stream *stream, door_event *event, bool external);
cudaError_t door_capture_allocate(door_stream *stream, door_pool *pool, size_t size,
                                  void **address);
cudaError_t door_capture_free(door_stream *stream, void *address);
int door_capture_count(void);

/* A launch, as a graph's node keeps it. */
typedef struct door_kernel_call {
    const void *host; /* by which the program named the kernel */
    dim3 grid, block;
    size_t shared;
    void **parameters;
    bool cooperative;
} door_kernel_call;
cudaError_t door_capture_kernel(door_stream *stream, const door_kernel_call *call);

/* ---- launch.c, copy.c: what a graph's nodes do ---- */

cudaError_t door_run_kernel(const door_kernel_call *call, door_stream *lane);
cudaError_t door_copy(const cudaMemcpy3DParms *copy, cudaStream_t stream);
/* The same, the host waiting for it (WAIT) or not. */
cudaError_t door_copy_3d(const cudaMemcpy3DParms *copy, cudaStream_t stream, bool wait);
cudaError_t door_fill(const struct cudaMemsetParams *fill, cudaStream_t stream);

/* ---- graph_memory.c ---- */

/* False: ADDRESS is no block of a graph's; else it is freed, as a graph may leave that to others.
 */
bool door_graph_free(void *address, cudaError_t *error);
/* DEVICE is reset: its graphs' blocks are gone. */
void door_graph_forget(const door_device *device);

/* ---- graph.c ---- */

/* Of a graph ('g'), a node ('n'), an executable graph ('x'); 0: it is none. */
uint64_t door_graph_id(const void *handle, char what);

/* ---- memory.c ---- */

void door_tell_pool_memory(const door_device *device, bool allocated, uint64_t address,
                           uint64_t size);

typedef struct door_place {
    door_device *device;
    emu_memory_kind kind;
    uint64_t base, size;
} door_place;
/* The allocation of any device around an address; false: ordinary host memory. */
bool door_find_memory(const void *address, door_place *place);
cudaError_t door_allocate(door_device *device, emu_memory_kind kind, const char *name, size_t size,
                          void **address);
cudaError_t door_release(void *address, bool host);
/* Lets a device that has just been created reach what is shared already. */
void door_share_all(door_device *device);
/* The pinned and managed blocks of a device that is about to go. */
void door_forget_blocks(const door_device *owner);

/* ---- ipc.c: memory of another process; handles are of DOOR_IPC_BYTES ---- */

enum { DOOR_IPC_BYTES = 64 };
int door_ipc_export(void *handle, void *memory);
int door_ipc_import(void **memory, const void *handle);
int door_ipc_close(void *memory);

/* ---- module.c: what the program registered ---- */

typedef struct door_module door_module;

typedef struct door_function {
    const void *host; /* the stub's address, by which the program names the kernel */
    door_module *module;
    const char *name;
    size_t shared_limit; /* cudaFuncAttributeMaxDynamicSharedMemorySize; 0: not raised */
    int carveout;
    struct door_kernel_state {
        emu_kernel *kernel;
        uint64_t id;    /* in the counts file */
        int ptx_target; /* 75, 80 ...: what its PTX was compiled for */
    } on[DOOR_DEVICES];
} door_function;

door_function *door_find_function(const void *host);
/* The kernel on a device, its module loaded there; says what is wrong if it cannot be had. */
cudaError_t door_load_function(door_function *function, door_device *device, emu_kernel **kernel);
/* Address and size of a registered variable on a device. */
cudaError_t door_find_symbol(const void *host, door_device *device, void **address, size_t *size);
/* A module of the driver's: text or fat binary. Its kernels are looked up on the current device. */
cudaError_t door_image_load(const void *image, size_t size, door_module **module);
cudaError_t door_image_kernel(door_module *module, const char *name, door_function **kernel);
cudaError_t door_image_global(door_module *module, const char *name, uint64_t *address,
                              uint64_t *size);
cudaError_t door_image_unload(door_module *module);
/* How many kernels it has, and the first ROOM of them. */
cudaError_t door_image_kernels(door_module *module, door_function **kernels, unsigned room,
                               unsigned *count);
/* The PTX of an image (text, fat binary) that the current device may run, in a new block. */
cudaError_t door_image_text(const void *image, size_t size, char **text, size_t *length);
/* Links an image on trial: whether all is there. */
cudaError_t door_image_check(const void *image, size_t size);
/* What was wrong with this thread's last image; "" nothing. */
const char *door_image_complaint(void);

/* Whether the current device can run it: what a launch would say. */
cudaError_t door_check_kernel(const door_kernel_call *call, const emu_kernel_info **info);

/* Whether any module was ever loaded. */
bool door_module_loaded(void);
/* Forgets what is loaded on a device (cudaDeviceReset). */
void door_unload(door_device *device);

#endif
