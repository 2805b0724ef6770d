"""Guards inside loops: which are needed, for which iterations, and what they imply.

    for i.o in 10: for i.i in 6: if i.o*6 + i.i < 56: …        the first 9 iterations need no guard
    for i.o in (n + 5) // 6: for i.i in 6: if i.o*6 + i.i < n: …                 the first n // 6

`relay.te.tidy` splits loops accordingly.
"""

from __future__ import annotations

from relay import tree
from relay.immutable import frozen
from relay.te import expr as te
from relay.te import loops
from relay.te.intervals import Interval
from relay.te.simplify import Linear, Simplifier


@frozen
class DynamicLimit:
    """The number of first iterations that need no guard, and the negative forms in them."""

    turns: te.Expr
    negative: list[Linear]
    exact: bool  # there is one guard, which fails in all later iterations

    def after(self, var: te.Var, first: te.Var) -> list[Linear]:
        """The negative forms in the later iterations, from `first` on."""
        if not self.exact:
            return []
        (held,) = self.negative
        factor = held.terms[var]
        there = held.plus(Linear({var: 1}), -factor).plus(Linear({first: 1}), factor)
        return [there.times(-1).plus(Linear({}, -1))]


def dynamic_limit(loop: loops.For, extent: te.Expr, simplify: Simplifier) -> DynamicLimit | None:
    """Where to split a loop of dynamic extent; None if there is nothing to gain.

    for i in (n + 15) // 16: for l in 16: if i*16 + l < n: …          n // 16;  i*16 + 15 - n < 0
    """
    inside = {
        part.var for part in tree.postorder(loop.body) if isinstance(part, loops.For | loops.Let)
    }
    limit: te.Expr | None = None
    facts: list[Linear] = []
    exact: list[bool] = []
    for guard in _guards(loop, simplify):
        difference = _difference(guard, simplify)
        if difference is None or simplify.holds(guard):
            continue
        factor = difference.terms.get(loop.var, 0)
        moving: dict[te.Expr, int] = {}  # varies within an iteration
        fixed: dict[te.Expr, int] = {}
        for atom, coefficient in difference.terms.items():
            if atom != loop.var:
                side = moving if te.variables(atom) & inside else fixed
                side[atom] = coefficient
        if factor <= 0 or any(loop.var in te.variables(atom) for atom in (*moving, *fixed)):
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
        limit = turns if limit is None else te.binary("min", limit, turns)
        exact.append(not moving)
    if limit is None:
        return None
    within = te.binary("max", te.binary("min", limit, extent), te.const(0, te.INDEX))
    return DynamicLimit(simplify(within), facts, exact == [True])


def _guards(loop: loops.For, simplify: Simplifier) -> list[te.Compare]:
    """The conditions of statements and selects inside a loop that depend on its variable and read
    no memory; also binds the loop variables inside.
    """
    found: list[te.Expr] = []
    pending: list[loops.Statement] = [loop.body]
    while pending:
        current = pending.pop()
        match current:
            case loops.For():
                simplify.bind(current.var, simplify(current.extent))
                pending.append(current.body)
            case loops.If():
                found += conjunction(current.condition)
                pending.append(current.then)
            case loops.Store():
                parts = tree.postorder(current.value)
                found += [part.condition for part in parts if isinstance(part, te.Select)]
            case loops.While():
                pass  # depends on values; nothing to split
            case _:
                pending.extend(tree.children(current))
    return [
        condition
        for condition in found
        if isinstance(condition, te.Compare)
        and condition.left.dtype == te.INDEX
        and loop.var in te.variables(condition)
        and not te.reads(condition)
    ]


def conjunction(condition: te.Expr) -> list[te.Expr]:
    """The conjuncts of a condition."""
    parts: list[te.Expr] = []
    pending = [condition]
    while pending:
        current = pending.pop()
        if isinstance(current, te.Binary) and current.op == "and" and current.dtype == "bool":
            pending += [current.right, current.left]
        else:
            parts.append(current)
    return parts


def _slack(guard: te.Compare, var: te.Var, simplify: Simplifier) -> tuple[int, int, int] | None:
    """(a, low, high): the guard is a*var + r < 0 with r in low..high."""
    difference = _difference(guard, simplify)
    if difference is None:
        return None
    factor = difference.terms.get(var, 0)
    rest = difference.plus(Linear({var: 1}), -factor)
    if any(var in te.variables(atom) for atom in rest.terms):
        return None
    low, high = simplify.sum_interval(rest)
    if low is None or high is None or factor <= 0:
        return None
    return factor, low, high


def _difference(guard: te.Compare, simplify: Simplifier) -> Linear | None:
    """The linear form that is negative where the guard holds."""
    if guard.left.dtype != te.INDEX:
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


