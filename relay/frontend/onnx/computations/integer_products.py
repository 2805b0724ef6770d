"""Products and convolutions of integers less their zero points, with int32 sums."""

from __future__ import annotations

from relay import op
from relay.frontend.common.builder import static
from relay.frontend.common.products import product
from relay.frontend.common.quantization import is_scalar, less_zero_point, zero_of
from relay.frontend.common.windows import Windows
from relay.frontend.onnx.computations.windows import windows_of
from relay.frontend.onnx.node import Node
from relay.frontend.onnx.operators.convolution import convolved, operands
from relay.ir.expr import Expr, const
from relay.op.qnn import op as qnn
from relay.op.qnn.matmul import BATCH_MATMUL

SUMS = "int32"
# scales do not change sums
SCALES = (const(1.0, "float32"), const(1.0, "float32"))


def matrix_product(
    node: Node,
    left: Expr,
    right: Expr,
    left_zero_point: Expr | None = None,
    right_zero_point: Expr | None = None,
) -> Expr:
    """Matrix products with a zero point per tensor, per row of the left or per column of the
    right."""
    rows, columns = (zero_of(node, zero) for zero in (left_zero_point, right_zero_point))
    is_matrix = node.rank(right) == 2 and node.rank(columns) <= 1
    if is_scalar(node, rows) and (is_matrix or is_scalar(node, columns)):

        def multiply(one: Expr, other: Expr, in_batches: bool) -> Expr:
            if in_batches:
                return BATCH_MATMUL(one, other, rows, columns, *SCALES, out_dtype=SUMS)
            return qnn.dense(
                one, op.transpose(other, (1, 0)), rows, columns, *SCALES, out_dtype=SUMS
            )

        return product(node, left, right, multiply=multiply)
    if node.rank(rows) == 1 and node.rank(left) > 1:
        rows = node.let(op.expand_dims(rows, 1))
    left, right = less_zero_point(node, left, rows), less_zero_point(node, right, columns)
    return product(node, left, right)


def convolution(
    node: Node,
    data: Expr,
    weight: Expr,
    data_zero_point: Expr | None = None,
    weight_zero_point: Expr | None = None,
) -> Expr:
    """A convolution padded with the zero point; the weight's may be per output channel."""
    data, weight, groups = operands(node, data, weight, inputs=1)
    zero, each = (zero_of(node, given) for given in (data_zero_point, weight_zero_point))
    windows = windows_of(node, data, node.shape(weight)[2:])
    shape, count, framed = node.shape(data), len(windows.sizes), data
    if windows.pads is None:
        framed = windows.padded(node, data, op.cast(zero, node.dtype(data)))
    if count in (1, 2):
        found = _quantized(node, framed, weight, zero, each, windows, groups)
    else:
        if node.rank(each):
            each = node.let(op.expand_dims(each, 1, count + 1))
        images, kernel = less_zero_point(node, framed, zero), less_zero_point(node, weight, each)
        found = convolved(node, images, kernel, windows, groups)
    if windows.pads is not None:
        return found
    declared = (shape[0], node.shape(weight)[0], *windows.same_counts(shape[2:]))
    return node.declare(found, declared, SUMS)


def _quantized(
    node: Node, data: Expr, weight: Expr, zero: Expr, each: Expr, windows: Windows, groups: int
) -> Expr:
    """A convolution over two axes, or over one with another of extent 1 added."""
    lines = len(windows.sizes) == 1
    if lines:
        data, weight = (node.let(op.expand_dims(one, 2)) for one in (data, weight))
    ones = (1,) if lines else ()
    before, after = windows.padding[: len(windows.sizes)], windows.padding[len(windows.sizes) :]
    zeros = (0,) if lines else ()
    outputs = node.shape(weight)[0]
    found = qnn.conv2d(
        data,
        weight,
        zero,
        each,
        *SCALES,
        strides=(*ones, *windows.strides),
        padding=(*zeros, *before, *zeros, *after),
        dilation=(*ones, *windows.dilations),
        groups=groups,
        channels=outputs if isinstance(outputs, int) else None,
        kernel_size=static(node.shape(weight)[2:]),
        out_dtype=SUMS,
    )
    return op.squeeze(found, (2,)) if lines else found
