"""Loops become LLVM IR, as text.

One exported function per kernel, `i32 name(ptr context, ptr args)`, which unpacks its arguments and
calls the body; a parallel loop is a function of its own that the thread pool calls with a range.

A vector loop is no loop: its variable is a vector of lanes. Whatever does not depend on it stays a
scalar; a read whose index grows by one per lane is a load of a whole vector, by nothing a scalar
for all lanes, anything else a gather. A condition that differs between lanes is a mask.

Values are remembered by what they compute, so that the copies of an unrolled loop load and compute
once what they share; what was read from memory is forgotten when that memory is written.
"""

from __future__ import annotations

import struct
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import prod
from typing import Any, assert_never

from relay import dtypes, tree
from relay.errors import RelayError
from relay.target import abi
from relay.target.target import Target
from relay.te import access
from relay.te.expr import (
    INDEX,
    Axis,
    Binary,
    Bitcast,
    Call,
    Cast,
    Compare,
    Const,
    Expr,
    Read,
    Reduce,
    Select,
    Source,
    Unary,
    Var,
    variables,
    width,
)
from relay.te.loops import (
    Allocate,
    Block,
    Buffer,
    For,
    If,
    Kind,
    Let,
    Prefetch,
    Scope,
    Statement,
    Store,
    While,
)
from relay.te.lower import Lowered
from relay.te.simplify import Linear, Simplifier

_STACK_BYTES = 8192  # what is larger goes to the workspace
_ALIGNMENT = 64

# stand for numbers that are known when the whole kernel is written
_SHARED, _PER_WORKER = "@shared@", "@per_worker@"

_TYPES = {
    "bool": "i1",
    "uint1": "i1",
    "float16": "half",
    "bfloat16": "bfloat",
    "float32": "float",
    "float64": "double",
    "float8_e4m3fn": "i8",
    "float8_e5m2": "i8",
    "int4": "i8",
    "uint4": "i8",
}


def llvm_type(dtype: str) -> str:
    """The type of a value in a register."""
    return _TYPES.get(dtype) or f"i{width(dtype)}"


def memory_type(dtype: str) -> str:
    """The type of an element in memory: truth takes a byte."""
    found = llvm_type(dtype)
    return "i8" if found == "i1" else found


def item_bytes(dtype: str) -> int:
    return dtypes.to_numpy(dtype).itemsize


@dataclass(frozen=True)
class Code:
    """A kernel as LLVM IR, and the memory it wants besides its arguments."""

    ir: str
    workspace: int = 0  # bytes for all workers together
    worker_workspace: int = 0  # bytes more for each
    checks: tuple[str, ...] = ()


def generate(
    name: str,
    loops: Lowered,
    target: Target,
    *,
    checked: bool = False,
    may_alias: bool = False,
    sizes: Sequence[Var] = (),
) -> Code:
    """The code of one kernel. With `may_alias`, outputs may lie where inputs do."""
    return _Kernel(name, loops, target, checked, may_alias, tuple(sizes)).generate()


@dataclass(frozen=True)
class Value:
    """A value in a register: `lanes` is 0 for a scalar. `reads` are the buffers it came from."""

    text: str
    type: str  # of one lane
    lanes: int = 0
    reads: frozenset[int] = frozenset()

    @property
    def full_type(self) -> str:
        return f"<{self.lanes} x {self.type}>" if self.lanes else self.type

    def __str__(self) -> str:
        return f"{self.full_type} {self.text}"


Emission = Generator[Any, Any, Value]


