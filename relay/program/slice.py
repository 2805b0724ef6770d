"""The part of `prepare` that has to run again when some weights change."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from relay.program.program import (
    PREPARE,
    AllocTensor,
    Function,
    InvokeKernel,
    LoadConstant,
    Program,
    Register,
    Return,
    ViewTensor,
    flatten,
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
    return replace(prepare, blocks=(body,)), [names[index] for index in kept]


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
