"""Objects of TensorFlow, which TensorFlow serializes, and which are read like files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from relay.errors import FrontendError
from relay.frontend.tensorflow.messages import GraphInfo, Reference, graph_of, reference_of
from relay.frontend.tensorflow.messages import functions_of as functions_in
from relay.frontend.tensorflow.sources import InputInfo, Model, of_graph
from relay.frontend.tensorflow.wire import Budget, Message


def model_of_object(source: Any, outputs: Sequence[str] | None) -> Model:
    """The model of a `GraphDef`, a `Graph`, or a function with its signature."""
    kind = type(source).__name__
    if kind == "GraphDef":
        return of_graph(Message(source.SerializeToString(), Budget()), "graph", outputs)
    if hasattr(source, "get_concrete_function") and hasattr(source, "input_signature"):
        if source.input_signature is None:
            hint = "give one function of it: f.get_concrete_function(tf.TensorSpec(…))"
            raise FrontendError.of("the function has no signature", hint=hint)
        source = source.get_concrete_function()
    if hasattr(source, "captured_inputs") and hasattr(source, "graph"):
        return _of_function(source, outputs)
    if hasattr(source, "as_graph_def"):
        return of_graph(Message(source.as_graph_def().SerializeToString(), Budget()), kind, outputs)
    expected = "a path, bytes, a GraphDef, a Graph or a concrete function"
    raise FrontendError.of("this is no model of TensorFlow", None, expected, kind)


def _of_function(function: Any, outputs: Sequence[str] | None) -> Model:
    """The model of a concrete function; captured tensors become variables or constants."""
    graph_def = function.graph.as_graph_def()
    root = Message(graph_def.SerializeToString(), Budget())
    graph: GraphInfo = graph_of(root)
    captures = function.graph.captures
    inside = {reference_of(inner.name): outer for outer, inner in captures}
    variables = {id(one.handle): one for one in function.graph.variables}
    captured: dict[str, Any] = {}
    values: dict[str, np.ndarray] = {}
    for reference, outer in inside.items():
        variable = variables.get(id(outer))
        if variable is None:
            captured[reference[0]] = outer.numpy()
            continue
        name = _fresh(str(variable.name).partition(":")[0], values)
        values[name] = variable.numpy()
        captured[reference[0]] = name
    inputs = []
    for tensor in function.inputs:
        reference = reference_of(tensor.name)
        if reference in inside:
            continue
        shape = None
        if tensor.shape.rank is not None:
            shape = tuple(-1 if one is None else int(one) for one in tensor.shape)
        inputs.append(InputInfo(reference[0], reference, tensor.dtype.name, shape))
    results: Mapping[str, Reference]
    if outputs is None:
        found = [reference_of(tensor.name) for tensor in function.outputs]
        results = {f"output_{place}": one for place, one in enumerate(found)}
    else:
        results = {name: reference_of(name) for name in outputs}
    effects = [one.name for one in function.graph.control_outputs]
    functions = functions_in(root)
    load = values.get
    return Model("function", graph, functions, inputs, results, load, {}, captured, effects)


def _fresh(name: str, taken: Mapping[str, Any]) -> str:
    """A unique name."""
    found, number = name, 1
    while found in taken:
        found, number = f"{name}_{number}", number + 1
    return found
