"""Reshape, squeeze, expand_dims, broadcast_to and tile by dynamic amounts."""

from __future__ import annotations

from typing import Any

import numpy as np

from relay.errors import EvaluationError
from relay.ir import dims
from relay.ir.dims import Dim
from relay.ir.types import TensorType, Type
from relay.op.dyn import extents
from relay.op.dyn.form import define_dynamic, require_scalar, value_count
from relay.op.opdef import FusionKind, sample
from relay.op.site import Site
from relay.op.tensor.extend import BROADCAST_TO, TILE, broadcast, tiled
from relay.op.tensor.reshape import RESHAPE, reshaped
from relay.op.tensor.shape import EXPAND_DIMS, SQUEEZE


def ints(*values: Any, dtype: str = "int64") -> np.ndarray:
    """A vector of integers, for samples."""
    return np.array(values, dtype)


def _reshape_type(site: Site) -> Type | None:
    """A dynamic dimension for each code."""
    data, count = site.tensor(0), value_count(site, 1)
    if data is None or count is None:
        return None
    for axis, dim in enumerate(data.shape if count == 0 else ()):
        site.require_equal(
            dim, 1, f"the extent of axis {axis} and 1, for a scalar has one element,"
        )
    return TensorType((dims.ANY,) * count, data.dtype)


def _require_one_axis_each(known: Any) -> None:
    # the rank of the result is the number of codes, which inference relies on
    if bad := [code for code in known.newshape if code in (-2, -4)]:
        raise EvaluationError.of(
            f"code {bad[0]} of `newshape` changes the number of axes in a run",
            expected="extents, or the codes 0, -1 and -3",
            found=f"newshape = {list(known.newshape)}",
        )


reshape = define_dynamic(
    RESHAPE,
    arguments=[("data", "the input"), ("newshape", "the new extents, or codes 0, -1 and -3")],
    relation=_reshape_type,
    compute=reshaped,
    extents=extents.reshaped,
    accept=_require_one_axis_each,
    samples=[
        sample((2, 3, 4), ints(4, -1)),
        sample((2, 3), ints(0, -1, 1, dtype="int32"), dtype="int8"),
        sample((0, 3), ints(3, 0), allowzero=True),
        sample((2, 3, 0, 0), ints(6, 0, 0), dtype="bool"),
        sample((1, 1), ints(), dtype="bfloat16"),
    ],
)


def _squeeze_type(site: Site) -> Type | None:
    """Removes the given axes."""
    data, count = site.tensor(0), value_count(site, 1)
    if data is None or count is None:
        return None
    rank = len(data.shape)
    site.require(count <= rank, "more axes go than there are", f"at most {rank}", str(count))
    return TensorType((dims.ANY,) * (rank - count), data.dtype)


squeeze = define_dynamic(
    SQUEEZE,
    arguments=[("data", "the input"), ("axes", "the axes of extent 1 to drop, integers")],
    renamed={"axes": "axis"},
    relation=_squeeze_type,
    compute=reshaped,
    extents=extents.squeezed,
    samples=[
        sample((1, 3, 1), ints(0, -1)),
        sample((1, 3), ints(0, dtype="int32"), dtype="int8"),
        sample((2, 3), ints(), dtype="float16"),
    ],
)


def _expand_dims_type(site: Site) -> Type | None:
    """Adds `num_newaxis` axes."""
    require_scalar(site, 1)
    if (data := site.tensor(0)) is None:
        return None
    count = site.attrs.num_newaxis
    site.require(count >= 0, "`num_newaxis` is negative", "0 or more", str(count))
    return TensorType((dims.ANY,) * (len(data.shape) + count), data.dtype)


expand_dims = define_dynamic(
    EXPAND_DIMS,
    arguments=[("data", "the input"), ("axis", "the position of the new axes, an integer")],
    relation=_expand_dims_type,
    compute=reshaped,
    extents=extents.expanded,
    fusion=FusionKind.INJECTIVE,
    samples=[
        sample((2, 3), np.array(1, "int64")),
        sample((2, 3), np.array(-1, "int32"), num_newaxis=2, dtype="int8"),
        sample((), np.array(0, "int64"), dtype="bool"),
    ],
)


def _broadcast_to_type(site: Site) -> Type | None:
    """A dynamic dimension for each extent; static extents other than 1 stay."""
    data, count = site.tensor(0), value_count(site, 1)
    if data is None or count is None:
        return None
    rank = len(data.shape)
    site.require(
        rank <= count, "the shape does not broadcast", f"{rank} extents or more", str(count)
    )
    kept: list[Dim] = [d if isinstance(d, int) and d != 1 else dims.ANY for d in data.shape]
    return TensorType((*(dims.ANY,) * (count - rank), *kept), data.dtype)


broadcast_to = define_dynamic(
    BROADCAST_TO,
    arguments=[("data", "the input"), ("shape", "the shape of the result, integers")],
    relation=_broadcast_to_type,
    compute=broadcast,
    extents=extents.broadcast,
    samples=[
        sample((3, 1), ints(2, 3, 4)),
        sample((), ints(2, dtype="int32"), dtype="int8"),
        sample((1,), ints(0), attrs={"dtype": "float32"}),
    ],
)


def _tile_type(site: Site) -> Type | None:
    """The larger of the rank of data and the length of `reps`."""
    data, count = site.tensor(0), value_count(site, 1)
    if data is None or count is None:
        return None
    return TensorType((dims.ANY,) * max(count, len(data.shape)), data.dtype)


tile = define_dynamic(
    TILE,
    arguments=[("data", "the input"), ("reps", "repetitions along each axis, integers")],
    relation=_tile_type,
    compute=tiled,
    extents=extents.tiled,
    fusion=FusionKind.INJECTIVE,
    samples=[
        sample((2, 3), ints(2, 1)),
        sample((3,), ints(2, 4, dtype="int32"), dtype="int8"),
        sample((2, 3, 1), ints(2), dtype="bool"),
    ],
)
