/* SPDX-License-Identifier: Apache-2.0
 *
 * What the runtime's door shows the doors beside it: events for CUPTI's, and one table of functions
 * (emu_doors) through which the driver's, CUPTI's and NVML's reach the same devices, streams and
 * clock. Those doors are libraries of their own; they find the table by dlsym on the loaded
 * libcudart, so nothing here may change its layout without EMU_DOORS_VERSION.
 *
 * Events are told on the thread that causes them, with no lock of the door held (module_loaded:
 * under that of loading); an observer may call back into the door. There is one
 * observer a door, and it stays for the life of the process.
 *
 * Times are seconds on the door's virtual clock. Stream 0 is a device's default stream.
 */
#ifndef EMU_CUDART_OBSERVE_H
#define EMU_CUDART_OBSERVE_H

#include "emulator/emulator.h"

#define EMU_DOORS_VERSION 2

typedef enum emu_domain { EMU_DOMAIN_DRIVER = 1, EMU_DOMAIN_RUNTIME = 2 } emu_domain;

/* A call of the program's into the runtime or the driver. A launch through the runtime is told
 * twice, the driver's call inside the runtime's, with the same correlation; of the rest only what
 * an observer calls inside an event nests. */
typedef struct emu_api_event {
    emu_domain domain;
    const char *function;   /* "cudaLaunchKernel_ptsz": as exported; a constant */
    const char *symbol;     /* of a launch: the kernel's name, where it is known; else NULL */
    const void *parameters; /* the arguments, in the order of the call; NULL: not shown */
    uint32_t correlation;
    int device;
    bool exit;
    int result;     /* at exit */
    uint64_t *user; /* 8 bytes of the observer's, kept from entry to exit */
} emu_api_event;

/* The arguments of a call as observers get them: a pointer to a structure of the function's own
 * parameters, in their order, which lives as long as the block. EMU_TOLD(to, from, size). */
#define EMU_TOLD(...)                                                (&(const struct {EMU_TOLD_EACH(__VA_ARGS__)}){__VA_ARGS__})
#define EMU_TOLD_FIELD(name)                                         __typeof__(name) name;
#define EMU_TOLD_1(a)                                                EMU_TOLD_FIELD(a)
#define EMU_TOLD_2(a, ...)                                           EMU_TOLD_FIELD(a) EMU_TOLD_1(__VA_ARGS__)
#define EMU_TOLD_3(a, ...)                                           EMU_TOLD_FIELD(a) EMU_TOLD_2(__VA_ARGS__)
#define EMU_TOLD_4(a, ...)                                           EMU_TOLD_FIELD(a) EMU_TOLD_3(__VA_ARGS__)
#define EMU_TOLD_5(a, ...)                                           EMU_TOLD_FIELD(a) EMU_TOLD_4(__VA_ARGS__)
#define EMU_TOLD_6(a, ...)                                           EMU_TOLD_FIELD(a) EMU_TOLD_5(__VA_ARGS__)
#define EMU_TOLD_7(a, ...)                                           EMU_TOLD_FIELD(a) EMU_TOLD_6(__VA_ARGS__)
#define EMU_TOLD_8(a, ...)                                           EMU_TOLD_FIELD(a) EMU_TOLD_7(__VA_ARGS__)
#define EMU_TOLD_9(a, ...)                                           EMU_TOLD_FIELD(a) EMU_TOLD_8(__VA_ARGS__)
#define EMU_TOLD_PICK(_1, _2, _3, _4, _5, _6, _7, _8, _9, name, ...) name
#define EMU_TOLD_EACH(...)                                                                         \
    EMU_TOLD_PICK(__VA_ARGS__, EMU_TOLD_9, EMU_TOLD_8, EMU_TOLD_7, EMU_TOLD_6, EMU_TOLD_5,         \
                  EMU_TOLD_4, EMU_TOLD_3, EMU_TOLD_2, EMU_TOLD_1, )                                \
    (__VA_ARGS__)

/* A launch that has run; counts NULL: counting was off. */
typedef struct emu_launch_event {
    uint64_t id; /* in the counts file */
    uint32_t correlation;
    int device;
    uint64_t stream;
    const emu_launch *launch;
    const emu_kernel_info *info;
    const emu_counts *counts;
    double start_s, end_s;
    emu_status status;
    uint32_t graph; /* executable graph and node that it belongs to; 0: it was launched alone */
    uint64_t node;
} emu_launch_event;

