"""Rules: combine constants that are applied one after the other.

    add(add(%x, c1), c2)                ->  add(%x, c1 + c2)
    multiply(multiply(%x, c1), c2)      ->  multiply(%x, c1 * c2)
    subtract(c2, add(%x, c1))           ->  subtract(c2 - c1, %x)
    divide(multiply(%x, c1), c2)        ->  multiply(%x, c1 / c2)            of floats
    multiply(add(conv, c1), c2)         ->  add(multiply(conv, c2), c1 * c2)

Computations on weights stay in the program, and run once. The last rule holds for products with
constant weights (convolutions, dense layers), into which the factor can then be folded.

Integers wrap, so order does not matter. Floats are rounded once less, or elsewhere: known constants
are combined only if the result is finite and loses no digits. Weights may change, so this cannot be
checked for them, and nothing is divided by them.
"""

from __future__ import annotations

from math import prod
from typing import Any

import ml_dtypes
import numpy as np

from relay import dtypes
from relay.ir.expr import Call, Constant, Expr
from relay.nd import NDArray
from relay.op.building.numerics import widened
from relay.op.facts import Trait
from relay.op.opdef import OpDef
from relay.op.tensor.binary import add, divide, multiply, subtract
from relay.transform.simplify.peephole import Rules, having
from relay.transform.simplify.rule_window import Window

_finfo: Any = ml_dtypes.finfo

# --- sums ----------------------------------------------------------------------------------------


def terms(call: Call, window: Window) -> Expr | None:
    """(±x ± c1) ± c2  ->  ±x + constants"""
    outer = _sum(call, window)
    inner_call = None if outer is None else window.call_of(outer[1], "add", "subtract")
    if outer is None or inner_call is None or not window.is_used_once(outer[1]):
        return None
    inner = _sum(inner_call, window)
    if inner is None:
        return None
    sign, x, first_sign, first = inner
    data_sign, _, second_sign, second = outer
    sign, first_sign = sign * data_sign, first_sign * data_sign
    if first_sign == second_sign:
        total, total_sign = _together(add, first, second, window), first_sign
    else:
        ordered = (first, second) if first_sign > 0 else (second, first)
        total, total_sign = _together(subtract, *ordered, window), 1
    if total is None:
        return None
    if sign > 0:
        return add(x, total) if total_sign > 0 else subtract(x, total)
    # for -x - c there is no operator
    return subtract(total, x) if total_sign > 0 else None


def _sum(call: Call, window: Window) -> tuple[int, Expr, int, Expr] | None:
    """(sign, data, sign, constant) of a sum or a difference of data and a constant."""
    left, right = call.args
    sign = -1 if call.op is subtract else 1
    if window.is_constant(left) == window.is_constant(right):
        return None
    return (sign, right, 1, left) if window.is_constant(left) else (1, left, sign, right)


# --- products and quotients ----------------------------------------------------------------------


def factors(call: Call, window: Window) -> Expr | None:
    """(x * c1) * c2  ->  x * (c1 * c2)"""
    outer = _product(call, window)
    inner = None if outer is None else _inner_product(outer[0], window)
    if outer is None or inner is None:
        return None
    constant = _together(multiply, inner[1], outer[1], window)
    return None if constant is None else multiply(inner[0], constant)


def product_of_quotient(call: Call, window: Window) -> Expr | None:
    """(x / c1) * c2  ->  x * (c2 / c1)"""
    outer = _product(call, window)
    inner = None if outer is None else _inner_quotient(outer[0], window)
    if outer is None or inner is None:
        return None
    constant = _together(divide, outer[1], inner[1], window)
    return None if constant is None else multiply(inner[0], constant)


