/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels of CUDA graphs: see graph.h.
 */
#include "tracer/graph.h"
#include "tracer/bind.h"
#include "tracer/count.h"
#include "tracer/names.h"
#include "tracer/select.h"
#include "tracer/writer.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { NODE_KERNEL = 0, NODE_GRAPH = 4 }; /* of CUgraphNodeType */
enum { BUCKETS = 256, NODES_MOST = 1 << 20, DEPTH_MOST = 64 };

const uint32_t graph_cbids[] = {CBID_GRAPH_INSTANTIATE,
                                CBID_GRAPH_INSTANTIATE_2,
                                CBID_GRAPH_INSTANTIATE_FLAGS,
                                CBID_GRAPH_INSTANTIATE_PARAMS,
                                CBID_GRAPH_INSTANTIATE_PARAMS_PTSZ,
                                CBID_GRAPH_UPDATE,
                                CBID_GRAPH_UPDATE_2,
                                CBID_GRAPH_SET_KERNEL,
                                CBID_GRAPH_SET_KERNEL_2,
                                CBID_GRAPH_SET_NODE,
                                CBID_GRAPH_SET_CHILD,
                                CBID_GRAPH_SET_ENABLED,
                                CBID_GRAPH_EXEC_DESTROY};
const size_t graph_cbid_count = sizeof graph_cbids / sizeof *graph_cbids;
const uint32_t graph_resource_cbids[] = {RESOURCE_NODE_CLONED};
const size_t graph_resource_cbid_count = 1;

/* The driver's functions; NULL where it has none. */
static struct {
    int (*nodes)(void *graph, void **nodes, size_t *count);
    int (*type)(void *node, int *type);
    int (*before)(void *node, void **nodes, size_t *count);
    int (*before_2)(void *node, void **nodes, graph_edge *edges, size_t *count);
    int (*kernel)(void *node, graph_kernel_params *params);
    int (*child)(void *node, void **graph);
    int (*function_name)(const char **name, void *function);
    int (*kernel_name)(const char **name, void *kernel);
    int (*capturing)(void *stream, int *status);
    int (*capturing_ptsz)(void *stream, int *status);
} driver;

static const cupti_api *api;
static bool counting;

typedef struct exec_entry {
    struct exec_entry *next;
    const void *exec;
    graph_kernels *kernels; /* NULL: it was destroyed; the place stays for its key */
    launch_key key;
} exec_entry;

static struct {
    pthread_mutex_t lock;
    exec_entry *buckets[BUCKETS];
} table = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Nodes that this thread's call has copied so far, while it makes a graph executable. By
 * pthread_getspecific, not _Thread_local, as in nvtx.c. */
typedef struct clone_list {
    struct clone {
        const void *original;
        uint64_t id;
    } * at;
    size_t count, room, next;
    bool open;
} clone_list;
static pthread_key_t clones_key;
static pthread_once_t clones_once = PTHREAD_ONCE_INIT;
static bool clones_kept; /* there is a key */

static void free_clones(void *list) {
    free(((clone_list *)list)->at);
    free(list);
}

static void make_clones_key(void) {
    clones_kept = pthread_key_create(&clones_key, free_clones) == 0;
}

/* NULL: no memory, or (without MAKE) this thread has made no graph executable yet. */
static clone_list *clones_of_thread(bool make) {
    pthread_once(&clones_once, make_clones_key);
    if (!clones_kept)
        return NULL;
    clone_list *list = pthread_getspecific(clones_key);
    if (!list && make && (list = calloc(1, sizeof *list)) &&
        pthread_setspecific(clones_key, list)) {
        free(list);
        list = NULL;
    }
    return list;
}

