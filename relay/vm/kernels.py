"""The kernels of a program, called one at a time with tensors and sizes."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from struct import Struct

import numpy as np

from relay.executors.memory import address_of, allocate
from relay.executors.native import kernel_failure
from relay.lower.kernel import Kernel
from relay.native.runtime import Context, Request, runtime
from relay.program.native import workspace_name
from relay.program.program import Program

# i64 (context, args): the workspace in bytes that a kernel needs for the given sizes
_SizeOfWorkspace = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)


class Entry:
    """A kernel with everything that can be computed before it is called."""

    def __init__(self, kernel: Kernel, symbol: Callable[[str], int], indices: int) -> None:
        self.kernel = kernel
        count = len(kernel.inputs) + len(kernel.outputs) + len(kernel.sizes)
        fixed = kernel.workspace or kernel.worker_workspace
        self.has_workspace = bool(fixed or kernel.sized_workspace)
        self.write = Struct(f"{count}q").pack_into
        self.workspace_slot = count
        self._table = np.array([symbol(kernel.name), indices, count + self.has_workspace], np.int64)
        self.table = address_of(self._table)
        self.size_of_workspace = (
            _SizeOfWorkspace(symbol(workspace_name(kernel.name)))
            if kernel.sized_workspace
            else None
        )


class Kernels:
    """The kernels of a program. `symbol` gives the address of one, whose code must stay loaded as
    long as this lives."""

    def __init__(self, program: Program, symbol: Callable[[str], int], threads: int) -> None:
        counts = [len(k.inputs) + len(k.outputs) + len(k.sizes) for k in program.kernels]
        self.slots = max(counts, default=0) + 1
        self._indices = np.arange(self.slots, dtype=np.int32)
        begin = address_of(self._indices)
        self.entries = {k.name: Entry(k, symbol, begin) for k in program.kernels}
        self.threads = threads
        self._free: list[KernelFrame] = []

    def take(self) -> KernelFrame:
        """A frame for the kernel calls of one run; to be given back."""
        try:
            return self._free.pop()
        except IndexError:
            return KernelFrame(self)

    def give_back(self, frame: KernelFrame) -> None:
        self._free.append(frame)


class KernelFrame:
    """Memory for the arguments of one kernel at a time."""

    def __init__(self, kernels: Kernels) -> None:
        self.kernels = kernels
        self.context = Context(kernels.threads)
        self.slots = (ctypes.c_int64 * kernels.slots)()
        self.requests: dict[str, Request] = {}
        self.workspace = allocate(0)

    def invoke(self, name: str, words: Sequence[int], where: str = "") -> None:
        """Call a kernel: addresses of inputs and outputs, and sizes. `where` is in the source."""
        entry = self.kernels.entries[name]
        request = self.requests.get(name)
        if request is None:
            frame = ctypes.addressof(self.slots)
            request = self.requests[name] = Request(self.context, entry.table, 1, frame)
        entry.write(self.slots, 0, *words)
        if entry.has_workspace:
            self.slots[entry.workspace_slot] = self._workspace(entry)
        if status := runtime().call(request.address):
            raise self.context.raised(status) or kernel_failure(
                status, self.context, entry.kernel, where
            )

    def _workspace(self, entry: Entry) -> int:
        """The address of a workspace large enough for the kernel."""
        kernel = entry.kernel
        size = kernel.workspace + kernel.worker_workspace * self.context.threads
        if entry.size_of_workspace is not None:
            size = entry.size_of_workspace(self.context.address, ctypes.addressof(self.slots))
        if self.workspace.nbytes < size:
            self.workspace = allocate(size)
        return address_of(self.workspace)
