"""A model of TFLite as a module of Relay.

mod, params = from_tflite("model.tflite", shape_dict={"image": (4, 224, 224, 3)})
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from relay.check.infer import infer_module
from relay.frontend.common.converters import Converters
from relay.frontend.common.scope import ImportScope
from relay.frontend.tflite.converters import built_in
from relay.frontend.tflite.graph import GraphImporter
from relay.frontend.tflite.inputs import inputs_of
from relay.frontend.tflite.reader import Source, read
from relay.frontend.tflite.survey import survey
from relay.frontend.tflite.weights import weights_of
from relay.ir.dims import Dim
from relay.ir.expr import Function, Tuple
from relay.ir.function_attrs import STATE
from relay.ir.module import IRModule
from relay.nd import NDArray
from relay.prelude import Prelude
from relay.transform.functional.remove_unused_functions import RemoveUnusedFunctions


def from_tflite(
    model: Source,
    shape_dict: Mapping[str, Sequence[Dim]] | None = None,
    dtype_dict: Mapping[str, str] | None = None,
    *,
    operators: Sequence[Converters] = (),
) -> tuple[IRModule, dict[str, NDArray]]:
    """The module of a model, and its parameters: the weights of layers, by name.

    `model` is a path, bytes or a `tflite.Model`. `shape_dict` gives shapes of inputs, `dtype_dict`
    element types from which inputs are converted. `operators` are tables of converters of the
    user's own.
    """
    info = read(model)
    tables = (*operators, *built_in())
    survey(info, tables)
    inputs = inputs_of(info, shape_dict or {}, dtype_dict or {})
    weights = [*weights_of(info, {one.name_hint for one in inputs.variables})]
    params = {variable.name_hint: data for _, variable, data in weights}
    variables = {name: variable for name, variable, _ in weights}
    importer = GraphImporter(info, tables, inputs.as_declared, variables)
    module = Prelude().mod
    scope = ImportScope(module)
    outputs = importer.add(0, scope, inputs.values(scope))
    body = outputs[0] if len(outputs) == 1 else Tuple(tuple(outputs))
    states = importer.states
    if states.parameters:
        body = Tuple((body, *(states.values[name] for name in states.parameters)))
        params |= states.begin
    given = (*inputs.variables, *variables.values(), *states.parameters.values())
    main = Function(given, scope.closed(body), type_params=tuple(inputs.sizes))
    if states.parameters:
        main = main.with_attr(STATE, list(states.parameters))
    graph = info.subgraphs[0]
    names = [graph.tensors[one].name for one in graph.outputs]
    module["main"] = main.with_attr("output_tensor_names", names)
    return infer_module(RemoveUnusedFunctions()(module)), params
