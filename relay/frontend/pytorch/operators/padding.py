"""Padding of the last axes, which may crop."""

from __future__ import annotations

from collections.abc import Sequence

from relay import op
from relay.frontend.common.builder import int64
from relay.frontend.pytorch.converters import Converters
from relay.frontend.pytorch.node import Node, Number, Size
from relay.ir import dims
from relay.ir.expr import Expr, Tuple

table = Converters()

_MODES = {
    "constant": "constant",
    "reflect": "reflect",
    "replicate": "edge",
    "circular": "wrap",
}


def padded(
    node: Node, data: Expr, widths: Sequence[Size], mode: str, value: Number | None = None
) -> Expr:
    """Data padded by widths before and after each axis, the last axis first."""
    rank, filling = node.rank(data), node.number(0 if value is None else value, data)
    pairs: list[tuple[Size, Size]] = [(0, 0)] * rank
    for place in range(len(widths) // 2):
        pairs[rank - 1 - place] = (widths[2 * place], widths[2 * place + 1])
    numbers = [(a, b) for a, b in pairs if isinstance(a, int) and isinstance(b, int)]
    if len(numbers) == rank and mode == "replicate" and min(map(min, numbers)) < 0:
        return _replicated(node, data, numbers)
    if len(numbers) == rank:
        return op.nn.pad(data, numbers, filling, pad_mode=_MODES[mode])
    rows = [op.stack(Tuple(tuple(node.scalar(one, "int64") for one in pair)), 0) for pair in pairs]
    found = op.nn.pad(data, node.let(op.stack(Tuple(tuple(rows)), 0)), filling, _MODES[mode])
    shape = [
        _grown(extent, node.known(before), node.known(after))
        for extent, (before, after) in zip(node.shape(data), pairs, strict=True)
    ]
    return node.declare(found, shape, node.dtype(data))


def _replicated(node: Node, data: Expr, widths: Sequence[tuple[int, int]]) -> Expr:
    """Replication padding; negative widths crop."""
    for axis, (before, after) in enumerate(widths):
        if (before, after) == (0, 0):
            continue
        last = node.let(node.size(data, axis) - int64(1))
        places = op.arange(int64(-before), last + int64(after + 1), int64(1), dtype="int64")
        inside = node.let(op.maximum(op.minimum(places, last), int64(0)))
        grown = _grown(node.shape(data)[axis], before, after)
        data = node.let(op.take(data, node.declare(inside, (grown,), "int64"), axis=axis))
    return data


def _grown(extent: dims.Dim, before: dims.Dim, after: dims.Dim) -> dims.Dim:
    parts = (extent, before, after)
    if any(isinstance(one, dims.Any) for one in parts):
        return dims.ANY
    return extent + before + after


@table("pad")
def pad(
    node: Node, self: Expr, pad: Sequence[Size], mode: str = "constant", value: Number | None = None
) -> Expr:
    return padded(node, self, pad, mode, value)


@table("constant_pad_nd")
def constant_pad(node: Node, self: Expr, pad: Sequence[Size], value: Number = 0) -> Expr:
    return padded(node, self, pad, "constant", value)


@table("reflection_pad1d", "reflection_pad2d", "reflection_pad3d")
def reflection_pad(node: Node, self: Expr, padding: Sequence[Size]) -> Expr:
    return padded(node, self, padding, "reflect")


@table("replication_pad1d", "replication_pad2d", "replication_pad3d")
def replication_pad(node: Node, self: Expr, padding: Sequence[Size]) -> Expr:
    return padded(node, self, padding, "replicate")


@table("_pad_circular")
def circular_pad(node: Node, self: Expr, pad: Sequence[Size]) -> Expr:
    return padded(node, self, pad, "circular")


@table("_pad_enum")
def pad_by_number(
    node: Node, self: Expr, pad: Sequence[Size], mode: int, value: float | None = None
) -> Expr:
    return padded(node, self, pad, list(_MODES)[mode], value)
