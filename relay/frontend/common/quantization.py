"""Scales and zero points of a graph, as the operators of `relay.qnn` take them.

    real = scale * (integer - zero_point)

There, scales are float32 and zero points int32, per tensor or per axis. A graph has them in other
types too, omits zero points, and may have a scale per block of elements.
"""

from __future__ import annotations

from relay import dtypes, op
from relay.frontend.common.builder import Builder
from relay.immutable import frozen
from relay.ir.expr import Expr, const
from relay.op.qnn import op as qnn

# as ONNX Runtime rounds: in float32, ties to even
ROUNDED = {"rounding": "TOEVEN", "compute_dtype": "float32"}


@frozen
class Affine:
    """A scale and a zero point."""

    scale: Expr
    zero_point: Expr


def affine(node: Builder, scale: Expr, zero_point: Expr | None = None) -> Affine:
    """A scale and a zero point of a graph."""
    return Affine(parameter(node, scale, "float32"), zero_of(node, zero_point))


def zero_of(node: Builder, zero_point: Expr | None) -> Expr:
    """A zero point, which is 0 if it is omitted."""
    if zero_point is None:
        return node.let(const(0, "int32"))
    return parameter(node, zero_point, "int32")


def parameter(node: Builder, value: Expr, dtype: str) -> Expr:
    """A scale or zero point in an element type; a per-tensor one is a scalar."""
    if node.rank(value) and all(extent == 1 for extent in node.shape(value)):
        value = node.let(op.reshape(value, ()))
    return node.as_dtype(value, dtype)


def is_scalar(node: Builder, *parameters: Expr) -> bool:
    """Whether scales and zero points are per tensor."""
    return all(node.rank(one) == 0 for one in parameters)


def dequantized(
    node: Builder, data: Expr, by: Affine, axis: int = -1, dtype: str = "float32"
) -> Expr:
    """The real numbers that integers represent."""
    return node.let(qnn.dequantize(data, by.scale, by.zero_point, axis, dtype))


def quantized(node: Builder, data: Expr, by: Affine, dtype: str, axis: int = -1) -> Expr:
    """The integers that represent real numbers."""
    return qnn.quantize(data, by.scale, by.zero_point, axis, dtype)


def requantized(
    node: Builder, sums: Expr, scale: Expr, result: Affine, dtype: str, axis: int = -1
) -> Expr:
    """Sums of products, whose scale is that of the factors, as integers of another scale."""
    scales = (scale, const(0, "int32"), result.scale, result.zero_point)
    return qnn.requantize(sums, *scales, axis=axis, out_dtype=dtype, **ROUNDED)


def stretched(node: Builder, value: Expr, data: Expr, axis: int, block: int) -> Expr:
    """A scale or zero point per element, from one per block along an axis."""
    each = node.let(op.repeat(value, block, axis))
    same = node.shape(each)[axis] == node.shape(data)[axis]
    return each if same else node.let(op.slice_like(each, data, axes=(axis,)))


def less_zero_point(node: Builder, data: Expr, zero_point: Expr) -> Expr:
    """Integers less their zero point, in int32."""
    wide = node.as_dtype(data, "int32")
    return node.let(wide - zero_point)


def is_quantized(dtype: str) -> bool:
    """Whether an element type is that of quantized integers."""
    return dtypes.is_integer(dtype) and dtypes.bits(dtype) <= 32
