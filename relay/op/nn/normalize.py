"""Layer, instance, group, L2 and local response normalization.

Batch normalization, whose statistics are given, is in `relay.op.nn.norm`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, Unpack

import numpy as np

from relay import te
from relay.ir import dims
from relay.ir.attrs import Attrs, attrs
from relay.ir.expr import Expr, const
from relay.ir.types import TensorType, Type
from relay.op.attributes import with_attrs
from relay.op.building import layout_rules
from relay.op.building.elements import Body, Indices, Shape, folded, size, without
from relay.op.building.helper import helper
from relay.op.building.numerics import rounded_once
from relay.op.building.scalars import wide, widened
from relay.op.facts import Facts, Precision
from relay.op.gradient_rules import Backward, Composed, along_axis, build
from relay.op.nn.norm import BatchNormAttrs, along, with_channels
from relay.op.opdef import Compute, OpDef, Sample, define, sample
from relay.op.relations import same_type_float
from relay.op.site import FLOATING, Relation, Site

# --- mean and variance -------------------------------------------------------------------------


@attrs
class LayerNormAttrs(BatchNormAttrs):
    """axis: the normalized axis, with a scale and an offset per element"""

    axis: int = -1


@attrs
class GroupNormAttrs(Attrs):
    """num_groups: the number of groups of adjacent channels
    axis: the axis of the channels
    epsilon: added to the variance, against division by 0
    center: add beta
    scale: multiply by gamma
    """

    num_groups: int = 0
    axis: int = 1
    epsilon: float = 1e-5
    center: bool = True
    scale: bool = True


NormAttrs = BatchNormAttrs | GroupNormAttrs


def _layer_norm_type(site: Site) -> Type | None:
    """(data, (c,), (c,)) -> data"""
    site.require_elements(0, FLOATING)
    data = site.tensor(0)
    return None if data is None else with_channels(site, data, range(1, 3))


def _instance_norm_type(site: Site) -> Type | None:
    """(data, (c,), (c,)) -> data; the first axis is the batch."""
    if (data := site.tensor(0)) is not None:
        _channel_axis(site, data)
    return _layer_norm_type(site)


def _channel_axis(site: Site, data: TensorType) -> int:
    """The axis of the channels, which must not be the first."""
    axis = site.axis(site.attrs.axis, len(data.shape))
    site.require(
        axis > 0, "`axis` is the axis of the batch", "an axis after the first", f"axis = {axis}"
    )
    return axis


def _group_norm_type(site: Site) -> Type | None:
    """The type of data; the number of groups divides the channels."""
    groups = site.attrs.num_groups
    site.require(groups > 0, "`num_groups` is not positive", "1 or more", str(groups))
    result = _instance_norm_type(site)
    if isinstance(result, TensorType):
        channels = result.shape[_channel_axis(site, result)]
        whole = dims.multiply(dims.floor_divide(channels, groups), groups)
        if not site.unify_dims(whole, channels):
            site.fail(
                f"the channels do not form {groups} groups", f"a multiple of {groups}", str(result)
            )
    return result


def _mean(data: np.ndarray, axes: tuple[int, ...]) -> Any:
    count = data.dtype.type(prod(data.shape[axis] for axis in axes))
    return data.sum(axes, keepdims=True, dtype=data.dtype) / count


def _standardized(data: np.ndarray, axes: tuple[int, ...], epsilon: float) -> Any:
    """Data normalized to mean 0 and variance 1 along the axes."""
    centered = data - _mean(data, axes)
    return centered / np.sqrt(_mean(np.square(centered), axes) + data.dtype.type(epsilon))


def _affine(data: np.ndarray, gamma: np.ndarray, beta: np.ndarray, known: NormAttrs) -> Any:
    if known.scale:
        data = data * along(gamma, data.ndim, known.axis)
    return data + along(beta, data.ndim, known.axis) if known.center else data


def _layer_norm(
    data: np.ndarray, gamma: np.ndarray, beta: np.ndarray, known: LayerNormAttrs
) -> Any:
    normal = _standardized(data, (known.axis % data.ndim,), known.epsilon)
    return _affine(normal, gamma, beta, known)


def _instance_norm(
    data: np.ndarray, gamma: np.ndarray, beta: np.ndarray, known: BatchNormAttrs
) -> Any:
    inside = tuple(a for a in range(1, data.ndim) if a != known.axis % data.ndim)
    return _affine(_standardized(data, inside, known.epsilon), gamma, beta, known)


def _group_norm(
    data: np.ndarray, gamma: np.ndarray, beta: np.ndarray, known: GroupNormAttrs
) -> Any:
    front = np.moveaxis(data, known.axis, 1)
    batch, channels, *rest = front.shape
    groups = front.reshape(batch, known.num_groups, channels // known.num_groups, *rest)
    normal = _standardized(groups, tuple(range(2, groups.ndim)), known.epsilon).reshape(front.shape)
    return _affine(np.moveaxis(normal, 1, known.axis), gamma, beta, known)


# --- in tensor expressions ---------------------------------------------------------------------


def _statistics(
    shape: Shape, axes: Sequence[int], element: Body, epsilon: float
) -> tuple[te.Tensor, te.Tensor]:
    """The mean and 1 / sqrt(variance + epsilon) along some axes."""
    count = size([shape[axis] for axis in axes])

    def average(value: te.Expr, over: Sequence[te.Axis]) -> te.Expr:
        return te.sum(value, over) / te.cast(count, value.dtype)

    mean = folded(shape, axes, element, average)

    def square(indices: Indices) -> te.Expr:
        distance = element(indices) - mean[without(indices, axes)]
        return distance * distance

    inverse = folded(
        shape,
        axes,
        square,
        lambda value, over: 1.0 / te.call("sqrt", average(value, over) + epsilon),
    )
    return mean, inverse


def _normalized(
    data: te.Tensor,
    gamma: te.Tensor,
    beta: te.Tensor,
    out: te.Spec,
    statistics: tuple[te.Tensor, te.Tensor],
    row: Callable[[Indices], Indices],
    known: NormAttrs,
) -> te.Tensor:
    """Data normalized by the statistics at `row`, then scaled and shifted per channel."""
    mean, inverse = statistics

    def element(*i: te.Expr) -> te.Expr:
        place = row(i)
        result = (widened(data[i]) - mean[place]) * inverse[place]
        if known.scale:
            result = result * widened(gamma[i[known.axis]])
        if known.center:
            result = result + widened(beta[i[known.axis]])
        return te.cast(result, out.dtype)

    return te.compute(out.shape, element)


def _along_axes(axes_of: Callable[[int, int], tuple[int, ...]]) -> Compute:
    """Normalization along the axes that `axes_of(axis, rank)` gives."""

    def compute(
        data: te.Tensor, gamma: te.Tensor, beta: te.Tensor, out: te.Spec, known: BatchNormAttrs
    ) -> te.Tensor:
        axes = axes_of(known.axis % data.rank, data.rank)
        found = _statistics(data.shape, axes, lambda i: widened(data[i]), known.epsilon)
        return _normalized(data, gamma, beta, out, found, lambda i: without(i, axes), known)

    return compute


def _group_norm_compute(
    data: te.Tensor, gamma: te.Tensor, beta: te.Tensor, out: te.Spec, known: GroupNormAttrs
) -> te.Tensor:
    axis = known.axis % data.rank
    batch, *extents = data.shape
    channels = extents.pop(axis - 1) // known.num_groups
    grid = (batch, te.index(known.num_groups), channels, *extents)

    def element(indices: Indices) -> te.Expr:
        first, group, channel, *rest = indices
        rest.insert(axis - 1, group * channels + channel)
        return widened(data[(first, *rest)])

    found = _statistics(grid, range(2, len(grid)), element, known.epsilon)
    return _normalized(data, gamma, beta, out, found, lambda i: (i[0], i[axis] // channels), known)


_DOC = "(data - mean) / sqrt(variance + epsilon) * gamma + beta, with statistics"


def _define(
    name: str,
    doc: str,
    data: str,
    attributes: type[Attrs],
    relation: Relation,
    reference: Callable[..., Any],
    compute: Compute,
    *samples: Sample,
    **facts: Unpack[Facts],
) -> OpDef:
    facts = {"precision": Precision.FOLLOW, **facts}
    return define(
        f"nn.{name}",
        doc=f"{_DOC} {doc}.",
        arguments=[
            ("data", data),
            ("gamma", "the scale of each channel"),
            ("beta", "the offset of each channel"),
        ],
        attrs=attributes,
        relation=relation,
        reference=rounded_once(with_attrs(attributes, reference)),
        compute=with_attrs(attributes, compute),
        samples=samples,
        **facts,
    )


# --- in other operators, for gradients ---------------------------------------------------------


def _arithmetic(site: Backward, data: Expr, axes: Sequence[int]) -> Expr:
    """Data with mean 0 and variance 1 along the axes."""
    dtype = site.type.dtype
    centered = data - build("mean", data, axis=axes, keepdims=True)
    variance = build("mean", centered * centered, axis=axes, keepdims=True)
    return centered * build("rsqrt", variance + const(site.attrs.epsilon, dtype))


def _scaled(site: Backward, normal: Expr) -> Expr:
    """The result times gamma, plus beta."""
    _, gamma, beta = site.args
    known, rank = site.attrs, len(site.type.shape)
    axis = known.axis % rank
    if known.scale:
        normal = normal * along_axis(gamma, axis, rank)
    return normal + along_axis(beta, axis, rank) if known.center else normal


def _layer_norm_in_arithmetic(site: Backward) -> Expr:
    return _scaled(site, _arithmetic(site, site.args[0], [site.attrs.axis]))


def _instance_norm_in_arithmetic(site: Backward) -> Expr:
    rank = len(site.type.shape)
    inside = [axis for axis in range(1, rank) if axis != site.attrs.axis % rank]
    if not inside:  # a single element is its own mean
        return _scaled(site, build("zeros_like", site.args[0]))
    return _scaled(site, _arithmetic(site, site.args[0], inside))


def _group_norm_in_arithmetic(site: Backward) -> Expr:
    """The channels are split into groups and joined again."""
    data, known = site.args[0], site.attrs
    rank = len(site.type.shape)
    axis = known.axis % rank
    newshape = [0] * axis + [-4, known.num_groups, -1] + [0] * (rank - axis - 1)
    split = build("reshape", data, newshape=newshape)
    inside = [place for place in range(1, rank + 1) if place != axis]
    return _scaled(site, build("reshape_like", _arithmetic(site, split, inside), data))


layer_norm = _define(
    "layer_norm",
    "along an axis",
    "the input",
    LayerNormAttrs,
    _layer_norm_type,
    _layer_norm,
    _along_axes(lambda axis, rank: (axis,)),
    sample((2, 3, 4), (4,), (4,)),
    sample((2, 3, 4), (3,), (3,), axis=1, epsilon=0.1, dtype="float64"),
    sample((2, 5), (5,), (5,), center=False, dtype="float16"),
    sample((2, 5), (5,), (5,), scale=False, dtype="bfloat16"),
    sample((0, 5), (5,), (5,)),
    row_reductions=2,
    layout=layout_rules.along_axis(),
    gradient=Composed(_layer_norm_in_arithmetic),
)
instance_norm = _define(
    "instance_norm",
    "of each channel of each element of the batch",
    "the input, the batch first",
    BatchNormAttrs,
    _instance_norm_type,
    _instance_norm,
    _along_axes(lambda axis, rank: tuple(a for a in range(1, rank) if a != axis)),
    sample((2, 3, 4, 5), (3,), (3,)),
    sample((2, 4, 5, 3), (3,), (3,), axis=-1, epsilon=0.1, dtype="float64"),
    sample((2, 3, 7), (3,), (3,), center=False, dtype="float16"),
    sample((2, 3, 7), (3,), (3,), scale=False),
    layout=layout_rules.along_axis(batch_first=True),
    gradient=Composed(_instance_norm_in_arithmetic),
)
group_norm = _define(
    "group_norm",
    "of each group of channels of each element of the batch",
    "the input, the batch first",
    GroupNormAttrs,
    _group_norm_type,
    _group_norm,
    _group_norm_compute,
    sample((2, 6, 4, 5), (6,), (6,), num_groups=3),
    sample((2, 3, 5, 4), (4,), (4,), num_groups=2, axis=-1, epsilon=0.1, dtype="float64"),
    sample((2, 4, 3), (4,), (4,), num_groups=1, center=False, dtype="float16"),
    sample((2, 4), (4,), (4,), num_groups=2, scale=False),
    layout=layout_rules.along_axis(batch_first=True),
    gradient=Composed(_group_norm_in_arithmetic),
)

# --- norms -------------------------------------------------------------------------------------


@attrs
class L2NormalizeAttrs(Attrs):
    """eps: a lower bound of the sum of squares
    axis: the axes of a vector, one or several; None is all of them
    """

    eps: float
    axis: tuple[int, ...] | None = None


def _l2_normalize_type(site: Site) -> Type | None:
    """The same type; the axes must exist."""
    data = site.tensor(0)
    if data is not None and site.attrs.axis is not None:
        site.axes(site.attrs.axis, len(data.shape))
    return same_type_float(site)


def _l2_normalize(data: np.ndarray, eps: float, axis: Sequence[int] | None) -> Any:
    axes = None if axis is None else tuple(axis)
    squares = np.square(data).sum(axes, keepdims=True, dtype=data.dtype)
    return data / np.sqrt(np.maximum(squares, data.dtype.type(eps)))


def _l2_normalize_compute(
    data: te.Tensor, out: te.Spec, eps: float, axis: Sequence[int] | None
) -> te.Tensor:
    axes = range(data.rank) if axis is None else [a % data.rank for a in axis]

    def square(indices: Indices) -> te.Expr:
        value = widened(data[indices])
        return value * value

    inverse = folded(
        data.shape,
        axes,
        square,
        lambda value, over: 1.0 / te.call("sqrt", te.maximum(te.sum(value, over), eps)),
    )
    return te.compute(
        out.shape, lambda *i: te.cast(widened(data[i]) * inverse[without(i, axes)], out.dtype)
    )


def _l2_normalize_in_arithmetic(site: Backward) -> Expr:
    (data,) = site.args
    squares = build("sum", data * data, axis=site.attrs.axis, keepdims=True)
    return data * build("rsqrt", build("maximum", squares, site.number(site.attrs.eps)))


l2_normalize = define(
    "nn.l2_normalize",
    doc="Vectors divided by their Euclidean norm, whose square is at least eps.",
    arguments=[("data", "the input")],
    attrs=L2NormalizeAttrs,
    relation=_l2_normalize_type,
    reference=rounded_once(_l2_normalize),
    compute=_l2_normalize_compute,
    row_reductions=1,
    layout=layout_rules.l2_normalize,
    precision=Precision.FOLLOW,
    samples=[
        sample((2, 3, 4), eps=1e-3, axis=1),
        sample((2, 3, 4), eps=9.0, axis=(-1, 0), dtype="float64"),
        sample((2, 3), eps=0.0, dtype="float16"),
        sample((3, 0), eps=0.5, axis=0),
    ],
    gradient=Composed(_l2_normalize_in_arithmetic),
)

# --- neighbors ---------------------------------------------------------------------------------


@attrs
class LRNAttrs(Attrs):
    """size: the number of neighbors along the axis, with the element in the middle; if even, one
    more before it than after it
    axis: the axis of the channels
    bias: added to the mean square
    alpha: the factor of the mean square
    beta: the power of the divisor
    """

    size: int = 5
    axis: int = 1
    bias: float = 2.0
    alpha: float = 1e-4
    beta: float = 0.75


def _lrn_type(site: Site) -> Type | None:
    """The same type; the axis must exist."""
    size = site.attrs.size
    site.require(size > 0, "`size` is not positive", "1 or more", f"size = {size}")
    if (data := site.tensor(0)) is not None:
        site.axis(site.attrs.axis, len(data.shape))
    return same_type_float(site)


def _lrn(
    data: np.ndarray, size: int, axis: int, bias: float, alpha: float, beta: float
) -> np.ndarray:
    number = data.dtype.type
    squares = np.moveaxis(np.square(data), axis, -1)
    # there are no more neighbors than elements
    sides = [min(side, squares.shape[-1]) for side in (size // 2, (size - 1) // 2)]
    padded = np.pad(squares, [(0, 0)] * (data.ndim - 1) + [(sides[0], sides[1])])
    total = np.zeros_like(squares)
    for first in range(sum(sides) + 1):
        total += padded[..., first : first + squares.shape[-1]]
    divisor = np.power(number(bias) + total * number(alpha / size), number(beta))
    result: np.ndarray = data / np.moveaxis(divisor, -1, axis)
    return result


WIDE_WINDOW = 64  # neighbors of an element


def _lrn_compute(
    data: te.Tensor, out: te.Spec, size: int, axis: int, bias: float, alpha: float, beta: float
) -> te.Tensor:
    axis %= data.rank
    computed = wide(data.dtype)
    extent = data.shape[axis]
    most = extent.value if isinstance(extent, te.Const) else WIDE_WINDOW
    is_wide = size > most  # then all elements are read: there are fewer
    step = te.axis(extent if is_wide else size)

    def square(*i: te.Expr) -> te.Expr:
        place = step if is_wide else i[axis] + step - size // 2
        inside = te.every(place >= 0, place < extent)
        if is_wide:
            away = place - i[axis]
            inside = te.every(away >= -(size // 2), away <= (size - 1) // 2)
        value = te.select(
            inside, widened(data[(*i[:axis], place, *i[axis + 1 :])]), te.const(0.0, computed)
        )
        return te.sum(value * value, step)

    total = te.compute(out.shape, square)

    def element(*i: te.Expr) -> te.Expr:
        divisor = te.call("pow", total[i] * (alpha / size) + bias, te.const(beta, computed))
        return te.cast(widened(data[i]) / divisor, out.dtype)

    return te.compute(out.shape, element)


def _lrn_in_arithmetic(site: Backward) -> Expr:
    """The squares of neighbors are shifted copies of the squares."""
    (data,) = site.args
    known, dtype = site.attrs, site.type.dtype
    rank = len(site.type.shape)
    axis = known.axis % rank
    extent = site.type.shape[axis]
    before, after = known.size // 2, (known.size - 1) // 2
    if isinstance(extent, int):
        before, after = min(before, extent), min(after, extent)
    squares = data * data
    widths = [(before, after) if a == axis else (0, 0) for a in range(rank)]
    padded = build("nn.pad", squares, const(0.0, dtype), pad_width=widths)
    total: Expr | None = None
    for first in range(before + after + 1):
        begin = [first if a == axis else 0 for a in range(rank)]
        rest = build("strided_slice", padded, begin=begin, end=[2**31 - 1] * rank)
        part = build("slice_like", rest, data)
        total = part if total is None else total + part
    assert total is not None
    base = total * const(known.alpha / known.size, dtype) + const(known.bias, dtype)
    return data / build("power", base, const(known.beta, dtype))


LRN = define(
    "nn.lrn",
    doc="data / (bias + alpha * m) ** beta, where m is the sum of the squares of the existing "
    "neighbors along the axis, divided by size.",
    arguments=[("data", "the input")],
    attrs=LRNAttrs,
    relation=_lrn_type,
    reference=rounded_once(_lrn),
    compute=_lrn_compute,
    layout=layout_rules.along_axis(),
    precision=Precision.FOLLOW,
    samples=[
        sample((2, 7, 3, 4)),
        sample((2, 6, 3), size=3, alpha=2.0, beta=1.5, bias=0.5, dtype="float64"),
        sample((2, 3, 3, 6), size=4, axis=-1, alpha=0.5, dtype="float16"),
        sample((2, 0, 3), alpha=1.0),
    ],
    gradient=Composed(_lrn_in_arithmetic),
)
lrn = helper(LRN, "Local response normalization over adjacent channels.", bias=2, alpha=1e-05)
