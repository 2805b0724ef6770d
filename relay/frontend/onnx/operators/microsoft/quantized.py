"""Quantized operators that ONNX Runtime's quantizer writes, domain com.microsoft.

Except for products, they are float operators between a dequantization and a quantization, which
`FakeQuantizationToInteger` turns into integer operators.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from relay import op
from relay.frontend.common.broadcast import broadcastable
from relay.frontend.common.builder import Builder, int64
from relay.frontend.common.quantization import (
    affine,
    dequantized,
    parameter,
    quantized,
    requantized,
)
from relay.frontend.common.recurrence import Layer
from relay.frontend.onnx.computations.integer_products import matrix_product
from relay.frontend.onnx.computations.standard import VERSION, standard
from relay.frontend.onnx.converters import Converters
from relay.frontend.onnx.node import Node
from relay.frontend.onnx.operators.microsoft.attention import attended
from relay.frontend.onnx.operators.microsoft.layers import (
    channels_first,
    channels_last,
    embed_layer_normalization,
)
from relay.frontend.onnx.operators.quantized import (
    dequantize_linear,
    dynamic_range,
    q_linear_conv,
    quantize_linear,
)
from relay.frontend.onnx.operators.recurrent import memory_cells
from relay.ir.expr import Expr, Tuple, const

table = Converters("com.microsoft")

table.add("QuantizeLinear", quantize_linear)
table.add("DequantizeLinear", dequantize_linear)


def _reals(node: Node, *given: Expr | None) -> list[Expr]:
    """Dequantized tensors, each given with its scale and zero point."""
    found = []
    for data, scale, zero_point in zip(given[::3], given[1::3], given[2::3], strict=True):
        if data is None or scale is None:
            raise node.refused("a tensor of integers or its scale is missing")
        found.append(dequantized(node, data, affine(node, scale, zero_point)))
    return found


def _pair(operator: Callable[[Expr, Expr], Expr]) -> Callable[..., Expr]:
    def convert(
        node: Node,
        left: Expr,
        left_scale: Expr,
        left_zero_point: Expr | None,
        right: Expr,
        right_scale: Expr,
        right_zero_point: Expr | None,
        scale: Expr,
        zero_point: Expr | None = None,
    ) -> Expr:
        first, second = (left, left_scale, left_zero_point), (right, right_scale, right_zero_point)
        found = node.let(operator(*broadcastable(node, *_reals(node, *first, *second))))
        return quantized(node, found, affine(node, scale, zero_point), node.dtype(left))

    return convert


table.add("QLinearAdd", _pair(op.add))
table.add("QLinearMul", _pair(op.multiply))


def _one(operator: Callable[[Node, Expr], Expr]) -> Callable[..., Expr]:
    def convert(
        node: Node,
        data: Expr,
        data_scale: Expr,
        data_zero_point: Expr | None,
        scale: Expr,
        zero_point: Expr | None = None,
    ) -> Expr:
        real = dequantized(node, data, affine(node, data_scale, data_zero_point))
        found = node.let(operator(node, real))
        return quantized(node, found, affine(node, scale, zero_point), node.dtype(data))

    return convert


def _standard(operator: str, version: int = VERSION) -> Callable[[Node, Expr], Expr]:
    return lambda node, data: standard(node, operator, data, version=version)[0]


def _softmax(node: Node, data: Expr) -> Expr:
    """`opset` is the version of the standard; the default of `axis` is -1 in all of them."""
    axis, version = {"axis": node.attribute("axis", -1)}, node.attribute("opset", 13)
    return standard(node, "Softmax", data, attributes=axis, version=version)[0]


def _channels_first(operator: Callable[[Node, Expr], Expr]) -> Callable[[Node, Expr], Expr]:
    """A pool or convolution of images whose channels may be the last axis."""

    def convert(node: Node, data: Expr) -> Expr:
        if not node.attribute("channels_last", 0):
            return operator(node, data)
        return channels_last(node, node.let(operator(node, channels_first(node, data))))

    return convert


table.add("QLinearSigmoid", _one(_standard("Sigmoid")))
table.add("QLinearLeakyRelu", _one(_standard("LeakyRelu")))
table.add("QLinearSoftmax", _one(_softmax))
table.add("QLinearReduceMean", _one(_standard("ReduceMean", 11)))
table.add("QLinearAveragePool", _one(_channels_first(_standard("AveragePool"))))
table.add("QLinearGlobalAveragePool", _one(_channels_first(_standard("GlobalAveragePool"))))


@table("QLinearConcat")
def q_linear_concat(node: Node, scale: Expr, zero_point: Expr, *parts: Expr) -> Expr:
    """Each part is given with its scale and zero point."""
    if len(parts) % 3 or not parts:
        raise node.refused("a part has a scale and a zero point", "3 inputs each", str(len(parts)))
    axis = int(node.required("axis"))
    joined = node.let(op.concatenate(Tuple(tuple(_reals(node, *parts))), axis))
    return quantized(node, joined, affine(node, scale, zero_point), node.dtype(parts[0]))


@table("QLinearWhere")
def q_linear_where(
    node: Node,
    condition: Expr,
    left: Expr,
    left_scale: Expr,
    left_zero_point: Expr,
    right: Expr,
    right_scale: Expr,
    right_zero_point: Expr,
    scale: Expr,
    zero_point: Expr,
) -> Expr:
    reals = _reals(node, left, left_scale, left_zero_point, right, right_scale, right_zero_point)
    found = node.let(op.where(*broadcastable(node, condition, *reals)))
    return quantized(node, found, affine(node, scale, zero_point), node.dtype(left))


@table("QLinearConv")
def q_linear_conv_of_images(node: Node, data: Expr, *inputs: Any) -> Expr:
    """As in the standard; the channels of images may be the last axis."""
    return _channels_first(lambda there, images: q_linear_conv(there, images, *inputs))(node, data)


@table("QGemm")
def q_gemm(
    node: Node,
    left: Expr,
    left_scale: Expr,
    left_zero_point: Expr,
    right: Expr,
    right_scale: Expr,
    right_zero_point: Expr,
    addend: Expr | None = None,
    scale: Expr | None = None,
    zero_point: Expr | None = None,
) -> Expr:
    """The result is float32 without an output scale."""
    for matrix in (left, right):
        node.must_have_axes(matrix, 2, "factors")
    if node.attribute("transA", 0):
        left = node.let(op.transpose(left, (1, 0)))
    if node.attribute("transB", 0):
        right = node.let(op.transpose(right, (1, 0)))
    sums = node.let(matrix_product(node, left, right, left_zero_point, right_zero_point))
    if addend is not None:
        sums = node.let(sums + addend)
    one, each = (parameter(node, given, "float32") for given in (left_scale, right_scale))
    alpha = const(node.attribute("alpha", 1.0), "float32")
    factor = node.let(alpha * one * each)
    if scale is None:
        return op.cast(sums, "float32") * factor
    dtype = node.dtype(left) if zero_point is None else node.dtype(zero_point)
    return requantized(node, sums, factor, affine(node, scale, zero_point), dtype)


@table("MatMulIntegerToFloat")
def mat_mul_integer_to_float(
    node: Node,
    left: Expr,
    right: Expr,
    left_scale: Expr,
    right_scale: Expr,
    left_zero_point: Expr | None = None,
    right_zero_point: Expr | None = None,
    bias: Expr | None = None,
) -> Expr:
    dtype = node.dtype(left_scale)
    sums = node.let(matrix_product(node, left, right, left_zero_point, right_zero_point))
    one, each = (parameter(node, given, "float32") for given in (left_scale, right_scale))
    found = op.cast(sums, "float32") * (one * each)
    if bias is not None:
        found = found + node.as_dtype(bias, "float32")
    return node.as_dtype(node.let(found), dtype)


@table("DynamicQuantizeMatMul")
def dynamic_quantize_mat_mul(
    node: Node,
    left: Expr,
    right: Expr,
    right_scale: Expr,
    right_zero_point: Expr | None = None,
    bias: Expr | None = None,
) -> Expr:
    by = dynamic_range(node, left)
    integers = node.let(quantized(node, left, by, "uint8"))
    parameters = (by.scale, right_scale, by.zero_point, right_zero_point)
    return mat_mul_integer_to_float(node, integers, right, *parameters, bias)


@table("QAttention")
def q_attention(
    node: Node,
    data: Expr,
    weights: Expr,
    bias: Expr,
    data_scale: Expr,
    weight_scale: Expr,
    mask: Expr | None = None,
    data_zero_point: Expr | None = None,
    weight_zero_point: Expr | None = None,
    past: Expr | None = None,
) -> Sequence[Expr]:
    """Queries, keys and values are an integer product; attention is computed in floats."""
    parameters = (data_scale, weight_scale, data_zero_point, weight_zero_point)
    whole = mat_mul_integer_to_float(node, data, weights, *parameters, bias)
    return attended(node, node.let(whole), mask, past)


@table("QEmbedLayerNormalization")
def q_embed_layer_normalization(
    node: Node, words: Expr, segments: Expr | None, *inputs: Expr | None
) -> Sequence[Expr]:
    """Five integer tables, a mask, and the scales and zero points of the tables."""
    tables, mask, parameters = inputs[:5], inputs[5], inputs[6:]
    reals: Any = []
    for place, one in enumerate(tables):
        scale = parameters[place] if place < len(parameters) else None
        zero = parameters[place + 5] if place + 5 < len(parameters) else None
        if one is None:
            reals.append(None)
        elif scale is None:
            raise node.refused("a table has no scale", "one for each table", "none")
        else:
            reals.append(dequantized(node, one, affine(node, scale, zero)))
    return embed_layer_normalization(node, words, segments, *(*reals, mask))[:2]


@table("DynamicQuantizeLSTM")
def dynamic_quantize_lstm(node: Node, *inputs: Expr | None) -> Sequence[Expr]:
    """Integer weights, given transposed; inputs and states are quantized for every product."""
    given = [*inputs, *[None] * (12 - len(inputs))]
    parameters = given[8:12]
    if any(one is None for one in parameters):
        raise node.refused("the weights have scales and zero points", "12 inputs")
    weights = {}
    for is_state in (False, True):
        matrix, scale, zero = given[1 + is_state], *parameters[2 * is_state : 2 * is_state + 2]
        assert matrix is not None and scale is not None and zero is not None
        node.must_have_axes(matrix, 3, "the weights")
        given[1 + is_state] = node.let(op.transpose(matrix, (0, 2, 1)))
        weights[is_state] = scale, zero

    def product(there: Builder, layer: Layer, rows: Expr, is_state: bool) -> Expr:
        assert isinstance(there, Node)
        own = int64(layer.place)
        scale, zero = (
            parameter(node, node.let(op.take(one, own, axis=0)), kind)
            for one, kind in zip(weights[is_state], ("float32", "int32"), strict=True)
        )
        by = dynamic_range(there, rows)
        integers = there.let(quantized(there, rows, by, "uint8"))
        weight = layer.recurrence if is_state else layer.weight
        one = const(1.0, "float32")
        sums = op.qnn.op.dense(integers, weight, by.zero_point, zero, by.scale, one)
        return op.cast(sums, "float32") * (by.scale * scale)

    return memory_cells(node, given[:8], product)
