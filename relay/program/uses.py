"""How instructions use registers, for reference counting (`relay.program.ownership`).

An instruction borrows a register when it only reads it, and consumes it when it transfers
ownership of the value: to a callee, a new object or the caller.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from operator import attrgetter
from typing import Any, NamedTuple

from relay.immutable import frozen
from relay.lower.kernel import TensorSpec
from relay.program import program as isa
from relay.program.syntax import BORROWED, CONSUMED, ONE, WRITTEN, Field, pieces


@frozen
class Uses:
    """The registers that an instruction uses, by use, with repetitions."""

    borrowed: tuple[isa.Register, ...] = ()
    consumed: tuple[isa.Register, ...] = ()
    written: tuple[isa.Register, ...] = ()


def uses(instruction: isa.Instruction, registers: Sequence[isa.Spec]) -> Uses:
    """The uses of an instruction; `registers` are the types of its function's registers."""
    kind: Any = type(instruction)
    roles = _roles(kind)
    written = roles.written(instruction)
    if not isinstance(instruction, isa.InvokeKernel):
        return Uses(roles.borrowed(instruction), roles.consumed(instruction), written)
    tensors = [r for r in instruction.outputs if isinstance(registers[r], TensorSpec)]
    scalars = tuple(r for r in instruction.outputs if r not in tensors)
    return Uses((*instruction.inputs, *tensors, *instruction.sizes), written=scalars)


class _Roles(NamedTuple):
    """Getters of the registers of an instruction, by use."""

    borrowed: Callable[[Any], tuple[isa.Register, ...]]
    consumed: Callable[[Any], tuple[isa.Register, ...]]
    written: Callable[[Any], tuple[isa.Register, ...]]


@cache
def _roles(instruction: type) -> _Roles:
    fields = [piece for piece in pieces(instruction) if isinstance(piece, Field)]
    return _Roles(*(_getter(fields, kinds) for kinds in (BORROWED, CONSUMED, WRITTEN)))


def _getter(fields: Sequence[Field], kinds: frozenset[str]) -> Callable[[Any], Any]:
    chosen = [field for field in fields if field.kind in kinds]
    if not chosen:
        return lambda instruction: ()
    get = attrgetter(*(field.name for field in chosen))
    if len(chosen) == 1 and chosen[0].kind not in (*ONE, "value"):
        return get
    return lambda instruction: tuple(isa.flatten(get(instruction)))


def successors(instruction: isa.Instruction) -> tuple[int, ...]:
    """The distinct successor blocks of a terminator, in order."""
    match instruction:
        case isa.Jump():
            return (instruction.block,)
        case isa.Branch():
            return tuple(dict.fromkeys((instruction.true, instruction.false)))
        case isa.Switch():
            blocks = [block for _, block in instruction.cases]
            if instruction.otherwise is not None:
                blocks.append(instruction.otherwise)
            return tuple(dict.fromkeys(blocks))
        case _:
            return ()


def predecessors(function: isa.Function) -> list[list[int]]:
    """The predecessors of every block."""
    found: list[list[int]] = [[] for _ in function.blocks]
    for number, block in enumerate(function.blocks):
        for after in successors(block.instructions[-1]):
            found[after].append(number)
    return found


def reverse_postorder(function: isa.Function) -> list[int]:
    """The reachable blocks in reverse postorder: dominators come first."""
    order: list[int] = []
    seen = {0}
    pending = [(0, iter(successors(function.blocks[0].instructions[-1])))]
    while pending:
        number, rest = pending[-1]
        for after in rest:
            if after not in seen:
                seen.add(after)
                following = successors(function.blocks[after].instructions[-1])
                pending.append((after, iter(following)))
                break
        else:
            order.append(number)
            pending.pop()
    return order[::-1]


# --- escape analysis ----------------------------------------------------------------------------


def local_tensors(function: isa.Function) -> dict[isa.Register, isa.Register]:
    """The tensors that do not escape the function, each with the register that owns its memory.

    These are tensors of known sizes that no instruction consumes, and views that none does: the
    owner of a view of an object is that object, which is alive as long as the view is used.

        %1 = alloc; %2 = view %1; invoke @k(%2) -> (%3)     ->     {%1: %1, %2: %1}
    """
    found: dict[isa.Register, isa.Register] = {}
    views: dict[isa.Register, isa.Register] = {}
    consumed: set[isa.Register] = set()
    for instruction in function.instructions:
        match instruction:
            case isa.AllocTensor(output) if isa.is_static(function.registers[output]):
                found[output] = output
            case isa.ViewTensor(output, source):
                views[output] = source
        consumed.update(uses(instruction, function.registers).consumed)
    escaping = [register for register in (*found, *views) if register in consumed]
    while escaping:  # what an escaping view views escapes too
        register = escaping.pop()
        found.pop(register, None)
        if register in views:
            escaping.append(views.pop(register))
    for register in views:
        passed = []
        while register in views and register not in found:
            passed.append(register)
            register = views[register]
        owner = found.get(register, register)
        for view in passed:
            found[view] = owner
    return found
