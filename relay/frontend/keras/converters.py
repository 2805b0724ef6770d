"""Tables of converters of layers and operations, one per family.

    table = Table()

    @table("Dense", variables=kernel_bias)
    def dense(node, inputs): …          # its configuration and its variables are those of `node`

    operations = Operations()

    @operations("numpy.Sum")
    def total(node, x): …

A layer of one's own is another table, by the name of its class, or the one it is registered under:

    mine = Table("custom")
    relay.frontend.from_keras(model, layers=[mine])
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from relay.frontend.common import converters as common
from relay.frontend.common.converters import Converter, Converters, Function
from relay.frontend.keras.config import LayerInfo
from relay.frontend.keras.slots import Variables, none
from relay.immutable import frozen

CUSTOM = "custom"  # the domain of layers that are not Keras' own
OPERATIONS = "ops"
MODULES = ("numpy", "nn", "math", "core", "linalg", "image")  # of `keras.ops`


@frozen
class Record:
    """What is known of a kind of layer besides its converter."""

    variables: Variables
    keeps_mask: bool  # whether the mask of its input is that of its result


class Table(Converters):
    """The converters of layers of one family."""

    def __init__(self, domain: str = "") -> None:
        super().__init__(domain)
        self.records: dict[str, Record] = {}

    def __call__(  # type: ignore[override]
        self, *names: str, variables: Variables = none, keeps_mask: bool = False
    ) -> Callable[[Function], Function]:
        """A decorator: the function converts layers of these classes."""
        for name in names:
            self.records[name] = Record(variables, keeps_mask)
        return super().__call__(*names)


class Operations(Converters):
    """The converters of operations of `keras.ops`, by module and class."""

    def __init__(self) -> None:
        super().__init__(OPERATIONS)


@frozen
class Found:
    """A converter, and what is known besides it."""

    converter: Converter
    record: Record
    is_operation: bool = False


def built_in() -> tuple[Converters, ...]:
    """The tables of all files under `layers` and `operations`."""
    folders = (f"{__package__}.layers", f"{__package__}.operations")
    return tuple(one for folder in folders for one in common.tables_in(folder))


def find(tables: Sequence[Converters], layer: LayerInfo) -> Found | None:
    """The converter of a layer or an operation; tables of the user come first."""
    plain = Record(none, False)
    if layer.is_operation:
        return _operation(tables, layer, [layer.module.rpartition(".")[2]])
    names = [name for name in (layer.registered, layer.kind) if name]
    for table in tables:
        if table.domain != CUSTOM and not (table.domain == "" and layer.is_own):
            continue
        for name in names:
            if (converter := table.find(name, 1)) is not None:
                records = table.records if isinstance(table, Table) else {}
                return Found(converter, records.get(name, plain))
    # old files leave modules out
    return None if layer.module else _operation(tables, layer, MODULES)


def _operation(
    tables: Sequence[Converters], layer: LayerInfo, modules: Sequence[str]
) -> Found | None:
    for module in modules:
        converter = common.find(tables, OPERATIONS, f"{module}.{layer.kind}", 1)
        if converter is not None:
            return Found(converter, Record(none, False), is_operation=True)
    return None
