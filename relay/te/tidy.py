"""Simplification of loops: indices simplified, guards proven or hoisted, tails split off.

    for i.o in 10:                            for i.o in 9: for i.i in 6: f(i.o*6 + i.i)
      for i.i in 6:                    ->     for i.i in 2: f(54 + i.i)
        if i.o*6 + i.i < 56:
          f(i.o*6 + i.i)

Loops of one iteration and of none are removed, loops to unroll are unrolled. The main part of a
loop runs without guards, only its tail has them. A vector loop of which one lane is needed becomes
scalar.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

from relay import tree
from relay.te.expr import INDEX, Const, Expr, Unary, Var, const, every, reads, substitute, variables
from relay.te.guards import (
    DynamicLimit,
    assuming_condition,
    clamped,
    conjunction,
    dynamic_limit,
    last_needed,
    needed_guards,
    unguarded,
)
from relay.te.intervals import Interval
from relay.te.loops import (
    Allocate,
    Block,
    Fail,
    For,
    If,
    Kind,
    Let,
    Prefetch,
    Statement,
    Store,
    While,
    block,
    map_expressions,
)
from relay.te.simplify import Linear, Simplifier
from relay.tree import Steps

EMPTY = Block(())
Tidying = Steps[Any]  # returns a statement


def tidy(statement: Statement, ranges: dict[Var, Interval] | None = None) -> Statement:
    """Simplify loops; `ranges` are those of the dynamic sizes."""
    result: Statement = tree.run(_tidy(statement, Simplifier(ranges)))
    return result


def _tidy(statement: Statement, simplify: Simplifier) -> Tidying:
    match statement:
        case For():
            return _for(statement, simplify)
        case Block():
            return _block((yield tree.gather(_tidy(step, simplify) for step in statement.steps)))
        case Store() | Prefetch() | Fail():
            return map_expressions(statement, simplify)
        case If():
            return _if(statement, simplify)
        case While():
            body = yield _tidy(statement.body, simplify)
            return While(simplify(statement.condition), body)
        case Let():
            value = simplify(statement.value)
            if isinstance(value, Const | Var):
                return _tidy(_put(statement.body, {statement.var: value}), simplify)
            if value.dtype == INDEX:
                simplify.limit(statement.var, simplify.interval(value))
            body = yield _tidy(statement.body, simplify)
            return EMPTY if _is_empty(body) else Let(statement.var, value, body)
        case Allocate():
            body = yield _tidy(statement.body, simplify)
            return EMPTY if _is_empty(body) else Allocate(statement.buffer, body)
    raise TypeError(f"{type(statement).__name__} is not a statement")


def _block(steps: list[Statement]) -> Statement:
    """A sequence, with adjacent ifs of the same condition merged."""
    made = block([step for step in steps if not _is_empty(step)] or [EMPTY])
    if not isinstance(made, Block):
        return made
    merged: list[Statement] = []
    for step in made.steps:
        last = merged[-1] if merged else None
        if isinstance(step, If) and isinstance(last, If) and _same_condition(last, step):
            merged[-1] = If(last.condition, block([last.then, step.then]), guard=last.guard)
        else:
            merged.append(step)
    return made if len(merged) == len(made.steps) else block(merged)


def _same_condition(first: If, second: If) -> bool:
    return (
        first.otherwise is None
        and second.otherwise is None
        and first.guard == second.guard
        and first.condition == second.condition
        and not reads(first.condition)
    )


def _is_empty(statement: Statement) -> bool:
    return isinstance(statement, Block) and not statement.steps


def _put(statement: Statement, values: Mapping[Var, Expr]) -> Statement:
    done: dict[int, Expr] = {}
    return map_expressions(statement, lambda expr: substitute(expr, values, done))


def _for(loop: For, simplify: Simplifier) -> Statement | Tidying:
    extent = simplify(loop.extent)
    count = int(extent.value) if isinstance(extent, Const) else None
    if count is not None and count <= 0:
        return EMPTY
    if loop.kind is Kind.UNROLLED and count is not None:
        return _unrolled(loop, simplify)
    if count == 1:
        return _tidy(_put(loop.body, {loop.var: const(0, INDEX)}), simplify)
    simplify.bind(loop.var, extent)
    if loop.kind is Kind.VECTOR:
        simplify.lanes.add(loop.var)
    if loop.kind is Kind.VECTOR and count is not None:
        # (and LLVM stores too much where it narrows integers under a mask of one lane)
        if (needed := last_needed(loop, count, simplify)) <= 1:
            return _for(For(loop.var, const(needed, INDEX), loop.body), simplify)
    elif count is not None:
        limit = unguarded(loop, count, simplify)
        if limit == 0 and not loop.kind.is_parallel:
            # end the loop where its guard fails for the rest
            count = last_needed(loop, count, simplify)
            if count == 0:
                return EMPTY
            shorter = For(loop.var, const(count, INDEX), loop.body, loop.kind)
            if count == 1:
                return _for(shorter, simplify)
            loop, extent = shorter, shorter.extent
            simplify = simplify.assuming({loop.var: (0, count - 1)})
        elif 0 < limit < count:
            return _partitioned(loop, limit, count, simplify)
    elif (limit_at_run_time := dynamic_limit(loop, extent, simplify)) is not None:
        return _partitioned_dynamic(loop, extent, limit_at_run_time, simplify)
    return _whole(loop, extent, simplify)


def _unrolled(nest: For, simplify: Simplifier) -> Tidying:
    """The copies of the body of unrolled loops; it is simplified before, once for all of them."""
    loops: list[tuple[Var, int]] = []
    body: Statement = nest
    while isinstance(body, For) and body.kind is Kind.UNROLLED:
        extent = simplify(body.extent)
        if not isinstance(extent, Const):
            break
        loops.append((body.var, int(extent.value)))
        simplify.bind(body.var, extent)
        body = body.body
    body = yield _smaller(body, simplify)
    copies = []
    for turn in product(*(range(count) for _, count in loops)):
        values: dict[Var, Expr] = {}
        for (var, _), number in zip(loops, turn, strict=True):
            values[var] = const(number, INDEX)
        copies.append((yield _tidy(_put(body, values), simplify)))
    return _block(copies)


def _smaller(statement: Statement, simplify: Simplifier) -> Tidying:
    """Simplify the expressions of a statement, keeping its loops."""
    match statement:
        case For():
            extent = simplify(statement.extent)
            simplify.bind(statement.var, extent)
            body = yield _smaller(statement.body, simplify)
            return For(statement.var, extent, body, statement.kind)
        case If():
            condition = simplify(statement.condition)
            if isinstance(condition, Const):
                taken = statement.then if condition.value else statement.otherwise
                return EMPTY if taken is None else _smaller(taken, simplify)
            then = yield _smaller(statement.then, simplify)
            otherwise = None
            if statement.otherwise is not None:
                otherwise = yield _smaller(statement.otherwise, simplify)
            return If(condition, then, otherwise, statement.guard)
        case Let():
            value = simplify(statement.value)
            if value.dtype == INDEX:
                simplify.limit(statement.var, simplify.interval(value))
            body = yield _smaller(statement.body, simplify)
            return Let(statement.var, value, body)
        case Store() | Prefetch() | Fail():
            return map_expressions(statement, simplify)
        case While():
            return statement  # its operands change between iterations
        case _:
            parts = tree.children(statement)
            below = yield tree.gather(_smaller(part, simplify) for part in parts)
            return tree.rebuild(statement, below)


def _whole(loop: For, extent: Expr, simplify: Simplifier) -> Tidying:
    """The loop without a split."""
    body = yield _tidy(loop.body, simplify)
    if _is_empty(body):
        return EMPTY
    if (
        isinstance(body, If)
        and body.otherwise is None
        and not loop.kind.is_parallel
        and loop.var not in variables(body.condition)
        and not reads(body.condition)
    ):
        return If(body.condition, For(loop.var, extent, body.then, loop.kind), guard=body.guard)
    return For(loop.var, extent, body, loop.kind)


def _partitioned(loop: For, limit: int, count: int, simplify: Simplifier) -> Tidying:
    """Main part and tail: two loops, or two branches of a parallel loop, so threads start once."""
    if loop.kind.is_parallel:
        main = yield _tidy(loop.body, simplify.assuming({loop.var: (0, limit - 1)}))
        if count - limit == 1:
            tail_body = _put(loop.body, {loop.var: const(limit, INDEX)})
            tail = yield _tidy(tail_body, simplify)
        else:
            tail = yield _tidy(loop.body, simplify.assuming({loop.var: (limit, count - 1)}))
        inside = If(loop.var < limit, main, None if _is_empty(tail) else tail)
        return For(loop.var, const(count, INDEX), inside, loop.kind)
    first = For(loop.var, const(limit, INDEX), loop.body, loop.kind)
    rest_var = Var(INDEX, loop.var.name)
    rest = For(
        rest_var,
        const(count - limit, INDEX),
        _put(loop.body, {loop.var: rest_var + limit}),
        loop.kind,
    )
    # results hold for one part only
    both = yield tree.gather(_tidy(part, simplify.assuming()) for part in (first, rest))
    return _block(both)


# --- loops of dynamic extent


def _partitioned_dynamic(
    loop: For, extent: Expr, limit: DynamicLimit, simplify: Simplifier
) -> Tidying:
    """Main part and tail, as in `_partitioned`; their lengths are computed at run time."""
    turns = Var(INDEX, f"{loop.var.name}.main")
    most = simplify.interval(limit.turns)[1]
    known: dict[Var, Interval] = {turns: (0, most)}
    before_end = Linear({loop.var: 1}).plus(simplify.exact(extent), -1)
    main_range = simplify.assuming(known, [*limit.negative, before_end])
    if loop.kind.is_parallel:
        if most is not None:
            main_range = main_range.assuming({loop.var: (0, most - 1)})
        main = yield _tidy(loop.body, main_range)
        tail = yield _tidy(loop.body, simplify.assuming(known, limit.after(loop.var, loop.var)))
        inside = If(loop.var < turns, main, None if _is_empty(tail) else tail)
        return Let(turns, limit.turns, For(loop.var, extent, inside, loop.kind))
    main_range.bind(loop.var, turns)
    main = yield _whole(For(loop.var, turns, loop.body, loop.kind), turns, main_range)
    rest_var = Var(INDEX, loop.var.name)
    left = extent - turns
    tail_range = simplify.assuming(known, limit.after(loop.var, turns))
    tail_range.bind(rest_var, left)
    rest = For(rest_var, left, _put(loop.body, {loop.var: rest_var + turns}), loop.kind)
    tail = yield _whole(rest, left, tail_range)
    return Let(turns, limit.turns, _block([main, tail]))


def _if(statement: If, simplify: Simplifier) -> Tidying:
    condition = simplify(statement.condition)
    if isinstance(condition, Const):
        if condition.value:
            return _tidy(statement.then, simplify)
        if statement.otherwise is None:
            return EMPTY
        return _tidy(statement.otherwise, simplify)
    if statement.guard:
        statement, safe = clamped(statement, simplify)
        needed = needed_guards(condition, statement.then, simplify, safe)
        if len(needed) < len(conjunction(condition)):
            shorter = If(every(*needed), statement.then, guard=True)
            return _if(shorter, simplify) if needed else _tidy(statement.then, simplify)
    then = yield _tidy(statement.then, assuming_condition(condition, simplify))
    otherwise = None
    if statement.otherwise is not None:
        otherwise = yield _tidy(
            statement.otherwise, assuming_condition(Unary("bool", "not", condition), simplify)
        )
        otherwise = None if _is_empty(otherwise) else otherwise
    if _is_empty(then):
        return EMPTY if otherwise is None else If(~condition, otherwise)
    if (
        otherwise is None
        and isinstance(then, If)
        and then.otherwise is None
        # its reads may be in range only where the first condition holds
        and not reads(then.condition)
    ):
        both = statement.guard and then.guard
        return If(every(condition, then.condition), then.then, guard=both)
    return If(condition, then, otherwise, statement.guard)
