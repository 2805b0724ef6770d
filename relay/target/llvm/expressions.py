"""Generates code for scalar expressions and reads.

Inside a vector loop, values that do not depend on its variable stay scalars. A read with a stride
of one per lane is a vector load, with a stride of zero a scalar load, any other a gather (`gathers`
has faster ones); under a mask only active lanes are read.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import assert_never

from relay import tree
from relay.errors import RelayError
from relay.target.llvm.instructions import Instructions
from relay.target.llvm.writer import (
    Emission,
    Value,
    bits,
    item_bytes,
    literal,
    llvm_type,
    memory_type,
    suffix,
    vector_type,
)
from relay.te import access
from relay.te import expr as te
from relay.te.loops import Buffer
from relay.te.shared import shared_parts
from relay.te.simplify import Linear

_LANES = 4  # of a vector from whose lanes factors are taken
_LONG = 40  # operations that are worth a branch
_LONG_VECTOR = 60  # the same for a whole vector


class Expressions(Instructions):
    """Generates code for expressions."""

    def value(self, expr: te.Expr) -> Value:
        """The value of an expression, computed unless it is known."""
        value = self._value(expr)
        return value if isinstance(value, Value) else tree.run(value)

    def _value(self, expr: te.Expr) -> Value | Emission:
        """The value if it is known, or the steps that compute it."""
        if isinstance(expr, te.Const):
            return Value(literal(expr), llvm_type(expr.dtype))
        if isinstance(expr, te.Var):
            return self._variable(expr)
        known = self._known(expr)
        return self._computed(expr) if known is None else known

    def _computed(self, expr: te.Expr) -> Emission:
        value: Value = yield self._compute(expr)
        return self.remember((expr, self._mask_name), value)

    def _known(self, expr: te.Expr) -> Value | None:
        """The value if it was computed before, under this mask or one that contains it."""
        mask = self._mask_name
        while (known := self.recall((expr, mask))) is None and mask is not None:
            mask = self.outer_masks[mask]
        return known

    @property
    def _mask_name(self) -> str | None:
        return None if self.mask is None else self.mask.text

    def _variable(self, var: te.Var) -> Value:
        if var is self.lane:
            numbers = ", ".join(f"i32 {i}" for i in range(self.lanes))
            return Value(f"<{numbers}>", "i32", self.lanes)
        if var not in self.variables:
            raise RelayError(f"variable `{var.name}` has no value in kernel `{self.kernel.name}`")
        return self.variables[var]

    def _compute(self, expr: te.Expr) -> Emission:
        match expr:
            case te.Read():
                read: Value = yield self._read(expr)
                return read
            case te.Select():
                chosen: Value = yield self._select(expr)
                return chosen
            case te.Binary() | te.Compare():
                left: Value = yield self._value(expr.left)
                right: Value = yield self._value(expr.right)
                if isinstance(expr, te.Compare):
                    return self._compare(expr, left, right)
                return self._binary(expr, left, right)
            case te.Unary():
                operand: Value = yield self._value(expr.operand)
                return self._unary(expr, operand)
            case te.Cast() | te.Bitcast():
                operand = yield self._value(expr.operand)
                return self._convert(expr, operand)
            case te.Call():
                args = []
                for arg in expr.args:
                    args.append((yield self._value(arg)))
                return self._call(expr, args)
            case te.Reduce() | te.Axis() | te.Var() | te.Const() | te.Expr():
                raise TypeError(f"{type(expr).__name__} cannot be computed in loops")
            case _:
                assert_never(expr)

    def depends(self, expr: te.Expr) -> bool:
        """Whether an expression depends on the lane."""
        if self.lane is None:
            return False
        known = self.dependent.get(expr)
        if known is None:
            known = not self.varying.isdisjoint(te.variables(expr))
            self.dependent[expr] = known
        return known

    def _select(self, expr: te.Select) -> Emission:
        condition: Value = yield self._value(expr.condition)
        if not self._is_safe(expr):
            # hoist what both sides always compute
            for part in shared_parts(expr.if_true, expr.if_false):
                yield self._value(part)
        if self._is_safe(expr):
            if condition.lanes and expr.dtype != te.INDEX and self._is_worth_branching(expr):
                passed: Value = yield self._branch_over(expr, condition)
                return passed
            first: Value = yield self._value(expr.if_true)
            second: Value = yield self._value(expr.if_false)
            return self._emit_select(expr, condition, first, second)
        how = self._masked_sides if condition.lanes else self._branches
        chosen: Value = yield how(expr, condition)
        return chosen

    def _masked_sides(self, expr: te.Select, condition: Value) -> Emission:
        """Compute each side under the mask of its lanes."""
        outer = self.mask
        self.mask = self.and_mask(outer, condition)
        with self.scope():
            first: Value = yield self._value(expr.if_true)
        self.mask = self.and_mask(outer, self.invert_mask(condition))
        with self.scope():
            second: Value = yield self._value(expr.if_false)
        self.mask = outer
        return self._emit_select(expr, condition, first, second)

    def _is_safe(self, expr: te.Select) -> bool:
        """Whether both sides may be computed: they read nothing that may be out of range, and are
        not too long. Known values cost nothing."""
        for side in (expr.if_true, expr.if_false):
            parts = 0
            for part in tree.postorder(side, enter=lambda e: self._known(e) is None):
                parts += 1
                if (
                    isinstance(part, te.Read)
                    and not self.in_range(part.source, part.indices)
                    and self._known(part) is None
                ):
                    return False
            if parts >= _LONG and self.lane is None:
                return False
        return True

    def _is_worth_branching(self, expr: te.Select) -> bool:
        """Whether the second side is so long that a branch is cheaper."""
        own = {id(part) for part in tree.postorder(expr.if_true)}
        return sum(id(part) not in own for part in tree.postorder(expr.if_false)) >= _LONG_VECTOR

    def _branch_over(self, expr: te.Select, condition: Value) -> Emission:
        """Compute the second side only if some lane needs it."""
        first: Value = yield self._value(expr.if_true)
        first = self.broadcast(first)
        other = self.invert_mask(condition)
        some = self.make(f"call i1 @llvm.vector.reduce.or.v{self.lanes}i1({other})", "i1")
        before, wanted, done = self.block, self.label("wanted"), self.label("chosen")
        self.branch(some, wanted, done)
        with self.scope():
            second: Value = yield self._value(expr.if_false)
            chosen = self._emit_select(expr, condition, first, second)
        end = self.block
        self.enter(done)
        code = f"phi {chosen.full_type} [ {first.text}, %{before} ], [ {chosen.text}, %{end} ]"
        return self.make(code, chosen.type, chosen.lanes, chosen.reads)

    def _emit_select(self, expr: te.Select, condition: Value, first: Value, second: Value) -> Value:
        first, second = self._same_type((expr.if_true, first), (expr.if_false, second))
        if condition.lanes:
            first, second = self.broadcast(first), self.broadcast(second)
        reads = condition.reads | first.reads | second.reads
        return self.make(f"select {condition}, {first}, {second}", first.type, first.lanes, reads)

    def _branches(self, expr: te.Select, condition: Value) -> Emission:
        """Branch to one of the sides."""
        then, otherwise, done = self.label("then"), self.label("else"), self.label("chosen")
        self.branch(condition, then, otherwise)
        with self.scope():
            first: Value = yield self._value(expr.if_true)
            first = self._as_result(expr, first)
        first_end = self.block
        self.line(f"br label %{done}")
        self.begin(otherwise)
        with self.scope():
            second: Value = yield self._value(expr.if_false)
            second = self._as_result(expr, second)
        second_end = self.block
        self.enter(done)
        reads = condition.reads | first.reads | second.reads
        both = f"[ {first.text}, %{first_end} ], [ {second.text}, %{second_end} ]"
        return self.make(f"phi {first.full_type} {both}", first.type, first.lanes, reads)

    def _as_result(self, expr: te.Select, side: Value) -> Value:
        """One side of a branch in the type of the result."""
        if self.mask is None and not self.depends(expr):
            return side
        side = self.broadcast(side)
        if expr.dtype != te.INDEX:
            return side
        return self._as_integer(side, "i32" if self._fits_32_bits(expr) else "i64")

    def _read(self, expr: te.Read) -> Emission:
        buffer = expr.source
        if not isinstance(buffer, Buffer):
            raise TypeError(f"tensor `{buffer.name}` is read in loops: lower the schedule first")
        self._check(buffer, expr.indices)
        total = self.flat(buffer, expr.indices)
        reads = read_from(buffer, total)
        kind, align = memory_type(buffer.dtype), item_bytes(buffer.dtype)
        step = self.step(total)
        masked = self.mask is not None and not self.in_range(buffer, expr.indices)
        for atom in total.terms:
            if self._may_be_vector(atom) and (yield self._value(atom)).lanes:
                step = None  # even if it is uniform: some lanes may be inactive
        if step == 0:
            together = None if masked else self.one_of_lanes(kind, align, buffer, total, reads)
            if together is not None:
                return together
            pointer = self.pointer(buffer, total, inside=not masked)
            loaded = self._uniform_load(kind, pointer, align, masked, reads)
        elif step == 1:
            pointer = self.pointer(buffer, self.first_lane(total), inside=not masked)
            if masked:
                assert self.mask is not None
                loaded = self._masked_load(kind, pointer, align, self.mask, reads)
            else:
                code = f"load <{self.lanes} x {kind}>, ptr {pointer}, align {align}"
                loaded = self.make(code, kind, self.lanes, reads)
        else:
            loaded = yield self._gather_elements(buffer, total, masked)
        if llvm_type(buffer.dtype) == "i1":
            zero = "zeroinitializer" if loaded.lanes else "0"
            return self.make(f"icmp ne {loaded}, {zero}", "i1", loaded.lanes, reads)
        return loaded

    def _uniform_load(
        self, kind: str, pointer: str, align: int, masked: bool, reads: frozenset[int]
    ) -> Value:
        """Load one element for all lanes; if `masked`, zero if no lane is active."""
        if masked:
            assert self.mask is not None
            lanes = self.mask.lanes
            some = self.recall(("any", self.mask.text))
            if some is None:
                code = f"call i1 @llvm.vector.reduce.or.v{lanes}i1({self.mask})"
                some = self.remember(("any", self.mask.text), self.make(code, "i1"))
            code = f"select {some}, ptr {pointer}, ptr {self.kernel.zero()}"
            pointer = self.make(code, "ptr").text
        return self.make(f"load {kind}, ptr {pointer}, align {align}", kind, 0, reads)

    def one_of_lanes(
        self, kind: str, align: int, buffer: te.Source, total: Linear, reads: frozenset[int]
    ) -> Value | None:
        """One element for all lanes, out of a vector that has its neighbors too, where multiply-add
        takes a factor from a lane; None elsewhere, and where the vector may reach beyond the
        buffer."""
        item = item_bytes(buffer.dtype)
        each = bits(kind) // 8 // item  # elements of the buffer in one of `kind`
        count = _LANES * each
        size = prod(int(n.value) if isinstance(n, te.Const) else 1 for n in buffer.shape)
        if not (
            self.kernel.target.multiplies_by_lanes
            and bits(kind) == 32
            and self.lanes == _LANES
            and size % count == 0
            and all(isinstance(n, te.Const) for n in buffer.shape)
            and all(by % count == 0 for by in total.terms.values())
            and total.constant % each == 0
        ):
            return None
        lane = total.constant % count // each
        place = self.pointer(buffer, Linear(total.terms, total.constant - lane * each))
        key = ("lanes", place, kind)
        if (found := self.recall(key)) is None:
            code = f"load <{_LANES} x {kind}>, ptr {place}, align {align}"
            found = self.remember(key, self.make(code, kind, _LANES, reads))
        return self.make(f"extractelement {found}, i64 {lane}", kind, 0, reads)

    def _masked_load(
        self, kind: str, pointer: str, align: int, mask: Value, reads: frozenset[int]
    ) -> Value:
        """Load the active lanes of a mask; zero for others.

        Vectors wider than a register are loaded in parts, because LLVM 22 reads parts without
        active lanes, or aborts.
        """
        lanes, whole = mask.lanes, vector_type(kind, mask.lanes)
        widest = self.kernel.target.vector_bits // bits(kind)
        if lanes <= widest:
            name = f"llvm.masked.load.{suffix(kind, lanes)}.p0"
            given = f"ptr align {align} {pointer}, {mask}, {whole} zeroinitializer"
            return self.make(f"call {whole} @{name}({given})", kind, lanes, reads)
        loaded, start = Value("zeroinitializer", kind, lanes), 0
        while start < lanes:
            count = 1 << min(widest, lanes - start).bit_length() - 1
            name = f"llvm.vector.extract.{suffix('i1', count)}.{suffix('i1', lanes)}"
            some = self.make(f"call <{count} x i1> @{name}({mask}, i64 {start})", "i1", count)
            place = self.make(f"getelementptr {kind}, ptr {pointer}, i64 {start}", "ptr").text
            part = self._masked_load(kind, place, align, some, reads)
            name = f"llvm.vector.insert.{suffix(kind, lanes)}.{suffix(kind, count)}"
            code = f"call {whole} @{name}({loaded}, {part}, i64 {start})"
            loaded, start = self.make(code, kind, lanes, reads), start + count
        return loaded

    def address(self, buffer: te.Source, indices: Sequence[te.Expr]) -> str:
        """The address of an element, for the first lane; it may be out of range."""
        total = self.flat(buffer, indices)
        return self.pointer(buffer, self.first_lane(total), inside=False)

    def flat(self, buffer: te.Source, indices: Sequence[te.Expr]) -> Linear:
        return access.flat(buffer.shape, indices, self.simplify)

    def pointer(self, buffer: te.Source, total: Linear, *, inside: bool = True) -> str:
        """The address of an element: variable terms first, then the constant, so that neighbors
        differ in a displacement only. If the element is `inside` the buffer, LLVM may rely on
        it."""
        base = self.pointers[id(buffer)]
        kind = memory_type(buffer.dtype)
        varying = self.simplify.build(Linear(total.terms))
        low = self.simplify.interval(varying)[0]
        # the address before the displacement is inside as well, if neither is negative
        forward = total.constant >= 0 and low is not None and low >= 0
        step = "getelementptr inbounds" if inside and forward else "getelementptr"
        if total.terms:
            key: tuple[object, ...] = (step, base, varying)
            found = self.recall(key)
            if found is None:
                offset = self.value(varying)
                code = f"{step} {kind}, ptr {base}, {offset}"
                found = self.remember(key, self.make(code, "ptr", 0, offset.reads))
            base = found.text
        if total.constant == 0:
            return base
        key = (step, base, total.constant, kind)
        found = self.recall(key)
        if found is None:
            code = f"{step} {kind}, ptr {base}, i64 {total.constant}"
            found = self.remember(key, self.make(code, "ptr"))
        return found.text

    def _gather_elements(self, buffer: te.Source, total: Linear, masked: bool) -> Emission:
        """Gather elements that are not contiguous."""
        kind, align = memory_type(buffer.dtype), item_bytes(buffer.dtype)
        pointers: Value = yield self._pointers(buffer, total)
        mask = self.mask.text if masked and self.mask is not None else "splat (i1 true)"
        whole = f"<{self.lanes} x {kind}>"
        code = (
            f"call {whole} @llvm.masked.gather.{suffix(kind, self.lanes)}."
            f"v{self.lanes}p0(<{self.lanes} x ptr> align {align} {pointers.text}, "
            f"<{self.lanes} x i1> {mask}, {whole} zeroinitializer)"
        )
        return self.make(code, kind, self.lanes, read_from(buffer, total))

    def step(self, total: Linear) -> int | None:
        """The stride of an index per lane; None if it is not constant."""
        if self.lane is None:
            return 0
        if any(atom is not self.lane and self.depends(atom) for atom in total.terms):
            return None
        return total.terms.get(self.lane, 0)

    def first_lane(self, total: Linear) -> Linear:
        terms = {atom: c for atom, c in total.terms.items() if atom is not self.lane}
        return Linear(terms, total.constant)

    def _pointers(self, buffer: te.Source, total: Linear) -> Emission:
        """One address per lane."""
        kind = memory_type(buffer.dtype)
        moves = {a: self.depends(a) or self._may_be_vector(a) for a in total.terms}
        fixed = Linear({a: c for a, c in total.terms.items() if not moves[a]}, total.constant)
        moving = Linear({a: c for a, c in total.terms.items() if moves[a]})
        base = self.pointer(buffer, fixed, inside=False)
        offsets: Value = yield self._value(self.simplify.build(moving))
        offsets = self.broadcast(offsets)
        return self.make(
            f"getelementptr {kind}, ptr {base}, {offsets}", "ptr", self.lanes, offsets.reads
        )

    def _may_be_vector(self, atom: te.Expr) -> bool:
        """Whether a part of an index may be a vector though it does not depend on the lane, as
        masked reads are."""
        return self.mask is not None and not isinstance(atom, te.Var) and not self.depends(atom)

    def in_range(self, buffer: te.Source, indices: Sequence[te.Expr]) -> bool:
        """Whether every index is provably in range."""
        for position, extent in zip(indices, buffer.shape, strict=True):
            simple = self.simplify(position)
            if not (self.simplify.holds(simple >= 0) and self.simplify.holds(simple < extent)):
                return False
        return True

    def _check(self, buffer: te.Source, indices: Sequence[te.Expr]) -> None:
        """In checked mode, leave the kernel before an access out of range."""
        if not self.kernel.checked:
            return
        for axis, (position, extent) in enumerate(zip(indices, buffer.shape, strict=True)):
            place = self.value(self.simplify(position))
            limit = self.value(extent)
            key = ("inside", place.text, limit.text)
            if self.recall(key) is not None or _is_inside(place, limit):
                continue
            inside = self.make(f"icmp ult i64 {place.text}, {limit.text}", "i1")
            good, bad = self.label("inside"), self.label("outside")
            self.line(f"br i1 {inside.text}, label %{good}, label %{bad}")
            self.begin(bad)
            self.return_out_of_range(f"axis {axis} of `{buffer.name}`", place.text, limit.text)
            self.begin(good)
            self.remember(key, inside)

    def return_out_of_range(self, what: str, index: str, extent: str) -> None:
        """Leave the kernel, and report an index that is out of range."""
        given = f"i64 {self.kernel.add_check(what)}, i64 {index}, i64 {extent}"
        self.line(f"call void @{self.kernel.name}.outside(ptr %context, {given})")
        self.line("ret void")


def read_from(buffer: te.Source, total: Linear) -> frozenset[int]:
    """The buffers that a read depends on: its own, and those of its index."""
    found = frozenset((id(buffer),))
    for atom in total.terms:
        if not isinstance(atom, te.Var):
            found = found.union(id(part.source) for part in te.reads(atom))
    return found


def _is_inside(place: Value, limit: Value) -> bool:
    """Whether two literals are in order."""
    return place.text.isdigit() and limit.text.isdigit() and int(place.text) < int(limit.text)
