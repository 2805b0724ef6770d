"""Loss functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from relay import te
from relay.ir.attrs import Attrs, attrs
from relay.ir.expr import Expr, const
from relay.ir.types import TensorType, Type
from relay.op.building.elements import Indices, folded
from relay.op.building.numerics import rounded_once
from relay.op.building.scalars import wide, widened
from relay.op.gradient_rules import ArgumentGradient, Backward, Composed, build
from relay.op.opdef import Compute, FusionKind, Selection, Tensor, define, sample
from relay.op.site import FLOATING, INTEGER, Site

# --- cross entropy -----------------------------------------------------------------------------


def _cross_entropy_type(site: Site) -> Type | None:
    """((n, c), (n, c)) -> (), of one element type; inferred from either argument."""
    found = [site.tensor(index, rank=2) for index in (0, 1)]
    known = found[1] if found[0] is None else found[0]
    if known is None:
        return None
    for index in (0, 1):
        site.require_elements(index, FLOATING)
        site.expect(index, known.shape, known.dtype)
    return TensorType((), known.dtype)


def _cross_entropy_with_logits(x: np.ndarray, y: np.ndarray) -> Any:
    return -(x * y).sum(dtype=x.dtype) / x.dtype.type(x.shape[0])


def _entropy(logarithm: Callable[[te.Expr], te.Expr]) -> Compute:
    def compute(x: te.Tensor, y: te.Tensor, out: te.Spec) -> te.Tensor:
        total = folded(x.shape, (0, 1), lambda i: logarithm(widened(x[i])) * widened(y[i]), te.sum)
        rows = te.cast(x.shape[0], wide(out.dtype))
        return te.compute((), lambda: te.cast(-total[()] / rows, out.dtype))

    return compute


def _per_row(site: Backward) -> Expr:
    """Minus the gradient, divided by the number of rows."""
    rows = build("take", build("shape_of", site.args[0], dtype="int64"), const(0), axis=0)
    return -(site.gradient / rows.astype(site.type.dtype))


def _cross_entropy_gradient(site: Backward) -> Sequence[ArgumentGradient]:
    x, y = site.args
    share = _per_row(site)
    return [share * y / x, share * build("log", x)]


def _logits_gradient(site: Backward) -> Sequence[ArgumentGradient]:
    x, y = site.args
    share = _per_row(site)
    return [share * y, share * x]


cross_entropy = define(
    "nn.cross_entropy",
    doc="The sum of -y * log(x), divided by the number of rows.",
    arguments=[("x", "predicted probabilities, a row each"), ("y", "the true probabilities")],
    relation=_cross_entropy_type,
    reference=rounded_once(lambda x, y: _cross_entropy_with_logits(np.log(x), y)),
    compute=_entropy(lambda x: te.call("log", x)),
    samples=[
        sample((2, 3), (2, 3), low=0.1, high=1),
        sample((4, 1), (4, 1), low=0.1, high=1, dtype="float64"),
        sample((3, 5), (3, 5), low=0.1, high=1, dtype="float16"),
    ],
    gradient=_cross_entropy_gradient,
)

cross_entropy_with_logits = define(
    "nn.cross_entropy_with_logits",
    doc="The sum of -x * y, divided by the number of rows.",
    arguments=[
        ("x", "logarithms of predicted probabilities, a row each"),
        ("y", "the true probabilities"),
    ],
    relation=_cross_entropy_type,
    reference=rounded_once(_cross_entropy_with_logits),
    compute=_entropy(lambda x: x),
    samples=[
        sample((2, 3), (2, 3)),
        sample((4, 1), (4, 1), dtype="float64"),
        sample((3, 5), (3, 5), dtype="bfloat16"),
    ],
    gradient=_logits_gradient,
)

# --- negative log likelihood -------------------------------------------------------------------


@attrs
class NLLLossAttrs(Attrs):
    """reduction: "mean" is the sum divided by the sum of the weights, "none" one loss per target
    ignore_index: the target to ignore
    """

    reduction: Literal["mean", "sum", "none"] = "mean"
    ignore_index: int = -100


def _class_axis(rank: int) -> int:
    """The axis of the classes, after an optional batch."""
    return min(rank - 1, 1)


def _nll_loss_type(site: Site) -> Type | None:
    """((n, c, …), (n, …), (c,)) -> () or (n, …)"""
    site.require_elements(0, FLOATING)
    site.require_elements(1, INTEGER)
    site.require_rank(0, at_least=1)
    predictions, targets = site.tensor(0), site.tensor(1)
    if predictions is None:
        return None
    axis = _class_axis(len(predictions.shape))
    site.expect(2, (predictions.shape[axis],), predictions.dtype)
    shape = (*predictions.shape[:axis], *predictions.shape[axis + 1 :])
    if targets is not None:
        shape = site.expect(1, shape, targets.dtype).shape
    return TensorType(shape if site.attrs.reduction == "none" else (), predictions.dtype)


def _nll_loss(
    predictions: np.ndarray,
    targets: np.ndarray,
    weights: np.ndarray,
    reduction: str,
    ignore_index: int,
) -> Any:
    axis = _class_axis(predictions.ndim)
    wanted = targets.astype(np.int64)
    counts = (wanted != ignore_index) & (wanted >= 0) & (wanted < len(weights))
    if not len(weights):  # no valid target: read zeros
        predictions = np.zeros((*targets.shape[:axis], 1, *targets.shape[axis:]), weights.dtype)
        weights = np.zeros(1, weights.dtype)
    inside = np.where(counts, wanted, 0)
    chosen = np.take_along_axis(predictions, np.expand_dims(inside, axis), axis).squeeze(axis)
    zero = predictions.dtype.type(0)
    weight = np.where(counts, weights[inside], zero)
    losses = np.where(counts, -chosen * weight, zero)
    if reduction == "none":
        return losses
    total = losses.sum(dtype=losses.dtype)
    return total if reduction == "sum" else total / weight.sum(dtype=weight.dtype)


def _nll_loss_compute(
    predictions: te.Tensor,
    targets: te.Tensor,
    weights: te.Tensor,
    out: te.Spec,
    reduction: str,
    ignore_index: int,
) -> te.Tensor:
    axis = _class_axis(predictions.rank)
    zero = te.const(0.0, wide(out.dtype))

    def of_target(indices: Indices) -> tuple[te.Expr, te.Expr]:
        """The loss and the weight of its class; both 0 where the target is ignored."""
        wanted = te.index(targets[indices])
        counts = te.every(
            te.not_equal(wanted, ignore_index), wanted >= 0, wanted < weights.shape[0]
        )
        chosen = widened(predictions[(*indices[:axis], wanted, *indices[axis:])])
        weight = widened(weights[wanted])
        return te.select(counts, -chosen * weight, zero), te.select(counts, weight, zero)

    if reduction == "none":
        return te.compute(out.shape, lambda *i: te.cast(of_target(i)[0], out.dtype))
    every = range(targets.rank)
    total = folded(targets.shape, every, lambda i: of_target(i)[0], te.sum)
    if reduction == "sum":
        return te.compute((), lambda: te.cast(total[()], out.dtype))
    weight = folded(targets.shape, every, lambda i: of_target(i)[1], te.sum)
    return te.compute((), lambda: te.cast(total[()] / weight[()], out.dtype))


def _nll_loss_in_arithmetic(site: Backward) -> Expr:
    """The prediction for each target, read at its class."""
    predictions, targets, weights = site.args
    known = site.attrs
    axis = _class_axis(len(site.tensor_type(predictions).shape))
    wanted = build("cast", targets, dtype="int64")
    classes = build("shape_of", weights, dtype="int64")
    count = build("reshape", classes, newshape=())
    inside = build("logical_and", build("greater_equal", wanted, const(0, "int64")), wanted < count)
    ignored = build("equal", wanted, const(known.ignore_index, "int64"))
    counts = build("logical_and", inside, build("logical_not", ignored))
    places = build("where", counts, wanted, build("zeros_like", wanted))
    chosen = build("gather", predictions, build("expand_dims", places, axis=axis), axis=axis)
    chosen = build("squeeze", chosen, axis=[axis])
    weight = build("take", weights, places, axis=0)
    zero = build("zeros_like", weight)
    weight = build("where", counts, weight, zero)
    losses = build("where", counts, -(chosen * weight), zero)
    if known.reduction == "none":
        return losses
    total = build("sum", losses)
    return total if known.reduction == "sum" else total / build("sum", weight)


nll_loss = define(
    "nn.nll_loss",
    doc="Minus the prediction for the target class, times the weight of the class. A target "
    "outside of the classes is ignored.",
    arguments=[
        ("predictions", "logarithms of probabilities: (n, classes, …), or (classes,)"),
        ("targets", "true classes, integers: (n, …), or ()"),
        ("weights", "the weight of each class"),
    ],
    attrs=NLLLossAttrs,
    relation=_nll_loss_type,
    reference=rounded_once(_nll_loss),
    compute=_nll_loss_compute,
    selects=lambda known, types: [
        Selection(1, axes=(_class_axis(len(types[0].shape)),), ignored=known.ignore_index)
    ],
    fusion=FusionKind.OUT_ELEMWISE_FUSABLE,
    samples=[
        sample((4, 3), Tensor((4,), "int32", 0, 3), (3,)),
        sample((4, 3), Tensor((4,), "int64", 0, 3), (3,), reduction="sum", ignore_index=1),
        sample((4, 3, 2), Tensor((4, 2), "int32", 0, 3), (3,), reduction="none", ignore_index=2),
        sample((5, 3), Tensor((5,), "int32", 0, 3), (3,), low=0.1, ignore_index=0, dtype="float16"),
        sample((3,), Tensor((), "int32", 0, 3), (3,), dtype="float64"),
    ],
    gradient=Composed(_nll_loss_in_arithmetic),
)