def quotient(call: Call, window: Window) -> Expr | None:
    """(x * c1) / c2  ->  x * (c1 / c2), and (x / c1) / c2  ->  x / (c1 * c2)"""
    data, constant = call.args
    if not _is_known_float(constant, window):
        return None
    if (product := _inner_product(data, window)) is not None:
        factor = _together(divide, product[1], constant, window)
        return None if factor is None else multiply(product[0], factor)
    if (inner := _inner_quotient(data, window)) is not None:
        divisor = _together(multiply, inner[1], constant, window)
        return None if divisor is None else divide(inner[0], divisor)
    return None


def factor_of_sum(call: Call, window: Window) -> Expr | None:
    """(conv + c1) * c2  ->  conv * c2 + c1 * c2"""
    outer = _product(call, window)
    inner_call = None if outer is None else window.call_of(outer[0], "add")
    if outer is None or inner_call is None or not window.is_used_once(outer[0]):
        return None
    inner = _sum(inner_call, window)
    if inner is None or not _takes_in_factors(inner[1], window):
        return None
    shift = _together(multiply, inner[3], outer[1], window)
    return None if shift is None else add(multiply(inner[1], outer[1]), shift)


def _takes_in_factors(e: Expr, window: Window) -> bool:
    """Whether it is a product with weights, perhaps scaled, with no other use."""
    scaled = _inner_product(e, window)
    data = e if scaled is None else scaled[0]
    product = window.call_of(data, having(Trait.BILINEAR)) if window.is_used_once(data) else None
    return product is not None and window.is_constant(product.args[1])


def _product(call: Call, window: Window) -> tuple[Expr, Expr] | None:
    """(data, constant) of a product of both."""
    left, right = call.args
    if window.is_constant(left) == window.is_constant(right):
        return None
    return (right, left) if window.is_constant(left) else (left, right)


def _inner_product(e: Expr, window: Window) -> tuple[Expr, Expr] | None:
    """(data, constant) of a product with no other use."""
    call = window.call_of(e, "multiply") if window.is_used_once(e) else None
    return None if call is None else _product(call, window)


def _inner_quotient(e: Expr, window: Window) -> tuple[Expr, Expr] | None:
    """(data, constant) of a quotient of known floats with no other use."""
    call = window.call_of(e, "divide") if window.is_used_once(e) else None
    if call is None or window.is_constant(call.args[0]):
        return None
    return call.args if _is_known_float(call.args[1], window) else None  # type: ignore[return-value]


# --- two constants -------------------------------------------------------------------------------


def _is_known_float(e: Expr, window: Window) -> bool:
    return window.value(e) is not None and dtypes.is_float(window.dtype(e))


def _together(op: OpDef, first: Expr, second: Expr, window: Window) -> Expr | None:
    """`op` of two constants; None where the result is not finite, loses digits, or is larger
    than both of them."""
    if not _is_small(window.shape(first), window.shape(second)):
        return None
    one, other = window.value(first), window.value(second)
    if one is None or other is None:
        return op(first, second)
    assert op.reference is not None
    result = np.asarray(op.reference(one, other))
    if dtypes.is_float(window.dtype(first)) and not _is_sound(op, one, other, result):
        return None
    return Constant(NDArray(result))


def _is_small(one: tuple[int, ...] | None, other: tuple[int, ...] | None) -> bool:
    if one is None or other is None:
        return False
    try:
        both = np.broadcast_shapes(one, other)
    except ValueError:
        return False  # each meets the data, which does not mean that they meet each other
    return prod(both) <= max(prod(one), prod(other))


def _is_sound(op: OpDef, one: np.ndarray, other: np.ndarray, result: np.ndarray) -> bool:
    sizes = np.abs(widened(result))
    sound: np.ndarray = np.isfinite(sizes)
    if op in (multiply, divide):
        smallest = float(_finfo(result.dtype).smallest_normal)
        sound &= (sizes >= smallest) | (widened(one) == 0) | (widened(other) == 0)
    return bool(sound.all())


RULES: Rules = {
    "add": (terms,),
    "subtract": (terms,),
    "multiply": (factors, product_of_quotient, factor_of_sum),
    "divide": (quotient,),
}
