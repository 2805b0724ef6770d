"""A run of an executable as events in time: calls of functions, and of kernels inside of them.

    events = trace(exe, x)
    chrome(events)             what Perfetto and chrome://tracing open

Straight-line code runs kernel by kernel; any other program in the virtual machine, with the same
kernels, so that calls between functions are seen. Both take longer than the native call.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from relay.executors.executable import Executable
from relay.executors.straight_line import StraightLineExecutable
from relay.immutable import frozen
from relay.program.program import MAIN, Function, Instruction, InvokeKernel
from relay.vm.code import Enter, Leave, Outcome, Registers, Run, Step

MOST_EVENTS: Final = 20_000


@frozen
class Event:
    """Something that ran, in seconds since the beginning."""

    name: str
    start: float
    seconds: float
    depth: int
    kernel: bool  # or a function


def trace(exe: Executable, *args: Any, **named: Any) -> list[Event]:
    """The events of one call, after one that is not recorded; without arguments, of a call with
    random inputs."""
    if not args and not named:
        args, named = exe.example_call()
    if isinstance(exe, StraightLineExecutable):
        return _steps(exe, args, named)
    return _in_machine(exe, args, named)


def _steps(
    exe: StraightLineExecutable, args: Sequence[Any], named: Mapping[str, Any]
) -> list[Event]:
    kernels = [kernel.name for kernel in exe.bound.kernels]
    events = [Event(MAIN, 0.0, 0.0, 0, False)]
    steps = exe.steps(*args, **named)
    for _ in range(2):
        del events[1:]
        begun = time.perf_counter()
        for name, step in zip(kernels, steps, strict=True):
            start = time.perf_counter()
            step()
            seconds = time.perf_counter() - start
            events.append(Event(name, start - begun, seconds, 1, True))
        events[0] = Event(MAIN, 0.0, time.perf_counter() - begun, 0, False)
    return events


def _in_machine(exe: Executable, args: Sequence[Any], named: Mapping[str, Any]) -> list[Event]:
    from relay.vm import executable, virtual_machine

    weights = {name: data.array for name, data in exe.params.items()}
    parts = exe.program, exe.code, weights, exe.threads
    state = exe.threaded.values.arrays if exe.threaded is not None else ()
    specs = exe.program[MAIN].state_specs
    machine = virtual_machine.VirtualMachine(
        executable.Executable(*parts, state=dict(zip(specs, state, strict=True)))
    )
    machine.invoke(MAIN, *args, **named)
    recorder = Recorder()
    machine.watched(recorder.watch, MAIN, *args, **named)
    return recorder.finished()


@dataclass
class Recorder:
    """The events of a run in the virtual machine."""

    events: list[Event] = field(default_factory=list)
    begun: float = 0.0  # when the first step ran: steps are made and arguments read before that
    running: list[tuple[str, float]] = field(default_factory=list)

    def watch(self, function: Function, instruction: Instruction, step: Step) -> Step:
        """The step, recorded if it calls something or returns."""
        if isinstance(instruction, InvokeKernel):
            return partial(self._kernel, instruction.kernel, step)
        return partial(self._step, step)

    def _kernel(self, name: str, step: Step, registers: Registers, run: Run) -> Outcome:
        self._begin()
        start = time.perf_counter()
        outcome = step(registers, run)
        self._add(name, start, len(self.running), True)
        return outcome

    def _step(self, step: Step, registers: Registers, run: Run) -> Outcome:
        self._begin()
        outcome = step(registers, run)
        if isinstance(outcome, Leave):
            self._leave()
        elif isinstance(outcome, Enter):
            if outcome.outputs is None:
                self._leave()
            self.running.append((outcome.code.function.name, time.perf_counter()))
        return outcome

    def _begin(self) -> None:
        if not self.begun:
            self.begun = time.perf_counter()
            self.running.append((MAIN, self.begun))

    def _leave(self) -> None:
        name, start = self.running.pop()
        self._add(name, start, len(self.running), False)

    def _add(self, name: str, start: float, depth: int, kernel: bool) -> None:
        if len(self.events) < MOST_EVENTS:
            seconds = time.perf_counter() - start
            self.events.append(Event(name, start - self.begun, seconds, depth, kernel))

    def finished(self) -> list[Event]:
        """The events in the order of their beginnings."""
        while self.running:
            self._leave()
        return sorted(self.events, key=lambda event: (event.start, event.depth))


def chrome(events: Sequence[Event]) -> list[dict[str, Any]]:
    """The events in the trace format of Chromium; times are in microseconds."""
    return [
        {
            "name": event.name,
            "cat": "kernel" if event.kernel else "function",
            "ph": "X",
            "ts": event.start * 1e6,
            "dur": event.seconds * 1e6,
            "pid": 1,
            "tid": 1,
        }
        for event in events
    ]
