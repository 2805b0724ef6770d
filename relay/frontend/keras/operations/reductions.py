"""Reductions along axes, scans, and statistics."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from relay import dtypes, op
from relay.frontend.keras.converters import Operations
from relay.frontend.keras.node import Node, policy_of
from relay.frontend.keras.promotion import floating
from relay.ir.expr import Expr

table = Operations()

_REDUCTIONS: dict[str, Callable[..., Expr]] = {
    "Sum": op.sum, "Prod": op.prod, "Max": op.max, "Amax": op.max, "Min": op.min,
    "Amin": op.min, "Mean": op.mean, "All": op.all, "Any": op.any, "Var": op.variance,
    "Argmax": op.argmax, "Argmin": op.argmin,
}  # fmt: skip


def axes_of(node: Node, x: Expr, name: str = "axis") -> tuple[int, ...]:
    """The axes that are reduced; all where none is named."""
    given: Any = node.config.get(name)
    rank = node.rank(x)
    if given is None:
        return tuple(range(rank))
    return tuple(node.axes_of(given if isinstance(given, list | tuple) else [given], rank))


def keeps(node: Node) -> bool:
    return bool(node.option("keepdims", False))


def reduced(node: Node, name: str, x: Expr, axes: tuple[int, ...], keepdims: bool) -> Expr:
    if not axes and node.rank(x) == 0:
        return op.copy(x)
    return _REDUCTIONS[name](x, axis=axes, keepdims=keepdims)


@table("numpy.Max", "numpy.Amax", "numpy.Min", "numpy.Amin")
def extreme(node: Node, x: Expr) -> Expr:
    found = node.let(reduced(node, node.operator, x, axes_of(node, x), keeps(node)))
    initial = node.config.get("initial")
    if initial is None:
        return found
    combine = op.maximum if "max" in node.operator.lower() else op.minimum
    return combine(found, node.number(initial, found))


def _whole(node: Node, x: Expr) -> Expr:
    """Integers in the type that Keras accumulates in: 32 bits at least."""
    dtype = node.dtype(x)
    given = node.config.get("dtype")
    if given is not None:
        return node.as_dtype(x, policy_of(node, given))
    if dtypes.is_float(dtype) or dtypes.bits(dtype) >= 32:
        return x
    return node.as_dtype(x, "uint32" if dtype.startswith("uint") else "int32")


@table("numpy.Sum", "numpy.Prod")
def total(node: Node, x: Expr) -> Expr:
    return reduced(node, node.operator, _whole(node, x), axes_of(node, x), keeps(node))


@table("numpy.Mean", "numpy.Var", "numpy.Std")
def moment(node: Node, x: Expr) -> Expr:
    data = floating(node, x)
    name = "Var" if node.operator == "Std" else node.operator
    found = reduced(node, name, data, axes_of(node, x), keeps(node))
    return op.sqrt(found) if node.operator == "Std" else found


@table("numpy.All", "numpy.Any")
def truth(node: Node, x: Expr) -> Expr:
    return reduced(node, node.operator, node.as_dtype(x, "bool"), axes_of(node, x), keeps(node))


@table("numpy.Argmax", "numpy.Argmin")
def place(node: Node, x: Expr) -> Expr:
    axis = node.config.get("axis")
    data = node.as_dtype(x, "int32") if node.dtype(x) == "bool" else x
    found: Expr
    if axis is None:
        flat = node.let(op.reshape(data, (-1,)))
        found = node.let(_REDUCTIONS[node.operator](flat, axis=(0,)))
        if keeps(node):
            found = op.expand_dims(found, 0, num_newaxis=node.rank(x))
    else:
        found = _REDUCTIONS[node.operator](data, axis=axes_of(node, x), keepdims=keeps(node))
    return node.as_dtype(node.let(found), "int32")


@table("numpy.Ptp")
def ptp(node: Node, x: Expr) -> Expr:
    axes = axes_of(node, x)
    return op.max(x, axis=axes, keepdims=keeps(node)) - op.min(x, axis=axes, keepdims=keeps(node))


@table("numpy.Average")
def average(node: Node, x: Expr, weights: Any = None) -> Expr:
    data, axes = floating(node, x), axes_of(node, x)
    if weights is None:
        return reduced(node, "Mean", data, axes, False)
    own = node.as_dtype(node.tensor(weights), node.dtype(data))
    if node.rank(own) < node.rank(data) and len(axes) == 1:
        own = node.let(op.reshape(own, (-1, *[1] * (node.rank(data) - axes[0] - 1))))
    wide = node.let(op.zeros_like(data) + own)
    return op.sum(data * wide, axis=axes) / op.sum(wide, axis=axes)


@table("numpy.CountNonzero")
def count_nonzero(node: Node, x: Expr) -> Expr:
    held = op.cast(op.not_equal(x, node.number(0, x)), "int32")
    return op.sum(held, axis=axes_of(node, x))


@table("math.Logsumexp")
def logsumexp(node: Node, x: Expr) -> Expr:
    axes = axes_of(node, x)
    if not axes:
        return op.copy(x)
    most = node.let(op.max(x, axis=axes, keepdims=True))
    base = node.let(op.where(op.isfinite(most), most, node.number(0, most)))
    total_of = node.let(op.log(op.sum(op.exp(x - base), axis=axes, keepdims=True)) + base)
    return total_of if keeps(node) else op.squeeze(total_of, axes)


@table("numpy.Cumsum", "numpy.Cumprod")
def scan(node: Node, x: Expr) -> Expr:
    operator = op.cumsum if node.operator == "Cumsum" else op.cumprod
    data = _whole(node, x)
    axis = node.config.get("axis")
    if axis is None:
        return operator(node.let(op.reshape(data, (-1,))), axis=0)
    return operator(data, axis=node.axis_of(int(axis), node.rank(x)))


@table("nn.Moments")
def moments(node: Node, x: Expr) -> list[Expr]:
    axes = axes_of(node, x, "axes")
    wide = node.as_dtype(x, "float32") if node.dtype(x) == "float16" else x
    found = [
        op.mean(wide, axis=axes, keepdims=keeps(node)),
        op.variance(wide, axis=axes, keepdims=keeps(node)),
    ]
    return [node.as_dtype(node.let(one), node.dtype(x)) for one in found]


@table("linalg.Norm")
def norm(node: Node, x: Expr) -> Expr:
    order: Any = node.config.get("ord")
    data, given = floating(node, x), node.config.get("axis")
    axes = axes_of(node, x)
    if given is None and order is None:
        return op.sqrt(op.sum(data * data, axis=axes, keepdims=keeps(node)))
    if order in (None, "fro", "euclidean") or (order == 2 and len(axes) == 1):
        return op.sqrt(op.sum(data * data, axis=axes, keepdims=keeps(node)))
    size = op.abs(data)
    if order == "nuc" or (len(axes) == 2 and order in (2, -2)):
        raise node.refused("it needs the singular values of matrices", found=str(order))
    if isinstance(order, str):
        order = {"inf": math.inf, "-inf": -math.inf}.get(order, order)
    if not isinstance(order, int | float):
        raise node.refused("there is no such norm", found=str(order)[:40])
    if len(axes) == 2:
        inner, outer = (axes[1], axes[0]) if math.isinf(order) else (axes[0], axes[1])
        sums = op.sum(size, axis=(inner,), keepdims=True)
        most = (op.max if order > 0 else op.min)(sums, axis=(outer,), keepdims=True)
        return most if keeps(node) else op.squeeze(node.let(most), axes)
    if math.isinf(order):
        return (op.max if order > 0 else op.min)(size, axis=axes, keepdims=keeps(node))
    if order == 0:
        held = op.cast(op.not_equal(data, node.number(0, data)), node.dtype(data))
        return op.sum(held, axis=axes, keepdims=keeps(node))
    powers = op.power(size, node.number(order, data))
    return op.power(op.sum(powers, axis=axes, keepdims=keeps(node)), node.number(1 / order, data))


@table("nn.Normalize")
def normalize(node: Node, x: Expr) -> Expr:
    """X / max(norm, epsilon)"""
    data, axes = floating(node, x), axes_of(node, x)
    order = node.option("order", 2)
    epsilon = node.option("epsilon", 1e-7)
    if order == 2:
        square = op.sum(data * data, axis=axes, keepdims=True)
        return data * op.rsqrt(op.maximum(square, node.number(epsilon * epsilon, data)))
    powers = op.sum(op.power(op.abs(data), node.number(order, data)), axis=axes, keepdims=True)
    size = op.power(powers, node.number(1 / order, data))
    return data / op.maximum(size, node.number(epsilon, data))


_WITHOUT_NAN: dict[str, tuple[str, float]] = {
    "Nansum": ("Sum", 0.0), "Nanprod": ("Prod", 1.0), "Nanmax": ("Max", -math.inf),
    "Nanmin": ("Min", math.inf),
}  # fmt: skip


@table(*(f"numpy.{name}" for name in ("Nansum", "Nanprod", "Nanmax", "Nanmin")))
def without_nan(node: Node, x: Expr) -> Expr:
    name, neutral = _WITHOUT_NAN[node.operator]
    axes = axes_of(node, x)
    if not dtypes.is_float(node.dtype(x)):
        return reduced(
            node, name, _whole(node, x) if name in ("Sum", "Prod") else x, axes, keeps(node)
        )
    missing = node.let(op.isnan(x))
    held = node.let(op.where(missing, node.number(neutral, x), x))
    found = node.let(reduced(node, name, held, axes, keeps(node)))
    if name in ("Sum", "Prod"):
        return found
    none = op.all(missing, axis=axes, keepdims=keeps(node))
    return op.where(none, node.number(math.nan, x), found)


@table("numpy.Nanmean", "numpy.Nanvar", "numpy.Nanstd")
def moments_without_nan(node: Node, x: Expr) -> Expr:
    data, axes = floating(node, x), axes_of(node, x)
    held = node.let(op.logical_not(op.isnan(data)))
    zero = node.number(0, data)
    count = node.let(op.sum(op.cast(held, node.dtype(data)), axis=axes, keepdims=True))
    mean = node.let(op.sum(op.where(held, data, zero), axis=axes, keepdims=True) / count)
    found = mean
    if node.operator != "Nanmean":
        apart = node.let(op.where(held, data - mean, zero))
        found = node.let(op.sum(apart * apart, axis=axes, keepdims=True) / count)
    if node.operator == "Nanstd":
        found = node.let(op.sqrt(found))
    return found if keeps(node) else op.squeeze(found, axes)
