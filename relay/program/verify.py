"""Is a program well formed? What must hold of every program, whoever made it.

names       of data types, constructors, kernels, constants, functions and blocks are known
blocks      end in the one instruction that says where to go on
registers   are written once, and on every way to where they are read
types       of operands, fields, arguments and results are those that are wanted

%4: int32 = add %0, %1
operands of `add` do not fit: in `%4: int32 = add %0, %1`, function `@sum`, block 1, number 3
    expected: two scalars of one type
    found:    int32, List[int32]
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from relay.errors import Diagnostic, IllFormed, did_you_mean
from relay.program.dominators import Dominators
from relay.program.instruction_types import InstructionTypes, holds, result_types
from relay.program.printer import instruction_text
from relay.program.program import (
    PREPARE,
    ClosureSpec,
    DataSpec,
    Function,
    Instruction,
    InvokeKernel,
    Jump,
    Program,
    ReferenceSpec,
    Register,
    Spec,
    Terminator,
    flatten,
    spec_text,
)
from relay.program.uses import successors, uses

SHOWN = 20  # what is wrong once is often wrong a thousand times


def verify(program: Program) -> None:
    """An error that names all that is wrong with a program, or nothing."""
    found: list[Diagnostic] = []
    for problem in _problems(program):
        found.append(problem)
        if len(found) == SHOWN:
            break
    if found:
        raise IllFormed(found)


def _problems(program: Program) -> Iterator[Diagnostic]:
    yield from _declarations(program)
    for function in program.functions:
        check = _FunctionCheck(program, function)
        broken = list(check.structure())
        # the other checks look up what these found missing
        yield from broken or check.contents()


# --- what a program declares ---------------------------------------------------------------------


def _declarations(program: Program) -> Iterator[Diagnostic]:
    tables: dict[str, Sequence[Any]] = {
        "data type": program.types,
        "kernel": program.kernels,
        "constant": program.constants,
        "function": program.functions,
    }
    for what, entries in tables.items():
        for name, count in Counter(entry.name for entry in entries).items():
            if count > 1:
                yield Diagnostic(f"{count} {what}s are called `{name}`")
    for one in program.types:
        for name, count in Counter(each.name for each in one.constructors).items():
            if count > 1:
                yield Diagnostic(f"{count} constructors of `{one.name}` are called `{name}`")
        for constructor in one.constructors:
            for place in constructor.places:
                yield from _mentioned(place, program, f"constructor `{constructor.name}`")
    yield from _prepared(program)


def _prepared(program: Program) -> Iterator[Diagnostic]:
    """Constants that are computed are results of `prepare`."""
    made = [constant for constant in program.constants if constant.prepared is not None]
    found = [function for function in program.functions if function.name == PREPARE]
    if not made or not found:
        if made:
            yield Diagnostic(f"constant `{made[0].name}` is computed, and nothing computes it")
        return
    results = result_types(found[0])
    for constant in made:
        assert constant.prepared is not None
        if constant.prepared >= len(results):
            yield Diagnostic(
                f"constant `{constant.name}` is result {constant.prepared} of `@{PREPARE}`",
                expected=f"one of {len(results)} results",
            )
        elif not holds(results[constant.prepared], constant.spec):
            yield Diagnostic(
                f"constant `{constant.name}` is no such result of `@{PREPARE}`",
                expected=spec_text(constant.spec),
                found=spec_text(results[constant.prepared]),
            )


def _mentioned(spec: Spec, program: Program, where: str) -> Iterator[Diagnostic]:
    """Data types in `spec` that there are not."""
    pending: list[Any] = [spec]
    while pending:
        match pending.pop():
            case DataSpec(name) if name not in program.type_table:
                hint = did_you_mean(name, program.type_table)
                yield Diagnostic(
                    f"{where} mentions data type `{name}`, of which there is none", hint=hint
                )
            case ClosureSpec() as function:
                pending += [*function.params, *function.results]
            case ReferenceSpec() as cell:
                pending += cell.contents


# --- functions -----------------------------------------------------------------------------------


class _FunctionCheck:
    """Looks at one function."""

    def __init__(self, program: Program, function: Function) -> None:
        self.program = program
        self.function = function
        self.specs = function.registers
        self.at: tuple[int, int] = (0, 0)  # block, position

    def problem(
        self,
        message: str,
        expected: str | None = None,
        found: str | None = None,
        hint: str | None = None,
    ) -> Diagnostic:
        """Something wrong with the instruction that is being looked at."""
        number, position = self.at
        block = self.function.blocks[number].instructions
        where = f"function `@{self.function.name}`, block {number}"
        if position < len(block):
            text = instruction_text(block[position], self.function)
            where = f"`{text}`, {where}, instruction {position}"
        return Diagnostic(f"{message}: in {where}", None, expected, found, hint)

    def all(self) -> Iterator[Instruction]:
        for number, block in enumerate(self.function.blocks):
            for position, instruction in enumerate(block):
                self.at = number, position
                yield instruction

    # --- blocks and registers exist

    def structure(self) -> Iterator[Diagnostic]:
        function = self.function
        of_params = [r for param in function.params for r in flatten(param.value)]
        if of_params != list(range(len(of_params))) or len(of_params) > len(self.specs):
            yield Diagnostic(
                f"the parameters of function `@{function.name}` are not its first registers",
                expected=", ".join(f"%{register}" for register in range(len(of_params))),
                found=", ".join(f"%{register}" for register in of_params),
            )
        if not function.blocks or function.blocks[0].params:
            yield Diagnostic(f"function `@{function.name}` begins with a block without parameters")
        for spec in dict.fromkeys([*self.specs, *flatten(function.results)]):
            yield from _mentioned(spec, self.program, f"function `@{function.name}`")
        for number, block in enumerate(function.blocks):
            self.at = number, len(block)
            if not block.instructions or not isinstance(block.instructions[-1], Terminator):
                yield self.problem("nothing says where to go on")
            for register in block.params:
                if not self.exists(register):
                    yield self.problem(f"there is no register %{register}")
        for instruction in self.all():
            block = function.blocks[self.at[0]]
            if isinstance(instruction, Terminator) and self.at[1] != len(block) - 1:
                yield self.problem("nothing is reached after this")
            yield from self.names(instruction)

    def exists(self, register: Register) -> bool:
        return 0 <= register < len(self.specs)

    def names(self, instruction: Instruction) -> Iterator[Diagnostic]:
        """Registers and blocks of an instruction exist."""
        if isinstance(instruction, InvokeKernel) and not all(map(self.exists, instruction.outputs)):
            yield self.problem("there is no such register")
            return
        used = uses(instruction, self.specs)
        for register in dict.fromkeys((*used.borrowed, *used.consumed, *used.written)):
            if not self.exists(register):
                yield self.problem(f"there is no register %{register}")
        for block in successors(instruction):
            if not 0 <= block < len(self.function.blocks):
                yield self.problem(f"there is no block {block}")
            elif not isinstance(instruction, Jump) and self.function.blocks[block].params:
                yield self.problem(f"block {block} has parameters, and nothing gives them a value")

    # --- registers are written, and types fit

    def contents(self) -> Iterator[Diagnostic]:
        written: dict[Register, tuple[int, int]] = dict.fromkeys(self.function.inputs, (0, -1))
        for number, block in enumerate(self.function.blocks):
            for register in block.params:
                self.at = number, len(block)
                if register in written:
                    yield self.problem(f"register %{register} is written twice")
                written[register] = number, -1
        for instruction in self.all():
            for register in uses(instruction, self.specs).written:
                if register in written:
                    yield self.problem(f"register %{register} is written twice")
                written[register] = self.at
        dominators = Dominators(self.function)
        types = InstructionTypes(self.program, self.function, self.problem)
        for instruction in self.all():
            used = uses(instruction, self.specs)
            for register in dict.fromkeys((*used.borrowed, *used.consumed)):
                yield from self.is_written(register, written, dominators)
            yield from types(instruction)

    def is_written(
        self,
        register: Register,
        written: dict[Register, tuple[int, int]],
        dominators: Dominators,
    ) -> Iterator[Diagnostic]:
        block, position = self.at
        if register not in written:
            yield self.problem(f"nothing writes register %{register}")
            return
        home, place = written[register]
        if home == block:
            if place >= position:
                yield self.problem(f"register %{register} is read before it is written")
        elif dominators.is_reached(block) and not (
            dominators.is_reached(home) and dominators.dominates(home, block)
        ):
            yield self.problem(
                f"register %{register} has no value on every way to here",
                found=f"it is written in block {home}",
            )
