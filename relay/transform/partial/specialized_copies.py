"""Copies of global functions, specialized to the functions that residual calls pass to them:

    @map(fn (%y) { multiply(%y, %x) }, %list)  ->  @map_f(%x, %list)

A copy is made once for all calls with the same functions. Where functions are given larger and
larger functions, the number of copies is limited, and the function itself is called.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from relay.ir import expr as ir
from relay.ir.dims import Dim
from relay.ir.names import UniqueNames
from relay.ir.types import Type, TypeCall
from relay.transform.functional.specialize_calls import MAX_COPIES, MAX_NESTING
from relay.transform.partial.known_arguments import (
    KnownClosure,
    KnownFields,
    Shape,
    arguments_of,
    is_closed,
    rebuilt,
)
from relay.transform.partial.static_values import (
    ANY_FUNCTION,
    Closure,
    Environment,
    Value,
    result_type,
)
from relay.tree import Steps

if TYPE_CHECKING:
    from relay.transform.partial.evaluation import Evaluator


class Copies:
    """The copies that were made, by name."""

    def __init__(self, evaluator: Evaluator, names: set[str]) -> None:
        self.functions: dict[str, ir.Function] = {}
        self._evaluator = evaluator
        self._names = UniqueNames(names)
        self._known: dict[object, str] = {}  # the names of copies
        self._in_progress: list[str] = []  # of which functions

    def of_call(
        self, closure: Closure, type_args: tuple[Type | Dim, ...], args: Sequence[Value]
    ) -> Steps[Any]:
        """A copy of a global function for the functions that it is given, and what that is
        given; None if there is none."""
        if closure.name is None or not all(map(is_closed, type_args)):
            return None
        known = arguments_of(args)
        if known is None:
            return None
        key = (closure.name, type_args, tuple(known.shapes))
        if key not in self._known:
            nesting = self._in_progress.count(closure.name)
            if nesting >= MAX_NESTING or len(self._known) >= MAX_COPIES:
                return None
            self._known[key] = self._names.fresh(f"{closure.name}_{_hint(args)}")
            self._evaluator.out.note(lambda: self._known.pop(key))
            self._in_progress.append(closure.name)
            try:
                copy = yield self._copied(closure.function, type_args, known.shapes)
            finally:
                self._in_progress.pop()
            self.functions[self._known[key]] = copy
        name = ir.GlobalVar(self._known[key])
        return Value(ANY_FUNCTION, None, name, exact=name), known.leaves

    def _copied(
        self, function: ir.Function, type_args: tuple[Type | Dim, ...], shapes: Sequence[Shape]
    ) -> Steps[Any]:
        """The copy; its parameters are the leaves of the arguments."""
        environment = Environment(None, dict(zip(function.type_params, type_args, strict=True)))
        made = _Values(self._evaluator)
        body = yield self._evaluator.body(
            function, environment, lambda: [rebuilt(shape, made) for shape in shapes]
        )
        result = result_type(function, environment)
        return ir.Function(tuple(made.params), body, result, (), function.attrs, span=function.span)


class _Values:
    """The values of the arguments in a copy; its parameters are their leaves."""

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator
        self.params: list[ir.Var] = []

    def leaf(self, ty: Type) -> Value:
        self.params.append(ir.Var("x", ty))
        return self._evaluator.out.given(ty, self.params[-1])

    def atom(self, atom: ir.Op | ir.Constructor) -> Value:
        return self._evaluator.atom(atom, Environment())

    def fields(self, shape: KnownFields, values: Sequence[Value]) -> Value:
        if shape.constructor is None:
            return self._evaluator.tuple_of(tuple(values), shape.ty, "x")
        assert isinstance(shape.ty, TypeCall)
        given = shape.ty.args
        return self._evaluator.data(shape.constructor, given, values, shape.ty, "x", None)

    def closure(self, shape: KnownClosure, environment: Environment) -> Value:
        if shape.name is not None:
            return self._evaluator.atom(ir.GlobalVar(shape.name), environment)
        return self._evaluator.closure(shape.function, environment, shape.ty, "f")

    def placed(self, closure: Value) -> None:
        closure.slot = self._evaluator.out.current.block.slot()


def _hint(args: Sequence[Value]) -> str:
    """A word for the functions among the arguments."""
    for value in args:
        match value.static:
            case Closure(name=name):
                return name or value.hint
            case ir.Op(name=name) | ir.Constructor(name_hint=name):
                return name.rpartition(".")[2]
    return "known"
