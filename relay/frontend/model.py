"""What can be compiled, as a module: modules, expressions, functions of Python, and models of ONNX,
TensorFlow, TFLite, Keras, MXNet and PyTorch."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Mapping, Sequence
from typing import IO, TYPE_CHECKING, Any, TypeAlias

from relay.errors import RelayError
from relay.immutable import frozen
from relay.ir.expr import Expr
from relay.ir.module import HasModule, IRModule

if TYPE_CHECKING:
    import keras
    import tflite
    from onnx import ModelProto
    from torch.export import ExportedProgram
    from torch.jit import ScriptFunction, ScriptModule
    from torch.nn import Module

# A path, bytes or a ModelProto is an ONNX model, unless a file says that it is of TFLite, Keras,
# MXNet or TensorFlow; a folder is a saved model of TensorFlow; a path that ends in .pt2 is an
# exported program, one in .pt or .jit TorchScript.
Model: TypeAlias = (
    "IRModule | Expr | HasModule | str | os.PathLike[str] | bytes | ModelProto | Module"
    " | ExportedProgram | ScriptModule | ScriptFunction[Any, Any] | tflite.Model | keras.Model"
)
TFLITE = slice(4, 8), b"TFL3"  # where a file of TFLite says what it is
SYMBOL_START = 1024  # bytes in which a symbol of MXNet has its first node
GRAPH_START = 32  # bytes that tell models of TensorFlow from others
HDF5, ZIP = b"\x89HDF\r\n\x1a\n", b"PK\x03\x04"  # how files begin


@frozen
class Example:
    """Example inputs of a model of PyTorch: what `relay.frontend.from_pytorch` takes besides it."""

    inputs: Sequence[Any] | None = None
    kwargs: Mapping[str, Any] | None = None
    dynamic_shapes: Any = None
    input_infos: Sequence[Any] | None = None

    @staticmethod
    def of(model: Model, params: Any, **rest: Any) -> tuple[Mapping[str, Any] | None, Example]:
        """The weights among the arguments of `relay.compile`, and the example inputs: its second
        argument is the ones for a model of PyTorch, the others for all others."""
        if is_pytorch(model):
            if isinstance(params, Mapping):
                raise RelayError(
                    "a mapping is for the weights of other models, and a model of PyTorch has its "
                    "own: give example inputs, relay.compile(model, (x, y)), those by name as "
                    "kwargs={…}"
                )
            if params is not None and not isinstance(params, Sequence):
                raise RelayError(
                    "example inputs are a tuple: relay.compile(model, (x,)), found a "
                    f"{type(params).__name__}"
                )
            return None, Example(params, **rest)
        if given := [name for name, value in rest.items() if value is not None]:
            raise RelayError(f"`{given[0]}` is for models of PyTorch, found a {_name(model)}")
        return params, Example()


def is_pytorch(model: Any) -> bool:
    """Whether it is a model of PyTorch, or the path of one; nothing is imported."""
    if isinstance(model, str | os.PathLike):
        return os.fspath(model).endswith((".pt2", ".pt", ".jit"))
    if (torch := sys.modules.get("torch")) is None or is_keras(model):
        return False
    kinds = [torch.nn.Module, torch.jit.ScriptFunction]
    if (export := sys.modules.get("torch.export")) is not None:
        kinds.append(export.ExportedProgram)
    return isinstance(model, tuple(kinds))


def as_module(model: Model, example: Example | None = None) -> tuple[IRModule, Mapping[str, Any]]:
    """The module of a model, which may be changed, and the weights that come with it, by name."""
    if isinstance(model, HasModule):
        model = model.__relay_module__()
    if isinstance(model, IRModule):
        if "main" not in model:
            raise RelayError("the module has no function `@main` to compile")
        return model.copy(), {}
    if isinstance(model, Expr):
        return IRModule.from_expr(model), {}
    if is_pytorch(model):
        from relay.frontend import from_pytorch

        given = example or Example()
        named = {
            name: value
            for name in ("kwargs", "dynamic_shapes", "input_infos")
            if (value := getattr(given, name)) is not None
        }
        return from_pytorch(model, given.inputs, **named)  # type: ignore[no-any-return]
    if is_tflite(model):
        from relay.frontend import from_tflite

        return from_tflite(model)  # type: ignore[no-any-return]
    if is_keras(model):
        from relay.frontend import from_keras

        return from_keras(model)  # type: ignore[no-any-return]
    if is_mxnet(model):
        from relay.frontend import from_mxnet

        return from_mxnet(model)  # type: ignore[no-any-return]
    if is_tensorflow(model):
        from relay.frontend import from_tensorflow

        return from_tensorflow(model)  # type: ignore[no-any-return]
    if isinstance(model, str | bytes | os.PathLike) or type(model).__name__ == "ModelProto":
        from relay.frontend import from_onnx  # needs packages that other models do not

        try:
            return from_onnx(model, freeze_params=None)  # type: ignore[no-any-return]
        except RelayError:  # the model may use a weight where a constant is needed
            return from_onnx(model)  # type: ignore[no-any-return]
    raise RelayError(
        f"cannot compile a {_name(model)}; give a relay.IRModule, a relay.Function or another "
        "expression, a model of ONNX (its path, its bytes or an onnx.ModelProto), of TFLite "
        "(its path, its bytes or a tflite.Model), of Keras (a keras.Model, or the path or the "
        "bytes of a .keras or .h5 file), of MXNet (the path of a symbol) or of TensorFlow "
        "(a saved model, a frozen graph, a concrete function), or one of PyTorch: a "
        "torch.nn.Module with "
        "example inputs, a torch.export.ExportedProgram, the path of a .pt2 file, or "
        "a scripted module"
    )


def _name(model: Any) -> str:
    return type(model).__name__


def is_tflite(model: object) -> bool:
    """Whether a model is one of TFLite: a file or bytes that say so, or a `tflite.Model`."""
    place, identifier = TFLITE
    if isinstance(model, bytes):
        return model[place] == identifier
    if isinstance(model, str | os.PathLike):
        try:
            with open(model, "rb") as file:
                return file.read(place.stop)[place] == identifier
        except (OSError, ValueError):
            return False  # reported where it is read
    kind = type(model)
    return kind.__name__ == "Model" and kind.__module__.partition(".")[0] == "tflite"


def is_tensorflow(model: object) -> bool:
    """Whether a model is one of TensorFlow: the folder of a saved model, a file or bytes with one
    or with a graph, or an object of TensorFlow."""
    if isinstance(model, str | os.PathLike) and os.path.isdir(model):
        return True
    if isinstance(model, bytes):
        return _is_graph(model[:GRAPH_START], len(model))
    if isinstance(model, str | os.PathLike):
        try:
            with open(model, "rb") as file:
                return _is_graph(file.read(GRAPH_START), os.fstat(file.fileno()).st_size)
        except (OSError, ValueError):
            return False  # reported where it is read
    return type(model).__module__.partition(".")[0] == "tensorflow"


def _is_graph(start: bytes, size: int) -> bool:
    """Whether a file begins as a saved model or a graph of TensorFlow does; models of ONNX have a
    number first, too, but no message after it that is most of the file."""
    if not start:
        return False
    if start[:1] == b"\x0a":  # the first node: its name, its operator
        length, place = _varint(start, 1)
        name = start[place : place + 1]
        return 0 < length < size and name == b"\x0a"
    if start[:2] != b"\x08\x01" or start[2:3] != b"\x12":
        return False
    # a saved model: version 1, then a graph with its description; a model of ONNX has the name of
    # its producer there
    length, place = _varint(start, 3)
    return length > size // 2 and start[place : place + 1] == b"\x0a"


def _varint(data: bytes, place: int) -> tuple[int, int]:
    value = shift = 0
    while place < len(data) and shift < 64:
        byte = data[place]
        value |= (byte & 127) << shift
        place, shift = place + 1, shift + 7
        if byte < 128:
            break
    return value, place


def is_mxnet(model: object) -> bool:
    """Whether a model is one of MXNet: the path, the text or the bytes of a symbol in JSON, or an
    object of MXNet."""
    if isinstance(model, bytes):
        return _is_symbol(model[:SYMBOL_START])
    if isinstance(model, str) and model.lstrip()[:1] == "{":
        return _is_symbol(model[:SYMBOL_START].encode())
    if isinstance(model, str | os.PathLike):
        try:
            with open(model, "rb") as file:
                return _is_symbol(file.read(SYMBOL_START))
        except (OSError, ValueError):
            return False  # reported where it is read
    kinds = [one.__module__.partition(".")[0] for one in type(model).__mro__]
    return "mxnet" in kinds


def _is_symbol(start: bytes) -> bool:
    return start.lstrip()[:1] == b"{" and b'"nodes"' in start and b'"op"' in start


def is_keras(model: object) -> bool:
    """Whether a model is one of Keras: an object, or a file or bytes that say so."""
    if isinstance(model, bytes):
        return is_keras_file(io.BytesIO(model))
    if isinstance(model, str | os.PathLike):
        try:
            with open(model, "rb") as file:
                return is_keras_file(file)
        except (OSError, ValueError):
            return False  # reported where it is read
    keras = sys.modules.get("keras")
    return keras is not None and isinstance(model, keras.Layer)


def is_keras_file(file: IO[bytes]) -> bool:
    """Whether a file is HDF5, or an archive with the entries of a `.keras` file."""
    start = file.read(len(HDF5))
    if start == HDF5:
        return True
    if not start.startswith(ZIP):
        return False
    import zipfile

    try:
        with zipfile.ZipFile(file) as archive:
            return {"config.json", "metadata.json"} <= {*archive.namelist()}
    except (OSError, ValueError, zipfile.BadZipFile):
        return False
