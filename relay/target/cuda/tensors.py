"""Tensors in memory of a GPU.

    x = relay.nd.array(data, relay.cuda(0))
    y = exe(x)                             y.numpy(), torch.from_dlpack(y), cupy.from_dlpack(y)

When a call returns, its results are there: no stream has to wait for another.
"""

from __future__ import annotations

import weakref
from collections import deque
from math import prod
from typing import Any

import numpy as np

from relay import dtypes, nd
from relay.errors import EvaluationError
from relay.nd import Device, NDArray
from relay.target.cuda.dlpack import CUDA, borrow, device_of, lend
from relay.target.cuda.driver import Driver
from relay.target.memory import Place, address_of

DEFAULT_STREAM = 0


class Memory:
    """Owns memory of the device."""

    def __init__(self, address: int) -> None:
        self.address = address


def reserve(driver: Driver, size: int) -> Place:
    """Memory of the device, given back with its owner."""
    driver.enter()
    memory = Memory(driver.allocate(size))
    weakref.finalize(memory, driver.free, memory.address).atexit = False
    return Place(memory.address, memory)


class Pool:
    """Memory for one result; it is used again when nobody holds a result in it."""

    def __init__(self, driver: Driver, size: int) -> None:
        self.driver = driver
        self.size = size
        self._free: deque[Place] = deque()

    def take(self) -> Place:
        """Memory that nobody else has."""
        try:
            place = self._free.pop()
        except IndexError:
            place = reserve(self.driver, self.size)
        held = Memory(place.address)
        weakref.finalize(held, self._free.append, place).atexit = False
        return Place(place.address, held)


class DeviceTensor(NDArray):
    """A dense tensor on a GPU. `array` and all else that needs its elements copies them."""

    __slots__ = ("_driver", "_place", "_shape")

    def __init__(self, driver: Driver, place: Place, shape: tuple[int, ...], dtype: str) -> None:
        self._driver = driver
        self._place = place
        self._shape = shape
        self.dtype = dtype
        self.device = Device("cuda")

    @property
    def shape(self) -> tuple[int, ...]:
        return self._shape

    @property
    def address(self) -> int:
        """Where its elements begin."""
        return self._place.address

    @property
    def nbytes(self) -> int:
        return prod(self._shape) * dtypes.to_numpy(self.dtype).itemsize

    @property
    def array(self) -> np.ndarray:  # type: ignore[override]
        """A copy in memory of the host."""
        made = np.empty(self._shape, dtypes.to_numpy(self.dtype))
        if made.nbytes:
            self._driver.enter()
            self._driver.copy_out(address_of(made), self.address, made.nbytes, DEFAULT_STREAM)
            self._driver.synchronize(DEFAULT_STREAM)
        made.flags.writeable = False
        return made

    def copyto(self, target: Any) -> NDArray:
        if not isinstance(target, Device):
            return target.copyfrom(self)  # type: ignore[no-any-return]
        return nd.array(self, target)

    def __dlpack__(self, *, stream: Any = None, **options: Any) -> Any:
        return lend(self.address, self._shape, self.dtype, (CUDA, 0), self._place)

    def __dlpack_device__(self) -> tuple[int, int]:
        return CUDA, 0

    def __len__(self) -> int:
        return self._shape[0]

    def __repr__(self) -> str:
        return f"DeviceTensor(shape={self._shape}, dtype={self.dtype}, device={self.device})"


def on_device(data: Any) -> bool:
    """Whether a value lies in memory of a GPU."""
    if isinstance(data, DeviceTensor):
        return True
    if isinstance(data, np.ndarray | np.generic | NDArray | int | float):
        return False
    found = device_of(data)
    return found is not None and found[0] == CUDA


def place_of(data: Any, name: str, shape: tuple[int, ...], dtype: str) -> tuple[Place, bool]:
    """The memory of a tensor on the device, which is to have this type, and whether the default
    stream has to be waited for before it is read."""
    if isinstance(data, DeviceTensor):
        _require(name, (data.shape, data.dtype), (shape, dtype))
        return data._place, False
    lent = borrow(data)
    if lent.device != (CUDA, 0):
        raise EvaluationError.of(
            f"`{name}` lies on another device", expected="cuda(0)", found=f"cuda({lent.device[1]})"
        )
    _require(name, (lent.shape, lent.dtype), (shape, dtype))
    if not lent.is_dense:
        raise EvaluationError.of(f"`{name}` is not dense and row-major", hint="give x.contiguous()")
    return Place(lent.address, lent), True


def _require(name: str, found: tuple[Any, str], wanted: tuple[Any, str]) -> None:
    if found != wanted:
        expected, given = (
            f"{dtype or 'another type'}[{', '.join(map(str, shape))}]"
            for shape, dtype in (wanted, found)
        )
        raise EvaluationError.of(f"`{name}` has another type", expected=expected, found=given)


def array(data: Any, driver: Driver) -> DeviceTensor:
    """A copy of any tensor in memory of the device."""
    driver.enter()
    if on_device(data) and not isinstance(data, DeviceTensor):
        lent = borrow(data)
        place, _ = place_of(data, "the tensor", lent.shape, lent.dtype)
        shape, dtype = lent.shape, lent.dtype
    elif isinstance(data, DeviceTensor):
        place, shape, dtype = data._place, data.shape, data.dtype
    else:
        host = np.ascontiguousarray(nd.as_numpy(data))
        place, shape, dtype = None, host.shape, dtypes.from_numpy(host.dtype)
    size = prod(shape) * dtypes.to_numpy(dtype).itemsize
    made = DeviceTensor(driver, reserve(driver, size), tuple(shape), dtype)
    if size:
        driver.synchronize(DEFAULT_STREAM)
        if place is None:
            driver.copy_in(made.address, address_of(host), size, DEFAULT_STREAM)
        else:
            driver.copy_between(made.address, place.address, size, DEFAULT_STREAM)
        driver.synchronize(DEFAULT_STREAM)
    return made
