"""Printing of programs (`relay.program.text`)."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any, Final

from relay.errors import VALUE
from relay.lower.kernel import Kernel
from relay.program import program as isa
from relay.program.syntax import pieces
from relay.program.uses import uses

VERSION: Final = 1

# The fields of a kernel that are printed as `name=value` when they differ from their default.
NOTES: Final = tuple(
    field for field in fields(Kernel) if field.name not in ("name", "inputs", "outputs", "ir")
)

_PLAIN_SYMBOL: Final = re.compile(r"[A-Za-z_][\w.$]*")


def to_text(program: isa.Program) -> str:
    """The text of `program`, without the code of its kernels."""
    sections = [[f"relay program {VERSION}"]]
    sections.append([_data_type_text(one) for one in program.types])
    sections.append([_kernel_text(kernel) for kernel in program.kernels])
    sections.append([_constant_text(constant) for constant in program.constants])
    sections.extend(_function_lines(function) for function in program.functions)
    return "\n\n".join("\n".join(lines) for lines in sections if lines) + "\n"


# --- what a program declares --------------------------------------------------------------------


def _data_type_text(one: isa.DataType) -> str:
    constructors = "; ".join(map(_constructor_text, one.constructors))
    return f"data {isa.name_text(one.name)} {{ {constructors} }}"


def _constructor_text(constructor: isa.Constructor) -> str:
    if not constructor.fields:
        return isa.name_text(constructor.name)
    parts = ", ".join(map(isa.spec_text, constructor.fields))
    return f"{isa.name_text(constructor.name)}({parts})"


def _kernel_text(kernel: Kernel) -> str:
    inputs = ", ".join(map(isa.spec_text, kernel.inputs))
    outputs = ", ".join(map(isa.spec_text, kernel.outputs))
    notes = [
        f" {field.name}={_note_text(getattr(kernel, field.name))}"
        for field in NOTES
        if getattr(kernel, field.name) != field.default
    ]
    return f"kernel {symbol_text(kernel.name)}({inputs}) -> ({outputs}){''.join(notes)}"


def _note_text(data: Any) -> str:
    """Numbers, strings and tuples of them; recursion is as deep as the fields of a kernel nest."""
    if isinstance(data, str):
        return isa.string_text(data)
    if isinstance(data, tuple):
        return "(" + ", ".join(map(_note_text, data)) + ("," if len(data) == 1 else "") + ")"
    return str(int(data))


def _constant_text(constant: isa.Constant) -> str:
    source = "" if constant.prepared is None else f" = prepare.{constant.prepared}"
    return f"constant {isa.string_text(constant.name)}: {isa.spec_text(constant.spec)}{source}"


# --- functions ----------------------------------------------------------------------------------


def _function_lines(function: isa.Function) -> list[str]:
    typed, writer = _typed(function), _Writer(function)
    params = ", ".join(
        f"{isa.string_text(param.name)} = {_value_text(param.value, typed)}"
        for param in function.params
    )
    results = "" if function.results == () else f" -> {isa.spec_text(function.results)}"
    names = ", ".join(map(isa.string_text, function.result_names))
    named = f" named ({names})" if names else ""
    signature = f"{symbol_text(function.name)}({params}){results}{named}"
    state = ", ".join(map(isa.string_text, function.state))
    kept = f" state ({state})" if state else ""
    where = f" where {isa.string_text(function.where)}" if function.where else ""
    head = f"function {signature}{kept}{where} {{"
    lines = [head]
    lines.extend(f"  unused {typed(register)}" for register in _never_written(function))
    for number, block in enumerate(function.blocks):
        if number or block.params:
            given = f"({', '.join(map(typed, block.params))})" if block.params else ""
            lines.append(f"block {number}{given}:")
        lines.extend("  " + writer.text(one) for one in block)
    return [*lines, "}"]


def _typed(function: isa.Function) -> Callable[[isa.Register], str]:
    def typed(register: isa.Register) -> str:
        if register >= len(function.registers):
            return f"%{register}"  # ill-formed programs can be printed too
        return f"%{register}: {isa.spec_text(function.registers[register])}"

    return typed


def _never_written(function: isa.Function) -> list[isa.Register]:
    """The registers that nothing writes."""
    written = {register for param in function.params for register in isa.flatten(param.value)}
    for block in function.blocks:
        written.update(block.params)
        for instruction in block:
            written.update(uses(instruction, function.registers).written)
    return [register for register in range(len(function.registers)) if register not in written]


def instruction_text(instruction: isa.Instruction, function: isa.Function) -> str:
    """The text of an instruction, one line."""
    return _Writer(function).text(instruction)


def symbol_text(name: str) -> str:
    """The name of a kernel or a function: `@main`."""
    return f"@{name}" if _PLAIN_SYMBOL.fullmatch(name) else f"@{isa.string_text(name)}"


class _Writer:
    """Prints instructions of a function: a method per kind of field (`relay.program.syntax`)."""

    def __init__(self, function: isa.Function) -> None:
        self.specs = function.registers
        self.new = _typed(function)

    def text(self, instruction: isa.Instruction) -> str:
        written = []
        kind: Any = type(instruction)
        for piece in pieces(kind):
            if isinstance(piece, str):
                written.append(piece)
            elif piece.kind in ("texts", "cases"):
                written.append(getattr(self, piece.kind)(instruction))
            else:
                written.append(getattr(self, piece.kind)(getattr(instruction, piece.name)))
        return "".join(written)

    # --- registers

    def news(self, registers: Sequence[isa.Register]) -> str:
        return f"({', '.join(map(self.new, registers))})"

    def read(self, register: isa.Register) -> str:
        return f"%{register}"

    def listed(self, registers: Sequence[isa.Register]) -> str:
        return ", ".join(map(self.read, registers))

    def reads(self, registers: Sequence[isa.Register]) -> str:
        return f"({self.listed(registers)})"

    give, gives = read, reads

    def sizes(self, registers: Sequence[isa.Register]) -> str:
        return f" [{self.listed(registers)}]" if registers else ""

    def arguments(self, registers: Sequence[isa.Register]) -> str:
        return self.reads(registers) if registers else ""

    def value(self, value: isa.Value) -> str:
        return _value_text(value, self.read)

    def outputs(self, registers: Sequence[isa.Register]) -> str:
        known = range(len(self.specs))
        scalars = {r for r in registers if r in known and isinstance(self.specs[r], isa.ScalarSpec)}
        return f"({', '.join(self.new(r) if r in scalars else f'%{r}' for r in registers)})"

    # --- others

    def local(self, local: bool) -> str:
        return " local" if local else ""

    def where(self, where: str) -> str:
        return f" where {isa.string_text(where)}" if where else ""

    def texts(self, check: isa.RequireEqual) -> str:
        if (check.expected, check.found, check.shown) == (VALUE, VALUE, ()):
            return ""
        texts = f" expected {isa.string_text(check.expected)} found {isa.string_text(check.found)}"
        return f"{texts} shows {self.reads(check.shown)}" if check.shown else texts

    def cases(self, switch: isa.Switch) -> str:
        listed = [f"{isa.name_text(name)}: {block}" for name, block in switch.cases]
        if switch.otherwise is not None:
            listed.append(f"else: {switch.otherwise}")
        return ", ".join(listed)

    def literal(self, value: bool | int | float) -> str:
        """`true`, `-3`, `0.1`, `inf`: the shortest text that is parsed as the same value."""
        if isinstance(value, bool):
            return "true" if value else "false"
        return repr(int(value)) if isinstance(value, int) else repr(float(value))

    string = constant = staticmethod(isa.string_text)
    name = staticmethod(isa.name_text)
    operation = natural = block = staticmethod(str)

    function = kernel = staticmethod(symbol_text)


# --- parts --------------------------------------------------------------------------------------


def _value_text(value: isa.Value, leaf: Callable[[isa.Register], str]) -> str:
    """`(%1, (%2, %3))`"""
    pieces: list[str] = []
    pending: list[Any] = [value]
    while pending:
        current = pending.pop()
        if isinstance(current, str):
            pieces.append(current)
        elif isinstance(current, tuple):
            pending.append(",)" if len(current) == 1 else ")")
            for position in range(len(current) - 1, -1, -1):
                pending.append(current[position])
                if position:
                    pending.append(", ")
            pending.append("(")
        else:
            pieces.append(leaf(current))
    return "".join(pieces)
