"""A file as plain data: subgraphs of tensors and operators, with all numbers checked.

Data of constants stays where it is in the file until it is asked for.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import tflite
from flatbuffers import number_types as numbers

from relay.errors import FrontendError
from relay.frontend.common.naming import quoted
from relay.frontend.tflite.flatbuffer import (
    Checked,
    Steps,
    checked,
    part,
    parts,
    refused_kind,
    text,
    union,
    vector,
)
from relay.immutable import frozen

IDENTIFIER = b"TFL3"
LARGEST = 1 << 32  # bytes of a file
MOST_AXES = 64
CODE = 10  # the place of `builtin_code` in the table of an operator's code

Source: TypeAlias = "str | os.PathLike[str] | bytes | bytearray | memoryview | tflite.Model"


@frozen
class Quantization:
    """`real = scale * (integer - zero_point)`, for a tensor, or for each index of an axis."""

    scale: np.ndarray
    zero_point: np.ndarray
    axis: int


@frozen
class Sparsity:
    """Which elements of a tensor are stored: the order of the axes of its blocks, and each axis
    dense (its size) or compressed (its segments and indices)."""

    order: Sequence[int]
    blocks: Sequence[int]  # the axes that blocks divide
    axes: Sequence[int | tuple[np.ndarray, np.ndarray]]


@frozen
class TensorInfo:
    """What a file says of a tensor."""

    name: str
    code: int  # of the element type
    shape: tuple[int, ...]
    signature: tuple[int, ...] | None  # with -1 for dynamic extents, where there is one
    data: np.ndarray | None  # bytes of a constant
    quantization: Quantization | None
    sparsity: Sparsity | None
    is_variable: bool


@frozen
class OperatorInfo:
    """An operator of a subgraph; inputs and outputs are numbers of tensors, -1 where omitted."""

    name: str  # that of BuiltinOperator, or of a custom operator
    is_custom: bool
    version: int
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    intermediates: tuple[int, ...]
    options: Mapping[str, Any]
    custom: bytes


@frozen
class SubgraphInfo:
    """Tensors, and the operators on them in the order in which they run."""

    name: str
    tensors: Sequence[TensorInfo]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    operators: Sequence[OperatorInfo]


@frozen
class ModelInfo:
    """The subgraphs of a file, the first of which is the model."""

    origin: str
    subgraphs: Sequence[SubgraphInfo]


BUILTIN: Mapping[int, str] = {
    code: name for name, code in vars(tflite.BuiltinOperator).items() if not name.startswith("_")
}
_OPTIONS, _OPTIONS_2 = (
    {code: name for name, code in vars(kind).items() if not name.startswith("_")}
    for kind in (tflite.BuiltinOptions, tflite.BuiltinOptions2)
)


def read(source: Source) -> ModelInfo:
    """The model in a file, in bytes, or in an object of the package `tflite`."""
    data, place, origin = _opened(source)
    try:
        return _model(data, place, origin)
    except (ValueError, OverflowError, TypeError, IndexError) as error:
        raise FrontendError.of(f"the model is broken: {error}") from None


def _opened(source: Source) -> tuple[bytes, int | None, str]:
    """The bytes of a model, the place of its root where it is known, and its name in errors."""
    if isinstance(source, tflite.Model):
        table = source._tab
        return bytes(table.Bytes), int(table.Pos), "model"
    if isinstance(source, bytes | bytearray | memoryview):
        return bytes(source), None, "model"
    if not isinstance(source, str | os.PathLike):
        expected = "a path, bytes or a tflite.Model"
        raise FrontendError.of("this is no TFLite model", None, expected, type(source).__name__)
    path = Path(source)
    try:
        if path.stat().st_size > LARGEST:
            found = f"{path.stat().st_size} bytes"
            raise FrontendError.of(f"`{path.name}` is too large", None, f"{LARGEST} bytes", found)
        return path.read_bytes(), None, path.name
    except OSError as error:
        raise FrontendError.of(f"`{path}` cannot be read: {error.strerror}") from None
    except ValueError as error:  # not a valid file name
        raise FrontendError.of(f"{str(path)!r} cannot be read: {error}") from None


def _model(data: bytes, place: int | None, origin: str) -> ModelInfo:
    steps = Steps()
    if place is None:
        if len(data) < 8 or data[4:8] != IDENTIFIER:
            expected = f"{IDENTIFIER.decode()} from the fifth byte on"
            raise FrontendError.of(f"{quoted(origin)} is no TFLite model", None, expected)
        place = Checked(data, 0, steps).Indirect(0)
    root = tflite.Model()
    root._tab = Checked(data, place, steps)
    codes = [_code(one) for one in parts(root, "OperatorCodes")]
    buffers = [_buffer(one, data) for one in parts(root, "Buffers")]
    subgraphs = [_subgraph(one, codes, buffers) for one in parts(root, "Subgraphs")]
    if not subgraphs:
        raise FrontendError.of(f"{quoted(origin)} has no graph")
    return ModelInfo(origin, tuple(subgraphs))


def _code(one: Any) -> tuple[str, bool, int]:
    """The name of an operator, whether it is a custom one, and its version."""
    # the package reads small numbers from the older field only, which new files may leave out
    place = one._tab.Offset(CODE)
    newer = one._tab.Get(numbers.Int32Flags, place + one._tab.Pos) if place else 0
    code = max(newer, one.DeprecatedBuiltinCode())
    name = BUILTIN.get(code)
    if name is None:
        raise refused_kind("an operator", code)
    is_custom = name == "CUSTOM"
    return (text(one.CustomCode()) if is_custom else name), is_custom, int(one.Version())


def _buffer(one: Any, data: bytes) -> np.ndarray | None:
    """The bytes of a buffer; large files have them behind the flatbuffer."""
    offset, size = one.Offset(), one.Size()
    if offset > 1:
        if offset + size > len(data):
            raise FrontendError.of("the model is broken: data of a tensor is not in the file")
        return np.frombuffer(data, "uint8", size, offset)
    found = vector(one, "Data")
    return found if found.size else None


def _subgraph(
    one: Any, codes: Sequence[tuple[str, bool, int]], buffers: Sequence[np.ndarray | None]
) -> SubgraphInfo:
    tensors = tuple(_tensor(each, buffers) for each in parts(one, "Tensors"))
    operators = tuple(_operator(each, codes, len(tensors)) for each in parts(one, "Operators"))
    inputs, outputs = (
        _tensors(vector(one, name), len(tensors), optional=False) for name in ("Inputs", "Outputs")
    )
    return SubgraphInfo(text(one.Name()), tensors, inputs, outputs, operators)


def _tensors(given: np.ndarray, count: int, *, optional: bool) -> tuple[int, ...]:
    """Numbers of tensors."""
    if given.size and not (given.min() >= (-1 if optional else 0) and given.max() < count):
        message = "the model is broken: it refers to a tensor that is not there"
        found = str(given.tolist())[:80]
        raise FrontendError.of(message, expected=f"one of {count}", found=found)
    return tuple(given.tolist())


def _tensor(one: Any, buffers: Sequence[np.ndarray | None]) -> TensorInfo:
    name = text(one.Name())
    shape = tuple(vector(one, "Shape").tolist())
    signature = tuple(vector(one, "ShapeSignature").tolist()) or None
    if len(shape) > MOST_AXES or min(shape, default=0) < 0:
        message = f"tensor {quoted(name)} has an impossible shape"
        raise FrontendError.of(message, found=str(shape)[:80])
    if signature is not None and (len(signature) != len(shape) or min(signature) < -1):
        message = f"tensor {quoted(name)} has a signature that does not fit its shape"
        found = str(signature)[:80]
        raise FrontendError.of(message, expected=str(shape), found=found)
    place = one.Buffer()
    if not 0 <= place < max(len(buffers), 1):
        message = f"tensor {quoted(name)} has data that is not there"
        expected = f"one of {len(buffers)} buffers"
        raise FrontendError.of(message, expected=expected, found=str(place))
    data = buffers[place] if place else None
    quantization = part(one, "Quantization")
    sparsity = part(one, "Sparsity")
    return TensorInfo(
        name,
        one.Type(),
        shape,
        signature,
        data,
        None if quantization is None else _quantization(quantization, name, len(shape)),
        None if sparsity is None else _sparsity(sparsity),
        bool(one.IsVariable()),
    )


def _quantization(one: Any, name: str, rank: int) -> Quantization | None:
    scale = vector(one, "Scale").astype("float32")
    if not scale.size:
        return None
    zero_point = vector(one, "ZeroPoint").astype("int64")
    zero_point = zero_point if zero_point.size else np.zeros_like(scale, "int64")
    if zero_point.size == 1:
        zero_point = np.broadcast_to(zero_point, scale.shape)
    axis = int(one.QuantizedDimension())
    fits = zero_point.shape == scale.shape and (scale.size == 1 or 0 <= axis < rank)
    if not fits or not bool(np.isfinite(scale).all()):
        message = f"tensor {quoted(name)} has impossible quantization parameters"
        found = f"{scale.size} scales, {zero_point.size} zero points, axis {axis}"
        raise FrontendError.of(message, None, "finite scales, as many zero points", found)
    return Quantization(scale, zero_point, axis)


def _sparsity(one: Any) -> Sparsity:
    axes: list[int | tuple[np.ndarray, np.ndarray]] = []
    for axis in parts(one, "DimMetadata"):
        if axis.Format() == tflite.DimensionType.DENSE:
            axes.append(int(axis.DenseSize()))
            continue
        segments = _indices(axis, axis.ArraySegmentsType(), axis.ArraySegments())
        axes.append((segments, _indices(axis, axis.ArrayIndicesType(), axis.ArrayIndices())))
    order = tuple(vector(one, "TraversalOrder").tolist())
    return Sparsity(order, tuple(vector(one, "BlockMap").tolist()), tuple(axes))


# the tables of a vector of integers: of 32, 16 and 8 bits
_INDICES = {1: numbers.Int32Flags, 2: numbers.Uint16Flags, 3: numbers.Uint8Flags}


def _indices(axis: Any, kind: int, table: Any) -> np.ndarray:
    flags = _INDICES.get(kind)
    if flags is None or table is None:
        raise FrontendError.of("the model is broken: a sparse tensor has no indices")
    whole = Checked(table.Bytes, table.Pos, axis._tab.steps)
    place = whole.Offset(4)
    found = whole.GetVectorAsNumpy(flags, place) if place else np.zeros(0)
    return found.astype("int64")


def _operator(one: Any, codes: Sequence[tuple[str, bool, int]], tensors: int) -> OperatorInfo:
    place = one.OpcodeIndex()
    if not 0 <= place < len(codes):
        raise FrontendError.of("the model is broken: an operator has no name")
    name, is_custom, version = codes[place]
    inputs, outputs, between = (
        _tensors(vector(one, field), tensors, optional=True)
        for field in ("Inputs", "Outputs", "Intermediates")
    )
    steps: Steps = one._tab.steps
    options: dict[str, Any] = {}
    for names, kind, table in (
        (_OPTIONS, one.BuiltinOptionsType(), one.BuiltinOptions()),
        (_OPTIONS_2, one.BuiltinOptions2Type(), one.BuiltinOptions2()),
    ):
        if kind and kind not in names:
            raise refused_kind("options of an operator", kind)
        if kind and table is not None:
            options |= union(getattr(tflite, names[kind]), table, steps)
    custom = vector(one, "CustomOptions").astype("uint8").tobytes()
    return OperatorInfo(name, is_custom, version, inputs, outputs, between, options, custom)


__all__ = ["ModelInfo", "OperatorInfo", "SubgraphInfo", "TensorInfo", "checked", "read"]
