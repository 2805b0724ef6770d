"""Well-formedness of programs.

names       data types, constructors, kernels, constants, functions and blocks are defined
blocks      have one terminator, at the end
registers   are written once, and their definition dominates their uses
types       operands, fields, arguments and results have the expected types
state       the last parameters of `main` are tensors, and results give their new values

%4: int32 = add %0, %1
operands of `add` do not fit: in `%4: int32 = add %0, %1`, function `@sum`, block 1, number 3
    expected: two scalars of one type
    found:    int32, List[int32]
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from relay.errors import Diagnostic, IllFormed, did_you_mean
from relay.lower.kernel import TensorSpec
from relay.program import program as isa
from relay.program.dominators import Dominators
from relay.program.instruction_types import InstructionTypes, holds, result_types
from relay.program.printer import instruction_text
from relay.program.uses import successors, uses

SHOWN = 20  # errors often repeat


def verify(program: isa.Program) -> None:
    """An error that lists the problems of an ill-formed program."""
    if found := list(islice(_problems(program), SHOWN)):
        raise IllFormed(found)


def _problems(program: isa.Program) -> Iterator[Diagnostic]:
    yield from _declarations(program)
    for function in program.functions:
        check = _FunctionCheck(program, function)
        broken = list(check.structure())
        # the other checks rely on this one
        yield from broken or check.contents()


# --- declarations --------------------------------------------------------------------------------


def _declarations(program: isa.Program) -> Iterator[Diagnostic]:
    tables: list[tuple[str, Sequence[Any]]] = [
        ("data types", program.types),
        ("kernels", program.kernels),
        ("constants", program.constants),
        ("functions", program.functions),
        *((f"constructors of `{one.name}`", one.constructors) for one in program.types),
    ]
    for what, entries in tables:
        for name, count in Counter(entry.name for entry in entries).items():
            if count > 1:
                yield Diagnostic(f"{count} {what} are called `{name}`")
    for one in program.types:
        for constructor in one.constructors:
            for place in constructor.places:
                yield from _mentioned(place, program, f"constructor `{constructor.name}`")
    yield from _prepared(program)


def _prepared(program: isa.Program) -> Iterator[Diagnostic]:
    """Computed constants are results of `prepare`."""
    made = [constant for constant in program.constants if constant.prepared is not None]
    found = [function for function in program.functions if function.name == isa.PREPARE]
    if not made or not found:
        if made:
            yield Diagnostic(f"constant `{made[0].name}` is computed, and nothing computes it")
        return
    results = result_types(found[0])
    for constant in made:
        assert constant.prepared is not None
        if constant.prepared >= len(results):
            yield Diagnostic(
                f"constant `{constant.name}` is result {constant.prepared} of `@{isa.PREPARE}`",
                expected=f"one of {len(results)} results",
            )
        elif not holds(results[constant.prepared], constant.spec):
            yield Diagnostic(
                f"constant `{constant.name}` is no such result of `@{isa.PREPARE}`",
                expected=isa.spec_text(constant.spec),
                found=isa.spec_text(results[constant.prepared]),
            )


def _mentioned(spec: isa.Spec, program: isa.Program, where: str) -> Iterator[Diagnostic]:
    """Undefined data types in `spec`."""
    pending: list[Any] = [spec]
    while pending:
        match pending.pop():
            case isa.DataSpec(name) if name not in program.type_table:
                hint = did_you_mean(name, program.type_table)
                yield Diagnostic(
                    f"{where} mentions data type `{name}`, of which there is none", hint=hint
                )
            case isa.ClosureSpec() as function:
                pending += [*function.params, *function.results]
            case isa.ReferenceSpec() as cell:
                pending += cell.contents


def continues(before: isa.Spec, after: isa.Spec) -> bool:
    """Whether a value of type `after` can be the next one of a state of type `before`."""
    if not isinstance(before, TensorSpec) or not isinstance(after, TensorSpec):
        return before == after
    pairs = zip(before.shape, after.shape, strict=False)
    same = len(before.shape) == len(after.shape) and before.dtype == after.dtype
    return same and all(old == new or not isinstance(old, int) for old, new in pairs)


# --- functions -----------------------------------------------------------------------------------


class _FunctionCheck:
    """Checks one function."""

    def __init__(self, program: isa.Program, function: isa.Function) -> None:
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
        """A problem of the current instruction."""
        number, position = self.at
        block = self.function.blocks[number].instructions
        where = f"function `@{self.function.name}`, block {number}"
        if position < len(block):
            text = instruction_text(block[position], self.function)
            where = f"`{text}`, {where}, instruction {position}"
        return Diagnostic(f"{message}: in {where}", None, expected, found, hint)

    def all(self) -> Iterator[isa.Instruction]:
        for number, block in enumerate(self.function.blocks):
            for position, instruction in enumerate(block):
                self.at = number, position
                yield instruction

    # --- blocks and registers exist

    def structure(self) -> Iterator[Diagnostic]:
        function = self.function
        of_params = [r for param in function.params for r in isa.flatten(param.value)]
        if of_params != list(range(len(of_params))) or len(of_params) > len(self.specs):
            yield Diagnostic(
                f"the parameters of function `@{function.name}` are not its first registers",
                expected=", ".join(f"%{register}" for register in range(len(of_params))),
                found=", ".join(f"%{register}" for register in of_params),
            )
        if not function.blocks or function.blocks[0].params:
            yield Diagnostic(f"function `@{function.name}` begins with a block without parameters")
        if function.state:
            yield from self.state()
        for spec in dict.fromkeys([*self.specs, *isa.flatten(function.results)]):
            yield from _mentioned(spec, self.program, f"function `@{function.name}`")
        for number, block in enumerate(function.blocks):
            self.at = number, len(block)
            if not block.instructions or not isinstance(block.instructions[-1], isa.Terminator):
                yield self.problem("nothing says where to go on")
            for register in block.params:
                if not self.exists(register):
                    yield self.problem(f"there is no register %{register}")
        for instruction in self.all():
            block = function.blocks[self.at[0]]
            if isinstance(instruction, isa.Terminator) and self.at[1] != len(block) - 1:
                yield self.problem("nothing is reached after this")
            yield from self.names(instruction)

    def state(self) -> Iterator[Diagnostic]:
        """Check the state: names, types, and new values of these types."""
        function, names = self.function, self.function.state
        last = [param.name for param in function.params[-len(names) :]]
        what = f"the state of function `@{function.name}`"
        if function.name != isa.MAIN or last != list(names) or len(set(last)) != len(last):
            found = ", ".join(last)
            yield Diagnostic(
                f"{what} is not its last parameters", expected=", ".join(names), found=found
            )
            return
        values = [param.value for param in function.params[-len(names) :]]
        kept = [self.specs[one] for one in values if isinstance(one, int) and self.exists(one)]
        if len(kept) < len(values):
            yield Diagnostic(f"{what} has parameters that are no tensors")
            return
        results = function.results
        if results == () and function.is_straight_line and function.blocks[0].instructions:
            last_one = function.blocks[0].instructions[-1]
            value = last_one.value if isinstance(last_one, isa.Return) else ()
            if all(map(self.exists, isa.flatten(value))):
                results = isa.unflatten(value, [self.specs[one] for one in isa.flatten(value)])
        given = results[1:] if isinstance(results, tuple) else ()
        fit = [
            isinstance(new, TensorSpec | isa.ScalarSpec) and continues(old, new)
            for old, new in zip(kept, given, strict=False)
        ]
        if len(given) != len(kept) or not all(fit):
            wanted = f"the result, and {isa.spec_text(tuple(kept))}"
            yield Diagnostic(
                f"{what} has no new value", expected=wanted, found=isa.spec_text(results)
            )

    def exists(self, register: isa.Register) -> bool:
        return 0 <= register < len(self.specs)

    def names(self, instruction: isa.Instruction) -> Iterator[Diagnostic]:
        """Check that the registers and blocks of an instruction exist."""
        if isinstance(instruction, isa.InvokeKernel) and not all(
            map(self.exists, instruction.outputs)
        ):
            yield self.problem("there is no such register")
            return
        used = uses(instruction, self.specs)
        for register in dict.fromkeys((*used.borrowed, *used.consumed, *used.written)):
            if not self.exists(register):
                yield self.problem(f"there is no register %{register}")
        for block in successors(instruction):
            if not 0 <= block < len(self.function.blocks):
                yield self.problem(f"there is no block {block}")
            elif not isinstance(instruction, isa.Jump) and self.function.blocks[block].params:
                yield self.problem(f"block {block} has parameters, and nothing gives them a value")

    # --- definitions dominate uses, and types fit

    def contents(self) -> Iterator[Diagnostic]:
        written: dict[isa.Register, tuple[int, int]] = dict.fromkeys(self.function.inputs, (0, -1))
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
        register: isa.Register,
        written: dict[isa.Register, tuple[int, int]],
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
