/* SPDX-License-Identifier: Apache-2.0
 *
 * Insides of graphs: what graph.c (structure), graph_node.c (what nodes do), graph_exec.c
 * (executable graphs) and capture.c (streams that record) share. What the rest of the door needs of
 * them is in door.h.
 *
 * A graph's objects are used by one thread at a time, as the real runtime demands; `handles.lock`
 * guards the table of live handles, door.lock the captures. An executable graph is a copy of its
 * graph, its nodes sorted so that each comes after those it depends on, equals in the order in
 * which they were added.
 */
#ifndef EMU_CUDART_GRAPH_H
#define EMU_CUDART_GRAPH_H

#include "emulator/cudart/abi_graph.h"
#include "emulator/cudart/door.h"

typedef struct door_graph door_graph;
typedef struct door_node door_node;
typedef struct door_exec door_exec;
typedef struct door_capture door_capture;
typedef struct door_user_object door_user_object;

/* A list of nodes that belong to somebody else. */
typedef struct node_list {
    door_node **at;
    size_t count, room;
} node_list;

typedef struct kernel_work {
    cudaKernelNodeParams params; /* its kernelParams point into values */
    bool cooperative;
    unsigned char *values; /* of the arguments, each aligned to 16 bytes */
    int priority;
} kernel_work;

typedef struct memory_work {
    struct graph_block *block; /* shared with the nodes' copies */
    cudaMemAllocNodeParams params;
} memory_work;

struct door_node {
    cudaGraphNodeType type;
    uint64_t id;
    door_graph *graph;
    const door_node *original; /* that this one was copied from; may be gone by now */
    door_device *device;
    node_list from; /* what it depends on */
    size_t place;   /* in its graph, or what a walk over it notes */
    double end_s;   /* of its last run */
    bool disabled;
    union {
        kernel_work kernel;
        cudaMemcpy3DParms copy;
        cudaMemsetParams fill;
        cudaHostNodeParams host;
        door_graph *child;
        cudaEvent_t event;
        memory_work memory; /* of both kinds */
    } of;
};

struct door_graph {
    uint32_t id;
    node_list nodes;
    uint64_t next_node;
    const door_graph *original;
    door_graph *parent; /* of a child graph */
    struct user_reference {
        door_user_object *object;
        unsigned count;
    } * objects;
    size_t object_count;
    struct door_exec *exec_of_memory; /* graphs that allocate have one executable at a time */
};

struct door_exec {
    door_graph *graph; /* its own, sorted copy */
    door_graph *from;  /* what it was made of; only compared, never followed */
    unsigned long long flags;
    pthread_mutex_t lock; /* launches of one executable graph come one after the other */
};

struct door_user_object {
    cudaHostFn_t destroy;
    void *data;
    unsigned references;
};

struct door_capture {
    door_capture *next;
    uint64_t id;
    door_graph *graph;
    bool own_graph; /* false: it was the program's (BeginCaptureToGraph) */
    cudaStreamCaptureMode mode;
    const door_thread *owner;
    door_stream *origin;
    node_list left; /* what streams did last that were destroyed since */
    atomic_bool invalid;
};

/* ---- graph.c ---- */

typedef enum handle_type {
    HANDLE_NONE,
    HANDLE_GRAPH,
    HANDLE_NODE,
    HANDLE_EXEC,
    HANDLE_USER_OBJECT
} handle_type;

/* False: no memory. */
bool handle_add(const void *handle, handle_type type);
void handle_remove(const void *handle);
bool handle_is(const void *handle, handle_type type);

bool list_add(node_list *list, door_node *node);
bool list_has(const node_list *list, const door_node *node);

door_graph *graph_new(void);
void graph_free(door_graph *graph);
/* A copy, or NULL: no memory. ORIGINAL may hold no nodes that cannot be copied. */
door_graph *graph_copy(const door_graph *original, bool for_exec);
/* A fresh node in GRAPH that depends on FROM; nothing is told of it yet. */
cudaError_t node_new(door_graph *graph, cudaGraphNodeType type, door_node *const *from,
                     size_t count, door_node **node);
void node_free(door_node *node);
/* Sorts GRAPH's nodes and those of its children; false: its edges form a circle, *WHERE is in it.
 */
bool graph_sort(door_graph *graph, door_node **where);
/* Whether a node of TYPE is in it or in a child. */
bool graph_has(const door_graph *graph, cudaGraphNodeType type);

void tell_graph(emu_graph_what what, const door_graph *graph, const door_graph *original);
void tell_node(emu_graph_what what, const door_node *node, const door_node *dependency);

/* The runtime's call NAME and, inside it, the driver's INNER with its ARGUMENTS. */
#define GRAPH_CALL(name, inner, arguments, call)                                                   \
    (door_api_enter(EMU_DOMAIN_RUNTIME, name, NULL, NULL), graph_inner_enter(inner, arguments),    \
     (cudaError_t)door_api_exit((int)graph_inner_exit((int)(call))))
void graph_inner_enter(const char *name, const void *arguments);
int graph_inner_exit(int result);

/* Exports a function of graphs that is told by its own name alone. */
#define GRAPH_EXPORT(name, call, ...)                                                              \
    DOOR_EXPORT(cudaError_t, name, __VA_ARGS__) {                                                  \
        cudaError_t ready_ = door_enter(NULL);                                                     \
        return door_return(ready_ ? ready_ : DOOR_CALL(__func__, call));                           \
    }

/* ---- graph_node.c ---- */

/* Deep copy of what a node does. False: no memory. */
bool node_copy_work(door_node *to, const door_node *from);
void node_free_work(door_node *node);
/* Sets what a kernel node does, after the launch's own checks. */
cudaError_t kernel_set(door_node *node, const cudaKernelNodeParams *params, bool cooperative);
cudaError_t copy_set(door_node *node, const cudaMemcpy3DParms *params);
cudaError_t fill_set(door_node *node, const cudaMemsetParams *params);
/* Runs one node, at its place on the virtual clock: LANE's ready_s, which is its end afterwards. */
cudaError_t node_run(door_node *node, door_stream *lane);
/* Sets a node's work from parameters of whatever type, which must be the node's. */
cudaError_t node_set(door_node *node, const cudaGraphNodeParams *params);

/* ---- graph_memory.c ---- */

cudaError_t memory_allocate_node(door_graph *graph, door_node *const *from, size_t count,
                                 cudaMemAllocNodeParams *params, door_node **node);
cudaError_t memory_free_node(door_graph *graph, door_node *const *from, size_t count, void *address,
                             door_node **node);
bool memory_copy_work(door_node *to, const door_node *from);
void memory_free_work(door_node *node);
cudaError_t memory_run(door_node *node, door_stream *lane);
/* What is still allocated from an earlier launch of GRAPH: freed if FREE, else an error. */
cudaError_t memory_before_launch(door_graph *graph, bool free);

/* ---- capture.c ---- */

/* A node for work that was asked of a capturing stream, after what the stream did before. */
cudaError_t capture_node(door_stream *stream, cudaGraphNodeType type, door_node **node);

/* ---- graph_exec.c ---- */

/* In a capture a launch becomes a child graph. */
cudaError_t exec_capture(door_exec *exec, door_stream *stream);

#endif
