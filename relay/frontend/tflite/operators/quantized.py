"""Conversions between real numbers and quantized integers."""

from __future__ import annotations

from relay import op
from relay.frontend.tflite.converters import Table
from relay.frontend.tflite.node import Node
from relay.ir.expr import Expr, const

table = Table()


@table("DEQUANTIZE")
def dequantize(node: Node, data: Expr) -> Expr:
    """DEQUANTIZE: also of float16 weights, to float32."""
    return node.as_dtype(node.real(data, 0), node.result_type())


@table("QUANTIZE")
def quantize(node: Node, data: Expr) -> Expr:
    if node.input_affine(0) is not None and node.result_affine() is not None:
        return node.requantized(data)
    return node.as_result(node.real(data, 0))


@table("DENSIFY")
def densify(node: Node, data: Expr) -> Expr:
    """DENSIFY: the identity, since constants are made dense when they are read."""
    if node.inputs[0] is None or node.inputs[0].sparsity is None:
        raise node.refused("its input is no sparse constant")
    return data


@table("FAKE_QUANT")
def fake_quant(node: Node, data: Expr) -> Expr:
    """FAKE_QUANT: rounds to a range that is nudged so that 0 is representable."""
    low, high = node.option("min", 0.0), node.option("max", 0.0)
    bits = node.option("num_bits", 8)
    if not (low <= 0 <= high and low < high and 2 <= bits <= 16):
        raise node.refused("the range is none around 0", found=f"{low} to {high}, {bits} bits")
    least, most = (1 if node.option("narrow_range", False) else 0), 2**bits - 1
    scale = (high - low) / (most - least)
    zero = min(max(round(least - low / scale), least), most)
    first, last = (least - zero) * scale, (most - zero) * scale
    step = const(scale, "float32")
    inside = op.clip(data, first, last) - const(first, "float32")
    steps = op.floor(inside / step + const(0.5, "float32"))
    return op.cast(steps * step + const(first, "float32"), "float32")
