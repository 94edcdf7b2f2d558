/* SPDX-License-Identifier: Apache-2.0
 *
 * The structure of graphs: their handles, nodes and edges, copies, and what can be asked of them.
 * graph.h tells how the parts hang together.
 */
#include "emulator/cudart/graph.h"
#include <stdlib.h>
#include <string.h>

/* ---- Handles ----------------------------------------------------------------------------------
 * A hash table by address, open, so that a wrong handle is an error and not a crash. */

typedef struct handle_entry {
    const void *handle;
    handle_type type; /* HANDLE_NONE with a handle: was removed */
} handle_entry;

static struct {
    pthread_mutex_t lock;
    handle_entry *at;
    size_t used, room; /* used: the removed ones too; room: a power of 2 */
} handles = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Where HANDLE is, or would be put. */
static handle_entry *entry_of(const void *handle) {
    uint64_t hash = (uint64_t)(uintptr_t)handle * 0x9E3779B97F4A7C15u;
    size_t mask = handles.room - 1, i = (size_t)(hash >> 20) & mask;
    while (handles.at[i].handle && handles.at[i].handle != handle)
        i = (i + 1) & mask;
    return &handles.at[i];
}

static bool grow_handles(void) {
    enum { FIRST = 256 };
    size_t live = 0, before = handles.room;
    handle_entry *old = handles.at;
    for (size_t i = 0; i < before; i++)
        live += old[i].type != HANDLE_NONE;
    size_t room = before ? before : FIRST;
    while (live * 4 > room)
        room *= 2;
    handle_entry *fresh = calloc(room, sizeof *fresh);
    if (!fresh)
        return false;
    handles.at = fresh;
    handles.room = room;
    handles.used = live;
    for (size_t i = 0; i < before; i++)
        if (old[i].type != HANDLE_NONE)
            *entry_of(old[i].handle) = old[i];
    free(old);
    return true;
}

bool handle_add(const void *handle, handle_type type) {
    pthread_mutex_lock(&handles.lock);
    bool ok = handles.used * 2 < handles.room || grow_handles();
    if (ok) {
        handle_entry *e = entry_of(handle);
        handles.used += !e->handle;
        *e = (handle_entry){handle, type};
    }
    pthread_mutex_unlock(&handles.lock);
    return ok;
}

void handle_remove(const void *handle) {
    pthread_mutex_lock(&handles.lock);
    if (handles.room)
        entry_of(handle)->type = HANDLE_NONE;
    pthread_mutex_unlock(&handles.lock);
}

bool handle_is(const void *handle, handle_type type) {
    pthread_mutex_lock(&handles.lock);
    bool is = handle && handles.room && entry_of(handle)->handle == handle &&
              entry_of(handle)->type == type;
    pthread_mutex_unlock(&handles.lock);
    return is;
}

/* ---- Lists ------------------------------------------------------------------------------------
 */

bool list_add(node_list *list, door_node *node) {
    if (list->count == list->room) {
        size_t room = list->room ? 2 * list->room : 4;
        door_node **grown = realloc(list->at, room * sizeof *grown);
        if (!grown)
            return false;
        list->at = grown;
        list->room = room;
    }
    list->at[list->count++] = node;
    return true;
}

bool list_has(const node_list *list, const door_node *node) {
    for (size_t i = 0; i < list->count; i++)
        if (list->at[i] == node)
            return true;
    return false;
}

static bool list_remove(node_list *list, const door_node *node) {
    for (size_t i = 0; i < list->count; i++)
        if (list->at[i] == node) {
            memmove(&list->at[i], &list->at[i + 1], (--list->count - i) * sizeof *list->at);
            return true;
        }
    return false;
}

/* ---- Telling ----------------------------------------------------------------------------------
 */

static void tell(emu_graph_event *event) {
    const emu_observer *observer = door_observer();
    event->device = door_self.device;
    if (observer && observer->graph)
        observer->graph(event);
}

void tell_graph(emu_graph_what what, const door_graph *graph, const door_graph *original) {
    tell(&(emu_graph_event){.what = what,
                            .graph = (void *)(uintptr_t)graph,
                            .original_graph = (void *)(uintptr_t)original});
}

