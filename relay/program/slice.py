"""Program slicing: the part of straight-line code that results or changed weights need."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from relay.program import program as isa


def needed_for(program: isa.Program, changed: Collection[str]) -> tuple[isa.Function, list[str]]:
    """The slice of `prepare` that depends on the constants `changed`, and the names it computes."""
    prepare = program[isa.PREPARE]
    results = isa.flatten(prepare.result)
    touched = _reached_from(prepare, changed)
    names = {c.prepared: c.name for c in program.constants if c.prepared is not None}
    kept = [index for index, register in enumerate(results) if register in touched]
    cut = _needed(prepare, {results[index] for index in kept})
    body = (
        *(i for i in prepare.straight_line if not isinstance(i, isa.Return) and _wanted(i, cut)),
        isa.Return(tuple(results[index] for index in kept)),
    )
    return replace(prepare, blocks=(isa.Block(body),)), [names[index] for index in kept]


def prune(function: isa.Function) -> isa.Function:
    """The function without dead instructions, registers renumbered."""
    needed = _needed(function, {*isa.flatten(function.result), *function.inputs})
    kept = sorted(needed)
    number = {register: new for new, register in enumerate(kept)}

    def renumbered(registers: Iterable[isa.Register]) -> tuple[isa.Register, ...]:
        return tuple(number[register] for register in registers)

    body: list[isa.Instruction] = []
    for instruction in function.straight_line:
        match instruction:
            case isa.Return(value):
                body.append(isa.Return(isa.unflatten(value, renumbered(isa.flatten(value)))))
            case _ if not _wanted(instruction, needed):
                continue
            case isa.LoadConstant(output, name):
                body.append(isa.LoadConstant(number[output], name))
            case isa.AllocTensor(output):
                body.append(isa.AllocTensor(number[output]))
            case isa.ViewTensor(output, source):
                body.append(isa.ViewTensor(number[output], number[source]))
            case isa.InvokeKernel(kernel, inputs, outputs, where=where):
                named = renumbered(inputs), renumbered(outputs)
                body.append(isa.InvokeKernel(kernel, *named, where=where))
    registers = tuple(function.registers[register] for register in kept)
    return replace(function, registers=registers, blocks=(isa.Block(tuple(body)),))


def _reached_from(function: isa.Function, constants: Collection[str]) -> set[isa.Register]:
    """The registers whose value depends on one of `constants`."""
    reached: set[isa.Register] = set()
    for instruction in function.straight_line:
        match instruction:
            case isa.LoadConstant(output, name) if name in constants:
                reached.add(output)
            case isa.ViewTensor(output, source) if source in reached:
                reached.add(output)
            case isa.InvokeKernel(_, inputs, outputs) if not reached.isdisjoint(inputs):
                reached.update(outputs)
    return reached


def _needed(function: isa.Function, wanted: set[isa.Register]) -> set[isa.Register]:
    """`wanted`, and the registers they are computed from."""
    needed = set(wanted)
    for instruction in reversed(function.straight_line):
        match instruction:
            case isa.ViewTensor(output, source) if output in needed:
                needed.add(source)
            case isa.InvokeKernel(_, inputs, outputs) if not needed.isdisjoint(outputs):
                needed.update(inputs, outputs)
    return needed


def _wanted(
    instruction: isa.LoadConstant | isa.AllocTensor | isa.ViewTensor | isa.InvokeKernel,
    needed: set[isa.Register],
) -> bool:
    if isinstance(instruction, isa.InvokeKernel):
        return not needed.isdisjoint(instruction.outputs)
    return instruction.output in needed
