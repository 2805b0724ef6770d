"""Replace space_to_batch_nd, conv, batch_to_space_nd by a dilated convolution:

%0 = nn.space_to_batch_nd(%x, block_shape=[2, 2], paddings=[[2, 3], [2, 3]]);
%1 = nn.conv2d(%0, %w, data_layout="NHWC", kernel_layout="HWIO");
nn.batch_to_space_nd(%1, block_shape=[2, 2], crops=[[0, 1], [0, 1]])
->
nn.conv2d(%x, %w, padding=[2, 2, 2, 2], dilation=[2, 2], data_layout="NHWC", kernel_layout="HWIO")

for %x: Tensor[(1, 5, 5, 4), float32], %w: Tensor[(3, 3, 4, 8), float32]

Some frameworks express dilation this way. The padding is that of space_to_batch_nd and of the
convolution (times the block), less the crops. It must be zeros and not negative, strides must be 1,
and channels must not move. Sums are in the same order, so the result is the same.
"""

from __future__ import annotations

from typing import Any

from relay import tree
from relay.immutable import frozen
from relay.ir.expr import Call, Expr
from relay.op.building.layouts import parse_layout, spatial_axes
from relay.op.building.window import pad_pairs
from relay.transform.simplify.peephole import RulePass, Rules
from relay.transform.simplify.rule_window import Window

CONVOLUTIONS = ("nn.conv1d", "nn.conv2d", "nn.conv3d")


def dilated(call: Call, window: Window) -> Expr | None:
    """batch_to_space(conv(space_to_batch(%x)))  ->  a dilated convolution of %x"""
    conv = window.call_of(call.args[0], *CONVOLUTIONS)
    split = None if conv is None else window.call_of(conv.args[0], "nn.space_to_batch_nd")
    if conv is None or split is None or not window.is_used_once(call.args[0]):
        return None
    outer: Any = call.attrs
    attrs: Any = conv.attrs
    inner: Any = split.attrs
    if inner.block_shape != outer.block_shape or inner.pad_value != 0:
        return None
    if any(stride != 1 for stride in attrs.strides):
        return None
    if attrs.out_layout not in ("", attrs.data_layout):
        return None
    blocks = _by_axis(attrs.data_layout, inner.block_shape, 1)
    paddings = _by_axis(attrs.data_layout, inner.paddings, (0, 0))
    crops = _by_axis(attrs.data_layout, outer.crops, (0, 0))
    if blocks is None or paddings is None or crops is None:
        return None
    own = pad_pairs(attrs.padding, len(blocks))
    both = [
        (p[0] + block * q[0] - c[0], p[1] + block * q[1] - c[1])
        for block, p, q, c in zip(blocks, paddings, own, crops, strict=True)
    ]
    if any(width < 0 for pair in both for width in pair):
        return None
    dilation = tuple(b * d for b, d in zip(blocks, attrs.dilation, strict=True))
    padding = (*(before for before, _ in both), *(after for _, after in both))
    known = {**dict(attrs.items()), "padding": padding, "dilation": dilation}
    return tree.replace(conv, args=(split.args[0], *conv.args[1:]), attrs=type(attrs)(**known))


def _by_axis(layout: str, values: Any, neutral: Any) -> list[Any] | None:
    """The values of the axes after the first, for each spatial axis; None where they are for
    others."""
    known = parse_layout(layout)
    if known is None or known.letters != layout or layout[0] != "N":
        return None
    given = dict(zip(layout[1:], values, strict=False))
    spatial = spatial_axes(layout)
    if any(value != neutral for letter, value in given.items() if letter not in spatial):
        return None
    return [given.get(letter, neutral) for letter in spatial]


RULES: Rules = {"nn.batch_to_space_nd": (dilated,)}


@frozen
class FlattenAtrousConv(RulePass):
    """space_to_batch_nd, convolution, batch_to_space_nd become a dilated convolution."""

    rules = (RULES,)
