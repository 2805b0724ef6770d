"""Aligned host memory for tensors."""

from __future__ import annotations

import numpy as np

from relay.arena import ALIGNMENT
from relay.errors import EvaluationError
from relay.immutable import frozen

PAGE = 4096


@frozen
class Place:
    """Memory that kernels read and write; `owner` keeps it."""

    address: int
    owner: object


def allocate(size: int) -> np.ndarray:
    """`size` bytes aligned to 64; large blocks begin in the middle of a page.

    Other allocators begin theirs at a page, and a load at the page offset of a pending store stalls
    (4K aliasing), which half a page of distance avoids.
    """
    room, offset = (ALIGNMENT, 0) if size < PAGE else (PAGE, PAGE // 2)
    try:
        block = np.empty(size + room, np.uint8)
    except (MemoryError, ValueError):  # too large, also for NumPy
        raise EvaluationError.of(f"there is no memory for {size:,} bytes") from None
    start = (offset - address_of(block)) % room
    return block[start : start + size]


def address_of(block: np.ndarray) -> int:
    """The address of `block`; slow."""
    return int(block.__array_interface__["data"][0])
