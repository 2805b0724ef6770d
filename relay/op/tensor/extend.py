"""broadcast_to, tile, repeat and meshgrid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from relay import te
from relay.errors import RelayError
from relay.ir import dims
from relay.ir.attrs import Attrs, attrs
from relay.ir.expr import Call, Expr, Tuple, TupleWrapper
from relay.ir.types import TensorType, TupleType, Type
from relay.op.building.elements import moved, place, stretched_index
from relay.op.facts import Precision, Trait
from relay.op.gradient_rules import Backward, build, only_first, scattering
from relay.op.known import is_known
from relay.op.opdef import DType, FusionKind, Tensor, define, get, sample
from relay.op.relations import require_broadcasts_to, size
from relay.op.site import Site
from relay.op.tensor.collapse import collapse_sum_like

# --- broadcasting ------------------------------------------------------------------------------


@attrs
class BroadcastToAttrs(Attrs):
    """shape: the shape of the result
    dtype: not used; the element type is that of data
    """

    shape: tuple[int, ...]
    dtype: DType | None = None


def _broadcast_to_type(site: Site) -> Type | None:
    """The requested shape, which data must broadcast to."""
    if (data := site.tensor(0)) is None:
        return None
    require_broadcasts_to(site, data, site.attrs.shape)
    return TensorType(site.attrs.shape, data.dtype)


def broadcast(data: te.Tensor, *_: te.Tensor, out: te.Spec, **__: Any) -> te.Tensor:
    """Broadcast data to the shape of `out`."""
    return moved(data, out, lambda *i: stretched_index(data.shape, i, out.shape))


def broadcast_to(data: Expr, shape: int | Sequence[int] | Expr) -> Call:
    """Broadcast data to a shape, which may be a vector."""
    if is_known(shape):
        return BROADCAST_TO(data, shape=shape)
    return get("dyn.broadcast_to")(data, shape)


BROADCAST_TO = define(
    "broadcast_to",
    doc="data broadcast to a shape.",
    arguments=[("data", "the input")],
    attrs=BroadcastToAttrs,
    relation=_broadcast_to_type,
    reference=lambda data, shape, dtype: np.broadcast_to(data, shape),
    compute=broadcast,
    fusion=FusionKind.BROADCAST,
    gradient=lambda site: [collapse_sum_like(site.gradient, site.args[0])],
    traits=Trait.MOVES,
    precision=Precision.NEVER,
    helper=broadcast_to,
    samples=[
        sample((3, 1), shape=(2, 3, 4)),
        sample((), shape=(2,), dtype="int32"),
        sample((1,), shape=(0,), attrs={"dtype": "float32"}),
    ],
)


def _broadcast_to_like_type(site: Site) -> Type | None:
    """The shape of broadcast_type, which data must broadcast to, with the elements of data."""
    if (operands := site.tensors()) is None:
        return None
    data, like = operands
    require_broadcasts_to(site, data, like.shape)
    return TensorType(like.shape, data.dtype)


broadcast_to_like = define(
    "broadcast_to_like",
    doc="data broadcast to the shape of another tensor.",
    arguments=[("data", "the input"), ("broadcast_type", "a tensor of the wanted shape")],
    relation=_broadcast_to_like_type,
    reference=lambda data, like: np.broadcast_to(data, like.shape),
    compute=broadcast,
    fusion=FusionKind.BROADCAST,
    traits=Trait.MOVES,
    samples=[
        sample((3, 1), (2, 3, 4)),
        sample((), Tensor((5,), "float64"), dtype="int32"),
        sample((4, 1), (4, 0), dtype="bfloat16"),
    ],
    gradient=only_first(lambda site: collapse_sum_like(site.gradient, site.args[0])),
)

# --- repetition --------------------------------------------------------------------------------


@attrs
class TileAttrs(Attrs):
    """reps: the repetitions along each axis, of the last axes if there are fewer"""

    reps: tuple[int, ...]


def _tile_type(site: Site) -> Type | None:
    """Extents times repetitions, both padded with ones in front."""
    if (data := site.tensor(0)) is None:
        return None
    reps = site.attrs.reps
    site.require(
        all(r >= 0 for r in reps), "`reps` has a negative value", "0 or more", f"reps = {reps}"
    )
    rank = max(len(reps), len(data.shape))
    extents = (1,) * (rank - len(data.shape)) + data.shape
    counts = (1,) * (rank - len(reps)) + reps
    return TensorType(tuple(map(dims.multiply, extents, counts)), data.dtype)


def tiled(data: te.Tensor, *_: te.Tensor, out: te.Spec, **__: Any) -> te.Tensor:
    """Tile data to the shape of `out`."""
    extra = len(out.shape) - data.rank

    def source(*i: te.Expr) -> list[te.Expr]:
        axes = zip(i[extra:], data.shape, out.shape[extra:], strict=True)
        return [k if extent == whole else k % extent for k, extent, whole in axes]

    return moved(data, out, source)


def tile(data: Expr, reps: int | Sequence[int] | Expr) -> Call:
    """Tile data; the repetitions may be a vector."""
    if is_known(reps):
        return TILE(data, reps=reps)
    return get("dyn.tile")(data, reps)


TILE = define(
    "tile",
    doc="data repeated along each axis.",
    arguments=[("data", "the input")],
    attrs=TileAttrs,
    relation=_tile_type,
    reference=lambda data, reps: np.tile(data, reps),
    compute=tiled,
    fusion=FusionKind.BROADCAST,
    traits=Trait.MOVES,
    helper=tile,
    samples=[
        sample((2, 3), reps=(2, 1)),
        sample((3,), reps=(2, 4), dtype="int32"),
        sample((2, 3, 1), reps=2),
    ],
    gradient=scattering(),
)


@attrs
class RepeatAttrs(Attrs):
    """repeats: the repetitions of each element
    axis: the axis of repetition; None flattens data first
    """

    repeats: int
    axis: int | None = None


def _repeat_type(site: Site) -> Type | None:
    """The extent of the axis times `repeats`."""
    if (data := site.tensor(0)) is None:
        return None
    repeats = site.attrs.repeats
    site.require(repeats >= 0, "`repeats` is negative", "0 or more", f"repeats = {repeats}")
    shape = [size(data.shape)] if site.attrs.axis is None else list(data.shape)
    axis = 0 if site.attrs.axis is None else site.axis(site.attrs.axis, len(shape))
    shape[axis] = dims.multiply(shape[axis], repeats)
    return TensorType(tuple(shape), data.dtype)


def _repeat_compute(data: te.Tensor, out: te.Spec, repeats: int, axis: int | None) -> te.Tensor:
    if axis is None:
        return moved(data, out, lambda i: place(i // repeats, data.shape))
    along = axis % data.rank
    return moved(data, out, lambda *i: (*i[:along], i[along] // repeats, *i[along + 1 :]))


repeat = define(
    "repeat",
    doc="Each element repeated along an axis.",
    arguments=[("data", "the input")],
    attrs=RepeatAttrs,
    relation=_repeat_type,
    reference=lambda data, repeats, axis: np.repeat(data, repeats, axis),
    compute=_repeat_compute,
    fusion=FusionKind.BROADCAST,
    traits=Trait.MOVES,
    samples=[
        sample((2, 3), repeats=2, axis=0),
        sample((2, 3), repeats=3, axis=-1, dtype="int32"),
        sample((2, 3), repeats=2),
    ],
    gradient=scattering(),
)

# --- coordinates -------------------------------------------------------------------------------


@attrs
class MeshgridAttrs(Attrs):
    """indexing: "ij" has the axes in the order of the tensors, "xy" swaps the first two"""

    indexing: Literal["ij", "xy"] = "ij"


def _meshgrid_type(site: Site) -> Type | None:
    """A tensor for each argument, with an axis for every argument."""
    if (parts := site.tensor_tuple(0)) is None:
        return None
    site.require(bool(parts), "there are no tensors", "at least one", "()")
    site.require_same_dtype(*parts)
    for part in parts:
        site.require(len(part.shape) <= 1, "a tensor has several axes", "rank 0 or 1", str(part))
    shape = [part.shape[0] if part.shape else 1 for part in parts]
    if site.attrs.indexing == "xy":
        shape[:2] = shape[1::-1] if len(shape) > 1 else shape
    return TupleType((TensorType(tuple(shape), parts[0].dtype),) * len(parts))


def _meshgrid_compute(
    data: tuple[te.Tensor, ...], out: tuple[te.Spec, ...], indexing: str
) -> tuple[te.Tensor, ...]:
    axes = list(range(len(data)))
    if indexing == "xy" and len(axes) > 1:
        axes[:2] = 1, 0

    def along(part: te.Tensor, spec: te.Spec, axis: int) -> te.Tensor:
        return moved(part, spec, lambda *i: i[axis : axis + part.rank])

    return tuple(map(along, data, out, axes))


def meshgrid(data: Sequence[Expr] | Tuple | TupleWrapper, indexing: str = "ij") -> TupleWrapper:
    """The coordinate tensors of a grid."""
    if not isinstance(data, Sequence | Tuple | TupleWrapper):
        raise RelayError(f"`meshgrid` takes several tensors, found {type(data).__name__}")
    return TupleWrapper(MESHGRID(data, indexing=indexing), len(data))


def _meshgrid_gradient(site: Backward) -> Sequence[Sequence[Expr | None]]:
    """The sums over the axes of the other coordinates."""
    (data,) = site.args
    types = site.field_types(data)
    axes = list(range(len(types)))
    if site.attrs.indexing == "xy" and len(axes) > 1:
        axes[:2] = 1, 0
    found: list[Expr | None] = []
    for gradient, part, axis in zip(site.gradients, types, axes, strict=True):
        if gradient is not None:
            kept = (axis,) if part.shape else ()
            gradient = build("sum", gradient, axis=kept, exclude=True)
            gradient = gradient if part.shape else build("reshape", gradient, newshape=())
        found.append(gradient)
    return [found]


MESHGRID = define(
    "meshgrid",
    doc="The coordinates of all points of a grid: each vector or scalar broadcast along the axes "
    "of the others.",
    arguments=[("data", "a tuple of the coordinates along each axis")],
    attrs=MeshgridAttrs,
    relation=_meshgrid_type,
    reference=lambda data, indexing: tuple(np.meshgrid(*data, indexing=indexing)),
    compute=_meshgrid_compute,
    fusion=FusionKind.INJECTIVE,
    helper=meshgrid,
    samples=[
        sample([(2,), (3,), (4,)]),
        sample([(2,), (3,), ()], indexing="xy", dtype="int32"),
        sample([(5,)], indexing="xy", dtype="bool"),
        sample([(2,), (0,)], dtype="bfloat16"),
    ],
    gradient=_meshgrid_gradient,
)
