"""Exported memory of native code as NumPy arrays.

An array and its views keep a block alive; the block is freed with the last of them, in any thread.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import prod

import numpy as np

from relay.native import finalizer


class Block:
    """Memory of the runtime, freed by `free` after the last array on it."""

    __slots__ = ("__array_interface__", "_release")
    __del__ = finalizer.calls("_release")

    def __init__(self, base: int, free: Callable[[int], None]) -> None:
        self._release = partial(free, base)

    def array(self, place: int, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        """The array at the address `place` in the block."""
        has_name = dtype.kind != "V"  # the array interface cannot name other types
        self.__array_interface__ = {
            "shape": shape if has_name else (dtype.itemsize * prod(shape),),
            "typestr": dtype.str if has_name else "|u1",
            "data": (place, False),
            "version": 3,
        }
        made = np.asarray(self)
        return made if has_name else made.view(dtype).reshape(shape)
