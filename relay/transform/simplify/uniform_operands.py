"""Rules: uniform operands, whose elements are all equal.

    add(%x, 0f)                             ->  %x          likewise x * 1, x / 1, x | 0, …
    add(%x, zeros(shape=[4, 8]))            ->  %x
    multiply(%x, full(2f, shape=[4, 8]))    ->  multiply(%x, 2f)

where %x has the shape of the result. The sign of a zero may change in `x + 0` of floats. `x * 0`
stays: x may be NaN.
"""

from __future__ import annotations

import numpy as np

from relay import dtypes, tree
from relay.ir.expr import Call, Constant, Expr
from relay.nd import NDArray
from relay.op.building.numerics import convert, limits
from relay.op.facts import Trait
from relay.op.opdef import OpDef
from relay.transform.simplify.peephole import Rules
from relay.transform.simplify.rule_window import Window, covers
from relay.transform.simplify.shape_identities import broadcasts


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


def has_identity(op: OpDef) -> bool:
    """Whether a right operand gives the left one."""
    return op.identity is not None


def neutral_operand(call: Call, window: Window) -> Expr | None:
    """add(%x, 0)  ->  %x, and every other operator with the operand that changes nothing"""
    left, right = call.args
    operands = [(left, right)]
    assert isinstance(call.op, OpDef) and call.op.identity is not None
    if Trait.COMMUTATIVE in call.op.traits:
        operands.append((right, left))
    for data, other in operands:
        value = uniform(other, window)
        if value is None or not _is_identity(value, call.op.identity) or not window.is_pure(other):
            continue
        if covers(window.tensor(data), window.tensor(other)):
            return data
    return None


def _is_identity(value: np.ndarray, identity: float) -> bool:
    if value.dtype.kind not in "iub":
        return bool(value == identity)
    if np.isinf(identity):
        lowest, highest = (0, 1) if value.dtype.kind == "b" else limits(value.dtype)
        identity = lowest if identity < 0 else highest
    # -1 has all bits set, which wraps to the highest number where there is no sign
    return bool(value == np.asarray(int(identity)).astype(value.dtype))


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


RULES: Rules = {has_identity: (neutral_operand,), broadcasts: (scalar_operand,)}
