"""A straight-line function of a program, bound to memory: one native call runs it all.

The runtime walks a table of kernels; an entry lists which slots of the frame are the arguments.

    table     {kernel, slots of its arguments, how many}            one entry per invocation
    frame     inputs | outputs | constants | arena stretches        pointers, 8 bytes each

The table is made once. A frame is the memory of one call at a time: its slots, its arena and its
context; a call takes a free one, or makes one, so calls from several threads do not meet.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from struct import Struct
from typing import Protocol

import numpy as np

from relay.errors import Diagnostic, EvaluationError, allowed_indices
from relay.executors.memory import address_of, allocate
from relay.lower.kernel import Kernel
from relay.native.runtime import Context, Request, runtime
from relay.program.plan import Arena, InConstant, Input, Output, Place, plan
from relay.program.program import Function, InvokeKernel, Program, flatten
from relay.target import abi


class Constants:
    """Aligned tensors that kernels read, by name. Never changed: new weights are another object."""

    def __init__(self, arrays: Mapping[str, np.ndarray]) -> None:
        self.arrays = dict(arrays)
        self.addresses = {name: address_of(array) for name, array in arrays.items()}

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self.arrays.values())


class Frame:
    """The memory of one call at a time."""

    __slots__ = ("arena", "constants", "context", "request", "slots")

    def __init__(self, function: NativeFunction) -> None:
        self.arena = allocate(function.plan.arena)
        base = address_of(self.arena)
        slots = [base + p.offset if isinstance(p, Arena) else 0 for p in function.slots]
        self.slots = (ctypes.c_int64 * max(1, len(slots)))(*slots)
        self.context = Context(function.threads)
        frame = ctypes.addressof(self.slots)
        self.request = Request(self.context, function.table, len(function.steps), frame)
        self.constants: Constants | None = None


class NativeFunction:
    """A straight-line function, ready to be called from any thread.

    `symbol` gives the address of a kernel, whose code must stay loaded as long as this lives.
    """

    def __init__(
        self, program: Program, function: Function, symbol: Callable[[str], int], threads: int
    ) -> None:
        self.function = function
        self.threads = threads
        self.plan = plan(function, program.kernel_table, threads)
        self.inputs = len(function.inputs)
        self.outputs = len(flatten(function.result))
        self.slots = self._number_slots()
        self.constants = [(p.name, n) for p, n in self.slots.items() if isinstance(p, InConstant)]
        self.steps: list[Kernel] = []
        self.places: list[str] = []  # of every step: in the source
        self.arguments: list[list[int]] = []  # of every step: the slots they are in
        self.table = self._make_table(program.kernel_table, symbol)
        self._write = Struct(f"{self.inputs + self.outputs}q").pack_into
        self._call = runtime().call
        self._free: list[Frame] = []

    def _number_slots(self) -> dict[Place, int]:
        """Inputs and outputs first, since every call writes those."""
        places: list[Place] = [
            *map(Input, range(self.inputs)),
            *map(Output, range(self.outputs)),
            *self.plan.places.values(),
            *map(Arena, self.plan.workspaces.values()),
        ]
        slots: dict[Place, int] = {}
        for place in places:
            slots.setdefault(place, len(slots))
        return slots

    def _make_table(self, kernels: Mapping[str, Kernel], symbol: Callable[[str], int]) -> int:
        for position, call in enumerate(self.function.straight_line):
            if not isinstance(call, InvokeKernel):
                continue
            places = [self.plan.places[register] for register in (*call.inputs, *call.outputs)]
            if position in self.plan.workspaces:
                places.append(Arena(self.plan.workspaces[position]))
            self.arguments.append([self.slots[place] for place in places])
            self.steps.append(kernels[call.kernel])
            self.places.append(call.where)
        self._indices = np.array([slot for row in self.arguments for slot in row], np.int32)
        self._entries = np.empty((len(self.steps), abi.CALL_SIZE // 8), np.int64)
        begin = address_of(self._indices)
        for entry, kernel, row in zip(self._entries, self.steps, self.arguments, strict=True):
            entry[:] = symbol(kernel.name), begin, len(row)
            begin += self._indices.itemsize * len(row)
        return address_of(self._entries)

    # --- calling

    def frame(self, constants: Constants) -> Frame:
        """A frame for one call."""
        try:
            frame = self._free.pop()
        except IndexError:
            frame = Frame(self)
        if frame.constants is not constants:
            for name, slot in self.constants:
                frame.slots[slot] = constants.addresses[name]
            frame.constants = constants  # kept alive by the calls that read them
        return frame

    def __call__(self, constants: Constants, addresses: Sequence[int]) -> None:
        """Run. `addresses` are those of the inputs, then of the outputs, in order."""
        frame = self.frame(constants)
        self._write(frame.slots, 0, *addresses)
        if status := self._call(frame.request.address):
            raise self._failure(status, frame, frame.context.record)
        self._free.append(frame)

    def _failure(self, status: int, frame: Frame, step: int) -> BaseException:
        return frame.context.raised(status) or kernel_failure(
            status, frame.context, self.steps[step], self.places[step]
        )

    def one_by_one(
        self, constants: Constants, addresses: Sequence[int]
    ) -> list[Callable[[], None]]:
        """The same call as steps to be run in order, to look at each by itself."""
        frame = self.frame(constants)
        self._write(frame.slots, 0, *addresses)

        def step(index: int) -> Callable[[], None]:
            table = self.table + abi.CALL_SIZE * index
            request = Request(frame.context, table, 1, ctypes.addressof(frame.slots))

            def run() -> None:
                if status := self._call(request.address):
                    raise self._failure(status, frame, index)

            return run

        return [step(index) for index in range(len(self.steps))]


class HasDetails(Protocol):
    """A context, of whatever kind."""

    @property
    def details(self) -> tuple[int, int, int]:
        """What explains a failure."""
        ...


def kernel_failure(
    status: int, context: HasDetails, kernel: Kernel, place: str = ""
) -> EvaluationError:
    """What the status of a kernel means; `place` is where it is called in the source."""
    where = f"in {place}" if place else f"in kernel `{kernel.name}`"
    operators = ", ".join(f"`{name}`" for name in kernel.operators)
    told = not operators or (place and len(kernel.operators) == 1)
    hint = None if told else f"the kernel computes {operators}"
    if status == abi.OUT_OF_RANGE:
        check, index, extent = context.details
        what = kernel.checks[check] if 0 <= check < len(kernel.checks) else "an index"
        return EvaluationError(
            Diagnostic(
                f"{what} is out of range {where}",
                expected=allowed_indices(what, extent),
                found=str(index),
                hint=hint,
            )
        )
    meaning = {abi.INTERRUPTED: "interrupted", abi.OUT_OF_MEMORY: "out of memory"}
    said = meaning.get(status, f"status {status}")
    return EvaluationError(Diagnostic(f"{said} {where}", hint=hint))
