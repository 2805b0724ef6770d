"""take, gather, gather_nd and adv_index.

Indices are clamped to the axis, or wrapped on request. An axis without elements is an error, unless
there are no indices. `check_indices` makes every index out of range an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from relay import dtypes, te, tree
from relay.errors import EvaluationError
from relay.ir import dims
from relay.ir.attrs import Attrs, attrs
from relay.ir.dims import Dim
from relay.ir.expr import Call, Expr, Tuple, const
from relay.ir.types import TensorType, Type
from relay.op.building.elements import moved, place, size, stretched
from relay.op.facts import Precision, Trait
from relay.op.gradient_rules import (
    ArgumentGradient,
    Backward,
    added_at,
    build,
    flat_row,
    numbered,
    scattering,
)
from relay.op.opdef import FusionKind, Selection, Tensor, define, sample
from relay.op.relations import broadcast_types
from relay.op.site import INTEGER, Site

# --- take --------------------------------------------------------------------------------------


@attrs
class TakeAttrs(Attrs):
    """axis: the axis that indices select from; None flattens data first
    batch_dims: the number of leading axes that data and indices share
    mode: indices out of range are clamped ("clip") or wrapped ("wrap"); "fast" assumes that there
    are none, and clamps like "clip"
    """

    axis: int | None = None
    batch_dims: int = 0
    mode: Literal["clip", "wrap", "fast"] = "clip"


def _require_something(
    site: Site, data: TensorType, axes: Sequence[int], indices: Sequence[Dim]
) -> None:
    """The axes that indices select from must have elements, unless there are no indices."""
    for axis in axes:
        site.require_some(
            data.shape[axis],
            indices,
            f"indices select from axis {axis}, which has no elements",
            "an axis of extent 1 or more, or no indices",
            " and ".join(map(str, site.args)),
        )


def _take_type(site: Site) -> Type | None:
    """data[:axis] + indices[batch_dims:] + data[axis + 1:]"""
    site.require_elements(1, INTEGER)
    if (operands := site.tensors()) is None:
        return None
    data, indices = operands
    known: TakeAttrs = site.attrs
    if known.axis is None:
        site.require(
            known.batch_dims == 0, "`batch_dims` needs an axis", "0", str(known.batch_dims)
        )
        _require_something(site, data, range(len(data.shape)), indices.shape)
        return TensorType(indices.shape, data.dtype)
    axis = site.axis(known.axis, len(data.shape))
    _require_something(site, data, [axis], indices.shape)
    rank = len(indices.shape)
    shared = known.batch_dims + rank if known.batch_dims < 0 else known.batch_dims
    site.require(
        0 <= shared <= min(axis, rank),
        "`batch_dims` is out of range",
        f"at most the axis, {axis}, and the rank of indices, {rank}",
        f"batch_dims = {known.batch_dims}",
    )
    batch = [
        site.require_equal(a, b, f"batch extents of axis {i}")
        for i, (a, b) in enumerate(zip(data.shape[:shared], indices.shape[:shared], strict=True))
    ]
    shape = (*batch, *data.shape[shared:axis], *indices.shape[shared:], *data.shape[axis + 1 :])
    return TensorType(shape, data.dtype)


def _positions(indices: np.ndarray, extent: int, mode: str) -> np.ndarray:
    """Indices clamped to or wrapped around an axis."""
    if extent == 0 and indices.size:
        raise EvaluationError.of(
            "an index tensor selects from an axis without elements",
            expected="an axis of extent 1 or more, or no indices",
            found=f"{indices.size} indices",
        )
    wide = indices if indices.dtype == np.uint64 else indices.astype(np.int64)
    number = wide.dtype.type
    if mode == "wrap":
        wide = wide % number(max(extent, 1))
    inside: np.ndarray = np.clip(wide, number(0), number(max(extent - 1, 0)))
    return inside.astype(np.int64, copy=False)


def _take(
    data: np.ndarray, indices: np.ndarray, axis: int | None, batch_dims: int, mode: str
) -> np.ndarray:
    if axis is None:
        data, axis = data.reshape(-1), 0
    axis %= data.ndim
    shared = batch_dims % indices.ndim if batch_dims < 0 else batch_dims
    positions = _positions(indices, data.shape[axis], mode)
    if shared == 0:
        return np.take(data, positions, axis)
    batch = data.shape[:shared]
    count = int(np.prod(batch))
    rows = zip(
        data.reshape(count, *data.shape[shared:]),
        positions.reshape(count, *indices.shape[shared:]),
        strict=True,
    )
    taken = [np.take(row, chosen, axis - shared) for row, chosen in rows]
    tail = (*data.shape[shared:axis], *indices.shape[shared:], *data.shape[axis + 1 :])
    return np.array(taken, data.dtype).reshape(*batch, *tail)


def inside(index: te.Expr, extent: te.Expr, mode: str = "clip") -> te.Expr:
    """An index clamped to or wrapped around an axis."""
    # only uint64 may exceed int64
    wide = index if index.dtype == "uint64" else te.index(index)
    if mode == "wrap":
        return te.index(wide % te.cast(extent, wide.dtype))
    return te.index(te.minimum(te.maximum(wide, 0), te.cast(extent - 1, wide.dtype)))


def _take_compute(
    data: te.Tensor,
    indices: te.Tensor,
    out: te.Spec,
    axis: int | None,
    batch_dims: int,
    mode: str,
) -> te.Tensor:
    if axis is None:
        whole = size(data.shape)
        return moved(data, out, lambda *i: place(inside(indices[i], whole, mode), data.shape))
    along = axis % data.rank
    shared = batch_dims % indices.rank if batch_dims < 0 else batch_dims

    def source(*i: te.Expr) -> tuple[te.Expr, ...]:
        after = along + indices.rank - shared
        index = indices[(*i[:shared], *i[along:after])]
        return (*i[:along], inside(index, data.shape[along], mode), *i[after:])

    return moved(data, out, source)


def _taken(known: Any, types: Sequence[TensorType]) -> list[Selection]:
    """Wrapped indices may count from the back."""
    axes = () if known.axis is None else (known.axis % len(types[0].shape),)
    return [Selection(1, axes=axes, negative=known.mode == "wrap")]


_scattered = scattering()


def _take_gradient(site: Backward) -> Sequence[ArgumentGradient]:
    """The gradient of each row is added to it."""
    data, indices = site.args
    known, count = (
        site.attrs,
        site.tensor_type(data).shape[0] if site.tensor_type(data).shape else 0,
    )
    if known.axis != 0 or known.batch_dims != 0 or not isinstance(count, int):
        return _scattered(site)
    number = site.tensor_type(indices).dtype
    if known.mode == "wrap":
        wide = build("cast", indices, dtype="int64")
        indices = build("floor_mod", wide, const(max(count, 1), "int64"))
    elif number in dtypes.SIGNED:
        indices = _clamped(indices, count)
    rows = build("expand_dims", indices, axis=0)
    return [build("scatter_nd", build("zeros_like", data), rows, site.gradient, mode="add")]


def _clamped(indices: Expr, count: int) -> Expr:
    """Indices as the nearest ones that an axis has."""
    wide = build("cast", indices, dtype="int64")
    return build("clip", wide, a_min=0, a_max=max(count - 1, 0))


def _gather_gradient(site: Backward) -> Sequence[ArgumentGradient]:
    data, indices = site.args
    axis = site.attrs.axis or 0
    count = site.tensor_type(data).shape[axis]
    if not isinstance(count, int):
        return _scattered(site)
    zeros, where = build("zeros_like", data), _clamped(indices, count)
    added = build("scatter_elements", zeros, where, site.gradient, axis=axis, reduction="add")
    return [added]


def _gather_nd_gradient(site: Backward) -> Sequence[ArgumentGradient]:
    data, indices = site.args
    shape = site.tensor_type(data).shape
    depth = site.tensor_type(indices).shape[0]
    known = [extent for extent in shape if isinstance(extent, int)]
    if site.attrs.batch_dims or not isinstance(depth, int) or len(known) < len(shape):
        return _scattered(site)
    rank = len(site.tensor_type(indices).shape)
    last = const(np.reshape([d - 1 for d in known[:depth]], (depth, *[1] * (rank - 1))), "int64")
    where = build("maximum", build("cast", indices, dtype="int64"), const(0, "int64"))
    where = build("minimum", where, last)
    return [build("scatter_nd", build("zeros_like", data), where, site.gradient, mode="add")]


def _adv_index_gradient(site: Backward) -> Sequence[ArgumentGradient]:
    """The rule with data as an argument of its own."""
    data, *indices = site.fields(site.args[0])
    types = {data: site.field_types(site.args[0])[0]}
    moved = numbered([data], types.__getitem__)[0]
    places = tree.replace(site.call, args=(Tuple((moved, *indices)),))
    added = added_at(build("zeros_like", flat_row(data)), places, site.gradient)
    return [[build("reshape_like", added, data)]]


take = define(
    "take",
    doc="The elements at indices along an axis.",
    arguments=[("data", "the input"), ("indices", "positions, integers")],
    attrs=TakeAttrs,
    relation=_take_type,
    reference=_take,
    compute=_take_compute,
    selects=_taken,
    fusion=FusionKind.INJECTIVE,
    traits=Trait.MOVES,
    samples=[
        sample((4, 3), Tensor((2, 5), "int32", 0, 12)),
        sample((4, 3), Tensor((2, 5), "int64", -3, 7), axis=0),
        sample((4, 3), Tensor((2,), "int32", -9, 9), axis=-1, mode="wrap"),
        sample((4, 3), Tensor((), "uint8", 0, 4), axis=0, mode="fast"),
        sample((2, 4, 3), Tensor((2, 5), "int32", 0, 4), axis=1, batch_dims=1),
        sample((2, 4, 3), Tensor((2, 5), "int32", 0, 3), axis=2, batch_dims=-1, dtype="int32"),
    ],
    gradient=_take_gradient,
)

# --- gather ------------------------------------------------------------------------------------


@attrs
class GatherAttrs(Attrs):
    """axis: the axis that indices select from; None is the first"""

    axis: int | None = None


def _gather_type(site: Site) -> Type | None:
    """The shape of indices, which is no larger than that of data off the axis."""
    site.require_elements(1, INTEGER)
    if (operands := site.tensors()) is None:
        return None
    data, indices = operands
    rank = len(data.shape)
    site.tensor(1, rank)
    selected = site.axis(site.attrs.axis or 0, rank)
    _require_something(site, data, [selected], indices.shape)
    for axis, (whole, extent) in enumerate(zip(data.shape, indices.shape, strict=True)):
        if axis != selected:
            site.require_natural(
                dims.subtract(whole, extent),
                f"axis {axis} of indices is longer than that of data",
                f"{whole} or less",
                str(indices),
            )
    return TensorType(indices.shape, data.dtype)


def _gather(data: np.ndarray, indices: np.ndarray, axis: int | None) -> np.ndarray:
    along = (axis or 0) % data.ndim
    near = tuple(
        slice(None) if a == along else slice(extent) for a, extent in enumerate(indices.shape)
    )
    return np.take_along_axis(data[near], _positions(indices, data.shape[along], "clip"), along)


def _gather_compute(
    data: te.Tensor, indices: te.Tensor, out: te.Spec, axis: int | None
) -> te.Tensor:
    along = (axis or 0) % data.rank
    return moved(
        data,
        out,
        lambda *i: (*i[:along], inside(indices[i], data.shape[along]), *i[along + 1 :]),
    )


def gather(data: Expr, axis: int, indices: Expr) -> Call:
    """result[i, j] = data[indices[i, j], j] for axis 0, and so on for others."""
    return GATHER(data, indices, axis=axis)


GATHER = define(
    "gather",
    doc="For each position, the element of data at that position, with the index along one axis. "
    "Indices are clamped.",
    arguments=[("data", "the input"), ("indices", "positions along the axis, integers")],
    attrs=GatherAttrs,
    relation=_gather_type,
    reference=_gather,
    compute=_gather_compute,
    selects=lambda known, types: [Selection(1, axes=((known.axis or 0) % len(types[0].shape),))],
    fusion=FusionKind.INJECTIVE,
    traits=Trait.MOVES,
    helper=gather,
    samples=[
        sample((4, 3), Tensor((2, 3), "int32", 0, 4)),
        sample((4, 3), Tensor((4, 5), "int64", -2, 5), axis=-1, dtype="int32"),
        sample((4, 3, 2), Tensor((2, 5, 1), "int64", 0, 3), axis=1, dtype="float16"),
    ],
    gradient=_gather_gradient,
)

# --- gather_nd and adv_index ---------------------------------------------------------------------


@attrs
class GatherNdAttrs(Attrs):
    """batch_dims: the number of leading axes that data and the result share
    index_rank: the number of indices per element, if the extent of indices is dynamic
    """

    batch_dims: int = 0
    index_rank: int | None = None


def _gather_nd_type(site: Site) -> Type | None:
    """Indices (m, places…): places… + data[batch_dims + m:]"""
    site.require_elements(1, INTEGER)
    site.require_rank(1, at_least=1)
    if (operands := site.tensors()) is None:
        return None
    data, indices = operands
    known: GatherNdAttrs = site.attrs
    count, *places = indices.shape
    if known.index_rank is not None:
        count = site.require_equal(known.index_rank, count, "`index_rank` and first extents")
    if not isinstance(count, int):
        site.fail(
            "how many indices name a place must be known, since the rank of the result depends "
            "on it",
            "a number as the first extent of indices",
            str(indices),
            "say it with `index_rank`",
        )
    shared = known.batch_dims
    site.require(
        0 <= shared <= min(len(places), len(data.shape)),
        "`batch_dims` is out of range",
        f"at most {min(len(places), len(data.shape))}",
        f"batch_dims = {shared}",
    )
    site.require(
        shared + count <= len(data.shape),
        "more indices than axes",
        f"at most {len(data.shape) - shared} indices for {data}",
        str(indices),
    )
    _require_something(site, data, range(shared, shared + count), places)
    for axis in range(shared):
        places[axis] = site.require_equal(
            places[axis], data.shape[axis], f"batch extents of axis {axis}"
        )
    return TensorType((*places, *data.shape[shared + count :]), data.dtype)


def _gather_nd(
    data: np.ndarray, indices: np.ndarray, batch_dims: int, index_rank: int | None
) -> Any:
    count, *places = indices.shape
    named = [
        _positions(indices[i], data.shape[batch_dims + i], "clip").reshape(places)
        for i in range(count)
    ]
    batch = [
        np.broadcast_to(np.arange(d).reshape(-1, *(1,) * (len(places) - 1 - axis)), places)
        for axis, d in enumerate(places[:batch_dims])
    ]
    if not batch and not named:
        return np.broadcast_to(data, (*places, *data.shape))
    return data[(*batch, *named)]


def _gather_nd_compute(
    data: te.Tensor,
    indices: te.Tensor,
    out: te.Spec,
    batch_dims: int,
    index_rank: int | None,
) -> te.Tensor:
    count = indices.extents[0] if index_rank is None else index_rank

    def source(*i: te.Expr) -> list[te.Expr]:
        named, rest = i[: indices.rank - 1], i[indices.rank - 1 :]
        chosen = [inside(indices[(k, *named)], data.shape[batch_dims + k]) for k in range(count)]
        return [*i[:batch_dims], *chosen, *rest]

    return moved(data, out, source)


def _gathered(known: Any, types: Sequence[TensorType]) -> list[Selection]:
    count = types[1].shape[0] if known.index_rank is None else known.index_rank
    assert isinstance(count, int)
    axes = tuple(range(known.batch_dims, known.batch_dims + count))
    return [Selection(1, axes=axes)] if axes else []


gather_nd = define(
    "gather_nd",
    doc="The elements, or slices of the last axes, at tuples of indices. Indices are clamped.",
    arguments=[
        ("data", "the input"),
        ("indices", "integers: along the first axis the indices of an element"),
    ],
    attrs=GatherNdAttrs,
    relation=_gather_nd_type,
    reference=_gather_nd,
    compute=_gather_nd_compute,
    selects=_gathered,
    fusion=FusionKind.INJECTIVE,
    traits=Trait.MOVES,
    samples=[
        sample((4, 3), Tensor((2, 5), "int32", 0, 4)),
        sample((4, 3, 2), Tensor((2, 2, 3), "int64", -1, 4), dtype="int32"),
        sample((4, 3, 2), Tensor((1, 5), "int32", 0, 4)),
        sample((2, 4, 3), Tensor((1, 2, 5), "int32", 0, 4), batch_dims=1, dtype="float16"),
        sample((2, 3, 4), Tensor((1, 2, 3), "uint8", 0, 4), batch_dims=2, index_rank=1),
        sample((2, 3), Tensor((2,), "int32", 0, 2), index_rank=2),
        sample((2, 3), Tensor((0, 2), "int32"), dtype="bool"),
    ],
    gradient=_gather_nd_gradient,
)


def _adv_index_type(site: Site) -> Type | None:
    """The broadcast of the indices + data[number of indices:]"""
    if (parts := site.tensor_tuple(0)) is None:
        return None
    site.require(len(parts) > 1, "there are no indices", "(data, indices, …)", str(site.args[0]))
    data, *indices = parts
    for number, index in enumerate(indices, 1):
        site.require(
            index.dtype in INTEGER.allowed,
            f"part {number} of argument `inputs` has the wrong element type",
            "integers",
            str(index),
        )
    site.require(
        len(indices) <= len(data.shape),
        "more indices than axes",
        f"at most {len(data.shape)}",
        str(len(indices)),
    )
    places = broadcast_types(site, *indices).shape
    _require_something(site, data, range(len(indices)), places)
    return TensorType((*places, *data.shape[len(indices) :]), data.dtype)


def _adv_index(inputs: tuple[np.ndarray, ...]) -> Any:
    data, *indices = inputs
    named = []
    for index, extent in zip(np.broadcast_arrays(*indices), data.shape, strict=False):
        from_front = index
        if index.dtype.kind == "i":
            wide = index.astype(np.int64)
            from_front = np.where(wide < 0, wide + extent, wide)
        named.append(_positions(from_front, extent, "clip"))
    return data[tuple(named)]


def _adv_index_compute(inputs: tuple[te.Tensor, ...], out: te.Spec) -> te.Tensor:
    data, *indices = inputs
    rank = max(index.rank for index in indices)

    def position(index: te.Expr, extent: te.Expr) -> te.Expr:
        if index.dtype in dtypes.SIGNED:
            wide = te.index(index)
            index = te.select(wide < 0, wide + extent, wide)
        return inside(index, extent)

    def source(*i: te.Expr) -> list[te.Expr]:
        named = [stretched(index, i[:rank], out.shape[:rank]) for index in indices]
        chosen = [position(index, d) for index, d in zip(named, data.shape, strict=False)]
        return [*chosen, *i[rank:]]

    return moved(data, out, source)


adv_index = define(
    "adv_index",
    doc="The elements, or slices of the last axes, at index tensors for the first axes, which are "
    "broadcast. Negative indices count from the back; indices out of range are clamped.",
    arguments=[("inputs", "a tuple of the data and of index tensors")],
    relation=_adv_index_type,
    reference=_adv_index,
    compute=_adv_index_compute,
    selects=lambda known, types: [
        Selection(number, axes=(number - 1,), negative=True) for number in range(1, len(types))
    ],
    fusion=FusionKind.INJECTIVE,
    precision=Precision.FOLLOW,
    samples=[
        sample([(4, 3), Tensor((5,), "int32", -4, 4)]),
        sample([(4, 3), Tensor((2, 1), "int64", 0, 4), Tensor((3,), "int32", -5, 5)]),
        sample([(2, 3, 4), Tensor((), "int32", 0, 2), Tensor((2,), "uint8", 0, 3)], dtype="int8"),
        sample([(2, 3), Tensor((0,), "int32")], dtype="bool"),
    ],
    gradient=_adv_index_gradient,
)
