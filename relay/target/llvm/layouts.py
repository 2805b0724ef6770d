"""Preferred layouts of convolutions:

    nn.conv2d, NCHW    ->  nn.contrib_conv2d_NCHWc              data NCHW16c, weights OIHW
                           nn.contrib_depthwise_conv2d_NCHWc    data NCHW16c, weights OIHW1i16o
    nn.conv1d, NCW     ->  nn.conv1d                            data NCW16c
    nn.conv3d, NCDHW   ->  nn.conv3d                            data NCDHW16c
    nn.conv2d of bytes ->  nn.conv2d                            data NHWC

Vectors run along the output channels, one vector per block: so results are stored in vectors, and
windows read contiguous memory. A block has 16 elements of 32 bits with AVX-512, 8 with AVX2, or 4.

    channels     Output channels must be a multiple of the block. If input channels are not, such as
                 the three of an image, only the result is blocked: inputs are broadcast one by one.
                 Between blocked neighbors, as in inverted residuals, a few channels are blocks of
                 other sizes, 24 for 24: that wastes part of a vector, but moves no image.
    weights      stay as they are, because they are packed once; those of depthwise convolutions
                 are not packed, so they are blocked.
    groups       of whole blocks of inputs and outputs, or of one channel. Smaller ones would have
                 vectors across groups, and are slower in blocks.
    elements     float32 and float64.

Dot-product instructions of bytes need four adjacent input channels (`integers`): with channels last
they are, vectors run along them as well, and per-channel scales are vectors. Input channels that
are no multiple of four stay as they are, because they are copied anyhow. Depthwise weights have
their channels last too: their words are made of lines (`schedules.depthwise`).

Measured with AVX-512, blocked convolutions are 1.1 to 1.3 times as fast with windows of 3 and 64 or
more channels, 2 to 9 times for images of three channels, 2 to 6 times if depthwise, and not slower
with windows of 1, stride 2 or small images. With AVX2 one layer of those measured is an eighth
slower: a window of 1 from 1024 to 256 channels at 14x14. Bytes with channels last are 2 to 6 times
as fast as with channels first, and as fast as blocked.
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
WORD = 4  # bytes of a dot product
BACKWARD = frozenset({"nn.conv2d_transpose", "nn.conv2d_backward_weight"})
SPATIAL: Mapping[str, str] = {"nn.conv1d": "W", "nn.conv2d": "HW", "nn.conv3d": "DHW"}


def preferred(call: Call, target: LLVMTarget) -> Call | None:
    """The call in the preferred layouts, over the same arguments; None to keep it."""
    if target.is_small:
        return None
    if isinstance(call.op, OpDef) and call.op.name in BACKWARD:
        return _backward(call, call.op, target)
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
    given = _block(outputs, inputs, block) if groups == 1 else block
    if given is None or outputs % given:
        return None
    many = CONV2D_NCHWC if spatial == "HW" else call.op
    plain, blocks, kernel = (f"NC{spatial}", f"NC{spatial}{given}c", f"OI{spatial}")
    if groups == 1:
        taken = _block(inputs, outputs, block)
        return _over(call, many, f"{plain}{taken}c" if taken else plain, kernel, blocks)
    if groups == inputs == outputs and spatial == "HW":
        return _over(call, DEPTHWISE_CONV2D_NCHWC, blocks, f"{kernel}1i{block}o", blocks)
    if each % block == 0 and outputs // groups % block == 0:
        return _over(call, many, blocks, kernel, blocks)
    return None


def _block(channels: int, others: int, vector: int) -> int | None:
    """The size of a block on one side of a convolution, given the channels on the other side.

    Opposite whole vectors it is the divisor that wastes least of its vectors: 24 of 24, 15 of 30.
    """
    if channels % vector == 0:
        return vector
    if others % vector:
        return None
    sizes = [size for size in range(vector // 2 + 1, 4 * vector) if channels % size == 0]
    return min(sizes, key=lambda size: (-size % vector / size, -size), default=None)


def _backward(call: Call, op: OpDef, target: LLVMTarget) -> Call | None:
    """A gradient of a convolution between blocks of channels; its weight stays as it is."""
    known: Any = call.attrs
    first, result = call.args[0].ty, call.ty
    if not isinstance(first, TensorType) or not isinstance(result, TensorType):
        return None
    kernel = "OIHW" if known.kernel_layout in ("", "OIHW") else known.kernel_layout
    if known.data_layout != "NCHW" or (known.out_layout or "NCHW") != "NCHW" or known.groups > 1:
        return None
    if {first.dtype, result.dtype} - ELEMENTS or first.dtype != result.dtype:
        return None
    block = target.vector_bits // 8 // dtypes.to_numpy(first.dtype).itemsize
    channels = (first.shape[1], result.shape[1])
    if not all(isinstance(count, int) and count % block == 0 for count in channels):
        return None
    blocks = f"NCHW{block}c"
    return _over(call, op, blocks, kernel, blocks)


def _channels_last(call: Call, data: TensorType, weight: TensorType, spatial: str) -> Call | None:
    """A convolution of bytes, without groups or depthwise, with channels last."""
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
    """Whether a convolution has the default layouts and supported element types."""
    known: Any = call.attrs
    layouts = known.data_layout, known.kernel_layout, known.out_layout or known.data_layout
    if layouts != (f"NC{spatial}", f"OI{spatial}", f"NC{spatial}"):
        return False
    *factors, result = (getattr(e.ty, "dtype", "") for e in (*call.args, call))
    if set(factors) <= BYTES:
        return result == "int32"
    return {*factors, result} <= ELEMENTS and len({*factors, result}) == 1


def _over(call: Call, op: OpDef, data: str, kernel: str, out: str) -> Call:
    """The call with other layouts."""
    known = dict(call.attrs.items())  # type: ignore[union-attr]
    changes = {"data_layout": data, "kernel_layout": kernel, "out_layout": out}
    return Call(op, call.args, op.make_attrs({**known, **changes}), span=call.span)
