"""Approximations that FastMath uses: relative errors of about 2e-7.

A polynomial, or a rational function of the squared argument, with minimax coefficients.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from relay import te
from relay.op.building import scalars
from relay.op.building.elements import elementwise
from relay.op.building.numerics import rounded_once
from relay.op.building.scalars import Function
from relay.op.facts import EXPENSIVE
from relay.op.opdef import FusionKind, OpDef, define, sample
from relay.op.relations import same_type_float
from relay.op.tensor.unary import erf, exp, tanh

# Coefficients, the constant one first.
_EXP = (1.0, 1.000000032, 0.4999999421, 0.1666643126, 0.04166800204, 0.008374155312, 0.001384365351)
_TANH = (
    (0.9999999794, 0.1338102571, 0.003495588218, 2.060908394e-05, 1.335466365e-08),
    (1.0, 0.467143413, 0.02587698252, 0.0003285634975, 7.776559218e-07),
)
_ERF = (
    (1.128379139, 0.1935469128, 0.05310197356, 0.003883416557, 0.0002845664935, 1.986756511e-06),
    (1.0, 0.5048590409, 0.1153507492, 0.01520739991, 0.00118558661, 3.74199332e-05),
)


# log(2) in two parts; the first times an exponent is exact
_LOG_2 = (0.693359375, -2.12194440e-4)


def _polynomial(x: np.ndarray, coefficients: Sequence[float]) -> Any:
    total: Any = x.dtype.type(coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        total = total * x + x.dtype.type(coefficient)
    return total


def _powers(dtype: Any) -> tuple[int, int]:
    """The exponents beyond which results are 0 and infinity."""
    limits = np.finfo(dtype)
    return int(limits.minexp - limits.nmant - 2), int(limits.maxexp + 1)


def _exp(data: np.ndarray) -> Any:
    """2**n * p(rest), where data == n * log(2) + rest and the rest is at most log(2) / 2."""
    number = data.dtype.type
    lowest, highest = map(number, _powers(data.dtype))
    power = np.rint(np.clip(data * number(np.log2(np.e)), lowest, highest))
    rest = (data - power * number(_LOG_2[0])) - power * number(_LOG_2[1])
    rest = np.clip(rest, number(-0.35), number(0.35))  # beyond the range of powers
    whole = np.where(np.isnan(power), number(0), power).astype(np.int32)
    return np.ldexp(_polynomial(rest, _EXP), whole)


def _odd(bound: float, top: Sequence[float], bottom: Sequence[float]) -> Any:
    """`x * p(x * x) / q(x * x)` for x clamped to a bound."""

    def function(data: np.ndarray) -> Any:
        inside = np.clip(data, data.dtype.type(-bound), data.dtype.type(bound))
        square = inside * inside
        return inside * _polynomial(square, top) / _polynomial(square, bottom)

    return function


# --- the same of scalar expressions ------------------------------------------------------------


def _horner(x: te.Expr, coefficients: Sequence[float]) -> te.Expr:
    total: te.Expr = te.const(coefficients[-1], x.dtype)
    for coefficient in reversed(coefficients[:-1]):
        total = total * x + coefficient
    return total


def _clamp(x: te.Expr, low: float, high: float) -> te.Expr:
    return te.minimum(te.maximum(x, low), high)


def exp_element(x: te.Expr) -> te.Expr:
    """`fast_exp` of a float32 or float64."""
    power = te.call("round", _clamp(x * float(np.log2(np.e)), *_powers(x.dtype)))
    rest = _clamp((x - power * _LOG_2[0]) - power * _LOG_2[1], -0.35, 0.35)
    whole = te.cast(power, "int64" if x.dtype == "float64" else "int32")
    # two factors, as the extreme powers are not normal numbers
    half = whole >> 1
    scaled = _horner(rest, _EXP) * scalars.two_to_the(half, x.dtype)
    return scaled * scalars.two_to_the(whole - half, x.dtype)


def _odd_element(bound: float, top: Sequence[float], bottom: Sequence[float]) -> Function:
    def function(x: te.Expr) -> te.Expr:
        inside = _clamp(x, -bound, bound)
        square = inside * inside
        return inside * _horner(square, top) / _horner(square, bottom)

    return function


def _fast(exact: OpDef, doc: str, reference: Any, scalar: Function) -> OpDef:
    """`exact`, computed approximately."""
    assert exact.precision is not None
    return define(
        f"fast_{exact.name}",
        doc=doc,
        arguments=[("data", "the input")],
        relation=same_type_float,
        reference=rounded_once(reference),
        compute=elementwise(scalars.rounded_once(scalar)),
        fusion=FusionKind.ELEMWISE,
        approximates=exact.name,
        gradient=exact.gradient,
        precision=exact.precision,
        cost=EXPENSIVE,
        samples=[
            sample((2, 9), low=-5.0, high=5.0),
            sample((), dtype="float64"),
            sample((6,), dtype="float16"),
            sample((0, 2), dtype="bfloat16"),
        ],
    )


fast_exp = _fast(exp, "e to the power of data, approximately.", _exp, exp_element)
fast_tanh = _fast(
    tanh,
    "The hyperbolic tangent, approximately.",
    _odd(9.0, *_TANH),
    _odd_element(9.0, *_TANH),
)
fast_erf = _fast(
    erf,
    "The error function, approximately.",
    _odd(4.0, *_ERF),
    _odd_element(4.0, *_ERF),
)
