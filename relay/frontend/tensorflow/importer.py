"""A model of TensorFlow as a module of Relay.

mod, params = from_tensorflow("saved_model_folder", shape={"image": (4, 224, 224, 3)})
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from relay import op
from relay.check.infer import infer_module
from relay.errors import FrontendError
from relay.frontend.common.converters import Converters
from relay.frontend.common.layouts import LAYOUTS, channels_first
from relay.frontend.common.naming import quoted
from relay.frontend.common.scope import ImportScope
from relay.frontend.tensorflow.converters import built_in
from relay.frontend.tensorflow.graph import Context, GraphImporter
from relay.frontend.tensorflow.inputs import Inputs, inputs_of
from relay.frontend.tensorflow.sources import Model, Source, read
from relay.frontend.tensorflow.states import States
from relay.frontend.tensorflow.survey import survey
from relay.frontend.tensorflow.types import tensor_of
from relay.frontend.tensorflow.values import KINDS, Complex, Value, Variable
from relay.frontend.tensorflow.weights import weights_of
from relay.ir.dims import Dim
from relay.ir.expr import Constant, Expr, Function, Tuple, Var
from relay.ir.function_attrs import STATE
from relay.ir.module import IRModule
from relay.ir.types import TensorType
from relay.nd import NDArray
from relay.prelude import Prelude
from relay.transform.functional.remove_unused_functions import RemoveUnusedFunctions


def from_tensorflow(
    model: Source,
    shape: Mapping[str, Sequence[Dim]] | None = None,
    outputs: Sequence[str] | None = None,
    layout: str | None = None,
    *,
    signature: str | None = None,
    tags: Sequence[str] | None = None,
    operators: Sequence[Converters] = (),
) -> tuple[IRModule, dict[str, NDArray]]:
    """The module of a model, and its parameters: variables and weights of layers, by name.

    `model` is the path or the bytes of a `GraphDef`, the folder of a saved model, a `GraphDef`, a
    `Graph` or a concrete function. `shape` gives shapes of inputs, `outputs` the names of results.
    Images stay as they are, with their channels last, unless `layout` is "NCHW". `signature` and
    `tags` choose what a saved model offers. `operators` are tables of converters of the user's own.
    """
    if layout is not None and layout not in LAYOUTS:
        raise FrontendError.of("there is no such layout", None, ", ".join(LAYOUTS), str(layout))
    info = read(model, outputs, signature, tags)
    tables = (*operators, *built_in())
    references = [*info.outputs.values()]
    survey(info.graph, info.functions, tables, references, [one.reference for one in info.inputs])
    inputs = inputs_of(info, shape or {})
    module = Prelude().mod
    scope = ImportScope(module)
    taken = {one.name_hint for one in inputs.variables}
    states = States(info.load, dict(info.names), taken)
    importer = GraphImporter(info.origin, info.functions, tables, states)
    context = Context(info.graph, scope, "")
    held = _weights(info, importer, taken)
    _enter(info, inputs, importer, context)
    values = importer.run(context, references, info.effects)
    results = [_tensor(name, one) for name, one in zip(info.outputs, values, strict=True)]
    body = results[0] if len(results) == 1 else Tuple(tuple(results))
    written = [*states.written]
    if written:
        body = Tuple((body, *(states.values[name] for name in written)))
    fixed = [states.parameters[name] for name in states.parameters if name not in states.written]
    state = [states.parameters[name] for name in written]
    given = (*inputs.variables, *held, *fixed, *state)
    main = Function(given, scope.closed(body), type_params=tuple(inputs.sizes))
    if state:
        main = main.with_attr(STATE, [one.name_hint for one in state])
    module["main"] = main.with_attr("output_tensor_names", list(info.outputs))
    module = infer_module(RemoveUnusedFunctions()(module))
    params = {one.name_hint: data for one, data in held.items()} | states.begin
    return (channels_first(module) if layout == "NCHW" else module), params


def _weights(info: Model, importer: GraphImporter, taken: set[str]) -> dict[Var, NDArray]:
    """The constants of a graph that are weights, as parameters."""
    found: dict[Var, NDArray] = {}
    for name in weights_of(info.graph, [one for one, _ in info.outputs.values()]):
        message = info.graph.node(name).attributes["value"].message(8)
        if message is None or name in taken:
            continue
        data = NDArray(np.asarray(tensor_of(message), order="C"))
        variable = Var(name, TensorType(data.shape, data.dtype))
        importer.weights[name] = variable
        found[variable] = data
        taken.add(name)
    return found


def _enter(info: Model, inputs: Inputs, importer: GraphImporter, context: Context) -> None:
    """Bind the inputs of the graph to parameters."""
    for one, value in zip(info.inputs, inputs.variables, strict=True):
        importer.enter_values(context, one.reference[0], [value])
    for name, value in info.captured.items():
        node = info.graph.node(name)
        if isinstance(value, str):
            importer.enter_values(context, name, [Variable(value, "")])
        else:
            held = context.scope.bind(Constant(NDArray(np.asarray(value))), name)
            importer.enter_values(context, node.name, [held])


def _tensor(name: str, value: Value) -> Expr:
    """A result of the model; complex numbers have a further axis of two."""
    if isinstance(value, Complex):
        return op.stack([value.real, value.imaginary], axis=-1)
    if not isinstance(value, Expr):
        raise FrontendError.of(f"output {quoted(name)} is {KINDS[type(value)]}, not a tensor")
    return value
