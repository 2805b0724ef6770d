"""Memory that native code has given away, as arrays.

An array on a block holds it, through any number of views in whatever library; with the last of them
the block goes back to the runtime, in whichever thread that is.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np


class Block:
    """Memory of the runtime's; `free` takes it back. It lasts as long as the arrays on it."""

    __slots__ = ("__array_interface__", "_base", "_free")

    def __init__(self, base: int, free: Callable[[int], None]) -> None:
        self._base = base
        self._free = free

    def array(self, place: int, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        """What lies at `place`, which is within the block."""
        has_name = dtype.kind != "V"  # others cannot be told from raw bytes
        self.__array_interface__ = {
            "shape": shape if has_name else (dtype.itemsize * prod(shape),),
            "typestr": dtype.str if has_name else "|u1",
            "data": (place, False),
            "version": 3,
        }
        made = np.asarray(self)
        return made if has_name else made.view(dtype).reshape(shape)

    def __del__(self) -> None:
        self._free(self._base)
