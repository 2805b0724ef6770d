"""Quantization, dequantization, and products of quantized tensors."""

from __future__ import annotations

from relay import dtypes, op
from relay.frontend.common.broadcast import trailing_axes
from relay.frontend.common.products import product
from relay.frontend.common.quantization import (
    Affine,
    affine,
    dequantized,
    is_quantized,
    is_scalar,
    less_zero_point,
    parameter,
    quantized,
    requantized,
    stretched,
)
from relay.frontend.onnx.computations.integer_products import convolution, matrix_product
from relay.frontend.onnx.converters import Converters
from relay.frontend.onnx.node import Node
from relay.frontend.onnx.operators.conversion import converted
from relay.frontend.onnx.types import element_type
from relay.ir.expr import Expr, const

table = Converters()


# The element types that `qnn.quantize` takes.
REALS = ("float32", "float16", "bfloat16")


@table("QuantizeLinear", since=10)
def quantize_linear(node: Node, data: Expr, scale: Expr, zero_point: Expr | None = None) -> Expr:
    dtype = _target(node, zero_point)
    axis, block = _granularity(node, data, scale)
    exact = _precision(node, data, scale)
    if block:
        scale = stretched(node, scale, data, axis, block)
        zero_point = None if zero_point is None else stretched(node, zero_point, data, axis, block)
        return _quantized_by_element(node, data, scale, zero_point, dtype, exact)
    if not is_quantized(dtype):
        factor = _along(node, data, scale, axis)
        return _quantized_by_element(node, data, factor, None, dtype, exact)
    by = affine(node, scale, zero_point)
    if exact != "float32":
        # the quotient is rounded to that type, then to an integer
        own = node.as_dtype(_along(node, data, scale, axis), exact)
        quotient = node.as_dtype(data, exact) / own
        data, by = node.let(quotient), Affine(const(1.0, "float32"), by.zero_point)
    if node.dtype(data) not in REALS:
        data = node.as_dtype(data, "float32")
    return quantized(node, data, by, dtype, axis)


def _target(node: Node, zero_point: Expr | None) -> str:
    """The element type of the result."""
    given = node.attribute("output_dtype", 0)
    if zero_point is None:
        return element_type(given) if given else "uint8"
    dtype = node.dtype(zero_point)
    if given and element_type(given) != dtype:
        message = "the zero point is of another type than `output_dtype` says"
        raise node.refused(message, element_type(given), dtype)
    return dtype


def _precision(node: Node, data: Expr, scale: Expr) -> str:
    """The element type quotients are rounded to."""
    if given := node.attribute("precision", 0):
        return element_type(given)
    both = {node.dtype(data), node.dtype(scale)}
    return both.pop() if len(both) == 1 and both <= {"float16", "bfloat16"} else "float32"


def _granularity(node: Node, data: Expr, scale: Expr) -> tuple[int, int]:
    """The axis of per-axis scales, and the block size: 0 for per-axis and per-tensor scales."""
    rank, own = node.rank(data), node.rank(scale)
    block = int(node.attribute("block_size", 0))
    axis = int(node.attribute("axis", 1))
    if own == 0 or (own == 1 and node.shape(scale)[0] == 1 and not block):
        return -1, 0
    axis = node.axis_of(axis, rank)
    if own == 1 and not block:
        return axis, 0
    if block < 1 or own != rank:
        expected = f"a scalar, a vector, or with `block_size` {rank} axes"
        found = f"{node.type_of(scale)}, block_size = {block}"
        raise node.misfit("scales fit neither an axis nor blocks", expected, found)
    return axis, block


def _along(node: Node, data: Expr, value: Expr, axis: int) -> Expr:
    """A per-axis scale that broadcasts against data."""
    if node.rank(value) == 0:
        return value
    if all(extent == 1 for extent in node.shape(value)):
        return node.let(op.reshape(value, ()))
    return node.let(trailing_axes(value, node.rank(data) - 1 - axis % node.rank(data)))


def _quantized_by_element(
    node: Node, data: Expr, scale: Expr, zero_point: Expr | None, dtype: str, exact: str
) -> Expr:
    """Quotients in an element type; rounded, with the zero point added, for integers."""
    data, scale = (node.as_dtype(one, exact) for one in (data, scale))
    quotient = node.let(data / scale)
    if not is_quantized(dtype):
        # floats have no zero point but 0
        return converted(node, quotient, dtype)
    whole: Expr = op.round(node.as_dtype(quotient, "float32"))
    if zero_point is not None:
        whole = whole + node.as_dtype(zero_point, "float32")
    return op.cast(whole, dtype)