void tell_node(emu_graph_what what, const door_node *node, const door_node *dependency) {
    tell(&(emu_graph_event){.what = what,
                            .graph = node->graph,
                            .original_graph = (void *)(uintptr_t)node->graph->original,
                            .node = (void *)(uintptr_t)node,
                            .original_node = (void *)(uintptr_t)node->original,
                            .dependency = (void *)(uintptr_t)dependency,
                            .node_type = (int)node->type});
}

void graph_inner_enter(const char *name, const void *arguments) {
    if (door_api_domain() != EMU_DOMAIN_DRIVER)
        door_api_enter(EMU_DOMAIN_DRIVER, name, NULL, arguments);
}

int graph_inner_exit(int result) {
    return door_api_domain() != EMU_DOMAIN_DRIVER ? door_api_exit(result) : result;
}

uint64_t door_graph_id(const void *handle, char what) {
    if (what == 'g' && handle_is(handle, HANDLE_GRAPH))
        return ((const door_graph *)handle)->id;
    if (what == 'n' && handle_is(handle, HANDLE_NODE))
        return ((const door_node *)handle)->id;
    if (what == 'x' && handle_is(handle, HANDLE_EXEC))
        return ((const door_exec *)handle)->graph->id;
    return 0;
}

/* ---- Making and destroying --------------------------------------------------------------------
 */

static uint32_t fresh_id(void) {
    return ++door.next_graph;
}

door_graph *graph_new(void) {
    door_graph *g = calloc(1, sizeof *g);
    if (g && handle_add(g, HANDLE_GRAPH)) {
        g->id = fresh_id();
        return g;
    }
    free(g);
    return NULL;
}

cudaError_t node_new(door_graph *graph, cudaGraphNodeType type, door_node *const *from,
                     size_t count, door_node **node) {
    door_node *n = calloc(1, sizeof *n);
    if (!n)
        return cudaErrorMemoryAllocation;
    *n = (door_node){.type = type,
                     .graph = graph,
                     .id = (uint64_t)graph->id << 32 | ++graph->next_node,
                     .device = &door.device[door_self.device]};
    bool ok = true;
    for (size_t i = 0; ok && i < count; i++)
        ok = list_has(&n->from, from[i]) || list_add(&n->from, from[i]);
    ok = ok && list_add(&graph->nodes, n);
    if (ok && handle_add(n, HANDLE_NODE)) {
        *node = n;
        return cudaSuccess;
    }
    list_remove(&graph->nodes, n);
    free(n->from.at);
    free(n);
    return cudaErrorMemoryAllocation;
}

/* It is in its graph's list no more. */
static void free_node(door_node *node) {
    node_free_work(node);
    handle_remove(node);
    free(node->from.at);
    free(node);
}

void node_free(door_node *node) {
    node_list *nodes = &node->graph->nodes;
    list_remove(nodes, node);
    for (size_t i = 0; i < nodes->count; i++)
        list_remove(&nodes->at[i]->from, node);
    free_node(node);
}

static void release_object(door_user_object *object, unsigned count) {
    pthread_mutex_lock(&door.lock);
    bool last = object->references <= count;
    object->references -= last ? object->references : count;
    pthread_mutex_unlock(&door.lock);
    if (!last)
        return;
    handle_remove(object);
    if (object->destroy)
        object->destroy(object->data);
    free(object);
}

void graph_free(door_graph *graph) {
    if (!graph)
        return;
    for (size_t i = 0; i < graph->nodes.count; i++)
        free_node(graph->nodes.at[i]);
    for (size_t i = 0; i < graph->object_count; i++)
        release_object(graph->objects[i].object, graph->objects[i].count);
    handle_remove(graph);
    free(graph->objects);
    free(graph->nodes.at);
    free(graph);
}

