"""The layouts in which this target computes convolutions fastest.

    data      NCHW16c        weights  OIHW16i16o       for vectors of 16 elements
    NCHW      OIHW16o  ->  NCHW16c                     where the input channels make no blocks

Vectors run along the output channels, of which a block is one vector: so results are stored whole
vector by whole vector, and what is read to the right and left of a window lies side by side. The
block is the number of elements of a vector: 16 of 32 bits with AVX-512, 8 with AVX2, 4 otherwise.

Input channels that do not fall into blocks, such as the three of a picture, stay where they are:
they are broadcast one by one in any case. Output channels that do not leave the call as it was.
"""

from __future__ import annotations

from typing import Any

from relay import dtypes
from relay.ir.expr import Call
from relay.ir.types import TensorType
from relay.op.conv_blocked import CONV2D_NCHWC, DEPTHWISE_CONV2D_NCHWC
from relay.op.opdef import OpDef
from relay.target.target import Target

# Narrower ones are computed with instructions of their own, which want other layouts.
ELEMENTS = ("float32", "float64")


def preferred(call: Call, target: Target) -> Call | None:
    """The call as this target prefers it, over the same arguments; None where it is as good."""
    if not isinstance(call.op, OpDef) or call.op.name != "nn.conv2d":
        return None
    known: Any = call.attrs
    data, weight = (arg.ty for arg in call.args)
    if not isinstance(data, TensorType) or not isinstance(weight, TensorType):
        return None
    out_layout = known.out_layout or known.data_layout
    if (known.data_layout, known.kernel_layout, out_layout) != ("NCHW", "OIHW", "NCHW"):
        return None
    if data.dtype not in ELEMENTS or weight.dtype != data.dtype:
        return None
    if known.out_dtype not in (None, data.dtype):
        return None
    block = target.vector_bits // 8 // dtypes.to_numpy(data.dtype).itemsize
    inputs, (outputs, each) = data.shape[1], weight.shape[:2]
    if not all(isinstance(extent, int) for extent in (inputs, outputs, each)):
        return None
    assert isinstance(inputs, int) and isinstance(outputs, int) and isinstance(each, int)
    return _in_blocks(call, block, inputs, outputs, each)


def _in_blocks(call: Call, block: int, inputs: int, outputs: int, each: int) -> Call | None:
    """The convolution with channels in blocks, as far as they fall into them."""
    groups: int = call.attrs.groups  # type: ignore[union-attr]
    if outputs % block:
        return None
    if groups == 1:
        if inputs % block:
            return _over(call, CONV2D_NCHWC, "NCHW", "OIHW", block)
        return _over(call, CONV2D_NCHWC, f"NCHW{block}c", "OIHW", block)
    if groups == inputs == outputs:
        return _over(call, DEPTHWISE_CONV2D_NCHWC, f"NCHW{block}c", f"OIHW1i{block}o", block)
    if each % block == 0 and outputs // groups % block == 0:
        return _over(call, CONV2D_NCHWC, f"NCHW{block}c", "OIHW", block)
    return None


def _over(call: Call, op: OpDef, data: str, kernel: str, block: int) -> Call:
    changes = {"data_layout": data, "kernel_layout": kernel, "out_layout": f"NCHW{block}c"}
    known = dict(call.attrs.items())  # type: ignore[union-attr]
    return Call(op, call.args, op.make_attrs({**known, **changes}), span=call.span)
