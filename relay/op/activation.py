"""Nonlinear functions of networks."""

from __future__ import annotations

from typing import Any

import numpy as np

from relay.ir.attrs import Attrs, attrs
from relay.ir.expr import Call, Expr
from relay.ir.types import Type
from relay.op.numerics import rounded_once
from relay.op.opdef import FusionKind, OpDef, define, sample
from relay.op.relations import same_numeric_type, same_type_float
from relay.op.site import Site

relu = define(
    "nn.relu",
    doc="max(data, 0); NaN stays NaN.",
    arguments=[("data", "the input")],
    relation=same_numeric_type,
    reference=rounded_once(lambda data: np.maximum(data, data.dtype.type(0))),
    fusion=FusionKind.ELEMWISE,
    samples=[sample((2, 3)), sample((), dtype="int32"), sample((0, 4), dtype="float16")],
)


@attrs
class LeakyReluAttrs(Attrs):
    """alpha: the slope below 0"""

    alpha: float = 0.25


def leaky_relu(data: Expr, alpha: float = 0.01) -> Call:
    """Data where it is positive, alpha * data elsewhere."""
    return LEAKY_RELU(data, alpha=alpha)


LEAKY_RELU = define(
    "nn.leaky_relu",
    doc="data where it is positive, alpha * data elsewhere; NaN stays NaN.",
    arguments=[("data", "the input")],
    attrs=LeakyReluAttrs,
    relation=same_type_float,
    reference=rounded_once(
        lambda data, alpha: np.where(data > 0, data, data * data.dtype.type(alpha))
    ),
    fusion=FusionKind.ELEMWISE,
    helper=leaky_relu,
    samples=[sample((2, 3)), sample((4,), alpha=0.1, dtype="float16")],
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
    """Data less its maximum along the axis, which changes no quotient and avoids overflow."""
    return data - data.max(axis, keepdims=True, initial=-np.inf)


def _softmax(data: np.ndarray, axis: int) -> Any:
    powers = np.exp(_shifted(data, axis))
    return powers / powers.sum(axis, keepdims=True)


def _log_softmax(data: np.ndarray, axis: int) -> Any:
    shifted = _shifted(data, axis)
    return shifted - np.log(np.exp(shifted).sum(axis, keepdims=True))


def _define(name: str, doc: str, reference: Any) -> OpDef:
    return define(
        name,
        doc=doc,
        arguments=[("data", "the input")],
        attrs=SoftmaxAttrs,
        relation=_softmax_type,
        reference=rounded_once(reference),
        fusion=FusionKind.OUT_ELEMWISE_FUSABLE,
        samples=[
            sample((2, 3)),
            sample((2, 3, 4), axis=1, dtype="float64"),
            sample((3,), axis=0, dtype="bfloat16"),
            sample((0, 3)),
        ],
    )


softmax = _define("nn.softmax", "exp(data) divided by its sum along an axis.", _softmax)
log_softmax = _define("nn.log_softmax", "The logarithm of `nn.softmax`.", _log_softmax)
