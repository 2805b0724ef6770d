"""expand_dims, squeeze, shape_of and ndarray_size."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from relay import dtypes, te
from relay.ir.attrs import Attrs, attrs
from relay.ir.expr import Call, Expr
from relay.ir.types import TensorType, Type
from relay.op.building import layout_rules
from relay.op.building.elements import filled, moved, size, without
from relay.op.facts import Precision, Trait
from relay.op.gradient_rules import DISCRETE
from relay.op.known import is_known
from relay.op.opdef import DType, FusionKind, define, get, sample
from relay.op.site import Site
from relay.op.tensor.reshape import reshape_gradient

# --- axes of extent 1 --------------------------------------------------------------------------


@attrs
class ExpandDimsAttrs(Attrs):
    """axis: the position of the new axes; negative counts from the back of the result
    num_newaxis: the number of new axes
    """

    axis: int
    num_newaxis: int = 1


def _expand_dims_type(site: Site) -> Type | None:
    """`num_newaxis` ones inserted at `axis`."""
    if (data := site.tensor(0)) is None:
        return None
    count = site.attrs.num_newaxis
    site.require(count >= 0, "`num_newaxis` is negative", "0 or more", str(count))
    axis = site.axis(site.attrs.axis, len(data.shape) + 1)
    return TensorType((*data.shape[:axis], *(1,) * count, *data.shape[axis:]), data.dtype)


def _expand_dims(data: np.ndarray, axis: int, num_newaxis: int) -> np.ndarray:
    axis %= data.ndim + 1
    return data.reshape((*data.shape[:axis], *(1,) * num_newaxis, *data.shape[axis:]))


def _expand_dims_compute(data: te.Tensor, out: te.Spec, axis: int, num_newaxis: int) -> te.Tensor:
    axis %= data.rank + 1
    return moved(data, out, lambda *i: without(i, range(axis, axis + num_newaxis)))


def expand_dims(data: Expr, axis: int | Expr, num_newaxis: int = 1) -> Call:
    """Insert axes of extent 1 at `axis`, which may be a scalar tensor."""
    if is_known(axis):
        return EXPAND_DIMS(data, axis=axis, num_newaxis=num_newaxis)
    return get("dyn.expand_dims")(data, axis, num_newaxis=num_newaxis)


EXPAND_DIMS = define(
    "expand_dims",
    doc="New axes of extent 1.",
    arguments=[("data", "the input")],
    attrs=ExpandDimsAttrs,
    relation=_expand_dims_type,
    reference=_expand_dims,
    compute=_expand_dims_compute,
    fusion=FusionKind.BROADCAST,
    gradient=reshape_gradient,
    traits=Trait.RESHAPES,
    helper=expand_dims,
    samples=[
        sample((2, 3), axis=1),
        sample((2, 3), axis=-1, num_newaxis=2),
        sample((), axis=0, dtype="bool"),
    ],
)


@attrs
class SqueezeAttrs(Attrs):
    """axis: the axes of extent 1 to remove, one or several; None is all"""

    axis: tuple[int, ...] | None = None


def _squeeze_type(site: Site) -> Type | None:
    """The shape without some axes of extent 1."""
    if (data := site.tensor(0)) is None:
        return None
    if site.attrs.axis is None:
        for axis, extent in enumerate(data.shape):
            if not isinstance(extent, int):
                site.fail(
                    f"axis {axis} may or may not have extent 1",
                    "extents that are numbers, or `axis`",
                    str(data),
                    "name the axes to drop with `axis`",
                )
        return TensorType(tuple(d for d in data.shape if d != 1), data.dtype)
    gone = site.axes(site.attrs.axis, len(data.shape))
    for axis in gone:
        if not site.unify_dims(data.shape[axis], 1):
            site.fail(f"axis {axis} is not of extent 1", "extent 1", str(data))
    return TensorType(tuple(d for axis, d in enumerate(data.shape) if axis not in gone), data.dtype)


def _squeeze_compute(data: te.Tensor, out: te.Spec, axis: Sequence[int] | None) -> te.Tensor:
    if axis is None:
        gone = {a for a, extent in enumerate(data.extents) if extent == 1}
    else:
        gone = {a % data.rank for a in axis}

    def source(*i: te.Expr) -> list[te.Expr]:
        rest = iter(i)
        return [te.index(0) if a in gone else next(rest) for a in range(data.rank)]

    return moved(data, out, source)


def squeeze(data: Expr, axis: int | Sequence[int] | Expr | None = None) -> Call:
    """Remove axes of extent 1: all of them, or those named, possibly by a tensor."""
    if is_known(axis):
        return SQUEEZE(data, axis=axis)
    return get("dyn.squeeze")(data, axis)


SQUEEZE = define(
    "squeeze",
    doc="data without axes of extent 1.",
    arguments=[("data", "the input")],
    attrs=SqueezeAttrs,
    relation=_squeeze_type,
    reference=lambda data, axis: np.squeeze(data, axis),
    compute=_squeeze_compute,
    fusion=FusionKind.INJECTIVE,
    layout=layout_rules.squeeze,
    gradient=reshape_gradient,
    traits=Trait.RESHAPES,
    helper=squeeze,
    samples=[
        sample((1, 3, 1), axis=(0, -1)),
        sample((1, 3, 1), axis=2, dtype="int32"),
        sample((1, 3, 1)),
    ],
)

# --- shapes as values --------------------------------------------------------------------------


@attrs
class ShapeQueryAttrs(Attrs):
    """dtype: the element type of the result; None is int32"""

    dtype: DType | None = None


def _shape_of_type(site: Site) -> Type | None:
    """One element per axis."""
    data = site.tensor(0)
    return None if data is None else TensorType((len(data.shape),), site.attrs.dtype or "int32")


def _shape_of_compute(data: te.Tensor, out: te.Spec, dtype: str | None) -> te.Tensor:
    def element(i: te.Expr) -> te.Expr:
        found: te.Expr = te.index(0)
        for axis, extent in reversed(list(enumerate(data.shape))):
            found = te.select(te.equal(i, axis), extent, found)
        return te.cast(found, out.dtype)

    return te.compute(out.shape, element)


def shape_of(data: Expr, dtype: str = "int32") -> Call:
    """The shape of a tensor, as a vector."""
    return SHAPE_OF(data, dtype=dtype)


SHAPE_OF = define(
    "shape_of",
    doc="The shape of data; that of a scalar is empty.",
    arguments=[("data", "the input")],
    attrs=ShapeQueryAttrs,
    relation=_shape_of_type,
    reference=lambda data, dtype: np.array(data.shape, dtypes.to_numpy(dtype or "int32")),
    compute=_shape_of_compute,
    precision=Precision.FOLLOW,
    helper=shape_of,
    samples=[sample((2, 3)), sample((4, 0), attrs={"dtype": "int64"}), sample(())],
    gradient=DISCRETE,
)


def _ndarray_size_type(site: Site) -> Type | None:
    """A scalar."""
    if site.tensor(0) is None:
        return None
    return TensorType((), site.attrs.dtype or "int32")


def ndarray_size(data: Expr, dtype: str = "int32") -> Call:
    """The number of elements of a tensor, as a scalar."""
    return NDARRAY_SIZE(data, dtype=dtype)


NDARRAY_SIZE = define(
    "ndarray_size",
    doc="The number of elements of data.",
    arguments=[("data", "the input")],
    attrs=ShapeQueryAttrs,
    relation=_ndarray_size_type,
    reference=lambda data, dtype: np.array(data.size, dtypes.to_numpy(dtype or "int32")),
    compute=lambda data, out, dtype: filled(out, size(data.shape)),
    fusion=FusionKind.INJECTIVE,
    precision=Precision.FOLLOW,
    helper=ndarray_size,
    samples=[sample((2, 3)), sample((4, 0), attrs={"dtype": "int64"}), sample(())],
    gradient=DISCRETE,
)