@dataclass
class _Memory:
    """Bytes handed out like a stack: what is needed at most counts."""

    used: int = 0
    most: int = 0

    @contextmanager
    def take(self, size: int) -> Iterator[int]:
        offset = self.used
        self.used += -(-size // _ALIGNMENT) * _ALIGNMENT
        self.most = max(self.most, self.used)
        yield offset
        self.used = offset


class _Kernel:
    """What the functions of one kernel share."""

    def __init__(
        self,
        name: str,
        loops: Lowered,
        target: Target,
        checked: bool,
        may_alias: bool,
        sizes: tuple[Var, ...],
    ) -> None:
        self.name = name
        self.loops = loops
        self.target = target
        self.checked = checked
        self.may_alias = may_alias
        self.sizes = sizes
        self.functions: list[str] = []
        self.checks: list[str] = []
        self.shared = _Memory()
        self.per_worker = _Memory()
        self.parallel_loops = 0

    def generate(self) -> Code:
        buffers = (*self.loops.inputs, *self.loops.outputs)
        body = _Function(self, f"{self.name}.body")
        alias = "" if self.may_alias else " noalias"
        parameters = ["ptr %context", "ptr %workspace"]
        for i, buffer in enumerate(buffers):
            read_only = " readonly" if i < len(self.loops.inputs) and not self.may_alias else ""
            parameters.append(f"ptr{alias}{read_only} %b{i}")
            body.pointers[id(buffer)] = f"%b{i}"
        for i, size in enumerate(self.sizes):
            parameters.append(f"i64 %s{i}")
            body.variables[size] = Value(f"%s{i}", "i64")
            body.simplify.ranges[size] = (0, None)
        body.statement(self.loops.body)
        body.line("ret void")
        self.functions.append(body.text(f"internal void @{self.name}.body", parameters))
        text = "\n".join([*self.functions, self._entry(len(buffers)), *self._tail()])
        text = text.replace(_SHARED, str(self.shared.most))
        text = text.replace(_PER_WORKER, str(self.per_worker.most))
        return Code(text, self.shared.most, self.per_worker.most, tuple(self.checks))

    def _entry(self, count: int) -> str:
        lines = ["entry:"]
        arguments = ["ptr %context"]
        slots: list[tuple[str, str]] = [("ptr", f"b{i}") for i in range(count)]
        slots += [("i64", f"s{i}") for i in range(len(self.sizes))]
        needs_workspace = bool(self.shared.most or self.per_worker.most)
        if needs_workspace:
            slots.append(("ptr", "workspace"))
        for position, (kind, name) in enumerate(slots):
            lines.append(f"  %{name}.at = getelementptr i8, ptr %args, i64 {8 * position}")
            lines.append(f"  %{name} = load {kind}, ptr %{name}.at, align 8")
        arguments.append("ptr %workspace" if needs_workspace else "ptr null")
        arguments += [f"{kind} %{name}" for kind, name in slots if name != "workspace"]
        lines.append(f"  call void @{self.name}.body({', '.join(arguments)})")
        if self.checked:
            lines.append(f"  %error.at = getelementptr i8, ptr %context, i64 {abi.ERROR}")
            lines.append("  %error = load i64, ptr %error.at, align 8")
            lines.append("  %code = trunc i64 %error to i32")
            lines.append("  ret i32 %code")
        else:
            lines.append("  ret i32 0")
        header = f"define i32 @{self.name}(ptr %context, ptr %args) {self.attributes} {{"
        return "\n".join([header, *lines, "}"])

    def _tail(self) -> list[str]:
        # the loops come in their final form
        return ["!0 = distinct !{!0, !1}", '!1 = !{!"llvm.loop.unroll.disable"}']

    @property
    def attributes(self) -> str:
        bits = self.target.vector_bits
        return f'nounwind "prefer-vector-width"="{bits}" "min-legal-vector-width"="{bits}"'


class _Function:
    """One LLVM function while it is written."""

    def __init__(self, kernel: _Kernel, name: str) -> None:
        self.kernel = kernel
        self.name = name
        self.lines: list[str] = []
        self.entry: list[str] = []  # memory on the stack, allotted once
        self.block = "entry"
        self.count = 0
        self.pointers: dict[int, str] = {}  # by buffer
        self.variables: dict[Var, Value] = {}
        self.simplify = Simplifier()
        self.known: list[dict[Any, tuple[Value, tuple[tuple[int, int], ...]]]] = [{}]
        self.versions: dict[int, int] = {}
        self.lane: Var | None = None
        self.lanes = 0
        self.mask: Value | None = None
        self.in_parallel = False
        self.worker = "0"
        self.dependent: dict[Expr, bool] = {}  # on the lane
        self.varying: set[Var] = set()  # the lane, and names for what depends on it

    # --- text

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

    def place(self, label: str) -> None:
        self.lines.append(f"{label}:")
        self.block = label

    def make(
        self, code: str, type: str, lanes: int = 0, reads: frozenset[int] = frozenset()
    ) -> Value:
        name = self.fresh()
        self.line(f"{name} = {code}")
        return Value(name, type, lanes, reads)

    # --- what is known

    @contextmanager
    def scope(self) -> Iterator[None]:
        """What is computed inside is not known after: it may not have been computed."""
        self.known.append({})
        yield
        self.known.pop()

    def recall(self, key: Any) -> Value | None:
        for known in reversed(self.known):
            if (entry := known.get(key)) is not None:
                value, versions = entry
                if all(self.versions.get(b, 0) == version for b, version in versions):
                    return value
        return None

    def remember(self, key: Any, value: Value) -> Value:
        versions = tuple((b, self.versions.get(b, 0)) for b in value.reads)
        self.known[-1][key] = (value, versions)
        return value

    def written(self, buffers: set[int]) -> None:
        for buffer in buffers:
            self.versions[buffer] = self.versions.get(buffer, 0) + 1

    # --- statements (nested as deep as loops are, so the stack is enough for a trampoline only)

    def statement(self, statement: Statement) -> None:
        tree.run(self._statement(statement))

    def _statement(self, statement: Statement) -> Generator[Any, Any, None]:
        match statement:
            case Block():
                for step in statement.steps:
                    yield self._statement(step)
            case For(kind=Kind.PARALLEL) if not self.in_parallel and self.lane is None:
                yield self._parallel(statement)
            case For(kind=Kind.VECTOR) if self.lane is None and not self.kernel.checked:
                yield self._vector(statement)
            case For():
                yield self._loop(statement)
            case Store():
                self._store(statement)
            case If():
                yield self._if(statement)
            case Let():
                self.variables[statement.var] = self.value(statement.value)
                if self.depends(statement.value):
                    self.varying.add(statement.var)
                if statement.value.dtype == INDEX:
                    self.simplify.ranges[statement.var] = self.simplify.interval(statement.value)
                yield self._statement(statement.body)
            case Allocate():
                yield self._allocate(statement)
            case While():
                yield self._while(statement)
            case Prefetch():
                pointer = self.address(statement.buffer, statement.indices)
                self.line(
                    f"call void @llvm.prefetch.p0(ptr {pointer}, i32 0, i32 {statement.level}, i32 1)"
                )
            case _:
                raise TypeError(f"{type(statement).__name__} is not a statement")

    def _loop(self, loop: For) -> Generator[Any, Any, None]:
        extent = self.value(loop.extent)
        yield self._range(loop, Value("0", "i64"), extent)

    def _range(self, loop: For, begin: Value, end: Value) -> Generator[Any, Any, None]:
        """The loop from `begin` to `end`."""
        writes = _stores(loop.body)
        self.written(writes)
        head, done = self.label("loop"), self.label("done")
        before = self.block
        if not (isinstance(loop.extent, Const) and begin.text == "0"):
            # it may not run at all
            start = self.label("start")
            some = self.make(f"icmp slt i64 {begin.text}, {end.text}", "i1")
            self.line(f"br i1 {some.text}, label %{start}, label %{done}")
            self.place(start)
            before = start
        self.line(f"br label %{head}")
        self.place(head)
        var = self.fresh("i")
        position = len(self.lines)
        self.lines.append("")
        self.variables[loop.var] = Value(var, "i64")
        self.simplify.bind(loop.var, loop.extent)
        with self.scope():
            yield self._statement(loop.body)
        after = self.fresh("n")
        self.line(f"{after} = add nuw nsw i64 {var}, 1")
        again = self.make(f"icmp slt i64 {after}, {end.text}", "i1")
        self.lines[position] = (
            f"  {var} = phi i64 [ {begin.text}, %{before} ], [ {after}, %{self.block} ]"
        )
        self.line(f"br i1 {again.text}, label %{head}, label %{done}, !llvm.loop !0")
        self.place(done)
        self.written(writes)

    def _vector(self, loop: For) -> Generator[Any, Any, None]:
        if not isinstance(loop.extent, Const):
            raise RelayError(f"vector loop `{loop.var.name}` needs a constant extent")
        self.lane, self.lanes = loop.var, int(loop.extent.value)
        self.varying = {loop.var}
        self.simplify.bind(loop.var, loop.extent)
        self.dependent = {}
        with self.scope():
            yield self._statement(loop.body)
        self.lane, self.lanes = None, 0
        self.dependent = {}

    def _while(self, loop: While) -> Generator[Any, Any, None]:
        writes = _stores(loop.body)
        self.written(writes)
        head, body, done = self.label("while"), self.label("do"), self.label("done")
        self.line(f"br label %{head}")
        self.place(head)
        with self.scope():
            condition = self.value(loop.condition)
            self.line(f"br i1 {condition.text}, label %{body}, label %{done}")
            self.place(body)
            yield self._statement(loop.body)
        self.line(f"br label %{head}")
        self.place(done)
        self.written(writes)

    def _if(self, statement: If) -> Generator[Any, Any, None]:
        if self.lane is not None and self.depends(statement.condition):
            yield self._masked(statement)
            return
        writes = _stores(statement)
        condition = self.value(statement.condition)
        then, done = self.label("then"), self.label("endif")
        otherwise = self.label("else") if statement.otherwise is not None else done
        self.line(f"br i1 {condition.text}, label %{then}, label %{otherwise}")
        self.place(then)
        with self.scope():
            yield self._statement(statement.then)
        self.line(f"br label %{done}")
        if statement.otherwise is not None:
            self.written(writes)
            self.place(otherwise)
            with self.scope():
                yield self._statement(statement.otherwise)
            self.line(f"br label %{done}")
        self.place(done)
        self.written(writes)

    def _masked(self, statement: If) -> Generator[Any, Any, None]:
        outer = self.mask
        condition = self.spread(self.value(statement.condition))
        self.mask = self.both(outer, condition)
        with self.scope():
            yield self._statement(statement.then)
        if statement.otherwise is not None:
            self.mask = self.both(outer, self.negated(condition))
            with self.scope():
                yield self._statement(statement.otherwise)
        self.mask = outer

    def both(self, first: Value | None, second: Value) -> Value:
        if first is None:
            return second
        return self.make(f"and {first}, {second.text}", "i1", self.lanes)

    def negated(self, mask: Value) -> Value:
        return self.make(f"xor {mask}, splat (i1 true)", "i1", mask.lanes)

    def _allocate(self, statement: Allocate) -> Generator[Any, Any, None]:
        buffer = statement.buffer
        if buffer.scope is Scope.GLOBAL:
            raise RelayError(f"buffer `{buffer.name}` is given to the kernel, not made in it")
        size = _constant_size(buffer) * item_bytes(buffer.dtype)
        if buffer.scope is not Scope.WORKSPACE or size <= _STACK_BYTES:
            pointer = self.fresh("m")
            kind = f"[{max(1, _constant_size(buffer))} x {memory_type(buffer.dtype)}]"
            self.entry.append(f"  {pointer} = alloca {kind}, align {_ALIGNMENT}")
            self.pointers[id(buffer)] = pointer
            yield self._statement(statement.body)
            return
        memory = self.kernel.per_worker if self.in_parallel else self.kernel.shared
        with memory.take(size) as offset:
            base = "%own" if self.in_parallel else "%workspace"
            at = self.make(f"getelementptr i8, ptr {base}, i64 {offset}", "ptr")
            self.pointers[id(buffer)] = at.text
            yield self._statement(statement.body)

    # --- parallel loops

    def _parallel(self, loop: For) -> Generator[Any, Any, None]:
        """The loop as a function of its own, called by the pool for a range of it."""
        kernel = self.kernel
        kernel.parallel_loops += 1
        name = f"{kernel.name}.loop{kernel.parallel_loops}"
        inner = _Function(kernel, name)
        inner.in_parallel = True
        inner.simplify.ranges = dict(self.simplify.ranges)
        buffers, used = _free(loop)
        captured: list[tuple[str, str]] = []  # type, value here
        parameters: list[str] = []
        alias = "" if kernel.may_alias else " noalias"
        for buffer in buffers:
            parameters.append(f"ptr{alias} %c{len(captured)}")
            inner.pointers[id(buffer)] = f"%c{len(captured)}"
            captured.append(("ptr", self.pointers[id(buffer)]))
        for var in used:
            value = self.variables[var]
            parameters.append(f"{value.type} %c{len(captured)}")
            inner.variables[var] = Value(f"%c{len(captured)}", value.type)
            captured.append((value.type, value.text))
        parameters = [
            "ptr %context",
            "ptr %own",
            "i64 %begin",
            "i64 %end",
            *parameters,
        ]
        yield inner._range(loop, Value("%begin", "i64"), Value("%end", "i64"))
        inner.line("ret void")
        kernel.functions.append(inner.text(f"internal void @{name}.part", parameters))
        closure = self._closure(name, captured)
        extent = self.value(loop.extent)
        run = self.make("load ptr, ptr %context, align 8", "ptr")
        self.line(f"call void {run.text}(ptr %context, ptr @{name}, ptr {closure}, {extent})")
        self.written(_stores(loop.body))

    def _closure(self, name: str, captured: Sequence[tuple[str, str]]) -> str:
        """The function the pool calls, and what it is to be given."""
        closure = self.fresh("closure")
        count = len(captured) + 2
        self.entry.append(f"  {closure} = alloca [{count} x i64], align 8")
        lines = ["entry:"]
        arguments = []
        slots = [("ptr", "%workspace"), *captured]
        for i, (kind, value) in enumerate(slots):
            at = self.make(f"getelementptr i8, ptr {closure}, i64 {8 * i}", "ptr")
            self.line(f"store {kind} {value}, ptr {at.text}, align 8")
            lines.append(f"  %a{i}.at = getelementptr i8, ptr %closure, i64 {8 * i}")
            lines.append(f"  %a{i} = load {kind}, ptr %a{i}.at, align 8")
            if i:
                arguments.append(f"{kind} %a{i}")
        lines.append(f"  %skip = mul i64 %worker, {_PER_WORKER}")
        lines.append(f"  %from = add i64 %skip, {_SHARED}")
        lines.append("  %own = getelementptr i8, ptr %a0, i64 %from")
        given = ", ".join(["ptr %context", "ptr %own", "i64 %begin", "i64 %end", *arguments])
        lines += [f"  call void @{name}.part({given})", "  ret void"]
        header = (
            f"define internal void @{name}(ptr %context, ptr %closure, i64 %begin, i64 %end, "
            f"i64 %worker) {self.kernel.attributes} {{"
        )
        self.kernel.functions.append("\n".join([header, *lines, "}"]))
        return closure

    # --- memory

    def address(self, buffer: Source, indices: Sequence[Expr]) -> str:
        """The address of an element, the same for all lanes."""
        total = self.flat(buffer, indices)
        return self.pointer(buffer, total)

    def flat(self, buffer: Source, indices: Sequence[Expr]) -> Linear:
        return access.flat(buffer.shape, indices, self.simplify)

    def pointer(self, buffer: Source, total: Linear) -> str:
        """The address of an element: what varies first, then what is constant, so that neighbours
        share all but a displacement."""
        base = self.pointers[id(buffer)]
        kind = memory_type(buffer.dtype)
        if total.terms:
            varying = self.simplify.build(Linear(total.terms))
            key = ("address", base, varying)
            found = self.recall(key)
            if found is None:
                offset = self.value(varying)
                code = f"getelementptr inbounds {kind}, ptr {base}, {offset}"
                found = self.remember(key, self.make(code, "ptr", 0, offset.reads))
            base = found.text
        if total.constant == 0:
            return base
        key = ("address", base, total.constant, kind)
        found = self.recall(key)
        if found is None:
            code = f"getelementptr inbounds {kind}, ptr {base}, i64 {total.constant}"
            found = self.remember(key, self.make(code, "ptr"))
        return found.text

    def _read(self, expr: Read) -> Emission:
        buffer = expr.source
        if not isinstance(buffer, Buffer):
            raise TypeError(f"tensor `{buffer.name}` is read in loops: lower the schedule first")
        self._check(buffer, expr.indices)
        total = self.flat(buffer, expr.indices)
        reads = frozenset((id(buffer),))
        for position in expr.indices:
            for part in tree.postorder(position):
                if isinstance(part, Read):
                    reads |= {id(part.source)}
        kind, align = memory_type(buffer.dtype), item_bytes(buffer.dtype)
        step = self.step(total)
        masked = self.mask is not None and not self.in_range(buffer, expr.indices)
        if step == 0 and not masked:
            pointer = self.pointer(buffer, total)
            loaded = self.make(f"load {kind}, ptr {pointer}, align {align}", kind, 0, reads)
        elif step == 1:
            pointer = self.pointer(buffer, self.first_lane(total))
            if masked:
                assert self.mask is not None
                whole = f"<{self.lanes} x {kind}>"
                code = (
                    f"call {whole} @llvm.masked.load.{_suffix(kind, self.lanes)}.p0(ptr align {align} "
                    f"{pointer}, {self.mask}, {whole} zeroinitializer)"
                )
            else:
                code = f"load <{self.lanes} x {kind}>, ptr {pointer}, align {align}"
            loaded = self.make(code, kind, self.lanes, reads)
        else:
            pointers = yield self._pointers(buffer, total)
            mask = self.mask.text if masked and self.mask is not None else "splat (i1 true)"
            whole = f"<{self.lanes} x {kind}>"
            code = (
                f"call {whole} @llvm.masked.gather.{_suffix(kind, self.lanes)}."
                f"v{self.lanes}p0(<{self.lanes} x ptr> align {align} {pointers.text}, "
                f"<{self.lanes} x i1> {mask}, {whole} zeroinitializer)"
            )
            loaded = self.make(code, kind, self.lanes, reads)
        if llvm_type(buffer.dtype) == "i1":
            zero = "zeroinitializer" if loaded.lanes else "0"
            return self.make(f"icmp ne {loaded}, {zero}", "i1", loaded.lanes, reads)
        return loaded

    def step(self, total: Linear) -> int | None:
        """By how much a position grows from lane to lane; None when not evenly."""
        if self.lane is None:
            return 0
        if any(atom is not self.lane and self.depends(atom) for atom in total.terms):
            return None
        return total.terms.get(self.lane, 0)

    def first_lane(self, total: Linear) -> Linear:
        terms = {atom: c for atom, c in total.terms.items() if atom is not self.lane}
        return Linear(terms, total.constant)

    def _pointers(self, buffer: Source, total: Linear) -> Emission:
        """One address per lane."""
        kind = memory_type(buffer.dtype)
        fixed = Linear(
            {a: c for a, c in total.terms.items() if not self.depends(a)}, total.constant
        )
        moving = Linear({a: c for a, c in total.terms.items() if self.depends(a)})
        base = self.pointer(buffer, fixed)
        offsets: Value = yield self._value(self.simplify.build(moving))
        offsets = self.spread(offsets)
        return self.make(
            f"getelementptr {kind}, ptr {base}, {offsets}", "ptr", self.lanes, offsets.reads
        )

    def in_range(self, buffer: Source, indices: Sequence[Expr]) -> bool:
        """Whether every index is proven to lie in the buffer."""
        for position, extent in zip(indices, buffer.shape, strict=True):
            simple = self.simplify(position)
            if not (self.simplify.holds(simple >= 0) and self.simplify.holds(simple < extent)):
                return False
        return True

    def _check(self, buffer: Source, indices: Sequence[Expr]) -> None:
        """In the checked mode: leave the kernel before an access outside the buffer."""
        if not self.kernel.checked:
            return
        for axis, (position, extent) in enumerate(zip(indices, buffer.shape, strict=True)):
            place = self.value(self.simplify(position))
            limit = self.value(extent)
            inside = self.make(f"icmp ult i64 {place.text}, {limit.text}", "i1")
            good, bad = self.label("inside"), self.label("outside")
            self.line(f"br i1 {inside.text}, label %{good}, label %{bad}")
            self.place(bad)
            number = len(self.kernel.checks)
            self.kernel.checks.append(f"axis {axis} of `{buffer.name}`")
            details = (str(abi.OUT_OF_RANGE), str(number), place.text, limit.text)
            for offset, detail in zip((abi.ERROR, *abi.DETAILS), details, strict=True):
                at = self.make(f"getelementptr i8, ptr %context, i64 {offset}", "ptr")
                self.line(f"store i64 {detail}, ptr {at.text}, align 8")
            self.line("ret void")
            self.place(good)

    def _store(self, statement: Store) -> None:
        buffer = statement.buffer
        value = self.value(statement.value)
        self._check(buffer, statement.indices)
        total = self.flat(buffer, statement.indices)
        kind, align = memory_type(buffer.dtype), item_bytes(buffer.dtype)
        step = self.step(total)
        if step == 0 and self.lane is not None and (value.lanes or self.mask is not None):
            raise RelayError(f"all lanes of a vector loop store to one element of `{buffer.name}`")
        if self.lane is not None and step != 0:
            value = self.spread(value)
        if buffer.dtype == INDEX:
            value = self._as_integer(value, kind)
        if value.type == "i1":
            value = self.make(f"zext {value} to {_whole('i8', value.lanes)}", "i8", value.lanes)
        if step == 0:
            pointer = self.pointer(buffer, total)
            self.line(f"store {value}, ptr {pointer}, align {align}")
        elif step == 1:
            pointer = self.pointer(buffer, self.first_lane(total))
            if self.mask is None:
                self.line(f"store {value}, ptr {pointer}, align {align}")
            else:
                self.line(
                    f"call void @llvm.masked.store.{_suffix(kind, self.lanes)}.p0({value}, "
                    f"ptr align {align} {pointer}, {self.mask})"
                )
        else:
            pointers = tree.run(self._pointers(buffer, total))
            mask = self.mask.text if self.mask is not None else "splat (i1 true)"
            self.line(
                f"call void @llvm.masked.scatter.{_suffix(kind, self.lanes)}.v{self.lanes}p0("
                f"{value}, <{self.lanes} x ptr> align {align} {pointers.text}, "
                f"<{self.lanes} x i1> {mask})"
            )
        self.written({id(buffer)})

    # --- expressions

    def depends(self, expr: Expr) -> bool:
        """Whether an expression differs between the lanes."""
        if self.lane is None:
            return False
        known = self.dependent.get(expr)
        if known is None:
            known = not self.varying.isdisjoint(variables(expr))
            self.dependent[expr] = known
        return known

    def spread(self, value: Value) -> Value:
        """A scalar in every lane."""
        if value.lanes or not self.lanes:
            return value
        if not value.text.startswith("%"):
            if value.text == "zeroinitializer":
                return Value(value.text, value.type, self.lanes)
            return Value(f"splat ({value.type} {value.text})", value.type, self.lanes)
        key = ("spread", value.text, self.lanes)
        if (known := self.recall(key)) is not None:
            return known
        whole = _whole(value.type, self.lanes)
        first = self.make(f"insertelement {whole} poison, {value}, i64 0", value.type, self.lanes)
        code = f"shufflevector {first}, {whole} poison, <{self.lanes} x i32> zeroinitializer"
        return self.remember(key, self.make(code, value.type, self.lanes, value.reads))

    def value(self, expr: Expr) -> Value:
        """The value of an expression, computed here unless it is known."""
        return tree.run(self._value(expr))

    def _value(self, expr: Expr) -> Emission:
        if isinstance(expr, Const):
            return Value(literal(expr), llvm_type(expr.dtype))
        if isinstance(expr, Var):
            return self._variable(expr)
        key = (expr, self.mask.text if self.mask is not None else None)
        if (known := self.recall(key)) is not None:
            return known
        if self.mask is not None and not self.depends(expr):
            # a scalar is the same under every mask, unless it must not be read
            if (known := self.recall((expr, None))) is not None:
                return known
        value: Value = yield self._compute(expr)
        return self.remember(key, value)

    def _variable(self, var: Var) -> Value:
        if var is self.lane:
            numbers = ", ".join(f"i32 {i}" for i in range(self.lanes))
            return Value(f"<{numbers}>", "i32", self.lanes)
        if var not in self.variables:
            raise RelayError(f"variable `{var.name}` has no value in kernel `{self.kernel.name}`")
        return self.variables[var]

    def _compute(self, expr: Expr) -> Emission:
        match expr:
            case Read():
                return (yield self._read(expr))
            case Select():
                return (yield self._select(expr))
            case Binary() | Compare():
                left: Value = yield self._value(expr.left)
                right: Value = yield self._value(expr.right)
                if isinstance(expr, Compare):
                    return self._compare(expr, left, right)
                return self._binary(expr, left, right)
            case Unary():
                operand: Value = yield self._value(expr.operand)
                return self._unary(expr, operand)
            case Cast() | Bitcast():
                operand = yield self._value(expr.operand)
                return self._convert(expr, operand)
            case Call():
                args = []
                for arg in expr.args:
                    args.append((yield self._value(arg)))
                return self._call(expr, args)
            case Reduce() | Axis() | Var() | Const() | Expr():
                raise TypeError(f"{type(expr).__name__} cannot be computed in loops")
            case _:
                assert_never(expr)

    def _together(self, *pairs: tuple[Expr, Value], result: Expr | None = None) -> list[Value]:
        """Operands of one operation: all vectors if one is; indices that differ between lanes in 32
        bits where they fit, which is twice as fast as 64."""
        values = [value for _, value in pairs]
        if any(value.lanes for value in values):
            values = [self.spread(value) for value in values]
        if pairs[0][0].dtype == INDEX and "i32" in [value.type for value in values]:
            involved = [expr for expr, _ in pairs] + ([] if result is None else [result])
            if all(self._is_small(expr) for expr in involved):
                return [self._as_integer(value, "i32") for value in values]
            return [self._as_integer(value, "i64") for value in values]
        return values

    def _is_small(self, expr: Expr) -> bool:
        low, high = self.simplify.interval(expr)
        return low is not None and high is not None and low >= -(2**31) and high < 2**31

    def _as_integer(self, value: Value, type: str) -> Value:
        if value.type == type:
            return value
        if not value.text.startswith("%") and value.text.startswith("splat"):
            return Value(value.text.replace(f"({value.type} ", f"({type} "), type, value.lanes)
        how = "sext" if _bits(type) > _bits(value.type) else "trunc"
        whole = _whole(type, value.lanes)
        return self.make(f"{how} {value} to {whole}", type, value.lanes, value.reads)

    def _select(self, expr: Select) -> Emission:
        condition: Value = yield self._value(expr.condition)
        sides = (expr.if_true, expr.if_false)
        if all(self._is_safe(side) for side in sides):
            first: Value = yield self._value(expr.if_true)
            second: Value = yield self._value(expr.if_false)
            return self._chosen(expr, condition, first, second)
        if self.lane is not None and self.depends(expr):
            outer, mask = self.mask, self.spread(condition)
            self.mask = self.both(outer, mask)
            with self.scope():
                first = yield self._value(expr.if_true)
                first = self.spread(first)
            self.mask = self.both(outer, self.negated(mask))
            with self.scope():
                second = yield self._value(expr.if_false)
                second = self.spread(second)
            self.mask = outer
            return self._chosen(expr, mask, first, second)
        return (yield self._branches(expr, condition))

    def _is_safe(self, expr: Expr) -> bool:
        """Whether an expression may be computed although nobody asked for it: it reads nothing that
        might be out of range, and is not too long."""
        parts = 0
        for part in tree.postorder(expr):
            parts += 1
            if isinstance(part, Read) and not self.in_range(part.source, part.indices):
                return False
        return parts < 40 or self.lane is not None

    def _chosen(self, expr: Select, condition: Value, first: Value, second: Value) -> Value:
        first, second = self._together((expr.if_true, first), (expr.if_false, second))
        if condition.lanes:
            first, second = self.spread(first), self.spread(second)
        reads = condition.reads | first.reads | second.reads
        return self.make(f"select {condition}, {first}, {second}", first.type, first.lanes, reads)

    def _branches(self, expr: Select, condition: Value) -> Emission:
        """Only the side that is wanted."""
        then, otherwise, done = self.label("then"), self.label("else"), self.label("chosen")
        self.line(f"br i1 {condition.text}, label %{then}, label %{otherwise}")
        self.place(then)
        with self.scope():
            first: Value = yield self._value(expr.if_true)
        first_end = self.block
        self.line(f"br label %{done}")
        self.place(otherwise)
        with self.scope():
            second: Value = yield self._value(expr.if_false)
        second_end = self.block
        self.line(f"br label %{done}")
        self.place(done)
        reads = condition.reads | first.reads | second.reads
        code = f"phi {first.type} [ {first.text}, %{first_end} ], [ {second.text}, %{second_end} ]"
        return self.make(code, first.type, 0, reads)

    def _compare(self, expr: Compare, left: Value, right: Value) -> Value:
        left, right = self._together((expr.left, left), (expr.right, right))
        dtype = expr.left.dtype
        if dtypes.is_float(dtype):
            code = f"fcmp {'une' if expr.op == 'ne' else 'o' + expr.op} {left}, {right.text}"
        else:
            sign = "" if expr.op in ("eq", "ne") else "s" if _is_signed(dtype) else "u"
            code = f"icmp {sign}{expr.op} {left}, {right.text}"
        return self.make(code, "i1", left.lanes, left.reads | right.reads)

    def _binary(self, expr: Binary, left: Value, right: Value) -> Value:
        left, right = self._together((expr.left, left), (expr.right, right), result=expr)
        reads = left.reads | right.reads

        def op(code: str, a: Value = left, b: Value = right) -> Value:
            return self.make(f"{code} {a}, {b.text}", a.type, a.lanes, reads)

        if dtypes.is_float(expr.dtype):
            names = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}
            if expr.op in names:
                return op(names[expr.op])
            return self._extremum(expr, left, right, "fcmp olt" if expr.op == "max" else "fcmp ogt")
        signed = _is_signed(expr.dtype)
        match expr.op:
            case "add" | "sub" | "mul":
                overflow = " nsw" if expr.dtype == INDEX and not left.lanes else ""
                return op(f"{expr.op}{overflow}")
            case "and" | "or" | "xor":
                return op(expr.op)
            case "min" | "max":
                less = f"icmp {'s' if signed else 'u'}{'lt' if expr.op == 'max' else 'gt'}"
                return self._extremum(expr, left, right, less)
            case "shl" | "shr":
                return self._shift(expr, left, right, signed)
            case _:
                return self._division(expr, left, right, signed)

    def _extremum(self, expr: Binary, left: Value, right: Value, less: str) -> Value:
        """`right` where left is on the wrong side of it, and NaN where either is."""
        reads = left.reads | right.reads
        worse = self.make(f"{less} {left}, {right.text}", "i1", left.lanes)
        best = self.make(f"select {worse}, {right}, {left}", left.type, left.lanes, reads)
        if not dtypes.is_float(expr.dtype) or isinstance(expr.right, Const):
            return best
        nan = self.make(f"fcmp uno {right}, {right.text}", "i1", left.lanes)
        return self.make(f"select {nan}, {right}, {best}", left.type, left.lanes, reads)

    def _shift(self, expr: Binary, left: Value, right: Value, signed: bool) -> Value:
        bits = width(expr.dtype)
        code = "shl" if expr.op == "shl" else "ashr" if signed else "lshr"
        reads = left.reads | right.reads
        if isinstance(expr.right, Const) and 0 <= int(expr.right.value) < bits:
            return self.make(f"{code} {left}, {right.text}", left.type, left.lanes, reads)

        def number(value: int) -> Value:
            return (
                self.spread(Value(str(value), left.type))
                if left.lanes
                else Value(str(value), left.type)
            )

        inside = self.make(f"icmp ult {right}, {number(bits).text}", "i1", left.lanes)
        count = self.make(f"select {inside}, {right}, {number(0)}", left.type, left.lanes)
        moved = self.make(f"{code} {left}, {count.text}", left.type, left.lanes)
        emptied = number(0)
        if code == "ashr":
            emptied = self.make(f"ashr {left}, {number(bits - 1).text}", left.type, left.lanes)
        return self.make(f"select {inside}, {moved}, {emptied}", left.type, left.lanes, reads)

    def _division(self, expr: Binary, left: Value, right: Value, signed: bool) -> Value:
        """Quotients and remainders, defined for every divisor: by zero 0, and all of it over."""
        reads = left.reads | right.reads
        type, lanes = left.type, left.lanes
        remainder = expr.op.endswith("mod")
        floored = expr.op in ("floordiv", "mod")

        def make(code: str, kind: str = type) -> Value:
            return self.make(code, kind, lanes, reads)

        def number(value: int) -> Value:
            plain = Value(str(value), type)
            return self.spread(plain) if lanes else plain

        divisor = int(expr.right.value) if isinstance(expr.right, Const) else None
        low = self.simplify.interval(expr.left)[0] if expr.dtype == INDEX else None
        if divisor is not None and divisor > 0 and (not signed or (low is not None and low >= 0)):
            return make(f"{'urem' if remainder else 'udiv'} {left}, {right.text}")
        zero = make(f"icmp eq {right}, {number(0).text}", "i1")
        safe = make(f"select {zero}, {number(1)}, {right}")
        if not signed:
            quotient = make(f"udiv {left}, {safe.text}")
        else:
            # the most negative number over -1 overflows: negate instead
            minus = make(f"icmp eq {right}, {number(-1).text}", "i1")
            safe = make(f"select {minus}, {number(1)}, {safe}")
            quotient = make(f"sdiv {left}, {safe.text}")
            negative = make(f"sub {number(0)}, {left.text}")
            quotient = make(f"select {minus}, {negative}, {quotient}")
            if floored:
                product = make(f"mul {quotient}, {right.text}")
                inexact = make(f"icmp ne {product}, {left.text}", "i1")
                signs = make(f"xor {left}, {right.text}")
                opposite = make(f"icmp slt {signs}, {number(0).text}", "i1")
                lower = make(f"and {inexact}, {opposite.text}", "i1")
                less = make(f"sub {quotient}, {number(1).text}")
                quotient = make(f"select {lower}, {less}, {quotient}")
        quotient = make(f"select {zero}, {number(0)}, {quotient}")
        if not remainder:
            return quotient
        product = make(f"mul {quotient}, {right.text}")
        return make(f"sub {left}, {product.text}")

    def _unary(self, expr: Unary, operand: Value) -> Value:
        kind, lanes = operand.type, operand.lanes
        whole = operand.full_type
        if expr.op == "not":
            ones = "true" if kind == "i1" else "-1"
            every = f"splat ({kind} {ones})" if lanes else ones
            return self.make(f"xor {operand}, {every}", kind, lanes, operand.reads)
        if dtypes.is_float(expr.dtype):
            if expr.op == "neg":
                return self.make(f"fneg {operand}", kind, lanes, operand.reads)
            name = f"llvm.fabs.{_suffix(kind, lanes)}"
            return self.make(f"call {whole} @{name}({operand})", kind, lanes, operand.reads)
        if kind == "i1":
            return operand
        zero = "zeroinitializer" if lanes else "0"
        if expr.op == "neg":
            return self.make(f"sub {whole} {zero}, {operand.text}", kind, lanes, operand.reads)
        if not _is_signed(expr.dtype):
            return operand
        name = f"llvm.abs.{_suffix(kind, lanes)}"
        code = f"call {whole} @{name}({operand}, i1 false)"
        return self.make(code, kind, lanes, operand.reads)

    def _convert(self, expr: Cast | Bitcast, operand: Value) -> Value:
        source, target = expr.operand.dtype, expr.dtype
        kind = llvm_type(target)
        if kind == operand.type:
            return operand
        if isinstance(expr, Bitcast):
            how = "bitcast"
        else:
            how = _conversion(source, target, operand.type, kind)
        if how == "truth":
            zero = "zeroinitializer" if operand.lanes else "0"
            code = f"icmp ne {operand}, {zero}"
            if dtypes.is_float(source):
                code = f"fcmp une {operand}, {'zeroinitializer' if operand.lanes else '0.0'}"
        else:
            code = f"{how} {operand} to {_whole(kind, operand.lanes)}"
        return self.make(code, kind, operand.lanes, operand.reads)

    def _call(self, expr: Call, args: list[Value]) -> Value:
        if any(arg.lanes for arg in args):
            args = [self.spread(arg) for arg in args]
        first = args[0]
        name = _INTRINSICS.get(expr.function)
        if name is None:
            raise RelayError(f"function `{expr.function}` has no code for {expr.dtype}")
        reads = frozenset().union(*(arg.reads for arg in args))
        extra = ", i1 false" if expr.function == "clz" else ""
        given = ", ".join(map(str, args)) + extra
        callee = f"@llvm.{name}.{_suffix(first.type, first.lanes)}"
        return self.make(
            f"call {first.full_type} {callee}({given})", first.type, first.lanes, reads
        )


