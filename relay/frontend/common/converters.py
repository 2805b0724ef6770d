"""Which function converts which operator: tables, one per family of operators.

    table = Converters("aten")
    @table("softmax")
    def softmax(node, self, dim, dtype=None): …

A node is converted by the function with the largest `since` up to the version of the operators
that the model uses; formats without versions leave it out.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from pkgutil import walk_packages
from typing import Any, TypeVar

# (node: a `Builder`, *inputs) -> an expression, or a sequence with one per output
Converter = Callable[..., Any]
Function = TypeVar("Function", bound=Converter)


class Converters:
    """The converters of operators of one domain, by name and first version."""

    def __init__(self, domain: str = "") -> None:
        self.domain = domain
        self._table: dict[str, list[tuple[int, Converter]]] = {}

    def __call__(self, *names: str, since: int = 1) -> Callable[[Function], Function]:
        """A decorator: the function converts the operators of these names."""

        def enter(converter: Function) -> Function:
            for name in names:
                self.add(name, converter, since)
            return converter

        return enter

    def add(self, name: str, converter: Converter, since: int = 1) -> None:
        """Convert an operator by a function."""
        versions = self._table.setdefault(name, [])
        versions.append((since, converter))
        versions.sort(key=lambda one: one[0])

    def add_unary(self, operators: Mapping[str, Callable[[Any], Any]]) -> None:
        """Convert operators of one input, without attributes, by functions of that input."""
        for name, operator in operators.items():
            self.add(name, partial(_unary, operator))

    def find(self, name: str, version: int) -> Converter | None:
        """The converter of an operator in a version of the operator set."""
        found = None
        for since, converter in self._table.get(name, ()):
            if since <= version:
                found = converter
        return found

    def names(self) -> Iterator[str]:
        yield from self._table


def _unary(operator: Callable[[Any], Any], node: Any, data: Any) -> Any:
    return operator(data)


@cache
def tables_in(folder: str) -> tuple[Converters, ...]:
    """The tables of all files in a package, named `table`, or several in `tables`."""
    package = importlib.import_module(folder)
    names = sorted(found.name for found in walk_packages(package.__path__, f"{package.__name__}."))
    found: list[Converters] = []
    for module in map(importlib.import_module, names):
        found += getattr(module, "tables", ())
        found += [module.table] if hasattr(module, "table") else []
    return tuple(found)


def find(tables: Sequence[Converters], domain: str, name: str, version: int) -> Converter | None:
    """The first converter that tables have for an operator."""
    for table in tables:
        if table.domain == domain and (found := table.find(name, version)) is not None:
            return found
    return None
