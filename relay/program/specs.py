"""Relay's types as types of registers.

    Tensor[(n, 3), float32]               float32[n, 3]
    int32                                 int32
    (int32, Tensor[(?), int8])            a tuple of the two
    List[Tensor[(2), float32]]            List[float32[?]], and `data List[float32[?]] { … }`
    fn (int32) -> (bool, bool)            fn(int32) -> (bool, bool)

How a value is held does not depend on sizes, and a value of unknown size may be used where the type
says more. So inside of data, functions and cells sizes are left out: the same `List` holds tensors
of any size, and who takes one out looks at its size.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from relay import tree
from relay.errors import AnySpan, LowerError
from relay.ir.adt import TypeData
from relay.ir.dims import Dim
from relay.ir.module import IRModule
from relay.ir.types import (
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
from relay.lower.kernel import TensorSpec
from relay.program import program as isa
from relay.tree import Steps

UNKNOWN = "?"
MOST_AXES = 64  # of NumPy's arrays


@dataclass(eq=False)
class Specs:
    """The register types of a module, and the data types found on the way."""

    module: IRModule
    found: dict[Type, Any] = field(default_factory=dict)
    types: dict[str, isa.DataType] = field(default_factory=dict)
    pending: list[tuple[str, TypeData, Type]] = field(default_factory=list)

    def __call__(self, ty: Type) -> Any:
        """A Spec, or for a tuple type a tuple of them."""
        if ty not in self.found:
            self.found[ty] = tree.run(self._spec(ty, inside=False))
        return self.found[ty]

    def flat(self, ty: Type) -> list[isa.Spec]:
        """One by one."""
        return isa.flatten(self(ty))

    def data_types(self) -> tuple[isa.DataType, ...]:
        """The data types of all specs so far, and those these hold."""
        while self.pending:
            name, definition, ty = self.pending.pop()
            self.types[name] = isa.DataType(
                name,
                tuple(
                    isa.Constructor(
                        constructor.name_hint,
                        tuple(
                            tree.run(self._spec(part, inside=True))
                            for part in instantiated(constructor.inputs, definition, ty)
                        ),
                    )
                    for constructor in definition.constructors
                ),
            )
        return tuple(self.types.values())

    def _spec(self, ty: Type, *, inside: bool) -> Steps[Any]:
        match ty:
            case TensorType(shape=()):
                return isa.ScalarSpec(ty.dtype)
            case TensorType():
                require_axes(ty)
                return TensorSpec(tuple(_size(d, inside=inside) for d in ty.shape), ty.dtype)
            case TupleType():
                fields = []
                for part in ty.fields:
                    fields.append((yield self._spec(part, inside=inside)))
                return tuple(fields)
            case FuncType():
                params = []
                for part in ty.arg_types:
                    params.append((yield self._spec(part, inside=True)))
                result = yield self._spec(ty.ret_type, inside=True)
                return isa.ClosureSpec(tuple(params), result)
            case RefType():
                return isa.ReferenceSpec((yield self._spec(ty.value, inside=True)))
            case TypeCall() | GlobalTypeVar():
                args = []
                for part in ty.args if isinstance(ty, TypeCall) else ():
                    args.append((yield self._spec(part, inside=True)))
                return self._data(ty, args)
        raise LowerError.of(f"a value of type {ty} cannot be in a compiled program")

    def _data(self, ty: Type, args: list[Any]) -> isa.DataSpec:
        definition = definition_of(ty, self.module)
        if definition.extern:
            raise LowerError.of(
                f"type `{ty}` is defined elsewhere: a compiled program cannot hold it",
                definition.span,
            )
        name = definition.header.name_hint
        if args:
            name += f"[{', '.join(map(isa.spec_text, args))}]"
        if name not in self.types:
            self.types[name] = isa.DataType(name, ())  # known, and described later
            self.pending.append((name, definition, ty))
        return isa.DataSpec(name)


def require_axes(ty: TensorType, span: AnySpan | None = None) -> None:
    """Refuse tensors that could not be handed over: NumPy has no arrays of so many axes."""
    if len(ty.shape) > MOST_AXES:
        raise LowerError.of(
            "a tensor has too many axes to be in a compiled program",
            span,
            expected=f"at most {MOST_AXES}",
            found=f"{len(ty.shape)} axes",
        )


def definition_of(ty: Type, module: IRModule) -> TypeData:
    """The data type that `ty` is at certain arguments."""
    header = ty.func if isinstance(ty, TypeCall) else ty
    assert isinstance(header, GlobalTypeVar)
    return module.type_definition(header.name_hint)


def instantiated(inputs: tuple[Type, ...], definition: TypeData, ty: Type) -> tuple[Type, ...]:
    """The types of a constructor's fields in a value of type `ty`."""
    args = ty.args if isinstance(ty, TypeCall) else ()
    bindings: dict[TypeVar, Type | Dim] = dict(zip(definition.type_vars, args, strict=True))
    return tuple(substitute(part, bindings) for part in inputs)


def _size(dim: Dim, *, inside: bool) -> int | str:
    if inside or type(dim) is not int:
        return dim.name_hint if isinstance(dim, TypeVar) and not inside else UNKNOWN
    return dim


def structure(ty: Type) -> Any:
    """A type as Python tuples of the types that are no tuples."""

    def build(part: Type) -> Steps[Any]:
        if not isinstance(part, TupleType):
            return part
        fields = []
        for member in part.fields:
            fields.append((yield build(member)))
        return tuple(fields)

    return tree.run(build(ty))
