"""What an instruction does with registers: reads them, takes them over, writes them.

To borrow is to look at a value that stays with its register. To consume is to hand over one hold on
it: to a callee, to a new object, to the caller. `relay.program.ownership` says who has to let go of
what; this is the table it works by.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import assert_never

from relay.lower.kernel import TensorSpec
from relay.program.program import (
    AllocTensor,
    Branch,
    CallClosure,
    CallFunction,
    ComputeSize,
    Fail,
    Function,
    GetField,
    Instruction,
    InvokeKernel,
    Jump,
    Literal,
    LoadConstant,
    MakeClosure,
    MakeData,
    MakeReference,
    ReadElement,
    ReadReference,
    ReadSize,
    Register,
    Release,
    RequireEqual,
    Retain,
    Return,
    Scalar,
    Spec,
    Switch,
    TailCall,
    TailCallClosure,
    ViewTensor,
    WriteReference,
    flatten,
)


@dataclass(frozen=True, slots=True)
class Uses:
    """Registers by what happens to them; one that is named twice is in there twice."""

    borrowed: tuple[Register, ...] = ()
    consumed: tuple[Register, ...] = ()
    written: tuple[Register, ...] = ()


def uses(instruction: Instruction, registers: Sequence[Spec]) -> Uses:
    """What `instruction` does; `registers` are the types of its function's."""
    match instruction:
        case LoadConstant() | Literal():
            return Uses(written=(instruction.output,))
        case Scalar():
            return Uses(instruction.inputs, written=(instruction.output,))
        case AllocTensor():
            return Uses(instruction.sizes, written=(instruction.output,))
        case ViewTensor():
            return Uses((instruction.input, *instruction.sizes), written=(instruction.output,))
        case InvokeKernel():
            scalars = tuple(r for r in instruction.outputs if not _is_tensor(registers[r]))
            tensors = tuple(r for r in instruction.outputs if _is_tensor(registers[r]))
            return Uses((*instruction.inputs, *tensors, *instruction.sizes), written=scalars)
        case ReadSize() | ReadElement():
            return Uses((instruction.tensor,), written=(instruction.output,))
        case ComputeSize():
            return Uses((instruction.left, instruction.right), written=(instruction.output,))
        case RequireEqual():
            return Uses((instruction.left, instruction.right, *instruction.shown))
        case MakeData():
            return Uses(consumed=instruction.fields, written=(instruction.output,))
        case GetField():
            return Uses((instruction.data,), written=(instruction.output,))
        case MakeClosure():
            return Uses(consumed=instruction.captured, written=(instruction.output,))
        case MakeReference():
            return Uses(consumed=instruction.contents, written=(instruction.output,))
        case ReadReference():
            return Uses((instruction.reference,), written=instruction.outputs)
        case WriteReference():
            return Uses((instruction.reference,), instruction.contents)
        case CallFunction():
            return Uses(consumed=instruction.args, written=instruction.outputs)
        case CallClosure():
            given = (instruction.closure, *instruction.args)
            return Uses(consumed=given, written=instruction.outputs)
        case Retain():
            return Uses((instruction.register,))
        case Release():
            return Uses(consumed=(instruction.register,))
        case Return():
            return Uses(consumed=tuple(flatten(instruction.value)))
        case Jump() | TailCall():
            return Uses(consumed=instruction.args)
        case TailCallClosure():
            return Uses(consumed=(instruction.closure, *instruction.args))
        case Branch():
            return Uses((instruction.condition,))
        case Switch():
            return Uses((instruction.data,))
        case Fail():
            return Uses()
        case _:
            assert_never(instruction)


def _is_tensor(spec: Spec) -> bool:
    return isinstance(spec, TensorSpec)


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
