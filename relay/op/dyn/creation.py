"""Creation of tensors of dynamic shape."""

from __future__ import annotations

import numpy as np

from relay.ir import dims
from relay.ir.types import TensorType, Type
from relay.op.building.elements import filled
from relay.op.dyn import extents
from relay.op.dyn.form import define_dynamic, require_scalar, value_count
from relay.op.dyn.shape import ints
from relay.op.opdef import OpDef, Tensor, sample
from relay.op.site import INTEGER, Site
from relay.op.sparse.coordinates import SPARSE_TO_DENSE, sparse_to_dense_loops, sparse_values_type
from relay.op.tensor.creation import FULL, ONE_HOT, ONES, ZEROS, one_hot_compute

_SHAPE = ("shape", "the shape of the result, integers")


def _constant_type(site: Site) -> Type | None:
    """A dynamic dimension for each extent in `shape`."""
    if (count := value_count(site, 0)) is None:
        return None
    return TensorType((dims.ANY,) * count, site.attrs.dtype or "float32")


def _constant(static: OpDef, value: int) -> OpDef:
    return define_dynamic(
        static,
        arguments=[_SHAPE],
        relation=_constant_type,
        compute=lambda shape, out, **_: filled(out, value),
        extents=extents.given(0),
        samples=[
            sample(ints(2, 3)),
            sample(ints(dtype="int32"), attrs={"dtype": "bool"}),
            sample(ints(4, 0), attrs={"dtype": "bfloat16"}),
        ],
    )


zeros = _constant(ZEROS, 0)
ones = _constant(ONES, 1)


def _full_type(site: Site) -> Type | None:
    """A dynamic dimension for each extent in `shape`; the value is a scalar."""
    value, count = site.tensor(0, rank=0), value_count(site, 1)
    if count is None or (value is None and site.attrs.dtype is None):
        return None
    return TensorType((dims.ANY,) * count, site.attrs.dtype or value.dtype)  # type: ignore[union-attr]


full = define_dynamic(
    FULL,
    arguments=[("fill_value", "the value, a scalar"), _SHAPE],
    relation=_full_type,
    compute=lambda fill_value, shape, out, **_: filled(out, fill_value[()]),
    extents=extents.given(1),
    samples=[
        sample((), ints(2, 3)),
        sample((), ints(dtype="int32"), dtype="int32", attrs={"dtype": "int8"}),
        sample((), ints(0, 4), dtype="float16"),
    ],
)


def _one_hot_type(site: Site) -> Type | None:
    """The shape of indices with a new dynamic dimension."""
    site.require_elements(0, INTEGER)
    require_scalar(site, 3)
    indices, on = site.tensor(0), site.tensor(1, rank=0)
    site.tensor(2, rank=0)
    known = site.attrs
    if indices is None or (on is None and known.dtype is None):
        return None
    axis = site.axis(known.axis, len(indices.shape) + 1)
    shape = (*indices.shape[:axis], dims.ANY, *indices.shape[axis:])
    return TensorType(shape, known.dtype or on.dtype)  # type: ignore[union-attr]


one_hot = define_dynamic(
    ONE_HOT,
    arguments=[*ONE_HOT.arguments, ("depth", "the extent of the new axis, an integer")],
    relation=_one_hot_type,
    compute=lambda indices, on, off, depth, out, axis, dtype: one_hot_compute(
        indices, on, off, out, axis
    ),
    extents=extents.with_depth,
    samples=[
        sample(Tensor((2, 3), "int32", -1, 5), (), (), np.array(4, "int64")),
        sample(
            Tensor((2,), "int64", 0, 5),
            (),
            (),
            np.array(5, "int32"),
            axis=0,
            attrs={"dtype": "int8"},
        ),
    ],
)


def _sparse_to_dense_type(site: Site) -> Type | None:
    """A dynamic dimension for each extent, with the element type of the values."""
    if (count := value_count(site, 3)) is None:
        return None
    values = sparse_values_type(site, count)
    return None if values is None else TensorType((dims.ANY,) * count, values.dtype)


sparse_to_dense = define_dynamic(
    SPARSE_TO_DENSE,
    arguments=[
        *SPARSE_TO_DENSE.arguments,
        ("output_shape", "the shape of the result, integers"),
    ],
    relation=_sparse_to_dense_type,
    compute=sparse_to_dense_loops,
    extents=extents.given(3),
    samples=[
        sample(Tensor((3, 2), "int32", 0, 3), (3,), (), ints(3, 4)),
        sample(Tensor((4,), "int64", -1, 7), (), (), ints(5, dtype="int32"), dtype="int8"),
    ],
)
