"""Parsing of programs, the inverse of `relay.program.printer`.

Checks that names are defined and that every register is written once; types are checked by
`relay.program.verify`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from relay import dtypes
from relay.errors import ParseError, SourceName, Span, did_you_mean
from relay.lower.kernel import Kernel, TensorSpec
from relay.program import program as isa
from relay.program.printer import NOTES, VERSION
from relay.program.scalars import OPERATIONS
from relay.program.syntax import Form, forms
from relay.tree import Steps, gather, run

# For speed a type like `float32[2, 3]` or `List[int32]` is one token, unless its brackets nest.
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
_NUMBERS: Final = 2**63  # numbers are below, except literals
_LITERALS: Final = 2**64


def parse(text: str, name: str = "program") -> isa.Program:
    """The program with this text; ParseError if there is none."""
    return _Reader(text, name).program()


class _Reader:
    """A recursive-descent parser: every method parses what it is named after."""

    def __init__(self, text: str, name: str) -> None:
        self.text = text
        self.source = SourceName(name, text)
        # tokenized at once, for speed
        self.tokens = [
            (found.lastgroup or "end", found[found.lastgroup or "end"], found.start("at"))
            for found in _TOKEN.finditer(text)
        ]
        self.specs: dict[str, isa.Spec] = {}  # types that are one token
        self.data: dict[str, int] = {}  # referenced data type -> its first token
        self.called: dict[str, int] = {}  # called function -> its first token
        self.kernels: dict[str, Kernel] = {}
        self.constants: dict[str, isa.Constant] = {}
        # of the current function
        self.registers: dict[isa.Register, isa.Spec] = {}
        self.used: dict[isa.Register, int] = {}  # register that is read -> its first token
        self.reached: dict[int, int] = {}  # referenced block -> its first token
        self.position = -1
        self.kind = self.token = ""
        self.start = 0
        self.advance()

    # --- tokens

    def advance(self) -> str:
        """Go to the next token; return the current one."""
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
        """An error at an earlier token."""
        self.go_to(position)
        return self.error(message, hint)

    def number(self, limit: int = _NUMBERS) -> int:
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
            return self.number(_LITERALS)
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
        """The name of a data type or constructor."""
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
        """Iterate over a list that ends in `last`; the caller parses its items."""
        while not self.accept(last):
            yield
            if self.token != last:
                self.expect(mark)

    def where(self) -> str:
        return self.string() if self.accept("where") else ""

    # --- declarations

    def program(self) -> isa.Program:
        for word in ("relay", "program"):
            self.expect(word)
        if self.token != str(VERSION):
            raise self.error(f"this program is of another version, not of version {VERSION}")
        self.advance()
        types: dict[str, isa.DataType] = {}
        functions: dict[str, isa.Function] = {}
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
        return isa.Program(
            tuple(self.kernels.values()),
            tuple(self.constants.values()),
            tuple(functions.values()),
            tuple(types.values()),
        )

    def add(self, table: dict[str, Any], entry: Any) -> None:
        if entry.name in table:
            raise self.error(f"`{entry.name}` is defined twice before this")
        table[entry.name] = entry

    def data_type(self) -> isa.DataType:
        name = self.name()
        self.expect("{")
        return isa.DataType(name, tuple(self.constructor() for _ in self.separated("}", ";")))

    def constructor(self) -> isa.Constructor:
        name = self.name()
        if not self.accept("("):
            return isa.Constructor(name, ())
        return isa.Constructor(name, tuple(run(self.types()) for _ in self.separated(")")))

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
        """A value of the type of `default`."""
        if isinstance(default, bool):
            return bool(self.number())
        if isinstance(default, int):
            return self.number()
        if isinstance(default, str):
            return self.string()
        self.expect("(")
        return tuple(self.datum() for _ in self.separated(")"))

    def datum(self) -> Any:
        """A string, or a pair of numbers."""
        if self.kind == "string":
            return self.string()
        self.expect("(")
        return tuple(self.number() for _ in self.separated(")"))

    def declared_constant(self) -> isa.Constant:
        name = self.string()
        self.expect(":")
        spec = self.tensor()
        if not self.accept("="):
            return isa.Constant(name, spec)
        self.expect("prepare")
        self.expect(".")
        return isa.Constant(name, spec, self.natural())

    # --- types

    def types(self) -> Steps[Any]:
        """A type, or tuples of types."""
        if not self.accept("("):
            return self.spec()
        return tuple((yield gather(self.types() for _ in self.separated(")"))))

    def tensor(self) -> TensorSpec:
        if self.kind != "type":
            raise self.error("expected the type of a tensor")
        start = self.position
        spec = run(self.spec())
        if not isinstance(spec, TensorSpec):
            raise self.error_at(start, "this is no element type")
        return spec

    def spec(self) -> Steps[isa.Spec]:
        """`float32[2, 3]`, `int32`, `List[int32]`, `fn(int32) -> bool`, `ref(int32)`"""
        if self.kind == "type" and (known := self.specs.get(self.token)) is not None:
            self.advance()
            return known
        if self.kind == "word" and self.accept("fn"):
            self.expect("(")
            arguments = yield gather(self.types() for _ in self.separated(")"))
            self.expect("->")
            return isa.ClosureSpec(tuple(arguments), (yield self.types()))
        if self.kind == "word" and self.accept("ref"):
            self.expect("(")
            held = yield self.types()
            self.expect(")")
            return isa.ReferenceSpec(held)
        if self.kind == "word" and dtypes.is_dtype(self.token):
            return isa.ScalarSpec(self.advance())
        if self.kind not in ("word", "type", "string"):
            raise self.error("expected a type")
        position, text, kind = self.position, self.token, self.kind
        made: isa.Spec
        if kind == "type" and dtypes.is_dtype(text.partition("[")[0]):
            made = self.sized(text)
            self.advance()
        else:
            made = isa.DataSpec(self.name())
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

    def declared_function(self) -> isa.Function:
        self.registers, self.used, self.reached = {}, {}, {}
        name = self.symbol()
        self.expect("(")
        params = tuple(self.parameter() for _ in self.separated(")"))
        results = run(self.types()) if self.accept("->") else ()
        names, state = self.strings("named"), self.strings("state")
        where = self.where()
        self.expect("{")
        while self.accept("unused"):
            self.new()
        blocks: list[isa.Block] = []
        while not self.accept("}"):
            blocks.append(self.next_block(len(blocks)))
        if not blocks:
            raise self.error("a function has at least one block")
        for block, position in self.reached.items():
            if block >= len(blocks):
                raise self.error_at(position, f"the function has no block {block}")
        return isa.Function(
            name, params, self.all_registers(), tuple(blocks), results, where, names, state
        )

    def strings(self, word: str) -> tuple[str, ...]:
        """The strings in parentheses after a word; () without it."""
        if not self.accept(word):
            return ()
        self.expect("(")
        return tuple(self.string() for _ in self.separated(")"))

    def all_registers(self) -> tuple[isa.Spec, ...]:
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

    def parameter(self) -> isa.Parameter:
        name = self.string()
        self.expect("=")
        return isa.Parameter(name, run(self.nested(self.new)))

    # --- registers

    def nested(self, leaf: Callable[[], isa.Register]) -> Steps[isa.Value]:
        if not self.accept("("):
            return leaf()
        return tuple((yield gather(self.nested(leaf) for _ in self.separated(")"))))

    def new(self) -> isa.Register:
        """`%1: float32[4]`"""
        position = self.position
        register = self.register()
        if register in self.registers:
            raise self.error_at(position, f"register `%{register}` is written twice")
        self.expect(":")
        self.registers[register] = run(self.spec())
        return register

    def read(self) -> isa.Register:
        position = self.position
        register = self.register()
        self.used.setdefault(register, position)
        return register

    def register(self) -> isa.Register:
        if self.kind != "register":
            raise self.error("expected a register")
        if len(self.token) > 10:
            raise self.error("the number of this register is too large")
        return int(self.advance()[1:])

    def reads(self, first: str = "(", last: str = ")") -> tuple[isa.Register, ...]:
        self.expect(first)
        return tuple(self.read() for _ in self.separated(last))

    give, gives = read, reads

    def news(self) -> tuple[isa.Register, ...]:
        self.expect("(")
        return tuple(self.new() for _ in self.separated(")"))

    # --- blocks

    def next_block(self, number: int) -> isa.Block:
        params: tuple[isa.Register, ...] = ()
        if number or self.token == "block":
            self.expect("block")
            if self.token != str(number):
                raise self.error(f"expected block {number}, the next one")
            self.advance()
            params = self.news() if self.token == "(" else ()
            self.expect(":")
        instructions: list[isa.Instruction] = []
        while not instructions or not isinstance(instructions[-1], isa.Terminator):
            instructions.append(self.instruction())
        return isa.Block(tuple(instructions), params)

    # --- instructions

    def instruction(self) -> isa.Instruction:
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
        made: isa.Instruction = form.instruction(**values)
        return made

    def form(self, output: str) -> Form:
        """The form of the instruction after its outputs."""
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

    # --- fields of instructions: a method per kind (`relay.program.syntax`)

    def sizes(self) -> tuple[isa.Register, ...]:
        if self.token != "[" or self.kind != "mark":
            return ()
        return self.reads("[", "]")

    def listed(self) -> tuple[isa.Register, ...]:
        found = [self.read()]
        while self.accept(","):
            found.append(self.read())
        return tuple(found)

    def arguments(self) -> tuple[isa.Register, ...]:
        return self.reads() if self.token == "(" else ()

    def value(self) -> isa.Value:
        return run(self.nested(self.read))

    def outputs(self) -> tuple[isa.Register, ...]:
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
        """The name of something declared before."""
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
        """The texts of a check, if they are not the default."""
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
    """The keywords of the instructions with such outputs."""
    return [form.word for key, (form, *_) in forms().items() if key.startswith(f"{output} ")]
