"""The graph of a compiled model, for people and tools to look at."""

import json

import numpy as np

import relay
from relay.driver import compile_graph
from relay.executors.graph_json import graph_json


def test_kernels_inputs_and_constants_are_nodes_with_entries():
    x, w = relay.var("x", shape=(2, 8)), relay.var("w", shape=(4, 8))
    dense = relay.nn.dense(x, w)
    body = relay.Tuple([relay.reshape(relay.nn.softmax(dense), (8,)), relay.sum(dense, axis=[0])])
    exe = compile_graph(relay.Function([x, w], body), {"w": np.ones((4, 8), "float32")})
    graph = json.loads(graph_json(exe))
    nodes = graph["nodes"]
    names = [node["name"] for node in nodes]
    assert names[0] == "x" and len(set(names)) == len(names)
    assert [n for n, node in enumerate(nodes) if node["op"] == "null"] == graph["arg_nodes"]
    entries = graph["node_row_ptr"]
    assert entries[0] == 0 and len(entries) == len(nodes) + 1
    for number, node in enumerate(nodes):
        assert all(source < number for source, _, _ in node["inputs"])
        made = int(node.get("attrs", {}).get("num_outputs", 1))
        assert entries[number + 1] - entries[number] == made
    kind, shapes = graph["attrs"]["shape"]
    assert kind == "list_shape" and len(shapes) == entries[-1]
    assert len(graph["attrs"]["dltype"][1]) == len(graph["attrs"]["storage_id"][1]) == entries[-1]
    heads = [shapes[entries[node] + output] for node, output, _ in graph["heads"]]
    assert heads == [[8], [4]]
    kernels = [node["attrs"]["func_name"] for node in nodes if node["op"] == "tvm_op"]
    assert [name for name in kernels if name != "__nop"] == [k.name for k in exe.bound.kernels]


def test_a_kernel_that_runs_twice_is_two_nodes():
    x = relay.var("x", shape=(4, 4))
    w = relay.const(np.eye(4, dtype="float32"))
    exe = compile_graph(relay.Function([x], relay.nn.dense(relay.nn.dense(x, w), w)))
    nodes = json.loads(graph_json(exe))["nodes"]
    assert len({node["name"] for node in nodes}) == len(nodes)
