"""searchsorted and unique."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, Literal

import numpy as np

from relay import dtypes, te
from relay.immutable import frozen
from relay.ir.attrs import Attrs, attrs
from relay.ir.expr import Expr, TupleWrapper, const
from relay.ir.types import TensorType, TupleType, Type
from relay.op.building.elements import place, size
from relay.op.building.numerics import widened
from relay.op.gradient_rules import DISCRETE, ArgumentGradient, Backward, build
from relay.op.loop_nest import nest, spread
from relay.op.opdef import Tensor, define, sample
from relay.op.site import Site
from relay.op.tensor.sort_loops import lower_bound, sort_key, sort_positions

# --- searchsorted ----------------------------------------------------------------------------


@attrs
class SearchSortedAttrs(Attrs):
    """right: after equal elements, instead of before them
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
    doc="The insertion positions of values into sorted sequences. Sequences are along the last "
    "axis; with several axes there is one for each row of values.",
    arguments=[
        ("sorted_sequence", "elements in ascending order along the last axis"),
        ("values", "the values to search"),
    ],
    attrs=SearchSortedAttrs,
    relation=_searchsorted_type,
    reference=_searchsorted,
    compute=_searchsorted_loops,
    samples=[
        sample(np.array([-1.0, 0.0, 0.5, 1.5], "float32"), (2, 3)),
        sample(np.array([1, 3, 3, 3, 5], "int32"), np.array([0, 3, 4, 9], "int32"), right=True),
        sample(np.array([1, 3, 3, 3, 5], "int8"), np.array(3, "int8"), attrs={"dtype": "int64"}),
        sample(np.array([[1, 2, 3], [2, 4, 6]], "float16"), Tensor((2, 4), "float16", 0, 7)),
        sample(np.zeros((0,), "float32"), (2,)),
    ],
    gradient=DISCRETE,
)

# --- unique ----------------------------------------------------------------------------------


@attrs
class UniqueAttrs(Attrs):
    """sorted: values in ascending order, instead of in order of first appearance
    return_counts: also return the count of each value
    """

    sorted: bool = True
    return_counts: bool = False


def _unique_type(site: Site) -> Type | None:
    """(values, first places, inverse, number of values[, counts]), as long as data."""
    site.require_rank(0, at_least=1)
    if (data := site.tensor(0)) is None:
        return None
    places = TensorType(data.shape[:1], "int32")
    counts = (places,) if site.attrs.return_counts else ()
    return TupleType((data, places, places, TensorType((1,), "int32"), *counts))


def _unique(data: np.ndarray, sorted: bool, return_counts: bool) -> tuple[np.ndarray, ...]:
    order = _row_order(widened(data))
    first, inverse, counts = _groups(widened(data), order)
    if not sorted:
        appearing = np.argsort(first)
        first, counts = first[appearing], counts[appearing]
        inverse = np.argsort(appearing)[inverse]

    def filled(values: np.ndarray, dtype: Any) -> np.ndarray:
        result = np.zeros((len(data), *values.shape[1:])).astype(dtype)
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


def _row_order(data: np.ndarray) -> np.ndarray:
    """The lexicographic order of the slices along the first axis."""
    rows = data.reshape(len(data), prod(data.shape[1:]))
    order = np.arange(len(data))
    for column in reversed(range(rows.shape[1])):
        order = order[np.argsort(rows[order, column], kind="stable")]
    return order


