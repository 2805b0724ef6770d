"""Copies of a function for the functions that are passed to it:

def @twice(%f: fn (int32) -> int32, %x: int32) -> int32 { %f(%f(%x)) }

-> with @g for %f:                 def @twice_g(%x: int32) -> int32 { @g(@g(%x)) }
-> with the closure @make(%y):     def @twice_make(%y: int32, %x: int32) -> int32 {
                                     let %f = @make(%y); %f(%f(%x))
                                   }

Captured variables become parameters. Dimensions in the types of a copy are variables of its own, so
that one copy serves all sizes; `Sizes` substitutes them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from relay import tree
from relay.analysis.normal_forms import makes_closure
from relay.immutable import frozen
from relay.ir import dims, types
from relay.ir.copying import copied
from relay.ir.dims import Dim, Symbol
from relay.ir.expr import Call, Expr, Function, GlobalVar, Let, Var
from relay.ir.module import IRModule
from relay.ir.types import UNIT, FuncType, IncompleteType, ShapeVar, TensorType, Type, substitute
from relay.tree import Steps

TypeArgs = tuple[Type | Dim, ...]
E = TypeVar("E", bound=Expr)


@frozen
class KnownFunction:
    """The known function of an expression: a global one, or a closure made by one.

    Captured values may be known functions in turn; None stands for a value of a particular call.
    """

    name: str
    type_args: TypeArgs = ()
    captured: tuple[Expr | KnownFunction | None, ...] = ()

    def values(self) -> list[Expr]:
        """The captured values to pass to a copy."""
        found: list[Expr] = []
        pending: list[Expr | KnownFunction | None] = [self]
        while pending:
            current = pending.pop()
            if isinstance(current, KnownFunction):
                pending.extend(reversed(current.captured))
            elif current is not None:
                found.append(current)
        return found

    def map(self, f: Callable[[TypeArgs], TypeArgs]) -> KnownFunction:
        """The function at other type arguments, without the values of a call."""

        def mapped(known: KnownFunction) -> Steps[KnownFunction]:
            captured: list[KnownFunction | None] = []
            args = f(known.type_args)
            for part in known.captured:
                captured.append((yield mapped(part)) if isinstance(part, KnownFunction) else None)
            return KnownFunction(known.name, args, tuple(captured))

        return tree.run(mapped(self))


class Variables:
    """A fixed sequence of shape variables: types over them are equal up to renaming."""

    def __init__(self) -> None:
        self.stand_ins: list[types.TypeVar] = []

    def __getitem__(self, index: int) -> types.TypeVar:
        while len(self.stand_ins) <= index:
            self.stand_ins.append(ShapeVar(f"n{len(self.stand_ins)}"))
        return self.stand_ins[index]


@dataclass
class Sizes:
    """Abstracts types over the `variables`; `found` are the dimensions that these replace."""

    variables: Variables
    found: list[Symbol] = field(default_factory=list)

    def abstracted(self, given: Sequence[Type | Dim]) -> TypeArgs:
        """Type arguments over the variables; unit replaces undetermined types."""
        return tuple(self._type(g) if _is_type(g) else self._size(g, frozenset()) for g in given)

    def _type(self, ty: Any) -> Type:
        if not ty.occurs:
            return ty  # type: ignore[no-any-return]
        inside = [part for part in tree.postorder(ty) if isinstance(part, FuncType)]
        own = frozenset(param for part in inside for param in part.type_params)

        def visit(_: Type, after: Type) -> Type:
            if isinstance(after, TensorType) and after.occurs:
                shape = tuple(self._size(dim, own) for dim in after.shape)
                return TensorType(shape, after.dtype)
            return UNIT if isinstance(after, IncompleteType) else after

        return tree.transform(ty, visit)  # type: ignore[no-any-return]

    def _size(self, dim: Any, own: frozenset[Symbol]) -> Dim:
        for variable in dims.atoms(dim):  # in the same order in every run
            if variable not in own and variable not in self.found:
                self.found.append(variable)
        places = {variable: self.variables[i] for i, variable in enumerate(self.found)}
        return dims.substitute(dim, lambda symbol: symbol if symbol in own else places[symbol])

    def named(self) -> tuple[types.TypeVar, ...]:
        """New variables with the names of those that were found."""
        return tuple(ShapeVar(getattr(size, "name_hint", "n")) for size in self.found)

    def renaming(self, new: Sequence[types.TypeVar]) -> dict[types.TypeVar, Type | Dim]:
        return {self.variables[i]: variable for i, variable in enumerate(new)}


def _is_type(given: Type | Dim) -> bool:
    """Whether a type argument is a type: a shape variable is a dimension."""
    is_size = isinstance(given, types.TypeVar) and given.kind is types.TypeKind.ShapeVar
    return isinstance(given, Type) and not is_size


def renamed(given: TypeArgs, renaming: Mapping[types.TypeVar, Type | Dim]) -> TypeArgs:
    """Type arguments over other variables."""

    def value_of(symbol: Symbol) -> Any:
        return renaming.get(symbol, symbol)  # type: ignore[call-overload]

    return tuple(
        substitute(g, renaming) if _is_type(g) else dims.substitute(g, value_of)  # type: ignore[arg-type]
        for g in given
    )


def copy_with(
    function: Function,
    type_values: Mapping[types.TypeVar, Type | Dim],
    known: Mapping[int, KnownFunction],
    functions: IRModule | Mapping[str, Function],
) -> Function:
    """A copy of `function` with values for type parameters, and known functions for parameters by
    position. The copy of a function that makes closures makes closures."""
    values: dict[Var, Expr] = {}
    captured: dict[int, list[Var]] = {}
    bindings: list[tuple[Var, Expr]] = []

    def value(one: KnownFunction, hint: str, remembered: list[Var]) -> Steps[Expr]:
        """The replacement of a known function in the copy."""
        maker = functions[one.name]
        if not makes_closure(maker):
            return GlobalVar(one.name)
        of_maker = dict(zip(maker.type_params, one.type_args, strict=True))
        args: list[Expr] = []
        for param, part in zip(maker.params, one.captured, strict=True):
            if isinstance(part, KnownFunction):
                args.append((yield value(part, param.name_hint, remembered)))
            else:
                remembered.append(_renewed(param, substitute(param.checked_type, of_maker)))
                args.append(remembered[-1])
        ty = substitute(made_type(maker), of_maker)
        variable = typed(Var(hint), ty)
        call = Call(GlobalVar(one.name), tuple(args), type_args=one.type_args)
        bindings.append((variable, typed(call, ty)))
        return variable

    for i, one in known.items():
        captured[i] = []
        values[function.params[i]] = tree.run(value(one, function.params[i].name_hint, captured[i]))
    copy = copied(function, type_values, values)
    left = iter(copy.params)
    params: list[Var] = []
    for i in range(len(function.params)):
        params.extend(captured[i] if i in known else (next(left),))
    inner = copy.body if makes_closure(copy) else copy
    assert isinstance(inner, Function)
    body = inner.body
    for variable, bound in reversed(bindings):
        body = Let(variable, bound, body)
    if inner is copy:
        return tree.replace(copy, params=tuple(params), body=body)
    return tree.replace(copy, params=tuple(params), body=tree.replace(inner, body=body))


def made_type(function: Function) -> Type:
    """The type of a function as a value; for one that makes closures, the type of the closures."""
    value = function.body if makes_closure(function) else function
    assert isinstance(value, Function)
    return value.ty or value.declared_type or UNIT


def _renewed(variable: Var, ty: Type) -> Var:
    return typed(Var(variable.name_hint, ty, span=variable.span), ty)


def typed(e: E, ty: Type | None) -> E:
    """The new expression `e` with its type set."""
    object.__setattr__(e, "ty", ty)
    return e
