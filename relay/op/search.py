"""Where values stand: in a sorted sequence, and among those seen before."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from relay import dtypes, te
from relay.ir.attrs import Attrs, attrs
from relay.ir.expr import Expr, TupleWrapper
from relay.ir.types import TensorType, TupleType, Type
from relay.op.loop_nest import spread
from relay.op.numerics import widened
from relay.op.opdef import FusionKind, Tensor, define, sample
from relay.op.site import Site
from relay.op.sort_loops import lower_bound, sort_key, sort_positions

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


def _searchsorted_loops(
    sequence: te.Tensor, values: te.Tensor, right: bool, dtype: str, out: te.Spec
) -> te.Tensor:
    def write(b: te.Builder, result: te.Buffer) -> None:
        with spread(b, out.shape) as at:
            row = at[: sequence.rank - 1]
            wanted = b.let(sort_key(values[at]))

            def before(position: te.Expr) -> te.Expr:
                key = sort_key(sequence[*row, position])
                return key <= wanted if right else key < wanted

            found = lower_bound(b, sequence.shape[-1], before)
            b.store(result, at, te.cast(found, out.dtype))

    return te.procedure([sequence, values], [(out.shape, out.dtype)], write, "searchsorted")[0]


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
    compute=_searchsorted_loops,
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
        result = np.zeros(data.shape).astype(dtype)
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


def _unique_loops(
    data: te.Tensor, sorted: bool, return_counts: bool, out: tuple[te.Spec, ...]
) -> tuple[te.Tensor, ...]:
    """Sorted, equal elements stand together, the first of them in front."""
    (size,) = data.shape

    def write(b: te.Builder, values: te.Buffer, *places: te.Buffer) -> None:
        first, inverse, number = places[:3]
        order = sort_positions(b, size, lambda position: sort_key(data[position]))
        first_of, count_of, group_of, name_of = (
            b.local("int64", (size,), name) for name in ("first", "count", "group", "name")
        )
        groups = b.variable("int64", 0, "groups")
        with b.loop(size) as rank:
            position = b.let(order[rank])
            alike = te.equal(order.key(rank), order.key(rank - 1))
            with b.if_(~te.select(te.equal(rank, 0), False, alike)):
                b.store(first_of, groups[()], position)
                b.store(count_of, groups[()], 0)
                b.store(name_of, groups[()], groups[()])
                b.store(groups, (), groups[()] + 1)
            group = b.let(groups[()] - 1)
            b.store(count_of, group, count_of[group] + 1)
            b.store(group_of, position, group)
        if not sorted:
            appeared = b.variable("int64", 0, "appeared")
            with b.loop(size) as position:
                group = b.let(group_of[position])
                with b.if_(te.equal(first_of[group], position)):
                    b.store(name_of, group, appeared[()])
                    b.store(appeared, (), appeared[()] + 1)
        with b.loop(size) as position:
            b.store(inverse, position, te.cast(name_of[group_of[position]], "int32"))
            for result in (values, first, *places[3:]):
                b.store(result, position, te.const(0, result.dtype))
        with b.loop(groups[()]) as group:
            name = b.let(name_of[group])
            b.store(values, name, data[first_of[group]])
            b.store(first, name, te.cast(first_of[group], "int32"))
            for counts in places[3:]:
                b.store(counts, name, te.cast(count_of[group], "int32"))
        b.store(number, 0, te.cast(groups[()], "int32"))

    return te.procedure([data], [(spec.shape, spec.dtype) for spec in out], write, "unique")


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
    compute=_unique_loops,
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
