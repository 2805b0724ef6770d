"""Scalar functions in Triton, for operations that Triton has none for or defines otherwise.

Division by zero gives 0 and leaves the dividend as the remainder; a shift by the width or more
shifts out all bits, as Relay says and GPUs do not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

HELPERS: Final[Mapping[str, str]] = {
    "truncdiv": """\
def truncdiv(a, b):
    return tl.where(b == 0, 0, a // tl.where(b == 0, 1, b))
""",
    "truncmod": """\
def truncmod(a, b):
    return a - truncdiv(a, b) * b
""",
    "floordiv": """\
def floordiv(a, b):
    q = truncdiv(a, b)
    r = a - q * b
    return tl.where((b != 0) & (r != 0) & ((r < 0) != (b < 0)), q - 1, q)
""",
    "mod": """\
def mod(a, b):
    return a - floordiv(a, b) * b
""",
    "shl": """\
def shl(a, n, width: tl.constexpr):
    inside = (n >= 0) & (n < width)
    return tl.where(inside, a << tl.where(inside, n, 0), 0)
""",
    "shr": """\
def shr(a, n, width: tl.constexpr):
    inside = (n >= 0) & (n < width)
    return a >> tl.where(inside, n, width - 1)
""",
    "ushr": """\
def ushr(a, n, width: tl.constexpr):
    inside = (n >= 0) & (n < width)
    return tl.where(inside, a >> tl.where(inside, n, 0), 0)
""",
    "copysign_float32": """\
def copysign_float32(a, b):
    magnitude = tl.cast(a, tl.float32).to(tl.uint32, bitcast=True) & 0x7FFFFFFF
    sign = tl.cast(b, tl.float32).to(tl.uint32, bitcast=True) & 0x80000000
    return (magnitude | sign).to(tl.float32, bitcast=True)
""",
    "copysign_float64": """\
def copysign_float64(a, b):
    magnitude = tl.cast(a, tl.float64).to(tl.uint64, bitcast=True) & 0x7FFFFFFFFFFFFFFF
    sign = tl.cast(b, tl.float64).to(tl.uint64, bitcast=True) & 0x8000000000000000
    return (magnitude | sign).to(tl.float64, bitcast=True)
""",
}
_NEEDS: Final = {
    "truncmod": ("truncdiv",),
    "floordiv": ("truncdiv",),
    "mod": ("truncdiv", "floordiv"),
}
# Unsigned integers are never negative: their floor is that of truncation.
_UNSIGNED: Final = {
    "utruncdiv": "truncdiv",
    "ufloordiv": "truncdiv",
    "utruncmod": "truncmod",
    "umod": "truncmod",
}


def helper_name(name: str) -> str:
    """The function that a helper is."""
    return _UNSIGNED.get(name, name)


def helper_texts(names: Iterable[str]) -> list[str]:
    """The text of helpers and of what they call, in order."""
    wanted: dict[str, None] = {}
    for name in names:
        wanted |= dict.fromkeys((*_NEEDS.get(name, ()), name))
    return ["@triton.jit\n" + HELPERS[name] for name in wanted]