void graph_start(const cupti_api *cupti, bool count) {
    api = cupti;
    counting = count;
    const struct {
        const char *name;
        void **slot;
    } functions[] = {{"cuGraphGetNodes", (void **)&driver.nodes},
                     {"cuGraphNodeGetType", (void **)&driver.type},
                     {"cuGraphNodeGetDependencies", (void **)&driver.before},
                     {"cuGraphNodeGetDependencies_v2", (void **)&driver.before_2},
                     {"cuGraphKernelNodeGetParams_v2", (void **)&driver.kernel},
                     {"cuGraphChildGraphNodeGetGraph", (void **)&driver.child},
                     {"cuFuncGetName", (void **)&driver.function_name},
                     {"cuKernelGetName", (void **)&driver.kernel_name},
                     {"cuStreamIsCapturing", (void **)&driver.capturing},
                     {"cuStreamIsCapturing_ptsz", (void **)&driver.capturing_ptsz}};
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        *functions[i].slot = bind_driver_symbol(functions[i].name);
}

bool graph_is_capturing(void *stream, bool per_thread) {
    int (*ask)(void *, int *) = per_thread ? driver.capturing_ptsz : driver.capturing;
    int status = 0;
    if (!ask) /* all drivers since CUDA 10 can tell */
        return true;
    return ask(stream, &status) == 0 && status != 0;
}

/* ---- Looking at a graph ---------------------------------------------------------------------- */

/* What is found on the way. */
typedef struct walk {
    graph_kernels *found;
    size_t room;
    uint32_t context, device;
    bool whole;     /* everything could be read */
    bool may_swap;  /* two different kernels may change places */
    uint32_t depth; /* of graphs in graphs */
} walk;

/* A graph's nodes in the order in which they run; lists of numbers are places in nodes. */
typedef struct graph_shape {
    void **nodes;
    size_t count;
    size_t *before, *first; /* what node i depends on: before[first[i]] to before[first[i + 1]] */
    size_t *order, *place;  /* order[place[i]] is i */
    int *types;
} graph_shape;

static void free_shape(graph_shape *g) {
    free(g->nodes);
    free(g->before);
    free(g->first);
    free(g->order);
    free(g->place);
    free(g->types);
}

static int by_handle(const void *a, const void *b) {
    const uintptr_t p = *(const uintptr_t *)a, q = *(const uintptr_t *)b;
    return (p > q) - (p < q);
}

typedef struct handle_place {
    uintptr_t handle;
    size_t place;
} handle_place;

static int dependencies(void *node, void **nodes, graph_edge *edges, size_t *count) {
    return driver.before_2 ? driver.before_2(node, nodes, nodes ? edges : NULL, count)
                           : driver.before(node, nodes, count);
}

/* Reads what node I depends on, behind *USED places of before. */
static bool read_before(graph_shape *g, const handle_place *sorted, size_t i, size_t *used,
                        size_t *room) {
    size_t n = 0;
    if (dependencies(g->nodes[i], NULL, NULL, &n) || n > g->count)
        return false;
    if (*used + n > *room) {
        size_t more = 2 * (*used + n) + 64;
        size_t *grown = realloc(g->before, more * sizeof *grown);
        if (!grown)
            return false;
        g->before = grown;
        *room = more;
    }
    void **found = malloc((n + 1) * sizeof *found);
    graph_edge *edges = calloc(n + 1, sizeof *edges);
    bool ok = found && edges && (!n || dependencies(g->nodes[i], found, edges, &n) == 0);
    for (size_t k = 0; ok && k < n; k++) {
        const handle_place key = {(uintptr_t)found[k], 0};
        const handle_place *at = bsearch(&key, sorted, g->count, sizeof *sorted, by_handle);
        ok = at != NULL;
        if (ok)
            g->before[(*used)++] = at->place;
    }
    free(found);
    free(edges);
    return ok;
}

static bool read_edges(graph_shape *g) {
    size_t used = 0, room = 0;
    handle_place *sorted = malloc((g->count + 1) * sizeof *sorted);
    bool ok = sorted != NULL;
    for (size_t i = 0; ok && i < g->count; i++)
        sorted[i] = (handle_place){(uintptr_t)g->nodes[i], i};
    if (ok)
        qsort(sorted, g->count, sizeof *sorted, by_handle);
    for (size_t i = 0; ok && i < g->count; i++) {
        g->first[i] = used;
        ok = read_before(g, sorted, i, &used, &room);
    }
    g->first[g->count] = used;
    free(sorted);
    return ok;
}

