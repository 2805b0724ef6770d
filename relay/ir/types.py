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

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from operator import index
from typing import Any as AnyValue
from typing import ClassVar

from relay import dtypes, tree
from relay.errors import AnySpan, RelayError
from relay.ir import dims
from relay.ir.dims import Any, Dim, Symbol
from relay.tree import Node, Steps, node


class TypeKind(IntEnum):
    """What a type variable may stand for."""

    Type = 0
    ShapeVar = 1
    BaseType = 2
    Constraint = 4
    AdtHandle = 5
    TypeData = 6


class Occurs:
    """Flags for what occurs somewhere inside a type; plain integers, for speed."""

    NOTHING = 0
    HOLE = 1
    VARIABLE = 2
    ANY = 4
    BINDER = 8  # a function type with type parameters


@node
class Type(Node):
    """The root of all types."""

    family: ClassVar[type[Node]]
    span: AnySpan | None = field(default=None, kw_only=True)
    occurs: int = field(default=Occurs.NOTHING, init=False)
    _hash: int = field(default=0, init=False)

    def _repr_html_(self) -> str:
        """What notebooks show."""
        from relay.viz import notebook

        return notebook.plain(self)

    def __reduce__(self) -> AnyValue:
        """Python pickles it as JSON: programs nest deeper than its stack."""
        from relay.serialize import load_json, save_json

        return load_json, (save_json(self),)

    def _summarize(self, key: object, occurs: int) -> None:
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


def _types(values: AnyValue, where: str, kind: type[Type] = Type) -> tuple[AnyValue, ...]:
    """`values` as a tuple of types; an error that says what else was found in `where`."""
    if type(values) is not tuple:
        if isinstance(values, Type) or not isinstance(values, Iterable):
            raise RelayError(f"expected several of {kind.__name__} in {where}, found {values!r}")
        values = tuple(values)
    for value in values:
        if not isinstance(value, kind):
            raise RelayError(f"expected a {kind.__name__} in {where}, found {value!r}")
    return values  # type: ignore[no-any-return]


def _kind(kind: AnyValue) -> TypeKind:
    try:
        return TypeKind(kind)
    except ValueError:
        raise RelayError(f"{kind!r} is no kind; it is one of relay.TypeKind") from None


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
        if type(self.kind) is not TypeKind:
            object.__setattr__(self, "kind", _kind(self.kind))
        self._summarize((TypeVar, self.kind), Occurs.VARIABLE)

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
    """A named dynamic dimension."""
    return TypeVar(name, TypeKind.ShapeVar)


@node
class IncompleteType(Type, Symbol):
    """A hole for inference to fill, equal only to itself. Of kind ShapeVar it is a dimension."""

    kind: TypeKind = TypeKind.Type

    def __post_init__(self) -> None:
        if type(self.kind) is not TypeKind:
            object.__setattr__(self, "kind", _kind(self.kind))
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
        self._summarize((GlobalTypeVar, self.name_hint), Occurs.NOTHING)

    @property
    def name(self) -> str:
        return self.name_hint

    def __call__(self, *args: Type) -> TypeCall:
        return TypeCall(self, args)


def as_dim(value: object) -> Dim:
    """`value` as a dimension."""
    if type(value) is int or isinstance(value, Symbol):
        return value
    try:
        if not isinstance(value, bool):
            return int(index(value))  # type: ignore[arg-type]
    except TypeError:
        pass
    raise RelayError(
        f"a dimension must be an integer, a shape variable or relay.Any(), found {value!r}"
    )


