"""Names that are in a file: they may be anything, and errors show them on one line all the same."""

from __future__ import annotations

from collections.abc import Iterable

LONGEST = 80


def shown(name: str) -> str:
    """A name in quotes; what a terminal would take for something else is escaped."""
    start = name if len(name) <= LONGEST else name[: LONGEST - 1] + "…"
    plain = "".join(one if one.isprintable() else ascii(one)[1:-1] for one in start)
    return f"`{plain}`"


def repeated(names: Iterable[str]) -> str | None:
    """A name that is there twice."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None
