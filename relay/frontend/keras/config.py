"""The configuration of a model, which is data: layers, how they are called, inputs and outputs.

Keras 3, and Keras 2 with its lists of calls; functional models and sequential ones become the same:
calls of layers whose arguments are tensors (`Ref`), constants, and lists and mappings of both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from relay.errors import FrontendError
from relay.frontend.common.naming import quoted
from relay.immutable import frozen

DEEPEST = 200  # lists and mappings inside of each other
MOST_NODES = 1 << 22  # of a configuration
MODELS = frozenset({"Functional", "Model", "Sequential"})
GRAPHS = frozenset({"Functional", "Model"})


def broken(message: str, found: object = None) -> FrontendError:
    """The error about a configuration that is not one of Keras."""
    shown = None if found is None else repr(found)[:80]
    return FrontendError.of(f"the configuration is broken: {message}", found=shown)


@frozen
class Ref:
    """A tensor: a result of a call of a layer."""

    layer: str
    call: int
    place: int


@frozen
class Call:
    """The arguments of a call of a layer."""

    args: Sequence[Any]
    kwargs: Mapping[str, Any]


@frozen
class LayerInfo:
    """A layer, or an operation of `keras.ops`."""

    name: str
    kind: str  # the name of its class
    module: str
    registered: str  # the name under which a class of the user's is registered
    config: Mapping[str, Any]
    calls: Sequence[Call] = ()
    build: Mapping[str, Any] | None = None

    @property
    def is_operation(self) -> bool:
        return self.module.startswith(("keras.src.ops", "keras.ops"))

    @property
    def is_own(self) -> bool:
        """Whether it is a class of Keras itself."""
        return not self.module or self.module.partition(".")[0] in (
            "keras",
            "tensorflow",
            "tf_keras",
        )

    @property
    def is_model(self) -> bool:
        return self.kind in MODELS and self.is_own and not self.is_operation

    @property
    def is_trainable(self) -> bool:
        return self.config.get("trainable", True) is not False


@frozen
class ModelInfo:
    """A model: its layers in the order of the configuration, its inputs and its outputs."""

    name: str
    layers: Mapping[str, LayerInfo]
    inputs: Any  # a structure of `Ref`s
    outputs: Any


def check_depth(value: Any) -> None:
    """Refuse configurations that nest deeper than recursive functions may go."""
    level, count = [value], 0
    for _ in range(DEEPEST):
        level = [one for part in level for one in _parts(part)]
        count += len(level)
        if count > MOST_NODES:
            raise broken("it is too large")
        if not level:
            return
    raise broken(f"it nests deeper than {DEEPEST} levels")


def _parts(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        yield from value.values()
    elif isinstance(value, list | tuple):
        yield from value


def layer_of(value: Any) -> LayerInfo:
    """A layer from its configuration, without its calls."""
    if not isinstance(value, dict) or not isinstance(value.get("class_name"), str):
        raise broken("there is something else than a layer", value)
    config = value.get("config")
    if isinstance(config, list):  # a sequential model of Keras 1 and 2
        config = {"name": value.get("name", "sequential"), "layers": config}
    if not isinstance(config, dict):
        raise broken("a layer has no configuration", value.get("class_name"))
    name = config.get("name", value.get("name"))
    name = name if isinstance(name, str) else value["class_name"].lower()
    module, registered = value.get("module"), value.get("registered_name")
    kind = value["class_name"]
    package, _, last = kind.rpartition(">")
    return LayerInfo(
        name,
        last if package else kind,
        "custom" if package else module if isinstance(module, str) else "",
        registered if isinstance(registered, str) else kind if package else "",
        config,
        build=value.get("build_config") if isinstance(value.get("build_config"), dict) else None,
    )


def model_of(layer: LayerInfo) -> ModelInfo:
    """A model from the configuration of it as a layer."""
    layers = layer.config.get("layers")
    if not isinstance(layers, list):
        raise broken(f"model {quoted(layer.name)} has no list of layers", layers)
    reader = _sequential if layer.kind == "Sequential" else _functional
    return reader(layer, layers)


def _functional(model: LayerInfo, layers: Sequence[Any]) -> ModelInfo:
    found: dict[str, LayerInfo] = {}
    for one in layers:
        info = layer_of(one)
        name = one.get("name", info.name)
        if not isinstance(name, str) or name in found:
            raise broken("two layers have one name, or none", name)
        nodes = one.get("inbound_nodes", [])
        if not isinstance(nodes, list):
            raise broken(f"the calls of layer {quoted(name)} are no list", nodes)
        calls = tuple(_call(node) for node in nodes)
        parts = (info.kind, info.module, info.registered, info.config, calls, info.build)
        found[name] = LayerInfo(name, *parts)
    for name in ("input_layers", "output_layers"):
        if name not in model.config:
            raise broken(f"model {quoted(model.name)} has no `{name}`")
    inputs, outputs = (_refs(model.config[name]) for name in ("input_layers", "output_layers"))
    return ModelInfo(model.name, found, inputs, outputs)


def _sequential(model: LayerInfo, layers: Sequence[Any]) -> ModelInfo:
    """A sequential model; its first layer may declare the shape of the input."""
    infos = [layer_of(one) for one in layers]
    if not infos:
        raise broken(f"model {quoted(model.name)} has no layers")
    found: dict[str, LayerInfo] = {}
    if infos[0].kind == "InputLayer":
        first = infos.pop(0)
    else:
        first = _implied_input(model, infos[0])
    found[first.name] = _with_calls(first, (Call((), {}),))
    last = Ref(first.name, 0, 0)
    begin = last
    for info in infos:
        if info.name in found:
            raise broken("two layers have one name", info.name)
        found[info.name] = _with_calls(info, (Call((last,), {}),))
        last = Ref(info.name, 0, 0)
    return ModelInfo(model.name, found, [begin], [last])


def _with_calls(info: LayerInfo, calls: Sequence[Call]) -> LayerInfo:
    parts = (info.kind, info.module, info.registered, info.config, calls, info.build)
    return LayerInfo(info.name, *parts)


def _implied_input(model: LayerInfo, first: LayerInfo) -> LayerInfo:
    """The input that a sequential model has without a layer for it."""
    shape: Any = first.config.get("batch_input_shape", first.config.get("batch_shape"))
    inner = first.config.get("layers")
    if shape is None and first.is_model and isinstance(inner, list) and inner:
        shape = layer_of(inner[0]).config.get(
            "batch_shape", layer_of(inner[0]).config.get("batch_input_shape")
        )
    if shape is None:
        shape = model.config.get("build_input_shape")
    if shape is None and model.build is not None:
        shape = model.build.get("input_shape")
    if shape is None and first.build is not None:
        shape = first.build.get("input_shape")
    dtype = "int32" if first.kind == "Embedding" else first.config.get("dtype", "float32")
    config = {"batch_shape": shape, "dtype": dtype}
    return LayerInfo("input", "InputLayer", "keras.layers", "", config)


def _refs(value: Any) -> Any:
    """Inputs or outputs: `[layer, call, place]`, or lists and mappings of such."""
    if isinstance(value, list | tuple):
        if _is_ref(value):
            return Ref(*value)
        return [_refs(one) for one in value]
    if isinstance(value, dict):
        return {str(name): _refs(one) for name, one in value.items()}
    raise broken("an input or output is no result of a layer", value)


def _is_ref(value: Sequence[Any]) -> bool:
    return len(value) == 3 and isinstance(value[0], str) and all(type(n) is int for n in value[1:])


def _call(node: Any) -> Call:
    """A call of a layer."""
    if isinstance(node, dict) and "args" in node:
        args, kwargs = node.get("args"), node.get("kwargs", {})
        if not isinstance(args, list | tuple) or not isinstance(kwargs, dict):
            raise broken("a call has no list of arguments", node)
        return Call(
            [value_of(one) for one in args], {key: value_of(one) for key, one in kwargs.items()}
        )
    return _old_call(node)


def _old_call(node: Any) -> Call:
    """A call as Keras 2 writes it: a list of `[layer, call, place, keyword arguments]`."""
    if isinstance(node, dict):
        raise broken("a call has arguments by name only", [*node][:4])
    if not isinstance(node, list) or not node:
        raise broken("a call has no list of tensors", node)
    if isinstance(node[0], str):
        node = [node]
    tensors, kwargs = [], {}
    for one in node:
        if not isinstance(one, list) or len(one) not in (3, 4) or not _is_ref(one[:3]):
            raise broken("an argument of a call is no tensor", one)
        tensors.append(Ref(*one[:3]))
        if len(one) == 4 and isinstance(one[3], dict):
            kwargs.update({key: _old_value(value) for key, value in one[3].items()})
    return Call([tensors[0] if len(tensors) == 1 else tensors], kwargs)


def _old_value(value: Any) -> Any:
    if isinstance(value, list):
        if len(value) in (3, 4) and _is_ref(value[:3]):
            if value[0] == "_CONSTANT_VALUE":
                return value[2]
            return Ref(*value[:3])
        return [_old_value(one) for one in value]
    return value


def value_of(value: Any) -> Any:
    """An argument of a call: tensors become `Ref`s, what Keras wraps becomes what it stands for."""
    if isinstance(value, list | tuple):
        return [value_of(one) for one in value]
    if not isinstance(value, dict):
        return value
    kind, config = value.get("class_name"), value.get("config")
    match kind, config:
        case "__keras_tensor__", {"keras_history": [*place]} if _is_ref(place):
            return Ref(*place)
        case (("__tensor__" | "__numpy__"), {"value": data, "dtype": str(dtype)}):
            return array_of(data, dtype)
        case "__slice__", {"start": start, "stop": stop, "step": step}:
            return slice(value_of(start), value_of(stop), value_of(step))
        case "__ellipsis__", _:
            return ...
        case (("__lambda__" | "__bytes__" | "__typespec__" | "__keras_tensor__"), _):
            raise broken("an argument is no data", kind)
        case str(), dict() if "module" in value or "registered_name" in value:
            return value  # an object of Keras, which its converter knows
    return {str(key): value_of(one) for key, one in value.items()}


def array_of(data: Any, dtype: str) -> np.ndarray:
    """A constant tensor among arguments."""
    try:
        return np.asarray(data).astype(dtype)
    except (TypeError, ValueError) as error:
        raise broken("a constant is no tensor of numbers", str(error)) from None


def refs_in(value: Any) -> Iterator[Ref]:
    """The tensors in a structure, in its order."""
    if isinstance(value, Ref):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from refs_in(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from refs_in(one)
    elif isinstance(value, slice):
        yield from refs_in([value.start, value.stop, value.step])
