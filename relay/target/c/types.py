"""The types of C that element types are computed and stored in, and literals.

Narrow floats are the bits of an unsigned integer, integers of fewer than eight bits lie in a byte,
and so does `bool` in memory.
"""

from __future__ import annotations

import math
import re
from typing import Final

import numpy as np

from relay import dtypes
from relay.te.expr import Const, width
from relay.te.narrow import NARROW_FLOATS, STORAGE

_FLOATS: Final = {"float32": "float", "float64": "double"}
INT: Final = range(-(2**31) + 1, 2**31)  # what every `int` holds, with its negative


def c_type(dtype: str) -> str:
    """The type of a value."""
    if dtype in NARROW_FLOATS:
        return f"uint{max(8, width(dtype))}_t"
    found = STORAGE.get(dtype, dtype)
    return "bool" if found == "bool" else _FLOATS.get(found) or f"{found}_t"


def memory_type(dtype: str) -> str:
    """The type of an element in memory."""
    return "uint8_t" if dtype == "bool" else c_type(dtype)


def bits(dtype: str) -> int:
    """The bits of a value as it is computed."""
    return 8 * dtypes.to_numpy(STORAGE.get(dtype, dtype)).itemsize


def literal(expr: Const) -> str:
    """A number, as C reads it: exact, and of a type that converts to that of the constant."""
    dtype, value = expr.dtype, expr.value
    if dtype == "bool":
        return "true" if value else "false"
    if dtypes.is_float(dtype):
        return float_literal(float(value), dtype)
    number = int(value)
    if dtype == "uint32":
        return f"{number}u"
    if dtype == "uint64":
        return f"UINT64_C({number})"
    if number in INT:
        return str(number)
    if number in (-(2**31), -(2**63)):
        return f"INT{bits(dtype)}_MIN" if number != -(2**31) or dtype == "int32" else _wide(number)
    return _wide(number)


def _wide(number: int) -> str:
    return f"-INT64_C({-number})" if number < 0 else f"INT64_C({number})"


def float_literal(value: float, dtype: str) -> str:
    """The shortest decimal number that is read back as `value`."""
    if math.isnan(value):
        return "NAN" if dtype == "float32" else "(double)NAN"
    single = dtype == "float32"
    if math.isinf(value):
        name = "INFINITY" if single else "(double)INFINITY"
        return name if value > 0 else f"-{name}"
    text = str(np.float32(value)) if single else repr(value)
    if "e" not in text and "." not in text:
        text += ".0"
    return text + ("f" if single else "")


# The words that no variable may be called, of C and of the headers that are included.
_WORDS: Final = """
alignas alignof asm auto bool break case char complex const continue default do double else enum
extern false float for goto if imaginary inline int long noreturn register restrict return short
signed sizeof static struct switch thread_local true typedef typeof union unsigned void volatile
while int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t free malloc memcmp memcpy
memset sqrt sqrtf fabs fabsf copysign copysignf main errno assert linux unix NAN INFINITY NULL EOF I
workspace failure
"""
RESERVED: Final = frozenset(_WORDS.split())


def identifier(name: str) -> str:
    """A name as one of C."""
    made = re.sub(r"\W", "_", name, flags=re.ASCII).lstrip("_") or "v"
    own = re.fullmatch(r"relay.*|constant_\d+", made, re.IGNORECASE)  # names made here
    if made in RESERVED or made[0].isdigit() or own:
        made = f"v_{made}"
    return made
