"""Uses of operators to test: the samples, with other element types and with other extents.

Extents are 0, 1, odd, prime and large ones, as far as the type relation accepts them.

    for use in uses(get("nn.dense")):
        …
"""

from __future__ import annotations

import dataclasses
import hashlib
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np

from relay import dtypes, te
from relay.errors import RelayError
from relay.ir.expr import op_names
from relay.ir.types import TensorType, TupleType, Type
from relay.op.opdef import OpDef, Sample, Tensor
from relay.op.shapes import output_type
from relay.testing.operators import SMALL, Use, leaves, size

T = TypeVar("T")

# Prefixes of operators that compute no elements.
NOT_COMPUTED = ("memory.", "vm.", "call_lowered", "require")

# Element types to try besides those of the samples.
ELEMENTS = (
    *("bool", "int2", "uint2", "int4", "uint4", "int8", "uint8", "int16", "uint16", "int32"),
    *("uint32", "int64", "uint64", "float16", "bfloat16", "float32", "float64"),
    *(*dtypes.FLOAT8, "float8_e8m0fnu", "float4_e2m1fn"),
)


def computed_names() -> list[str]:
    """The names of operators that compute elements."""
    return [name for name in op_names() if not name.startswith(NOT_COMPUTED)]


# elements: exceeds the caches of one core, and enough for several threads
LARGE = 400_000
WORK = 1_000_000_000  # multiplications in a convolution


def uses(op: OpDef, large: int = LARGE) -> Iterator[Use]:
    """The samples of an operator, then other element types, then other extents, up to `large`
    elements."""
    for i, sample in enumerate(op.samples):
        yield Use(op, sample, f"{op.name}-{i}")
    yield from with_other_elements(op)
    yield from with_other_extents(op, large)


def digest(name: str) -> int:
    """A stable hash."""
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "big")


def is_legal(op: OpDef, sample: Sample) -> bool:
    """Whether the type relation accepts the sample."""
    return _result_type(op, sample) is not None


def _result_type(op: OpDef, sample: Sample) -> Type | None:
    values = None if op.runtime_shape is None else sample.values()  # making values is slow
    try:
        return output_type(op, sample.types(), op.make_attrs(sample.attrs), values)
    except RelayError:
        return None


# --- other element types


def with_other_elements(op: OpDef) -> Iterator[Use]:
    """One use for each accepted element type that no sample has."""
    seen = {x.dtype for s in op.samples for x in leaves(s.args) if isinstance(x, Tensor)}
    for dtype in ELEMENTS:
        if dtype not in seen and (sample := accepted(op, dtype)) is not None:
            yield Use(op, sample, f"{op.name}-{dtype}")


def accepted(op: OpDef, dtype: str) -> Sample | None:
    """The first sample whose leading element type can be changed to `dtype`."""
    for sample in op.samples:
        leading = next((x.dtype for x in leaves(sample.args) if isinstance(x, Tensor)), None)
        if leading is None or size(sample) > SMALL:
            continue
        other = Sample(_retyped(sample.args, leading, dtype), sample.attrs)
        if is_legal(op, other):
            return other
    return None


def _retyped(args: Any, before: str, after: str) -> tuple[Any, ...]:
    return tuple(
        _retyped(a, before, after)
        if isinstance(a, tuple)
        else _as_dtype(a, after)
        if isinstance(a, Tensor) and a.dtype == before
        else a
        for a in args
    )


def _as_dtype(tensor: Tensor, dtype: str) -> Tensor:
    """The tensor with another element type, its range limited to that of the type."""
    low, high = tensor.low, tensor.high
    if dtypes.is_integer(dtype):
        lowest, highest = int(te.lowest(dtype).value), int(te.highest(dtype).value)
        low = min(max(int(low), lowest), highest - 1)
        high = max(min(int(high), highest), low + 1)
    elif dtype == "float8_e8m0fnu":  # has no sign
        low, high = 0.25, max(high, 4.0)
    elif dtype != "bool":
        low = min(max(low, -1e4), 1e4 - 1)  # what float16 holds
        high = max(min(high, 1e4), low + 1)
    return dataclasses.replace(tensor, dtype=dtype, low=low, high=high)


# --- other extents

# empty, one, and odd numbers below and above the number of vector lanes
EXTENTS = (0, 1, 5, 17, 37)


def with_other_extents(op: OpDef, large: int = LARGE) -> Iterator[Use]:
    """A use with each of `EXTENTS` somewhere, and some of `large` elements.

    An extent changes in one axis, or in every axis of the same extent; what the type relation
    refuses is left out.
    """
    seen = {_shapes(sample) for sample in op.samples}
    for turn, extent in enumerate(EXTENTS):
        for i, changed in _with_extent(op, extent, turn):
            if _shapes(changed) not in seen and size(changed) <= SMALL and is_legal(op, changed):
                seen.add(_shapes(changed))
                yield Use(op, changed, f"{op.name}-{i}-{_shape_text(changed)}", reshaped=True)
                break
    for enlarged in _enlarged(op, large):
        yield Use(op, enlarged, f"{op.name}-{_shape_text(enlarged)}", reshaped=True)


