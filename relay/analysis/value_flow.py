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
from relay.ir import expr as ir
from relay.ir.function_attrs import WEIGHTS, is_sealed
from relay.ir.types import TensorType
from relay.op.opdef import OpDef

# The user of a value, and the index of the argument; -1 where it is no argument of a call.
Use = tuple[ir.Syntax, int]


class Flow:
    """The calls of operators in a function, their users, and what is fixed."""

    def __init__(self, function: ir.Function) -> None:
        self.function = function
        self._bound: dict[ir.Var, ir.Expr] = {}
        self._fixed: set[int] = set()
        self._users: dict[int, list[Use]] = {}
        self._anywhere: dict[int, ir.Expr] = {}
        nodes = list(tree.postorder(function))
        self._bound = {e.variable: e.value for e in nodes if isinstance(e, ir.Let)}
        names = frozenset(function.attrs.get(WEIGHTS, ()))
        self._fixed.update(id(p) for p in function.params if p.name_hint in names)
        for e in nodes:
            if self._depends_on_fixed(e):
                self._fixed.add(id(e))
            for part, index in _uses(e):
                self._users.setdefault(id(self.meant(part)), []).append((e, index))
        root: ir.Syntax = function
        # the calls of operators outside of sealed functions, arguments first
        self.calls = [e for e in tree.postorder(root, enter=_is_open) if _is_complete(e)]
        self._open = {id(call) for call in self.calls}

    def meant(self, e: ir.Expr) -> ir.Expr:
        """`e`, or what the variable it is was bound to."""
        passed = []
        while isinstance(e, ir.Var) and e in self._bound:
            passed.append(e)
            e = self._bound[e]
        for variable in passed:
            self._bound[variable] = e
        return e

    def call(self, e: ir.Expr) -> ir.Call | None:
        """The call of an operator whose result `e` is, if it may be rewritten."""
        found = self.meant(e)
        return found if isinstance(found, ir.Call) and id(found) in self._open else None

    def users(self, e: ir.Expr) -> list[Use]:
        """The uses of the value of `e`."""
        return self._users.get(id(self.meant(e)), [])

    def is_fixed(self, e: ir.Expr) -> bool:
        """Whether `e` depends on constants and weights alone."""
        return id(self.meant(e)) in self._fixed

    def anywhere(self, e: ir.Expr) -> ir.Expr:
        """A fixed expression without the names of lets, so that it may stand in any place."""
        done = self._anywhere
        stack: list[ir.Syntax] = [e]
        while stack:
            node = stack[-1]
            named = isinstance(node, ir.Var) and node in self._bound
            below = [self._bound[node]] if named else tree.children(node)  # type: ignore[index]
            waiting = [part for part in below if id(part) not in done]
            if waiting:
                stack += waiting
                continue
            stack.pop()
            parts = [done[id(part)] for part in below]
            done[id(node)] = parts[0] if named else tree.rebuild(node, parts)  # type: ignore[assignment]
        return done[id(e)]

    def _depends_on_fixed(self, e: ir.Syntax) -> bool:
        match e:
            case ir.Constant():
                return True
            case ir.Call(op=OpDef() as op, args=args):
                parts = args if op.is_repeatable else None
            case ir.Tuple(fields=fields):
                parts = fields
            case ir.TupleGetItem(tuple_value=value):
                parts = (value,)
            case _:
                parts = None
        return parts is not None and all(id(self.meant(part)) in self._fixed for part in parts)


def _uses(e: ir.Syntax) -> Iterator[tuple[ir.Expr, int]]:
    """The values that `e` uses. Binding one to a name is no use."""
    match e:
        case ir.Call(op=callee, args=args):
            yield callee, -1
            yield from ((arg, index) for index, arg in enumerate(args))
        case ir.Let(body=body) | ir.Function(body=body):
            yield body, -1
        case _:
            yield from ((part, -1) for part in tree.children(e) if isinstance(part, ir.Expr))


def _is_complete(e: ir.Syntax) -> TypeGuard[ir.Call]:
    """Whether `e` is a call of an operator with all its attributes."""
    if not isinstance(e, ir.Call) or not isinstance(e.op, OpDef):
        return False
    return e.op.attrs is None or isinstance(e.attrs, e.op.attrs)


def _is_open(e: ir.Syntax) -> bool:
    return not isinstance(e, ir.Function) or not (is_sealed(e) or e.attrs.get("Composite"))


def tensor_type(e: ir.Expr) -> TensorType | None:
    """The type of `e` where that is one tensor."""
    return e.ty if isinstance(e.ty, TensorType) else None


def static_shape(e: ir.Expr) -> tuple[int, ...] | None:
    """The shape of `e` where all of it is known."""
    ty = tensor_type(e)
    if ty is None or not all(isinstance(extent, int) for extent in ty.shape):
        return None
    return ty.concrete_shape
