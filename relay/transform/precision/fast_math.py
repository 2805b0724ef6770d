"""Replace exponentials and related functions by approximations:

exp(%x)         ->  fast_exp(%x)
tanh(%x)        ->  fast_tanh(%x)
erf(%x)         ->  fast_erf(%x)
nn.softmax(%x)  ->  nn.fast_softmax(%x)

The relative error is about 2e-7, so float64 is left alone. Kernels with such an operator are marked
as approximate; `relay.compile(…, exact=True)` has none.
"""

from __future__ import annotations

from relay import tree
from relay.immutable import frozen
from relay.ir.expr import Call, Expr, get_op
from relay.transform.simplify.peephole import RulePass, Rules
from relay.transform.simplify.rule_window import Window

FAST = {
    "exp": "fast_exp",
    "tanh": "fast_tanh",
    "erf": "fast_erf",
    "nn.softmax": "nn.fast_softmax",
}


def faster(call: Call, window: Window) -> Expr | None:
    """exp(%x)  ->  fast_exp(%x)"""
    if window.dtype(call) == "float64":
        return None
    return tree.replace(call, op=get_op(FAST[call.op.name]))  # type: ignore[attr-defined]


RULES: Rules = dict.fromkeys(FAST, (faster,))


@frozen
class FastMath(RulePass):
    """Puts approximations in the place of exact functions."""

    opt_level = 4
    rules = RULES