@node
class TensorType(Type):
    """`Tensor[(d, …), dtype]`; a scalar has shape ()."""

    shape: tuple[Dim, ...]
    dtype: str = "float32"

    def __post_init__(self) -> None:
        shape = self.shape
        if type(shape) is not tuple or any(type(d) is not int for d in shape):
            if not isinstance(shape, Iterable):
                hint = f"; try ({shape},)" if isinstance(shape, int | Symbol) else ""
                raise RelayError(f"a shape is a tuple of dimensions, found {shape!r}{hint}")
            shape = tuple(as_dim(d) for d in shape)
            object.__setattr__(self, "shape", shape)
        if type(self.dtype) is not str or dtypes.find(self.dtype) is not self.dtype:
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
        self._summarize(tuple(key), occurs)

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
        object.__setattr__(self, "fields", _types(self.fields, "a tuple type"))
        self._summarize((TupleType, *(f._hash for f in self.fields)), _occurs_in(self.fields))


@node
class FuncType(Type):
    """`fn [A, …](a, …) -> r`; the type parameters are bound here, and compared up to renaming."""

    arg_types: tuple[Type, ...]
    ret_type: Type
    type_params: tuple[TypeVar, ...] = ()
    type_constraints: tuple[TypeRelation, ...] = ()

    def __post_init__(self) -> None:
        where = "a function type"
        params = _types(self.type_params or (), where, TypeVar)
        constraints = _types(self.type_constraints or (), where, TypeRelation)
        object.__setattr__(self, "arg_types", _types(self.arg_types, where))
        object.__setattr__(self, "type_params", params)
        object.__setattr__(self, "type_constraints", constraints)
        parts = (*self.arg_types, *_types((self.ret_type,), where))
        self._summarize(
            (FuncType, len(self.type_params), *(p._hash for p in parts)),
            _occurs_in((*parts, *constraints)) | (Occurs.BINDER if params else Occurs.NOTHING),
        )


@node
class RefType(Type):
    """`ref(a)`: a mutable cell."""

    value: Type

    def __post_init__(self) -> None:
        _types((self.value,), "a reference type")
        self._summarize((RefType, self.value._hash), self.value.occurs)


@node
class TypeCall(Type):
    """`List[a]`: an algebraic data type at its arguments, also when it has none."""

    func: Type
    args: tuple[Type, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "args", _types(self.args or (), "the arguments of a type call"))
        parts = (*_types((self.func,), "a type call"), *self.args)
        self._summarize((TypeCall, *(p._hash for p in parts)), _occurs_in(parts))


@node
class TypeRelation(Type):
    """A constraint between types: `func(args)`, where the first `num_inputs` are inputs."""

    func: Callable[..., AnyValue]
    args: tuple[Type, ...]
    num_inputs: int
    attrs: AnyValue = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "args", _types(self.args, "a type relation"))
        key = (TypeRelation, self.func, *(a._hash for a in self.args))
        self._summarize(key, _occurs_in(self.args))


UNIT = TupleType(())
BOOL = TensorType((), "bool")


@dataclass(slots=True)
class _ScopeEnd:
    """The end of the scope of a function type's parameters, and the bindings they shadowed."""

    scope: int
    hidden: list[tuple[dict[Symbol, Symbol], TypeVar, Symbol | None]]


