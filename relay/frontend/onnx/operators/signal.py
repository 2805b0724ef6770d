"""Fourier transforms and mel filter banks.

The last axis holds real and imaginary parts; one of extent 1 holds real numbers.
"""

from __future__ import annotations

import math

import numpy as np

from relay import op
from relay.errors import VALUE
from relay.frontend.common.builder import int64
from relay.frontend.common.checking import as_scalar, within
from relay.frontend.common.indices import clamped
from relay.frontend.onnx.branches import with_type
from relay.frontend.onnx.converters import Converters
from relay.frontend.onnx.joining import joined
from relay.frontend.onnx.node import Node
from relay.frontend.onnx.types import element_type
from relay.ir import dims
from relay.ir.dims import Dim
from relay.ir.expr import Expr, If, const

table = Converters()


@table("DFT", since=17)
def dft(node: Node, data: Expr, length: Expr | None = None, axis: Expr | None = None) -> Expr:
    """The axis is an attribute before version 20."""
    if node.version < 20:
        return _transform(node, data, length, node.attribute("axis", 1))
    known = None if axis is None else node.constant(axis)
    if axis is not None and known is None:
        return _along_dynamic_axis(node, data, length, axis)
    return _transform(node, data, length, -2 if known is None else int(known.item()))


def _along_dynamic_axis(node: Node, data: Expr, length: Expr | None, axis: Expr) -> Expr:
    """The transform along an axis known at run time: a branch per axis."""
    rank = node.rank(data)
    message, expected = "the axis is not one of the signal", f"0 to {rank - 2}"
    axis = as_scalar(node, axis, "the axis is not one number")
    axis = within(node, axis, -rank, rank - 2, message, expected)
    last = op.not_equal(axis, node.number(-1, axis))
    axis = node.checked(axis, last, message, expected, "-1")
    results = []
    for place in range(rank - 1):
        there = node.inside()
        results.append((there.scope, there.let(_transform(there, data, length, place))))
    declared = node.type_of(results[0][1])
    for _, result in results[1:]:
        both = joined(declared, node.type_of(result))
        assert both is not None  # only extents differ
        declared = both
    scalar = op.reshape(op.cast(axis, "int64"), ())
    chosen = node.let(op.floor_mod(scalar, int64(rank)))
    branches = [inner.closed(with_type(inner, result, declared)) for inner, result in results]
    found = branches.pop()
    for place in reversed(range(len(branches))):
        found = If(op.equal(chosen, int64(place)), branches[place], found)
    return node.let(found, declared=declared)


def _transform(node: Node, data: Expr, length: Expr | None, axis: int) -> Expr:
    rank = node.rank(data)
    if not -rank <= axis < rank or axis % rank == rank - 1:
        raise node.refused("the axis is not one of the signal", f"0 to {rank - 2}", str(axis))
    axis %= rank
    inverse, half = (bool(node.attribute(name, 0)) for name in ("inverse", "onesided"))
    order = [*(one for one in range(rank - 1) if one != axis), axis]
    is_real = node.shape(data)[-1] == 1
    real, imaginary = (node.let(op.transpose(part, order)) for part in _parts(node, data))
    if is_real and not inverse:
        if length is not None:
            real = _resized(node, real, length)
        found = op.stack(_of_real(node, real, half), axis=rank - 1)
    elif inverse and half:
        whole = _mirrored(node, real, imaginary, length)
        real, _ = _transformed(node, *whole, inverse=True)
        found = op.expand_dims(real, rank - 1)
    else:
        if length is not None:
            real, imaginary = (_resized(node, one, length) for one in (real, imaginary))
        parts = _transformed(node, real, imaginary, inverse)
        if half:
            parts = [_first_half(node, part) for part in parts]
        found = op.stack(list(parts), axis=rank - 1)
    back = [order.index(one) for one in range(rank - 1)]
    return op.transpose(node.let(found), (*back, rank - 1))


def _parts(node: Node, data: Expr) -> list[Expr]:
    """Real and imaginary parts."""
    rank = node.rank(data)
    count = node.shape(data)[-1]
    if rank < 2 or count not in (1, 2):
        message = "the last axis has real and imaginary parts"
        raise node.refused(message, "an extent of 1 or 2", str(count))
    real = node.let(op.take(data, int64(0), axis=rank - 1))
    if count == 1:
        return [real, node.let(op.zeros_like(real))]
    return [real, node.let(op.take(data, int64(1), axis=rank - 1))]


def _transformed(node: Node, real: Expr, imaginary: Expr, inverse: bool) -> list[Expr]:
    return node.fields(op.dft(real, imaginary, inverse=inverse).astuple(), 2)


def _of_real(node: Node, data: Expr, half: bool) -> list[Expr]:
    """The transform of real numbers, of which half is computed."""
    real, imaginary = node.fields(op.rfft(data).astuple(), 2)
    if half:
        return [real, imaginary]
    return list(_mirrored(node, real, imaginary, node.size(data, node.rank(data) - 1)))


