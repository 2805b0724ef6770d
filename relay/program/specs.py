"""Relay types -> register types.

    Tensor[(n, 3), float32]               float32[n, 3]
    int32                                 int32
    (int32, Tensor[(?), int8])            a tuple of the two
    List[Tensor[(2), float32]]            List[float32[?]], and `data List[float32[?]] { … }`
    fn (int32) -> (bool, bool)            fn(int32) -> (bool, bool)

Inside data, closures and cells all sizes are unknown: one `List` holds tensors of any size, and
whoever takes one out checks its size.
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
    """The register types of a module, and the data types they mention."""

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
        """The flattened register types."""
        return isa.flatten(self(ty))

    def data_types(self) -> tuple[isa.DataType, ...]:
        """The data types that the specs so far mention, directly or not."""
        while self.pending:
            name, definition, ty = self.pending.pop()
            constructors = []
            for one in definition.constructors:
                inputs = instantiated(one.inputs, definition, ty)
                fields = tree.run(tree.gather(self._spec(part, inside=True) for part in inputs))
                constructors.append(isa.Constructor(one.name_hint, tuple(fields)))
            self.types[name] = isa.DataType(name, tuple(constructors))
        return tuple(self.types.values())

    def _spec(self, ty: Type, *, inside: bool) -> Steps[Any]:
        match ty:
            case TensorType(shape=()):
                return isa.ScalarSpec(ty.dtype)
            case TensorType():
                require_axes(ty)
                return TensorSpec(tuple(_size(d, inside=inside) for d in ty.shape), ty.dtype)
            case TupleType():
                parts = (self._spec(part, inside=inside) for part in ty.fields)
                return tuple((yield tree.gather(parts)))
            case FuncType():
                parts = (self._spec(part, inside=True) for part in ty.arg_types)
                params = yield tree.gather(parts)
                result = yield self._spec(ty.ret_type, inside=True)
                return isa.ClosureSpec(tuple(params), result)
            case RefType():
                return isa.ReferenceSpec((yield self._spec(ty.value, inside=True)))
            case TypeCall() | GlobalTypeVar():
                given = ty.args if isinstance(ty, TypeCall) else ()
                parts = (self._spec(part, inside=True) for part in given)
                return self._data(ty, (yield tree.gather(parts)))
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
            self.types[name] = isa.DataType(name, ())  # its constructors follow later
            self.pending.append((name, definition, ty))
        return isa.DataSpec(name)


def require_axes(ty: TensorType, span: AnySpan | None = None) -> None:
    """Refuse tensors with more axes than NumPy arrays can have."""
    if len(ty.shape) > MOST_AXES:
        raise LowerError.of(
            "a tensor has too many axes to be in a compiled program",
            span,
            expected=f"at most {MOST_AXES}",
            found=f"{len(ty.shape)} axes",
        )


def definition_of(ty: Type, module: IRModule) -> TypeData:
    """The definition of a data type."""
    header = ty.func if isinstance(ty, TypeCall) else ty
    assert isinstance(header, GlobalTypeVar)
    return module.type_definition(header.name_hint)


def instantiated(inputs: tuple[Type, ...], definition: TypeData, ty: Type) -> tuple[Type, ...]:
    """The field types of a constructor in a value of type `ty`."""
    args = ty.args if isinstance(ty, TypeCall) else ()
    bindings: dict[TypeVar, Type | Dim] = dict(zip(definition.type_vars, args, strict=True))
    return tuple(substitute(part, bindings) for part in inputs)


def _size(dim: Dim, *, inside: bool) -> int | str:
    if inside or type(dim) is not int:
        return dim.name_hint if isinstance(dim, TypeVar) and not inside else UNKNOWN
    return dim


def structure(ty: Type) -> Any:
    """A type with tuple types as Python tuples."""

    def build(part: Type) -> Steps[Any]:
        if not isinstance(part, TupleType):
            return part
        return tuple((yield tree.gather(map(build, part.fields))))

    return tree.run(build(ty))
