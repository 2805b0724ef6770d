"""Limits of sizes and tensors, and the messages for those that exceed them.

Sizes are int64. Sums and products of sizes at run time must fit too, and a tensor takes fewer than
2^62 bytes, where an extent of 0 counts as 1 (as in NumPy). Both are checked before anything is
allocated (`relay.program.program.ComputeSize`, `AllocTensor`), and for every tensor that a kernel
iterates over, materialized or not (`relay.lower.lower_dynamic`). So index arithmetic in kernels
cannot overflow: a position is less than the number of elements, and a rounded-up extent less than
twice that.
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
    """Whether a tensor of that shape is within the limits."""
    extents = list(shape)
    if any(extent < 0 for extent in extents):
        return False
    least = prod(max(extent, 1) for extent in extents)
    return least * dtypes.to_numpy(dtype).itemsize < TENSOR_BYTES


def tensor_text(shape: Sequence[object], dtype: str) -> str:
    """The message for a tensor that is too large; dynamic dimensions are written `?`."""
    extents = " x ".join(str(n) if isinstance(n, int) else "?" for n in shape)
    return f"the result would have {extents} elements of {dtype}"


def too_large(shape: Sequence[int], dtype: str, span: AnySpan | None = None) -> Diagnostic:
    """The diagnostic for a tensor of known extents that is too large."""
    return Diagnostic(tensor_text(shape, dtype), span, expected=EXPECTED)


def size_text(op: str) -> str:
    """The message for a sum or a product of sizes that is too large."""
    return f"a size would be ? {_SIGNS[op]} ?"


def filled(text: str, numbers: Iterable[int]) -> str:
    """A text with its question marks replaced by numbers, as far as there are any."""
    parts = text.split("?")
    given = [*map(str, numbers)][: len(parts) - 1]
    given += ["?"] * (len(parts) - 1 - len(given))
    return parts[0] + "".join(n + part for n, part in zip(given, parts[1:], strict=True))
