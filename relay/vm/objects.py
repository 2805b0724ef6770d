"""Register values besides tensors (NumPy arrays) and scalars (NumPy scalars)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from relay.vm.code import Code


@dataclass(slots=True, eq=False)
class Data:
    """A value of a data type: the number of its constructor, and its flattened fields."""

    tag: int
    fields: tuple[Any, ...] = ()


@dataclass(slots=True, eq=False)
class Closure:
    """A function with the values of its first parameters."""

    code: Code
    captured: tuple[Any, ...]


@dataclass(slots=True, eq=False)
class Cell:
    """The mutable cell of a reference, flattened."""

    contents: tuple[Any, ...] = ()
