"""Preferred layouts: channels last, so that the inner axis of convolutions is contiguous.

nn.conv1d, nn.conv2d, nn.conv3d    data NHWC, weights HWIO, result NHWC
"""

from __future__ import annotations

from relay.ir.expr import Call
from relay.op.opdef import OpDef

SPATIAL = {"nn.conv1d": "W", "nn.conv2d": "HW", "nn.conv3d": "DHW"}


def preferred(call: Call) -> Call | None:
    """The call with channels last, over the same arguments; None to keep it."""
    if not isinstance(call.op, OpDef) or call.op.name not in SPATIAL:
        return None
    spatial = SPATIAL[call.op.name]
    known = {} if call.attrs is None else dict(call.attrs.items())
    first = f"NC{spatial}"
    layouts = known["data_layout"], known["kernel_layout"], known["out_layout"] or first
    if layouts != (first, f"OI{spatial}", first):
        return None
    last = f"N{spatial}C"
    changes = {"data_layout": last, "kernel_layout": f"{spatial}IO", "out_layout": last}
    return Call(call.op, call.args, call.op.make_attrs({**known, **changes}), span=call.span)
