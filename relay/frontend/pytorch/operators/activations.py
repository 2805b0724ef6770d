"""Activation functions, softmax and dropout."""

from __future__ import annotations

from collections.abc import Callable
from math import inf

from relay import dtypes, op
from relay.frontend.common import curves
from relay.frontend.common.broadcast import broadcastable, trailing_axes
from relay.frontend.pytorch.converters import Converters
from relay.frontend.pytorch.node import Node, Number
from relay.ir.expr import Expr

table = Converters()

SELU_ALPHA, SELU_SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946


def widely(node: Node, data: Expr, compute: Callable[[Expr], Expr]) -> Expr:
    """A computation on data, for halves of floats in float32."""
    dtype = node.dtype(data)
    if not dtypes.is_float(dtype) or dtypes.bits(dtype) >= 32:
        return compute(data)
    return op.cast(compute(node.as_dtype(data, "float32")), dtype)


@table("gelu")
def gelu(node: Node, self: Expr, *, approximate: str = "none") -> Expr:
    by_tanh = approximate == "tanh"
    return widely(node, self, lambda x: curves.gelu(node, x, by_tanh=by_tanh))


@table("silu")
def silu(node: Node, self: Expr) -> Expr:
    return widely(node, self, lambda x: x * op.sigmoid(x))


@table("mish")
def mish(node: Node, self: Expr) -> Expr:
    return widely(node, self, lambda x: curves.mish(node, x))


@table("elu")
def elu(node: Node, self: Expr, alpha: float = 1, scale: float = 1, input_scale: float = 1) -> Expr:
    return widely(node, self, lambda x: curves.elu(node, x, alpha * scale, scale, input_scale))


@table("celu")
def celu(node: Node, self: Expr, alpha: float = 1.0) -> Expr:
    return widely(node, self, lambda x: curves.elu(node, x, alpha, 1.0, 1 / alpha))


@table("selu")
def selu(node: Node, self: Expr) -> Expr:
    below = SELU_ALPHA * SELU_SCALE
    return widely(node, self, lambda x: curves.elu(node, x, below, SELU_SCALE))


@table("leaky_relu")
def leaky_relu(node: Node, self: Expr, negative_slope: Number = 0.01) -> Expr:
    if isinstance(negative_slope, int | float):
        return op.nn.leaky_relu(self, alpha=float(negative_slope))
    negative = op.less(self, node.number(0, self))
    return op.where(negative, self * node.number(negative_slope, self), self)


@table("prelu", "_prelu_kernel")
def prelu(node: Node, self: Expr, weight: Expr) -> Expr:
    if node.operator == "aten.prelu" and node.rank(weight) == 1:
        if node.rank(self) == 0:
            weight = node.let(op.reshape(weight, ()))
        else:
            weight = node.let(trailing_axes(weight, max(node.rank(self) - 2, 0)))
    data, weight = broadcastable(node, self, weight)
    return op.where(op.greater(data, node.number(0, data)), data, weight * data)


@table("hardtanh")
def hardtanh(node: Node, self: Expr, min_val: float = -1, max_val: float = 1) -> Expr:
    return op.clip(self, float(min_val), float(max_val))


@table("relu6")
def relu6(node: Node, self: Expr) -> Expr:
    return op.clip(self, 0.0, 6.0)


@table("hardsigmoid")
def hardsigmoid(node: Node, self: Expr) -> Expr:
    return widely(node, self, lambda x: curves.hard_sigmoid(node, x))


@table("hardswish")
def hardswish(node: Node, self: Expr) -> Expr:
    return widely(node, self, lambda x: x * curves.hard_sigmoid(node, x))


@table("softplus")
def softplus(node: Node, self: Expr, beta: float = 1, threshold: float = 20) -> Expr:
    def curve(x: Expr) -> Expr:
        scale = node.number(beta, x)
        steep = node.let(x * scale)
        smooth = curves.softplus(node, steep) / scale
        return op.where(op.greater(steep, node.number(threshold, x)), x, smooth)

    return widely(node, self, curve)


