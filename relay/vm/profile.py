"""Time profile of a run by kind of instruction, kernel and function.

print(vm.profile(x))

    instruction   calls     time   share
    InvokeKernel      3  12.1 µs  60.5 %
    …
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from relay.executors.report import table_text, time_text
from relay.immutable import frozen
from relay.program.program import Function, Instruction, InvokeKernel
from relay.vm.code import Enter, Outcome, Registers, Run, Step


@dataclass
class Cost:
    """The number of calls of something, and its self time."""

    name: str
    count: int = 0
    seconds: float = 0.0


@frozen
class Profile:
    """Costs, the largest first. Times are self times: of a function without its callees, and
    without the overhead between instructions."""

    instructions: tuple[Cost, ...]
    kernels: tuple[Cost, ...]
    functions: tuple[Cost, ...]

    @property
    def seconds(self) -> float:
        """The time of all instructions."""
        return sum(cost.seconds for cost in self.instructions)

    @property
    def count(self) -> int:
        """How many instructions ran."""
        return sum(cost.count for cost in self.instructions)

    def __str__(self) -> str:
        shown = {
            "instruction": self.instructions,
            "kernel": self.kernels,
            "function": self.functions,
        }
        tables = [self._table(name, costs) for name, costs in shown.items() if costs]
        whole = f"all {self.count} instructions: {time_text(self.seconds)}"
        return "\n\n".join([*tables, whole])

    def _table(self, name: str, costs: Iterable[Cost]) -> str:
        whole = self.seconds or 1.0
        rows = [
            (c.name, str(c.count), time_text(c.seconds), f"{100 * c.seconds / whole:.1f} %")
            for c in costs
        ]
        return table_text((name, "calls", "time", "share"), rows, "<>>>")


@dataclass
class Recorder:
    """Counts and times the steps of a machine."""

    instructions: dict[str, Cost] = field(default_factory=dict)
    kernels: dict[str, Cost] = field(default_factory=dict)
    functions: dict[str, Cost] = field(default_factory=dict)

    def watch(self, function: Function, instruction: Instruction, step: Step) -> Step:
        """The step, counted and timed."""
        kind = type(instruction).__name__
        costs = [
            self.instructions.setdefault(kind, Cost(kind)),
            self.functions.setdefault(function.name, Cost(f"@{function.name}")),
        ]
        counted = [costs[0]]
        if isinstance(instruction, InvokeKernel):
            name = instruction.kernel
            costs.append(self.kernels.setdefault(name, Cost(f"@{name}")))
            counted.append(costs[-1])

        def watched(registers: Registers, run: Run) -> Outcome:
            start = time.perf_counter()
            outcome = step(registers, run)
            seconds = time.perf_counter() - start
            for cost in costs:
                cost.seconds += seconds
            for cost in counted:
                cost.count += 1
            if isinstance(outcome, Enter):
                self.called(outcome.code.function.name)
            return outcome

        return watched

    def called(self, function: str) -> None:
        """Count a call."""
        self.functions.setdefault(function, Cost(f"@{function}")).count += 1

    def profile(self) -> Profile:
        return Profile(*map(_sorted, (self.instructions, self.kernels, self.functions)))


def _sorted(costs: Mapping[str, Cost]) -> tuple[Cost, ...]:
    """The costs of what ran, the largest first."""
    return tuple(sorted((c for c in costs.values() if c.count), key=lambda c: -c.seconds))
