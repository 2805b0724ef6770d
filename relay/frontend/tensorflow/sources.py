"""The forms in which models come, as a graph with inputs, results and variables.

a path, or bytes        a frozen `GraphDef`, or a saved model
a folder                a saved model
a `GraphDef`, a `Graph`, a concrete function      what TensorFlow writes of it
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from relay.errors import FrontendError, did_you_mean
from relay.frontend.common.naming import quoted
from relay.frontend.tensorflow.messages import (
    Functions,
    GraphInfo,
    Reference,
    functions_of,
    graph_of,
    reference_of,
)
from relay.frontend.tensorflow.saved_model import FILE, is_saved_model, saved_model_of
from relay.frontend.tensorflow.types import Shape
from relay.frontend.tensorflow.wire import Budget, Message
from relay.immutable import frozen

LARGEST = 1 << 31  # bytes of a file: messages are not larger
PLACEHOLDERS = ("Placeholder", "PlaceholderV2")

Source: TypeAlias = Any  # a path, bytes, or an object of TensorFlow


@frozen
class InputInfo:
    """An input: the output that it stands for, its element type and shape."""

    name: str
    reference: Reference
    dtype: str
    shape: Shape | None


@frozen
class Model:
    """A graph, its inputs and results by name, and where values of variables come from."""

    origin: str
    graph: GraphInfo
    functions: Functions
    inputs: Sequence[InputInfo]
    outputs: Mapping[str, Reference]
    load: Callable[[str], np.ndarray | None]
    names: Mapping[str, str]  # of variables, where they differ from those of handles
    captured: Mapping[str, Any]  # values of inputs that a function has from outside
    effects: Sequence[str] = ()


def read(
    source: Source,
    outputs: Sequence[str] | None,
    signature: str | None,
    tags: Sequence[str] | None,
) -> Model:
    """The model in a file, a folder, bytes or an object of TensorFlow."""
    try:
        return _read(source, outputs, signature, tags)
    except (ValueError, OverflowError, TypeError, IndexError) as error:
        raise FrontendError.of(f"the model is broken: {error}") from None


def _read(
    source: Source,
    outputs: Sequence[str] | None,
    signature: str | None,
    tags: Sequence[str] | None,
) -> Model:
    if isinstance(source, bytes | bytearray | memoryview):
        return _of_bytes(bytes(source), None, "model", outputs, signature, tags)
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        if is_saved_model(path):
            return _of_bytes(_bytes(path / FILE), path, path.name, outputs, signature, tags)
        if path.is_dir():
            text = f"`{path}` is no saved model"
            raise FrontendError.of(text, None, f"a folder with `{FILE}`")
        folder = path.parent if path.name == FILE else None
        return _of_bytes(_bytes(path), folder, path.name, outputs, signature, tags)
    if isinstance(source, Model):
        return source
    from relay.frontend.tensorflow.functions import model_of_object

    return model_of_object(source, outputs)


def with_variables(model: Model, values: Mapping[str, np.ndarray]) -> Model:
    """A model whose variables have values by the names of their handles."""
    return replace(model, load=values.get)


def _bytes(path: Path) -> bytes:
    try:
        if path.stat().st_size > LARGEST:
            found = f"{path.stat().st_size} bytes"
            raise FrontendError.of(f"`{path.name}` is too large", None, f"{LARGEST} bytes", found)
        return path.read_bytes()
    except OSError as error:
        raise FrontendError.of(f"`{path}` cannot be read: {error.strerror}") from None
    except ValueError as error:  # not a valid file name
        raise FrontendError.of(f"{str(path)!r} cannot be read: {error}") from None


def _of_bytes(
    data: bytes,
    folder: Path | None,
    origin: str,
    outputs: Sequence[str] | None,
    signature: str | None,
    tags: Sequence[str] | None,
) -> Model:
    root = Message(data, Budget())
    if is_saved(root):
        return _of_saved_model(root, folder, origin, outputs, signature, tags)
    if signature is not None or tags is not None:
        raise FrontendError.of("signatures and tags are those of saved models, not of graphs")
    return of_graph(root, origin, outputs)


def is_saved(root: Message) -> bool:
    """Whether a message is a saved model: its first field is a number, that of a graph a node."""
    return bool(root.all(1)) and isinstance(root.all(1)[0], int) and root.has(2)


def _of_saved_model(
    root: Message,
    folder: Path | None,
    origin: str,
    outputs: Sequence[str] | None,
    signature: str | None,
    tags: Sequence[str] | None,
) -> Model:
    saved = saved_model_of(root, folder, signature, tags)
    inputs = [
        InputInfo(name, one.reference, one.dtype, one.shape)
        for name, one in saved.signature.inputs.items()
    ]
    results = {name: one.reference for name, one in saved.signature.outputs.items()}
    if outputs is not None:
        results = {name: _output(name, results, saved.graph) for name in outputs}
    return Model(origin, saved.graph, saved.functions, inputs, results, saved.variable, {}, {})


def _output(name: str, named: Mapping[str, Reference], graph: GraphInfo) -> Reference:
    """A result by its name in a signature, or as an output of a node."""
    if name in named:
        return named[name]
    reference = reference_of(name)
    if reference[0] not in graph.nodes:
        expected = ", ".join(map(quoted, named)) or "the name of a node"
        hint = did_you_mean(name, named or graph.nodes)
        raise FrontendError.of(f"the model has no output {quoted(name)}", None, expected, hint=hint)
    return reference


def of_graph(root: Message, origin: str, outputs: Sequence[str] | None) -> Model:
    """The model of a `GraphDef`."""
    graph, functions = graph_of(root), functions_of(root)
    if not graph.nodes:
        raise FrontendError.of(f"{quoted(origin)} is no graph of TensorFlow")
    if outputs is None:
        results = {name: (name, 0) for name in last_nodes(graph)}
    else:
        results = {name: _output(name, {}, graph) for name in outputs}
    if not results:
        raise FrontendError.of("nothing says what the results are", hint="name them by `outputs`")
    return Model(origin, graph, functions, placeholders(graph), results, _none, {}, {})


def _none(name: str) -> np.ndarray | None:
    return None


def placeholders(graph: GraphInfo) -> list[InputInfo]:
    """The inputs of a graph."""
    return [
        InputInfo(
            node.name,
            (node.name, 0),
            str(node.attribute("dtype", "float32")),
            node.attribute("shape"),
        )
        for node in graph.nodes.values()
        if node.op in PLACEHOLDERS
    ]


_NO_RESULTS = frozenset(
    {"NoOp", "Const", "Assert", "Placeholder", "Assign", "AssignVariableOp", "SaveV2", "Print"}
)


def last_nodes(graph: GraphInfo) -> list[str]:
    """Nodes without consumers: the default outputs of a `GraphDef`."""
    read_nodes = {name for node in graph.nodes.values() for name, _ in node.inputs}
    return [
        name
        for name, node in graph.nodes.items()
        if name not in read_nodes and node.op not in _NO_RESULTS
    ]