def equal(a: Type, b: Type) -> bool:
    """Whether two types are the same up to the names of bound type parameters.

    A pair met again in the same scope is not compared again, so the time is linear for types that
    share parts.
    """
    if isinstance(a, TensorType) and isinstance(b, TensorType):
        return a.dtype == b.dtype and a.shape == b.shape
    # bound parameters of either side are mapped to the same fresh variable
    ours: dict[Symbol, Symbol] = {}
    theirs: dict[Symbol, Symbol] = {}
    scope = scopes = 0
    seen: set[tuple[int, int, int]] = set()
    pending: list[tuple[AnyValue, AnyValue] | _ScopeEnd] = [(a, b)]
    while pending:
        current = pending.pop()
        if isinstance(current, _ScopeEnd):
            scope = current.scope
            for names, param, before in current.hidden:
                names.pop(param, None)
                if before is not None:
                    names[param] = before
            continue
        left, right = current
        if left is right and not (ours and left.occurs & Occurs.VARIABLE):
            continue
        if type(left) is not type(right) or left._hash != right._hash:
            return False
        if isinstance(left, TensorType):
            if left.dtype != right.dtype:
                return False
            if _renamed(left.shape, ours) != _renamed(right.shape, theirs):
                return False
            continue
        if isinstance(left, GlobalTypeVar):
            if left.name_hint != right.name_hint:
                return False
            continue
        if isinstance(left, Symbol):
            if ours.get(left, left) != theirs.get(right, right):
                return False
            continue
        pair = (id(left), id(right), scope)
        if pair in seen:
            continue
        seen.add(pair)
        if isinstance(left, FuncType) and (left.type_params or right.type_params):
            params, others = left.type_params, right.type_params
            if [p.kind for p in params] != [p.kind for p in others]:
                return False
            hidden = [(ours, p, ours.get(p)) for p in params]
            hidden += [(theirs, p, theirs.get(p)) for p in others]
            pending.append(_ScopeEnd(scope, hidden))
            scope = scopes = scopes + 1
            stand_ins = [TypeVar(p.name_hint, p.kind) for p in params]
            ours.update(zip(params, stand_ins, strict=True))
            theirs.update(zip(others, stand_ins, strict=True))
        elif isinstance(left, TypeRelation):
            if left.func is not right.func or left.attrs != right.attrs:
                return False
            if left.num_inputs != right.num_inputs:
                return False
        below, beside = tree.children(left), tree.children(right)
        if len(below) != len(beside):
            return False
        pending.extend(zip(below, beside, strict=True))
    return True


def _renamed(shape: tuple[Dim, ...], names: dict[Symbol, Symbol]) -> tuple[Dim, ...]:
    if not names:
        return shape
    return tuple(dims.substitute(d, lambda s: names.get(s, s)) for d in shape)


def substitute(ty: Type, bindings: Mapping[TypeVar, Type | Dim]) -> Type:
    """`ty` with type variables replaced: by types, or by dimensions where the kind is ShapeVar.

    Capture-avoiding: type parameters bound inside are neither replaced nor confused with others.
    """
    if not bindings or not ty.occurs & Occurs.VARIABLE:
        return ty
    if ty.occurs & Occurs.BINDER and _clash(ty, bindings):
        return tree.run(_substitute_apart(ty, bindings))
    return map_leaves(
        ty,
        lambda leaf: bindings.get(leaf, leaf) if isinstance(leaf, TypeVar) else leaf,
        Occurs.VARIABLE,
    )


def _clash(ty: Type, bindings: Mapping[TypeVar, Type | Dim]) -> bool:
    """Whether a parameter bound inside `ty` is replaced, or occurs in a replacement."""
    bound: set[Symbol] = set()
    for part in tree.postorder(ty):
        if isinstance(part, FuncType):
            bound.update(part.type_params)
    if not bound.isdisjoint(bindings):
        return True
    return any(not bound.isdisjoint(_symbols(value)) for value in bindings.values())


def _symbols(value: Type | Dim) -> Iterator[Symbol]:
    if not isinstance(value, Type):
        yield from dims.atoms(value)
    elif value.occurs & Occurs.VARIABLE:
        for part in tree.postorder(value):
            if isinstance(part, TensorType):
                yield from (atom for dim in part.shape for atom in dims.atoms(dim))
            elif isinstance(part, Symbol):
                yield part


def _substitute_apart(ty: Type, bindings: Mapping[TypeVar, Type | Dim]) -> Steps[Type]:
    """Substitution with fresh parameters for every function type."""
    if not ty.occurs & Occurs.BINDER:
        return substitute(ty, bindings)
    if isinstance(ty, FuncType):
        fresh = {p: TypeVar(p.name_hint, p.kind, span=p.span) for p in ty.type_params}
        bindings = {**bindings, **fresh}
    parts: list[Type] = []
    for child in tree.children(ty):
        parts.append((yield _substitute_apart(child, bindings)))
    return tree.rebuild(ty, parts)


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
    """Whether a dimension somewhere in `ty` is unknown (`Any`)."""
    return bool(ty.occurs & Occurs.ANY)
