"""What is known of the elements of small tensors of integers, before anything runs.

    Shape(x: Tensor[(n, 3, 4)])           (n, 3, 4)
    Concat(Gather(Shape(x), 0), [-1])     (n, -1)

Graphs compute shapes with operators on tensors. Where a shape has names, its elements are
dimensions here, and tensors made with such a shape keep the names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from relay.ir import dims
from relay.ir.dims import Dim
from relay.nd import NDArray

# None where nothing is known. A scalar has one element, and `is_scalar` knows by the type.
Elements = tuple[Dim | None, ...]

MOST = 64  # elements: shapes have few


def elements_of_array(data: NDArray) -> Elements | None:
    """The elements of a constant, if it can be a shape."""
    if len(data.shape) > 1 or data.dtype not in ("int32", "int64"):
        return None
    found = data.array.reshape(-1)
    return tuple(int(one) for one in found) if len(found) <= MOST else None


def propagate(
    operator: str,
    inputs: Sequence[Elements | None],
    attributes: Mapping[str, Any],
    shape: Sequence[Dim] | None,
) -> Elements | None:
    """What is known of the elements of the result of an operator of the default domain.

    `shape` is the shape of the first input, for the operators that ask for it.
    """
    if operator == "Shape":
        if shape is None:
            return None
        start, end = attributes.get("start", 0), attributes.get("end")
        return tuple(shape)[start:end]
    if operator == "Size":
        return (_product(shape),) if shape is not None else None
    if not inputs or inputs[0] is None:
        return None
    if operator in _SAME:
        return inputs[0]
    if operator == "Concat":
        if any(part is None for part in inputs):
            return None
        return tuple(one for part in inputs if part is not None for one in part)
    if len(inputs) > 1 and inputs[1] is not None and operator in _PAIRWISE:
        return _pairwise(_PAIRWISE[operator], inputs[0], inputs[1])
    if operator == "Gather" and len(inputs) > 1:
        return _gather(inputs[0], inputs[1])
    if operator == "Slice":
        return _slice(inputs, attributes)
    return None


_SAME = ("Identity", "Cast", "Squeeze", "Unsqueeze")


def _product(shape: Sequence[Dim]) -> Dim | None:
    total: Dim = 1
    for one in shape:
        if isinstance(one, dims.Any):
            return None
        total = total * one
    return total


def _pairwise(
    combine: Callable[[Dim, Dim], Dim | None], left: Elements, right: Elements
) -> Elements | None:
    if len(left) != len(right):
        if 1 not in (len(left), len(right)):
            return None
        longest = max(len(left), len(right))
        left = left * longest if len(left) == 1 else left
        right = right * longest if len(right) == 1 else right
    return tuple(
        None if a is None or b is None else combine(a, b) for a, b in zip(left, right, strict=True)
    )


def _divide(left: Dim, right: Dim) -> Dim | None:
    # the division of ONNX rounds to zero: the same for what is not negative, as dimensions are
    if isinstance(left, int) and isinstance(right, int):
        return int(np.trunc(left / right)) if right else None
    return left // right if isinstance(right, int) and right > 0 else None


_PAIRWISE: Mapping[str, Callable[[Dim, Dim], Dim | None]] = {
    "Add": lambda a, b: a + b,
    "Sub": lambda a, b: a - b,
    "Mul": lambda a, b: a * b,
    "Div": _divide,
}


def _gather(data: Elements, places: Elements | None) -> Elements | None:
    if places is None or not all(
        isinstance(p, int) and -len(data) <= p < len(data) for p in places
    ):
        return None
    return tuple(data[p] for p in places if isinstance(p, int))


def _slice(inputs: Sequence[Elements | None], attributes: Mapping[str, Any]) -> Elements | None:
    data = inputs[0]
    given = list(inputs[1:]) or [attributes.get("starts"), attributes.get("ends")]
    if data is None or len(given) < 2 or (len(given) > 2 and given[2] not in (None, (0,), (-1,))):
        return None
    bounds = [one[0] if one else None for one in (given[0], given[1])]
    step = given[3][0] if len(given) > 3 and given[3] else 1
    start, end = bounds
    if not (isinstance(start, int) and isinstance(end, int) and isinstance(step, int) and step):
        return None
    return data[start : (None if step < 0 and end < -len(data) else end) : step]
