"""Reductions: sum, prod, max, min, mean, all, any, argmax, argmin, variance.

A reduction over no elements gives its identity: 0 for a sum, 1 for a product, the lowest value for
a maximum, True for `all`. A mean is NaN (0 for integers) then, the position of an extremum -1.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod as product
from typing import Any, Unpack

import numpy as np

from relay import dtypes, te
from relay.ir.attrs import Attrs, attrs
from relay.ir.dims import Dim
from relay.ir.expr import Call, Expr, const
from relay.ir.types import TensorType, Type
from relay.op.attributes import with_attrs
from relay.op.building import layout_rules, numerics, scalars
from relay.op.building.elements import Indices, folded, position, size, stretched
from relay.op.building.numerics import limits, rounded_once
from relay.op.building.scalars import Function, wide, widened
from relay.op.facts import Facts, Precision, Sign, Trait, always, same_sign
from relay.op.gradient_rules import (
    DISCRETE,
    NO_FLOATS,
    Backward,
    Composed,
    build,
)
from relay.op.opdef import Compute, FusionKind, OpDef, define, sample
from relay.op.site import ADDABLE, BOOLEAN, FLOATING, NUMERIC, Elements, Relation, Site
from relay.op.tensor.extend import broadcast_to_like
from relay.op.tensor.shape import expand_dims, ndarray_size


@attrs
class ReduceAttrs(Attrs):
    """axis: the axes to reduce, one or several; None is all of them
    keepdims: keep reduced axes, with extent 1
    exclude: reduce every axis but those
    """

    axis: tuple[int, ...] | None = None
    keepdims: bool = False
    exclude: bool = False


@attrs
class ArgReduceAttrs(ReduceAttrs):
    """select_last_index: take the last of several positions instead of the first"""

    select_last_index: bool = False


@attrs
class VarianceAttrs(ReduceAttrs):
    """unbiased: divide by the number of elements minus 1"""

    unbiased: bool = False


# --- types -------------------------------------------------------------------------------------


def _reduced(known: ReduceAttrs, rank: int) -> tuple[int, ...]:
    """The reduced axes, as nonnegative indices."""
    if known.axis is None:
        return tuple(range(rank))
    named = {a % rank for a in known.axis}
    return tuple(a for a in range(rank) if (a in named) != known.exclude)


def _reduced_shape(site: Site, data: TensorType, keepdims: bool) -> tuple[Dim, ...]:
    rank = len(data.shape)
    if site.attrs.axis is not None:
        site.axes(site.attrs.axis, rank)
    gone = _reduced(site.attrs, rank)
    if keepdims:
        return tuple(1 if axis in gone else d for axis, d in enumerate(data.shape))
    return tuple(d for axis, d in enumerate(data.shape) if axis not in gone)


def _reduction(kind: Elements | None, dtype: str | None = None) -> Relation:
    """The shape without the reduced axes; the element type of data unless another is given."""

    def relation(site: Site) -> Type | None:
        if kind is not None:
            site.require_elements(0, kind)
        if (data := site.tensor(0)) is None:
            return None
        return TensorType(_reduced_shape(site, data, site.attrs.keepdims), dtype or data.dtype)

    return relation


# --- values ------------------------------------------------------------------------------------


def _over_axes(function: Any) -> Any:
    """A reference from `function(data, axes, keepdims)`."""

    def reference(data: np.ndarray, known: ReduceAttrs) -> Any:
        return function(data, _reduced(known, data.ndim), known.keepdims)

    return rounded_once(with_attrs(ReduceAttrs, reference))


def _mean(data: np.ndarray, axes: tuple[int, ...], keepdims: bool) -> Any:
    exact = numerics.in_64_bits(data)
    total = exact.sum(axes, dtype=exact.dtype, keepdims=keepdims)
    count = np.array(product(data.shape[a] for a in axes), exact.dtype)
    return np.asarray(numerics.divide(total, count)).astype(data.dtype)


def _position(lowest: bool) -> Any:
    def reference(data: np.ndarray, known: ArgReduceAttrs) -> Any:
        axes = _reduced(known, data.ndim)
        kept = tuple(a for a in range(data.ndim) if a not in axes)
        shape = tuple(
            1 if a in axes else d for a, d in enumerate(data.shape) if known.keepdims or a in kept
        )
        count = product(data.shape[a] for a in axes)
        if count == 0:
            return np.full(shape, -1, np.int32)
        rows = data.transpose(*kept, *axes).reshape(*(data.shape[a] for a in kept), count)
        find = np.argmin if lowest else np.argmax
        if known.select_last_index:
            found = count - 1 - find(rows[..., ::-1], axis=-1)
        else:
            found = find(rows, axis=-1)
        return np.asarray(found).reshape(shape).astype(np.int32)

    return rounded_once(with_attrs(ArgReduceAttrs, reference))


# --- tensor expressions ------------------------------------------------------------------------


def _over(combine: Function) -> Compute:
    """A compute from `combine(value, axes)`; partial results have the type of the value."""

    def compute(data: te.Tensor, out: te.Spec, known: ReduceAttrs) -> te.Tensor:
        return folded(
            data.shape,
            _reduced(known, data.rank),
            lambda i: widened(data[i]),
            lambda value, axes: te.cast(combine(value, axes), out.dtype),
            known.keepdims,
        )

    return with_attrs(ReduceAttrs, compute)


def _mean_of(value: te.Expr, axes: Sequence[te.Axis]) -> te.Expr:
    if scalars.is_float(value):
        exact = value
    else:
        exact = te.cast(value, "int64" if value.dtype in dtypes.SIGNED else "uint64")
    count = te.cast(size([axis.extent for axis in axes]), exact.dtype)
    return scalars.divide(te.sum(exact, axes), count)


def _with_truth(on_truth: Function, on_numbers: Function) -> Function:
    """One reduction of bool, another one of numbers."""
    return lambda value, axes: (on_truth if scalars.is_truth(value) else on_numbers)(value, axes)


def _position_of(lowest: bool) -> Compute:
    find = te.argmin if lowest else te.argmax

    def compute(data: te.Tensor, out: te.Spec, known: ArgReduceAttrs) -> te.Tensor:
        gone, select_last_index = _reduced(known, data.rank), known.select_last_index
        count = size([data.shape[a] for a in gone])

        def combine(value: te.Expr, axes: Sequence[te.Axis]) -> te.Expr:
            if scalars.is_truth(value):
                value = te.cast(value, "uint8")
            place = position(axes, [a.extent for a in axes])
            # the first from the end is the last
            place = count - 1 - place if select_last_index else place
            found = find(value, te.cast(place, out.dtype), axes)[1]
            if select_last_index:
                found = te.cast(count - 1, out.dtype) - found
            return te.select(te.equal(count, 0), te.const(-1, out.dtype), found)

        return folded(data.shape, gone, lambda i: widened(data[i]), combine, known.keepdims)

    return with_attrs(ArgReduceAttrs, compute)


# --- the operators -----------------------------------------------------------------------------


def _define(
    name: str,
    doc: str,
    relation: Relation,
    reference: Any,
    compute: Compute,
    *kinds: str,
    **facts: Unpack[Facts],
) -> OpDef:
    facts = {"layout": layout_rules.reduction, **facts}
    return define(
        name,
        doc=doc,
        arguments=[("data", "the input")],
        attrs=ReduceAttrs,
        relation=relation,
        reference=reference,
        compute=compute,
        fusion=FusionKind.COMM_REDUCE,
        samples=[
            made
            for kind in kinds
            for made in (
                sample((2, 3, 4), dtype=kind),
                sample((2, 3, 4), dtype=kind, axis=1),
                sample((2, 3, 4), dtype=kind, axis=(-1, 0), keepdims=True),
                sample((2, 3, 4), dtype=kind, axis=(2,), exclude=True),
                sample((), dtype=kind),
                sample((3, 0), dtype=kind, axis=1),
            )
        ],
        **facts,
    )


def _spread(site: Backward) -> Expr:
    """The gradient at every element that was reduced."""
    return _stretched(site, site.gradient)


def _stretched(site: Backward, value: Expr) -> Expr:
    """A value in the shape of the result, in that of data."""
    data = site.args[0]
    if not site.attrs.keepdims:
        rank = len(site.tensor_type(data).shape)
        for axis in _reduced(site.attrs, rank):
            value = expand_dims(value, axis)
    return broadcast_to_like(value, data)


def _mean_gradient(site: Backward) -> Sequence[Expr]:
    (data,) = site.args
    dtype = site.tensor_type(data).dtype
    before, after = (ndarray_size(one, "int64").astype(dtype) for one in (data, site.output))
    return [_spread(site) * after / before]


def _extremum_gradient(site: Backward) -> Sequence[Expr]:
    """The gradient is shared by all elements that are the extremum."""
    (data,) = site.args
    dtype = site.tensor_type(data).dtype
    chosen = build("equal", data, _stretched(site, site.output)).astype(dtype)
    count = sum_(chosen, site.attrs.axis, True, site.attrs.exclude)
    return [_stretched(site, site.gradient) * chosen / count]


def _product(site: Backward) -> Expr:
    """The last of the cumulative products, whose gradient is right where elements are 0."""
    (data,) = site.args
    rank = len(site.tensor_type(data).shape)
    gone = _reduced(site.attrs, rank)
    kept = [axis for axis in range(rank) if axis not in gone]
    moved = build("transpose", data, axes=(*kept, *gone)) if rank else data
    rows = build("reshape", moved, newshape=(*[0] * len(kept), -1))
    last = build("take", build("cumprod", rows, axis=-1), const(-1), axis=len(kept), mode="wrap")
    return build("reshape_like", last, site.call)


def _variance_gradient(site: Backward) -> Sequence[Expr]:
    data, mean = site.args
    dtype = site.tensor_type(data).dtype
    before, after = (ndarray_size(one, "int64").astype(dtype) for one in (data, site.output))
    count = before / after
    if site.attrs.unbiased:
        count = count - const(1, dtype)
    by_data = _stretched(site, site.gradient) * (data - mean) * const(2, dtype) / count
    return [by_data, -build("collapse_sum_like", by_data, mean)]


sum_ = _define(
    "sum",
    "The sum of the elements, in their type; integers wrap. For bool it is the logical or, as "
    "`add`: to count, `cast` first.",
    _reduction(ADDABLE),
    _over_axes(lambda data, axes, keep: data.sum(axes, dtype=data.dtype, keepdims=keep)),
    _over(_with_truth(te.any, te.sum)),
    "float32",
    "int8",
    "bfloat16",
    "bool",
    traits=Trait.LINEAR,
    sign=lambda signs, attrs: min(signs[0], Sign.NOT_NEGATIVE),  # the sum of no elements is 0
    gradient=lambda site: [_spread(site)],
)
prod = _define(
    "prod",
    "The product of the elements; integers wrap.",
    _reduction(NUMERIC),
    _over_axes(lambda data, axes, keep: data.prod(axes, dtype=data.dtype, keepdims=keep)),
    _over(te.product),
    "float32",
    "int32",
    gradient=Composed(_product),
)
max_ = _define(
    "max",
    "The maximum; NaN if there is one.",
    _reduction(None),
    _over_axes(
        lambda data, axes, keep: data.max(axes, keepdims=keep, initial=limits(data.dtype)[0])
    ),
    _over(_with_truth(te.any, te.max)),
    "float32",
    "uint8",
    "float16",
    "bool",
    traits=Trait.CHOOSES,
    sign=same_sign,
    gradient=_extremum_gradient,
)
min_ = _define(
    "min",
    "The minimum; NaN if there is one.",
    _reduction(None),
    _over_axes(
        lambda data, axes, keep: data.min(axes, keepdims=keep, initial=limits(data.dtype)[1])
    ),
    _over(_with_truth(te.all, te.min)),
    "float32",
    "int64",
    "bool",
    traits=Trait.CHOOSES,
    sign=same_sign,
    gradient=_extremum_gradient,
)
mean = _define(
    "mean",
    "The sum divided by the number of elements. Integers are added up in 64 bits, and the "
    "quotient truncated toward zero.",
    _reduction(NUMERIC),
    _over_axes(_mean),
    _over(_mean_of),
    "float32",
    "int8",
    "float16",
    traits=Trait.LINEAR | Trait.AVERAGES,
    precision=Precision.FOLLOW,
    sign=same_sign,
    gradient=_mean_gradient,
)
all_ = _define(
    "all",
    "Whether all elements are true.",
    _reduction(BOOLEAN),
    _over_axes(lambda data, axes, keep: data.all(axes, keepdims=keep)),
    _over(te.all),
    "bool",
    gradient=NO_FLOATS,
)
any_ = _define(
    "any",
    "Whether any element is true.",
    _reduction(BOOLEAN),
    _over_axes(lambda data, axes, keep: data.any(axes, keepdims=keep)),
    _over(te.any),
    "bool",
    gradient=NO_FLOATS,
)


def _define_position(name: str, doc: str, lowest: bool) -> OpDef:
    return define(
        name,
        doc=doc,
        arguments=[("data", "the input")],
        attrs=ArgReduceAttrs,
        relation=_reduction(None, "int32"),
        reference=_position(lowest),
        compute=_position_of(lowest),
        fusion=FusionKind.COMM_REDUCE,
        precision=Precision.FOLLOW,
        gradient=DISCRETE,
        layout=layout_rules.position,
        samples=[
            sample((2, 3, 4)),
            sample((2, 3, 4), axis=1),
            sample((2, 5), dtype="int32", axis=-1, keepdims=True, select_last_index=True),
            sample((2, 3, 4), dtype="float16", axis=(1,), exclude=True),
            sample((2, 3, 4), axis=(0, 2), keepdims=True),
            sample((3, 0), axis=1),
        ],
    )


argmax = _define_position(
    "argmax",
    "The position of the maximum; NaN counts as the maximum. Along several axes it is the "
    "row-major position.",
    lowest=False,
)
argmin = _define_position(
    "argmin",
    "The position of the minimum; NaN counts as the minimum. Along several axes it is the "
    "row-major position.",
    lowest=True,
)

# --- variance ----------------------------------------------------------------------------------


def _variance_type(site: Site) -> Type | None:
    """Like a sum; the mean has the shape of data with reduced axes of extent 1."""
    site.require_elements(0, FLOATING)
    if (data := site.tensor(0)) is None:
        return None
    site.expect(1, _reduced_shape(site, data, keepdims=True), data.dtype)
    return TensorType(_reduced_shape(site, data, site.attrs.keepdims), data.dtype)


def _variance(data: np.ndarray, mean: np.ndarray, known: VarianceAttrs) -> Any:
    axes = _reduced(known, data.ndim)
    count = product(data.shape[a] for a in axes) - known.unbiased
    squares = np.square(data - mean)
    return squares.sum(axes, dtype=data.dtype, keepdims=known.keepdims) / data.dtype.type(count)


def _variance_compute(
    data: te.Tensor, mean: te.Tensor, out: te.Spec, known: VarianceAttrs
) -> te.Tensor:
    gone = _reduced(known, data.rank)
    count = te.cast(size([data.shape[a] for a in gone]) - int(known.unbiased), wide(out.dtype))

    def square(indices: Indices) -> te.Expr:
        distance = widened(data[indices]) - widened(stretched(mean, indices, data.shape))
        return distance * distance

    return folded(
        data.shape,
        gone,
        square,
        lambda value, axes: te.cast(te.sum(value, axes) / count, out.dtype),
        known.keepdims,
    )


def variance(
    data: Expr,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    exclude: bool = False,
    unbiased: bool = False,
    with_mean: Expr | None = None,
) -> Call:
    """The variance; `with_mean` (axes kept) saves computing the mean."""
    given = mean(data, axis, True, exclude) if with_mean is None else with_mean
    return VARIANCE(data, given, axis, keepdims, exclude, unbiased)


VARIANCE = define(
    "variance",
    doc="The mean squared difference of the elements from a given mean.",
    arguments=[("data", "the input"), ("mean", "its mean, with reduced axes of extent 1")],
    attrs=VarianceAttrs,
    relation=_variance_type,
    reference=rounded_once(with_attrs(VarianceAttrs, _variance)),
    compute=with_attrs(VarianceAttrs, _variance_compute),
    fusion=FusionKind.COMM_REDUCE,
    layout=layout_rules.spread,
    sign=always(Sign.NOT_NEGATIVE),
    helper=variance,
    samples=[
        sample((2, 3, 4), (1, 1, 1)),
        sample((2, 3, 4), (2, 1, 4), axis=1, unbiased=True),
        sample((2, 3), (1, 3), dtype="float16", axis=(1,), exclude=True, keepdims=True),
    ],
    gradient=_variance_gradient,
)
