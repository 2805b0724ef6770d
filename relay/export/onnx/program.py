"""Expressions as nodes of a graph.

Functions are inlined, tuples are the names of their fields, an `if` is an `If` whose branches are
graphs. What cannot be exported is noted, and the rest visited all the same, so that one error names
everything.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterator, MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from onnx import ValueInfoProto, helper

from relay.export.onnx.exporters import Exporter
from relay.export.onnx.graph import Graph, Unwritable, Value
from relay.export.onnx.step import Step
from relay.export.onnx.weights import NUMBERS
from relay.immutable import frozen
from relay.ir.dims import Any as AnyDim
from relay.ir.expr import (
    Call,
    Constant,
    Constructor,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    Op,
    Tuple,
    TupleGetItem,
    Var,
)
from relay.ir.module import IRModule
from relay.ir.types import TensorType, TupleType, Type
from relay.tree import Steps

# A tensor, a tuple of items, or a function.
Item = Any
Names = MutableMapping[Var, Item]


@frozen
class Closure:
    """A function with its environment."""

    function: Function
    names: Names


@dataclass
class Program:
    """What is exported, and what cannot be: reasons, with source locations."""

    module: IRModule
    exporters: dict[str, Exporter]
    missing: dict[str, list[str]] = field(default_factory=dict)
    constants: dict[int, Value] = field(default_factory=dict)
    calling: list[Function] = field(default_factory=list)

    def block(self, expr: Expr, graph: Graph, names: Names) -> Steps[Item]:
        """The value of an expression, whose nodes are added to a graph."""
        while isinstance(expr, Let):
            if isinstance(expr.value, Function):
                names[expr.variable] = Closure(expr.value, names)
            else:
                names[expr.variable] = yield self._value(expr.value, graph, names)
            expr = expr.body
        return self._value(expr, graph, names)

    def _value(self, expr: Expr, graph: Graph, names: Names) -> Steps[Item]:
        match expr:
            case Var():
                return names[expr]
            case Let():
                return self.block(expr, graph, names)
            case Constant():
                return self._constant(expr, graph)
            case Tuple(fields=fields):
                found = []
                for one in fields:
                    found.append((yield self._value(one, graph, names)))
                return tuple(found)
            case TupleGetItem(tuple_value=whole, index=index):
                fields_of = yield self._value(whole, graph, names)
                return fields_of[index]
            case Function():
                return Closure(expr, names)
            case GlobalVar():
                return Closure(self.module[expr], {})
            case If():
                return self._if(expr, graph, names)
            case Call(op=Op()):
                return self._operator(expr, graph, names)
            case Call(op=Constructor(name_hint=name)):
                self._note(f"constructor {name}", "data types have no form", expr)
                return self._placeholder(expr.checked_type, graph)
            case Call():
                return self._call(expr, graph, names)
        self._note(type(expr).__name__.lower(), "only tensors and tuples have a form", expr)
        return self._placeholder(expr.checked_type, graph)

    def _constant(self, expr: Constant, graph: Graph) -> Value:
        found = self.constants.get(id(expr.data))
        if found is None:
            ty = expr.checked_type
            assert isinstance(ty, TensorType)
            if ty.dtype not in NUMBERS:
                self._note("constant", f"ONNX has no elements of {ty.dtype}", expr)
                return Value("", ty)
            name = graph.constant(expr.data.array)
            found = self.constants[id(expr.data)] = Value(name, ty, expr.data.array)
        return found

    # --- calls

    def _operator(self, call: Call, graph: Graph, names: Names) -> Steps[Item]:
        args = []
        for arg in call.args:
            args.append((yield self._value(arg, graph, names)))
        assert isinstance(call.op, Op)
        exporter = self.exporters.get(call.op.name)
        try:
            if exporter is None:
                raise Unwritable("there is nothing like it in ONNX")
            made = exporter(Step(graph, call), *args)
            return _typed(call.checked_type, made, graph)
        except Unwritable as error:
            self._note(f"operator {call.op.name}", str(error), call)
            return self._placeholder(call.checked_type, graph)

    def _call(self, call: Call, graph: Graph, names: Names) -> Steps[Item]:
        callee = yield self._value(call.op, graph, names)
        args = []
        for arg in call.args:
            args.append((yield self._value(arg, graph, names)))
        if not isinstance(callee, Closure) or callee.function in self.calling:
            reason = "it calls itself" if isinstance(callee, Closure) else "it is no function"
            self._note("call", reason, call)
            return self._placeholder(call.checked_type, graph)
        inner = ChainMap({}, callee.names)
        inner.update(zip(callee.function.params, args, strict=True))
        self.calling.append(callee.function)
        found = yield self.block(callee.function.body, graph, inner)
        self.calling.pop()
        return found

    # --- branches

    def _if(self, expr: If, graph: Graph, names: Names) -> Steps[Item]:
        condition = yield self._value(expr.cond, graph, names)
        types = [*_tensors(expr.checked_type)]
        branches = []
        for branch in (expr.true_branch, expr.false_branch):
            inner = graph.inside()
            found = yield self.block(branch, inner, ChainMap({}, names))
            outputs = [
                described(renamed(inner, value, "branch_output"), ty)
                for value, ty in zip(_leaves(found), types, strict=True)
            ]
            branches.append(inner.written("branch", [], outputs))
        names_of = graph.several(
            "If", len(types), condition, then_branch=branches[0], else_branch=branches[1]
        )
        leaves = iter([Value(name, ty) for name, ty in zip(names_of, types, strict=True)])
        for name, ty in zip(names_of, types, strict=True):
            graph.elements[name] = ty.dtype
        return _packed(expr.checked_type, leaves)

    # --- what cannot be exported

    def _note(self, what: str, reason: str, expr: Expr) -> None:
        where = str(expr.span) if expr.span is not None else ""
        self.missing.setdefault(f"{what}: {reason}", []).append(where)

    def _placeholder(self, ty: Type, graph: Graph) -> Item:
        """A value of that type in place of what cannot be exported."""
        try:
            leaves = [Value(graph.names.fresh("missing"), one) for one in _tensors(ty)]
        except Unwritable:
            return ()
        return _packed(ty, iter(leaves))


def _typed(ty: Type, made: Any, graph: Graph) -> Item:
    """Names as values of a type."""
    names = iter([made] if isinstance(made, str) else made)
    leaves = []
    for tensor, name in zip(_tensors(ty), names, strict=True):
        if tensor.dtype not in NUMBERS:
            raise Unwritable(f"ONNX has no elements of {tensor.dtype}")
        graph.elements[name] = tensor.dtype
        leaves.append(Value(name, tensor))
    return _packed(ty, iter(leaves))


def _tensors(ty: Type) -> Iterator[TensorType]:
    """The tensors in a type, in order."""
    pending = [ty]
    while pending:
        one = pending.pop()
        if isinstance(one, TensorType):
            yield one
        elif isinstance(one, TupleType):
            pending += reversed(one.fields)
        else:
            raise Unwritable(f"only tensors and tuples have a form in ONNX, and no {one}")


def _packed(ty: Type, leaves: Iterator[Value]) -> Item:
    if isinstance(ty, TupleType):
        return tuple(_packed(one, leaves) for one in ty.fields)
    return next(leaves)


def _leaves(item: Item) -> Iterator[Value]:
    pending = [item]
    while pending:
        one = pending.pop()
        if isinstance(one, tuple):
            pending += reversed(one)
        elif isinstance(one, Value):
            yield one
        else:
            raise Unwritable("a function is no result")


def renamed(graph: Graph, value: Value, wish: str) -> str:
    """The result under a unique name: outputs must be outputs of nodes of their graph."""
    name = graph.names.fresh(wish)
    graph.nodes.append(helper.make_node("Identity", [value.name], [name]))
    return name


def described(name: str, ty: TensorType) -> ValueInfoProto:
    """The declaration of an input or output."""
    shape: Sequence[Any] = [
        extent if isinstance(extent, int) else None if isinstance(extent, AnyDim) else str(extent)
        for extent in ty.shape
    ]
    return helper.make_tensor_value_info(name, NUMBERS[ty.dtype], shape)


def leaves_of(item: Item, ty: Type) -> list[tuple[Value, TensorType]]:
    """The tensors of a result, with their types."""
    return list(zip(_leaves(item), _tensors(ty), strict=True))
