"""Loops made small: indices simplified, guards proven or moved out, tails split off.

    for i.o in 10:                            for i.o in 9: for i.i in 6: f(i.o*6 + i.i)
      for i.i in 6:                    ->     for i.i in 2: f(54 + i.i)
        if i.o*6 + i.i < 56:
          f(i.o*6 + i.i)

What runs once is no loop, what runs never is gone, a loop to unroll is its copies. The main part
of a loop runs without guards; only its tail pays for them. A vector of which one lane is wanted is
a scalar.
"""

from __future__ import annotations

from typing import Any

from relay import tree
from relay.te.expr import (
    INDEX,
    Binary,
    Compare,
    Const,
    Expr,
    Read,
    Select,
    Source,
    Unary,
    Var,
    const,
    every,
    substitute,
    variables,
)
from relay.te.loops import (
    Allocate,
    Block,
    For,
    If,
    Kind,
    Let,
    Prefetch,
    Scope,
    Statement,
    Store,
    While,
    block,
    map_expressions,
)
from relay.te.simplify import Interval, Linear, Simplifier
from relay.tree import Steps

EMPTY = Block(())
Tidying = Steps[Any]  # to a statement, or to the steps that make it


def tidy(statement: Statement, ranges: dict[Var, Interval] | None = None) -> Statement:
    """The same loops, smaller. `ranges` are those of the sizes known at run time."""
    result: Statement = tree.run(_tidy(statement, Simplifier(ranges)))
    return result


def _tidy(statement: Statement, simplify: Simplifier) -> Tidying:
    match statement:
        case For():
            return _for(statement, simplify)
        case Block():
            steps = []
            for step in statement.steps:
                steps.append((yield _tidy(step, simplify)))
            return _block(steps)
        case Store():
            indices = tuple(map(simplify, statement.indices))
            value = simplify(statement.value)
            return Store(statement.buffer, indices, value, statement.streaming)
        case Prefetch():
            indices = tuple(map(simplify, statement.indices))
            return Prefetch(statement.buffer, indices, statement.level)
        case If():
            return _if(statement, simplify)
        case While():
            body = yield _tidy(statement.body, simplify)
            return While(simplify(statement.condition), body)
        case Let():
            value = simplify(statement.value)
            if isinstance(value, Const | Var):
                return _tidy(_put(statement.body, statement.var, value), simplify)
            if value.dtype == INDEX:
                simplify.limit(statement.var, simplify.interval(value))
            body = yield _tidy(statement.body, simplify)
            return EMPTY if _is_empty(body) else Let(statement.var, value, body)
        case Allocate():
            body = yield _tidy(statement.body, simplify)
            return EMPTY if _is_empty(body) else Allocate(statement.buffer, body)
    raise TypeError(f"{type(statement).__name__} is not a statement")


def _block(steps: list[Statement]) -> Statement:
    return block([step for step in steps if not _is_empty(step)] or [EMPTY])


def _is_empty(statement: Statement) -> bool:
    return isinstance(statement, Block) and not statement.steps


def _put(statement: Statement, var: Var, value: Expr) -> Statement:
    done: dict[int, Expr] = {}
    return map_expressions(statement, lambda expr: substitute(expr, {var: value}, done))


def _for(loop: For, simplify: Simplifier) -> Tidying:
    extent = simplify(loop.extent)
    count = int(extent.value) if isinstance(extent, Const) else None
    if count is not None and count <= 0:
        return EMPTY
    if count == 1:
        return _tidy(_put(loop.body, loop.var, const(0, INDEX)), simplify)
    if loop.kind is Kind.UNROLLED and count is not None:
        copies = []
        for i in range(count):
            copies.append((yield _tidy(_put(loop.body, loop.var, const(i, INDEX)), simplify)))
        return _block(copies)
    simplify.bind(loop.var, extent)
    if loop.kind is Kind.VECTOR and count is not None:
        # (and LLVM stores too much where it narrows integers under a mask of one lane)
        if (needed := _last_needed(loop, count, simplify)) <= 1:
            return _for(For(loop.var, const(needed, INDEX), loop.body), simplify)
    elif count is not None:
        limit = _unguarded(loop, count, simplify)
        if limit == 0 and loop.kind is not Kind.PARALLEL:
            # the loop ends where its guard first fails for good
            count = _last_needed(loop, count, simplify)
            if count == 0:
                return EMPTY
            shorter = For(loop.var, const(count, INDEX), loop.body, loop.kind)
            if count == 1:
                return _for(shorter, simplify)
            loop, extent = shorter, shorter.extent
            simplify = _narrowed(simplify, loop.var, (0, count - 1))
        elif 0 < limit < count:
            return _partitioned(loop, limit, count, simplify)
    body = yield _tidy(loop.body, simplify)
    if _is_empty(body):
        return EMPTY
    if (
        isinstance(body, If)
        and body.otherwise is None
        and loop.kind is not Kind.PARALLEL
        and loop.var not in variables(body.condition)
        and not _reads(body.condition)
    ):
        return If(body.condition, For(loop.var, extent, body.then, loop.kind), guard=body.guard)
    return For(loop.var, extent, body, loop.kind)


