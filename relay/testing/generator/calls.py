"""Random calls of functions, closures and constructors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from relay.ir.adt import constructor_type
from relay.ir.dims import Dim
from relay.ir.expr import Call, Constructor, Expr, Let, Var, const, get_op
from relay.ir.types import FuncType, TensorType, Type, TypeCall, TypeKind, TypeVar, substitute
from relay.ir.variables import all_type_vars
from relay.testing.generator import types
from relay.testing.generator.choices import chance, pick
from relay.testing.generator.ledger import NAMES
from relay.testing.generator.scope import UNKNOWN_COST, Callee, GeneratorScope
from relay.testing.generator.tensors import call

if TYPE_CHECKING:
    from relay.testing.generator.expressions import Writer

# The upper bound of named dimensions of functions.
LARGEST_EXTENT: Final = 6
# The largest recursion depth.
MAX_TURNS: Final = 3


def callable_for(
    writer: Writer, goal: Type, scope: GeneratorScope
) -> list[tuple[Callee, dict[TypeVar, Any]]]:
    """The callees with a result of that type, with the type variables it determines."""
    found = []
    for callee in (*writer.callees, *scope.callees):
        if writer.cost + callee.cost > writer.limit:
            continue
        bindings = types.match_types(callee.ty.ret_type, goal, callee.variables)
        if bindings is not None and fits(bindings, scope.words):
            found.append((callee, dict(bindings)))
    return found


def call_one(
    writer: Writer,
    callees: Sequence[tuple[Callee, dict[TypeVar, Any]]],
    scope: GeneratorScope,
    fuel: int,
    known: bool,
) -> Expr:
    """A call of one of `callees`, each with the bindings known of its type variables."""
    callee, bindings = pick(writer.choices, callees)
    for variable in callee.variables:
        if variable not in bindings:
            bindings[variable] = type_argument(writer, variable, scope.words)
    writer.cost += callee.cost
    if not callee.pure:
        writer.effects += 1
    first = [turns(writer, scope, fuel - 1)] if callee.counts else []
    return apply(writer, callee.expr, callee.ty, bindings, scope, fuel - 1, known, first)


def type_argument(writer: Writer, variable: TypeVar, words: types.Vocabulary) -> Type | Dim:
    if variable.kind is not TypeKind.ShapeVar:
        return types.random_type(writer.choices, words, 1)
    dim = types.random_dim(writer.choices, words)
    return dim if fits({variable: dim}, words) else 1


def turns(writer: Writer, scope: GeneratorScope, fuel: int) -> Expr:
    """The recursion depth of a call."""
    if chance(writer.choices, 70):
        return const(writer.choices.integer(0, MAX_TURNS), "int32")
    value = writer.tensor(types.INT32, scope, fuel)
    return call("clip", value.expr, a_min=0.0, a_max=float(MAX_TURNS))


def apply(
    writer: Writer,
    function: Expr,
    ty: FuncType,
    bindings: dict[TypeVar, Any],
    scope: GeneratorScope,
    fuel: int,
    known: bool,
    first: Sequence[Expr] = (),
) -> Expr:
    """A call instantiated by `bindings`; type variables that no argument determines are given."""
    determined = set(all_type_vars(ty.ret_type)) if known else set()
    args = list(first)
    for declared in ty.arg_types[len(args) :]:
        mentioned = [v for v in all_type_vars(declared) if v in bindings]
        settled = all(v in determined for v in mentioned)
        args.append(writer.expression(substitute(declared, bindings), scope, fuel, settled))
        determined.update(mentioned)
    unknown = [p for p in ty.type_params if p not in determined]
    if not unknown and not (ty.type_params and chance(writer.choices, 10)):
        return Call(function, tuple(args))
    told_by_result = set(all_type_vars(ty.ret_type)).issuperset(unknown)
    if not unknown or not told_by_result or chance(writer.choices, 50):
        given = tuple(shown_argument(p, bindings[p], scope.words) for p in ty.type_params)
        return Call(function, tuple(args), None, given)
    result = scope.words.shown(substitute(ty.ret_type, bindings))
    variable = Var(pick(writer.choices, NAMES), result)
    return Let(variable, Call(function, tuple(args)), variable)


def construct(
    writer: Writer,
    constructor: Constructor,
    goal: TypeCall,
    scope: GeneratorScope,
    fuel: int,
    known: bool,
) -> Expr:
    """A call of a constructor."""
    definition = scope.words.definition(goal)
    bindings = dict(zip(definition.type_vars, goal.args, strict=True))
    return apply(
        writer,
        constructor,
        constructor_type(constructor, definition),
        bindings,
        scope,
        fuel,
        known,
    )


def let_call(
    writer: Writer, callee: Callee, scope: GeneratorScope, fuel: int
) -> tuple[Var, Expr, GeneratorScope]:
    """A variable, the call bound to it, and the extended scope."""
    bindings = {v: type_argument(writer, v, scope.words) for v in callee.variables}
    ty = substitute(callee.ty.ret_type, bindings)
    annotated = types.needs_annotation(ty)
    value = call_one(writer, [(callee, bindings)], scope, fuel, annotated)
    variable = writer.variable(ty, scope.words, annotated)
    return variable, value, scope.enter([(variable, ty)])


def functions_of_type(writer: Writer, goal: FuncType, scope: GeneratorScope) -> list[Expr]:
    """Functions of the module, constructors and operators of that type."""
    found: list[Expr] = []
    for callee in writer.callees:
        plain = FuncType(callee.ty.arg_types, callee.ty.ret_type)
        bindings = types.match_types(plain, goal, callee.variables)
        cheap = callee.cost <= UNKNOWN_COST and not callee.counts
        if cheap and bindings is not None and fits(bindings, scope.words):
            found.append(callee.expr)
    if isinstance(goal.ret_type, TypeCall):
        definition = scope.words.definition(goal.ret_type)
        for constructor in definition.constructors:
            ty = constructor_type(constructor, definition)
            plain = FuncType(ty.arg_types, ty.ret_type)
            if ty.arg_types and types.match_types(plain, goal, definition.type_vars) is not None:
                found.append(constructor)
    result = goal.ret_type
    if isinstance(result, TensorType) and all(t == result for t in goal.arg_types):
        # operators that do not increase magnitudes
        names = {1: ["copy", "nn.relu"], 2: ["maximum", "minimum"]}.get(len(goal.arg_types), [])
        found += [get_op(name) for name in names if result.dtype != "bool"]
    return found


def fits(bindings: Mapping[TypeVar, Any], words: types.Vocabulary) -> bool:
    """Whether the dimensions are within `LARGEST_EXTENT`."""
    return all(
        words.extent(value) <= LARGEST_EXTENT
        for variable, value in bindings.items()
        if variable.kind is TypeKind.ShapeVar
    )


def shown_argument(variable: TypeVar, value: Any, words: types.Vocabulary) -> Type | Dim:
    """A type argument with hidden symbols as `?`."""
    if variable.kind is TypeKind.ShapeVar:
        return words.shown_dim(value)
    return words.shown(value)
