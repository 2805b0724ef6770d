"""A node of a graph as its converter sees it.

    @table("clip")
    def clip(node, data):
        return op.clip(data, node.real("a_min"), node.real("a_max"))

Attributes are texts, which are read as what the converter asks for.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from relay.frontend.common.builder import Builder
from relay.frontend.mxnet.symbol import NodeInfo
from relay.immutable import frozen

if TYPE_CHECKING:
    from relay.frontend.mxnet.graph import Importer

# element types by name, and by number
TYPES = {"0": "float32", "1": "float64", "2": "float16", "3": "uint8", "4": "int32", "5": "int8",
         "6": "int64", "7": "bool", "8": "int16"}  # fmt: skip
_NUMBER = re.compile(r"[-+]?\d+")
_REAL = re.compile(r"[-+]?(\d+\.?\d*([eE][-+]?\d+)?|\.\d+([eE][-+]?\d+)?|inf|nan)")


@frozen
class Node(Builder):
    """One operator while it is converted."""

    info: NodeInfo
    importer: Importer

    give_sizes = "give all sizes in `shape`"

    def has(self, name: str) -> bool:
        return self.info.attributes.get(name, "None") not in ("None", "")

    def text(self, name: str, default: str = "") -> str:
        found = self.info.attributes.get(name)
        return default if found is None or found == "None" else found

    def _wrong(self, name: str, expected: str) -> Exception:
        found = self.info.attributes.get(name, "nothing")[:60]
        return self.refused(f"attribute `{name}` is of another type", expected, found)

    def truth(self, name: str, default: bool = False) -> bool:
        found = self.text(name, str(default))
        if found not in ("True", "False", "1", "0", "true", "false"):
            raise self._wrong(name, "True or False")
        return found in ("True", "1", "true")

    def whole(self, name: str, default: int | None = None) -> int:
        found = self.text(name)
        if not found and default is not None:
            return default
        if not _NUMBER.fullmatch(found):
            raise self._wrong(name, "an integer")
        return int(found)

    def real(self, name: str, default: float | None = None) -> float:
        found = self.text(name)
        if not found and default is not None:
            return default
        if not _REAL.fullmatch(found):
            raise self._wrong(name, "a number")
        return float(found)

    def optional_wholes(self, name: str) -> list[int | None]:
        """Integers, some of which may be None: `(None, 2)`."""
        found = self.text(name).strip("()[] ")
        parts = [one.strip().removesuffix("L") for one in found.split(",") if one.strip()]
        if not all(one == "None" or _NUMBER.fullmatch(one) for one in parts):
            raise self._wrong(name, "integers")
        return [None if one == "None" else int(one) for one in parts]

    def wholes(self, name: str, count: int | None = None, default: int = 1) -> tuple[int, ...]:
        """Integers such as `(3, 3)`, one per axis."""
        given = self.optional_wholes(name)
        found = tuple(one for one in given if one is not None)
        if len(found) < len(given):
            raise self._wrong(name, "integers")
        if count is None:
            return found
        if not found:
            return (default,) * count
        found = found * count if len(found) == 1 else found
        if len(found) != count:
            raise self._wrong(name, f"{count} integers")
        return found

    def element_type(self, name: str = "dtype", default: str = "float32") -> str:
        found = self.text(name, default)
        found = TYPES.get(found, found)
        if found not in TYPES.values():
            raise self._wrong(name, ", ".join(TYPES.values()))
        return found
