"""Which registers an instruction reads, and which it writes."""

from __future__ import annotations

from collections.abc import Sequence

from relay.program.program import (
    AllocTensor,
    Branch,
    CallClosure,
    CallFunction,
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
    ScalarSpec,
    Switch,
    TailCall,
    TailCallClosure,
    ViewTensor,
    WriteReference,
    flatten,
)


def reads(instruction: Instruction, function: Function) -> Sequence[Register]:
    """The registers it needs, in the order of its text.

    Those a kernel fills are among them, if they are tensors: they must have been allocated.
    """
    match instruction:
        case LoadConstant() | Literal() | Fail():
            return ()
        case Scalar(_, _, inputs):
            return inputs
        case AllocTensor(_, sizes):
            return sizes
        case ViewTensor(_, source, sizes):
            return (source, *sizes)
        case InvokeKernel(_, inputs, outputs, sizes):
            return (*inputs, *(r for r in outputs if not is_scalar(r, function)), *sizes)
        case ReadSize(_, register, _) | ReadElement(_, register, _):
            return (register,)
        case RequireEqual(left, right):
            return (left, right)
        case MakeData(_, _, fields) | MakeClosure(_, _, fields) | MakeReference(_, fields):
            return fields
        case GetField(_, register) | ReadReference(_, register):
            return (register,)
        case WriteReference(reference, contents):
            return (reference, *contents)
        case CallFunction(_, _, args) | TailCall(_, args) | Jump(_, args):
            return args
        case CallClosure(_, closure, args) | TailCallClosure(closure, args):
            return (closure, *args)
        case Retain(register) | Release(register) | Branch(register) | Switch(register):
            return (register,)
        case Return(value):
            return flatten(value)


def writes(instruction: Instruction, function: Function) -> Sequence[Register]:
    """The registers that get their value here. Of a kernel's outputs those that are scalars."""
    match instruction:
        case (
            LoadConstant(output)
            | Literal(output)
            | Scalar(output)
            | AllocTensor(output)
            | ViewTensor(output)
            | ReadSize(output)
            | ReadElement(output)
            | MakeData(output)
            | GetField(output)
            | MakeClosure(output)
            | MakeReference(output)
        ):
            return (output,)
        case InvokeKernel():
            return tuple(r for r in instruction.outputs if is_scalar(r, function))
        case ReadReference(outputs) | CallFunction(outputs) | CallClosure(outputs):
            return outputs
    return ()


def successors(instruction: Instruction) -> Sequence[int]:
    """The blocks of the function that may come next."""
    match instruction:
        case Jump(block):
            return (block,)
        case Branch(_, true, false):
            return (true, false)
        case Switch(_, cases, otherwise):
            blocks = [block for _, block in cases]
            return blocks if otherwise is None else [*blocks, otherwise]
    return ()


def is_scalar(register: Register, function: Function) -> bool:
    """Whether a register holds a scalar."""
    specs = function.registers
    return register < len(specs) and isinstance(specs[register], ScalarSpec)
