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
from relay.ir.expr import Call, Expr, Function
from relay.op.opdef import OpDef, records
from relay.transform.base import FunctionPass
from relay.transform.simplify.peephole import TYPED, rewritten
from relay.transform.simplify.rule_window import Window


@frozen
class FastMath(FunctionPass):
    """Replaces functions by their approximations."""

    opt_level = 4
    required = TYPED

    def rewrite(self, function: Function) -> Function:
        fast = {op.approximates: op for op in records() if op.approximates}

        def faster(call: Call, window: Window) -> Expr | None:
            assert isinstance(call.op, OpDef)
            is_wide = window.dtype(call) == "float64"
            return None if is_wide else tree.replace(call, op=fast[call.op.name])

        return rewritten(function, dict.fromkeys(fast, (faster,)))
