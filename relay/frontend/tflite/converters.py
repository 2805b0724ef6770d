"""Tables of converters of TFLite's operators, one per family.

    table = Table()

    @table("CONV_2D")             gets tensors as they are: integers where they are quantized
    @table.of_reals("TANH")       gets the real numbers that they stand for, and gives real numbers
    @table.moving("RESHAPE")      moves elements: the integers of the first input stay as they are

Operators of one's own are another table:

    mine = Table("custom")
    relay.frontend.from_tflite(model, operators=[mine])
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from relay.frontend.common import converters as common
from relay.frontend.common.converters import Converter, Converters, Function
from relay.frontend.tflite.node import Node
from relay.ir.expr import Expr

CUSTOM = "custom"  # the domain of operators that are not TFLite's own


class Table(Converters):
    """The converters of operators of one family."""

    def of_reals(self, *names: str) -> Callable[[Function], Function]:
        """A decorator: the function converts these operators, on real numbers."""
        return self._wrapped(names, _on_reals)

    def moving(self, *names: str) -> Callable[[Function], Function]:
        """A decorator: the function moves elements, of whatever kind they are."""
        return self._wrapped(names, _on_elements)

    def _wrapped(
        self, names: Sequence[str], wrap: Callable[[Converter], Converter]
    ) -> Callable[[Function], Function]:
        def enter(converter: Function) -> Function:
            for name in names:
                self.add(name, wrap(converter))
            return converter

        return enter


def _on_reals(converter: Converter) -> Converter:
    """A converter on the real numbers that quantized tensors stand for."""

    @wraps(converter)
    def convert(node: Node, *inputs: Expr | None) -> Any:
        given = [None if one is None else node.real(one, place) for place, one in enumerate(inputs)]
        found = converter(node, *given)
        if isinstance(found, Expr):
            return node.as_result(found)
        return [node.as_result(one, place) for place, one in enumerate(found)]

    return convert


def _on_elements(converter: Converter) -> Converter:
    """A converter that gives integers as they are in the first input."""

    @wraps(converter)
    def convert(node: Node, *inputs: Expr | None) -> Any:
        found = converter(node, *inputs)
        if isinstance(found, Expr):
            return node.requantized(found)
        return [node.requantized(one, place) for place, one in enumerate(found)]

    return convert


def built_in() -> tuple[Converters, ...]:
    """The tables of all files under `operators`."""
    return common.tables_in(f"{__package__}.operators")


def find(tables: Sequence[Converters], name: str, is_custom: bool) -> Converter | None:
    """The converter of an operator."""
    return common.find(tables, CUSTOM if is_custom else "", name, 1)
