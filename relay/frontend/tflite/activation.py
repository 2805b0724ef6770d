"""Fused activation functions: on real numbers, and on quantized integers."""

from __future__ import annotations

import math

import tflite

from relay import dtypes, op
from relay.frontend.tflite.node import Node
from relay.ir.expr import Expr
from relay.op.building.numerics import limits

_KINDS = tflite.ActivationFunctionType
# the limits of those that clip
_LIMITS = {
    _KINDS.RELU: (0.0, math.inf),
    _KINDS.RELU6: (0.0, 6.0),
    _KINDS.RELU_N1_TO_1: (-1.0, 1.0),
}
OPTION = "fused_activation_function"


def activated(node: Node, value: Expr, kind: int | None = None) -> Expr:
    """Real numbers after the fused activation of the operator."""
    kind = node.option(OPTION, 0) if kind is None else kind
    if kind == _KINDS.NONE:
        return value
    if kind == _KINDS.RELU:
        return op.nn.relu(value)
    if kind in _LIMITS:
        low, high = _LIMITS[kind]
        return op.clip(value, low, high)
    if kind == _KINDS.TANH:
        return op.tanh(value)
    raise node.refused("there is no such function after it", "RELU, RELU6 or TANH", str(kind))


def clipped(node: Node, value: Expr, kind: int | None = None) -> Expr:
    """Quantized results clipped as the fused activation requires."""
    kind = node.option(OPTION, 0) if kind is None else kind
    if kind == _KINDS.NONE:
        return value
    by = node.result().quantization
    if kind not in _LIMITS or by is None:
        raise node.refused("there is no such function of integers", "RELU or RELU6", str(kind))
    least, most = (int(one) for one in limits(dtypes.to_numpy(node.result_type())))
    scale, zero = float(by.scale[0]), int(by.zero_point[0])
    low, high = _LIMITS[kind]
    first = max(least, _step(low, scale, zero))
    last = most if math.isinf(high) else min(most, _step(high, scale, zero))
    if (first, last) == (least, most):
        return value
    return op.clip(value, first, max(first, last))


def _step(real: float, scale: float, zero: int) -> int:
    """The quantized integer of a real number, rounded half away from zero."""
    steps = real / scale if scale else 0.0
    return zero + int(math.copysign(math.floor(abs(steps) + 0.5), steps))
