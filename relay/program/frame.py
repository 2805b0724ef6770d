"""The stack frame of a function: offsets of its local tensors.

    %1 = alloc local; invoke @f(%0) -> (%1)         %1   frame + 0
    %2 = alloc local; invoke @g(%1) -> (%2)         %2   frame + 256
    %3 = alloc local; invoke @h(%2) -> (%3)         %3   frame + 0       %1 is dead

Tensors overlap if their live ranges do not. Live ranges are intervals of the blocks in order.
"""

from __future__ import annotations

from collections.abc import Mapping

from relay.arena import assign
from relay.immutable import frozen
from relay.lower.kernel import TensorSpec
from relay.program.liveness import live_at_start
from relay.program.plan import Storage
from relay.program.program import Function, Register, nbytes
from relay.program.uses import local_tensors, successors, uses


@frozen
class FrameLayout:
    """Offsets of local tensors, in bytes."""

    offsets: Mapping[Register, int]
    size: int


def plan_frame(function: Function, local: Mapping[Register, Register] | None = None) -> FrameLayout:
    """Assign offsets to the tensors that do not escape the function."""
    if local is None:
        local = local_tensors(function)
    mine = {register for register, owner in local.items() if register == owner}
    if not mine:
        return FrameLayout({}, 0)
    lives: dict[Register, Storage] = {}
    starts = live_at_start(function, mine, local)
    position = 0

    def alive(register: Register) -> None:
        if register in mine:
            spec = function.registers[register]
            assert isinstance(spec, TensorSpec)
            life = lives.setdefault(register, Storage(nbytes(spec), position, position))
            life.last = position

    for number, block in enumerate(function.blocks):
        for register in sorted(starts[number]):
            alive(register)
        for instruction in block:
            each = uses(instruction, function.registers)
            for register in (*each.borrowed, *each.written):
                alive(local.get(register, register))
            position += 1
        position -= 1
        for other in successors(block.instructions[-1]):
            for register in sorted(starts[other]):
                alive(register)
        position += 1
    registers = list(lives)
    offsets, size = assign([lives[register] for register in registers])
    return FrameLayout(dict(zip(registers, offsets, strict=True)), size)
