"""Rules: redundant reshapes, squeezes, transposes, layout transforms and broadcasts.

reshape(reshape(%x, newshape=[6]), newshape=[3, 2])         ->  reshape(%x, newshape=[3, 2])
squeeze(expand_dims(%x, axis=0), axis=[0])                  ->  %x
transpose(transpose(%x, axes=[1, 0, 2]), axes=[1, 0, 2])    ->  %x
transpose(%x, axes=[1, 0]) of (1, 8)                        ->  reshape(%x, newshape=[8, 1])
add(%x, broadcast_to(%y, shape=[4, 8])) of (4, 8)           ->  add(%x, %y)

layout_transform(layout_transform(%x, "NCHW", "NHWC"), "NHWC", "NCHW4c")
                                                ->  layout_transform(%x, "NCHW", "NCHW4c")
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relay import tree
from relay.ir import dims
from relay.ir.expr import Call, Expr
from relay.ir.types import TensorType
from relay.op.building.layouts import parse_layout
from relay.op.facts import Trait
from relay.op.opdef import FusionKind, OpDef
from relay.op.tensor.extend import BROADCAST_TO
from relay.op.tensor.rearrange import transpose
from relay.op.tensor.relayout import layout_transform
from relay.op.tensor.shape import SQUEEZE
from relay.transform.simplify.concrete_forms import reshape_to
from relay.transform.simplify.peephole import Rules, having
from relay.transform.simplify.rule_window import Window, covers

RESHAPING = having(Trait.RESHAPES)


def broadcasts(op: OpDef) -> bool:
    """Whether all arguments are broadcast against each other."""
    is_alone = op.attrs is not None or Trait.MOVES in op.traits
    return op.fusion is FusionKind.BROADCAST and not is_alone


# --- the same elements in the same order ---------------------------------------------------------


def same_shape(call: Call, window: Window) -> Expr | None:
    """reshape(%x, newshape=[2, 3]) of (2, 3)  ->  %x"""
    data = call.args[0]
    is_same = _is_same_shape(window.tensor(data), window.tensor(call))
    return data if is_same and window.is_certain(call) else None


def reshape_twice(call: Call, window: Window) -> Expr | None:
    """reshape(reshape(%x, a), b)  ->  reshape(%x, b), whatever operator changes the shape"""
    inner = window.call_of(call.args[0], RESHAPING)
    if inner is None or not window.is_certain(inner):
        return None
    data = inner.args[0]
    is_certain = window.is_certain(inner, call)
    if _is_same_shape(window.tensor(data), window.tensor(call)) and is_certain:
        return data
    names = (_name(call), _name(inner))
    if names == ("squeeze", "squeeze"):
        return _squeezed_once(call, inner, window)
    # axes of extent 1 are read by index, while a reshape has to be worked out
    if names[0] in ("expand_dims", "squeeze") and not window.is_used_once(call.args[0]):
        return None
    if names == ("expand_dims", "expand_dims"):
        return None
    return reshape_to(data, call, window, is_certain)


def _squeezed_once(call: Call, inner: Call, window: Window) -> Expr | None:
    """squeeze(squeeze(%x, axis=a), axis=b)  ->  squeeze(%x, axis=a and b)"""
    ty = window.tensor(inner.args[0])
    first = _squeezed_axes(inner, window)
    second = _squeezed_axes(call, window)
    if ty is None or first is None or second is None:
        return None
    left = [axis for axis in range(len(ty.shape)) if axis not in first]
    return SQUEEZE(inner.args[0], axis=tuple(sorted([*first, *(left[a] for a in second)])))


def _squeezed_axes(call: Call, window: Window) -> list[int] | None:
    ty = window.tensor(call.args[0])
    if ty is None:
        return None
    axes = _attrs(call).axis
    if axes is None:
        return [axis for axis, extent in enumerate(ty.shape) if extent == 1]
    return [axis % len(ty.shape) for axis in axes]


def _is_same_shape(before: TensorType | None, after: TensorType | None) -> bool:
    """Whether as many elements have the same shape. One extent may be unknown: what the others
    leave for it is the same on both sides."""
    if before is None or after is None or before.shape != after.shape:
        return False
    unknown = sum(isinstance(extent, dims.Any) for extent in before.shape)
    known = [extent for extent in before.shape if not isinstance(extent, dims.Any)]
    return not unknown or (unknown == 1 and all(isinstance(d, int) and d > 0 for d in known))


# --- the order of axes ---------------------------------------------------------------------------


def no_new_order(call: Call, window: Window) -> Expr | None:
    """transpose(%x, axes=[0, 1])  ->  %x, layout_transform(%x, "NCHW", "NCHW")  ->  %x"""
    if _name(call) == "layout_transform":
        attrs = _attrs(call)
        return call.args[0] if attrs.src_layout == attrs.dst_layout else None
    order = _order(call, window)
    return call.args[0] if order is not None and order == sorted(order) else None


def only_ones_move(call: Call, window: Window) -> Expr | None:
    """transpose(%x, axes=[1, 0]) of (1, 8)  ->  reshape(%x, newshape=[8, 1])"""
    data = call.args[0]
    order, shape = _order(call, window), window.shape(data)
    if order is None or shape is None:
        return None
    long = [axis for axis in order if shape[axis] != 1]
    return reshape_to(data, call, window, True) if long == sorted(long) else None


def order_twice(call: Call, window: Window) -> Expr | None:
    """transpose(transpose(%x, a), b)  ->  transpose(%x, a after b), and layouts likewise"""
    inner = window.call_of(call.args[0], "transpose", "layout_transform")
    if inner is None or not window.is_certain(inner):
        return None
    data = inner.args[0]
    both_layouts = _name(call) == _name(inner) == "layout_transform"
    if both_layouts:
        first, second = _attrs(inner), _attrs(call)
        if first.dst_layout == second.src_layout:
            return layout_transform(data, src_layout=first.src_layout, dst_layout=second.dst_layout)
    outer, order = _order(call, window), _order(inner, window)
    if outer is not None and order is not None:
        axes = tuple(order[axis] for axis in outer)
        return data if axes == tuple(range(len(axes))) else transpose(data, axes=axes)
    if order is not None and not both_layouts:
        return _layout_of_transposed(call, data, order)
    if outer is not None and not both_layouts:
        return _transposed_layout(inner, outer)
    return None


def _layout_of_transposed(call: Call, data: Expr, order: Sequence[int]) -> Expr | None:
    """layout_transform(transpose(%x, axes=[0, 3, 1, 2]), "NCHW", d)  ->  it from NHWC to d"""
    attrs = _attrs(call)
    letters = _plain_layout(attrs.src_layout)
    if letters is None:
        return None
    source = "".join(letters[order.index(axis)] for axis in range(len(order)))
    return layout_transform(data, src_layout=source, dst_layout=attrs.dst_layout)


def _transposed_layout(inner: Call, order: Sequence[int]) -> Expr | None:
    """transpose(layout_transform(%x, s, "NCHW"), axes=[0, 2, 3, 1])  ->  it from s to NHWC"""
    attrs = _attrs(inner)
    letters = _plain_layout(attrs.dst_layout)
    if letters is None:
        return None
    target = "".join(letters[axis] for axis in order)
    return layout_transform(inner.args[0], src_layout=attrs.src_layout, dst_layout=target)


def _order(call: Call, window: Window) -> list[int] | None:
    """The axis of the data at each place of the result; None where axes are cut into blocks."""
    if _name(call) == "layout_transform":
        source = _plain_layout(_attrs(call).src_layout)
        target = _plain_layout(_attrs(call).dst_layout)
        return None if source is None or target is None else [source.index(a) for a in target]
    ty = window.tensor(call.args[0])
    if ty is None:
        return None
    rank, axes = len(ty.shape), _attrs(call).axes
    return list(range(rank))[::-1] if axes is None else [axis % rank for axis in axes]


def _plain_layout(text: str) -> str | None:
    """A layout of whole axes, as the letters it is."""
    layout = parse_layout(text)
    return layout.letters if layout is not None and layout.letters == text else None


# --- stretching ----------------------------------------------------------------------------------


def stretched_twice(call: Call, window: Window) -> Expr | None:
    """broadcast_to(broadcast_to(%x, a), b)  ->  broadcast_to(%x, b)"""
    inner = window.call_of(call.args[0], "broadcast_to")
    if inner is None or not window.is_certain(inner):
        return None
    return BROADCAST_TO(inner.args[0], shape=_attrs(call).shape)


def nothing_to_stretch(call: Call, window: Window) -> Expr | None:
    """broadcast_to(%x, shape=[2, 3]) of (2, 3)  ->  %x, and the same of tile and repeat"""
    shape = window.shape(call.args[0])
    return call.args[0] if shape is not None and shape == window.shape(call) else None


def stretched_anyway(call: Call, window: Window) -> Expr | None:
    """add(%x, broadcast_to(%y, shape))  ->  add(%x, %y), where %x has the shape already"""
    args = list(call.args)
    for i, arg in enumerate(args):
        stretched = window.call_of(arg, "broadcast_to")
        others = (other for j, other in enumerate(args) if j != i)
        if stretched is not None and any(
            covers(window.tensor(other), window.tensor(arg)) for other in others
        ):
            args[i] = stretched.args[0]
            return tree.replace(call, args=tuple(args))
    return None


def _name(call: Call) -> str:
    name: str = call.op.name  # type: ignore[attr-defined]
    return name


def _attrs(call: Call) -> Any:
    return call.attrs


RULES: Rules = {
    RESHAPING: (same_shape, reshape_twice),
    "transpose": (no_new_order, order_twice, only_ones_move),
    "layout_transform": (no_new_order, order_twice),
    "broadcast_to": (stretched_twice, nothing_to_stretch),
    "tile": (nothing_to_stretch,),
    "repeat": (nothing_to_stretch,),
    broadcasts: (stretched_anyway,),
}
