/* SPDX-License-Identifier: Apache-2.0
 *
 * Holds the doors' own declarations of graphs against a toolkit's headers (13.0 or later): it
 * compiles only if every size, offset and value agrees. The runtime's are compared by
 * tests/cli/emulator.
 */
#include <cupti.h>

#if CUPTI_API_VERSION >= 130000

#include "emulator/cupti/abi.h"

#define SAME_SIZE(ours, theirs) _Static_assert(sizeof(ours) == sizeof(theirs), #ours)
#define SAME_FIELD(ours, our_field, theirs, their_field)                                           \
    _Static_assert(offsetof(ours, our_field) == offsetof(theirs, their_field), #ours "." #our_field)
#define SAME_VALUE(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #ours)

SAME_VALUE(KIND_GRAPH_TRACE, CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
SAME_SIZE(record_graph, CUpti_ActivityGraphTrace2);
SAME_FIELD(record_graph, correlation, CUpti_ActivityGraphTrace2, correlationId);
SAME_FIELD(record_graph, start, CUpti_ActivityGraphTrace2, start);
SAME_FIELD(record_graph, end, CUpti_ActivityGraphTrace2, end);
SAME_FIELD(record_graph, device, CUpti_ActivityGraphTrace2, deviceId);
SAME_FIELD(record_graph, graph, CUpti_ActivityGraphTrace2, graphId);
SAME_FIELD(record_graph, context, CUpti_ActivityGraphTrace2, contextId);
SAME_FIELD(record_graph, stream, CUpti_ActivityGraphTrace2, streamId);
SAME_FIELD(record_graph, end_device, CUpti_ActivityGraphTrace2, endDeviceId);
SAME_FIELD(record_graph, end_context, CUpti_ActivityGraphTrace2, endContextId);

SAME_SIZE(graph_data, CUpti_GraphData);
SAME_FIELD(graph_data, graph, CUpti_GraphData, graph);
SAME_FIELD(graph_data, original_graph, CUpti_GraphData, originalGraph);
SAME_FIELD(graph_data, node, CUpti_GraphData, node);
SAME_FIELD(graph_data, original_node, CUpti_GraphData, originalNode);
SAME_FIELD(graph_data, node_type, CUpti_GraphData, nodeType);
SAME_FIELD(graph_data, dependency, CUpti_GraphData, dependency);
SAME_FIELD(graph_data, exec, CUpti_GraphData, graphExec);

SAME_VALUE(RESOURCE_GRAPH_CREATED, CUPTI_CBID_RESOURCE_GRAPH_CREATED);
SAME_VALUE(RESOURCE_GRAPH_DESTROY_STARTING, CUPTI_CBID_RESOURCE_GRAPH_DESTROY_STARTING);
SAME_VALUE(RESOURCE_GRAPH_CLONED, CUPTI_CBID_RESOURCE_GRAPH_CLONED);
SAME_VALUE(RESOURCE_NODE_CREATED, CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED);
SAME_VALUE(RESOURCE_NODE_DESTROY_STARTING, CUPTI_CBID_RESOURCE_GRAPHNODE_DESTROY_STARTING);
SAME_VALUE(RESOURCE_DEPENDENCY_CREATED, CUPTI_CBID_RESOURCE_GRAPHNODE_DEPENDENCY_CREATED);
SAME_VALUE(RESOURCE_DEPENDENCY_DESTROY_STARTING,
           CUPTI_CBID_RESOURCE_GRAPHNODE_DEPENDENCY_DESTROY_STARTING);
SAME_VALUE(RESOURCE_EXEC_CREATED, CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED);
SAME_VALUE(RESOURCE_EXEC_DESTROY_STARTING, CUPTI_CBID_RESOURCE_GRAPHEXEC_DESTROY_STARTING);
SAME_VALUE(RESOURCE_NODE_CLONED, CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED);

#endif
