"""Where every register of a straight-line function lies.

A register is one of the caller's inputs, one of the outputs, a constant, or a stretch of the arena:
one piece of memory that all intermediate results and workspaces of a call share. Two of them may
overlap when they are never alive together.

    invoke @conv(%0) -> (%1)          %1  arena + 0
    invoke @relu(%1) -> (%2)          %2  arena + 0        in place: nothing reads %1 afterwards
    invoke @pool(%2) -> (%3)          %3  output 0         a result is written where it is wanted

A kernel may write an output over an input when it says so (`Kernel.in_place`), this is the last use
of that input, and the memory is the arena's or an output's: the caller's memory and constants are
never written.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from relay.errors import RelayError
from relay.lower.kernel import Kernel
from relay.program.program import (
    AllocTensor,
    Function,
    InvokeKernel,
    LoadConstant,
    Register,
    Return,
    ViewTensor,
    flatten,
    nbytes,
)

ALIGNMENT = 64  # a cache line, and the widest vector


@dataclass(frozen=True, slots=True)
class Input:
    """The caller's tensor; never written."""

    index: int


@dataclass(frozen=True, slots=True)
class Output:
    """Memory of its own for a result."""

    index: int


@dataclass(frozen=True, slots=True)
class InConstant:
    """A constant; never written."""

    name: str


@dataclass(frozen=True, slots=True)
class Arena:
    """A stretch of the arena, from this byte on."""

    offset: int


Place = Input | Output | InConstant | Arena


@dataclass(frozen=True)
class Plan:
    """The memory of one call of a function."""

    places: Mapping[Register, Place]  # registers that nothing writes have none
    workspaces: Mapping[int, int]  # position of an instruction -> offset of its workspace
    arena: int  # bytes
    in_place: int  # how many outputs were written over an input


def plan(function: Function, kernels: Mapping[str, Kernel], threads: int = 1) -> Plan:
    """Lay out the registers of straight-line code."""
    planner = _Planner(function, kernels, threads)
    planner.walk()
    return planner.finish()


# --- storages: what registers share -------------------------------------------------------------


@dataclass(slots=True, eq=False)
class Storage:
    """Memory that one or several registers lie in; alive from `first` to `last`, both inclusive."""

    size: int
    first: int
    last: int
    place: Place | None = None  # None: to be found in the arena


