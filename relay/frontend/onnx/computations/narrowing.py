"""Conversions of element types by the rules of ONNX.

    to float8 …                 to nearest, ties to even; out of range values become the largest
                                number with `saturate`, otherwise infinity or NaN
    to float8e8m0               a power of two: the next one up or down, or the nearest
    to four bits, two bits      the low bits of integers out of range

`cast` rounds to nearest and does not saturate: saturation is a `clip` before it, and rounding to
float8e8m0 is arithmetic on the bits of the exponent.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes

from relay import dtypes, op
from relay.frontend.onnx.node import Node
from relay.ir.expr import Expr, const

_finfo: Any = ml_dtypes.finfo

SCALE = "float8_e8m0fnu"
_BIAS = 1023 - 127  # of the exponents of float64 over those of float8e8m0
_FRACTION = 52  # bits of a float64 below its exponent
# added to the fraction, carries into the exponent
_CARRIES = {"up": (1 << _FRACTION) - 1, "nearest": 1 << _FRACTION - 1, "down": 0}


def narrowed(
    node: Node, data: Expr, dtype: str, saturate: bool = True, rounding: str = "up"
) -> Expr:
    """Data in another element type; `rounding` is that of float8e8m0."""
    source = node.dtype(data)
    if source == dtype:
        return data
    if dtype == SCALE:
        return _scale(node, data, saturate, rounding)
    if dtype in dtypes.FLOAT8 and saturate:
        wide = data if source in dtypes.FLOATS else op.cast(data, "float32")
        largest = float(_finfo(dtypes.to_numpy(dtype)).max)
        return op.cast(op.clip(wide, -largest, largest), dtype)
    if dtypes.is_float(source) and dtypes.is_integer(dtype) and dtypes.bits(dtype) < 8:
        data = op.cast(data, "int32")  # keeps the low bits
    return op.cast(data, dtype)


def _scale(node: Node, data: Expr, saturate: bool, rounding: str) -> Expr:
    """Powers of two, by the exponents of float64, in which none of the numbers is denormal."""
    if rounding not in _CARRIES:
        message = "`round_mode` is none of those there are"
        raise node.refused(message, ", ".join(_CARRIES), repr(rounding))
    wide = op.cast(data, "float64")
    if saturate:
        wide = op.clip(wide, 2.0**-127, 2.0**127)
    bits = op.reinterpret(wide, dtype="uint64") + const(_CARRIES[rounding], "uint64")
    exponent = op.right_shift(bits, const(_FRACTION, "uint64"))
    # too small and negative numbers wrap around, and become NaN: 255
    code = op.minimum(exponent - const(_BIAS, "uint64"), const(255, "uint64"))
    return op.reinterpret(op.cast(code, "uint8"), dtype=SCALE)
