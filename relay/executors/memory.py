"""Memory for native code: aligned blocks, and the buffers results are written to.

A result belongs to the caller for as long as anybody holds it, or a view of it, in whatever
library. Its buffer is used again only after that; so a loop that drops its results keeps writing to
the same few buffers, whose pages are already there, and a result that is kept never changes.
"""

from __future__ import annotations

from collections import deque
from math import prod
from sys import getrefcount

import numpy as np

from relay import dtypes
from relay.errors import Diagnostic, EvaluationError
from relay.program.plan import ALIGNMENT

# How many buffers of one output are remembered: one the caller holds, one being written, and spare
# ones for callers in other threads. Of large ones no spare is kept.
KEPT = 4
LARGE = 2**26
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


def typed(block: np.ndarray, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """The first bytes of `block` as a tensor."""
    stored = dtypes.to_numpy(dtype)
    return block[: prod(shape) * stored.itemsize].view(stored).reshape(shape)


class Buffer:
    """Memory of one output, which is handed out as views of `tensor`."""

    __slots__ = ("address", "owner", "tensor")

    def __init__(self, shape: tuple[int, ...], dtype: str) -> None:
        self.tensor = typed(allocate(prod(shape) * dtypes.to_numpy(dtype).itemsize), shape, dtype)
        self.address = address_of(self.tensor)
        # every view, and every view of a view, holds on to the array that owns the memory
        owner = self.tensor.base
        assert owner is not None
        self.owner = owner

    def holders(self) -> int:
        """A number that is the same whenever nobody but this buffer holds the memory."""
        return getrefcount(self.owner)


class OutputPool:
    """The buffers of one output. Safe to use from several threads."""

    def __init__(self, shape: tuple[int, ...], dtype: str) -> None:
        self.shape = shape
        self.dtype = dtype
        self.buffers: deque[Buffer] = deque()
        fresh = Buffer(shape, dtype)
        self.unheld = fresh.holders()
        self.kept = KEPT if fresh.owner.nbytes < LARGE else 2
        self.buffers.append(fresh)

    def take(self) -> tuple[np.ndarray, int]:
        """(an array nobody else holds, its address)"""
        buffer = self._unheld_buffer()
        array = buffer.tensor.view()
        self.buffers.append(buffer)  # after the view is made: from now on it counts as held
        return array, buffer.address

    def _unheld_buffer(self) -> Buffer:
        for _ in range(len(self.buffers)):
            try:
                buffer = self.buffers.popleft()
            except IndexError:  # other threads have them all
                break
            if buffer.holders() == self.unheld:
                return buffer
            if len(self.buffers) < self.kept - 1:
                self.buffers.append(buffer)
            # else it is the caller's for good, and goes when the caller lets it go
        return Buffer(self.shape, self.dtype)
