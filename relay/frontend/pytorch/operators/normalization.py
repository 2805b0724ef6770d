"""Normalization by given statistics, or by those of the data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ml_dtypes

from relay import dtypes, op
from relay.frontend.common.broadcast import broadcastable
from relay.frontend.pytorch.converters import Converters
from relay.frontend.pytorch.node import Node, Size
from relay.frontend.pytorch.shapes import dimensions, to_shape, volume
from relay.ir.dims import Dim
from relay.ir.expr import Expr, TupleGetItem
from relay.op.nn.training import BATCH_NORM_TRAINING

table = Converters()

_finfo: Any = ml_dtypes.finfo  # has no types


def wide_type(node: Node, *operands: Expr | None) -> str:
    """The element type statistics are computed in: float32 at least."""
    types = [node.dtype(one) for one in operands if one is not None]
    return max([*types, "float32"], key=dtypes.bits)


def _vector(node: Node, given: Expr | None, extent: Dim, fill: int, dtype: str) -> Expr:
    """A vector of scales or offsets."""
    if given is not None:
        return node.as_dtype(given, dtype)
    number = node.scalar(fill, dtype)
    if isinstance(extent, int):
        return node.let(op.full(number, (extent,), dtype))
    return node.declare(op.broadcast_to(number, node.sizes([extent])), (extent,), dtype)


# --- by channels ---------------------------------------------------------------------------------


def _by_channels(
    node: Node,
    data: Expr,
    weight: Expr | None,
    bias: Expr | None,
    mean: Expr,
    variance: Expr,
    eps: float,
) -> Expr:
    dtype, wide = node.dtype(data), wide_type(node, data, mean)
    channels = node.shape(data)[1]
    vectors = [
        _vector(node, weight, channels, 1, wide),
        _vector(node, bias, channels, 0, wide),
        node.as_dtype(mean, wide),
        node.as_dtype(variance, wide),
    ]
    found = op.nn.batch_norm(node.as_dtype(data, wide), *vectors, axis=1, epsilon=eps)[0]
    return node.as_dtype(node.let(found), dtype)


def _statistics(node: Node, data: Expr) -> tuple[Expr, Expr]:
    """The mean and variance of each channel."""
    values = node.as_dtype(data, wide_type(node, data))
    axes = tuple(axis for axis in range(node.rank(data)) if axis != 1)
    mean = node.let(op.mean(values, axis=axes, keepdims=True))
    variance = op.variance(values, axes, keepdims=True, with_mean=mean)
    return node.let(op.squeeze(mean, axes)), node.let(op.squeeze(variance, axes))


def _of_batch(
    node: Node,
    data: Expr,
    weight: Expr | None,
    bias: Expr | None,
    running: Sequence[Expr],
    momentum: float,
    eps: float,
) -> tuple[Expr, list[Expr]]:
    """Data normalized by the statistics of the batch, and the running ones after it."""
    dtype, wide = node.dtype(data), wide_type(node, data, *running)
    channels = node.shape(data)[1]
    vectors = [_vector(node, weight, channels, 1, wide), _vector(node, bias, channels, 0, wide)]
    vectors += [node.as_dtype(one, wide) for one in running]
    while len(vectors) < 4:
        vectors.append(_vector(node, None, channels, 0, wide))
    known = {"axis": 1, "epsilon": eps, "momentum": momentum}
    made = node.let(BATCH_NORM_TRAINING(node.as_dtype(data, wide), *vectors, **known))
    found, *moved = (node.let(TupleGetItem(made, place)) for place in range(3))
    after = [node.as_dtype(new, node.dtype(old)) for old, new in zip(running, moved, strict=False)]
    return node.as_dtype(found, dtype), after


def _inverse(node: Node, variance: Expr, eps: float) -> Expr:
    return node.let(op.rsqrt(variance + node.number(eps, variance)))


def _saved_type(node: Node, data: Expr, *weights: Expr | None) -> str:
    """The element type statistics are saved in: that of weights, if there are any."""
    return next((node.dtype(one) for one in weights if one is not None), node.dtype(data))


def _saved(node: Node, statistics: Sequence[Expr], dtype: str) -> list[Expr]:
    return [node.as_dtype(node.let(one), dtype) for one in statistics]


@table("batch_norm")
def batch_norm(
    node: Node,
    input: Expr,
    weight: Expr | None,
    bias: Expr | None,
    running_mean: Expr | None,
    running_var: Expr | None,
    training: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool = False,
) -> Expr:
    if training or running_mean is None or running_var is None:
        return _of_batch(node, input, weight, bias, (), 0.0, eps)[0]
    return _by_channels(node, input, weight, bias, running_mean, running_var, eps)


@table(
    "native_batch_norm",
    "_native_batch_norm_legit",
    "_native_batch_norm_legit_functional",
    "cudnn_batch_norm",
    "miopen_batch_norm",
)
def native_batch_norm(
    node: Node,
    input: Expr,
    weight: Expr | None,
    bias: Expr | None,
    running_mean: Expr | None,
    running_var: Expr | None,
    training: bool,
    momentum: float,
    eps: float,
) -> list[Expr]:
    """Normalized data, the mean and inverse deviation in training, and what runs after it."""
    changed: list[Expr] = []
    running = [one for one in (running_mean, running_var) if one is not None]
    dtype = _saved_type(node, input, weight, bias, *running)
    if training:
        here = _statistics(node, input)
        found, moved = _of_batch(node, input, weight, bias, running, momentum, eps)
        saved = _saved(node, [here[0], _inverse(node, here[1], eps)], dtype)
        if "functional" in node.operator:
            changed = moved
    else:
        found = batch_norm(
            node, input, weight, bias, running_mean, running_var, False, momentum, eps
        )
        saved = [op.zeros((0,), dtype) for _ in range(2)]
        changed = running if "functional" in node.operator else []
    more = [op.zeros((0,), "uint8")] if "cudnn" in node.operator else []
    return [found, *saved, *changed, *more]


@table("_native_batch_norm_legit.no_stats")
def without_running(
    node: Node,
    input: Expr,
    weight: Expr | None,
    bias: Expr | None,
    training: bool,
    momentum: float,
    eps: float,
) -> list[Expr]:
    return native_batch_norm(node, input, weight, bias, None, None, True, momentum, eps)


@table("_native_batch_norm_legit_no_training")
def in_inference(
    node: Node,
    input: Expr,
    weight: Expr | None,
    bias: Expr | None,
    running_mean: Expr,
    running_var: Expr,
    momentum: float,
    eps: float,
) -> list[Expr]:
    running = (running_mean, running_var)
    return native_batch_norm(node, input, weight, bias, *running, False, momentum, eps)


@table("_batch_norm_no_update", "_batch_norm_with_update", "_batch_norm_with_update_functional")
def batch_norm_with_update(
    node: Node,
    input: Expr,
    weight: Expr | None,
    bias: Expr | None,
    running_mean: Expr | None,
    running_var: Expr | None,
    momentum: float,
    eps: float,
) -> list[Expr]:
    """The results of `native_batch_norm`, with an empty tensor after the first three."""
    trains = "with_update" in node.operator
    running = (running_mean, running_var)
    found = native_batch_norm(node, input, weight, bias, *running, trains, momentum, eps)
    return [*found[:3], op.zeros((0,), "uint8"), *found[3:]]


@table("instance_norm")
def instance_norm(
    node: Node,
    input: Expr,
    weight: Expr | None,
    bias: Expr | None,
    running_mean: Expr | None,
    running_var: Expr | None,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool = False,
) -> Expr:
    if not use_input_stats and running_mean is not None and running_var is not None:
        return _by_channels(node, input, weight, bias, running_mean, running_var, eps)
    dtype, wide, channels = node.dtype(input), wide_type(node, input), node.shape(input)[1]
    vectors = (
        _vector(node, weight, channels, 1, wide),
        _vector(node, bias, channels, 0, wide),
    )
    data = node.as_dtype(input, wide)
    found = node.let(op.nn.instance_norm(data, *vectors, axis=1, epsilon=eps))
    return node.as_dtype(found, dtype)


# --- by groups -----------------------------------------------------------------------------------


@table("group_norm")
def group_norm(
    node: Node,
    input: Expr,
    num_groups: int,
    weight: Expr | None = None,
    bias: Expr | None = None,
    eps: float = 1e-05,
    cudnn_enabled: bool = True,
) -> Expr:
    dtype, wide, channels = node.dtype(input), wide_type(node, input), node.shape(input)[1]
    vectors = (
        _vector(node, weight, channels, 1, wide),
        _vector(node, bias, channels, 0, wide),
    )
    data = node.as_dtype(input, wide)
    found = op.nn.group_norm(data, *vectors, num_groups=num_groups, axis=1, epsilon=eps)
    return node.as_dtype(node.let(found), dtype)


@table("native_group_norm")
def native_group_norm(
    node: Node,
    input: Expr,
    weight: Expr | None,
    bias: Expr | None,
    N: Size,
    C: Size,
    HxW: Size,
    group: int,
    eps: float,
) -> list[Expr]:
    """Normalized data, and the mean and inverse deviation of each group."""
    found = node.let(group_norm(node, input, group, weight, bias, eps))
    shape = dimensions(node, input)
    channels = node.static_extent(input, 1, "channels")
    inside = volume(node, [channels // group, *shape[2:]])
    rows = to_shape(node, input, [shape[0], group, inside])
    values = node.as_dtype(rows, wide_type(node, rows))
    mean = node.let(op.mean(values, axis=(2,), keepdims=True))
    variance = node.let(op.variance(values, (2,), keepdims=True, with_mean=mean))
    here = [op.squeeze(one, (2,)) for one in (mean, _inverse(node, variance, eps))]
    return [found, *_saved(node, here, _saved_type(node, input, weight, bias))]


# --- by rows -------------------------------------------------------------------------------------


@table("layer_norm")
def layer_norm(
    node: Node,
    input: Expr,
    normalized_shape: Sequence[Size],
    weight: Expr | None = None,
    bias: Expr | None = None,
    eps: float = 1e-05,
    cudnn_enable: bool = True,
) -> Expr:
    """Normalizes the last axes, as one axis."""
    count, dtype, wide = len(normalized_shape), node.dtype(input), wide_type(node, input)
    data = rows = node.as_dtype(input, wide)
    if count > 1:
        rows = to_shape(
            node, data, [*dimensions(node, data, 0, -count), volume(node, normalized_shape)]
        )
    vectors = [
        None if one is None else node.as_dtype(to_shape(node, one, [-1]), wide)
        for one in (weight, bias)
    ]
    extent = node.shape(rows)[-1]
    scale, offset = (
        _vector(node, one, extent, fill, wide) for one, fill in zip(vectors, (1, 0), strict=True)
    )
    made = op.nn.layer_norm(
        rows,
        scale,
        offset,
        axis=-1,
        epsilon=eps,
        scale=weight is not None,
        center=bias is not None,
    )
    found = node.let(made)
    if count > 1:
        found = node.let(op.reshape_like(found, data))
    return node.as_dtype(found, dtype)


@table("native_layer_norm")
def native_layer_norm(
    node: Node,
    input: Expr,
    normalized_shape: Sequence[Size],
    weight: Expr | None,
    bias: Expr | None,
    eps: float,
) -> list[Expr]:
    """Normalized data, and the mean and inverse deviation."""
    found = node.let(layer_norm(node, input, normalized_shape, weight, bias, eps))
    axes = tuple(range(node.rank(input) - len(normalized_shape), node.rank(input)))
    values = node.as_dtype(input, wide_type(node, input))
    mean = node.let(op.mean(values, axis=axes, keepdims=True))
    variance = node.let(op.variance(values, axes, keepdims=True, with_mean=mean))
    here = (mean, _inverse(node, variance, eps))
    return [found, *_saved(node, here, _saved_type(node, input, weight, bias))]


@table("rms_norm")
def rms_norm(
    node: Node,
    input: Expr,
    normalized_shape: Sequence[Size],
    weight: Expr | None = None,
    eps: float | None = None,
) -> Expr:
    return fused_rms_norm(node, input, normalized_shape, weight, eps)[0]


@table("_fused_rms_norm")
def fused_rms_norm(
    node: Node,
    input: Expr,
    normalized_shape: Sequence[Size],
    weight: Expr | None,
    eps: float | None,
) -> list[Expr]:
    """Data divided by its root mean square, and the inverse of that."""
    dtype, wide = node.dtype(input), wide_type(node, input)
    axes = tuple(range(node.rank(input) - len(normalized_shape), node.rank(input)))
    values = node.as_dtype(input, wide)
    if eps is None:
        eps = float(_finfo(dtypes.to_numpy(wide)).eps)
    squares = node.let(op.mean(values * values, axis=axes, keepdims=True))
    inverse = _inverse(node, squares, eps)
    found = node.let(values * inverse)
    if weight is not None:
        found = node.let(op.multiply(*broadcastable(node, found, node.as_dtype(weight, wide))))
    return [node.as_dtype(found, dtype), inverse]


# --- of weights ----------------------------------------------------------------------------------


@table("_weight_norm")
def weight_norm(node: Node, v: Expr, g: Expr, dim: int = 0) -> Expr:
    return weight_norm_interface(node, v, g, dim)[0]


@table("_weight_norm_interface")
def weight_norm_interface(node: Node, v: Expr, g: Expr, dim: int = 0) -> list[Expr]:
    """Slices of the lengths given, and the lengths they had."""
    axes = tuple(axis for axis in range(node.rank(v)) if dim == -1 or axis != node.axis(v, dim))
    length = node.let(op.sqrt(op.sum(v * v, axis=axes, keepdims=True)))
    return [op.multiply(*broadcastable(node, v, node.let(g / length))), length]
