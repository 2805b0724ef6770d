"""The largest difference between two values."""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np

from relay import dtypes
from relay.errors import RelayError
from relay.immutable import frozen
from relay.interpreter.values import ConstructorValue, RefValue, TupleValue, Value
from relay.nd import NDArray


@frozen
class Tolerance:
    """How far floats may differ: `relative` to the largest of a tensor. All else is exact."""

    relative: float = 1e-4

    def agrees(self, found: Value, expected: Value) -> bool:
        """Whether two values are the same up to the tolerance."""
        return largest_difference(found, expected) <= self.relative


def largest_difference(found: Value, expected: Value) -> float:
    """Relative to the largest number of a tensor; infinite where structures, shapes, types,
    integers or NaNs differ."""
    pending: list[tuple[Any, Any]] = [(found, expected)]
    largest = 0.0
    while pending:
        mine, wanted = pending.pop()
        match wanted:
            case NDArray():
                same = isinstance(mine, NDArray)
                largest = max(largest, _of_arrays(mine.array, wanted.array) if same else inf)
            case TupleValue():
                if not isinstance(mine, TupleValue) or len(mine) != len(wanted):
                    return inf
                pending += zip(mine, wanted, strict=True)
            case ConstructorValue():
                built = isinstance(mine, ConstructorValue) and mine.is_built_by(wanted.constructor)
                if not built:
                    return inf
                pending += zip(mine, wanted, strict=True)
            case RefValue():
                if not isinstance(mine, RefValue):
                    return inf
                pending.append((mine.value, wanted.value))
            case _:
                raise RelayError(f"results with a {type(wanted).__name__} cannot be compared")
    return largest


def leaves(value: Value) -> TupleValue:
    """The tensors in nested tuples, in order."""
    found: list[Value] = []
    pending = [value]
    while pending:
        part = pending.pop()
        if isinstance(part, TupleValue):
            pending += reversed(part.fields)
        else:
            found.append(part)
    return TupleValue(found)


def _of_arrays(mine: np.ndarray, wanted: np.ndarray) -> float:
    if mine.shape != wanted.shape or mine.dtype != wanted.dtype:
        return inf
    name = dtypes.canonical(wanted.dtype)
    if not dtypes.is_float(name):
        return 0.0 if np.array_equal(mine, wanted) else inf
    a, b = mine.astype(np.float64), wanted.astype(np.float64)
    special = ~np.isfinite(b)
    if not np.array_equal(a[special], b[special], equal_nan=True):
        return inf
    a, b = a[~special], b[~special]
    if not b.size:
        return 0.0
    error = float(np.max(np.abs(a - b)))
    if np.isnan(error):
        return inf
    return error / max(float(np.max(np.abs(b))), 1e-30) if error else 0.0
