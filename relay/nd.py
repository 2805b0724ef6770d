"""Tensors as values: an immutable NumPy array with its device, as `relay.nd.array` makes them.

Only programs that manage memory themselves have tensors that change: those that lie in a `Storage`.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any

import numpy as np

from relay import dtypes
from relay.errors import RelayError
from relay.immutable import frozen


@frozen
class Device:
    """Where a tensor lives."""

    kind: str = "cpu"
    index: int = 0

    def __str__(self) -> str:
        return f"{self.kind}({self.index})"


def cpu(index: int = 0) -> Device:
    """The CPU."""
    return Device("cpu", index)


HOST = cpu()


class NDArray:
    """A tensor value. `array` is the NumPy array inside, read-only; `numpy()` gives a copy."""

    __slots__ = ("array", "device", "dtype")

    def __init__(self, array: np.ndarray, device: Device | None = None) -> None:
        view = np.asarray(array).view()
        view.flags.writeable = False
        self.array = view
        self.dtype = dtypes.from_numpy(view.dtype)
        self.device = device or HOST

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape

    def numpy(self) -> np.ndarray:
        """A copy the caller may change."""
        return self.array.copy()

    asnumpy = numpy

    def item(self) -> Any:
        return self.array.item()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        made = self.array if dtype is None else self.array.astype(dtype, copy=False)
        if made is not self.array:
            if copy is False:
                raise ValueError(f"{self.dtype} cannot be seen as {dtype} without a copy")
            return made
        return made.copy() if copy else made

    def __dlpack__(self, **options: Any) -> Any:
        # DLPack has no read-only flag that every consumer knows, so it gets memory of its own
        return self.array.copy().__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, self.device.index)

    def __len__(self) -> int:
        return len(self.array)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.array)

    def __getitem__(self, index: Any) -> Any:
        return self.array[index]

    def __bool__(self) -> bool:
        return bool(self.array)

    def __int__(self) -> int:
        return int(self.array)

    def __float__(self) -> float:
        return float(self.array)

    def __repr__(self) -> str:
        return f"NDArray({self.array!r}, device={self.device})"


class Weight(NDArray):
    """A tensor that stands for others: another one of its name may take its place once the program
    is compiled. So nothing is concluded from its elements."""

    __slots__ = ("name",)

    def __init__(self, name: str, array: np.ndarray) -> None:
        super().__init__(array)
        self.name = name


def array(data: Any, device: Device | None = None) -> NDArray:
    """A tensor with a copy of `data` (anything NumPy or DLPack understands)."""
    if isinstance(data, NDArray):
        return NDArray(data.array.copy(), device or data.device)
    return NDArray(np.array(as_numpy(data)), device)


def empty(shape: tuple[int, ...], dtype: str = "float32", device: Device | None = None) -> NDArray:
    """A tensor of zeros (memory is never handed out with old contents in it)."""
    return NDArray(np.zeros(shape, dtypes.to_numpy(dtypes.canonical(dtype))), device)


class Storage:
    """A block of memory that tensors are laid out in. It is zero at first."""

    __slots__ = ("__weakref__", "_memory", "device")

    def __init__(self, size: int, device: Device | None = None) -> None:
        if size < 0:
            raise RelayError(f"a storage cannot have {size} bytes")
        self._memory: bytearray | None = bytearray(size)
        self.device = device or HOST

    @property
    def size(self) -> int:
        """How many bytes there are; none once they are given back."""
        return 0 if self._memory is None else len(self._memory)

    def tensor(self, offset: int, shape: tuple[int, ...], dtype: str = "float32") -> StoredTensor:
        """The tensor that lies `offset` bytes behind the beginning."""
        stored = dtypes.to_numpy(dtype)
        end = offset + prod(shape) * stored.itemsize
        if self._memory is None:
            raise RelayError("the storage was given back and holds nothing")
        if not 0 <= offset <= end <= len(self._memory):
            raise RelayError(
                f"bytes {offset} to {end} do not lie in a storage of {len(self._memory)} bytes"
            )
        memory = np.ndarray(shape, stored, buffer=self._memory, offset=offset)
        return StoredTensor(memory, self.device)

    def free(self) -> None:
        """Give the memory back: nothing can be laid out here any more."""
        self._memory = None

    def __repr__(self) -> str:
        return f"Storage({self.size}, device={self.device})"


class StoredTensor(NDArray):
    """A tensor in a `Storage`. It can be written, and what it holds is what was written last."""

    __slots__ = ("_memory",)

    def __init__(self, memory: np.ndarray, device: Device) -> None:
        NDArray.__init__(self, memory, device)
        self._memory = memory

    def write(self, value: NDArray) -> None:
        """Change all elements to those of a tensor of the same shape and type."""
        if value.shape != self.shape or value.dtype != self.dtype:
            raise RelayError(
                f"a tensor of shape {value.shape} and type {value.dtype} cannot be written to one "
                f"of shape {self.shape} and type {self.dtype}"
            )
        self._memory[...] = value.array


def as_numpy(data: Any) -> np.ndarray:
    """`data` as a NumPy array in native byte order, without a copy where that is possible."""
    if isinstance(data, NDArray):
        return data.array
    try:
        if not isinstance(data, np.ndarray | np.generic) and hasattr(data, "__dlpack__"):
            made = np.from_dlpack(data.detach() if hasattr(data, "detach") else data)
        else:
            made = np.asarray(data)
    except (ValueError, BufferError, RuntimeError) as error:  # ragged, on another device, …
        raise RelayError(f"cannot make a tensor of {type(data).__name__}: {error}") from error
    if made.dtype.hasobject or (
        made.dtype.kind in "USVMmc" and made.dtype.name not in dtypes.NAMES
    ):
        raise RelayError(f"cannot make a tensor of {type(data).__name__} (NumPy sees {made.dtype})")
    if not made.dtype.isnative:
        made = made.astype(made.dtype.newbyteorder("="))
    return made
