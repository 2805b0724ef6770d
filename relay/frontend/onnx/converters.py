"""Which function translates which operator: tables, one per family of operators.

    table = Converters()                              # of the default domain
    @table("Softmax", since=13)
    def softmax(node, data): …

The converter of a node is the one with the largest `since` that is not beyond the version of the
operator set the model imports. A user's own operators are a table of their own:

    mine = Converters("my.domain")
    relay.frontend.from_onnx(model, operators=[mine])
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

# (node: `relay.frontend.onnx.Node`, *inputs) -> an expression, or a sequence of them, one per
# output; an input that is left out is None
Converter = Callable[..., Any]

# The default domain has two names.
DEFAULT_DOMAINS = ("", "ai.onnx")


class Converters:
    """The converters of operators of one domain, by name and first version."""

    def __init__(self, domain: str = "") -> None:
        self.domain = "" if domain in DEFAULT_DOMAINS else domain
        self._table: dict[str, list[tuple[int, Converter]]] = {}

    def __call__(self, *names: str, since: int = 1) -> Callable[[Converter], Converter]:
        """A decorator: the function translates the operators of these names."""

        def enter(converter: Converter) -> Converter:
            for name in names:
                self.add(name, converter, since)
            return converter

        return enter

    def add(self, name: str, converter: Converter, since: int = 1) -> None:
        """Translate an operator by a function."""
        versions = self._table.setdefault(name, [])
        versions.append((since, converter))
        versions.sort(key=lambda one: one[0])

    def find(self, name: str, version: int) -> Converter | None:
        """The converter of an operator in a version of the operator set."""
        found = None
        for since, converter in self._table.get(name, ()):
            if since <= version:
                found = converter
        return found

    def names(self) -> Iterator[str]:
        yield from self._table


# The files of `operators` and of its folders: each has a `table`.
FAMILIES = (
    "activations",
    "arithmetic",
    "attention",
    "comparison",
    "control",
    "conversion",
    "convolution",
    "creation",
    "deformable",
    "dropout",
    "indexing",
    "losses",
    "microsoft.activations",
    "microsoft.attention",
    "microsoft.blocks",
    "microsoft.default",
    "microsoft.layers",
    "microsoft.quantized",
    "microsoft.stateful",
    "microsoft.tensors",
    "ml.features",
    "ml.linear",
    "ml.trees",
    "normalisation",
    "ordering",
    "padding",
    "parts",
    "pooling",
    "preview",
    "products",
    "quantized",
    "random",
    "recurrent",
    "reductions",
    "regions",
    "resizing",
    "sampling",
    "scans",
    "sequences",
    "shaping",
    "signal",
    "softmax",
    "text",
    "training",
)


@cache
def built_in() -> tuple[Converters, ...]:
    """All tables of this package."""
    package = f"{__package__}.operators"
    return tuple(importlib.import_module(f"{package}.{name}").table for name in FAMILIES)


def find(tables: Sequence[Converters], domain: str, name: str, version: int) -> Converter | None:
    """The first converter that tables have for an operator."""
    domain = "" if domain in DEFAULT_DOMAINS else domain
    for table in tables:
        if table.domain == domain and (found := table.find(name, version)) is not None:
            return found
    return None


__all__ = ["Converter", "Converters", "built_in", "find"]