static bool retain_object(door_graph *graph, door_user_object *object, unsigned count) {
    for (size_t i = 0; i < graph->object_count; i++)
        if (graph->objects[i].object == object) {
            graph->objects[i].count += count;
            return true;
        }
    struct user_reference *grown =
        realloc(graph->objects, (graph->object_count + 1) * sizeof *grown);
    if (!grown)
        return false;
    graph->objects = grown;
    graph->objects[graph->object_count++] = (struct user_reference){object, count};
    return true;
}

/* A copy holds its objects as well. */
static bool copy_objects(door_graph *to, const door_graph *from) {
    for (size_t i = 0; i < from->object_count; i++) {
        if (!retain_object(to, from->objects[i].object, from->objects[i].count))
            return false;
        pthread_mutex_lock(&door.lock);
        from->objects[i].object->references += from->objects[i].count;
        pthread_mutex_unlock(&door.lock);
    }
    return true;
}

static bool copy_node(door_graph *to, door_node *original) {
    door_node *n;
    if (node_new(to, original->type, NULL, 0, &n))
        return false;
    n->original = original;
    n->device = original->device;
    n->disabled = original->disabled;
    return node_copy_work(n, original);
}

/* The edges may lead forward, so that all nodes are made before any edge. */
static bool copy_nodes(door_graph *to, const door_graph *from) {
    for (size_t i = 0; i < from->nodes.count; i++)
        from->nodes.at[i]->place = i;
    for (size_t i = 0; i < from->nodes.count; i++)
        if (!copy_node(to, from->nodes.at[i]))
            return false;
    for (size_t i = 0; i < from->nodes.count; i++)
        for (size_t k = 0; k < from->nodes.at[i]->from.count; k++)
            if (!list_add(&to->nodes.at[i]->from,
                          to->nodes.at[from->nodes.at[i]->from.at[k]->place]))
                return false;
    return true;
}

door_graph *graph_copy(const door_graph *original, bool for_exec) {
    door_graph *g = graph_new();
    if (!g)
        return NULL;
    g->original = original;
    if (!copy_nodes(g, original) || !copy_objects(g, original)) {
        graph_free(g);
        return NULL;
    }
    if (!for_exec)
        tell_graph(EMU_GRAPH_CLONED, g, original);
    for (size_t i = 0; i < g->nodes.count; i++)
        tell_node(EMU_NODE_CLONED, g->nodes.at[i], NULL);
    return g;
}

/* ---- Order ------------------------------------------------------------------------------------
 */

enum { NOT_SEEN, OPEN, PLACED };

/* NODE after all that it depends on. NODE's walk is kept in a list of its own, since chains may be
 * longer than the stack of a thread is deep. */
static bool place_after(door_node *node, node_list *sorted, node_list *open, door_node **where) {
    open->count = 0;
    if (node->place == PLACED)
        return true;
    for (door_node *n = node; n;) {
        door_node *next = NULL;
        if (n->place == NOT_SEEN && !list_add(open, n))
            return false;
        n->place = OPEN;
        for (size_t i = 0; i < n->from.count && !next; i++)
            if (n->from.at[i]->place != PLACED)
                next = n->from.at[i];
        if (next && next->place == OPEN) {
            *where = next;
            return false;
        }
        if (!next) {
            n->place = PLACED;
            if (!list_add(sorted, n))
                return false;
            open->count--;
            next = open->count ? open->at[open->count - 1] : NULL;
        }
        n = next;
    }
    return true;
}

bool graph_sort(door_graph *graph, door_node **where) {
    node_list sorted = {0}, open = {0};
    bool ok = true;
    for (size_t i = 0; i < graph->nodes.count; i++)
        graph->nodes.at[i]->place = NOT_SEEN;
    for (size_t i = 0; ok && i < graph->nodes.count; i++)
        ok = place_after(graph->nodes.at[i], &sorted, &open, where);
    for (size_t i = 0; ok && i < graph->nodes.count; i++)
        if (sorted.at[i]->type == cudaGraphNodeTypeGraph)
            ok = graph_sort(sorted.at[i]->of.child, where);
    free(open.at);
    if (!ok) {
        free(sorted.at);
        return false;
    }
    if (graph->nodes.count) {
        free(graph->nodes.at);
        graph->nodes = sorted;
    }
    return true;
}

