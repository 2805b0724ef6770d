"""Strings: constants, and messages of which numbers are only known in a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from relay.errors import FrontendError
from relay.frontend.pytorch.script.coding import content
from relay.frontend.pytorch.script.converter import Converter, Handlers
from relay.frontend.pytorch.script.graph import Call
from relay.frontend.pytorch.script.path import Path
from relay.frontend.pytorch.script.values import Chain, ListCell, Number, Text

table = Handlers()

UNKNOWN = "…"

_METHODS: Mapping[str, Callable[..., Any]] = {
    "add": str.__add__,
    "mul": str.__mul__,
    "eq": str.__eq__,
    "ne": str.__ne__,
    "lt": str.__lt__,
    "gt": str.__gt__,
    "le": str.__le__,
    "ge": str.__ge__,
    "len": str.__len__,
    "__contains__": str.__contains__,
    **{
        name: getattr(str, name)
        for name in (
            "lower", "upper", "strip", "lstrip", "rstrip", "startswith", "endswith", "find",
            "replace", "count", "capitalize", "title", "isdigit", "isalpha", "isupper", "islower",
        )
    },
}  # fmt: skip


def is_known(name: str) -> bool:
    return name in _METHODS


def on_texts(converter: Converter, path: Path, call: Call, name: str, *values: Any) -> Any:
    """A method of a string."""
    if name == "add" and any(isinstance(one, Text) for one in values):
        return joined(*values)
    if any(isinstance(one, Text | Number) for one in values):
        raise FrontendError.of("a string is computed by the run", call.span, "a constant")
    return _METHODS[name](*values)


def joined(*values: Any) -> Any:
    """Concatenated strings."""
    texts = [one.text if isinstance(one, Text) else str(one) for one in values]
    found = [one.found for one in values if isinstance(one, Text)]
    return Text("".join(texts), next(iter(found), None)) if found else "".join(texts)


def shown(path: Path, value: Any) -> Any:
    """A value as a string."""
    match value:
        case Number(value=expression):
            return Text(UNKNOWN, expression)
        case str() | Text():
            return value
        case bool() | int() | float() | None:
            return str(value)
        case ListCell() if path.has(value):
            held = content(path, value)
            if isinstance(held, Chain):
                return Text(UNKNOWN, None)
            parts: list[Any] = ["["]
            for place, one in enumerate(held):
                parts += [", " if place else "", shown(path, one)]
            return joined(*parts, "]")
    return Text(UNKNOWN, None)


@table("aten::format")
def format_(converter: Converter, path: Path, call: Call, text: Any, *values: Any) -> Any:
    if isinstance(text, Text):
        return text
    pieces = text.split("{}")
    parts: list[Any] = [pieces[0]]
    for place, piece in enumerate(pieces[1:]):
        parts += [shown(path, values[place]) if place < len(values) else "{}", piece]
    return joined(*parts)


@table("aten::percentFormat")
def percent_format(converter: Converter, path: Path, call: Call, text: str, *values: Any) -> Any:
    plain = [shown(path, one) for one in values]
    if any(isinstance(one, Text) for one in plain):
        return Text(text, next((o.found for o in plain if isinstance(o, Text)), None))
    return text % tuple(values)


@table("aten::str")
def str_(converter: Converter, path: Path, call: Call, value: Any) -> Any:
    return shown(path, value)


@table("aten::join")
def join(converter: Converter, path: Path, call: Call, text: str, values: Any) -> Any:
    parts: list[Any] = []
    for place, one in enumerate(content(path, values, call.span)):
        parts += [text if place else "", one]
    return joined("", *parts)


@table("aten::split.str")
def split(converter: Converter, path: Path, call: Call, text: str, at: Any = None) -> Any:
    raise FrontendError.of("strings are split", call.span)
