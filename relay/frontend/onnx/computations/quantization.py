"""Integers of a graph that stand for real numbers, as the operators of `relay.qnn` take them.

    real = scale * (integer - zero_point)

Scales are float32 there, and zero points int32: scalars, or vectors along an axis. A graph has them
in other types too, leaves zero points out, and may have a scale for every block of elements.
"""

from __future__ import annotations

import numpy as np

from relay import dtypes, op
from relay.frontend.onnx.node import Node
from relay.immutable import frozen
from relay.ir.dims import Dim
from relay.ir.expr import Expr, const
from relay.op.qnn import op as qnn

# As ONNX Runtime rounds: in float32, halves to the even number.
ROUNDED = {"rounding": "TOEVEN", "compute_dtype": "float32"}


@frozen
class Affine:
    """A scale and a zero point."""

    scale: Expr
    zero_point: Expr


def affine(node: Node, scale: Expr, zero_point: Expr | None = None) -> Affine:
    """A scale and a zero point of a graph."""
    return Affine(parameter(node, scale, "float32"), zero_of(node, zero_point))


def zero_of(node: Node, zero_point: Expr | None) -> Expr:
    """A zero point, which is 0 if it is left out."""
    if zero_point is None:
        return node.importer.constant(np.zeros((), "int32"))
    return parameter(node, zero_point, "int32")


def parameter(node: Node, value: Expr, dtype: str) -> Expr:
    """A scale or zero point with elements of a type; one for everything is a scalar."""
    if node.rank(value) and all(extent == 1 for extent in node.shape(value)):
        value = node.let(op.reshape(value, ()))
    return value if node.dtype(value) == dtype else node.let(op.cast(value, dtype))


def is_scalar(node: Node, *parameters: Expr) -> bool:
    """Whether scales and zero points are the same for everything."""
    return all(node.rank(one) == 0 for one in parameters)


def dequantized(node: Node, data: Expr, by: Affine, axis: int = -1, dtype: str = "float32") -> Expr:
    """The real numbers that integers stand for."""
    return node.let(qnn.dequantize(data, by.scale, by.zero_point, axis, dtype))


def quantized(node: Node, data: Expr, by: Affine, dtype: str, axis: int = -1) -> Expr:
    """The integers that stand for real numbers."""
    return qnn.quantize(data, by.scale, by.zero_point, axis, dtype)


def requantized(
    node: Node, sums: Expr, scale: Expr, result: Affine, dtype: str, axis: int = -1
) -> Expr:
    """Sums of products, whose scale is that of the factors, as integers of another scale."""
    return qnn.requantize(
        sums,
        scale,
        const(0, "int32"),
        result.scale,
        result.zero_point,
        axis=axis,
        out_dtype=dtype,
        **ROUNDED,
    )


def stretched(node: Node, value: Expr, data: Expr, axis: int, block: int) -> Expr:
    """A scale or zero point for every element, where there is one for every block along an axis."""
    extent: Dim = node.shape(data)[axis]
    each = node.let(op.repeat(value, block, axis))
    if node.shape(each)[axis] == extent:
        return each
    return node.let(op.slice_like(each, data, axes=(axis,)))


def computed_in(node: Node, data: Expr, dtype: str) -> Expr:
    """Data in elements of a type."""
    return data if node.dtype(data) == dtype else node.let(op.cast(data, dtype))


def less_zero_point(node: Node, data: Expr, zero_point: Expr) -> Expr:
    """The difference of integers and their zero point, in 32 bits."""
    wide = computed_in(node, data, "int32")
    return node.let(op.subtract(wide, zero_point))


def is_quantized(dtype: str) -> bool:
    """Whether elements are integers that scales go with."""
    return dtypes.is_integer(dtype) and dtypes.bits(dtype) <= 32
