"""Generates code for statements: loops, branches, stores.

A vector loop is straight-line code: its variable is a vector of lanes, and a condition that depends
on it is a mask. A parallel loop is a separate function, which the thread pool calls with a range.
"""

from __future__ import annotations

from collections.abc import Sequence

from relay import tree
from relay.errors import RelayError
from relay.target.llvm import abi
from relay.target.llvm.dot_product import DotProducts
from relay.target.llvm.schedules import PARALLEL_WORK
from relay.target.llvm.writer import (
    ALIGNMENT,
    Value,
    item_bytes,
    memory_type,
    suffix,
    vector_type,
)
from relay.te import loops
from relay.te.expr import INDEX, Const, Expr, Read, Var, const, variables
from relay.te.simplify import Linear
from relay.te.work import work
from relay.tree import Steps

_STACK_BYTES = 8192  # larger buffers are in the workspace

# in steps (`relay.te.work`)
LONG = 1 << 26  # longer loops poll for interrupts
LOOK = 1 << 22  # between two polls
CUT = 1 << 23  # shorter parallel loops, of some milliseconds, run in one piece

# placeholders for numbers that are known at the end of the kernel
SHARED, PER_WORKER = "@shared@", "@per_worker@"


class Function(DotProducts):
    """Generates code for statements."""

    def statement(self, statement: loops.Statement) -> None:
        tree.run(self._statement(statement))

    def finish(self) -> None:
        """Return, after a fence for streaming stores."""
        if self.kernel.streams and self.kernel.target.arch == "x86_64":
            self.line("call void @llvm.x86.sse.sfence()")
        self.line("ret void")

    def _statement(self, statement: loops.Statement) -> Steps[None]:
        match statement:
            case loops.Block():
                for step in statement.steps:
                    yield self._statement(step)
            case loops.For(kind=kind) if (
                kind.is_parallel and not self.in_parallel and self.lane is None
            ):
                yield self._parallel(statement)
            case loops.For(kind=loops.Kind.VECTOR) if self.lane is None and not self.kernel.checked:
                yield self._vector(statement)
            case loops.For():
                yield self._loop(statement)
            case loops.Store():
                self._store(statement)
            case loops.If():
                yield self._if(statement)
            case loops.Let():
                yield self._let(statement)
            case loops.Allocate():
                yield self._allocate(statement)
            case loops.While():
                yield self._while(statement)
            case loops.Prefetch():
                pointer = self.address(statement.buffer, statement.indices)
                given = f"ptr {pointer}, i32 0, i32 {statement.level}, i32 1"
                self.line(f"call void @llvm.prefetch.p0({given})")
            case loops.Fail():
                index, extent = self.integer(statement.index), self.integer(statement.extent)
                self.return_out_of_range(statement.what, index.text, extent.text)
                self.begin(self.label("left"))  # unreachable
            case _:
                raise TypeError(f"{type(statement).__name__} is not a statement")

    def _let(self, statement: loops.Let) -> Steps[None]:
        """Bind a variable, which copies of a loop body bind again."""
        var = statement.var
        value, varies = self.value(statement.value), self.depends(statement.value)
        if varies != (var in self.varying):
            self.varying ^= {var}
            self.dependent = {}
        if var.dtype == INDEX:
            self.simplify.limit(var, self.simplify.interval(statement.value))
        self.variables[var] = value
        with self.scope():
            yield self._statement(statement.body)

    def integer(self, expr: Expr) -> Value:
        """An index or size, as an i64."""
        return self._as_integer(self.value(expr), "i64")

    def _loop(self, loop: loops.For) -> Steps[None]:
        extent = self.integer(loop.extent)
        self._require_uniform(extent)
        yield self._range(loop, Value("0", "i64"), extent)

    def _require_uniform(self, value: Value) -> None:
        if value.lanes:
            raise RelayError("a loop runs as often for every lane of a vector")

    def _range(
        self,
        loop: loops.For,
        begin: Value,
        end: Value,
        backwards: str | None = None,
        *,
        is_piece: bool = False,
    ) -> Steps[None]:
        """The loop from `begin` to `end`, reversed if the condition `backwards` holds. A piece of a
        parallel loop does not poll for interrupts."""
        writes = _stores(loop.body)
        self.invalidate(writes)
        head, done = self.label("loop"), self.label("done")
        before = self.block
        certain = isinstance(loop.extent, Const) and int(loop.extent.value) > 0
        if not (certain and begin.text == "0"):
            # it may have no iterations
            start = self.label("start")
            some = self.make(f"icmp slt i64 {begin.text}, {end.text}", "i1")
            self.branch(some, start, done)
            before = start
        often = None if self.polls or is_piece else self._poll_mask(loop)
        self.polls = self.polls or often is not None
        self.enter(head)
        var = self.fresh("i")
        position = len(self.lines)
        self.lines.append("")
        self.variables[loop.var] = Value(var, "i64")
        if backwards is not None:
            from_end = self.make(f"sub i64 {end.text}, {var}", "i64")
            mirrored = self.make(f"add i64 {from_end.text}, {begin.text}", "i64")
            other = self.make(f"sub i64 {mirrored.text}, 1", "i64")
            self.variables[loop.var] = self.make(
                f"select i1 {backwards}, {other}, i64 {var}", "i64"
            )
        self.simplify.bind(loop.var, loop.extent)
        with self.scope():
            yield self._statement(loop.body)
        if often is not None:
            self.polls = False
            self._poll(var, often)
        after = self.fresh("n")
        self.line(f"{after} = add nuw nsw i64 {var}, 1")
        again = self.make(f"icmp slt i64 {after}, {end.text}", "i1")
        self.lines[position] = (
            f"  {var} = phi i64 [ {begin.text}, %{before} ], [ {after}, %{self.block} ]"
        )
        self.line(f"br i1 {again.text}, label %{head}, label %{done}, !llvm.loop !0")
        self.begin(done)
        self.invalidate(writes)

    def _poll_mask(self, loop: loops.For) -> str | None:
        """The iterations between two polls for interrupts, minus one, as a mask. None if the loop
        is short, if its iterations are so long that inner loops poll, and for dynamic loops inside
        parallel ones, which are mostly short."""
        turn = self.simplify(work(loop.body, self.kernel.counted))
        whole = self.simplify(turn * loop.extent)
        if isinstance(whole, Const) and isinstance(turn, Const):
            if int(whole.value) < LONG or int(turn.value) >= LONG:
                return None
            count = LOOK // max(1, int(turn.value))
            return str((1 << max(0, count.bit_length() - 1)) - 1)
        if (self.in_parallel and loop.kind is not loops.Kind.ALTERNATING) or any(
            var not in self.variables for var in variables(turn)
        ):
            return None
        amount = self.make(f"call i64 @llvm.smax.i64({self.integer(turn)}, i64 1)", "i64")
        turns = self.make(f"udiv i64 {LOOK}, {amount.text}", "i64")
        zeros = self.make(f"call i64 @llvm.ctlz.i64({turns}, i1 false)", "i64")
        shifted = self.make(f"lshr i64 -1, {zeros.text}", "i64")
        return self.make(f"lshr {shifted}, 1", "i64").text

    def _poll(self, turn: str, often: str) -> None:
        """Poll for interrupts, by a parallel loop without a body, if there is a watch."""
        looking, asking, further = self.label("looking"), self.label("asking"), self.label("goes")
        some = self.make(f"and i64 {turn}, {often}", "i64")
        due = self.make(f"icmp eq {some}, {often}", "i1")
        self.branch(due, looking, further)
        at = self.make(f"getelementptr i8, ptr %context, i64 {abi.WATCH}", "ptr")
        watch = self.make(f"load ptr, ptr {at.text}, align 8", "ptr")
        nobody = self.make(f"icmp eq ptr {watch.text}, null", "i1")
        self.line(f"br i1 {nobody.text}, label %{further}, label %{asking}")
        self.begin(asking)
        run = self.make("load ptr, ptr %context, align 8", "ptr")
        self.line(f"call void {run.text}(ptr %context, ptr null, ptr null, i64 0)")
        self._return_if_stopped()
        self.enter(further)

    def _vector(self, loop: loops.For) -> Steps[None]:
        if not isinstance(loop.extent, Const):
            raise RelayError(f"vector loop `{loop.var.name}` needs a constant extent")
        self.lane, self.lanes = loop.var, int(loop.extent.value)
        self.varying = {loop.var}
        self.simplify.bind(loop.var, loop.extent)
        self.dependent = {}
        if self.widths.setdefault(loop.var, self.lanes) != self.lanes:
            self.widths[loop.var] = self.lanes
            self.forget_vectors()
        # no scope: the copies that follow reuse its values
        yield self._statement(loop.body)
        self.lane, self.lanes = None, 0
        self.dependent = {}

    def _while(self, loop: loops.While) -> Steps[None]:
        writes = _stores(loop.body)
        self.invalidate(writes)
        head, body, done = self.label("while"), self.label("do"), self.label("done")
        self.enter(head)
        with self.scope():
            condition = self.value(loop.condition)
            self._require_uniform(condition)
            self.branch(condition, body, done)
            yield self._statement(loop.body)
        self.line(f"br label %{head}")
        self.begin(done)
        self.invalidate(writes)

    def _if(self, statement: loops.If) -> Steps[None]:
        condition = self.value(statement.condition)
        if condition.lanes:
            yield self._masked(statement, condition)
            return
        writes = _stores(statement)
        then, done = self.label("then"), self.label("endif")
        otherwise = self.label("else") if statement.otherwise is not None else done
        self.branch(condition, then, otherwise)
        with self.scope():
            yield self._statement(statement.then)
        self.line(f"br label %{done}")
        if statement.otherwise is not None:
            self.invalidate(writes)
            self.begin(otherwise)
            with self.scope():
                yield self._statement(statement.otherwise)
            self.line(f"br label %{done}")
        self.begin(done)
        self.invalidate(writes)

    def _masked(self, statement: loops.If, condition: Value) -> Steps[None]:
        outer = self.mask
        self.mask = self.and_mask(outer, condition)
        with self.scope():
            yield self._statement(statement.then)
        if statement.otherwise is not None:
            self.mask = self.and_mask(outer, self.invert_mask(condition))
            with self.scope():
                yield self._statement(statement.otherwise)
        self.mask = outer

    def _allocate(self, statement: loops.Allocate) -> Steps[None]:
        buffer = statement.buffer
        if buffer.scope is loops.MemoryScope.GLOBAL:
            raise RelayError(f"buffer `{buffer.name}` is given to the kernel, not made in it")
        size = _elements(buffer) * item_bytes(buffer.dtype)
        if not isinstance(size, Const) and buffer.scope is not loops.MemoryScope.WORKSPACE:
            raise RelayError(f"the size of `{buffer.name}` is known at run time only")
        if isinstance(size, Const) and (
            buffer.scope is not loops.MemoryScope.WORKSPACE or int(size.value) <= _STACK_BYTES
        ):
            pointer = self.fresh("m")
            count = int(size.value) // item_bytes(buffer.dtype)
            kind = f"[{max(1, count)} x {memory_type(buffer.dtype)}]"
            self.entry.append(f"  {pointer} = alloca {kind}, align {ALIGNMENT}")
            self.pointers[id(buffer)] = pointer
            yield self._statement(statement.body)
            return
        memory = self.kernel.per_worker if self.in_parallel else self.kernel.shared
        with memory.take(size) as offset:
            base = "%own" if self.in_parallel else "%workspace"
            begin = self.integer(offset)
            at = self.make(f"getelementptr i8, ptr {base}, {begin}", "ptr")
            self.pointers[id(buffer)] = at.text
            yield self._statement(statement.body)

    def _store(self, statement: loops.Store) -> None:
        buffer = statement.buffer
        value = self.value(statement.value)
        self._check(buffer, statement.indices)
        total = self.flat(buffer, statement.indices)
        step = self.step(total)
        if step == 0:
            if self.lane is not None and (value.lanes or self.mask is not None):
                raise RelayError(
                    f"all lanes of a vector loop store to one element of `{buffer.name}`"
                )
            pointer = self.pointer(buffer, total)
            align = item_bytes(buffer.dtype)
            self.line(f"store {self._stored(value, buffer)}, ptr {pointer}, align {align}")
        elif step == 1:
            self._store_vector(statement, self._stored(self.broadcast(value), buffer), total)
        else:
            lanes = self._stored(self.broadcast(value), buffer)
            if not self.store_runs(buffer, lanes, total):
                self._scatter(buffer, lanes, total)
        self.invalidate({id(buffer)})

    def _stored(self, value: Value, buffer: loops.Buffer) -> Value:
        """A value as it is stored: booleans as bytes, indices as i64."""
        if buffer.dtype == INDEX:
            return self._as_integer(value, "i64")
        if value.type != "i1":
            return value
        whole = vector_type("i8", value.lanes)
        return self.make(f"zext {value} to {whole}", "i8", value.lanes)

    def _store_vector(self, statement: loops.Store, value: Value, total: Linear) -> None:
        """Store contiguous lanes."""
        buffer, mask = statement.buffer, self.mask
        align = item_bytes(buffer.dtype)
        if mask is not None and self._is_private(buffer, statement.indices):
            # a full store of old and new lanes, so that LLVM can promote the memory to registers
            pointer = self.pointer(buffer, self.first_lane(total))
            old = self.make(f"load {value.full_type}, ptr {pointer}, align {align}", value.type)
            code = f"select {mask}, {value}, {value.full_type} {old.text}"
            value, mask = self.make(code, value.type, value.lanes), None
        pointer = self.pointer(buffer, self.first_lane(total), inside=mask is None)
        if mask is not None:
            name = f"llvm.masked.store.{suffix(value.type, self.lanes)}.p0"
            self.line(f"call void @{name}({value}, ptr align {align} {pointer}, {mask})")
        elif statement.streaming and self._is_aligned(buffer, total):
            how = f"align {self.lanes * align}, !nontemporal !2"
            self.line(f"store {value}, ptr {pointer}, {how}")
        else:
            self.line(f"store {value}, ptr {pointer}, align {align}")

    def _is_private(self, buffer: loops.Buffer, indices: Sequence[Expr]) -> bool:
        """Whether the memory is private, and large enough for all lanes."""
        return buffer.scope in (
            loops.MemoryScope.REGISTER,
            loops.MemoryScope.STACK,
        ) and self.in_range(buffer, indices)

    def _scatter(self, buffer: loops.Buffer, value: Value, total: Linear) -> None:
        """Store lanes at arbitrary addresses."""
        pointers = tree.run(self._pointers(buffer, total))
        mask = self.mask.text if self.mask is not None else "splat (i1 true)"
        self.line(
            f"call void @llvm.masked.scatter.{suffix(value.type, self.lanes)}.v{self.lanes}p0("
            f"{value}, <{self.lanes} x ptr> align {item_bytes(buffer.dtype)} {pointers.text}, "
            f"<{self.lanes} x i1> {mask})"
        )

    def _is_aligned(self, buffer: loops.Buffer, total: Linear) -> bool:
        """Whether vectors are stored at multiples of their size."""
        size = item_bytes(buffer.dtype)
        whole = self.lanes * size
        steps = [c for atom, c in total.terms.items() if atom is not self.lane]
        return (
            self.kernel.streams
            and whole in (16, 32, 64)
            and all(step * size % whole == 0 for step in (*steps, total.constant))
        )

    def _parallel(self, loop: loops.For) -> Steps[None]:
        """Outline the loop as a function, which the pool calls for ranges."""
        kernel = self.kernel
        kernel.parallel_loops += 1
        name = f"{kernel.name}.loop{kernel.parallel_loops}"
        inner = Function(kernel, name)
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
        backwards = None
        if loop.kind is loops.Kind.ALTERNATING:
            backwards = f"%c{len(captured)}"
            parameters.append(f"i1 {backwards}")
            captured.append(("i1", self._is_reversed(name)))
        parameters = ["ptr %context", "ptr %own", "i64 %begin", "i64 %end", *parameters]
        bounds = Value("%begin", "i64"), Value("%end", "i64")
        yield inner._range(loop, *bounds, backwards, is_piece=backwards is None)
        inner.finish()
        kernel.functions.append(inner.text(f"internal void @{name}.part", parameters))
        closure = self._closure(name, captured)
        extent = self.integer(loop.extent)
        done, total = None, None
        if kernel.has_sizes:
            done, total = self._serial_if_short(loop, name, closure, extent)
        run = self.make("load ptr, ptr %context, align 8", "ptr")
        turns = (
            self._split_if_long(loop, extent, total) if backwards is None else self._unsplit(extent)
        )
        self.line(f"call void {run.text}(ptr %context, ptr @{name}, ptr {closure}, {turns})")
        self._return_if_stopped()
        if done is not None:
            self.enter(done)
        self.invalidate(_stores(loop.body))

    def _return_if_stopped(self) -> None:
        """Return if a parallel loop was interrupted or failed."""
        self.kernel.may_stop = True
        at = self.make(f"getelementptr i8, ptr %context, i64 {abi.ERROR}", "ptr")
        error = self.make(f"load atomic i64, ptr {at.text} monotonic, align 8", "i64")
        fine = self.make(f"icmp eq {error}, 0", "i1")
        stopped, further = self.label("stopped"), self.label("further")
        self.line(f"br i1 {fine.text}, label %{further}, label %{stopped}")
        self.begin(stopped)
        self.finish()
        self.begin(further)

    def _is_reversed(self, name: str) -> str:
        """Whether an alternating loop is reversed in this call, the opposite of the last one.

        The flag is shared by concurrent calls; it does not influence results.
        """
        self.kernel.functions.append(f"@{name}.backwards = internal global i8 0")
        note = f"ptr @{name}.backwards monotonic, align 1"
        before = self.make(f"load atomic i8, {note}", "i8")
        now = self.make(f"xor {before}, 1", "i8")
        self.line(f"store atomic {now}, {note}")
        return self.make(f"trunc {before} to i1", "i1").text

    def _unsplit(self, extent: Value) -> Value:
        """An extent whose ranges the pool does not split for polling (`relay.target.llvm.abi`)."""
        return self.make(f"sub i64 0, {extent.text}", "i64")

    def _split_if_long(self, loop: loops.For, extent: Value, total: Value | None) -> Value:
        """The extent, without splitting of ranges if there is little work."""
        if total is not None:
            short = self.make(f"icmp slt i64 {total.text}, {CUT}", "i1")
            whole = self._unsplit(extent)
            return self.make(f"select i1 {short.text}, {whole}, {extent}", "i64")
        amount = self.simplify(work(loop.body, self.kernel.counted) * loop.extent)
        if isinstance(amount, Const) and int(amount.value) < CUT:
            return self._unsplit(extent)
        return extent

    def _serial_if_short(
        self, loop: loops.For, name: str, closure: str, extent: Value
    ) -> tuple[str, Value]:
        """Run the loop in this thread if there is little work at run time, or else what follows.
        Returns the label of the end, and the amount of work."""
        amount = self.simplify(work(loop.body, self.kernel.counted))
        if any(var not in self.variables for var in variables(amount)):
            amount = const(1, INDEX)
        total = self.make(f"mul i64 {extent.text}, {self.integer(amount).text}", "i64")
        little = self.make(f"icmp slt i64 {total.text}, {PARALLEL_WORK}", "i1")
        here, spread, done = self.label("here"), self.label("spread"), self.label("done")
        self.branch(little, here, spread)
        given = f"ptr %context, ptr {closure}, i64 0, {extent}, i64 0"
        self.line(f"call void @{name}({given})")
        self.line(f"br label %{done}")
        self.begin(spread)
        return done, total

    def _closure(self, name: str, captured: Sequence[tuple[str, str]]) -> str:
        """Generate the function that the pool calls; returns the closure it is called with."""
        closure = self.fresh("closure")
        count = len(captured) + 4
        self.entry.append(f"  {closure} = alloca [{count} x i64], align 8")
        lines = ["entry:"]
        arguments = []
        shared, per_worker = SHARED, PER_WORKER
        memory = [("ptr", "%workspace")]
        if self.kernel.has_sizes:
            memory += [("i64", "%shared"), ("i64", "%per_worker")]
            shared, per_worker = "%a1", "%a2"
        slots = [*memory, *captured]
        for i, (kind, value) in enumerate(slots):
            at = self.make(f"getelementptr i8, ptr {closure}, i64 {8 * i}", "ptr")
            self.line(f"store {kind} {value}, ptr {at.text}, align 8")
            lines.append(f"  %a{i}.at = getelementptr i8, ptr %closure, i64 {8 * i}")
            lines.append(f"  %a{i} = load {kind}, ptr %a{i}.at, align 8")
            if i >= len(memory):
                arguments.append(f"{kind} %a{i}")
        lines.append(f"  %skip = mul i64 %worker, {per_worker}")
        lines.append(f"  %from = add i64 %skip, {shared}")
        lines.append("  %own = getelementptr i8, ptr %a0, i64 %from")
        given = ", ".join(["ptr %context", "ptr %own", "i64 %begin", "i64 %end", *arguments])
        lines += [f"  call void @{name}.part({given})", "  ret void"]
        header = (
            f"define internal void @{name}(ptr %context, ptr %closure, i64 %begin, i64 %end, "
            f"i64 %worker) {self.kernel.attributes} {{"
        )
        self.kernel.functions.append("\n".join([header, *lines, "}"]))
        return closure


