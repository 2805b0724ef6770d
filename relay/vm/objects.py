"""Register values besides tensors (NumPy arrays) and scalars (NumPy scalars)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from relay.vm.code import ThreadedCode


@dataclass(slots=True, eq=False)
class Data:
    """A value of a data type: the number of its constructor, and its flattened fields."""

    tag: int
    fields: tuple[Any, ...] = ()


@dataclass(slots=True, eq=False)
class VMClosure:
    """A function with the values of its first parameters."""

    code: ThreadedCode
    captured: tuple[Any, ...]


@dataclass(slots=True, eq=False)
class VMCell:
    """The mutable cell of a reference, flattened."""

    contents: tuple[Any, ...] = ()
