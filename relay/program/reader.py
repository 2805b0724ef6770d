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
from relay.errors import ParseError, SourceName, Span, did_you_mean
from relay.lower.kernel import Kernel, TensorSpec
from relay.program.printer import NOTES, VERSION
from relay.program.program import (
    Block,
    ClosureSpec,
    Constant,
    Constructor,
    DataSpec,
    DataType,
    Function,
    Instruction,
    Parameter,
    Program,
    ReferenceSpec,
    Register,
    ScalarSpec,
    Spec,
    Terminator,
    Value,
)
from relay.program.scalars import OPERATIONS
from relay.program.syntax import Form, forms
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
        self.kernels: dict[str, Kernel] = {}
        self.constants: dict[str, Constant] = {}
        # of the function that is read
        self.registers: dict[Register, Spec] = {}
        self.used: dict[Register, int] = {}  # at which token first
        self.reached: dict[int, int] = {}  # blocks that are mentioned -> at which token
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
        return ParseError.of(message, span, found=found, hint=hint)

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
        functions: dict[str, Function] = {}
        while self.kind != "end":
            if self.accept("data"):
                self.add(types, self.data_type())
            elif self.accept("kernel"):
                self.add(self.kernels, self.declared_kernel())
            elif self.accept("constant"):
                self.add(self.constants, self.declared_constant())
            elif self.accept("function"):
                self.add(functions, self.declared_function())
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
            tuple(self.kernels.values()),
            tuple(self.constants.values()),
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

    def declared_kernel(self) -> Kernel:
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

    def declared_constant(self) -> Constant:
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

    # --- functions

    def declared_function(self) -> Function:
        self.registers, self.used, self.reached = {}, {}, {}
        name = self.symbol()
        self.expect("(")
        params = tuple(self.parameter() for _ in self.separated(")"))
        results = run(self.types()) if self.accept("->") else ()
        names: tuple[str, ...] = ()
        if self.accept("named"):
            self.expect("(")
            names = tuple(self.string() for _ in self.separated(")"))
        where = self.where()
        self.expect("{")
        while self.accept("unused"):
            self.new()
        blocks: list[Block] = []
        while not self.accept("}"):
            blocks.append(self.next_block(len(blocks)))
        if not blocks:
            raise self.error("a function has at least one block")
        for block, position in self.reached.items():
            if block >= len(blocks):
                raise self.error_at(position, f"the function has no block {block}")
        return Function(name, params, self.all_registers(), tuple(blocks), results, where, names)

    def all_registers(self) -> tuple[Spec, ...]:
        for register, position in self.used.items():
            if register not in self.registers:
                raise self.error_at(position, f"nothing writes register `%{register}`")
        for register in range(len(self.registers)):
            if register not in self.registers:
                raise self.error(
                    f"the function before this has no register `%{register}`",
                    "registers are counted from 0",
                )
        return tuple(self.registers[register] for register in range(len(self.registers)))

    def parameter(self) -> Parameter:
        name = self.string()
        self.expect("=")
        return Parameter(name, run(self.nested(self.new)))

    # --- registers

    def nested(self, leaf: Callable[[], Register]) -> Steps[Value]:
        if not self.accept("("):
            return leaf()
        fields = []
        for _ in self.separated(")"):
            fields.append((yield self.nested(leaf)))
        return tuple(fields)

    def new(self) -> Register:
        """`%1: float32[4]`"""
        position = self.position
        register = self.register()
        if register in self.registers:
            raise self.error_at(position, f"register `%{register}` is written twice")
        self.expect(":")
        self.registers[register] = run(self.spec())
        return register

    def read(self) -> Register:
        position = self.position
        register = self.register()
        self.used.setdefault(register, position)
        return register

    def register(self) -> Register:
        if self.kind != "register":
            raise self.error("expected a register")
        if len(self.token) > 10:
            raise self.error("the number of this register is too large")
        return int(self.advance()[1:])

    def reads(self, first: str = "(", last: str = ")") -> tuple[Register, ...]:
        self.expect(first)
        return tuple(self.read() for _ in self.separated(last))

    give, gives = read, reads

    def news(self) -> tuple[Register, ...]:
        self.expect("(")
        return tuple(self.new() for _ in self.separated(")"))

    # --- blocks

    def next_block(self, number: int) -> Block:
        params: tuple[Register, ...] = ()
        if number or self.token == "block":
            self.expect("block")
            if self.token != str(number):
                raise self.error(f"expected block {number}, the next one")
            self.advance()
            params = self.news() if self.token == "(" else ()
            self.expect(":")
        instructions: list[Instruction] = []
        while not instructions or not isinstance(instructions[-1], Terminator):
            instructions.append(self.instruction())
        return Block(tuple(instructions), params)

    # --- instructions

    def instruction(self) -> Instruction:
        output = ""
        values: dict[str, Any] = {}
        if self.kind == "register" or self.token == "(":
            output = "new" if self.kind == "register" else "news"
            registers = self.new() if output == "new" else self.news()
            self.expect("=")
        form = self.form(output)
        if form.output is not None:
            values[form.output.name] = registers
        for part in form.rest:
            if isinstance(part, str):
                self.expect(part)
            elif part.kind in ("texts", "cases"):
                values.update(getattr(self, part.kind)())
            else:
                values[part.name] = getattr(self, part.kind)()
        made: Instruction = form.instruction(**values)
        return made

    def form(self, output: str) -> Form:
        """The form of the instruction that follows the registers it writes."""
        word = self.token
        found = forms().get(f"{output} {word}", ()) if self.kind == "word" else ()
        if not found and output == "new":
            literal, scalar = forms()["new "]
            if self.kind in ("number", "float") or word in ("true", "false"):
                return literal
            if self.kind == "word" and word in OPERATIONS:
                return scalar
            known = (*_words("new"), *OPERATIONS)
            raise self.error("expected a number or an operation", did_you_mean(word, known))
        if not found:
            if output:
                self.expect("call")
            raise self.error("expected an instruction", did_you_mean(word, _words("")))
        self.advance()
        if len(found) == 1:
            return found[0]
        by_name = self.tokens[self.position + (word == "tail")][0] == "symbol"
        return next(form for form in found if form.calls_by_name is by_name)

    # --- fields of instructions: a method for every kind (`syntax.py`)

    def sizes(self) -> tuple[Register, ...]:
        if self.token != "[" or self.kind != "mark":
            return ()
        return self.reads("[", "]")

    def listed(self) -> tuple[Register, ...]:
        found = [self.read()]
        while self.accept(","):
            found.append(self.read())
        return tuple(found)

    def arguments(self) -> tuple[Register, ...]:
        return self.reads() if self.token == "(" else ()

    def value(self) -> Value:
        return run(self.nested(self.read))

    def outputs(self) -> tuple[Register, ...]:
        """Tensors that were allocated before, and scalars that are written here."""
        self.expect("(")
        last = len(self.tokens) - 1
        return tuple(
            self.new() if self.tokens[min(self.position + 1, last)][1] == ":" else self.read()
            for _ in self.separated(")")
        )

    def local(self) -> bool:
        return self.accept("local")

    def operation(self) -> str:
        return self.advance()

    def constant(self) -> str:
        return self.known(self.string, self.constants, "constant {!r}")

    def kernel(self) -> str:
        return self.known(self.symbol, self.kernels, "kernel `{}`")

    def known(self, read: Callable[[], str], table: Mapping[str, Any], what: str) -> str:
        """A name that was declared before."""
        position = self.position
        if (name := read()) not in table:
            message, hint = f"the program has no {what.format(name)}", did_you_mean(name, table)
            raise self.error_at(position, message, hint)
        return name

    def function(self) -> str:
        position = self.position
        name = self.symbol()
        self.called.setdefault(name, position)
        return name

    def block(self) -> int:
        position = self.position
        block = self.natural()
        self.reached.setdefault(block, position)
        return block

    def texts(self) -> dict[str, Any]:
        """What a check shows, if that is more than the two numbers it compares."""
        if not self.accept("expected"):
            return {}
        expected = self.string()
        self.expect("found")
        found = self.string()
        shown = self.reads() if self.accept("shows") else ()
        if len(shown) not in (0, 2):
            raise self.error("a check shows two registers")
        return {"expected": expected, "found": found, "shown": shown}

    def cases(self) -> dict[str, Any]:
        cases: list[tuple[str, int]] = []
        otherwise: int | None = None
        while self.token != "}":
            if otherwise is not None:
                raise self.error("expected `}`: nothing comes after `else`")
            name = None if self.accept("else") else self.name()
            self.expect(":")
            if name is None:
                otherwise = self.block()
            else:
                cases.append((name, self.block()))
            if self.token != "}":
                self.expect(",")
        return {"cases": tuple(cases), "otherwise": otherwise}


def _words(output: str) -> list[str]:
    """The words that instructions with such outputs begin with."""
    return [form.word for key, (form, *_) in forms().items() if key.startswith(f"{output} ")]
