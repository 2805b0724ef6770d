"""Products of bytes summed by fours, in every lane of a vector: one instruction of x86 (VNNI).

Four bytes that lie side by side are one number of 32 bits, loaded as such: a vector of them where
the lanes follow each other, one for all lanes where they read the same.
"""

from __future__ import annotations

from collections.abc import Sequence

from relay.target.llvm.expressions import Expressions
from relay.target.llvm.writer import Emission, Value, vector_type
from relay.te.expr import Call, Expr, Read, reads
from relay.te.instruction import DOT4
from relay.te.loops import Buffer
from relay.te.simplify import Linear


class DotProducts(Expressions):
    """Writes expressions, among them `dot4` (`relay.te.instruction`)."""

    def _compute(self, expr: Expr) -> Emission:
        if not isinstance(expr, Call) or expr.function != DOT4.name:
            value: Value = yield super()._compute(expr)
            return value
        bits = 32 * self.lanes
        if bits not in (128, 256, 512) or bits > self.kernel.target.vector_bits:
            steps: Value = yield self._value(DOT4.expand(expr))
            return steps
        first: Value = yield self._value(expr.args[0])
        unsigned: Value = yield self._word(expr.args[1:5])
        signed: Value = yield self._word(expr.args[5:9])
        whole = vector_type("i8", 4 * self.lanes)
        given = [str(self.spread(first))]
        for word in (unsigned, signed):
            given.append(
                f"{whole} " + self.make(f"bitcast {self.spread(word)} to {whole}", "i8").text
            )
        lanes = vector_type("i32", self.lanes)
        code = f"call {lanes} @llvm.x86.avx512.vpdpbusd.{bits}({', '.join(given)})"
        reads = first.reads | unsigned.reads | signed.reads
        return self.make(code, "i32", self.lanes, reads)

    def _word(self, parts: Sequence[Expr]) -> Emission:
        """Four bytes as one number, the first of them lowest."""
        place = self._side_by_side(parts)
        step = None if place is None else self.step(place[1])
        if place is not None and step in (0, 4):
            buffer, total = place
            lanes = self.lanes if step else 0
            pointer = self.pointer(buffer, self.first_lane(total))
            code = f"load {vector_type('i32', lanes)}, ptr {pointer}, align 1"
            return self.make(code, "i32", lanes, frozenset((id(buffer),)))
        word: Value | None = None
        for i, part in enumerate(parts):
            byte: Value = yield self._value(part)
            kind = vector_type("i32", byte.lanes)
            moved = self.make(f"zext {byte} to {kind}", "i32", byte.lanes, byte.reads)
            if word is None:
                word = moved
                continue
            if word.lanes or moved.lanes:
                word, moved = self.spread(word), self.spread(moved)
            by = Value(str(8 * i), "i32")
            by = self.spread(by) if moved.lanes else by
            moved = self.make(f"shl {moved}, {by.text}", "i32", moved.lanes, moved.reads)
            word = self.make(
                f"or {word}, {moved.text}", "i32", moved.lanes, word.reads | moved.reads
            )
        assert word is not None
        return word

    def _side_by_side(self, parts: Sequence[Expr]) -> tuple[Buffer, Linear] | None:
        """Where four reads that follow each other begin; None when they do not, or not for sure."""
        first = parts[0]
        if not isinstance(first, Read) or not isinstance(first.source, Buffer):
            return None
        if any(reads(position) for position in first.indices):
            return None
        begin = self.flat(first.source, first.indices)
        for i, part in enumerate(parts):
            if not isinstance(part, Read) or part.source is not first.source:
                return None
            if self.flat(first.source, part.indices) != begin.plus(Linear({}, i)):
                return None
            if self.mask is not None and not self.in_range(first.source, part.indices):
                return None
        return first.source, begin