@table("softshrink")
def softshrink(node: Node, self: Expr, lambd: float = 0.5) -> Expr:
    limit, zero = node.number(lambd, self), node.number(0, self)
    below = op.where(op.less(self, -limit), self + limit, self * zero)
    return op.where(op.greater(self, limit), self - limit, below)


@table("hardshrink")
def hardshrink(node: Node, self: Expr, lambd: float = 0.5) -> Expr:
    inside = op.less_equal(op.abs(self), node.number(lambd, self))
    return op.where(inside, node.number(0, self), self)


@table("threshold")
def threshold(node: Node, self: Expr, threshold: Number, value: Number) -> Expr:
    low = op.less_equal(self, node.number(threshold, self))
    return op.where(low, node.number(value, self), self)


@table("glu")
def glu(node: Node, self: Expr, dim: int = -1) -> Expr:
    axis = node.axis(self, dim)
    values, gates = node.fields(op.split(self, 2, axis=axis).astuple(), 2)
    return op.multiply(values, node.let(widely(node, gates, op.sigmoid)))


@table("log_sigmoid")
def log_sigmoid(node: Node, self: Expr) -> Expr:
    return widely(node, self, lambda x: -curves.softplus(node, node.let(-x)))


@table("log_sigmoid_forward")
def log_sigmoid_forward(node: Node, self: Expr) -> list[Expr]:
    """log_sigmoid, and the buffer that its derivative reads."""
    return [log_sigmoid(node, self), op.exp(-op.abs(self))]


# --- softmax -------------------------------------------------------------------------------------


@table("softmax", "_softmax", "special_softmax")
def softmax(node: Node, self: Expr, dim: int, dtype: str | bool | None = None) -> Expr:
    return _along(node, self, dim, dtype, op.nn.softmax)


@table("log_softmax", "_log_softmax", "special_log_softmax")
def log_softmax(node: Node, self: Expr, dim: int, dtype: str | bool | None = None) -> Expr:
    return _along(node, self, dim, dtype, op.nn.log_softmax)


def _along(
    node: Node, data: Expr, dim: int, dtype: str | bool | None, operator: Callable[..., Expr]
) -> Expr:
    """A function along an axis; `dtype` is an element type, or whether halves become float32."""
    if isinstance(dtype, str):
        data = node.as_dtype(data, dtype)
    elif dtype and node.dtype(data) == "float16":
        data = node.as_dtype(data, "float32")
    if node.rank(data) == 0:
        row = node.let(op.expand_dims(data, 0))
        return op.squeeze(node.let(widely(node, row, lambda x: operator(x, axis=0))), (0,))
    axis = node.axis(data, dim)
    return widely(node, data, lambda x: operator(x, axis=axis))


@table("_safe_softmax")
def safe_softmax(node: Node, self: Expr, dim: int, dtype: str | None = None) -> Expr:
    """Softmax; rows of minus infinity only give 0."""
    found = node.let(softmax(node, self, dim, dtype))
    hidden = op.equal(self, node.number(-inf, self))
    if node.rank(self):
        hidden = op.all(hidden, axis=(node.axis(self, dim),), keepdims=True)
    return op.where(hidden, node.number(0, found), found)


@table("_masked_softmax")
def masked_softmax(
    node: Node, self: Expr, mask: Expr, dim: int | None = None, mask_type: int | None = None
) -> Expr:
    """Softmax of the elements that are not masked."""
    if node.rank(mask) == 2 and node.rank(self) == 4:
        # of keys for each element of the batch, or of keys for each query
        places = (1, 1) if mask_type != 0 else (0, 0)
        for place in places:
            mask = node.let(op.expand_dims(mask, place))
    data, mask = broadcastable(node, self, mask)
    scores = node.let(op.where(mask, node.number(-inf, data), data))
    return softmax(node, scores, -1 if dim is None else dim)