@table("DequantizeLinear", since=10)
def dequantize_linear(node: Node, data: Expr, scale: Expr, zero_point: Expr | None = None) -> Expr:
    given = node.attribute("output_dtype", 0)
    dtype = element_type(given) if given else node.dtype(scale)
    axis, block = _granularity(node, data, scale)
    if not block and is_quantized(node.dtype(data)) and dtypes.is_float(dtype):
        return dequantized(node, data, affine(node, scale, zero_point), axis, dtype)
    if block:
        scale = stretched(node, scale, data, axis, block)
        zero_point = None if zero_point is None else stretched(node, zero_point, data, axis, block)
    else:
        scale = _along(node, data, scale, axis)
    if is_quantized(node.dtype(data)):
        zero = const(0, "int32") if zero_point is None else node.as_dtype(zero_point, "int32")
        data = less_zero_point(node, data, zero)
    product = node.as_dtype(data, "float32") * node.as_dtype(scale, "float32")
    return node.as_dtype(node.let(product), dtype)


@table("DynamicQuantizeLinear", since=11)
def dynamic_quantize_linear(node: Node, data: Expr) -> list[Expr]:
    by = dynamic_range(node, data)
    zero_point = node.let(op.cast(by.zero_point, "uint8"))
    return [quantized(node, data, by, "uint8"), by.scale, zero_point]


def dynamic_range(node: Node, data: Expr) -> Affine:
    """The scale and zero point with which 8 bits span the range of data, and 0."""
    zero, steps = const(0.0, "float32"), const(255.0, "float32")
    low = node.let(op.minimum(op.min(data), zero))
    high = node.let(op.maximum(op.max(data), zero))
    span = node.let(high - low)
    one = const(1.0, "float32")
    scale = node.let(op.where(op.equal(span, zero), one, span) / steps)
    below = op.round(op.clip(-(low / scale), 0.0, 255.0))
    return Affine(scale, node.let(op.cast(below, "int32")))


table.add("MatMulInteger", matrix_product, since=10)
table.add("ConvInteger", convolution, since=10)


@table("QLinearMatMul", since=10)
def q_linear_mat_mul(
    node: Node,
    left: Expr,
    left_scale: Expr,
    left_zero_point: Expr,
    right: Expr,
    right_scale: Expr,
    right_zero_point: Expr,
    scale: Expr,
    zero_point: Expr,
) -> Expr:
    if not is_quantized(node.dtype(left)):
        return _narrow_product(node, left, left_scale, right, right_scale, scale, zero_point)
    sums = node.let(matrix_product(node, left, right, left_zero_point, right_zero_point))
    rows, columns = (parameter(node, one, "float32") for one in (left_scale, right_scale))
    result = affine(node, scale, zero_point)
    if node.rank(columns) <= 1 and is_scalar(node, rows, result.scale, result.zero_point):
        factor = node.let(rows * columns)
        return requantized(node, sums, factor, result, node.dtype(zero_point))
    if node.rank(rows) == 1:
        rows = node.let(op.expand_dims(rows, 1))
    factor = rows * columns / result.scale
    whole = op.round(op.cast(sums, "float32") * factor)
    return op.cast(whole + op.cast(result.zero_point, "float32"), node.dtype(zero_point))


def _narrow_product(
    node: Node,
    left: Expr,
    left_scale: Expr,
    right: Expr,
    right_scale: Expr,
    scale: Expr,
    zero_point: Expr,
) -> Expr:
    """The product of float8 tensors, which have no zero points, in float32."""
    wide = [
        node.let(op.cast(one, "float32") * node.as_dtype(by, "float32"))
        for one, by in ((left, left_scale), (right, right_scale))
    ]
    found = product(node, wide[0], wide[1]) / node.as_dtype(scale, "float32")
    return converted(node, node.let(found), node.dtype(zero_point))


@table("QLinearConv", since=10)
def q_linear_conv(
    node: Node,
    data: Expr,
    data_scale: Expr,
    data_zero_point: Expr,
    weight: Expr,
    weight_scale: Expr,
    weight_zero_point: Expr,
    scale: Expr,
    zero_point: Expr,
    bias: Expr | None = None,
) -> Expr:
    sums = node.let(convolution(node, data, weight, data_zero_point, weight_zero_point))
    if bias is not None:
        sums = node.let(op.nn.bias_add(sums, bias))
    one, each = (parameter(node, given, "float32") for given in (data_scale, weight_scale))
    result = affine(node, scale, zero_point)
    factor = node.let(one * each)
    return requantized(node, sums, factor, result, node.dtype(zero_point), axis=1)
