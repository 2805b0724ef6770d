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

from dataclasses import dataclass
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
    binary,
    const,
    every,
    remake,
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
    if loop.kind is Kind.VECTOR:
        simplify.lanes.add(loop.var)
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
    elif (limit_later := _open_limit(loop, extent, simplify)) is not None:
        return _partitioned_later(loop, extent, limit_later, simplify)
    return _whole(loop, extent, simplify)


def _whole(loop: For, extent: Expr, simplify: Simplifier) -> Tidying:
    """The loop in one part."""
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
    return simplify.assuming()


def _narrowed(simplify: Simplifier, var: Var, interval: Interval) -> Simplifier:
    return simplify.assuming({var: interval})


# --- loops that end where only a run knows


@dataclass(frozen=True)
class _OpenLimit:
    """How many first iterations need no guard, and the sums that are negative in them."""

    turns: Expr
    negative: list[Linear]
    exact: bool  # there is one guard, and after them it never holds

    def after(self, var: Var, first: Var) -> list[Linear]:
        """What is negative in the others, the first of which is `first`."""
        if not self.exact:
            return []
        (held,) = self.negative
        factor = held.terms[var]
        there = held.plus(Linear({var: 1}), -factor).plus(Linear({first: 1}), factor)
        return [there.times(-1).plus(Linear({}, -1))]


def _open_limit(loop: For, extent: Expr, simplify: Simplifier) -> _OpenLimit | None:
    """Where a loop may be cut in two; None when there is nothing to gain.

    for i in (n + 15) // 16: for l in 16: if i*16 + l < n: …          n // 16;  i*16 + 15 - n < 0
    """
    inside = {part.var for part in tree.postorder(loop.body) if isinstance(part, For | Let)}
    limit: Expr | None = None
    facts: list[Linear] = []
    exact: list[bool] = []
    for guard in _guards(loop, simplify):
        difference = _difference(guard, simplify)
        if difference is None or simplify.holds(guard):
            continue
        factor = difference.terms.get(loop.var, 0)
        moving: dict[Expr, int] = {}  # while the loop stands still
        fixed: dict[Expr, int] = {}
        for atom, coefficient in difference.terms.items():
            if atom != loop.var:
                side = moving if variables(atom) & inside else fixed
                side[atom] = coefficient
        if factor <= 0 or any(loop.var in variables(atom) for atom in (*moving, *fixed)):
            continue
        most = simplify.sum_interval(Linear(moving, difference.constant))[1]
        if most is None:
            continue
        fact = Linear({**fixed, loop.var: factor}, most)
        if fact in facts:
            continue
        facts.append(fact)
        room = simplify.build(Linear(fixed, most).times(-1).plus(Linear({}, factor - 1)))
        turns = room // factor
        limit = turns if limit is None else binary("min", limit, turns)
        exact.append(not moving)
    if limit is None:
        return None
    within = binary("max", binary("min", limit, extent), const(0, INDEX))
    return _OpenLimit(simplify(within), facts, exact == [True])


def _partitioned_later(loop: For, extent: Expr, limit: _OpenLimit, simplify: Simplifier) -> Tidying:
    """Main part and tail, as in `_partitioned`; how long they are is computed before."""
    turns = Var(INDEX, f"{loop.var.name}.main")
    most = simplify.interval(limit.turns)[1]
    known: dict[Var, Interval] = {turns: (0, most)}
    before_end = Linear({loop.var: 1}).plus(simplify.exact(extent), -1)
    main_range = simplify.assuming(known, [*limit.negative, before_end])
    if loop.kind is Kind.PARALLEL:
        if most is not None:
            main_range = _narrowed(main_range, loop.var, (0, most - 1))
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
    rest = For(rest_var, left, _put(loop.body, loop.var, rest_var + turns), loop.kind)
    tail = yield _whole(rest, left, tail_range)
    return Let(turns, limit.turns, _block([main, tail]))


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
    difference = _difference(guard, simplify)
    if difference is None:
        return None
    factor = difference.terms.get(var, 0)
    rest = difference.plus(Linear({var: 1}), -factor)
    if any(var in variables(atom) for atom in rest.terms):
        return None
    low, high = simplify.sum_interval(rest)
    if low is None or high is None or factor <= 0:
        return None
    return factor, low, high


def _difference(guard: Compare, simplify: Simplifier) -> Linear | None:
    """What is negative where the guard holds."""
    if guard.left.dtype != INDEX:
        return None
    left = simplify.exact(simplify(guard.left))
    right = simplify.exact(simplify(guard.right))
    match guard.op:
        case "lt":
            return left.plus(right, -1)
        case "le":
            return left.plus(right, -1).plus(Linear({}, 1), -1)
        case _:
            return None


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
        statement, safe = _clamped(statement, simplify)
        needed = _needed_guards(condition, statement.then, simplify, safe)
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


def _needed_guards(
    condition: Expr, body: Statement, simplify: Simplifier, safe: set[Expr]
) -> list[Expr]:
    """The guards without which a stage would leave a buffer; `safe` are indices that never do.

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
            if position in safe:
                continue
            if not (simplify.holds(place >= 0) and simplify.holds(place < extent)):
                doubtful |= variables(place)
    return [one for one in conditions if variables(one) & doubtful]


def _clamped(statement: If, simplify: Simplifier) -> tuple[If, set[Expr]]:
    """The guarded steps of a stage that writes memory of the kernel's own, reading the last element
    where the guard says there is none: then nothing has to be asked.

    if i*6 + r < n: acc[r] = acc[r] + x[i*6 + r]     ->     acc[r] = acc[r] + x[min(i*6 + r, n - 1)]

    Only for indices that are the same in all lanes of a vector, and where sizes are known at run
    time only: otherwise the tail of a loop has just the steps it needs. The loop runs, so there is
    a last element. The indices that became safe come along.
    """
    safe: set[Expr] = set()
    bounds: dict[Expr, Expr] = {}
    for one in _conjunction(statement.condition):
        if isinstance(one, Compare) and one.op == "lt" and not isinstance(one.right, Const):
            bounds[simplify(one.left)] = one.right
    if not bounds or not _writes_own_memory(statement.then):
        return statement, safe

    def clamp(before: Expr, after: Expr) -> Expr:
        if not isinstance(after, Read):
            return remake(before, after)
        places = []
        for place, extent in zip(after.indices, after.source.shape, strict=True):
            simple = simplify(place)
            if bounds.get(simple) == extent and not variables(simple) & simplify.lanes:
                place = binary("min", simple, extent - 1)
                safe.add(place)
            places.append(place)
        return Read(after.dtype, after.source, tuple(places))

    body = map_expressions(statement.then, lambda expr: tree.transform(expr, clamp))
    return If(statement.condition, body, guard=True), safe


def _writes_own_memory(body: Statement) -> bool:
    steps = body.steps if isinstance(body, Block) else (body,)
    return all(isinstance(s, Store) and s.buffer.scope is not Scope.GLOBAL for s in steps)


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
    return simplify.assuming(ranges) if ranges else simplify
