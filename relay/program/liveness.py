"""Live ranges of registers.

Registers are in SSA form, so every use is followed backwards, block by block, to the definition.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from relay.program.program import Function, Register
from relay.program.uses import predecessors, uses


def live_at_start(
    function: Function,
    tracked: Collection[Register],
    stands_for: Mapping[Register, Register],
) -> list[set[Register]]:
    """The registers of `tracked` that are live at the start of every block. A use of a register of
    `stands_for` is a use of what it stands for."""
    before = predecessors(function)
    found: list[set[Register]] = [set() for _ in function.blocks]
    home = {
        register: number
        for number in range(len(function.blocks))
        for register in written(function, number)
    }
    for number, block in enumerate(function.blocks):
        for instruction in block:
            each = uses(instruction, function.registers)
            for register in (*each.borrowed, *each.consumed):
                register = stands_for.get(register, register)
                if register not in tracked:
                    continue
                pending = [number]
                while pending:
                    here = pending.pop()
                    if home.get(register) != here and register not in found[here]:
                        found[here].add(register)
                        pending += before[here]
    return found


def written(function: Function, number: int) -> list[Register]:
    """The registers a block writes, its parameters first."""
    block = function.blocks[number]
    found = list(block.params)
    for instruction in block:
        found += uses(instruction, function.registers).written
    return found
