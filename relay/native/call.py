"""The runtime of whole programs in this process, and the contexts of calls.

    context = ProgramContext(threads=2, stack=1 << 28)
    status = program_runtime().perform(request)       see `exchange.py`; releases the GIL

The runtime is one library, loaded once, which programs are linked against. A context has the heap,
the stack and the frames of one call at a time, and is reused, because its memory stays warm.
"""

from __future__ import annotations

import ctypes
import struct
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from threading import get_ident
from typing import Any, Final

import numpy as np

from relay.immutable import frozen
from relay.native import device, exchange, finalizer, heap, layout, objects, python_values, stack
from relay.native.notation import system_functions
from relay.native.runtime import portable, runtime, thread_count
from relay.native.watch import Signals
from relay.target.llvm import abi
from relay.target.llvm.jit import Library, load
from relay.target.llvm.target import LLVMTarget

_EXPORTS: Final = (
    *objects.PROGRAM_IMPORTS,
    "relay_new_tensor",
    "relay_new_object",
    "relay_retain",
    "relay_release",
    "relay_enter",
    "relay_reset",
    "relay_free_block",
    *exchange.FUNCTIONS,
    *python_values.FUNCTIONS,
)
_OPT: Final = 3  # with inlining


def program_runtime_text(target: LLVMTarget) -> str:
    """The LLVM IR of the runtime."""
    parts = heap.text(), objects.text(), device.text(), stack.text(target)
    return "".join([*parts, exchange.text(), python_values.text()])


def program_runtime_imports(target: LLVMTarget) -> frozenset[str]:
    """The system functions that it calls."""
    return system_functions(program_runtime_text(target))


def program_runtime_object(target: LLVMTarget) -> bytes:
    """The object file of the runtime for `target`."""
    from relay.target.llvm.compile import compile_module

    text = program_runtime_text(target)
    return compile_module([text], target, opt=_OPT, imports=program_runtime_imports(target))


@frozen
class ProgramRuntime:
    """The functions of the runtime, callable from Python; pointers are integers."""

    library: Library

    @property
    def symbols(self) -> Mapping[str, int]:
        """The addresses that programs are linked against."""
        return {name: self.library.address(name) for name in objects.PROGRAM_IMPORTS}

    @cached_property
    def perform(self) -> Callable[[int], int]:
        """i32 (request)"""
        return self.function("relay_perform", ctypes.c_int32, 1)

    @cached_property
    def close(self) -> Callable[[int], None]:
        """Void (context)"""
        return self.function("relay_close", None, 1)

    @cached_property
    def free_block(self) -> Callable[[int], None]:
        """Void (block)"""
        return self.function("relay_free_block", None, 1)

    @cached_property
    def read(self) -> Callable[[int, object], int]:
        """i32 (reading, tuple of arguments), which keeps the GIL"""
        kind = ctypes.PYFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.py_object)
        return kind(self.library.address("relay_read"))

    @cached_property
    def read_and_perform(self) -> Callable[[int, object], int]:
        """i32 (reading, tuple of arguments), which keeps the GIL while it reads"""
        kind = ctypes.PYFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.py_object)
        return kind(self.library.address("relay_read_and_perform"))

    @cached_property
    def end_reading(self) -> Callable[[int], None]:
        """Void (reading), which keeps the GIL"""
        return ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(self.library.address("relay_end_reading"))

    @cached_property
    def close_reading(self) -> Callable[[int], None]:
        """Void (reading)"""
        return self.function("relay_close_reading", None, 1)

    def function(self, name: str, result: type | None, pointers: int) -> Callable[..., Any]:
        """A function of the runtime with `pointers` arguments of 64 bits."""
        kind = ctypes.CFUNCTYPE(result, *[ctypes.c_void_p] * pointers)
        return kind(self.library.address(name))


