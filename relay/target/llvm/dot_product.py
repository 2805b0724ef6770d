"""Generates dot-product instructions of short integers.

    dot4    four products of unsigned and signed bytes      vpdpbusd, where the machine has VNNI
    dot2    two products of int16                           vpdpwssd with VNNI, pmaddwd and an
                                                            addition on every x86
    dot4s, dot4u    four products of signed, or unsigned bytes      sdot and udot of AArch64

Adjacent factors are loaded as one word of 32 bits: a vector of words, or one word for all lanes.
Factors in several vectors become words in registers, by interleaving their lanes.
None of these instructions saturates: sums wrap at 32 bits.
"""

from __future__ import annotations

from collections.abc import Sequence

from relay.target.llvm.gathers import Gathers
from relay.target.llvm.writer import Emission, Value, bits, vector_type
from relay.te.expr import Call, Expr, Read, reads, width
from relay.te.instruction import DOT4, INSTRUCTIONS
from relay.te.loops import Buffer
from relay.te.simplify import Linear

_NEON = {"dot4s": "sdot", "dot4u": "udot"}
_PAIRS = {128: "sse2.pmadd.wd", 256: "avx2.pmadd.wd", 512: "avx512.pmaddw.d.512"}


class DotProducts(Gathers):
    """Generates code for expressions, with the instructions of `relay.te.instruction`."""

    def _compute(self, expr: Expr) -> Emission:
        instruction = INSTRUCTIONS.get(expr.function) if isinstance(expr, Call) else None
        if instruction is None or not isinstance(expr, Call):
            value: Value = yield super()._compute(expr)
            return value
        target = self.kernel.target
        bits = 32 * self.lanes
        neon = _NEON.get(instruction.name) if bits == 128 else None
        if neon is None and (bits not in _PAIRS or bits > target.vector_bits):
            one_by_one: Value = yield self._value(instruction.expand(expr))
            return one_by_one
        start, *factors = expr.args
        steps = instruction.steps
        first: Value = yield self._value(start)
        left: Value = yield self._word(factors[:steps])
        right: Value = yield self._word(factors[steps:])
        item = f"i{32 // steps}"
        whole = vector_type(item, steps * self.lanes)
        given = ", ".join(
            f"{whole} " + self.make(f"bitcast {self.broadcast(word)} to {whole}", item).text
            # the factor in a lane comes last where a lane can be named
            for word in ((right, left) if neon and right.lanes else (left, right))
        )
        total = self.broadcast(first)
        lanes = vector_type("i32", self.lanes)
        read = first.reads | left.reads | right.reads
        if neon is not None:
            code = f"call {lanes} @llvm.aarch64.neon.{neon}.v4i32.v16i8({total}, {given})"
        elif target.has_vnni:
            name = "vpdpbusd" if instruction is DOT4 else "vpdpwssd"
            code = f"call {lanes} @llvm.x86.avx512.{name}.{bits}({total}, {given})"
        else:
            pairs = f"call {lanes} @llvm.x86.{_PAIRS[bits]}({given})"
            code = f"add {total}, " + self.make(pairs, "i32", self.lanes).text
        return self.make(code, "i32", self.lanes, read)

    def _word(self, parts: Sequence[Expr]) -> Emission:
        """Pack integers into a word of 32 bits, the first one lowest."""
        place = self._adjacent_reads(parts)
        step = None if place is None else self.step(place[1])
        if place is not None and step in (0, len(parts)):
            buffer, total, masked = place
            if step == 0 and not masked:
                origin = frozenset((id(buffer),))
                together = self.one_of_lanes("i32", width(buffer.dtype) // 8, *place[:2], origin)
                if together is not None:
                    return together
            pointer = self.pointer(buffer, self.first_lane(total), inside=not masked)
            align, read = width(buffer.dtype) // 8, frozenset((id(buffer),))
            if step == 0:
                return self._uniform_load("i32", pointer, align, masked, read)
            if masked:
                assert self.mask is not None
                return self._masked_load("i32", pointer, align, self.mask, read)
            code = f"load {vector_type('i32', self.lanes)}, ptr {pointer}, align {align}"
            return self.make(code, "i32", self.lanes, read)
        items: list[Value] = []
        for part in parts:
            one: Value = yield self._value(part)
            items.append(one)
        if any(item.lanes for item in items):
            return self._in_turns([self.broadcast(item) for item in items])
        word: Value | None = None
        for i, item in enumerate(items):
            kind = vector_type("i32", item.lanes)
            moved = self.make(f"zext {item} to {kind}", "i32", item.lanes, item.reads)
            if word is None:
                word = moved
                continue
            if word.lanes or moved.lanes:
                word, moved = self.broadcast(word), self.broadcast(moved)
            by = Value(str(32 // len(parts) * i), "i32")
            by = self.broadcast(by) if moved.lanes else by
            moved = self.make(f"shl {moved}, {by.text}", "i32", moved.lanes, moved.reads)
            word = self.make(
                f"or {word}, {moved.text}", "i32", moved.lanes, word.reads | moved.reads
            )
        assert word is not None
        return word

    def _in_turns(self, items: Sequence[Value]) -> Value:
        """Words of the lanes of several vectors of integers."""
        while len(items) > 1:
            items = [
                self._zipped(first, second)
                for first, second in zip(items[::2], items[1::2], strict=True)
            ]
        (whole,) = items
        lanes = vector_type("i32", self.lanes)
        return self.make(f"bitcast {whole} to {lanes}", "i32", self.lanes, whole.reads)

    def _zipped(self, first: Value, second: Value) -> Value:
        """Vectors of twice as many bits: the lanes of two vectors in turns."""
        lanes, size = first.lanes, bits(first.type)
        order = ", ".join(f"i32 {i}, i32 {lanes + i}" for i in range(lanes))
        code = f"shufflevector {first}, {second}, <{2 * lanes} x i32> <{order}>"
        pairs = self.make(code, first.type, 2 * lanes)
        wide = f"i{2 * size}"
        whole = vector_type(wide, lanes)
        return self.make(f"bitcast {pairs} to {whole}", wide, lanes, first.reads | second.reads)

    def _adjacent_reads(self, parts: Sequence[Expr]) -> tuple[Buffer, Linear, bool] | None:
        """The buffer and first index of adjacent reads, and whether they need the mask; None if
        they are not provably adjacent."""
        first = parts[0]
        if not isinstance(first, Read) or not isinstance(first.source, Buffer):
            return None
        if any(reads(position) for position in first.indices):
            return None
        begin = self.flat(first.source, first.indices)
        masked = False
        for i, part in enumerate(parts):
            if not isinstance(part, Read) or part.source is not first.source:
                return None
            if self.flat(first.source, part.indices) != begin.plus(Linear({}, i)):
                return None
            if self.mask is not None and not self.in_range(first.source, part.indices):
                masked = True
        return first.source, begin, masked
