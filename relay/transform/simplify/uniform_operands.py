"""Rules: operands that have one value everywhere.

    add(%x, 0f)                             ->  %x          likewise x * 1, x / 1, x | 0, …
    add(%x, zeros(shape=[4, 8]))            ->  %x
    multiply(%x, full(2f, shape=[4, 8]))    ->  multiply(%x, 2f)

Where the shape of %x is that of the result anyway, the operand says nothing but its value. The sign
of a zero may change in `x + 0` of floats. `x * 0` stays: x may be NaN.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from relay import dtypes, tree
from relay.ir.expr import Call, Constant, Expr
from relay.nd import NDArray
from relay.op.building.numerics import convert
from relay.transform.simplify.peephole import Rules
from relay.transform.simplify.rule_window import Window, covers
from relay.transform.simplify.shape_identities import BROADCASTING

# What the right operand is when the result is the left one.
NEUTRAL_RIGHT: dict[str, Any] = {
    "add": 0,
    "subtract": 0,
    "multiply": 1,
    "divide": 1,
    "power": 1,
    "bitwise_or": 0,
    "bitwise_xor": 0,
    "bitwise_and": -1,
    "left_shift": 0,
    "right_shift": 0,
    "logical_and": True,
    "logical_or": False,
    "logical_xor": False,
    "maximum": -np.inf,
    "minimum": np.inf,
}
COMMUTATIVE = (
    "add",
    "multiply",
    "bitwise_or",
    "bitwise_xor",
    "bitwise_and",
    "logical_and",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
)


def uniform(e: Expr, window: Window) -> np.ndarray | None:
    """The value that all elements of `e` have, as a scalar of its element type."""
    call = window.call_of(e, "zeros", "ones", "full")
    if call is not None:
        name = call.op.name  # type: ignore[attr-defined]
        filled = np.array(name == "ones") if name != "full" else window.value(call.args[0])
        return None if filled is None else convert(filled, window.dtype(e))
    value = window.value(e)
    if value is None or value.size == 0:
        return None
    flat = value.reshape(-1)
    first = flat[:1]
    # most tensors show it at their ends
    if value.size > 1 and not (bool(flat[-1] == flat[0]) and _is_all(flat, first)):
        return None
    return first.reshape(())


def _is_all(flat: np.ndarray, first: np.ndarray) -> bool:
    same = bool((flat == first).all())
    if same and flat.dtype.kind == "f":
        return bool((np.signbit(flat) == np.signbit(first)).all())
    return same


def neutral_operand(call: Call, window: Window) -> Expr | None:
    """add(%x, 0)  ->  %x, and every other operator with the operand that changes nothing"""
    name = call.op.name  # type: ignore[attr-defined]
    left, right = call.args
    operands = [(left, right)]
    if name in COMMUTATIVE:
        operands.append((right, left))
    for data, other in operands:
        value = uniform(other, window)
        if value is None or not _is_neutral(name, value) or not window.is_pure(other):
            continue
        if covers(window.tensor(data), window.tensor(other)):
            return data
    return None


def _is_neutral(name: str, value: np.ndarray) -> bool:
    neutral = NEUTRAL_RIGHT[name]
    dtype = dtypes.canonical(value.dtype)
    if name in ("maximum", "minimum") and not dtypes.is_float(dtype):
        if value.dtype.kind == "b":
            return bool(value) == (name == "minimum")
        info = np.iinfo(value.dtype) if value.dtype.kind in "iu" else None
        return info is not None and int(value) == (info.min if name == "maximum" else info.max)
    if name == "bitwise_and":
        return value.dtype.kind in "iub" and bool(np.invert(value) == 0)
    return bool(value == neutral)


def scalar_operand(call: Call, window: Window) -> Expr | None:
    """add(%x, full(2f, shape))  ->  add(%x, 2f), where %x has the shape already"""
    args = list(call.args)
    for i, arg in enumerate(args):
        ty = window.tensor(arg)
        others = [window.tensor(other) for j, other in enumerate(args) if j != i]
        if ty is None or not ty.shape or not any(covers(other, ty) for other in others):
            continue
        if (value := uniform(arg, window)) is not None:
            args[i] = Constant(NDArray(np.array(value, dtypes.to_numpy(ty.dtype))))
            return tree.replace(call, args=tuple(args))
        filled = window.call_of(arg, "full")
        if filled is not None and window.dtype(filled.args[0]) == ty.dtype:
            args[i] = filled.args[0]
            return tree.replace(call, args=tuple(args))
    return None


RULES: Rules = {
    **dict.fromkeys(BROADCASTING, (scalar_operand,)),
    **dict.fromkeys(NEUTRAL_RIGHT, (neutral_operand, scalar_operand)),
}
