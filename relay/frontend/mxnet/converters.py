"""Tables of converters of MXNet's operators, one per family.

    table = Table()

    @table("Activation")
    def activation(node, data): …

Operators of one's own are another table: `from_mxnet(symbol, shape, operators=[mine])`.
"""

from __future__ import annotations

from collections.abc import Sequence

from relay.frontend.common import converters as common
from relay.frontend.common.converters import Converter, Converters


class Table(Converters):
    """The converters of operators of one family."""


def built_in() -> tuple[Converters, ...]:
    """The tables of all files under `operators`."""
    return common.tables_in(f"{__package__}.operators")


def find(tables: Sequence[Converters], name: str) -> Converter | None:
    """The converter of an operator."""
    return common.find(tables, "", name, 1)
