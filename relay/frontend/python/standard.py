"""The data types of the prelude as Python classes, found as `relay.prelude.List`, `.Cons`, ….

In a function, `list[A]` is `List[A]`, `[a, b]` builds one and `case [x, *rest]` destructures one;
`A | None` is `Option[A]`. So these classes are seldom needed by name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from relay.frontend.python.declarations import Case, Declaration, declaration_of, declare
from relay.ir.types import GlobalTypeVar

A = TypeVar("A")


class List(Generic[A]):
    """`type List[A] { Cons(A, List[A]), Nil }`"""


@dataclass(frozen=True, eq=False)
class Cons(List[A]):
    """A list of at least one element."""

    head: A
    tail: List[A]


@dataclass(frozen=True, eq=False)
class Nil(List[A]):
    """The empty list."""


class Option(Generic[A]):
    """`type Option[A] { Some(A), None }`"""


@dataclass(frozen=True, eq=False)
class Some(Option[A]):
    """A value that is there."""

    value: A


@dataclass(frozen=True, eq=False)
class Nothing(Option[A]):
    """No value; Python's None stands for it."""


class Tree(Generic[A]):
    """`type Tree[A] { Rose(A, List[Tree[A]]) }`"""


@dataclass(frozen=True, eq=False)
class Rose(Tree[A]):
    """A value and the trees below it."""

    value: A
    children: List[Tree[A]]


def _enter(cls: type, *cases: tuple[str, type]) -> None:
    below = [Case(name, case) for name, case in cases]
    found = Declaration(cls, GlobalTypeVar(cls.__name__), (A,), below, "prelude.rly")
    for member in (cls, *(case for _, case in cases)):
        declare(member, found)


_enter(List, ("Cons", Cons), ("Nil", Nil))
_enter(Option, ("Some", Some), ("None", Nothing))
_enter(Tree, ("Rose", Rose))

CLASSES: dict[str, Any] = {
    cls.__name__: cls for cls in (List, Cons, Nil, Option, Some, Nothing, Tree, Rose)
}


def is_standard(cls: Any, name: str) -> bool:
    """Whether `cls` belongs to that data type of the prelude."""
    found = declaration_of(cls)
    return found is not None and found.library is not None and found.name == name
