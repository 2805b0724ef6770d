"""Elementwise operators of one tensor."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import ml_dtypes

from relay import dtypes, op
from relay.frontend.common.curves import exp_less_one, log_of_one_plus
from relay.frontend.pytorch.converters import Converters
from relay.frontend.pytorch.node import Node, Number
from relay.frontend.pytorch.promotion import as_float, category, wide
from relay.ir.expr import Expr, const

table = Converters()

_finfo: Any = ml_dtypes.finfo

Unary = Callable[[Expr], Expr]

# functions whose results are floats, also of integers
_FLOATS: dict[str, Unary] = {
    "acos": op.acos,
    "acosh": op.acosh,
    "asin": op.asin,
    "asinh": op.asinh,
    "atan": op.atan,
    "atanh": op.atanh,
    "cos": op.cos,
    "cosh": op.cosh,
    "erf": op.erf,
    "exp": op.exp,
    "log": op.log,
    "log10": op.log10,
    "log2": op.log2,
    "rsqrt": op.rsqrt,
    "sigmoid": op.sigmoid,
    "sin": op.sin,
    "sinh": op.sinh,
    "sqrt": op.sqrt,
    "tan": op.tan,
    "tanh": op.tanh,
}
_SYNONYMS = {
    "arccos": "acos",
    "arccosh": "acosh",
    "arcsin": "asin",
    "arcsinh": "asinh",
    "arctan": "atan",
    "arctanh": "atanh",
    "special_erf": "erf",
    "special_expit": "sigmoid",
}


@table(*_FLOATS, *_SYNONYMS)
def of_floats(node: Node, self: Expr) -> Expr:
    name = node.operator.removeprefix("aten.")
    return _FLOATS[_SYNONYMS.get(name, name)](as_float(node, self))


# functions whose results are of the element type of the operand
_SAME: dict[str, Unary] = {
    "abs": op.abs,
    "absolute": op.abs,
    "ceil": op.ceil,
    "floor": op.floor,
    "neg": op.negative,
    "negative": op.negative,
    "trunc": op.trunc,
    "fix": op.trunc,
    "relu": op.nn.relu,
}


@table(*_SAME)
def of_numbers(node: Node, self: Expr) -> Expr:
    return _SAME[node.operator.removeprefix("aten.")](self)


@table("round", "special_round")
def rounded(node: Node, self: Expr, decimals: int = 0) -> Expr:
    """To a number of decimals; a negative number rounds to tens and so on."""
    if decimals == 0 or category(node.dtype(self)) < 2:
        return op.round(self)

    def scaled(data: Expr) -> Expr:
        ten = const(10.0 ** abs(decimals), node.dtype(data))
        if decimals < 0:
            return op.round(data / ten) * ten
        return op.round(data * ten) / ten

    return wide(node, self, scaled)


@table("sign", "sgn")
def sign(node: Node, self: Expr) -> Expr:
    """sgn, sign: -1, 0 or 1; 0 for NaN."""
    if node.dtype(self) == "bool":
        return self
    if category(node.dtype(self)) < 2:
        return op.sign(self)
    return op.where(op.isnan(self), node.number(0, self), op.sign(self))


@table("positive")
def positive(node: Node, self: Expr) -> Expr:
    return self


@table("square")
def square(node: Node, self: Expr) -> Expr:
    if node.dtype(self) == "bool":
        self = node.as_dtype(self, "int64")
    return self * self


@table("reciprocal")
def reciprocal(node: Node, self: Expr) -> Expr:
    data = as_float(node, self)
    return node.number(1, data) / data


@table("frac")
def frac(node: Node, self: Expr) -> Expr:
    return self - op.trunc(self)


@table("exp2", "special_exp2")
def exp2(node: Node, self: Expr) -> Expr:
    data = as_float(node, self)
    return op.power(node.number(2, data), data)


@table("log1p", "special_log1p")
def log1p(node: Node, self: Expr) -> Expr:
    return wide(node, self, lambda data: log_of_one_plus(node, data))


@table("expm1", "special_expm1")
def expm1(node: Node, self: Expr) -> Expr:
    return wide(node, self, lambda data: exp_less_one(node, data))


@table("logit", "special_logit")
def logit(node: Node, self: Expr, eps: float | None = None) -> Expr:
    def converted(data: Expr) -> Expr:
        if eps is not None:
            data = node.let(op.clip(data, eps, 1.0 - eps))
        return op.log(data / (node.number(1, data) - data))

    return wide(node, self, converted)


@table("sinc", "special_sinc")
def sinc(node: Node, self: Expr) -> Expr:
    def converted(data: Expr) -> Expr:
        angle = node.let(data * node.number(math.pi, data))
        is_zero = op.equal(data, node.number(0, data))
        return op.where(is_zero, node.number(1, data), op.sin(angle) / angle)

    return wide(node, self, converted)


@table("deg2rad")
def deg2rad(node: Node, self: Expr) -> Expr:
    data = as_float(node, self)
    return data * node.number(math.pi / 180, data)


@table("rad2deg")
def rad2deg(node: Node, self: Expr) -> Expr:
    data = as_float(node, self)
    return data * node.number(180 / math.pi, data)


@table("nan_to_num")
def nan_to_num(
    node: Node,
    self: Expr,
    nan: float | None = None,
    posinf: float | None = None,
    neginf: float | None = None,
) -> Expr:
    dtype = node.dtype(self)
    if category(dtype) < 2:
        return self
    lowest, highest = finite_range(dtype)
    high = node.number(highest if posinf is None else posinf, self)
    low = node.number(lowest if neginf is None else neginf, self)
    zero = node.number(0, self)
    finite = op.where(op.isnan(self), node.number(nan or 0.0, self), self)
    infinite = op.where(self > zero, high, low)
    return op.where(op.isinf(self), infinite, finite)


def finite_range(dtype: str) -> tuple[float, float]:
    """The lowest and the highest finite float of an element type."""
    found = _finfo(dtypes.to_numpy(dtype))
    return float(found.min), float(found.max)


# --- tests -------------------------------------------------------------------------------------


@table("isnan")
def isnan(node: Node, self: Expr) -> Expr:
    return op.isnan(self) if _is_float(node, self) else _everywhere(node, self, False)


@table("isinf")
def isinf(node: Node, self: Expr) -> Expr:
    return op.isinf(self) if _is_float(node, self) else _everywhere(node, self, False)


@table("isfinite")
def isfinite(node: Node, self: Expr) -> Expr:
    return op.isfinite(self) if _is_float(node, self) else _everywhere(node, self, True)


@table("isreal")
def isreal(node: Node, self: Expr) -> Expr:
    return _everywhere(node, self, True)


@table("isposinf")
def isposinf(node: Node, self: Expr) -> Expr:
    if not _is_float(node, self):
        return _everywhere(node, self, False)
    return op.equal(self, node.number(math.inf, self))


@table("isneginf")
def isneginf(node: Node, self: Expr) -> Expr:
    if not _is_float(node, self):
        return _everywhere(node, self, False)
    return op.equal(self, node.number(-math.inf, self))


def _is_float(node: Node, data: Expr) -> bool:
    return category(node.dtype(data)) == 2


def _everywhere(node: Node, data: Expr, value: bool) -> Expr:
    return op.full_like(node.as_dtype(data, "bool"), const(value, "bool"))


@table("signbit")
def signbit(node: Node, self: Expr) -> Expr:
    return is_negative(node, self)


def is_negative(node: Node, data: Expr) -> Expr:
    """signbit: true for negative elements and -0.0."""
    dtype = node.dtype(data)
    if category(dtype) == 2:
        data = node.let(op.reinterpret(data, dtype=f"int{dtypes.bits(dtype)}"))
    elif dtype == "bool" or dtype in dtypes.UNSIGNED:
        return _everywhere(node, data, False)
    return data < node.number(0, data)


@table("angle")
def angle(node: Node, self: Expr) -> Expr:
    """The angle of real numbers: pi for negative ones."""
    data = as_float(node, self)
    turned = op.where(data < node.number(0, data), node.number(math.pi, data), node.number(0, data))
    return op.where(op.isnan(data), data, turned)


# --- scalars -----------------------------------------------------------------------------------


@table("logical_not")
def logical_not(node: Node, self: Number) -> Expr:
    data = node.tensor(self)
    if node.dtype(data) != "bool":
        return op.equal(data, node.number(0, data))
    return op.logical_not(data)


@table("bitwise_not")
def bitwise_not(node: Node, self: Expr) -> Expr:
    return op.bitwise_not(self)
