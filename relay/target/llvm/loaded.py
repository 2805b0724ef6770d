"""Native kernels in this process: called one at a time, or a sequence of them in one native call.

The runtime runs a table of calls:

    table     {kernel, slots of its arguments, their number}            one entry per call
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from functools import partial
from struct import Struct
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np

from relay.errors import EvaluationError, allowed_indices
from relay.native.runtime import Context, Request, runtime
from relay.program.native import workspace_name
from relay.target.kernel import Kernel, TensorSpec
from relay.target.llvm import abi
from relay.target.llvm.jit import Library
from relay.target.loaded import CallFrame, CallSequence, KernelCall, Loaded, Slots
from relay.target.memory import address_of

if TYPE_CHECKING:
    from relay.external.functions import ExternalFunction

NONE: Final[Mapping[str, ExternalFunction]] = MappingProxyType({})

# i64 (context, args): the size of the workspace in bytes
_SizeOfWorkspace = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)


class NativeKernels(Loaded):
    """The kernels of a library. A call uses at most `threads` threads."""

    def __init__(
        self,
        kernels: Sequence[Kernel],
        library: Library,
        threads: int,
        externals: Mapping[str, ExternalFunction] | None = None,
    ) -> None:
        self.externals = dict(externals or {})  # by the names of the kernels that call them
        self.kernels = {kernel.name: kernel for kernel in kernels}
        self.library = library
        self.threads = threads
        counts = [len(k.inputs) + len(k.outputs) + len(k.sizes) for k in kernels]
        self.words = max(counts, default=0) + 1
        self.entries: dict[str, Entry] = {}
        self._indices = np.arange(self.words, dtype=np.int32)
        self._free: list[KernelFrame] = []

    def invoke(self, kernel: str, words: Sequence[int], where: str = "") -> None:
        try:
            frame = self._free.pop()
        except IndexError:
            frame = KernelFrame(self)
        try:
            frame.invoke(self.entry(kernel), words, where)
        finally:
            self._free.append(frame)

    def details(self, kernel: str) -> object | None:
        function = self.externals.get(kernel)
        return None if function is None else function.details()

    def entry(self, name: str) -> Entry:
        """The entry of a kernel."""
        if (found := self.entries.get(name)) is None:
            found = Entry(self.kernels[name], self.library, address_of(self._indices))
            self.entries[name] = found
        return found

    def sequence(
        self,
        calls: Sequence[KernelCall],
        inputs: Sequence[TensorSpec] = (),
        outputs: Sequence[TensorSpec] = (),
    ) -> NativeSequence:
        return NativeSequence(self, calls)


# --- one kernel at a time


class Entry:
    """A kernel with what can be computed before calls."""

    def __init__(self, kernel: Kernel, library: Library, indices: int) -> None:
        self.kernel = kernel
        count = len(kernel.inputs) + len(kernel.outputs) + len(kernel.sizes)
        fixed = kernel.workspace or kernel.worker_workspace
        self.has_workspace = bool(fixed or kernel.sized_workspace)
        self.write = Struct(f"{count}q").pack_into
        self.workspace_slot = count
        begin = library.address(kernel.name)
        self._table = np.array([begin, indices, count + self.has_workspace], np.int64)
        self.table = address_of(self._table)
        self.size_of_workspace = (
            _SizeOfWorkspace(library.address(workspace_name(kernel.name)))
            if kernel.sized_workspace
            else None
        )


class KernelFrame:
    """Memory for the arguments of one kernel at a time."""

    def __init__(self, kernels: NativeKernels) -> None:
        self.allocate = kernels.allocate
        self.externals = kernels.externals
        self.context = Context(kernels.threads)
        self.slots = (ctypes.c_int64 * kernels.words)()
        self.requests: dict[str, Request] = {}
        self.workspace = self.allocate(0)

    def invoke(self, entry: Entry, words: Sequence[int], where: str) -> None:
        name = entry.kernel.name
        request = self.requests.get(name)
        if request is None:
            frame = ctypes.addressof(self.slots)
            request = self.requests[name] = Request(self.context, entry.table, 1, frame)
        entry.write(self.slots, 0, *words)
        if entry.has_workspace:
            self.slots[entry.workspace_slot] = self._workspace(entry)
        if status := runtime().call(request.address):
            raise self.context.raised(status) or kernel_failure(
                status, self.context, entry.kernel, where, self.externals
            )

    def _workspace(self, entry: Entry) -> int:
        """The address of a workspace large enough for the kernel."""
        kernel = entry.kernel
        size = kernel.workspace + kernel.worker_workspace * self.context.threads
        if entry.size_of_workspace is not None:
            size = entry.size_of_workspace(self.context.address, ctypes.addressof(self.slots))
        if self.workspace.nbytes < size:
            self.workspace = self.allocate(size)
        return address_of(self.workspace)


# --- all kernels of straight-line code in one native call


class NativeSequence(CallSequence):
    """Kernel calls as a table for the runtime."""

    def __init__(self, loaded: NativeKernels, calls: Sequence[KernelCall]) -> None:
        super().__init__(loaded, calls)
        self.threads = loaded.threads
        self.externals = loaded.externals
        self._indices = np.array([slot for call in calls for slot in call.slots], np.int32)
        self._entries = np.empty((len(calls), abi.CALL_SIZE // 8), np.int64)
        begin = address_of(self._indices)
        for entry, call in zip(self._entries, calls, strict=True):
            entry[:] = loaded.library.address(call.kernel.name), begin, len(call.slots)
            begin += self._indices.itemsize * len(call.slots)
        self.table = address_of(self._entries)

    def frame(self, slots: Slots) -> NativeFrame:
        return NativeFrame(self, slots)


class NativeFrame(CallFrame):
    """A table of calls with its context and arguments."""

    def __init__(self, sequence: NativeSequence, slots: Slots) -> None:
        super().__init__(sequence, slots)
        self.externals = sequence.externals
        self.context = Context(sequence.threads)
        count, frame = len(sequence.calls), ctypes.addressof(slots)
        self.request = Request(self.context, sequence.table, count, frame)
        # a call of a small model takes a few microseconds: no Python code in between
        self.run = partial(runtime().call, self.request.address)  # type: ignore[method-assign]

    def failure(self, status: int) -> BaseException:
        call = self.sequence.calls[self.context.record]
        return self.context.raised(status) or kernel_failure(
            status, self.context, call.kernel, call.where, self.externals
        )


# --- errors


class HasDetails(Protocol):
    """A context of kernels or of programs."""

    @property
    def details(self) -> tuple[int, int, int]:
        """Details of a failure."""


def kernel_failure(
    status: int,
    context: HasDetails,
    kernel: Kernel,
    place: str = "",
    externals: Mapping[str, ExternalFunction] = NONE,
) -> BaseException:
    """The error for a status of a kernel; `place` is the source location of the call."""
    if status == abi.EXTERNAL and kernel.name in externals:
        return externals[kernel.name].failure(context.details[0], place)
    where = f"in {place}" if place else f"in kernel `{kernel.name}`"
    operators = ", ".join(f"`{name}`" for name in kernel.operators)
    told = not operators or (place and len(kernel.operators) == 1)
    hint = None if told else f"the kernel computes {operators}"
    if status == abi.OUT_OF_RANGE:
        check, index, extent = context.details
        what = kernel.checks[check] if 0 <= check < len(kernel.checks) else "an index"
        return EvaluationError.of(
            f"{what} is out of range {where}",
            expected=allowed_indices(what, extent),
            found=str(index),
            hint=hint,
        )
    meaning = {abi.INTERRUPTED: "interrupted", abi.OUT_OF_MEMORY: "out of memory"}
    said = meaning.get(status, f"status {status}")
    return EvaluationError.of(f"{said} {where}", hint=hint)