def _reads(expr: Expr) -> bool:
    return any(isinstance(part, Read) for part in tree.postorder(expr))


def _partitioned(loop: For, limit: int, count: int, simplify: Simplifier) -> Tidying:
    """Main part and tail: two loops; in a parallel loop two ways, so that threads start once."""
    if loop.kind is Kind.PARALLEL:
        main = yield _tidy(loop.body, _narrowed(simplify, loop.var, (0, limit - 1)))
        if count - limit == 1:
            tail_body = _put(loop.body, loop.var, const(limit, INDEX))
            tail = yield _tidy(tail_body, simplify)
        else:
            tail = yield _tidy(loop.body, _narrowed(simplify, loop.var, (limit, count - 1)))
        inside = If(loop.var < limit, main, None if _is_empty(tail) else tail)
        return For(loop.var, const(count, INDEX), inside, loop.kind)
    first = For(loop.var, const(limit, INDEX), loop.body, loop.kind)
    rest_var = Var(INDEX, loop.var.name)
    rest = For(
        rest_var,
        const(count - limit, INDEX),
        _put(loop.body, loop.var, rest_var + limit),
        loop.kind,
    )
    both = []
    for part in (first, rest):
        # each has its own ranges, and what was proven for one says nothing of the other
        both.append((yield _tidy(part, _copy(simplify))))
    return _block(both)


def _copy(simplify: Simplifier) -> Simplifier:
    return Simplifier(simplify.ranges)


def _narrowed(simplify: Simplifier, var: Var, interval: Interval) -> Simplifier:
    return Simplifier({**simplify.ranges, var: interval})


def _guards(loop: For, simplify: Simplifier) -> list[Compare]:
    """The conditions inside a loop that depend on its variable and on nothing read: of statements,
    and of values that are one thing up to some place and another from there.

    Ranges of the variables bound inside are noted on the way.
    """
    found: list[Expr] = []
    pending: list[Statement] = [loop.body]
    while pending:
        current = pending.pop()
        match current:
            case For():
                simplify.bind(current.var, simplify(current.extent))
                pending.append(current.body)
            case If():
                found += _conjunction(current.condition)
                pending.append(current.then)
            case Store():
                parts = tree.postorder(current.value)
                found += [part.condition for part in parts if isinstance(part, Select)]
            case While():
                pass  # runs on values; nothing to split off
            case _:
                pending.extend(tree.children(current))
    return [
        condition
        for condition in found
        if isinstance(condition, Compare)
        and condition.left.dtype == INDEX
        and loop.var in variables(condition)
        and not _reads(condition)
    ]


def _conjunction(condition: Expr) -> list[Expr]:
    parts: list[Expr] = []
    pending = [condition]
    while pending:
        current = pending.pop()
        if isinstance(current, Binary) and current.op == "and" and current.dtype == "bool":
            pending += [current.right, current.left]
        else:
            parts.append(current)
    return parts


def _slack(guard: Compare, var: Var, simplify: Simplifier) -> tuple[int, int, int] | None:
    """(a, low, high): the guard holds where a*var + r < 0, with r anywhere from low to high."""
    if guard.left.dtype != INDEX:
        return None
    left = simplify.exact(simplify(guard.left))
    right = simplify.exact(simplify(guard.right))
    match guard.op:
        case "lt":
            difference = left.plus(right, -1)
        case "le":
            difference = left.plus(right, -1).plus(Linear({}, 1), -1)
        case _:
            return None
    factor = difference.terms.get(var, 0)
    rest = difference.plus(Linear({var: 1}), -factor)
    if any(var in variables(atom) for atom in rest.terms):
        return None
    low, high = simplify.sum_interval(rest)
    if low is None or high is None or factor <= 0:
        return None
    return factor, low, high


