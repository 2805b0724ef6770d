"""More elements than before: axes stretched, tiled, repeated, and edges padded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from relay import dtypes
from relay.ir import dims
from relay.ir.attrs import Attrs, attrs
from relay.ir.dims import Dim
from relay.ir.expr import Call, Expr, TupleWrapper, const
from relay.ir.types import TensorType, Type
from relay.op.numerics import convert
from relay.op.opdef import DType, FusionKind, Tensor, define, sample
from relay.op.relations import require_broadcasts_to, size
from relay.op.site import Site

# --- broadcasting ------------------------------------------------------------------------------


@attrs
class BroadcastToAttrs(Attrs):
    """shape: the shape of the result
    dtype: not used; the element type is that of data
    """

    shape: tuple[int, ...]
    dtype: DType | None = None


def _broadcast_to_type(site: Site) -> Type | None:
    """The shape asked for, which data must broadcast to."""
    if (data := site.tensor(0)) is None:
        return None
    require_broadcasts_to(site, data, site.attrs.shape)
    return TensorType(site.attrs.shape, data.dtype)


broadcast_to = define(
    "broadcast_to",
    doc="Axes of extent 1 stretched, and new ones put in front, to give a shape.",
    arguments=[("data", "the input")],
    attrs=BroadcastToAttrs,
    relation=_broadcast_to_type,
    reference=lambda data, shape, dtype: np.broadcast_to(data, shape),
    fusion=FusionKind.BROADCAST,
    samples=[
        sample((3, 1), shape=(2, 3, 4)),
        sample((), shape=(2,), dtype="int32"),
        sample((1,), shape=(0,), attrs={"dtype": "float32"}),
    ],
)

# --- repetition --------------------------------------------------------------------------------


@attrs
class TileAttrs(Attrs):
    """reps: how often data is laid out along each axis, the last axes if there are fewer"""

    reps: tuple[int, ...]


def _tile_type(site: Site) -> Type | None:
    """Extents times repetitions, both filled up with ones in front."""
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


tile = define(
    "tile",
    doc="Copies of data side by side.",
    arguments=[("data", "the input")],
    attrs=TileAttrs,
    relation=_tile_type,
    reference=lambda data, reps: np.tile(data, reps),
    fusion=FusionKind.BROADCAST,
    samples=[
        sample((2, 3), reps=(2, 1)),
        sample((3,), reps=(2, 4), dtype="int32"),
        sample((2, 3, 1), reps=2),
    ],
)


@attrs
class RepeatAttrs(Attrs):
    """repeats: how often each element stands in the result
    axis: the axis along which they stand; None flattens data first
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


repeat = define(
    "repeat",
    doc="Each element several times in a row.",
    arguments=[("data", "the input")],
    attrs=RepeatAttrs,
    relation=_repeat_type,
    reference=lambda data, repeats, axis: np.repeat(data, repeats, axis),
    fusion=FusionKind.BROADCAST,
    samples=[
        sample((2, 3), repeats=2, axis=0),
        sample((2, 3), repeats=3, axis=-1, dtype="int32"),
        sample((2, 3), repeats=2),
    ],
)

# --- padding -----------------------------------------------------------------------------------


@attrs
class PadAttrs(Attrs):
    """pad_width: for each axis, how many elements stand before and after
    pad_mode: "constant" is the value given, "edge" the nearest element, "reflect" the elements
    mirrored at the edge, which is not repeated
    """

    pad_width: tuple[tuple[int, int], ...]
    pad_mode: Literal["constant", "edge", "reflect"] = "constant"


def _pad_type(site: Site) -> Type | None:
    """Each extent grows by its two widths."""
    site.tensor(1, rank=0)
    if (data := site.tensor(0)) is None:
        return None
    widths = site.attrs.pad_width
    site.require(
        len(widths) == len(data.shape),
        "`pad_width` does not fit the rank",
        f"{len(data.shape)} pairs",
        f"pad_width = {widths}",
    )
    shape: list[Dim] = []
    for axis, (extent, (before, after)) in enumerate(zip(data.shape, widths, strict=True)):
        if before < 0 or after < 0:
            site.fail("`pad_width` has a negative value", "0 or more", f"pad_width = {widths}")
        needed = {"constant": 0, "edge": min(1, before + after)}.get(
            site.attrs.pad_mode, max(before, after) + 1
        )
        if isinstance(extent, int) and extent < needed:
            site.fail(
                f"axis {axis} is too short to be padded with its own elements",
                f"{needed} elements or more",
                str(data),
            )
        shape.append(dims.add(extent, before + after))
    return TensorType(tuple(shape), data.dtype)


def _pad(
    data: np.ndarray,
    pad_value: np.ndarray,
    pad_width: tuple[tuple[int, int], ...],
    pad_mode: Any,
) -> np.ndarray:
    if not pad_width:
        return data
    if pad_mode != "constant":
        return np.pad(data, pad_width, pad_mode)
    value = convert(pad_value, dtypes.canonical(data.dtype))
    shape = [before + d + after for d, (before, after) in zip(data.shape, pad_width, strict=True)]
    padded = np.full(shape, value, data.dtype)
    padded[tuple(slice(b, b + d) for d, (b, _) in zip(data.shape, pad_width, strict=True))] = data
    return padded


def pad(
    data: Expr,
    pad_width: Sequence[Sequence[int]],
    pad_value: Expr | float = 0,
    pad_mode: str = "constant",
) -> Call:
    """Data with elements before and after it along each axis; `pad_value` may be a number."""
    value = pad_value if isinstance(pad_value, Expr | TupleWrapper) else const(pad_value)
    return PAD(data, value, pad_width=pad_width, pad_mode=pad_mode)


PAD = define(
    "nn.pad",
    doc="data with elements before and after it along each axis. The value is converted to the "
    "element type of data, as `cast` does.",
    arguments=[("data", "the input"), ("pad_val", "the value in mode constant, a scalar")],
    attrs=PadAttrs,
    relation=_pad_type,
    reference=_pad,
    fusion=FusionKind.INJECTIVE,
    helper=pad,
    samples=[
        sample((2, 3), (), pad_width=((1, 2), (0, 3))),
        sample((2, 3), Tensor((), "float32"), dtype="int8", pad_width=((1, 0), (2, 2))),
        sample((2, 3), (), pad_width=((1, 0), (2, 2)), pad_mode="edge"),
        sample((3, 4), (), pad_width=((2, 1), (0, 3)), pad_mode="reflect"),
        sample((), (), pad_width=()),
    ],
)
