"""Static values become attributes, dynamic values become tensor arguments.

    reshape(x, (2, -1))         reshape(x, newshape=[2, -1])
    reshape(x, shape_of(y))     dyn.reshape(x, shape_of(y))

The Python functions take either and build the static or the dynamic operator.
"""

from __future__ import annotations

from typing import Any

from relay.ir.expr import Constant, Expr, TupleWrapper, as_expr, const


def is_known(*values: Any) -> bool:
    """Whether all values are static: numbers, lists, constants."""
    return all(
        not isinstance(value, Expr | TupleWrapper) or isinstance(value, Constant)
        for value in values
    )


def as_tensor(values: Any, dtype: str = "int64") -> Expr:
    """An expression for values; numbers become a constant."""
    if isinstance(values, Expr | TupleWrapper):
        return as_expr(values)
    return const(values, dtype)
