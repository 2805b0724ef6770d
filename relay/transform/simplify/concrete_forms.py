"""Rules: *_like operators, which use a tensor only for its type, with explicit types.

    zeros_like(%x)              ->  zeros(shape=[2, 3], dtype="float32")
    reshape_like(%x, %y)        ->  reshape(%x, newshape=[6])
    slice_like(%x, %y)          ->  strided_slice(%x, begin=[0, 0], end=[2, 3])

So %y is no longer needed. The shape must be static; a reshape may have one dynamic extent, which
follows from the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relay.ir import dims
from relay.ir.dims import Dim
from relay.ir.expr import Call, Expr
from relay.ir.types import TensorType
from relay.op.tensor.collapse import collapse_sum_to
from relay.op.tensor.convert import cast
from relay.op.tensor.creation import FULL, ONES, ZEROS
from relay.op.tensor.extend import BROADCAST_TO
from relay.op.tensor.reshape import RESHAPE
from relay.op.tensor.slicing import STRIDED_SLICE
from relay.transform.simplify.peephole import Rules
from relay.transform.simplify.rule_window import Window


def known_fill(call: Call, window: Window) -> Expr | None:
    """zeros_like(%x)  ->  zeros(shape), and the same for ones_like and full_like"""
    ty, shape = window.tensor(call), window.shape(call)
    data, *value = call.args
    if ty is None or shape is None or not window.is_pure(data):
        return None
    fill = {"zeros_like": ZEROS, "ones_like": ONES, "full_like": FULL}[call.op.name]  # type: ignore[attr-defined]
    return fill(*value, shape=shape, dtype=ty.dtype)


def known_cast(call: Call, window: Window) -> Expr | None:
    """cast_like(%x, %y)  ->  cast(%x, dtype)"""
    data, like = call.args
    dtype = window.dtype(call)
    return cast(data, dtype=dtype) if dtype and window.is_pure(like) else None


def known_broadcast_to(call: Call, window: Window) -> Expr | None:
    """broadcast_to_like(%x, %y)  ->  broadcast_to(%x, shape)"""
    data, like = call.args
    shape = window.shape(call)
    return BROADCAST_TO(data, shape=shape) if shape is not None and window.is_pure(like) else None


def known_collapse_sum(call: Call, window: Window) -> Expr | None:
    """collapse_sum_like(%x, %y)  ->  collapse_sum_to(%x, shape)"""
    data, like = call.args
    shape = window.shape(call)
    return collapse_sum_to(data, shape) if shape is not None and window.is_pure(like) else None


def known_slice(call: Call, window: Window) -> Expr | None:
    """slice_like(%x, %y)  ->  strided_slice(%x, begin=[0, …], end=extents)"""
    data, like = call.args
    attrs: Any = call.attrs
    before, after, other = window.tensor(data), window.tensor(call), window.tensor(like)
    if before is None or after is None or other is None or not window.is_pure(like):
        return None
    if not window.is_certain(call):
        return None  # strided_slice takes what there is
    rank = len(after.shape)
    axes = range(min(rank, len(other.shape))) if not attrs.axes else [a % rank for a in attrs.axes]
    ends = [after.shape[axis] for axis in axes]
    if not all(isinstance(end, int) for end in ends):
        return None
    # strided_slice counts the axes from the front, unless it is told which
    named = None if list(axes) == list(range(len(ends))) else tuple(axes)
    return STRIDED_SLICE(data, begin=(0,) * len(ends), end=tuple(ends), axes=named)


def known_reshape(call: Call, window: Window) -> Expr | None:
    """reshape_like(%x, %y)  ->  reshape(%x, newshape)"""
    data, like = call.args
    return reshape_to(data, call, window, window.is_certain(call)) if window.is_pure(like) else None


def reshape_to(data: Expr, result: Expr, window: Window, is_certain: bool) -> Call | None:
    """`data` under the shape that `result` has, where attributes can say it: -1 takes what there
    is, so that it only stands for what is certain."""
    before, after = window.tensor(data), window.tensor(result)
    if before is None or after is None:
        return None
    codes = reshape_codes(before, after.shape)
    if codes is None or (-1 in codes and not is_certain):
        return None
    return RESHAPE(data, newshape=codes, allowzero=0 in after.shape)


def reshape_codes(before: TensorType, shape: Sequence[Dim]) -> tuple[int, ...] | None:
    """`newshape` for a shape: its numbers, 0 for a named extent that stays where it is, and -1
    once, for what the others decide about."""
    codes: list[int] = []
    copied = 0 not in shape
    for axis, extent in enumerate(shape):
        old = before.shape[axis] if axis < len(before.shape) else None
        copied = copied and extent == old and not isinstance(extent, dims.Any)
        if isinstance(extent, int):
            codes.append(extent)
        else:
            codes.append(0 if copied else -1)
    is_decided = codes.count(-1) == 0 or (codes.count(-1) == 1 and 0 not in shape)
    return tuple(codes) if is_decided else None


RULES: Rules = {
    **dict.fromkeys(("zeros_like", "ones_like", "full_like"), (known_fill,)),
    "cast_like": (known_cast,),
    "broadcast_to_like": (known_broadcast_to,),
    "collapse_sum_like": (known_collapse_sum,),
    "slice_like": (known_slice,),
    "reshape_like": (known_reshape,),
}