typedef struct emu_copy_event {
    const char *kind;          /* as in the counts file; "memset": VALUE is its byte */
    bool from_known, to_known; /* to the devices; false: ordinary memory of the program */
    emu_memory_kind from, to;
    bool from_array, to_array;
    int from_device, to_device; /* -1: not known */
    int value;
    bool waits; /* the host waits for it */
    uint32_t correlation;
    int device;
    uint64_t stream, bytes;
    double start_s, end_s;
    uint32_t graph; /* as of a launch */
    uint64_t node;
} emu_copy_event;

typedef struct emu_memory_event {
    int device;
    emu_memory_kind kind;
    bool array;                          /* only copies, textures and surfaces reach it */
    bool pool, allocated;                /* from a stream-ordered pool; false: freed */
    uint64_t address, bytes, pool_bytes; /* of the pool: in use after this */
    const void *pool_handle;
    double time_s;
    uint32_t correlation;
} emu_memory_event;

/* A pool is made, is about to go, or is trimmed. */
typedef struct emu_pool_event {
    int device;
    int operation; /* 1 made, 2 goes, 3 trimmed to KEEP bytes */
    const void *pool_handle;
    uint64_t keep, release_threshold, pool_bytes;
    double time_s;
    uint32_t correlation;
} emu_pool_event;

typedef struct emu_context_event {
    bool created; /* false: about to go */
    int device;
    void *handle; /* its CUcontext */
    uint32_t uid;
} emu_context_event;

typedef struct emu_stream_event {
    bool created; /* false: about to go */
    int device;
    void *handle;
    uint64_t id;
} emu_stream_event;

/* What happens to graphs and their nodes. Of a copy (clones, executable graphs, child graphs) the
 * ORIGINAL is told too. */
typedef enum emu_graph_what {
    EMU_GRAPH_CREATED,
    EMU_GRAPH_CLONED,
    EMU_GRAPH_DESTROYED, /* about to be */
    EMU_NODE_CREATED,
    EMU_NODE_CLONED,
    EMU_NODE_DESTROYED, /* about to be */
    EMU_NODE_DEPENDS,   /* on DEPENDENCY, from now on */
    EMU_NODE_DEPENDS_NO_MORE,
    EMU_EXEC_CREATED,
    EMU_EXEC_DESTROYED /* about to be */
} emu_graph_what;

typedef struct emu_graph_event {
    emu_graph_what what;
    int device;
    void *graph, *original_graph, *node, *original_node, *dependency, *exec;
    int node_type; /* cudaGraphNodeType */
} emu_graph_event;

/* An executable graph that was launched has run. */
typedef struct emu_graph_run_event {
    uint32_t correlation, graph; /* the executable graph's id */
    int device;
    uint64_t stream;
    double start_s, end_s;
} emu_graph_run_event;

typedef struct emu_observer {
    void (*api)(const emu_api_event *event);
    void (*launch)(const emu_launch_event *event);
    void (*copy)(const emu_copy_event *event);
    void (*memory)(const emu_memory_event *event);
    void (*pool)(const emu_pool_event *event);
    void (*context)(const emu_context_event *event);
    void (*stream)(const emu_stream_event *event);
    void (*module_loaded)(int device, double seconds); /* the host's real time for it */
    void (*ends)(void); /* the process: after the program's exit handlers */
    void (*graph)(const emu_graph_event *event);
    void (*graph_run)(const emu_graph_run_event *event);
} emu_observer;

/* What the driver's linker makes, for cuModuleLoadData: this, then COUNT times a length of 8 bytes
 * and so many of PTX. */
#define EMU_LINKED_MAGIC 0x4b4c4d45u /* "EMLK" */
typedef struct emu_linked {
    uint32_t magic, zero;
    uint64_t size, count; /* size: of all */
} emu_linked;

