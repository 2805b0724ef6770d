"""Rotary embeddings: pairs of numbers of a head rotated by an angle that depends on the position.

(a, b)  ->  (a cos - b sin, a sin + b cos)
"""

from __future__ import annotations

from relay import op
from relay.frontend.onnx.node import Node
from relay.ir.expr import Expr, TupleGetItem


def rotated(
    node: Node, data: Expr, cosines: Expr, sines: Expr, *, width: int, interleaved: bool
) -> Expr:
    """Heads (batch, heads, rows, n) rotated by angles (batch or 1, rows, width / 2). `width` is how
    many numbers of a head are rotated, 0 for all. Pairs are neighbors if `interleaved`, otherwise
    one half is paired with the other."""
    whole = node.static_extent(data, 3, "how wide a head is")
    width = width or whole
    if not 0 < width <= whole or width % 2:
        expected = f"an even number up to {whole}"
        raise node.refused("pairs of numbers are turned", expected, f"{width}")
    for table in (cosines, sines):
        node.must_have_axes(table, 3, "the angles")
        half = node.shape(table)[2]
        if isinstance(half, int) and half != width // 2:
            raise node.misfit("the angles do not fit", f"{width // 2} of them", str(half))
    part, rest = data, None
    if width < whole:
        part = node.let(op.strided_slice(data, (0,), (width,), axes=(3,)))
        rest = node.let(op.strided_slice(data, (width,), (whole,), axes=(3,)))
    cosines, sines = (node.let(op.expand_dims(one, 1)) for one in (cosines, sines))
    if interleaved:
        pairs = op.reshape(part, (0, 0, 0, width // 2, 2))
        parts = node.let(op.split(pairs, 2, axis=4).astuple())
        first, second = (
            node.let(op.squeeze(TupleGetItem(parts, place), (4,))) for place in range(2)
        )
    else:
        first, second = node.fields(op.split(part, 2, axis=3).astuple(), 2)
    real = first * cosines - second * sines
    imaginary = first * sines + second * cosines
    if interleaved:
        result = op.reshape(op.stack([real, imaginary], axis=-1), (0, 0, 0, -3))
    else:
        result = op.concatenate([real, imaginary], axis=3)
    return node.let(result if rest is None else op.concatenate([result, rest], axis=3))
