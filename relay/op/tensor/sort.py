"""sort, argsort and topk.

Sorting is stable, also in descending order. NaN counts as the largest value.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from relay import dtypes, te
from relay.errors import EvaluationError
from relay.ir import dims
from relay.ir.attrs import Attrs, attrs
from relay.ir.expr import Call, Expr, TupleWrapper
from relay.ir.types import TensorType, TupleType, Type
from relay.op.building.numerics import widened
from relay.op.gradient_rules import DISCRETE, ArgumentGradient, Backward, build
from relay.op.known import is_known
from relay.op.loop_nest import lines
from relay.op.opdef import (
    DType,
    OpDef,
    define,
    get,
    sample,
)
from relay.op.site import NUMERIC, Site
from relay.op.tensor.sort_loops import first_positions, sort_key, sort_positions


@attrs
class SortAttrs(Attrs):
    """axis: the axis to sort along
    is_ascend: from the smallest to the largest
    dtype: not used; the element type is that of data
    """

    axis: int = -1
    is_ascend: bool = True
    dtype: DType | None = None


@attrs
class ArgsortAttrs(Attrs):
    """axis: the axis to sort along
    is_ascend: from the smallest to the largest
    dtype: the element type of the positions; None is int32
    """

    axis: int = -1
    is_ascend: bool = True
    dtype: DType | None = None


def _order(data: np.ndarray, axis: int, is_ascend: bool) -> Any:
    """The sorting permutation along an axis."""
    values = widened(data)
    if is_ascend:
        return np.argsort(values, axis, kind="stable")
    # on the reversed axis, equal elements keep their order
    backwards = np.argsort(np.flip(values, axis), axis, kind="stable")
    return data.shape[axis] - 1 - np.flip(backwards, axis)


def _ranked(
    data: te.Tensor, axis: int, is_ascend: bool, values: te.Spec | None, positions: te.Spec | None
) -> tuple[te.Tensor, ...]:
    """Values, positions, or both, of the first elements in order along an axis, as many as the
    results hold."""
    wanted = [spec for spec in (values, positions) if spec is not None]
    extent, most = data.shape[axis], wanted[0].shape[axis]

    def write(b: te.Builder, *outputs: te.Buffer) -> None:
        with lines(b, data.shape, axis) as at:

            def key(position: te.Expr) -> te.Expr:
                return sort_key(data[at(position)], descending=not is_ascend)

            if _is_few(most, extent):
                order = first_positions(b, extent, most, key)
            else:
                order = sort_positions(b, extent, key)
            with b.loop(most) as rank:
                position = b.let(order[rank])
                found: list[te.Expr] = [] if values is None else [data[at(position)]]
                if positions is not None:
                    found.append(te.cast(position, positions.dtype))
                for output, value in zip(outputs, found, strict=True):
                    b.store(output, at(rank), value)

    return te.procedure([data], [(spec.shape, spec.dtype) for spec in wanted], write, "ranked")


def _is_few(most: te.Expr, extent: te.Expr) -> bool:
    """Whether a heap is faster than sorting everything."""
    if most is extent or not isinstance(most, te.Const):
        return False
    return not isinstance(extent, te.Const) or most.value * 4 <= extent.value


def _require_positions(site: Site, dtype: str) -> None:
    site.require(
        dtype in NUMERIC.allowed, "`dtype` cannot hold positions", "numeric elements", dtype
    )


def _sort_type(site: Site) -> Type | None:
    """The type of data."""
    data = site.tensor(0)
    if data is not None:
        site.axis(site.attrs.axis, len(data.shape))
    return data


def sort(data: Expr, axis: int = -1, is_ascend: bool = True) -> Call:
    """Sort along an axis."""
    return SORT(data, axis=axis, is_ascend=is_ascend)


def _sort_gradient(site: Backward) -> Sequence[ArgumentGradient]:
    """The gradient goes back to where each element came from."""
    (data,) = site.args
    axis = site.attrs.axis
    order = ARGSORT(data, axis=axis, is_ascend=site.attrs.is_ascend, dtype="int64")
    zeros = build("zeros_like", data)
    return [build("scatter_elements", zeros, order, site.gradient, axis=axis, reduction="add")]


def _topk_gradient(site: Backward) -> Sequence[ArgumentGradient]:
    """The gradient goes to the elements that were taken."""
    data, *rest = site.args
    known = {**dict(site.attrs.items()), "ret_type": "indices", "dtype": "int64"}
    record: Any = site.call.op
    where = record(data, *rest, **known)
    gradient = site.gradients[0]
    assert gradient is not None, "positions are integers"
    zeros = build("zeros_like", data)
    axis = known["axis"]
    return [build("scatter_elements", zeros, where, gradient, axis=axis, reduction="add")]


SORT = define(
    "sort",
    doc="data sorted along an axis; NaN counts as the largest.",
    arguments=[("data", "the input")],
    attrs=SortAttrs,
    relation=_sort_type,
    reference=lambda data, axis, is_ascend, dtype: np.take_along_axis(
        data, _order(data, axis, is_ascend), axis
    ),
    compute=lambda data, axis, is_ascend, dtype, out: _ranked(data, axis, is_ascend, out, None)[0],
    helper=sort,
    samples=[
        sample((2, 5)),
        sample((4, 3), axis=0, is_ascend=False, dtype="int32"),
        sample(np.array([2.0, np.nan, -1.0, np.inf], "float32"), attrs={"dtype": "float32"}),
        sample((3, 4), axis=-2, dtype="bfloat16"),
        sample((2, 6), dtype="bool", is_ascend=False),
        sample((2, 0), dtype="uint8"),
    ],
    gradient=_sort_gradient,
)


def _argsort_type(site: Site) -> Type | None:
    """The shape of data, with positions."""
    dtype = site.attrs.dtype or "int32"
    _require_positions(site, dtype)
    if (data := site.tensor(0)) is None:
        return None
    site.axis(site.attrs.axis, len(data.shape))
    return TensorType(data.shape, dtype)


def argsort(data: Expr, axis: int = -1, is_ascend: bool = True, dtype: str = "int32") -> Call:
    """The sorting permutation along an axis."""
    return ARGSORT(data, axis=axis, is_ascend=is_ascend, dtype=dtype)


ARGSORT: OpDef = define(
    "argsort",
    doc="The positions of the elements in sorted order along an axis; a stable sort.",
    arguments=[("data", "the input")],
    attrs=ArgsortAttrs,
    relation=_argsort_type,
    reference=lambda data, axis, is_ascend, dtype: _order(data, axis, is_ascend).astype(
        dtypes.to_numpy(dtype or "int32")
    ),
    compute=lambda data, axis, is_ascend, dtype, out: _ranked(data, axis, is_ascend, None, out)[0],
    helper=argsort,
    samples=[
        sample((2, 5)),
        sample((2, 9), dtype="int32", is_ascend=False),
        sample((4, 3), axis=0, attrs={"dtype": "int64"}),
        sample(np.array([2.0, np.nan, -1.0, np.nan], "float16"), is_ascend=False),
        sample((3, 0), axis=-1, attrs={"dtype": "float32"}),
    ],
    gradient=DISCRETE,
)

# --- the first of them -------------------------------------------------------------------------


@attrs
class TopkAttrs(Attrs):
    """k: the number of elements; less than 1 is all
    axis: the axis to select along
    ret_type: a tuple of values and indices, or one of them
    is_ascend: the smallest, instead of the largest
    dtype: the element type of the positions; None is int32
    """

    k: int
    axis: int = -1
    ret_type: Literal["both", "values", "indices"] = "both"
    is_ascend: bool = False
    dtype: DType | None = None


def topk_fields(site: Site, values: TensorType) -> Type:
    """The result type for a type of the values."""
    dtype = site.attrs.dtype or "int32"
    _require_positions(site, dtype)
    positions = TensorType(values.shape, dtype)
    if site.attrs.ret_type == "both":
        return TupleType((values, positions))
    return values if site.attrs.ret_type == "values" else positions


def _topk_type(site: Site) -> Type | None:
    """`k` elements along the axis."""
    if (data := site.tensor(0)) is None:
        return None
    k = site.attrs.k
    axis = site.axis(site.attrs.axis, len(data.shape))
    extent = data.shape[axis]
    if k >= 1:
        site.require_natural(
            dims.subtract(extent, k),
            f"axis {axis} has fewer than `k` elements",
            f"{k} or more",
            str(data),
        )
        extent = k
    shape = (*data.shape[:axis], extent, *data.shape[axis + 1 :])
    return topk_fields(site, TensorType(shape, data.dtype))


def _topk(
    data: np.ndarray, k: int, axis: int, ret_type: str, is_ascend: bool, dtype: str | None
) -> Any:
    if data.shape[axis] < k:
        raise EvaluationError.of(
            f"axis {axis} has fewer than `k` elements",
            expected=f"{k} or more",
            found=str(data.shape[axis]),
        )
    order = _order(data, axis, is_ascend)
    if k >= 1:
        order = np.take(order, np.arange(k), axis)
    values = np.take_along_axis(data, order, axis)
    positions = order.astype(dtypes.to_numpy(dtype or "int32"))
    return {"values": values, "indices": positions}.get(ret_type, (values, positions))


def ranked_first(
    data: te.Tensor, axis: int, ret_type: str, is_ascend: bool, out: Any
) -> te.Tensor | tuple[te.Tensor, ...]:
    """`topk` with as many elements as the results hold."""
    if ret_type == "both":
        return _ranked(data, axis, is_ascend, *out)
    wanted = (out, None) if ret_type == "values" else (None, out)
    return _ranked(data, axis, is_ascend, *wanted)[0]


def topk(
    data: Expr,
    k: int | Expr = 1,
    axis: int = -1,
    ret_type: str = "both",
    is_ascend: bool = False,
    dtype: str = "int32",
) -> Call | TupleWrapper:
    """The `k` largest (or smallest) elements, sorted, and their positions; `k` may be a scalar
    tensor."""
    keywords = {"axis": axis, "ret_type": ret_type, "is_ascend": is_ascend, "dtype": dtype}
    if is_known(k):
        call = TOPK(data, k=k, **keywords)
    else:
        call = get("dyn.topk")(data, k, **keywords)
    return TupleWrapper(call, 2) if ret_type == "both" else call


TOPK = define(
    "topk",
    doc="The k largest, or smallest, elements along an axis, sorted, and their positions.",
    arguments=[("data", "the input")],
    attrs=TopkAttrs,
    relation=_topk_type,
    reference=_topk,
    compute=lambda data, k, axis, ret_type, is_ascend, dtype, out: ranked_first(
        data, axis, ret_type, is_ascend, out
    ),
    helper=topk,
    samples=[
        sample((2, 5), k=3),
        sample((4, 3), k=2, axis=0, is_ascend=True, dtype="int32", attrs={"dtype": "int64"}),
        sample((4, 3), k=0, ret_type="values", dtype="float16"),
        sample((2, 9), k=5, ret_type="indices", dtype="uint8", high=3),
        sample(np.array([1.0, np.nan, 2.0], "float32"), k=2),
    ],
    gradient=_topk_gradient,
)
