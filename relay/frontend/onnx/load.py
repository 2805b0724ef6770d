"""A path, bytes or a ModelProto as a ModelProto and its folder.

Nothing in a file is executed or trusted: a truncated file, or one that is no model, is an error
that says so.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import wraps
from itertools import chain
from pathlib import Path
from typing import ParamSpec, TypeVar

import onnx
from google.protobuf.message import DecodeError, EncodeError

from relay.errors import FrontendError
from relay.frontend.common.naming import quoted
from relay.frontend.onnx.functions import all_nodes, graphs_of
from relay.frontend.onnx.tensors import Files
from relay.frontend.onnx.types import innermost

Model = str | os.PathLike[str] | bytes | onnx.ModelProto

LARGEST = 2**31 - 1  # bytes; the limit of protobuf

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def load(model: Model) -> tuple[onnx.ModelProto, Files, str]:
    """The model, the folder of its external data, and its name in errors."""
    if isinstance(model, onnx.ModelProto):
        return model, Files(), quoted(model.graph.name or "model")[1:-1]
    if isinstance(model, bytes | bytearray | memoryview):
        return _parsed(bytes(model), "this"), Files(), "model"
    if not isinstance(model, str | os.PathLike):
        expected = "a path, bytes or an onnx.ModelProto"
        raise FrontendError.of("this is no ONNX model", None, expected, type(model).__name__)
    path = Path(model)
    try:
        if path.stat().st_size > LARGEST:
            raise FrontendError.of(
                f"`{path.name}` is no ONNX model: it is too large",
                expected=f"at most {LARGEST} bytes, with weights in other files",
                found=f"{path.stat().st_size} bytes",
            )
        data = path.read_bytes()
    except OSError as error:
        raise FrontendError.of(f"`{path}` cannot be read: {error.strerror}") from None
    except ValueError as error:  # not a valid file name
        raise FrontendError.of(f"{str(path)!r} cannot be read: {error}") from None
    return _parsed(data, f"`{path.name}`"), Files(path.resolve().parent), path.name


def _parsed(data: bytes, what: str) -> onnx.ModelProto:
    model = onnx.ModelProto()
    try:
        model.ParseFromString(data)
    except DecodeError:
        raise FrontendError.of(
            f"{what} is no ONNX model, or it is broken",
            found=f"{len(data)} bytes, which do not begin like a model of another format either",
        ) from None
    if not model.HasField("graph"):
        raise FrontendError.of(f"{what} has no graph: it is no ONNX model")
    return model


def readable(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """`function`, which reads a model, with a FrontendError for parts nested too deeply to copy."""

    @wraps(function)
    def checked(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        try:
            return function(*args, **kwargs)
        except (DecodeError, EncodeError) as error:
            raise FrontendError.of(f"the model is broken: {error}") from None

    return checked


def check_text(model: onnx.ModelProto) -> None:
    """Refuse a model with names that are not UTF-8, which protobuf gives as bytes, or with graphs
    nested too deeply."""
    for text in _texts(model):
        if not isinstance(text, str):
            message = "the model is broken: a name in it is no text"
            raise FrontendError.of(message, expected="UTF-8", found=repr(bytes(text[:40])))


def _texts(model: onnx.ModelProto) -> Iterator[str]:
    """All names in a model; graphs nested too deeply are refused."""
    yield from (one.domain for one in model.opset_import)
    yield from _texts_of_graph(model.graph)
    for function in model.functions:
        yield from (function.domain, function.name, function.overload)
        yield from (*function.input, *function.output, *function.attribute)
        yield from (one.name for one in function.attribute_proto)
        yield from (one.domain for one in function.opset_import)
    bodies = (model.graph.node, *(function.node for function in model.functions))
    for node in chain.from_iterable(map(all_nodes, bodies)):
        yield from (node.op_type, node.domain, node.name, node.overload)
        yield from (*node.input, *node.output)
        for attribute in node.attribute:
            yield from (attribute.name, attribute.ref_attr_name)
            for tensor in (attribute.t, *attribute.tensors):
                yield from _texts_of_tensor(tensor)
            for graph in graphs_of(attribute):
                yield from _texts_of_graph(graph)


def _texts_of_graph(graph: onnx.GraphProto) -> Iterator[str]:
    yield graph.name
    for value in (*graph.input, *graph.output):
        yield value.name
        tensor = innermost(value.type).tensor_type
        yield from (dim.dim_param for dim in tensor.shape.dim)
    for tensor in graph.initializer:
        yield from _texts_of_tensor(tensor)
    for sparse in graph.sparse_initializer:
        yield from _texts_of_tensor(sparse.values)


def _texts_of_tensor(tensor: onnx.TensorProto) -> Iterator[str]:
    yield tensor.name
    for entry in tensor.external_data:
        yield from (entry.key, entry.value)
