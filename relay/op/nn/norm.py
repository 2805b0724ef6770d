"""Bias, batch normalization and dropout."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from relay import te
from relay.ir.attrs import Attrs, attrs
from relay.ir.dims import Dim
from relay.ir.expr import (
    Expr,
    Tuple,
    TupleGetItem,
    TupleWrapper,
    const,
)
from relay.ir.types import TensorType, TupleType, Type
from relay.op.building import layout_rules
from relay.op.building.elements import copied, filled
from relay.op.building.helper import unpacked
from relay.op.building.numerics import computing_dtype, rounded_once
from relay.op.building.scalars import widened
from relay.op.facts import Precision
from relay.op.gradient_rules import ArgumentGradient, Backward, Composed, along_axis, build
from relay.op.opdef import FusionKind, define, sample
from relay.op.site import FLOATING, NUMERIC, Site


def with_channels(site: Site, data: TensorType, vectors: range) -> TensorType:
    """The type of data; the arguments `vectors` have one element per channel."""
    axis = site.axis(site.attrs.axis, len(data.shape))
    extent: Dim = data.shape[axis]
    for index in vectors:
        extent = site.expect(index, (extent,), data.dtype).shape[0]
    return TensorType((*data.shape[:axis], extent, *data.shape[axis + 1 :]), data.dtype)


def along(vector: np.ndarray, rank: int, axis: int) -> np.ndarray:
    """A vector reshaped to broadcast along one axis of a tensor of that rank."""
    return vector.reshape([-1 if a == axis % rank else 1 for a in range(rank)])


# --- bias --------------------------------------------------------------------------------------


@attrs
class BiasAddAttrs(Attrs):
    """axis: the axis of the channels"""

    axis: int = 1


def _bias_add_type(site: Site) -> Type | None:
    """The type of data; the bias has one element per channel."""
    site.require_elements(0, NUMERIC)
    data = site.tensor(0)
    return None if data is None else with_channels(site, data, range(1, 2))


def _bias_add_gradient(site: Backward) -> Sequence[ArgumentGradient]:
    axis = site.attrs.axis % len(site.type.shape)
    return [site.gradient, build("sum", site.gradient, axis=(axis,), exclude=True)]


bias_add = define(
    "nn.bias_add",
    doc="data plus a bias per channel; integers wrap.",
    arguments=[("data", "the input"), ("bias", "a value per channel")],
    attrs=BiasAddAttrs,
    relation=_bias_add_type,
    reference=rounded_once(lambda data, bias, axis: data + along(bias, data.ndim, axis)),
    compute=lambda data, bias, out, axis: te.compute(out.shape, lambda *i: data[i] + bias[i[axis]]),
    fusion=FusionKind.BROADCAST,
    layout=layout_rules.bias_add,
    precision=Precision.FOLLOW,
    samples=[
        sample((2, 3, 4), (3,)),
        sample((2, 3, 4), (4,), axis=-1, dtype="int32"),
        sample((5,), (5,), axis=0, dtype="float16"),
    ],
    gradient=_bias_add_gradient,
)

# --- batch normalization -----------------------------------------------------------------------


@attrs
class BatchNormAttrs(Attrs):
    """axis: the axis of the channels
    epsilon: added to the variance, against division by 0
    center: add beta
    scale: multiply by gamma
    """

    axis: int = 1
    epsilon: float = 1e-5
    center: bool = True
    scale: bool = True


def batch_norm_type(site: Site) -> Type | None:
    """(data, (c,), (c,), (c,), (c,)) -> (data, (c,), (c,))"""
    site.require_elements(0, FLOATING)
    if (data := site.tensor(0)) is None:
        return None
    result = with_channels(site, data, range(1, 5))
    channels = TensorType((result.shape[site.attrs.axis],), data.dtype)
    return TupleType((result, channels, channels))


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
) -> tuple[Any, ...]:
    wide = computing_dtype(data.dtype)

    def vector(values: np.ndarray) -> np.ndarray:
        return along(values.astype(wide), data.ndim, axis)

    result = data.astype(wide) - vector(moving_mean)
    result = result / np.sqrt(vector(moving_var) + wide.type(epsilon))
    if scale:
        result = result * vector(gamma)
    if center:
        result = result + vector(beta)
    return result.astype(data.dtype), moving_mean, moving_var


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
) -> tuple[te.Tensor, ...]:
    def factor_of(channel: te.Expr) -> te.Expr:
        inverse = 1.0 / te.call("sqrt", widened(moving_var[channel]) + epsilon)
        return inverse * widened(gamma[channel]) if scale else inverse

    factor = te.compute(gamma.shape, factor_of)

    def element(*i: te.Expr) -> te.Expr:
        channel = i[axis]
        result = (widened(data[i]) - widened(moving_mean[channel])) * factor[channel]
        if center:
            result = result + widened(beta[channel])
        return te.cast(result, data.dtype)

    result = te.compute(out[0].shape, element)
    return result, copied(moving_mean, out[1]), copied(moving_var, out[2])


def _normalized(site: Backward) -> Expr:
    """Batch normalization in arithmetic."""
    data, gamma, beta, mean, var = site.args
    known = site.attrs
    ty = site.tensor_type(data)
    rank = len(ty.shape)
    axis = known.axis % rank

    def vector(value: Expr) -> Expr:
        return along_axis(value, axis, rank)

    factor = build("rsqrt", var + const(known.epsilon, ty.dtype))
    result = (data - vector(mean)) * vector(factor * gamma if known.scale else factor)
    if known.center:
        result = result + vector(beta)
    return Tuple((result, mean, var))


BATCH_NORM = define(
    "nn.batch_norm",
    doc="(data - mean) / sqrt(variance + epsilon) * gamma + beta for each channel, with the mean "
    "and variance given, which are also results two and three.",
    arguments=[
        ("data", "the input"),
        ("gamma", "the scale of each channel"),
        ("beta", "the offset of each channel"),
        ("moving_mean", "the mean of each channel"),
        ("moving_var", "the variance of each channel"),
    ],
    attrs=BatchNormAttrs,
    relation=batch_norm_type,
    reference=_batch_norm,
    compute=_batch_norm_compute,
    fusion=FusionKind.OUT_ELEMWISE_FUSABLE,
    layout=layout_rules.along_axis(results=3),
    precision=Precision.FOLLOW,
    samples=[
        sample((2, 3, 4), (3,), (3,), (3,), (3,), low=0.1),
        sample((2, 3, 4), (4,), (4,), (4,), (4,), low=0.1, axis=-1, epsilon=0.1),
        sample((2, 3), (3,), (3,), (3,), (3,), low=0.1, center=False, dtype="float16"),
        sample((2, 3), (3,), (3,), (3,), (3,), low=0.1, scale=False, dtype="float64"),
    ],
    gradient=Composed(_normalized),
)
batch_norm = unpacked(BATCH_NORM, "Normalized data, the mean and the variance.", 3)

# --- dropout -----------------------------------------------------------------------------------


@attrs
class DropoutAttrs(Attrs):
    """rate: the fraction of elements dropped in training"""

    rate: float = 0.5


def _dropout_type(site: Site) -> Type | None:
    """Data -> (data, data)"""
    site.require_elements(0, FLOATING)
    site.require(
        0 <= site.attrs.rate <= 1, "`rate` is no share", "0 to 1", f"rate = {site.attrs.rate}"
    )
    data = site.tensor(0)
    return None if data is None else TupleType((data, data))


def dropout(data: Expr, rate: float = 0.5) -> Expr:
    """Dropout, which is the identity in inference."""
    return TupleGetItem(dropout_raw(data, rate).tuple_value, 0)


def dropout_raw(data: Expr, rate: float = 0.5) -> TupleWrapper:
    """Dropout with its mask, which is the identity in inference."""
    return TupleWrapper(DROPOUT(data, rate=rate), 2)


DROPOUT = define(
    "nn.dropout",
    doc="data and a mask of ones: nothing is dropped in inference.",
    arguments=[("data", "the input")],
    attrs=DropoutAttrs,
    relation=_dropout_type,
    reference=lambda data, rate: (data, np.ones_like(data)),
    compute=lambda data, out, rate: (copied(data, out[0]), filled(out[1], 1)),
    layout=layout_rules.same_form(results=2),
    precision=Precision.FOLLOW,
    helper=dropout,
    stateful=True,
    samples=[sample((2, 3)), sample((), rate=0.1, dtype="float16")],
    gradient=lambda site: [site.gradients[0]],
)
