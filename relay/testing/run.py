"""Helpers for tests of passes: run a pass on an expression, count operators, random tensors."""

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
    """`expr` after one or several passes over a module with it as the main function."""
    module = IRModule.from_expr(expr)
    if import_prelude:
        Prelude(module)
    name = expr.attrs.get("global_symbol", "main") if isinstance(expr, Function) else "main"
    for one in [opt_pass] if isinstance(opt_pass, Pass) else opt_pass:
        module = one(module)
    entry: Function = module[name]
    return entry if isinstance(expr, Function) else entry.body


def run_infer_type(expr: Expr) -> Expr:
    """`expr` with inferred types."""
    return run_opt_pass(expr, InferType())


def count_ops(expr: Expr) -> Counter[str]:
    """The number of calls of each operator, by name."""
    return Counter(
        e.op.name for e in tree.postorder(expr) if isinstance(e, Call) and isinstance(e.op, Op)
    )


def rand(dtype: str = "float32", *shape: int) -> nd.NDArray:
    """A random tensor: floats in [0, 1), or small integers, from NumPy's global generator."""
    values: np.ndarray
    if dtypes.is_float(dtypes.canonical(dtype)):
        values = np.asarray(np.random.random_sample(shape))
    else:
        values = np.asarray(np.random.randint(0, 2 if dtype == "bool" else 8, shape))
    return nd.array(values.astype(dtypes.to_numpy(dtype)))
