"""Mathematical functions in vectorizable operations.

    expand(exp(x), facts)     multiplications, additions, shifts

Every function of `relay.te.expr.FUNCTIONS` is expanded for float32 and float64 without branches,
with infinities, NaN, denormals and signed zeros as in C. `FUNCTIONS` gives the largest error in
units in the last place (ulp). sqrt, copysign, popcount and clz remain calls, which LLVM has
instructions for; fma and rounding where the target has them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from relay import dtypes
from relay.errors import RelayError
from relay.immutable import frozen
from relay.te.expr import Call, Expr, absolute, call, const, equal, not_equal
from relay.te.math import (
    error_function,
    exponential,
    inverse_trigonometric,
    logarithm,
    power,
    remainder,
    rounding,
    trigonometric,
)
from relay.te.math.floats import Floats

if TYPE_CHECKING:
    from relay.te.legalize import Facts


@frozen
class Function:
    """The expansion of a function, and its largest error in ulp for float32 and float64."""

    expand: Callable[..., Expr]
    ulp32: float
    ulp64: float


def _rsqrt(f: Floats, x: Expr) -> Expr:
    return f.number(1.0) / call("sqrt", x)


def _isnan(f: Floats, x: Expr) -> Expr:
    return not_equal(x, x)


def _isinf(f: Floats, x: Expr) -> Expr:
    return equal(absolute(x), f.infinity)


def _isfinite(f: Floats, x: Expr) -> Expr:
    return absolute(x) < f.infinity


FUNCTIONS = {
    "exp": Function(exponential.exp, 1.5, 1.5),
    "exp2": Function(exponential.exp2, 1.5, 1.5),
    "exp10": Function(exponential.exp10, 2, 2),
    "expm1": Function(exponential.expm1, 2, 2),
    "log": Function(logarithm.log, 2, 2),
    "log2": Function(logarithm.log2, 3, 3),
    "log10": Function(logarithm.log10, 3, 3),
    "log1p": Function(logarithm.log1p, 3, 3),
    "rsqrt": Function(_rsqrt, 1.5, 1.5),
    "sin": Function(trigonometric.sin, 2, 3),
    "cos": Function(trigonometric.cos, 2, 3),
    "tan": Function(trigonometric.tan, 4, 4),
    "asin": Function(inverse_trigonometric.asin, 3, 3),
    "acos": Function(inverse_trigonometric.acos, 3, 3),
    "atan": Function(inverse_trigonometric.atan, 3, 3),
    "atan2": Function(inverse_trigonometric.atan2, 4, 4),
    "sinh": Function(exponential.sinh, 3, 3),
    "cosh": Function(exponential.cosh, 3, 3),
    "tanh": Function(exponential.tanh, 2.5, 2.5),
    "asinh": Function(logarithm.asinh, 4, 4),
    "acosh": Function(logarithm.acosh, 4, 4),
    "atanh": Function(logarithm.atanh, 4, 4),
    "erf": Function(error_function.erf, 2, 2),
    "sigmoid": Function(exponential.sigmoid, 2.5, 2.5),
    "pow": Function(power.pow, 1, 2),
    "fmod": Function(remainder.fmod, 0, 0),
    "floor": Function(rounding.floor, 0, 0),
    "ceil": Function(rounding.ceil, 0, 0),
    "trunc": Function(rounding.trunc, 0, 0),
    "round": Function(rounding.round, 0, 0),
    "isnan": Function(_isnan, 0, 0),
    "isinf": Function(_isinf, 0, 0),
    "isfinite": Function(_isfinite, 0, 0),
}
NATIVE = ("sqrt", "copysign", "popcount", "clz")


def expand(expr: Expr, facts: Facts) -> Expr:
    """Expand a call; its arguments are float32, float64 or integers."""
    if not isinstance(expr, Call):
        return expr
    function, args = expr.function, expr.args
    dtype = args[0].dtype
    if function in NATIVE:
        return expr
    if function == "fma":
        return expr if facts.has_fma else args[0] * args[1] + args[2]
    if dtypes.is_integer(dtype) or dtype == "bool":
        if function in ("floor", "ceil", "trunc", "round"):
            return args[0]
        if function in ("isnan", "isinf", "isfinite"):
            return const(function == "isfinite", "bool")
    if dtype not in ("float32", "float64"):
        raise RelayError(f"`{function}` is a function of floats, found {dtype}")
    return FUNCTIONS[function].expand(Floats(dtype, facts), *args)
