"""Fourier transforms, with complex numbers as pairs of tensors, and frames of sequences."""

from __future__ import annotations

from typing import Any

import numpy as np

from relay import op
from relay.frontend.common import fourier
from relay.frontend.common.builder import int64
from relay.frontend.keras.converters import Operations
from relay.frontend.keras.node import Node
from relay.frontend.keras.promotion import floating
from relay.ir.expr import Expr, const

table = Operations()


def _pair(node: Node, x: Any) -> fourier.Pair:
    if not isinstance(x, list | tuple) or len(x) != 2:
        raise node.refused("its input is no pair of tensors")
    real, imaginary = (node.tensor(one) for one in x)
    return real, imaginary


@table("math.FFT", "math.FFT2", "math.IFFT2")
def transform(node: Node, x: Any) -> list[Expr]:
    data = _pair(node, x)
    rank = node.rank(data[0])
    for axis in (rank - 1,) if node.operator == "FFT" else (rank - 1, rank - 2):
        data = fourier.transform(node, data, axis, inverse=node.operator == "IFFT2")
    return [*data]


@table("math.RFFT")
def rfft(node: Node, x: Expr) -> list[Expr]:
    given = node.config.get("fft_length")
    data = floating(node, x)
    count = node.static_extent(data, -1, "the length") if given is None else int(given)
    return [*fourier.rfft(node, data, count)]


@table("math.IRFFT")
def irfft(node: Node, x: Any) -> Expr:
    data, given = _pair(node, x), node.config.get("fft_length")
    half = node.static_extent(data[0], -1, "the length")
    return fourier.irfft(node, data, 2 * (half - 1) if given is None else int(given))


@table("math.ExtractSequences")
def extract_sequences(node: Node, x: Expr) -> Expr:
    return sequences(node, x, node.option("sequence_length", 1), node.option("sequence_stride", 1))


def sequences(node: Node, data: Expr, length: int, stride: int) -> Expr:
    """Frames of the last axis, as rows."""
    axis = node.rank(data) - 1
    return node.let(op.sliding_window(data, axis, (length,), (stride,)))


def window_of(node: Node, length: int, size: int) -> np.ndarray:
    """The window of a transform, in the middle of `size` elements."""
    given: Any = node.config.get("window", "hann")
    numbers = np.arange(length) / length
    if given is None:
        own = np.ones(length)
    elif isinstance(given, str):
        first = {"hann": 0.5, "hamming": 0.54}.get(given)
        if first is None:
            raise node.refused("there is no such window", "hann or hamming", given[:20])
        own = first - (1 - first) * np.cos(2 * np.pi * numbers)
    else:
        own = np.asarray(given, "float64").reshape(-1)
    if len(own) != length or length > size:
        raise node.refused("the window has another length", str(length), str(len(own)))
    before = (size - length) // 2
    return np.pad(own, (before, size - length - before))


def short_time(
    node: Node, x: Expr, length: int, stride: int, size: int, *, center: bool
) -> fourier.Pair:
    """The transforms of frames of a signal, each times a window."""
    if center:
        pads = [(0, 0)] * (node.rank(x) - 1) + [(size // 2, size // 2)]
        x = node.let(op.nn.mirror_pad(x, pads, "REFLECT"))
    rows = sequences(node, x, size, stride)
    window = node.let(const(window_of(node, length, size), node.dtype(x)))
    return fourier.rfft(node, node.let(rows * window), size)


def _sizes(node: Node) -> tuple[int, int, int]:
    names = ("sequence_length", "sequence_stride", "fft_length")
    length, stride, size = (node.option(name, 1) for name in names)
    return length, stride, size


@table("math.STFT")
def stft(node: Node, x: Expr) -> list[Expr]:
    data, center = floating(node, x), bool(node.option("center", True))
    return [*short_time(node, data, *_sizes(node), center=center)]


@table("math.ISTFT")
def istft(node: Node, x: Any) -> Expr:
    """Overlapped and added frames, divided by the sum of the windows at each element."""
    data, (length, stride, size) = _pair(node, x), _sizes(node)
    center = bool(node.option("center", True))
    rows = fourier.irfft(node, data, size)
    rank = node.rank(rows)
    count = node.static_extent(rows, -2, "how many parts there are")
    window = window_of(node, length, size)
    total = size + stride * (count - 1)
    places = (np.arange(count)[:, None] * stride + np.arange(size)).reshape(-1)
    if node.config.get("window", "hann") is not None and not (center and length == size):
        # windows that are divided by their own sums, as if there were frames without end
        folds = -(-size // stride)
        square = np.pad(window**2, (0, folds * stride - size)).reshape(folds, stride).sum(0)
        weights, over = window / np.tile(square, folds)[:size], np.ones(total)
    elif node.config.get("window", "hann") is None:
        weights, over = np.ones(size), np.ones(total)
    else:
        weights, over = window, np.zeros(total)
        np.add.at(over, places, np.tile(window**2, count))
    dtype = node.dtype(rows)
    weighted = node.let(rows * const(weights, dtype))
    batch = node.static_shape(rows, "parts")[: rank - 2]
    flat = node.let(op.reshape(weighted, (*batch, count * size)))
    first = node.let(op.transpose(flat, (rank - 2, *range(rank - 2)))) if rank > 2 else flat
    empty = node.zeros((total, *batch), dtype)
    summed = node.let(op.scatter_nd(empty, int64(places[None]), first, mode="add"))
    back = node.let(op.transpose(summed, (*range(1, rank - 1), 0))) if rank > 2 else summed
    begin = size // 2 if center else 0
    wanted = node.config.get("length")
    end = total - size // 2 if center else total
    end = begin + int(wanted) if wanted is not None else end
    kept = np.where(over[begin:end] > 1e-11, over[begin:end], 1.0)
    part = node.let(op.strided_slice(back, [begin], [min(end, total)], axes=(rank - 2,)))
    found = node.let(part / const(kept, dtype))
    return found if end <= total else fourier.of_length(node, found, rank - 2, end - begin)
