"""Rules: operators between dequantize and quantize.

Operators that only move elements, or preserve their order, commute with conversions of 8 and 16
bits. They move before dequantize, and after quantize:

transpose(qnn.dequantize(%q, s, z))  ->  qnn.dequantize(transpose(%q), s, z)
qnn.quantize(nn.relu(%x), s, z)      ->  maximum(qnn.quantize(%x, s, z), z)

Where the two meet, integers are requantized, or stay:

qnn.quantize(qnn.dequantize(%q, s, z), t, y)  ->  qnn.requantize(%q, s, z, t, y)

Other functions become those of `relay.qnn`:

qnn.quantize(add(qnn.dequantize(%a, …), qnn.dequantize(%b, …)), …)  ->  qnn.add(%a, %b, …)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import Any

import numpy as np

from relay import tree
from relay.ir.expr import Call, Expr, Tuple, TupleGetItem
from relay.op import cast, clip, concatenate, maximum, minimum, multiply, subtract
from relay.op import sum as total
from relay.op.facts import Trait
from relay.op.opdef import FusionKind, OpDef, get, records
from relay.op.qnn import op as qnn
from relay.op.qnn.elementwise import LEAKY_RELU
from relay.op.qnn.pool import AVG_POOL2D
from relay.transform.quantized import quantized_products
from relay.transform.quantized.quantized_values import (
    TINY,
    Affine,
    Quantized,
    affine,
    constant,
    parameters,
    quantized,
    rank_of,
    real,
    spread,
)
from relay.transform.simplify.peephole import Rule, Rules, having
from relay.transform.simplify.rule_window import Window


def selects(op: OpDef) -> bool:
    """Whether the result has elements of the first argument and no others."""
    return bool(op.traits & (Trait.MOVES | Trait.CHOOSES))


def keeps_many(op: OpDef) -> bool:
    """Whether the result has about as many: no lookup, no reduction."""
    return selects(op) and op.selects is None and op.fusion is not FusionKind.COMM_REDUCE


averages = having(Trait.AVERAGES)
NARROW = ("int8", "uint8", "int16", "uint16")
# Rounding of `dequantize` and `quantize`: half to even.
ROUNDED: Mapping[str, Any] = {"rounding": "TOEVEN", "compute_dtype": "float32"}

# --- qnn.dequantize moves behind operators ------------------------------------------------------


def moved(call: Call, window: Window) -> Expr | None:
    """transpose(qnn.dequantize(%q, s, z))  ->  qnn.dequantize(transpose(%q), s, z)"""
    found = quantized(call.args[0], window)
    if found is None or found.dtype not in NARROW:
        return None
    by = found.by
    if not by.is_scalar:
        axis = _axis_after(call, by.axis, window)
        if axis is None:
            return None
        by = Affine(by.scale, by.zero_point, axis)
    return real(tree.replace(call, args=(found.data, *call.args[1:])), by)


def _axis_after(call: Call, axis: int, window: Window) -> int | None:
    """The axis of the result that an axis of the data becomes, if the call is a transpose."""
    ty = window.tensor(call.args[0])
    if ty is None or not isinstance(call.op, OpDef) or call.op.name != "transpose":
        return None
    known: Any = call.attrs
    rank = len(ty.shape)
    order = [one % rank for one in known.axes] if known.axes else [*reversed(range(rank))]
    return order.index(axis)


def resized(call: Call, window: Window) -> Expr | None:
    """image.resize2d(qnn.dequantize(%q, …), method="nearest_neighbor")
    ->  qnn.dequantize(image.resize2d(%q, …), …)"""
    known: Any = call.attrs
    return moved(call, window) if known.method == "nearest_neighbor" else None


def topmost(call: Call, window: Window) -> Expr | None:
    """topk(qnn.dequantize(%q, s, z), k=2)
    ->  %0 = topk(%q, k=2); (qnn.dequantize(%0.0, s, z), %0.1)"""
    found, known = quantized(call.args[0], window), call.attrs
    if found is None or found.dtype not in NARROW or not found.by.is_scalar:
        return None
    step = tree.replace(call, args=(found.data, *call.args[1:]))
    if known.ret_type == "both":  # type: ignore[union-attr]
        return Tuple((real(TupleGetItem(step, 0), found.by), TupleGetItem(step, 1)))
    return step if known.ret_type == "indices" else real(step, found.by)  # type: ignore[union-attr]


def field(item: TupleGetItem, window: Window) -> Expr | None:
    """(%a, %b).1  ->  %b, as `topmost` makes them"""
    fields = window.fields(item.tuple_value)
    if fields is None or not window.is_pure(*fields[: item.index], *fields[item.index + 1 :]):
        return None
    return fields[item.index]


def part(item: TupleGetItem, window: Window) -> Expr | None:
    """split(qnn.dequantize(%q, s, z)).1  ->  qnn.dequantize(split(%q).1, s, z)"""
    whole = window.call_of(item.tuple_value, "split")
    found = None if whole is None else quantized(whole.args[0], window)
    if whole is None or found is None or found.dtype not in NARROW or not found.by.is_scalar:
        return None
    return real(TupleGetItem(tree.replace(whole, args=(found.data,)), item.index), found.by)


def padded(call: Call, window: Window) -> Expr | None:
    """nn.pad(qnn.dequantize(%q, s, z), 0f, …)  ->  qnn.dequantize(nn.pad(%q, z, …), s, z)"""
    found, filling = quantized(call.args[0], window), window.value(call.args[1])
    if found is None or found.dtype not in NARROW or not found.by.is_scalar:
        return None
    if filling is None or filling.any():
        return None
    args = found.data, constant(found.by.zero_point, found.dtype)
    return real(tree.replace(call, args=args), found.by)


# --- qnn.quantize moves before operators --------------------------------------------------------


def quantized_moves(call: Call, window: Window) -> Expr | None:
    """qnn.quantize(transpose(%x), s, z)  ->  transpose(qnn.quantize(%x, s, z))"""
    step = window.call_of(call.args[0], keeps_many)
    if step is None or not _is_one_scale(call, window) or not window.is_used_once(call.args[0]):
        return None
    if window.tensor(step.args[0]) is None:
        return None
    inner = _again(call, step.args[0])
    return tree.replace(step, args=(inner, *step.args[1:]))


def quantized_bounds(call: Call, window: Window) -> Expr | None:
    """qnn.quantize(clip(%x, a, b), s, z)  ->  clip(qnn.quantize(%x, s, z), a', b'), and with
    per-axis scales  ->  minimum(maximum(qnn.quantize(%x, s, z), a'), b')"""
    step = window.call_of(call.args[0], "nn.relu", "clip")
    by, dtype = affine(call, window), window.dtype(call)
    if step is None or by is None or dtype not in NARROW:
        return None
    if not window.is_used_once(call.args[0]):
        return None
    inner: Expr = _again(call, step.args[0])
    ends, known = np.iinfo(dtype), step.attrs
    if isinstance(step.op, OpDef) and step.op.name == "nn.relu":
        low, high = by.integers(0.0, dtype), np.asarray(ends.max)
    else:
        low, high = (by.integers(one, dtype) for one in (known.a_min, known.a_max))  # type: ignore[union-attr]
    has_low, has_high = bool((low > ends.min).any()), bool((high < ends.max).any())
    if by.is_scalar and has_high:
        return clip(inner, float(low), float(high))
    rank = rank_of(call, window)
    if has_low:
        inner = maximum(inner, constant(spread(low, rank, by.axis), dtype))
    return minimum(inner, constant(spread(high, rank, by.axis), dtype)) if has_high else inner


def quantized_extrema(call: Call, window: Window) -> Expr | None:
    """qnn.quantize(maximum(qnn.dequantize(%a, …), c), s, z)
    ->  maximum(qnn.quantize(qnn.dequantize(%a, …), s, z), qnn.quantize(c, s, z)): the order of
    numbers is that of their integers"""
    step = window.call_of(call.args[0], "maximum", "minimum")
    if step is None or not _is_one_scale(call, window) or not window.is_used_once(call.args[0]):
        return None
    if not any(quantized(arg, window) for arg in step.args):
        return None
    sides = [_as_integers(call, arg, window) for arg in step.args]
    if any(side is None for side in sides):
        return None
    return tree.replace(step, args=tuple(side for side in sides if side is not None))


def _as_integers(call: Call, e: Expr, window: Window) -> Expr | None:
    """`e` quantized as by `call`, a `qnn.quantize`, if it is constant or dequantized."""
    if quantized(e, window) is not None:
        return _again(call, e)
    by, value = affine(call, window), window.value(e)
    if by is None or value is None or value.dtype != np.float32 or np.isnan(value).any():
        return None
    ends = np.iinfo(window.dtype(call))
    with np.errstate(over="ignore"):
        whole = np.rint(value / by.scale) + np.float64(by.zero_point)
    return constant(np.clip(whole, ends.min, ends.max), window.dtype(call))


def quantized_parts(call: Call, window: Window) -> Expr | None:
    """qnn.quantize(concatenate((%a, %b)), s, z)
    ->  concatenate((qnn.quantize(%a, s, z), qnn.quantize(%b, s, z)))"""
    step = window.call_of(call.args[0], "concatenate")
    if step is None or not _is_one_scale(call, window) or not window.is_used_once(call.args[0]):
        return None
    fields = window.fields(step.args[0])
    if fields is None or not all(quantized(field, window) for field in fields):
        return None
    parts = Tuple(tuple(_again(call, field) for field in fields))
    return concatenate(parts, step.attrs.axis)  # type: ignore[union-attr]


def _is_one_scale(call: Call, window: Window) -> bool:
    by = affine(call, window)
    return by is not None and by.is_scalar and window.dtype(call) in NARROW


def _again(call: Call, data: Expr) -> Call:
    """The call on other data."""
    return tree.replace(call, args=(data, *call.args[1:]))


# --- where both meet ---------------------------------------------------------------------------


def requantized(call: Call, window: Window) -> Expr | None:
    """qnn.quantize(qnn.dequantize(%q, s, z), t, y)  ->  qnn.requantize(%q, s, z, t, y)"""
    found, by, dtype = quantized(call.args[0], window), affine(call, window), window.dtype(call)
    if found is None or by is None or dtype not in NARROW:
        return None
    if found.dtype == dtype and found.by.is_like(by):
        return found.data
    if not by.is_scalar and not found.by.is_scalar and by.axis != found.by.axis:
        return None
    axis = by.axis if not by.is_scalar else found.by.axis
    return qnn.requantize(
        found.data, *parameters(found.by), *parameters(by), axis=axis, out_dtype=dtype, **ROUNDED
    )


def _counterparts(arguments: int) -> dict[str, OpDef]:
    """The operators with that many arguments that have a quantized counterpart, by name."""
    return {
        op.quantizes: op
        for op in records()
        if op.quantizes and len(get(op.quantizes).arguments) == arguments
    }


def pairs(call: Call, window: Window) -> Expr | None:
    """qnn.quantize(add(qnn.dequantize(%a, …), qnn.dequantize(%b, …)), …)  ->  qnn.add(%a, %b, …)"""
    return _paired(call, window, quantized)


def pairs_with_constants(call: Call, window: Window) -> Expr | None:
    """qnn.quantize(add(qnn.dequantize(%a, …), 0.3f), …)  ->  qnn.add(%a, 1i8, …, 0.3f, 0, …)"""
    step, by = window.call_of(call.args[0], *_counterparts(2)), affine(call, window)
    given = [] if step is None else [quantized(arg, window) for arg in step.args]
    data = next((one for one in given if one is not None), None)
    if step is None or by is None or data is None:
        return None
    assert isinstance(step.op, OpDef)
    # the largest error of the constant for which the result is off by half a step
    room = float(by.scale.min()) / 2
    if step.op.name == "multiply":
        room /= data.largest or 1.0

    def side(e: Expr, window: Window) -> Quantized | None:
        found = quantized(e, window)
        return _constant_integers(call, e, room, window) if found is None else found

    return _paired(call, window, side)


def _paired(
    call: Call, window: Window, side: Callable[[Expr, Window], Quantized | None]
) -> Expr | None:
    known = _counterparts(2)
    step = window.call_of(call.args[0], *known)
    by, dtype = affine(call, window), window.dtype(call)
    if step is None or by is None or not by.is_scalar or not window.is_used_once(call.args[0]):
        return None
    left, right = (side(arg, window) for arg in step.args)
    if left is None or right is None or {left.dtype, right.dtype, dtype} - {dtype}:
        return None
    if dtype not in NARROW:
        return None
    assert isinstance(step.op, OpDef)
    return known[step.op.name](
        left.data,
        right.data,
        *parameters(left.by),
        *parameters(right.by),
        *parameters(by),
        lhs_axis=left.by.axis,
        rhs_axis=right.by.axis,
        compute_dtype="float32",
    )


def _constant_integers(call: Call, e: Expr, room: float, window: Window) -> Quantized | None:
    """A float32 constant quantized to the type of a `qnn.quantize`.

    A constant that differs along one axis at most is exact with per-axis scales. Others have the
    finest scale that the type allows, if the error is at most `room` then.
    """
    value, dtype = window.value(e), window.dtype(call)
    if value is None or value.dtype != np.float32 or dtype not in NARROW or not value.size:
        return None
    if not np.isfinite(value).all():
        return None
    ends = np.iinfo(dtype)
    zero = 0 if ends.min else int(ends.max) // 2 + 1
    size = np.abs(value)
    long = [axis for axis, extent in enumerate(value.shape) if extent > 1]
    if len(long) <= 1:
        scale = np.where(size < TINY, np.float32(1), size).astype(np.float32)
        integers = np.where(size < TINY, 0, np.sign(value)) + zero
        axis = long[0] if long else -1
        scale = scale.reshape(-1) if long else scale.reshape(())
        by = Affine.along(scale, np.asarray(zero, np.int32), axis)
    else:
        most = np.float32(size.max() / (int(ends.max) - zero))
        if most / 2 > room:
            return None
        scale = np.asarray(most if most >= TINY else np.float32(1))
        by = Affine.along(scale, np.asarray(zero, np.int32), -1)
        integers = np.clip(np.rint(value / scale) + zero, ends.min, ends.max)
    return Quantized(constant(integers, dtype), dtype, by)


def functions(call: Call, window: Window) -> Expr | None:
    """qnn.quantize(tanh(qnn.dequantize(%q, …)), …)  ->  qnn.tanh(%q, …)"""
    known = _counterparts(1)
    step = window.call_of(call.args[0], *known)
    pair = _through(call, step, window)
    if step is None or pair is None or not pair[0].is_bytes:
        return None
    found, by = pair
    assert isinstance(step.op, OpDef)
    return known[step.op.name](found.data, *parameters(found.by), *parameters(by))


def _exchanged(name: str, op: OpDef) -> Rule:
    """qnn.quantize(nn.softmax(qnn.dequantize(%q, …)), …)  ->  qnn.softmax(%q, …)"""
    assert op.attrs is not None
    computed = {"compute_dtype": "float32"} if "compute_dtype" in op.attrs.keys() else {}  # noqa: SIM118

    def rule(call: Call, window: Window) -> Expr | None:
        step = window.call_of(call.args[0], name)
        pair = _through(call, step, window)
        if step is None or step.attrs is None or pair is None:
            return None
        found, by = pair
        attrs = op.make_attrs({**dict(step.attrs.items()), **computed})
        return Call(op, (found.data, *parameters(found.by), *parameters(by)), attrs)

    return rule


softmax = _exchanged("nn.softmax", qnn.softmax)
means = _exchanged("nn.avg_pool2d", AVG_POOL2D)
bent = _exchanged("nn.leaky_relu", LEAKY_RELU)


def means_of_axes(call: Call, window: Window) -> Expr | None:
    """qnn.quantize(mean(qnn.dequantize(%q, s, z), …), …)
    ->  qnn.requantize(sum(cast(%q, dtype="int32"), …), s / count, z * count, …)"""
    step = window.call_of(call.args[0], "mean", "nn.global_avg_pool2d")
    pair = _through(call, step, window)
    shape = None if step is None else window.shape(step.args[0])
    if step is None or pair is None or shape is None or not pair[0].is_bytes:
        return None
    found, by = pair
    axes, keepdims = _averaged(step, len(shape))
    count = prod(shape[axis] for axis in axes)
    if not 0 < count < 2**22:
        return None
    scale = (found.by.scale.astype(np.float64) / count).astype(np.float32)
    sums = Affine(np.asarray(scale), np.asarray(found.by.zero_point * count), -1)
    added = total(cast(found.data, "int32"), axis=axes, keepdims=keepdims)
    return qnn.requantize(
        added, *parameters(sums), *parameters(by), out_dtype=window.dtype(call), **ROUNDED
    )


FINER = 256  # means are rounded to this fraction of a step of the data


def between(call: Call, window: Window) -> Expr | None:
    """qnn.quantize(nn.adaptive_avg_pool1d(qnn.dequantize(%q, s, z)), …)
    ->  %0 = multiply(subtract(cast(%q, dtype="int32"), z), 256);
    qnn.requantize(nn.adaptive_avg_pool1d(%0), s / 256, 0, …)"""
    step = window.call_of(call.args[0], averages)
    pair = _through(call, step, window)
    if step is None or pair is None or not pair[0].is_bytes:
        return None
    found, by = pair
    known: Any = step.attrs
    given = {} if known is None else dict(known.items())
    if given.get("extrapolation_value", 0) != 0:
        return None
    if "out_dtype" in given:
        if known.out_dtype not in (None, "", "float32"):
            return None
        known = type(known)(**{**given, "out_dtype": None})
    centered = subtract(cast(found.data, "int32"), constant(found.by.zero_point, "int32"))
    finer = multiply(centered, constant(FINER, "int32"))
    scale = np.asarray(found.by.scale / np.float32(FINER), np.float32)
    if scale < TINY:
        return None
    sums = Affine(scale, np.zeros((), np.int32), -1)
    return qnn.requantize(
        tree.replace(step, args=(finer, *step.args[1:]), attrs=known),
        *parameters(sums),
        *parameters(by),
        out_dtype=window.dtype(call),
        **ROUNDED,
    )


def rounded_before_product(call: Call, window: Window) -> Expr | None:
    """nn.conv2d(nn.avg_pool2d(qnn.dequantize(%q, s, z)), %w)
    ->  nn.conv2d(qnn.dequantize(qnn.quantize(nn.avg_pool2d(qnn.dequantize(%q, s, z)), s, z), s, z),
    %w)"""
    data, weight = call.args
    step = window.call_of(data, averages)
    found = None if step is None else quantized(step.args[0], window)
    if step is None or found is None or not found.is_bytes or not found.by.is_scalar:
        return None
    factor = quantized(weight, window)
    if factor is None or not factor.is_bytes or not window.is_used_once(data):
        return None
    again = qnn.quantize(data, *parameters(found.by), out_dtype=found.dtype)
    return tree.replace(call, args=(real(again, found.by), weight))


def _averaged(step: Call, rank: int) -> tuple[tuple[int, ...], bool]:
    """The axes along which a mean is taken, and `keepdims`."""
    known: Any = step.attrs
    if isinstance(step.op, OpDef) and step.op.name != "mean":
        return tuple(known.layout.index(letter) for letter in "HW"), True
    if known.axis is None:
        given = set(range(rank))
    else:
        axes = known.axis if isinstance(known.axis, tuple | list) else (known.axis,)
        given = {axis % rank for axis in axes}
    if known.exclude:
        given = set(range(rank)) - given
    return tuple(sorted(given)), bool(known.keepdims)


def _through(call: Call, step: Call | None, window: Window) -> tuple[Quantized, Affine] | None:
    """The quantized input of a step and the scale of its output, if both are per-tensor."""
    if step is None or not window.is_used_once(call.args[0]):
        return None
    found, by = quantized(step.args[0], window), affine(call, window)
    if found is None or by is None or not (by.is_scalar and found.by.is_scalar):
        return None
    if found.dtype != window.dtype(call) or found.dtype not in NARROW:
        return None
    return found, by


MEETINGS: tuple[Rule, ...] = (
    requantized,
    quantized_moves,
    quantized_bounds,
    quantized_extrema,
    quantized_parts,
    pairs,
    functions,
    means,
    means_of_axes,
)
# Rules on request only: `qnn.softmax` is exact, and slower than `nn.softmax`.
OPTIONAL: Mapping[str, Callable[[Call, Window], Expr | None]] = {"nn.softmax": softmax}
# Rules that gain nothing after fusion, or add a rounding.
THOROUGH: tuple[Rule, ...] = (pairs_with_constants, bent, between)


def rules(optional: tuple[str, ...], thorough: bool = True) -> Rules:
    """The rules, with those that are only applied on request."""
    chosen = [OPTIONAL[name] for name in optional if name in OPTIONAL]
    before: tuple[Rule, ...] = (rounded_before_product,) if thorough else ()
    return {
        selects: (moved,),
        **dict.fromkeys(quantized_products.PRODUCTS, before),
        "image.resize2d": (resized,),
        TupleGetItem: (part, field),
        "nn.pad": (padded,),
        **dict.fromkeys(("topk", "dyn.topk"), (topmost,)),
        "qnn.quantize": (*MEETINGS, *(THOROUGH if thorough else ()), *chosen),
    }
