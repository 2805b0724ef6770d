"""Tables of converters of ONNX operators, one per family and domain.

    table = Converters()                              # of the default domain
    @table("Softmax", since=13)
    def softmax(node, data): …

Operators of one's own are another table:

    mine = Converters("my.domain")
    relay.frontend.from_onnx(model, operators=[mine])
"""

from __future__ import annotations

from collections.abc import Sequence

from relay.frontend.common import converters as common
from relay.frontend.common.converters import Converter

DEFAULT_DOMAINS = ("", "ai.onnx")  # two names for one domain


class Converters(common.Converters):
    """The converters of operators of one domain, by name and first version of the operator set;
    an omitted input of a node is None."""

    def __init__(self, domain: str = "") -> None:
        super().__init__(_one_name(domain))


def built_in() -> tuple[common.Converters, ...]:
    """The tables of all files under `operators`."""
    return common.tables_in(f"{__package__}.operators")


def find(
    tables: Sequence[common.Converters], domain: str, name: str, version: int
) -> Converter | None:
    """The first converter that tables have for an operator."""
    return common.find(tables, _one_name(domain), name, version)


def _one_name(domain: str) -> str:
    return "" if domain in DEFAULT_DOMAINS else domain
