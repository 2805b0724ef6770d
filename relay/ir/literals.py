"""Scalar constants as text, and back with the same bits.

    int32  3        float32  1.5f, 1e-05f, inff, -inff, nanf        bool  True, False
    int8   3i8      float16  1.5f16        bfloat16  1.5bf16        uint2  3u2

A number without a suffix is int32, or int64 where it does not fit, or float32 when it has a point
or an exponent; `i`, `u` and `f` alone mean 32 bits. What cannot be said exactly (a NaN with a
payload), and floats of 8 bits and fewer, have no literal.
"""

from __future__ import annotations

import re
from typing import Final

import numpy as np

from relay import dtypes

# The number a literal begins with, and what is glued to it.
NUMBER: Final = r"\d+(?:\.\d*)?(?:[eE][+-]?\d+)?(?:[^\W\d]\w*)?"
_PARTS: Final = re.compile(r"(\d+(?:\.\d*)?(?:[eE][+-]?\d+)?)(\w*)")

_FLOAT_SUFFIXES: Final = {
    "f": "float32",
    "f16": "float16",
    "f32": "float32",
    "f64": "float64",
    "bf16": "bfloat16",
}
_INTEGER_SUFFIXES: Final = {
    "i": "int32",
    "u": "uint32",
    **{f"i{bits}": f"int{bits}" for bits in (2, 4, 8, 16, 32, 64)},
    **{f"u{bits}": f"uint{bits}" for bits in (2, 4, 8, 16, 32, 64)},
}
_SUFFIX_OF: Final = {
    "int32": "",
    "float32": "f",
    **{dtype: suffix for suffix, dtype in _INTEGER_SUFFIXES.items() if dtype != "int32"},
    **{dtype: suffix for suffix, dtype in _FLOAT_SUFFIXES.items() if dtype != "float32"},
}

# Words that are floats: inff, nanf64, …
SPECIAL: Final = {
    word + suffix: (float(word), dtype)
    for word in ("inf", "nan")
    for suffix, dtype in _FLOAT_SUFFIXES.items()
}


def scalar_text(value: np.ndarray) -> str | None:
    """The literal for a tensor of rank 0, or None when it has none."""
    dtype = dtypes.canonical(value.dtype)
    if dtype == "bool":
        return str(bool(value))
    if (suffix := _SUFFIX_OF.get(dtype)) is None:
        return None
    if dtypes.is_integer(dtype):
        return f"{int(value)}{suffix}"
    # the shortest digits may belong to a neighbor after two roundings; then all digits are shown
    for digits in (str(value[()]), repr(float(value))):
        text = digits.removesuffix(".0") + suffix
        if text.lstrip("-") in SPECIAL or digits[-1].isdigit():
            negative = text.startswith("-")
            if read_scalar(text.lstrip("-"), negative).tobytes() == value.tobytes():
                return text
    return None


def read_scalar(text: str, negative: bool = False) -> np.ndarray:
    """The tensor of rank 0 that a literal stands for; ValueError says what is wrong with it."""
    sign = -1 if negative else 1
    if special := SPECIAL.get(text):
        number, dtype = special
        return np.array(sign * number, dtypes.to_numpy(dtype))
    digits, suffix = _split(text)
    if suffix in _FLOAT_SUFFIXES or (not suffix and not digits.isdigit()):
        return _read_float(digits, _FLOAT_SUFFIXES[suffix or "f"], sign)
    if not digits.isdigit():
        raise ValueError(f"an integer cannot have a point or an exponent: `{text}`")
    return _read_integer(digits, suffix, sign)


def read_number(text: str, negative: bool = False) -> int | float:
    """The Python number that a literal stands for in an attribute, where suffixes say little."""
    sign = -1 if negative else 1
    if special := SPECIAL.get(text):
        return sign * special[0]
    digits, suffix = _split(text)
    if suffix in _FLOAT_SUFFIXES or not digits.isdigit():
        return sign * float(digits)
    return sign * _integer(digits)


def _split(text: str) -> tuple[str, str]:
    parts = _PARTS.fullmatch(text)
    if parts is None or not text.isascii():
        raise ValueError(f"`{text}` is not a number")
    digits, suffix = parts[1], parts[2]
    if suffix and suffix not in _FLOAT_SUFFIXES and suffix not in _INTEGER_SUFFIXES:
        known = ", ".join((*_FLOAT_SUFFIXES, *_INTEGER_SUFFIXES))
        raise ValueError(f"`{suffix}` is not the suffix of a number; there are {known}")
    return digits, suffix


def _read_float(digits: str, dtype: str, sign: int) -> np.ndarray:
    with np.errstate(over="ignore", under="ignore"):
        value = np.array(sign * float(digits)).astype(dtypes.to_numpy(dtype))
    if np.isinf(value):
        raise ValueError(f"`{digits}` is too large for {dtype}; infinity is written `inff`")
    return value


def _integer(digits: str) -> int:
    try:
        return int(digits)
    except ValueError:
        raise ValueError(f"an integer of {len(digits)} digits is too long") from None


def _read_integer(digits: str, suffix: str, sign: int) -> np.ndarray:
    number = sign * _integer(digits)
    if not suffix:
        suffix = "i32" if -(2**31) <= number < 2**31 else "i64"
    dtype = _INTEGER_SUFFIXES[suffix]
    bits = dtypes.bits(dtype)
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1)) if suffix[0] == "i" else (0, 2**bits)
    if not low <= number < high:
        raise ValueError(f"`{digits}` does not fit in {dtype}, which holds {low} to {high - 1}")
    return np.array(number, dtypes.to_numpy(dtype))