/* In order of creation, each after what it depends on. The walk has a list of its own, since chains
 * may be longer than a stack is deep. */
static bool put_in_order(graph_shape *g) {
    enum { UNSEEN = -1 };
    size_t placed = 0, depth = 0, *stack = malloc((g->count + 1) * sizeof *stack);
    size_t *next = malloc((g->count + 1) * sizeof *next); /* dependency to look at */
    bool ok = stack && next;
    for (size_t i = 0; ok && i < g->count; i++) {
        next[i] = g->first[i];
        g->place[i] = (size_t)UNSEEN;
    }
    for (size_t i = 0; ok && i < g->count; i++) {
        if (g->place[i] != (size_t)UNSEEN)
            continue;
        stack[depth++] = i;
        while (ok && depth) {
            size_t n = stack[depth - 1];
            while (next[n] < g->first[n + 1] && g->place[g->before[next[n]]] != (size_t)UNSEEN)
                next[n]++;
            if (next[n] < g->first[n + 1]) {
                ok = depth < g->count; /* else it runs in a circle */
                stack[depth] = g->before[next[n]];
                depth += ok;
                continue;
            }
            depth--;
            if (g->place[n] == (size_t)UNSEEN) {
                g->place[n] = placed;
                g->order[placed++] = n;
            }
        }
    }
    free(stack);
    free(next);
    return ok;
}

static bool read_shape(void *graph, graph_shape *g) {
    *g = (graph_shape){0};
    if (driver.nodes(graph, NULL, &g->count) || g->count > NODES_MOST)
        return false;
    size_t n = g->count + 1;
    g->nodes = malloc(n * sizeof *g->nodes);
    g->first = malloc(n * sizeof *g->first);
    g->order = malloc(n * sizeof *g->order);
    g->place = malloc(n * sizeof *g->place);
    g->types = malloc(n * sizeof *g->types);
    if (!g->nodes || !g->first || !g->order || !g->place || !g->types ||
        (g->count && driver.nodes(graph, g->nodes, &g->count)))
        return false;
    for (size_t i = 0; i < g->count; i++)
        if (driver.type(g->nodes[i], &g->types[i]))
            return false;
    return read_edges(g) && put_in_order(g);
}

/* Must node LATER, in order, wait for EARLIER? What lies between them in the order is looked at. */
static bool waits_for(const graph_shape *g, size_t later, size_t earlier) {
    size_t from = g->place[earlier], to = g->place[later];
    unsigned char *reached = calloc(to - from + 1, 1);
    bool waits = false;
    if (!reached)
        return false;
    reached[to - from] = 1;
    for (size_t at = to; at > from && !waits; at--) {
        size_t n = g->order[at];
        for (size_t k = g->first[n]; reached[at - from] && k < g->first[n + 1]; k++) {
            size_t place = g->place[g->before[k]];
            if (place >= from)
                reached[place - from] = 1;
        }
        waits = reached[0] != 0;
    }
    free(reached);
    return waits;
}

/* Nodes are copied in about the order in which they are looked at. */
static uint64_t id_of(const void *node) {
    clone_list *clones = clones_of_thread(false);
    for (size_t i = 0; clones && i < clones->count; i++) {
        size_t at = (clones->next + i) % clones->count;
        if (clones->at[at].original == node) {
            clones->next = at + 1;
            return clones->at[at].id;
        }
    }
    return 0;
}

static graph_kernels *kernels_with_room(graph_kernels *kernels, size_t room) {
    return realloc(kernels, sizeof *kernels + room * sizeof kernels->at[0]);
}

