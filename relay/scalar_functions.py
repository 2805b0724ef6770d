"""The operators and functions of scalars in kernels and programs, one row for each function.

    "erf": ScalarFunction(_each(math.erf), "error_function", 2, 2)

A new function is its row, and `erf(f, x)` in `relay/te/math/error_function.py`, which writes it out
in operations that processors have. Operators use it as `te.call("erf", x)`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal

import numpy as np

from relay.immutable import frozen

Array = np.ndarray

# Operators, whose operands have one type. `div` is for floats; `floordiv` and `mod` round down,
# `truncdiv` and `truncmod` toward zero; `and`, `or`, `xor` are bitwise, or logical for `bool`.
BINARY: Final = (
    *("add", "sub", "mul", "div", "floordiv", "mod", "truncdiv", "truncmod"),
    *("min", "max", "and", "or", "xor", "shl", "shr"),
)
COMPARE: Final = ("eq", "ne", "lt", "le", "gt", "ge")
UNARY: Final = ("neg", "not", "abs")


@frozen
class ScalarFunction:
    """A function of scalars.

    Of integers, a "rounding" gives the integer itself, a "predicate" of floats is known, and "bits"
    are all there is; a "float" function has none.
    """

    values: Callable[..., Any] | None  # the function of arrays of float64; None of "bits"
    module: str = ""  # of `relay.te.math`, with the expansion; "" is an instruction of processors
    ulp32: float = 0  # the largest error for float32, in units of the last place
    ulp64: float = 0
    arguments: int = 1
    kind: Literal["float", "rounding", "predicate", "bits"] = "float"


def _each(function: Callable[[float], float]) -> Callable[[Array], Array]:
    of_objects = np.frompyfunc(function, 1, 1)
    return lambda x: np.asarray(of_objects(x)).astype(float)


def _sigmoid(x: Array) -> Any:
    small = np.exp(-np.abs(x))
    return np.where(x < 0, small / (1 + small), 1 / (1 + small))


# `round` goes to even, `pow` and the others are those of C; `fma(a, b, c)` is a*b + c rounded once
# where the machine can.
FUNCTIONS: Final[Mapping[str, ScalarFunction]] = {
    "exp": ScalarFunction(np.exp, "exponential", 1.5, 1.5),
    "exp2": ScalarFunction(np.exp2, "exponential", 1.5, 1.5),
    "exp10": ScalarFunction(lambda x: np.power(10.0, x), "exponential", 2, 2),
    "expm1": ScalarFunction(np.expm1, "exponential", 2, 2),
    "log": ScalarFunction(np.log, "logarithm", 2, 2),
    "log2": ScalarFunction(np.log2, "logarithm", 3, 3),
    "log10": ScalarFunction(np.log10, "logarithm", 3, 3),
    "log1p": ScalarFunction(np.log1p, "logarithm", 3, 3),
    "sqrt": ScalarFunction(np.sqrt),
    "rsqrt": ScalarFunction(lambda x: 1 / np.sqrt(x), "power", 1.5, 1.5),
    "sin": ScalarFunction(np.sin, "trigonometric", 2, 3),
    "cos": ScalarFunction(np.cos, "trigonometric", 2, 3),
    "tan": ScalarFunction(np.tan, "trigonometric", 4, 4),
    "asin": ScalarFunction(np.arcsin, "inverse_trigonometric", 3, 3),
    "acos": ScalarFunction(np.arccos, "inverse_trigonometric", 3, 3),
    "atan": ScalarFunction(np.arctan, "inverse_trigonometric", 3, 3),
    "sinh": ScalarFunction(np.sinh, "exponential", 3, 3),
    "cosh": ScalarFunction(np.cosh, "exponential", 3, 3),
    "tanh": ScalarFunction(np.tanh, "exponential", 2.5, 2.5),
    "asinh": ScalarFunction(np.arcsinh, "logarithm", 4, 4),
    "acosh": ScalarFunction(np.arccosh, "logarithm", 4, 4),
    "atanh": ScalarFunction(np.arctanh, "logarithm", 4, 4),
    "erf": ScalarFunction(_each(math.erf), "error_function", 2, 2),
    "sigmoid": ScalarFunction(_sigmoid, "exponential", 2.5, 2.5),
    "floor": ScalarFunction(np.floor, "rounding", kind="rounding"),
    "ceil": ScalarFunction(np.ceil, "rounding", kind="rounding"),
    "trunc": ScalarFunction(np.trunc, "rounding", kind="rounding"),
    "round": ScalarFunction(np.rint, "rounding", kind="rounding"),
    "isnan": ScalarFunction(np.isnan, "floats", kind="predicate"),
    "isinf": ScalarFunction(np.isinf, "floats", kind="predicate"),
    "isfinite": ScalarFunction(np.isfinite, "floats", kind="predicate"),
    "popcount": ScalarFunction(None, kind="bits"),
    "clz": ScalarFunction(None, kind="bits"),
    "pow": ScalarFunction(np.power, "power", 1, 2, arguments=2),
    "fmod": ScalarFunction(np.fmod, "remainder", arguments=2),
    "atan2": ScalarFunction(np.arctan2, "inverse_trigonometric", 4, 4, arguments=2),
    "copysign": ScalarFunction(np.copysign, arguments=2),
    "fma": ScalarFunction(lambda a, b, c: a * b + c, arguments=3),  # exact products of float32
}
PREDICATES: Final = tuple(n for n, function in FUNCTIONS.items() if function.kind == "predicate")