def _groups(data: np.ndarray, order: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The first position, the inverse and the count of each distinct slice."""
    rows = data.reshape(len(data), prod(data.shape[1:]))[order]
    missing = np.isnan(rows) if rows.dtype.kind == "f" else np.zeros(rows.shape, bool)
    same = (rows[1:] == rows[:-1]) | (missing[1:] & missing[:-1])
    begins = np.concatenate([np.ones(min(len(rows), 1), bool), ~same.all(axis=1)])
    inverse = np.empty(len(order), np.int64)
    inverse[order] = np.cumsum(begins) - 1
    return order[begins], inverse, np.bincount(inverse, minlength=int(begins.sum()))


def _unique_loops(
    data: te.Tensor, sorted: bool, return_counts: bool, out: tuple[te.Spec, ...]
) -> tuple[te.Tensor, ...]:
    """Sort, so that equal elements are adjacent, the first in front."""
    count, inner = data.shape[0], data.shape[1:]

    def write(b: te.Builder, values: te.Buffer, *places: te.Buffer) -> None:
        first, inverse, number = places[:3]
        order = _sorted_rows(b, data) if inner else _sorted_elements(b, data)
        first_of, count_of, group_of, name_of = (
            b.local("int64", (count,), name) for name in ("first", "count", "group", "name")
        )
        groups = b.variable("int64", 0, "groups")
        with b.loop(count) as rank:
            position = b.let(order.position(rank))
            with b.if_(order.begins(rank)):
                b.store(first_of, groups[()], position)
                b.store(count_of, groups[()], 0)
                b.store(name_of, groups[()], groups[()])
                b.store(groups, (), groups[()] + 1)
            group = b.let(groups[()] - 1)
            b.store(count_of, group, count_of[group] + 1)
            b.store(group_of, position, group)
        if not sorted:
            appeared = b.variable("int64", 0, "appeared")
            with b.loop(count) as position:
                group = b.let(group_of[position])
                with b.if_(te.equal(first_of[group], position)):
                    b.store(name_of, group, appeared[()])
                    b.store(appeared, (), appeared[()] + 1)
        with b.loop(count) as position:
            b.store(inverse, position, te.cast(name_of[group_of[position]], "int32"))
            for result in (first, *places[3:]):
                b.store(result, position, te.const(0, result.dtype))
            with nest(b, inner) as i:
                b.store(values, (position, *i), te.const(0, values.dtype))
        with b.loop(groups[()]) as group:
            name = b.let(name_of[group])
            source = b.let(first_of[group])
            with nest(b, inner) as i:
                b.store(values, (name, *i), data[(source, *i)])
            b.store(first, name, te.cast(first_of[group], "int32"))
            for counts in places[3:]:
                b.store(counts, name, te.cast(count_of[group], "int32"))
        b.store(number, 0, te.cast(groups[()], "int32"))

    return te.procedure([data], [(spec.shape, spec.dtype) for spec in out], write, "unique")


@frozen
class _Sorted:
    """The sorted slices along the first axis: their positions, and whether one differs from the one
    before."""

    position: Callable[[te.Expr], te.Expr]  # of a rank
    begins: Callable[[te.Expr], te.Expr]


def _sorted_elements(b: te.Builder, data: te.Tensor) -> _Sorted:
    order = sort_positions(b, data.shape[0], lambda position: sort_key(data[position]))

    def begins(rank: te.Expr) -> te.Expr:
        alike = te.equal(order.key(rank), order.key(rank - 1))
        return ~te.select(te.equal(rank, 0), False, alike)

    return _Sorted(lambda rank: order[rank], begins)


def _sorted_rows(b: te.Builder, data: te.Tensor) -> _Sorted:
    """Radix sort by columns, from the last to the first."""
    count, inner = data.shape[0], data.shape[1:]
    columns = size(inner)
    rows = b.local("int64", (count,), "rows")
    later = b.local("int64", (count,), "later")
    differs = b.local("bool", (count,), "differs")

    def key(row: te.Expr, column: te.Expr) -> te.Expr:
        return sort_key(data[(row, *place(column, inner))])

    with b.loop(count) as i:
        b.store(rows, i, i)
        b.store(differs, i, te.equal(i, 0))
    with b.loop(columns) as step:
        column = b.let(columns - 1 - step)
        order = sort_positions(b, count, lambda rank: key(rows[rank], column))
        with b.loop(count) as i:
            b.store(later, i, rows[order[i]])
        with b.loop(count) as i:
            b.store(rows, i, later[i])
    with b.loop(te.maximum(count - 1, 0)) as i:
        seen = b.variable("int64", 0, "seen")
        with b.while_((seen[()] < columns) & ~differs[i + 1]):
            here = b.let(seen[()])
            b.store(differs, i + 1, te.not_equal(key(rows[i], here), key(rows[i + 1], here)))
            b.store(seen, (), here + 1)
    return _Sorted(lambda rank: rows[rank], lambda rank: differs[rank])


def unique(data: Expr, is_sorted: bool = True, return_counts: bool = False) -> TupleWrapper:
    """The distinct values of data; see the operator for the fields of the result."""
    call = UNIQUE(data, sorted=is_sorted, return_counts=return_counts)
    return TupleWrapper(call, 5 if return_counts else 4)


def _unique_gradient(site: Backward) -> Sequence[ArgumentGradient]:
    """The gradient of each distinct value goes to its first position."""
    (data,) = site.args
    _, first, _, count, *_ = site.fields(site.output)
    gradient = site.gradients[0]
    assert gradient is not None, "the other results are integers"
    first = build("cast", first, dtype="int64")
    size = build("reshape", build("cast", count, dtype="int64"), newshape=(1,))
    row = build("cumsum", build("ones_like", first), axis=0, exclusive=True)
    # what comes after them is padding, which has no position
    where = build("where", build("less", row, size), first, const(2**62, "int64"))
    places = build("expand_dims", where, axis=0)
    return [build("scatter_nd", build("zeros_like", data), places, gradient, mode="add")]


UNIQUE = define(
    "unique",
    doc="The distinct values of data, their first positions, the inverse, their number, and their "
    "counts. All but the number are as long as data, padded with zeros. NaN is one value. With "
    "several axes, the slices along the first one are compared lexicographically.",
    arguments=[("data", "the input, of one axis or more")],
    attrs=UniqueAttrs,
    relation=_unique_type,
    reference=_unique,
    compute=_unique_loops,
    helper=unique,
    samples=[
        sample((9,), dtype="int32"),
        sample((9,), dtype="int8", sorted=False, return_counts=True),
        sample(np.array([2.0, np.nan, -1.0, np.nan, 2.0], "float32"), return_counts=True),
        sample((6,), dtype="bool", sorted=False),
        sample((0,), dtype="bfloat16", return_counts=True),
        sample((9, 2), dtype="int8", return_counts=True),
        sample((7, 1, 2), dtype="bool", sorted=False, return_counts=True),
        sample(np.array([[1.0, np.nan], [-0.0, 2.0], [1.0, np.nan], [0.0, 2.0]], "float32")),
        sample((3, 0), dtype="int32"),
    ],
    gradient=_unique_gradient,
)
