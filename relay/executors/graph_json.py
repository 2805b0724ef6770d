"""The graph of a compiled model as JSON, in the format of NNVM graph executors:

    nodes         inputs and constants (`"op": "null"`), and one `tvm_op` for each kernel that runs
    arg_nodes     the numbers of the nodes that are inputs or constants
    heads         which outputs of which nodes are the results
    node_row_ptr  the entries before each node; an entry is an output of a node
    attrs         the shape, element type and storage of each entry

A view is a node whose function is `__nop`. The graph is for inspection only.
"""

from __future__ import annotations

import json
from collections import Counter
from itertools import accumulate
from typing import Any

from relay.executors.straight_line import StraightLineExecutable
from relay.lower.kernel import TensorSpec
from relay.program import program as isa


def graph_json(executable: StraightLineExecutable) -> str:
    """The graph of a call."""
    function, places = executable.program[isa.MAIN], executable.bound.plan.places
    nodes: list[dict[str, Any]] = []
    outputs: list[tuple[isa.Register, ...]] = []  # of each node
    made_by: dict[isa.Register, list[int]] = {}
    calls: Counter[str] = Counter()

    def add(node: dict[str, Any], *registers: isa.Register) -> None:
        made_by.update({register: [len(nodes), n, 0] for n, register in enumerate(registers)})
        nodes.append(node)
        outputs.append(registers)

    def computed(function: str, inputs: tuple[isa.Register, ...], *made: isa.Register) -> None:
        name = f"{function}_{number}" if (number := calls[function]) else function
        calls[function] += 1
        attrs = {
            "num_outputs": str(len(made)),
            "num_inputs": str(len(inputs)),
            "flatten_data": "0",
            "func_name": function,
        }
        sources = [made_by[register] for register in inputs]
        add({"op": "tvm_op", "name": name, "attrs": attrs, "inputs": sources}, *made)

    for info, register in zip(executable.inputs, function.inputs, strict=True):
        add({"op": "null", "name": info.name, "inputs": []}, register)
    for instruction in function.straight_line:
        match instruction:
            case isa.LoadConstant(output, constant):
                add({"op": "null", "name": constant, "inputs": []}, output)
            case isa.ViewTensor(output, source):
                computed("__nop", (source,), output)
            case isa.InvokeKernel(kernel, inputs, made):
                computed(kernel, inputs, *made)
    entries = [register for registers in outputs for register in registers]
    specs = [spec for e in entries if isinstance(spec := function.registers[e], TensorSpec)]
    memory: dict[Any, int] = {}
    graph = {
        "nodes": nodes,
        "arg_nodes": [number for number, node in enumerate(nodes) if node["op"] == "null"],
        "heads": [made_by[register] for register in isa.flatten(function.result)],
        "node_row_ptr": [0, *accumulate(map(len, outputs))],
        "attrs": {
            "dltype": ["list_str", [spec.dtype for spec in specs]],
            "shape": ["list_shape", [list(map(int, spec.shape)) for spec in specs]],
            "storage_id": [
                "list_int",
                [memory.setdefault(places.get(entry, entry), len(memory)) for entry in entries],
            ],
        },
    }
    return json.dumps(graph, indent=2)
