"""Quantization and its inverse, with scales per tensor, channel, token or group of channels."""

from __future__ import annotations

from typing import Any

from relay import op
from relay.frontend.pytorch.converters import Converters
from relay.frontend.pytorch.node import Node, Number
from relay.frontend.pytorch.promotion import DEFAULT
from relay.frontend.pytorch.shapes import dimensions, to_shape
from relay.ir.expr import Expr, const
from relay.op.qnn import op as qnn

table = Converters("quantized_decomposed")

_LIMITS = {"int8": (-128, 127), "uint8": (0, 255)}  # of what `qnn.quantize` gives


def _scalar(node: Node, value: Number, dtype: str) -> Expr:
    """A scale or zero point of a whole tensor."""
    made = node.scalar(value, dtype)
    return made if node.rank(made) == 0 else node.let(op.reshape(made, ()))


def _is_limit(dtype: str, low: Any, high: Any) -> bool:
    return _LIMITS.get(dtype) == (low, high)


def _bound(node: Node, value: Number) -> Expr:
    return _scalar(node, value, "float32")


def _rounded(
    node: Node, data: Expr, scale: Expr, zero_point: Expr, low: Number, high: Number, dtype: str
) -> Expr:
    """round(data / scale) + zero_point, between the limits."""
    inverse = node.number(1, scale) / scale
    place = op.round(data * inverse) + op.cast(zero_point, node.dtype(data))
    inside = op.minimum(op.maximum(place, _bound(node, low)), _bound(node, high))
    return op.cast(inside, dtype)


@table("quantize_per_tensor")
def quantize_per_tensor(
    node: Node,
    input: Expr,
    scale: Number,
    zero_point: Number,
    quant_min: Number,
    quant_max: Number,
    dtype: str,
) -> Expr:
    data = node.as_dtype(input, DEFAULT)
    factor = _scalar(node, scale, DEFAULT)
    if _is_limit(dtype, quant_min, quant_max):
        return qnn.quantize(data, factor, _scalar(node, zero_point, "int32"), -1, dtype)
    zero = _scalar(node, zero_point, "int32")
    return _rounded(node, data, factor, zero, quant_min, quant_max, dtype)


@table("dequantize_per_tensor")
def dequantize_per_tensor(
    node: Node,
    input: Expr,
    scale: Number,
    zero_point: Number,
    quant_min: Number,
    quant_max: Number,
    dtype: str,
    *,
    out_dtype: str | None = None,
) -> Expr:
    zero = _scalar(node, zero_point, "int32")
    found = node.let(_real(node, input, _scalar(node, scale, DEFAULT), zero, -1))
    return found if out_dtype is None else node.as_dtype(found, out_dtype)


def _real(node: Node, data: Expr, scale: Expr, zero_point: Expr, axis: int) -> Expr:
    if node.dtype(data) in _LIMITS:
        return qnn.dequantize(data, scale, zero_point, axis, DEFAULT)
    if node.rank(scale):
        behind = node.rank(data) - 1 - axis % node.rank(data)
        scale, zero_point = (_ahead(node, one, behind) for one in (scale, zero_point))
    return (op.cast(data, DEFAULT) - op.cast(zero_point, DEFAULT)) * scale


def _ahead(node: Node, vector: Expr, behind: int) -> Expr:
    """A vector with axes of extent 1 after it."""
    return node.let(op.expand_dims(vector, 1, num_newaxis=behind)) if behind else vector


@table("quantize_per_channel")
def quantize_per_channel(
    node: Node,
    input: Expr,
    scales: Expr,
    zero_points: Expr,
    axis: int,
    quant_min: int,
    quant_max: int,
    dtype: str,
) -> Expr:
    data, place = node.as_dtype(input, DEFAULT), node.axis(input, axis)
    factors, zeros = node.as_dtype(scales, DEFAULT), node.as_dtype(zero_points, "int32")
    if _is_limit(dtype, quant_min, quant_max):
        return qnn.quantize(data, factors, zeros, place, dtype)
    behind = node.rank(input) - 1 - place
    factors, zeros = (_ahead(node, one, behind) for one in (factors, zeros))
    return _rounded(node, data, factors, zeros, quant_min, quant_max, dtype)


@table("dequantize_per_channel")
def dequantize_per_channel(
    node: Node,
    input: Expr,
    scales: Expr,
    zero_points: Expr | None,
    axis: int,
    quant_min: int,
    quant_max: int,
    dtype: str,
    *,
    out_dtype: str | None = None,
) -> Expr:
    factors = node.as_dtype(scales, DEFAULT)
    zeros = node.let(op.zeros_like(factors)) if zero_points is None else zero_points
    zeros = node.as_dtype(zeros, "int32")
    found = node.let(_real(node, input, factors, zeros, node.axis(input, axis)))
    return found if out_dtype is None else node.as_dtype(found, out_dtype)


