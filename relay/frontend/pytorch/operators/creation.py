"""Tensors made from sizes and a few numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from relay import dtypes, op
from relay.frontend.common.builder import int64, static
from relay.frontend.pytorch.converters import Converters
from relay.frontend.pytorch.node import Node, Number, Size
from relay.frontend.pytorch.operators.conversion import converted
from relay.frontend.pytorch.operators.slicing import minus
from relay.frontend.pytorch.promotion import cast
from relay.frontend.pytorch.scope import Complex
from relay.frontend.pytorch.types import COMPLEX
from relay.ir.dims import Symbol
from relay.ir.expr import Expr, Tuple, const

table = Converters()

# --- filled with one value ---------------------------------------------------------------------


def filled(node: Node, value: Number, sizes: Sequence[Size], dtype: Any) -> Expr | Complex:
    """A tensor filled with a value."""
    if isinstance(dtype, torch.dtype):
        number = complex(value) if isinstance(value, int | float | complex) else value
        real, imaginary = (
            (number.real, number.imag) if isinstance(number, complex) else (number, 0.0)
        )
        parts = [filled(node, one, sizes, COMPLEX[dtype]) for one in (real, imaginary)]
        assert all(isinstance(one, Expr) for one in parts)
        return Complex(node.let(op.stack(Tuple(tuple(parts)), -1)))  # type: ignore[arg-type]
    known = [node.known(one) for one in sizes]
    if isinstance(value, Expr):
        scalar = cast(node, node.let(op.reshape(value, ())), dtype)
    else:
        scalar = node.scalar(_wrapped(value, dtype), dtype)
    numbers = static(known)
    if numbers is not None:
        return node.let(op.full(scalar, numbers, dtype=dtype))
    return node.declare(op.full(scalar, node.sizes(sizes), dtype=dtype), known, dtype)


def _wrapped(value: Any, dtype: str) -> Any:
    """A Python number as an element; what an integer does not hold wraps around."""
    if (
        not isinstance(value, int | float)
        or isinstance(value, bool)
        or not dtypes.is_integer(dtype)
    ):
        return bool(value) if dtype == "bool" and isinstance(value, int | float) else value
    bits, number = dtypes.bits(dtype), int(value)
    wrapped = number % (1 << bits)
    signed = dtype in dtypes.SIGNED and wrapped >= 1 << (bits - 1)
    return wrapped - (1 << bits) if signed else wrapped


def _type_of(value: Any) -> Any:
    """The element type that torch gives a Python number."""
    if isinstance(value, complex):
        return torch.complex64
    if isinstance(value, bool):
        return "bool"
    return "float32" if isinstance(value, float) else "int64"


@table("full")
def full(
    node: Node, size: Sequence[Size], fill_value: Number, dtype: Any = None, **_: Any
) -> Expr | Complex:
    if dtype is None:
        is_tensor = isinstance(fill_value, Expr)
        dtype = node.dtype(fill_value) if is_tensor else _type_of(fill_value)  # type: ignore[arg-type]
    return filled(node, fill_value, size, dtype)


@table("zeros", "empty", "ones", "empty_permuted", "empty_strided", "_efficientzerotensor")
def plain(
    node: Node, size: Sequence[Size], *_: Any, dtype: Any = None, **__: Any
) -> Expr | Complex:
    """empty: memory without given values is zeros."""
    value = 1 if node.operator == "aten.ones" else 0
    return filled(node, value, size, dtype or "float32")


@table("zeros_like", "empty_like", "ones_like")
def plain_like(node: Node, self: Expr, dtype: Any = None, **_: Any) -> Expr | Complex:
    return _like(node, self, 1 if node.operator == "aten.ones_like" else 0, dtype)


@table("full_like")
def full_like(
    node: Node, self: Expr, fill_value: Number, dtype: Any = None, **_: Any
) -> Expr | Complex:
    return _like(node, self, fill_value, dtype)


def _like(node: Node, data: Expr, value: Number, dtype: Any) -> Expr | Complex:
    wanted = dtype or node.dtype(data)
    if isinstance(wanted, torch.dtype) or static(node.shape(data)) is not None:
        return filled(node, value, node.extents_of(data), wanted)
    ones = node.let(op.zeros_like(cast(node, data, wanted)))
    if isinstance(value, Expr):
        scalar = cast(node, node.let(op.reshape(value, ())), wanted)
    else:
        scalar = node.scalar(_wrapped(value, wanted), wanted)
    return op.full_like(ones, scalar)


@table("fill", "zero")
def fill(node: Node, self: Expr, value: Number = 0) -> Expr | Complex:
    return _like(node, self, value, None)


@table("new_zeros", "new_empty", "new_ones", "new_empty_strided")
def new(
    node: Node, self: Expr, size: Sequence[Size], *_: Any, dtype: Any = None, **__: Any
) -> Expr | Complex:
    value = 1 if node.operator == "aten.new_ones" else 0
    return filled(node, value, size, dtype or node.dtype(self))


@table("new_full")
def new_full(
    node: Node, self: Expr, size: Sequence[Size], fill_value: Number, dtype: Any = None, **_: Any
) -> Expr | Complex:
    return filled(node, fill_value, size, dtype or node.dtype(self))


# --- ranges ------------------------------------------------------------------------------------


@table("arange.default", "range.default")
def arange(node: Node, end: Number, dtype: Any = None, **_: Any) -> Expr:
    return counted(node, 0, end, 1, dtype)


@table("arange.start")
def arange_from(node: Node, start: Number, end: Number, dtype: Any = None, **_: Any) -> Expr:
    return counted(node, start, end, 1, dtype)


@table("arange.start_step")
def arange_by(
    node: Node, start: Number, end: Number, step: Number = 1, dtype: Any = None, **_: Any
) -> Expr:
    return counted(node, start, end, step, dtype)


def counted(node: Node, start: Number, end: Number, step: Number, dtype: str | None) -> Expr:
    """start, start + step, … before the end."""
    given = (start, end, step)
    floats = any(_is_float(node, one) for one in given)
    dtype = dtype or ("float32" if floats else "int64")
    if not floats:
        found = _steps(node, given, "int64")
        if step == 1 and not isinstance(start, Expr) and not isinstance(end, Expr):
            length = minus(node, end, start)  # type: ignore[arg-type]
            if isinstance(length, Symbol):
                found = node.declare(found, (length,), "int64")
        return cast(node, found, dtype)
    if dtype == "int64":
        whole = [cast(node, node.tensor(one), dtype) for one in given]
        return _steps(node, whole, dtype)
    found = _steps(node, given, "float64")  # and rounded once
    if dtypes.is_integer(dtype):
        # integers, as many as there would be of floats
        first, _, by = (cast(node, node.tensor(one), "int64") for one in given)
        found = node.let(first + by * node.positions(found, 0))
    return cast(node, found, dtype)


def _steps(node: Node, given: Sequence[Number], dtype: str) -> Expr:
    first, end, step = (node.scalar(one, dtype) for one in given)
    return node.let(op.arange(first, end, step, dtype=dtype))


def _is_float(node: Node, value: Number) -> bool:
    if isinstance(value, Expr):
        return dtypes.is_float(node.dtype(value))
    return isinstance(value, float)


@table("range.step")
def closed_range(
    node: Node, start: Number, end: Number, step: Number = 1, dtype: Any = None, **_: Any
) -> Expr:
    """range: like arange, but includes the end."""
    count = math.floor((float(end) - float(start)) / float(step)) + 1  # type: ignore[arg-type]
    numbers = float(start) + float(step) * np.arange(count)  # type: ignore[arg-type]
    wanted = dtype or "float32"
    return node.let(const(numbers.astype(dtypes.to_numpy(wanted)), wanted))


@table("linspace")
def linspace(
    node: Node, start: Number, end: Number, steps: Size, dtype: Any = None, **_: Any
) -> Expr | Complex:
    return converted(node, _between(node, start, end, steps), dtype or "float32")


@table("logspace")
def logspace(
    node: Node,
    start: Number,
    end: Number,
    steps: Size,
    base: float = 10.0,
    dtype: Any = None,
    **_: Any,
) -> Expr | Complex:
    powers = op.power(const(float(base), "float64"), _between(node, start, end, steps))
    return converted(node, node.let(powers), dtype or "float32")


def _between(node: Node, start: Number, end: Number, steps: Size) -> Expr:
    """Numbers at equal distances, as float64: the first half counts from the start, the rest from
    the end."""
    first, last = (_scalar(node, one) for one in (start, end))
    count = node.scalar(steps, "int64")
    places = steps_to(node, steps)
    most = node.let(op.maximum(count - int64(1), int64(1)))
    step = node.let((last - first) / op.cast(most, "float64"))
    behind = node.let(op.cast(count - int64(1) - places, "float64"))
    ahead = first + step * op.cast(places, "float64")
    early = places < op.floor_divide(count, int64(2))
    if isinstance(steps, int) and steps == 1:
        return node.let(ahead)
    return node.let(op.where(early, ahead, last - step * behind))


def _scalar(node: Node, value: Number) -> Expr:
    if isinstance(value, Expr):
        value = node.let(op.reshape(value, ()))
    return node.scalar(value, "float64")


# --- matrices ----------------------------------------------------------------------------------


@table("eye.default")
def eye(node: Node, n: Size, dtype: Any = None, **_: Any) -> Expr | Complex:
    return eye_of(node, n, n, dtype)


@table("eye.m")
def eye_of(node: Node, n: Size, m: Size, dtype: Any = None, **_: Any) -> Expr | Complex:
    rows, columns = (
        node.declare(
            op.arange(node.scalar(one, "int64"), dtype="int64"), (node.known(one),), "int64"
        )
        for one in (n, m)
    )
    on = op.equal(op.expand_dims(rows, 1), op.expand_dims(columns, 0))
    return converted(node, node.let(on), dtype or "float32")


def steps_to(node: Node, end: Size) -> Expr:
    """0, 1, … up to a size."""
    found = op.arange(node.scalar(end, "int64"), dtype="int64")
    return node.declare(found, (node.known(end),), "int64")


@table("tril", "triu")
def triangle(node: Node, self: Expr, diagonal: Size = 0) -> Expr:
    upper = node.operator == "aten.triu"
    return op.trilu(self, node.scalar(diagonal, "int64"), upper=upper)


@table("tril_indices", "triu_indices")
def triangle_places(
    node: Node, row: Size, col: Size, offset: int = 0, dtype: Any = None, **_: Any
) -> Expr:
    if isinstance(row, int) and isinstance(col, int):
        places = np.tril_indices if node.operator == "aten.tril_indices" else np.triu_indices
        found = np.stack(places(row, offset, col))
        return node.as_dtype(node.let(int64(found)), dtype or "int64")
    ones = filled(node, 1, [row, col], "int8")
    assert isinstance(ones, Expr)
    upper = node.operator == "aten.triu_indices"
    kept = node.let(op.trilu(ones, int64(offset), upper=upper))
    return node.as_dtype(node.let(op.transpose(op.argwhere(kept))), dtype or "int64")


@table("vander", "linalg_vander")
def vander(node: Node, x: Expr, N: int | None = None, increasing: bool | None = None) -> Expr:
    """The powers of elements along a new last axis."""
    if not node.rank(x):
        x = node.let(op.expand_dims(x, 0))
    count = node.static_extent(x, -1, "how many powers there are") if N is None else N
    data = node.as_dtype(x, "int64") if node.dtype(x) == "bool" else x
    is_linalg = node.operator == "aten.linalg_vander"
    powers = np.arange(count)
    if not is_linalg and not increasing:
        powers = powers[::-1].copy()
    exponents = node.let(const(powers.astype(dtypes.to_numpy(node.dtype(data))), node.dtype(data)))
    return op.power(op.expand_dims(data, node.rank(data)), exponents)


# --- windows -----------------------------------------------------------------------------------


@table("hann_window", "hamming_window", "blackman_window", "bartlett_window", "kaiser_window")
def window(
    node: Node,
    window_length: int,
    periodic: bool = True,
    alpha: float | None = None,
    beta: float | None = None,
    dtype: Any = None,
    **_: Any,
) -> Expr:
    name = node.operator.removeprefix("aten.").removesuffix("_window")
    count = window_length + 1 if periodic and window_length > 1 else window_length
    turns = 2 * np.pi * np.arange(count) / max(count - 1, 1)
    if name == "hann":
        found = 0.5 - 0.5 * np.cos(turns)
    elif name == "hamming":
        share = 0.54 if alpha is None else alpha
        found = share - (0.46 if beta is None else beta) * np.cos(turns)
    elif name == "blackman":
        found = 0.42 - 0.5 * np.cos(turns) + 0.08 * np.cos(2 * turns)
    elif name == "bartlett":
        found = 1 - np.abs(turns / np.pi - 1)
    else:
        # the third argument of a kaiser window is `beta`
        found = np.kaiser(count, 12.0 if alpha is None and beta is None else (beta or alpha or 0.0))
    if window_length == 1:
        found = np.ones(1)
    wanted = dtype or "float32"
    values = found[:window_length].astype(dtypes.to_numpy(wanted))
    return node.let(const(values, wanted))