def unguarded(loop: loops.For, count: int, simplify: Simplifier) -> int:
    """The number of first iterations that need no guard; `count` if there is nothing to gain."""
    limit = count
    for guard in _guards(loop, simplify):
        slack = _slack(guard, loop.var, simplify)
        if slack is None:
            continue
        factor, _, high = slack
        limit = min(limit, max(0, -(high // factor)))
    return limit


def last_needed(loop: loops.For, count: int, simplify: Simplifier) -> int:
    """The number of iterations before an enclosing guard fails for the rest."""
    body: loops.Statement = loop.body
    needed = count
    while True:
        match body:
            case loops.For():
                simplify.bind(body.var, simplify(body.extent))
                body = body.body
            case loops.Allocate():
                body = body.body
            case loops.If(otherwise=None):
                for guard in conjunction(body.condition):
                    if isinstance(guard, te.Compare) and loop.var in te.variables(guard):
                        slack = _slack(guard, loop.var, simplify)
                        if slack is not None:
                            factor, low, _ = slack
                            needed = min(needed, max(0, -(low // factor)))
                body = body.then
            case _:
                return needed


def needed_guards(
    condition: te.Expr, body: loops.Statement, simplify: Simplifier, safe: set[te.Expr]
) -> list[te.Expr]:
    """The guards that prevent out-of-range accesses; `safe` are indices known to be in range.

    Temporary buffers may be written beyond what is read: extra vector lanes cost nothing, and
    without a mask they stay in registers.
    """
    conditions = conjunction(condition)
    steps = body.steps if isinstance(body, loops.Block) else (body,)
    touched: list[tuple[te.Source, tuple[te.Expr, ...]]] = []
    for step in steps:
        if not isinstance(step, loops.Store) or step.buffer.scope is loops.MemoryScope.GLOBAL:
            return conditions
        touched.append((step.buffer, step.indices))
        for part in tree.postorder(step.value):
            if isinstance(part, te.Select):
                return conditions
            if isinstance(part, te.Read):
                touched.append((part.source, part.indices))
    doubtful: set[te.Var] = set()
    for source, indices in touched:
        for position, extent in zip(indices, source.shape, strict=True):
            place = simplify(position)
            if position in safe:
                continue
            if not (simplify.holds(place >= 0) and simplify.holds(place < extent)):
                doubtful |= te.variables(place)
    return [one for one in conditions if te.variables(one) & doubtful]


def clamped(statement: loops.If, simplify: Simplifier) -> tuple[loops.If, set[te.Expr]]:
    """Replace the guard of a stage that writes temporary buffers by clamping the indices it reads.

    if i*6 + r < n: acc[r] = acc[r] + x[i*6 + r]     ->     acc[r] = acc[r] + x[min(i*6 + r, n - 1)]

    Only for indices that are uniform across vector lanes, and for dynamic sizes: otherwise the tail
    of a loop is split off. The loop runs, so there is a last element. Also returns the clamped
    indices, which are in range.
    """
    safe: set[te.Expr] = set()
    bounds: list[tuple[Linear, te.Expr, te.Expr]] = []
    for one in conjunction(statement.condition):
        if isinstance(one, te.Compare) and one.op == "lt" and not isinstance(one.right, te.Const):
            left = simplify(one.left)
            last = te.binary("min", left, one.right - 1)
            bounds.append((simplify.exact(left), one.right, last))
    if not bounds or not _writes_temporaries(statement.then):
        return statement, safe

    def clamp_one(place: te.Expr, extent: te.Expr) -> te.Expr:
        simple = simplify(place)
        if isinstance(simple, te.Const) or te.variables(simple) & simplify.lanes:
            return place
        total = simplify.exact(simple)
        for guarded, bound, last in bounds:
            parts = _without_multiple(total, guarded)
            if parts is None or (bound != extent and simplify.holds(simple < extent)):
                continue
            rest, factor = parts
            place = simplify.build(rest) + last * factor
            safe.add(place)
            return place
        return place

    def clamp(before: te.Expr, after: te.Expr) -> te.Expr:
        if not isinstance(after, te.Read):
            return te.remake(before, after)
        places = tuple(map(clamp_one, after.indices, after.source.shape))
        return te.Read(after.dtype, after.source, places)

    body = loops.map_expressions(statement.then, lambda expr: tree.transform(expr, clamp))
    return loops.If(statement.condition, body, guard=True), safe


def _without_multiple(total: Linear, part: Linear) -> tuple[Linear, int] | None:
    """(rest, factor) with total = rest + factor * part and no variable of part in rest."""
    atom = next(iter(part.terms), None)
    if atom is None:
        return None
    factor, over = divmod(total.terms.get(atom, 0), part.terms[atom])
    if factor <= 0 or over:
        return None
    rest = total.plus(part, -factor)
    of_part = {var for one in part.terms for var in te.variables(one)}
    if any(te.variables(one) & of_part for one in rest.terms):
        return None
    return rest, factor


def _writes_temporaries(body: loops.Statement) -> bool:
    steps = body.steps if isinstance(body, loops.Block) else (body,)
    return all(
        isinstance(s, loops.Store) and s.buffer.scope is not loops.MemoryScope.GLOBAL for s in steps
    )


def assuming_condition(condition: te.Expr, simplify: Simplifier) -> Simplifier:
    """The simplifier inside a branch: `var < constant` bounds the variable."""
    ranges: dict[te.Var, Interval] = {}
    for part in conjunction(condition):
        negated = isinstance(part, te.Unary) and part.op == "not"
        inner = part.operand if isinstance(part, te.Unary) and negated else part
        if not (isinstance(inner, te.Compare) and inner.op == "lt"):
            continue
        if not (isinstance(inner.left, te.Var) and isinstance(inner.right, te.Const)):
            continue
        low, high = simplify.interval(inner.left)
        bound = int(inner.right.value)
        if negated:
            ranges[inner.left] = (bound if low is None else max(low, bound), high)
        else:
            ranges[inner.left] = (low, bound - 1 if high is None else min(high, bound - 1))
    return simplify.assuming(ranges) if ranges else simplify
