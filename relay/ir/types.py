"""The types of Relay: what a value is, down to the shape of a tensor.

    TensorType((n, 3), "float32")      Tensor[(n, 3), float32]
    TupleType((a, b))                  (a, b)
    FuncType((a, b), r, (A,))          fn [A](a, b) -> r
    TypeCall(List, (a,))               List[a]
    RefType(a)                         ref(a)
    TypeVar("A")                       A          with kind ShapeVar it is a dimension
    IncompleteType()                   _          a hole for inference to fill

Types are compared by structure (`==`), functions up to the names of their type parameters. The hash
and a summary of what occurs inside (`occurs`) are computed once, when the type is built.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from enum import IntEnum
from typing import Any as AnyValue
from typing import ClassVar

from relay import dtypes, tree
from relay.errors import AnySpan, RelayError
from relay.ir import dims
from relay.ir.dims import Any, Dim, Symbol
from relay.tree import Node, node


class TypeKind(IntEnum):
    """What a type variable may stand for."""

    Type = 0
    ShapeVar = 1
    BaseType = 2
    Constraint = 4
    AdtHandle = 5
    TypeData = 6


class Occurs:
    """What is found somewhere inside a type: plain bits, since inference asks all the time."""

    NOTHING = 0
    HOLE = 1
    VARIABLE = 2
    ANY = 4


@node
class Type(Node):
    """The root of all types."""

    family: ClassVar[type[Node]]
    span: AnySpan | None = field(default=None, kw_only=True)
    occurs: int = field(default=Occurs.NOTHING, init=False)
    _hash: int = field(default=0, init=False)

    def _summarise(self, key: object, occurs: int) -> None:
        object.__setattr__(self, "_hash", hash(key))
        object.__setattr__(self, "occurs", occurs)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Type) or self._hash != other._hash:
            return False
        return equal(self, other)

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        from relay.ir.printer import type_text

        return type_text(self)

    def astext(self) -> str:
        return repr(self)


Type.family = Type


def _tuple(values: AnyValue) -> tuple[AnyValue, ...]:
    return values if type(values) is tuple else tuple(values)


def _occurs_in(parts: tuple[Type, ...]) -> int:
    found = Occurs.NOTHING
    for part in parts:
        found |= part.occurs
    return found


@node
class TypeVar(Type, Symbol):
    """A named variable, equal only to itself. Of kind ShapeVar it is used as a dimension."""

    name_hint: str
    kind: TypeKind = TypeKind.Type

    def __post_init__(self) -> None:
        self._summarise((TypeVar, self.kind), Occurs.VARIABLE)

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return object.__hash__(self)

    @property
    def name(self) -> str:
        return self.name_hint

    def __str__(self) -> str:
        return self.name_hint


def ShapeVar(name: str) -> TypeVar:
    """A symbolic dimension."""
    return TypeVar(name, TypeKind.ShapeVar)


@node
class IncompleteType(Type, Symbol):
    """A hole, equal only to itself, that inference fills. Of kind ShapeVar: a dimension to find."""

    kind: TypeKind = TypeKind.Type

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", object.__hash__(self))
        object.__setattr__(self, "occurs", Occurs.HOLE)

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return self._hash

    def __str__(self) -> str:
        return "_"


@node
class GlobalTypeVar(Type):
    """The name of an algebraic data type; it becomes a type in a `TypeCall`."""

    name_hint: str
    kind: TypeKind = TypeKind.AdtHandle

    def __post_init__(self) -> None:
        self._summarise((GlobalTypeVar, self.name_hint), Occurs.NOTHING)

    @property
    def name(self) -> str:
        return self.name_hint

    def __call__(self, *args: Type) -> TypeCall:
        return TypeCall(self, args)


def as_dim(value: object) -> Dim:
    """`value` as a dimension."""
    if type(value) is int or isinstance(value, Symbol):
        return value
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise RelayError(
            f"a dimension must be an integer, a shape variable or relay.Any(), found {value!r}"
        )
    return int(value.__index__())


@node
class TensorType(Type):
    """`Tensor[(d, …), dtype]`; a scalar has shape ()."""

    shape: tuple[Dim, ...]
    dtype: str = "float32"

    def __post_init__(self) -> None:
        shape = self.shape
        if type(shape) is not tuple or any(type(d) is not int for d in shape):
            if isinstance(shape, int | Symbol):
                raise RelayError(
                    f"a shape is a tuple of dimensions, found {shape!r}; try ({shape},)"
                )
            shape = tuple(as_dim(d) for d in shape)
            object.__setattr__(self, "shape", shape)
        if not isinstance(self.dtype, str) or not dtypes.is_dtype(self.dtype):
            object.__setattr__(self, "dtype", dtypes.canonical(self.dtype))
        occurs = Occurs.NOTHING
        key: list[object] = [TensorType, self.dtype]
        for dim in shape:
            if type(dim) is int:
                if dim < 0:
                    raise RelayError(f"a dimension cannot be negative, found {dim} in {shape}")
                key.append(dim)
                continue
            key.append(dims.structural_hash(dim))
            if isinstance(dim, Any):
                occurs |= Occurs.ANY
                continue
            for atom in dims.atoms(dim):
                occurs |= atom.occurs if isinstance(atom, Type) else Occurs.VARIABLE
        self._summarise(tuple(key), occurs)

    @property
    def concrete_shape(self) -> tuple[int, ...]:
        """The shape as integers; an error when a dimension is not known."""
        if self.occurs:
            raise RelayError(f"{self} has no concrete shape: a dimension is not an integer")
        return self.shape  # type: ignore[return-value]

    @property
    def ndim(self) -> int:
        return len(self.shape)


def scalar_type(dtype: str) -> TensorType:
    """The type of a scalar."""
    return TensorType((), dtype)


@node
class TupleType(Type):
    """`(a, b, …)`; the empty one is unit."""

    fields: tuple[Type, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "fields", _tuple(self.fields))
        self._summarise((TupleType, *(f._hash for f in self.fields)), _occurs_in(self.fields))


@node
class FuncType(Type):
    """`fn [A, …](a, …) -> r`; the type parameters are bound here, and compared up to renaming."""

    arg_types: tuple[Type, ...]
    ret_type: Type
    type_params: tuple[TypeVar, ...] = ()
    type_constraints: tuple[TypeRelation, ...] = ()

    def __post_init__(self) -> None:
        for name in ("arg_types", "type_params", "type_constraints"):
            object.__setattr__(self, name, _tuple(getattr(self, name) or ()))
        parts = (*self.arg_types, self.ret_type)
        self._summarise(
            (FuncType, len(self.type_params), *(p._hash for p in parts)),
            _occurs_in((*parts, *self.type_constraints)),
        )


@node
class RefType(Type):
    """`ref(a)`: a mutable cell."""

    value: Type

    def __post_init__(self) -> None:
        self._summarise((RefType, self.value._hash), self.value.occurs)


@node
class TypeCall(Type):
    """`List[a]`: an algebraic data type at its arguments, also when it has none."""

    func: Type
    args: tuple[Type, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "args", _tuple(self.args))
        parts = (self.func, *self.args)
        self._summarise((TypeCall, *(p._hash for p in parts)), _occurs_in(parts))


@node
class TypeRelation(Type):
    """A constraint between types: `func(args)`, where the first `num_inputs` are inputs."""

    func: Callable[..., AnyValue]
    args: tuple[Type, ...]
    num_inputs: int
    attrs: AnyValue = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "args", _tuple(self.args))
        key = (TypeRelation, self.func, *(a._hash for a in self.args))
        self._summarise(key, _occurs_in(self.args))


UNIT = TupleType(())
BOOL = TensorType((), "bool")


def equal(a: Type, b: Type) -> bool:
    """Whether two types are the same up to the names of bound type parameters."""
    renamed: dict[Symbol, Dim] = {}
    pending: list[tuple[Type, Type]] = [(a, b)]
    while pending:
        left, right = pending.pop()
        if left is right and not renamed:
            continue
        if type(left) is not type(right) or left._hash != right._hash:
            return False
        match left, right:
            case (TensorType(), TensorType()):
                if left.dtype != right.dtype or len(left.shape) != len(right.shape):
                    return False
                shape = left.shape
                if renamed:
                    shape = tuple(dims.substitute(d, lambda s: renamed.get(s, s)) for d in shape)
                if shape != right.shape:
                    return False
            case (TypeVar(), TypeVar()):
                if renamed.get(left, left) != right:
                    return False
            case (IncompleteType(), IncompleteType()):
                return False
            case (GlobalTypeVar(), GlobalTypeVar()):
                if left.name_hint != right.name_hint:
                    return False
            case (FuncType(), FuncType()):
                if [p.kind for p in left.type_params] != [p.kind for p in right.type_params]:
                    return False
                renamed.update(zip(left.type_params, right.type_params, strict=True))
                if len(left.arg_types) != len(right.arg_types) or len(left.type_constraints) != len(
                    right.type_constraints
                ):
                    return False
                pending.extend(zip(left.arg_types, right.arg_types, strict=True))
                pending.extend(zip(left.type_constraints, right.type_constraints, strict=True))
                pending.append((left.ret_type, right.ret_type))
            case (TypeRelation(), TypeRelation()):
                if left.func is not right.func or left.attrs != right.attrs:
                    return False
                if left.num_inputs != right.num_inputs or len(left.args) != len(right.args):
                    return False
                pending.extend(zip(left.args, right.args, strict=True))
            case _:
                below, beside = tree.children(left), tree.children(right)
                if len(below) != len(beside):
                    return False
                pending.extend(zip(below, beside, strict=True))
    return True


def substitute(ty: Type, bindings: Mapping[TypeVar, Type | Dim]) -> Type:
    """`ty` with type variables replaced: by types, or by dimensions where the kind is ShapeVar."""
    if not bindings or not ty.occurs & Occurs.VARIABLE:
        return ty
    return map_leaves(
        ty,
        lambda leaf: bindings.get(leaf, leaf) if isinstance(leaf, TypeVar) else leaf,
        Occurs.VARIABLE,
    )


def map_leaves(ty: Type, f: Callable[[AnyValue], AnyValue], where: int) -> Type:
    """`ty` with `f` applied to its variables and holes, dimensions included.

    Only what contains something of `where` is entered; the rest is shared with the original.
    """

    def visit(before: Type, after: Type) -> Type:
        if not before.occurs & where:
            return before
        if isinstance(before, TypeVar | IncompleteType):
            return f(before)  # type: ignore[no-any-return]
        if isinstance(before, TensorType):
            shape = tuple(d if type(d) is int else dims.substitute(d, f) for d in before.shape)
            return TensorType(shape, before.dtype, span=before.span)
        return after

    if isinstance(ty, TensorType | TypeVar | IncompleteType):
        return visit(ty, ty)
    return tree.transform(ty, visit)


def is_dynamic(ty: Type) -> bool:
    """Whether a dimension somewhere in `ty` is `Any`."""
    return bool(ty.occurs & Occurs.ANY)
