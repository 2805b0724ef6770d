"""Checks for A-normal form and basic block normal form."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeGuard

from relay import tree
from relay.ir.expr import Call, Constant, Expr, Function, If, Let, Match, Syntax, is_atom
from relay.ir.scopes import Scope, Scopes

# The attribute of functions that make closures (`relay.transform.LambdaLift`).
CLOSURE = "Closure"


class Blocks(Scopes):
    """Scopes as basic blocks: a chain of lets is one block."""

    def _edges(self, parent: Syntax) -> Iterable[tuple[Syntax, Scope]]:
        if isinstance(parent, Let):
            here = self.home(parent)
            return [(child, here) for child in tree.children(parent)]
        return super()._edges(parent)

    def crossing(self, root: Syntax) -> Iterator[Syntax]:
        """Computations that are used in another block than the one they belong to."""
        for parent in tree.postorder(root):
            for child, block in self._edges(parent):
                if not is_atom(child) and block is not self.home(child):
                    yield child


def check_basic_block_normal_form(expr: Expr) -> bool:
    """Whether no computation is shared between basic blocks (function bodies, branches, clauses)
    without a `let` around them."""
    return next(Blocks(expr).crossing(expr), None) is None


def check_a_normal_form(expr: Expr) -> bool:
    """Whether every intermediate value is bound by a `let`, once.

    A block is a chain of lets that ends in a variable, and a value is one operation on variables.
    A function by itself is in that form if its body is, and one that makes a closure if the
    function that it returns is.
    """
    if makes_closure(expr):
        expr = expr.body
    blocks = _parts(expr)[1] if isinstance(expr, Function) else [expr]
    seen: set[int] = set()
    while blocks:
        e = blocks.pop()
        while isinstance(e, Let):
            for part in (e, e.value):
                if id(part) in seen and not is_atom(part):
                    return False
                seen.add(id(part))
            operands, inside = _parts(e.value)
            if isinstance(e.value, Let) or not all(map(stays_in_place, operands)):
                return False
            blocks.extend(inside)
            e = e.body
        if not stays_in_place(e):
            return False
    return True


def _parts(e: Expr) -> tuple[list[Expr], list[Expr]]:
    """The operands of an operation, and the blocks inside it."""
    match e:
        case Function(body=body):
            return [], [] if e.attrs.get("Primitive") else [body]
        case If(cond=cond, true_branch=true_branch, false_branch=false_branch):
            return [cond], [true_branch, false_branch]
        case Match(data=data, clauses=clauses):
            return [data], [clause.rhs for clause in clauses]
        case Call(op=callee, args=args):
            return [*args] if is_kernel(callee) else [callee, *args], []
    return [part for part in tree.children(e) if isinstance(part, Expr)], []


def stays_in_place(e: Expr) -> bool:
    """Whether `e` needs no `let`: a variable, an operator, a constructor, a global function."""
    return is_atom(e) and not isinstance(e, Constant)


def makes_closure(e: Expr) -> TypeGuard[Function]:
    """Whether `e` is a function that only returns a nested function over its parameters."""
    return isinstance(e, Function) and bool(e.attrs.get(CLOSURE)) and isinstance(e.body, Function)


def is_kernel(callee: Expr) -> bool:
    """Whether what is called is a primitive function: an operator that has no name."""
    return isinstance(callee, Function) and bool(callee.attrs.get("Primitive"))
