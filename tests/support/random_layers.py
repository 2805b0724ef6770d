"""The layers of random networks: operators, and idioms of several operators.

A layer takes a `Builder`, which makes decisions and weights, and a tensor of the rank it is listed
with, of any shape; tensors of rank 4 are NCHW. Included are the idioms that passes look for:
sibling operators, norms written as arithmetic, attention, dilation by space_to_batch, separate pad.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod, sqrt
from typing import Final

import numpy as np

from relay import dtypes, op, tree
from relay.check.infer import infer_local
from relay.ir.expr import Constant, Expr, If, Op, Syntax, Var, const
from relay.ir.types import TensorType
from relay.nd import array
from relay.testing.generator.choices import Choices, chance, pick, weighted

Layer = Callable[["Builder", Expr], Expr]


class Builder:
    """Makes decisions, weights and parameters of a network."""

    def __init__(self, choices: Choices, dtype: str, *, branches: bool) -> None:
        self.choices = choices
        self.dtype = dtype
        self.branches = branches
        self.params: list[Var] = []

    def input(self, name: str, shape: Sequence[int], dtype: str = "") -> Var:
        """A new parameter of the network."""
        made = Var(f"{name}{len(self.params)}", TensorType(tuple(shape), dtype or self.dtype))
        self.params.append(made)
        return made

    def weight(self, *shape: int, low: float = -1.0, high: float = 1.0) -> Expr:
        """Values in a range: mostly a constant, sometimes a parameter."""
        if chance(self.choices, 15):
            # parameters have any sign; make it positive where `low` asks for that
            made: Expr = self.input("weight", shape)
            return op.add(op.abs(made), self.number(0.5)) if low > 0 else made
        random = np.random.default_rng(self.choices.integer(0, 999))
        values = random.uniform(low, high, shape).astype(dtypes.to_numpy(self.dtype))
        return Constant(array(values))

    def kernel(self, *shape: int) -> Expr:
        """Weights that preserve the variance of a sum over all axes but the first."""
        limit = sqrt(3.0 / prod(shape[1:]))
        return self.weight(*shape, low=-limit, high=limit)

    def number(self, value: float) -> Expr:
        return const(value, self.dtype)

    def pick(self, *options: int) -> int:
        return pick(self.choices, options)

    def chance(self, percent: int = 50) -> bool:
        return chance(self.choices, percent)


def shape_of(e: Expr) -> tuple[int, ...]:
    """The shape of a tensor; infers and stores the types of its subexpressions."""

    def untyped(part: Syntax) -> bool:
        return isinstance(part, Expr) and part.ty is None and not isinstance(part, Op)

    for part in tree.postorder(e, enter=untyped):
        if isinstance(part, Expr) and untyped(part):
            infer_local(part)
    assert isinstance(e.ty, TensorType)
    return e.ty.concrete_shape


# --- any rank, same shape -------------------------------------------------------------------------


def activation(net: Builder, x: Expr) -> Expr:
    which = net.choices.integer(0, 6)
    if which == 1:
        return op.nn.leaky_relu(x, alpha=0.1)
    if which == 2:
        return op.clip(op.clip(x, -1.0, 2.0), -0.5, 3.0)
    if which == 3:
        return op.multiply(x, op.sigmoid(x))
    if which == 4:
        error = op.erf(op.divide(x, net.number(sqrt(2.0))))
        return op.multiply(op.multiply(x, op.add(error, net.number(1.0))), net.number(0.5))
    if which == 5:
        return op.tanh(x)
    if which == 6:
        return op.exp(op.minimum(x, net.number(0.0)))
    return op.nn.relu(x)


def arithmetic(net: Builder, x: Expr) -> Expr:
    """Arithmetic with scalars, some of it redundant."""
    which = net.choices.integer(0, 6)
    if which == 1:
        return op.multiply(op.multiply(x, net.number(0.5)), net.number(3.0))
    if which == 2:
        return op.add(op.multiply(x, net.number(1.0)), net.number(0.0))
    if which == 3:
        return op.divide(x, net.number(4.0))
    if which == 4:
        return op.rsqrt(op.add(op.abs(x), net.number(1.0)))
    if which == 5:
        return op.add(x, op.zeros_like(x))
    if which == 6:
        return op.add(x, x)
    return op.add(op.add(x, net.number(0.25)), net.number(0.5))


def per_channel(net: Builder, x: Expr) -> Expr:
    """A per-channel scale, possibly negative, or bias."""
    shape = shape_of(x)
    axis = 1 if len(shape) > 2 else len(shape) - 1
    scale = [shape[axis], *(1 for _ in shape[axis + 1 :])]
    if net.chance(60):
        low = 0.5 if net.chance() else -1.5
        return op.multiply(x, net.weight(*scale, low=low, high=1.5))
    if net.chance():
        return op.nn.bias_add(x, net.weight(shape[axis]), axis=axis)
    return op.add(x, net.weight(*scale))


def batch_norm(net: Builder, x: Expr) -> Expr:
    channels = shape_of(x)[1]
    gamma, beta, mean = (net.weight(channels) for _ in range(3))
    variance = net.weight(channels, low=0.5, high=1.5)
    return op.nn.batch_norm(x, gamma, beta, mean, variance, epsilon=1e-3)[0]


def layer_norm(net: Builder, x: Expr) -> Expr:
    """Over the last axis: the operator, as arithmetic, or RMS norm."""
    width = shape_of(x)[-1]
    which = net.choices.integer(0, 2)
    if which == 0:
        return op.nn.layer_norm(x, net.weight(width), net.weight(width), axis=-1, epsilon=1e-3)
    if which == 1:
        x = op.subtract(x, op.mean(x, axis=-1, keepdims=True))
    square = op.multiply(x, x) if net.chance() else op.power(x, net.number(2.0))
    variance = op.add(op.mean(square, axis=-1, keepdims=True), net.number(1e-3))
    if net.chance():
        normal = op.multiply(x, op.rsqrt(variance))
    else:
        normal = op.divide(x, op.sqrt(variance))
    return op.add(op.multiply(normal, net.weight(width)), net.weight(width))


def softmax(net: Builder, x: Expr) -> Expr:
    if net.chance(70):
        return op.nn.softmax(x, axis=-1)
    exponential = op.exp(op.subtract(x, op.max(x, axis=-1, keepdims=True)))
    return op.divide(exponential, op.sum(exponential, axis=-1, keepdims=True))


def conversion(net: Builder, x: Expr) -> Expr:
    """A cast and back, or a sum with a dequantized integer tensor."""
    if net.chance():
        return op.cast(op.cast(x, "float32"), net.dtype)
    whole = net.input("integers", shape_of(x), "int8")
    wide = op.cast(whole, "int32")
    wide = op.add(wide, wide) if net.chance() else op.multiply(wide, const(3, "int32"))
    return op.add(x, op.multiply(op.cast(wide, net.dtype), net.number(0.05)))


def moved_and_back(net: Builder, x: Expr) -> Expr:
    """Reshape or transpose, and back."""
    shape = shape_of(x)
    if net.chance():
        flat = op.reshape(x, (-1,))
        return op.reshape(op.add(flat, net.number(0.5)) if net.chance() else flat, shape)
    axes = list(range(len(shape)))
    axes = axes[:1] + axes[2:] + axes[1:2] if len(axes) > 2 else axes[::-1]
    back = [axes.index(axis) for axis in range(len(axes))]
    middle = op.transpose(x, axes)
    middle = op.nn.relu(middle) if net.chance() else middle
    return op.transpose(middle, back)


def split_and_joined(net: Builder, x: Expr) -> Expr:
    """Split along an axis, change one part, and concatenate in another order."""
    shape = shape_of(x)
    axis = len(shape) - 1 if shape[1] % 2 else 1
    if shape[axis] % 2:
        return op.concatenate((x, op.negative(x)), axis)
    first, second = op.split(x, 2, axis)
    return op.concatenate((op.tanh(second), first), axis)


def branch(net: Builder, x: Expr) -> Expr:
    """An `if` between two layers."""
    if not net.branches:
        return activation(net, x)
    choice = net.input("choice", (), "bool")
    inside = (activation, arithmetic, per_channel, moved_and_back)
    shared = arithmetic(net, x)
    ways = [pick(net.choices, inside)(net, shared if net.chance() else x) for _ in range(2)]
    return If(choice, *ways)


# --- images: rank 4 -----------------------------------------------------------------------------


def convolution(net: Builder, x: Expr) -> Expr:
    _, channels, height, width = shape_of(x)
    size = net.pick(1, 3)
    dilation = net.pick(1, 1, 2)
    padding = net.pick(0, 1) if size > 1 else 0
    reach = dilation * (size - 1) + 1
    if min(height, width) + 2 * padding < reach:
        size, dilation, padding = 1, 1, 0
    groups = net.pick(1, 1, 2 if channels % 2 == 0 else 1, channels)
    outputs = groups * net.pick(1, 2, 3)
    return op.nn.conv2d(
        x,
        net.kernel(outputs, channels // groups, size, size),
        channels=outputs,
        kernel_size=(size, size),
        strides=(net.pick(1, 1, 2),) * 2,
        dilation=(dilation, dilation),
        padding=(padding, padding),
        groups=groups,
    )


def padded_convolution(net: Builder, x: Expr) -> Expr:
    """A separate pad that can be folded if its value is the identity."""
    value = 0.0 if net.chance(70) else 1.0
    padded = op.nn.pad(x, ((0, 0), (0, 0), (1, 1), (1, 2)), pad_value=value)
    if net.chance(30):
        return op.nn.max_pool2d(padded, (2, 2))
    channels = shape_of(x)[1]
    kernel = net.kernel(4, channels, 2, 3)
    return op.nn.conv2d(padded, kernel, channels=4, kernel_size=(2, 3))


def convolution_in_blocks(net: Builder, x: Expr) -> Expr:
    """A dilated convolution as space_to_batch_nd, conv2d, batch_to_space_nd; NHWC."""
    _, channels, height, width = shape_of(x)
    pads = [(2, 2 + extent % 2) for extent in (height, width)]
    blocks = op.nn.space_to_batch_nd(op.transpose(x, (0, 2, 3, 1)), (2, 2), pads)
    limit = sqrt(1.0 / (3 * channels))
    blocks = op.nn.conv2d(
        blocks,
        net.weight(3, 3, channels, 2, low=-limit, high=limit),
        channels=2,
        kernel_size=(3, 3),
        data_layout="NHWC",
        kernel_layout="HWIO",
    )
    crops = [(0, extent % 2) for extent in (height, width)]
    whole = op.nn.batch_to_space_nd(blocks, block_shape=(2, 2), crops=crops)
    return op.transpose(whole, (0, 3, 1, 2))


def sibling_convolutions(net: Builder, x: Expr) -> Expr:
    """Convolutions of one input, concatenated or summed."""
    channels = shape_of(x)[1]
    made = []
    same = net.chance()
    biased = net.chance()
    for _ in range(net.pick(2, 3, 4)):
        outputs = 2 if same else net.pick(1, 2, 3)
        y = op.nn.conv2d(
            x, net.kernel(outputs, channels, 1, 1), channels=outputs, kernel_size=(1, 1)
        )
        if biased:
            y = op.nn.relu(op.add(y, net.weight(outputs, 1, 1)))
        made.append(y)
    return _summed(made) if same and net.chance() else op.concatenate(tuple(made), 1)


def pool(net: Builder, x: Expr) -> Expr:
    _, _, height, width = shape_of(x)
    which = net.choices.integer(0, 3)
    if which == 0:
        return op.nn.global_avg_pool2d(x)
    if which == 1:
        return op.nn.upsampling(x, 2, 2) if height * width < 50 else op.nn.avg_pool2d(x, (2, 1))
    size, padding = ((2, 2), (net.pick(0, 1),) * 2) if min(height, width) > 1 else ((1, 1), (0, 0))
    strides = (net.pick(1, 2),) * 2
    if which == 2:
        return op.nn.max_pool2d(x, size, strides, padding=padding)
    return op.nn.avg_pool2d(x, size, strides, padding=padding, count_include_pad=net.chance())


def flattened(net: Builder, x: Expr) -> Expr:
    """An image as a row, or as a sequence of pixels or channels."""
    batch, channels, height, width = shape_of(x)
    if net.chance():
        return op.nn.batch_flatten(x)
    points = op.reshape(x, (batch, channels, height * width))
    return op.transpose(points, (0, 2, 1)) if net.chance() else points


# --- rows: rank 2 ---------------------------------------------------------------------------------


def dense(net: Builder, x: Expr) -> Expr:
    units = net.pick(3, 4, 6)
    product = op.nn.dense(x, net.kernel(units, shape_of(x)[1]), units=units)
    return op.nn.bias_add(product, net.weight(units), axis=-1) if net.chance() else product


def sibling_products(net: Builder, x: Expr) -> Expr:
    inputs = shape_of(x)[1]
    same, biased = net.chance(70), net.chance()
    made = []
    for _ in range(net.pick(2, 3, 4)):
        units = 4 if same else net.pick(2, 3, 4)
        y = op.nn.dense(x, net.kernel(units, inputs), units=units)
        made.append(op.add(y, net.weight(units)) if biased else y)
    return _summed(made) if same and net.chance() else op.concatenate(tuple(made), 1)


def as_sequence(net: Builder, x: Expr) -> Expr:
    rows, width = shape_of(x)
    return op.expand_dims(x, 1) if width % 2 else op.reshape(x, (rows, 2, width // 2))


# --- sequences: rank 3 ----------------------------------------------------------------------------


def products(net: Builder, x: Expr) -> Expr:
    """batch_matmul, or the sum of three siblings."""
    batch, _, width = shape_of(x)
    count = net.pick(1, 1, 3)
    made = [op.nn.batch_matmul(x, net.kernel(batch, 3, width)) for _ in range(count)]
    return _summed(made)


def linear(net: Builder, x: Expr) -> Expr:
    """A dense layer over the last axis of rank 3, as frontends write it."""
    batch, rows, width = shape_of(x)
    flat = op.reshape(x, (-1, width))
    product = op.nn.dense(flat, net.kernel(4, width), units=4)
    return op.add(op.reshape(product, (batch, rows, 4)), net.weight(4))


def attention(net: Builder, x: Expr) -> Expr:
    """softmax(query keyᵀ) value of three projections of `x`, possibly scaled and masked."""
    rows = shape_of(x)[1]
    query, key, value = (linear(net, x) for _ in range(3))
    scores = op.nn.batch_matmul(query, key)
    if net.chance(70):
        scores = op.multiply(scores, net.number(0.5))
    if net.chance():
        seen = const(np.tril(np.ones((1, rows, rows), bool)))
        if net.chance():
            scores = op.where(seen, scores, net.number(-1e4))
        else:
            lowered = op.subtract(op.cast(seen, net.dtype), net.number(1.0))
            scores = op.add(scores, op.multiply(lowered, net.number(1e4)))
    shares = op.nn.softmax(scores, axis=-1)
    return op.nn.batch_matmul(shares, value, transpose_b=False)


def sequence_as_rows(net: Builder, x: Expr) -> Expr:
    batch, rows, width = shape_of(x)
    if net.chance():
        return op.reshape(x, (batch * rows, width))
    return op.mean(x, axis=1) if net.chance() else op.reshape(x, (batch, -1))


def sequence_as_picture(net: Builder, x: Expr) -> Expr:
    batch, rows, width = shape_of(x)
    if net.chance():
        return op.expand_dims(x, 2)
    return op.reshape(op.transpose(x, (0, 2, 1)), (batch, width, rows, 1))


def _summed(parts: Sequence[Expr]) -> Expr:
    result = parts[0]
    for part in parts[1:]:
        result = op.add(result, part)
    return result


# --- all of them ----------------------------------------------------------------------------------

# The weight of each layer in the choice; Hypothesis shrinks towards the first.
EVERYWHERE: Final[tuple[tuple[int, Layer], ...]] = (
    (6, activation),
    (4, arithmetic),
    (5, per_channel),
    (2, softmax),
    (3, layer_norm),
    (2, conversion),
    (2, moved_and_back),
    (2, split_and_joined),
    (2, branch),
)
BY_RANK: Final[dict[int, tuple[tuple[int, Layer], ...]]] = {
    2: ((6, dense), (4, sibling_products), (3, as_sequence)),
    3: (
        (4, linear),
        (3, products),
        (5, attention),
        (2, sequence_as_rows),
        (2, sequence_as_picture),
    ),
    4: (
        (10, convolution),
        (5, batch_norm),
        (4, sibling_convolutions),
        (4, padded_convolution),
        (2, convolution_in_blocks),
        (4, pool),
        (3, flattened),
    ),
}


def any_layer(net: Builder, x: Expr) -> Expr:
    """A random layer for the rank of `x`."""
    options = BY_RANK[len(shape_of(x))] + EVERYWHERE
    return weighted(net.choices, options)(net, x)
