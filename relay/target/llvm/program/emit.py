"""Code that the instructions of native programs share: registers, words, failures, counting."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from relay.errors import VALUE
from relay.native import layout
from relay.program.native import Site
from relay.program.ownership import is_counted
from relay.program.program import DataSpec, Function, Register, Scalar, ScalarSpec, Spec
from relay.target.llvm import abi
from relay.target.llvm.expressions import Expressions
from relay.target.llvm.program.scalars import expression, legal, literal_text, operand
from relay.target.llvm.program.types import needs_extension, value_type, widening, word_type
from relay.target.llvm.program.unit import Unit
from relay.target.llvm.writer import KernelContext, Value
from relay.te.expr import INDEX, Expr, const
from relay.te.intervals import ANY_NUMBER

UNLIKELY = "!prof !0"
ASKED = f"{VALUE} bytes asked for"  # of failed allocations


@dataclass
class FailureBlock:
    """A block that records a failure, and leaves the function with a status."""

    label: str
    status: str
    lines: list[str] = field(default_factory=list)


class Emitter(Expressions):
    """Generates code for one function."""

    def __init__(self, unit: Unit, function: Function) -> None:
        super().__init__(KernelContext(function.name, unit.target), function.name)
        self.unit = unit
        self.function = function
        self.local = unit.local(function)
        self.values: dict[Register, Value] = {}
        self.numbers: dict[Register, Expr] = {}  # registers with constant values
        self.loaded: dict[object, str] = {}  # fields of objects that this block has loaded
        self.unwinding: list[tuple[str, str]] = []  # (status, block it comes from)
        self.kernels = 0  # number of kernel calls so far
        self.failure_blocks: list[FailureBlock] = []
        self.shared: dict[tuple[str, int], str] = {}  # identical ones
        self.stacked: dict[str, int] = {}  # words on the stack, by name

    # --- registers

    def spec(self, register: Register) -> Spec:
        return self.function.registers[register]

    def text_of(self, register: Register) -> str:
        return self.values[register].text

    def set(self, register: Register, text: str) -> None:
        self.values[register] = Value(text, value_type(self.spec(register)))

    def set_number(self, register: Register, number: bool | int | float) -> None:
        spec = self.spec(register)
        assert isinstance(spec, ScalarSpec)
        self.set(register, literal_text(number, spec.dtype))
        self.numbers[register] = const(number, spec.dtype)

    def scalar(self, instruction: Scalar) -> None:
        result = self.spec(instruction.output)
        assert isinstance(result, ScalarSpec)
        operands: list[Expr] = []
        for register in instruction.inputs:
            spec = self.spec(register)
            assert isinstance(spec, ScalarSpec)
            if (number := self.numbers.get(register)) is not None:
                operands.append(number)
                continue
            variable, value = operand(spec.dtype, f"r{register}")
            self.variables[variable] = self.values[register]
            if variable.dtype == INDEX:
                self.simplify.ranges[variable] = ANY_NUMBER
            operands.append(value)
        computed = legal(expression(instruction.op, operands, result.dtype), self.unit.facts)
        with self.scope():
            self.values[instruction.output] = self.value(computed)

    # --- arguments that are not in registers

    def load_rest(self, rest: Sequence[int], specs: Sequence[Spec]) -> dict[int, str]:
        """Load these parameters, at the beginning of a function."""
        if not rest:
            return {}
        self.unit.rest = max(self.unit.rest, len(rest))
        base = self.load("ptr", "%ctx", layout.REST)
        return {
            index: self.load_word(specs[index], base, 8 * place) for place, index in enumerate(rest)
        }

    def store_rest(self, rest: Sequence[int], specs: Sequence[Spec], values: Sequence[str]) -> None:
        """Store these arguments for the next call."""
        if rest:
            self.unit.rest = max(self.unit.rest, len(rest))
            base = self.load("ptr", "%ctx", layout.REST)
            for place, index in enumerate(rest):
                self.store_word(specs[index], values[index], base, 8 * place)

    # --- memory

    def at(self, base: str, offset: int) -> str:
        """An address plus an offset in bytes."""
        if offset == 0:
            return base
        return self.make(f"getelementptr i8, ptr {base}, i64 {offset}", "ptr").text

    def load(self, kind: str, base: str, offset: int) -> str:
        return self.make(
            f"load {kind}, ptr {self.at(base, offset)}, align {_size(kind)}", kind
        ).text

    def store(self, kind: str, value: str, base: str, offset: int) -> None:
        address = self.at(base, offset)
        self.line(f"store {kind} {value}, ptr {address}, align {_size(kind)}")

    def load_word(self, spec: Spec, base: str, offset: int) -> str:
        """The value in the word at an address."""
        found = self.load(word_type(spec), base, offset)
        if value_type(spec) != "i1":
            return found
        return self.make(f"icmp ne i8 {found}, 0", "i1").text

    def store_word(self, spec: Spec, value: str, base: str, offset: int) -> None:
        """Store a value as a whole word, so that equal values are equal words."""
        kind = value_type(spec)
        if (whole := widening(kind)) is not None:
            value = self.make(f"bitcast {kind} {value} to {whole}", whole).text
            kind = whole
        if needs_extension(kind):
            value = self.make(f"zext {kind} {value} to i64", "i64").text
            kind = "i64"
        self.store(kind, value, base, offset)

    def stack(self, name: str, words: int) -> str:
        """Words on the stack, shared by all uses of that name."""
        self.stacked[name] = max(self.stacked.get(name, 0), words)
        return f"%{name}"

    # --- failing

    def site(
        self,
        message: str = "",
        where: str | None = None,
        kernel: str = "",
        texts: tuple[str, str] = (VALUE, VALUE),
    ) -> int:
        place = self.function.where if where is None else where
        return self.unit.site(Site(message, place, kernel, *texts))

    def unwind_if(self, condition: str, status: str) -> None:
        """Leave the function with a status if a condition holds."""
        self.unwinding.append((status, self.block))
        self._branch_if(condition, "unwind")

    def fail_if(self, condition: str, status: str, site: int, details: Sequence[str] = ()) -> None:
        """The same, recording the site."""
        notes = zip(abi.DETAILS, details, strict=False)
        self._branch_if(condition, self._failure_block(status, site, notes))

    def too_large_if(self, condition: str, site: int, sizes: Sequence[str]) -> None:
        """The same for sizes that are too large (`relay.extents`)."""
        places = range(layout.ASKED, layout.ASKED + 8 * layout.MOST_ASKED, 8)
        notes = zip(places, sizes, strict=False)
        self._branch_if(condition, self._failure_block(str(layout.TOO_LARGE), site, notes))

    def _branch_if(self, condition: str, way: str) -> None:
        on = self.label("on")
        self.line(f"br i1 {condition}, label %{way}, label %{on}, {UNLIKELY}")
        self.begin(on)

    def fail(self, status: int, site: int) -> None:
        self.line(f"br label %{self._failure_block(str(status), site, ())}")

    def _failure_block(self, status: str, site: int, details: Iterable[tuple[int, str]]) -> str:
        """A block that stores the site and details in the context."""
        notes = [(layout.SITE, str(site)), *details]
        plain = len(notes) == 1 and status.isdigit()  # can be shared
        if plain and (status, site) in self.shared:
            return self.shared[status, site]
        way = FailureBlock(self.label("failed"), status)
        if plain:
            self.shared[status, site] = way.label
        for offset, value in notes:
            address = self.fresh("note")
            way.lines.append(f"  {address} = getelementptr i8, ptr %ctx, i64 {offset}")
            way.lines.append(f"  store i64 {value}, ptr {address}, align 8")
        self.failure_blocks.append(way)
        return way.label

    def check_call(self, status: str) -> None:
        failed = self.make(f"icmp ne i32 {status}, 0", "i1").text
        self.unwind_if(failed, status)

    def check_memory(self, pointer: str, asked: str = "") -> None:
        """Leave if an allocation (of `asked` bytes) failed."""
        missing = self.make(f"icmp eq ptr {pointer}, null", "i1").text
        site = self.site(texts=("", ASKED)) if asked else self.site()
        self.fail_if(missing, str(abi.OUT_OF_MEMORY), site, [asked] if asked else ())

    def poll(self) -> None:
        """Count down to the next poll for interrupts."""
        self.check_call(self.make("call i32 @relay_tick(ptr %ctx)", "i32").text)

    def poll_after_kernel(self) -> None:
        """Poll after every eighth kernel: only long ones poll themselves."""
        self.kernels += 1
        if self.kernels % 8 == 0:
            self.check_call(self.make("call i32 @relay_poll(ptr %ctx)", "i32").text)

    def poll_if(self, due: str) -> tuple[str, str]:
        """Poll if due: the predecessors of the next block without and with polling."""
        ask, on, before = self.label("ask"), self.label("on"), self.block
        self.line(f"br i1 {due}, label %{ask}, label %{on}, {UNLIKELY}")
        self.begin(ask)
        status = self.make("call i32 @relay_poll(ptr %ctx)", "i32").text
        stop = self.make(f"icmp ne i32 {status}, 0", "i1").text
        self.unwinding.append((status, ask))
        self.line(f"br i1 {stop}, label %unwind, label %{on}, {UNLIKELY}")
        self.begin(on)
        return before, ask

    # --- reference counting

    def is_counted(self, spec: Spec) -> bool:
        return is_counted(spec, self.unit.types)

    def may_be_immediate(self, spec: Spec) -> bool:
        """Whether a value of that type may be a number instead of an address."""
        return isinstance(spec, DataSpec) and any(
            not constructor.places for constructor in self.unit.types[spec.name].constructors
        )

    def retain(self, spec: Spec, value: str) -> None:
        if self.is_counted(spec):
            kind = "" if self.may_be_immediate(spec) else "_object"
            self.line(f"call void @relay_retain{kind}(ptr {value})")

    def release(self, spec: Spec, value: str) -> None:
        if self.is_counted(spec):
            kind = "" if self.may_be_immediate(spec) else "_object"
            self.line(f"call void @relay_release{kind}(ptr %ctx, ptr {value})")


def _size(kind: str) -> int:
    return {"ptr": 8, "float": 4, "double": 8}.get(kind) or int(kind[1:]) // 8