static const char *name_of(const graph_kernel_params *p) {
    const char *name = NULL;
    if (p->function && driver.function_name && driver.function_name(&name, p->function) == 0)
        return name;
    if (p->kernel && driver.kernel_name && driver.kernel_name(&name, p->kernel) == 0)
        return name;
    return NULL;
}

/* The config of a kernel that is launched like this, and whether anybody wants it. False: its name
 * cannot be had. */
static bool describe(const graph_kernel_params *p, uint32_t context, uint32_t device,
                     graph_kernel *k) {
    const char *name = name_of(p);
    spool_config config = {.device = device,
                           .context = context,
                           .shared_static = SPOOL_NONE,
                           .shared_dynamic = p->shared,
                           .local_per_thread = SPOOL_NONE,
                           .registers = SPOOL_NONE};
    if (!name)
        return false;
    memcpy(config.grid, p->grid, sizeof config.grid);
    memcpy(config.block, p->block, sizeof config.block);
    writer_lock();
    config.name = names_of_pointer(name);
    k->wanted = select_kernel(config.name, name);
    k->skipped = select_is_skipped(config.name, name);
    k->config = config.name == SPOOL_NONE ? SPOOL_NONE : names_config(&config);
    writer_unlock();
    return k->config != SPOOL_NONE;
}

static bool add_kernel(walk *w, void *node) {
    graph_kernel_params params = {0};
    graph_kernel k = {.handle = node, .node = id_of(node), .enabled = true};
    if (driver.kernel(node, &params) || !describe(&params, w->context, w->device, &k))
        return false;
    if (w->found->count == w->room) {
        size_t room = 2 * w->room + 16;
        graph_kernels *grown = kernels_with_room(w->found, room);
        if (!grown)
            return false;
        w->found = grown;
        w->room = room;
    }
    w->found->at[w->found->count++] = k;
    return true;
}

static bool walk_graph(walk *w, void *graph);

/* Adds node N; true where the order between it and the kernels before it is not open. */
static bool add_node(walk *w, const graph_shape *g, size_t n) {
    void *inside = NULL;
    if (g->types[n] == NODE_KERNEL)
        return add_kernel(w, g->nodes[n]);
    if (g->types[n] != NODE_GRAPH)
        return true;
    return driver.child(g->nodes[n], &inside) == 0 && inside && walk_graph(w, inside);
}

/* Between the last of what was there before and what came now. */
static bool same_config(const walk *w, size_t before) {
    for (size_t i = before; i < w->found->count; i++)
        if (w->found->at[i].config != w->found->at[before - 1].config)
            return false;
    return true;
}

static bool walk_graph(walk *w, void *graph) {
    graph_shape g;
    bool ok = ++w->depth < DEPTH_MOST && read_shape(graph, &g);
    size_t last = (size_t)-1; /* node that brought kernels */
    for (size_t i = 0; ok && i < g.count; i++) {
        size_t n = g.order[i], before = w->found->count;
        ok = add_node(w, &g, n);
        if (!ok || w->found->count == before)
            continue;
        if (last != (size_t)-1 && !same_config(w, before) && !waits_for(&g, n, last))
            w->may_swap = true;
        last = n;
    }
    if (w->depth < DEPTH_MOST)
        free_shape(&g);
    w->depth--;
    return ok;
}

static void say_may_swap(void) {
    static atomic_bool said;
    spool_status status = {.stage = SPOOL_STAGE_GRAPH_ORDER};
    if (counting && !atomic_exchange(&said, true))
        writer_frame(SPOOL_STATUS, &status, sizeof status, "", 1);
}

/* Of GRAPH; never NULL but for want of memory. */
static graph_kernels *look_at(void *graph, const callback_data *d) {
    walk w = {.found = kernels_with_room(NULL, 0),
              .context = d->context_uid,
              .device = counting ? count_device(d->context) : 0};
    if (!w.found)
        return NULL;
    w.found->count = 0;
    w.found->known = driver.nodes && driver.type && (driver.before || driver.before_2) &&
                     driver.kernel && driver.child && walk_graph(&w, graph);
    atomic_init(&w.found->references, 1);
    if (w.found->known && w.may_swap)
        say_may_swap();
    return w.found;
}

