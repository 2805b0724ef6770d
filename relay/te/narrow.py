"""Conversions that processors lack, in operations they have.

    float32 <-> float16, bfloat16, float8     on the bits, where there is no instruction
    float -> integer                          saturating, where LLVM leaves the result open
    integer -> four bits                      wrapped, in eight

A narrow float is only moved: read, converted, stored. Arithmetic on it happens in float32 (its
carrier); the rounding is to nearest, ties to even, denormals included.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from relay import dtypes
from relay.te.expr import (
    Bitcast,
    Cast,
    Const,
    Expr,
    absolute,
    bitcast,
    cast,
    const,
    equal,
    not_equal,
    select,
    width,
)
from relay.tree import children

if TYPE_CHECKING:
    from relay.te.legalize import Facts


@dataclass(frozen=True)
class Format:
    """The bits of a float: a sign, `exponent` bits, `fraction` bits."""

    exponent: int
    fraction: int
    has_infinity: bool = True

    @property
    def bits(self) -> int:
        return 1 + self.exponent + self.fraction

    @property
    def storage(self) -> str:
        return f"uint{self.bits}"

    @property
    def bias(self) -> int:
        return (1 << self.exponent - 1) - 1

    @property
    def magnitude(self) -> int:
        """All bits but the sign."""
        return (1 << self.bits - 1) - 1

    @property
    def special(self) -> int:
        """The first of the patterns that are no numbers: infinity, or else the only NaN."""
        return self.magnitude & -(1 << self.fraction) if self.has_infinity else self.magnitude

    @property
    def nan(self) -> int:
        return self.special | (1 << self.fraction - 1)


FORMATS = {
    "float16": Format(5, 10),
    "bfloat16": Format(8, 7),
    "float8_e5m2": Format(5, 2),
    "float8_e4m3fn": Format(4, 3, has_infinity=False),
}
_SINGLE = Format(8, 23)


def from_narrow(value: Expr, facts: Facts) -> Expr:
    """A narrow float in float32; exact."""
    if value.dtype == "float16" and facts.has_f16c:
        return Cast("float32", value)
    narrow = FORMATS[value.dtype]
    bits = cast(bitcast(value, narrow.storage), "uint32")
    shift = _SINGLE.fraction - narrow.fraction
    if narrow.exponent == _SINGLE.exponent:
        return bitcast(bits << shift, "float32")
    sign = (bits & (1 << narrow.bits - 1)) << 32 - narrow.bits
    magnitude = bits & narrow.magnitude
    # its exponent is too small by the difference of the biases: a product makes up for that, and
    # for denormals as well
    scale = const(2.0 ** (_SINGLE.bias - narrow.bias), "float32")
    number = bitcast(bitcast(magnitude << shift, "float32") * scale, "uint32")
    top = _SINGLE.special if narrow.has_infinity else _SINGLE.nan
    found = select(magnitude >= narrow.special, number | top, number)
    return bitcast(found | sign, "float32")


def to_narrow(value: Expr, dtype: str, facts: Facts) -> Expr:
    """A float32 as memory holds it in `dtype`: rounded once."""
    if (before := _undone(value, dtype, facts)) is not None:
        return before
    if dtype == "float16" and facts.has_f16c:
        return Cast("float16", value)
    narrow = FORMATS[dtype]
    bits = bitcast(value, "uint32")
    sign = (bits & 0x8000_0000) >> 32 - narrow.bits
    magnitude = bits & 0x7FFF_FFFF
    number = _encoded(magnitude, narrow)
    # past the largest number comes infinity, or NaN where there is none
    capped = select(number < narrow.special, number, const(narrow.special, "uint32"))
    nan = const(narrow.nan, "uint32")
    found = select(magnitude > _SINGLE.special, nan, capped) | sign
    return Bitcast(dtype, cast(found, narrow.storage))


def _encoded(magnitude: Expr, narrow: Format) -> Expr:
    """The bits of a positive float32 in the narrow format; too large ones become larger bits."""
    shift = _SINGLE.fraction - narrow.fraction
    # half of the last place, less a bit where the number before it is even, carries upwards
    odd = (magnitude >> shift) & 1
    rounded = magnitude + odd + const((1 << shift - 1) - 1, "uint32")
    if narrow.exponent == _SINGLE.exponent:
        return rounded >> shift
    lower = _SINGLE.bias - narrow.bias
    normal = (rounded - (lower << _SINGLE.fraction)) >> shift
    # a denormal: added to a number whose last place is the last place of denormals, it is rounded
    # by the addition
    magic = const((lower + 1 + shift) << _SINGLE.fraction, "uint32")
    sum_ = bitcast(magnitude, "float32") + bitcast(magic, "float32")
    denormal = bitcast(sum_, "uint32") - magic
    smallest = const((lower + 1) << _SINGLE.fraction, "uint32")
    return select(magnitude < smallest, denormal, normal)


def _undone(value: Expr, dtype: str, facts: Facts) -> Expr | None:
    """The narrow float that `value` is the float32 of, where that can be seen."""
    part = value
    for _ in range(12):
        if part.dtype == dtype:
            return part if from_narrow(part, facts) == value else None
        below = children(part)
        if not below:
            return None
        part = below[0] if not isinstance(below[0], Const) else below[-1]
    return None


def expand_cast(operand: Expr, source: str, target: str, facts: Facts) -> Expr:
    """A cast from `source` to `target`, each in its carrier."""
    if source == target:
        return operand
    if target in ("bool", "uint1"):
        return operand if operand.dtype == "bool" else not_equal(operand, const(0, operand.dtype))
    if target in FORMATS:
        return from_narrow(to_narrow(_single(operand, target), target, facts), facts)
    if dtypes.is_float(target):
        return cast(operand, target)
    if dtypes.is_float(source):
        return _saturated(operand, target)
    return _wrapped(operand, target)


def _wrapped(operand: Expr, target: str) -> Expr:
    if target == "int4":
        return (cast(operand, "int8") << 4) >> 4
    if target == "uint4":
        return cast(operand, "uint8") & 15
    return cast(operand, target)


def _single(operand: Expr, target: str) -> Expr:
    """In float32, from where it is rounded to `target`."""
    if operand.dtype != "float64" or target != "float16":
        return cast(operand, "float32")
    # Rounded twice, a number can end on the wrong side. Rounded to odd first (cut off, with the
    # last bit set where anything was lost), it cannot.
    nearest = cast(operand, "float32")
    back = cast(nearest, "float64")
    bits = bitcast(nearest, "uint32")
    size, again = absolute(operand), absolute(back)
    cut = bits - select(again > size, const(1, "uint32"), const(0, "uint32"))
    odd = bitcast(cut | 1, "float32")
    return select(equal(size, again) | not_equal(size, size), nearest, odd)


def _saturated(operand: Expr, target: str) -> Expr:
    """The fraction dropped; the nearest end of the range for what is beyond it; 0 for NaN."""
    carrier = {"int4": "int8", "uint4": "uint8"}.get(target, target)
    bits, digits = width(target), 24 if operand.dtype == "float32" else 53
    signed = target in dtypes.SIGNED
    low = -(1 << bits - 1) if signed else 0
    beyond = 1 << (bits - 1 if signed else bits)  # the first number too large
    # the largest float that has a place in the integers
    most = beyond - 1 if beyond.bit_length() <= digits else beyond - (beyond >> digits)
    lowest, highest = const(low, operand.dtype), const(most, operand.dtype)
    above = select(operand > lowest, operand, lowest)
    inside = select(above < highest, above, highest)
    result = cast(inside, carrier)
    if most != beyond - 1:
        limit = const(beyond, operand.dtype)
        result = select(operand >= limit, const(beyond - 1, carrier), result)
    return select(equal(operand, operand), result, const(0, carrier))
