"""Element types by name (`float32`, `int8`, `bool`, `bfloat16`, …) and their NumPy counterparts.

`float`, `int` and `uint` mean 32 bits, as in programs, where NumPy and Python's types mean 64.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from relay.errors import RelayError, did_you_mean

if TYPE_CHECKING:
    import numpy as np

FLOATS = ("float16", "bfloat16", "float32", "float64")
SIGNED = ("int2", "int4", "int8", "int16", "int32", "int64")
UNSIGNED = ("uint2", "uint4", "uint8", "uint16", "uint32", "uint64")
FLOAT8 = ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz")
# Microscaling formats: scales, which are powers of two, and elements without NaN. They can be moved
# and converted, but not computed with.
MICROSCALING = ("float8_e8m0fnu", "float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn")
NAMES = (*FLOATS, *SIGNED, *UNSIGNED, *FLOAT8, *MICROSCALING, "bool")
# Aliases: 32 bits by default, and one bit is a bool.
ALIASES = {"float": "float32", "int": "int32", "uint": "uint32", "uint1": "bool"}
# Element types that NumPy has only through ml_dtypes.
EXTENSIONS = ("bfloat16", "int2", "uint2", "int4", "uint4", *FLOAT8, *MICROSCALING)

_LANES = re.compile(r"(.+?)x([1-9][0-9]{0,3})")


@cache
def find(name: str) -> str | None:
    """The element type of that name or alias, or None; `float32x4` is four lanes of float32."""
    if name in NAMES:
        return name
    lanes = _LANES.fullmatch(name)
    if lanes is not None and lanes[1] in NAMES and int(lanes[2]) > 1:
        return name
    return ALIASES.get(name)


def is_dtype(name: str) -> bool:
    """Whether `name` is an element type."""
    return find(name) is not None


def canonical(dtype: object) -> str:
    """The name of `dtype`, which may be a name, a NumPy dtype or a Python scalar type."""
    if isinstance(dtype, str):
        if (found := find(dtype)) is not None:
            return found
        hint = did_you_mean(dtype, NAMES)
        raise RelayError(f"unknown element type `{dtype}`" + (f"; {hint}" if hint else ""))
    import numpy as np

    try:
        if dtype is not None:  # NumPy takes None for float64
            return from_numpy(np.dtype(dtype))  # type: ignore[call-overload]
    except (TypeError, ValueError):
        pass
    raise RelayError(f"unknown element type {dtype!r}")


@cache
def from_numpy(dtype: np.dtype) -> str:
    """The name of a NumPy dtype; cached, because `dtype.name` is slow."""
    return canonical(dtype.name)


def is_float(dtype: str) -> bool:
    return dtype in FLOATS or dtype in FLOAT8 or dtype in MICROSCALING


def is_integer(dtype: str) -> bool:
    """Integers of either sign; `bool` is not one."""
    return dtype in SIGNED or dtype in UNSIGNED


@cache
def bits(dtype: str) -> int:
    """The number of bits of an element."""
    return 1 if dtype == "bool" else int(re.search(r"\d+", dtype)[0])  # type: ignore[index]


@cache
def to_numpy(dtype: str) -> np.dtype:
    """The NumPy dtype that stores `dtype`; the narrow ones come from ml_dtypes."""
    import numpy as np

    if dtype in EXTENSIONS:
        import ml_dtypes

        narrow: np.dtype = np.dtype(getattr(ml_dtypes, dtype))
        return narrow
    if not is_dtype(dtype) or "x" in dtype:
        raise RelayError(f"element type `{dtype}` has no array form")
    return np.dtype(dtype)
