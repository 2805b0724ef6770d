"""Tables of exporters, one per family of operators.

table = Exporters()
@table("nn.relu")
def relu(step, data): …
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import cache
from pkgutil import iter_modules
from typing import Any, TypeVar

# (step: `relay.export.onnx.step.Step`, *arguments) -> a name, or a list of names
Exporter = Callable[..., Any]
Writer = TypeVar("Writer", bound=Exporter)


class Exporters(dict[str, Exporter]):
    """Exporters by the name of the operator."""

    def __call__(self, *names: str) -> Callable[[Writer], Writer]:
        """A decorator: the function exports the operators of these names."""

        def enter(exporter: Writer) -> Writer:
            self.update(dict.fromkeys(names, exporter))
            return exporter

        return enter


@cache
def built_in() -> dict[str, Exporter]:
    """The exporters of all files under `operators`."""
    package = importlib.import_module(f"{__package__}.operators")
    found: dict[str, Exporter] = {}
    for module in iter_modules(package.__path__, f"{package.__name__}."):
        found |= importlib.import_module(module.name).table
    return found