@dataclass
class _Planner:
    function: Function
    kernels: Mapping[str, Kernel]
    threads: int
    storages: dict[Register, Storage] = field(default_factory=dict)
    workspaces: dict[int, Storage] = field(default_factory=dict)
    in_place: int = 0

    def __post_init__(self) -> None:
        self.last_use = last_uses(self.function)

    def walk(self) -> None:
        """Give every register a storage."""
        for index, register in enumerate(self.function.inputs):
            self.storages[register] = Storage(0, -1, -1, Input(index))
        for position, instruction in enumerate(self.function.straight_line):
            match instruction:
                case LoadConstant(output, name):
                    self.storages[output] = Storage(0, -1, -1, InConstant(name))
                case AllocTensor():
                    pass  # alive from the kernel that writes it
                case ViewTensor(output, source):
                    self.join(output, self.storages[source])
                case InvokeKernel():
                    self.invoke(position, instruction)
                case Return(value):
                    for index, register in enumerate(flatten(value)):
                        self.give_out(register, index)

    def join(self, register: Register, storage: Storage) -> None:
        """Let `register` lie in `storage`."""
        self.storages[register] = storage
        storage.last = max(storage.last, self.last_use.get(register, storage.last))

    def invoke(self, position: int, call: InvokeKernel) -> None:
        kernel = self.kernels[call.kernel]
        written: set[int] = set()
        for output, register in enumerate(call.outputs):
            size = nbytes(self.function.registers[register])
            found = self.reusable(position, call, kernel, output, size)
            if found is None or id(found) in written:
                found = Storage(size, position, position)
            else:
                self.in_place += 1
            written.add(id(found))
            self.join(register, found)
        workspace = kernel.workspace + kernel.worker_workspace * self.threads
        if workspace:
            self.workspaces[position] = Storage(workspace, position, position)

    def reusable(
        self, position: int, call: InvokeKernel, kernel: Kernel, output: int, size: int
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

    def give_out(self, register: Register, index: int) -> None:
        storage = self.storages[register]
        if storage.place is not None:
            raise RelayError(
                f"function `@{self.function.name}` returns %{register}, which is not memory of "
                "its own"
            )
        storage.place = Output(index)

    def finish(self) -> Plan:
        """Find places in the arena."""
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
        return Plan(places, workspaces, size, self.in_place)


def last_uses(function: Function) -> dict[Register, int]:
    """Register -> the position of the last instruction that reads it."""
    last: dict[Register, int] = {}
    for position, instruction in enumerate(function.straight_line):
        read: Iterable[Register] = ()
        match instruction:
            case ViewTensor(_, source):
                read = (source,)
            case InvokeKernel(_, inputs, _):
                read = inputs
            case Return(value):
                read = flatten(value)
        for register in read:
            last[register] = position
    return last


# --- the arena ----------------------------------------------------------------------------------


def assign(storages: Sequence[Storage]) -> tuple[list[int], int]:
    """(offset of each storage, size of the arena): the better of two simple ways.

    On networks, large storages first is mostly as good as can be (ResNet, VGG) and within a tenth
    of it otherwise (DenseNet), while in order of birth is at times half as much again (DCGAN).
    MobileNet is the other way round.
    """
    found = in_order_of_birth(storages)
    other = in_order_of_size(storages)
    return found if other is None or found[1] <= other[1] else other


def in_order_of_birth(storages: Sequence[Storage]) -> tuple[list[int], int]:
    """Best fit: time goes over the instructions, and what died before is free again.

    A storage takes the smallest hole it fits in; where there is none the arena grows, from the hole
    at its end if there is one.
    """
    order = sorted(range(len(storages)), key=lambda i: (storages[i].first, -storages[i].size))
    offsets = [0] * len(storages)
    free = _Holes()
    dying: list[tuple[int, int, int]] = []  # (last, offset, size), soonest first
    for index in order:
        storage = storages[index]
        gone = bisect_left(dying, (storage.first, -1, -1))
        for _, offset, size in dying[:gone]:
            free.give(offset, size)
        del dying[:gone]
        size = _padded(storage)
        offsets[index] = free.take(size)
        insort(dying, (storage.last, offsets[index], size))
    return offsets, free.end


def in_order_of_size(storages: Sequence[Storage]) -> tuple[list[int], int] | None:
    """Large ones first, each into the smallest gap between those it shares its life with.

    None where too many are alive together: the time it takes is that of all such pairs.
    """
    together = _alive_together(storages)
    if together is None:
        return None
    offsets: dict[int, int] = {}
    end = 0
    for index in sorted(range(len(storages)), key=lambda i: (-storages[i].size, i)):
        size = _padded(storages[index])
        taken = sorted((offsets[i], _padded(storages[i])) for i in together[index] if i in offsets)
        best: tuple[int, int] | None = None  # (size of the gap, where it begins)
        begin = 0
        for offset, length in taken:
            if offset - begin >= size and (best is None or offset - begin < best[0]):
                best = (offset - begin, begin)
            begin = max(begin, offset + length)
        offsets[index] = best[1] if best is not None else begin
        end = max(end, offsets[index] + size)
    return [offsets[index] for index in range(len(storages))], end


MOST_PAIRS = 1_000_000


def _alive_together(storages: Sequence[Storage]) -> list[list[int]] | None:
    """For every storage those it shares some of its life with; None where they are too many."""
    together: list[list[int]] = [[] for _ in storages]
    alive: list[int] = []
    pairs = 0
    for index in sorted(range(len(storages)), key=lambda i: storages[i].first):
        alive = [other for other in alive if storages[other].last >= storages[index].first]
        pairs += len(alive)
        if pairs > MOST_PAIRS:
            return None
        for other in alive:
            together[index].append(other)
            together[other].append(index)
        alive.append(index)
    return together


def _padded(storage: Storage) -> int:
    return -(-storage.size // ALIGNMENT) * ALIGNMENT


class _Holes:
    """The free stretches below `end`, known by size and by both of their borders."""

    def __init__(self) -> None:
        self.end = 0
        self.by_size: list[tuple[int, int]] = []  # (size, offset), sorted
        self.starts: dict[int, int] = {}  # offset -> size
        self.stops: dict[int, int] = {}  # offset + size -> offset

    def take(self, size: int) -> int:
        if size == 0:
            return 0
        found = bisect_left(self.by_size, (size, -1))
        if found < len(self.by_size):
            have, offset = self.by_size[found]
            self._remove(offset, have)
            if have > size:
                self._add(offset + size, have - size)
            return offset
        offset = self.stops.get(self.end, self.end)
        if offset < self.end:
            self._remove(offset, self.end - offset)
        self.end = offset + size
        return offset

    def give(self, offset: int, size: int) -> None:
        """Free a stretch, together with the holes it touches."""
        if size == 0:
            return
        if (before := self.stops.get(offset)) is not None:
            self._remove(before, offset - before)
            offset, size = before, size + offset - before
        if (after := self.starts.get(offset + size)) is not None:
            self._remove(offset + size, after)
            size += after
        self._add(offset, size)

    def _add(self, offset: int, size: int) -> None:
        insort(self.by_size, (size, offset))
        self.starts[offset] = size
        self.stops[offset + size] = offset

    def _remove(self, offset: int, size: int) -> None:
        del self.by_size[bisect_left(self.by_size, (size, offset))]
        del self.starts[offset]
        del self.stops[offset + size]
