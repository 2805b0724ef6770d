"""Writes LLVM IR as text: lines, names, and known values.

Values are reused by the expression they compute (common subexpressions), so that the copies of an
unrolled loop share loads and computations; a store invalidates values read from its buffer.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from relay import dtypes
from relay.immutable import frozen
from relay.target.llvm import abi
from relay.target.llvm.target import LLVMTarget
from relay.te.expr import Const, Expr, Var, width
from relay.te.simplify import Simplifier
from relay.te.work import Counted
from relay.te.workspace import ALIGNMENT as ALIGNMENT
from relay.te.workspace import Workspace
from relay.tree import Steps

_TYPES = {
    "bool": "i1",
    # as bits: LLVM calls a library to move half floats without instructions for them
    "float16": "i16",
    "bfloat16": "i16",
    "float32": "float",
    "float64": "double",
}


def llvm_type(dtype: str) -> str:
    """The type of a value in a register."""
    return _TYPES.get(dtype) or f"i{max(8, width(dtype))}"


def memory_type(dtype: str) -> str:
    """The type of an element in memory: booleans are bytes."""
    found = llvm_type(dtype)
    return "i8" if found == "i1" else found


def item_bytes(dtype: str) -> int:
    return dtypes.to_numpy(dtype).itemsize


def is_signed(dtype: str) -> bool:
    return dtype in dtypes.SIGNED


def bits(type: str) -> int:
    return {"float": 32, "double": 64}.get(type) or int(type[1:])


def vector_type(type: str, lanes: int) -> str:
    return f"<{lanes} x {type}>" if lanes else type


def suffix(type: str, lanes: int) -> str:
    """A type in the name of an intrinsic."""
    short = {"float": "f32", "double": "f64"}.get(type, type)
    return f"v{lanes}{short}" if lanes else short


def escaped(data: bytes) -> str:
    """The inside of a string literal of LLVM."""
    return "".join(
        chr(byte) if 32 <= byte < 127 and byte not in b'"\\' else f"\\{byte:02X}" for byte in data
    )


def literal(expr: Const) -> str:
    """A number as an LLVM literal; floats by their bits."""
    value = expr.value
    if expr.dtype == "bool":
        return "true" if value else "false"
    if expr.dtype in ("float32", "float64"):
        if value == 0 and str(value)[0] != "-":
            return "0.0"
        return f"0x{struct.pack('>d', float(value)).hex().upper()}"
    if dtypes.is_float(expr.dtype):
        raise TypeError(f"{expr.dtype} is computed as float32")
    return str(int(value))


@frozen
class Value:
    """A value in a register: `lanes` is 0 for a scalar. `reads` are the buffers it depends on."""

    text: str
    type: str  # of one lane
    lanes: int = 0
    reads: frozenset[int] = frozenset()

    @property
    def full_type(self) -> str:
        return f"<{self.lanes} x {self.type}>" if self.lanes else self.type

    def __str__(self) -> str:
        return f"{self.full_type} {self.text}"


Emission = Steps[Value]


@dataclass
class KernelContext:
    """State that the functions of one kernel share."""

    name: str
    target: LLVMTarget
    checked: bool = False  # check every index
    may_alias: bool = False  # outputs may overlap inputs
    streams: bool = False  # streaming stores: outputs are aligned to vectors
    has_sizes: bool = False  # it has dynamic sizes
    functions: list[str] = field(default_factory=list)
    checks: list[str] = field(default_factory=list)  # what each check guards
    shared: Workspace = field(default_factory=Workspace)
    per_worker: Workspace = field(default_factory=Workspace)
    parallel_loops: int = 0
    may_stop: bool = False  # it returns early if a loop was interrupted
    counted: Counted = field(default_factory=dict)  # the work of its loops

    def zero(self) -> str:
        """The address of a zero of any type."""
        definition = f"@{self.name}.zero = internal constant i64 0"
        if definition not in self.functions:
            self.functions.append(definition)
        return f"@{self.name}.zero"

    def add_check(self, what: str) -> int:
        """The number of a new check, which `.outside` reports when it fails."""
        if not self.checks:
            self.functions.append(self._outside())
        self.checks.append(what)
        return len(self.checks) - 1

    def _outside(self) -> str:
        lines = []
        details = (str(abi.OUT_OF_RANGE), "%check", "%index", "%extent")
        for offset, detail in zip((abi.ERROR, *abi.DETAILS), details, strict=True):
            lines.append(f"  %at{offset} = getelementptr i8, ptr %context, i64 {offset}")
            lines.append(f"  store i64 {detail}, ptr %at{offset}, align 8")
        header = (
            f"define internal void @{self.name}.outside(ptr %context, i64 %check, i64 %index, "
            f"i64 %extent) cold noinline {self.attributes} {{"
        )
        return "\n".join([header, *lines, "  ret void", "}"])

    @property
    def attributes(self) -> str:
        bits = self.target.vector_bits
        size = "minsize optsize " if self.target.is_small else ""
        return f'nounwind {size}"prefer-vector-width"="{bits}" "min-legal-vector-width"="{bits}"'


class Writer:
    """Writes one function."""

    def __init__(self, kernel: KernelContext, name: str) -> None:
        self.kernel = kernel
        self.name = name
        self.lines: list[str] = []
        self.entry: list[str] = []  # allocas
        self.block = "entry"
        self.count = 0
        self.pointers: dict[int, str] = {}  # by buffer
        self.variables: dict[Var, Value] = {}
        self.simplify = Simplifier()
        self.known: list[dict[object, tuple[Value, tuple[tuple[int, int], ...]]]] = [{}]
        self.versions: dict[int, int] = {}
        self.lane: Var | None = None
        self.lanes = 0
        self.mask: Value | None = None
        self.outer_masks: dict[str, str | None] = {}  # mask -> a mask that contains its lanes
        self.in_parallel = False
        self.polls = False  # an enclosing loop polls for interrupts
        self.saturates = False  # integer arithmetic, instead of wrapping
        self.worker = "0"
        self.widths: dict[Var, int] = {}  # of vector loops so far
        self.dependent: dict[Expr, bool] = {}  # on the lane
        self.varying: set[Var] = set()  # the lane, and variables that depend on it

    def text(self, header: str, parameters: Sequence[str]) -> str:
        return "\n".join(
            [
                f"define {header}({', '.join(parameters)}) {self.kernel.attributes} {{",
                "entry:",
                *self.entry,
                *self.lines,
                "}",
            ]
        )

    def line(self, text: str) -> None:
        self.lines.append(f"  {text}")

    def fresh(self, hint: str = "v") -> str:
        self.count += 1
        return f"%{hint}{self.count}"

    def label(self, hint: str) -> str:
        self.count += 1
        return f"{hint}{self.count}"

    def begin(self, label: str) -> None:
        """Begin a block."""
        self.lines.append(f"{label}:")
        self.block = label

    def enter(self, label: str) -> None:
        """Jump to a block, and begin it."""
        self.line(f"br label %{label}")
        self.begin(label)

    def branch(self, condition: Value, then: str, otherwise: str) -> None:
        """Branch on a condition, and begin the block `then`."""
        self.line(f"br i1 {condition.text}, label %{then}, label %{otherwise}")
        self.begin(then)

    def make(
        self, code: str, type: str, lanes: int = 0, reads: frozenset[int] = frozenset()
    ) -> Value:
        name = self.fresh()
        self.line(f"{name} = {code}")
        return Value(name, type, lanes, reads)

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Values computed inside are not reused after the block, which may not have run."""
        self.known.append({})
        yield
        self.known.pop()

    def recall(self, key: object) -> Value | None:
        for known in reversed(self.known):
            if (entry := known.get(key)) is not None:
                value, versions = entry
                if all(self.versions.get(b, 0) == version for b, version in versions):
                    return value
        return None

    def remember(self, key: object, value: Value) -> Value:
        versions = tuple((b, self.versions.get(b, 0)) for b in value.reads)
        self.known[-1][key] = (value, versions)
        return value

    def forget_vectors(self) -> None:
        """Forget vector values, of a loop with the same variable and another width."""
        for known in self.known:
            for key in [key for key, (value, _) in known.items() if value.lanes]:
                del known[key]

    def invalidate(self, buffers: set[int]) -> None:
        for buffer in buffers:
            self.versions[buffer] = self.versions.get(buffer, 0) + 1

    def broadcast(self, value: Value) -> Value:
        """Broadcast a scalar to all lanes."""
        if value.lanes or not self.lanes:
            return value
        if not value.text.startswith("%"):
            if value.text == "zeroinitializer":
                return Value(value.text, value.type, self.lanes)
            return Value(f"splat ({value.type} {value.text})", value.type, self.lanes)
        key = ("spread", value.text, self.lanes)
        if (known := self.recall(key)) is not None:
            return known
        whole = vector_type(value.type, self.lanes)
        first = self.make(f"insertelement {whole} poison, {value}, i64 0", value.type, self.lanes)
        code = f"shufflevector {first}, {whole} poison, <{self.lanes} x i32> zeroinitializer"
        return self.remember(key, self.make(code, value.type, self.lanes, value.reads))

    def and_mask(self, first: Value | None, second: Value) -> Value:
        if first is None:
            self.outer_masks[second.text] = None
            return second
        mask = self.make(f"and {first}, {second.text}", "i1", self.lanes)
        self.outer_masks[mask.text] = first.text
        return mask

    def invert_mask(self, mask: Value) -> Value:
        return self.make(f"xor {mask}, splat (i1 true)", "i1", mask.lanes)
