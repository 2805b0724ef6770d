"""Element types of results of operations on tensors of several types, as Keras has them.

int32 and float32: float32      float16 and bfloat16: float32      int32 and 2.5: float32
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

from relay import dtypes
from relay.frontend.keras.node import Node
from relay.ir.expr import Expr, const


def common_type(names: Sequence[str]) -> str:
    """The element type of a result of tensors of these types."""
    return reduce(_both, names)


def _both(one: str, other: str) -> str:
    if one == other:
        return one
    if dtypes.is_float(one) or dtypes.is_float(other):
        if not dtypes.is_float(one):
            return other
        if not dtypes.is_float(other):
            return one
        if {one, other} == {"float16", "bfloat16"}:
            return "float32"
        return max(one, other, key=dtypes.bits)
    found = np.promote_types(one, other).name
    return "float32" if found.startswith("float") else found


def promoted(node: Node, *values: Any) -> list[Expr]:
    """Tensors of one type; numbers of Python take that of the tensors, if it is of their kind."""
    tensors = [one for one in values if isinstance(one, Expr)]
    arrays = [one for one in values if isinstance(one, np.ndarray | list)]
    held = {id(one): node.tensor(one) for one in arrays}
    names = [node.dtype(one) for one in (*tensors, *held.values())]
    dtype = common_type(names) if names else "float32"
    numbers = [one for one in values if isinstance(one, bool | int | float)]
    if any(isinstance(one, float) for one in numbers) and not dtypes.is_float(dtype):
        dtype = "float32"
    if any(type(one) is int for one in numbers) and dtype == "bool":
        dtype = "int32"
    found = []
    for one in values:
        if isinstance(one, Expr):
            found.append(node.as_dtype(one, dtype))
        elif id(one) in held:
            found.append(node.as_dtype(held[id(one)], dtype))
        elif isinstance(one, bool | int | float):
            found.append(const(one, dtype))
        else:
            raise node.refused("an argument is no tensor", found=repr(one)[:60])
    return found


def floating(node: Node, value: Expr) -> Expr:
    """Integers as float32, floats as they are."""
    return value if dtypes.is_float(node.dtype(value)) else node.as_dtype(value, "float32")
