"""The text form of types and of data type definitions.

    Tensor[(n, 2 * n + 1, ?), float32]      float32 alone is a scalar tensor
    (A, List[A])    ref(A)    fn [A, n: Shape](A, Tensor[(n), int32]) -> A    _

Type variables are known by identity, so two of the same name get two names. A data type is known
by its name, which is quoted where a variable or a keyword has it too.

Types share parts and text does not, so text may be exponentially longer. A type of more than
`MAX_TEXT` characters is written `_` in a program, for inference to find again; shown by itself, a
type is cut off after `MAX_SHOWN`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from relay import dtypes
from relay.immutable import frozen
from relay.ir import dims
from relay.ir.adt import TypeData
from relay.ir.dims import Dim, Symbol
from relay.ir.names import KEYWORDS, UniqueNames, as_word, spell
from relay.ir.types import (
    FuncType,
    GlobalTypeVar,
    IncompleteType,
    RefType,
    TensorType,
    TupleType,
    Type,
    TypeCall,
    TypeKind,
    TypeRelation,
    TypeVar,
)

# What else a word in a type can mean.
RESERVED: Final = KEYWORDS | {"Tensor", "Shape", "min", "max", "meta", "where"}

KIND_NAMES: Final = {
    TypeKind.Type: "Type",
    TypeKind.ShapeVar: "Shape",
    TypeKind.BaseType: "BaseType",
    TypeKind.Constraint: "Constraint",
    TypeKind.AdtHandle: "AdtHandle",
    TypeKind.TypeData: "TypeData",
}


MAX_TEXT: Final = 1_000_000  # characters of one type in a program
MAX_SHOWN: Final = 20_000  # and by itself


def type_text(ty: Type) -> str:
    """`ty` as text; a very long one ends in `…`."""
    if isinstance(ty, TypeData):
        return definition_text(ty)
    return TypeWriter().brief(ty, MAX_SHOWN)


class TypeWriter:
    """Writes the types of one program, in which every type variable has one name."""

    def __init__(self) -> None:
        self._names = UniqueNames(RESERVED)
        self._variables: dict[TypeVar, str] = {}
        self._data_types: dict[str, str] = {}
        self._texts: dict[Type, str] = {}

    def text(self, ty: Type) -> str:
        """`ty` in full, or `_` where that would be too long for a text."""
        if (known := self._texts.get(ty)) is None:
            started = self._start(ty, MAX_TEXT)
            known = self._texts[ty] = "_" if len(started) > MAX_TEXT else started
        return known

    def brief(self, ty: Type, limit: int) -> str:
        """`ty`, cut off after `limit` characters."""
        started = self._start(ty, limit)
        return started[:limit] + "…" if len(started) > limit else started

    def is_longer(self, ty: Type, limit: int) -> bool:
        """Whether the text of `ty` has more than `limit` characters; written only that far."""
        return len(self._start(ty, limit)) > limit

    def _start(self, ty: Type, limit: int) -> str:
        """The text of `ty` up to the piece that reaches beyond `limit`."""
        if (known := self._texts.get(ty)) is not None and known != "_":
            return known
        size = 0
        pieces = []
        for piece in self._write(ty):
            pieces.append(piece)
            size += len(piece)
            if size > limit:
                return "".join(pieces)
        return self._texts.setdefault(ty, "".join(pieces))

    def argument(self, argument: Type | Dim) -> str:
        """A type argument of a call, which is a dimension where the parameter is one."""
        if isinstance(argument, Type):
            return self.text(argument)
        text = self._dimension(argument)
        return text if isinstance(argument, int | dims.Any) else f"Shape({text})"

    def parameters(self, params: Sequence[TypeVar]) -> str:
        """`[A, n: Shape]`, or nothing."""
        if not params:
            return ""
        return "[" + ", ".join(self.declaration(p) for p in params) + "]"

    def declaration(self, param: TypeVar) -> str:
        """`A` or `n: Shape`."""
        name = self.name(param)
        return name if param.kind is TypeKind.Type else f"{name}: {KIND_NAMES[param.kind]}"

    def name(self, variable: TypeVar) -> str:
        """The one name of `variable`."""
        if variable not in self._variables:
            self._variables[variable] = self._names.fresh(_word_for(variable))
        return self._variables[variable]

    def data_type(self, name: str) -> str:
        """The name of a data type; no variable gets the same one from here on."""
        if name not in self._data_types:
            reserved = dtypes.is_dtype(name) or name in self._names.taken or "." in name
            self._data_types[name] = spell(name, (name,) if reserved else ())
            self._names.taken.add(name)
        return self._data_types[name]

    def _write(self, ty: Type) -> Iterable[str]:
        pending: list[str | Type | _Unbind] = [ty]
        while pending:
            current = pending.pop()
            match current:
                case str():
                    yield current
                case TensorType():
                    yield self._tensor(current)
                case TypeVar():
                    yield self.name(current)
                case IncompleteType():
                    yield "_"
                case GlobalTypeVar():
                    yield self.data_type(current.name_hint)
                case TupleType(fields=fields):
                    last = ",)" if len(fields) == 1 else ")"
                    pending.extend(delimited("(", fields, last))
                case RefType(value=value):
                    pending.extend((")", value, "ref("))
                case TypeCall(func=func, args=args):
                    if args:
                        pending.extend(delimited("[", args, "]"))
                    pending.append(func)
                case TypeRelation(func=func, args=args):
                    pending.extend(delimited("(", args, ")"))
                    pending.append(getattr(func, "__name__", "relation"))
                case FuncType():
                    yield "fn "
                    bound = [p for p in current.type_params if p not in self._variables]
                    yield self.parameters(current.type_params)
                    if bound:
                        pending.append(_Unbind(bound))
                    if current.type_constraints:
                        pending.extend(delimited(" where ", current.type_constraints, ""))
                    pending.extend((current.ret_type, " -> "))
                    pending.extend(delimited("(", current.arg_types, ")"))
                case _Unbind():
                    # the names of a function type's own parameters are free again after it
                    for variable in current.variables:
                        self._names.taken.discard(self._variables.pop(variable))
                case _:
                    yield f"<{type(current).__name__}>"

    def _tensor(self, ty: TensorType) -> str:
        if not ty.shape:
            return ty.dtype
        shape = ", ".join(str(d) if type(d) is int else self._dimension(d) for d in ty.shape)
        return f"Tensor[({shape}), {ty.dtype}]"

    def _dimension(self, dim: Dim) -> str:
        return dims.render(dim, self._symbol)

    def _symbol(self, symbol: Symbol) -> str:
        return self.name(symbol) if isinstance(symbol, TypeVar) else str(symbol)


@frozen
class _Unbind:
    """Marks where the variables that a function type binds go out of scope."""

    variables: list[TypeVar]


def delimited(opening: str, parts: Sequence[Any], closing: str) -> list[Any]:
    """`(a, b)` as pieces to push on a stack, last one first."""
    pieces: list[Any] = [closing]
    for part in reversed(parts):
        pieces += (part, ", ")
    return [*(pieces[:-1] if parts else pieces), opening]


def _word_for(variable: TypeVar) -> str:
    word = as_word(variable.name_hint, "T" if variable.kind is TypeKind.Type else "n")
    return word + "_" if dtypes.is_dtype(word) else word


def definition_text(definition: TypeData) -> str:
    """`type List[A] { … }`, one constructor a line."""
    writer = TypeWriter()
    head = "extern type " if definition.extern else "type "
    head += writer.data_type(definition.header.name_hint)
    head += writer.parameters(definition.type_vars)
    if not definition.constructors:
        return head if definition.extern else head + " {}"
    lines = [head + " {"]
    for constructor in definition.constructors:
        fields = ", ".join(writer.text(ty) for ty in constructor.inputs)
        name = spell(constructor.name_hint)
        lines.append(f"  {name}({fields})," if fields else f"  {name},")
    return "\n".join((*lines, "}"))
