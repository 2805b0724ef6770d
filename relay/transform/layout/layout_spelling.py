"""Layouts in the attributes of operators:

nn.conv2d(%x, %w, data_layout="NHWC", kernel_layout="HWIO")   ->   %x: NHWC, %w: HWIO, result: NHWC

The record of an operator names the layout attribute of each argument (`LayoutAttributes`).
"""

from __future__ import annotations

from typing import Any

from relay.ir.expr import Call
from relay.ir.types import TensorType
from relay.op.building.layout_rules import LayoutAttributes
from relay.op.opdef import OpDef

# It has the axis of the channels instead of a layout.
NORMALIZATION = "nn.batch_norm"


def channels_first_and_last(rank: int) -> tuple[str, str]:
    """The usual layouts of tensors with a batch, channels and up to three spatial axes."""
    spatial = "DHW"[5 - rank :]
    return "NC" + spatial, f"N{spatial}C"


def normalized_layout(call: Call) -> str | None:
    """The layout that follows from the axis of a `nn.batch_norm`; None if it is unusual."""
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
    """The layouts of the arguments and the result of a call; None if it names none."""
    if not isinstance(call.op, OpDef):
        return None
    if call.op.name == NORMALIZATION:
        text = normalized_layout(call)
        return None if text is None else ([text, *[None] * (len(call.args) - 1)], text)
    spelling = call.op.layout
    return spelling.layouts(call) if isinstance(spelling, LayoutAttributes) else None
