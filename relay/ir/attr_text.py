"""The text form of attributes: `units=128, strides=[2, 2], out_dtype="float32", axis=None`.

Values are Python data: numbers, strings, True, False, None, lists in brackets, mappings in braces.
Tensors, and a note of values without a text form, go to the metadata.

Attributes that have their default are left out. Where a reader could not know the class of the
attributes (another callee than an operator, arbitrary names on an operator), `attrs_type_key` names
it; `attrs_type_key=None` is an operator call without attributes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, Final

from relay.ir.attrs import Attrs, DictAttrs, freeze
from relay.ir.compare import data_key
from relay.ir.expr import Call, Op
from relay.ir.metadata import MetadataWriter
from relay.ir.names import spell, string_text

TYPE_KEY: Final = "attrs_type_key"
FREE_NAMES: Final = "DictAttrs"


def call_attributes(call: Call, metadata: MetadataWriter) -> list[str]:
    """`name=value` for each attribute of a call that has to be written."""
    given = call.attrs
    # only `OpDef`, a layer above this one, has the class of an operator's attributes
    own: type[Attrs] | None = getattr(call.op, "attrs", None) if isinstance(call.op, Op) else None
    written: Iterable[tuple[str, Any]]
    match given:
        case None:
            return [f"{TYPE_KEY}=None"] if own is not None else []
        case Attrs():
            key = None if type(given) is own else type(given).__name__
            defaults = type(given).defaults()
            written = [
                (name, value)
                for name, value in given.items()
                if name not in defaults or data_key(value) != data_key(freeze(defaults[name]))
            ]
        case DictAttrs():
            key = FREE_NAMES if isinstance(call.op, Op) or not given else None
            written = given.items()
        case _:
            return [f"{TYPE_KEY}={metadata.reference(given)}"]
    texts = [attribute(name, value, metadata) for name, value in written]
    return texts if key is None else [*texts, f"{TYPE_KEY}={string_text(key)}"]


def attribute(name: str, value: Any, metadata: MetadataWriter) -> str:
    """`name=value`"""
    return f"{spell(name, (TYPE_KEY,))}={value_text(value, metadata)}"


def value_text(value: Any, metadata: MetadataWriter) -> str:
    """The text of one value. Attributes are frozen, which bounds how deep they nest."""
    match value:
        case None | bool():
            return str(value)
        case int():
            return str(int(value))
        case float():
            return _float_text(float(value))
        case str():
            return string_text(str(value))
        case tuple():
            return "[" + ", ".join(value_text(v, metadata) for v in value) + "]"
        case Mapping():
            items = (f"{string_text(k)}: {value_text(v, metadata)}" for k, v in value.items())
            return "{" + ", ".join(items) + "}"
    return metadata.reference(value)


def _float_text(value: float) -> str:
    if math.isfinite(value):
        return repr(value)
    return ("-" if value < 0 else "") + ("nanf" if value != value else "inff")
