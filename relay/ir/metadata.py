"""The metadata section of a text, which holds tensors: `meta[relay.Constant][0]` refers to it.

    #[metadata]
    {
      "relay.Constant": [
        {"dtype": "float32", "shape": [2], "data": "AACAPwAAAEA="}
      ]
    }

An entry is plain data: base64 of the elements row by row, little endian. Reading one runs no code.
A value that cannot be stored is noted under `relay.Unreadable`, and parsing the reference to it is
an error.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from relay import nd
from relay.errors import RelayError
from relay.ir.expr import Constant
from relay.safetensors import array_from_bytes, array_to_bytes

CONSTANT: Final = "relay.Constant"
TENSOR: Final = "relay.NDArray"
UNREADABLE: Final = "relay.Unreadable"


class MetadataWriter:
    """Collects what goes into the table while a text is written."""

    def __init__(self) -> None:
        self._sections: dict[str, list[dict[str, Any]]] = {}
        self._known: dict[tuple[str, int], int] = {}
        self._kept: list[Any] = []  # keeps the objects alive, so that identities stay unique

    def reference(self, value: Any) -> str:
        """How the text names `value`."""
        match value:
            case Constant():
                key, data = CONSTANT, value.data
            case nd.NDArray():
                key, data = TENSOR, value
            case _:
                key, data = UNREADABLE, value
        section = self._sections.setdefault(key, [])
        identity = (key, id(data))
        if identity not in self._known:
            self._known[identity] = len(section)
            self._kept.append(data)
            section.append(_entry(data))
        return f"meta[{key}][{self._known[identity]}]"

    def text(self) -> str:
        """The section, or nothing when there is nothing to say."""
        if not self._sections:
            return ""
        sections = [
            f"  {json.dumps(key)}: [\n"
            + ",\n".join(f"    {json.dumps(entry)}" for entry in entries)
            + "\n  ]"
            for key, entries in self._sections.items()
        ]
        return "#[metadata]\n{\n" + ",\n".join(sections) + "\n}\n"


def _entry(data: Any) -> dict[str, Any]:
    if isinstance(data, nd.NDArray):
        encoded = base64.b64encode(array_to_bytes(data.array)).decode("ascii")
        return {"dtype": data.dtype, "shape": list(data.shape), "data": encoded}
    return {"type": type(data).__name__, "shown": repr(data)}


class MetadataReader:
    """The table of a text, entries decoded when they are asked for."""

    def __init__(self, given: Mapping[str, Sequence[Any]] | None = None) -> None:
        self._table: dict[str, Sequence[Any]] = dict(given or {})
        self._decoded: dict[tuple[str, int], Any] = {}
        self._stored: set[str] = set()

    def add_text(self, text: str) -> None:
        """Take over a metadata section; ValueError says what is wrong with it."""
        try:
            document = json.loads(text)
        except RecursionError:
            raise ValueError("the JSON is nested too deeply") from None
        if not isinstance(document, dict) or not all(
            isinstance(entries, list) for entries in document.values()
        ):
            raise ValueError("the JSON is not a table of lists")
        self._table.update(document)
        self._stored.update(document)

    def find(self, key: str, index: int) -> Any:
        """Entry `index` of `key`, the same object every time; RelayError when there is none."""
        if key not in self._table:
            raise RelayError(f"the text has no metadata for `{key}`")
        entries = self._table[key]
        if index >= len(entries):
            count = "one entry" if len(entries) == 1 else f"{len(entries)} entries"
            raise RelayError(f"`{key}` has {count} in the metadata, so there is no [{index}]")
        if key not in self._stored:
            return entries[index]
        place = (key, index)
        if place not in self._decoded:
            self._decoded[place] = _decode(key, entries[index])
        return self._decoded[place]


def _decode(key: str, entry: Any) -> Any:
    if not isinstance(entry, dict):
        raise RelayError(f"an entry of `{key}` is not a JSON object")
    if key == UNREADABLE:
        raise RelayError(
            f"the printed program held a Python object of type `{entry.get('type')}` here, "
            "which has no text form"
        )
    if key not in (CONSTANT, TENSOR):
        raise RelayError(f"metadata of kind `{key}` cannot be read")
    tensor = _decode_tensor(key, entry)
    return Constant(tensor) if key == CONSTANT else tensor


def _decode_tensor(key: str, entry: Mapping[str, Any]) -> nd.NDArray:
    dtype, shape, data = entry.get("dtype"), entry.get("shape"), entry.get("data")
    if not isinstance(dtype, str) or not isinstance(shape, list) or not isinstance(data, str):
        raise RelayError(f"an entry of `{key}` needs `dtype`, `shape` and `data`")
    try:
        decoded = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        raise RelayError(f"the data of an entry of `{key}` is not base64") from None
    return nd.NDArray(array_from_bytes(decoded, dtype, tuple(shape)))
