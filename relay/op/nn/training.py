"""Operators in training: batch normalization by the statistics of the batch, random dropout.

    out, mean, var = relay.nn.batch_norm_training(x, gamma, beta, moving_mean, moving_var)
    key, out = relay.nn.dropout_training(key, x, rate=0.1)

What they keep from step to step, running statistics and the generator, are results to be handed to
the next step. `relay.transform.SimplifyInference` leaves them alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from relay import dtypes, te
from relay.ir.attrs import Attrs, attrs
from relay.ir.expr import Expr, Tuple, const
from relay.ir.types import TensorType, TupleType, Type
from relay.op.building.elements import Indices, folded, size, without
from relay.op.building.helper import unpacked
from relay.op.building.numerics import computing_dtype
from relay.op.building.scalars import widened
from relay.op.facts import Precision
from relay.op.gradient_rules import ArgumentGradient, Backward, along_axis, build
from relay.op.nn.norm import BatchNormAttrs, along, batch_norm_type
from relay.op.opdef import define, sample
from relay.op.random import threefry
from relay.op.random.draw import GENERATOR, share_of, shares
from relay.op.site import FLOATING, Site

# --- batch normalization -----------------------------------------------------------------------


@attrs
class BatchNormTrainingAttrs(BatchNormAttrs):
    """momentum: the share of the batch in the new moving statistics"""

    momentum: float = 0.1


def _batch_norm(
    data: np.ndarray,
    gamma: np.ndarray,
    beta: np.ndarray,
    moving_mean: np.ndarray,
    moving_var: np.ndarray,
    axis: int,
    epsilon: float,
    center: bool,
    scale: bool,
    momentum: float,
) -> tuple[Any, ...]:
    wide = computing_dtype(data.dtype)
    x, axes = data.astype(wide), tuple(a for a in range(data.ndim) if a != axis % data.ndim)
    count = wide.type(x.size / max(1, gamma.size))
    mean = x.sum(axes) / count
    centered = x - along(mean, data.ndim, axis)
    var = np.square(centered).sum(axes) / count
    result = centered / along(np.sqrt(var + wide.type(epsilon)), data.ndim, axis)
    if scale:
        result = result * along(gamma.astype(wide), data.ndim, axis)
    if center:
        result = result + along(beta.astype(wide), data.ndim, axis)
    share = wide.type(momentum)
    unbiased = var * (count / np.maximum(count - 1, wide.type(1)))
    moved = [
        (before.astype(wide) * (1 - share) + here * share).astype(data.dtype)
        for before, here in ((moving_mean, mean), (moving_var, unbiased))
    ]
    return result.astype(data.dtype), *moved


def _batch_norm_compute(
    data: te.Tensor,
    gamma: te.Tensor,
    beta: te.Tensor,
    moving_mean: te.Tensor,
    moving_var: te.Tensor,
    out: tuple[te.Spec, ...],
    axis: int,
    epsilon: float,
    center: bool,
    scale: bool,
    momentum: float,
) -> tuple[te.Tensor, ...]:
    channel = axis % data.rank
    axes = [a for a in range(data.rank) if a != channel]
    count = size([data.shape[a] for a in axes])

    def average(value: te.Expr, over: Sequence[te.Axis]) -> te.Expr:
        return te.sum(value, over) / te.cast(count, value.dtype)

    mean = folded(data.shape, axes, lambda i: widened(data[i]), average)

    def square(i: Indices) -> te.Expr:
        distance = widened(data[i]) - mean[without(i, axes)]
        return distance * distance

    var = folded(data.shape, axes, square, average)

    def element(*i: te.Expr) -> te.Expr:
        c = i[channel]
        result: te.Expr = (widened(data[i]) - mean[c]) / te.call("sqrt", var[c] + epsilon)
        if scale:
            result = result * widened(gamma[c])
        if center:
            result = result + widened(beta[c])
        return te.cast(result, data.dtype)

    def moved(before: te.Tensor, here: te.Tensor, unbiased: bool) -> te.Tensor:
        def element(c: te.Expr) -> te.Expr:
            value: te.Expr = here[c]
            if unbiased:
                whole = te.cast(count, value.dtype)
                value = value * (whole / te.maximum(whole - 1.0, 1.0))
            total = widened(before[c]) * (1 - momentum) + value * momentum
            return te.cast(total, before.dtype)

        return te.compute(before.shape, element)

    return (
        te.compute(out[0].shape, element),
        moved(moving_mean, mean, False),
        moved(moving_var, var, True),
    )


def statistics(data: Expr, axis: int, rank: int) -> tuple[Expr, Expr, tuple[int, ...]]:
    """The mean and the variance of each channel with all axes kept, and the axes of the others."""
    axes = tuple(a for a in range(rank) if a != axis % rank)
    mean = build("mean", data, axis=axes, keepdims=True)
    return mean, build("variance", data, mean, axis=axes, keepdims=True), axes


Conversion = Callable[[Expr], Expr]


def _conversions(dtype: str) -> tuple[str, Conversion, Conversion]:
    """The element type that is computed with, and conversions to it and back."""
    wide = dtypes.from_numpy(computing_dtype(dtypes.to_numpy(dtype)))
    if wide == dtype:
        return wide, lambda value: value, lambda value: value
    return (
        wide,
        lambda value: build("cast", value, dtype=wide),
        lambda value: build("cast", value, dtype=dtype),
    )


def _batch_norm_gradient(site: Backward) -> Sequence[ArgumentGradient]:
    """With n elements in a channel, z normalized, and d the gradient times gamma / deviation:
    d - sum(d) / n - z * sum(d * z) / n."""
    data, gamma, *_ = site.args
    known = site.attrs
    ty = site.tensor_type(data)
    wide, widened, rounded = _conversions(ty.dtype)
    rank = len(ty.shape)
    axis = known.axis % rank

    def vector(value: Expr) -> Expr:
        return along_axis(value, axis, rank)

    x = widened(data)
    mean, var, axes = statistics(x, axis, rank)
    sizes = (build("ndarray_size", one, dtype="int64") for one in (data, gamma))
    whole, channels = (build("cast", one, dtype=wide) for one in sizes)
    count = whole / channels
    one = const(1.0, wide)
    inverse = build("rsqrt", build("squeeze", var, axis=axes) + const(known.epsilon, wide))
    slope, by_mean, by_var = site.gradients
    by_data: list[Expr] = []
    found: list[ArgumentGradient] = [None] * 5
    centered = x - mean
    if slope is not None:
        slope = widened(slope)
        total = build("sum", slope, axis=axes)
        moment = build("sum", slope * centered, axis=axes) * inverse
        factor = inverse * widened(gamma) if known.scale else inverse
        by_data.append(vector(factor) * (slope - vector(total / count)))
        by_data.append(centered * vector(-(factor * inverse * moment / count)))
        found[1] = rounded(moment) if known.scale else None
        found[2] = rounded(total) if known.center else None
    share, rest = const(known.momentum, wide), const(1 - known.momentum, wide)
    if by_mean is not None:
        by_mean = widened(by_mean)
        by_data.append(build("broadcast_to_like", vector(by_mean * share / count), x))
        found[3] = rounded(by_mean * rest)
    if by_var is not None:
        by_var = widened(by_var)
        least = build("maximum", count - one, one)
        by_data.append(centered * vector(by_var * (share + share) / least))
        found[4] = rounded(by_var * rest)
    result = by_data[0]
    for more in by_data[1:]:
        result = result + more
    found[0] = rounded(result)
    return found


def _batch_norm_expansion(
    known: Any,
    types: Sequence[Type],
    data: Expr,
    gamma: Expr,
    beta: Expr,
    moving_mean: Expr,
    moving_var: Expr,
) -> Expr:
    ty = types[0]
    assert isinstance(ty, TensorType)
    wide, widened, rounded = _conversions(ty.dtype)
    rank = len(ty.shape)
    axis = known.axis % rank

    def number(value: float) -> Expr:
        return const(value, wide)

    x = widened(data)
    mean, var, axes = statistics(x, axis, rank)
    here, spread = (build("squeeze", value, axis=axes) for value in (mean, var))
    factor = build("rsqrt", spread + number(known.epsilon))
    if known.scale:
        factor = factor * widened(gamma)
    result = (x - mean) * along_axis(factor, axis, rank)
    if known.center:
        result = result + along_axis(widened(beta), axis, rank)
    sizes = (build("ndarray_size", one, dtype="int64") for one in (data, gamma))
    whole, channels = (build("cast", one, dtype=wide) for one in sizes)
    count = whole / channels
    unbiased = spread * (count / build("maximum", count - number(1), number(1)))

    def moved(before: Expr, value: Expr) -> Expr:
        kept = widened(before) * number(1 - known.momentum)
        return rounded(kept + value * number(known.momentum))

    return Tuple((rounded(result), moved(moving_mean, here), moved(moving_var, unbiased)))


BATCH_NORM_TRAINING = define(
    "nn.batch_norm_training",
    doc="(data - mean) / sqrt(variance + epsilon) * gamma + beta for each channel, with mean and "
    "variance of the batch, and the moving mean and variance after it: (1 - momentum) * moving + "
    "momentum * that of the batch, whose variance is that of a sample.",
    arguments=[
        ("data", "the input"),
        ("gamma", "the scale of each channel"),
        ("beta", "the offset of each channel"),
        ("moving_mean", "the moving mean of each channel"),
        ("moving_var", "the moving variance of each channel"),
    ],
    attrs=BatchNormTrainingAttrs,
    relation=batch_norm_type,
    reference=_batch_norm,
    compute=_batch_norm_compute,
    precision=Precision.FOLLOW,
    samples=[
        sample((2, 3, 4), (3,), (3,), (3,), (3,), low=0.1),
        sample((2, 3, 4), (4,), (4,), (4,), (4,), low=0.1, axis=-1, epsilon=0.1, momentum=0.3),
        sample((5, 3), (3,), (3,), (3,), (3,), low=0.1, center=False, dtype="float16"),
        sample((4, 3), (3,), (3,), (3,), (3,), low=0.1, scale=False, dtype="float64"),
    ],
    gradient=_batch_norm_gradient,
    expansion=_batch_norm_expansion,
)
batch_norm_training = unpacked(
    BATCH_NORM_TRAINING, "Normalized data, and the moving mean and variance.", 3
)

# --- dropout -----------------------------------------------------------------------------------


@attrs
class DropoutTrainingAttrs(Attrs):
    """rate: the share of the elements that become 0, below 1"""

    rate: float = 0.5


def _dropout_type(site: Site) -> Type | None:
    """(generator, data) -> (generator, data)"""
    site.expect(0, GENERATOR.shape, GENERATOR.dtype)
    site.require_elements(1, FLOATING)
    rate = site.attrs.rate
    site.require(0 <= rate < 1, "`rate` is no share", "0 to 1, without 1", f"rate = {rate}")
    data = site.tensor(1)
    return None if data is None else TupleType((GENERATOR, data))


def _dropout(key: np.ndarray, data: np.ndarray, rate: float) -> tuple[Any, ...]:
    following, words = threefry.take(key, data.size)
    wide = computing_dtype(data.dtype)
    larger = data.astype(wide) * wide.type(1 / (1 - rate))
    kept = shares(words).reshape(data.shape) >= rate
    return following, np.where(kept, larger, wide.type(0)).astype(data.dtype)


def _dropout_compute(
    key: te.Tensor, data: te.Tensor, out: tuple[te.Spec, te.Spec], rate: float
) -> tuple[te.Tensor, ...]:
    following, words = threefry.take_loops(key, out[1].shape)

    def element(*i: te.Expr) -> te.Expr:
        larger = widened(data[i]) * (1 / (1 - rate))
        return te.cast(te.select(share_of(words[i]) >= rate, larger, 0), data.dtype)

    return following, te.compute(out[1].shape, element, "dropout")


def _dropout_gradient(site: Backward) -> Sequence[ArgumentGradient]:
    """The same generator drops the same elements."""
    slope = site.gradients[1]
    assert slope is not None, "a generator has no gradient"
    return [None, DROPOUT_TRAINING(site.args[0], slope, rate=site.attrs.rate)[1]]


DROPOUT_TRAINING = define(
    "nn.dropout_training",
    doc="The next generator, and data / (1 - rate) in which random elements are 0, a share of "
    "`rate` in the mean: element i is kept if number i of the generator, as of `random.uniform`, "
    "is at least `rate`.",
    arguments=[("key", "the generator"), ("data", "the input")],
    attrs=DropoutTrainingAttrs,
    relation=_dropout_type,
    reference=_dropout,
    compute=_dropout_compute,
    precision=Precision.FOLLOW,
    repeatable=False,
    samples=[
        sample(threefry.make_key(1), (2, 3)),
        sample(threefry.make_key(2), (5,), rate=0.2, dtype="float64"),
        sample(threefry.make_key(3), (), rate=0.0, dtype="float16"),
    ],
    gradient=_dropout_gradient,
)
dropout_training = unpacked(DROPOUT_TRAINING, "The next generator, and what dropout leaves.", 2)
