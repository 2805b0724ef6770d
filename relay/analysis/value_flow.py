"""Definitions and uses of the values of a function, through `let`s:

    let %y = nn.relu(%x); let %z = %y; add(%z, 1f)        nn.relu is used once, by add

A value is *fixed* when it depends on constants and weights alone: the constants of the program,
`nd.Weight` among them, and the parameters that the attribute `Weights` names. It is computed once,
by FoldConstant or in `@prepare`, so passes may move work there. Elements of weights are unknown.

Sealed functions and composites are opaque.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeGuard

from relay import tree
from relay.ir.expr import (
    Call,
    Constant,
    Expr,
    Function,
    Let,
    Syntax,
    Tuple,
    TupleGetItem,
    Var,
)
from relay.ir.function_attrs import WEIGHTS, is_sealed
from relay.ir.types import TensorType
from relay.op.opdef import OpDef

# The user of a value, and the index of the argument; -1 where it is no argument of a call.
Use = tuple[Syntax, int]


class Flow:
    """The calls of operators in a function, their users, and what is fixed."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self._bound: dict[Var, Expr] = {}
        self._fixed: set[int] = set()
        self._users: dict[int, list[Use]] = {}
        self._anywhere: dict[int, Expr] = {}
        nodes = list(tree.postorder(function))
        self._bound = {e.variable: e.value for e in nodes if isinstance(e, Let)}
        names = frozenset(function.attrs.get(WEIGHTS, ()))
        self._fixed.update(id(p) for p in function.params if p.name_hint in names)
        for e in nodes:
            if self._depends_on_fixed(e):
                self._fixed.add(id(e))
            for part, index in _uses(e):
                self._users.setdefault(id(self.meant(part)), []).append((e, index))
        root: Syntax = function
        # the calls of operators outside of sealed functions, arguments first
        self.calls = [e for e in tree.postorder(root, enter=_is_open) if _is_complete(e)]
        self._open = {id(call) for call in self.calls}

    def meant(self, e: Expr) -> Expr:
        """`e`, or what the variable it is was bound to."""
        passed = []
        while isinstance(e, Var) and e in self._bound:
            passed.append(e)
            e = self._bound[e]
        for variable in passed:
            self._bound[variable] = e
        return e

    def call(self, e: Expr) -> Call | None:
        """The call of an operator whose result `e` is, if it may be rewritten."""
        found = self.meant(e)
        return found if isinstance(found, Call) and id(found) in self._open else None

    def users(self, e: Expr) -> list[Use]:
        """The uses of the value of `e`."""
        return self._users.get(id(self.meant(e)), [])

    def is_fixed(self, e: Expr) -> bool:
        """Whether `e` depends on constants and weights alone."""
        return id(self.meant(e)) in self._fixed

    def anywhere(self, e: Expr) -> Expr:
        """A fixed expression without the names of lets, so that it may stand in any place."""
        done = self._anywhere
        stack: list[Syntax] = [e]
        while stack:
            node = stack[-1]
            named = isinstance(node, Var) and node in self._bound
            below = [self._bound[node]] if named else tree.children(node)  # type: ignore[index]
            waiting = [part for part in below if id(part) not in done]
            if waiting:
                stack += waiting
                continue
            stack.pop()
            parts = [done[id(part)] for part in below]
            done[id(node)] = parts[0] if named else tree.rebuild(node, parts)  # type: ignore[assignment]
        return done[id(e)]

    def _depends_on_fixed(self, e: Syntax) -> bool:
        match e:
            case Constant():
                return True
            case Call(op=OpDef() as op, args=args):
                parts = args if op.is_repeatable else None
            case Tuple(fields=fields):
                parts = fields
            case TupleGetItem(tuple_value=value):
                parts = (value,)
            case _:
                parts = None
        return parts is not None and all(id(self.meant(part)) in self._fixed for part in parts)


def _uses(e: Syntax) -> Iterator[tuple[Expr, int]]:
    """The values that `e` uses. Binding one to a name is no use."""
    match e:
        case Call(op=callee, args=args):
            yield callee, -1
            yield from ((arg, index) for index, arg in enumerate(args))
        case Let(body=body) | Function(body=body):
            yield body, -1
        case _:
            yield from ((part, -1) for part in tree.children(e) if isinstance(part, Expr))


def _is_complete(e: Syntax) -> TypeGuard[Call]:
    """Whether `e` is a call of an operator with all its attributes."""
    if not isinstance(e, Call) or not isinstance(e.op, OpDef):
        return False
    return e.op.attrs is None or isinstance(e.attrs, e.op.attrs)


def _is_open(e: Syntax) -> bool:
    return not isinstance(e, Function) or not (is_sealed(e) or e.attrs.get("Composite"))


def tensor_type(e: Expr) -> TensorType | None:
    """The type of `e` where that is one tensor."""
    return e.ty if isinstance(e.ty, TensorType) else None


def static_shape(e: Expr) -> tuple[int, ...] | None:
    """The shape of `e` where all of it is known."""
    ty = tensor_type(e)
    if ty is None or not all(isinstance(extent, int) for extent in ty.shape):
        return None
    return ty.concrete_shape
