"""Memory plan of a straight-line function.

A register is an input, an output, a constant, or a range of the arena, which all intermediate
results and workspaces of a call share. Ranges may overlap if their live ranges do not.

    invoke @conv(%0) -> (%1)          %1  arena + 0
    invoke @relu(%1) -> (%2)          %2  arena + 0        in place: %1 is dead afterwards
    invoke @pool(%2) -> (%3)          %3  output 0         results are written in place

A kernel may write an output over an input if it allows that (`Kernel.in_place`), this is the last
use of the input, and the memory is not the caller's or a constant.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from relay.arena import ALIGNMENT as ALIGNMENT
from relay.arena import assign
from relay.errors import RelayError
from relay.immutable import frozen
from relay.lower.kernel import Kernel
from relay.program import program as isa
from relay.program.updates import updates


@frozen
class Input:
    """The caller's tensor; never written."""

    index: int


@frozen
class Output:
    """Memory for a result."""

    index: int


@frozen
class InConstant:
    """A constant; never written."""

    name: str


@frozen
class Arena:
    """A range of the arena, from this offset."""

    offset: int


Location = Input | Output | InConstant | Arena


@frozen
class Plan:
    """The memory of one call of a function."""

    places: Mapping[isa.Register, Location]  # without registers that nothing writes
    workspaces: Mapping[int, int]  # position of an instruction -> offset of its workspace
    arena: int  # bytes
    in_place: int  # how many outputs were written over an input
    # the new values of the state, if their outputs may be where the old values are
    updates: frozenset[isa.Register] = frozenset()


def plan(function: isa.Function, kernels: Mapping[str, Kernel], threads: int = 1) -> Plan:
    """The memory plan of straight-line code."""
    planner = _Planner(function, kernels, threads)
    planner.walk()
    return planner.finish()


# --- storages -----------------------------------------------------------------------------------


@dataclass(slots=True, eq=False)
class Storage:
    """Memory of one or several registers; live from `first` to `last`, inclusive."""

    size: int
    first: int
    last: int
    place: Location | None = None  # None: in the arena


@dataclass
class _Planner:
    function: isa.Function
    kernels: Mapping[str, Kernel]
    threads: int
    storages: dict[isa.Register, Storage] = field(default_factory=dict)
    workspaces: dict[int, Storage] = field(default_factory=dict)
    in_place: int = 0

    def __post_init__(self) -> None:
        self.last_use = last_uses(self.function)
        # their memory holds the old values until these are written
        self.updates = updates(self.function, self.kernels)

    def walk(self) -> None:
        """Assign a storage to every register."""
        for index, register in enumerate(self.function.inputs):
            self.storages[register] = Storage(0, -1, -1, Input(index))
        for position, instruction in enumerate(self.function.straight_line):
            match instruction:
                case isa.LoadConstant(output, name):
                    self.storages[output] = Storage(0, -1, -1, InConstant(name))
                case isa.AllocTensor():
                    pass  # live from the kernel that writes it
                case isa.ViewTensor(output, source):
                    self.join(output, self.storages[source])
                case isa.InvokeKernel():
                    self.invoke(position, instruction)
                case isa.Return(value):
                    for index, register in enumerate(isa.flatten(value)):
                        self.give_out(register, index)

    def join(self, register: isa.Register, storage: Storage) -> None:
        """Place `register` in `storage`."""
        self.storages[register] = storage
        storage.last = max(storage.last, self.last_use.get(register, storage.last))

    def invoke(self, position: int, call: isa.InvokeKernel) -> None:
        kernel = self.kernels[call.kernel]
        written: set[int] = set()
        for output, register in enumerate(call.outputs):
            size = isa.nbytes(self.function.registers[register])
            found = self.reusable(position, call, kernel, output, size)
            if found is None or register in self.updates or id(found) in written:
                found = Storage(size, position, position)
            else:
                self.in_place += 1
            written.add(id(found))
            self.join(register, found)
        workspace = kernel.workspace + kernel.worker_workspace * self.threads
        if workspace:
            self.workspaces[position] = Storage(workspace, position, position)

    def reusable(
        self, position: int, call: isa.InvokeKernel, kernel: Kernel, output: int, size: int
    ) -> Storage | None:
        """The storage of an input that this output may overwrite."""
        allowed = {given for wanted, given in kernel.in_place if wanted == output}
        for given in sorted(allowed):
            storage = self.storages[call.inputs[given]]
            readers = {i for i, r in enumerate(call.inputs) if self.storages[r] is storage}
            if (
                storage.place is None
                and storage.last == position
                and storage.size == size
                and readers <= allowed
            ):
                return storage
        return None

    def give_out(self, register: isa.Register, index: int) -> None:
        storage = self.storages[register]
        if storage.place is not None:
            raise RelayError(
                f"function `@{self.function.name}` returns %{register}, which is not memory of "
                "its own"
            )
        storage.place = Output(index)

    def finish(self) -> Plan:
        """Assign offsets in the arena."""
        wanted: dict[int, Storage] = {}
        for storage in (*self.storages.values(), *self.workspaces.values()):
            if storage.place is None:
                wanted[id(storage)] = storage
        found = list(wanted.values())
        offsets, size = assign(found)
        for storage, offset in zip(found, offsets, strict=True):
            storage.place = Arena(offset)
        places = {r: s.place for r, s in self.storages.items() if s.place is not None}
        workspaces = {
            position: storage.place.offset
            for position, storage in self.workspaces.items()
            if isinstance(storage.place, Arena)
        }
        return Plan(places, workspaces, size, self.in_place, self.updates)


def last_uses(function: isa.Function) -> dict[isa.Register, int]:
    """Register -> the position of the last instruction that reads it."""
    last: dict[isa.Register, int] = {}
    for position, instruction in enumerate(function.straight_line):
        read: Iterable[isa.Register] = ()
        match instruction:
            case isa.ViewTensor(_, source):
                read = (source,)
            case isa.InvokeKernel(_, inputs, _):
                read = inputs
            case isa.Return(value):
                read = isa.flatten(value)
        for register in read:
            last[register] = position
    return last
