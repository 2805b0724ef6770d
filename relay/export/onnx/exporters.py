"""Which function writes which operator: tables, one per family of operators.

table = Exporters()
@table("nn.relu")
def relu(step, data): …
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import cache
from typing import Any

# (step: `relay.export.onnx.step.Step`, *arguments) -> a name, or a list of names
Exporter = Callable[..., Any]


class Exporters(dict[str, Exporter]):
    """Exporters by the name of the operator."""

    def __call__(self, *names: str) -> Callable[[Exporter], Exporter]:
        """A decorator: the function writes the operators of these names."""

        def enter(exporter: Exporter) -> Exporter:
            self.update(dict.fromkeys(names, exporter))
            return exporter

        return enter


# The files of `operators`: each has a `table`.
FAMILIES = (
    "convolution",
    "creation",
    "elementwise",
    "images",
    "indexing",
    "normalization",
    "pooling",
    "products",
    "quantized",
    "reduction",
    "shape",
)


@cache
def built_in() -> dict[str, Exporter]:
    """All exporters of this package."""
    found: dict[str, Exporter] = {}
    for name in FAMILIES:
        found |= importlib.import_module(f"{__package__}.operators.{name}").table
    return found
