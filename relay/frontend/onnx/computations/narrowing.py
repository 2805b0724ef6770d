"""Numbers as elements of another type, by the rules of ONNX.

    to float8 …                 nearest, ties to even; what is beyond the largest number is that
                                number with `saturate`, and infinity or NaN without
    to float8e8m0               a power of two: the next one up or down, or the nearest
    to four bits, two bits      what does not fit keeps its low bits

The language has one conversion, `cast`, which rounds to nearest and does not saturate. Saturating
is a step before it (`clip`), and the roundings of a scale are steps on the bits of its exponent.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes

from relay import dtypes, op
from relay.frontend.onnx.node import Node
from relay.ir.expr import Expr, const

_finfo: Any = ml_dtypes.finfo

SCALE = "float8_e8m0fnu"
_BIAS = 1023 - 127  # between the exponents of float64 and those of scales
_FRACTION = 52  # bits of a float64 below its exponent
# what is added to a fraction carries into the exponent, or does not
_CARRIES = {
    "up": (1 << _FRACTION) - 1,
    "nearest": 1 << _FRACTION - 1,
    "down": 0,
}


def narrowed(
    node: Node, data: Expr, dtype: str, saturate: bool = True, rounding: str = "up"
) -> Expr:
    """Data as elements of a type; `rounding` is that of scales."""
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
        data = op.cast(data, "int32")  # of which the low bits are kept
    return op.cast(data, dtype)


def _scale(node: Node, data: Expr, saturate: bool, rounding: str) -> Expr:
    """Powers of two, by the exponents of the numbers in float64, where none of them is denormal."""
    if rounding not in _CARRIES:
        raise node.refused(
            "`round_mode` is none of those there are", ", ".join(_CARRIES), repr(rounding)
        )
    wide = op.cast(data, "float64")
    if saturate:
        wide = op.clip(wide, 2.0**-127, 2.0**127)
    bits = op.add(op.reinterpret(wide, dtype="uint64"), const(_CARRIES[rounding], "uint64"))
    exponent = op.right_shift(bits, const(_FRACTION, "uint64"))
    # what is too small, or has a sign, is as large as NaN: 255
    code = op.minimum(op.subtract(exponent, const(_BIAS, "uint64")), const(255, "uint64"))
    return op.reinterpret(op.cast(code, "uint8"), dtype=SCALE)
