"""Values of an `If`: both branches are converted to a common type.

Where branches give tensors of different ranks or element types there is no such type. Then the rest
of the graph is duplicated into both branches (`Fork`), up to where its results have one type again:

    y = If(n == 1, Squeeze(x), x); z = f(y)  ->  z = if (n == 1) { f(squeeze(x)) } else { f(x) }

Where that happens repeatedly, branches share the rest of the graph (`continuations.py`). A branch
for which the rest of the graph has no type ends the run when it is taken. A `Squeeze` whose result
rank depends on a dynamic dimension forks as well.
"""

from __future__ import annotations

from collections.abc import Sequence

from relay.errors import AnySpan, FrontendError
from relay.frontend.common.failing import dead_end
from relay.frontend.common.scope import is_nothing, type_of
from relay.frontend.onnx.boxed import LIST, box, is_boxed
from relay.frontend.onnx.joining import has_hole, joined
from relay.frontend.onnx.scope import GraphScope
from relay.immutable import frozen
from relay.ir.expr import (
    Call,
    Clause,
    Expr,
    Function,
    If,
    Match,
    PatternConstructor,
    PatternVar,
    Tuple,
    TupleGetItem,
    Var,
)
from relay.ir.types import IncompleteType, TensorType, TupleType, Type, TypeCall
from relay.prelude import import_from_std

TRUTH = TensorType((), "bool")

Branch = tuple[GraphScope, list[Expr]]  # a scope, and the values it gives


@frozen
class Fork:
    """The two branches of an `If` whose values have no common type; `condition` is a scalar.

    With `again` the branches give no values yet: the node itself is converted in each of them,
    where more is known than outside (`GraphScope.ones`).
    """

    condition: Expr
    branches: tuple[Branch, Branch]
    reason: FrontendError
    again: bool = False


def types_of_both(one: Branch, other: Branch) -> list[Type] | tuple[Type, Type]:
    """The common types of the values of two branches; the first two without one."""
    found = []
    for left, right in zip(one[1], other[1], strict=True):
        ty = joined(type_of(left), type_of(right))
        if ty is None:
            return type_of(left), type_of(right)
        found.append(filled(ty))
    return found


def either(
    scope: GraphScope,
    condition: Expr,
    branches: Sequence[Branch | FrontendError],
    types: Sequence[Type],
    span: AnySpan | None,
) -> list[Expr]:
    """The values of an `If`, of these types. A branch that is an error ends the run with it."""
    yes, no = (
        closed(*one, types) if isinstance(one, tuple) else dead_end(scope.module, types, one, span)
        for one in branches
    )
    whole = If(condition, yes, no)
    if len(types) == 1:
        return [scope.bind(whole, "either", span, types[0])]
    everything = scope.bind(whole, "either", span, TupleType(tuple(types)))
    fields = [TupleGetItem(everything, place) for place in range(len(types))]
    return [scope.bind(field, "part", span) for field in fields]


def closed(scope: GraphScope, results: Sequence[Expr], types: Sequence[Type]) -> Expr:
    """The results of a scope, converted to these types, inside its `let`s."""
    given = [with_type(scope, value, ty) for value, ty in zip(results, types, strict=True)]
    return scope.closed(given[0] if len(given) == 1 else Tuple(tuple(given)))


def filled(ty: Type) -> Type:
    """A type without holes: a sequence that is never filled may be of any type."""
    if not has_hole(ty):
        return ty
    assert isinstance(ty, TypeCall)
    inside = [filled(arg) if isinstance(arg, TypeCall) else TRUTH for arg in ty.args]
    return TypeCall(ty.func, tuple(inside))


def with_type(scope: GraphScope, value: Expr, ty: Type) -> Expr:
    """A value as one of a supertype."""
    if not is_nothing(value):
        own = type_of(value)
        if own == ty:
            return value
        if is_boxed(ty) and isinstance(own, TensorType):
            return box(scope, value)
        if isinstance(ty, TypeCall) and not _is_form_of(own, ty):
            value = _remade(scope, value, own, ty)
    variable = Var("value", ty)
    scope.bindings.append((variable, value))
    return variable


def _is_form_of(own: Type, ty: Type) -> bool:
    """Whether values of two types have the same representation."""
    while isinstance(own, TypeCall) and isinstance(ty, TypeCall) and own.func == ty.func:
        own, ty = own.args[0], ty.args[0]
    if isinstance(own, IncompleteType) or isinstance(ty, IncompleteType):
        return True
    return not isinstance(ty, TypeCall) and type(own) is type(ty)


def _remade(scope: GraphScope, value: Expr, own: Type, ty: TypeCall) -> Expr:
    """A sequence or an optional whose elements are converted to another representation."""
    (inside,) = ty.args
    if not isinstance(own, TypeCall) or own.func != ty.func:  # it becomes optional
        some = scope.module.get_constructor("Some")
        return Call(some, (with_type(scope, value, inside),))
    one, inner = Var("one", own.args[0]), GraphScope(scope.module)
    changed = inner.closed(with_type(inner, one, inside))
    if ty.func == LIST:
        import_from_std(scope.module, "sequence.rly")
        function = Function((one,), changed, inside)
        return Call(scope.module.get_global_var("map"), (function, value))
    some, none = (scope.module.get_constructor(name) for name in ("Some", "None"))
    return Match(
        value,
        (
            Clause(PatternConstructor(some, (PatternVar(one),)), Call(some, (changed,))),
            Clause(PatternConstructor(none, ()), Call(none, ())),
        ),
    )