bool graph_has(const door_graph *graph, cudaGraphNodeType type) {
    for (size_t i = 0; i < graph->nodes.count; i++) {
        const door_node *n = graph->nodes.at[i];
        if (n->type == type || (n->type == cudaGraphNodeTypeGraph && graph_has(n->of.child, type)))
            return true;
    }
    return false;
}

/* ---- Functions of graphs ----------------------------------------------------------------------
 */

static cudaError_t create(cudaGraph_t *graph, unsigned flags) {
    if (!graph || flags)
        return cudaErrorInvalidValue;
    if (!(*graph = graph_new()))
        return cudaErrorMemoryAllocation;
    tell_graph(EMU_GRAPH_CREATED, *graph, NULL);
    return cudaSuccess;
}
GRAPH_EXPORT(cudaGraphCreate, create(graph, flags), cudaGraph_t *graph, unsigned flags)

static cudaError_t destroy(cudaGraph_t graph) {
    if (!handle_is(graph, HANDLE_GRAPH) || graph->parent)
        return cudaErrorInvalidValue;
    tell_graph(EMU_GRAPH_DESTROYED, graph, NULL);
    graph_free(graph);
    return cudaSuccess;
}
GRAPH_EXPORT(cudaGraphDestroy, destroy(graph), cudaGraph_t graph)

static bool allocates(const door_graph *graph) {
    return graph_has(graph, cudaGraphNodeTypeMemAlloc) ||
           graph_has(graph, cudaGraphNodeTypeMemFree);
}

static cudaError_t make_clone(cudaGraph_t *copy, cudaGraph_t original) {
    if (!copy || !handle_is(original, HANDLE_GRAPH))
        return cudaErrorInvalidValue;
    if (allocates(original))
        return cudaErrorNotSupported;
    *copy = graph_copy(original, false);
    return *copy ? cudaSuccess : cudaErrorMemoryAllocation;
}
GRAPH_EXPORT(cudaGraphClone, make_clone(copy, original), cudaGraph_t *copy, cudaGraph_t original)

/* A node of an ORIGINAL may have been copied more than once: the one in GRAPH counts. */
static cudaError_t find_in_clone(cudaGraphNode_t *node, cudaGraphNode_t original,
                                 cudaGraph_t graph) {
    if (!node || !handle_is(original, HANDLE_NODE) || !handle_is(graph, HANDLE_GRAPH))
        return cudaErrorInvalidValue;
    for (size_t i = 0; i < graph->nodes.count; i++)
        if (graph->nodes.at[i]->original == original) {
            *node = graph->nodes.at[i];
            return cudaSuccess;
        }
    return cudaErrorInvalidValue;
}
GRAPH_EXPORT(cudaGraphNodeFindInClone, find_in_clone(node, original, graph), cudaGraphNode_t *node,
             cudaGraphNode_t original, cudaGraph_t graph)

static cudaError_t get_type(cudaGraphNode_t node, cudaGraphNodeType *type) {
    if (!type || !handle_is(node, HANDLE_NODE))
        return cudaErrorInvalidValue;
    *type = node->type;
    return cudaSuccess;
}
GRAPH_EXPORT(cudaGraphNodeGetType, get_type(node, type), cudaGraphNode_t node,
             cudaGraphNodeType *type)

static cudaError_t destroy_node(cudaGraphNode_t node) {
    if (!handle_is(node, HANDLE_NODE))
        return cudaErrorInvalidValue;
    if (node->type == cudaGraphNodeTypeMemAlloc || node->type == cudaGraphNodeTypeMemFree)
        return cudaErrorNotSupported; /* as the real one: such nodes stay */
    tell_node(EMU_NODE_DESTROYED, node, NULL);
    node_free(node);
    return cudaSuccess;
}
GRAPH_EXPORT(cudaGraphDestroyNode, destroy_node(node), cudaGraphNode_t node)

/* ---- Lists of nodes, of edges -----------------------------------------------------------------
 */

/* FOUND goes to NODES, of which there is room for *COUNT; what is left is NULL, as documented.
 * NODES NULL: only how many. */
