"""Fourier transforms of complex numbers as pairs of their parts."""

from __future__ import annotations

from collections.abc import Callable

from relay import op
from relay.frontend.common.builder import Builder, int64
from relay.ir.expr import Expr, const

Pair = tuple[Expr, Expr]  # real and imaginary parts


def transform(node: Builder, data: Pair, axis: int, *, inverse: bool) -> Pair:
    """A transform along one axis."""
    rank = node.rank(data[0])
    order = [*(one for one in range(rank) if one != axis), axis]
    back = [order.index(one) for one in range(rank)]
    if axis != rank - 1:
        data = _each(node, data, lambda one: op.transpose(one, order))
    first, second = node.fields(op.dft(data[0], data[1], inverse).astuple(), 2)
    found = first, second
    return found if axis == rank - 1 else _each(node, found, lambda one: op.transpose(one, back))


def _each(node: Builder, data: Pair, function: Callable[[Expr], Expr]) -> Pair:
    return node.let(function(data[0])), node.let(function(data[1]))


def of_length(node: Builder, data: Expr, axis: int, wanted: int) -> Expr:
    """So many elements along an axis: cut off, or filled with zeros."""
    extent = node.static_extent(data, axis, "how many elements there are")
    if extent > wanted:
        return node.let(op.strided_slice(data, [0], [wanted], axes=(axis,)))
    if extent == wanted:
        return data
    widths = [(0, wanted - extent if one == axis else 0) for one in range(node.rank(data))]
    return node.let(op.nn.pad(data, widths, node.number(0, data)))


def first_half(node: Builder, data: Pair, axis: int, count: int) -> Pair:
    """What says all of a transform of `count` real numbers."""
    return _each(node, data, lambda one: op.strided_slice(one, [0], [count // 2 + 1], axes=(axis,)))


def mirrored(node: Builder, half: Pair, count: int) -> Pair:
    """All of a transform of real numbers from its first half, along the last axis."""
    axis = node.rank(half[0]) - 1
    numbers = range(count)
    places = int64([one if one <= count // 2 else count - one for one in numbers])
    real, imaginary = _each(node, half, lambda one: op.take(one, places, axis=axis))
    signs = const([1.0 if one <= count // 2 else -1.0 for one in numbers], node.dtype(imaginary))
    return real, node.let(imaginary * signs)


def rfft(node: Builder, data: Expr, count: int) -> Pair:
    """The first half of the transform of `count` real numbers along the last axis."""
    axis = node.rank(data) - 1
    data = of_length(node, data, axis, count)
    whole = data, node.let(op.zeros_like(data))
    return first_half(node, transform(node, whole, axis, inverse=False), axis, count)


def irfft(node: Builder, half: Pair, count: int) -> Expr:
    """The `count` real numbers that a first half is the transform of, along the last axis."""
    axis = node.rank(half[0]) - 1
    held = count // 2 + 1
    parts = of_length(node, half[0], axis, held), of_length(node, half[1], axis, held)
    return transform(node, mirrored(node, parts, count), axis, inverse=True)[0]
