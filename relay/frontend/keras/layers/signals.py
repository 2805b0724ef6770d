"""Spectrograms of signals."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from relay import op
from relay.frontend.keras.converters import Table
from relay.frontend.keras.layers.convolution import convolved, windows_of
from relay.frontend.keras.node import Node
from relay.frontend.keras.operations.elementwise import arctan2
from relay.frontend.keras.operations.spectral import short_time
from relay.frontend.keras.slots import Slot
from relay.ir.expr import Expr, const

table = Table()

EPSILON = 1e-7


def _kernels(config: Mapping[str, Any]) -> Sequence[Slot]:
    left_out = {"imag": "real_kernel", "real": "imag_kernel"}.get(str(config.get("mode")))
    return [Slot(name) for name in ("real_kernel", "imag_kernel") if name != left_out]


@table("STFTSpectrogram", variables=_kernels)
def stft_spectrogram(node: Node, inputs: Expr) -> Expr:
    """Each channel convolved with waves, which are weights."""
    mode, last = node.option("mode", "log"), node.channels_last
    length = node.option("frame_length", 256)
    step = node.option("frame_step", length // 2)
    size = node.option("fft_length", 2 ** math.ceil(math.log2(length)))
    count = size // 2 + 1
    channels = node.static_extent(inputs, -1 if last else 1, "how many channels there are")
    data = node.let(op.transpose(inputs, (0, 2, 1))) if last else inputs
    flat = node.let(op.reshape(data, (-3, 0, 1)))
    windows = windows_of(
        node, flat, [length], (step,), (1,), node.option("padding", "valid").lower(), True
    )

    def part(name: str) -> Expr:
        """(batch, channels, frequencies, steps)"""
        found = node.let(convolved(node, flat, node.needed(name), windows, 1, count, "WIO", True))
        turned = node.let(op.transpose(found, (0, 2, 1)))
        return node.let(op.reshape(turned, (-4, -1, channels, 0, 0)))

    found = _of_mode(node, mode, part)
    if node.option("expand_dims", False):
        return op.transpose(found, (0, 3, 2, 1) if last else (0, 1, 3, 2))
    merged = node.let(op.reshape(found, (0, -3, 0)))
    return op.transpose(merged, (0, 2, 1)) if last else merged


def _of_mode(node: Node, mode: str, part: Any) -> Expr:
    if mode in ("real", "imag"):
        return part(f"{mode}_kernel")  # type: ignore[no-any-return]
    real, imaginary = part("real_kernel"), part("imag_kernel")
    if mode == "angle":
        return node.let(arctan2(node, imaginary, real))
    if mode == "stft":
        return node.let(op.concatenate([real, imaginary], axis=2))
    power = node.let(real * real + imaginary * imaginary)
    if mode == "psd":
        inner = op.strided_slice(power, [1], [-1], axes=(2,))
        pads = [(0, 0), (0, 0), (1, 1), (0, 0)]
        return node.let(power + op.nn.pad(node.let(inner), pads, node.number(0, power)))
    least = node.number(EPSILON, power)
    size = node.let(op.sqrt(op.maximum(power, least)))
    return size if mode == "magnitude" else node.let(op.log(op.maximum(size, least)))


@table("MelSpectrogram")
def mel_spectrogram(node: Node, inputs: Expr) -> Expr:
    wide = node.compute_dtype if node.compute_dtype == "float64" else "float32"
    data = node.as_dtype(inputs, wide)
    size = node.option("fft_length", 2048)
    length = node.option("sequence_length", size)
    stride = node.option("sequence_stride", 512)
    real, imaginary = short_time(node, data, length, stride, size, center=True)
    found = node.let(op.sqrt(real * real + imaginary * imaginary))
    found = node.let(op.power(found, node.number(node.option("mag_exp", 2.0), found)))
    bands = node.let(const(_bands(node, size // 2 + 1), wide))
    found = node.let(op.nn.matmul(found, bands))
    if node.option("power_to_db", True):
        found = _decibels(node, found)
    rank = node.rank(found)
    return node.as_dtype(
        node.let(op.transpose(found, (*range(rank - 2), rank - 1, rank - 2))), node.compute_dtype
    )


def _decibels(node: Node, power: Expr) -> Expr:
    least = node.option("min_power", 1e-10)
    ten = node.number(10, power)
    base = 10 * math.log10(max(abs(node.option("ref_power", 1.0)), least))
    found = ten * op.log10(op.maximum(power, node.number(least, power))) - node.number(base, power)
    found = node.let(found)
    return node.let(
        op.maximum(found, op.max(found) - node.number(node.option("top_db", 80.0), found))
    )


def _mel(hertz: Any) -> Any:
    return 1127.0 * np.log(1.0 + hertz / 700.0)


def _bands(node: Node, count: int) -> np.ndarray:
    """The weights of frequencies in each band: a triangle on the mel scale."""
    rate = node.option("sampling_rate", 16000)
    given = node.config.get("max_freq")
    edges = (node.option("min_freq", 20.0), rate / 2 if given is None else float(given))
    bins = node.option("num_mel_bins", 128)
    places = _mel(np.linspace(0, rate / 2, count)[1:])[:, None]
    marks = np.linspace(_mel(edges[0]), _mel(edges[1]), bins + 2)
    low, middle, high = marks[:-2], marks[1:-1], marks[2:]
    rising, falling = (places - low) / (middle - low), (high - places) / (high - middle)
    return np.pad(np.maximum(0, np.minimum(rising, falling)), [(1, 0), (0, 0)])
