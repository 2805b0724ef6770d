"""The error that names everything of a model that cannot be translated, not only the first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from relay.errors import FrontendError
from relay.frontend.common.naming import quoted

SHOWN = 5  # names of nodes per operator


def unsupported(found: Mapping[str, Sequence[str]], hint: str | None) -> FrontendError:
    """The error about kinds of things, each with the names of the nodes where it occurs."""
    lines = [f"{kind}, {_where(names)}" for kind, names in sorted(found.items())]
    text = "the model has what cannot be translated:\n    " + "\n    ".join(lines)
    return FrontendError.of(text, hint=hint)


def _where(names: Sequence[str]) -> str:
    some = ", ".join(map(quoted, names[:SHOWN]))
    more = ", …" if len(names) > SHOWN else ""
    return f"{len(names)} time{'s' if len(names) > 1 else ''}: {some}{more}"
