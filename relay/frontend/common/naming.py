"""Names from files in errors."""

from __future__ import annotations

from collections.abc import Iterable

LONGEST = 80


def quoted(name: str) -> str:
    """A name in quotes, shortened, with unprintable characters escaped."""
    start = name if len(name) <= LONGEST else name[: LONGEST - 1] + "…"
    plain = "".join(one if one.isprintable() else ascii(one)[1:-1] for one in start)
    return f"`{plain}`"


def repeated(names: Iterable[str]) -> str | None:
    """The first name that occurs twice."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None
