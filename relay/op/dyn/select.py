"""Slicing and topk by dynamic amounts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from relay import te
from relay.ir import dims
from relay.ir.types import TensorType, Type
from relay.op.dyn import extents
from relay.op.dyn.form import define_dynamic, require_scalar
from relay.op.dyn.shape import ints
from relay.op.gradient_rules import scattering
from relay.op.opdef import sample
from relay.op.site import INTEGER, Site
from relay.op.tensor.slicing import STRIDED_SLICE, UNBOUNDED, slice_from, sliced
from relay.op.tensor.sort import TOPK, ranked_first, topk_fields


def _strided_slice_type(site: Site) -> Type | None:
    """Dynamic dimensions on the sliced axes."""
    bounds = []
    for index in (1, 2, 3):
        site.require_elements(index, INTEGER)
        bounds.append(site.tensor(index, rank=1))
    if (data := site.tensor(0)) is None:
        return None
    rank = len(data.shape)
    lengths = [None if ty is None else ty.shape[0] for ty in bounds]
    counts = [length if isinstance(length, int) else rank for length in lengths]
    site.require(max(counts) <= rank, "more slices than axes", f"at most {rank}", str(max(counts)))
    axes: Sequence[int] = range(max(counts))
    if site.attrs.axes is not None:
        axes = site.axes(site.attrs.axes, rank, name="axes")
    shape = tuple(dims.ANY if axis in axes else d for axis, d in enumerate(data.shape))
    return TensorType(shape, data.dtype)


def _strided_slice_compute(
    data: te.Tensor,
    begin: te.Tensor,
    end: te.Tensor,
    strides: te.Tensor,
    out: te.Spec,
    axes: tuple[int, ...] | None,
    slice_mode: str,
) -> te.Tensor:
    named = range(data.rank) if axes is None else axes
    slices = {}
    for number, axis in enumerate(named):
        first, stride = slice_from(begin, strides, number)
        slices[axis % data.rank] = first, te.index(1) if slice_mode == "size" else stride
    return sliced(data, out, slices)


strided_slice = define_dynamic(
    STRIDED_SLICE,
    gradient=scattering(),
    arguments=[
        ("data", "the input"),
        ("begin", "the start of each slice, integers"),
        ("end", "its end, or its length in mode size, integers"),
        ("strides", "the distance between elements, integers"),
    ],
    relation=_strided_slice_type,
    compute=_strided_slice_compute,
    extents=extents.sliced,
    samples=[
        sample((5, 6), ints(1, 0), ints(4, 3), ints(1, 2)),
        sample((5, 6), ints(-3), ints(UNBOUNDED), ints(dtype="int32"), dtype="int8"),
        sample((5, 6), ints(4), ints(-7), ints(-2), axes=(-1,)),
        sample((5, 6), ints(1, -3), ints(2, -1), ints(1, 1), slice_mode="size"),
    ],
)


def _topk_type(site: Site) -> Type | None:
    """A dynamic dimension on the axis."""
    require_scalar(site, 1)
    if (data := site.tensor(0)) is None:
        return None
    axis = site.axis(site.attrs.axis, len(data.shape))
    shape = (*data.shape[:axis], dims.ANY, *data.shape[axis + 1 :])
    return topk_fields(site, TensorType(shape, data.dtype))


topk = define_dynamic(
    TOPK,
    arguments=[
        ("data", "the input"),
        ("k", "the number of elements, an integer; less than 1 is all"),
    ],
    relation=_topk_type,
    compute=lambda data, k, axis, ret_type, is_ascend, dtype, out: ranked_first(
        data, axis, ret_type, is_ascend, out
    ),
    extents=extents.topmost,
    samples=[
        sample((2, 5), np.array(3, "int64")),
        sample((4, 3), np.array(2, "int32"), axis=0, is_ascend=True, attrs={"dtype": "int64"}),
        sample((4, 3), np.array(0, "int64"), ret_type="values", dtype="float16"),
    ],
)
