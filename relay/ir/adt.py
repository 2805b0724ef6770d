"""Algebraic data types: `type List[A] { Cons(A, List[A]), Nil }`, and what takes them apart."""

from __future__ import annotations

import zlib

from relay.errors import RelayError
from relay.ir.expr import Clause as Clause
from relay.ir.expr import Constructor as Constructor
from relay.ir.expr import Match as Match
from relay.ir.expr import Pattern as Pattern
from relay.ir.expr import PatternConstructor as PatternConstructor
from relay.ir.expr import PatternTuple as PatternTuple
from relay.ir.expr import PatternVar as PatternVar
from relay.ir.expr import PatternWildcard as PatternWildcard
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
        if not isinstance(self.header, GlobalTypeVar):
            raise RelayError(
                f"a data type is named by a relay.GlobalTypeVar, found {self.header!r}"
            )
        name = self.header.name_hint
        object.__setattr__(self, "type_vars", tuple(self.type_vars or ()))
        object.__setattr__(self, "constructors", tuple(self.constructors or ()))
        self._summarize((TypeData, name), Occurs.NOTHING)
        for part, kind in (("type_vars", TypeVar), ("constructors", Constructor)):
            for given in getattr(self, part):
                if not isinstance(given, kind):
                    raise RelayError(
                        f"the {part} of data type `{name}` must be of class "
                        f"relay.{kind.__name__}, found {given!r}"
                    )
        for index, constructor in enumerate(self.constructors):
            if constructor.belong_to != self.header:
                raise RelayError(
                    f"constructor `{constructor.name_hint}` belongs to "
                    f"`{constructor.belong_to.name_hint}`, not to `{name}`"
                )
            object.__setattr__(constructor, "tag", tag_of(name, index))

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
