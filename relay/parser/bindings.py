"""Scoped symbol table: leaving a scope undoes what was bound in it, so entering one is free."""

from __future__ import annotations

from typing import Generic, TypeVar

T = TypeVar("T")


class Bindings(Generic[T]):
    """The current binding of each name, and how to undo it."""

    __slots__ = ("_undo", "current")

    def __init__(self) -> None:
        self.current: dict[str, T] = {}
        self._undo: list[tuple[str, T | None]] = []

    def bind(self, name: str, value: T) -> None:
        """Bind `name` until the scope is left."""
        self._undo.append((name, self.current.get(name)))
        self.current[name] = value

    def enter(self) -> int:
        """Open a scope; the result closes it."""
        return len(self._undo)

    def leave(self, scope: int) -> None:
        """Forget what was bound since `enter` returned `scope`."""
        while len(self._undo) > scope:
            name, before = self._undo.pop()
            if before is None:
                del self.current[name]
            else:
                self.current[name] = before