/* ---- Executable graphs ----------------------------------------------------------------------- */

void graph_release(graph_kernels *kernels) {
    if (kernels && atomic_fetch_sub(&kernels->references, 1) == 1)
        free(kernels);
}

static exec_entry **bucket_of(const void *exec) {
    return &table.buckets[((uintptr_t)exec >> 4) * 0x9E3779B1u >> 8 & (BUCKETS - 1)];
}

/* With the lock held. */
static exec_entry *entry_of(const void *exec) {
    exec_entry *e = *bucket_of(exec);
    while (e && e->exec != exec)
        e = e->next;
    return e;
}

graph_kernels *graph_find(const void *exec, launch_key **key) {
    pthread_mutex_lock(&table.lock);
    exec_entry *e = entry_of(exec);
    graph_kernels *found = e ? e->kernels : NULL;
    if (found)
        atomic_fetch_add(&found->references, 1);
    *key = found ? &e->key : NULL;
    pthread_mutex_unlock(&table.lock);
    return found;
}

/* KERNELS in the place of what was known of EXEC. FRESH: it has just been made. */
static void replace(const void *exec, graph_kernels *kernels, bool fresh) {
    graph_kernels *before = NULL;
    pthread_mutex_lock(&table.lock);
    exec_entry *e = entry_of(exec);
    if (!e && kernels && (e = calloc(1, sizeof *e))) {
        e->exec = exec;
        e->next = *bucket_of(exec);
        *bucket_of(exec) = e;
    }
    if (e) {
        before = e->kernels;
        e->kernels = kernels;
    }
    if (e && fresh)
        e->key = (launch_key){0};
    pthread_mutex_unlock(&table.lock);
    graph_release(e ? before : kernels);
}

/* A copy that can be changed; NULL: nothing is known of EXEC. */
static graph_kernels *copy_of(const void *exec) {
    launch_key *key;
    graph_kernels *from = graph_find(exec, &key);
    graph_kernels *copy = from ? kernels_with_room(NULL, from->count) : NULL;
    if (copy) {
        copy->count = from->count;
        copy->known = from->known;
        memcpy(copy->at, from->at, from->count * sizeof from->at[0]);
        atomic_init(&copy->references, 1);
    }
    graph_release(from);
    return copy;
}

static void forget_shape(const void *exec) {
    graph_kernels *k = copy_of(exec);
    if (!k)
        return;
    k->known = false;
    replace(exec, k, false);
}

static void on_instantiate(const callback_data *d, const graph_arguments *a) {
    clone_list *clones = clones_of_thread(true);
    if (d->site == SITE_ENTER) {
        if (clones) {
            clones->open = counting;
            clones->count = 0;
        }
        return;
    }
    void *const *exec = a->first;
    if (clones)
        clones->next = 0;
    if (exec && *exec)
        replace(*exec, look_at(a->second, d), true);
}

/* Nodes keep their ids: those that stand where they stood now do what GRAPH's do. */
static void on_update(const callback_data *d, const graph_arguments *a) {
    graph_kernels *own = copy_of(a->first), *now;
    clone_list *clones = clones_of_thread(false);
    if (clones)
        clones->count = 0;
    if (!own || !(now = look_at(a->second, d))) {
        graph_release(own);
        return;
    }
    bool same = now->known && own->count == now->count;
    own->known = own->known && same;
    for (size_t i = 0; same && i < own->count; i++) {
        own->at[i].config = now->at[i].config;
        own->at[i].wanted = now->at[i].wanted;
        own->at[i].skipped = now->at[i].skipped;
    }
    graph_release(now);
    replace(a->first, own, false);
}

