"""Multiply-accumulates of the convolutions and matrix products of a model, by the direct algorithm,
padding included."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from relay import tree
from relay.errors import RelayError
from relay.ir.dims import Dim
from relay.ir.expr import Call, Expr, Op
from relay.ir.types import TensorType


def get_total_mac_number(expr: Expr) -> Dim:
    """The multiply-accumulates in a typed expression; an expression of its dynamic dimensions."""
    total: Dim = 0
    for node in tree.postorder(expr):
        if isinstance(node, Call) and isinstance(node.op, Op):
            count = _COUNTS.get(node.op.name)
            if count is not None:
                total = total + count(node)
    return total


def _shape(expr: Expr) -> tuple[Dim, ...]:
    ty = expr.checked_type
    if not isinstance(ty, TensorType):
        raise RelayError(f"expected a tensor, found an expression of type {ty}")
    return ty.shape


def _extent(shape: tuple[Dim, ...], layout: str, axis: str) -> Dim:
    """The extent of an axis in a layout such as NCHW or NCHW16c, its blocks multiplied out."""
    letters = [letter for letter in layout if letter.isalpha()]
    extents = zip(letters, shape, strict=True)
    return prod(extent for letter, extent in extents if letter.upper() == axis)


def _convolution(call: Call) -> Dim:
    """For each element of the result: a window over the channels of a group."""
    attrs: Any = call.attrs
    channels = _extent(_shape(call.args[0]), attrs.data_layout, "C")
    groups: int = attrs.groups
    return prod(_shape(call)) * _window(call) * (channels // groups)


def _transposed_convolution(call: Call) -> Dim:
    """For each element of the input: a window over the outputs of a group."""
    attrs: Any = call.attrs
    outputs = _extent(_shape(call.args[1]), attrs.kernel_layout, "O")
    return prod(_shape(call.args[0])) * _window(call) * outputs


def _window(call: Call) -> Dim:
    attrs: Any = call.attrs
    layout: str = attrs.kernel_layout
    return prod(_extent(_shape(call.args[1]), layout, axis) for axis in "DHW" if axis in layout)


def _dense(call: Call) -> Dim:
    return prod(_shape(call)) * _shape(call.args[0])[-1]


def _matmul(call: Call) -> Dim:
    attrs: Any = call.attrs
    return prod(_shape(call)) * _shape(call.args[0])[-2 if attrs.transpose_a else -1]


_COUNTS: dict[str, Callable[[Call], Dim]] = {
    **{f"nn.conv{axes}d": _convolution for axes in (1, 2, 3)},
    "nn.contrib_conv2d_NCHWc": _convolution,
    "nn.contrib_depthwise_conv2d_NCHWc": _convolution,
    **{f"nn.conv{axes}d_transpose": _transposed_convolution for axes in (1, 2, 3)},
    "nn.dense": _dense,
    "nn.matmul": _matmul,
    "nn.batch_matmul": _matmul,
}
