"""A model as it is given (a path, bytes, a ModelProto) as a ModelProto and the folder it is in.

Nothing in a file is executed, and nothing is taken for granted: a file that is cut short, or no
model at all, is an error that says so.
"""

from __future__ import annotations

import os
from pathlib import Path

import onnx
from google.protobuf.message import DecodeError

from relay.errors import Diagnostic, FrontendError
from relay.frontend.onnx.tensors import Files

Model = str | os.PathLike[str] | bytes | onnx.ModelProto


def load(model: Model) -> tuple[onnx.ModelProto, Files, str]:
    """The model, where its external data may be, and what errors call it."""
    if isinstance(model, onnx.ModelProto):
        return model, Files(), model.graph.name or "model"
    if isinstance(model, bytes | bytearray | memoryview):
        return _parsed(bytes(model), "this"), Files(), "model"
    if not isinstance(model, str | os.PathLike):
        raise FrontendError(
            Diagnostic(
                "this is no ONNX model",
                expected="a path, bytes or an onnx.ModelProto",
                found=type(model).__name__,
            )
        )
    path = Path(model)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise FrontendError(Diagnostic(f"`{path}` cannot be read: {error.strerror}")) from None
    return _parsed(data, f"`{path.name}`"), Files(path.resolve().parent), path.name


def _parsed(data: bytes, what: str) -> onnx.ModelProto:
    model = onnx.ModelProto()
    try:
        model.ParseFromString(data)
    except DecodeError:
        raise FrontendError(
            Diagnostic(f"{what} is no ONNX model, or it is broken", found=f"{len(data)} bytes")
        ) from None
    if not model.HasField("graph"):
        raise FrontendError(Diagnostic(f"{what} has no graph: it is no ONNX model"))
    return model
