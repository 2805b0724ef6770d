"""Elementwise operators."""

from __future__ import annotations

import math
from functools import partial

from relay import dtypes
from relay.export.onnx.exporters import Exporters
from relay.export.onnx.graph import Value
from relay.export.onnx.step import Step
from relay.export.onnx.weights import integer_range
from relay.immutable import frozen

table = Exporters()

# operators that ONNX has under another name
SAME = {
    "abs": "Abs",
    "acos": "Acos",
    "acosh": "Acosh",
    "asin": "Asin",
    "asinh": "Asinh",
    "atan": "Atan",
    "atanh": "Atanh",
    "copy": "Identity",
    "cos": "Cos",
    "cosh": "Cosh",
    "equal": "Equal",
    "erf": "Erf",
    "exp": "Exp",
    "fast_erf": "Erf",
    "fast_exp": "Exp",
    "fast_tanh": "Tanh",
    "greater": "Greater",
    "greater_equal": "GreaterOrEqual",
    "isnan": "IsNaN",
    "less": "Less",
    "less_equal": "LessOrEqual",
    "log": "Log",
    "logical_and": "And",
    "logical_not": "Not",
    "logical_or": "Or",
    "logical_xor": "Xor",
    "maximum": "Max",
    "minimum": "Min",
    "multiply": "Mul",
    "negative": "Neg",
    "nn.relu": "Relu",
    "power": "Pow",
    "sigmoid": "Sigmoid",
    "sign": "Sign",
    "sin": "Sin",
    "sinh": "Sinh",
    "sqrt": "Sqrt",
    "subtract": "Sub",
    "tan": "Tan",
    "tanh": "Tanh",
    "where": "Where",
}


def _same(operator: str, step: Step, *data: Value) -> str:
    return step.node(operator, *data)


table.update({name: partial(_same, operator) for name, operator in SAME.items()})


@table("add")
def add(step: Step, lhs: Value, rhs: Value) -> str:
    return step.node("Or" if lhs.dtype == "bool" else "Add", lhs, rhs)


@table("isinf")
def isinf(step: Step, data: Value) -> str:
    # the element types of IsInf
    wide = data.dtype in ("float32", "float64", "float16", "bfloat16")
    return step.node("IsInf", data if wide else step.cast(data, "float32"))


@table("isfinite")
def isfinite(step: Step, data: Value) -> str:
    return step.node("Not", step.node("Or", step.node("IsNaN", data), isinf(step, data)))


@table("log2", "log10")
def logarithm(step: Step, data: Value) -> str:
    base = math.log(2 if step.operator == "log2" else 10)
    return step.node("Div", step.node("Log", data), step.number(base, data.dtype))


@table("rsqrt")
def rsqrt(step: Step, data: Value) -> str:
    return step.node("Reciprocal", step.node("Sqrt", data))


@table("annotation.stop_fusion")
def stop_fusion(step: Step, data: Value | tuple[Value, ...]) -> list[str]:
    """The identity, of a tensor or a tuple."""
    return [step.node("Identity", one) for one in (data if isinstance(data, tuple) else (data,))]


# --- rounding ------------------------------------------------------------------------------------


@table("floor", "ceil", "round")
def rounding(step: Step, data: Value) -> str:
    # integers are rounded already
    is_float = dtypes.is_float(data.dtype)
    return step.node(step.operator.capitalize() if is_float else "Identity", data)


@table("trunc")
def trunc(step: Step, data: Value) -> str:
    if not dtypes.is_float(data.dtype):
        return step.node("Identity", data)
    return step.node("Mul", step.node("Sign", data), step.node("Floor", step.node("Abs", data)))


@table("clip")
def clip(step: Step, data: Value) -> str:
    low, high = step.attrs.a_min, step.attrs.a_max
    if not dtypes.is_float(data.dtype):
        least, greatest = integer_range(data.dtype)
        # bounds beyond the range of the type
        low = least if low <= least else math.ceil(low)
        high = greatest if high >= greatest else math.floor(high)
    return step.node("Clip", data, step.number(low, data.dtype), step.number(high, data.dtype))


@table("cast", "cast_like")
def cast(step: Step, data: Value, like: Value | None = None) -> str:
    return step.cast(data, step.result.dtype)


