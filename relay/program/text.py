"""The text form of a program: what `print(exe.program)` shows and an artifact stores.

    relay program 1

    kernel @relu_4(float32[4]) -> (float32[4]) in_place=((0, 0),) operators=("nn.relu",)

    function @main("x" = %0: float32[4]) {
      %1: float32[4] = alloc
      invoke @relu_4(%0) -> (%1)
      return %1
    }

Everything of a program is in its text except the code of the kernels, which lies in object files
under the same names: `parse(to_text(program))` is the program without it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import fields
from typing import Any, Final

from relay import dtypes
from relay.errors import Diagnostic, ParseError, SourceName, Span
from relay.lower.kernel import Kernel, TensorSpec
from relay.program.program import (
    AllocTensor,
    Block,
    Constant,
    Function,
    Instruction,
    InvokeKernel,
    LoadConstant,
    Parameter,
    Program,
    Register,
    Return,
    Value,
    ViewTensor,
    spec_text,
)
from relay.tree import Steps, run

VERSION: Final = 1

# The fields of a kernel that are written by name, when they differ from their default.
_NOTES: Final = tuple(
    field for field in fields(Kernel) if field.name not in ("name", "inputs", "outputs", "ir")
)


# --- writing ------------------------------------------------------------------------------------


def to_text(program: Program) -> str:
    """The text of `program`, without the code of its kernels."""
    sections = [[f"relay program {VERSION}"]]
    sections.append([_kernel_text(kernel) for kernel in program.kernels])
    sections.append([_constant_text(constant) for constant in program.constants])
    sections.extend(_function_lines(function) for function in program.functions)
    return "\n\n".join("\n".join(lines) for lines in sections if lines) + "\n"


def _kernel_text(kernel: Kernel) -> str:
    inputs = ", ".join(map(spec_text, kernel.inputs))
    outputs = ", ".join(map(spec_text, kernel.outputs))
    notes = [
        f" {field.name}={_data_text(getattr(kernel, field.name))}"
        for field in _NOTES
        if getattr(kernel, field.name) != field.default
    ]
    return f"kernel @{kernel.name}({inputs}) -> ({outputs}){''.join(notes)}"


def _data_text(data: Any) -> str:
    """Numbers, strings and tuples of them, as deep as the records of a kernel nest."""
    if isinstance(data, str):
        return string_text(data)
    if isinstance(data, tuple):
        return "(" + ", ".join(map(_data_text, data)) + ("," if len(data) == 1 else "") + ")"
    return str(int(data))


def _constant_text(constant: Constant) -> str:
    source = "" if constant.prepared is None else f" = prepare.{constant.prepared}"
    return f"constant {string_text(constant.name)}: {spec_text(constant.spec)}{source}"


def _function_lines(function: Function) -> list[str]:
    def typed(register: Register) -> str:
        return f"%{register}: {spec_text(function.registers[register])}"

    params = ", ".join(
        f"{string_text(param.name)} = {_value_text(param.value, typed)}"
        for param in function.params
    )
    lines = [f"function @{function.name}({params}) {{"]
    for number, block in enumerate(function.blocks):
        if number:
            lines.append(f"block {number}:")
        lines.extend("  " + _instruction_text(instruction, typed) for instruction in block)
    return [*lines, "}"]


def _instruction_text(instruction: Instruction, typed: Any) -> str:
    match instruction:
        case LoadConstant(output, name):
            return f"{typed(output)} = constant {string_text(name)}"
        case AllocTensor(output):
            return f"{typed(output)} = alloc"
        case ViewTensor(output, source):
            return f"{typed(output)} = view %{source}"
        case InvokeKernel(kernel, inputs, outputs):
            return f"invoke @{kernel}({_registers(inputs)}) -> ({_registers(outputs)})"
        case Return(value):
            return f"return {_value_text(value, '%{}'.format)}"


def string_text(value: str) -> str:
    """A string as in JSON."""
    return json.dumps(value, ensure_ascii=not value.isprintable())


def _registers(registers: Sequence[Register]) -> str:
    return ", ".join(f"%{register}" for register in registers)


def _value_text(value: Value, leaf: Any) -> str:
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


# --- reading ------------------------------------------------------------------------------------

_TOKEN: Final = re.compile(
    r"""\s*(?P<at>)(?:
    (?P<string>"(?:[^"\\\n]|\\.)*")
  | (?P<register>%[0-9]+)
  | (?P<symbol>@[A-Za-z_][\w.$]*)
  | (?P<tensor>[A-Za-z_]\w*\[[^]]*\])
  | (?P<number>-?[0-9]+)
  | (?P<word>[A-Za-z_]\w*)
  | (?P<mark>->|[(){},:=.])
  | (?P<end>\Z)
  | (?P<other>.)
    )""",
    re.VERBOSE,
)
_LAST_NUMBER: Final = 2**63  # nothing in a program is larger


def parse(text: str, name: str = "program") -> Program:
    """The program that `to_text` wrote; ParseError when it is none."""
    return _Reader(text, name).program()


class _Reader:
    """Takes tokens from left to right; every method reads what it is called after."""

    def __init__(self, text: str, name: str) -> None:
        self.text = text
        self.source = SourceName(name, text)
        # all at once: a program has more tokens than anything else
        self.tokens = [
            (found.lastgroup or "end", found[found.lastgroup or "end"], found.start("at"))
            for found in _TOKEN.finditer(text)
        ]
        self.specs: dict[str, TensorSpec] = {}
        self.position = -1
        self.kind = self.token = ""
        self.start = 0
        self.advance()

    # --- tokens

    def advance(self) -> str:
        """Go to the next token; the one left behind."""
        left = self.token
        self.position += 1
        self.kind, self.token, self.start = self.tokens[self.position]
        if self.kind == "other":
            raise self.error("this is no part of a program")
        return left

    def expect(self, token: str) -> None:
        if self.token != token:
            raise self.error(f"expected `{token}`")
        self.advance()

    def take(self, kind: str) -> str:
        if self.kind != kind:
            raise self.error(f"expected a {kind}")
        return self.advance()

    def accept(self, token: str) -> bool:
        if self.token != token or self.kind == "string":
            return False
        self.advance()
        return True

    def error(self, message: str) -> ParseError:
        line = self.text.count("\n", 0, self.start) + 1
        column = self.start - (self.text.rfind("\n", 0, self.start) + 1) + 1
        width = max(1, len(self.token))
        span = Span(self.source, line, line, column, column + width)
        found = f"`{self.token}`" if self.token else "the end of the text"
        return ParseError(Diagnostic(message, span, found=found))

    def number(self) -> int:
        if self.kind == "number" and abs(int(self.token[:20])) >= _LAST_NUMBER:
            raise self.error("this number is too large")
        return int(self.take("number"))

    def string(self) -> str:
        if self.kind != "string":
            raise self.error("expected a string")
        try:
            value: str = json.loads(self.token)
        except ValueError:
            raise self.error("this string has an escape that is none") from None
        self.advance()
        return value

    def symbol(self) -> str:
        return self.take("symbol")[1:]

    def separated(self, last: str) -> Iterator[None]:
        """Go through a list that ends in `last`; commas are read here, its items by the caller."""
        while not self.accept(last):
            yield
            if self.token != last:
                self.expect(",")

    # --- the parts of a program

    def program(self) -> Program:
        for word in ("relay", "program"):
            self.expect(word)
        if self.token != str(VERSION):
            raise self.error(f"this program is of another version, not of version {VERSION}")
        self.advance()
        kernels: dict[str, Kernel] = {}
        constants: dict[str, Constant] = {}
        functions: dict[str, Function] = {}
        while self.kind != "end":
            if self.accept("kernel"):
                self.add(kernels, self.kernel())
            elif self.accept("constant"):
                self.add(constants, self.constant())
            elif self.accept("function"):
                self.add(functions, _FunctionReader(self, kernels, constants).function())
            else:
                raise self.error("expected a kernel, a constant or a function")
        return Program(
            tuple(kernels.values()), tuple(constants.values()), tuple(functions.values())
        )

    def add(self, table: dict[str, Any], entry: Any) -> None:
        if entry.name in table:
            raise self.error(f"`{entry.name}` is defined twice before this")
        table[entry.name] = entry

    def kernel(self) -> Kernel:
        name = self.symbol()
        self.expect("(")
        inputs = tuple(self.spec() for _ in self.separated(")"))
        self.expect("->")
        self.expect("(")
        outputs = tuple(self.spec() for _ in self.separated(")"))
        known = {field.name: field.default for field in _NOTES}
        notes: dict[str, Any] = {}
        while self.token in known and self.kind == "word":
            note = self.advance()
            self.expect("=")
            notes[note] = self.data(known[note])
        return Kernel(name, inputs, outputs, "", **notes)

    def data(self, default: Any) -> Any:
        """A value of the same kind as `default`."""
        if isinstance(default, bool):
            return bool(self.number())
        if isinstance(default, int):
            return self.number()
        self.expect("(")
        return tuple(self.datum() for _ in self.separated(")"))

    def datum(self) -> Any:
        """A string, or a pair of numbers."""
        if self.kind == "string":
            return self.string()
        self.expect("(")
        return tuple(self.number() for _ in self.separated(")"))

    def constant(self) -> Constant:
        name = self.string()
        self.expect(":")
        spec = self.spec()
        if not self.accept("="):
            return Constant(name, spec)
        self.expect("prepare")
        self.expect(".")
        return Constant(name, spec, self.number())

    def spec(self) -> TensorSpec:
        """`float32[2, 3]`, one token: tensors of one type are many."""
        found = self.specs.get(self.token)
        if found is None:
            if self.kind != "tensor":
                raise self.error("expected the type of a tensor")
            found = self.specs[self.token] = self.read_spec()
        self.advance()
        return found

    def read_spec(self) -> TensorSpec:
        dtype, _, rest = self.token[:-1].partition("[")
        if not dtypes.is_dtype(dtype):
            raise self.error("this is no element type")
        shape: list[int | str] = []
        for size in rest.split(",") if rest.strip() else ():
            word = size.strip()
            if word.isdecimal() and word.isascii() and len(word) < 20:
                shape.append(int(word))
            elif word.isidentifier():
                shape.append(word)
            else:
                raise self.error(f"`{word}` is no size of a tensor")
        return TensorSpec(tuple(shape), dtype)


class _FunctionReader:
    """Reads one function; registers must be written before they are read."""

    def __init__(
        self, reader: _Reader, kernels: dict[str, Kernel], constants: dict[str, Constant]
    ) -> None:
        self.reader = reader
        self.kernels = kernels
        self.constants = constants
        self.registers: list[TensorSpec] = []

    def function(self) -> Function:
        reader = self.reader
        name = reader.symbol()
        reader.expect("(")
        params = tuple(self.parameter() for _ in reader.separated(")"))
        reader.expect("{")
        blocks = [self.block()]
        while reader.accept("block"):
            if reader.token != str(len(blocks)):
                raise reader.error(f"expected block {len(blocks)}")
            reader.advance()
            reader.expect(":")
            blocks.append(self.block())
        reader.expect("}")
        return Function(name, params, tuple(self.registers), tuple(blocks))

    def parameter(self) -> Parameter:
        name = self.reader.string()
        self.reader.expect("=")
        return Parameter(name, run(self.value(self.define)))

    def value(self, leaf: Any) -> Steps[Value]:
        if not self.reader.accept("("):
            return leaf()  # type: ignore[no-any-return]
        fields = []
        for _ in self.reader.separated(")"):
            fields.append((yield self.value(leaf)))
        return tuple(fields)

    def define(self) -> Register:
        """`%1: float32[4]`"""
        reader = self.reader
        if reader.token != f"%{len(self.registers)}":
            raise reader.error(f"expected `%{len(self.registers)}`, the next register")
        reader.advance()
        reader.expect(":")
        self.registers.append(reader.spec())
        return len(self.registers) - 1

    def use(self) -> Register:
        reader = self.reader
        if reader.kind != "register" or int(reader.token[1:20]) >= len(self.registers):
            raise reader.error("expected a register that was written before")
        return int(reader.advance()[1:])

    def block(self) -> Block:
        instructions: list[Instruction] = []
        while not instructions or not isinstance(instructions[-1], Return):
            instructions.append(self.instruction())
        return Block(tuple(instructions))

    def instruction(self) -> Instruction:
        reader = self.reader
        if reader.accept("return"):
            return Return(run(self.value(self.use)))
        if reader.accept("invoke"):
            return self.invoke()
        output = self.define()
        reader.expect("=")
        if reader.accept("alloc"):
            return AllocTensor(output)
        if reader.accept("view"):
            return ViewTensor(output, self.use())
        reader.expect("constant")
        name = reader.string()
        if name not in self.constants or self.constants[name].spec != self.registers[output]:
            raise reader.error(f"the program has no such constant {name!r}, or of another type")
        return LoadConstant(output, name)

    def invoke(self) -> InvokeKernel:
        reader = self.reader
        if reader.token[1:] not in self.kernels:
            raise reader.error("expected a kernel of the program")
        kernel = self.kernels[reader.symbol()]
        reader.expect("(")
        inputs = tuple(self.use() for _ in reader.separated(")"))
        reader.expect("->")
        reader.expect("(")
        outputs = tuple(self.use() for _ in reader.separated(")"))
        for given, wanted in ((inputs, kernel.inputs), (outputs, kernel.outputs)):
            if tuple(self.registers[register] for register in given) != wanted:
                raise reader.error(f"the registers before this are not what `@{kernel.name}` takes")
        return InvokeKernel(kernel.name, inputs, outputs)
