"""What registers hold, besides tensors (NumPy arrays) and scalars (NumPy scalars)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from relay.vm.code import Code


class Data:
    """A value of a data type: the number of its constructor, and its fields one by one."""

    __slots__ = ("fields", "tag")

    def __init__(self, tag: int, fields: tuple[Any, ...] = ()) -> None:
        self.tag = tag
        self.fields = fields


class Closure:
    """A function with the values of its first parameters."""

    __slots__ = ("captured", "code")

    def __init__(self, code: Code, captured: tuple[Any, ...]) -> None:
        self.code = code
        self.captured = captured


class Cell:
    """What a reference leads to."""

    __slots__ = ("contents",)

    def __init__(self, contents: tuple[Any, ...] = ()) -> None:
        self.contents = contents
