"""How large sizes and tensors may be, and what is said of those that are larger.

Sizes are int64. A sum or a product of them that a run computes must be one too, and a tensor takes
fewer than 2^62 bytes, where an extent of 0 counts as 1 (NumPy draws the line in the same way). Both
are looked at before anything is allocated (`relay.program.program.ComputeSize`, `AllocTensor`), and
for every tensor that a kernel goes through, whether it lies in memory or not
(`relay.lower.symbolic`). So index arithmetic inside of kernels cannot wrap: a position is less than
the number of elements, and what loops round extents up to is less than twice of that.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from typing import Final

from relay import dtypes
from relay.errors import AnySpan, Diagnostic

LARGEST_SIZE: Final = 2**63 - 1
TENSOR_BYTES: Final = 2**62  # a tensor takes less

EXPECTED: Final = "sizes of less than 2^63, and tensors of less than 2^62 bytes"

_SIGNS: Final = {"add": "+", "mul": "*"}


def is_size(number: int) -> bool:
    """Whether a number is an int64."""
    return -LARGEST_SIZE - 1 <= number <= LARGEST_SIZE


def has_room(shape: Iterable[int], dtype: str) -> bool:
    """Whether there can be a tensor of that shape."""
    extents = list(shape)
    if any(extent < 0 for extent in extents):
        return False
    least = prod(max(extent, 1) for extent in extents)
    return least * dtypes.to_numpy(dtype).itemsize < TENSOR_BYTES


def tensor_text(shape: Sequence[object], dtype: str) -> str:
    """What is said of a tensor that is too large. Sizes that a run knows are written `?`."""
    extents = " x ".join(str(n) if isinstance(n, int) else "?" for n in shape)
    return f"the result would have {extents} elements of {dtype}"


def too_large(shape: Sequence[int], dtype: str, span: AnySpan | None = None) -> Diagnostic:
    """The same of one whose sizes are known."""
    return Diagnostic(tensor_text(shape, dtype), span, expected=EXPECTED)


def size_text(op: str) -> str:
    """What is said of a sum or a product that is too large."""
    return f"a size would be ? {_SIGNS[op]} ?"


def filled(text: str, numbers: Iterable[int]) -> str:
    """A text with numbers for its question marks, as far as there are any."""
    parts = text.split("?")
    given = [*map(str, numbers)][: len(parts) - 1]
    given += ["?"] * (len(parts) - 1 - len(given))
    return parts[0] + "".join(n + part for n, part in zip(given, parts[1:], strict=True))
