"""Names of a package that live elsewhere, imported on first use (PEP 562).

__all__, __getattr__, __dir__ = late_names("relay.ir", {"relay.ir.module": ["IRModule"]})
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any


def late_names(
    package: str, homes: Mapping[str, Sequence[str]]
) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """`__all__`, `__getattr__` and `__dir__` of a package, whose names `homes` has by their
    modules; those of the package itself are its modules."""
    where = {name: home for home, names in homes.items() for name in names}

    def get(name: str) -> Any:
        home = where.get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if home == package:
            return importlib.import_module(f"{package}.{name}")
        value = getattr(importlib.import_module(home), name)
        setattr(sys.modules[package], name, value)
        return value

    names = sorted(where)
    return names, get, lambda: list(names)
