"""Programs from text: the other way round from `relay.program.printer`.

What is checked here is what the text itself shows: that it is complete, that names are known, that
every register is written once. Whether the types fit is for `relay.program.verify` to say.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from relay import dtypes
from relay.errors import VALUE, Diagnostic, ParseError, SourceName, Span, did_you_mean
from relay.lower.kernel import Kernel, TensorSpec
from relay.program.printer import NOTES, VERSION
from relay.program.program import (
    AllocTensor,
    Block,
    Branch,
    CallClosure,
    CallFunction,
    ClosureSpec,
    ComputeSize,
    Constant,
    Constructor,
    DataSpec,
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
    Parameter,
    Program,
    ReadElement,
    ReadReference,
    ReadSize,
    ReferenceSpec,
    Register,
    Release,
    RequireEqual,
    Retain,
    Return,
    Scalar,
    ScalarSpec,
    Spec,
    Switch,
    TailCall,
    TailCallClosure,
    Terminator,
    Value,
    ViewTensor,
    WriteReference,
)
from relay.program.scalars import OPERATIONS
from relay.tree import Steps, run

# Types are one token as far as that is possible, `float32[2, 3]` and `List[int32]`: they are many.
# Where brackets nest, in `List[float32[?]]`, the name is put together when it is read.
_TOKEN: Final = re.compile(
    r"""\s*(?P<at>)(?:
    (?P<string>"(?:[^"\\\n]|\\.)*")
  | (?P<register>%[0-9]+)
  | (?P<symbol>@(?:[A-Za-z_][\w.$]*|"(?:[^"\\\n]|\\.)*"))
  | (?P<type>[A-Za-z_]\w*\[(?:[^]["\n%]|"(?:[^"\\\n]|\\.)*")*\])
  | (?P<float>-?(?:[0-9]+(?:\.[0-9]+(?:e[-+]?[0-9]+)?|e[-+]?[0-9]+)|(?:inf|nan)\b))
  | (?P<number>-?[0-9]+)
  | (?P<word>[A-Za-z_]\w*)
  | (?P<mark>->|[][(){},:;=.?])
  | (?P<end>\Z)
  | (?P<other>.)
    )""",
    re.VERBOSE,
)
_SIZE: Final = re.compile(r'\s*(?P<size>[^,"]*|"(?:[^"\\]|\\.)*")\s*(?:,|\Z)')
_LAST_NUMBER: Final = 2**63  # nothing in a program is larger, except literals
_LAST_LITERAL: Final = 2**64


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
        self.specs: dict[str, Spec] = {}  # of types that are one token
        self.data: dict[str, int] = {}  # data types that are mentioned -> at which token
        self.called: dict[str, int] = {}  # functions that are
        self.position = -1
        self.kind = self.token = ""
        self.start = 0
        self.advance()

    # --- tokens

    def advance(self) -> str:
        """Go to the next token; the one left behind."""
        left = self.token
        self.go_to(self.position + 1)
        if self.kind == "other":
            raise self.error("this is no part of a program")
        return left

    def go_to(self, position: int) -> None:
        self.position = position
        self.kind, self.token, self.start = self.tokens[position]

    def expect(self, token: str) -> None:
        if not self.accept(token):
            raise self.error(f"expected `{token}`")

    def take(self, kind: str) -> str:
        if self.kind != kind:
            raise self.error(f"expected a {kind}")
        return self.advance()

    def accept(self, token: str) -> bool:
        if self.token != token or self.kind == "string":
            return False
        self.advance()
        return True

    def error(self, message: str, hint: str | None = None) -> ParseError:
        line = self.text.count("\n", 0, self.start) + 1
        column = self.start - (self.text.rfind("\n", 0, self.start) + 1) + 1
        width = max(1, len(self.token))
        span = Span(self.source, line, line, column, column + width)
        found = f"`{self.token}`" if self.token else "the end of the text"
        return ParseError(Diagnostic(message, span, found=found, hint=hint))

    def error_at(self, position: int, message: str, hint: str | None = None) -> ParseError:
        """An error at a token that was read before."""
        self.go_to(position)
        return self.error(message, hint)

    def number(self, limit: int = _LAST_NUMBER) -> int:
        if self.kind == "number" and (len(self.token) > 21 or abs(int(self.token)) >= limit):
            raise self.error("this number is too large")
        return int(self.take("number"))

    def natural(self) -> int:
        if self.token.startswith("-"):
            raise self.error("expected a number from 0 on")
        return self.number()

    def literal(self) -> bool | int | float:
        if self.kind == "float":
            return float(self.advance())
        if self.kind == "number":
            return self.number(_LAST_LITERAL)
        return self.advance() == "true"

    def string(self) -> str:
        if self.kind != "string":
            raise self.error("expected a string")
        value = self.unquoted(self.token)
        self.advance()
        return value

    def unquoted(self, quoted: str) -> str:
        try:
            value: str = json.loads(quoted)
        except ValueError:
            raise self.error("this string has an escape that is none") from None
        return value

    def symbol(self) -> str:
        if self.kind != "symbol":
            raise self.error("expected a name like `@main`")
        name = self.token[1:]
        name = self.unquoted(name) if name.startswith('"') else name
        self.advance()
        return name

    def name(self) -> str:
        """The name of a data type or a constructor."""
        if self.kind == "string":
            return self.string()
        if self.kind == "type":
            return self.advance()
        begin = self.start
        if self.kind != "word":
            raise self.error("expected a name")
        word = self.advance()
        if self.token != "[" or self.kind != "mark" or self.start != begin + len(word):
            return word
        depth = 0
        for position in range(self.position, len(self.tokens)):
            kind, token, start = self.tokens[position]
            depth += (token == "[") - (token == "]") if kind == "mark" else 0
            if depth == 0:
                self.go_to(position)
                self.advance()
                return self.text[begin : start + 1]
        raise self.error("this bracket is not closed")

    def separated(self, last: str, mark: str = ",") -> Iterator[None]:
        """Go through a list that ends in `last`; commas are read here, its items by the caller."""
        while not self.accept(last):
            yield
            if self.token != last:
                self.expect(mark)

    def where(self) -> str:
        return self.string() if self.accept("where") else ""

    # --- the parts of a program

    def program(self) -> Program:
        for word in ("relay", "program"):
            self.expect(word)
        if self.token != str(VERSION):
            raise self.error(f"this program is of another version, not of version {VERSION}")
        self.advance()
        types: dict[str, DataType] = {}
        kernels: dict[str, Kernel] = {}
        constants: dict[str, Constant] = {}
        functions: dict[str, Function] = {}
        while self.kind != "end":
            if self.accept("data"):
                self.add(types, self.data_type())
            elif self.accept("kernel"):
                self.add(kernels, self.kernel())
            elif self.accept("constant"):
                self.add(constants, self.constant())
            elif self.accept("function"):
                self.add(functions, _FunctionReader(self, kernels, constants).function())
            else:
                raise self.error("expected a data type, a kernel, a constant or a function")
        for known, mentioned, what in (
            (types, self.data, "data type"),
            (functions, self.called, "function"),
        ):
            for name, position in mentioned.items():
                if name not in known:
                    raise self.error_at(
                        position, f"the program has no {what} `{name}`", did_you_mean(name, known)
                    )
        return Program(
            tuple(kernels.values()),
            tuple(constants.values()),
            tuple(functions.values()),
            tuple(types.values()),
        )

    def add(self, table: dict[str, Any], entry: Any) -> None:
        if entry.name in table:
            raise self.error(f"`{entry.name}` is defined twice before this")
        table[entry.name] = entry

    def data_type(self) -> DataType:
        name = self.name()
        self.expect("{")
        return DataType(name, tuple(self.constructor() for _ in self.separated("}", ";")))

    def constructor(self) -> Constructor:
        name = self.name()
        if not self.accept("("):
            return Constructor(name, ())
        return Constructor(name, tuple(run(self.types()) for _ in self.separated(")")))

    def kernel(self) -> Kernel:
        name = self.symbol()
        self.expect("(")
        inputs = tuple(self.tensor() for _ in self.separated(")"))
        self.expect("->")
        self.expect("(")
        outputs = tuple(self.tensor() for _ in self.separated(")"))
        known = {field.name: field.default for field in NOTES}
        notes: dict[str, Any] = {}
        while self.token in known and self.kind == "word":
            note = self.advance()
            self.expect("=")
            notes[note] = self.note(known[note])
        return Kernel(name, inputs, outputs, "", **notes)

    def note(self, default: Any) -> Any:
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
        spec = self.tensor()
        if not self.accept("="):
            return Constant(name, spec)
        self.expect("prepare")
        self.expect(".")
        return Constant(name, spec, self.natural())

    # --- types

    def types(self) -> Steps[Any]:
        """A type, or tuples of types."""
        if not self.accept("("):
            return self.spec()
        fields = []
        for _ in self.separated(")"):
            fields.append((yield self.types()))
        return tuple(fields)

    def tensor(self) -> TensorSpec:
        if self.kind != "type":
            raise self.error("expected the type of a tensor")
        start = self.position
        spec = run(self.spec())
        if not isinstance(spec, TensorSpec):
            raise self.error_at(start, "this is no element type")
        return spec

    def spec(self) -> Steps[Spec]:
        """`float32[2, 3]`, `int32`, `List[int32]`, `fn(int32) -> bool`, `ref(int32)`"""
        if self.kind == "type" and (known := self.specs.get(self.token)) is not None:
            self.advance()
            return known
        if self.kind == "word" and self.accept("fn"):
            self.expect("(")
            arguments = []
            for _ in self.separated(")"):
                arguments.append((yield self.types()))
            self.expect("->")
            return ClosureSpec(tuple(arguments), (yield self.types()))
        if self.kind == "word" and self.accept("ref"):
            self.expect("(")
            held = yield self.types()
            self.expect(")")
            return ReferenceSpec(held)
        if self.kind == "word" and dtypes.is_dtype(self.token):
            return ScalarSpec(self.advance())
        if self.kind not in ("word", "type", "string"):
            raise self.error("expected a type")
        position, text, kind = self.position, self.token, self.kind
        made: Spec
        if kind == "type" and dtypes.is_dtype(text.partition("[")[0]):
            made = self.sized(text)
            self.advance()
        else:
            made = DataSpec(self.name())
            self.data.setdefault(made.name, position)
        if kind == "type":
            self.specs[text] = made
        return made

    def sized(self, text: str) -> TensorSpec:
        dtype, _, rest = text[:-1].partition("[")
        shape: list[int | str] = []
        position = 0
        while rest.strip() and position < len(rest):
            found = _SIZE.match(rest, position)
            word = found["size"].strip() if found else rest[position:]
            if word.isdecimal() and word.isascii() and len(word) < 20:
                shape.append(int(word))
            elif word.startswith('"'):
                shape.append(self.unquoted(word))
            elif word == "?" or word.isidentifier():
                shape.append(word)
            else:
                raise self.error(f"`{word}` is no size of a tensor")
            position = found.end() if found else len(rest)
        return TensorSpec(tuple(shape), dtype)


class _FunctionReader:
    """Reads one function."""

    def __init__(
        self, reader: _Reader, kernels: dict[str, Kernel], constants: dict[str, Constant]
    ) -> None:
        self.reader = reader
        self.kernels = kernels
        self.constants = constants
        self.registers: dict[Register, Spec] = {}
        self.used: dict[Register, int] = {}  # at which token first
        self.reached: dict[int, int] = {}  # blocks that are mentioned -> at which token

    def function(self) -> Function:
        reader = self.reader
        name = reader.symbol()
        reader.expect("(")
        params = tuple(self.parameter() for _ in reader.separated(")"))
        results = run(reader.types()) if reader.accept("->") else ()
        names: tuple[str, ...] = ()
        if reader.accept("named"):
            reader.expect("(")
            names = tuple(reader.string() for _ in reader.separated(")"))
        where = reader.where()
        reader.expect("{")
        while reader.accept("unused"):
            self.define()
        blocks: list[Block] = []
        while not reader.accept("}"):
            blocks.append(self.block(len(blocks)))
        if not blocks:
            raise reader.error("a function has at least one block")
        for block, position in self.reached.items():
            if block >= len(blocks):
                raise reader.error_at(position, f"the function has no block {block}")
        return Function(name, params, self.all_registers(), tuple(blocks), results, where, names)

    def all_registers(self) -> tuple[Spec, ...]:
        for register, position in self.used.items():
            if register not in self.registers:
                raise self.reader.error_at(position, f"nothing writes register `%{register}`")
        for register in range(len(self.registers)):
            if register not in self.registers:
                raise self.reader.error(
                    f"the function before this has no register `%{register}`",
                    "registers are counted from 0",
                )
        return tuple(self.registers[register] for register in range(len(self.registers)))

    def parameter(self) -> Parameter:
        name = self.reader.string()
        self.reader.expect("=")
        return Parameter(name, run(self.value(self.define)))

    # --- registers

    def value(self, leaf: Callable[[], Register]) -> Steps[Value]:
        if not self.reader.accept("("):
            return leaf()
        fields = []
        for _ in self.reader.separated(")"):
            fields.append((yield self.value(leaf)))
        return tuple(fields)

    def define(self) -> Register:
        """`%1: float32[4]`"""
        reader = self.reader
        position = reader.position
        register = self.register()
        if register in self.registers:
            raise reader.error_at(position, f"register `%{register}` is written twice")
        reader.expect(":")
        self.registers[register] = run(reader.spec())
        return register

    def use(self) -> Register:
        position = self.reader.position
        register = self.register()
        self.used.setdefault(register, position)
        return register

    def register(self) -> Register:
        reader = self.reader
        if reader.kind != "register":
            raise reader.error("expected a register")
        if len(reader.token) > 10:
            raise reader.error("the number of this register is too large")
        return int(reader.advance()[1:])

    def uses(self, first: str = "(", last: str = ")") -> tuple[Register, ...]:
        self.reader.expect(first)
        return tuple(self.use() for _ in self.reader.separated(last))

    def definitions(self) -> tuple[Register, ...]:
        self.reader.expect("(")
        return tuple(self.define() for _ in self.reader.separated(")"))

    def sizes(self) -> tuple[Register, ...]:
        if self.reader.token != "[" or self.reader.kind != "mark":
            return ()
        return self.uses("[", "]")

    def between_brackets(self) -> int:
        self.reader.expect("[")
        number = self.reader.natural()
        self.reader.expect("]")
        return number

    # --- blocks

    def block(self, number: int) -> Block:
        reader = self.reader
        params: tuple[Register, ...] = ()
        if number or reader.token == "block":
            reader.expect("block")
            if reader.token != str(number):
                raise reader.error(f"expected block {number}, the next one")
            reader.advance()
            params = self.definitions() if reader.token == "(" else ()
            reader.expect(":")
        instructions: list[Instruction] = []
        while not instructions or not isinstance(instructions[-1], Terminator):
            instructions.append(self.instruction())
        return Block(tuple(instructions), params)

    def target(self) -> int:
        """The number of a block."""
        position = self.reader.position
        block = self.reader.natural()
        self.reached.setdefault(block, position)
        return block

    def called(self) -> str:
        reader = self.reader
        position = reader.position
        name = reader.symbol()
        reader.called.setdefault(name, position)
        return name

    # --- instructions

    def instruction(self) -> Instruction:
        reader = self.reader
        if reader.kind == "register":
            output = self.define()
            reader.expect("=")
            return self.written(output)
        if reader.token == "(":
            outputs = self.definitions()
            reader.expect("=")
            return self.written_together(outputs)
        read = self.others.get(reader.token) if reader.kind == "word" else None
        if read is None:
            raise reader.error("expected an instruction", did_you_mean(reader.token, self.others))
        reader.advance()
        return read(self)

    def written(self, output: Register) -> Instruction:
        """What writes one register."""
        reader = self.reader
        if reader.kind in ("number", "float") or reader.token in ("true", "false"):
            return Literal(output, reader.literal())
        word = reader.token
        if reader.kind == "word" and word in self.sources:
            reader.advance()
            return self.sources[word](self, output)
        if reader.kind != "word" or word not in OPERATIONS:
            known = (*self.sources, *OPERATIONS)
            raise reader.error("expected a number or an operation", did_you_mean(word, known))
        reader.advance()
        inputs = [self.use()]
        while reader.accept(","):
            inputs.append(self.use())
        return Scalar(output, word, tuple(inputs))

    def written_together(self, outputs: tuple[Register, ...]) -> Instruction:
        """What writes several registers."""
        if self.reader.accept("read"):
            return ReadReference(outputs, self.use())
        self.reader.expect("call")
        if self.reader.kind == "symbol":
            return CallFunction(outputs, self.called(), self.uses())
        return CallClosure(outputs, self.use(), self.uses())

    def constant(self, output: Register) -> LoadConstant:
        if (name := self.reader.string()) not in self.constants:
            position = self.reader.position - 1
            hint = did_you_mean(name, self.constants)
            raise self.reader.error_at(position, f"the program has no constant {name!r}", hint)
        return LoadConstant(output, name)

    def alloc(self, output: Register) -> AllocTensor:
        local = self.reader.accept("local")
        return AllocTensor(output, self.sizes(), local, self.reader.where())

    def view(self, output: Register) -> ViewTensor:
        return ViewTensor(output, self.use(), self.sizes(), self.reader.where())

    def size(self, output: Register) -> ReadSize:
        return ReadSize(output, self.use(), self.between_brackets())

    def element(self, output: Register) -> ReadElement:
        return ReadElement(output, self.use(), self.between_brackets())

    def compute(self, output: Register) -> ComputeSize:
        op = self.reader.name()
        left = self.use()
        self.reader.expect(",")
        return ComputeSize(output, op, left, self.use(), self.reader.where())

    def make_data(self, output: Register) -> MakeData:
        return MakeData(output, self.reader.name(), self.uses())

    def field(self, output: Register) -> GetField:
        data = self.use()
        constructor = self.reader.name()
        self.reader.expect(".")
        return GetField(output, data, constructor, self.reader.natural())

    def closure(self, output: Register) -> MakeClosure:
        return MakeClosure(output, self.called(), self.uses())

    def reference(self, output: Register) -> MakeReference:
        return MakeReference(output, self.uses())

    def invoke(self) -> InvokeKernel:
        reader = self.reader
        position = reader.position
        name = reader.symbol()
        if name not in self.kernels:
            hint = did_you_mean(name, self.kernels)
            raise reader.error_at(position, f"the program has no kernel `{name}`", hint)
        inputs = self.uses()
        reader.expect("->")
        reader.expect("(")
        outputs = tuple(self.kernel_output() for _ in reader.separated(")"))
        return InvokeKernel(name, inputs, outputs, self.sizes(), reader.where())

    def kernel_output(self) -> Register:
        """A tensor that was allocated before, or a scalar that is written here."""
        reader = self.reader
        written_here = reader.tokens[min(reader.position + 1, len(reader.tokens) - 1)][1] == ":"
        return self.define() if written_here else self.use()

    def require(self) -> RequireEqual:
        left = self.use()
        self.reader.expect("=")
        right = self.use()
        message, expected, found = self.reader.string(), VALUE, VALUE
        shown: tuple[Register, ...] = ()
        if self.reader.accept("expected"):
            expected = self.reader.string()
            self.reader.expect("found")
            found = self.reader.string()
            shown = self.shown()
        where = self.reader.where()
        return RequireEqual(left, right, message, where, expected, found, shown)

    def shown(self) -> tuple[Register, ...]:
        """The two registers that a check shows, if it shows others than those it compares."""
        if not self.reader.accept("shows"):
            return ()
        found = self.uses()
        if len(found) != 2:
            raise self.reader.error("a check shows two registers")
        return found

    def write(self) -> WriteReference:
        return WriteReference(self.use(), self.uses())

    def retain(self) -> Retain:
        return Retain(self.use())

    def release(self) -> Release:
        return Release(self.use())

    def give_back(self) -> Return:
        return Return(run(self.value(self.use)))

    def jump(self) -> Jump:
        block = self.target()
        return Jump(block, self.uses() if self.reader.token == "(" else ())

    def branch(self) -> Branch:
        condition = self.use()
        self.reader.expect("?")
        true = self.target()
        self.reader.expect(":")
        return Branch(condition, true, self.target())

    def switch(self) -> Switch:
        reader = self.reader
        data = self.use()
        reader.expect("{")
        cases: list[tuple[str, int]] = []
        otherwise: int | None = None
        for _ in reader.separated("}"):
            if otherwise is not None:
                raise reader.error("expected `}`: nothing comes after `else`")
            if reader.accept("else"):
                reader.expect(":")
                otherwise = self.target()
            else:
                name = reader.name()
                reader.expect(":")
                cases.append((name, self.target()))
        return Switch(data, tuple(cases), otherwise)

    def tail(self) -> TailCall | TailCallClosure:
        self.reader.expect("call")
        if self.reader.kind == "symbol":
            return TailCall(self.called(), self.uses())
        return TailCallClosure(self.use(), self.uses())

    def fail(self) -> Fail:
        return Fail(self.reader.string(), self.reader.where())

    sources: Final[Mapping[str, Callable[[Any, Register], Instruction]]] = {
        "constant": constant,
        "alloc": alloc,
        "view": view,
        "size": size,
        "element": element,
        "compute": compute,
        "data": make_data,
        "field": field,
        "closure": closure,
        "reference": reference,
    }
    others: Final[Mapping[str, Callable[[Any], Instruction]]] = {
        "invoke": invoke,
        "require": require,
        "write": write,
        "retain": retain,
        "release": release,
        "return": give_back,
        "jump": jump,
        "branch": branch,
        "switch": switch,
        "tail": tail,
        "fail": fail,
    }
