"""Known elements of small integer tensors at import.

    Shape(x: Tensor[(n, 3, 4)])           (n, 3, 4)
    Concat(Gather(Shape(x), 0), [-1])     (n, -1)
    Equal((n, -1), (-1, -1))              (0, 1): an extent is not negative

Graphs compute shapes with operators on tensors. The elements of a shape are dimensions here, so
that tensors of that shape keep named dimensions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any

import numpy as np

from relay.ir import dims
from relay.ir.dims import Dim
from relay.nd import NDArray

# None for an unknown element; a scalar has one
Elements = tuple[Dim | None, ...]

MOST = 64  # elements
ELEMENT_TYPES = ("int32", "int64", "bool")


def elements_of_array(data: NDArray) -> Elements | None:
    """The elements of a constant, if it can be a shape."""
    if len(data.shape) > 1 or data.dtype not in ELEMENT_TYPES:
        return None
    found = data.array.reshape(-1)
    return tuple(int(one) for one in found) if len(found) <= MOST else None


def propagate(
    operator: str,
    inputs: Sequence[Elements | None],
    attributes: Mapping[str, Any],
    shape: Sequence[Dim] | None,
) -> Elements | None:
    """The known elements of the result of an operator of the default domain.
    `shape` is the shape of the first input."""
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
    if operator in _EACH:
        return tuple(None if one is None else _EACH[operator](one) for one in inputs[0])
    if operator in _PAIRWISE:
        return _all_pairs(_PAIRWISE[operator], inputs)
    if operator in _REDUCED and not attributes.get("noop_with_empty_axes", 0):
        return _pairs_reduced(_PAIRWISE[_REDUCED[operator]], inputs[0])
    if operator == "Where" and len(inputs) == 3:
        return _chosen(*inputs)
    if operator == "Gather" and len(inputs) > 1:
        return _gather(inputs[0], inputs[1])
    if operator == "Slice":
        return _slice(inputs, attributes)
    return None


# operators that keep the elements and their order
_SAME = ("Identity", "Cast", "CastLike", "Squeeze", "Unsqueeze", "Reshape")


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


def _all_pairs(
    combine: Callable[[Dim, Dim], Dim | None], inputs: Sequence[Elements | None]
) -> Elements | None:
    found = inputs[0]
    for one in inputs[1:]:
        if found is None or one is None:
            return None
        found = _pairwise(combine, found, one)
    return found


def _pairs_reduced(combine: Callable[[Dim, Dim], Dim | None], data: Elements) -> Elements | None:
    """All elements reduced to one."""
    if not data:
        return None
    return (reduce(lambda a, b: None if a is None or b is None else combine(a, b), data),)


def _chosen(
    condition: Elements | None, yes: Elements | None, no: Elements | None
) -> Elements | None:
    if condition is None or yes is None or no is None:
        return None
    longest = max(map(len, (condition, yes, no)))
    if any(len(one) not in (1, longest) for one in (condition, yes, no)):
        return None
    tests, left, right = (
        one * longest if len(one) < longest else one for one in (condition, yes, no)
    )
    return tuple(
        None if test is None else (a if test else b)
        for test, a, b in zip(tests, left, right, strict=True)
    )


def _is_less(left: Dim, right: Dim) -> Dim | None:
    """1 or 0, where that holds for all values of named dimensions."""
    if _is_nonnegative(right - left - 1):
        return 1
    return 0 if _is_nonnegative(left - right) else None


def _is_equal(left: Dim, right: Dim) -> Dim | None:
    if dims.equal(left, right) is True:
        return 1
    return 0 if _is_nonnegative(left - right - 1) or _is_nonnegative(right - left - 1) else None


def _is_nonnegative(one: Dim) -> bool:
    return dims.sign_of(one) in (0, 1)


def _negated(truth: Dim | None) -> Dim | None:
    return None if truth is None else 1 - truth


def _modulo(left: Dim, right: Dim) -> Dim | None:
    return left % right if isinstance(right, int) and right > 0 else None


def _divide(left: Dim, right: Dim) -> Dim | None:
    # ONNX rounds towards zero, which is floor division for dimensions
    if isinstance(left, int) and isinstance(right, int):
        return int(np.trunc(left / right)) if right else None
    return left // right if isinstance(right, int) and right > 0 else None


_PAIRWISE: Mapping[str, Callable[[Dim, Dim], Dim | None]] = {
    "Add": lambda a, b: a + b,
    "Sub": lambda a, b: a - b,
    "Mul": lambda a, b: a * b,
    "Div": _divide,
    "Mod": _modulo,
    "Min": dims.minimum,
    "Max": dims.maximum,
    "Less": _is_less,
    "Greater": lambda a, b: _is_less(b, a),
    "LessOrEqual": lambda a, b: _negated(_is_less(b, a)),
    "GreaterOrEqual": lambda a, b: _negated(_is_less(a, b)),
    "Equal": _is_equal,
    "And": lambda a, b: a * b,
}

_EACH: Mapping[str, Callable[[Dim], Dim | None]] = {
    "Neg": lambda a: -a,
    "Not": _negated,
}

_REDUCED = {"ReduceProd": "Mul", "ReduceSum": "Add", "ReduceMax": "Max", "ReduceMin": "Min"}


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
