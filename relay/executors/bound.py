"""Straight-line functions bound to memory.

A call frame is the memory of one call at a time: its slots, its arena and the state of the target
(`relay.target.loaded`). Concurrent calls use different frames.

    slots     inputs | outputs | constants | arena ranges        addresses, 8 bytes each
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from struct import Struct

import numpy as np

from relay.immutable import frozen
from relay.program.plan import Arena, InConstant, Input, Location, Output, plan
from relay.program.program import Function, InvokeKernel, Program, flatten
from relay.target.kernel import Kernel, TensorSpec
from relay.target.loaded import CallFrame as TargetFrame
from relay.target.loaded import CallSequence, KernelCall, Loaded


class Constants:
    """Aligned tensors that kernels read, by name; immutable: new weights are a new object."""

    def __init__(self, arrays: Mapping[str, np.ndarray], loaded: Loaded) -> None:
        self.arrays = dict(arrays)
        self.places = {name: loaded.place(array) for name, array in arrays.items()}
        self.addresses = {name: place.address for name, place in self.places.items()}

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self.arrays.values())


# Called before a run.
SetUp = Callable[[TargetFrame], None]


class CallFrame:
    """The memory of one call at a time."""

    __slots__ = ("arena", "calls", "constants", "run", "slots")

    def __init__(self, function: BoundFunction) -> None:
        self.arena = function.loaded.reserve(function.plan.arena)
        base = self.arena.address
        slots = [base + p.offset if isinstance(p, Arena) else 0 for p in function.slots]
        self.slots = (ctypes.c_int64 * max(1, len(slots)))(*slots)
        self.calls = function.sequence.frame(self.slots)
        self.run = self.calls.run
        self.constants: Constants | None = None


@frozen
class SingleCall:
    """One kernel call of a run, to be made alone."""

    call: KernelCall
    run: Callable[[], None]
    outputs: tuple[int, ...]  # addresses


class BoundFunction:
    """A straight-line function that is ready to run; calls are thread-safe."""

    def __init__(self, program: Program, function: Function, loaded: Loaded, threads: int) -> None:
        self.function = function
        self.loaded = loaded
        self.threads = threads
        self.plan = plan(function, program.kernel_table, threads)
        self.inputs = len(function.inputs)
        self.outputs = len(flatten(function.result))
        self.slots = self._number_slots()
        self.constants = [(p.name, n) for p, n in self.slots.items() if isinstance(p, InConstant)]
        self.calls = self._calls(program.kernel_table)
        self.sequence = self._sequence(self.calls)
        self._write = Struct(f"{self.inputs + self.outputs}q").pack_into
        self._free: list[CallFrame] = []

    @property
    def kernels(self) -> list[Kernel]:
        """The kernels it calls, in order."""
        return [call.kernel for call in self.calls]

    def _number_slots(self) -> dict[Location, int]:
        """Inputs and outputs come first, as every call writes them."""
        places: list[Location] = [
            *map(Input, range(self.inputs)),
            *map(Output, range(self.outputs)),
            *self.plan.places.values(),
            *map(Arena, self.plan.workspaces.values()),
        ]
        slots: dict[Location, int] = {}
        for place in places:
            slots.setdefault(place, len(slots))
        return slots

    def _calls(self, kernels: Mapping[str, Kernel]) -> list[KernelCall]:
        made = []
        for position, call in enumerate(self.function.straight_line):
            if not isinstance(call, InvokeKernel):
                continue
            places = [self.plan.places[register] for register in (*call.inputs, *call.outputs)]
            if position in self.plan.workspaces:
                places.append(Arena(self.plan.workspaces[position]))
            slots = tuple(self.slots[place] for place in places)
            made.append(KernelCall(kernels[call.kernel], slots, call.where))
        return made

    def _sequence(self, calls: Sequence[KernelCall]) -> CallSequence:
        registers = self.function.registers
        inputs, outputs = (
            [spec for register in each if isinstance(spec := registers[register], TensorSpec)]
            for each in (self.function.inputs, flatten(self.function.result))
        )
        return self.loaded.sequence(calls, inputs, outputs)

    # --- calling

    def frame(self, constants: Constants) -> CallFrame:
        """A frame for one call."""
        try:
            frame = self._free.pop()
        except IndexError:
            frame = CallFrame(self)
        if frame.constants is not constants:
            for name, slot in self.constants:
                frame.slots[slot] = constants.addresses[name]
            frame.constants = constants  # kept alive during calls
        return frame

    def __call__(
        self, constants: Constants, addresses: Sequence[int], set_up: SetUp | None = None
    ) -> None:
        """Run; `addresses` are those of the inputs, then of the outputs. `set_up` is called with
        the frame of the target before."""
        frame = self.frame(constants)
        if set_up is not None:
            set_up(frame.calls)
        self._write(frame.slots, 0, *addresses)
        if status := frame.run():
            raise frame.calls.failure(status)
        self._free.append(frame)

    def one_by_one(self, constants: Constants, addresses: Sequence[int]) -> list[SingleCall]:
        """The kernel calls of a run as separate steps, for profiling."""
        frame = self.frame(constants)
        self._write(frame.slots, 0, *addresses)

        def step(call: KernelCall) -> SingleCall:
            alone = self._sequence([call]).frame(frame.slots)

            def run(held: CallFrame = frame) -> None:  # the arena of the slots
                if status := alone.run():
                    raise alone.failure(status)

            inputs = len(call.kernel.inputs)
            outputs = call.slots[inputs : inputs + len(call.kernel.outputs)]
            return SingleCall(call, run, tuple(frame.slots[slot] for slot in outputs))

        return [step(call) for call in self.calls]
