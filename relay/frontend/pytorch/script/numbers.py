"""Arithmetic of Python's numbers.

What is known is computed at once, by Python; a dimension stays one where it can. Other numbers are
scalars of int64, float64 and bool.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

from relay import op
from relay.frontend.pytorch.script.coding import a_number, builder, is_dim, is_number, numbered
from relay.frontend.pytorch.script.converter import Converter, Handlers
from relay.frontend.pytorch.script.failing import fail
from relay.frontend.pytorch.script.forms import number_type
from relay.frontend.pytorch.script.graph import Call
from relay.frontend.pytorch.script.path import Path
from relay.frontend.pytorch.script.values import Number
from relay.immutable import frozen
from relay.ir import dims
from relay.ir.dims import Symbol
from relay.ir.expr import Expr

table = Handlers()


@frozen
class Function:
    """A function of numbers: by Python, by dimensions, and by expressions of the element types that
    `operands` says: those of the arguments, "common", "float64", "bool"."""

    known: Callable[..., Any]
    made: Callable[..., Expr] | None = None
    operands: str = "common"
    of_dims: Callable[..., Any] | None = None


def _rounded(value: Any) -> Any:
    return float(round(value))


def _comparison(known: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool | None]:
    """A comparison of dimensions; None where it is not known."""

    def compare(one: Any, other: Any) -> bool | None:
        if known in (operator.eq, operator.ne):
            equal = dims.equal(one, other)
            return None if equal is None else equal is (known is operator.eq)
        sign = dims.sign_of(dims.subtract(one, other))
        return None if sign is None else known(sign, 0)

    return compare


def _floor_divided(one: Any, other: Any) -> Any:
    return dims.floor_divide(one, other) if isinstance(other, int) and other > 0 else None


def _remainder(one: Any, other: Any) -> Any:
    return dims.remainder(one, other) if isinstance(other, int) and other > 0 else None


def _of_floats(known: Callable[[float], float], made: Callable[[Expr], Expr]) -> Function:
    return Function(known, made, "float64")


FUNCTIONS: Mapping[str, Function] = {
    "add": Function(operator.add, op.add, of_dims=dims.add),
    "sub": Function(operator.sub, op.subtract, of_dims=dims.subtract),
    "mul": Function(operator.mul, op.multiply, of_dims=dims.multiply),
    "div": Function(operator.truediv, op.divide, "float64"),
    "floordiv": Function(operator.floordiv, op.floor_divide, of_dims=_floor_divided),
    "remainder": Function(operator.mod, op.floor_mod, of_dims=_remainder),
    "pow": Function(operator.pow, op.power),
    "neg": Function(operator.neg, op.negative, of_dims=operator.neg),
    "eq": Function(operator.eq, op.equal, of_dims=_comparison(operator.eq)),
    "ne": Function(operator.ne, op.not_equal, of_dims=_comparison(operator.ne)),
    "lt": Function(operator.lt, op.less, of_dims=_comparison(operator.lt)),
    "le": Function(operator.le, op.less_equal, of_dims=_comparison(operator.le)),
    "gt": Function(operator.gt, op.greater, of_dims=_comparison(operator.gt)),
    "ge": Function(operator.ge, op.greater_equal, of_dims=_comparison(operator.ge)),
    "__and__": Function(operator.and_, op.bitwise_and),
    "__or__": Function(operator.or_, op.bitwise_or),
    "__xor__": Function(operator.xor, op.bitwise_xor),
    "__lshift__": Function(operator.lshift, op.left_shift),
    "__rshift__": Function(operator.rshift, op.right_shift),
    "__not__": Function(operator.not_, op.logical_not, "bool"),
    "min": Function(min, op.minimum, of_dims=dims.minimum),
    "max": Function(max, op.maximum, of_dims=dims.maximum),
    "abs": Function(abs, op.abs),
    "ceil": Function(math.ceil, op.ceil, "float64"),
    "floor": Function(math.floor, op.floor, "float64"),
    "round": Function(_rounded, op.round, "float64"),
    "sqrt": _of_floats(math.sqrt, op.sqrt),
    "exp": _of_floats(math.exp, op.exp),
    "log": _of_floats(math.log, op.log),
    "log2": _of_floats(math.log2, op.log2),
    "log10": _of_floats(math.log10, op.log10),
    "sin": _of_floats(math.sin, op.sin),
    "cos": _of_floats(math.cos, op.cos),
    "tan": _of_floats(math.tan, op.tan),
    "tanh": _of_floats(math.tanh, op.tanh),
    "atan": _of_floats(math.atan, op.atan),
}
TO_INT = frozenset({"ceil", "floor"})  # of floats, an int


def on_numbers(converter: Converter, path: Path, call: Call, name: str, *values: Any) -> Any:
    """The result of a function of numbers."""
    function = FUNCTIONS[name]
    try:
        if not any(isinstance(one, Number | Symbol) for one in values):
            return function.known(*values)
    except (ArithmeticError, ValueError) as error:
        fail(path, call, str(error))
        return []
    if all(map(is_dim, values)) and function.of_dims is not None:
        found = function.of_dims(*values)
        if found is not None and not isinstance(found, dims.Any):
            return found
    node = builder(path, call.operator, call.span, call.results[0])
    kinds = [_kind(one) for one in values]
    wanted = function.operands if function.operands != "common" else common_type(kinds)
    if name == "pow" and wanted == "int64":
        wanted = _of_power(values)
    given = [node.as_dtype(numbered(path, one, call.span), wanted) for one in values]
    if wanted == "int64" and name in ("floordiv", "remainder"):
        nonzero = op.not_equal(given[1], node.number(0, given[1]))
        given[1] = node.checked(given[1], nonzero, "integer division or modulo by zero")
    if wanted == "bool" and name in ("eq", "ne", "lt", "le", "gt", "ge", "min", "max"):
        given = [node.as_dtype(one, "int64") for one in given]
    if wanted == "float64" and name in ("floordiv",):
        return a_number(path, node.let(op.floor(node.let(op.divide(*given)))))
    assert function.made is not None
    made = node.let(function.made(*given))
    if name in TO_INT:
        made = node.as_dtype(made, "int64")
    return a_number(path, made)


def _kind(value: Any) -> str:
    kind = value.dtype if isinstance(value, Number) else number_type(value)
    assert kind is not None
    return str(kind)


def _of_power(values: tuple[Any, ...]) -> str:
    return "int64" if type(values[1]) is int and values[1] >= 0 else "float64"


def common_type(kinds: list[str]) -> str:
    """The element type of the result of numbers."""
    return max(kinds, key=("bool", "int64", "float64").index)


# --- conversions


def of_element(converter: Converter, path: Path, call: Call, value: Any, dtype: str) -> Any:
    """A number as one of another element type."""
    if isinstance(value, Number | Symbol):
        node = builder(path, call.operator, call.span, call.results[0])
        given = numbered(path, value, call.span)
        if dtype == "bool" and node.dtype(given) != "bool":
            return a_number(path, node.let(op.not_equal(given, node.number(0, given))))
        if isinstance(value, Symbol) and dtype == "int64":
            return value
        return a_number(path, node.as_dtype(given, dtype))
    return {"bool": bool, "int64": int, "float64": float}[dtype](value)


@table("aten::__range_length")
def range_length(
    converter: Converter, path: Path, call: Call, low: Any, high: Any, step: Any
) -> Any:
    if isinstance(step, int) and all(map(is_dim, (low, high))):
        if isinstance(low, int) and isinstance(high, int):
            return len(range(low, high, step))
        if step == 1 and low == 0:
            return high
    if not isinstance(step, int) or step == 0:
        size = on_numbers(converter, path, call, "sub", high, low)
        quotient = on_numbers(converter, path, call, "floordiv", size, step)
        rest = on_numbers(converter, path, call, "remainder", size, step)
        some = of_element(converter, path, call, rest, "bool")
        more = of_element(converter, path, call, some, "int64")
        count = on_numbers(converter, path, call, "add", quotient, more)
        return on_numbers(converter, path, call, "max", count, 0)
    ends = (low, high) if step > 0 else (high, low)
    size = on_numbers(converter, path, call, "sub", ends[1], ends[0])
    above = on_numbers(converter, path, call, "add", size, abs(step) - 1)
    count = on_numbers(converter, path, call, "floordiv", above, abs(step))
    return on_numbers(converter, path, call, "max", count, 0)


@table("aten::__derive_index")
def derive_index(converter: Converter, path: Path, call: Call, at: Any, low: Any, step: Any) -> Any:
    far = on_numbers(converter, path, call, "mul", at, step)
    return on_numbers(converter, path, call, "add", low, far)


@table("aten::divmod")
def div_mod(converter: Converter, path: Path, call: Call, one: Any, other: Any) -> list[Any]:
    found = [on_numbers(converter, path, call, n, one, other) for n in ("floordiv", "remainder")]
    return [] if path.failure is not None else found


def all_numbers(values: tuple[Any, ...]) -> bool:
    return bool(values) and all(map(is_number, values))
