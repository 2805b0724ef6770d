"""The variables and functions in scope of a random expression."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

from relay.immutable import frozen
from relay.ir import dims
from relay.ir.expr import Expr, TupleGetItem, Var
from relay.ir.types import FuncType, TensorType, TupleType, Type, TypeVar
from relay.testing.generator.types import Vocabulary, has_reference

# The assumed cost of a call of an unknown function.
UNKNOWN_COST: Final = 30


@frozen
class Binding:
    """A variable; pure if using it has no effects."""

    var: Var
    ty: Type
    pure: bool = True


@frozen
class Callee:
    """A callable expression.

    `variables` are the type variables of `ty` that each call instantiates, hidden ones included.
    `cost` is the approximate number of expressions a call evaluates. With `counts`, the first
    parameter is the recursion depth.
    """

    expr: Expr
    ty: FuncType
    variables: tuple[TypeVar, ...] = ()
    cost: int = 1
    pure: bool = True
    counts: bool = False


@frozen
class GeneratorScope:
    """Variables and functions in scope, innermost last, and the vocabulary of types."""

    words: Vocabulary
    bindings: tuple[Binding, ...] = ()
    callees: tuple[Callee, ...] = ()

    def bind(self, bindings: Iterable[Binding], callees: Iterable[Callee] = ()) -> GeneratorScope:
        return replace(
            self,
            bindings=(*self.bindings, *bindings),
            callees=(*self.callees, *callees),
        )

    def enter(self, variables: Iterable[tuple[Var, Type]]) -> GeneratorScope:
        """With variables of known type only; functions among them may have effects."""
        scope = self
        for var, ty in variables:
            if isinstance(ty, FuncType):
                callee = Callee(var, ty, (), UNKNOWN_COST, pure=False)
                scope = scope.bind([Binding(var, ty, pure=False)], [callee])
            else:
                scope = scope.bind([Binding(var, ty, not has_reference(ty))])
        return scope

    def of_type(self, ty: Type) -> list[Binding]:
        """The variables of that type, the newest first."""
        return [b for b in reversed(self.bindings) if b.ty == ty]

    def variables(self) -> set[Var]:
        named = {c.expr for c in self.callees if isinstance(c.expr, Var)}
        return named.union(b.var for b in self.bindings)

    def tensors(self) -> Iterator[tuple[Expr, TensorType]]:
        """Tensors in scope: variables, and fields of variables that are tuples."""
        for binding in self.bindings:
            pending: list[tuple[Expr, Type]] = [(binding.var, binding.ty)]
            while pending:
                expr, ty = pending.pop()
                if isinstance(ty, TensorType):
                    yield expr, ty
                elif isinstance(ty, TupleType):
                    pending += [(TupleGetItem(expr, i), t) for i, t in enumerate(ty.fields)]

    def tensor_with(self, symbol: dims.Symbol) -> tuple[Expr, TensorType, int]:
        """A tensor in scope with an axis of that extent, and the axis."""
        for expr, ty in self.tensors():
            if symbol in ty.shape:
                return expr, ty, ty.shape.index(symbol)
        raise AssertionError(f"no tensor of the scope has the extent {symbol}")
