"""Conversions that processors lack, in operations they have.

    float32 <-> float16, float8, float4, …    on the bits, where there is no instruction
    float -> integer                          saturating, where LLVM leaves the result undefined
    integer -> four bits, two bits            wrapped, in eight

Narrow floats are computed in float32, their carrier. Rounding is to nearest even, denormals
included. Overflow gives infinity; in formats without it NaN; without either the largest number.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from relay import dtypes
from relay.immutable import frozen
from relay.te import expr as te
from relay.tree import children

if TYPE_CHECKING:
    from relay.te.legalize import Facts


class Special(Enum):
    """The bit patterns of infinity and NaN."""

    IEEE = "those with the largest exponent: infinity and NaN"
    ONE = "the largest alone: NaN"
    NEGATIVE_ZERO = "that of a zero with a sign: NaN"
    NONE = "none"


@frozen
class Format:
    """The bits of a float: a sign, `exponent` bits, `fraction` bits."""

    exponent: int
    fraction: int
    specials: Special = Special.IEEE

    @property
    def bits(self) -> int:
        return 1 + self.exponent + self.fraction

    @property
    def storage(self) -> str:
        return f"uint{max(8, self.bits)}"

    @property
    def bias(self) -> int:
        # without an exponent for infinity the bias is one larger
        return (1 << self.exponent - 1) - (self.specials is not Special.NEGATIVE_ZERO)

    @property
    def magnitude(self) -> int:
        """All bits but the sign."""
        return (1 << self.bits - 1) - 1

    @property
    def largest(self) -> int:
        """The magnitude of the largest number."""
        match self.specials:
            case Special.IEEE:
                return (self.magnitude & -(1 << self.fraction)) - 1
            case Special.ONE:
                return self.magnitude - 1
        return self.magnitude


FORMATS = {
    "float16": Format(5, 10),
    "bfloat16": Format(8, 7),
    "float8_e5m2": Format(5, 2),
    "float8_e4m3fn": Format(4, 3, Special.ONE),
    "float8_e4m3fnuz": Format(4, 3, Special.NEGATIVE_ZERO),
    "float8_e5m2fnuz": Format(5, 2, Special.NEGATIVE_ZERO),
    "float6_e2m3fn": Format(2, 3, Special.NONE),
    "float6_e3m2fn": Format(3, 2, Special.NONE),
    "float4_e2m1fn": Format(2, 1, Special.NONE),
}
_SINGLE = Format(8, 23)
_INFINITY = 0x7F80_0000  # of float32
_NAN = 0x7FC0_0000

# A power of two: the exponent of a float32, without sign and zero.
SCALE = "float8_e8m0fnu"

# The storage and carrier types of integers of fewer than eight bits.
STORAGE = {"int2": "int8", "uint2": "uint8", "int4": "int8", "uint4": "uint8"}
NARROW_FLOATS = (*FORMATS, SCALE)
_EXACT = 1 << 20  # whole numbers below it, and sums of them with 16 bits, are exact in float32


def from_narrow(value: te.Expr, facts: Facts) -> te.Expr:
    """A narrow float as float32; exact."""
    if value.dtype == "float16" and facts.has_f16c:
        return te.Cast("float32", value)
    if value.dtype == SCALE:
        return _from_scale(value)
    narrow = FORMATS[value.dtype]
    bits = te.cast(te.bitcast(value, narrow.storage), "uint32")
    if narrow.bits < 8:  # the upper bits of the byte are undefined
        bits = bits & ((1 << narrow.bits) - 1)
    shift = _SINGLE.fraction - narrow.fraction
    if narrow.exponent == _SINGLE.exponent:
        return te.bitcast(bits << shift, "float32")
    sign = (bits & (1 << narrow.bits - 1)) << 32 - narrow.bits
    magnitude = bits & narrow.magnitude
    # multiply by the difference of the biases; this also normalizes denormals
    scale = te.const(2.0 ** (_SINGLE.bias - narrow.bias), "float32")
    number = te.bitcast(te.bitcast(magnitude << shift, "float32") * scale, "uint32")
    match narrow.specials:
        case Special.IEEE:
            found = te.select(magnitude > narrow.largest, number | _INFINITY, number) | sign
        case Special.ONE:
            found = te.select(magnitude > narrow.largest, number | _NAN, number) | sign
        case Special.NEGATIVE_ZERO:
            signed = number | sign
            found = te.select(te.equal(bits, narrow.magnitude + 1), signed | _NAN, signed)
        case Special.NONE:
            found = number | sign
    return te.bitcast(found, "float32")


def _from_scale(value: te.Expr) -> te.Expr:
    bits = te.cast(te.bitcast(value, "uint8"), "uint32")
    # 2**-127 is a denormal float32
    number = te.select(te.equal(bits, 0), 1 << _SINGLE.fraction - 1, bits << _SINGLE.fraction)
    return te.bitcast(te.select(te.equal(bits, 255), _NAN, number), "float32")


def to_narrow(value: te.Expr, dtype: str, facts: Facts) -> te.Expr:
    """A float32 rounded to `dtype`."""
    if (before := _undone(value, dtype, facts)) is not None:
        return before
    if dtype == "float16" and facts.has_f16c:
        return te.Cast("float16", value)
    if dtype == SCALE:
        return _to_scale(value)
    narrow = FORMATS[dtype]
    bits = te.bitcast(value, "uint32")
    sign = (bits & 0x8000_0000) >> 32 - narrow.bits
    magnitude = bits & 0x7FFF_FFFF
    number = _encoded(magnitude, narrow)
    fits = number <= narrow.largest
    is_nan = magnitude > _INFINITY
    # the code after the largest number is infinity, or NaN in formats without it
    beyond = narrow.largest + 1
    match narrow.specials:
        case Special.IEEE:
            nan = te.const(beyond | (1 << narrow.fraction - 1), "uint32")
            found = te.select(is_nan, nan, te.select(fits, number, beyond)) | sign
        case Special.ONE:
            found = te.select(fits & ~is_nan, number, beyond) | sign
        case Special.NEGATIVE_ZERO:
            signed = te.select(te.equal(number, 0), number, number | sign)
            found = te.select(fits & ~is_nan, signed, beyond)
        case Special.NONE:
            capped = te.select(fits, number, te.const(narrow.largest, "uint32"))
            # no NaN: it becomes zero with the opposite sign
            found = te.select(is_nan, te.const(narrow.magnitude + 1, "uint32"), capped) ^ sign
    return te.Bitcast(dtype, te.cast(found, narrow.storage))


def _to_scale(value: te.Expr) -> te.Expr:
    """The nearest power of two, ties upwards; NaN for zero and negative numbers."""
    bits = te.bitcast(value, "uint32")
    half = 1 << _SINGLE.fraction - 1
    # round by carrying into the exponent; a denormal has no exponent to carry from
    carried = bits + te.select(bits < 1 << _SINGLE.fraction, te.const(half - 1, "uint32"), half)
    code = te.minimum(carried >> _SINGLE.fraction, 255)
    is_positive = (bits - 1) < 0x7FFF_FFFF
    return te.Bitcast(SCALE, te.cast(te.select(is_positive, code, 255), "uint8"))


def _encoded(magnitude: te.Expr, narrow: Format) -> te.Expr:
    """The bits of a positive float32 in the narrow format; overflow gives larger codes."""
    shift = _SINGLE.fraction - narrow.fraction
    # round to nearest even by a carry
    odd = (magnitude >> shift) & 1
    rounded = magnitude + odd + te.const((1 << shift - 1) - 1, "uint32")
    if narrow.exponent == _SINGLE.exponent:
        return rounded >> shift
    lower = _SINGLE.bias - narrow.bias
    normal = (rounded - (lower << _SINGLE.fraction)) >> shift
    # a denormal is rounded by adding a number whose unit in the last place is that of denormals
    magic = te.const((lower + 1 + shift) << _SINGLE.fraction, "uint32")
    sum_ = te.bitcast(magnitude, "float32") + te.bitcast(magic, "float32")
    denormal = te.bitcast(sum_, "uint32") - magic
    smallest = te.const((lower + 1) << _SINGLE.fraction, "uint32")
    return te.select(magnitude < smallest, denormal, normal)


def _undone(value: te.Expr, dtype: str, facts: Facts) -> te.Expr | None:
    """The narrow float that `value` was converted from, if any: the conversion cancels."""
    part = value
    for _ in range(12):
        if part.dtype == dtype:
            return part if from_narrow(part, facts) == value else None
        below = children(part)
        if not below:
            return None
        part = below[0] if not isinstance(below[0], te.Const) else below[-1]
    return None


def expand_cast(operand: te.Expr, source: str, target: str, facts: Facts) -> te.Expr:
    """A cast from `source` to `target`, both in their carriers."""
    if source == target:
        return operand
    if target == "bool":
        return (
            operand
            if operand.dtype == "bool"
            else te.not_equal(operand, te.const(0, operand.dtype))
        )
    if target in NARROW_FLOATS:
        return from_narrow(to_narrow(_single(operand, target), target, facts), facts)
    if dtypes.is_float(target):
        return te.cast(operand, target)
    if dtypes.is_float(source):
        near = _nearest(operand, target) if facts.has_nearest else None
        return _saturated(operand, target) if near is None else near
    return low_bits(te.cast(operand, STORAGE.get(target, target)), target)


def low_bits(value: te.Expr, dtype: str) -> te.Expr:
    """Wrap integers of fewer than eight bits, which are computed in eight."""
    if dtype not in STORAGE:
        return value
    bits = te.width(dtype)
    if dtype in dtypes.SIGNED:
        return (value << 8 - bits) >> 8 - bits
    return value & ((1 << bits) - 1)


def _single(operand: te.Expr, target: str) -> te.Expr:
    """The value as float32, so that rounding it to `target` rounds correctly."""
    if operand.dtype != "float64" or target != "float16":
        return te.cast(operand, "float32")
    # rounding to odd first avoids double rounding
    nearest = te.cast(operand, "float32")
    back = te.cast(nearest, "float64")
    bits = te.bitcast(nearest, "uint32")
    size, again = te.absolute(operand), te.absolute(back)
    cut = bits - te.select(again > size, te.const(1, "uint32"), te.const(0, "uint32"))
    odd = te.bitcast(cut | 1, "float32")
    return te.select(te.equal(size, again) | te.not_equal(size, size), nearest, odd)


def _nearest(operand: te.Expr, target: str) -> te.Expr | None:
    """A float32 rounded to even, plus a whole number, as a saturated integer of few bits, and 0 for
    NaN: limited first, so that one instruction rounds and converts. None for other values."""
    whole, offset = operand, 0.0
    match operand:
        case te.Binary(op="add", left=first, right=te.Const(value=known)):
            whole, offset = first, float(known)
    if not (isinstance(whole, te.Call) and whole.function == "round"):
        return None
    bits, signed = te.width(target), target in dtypes.SIGNED
    if whole.dtype != "float32" or bits > 16 or not abs(offset) < _EXACT or offset % 1:
        return None
    (value,) = whole.args
    low = -(1 << bits - 1) if signed else 0
    high = low + (1 << bits) - 1
    lowest, highest = (te.const(limit - offset, "float32") for limit in (low, high))
    above = te.select(value > lowest, value, lowest)  # also if it is NaN
    inside = te.select(above < highest, above, highest)
    near: te.Expr = te.Call("int32", "nearest", (inside,))
    if offset:
        near = near + int(offset)
    result = te.cast(near, STORAGE.get(target, target))
    if low == 0:
        return result
    return te.select(te.equal(value, value), result, te.const(0, result.dtype))


def _saturated(operand: te.Expr, target: str) -> te.Expr:
    """A float truncated to an integer, saturating; 0 for NaN."""
    carrier = STORAGE.get(target, target)
    bits, digits = te.width(target), 24 if operand.dtype == "float32" else 53
    signed = target in dtypes.SIGNED
    low = -(1 << bits - 1) if signed else 0
    beyond = 1 << (bits - 1 if signed else bits)  # the first integer out of range
    # the largest float in range
    most = beyond - 1 if beyond.bit_length() <= digits else beyond - (beyond >> digits)
    lowest, highest = te.const(low, operand.dtype), te.const(most, operand.dtype)
    above = te.select(operand > lowest, operand, lowest)
    inside = te.select(above < highest, above, highest)
    result = te.cast(inside, carrier)
    if most != beyond - 1:
        limit = te.const(beyond, operand.dtype)
        result = te.select(operand >= limit, te.const(beyond - 1, carrier), result)
    return te.select(te.equal(operand, operand), result, te.const(0, carrier))
