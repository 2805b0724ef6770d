"""Host memory for tensors: aligned blocks, and where they begin."""

from __future__ import annotations

import numpy as np

from relay.arena import ALIGNMENT
from relay.errors import Diagnostic, EvaluationError

PAGE = 4096


def allocate(size: int) -> np.ndarray:
    """`size` bytes that begin at a multiple of 64, large blocks in the middle of a page.

    Others begin theirs at the start of one. A processor takes a load from where another page has a
    store on its way for a load of what is stored, and waits: streams half a page apart never meet.
    """
    room, offset = (ALIGNMENT, 0) if size < PAGE else (PAGE, PAGE // 2)
    try:
        block = np.empty(size + room, np.uint8)
    except (MemoryError, ValueError):  # more than there is, or than NumPy counts to
        raise EvaluationError(Diagnostic(f"there is no memory for {size:,} bytes")) from None
    start = (offset - address_of(block)) % room
    return block[start : start + size]


def address_of(block: np.ndarray) -> int:
    """Where `block` begins; slow."""
    return int(block.__array_interface__["data"][0])
