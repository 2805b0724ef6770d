"""Which variables are still needed where: the classical backward analysis, over Python's syntax.

Where two ways through a function meet, only the variables that are needed afterwards have to agree;
and a loop carries only those that the next turn, or what follows the loop, reads.
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
    """Where `break` and `continue` lead: what is needed there."""

    after: Names = NOTHING
    head: Names = NOTHING


@frozen
class Liveness:
    """What is needed behind each statement and at the head of each loop, and what each sets."""

    after: dict[ast.stmt, Names] = field(default_factory=dict)
    head: dict[ast.stmt, Names] = field(default_factory=dict)
    stores: dict[ast.stmt, Names] = field(default_factory=dict)


def liveness(body: Sequence[ast.stmt]) -> Liveness:
    """The analysis of the body of a function."""
    found = Liveness()
    run(_block(body, NOTHING, Targets(), found))
    return found


def _block(body: Sequence[ast.stmt], out: Names, loop: Targets, found: Liveness) -> Steps[Names]:
    """What is needed before `body` when `out` is needed behind it."""
    for statement in reversed(body):
        found.after[statement] = out
        out = yield _statement(statement, out, loop, found)
        if statement not in found.stores:
            found.stores[statement] = _all_stores(statement, found)
    return out


def _all_stores(node: ast.stmt, found: Liveness) -> Names:
    """What a statement sets, when that is known of those inside of it."""
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
    # an assignment, an expression: what it reads is needed, what it sets is not
    return (out - stores(node)) | reads(node)


def _loop(
    node: ast.stmt,
    body: Sequence[ast.stmt],
    test: Names,
    target: Names,
    out: Names,
    found: Liveness,
) -> Steps[Names]:
    """What is needed at the head; found by going round until nothing is added."""
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
    """The variables that `node` reads, also inside of functions that it makes."""
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
    """The variables of a comprehension that are not its own; its first source is no part of it."""
    first, *others = node.generators
    inside: list[ast.expr] = [node.elt, *first.ifs]
    for generator in others:
        inside += [generator.iter, *generator.ifs]
    own = NOTHING.union(*(stores(generator.target) for generator in node.generators))
    return (NOTHING.union(*map(reads, inside)) - own) | reads(first.iter)


def captured(function: ast.FunctionDef | ast.Lambda) -> Names:
    """The variables of a function that are not its own."""
    arguments = function.args
    outside = [*arguments.defaults, *(d for d in arguments.kw_defaults if d is not None)]
    body: Iterable[ast.AST]
    if isinstance(function, ast.Lambda):
        body, own = [function.body], parameters(function)
    else:
        body = function.body
        own = parameters(function) | assigned(function.body) | {function.name}
        outside += [a.annotation for a in _arguments(arguments) if a.annotation is not None]
        outside += [function.returns] if function.returns is not None else []
    inside = frozenset().union(*map(reads, body)) - own
    return inside.union(*map(reads, outside))


def parameters(function: ast.FunctionDef | ast.Lambda) -> Names:
    """The names of the parameters."""
    return frozenset(a.arg for a in _arguments(function.args))


def _arguments(arguments: ast.arguments) -> list[ast.arg]:
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]


def stores(node: ast.AST) -> Names:
    """The variables that one statement without a body, a target or a pattern sets."""
    found: set[str] = set()
    for part in _own_nodes(node):
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
            found.add(part.id)
        elif isinstance(part, ast.FunctionDef | ast.MatchAs | ast.MatchStar) and part.name:
            found.add(part.name)
    return frozenset(found)


def assigned(body: Sequence[ast.stmt]) -> Names:
    """The variables that statements set, however deep inside, functions left out."""
    return frozenset().union(*map(stores, body))


def returns(body: Sequence[ast.stmt]) -> bool:
    """Whether a `return` stands somewhere in the statements, functions left out."""
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
    """`root` and what is below it, without the insides of functions and comprehensions, which have
    variables of their own."""
    pending = [root]
    while pending:
        current = pending.pop()
        yield current
        if not isinstance(current, ast.FunctionDef | ast.Lambda | ast.ListComp):
            pending.extend(ast.iter_child_nodes(current))
