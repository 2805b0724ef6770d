"""The layouts in which this target computes convolutions fastest:

    nn.conv2d, NCHW    ->  nn.contrib_conv2d_NCHWc              data NCHW16c, weights OIHW
                           nn.contrib_depthwise_conv2d_NCHWc    data NCHW16c, weights OIHW1i16o
    nn.conv1d, NCW     ->  nn.conv1d                            data NCW16c
    nn.conv3d, NCDHW   ->  nn.conv3d                            data NCDHW16c
    nn.conv2d of bytes ->  nn.conv2d                            data NHWC

Vectors run along the output channels, and a block of them is one vector: so results are stored
vector by vector, and what windows read lies side by side. A block has 16 elements of 32 bits with
AVX-512, 8 with AVX2, 4 otherwise.

Which convolutions, and why not the others:

    channels     Output channels that do not fall into blocks leave the call as it was. Input
                 channels that do not, such as the three of a picture, stay where they are, and the
                 result is in blocks: inputs are broadcast one by one in any case.
    weights      stay as they are: their panels are packed once, from any layout. Those of a
                 depthwise convolution are read as they lie, so they are in blocks too.
    groups       of whole blocks of inputs and outputs, or of one channel. Smaller ones would have
                 vectors across groups, and are slower in blocks.
    elements     float32 and float64.

Bytes are summed by instructions that want input channels side by side, by fours (`integers`). With
the channels last they are so, vectors run along them as well, and scales of channels are vectors as
before, which in blocks they would not be. Input channels that make no words stay where they are; a
copy is made of them in any case. Depthwise weights have their channels last too.

For all of these the form in blocks was measured to be as fast or faster with AVX-512: 1.1 to 1.3
times at windows of 3 and 64 channels and more, 2 to 9 times for pictures of three channels, 2 to 6
times depthwise, and not slower at windows of 1, at stride 2 or on small images. With AVX2 one layer
of those tried is slower in blocks, by an eighth: a window of 1 from 1024 to 256 channels at 14x14.
Bytes with their channels last are 2 to 6 times as fast as with channels first, and as fast as in
blocks.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from relay import dtypes
from relay.ir.expr import Call
from relay.ir.types import TensorType
from relay.op.conv.conv_blocked import CONV2D_NCHWC, DEPTHWISE_CONV2D_NCHWC
from relay.op.opdef import OpDef
from relay.target.llvm.schedules.integers import instructions
from relay.target.llvm.target import LLVMTarget

ELEMENTS = frozenset({"float32", "float64"})
BYTES = frozenset({"int8", "uint8"})
WORD = 4  # bytes that are multiplied at once
SPATIAL: Mapping[str, str] = {"nn.conv1d": "W", "nn.conv2d": "HW", "nn.conv3d": "DHW"}


def preferred(call: Call, target: LLVMTarget) -> Call | None:
    """The call as this target prefers it, over the same arguments; None where it is as good."""
    if not isinstance(call.op, OpDef) or call.op.name not in SPATIAL:
        return None
    spatial = SPATIAL[call.op.name]
    data, weight = (arg.ty for arg in call.args)
    if not isinstance(data, TensorType) or not isinstance(weight, TensorType):
        return None
    if not _is_plain(call, spatial):
        return None
    if data.dtype not in ELEMENTS:
        return _channels_last(call, data, weight, spatial) if instructions(target) else None
    block = target.vector_bits // 8 // dtypes.to_numpy(data.dtype).itemsize
    inputs, (outputs, each) = data.shape[1], weight.shape[:2]
    if not (isinstance(inputs, int) and isinstance(outputs, int) and isinstance(each, int)):
        return None
    groups: int = call.attrs.groups  # type: ignore[union-attr]
    if outputs % block:
        return None
    many = CONV2D_NCHWC if spatial == "HW" else call.op
    plain, blocks, kernel = (f"NC{spatial}", f"NC{spatial}{block}c", f"OI{spatial}")
    if groups == 1:
        return _over(call, many, plain if inputs % block else blocks, kernel, blocks)
    if groups == inputs == outputs and spatial == "HW":
        return _over(call, DEPTHWISE_CONV2D_NCHWC, blocks, f"{kernel}1i{block}o", blocks)
    if each % block == 0 and outputs // groups % block == 0:
        return _over(call, many, blocks, kernel, blocks)
    return None


def _channels_last(call: Call, data: TensorType, weight: TensorType, spatial: str) -> Call | None:
    """A convolution of bytes, where its inputs make words or it is depthwise."""
    assert isinstance(call.op, OpDef)
    inputs, outputs = data.shape[1], weight.shape[0]
    groups: int = call.attrs.groups  # type: ignore[union-attr]
    last, kernel = f"N{spatial}C", f"OI{spatial}"
    if not isinstance(inputs, int):
        return None
    if groups == 1:
        return _over(call, call.op, f"NC{spatial}" if inputs % WORD else last, kernel, last)
    if groups == inputs == outputs:
        return _over(call, call.op, last, f"{spatial}OI", last)
    return None


def _is_plain(call: Call, spatial: str) -> bool:
    """Whether a convolution has the layouts and the elements that are looked at here."""
    known: Any = call.attrs
    layouts = known.data_layout, known.kernel_layout, known.out_layout or known.data_layout
    if layouts != (f"NC{spatial}", f"OI{spatial}", f"NC{spatial}"):
        return False
    *factors, result = (getattr(e.ty, "dtype", "") for e in (*call.args, call))
    if set(factors) <= BYTES:
        return result == "int32"
    return {*factors, result} <= ELEMENTS and len({*factors, result}) == 1


def _over(call: Call, op: OpDef, data: str, kernel: str, out: str) -> Call:
    """The call in other layouts."""
    known = dict(call.attrs.items())  # type: ignore[union-attr]
    changes = {"data_layout": data, "kernel_layout": kernel, "out_layout": out}
    return Call(op, call.args, op.make_attrs({**known, **changes}), span=call.span)
