"""Activation functions, by the names that configurations have for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from relay import dtypes, op
from relay.frontend.common import curves
from relay.frontend.common.builder import Builder
from relay.frontend.keras.config import layer_of
from relay.frontend.keras.node import Node
from relay.ir.expr import Expr

SELU_ALPHA, SELU_SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946
Curve = Callable[[Builder, Expr], Expr]


def softmax(node: Builder, x: Expr, axis: int = -1) -> Expr:
    return op.nn.softmax(x, axis=axis)


def relu6(node: Builder, x: Expr) -> Expr:
    return op.clip(x, 0.0, 6.0)


def selu(node: Builder, x: Expr) -> Expr:
    return curves.elu(node, x, SELU_ALPHA * SELU_SCALE, SELU_SCALE)


def hard_sigmoid(node: Builder, x: Expr) -> Expr:
    return curves.hard_sigmoid(node, x)


def hard_silu(node: Builder, x: Expr) -> Expr:
    return x * curves.hard_sigmoid(node, x)


def hard_tanh(node: Builder, x: Expr) -> Expr:
    return op.clip(x, -1.0, 1.0)


def hard_shrink(node: Builder, x: Expr, threshold: float = 0.5) -> Expr:
    return op.where(op.abs(x) > node.number(threshold, x), x, node.number(0, x))


def soft_shrink(node: Builder, x: Expr, threshold: float = 0.5) -> Expr:
    limit, zero = node.number(threshold, x), node.number(0, x)
    below = op.where(x < -limit, x + limit, zero)
    return op.where(x > limit, x - limit, below)


def log_sigmoid(node: Builder, x: Expr) -> Expr:
    return -curves.softplus(node, node.let(-x))


def squareplus(node: Builder, x: Expr, b: float = 4.0) -> Expr:
    return (x + op.sqrt(x * x + node.number(b, x))) / node.number(2, x)


def sparse_plus(node: Builder, x: Expr) -> Expr:
    one, zero = node.number(1, x), node.number(0, x)
    middle = node.number(0.25, x) * (x + one) * (x + one)
    return op.where(x <= -one, zero, op.where(x < one, middle, x))


def sparse_sigmoid(node: Builder, x: Expr) -> Expr:
    half, one = node.number(0.5, x), node.number(1, x)
    return op.clip(half * (x + one), 0.0, 1.0)


def tanh_shrink(node: Builder, x: Expr) -> Expr:
    return x - op.tanh(x)


def threshold(node: Builder, x: Expr, threshold: float = 1.0, default_value: float = 0.0) -> Expr:
    return op.where(x > node.number(threshold, x), x, node.number(default_value, x))


def glu(node: Builder, x: Expr, axis: int = -1) -> Expr:
    values, gates = node.fields(op.split(x, 2, axis=axis).astuple(), 2)
    return values * op.sigmoid(gates)


def sparsemax(node: Builder, x: Expr, axis: int = -1) -> Expr:
    """max(x - t, 0); t is that of Keras, which adds up sums where the projection has the last."""
    axis = node.axis_of(axis, node.rank(x))
    count = node.static_extent(x, axis, "the extent of the axis")
    ordered = node.let(op.sort(x, axis=axis, is_ascend=False))
    sums = node.let(op.cumsum(ordered, axis=axis))
    shape = [count if place == axis else 1 for place in range(node.rank(x))]
    numbers = op.arange(node.number(1, x), node.number(count + 1, x), dtype=node.dtype(x))
    places = node.let(op.reshape(numbers, shape))
    one = node.number(1, x)
    inside = node.let(op.cast(ordered - (sums - one) / places > node.number(0, x), node.dtype(x)))
    kept = node.let(op.sum(inside, axis=axis, keepdims=True))
    total = op.sum(inside * sums, axis=axis, keepdims=True)
    return op.maximum(x - (total - one) / kept, node.number(0, x))


def gelu(node: Builder, x: Expr, approximate: bool = False) -> Expr:
    return curves.gelu(node, x, by_tanh=approximate)


def elu(node: Builder, x: Expr, alpha: float = 1.0) -> Expr:
    return curves.elu(node, x, alpha)


def celu(node: Builder, x: Expr, alpha: float = 1.0) -> Expr:
    return curves.elu(node, x, alpha, 1.0, 1 / alpha)


def leaky_relu(node: Builder, x: Expr, negative_slope: float = 0.2) -> Expr:
    return op.nn.leaky_relu(x, alpha=float(negative_slope))


CURVES: Mapping[str, Callable[..., Expr]] = {
    "linear": lambda node, x: x,
    "relu": lambda node, x: op.nn.relu(x),
    "relu6": relu6,
    "leaky_relu": leaky_relu,
    "sigmoid": lambda node, x: op.sigmoid(x),
    "sparse_sigmoid": sparse_sigmoid,
    "softmax": softmax,
    "log_softmax": lambda node, x, axis=-1: op.nn.log_softmax(x, axis=axis),
    "softplus": curves.softplus,
    "softsign": curves.softsign,
    "soft_shrink": soft_shrink,
    "sparse_plus": sparse_plus,
    "sparsemax": sparsemax,
    "squareplus": squareplus,
    "silu": lambda node, x: x * op.sigmoid(x),
    "swish": lambda node, x: x * op.sigmoid(x),
    "gelu": gelu,
    "glu": glu,
    "tanh": lambda node, x: op.tanh(x),
    "tanh_shrink": tanh_shrink,
    "threshold": threshold,
    "elu": elu,
    "celu": celu,
    "selu": selu,
    "mish": curves.mish,
    "exponential": lambda node, x: op.exp(x),
    "hard_shrink": hard_shrink,
    "hard_sigmoid": hard_sigmoid,
    "hard_silu": hard_silu,
    "hard_swish": hard_silu,
    "hard_tanh": hard_tanh,
    "log_sigmoid": log_sigmoid,
}


def widely(node: Builder, x: Expr, curve: Callable[[Expr], Expr]) -> Expr:
    """A function of floats, for halves in float32."""
    dtype = node.dtype(x)
    if not dtypes.is_float(dtype) or dtypes.bits(dtype) >= 32:
        return curve(x)
    return op.cast(curve(node.as_dtype(x, "float32")), dtype)


def activated(node: Node, x: Expr, option: str = "activation", default: str = "linear") -> Expr:
    """A tensor after the function that an option of the layer names."""
    return apply(node, node.config.get(option, default), x)


def apply(node: Node, given: Any, x: Expr) -> Expr:
    """A tensor after a function: a name, or what a configuration has of a function or a layer."""
    x = node.let(x)
    if isinstance(given, dict):
        config = given.get("config")
        if isinstance(config, dict):
            info = layer_of(given)
            found = node.sub(info, node.store.part("activation")).apply(x)
            if not isinstance(found, Expr):
                raise node.refused("its activation gives several results")
            return found
        given = config if isinstance(config, str) else given.get("class_name")
    if given is None:
        return x
    name = str(given)
    curve = CURVES.get(name)
    if curve is None:
        hint = "layers of your own: from_keras(model, layers=[table])"
        raise node.refused(f"there is no activation `{name[:60]}`", hint=hint)
    return node.let(widely(node, x, lambda wide: curve(node, wide)))
