"""Pools of output buffers.

A buffer is reused only when nobody holds the result or a view of it, in any library: a loop that
drops its results reuses the same few buffers, and a result that is kept never changes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from math import prod
from sys import getrefcount

import numpy as np

from relay import dtypes
from relay.target.memory import address_of

# Buffers kept per output: one that the caller holds, one being written, and spares for other
# threads; no spares of large ones.
KEPT = 4
LARGE = 2**26

Allocate = Callable[[int], np.ndarray]  # by number of bytes (`relay.target.loaded`)


def typed(block: np.ndarray, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """The first bytes of `block` as a tensor."""
    stored = dtypes.to_numpy(dtype)
    return block[: prod(shape) * stored.itemsize].view(stored).reshape(shape)


class Buffer:
    """Memory of one output; results are views of `tensor`."""

    __slots__ = ("address", "owner", "tensor")

    def __init__(self, shape: tuple[int, ...], dtype: str, allocate: Allocate) -> None:
        self.tensor = typed(allocate(prod(shape) * dtypes.to_numpy(dtype).itemsize), shape, dtype)
        self.address = address_of(self.tensor)
        # all views reference the array that owns the memory
        owner = self.tensor.base
        assert owner is not None
        self.owner = owner


class OutputPool:
    """The buffers of one output; thread-safe."""

    def __init__(self, shape: tuple[int, ...], dtype: str, allocate: Allocate) -> None:
        self.shape = shape
        self.dtype = dtype
        self.allocate = allocate
        self.buffers: deque[Buffer] = deque()
        fresh = Buffer(shape, dtype, allocate)
        self.unheld = getrefcount(fresh.owner)  # while only a buffer references the memory
        self.kept = KEPT if fresh.owner.nbytes < LARGE else 2
        self.buffers.append(fresh)

    def take(self) -> tuple[np.ndarray, int]:
        """(an array nobody else holds, its address)"""
        for _ in range(len(self.buffers)):
            try:
                buffer = self.buffers.popleft()
            except IndexError:  # other threads have them all
                continue
            if getrefcount(buffer.owner) == self.unheld:
                break
            if len(self.buffers) < self.kept - 1:
                self.buffers.append(buffer)
            # else the caller owns it
        else:
            buffer = Buffer(self.shape, self.dtype, self.allocate)
        array = buffer.tensor.view()
        self.buffers.append(buffer)  # after the view is made, which marks it as held
        return array, buffer.address
