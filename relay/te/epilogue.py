"""Roll expensive epilogues of register tiles, over a copy of the registers in memory.

    unrolled for r in 4:                            stack acc.out: float32[4, 16]
      vector for l in 16:                           unrolled for r in 4:
        y[i*4 + r, l] = sigmoid(acc[r, l])    ->      vector for l in 16:
                                                        acc.out[r, l] = acc[r, l]
                                                    for r in 4:
                                                      vector for l in 16:
                                                        y[i*4 + r, l] = sigmoid(acc.out[r, l])

Registers cannot be indexed, so a loop over them is unrolled together with the epilogue: a
mathematical function is dozens of instructions, sixteen times over. The copy is cheap next to the
loop that filled the registers; the code is smaller and compiles faster.
"""

from __future__ import annotations

from collections.abc import Sequence

from relay import tree
from relay.te.expr import INDEX, Const, Expr, Read, const
from relay.te.loops import (
    Allocate,
    Block,
    Buffer,
    For,
    If,
    Kind,
    MemoryScope,
    Statement,
    Store,
    block,
    map_expressions,
)
from relay.te.simplify import Simplifier
from relay.tree import Steps

_MANY_STEPS = 24  # per element; fewer than a mathematical function takes
_MANY_COPIES = 4
_COPY = MemoryScope.STACK
_ONE = const(1, INDEX)


def over_copies(statement: Statement) -> Statement:
    """Roll the unrolled loops with expensive epilogues."""
    made: Statement = tree.run(_walk(statement, Simplifier()))
    return made


def _walk(statement: Statement, simplify: Simplifier) -> Steps[Statement]:
    if isinstance(statement, For):
        if statement.kind is Kind.UNROLLED and (rolled := _rolled(statement, simplify)) is not None:
            return rolled
        simplify.bind(statement.var, statement.extent)
    parts = tree.children(statement)
    below: list[Statement] = yield tree.gather(_walk(part, simplify) for part in parts)
    return tree.rebuild(statement, below)


def _rolled(nest: For, simplify: Simplifier) -> Statement | None:
    """The rolled nest over copies; None if not profitable."""
    loops, body = _nest(nest)
    copies = 1
    for loop in loops:
        if not isinstance(loop.extent, Const) or loop.kind not in (Kind.UNROLLED, Kind.VECTOR):
            return None
        copies *= int(loop.extent.value) if loop.kind is Kind.UNROLLED else 1
    stores = _stores(body)
    if copies < _MANY_COPIES or not stores or max(map(_steps, stores)) < _MANY_STEPS:
        return None
    for loop in loops:
        simplify.bind(loop.var, loop.extent)
    registers = _registers(stores, simplify)
    if not registers:
        return None
    others = {
        id(read.source): Buffer(f"{read.source.name}.out", read.source.shape, read.dtype, _COPY)
        for read in registers
    }

    def read(before: Expr, after: Expr) -> Expr:
        if isinstance(after, Read) and id(after.source) in others:
            return Read(after.dtype, others[id(after.source)], after.indices)
        return after

    kept = [Store(others[id(read.source)], read.indices, read) for read in registers]
    computed = map_expressions(body, lambda expr: tree.transform(expr, read))
    made = block([_around(loops, block(kept)), _around(_fewer_unrolled(loops), computed)])
    for buffer in others.values():
        made = Allocate(buffer, made)
    return made


def _nest(nest: For) -> tuple[list[For], Statement]:
    """The perfectly nested loops, and the innermost body."""
    loops: list[For] = []
    body: Statement = nest
    while isinstance(body, For):
        loops.append(body)
        body = body.body
    return loops, body


def _fewer_unrolled(loops: Sequence[For]) -> list[For]:
    """Keep only the innermost of several loops unrolled: enough instruction-level parallelism."""
    written = [loop for loop in loops if loop.kind is Kind.UNROLLED and loop.extent != _ONE]
    rolled = written[: max(1, len(written) - 1)]
    return [For(loop.var, loop.extent, loop.body) if loop in rolled else loop for loop in loops]


def _around(loops: Sequence[For], body: Statement) -> Statement:
    for loop in reversed(loops):
        body = For(loop.var, loop.extent, body, loop.kind)
    return body


def _stores(body: Statement) -> list[Store]:
    """The stores of the body; none if there is anything else, or a store to registers."""
    found: list[Store] = []
    pending = [body]
    while pending:
        match pending.pop():
            case If(then=then, otherwise=None):
                pending.append(then)
            case Block(steps=steps):
                pending += steps
            case Store() as store if store.buffer.scope is not MemoryScope.REGISTER:
                found.append(store)
            case _:
                return []
    return found


def _steps(store: Store) -> int:
    parts = tree.postorder(store.value, enter=lambda part: part.dtype != INDEX)
    return sum(part.dtype != INDEX and not isinstance(part, Const | Read) for part in parts)


def _registers(stores: Sequence[Store], simplify: Simplifier) -> list[Read]:
    """The reads of registers; none if one may be out of range, or a buffer has several."""
    found: dict[int, Read] = {}
    for store in stores:
        for part in tree.postorder(store.value):
            if not isinstance(part, Read) or not isinstance(part.source, Buffer):
                continue
            if part.source.scope is not MemoryScope.REGISTER:
                continue
            known = found.setdefault(id(part.source), part)
            if known != part or part.dtype not in ("float32", "float64"):
                return []
            for place, extent in zip(part.indices, part.source.shape, strict=True):
                if not simplify.holds(place >= 0) or not simplify.holds(place < extent):
                    return []
    return list(found.values())
