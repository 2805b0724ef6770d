"""A model of ONNX as a module of Relay.

mod, params = from_onnx("model.onnx", shape={"batch": 1})
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import onnx

from relay.check.infer import infer_module
from relay.errors import FrontendError, did_you_mean
from relay.frontend.common.naming import quoted, repeated
from relay.frontend.common.scope import is_nothing
from relay.frontend.onnx.converters import Converters, built_in
from relay.frontend.onnx.functions import Bodies
from relay.frontend.onnx.graph import GraphImporter
from relay.frontend.onnx.load import Model, check_text, load, readable
from relay.frontend.onnx.scope import GraphScope
from relay.frontend.onnx.survey import survey
from relay.frontend.onnx.tensors import Files, array_of, dense
from relay.frontend.onnx.types import Dimensions
from relay.frontend.onnx.versions import check_version, versions_of
from relay.frontend.onnx.weights import weights_of
from relay.ir.dims import Dim
from relay.ir.expr import Expr, Function, Tuple, Var
from relay.ir.module import IRModule
from relay.ir.types import TensorType
from relay.nd import NDArray
from relay.prelude import Prelude
from relay.transform.functional.remove_unused_functions import RemoveUnusedFunctions

Shapes = Mapping[str, Sequence[Dim] | int]


@readable
def from_onnx(
    model: Model,
    shape: Shapes | None = None,
    dtype: str | Mapping[str, str] | None = None,
    opset: int | None = None,
    freeze_params: bool | None = True,
    *,
    operators: Sequence[Converters] = (),
) -> tuple[IRModule, dict[str, NDArray]]:
    """The module of a model, and its parameters.

    `shape` gives the shapes of inputs, or the sizes of named dimensions; `dtype` their element
    types, one for all or by name. `opset` overrides the version that the model imports. With
    `freeze_params` the weights are constants; otherwise they are parameters of `main`, and are
    returned: all float tensors, or, with None, those that layers compute with, as `relay.compile`
    does. `operators` are tables of converters of the user's own.
    """
    proto, files, origin = load(model)
    check_text(proto)
    versions = _versions(proto, opset)
    tables = (*operators, *built_in())
    bodies = Bodies.of(proto)
    survey(proto, tables, bodies, versions)
    module = Prelude().mod
    pinned = {name: size for name, size in (shape or {}).items() if isinstance(size, int)}
    dimensions = Dimensions(pinned)
    inputs = _inputs(proto, dimensions, shape or {}, dtype)
    dimensions.complete = True
    importer = GraphImporter(module, dimensions, files, tables, bodies, versions, origin)
    scope = GraphScope(module)
    scope.values.update((variable.name_hint, variable) for variable in inputs)
    params: dict[str, NDArray] = {}
    weights: list[Var] = []
    if not freeze_params:
        for name, data in _weights(proto, files, freeze_params is None):
            params[name] = data
            weights.append(Var(name, TensorType(data.shape, data.dtype)))
        scope.values.update((variable.name_hint, variable) for variable in weights)
    importer.add(proto.graph, scope)
    outputs = [_output(value, importer, scope) for value in proto.graph.output]
    body = scope.closed(outputs[0] if len(outputs) == 1 else Tuple(tuple(outputs)))
    variables = tuple(dimensions.variables.values())
    main = Function((*inputs, *weights), body, type_params=variables)
    module["main"] = main.with_attr(
        "output_tensor_names", [value.name for value in proto.graph.output]
    )
    return infer_module(RemoveUnusedFunctions()(module)), params


def _output(value: onnx.ValueInfoProto, importer: GraphImporter, scope: GraphScope) -> Expr:
    found = importer.output(value.name, scope)
    if not is_nothing(found):
        return found
    ty = importer.declared_type(value)
    if ty is None:
        message = f"output {quoted(value.name)} is always empty, and nothing is said of its type"
        raise FrontendError.of(message)
    return scope.bind(found, value.name, declared=ty)


def _versions(proto: onnx.ModelProto, opset: int | None) -> dict[str, int]:
    versions = versions_of(proto.opset_import, "the model")
    if opset is not None:
        check_version("", opset, "`opset`")
        versions[""] = opset
    versions.setdefault("", 1)
    return versions


def _inputs(
    proto: onnx.ModelProto,
    dimensions: Dimensions,
    shapes: Shapes,
    dtype: str | Mapping[str, str] | None,
) -> list[Var]:
    """The inputs that are not weights."""
    weights = {tensor.name for tensor in proto.graph.initializer}
    weights |= {sparse.values.name for sparse in proto.graph.sparse_initializer}
    wanted = [value for value in proto.graph.input if value.name not in weights]
    names = [value.name for value in wanted]
    if (twice := repeated(names)) is not None:
        raise FrontendError.of(f"input {quoted(twice)} is there twice")
    params = {dim.dim_param for value in wanted for dim in value.type.tensor_type.shape.dim}
    for name, given in shapes.items():
        known = params if isinstance(given, int) else names
        if name not in known:
            what = "named dimension" if isinstance(given, int) else "input"
            raise FrontendError.of(
                f"the model has no {what} `{name}`",
                expected=", ".join(f"`{one}`" for one in sorted(known)),
                hint=did_you_mean(name, known),
            )
    found = []
    for value in wanted:
        wanted_shape = shapes.get(value.name)
        element = dtype if isinstance(dtype, str) else (dtype or {}).get(value.name, "")
        extents = None if wanted_shape is None or isinstance(wanted_shape, int) else wanted_shape
        ty = dimensions.type_of(value.type, f"input {quoted(value.name)}", extents, element)
        found.append(Var(value.name, ty))
    return found


def _weights(proto: onnx.ModelProto, files: Files, of_layers: bool) -> list[tuple[str, NDArray]]:
    """Float initializers; integers are rather axes and shapes."""
    tensors, sparse = list(proto.graph.initializer), list(proto.graph.sparse_initializer)
    if of_layers:
        wanted = weights_of(proto.graph)
        tensors, sparse = [t for t in tensors if t.name in wanted], []
    found = [(t.name, NDArray(array_of(t, files))) for t in tensors]
    found += [(s.values.name, NDArray(dense(s, files))) for s in sparse]
    return [(name, data) for name, data in found if "float" in data.dtype and data.shape]
