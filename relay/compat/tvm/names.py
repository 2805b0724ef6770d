"""Names of tvm, and where this package has what they mean.

`module_names` makes the `__getattr__` of a module: names found elsewhere, names that something else
replaces, each with an error that says what, and a suggestion for all others.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any

from relay.errors import did_you_mean


class ReplacedName(AttributeError):
    """A name of tvm that has no counterpart here."""


def module_names(
    module: str, found: Mapping[str, str], replaced: Mapping[str, str] | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a module: `found` has `package` or `package:name` for each
    name, `replaced` what to use instead."""

    def get(name: str) -> Any:
        if name in found:
            home, _, attribute = found[name].partition(":")
            value = importlib.import_module(home)
            return getattr(value, attribute) if attribute else value
        if replaced and name in replaced:
            raise ReplacedName(f"{module}.{name} is not part of Relay: {replaced[name]}")
        hint = did_you_mean(name, found)
        raise AttributeError(f"module '{module}' has no attribute {name!r}; {hint or 'see dir()'}")

    return get, lambda: sorted(found)
