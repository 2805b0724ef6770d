"""Runs programs of the accelerator: what they compute, and how many cycles that takes.

Values are exact. Time is approximate: each unit executes one instruction after another,

- COMPUTE needs a cycle for each micro-operation in each iteration, and `pipeline` cycles to end;
- a transfer needs the memory, which serves one at a time, for its bytes, and the latency before it;
- instructions are read from memory in order and wait in queues, one for each unit, which may fill;
- a token is there when the instruction that gives it ends; a unit that gives one to a full queue
  waits.

A program that cannot go on is an error, and so is one that ends with tokens left over, or that
relies on the time that something takes (`relay.target.accel.memory`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from relay.errors import EvaluationError
from relay.immutable import frozen
from relay.target.accel.config import Config
from relay.target.accel.execute import alu, gemm
from relay.target.accel.isa import (
    SIZE,
    Alu,
    Finish,
    Gemm,
    Instruction,
    Memory,
    Noop,
    Transfer,
    Unit,
)
from relay.target.accel.memory import Clock, Machine, entry_bytes


@frozen
class Event:
    """What one instruction did: its place in the program, and when it began and ended."""

    index: int
    unit: Unit
    start: float
    end: float
    moved: int = 0  # bytes


@frozen
class Run:
    """The events of a program, in the order of their begin, and the cycles it took."""

    events: tuple[Event, ...]
    cycles: float


class _Waiting:
    """One unit: its queue of instructions and what it knows."""

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self.queue: deque[tuple[int, Instruction, float]] = deque()
        self.free = 0.0  # when its last instruction ended
        self.count = 0
        self.clock: list[int] = [0, 0, 0]


class _Tokens:
    """The tokens from one unit to the next, and the places that were freed again."""

    def __init__(self, room: int) -> None:
        self.given: deque[tuple[float, Clock]] = deque()
        self.places: deque[float] = deque([0.0] * room)


def simulate(machine: Machine, program: Sequence[Instruction]) -> Run:
    """Run a program on the contents of a machine."""
    return _Simulation(machine.config, program, machine).run()


def timed(config: Config, program: Sequence[Instruction]) -> Run:
    """The cycles of a program that is known to be right: nothing is computed."""
    return _Simulation(config, program, None).run()


class _Simulation:
    def __init__(
        self, config: Config, program: Sequence[Instruction], machine: Machine | None
    ) -> None:
        self.config = config
        self.machine = machine
        self.sizes = entry_bytes(config)
        self.program = program
        self.units = [_Waiting(unit) for unit in Unit]
        # tokens[a, b]: from unit a to unit b, which are neighbours
        self.tokens = {
            (a, b): _Tokens(self.config.tokens) for a, b in ((0, 1), (1, 0), (1, 2), (2, 1))
        }
        self.next = 0  # the instruction to be read
        self.fetched = 0.0  # when the one before it was read
        self.memory_free = 0.0
        self.freed = [deque[float]() for _ in Unit]  # when places in full queues became free
        self.events: list[Event] = []
        self.finished = False

    def run(self) -> Run:
        if not self.program or not isinstance(self.program[-1], Finish):
            raise EvaluationError.of("a program of the accelerator ends with FINISH")
        while True:
            self._fetch()
            best: tuple[float, _Waiting] | None = None
            for unit in self.units:
                start = self._start(unit)
                if start is not None and (best is None or start < best[0]):
                    best = start, unit
            if best is None:
                break
            self._execute(*best)
        if self.next < len(self.program) or any(unit.queue for unit in self.units):
            raise self._deadlock()
        left = {key: len(queue.given) for key, queue in self.tokens.items() if queue.given}
        if left:
            texts = [f"{n} from {Unit(a).name} to {Unit(b).name}" for (a, b), n in left.items()]
            raise EvaluationError.of(
                "a program of the accelerator ends with tokens left over", found=", ".join(texts)
            )
        return Run(tuple(self.events), max((event.end for event in self.events), default=0.0))

    def _fetch(self) -> None:
        """Read instructions as long as the queue of the next one has room."""
        cost = SIZE / self.config.dram_bytes
        while self.next < len(self.program):
            one = self.program[self.next]
            if isinstance(one, Finish) and self.next + 1 < len(self.program):
                raise EvaluationError.of(
                    "FINISH is the last instruction", found=f"instruction {self.next}"
                )
            unit = self.units[one.unit]
            start = self.fetched
            if len(unit.queue) >= self.config.queue:
                return
            if unit.count + len(unit.queue) >= self.config.queue:
                # it has the place of one that has begun
                start = max(start, self.freed[one.unit].popleft())
            self.fetched = start + cost
            latency = self.config.dram_latency if self.next == 0 else 0
            self.fetched += latency
            unit.queue.append((self.next, one, self.fetched))
            self.next += 1

    def _start(self, unit: _Waiting) -> float | None:
        """When the next instruction of a unit can begin; None if it waits for another one."""
        if not unit.queue:
            return None
        _, one, ready = unit.queue[0]
        start = max(unit.free, ready)
        for other in self._taken(unit, one):
            tokens = self.tokens[other, unit.unit]
            if not tokens.given:
                return None
            start = max(start, tokens.given[0][0])
        for other in self._given(unit, one):
            # a place for the token is needed before it can end; it is taken when it begins
            places = self.tokens[unit.unit, other].places
            if not places:
                return None
            start = max(start, places[0])
        return start

    def _taken(self, unit: _Waiting, one: Instruction) -> list[int]:
        """The units that an instruction takes tokens from."""
        sync = one.sync
        return self._neighbours(unit.unit, one, sync.pop_prev, sync.pop_next)

    def _given(self, unit: _Waiting, one: Instruction) -> list[int]:
        """The units that an instruction gives tokens to."""
        sync = one.sync
        return self._neighbours(unit.unit, one, sync.push_prev, sync.push_next)

    def _neighbours(self, unit: Unit, one: Instruction, before: bool, after: bool) -> list[int]:
        if not before and not after:
            return []
        if (before and unit is Unit.LOAD) or (after and unit is Unit.STORE):
            side = "before LOAD" if before and unit is Unit.LOAD else "after STORE"
            raise EvaluationError.of(f"there is no unit {side}", found=str(one))
        return ([unit - 1] if before else []) + ([unit + 1] if after else [])

    def _execute(self, start: float, unit: _Waiting) -> None:
        index, one, _ = unit.queue.popleft()
        self.freed[unit.unit].append(start)
        unit.count += 1
        for other in self._taken(unit, one):
            tokens = self.tokens[other, unit.unit]
            _, clock = tokens.given.popleft()
            tokens.places.append(start)
            unit.clock = [max(pair) for pair in zip(unit.clock, clock, strict=True)]
        clock = (unit.clock[0], unit.clock[1], unit.clock[2])
        try:
            end, moved = self._effect(one, start, unit.count, clock)
        except EvaluationError as error:
            raise EvaluationError.of(
                f"instruction {index} of the accelerator: {error}", found=str(one)
            ) from error
        unit.free = end
        unit.clock[unit.unit] = unit.count
        for other in self._given(unit, one):
            tokens = self.tokens[unit.unit, other]
            tokens.places.popleft()
            tokens.given.append((end, (unit.clock[0], unit.clock[1], unit.clock[2])))
        self.events.append(Event(index, unit.unit, start, end, moved))

    def _effect(
        self, one: Instruction, start: float, number: int, clock: Clock
    ) -> tuple[float, int]:
        """Execute an instruction: when it ends, and the bytes it moves."""
        machine = self.machine
        match one:
            case Transfer():
                moved = one.rows * one.columns * self.sizes[one.memory]
                if machine is not None:
                    machine.transfer(one, number, clock)
                padded = self._padding(one)
                if not moved:
                    return start + padded, 0
                begin = max(start, self.memory_free)
                taken = moved / self.config.dram_bytes
                self.memory_free = begin + taken
                return max(begin + self.config.dram_latency + taken, start + padded), moved
            case Gemm():
                if machine is not None:
                    gemm(machine, one, number, clock)
                return start + one.cycles + self.config.pipeline, 0
            case Alu():
                if machine is not None:
                    alu(machine, one, number, clock)
                return start + one.cycles + self.config.pipeline, 0
            case Noop() | Finish():
                return start + 1, 0

    def _padding(self, one: Transfer) -> int:
        """A buffer takes an entry in a cycle, zeros too."""
        top, bottom, left, right = one.pads
        if one.memory is Memory.UOP:
            return 1
        return (top + one.rows + bottom) * (left + one.columns + right)

    def _deadlock(self) -> EvaluationError:
        lines = []
        for unit in self.units:
            if unit.queue:
                index, one, _ = unit.queue[0]
                waits = [
                    f"a token of {Unit(other).name}"
                    for other in self._taken(unit, one)
                    if not self.tokens[other, unit.unit].given
                ] + [
                    f"room for a token to {Unit(other).name}"
                    for other in self._given(unit, one)
                    if not self.tokens[unit.unit, other].places
                ]
                lines.append(f"{unit.unit.name} waits at instruction {index} for {waits[0]}")
        if self.next < len(self.program):
            name = self.program[self.next].unit.name
            lines.append(f"instruction {self.next} waits for room in the queue of {name}")
        return EvaluationError.of(
            "a program of the accelerator cannot go on",
            found="; ".join(lines),
            hint="every token that is taken must be given, by an instruction that can begin before",
        )
