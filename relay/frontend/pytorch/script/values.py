"""What the names of a program stand for.

3, 2.5, True, "text", None, n + 1       what is known: Python's values, and dimensions
Number(%n)                              a number that the program computes
(a, b)                                  a tuple
Text("too long: {}", …)                 a message with numbers of the run in it
Module                                  a module of the model, known by identity
Cell                                    a tensor, a list, a dictionary, an object: what it holds
                                        is looked up in a `Path`, since it may change
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from relay.immutable import frozen
from relay.ir.expr import Expr

if TYPE_CHECKING:
    from relay.frontend.pytorch.script.forms import Form


@frozen
class Number:
    """A number that the program computes: a scalar of int64, float64 or bool."""

    value: Expr
    dtype: str


@frozen
class Text:
    """A message with numbers that a run computes, shown as `…`; the first of them."""

    text: str
    found: Expr | None


class Nothing:
    """A value that is never used, of any type."""


NOTHING = Nothing()


class Module:
    """A module of the model: its attributes are looked up by name."""

    def __init__(self, handle: Any, name: str) -> None:
        self.handle = handle  # torch's
        self.name = name

    def path(self, attribute: str) -> str:
        return f"{self.name}.{attribute}" if self.name else attribute


@frozen
class Attribute:
    """A place of the model: an attribute of a module."""

    module: Module
    name: str

    @property
    def path(self) -> str:
        return self.module.path(self.name)


class Cell:
    """Something with an identity, whose content is looked up in a path.

    `origins` are the cells that it may be, or share memory with; `holds` are those of the elements
    that it holds by value. Where one of them is changed, what it holds is no longer known.
    """

    what = "value"

    def __init__(
        self, origins: frozenset[Cell] = frozenset(), holds: frozenset[Cell] = frozenset()
    ) -> None:
        self.origins: frozenset[Cell] = origins | {self}
        self.holds = holds


class TensorCell(Cell):
    """A tensor; holds an expression, `Complex`, a number (`Held`) or a `View`."""

    what = "tensor"


class ListCell(Cell):
    """A list; holds a tuple of values, or a `Chain`."""

    what = "list"


class DictCell(Cell):
    """A dictionary; holds a mapping from known keys to values."""

    what = "dictionary"


class ObjectCell(Cell):
    """An object of a scripted class; holds a mapping from attributes to values."""

    what = "object"

    def __init__(
        self,
        name: str,
        origins: frozenset[Cell] = frozenset(),
        holds: frozenset[Cell] = frozenset(),
    ) -> None:
        super().__init__(origins, holds)
        self.name = name


class UnionCell(Cell):
    """One of several forms, as a run decides; holds `Cases`, or `Known` where it is decided."""

    what = "value"


@frozen
class Held:
    """A tensor without axes that holds a known number or dimension."""

    number: Any


@frozen
class View:
    """A part of another tensor: how it is made, and how the other one gets new elements."""

    base: TensorCell
    make: Any  # (path, base's expression) -> expression
    put: Any  # (path, base's expression, new expression) -> the base's new expression


@frozen
class Chain:
    """A list of a length that a run knows, the last element first."""

    elements: Expr
    count: Expr
    form: Form


@frozen
class Cases:
    """A value of a data type with one constructor for each form."""

    value: Expr
    forms: tuple[Form, ...]


@frozen
class Known:
    """A value that is known in a case."""

    value: Any


@frozen
class Stale:
    """The content of a cell that may have changed: why."""

    reason: str