static cudaError_t give_list(const node_list *found, cudaGraphNode_t *nodes, size_t *count) {
    for (size_t i = 0; nodes && i < *count; i++)
        nodes[i] = i < found->count ? found->at[i] : NULL;
    if (!nodes || *count > found->count)
        *count = found->count;
    return cudaSuccess;
}

static cudaError_t get_nodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count) {
    if (!count || !handle_is(graph, HANDLE_GRAPH))
        return cudaErrorInvalidValue;
    return give_list(&graph->nodes, nodes, count);
}
GRAPH_EXPORT(cudaGraphGetNodes, get_nodes(graph, nodes, count), cudaGraph_t graph,
             cudaGraphNode_t *nodes, size_t *count)

/* Those of GRAPH that depend on NODE; NULL: on nothing. False: no memory. */
static bool find_after(const door_graph *graph, const door_node *node, node_list *found) {
    for (size_t i = 0; i < graph->nodes.count; i++) {
        door_node *n = graph->nodes.at[i];
        if ((node ? list_has(&n->from, node) : !n->from.count) && !list_add(found, n))
            return false;
    }
    return true;
}

static cudaError_t get_after(const door_graph *graph, const door_node *node, cudaGraphNode_t *nodes,
                             size_t *count) {
    node_list found = {0};
    cudaError_t error = find_after(graph, node, &found) ? give_list(&found, nodes, count)
                                                        : cudaErrorMemoryAllocation;
    free(found.at);
    return error;
}

static cudaError_t get_roots(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count) {
    if (!count || !handle_is(graph, HANDLE_GRAPH))
        return cudaErrorInvalidValue;
    return get_after(graph, NULL, nodes, count);
}
GRAPH_EXPORT(cudaGraphGetRootNodes, get_roots(graph, nodes, count), cudaGraph_t graph,
             cudaGraphNode_t *nodes, size_t *count)

/* All edges here are plain: DATA, where it is asked for, is zeros. */
static void plain_data(cudaGraphEdgeData *data, size_t count) {
    if (data)
        memset(data, 0, count * sizeof *data);
}

static bool data_is_plain(const cudaGraphEdgeData *data, size_t count) {
    static const cudaGraphEdgeData plain;
    for (size_t i = 0; data && i < count; i++)
        if (memcmp(&data[i], &plain, sizeof plain) != 0)
            return false;
    return true;
}

static cudaError_t get_dependencies(cudaGraphNode_t node, cudaGraphNode_t *nodes,
                                    cudaGraphEdgeData *data, size_t *count) {
    if (!count || !handle_is(node, HANDLE_NODE) || (data && !nodes))
        return cudaErrorInvalidValue;
    plain_data(data, *count);
    return give_list(&node->from, nodes, count);
}

static cudaError_t get_dependents(cudaGraphNode_t node, cudaGraphNode_t *nodes,
                                  cudaGraphEdgeData *data, size_t *count) {
    if (!count || !handle_is(node, HANDLE_NODE) || (data && !nodes))
        return cudaErrorInvalidValue;
    plain_data(data, *count);
    return get_after(node->graph, node, nodes, count);
}

static cudaError_t get_edges(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to,
                             cudaGraphEdgeData *data, size_t *count) {
    size_t n = 0;
    if (!count || !handle_is(graph, HANDLE_GRAPH) || !from != !to || (data && !from))
        return cudaErrorInvalidValue;
    for (size_t i = 0; i < graph->nodes.count; i++) {
        door_node *node = graph->nodes.at[i];
        for (size_t k = 0; k < node->from.count; k++, n++)
            if (from && n < *count) {
                from[n] = node->from.at[k];
                to[n] = node;
            }
    }
    if (from)
        plain_data(data, *count);
    for (size_t i = n; from && i < *count; i++)
        from[i] = to[i] = NULL;
    if (!from || *count > n)
        *count = n;
    return cudaSuccess;
}

