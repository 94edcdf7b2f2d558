/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels of CUDA graphs, over a driver of a few lines: their order, what changes of an executable
 * graph leave of them, and what makes them unknown.
 */
#include "tracer/bind.h"
#include "tracer/count.h"
#include "tracer/graph.h"
#include "tracer/names.h"
#include "tracer/select.h"
#include "tracer/writer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- What the tracer's other parts would do ---- */

static int order_said;
static spool_config configs[64];
static uint32_t config_count;

void writer_lock(void) {
}

void writer_unlock(void) {
}

void writer_frame(spool_type type, const void *head, size_t head_size, const void *tail,
                  size_t tail_size) {
    spool_status status;
    (void)tail, (void)tail_size;
    if (type != SPOOL_STATUS)
        return;
    assert_true(head_size >= sizeof status);
    memcpy(&status, head, sizeof status);
    order_said += status.stage == SPOOL_STAGE_GRAPH_ORDER;
}

uint32_t names_of_pointer(const char *name) {
    return (uint32_t)(unsigned char)name[0];
}

uint32_t names_config(const spool_config *config) {
    for (uint32_t i = 0; i < config_count; i++)
        if (configs[i].name == config->name && configs[i].grid[0] == config->grid[0])
            return i;
    configs[config_count] = *config;
    return config_count++;
}

bool select_kernel(uint32_t name, const char *text) {
    (void)name;
    return strcmp(text, "unwanted") != 0;
}

bool select_is_skipped(uint32_t name, const char *text) {
    (void)name;
    return strncmp(text, "nccl", 4) == 0;
}

uint32_t count_device(const void *context) {
    (void)context;
    return 1;
}

/* ---- The driver ---- */

typedef struct a_node {
    int type; /* 0 a kernel, 4 a graph, 5 nothing */
    const char *name;
    uint32_t grid;
    struct a_node *before[4];
    size_t before_count;
    struct a_graph *child;
} a_node;

typedef struct a_graph {
    a_node *nodes[16];
    size_t count;
} a_graph;

static int get_nodes(a_graph *graph, void **nodes, size_t *count) {
    for (size_t i = 0; nodes && i < graph->count; i++)
        nodes[i] = graph->nodes[i];
    *count = graph->count;
    return 0;
}

static int get_type(a_node *node, int *type) {
    *type = node->type;
    return 0;
}

static int get_before(a_node *node, void **nodes, size_t *count) {
    for (size_t i = 0; nodes && i < node->before_count; i++)
        nodes[i] = node->before[i];
    *count = node->before_count;
    return 0;
}

static int get_kernel(a_node *node, graph_kernel_params *p) {
    *p = (graph_kernel_params){.function = node, .grid = {node->grid, 1, 1}, .block = {32, 1, 1}};
    return 0;
}

static int get_child(a_node *node, void **graph) {
    *graph = node->child;
    return 0;
}

static int get_name(const char **name, a_node *function) {
    *name = function->name;
    return function->name ? 0 : 1;
}

static int capturing;

static int is_capturing(void *stream, int *status) {
    *status = stream == &capturing;
    return 0;
}

