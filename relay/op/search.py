"""Where values stand: in a sorted sequence, and among those seen before."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from relay import dtypes
from relay.ir.attrs import Attrs, attrs
from relay.ir.expr import Expr, TupleWrapper
from relay.ir.types import TensorType, TupleType, Type
from relay.op.numerics import widened
from relay.op.opdef import FusionKind, Tensor, define, sample
from relay.op.site import Site

# --- a sorted sequence -------------------------------------------------------------------------


@attrs
class SearchSortedAttrs(Attrs):
    """right: after the elements that are equal, instead of before them
    dtype: the element type of the positions
    """

    right: bool = False
    dtype: Literal["int32", "int64"] = "int32"


def _searchsorted_type(site: Site) -> Type | None:
    """The shape of values; sequences of several axes have the leading extents of values."""
    site.require_rank(0, at_least=1)
    if (operands := site.tensors()) is None:
        return None
    sequence, values = operands
    site.require_same_dtype(sequence, values)
    shape = list(values.shape)
    if len(sequence.shape) > 1:
        site.tensor(1, len(sequence.shape))
        for axis, extent in enumerate(sequence.shape[:-1]):
            shape[axis] = site.require_equal(shape[axis], extent, f"extents of axis {axis}")
    return TensorType(tuple(shape), site.attrs.dtype)


def _searchsorted(sequence: np.ndarray, values: np.ndarray, right: bool, dtype: str) -> np.ndarray:
    side: Any = "right" if right else "left"
    stored = dtypes.to_numpy(dtype)
    sequence, values = widened(sequence), widened(values)
    if sequence.ndim == 1:
        return np.searchsorted(sequence, values, side).astype(stored)
    found = np.empty(values.shape, stored)
    for row in np.ndindex(sequence.shape[:-1]):
        found[row] = np.searchsorted(sequence[row], values[row], side)
    return found


searchsorted = define(
    "searchsorted",
    doc="Before which element of a sorted sequence each value would be put. Sequences lie along "
    "the last axis; with several axes there is one for each row of values.",
    arguments=[
        ("sorted_sequence", "elements in ascending order along the last axis"),
        ("values", "what is looked for"),
    ],
    attrs=SearchSortedAttrs,
    relation=_searchsorted_type,
    reference=_searchsorted,
    fusion=FusionKind.OPAQUE,
    samples=[
        sample(np.array([-1.0, 0.0, 0.5, 1.5], "float32"), (2, 3)),
        sample(np.array([1, 3, 3, 3, 5], "int32"), np.array([0, 3, 4, 9], "int32"), right=True),
        sample(np.array([1, 3, 3, 3, 5], "int8"), np.array(3, "int8"), attrs={"dtype": "int64"}),
        sample(np.array([[1, 2, 3], [2, 4, 6]], "float16"), Tensor((2, 4), "float16", 0, 7)),
        sample(np.zeros((0,), "float32"), (2,)),
    ],
)

# --- different values --------------------------------------------------------------------------


@attrs
class UniqueAttrs(Attrs):
    """sorted: values in ascending order, instead of in the order they first appear in
    return_counts: also how often each value appears
    """

    sorted: bool = True
    return_counts: bool = False


def _unique_type(site: Site) -> Type | None:
    """(values, first places, inverse, number of values[, counts]), as long as data."""
    if (data := site.tensor(0, rank=1)) is None:
        return None
    places = TensorType(data.shape, "int32")
    counts = (places,) if site.attrs.return_counts else ()
    return TupleType((data, places, places, TensorType((1,), "int32"), *counts))


def _unique(data: np.ndarray, sorted: bool, return_counts: bool) -> tuple[np.ndarray, ...]:
    _, first, inverse, counts = np.unique(
        widened(data), return_index=True, return_inverse=True, return_counts=True
    )
    if not sorted:
        appearing = np.argsort(first)
        first, counts = first[appearing], counts[appearing]
        inverse = np.argsort(appearing)[inverse]

    def filled(values: np.ndarray, dtype: Any) -> np.ndarray:
        result = np.zeros(data.shape, dtype)
        result[: len(values)] = values
        return result

    number = np.array([len(first)], np.int32)
    found = (
        filled(data[first], data.dtype),
        filled(first, np.int32),
        inverse.astype(np.int32),
        number,
    )
    return (*found, filled(counts, np.int32)) if return_counts else found


def unique(data: Expr, is_sorted: bool = True, return_counts: bool = False) -> TupleWrapper:
    """The different values of data; see the operator for what the tuple holds."""
    call = UNIQUE(data, sorted=is_sorted, return_counts=return_counts)
    return TupleWrapper(call, 5 if return_counts else 4)


UNIQUE = define(
    "unique",
    doc="The different values of data, where each of them first appears, which of them stands at "
    "each place of data, how many there are, and how often each appears. All but the number are as "
    "long as data: values, places and counts are filled up with zeros. NaN is one value.",
    arguments=[("data", "the input, of one axis")],
    attrs=UniqueAttrs,
    relation=_unique_type,
    reference=_unique,
    fusion=FusionKind.OPAQUE,
    helper=unique,
    samples=[
        sample((9,), dtype="int32"),
        sample((9,), dtype="int8", sorted=False, return_counts=True),
        sample(np.array([2.0, np.nan, -1.0, np.nan, 2.0], "float32"), return_counts=True),
        sample((6,), dtype="bool", sorted=False),
        sample((0,), dtype="bfloat16", return_counts=True),
    ],
)
