"""Batch, layer, group, RMS and unit normalization, and by statistics of a data set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from relay import dtypes, op
from relay.frontend.keras.converters import Table
from relay.frontend.keras.node import Node
from relay.frontend.keras.slots import Slot
from relay.ir.expr import Expr

table = Table()


def _scale_center(config: Mapping[str, Any]) -> list[Slot]:
    found = [Slot("gamma")] if config.get("scale", True) else []
    return [*found, Slot("beta")] if config.get("center", True) else found


def _batch_slots(config: Mapping[str, Any]) -> Sequence[Slot]:
    moving = (Slot(f"moving_{one}", is_trainable=False) for one in ("mean", "variance"))
    return (*_scale_center(config), *moving)


def wide(node: Node, x: Expr) -> Expr:
    """float16 and bfloat16 as float32, in which normalization computes."""
    return node.as_dtype(x, "float32") if dtypes.bits(node.dtype(x)) < 32 else x


def _along(node: Node, vector: Expr | None, rank: int, axis: int) -> Expr | None:
    """A vector along an axis of data."""
    if vector is None:
        return None
    behind = rank - axis - 1
    return node.let(op.expand_dims(vector, 1, num_newaxis=behind)) if behind else vector


@table("BatchNormalization", variables=_batch_slots, keeps_mask=True)
def batch_normalization(node: Node, inputs: Expr, **_: Any) -> Expr:
    axis: Any = node.config.get("axis", -1)
    axis = axis[0] if isinstance(axis, list) and len(axis) == 1 else axis
    if not isinstance(axis, int):
        raise node.refused("it has several axes", "one axis", str(axis)[:40])
    axis = node.axis_of(axis, node.rank(inputs))
    dtype = node.dtype(inputs)
    data = node.let(wide(node, inputs))
    mean, variance, gamma, beta = (
        None if one is None else node.as_dtype(one, node.dtype(data))
        for one in map(node.variable, ("moving_mean", "moving_variance", "gamma", "beta"))
    )
    if mean is None or variance is None:
        raise node.refused("there are no statistics for it")
    one, zero = (
        node.let(
            op.full(
                node.number(value, mean), node.static_shape(mean, "statistics"), node.dtype(mean)
            )
        )
        for value in (1, 0)
    )
    found = op.nn.batch_norm(
        data,
        one if gamma is None else gamma,
        zero if beta is None else beta,
        mean,
        variance,
        axis=axis,
        epsilon=node.option("epsilon", 1e-3),
        center=beta is not None,
        scale=gamma is not None,
    )
    return node.as_dtype(node.let(found[0]), dtype)


def _layer_slots(config: Mapping[str, Any]) -> Sequence[Slot]:
    if config.get("rms_scaling"):
        return (Slot("gamma"),)
    return _scale_center(config)


@table("LayerNormalization", variables=_layer_slots, keeps_mask=True)
def layer_normalization(node: Node, inputs: Expr) -> Expr:
    given: Any = node.config.get("axis", -1)
    rank = node.rank(inputs)
    axes = node.axes_of(given if isinstance(given, list | tuple) else [given], rank, distinct=True)
    epsilon = node.option("epsilon", 1e-3)
    gamma, beta = node.variable("gamma"), node.variable("beta")
    dtype = node.dtype(inputs)
    data = node.let(wide(node, inputs))
    if node.option("rms_scaling", False):
        variance = node.let(op.variance(data, axis=tuple(axes), keepdims=True))
        factor = op.rsqrt(variance + node.number(epsilon, data))
        found = node.let(data * factor * _broadcast(node, gamma, data, axes))
        return node.as_dtype(found, dtype)
    if axes == [rank - 1] and gamma is not None and beta is not None:
        weights = [node.as_dtype(one, node.dtype(data)) for one in (gamma, beta)]
        found = node.let(op.nn.layer_norm(data, *weights, axis=-1, epsilon=epsilon))
        return node.as_dtype(found, dtype)
    found = node.let(normalized(node, data, axes, epsilon))
    if gamma is not None:
        found = node.let(found * _broadcast(node, gamma, data, axes))
    if beta is not None:
        found = node.let(found + _broadcast(node, beta, data, axes))
    return node.as_dtype(found, dtype)


def normalized(node: Node, data: Expr, axes: Sequence[int], epsilon: float) -> Expr:
    """Data of mean 0 and variance 1 along axes."""
    mean = node.let(op.mean(data, axis=tuple(axes), keepdims=True))
    variance = node.let(op.variance(data, axis=tuple(axes), keepdims=True))
    return (data - mean) * op.rsqrt(variance + node.number(epsilon, data))


def _broadcast(node: Node, weight: Expr | None, data: Expr, axes: Sequence[int]) -> Expr:
    """A weight with the extents of some axes of data."""
    assert weight is not None  # a layer with this slot has it
    weight = node.as_dtype(weight, node.dtype(data))
    shape = node.static_shape(weight, "the weights")
    if len(shape) != len(axes):
        raise node.refused("the weights do not fit the axes", str(len(axes)), str(shape))
    pairs = sorted(zip(axes, shape, strict=True))
    if list(axes) != sorted(axes):
        order = sorted(range(len(axes)), key=lambda place: axes[place])
        weight = node.let(op.transpose(weight, tuple(order)))
    whole = [1] * node.rank(data)
    for axis, size in pairs:
        whole[axis] = size
    return node.let(op.reshape(weight, tuple(whole)))


@table("RMSNormalization", variables=lambda config: (Slot("scale"),), keeps_mask=True)
def rms_normalization(node: Node, inputs: Expr) -> Expr:
    given: Any = node.config.get("axis", -1)
    rank = node.rank(inputs)
    axes = node.axes_of(given if isinstance(given, list | tuple) else [given], rank, distinct=True)
    data = node.let(wide(node, inputs))
    found = node.let(by_root_mean_square(node, data, axes, node.option("epsilon", 1e-6)))
    scale = node.variable("scale")
    if scale is not None:
        found = node.let(found * _broadcast(node, scale, data, axes))
    return node.as_dtype(found, node.dtype(inputs))


def by_root_mean_square(node: Node, data: Expr, axes: Sequence[int], epsilon: float) -> Expr:
    square = op.mean(data * data, axis=tuple(axes), keepdims=True)
    return data * op.rsqrt(square + node.number(epsilon, data))


@table("GroupNormalization", variables=_scale_center, keeps_mask=True)
def group_normalization(node: Node, inputs: Expr) -> Expr:
    axis = node.axis_of(node.option("axis", -1), node.rank(inputs))
    channels = node.static_extent(inputs, axis, "how many channels there are")
    groups = node.option("groups", 32)
    groups = channels if groups == -1 else groups
    if groups < 1 or channels % groups:
        raise node.refused(
            "the channels do not fit the groups", f"a multiple of {groups}", f"{channels}"
        )
    data = node.let(wide(node, inputs))
    apart = [0] * axis + [-4, groups, channels // groups] + [0] * (node.rank(data) - axis - 1)
    parts = node.let(op.reshape(data, tuple(apart)))
    axes = [place for place in range(1, node.rank(parts)) if place != axis]
    found = node.let(normalized(node, parts, axes, node.option("epsilon", 1e-3)))
    found = node.let(
        op.reshape(found, tuple([0] * axis + [-3] + [0] * (node.rank(data) - axis - 1)))
    )
    for name in ("gamma", "beta"):
        weight = node.variable(name)
        if weight is not None:
            own = _broadcast(node, weight, data, [axis])
            found = node.let(found * own if name == "gamma" else found + own)
    return node.as_dtype(found, node.dtype(inputs))


@table("UnitNormalization", keeps_mask=True)
def unit_normalization(node: Node, inputs: Expr) -> Expr:
    given: Any = node.config.get("axis", -1)
    axes = node.axes_of(given if isinstance(given, list | tuple) else [given], node.rank(inputs))
    return unit(node, inputs, axes, 1e-12)


def unit(node: Node, data: Expr, axes: Sequence[int], least: float) -> Expr:
    """Data divided by its L2 norm along axes; the square of the norm is at least `least`."""
    square = op.sum(data * data, axis=tuple(axes), keepdims=True)
    return data * op.rsqrt(op.maximum(square, node.number(least, data)))


# (the square root of the variance is kept from 0)
EPSILON = 1e-7


@table(
    "Normalization",
    variables=lambda config: (
        ()
        if config.get("mean") is not None
        else tuple(Slot(one, is_trainable=False) for one in ("mean", "variance", "count"))
    ),
)
def normalization(node: Node, inputs: Expr) -> Expr:
    """(x - mean) / sqrt(variance) along the axes that are kept."""
    mean, variance = (_statistics(node, inputs, one) for one in ("mean", "variance"))
    data = node.as_dtype(inputs, node.compute_dtype)
    deviation = op.maximum(op.sqrt(variance), node.number(EPSILON, data))
    if node.option("invert", False):
        return mean + data * deviation
    return (data - mean) / deviation


def _statistics(node: Node, inputs: Expr, name: str) -> Expr:
    """Means or variances with the extents of kept axes."""
    given: Any = node.config.get("axis", -1)
    axes = () if given is None else tuple(given) if isinstance(given, list | tuple) else (given,)
    rank = node.rank(inputs)
    kept = sorted(node.axes_of(axes, rank))
    found = node.config.get(name)
    value = (
        node.weight(name)
        if found is None
        else node.as_dtype(node.tensor(found), node.compute_dtype)
    )
    if value is None:
        raise node.refused("it has no statistics", hint="adapt it to data before it is saved")
    shape = node.static_shape(value, "the statistics")
    whole = [1] * rank
    extents = [one for one in shape if one != 1] if len(shape) != len(kept) else list(shape)
    if len(extents) == len(kept):
        for axis, size in zip(kept, extents, strict=True):
            whole[axis] = size
    elif len(shape) == rank:
        whole = list(shape)
    else:
        for axis in kept:
            whole[axis] = node.static_extent(inputs, axis, "the extent of the axis")
        if len(shape) == 0:
            return value
    return node.let(op.reshape(value, tuple(whole)))