static graph_kernel *kernel_of(graph_kernels *kernels, const void *node) {
    for (size_t i = 0; kernels && i < kernels->count; i++)
        if (kernels->at[i].handle == node)
            return &kernels->at[i];
    return NULL;
}

static void on_set_kernel(const callback_data *d, const graph_arguments *a,
                          const graph_kernel_params *given, bool second) {
    graph_kernels *own = copy_of(a->first);
    graph_kernel *k = kernel_of(own, a->second);
    graph_kernel_params params = {0};
    if (!k || !given) {
        graph_release(own);
        return;
    }
    memcpy(&params, given, second ? sizeof params : offsetof(graph_kernel_params, kernel));
    own->known &= describe(&params, d->context_uid, counting ? count_device(d->context) : 0, k);
    replace(a->first, own, false);
}

static void on_set_enabled(const enable_arguments *a) {
    graph_kernels *own = copy_of(a->exec);
    graph_kernel *k = kernel_of(own, a->node);
    if (!k) {
        graph_release(own);
        return;
    }
    k->enabled = a->enabled != 0;
    replace(a->exec, own, false);
}

static void on_set_node(const callback_data *d, const graph_arguments *a) {
    const graph_node_params *p = a->third;
    if (p && p->type == NODE_KERNEL)
        on_set_kernel(d, a, &p->kernel, true);
    else if (p && p->type == NODE_GRAPH)
        forget_shape(a->first);
}

static bool is_instantiate(uint32_t cbid) {
    return cbid == CBID_GRAPH_INSTANTIATE || cbid == CBID_GRAPH_INSTANTIATE_2 ||
           cbid == CBID_GRAPH_INSTANTIATE_FLAGS || cbid == CBID_GRAPH_INSTANTIATE_PARAMS ||
           cbid == CBID_GRAPH_INSTANTIATE_PARAMS_PTSZ;
}

void graph_call(uint32_t cbid, const callback_data *d) {
    const graph_arguments *a = d->parameters;
    const int *result = d->return_value;
    if (!a)
        return;
    if (d->site == SITE_ENTER) { /* what is destroyed may be made again before the call's end */
        if (is_instantiate(cbid))
            on_instantiate(d, a);
        else if (cbid == CBID_GRAPH_EXEC_DESTROY)
            replace(a->first, NULL, false);
        return;
    }
    clone_list *clones = clones_of_thread(false);
    if (is_instantiate(cbid) && clones)
        clones->open = false;
    if (!result || *result)
        return;
    if (is_instantiate(cbid))
        on_instantiate(d, a);
    else if (cbid == CBID_GRAPH_UPDATE || cbid == CBID_GRAPH_UPDATE_2)
        on_update(d, a);
    else if (cbid == CBID_GRAPH_SET_KERNEL || cbid == CBID_GRAPH_SET_KERNEL_2)
        on_set_kernel(d, a, a->third, cbid == CBID_GRAPH_SET_KERNEL_2);
    else if (cbid == CBID_GRAPH_SET_NODE)
        on_set_node(d, a);
    else if (cbid == CBID_GRAPH_SET_CHILD)
        forget_shape(a->first);
    else if (cbid == CBID_GRAPH_SET_ENABLED)
        on_set_enabled(d->parameters);
}

void graph_resource(uint32_t cbid, const resource_data *data) {
    const graph_data *g = data->descriptor;
    uint64_t id = 0;
    clone_list *clones = clones_of_thread(false);
    if (cbid != RESOURCE_NODE_CLONED || !clones || !clones->open || !g ||
        g->node_type != NODE_KERNEL || !api->GetGraphNodeId || api->GetGraphNodeId(g->node, &id))
        return;
    if (clones->count == clones->room) {
        size_t room = 2 * clones->room + 64;
        void *grown = realloc(clones->at, room * sizeof *clones->at);
        if (!grown)
            return;
        clones->at = grown;
        clones->room = room;
    }
    clones->at[clones->count].original = g->original_node;
    clones->at[clones->count++].id = id;
}
