"""Elementwise operations of one tensor or two."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from relay import dtypes, op
from relay.frontend.common.broadcast import broadcastable
from relay.frontend.keras.converters import Operations
from relay.frontend.keras.node import Node, policy_of
from relay.frontend.keras.promotion import floating, promoted
from relay.ir.expr import Expr

table = Operations()


def moved_range(node: Node, data: Expr, source: Sequence[float], target: Sequence[float]) -> Expr:
    """Numbers of one range as those of another."""
    if list(source) == list(target):
        return data
    share = (data - node.number(source[0], data)) / node.number(source[1] - source[0], data)
    spread = node.number(target[1] - target[0], data)
    return node.let(share * spread + node.number(target[0], data))


# --- of one tensor -------------------------------------------------------------------------------

_REAL: dict[str, Callable[[Expr], Expr]] = {
    "Arccos": op.acos, "Arccosh": op.acosh, "Arcsin": op.asin, "Arcsinh": op.asinh,
    "Arctan": op.atan, "Arctanh": op.atanh, "Cos": op.cos, "Cosh": op.cosh, "Exp": op.exp,
    "Log": op.log, "Log2": op.log2, "Log10": op.log10, "Sin": op.sin, "Sinh": op.sinh,
    "Sqrt": op.sqrt, "Tan": op.tan, "Tanh": op.tanh,
}  # fmt: skip
_SAME: dict[str, Callable[[Expr], Expr]] = {
    "Abs": op.abs, "Absolute": op.abs, "Negative": op.negative, "Sign": op.sign,
    "BitwiseInvert": op.bitwise_not, "BitwiseNot": op.bitwise_not, "Copy": op.copy,
    "Conj": op.copy, "Conjugate": op.copy, "Real": op.copy, "Trunc": op.trunc,
}  # fmt: skip


def _real(function: Callable[[Expr], Expr], node: Node, x: Any) -> Expr:
    return function(floating(node, node.tensor(x)))


def _same(function: Callable[[Expr], Expr], node: Node, x: Any) -> Expr:
    return function(node.tensor(x))


for _name, _function in _REAL.items():
    table.add(f"numpy.{_name}", partial(_real, _function))
for _name, _function in _SAME.items():
    table.add(f"numpy.{_name}", partial(_same, _function))
table.add("math.Erf", partial(_real, op.erf))
table.add("math.Rsqrt", partial(_real, op.rsqrt))
table.add("numpy.Fabs", partial(_real, op.abs))
table.add("core.StopGradient", partial(_same, op.copy))


@table("numpy.Floor", "numpy.Ceil")
def rounded(node: Node, x: Expr) -> Expr:
    return {"Floor": op.floor, "Ceil": op.ceil}[node.operator](floating(node, x))


@table("numpy.Square")
def square(node: Node, x: Expr) -> Expr:
    data = node.as_dtype(x, "int32") if node.dtype(x) == "bool" else x
    return data * data


@table("numpy.Reciprocal")
def reciprocal(node: Node, x: Expr) -> Expr:
    data = floating(node, x)
    return node.number(1, data) / data


@table("numpy.Expm1")
def expm1(node: Node, x: Expr) -> Expr:
    """exp(x) - 1, as 2 exp(x / 2) sinh(x / 2): small x keep their digits."""
    data = floating(node, x)
    half = node.let(data * node.number(0.5, data))
    exact = node.number(2, data) * op.exp(half) * op.sinh(half)
    big = op.greater(op.abs(data), node.number(20, data))
    return op.where(big, op.exp(data) - node.number(1, data), exact)


@table("numpy.Log1p")
def log1p(node: Node, x: Expr) -> Expr:
    """log(1 + x), as 2 artanh(x / (2 + x)) near 0."""
    data = floating(node, x)
    two = node.number(2, data)
    near = two * op.atanh(data / (two + data))
    small = op.less(op.abs(data), node.number(0.5, data))
    return op.where(small, near, op.log(node.number(1, data) + data))


@table("numpy.Exp2")
def exp2(node: Node, x: Expr) -> Expr:
    data = floating(node, x)
    return op.power(node.number(2, data), data)


@table("numpy.Cbrt")
def cbrt(node: Node, x: Expr) -> Expr:
    data = floating(node, x)
    return op.sign(data) * op.power(op.abs(data), node.number(1 / 3, data))


@table("numpy.Deg2rad", "numpy.Rad2deg")
def scaled(node: Node, x: Expr) -> Expr:
    data = floating(node, x)
    return data * node.number(math.pi / 180 if node.operator == "Deg2rad" else 180 / math.pi, data)


@table("numpy.Sinc")
def sinc(node: Node, x: Expr) -> Expr:
    data = floating(node, x)
    angle = node.let(data * node.number(math.pi, data))
    none = op.equal(data, node.number(0, data))
    return op.where(
        none, node.number(1, data), op.sin(angle) / op.where(none, node.number(1, data), angle)
    )


@table("math.Erfc")
def erfc(node: Node, x: Expr) -> Expr:
    data = floating(node, x)
    return node.number(1, data) - op.erf(data)


@table("numpy.Isfinite", "numpy.Isinf", "numpy.Isnan")
def tested(node: Node, x: Expr) -> Expr:
    operators = {"Isfinite": op.isfinite, "Isinf": op.isinf, "Isnan": op.isnan}
    return operators[node.operator](floating(node, x))


@table("numpy.Isneginf", "numpy.Isposinf")
def signed_infinite(node: Node, x: Expr) -> Expr:
    data = floating(node, x)
    return op.equal(data, node.number(-math.inf if "neg" in node.operator else math.inf, data))


@table("numpy.Isreal")
def isreal(node: Node, x: Expr) -> Expr:
    return op.cast(op.ones_like(x), "bool")


@table("numpy.Signbit")
def signbit(node: Node, x: Expr) -> Expr:
    if not dtypes.is_float(node.dtype(x)):
        return op.less(x, node.number(0, x)) if node.dtype(x) != "bool" else op.zeros_like(x)
    zero, one = node.number(0, x), node.number(1, x)
    negative = op.less(one / x, zero)
    return op.where(op.equal(x, zero), negative, op.less(x, zero))


@table("numpy.Imag", "numpy.Angle")
def imaginary(node: Node, x: Expr) -> Expr:
    if node.operator == "Imag":
        return op.zeros_like(x)
    data = floating(node, x)
    return op.where(
        op.less(data, node.number(0, data)), node.number(math.pi, data), node.number(0, data)
    )


@table("numpy.LogicalNot")
def logical_not(node: Node, x: Expr) -> Expr:
    return op.logical_not(node.as_dtype(x, "bool"))


@table("numpy.Clip")
def clip(node: Node, x: Expr) -> Expr:
    low, high = node.config.get("x_min"), node.config.get("x_max")
    data = node.as_dtype(x, "int32") if node.dtype(x) == "bool" else x
    for bound, combine in ((low, op.maximum), (high, op.minimum)):
        if bound is not None:
            data = node.let(combine(*promoted(node, data, bound)))
    return data


@table("numpy.Round")
def round_(node: Node, x: Expr) -> Expr:
    places = node.option("decimals", 0)
    if not dtypes.is_float(node.dtype(x)):
        return op.copy(x)
    if not places:
        return op.round(x)
    factor = node.number(10.0**places, x)
    return op.round(x * factor) / factor


@table("numpy.NanToNum")
def nan_to_num(node: Node, x: Expr) -> Expr:
    if not dtypes.is_float(node.dtype(x)):
        return op.copy(x)
    largest = 65504.0 if node.dtype(x) == "float16" else 3.4028234663852886e38
    if node.dtype(x) == "float64":
        largest = 1.7976931348623157e308
    bounds = {"posinf": (math.inf, largest), "neginf": (-math.inf, -largest)}
    data = op.where(op.isnan(x), node.number(node.option("nan", 0.0), x), x)
    for name, (infinite, default) in bounds.items():
        given = node.config.get(name)
        value = node.number(default if given is None else given, x)
        data = op.where(op.equal(x, node.number(infinite, x)), value, data)
    return data


@table("core.Cast", "core.ConvertToTensor", "numpy.Array")
def cast(node: Node, x: Any) -> Expr:
    given = node.config.get("dtype")
    data = node.tensor(x)
    return data if given is None else node.as_dtype(data, policy_of(node, given))


@table("core.SaturateCast")
def saturate_cast(node: Node, x: Expr) -> Expr:
    from relay.op.building.numerics import limits

    dtype = policy_of(node, node.config.get("dtype"))
    if not dtypes.is_float(dtype) and dtype != "bool" and dtypes.is_float(node.dtype(x)):
        low, high = limits(dtypes.to_numpy(dtype))
        x = node.let(op.clip(x, float(low), float(high)))
    elif not dtypes.is_float(dtype) and dtype != "bool":
        low, high = limits(dtypes.to_numpy(dtype))
        wide = node.as_dtype(x, "int64")
        x = node.let(op.clip(wide, int(low), int(high)))
    return node.as_dtype(x, dtype)


@table("numpy.OnesLike", "numpy.ZerosLike", "numpy.EmptyLike")
def like(node: Node, x: Expr) -> Expr:
    given = node.config.get("dtype")
    data = x if given is None else node.as_dtype(x, policy_of(node, given))
    return op.ones_like(data) if node.operator == "OnesLike" else op.zeros_like(data)


@table("numpy.FullLike")
def full_like(node: Node, x: Expr, fill_value: Any) -> Expr:
    given = node.config.get("dtype")
    data = x if given is None else node.as_dtype(x, policy_of(node, given))
    value = node.as_dtype(node.tensor(fill_value, data), node.dtype(data))
    return op.zeros_like(data) + value if node.dtype(data) != "bool" else op.full_like(data, value)


# --- of two --------------------------------------------------------------------------------------

_PAIRS: dict[str, Callable[[Expr, Expr], Expr]] = {
    "Add": op.add, "Subtract": op.subtract, "Multiply": op.multiply, "Maximum": op.maximum,
    "Minimum": op.minimum, "Mod": op.floor_mod, "Equal": op.equal,
    "NotEqual": op.not_equal, "Less": op.less, "LessEqual": op.less_equal, "Greater": op.greater,
    "GreaterEqual": op.greater_equal, "BitwiseAnd": op.bitwise_and, "BitwiseOr": op.bitwise_or,
    "BitwiseXor": op.bitwise_xor, "LeftShift": op.left_shift, "BitwiseLeftShift": op.left_shift,
    "RightShift": op.right_shift, "BitwiseRightShift": op.right_shift,
}  # fmt: skip


def pair(combine: Callable[[Expr, Expr], Expr], node: Node, one: Any, other: Any) -> Expr:
    return node.let(combine(*broadcastable(node, *promoted(node, one, other))))


def _pair(combine: Callable[[Expr, Expr], Expr], node: Node, x1: Any, x2: Any) -> Expr:
    return pair(combine, node, x1, x2)


for _key, _combine in _PAIRS.items():
    table.add(f"numpy.{_key}", partial(_pair, _combine))


@table("numpy.Power")
def power(node: Node, x1: Any, x2: Any) -> Expr:
    if isinstance(x2, int | float) and isinstance(x1, Expr) and dtypes.is_float(node.dtype(x1)):
        if x2 == 2:
            return x1 * x1
        if x2 == 0.5:
            return op.sqrt(x1)
    return pair(op.power, node, x1, x2)


def _floats(node: Node, one: Any, other: Any) -> list[Expr]:
    left, right = promoted(node, one, other)
    return broadcastable(node, *promoted(node, floating(node, left), floating(node, right)))


@table("numpy.Divide", "numpy.TrueDivide")
def divide(node: Node, x1: Any, x2: Any) -> Expr:
    left, right = _floats(node, x1, x2)
    return left / right


@table("numpy.DivideNoNan")
def divide_no_nan(node: Node, x1: Any, x2: Any) -> Expr:
    left, right = _floats(node, x1, x2)
    none = op.equal(right, node.number(0, right))
    safe = op.where(none, node.number(1, right), right)
    return op.where(none, node.number(0, left), left / safe)


@table("numpy.FloorDivide")
def floor_divide(node: Node, x1: Any, x2: Any) -> Expr:
    return pair(op.floor_divide, node, x1, x2)


@table("numpy.Fmod")
def fmod(node: Node, x1: Any, x2: Any) -> Expr:
    return pair(op.trunc_mod, node, x1, x2)


@table("numpy.Fmax", "numpy.Fmin")
def ignoring_nan(node: Node, x1: Any, x2: Any) -> Expr:
    """fmax, fmin: maximum or minimum, ignoring NaN."""
    left, right = broadcastable(node, *promoted(node, x1, x2))
    found = (op.maximum if node.operator == "Fmax" else op.minimum)(left, right)
    if not dtypes.is_float(node.dtype(left)):
        return found
    return op.where(op.isnan(left), right, op.where(op.isnan(right), left, found))


@table("numpy.LogicalAnd", "numpy.LogicalOr", "numpy.LogicalXor")
def logical(node: Node, x1: Any, x2: Any) -> Expr:
    operators = {
        "LogicalAnd": op.logical_and,
        "LogicalOr": op.logical_or,
        "LogicalXor": op.logical_xor,
    }
    left, right = (node.as_dtype(one, "bool") for one in map(node.tensor, (x1, x2)))
    return operators[node.operator](*broadcastable(node, left, right))


@table("numpy.Hypot")
def hypot(node: Node, x1: Any, x2: Any) -> Expr:
    left, right = _floats(node, x1, x2)
    return op.sqrt(left * left + right * right)


@table("numpy.Arctan2")
def arctan2(node: Node, x1: Any, x2: Any) -> Expr:
    """The angle of the point (x2, x1)."""
    y, x = _floats(node, x1, x2)
    zero, turn = node.number(0, x), node.number(math.pi, x)
    on_axis = op.equal(x, zero)
    base = op.atan(y / op.where(on_axis, node.number(1, x), x))
    half = turn * node.number(0.5, x)
    upright = op.where(y > zero, half, op.where(y < zero, -half, zero * y))
    turned = op.where(x < zero, op.where(op.less(y, zero), base - turn, base + turn), base)
    return op.where(on_axis, upright, turned)


@table("numpy.Logaddexp", "numpy.Logaddexp2")
def logaddexp(node: Node, x1: Any, x2: Any) -> Expr:
    left, right = _floats(node, x1, x2)
    most = node.let(op.maximum(left, right))
    finite = op.where(op.isfinite(most), most, node.number(0, most))
    if node.operator == "Logaddexp":
        return op.log(op.exp(left - finite) + op.exp(right - finite)) + finite
    two = node.number(2, most)
    return op.log2(op.power(two, left - finite) + op.power(two, right - finite)) + finite


@table("numpy.Heaviside")
def heaviside(node: Node, x1: Any, x2: Any) -> Expr:
    left, right = _floats(node, x1, x2)
    zero = node.number(0, left)
    return op.where(
        op.equal(left, zero), right, op.cast(left > zero, node.dtype(left)) + zero * right
    )


@table("numpy.Isclose")
def isclose(node: Node, x1: Any, x2: Any, rtol: float = 1e-5, atol: float = 1e-8) -> Expr:
    left, right = _floats(node, x1, x2)
    near = op.less_equal(
        op.abs(left - right), node.number(atol, left) + node.number(rtol, left) * op.abs(right)
    )
    found = op.logical_or(near, op.equal(left, right))
    if node.option("equal_nan", False):
        found = op.logical_or(found, op.logical_and(op.isnan(left), op.isnan(right)))
    return found


@table("numpy.Ldexp")
def ldexp(node: Node, x1: Any, x2: Any) -> Expr:
    left, right = _floats(node, x1, x2)
    return left * op.power(node.number(2, left), right)


@table("numpy.Where")
def where(node: Node, condition: Expr, x1: Any = None, x2: Any = None) -> Expr:
    if x1 is None or x2 is None:
        raise node.refused("it gives the places of what is true, whose number is open")
    left, right = promoted(node, x1, x2)
    test, left, right = broadcastable(node, node.as_dtype(condition, "bool"), left, right)
    return op.where(test, left, right)


@table("numpy.Select")
def select(node: Node, condlist: Any, choicelist: Any, default: Any = 0) -> Expr:
    values = promoted(node, *choicelist, default)
    found = values[-1]
    for test, value in reversed([*zip(condlist, values[:-1], strict=True)]):
        found = node.let(op.where(node.as_dtype(test, "bool"), value, found))
    return found