def _unguarded(loop: For, count: int, simplify: Simplifier) -> int:
    """How many first iterations need no guard; `count` when there is nothing to gain."""
    limit = count
    for guard in _guards(loop, simplify):
        slack = _slack(guard, loop.var, simplify)
        if slack is None:
            continue
        factor, _, high = slack
        limit = min(limit, max(0, -(high // factor)))
    return limit


def _last_needed(loop: For, count: int, simplify: Simplifier) -> int:
    """How many iterations there are before a guard around everything fails for good."""
    body: Statement = loop.body
    needed = count
    while True:
        match body:
            case For():
                simplify.bind(body.var, simplify(body.extent))
                body = body.body
            case Allocate():
                body = body.body
            case If(otherwise=None):
                for guard in _conjunction(body.condition):
                    if isinstance(guard, Compare) and loop.var in variables(guard):
                        slack = _slack(guard, loop.var, simplify)
                        if slack is not None:
                            factor, low, _ = slack
                            needed = min(needed, max(0, -(low // factor)))
                body = body.then
            case _:
                return needed


def _if(statement: If, simplify: Simplifier) -> Tidying:
    condition = simplify(statement.condition)
    if isinstance(condition, Const):
        if condition.value:
            return _tidy(statement.then, simplify)
        if statement.otherwise is None:
            return EMPTY
        return _tidy(statement.otherwise, simplify)
    if statement.guard:
        needed = _needed_guards(condition, statement.then, simplify)
        if len(needed) < len(_conjunction(condition)):
            shorter = If(every(*needed), statement.then, guard=True)
            return _if(shorter, simplify) if needed else _tidy(statement.then, simplify)
    then = yield _tidy(statement.then, _assuming(condition, simplify))
    otherwise = None
    if statement.otherwise is not None:
        otherwise = yield _tidy(
            statement.otherwise, _assuming(Unary("bool", "not", condition), simplify)
        )
        otherwise = None if _is_empty(otherwise) else otherwise
    if _is_empty(then):
        return EMPTY if otherwise is None else If(~condition, otherwise)
    if (
        otherwise is None
        and isinstance(then, If)
        and then.otherwise is None
        and not _reads(then.condition)  # what it reads may only be there where the first holds
    ):
        both = statement.guard and then.guard
        return If(every(condition, then.condition), then.then, guard=both)
    return If(condition, then, otherwise, statement.guard)


def _needed_guards(condition: Expr, body: Statement, simplify: Simplifier) -> list[Expr]:
    """The guards without which a stage would leave a buffer.

    Memory of the kernel's own may be filled further than anybody reads: vector lanes beyond the end
    of a row cost nothing, and without a mask they stay in registers.
    """
    conditions = _conjunction(condition)
    steps = body.steps if isinstance(body, Block) else (body,)
    touched: list[tuple[Source, tuple[Expr, ...]]] = []
    for step in steps:
        if not isinstance(step, Store) or step.buffer.scope is Scope.GLOBAL:
            return conditions
        touched.append((step.buffer, step.indices))
        for part in tree.postorder(step.value):
            if isinstance(part, Select):
                return conditions
            if isinstance(part, Read):
                touched.append((part.source, part.indices))
    doubtful: set[Var] = set()
    for source, indices in touched:
        for position, extent in zip(indices, source.shape, strict=True):
            place = simplify(position)
            if not (simplify.holds(place >= 0) and simplify.holds(place < extent)):
                doubtful |= variables(place)
    return [one for one in conditions if variables(one) & doubtful]


def _assuming(condition: Expr, simplify: Simplifier) -> Simplifier:
    """What holds inside a branch: `var < number` bounds the variable."""
    ranges: dict[Var, Interval] = {}
    for part in _conjunction(condition):
        negated = isinstance(part, Unary) and part.op == "not"
        inner = part.operand if isinstance(part, Unary) and negated else part
        if not (isinstance(inner, Compare) and inner.op == "lt"):
            continue
        if not (isinstance(inner.left, Var) and isinstance(inner.right, Const)):
            continue
        low, high = simplify.interval(inner.left)
        bound = int(inner.right.value)
        if negated:
            ranges[inner.left] = (bound if low is None else max(low, bound), high)
        else:
            ranges[inner.left] = (low, bound - 1 if high is None else min(high, bound - 1))
    return Simplifier({**simplify.ranges, **ranges}) if ranges else simplify