def _known_length(node: Node, length: Expr) -> Dim | None:
    """A length as a dimension, if it is known."""
    elements = node.elements(length)
    return elements[0] if elements else None


def _resized(node: Node, data: Expr, length: Expr) -> Expr:
    """The last axis cut or zero-padded to a length."""
    own, wanted = node.shape(data)[-1], _known_length(node, length)
    if wanted is not None and dims.equal(own, wanted) is True:
        return data
    last = node.rank(data) - 1
    if isinstance(own, int) and isinstance(wanted, int):
        if wanted <= own:
            return node.let(op.strided_slice(data, (0,), (wanted,), axes=(last,)))
        return node.let(op.nn.pad(data, [*[(0, 0)] * last, (0, wanted - own)]))
    numbers = _numbers(node, length, wanted)
    extent = node.size(data, last)
    inside = numbers < extent
    found = op.take(data, clamped(numbers, extent), axis=last)
    return node.let(op.where(inside, found, node.number(0, data)))


def _numbers(node: Node, count: Expr, known: Dim | None) -> Expr:
    """0, 1, … count - 1"""
    scalar = op.reshape(op.cast(count, "int64"), ())
    numbers = op.arange(node.let(scalar), dtype="int64")
    if known is None or isinstance(known, int):
        return node.let(numbers)
    return node.declare(numbers, (known,), "int64")


