"""Sign analysis: which values are provably positive, whatever the weights are:

    divide(1f, sqrt(add(%variance, 1e-5f)))              positive
    divide(%gamma, sqrt(add(%variance, 1e-5f)))          unknown

Elements of plain constants are inspected; those of weights are not, because weights may be
replaced. An exponential, a root or a square is not negative, and its sum with a positive value is
positive. NaN and overflow are no counterexamples: they spoil a product either way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import Any

import numpy as np

from relay.analysis.value_flow import Flow
from relay.ir.expr import Call, Constant, Expr, Tuple, Var
from relay.nd import Weight
from relay.op.opdef import OpDef


class Sign(IntEnum):
    """What is known about all elements of a tensor."""

    UNKNOWN = 0
    NOT_NEGATIVE = 1
    POSITIVE = 2


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
        case Call(op=OpDef(name=name), args=args) if name in RULES:
            return args
        case Tuple(fields=fields):
            return fields
    return ()


def _sign(e: Expr, parts: Sequence[Expr], signs: Sequence[Sign]) -> Sign:
    match e:
        case Constant(data=Weight()) | Var():
            return Sign.UNKNOWN
        case Constant(data=data):
            return _of_elements(data.array)
        case Call(op=OpDef(name="multiply")) if parts[0] is parts[1]:
            return max(signs[0], Sign.NOT_NEGATIVE)
        case Call(op=OpDef(name=name), attrs=attrs) if name in RULES:
            return RULES[name](signs, attrs)
        case Tuple() if signs:
            return min(signs)
    return Sign.UNKNOWN


def _of_elements(array: np.ndarray) -> Sign:
    if array.dtype == np.bool_ or not np.all(np.isfinite(array)):
        return Sign.UNKNOWN
    if np.all(array > 0):
        return Sign.POSITIVE
    return Sign.NOT_NEGATIVE if np.all(array >= 0) else Sign.UNKNOWN


# --- rules: the signs of the arguments, and the attributes, to the sign of the result -------------

Rule = Callable[[Sequence[Sign], Any], Sign]


def _first(signs: Sequence[Sign], attrs: Any) -> Sign:
    return signs[0]


def _positive(signs: Sequence[Sign], attrs: Any) -> Sign:
    return Sign.POSITIVE


def _at_least_zero(signs: Sequence[Sign], attrs: Any) -> Sign:
    return max(signs[0], Sign.NOT_NEGATIVE)


def _sum(signs: Sequence[Sign], attrs: Any) -> Sign:
    return max(signs) if min(signs) > Sign.UNKNOWN else Sign.UNKNOWN


def _product(signs: Sequence[Sign], attrs: Any) -> Sign:
    return min(signs)


def _quotient(signs: Sequence[Sign], attrs: Any) -> Sign:
    return signs[0] if signs[1] > Sign.UNKNOWN else Sign.UNKNOWN


def _clipped(signs: Sequence[Sign], attrs: Any) -> Sign:
    low: float = attrs.a_min
    bound = Sign.POSITIVE if low > 0 else Sign.NOT_NEGATIVE if low == 0 else Sign.UNKNOWN
    return max(signs[0], bound)


def _converted(signs: Sequence[Sign], attrs: Any) -> Sign:
    # small numbers become 0 in a narrower type, and large ones are cut off
    return signs[0] if attrs.dtype in ("float32", "float64") else Sign.UNKNOWN


_MOVES = (
    "broadcast_to",
    "concatenate",
    "copy",
    "expand_dims",
    "repeat",
    "reshape",
    "squeeze",
    "stack",
    "strided_slice",
    "tile",
    "transpose",
)

RULES: dict[str, Rule] = {
    **dict.fromkeys(_MOVES, _first),
    **dict.fromkeys(("max", "mean", "min"), _first),
    **dict.fromkeys(("exp", "rsqrt", "sigmoid", "ones", "ones_like"), _positive),
    **dict.fromkeys(("abs", "sqrt", "nn.relu"), _at_least_zero),
    "sum": lambda signs, attrs: min(signs[0], Sign.NOT_NEGATIVE),  # that of nothing is 0
    "variance": lambda signs, attrs: Sign.NOT_NEGATIVE,
    "add": _sum,
    "cast": _converted,
    "clip": _clipped,
    "divide": _quotient,
    "maximum": lambda signs, attrs: max(signs),
    "minimum": _product,
    "multiply": _product,
    "power": lambda signs, attrs: Sign.POSITIVE if signs[0] is Sign.POSITIVE else Sign.UNKNOWN,
}
