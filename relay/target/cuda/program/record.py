"""What a context of native code has of a GPU: a stream, memory for scalars, launches."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache
from struct import pack
from typing import Final

import numpy as np

from relay.native import device
from relay.target.cuda.driver import Driver
from relay.target.cuda.loaded import DeviceKernels, Launch, finally_, new_stream
from relay.target.cuda.program import runtime
from relay.target.llvm.jit import Library, load
from relay.target.memory import address_of

SLOTS: Final = 1 << 16  # bytes of memory for scalars
# CUlaunchAttribute: a launch may begin before the one before it has ended
_DEPENDENT: Final = pack("<ixxxxi60x", 6, 1)


@cache
def load_runtime(code: bytes) -> Library:
    """The functions of `runtime.py`, for good: contexts give memory back with them at any time."""
    library = load(code, runtime.FUNCTIONS)
    library.keep_forever()
    return library


class Launches:
    """The launches of a program as a table for native code."""

    def __init__(self, kernels: DeviceKernels, names: Sequence[str]) -> None:
        self._attribute = np.frombuffer(_DEPENDENT, np.uint8).copy()
        launches = [launch for name in names for launch in kernels.launches[name]]
        words = [
            [at if kind == "word" else -1 - at for kind, at in launch.arguments]
            for launch in launches
        ]
        self._arguments = np.array([one for each in words for one in each] or [0], np.int64)
        at = address_of(self._arguments)
        rows = []
        for launch, each in zip(launches, words, strict=True):
            rows.append(self._row(kernels.driver, launch, len(each), at))
            at += 8 * len(each)
        self._table = np.frombuffer(b"".join(rows) or bytes(8), np.uint8).copy()
        self.address = address_of(self._table)

    def _row(self, driver: Driver, launch: Launch, count: int, arguments: int) -> bytes:
        attribute = address_of(self._attribute)
        return pack(
            "<q7i4xqqi4xqq",
            driver.word(launch.function),
            *launch.grid,
            launch.threads,
            1,
            1,
            launch.shared,
            0,  # the stream
            attribute,
            int(launch.dependent),
            count,
            arguments,
        )


class Record:
    """The record of a device of one context (`relay.native.device`)."""

    def __init__(
        self, kernels: DeviceKernels, library: Library, launches: Launches, workspace: int
    ) -> None:
        driver = kernels.driver
        driver.enter()
        self.kept: list[object] = [kernels, launches]  # as long as this
        self.stream = new_stream(self, driver)
        self.words = (ctypes.c_int64 * (runtime.RECORD_SIZE // 8))()
        self.address = ctypes.addressof(self.words)
        for place, name in (
            (device.ALLOCATE, "allocate"),
            (device.FREE, "free"),
            (device.WRITE, "write"),
            (device.READ, "read"),
            (device.WAIT, "wait"),
        ):
            self[place] = library.address(f"relay_cuda_{name}")
        for name, place in runtime.DRIVER.items():
            self[place] = driver.entry(name)
        slots = driver.allocate_host(SLOTS)
        finally_(self, driver.free_host, slots)
        self._workspace = kernels.reserve(workspace) if workspace else None
        self[runtime.CONTEXT] = driver.context
        self[runtime.STREAM] = driver.word(self.stream)
        self[runtime.LAUNCHES] = launches.address
        self[runtime.SLOTS] = self[runtime.SLOT] = slots
        self[runtime.SLOTS_END] = slots + SLOTS
        self[runtime.WORKSPACE] = self._workspace.address if self._workspace else 0

    def __getitem__(self, place: int) -> int:
        word: int = self.words[place // 8]
        return word

    def __setitem__(self, place: int, word: int) -> None:
        self.words[place // 8] = word

    @property
    def nbytes(self) -> int:
        """Memory of the device that the heap has."""
        return self[device.BYTES]

    @property
    def error(self) -> int:
        """The last nonzero status of the driver."""
        return self[runtime.ERROR]
