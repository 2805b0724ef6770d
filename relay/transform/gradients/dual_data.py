"""From values to duals and back, through tuples and data types.

A data type is traversed by a global function for each list of type arguments it is used at:

    def @List_lift(%x: List[float32]) -> List[(float32, ref(float32))] {
      match (%x) {
        Cons(%a, %b) => { … Cons((%a, ref(zeros_like(%a))), @List_lift(%b)) },
        Nil => { Nil },
      }
    }
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from relay import tree
from relay.errors import AnySpan, GradientError
from relay.ir import expr as ir
from relay.ir.module import IRModule
from relay.ir.names import UniqueNames
from relay.ir.types import (
    UNIT,
    FuncType,
    GlobalTypeVar,
    RefType,
    TensorType,
    TupleType,
    Type,
    TypeCall,
    TypeVar,
    substitute,
)
from relay.op.gradient_rules import build
from relay.transform.gradients.accumulate import is_differentiable
from relay.transform.gradients.dual_types import TypeTwins
from relay.tree import Steps

# A longer chain of instances of one data type is polymorphic recursion at ever larger types.
MAX_CHAIN = 8


class Way(Enum):
    """The conversion of a value."""

    LIFT = "lift"  # its dual, with new cells
    VALUE = "value"  # of a dual: the value
    SEED = "seed"  # of a dual: nothing, but ones are added to its gradient
    GRADIENT = "gradient"  # of a dual: the gradient, in the type of the value


class Conversions:
    """Makes expressions that convert values, and the global functions they need."""

    def __init__(self, module: IRModule, types: TypeTwins, names: UniqueNames) -> None:
        self._module = module
        self._types = types
        self._names = names
        self._made: dict[tuple[Way, Type], ir.GlobalVar] = {}
        self.functions: dict[ir.GlobalVar, ir.Function] = {}

    def converted(
        self, way: Way, given: ir.Expr, ty: Type, span: AnySpan | None, what: str
    ) -> ir.Expr:
        """What is made of an expression for a value of type `ty`, or for its dual."""
        return tree.run(self._of(way, given, ty, _Place(span, what)))

    def _of(self, way: Way, given: ir.Expr, ty: Type, place: _Place) -> Steps[ir.Expr]:
        match ty:
            case TensorType():
                return _tensor(way, given, ty)
            case TupleType(fields=types):
                fields: list[ir.Expr] = []
                for index, field in enumerate(types):
                    part = ir.TupleGetItem(given, index)
                    fields.append((yield self._of(way, part, field, place)))
                if way is Way.SEED:
                    return _sequence(fields)
                return ir.Tuple(tuple(fields))
            case _ if way in (Way.LIFT, Way.VALUE) and self._is_constant(ty):
                return given
            case TypeCall(func=GlobalTypeVar()):
                return ir.Call(self._function(way, ty, place), (given,))
        raise place.refused(ty)

    def _is_constant(self, ty: Type) -> bool:
        return isinstance(ty, TypeCall) and self._types.of(ty) == ty

    def _function(self, way: Way, ty: TypeCall, place: _Place) -> ir.GlobalVar:
        """The function that converts data of a type; those it calls are made with it."""
        if (way, ty) in self._made:
            return self._made[way, ty]
        pending: list[tuple[TypeCall, tuple[Type, ...]]] = [(ty, ())]
        found = self._declare(way, ty)
        while pending:
            current, chain = pending.pop()
            if chain.count(current.func) > MAX_CHAIN:
                raise place.refused(ty)
            inside: list[TypeCall] = []
            self.functions[self._made[way, current]] = self._defined(way, current, place, inside)
            pending += [(one, (*chain, current.func)) for one in inside]
        return found

    def _declare(self, way: Way, ty: TypeCall) -> ir.GlobalVar:
        assert isinstance(ty.func, GlobalTypeVar)
        name = ir.GlobalVar(self._names.fresh(f"{ty.func.name_hint}_{way.value}"))
        self._made[way, ty] = name
        return name

    def _defined(
        self, way: Way, ty: TypeCall, place: _Place, needed: list[TypeCall]
    ) -> ir.Function:
        assert isinstance(ty.func, GlobalTypeVar)
        definition = self._module[ty.func]
        bindings: Mapping[TypeVar, Type] = dict(zip(definition.type_vars, ty.args, strict=True))
        dual = self._types.of(ty)
        before, after = {
            Way.LIFT: (ty, dual),
            Way.VALUE: (dual, ty),
            Way.SEED: (dual, UNIT),
            Way.GRADIENT: (dual, ty),
        }[way]
        given = ir.Var("x", before)
        clauses = []
        for constructor in definition.constructors:
            twin = self._types.constructor(constructor)
            source, target = (constructor, twin) if way is Way.LIFT else (twin, constructor)
            variables, fields = [], []
            for number, field in enumerate(constructor.inputs):
                own = substitute(field, bindings)
                kept = own if way is Way.LIFT else self._types.of(own)
                variable = ir.Var(f"x{number}", kept)
                variables.append(variable)
                for part in tree.postorder(own):
                    if isinstance(part, TypeCall) and (way, part) not in self._made:
                        self._declare(way, part)
                        needed.append(part)
                fields.append(tree.run(self._of(way, variable, own, place)))
            result = _sequence(fields) if way is Way.SEED else ir.Call(target, tuple(fields))
            patterns = tuple(ir.PatternVar(variable) for variable in variables)
            clauses.append(ir.Clause(ir.PatternConstructor(source, patterns), result))
        return ir.Function((given,), ir.Match(given, tuple(clauses)), after)


class _Place:
    """Where a value enters or leaves, for errors."""

    def __init__(self, span: AnySpan | None, what: str) -> None:
        self._span = span
        self._what = what

    def refused(self, ty: Type) -> GradientError:
        kind = {
            FuncType: "a function",
            RefType: "a reference",
            TypeVar: "a value of any type",
        }.get(type(ty), "a value")
        return GradientError.of(
            f"{kind} in {self._what} cannot be differentiated",
            self._span,
            "tensors, tuples and data types of them",
            str(ty),
            "references and functions may be used inside of what is differentiated",
        )


def _tensor(way: Way, given: ir.Expr, ty: TensorType) -> ir.Expr:
    has_cell = is_differentiable(ty)
    match way:
        case Way.LIFT:
            if not has_cell:
                return given
            return ir.Tuple((given, ir.RefCreate(build("zeros_like", given))))
        case Way.VALUE:
            return ir.TupleGetItem(given, 0) if has_cell else given
        case Way.SEED:
            if not has_cell:
                return ir.Tuple(())
            # the same tensor may be at several places
            cell = ir.TupleGetItem(given, 1)
            ones = build("ones_like", ir.TupleGetItem(given, 0))
            return ir.RefWrite(cell, build("add", ir.RefRead(cell), ones))
        case Way.GRADIENT:
            if not has_cell:
                return build("zeros_like", given)
            return ir.RefRead(ir.TupleGetItem(given, 1))


def _sequence(steps: list[ir.Expr]) -> ir.Expr:
    """A sequence of steps without results."""
    result: ir.Expr = ir.Tuple(())
    for step in reversed(steps):
        result = ir.Let(ir.Var("_", UNIT), step, result)
    return result
