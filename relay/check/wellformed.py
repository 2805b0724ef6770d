"""Well-formedness of programs, checked before type inference.

    bound once      every variable is bound by one parameter list, let or pattern
    in scope        and used only in the scope of that binding; the same for type variables
    right shape     every field holds the class it is declared with, patterns have the arity of
                    their constructors, indices of projections are not negative
    finished        no `TempExpr` of a pass is left over

A computation belongs to the innermost scope around all its uses (`relay.ir.scopes`), and so does a
variable. All its uses are in scope exactly when that is the scope its binding opens.

The functions of a module must be closed. An expression by itself may have free variables.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from relay import tree
from relay.errors import Diagnostic, IllFormed, fail
from relay.ir import expr as ir
from relay.ir.module import IRModule
from relay.ir.scopes import Scope, Scopes
from relay.ir.types import Occurs, Type, TypeVar
from relay.ir.variables import binders, free_type_vars, types_in


def check_well_formed(item: IRModule | ir.Syntax) -> None:
    """Raise IllFormed, with everything that is wrong with `item`."""
    if found := faults(item):
        fail(IllFormed, found)


def faults(item: IRModule | ir.Syntax) -> list[Diagnostic]:
    """What is wrong with `item`; nothing when it is well formed."""
    if not isinstance(item, IRModule):
        return _faults(item, closed=False, where="")
    found: list[Diagnostic] = []
    for name, function in item.functions.items():
        found.extend(_faults(function, closed=True, where=f" in `@{name.name_hint}`"))
    return found


def _faults(root: ir.Syntax, closed: bool, where: str) -> list[Diagnostic]:
    nodes, found = _shape_faults(root, where)
    if found:
        return found  # what has the wrong parts has no scopes
    reach = Reach(root)
    return [
        *_variable_faults(nodes, reach, closed, where),
        *_type_variable_faults(nodes, reach, closed, where),
    ]


# --- shape -------------------------------------------------------------------------------------


def _shape_faults(root: ir.Syntax, where: str) -> tuple[list[ir.Syntax], list[Diagnostic]]:
    """Every node, children first, and what is wrong with them."""
    if not isinstance(root, ir.Syntax):
        return [], [Diagnostic(f"not a program{where}", None, "a Relay expression", repr(root))]
    found: list[Diagnostic] = []

    def enter(node: ir.Syntax) -> bool:
        """Check a node before its parts; those are entered only if they have the right classes."""
        misplaced = list(_misplaced_parts(node, where))
        found.extend(misplaced or _own_faults(node, where))
        return not misplaced

    return list(tree.postorder(root, enter)), found


def _own_faults(node: ir.Syntax, where: str) -> Iterator[Diagnostic]:
    match node:
        case ir.PatternConstructor(constructor=constructor, patterns=patterns):
            if len(patterns) != len(constructor.inputs):
                yield Diagnostic(
                    f"pattern of the wrong arity{where}",
                    node.span,
                    f"{len(constructor.inputs)} patterns, one for each field of "
                    f"`{constructor.name_hint}`",
                    f"{len(patterns)} patterns",
                )
        case ir.TupleGetItem(index=index):
            if isinstance(index, bool) or not isinstance(index, int) or index < 0:
                yield Diagnostic(
                    f"projection of a field that cannot be{where}",
                    node.span,
                    "a number of at least 0",
                    repr(index),
                    "fields are counted from the front; a negative index has no meaning",
                )
        case ir.TempExpr():
            yield Diagnostic(
                f"a value of a pass is left over in the program{where}",
                node.span,
                "an expression of the language",
                type(node).__name__,
                "the pass must replace it by what its realize() returns",
            )


def _misplaced_parts(node: ir.Syntax, where: str) -> Iterator[Diagnostic]:
    cls: Any = type(node)
    for name, kind, many, optional in tree.child_fields(cls):
        value = getattr(node, name)
        if optional and value is None:
            continue
        for part in value if many and isinstance(value, tuple) else (value,):
            if not isinstance(part, kind):
                found = type(part).__name__ if isinstance(part, ir.Syntax) else repr(part)
                message = f"`{name}` of a {type(node).__name__} is not what belongs there{where}"
                yield Diagnostic(message, node.span, f"relay.{kind.__name__}", found)


# --- variables ---------------------------------------------------------------------------------


class Reach(Scopes):
    """Scopes of variables: a binder belongs to the scope in which its variables may be used.

    A clause's pattern belongs to the scope of its right side, and the value of a `let` to that of
    its body when it is a function, which may call itself.
    """

    def _edges(self, parent: ir.Syntax) -> Iterable[tuple[ir.Syntax, Scope]]:
        match parent:
            case ir.Let(value=ir.Function()):
                inside = self.opened(parent, "body")
            case ir.Clause():
                inside = self.opened(parent, "rhs")
            case _:
                return super()._edges(parent)
        return [(child, inside) for child in tree.children(parent)]

    def of_binder(self, binder: ir.Syntax) -> Scope:
        """The scope in which the variables of `binder` may be used."""
        return self.home(binder) if isinstance(binder, ir.Pattern) else self.opened(binder, "body")


def _variable_faults(
    nodes: list[ir.Syntax], reach: Reach, closed: bool, where: str
) -> Iterator[Diagnostic]:
    binder_of: dict[ir.Var, ir.Syntax] = {}
    twice: set[ir.Var] = set()
    binds: set[int] = set()  # patterns and clauses that bind something
    for node in nodes:
        for variable in binders(node):
            if variable in binder_of:
                twice.add(variable)
            binder_of[variable] = node
        if isinstance(node, ir.Pattern | ir.Clause):
            below = [node.lhs] if isinstance(node, ir.Clause) else tree.children(node)
            if isinstance(node, ir.PatternVar) or any(id(part) in binds for part in below):
                binds.add(id(node))
                # a pattern is no computation that could be shared: each use of it binds anew
                if reach.uses(node) > 1:
                    twice.add(next(p.var for p in tree.postorder(node) if type(p) is ir.PatternVar))
    for variable, binder in binder_of.items():
        span = variable.span or binder.span
        if variable in twice:
            yield Diagnostic(
                f"variable `%{variable.name_hint}` is bound more than once{where}",
                span,
                "one parameter, let or pattern that binds it",
                "several",
                "make a new relay.Var for each binding; names may repeat, variables may not",
            )
        elif reach.home(variable) is not reach.of_binder(binder):
            yield Diagnostic(
                f"variable `%{variable.name_hint}` is used outside of its scope{where}",
                span,
                f"uses within the {_name_of(binder)} that binds it only",
                "a use outside, perhaps by a shared computation that is used inside as well",
            )
    if closed:
        for node in nodes:
            if isinstance(node, ir.Var) and node not in binder_of:
                yield Diagnostic(
                    f"unbound variable `%{node.name_hint}`{where}",
                    node.span,
                    "a parameter, a let or a pattern that binds it",
                    f"`%{node.name_hint}`, which nothing binds",
                    "a variable is known by identity, not by name: use the same relay.Var object",
                )


def _name_of(binder: ir.Syntax) -> str:
    return {ir.Function: "function", ir.Let: "let"}.get(type(binder), "clause")


# --- type variables ----------------------------------------------------------------------------


def _type_variable_faults(
    nodes: list[ir.Syntax], reach: Reach, closed: bool, where: str
) -> Iterator[Diagnostic]:
    """A type variable is used inside a function that has it as a parameter.

    Several functions may share one, so each scope is asked what the scopes around it bind.
    """
    bound: dict[Scope, tuple[TypeVar, ...]] = {}
    used: dict[Scope, dict[TypeVar, ir.Syntax]] = {}
    free_in: dict[Type, list[TypeVar]] = {}
    for node in nodes:
        scope = reach.home(node)
        if isinstance(node, ir.Function) and node.type_params:
            scope = reach.opened(node, "body")
            bound[scope] = node.type_params
        for ty in types_in(node):
            if ty.occurs & Occurs.VARIABLE:
                if ty not in free_in:
                    free_in[ty] = free_type_vars(ty)
                for variable in free_in[ty]:
                    used.setdefault(scope, {}).setdefault(variable, node)
    anywhere = {variable for params in bound.values() for variable in params}
    if not used:
        return
    for scope, active in _with_active(set(bound) | set(used), bound):
        for variable, node in used.get(scope, {}).items():
            if active.get(variable, 0) or not (closed or variable in anywhere):
                continue
            yield Diagnostic(
                f"type variable `{variable.name_hint}` is not bound{where}",
                node.span,
                f"a function around it with `{variable.name_hint}` among its type parameters",
                f"a use of `{variable.name_hint}` outside of any",
            )


def _with_active(
    wanted: set[Scope], bound: dict[Scope, tuple[TypeVar, ...]]
) -> Iterator[tuple[Scope, dict[TypeVar, int]]]:
    """Each scope of `wanted` with the type variables bound in it and around it."""
    children: dict[Scope | None, list[Scope]] = {}
    seen: set[Scope] = set()
    for scope in wanted:
        current: Scope | None = scope
        while current is not None and current not in seen:
            seen.add(current)
            children.setdefault(current.parent, []).append(current)
            current = current.parent
    active: dict[TypeVar, int] = {}
    pending = [(scope, False) for scope in children.get(None, ())]
    while pending:
        scope, leaving = pending.pop()
        for variable in bound.get(scope, ()):
            active[variable] = active.get(variable, 0) + (-1 if leaving else 1)
        if not leaving:
            yield scope, active
            pending.append((scope, True))
            pending.extend((child, False) for child in children.get(scope, ()))
