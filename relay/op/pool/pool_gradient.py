"""Gradients of pooling with respect to its input."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from relay.ir.expr import Call
from relay.ir.types import Type
from relay.op.attributes import with_attrs
from relay.op.building.helper import helper
from relay.op.building.layout_rules import POOL_GRADIENT
from relay.op.building.layouts import blocked, unblocked
from relay.op.building.numerics import limits, rounded_once
from relay.op.building.window import AvgPoolAttrs, PoolAttrs, overlapped, pad_pairs
from relay.op.opdef import Compute, FusionKind, OpDef, Sample, define, sample
from relay.op.pool import pool_compute, pool_rules
from relay.op.pool.pool import (
    AvgPool2DAttrs,
    MaxPool2DAttrs,
    counted,
    pool_windows,
    pooled_type,
)
from relay.op.site import FLOATING, Site


def _gradient_type(site: Site) -> Type | None:
    """The type of data; the gradient has the type of the pool."""
    site.require_elements(1, FLOATING)
    if (pooled := pooled_type(site, 1)) is None:
        return None
    site.expect(0, pooled.shape, pooled.dtype)
    return site.tensor(1)


# (gradient, data), both (n, c, x…) -> the share of each element in each window
Share = Callable[[np.ndarray, np.ndarray], np.ndarray]


def _shared(out_grad: np.ndarray, data: np.ndarray, share: Share, known: PoolAttrs) -> np.ndarray:
    """The sum of the shares of each element in the gradients of its windows."""
    letters = "NC" + known.spatial
    x = unblocked(data, known.layout, letters)
    parts = share(unblocked(out_grad, known.out_layout or known.layout, letters), x)
    pads = pad_pairs(known.padding, known.axes)
    result = overlapped(parts, x.shape[2:], known.strides, known.dilation, pads)
    return blocked(result, letters, known.layout)


def max_pool_gradient(out_grad: np.ndarray, data: np.ndarray, known: PoolAttrs) -> Any:
    """The gradient of a window goes to its first maximum."""

    def share(grad: np.ndarray, x: np.ndarray) -> np.ndarray:
        view = pool_windows(x, limits(x.dtype)[0], known)
        inside = pool_windows(np.ones((1, 1, *x.shape[2:]), bool), False, known)
        flat = view.reshape(*view.shape[: x.ndim], prod(known.pool_size))
        there = np.broadcast_to(inside, view.shape).reshape(flat.shape)
        maximum = flat.max(-1, keepdims=True)
        hits = there & ((flat == maximum) | np.isnan(flat))
        first = hits & (hits.cumsum(-1) == 1)
        return np.where(first, grad[..., None], x.dtype.type(0)).reshape(view.shape)

    return _shared(out_grad, data, share, known)


def avg_pool_gradient(out_grad: np.ndarray, data: np.ndarray, known: AvgPoolAttrs) -> Any:
    """The gradient of a window is divided evenly among its elements."""

    def share(grad: np.ndarray, x: np.ndarray) -> np.ndarray:
        part = grad / counted(x.shape[2:], known).astype(grad.dtype)
        return np.broadcast_to(part[..., None, None], (*part.shape, *known.pool_size))

    return _shared(out_grad, data, share, known)


def _define(
    kind: str, effect: str, attrs: type[PoolAttrs], *samples: Sample
) -> tuple[OpDef, Callable[..., Call]]:
    pool, is_max = f"{kind}_pool2d", kind == "max"
    reference: Callable[..., Any] = max_pool_gradient if is_max else avg_pool_gradient
    compute: Compute = pool_compute.max_pool_gradient if is_max else pool_compute.avg_pool_gradient
    record = define(
        f"nn.{pool}_grad",
        doc=f"The gradient of `nn.{pool}` with respect to its input: that of a window {effect}.",
        arguments=[("out_grad", "the gradient of the result of the pool"), ("data", "its input")],
        attrs=attrs,
        relation=_gradient_type,
        reference=rounded_once(with_attrs(attrs, reference)),
        compute=with_attrs(attrs, compute),
        layout=POOL_GRADIENT,
        fusion=FusionKind.OUT_ELEMWISE_FUSABLE,
        gradient=pool_rules.max_pool_grad_gradient if is_max else pool_rules.avg_pool_grad_gradient,
        samples=samples,
    )
    summary = f"The gradient of `{pool}` with respect to its input."
    sizes: Any = {"pool_size": (1, 1), "padding": (0, 0)}
    return record, helper(record, summary, without=("dilation",), **sizes)


MAX_POOL2D_GRAD, max_pool2d_grad = _define(
    "max",
    "goes to its first maximum",
    MaxPool2DAttrs,
    sample((1, 2, 4, 5), (1, 2, 5, 7), pool_size=(2, 3)),
    sample((1, 2, 4, 3), (1, 2, 6, 7), pool_size=3, strides=(2, 3), padding=1, ceil_mode=True),
    sample((1, 4, 4, 2), (1, 6, 5, 2), pool_size=2, dilation=(2, 1), layout="NHWC"),
    sample((1, 5, 5, 1), (1, 1, 5, 5), pool_size=3, padding=1, out_layout="NHWC"),
    sample((1, 1, 2, 2), (1, 1, 4, 4), pool_size=2, strides=2, dtype="float16"),
)
AVG_POOL2D_GRAD, avg_pool2d_grad = _define(
    "avg",
    "is divided among its elements",
    AvgPool2DAttrs,
    sample((1, 2, 4, 5), (1, 2, 5, 7), pool_size=(2, 3)),
    sample((1, 2, 4, 3), (1, 2, 6, 7), pool_size=3, strides=(2, 3), padding=1, ceil_mode=True),
    sample((1, 1, 5, 5), (1, 1, 5, 5), pool_size=3, padding=1, count_include_pad=True),
    sample((1, 4, 4, 2), (1, 6, 5, 2), pool_size=2, dilation=(2, 1), layout="NHWC"),
    sample((1, 5, 5, 1), (1, 1, 5, 5), pool_size=3, padding=1, out_layout="NHWC"),
    sample((1, 1, 2, 2), (1, 1, 4, 4), pool_size=2, strides=2, dtype="bfloat16"),
)
