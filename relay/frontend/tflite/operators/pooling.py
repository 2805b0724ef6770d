"""Pools over windows, with images whose channels are last."""

from __future__ import annotations

from typing import Any

from relay import dtypes, op
from relay.frontend.common.builder import int64
from relay.frontend.common.windows import Windows
from relay.frontend.tflite.activation import activated, clipped
from relay.frontend.tflite.converters import Table
from relay.frontend.tflite.node import Node
from relay.frontend.tflite.operators.convolution import LETTERS, windows_of
from relay.ir.expr import Expr
from relay.op.building.numerics import limits
from relay.op.qnn import op as qnn

table = Table()

LAYOUT = {"layout": "NHWC"}


def _windows(node: Node, data: Expr) -> Windows:
    node.must_have_axes(data, 4, "images")
    sizes = [node.option(name, 1) for name in ("filter_height", "filter_width")]
    if min(sizes) < 1:
        raise node.refused("windows have elements", "1 or more", str(sizes))
    return windows_of(node, data, sizes, LETTERS)


def _attributes(windows: Windows) -> dict[str, Any]:
    strides = tuple(windows.strides)
    return {"pool_size": tuple(windows.sizes), "strides": strides, "padding": windows.padding}


def _declared(node: Node, windows: Windows, found: Expr, data: Expr) -> Expr:
    """A pool, with its shape declared where the extents of data are dynamic."""
    if windows.pads is not None:
        return node.let(found)
    batch, *_, channels = node.shape(data)
    counts = windows.same_counts(windows.extents(node.shape(data)))
    found = node.let(found)
    return node.declare(found, (batch, *counts, channels), node.dtype(found))


@table("MAX_POOL_2D")
def max_pool_2d(node: Node, data: Expr) -> Expr:
    windows = _windows(node, data)
    framed = data
    if windows.pads is None:
        lowest, _ = limits(dtypes.to_numpy(node.dtype(data)))
        framed = windows.padded(node, data, node.number(lowest, data))
    pool = op.nn.max_pool2d(framed, **_attributes(windows), **LAYOUT)
    found = _declared(node, windows, pool, data)
    if node.result_affine() is None:
        return activated(node, found)
    return clipped(node, node.let(node.requantized(found)))


@table("AVERAGE_POOL_2D")
def average_pool_2d(node: Node, data: Expr) -> Expr:
    windows = _windows(node, data)
    both = node.both_affine()
    if both is None or windows.pads is None:
        found = _means(node, windows, node.real(data, 0))
        return node.as_result(activated(node, found))
    given, result = both
    numbers = (given.scale, given.zero_point, result.scale, result.zero_point)
    pool = qnn.avg_pool2d(
        data,
        *numbers,
        **_attributes(windows),
        **LAYOUT,
        dilation=(1, 1),
        count_include_pad=False,
        compute_dtype="float32",
    )
    return clipped(node, node.let(pool))


@table.of_reals("L2_POOL_2D")
def l2_pool_2d(node: Node, data: Expr) -> Expr:
    windows = _windows(node, data)
    return activated(node, node.let(op.sqrt(_means(node, windows, node.let(data * data)))))


def _means(node: Node, windows: Windows, data: Expr) -> Expr:
    """Average pooling; padding is not counted."""
    if windows.pads is not None:
        return node.let(op.nn.avg_pool2d(data, **_attributes(windows), **LAYOUT))
    zero = node.number(0, data)

    def pooled(one: Expr) -> Expr:
        framed = windows.padded(node, one, zero)
        return _declared(
            node, windows, op.nn.avg_pool2d(framed, **_attributes(windows), **LAYOUT), one
        )

    # the share of elements inside data: the mean of ones padded with zeros
    extents = op.concatenate([int64([1]), node.extents(data, 1, 3), int64([1])], axis=0)
    shape = (1, *node.shape(data)[1:3], 1)
    ones = node.declare(op.dyn.ones(extents, node.dtype(data)), shape, node.dtype(data))
    return node.let(pooled(data) / pooled(ones))
