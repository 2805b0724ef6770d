"""Activation functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Unpack

import numpy as np

from relay import te
from relay.ir.attrs import Attrs, attrs
from relay.ir.expr import Call, Expr
from relay.ir.types import Type
from relay.op.building import layout_rules, scalars
from relay.op.building.elements import Indices, elementwise, folded, without
from relay.op.building.numerics import rounded_once
from relay.op.building.scalars import Function, wide
from relay.op.facts import Facts, Precision, Trait, at_least_zero
from relay.op.gradient_rules import Backward, along_axis, build
from relay.op.nn.norm import along, with_channels
from relay.op.opdef import Compute, FusionKind, OpDef, define, sample
from relay.op.relations import same_numeric_type, same_type_float
from relay.op.site import FLOATING, Site
from relay.op.tensor import fast
from relay.op.tensor.reduce import sum_
from relay.op.tensor.unary import zeros_like


def _relu_gradient(site: Backward) -> Sequence[Expr]:
    """The gradient where the result is positive, and where it is NaN: so that data is not kept."""
    negative = site.output <= site.number(0)
    return [build("where", negative, zeros_like(site.gradient), site.gradient)]


relu = define(
    "nn.relu",
    doc="max(data, 0); NaN stays NaN.",
    arguments=[("data", "the input")],
    relation=same_numeric_type,
    reference=rounded_once(lambda data: np.maximum(data, data.dtype.type(0))),
    compute=elementwise(lambda data: te.maximum(data, 0)),
    fusion=FusionKind.ELEMWISE,
    traits=Trait.HOMOGENEOUS,
    precision=Precision.FOLLOW,
    sign=at_least_zero,
    gradient=_relu_gradient,
    samples=[sample((2, 3)), sample((), dtype="int32"), sample((0, 4), dtype="float16")],
)


@attrs
class LeakyReluAttrs(Attrs):
    """alpha: the slope below 0"""

    alpha: float = 0.25


def leaky_relu(data: Expr, alpha: float = 0.01) -> Call:
    """max(data, 0) + alpha * min(data, 0)."""
    return LEAKY_RELU(data, alpha=alpha)


def _leaky_relu_gradient(site: Backward) -> Sequence[Expr]:
    positive = site.args[0] > site.number(0)
    below = site.gradient * site.number(site.attrs.alpha)
    return [build("where", positive, site.gradient, below)]


LEAKY_RELU = define(
    "nn.leaky_relu",
    doc="max(data, 0) + alpha * min(data, 0); NaN stays NaN.",
    arguments=[("data", "the input")],
    attrs=LeakyReluAttrs,
    relation=same_type_float,
    reference=rounded_once(
        lambda data, alpha: np.where(data > 0, data, data * data.dtype.type(alpha))
    ),
    compute=elementwise(
        scalars.rounded_once(lambda data, alpha: te.select(data > 0, data, data * alpha))
    ),
    fusion=FusionKind.ELEMWISE,
    layout=layout_rules.elementwise,
    traits=Trait.HOMOGENEOUS,
    precision=Precision.FOLLOW,
    helper=leaky_relu,
    samples=[sample((2, 3)), sample((4,), alpha=0.1, dtype="float16")],
    gradient=_leaky_relu_gradient,
)


@attrs
class PReluAttrs(Attrs):
    """axis: the axis of the channels"""

    axis: int = 1


def _prelu_type(site: Site) -> Type | None:
    """The type of data; there is one slope per channel."""
    site.require_elements(0, FLOATING)
    data = site.tensor(0)
    return None if data is None else with_channels(site, data, range(1, 2))


def _prelu(data: np.ndarray, alpha: np.ndarray, axis: int) -> Any:
    return np.where(data > 0, data, data * along(alpha, data.ndim, axis))


def _prelu_compute(data: te.Tensor, alpha: te.Tensor, out: te.Spec, axis: int) -> te.Tensor:
    def element(*i: te.Expr) -> te.Expr:
        x = data[i]
        return te.select(x > 0, x, x * alpha[i[axis]])

    return te.compute(out.shape, element)


def _prelu_gradient(site: Backward) -> Sequence[Expr]:
    """The gradient with respect to a slope is the sum over its channel."""
    data, alpha = site.args
    rank = len(site.type.shape)
    axis = site.attrs.axis % rank
    stretched = along_axis(alpha, axis, rank)
    positive = data > site.number(0)
    by_data = build("where", positive, site.gradient, site.gradient * stretched)
    by_alpha = build("where", positive, zeros_like(data), site.gradient * data)
    return [by_data, sum_(by_alpha, axis=(axis,), exclude=True)]


prelu = define(
    "nn.prelu",
    doc="Leaky ReLU with a slope per channel; NaN stays NaN.",
    arguments=[("data", "the input"), ("alpha", "the slope below 0 of each channel")],
    attrs=PReluAttrs,
    relation=_prelu_type,
    reference=rounded_once(_prelu),
    compute=_prelu_compute,
    fusion=FusionKind.BROADCAST,
    layout=layout_rules.along_axis(),
    traits=Trait.HOMOGENEOUS,
    precision=Precision.FOLLOW,
    samples=[
        sample((2, 3, 4), (3,)),
        sample((2, 3, 4), (4,), axis=-1, dtype="bfloat16"),
        sample((5,), (5,), axis=0, dtype="float64"),
    ],
    gradient=_prelu_gradient,
)


@attrs
class SoftmaxAttrs(Attrs):
    """axis: the axis along which the results add up to 1"""

    axis: int = -1


def _softmax_type(site: Site) -> Type | None:
    """The same type; the axis must exist."""
    if (data := site.tensor(0)) is not None:
        site.axis(site.attrs.axis, len(data.shape))
    return same_type_float(site)


def _shifted(data: np.ndarray, axis: int) -> Any:
    """Data minus its maximum along the axis: avoids overflow without changing quotients."""
    return data - data.max(axis, keepdims=True, initial=-np.inf)


def _softmax(data: np.ndarray, axis: int) -> Any:
    powers = np.exp(_shifted(data, axis))
    return powers / powers.sum(axis, keepdims=True)


def _log_softmax(data: np.ndarray, axis: int) -> Any:
    shifted = _shifted(data, axis)
    return shifted - np.log(np.exp(shifted).sum(axis, keepdims=True))


def _stages(
    data: te.Tensor, axis: int, exp: Function
) -> tuple[te.Tensor, te.Tensor, te.Tensor, tuple[int]]:
    """The maximum along the axis, exp(data - maximum), and its sum, in wide types."""
    axes = (axis % data.rank,)

    def element(indices: Indices) -> te.Expr:
        return te.cast(data[indices], wide(data.dtype))

    highest = folded(data.shape, axes, element, te.max)
    powers = te.compute(data.shape, lambda *i: exp(element(i) - highest[without(i, axes)]))
    total = folded(data.shape, axes, lambda i: powers[i], te.sum)
    return highest, powers, total, axes


def _softmax_compute(exp: Function) -> Callable[[te.Tensor, te.Spec, int], te.Tensor]:
    def compute(data: te.Tensor, out: te.Spec, axis: int) -> te.Tensor:
        _, powers, total, axes = _stages(data, axis, exp)
        # the sum is at least 1; one division per row
        inverse = te.compute(total.shape, lambda *i: 1.0 / total[i])
        return te.compute(
            out.shape, lambda *i: te.cast(powers[i] * inverse[without(i, axes)], out.dtype)
        )

    return compute


def _log_softmax_compute(data: te.Tensor, out: te.Spec, axis: int) -> te.Tensor:
    highest, _, total, axes = _stages(data, axis, _exp)
    # log-sum-exp without overflow
    whole = te.compute(total.shape, lambda *i: te.call("log", total[i]))

    def element(*i: te.Expr) -> te.Expr:
        row = without(i, axes)
        shifted = te.cast(data[i], wide(data.dtype)) - highest[row]
        return te.cast(shifted - whole[row], out.dtype)

    return te.compute(out.shape, element)


def _exp(value: te.Expr) -> te.Expr:
    return te.call("exp", value)


def _define(
    name: str,
    doc: str,
    reference: Any,
    compute: Compute,
    **facts: Unpack[Facts],
) -> OpDef:
    facts = {"layout": layout_rules.along_axis(), **facts}
    return define(
        name,
        doc=doc,
        arguments=[("data", "the input")],
        attrs=SoftmaxAttrs,
        relation=_softmax_type,
        reference=rounded_once(reference),
        compute=compute,
        fusion=FusionKind.OUT_ELEMWISE_FUSABLE,
        samples=[
            sample((2, 3)),
            sample((2, 3, 4), axis=1, dtype="float64"),
            sample((3,), axis=0, dtype="bfloat16"),
            sample((0, 3)),
        ],
        **facts,
    )


def _softmax_gradient(site: Backward) -> Sequence[Expr]:
    weighted = site.gradient * site.output
    total = sum_(weighted, axis=site.attrs.axis, keepdims=True)
    return [weighted - site.output * total]


def _log_softmax_gradient(site: Backward) -> Sequence[Expr]:
    total = sum_(site.gradient, axis=site.attrs.axis, keepdims=True)
    return [site.gradient - build("exp", site.output) * total]


exact_softmax = _softmax_compute(_exp)
softmax = _define(
    "nn.softmax",
    "exp(data) divided by its sum along an axis.",
    _softmax,
    exact_softmax,
    gradient=_softmax_gradient,
    row_reductions=2,
)
log_softmax = _define(
    "nn.log_softmax",
    "The logarithm of `nn.softmax`.",
    _log_softmax,
    _log_softmax_compute,
    row_reductions=2,
    gradient=_log_softmax_gradient,
)
fast_softmax = _define(
    "nn.fast_softmax",
    "`nn.softmax`, of which an executor may compute the exponential approximately.",
    _softmax,
    _softmax_compute(fast.exp_element),
    approximates=softmax.name,
    row_reductions=2,
    gradient=_softmax_gradient,
)
