"""Losses and measures that a model may have inside."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from relay import op
from relay.frontend.common.builder import int64
from relay.frontend.keras.converters import Operations
from relay.frontend.keras.layers.convolution import by_channel, windows_of
from relay.frontend.keras.node import Node
from relay.frontend.keras.promotion import floating, promoted
from relay.ir.expr import Expr, const

table = Operations()

EPSILON = 1e-7


def _clipped(output: Expr) -> Expr:
    return op.clip(output, EPSILON, 1 - EPSILON)


@table("nn.BinaryCrossentropy")
def binary_crossentropy(node: Node, target: Any, output: Any) -> Expr:
    wanted, given = (floating(node, one) for one in promoted(node, target, output))
    one = node.number(1, given)
    if node.option("from_logits", False):
        two = node.number(2, given)
        small = node.let(op.exp(op.negative(op.abs(given))))
        log = two * op.atanh(small / (two + small))
        return op.maximum(given, node.number(0, given)) - given * wanted + log
    found = node.let(_clipped(given))
    return op.negative(wanted * op.log(found) + (one - wanted) * op.log(one - found))


def _logs(node: Node, output: Expr, axis: int) -> Expr:
    if node.option("from_logits", False):
        return node.let(op.nn.log_softmax(output, axis=axis))
    shares = output / op.sum(output, axis=(axis,), keepdims=True)
    return node.let(op.log(_clipped(node.let(shares))))


@table("nn.CategoricalCrossentropy")
def categorical_crossentropy(node: Node, target: Any, output: Any) -> Expr:
    wanted, given = (floating(node, one) for one in promoted(node, target, output))
    axis = node.axis_of(node.option("axis", -1), node.rank(given))
    return op.negative(op.sum(wanted * _logs(node, given, axis), axis=(axis,)))


@table("nn.SparseCategoricalCrossentropy")
def sparse_categorical_crossentropy(node: Node, target: Expr, output: Expr) -> Expr:
    given = floating(node, output)
    rank = node.rank(given)
    axis = node.axis_of(node.option("axis", -1), rank)
    places = node.as_dtype(target, "int64")
    places = places if node.rank(places) == rank else node.let(op.expand_dims(places, axis))
    found = op.gather(_logs(node, given, axis), axis, places)
    return op.negative(op.squeeze(node.let(found), (axis,)))


@table("nn.PSNR")
def psnr(node: Node, x1: Any, x2: Any) -> Expr:
    left, right = promoted(node, x1, x2)
    apart = node.let(left - right)
    most = node.number(20 * math.log10(node.option("max_val", 1.0)), apart)
    return most - node.number(10, apart) * op.log10(op.mean(apart * apart))


@table("image.SSIM")
def ssim(node: Node, image1: Any, image2: Any) -> Expr:
    """Structural similarity (SSIM), over Gaussian windows."""
    first, second = promoted(node, image1, image2)
    dtype = node.dtype(first)
    wide = [node.as_dtype(one, "float32") if dtype == "float16" else one for one in (first, second)]
    single = node.rank(first) == 3
    wide = [node.let(op.expand_dims(one, 0)) if single else one for one in wide]
    last, size = node.channels_last, node.option("filter_size", 11)
    channels = node.static_extent(wide[0], -1 if last else 1, "how many channels there are")
    places = np.arange(size) - (size - 1) / 2
    bell = np.exp(-(places**2) / (2 * node.option("filter_sigma", 1.5) ** 2))
    bell /= bell.sum()
    plane = np.repeat(np.outer(bell, bell)[..., None], channels, -1)[..., None]
    kernel = node.let(const(plane, node.dtype(wide[0])))
    windows = windows_of(node, wide[0], [size, size], (1, 1), (1, 1), "valid", last)

    def mean(one: Expr) -> Expr:
        return node.let(by_channel(node, node.let(one), kernel, last, windows))

    x, y = wide
    a, b = mean(x), mean(y)
    xx, yy, xy = mean(x * x) - a * a, mean(y * y) - b * b, mean(x * y) - a * b
    most = node.option("max_val", 1.0)
    c, d = (node.number((node.option(*one) * most) ** 2, x) for one in (("k1", 0.01), ("k2", 0.03)))
    two = node.number(2, x)
    above = node.let((two * a * b + c) * (two * xy + d))
    means = op.mean(above / ((a * a + b * b + c) * (xx + yy + d)), axis=(1, 2, 3))
    found = node.as_dtype(node.let(means), dtype)
    return op.squeeze(found, (0,)) if single else found


@table("nn.CTCDecode")
def ctc_decode(node: Node, inputs: Expr, sequence_lengths: Expr) -> list[Expr]:
    """The most probable symbol of each step, without blanks and, if asked for, repetitions."""
    if node.option("strategy", "greedy") != "greedy":
        raise node.refused("it searches with beams", hint='strategy="greedy"')
    data = floating(node, inputs)
    steps = node.static_extent(data, 1, "how many steps there are")
    classes = node.static_extent(data, 2, "how many symbols there are")
    blank = node.option("mask_index", 0) % classes
    own = node.let(op.cast(op.argmax(data, axis=(2,)), "int32"))
    numbers = const(np.arange(steps), "int32")
    valid = node.let(op.less(numbers, op.expand_dims(node.as_dtype(sequence_lengths, "int32"), 1)))
    best = node.let(op.where(valid, op.max(data, axis=(2,)), node.number(0, data)))
    # what is over counts as blank
    symbols = node.let(op.where(valid, own, const(blank, "int32")))
    kept = node.let(op.not_equal(symbols, const(blank, "int32")))
    if node.option("merge_repeated", True):
        before = op.strided_slice(symbols, [0], [-1], axes=(1,))
        pads = [(0, 0), (1, 0)]
        before = op.nn.pad(node.let(before), pads, const(-1, "int32"))
        kept = node.let(op.logical_and(kept, op.not_equal(symbols, node.let(before))))
    # kept symbols first, in their order
    rank = node.let(op.cast(op.logical_not(kept), "int64") * int64(steps) + int64(np.arange(steps)))
    order = node.let(op.argsort(rank, axis=1, dtype="int64"))
    held = node.let(op.where(kept, symbols, const(-1, "int32")))
    found = node.let(op.gather(held, 1, order))
    score = op.negative(op.sum(best, axis=(1,), keepdims=True))
    return [op.expand_dims(found, 0), score]
