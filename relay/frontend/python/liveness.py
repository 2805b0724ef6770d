"""Live variables: the classical backward analysis, over Python's syntax.

At a control-flow merge only live variables have to agree, and a loop carries only variables that
the next iteration, or the code behind the loop, reads.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field

from relay.immutable import frozen
from relay.tree import Steps, run

Names = frozenset[str]
NOTHING: Names = frozenset()


@frozen
class Targets:
    """The live variables at the targets of `break` and `continue`."""

    after: Names = NOTHING
    head: Names = NOTHING


@frozen
class Liveness:
    """The live variables behind each statement and at each loop head, and what each sets."""

    after: dict[ast.stmt, Names] = field(default_factory=dict)
    head: dict[ast.stmt, Names] = field(default_factory=dict)
    stores: dict[ast.stmt, Names] = field(default_factory=dict)


def liveness(body: Sequence[ast.stmt]) -> Liveness:
    """The analysis of the body of a function."""
    found = Liveness()
    run(_block(body, NOTHING, Targets(), found))
    return found


def _block(body: Sequence[ast.stmt], out: Names, loop: Targets, found: Liveness) -> Steps[Names]:
    """The live variables before `body` when `out` is live behind it."""
    for statement in reversed(body):
        found.after[statement] = out
        out = yield _statement(statement, out, loop, found)
        if statement not in found.stores:
            found.stores[statement] = _all_stores(statement, found)
    return out


def _all_stores(node: ast.stmt, found: Liveness) -> Names:
    """The variables that a statement sets, from those of the statements inside it."""
    match node:
        case ast.If():
            inside, own = [*node.body, *node.orelse], NOTHING
        case ast.While():
            inside, own = node.body, NOTHING
        case ast.For():
            inside, own = node.body, stores(node.target)
        case ast.Match():
            inside = [statement for case in node.cases for statement in case.body]
            own = NOTHING.union(*(stores(case.pattern) for case in node.cases))
        case _:
            return stores(node)
    return own.union(*(found.stores[statement] for statement in inside))


def _statement(node: ast.stmt, out: Names, loop: Targets, found: Liveness) -> Steps[Names]:
    match node:
        case ast.Return(value=value):
            return NOTHING if value is None else reads(value)
        case ast.Break():
            return loop.after
        case ast.Continue():
            return loop.head
        case ast.If():
            then: Names = yield _block(node.body, out, loop, found)
            other: Names = yield _block(node.orelse, out, loop, found)
            return then | other | reads(node.test)
        case ast.Match():
            needed = reads(node.subject) | out
            for case in node.cases:
                inside = yield _block(case.body, out, loop, found)
                needed |= (inside - stores(case.pattern)) | reads(case.pattern)
            return needed
        case ast.While():
            around: Names = yield _loop(node, node.body, reads(node.test), NOTHING, out, found)
            return around
        case ast.For():
            before: Names = yield _loop(node, node.body, NOTHING, stores(node.target), out, found)
            return before | reads(node.iter)
        case ast.FunctionDef():
            return (out - {node.name}) | reads(node)
        case ast.AugAssign():
            return out | reads(node.value) | stores(node.target)
    # an assignment or an expression
    return (out - stores(node)) | reads(node)


def _loop(
    node: ast.stmt,
    body: Sequence[ast.stmt],
    test: Names,
    target: Names,
    out: Names,
    found: Liveness,
) -> Steps[Names]:
    """The live variables at the head of a loop, by iteration to a fixed point."""
    head = out | test
    while True:
        inside = yield _block(body, head, Targets(out, head), found)
        wider = head | (inside - target)
        if wider == head:
            found.head[node] = head
            return head
        head = wider


# --- names ---------------------------------------------------------------------------------------


def reads(node: ast.AST) -> Names:
    """The variables that `node` reads, including captures of functions in it."""
    found: set[str] = set()
    pending = [node]
    while pending:
        current = pending.pop()
        if isinstance(current, ast.Name):
            if isinstance(current.ctx, ast.Load):
                found.add(current.id)
        elif isinstance(current, ast.FunctionDef | ast.Lambda):
            found |= captured(current)
        elif isinstance(current, ast.ListComp):
            found |= _read_by_comprehension(current)
        else:
            pending.extend(ast.iter_child_nodes(current))
    return frozenset(found)


def _read_by_comprehension(node: ast.ListComp) -> Names:
    """The free variables of a comprehension; its first source is evaluated outside it."""
    first, *others = node.generators
    inside: list[ast.expr] = [node.elt, *first.ifs]
    for generator in others:
        inside += [generator.iter, *generator.ifs]
    own = NOTHING.union(*(stores(generator.target) for generator in node.generators))
    return (NOTHING.union(*map(reads, inside)) - own) | reads(first.iter)


def captured(function: ast.FunctionDef | ast.Lambda) -> Names:
    """The free variables of a function."""
    defaults = (*function.args.defaults, *function.args.kw_defaults)
    outside = [default for default in defaults if default is not None]
    body: Iterable[ast.AST]
    if isinstance(function, ast.Lambda):
        body, own = [function.body], parameters(function)
    else:
        body = function.body
        own = parameters(function) | assigned(function.body) | {function.name}
        outside += [a.annotation for a in arguments(function) if a.annotation is not None]
        outside += [function.returns] if function.returns is not None else []
    inside = frozenset().union(*map(reads, body)) - own
    return inside.union(*map(reads, outside))


def parameters(function: ast.FunctionDef | ast.Lambda) -> Names:
    """The names of the parameters."""
    return frozenset(a.arg for a in arguments(function))


def arguments(function: ast.FunctionDef | ast.Lambda) -> list[ast.arg]:
    """The parameters of a function in order."""
    given = function.args
    return [*given.posonlyargs, *given.args, *given.kwonlyargs]


def stores(node: ast.AST) -> Names:
    """The variables that a simple statement, a target or a pattern sets."""
    found: set[str] = set()
    for part in _own_nodes(node):
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
            found.add(part.id)
        elif isinstance(part, ast.FunctionDef | ast.MatchAs | ast.MatchStar) and part.name:
            found.add(part.name)
    return frozenset(found)


def assigned(body: Sequence[ast.stmt]) -> Names:
    """The variables that statements set, nested functions excluded."""
    return frozenset().union(*map(stores, body))


def returns(body: Sequence[ast.stmt]) -> bool:
    """Whether the statements contain a `return`, nested functions excluded."""
    return any(isinstance(part, ast.Return) for s in body for part in _own_nodes(s))


def jumps_in_loop(body: Sequence[ast.stmt]) -> ast.stmt | None:
    """A `break` or `continue` of the loop that has this body."""
    pending: list[ast.AST] = list(body)
    while pending:
        current = pending.pop()
        if isinstance(current, ast.Break | ast.Continue):
            return current
        if not isinstance(current, ast.For | ast.While | ast.FunctionDef | ast.Lambda):
            pending.extend(ast.iter_child_nodes(current))
    return None


def _own_nodes(root: ast.AST) -> Iterator[ast.AST]:
    """`root` and the nodes below it, without the insides of functions and comprehensions."""
    pending = [root]
    while pending:
        current = pending.pop()
        yield current
        if not isinstance(current, ast.FunctionDef | ast.Lambda | ast.ListComp):
            pending.extend(ast.iter_child_nodes(current))
