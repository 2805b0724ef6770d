"""Where bytes of rows go, and where they are read again."""

from __future__ import annotations

from collections.abc import Callable

from relay import te
from relay.immutable import frozen

WINDOW = 1 << 15  # how far back bytes that are compressed by deflate refer to


@frozen
class Sink:
    """`put(place, byte)` writes one; `get(place)` reads one that is no further back than WINDOW."""

    put: Callable[[te.Expr, te.Expr], None]
    get: Callable[[te.Expr], te.Expr]

    def repeat(self, b: te.Builder, place: te.Expr, distance: te.Expr, count: te.Expr) -> None:
        """So many bytes as stand so far before the place; they may overlap."""
        with b.loop(count) as i:
            at = b.let(place + i)
            self.put(at, self.get(at - distance))
