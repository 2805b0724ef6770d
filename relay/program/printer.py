"""Programs as text. See `relay.program.text` for what it looks like."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any, Final

from relay.errors import VALUE
from relay.lower.kernel import Kernel
from relay.program.program import (
    AllocTensor,
    Branch,
    CallClosure,
    CallFunction,
    ComputeSize,
    Constant,
    Constructor,
    DataType,
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
    Program,
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
    Value,
    ViewTensor,
    WriteReference,
    flatten,
    name_text,
    spec_text,
    string_text,
)
from relay.program.uses import uses

VERSION: Final = 1

# The fields of a kernel that are written by name, when they differ from their default.
NOTES: Final = tuple(
    field for field in fields(Kernel) if field.name not in ("name", "inputs", "outputs", "ir")
)

_PLAIN_SYMBOL: Final = re.compile(r"[A-Za-z_][\w.$]*")


def to_text(program: Program) -> str:
    """The text of `program`, without the code of its kernels."""
    sections = [[f"relay program {VERSION}"]]
    sections.append([_data_type_text(one) for one in program.types])
    sections.append([_kernel_text(kernel) for kernel in program.kernels])
    sections.append([_constant_text(constant) for constant in program.constants])
    sections.extend(_function_lines(function) for function in program.functions)
    return "\n\n".join("\n".join(lines) for lines in sections if lines) + "\n"


# --- what a program declares --------------------------------------------------------------------


def _data_type_text(one: DataType) -> str:
    constructors = "; ".join(map(_constructor_text, one.constructors))
    return f"data {name_text(one.name)} {{ {constructors} }}"


def _constructor_text(constructor: Constructor) -> str:
    if not constructor.fields:
        return name_text(constructor.name)
    parts = ", ".join(map(spec_text, constructor.fields))
    return f"{name_text(constructor.name)}({parts})"


def _kernel_text(kernel: Kernel) -> str:
    inputs = ", ".join(map(spec_text, kernel.inputs))
    outputs = ", ".join(map(spec_text, kernel.outputs))
    notes = [
        f" {field.name}={_note_text(getattr(kernel, field.name))}"
        for field in NOTES
        if getattr(kernel, field.name) != field.default
    ]
    return f"kernel {symbol_text(kernel.name)}({inputs}) -> ({outputs}){''.join(notes)}"


def _note_text(data: Any) -> str:
    """Numbers, strings and tuples of them, as deep as the records of a kernel nest."""
    if isinstance(data, str):
        return string_text(data)
    if isinstance(data, tuple):
        return "(" + ", ".join(map(_note_text, data)) + ("," if len(data) == 1 else "") + ")"
    return str(int(data))


def _constant_text(constant: Constant) -> str:
    source = "" if constant.prepared is None else f" = prepare.{constant.prepared}"
    return f"constant {string_text(constant.name)}: {spec_text(constant.spec)}{source}"


# --- functions ----------------------------------------------------------------------------------


def _function_lines(function: Function) -> list[str]:
    typed = _typed(function)
    params = ", ".join(
        f"{string_text(param.name)} = {_value_text(param.value, typed)}"
        for param in function.params
    )
    results = "" if function.results == () else f" -> {spec_text(function.results)}"
    names = ", ".join(map(string_text, function.result_names))
    named = f" named ({names})" if names else ""
    signature = f"{symbol_text(function.name)}({params}){results}{named}"
    head = f"function {signature}{_where(function.where)} {{"
    lines = [head]
    lines.extend(f"  unused {typed(register)}" for register in _never_written(function))
    for number, block in enumerate(function.blocks):
        if number or block.params:
            given = f"({', '.join(map(typed, block.params))})" if block.params else ""
            lines.append(f"block {number}{given}:")
        lines.extend("  " + instruction_text(one, function) for one in block)
    return [*lines, "}"]


def _typed(function: Function) -> Callable[[Register], str]:
    def typed(register: Register) -> str:
        if register >= len(function.registers):
            return f"%{register}"  # a program that is not well formed can be looked at, too
        return f"%{register}: {spec_text(function.registers[register])}"

    return typed


def _never_written(function: Function) -> list[Register]:
    """Registers that have a type and nothing else."""
    written = {register for param in function.params for register in flatten(param.value)}
    for block in function.blocks:
        written.update(block.params)
        for instruction in block:
            written.update(uses(instruction, function.registers).written)
    return [register for register in range(len(function.registers)) if register not in written]


def instruction_text(instruction: Instruction, function: Function) -> str:
    """An instruction of `function`, in one line."""
    typed = _typed(function)
    match instruction:
        case LoadConstant(output, name):
            return f"{typed(output)} = constant {string_text(name)}"
        case Literal(output, value):
            return f"{typed(output)} = {_number_text(value)}"
        case Scalar(output, op, inputs):
            return f"{typed(output)} = {op} {_registers(inputs)}"
        case AllocTensor(output, sizes, local, where):
            kind = "alloc local" if local else "alloc"
            return f"{typed(output)} = {kind}{_sizes(sizes)}{_where(where)}"
        case ViewTensor(output, source, sizes, where):
            return f"{typed(output)} = view %{source}{_sizes(sizes)}{_where(where)}"
        case InvokeKernel(kernel, inputs, outputs, sizes, where):
            written = ", ".join(_output_text(function, typed, output) for output in outputs)
            called = f"{symbol_text(kernel)}({_registers(inputs)})"
            return f"invoke {called} -> ({written}){_sizes(sizes)}{_where(where)}"
        case ReadSize(output, tensor, axis):
            return f"{typed(output)} = size %{tensor}[{axis}]"
        case ReadElement(output, tensor, index):
            return f"{typed(output)} = element %{tensor}[{index}]"
        case ComputeSize(output, op, left, right, where):
            return f"{typed(output)} = compute {op} %{left}, %{right}{_where(where)}"
        case RequireEqual(left, right, message, where, expected, found, shown):
            texts = ""
            if (expected, found, shown) != (VALUE, VALUE, ()):
                texts = f" expected {string_text(expected)} found {string_text(found)}"
                texts += f" shows ({_registers(shown)})" if shown else ""
            return f"require %{left} = %{right} {string_text(message)}{texts}{_where(where)}"
        case MakeData(output, constructor, parts):
            return f"{typed(output)} = data {name_text(constructor)}({_registers(parts)})"
        case GetField(output, data, constructor, index):
            return f"{typed(output)} = field %{data} {name_text(constructor)}.{index}"
        case MakeClosure(output, name, captured):
            return f"{typed(output)} = closure {symbol_text(name)}({_registers(captured)})"
        case MakeReference(output, contents):
            return f"{typed(output)} = reference ({_registers(contents)})"
        case ReadReference(outputs, reference):
            return f"({', '.join(map(typed, outputs))}) = read %{reference}"
        case WriteReference(reference, contents):
            return f"write %{reference} ({_registers(contents)})"
        case CallFunction(outputs, name, args):
            results = ", ".join(map(typed, outputs))
            return f"({results}) = call {symbol_text(name)}({_registers(args)})"
        case CallClosure(outputs, closure, args):
            return f"({', '.join(map(typed, outputs))}) = call %{closure}({_registers(args)})"
        case Retain(register):
            return f"retain %{register}"
        case Release(register):
            return f"release %{register}"
        case Return(result):
            return f"return {_value_text(result, '%{}'.format)}"
        case Jump(block, args):
            return f"jump {block}" + (f"({_registers(args)})" if args else "")
        case Branch(condition, true, false):
            return f"branch %{condition} ? {true} : {false}"
        case Switch(data, cases, otherwise):
            listed = [f"{name_text(name)}: {block}" for name, block in cases]
            if otherwise is not None:
                listed.append(f"else: {otherwise}")
            return f"switch %{data} {{ {', '.join(listed)} }}"
        case TailCall(name, args):
            return f"tail call {symbol_text(name)}({_registers(args)})"
        case TailCallClosure(closure, args):
            return f"tail call %{closure}({_registers(args)})"
        case Fail(message, where):
            return f"fail {string_text(message)}{_where(where)}"


# --- parts --------------------------------------------------------------------------------------


def _output_text(function: Function, typed: Callable[[Register], str], output: Register) -> str:
    """Scalars are written by the kernel, tensors were there before."""
    specs = function.registers
    scalar = output < len(specs) and isinstance(specs[output], ScalarSpec)
    return typed(output) if scalar else f"%{output}"


def _number_text(value: bool | int | float) -> str:
    """`true`, `-3`, `0.1`, `inf`; `repr` gives the shortest text that is read as the same float."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(int(value)) if isinstance(value, int) else repr(float(value))


def symbol_text(name: str) -> str:
    """The name of a kernel or a function: `@main`."""
    return f"@{name}" if _PLAIN_SYMBOL.fullmatch(name) else f"@{string_text(name)}"


def _registers(registers: Sequence[Register]) -> str:
    return ", ".join(f"%{register}" for register in registers)


def _sizes(registers: Sequence[Register]) -> str:
    return f" [{_registers(registers)}]" if registers else ""


def _where(where: str) -> str:
    return f" where {string_text(where)}" if where else ""


def _value_text(value: Value, leaf: Callable[[Register], str]) -> str:
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
