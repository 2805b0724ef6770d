"""Straight-line code cut down to what is needed: for its results, or after some weights change."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from relay.program.program import (
    PREPARE,
    AllocTensor,
    Block,
    Function,
    Instruction,
    InvokeKernel,
    LoadConstant,
    Program,
    Register,
    Return,
    ViewTensor,
    flatten,
    unflatten,
)


def needed_for(program: Program, changed: Collection[str]) -> tuple[Function, list[str]]:
    """`prepare` cut down to what depends on the constants `changed`, and the constants it gives."""
    prepare = program[PREPARE]
    results = flatten(prepare.result)
    touched = _reached_from(prepare, changed)
    names = {c.prepared: c.name for c in program.constants if c.prepared is not None}
    kept = [index for index, register in enumerate(results) if register in touched]
    cut = _needed(prepare, {results[index] for index in kept})
    body = (
        *(i for i in prepare.straight_line if not isinstance(i, Return) and _wanted(i, cut)),
        Return(tuple(results[index] for index in kept)),
    )
    return replace(prepare, blocks=(Block(body),)), [names[index] for index in kept]


def prune(function: Function) -> Function:
    """`function` without what its result does not need; registers are numbered anew."""
    needed = _needed(function, {*flatten(function.result), *function.inputs})
    kept = sorted(needed)
    number = {register: new for new, register in enumerate(kept)}

    def renumbered(registers: Iterable[Register]) -> tuple[Register, ...]:
        return tuple(number[register] for register in registers)

    body: list[Instruction] = []
    for instruction in function.straight_line:
        match instruction:
            case Return(value):
                body.append(Return(unflatten(value, renumbered(flatten(value)))))
            case _ if not _wanted(instruction, needed):
                continue
            case LoadConstant(output, name):
                body.append(LoadConstant(number[output], name))
            case AllocTensor(output):
                body.append(AllocTensor(number[output]))
            case ViewTensor(output, source):
                body.append(ViewTensor(number[output], number[source]))
            case InvokeKernel(kernel, inputs, outputs, where=where):
                named = renumbered(inputs), renumbered(outputs)
                body.append(InvokeKernel(kernel, *named, where=where))
    registers = tuple(function.registers[register] for register in kept)
    return replace(function, registers=registers, blocks=(Block(tuple(body)),))


def _reached_from(function: Function, constants: Collection[str]) -> set[Register]:
    """The registers whose value depends on one of `constants`."""
    reached: set[Register] = set()
    for instruction in function.straight_line:
        match instruction:
            case LoadConstant(output, name) if name in constants:
                reached.add(output)
            case ViewTensor(output, source) if source in reached:
                reached.add(output)
            case InvokeKernel(_, inputs, outputs) if not reached.isdisjoint(inputs):
                reached.update(outputs)
    return reached


def _needed(function: Function, wanted: set[Register]) -> set[Register]:
    """`wanted`, and the registers they are computed from."""
    needed = set(wanted)
    for instruction in reversed(function.straight_line):
        match instruction:
            case ViewTensor(output, source) if output in needed:
                needed.add(source)
            case InvokeKernel(_, inputs, outputs) if not needed.isdisjoint(outputs):
                needed.update(inputs, outputs)
    return needed


def _wanted(
    instruction: LoadConstant | AllocTensor | ViewTensor | InvokeKernel, needed: set[Register]
) -> bool:
    if isinstance(instruction, InvokeKernel):
        return not needed.isdisjoint(instruction.outputs)
    return instruction.output in needed
