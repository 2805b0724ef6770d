"""`@relay.data`: algebraic data types, declared as dataclasses.

    @relay.data
    class Point:                     one constructor, of the same name, with its fields
        x: float
        y: float

    @relay.data
    class Tree(Generic[A]):          several constructors: the decorated classes below it
        pass

    @relay.data
    class Leaf(Tree[A]):
        value: A

    @relay.data
    class Node(Tree[A]):
        left: Tree[A]
        right: Tree[A]

    type Tree[A] { Leaf(A), Node(Tree[A], Tree[A]) }

The classes are frozen dataclasses, so the data of a program can be built in Python. A data type is
closed: its constructors are in the same file, and none can be added once it is in use.
"""

from __future__ import annotations

import builtins
import inspect
import sys
import typing
from collections.abc import Sequence
from dataclasses import MISSING as NO_DEFAULT
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar, dataclass_transform

from relay.errors import FrontendError, RelayError, SourceName, Span
from relay.frontend.python import statics
from relay.frontend.python.source import names_in_text, read
from relay.immutable import frozen
from relay.ir.adt import TypeData
from relay.ir.types import GlobalTypeVar

C = TypeVar("C")
_MARK = "__relay_data__"


@frozen
class Field:
    """A field of a constructor; `annotation` is a Python value or text."""

    name: str
    annotation: Any
    default: Any = statics.MISSING


@dataclass(frozen=True, eq=False)
class Case:
    """A constructor: its name in a program, and its Python class."""

    name: str
    cls: type
    # the type variables of the class -> those of the data type
    renamed: dict[Any, Any] = field(default_factory=dict)

    @property
    def fields(self) -> tuple[Field, ...]:
        return tuple(
            Field(f.name, f.type, statics.MISSING if f.default is NO_DEFAULT else f.default)
            for f in fields(self.cls)
        )


@dataclass(eq=False)
class Declaration:
    """A data type: its class, its type parameters, and its constructors in order."""

    cls: type
    header: GlobalTypeVar
    parameters: tuple[Any, ...] = ()
    below: list[Case] = field(default_factory=list)
    library: str | None = None  # the file of the standard library that defines it
    definition: TypeData | None = None  # once it is in use (`definitions.py`)
    uses: list[type] = field(default_factory=list)  # the data types in its fields, from then on
    around: dict[str, Any] = field(default_factory=dict)  # variables of the enclosing function

    @property
    def name(self) -> str:
        return self.header.name_hint

    @property
    def cases(self) -> Sequence[Case]:
        """The constructors; a class without subclasses is its own."""
        return tuple(self.below) or (Case(self.name, self.cls),)

    def case(self, cls: Any) -> Case | None:
        """The constructor that `cls` stands for."""
        return next((case for case in self.cases if case.cls is cls), None)

    def span(self, case: Case | None = None, name: str = "") -> Span | None:
        """The span of the class, or of a field of it; None when its source cannot be read."""
        return span_of(case.cls if case else self.cls, name)

    def find(self, name: str) -> Any:
        """The value of a name used in the class: a data type may be recursive."""
        own = {self.cls.__name__: self.cls, **{c.cls.__name__: c.cls for c in self.cases}}
        own |= {p.__name__: p for p in self.parameters}
        module = sys.modules.get(self.cls.__module__)
        for names in (own, self.around, vars(module) if module else {}, vars(builtins)):
            if name in names:
                return names[name]
        return statics.MISSING


@dataclass_transform(frozen_default=True, eq_default=False)
def data(cls: type[C]) -> type[C]:
    """Declare a data type, or a constructor of the one that `cls` is derived from."""
    if not isinstance(cls, type):
        raise RelayError(f"relay.data decorates a class, found {cls!r}")
    above = [base for base in cls.__mro__[1:] if _MARK in vars(base)]
    texts = [a for a in inspect.get_annotations(cls).values() if isinstance(a, str)]
    used = set().union(*map(names_in_text, texts))
    variables = statics.variables_around(cls, inspect.currentframe())
    around = {name: value for name, value in variables.items() if name in used}
    made = dataclass(frozen=True, eq=False)(cls)
    if not above:
        new = Declaration(made, GlobalTypeVar(made.__name__), _parameters(made))
        new.around.update(around)
        declare(made, new)
        return made
    found: Declaration = vars(above[0])[_MARK]
    found.around.update(around)
    _check_case(made, found, above)
    found.below.append(Case(made.__name__, made, _renamed(made, found)))
    declare(made, found)
    return made


def declare(cls: type, declaration: Declaration) -> None:
    """Record the data type that `cls` belongs to."""
    setattr(cls, _MARK, declaration)


def declaration_of(cls: Any) -> Declaration | None:
    """The data type that a class, or an instance of one, belongs to; None when there is none."""
    if not isinstance(cls, type):
        cls = type(cls)
    found: Declaration | None = vars(cls).get(_MARK)
    return found


def is_case(cls: Any) -> bool:
    """Whether `cls` is a constructor, not only a data type."""
    found = declaration_of(cls) if isinstance(cls, type) else None
    return found is not None and found.case(cls) is not None


def _check_case(cls: type, declaration: Declaration, above: list[type]) -> None:
    name, parent = cls.__name__, declaration.name
    if above[0] is not declaration.cls:
        _refuse(
            f"`{name}` is derived from `{above[0].__name__}`, which is itself a constructor",
            cls,
            f"derived from `{parent}`",
        )
    if declaration.definition is not None:
        _refuse(f"`{parent}` is in use already: no constructor can be added", cls)
    if cls.__module__ != declaration.cls.__module__:
        _refuse(
            f"`{parent}` is closed: its constructors stand in the file that declares it",
            cls,
            f"a class of {declaration.cls.__module__}",
            f"one of {cls.__module__}",
        )


def _renamed(cls: type, declaration: Declaration) -> dict[Any, Any]:
    """The type variables of a constructor's class, as those of the data type."""
    for base in getattr(cls, "__orig_bases__", ()):
        if typing.get_origin(base) is declaration.cls:
            given = typing.get_args(base)
            if len(set(given)) < len(given) or not all(isinstance(a, TypeVar) for a in given):
                _refuse(
                    f"`{cls.__name__}` must be a constructor at every type",
                    cls,
                    f"derived from `{declaration.name}` of different type variables",
                    str(base),
                )
            return dict(zip(given, declaration.parameters, strict=True))
    if declaration.parameters:
        names = ", ".join(p.__name__ for p in declaration.parameters)
        _refuse(
            f"`{cls.__name__}` does not say the type parameters of `{declaration.name}`",
            cls,
            f"class {cls.__name__}({declaration.name}[{names}])",
        )
    return {}


def _parameters(cls: type) -> tuple[Any, ...]:
    return tuple(getattr(cls, "__parameters__", ()))


def _refuse(message: str, cls: type, expected: str | None = None, found: str | None = None) -> None:
    raise FrontendError.of(message, span_of(cls), expected, found)


def span_of(cls: type, name: str = "") -> Span | None:
    """The span of a class, or of its annotation of a name; None when there is no source."""
    try:
        source, node = read(cls)
    except FrontendError:
        module = inspect.getmodule(cls)
        return Span(SourceName(f"{module.__name__ if module else '?'}.{cls.__qualname__}"))
    for statement in getattr(node, "body", ()):
        if name and getattr(getattr(statement, "target", None), "id", None) == name:
            return source.span(statement)
    span = source.span(node)
    return Span(span.source_name, span.line, span.line, span.column, span.column + len("class"))
