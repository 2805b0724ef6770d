"""Faster gathers, with fewer and larger loads than one per lane.

    every other element             x[2*l]                two vectors, shuffled
    runs                            x[l//4 * n + l%4]     a word per run, gathered
    columns                         x[l%4 * n + l//4]     a vector per row, interleaved; rows of a
                                                          word each are transposed
    bytes                           x[l*n + 1]            words, gathered once for four such reads

Processors gather words of 32 and 64 bits, shorter elements one by one, which matters most for bytes
with their many lanes. Stores in runs are one store per run.
"""

from __future__ import annotations

from math import prod

from relay.immutable import frozen
from relay.target.llvm.expressions import Expressions, read_from
from relay.target.llvm.writer import Emission, Value, item_bytes, memory_type, suffix
from relay.te.expr import Binary, Const, Expr, Source
from relay.te.simplify import Linear

_WORD = 4  # bytes


@frozen
class _Groups:
    """An index whose lanes form groups of `size`: stride `inner` within a group, `outer` between
    groups, starting at `first`."""

    size: int
    inner: int
    outer: int
    first: Linear

    def is_run_of(self, item: int) -> bool:
        """Whether a group, of elements of `item` bytes, is one word."""
        return self.inner == 1 and self.size * item in (2, _WORD, 8)


