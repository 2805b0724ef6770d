"""Short ways to do to one expression what is done to modules: infer, run a pass, count, fill."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from relay import dtypes, nd, tree
from relay.ir.expr import Call, Expr, Function, Op
from relay.ir.module import IRModule
from relay.prelude import Prelude
from relay.transform.base import Pass
from relay.transform.infer_type import InferType


def run_opt_pass(expr: Expr, opt_pass: Pass | Sequence[Pass], import_prelude: bool = False) -> Expr:
    """`expr` after a pass, or several, over a module that has it as its main function."""
    module = IRModule.from_expr(expr)
    if import_prelude:
        Prelude(module)
    name = expr.attrs.get("global_symbol", "main") if isinstance(expr, Function) else "main"
    for one in [opt_pass] if isinstance(opt_pass, Pass) else opt_pass:
        module = one(module)
    entry: Function = module[name]
    return entry if isinstance(expr, Function) else entry.body


def run_infer_type(expr: Expr) -> Expr:
    """`expr` with the types of all its parts."""
    return run_opt_pass(expr, InferType())


def count_ops(expr: Expr) -> Counter[str]:
    """How many calls of each operator there are, by the operator's name."""
    return Counter(
        e.op.name for e in tree.postorder(expr) if isinstance(e, Call) and isinstance(e.op, Op)
    )


def rand(dtype: str = "float32", *shape: int) -> nd.NDArray:
    """A tensor of random numbers: from [0, 1), or small integers where the type has no fractions.

    They come from NumPy's global generator, so `numpy.random.seed` makes them the same again.
    """
    values: np.ndarray
    if dtypes.is_float(dtypes.canonical(dtype)):
        values = np.asarray(np.random.random_sample(shape))
    else:
        values = np.asarray(np.random.randint(0, 2 if dtype == "bool" else 8, shape))
    return nd.array(values.astype(dtypes.to_numpy(dtype)))
