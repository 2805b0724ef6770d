"""A model of Keras as a module of Relay.

mod, params = from_keras(model, shape={"image": (4, 224, 224, 3)})
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from relay.check.infer import infer_module
from relay.errors import FrontendError, SourceName, Span, did_you_mean
from relay.frontend.common.builder import Builder
from relay.frontend.common.converters import Converters
from relay.frontend.common.layouts import LAYOUTS, channels_first
from relay.frontend.common.naming import quoted
from relay.frontend.common.scope import ImportScope
from relay.frontend.keras.config import LayerInfo, ModelInfo, broken, model_of, refs_in
from relay.frontend.keras.converters import built_in
from relay.frontend.keras.graph import Importer, tensors_in
from relay.frontend.keras.node import policy_of
from relay.frontend.keras.source import read
from relay.frontend.keras.survey import survey
from relay.ir.dims import Dim
from relay.ir.expr import Expr, Function, Tuple, Var
from relay.ir.module import IRModule
from relay.ir.types import ShapeVar, TensorType, TypeVar
from relay.nd import NDArray
from relay.prelude import Prelude
from relay.transform.functional.remove_unused_functions import RemoveUnusedFunctions

Shape = Sequence["Dim | None"]


def from_keras(
    model: Any,
    shape: Mapping[str, Shape] | Sequence[Shape] | None = None,
    *,
    layout: str | None = None,
    layers: Sequence[Converters] = (),
) -> tuple[IRModule, dict[str, NDArray]]:
    """The module of a model, and its parameters: the variables of its layers, by name.

    `model` is an object of Keras with any backend, or the path or the bytes of a `.keras` file or
    of an older `.h5` file. `shape` gives shapes of inputs, by name or in order; an extent that is
    None is open. With `layout="NCHW"` convolutions and pools have their channels first. `layers`
    are tables of converters of the user's own.
    """
    if layout not in (None, *LAYOUTS):
        expected = " or ".join(LAYOUTS)
        raise FrontendError.of("there is no such layout", None, expected, str(layout))
    tables = (*layers, *built_in())
    source = read(model, lambda found: survey(found, tables))
    info = model_of(source.model)
    module = Prelude().mod
    scope = ImportScope(module)
    inputs, sizes = _inputs(info, shape)
    importer = Importer(tables, source.assets)
    found = importer.model(info, source.store, scope, "", [*inputs])
    outputs = tensors_in(found)
    body: Expr = outputs[0] if len(outputs) == 1 else Tuple(tuple(outputs))
    weights = [variable for variable, _ in importer.params.values()]
    main = Function((*inputs, *weights), scope.closed(body), type_params=tuple(sizes))
    names = [ref.layer for ref in refs_in(info.outputs)]
    module["main"] = main.with_attr("output_tensor_names", names)
    module = infer_module(RemoveUnusedFunctions()(module))
    if layout == "NCHW":
        module = channels_first(module)
    params = {name: NDArray(data.copy()) for name, (_, data) in importer.params.items()}
    return module, params


def _inputs(
    model: ModelInfo, shapes: Mapping[str, Shape] | Sequence[Shape] | None
) -> tuple[list[Var], list[TypeVar]]:
    """Variables for the inputs of a model, and its dynamic sizes."""
    layers = [model.layers.get(ref.layer) for ref in refs_in(model.inputs)]
    names = [one.name for one in layers if one is not None and one.kind == "InputLayer"]
    if len(names) < len(layers):
        raise broken("an input is no input layer")
    given = _by_name(shapes, names)
    sizes: list[TypeVar] = []
    found = []
    for layer in layers:
        assert layer is not None  # above
        declared = _declared(layer) if layer.name not in given else given[layer.name]
        if declared is None:
            message = f"input {quoted(layer.name)} has no shape"
            hint = "give it: from_keras(model, shape={…})"
            raise FrontendError.of(message, hint=hint)
        extents: list[Dim] = []
        for axis, size in enumerate(declared):
            if size is None or (isinstance(size, int) and size < 0):
                size = ShapeVar(f"n{len(sizes)}" if axis == 0 else f"d{len(sizes)}")
                sizes.append(size)
            extents.append(size)
        node = Builder(
            "InputLayer", Span(SourceName(f"layer {quoted(layer.name)}")), ImportScope(IRModule())
        )
        dtype = policy_of(node, layer.config.get("dtype"))
        found.append(Var(layer.name, TensorType(tuple(extents), dtype)))
    return _with_one_batch(found, sizes, given), sizes


def _with_one_batch(
    inputs: list[Var], sizes: list[TypeVar], given: Mapping[str, Shape]
) -> list[Var]:
    """Inputs whose first extents are the same size: that of the batch, where none is given."""
    firsts = [
        ty.shape[0]
        for one in inputs
        if isinstance(ty := one.type_annotation, TensorType) and ty.shape
    ]
    opened = [one for one in firsts if isinstance(one, TypeVar)]
    if given or len(opened) < 2 or len(opened) < len(inputs):
        return inputs
    found = []
    for one in inputs:
        ty = one.type_annotation
        assert isinstance(ty, TensorType)
        found.append(Var(one.name_hint, TensorType((opened[0], *ty.shape[1:]), ty.dtype)))
    for other in opened[1:]:
        sizes.remove(other)
    return found


def _by_name(
    shapes: Mapping[str, Shape] | Sequence[Shape] | None, names: Sequence[str]
) -> Mapping[str, Shape]:
    """The shapes that are given, by the names of inputs."""
    if shapes is None:
        return {}
    if isinstance(shapes, Mapping):
        for name in shapes:
            if name not in names:
                raise FrontendError.of(
                    f"the model has no input {quoted(name)}",
                    expected=", ".join(map(quoted, names)),
                    hint=did_you_mean(name, names),
                )
        return shapes
    given: list[Any] = [*shapes]
    if len(names) == 1 and all(one is None or isinstance(one, int) for one in given):
        given = [given]  # the shape of the only input
    if len(given) != len(names):
        message = "there are other shapes than inputs"
        raise FrontendError.of(message, None, str(len(names)), str(len(given)))
    return dict(zip(names, given, strict=True))


def _declared(layer: LayerInfo) -> Shape | None:
    """The shape that an input layer declares."""
    if layer.config.get("sparse") or layer.config.get("ragged"):
        raise FrontendError.of(f"input {quoted(layer.name)} is sparse or ragged, not dense")
    shape = layer.config.get("batch_shape", layer.config.get("batch_input_shape"))
    if shape is None:
        return None
    if not isinstance(shape, list | tuple) or not all(
        one is None or (type(one) is int and 0 <= one < 2**31) for one in shape
    ):
        raise broken(f"the shape of input {quoted(layer.name)} is none", shape)
    return shape