def at_other_extents(op: OpDef, sample: Sample, extents: Sequence[int]) -> Iterator[Sample]:
    """The legal samples of `with_extents`."""
    for changed in with_extents(sample, extents):
        if is_legal(op, changed):
            yield changed


def with_extents(sample: Sample, extents: Sequence[int]) -> Iterator[Sample]:
    """The sample with each of the extents in one axis, or in every axis of the same extent."""
    seen = {_shapes(sample)}
    for extent in extents:
        for changed in changed_extents(sample, lambda *_, extent=extent: extent):
            if _shapes(changed) not in seen and size(changed) <= SMALL:
                seen.add(_shapes(changed))
                yield changed


def _shapes(sample: Sample) -> tuple[tuple[int, ...], ...]:
    return tuple(np.shape(leaf) for leaf in leaves(sample.args))


def _shape_text(sample: Sample) -> str:
    return ",".join("x".join(map(str, shape)) or "scalar" for shape in _shapes(sample))


Change = Callable[[int, tuple[int, ...]], tuple[int, ...]]  # index of the tensor, its shape


def changed_extents(sample: Sample, new: Callable[[int, int], int]) -> Iterator[Sample]:
    """The sample with another extent in one axis, or in every axis of the same extent.

    `new` takes the extent and the number of elements of the changed tensors.
    """
    tensors = [leaf for leaf in leaves(sample.args) if isinstance(leaf, Tensor)]
    for position, tensor in enumerate(tensors):
        for axis, n in enumerate(tensor.shape):
            changed = new(n, math.prod(tensor.shape))
            yield _mapped(sample, _one_axis(position, axis, changed))
    for n in sorted({n for tensor in tensors for n in tensor.shape}, reverse=True):
        elements = sum(math.prod(tensor.shape) for tensor in tensors if n in tensor.shape)
        yield _mapped(sample, _all_axes(n, new(n, elements)))


def _all_axes(before: int, after: int) -> Change:
    return lambda _, shape: tuple(after if n == before else n for n in shape)


def _one_axis(position: int, axis: int, after: int) -> Change:
    def change(i: int, shape: tuple[int, ...]) -> tuple[int, ...]:
        return (*shape[:axis], after, *shape[axis + 1 :]) if i == position else shape

    return change


def _mapped(sample: Sample, change: Change) -> Sample:
    """The sample with other shapes."""
    count = 0

    def walk(args: Any) -> tuple[Any, ...]:
        nonlocal count
        found: list[Any] = []
        for arg in args:
            if isinstance(arg, Tensor):
                arg = dataclasses.replace(arg, shape=change(count, arg.shape))
                count += 1
            found.append(walk(arg) if isinstance(arg, tuple) else arg)
        return tuple(found)

    return Sample(walk(sample.args), sample.attrs)


def _with_extent(op: OpDef, extent: int, turn: int) -> Iterator[tuple[int, Sample]]:
    """Samples with that extent in some axis, with their indices, in an order rotated by `turn`."""
    for i in _rotated(range(len(op.samples)), turn):
        for changed in _rotated(list(changed_extents(op.samples[i], lambda *_: extent)), turn):
            yield i, changed


def _rotated(items: Sequence[T], turn: int) -> Sequence[T]:
    first = turn % max(1, len(items))
    return [*items[first:], *items[:first]]


def _enlarged(op: OpDef, large: int) -> list[Sample]:
    """Samples of at least `large` elements: with a large outer extent, and a large inner one."""

    def grown(extent: int, elements: int) -> int:
        return extent * -(-large // max(1, elements)) + 1

    for sample in op.samples:
        if 0 < size(sample) < large:
            changed = list(changed_extents(sample, grown))
            outer = next((one for one in changed if _is_large(op, one, large)), None)
            inner = next((one for one in reversed(changed) if _is_large(op, one, large)), None)
            if outer is not None and inner is not None:
                return [outer] if _shapes(outer) == _shapes(inner) else [outer, inner]
    return []


def _is_large(op: OpDef, sample: Sample, large: int) -> bool:
    """Whether the sample is legal and large, but within limits of elements and of work."""
    most = 4 * large
    if not large <= size(sample) <= most or (made := _result_type(op, sample)) is None:
        return False
    attrs = op.make_attrs(sample.attrs)
    window = math.prod(_shapes(sample)[1][1:]) if hasattr(attrs, "kernel_layout") else 1
    return _elements(made) <= most and _elements(made) * window <= WORK


def _elements(ty: Type) -> int:
    if isinstance(ty, TupleType):
        return sum(map(_elements, ty.fields))
    assert isinstance(ty, TensorType)
    return math.prod(n for n in ty.shape if isinstance(n, int))
