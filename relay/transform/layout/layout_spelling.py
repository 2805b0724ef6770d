"""The layouts that operators name in their attributes:

nn.conv2d(%x, %w, data_layout="NHWC", kernel_layout="HWIO")   ->   %x: NHWC, %w: HWIO, result: NHWC

A layout is a fact about a call that passes ask for and change. Which attribute speaks of which
argument stands in one table here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from relay.immutable import frozen
from relay.ir.expr import Call
from relay.ir.types import TensorType
from relay.op.opdef import OpDef


@frozen
class Spelling:
    """The attributes in which an operator names the layouts of its arguments and of its result.

    An argument without one (None) has no layout. The result has that of `result`, or where that is
    empty or not there, that of the first argument.
    """

    arguments: tuple[str | None, ...]
    result: str | None = None

    def layouts(self, call: Call) -> tuple[list[str | None], str]:
        """The layouts of the arguments, and of the result."""
        known: Any = call.attrs
        found = [None if name is None else getattr(known, name) for name in self.arguments]
        found += [None] * (len(call.args) - len(found))
        out = getattr(known, self.result) if self.result else ""
        assert found[0] is not None
        return found, out or found[0]


_CONVOLUTION = Spelling(("data_layout", "kernel_layout"), "out_layout")
_POOL = Spelling(("layout",), "out_layout")
_IMAGE = Spelling(("layout",))

CONVOLUTIONS: Mapping[str, Spelling] = {
    "nn.conv1d": _CONVOLUTION,
    "nn.conv2d": _CONVOLUTION,
    "nn.conv3d": _CONVOLUTION,
    "nn.conv1d_transpose": _CONVOLUTION,
    "nn.conv2d_transpose": _CONVOLUTION,
    "nn.conv3d_transpose": _CONVOLUTION,
    "nn.contrib_conv2d_NCHWc": _CONVOLUTION,
    "nn.contrib_depthwise_conv2d_NCHWc": _CONVOLUTION,
    "nn.deformable_conv2d": Spelling(("data_layout", "data_layout", "kernel_layout"), "out_layout"),
    "nn.modulated_deformable_conv2d": Spelling(
        ("data_layout", "data_layout", "kernel_layout", "data_layout"), "out_layout"
    ),
    "qnn.conv2d": _CONVOLUTION,
    "qnn.conv2d_transpose": _CONVOLUTION,
}
# They do the same with every channel, so channels may lie in blocks.
PER_CHANNEL: Mapping[str, Spelling] = {
    **{
        f"nn.{kind}_pool{rank}d": _POOL
        for kind in ("max", "avg", "adaptive_max", "adaptive_avg")
        for rank in (1, 2, 3)
    },
    "nn.global_max_pool2d": _POOL,
    "nn.global_avg_pool2d": _POOL,
    "qnn.avg_pool2d": _POOL,
    "nn.upsampling": _IMAGE,
    "nn.upsampling3d": _IMAGE,
    "image.resize1d": _IMAGE,
    "image.resize2d": _IMAGE,
    "image.resize3d": _IMAGE,
}
OTHERS: Mapping[str, Spelling] = {
    "nn.depth_to_space": _IMAGE,
    "nn.space_to_depth": _IMAGE,
    "vision.roi_align": _IMAGE,
    "vision.roi_pool": _IMAGE,
}
SPELLINGS: Mapping[str, Spelling] = {**CONVOLUTIONS, **PER_CHANNEL, **OTHERS}
# It names an axis, that of the channels, where others name a layout.
NORMALIZATION = "nn.batch_norm"


def channels_first_and_last(rank: int) -> tuple[str, str]:
    """The usual layouts of tensors with a batch, channels and up to three spatial axes."""
    spatial = "DHW"[5 - rank :]
    return "NC" + spatial, f"N{spatial}C"


def normalized_layout(call: Call) -> str | None:
    """The layout that the axis of a `nn.batch_norm` stands for; None if it is none of the usual."""
    known: Any = call.attrs
    ty = call.args[0].ty
    if not isinstance(ty, TensorType) or not 2 <= len(ty.shape) <= 5:
        return None
    axis = known.axis % len(ty.shape)
    for layout in channels_first_and_last(len(ty.shape)):
        if layout.index("C") == axis:
            return layout
    return None


def spelled_layouts(call: Call) -> tuple[list[str | None], str] | None:
    """The layouts of the arguments and of the result of a call that names them."""
    if not isinstance(call.op, OpDef):
        return None
    if call.op.name == NORMALIZATION:
        text = normalized_layout(call)
        return None if text is None else ([text, *[None] * (len(call.args) - 1)], text)
    if call.op.name not in SPELLINGS:
        return None
    return SPELLINGS[call.op.name].layouts(call)
