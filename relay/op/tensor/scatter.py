"""scatter_elements and scatter_nd.

Negative indices count from the back. An index out of range writes nothing. Several updates of one
element are combined in order; if they replace, the last wins.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Literal

import numpy as np

from relay import dtypes, te
from relay.errors import FROM_BACK
from relay.ir import dims
from relay.ir.attrs import Attrs, attrs
from relay.ir.expr import Expr, const
from relay.ir.types import TensorType, Type
from relay.op.building import scalars
from relay.op.building.elements import Indices
from relay.op.building.numerics import divide, in_64_bits, rounded_once
from relay.op.gradient_rules import ArgumentGradient, Backward, build, numbered
from relay.op.loop_nest import nest, spread
from relay.op.opdef import Tensor, define, sample
from relay.op.site import INTEGER, Site

_COMBINE: dict[str, np.ufunc] = {
    "add": np.add,
    "mul": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
}


def _written(
    data: np.ndarray, index: Sequence[np.ndarray], updates: np.ndarray, how: str
) -> np.ndarray:
    """Data with updates at `index`: positions for its first axes, which have the leading axes of
    updates."""
    inside = np.ones(index[0].shape if index else (), bool)
    places = []
    for positions, extent in zip(index, data.shape, strict=False):
        if positions.dtype == np.uint64:
            positions = np.minimum(positions, np.uint64(extent))
        wide = positions.astype(np.int64)
        wide = np.where(wide < 0, wide + extent, wide)
        inside &= (wide >= 0) & (wide < extent)
        places.append(wide)
    where = tuple(p[inside] for p in places)
    values = updates[inside] if index else updates
    if how == "update":
        result = data.copy()
        result[where] = values
        return result
    if how == "mean":
        total = in_64_bits(data).copy()
        np.add.at(total, where, values.astype(total.dtype))
        count = np.ones(data.shape, total.dtype)
        np.add.at(count, where, np.ones((), total.dtype))
        return np.asarray(divide(total, count)).astype(data.dtype)
    result = data.copy()
    _COMBINE[how].at(result, where, values)
    return result


# writes one update
Put = Callable[[Indices, te.Expr], None]


def _written_loops(
    data: te.Tensor,
    indices: te.Tensor,
    updates: te.Tensor,
    how: str,
    out: te.Spec,
    walk: Callable[[te.Builder, Put], None],
) -> te.Tensor:
    """Data with the updates that `walk` writes in order.

    Sums and products of narrow elements are accumulated in a wider type.
    """
    wide = _total_dtype(data.dtype) if how == "mean" else scalars.wide(data.dtype)
    apart = how == "mean" or (how in ("add", "mul") and wide != data.dtype)
    if not apart:
        wide = data.dtype

    def write(b: te.Builder, result: te.Buffer) -> None:
        totals = b.local(wide, data.shape, "totals") if apart else result
        counts = b.local(wide, data.shape, "counts") if how == "mean" else None
        with spread(b, data.shape) as at:
            b.store(totals, at, te.cast(data[at], wide))
            if counts is not None:
                b.store(counts, at, 1)

        def put(at: Indices, update: te.Expr) -> None:
            b.store(totals, at, _combined(how, totals[at], te.cast(update, wide)))
            if counts is not None:
                b.store(counts, at, counts[at] + 1)

        walk(b, put)
        if apart:
            with spread(b, data.shape) as at:
                total: te.Expr = totals[at]
                if counts is not None:
                    total = scalars.divide(total, counts[at])
                b.store(result, at, te.cast(total, data.dtype))

    inputs = [data, indices, updates]
    return te.procedure(inputs, [(out.shape, out.dtype)], write, "scatter")[0]


def _total_dtype(dtype: str) -> str:
    """The accumulator type of a mean."""
    if dtypes.is_integer(dtype):
        return "uint64" if dtype in dtypes.UNSIGNED else "int64"
    return scalars.wide(dtype)


def _combined(how: str, old: te.Expr, update: te.Expr) -> te.Expr:
    match how:
        case "add" | "mean":
            return old + update
        case "mul":
            return old * update
        case "min":
            return te.minimum(old, update)
        case "max":
            return te.maximum(old, update)
    return update


def _named(b: te.Builder, position: te.Expr, extent: te.Expr) -> tuple[te.Expr, te.Expr]:
    """The element of an index, and whether it is in range."""
    if position.dtype == "uint64":
        position = te.minimum(position, te.cast(extent, "uint64"))
    wide = b.let(te.cast(position, "int64"))
    named = b.let(te.select(wide < 0, wide + extent, wide))
    return named, (named >= 0) & (named < extent)


def _name(axis: int) -> str:
    """The name of an index in checks."""
    return f"an index along axis {axis}, counted {FROM_BACK},"


def _with_numbers(site: Site, mode: str, name: str, data: TensorType) -> None:
    site.require(
        mode in ("update", "min", "max") or data.dtype != "bool",
        f'`{name}` "{mode}" needs numbers',
        "numeric elements",
        str(data),
    )


# --- one index for each update -----------------------------------------------------------------


@attrs
class ScatterElementsAttrs(Attrs):
    """axis: the axis of the indices
    reduction: replace the elements or combine with them; a mean includes the element itself
    """

    axis: int = 0
    reduction: Literal["update", "add", "mul", "mean", "min", "max"] = "update"


def _scatter_elements_type(site: Site) -> Type | None:
    """The type of data; indices and updates have one shape, no larger than data off the axis."""
    site.require_elements(1, INTEGER)
    data, indices, updates = (site.tensor(i) for i in range(3))
    if data is None:
        return None
    rank = len(data.shape)
    chosen = site.axis(site.attrs.axis, rank)
    _with_numbers(site, site.attrs.reduction, "reduction", data)
    for index in (1, 2):
        site.tensor(index, rank)
    if indices is None or updates is None:
        return data
    site.require_same_dtype(data, updates)
    for axis, (a, b) in enumerate(zip(indices.shape, updates.shape, strict=True)):
        extent, whole = site.require_equal(a, b, f"extents of axis {axis}"), data.shape[axis]
        if axis != chosen:
            site.require_natural(
                dims.subtract(whole, extent),
                f"axis {axis} of indices is longer than that of data",
                f"{whole} or less",
                str(indices),
            )
    return data


def _scatter_elements(
    data: np.ndarray, indices: np.ndarray, updates: np.ndarray, axis: int, reduction: str
) -> np.ndarray:
    index: list[np.ndarray] = [*np.indices(indices.shape)]
    index[axis % data.ndim] = indices
    return _written(data, index, updates, reduction)


def _scatter_elements_loops(
    data: te.Tensor,
    indices: te.Tensor,
    updates: te.Tensor,
    axis: int,
    reduction: str,
    out: te.Spec,
) -> te.Tensor:
    axis %= data.rank

    def walk(b: te.Builder, put: Put) -> None:
        # updates move along the axis only: the axes before it are independent
        with spread(b, indices.shape[:axis]) as outer, nest(b, indices.shape[axis:]) as inner:
            source = (*outer, *inner)
            place, inside = _named(b, indices[source], data.shape[axis])
            b.expect(inside, te.index(indices[source]), data.shape[axis], _name(axis))
            with b.if_(inside):
                put((*outer, place, *inner[1:]), updates[source])

    return _written_loops(data, indices, updates, reduction, out, walk)


def _scatter_elements_gradient(site: Backward) -> Sequence[ArgumentGradient]:
    data, indices, _ = site.args
    axis, how = site.attrs.axis, site.attrs.reduction
    wide = build("cast", indices, dtype="int64")
    count = build("take", build("shape_of", data, dtype="int64"), const(axis), axis=0, mode="wrap")
    zero = const(0, "int64")
    from_front = build("where", build("less", wide, zero), wide + count, wide)
    inside = build(
        "logical_and", build("greater_equal", from_front, zero), build("less", from_front, count)
    )

    def read(value: Expr) -> Expr:
        return build("gather", value, from_front, axis=axis)

    def write(zeros: Expr, value: Expr, reduction: str) -> Expr:
        return build("scatter_elements", zeros, indices, value, axis=axis, reduction=reduction)

    return _scattered_gradients(site, how, read, write, inside)


def _scatter_nd_gradient(site: Backward) -> Sequence[ArgumentGradient]:
    data, indices, updates = site.args
    wide = build("cast", indices, dtype="int64")
    depth = site.tensor_type(indices).shape[0]
    rank = len(site.tensor_type(indices).shape)
    assert isinstance(depth, int)
    zero = const(0, "int64")
    shape = build("shape_of", data, dtype="int64")
    first = build("take", shape, const(np.arange(depth), "int64"), axis=0)
    counts = build("reshape", first, newshape=(depth, *[1] * (rank - 1)))
    from_front = build("where", build("less", wide, zero), wide + counts, wide)
    inside = build(
        "logical_and", build("greater_equal", from_front, zero), build("less", from_front, counts)
    )
    inside = build("all", inside, axis=(0,))
    rest = len(site.tensor_type(updates).shape) - (rank - 1)
    if rest:
        inside = build("expand_dims", inside, axis=rank - 1, num_newaxis=rest)

    def read(value: Expr) -> Expr:
        return build("gather_nd", value, from_front)

    def write(zeros: Expr, value: Expr, reduction: str) -> Expr:
        return build("scatter_nd", zeros, indices, value, mode=reduction)

    return _scattered_gradients(site, site.attrs.mode, read, write, inside)


def _scattered_gradients(
    site: Backward,
    how: str,
    read: Callable[[Expr], Expr],
    write: Callable[[Expr, Expr, str], Expr],
    inside: Expr,
) -> Sequence[ArgumentGradient]:
    """The gradients of data and updates; `read` gives the elements where updates are written, and
    `write` updates zeros."""
    data, _, updates = site.args
    data_like, zeros = build("zeros_like", data), build("zeros_like", updates)
    ones = build("ones_like", updates)

    def read_inside(value: Expr) -> Expr:
        return build("where", inside, read(value), zeros)

    gradient = site.gradient
    if how == "add":
        return [gradient, None, read_inside(gradient)]
    writes = write(data_like, ones, "add")  # the number of updates of each element
    untouched = build("equal", writes, build("zeros_like", writes))
    if how == "update":
        kept = build("where", untouched, gradient, build("zeros_like", gradient))
        numbers = numbered([updates], site.tensor_type)[0]
        last = write(data_like.astype("int64"), numbers, "update")
        is_last = build("equal", read(last), numbers)
        return [kept, None, build("where", is_last, read_inside(gradient), zeros)]
    if how == "mean":
        shared = gradient / (writes + build("ones_like", writes))
        return [shared, None, read_inside(shared)]
    if how == "mul":
        weighted = gradient * site.output
        return [weighted / data, None, read_inside(weighted) / updates]
    # the gradient of an extremum is shared by all that are it
    mine = build("equal", data, site.output).astype(site.type.dtype)
    theirs = build("equal", updates, read(site.output)).astype(site.type.dtype)
    shared = gradient / (mine + write(data_like, theirs, "add"))
    return [shared * mine, None, read_inside(shared) * theirs]


scatter_elements = define(
    "scatter_elements",
    doc="data with each update written to its own position, with the index along one axis. "
    "Negative indices count from the back; those out of range write nothing.",
    arguments=[
        ("data", "the input"),
        ("indices", "positions along the axis, integers"),
        ("updates", "the update of each index"),
    ],
    attrs=ScatterElementsAttrs,
    relation=_scatter_elements_type,
    reference=rounded_once(_scatter_elements),
    compute=_scatter_elements_loops,
    samples=[
        sample((4, 3), Tensor((2, 3), "int32", 0, 4), (2, 3)),
        sample((4, 3), Tensor((2, 5), "int64", -3, 3), (2, 5), axis=1, reduction="add"),
        sample((3, 4), Tensor((3, 6), "int32", 0, 4), (3, 6), axis=-1, reduction="mul"),
        sample((5,), Tensor((9,), "int32", -6, 7), (9,), reduction="mean", dtype="int8"),
        sample((5,), Tensor((9,), "uint8", 0, 7), (9,), reduction="mean", dtype="float16"),
        sample((5, 2), Tensor((9, 1), "int32", -9, 9), (9, 1), reduction="min", dtype="int32"),
        sample((5,), Tensor((9,), "int64", 0, 5), (9,), reduction="max", dtype="bfloat16"),
        sample((2, 2), Tensor((0, 2), "int32"), (0, 2), dtype="bool"),
    ],
    gradient=_scatter_elements_gradient,
)

# --- several indices for each place ------------------------------------------------------------


@attrs
class ScatterNdAttrs(Attrs):
    """mode: replace the elements or combine with them"""

    mode: Literal["update", "add", "mul", "min", "max"] = "update"


def _scatter_nd_type(site: Site) -> Type | None:
    """The type of data: indices (m, places…), updates (places…, *data.shape[m:])."""
    site.require_elements(1, INTEGER)
    site.require_rank(1, at_least=1)
    data, indices, updates = (site.tensor(i) for i in range(3))
    if data is None:
        return None
    _with_numbers(site, site.attrs.mode, "mode", data)
    if indices is None or updates is None:
        return data
    site.require_same_dtype(data, updates)
    first, *places = indices.shape
    # the ranks determine it as well as the extent, which may be dynamic
    count = len(places) + len(data.shape) - len(updates.shape)
    if not 0 <= count <= len(data.shape) or not site.unify_dims(first, count):
        site.fail(
            "argument `updates` has the wrong rank",
            "the places of indices, then the axes of data that they leave",
            f"{updates}, for {data} and {indices}",
        )
    site.expect(2, (*places, *data.shape[count:]), data.dtype)
    return data


def _scatter_nd(
    data: np.ndarray, indices: np.ndarray, updates: np.ndarray, mode: str
) -> np.ndarray:
    if len(indices):
        return _written(data, list(indices), updates, mode)
    if data.size == 0:
        return data
    # no indices: every update has the shape of data
    for row in updates.reshape(prod(indices.shape[1:]), 1, *data.shape):
        data = _written(data[None], [np.zeros(1, np.int64)], row, mode)[0]
    return data


def _scatter_nd_loops(
    data: te.Tensor, indices: te.Tensor, updates: te.Tensor, mode: str, out: te.Spec
) -> te.Tensor:
    count = indices.rank - 1 + data.rank - updates.rank  # of indices for each place

    def walk(b: te.Builder, put: Put) -> None:
        with nest(b, indices.shape[1:]) as number:
            named = [_named(b, indices[axis, *number], data.shape[axis]) for axis in range(count)]
            for axis, (_, inside) in enumerate(named):
                given = te.index(indices[axis, *number])
                b.expect(inside, given, data.shape[axis], _name(axis))
            with (
                b.if_(te.every(*(inside for _, inside in named))),
                nest(b, data.shape[count:]) as rest,
            ):
                put((*(place for place, _ in named), *rest), updates[*number, *rest])

    return _written_loops(data, indices, updates, mode, out, walk)


scatter_nd = define(
    "scatter_nd",
    doc="data with updates written at tuples of indices. Negative indices count from the back; "
    "those out of range write nothing.",
    arguments=[
        ("data", "the input"),
        ("indices", "integers: along the first axis the indices of an element"),
        ("updates", "the update of each element"),
    ],
    attrs=ScatterNdAttrs,
    relation=_scatter_nd_type,
    reference=rounded_once(_scatter_nd),
    compute=_scatter_nd_loops,
    samples=[
        sample((4, 3), Tensor((2, 5), "int32", 0, 3), (5,)),
        sample((4, 3), Tensor((1, 6), "int64", -5, 5), (6, 3), mode="add", dtype="int8"),
        sample((2, 3, 4), Tensor((2, 2, 5), "int32", 0, 2), (2, 5, 4), mode="mul"),
        sample((6,), Tensor((1, 9), "int32", 0, 6), (9,), mode="min", dtype="float16"),
        sample((6,), Tensor((1, 9), "uint8", 0, 8), (9,), mode="max", dtype="int32"),
        sample((2, 3), Tensor((2,), "int32", 0, 2), (), mode="add"),
        sample((2,), Tensor((0, 3), "int32"), (3, 2), mode="add", dtype="int32"),
    ],
    gradient=_scatter_nd_gradient,
)
