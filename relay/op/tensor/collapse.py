"""Sums over broadcast axes: the gradients of broadcasting."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from relay import te
from relay.errors import VALUE, EvaluationError
from relay.ir import dims
from relay.ir.attrs import Attrs, attrs
from relay.ir.expr import Call, Constant, Expr
from relay.ir.types import TensorType, Type
from relay.op.building.numerics import rounded_once
from relay.op.building.scalars import widened
from relay.op.gradient_rules import build, only_first
from relay.op.known import as_tensor
from relay.op.opdef import FusionKind, define, sample
from relay.op.relations import require_broadcasts_to
from relay.op.site import INTEGER, NUMERIC, Site


def _collapse_type(site: Site) -> Type | None:
    """The shape of collapse_type, which must broadcast to that of data."""
    site.require_elements(0, NUMERIC)
    if (operands := site.tensors()) is None:
        return None
    data, target = operands
    require_broadcasts_to(site, target, data.shape)
    return TensorType(target.shape, data.dtype)


def collapse(data: np.ndarray, shape: tuple[int, ...]) -> Any:
    """The sum over the axes along which `shape` would be broadcast to the shape of data."""
    extra = data.ndim - len(shape)
    stretched = tuple(
        extra + axis for axis, d in enumerate(shape) if d == 1 and data.shape[extra + axis] != 1
    )
    axes = (*range(extra), *stretched)
    return data.sum(axes, dtype=data.dtype, keepdims=True).reshape(shape)


def _collapse_compute(data: te.Tensor, like: te.Tensor, out: te.Spec, **_: Any) -> te.Tensor:
    extra = data.rank - len(out.shape)
    over: list[te.Axis] = []
    steps: list[te.Axis | None] = []
    for axis, extent in enumerate(data.shape):
        kept = None if axis < extra else out.shape[axis - extra]
        if kept is not None and kept == extent:
            steps.append(None)
            continue
        # a dynamic extent decides at run time whether the axis is summed
        far = extent if kept is None else te.select(te.equal(kept, 1), extent, te.index(1))
        over.append(te.axis(far, f"k{axis}"))
        steps.append(over[-1])

    def element(*indices: te.Expr) -> te.Expr:
        places = (te.index(0),) * extra + indices
        whole = tuple(p if s is None else p + s for p, s in zip(places, steps, strict=True))
        return te.cast(te.sum(widened(data[whole]), over), out.dtype)

    return te.compute(out.shape, element)


collapse_sum_like = define(
    "collapse_sum_like",
    doc="The sum of data over the axes along which the other tensor would be broadcast; the "
    "gradient of broadcasting.",
    arguments=[("data", "the input"), ("collapse_type", "a tensor of the wanted shape")],
    relation=_collapse_type,
    reference=rounded_once(lambda data, like: collapse(data, like.shape)),
    compute=_collapse_compute,
    fusion=FusionKind.COMM_REDUCE,
    samples=[
        sample((2, 3, 4), (3, 1)),
        sample((2, 3), (2, 3), dtype="int32"),
        sample((4,), (), dtype="float16"),
    ],
    gradient=only_first(lambda site: build("broadcast_to_like", site.gradient, site.args[0])),
)


@attrs
class CollapseSumToAttrs(Attrs):
    """shape: the value of the argument, where it was known when the call was built; it is the
    shape of the result
    """

    shape: tuple[int, ...] | None = None


def _collapse_sum_to_type(site: Site) -> Type | None:
    """The requested shape: extents of data, or 1; dynamic if unknown."""
    site.require_elements(0, NUMERIC)
    site.require_elements(1, INTEGER)
    data, shape = site.tensor(0), site.tensor(1, rank=1)
    if data is None or shape is None:
        return None
    known = site.attrs.shape
    if known is not None:
        site.require_equal(shape.shape[0], len(known), "extents in `shape`")
        for extent in known:
            site.require(extent >= 0, "an extent is negative", "0 or more", str(extent))
        require_broadcasts_to(site, TensorType(known, data.dtype), data.shape)
        return TensorType(known, data.dtype)
    count = shape.shape[0]
    if not isinstance(count, int):
        site.fail(
            "the rank of the result is not known", "a number of extents in `shape`", str(shape)
        )
    site.require(
        count <= len(data.shape), "`shape` has too many extents", f"{len(data.shape)}", str(count)
    )
    kept = data.shape[len(data.shape) - count :]
    return TensorType(tuple(1 if d == 1 else dims.ANY for d in kept), data.dtype)


def _collapse_sum_to(
    data: np.ndarray, wanted: np.ndarray, shape: tuple[int, ...] | None = None
) -> Any:
    return collapse(data, _collapse_sum_to_shape(data, wanted, shape))


def _collapse_sum_to_shape(
    data: np.ndarray, wanted: np.ndarray, shape: tuple[int, ...] | None = None
) -> tuple[int, ...]:
    extents = tuple(wanted.tolist())
    if shape is not None and extents != shape:
        raise EvaluationError.of(
            "the shape is not that of the attributes", expected=str(shape), found=str(extents)
        )
    kept = data.shape[data.ndim - len(extents) :]
    if len(extents) > data.ndim or any(
        d not in (1, whole) for d, whole in zip(extents, kept, strict=True)
    ):
        raise EvaluationError.of(
            "the shape does not broadcast to that of data",
            expected=f"extents of {data.shape}, or 1",
            found=str(extents),
        )
    return extents


def _collapsed_extents(
    data: te.Tensor, shape: te.Tensor, /, need: Callable[..., None], **_: Any
) -> tuple[Sequence[te.Scalar], ...]:
    (count,) = te.numbers(shape.shape)
    wanted = [te.index(shape[i]) for i in range(count)]
    for whole, extent in zip(data.shape[data.rank - count :], wanted, strict=True):
        fits = te.equal(extent, 1) | te.equal(extent, whole)
        message = "the shape does not broadcast to that of data"
        need(fits, message, f"{VALUE}, or 1", VALUE, (extent, whole))
    return (wanted,)


def collapse_sum_to(data: Expr, shape: Sequence[int] | Expr) -> Call:
    """The sum of data over the axes along which `shape` would be broadcast."""
    extents = as_tensor(shape)
    known = extents.data.array if isinstance(extents, Constant) else None
    return COLLAPSE_SUM_TO(data, extents, shape=known)


COLLAPSE_SUM_TO = define(
    "collapse_sum_to",
    doc="The sum of data over the axes along which a shape would be broadcast.",
    arguments=[("data", "the input"), ("shape", "the wanted shape, integers")],
    attrs=CollapseSumToAttrs,
    relation=_collapse_sum_to_type,
    reference=rounded_once(_collapse_sum_to),
    compute=_collapse_compute,
    extents=_collapsed_extents,
    runtime_shape=_collapse_sum_to_shape,
    fusion=FusionKind.COMM_REDUCE,
    helper=collapse_sum_to,
    samples=[
        sample((2, 3, 4), np.array([3, 1], "int64"), shape=(3, 1)),
        sample((2, 3, 1), np.array([1, 3, 1], "int32"), dtype="int8"),
        sample((4,), np.zeros((0,), "int64"), dtype="float16"),
    ],
    gradient=only_first(lambda site: build("broadcast_to_like", site.gradient, site.args[0])),
)
