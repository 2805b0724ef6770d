"""Accumulate products in 16 bits where they cannot overflow:

qnn.dense(%x, W, 3, 0, sx, sw, out_dtype="int32")
->
cast(qnn.dense(%x, W, 3, 0, sx, sw, out_dtype="int16"), dtype="int32")

The weights prove it: a sum is largest where every element of the data is at the end of its range
that the sign of its weight selects. Where it is too large, the input channels
are divided among a few sums, which are added in 32 bits; where that is not enough, the accumulator
stays as it is.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from relay import op, tree
from relay.ir.expr import Call, Constant, Expr, Function
from relay.ir.types import TensorType
from relay.nd import NDArray
from relay.op.opdef import OpDef

NARROW: Final = "int16"
WIDE: Final = "int32"
PARTS: Final = 8  # that a sum is divided into, at most
LAYERS: Final = ("qnn.dense", "qnn.conv2d")


def with_narrow_sums(main: Function) -> Function:
    """The typed function, with accumulators of 16 bits where that is proved."""
    return tree.replace(main, body=tree.transform(main.body, _narrowed), ret_type=None)


def _narrowed(before: Expr, after: Any) -> Any:
    known: Any = getattr(after, "attrs", None)
    if not isinstance(before, Call) or not isinstance(before.op, OpDef):
        return after
    if before.op.name not in LAYERS or known.out_dtype != WIDE:
        return after
    weight, zeros = before.args[1], before.args[2:4]
    if not all(isinstance(e, Constant) for e in (weight, *zeros)):
        return after
    found = _parts(before)
    if found is None:
        return after
    attrs = before.op.make_attrs({**dict(known.items()), "out_dtype": NARROW})
    if len(found) == 1:
        return op.cast(Call(before.op, after.args, attrs), WIDE)
    data_axis, weight_axis = _channels(before)
    total: Expr | None = None
    assert isinstance(weight, Constant)
    for first, last in found:
        part = np.take(weight.data.array, range(first, last), weight_axis)
        data = op.strided_slice(after.args[0], [first], [last], axes=[data_axis])
        arguments = (data, Constant(NDArray(np.ascontiguousarray(part))), *after.args[2:])
        sums = op.cast(Call(before.op, arguments, attrs), WIDE)
        total = sums if total is None else op.add(total, sums)
    return total


def _parts(call: Call) -> list[tuple[int, int]] | None:
    """Ranges of input channels whose sums fit, as few as that takes."""
    data, weight = call.args[:2]
    assert isinstance(weight, Constant)
    ty = data.ty
    if not isinstance(ty, TensorType):
        return None
    zero, kernel_zero = (e.data.array for e in call.args[2:4] if isinstance(e, Constant))
    known: Any = call.attrs
    low, high = (int(end) - zero.astype(np.int64) for end in _ends(data, ty.dtype))
    outputs = known.kernel_layout.index("O") if hasattr(known, "kernel_layout") else 0
    values = weight.data.array.astype(np.int64)
    shape = [-1 if place == outputs else 1 for place in range(values.ndim)]
    values = values - (kernel_zero.reshape(shape) if kernel_zero.ndim else kernel_zero)
    most = np.maximum(values * low, values * high)
    least = np.minimum(values * low, values * high)
    groups = getattr(known, "groups", 1)
    axis = _channels(call)[1]
    others = tuple(place for place in range(values.ndim) if place not in (outputs, axis))
    ends = np.iinfo(NARROW)
    # (outputs, channels)
    above, below = (
        np.moveaxis(each, (outputs, axis), (0, 1)).sum(tuple(range(2, each.ndim)) if others else ())
        for each in (most, least)
    )
    if above.sum(1).max(initial=0) <= ends.max and below.sum(1).min(initial=0) >= ends.min:
        return [(0, values.shape[axis])]
    if groups > 1:
        return None
    found, start = [], 0
    for channel in range(values.shape[axis]):
        upper = above[:, start : channel + 1].sum(1).max(initial=0)
        lower = below[:, start : channel + 1].sum(1).min(initial=0)
        if upper > ends.max or lower < ends.min:
            if channel == start:
                return None  # one channel is too much
            found.append((start, channel))
            start = channel
            one = above[:, channel].max(initial=0), below[:, channel].min(initial=0)
            if one[0] > ends.max or one[1] < ends.min:
                return None
    found.append((start, values.shape[axis]))
    return found if len(found) <= PARTS else None


def _channels(call: Call) -> tuple[int, int]:
    """The axes of input channels, of the data and of the weight."""
    known: Any = call.attrs
    if not hasattr(known, "kernel_layout"):
        data = call.args[0].ty
        assert isinstance(data, TensorType)
        return len(data.shape) - 1, 1
    return known.data_layout.index("C"), known.kernel_layout.index("I")


def _ends(data: Expr, dtype: str) -> tuple[int, int]:
    """The lowest and highest integer that data can be."""
    ends = np.iinfo(dtype)
    if isinstance(data, Call) and isinstance(data.op, OpDef) and data.op.name == "clip":
        known: Any = data.attrs
        return max(int(ends.min), int(known.a_min)), min(int(ends.max), int(known.a_max))
    return int(ends.min), int(ends.max)
