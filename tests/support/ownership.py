"""Whether every hold on an object is handed over or released exactly once, on any path."""

from __future__ import annotations

from collections import Counter

from relay.immutable import frozen
from relay.program.ownership import Types, counted_registers
from relay.program.program import PREPARE, Fail, Function, Program, Register, Retain
from relay.program.uses import local_tensors, successors, uses


@frozen
class Leak:
    """A hold that is not handed over exactly once, or one that is not there when it is needed."""

    function: str
    block: int
    register: Register
    problem: str

    def __str__(self) -> str:
        return f"`@{self.function}`, block {self.block}: %{self.register} {self.problem}"


def verify(program: Program) -> list[Leak]:
    """What is wrong with the holds of a program, on any path through any of its functions."""
    return [
        leak
        for function in program.functions
        if function.name != PREPARE
        for leak in _verify(function, program.type_table)
    ]


def _verify(function: Function, types: Types) -> list[Leak]:
    local = local_tensors(function)
    counted = counted_registers(function, types, local)
    leaks: list[Leak] = []
    start = Counter(r for r in function.inputs if r in counted)
    states: dict[int, Counter[Register]] = {0: start}
    pending = [0]
    while pending:
        number = pending.pop()
        block = function.blocks[number]

        def leak(register: Register, problem: str, number: int = number) -> None:
            leaks.append(Leak(function.name, number, register, problem))

        holds = states[number].copy()
        holds.update(r for r in block.params if r in counted)
        for instruction in block:
            each = uses(instruction, function.registers)
            for register in (*each.borrowed, *each.consumed):
                register = local.get(register, register)
                if register in counted and holds[register] <= 0:
                    leak(register, f"is used by `{type(instruction).__name__}` after it was let go")
            holds.subtract(r for r in each.consumed if r in counted)
            holds.update(r for r in each.written if r in counted)
            if isinstance(instruction, Retain):
                holds[instruction.register] += 1
            for register in each.consumed:
                if holds[register] < 0 and register in counted:
                    leak(register, "is let go more often than it is held")
                    holds[register] = 0
        left = +holds
        last = block.instructions[-1]
        ways = successors(last)
        if not ways and not isinstance(last, Fail):
            for register in left:
                leak(register, "is never let go")
        for other in ways:
            if other not in states:
                states[other] = left
                pending.append(other)
            elif states[other] != left:
                for register in sorted((states[other] - left) + (left - states[other])):
                    leak(register, f"is held on some ways into block {other} only")
    return leaks
