"""Normalization by given statistics, or by those of the data."""

from __future__ import annotations

from collections.abc import Sequence

from relay import dtypes, op
from relay.frontend.common.broadcast import best_known, broadcastable, of_shape
from relay.frontend.common.checking import with_extent_of
from relay.frontend.onnx.converters import Converters
from relay.frontend.onnx.node import Node
from relay.frontend.onnx.types import element_type
from relay.ir import dims
from relay.ir.expr import Expr

table = Converters()


@table("BatchNormalization")
def batch_normalization(node: Node, *operands: Expr) -> Sequence[Expr]:
    """Normalized data; the running mean and variance; and those of the batch."""
    data, scale, bias, mean, variance = operands
    if node.version < 7:
        trains = not node.attribute("is_test", 0)
    elif node.version < 14:
        trains = any(node.outputs[1:])
    else:
        trains = bool(node.attribute("training_mode", 0))
    given, vectors = node.dtype(data), [node.dtype(one) for one in operands[1:]]
    wide = widest([given, *vectors])
    data, scale, bias, mean, variance = (node.as_dtype(one, wide) for one in operands)
    epsilon = node.attribute("epsilon", 1e-5)
    channels = not (node.version < 9 and node.attribute("spatial", 1) == 0)
    here: tuple[Expr, ...] = (mean, variance)
    if trains:
        axes = tuple(a for a in range(node.rank(data)) if a != 1) if channels else (0,)
        middle = node.let(op.mean(data, axis=axes, keepdims=True))
        spread = op.variance(data, axes, keepdims=True, with_mean=middle)
        here = tuple(node.let(op.squeeze(one, axes)) for one in (middle, spread))
    if channels:
        found = _by_channels(node, data, (scale, bias, *here), epsilon)
    else:
        deviation = op.sqrt(here[1] + node.number(epsilon, data))
        factor = scale / deviation
        found = (data - here[0]) * factor + bias
    found = found if wide == given else op.cast(found, given)
    if not trains:
        # versions with outputs for them return the statistics unchanged
        return [found, mean, variance][: max(len(node.outputs), 1)]
    momentum = node.attribute("momentum", 0.9)
    old_share, new_share = node.number(momentum, data), node.number(1 - momentum, data)
    moved = [
        old * old_share + new * new_share for old, new in zip((mean, variance), here, strict=True)
    ]
    others = [*moved, *here]
    return [found, *(one if wide == vectors[2] else op.cast(one, vectors[2]) for one in others)]


def _by_channels(node: Node, data: Expr, vectors: Sequence[Expr], epsilon: float) -> Expr:
    if node.rank(data) == 1:  # one channel
        whole = _by_channels(node, node.let(op.expand_dims(data, 1)), vectors, epsilon)
        return op.squeeze(whole, (1,))
    data, scale, bias, mean, variance = _with_channels(node, data, *vectors)
    return op.nn.batch_norm(data, scale, bias, mean, variance, axis=1, epsilon=epsilon)[0]


def widest(types: Sequence[str]) -> str:
    """The widest element type; float32 for a mix of float16 and bfloat16."""
    found = max(types, key=dtypes.bits)
    if {"float16", "bfloat16"} <= set(types) and dtypes.bits(found) < 32:
        return "float32"
    return found


@table("InstanceNormalization")
def instance_normalization(node: Node, data: Expr, scale: Expr, bias: Expr) -> Expr:
    data, scale, bias = _with_channels(node, data, scale, bias)
    return op.nn.instance_norm(data, scale, bias, axis=1, epsilon=node.attribute("epsilon", 1e-5))


def _with_channels(node: Node, data: Expr, *vectors: Expr) -> list[Expr]:
    """Data and vectors with one element per channel."""
    shape = node.shape(data)
    if len(shape) < 2:
        raise node.misfit("data has no channels", "2 axes or more", str(node.type_of(data)))
    for one in vectors:
        node.must_have_axes(one, 1, "scales and offsets")
    channels = best_known([shape[1], *(node.shape(one)[0] for one in vectors)])
    message = "there is not a number for each channel"
    return [
        of_shape(node, data, (shape[0], channels, *shape[2:])),
        *(
            with_extent_of(node, of_shape(node, one, (channels,)), 0, data, 1, message)
            for one in vectors
        ),
    ]


@table("GroupNormalization", since=18)
def group_normalization(node: Node, data: Expr, scale: Expr, bias: Expr) -> Expr:
    """Before version 21 there is one scale and one offset per group."""
    if node.version >= 21:
        return _in_groups(node, *_with_channels(node, data, scale, bias))
    groups = node.required("num_groups")
    shape = node.shape(data)
    if len(shape) < 2:
        raise node.misfit("data has no channels", "2 axes or more", str(node.type_of(data)))
    if isinstance(shape[1], int):
        if groups < 1 or shape[1] % groups:
            raise node.refused("channels do not form groups", f"{groups} groups", str(shape[1]))
        each = shape[1] // groups
        scale, bias = (node.let(op.repeat(one, each, axis=0)) for one in (scale, bias))
        return _in_groups(node, data, scale, bias)
    count = node.let(op.reshape(node.size(data, 1), (1,)))
    ones = node.declare(op.dyn.ones(count, node.dtype(data)), (shape[1],), node.dtype(data))
    normal = node.let(_in_groups(node, data, ones, node.let(op.zeros_like(ones))))
    rows = op.reshape(normal, (0, groups, -1))
    scale, bias = (op.expand_dims(one, 1) for one in (scale, bias))
    return op.reshape_like(rows * scale + bias, data)


