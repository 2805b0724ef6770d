"""The range of values of a tensor's elements, from its type and the operators before it.

    %x: uint8                                   0 to 255
    cast(%x, dtype="int32")                     0 to 255
    clip(%y, a_min=-1, a_max=1)                 -1 to 1, or NaN

A conversion loses nothing where the range can be represented in the other type. NaN is not part of
a range: callers have to preserve it anyway.
"""

from __future__ import annotations

from functools import cache
from math import inf
from typing import Any, Protocol

import ml_dtypes

from relay import dtypes
from relay.immutable import frozen
from relay.ir.expr import Call, Expr
from relay.op.building.numerics import limits

_finfo: Any = ml_dtypes.finfo

# The maximal length of a chain of operators, since every operator of one asks for its range.
DEPTH = 4


class Definitions(Protocol):
    """The definitions of variables and expressions."""

    def dtype(self, e: Expr) -> str:
        """The element type of a tensor."""

    def call_of(self, e: Expr, *names: str) -> Call | None:
        """The call that `e` is or is bound to, if it is of one of these operators."""


@frozen
class Range:
    """All values from `low` to `high`."""

    low: float
    high: float

    def within(self, other: Range) -> bool:
        return other.low <= self.low and self.high <= other.high

    def common(self, other: Range) -> Range:
        return Range(max(self.low, other.low), min(self.high, other.high))


@cache
def of_dtype(dtype: str) -> Range:
    """The values of an element type."""
    if dtype == "bool":
        return Range(0, 1)
    if not dtypes.is_integer(dtype):
        return Range(-inf, inf)
    return Range(*limits(dtypes.to_numpy(dtype)))


def of_expression(e: Expr, program: Definitions, depth: int = DEPTH) -> Range:
    """The values that elements of `e` may have."""
    own = of_dtype(program.dtype(e))
    call = program.call_of(e, "cast", "clip", "nn.relu") if depth else None
    if call is None:
        return own
    before = of_expression(call.args[0], program, depth - 1)
    if (bounds := clip_bounds(call)) is not None:
        return before.common(bounds) if _meet(before, bounds) else own
    source = program.dtype(call.args[0])
    is_whole = dtypes.is_integer(source) or source == "bool"
    # what fits stays what it is; the rest wraps around, or is rounded
    return before if is_whole and before.within(exact_integers(program.dtype(e))) else own


def clip_bounds(call: Call) -> Range | None:
    """The bounds of a clip, which a relu is too; None where it is neither or they are turned."""
    attrs: Any = call.attrs
    match call.op.name:  # type: ignore[attr-defined]
        case "nn.relu":
            return Range(0, inf)
        case "clip" if attrs.a_min <= attrs.a_max:
            return Range(attrs.a_min, attrs.a_max)
    return None


def _meet(one: Range, other: Range) -> bool:
    return max(one.low, other.low) <= min(one.high, other.high)


@cache
def is_lossless(source: str, target: str) -> bool:
    """Whether every value of one element type is a value of the other."""
    if source == target:
        return True
    if target == "float8_e8m0fnu":  # which has no zero
        return False
    if source == "bool":
        return True
    if target == "bool":
        return False
    if dtypes.is_integer(source):
        return of_dtype(source).within(exact_integers(target))
    if dtypes.is_integer(target):
        return False
    narrow, wide = _float_info(source), _float_info(target)
    return bool(
        narrow.nmant <= wide.nmant
        and narrow.maxexp <= wide.maxexp
        and narrow.minexp - narrow.nmant >= wide.minexp - wide.nmant
        and target in ("float8_e5m2", *dtypes.FLOATS)  # others have no infinities, or no NaN
    )


def exact_integers(dtype: str) -> Range:
    """The range of integers that a type represents exactly."""
    if dtype == "bool" or dtypes.is_integer(dtype):
        return of_dtype(dtype)
    if dtype == "float8_e8m0fnu":
        return Range(1, 2)
    info = _float_info(dtype)
    whole = min(2.0 ** (info.nmant + 1), float(info.max))
    return Range(-whole, whole)


def _float_info(dtype: str) -> Any:
    return _finfo(dtypes.to_numpy(dtype))