_INTRINSICS = {
    "sqrt": "sqrt",
    "fma": "fma",
    "floor": "floor",
    "ceil": "ceil",
    "trunc": "trunc",
    "round": "rint",
    "copysign": "copysign",
    "popcount": "ctpop",
    "clz": "ctlz",
}


def _conversion(source: str, target: str, from_type: str, to_type: str) -> str:
    """LLVM's word for a cast; what it leaves undefined was made safe before."""
    if to_type == "i1":
        return "truth"
    if dtypes.is_float(source):
        if dtypes.is_float(target):
            return "fpext" if _bits(to_type) > _bits(from_type) else "fptrunc"
        return "fptosi" if _is_signed(target) else "fptoui"
    signed = _is_signed(source)
    if dtypes.is_float(target):
        return "sitofp" if signed else "uitofp"
    if _bits(to_type) < _bits(from_type):
        return "trunc"
    return "sext" if signed else "zext"


def _is_signed(dtype: str) -> bool:
    return dtype in dtypes.SIGNED


def _bits(type: str) -> int:
    return {"half": 16, "bfloat": 16, "float": 32, "double": 64}.get(type) or int(type[1:])


def _whole(type: str, lanes: int) -> str:
    return f"<{lanes} x {type}>" if lanes else type


def _suffix(type: str, lanes: int) -> str:
    """How LLVM spells a type in the name of an intrinsic."""
    short = {"half": "f16", "bfloat": "bf16", "float": "f32", "double": "f64"}.get(type, type)
    return f"v{lanes}{short}" if lanes else short