def _in_groups(node: Node, data: Expr, scale: Expr, bias: Expr) -> Expr:
    groups, epsilon = node.required("num_groups"), node.attribute("epsilon", 1e-5)
    return op.nn.group_norm(data, scale, bias, num_groups=groups, axis=1, epsilon=epsilon)


@table("LayerNormalization", since=17)
def layer_normalization(
    node: Node, data: Expr, scale: Expr, bias: Expr | None = None
) -> Sequence[Expr]:
    """Normalized data, the mean and the inverse standard deviation."""
    axis, epsilon = node.axis(data, -1), node.attribute("epsilon", 1e-5)
    vectors = [scale] if bias is None else [scale, bias]
    if not any(node.outputs[1:]) and all(_is_a_row(node, data, axis, one) for one in vectors):
        return [_by_rows(node, data, vectors, axis, epsilon)]
    given, stash = node.dtype(data), _stash_type(node)
    axes, wide = tuple(range(axis, node.rank(data))), widest([given, stash])
    values = node.as_dtype(data, wide)
    mean = node.let(op.mean(values, axis=axes, keepdims=True))
    spread = op.variance(values, axes, keepdims=True, with_mean=mean)
    inverse = node.let(op.rsqrt(spread + node.number(epsilon, values)))
    apart = (values - mean) * inverse
    normal = node.let(apart if given == wide else op.cast(apart, given))
    found = op.multiply(*broadcastable(node, normal, _broadcast_only(node, scale, normal)))
    if bias is not None:
        found = op.add(*broadcastable(node, node.let(found), _broadcast_only(node, bias, normal)))
    return [found, *(one if stash == wide else op.cast(one, stash) for one in (mean, inverse))]


def _broadcast_only(node: Node, vector: Expr, data: Expr) -> Expr:
    """A tensor that broadcasts to data without stretching it."""
    if node.rank(vector) > node.rank(data):
        most = f"{node.rank(data)} at most"
        raise node.misfit("scales have too many axes", most, str(node.type_of(vector)))
    message = "the shape of scales and offsets does not fit"
    for back in range(1, node.rank(vector) + 1):
        vector = with_extent_of(node, vector, -back, data, -back, message, or_one=True)
    return vector


def _is_a_row(node: Node, data: Expr, axis: int, vector: Expr) -> bool:
    """Whether a tensor has an element for each of those that are normalized together."""
    extents, own = node.shape(data)[axis:], node.shape(vector)
    return len(extents) == len(own) and all(
        dims.equal(a, b) is True or (isinstance(b, int) and b > 1 and not isinstance(a, int))
        for a, b in zip(extents, own, strict=True)
    )


def _by_rows(node: Node, data: Expr, vectors: Sequence[Expr], axis: int, epsilon: float) -> Expr:
    """Normalizes with the axes from one on reshaped to a single one."""
    inside = [best_known(same) for same in zip(*map(node.shape, vectors), strict=True)]
    data = of_shape(node, data, (*node.shape(data)[:axis], *inside))
    rows, flat = data, list(vectors)
    if len(inside) > 1:
        rows = node.let(op.reshape(data, (*[0] * axis, -1)))
        flat = [node.let(op.reshape(one, (-1,))) for one in vectors]
    scale, bias = flat[0], flat[1] if len(flat) > 1 else node.let(op.zeros_like(flat[0]))
    found = op.nn.layer_norm(rows, scale, bias, axis=-1, epsilon=epsilon, center=len(vectors) > 1)
    return found if len(inside) == 1 else op.reshape_like(found, data)


def _stash_type(node: Node) -> str:
    """The element type of the statistics."""
    return element_type(node.attribute("stash_type", 1))


@table("RMSNormalization", since=23)
def rms_normalization(node: Node, data: Expr, scale: Expr) -> Expr:
    """Data divided by its root mean square, in the element type of the scale."""
    axes = tuple(range(node.axis(data, -1), node.rank(data)))
    wide = widest([node.dtype(data), _stash_type(node)])
    values = node.as_dtype(data, wide)
    squares = op.mean(values * values, axis=axes, keepdims=True)
    epsilon = node.number(node.attribute("epsilon", 1e-5), values)
    normal = node.let(values * op.rsqrt(squares + epsilon))
    found = op.multiply(*broadcastable(node, normal, node.as_dtype(scale, wide)))
    return found if node.dtype(scale) == wide else op.cast(found, node.dtype(scale))


@table("MeanVarianceNormalization")
def mean_variance_normalization(node: Node, data: Expr) -> Expr:
    """Before version 9: per channel, or across channels, and perhaps centered only."""
    by_deviation, rank = True, node.rank(data)
    if node.version < 9:
        axes = tuple(range(1 if node.attribute("across_channels", 0) else 2, rank))
        by_deviation = bool(node.attribute("normalize_variance", 1))
    else:
        axes = tuple(node.axes_of(node.attribute("axes", [0, 2, 3]), rank))
    mean = node.let(op.mean(data, axis=axes, keepdims=True))
    centered = data - mean
    if not by_deviation:
        return centered
    deviation = op.sqrt(op.variance(data, axes, keepdims=True, with_mean=mean))
    return centered / (deviation + node.number(1e-09, data))


@table("LRN")
def local_response_normalization(node: Node, data: Expr) -> Expr:
    size = node.required("size")
    known = {
        "size": size,
        "axis": 1,
        "bias": node.attribute("bias", 1.0),
        "alpha": node.attribute("alpha", 1e-4),
        "beta": node.attribute("beta", 0.75),
    }
    if size % 2:
        return op.nn.lrn(data, **known)
    # an even window has one more element after the center, in Relay before it
    return op.reverse(op.nn.lrn(op.reverse(data, 1), **known), 1)
