"""Reductions, positions of extremes, and running sums."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from relay import op
from relay.frontend.common.builder import int64
from relay.frontend.tensorflow.converters import Table
from relay.frontend.tensorflow.node import Node
from relay.ir.expr import Expr

table = Table()

_REDUCTIONS: Mapping[str, Callable[..., Expr]] = {
    "Sum": op.sum,
    "Mean": op.mean,
    "Prod": op.prod,
    "Max": op.max,
    "Min": op.min,
    "All": op.all,
    "Any": op.any,
}


@table(*_REDUCTIONS)
def reduction(node: Node, data: Expr, axes: Expr) -> Expr:
    reduced = reduced_axes(node, data, axes)
    if not reduced:
        return data
    keeps = node.flag("keep_dims")
    return _REDUCTIONS[node.operator](data, axis=reduced, keepdims=keeps)


def reduced_axes(node: Node, data: Expr, axes: Expr) -> tuple[int, ...]:
    """The axes of a reduction, in order; the range of all axes may be computed."""
    if node.rank(data) == 0 or node.shape(axes) == (0,):
        return ()
    known = node.known.of(axes)
    if known is not None and all(isinstance(one, int) for one in known):
        given = [one for one in known if isinstance(one, int)]
    else:
        given = [int(one) for one in node.numbers(axes, "the axes")]
    return tuple(sorted(set(node.axes_of(given, node.rank(data)))))


@table("EuclideanNorm")
def euclidean_norm(node: Node, data: Expr, axes: Expr) -> Expr:
    reduced = reduced_axes(node, data, axes)
    if not reduced:
        return op.abs(data)
    return op.sqrt(op.sum(data * data, axis=reduced, keepdims=node.flag("keep_dims")))


@table("L2Loss")
def l2_loss(node: Node, data: Expr) -> Expr:
    axes = tuple(range(node.rank(data)))
    squares = data * data
    total = op.sum(squares, axis=axes) if axes else squares
    return total * node.number(0.5, data)


@table("ArgMax", "ArgMin")
def arg(node: Node, data: Expr, axis: Expr) -> Expr:
    place = node.axis(axis, node.rank(data))
    find = op.argmax if node.operator == "ArgMax" else op.argmin
    return op.cast(find(data, axis=place), node.named_type("output_type", "int64"))


@table("Cumsum", "Cumprod")
def cumulated(node: Node, data: Expr, axis: Expr) -> Expr:
    place = node.axis(axis, node.rank(data))
    backwards = node.flag("reverse")
    if backwards:
        data = node.let(op.reverse(data, place))
    scan = op.cumsum if node.operator == "Cumsum" else op.cumprod
    found = scan(data, axis=place, exclusive=node.flag("exclusive"))
    return op.reverse(found, place) if backwards else found


@table("CumulativeLogsumexp")
def cumulative_logsumexp(node: Node, data: Expr, axis: Expr) -> Expr:
    """Running log-sum-exp, shifted by the largest element."""
    place = node.axis(axis, node.rank(data))
    backwards, exclusive = node.flag("reverse"), node.flag("exclusive")
    if backwards:
        data = node.let(op.reverse(data, place))
    most = node.let(op.max(data, axis=place, keepdims=True))
    sums = op.cumsum(op.exp(data - most), axis=place, exclusive=exclusive)
    found = op.log(sums) + most
    return op.reverse(found, place) if backwards else found


@table("Bincount", "DenseBincount")
def bincount(node: Node, data: Expr, size: Expr, weights: Expr) -> Expr:
    """Bincount: how often each number below `size` occurs, or the sum of its weights."""
    (count,) = node.numbers(size, "how many numbers there are")
    flat = data if node.rank(data) in (1, 2) else node.let(op.reshape(data, (-1,)))
    numbers = op.arange(int64(int(count)), dtype="int64")
    dtype, axis = node.dtype(weights), node.rank(flat) - 1
    same: Expr = op.equal(op.expand_dims(op.cast(flat, "int64"), -1), numbers)
    if node.operator == "DenseBincount" and node.flag("binary_output"):
        return op.cast(op.any(same, axis=axis), dtype)
    hits: Expr = op.cast(same, dtype)
    if node.shape(weights) != (0,):
        hits = hits * op.expand_dims(op.reshape_like(weights, flat), -1)
    return op.sum(hits, axis=axis)
