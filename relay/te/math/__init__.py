"""Mathematical functions in vectorizable operations.

    expand(exp(x), facts)     multiplications, additions, shifts

Every function of `relay.scalar_functions` is written out for float32 and float64, with infinities,
NaN, denormals and signed zeros as in C, and without branches; its row tells how far a result may be
from the true one. What remains a call, LLVM has an instruction for: sqrt, copysign, popcount, clz;
fma and rounding where the machine has them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from relay import dtypes
from relay.errors import RelayError
from relay.scalar_functions import FUNCTIONS
from relay.te.expr import Call, Expr, const
from relay.te.math.floats import Floats

if TYPE_CHECKING:
    from relay.te.legalize import Facts


def expand(expr: Expr, facts: Facts) -> Expr:
    """Expand a call; its arguments are float32, float64 or integers."""
    if not isinstance(expr, Call):
        return expr
    function, args = expr.function, expr.args
    known = FUNCTIONS[function]
    dtype = args[0].dtype
    if function == "fma":
        return expr if facts.has_fma else args[0] * args[1] + args[2]
    if not known.module:
        return expr
    if dtypes.is_integer(dtype) or dtype == "bool":
        if known.kind == "rounding":
            return args[0]
        if known.kind == "predicate":
            return const(function == "isfinite", "bool")
    if dtype not in ("float32", "float64"):
        raise RelayError(f"`{function}` is a function of floats, found {dtype}")
    if function in facts.instructions:
        return expr
    module: Any = import_module(f"relay.te.math.{known.module}")
    return getattr(module, function)(Floats(dtype, facts), *args)  # type: ignore[no-any-return]