/* A device's place in the table of a machine's. */
typedef struct emu_door_device {
    const emu_device_spec *spec;
    int index;               /* as the program counts; -1: it does not see this one */
    int physical;            /* as the machine counts */
    const char *pci_id;      /* "2330"; "" not known */
    double tdp_w;            /* 0 not known */
    double pcie_bytes_per_s; /* 0 not known */
    void *context;           /* handle of its primary context */
    bool active;             /* its primary context is there */
    bool open;               /* a context is there, whichever */
    uint64_t used_bytes;
    double busy_s; /* time of all kernels, virtual */
} emu_door_device;

typedef struct emu_doors {
    uint32_t version;
    int cudart; /* 12 or 13 */
    /* 0, or the runtime's error code; starts the door. */
    int (*start)(void);
    void (*list_devices)(void); /* makes the devices known without starting the door */
    bool (*started)(void);
    bool (*module_loaded)(void); /* ever, on any device */
    int (*device_count)(void);
    bool (*device)(int index, emu_door_device *out);
    /* The machine's devices, whether the program sees them or not. */
    int (*machine_count)(void);
    bool (*machine_device)(int physical, emu_door_device *out);
    /* Makes a device the thread's, without a context on it. 0, or the runtime's error. */
    int (*set_device)(int index);
    const struct emu_virtual *virtual_memory;
    /* Between processes; handles are of 64 bytes. 0, or the runtime's error code. */
    int (*ipc_export)(void *handle, void *memory);
    int (*ipc_import)(void **memory, const void *handle);
    int (*ipc_close)(void *memory);
    double (*now_s)(void);
    /* One line on stderr, and a note in the counts file. */
    void (*say)(const char *severity, const char *text);
    void (*observe)(const emu_observer *observer);
    /* A call through the driver's door: told as such, and the runtime's functions that serve it are
     * neither told nor leave an error. leave returns RESULT. */
    void (*enter)(const char *function, const char *symbol, const void *parameters);
    int (*leave)(int result);
    void (*tell_context)(const emu_context_event *event);
    /* Contexts that were told and are still there. -1, NULL: none. */
    int (*context_device)(const void *handle);
    void *(*device_context)(int device); /* the first of its contexts */
    int (*context_count)(void);
    /* Makes a device usable without making its primary context. 0, or the runtime's error. */
    int (*open_device)(int index);
    uint32_t (*correlation)(void); /* of the call that this thread is in; 0: of none */
    /* Modules of the driver: an image (PTX text, fat binary) of SIZE bytes (0: it ends where it
     * says). 0, or the runtime's error code. Kernels are cudaKernel_t. */
    int (*module_load)(const void *image, size_t size, void **module);
    int (*module_kernel)(void *module, const char *name, void **kernel);
    int (*module_global)(void *module, const char *name, uint64_t *address, uint64_t *size);
    int (*module_unload)(void *module);
    int (*module_kernels)(void *module, void **kernels, unsigned room, unsigned *count);
    void *(*kernel_module)(const void *kernel);
    /* Linking: the PTX of an image, in a new block; whether what was linked (emu_linked) is whole;
     * what was wrong with this thread's last image. */
    int (*image_text)(const void *image, size_t size, char **text, size_t *length);
    int (*image_check)(const void *image, size_t size);
    const char *(*image_complaint)(void);
    /* The allocation around an address, the program's registered memory included. */
    bool (*memory_range)(uint64_t address, uint64_t *base, uint64_t *size);
    const char *(*kernel_name)(const void *kernel);
    const void *(*kernel_host)(const void *kernel); /* by which the runtime's functions name it */
    void *(*symbol)(const char *name);              /* an exported function of the runtime's door */
    uint64_t (*stream_id)(const void *stream, int device);
    /* Of a graph ('g'), a node ('n') or an executable graph ('x'); 0: there is none. */
    uint64_t (*graph_id)(const void *handle, char what);
    int (*captures)(void); /* streams that record into a graph just now, their forks not counted */
    /* Fills with elements of 1, 2 or 4 bytes (cudaMemsetParams). 0, or the runtime's error. */
    int (*fill)(void *to, size_t pitch, unsigned value, unsigned element, size_t width,
                size_t height, void *stream);
} emu_doors;

/* Exported by each libcudart. */
__attribute__((visibility("default"))) const emu_doors *emu_doors_table(void);

#endif
