"""Compiles `match` to a decision tree of switches, which tests each part at most once.

    match (%xs) { Cons(%x, Cons(%y, _)) => a, Cons(%x, _) => b, Nil => c }
    ->
    switch %xs { Cons: 1, Nil: 2 }        block 1: switch (its field 1) { Cons: a, Nil: b }

The clauses are a pattern matrix: one row per clause, one column per tested part of the value. The
first test of the first row is the next switch; each outcome leaves a smaller matrix. A row without
tests is the clause to take.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from relay.immutable import frozen
from relay.ir import expr as ir
from relay.ir.module import IRModule
from relay.ir.types import TupleType, Type
from relay.program.builder import Builder, OpenBlock, place_of
from relay.program.program import Fail, Switch
from relay.program.specs import definition_of, instantiated

ANYTHING = ir.PatternWildcard()


@frozen
class Part:
    """A part of the matched value; its value is None if no pattern needs it."""

    value: Any
    type: Type


@frozen
class Row:
    """The remaining patterns of a clause, by column, and the variables bound so far."""

    clause: int
    questions: tuple[ir.Pattern, ...]
    named: tuple[tuple[ir.Var, Part], ...] = ()


@frozen
class _Table:
    block: OpenBlock
    parts: tuple[Part, ...]
    rows: tuple[Row, ...]


def lower_match(
    builder: Builder,
    match: ir.Match,
    data: Part,
    module: IRModule,
    field: Callable[[Any, str, int, Sequence[Type]], Any],
    reached: Callable[[Row], None],
) -> None:
    """Emit switches, starting in the current block. `field(data, constructor, index, types)` is the
    value of a field; `reached` ends a block in which the clause of a row is taken."""
    rows = tuple(Row(index, (clause.lhs,)) for index, clause in enumerate(match.clauses))
    pending = [_Table(builder.current, (data,), rows)]
    while pending:
        table = _simplified(pending.pop())
        builder.enter(table.block)
        if not table.rows:
            builder.end(Fail("no clause of the match fits the value", place_of(match.span)))
            continue
        first = table.rows[0]
        asked = [i for i, question in enumerate(first.questions) if _asks(question)]
        if asked:
            pending.extend(_switch(builder, table, asked[0], module, field))
        else:
            reached(first)


def _simplified(table: _Table) -> _Table:
    """Bind variables and flatten tuples, so that the patterns left are constructors."""
    parts, rows = table.parts, table.rows
    column = 0
    while column < len(parts):
        rows = tuple(_named(row, column, parts[column]) for row in rows)
        if any(isinstance(row.questions[column], ir.PatternTuple) for row in rows):
            whole = parts[column]
            assert isinstance(whole.type, TupleType)
            count = len(whole.type.fields)
            fields = whole.value if whole.value is not None else (None,) * count
            opened = tuple(map(Part, fields, whole.type.fields))
            parts = (*parts[:column], *opened, *parts[column + 1 :])
            rows = tuple(_opened(row, column, count) for row in rows)
        else:
            column += 1
    return _Table(table.block, parts, rows)


def _named(row: Row, column: int, part: Part) -> Row:
    question = row.questions[column]
    if not isinstance(question, ir.PatternVar):
        return row
    questions = _replaced(row.questions, column, (ANYTHING,))
    return Row(row.clause, questions, (*row.named, (question.var, part)))


def _opened(row: Row, column: int, count: int) -> Row:
    question = row.questions[column]
    inner = question.patterns if isinstance(question, ir.PatternTuple) else (ANYTHING,) * count
    return Row(row.clause, _replaced(row.questions, column, inner), row.named)


def _replaced(
    questions: tuple[ir.Pattern, ...], column: int, inner: Sequence[ir.Pattern]
) -> tuple[ir.Pattern, ...]:
    return (*questions[:column], *inner, *questions[column + 1 :])


def _asks(question: ir.Pattern) -> bool:
    return isinstance(question, ir.PatternConstructor)


def _switch(
    builder: Builder,
    table: _Table,
    column: int,
    module: IRModule,
    field: Callable[[Any, str, int, Sequence[Type]], Any],
) -> list[_Table]:
    """End the block with a switch on one part; returns the matrices of its outcomes."""
    part = table.parts[column]
    definition = definition_of(part.type, module)
    asked = {
        question.constructor.name_hint
        for row in table.rows
        if isinstance(question := row.questions[column], ir.PatternConstructor)
    }
    cases: list[tuple[str, int]] = []
    tables: list[_Table] = []
    for constructor in definition.constructors:
        name = constructor.name_hint
        if name not in asked:
            continue
        rows = tuple(
            specialized
            for row in table.rows
            if (specialized := _with_fields(row, column, name, len(constructor.inputs)))
        )
        block = builder.open()
        cases.append((name, block.number))
        types = instantiated(constructor.inputs, definition, part.type)
        builder.enter(block)
        fields = []
        for index, ty in enumerate(types):
            patterns = [row.questions[column + index] for row in rows]
            used = not all(isinstance(one, ir.PatternWildcard) for one in patterns)
            fields.append(Part(field(part.value, name, index, types) if used else None, ty))
        parts = (*table.parts[:column], *fields, *table.parts[column + 1 :])
        tables.append(_Table(block, parts, rows))
    otherwise: int | None = None
    if len(cases) < len(definition.constructors):
        block = builder.open()
        otherwise = block.number
        rows = tuple(row for row in table.rows if not _asks(row.questions[column]))
        tables.append(_Table(block, table.parts, rows))
    builder.enter(table.block)
    builder.end(Switch(part.value.register, tuple(cases), otherwise))
    return tables[::-1]


def _with_fields(row: Row, column: int, constructor: str, count: int) -> Row | None:
    """The row specialized to a constructor; None if its pattern is another constructor."""
    question = row.questions[column]
    inner: Sequence[ir.Pattern] = (ANYTHING,) * count
    if isinstance(question, ir.PatternConstructor):
        if question.constructor.name_hint != constructor:
            return None
        inner = question.patterns
    return Row(row.clause, _replaced(row.questions, column, inner), row.named)
