"""Algebraic data types: `type List[A] { Cons(A, List[A]), Nil }`."""

from __future__ import annotations

import zlib

from relay.errors import RelayError
from relay.ir.expr import Constructor
from relay.ir.types import FuncType, GlobalTypeVar, Occurs, Type, TypeCall, TypeVar
from relay.tree import node


@node
class TypeData(Type):
    """A definition: the name, its parameters and its constructors. `extern`: defined elsewhere."""

    header: GlobalTypeVar
    type_vars: tuple[TypeVar, ...] = ()
    constructors: tuple[Constructor, ...] = ()
    extern: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "type_vars", tuple(self.type_vars or ()))
        object.__setattr__(self, "constructors", tuple(self.constructors or ()))
        self._summarise((TypeData, self.header.name_hint), Occurs.NOTHING)
        for index, constructor in enumerate(self.constructors):
            if constructor.belong_to != self.header:
                raise RelayError(
                    f"constructor `{constructor.name_hint}` belongs to "
                    f"`{constructor.belong_to.name_hint}`, not to `{self.header.name_hint}`"
                )
            object.__setattr__(constructor, "tag", tag_of(self.header.name_hint, index))

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return object.__hash__(self)


def tag_of(type_name: str, index: int) -> int:
    """The run-time tag of a constructor: a byte of the type's name, then the position."""
    return (zlib.crc32(type_name.encode()) & 0x7F) << 24 | index


def constructor_type(constructor: Constructor, definition: TypeData) -> FuncType:
    """`fn [A](A, List[A]) -> List[A]`: a constructor as a function."""
    result = TypeCall(definition.header, definition.type_vars)
    return FuncType(constructor.inputs, result, definition.type_vars)