# --- bits ----------------------------------------------------------------------------------------


@table("bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not")
def bitwise(step: Step, *data: Value) -> str:
    name = step.operator.removeprefix("bitwise_").capitalize()
    return step.node(name if data[0].dtype == "bool" else f"Bitwise{name}", *data)


@table("left_shift", "right_shift")
def shift(step: Step, left: Value, right: Value) -> str:
    direction = "LEFT" if step.operator == "left_shift" else "RIGHT"
    return step.node("BitShift", left, right, direction=direction)


# --- divisions -----------------------------------------------------------------------------------


@table("not_equal")
def not_equal(step: Step, left: Value, right: Value) -> str:
    return step.node("Not", step.node("Equal", left, right))


@frozen
class Divisor:
    """An integer divisor with 1 in place of 0, by which ONNX does not divide."""

    step: Step
    name: str
    is_zero: str | None  # where it was 0, if anywhere

    def unless_zero(self, found: str, otherwise: str) -> str:
        """A result, or another value for divisors of 0."""
        if self.is_zero is None:
            return found
        return self.step.node("Where", self.is_zero, otherwise, found)


def divisor(step: Step, right: Value) -> Divisor:
    if dtypes.is_float(right.dtype) or (right.array is not None and right.array.all()):
        return Divisor(step, right.name, None)
    zero, one = (step.number(number, right.dtype) for number in (0, 1))
    is_zero = step.node("Equal", right, zero)
    return Divisor(step, step.node("Where", is_zero, one, right), is_zero)


@table("divide")
def divide(step: Step, left: Value, right: Value) -> str:
    by = divisor(step, right)
    return by.unless_zero(step.node("Div", left, by.name), step.number(0, left.dtype))


@table("mod", "trunc_mod")
def mod(step: Step, left: Value, right: Value) -> str:
    by = divisor(step, right)
    return by.unless_zero(step.node("Mod", left, by.name, fmod=1), left.name)


@table("trunc_divide")
def trunc_divide(step: Step, left: Value, right: Value) -> str:
    if not dtypes.is_float(left.dtype):
        return divide(step, left, right)
    whole = step.node("Sub", left, step.node("Mod", left, right, fmod=1))
    return step.node("Round", step.node("Div", whole, right))


@table("floor_mod")
def floor_mod(step: Step, left: Value, right: Value) -> str:
    if dtypes.is_float(left.dtype):
        return _float_floor_mod(step, left, right)
    by = divisor(step, right)
    return by.unless_zero(step.node("Mod", left, by.name), left.name)


@table("floor_divide")
def floor_divide(step: Step, left: Value, right: Value) -> str:
    if dtypes.is_float(left.dtype):
        whole = step.node("Sub", left, _float_floor_mod(step, left, right))
        return step.node("Round", step.node("Div", whole, right))
    by = divisor(step, right)
    whole = step.node("Sub", left, step.node("Mod", left, by.name))
    return by.unless_zero(step.node("Div", whole, by.name), step.number(0, left.dtype))


def _float_floor_mod(step: Step, left: Value, right: Value) -> str:
    """The remainder of a float division, with the sign of the divisor."""
    rest = step.node("Mod", left, right, fmod=1)
    zero = step.number(0, left.dtype)
    signs = step.node("Xor", step.node("Less", rest, zero), step.node("Less", right, zero))
    is_none = step.node("Equal", rest, zero)
    moved = step.node("And", signs, step.node("Not", is_none))
    return step.node("Where", moved, step.node("Add", rest, right), rest)


# --- activations ---------------------------------------------------------------------------------


@table("nn.leaky_relu")
def leaky_relu(step: Step, data: Value) -> str:
    return step.node("LeakyRelu", data, alpha=float(step.attrs.alpha))


@table("nn.prelu")
def prelu(step: Step, data: Value, slope: Value) -> str:
    return step.node("PRelu", data, along(step, slope, data, step.attrs.axis))


def along(step: Step, vector: Value, data: Value, axis: int) -> str:
    """A vector reshaped to broadcast along an axis of data."""
    after = data.rank - 1 - (axis % data.rank)
    return step.reshape(vector, [*vector.shape, *[1] * after]) if after else vector.name