void *bind_driver_symbol(const char *name) {
    static const struct {
        const char *name;
        void (*function)(void);
    } all[] = {{"cuGraphGetNodes", (void (*)(void))get_nodes},
               {"cuGraphNodeGetType", (void (*)(void))get_type},
               {"cuGraphNodeGetDependencies", (void (*)(void))get_before},
               {"cuGraphKernelNodeGetParams_v2", (void (*)(void))get_kernel},
               {"cuGraphChildGraphNodeGetGraph", (void (*)(void))get_child},
               {"cuFuncGetName", (void (*)(void))get_name},
               {"cuStreamIsCapturing", (void (*)(void))is_capturing}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (!strcmp(all[i].name, name))
            return (void *)(uintptr_t)all[i].function;
    return NULL;
}

static cupti_result node_id(void *node, uint64_t *id) {
    *id = (uint64_t)(uintptr_t)node | 1;
    return CUPTI_OK;
}

/* ---- Calls, as the callbacks tell them ---- */

static a_node nodes[16];
static a_graph graph;
static int exec; /* its address stands for an executable graph */

static a_node *add(a_graph *g, int type, const char *name, uint32_t grid) {
    a_node *n = &nodes[g->count + (g == &graph ? 0 : 8)];
    *n = (a_node){.type = type, .name = name, .grid = grid};
    g->nodes[g->count++] = n;
    return n;
}

static void after(a_node *n, a_node *before) {
    n->before[n->before_count++] = before;
}

static void call(uint32_t cbid, const void *arguments, int result) {
    callback_data d = {.site = SITE_ENTER, .parameters = arguments, .context_uid = 7};
    graph_call(cbid, &d);
    d.site = SITE_EXIT;
    d.return_value = &result;
    graph_call(cbid, &d);
}

/* With a copy of each kernel's node told, as CUPTI does. */
static void make_executable(a_graph *g) {
    void *made = &exec;
    int result = 0;
    const graph_arguments a = {&made, g, NULL};
    callback_data d = {.site = SITE_ENTER, .parameters = &a, .context_uid = 7};
    graph_call(CBID_GRAPH_INSTANTIATE_FLAGS, &d);
    for (size_t i = 0; i < 16; i++) {
        graph_data told = {.node = &nodes[i].name, .original_node = &nodes[i]};
        const resource_data r = {.descriptor = &told};
        graph_resource(RESOURCE_NODE_CLONED, &r);
    }
    d.site = SITE_EXIT;
    d.return_value = &result;
    graph_call(CBID_GRAPH_INSTANTIATE_FLAGS, &d);
}

static graph_kernels *found(void) {
    launch_key *key;
    graph_kernels *k = graph_find(&exec, &key);
    assert_true(!k || key);
    graph_release(k); /* the table holds it as well */
    return k;
}

/* First letters of the kernels' names, in order. */
static const char *order(void) {
    static char text[32];
    const graph_kernels *k = found();
    assert_non_null(k);
    assert_true(k->known);
    for (size_t i = 0; i < k->count; i++)
        text[i] = (char)configs[k->at[i].config].name;
    text[k->count] = 0;
    return text;
}

static int start(void **state) {
    static cupti_api api = {.GetGraphNodeId = node_id};
    (void)state;
    graph_start(&api, true);
    graph = (a_graph){0};
    memset(nodes, 0, sizeof nodes);
    return 0;
}

/* ---- Cases ---- */

static void added_order_and_edges(void **state) {
    (void)state;
    a_node *a = add(&graph, 0, "a", 1), *b = add(&graph, 0, "b", 1), *e = add(&graph, 5, NULL, 0),
           *c = add(&graph, 0, "c", 1);
    after(a, c); /* c, nothing, then a, then b */
    after(e, c);
    after(a, e);
    after(b, a);
    make_executable(&graph);
    assert_string_equal(order(), "cab");
    assert_int_equal(order_said, 0); /* a chain leaves no choice */
    assert_int_equal(found()->at[0].node, (uint64_t)(uintptr_t)&c->name | 1);
    assert_ptr_equal(found()->at[0].handle, c);
    assert_int_equal(configs[found()->at[0].config].context, 7);
    assert_int_equal(configs[found()->at[0].config].device, 1);
}

static void children(void **state) {
    static a_graph child;
    (void)state;
    child = (a_graph){0};
    a_node *a = add(&graph, 0, "a", 1), *inner = add(&graph, 4, NULL, 0),
           *b = add(&graph, 0, "b", 1);
    add(&child, 0, "x", 1);
    after(add(&child, 0, "y", 1), child.nodes[0]);
    inner->child = &child;
    after(inner, a);
    after(b, inner);
    make_executable(&graph);
    assert_string_equal(order(), "axyb");
    assert_int_equal(order_said, 0);
    /* a child that is replaced is not looked at */
    const graph_arguments set = {&exec, inner, &child};
    call(CBID_GRAPH_SET_CHILD, &set, 0);
    assert_false(found()->known);
}

static void equal_branches(void **state) {
    (void)state;
    a_node *a = add(&graph, 0, "a", 1), *b = add(&graph, 0, "b", 1);
    after(b, a);
    after(add(&graph, 0, "b", 1), a);
    make_executable(&graph);
    assert_string_equal(order(), "abb");
    assert_int_equal(order_said, 0); /* it is the same which of two equal ones comes first */
}

static void branches(void **state) {
    (void)state;
    a_node *a = add(&graph, 0, "a", 1), *b = add(&graph, 0, "b", 1), *c = add(&graph, 0, "c", 1),
           *d = add(&graph, 0, "d", 1);
    after(b, a);
    after(c, a);
    after(d, b);
    after(d, c);
    make_executable(&graph);
    make_executable(&graph);
    assert_string_equal(order(), "abcd");
    assert_int_equal(order_said, 1); /* once */
}

static void changes(void **state) {
    a_graph other = {0};
    (void)state;
    a_node *a = add(&graph, 0, "a", 1), *b = add(&graph, 0, "unwanted", 1);
    after(b, a);
    make_executable(&graph);
    assert_true(found()->at[0].wanted && !found()->at[1].wanted);
    uint64_t id = found()->at[0].node;
    /* one node */
    a_node function = {.name = "nccl"};
    const graph_kernel_params params = {.function = &function, .grid = {5, 1, 1}};
    const graph_arguments set = {&exec, a, &params};
    call(CBID_GRAPH_SET_KERNEL_2, &set, 1); /* refused */
    assert_string_equal(order(), "au");
    call(CBID_GRAPH_SET_KERNEL_2, &set, 0);
    assert_string_equal(order(), "nu");
    assert_int_equal(configs[found()->at[0].config].grid[0], 5);
    assert_true(found()->at[0].skipped);
    assert_int_equal(found()->at[0].node, id);
    const enable_arguments off = {&exec, a, 0};
    call(CBID_GRAPH_SET_ENABLED, &off, 0);
    assert_false(found()->at[0].enabled);
    const graph_node_params any = {.type = 0, .kernel = {.function = b, .grid = {6, 1, 1}}};
    const graph_arguments set_any = {&exec, b, &any};
    call(CBID_GRAPH_SET_NODE, &set_any, 0);
    assert_int_equal(configs[found()->at[1].config].grid[0], 6);
    /* all of them, from another graph: nodes stay what they were */
    add(&other, 0, "c", 2);
    after(add(&other, 0, "d", 2), other.nodes[0]);
    const graph_arguments update = {&exec, &other, NULL};
    call(CBID_GRAPH_UPDATE_2, &update, 0);
    assert_string_equal(order(), "cd");
    assert_int_equal(found()->at[0].node, id);
    assert_ptr_equal(found()->at[0].handle, a);
    assert_false(found()->at[0].enabled);
    add(&other, 0, "e", 2);
    call(CBID_GRAPH_UPDATE_2, &update, 0); /* what the driver would not do */
    assert_false(found()->known);
}

static void unknown(void **state) {
    launch_key *key;
    (void)state;
    a_node *a = add(&graph, 0, NULL, 1); /* no name */
    make_executable(&graph);
    assert_false(found()->known);
    a->name = "a";
    a_node *b = add(&graph, 0, "b", 1);
    after(a, b);
    after(b, a); /* a circle */
    make_executable(&graph);
    assert_false(found()->known);
    b->before_count = 0;
    after(b, &nodes[15]); /* a node of none */
    make_executable(&graph);
    assert_false(found()->known);
    b->before_count = 0;
    make_executable(&graph);
    graph_release(graph_find(&exec, &key));
    key->launches = 3;
    call(CBID_GRAPH_EXEC_DESTROY, &(void *){&exec}, 0);
    assert_null(found());
    make_executable(&graph);
    graph_release(graph_find(&exec, &key));
    assert_int_equal(key->launches, 0);
}

static void captures(void **state) {
    (void)state;
    assert_true(graph_is_capturing(&capturing, false));
    assert_false(graph_is_capturing(&exec, false));
    assert_true(graph_is_capturing(&exec, true)); /* there it cannot be asked */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(added_order_and_edges, start),
        cmocka_unit_test_setup(children, start),
        cmocka_unit_test_setup(equal_branches, start),
        cmocka_unit_test_setup(branches, start),
        cmocka_unit_test_setup(changes, start),
        cmocka_unit_test_setup(unknown, start),
        cmocka_unit_test_setup(captures, start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
