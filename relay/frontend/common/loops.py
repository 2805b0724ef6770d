"""Loops as recursive functions, which collect the rows that their iterations give.

while (condition) { state, row = turn(state) }
->   let %loop = fn (%state, %rows) {
if (condition) { …; %loop(%state', %rows and %row) } else { (%state, %rows) }
};
%loop(state, nothing)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from relay import op
from relay.frontend.common.builder import Builder, int64
from relay.frontend.common.scope import ImportScope
from relay.frontend.common.stacking import Rows, with_rows
from relay.immutable import frozen
from relay.ir.dims import Dim
from relay.ir.expr import Call, Expr, Function, If, Let, Tuple, TupleGetItem, Var
from relay.ir.types import TensorType, TupleType, Type


@frozen
class Step:
    """An iteration of a loop: variables of the state, its condition, the next state and rows."""

    variables: Sequence[Var]
    head: ImportScope | None  # what the condition needs
    condition: Expr
    scope: ImportScope  # of what the iteration gives
    following: Sequence[Expr]  # the next state
    number: Expr  # of the iteration
    newest: Sequence[Expr] = ()  # a row of each kind
    kinds: Sequence[Rows] = ()


def recursive(
    node: Builder, step: Step, begin: Sequence[Expr], before: Sequence[Expr], hidden: int = 0
) -> tuple[list[Expr], list[tuple[Expr, Expr]]]:
    """The last state of a loop, and for each kind of row the lists of rows and chunks.

    `before` are such lists, alternately, that the loop begins with. The first `hidden` variables of
    the state are no results.
    """
    again, scope = Var("loop"), step.scope
    types = [_declared(variable) for variable in step.variables]
    list_types = [ty for kind in step.kinds for ty in kind.types]
    lists = [Var(f"rows_{place}", ty) for place, ty in enumerate(list_types)]
    longer: list[Expr] = []
    if lists:
        pairs = [*zip(lists[::2], lists[1::2], strict=True)]
        collected = Var("collected", TupleType(tuple(list_types)))
        appended = with_rows(scope.module, step.number, step.newest, pairs, step.kinds)
        scope.bindings.append((collected, appended))
        longer = [TupleGetItem(collected, place) for place in range(len(lists))]
    turn = Call(again, (*step.following, *longer))
    parts = (*step.variables[hidden:], *lists)
    body: Expr = If(step.condition, scope.closed(turn), Tuple(parts))
    if step.head is not None:
        body = step.head.closed(body)
    result = TupleType((*types[hidden:], *list_types))
    function = Function((*step.variables, *lists), body, result)
    call = Call(again, (*begin, *before))
    fields = node.fields(node.let(Let(again, function, call), declared=result), len(parts))
    last, found = fields[: len(parts) - len(lists)], fields[len(parts) - len(lists) :]
    return last, [*zip(found[::2], found[1::2], strict=True)]


def _declared(variable: Var) -> Type:
    assert variable.type_annotation is not None
    return variable.type_annotation


# (node in the scope of an iteration, its number, state) -> the next state, and rows
Body = Callable[[Builder, Expr, Sequence[Expr]], tuple[list[Expr], list[Expr]]]


def counted(
    node: Builder, body: Body, limit: Expr, count: Dim, state: Sequence[Expr]
) -> tuple[list[Expr], list[Expr]]:
    """The last state of a loop of `count` iterations, whose state keeps its type, and for each kind
    of row all rows as one tensor. `limit` is `count` as a scalar."""
    types = [node.tensor_type(value) for value in state]
    number = Var("turn", TensorType((), "int64"))
    variables = [Var(f"state_{place}", ty) for place, ty in enumerate(types)]
    there = node.inside()
    following, newest = body(there, number, variables)
    rows = [there.tensor_type(row) for row in newest]
    kinds = [*map(Rows.of, rows)]
    following = [_typed(there, *pair) for pair in zip(following, types, strict=True)]
    newest = [_typed(there, row, kind.row) for row, kind in zip(newest, kinds, strict=True)]
    module, again = node.scope.module, op.less(number, limit)
    next_one = (op.add(number, int64(1)), *following)
    step = Step((number, *variables), None, again, there.scope, next_one, number, newest, kinds)
    nil = module.get_constructor("Nil")
    before: list[Expr] = [Call(nil, ()) for _ in range(2 * len(kinds))]
    last, pairs = recursive(node, step, (int64(0), *state), before, hidden=1)
    found = []
    for pair, kind, row in zip(pairs, kinds, rows, strict=True):
        nothing = _typed(node, node.zeros((0, *row.shape), row.dtype), kind.chunk)
        whole = kind.all(module, *pair, nothing)
        found.append(node.declare(whole, (count, *row.shape), row.dtype))
    return last, found


def _typed(node: Builder, value: Expr, ty: TensorType) -> Expr:
    """A value as one of a type that says less, or that is checked."""
    return value if node.type_of(value) == ty else node.let(value, declared=ty)