def _first_half(node: Node, data: Expr) -> Expr:
    """The nonnegative frequencies."""
    last = node.rank(data) - 1
    extent = node.shape(data)[last]
    if isinstance(extent, int):
        return node.let(op.strided_slice(data, (0,), (extent // 2 + 1,), axes=(last,)))
    half = op.floor_divide(node.size(data, last), int64(2)) + int64(1)
    known = None if isinstance(extent, dims.Any) else (extent // 2) + 1
    return node.let(op.take(data, _numbers(node, node.let(half), known), axis=last))


def _mirrored(node: Node, real: Expr, imaginary: Expr, length: Expr | None) -> tuple[Expr, Expr]:
    """All frequencies of a real signal from the nonnegative ones: the others are conjugates."""
    last = node.rank(real) - 1
    two = int64(2)
    if length is None:
        given = node.size(real, last)
        count = node.let((given - int64(1)) * two)
        known: Dim | None = (node.shape(real)[last] - 1) * 2
        known = None if isinstance(known, dims.Any) else known
    else:
        count = node.let(op.reshape(op.cast(length, "int64"), ()))
        known = _known_length(node, length)
    half = node.let(op.floor_divide(count, two) + int64(1))
    real, imaginary = (_resized(node, one, half) for one in (real, imaginary))
    numbers = _numbers(node, count, known)
    source = node.let(op.minimum(numbers, count - numbers))
    is_turned = numbers * two > count
    one = node.number(1, imaginary)
    sign = node.let(op.where(is_turned, -one, one))
    whole = node.let(op.take(imaginary, source, axis=last))
    return node.let(op.take(real, source, axis=last)), node.let(whole * sign)


@table("STFT", since=17)
def stft(
    node: Node, data: Expr, step: Expr, window: Expr | None = None, length: Expr | None = None
) -> Expr:
    """(batch, time, 1 or 2), or (batch, time) -> (batch, transforms, frequencies, 2)"""
    if node.rank(data) == 2:  # real numbers: not in the standard, but accepted by runtimes
        data = node.let(op.expand_dims(data, 2))
    node.must_have_axes(data, 3, "the signals")
    frame, hop = _frame(node, data, window, length), _known_length(node, step)
    for number in (frame, hop):
        if isinstance(number, int) and number < 1:
            raise node.refused("lengths are positive", "1 or more", f"{frame} and {hop}")
    half = bool(node.attribute("onesided", 1))
    if isinstance(frame, int) and isinstance(hop, int) and node.shape(data)[2] == 1:
        weights = _weights(node, data, window, frame)
        real = node.let(op.squeeze(data, (2,)))
        found = op.stft(real, frame, hop, frame, weights, onesided=half)
        return op.transpose(found, (0, 2, 1, 3))
    real, imaginary = _frames(node, data, step, window, length)
    if node.shape(data)[2] == 1:
        return op.stack(_of_real(node, real, half), axis=3)
    parts = _transformed(node, real, imaginary, inverse=False)
    if half:
        parts = [_first_half(node, part) for part in parts]
    return op.stack(list(parts), axis=3)


def _frame(node: Node, data: Expr, window: Expr | None, length: Expr | None) -> Dim | None:
    """The number of samples of a transform."""
    if length is not None:
        return _known_length(node, length)
    return node.shape(data)[1] if window is None else node.shape(window)[0]


def _weights(node: Node, data: Expr, window: Expr | None, frame: int) -> Expr:
    """A window zero-padded to a frame."""
    if window is None:
        return node.let(op.ones((frame,), node.dtype(data)))
    (given,) = node.static_shape(window, "the window")
    if given > frame:
        raise node.refused("the window is longer than a frame", f"{frame}", f"{given}")
    return node.let(op.nn.pad(window, [(0, frame - given)]))


def _frames(
    node: Node, data: Expr, step: Expr, window: Expr | None, length: Expr | None
) -> list[Expr]:
    """The weighted frames of signals: (batch, transforms, frame)."""
    one = int64(1)
    if length is not None:
        size = node.let(op.reshape(op.cast(length, "int64"), ()))
    else:
        size = node.size(data, 1) if window is None else node.size(window, 0)
    distance = node.let(op.reshape(op.cast(step, "int64"), ()))
    message = "a frame is not one of the signal"
    size = within(node, size, 1, node.size(data, 1), message, f"1 to {VALUE}")
    distance = within(node, distance, 1, None, "lengths are positive", "1 or more")
    room = node.size(data, 1) - size
    count = node.let(op.floor_divide(room, distance) + one)
    starts = _numbers(node, count, None) * distance
    inside = _numbers(node, size, _frame(node, data, window, length))
    positions = node.let(op.expand_dims(starts, 1) + op.expand_dims(inside, 0))
    frames = [node.let(op.take(part, positions, axis=1)) for part in _parts(node, data)]
    if window is None:
        return frames
    weights = _resized(node, window, size)
    return [node.let(one_part * weights) for one_part in frames]


MEL = 2595.0  # mels are 2595 log10(1 + hertz / 700)
HERTZ = 700.0


_LEAST = {
    "the number of bands is not positive": 1,
    "the length is negative": 0,
    "the rate of samples is not positive": 1,
}


@table("MelWeightMatrix", since=17)
def mel_weight_matrix(
    node: Node, bands: Expr, length: Expr, rate: Expr, lowest: Expr, highest: Expr
) -> Expr:
    """The weight of each frequency in each band: overlapping triangles, evenly spaced in mels."""
    dtype = element_type(node.attribute("output_datatype", 1))
    two, one = int64(2), int64(1)
    scalars = [node.let(op.reshape(value, ())) for value in (bands, length, rate)]
    count, size, samples = (
        within(node, node.let(op.cast(value, "int64")), low, None, message, f"{low} or more")
        for value, (message, low) in zip(scalars, _LEAST.items(), strict=True)
    )
    known_bands = _known_length(node, bands)
    low, high = (_mels(node, value) for value in (lowest, highest))
    edges = node.let(count + two)
    step = (high - low) / op.cast(edges, "float64")
    numbers = op.cast(
        _numbers(node, edges, None if known_bands is None else known_bands + 2), "float64"
    )
    mels = numbers * step + low
    hertz = (op.exp(mels / _number(MEL / math.log(10))) - _number(1)) * _number(HERTZ)
    scaled = op.cast(size + one, "float64") * hertz
    # the frequency bin of each edge
    positions = node.let(op.cast(op.floor(scaled / op.cast(samples, "float64")), "int64"))
    bins = op.floor_divide(size, two) + one
    length_known = _known_length(node, length)
    known = None if length_known is None else (length_known // 2) + 1
    column = op.expand_dims(_numbers(node, node.let(bins), known), 1)
    own = _numbers(node, count, known_bands)
    # one tensor of all three, so that they have equal lengths for inference
    offsets = int64(np.arange(3)[:, None])
    neighbors = node.let(op.take(positions, op.expand_dims(own, 0) + offsets, axis=0))
    left, middle, right = (
        node.let(op.squeeze(op.strided_slice(neighbors, [i], [i + 1], axes=(0,)), axis=[0]))
        for i in range(3)
    )
    return op.cast(_triangle(node, node.let(column), left, middle, right), dtype)


def _number(value: float) -> Expr:
    return const(value, "float64")


def _mels(node: Node, hertz: Expr) -> Expr:
    scalar = op.cast(op.reshape(hertz, ()), "float64")
    logarithm = op.log(_number(1) + scalar / _number(HERTZ))
    return node.let(logarithm * _number(MEL / math.log(10)))


def _triangle(node: Node, at: Expr, left: Expr, middle: Expr, right: Expr) -> Expr:
    """A triangle from 0 at the left to 1 in the middle and 0 at the right."""

    def ratio(part: Expr, whole: Expr) -> Expr:
        least = op.maximum(whole, int64(1))
        return op.cast(part, "float64") / op.cast(least, "float64")

    zero = _number(0)
    rising = ratio(at - left, middle - left)
    falling = ratio(right - at, right - middle)
    # without a rising edge where the left is the middle
    rising = op.where(op.equal(left, middle), op.ones_like(rising), rising)
    is_rising = op.logical_and(at >= left, at <= middle)
    is_falling = op.logical_and(at >= middle, at < right)
    up = node.let(op.where(is_rising, rising, zero))
    return node.let(op.where(is_falling, falling, up))