/* Edges between a graph's nodes, all or none. */
static cudaError_t check_edges(cudaGraph_t graph, const cudaGraphNode_t *from,
                               const cudaGraphNode_t *to, const cudaGraphEdgeData *data,
                               size_t count, bool there) {
    if (!handle_is(graph, HANDLE_GRAPH) || (count && (!from || !to)))
        return cudaErrorInvalidValue;
    if (!data_is_plain(data, count))
        return door_not_supported("a graph's edge with data (programmatic dependent launch)");
    for (size_t i = 0; i < count; i++)
        if (!handle_is(from[i], HANDLE_NODE) || !handle_is(to[i], HANDLE_NODE) ||
            from[i]->graph != graph || to[i]->graph != graph || from[i] == to[i] ||
            list_has(&to[i]->from, from[i]) != there)
            return cudaErrorInvalidValue;
    return cudaSuccess;
}

static cudaError_t add_dependencies(cudaGraph_t graph, const cudaGraphNode_t *from,
                                    const cudaGraphNode_t *to, const cudaGraphEdgeData *data,
                                    size_t count) {
    cudaError_t error = check_edges(graph, from, to, data, count, false);
    for (size_t i = 0; !error && i < count; i++) {
        if (!list_add(&to[i]->from, from[i]))
            error = cudaErrorMemoryAllocation;
        else
            tell_node(EMU_NODE_DEPENDS, to[i], from[i]);
    }
    return error;
}

static cudaError_t remove_dependencies(cudaGraph_t graph, const cudaGraphNode_t *from,
                                       const cudaGraphNode_t *to, const cudaGraphEdgeData *data,
                                       size_t count) {
    cudaError_t error = check_edges(graph, from, to, data, count, true);
    for (size_t i = 0; !error && i < count; i++)
        if (list_remove(&to[i]->from, from[i]))
            tell_node(EMU_NODE_DEPENDS_NO_MORE, to[i], from[i]);
    return error;
}

/* CUDA 13 gave the names of these functions the arguments of their second versions. */
#define EDGES(name)                                                                                \
    GRAPH_EXPORT(name, get_edges(graph, from, to, data, count), cudaGraph_t graph,                 \
                 cudaGraphNode_t *from, cudaGraphNode_t *to, cudaGraphEdgeData *data,              \
                 size_t *count)
#define NEIGHBOURS(name, of)                                                                       \
    GRAPH_EXPORT(name, of(node, nodes, data, count), cudaGraphNode_t node, cudaGraphNode_t *nodes, \
                 cudaGraphEdgeData *data, size_t *count)
#define CHANGE(name, how)                                                                          \
    GRAPH_EXPORT(name, how(graph, from, to, data, count), cudaGraph_t graph,                       \
                 const cudaGraphNode_t *from, const cudaGraphNode_t *to,                           \
                 const cudaGraphEdgeData *data, size_t count)
#if DOOR_CUDART >= 13
EDGES(cudaGraphGetEdges)
NEIGHBOURS(cudaGraphNodeGetDependencies, get_dependencies)
NEIGHBOURS(cudaGraphNodeGetDependentNodes, get_dependents)
CHANGE(cudaGraphAddDependencies, add_dependencies)
CHANGE(cudaGraphRemoveDependencies, remove_dependencies)
#else
EDGES(cudaGraphGetEdges_v2)
NEIGHBOURS(cudaGraphNodeGetDependencies_v2, get_dependencies)
NEIGHBOURS(cudaGraphNodeGetDependentNodes_v2, get_dependents)
CHANGE(cudaGraphAddDependencies_v2, add_dependencies)
CHANGE(cudaGraphRemoveDependencies_v2, remove_dependencies)
GRAPH_EXPORT(cudaGraphGetEdges, get_edges(graph, from, to, NULL, count), cudaGraph_t graph,
             cudaGraphNode_t *from, cudaGraphNode_t *to, size_t *count)
GRAPH_EXPORT(cudaGraphNodeGetDependencies, get_dependencies(node, nodes, NULL, count),
             cudaGraphNode_t node, cudaGraphNode_t *nodes, size_t *count)
GRAPH_EXPORT(cudaGraphNodeGetDependentNodes, get_dependents(node, nodes, NULL, count),
             cudaGraphNode_t node, cudaGraphNode_t *nodes, size_t *count)
