"""Run native kernels in memory that detects out-of-bounds accesses.

    batch = Batch([lower(function, constant, target), …], target)      one LLVM module for all
    outcome = batch.run(0, [x, weight], threads=2)
    outcome.results

Inputs touch an inaccessible page, before or after them, so reading one byte too far ends the
process; they are aligned to their elements only. Results, temporaries and workspaces lie between
guard bytes that are checked after the run, and are filled with non-zero bytes, so that reading
uninitialized memory changes the results.
"""

from __future__ import annotations

import ctypes
import mmap
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from relay import dtypes
from relay.errors import TargetError
from relay.immutable import frozen
from relay.lower.kernel import Kernel, Lowered, Operand, Param, Result, Step, Temporary, TensorSpec
from relay.native.runtime import Context
from relay.target.llvm import abi
from relay.target.llvm.compile import DEFAULT_LEVEL, Level, compile_module
from relay.target.llvm.jit import load
from relay.target.target import Target
from tests.support.emulation import emulated, runnable

Fence = Literal["after", "before"]  # where the inaccessible page lies
_GUARD = 256  # bytes: four of the widest vectors
_GUARD_VALUE = 0x5C
_ALIGNMENT = 64
_NO_ACCESS = 0


@frozen
class Memory:
    """How the memory of a run is laid out."""

    fence: Fence = "after"
    aligned: bool = True  # results are aligned for vectors, or start one element later
    in_place: bool = False  # a result overwrites an input, if the kernel allows it
    fill: int = 0xFF  # the byte that uninitialized memory holds


@frozen
class Outcome:
    """The status and results of a run."""

    status: int
    results: tuple[np.ndarray, ...]
    problem: str = ""  # for status 1: which index was out of range


class Batch:
    """The kernels of several primitive functions, compiled together and loaded.

    A target that the host cannot run is emulated (`tests.support.emulation`).
    """

    def __init__(
        self, functions: Sequence[Lowered], target: Target, *, opt: Level = DEFAULT_LEVEL
    ) -> None:
        self.functions = tuple(functions)
        machine = runnable(target)
        code = [emulated(text, machine) for text in texts(functions).values()]
        self.object = compile_module(code, machine, opt=opt)
        self._library = load(self.object, symbols(functions))

    def run(
        self,
        function: int,
        inputs: Sequence[np.ndarray],
        *,
        threads: int = 1,
        memory: Memory | None = None,
        sizes: Mapping[str, int] | None = None,
        shapes: Sequence[tuple[int, ...]] = (),
    ) -> Outcome:
        """Run the steps of one function; AssertionError on an out-of-bounds write.

        `sizes` gives the dynamic sizes, `shapes` the shapes of the results.
        """
        run = _Run(inputs, memory or Memory(), sizes or {}, shapes)
        context = Context(threads)
        for step in self.functions[function].steps:
            status = self._call(step, run, context)
            if status:
                return Outcome(status, (), _problem(step.kernel, context))
        return Outcome(0, run.results())

    def _call(self, step: Step, run: _Run, context: Context) -> int:
        kernel = step.kernel
        slots = run.slots(step)
        slots += [run.sizes[name] for name in kernel.sizes]
        bytes_wanted = kernel.workspace + kernel.worker_workspace * context.threads
        if kernel.sized_workspace:
            dynamic = (ctypes.c_uint64 * len(slots))(*slots)
            measure = _MEASURE(self._library.address(f"{kernel.name}_workspace"))
            bytes_wanted = int(measure(context.address, ctypes.addressof(dynamic)))
        workspace = _Guarded(bytes_wanted, "the workspace", run.how.fill)
        slots.append(workspace.address)
        arguments = (ctypes.c_uint64 * len(slots))(*slots)
        function = _FUNCTION(self._library.address(kernel.name))
        status = int(function(context.address, ctypes.addressof(arguments)))
        for memory in (workspace, *run.memory()):
            memory.check(kernel.name)
        return status


_FUNCTION = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)
_MEASURE = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)


def texts(functions: Sequence[Lowered]) -> dict[str, str]:
    """The LLVM IR of every kernel, by name."""
    return {step.kernel.name: step.kernel.ir for one in functions for step in one.steps}


def symbols(functions: Sequence[Lowered]) -> list[str]:
    """The names of all native functions of the kernels."""
    kernels = {step.kernel.name: step.kernel for one in functions for step in one.steps}
    sized = [f"{name}_workspace" for name, kernel in kernels.items() if kernel.sized_workspace]
    return [*kernels, *sized]


def refused(functions: Sequence[Lowered], target: Target) -> dict[str, TargetError]:
    """The kernels that cannot be compiled, with their errors."""
    found: dict[str, TargetError] = {}
    for name, text in texts(functions).items():
        try:
            compile_module([text], target)
        except TargetError as error:
            found[name] = error
    return found


def _problem(kernel: Kernel, context: Context) -> str:
    if context.error != abi.OUT_OF_RANGE:
        return ""
    check, index, extent = context.details
    return f"{kernel.checks[check]}: index {index} of {extent}"