@table("quantize_per_token")
def quantize_per_token(
    node: Node,
    input: Expr,
    scales: Expr,
    zero_points: Expr,
    quant_min: int,
    quant_max: int,
    dtype: str,
) -> Expr:
    data = node.as_dtype(input, DEFAULT)
    factors = node.as_dtype(scales, DEFAULT)
    return _rounded(node, data, factors, zero_points, quant_min, quant_max, dtype)


@table("dequantize_per_token")
def dequantize_per_token(
    node: Node,
    input: Expr,
    scales: Expr,
    zero_points: Expr,
    quant_min: int,
    quant_max: int,
    dtype: str,
    output_dtype: str,
) -> Expr:
    apart = op.cast(input, output_dtype) - op.cast(zero_points, output_dtype)
    return apart * node.as_dtype(scales, output_dtype)


@table("quantize_per_channel_group")
def quantize_per_channel_group(
    node: Node,
    input: Expr,
    scales: Expr,
    zero_points: Expr,
    quant_min: int,
    quant_max: int,
    dtype: str,
    group_size: int = 128,
) -> Expr:
    rows, shape = _in_groups(node, input, group_size)
    factors, zeros = (to_shape(node, one, [-1, 1]) for one in (scales, zero_points))
    found = _rounded(node, rows, factors, zeros, quant_min, quant_max, dtype)
    return to_shape(node, node.let(found), shape)


@table("dequantize_per_channel_group")
def dequantize_per_channel_group(
    node: Node,
    w_int8: Expr,
    scales: Expr,
    zero_points: Expr | None,
    quant_min: int,
    quant_max: int,
    dtype: str,
    group_size: int = 128,
    output_dtype: str = DEFAULT,
) -> Expr:
    rows, shape = _in_groups(node, w_int8, group_size)
    found = node.as_dtype(rows, output_dtype)
    if zero_points is not None:
        zeros = to_shape(node, zero_points, [-1, 1])
        found = node.let(found - node.as_dtype(zeros, output_dtype))
    factors = node.as_dtype(to_shape(node, scales, [-1, 1]), output_dtype)
    return to_shape(node, node.let(found * factors), shape)


def _in_groups(node: Node, data: Expr, size: int) -> tuple[Expr, list[Any]]:
    """Groups as rows, and the shape without."""
    return to_shape(node, data, [-1, size]), dimensions(node, data)


# --- parameters from data ------------------------------------------------------------------------


@table("choose_qparams", "choose_qparams_symmetric")
def choose(
    node: Node, input: Expr, quant_min: int, quant_max: int, eps: float, dtype: str
) -> list[Expr]:
    """The scale and zero point of the range of data, which has 0 in it."""
    zero, least = const(0.0, DEFAULT), const(eps, DEFAULT)
    low = node.let(op.minimum(op.cast(op.min(input), DEFAULT), zero))
    high = node.let(op.maximum(op.cast(op.max(input), DEFAULT), zero))
    first, last = const(float(quant_min), DEFAULT), const(float(quant_max), DEFAULT)
    if "symmetric" in node.operator:
        most = op.maximum(-low, high)
        half = const((quant_max - quant_min) / 2, DEFAULT)
        scale = node.let(op.maximum(most / half, least))
        middle = 128 if dtype == "uint8" else 0
        zero_point: Expr = const(middle, "int64")
    else:
        scale = node.let(
            op.maximum((high - low) / const(float(quant_max - quant_min), DEFAULT), least)
        )
        place = op.minimum(op.maximum(first - op.round(low / scale), first), last)
        zero_point = op.cast(place, "int64")
    wide = op.reshape(op.cast(scale, "float64"), (1,))
    return [wide, op.reshape(zero_point, (1,))]


@table("choose_qparams_per_token")
def choose_per_token(node: Node, input: Expr, dtype: str) -> list[Expr]:
    """Scales of the largest element of each token, for symmetric integers of 8 bits."""
    sizes = op.abs(node.as_dtype(input, DEFAULT))
    most = node.let(op.max(sizes, axis=(-1,), keepdims=True))
    scale = op.maximum(most, const(1e-5, DEFAULT)) / const(127.0, DEFAULT)
    return [scale, op.zeros_like(most)]


@table("choose_qparams_per_token_asymmetric", "_choose_qparams_per_token_asymmetric_impl")
def choose_per_token_asymmetric(node: Node, input: Expr, dtype: str) -> list[Expr]:
    zero, eps = const(0.0, DEFAULT), const(1.1920929e-07, DEFAULT)
    along: dict[str, Any] = {"axis": (-1,), "keepdims": True}
    data = node.as_dtype(input, DEFAULT)
    low = node.let(op.minimum(op.min(data, **along), zero))
    high = node.let(op.maximum(op.max(data, **along), zero))
    first, last = const(-128.0, DEFAULT), const(127.0, DEFAULT)
    scale = node.let(op.maximum((high - low) / const(255.0, DEFAULT), eps))
    below, above = node.let(low / scale), node.let(high / scale)
    is_low = op.greater(first + below + (last + above), zero)
    place = op.where(is_low, first - below, last - above)
    point = op.round(op.minimum(op.maximum(place, first), last))
    return [op.cast(scale, "float64"), op.cast(point, "int64")]
