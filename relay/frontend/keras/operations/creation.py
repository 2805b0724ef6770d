"""Tensors made from numbers: ranges, diagonals, counts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from relay import dtypes, op
from relay.frontend.common.builder import int64
from relay.frontend.keras.converters import Operations
from relay.frontend.keras.node import Node, policy_of
from relay.frontend.keras.promotion import floating, promoted
from relay.ir.expr import Expr, const

table = Operations()


@table("numpy.Full")
def full(node: Node, fill_value: Any) -> Expr:
    shape = tuple(node.config.get("shape") or ())
    value = node.tensor(fill_value)
    given = node.config.get("dtype")
    dtype = node.dtype(value) if given is None else policy_of(node, given)
    one = node.as_dtype(value, dtype)
    return op.broadcast_to(one, shape)


@table("numpy.Linspace", "numpy.Logspace", "numpy.Geomspace")
def spaced(node: Node, start: Any, stop: Any) -> Any:
    """Numbers with one distance between them, or one ratio."""
    count, ends = node.option("num", 50), node.option("endpoint", True)
    given = node.config.get("dtype")
    first, last = (floating(node, one) for one in promoted(node, start, stop))
    sign = None
    if node.operator == "Geomspace":
        sign = node.let(op.sign(first))
        first, last = (node.let(op.log10(op.abs(one))) for one in (first, last))
    steps = max(count - 1 if ends else count, 1)
    span = node.let(last - first)
    rank = node.rank(span)
    shares = (np.arange(count) / steps).reshape((count,) + (1,) * rank)
    found = node.let(
        op.expand_dims(first, 0) + const(shares, node.dtype(span)) * op.expand_dims(span, 0)
    )
    if node.operator != "Linspace":
        base = 10 if node.operator == "Geomspace" else node.config.get("base", 10)
        if not isinstance(base, int | float):
            raise node.refused("the base must be a number", found=str(base)[:40])
        found = node.let(op.power(node.number(base, found), found))
        found = found if sign is None else node.let(found * op.expand_dims(sign, 0))
    axis = node.axis_of(node.option("axis", 0), rank + 1)
    if axis:
        order = [*range(1, rank + 1)]
        order.insert(axis, 0)
        found = node.let(op.transpose(found, tuple(order)))
    found = found if given is None else node.as_dtype(found, policy_of(node, given))
    if not node.option("retstep", False):
        return found
    return [found, span * node.number(1 / steps, span)]


@table("numpy.Arange")
def arange(node: Node, start: Any, stop: Any = None, step: Any = None) -> Expr:
    if stop is None:
        start, stop = 0, start
    parts = promoted(node, start, stop, 1 if step is None else step)
    found = op.arange(parts[0], parts[1], parts[2], dtype=node.dtype(parts[0]))
    given = node.config.get("dtype")
    return found if given is None else node.as_dtype(node.let(found), policy_of(node, given))


@table("numpy.Diagflat")
def diagflat(node: Node, x: Expr) -> Expr:
    flat = node.let(op.reshape(x, (-1,)))
    count, k = node.static_extent(flat, 0, "how many elements there are"), node.option("k", 0)
    size = count + abs(k)
    empty = node.let(op.zeros((size, size), node.dtype(x)))
    return op.matrix_set_diag(empty, flat, (k, k))


@table("numpy.UnravelIndex")
def unravel_index(node: Node, indices: Expr) -> list[Expr]:
    shape = [int(one) for one in node.config.get("shape") or ()]
    found = []
    behind = 1
    for size in reversed(shape):
        part = op.floor_mod(
            op.floor_divide(indices, node.number(behind, indices)), node.number(size, indices)
        )
        found.append(node.let(part))
        behind *= size
    return found[::-1]


@table("numpy.Bincount")
def bincount(node: Node, x: Expr) -> Expr:
    """How often each number is there; the size of the result is the largest one."""
    if node.option("sparse", False) or node.config.get("weights") is not None:
        raise node.refused("weights and sparse results are not counted")
    numbers = node.as_dtype(x, "int64")
    least = node.option("minlength", 0)
    most = node.let(op.max(numbers) + int64(1))
    count = node.let(op.maximum(most, int64(least)))
    places = node.declare(op.arange(count, dtype="int64"), (None,), "int64")
    same = op.equal(op.expand_dims(numbers, node.rank(numbers)), places)
    return op.sum(op.cast(same, "int32"), axis=(node.rank(numbers) - 1,))


@table("numpy.Nonzero")
def nonzero(node: Node, x: Expr) -> list[Expr]:
    """The places of what is not zero, axis by axis."""
    found = node.let(op.argwhere(op.not_equal(x, node.number(0, x))))
    places = node.as_dtype(found, "int32")
    return [op.take(places, int64(axis), axis=1) for axis in range(node.rank(x))]


@table("numpy.Trapezoid")
def trapezoid(node: Node, y: Expr) -> Expr:
    data, axis = floating(node, y), node.axis_of(node.option("axis", -1), node.rank(y))
    end = 2**31 - 1
    later = op.strided_slice(data, [1], [end], axes=(axis,))
    earlier = op.strided_slice(data, [0], [-1], axes=(axis,))
    means = node.let((later + earlier) * node.number(0.5, data))
    given = node.config.get("x")
    if given is None:
        widths: Expr = node.number(float(node.option("dx", 1.0)), data)
    else:
        marks = np.asarray(given, "float64")
        if marks.ndim != 1:
            raise node.refused("the places of elements are no vector")
        shape = (-1,) + (1,) * (node.rank(data) - axis - 1)
        widths = const(np.diff(marks).reshape(shape), node.dtype(data))
    return op.sum(node.let(means * widths), axis=(axis,))


@table("numpy.Corrcoef")
def corrcoef(node: Node, x: Expr) -> Expr:
    data = node.as_dtype(x, "float64") if node.dtype(x) == "int64" else floating(node, x)
    apart = node.let(data - op.mean(data, axis=(-1,), keepdims=True))
    if node.rank(data) == 1:
        return op.sum(apart * apart) / op.sum(apart * apart)
    other = node.let(op.transpose(apart, (1, 0)))
    sums = node.let(op.nn.matmul(apart, other))
    size = node.let(op.sqrt(op.sum(apart * apart, axis=(-1,))))
    found = sums / op.expand_dims(size, 1) / op.expand_dims(size, 0)
    return op.clip(found, -1.0, 1.0)


@table("numpy.Correlate")
def correlate(node: Node, x1: Any, x2: Any) -> Expr:
    """The cross-correlation of two signals."""
    left, right = promoted(node, x1, x2)
    dtype = {"int64": "float64"}.get(node.dtype(left), "float32")
    dtype = node.dtype(left) if dtypes.is_float(node.dtype(left)) else dtype
    left, right = (node.as_dtype(one, dtype) for one in (left, right))
    first, second = (node.static_extent(one, 0, "the length of signals") for one in (left, right))
    padded = op.nn.pad(left, [(second - 1, second - 1)], node.number(0, left))
    rows = node.let(op.sliding_window(node.let(padded), 0, (second,), (1,)))
    found = node.let(op.sum(rows * right, axis=(-1,)))
    total = first + second - 1
    match node.option("mode", "valid"):
        case "full":
            count = total
        case "same":
            count = first
        case "valid":
            count = max(first, second) - min(first, second) + 1
        case other:
            raise node.refused("there is no such mode", "full, same or valid", other)
    begin = (total - count) // 2
    return op.strided_slice(found, [begin], [begin + count], axes=(0,))


@table("math.SegmentMin", "math.SegmentProd")
def segments(node: Node, data: Expr, segment_ids: Expr) -> Expr:
    count = node.config.get("num_segments")
    if not isinstance(count, int):
        raise node.refused("how many segments there are must be known", hint="give num_segments")
    product = node.operator == "SegmentProd"
    most = math.inf if dtypes.is_float(node.dtype(data)) else 2**31 - 1
    shape = node.static_shape(data, "data")[1:]
    begin = op.full(node.number(1 if product else most, data), (count, *shape), node.dtype(data))
    places = node.let(op.expand_dims(node.as_dtype(segment_ids, "int64"), 0))
    return op.scatter_nd(node.let(begin), places, data, "mul" if product else "min")


_MODES = {None: "update", "add": "add", "max": "max", "min": "min", "mul": "mul"}


@table("core.Scatter", "core.ScatterUpdate")
def scatter(node: Node, first: Expr, second: Expr, updates: Expr | None = None) -> Expr:
    """Rows written to places, or added up where there was nothing before."""
    if updates is None:
        shape = tuple(int(one) for one in node.config.get("shape") or ())
        whole, places, rows = node.zeros(shape, node.dtype(second)), first, second
        mode = "add"
    else:
        whole, places, rows = first, second, node.as_dtype(updates, node.dtype(first))
        reduction = node.config.get("reduction")
        if reduction not in _MODES:
            raise node.refused("there is no such reduction", found=str(reduction)[:40])
        mode = _MODES[reduction]
    rank = node.rank(places)
    turned = op.transpose(node.as_dtype(places, "int64"), (rank - 1, *range(rank - 1)))
    return op.scatter_nd(whole, node.let(turned), rows, mode)
