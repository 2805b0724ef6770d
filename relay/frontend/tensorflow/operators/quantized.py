"""Fake quantization: quantize and dequantize in floats."""

from __future__ import annotations

from relay import op
from relay.frontend.tensorflow.converters import Table
from relay.frontend.tensorflow.node import Node
from relay.ir.expr import Expr, const

table = Table()


@table("FakeQuantWithMinMaxArgs", "FakeQuantWithMinMaxVars", "FakeQuantWithMinMaxVarsPerChannel")
def fake_quant(node: Node, data: Expr, low: Expr | None = None, high: Expr | None = None) -> Expr:
    """Fake quantization to a range, which is nudged so that 0 is representable."""
    first = const(node.real("min", -6.0), "float32") if low is None else low
    last = const(node.real("max", 6.0), "float32") if high is None else high
    bits = node.integer("num_bits", 8)
    if not 2 <= bits <= 16:
        raise node.refused("the number of bits is from 2 to 16", found=str(bits))
    least = 1.0 if node.flag("narrow_range") else 0.0
    most = float(2**bits - 1)
    below, above = const(least, "float32"), const(most, "float32")
    step = node.let((last - first) / const(most - least, "float32"))
    zero = node.let(below - first / step)
    half = const(0.5, "float32")
    nudged = node.let(op.clip(op.floor(zero + half), least, most))
    bottom, top = node.let((below - nudged) * step), node.let((above - nudged) * step)
    inside = op.minimum(op.maximum(data, bottom), top)
    rounded = op.floor((inside - bottom) / step + half) * step + bottom
    is_empty = op.logical_and(
        op.equal(first, const(0.0, "float32")), op.equal(last, const(0.0, "float32"))
    )
    return op.where(is_empty, op.zeros_like(data), rounded)