GRAPH_EXPORT(cudaGraphAddDependencies, add_dependencies(graph, from, to, NULL, count),
             cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
             size_t count)
GRAPH_EXPORT(cudaGraphRemoveDependencies, remove_dependencies(graph, from, to, NULL, count),
             cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
             size_t count)
#endif

/* ---- Objects that live as long as graphs ------------------------------------------------------
 */

static cudaError_t object_create(cudaUserObject_t *object, void *data, cudaHostFn_t destroy_it,
                                 unsigned references, unsigned flags) {
    enum { NO_DESTRUCTOR_SYNC = 1 };
    if (!object || !destroy_it || !references || flags != NO_DESTRUCTOR_SYNC)
        return cudaErrorInvalidValue;
    door_user_object *o = malloc(sizeof *o);
    if (!o)
        return cudaErrorMemoryAllocation;
    *o = (door_user_object){destroy_it, data, references};
    if (!handle_add(o, HANDLE_USER_OBJECT)) {
        free(o);
        return cudaErrorMemoryAllocation;
    }
    *object = o;
    return cudaSuccess;
}
GRAPH_EXPORT(cudaUserObjectCreate, object_create(object, data, destroy_it, references, flags),
             cudaUserObject_t *object, void *data, cudaHostFn_t destroy_it, unsigned references,
             unsigned flags)

static cudaError_t object_retain(cudaUserObject_t object, unsigned count) {
    if (!handle_is(object, HANDLE_USER_OBJECT) || !count)
        return cudaErrorInvalidValue;
    pthread_mutex_lock(&door.lock);
    object->references += count;
    pthread_mutex_unlock(&door.lock);
    return cudaSuccess;
}
GRAPH_EXPORT(cudaUserObjectRetain, object_retain(object, count), cudaUserObject_t object,
             unsigned count)

static cudaError_t object_release(cudaUserObject_t object, unsigned count) {
    if (!handle_is(object, HANDLE_USER_OBJECT) || !count)
        return cudaErrorInvalidValue;
    release_object(object, count);
    return cudaSuccess;
}
GRAPH_EXPORT(cudaUserObjectRelease, object_release(object, count), cudaUserObject_t object,
             unsigned count)

static cudaError_t graph_retain(cudaGraph_t graph, cudaUserObject_t object, unsigned count,
                                unsigned flags) {
    if (!handle_is(graph, HANDLE_GRAPH) || !handle_is(object, HANDLE_USER_OBJECT) || !count ||
        flags & ~(unsigned)cudaGraphUserObjectMove)
        return cudaErrorInvalidValue;
    if (!retain_object(graph, object, count))
        return cudaErrorMemoryAllocation;
    return flags ? cudaSuccess : object_retain(object, count);
}
GRAPH_EXPORT(cudaGraphRetainUserObject, graph_retain(graph, object, count, flags),
             cudaGraph_t graph, cudaUserObject_t object, unsigned count, unsigned flags)

static cudaError_t graph_release(cudaGraph_t graph, cudaUserObject_t object, unsigned count) {
    if (!handle_is(graph, HANDLE_GRAPH) || !handle_is(object, HANDLE_USER_OBJECT) || !count)
        return cudaErrorInvalidValue;
    for (size_t i = 0; i < graph->object_count; i++) {
        struct user_reference *r = &graph->objects[i];
        if (r->object != object || r->count < count)
            continue;
        r->count -= count;
        if (!r->count)
            *r = graph->objects[--graph->object_count];
        release_object(object, count);
        return cudaSuccess;
    }
    return cudaErrorInvalidValue;
}
GRAPH_EXPORT(cudaGraphReleaseUserObject, graph_release(graph, object, count), cudaGraph_t graph,
             cudaUserObject_t object, unsigned count)

/* ---- Not there --------------------------------------------------------------------------------
 */

DOOR_EXPORT(cudaError_t, cudaGraphConditionalHandleCreate, void *handle, cudaGraph_t graph,
            unsigned value, unsigned flags) {
    (void)handle, (void)graph, (void)value, (void)flags;
    return door_not_supported("a graph's conditional node");
}
