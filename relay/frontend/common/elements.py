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

    `shape` is the shape of the first input.
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
    if operator == "Slice":
        return _slice(inputs, attributes)
    if operator in _REDUCED and not attributes.get("noop_with_empty_axes", 0):
        combine = _strict(_PAIRWISE[_REDUCED[operator]])
        return (reduce(combine, inputs[0]),) if inputs[0] else None
    known = [one for one in inputs if one is not None]
    if len(known) < len(inputs):
        return None
    if operator == "Concat":
        return tuple(one for part in known for one in part)
    if operator in _EACH:
        return _elementwise(_strict(_EACH[operator]), inputs[0])
    if operator in _PAIRWISE:
        found: Elements | None = known[0]
        for one in known[1:]:
            found = (
                None if found is None else _elementwise(_strict(_PAIRWISE[operator]), found, one)
            )
        return found
    if operator == "Where" and len(known) == 3:
        return _elementwise(lambda test, a, b: None if test is None else a if test else b, *known)
    if operator == "Gather" and len(known) > 1:
        return _gather(known[0], known[1])
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


def _elementwise(combine: Callable[..., Dim | None], *inputs: Elements) -> Elements | None:
    """A function of broadcast elements."""
    longest = max(map(len, inputs))
    if any(len(one) not in (1, longest) for one in inputs):
        return None
    rows = (one * longest if len(one) < longest else one for one in inputs)
    return tuple(map(combine, *rows))


def _strict(combine: Callable[..., Dim | None]) -> Callable[..., Dim | None]:
    """A function whose result is unknown where an argument is."""
    return lambda *given: None if None in given else combine(*given)


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

_EACH: Mapping[str, Callable[[Dim], Dim | None]] = {"Neg": lambda a: -a, "Not": _negated}

_REDUCED = {"ReduceProd": "Mul", "ReduceSum": "Add", "ReduceMax": "Max", "ReduceMin": "Min"}


def _gather(data: Elements, positions: Elements | None) -> Elements | None:
    if positions is None or not all(
        isinstance(p, int) and -len(data) <= p < len(data) for p in positions
    ):
        return None
    return tuple(data[p] for p in positions if isinstance(p, int))


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