class _Process:
    """The one runtime of this process."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.runtime: ProgramRuntime | None = None

    def get(self, code: bytes | None) -> ProgramRuntime:
        with self.lock:
            if self.runtime is None:
                host = portable(LLVMTarget.here())
                library = load(code or program_runtime_object(host), _EXPORTS)
                library.keep_forever()  # blocks are given back to it at any time
                self.runtime = ProgramRuntime(library)
            return self.runtime


_process = _Process()


def program_runtime(code: bytes | None = None) -> ProgramRuntime:
    """The runtime of programs. The first call loads it from `code`, or compiles it."""
    return _process.runtime or _process.get(code)


_TWO_BUFFERS: Final = struct.Struct("6q").unpack_from


class _Memory:
    """Memory as an argument of `np.asarray`."""

    __slots__ = ("__array_interface__",)

    def __init__(self, address: int, size: int) -> None:
        data = (address, False)
        self.__array_interface__ = {"shape": (size,), "typestr": "|u1", "data": data, "version": 3}


def _view(address: int, size: int) -> np.ndarray:
    """The memory at an address, in whole words, without a copy."""
    return np.asarray(_Memory(address, size & -8)) if address else np.empty(0, np.uint8)


class ConstantObjects:
    """Constants as tensor objects, which are valid as long as this. Their elements are at
    `addresses`, by default those of the arrays."""

    __slots__ = ("_arrays", "_memory", "address")

    def __init__(
        self, arrays: Sequence[np.ndarray], addresses: Sequence[int] | None = None
    ) -> None:
        if addresses is None:
            addresses = [int(array.__array_interface__["data"][0]) for array in arrays]
        self._arrays = list(arrays)  # dense, row-major, and aligned as kernels expect
        sizes = [-(-(layout.TENSOR_DIMS + 8 * array.ndim) // 64) * 8 for array in arrays]
        head = -(-len(sizes) // 8) * 8
        self._memory = (ctypes.c_int64 * (head + sum(sizes) + 8))()
        unaligned = ctypes.addressof(self._memory)
        self.address = (unaligned + 63) & -64
        shift = (self.address - unaligned) // 8
        at = head
        for number, (array, size) in enumerate(zip(arrays, sizes, strict=True)):
            self._memory[shift + number] = self.address + 8 * at
            fields = [
                layout.IMMORTAL,
                array.ndim << 32 | layout.TENSOR,
                addresses[number],
                layout.EXTERNAL,
                array.nbytes,
                *array.shape,
            ]
            self._memory[shift + at : shift + at + len(fields)] = fields
            at += size


class ProgramContext:
    """Memory for one call at a time. `stack` and `memory` are limits of the stack and the heap in
    bytes; 0 for the defaults."""

    __del__ = finalizer.calls("_release")

    def __init__(self, threads: int | None = None, *, stack: int = 0, memory: int = 0) -> None:
        self._words = (ctypes.c_int64 * (layout.PROGRAM_CONTEXT_SIZE // 8 + 8))()
        unaligned = ctypes.addressof(self._words)
        self.address = (unaligned + 63) & -64
        self._first = (self.address - unaligned) // 8
        self._runtime = program_runtime()
        runtime().prepare(self.address, thread_count(threads))
        self._release = partial(self._runtime.close, self.address)
        self[layout.STACK_SIZE] = stack
        self[layout.LIMIT] = memory
        self._signals = Signals()
        self._main = threading.main_thread().ident
        self._watches = False
        self._constants: ConstantObjects | None = None
        self.device: object = None  # the record of a device (`use_device`)
        self._export_at = 8 * self._first + layout.EXPORTED
        self._exported_to = (0, 0, 0, 0)  # address and capacity of two buffers at the last export
        self._export_words = _view(0, 0).view(np.int64)
        self._export_elements = _view(0, 0)

    def __getitem__(self, field: int) -> int:
        """A field of the context, by its offset."""
        value: int = self._words[self._first + field // 8]
        return value

    def __setitem__(self, field: int, value: int) -> None:
        self._words[self._first + field // 8] = value

    # --- calls

    @property
    def constants(self) -> ConstantObjects | None:
        """The constants of the program."""
        return self._constants

    @constants.setter
    def constants(self, constants: ConstantObjects | None) -> None:
        if constants is not self._constants:
            self._constants = constants  # kept alive by the context that reads them
            self[layout.CONSTANTS] = 0 if constants is None else constants.address

    def use_device(self, record: object, address: int) -> None:
        """Have tensors in memory of a device, whose record (`device.py`) is at an address; before
        the first call."""
        self.device = record  # kept alive by the context
        self[layout.DEVICE] = address

    def perform(self, request: int) -> int:
        """Run the request at an address: 0, or a status. Signals are handled meanwhile."""
        self.watch()
        status = self._runtime.perform(request)
        if (raised := self.raised(status)) is not None:
            raise raised
        return status

    def watch(self) -> None:
        """Enable signal handling for the next request, in the main thread."""
        # other threads need not wait for the interpreter
        main = get_ident() == self._main
        if main is not self._watches:
            self._watches = main
            self[layout.CALLBACK] = self._signals.function if main else 0

    def raised(self, status: int) -> BaseException | None:
        """The exception of a signal handler, if it ended a request with that status."""
        return self._signals.raised(status)

    # --- state

    @property
    def live(self) -> int:
        """The number of live objects: 0 between calls."""
        return self[layout.MADE] - self[layout.FREED]

    @property
    def leaked(self) -> int:
        """The number of objects that the last call leaked, if it succeeded."""
        return self[layout.LEAKED]

    @property
    def heap_bytes(self) -> int:
        """Bytes that the heap has from the system."""
        return self[layout.HEAP_BYTES]

    @property
    def site(self) -> int:
        """Where the last call failed: an index into the program's sites."""
        return self[layout.SITE]

    @property
    def error(self) -> int:
        """0, or the code a parallel loop failed with."""
        return self[abi.ERROR]

    @property
    def details(self) -> tuple[int, int, int]:
        """Details of a failure."""
        first, second, third = (self[offset] for offset in abi.DETAILS)
        return first, second, third

    def export(self) -> tuple[np.ndarray, int, np.ndarray]:
        """The words of the last export, their number, and the elements of small tensors: views that
        are valid until the next call."""
        words, capacity, used, elements, more, _ = _TWO_BUFFERS(self._words, self._export_at)
        if self._exported_to != (words, capacity, elements, more):
            self._exported_to = (words, capacity, elements, more)
            self._export_words = _view(words, capacity).view(np.int64)
            self._export_elements = _view(elements, more)
        return self._export_words, used >> 3, self._export_elements

    def close(self) -> None:
        """Return all memory to the system. The context can be used again."""
        self._runtime.close(self.address)