class _Run:
    """The memory of one run."""

    def __init__(
        self,
        inputs: Sequence[np.ndarray],
        how: Memory,
        sizes: Mapping[str, int],
        shapes: Sequence[tuple[int, ...]],
    ) -> None:
        self.how = how
        self.sizes = sizes
        self.shapes = shapes
        self.inputs = [_Fenced(array, f"input {i}", how.fence) for i, array in enumerate(inputs)]
        self.temporaries: dict[int, _Guarded] = {}
        self.outputs: dict[int, _Guarded] = {}

    def slots(self, step: Step) -> list[int]:
        """The addresses of a step's arguments; allocates its outputs."""
        kernel = step.kernel
        given = [self.find(place).address for place in step.inputs]
        made = []
        for place, spec in zip(step.outputs, kernel.outputs, strict=True):
            made.append(self.make(place, spec).address)
        if self.how.in_place and kernel.in_place:
            output, source = kernel.in_place[0]
            held = self.find(step.outputs[output])
            assert isinstance(held, _Guarded)
            held.put(self.find(step.inputs[source]))
            given[source] = held.address
        return given + made

    def find(self, place: Operand) -> _Fenced | _Guarded:
        match place:
            case Param():
                return self.inputs[place.index]
            case Temporary():
                return self.temporaries[place.index]
            case Result():
                return self.outputs[place.index]

    def make(self, place: Operand, spec: TensorSpec) -> _Guarded:
        if isinstance(place, Result) and self.shapes:
            shape = self.shapes[place.index]
        else:
            shape = tuple(n if isinstance(n, int) else self.sizes[n] for n in spec.shape)
        stored = dtypes.to_numpy(spec.dtype)
        size = int(np.prod(shape, dtype=int)) * stored.itemsize
        kept = self.outputs if isinstance(place, Result) else self.temporaries
        name = f"{type(place).__name__.lower()} {place.index}"
        shift = stored.itemsize if isinstance(place, Result) and not self.how.aligned else 0
        kept[place.index] = _Guarded(size, name, self.how.fill, shift, shape, stored)
        return kept[place.index]

    def memory(self) -> list[_Fenced | _Guarded]:
        return [*self.inputs, *self.temporaries.values(), *self.outputs.values()]

    def results(self) -> tuple[np.ndarray, ...]:
        return tuple(self.outputs[i].array() for i in range(len(self.outputs)))


class _Guarded:
    """Memory between guard bytes."""

    def __init__(
        self,
        size: int,
        name: str,
        fill: int,
        shift: int = 0,
        shape: tuple[int, ...] = (),
        stored: np.dtype[Any] | None = None,
    ) -> None:
        self.name, self.size, self.shape, self.stored = name, size, shape, stored
        self.bytes = np.full(2 * _ALIGNMENT + 2 * _GUARD + size, _GUARD_VALUE, np.uint8)
        self.start = _GUARD + -self.bytes.ctypes.data % _ALIGNMENT + shift
        self.address = self.bytes.ctypes.data + self.start
        self.bytes[self.start : self.start + size] = fill

    def array(self) -> np.ndarray:
        held = self.bytes[self.start : self.start + self.size]
        assert self.stored is not None
        return held.view(self.stored).reshape(self.shape)

    def put(self, other: _Fenced | _Guarded) -> None:
        """Copy the bytes of `other`."""
        held = other.copy if isinstance(other, _Fenced) else other.array().view(np.uint8).ravel()
        self.bytes[self.start : self.start + self.size] = held

    def check(self, kernel: str) -> None:
        end = self.start + self.size
        for where, guard in (("before", self.bytes[: self.start]), ("after", self.bytes[end:])):
            if (guard != _GUARD_VALUE).any():
                raise AssertionError(f"kernel `{kernel}` wrote {where} {self.name}")


class _Fenced:
    """A copy of an array next to an inaccessible page."""

    def __init__(self, array: np.ndarray, name: str, fence: Fence) -> None:
        self.name = name
        self.original = np.array(array, order="C", copy=True)
        size = self.original.nbytes
        pages = -(-size // mmap.PAGESIZE)
        self.pages = mmap.mmap(-1, (pages + 1) * mmap.PAGESIZE)
        begin = ctypes.addressof(ctypes.c_char.from_buffer(self.pages))
        if fence == "after":
            offset, protected = pages * mmap.PAGESIZE - size, begin + pages * mmap.PAGESIZE
        else:
            offset, protected = mmap.PAGESIZE, begin
        self.address = begin + offset
        self.copy = np.frombuffer(self.pages, np.uint8, size, offset)
        self.copy[:] = np.frombuffer(self.original.tobytes(), np.uint8)
        _protect_page(protected)

    def check(self, kernel: str) -> None:
        if self.copy.tobytes() != self.original.tobytes():
            raise AssertionError(f"kernel `{kernel}` wrote to {self.name}")


def _protect_page(address: int) -> None:
    if not sys.platform.startswith("win"):
        if ctypes.CDLL(None).mprotect(ctypes.c_void_p(address), mmap.PAGESIZE, _NO_ACCESS):
            raise OSError("mprotect failed")
