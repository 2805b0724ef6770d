"""transpose, reverse, concatenate, stack and split."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from relay import dtypes, te
from relay.ir import dims
from relay.ir.attrs import Attrs, attrs
from relay.ir.dims import Dim
from relay.ir.expr import Expr, TupleWrapper, const
from relay.ir.types import TensorType, TupleType, Type
from relay.op.building import layout_rules
from relay.op.building.elements import Indices, moved
from relay.op.facts import Precision, Trait
from relay.op.gradient_rules import Backward, build
from relay.op.opdef import FusionKind, OpDef, define, sample
from relay.op.quantization import JOIN, THROUGH
from relay.op.relations import same_type
from relay.op.site import Site, running

# --- permuting and reversing axes --------------------------------------------------------------


@attrs
class TransposeAttrs(Attrs):
    """axes: the axis of data for each axis of the result; None reverses the order"""

    axes: tuple[int, ...] | None = None


def _transpose_type(site: Site) -> Type | None:
    """The shape permuted."""
    if (data := site.tensor(0)) is None:
        return None
    rank = len(data.shape)
    if site.attrs.axes is None:
        return TensorType(data.shape[::-1], data.dtype)
    axes = site.axes(site.attrs.axes, rank, name="axes")
    site.require(
        len(axes) == rank, "`axes` is no permutation", f"each of {rank} axes", f"axes = {axes}"
    )
    return TensorType(tuple(data.shape[axis] for axis in axes), data.dtype)


def _transpose_compute(data: te.Tensor, out: te.Spec, axes: Sequence[int] | None) -> te.Tensor:
    order = range(data.rank)[::-1] if axes is None else [axis % data.rank for axis in axes]
    return moved(data, out, lambda *i: [i[order.index(axis)] for axis in range(data.rank)])


def _transpose_gradient(site: Backward) -> Sequence[Expr]:
    rank = len(site.type.shape)
    axes = [axis % rank for axis in site.attrs.axes or reversed(range(rank))]
    return [transpose(site.gradient, tuple(axes.index(axis) for axis in range(rank)))]


transpose = define(
    "transpose",
    doc="The axes of data in another order.",
    arguments=[("data", "the input")],
    attrs=TransposeAttrs,
    relation=_transpose_type,
    reference=lambda data, axes: np.transpose(data, axes),
    compute=_transpose_compute,
    fusion=FusionKind.INJECTIVE,
    layout=layout_rules.transpose,
    gradient=_transpose_gradient,
    traits=Trait.MOVES,
    samples=[sample((2, 3, 4)), sample((2, 3, 4), axes=(1, -1, 0)), sample((), dtype="int8")],
)


@attrs
class ReverseAttrs(Attrs):
    """axis: the axis to reverse; None is all of them"""

    axis: int | None = None


def _reverse_type(site: Site) -> Type | None:
    """The same type."""
    data = site.tensor(0)
    if data is not None and site.attrs.axis is not None:
        site.axis(site.attrs.axis, len(data.shape))
    return same_type(site)


def _reverse_compute(data: te.Tensor, out: te.Spec, axis: int | None) -> te.Tensor:
    turned = range(data.rank) if axis is None else (axis % data.rank,)

    def source(*i: te.Expr) -> list[te.Expr]:
        return [data.shape[a] - 1 - k if a in turned else k for a, k in enumerate(i)]

    return moved(data, out, source)


reverse: OpDef = define(
    "reverse",
    doc="The elements along an axis in reverse order.",
    arguments=[("data", "the input")],
    attrs=ReverseAttrs,
    relation=_reverse_type,
    reference=lambda data, axis: np.flip(data, axis),
    compute=_reverse_compute,
    fusion=FusionKind.INJECTIVE,
    traits=Trait.MOVES,
    samples=[sample((2, 3), axis=0), sample((2, 3), axis=-1, dtype="int32"), sample((2, 3))],
    gradient=lambda site: [reverse(site.gradient, axis=site.attrs.axis)],
)

# --- joining -----------------------------------------------------------------------------------


@attrs
class JoinAttrs(Attrs):
    """axis: the axis along which the tensors are joined"""

    axis: int = 0


def _parts(site: Site) -> tuple[TensorType, ...] | None:
    """The tensors to join, of one element type and rank."""
    if (parts := site.tensor_tuple(0)) is None:
        return None
    site.require(bool(parts), "there is nothing to join", "at least one tensor", "()")
    site.require_same_dtype(*parts)
    site.require(
        len({len(part.shape) for part in parts}) == 1,
        "ranks differ",
        "tensors of the same rank",
        " and ".join(map(str, parts)),
    )
    return parts


def _common_extent(site: Site, parts: Sequence[TensorType], axis: int) -> Dim:
    extent = parts[0].shape[axis]
    for part in parts[1:]:
        extent = site.require_equal(extent, part.shape[axis], f"extents of axis {axis}")
    return extent


def _concatenate_type(site: Site) -> Type | None:
    """The sum of the extents along the axis; the others are equal."""
    if (parts := _parts(site)) is None:
        return None
    rank = len(parts[0].shape)
    joined = site.axis(site.attrs.axis, rank)
    total: Dim = 0
    for part in parts:
        total = dims.add(total, part.shape[joined])
    shape = [total if a == joined else _common_extent(site, parts, a) for a in range(rank)]
    return TensorType(tuple(shape), parts[0].dtype)


def joined(
    parts: Sequence[tuple[te.Expr, Callable[[Indices], te.Expr]]], out: te.Spec, axis: int
) -> te.Tensor:
    """Concatenate parts: the extent of each along the axis, and its element at its own indices."""

    def element(*i: te.Expr) -> te.Expr:
        found: te.Expr | None = None
        start = out.shape[axis]
        for extent, read in reversed(parts):
            start = start - extent
            here = read((*i[:axis], i[axis] - start, *i[axis + 1 :]))
            found = here if found is None else te.select(i[axis] < start + extent, here, found)
        assert found is not None, "the relation asks for one part at least"
        return found

    return te.compute(out.shape, element)


def _concatenate_compute(data: tuple[te.Tensor, ...], out: te.Spec, axis: int) -> te.Tensor:
    axis %= len(out.shape)
    return joined([(part.shape[axis], part.__getitem__) for part in data], out, axis)


def _concatenate_gradient(site: Backward) -> Sequence[Sequence[Expr]]:
    """The part of the gradient for each tensor."""
    (data,) = site.args
    types = site.field_types(data)
    axis = site.attrs.axis % len(types[0].shape)
    extents = [ty.shape[axis] for ty in types]
    known = [extent for extent in extents if isinstance(extent, int)]
    if len(known) == len(extents):
        cuts = tuple(accumulate(known))[:-1]
        parts = SPLIT(site.gradient, indices_or_sections=cuts, axis=axis)
        return [[parts[i] for i in range(len(types))]]
    found = []
    start: Expr = const(0, "int64")
    for field in site.fields(data):
        shape = build("shape_of", field, dtype="int64")
        end = start + build("take", shape, const(axis), axis=0)
        row = build("arange", start, end, const(1, "int64"), dtype="int64")
        # the type of the part is that of the tensor
        found.append(build("reshape_like", build("take", site.gradient, row, axis=axis), field))
        start = end
    return [found]


def _stack_gradient(site: Backward) -> Sequence[Sequence[Expr]]:
    """The slice of the gradient for each tensor."""
    count, axis = len(site.field_types(site.args[0])), site.attrs.axis % len(site.type.shape)
    return [[build("take", site.gradient, const(i), axis=axis) for i in range(count)]]


concatenate: OpDef = define(
    "concatenate",
    doc="Concatenation along an axis.",
    arguments=[("data", "a tuple of tensors")],
    attrs=JoinAttrs,
    relation=_concatenate_type,
    reference=lambda data, axis: np.concatenate(data, axis),
    compute=_concatenate_compute,
    fusion=FusionKind.INJECTIVE,
    layout=layout_rules.concatenate,
    traits=Trait.MOVES,
    quantization=JOIN,
    samples=[
        sample([(2, 3), (4, 3)]),
        sample([(2, 3), (2, 1), (2, 0)], axis=-1, dtype="int32"),
        sample([(5,)], dtype="bool"),
    ],
    gradient=_concatenate_gradient,
)


def _stack_type(site: Site) -> Type | None:
    """A new axis of the number of tensors; all have the same shape."""
    if (parts := _parts(site)) is None:
        return None
    rank = len(parts[0].shape)
    axis = site.axis(site.attrs.axis, rank + 1)
    shape: list[Dim] = [_common_extent(site, parts, a) for a in range(rank)]
    shape.insert(axis, len(parts))
    return TensorType(tuple(shape), parts[0].dtype)


def _stack_compute(data: tuple[te.Tensor, ...], out: te.Spec, axis: int) -> te.Tensor:
    axis %= len(out.shape)

    def reader(part: te.Tensor) -> Callable[[Indices], te.Expr]:
        return lambda i: part[(*i[:axis], *i[axis + 1 :])]

    return joined([(te.index(1), reader(part)) for part in data], out, axis)


stack = define(
    "stack",
    doc="Tensors of one shape stacked along a new axis.",
    arguments=[("data", "a tuple of tensors")],
    attrs=JoinAttrs,
    relation=_stack_type,
    reference=lambda data, axis: np.stack(data, axis),
    compute=_stack_compute,
    fusion=FusionKind.INJECTIVE,
    traits=Trait.MOVES,
    samples=[
        sample([(2, 3), (2, 3), (2, 3), (2, 3)]),
        sample([(2, 3), (2, 3)], axis=-1, dtype="int32"),
        sample([()], dtype="bool"),
    ],
    gradient=_stack_gradient,
)

# --- splitting ---------------------------------------------------------------------------------


@attrs
class SplitAttrs(Attrs):
    """indices_or_sections: the number of equal parts, or the ascending split positions
    axis: the axis to split
    """

    indices_or_sections: int | tuple[int, ...]
    axis: int = 0


def _split_extents(site: Site, data: TensorType, axis: int) -> list[Dim]:
    """The extent of each part."""
    extent = data.shape[axis]
    cuts = site.attrs.indices_or_sections
    if isinstance(cuts, int):
        site.require(cuts > 0, "the number of parts is not positive", "1 or more", str(cuts))
        part = dims.floor_divide(extent, cuts)
        if not site.unify_dims(dims.multiply(part, cuts), extent):
            site.fail(f"axis {axis} has no {cuts} equal parts", f"a multiple of {cuts}", str(data))
        return [part] * cuts
    bounds: list[Dim] = [0, *cuts, extent]
    extents = [dims.subtract(b, a) for a, b in pairwise(bounds)]
    for length in extents:
        site.require_natural(
            length,
            "the places to cut do not ascend within the axis",
            f"0 <= … <= {extent}",
            f"{list(cuts)} for {data}",
        )
    return extents


def _split_type(site: Site) -> Type | None:
    """A tuple with one tensor per part."""
    if (data := site.tensor(0)) is None:
        return None
    axis = site.axis(site.attrs.axis, len(data.shape))
    before, after = data.shape[:axis], data.shape[axis + 1 :]
    return TupleType(
        tuple(
            TensorType((*before, extent, *after), data.dtype)
            for extent in _split_extents(site, data, axis)
        )
    )


def _split(
    data: np.ndarray, indices_or_sections: int | tuple[int, ...], axis: int
) -> tuple[np.ndarray, ...]:
    ty = TensorType(data.shape, dtypes.canonical(data.dtype))
    known = SplitAttrs(indices_or_sections=indices_or_sections, axis=axis)
    extents: list[Any] = _split_extents(running("split", ("data",), (ty,), known), ty, axis)
    return tuple(np.split(data, np.cumsum(extents[:-1], dtype=int), axis))


def _split_compute(
    data: te.Tensor, out: tuple[te.Spec, ...], axis: int, **_: Any
) -> tuple[te.Tensor, ...]:
    axis %= data.rank
    found: list[te.Tensor] = []
    start: te.Expr = te.index(0)
    for part in out:
        found.append(_from(data, part, axis, start))
        start = start + part.shape[axis]
    return tuple(found)


def _from(data: te.Tensor, out: te.Spec, axis: int, start: te.Expr) -> te.Tensor:
    """The part of data from a position along an axis."""
    return moved(data, out, lambda *i: (*i[:axis], i[axis] + start, *i[axis + 1 :]))


def split(data: Expr, indices_or_sections: int | Sequence[int], axis: int = 0) -> TupleWrapper:
    """Split data along an axis: into equal parts, or at the given positions."""
    call = SPLIT(data, indices_or_sections, axis)
    cuts = call.attrs.indices_or_sections  # type: ignore[union-attr]
    return TupleWrapper(call, cuts if isinstance(cuts, int) else len(cuts) + 1)


SPLIT: OpDef = define(
    "split",
    doc="data split along an axis.",
    arguments=[("data", "the input")],
    attrs=SplitAttrs,
    relation=_split_type,
    reference=_split,
    compute=_split_compute,
    fusion=FusionKind.INJECTIVE,
    layout=layout_rules.split,
    precision=Precision.FOLLOW,
    quantization=THROUGH,
    helper=split,
    samples=[
        sample((6, 2), indices_or_sections=3),
        sample((2, 7), indices_or_sections=(2, 3), axis=1, dtype="int32"),
        sample((2, 7), indices_or_sections=(0, 7), axis=-1),
        sample((4,), indices_or_sections=()),
    ],
    gradient=lambda site: [concatenate(site.all_gradients(), axis=site.attrs.axis)],
)
