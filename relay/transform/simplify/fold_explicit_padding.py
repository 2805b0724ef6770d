"""Fold nn.pad into the padding of convolutions and pools:

nn.conv2d(nn.pad(%x, 0f, pad_width=[[0, 0], [0, 0], [1, 1], [2, 2]]), %w)
->
nn.conv2d(%x, %w, padding=[1, 2, 1, 2])

for %x: Tensor[(1, 4, 5, 5), float32], %w: Tensor[(8, 4, 3, 3), float32]

Convolutions pad with zeros, quantized ones with the zero point of their data. Max pools pad with
the lowest value; a pad with another value is folded if no element is lower (zeros around the result
of a relu) and every window contains an element. Average pools then include their padding in the
count.

A pad of batch or channels, or a negative one, stays.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from relay import dtypes, tree
from relay.analysis.value_ranges import of_expression
from relay.immutable import frozen
from relay.ir.expr import Call, Expr
from relay.op.building.layouts import Layout, parse_layout, spatial_axes
from relay.op.building.numerics import convert, limits, widened
from relay.op.building.window import pad_pairs
from relay.transform.simplify.peephole import RulePass, Rules
from relay.transform.simplify.rule_window import Window

CONVOLUTIONS = (
    "nn.conv1d",
    "nn.conv2d",
    "nn.conv3d",
    "nn.contrib_conv2d_NCHWc",
    "nn.contrib_depthwise_conv2d_NCHWc",
)
MAX_POOLS = ("nn.max_pool1d", "nn.max_pool2d", "nn.max_pool3d")
AVERAGE_POOLS = ("nn.avg_pool1d", "nn.avg_pool2d", "nn.avg_pool3d")


@frozen
class _Pad:
    """An explicit pad of spatial axes with a known value."""

    data: Expr
    value: np.ndarray
    pairs: tuple[tuple[int, int], ...]  # before and after each spatial axis


def into_convolution(call: Call, window: Window) -> Expr | None:
    """nn.conv2d(nn.pad(%x, 0f, p), %w)  ->  nn.conv2d(%x, %w, padding=p)"""
    pad = _explicit_pad(call, call.attrs, "data_layout", window)
    return _padded(call, pad) if pad is not None and bool(pad.value == 0) else None


def into_quantized_convolution(call: Call, window: Window) -> Expr | None:
    """qnn.conv2d(nn.pad(%x, z, p), %w, z, …)  ->  qnn.conv2d(%x, %w, z, …, padding=p)"""
    pad = _explicit_pad(call, call.attrs, "data_layout", window)
    zero_point = window.value(call.args[2])
    if pad is None or zero_point is None or zero_point.size != 1:
        return None
    return _padded(call, pad) if int(pad.value) == int(zero_point.reshape(())) else None


def into_max_pool(call: Call, window: Window) -> Expr | None:
    """nn.max_pool2d(nn.pad(%x, -inf, p))  ->  nn.max_pool2d(%x, padding=p)"""
    pad = _explicit_pad(call, call.attrs, "layout", window)
    if pad is None:
        return None
    if bool(pad.value == limits(pad.value.dtype)[0]):
        return _padded(call, pad)
    low = of_expression(pad.data, window).low
    lowest = float(widened(pad.value)) <= low
    return _padded(call, pad) if lowest and _windows_have_data(call.attrs, pad) else None


def into_average_pool(call: Call, window: Window) -> Expr | None:
    """nn.avg_pool2d(nn.pad(%x, 0f, p))  ->  nn.avg_pool2d(…, padding=p, count_include_pad=True)"""
    attrs: Any = call.attrs
    pad = _explicit_pad(call, attrs, "layout", window)
    if pad is None or not bool(pad.value == 0):
        return None
    # what the pool has padded so far must count as well
    if any(attrs.padding) and not attrs.count_include_pad:
        return None
    return _padded(call, pad, count_include_pad=True)


def _explicit_pad(call: Call, attrs: Any, layout_name: str, window: Window) -> _Pad | None:
    pad = window.call_of(call.args[0], "nn.pad")
    layout = parse_layout(getattr(attrs, layout_name))
    if pad is None or layout is None or pad.attrs.pad_mode != "constant":  # type: ignore[union-attr]
        return None
    value = window.value(pad.args[1])
    pairs = _spatial_pairs(pad.attrs, layout)
    if value is None or pairs is None or any(width < 0 for pair in pairs for width in pair):
        return None
    return _Pad(pad.args[0], convert(value, dtypes.canonical(window.dtype(pad))), pairs)


def _spatial_pairs(attrs: Any, layout: Layout) -> tuple[tuple[int, int], ...] | None:
    """The widths along the spatial axes; None where others are padded, or blocks of these."""
    if len(attrs.pad_width) != len(layout.axes):
        return None
    letters = spatial_axes(layout.text)
    found = dict.fromkeys(letters, (0, 0))
    for (letter, block), width in zip(layout.axes, attrs.pad_width, strict=True):
        if letter in found and not layout.blocks(letter):
            found[letter] = width
        elif any(width) or (block and letter in found):
            return None
    return tuple(found[letter] for letter in letters)


def _padded(call: Call, pad: _Pad, **changes: Any) -> Expr:
    """The call on what was padded, with so much more padding of its own."""
    attrs: Any = call.attrs
    own = pad_pairs(attrs.padding, len(pad.pairs))
    both = [(a + c, b + d) for (a, b), (c, d) in zip(own, pad.pairs, strict=True)]
    padding = (*(before for before, _ in both), *(after for _, after in both))
    known = {**dict(attrs.items()), "padding": padding, **changes}
    return tree.replace(call, args=(pad.data, *call.args[1:]), attrs=type(attrs)(**known))


def _windows_have_data(attrs: Any, pad: _Pad) -> bool:
    """Whether no window lies in the padding alone."""
    own = pad_pairs(attrs.padding, len(pad.pairs))
    return not attrs.ceil_mode and all(
        a + c < size and b + d < size and step == 1
        for (a, b), (c, d), size, step in zip(
            own, pad.pairs, attrs.pool_size, attrs.dilation, strict=True
        )
    )


RULES: Rules = {
    **dict.fromkeys(CONVOLUTIONS, (into_convolution,)),
    "qnn.conv2d": (into_quantized_convolution,),
    **dict.fromkeys(MAX_POOLS, (into_max_pool,)),
    **dict.fromkeys(AVERAGE_POOLS, (into_average_pool,)),
}


@frozen
class FoldExplicitPadding(RulePass):
    """Pads become the padding of the convolution or the pool that reads them."""

    rules = (RULES,)
