"""Sign analysis: which values are provably positive, whatever the weights are:

    divide(1f, sqrt(add(%variance, 1e-5f)))              positive
    divide(%gamma, sqrt(add(%variance, 1e-5f)))          unknown

Elements of plain constants are inspected; those of weights are not, because weights may be
replaced. An exponential, a root or a square is not negative, and its sum with a positive value is
positive. NaN and overflow are no counterexamples: they spoil a product either way.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from relay.analysis.value_flow import Flow
from relay.ir.expr import Call, Constant, Expr, Tuple, Var
from relay.nd import Weight
from relay.op.facts import Sign, SignRule, Trait, same_sign
from relay.op.opdef import OpDef


class Signs:
    """The signs of the fixed values of a function."""

    def __init__(self, flow: Flow) -> None:
        self._flow = flow
        self._known: dict[int, Sign] = {}

    def is_positive(self, e: Expr) -> bool:
        """Whether all elements of `e`, a fixed value, are positive."""
        return self.of(e) is Sign.POSITIVE

    def of(self, e: Expr) -> Sign:
        known = self._known
        stack = [self._flow.meant(e)]
        while stack:
            node = stack[-1]
            parts = [self._flow.meant(part) for part in _looked_at(node)]
            waiting = [part for part in parts if id(part) not in known]
            if waiting:
                stack += waiting
                continue
            stack.pop()
            known[id(node)] = _sign(node, parts, [known[id(part)] for part in parts])
        return known[id(self._flow.meant(e))]


def _looked_at(e: Expr) -> Sequence[Expr]:
    """The parts that the sign of `e` may depend on."""
    match e:
        case Call(op=OpDef() as op, args=args) if _rule(op) is not None:
            return args
        case Tuple(fields=fields):
            return fields
    return ()


def _rule(op: OpDef) -> SignRule | None:
    return same_sign if Trait.MOVES in op.traits else op.sign


def _sign(e: Expr, parts: Sequence[Expr], signs: Sequence[Sign]) -> Sign:
    match e:
        case Constant(data=Weight()) | Var():
            return Sign.UNKNOWN
        case Constant(data=data):
            return _of_elements(data.array)
        case Call(op=OpDef(name="multiply")) if parts[0] is parts[1]:
            return max(signs[0], Sign.NOT_NEGATIVE)
        case Call(op=OpDef() as op, attrs=attrs) if (rule := _rule(op)) is not None:
            return rule(signs, attrs)
        case Tuple() if signs:
            return min(signs)
    return Sign.UNKNOWN


def _of_elements(array: np.ndarray) -> Sign:
    if array.dtype == np.bool_ or not np.all(np.isfinite(array)):
        return Sign.UNKNOWN
    if np.all(array > 0):
        return Sign.POSITIVE
    return Sign.NOT_NEGATIVE if np.all(array >= 0) else Sign.UNKNOWN
