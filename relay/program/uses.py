"""What an instruction does with registers: reads them, takes them over, writes them.

To borrow is to look at a value that stays with its register. To consume is to hand over one hold on
it: to a callee, to a new object, to the caller. `relay.program.ownership` says who has to let go of
what; this is the table it works by.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from operator import attrgetter
from typing import Any, NamedTuple

from relay.lower.kernel import TensorSpec
from relay.program.program import (
    AllocTensor,
    Branch,
    Function,
    Instruction,
    InvokeKernel,
    Jump,
    Register,
    Spec,
    Switch,
    ViewTensor,
    flatten,
)
from relay.program.syntax import BORROWED, CONSUMED, ONE, WRITTEN, Field, pieces


@dataclass(frozen=True, slots=True)
class Uses:
    """Registers by what happens to them; one that is named twice is in there twice."""

    borrowed: tuple[Register, ...] = ()
    consumed: tuple[Register, ...] = ()
    written: tuple[Register, ...] = ()


def uses(instruction: Instruction, registers: Sequence[Spec]) -> Uses:
    """What `instruction` does; `registers` are the types of its function's."""
    kind: Any = type(instruction)
    roles = _roles(kind)
    written = roles.written(instruction)
    if not isinstance(instruction, InvokeKernel):
        return Uses(roles.borrowed(instruction), roles.consumed(instruction), written)
    tensors = [r for r in instruction.outputs if isinstance(registers[r], TensorSpec)]
    scalars = tuple(r for r in instruction.outputs if r not in tensors)
    return Uses((*instruction.inputs, *tensors, *instruction.sizes), written=scalars)


class _Roles(NamedTuple):
    """How to get the registers of an instruction, by what happens to them."""

    borrowed: Callable[[Any], tuple[Register, ...]]
    consumed: Callable[[Any], tuple[Register, ...]]
    written: Callable[[Any], tuple[Register, ...]]


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
    return lambda instruction: tuple(flatten(get(instruction)))


def successors(instruction: Instruction) -> tuple[int, ...]:
    """The blocks a terminator may go on in, each once, in the order it names them."""
    match instruction:
        case Jump():
            return (instruction.block,)
        case Branch():
            return tuple(dict.fromkeys((instruction.true, instruction.false)))
        case Switch():
            blocks = [block for _, block in instruction.cases]
            if instruction.otherwise is not None:
                blocks.append(instruction.otherwise)
            return tuple(dict.fromkeys(blocks))
        case _:
            return ()


def predecessors(function: Function) -> list[list[int]]:
    """For every block those that may lead to it."""
    found: list[list[int]] = [[] for _ in function.blocks]
    for number, block in enumerate(function.blocks):
        for after in successors(block.instructions[-1]):
            found[after].append(number)
    return found


def reverse_postorder(function: Function) -> list[int]:
    """The blocks that can be reached, what dominates a block before it."""
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


# --- tensors that are no objects ----------------------------------------------------------------


def local_tensors(function: Function) -> dict[Register, Register]:
    """The tensors that nobody outside an activation ever sees, each with whose memory it is.

    Those are tensors of known sizes and views that only kernels and questions about sizes and
    elements use; what is taken over by anybody must be an object. A view of another tensor that is
    such an object stands for it: as long as it is used, so is that one.

        %1 = alloc; %2 = view %1; invoke @k(%2) -> (%3)     ->     {%1: %1, %2: %1}
    """
    found: dict[Register, Register] = {}
    views: dict[Register, Register] = {}
    consumed: set[Register] = set()
    for instruction in function.instructions:
        match instruction:
            case AllocTensor(output) if is_static(function.registers[output]):
                found[output] = output
            case ViewTensor(output, source):
                views[output] = source
        consumed.update(uses(instruction, function.registers).consumed)
    escaping = [register for register in (*found, *views) if register in consumed]
    while escaping:  # the memory of a view that is an object is that of an object
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


def is_static(spec: Spec) -> bool:
    """Whether it is a tensor whose sizes are all numbers."""
    return isinstance(spec, TensorSpec) and all(type(size) is int for size in spec.shape)
