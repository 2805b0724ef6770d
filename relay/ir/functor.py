"""Visitors and mutators: one method per kind of expression or type, `visit` to go on below.

    class CountCalls(ExprVisitor):
        def visit_call(self, call):
            self.count += 1
            super().visit_call(call)          # goes on to the operator and the arguments

Results are remembered per expression, so a shared one is visited once. Programs may nest without
limit (`relay.ir.stack`). Passes of our own use `relay.tree`, which is faster; this is the form to
use where a method must act before and after its children, or leave them out.
"""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from relay import tree
from relay.errors import RelayError
from relay.ir import expr as e
from relay.ir import stack
from relay.ir import types as t
from relay.ir.adt import TypeData

R = TypeVar("R")

_EXPR_METHODS: dict[type, str] = {
    e.Function: "visit_function",
    e.Call: "visit_call",
    e.Let: "visit_let",
    e.Var: "visit_var",
    e.GlobalVar: "visit_global_var",
    e.If: "visit_if",
    e.Tuple: "visit_tuple",
    e.TupleGetItem: "visit_tuple_getitem",
    e.Constant: "visit_constant",
    e.RefCreate: "visit_ref_create",
    e.RefRead: "visit_ref_read",
    e.RefWrite: "visit_ref_write",
    e.Op: "visit_op",
    e.Constructor: "visit_constructor",
    e.Match: "visit_match",
    e.TempExpr: "visit_temp",
}

_TYPE_METHODS: dict[type, str] = {
    t.TypeVar: "visit_type_var",
    t.IncompleteType: "visit_incomplete_type",
    t.TensorType: "visit_tensor_type",
    t.FuncType: "visit_func_type",
    t.TupleType: "visit_tuple_type",
    t.TypeRelation: "visit_type_relation",
    t.RefType: "visit_ref_type",
    t.GlobalTypeVar: "visit_global_type_var",
    t.TypeCall: "visit_type_call",
    TypeData: "visit_type_data",
}


class NotVisited(RelayError, NotImplementedError):
    """A visitor has no method for what it meets."""


class _Functor(Generic[R]):
    """Dispatch by class, with memory and an endless stack."""

    _methods: dict[type, str]

    def __init__(self) -> None:
        self.memo_map: dict[Any, R] = {}

    def visit(self, node: Any) -> R:
        """The result for `node`, from memory when it was visited before."""
        memo = self.memo_map
        if node in memo:
            return memo[node]
        result = stack.call(self._dispatch, node)
        memo[node] = result
        return result

    def _dispatch(self, node: Any) -> R:
        cls = type(node)
        name = self._methods.get(cls)
        if name is None:
            for base in cls.__mro__:
                if name := self._methods.get(base):
                    break
            else:
                raise RelayError(f"{type(self).__name__} cannot visit a {cls.__name__}: {node!r}")
        method = getattr(self, name)
        return method(node)  # type: ignore[no-any-return]


class ExprFunctor(_Functor[R]):
    """The base: `visit` dispatches to `visit_<kind>`, which a subclass must define."""

    _methods = _EXPR_METHODS

    def _undefined(self, expr: Any) -> R:
        raise NotVisited(
            f"{type(self).__name__} does not define a method for {type(expr).__name__}"
        )

    visit_function = visit_call = visit_let = visit_var = visit_global_var = _undefined
    visit_if = visit_tuple = visit_tuple_getitem = visit_constant = _undefined
    visit_ref_create = visit_ref_read = visit_ref_write = _undefined
    visit_op = visit_constructor = visit_match = visit_temp = _undefined


class ExprVisitor(ExprFunctor[Any]):
    """Visits everything below; override the kinds of interest and call `super()` to go on."""

    def _visit_children(self, expr: Any) -> None:
        for child in tree.children(expr):
            self.visit(child)

    visit_function = visit_call = visit_let = visit_var = visit_global_var = _visit_children
    visit_if = visit_tuple = visit_tuple_getitem = visit_constant = _visit_children
    visit_ref_create = visit_ref_read = visit_ref_write = _visit_children
    visit_op = visit_constructor = visit_temp = _visit_children

    def visit_match(self, match: e.Match) -> None:
        self.visit(match.data)
        for clause in match.clauses:
            self.visit(clause.rhs)


class ExprMutator(ExprFunctor[e.Expr]):
    """Rebuilds everything below; override the kinds of interest and return what replaces them.

    What does not change is kept, object and checked type; what does is rebuilt without its type.
    """

    def _rebuild(self, expr: Any) -> e.Expr:
        rebuilt: e.Expr = tree.rebuild(expr, [self.visit(c) for c in tree.children(expr)])
        return rebuilt

    visit_function = visit_call = visit_let = visit_var = visit_global_var = _rebuild
    visit_if = visit_tuple = visit_tuple_getitem = visit_constant = _rebuild
    visit_ref_create = visit_ref_read = visit_ref_write = _rebuild
    visit_op = visit_constructor = visit_temp = _rebuild

    def visit_match(self, match: e.Match) -> e.Expr:
        data = self.visit(match.data)
        clauses = [
            tree.rebuild(clause, [self._pattern(clause.lhs), self.visit(clause.rhs)])
            for clause in match.clauses
        ]
        rebuilt: e.Expr = tree.rebuild(match, [data, *clauses])  # type: ignore[assignment]
        return rebuilt

    def _pattern(self, pattern: e.Pattern) -> e.Pattern:
        """The pattern over visited variables."""

        def visit(before: e.Syntax, after: e.Syntax) -> e.Syntax:
            return self.visit(before) if isinstance(before, e.Var) else after

        return tree.transform(pattern, visit)


class TypeFunctor(_Functor[R]):
    """The base for types: `visit` dispatches to `visit_<kind>`, which a subclass must define."""

    _methods = _TYPE_METHODS

    def _undefined(self, ty: Any) -> R:
        raise NotVisited(f"{type(self).__name__} has no method for {type(ty).__name__}")

    visit_type_var = visit_incomplete_type = visit_tensor_type = visit_func_type = _undefined
    visit_tuple_type = visit_type_relation = visit_ref_type = _undefined
    visit_global_type_var = visit_type_call = visit_type_data = _undefined


class TypeVisitor(TypeFunctor[Any]):
    """Visits every type below."""

    def _visit_children(self, ty: Any) -> None:
        for child in tree.children(ty):
            self.visit(child)

    visit_type_var = visit_incomplete_type = visit_tensor_type = visit_func_type = _visit_children
    visit_tuple_type = visit_type_relation = visit_ref_type = _visit_children
    visit_global_type_var = visit_type_call = visit_type_data = _visit_children


class TypeMutator(TypeFunctor[t.Type]):
    """Rebuilds every type below."""

    def _rebuild(self, ty: Any) -> t.Type:
        rebuilt: t.Type = tree.rebuild(ty, [self.visit(c) for c in tree.children(ty)])
        return rebuilt

    visit_type_var = visit_incomplete_type = visit_tensor_type = visit_func_type = _rebuild
    visit_tuple_type = visit_type_relation = visit_ref_type = _rebuild
    visit_global_type_var = visit_type_call = visit_type_data = _rebuild