def literal(expr: Const) -> str:
    """A number as LLVM reads it; floats by their bits."""
    value = expr.value
    if expr.dtype in ("bool", "uint1"):
        return "true" if value else "false"
    if expr.dtype in ("float32", "float64"):
        if value == 0 and str(value)[0] != "-":
            return "0.0"
        return f"0x{struct.pack('>d', float(value)).hex().upper()}"
    if dtypes.is_float(expr.dtype):
        raise TypeError(f"{expr.dtype} is computed as float32")
    return str(int(value))


def _constant_size(buffer: Buffer) -> int:
    sizes = []
    for extent in buffer.shape:
        if not isinstance(extent, Const):
            raise RelayError(f"the size of `{buffer.name}` is known at run time only")
        sizes.append(int(extent.value))
    return prod(sizes)


def _stores(statement: Statement) -> set[int]:
    """The buffers a statement writes."""
    return {id(part.buffer) for part in tree.postorder(statement) if isinstance(part, Store)}


def _free(loop: For) -> tuple[list[Buffer], list[Var]]:
    """Buffers and variables that a loop uses and does not make itself, in order of appearance."""
    buffers: dict[int, Buffer] = {}
    used: dict[Var, None] = {}
    made: set[int] = set()
    bound: set[Var] = set()

    def look(expr: Expr) -> None:
        for part in tree.postorder(expr):
            if isinstance(part, Var):
                used.setdefault(part)
            elif isinstance(part, Read) and isinstance(part.source, Buffer):
                buffers.setdefault(id(part.source), part.source)
                for extent in part.source.shape:
                    look_size(extent)

    def look_size(extent: Expr) -> None:
        if not isinstance(extent, Const):
            look(extent)

    for part in tree.postorder(loop.body):
        match part:
            case For():
                bound.add(part.var)
                look(part.extent)
            case Let():
                bound.add(part.var)
                look(part.value)
            case If() | While():
                look(part.condition)
            case Allocate():
                made.add(id(part.buffer))
            case Store() | Prefetch():
                buffers.setdefault(id(part.buffer), part.buffer)
                for extent in part.buffer.shape:
                    look_size(extent)
                for position in part.indices:
                    look(position)
                if isinstance(part, Store):
                    look(part.value)
    bound.add(loop.var)
    return (
        [buffer for key, buffer in buffers.items() if key not in made],
        [var for var in used if var not in bound],
    )