def _elements(buffer: loops.Buffer) -> Expr:
    total: Expr = const(1, INDEX)
    for extent in buffer.shape:
        total = total * extent
    return total


def _stores(statement: loops.Statement) -> set[int]:
    """The buffers a statement writes."""
    return {id(part.buffer) for part in tree.postorder(statement) if isinstance(part, loops.Store)}


def _free(loop: loops.For) -> tuple[list[loops.Buffer], list[Var]]:
    """The free buffers and variables of a loop, in order of appearance."""
    buffers: dict[int, loops.Buffer] = {}
    used: dict[Var, None] = {}
    made: set[int] = set()
    bound: set[Var] = set()

    def look(*exprs: Expr) -> None:
        for part in (part for expr in exprs for part in tree.postorder(expr)):
            if isinstance(part, Var):
                used.setdefault(part)
            elif isinstance(part, Read) and isinstance(part.source, loops.Buffer):
                find(part.source)

    def find(buffer: loops.Buffer) -> None:
        if id(buffer) not in buffers:
            buffers[id(buffer)] = buffer
            look(*buffer.shape)

    for part in tree.postorder(loop.body):
        match part:
            case loops.For():
                bound.add(part.var)
                look(part.extent)
            case loops.Let():
                bound.add(part.var)
                look(part.value)
            case loops.If() | loops.While():
                look(part.condition)
            case loops.Allocate():
                made.add(id(part.buffer))
                look(*part.buffer.shape)
            case loops.Store() | loops.Prefetch():
                find(part.buffer)
                look(*part.indices)
                if isinstance(part, loops.Store):
                    look(part.value)
            case loops.Fail():
                look(part.index, part.extent)
    bound.add(loop.var)
    return (
        [buffer for key, buffer in buffers.items() if key not in made],
        [var for var in used if var not in bound],
    )
