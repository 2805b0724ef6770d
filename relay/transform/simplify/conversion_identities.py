"""Rules: redundant casts and clips.

    cast(%x, dtype="float32") of float32                            ->  %x
    cast(cast(%x, dtype="int32"), dtype="int8") of int8             ->  %x
    cast(cast(%x, dtype="int16"), dtype="int8")                     ->  cast(%x, dtype="int8")
    clip(clip(%x, 0, 6), -1, 3)                                     ->  clip(%x, 0, 3)
    clip(cast(%x, dtype="int32"), 0, 255) of uint8                  ->  cast(%x, dtype="int32")

All results are exact. An intermediate conversion is removed only where it loses nothing: float32 to
float16 and back stays.
"""

from __future__ import annotations

from math import inf

from relay import dtypes
from relay.analysis import value_ranges
from relay.ir.expr import Call, Expr
from relay.op.nn.activation import relu
from relay.op.tensor.convert import cast
from relay.op.tensor.unary import CLIP
from relay.transform.simplify.peephole import Rules
from relay.transform.simplify.rule_window import Window


def same_dtype(call: Call, window: Window) -> Expr | None:
    """cast(%x, dtype="float32") of float32  ->  %x, and the same of reinterpret"""
    data = call.args[0]
    return data if window.dtype(data) == window.dtype(call) != "" else None


def cast_twice(call: Call, window: Window) -> Expr | None:
    """cast(cast(%x, a), b)  ->  cast(%x, b), where what comes out is the same"""
    inner = window.call_of(call.args[0], "cast")
    if inner is None:
        return None
    data = inner.args[0]
    source, between, target = (window.dtype(e) for e in (data, inner, call))
    if not _is_same_without(source, between, target, value_ranges.of_expression(data, window)):
        return None
    return data if source == target else cast(data, dtype=target)


def _is_same_without(source: str, between: str, target: str, values: value_ranges.Range) -> bool:
    """Whether values in that range convert from source to target without the type between."""
    whole = [dtypes.is_integer(dtype) for dtype in (source, between, target)]
    if all(whole):
        # the low bits are kept by each, so the narrower the later the better
        narrower = dtypes.bits(target) <= dtypes.bits(between)
        return (
            narrower
            or value_ranges.is_lossless(source, between)
            or values.within(value_ranges.of_dtype(between))
        )
    if not value_ranges.is_lossless(source, between) and not (
        whole[0] and values.within(value_ranges.exact_integers(between))
    ):
        return False
    # integers wrap on the way to integers, where floats are held at the ends
    return not (whole[0] and whole[2]) or values.within(value_ranges.of_dtype(target))


def clip_twice(call: Call, window: Window) -> Expr | None:
    """clip(clip(%x, a, b), c, d)  ->  clip(%x, max(a, c), min(b, d)); a relu is a clip too"""
    inner = window.call_of(call.args[0], "clip", "nn.relu")
    bounds = value_ranges.clip_bounds(call)
    first = None if inner is None else value_ranges.clip_bounds(inner)
    if inner is None or first is None or bounds is None:
        return None
    both = first.common(bounds)
    if both.low > both.high:
        # nothing of the first range is in the second, so all lies at the end that is nearer
        end = bounds.low if first.high < bounds.low else bounds.high
        both = value_ranges.Range(end, end)
    return _clipped(inner.args[0], both)


def _clipped(data: Expr, bounds: value_ranges.Range) -> Expr:
    if bounds == value_ranges.Range(0, inf):
        return relu(data)
    return CLIP(data, a_min=float(bounds.low), a_max=float(bounds.high))


def nothing_to_clip(call: Call, window: Window) -> Expr | None:
    """clip(%x, 0, 255) of uint8  ->  %x"""
    bounds, data = value_ranges.clip_bounds(call), call.args[0]
    if bounds is None or window.dtype(data) == "":
        return None
    return data if value_ranges.of_expression(data, window).within(bounds) else None


RULES: Rules = {
    "cast": (same_dtype, cast_twice),
    "reinterpret": (same_dtype,),
    "clip": (nothing_to_clip, clip_twice),
    "nn.relu": (nothing_to_clip, clip_twice),
}