class Gathers(Expressions):
    """Generates code for expressions, with faster gathers."""

    def _gather_elements(self, buffer: Source, total: Linear, masked: bool) -> Emission:
        size = item_bytes(buffer.dtype)
        groups = self._groups(total)
        if self.step(total) == 2 and not masked and self.lanes >= 4:
            return self._stride_two(buffer, self.first_lane(total))
        if groups is not None and groups.outer == 1:
            return self._interleaved(buffer, groups, masked)
        if groups is not None and groups.is_run_of(size) and not masked:
            return self._runs(buffer, groups)
        if size == 1 and self.mask is None and self._is_word_in_range(buffer, total):
            byte: Value = yield self._bytes_of_words(buffer, total)
            return byte
        value: Value = yield super()._gather_elements(buffer, total, masked)
        return value

    def _stride_two(self, buffer: Source, first: Linear) -> Value:
        """Shuffle two vectors from the first element to the last."""
        lanes, align, kind = self.lanes, item_bytes(buffer.dtype), memory_type(buffer.dtype)
        reads = read_from(buffer, first)
        halves = []
        for start in (first, Linear(first.terms, first.constant + lanes - 1)):
            pointer = self.pointer(buffer, start)
            code = f"load <{lanes} x {kind}>, ptr {pointer}, align {align}"
            halves.append(self.make(code, kind, lanes, reads))
        # element lanes-1 is in both vectors
        wanted = [i if i < lanes else i + 1 for i in range(0, 2 * lanes, 2)]
        code = f"shufflevector {halves[0]}, {halves[1]}, {_shuffle(wanted)}"
        return self.make(code, kind, lanes, reads)

    # --- groups of lanes

    def _groups(self, total: Linear) -> _Groups | None:
        """The groups of lanes, if an index has their quotient and remainder by one number."""
        if any(self._may_be_vector(atom) for atom in total.terms):
            return None
        moving = {atom: by for atom, by in total.terms.items() if self.depends(atom)}
        sizes = {_divisor(atom) for atom in moving}
        if len(moving) != 2 or len(sizes) != 1:
            return None
        (size,) = sizes
        by_op = {atom.op: by for atom, by in moving.items() if isinstance(atom, Binary)}
        if not size or self.lanes % size or by_op.keys() != {"floordiv", "mod"}:
            return None
        if any(isinstance(atom, Binary) and atom.left is not self.lane for atom in moving):
            return None
        rest = {atom: by for atom, by in total.terms.items() if atom not in moving}
        return _Groups(size, by_op["mod"], by_op["floordiv"], Linear(rest, total.constant))

    def _runs(self, buffer: Source, groups: _Groups) -> Value:
        """Gather groups as words."""
        count, kind = self.lanes // groups.size, memory_type(buffer.dtype)
        align = item_bytes(buffer.dtype)
        word = f"i{8 * align * groups.size}"
        reads = read_from(buffer, groups.first)
        base = self.pointer(buffer, groups.first)
        places = ", ".join(f"i64 {groups.outer * i}" for i in range(count))
        code = f"getelementptr {kind}, ptr {base}, <{count} x i64> <{places}>"
        pointers = self.make(code, "ptr")
        words = self._gather(word, count, pointers, align, reads)
        whole = f"<{self.lanes} x {kind}>"
        return self.make(f"bitcast {words} to {whole}", kind, self.lanes, reads)

    def _interleaved(self, buffer: Source, groups: _Groups, masked: bool) -> Value:
        """Load a vector per position in a group, and interleave them."""
        count, kind = self.lanes // groups.size, memory_type(buffer.dtype)
        align, reads = item_bytes(buffer.dtype), read_from(buffer, groups.first)
        if count * align == _WORD and not masked:
            return self._transposed(buffer, groups)
        part = f"<{count} x {kind}>"
        rows = []
        for i in range(groups.size):
            start = Linear(groups.first.terms, groups.first.constant + groups.inner * i)
            pointer = self.pointer(buffer, start, inside=not masked)
            if not masked:
                code = f"load {part}, ptr {pointer}, align {align}"
                rows.append(self.make(code, kind, count, reads))
                continue
            assert self.mask is not None
            lanes = _shuffle(range(i, self.lanes, groups.size))
            code = f"shufflevector {self.mask}, {self.mask.full_type} poison, {lanes}"
            mask = self.make(code, "i1", count)
            rows.append(self._masked_load(kind, pointer, align, mask, reads))
        return self._interleave(rows, kind, reads)

    def _transposed(self, buffer: Source, groups: _Groups) -> Value:
        """The same for rows of a word each: a vector of words, shuffled."""
        count, size, kind = self.lanes // groups.size, groups.size, memory_type(buffer.dtype)
        align, reads = item_bytes(buffer.dtype), read_from(buffer, groups.first)
        words = f"<{size} x i32>"
        gathered = "poison"
        for i in range(size):
            start = Linear(groups.first.terms, groups.first.constant + groups.inner * i)
            code = f"load i32, ptr {self.pointer(buffer, start)}, align {align}"
            word = self.make(code, "i32")
            code = f"insertelement {words} {gathered}, {word}, i64 {i}"
            gathered = self.make(code, "i32", size).text
        whole = f"<{self.lanes} x {kind}>"
        rows = self.make(f"bitcast {words} {gathered} to {whole}", kind, self.lanes)
        order = _shuffle([row * count + place for place in range(count) for row in range(size)])
        code = f"shufflevector {rows}, {whole} poison, {order}"
        return self.make(code, kind, self.lanes, reads)

    def store_runs(self, buffer: Source, value: Value, total: Linear) -> bool:
        """Store contiguous groups of lanes, one at a time; False if they are not contiguous."""
        groups = self._groups(total) if self.mask is None else None
        if groups is None or groups.inner != 1:
            return False
        align, part = item_bytes(buffer.dtype), f"<{groups.size} x {value.type}>"
        for i in range(self.lanes // groups.size):
            lanes = _shuffle(range(groups.size * i, groups.size * (i + 1)))
            code = f"shufflevector {value}, {value.full_type} poison, {lanes}"
            run = self.make(code, value.type, groups.size)
            start = Linear(groups.first.terms, groups.first.constant + groups.outer * i)
            self.line(f"store {part} {run.text}, ptr {self.pointer(buffer, start)}, align {align}")
        return True

    def _interleave(self, rows: list[Value], kind: str, reads: frozenset[int]) -> Value:
        """Interleave rows: concatenate and shuffle them."""
        count, size = rows[0].lanes, len(rows)
        whole, total = rows[0], count
        for row in rows[1:]:
            # widen the row to the same length
            length = _shuffle([*range(count), *[-1] * (total - count)])
            longer = self.make(
                f"shufflevector {row}, {row.full_type} poison, {length}", kind, total
            )
            joined = _shuffle([*range(total), *range(total, total + count)])
            code = f"shufflevector {whole}, {longer}, {joined}"
            total += count
            whole = self.make(code, kind, total, reads)
        order = _shuffle([row * count + place for place in range(count) for row in range(size)])
        code = f"shufflevector {whole}, {whole.full_type} poison, {order}"
        return self.make(code, kind, self.lanes, reads)

    # --- bytes of words

    def _is_word_in_range(self, buffer: Source, total: Linear) -> bool:
        """Whether the word of a byte, aligned by the constant part of its index, is provably in
        range."""
        size = prod(int(n.value) if isinstance(n, Const) else 0 for n in buffer.shape)
        low, high = self.simplify.interval(self.simplify.build(_word_start(total)))
        return low is not None and high is not None and low >= 0 and high + _WORD <= size

    def _bytes_of_words(self, buffer: Source, total: Linear) -> Emission:
        """Extract bytes from gathered words, which adjacent bytes share."""
        first, reads = _word_start(total), read_from(buffer, total)
        key = ("words", id(buffer), self.simplify.build(first), self.lane)
        words = self.recall(key)
        if words is None:
            pointers: Value = yield self._pointers(buffer, first)
            words = self.remember(key, self._gather("i32", self.lanes, pointers, 1, reads))
        if part := total.constant - first.constant:
            code = f"lshr {words}, splat (i32 {8 * part})"
            words = self.make(code, "i32", self.lanes, reads)
        return self.make(f"trunc {words} to <{self.lanes} x i8>", "i8", self.lanes, reads)

    def _gather(
        self, kind: str, count: int, pointers: Value, align: int, reads: frozenset[int]
    ) -> Value:
        whole = f"<{count} x {kind}>"
        code = (
            f"call {whole} @llvm.masked.gather.{suffix(kind, count)}.v{count}p0("
            f"<{count} x ptr> align {align} {pointers.text}, "
            f"<{count} x i1> splat (i1 true), {whole} zeroinitializer)"
        )
        return self.make(code, kind, count, reads)


def _word_start(total: Linear) -> Linear:
    return Linear(total.terms, total.constant - total.constant % _WORD)


def _divisor(atom: Expr) -> int | None:
    """The constant divisor of a quotient or remainder."""
    if isinstance(atom, Binary) and isinstance(atom.right, Const):
        return int(atom.right.value)
    return None


def _shuffle(lanes: list[int] | range) -> str:
    """The mask of a shuffle; -1 is any lane."""
    each = ", ".join("i32 poison" if lane < 0 else f"i32 {lane}" for lane in lanes)
    return f"<{len(lanes)} x i32> <{each}>"
