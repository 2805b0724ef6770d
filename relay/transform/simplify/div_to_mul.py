"""Multiply by the reciprocal instead of dividing by a constant:

divide(%x, 4f)  ->  multiply(%x, 0.25f)

A product takes a fraction of the time of a quotient, but is rounded twice. It stays a quotient
where the reciprocal overflows or loses digits (0, and numbers at the ends of the range), for
weights, whose values may change, and for integers.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from relay import dtypes
from relay.immutable import frozen
from relay.ir.expr import Call, Constant, Expr
from relay.nd import NDArray
from relay.op.tensor.binary import multiply
from relay.transform.simplify.peephole import RulePass, Rules
from relay.transform.simplify.rule_window import Window

_finfo: Any = ml_dtypes.finfo


def by_reciprocal(call: Call, window: Window) -> Expr | None:
    """divide(%x, c)  ->  multiply(%x, 1 / c)"""
    top, bottom = call.args
    value = window.value(bottom)
    if value is None or not dtypes.is_float(window.dtype(bottom)) or window.is_constant(top):
        return None
    with np.errstate(all="ignore"):
        exact = 1 / value.astype(np.float64)
        reciprocal = exact.astype(value.dtype)
    size = np.abs(reciprocal.astype(np.float64))
    limits = _finfo(value.dtype)
    if not np.all((size >= float(limits.smallest_normal)) & (size <= float(limits.max))):
        return None
    return multiply(top, Constant(NDArray(reciprocal)))


RULES: Rules = {"divide": (by_reciprocal,)}


@frozen
class DivToMul(RulePass):
    """Division by constants becomes multiplication."""

    required = ("InferType", "FoldConstant")
    rules = (RULES,)
