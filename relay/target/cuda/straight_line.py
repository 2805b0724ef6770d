"""Executables of straight-line code that take and give tensors in memory of the device.

    exe(torch_tensor_on_the_gpu)           inputs are read, and results written, on the device
    exe(numpy_array)                       through memory of the host

With one argument on the device the results stay there; they are tensors of the library that the
first such argument is of. A copy on the device takes an argument to the place that the recorded
graph reads.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from relay import nd
from relay.executors.arrays import address, read
from relay.executors.executable import refusal
from relay.executors.straight_line import StraightLineExecutable
from relay.target.cuda.loaded import DeviceFrame, DeviceKernels
from relay.target.cuda.tensors import (
    DEFAULT_STREAM,
    DeviceTensor,
    Pool,
    on_device,
    place_of,
)
from relay.target.loaded import CallFrame


class DeviceExecutable(StraightLineExecutable):
    """A compiled model that is straight-line code, on a GPU."""

    _loaded: DeviceKernels

    def __init__(self, *parts: Any, **options: Any) -> None:
        super().__init__(*parts, **options)
        driver = self._loaded.driver
        self._device_pools = [Pool(driver, info.nbytes) for info in self.outputs]

    def __call__(self, *args: Any, out: Any = None, **named: Any) -> Any:
        if not any(map(_may_be_there, (*args, *named.values()))):
            return super().__call__(*args, out=out, **named)
        leaves = self._arrange(args, named)
        given = [data for data in leaves if on_device(data)]
        if not given:
            return super().__call__(*args, out=out, **named)
        if out is not None:
            raise refusal(
                "`out` is memory of the host", "arguments that lie there too", "one on the device"
            )
        results = self._on_device(leaves)
        wrapped = [_as_kind_of(given[0], result) for result in results]
        return wrapped[0] if self._is_one else self._put_together(wrapped)

    def _on_device(self, leaves: Sequence[Any]) -> list[DeviceTensor]:
        driver = self._loaded.driver
        driver.enter()
        kept: list[Any] = []  # during the call
        places: list[int] = []
        there: set[int] = set()
        waits = False
        for number, (data, wanted) in enumerate(zip(leaves, self.inputs, strict=True)):
            if on_device(data):
                place, late = place_of(data, wanted.name, wanted.shape, wanted.dtype)
                kept.append(place)
                waits |= late
                there.add(number)
                places.append(place.address)
            else:
                kept.append(read(data, wanted))
                places.append(address(kept[-1]))
        if waits:
            driver.synchronize(DEFAULT_STREAM)
        # the state comes after the inputs, and after the results
        before = 0 if self.threaded is None else len(self.threaded.specs)
        made = []
        for number, (pool, info) in enumerate(zip(self._device_pools, self.outputs, strict=True)):
            place = pool.take()
            made.append(DeviceTensor(driver, place, info.shape, info.dtype))
            there.add(len(self.inputs) + before + number)
            places.append(place.address)
        self._run(places, partial(_set, frozenset(there)))
        return made


def _may_be_there(data: Any) -> bool:
    """Whether an argument, or a part of it, may lie on the device."""
    return isinstance(data, tuple | list | Mapping) or on_device(data)


def _set(there: frozenset[int], frame: CallFrame) -> None:
    assert isinstance(frame, DeviceFrame)
    frame.there = there


def _as_kind_of(data: Any, result: DeviceTensor) -> Any:
    """A result as a tensor of the library that an argument is of."""
    if isinstance(data, DeviceTensor):
        return result
    if nd.is_torch(data):
        return sys.modules["torch"].from_dlpack(result)
    if hasattr(data, "__array_namespace__"):
        return data.__array_namespace__().from_dlpack(result)
    library = sys.modules.get(type(data).__module__.partition(".")[0])
    convert = getattr(library, "from_dlpack", None)
    return result if convert is None else convert(result)
